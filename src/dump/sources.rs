//! Reads the sections for a dump, from one file or two.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::debug_info::{Bytes, DebugInfo};
use crate::expr::Dialect;
use crate::limits::Limits;
use crate::meter::Meter;
use crate::object::{CodeObject, Section};

use super::section_sizes::debug_sections;

/// The properties of units that sections without headers use.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitDefaults {
    /// The highest version of a unit, or 5 if there is none.
    pub(super) version: u16,
    /// The size of an address in the first unit, in bytes.
    pub(super) address_size: u8,
}

/// The sections for a dump: from the code object, then from a `.dwo` file.
#[derive(Clone, Debug)]
pub(super) struct Sources<'a> {
    /// The files, each with true for a `.dwo` file.
    pub(super) files: Vec<(&'a CodeObject<'a>, bool)>,
    /// True if sections with the same name are shown separately, and expressions before relocation, as in llvm-dwarfdump.
    pub(super) as_stored: bool,
}

/// Returns the version of the structure at an offset.
///
/// * `read`: the version in its bytes;
/// * `of_6`: the offsets of structures of version 6, whose bytes have been changed to 5.
pub(super) fn said_version(read: u16, offset: u64, of_6: &[u64]) -> u16 {
    match of_6.binary_search(&offset) {
        Ok(_) => 6,
        Err(_) => read,
    }
}

impl<'a> Sources<'a> {
    /// Returns a section for each kind of file, by its name in a code object. The result has the name in that file, and empty contents if there is
    /// none.
    pub(super) fn section(&self, split: bool, name: &'static str) -> crate::Result<&'a [u8]> {
        Ok(self.section_with_6(split, name)?.0)
    }

    /// Returns the offsets of structures of version 6 in the result of [`section`](Sources::section).
    pub(super) fn of_6(&self, split: bool, name: &'static str) -> crate::Result<&'a [u64]> {
        Ok(self.section_with_6(split, name)?.1)
    }

    pub(super) fn section_with_6(
        &self,
        split: bool,
        name: &'static str,
    ) -> crate::Result<(&'a [u8], &'a [u64])> {
        let wanted = if split {
            format!("{name}.dwo")
        } else {
            name.to_owned()
        };
        match self.files.iter().find(|(_, found)| *found == split) {
            Some((object, _)) => object.debug_section(&wanted),
            None => Ok((&[], &[])),
        }
    }

    /// Returns [`section`](Sources::section) for gimli.
    pub(super) fn bytes(&self, split: bool, name: &'static str) -> crate::Result<Bytes<'a>> {
        Ok(Bytes::new(self.section(split, name)?, gimli::LittleEndian))
    }

    /// Returns a section of a package, whose name is the same there.
    pub(super) fn of_package(&self, name: &str) -> crate::Result<&'a [u8]> {
        match self.files.last() {
            Some((object, _)) => Ok(object.debug_section(name)?.0),
            None => Ok(&[]),
        }
    }

    /// Returns the properties of units that sections without headers use.
    pub(super) fn unit_facts(&self, dialect: Dialect) -> crate::Result<UnitDefaults> {
        let info = self.info(dialect)?;
        let mut units = info.unit_ids().filter_map(|id| info.unit_info(id).ok());
        let first = units.next();
        let address_size = first.as_ref().map_or(8, |unit| unit.address_size);
        let versions = first.into_iter().chain(units).map(|unit| unit.version);
        Ok(UnitDefaults {
            version: versions.max().unwrap_or(5),
            address_size,
        })
    }

    /// Returns the load address of a section of the code object, or 0 if there is none.
    pub(super) fn address(&self, name: &str) -> u64 {
        let code = self.files.iter().filter(|(_, split)| !split);
        let mut sections = code.flat_map(|(object, _)| object.sections());
        sections
            .find(|section| section.name == name)
            .map_or(0, |section| section.address)
    }

    /// Returns true if sections with the same name are shown separately.
    pub(super) fn is_apart(&self) -> bool {
        let mut files = self.files.iter();
        self.as_stored && files.any(|(object, _)| object.is_relocatable())
    }

    /// Returns the start of the section that contains an offset, among joined sections with one name, or 0 if they are shown as one.
    pub(super) fn section_start(&self, split: bool, name: &str, offset: u64) -> u64 {
        if !self.is_apart() {
            return 0;
        }
        let wanted = if split {
            format!("{name}.dwo")
        } else {
            name.to_owned()
        };
        let files = self.files.iter().filter(|(_, found)| *found == split);
        let sections = files.flat_map(|(object, _)| match object.is_relocatable() {
            true => object.sections(),
            false => &[],
        });
        let named = sections.filter(|section| section.standard_name() == wanted);
        let starts = named.map(|section| section.address);
        starts.filter(|start| *start <= offset).max().unwrap_or(0)
    }

    /// Returns the displayed bytes at an offset of a section: before relocation in the style of llvm-dwarfdump.
    ///
    /// * `bytes`: the relocated bytes.
    pub(super) fn stored(
        &self,
        split: bool,
        name: &str,
        at: Option<u64>,
        bytes: &'a [u8],
    ) -> &'a [u8] {
        if !self.as_stored {
            return bytes;
        }
        let mut files = self.files.iter();
        let file = files.find(|(object, found)| *found == split && object.is_relocatable());
        let found = || {
            let wanted = if split {
                format!("{name}.dwo")
            } else {
                name.to_owned()
            };
            let section = file?.0.stored_section(&wanted).ok()?;
            let start = usize::try_from(at?).ok()?;
            section.get(start..start.checked_add(bytes.len())?)
        };
        found().unwrap_or(bytes)
    }

    /// Returns a section of call frame information before relocation, in the style of llvm-dwarfdump.
    pub(super) fn stored_frames(&self, name: &str) -> Option<&'a [u8]> {
        let mut files = self.files.iter().filter(|_| self.as_stored);
        let (object, _) = files.find(|(object, split)| !split && object.is_relocatable())?;
        object.stored_section(name).ok()
    }

    /// Returns the sections of debugging information of the first file, with their sizes.
    pub(super) fn section_sizes(&self) -> Vec<(&'a str, u64)> {
        let object = self.files.first().map(|(object, _)| *object);
        object.map_or_else(Vec::new, debug_sections)
    }

    /// Returns the sections of the code object.
    pub(super) fn sections(&self) -> &'a [Section<'a>] {
        let main = self.files.iter().find(|(_, split)| !split);
        main.or(self.files.first())
            .map_or(&[], |(object, _)| object.sections())
    }

    /// Returns the sections to which the relocated fields of a section refer, by the offsets of the fields.
    pub(super) fn targets(
        &self,
        split: bool,
        name: &'static str,
    ) -> crate::Result<BTreeMap<u64, usize>> {
        let wanted = if split {
            format!("{name}.dwo")
        } else {
            name.to_owned()
        };
        match self.files.iter().find(|(_, found)| *found == split) {
            Some((object, _)) => object.targets_of(&wanted),
            None => Ok(BTreeMap::new()),
        }
    }

    /// Returns true if skeletons and split units are in one file.
    pub(super) fn is_single(&self) -> bool {
        match *self.files {
            [(main, false), (split, true)] => core::ptr::eq(main, split),
            _ => false,
        }
    }

    /// Returns true if there are files of a kind.
    pub(super) fn has(&self, split: bool) -> bool {
        self.files.iter().any(|(_, found)| *found == split)
    }

    /// Returns a meter for a part of the dump.
    pub(super) fn for_query(&self) -> Arc<Meter> {
        let meters = self.files.iter().map(|(object, _)| object.meter().as_ref());
        let meter = Meter::for_query_about(meters);
        Arc::new(meter.unwrap_or_else(|| Meter::new(&Limits::DEFAULT, 0)))
    }

    pub(super) fn info(&self, dialect: Dialect) -> crate::Result<DebugInfo<'a>> {
        let load = |split: bool| {
            move |name: &'static str| match self.files.iter().find(|(_, found)| *found == split) {
                Some((object, _)) => Ok(object.debug_section(name)?.0),
                None => Ok(&[] as &[u8]),
            }
        };
        let info = DebugInfo::load_within(&self.for_query(), load(false))?.with_dialect(dialect);
        if self.has(true) {
            return info.with_split(load(true));
        }
        Ok(info)
    }
}
