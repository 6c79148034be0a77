//! Finds the unit that covers an address.
//!
//! `.debug_aranges` is a shortcut only: an address that it does not list is looked up in the first entries of the units. Finding the function is left
//! to `function`. Sources: DWARF 5 §6.1.2, §3.1.1.

use gimli::SectionId;

use super::DebugInfo;
use super::id::UnitId;
use super::range_map::RangeMap;
use super::unit::{UnitEntry, UnitKind};
use crate::error::{Error, Result};

/// The addresses that a unit covers, in their stored form.
type Covered = (core::ops::Range<u64>, UnitId);

/// Units by address.
#[derive(Debug)]
pub(super) struct AddressIndex {
    map: RangeMap<UnitId>,
    /// The units whose first entry has no addresses. Their functions must be read instead.
    silent: Vec<UnitId>,
    /// The reason why a unit could not be read.
    broken: Option<Error>,
}

impl<'a> DebugInfo<'a> {
    /// Returns the unit whose code contains `pc`, an address of the code object. Of a skeleton and its split unit
    /// it is the split unit, which has the entries.
    ///
    /// # Errors
    /// If no unit is found, but one could not be read that might have been it.
    pub fn find_unit(&self, pc: u64) -> Result<Option<UnitId>> {
        let aranges = self.aranges.get_or_init(|| self.read_aranges());
        let found = match aranges.map.get(pc) {
            Some(unit) => Some(unit),
            None => {
                let index = self.addresses.get_or_init(|| self.read_unit_ranges());
                match index.map.get(pc) {
                    Some(unit) => Some(unit),
                    None => self.ask_functions(index, pc)?,
                }
            }
        };
        Ok(found.map(|unit| self.with_entries(unit)))
    }

    /// Returns the split unit of a skeleton; any other unit itself.
    fn with_entries(&self, unit: UnitId) -> UnitId {
        match self.entry(unit) {
            Ok(entry) if entry.file == 0 => entry.partner.unwrap_or(unit),
            _ => unit,
        }
    }

    fn ask_functions(&self, index: &AddressIndex, pc: u64) -> Result<Option<UnitId>> {
        for unit in &index.silent {
            let functions = self.index(self.with_entries(*unit))?;
            if functions.functions.get(pc).is_some() {
                return Ok(Some(*unit));
            }
        }
        match index.broken.clone().or_else(|| self.broken.clone()) {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    /// Reads `.debug_aranges` as far as it can be read.
    fn read_aranges(&self) -> AddressIndex {
        let mut entries = Vec::new();
        let meter = self.meter();
        if let Some(file) = self.files.first() {
            let mut headers = file.dwarf.debug_aranges.headers();
            while let Ok(Some(header)) = headers.next() {
                let Some(unit) = self.unit_that_starts_at(header.debug_info_offset().0) else {
                    continue;
                };
                let mut ranges = header.entries();
                while let Ok(Some(entry)) = ranges.next() {
                    if meter.work(1).and(self.hold_all::<Covered>(1)).is_err() {
                        break;
                    }
                    entries.push((entry.range().begin..entry.range().end, unit));
                }
            }
        }
        AddressIndex {
            map: RangeMap::new(entries),
            silent: Vec::new(),
            broken: None,
        }
    }

    /// Returns the unit whose header is at `offset` of the code object's `.debug_info`.
    fn unit_that_starts_at(&self, offset: usize) -> Option<UnitId> {
        let in_info = self.units.partition_point(|entry| {
            entry.file == 0 && entry.header.section() == SectionId::DebugInfo
        });
        let units = self.units.get(..in_info)?;
        let index = units
            .binary_search_by_key(&offset, UnitEntry::offset)
            .ok()?;
        u32::try_from(index).ok().map(UnitId)
    }

    /// Reads the first entry of every unit of the code object.
    fn read_unit_ranges(&self) -> AddressIndex {
        let mut entries = Vec::new();
        let mut silent = Vec::new();
        let mut broken = None;
        let meter = self.meter();
        for (unit, entry) in self.unit_ids().zip(&self.units) {
            let has_code = matches!(entry.kind(), UnitKind::Compile | UnitKind::Skeleton);
            if entry.file != 0 || !has_code {
                continue;
            }
            let result = self.contents(unit).and_then(|contents| {
                if !self.says_ranges(&contents.root) {
                    silent.push(unit);
                }
                let mut full = Ok(());
                self.for_each_range(&contents.root, meter, |range| {
                    full = self.hold_all::<Covered>(1);
                    entries.push((range, unit));
                    full.is_err()
                })?;
                full
            });
            if let Err(error) = result {
                broken.get_or_insert(error);
            }
        }
        AddressIndex {
            map: RangeMap::new(entries),
            silent,
            broken,
        }
    }
}
