//! Finding the FDE of an address: an index built once, when it is first asked.

use core::cell::OnceCell;

use super::entry::{Fde, FrameSection};
use super::row::{Row, Rows};
use crate::error::Result;
use crate::meter::Meter;

/// The FDEs of a section, by address.
#[derive(Clone, Debug)]
pub struct FrameIndex<'a> {
    section: FrameSection<'a>,
    /// First address, first address past the end, and the offset of the entry; by first address.
    ranges: OnceCell<Vec<(u64, u64, u64)>>,
}

impl<'a> FrameIndex<'a> {
    /// The index of a section, of which nothing is read before an address is looked up.
    #[must_use]
    pub fn new(section: FrameSection<'a>) -> FrameIndex<'a> {
        FrameIndex {
            section,
            ranges: OnceCell::new(),
        }
    }

    /// Reads the headers of all entries. An entry that is malformed is left out; what is wrong with it is
    /// found by [`FrameSection::entries`].
    fn ranges(&self) -> &[(u64, u64, u64)] {
        self.ranges.get_or_init(|| {
            let mut ranges = self.section.code_ranges();
            ranges.sort_unstable();
            ranges
        })
    }

    /// The section.
    #[must_use]
    pub fn section(&self) -> &FrameSection<'a> {
        &self.section
    }

    /// How many FDEs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges().is_empty()
    }

    /// The FDE that covers an address; the one that starts last, if several do.
    ///
    /// # Errors
    /// If the entry is malformed.
    pub fn find(&self, pc: u64) -> Result<Option<Fde<'a>>> {
        let ranges = self.ranges();
        let after = ranges.partition_point(|(start, _, _)| *start <= pc);
        // FDEs do not overlap in what compilers write; where they do, a few steps back find it.
        const OVERLAP: usize = 16;
        let candidates = ranges
            .get(..after)
            .unwrap_or_default()
            .iter()
            .rev()
            .take(OVERLAP);
        for (_, end, offset) in candidates {
            if pc < *end {
                return self.section.fde_at(*offset).map(Some);
            }
        }
        Ok(None)
    }

    /// The row that holds at an address, and its FDE.
    ///
    /// # Errors
    /// If the entry or its instructions are malformed.
    pub fn row_at(&self, pc: u64) -> Result<Option<(Fde<'a>, Row<'a>)>> {
        self.row_within(pc, None)
    }

    /// The same; what is read is paid for.
    pub(super) fn row_within(
        &self,
        pc: u64,
        meter: Option<&Meter>,
    ) -> Result<Option<(Fde<'a>, Row<'a>)>> {
        let Some(fde) = self.find(pc)? else {
            return Ok(None);
        };
        let row = Rows::new(&fde, self.section.name())?.row_within(pc, meter)?;
        Ok(row.map(|row| (fde, row)))
    }
}
