//! Keeps the call stacks of all waves beside the document about a core, which has them only by group.

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
    text: Vec<Vec<Untrusted<'static>>>,
}

impl Stacks {
    pub(super) fn new(frames: Vec<Stack>) -> Stacks {
        let names = names(&frames);
        let mut lines = BTreeMap::new();
        let mut line = |frame: &Rc<FrameDocument>| {
            let line = lines.entry(Rc::as_ptr(frame));
            line.or_insert_with(|| places::line(frame, &names)).clone()
        };
        let text = frames.iter();
        let text = text.map(|stack| stack.iter().map(&mut line).collect());
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
fn of<'s, T>(wave: &CoreWaveDocument, stacks: &'s [Vec<T>]) -> &'s [T] {
    let index = wave.index.checked_sub(1);
    let stack = index.and_then(|index| stacks.get(index));
    stack.map_or(&[], Vec::as_slice)
}
