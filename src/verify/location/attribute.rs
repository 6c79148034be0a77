//! Determines the use of the expressions in attributes. Sources: DWARF 5 §7.5.4 and the sections that it names; HET A.3, A.4, A.5.

use gimli::constants::*;
use gimli::{AttributeValue, DwAt, DwTag};

use crate::debug_info::Bytes;
use crate::debug_info::attribute::{Extension, extension};

/// The use of an expression or location list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Use {
    /// The location of the object that the entry describes.
    Object,
    /// A location of something other than the described object.
    Place,
    Procedure,
    FrameBase,
    Member,
    VirtualSlot,
    DataLocation,
    Value,
    /// A value of a dimension in an array whose dimensions are not listed.
    OfDimension,
    LanePc,
    ActiveLane,
    Any,
}

/// Returns the use of an attribute's expression. Returns `None` if its form cannot hold an expression.
///
/// * `raw`: the attribute's value in its encoded form.
pub(super) fn use_of(
    tag: DwTag,
    attribute: &gimli::Attribute<Bytes<'_>>,
    raw: &AttributeValue<Bytes<'_>>,
) -> Option<Use> {
    use AttributeValue as V;
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the forms of expressions and of lists, in every version"
    )]
    let (is_expression, is_list) = match raw {
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
    let name = attribute.name();
    let known = USES.iter().find(|(known, _)| *known == name);
    let purpose = match known {
        // For these uses, the value is never read as a list. A data form is a constant, although it could refer to a list before DWARF 4.
        Some((_, Use::Member | Use::VirtualSlot | Use::Value)) if is_list => return None,
        Some((_, purpose)) => *purpose,
        None => return is_expression.then_some(Use::Any),
    };
    Some(if purpose == Use::Value && tag == DW_TAG_generic_subrange {
        Use::OfDimension
    } else if purpose != Use::Object {
        purpose
    } else if tag == DW_TAG_dwarf_procedure {
        Use::Procedure
    } else if is_call_site(tag) {
        Use::Place
    } else {
        Use::Object
    })
}

/// Returns true if a location with this tag is the location of a parameter at a call.
fn is_call_site(tag: DwTag) -> bool {
    [DW_TAG_call_site_parameter, DW_TAG_GNU_call_site_parameter].contains(&tag)
}

/// The attributes whose values are expressions or location lists.
#[rustfmt::skip]
const USES: &[(DwAt, Use)] = &[
    (DW_AT_location,                   Use::Object),
    (DW_AT_frame_base,                 Use::FrameBase),
    (DW_AT_return_addr,                Use::Place),
    (DW_AT_static_link,                Use::Place),
    (DW_AT_string_length,              Use::DataLocation),
    (DW_AT_call_data_location,         Use::Place),
    (DW_AT_data_member_location,       Use::Member),
    (DW_AT_vtable_elem_location,       Use::VirtualSlot),
    (DW_AT_use_location,               Use::Member),
    (DW_AT_data_location,              Use::DataLocation),
    (DW_AT_call_value,                 Use::Value),
    (DW_AT_call_data_value,            Use::Value),
    (DW_AT_GNU_call_site_value,        Use::Value),
    (DW_AT_GNU_call_site_data_value,   Use::Value),
    (DW_AT_lower_bound,                Use::Value),
    (DW_AT_upper_bound,                Use::Value),
    (DW_AT_count,                      Use::Value),
    (DW_AT_byte_size,                  Use::Value),
    (DW_AT_bit_size,                   Use::Value),
    (DW_AT_byte_stride,                Use::Value),
    (DW_AT_bit_stride,                 Use::Value),
    (DW_AT_allocated,                  Use::Value),
    (DW_AT_associated,                 Use::Value),
    (DW_AT_rank,                       Use::Value),
];
