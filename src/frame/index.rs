//! Finds the FDE of an address, by an index that is built on first use.

use std::sync::{Arc, Mutex, OnceLock};

use foldhash::HashMap;

use super::entry::{Cie, Fde, FrameSection};
use super::row::{Row, Rows};
use crate::error::Result;
use crate::meter::Meter;
use crate::sync::lock;

/// A row, and its CIE.
#[derive(Debug)]
pub(super) struct KnownRow<'a> {
    pub(super) cie: Arc<Cie<'a>>,
    pub(super) row: Row<'a>,
}

/// The rows of addresses looked up so far. The frames of a recursion, and the waves of a kernel, share few addresses.
#[derive(Debug, Default)]
struct KnownRows<'a> {
    rows: HashMap<u64, Arc<KnownRow<'a>>>,
    rules: usize,
}

impl<'a> KnownRows<'a> {
    /// Keeps a row. The number of addresses is unbounded, so the cache is cleared when it becomes large.
    fn keep(&mut self, pc: u64, row: &Arc<KnownRow<'a>>) {
        /// The maximum number of rules and rows kept. A row counts as several rules. The total is about 5 MiB.
        const MOST: usize = 1 << 17;
        const ROW: usize = 16;
        self.rules = self
            .rules
            .saturating_add(row.row.rules().len().saturating_add(ROW));
        if self.rules > MOST {
            *self = KnownRows::default();
        }
        self.rows.insert(pc, Arc::clone(row));
    }
}

/// A CIE, and the rules after its initial instructions.
#[derive(Debug)]
struct KnownCie<'a> {
    cie: Arc<Cie<'a>>,
    initial: Arc<Row<'a>>,
}

/// The CIEs of entries looked up so far, by offset. Files have some dozens at most.
#[derive(Debug, Default)]
struct KnownCies<'a> {
    cies: HashMap<u64, Arc<KnownCie<'a>>>,
    rules: usize,
}

/// The FDEs of a section, by address.
#[derive(Clone, Debug)]
pub struct FrameIndex<'a> {
    section: FrameSection<'a>,
    /// First address, first address past the end, and the offset of the entry; sorted by first address.
    ranges: OnceLock<Arc<[(u64, u64, u64)]>>,
    known: Arc<Mutex<KnownRows<'a>>>,
    cies: Arc<Mutex<KnownCies<'a>>>,
    /// The reader of rows, kept to reuse its memory.
    rows: Arc<Mutex<Option<Box<Rows<'a>>>>>,
}

impl<'a> FrameIndex<'a> {
    /// Creates the index of a section. Nothing is read before the first look-up.
    #[must_use]
    pub fn new(section: FrameSection<'a>) -> FrameIndex<'a> {
        FrameIndex {
            section,
            ranges: OnceLock::new(),
            known: Arc::default(),
            cies: Arc::default(),
            rows: Arc::default(),
        }
    }

    /// Reads the headers of all entries. Malformed entries are left out; [`FrameSection::entries`] reports them.
    fn ranges(&self) -> &[(u64, u64, u64)] {
        self.ranges.get_or_init(|| {
            let mut ranges = self.section.code_ranges();
            ranges.sort_unstable();
            ranges.into()
        })
    }

    /// Returns the section.
    #[must_use]
    pub fn section(&self) -> &FrameSection<'a> {
        &self.section
    }

    /// Returns the number of FDEs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges().len()
    }

    /// Returns true if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges().is_empty()
    }

    /// Returns the FDE that covers an address, or the one that starts last if there are several.
    ///
    /// # Errors
    /// If the entry is malformed.
    pub fn find(&self, pc: u64) -> Result<Option<Fde<'a>>> {
        let Some(offset) = self.offset_of(pc) else {
            return Ok(None);
        };
        self.section.fde_at(offset).map(Some)
    }

    /// Returns the offset of the FDE that covers an address.
    fn offset_of(&self, pc: u64) -> Option<u64> {
        let ranges = self.ranges();
        let after = ranges.partition_point(|(start, _, _)| *start <= pc);
        // FDEs from compilers do not overlap. Otherwise a few steps back find the right one.
        const OVERLAP: usize = 16;
        let candidates = ranges
            .get(..after)
            .unwrap_or_default()
            .iter()
            .rev()
            .take(OVERLAP);
        let mut covering = candidates.filter(|(_, end, _)| pc < *end);
        covering.next().map(|(_, _, offset)| *offset)
    }

    /// Returns the CIE at an offset, with its initial rules.
    fn cie_at(&self, offset: u64) -> Result<Arc<KnownCie<'a>>> {
        /// The maximum number of rules and CIEs kept. A CIE counts as several rules. The total is about 2 MiB.
        const MOST: usize = 1 << 15;
        const CIE: usize = 16;
        let known = &mut *lock(&self.cies);
        if let Some(known) = known.cies.get(&offset) {
            return Ok(Arc::clone(known));
        }
        let cie = Arc::new(self.section.cie_at(offset)?);
        let initial = Arc::new(Rows::initial(&cie, self.section.name())?);
        let size = initial.rules().len().saturating_add(CIE);
        let read = Arc::new(KnownCie { cie, initial });
        known.rules = known.rules.saturating_add(size);
        if known.rules > MOST {
            *known = KnownCies::default();
            known.rules = size;
        }
        known.cies.insert(offset, Arc::clone(&read));
        Ok(read)
    }

    /// Returns the row that holds at an address, and its FDE.
    ///
    /// * `meter`: charged for all reading.
    ///
    /// # Errors
    /// If the entry or its instructions are malformed.
    pub fn row_at(&self, pc: u64, meter: Option<&Meter>) -> Result<Option<(Fde<'a>, Row<'a>)>> {
        let Some(offset) = self.offset_of(pc) else {
            return Ok(None);
        };
        let mut initial = Arc::default();
        let fde = self.section.fde_with(offset, |at| {
            let known = self.cie_at(at)?;
            initial = Arc::clone(&known.initial);
            Ok(Arc::clone(&known.cie))
        })?;
        // Concurrent readers have a cursor each.
        let spare = lock(&self.rows).take();
        let mut rows = match spare {
            Some(mut rows) => {
                rows.restart_after(&fde, initial);
                rows
            }
            None => Box::new(Rows::after(&fde, self.section.name(), initial)),
        };
        let row = rows.row_within(pc, meter);
        *lock(&self.rows) = Some(rows);
        Ok(row?.map(|row| (fde, row)))
    }
}

/// The source of rows for unwinding. An index is invariant in its lifetime, because it keeps rows, but this trait's rows are covariant.
pub(super) trait RowSource<'a> {
    /// Returns the row that holds at an address, shared by all callers. Charges the meter for all reading.
    fn known_row(&self, pc: u64, meter: Option<&Meter>) -> Result<Option<Arc<KnownRow<'a>>>>;

    /// Returns the section of the rows.
    fn section(&self) -> FrameSection<'a>;
}

impl<'a, 'f: 'a> RowSource<'a> for FrameIndex<'f> {
    fn known_row(&self, pc: u64, meter: Option<&Meter>) -> Result<Option<Arc<KnownRow<'a>>>> {
        let known = lock(&self.known).rows.get(&pc).cloned();
        if let Some(known) = known {
            meter.map_or(Ok(()), |meter| meter.work(1))?;
            return Ok(Some(known));
        }
        let Some((fde, row)) = self.row_at(pc, meter)? else {
            return Ok(None);
        };
        let known = Arc::new(KnownRow { cie: fde.cie, row });
        lock(&self.known).keep(pc, &known);
        Ok(Some(known))
    }

    fn section(&self) -> FrameSection<'a> {
        self.section
    }
}
