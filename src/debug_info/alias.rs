//! Types that are other types under a name or with a qualifier.

use gimli::DwTag;
use gimli::constants::*;

/// How many entries may lie between a type and the one that has the size: typedefs, qualifiers, arrays.
pub(super) const HOPS: usize = 64;

/// Returns true if a type is another one under a name or with a qualifier.
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
