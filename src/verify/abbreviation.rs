//! Checks abbreviations: each must be readable, and each attribute must have a form of an allowed class. Sources: DWARF 5 §7.5.3 to §7.5.6,
//! with tables 7.5 (attributes) and 7.6 (forms).
//!
//! A table is read once, regardless of the number of units that use it.

#![expect(
    non_upper_case_globals,
    reason = "the names of constants are those of DWARF, as gimli has them"
)]

use std::collections::BTreeSet;

use gimli::constants::{self as c, DW_AT_null, DW_FORM_implicit_const};
use gimli::{DwAt, DwForm, Section as _};

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::error::Result;
use crate::expr::Cursor;
use crate::meter::Meter;

rules! {
    END "abbrev-end" Error "DWARF 5 §7.5.3"
        "a table of abbreviations does not end"
        "The last entry of a table is the code 0. Without it, a reader takes the bytes after the table for more entries, or rejects all units \
         that use the table. Their functions, types and variables are then missing.";
    TWICE "abbrev-attribute-twice" Error "DWARF 5 §2.2"
        "an abbreviation lists an attribute twice"
        "An entry can have an attribute only once. Debuggers use either of the two values, and may disagree.";
    FORM "abbrev-form" Error "DWARF 5 §7.5.4"
        "an attribute has a form whose class is not allowed for it"
        "Table 7.5 lists the classes of each attribute, and table 7.6 the class of each form. A debugger ignores an attribute of another class, \
         so the line, address or type that it gives is lost.";
}

/// A set of classes of values. Source: DWARF 5 §7.5.5.
type Classes = u8;
const ADDRESS: Classes = 1;
const BLOCK: Classes = 2;
const CONSTANT: Classes = 4;
const EXPRESSION: Classes = 8;
const FLAG: Classes = 16;
/// An offset of a line table, a list or a table of indices in its section.
const OFFSET: Classes = 32;
const REFERENCE: Classes = 64;
const STRING: Classes = 128;
/// Any class, for forms without known classes.
const ANY: Classes = u8::MAX;

/// The classes of a bound or a size: a number, a computation, or a variable.
const BOUND: Classes = CONSTANT | EXPRESSION | REFERENCE;
/// The classes of a location.
const LOCATION: Classes = EXPRESSION | OFFSET;

/// The names of classes, from the lowest bit.
const NAMES: [&str; 8] = [
    "an address",
    "a block",
    "a constant",
    "an expression",
    "a flag",
    "an offset into a section",
    "a reference",
    "a string",
];

/// The classes that the values of attributes can have.
const ATTRIBUTES: &[(Classes, &[DwAt])] = &[
    (
        ADDRESS,
        &[c::DW_AT_low_pc, c::DW_AT_call_return_pc, c::DW_AT_call_pc],
    ),
    (ADDRESS | CONSTANT, &[c::DW_AT_high_pc, c::DW_AT_entry_pc]),
    (
        CONSTANT,
        &[
            c::DW_AT_ordering,
            c::DW_AT_language,
            c::DW_AT_inline,
            c::DW_AT_accessibility,
            c::DW_AT_calling_convention,
            c::DW_AT_decl_column,
            c::DW_AT_decl_file,
            c::DW_AT_decl_line,
            c::DW_AT_call_column,
            c::DW_AT_call_file,
            c::DW_AT_call_line,
            c::DW_AT_encoding,
            c::DW_AT_virtuality,
            c::DW_AT_data_bit_offset,
            c::DW_AT_defaulted,
            c::DW_AT_endianity,
        ],
    ),
    (
        FLAG,
        &[
            c::DW_AT_prototyped,
            c::DW_AT_artificial,
            c::DW_AT_declaration,
            c::DW_AT_external,
            c::DW_AT_explicit,
            c::DW_AT_mutable,
            c::DW_AT_const_expr,
            c::DW_AT_enum_class,
            c::DW_AT_main_subprogram,
            c::DW_AT_noreturn,
            c::DW_AT_reference,
            c::DW_AT_rvalue_reference,
            c::DW_AT_export_symbols,
            c::DW_AT_deleted,
            c::DW_AT_call_all_calls,
            c::DW_AT_call_all_source_calls,
            c::DW_AT_call_all_tail_calls,
            c::DW_AT_call_tail_call,
        ],
    ),
    (
        OFFSET,
        &[
            c::DW_AT_stmt_list,
            c::DW_AT_ranges,
            c::DW_AT_macros,
            c::DW_AT_str_offsets_base,
            c::DW_AT_addr_base,
            c::DW_AT_rnglists_base,
            c::DW_AT_loclists_base,
        ],
    ),
    (
        REFERENCE,
        &[
            c::DW_AT_sibling,
            c::DW_AT_import,
            c::DW_AT_containing_type,
            c::DW_AT_abstract_origin,
            c::DW_AT_specification,
            c::DW_AT_type,
            c::DW_AT_extension,
            c::DW_AT_signature,
            c::DW_AT_object_pointer,
            c::DW_AT_call_origin,
            c::DW_AT_call_parameter,
        ],
    ),
    (
        STRING,
        &[
            c::DW_AT_name,
            c::DW_AT_comp_dir,
            c::DW_AT_producer,
            c::DW_AT_linkage_name,
            c::DW_AT_dwo_name,
            c::DW_AT_description,
        ],
    ),
    (
        EXPRESSION,
        &[
            c::DW_AT_call_target,
            c::DW_AT_call_value,
            c::DW_AT_data_location,
        ],
    ),
    (
        LOCATION,
        &[
            c::DW_AT_location,
            c::DW_AT_frame_base,
            c::DW_AT_return_addr,
            c::DW_AT_static_link,
        ],
    ),
    (
        LOCATION | CONSTANT,
        &[c::DW_AT_data_member_location, c::DW_AT_vtable_elem_location],
    ),
    (
        BOUND,
        &[
            c::DW_AT_byte_size,
            c::DW_AT_bit_size,
            c::DW_AT_lower_bound,
            c::DW_AT_count,
            c::DW_AT_byte_stride,
            c::DW_AT_bit_stride,
        ],
    ),
    (BLOCK | CONSTANT | STRING, &[c::DW_AT_const_value]),
];

/// Returns the classes of a form.
fn classes(form: DwForm, version: u16) -> Classes {
    let old = |classes: Classes| if version < 4 { classes } else { 0 };
    match form {
        c::DW_FORM_addr
        | c::DW_FORM_addrx
        | c::DW_FORM_addrx1
        | c::DW_FORM_addrx2
        | c::DW_FORM_addrx3
        | c::DW_FORM_addrx4
        | c::DW_FORM_GNU_addr_index => ADDRESS,
        // Before DWARF 4, expressions and section offsets had no form of their own.
        c::DW_FORM_block | c::DW_FORM_block1 | c::DW_FORM_block2 | c::DW_FORM_block4 => {
            BLOCK | old(EXPRESSION)
        }
        c::DW_FORM_data4 | c::DW_FORM_data8 => CONSTANT | old(OFFSET),
        c::DW_FORM_data1
        | c::DW_FORM_data2
        | c::DW_FORM_data16
        | c::DW_FORM_sdata
        | c::DW_FORM_udata
        | DW_FORM_implicit_const => CONSTANT,
        c::DW_FORM_exprloc => EXPRESSION,
        c::DW_FORM_flag | c::DW_FORM_flag_present => FLAG,
        c::DW_FORM_sec_offset | c::DW_FORM_loclistx | c::DW_FORM_rnglistx => OFFSET,
        c::DW_FORM_ref1
        | c::DW_FORM_ref2
        | c::DW_FORM_ref4
        | c::DW_FORM_ref8
        | c::DW_FORM_ref_udata
        | c::DW_FORM_ref_addr
        | c::DW_FORM_ref_sig8
        | c::DW_FORM_ref_sup4
        | c::DW_FORM_ref_sup8
        | c::DW_FORM_GNU_ref_alt => REFERENCE,
        c::DW_FORM_string
        | c::DW_FORM_strp
        | c::DW_FORM_line_strp
        | c::DW_FORM_strx
        | c::DW_FORM_strx1
        | c::DW_FORM_strx2
        | c::DW_FORM_strx3
        | c::DW_FORM_strx4
        | c::DW_FORM_strp_sup
        | c::DW_FORM_GNU_str_index
        | c::DW_FORM_GNU_strp_alt => STRING,
        // A form that the entry names, or an unknown form, which is reported with the entry.
        _ => ANY,
    }
}

fn known(name: DwAt) -> String {
    let text = name.static_string();
    text.map_or_else(|| format!("the attribute {:#x}", name.0), str::to_owned)
}

/// Joins the names of classes: `a constant or a reference`.
fn names(classes: Classes) -> String {
    let bits = NAMES.iter().enumerate();
    let names = bits.filter(|(bit, _)| classes & (1 << bit) != 0);
    let names: Vec<&str> = names.map(|(_, name)| *name).collect();
    names.join(" or ")
}

/// Checks the tables of all units.
pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let info = subject.program.info();
    let mut seen = BTreeSet::new();
    for unit in info.unit_ids() {
        let (Ok(place), Ok(sections)) = (info.abbreviations_of(unit), info.raw_sections(unit))
        else {
            continue;
        };
        let version = info.version(unit).unwrap_or(0);
        let bytes = sections.debug_abbrev.reader().slice();
        // An offset outside the section is reported with the unit.
        let is_inside = place.1 < bytes.len();
        if !is_inside || !seen.insert(place) {
            continue;
        }
        let (section, start) = place;
        let mut table = Table {
            section,
            start,
            version: Some(version),
            findings: &mut *findings,
        };
        if table.check(bytes, subject.meter()).is_err() {
            let message =
                format!("the table at {start:#x} does not end before the end of the section");
            let finding = Finding::new(&END, section, message);
            findings.add(finding.at(start as u64));
        }
        if subject.meter().refused().is_some() {
            return;
        }
    }
    for section in [".debug_abbrev", ".debug_abbrev.dwo"] {
        if !seen.iter().any(|(read, _)| *read == section) {
            without_units(section, subject, findings);
        }
    }
}

/// Checks the tables of a section that no unit reads. A missing end of such a table is not reported.
fn without_units(section: &'static str, subject: &Subject<'_, '_>, findings: &mut Findings) {
    let bytes = subject.program.object().section(section).ok().flatten();
    let bytes = bytes.unwrap_or_default();
    let mut start = 0;
    while start < bytes.len() && subject.meter().work(1).is_ok() {
        let mut table = Table {
            section,
            start,
            version: None,
            findings: &mut *findings,
        };
        match table.check(bytes, subject.meter()) {
            Ok(end) => start = end,
            Err(_) => return,
        }
    }
}

/// A table of abbreviations.
struct Table<'f> {
    section: &'static str,
    start: usize,
    /// The version of the first unit with this table, on which the classes of forms depend. None if no unit uses the table.
    version: Option<u16>,
    findings: &'f mut Findings,
}

impl Table<'_> {
    /// Checks the abbreviations up to the end of the table. Returns the offset of the end.
    ///
    /// # Errors
    /// If the section ends before the table, or a limit is reached.
    fn check(&mut self, section: &[u8], meter: &Meter) -> Result<usize> {
        let mut cursor = Cursor::new(section);
        cursor.go_to(self.start)?;
        loop {
            let at = cursor.position();
            let code = cursor.uleb()?;
            if code == 0 {
                return Ok(cursor.position());
            }
            meter.work(1)?;
            self.attributes(code, at, &mut cursor, meter)?;
        }
    }

    fn attributes(
        &mut self,
        code: u64,
        at: usize,
        cursor: &mut Cursor<'_>,
        meter: &Meter,
    ) -> Result<()> {
        // The tag, and the flag for children.
        let _ = (cursor.uleb()?, cursor.u8()?);
        let mut attributes = BTreeSet::new();
        loop {
            let (name, form) = (cursor.uleb()?, cursor.uleb()?);
            if (name, form) == (0, 0) {
                return Ok(());
            }
            meter.work(1)?;
            // Larger numbers are not assigned, and are reported with the entry.
            let name = DwAt(u16::try_from(name).unwrap_or(u16::MAX));
            let form = DwForm(u16::try_from(form).unwrap_or(u16::MAX));
            if form == DW_FORM_implicit_const {
                cursor.sleb()?;
            }
            if name != DW_AT_null && !attributes.insert(name.0) {
                let message = format!("abbreviation {code} has {} twice", known(name));
                self.add(Finding::new(&TWICE, self.section, message), at);
            }
            let allowed = ATTRIBUTES.iter().find(|(_, names)| names.contains(&name));
            if let Some((allowed, _)) = allowed
                && let Some(version) = self.version
                && classes(form, version) & allowed == 0
            {
                let message = format!(
                    "{} of abbreviation {code} has {form}, which is {}, where it is {}",
                    known(name),
                    names(classes(form, version)),
                    names(*allowed)
                );
                self.add(Finding::new(&FORM, self.section, message), at);
            }
        }
    }

    fn add(&mut self, finding: Finding, at: usize) {
        self.findings.add(finding.at(at as u64));
    }
}
