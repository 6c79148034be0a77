//! Keeps the call stacks of all waves beside the document about a core, which has them only by group.

use core::cmp::Ordering;
use core::ops::Deref;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::frame::FrameDocument;
use super::super::text::FileNames;
use super::places::{self, Stack};
use super::{CoreDocument, CoreWaveDocument};
use crate::untrusted::Untrusted;

/// The document about a core or a log, and the call stacks of its waves.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct CoreReport {
    /// The document.
    pub document: CoreDocument,
    pub(super) stacks: Stacks,
}

impl CoreReport {
    /// Returns the call stack of a wave of the document as text, the innermost function first.
    #[must_use]
    pub fn stack(&self, wave: &CoreWaveDocument) -> &[Untrusted<'static>] {
        self.stacks.text(wave)
    }
}

/// The call stacks of waves, in the order of the waves.
#[derive(Clone, Debug)]
pub(super) struct Stacks {
    frames: Vec<Stack>,
    /// The stacks as text, shared by the waves with the same stack.
    text: Vec<StackText>,
}

/// The text of a call stack, the innermost function first.
type StackText = Rc<[Untrusted<'static>]>;

/// A call stack, compared by the identity of its frames.
struct SameFrames<'s>(&'s [Rc<FrameDocument>]);

impl SameFrames<'_> {
    fn identity(&self) -> impl Iterator<Item = *const FrameDocument> {
        self.0.iter().map(Rc::as_ptr)
    }
}

impl PartialEq for SameFrames<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.identity().eq(other.identity())
    }
}

impl Eq for SameFrames<'_> {}

impl PartialOrd for SameFrames<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SameFrames<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(other.identity())
    }
}

impl Stacks {
    pub(super) fn new(frames: Vec<Stack>) -> Stacks {
        let names = names(&frames);
        let mut lines = BTreeMap::new();
        let mut line = |frame: &Rc<FrameDocument>| {
            let line = lines.entry(Rc::as_ptr(frame));
            line.or_insert_with(|| places::line(frame, &names)).clone()
        };
        let mut texts: BTreeMap<SameFrames<'_>, StackText> = BTreeMap::new();
        let text = frames.iter().map(|stack| {
            let text = texts.entry(SameFrames(stack));
            let text = text.or_insert_with(|| stack.iter().map(&mut line).collect());
            Rc::clone(text)
        });
        Stacks {
            text: text.collect(),
            frames,
        }
    }

    /// Returns the shortest unique names of the source files.
    pub(super) fn names(&self) -> FileNames<'_> {
        names(&self.frames)
    }

    pub(super) fn frames(&self, wave: &CoreWaveDocument) -> &[Rc<FrameDocument>] {
        of(wave, &self.frames)
    }

    pub(super) fn text(&self, wave: &CoreWaveDocument) -> &[Untrusted<'static>] {
        of(wave, &self.text)
    }
}

fn names(stacks: &[Stack]) -> FileNames<'_> {
    let files = stacks.iter().flatten();
    let files = files.filter_map(|frame| frame.file.as_ref());
    FileNames::of(files.map(Untrusted::raw))
}

/// Returns the stack of a wave, whose index counts from 1.
fn of<'s, T>(wave: &CoreWaveDocument, stacks: &'s [impl Deref<Target = [T]>]) -> &'s [T] {
    let index = wave.index.checked_sub(1);
    let stack = index.and_then(|index| stacks.get(index));
    stack.map_or(&[], Deref::deref)
}
