//! Checks the root entry of a unit, and attributes that refer to files and strings. Sources: DWARF 5 §3.1, §2.14, §7.5.5.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "only two forms are offsets of strings"
)]

use gimli::constants::{
    DW_AT_call_file, DW_AT_decl_file, DW_TAG_compile_unit, DW_TAG_partial_unit,
    DW_TAG_skeleton_unit, DW_TAG_type_unit,
};
use gimli::{AttributeValue, Section as _};

use super::UnitCheck;
use crate::debug_info::{Bytes, Die, UnitKind};
use crate::verify::finding::Finding;
use crate::verify::rule::rules;

rules! {
    ROOT "unit-root" Error "DWARF 5 §3.1"
        "the first entry of a unit has a wrong tag"
        "The first entry must be a compilation unit, a partial unit, a type unit or a skeleton unit, as the header says. A debugger does not \
         find the unit's name, line table or addresses, and skips the unit.";
    SKELETON "unit-skeleton-children" Error "DWARF 5 §3.1.2"
        "a skeleton unit has child entries"
        "A skeleton unit stands for the unit in a .dwo file, which contains all entries. A debugger ignores the child entries here.";
    FILE "unit-file" Error "DWARF 5 §2.14"
        "an entry names a file that the unit's line table does not list"
        "A debugger attributes the entry to a wrong file, or to none.";
    STRING "unit-string" Error "DWARF 5 §7.5.5"
        "a string is outside of its section"
        "The offset is after the last string, or no zero byte follows it. A debugger shows no name, or bytes from after the section.";
}

impl<'a> UnitCheck<'_, '_, 'a> {
    /// Checks the root entry.
    pub(super) fn root(&mut self, die: &Die<'a>) {
        let tag = die.tag();
        let is_type = matches!(self.kind, UnitKind::Type | UnitKind::SplitType);
        let is_unit = match is_type {
            true => tag == DW_TAG_type_unit,
            false => [
                DW_TAG_compile_unit,
                DW_TAG_partial_unit,
                DW_TAG_skeleton_unit,
            ]
            .contains(&tag),
        };
        let mut add = |rule, message: String| {
            let finding = Finding::new(rule, self.section, message);
            self.findings.add(finding.at(die.id().offset));
        };
        if !is_unit {
            add(&ROOT, format!("its tag is {tag}"));
        }
        if tag == DW_TAG_skeleton_unit && die.has_children() {
            add(&SKELETON, "it has a list of entries".to_owned());
        }
    }

    /// Checks that the offset of a string is valid.
    pub(super) fn string(
        &mut self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        raw: &AttributeValue<Bytes<'a>>,
    ) {
        let Some(sections) = self.sections else {
            return;
        };
        let (name, bytes, offset) = match raw {
            AttributeValue::DebugStrRef(offset) => {
                (".debug_str", sections.debug_str.reader(), offset.0)
            }
            AttributeValue::DebugLineStrRef(offset) => (
                ".debug_line_str",
                sections.debug_line_str.reader(),
                offset.0,
            ),
            _ => return,
        };
        // Nearly every section ends with a string, so its last byte is checked first.
        let rest = bytes.slice().get(offset..).unwrap_or_default();
        let is_string = match rest.last() {
            Some(0) => true,
            Some(_) => rest.contains(&0),
            None => false,
        };
        if !is_string && self.summary.count(&STRING) {
            let message = format!("{}: {offset:#x} in {name}", self.label(die, attribute));
            self.sum_up(&STRING, die, message, None);
        }
    }

    /// Checks that the number of a file is valid.
    pub(super) fn file(&mut self, die: &Die<'a>, attribute: &gimli::Attribute<Bytes<'a>>) {
        if ![DW_AT_decl_file, DW_AT_call_file].contains(&attribute.name()) {
            return;
        }
        let Some(number) = attribute.udata_value() else {
            return;
        };
        if self.files.contains(&number) {
            return;
        }
        // `lines` reports an unreadable table.
        let Ok(table) = self.info.line_table(self.id) else {
            return;
        };
        let what = match table {
            // Split units use the line table of their skeleton, which is in another file. Partial units use the table of the unit that includes them.
            None if self.kind != UnitKind::Compile
                || self.section != ".debug_info"
                || number == 0 =>
            {
                return;
            }
            None => "the unit has no line table".to_owned(),
            Some(table) => {
                let first = table.first_file();
                self.files = first..first + table.file_count() as u64;
                // Before DWARF 5, the number 0 means no file. A line program can add files to the files of its header.
                let is_known = self.files.contains(&number)
                    || number < first
                    || table.file_entry(number).is_some();
                if is_known {
                    return;
                }
                match table.file_count() {
                    0 => "the line table has no files".to_owned(),
                    _ => format!(
                        "the files of the line table are {} to {}",
                        first,
                        self.files.end - 1
                    ),
                }
            }
        };
        if self.summary.count(&FILE) {
            let message = format!("{} is {number}, but {what}", self.label(die, attribute));
            self.sum_up(&FILE, die, message, None);
        }
    }
}
