//! What the expressions of attributes are for. Sources: DWARF 5 §7.5.4 and the sections that it names; HET
//! A.3, A.4, A.5.

use gimli::constants::*;
use gimli::{AttributeValue, DwTag};

use crate::debug_info::Bytes;
use crate::debug_info::attribute::{Extension, extension};

/// The use of an expression or location list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Use {
    /// The location of the object that the entry describes.
    Object,
    /// A location of something else.
    Place,
    Procedure,
    FrameBase,
    Member,
    DataLocation,
    Value,
    LanePc,
    ActiveLane,
    Any,
}

/// What an attribute's expression is for; nothing if its form holds none.
pub(super) fn use_of(tag: DwTag, attribute: &gimli::Attribute<Bytes<'_>>) -> Option<Use> {
    use AttributeValue as V;
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the forms of expressions and of lists, in every version"
    )]
    let (is_expression, is_list) = match attribute.raw_value() {
        V::Exprloc(_) => (true, false),
        V::Block(_) => (false, false),
        V::SecOffset(_) | V::DebugLocListsIndex(_) | V::Data4(_) | V::Data8(_) => (false, true),
        _ => return None,
    };
    match extension(tag, attribute) {
        Some(Extension::LanePc) => return Some(Use::LanePc),
        Some(Extension::ActiveLane) => return Some(Use::ActiveLane),
        Some(Extension::Iterations) if is_expression || is_list => return Some(Use::Place),
        _ => {}
    }
    let known = match attribute.name() {
        DW_AT_location if tag == DW_TAG_dwarf_procedure => Some(Use::Procedure),
        DW_AT_location if tag == DW_TAG_call_site_parameter => Some(Use::Place),
        DW_AT_location if tag == DW_TAG_GNU_call_site_parameter => Some(Use::Place),
        DW_AT_location => Some(Use::Object),
        DW_AT_frame_base => Some(Use::FrameBase),
        DW_AT_return_addr | DW_AT_static_link | DW_AT_string_length | DW_AT_call_data_location => {
            Some(Use::Place)
        }
        DW_AT_data_member_location | DW_AT_vtable_elem_location | DW_AT_use_location => {
            Some(Use::Member)
        }
        DW_AT_data_location => Some(Use::DataLocation),
        DW_AT_call_value
        | DW_AT_call_data_value
        | DW_AT_GNU_call_site_value
        | DW_AT_GNU_call_site_data_value
        | DW_AT_lower_bound
        | DW_AT_upper_bound
        | DW_AT_count
        | DW_AT_byte_size
        | DW_AT_bit_size
        | DW_AT_byte_stride
        | DW_AT_bit_stride
        | DW_AT_allocated
        | DW_AT_associated
        | DW_AT_rank => is_expression.then_some(Use::Value),
        _ => is_expression.then_some(Use::Any),
    };
    // A member at a constant offset has a data form too.
    match (known, is_list) {
        (Some(Use::Member | Use::Value), true) => None,
        (known, _) => known,
    }
}
