//! Holds the debug sections of one file: the code object, or a `.dwo` file that belongs to it.
//!
//! It passes the sections to gimli and locates gimli's errors in them. Interpreting their contents is left to the other modules. Source: DWARF 5
//! §7.3.

use gimli::{Section, SectionId};

use super::Bytes;
use super::abbreviation::AbbreviationTables;
use super::package::{Contributions, Package};
use crate::error::{Error, Result};
use crate::meter::Held;

/// Reads the header of the next unit.
type ReadHeader<'r, 'a> =
    &'r mut dyn FnMut() -> gimli::Result<Option<gimli::UnitHeader<Bytes<'a>>>>;

/// The sections of one file.
#[derive(Debug)]
pub(super) struct File<'a> {
    /// The sections in gimli's form. Its cache of abbreviations is not used.
    pub(super) dwarf: gimli::Dwarf<Bytes<'a>>,
    /// True if it is a `.dwo` file, whose sections have other names.
    pub(super) split: bool,
    /// `.debug_loc`, `.debug_loclists` and `.debug_rnglists`, which gimli keeps to itself.
    pub(super) loc: Bytes<'a>,
    pub(super) loclists: Bytes<'a>,
    pub(super) rnglists: Bytes<'a>,
    /// `.debug_cu_index` and `.debug_tu_index`.
    indices: [&'a [u8]; 2],
    /// The indices, if this is a package of `.dwo` files.
    package: Option<Package>,
    abbreviations: AbbreviationTables,
}

impl<'a> File<'a> {
    /// Loads the sections. `section` returns the bytes of a section by name, empty if there is none.
    pub(super) fn load(
        split: bool,
        mut section: impl FnMut(&'static str) -> Result<&'a [u8]>,
    ) -> Result<File<'a>> {
        let empty = Bytes::new(&[], gimli::LittleEndian);
        let mut file = File {
            dwarf: gimli::Dwarf::default(),
            split,
            loc: empty,
            loclists: empty,
            rnglists: empty,
            indices: [&[]; 2],
            package: None,
            abbreviations: AbbreviationTables::new([], 0),
        };
        if split {
            file.indices = [section(".debug_cu_index")?, section(".debug_tu_index")?];
        }
        let dwarf = gimli::Dwarf::load(|id| -> Result<Bytes<'a>> {
            let name = if split {
                id.dwo_name()
            } else {
                Some(id.name())
            };
            let bytes = match name {
                Some(name) => Bytes::new(section(name)?, gimli::LittleEndian),
                None => empty,
            };
            if id == SectionId::DebugLoc {
                file.loc = bytes;
            } else if id == SectionId::DebugLocLists {
                file.loclists = bytes;
            } else if id == SectionId::DebugRngLists {
                file.rnglists = bytes;
            }
            Ok(bytes)
        })?;
        file.dwarf = dwarf;
        Ok(file)
    }

    /// Returns the total size in bytes of all sections that gimli knows.
    pub(super) fn length(&self) -> u64 {
        let dwarf = &self.dwarf;
        let lengths = [
            dwarf.debug_abbrev.reader().slice().len(),
            dwarf.debug_addr.reader().slice().len(),
            dwarf.debug_aranges.reader().slice().len(),
            dwarf.debug_info.reader().slice().len(),
            dwarf.debug_line.reader().slice().len(),
            dwarf.debug_line_str.reader().slice().len(),
            dwarf.debug_str.reader().slice().len(),
            dwarf.debug_str_offsets.reader().slice().len(),
            dwarf.debug_types.reader().slice().len(),
            self.loc.slice().len(),
            self.loclists.slice().len(),
            self.rnglists.slice().len(),
        ];
        lengths
            .into_iter()
            .fold(0, |sum, length| sum.saturating_add(length as u64))
    }

    /// Returns the headers of all units, and the error that ended the reading, if any.
    ///
    /// * `unit_size`: the bytes held for each unit.
    pub(super) fn headers(
        &mut self,
        held: &Held,
        unit_size: u64,
    ) -> (Vec<gimli::UnitHeader<Bytes<'a>>>, Option<Error>) {
        /// The steps charged for each unit: for its header, and for reading the unit at its first use.
        const PER_UNIT: u64 = 8;
        let mut headers = Vec::new();
        let mut broken = None;
        let pay = || {
            held.meter().work(PER_UNIT)?;
            held.hold(unit_size)
        };
        let mut read_all = |id, read: ReadHeader<'_, 'a>| {
            let mut next = 0;
            loop {
                match read() {
                    Ok(Some(header)) => {
                        if let Err(error) = pay() {
                            broken.get_or_insert(error);
                            break;
                        }
                        next = header
                            .offset()
                            .0
                            .saturating_add(header.length_including_self());
                        headers.push(header);
                    }
                    Ok(None) => break,
                    Err(error) => {
                        broken = Some(self.error("unit header", id, next, error));
                        break;
                    }
                }
            }
        };
        let (mut info, mut types) = (self.dwarf.units(), self.dwarf.type_units());
        read_all(SectionId::DebugInfo, &mut || info.next());
        read_all(SectionId::DebugTypes, &mut || types.next());
        let [units, types] = self.indices;
        self.package = Package::read(units, types, held);
        self.abbreviations = AbbreviationTables::new(
            headers
                .iter()
                .filter_map(|header| self.abbreviations_offset(header).ok()),
            self.dwarf.debug_abbrev.reader().slice().len(),
        );
        (headers, broken)
    }

    /// Returns the reason why the indices of a package could not be read.
    pub(super) fn package_problem(&self) -> Option<&Error> {
        self.package.as_ref().and_then(Package::problem)
    }

    /// Returns a unit's parts of the sections of a package, or `None` if the file is no package.
    ///
    /// # Errors
    /// If the package has no parts for the unit.
    pub(super) fn contributions(
        &self,
        header: &gimli::UnitHeader<Bytes<'a>>,
    ) -> Result<Option<Contributions>> {
        let Some(package) = &self.package else {
            return Ok(None);
        };
        let offset = header.offset().0;
        let end = offset.saturating_add(header.length_including_self());
        let found = package.contributions(header.section(), offset..end);
        found
            .map(Some)
            .map_err(|error| error.within(self.section_name(header.section()), offset as u64))
    }

    /// Returns the offset at which the abbreviations of a unit start in their section.
    ///
    /// # Errors
    /// If the file is a package, and the abbreviations are not in the unit's part.
    pub(super) fn abbreviations_offset(
        &self,
        header: &gimli::UnitHeader<Bytes<'a>>,
    ) -> Result<usize> {
        let offset = header.debug_abbrev_offset().0;
        match self.contributions(header)? {
            None => Ok(offset),
            Some(parts) => Contributions::resolve(parts.abbreviations, offset).map_err(|error| {
                let id = header.section();
                error.within(self.section_name(id), header.offset().0 as u64)
            }),
        }
    }

    /// Returns the abbreviations of a unit.
    pub(super) fn abbreviations(
        &self,
        header: &gimli::UnitHeader<Bytes<'a>>,
        held: &Held,
    ) -> Result<std::sync::Arc<gimli::Abbreviations>> {
        let offset = self.abbreviations_offset(header)?;
        self.abbreviations
            .get(*self.dwarf.debug_abbrev.reader(), offset, held)?
            .map_err(|error| self.error("abbreviations", SectionId::DebugAbbrev, offset, error))
    }

    /// Returns the name of a section in this kind of file.
    pub(super) fn section_name(&self, id: SectionId) -> &'static str {
        match id.dwo_name() {
            Some(name) if self.split => name,
            _ => id.name(),
        }
    }

    /// Returns the section with the location lists for a DWARF version.
    pub(super) fn location_lists(&self, version: u16) -> (&'static str, &'a [u8]) {
        let (id, bytes) = match version {
            ..5 => (SectionId::DebugLoc, self.loc),
            5.. => (SectionId::DebugLocLists, self.loclists),
        };
        (self.section_name(id), bytes.slice())
    }

    /// Adds the place to a gimli error: the offset in section `id` at which the input ended, or else `offset`, the start of the item being read.
    pub(super) fn error(
        &self,
        what: &'static str,
        id: SectionId,
        offset: usize,
        error: gimli::Error,
    ) -> Error {
        let mut offset = offset;
        if let gimli::Error::UnexpectedEof(place) = error
            && let Some((_, found, at)) = self.dwarf.lookup_offset_id(place)
            && found == id
        {
            offset = at;
        }
        Error::malformed(what, error.to_string()).within(self.section_name(id), offset as u64)
    }
}

/// Reads entry `index` of a table of offsets that starts at `base`, and adds `base` to it, as the
/// tables at the head of `.debug_loclists` and `.debug_rnglists` ask for (DWARF 5 §7.28, §7.29).
pub(super) fn offset_in_table(
    section: Bytes<'_>,
    base: usize,
    index: usize,
    format: gimli::Format,
) -> Option<usize> {
    let size = usize::from(format.word_size());
    let start = base.checked_add(index.checked_mul(size)?)?;
    let bytes = section.slice().get(start..start.checked_add(size)?)?;
    let offset = match bytes.try_into() {
        Ok(eight) => u64::from_le_bytes(eight),
        Err(_) => u64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
    };
    base.checked_add(usize::try_from(offset).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_in_a_table_count_from_its_base() {
        let section = [9, 9, 4, 0, 0, 0, 8, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        let at = |base, index| {
            let section = Bytes::new(&section, gimli::LittleEndian);
            offset_in_table(section, base, index, gimli::Format::Dwarf32)
        };
        assert_eq!(at(2, 0), Some(6));
        assert_eq!(at(2, 1), Some(10));
        assert_eq!(at(2, 3), None);
        assert_eq!(at(usize::MAX, 1), None);
        assert_eq!(at(2, usize::MAX), None);
    }

    #[test]
    fn offsets_of_64_bits_do_not_wrap() {
        let section = [0xff; 8];
        let section = Bytes::new(&section, gimli::LittleEndian);
        assert_eq!(
            offset_in_table(section, 0, 0, gimli::Format::Dwarf64),
            Some(usize::MAX)
        );
        assert_eq!(offset_in_table(section, 1, 0, gimli::Format::Dwarf64), None);
    }
}
