//! Defines operands: the encoding of each kind, and a value of any kind.

/// A kind of operand, which determines its encoding and formatting.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// The number within a family of operations, which is part of the code.
    Member,
    /// One byte, unsigned.
    U8,
    /// Two bytes, unsigned.
    U16,
    /// Four bytes, unsigned.
    U32,
    /// Eight bytes, unsigned.
    U64,
    /// One byte, signed.
    S8,
    /// Two bytes, signed.
    S16,
    /// Four bytes, signed.
    S32,
    /// Eight bytes, signed.
    S64,
    /// Two bytes, signed: the distance of a branch from its end, in bytes.
    Branch,
    /// Unsigned LEB128.
    Uleb,
    /// Unsigned LEB128, truncated to 64 bits.
    WideUleb,
    /// Signed LEB128.
    Sleb,
    /// Signed LEB128, truncated to 64 bits.
    WideSleb,
    /// Signed LEB128: an offset in bytes from the register before it.
    Displacement,
    /// Unsigned LEB128: a DWARF register number.
    Register,
    /// Unsigned LEB128: the offset of a base type from the header of its unit, in bytes.
    BaseType,
    /// An address of the default address space.
    Address,
    /// An offset into `.debug_info`, with the size in the DWARF format.
    SectionReference,
    /// A block whose length is one byte.
    Block1,
    /// A block whose length is an unsigned LEB128.
    Block,
    /// An expression whose length is an unsigned LEB128.
    Expression,
}

/// The value of an operand.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandValue<'a> {
    /// An unsigned number.
    Unsigned(u64),
    /// A signed number.
    Signed(i64),
    /// The bytes of a block, without its length.
    Bytes(&'a [u8]),
}

macro_rules! numbers {
    ($($variant:ident: $($ty:ty),+;)*) => { $($(
        impl From<$ty> for OperandValue<'_> {
            fn from(value: $ty) -> Self {
                OperandValue::$variant(value.into())
            }
        }

        impl TryFrom<OperandValue<'_>> for $ty {
            type Error = ();
            fn try_from(value: OperandValue<'_>) -> Result<$ty, ()> {
                match value {
                    OperandValue::Unsigned(value) => value.try_into().map_err(|_| ()),
                    OperandValue::Signed(value) => value.try_into().map_err(|_| ()),
                    OperandValue::Bytes(_) => Err(()),
                }
            }
        }
    )+)* };
}

numbers! {
    Unsigned: u8, u16, u32, u64;
    Signed: i8, i16, i32, i64;
}

impl<'a> From<&'a [u8]> for OperandValue<'a> {
    fn from(value: &'a [u8]) -> Self {
        OperandValue::Bytes(value)
    }
}

impl<'a> TryFrom<OperandValue<'a>> for &'a [u8] {
    type Error = ();
    fn try_from(value: OperandValue<'a>) -> Result<&'a [u8], ()> {
        match value {
            OperandValue::Bytes(bytes) => Ok(bytes),
            OperandValue::Unsigned(_) | OperandValue::Signed(_) => Err(()),
        }
    }
}
