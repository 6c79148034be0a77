//! Implements values and their base types, and arithmetic on them.
//!
//! Sources: HET A.2.5.2, DWARF 5 §2.5.1.4 to §2.5.1.6. `spec-notes/values.md` documents cases that they leave open.

use crate::arch::{AddressSpace, Float16};
use crate::error::{ErrorKind, Result};

/// The encoding of a value's bits (`DW_AT_encoding`).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BaseTypeEncoding {
    /// The generic type: an integer with the size of a default-space address and unspecified signedness.
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
    /// Any other encoding, by its number. Such a value can be moved but not used in arithmetic.
    Other(u8),
}

impl BaseTypeEncoding {
    /// Returns the name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BaseTypeEncoding::Generic => "generic",
            BaseTypeEncoding::Address => "address",
            BaseTypeEncoding::Boolean => "boolean",
            BaseTypeEncoding::Float => "float",
            BaseTypeEncoding::Signed => "signed",
            BaseTypeEncoding::SignedChar => "signed_char",
            BaseTypeEncoding::Unsigned => "unsigned",
            BaseTypeEncoding::UnsignedChar => "unsigned_char",
            BaseTypeEncoding::Utf => "utf",
            BaseTypeEncoding::Other(_) => "other",
        }
    }
}

/// The type of a value on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BaseType {
    /// The encoding of the bits.
    pub encoding: BaseTypeEncoding,
    /// The size, in bits.
    pub bit_size: u32,
    /// The number of elements of a vector base type (`DW_AT_LLVM_vector_size`), or 1 for any other. `bit_size` is the size of the whole vector.
    pub elements: u32,
    /// The address space of a [`BaseTypeEncoding::Address`] type; the default space for any other.
    pub address_space: AddressSpace,
}

/// A value: a type and up to 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The type of the bits.
    pub base_type: BaseType,
    /// The bits. Bits above the type's size are zero.
    pub bits: u128,
}

/// An operation on two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Plus,
    Minus,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
}

/// The direction and filling of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    Left,
    RightLogical,
    RightArithmetic,
}

/// An operation on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Abs,
    Neg,
    Not,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Eq,
    Ge,
    Gt,
    Le,
    Lt,
    Ne,
}

impl Binary {
    /// Returns the result for values of the generic type of 64 bits, the most frequent case, or `None` if there is none.
    #[inline]
    pub(super) fn of_addresses(self, a: u64, b: u64) -> Option<u64> {
        match self {
            Binary::Plus => Some(a.wrapping_add(b)),
            Binary::Minus => Some(a.wrapping_sub(b)),
            Binary::Mul => Some(a.wrapping_mul(b)),
            // Only division treats them as signed.
            Binary::Div if b == 0 => None,
            #[expect(clippy::arithmetic_side_effects, reason = "0 is the case above")]
            Binary::Div => Some(
                a.cast_signed()
                    .wrapping_div(b.cast_signed())
                    .cast_unsigned(),
            ),
            Binary::Mod => a.checked_rem(b),
            Binary::And => Some(a & b),
            Binary::Or => Some(a | b),
            Binary::Xor => Some(a ^ b),
        }
    }
}

impl Shift {
    /// Returns the result for values of the generic type of 64 bits. Shifts by 64 or more clear all bits.
    #[inline]
    pub(super) fn of_address(self, value: u64, count: u64) -> u64 {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        match self {
            Shift::Left => value.checked_shl(count).unwrap_or(0),
            Shift::RightLogical => value.checked_shr(count).unwrap_or(0),
            Shift::RightArithmetic => (value.cast_signed() >> count.min(63)).cast_unsigned(),
        }
    }
}

impl Relation {
    /// Returns the result for values of the generic type of 64 bits, which are compared as signed.
    #[inline]
    pub(super) fn of_addresses(self, a: u64, b: u64) -> bool {
        self.holds(a.cast_signed().cmp(&b.cast_signed()))
    }

    fn holds(self, ordering: core::cmp::Ordering) -> bool {
        match self {
            Relation::Eq => ordering.is_eq(),
            Relation::Ne => ordering.is_ne(),
            Relation::Ge => ordering.is_ge(),
            Relation::Gt => ordering.is_gt(),
            Relation::Le => ordering.is_le(),
            Relation::Lt => ordering.is_lt(),
        }
    }
}

/// The number that a value represents.
#[derive(Clone, Copy)]
enum Number {
    Signed(i128),
    Unsigned(u128),
    Float(f64),
}

impl BaseType {
    /// Returns the generic type of this many bits.
    #[must_use]
    pub const fn generic(bit_size: u32) -> BaseType {
        BaseType::scalar(BaseTypeEncoding::Generic, bit_size)
    }

    /// Returns a type with one element.
    #[must_use]
    pub const fn scalar(encoding: BaseTypeEncoding, bit_size: u32) -> BaseType {
        BaseType {
            encoding,
            bit_size,
            elements: 1,
            address_space: AddressSpace::None,
        }
    }

    /// Returns the size in bytes, rounded up.
    #[must_use]
    pub const fn byte_size(&self) -> u32 {
        self.bit_size.div_ceil(8)
    }

    /// Returns true if values are integers (HET A.2.5.2). Addresses count as integers too.
    #[must_use]
    pub fn is_integral(&self) -> bool {
        self.elements == 1
            && match self.encoding {
                BaseTypeEncoding::Generic
                | BaseTypeEncoding::Address
                | BaseTypeEncoding::Boolean
                | BaseTypeEncoding::Signed
                | BaseTypeEncoding::SignedChar
                | BaseTypeEncoding::Unsigned
                | BaseTypeEncoding::UnsignedChar
                | BaseTypeEncoding::Utf => true,
                BaseTypeEncoding::Float | BaseTypeEncoding::Other(_) => false,
            }
    }

    /// Returns true if the highest bit is the sign.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        matches!(
            self.encoding,
            BaseTypeEncoding::Signed | BaseTypeEncoding::SignedChar
        )
    }

    /// Fails if values of the type cannot be on the stack.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if they have more than 128 bits.
    pub(super) fn check_fits(&self) -> Result<()> {
        if self.bit_size > 128 {
            let what = "a value of more than 16 bytes on the stack";
            return Err(ErrorKind::Unsupported(what).into());
        }
        Ok(())
    }

    fn is_float(&self) -> bool {
        self.elements == 1
            && self.encoding == BaseTypeEncoding::Float
            && matches!(self.bit_size, 16 | 32 | 64)
    }

    fn mask(&self) -> u128 {
        mask(self.bit_size)
    }
}

pub(super) fn mask(bit_size: u32) -> u128 {
    u128::MAX
        .checked_shl(bit_size)
        .map_or(u128::MAX, |above| !above)
}

/// Returns the number whose two's complement of `bit_size` bits is `bits`.
pub(super) fn sign_extend(bits: u128, bit_size: u32) -> i128 {
    let unused = 128u32.saturating_sub(bit_size);
    // A shift by 128 bits occurs for a number of no bits.
    bits.checked_shl(unused)
        .map_or(0, |shifted| shifted.cast_signed() >> unused)
}

impl Value {
    /// Creates a value, and drops the bits above the type's size.
    #[must_use]
    pub fn new(base_type: BaseType, bits: u128) -> Value {
        Value {
            base_type,
            bits: bits & base_type.mask(),
        }
    }

    /// Returns a value of the generic type.
    #[must_use]
    pub fn generic(bits: u64, bit_size: u32) -> Value {
        Value::new(BaseType::generic(bit_size), bits.into())
    }

    /// Returns the value as a signed number. Values of signed types and of the generic type are sign-extended, others zero-extended.
    ///
    /// # Errors
    /// [`ErrorKind::TypeMismatch`] if the type is not integral.
    pub fn to_signed(&self) -> Result<i128> {
        if !self.base_type.is_integral() {
            return Err(not_integral());
        }
        if self.base_type.is_signed() || self.base_type.encoding == BaseTypeEncoding::Generic {
            return Ok(sign_extend(self.bits, self.base_type.bit_size));
        }
        // An unsigned number of 128 bits: from 2^127 on it exceeds the length of any storage, like the largest number.
        Ok(i128::try_from(self.bits).unwrap_or(i128::MAX))
    }

    fn number(&self) -> Result<Number> {
        let ty = &self.base_type;
        if ty.is_float() {
            let bits = self.bits.to_le_bytes();
            let [a, b, c, d, e, f, g, h, ..] = bits;
            return Ok(Number::Float(match ty.bit_size {
                16 => Float16::Half.decode(u16::from_le_bytes([a, b])),
                32 => f32::from_le_bytes([a, b, c, d]).into(),
                _ => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            }));
        }
        if !ty.is_integral() {
            return Err(unsupported());
        }
        Ok(if ty.is_signed() {
            Number::Signed(sign_extend(self.bits, ty.bit_size))
        } else {
            Number::Unsigned(self.bits)
        })
    }

    /// Returns true if the value is not zero.
    ///
    /// # Errors
    /// [`ErrorKind::TypeMismatch`] if the type is not integral.
    pub fn is_true(&self) -> Result<bool> {
        if !self.base_type.is_integral() {
            return Err(not_integral());
        }
        Ok(self.bits != 0)
    }

    pub(super) fn binary(&self, operation: Binary, other: &Value) -> Result<Value> {
        let ty = self.base_type;
        if ty != other.base_type {
            return Err(ErrorKind::TypeMismatch {
                expected: "two values of one type",
                found: "two types",
            }
            .into());
        }
        if ty.is_float() {
            return self.binary_float(operation, other);
        }
        if !ty.is_integral() {
            return Err(unsupported());
        }
        let (a, b) = (self.bits, other.bits);
        // Signed numbers of 128 bits cannot overflow in the narrower operations, and wrap in 128-bit ones.
        let (sa, sb) = (sign_extend(a, ty.bit_size), sign_extend(b, ty.bit_size));
        let signed_division = ty.is_signed() || ty.encoding == BaseTypeEncoding::Generic;
        // The sign-extended number is tested: a caller's value may have only bits above its type's size.
        if matches!(operation, Binary::Div | Binary::Mod) && sb == 0 {
            return Err(ErrorKind::DivideByZero.into());
        }
        #[expect(
            clippy::arithmetic_side_effects,
            reason = "0 is an error above, for `b` too, which is not 0 where `sb` is not"
        )]
        let bits = match operation {
            Binary::Plus => a.wrapping_add(b),
            Binary::Minus => a.wrapping_sub(b),
            Binary::Mul => a.wrapping_mul(b),
            Binary::Div if signed_division => sa.wrapping_div(sb).cast_unsigned(),
            Binary::Div => a.wrapping_div(b),
            Binary::Mod if ty.is_signed() => sa.wrapping_rem(sb).cast_unsigned(),
            Binary::Mod => a.wrapping_rem(b),
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
        };
        Ok(Value::new(ty, bits))
    }

    fn binary_float(&self, operation: Binary, other: &Value) -> Result<Value> {
        let (Number::Float(a), Number::Float(b)) = (self.number()?, other.number()?) else {
            return Err(unsupported());
        };
        // Doubles represent halves and floats exactly. Rounding the result once more equals computing in the narrower type, because a double has more
        // than twice as many digits.
        let result = match operation {
            Binary::Plus => a + b,
            Binary::Minus => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Mod | Binary::And | Binary::Or | Binary::Xor => return Err(not_integral()),
        };
        Ok(Value::new(
            self.base_type,
            float_bits(result, self.base_type.bit_size),
        ))
    }

    pub(super) fn shift(&self, shift: Shift, by: &Value) -> Result<Value> {
        let ty = self.base_type;
        if !ty.is_integral() || !by.base_type.is_integral() {
            return Err(not_integral());
        }
        if by.base_type.is_signed() && by.to_signed()? < 0 {
            return Err(ErrorKind::TypeMismatch {
                expected: "a shift by 0 or more bits",
                found: "a negative one",
            }
            .into());
        }
        // Shifts by the type's size or more clear all bits.
        let count = u32::try_from(by.bits).unwrap_or(u32::MAX).min(ty.bit_size);
        let bits = match shift {
            Shift::Left => self.bits.checked_shl(count).unwrap_or(0),
            Shift::RightLogical => self.bits.checked_shr(count).unwrap_or(0),
            Shift::RightArithmetic => {
                (sign_extend(self.bits, ty.bit_size) >> count.min(127)).cast_unsigned()
            }
        };
        Ok(Value::new(ty, bits))
    }

    pub(super) fn unary(&self, operation: Unary) -> Result<Value> {
        let ty = self.base_type;
        if ty.is_float() {
            // For a float, including NaN, only the sign changes.
            let sign = 1u128
                .checked_shl(ty.bit_size.saturating_sub(1))
                .unwrap_or(0);
            return match operation {
                Unary::Abs => Ok(Value::new(ty, self.bits & !sign)),
                Unary::Neg => Ok(Value::new(ty, self.bits ^ sign)),
                Unary::Not => Err(not_integral()),
            };
        }
        if !ty.is_integral() {
            return Err(unsupported());
        }
        let has_sign = ty.is_signed() || ty.encoding == BaseTypeEncoding::Generic;
        let signed = sign_extend(self.bits, ty.bit_size);
        let bits = match operation {
            Unary::Abs if has_sign => signed.wrapping_abs().cast_unsigned(),
            Unary::Abs => self.bits,
            Unary::Neg => signed.wrapping_neg().cast_unsigned(),
            Unary::Not => !self.bits,
        };
        Ok(Value::new(ty, bits))
    }

    pub(super) fn compare(&self, relation: Relation, other: &Value) -> Result<bool> {
        let ty = self.base_type;
        if ty != other.base_type {
            return Err(ErrorKind::TypeMismatch {
                expected: "two values of one type",
                found: "two types",
            }
            .into());
        }
        let ordering = if ty.is_integral() {
            let signed = ty.is_signed() || ty.encoding == BaseTypeEncoding::Generic;
            Some(if signed {
                sign_extend(self.bits, ty.bit_size).cmp(&sign_extend(other.bits, ty.bit_size))
            } else {
                self.bits.cmp(&other.bits)
            })
        } else {
            match (self.number()?, other.number()?) {
                (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
                (_, _) => return Err(unsupported()),
            }
        };
        // NaN differs from everything.
        Ok(ordering.map_or(relation == Relation::Ne, |ordering| {
            relation.holds(ordering)
        }))
    }

    /// Implements `DW_OP_convert`: the same number in another type, or the nearest representable one.
    ///
    /// Integers wrap. A float becomes the nearest integer towards zero, clamped to the range of the integer type. Conversions between address spaces
    /// are not made here.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for types without arithmetic.
    pub fn convert(&self, to: BaseType) -> Result<Value> {
        let number = self.number()?;
        if to.is_float() {
            let bits = match number {
                // Converted directly from the integer, so that it is rounded once.
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "rounding is what conversion to a float means"
                )]
                Number::Signed(value) if to.bit_size == 32 => u128::from((value as f32).to_bits()),
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "rounding is what conversion to a float means"
                )]
                Number::Unsigned(value) if to.bit_size == 32 => {
                    u128::from((value as f32).to_bits())
                }
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "rounding is what conversion to a float means"
                )]
                Number::Signed(value) => float_bits(value as f64, to.bit_size),
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "rounding is what conversion to a float means"
                )]
                Number::Unsigned(value) => float_bits(value as f64, to.bit_size),
                Number::Float(value) => float_bits(value, to.bit_size),
            };
            return Ok(Value::new(to, bits));
        }
        if !to.is_integral() {
            return Err(unsupported());
        }
        let bits = match number {
            Number::Signed(value) => value.cast_unsigned(),
            Number::Unsigned(value) => value,
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the nearest number towards zero"
            )]
            Number::Float(value) if to.is_signed() => {
                let most = (to.mask() >> 1).cast_signed();
                // The smallest number is the complement of the largest.
                (value as i128).clamp(!most, most).cast_unsigned()
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the nearest number, at least 0"
            )]
            Number::Float(value) => (value as u128).min(to.mask()),
        };
        Ok(Value::new(to, bits))
    }

    /// Returns the bytes in target order, as many as the type has.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = self.base_type.byte_size() as usize;
        self.bits.to_le_bytes().into_iter().take(length).collect()
    }
}

fn float_bits(value: f64, bit_size: u32) -> u128 {
    match bit_size {
        16 => Float16::Half.encode(value).into(),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounding to the narrower float"
        )]
        32 => (value as f32).to_bits().into(),
        _ => value.to_bits().into(),
    }
}

#[cold]
fn not_integral() -> crate::Error {
    ErrorKind::TypeMismatch {
        expected: "an integral value",
        found: "a value of another type",
    }
    .into()
}

#[cold]
fn unsupported() -> crate::Error {
    ErrorKind::Unsupported("arithmetic on a value of this type").into()
}
