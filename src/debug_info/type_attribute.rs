//! Lists every attribute that changes the meaning of a value's bytes, and the degree of support for it.
//!
//! [`ROWS`] has the attributes, by the tags of their entries: types, their parts (members, bounds, variants, enumerators) and, in the last rows, the
//! variables themselves. An attribute belongs in the table if ignoring it would show another value than the program has. Attributes do not belong
//! here if they give only a declaration, access rights (`DW_AT_accessibility`), alignment, unused bit patterns (`DW_AT_LLVM_num_extra_inhabitants`)
//! or address tags (`DW_AT_LLVM_tag_offset`).
//!
//! An attribute of the table may be unsupported in general, or in its form. Every value of its type is then *unsupported*, with the attribute's name.
//! The same holds for a type with a tag outside [`TAGS`].
//!
//! Sources: DWARF 5 §5 and appendix A; HET A.5; the registries of gcc and LLVM.

use gimli::constants::*;
use gimli::{DwAt, DwTag};

use super::attribute::{Extension, extension};
use super::die::Die;
use super::value::DieValue;
use super::{Bytes, DebugInfo};

/// The degree of support for an attribute.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Supported, as a constant, a reference or an expression.
    Read,
    /// Supported as a constant (class `constant` or `flag`), and unsupported in another form.
    ReadIfConstant,
    /// Unsupported, as are the values of the type.
    Unsupported,
}

/// The identity of an attribute.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The code.
    Standard(DwAt),
    /// The code, tag and class: see [`attribute::extension`](super::attribute::extension()).
    Extension(Extension),
}

/// An attribute on entries of some tags.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The attribute.
    pub code: Code,
    /// The name.
    pub name: &'static str,
    /// The tags of the entries; none means every entry that no row above has.
    pub tags: &'static [DwTag],
    /// The degree of support.
    pub state: State,
    /// The section of the specification.
    pub source: &'static str,
    /// The effect.
    pub what: &'static str,
}

macro_rules! rows {
    ($($code:expr, $name:literal, $tags:expr, $state:ident, $source:literal, $what:literal;)*) => {
        /// Every attribute that changes the meaning of a value's bytes. The first matching row counts.
        pub const ROWS: &[Row] = &[$(Row {
            code: $code, name: $name, tags: &$tags, state: State::$state, source: $source, what: $what,
        },)*];
    };
}

use Code::{Extension as Ext, Standard as Std};

const BASE: [DwTag; 1] = [DW_TAG_base_type];
const BASE_AND_SUBRANGE: [DwTag; 2] = [DW_TAG_base_type, DW_TAG_subrange_type];
const ARRAY: [DwTag; 1] = [DW_TAG_array_type];
const SUBRANGE: [DwTag; 1] = [DW_TAG_subrange_type];
const STRIDED: [DwTag; 3] = [
    DW_TAG_array_type,
    DW_TAG_subrange_type,
    DW_TAG_enumeration_type,
];
const MEMBER: [DwTag; 1] = [DW_TAG_member];
const MEMBER_AND_BASE: [DwTag; 2] = [DW_TAG_member, DW_TAG_inheritance];
const RECORDS: [DwTag; 4] = [
    DW_TAG_structure_type,
    DW_TAG_class_type,
    DW_TAG_union_type,
    DW_TAG_interface_type,
];
const POINTERS: [DwTag; 3] = [
    DW_TAG_pointer_type,
    DW_TAG_reference_type,
    DW_TAG_rvalue_reference_type,
];
const VARIANT: [DwTag; 1] = [DW_TAG_variant];
const VARIANT_PART: [DwTag; 1] = [DW_TAG_variant_part];
const STRING: [DwTag; 1] = [DW_TAG_string_type];
const MEMBER_POINTER: [DwTag; 1] = [DW_TAG_ptr_to_member_type];
const ENUMERATOR: [DwTag; 1] = [DW_TAG_enumerator];
const ENUMERATION: [DwTag; 1] = [DW_TAG_enumeration_type];
const OBJECTS: [DwTag; 3] = [DW_TAG_variable, DW_TAG_formal_parameter, DW_TAG_constant];
const ANY: [DwTag; 0] = [];

#[rustfmt::skip]
rows! {
// attribute                             name                                tags               state           source               effect
    Std(DW_AT_encoding),                  "DW_AT_encoding",                   BASE,              ReadIfConstant, "DWARF 5 §5.1.1",    "the encoding of a \
                                                                                                                                       number";
    Std(DW_AT_byte_size),                 "DW_AT_byte_size",                  BASE_AND_SUBRANGE, ReadIfConstant, "DWARF 5 §5.1",      "the size in bytes";
    Std(DW_AT_byte_size),                 "DW_AT_byte_size",                  ENUMERATION,       ReadIfConstant, "DWARF 5 §5.7.1",    "the size in bytes";
    Std(DW_AT_byte_size),                 "DW_AT_byte_size",                  MEMBER,            ReadIfConstant, "DWARF 3 §5.6.6",    "the storage unit of DW_AT_bit_offset";
    Std(DW_AT_byte_size),                 "DW_AT_byte_size",                  POINTERS,          ReadIfConstant, "DWARF 5 §5.3",      "the size in bytes";
    Std(DW_AT_byte_size),                 "DW_AT_byte_size",                  RECORDS,           Read,           "DWARF 5 §5.7.1",    "the size in bytes";
    Std(DW_AT_byte_size),                 "DW_AT_byte_size",                  STRING,            ReadIfConstant, "DWARF 5 §5.11",     "the number of characters";
    Std(DW_AT_bit_size),                  "DW_AT_bit_size",                   BASE_AND_SUBRANGE, ReadIfConstant, "DWARF 5 §5.1",      "the number of significant \
                                                                                                                                       bits";
    Std(DW_AT_bit_size),                  "DW_AT_bit_size",                   MEMBER,            ReadIfConstant, "DWARF 5 §5.7.6",    "the size of a bit-field";
    Std(DW_AT_bit_size),                  "DW_AT_bit_size",                   RECORDS,           Read,           "DWARF 5 §5.7.1",    "the size in bits";
    Std(DW_AT_bit_size),                  "DW_AT_bit_size",                   STRING,            ReadIfConstant, "DWARF 5 §5.11",     "the number of characters";
    Std(DW_AT_bit_size),                  "DW_AT_bit_size",                   ENUMERATION,       Unsupported,    "DWARF 5 §5.7",      "the number of significant \
                                                                                                                                       bits";
    Std(DW_AT_data_bit_offset),           "DW_AT_data_bit_offset",            BASE,              ReadIfConstant, "DWARF 5 §5.1",      "the start of a value in its bytes";
    Std(DW_AT_data_bit_offset),           "DW_AT_data_bit_offset",            MEMBER,            ReadIfConstant, "DWARF 5 §5.7.6",    "the start of a bit-field";
    Std(DW_AT_data_bit_offset),           "DW_AT_data_bit_offset",            ANY,               Unsupported,    "DWARF 5 §5.1",      "the start of a value";
    Std(DW_AT_bit_offset),                "DW_AT_bit_offset",                 BASE,              ReadIfConstant, "DWARF 3 §5.1",      "the start of a value, from the highest bit";
    Std(DW_AT_bit_offset),                "DW_AT_bit_offset",                 MEMBER,            ReadIfConstant, "DWARF 3 §5.6.6",    "the start of a bit-field, from the highest bit of its unit";
    Std(DW_AT_bit_offset),                "DW_AT_bit_offset",                 ANY,               Unsupported,    "DWARF 3 §5.1",      "the start of a value";
    Std(DW_AT_endianity),                 "DW_AT_endianity",                  BASE,              ReadIfConstant, "DWARF 5 §5.1",      "the order of bytes";
    Std(DW_AT_endianity),                 "DW_AT_endianity",                  OBJECTS,           ReadIfConstant, "DWARF 5 §4.1",      "the order of bytes of one variable";
    Std(DW_AT_endianity),                 "DW_AT_endianity",                  ANY,               Unsupported,    "DWARF 5 §5.1",      "the order of bytes";
    Std(DW_AT_INTEL_other_endian),        "DW_AT_INTEL_other_endian",         ANY,               Unsupported,    "Intel",             "the order of bytes";
    Std(DW_AT_binary_scale),              "DW_AT_binary_scale",               BASE,              ReadIfConstant, "DWARF 5 §5.1.1",    "the unit of a fixed-point number, a power of 2";
    Std(DW_AT_decimal_scale),             "DW_AT_decimal_scale",              BASE,              ReadIfConstant, "DWARF 5 §5.1.1",    "the unit of a fixed-point number, a power of 10";
    Std(DW_AT_small),                     "DW_AT_small",                      BASE,              Read,           "DWARF 5 §5.1.1",    "the unit of a fixed-point number";
    Std(DW_AT_binary_scale),              "DW_AT_binary_scale",               ANY,               Unsupported,    "DWARF 5 §5.1.1",    "the unit of a number";
    Std(DW_AT_decimal_scale),             "DW_AT_decimal_scale",              ANY,               Unsupported,    "DWARF 5 §5.1.1",    "the unit of a number";
    Std(DW_AT_small),                     "DW_AT_small",                      ANY,               Unsupported,    "DWARF 5 §5.1.1",    "the unit of a number";
    Std(DW_AT_digit_count),               "DW_AT_digit_count",                ANY,               Unsupported,    "DWARF 5 §5.1.1",    "the number of decimal digits";
    Std(DW_AT_decimal_sign),              "DW_AT_decimal_sign",               ANY,               Unsupported,    "DWARF 5 §5.1.1",    "the place of the sign of a decimal \
                                                                                                                                       number";
    Std(DW_AT_picture_string),            "DW_AT_picture_string",             ANY,               Unsupported,    "DWARF 5 §5.1.1",    "the format of a number as characters";
    Std(DW_AT_GNU_bias),                  "DW_AT_GNU_bias",                   BASE_AND_SUBRANGE, ReadIfConstant, "gcc",               "the bias added to the \
                                                                                                                                       bits";
    Std(DW_AT_GNU_bias),                  "DW_AT_GNU_bias",                   ANY,               Unsupported,    "gcc",               "the bias added to the \
                                                                                                                                       bits";
    Std(DW_AT_GNAT_descriptive_type),     "DW_AT_GNAT_descriptive_type",      ANY,               Unsupported,    "gcc",               "the layout of bits, described by another type";
    Ext(Extension::VectorSize),           "DW_AT_LLVM_vector_size",           BASE,              ReadIfConstant, "HET A.5.1",         "the number of elements of a base \
                                                                                                                                       type";
    Ext(Extension::AddressSpace),         "DW_AT_LLVM_address_space",         POINTERS,          ReadIfConstant, "HET A.5.3",         "the address space of an \
                                                                                                                                       address";
    Std(DW_AT_address_class),             "DW_AT_address_class",              POINTERS,          ReadIfConstant, "DWARF 5 §5.3",      "the address space of an \
                                                                                                                                       address";
    Std(DW_AT_type),                      "DW_AT_type",                       POINTERS,          Read,           "DWARF 5 §5.3",      "the type that an implicit pointer points to";
    Std(DW_AT_type),                      "DW_AT_type",                       STRIDED,           Read,           "DWARF 5 §5.5",      "the type of the elements, or the type under an \
                                                                                                                                       enumeration or subrange";
    Std(DW_AT_type),                      "DW_AT_type",                       MEMBER_AND_BASE,   Read,           "DWARF 5 §5.7.3",    "the type of a \
                                                                                                                                       member";
    Std(DW_AT_type),                      "DW_AT_type",                       STRING,            Read,           "DWARF 5 §5.11",     "the type of \
                                                                                                                                       the characters";
    Std(DW_AT_type),                      "DW_AT_type",                       VARIANT_PART,      Unsupported,    "DWARF 5 §5.7.10",   "the absence of a discriminant member";
    Std(DW_AT_GNU_vector),                "DW_AT_GNU_vector",                 ARRAY,             ReadIfConstant, "gcc",               "that elements are numbers, even if they have a \
                                                                                                                                       character type";
    Std(DW_AT_ordering),                  "DW_AT_ordering",                   ARRAY,             ReadIfConstant, "DWARF 5 §5.5",      "the index that varies \
                                                                                                                                       fastest";
    Std(DW_AT_byte_stride),               "DW_AT_byte_stride",                STRIDED,           ReadIfConstant, "DWARF 5 §2.19",     "the distance of elements";
    Std(DW_AT_bit_stride),                "DW_AT_bit_stride",                 STRIDED,           ReadIfConstant, "DWARF 5 §2.19",     "the distance of elements";
    Std(DW_AT_byte_stride),               "DW_AT_byte_stride",                ANY,               Unsupported,    "DWARF 5 §2.19",     "the distance of elements";
    Std(DW_AT_bit_stride),                "DW_AT_bit_stride",                 ANY,               Unsupported,    "DWARF 5 §2.19",     "the distance of elements";
    Std(DW_AT_byte_size),                 "DW_AT_byte_size",                  ARRAY,             ReadIfConstant, "DWARF 5 §5.5",      "the size in bytes";
    Std(DW_AT_bit_size),                  "DW_AT_bit_size",                   ARRAY,             ReadIfConstant, "DWARF 5 §5.5",      "the size in bits";
    Std(DW_AT_lower_bound),               "DW_AT_lower_bound",                SUBRANGE,          Read,           "DWARF 5 §5.13",     "the number of elements";
    Std(DW_AT_upper_bound),               "DW_AT_upper_bound",                SUBRANGE,          Read,           "DWARF 5 §5.13",     "the number of elements";
    Std(DW_AT_count),                     "DW_AT_count",                      SUBRANGE,          Read,           "DWARF 5 §5.13",     "the number of elements";
    Std(DW_AT_threads_scaled),            "DW_AT_threads_scaled",             ANY,               Unsupported,    "DWARF 5 §5.13",     "that a bound applies to each thread";
    Std(DW_AT_upc_threads_scaled),        "DW_AT_upc_threads_scaled",         ANY,               Unsupported,    "UPC",               "that a bound applies to each thread";
    Std(DW_AT_rank),                      "DW_AT_rank",                       ANY,               Unsupported,    "DWARF 5 §5.18.3",   "the number of dimensions";
    Std(DW_AT_allocated),                 "DW_AT_allocated",                  ANY,               Unsupported,    "DWARF 5 §5.18.2",   "the presence of a value";
    Std(DW_AT_associated),                "DW_AT_associated",                 ANY,               Unsupported,    "DWARF 5 §5.18.2",   "the presence of a value";
    Std(DW_AT_data_location),             "DW_AT_data_location",              ANY,               Unsupported,    "DWARF 5 §5.18.1",   "the place of the value that a descriptor describes";
    Std(DW_AT_PGI_lbase),                 "DW_AT_PGI_lbase",                  ANY,               Unsupported,    "PGI",               "the place of the \
                                                                                                                                       elements";
    Std(DW_AT_PGI_soffset),               "DW_AT_PGI_soffset",                ANY,               Unsupported,    "PGI",               "the place of the \
                                                                                                                                       elements";
    Std(DW_AT_PGI_lstride),               "DW_AT_PGI_lstride",                ANY,               Unsupported,    "PGI",               "the distance of elements";
    Std(DW_AT_data_member_location),      "DW_AT_data_member_location",       MEMBER_AND_BASE,   Read,           "DWARF 5 §5.7.6",    "the start of a member";
    Std(DW_AT_discr),                     "DW_AT_discr",                      VARIANT_PART,      Read,           "DWARF 5 §5.7.10",   "the discriminant member";
    Std(DW_AT_discr_value),               "DW_AT_discr_value",                VARIANT,           Read,           "DWARF 5 §5.7.10",   "the discriminant values \
                                                                                                                                       of a variant";
    Std(DW_AT_discr_list),                "DW_AT_discr_list",                 VARIANT,           Read,           "DWARF 5 §5.7.10",   "the discriminant values \
                                                                                                                                       of a variant";
    Std(DW_AT_const_value),               "DW_AT_const_value",                ENUMERATOR,        Read,           "DWARF 5 §5.7",      "the number that a name stands \
                                                                                                                                       for";
    Std(DW_AT_string_length),             "DW_AT_string_length",              STRING,            Read,           "DWARF 5 §5.11",     "the size in bytes";
    Std(DW_AT_string_length_byte_size),   "DW_AT_string_length_byte_size",    STRING,            ReadIfConstant, "DWARF 5 §5.11",     "the size of the length";
    Std(DW_AT_string_length_bit_size),    "DW_AT_string_length_bit_size",     STRING,            ReadIfConstant, "DWARF 5 §5.11",     "the size of the length";
    Std(DW_AT_use_location),              "DW_AT_use_location",               MEMBER_POINTER,    Read,           "DWARF 5 §5.14",     "the address that a pointer to a member \
                                                                                                                                       is added to";
    Std(DW_AT_containing_type),           "DW_AT_containing_type",            MEMBER_POINTER,    Read,           "DWARF 5 §5.14",     "the type that \
                                                                                                                                       contains the \
                                                                                                                                       member";
    Std(DW_AT_segment),                   "DW_AT_segment",                    ANY,               Unsupported,    "DWARF 5 §2.12",     "the segment of an address";
}

/// The tags of supported types. Values of other types are not shown; the name of the tag is shown instead. These are `DW_TAG_set_type`,
/// `DW_TAG_file_type`, `DW_TAG_coarray_type`, `DW_TAG_dynamic_type`, `DW_TAG_shared_type`, `DW_TAG_LLVM_ptrauth_type` (whose bits are signed), and
/// vendor tags.
#[rustfmt::skip]
pub const TAGS: &[DwTag] = &[
    DW_TAG_base_type, DW_TAG_unspecified_type, DW_TAG_subrange_type, DW_TAG_enumeration_type,
    DW_TAG_pointer_type, DW_TAG_reference_type, DW_TAG_rvalue_reference_type, DW_TAG_ptr_to_member_type,
    DW_TAG_array_type, DW_TAG_string_type,
    DW_TAG_structure_type, DW_TAG_class_type, DW_TAG_union_type, DW_TAG_interface_type,
    DW_TAG_subroutine_type, DW_TAG_subprogram,
    DW_TAG_typedef, DW_TAG_template_alias, DW_TAG_thrown_type,
    DW_TAG_const_type, DW_TAG_volatile_type, DW_TAG_restrict_type, DW_TAG_atomic_type,
    // A packed type has explicit member offsets and strides. An immutable type needs no special treatment.
    DW_TAG_packed_type, DW_TAG_immutable_type,
];

/// The standard codes in the table. Most attributes of an entry are not in it.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, within bounds that are checked beside it"
)]
const STANDARD: [bool; 256] = {
    let mut known = [false; 256];
    let mut number = 0;
    while number < ROWS.len() {
        if let Code::Standard(DwAt(code)) = ROWS[number].code
            && code < 256
        {
            known[code as usize] = true;
        }
        number += 1;
    }
    known
};

/// Returns the row of an attribute on an entry with this tag.
fn row(tag: DwTag, attribute: &gimli::Attribute<Bytes<'_>>) -> Option<&'static Row> {
    let code = usize::from(attribute.name().0);
    if STANDARD.get(code) == Some(&false) {
        return None;
    }
    let is_for_tag = |row: &Row| row.tags.is_empty() || row.tags.contains(&tag);
    ROWS.iter().find(|row| match row.code {
        // The code is compared first because that is cheaper.
        Code::Standard(code) => code == attribute.name() && is_for_tag(row),
        // An attribute in a form that it may not have matches no row, and is unsupported.
        Code::Extension(wanted) => {
            is_for_tag(row)
                && (extension(tag, attribute) == Some(wanted)
                    || wanted.llvm_code() == Some(attribute.name()))
        }
    })
}

impl<'a> DebugInfo<'a> {
    /// Returns the name of an unsupported attribute of `die` that changes the meaning of bytes, or `None` if there is none. `die` is a type, a part
    /// of a type, or a variable.
    pub(super) fn not_understood(&self, die: &Die<'a>) -> Option<&'static str> {
        die.attributes().iter().find_map(|attribute| {
            let row = row(die.tag(), attribute)?;
            let understood = match row.state {
                State::Read => true,
                State::ReadIfConstant => self.is_constant(die, attribute),
                State::Unsupported => false,
            };
            (!understood).then_some(row.name)
        })
    }

    fn is_constant(&self, die: &Die<'a>, attribute: &gimli::Attribute<Bytes<'a>>) -> bool {
        let value = self.value(die, attribute);
        value.is_ok_and(|value| value.number().is_some() || matches!(value, DieValue::Flag(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_codes() {
        for row in ROWS {
            let name = match row.code {
                Code::Standard(code) => code.static_string(),
                Code::Extension(extension) => Some(extension.name()),
            };
            assert_eq!(name, Some(row.name));
        }
    }

    /// A row is unreachable if an earlier row has the same attribute and any tag.
    #[test]
    fn every_row_can_be_reached() {
        for (number, row) in ROWS.iter().enumerate() {
            let above = ROWS.iter().take(number);
            for tag in row.tags {
                let hidden = above.clone().any(|above| {
                    above.code == row.code && (above.tags.is_empty() || above.tags.contains(tag))
                });
                assert!(!hidden, "{} on {tag}", row.name);
            }
        }
    }
}
