//! Writes the abbreviations, which all units share: the attributes and forms of LLVM 24 with DWARF 5.

use gimli::constants::*;
use gimli::{DwAt, DwForm, DwTag};

use super::bytes::Bytes;

/// The codes of abbreviations: their positions in [`TABLE`], counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A unit whose code has no gaps.
    UnitWhole = 1,
    /// A unit with a range list.
    UnitRanges,
    /// A function.
    Function,
    /// A kernel.
    Kernel,
    /// A parameter with a location list.
    Parameter,
    /// A variable with a location list.
    Variable,
    /// A variable with one expression.
    VariableOnStack,
    /// A block.
    Block,
    /// An inlined call.
    Inlined,
    /// A parameter of an inlined call.
    InlinedParameter,
    /// A call.
    CallSite,
    /// A function that is inlined.
    Abstract,
    /// A parameter of a function that is inlined.
    AbstractParameter,
    /// A base type.
    Base,
    /// A pointer, with the extensions.
    Pointer,
    /// A pointer, without the extensions.
    PointerClass,
    /// A structure.
    Structure,
    /// A member of a structure.
    Member,
    /// A vector type.
    Vector,
    /// An array type.
    Array,
    /// The dimension of an array.
    Subrange,
    /// A typedef.
    Typedef,
    /// An enumeration.
    Enumeration,
    /// A value of an enumeration.
    Enumerator,
}

/// `DW_AT_LLVM_address_space`.
const LLVM_ADDRESS_SPACE: DwAt = DwAt(0x3e10);

/// An abbreviation: its tag, true if it has children, and its attributes.
type Row = (DwTag, bool, &'static [(DwAt, DwForm)]);

const TABLE: &[Row] = &[
    (
        DW_TAG_compile_unit,
        true,
        &[
            (DW_AT_producer, DW_FORM_strx2),
            (DW_AT_language, DW_FORM_data2),
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_str_offsets_base, DW_FORM_sec_offset),
            (DW_AT_stmt_list, DW_FORM_sec_offset),
            (DW_AT_comp_dir, DW_FORM_strx2),
            (DW_AT_low_pc, DW_FORM_addrx),
            (DW_AT_high_pc, DW_FORM_data4),
            (DW_AT_addr_base, DW_FORM_sec_offset),
            (DW_AT_loclists_base, DW_FORM_sec_offset),
        ],
    ),
    (
        DW_TAG_compile_unit,
        true,
        &[
            (DW_AT_producer, DW_FORM_strx2),
            (DW_AT_language, DW_FORM_data2),
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_str_offsets_base, DW_FORM_sec_offset),
            (DW_AT_stmt_list, DW_FORM_sec_offset),
            (DW_AT_comp_dir, DW_FORM_strx2),
            (DW_AT_low_pc, DW_FORM_addr),
            (DW_AT_ranges, DW_FORM_rnglistx),
            (DW_AT_addr_base, DW_FORM_sec_offset),
            (DW_AT_loclists_base, DW_FORM_sec_offset),
            (DW_AT_rnglists_base, DW_FORM_sec_offset),
        ],
    ),
    (
        DW_TAG_subprogram,
        true,
        &[
            (DW_AT_low_pc, DW_FORM_addrx),
            (DW_AT_high_pc, DW_FORM_data4),
            (DW_AT_frame_base, DW_FORM_exprloc),
            (DW_AT_call_all_calls, DW_FORM_flag_present),
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
            (DW_AT_prototyped, DW_FORM_flag_present),
            (DW_AT_type, DW_FORM_ref4),
            (DW_AT_external, DW_FORM_flag_present),
        ],
    ),
    (
        DW_TAG_subprogram,
        true,
        &[
            (DW_AT_low_pc, DW_FORM_addrx),
            (DW_AT_high_pc, DW_FORM_data4),
            (DW_AT_frame_base, DW_FORM_exprloc),
            (DW_AT_call_all_calls, DW_FORM_flag_present),
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
            (DW_AT_prototyped, DW_FORM_flag_present),
            (DW_AT_calling_convention, DW_FORM_data1),
            (DW_AT_external, DW_FORM_flag_present),
        ],
    ),
    (DW_TAG_formal_parameter, false, LISTED),
    (DW_TAG_variable, false, LISTED),
    (
        DW_TAG_variable,
        false,
        &[
            (DW_AT_location, DW_FORM_exprloc),
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
            (DW_AT_type, DW_FORM_ref4),
        ],
    ),
    (
        DW_TAG_lexical_block,
        true,
        &[
            (DW_AT_low_pc, DW_FORM_addrx),
            (DW_AT_high_pc, DW_FORM_data4),
        ],
    ),
    (
        DW_TAG_inlined_subroutine,
        true,
        &[
            (DW_AT_abstract_origin, DW_FORM_ref4),
            (DW_AT_low_pc, DW_FORM_addrx),
            (DW_AT_high_pc, DW_FORM_data4),
            (DW_AT_call_file, DW_FORM_data1),
            (DW_AT_call_line, DW_FORM_data2),
            (DW_AT_call_column, DW_FORM_data1),
        ],
    ),
    (
        DW_TAG_formal_parameter,
        false,
        &[
            (DW_AT_location, DW_FORM_loclistx),
            (DW_AT_abstract_origin, DW_FORM_ref4),
        ],
    ),
    (
        DW_TAG_call_site,
        false,
        &[
            (DW_AT_call_origin, DW_FORM_ref4),
            (DW_AT_call_return_pc, DW_FORM_addrx),
        ],
    ),
    (
        DW_TAG_subprogram,
        true,
        &[
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
            (DW_AT_prototyped, DW_FORM_flag_present),
            (DW_AT_type, DW_FORM_ref4),
            (DW_AT_inline, DW_FORM_data1),
        ],
    ),
    (
        DW_TAG_formal_parameter,
        false,
        &[
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
            (DW_AT_type, DW_FORM_ref4),
        ],
    ),
    (
        DW_TAG_base_type,
        false,
        &[
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_encoding, DW_FORM_data1),
            (DW_AT_byte_size, DW_FORM_data1),
        ],
    ),
    (
        DW_TAG_pointer_type,
        false,
        &[
            (DW_AT_type, DW_FORM_ref4),
            (LLVM_ADDRESS_SPACE, DW_FORM_data1),
        ],
    ),
    (
        DW_TAG_pointer_type,
        false,
        &[
            (DW_AT_type, DW_FORM_ref4),
            (DW_AT_address_class, DW_FORM_data4),
        ],
    ),
    (
        DW_TAG_structure_type,
        true,
        &[
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_byte_size, DW_FORM_data1),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
        ],
    ),
    (
        DW_TAG_member,
        false,
        &[
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_type, DW_FORM_ref4),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
            (DW_AT_data_member_location, DW_FORM_data1),
        ],
    ),
    (
        DW_TAG_array_type,
        true,
        &[
            (DW_AT_GNU_vector, DW_FORM_flag_present),
            (DW_AT_type, DW_FORM_ref4),
        ],
    ),
    (DW_TAG_array_type, true, &[(DW_AT_type, DW_FORM_ref4)]),
    (
        DW_TAG_subrange_type,
        false,
        &[(DW_AT_type, DW_FORM_ref4), (DW_AT_count, DW_FORM_data1)],
    ),
    (
        DW_TAG_typedef,
        false,
        &[
            (DW_AT_type, DW_FORM_ref4),
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
        ],
    ),
    (
        DW_TAG_enumeration_type,
        true,
        &[
            (DW_AT_type, DW_FORM_ref4),
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_byte_size, DW_FORM_data1),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
        ],
    ),
    (
        DW_TAG_enumerator,
        false,
        &[
            (DW_AT_name, DW_FORM_strx2),
            (DW_AT_const_value, DW_FORM_udata),
        ],
    ),
];

const LISTED: &[(DwAt, DwForm)] = &[
    (DW_AT_location, DW_FORM_loclistx),
    (DW_AT_name, DW_FORM_strx2),
    (DW_AT_decl_file, DW_FORM_data1),
    (DW_AT_decl_line, DW_FORM_data2),
    (DW_AT_type, DW_FORM_ref4),
];

/// Appends the table to `.debug_abbrev`.
pub fn write(section: &mut Bytes) {
    for (index, (tag, has_children, attributes)) in TABLE.iter().enumerate() {
        section
            .uleb(index as u64 + 1)
            .uleb(tag.0.into())
            .u8((*has_children).into());
        for (attribute, form) in *attributes {
            section.uleb(attribute.0.into()).uleb(form.0.into());
        }
        section.uleb(0).uleb(0);
    }
    section.uleb(0);
}
