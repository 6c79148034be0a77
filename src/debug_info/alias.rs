//! Recognizes types that only name or qualify another type.

use gimli::DwTag;
use gimli::constants::*;

/// The maximum number of entries between a type and the type with its size: typedefs, qualifiers, arrays.
pub(super) const HOPS: usize = 64;

/// Returns true if a type only names or qualifies another type.
pub(super) fn is_alias(tag: DwTag) -> bool {
    [
        DW_TAG_typedef,
        DW_TAG_template_alias,
        DW_TAG_thrown_type,
        DW_TAG_const_type,
        DW_TAG_volatile_type,
        DW_TAG_restrict_type,
        DW_TAG_atomic_type,
        DW_TAG_packed_type,
        DW_TAG_immutable_type,
    ]
    .contains(&tag)
}
