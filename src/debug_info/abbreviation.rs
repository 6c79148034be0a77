//! Parses each abbreviation table once, for all units that share it.
//!
//! gimli does the parsing. This module decides when to parse, and keeps the work in proportion to the section. Source: DWARF 5 §7.5.3.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use gimli::{Abbreviations, DebugAbbrev, DebugAbbrevOffset, Reader as _};

use super::Bytes;
use crate::error::Result;
use crate::meter::Held;

/// The number of tables that may overlap the next one. No producer writes overlapping tables, but nothing forbids them. Without a bound, units that
/// refer to every byte of the section would make parsing quadratic.
const OVERLAPPING: u32 = 256;

/// The maximum number of bytes of memory for each byte of a table. An abbreviation without attributes has five bytes.
const MADE: u64 = 24;

/// The additional bytes needed temporarily while vectors grow. Abbreviations of four bytes need the most.
const FOR_A_MOMENT: u64 = 96;

/// The tables that the units of a file refer to.
#[derive(Debug)]
pub(super) struct AbbreviationTables {
    tables: BTreeMap<usize, Table>,
    overlapping: AtomicU32,
}

#[derive(Debug)]
struct Table {
    /// The start of the next table that a unit refers to, or the end of the section.
    end: usize,
    parsed: OnceLock<Result<gimli::Result<Arc<Abbreviations>>>>,
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
                let parsed = OnceLock::new();
                (offset, Table { end, parsed })
            })
            .collect();
        AbbreviationTables {
            tables,
            overlapping: AtomicU32::new(0),
        }
    }

    /// Returns the table at `offset` of `section`.
    pub(super) fn get(
        &self,
        section: Bytes<'_>,
        offset: usize,
        held: &Held,
    ) -> Result<gimli::Result<Arc<Abbreviations>>> {
        let whole = |bytes: Bytes<'_>| {
            let length = bytes.len().saturating_sub(offset) as u64;
            held.meter().work(length / 4)?;
            held.meter()
                .check_room(length.saturating_mul(FOR_A_MOMENT))?;
            held.hold(length.saturating_mul(MADE))?;
            let table = DebugAbbrev::from(bytes).abbreviations(DebugAbbrevOffset(offset));
            Ok(table.map(Arc::new))
        };
        let Some(table) = self.tables.get(&offset) else {
            return whole(section);
        };
        let parse = || {
            let window = section.slice().get(..table.end).unwrap_or(section.slice());
            match whole(Bytes::new(window, gimli::LittleEndian)) {
                Ok(Err(gimli::Error::UnexpectedEof(_)))
                    if window.len() < section.slice().len()
                        && self.overlapping.fetch_add(1, Ordering::Relaxed) < OVERLAPPING =>
                {
                    whole(section)
                }
                result => result,
            }
        };
        table.parsed.get_or_init(parse).clone()
    }
}
