//! Formats the encoding of attribute values, which verbose dumps print before the value.
//!
//! Sources: DWARF 5 §7.5.5, §7.5.6. The wording follows llvm-dwarfdump 22.

use gimli::constants as dw;
use gimli::{AttributeValue, DwForm};

use super::list::address;
use super::unit_facts::UnitFacts;
use crate::debug_info::Bytes;

/// Returns the text of a value with its encoding.
///
/// * `plain`: the text of the value alone.
pub(super) fn with_encoding(
    unit: UnitFacts,
    attribute: &gimli::Attribute<Bytes<'_>>,
    plain: String,
) -> String {
    let form = attribute.form();
    let offset = |value: usize| address(value as u64, unit.offset_size);
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other values stand in the entry itself"
    )]
    match attribute.raw_value() {
        AttributeValue::DebugAddrIndex(_) if plain.starts_with("indexed") => plain,
        AttributeValue::DebugAddrIndex(index) => {
            format!("indexed ({:08x}) address = {plain}", index.0)
        }
        AttributeValue::DebugStrRef(at) => format!(" .debug_str[{}] = {plain}", offset(at.0)),
        AttributeValue::DebugLineStrRef(at) => {
            format!(" .debug_line_str[{}] = {plain}", offset(at.0))
        }
        AttributeValue::DebugStrOffsetsIndex(index) => {
            format!("indexed ({:08x}) string = {plain}", index.0)
        }
        AttributeValue::UnitRef(at) => match digits_of(form) {
            Some(digits) => format!(
                "cu + {:#0width$x} => {{{plain}}}",
                at.0,
                width = digits.saturating_add(2)
            ),
            None => plain,
        },
        _ => plain,
    }
}

/// Returns the number of digits for a reference within a unit.
fn digits_of(form: DwForm) -> Option<usize> {
    Some(match form {
        dw::DW_FORM_ref1 => 2,
        dw::DW_FORM_ref2 | dw::DW_FORM_ref4 => 4,
        dw::DW_FORM_ref8 => 8,
        dw::DW_FORM_ref_udata => 1,
        _ => return None,
    })
}

/// Returns the name of a form.
pub(super) fn form_name(form: DwForm) -> String {
    match form.static_string() {
        // The form of DWARF 1 is obsolete.
        Some(name) if form != dw::DW_FORM_ref => name.to_owned(),
        Some(_) | None => format!("DW_FORM_unknown_{:x}", form.0),
    }
}
