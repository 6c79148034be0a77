//! Provides types as a tree: by number, with members, elements, enumerators and variants.

mod questions;

use core::ffi::c_char;

use hetdwarf::debug_info::type_name;
use hetdwarf::debug_info::types::{Dimension, Enumerator, Member, Type, TypeId, TypeKind, Variant};
use hetdwarf::display::size_in_bytes;

use crate::handle::handles;
use crate::plain::sized;
use crate::status::{Answer, Fault};
use crate::text::Texts;
use crate::values::SharedTypes;
pub use questions::*;

/// The contents of a handle of types.
pub(crate) struct Types {
    table: SharedTypes,
    /// The queried types.
    chosen: Vec<TypeId>,
    texts: Texts,
}

/// The types of an object, or of values. Types refer to each other by number, and each value and global variable has the number of its
/// type. Free it with `hetdwarf_free`.
#[derive(Debug)]
pub struct hetdwarf_types {
    _private: [u8; 0],
}

handles! { hetdwarf_types: Types = b"hdwtype\x01"; }

/// In place of the number of a type: no type.
pub const HETDWARF_NO_TYPE: u64 = u64::MAX;

/// `void`.
pub const HETDWARF_TYPE_VOID: u32 = 0;
/// A number, a character, a truth value, or a vector of them that is a base type.
pub const HETDWARF_TYPE_BASE: u32 = 1;
/// A pointer.
pub const HETDWARF_TYPE_POINTER: u32 = 2;
/// A reference of C++.
pub const HETDWARF_TYPE_REFERENCE: u32 = 3;
/// An rvalue reference of C++.
pub const HETDWARF_TYPE_RVALUE_REFERENCE: u32 = 4;
/// A pointer to a member of a class.
pub const HETDWARF_TYPE_MEMBER_POINTER: u32 = 5;
/// An array, or a vector.
pub const HETDWARF_TYPE_ARRAY: u32 = 6;
/// A structure.
pub const HETDWARF_TYPE_STRUCT: u32 = 7;
/// A class.
pub const HETDWARF_TYPE_CLASS: u32 = 8;
/// A union.
pub const HETDWARF_TYPE_UNION: u32 = 9;
/// An enumeration.
pub const HETDWARF_TYPE_ENUM: u32 = 10;
/// Another name for a type.
pub const HETDWARF_TYPE_TYPEDEF: u32 = 11;
/// A type with `const`, `volatile`, `restrict` or `_Atomic`.
pub const HETDWARF_TYPE_QUALIFIED: u32 = 12;
/// A function's type.
pub const HETDWARF_TYPE_FUNCTION: u32 = 13;
/// The variant part of a structure: several lists of members, of which one is present.
pub const HETDWARF_TYPE_VARIANTS: u32 = 14;
/// A type without a description, for example the type of `nullptr`, or a type that cannot be read.
pub const HETDWARF_TYPE_UNSPECIFIED: u32 = 15;
/// A type that the library does not support.
pub const HETDWARF_TYPE_UNSUPPORTED: u32 = 16;

/// The numbers of the kinds by their names in the library.
const KINDS: [(&str, u32); TypeKind::NAMES.len()] = [
    ("void", HETDWARF_TYPE_VOID),
    ("base", HETDWARF_TYPE_BASE),
    ("pointer", HETDWARF_TYPE_POINTER),
    ("reference", HETDWARF_TYPE_REFERENCE),
    ("rvalue-reference", HETDWARF_TYPE_RVALUE_REFERENCE),
    ("member-pointer", HETDWARF_TYPE_MEMBER_POINTER),
    ("array", HETDWARF_TYPE_ARRAY),
    ("struct", HETDWARF_TYPE_STRUCT),
    ("class", HETDWARF_TYPE_CLASS),
    ("union", HETDWARF_TYPE_UNION),
    ("enum", HETDWARF_TYPE_ENUM),
    ("typedef", HETDWARF_TYPE_TYPEDEF),
    ("qualified", HETDWARF_TYPE_QUALIFIED),
    ("function", HETDWARF_TYPE_FUNCTION),
    ("variants", HETDWARF_TYPE_VARIANTS),
    ("unspecified", HETDWARF_TYPE_UNSPECIFIED),
    ("unsupported", HETDWARF_TYPE_UNSUPPORTED),
];

/// A type. Strings belong to the types, and are NULL if absent. A typedef or qualified type has the members, dimensions and so on of its
/// underlying type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_type {
    /// `sizeof(hetdwarf_type)`, set by the caller.
    pub size: usize,
    /// The name, as C writes it.
    pub name: *const c_char,
    /// The name of the kind: `struct`, `array`, `pointer` and so on.
    pub kind_name: *const c_char,
    /// The kind: `HETDWARF_TYPE_…`.
    pub kind: u32,
    /// 1 if an array is a vector, else 0.
    pub is_vector: u32,
    /// The size in bytes; `UINT64_MAX` if it is not a constant.
    pub byte_size: u64,
    /// The number of the related type, or `HETDWARF_NO_TYPE`. For a pointer or reference, its target. For an array, its element type. For a
    /// typedef, qualified type or enumeration, its underlying type. For a function, its return type.
    pub target: u64,
    /// The address space that a pointer or reference points into; `none` for the default one.
    pub address_space: *const c_char,
    /// The encoding of a base type: `signed`, `unsigned`, `float` and so on.
    pub encoding: *const c_char,
    /// The distance between the elements of an array, in bits; 0 if it is the size of an element.
    pub stride: u64,
    /// The number of members and base classes of a structure, class or union.
    pub member_count: usize,
    /// The number of an array's dimensions.
    pub dimension_count: usize,
    /// The number of enumerators of an enumeration.
    pub enumerator_count: usize,
    /// The number of a function's parameters.
    pub parameter_count: usize,
    /// The number of a variant part's variants.
    pub variant_count: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A member or a base class. Strings belong to the types.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_member {
    /// `sizeof(hetdwarf_member)`, set by the caller.
    pub size: usize,
    /// The name; NULL for an anonymous structure or union, and for most base classes.
    pub name: *const c_char,
    /// The number of the member's type.
    pub r#type: u64,
    /// The offset from the start of the structure, class or union, in bits; `UINT64_MAX` if it is not a constant.
    pub bit_offset: u64,
    /// The size of a bit-field, in bits; 0 for any other member.
    pub bit_size: u64,
    /// 1 if it is a base class, else 0.
    pub is_base: u32,
    /// Zero.
    pub padding: u32,
    /// Zero.
    pub reserved: [u64; 4],
}

/// An enumerator of an enumeration. Strings belong to the types.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_enumerator {
    /// `sizeof(hetdwarf_enumerator)`, set by the caller.
    pub size: usize,
    /// The name.
    pub name: *const c_char,
    /// The lower 64 bits of the value.
    pub value: u64,
    /// The upper 64 bits of the value: its sign, if the value fits into 64 bits.
    pub value_high: i64,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A dimension of an array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_dimension {
    /// `sizeof(hetdwarf_dimension)`, set by the caller.
    pub size: usize,
    /// The first index.
    pub lower_bound: i64,
    /// The number of elements; `UINT64_MAX` if it is not a constant.
    pub count: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

/// One of the variants of a variant part.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_variant {
    /// `sizeof(hetdwarf_variant)`, set by the caller.
    pub size: usize,
    /// The number of the variant's members.
    pub member_count: usize,
    /// The number of ranges of discriminants that select the variant.
    pub choice_count: usize,
    /// 1 if the variant is present when no other one is, else 0.
    pub is_default: u32,
    /// Zero.
    pub padding: u32,
    /// Zero.
    pub reserved: [u64; 4],
}

/// An inclusive range of discriminants that select a variant.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_choice {
    /// `sizeof(hetdwarf_choice)`, set by the caller.
    pub size: usize,
    /// The lower 64 bits of the first discriminant.
    pub first: u64,
    /// The upper 64 bits of the first discriminant.
    pub first_high: i64,
    /// The lower 64 bits of the last discriminant, which is included.
    pub last: u64,
    /// The upper 64 bits of the last discriminant.
    pub last_high: i64,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! {
    hetdwarf_type hetdwarf_member hetdwarf_enumerator hetdwarf_dimension hetdwarf_variant hetdwarf_choice
}

/// Splits a number into its lower and upper 64 bits.
fn halves(number: i128) -> (u64, i64) {
    let low = (number as u128 & u128::from(u64::MAX)) as u64;
    (low, (number >> 64) as i64)
}

impl Types {
    /// Returns a type by its number.
    fn id(&self, number: u64) -> Answer<TypeId> {
        let id = u32::try_from(number).ok().map(TypeId);
        let id = id.filter(|id| self.table.borrow().has(*id));
        id.ok_or_else(|| Fault::not_found(format!("there is no type {number}")))
    }

    fn describe(&self, id: TypeId) -> hetdwarf_type {
        let table = self.table.borrow();
        let own = &table.get(id).kind;
        let Type { kind, .. } = table.resolved(id);
        let name = own.name();
        let (address_space, encoding) = match kind {
            TypeKind::Pointer { address_space, .. } => (Some(address_space.name()), None),
            TypeKind::Base(base) | TypeKind::Represented { base, .. } => {
                (None, Some(base.encoding.name()))
            }
            _ => (None, None),
        };
        let (is_vector, stride) = match kind {
            TypeKind::Array {
                vector,
                stride_in_bits,
                ..
            } => (*vector, *stride_in_bits),
            _ => (false, None),
        };
        let known = KINDS.iter().find(|(known, _)| *known == name);
        hetdwarf_type {
            size: 0,
            name: self.texts.keep(&type_name(&table, id)),
            kind_name: self.texts.keep(name),
            kind: known.map_or(HETDWARF_TYPE_UNSUPPORTED, |(_, number)| *number),
            is_vector: is_vector.into(),
            byte_size: size_in_bytes(&table, id).unwrap_or(u64::MAX),
            target: own.target().map_or(HETDWARF_NO_TYPE, |id| id.0.into()),
            address_space: self.texts.keep_if(address_space),
            encoding: self.texts.keep_if(encoding),
            stride: stride.unwrap_or(0),
            member_count: kind.members().len(),
            dimension_count: kind.dimensions().len(),
            enumerator_count: kind.enumerators().len(),
            parameter_count: kind.parameters().len(),
            variant_count: kind.variants().1.len(),
            reserved: [0; 4],
        }
    }

    fn member(&self, member: &Member) -> hetdwarf_member {
        hetdwarf_member {
            size: 0,
            name: self.texts.keep_if(member.name.as_deref()),
            r#type: member.ty.0.into(),
            bit_offset: member.bit_offset.unwrap_or(u64::MAX),
            bit_size: member.bit_size.unwrap_or(0),
            is_base: member.is_base.into(),
            padding: 0,
            reserved: [0; 4],
        }
    }

    fn enumerator(&self, one: &Enumerator) -> hetdwarf_enumerator {
        let (value, value_high) = halves(one.value);
        hetdwarf_enumerator {
            size: 0,
            name: self.texts.keep(&one.name),
            value,
            value_high,
            reserved: [0; 4],
        }
    }
}

fn dimension(dimension: &Dimension) -> hetdwarf_dimension {
    hetdwarf_dimension {
        size: 0,
        lower_bound: dimension.lower_bound,
        count: dimension.count.unwrap_or(u64::MAX),
        reserved: [0; 4],
    }
}

fn variant(variant: &Variant) -> hetdwarf_variant {
    hetdwarf_variant {
        size: 0,
        member_count: variant.members.len(),
        choice_count: variant.choices.as_ref().map_or(0, Vec::len),
        is_default: variant.choices.is_none().into(),
        padding: 0,
        reserved: [0; 4],
    }
}

fn choice((first, last): (i128, i128)) -> hetdwarf_choice {
    let ((first, first_high), (last, last_high)) = (halves(first), halves(last));
    hetdwarf_choice {
        size: 0,
        first,
        first_high,
        last,
        last_high,
        reserved: [0; 4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_library_has_a_number() {
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, TypeKind::NAMES);
        let numbers: Vec<u32> = KINDS.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, (0..17).collect::<Vec<u32>>());
    }

    #[test]
    fn halves_are_those_of_twos_complement() {
        assert_eq!(halves(-1), (u64::MAX, -1));
        assert_eq!(halves(7), (7, 0));
        assert_eq!(halves(i128::from(u64::MAX)), (u64::MAX, 0));
        assert_eq!(halves(i128::MIN), (0, i64::MIN));
    }
}
