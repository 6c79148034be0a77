//! Places of samples, grouped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::counts::Counts;
use super::locate::{Located, SourcePosition};
use super::{Profile, ProfilePlace};

/// A way to group samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The line of the innermost inlined call.
    Line,
    /// The innermost function, inlined or not.
    Function,
    /// The kernel.
    Kernel,
    /// The instruction.
    Instruction,
    /// The calls, inlined ones included.
    Stack,
}

/// The common key of a row's samples.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A line of a file; `None` for code without a line, or without a file.
    Line(Option<Arc<str>>, Option<u64>),
    /// A function or a kernel.
    Name(Option<Arc<str>>),
    /// The code object and the address of an instruction, if they are known, and its text.
    Instruction(Option<(u32, u64)>, Option<String>),
    /// Functions, the outermost first.
    Stack(Vec<Option<Arc<str>>>),
}

/// A row of a profile.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Row {
    /// The common key of its samples.
    pub key: Key,
    /// The sums.
    pub counts: Counts,
    /// The number of active lanes in samples with a mask, of waves with a known size.
    pub active: u64,
    /// The number of lanes in those waves.
    pub lanes: u64,
    /// The innermost functions.
    pub functions: BTreeSet<Arc<str>>,
    /// The indices of its places.
    pub places: Vec<usize>,
}

impl Row {
    fn new(key: Key) -> Row {
        Row {
            key,
            counts: Counts::default(),
            active: 0,
            lanes: 0,
            functions: BTreeSet::new(),
            places: Vec::new(),
        }
    }

    /// Adds a place.
    fn add(&mut self, number: usize, place: &ProfilePlace<'_, '_>) {
        self.counts.add_all(&place.counts);
        let (active, lanes) = place.lanes();
        self.active = self.active.saturating_add(active);
        self.lanes = self.lanes.saturating_add(lanes);
        self.functions.extend(function_of(&place.located));
        self.places.push(number);
    }

    /// Returns the share of active lanes, averaged over samples.
    #[must_use]
    pub fn lanes_active(&self) -> Option<f64> {
        share(self.active, self.lanes)
    }
}

/// Returns the ratio of a part to the whole; `None` if the whole is 0.
#[expect(
    clippy::cast_precision_loss,
    reason = "a share of so many is not told apart from its neighbours"
)]
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

impl ProfilePlace<'_, '_> {
    /// Returns the number of active lanes in its samples with a mask, and the number of all lanes. Both are 0 if the wave size is unknown.
    #[must_use]
    pub fn lanes(&self) -> (u64, u64) {
        let Some(wave_size) = self.located.wave_size else {
            return (0, 0);
        };
        let size = wave_size.lanes();
        let [low, high] = self.counts.active;
        let high = if size == 32 { 0 } else { high };
        let lanes = self.counts.masked.saturating_mul(size.into());
        (low.saturating_add(high), lanes)
    }
}

fn innermost(located: &Located) -> Option<&SourcePosition> {
    located.frames.first()
}

fn function_of(located: &Located) -> Option<Arc<str>> {
    innermost(located)?.function.clone()
}

/// Returns the functions of a place, the outermost first. The kernel precedes a function that it calls.
fn stack(located: &Located) -> Vec<Option<Arc<str>>> {
    let outermost = located
        .frames
        .last()
        .and_then(|frame| frame.function.as_deref());
    let mut stack = Vec::new();
    if let Some(kernel) = &located.kernel
        && outermost.is_none_or(|name| !is_kernel(name, kernel))
    {
        stack.push(Some(Arc::from(kernel.as_str())));
    }
    stack.extend(
        located
            .frames
            .iter()
            .rev()
            .map(|frame| frame.function.clone()),
    );
    stack
}

/// Returns true if a function is the body of a kernel. Clang gives the body of an OpenCL kernel a different name.
fn is_kernel(function: &str, kernel: &str) -> bool {
    let own = function.strip_prefix("__clang_ocl_kern_imp_");
    function == kernel || own == Some(kernel)
}

fn key(by: By, place: &ProfilePlace<'_, '_>) -> Key {
    let located = &place.located;
    let first = innermost(located);
    match by {
        By::Line => {
            let file = first.and_then(|frame| frame.file.clone());
            let line = first.and_then(|frame| frame.line);
            Key::Line(file.filter(|_| line.is_some()), line)
        }
        By::Function => Key::Name(function_of(located)),
        By::Kernel => Key::Name(located.kernel.as_deref().map(Arc::from)),
        By::Instruction => {
            let instruction = located.instruction.clone();
            let at = place.code.map(|code| (code.object, code.address));
            Key::Instruction(at, instruction)
        }
        By::Stack => Key::Stack(stack(located)),
    }
}

/// Returns the rows of a profile, sorted by descending number of samples, or of cycles for a thread trace.
#[must_use]
pub fn rows(profile: &Profile<'_, '_>, by: By) -> Vec<Row> {
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    for (number, place) in profile.places.iter().enumerate() {
        let key = key(by, place);
        let row = rows.entry(key.clone()).or_insert_with(|| Row::new(key));
        row.add(number, place);
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| {
        let [latency, ..] = row.counts.cycles;
        core::cmp::Reverse((latency, row.counts.samples))
    });
    rows
}
