//! Abbreviation tables, each parsed once however many units share it.
//!
//! gimli parses them; this decides when, and keeps the work in proportion to the section. Source:
//! DWARF 5 §7.5.3.

use core::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::{Abbreviations, DebugAbbrev, DebugAbbrevOffset};

use super::Bytes;

/// How many tables may run into the next one. No producer writes such tables, but nothing forbids
/// them; without a bound, units that name every byte of the section would make parsing quadratic.
const OVERLAPPING: u32 = 256;

/// The tables that the units of a file refer to.
#[derive(Debug)]
pub(super) struct AbbreviationTables {
    tables: BTreeMap<usize, Table>,
    overlapping: Cell<u32>,
}

#[derive(Debug)]
struct Table {
    /// Where the next table that a unit refers to starts, or the section ends.
    end: usize,
    parsed: OnceCell<gimli::Result<Arc<Abbreviations>>>,
}

impl AbbreviationTables {
    /// Prepares for units whose tables are at `offsets` of a section of `length` bytes.
    pub(super) fn new(offsets: impl IntoIterator<Item = usize>, length: usize) -> Self {
        let mut offsets: Vec<usize> = offsets.into_iter().collect();
        offsets.sort_unstable();
        offsets.dedup();
        let ends = offsets.iter().copied().skip(1).chain([length]);
        let tables = offsets
            .iter()
            .copied()
            .zip(ends)
            .map(|(offset, end)| {
                let parsed = OnceCell::new();
                (offset, Table { end, parsed })
            })
            .collect();
        AbbreviationTables {
            tables,
            overlapping: Cell::new(0),
        }
    }

    /// The table at `offset` of `section`.
    pub(super) fn get(
        &self,
        section: Bytes<'_>,
        offset: usize,
    ) -> gimli::Result<Arc<Abbreviations>> {
        let whole = |bytes: Bytes<'_>| {
            DebugAbbrev::from(bytes)
                .abbreviations(DebugAbbrevOffset(offset))
                .map(Arc::new)
        };
        let Some(table) = self.tables.get(&offset) else {
            return whole(section);
        };
        let parse = || {
            let window = section.slice().get(..table.end).unwrap_or(section.slice());
            match whole(Bytes::new(window, gimli::LittleEndian)) {
                Err(gimli::Error::UnexpectedEof(_))
                    if window.len() < section.slice().len()
                        && self.overlapping.get() < OVERLAPPING =>
                {
                    self.overlapping
                        .set(self.overlapping.get().saturating_add(1));
                    whole(section)
                }
                result => result,
            }
        };
        table.parsed.get_or_init(parse).clone()
    }
}
