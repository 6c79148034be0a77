//! Names the constants of attributes.
//!
//! The names are from gimli and `arch`; this module assigns them to attributes. Source: DWARF 5 §7.5.4 to §7.17.

use gimli::constants as dw;
use gimli::{DwAt, DwTag};

use super::Naming;
use crate::arch::{AddressSpace, MemorySpace};
use crate::debug_info::attribute::{Extension, extension};
use crate::debug_info::{Bytes, Language};
use crate::untrusted::Bracket;

pub(super) use crate::debug_info::{
    LONGEST_NAME as LONGEST, cut_name as cut, linkage_name, short_name,
};

/// The calling conventions without a name in gimli.
const CONVENTIONS: &[(u64, &str)] = &[
    (0x40, "DW_CC_GNU_renesas_sh"),
    (0x41, "DW_CC_GNU_borland_fastcall_i386"),
    (0xb0, "DW_CC_BORLAND_safecall"),
    (0xb1, "DW_CC_BORLAND_stdcall"),
    (0xb2, "DW_CC_BORLAND_pascal"),
    (0xb3, "DW_CC_BORLAND_msfastcall"),
    (0xb4, "DW_CC_BORLAND_msreturn"),
    (0xb5, "DW_CC_BORLAND_thiscall"),
    (0xb6, "DW_CC_BORLAND_fastcall"),
    (0xc0, "DW_CC_LLVM_vectorcall"),
    (0xc7, "DW_CC_LLVM_DeviceKernel"),
];

/// Returns the name of an attribute's constant, or `None` if it is a plain number.
pub(super) fn constant_name(name: DwAt, value: u64) -> Option<&'static str> {
    let byte = u8::try_from(value).ok();
    match name {
        dw::DW_AT_encoding => match dw::DwAte(byte?) {
            // The bounds of the vendor codes are no names.
            dw::DW_ATE_lo_user | dw::DW_ATE_hi_user => None,
            encoding => encoding.static_string(),
        },
        dw::DW_AT_language | dw::DW_AT_APPLE_runtime_class => Language::Code(value).name(),
        // `DW_AT_language_name` of DWARF 6, which gimli does not know yet.
        DwAt(0x90) => Language::Name(value).name(),
        dw::DW_AT_inline => dw::DwInl(byte?).static_string(),
        dw::DW_AT_calling_convention => CONVENTIONS
            .iter()
            .find(|(code, _)| *code == value)
            .map(|(_, name)| *name)
            .or_else(|| dw::DwCc(byte?).static_string()),
        dw::DW_AT_accessibility => dw::DwAccess(byte?).static_string(),
        dw::DW_AT_virtuality => dw::DwVirtuality(byte?).static_string(),
        dw::DW_AT_visibility => dw::DwVis(byte?).static_string(),
        dw::DW_AT_decimal_sign => dw::DwDs(byte?).static_string(),
        dw::DW_AT_endianity => dw::DwEnd(byte?).static_string(),
        dw::DW_AT_identifier_case => dw::DwId(byte?).static_string(),
        dw::DW_AT_ordering => dw::DwOrd(byte?).static_string(),
        dw::DW_AT_defaulted => dw::DwDefaulted(byte?).static_string(),
        _ => None,
    }
}

/// Returns the name of an address space or memory space, if the attribute has one and the style shows it.
pub(super) fn space_name(
    style: Naming,
    tag: DwTag,
    attribute: &gimli::Attribute<Bytes<'_>>,
    value: u64,
) -> Option<&'static str> {
    if style == Naming::Llvm {
        return None;
    }
    if attribute.name() == dw::DW_AT_address_class
        || extension(tag, attribute) == Some(Extension::AddressSpace)
    {
        return AddressSpace::from_number(value).map(AddressSpace::llvm_name);
    }
    if extension(tag, attribute) == Some(Extension::MemorySpace) {
        return MemorySpace::from_number(value)?.llvm_name();
    }
    None
}

/// Quotes a text. Escapes characters that are invisible, would end it, or would be a command for a CI system.
pub(super) fn quoted(text: &str) -> String {
    use core::fmt::Write;
    let mut out = String::with_capacity(text.len().saturating_add(2));
    let mut bracket = Bracket::default();
    out.push('"');
    for c in text.chars() {
        let is_command = bracket.is_command(c);
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            ' '..='~' if !is_command => out.push(c),
            // Each byte in octal, as in C. Writing to a string does not fail.
            _ => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
        }
    }
    out.push('"');
    out
}
