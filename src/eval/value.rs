//! Values and their base types. Source: HET A.2.5.2.

use crate::arch::AddressSpace;

/// How the bits of a value are read (`DW_AT_encoding`).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// The generic type: an integer of the default address space's size, of no particular sign.
    Generic,
    /// `DW_ATE_address`.
    Address,
    /// `DW_ATE_boolean`.
    Boolean,
    /// `DW_ATE_float`.
    Float,
    /// `DW_ATE_signed`.
    Signed,
    /// `DW_ATE_signed_char`.
    SignedChar,
    /// `DW_ATE_unsigned`.
    Unsigned,
    /// `DW_ATE_unsigned_char`.
    UnsignedChar,
    /// `DW_ATE_UTF`.
    Utf,
    /// Any other encoding, by its number; such a value can be moved but not computed with.
    Other(u8),
}

/// The type of a value on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BaseType {
    /// How the bits are read.
    pub encoding: Encoding,
    /// The size, in bits.
    pub bit_size: u32,
    /// The number of elements of a vector base type (`DW_AT_LLVM_vector_size`); 1 for any other.
    /// `bit_size` is that of the whole vector.
    pub elements: u32,
    /// The address space of a [`Encoding::Address`] type; the default space for any other.
    pub address_space: AddressSpace,
}
