//! Formats values that depend only on their form and attribute.
//!
//! The wording follows llvm-dwarfdump 22.

use gimli::constants as dw;
use gimli::{AttributeValue, DwAt, DwForm};

use super::list::address;
use super::unit_facts::UnitFacts;
use crate::debug_info::{Bytes, DieValue};

/// `DW_AT_language_name` and `DW_AT_language_version` of DWARF 6.
pub(super) const LANGUAGE_NAME: DwAt = DwAt(0x90);
pub(super) const LANGUAGE_VERSION: DwAt = DwAt(0x91);

/// Returns the Objective-C properties for the bits of a number, as the note after it.
pub(super) fn properties(bits: u64) -> String {
    const NAMES: [&str; 15] = [
        "readonly",
        "getter",
        "assign",
        "readwrite",
        "retain",
        "copy",
        "nonatomic",
        "setter",
        "atomic",
        "weak",
        "strong",
        "unsafe_unretained",
        "nullability",
        "null_resettable",
        "class",
    ];
    let named = NAMES
        .iter()
        .enumerate()
        .filter(|(bit, _)| bits >> bit & 1 == 1);
    let named: Vec<String> = named
        .map(|(_, name)| format!("DW_APPLE_PROPERTY_{name}"))
        .collect();
    match named.is_empty() {
        true => String::new(),
        false => format!(" ({})", named.join(", ")),
    }
}

/// Returns true if a block in this attribute is an expression, as before DWARF 4.
pub(super) fn is_location(name: DwAt) -> bool {
    [
        dw::DW_AT_location,
        dw::DW_AT_string_length,
        dw::DW_AT_return_addr,
        dw::DW_AT_data_member_location,
        dw::DW_AT_frame_base,
        dw::DW_AT_static_link,
        dw::DW_AT_segment,
        dw::DW_AT_use_location,
        dw::DW_AT_vtable_elem_location,
        dw::DW_AT_data_location,
        dw::DW_AT_call_value,
        dw::DW_AT_call_data_value,
        dw::DW_AT_call_data_location,
        dw::DW_AT_call_target,
        dw::DW_AT_call_target_clobbered,
        dw::DW_AT_GNU_call_site_value,
        dw::DW_AT_GNU_call_site_data_value,
        dw::DW_AT_GNU_call_site_target,
        dw::DW_AT_GNU_call_site_target_clobbered,
    ]
    .contains(&name)
}

/// Returns the text before the entries of a list: its index, and its offset.
pub(super) fn list_head(
    attribute: &gimli::Attribute<Bytes<'_>>,
    what: &str,
    offset: u64,
    unit: UnitFacts,
) -> String {
    // The offset of a range list without an index is shown in its form, all others are shortened.
    let short = address(offset, 4);
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other forms are offsets"
    )]
    let index = match attribute.raw_value() {
        AttributeValue::DebugLocListsIndex(index) => index.0,
        AttributeValue::DebugRngListsIndex(index) => index.0,
        _ if what == "loclist" => return short,
        _ => return address(offset, unit.offset_size),
    };
    format!("indexed ({index:#x}) {what} = {short}")
}

/// Formats a constant by its form: with the encoded width, or decimal if it has no width.
pub(super) fn constant_text(form: DwForm, value: &DieValue<'_>) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "called for constants only")]
    let bits = match value {
        DieValue::Unsigned(value) => *value,
        DieValue::Signed(value) => value.cast_unsigned(),
        DieValue::Flag(flag) => {
            let text = if form == dw::DW_FORM_flag_present {
                "true"
            } else {
                "0x01"
            };
            return if *flag { text } else { "0x00" }.to_owned();
        }
        DieValue::Wide(value) => {
            return crate::report::hex_bytes(&value.to_le_bytes());
        }
        _ => return String::new(),
    };
    match form {
        dw::DW_FORM_data1 => address(bits & 0xff, 1),
        dw::DW_FORM_data2 => address(bits & 0xffff, 2),
        dw::DW_FORM_data4 => address(bits & 0xffff_ffff, 4),
        dw::DW_FORM_data8 => address(bits, 8),
        dw::DW_FORM_sdata | dw::DW_FORM_implicit_const => bits.cast_signed().to_string(),
        _ => bits.to_string(),
    }
}

pub(super) fn block_text(form: DwForm, bytes: &[u8]) -> String {
    use core::fmt::Write;
    let width = match form {
        dw::DW_FORM_block1 => 4,
        dw::DW_FORM_block2 => 6,
        dw::DW_FORM_block4 => 10,
        _ => 0,
    };
    let mut out = format!("<{:#0width$x}> ", bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(out, "{byte:02x} ");
    }
    out
}
