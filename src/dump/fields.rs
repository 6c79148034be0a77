//! Locates the attributes of an entry in their section, and the sections of their addresses.
//!
//! Only verbose dumps of relocatable objects need this: they print the section from an address's relocation after the address. Source: DWARF 5
//! §7.5.6.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use gimli::DwForm;
use gimli::constants as dw;

use super::Sources;
use super::unit_facts::UnitFacts;
use crate::debug_info::Bytes;
use crate::expr::Cursor;

/// Walks over the attributes of an entry as they are encoded.
pub(super) struct Fields<'a> {
    cursor: Cursor<'a>,
    start: u64,
    version: u16,
    address_size: u8,
    offset_size: u8,
    is_lost: bool,
}

impl<'a> Fields<'a> {
    /// Creates a reader for the attributes of an entry, which starts after the abbreviation number.
    ///
    /// * `start`: the offset of the entry in its section, in bytes.
    pub(super) fn new(section: Bytes<'a>, start: u64, unit: UnitFacts) -> Fields<'a> {
        let at = usize::try_from(start).unwrap_or(usize::MAX);
        let mut cursor = Cursor::new(section.slice().get(at..).unwrap_or_default());
        let is_lost = cursor.uleb().is_err();
        Fields {
            cursor,
            start,
            version: unit.version,
            address_size: unit.address_size,
            offset_size: unit.offset_size,
            is_lost,
        }
    }

    /// Returns the offset of the next attribute's value in its section, and skips the value.
    pub(super) fn next(&mut self, form: DwForm) -> Option<u64> {
        let at = self.start.saturating_add(self.cursor.position() as u64);
        if self.is_lost || self.skip(form).is_none() {
            self.is_lost = true;
            return None;
        }
        Some(at)
    }

    fn skip(&mut self, form: DwForm) -> Option<()> {
        let cursor = &mut self.cursor;
        let size = match form {
            dw::DW_FORM_flag_present | dw::DW_FORM_implicit_const => 0,
            dw::DW_FORM_data1
            | dw::DW_FORM_flag
            | dw::DW_FORM_ref1
            | dw::DW_FORM_strx1
            | dw::DW_FORM_addrx1 => 1,
            dw::DW_FORM_data2 | dw::DW_FORM_ref2 | dw::DW_FORM_strx2 | dw::DW_FORM_addrx2 => 2,
            dw::DW_FORM_strx3 | dw::DW_FORM_addrx3 => 3,
            dw::DW_FORM_data4
            | dw::DW_FORM_ref4
            | dw::DW_FORM_ref_sup4
            | dw::DW_FORM_strx4
            | dw::DW_FORM_addrx4 => 4,
            dw::DW_FORM_data8 | dw::DW_FORM_ref8 | dw::DW_FORM_ref_sig8 | dw::DW_FORM_ref_sup8 => 8,
            dw::DW_FORM_data16 => 16,
            dw::DW_FORM_addr => self.address_size.into(),
            dw::DW_FORM_ref_addr if self.version <= 2 => self.address_size.into(),
            dw::DW_FORM_sec_offset
            | dw::DW_FORM_strp
            | dw::DW_FORM_line_strp
            | dw::DW_FORM_ref_addr
            | dw::DW_FORM_strp_sup
            | dw::DW_FORM_GNU_ref_alt
            | dw::DW_FORM_GNU_strp_alt => self.offset_size.into(),
            dw::DW_FORM_block1 => cursor.u8().ok()?.into(),
            dw::DW_FORM_block2 => cursor.u16().ok()?.into(),
            dw::DW_FORM_block4 => cursor.u32().ok()?.into(),
            dw::DW_FORM_block | dw::DW_FORM_exprloc => cursor.uleb().ok()?,
            dw::DW_FORM_udata
            | dw::DW_FORM_sdata
            | dw::DW_FORM_ref_udata
            | dw::DW_FORM_strx
            | dw::DW_FORM_addrx
            | dw::DW_FORM_loclistx
            | dw::DW_FORM_rnglistx
            | dw::DW_FORM_GNU_addr_index
            | dw::DW_FORM_GNU_str_index => {
                while cursor.u8().ok()? & 0x80 != 0 {}
                0
            }
            dw::DW_FORM_string => {
                while cursor.u8().ok()? != 0 {}
                0
            }
            _ => return None,
        };
        cursor.bytes(size).ok().map(drop)
    }
}

/// The index of the section to which each relocated field of a section refers, by the field's offset.
type Targets = BTreeMap<u64, usize>;

/// The sections of the addresses in relocatable objects.
#[derive(Default)]
pub(super) struct Placed {
    known: RefCell<HashMap<(bool, &'static str), Rc<Targets>>>,
}

impl Placed {
    /// Returns the lookup for sections of addresses, if the dump is verbose and an object is not linked.
    pub(super) fn new(sources: &Sources<'_>, verbose: bool) -> Option<Placed> {
        let mut files = sources.files.iter();
        (verbose && files.any(|(object, _)| object.is_relocatable())).then(Placed::default)
    }

    /// Returns the section of the address at an offset of a section.
    pub(super) fn section(
        &self,
        sources: &Sources<'_>,
        (split, name): (bool, &'static str),
        offset: u64,
    ) -> Option<usize> {
        if let Some(targets) = self.known.borrow().get(&(split, name)) {
            return targets.get(&offset).copied();
        }
        // An unreadable table is reported when the section is loaded.
        let targets = Rc::new(sources.targets(split, name).unwrap_or_default());
        let known = &mut self.known.borrow_mut();
        known.insert((split, name), Rc::clone(&targets));
        targets.get(&offset).copied()
    }

    /// Returns the note after an address in the section with this index. It includes the index if the section's name is not unique.
    pub(super) fn text(sources: &Sources<'_>, section: usize) -> String {
        let sections = sources.sections();
        let Some(found) = sections.get(section) else {
            return String::new();
        };
        let same = sections.iter().filter(|other| other.name == found.name);
        let name = crate::untrusted::Untrusted::from(&*found.name);
        match same.take(2).count() {
            1 => format!(" \"{name}\""),
            _ => format!(" \"{name}\" [{section}]"),
        }
    }
}
