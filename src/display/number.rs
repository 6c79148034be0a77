//! Computes scalar values as numbers from their bits.
//!
//! Formatting them is left to the other modules; no number is ever parsed from a text. Sources: DWARF 5 §5.1.1 and §7.8; HET A.5.1
//! (`DW_AT_LLVM_vector_size`).

use super::bits::Bits;
use super::float;
use super::represented::{SignedMagnitude, ordered};
use super::scalar::{COMPLEX_FLOAT, IMAGINARY_FLOAT, is_signed};
use super::{Part, TypedBytes, shape};
use crate::debug_info::types::{Representation, Scale, TypeId, TypeKind, TypeTable};
use crate::eval::{BaseType, BaseTypeEncoding};

/// The largest integer, in bits.
const MOST_BITS: u64 = 128;

/// A scalar value.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer of a signed type, or any integer that is negative.
    Signed(i128),
    /// An integer of an unsigned type, an address, or a character.
    Unsigned(u128),
    /// A floating-point number. If its format has more digits, it is rounded to the nearest double.
    Float(f64),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
    /// A boolean; everything except 0 is true.
    Boolean(bool),
}

/// The scalar at a place in a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScalarPlace {
    /// The first bit, counted from the start of the value.
    pub bit_offset: u64,
    /// The size of a bit-field, in bits.
    pub bit_field: Option<u64>,
}

/// The kind of numbers of a scalar type.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// Signed integers.
    Signed,
    /// Unsigned integers, addresses and characters.
    Unsigned,
    /// Booleans.
    Boolean,
    /// Floating-point numbers of IEEE 754, or of x87.
    Float,
    /// The upper halves of 32-bit numbers (`__bf16`).
    Bfloat16,
    /// Complex numbers of two such parts.
    Complex,
    /// Any other encoding.
    Other,
}

/// The layout of a scalar type's values in their bytes.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarFormat {
    /// The kind of the numbers.
    pub kind: ScalarKind,
    /// The size of one element, in bits.
    pub bit_size: u64,
    /// The number of elements of a vector base type, or 1 for any other type.
    pub elements: u64,
    /// True if the most significant byte comes first.
    pub big_endian: bool,
    /// True if the bits are the number itself: they start at the first one, and there is neither a bias nor a scale.
    pub is_plain: bool,
}

/// Returns the format of a scalar type, or `None` if the type is no scalar, or has no size.
#[must_use]
pub fn scalar_format(table: &TypeTable, id: TypeId) -> Option<ScalarFormat> {
    let scalar = Scalar::of(table, id)?;
    let kind = match scalar.encoding {
        BaseTypeEncoding::Boolean => ScalarKind::Boolean,
        BaseTypeEncoding::Float if float::is_bfloat16(scalar.bit_size, scalar.name) => {
            ScalarKind::Bfloat16
        }
        BaseTypeEncoding::Float => ScalarKind::Float,
        BaseTypeEncoding::Other(COMPLEX_FLOAT) => ScalarKind::Complex,
        BaseTypeEncoding::Other(_) => ScalarKind::Other,
        BaseTypeEncoding::Signed | BaseTypeEncoding::SignedChar => ScalarKind::Signed,
        BaseTypeEncoding::Generic
        | BaseTypeEncoding::Address
        | BaseTypeEncoding::Unsigned
        | BaseTypeEncoding::UnsignedChar
        | BaseTypeEncoding::Utf => ScalarKind::Unsigned,
    };
    let by = scalar.by;
    Some(ScalarFormat {
        kind,
        bit_size: scalar.bit_size,
        elements: scalar.elements,
        big_endian: by.big_endian,
        is_plain: by.bit_offset == 0 && by.bias == 0 && by.scale == Scale::One,
    })
}

/// Returns the numbers in a value of a scalar type: one, or one for each element of a vector base type.
///
/// A pointer yields its address and an enumeration its integer. Returns `None` if the type is no scalar, if a bit is missing, if the format is
/// unsupported (packed decimals, integers of more than 128 bits, `long double` of unknown format), or if a fixed-point number is not exactly a
/// double.
///
/// ```
/// use hetdwarf::debug_info::types::{Type, TypeKind, TypeTable};
/// use hetdwarf::display::{Number, ScalarPlace, TypedBytes, numbers};
/// use hetdwarf::eval::{BaseType, BaseTypeEncoding};
///
/// let mut table = TypeTable::default();
/// let half = TypeKind::Base(BaseType::scalar(BaseTypeEncoding::Float, 16));
/// let half = table.add(Type::new(Some("half".to_owned()), Some(2), half));
/// let found = numbers(&table, half, &TypedBytes::known(&[1, 0]), ScalarPlace::default());
/// // The smallest number above 0 is 2 to the power of -24.
/// assert_eq!(found, Some(vec![Number::Float(5.960464477539063e-08)]));
/// ```
#[must_use]
pub fn numbers(
    table: &TypeTable,
    id: TypeId,
    value: &TypedBytes<'_>,
    place: ScalarPlace,
) -> Option<Vec<Number>> {
    let scalar = Scalar::of(table, id)?;
    let count = match place.bit_field {
        Some(_) => 1,
        None => scalar.elements,
    };
    let size = place.bit_field.unwrap_or(scalar.bit_size);
    let bits = Bits::new(value);
    let number = |index: u64| {
        let bit_offset = index.checked_mul(size)?.checked_add(place.bit_offset)?;
        let part = Part {
            bit_offset,
            bit_field: place.bit_field,
            ..Part::WHOLE
        };
        scalar.number(&bits, part, size).filter(|_| size > 0)
    };
    // It ends with the first missing element, regardless of the number in the type.
    (0..count).map(number).collect()
}

/// A scalar type.
#[derive(Clone, Copy, Debug)]
struct Scalar<'t> {
    encoding: BaseTypeEncoding,
    by: &'t Representation,
    name: Option<&'t str>,
    /// The size of one element.
    bit_size: u64,
    elements: u64,
}

impl<'t> Scalar<'t> {
    fn of(table: &'t TypeTable, id: TypeId) -> Option<Scalar<'t>> {
        const UNSIGNED: &BaseType = &BaseType::scalar(BaseTypeEncoding::Unsigned, 0);
        let mut resolved = shape::resolve(table, id);
        let full = resolved.ty.byte_size.map(|bytes| bytes.saturating_mul(8));
        let mut is_enumeration = false;
        if let TypeKind::Enumeration { underlying, .. } = resolved.ty.kind {
            resolved = shape::resolve(table, underlying);
            is_enumeration = true;
        }
        let kind = &resolved.ty.kind;
        let is_pointer = matches!(
            kind,
            TypeKind::Pointer { .. } | TypeKind::MemberPointer { .. }
        );
        let (base, by) = if let TypeKind::Base(base) = kind {
            (base, &Representation::PLAIN)
        } else if let TypeKind::Represented { base, by } = kind {
            (base, by)
        } else if is_pointer || (is_enumeration && *kind == TypeKind::Void) {
            // An enumeration may lack its integer type.
            (UNSIGNED, &Representation::PLAIN)
        } else {
            return None;
        };
        let whole = match (base.bit_size, full) {
            (0, full) => full?,
            (_, Some(full)) if is_enumeration => full,
            (bits, _) => bits.into(),
        };
        let elements = u64::from(base.elements.max(1));
        (whole.is_multiple_of(elements)).then_some(Scalar {
            encoding: base.encoding,
            by,
            name: resolved.base_name,
            bit_size: whole.checked_div(elements)?,
            elements,
        })
    }

    fn number(self, bits: &Bits<'_>, part: Part, size: u64) -> Option<Number> {
        match self.encoding {
            BaseTypeEncoding::Boolean => {
                Some(Number::Boolean(self.ordered(bits, part, size)? != 0))
            }
            BaseTypeEncoding::Float => self.float(bits, part, size).map(Number::Float),
            BaseTypeEncoding::Other(IMAGINARY_FLOAT) => {
                Some(Number::Complex(0.0, self.float(bits, part, size)?))
            }
            BaseTypeEncoding::Other(COMPLEX_FLOAT) => {
                let half = size / 2;
                let imaginary = Part {
                    bit_offset: part.bit_offset.checked_add(half)?,
                    ..part
                };
                let real = self.float(bits, part, half)?;
                Some(Number::Complex(real, self.float(bits, imaginary, half)?))
            }
            BaseTypeEncoding::Generic
            | BaseTypeEncoding::Address
            | BaseTypeEncoding::Signed
            | BaseTypeEncoding::SignedChar
            | BaseTypeEncoding::Unsigned
            | BaseTypeEncoding::UnsignedChar
            | BaseTypeEncoding::Utf => self.integer(self.ordered(bits, part, size)?, size),
            BaseTypeEncoding::Other(_) => None,
        }
    }

    /// Returns the bits in their usual order, if all are known.
    fn ordered(self, bits: &Bits<'_>, part: Part, size: u64) -> Option<u128> {
        if size > MOST_BITS {
            return None;
        }
        ordered(bits, self.by, part, size).ok()
    }

    fn float(self, bits: &Bits<'_>, part: Part, size: u64) -> Option<f64> {
        float::value(size, self.name, self.ordered(bits, part, size)?)
    }

    fn integer(self, bits: u128, size: u64) -> Option<Number> {
        let signed = is_signed(self.encoding);
        let sum = SignedMagnitude::new(bits, size, signed).plus(self.by.bias);
        // An overflow is clamped to the largest number.
        if self.by.bias != 0 && sum.magnitude == u128::MAX {
            return None;
        }
        sum.scaled(self.by.scale, signed)
    }
}

impl SignedMagnitude {
    /// Returns the number in units of `scale`, as an integer if all multiples of the unit are integers.
    fn scaled(self, scale: Scale, signed: bool) -> Option<Number> {
        let (factor, divisor) = scale.ratio();
        if divisor == Some(1) {
            return self.times(factor?)?.number(signed);
        }
        let (mantissa, exponent) = match scale {
            Scale::Binary(exponent) => (self.magnitude, exponent),
            Scale::One | Scale::Decimal(_) | Scale::Fraction(..) => {
                let (product, divisor) = (self.magnitude.checked_mul(factor?)?, divisor?);
                let common = common_divisor(product, divisor);
                let (product, divisor) =
                    (product.checked_div(common)?, divisor.checked_div(common)?);
                if !divisor.is_power_of_two() {
                    return None;
                }
                let exponent = i32::try_from(divisor.trailing_zeros()).ok()?;
                (product, exponent.checked_neg()?)
            }
        };
        let value = float::exact(mantissa, exponent)?;
        Some(Number::Float(match self.is_negative {
            true => -value,
            false => value,
        }))
    }

    fn times(self, factor: u128) -> Option<SignedMagnitude> {
        let magnitude = self.magnitude.checked_mul(factor)?;
        Some(SignedMagnitude { magnitude, ..self })
    }

    fn number(self, signed: bool) -> Option<Number> {
        if self.is_negative {
            return 0i128
                .checked_sub_unsigned(self.magnitude)
                .map(Number::Signed);
        }
        match i128::try_from(self.magnitude) {
            Ok(number) if signed => Some(Number::Signed(number)),
            _ => Some(Number::Unsigned(self.magnitude)),
        }
    }
}

/// Returns the greatest common divisor, or 1 if there is none.
fn common_divisor(mut one: u128, mut other: u128) -> u128 {
    while let Some(rest) = one.checked_rem(other) {
        (one, other) = (other, rest);
    }
    one.max(1)
}
