//! Reads packages of `.dwo` files (`.dwp`): the part of each section that belongs to a unit.
//!
//! In a package, each section joins the sections of many `.dwo` files, and a unit's offsets are relative to its file's part. An index locates the
//! parts. gimli reads the tables of the index; using the parts is left to `unit` and `file`. Units are looked up in the index by offset and not by
//! their identifier: GNU's extension has the identifier in the first entry, which cannot be read before. Sources: DWARF 5 §7.3.5; for version 2 the
//! description of GNU's extension, "DWARF Package File Format".

use core::ops::Range;

use gimli::{IndexSectionId, SectionId, UnitIndex};

use super::Bytes;
use crate::error::{Error, Result};
use crate::meter::Held;

/// The steps charged for a row: all of its columns are read, and rows are sorted.
const PER_ROW: u64 = 8;

/// A unit's parts of the sections of a package, or `None` for a section that it does not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contributions {
    pub(super) abbreviations: Option<Part>,
    pub(super) lines: Option<Part>,
    /// The part of `.debug_loclists.dwo`, or `.debug_loc.dwo` before DWARF 5.
    pub(super) locations: Option<Part>,
    pub(super) ranges: Option<Part>,
    pub(super) string_offsets: Option<Part>,
}

/// A part of a section, in bytes. Offsets in an index have 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    start: u32,
    size: u32,
}

impl Part {
    /// Returns the first offset in the section.
    pub(super) fn start(self) -> usize {
        usize::try_from(self.start).unwrap_or(usize::MAX)
    }

    /// Returns the offset after the part.
    pub(super) fn end(self) -> usize {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        self.start().saturating_add(size)
    }

    /// Converts an offset in the part to an offset in the section. Returns `None` if it is outside the part.
    pub(super) fn offset(self, offset: usize) -> Option<usize> {
        let found = self.start().checked_add(offset)?;
        (found < self.end()).then_some(found)
    }
}

/// A row of an index.
#[derive(Debug)]
struct Row {
    /// True if the units are in `.debug_types.dwo`.
    in_types: bool,
    units: Part,
    contributions: Contributions,
}

/// The indices of a package.
#[derive(Debug)]
pub(super) struct Package {
    /// The rows by the offset of their units.
    rows: Vec<Row>,
    /// The reason why one of the indices could not be read.
    problem: Option<Error>,
}

impl Package {
    /// Reads the indices. Returns `None` if there is none, as in a `.dwo` file.
    pub(super) fn read(units: &[u8], types: &[u8], held: &Held) -> Option<Package> {
        if units.is_empty() && types.is_empty() {
            return None;
        }
        let mut package = Package {
            rows: Vec::new(),
            problem: None,
        };
        for (section, bytes) in [(".debug_cu_index", units), (".debug_tu_index", types)] {
            let index = gimli::DebugCuIndex::new(bytes, gimli::LittleEndian).index();
            let read = index.map_err(|error| malformed(section, error));
            if let Err(error) = read.and_then(|index| package.add(section, &index, held)) {
                package.problem.get_or_insert(error);
            }
        }
        package
            .rows
            .sort_by_key(|row| (row.in_types, row.units.start, row.units.size));
        Some(package)
    }

    fn add(
        &mut self,
        section: &'static str,
        index: &UnitIndex<Bytes<'_>>,
        held: &Held,
    ) -> Result<()> {
        // Without columns, any number of rows would take no bytes.
        let rows = match index.section_count() {
            0 => 0,
            _ => index.unit_count(),
        };
        for number in 1..=rows {
            held.meter().work(PER_ROW)?;
            held.hold_all::<Row>(1)?;
            let columns = index.sections(number);
            let columns = columns.map_err(|error| malformed(section, error))?;
            let mut contributions = Contributions::default();
            let mut units = None;
            for column in columns {
                let part = Some(Part {
                    start: column.offset,
                    size: column.size,
                });
                match column.section {
                    IndexSectionId::DebugInfo => units = units.or(part.map(|part| (false, part))),
                    IndexSectionId::DebugTypes => units = part.map(|part| (true, part)),
                    IndexSectionId::DebugAbbrev => contributions.abbreviations = part,
                    IndexSectionId::DebugLine => contributions.lines = part,
                    IndexSectionId::DebugLoc | IndexSectionId::DebugLocLists => {
                        contributions.locations = part;
                    }
                    IndexSectionId::DebugRngLists => contributions.ranges = part,
                    IndexSectionId::DebugStrOffsets => contributions.string_offsets = part,
                    IndexSectionId::DebugMacinfo | IndexSectionId::DebugMacro => {}
                }
            }
            if let Some((in_types, units)) = units {
                self.rows.push(Row {
                    in_types,
                    units,
                    contributions,
                });
            }
        }
        Ok(())
    }

    /// Returns the reason why one of the indices could not be read.
    pub(super) fn problem(&self) -> Option<&Error> {
        self.problem.as_ref()
    }

    /// Returns the parts of a unit, given its range in a section.
    ///
    /// # Errors
    /// If no row contains the whole range.
    pub(super) fn contributions(
        &self,
        section: SectionId,
        unit: Range<usize>,
    ) -> Result<Contributions> {
        let offset = unit.start;
        let in_types = section == SectionId::DebugTypes;
        let after = self
            .rows
            .partition_point(|row| (row.in_types, row.units.start()) <= (in_types, offset));
        let row = after.checked_sub(1).and_then(|at| self.rows.get(at));
        let found = row.filter(|row| row.in_types == in_types && unit.end <= row.units.end());
        match (found, &self.problem) {
            (Some(row), _) => Ok(row.contributions),
            (None, Some(problem)) => Err(problem.clone()),
            (None, None) => Err(Error::malformed(
                "package",
                "no row of its indices has all parts of this unit",
            )),
        }
    }
}

impl Contributions {
    /// Converts an offset in the unit's part to an offset in the section.
    ///
    /// # Errors
    /// If the unit has no part of the section, or the offset is outside.
    pub(super) fn resolve(part: Option<Part>, offset: usize) -> Result<usize> {
        let found = part.and_then(|part| part.offset(offset));
        found.ok_or_else(|| {
            let text = match part {
                Some(part) => format!(
                    "the offset {offset:#x} is outside of the unit's {:#x} bytes",
                    part.size
                ),
                None => "the unit has no part of this section".to_owned(),
            };
            Error::malformed("package", text)
        })
    }
}

fn malformed(section: &'static str, error: gimli::Error) -> Error {
    Error::malformed("unit index", error.to_string()).within(section, 0)
}

/// Returns the bytes of a part, as far as the section has them.
pub(super) fn bounds(part: Part) -> Range<usize> {
    part.start()..part.end()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::limits::Limits;
    use crate::meter::Meter;

    /// Returns an index of version 5 without slots: the columns info, abbreviations and string offsets.
    fn index(rows: &[[(u32, u32); 3]]) -> Vec<u8> {
        let mut words = vec![5, 3, u32::try_from(rows.len()).unwrap(), 0, 1, 3, 6];
        words.extend(rows.iter().flatten().map(|(start, _)| start));
        words.extend(rows.iter().flatten().map(|(_, size)| size));
        words
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect()
    }

    fn read(bytes: &[u8], work: u64) -> Package {
        let limits = Limits {
            work,
            ..Limits::DEFAULT
        };
        let held = Held::new(Arc::new(Meter::new(&limits, 0)));
        Package::read(bytes, &[], &held).unwrap()
    }

    #[test]
    fn a_unit_is_found_by_where_it_lies() {
        let bytes = index(&[
            [(0x40, 0x30), (0x100, 0x20), (8, 16)],
            [(0, 0x40), (0, 0x100), (0, 8)],
        ]);
        let package = read(&bytes, 1000);
        let at = |offset| package.contributions(SectionId::DebugInfo, offset..offset + 1);
        let part = |start, size| Some(Part { start, size });
        assert_eq!(at(0).unwrap().abbreviations, part(0, 0x100));
        assert_eq!(at(0x3f).unwrap().string_offsets, part(0, 8));
        assert_eq!(at(0x40).unwrap().abbreviations, part(0x100, 0x20));
        assert_eq!(at(0x6f).unwrap().lines, None);
        assert!(at(0x70).is_err());
        // A unit that continues into the next part.
        assert!(
            package
                .contributions(SectionId::DebugInfo, 0x30..0x41)
                .is_err()
        );
        assert!(package.contributions(SectionId::DebugTypes, 0..1).is_err());
        let abbreviations = at(0x40).unwrap().abbreviations;
        assert_eq!(Contributions::resolve(abbreviations, 0x1f).unwrap(), 0x11f);
        assert!(Contributions::resolve(abbreviations, 0x20).is_err());
        assert!(Contributions::resolve(None, 0).is_err());
    }

    #[test]
    fn what_an_index_claims_costs_no_more_than_its_bytes() {
        // 2^32 - 1 rows of no columns.
        let words: [u32; 4] = [5, 0, u32::MAX, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let package = read(&bytes, 1000);
        assert!(package.contributions(SectionId::DebugInfo, 0..1).is_err());
        // Cut anywhere, the index causes an error and no panic.
        let whole = index(&[[(0, 0x40), (0, 0x100), (0, 8)]; 2]);
        for end in 1..whole.len() {
            assert!(read(whole.get(..end).unwrap(), 1000).problem().is_some());
        }
        assert!(read(&whole, 1000).problem().is_none());
        assert!(read(&whole, 10).problem().unwrap().is_limit());
    }
}
