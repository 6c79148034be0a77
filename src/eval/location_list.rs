//! Selects the entries of a location list that hold at a program location. Source: HET A.2.5.5, DWARF 5 §2.6.2.

use core::ops::Range;

use smallvec::SmallVec;

use super::resolver::ExpressionBytes;
use crate::error::Result;
use crate::limits::too_many;

/// The maximum number of entries of a location list that may hold at one address. Compilers write one.
const MATCHES: usize = 1 << 12;

/// The range of an entry of a location list.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocationRange {
    /// A range of addresses of the code object, which may be empty.
    Bounded(Range<u64>),
    /// All addresses at which no bounded entry of the list holds (`DW_LLE_default_location`).
    Default,
}

impl LocationRange {
    /// Returns true if it holds at an address of the code object. A default entry returns true, although it may not hold.
    #[must_use]
    pub fn may_hold_at(&self, pc: u64) -> bool {
        match self {
            LocationRange::Bounded(range) => range.contains(&pc),
            LocationRange::Default => true,
        }
    }
}

/// An entry of a location list.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationEntry<'a> {
    /// The range in which the expression holds.
    pub range: LocationRange,
    /// The expression.
    pub expression: ExpressionBytes<'a>,
}

impl<'a> LocationEntry<'a> {
    /// Creates an entry of a list.
    #[must_use]
    pub const fn new(range: LocationRange, expression: ExpressionBytes<'a>) -> LocationEntry<'a> {
        LocationEntry { range, expression }
    }
}

/// The bounds of the addresses around a program location at which no entry of a location list holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocationGap {
    /// The end of the nearest entry before it.
    pub(crate) before: Option<u64>,
    /// The start of the nearest entry after it.
    pub(crate) after: Option<u64>,
}

/// The entries of a list that hold at an address: all bounded ones that contain it or, if there is none, the default ones.
#[derive(Debug)]
pub(crate) struct Matching<'a> {
    pc: u64,
    bounded: SmallVec<[ExpressionBytes<'a>; 1]>,
    default: SmallVec<[ExpressionBytes<'a>; 1]>,
    gap: LocationGap,
}

impl<'a> Matching<'a> {
    pub(crate) fn at(pc: u64) -> Matching<'a> {
        Matching {
            pc,
            bounded: SmallVec::new(),
            default: SmallVec::new(),
            gap: LocationGap::default(),
        }
    }

    /// Takes the next entry.
    ///
    /// # Errors
    /// If too many hold.
    pub(crate) fn add(&mut self, entry: LocationEntry<'a>) -> Result<()> {
        if !entry.range.may_hold_at(self.pc) {
            self.pass(&entry.range);
            return Ok(());
        }
        let matches = match entry.range {
            LocationRange::Bounded(_) => &mut self.bounded,
            LocationRange::Default => &mut self.default,
        };
        if matches.len() == MATCHES {
            return Err(too_many(
                "entries of a location list for one address",
                MATCHES as u64,
            ));
        }
        matches.push(entry.expression);
        Ok(())
    }

    /// Takes the range of an entry that does not hold.
    fn pass(&mut self, range: &LocationRange) {
        let LocationRange::Bounded(range) = range else {
            return;
        };
        let LocationGap { before, after } = &mut self.gap;
        if range.is_empty() {
        } else if range.end <= self.pc {
            *before = (*before).max(Some(range.end));
        } else {
            *after = Some(after.map_or(range.start, |start| start.min(range.start)));
        }
    }

    /// Returns the addresses without a location around the program location, if no entry holds there.
    pub(crate) fn gap(&self) -> LocationGap {
        self.gap
    }

    pub(crate) fn into_expressions(self) -> SmallVec<[ExpressionBytes<'a>; 1]> {
        if self.bounded.is_empty() {
            self.default
        } else {
            self.bounded
        }
    }
}
