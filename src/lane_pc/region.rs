//! Structured control flow, as described by a back end.

use core::ops::Range;
use std::sync::Arc;

use super::mask::MaskPlace;
use crate::arch::WaveSize;

/// A point in the code of a function.
///
/// It is exhaustive on purpose: a back end has to place each variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// The number of bytes after the function's first address.
    Offset(u64),
    /// A symbol, for back ends that print assembly.
    Symbol(Arc<str>),
}

impl Label {
    /// Returns a symbol.
    #[must_use]
    pub fn symbol(name: &str) -> Label {
        Label::Symbol(name.into())
    }
}

impl From<u64> for Label {
    fn from(offset: u64) -> Label {
        Label::Offset(offset)
    }
}

/// A function.
///
/// It is exhaustive on purpose: back ends write it as a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The code.
    pub code: Range<Label>,
    /// The number of lanes in its wavefronts.
    pub wave_size: WaveSize,
    /// The regions of its body, in the order of the code.
    pub regions: Vec<Region>,
    /// The sections that run with other lanes than the source's active ones, in the order of the code.
    pub whole_wave: Vec<WholeWave>,
}

/// A section of whole or quad wavefront mode, in which EXEC contains the running lanes instead of the active ones.
///
/// It is exhaustive on purpose: back ends write it as a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeWave {
    /// The code that runs with another mask, from after the instruction that sets it.
    pub code: Range<Label>,
    /// The place of the mask of active lanes in this section.
    pub active: MaskPlace,
}

/// Code that lanes enter together and leave one by one.
///
/// The mask of a region contains the lanes that are in it, active or not: those that entered and did not leave for good. If a back end
/// removes lanes from a loop within nested regions, it removes them from the masks of those regions, too. Otherwise, it describes the mask
/// as one [without](MaskPlace::without) the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub(super) mask: Vec<(Range<Label>, MaskPlace)>,
    pub(super) phases: Vec<Phase>,
}

/// A part of a region's code during which its inactive lanes wait in one place.
///
/// It is exhaustive on purpose: back ends write it as a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The suffix of procedure names: `then`, `else`, `loop`, …
    pub name: &'static str,
    /// The code, from after the instruction that changes EXEC.
    pub code: Range<Label>,
    /// The place at which inactive lanes of the region wait. `None` if unknown.
    pub wait: Option<Label>,
    /// The regions within, in the order of the code.
    pub regions: Vec<Region>,
}

impl Phase {
    /// Creates a phase without nested regions.
    #[must_use]
    pub fn new(name: &'static str, code: Range<Label>, wait: Label) -> Phase {
        Phase {
            name,
            code,
            wait: Some(wait),
            regions: Vec::new(),
        }
    }

    /// Adds nested regions to the phase, in the order of the code.
    #[must_use]
    pub fn containing(mut self, regions: impl IntoIterator<Item = Region>) -> Phase {
        self.regions.extend(regions);
        self
    }
}

impl Region {
    /// Creates a region of any shape. `mask` gives the place of its mask for each range of code.
    #[must_use]
    pub fn new(
        mask: impl IntoIterator<Item = (Range<Label>, MaskPlace)>,
        phases: impl IntoIterator<Item = Phase>,
    ) -> Region {
        Region {
            mask: mask.into_iter().collect(),
            phases: phases.into_iter().collect(),
        }
    }

    /// Creates `if (c) then`. The lanes for which the condition is false wait at `start`.
    ///
    /// * `start`: the instruction that narrows EXEC.
    /// * `then`: the code after it, up to the instruction that restores EXEC, inclusive.
    /// * `mask`: the place where EXEC was saved.
    #[must_use]
    pub fn if_then(
        start: Label,
        then: Range<Label>,
        mask: MaskPlace,
        regions: Vec<Region>,
    ) -> Region {
        let all = start.clone()..then.end.clone();
        Region::new(
            [(all, mask)],
            [Phase::new("then", then, start).containing(regions)],
        )
    }

    /// Creates `if (c) then else`. While the first part runs, the lanes of the second wait at `start`. While the second runs, the lanes of
    /// the first wait at `end`.
    ///
    /// * `end`: the address after the instruction that restores EXEC.
    #[must_use]
    pub fn if_then_else(
        start: Label,
        then: (Range<Label>, Vec<Region>),
        otherwise: (Range<Label>, Vec<Region>),
        end: Label,
        mask: MaskPlace,
    ) -> Region {
        let all = start.clone()..end.clone();
        let (then, within_then) = then;
        let (otherwise, within_otherwise) = otherwise;
        Region::new(
            [(all, mask)],
            [
                Phase::new("then", then, start).containing(within_then),
                Phase::new("else", otherwise, end).containing(within_otherwise),
            ],
        )
    }

    /// Creates a loop. Lanes that have left it wait at `end`.
    ///
    /// * `body`: the repeated code, including the instruction that restores EXEC.
    /// * `end`: the address after that instruction.
    #[must_use]
    pub fn repeat(body: Range<Label>, end: Label, mask: MaskPlace, regions: Vec<Region>) -> Region {
        Region::new(
            [(body.clone(), mask)],
            [Phase::new("loop", body, end).containing(regions)],
        )
    }

    /// Creates one iteration of a loop in which lanes may `continue`; they wait at `latch`. It is the only region directly within the
    /// loop's.
    ///
    /// * `latch`: the address at which the loop's condition is decided; the end of the iteration's code.
    /// * `mask`: the lanes that take part in this iteration.
    #[must_use]
    pub fn iteration(
        body: Range<Label>,
        latch: Label,
        mask: MaskPlace,
        regions: Vec<Region>,
    ) -> Region {
        Region::new(
            [(body.clone(), mask)],
            [Phase::new("continue", body, latch).containing(regions)],
        )
    }

    /// Creates a function's body in which lanes may return early; they wait at `exit`.
    ///
    /// * `mask`: the lanes that were active on entry.
    #[must_use]
    pub fn body(code: Range<Label>, exit: Label, mask: MaskPlace, regions: Vec<Region>) -> Region {
        Region::new(
            [(code.clone(), mask)],
            [Phase::new("return", code, exit).containing(regions)],
        )
    }

    /// Returns the place of the mask of its lanes, for each range of code.
    #[must_use]
    pub fn masks(&self) -> &[(Range<Label>, MaskPlace)] {
        &self.mask
    }

    /// Returns the phases, in the order of the code.
    #[must_use]
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }
}
