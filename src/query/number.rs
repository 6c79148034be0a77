//! Implements numbers and their arithmetic. The results are defined by C or, where C leaves them undefined, by the machine.
//!
//! An integer is stored in 128 bits with the value that it has in its type. An unsigned integer of 128 bits is stored as the signed number with the
//! same bits. A floating-point number is stored as a double, which can represent the values of all formats here. Each result is rounded to its own
//! format. For `+ - * /`, this equals a computation in that format.

use super::class::{Arithmetic, FloatType, IntegerType, Rank};
use super::syntax::Binary;
use crate::arch::Float16;
use crate::tree::NoValue;

/// A number or an address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    /// Returns the truth value.
    pub(super) fn is_true(self) -> bool {
        match self {
            Number::Integer(value) => value != 0,
            Number::Float(value) => value != 0.0,
        }
    }

    /// Decodes a number from the low bits of `bits`.
    pub(super) fn decode(bits: u128, ty: Arithmetic) -> Number {
        let [a, b, c, d, e, f, g, h, ..] = bits.to_le_bytes();
        match ty {
            Arithmetic::Integer(integer) => {
                // A truth value other than 0 and 1 is preserved, because `display` also shows it as a number.
                let plain = if integer.rank == Rank::Bool {
                    Rank::Char
                } else {
                    integer.rank
                };
                let integer = IntegerType {
                    rank: plain,
                    ..integer
                };
                Number::Integer(integer.wrap(bits.cast_signed()))
            }
            Arithmetic::Float(FloatType::BFloat16) => {
                Number::Float(Float16::Bfloat.decode(u16::from_le_bytes([a, b])))
            }
            Arithmetic::Float(FloatType::Half) => {
                Number::Float(Float16::Half.decode(u16::from_le_bytes([a, b])))
            }
            Arithmetic::Float(FloatType::Single) => {
                Number::Float(f32::from_le_bytes([a, b, c, d]).into())
            }
            Arithmetic::Float(FloatType::Double) => {
                Number::Float(f64::from_le_bytes([a, b, c, d, e, f, g, h]))
            }
        }
    }

    /// Encodes the number in the type to which it was converted. Bits above the type's width may be nonzero.
    pub(super) fn encode(self, ty: Arithmetic) -> u128 {
        match (self, ty) {
            (Number::Integer(value), _) => value.cast_unsigned(),
            (Number::Float(value), Arithmetic::Float(FloatType::BFloat16)) => {
                Float16::Bfloat.encode(value).into()
            }
            (Number::Float(value), Arithmetic::Float(FloatType::Half)) => {
                Float16::Half.encode(value).into()
            }
            (Number::Float(value), Arithmetic::Float(FloatType::Single)) => {
                narrow(value).to_bits().into()
            }
            (
                Number::Float(value),
                Arithmetic::Float(FloatType::Double) | Arithmetic::Integer(_),
            ) => value.to_bits().into(),
        }
    }

    /// Converts to a type. A floating-point number outside an integer type becomes the nearest value of the type, and NaN becomes 0, as in AMDGPU's
    /// instructions. C leaves both undefined.
    pub(super) fn convert(self, to: Arithmetic, is_unsigned_128: bool) -> Number {
        match (self, to) {
            (
                Number::Float(value),
                Arithmetic::Integer(IntegerType {
                    rank: Rank::Bool, ..
                }),
            ) => Number::Integer(i128::from(value != 0.0)),
            (Number::Integer(value), Arithmetic::Integer(to)) => Number::Integer(to.wrap(value)),
            (Number::Float(value), Arithmetic::Integer(to)) => Number::Integer(truncate(value, to)),
            (Number::Integer(value), Arithmetic::Float(to)) => {
                Number::Float(round_integer(value, is_unsigned_128, to))
            }
            (Number::Float(value), Arithmetic::Float(to)) => Number::Float(round(value, to)),
        }
    }
}

/// Returns the nearest `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// Returns the nearest number of a format.
fn round(value: f64, to: FloatType) -> f64 {
    match to {
        FloatType::BFloat16 => Float16::Bfloat.decode(Float16::Bfloat.encode(value)),
        FloatType::Half => Float16::Half.decode(Float16::Half.encode(value)),
        FloatType::Single => narrow(value).into(),
        FloatType::Double => value,
    }
}

/// Returns the nearest number of a format to an integer, rounded only once.
#[expect(clippy::cast_precision_loss, reason = "rounding is meant")]
fn round_integer(value: i128, is_unsigned_128: bool, to: FloatType) -> f64 {
    let bits = value.cast_unsigned();
    match (to, is_unsigned_128) {
        (FloatType::Double, false) => value as f64,
        (FloatType::Double, true) => bits as f64,
        (FloatType::Single, false) => (value as f32).into(),
        (FloatType::Single, true) => (bits as f32).into(),
        // The digits that a double cannot hold either are far beyond the largest number of 16 bits, or only affect rounding. At most 11 of its 53
        // digits are kept.
        (FloatType::Half | FloatType::BFloat16, _) => {
            let magnitude = if is_unsigned_128 {
                bits
            } else {
                value.unsigned_abs()
            };
            let sign = if value < 0 && !is_unsigned_128 {
                -1.0
            } else {
                1.0
            };
            round(sticky(magnitude) * sign, to)
        }
    }
}

/// Returns a double that rounds to fewer digits like the integer itself. A sticky bit replaces the bits that do not fit.
#[expect(
    clippy::cast_precision_loss,
    reason = "the number has at most 53 bits by then"
)]
fn sticky(value: u128) -> f64 {
    let excess = (u128::BITS - value.leading_zeros()).saturating_sub(52);
    let kept = value.checked_shr(excess).unwrap_or(0);
    let lost = value != kept.checked_shl(excess).unwrap_or(0);
    let scale = f64::from(excess).exp2();
    (kept << 1 | u128::from(lost)) as f64 * 0.5 * scale
}

/// Returns the nearest integer of a type towards zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "such casts go to the nearest number of their type"
)]
fn truncate(value: f64, to: IntegerType) -> i128 {
    if to.bits == 128 && !to.signed {
        return (value as u128).cast_signed();
    }
    let most = i128::MAX.wrapping_shr(128 - to.bits - u32::from(!to.signed));
    let least = if to.signed { !most } else { 0 };
    (value as i128).clamp(least, most)
}

/// Computes `a operator b`. Both operands and the result have the type `ty`.
pub(super) fn arithmetic(
    operator: Binary,
    a: Number,
    b: Number,
    ty: Arithmetic,
) -> Result<Number, NoValue> {
    match (a, b, ty) {
        (Number::Integer(a), Number::Integer(b), Arithmetic::Integer(ty)) => {
            integer_arithmetic(operator, a, b, ty).map(Number::Integer)
        }
        (Number::Float(a), Number::Float(b), Arithmetic::Float(ty)) => {
            Ok(Number::Float(round(float_arithmetic(operator, a, b), ty)))
        }
        // Both operands were converted to the type, so this cannot happen.
        (_, _, _) => Err(NoValue::UnknownLayout),
    }
}

fn integer_arithmetic(
    operator: Binary,
    a: i128,
    b: i128,
    ty: IntegerType,
) -> Result<i128, NoValue> {
    let is_wide = ty.bits == 128 && !ty.signed;
    if matches!(operator, Binary::Divide | Binary::Remainder) && b == 0 {
        return Err(NoValue::DivisionByZero);
    }
    let (ua, ub) = (a.cast_unsigned(), b.cast_unsigned());
    let unsigned = |value: Option<u128>| value.unwrap_or(0).cast_signed();
    let value = match operator {
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide if is_wide => unsigned(ua.checked_div(ub)),
        // The smallest number divided by -1 wraps to itself.
        Binary::Divide => a.checked_div(b).unwrap_or(a),
        Binary::Remainder if is_wide => unsigned(ua.checked_rem(ub)),
        Binary::Remainder => a.checked_rem(b).unwrap_or(0),
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::And => a & b,
        Binary::Xor => a ^ b,
        Binary::Or => a | b,
        Binary::ShiftLeft | Binary::ShiftRight => return shift(operator, a, b, ty),
        Binary::Repeat
        | Binary::Less
        | Binary::Greater
        | Binary::LessOrEqual
        | Binary::GreaterOrEqual
        | Binary::Equal
        | Binary::NotEqual => 0,
    };
    Ok(ty.wrap(value))
}

/// Shifts `a` of type `ty` by `b` bits. A right shift preserves the sign.
fn shift(operator: Binary, a: i128, b: i128, ty: IntegerType) -> Result<i128, NoValue> {
    let bits = ty.bits;
    let Some(count) = u32::try_from(b).ok().filter(|count| *count < bits) else {
        return Err(NoValue::ShiftCount { count: b, bits });
    };
    let value = if operator == Binary::ShiftLeft {
        a.wrapping_shl(count)
    } else if ty.signed {
        a.wrapping_shr(count)
    } else {
        a.cast_unsigned().wrapping_shr(count).cast_signed()
    };
    Ok(ty.wrap(value))
}

fn float_arithmetic(operator: Binary, a: f64, b: f64) -> f64 {
    match operator {
        Binary::Multiply => a * b,
        // A division by zero gives an infinity or NaN according to IEC 60559, as on every GPU.
        Binary::Divide => a / b,
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Remainder
        | Binary::Repeat
        | Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::Less
        | Binary::Greater
        | Binary::LessOrEqual
        | Binary::GreaterOrEqual
        | Binary::Equal
        | Binary::NotEqual
        | Binary::And
        | Binary::Xor
        | Binary::Or => f64::NAN,
    }
}

/// Returns true if a comparison of two numbers of one type holds.
pub(super) fn compare(operator: Binary, a: Number, b: Number, is_unsigned_128: bool) -> bool {
    let ordering = match (a, b) {
        (Number::Integer(a), Number::Integer(b)) if is_unsigned_128 => {
            Some(a.cast_unsigned().cmp(&b.cast_unsigned()))
        }
        (Number::Integer(a), Number::Integer(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Integer(_), Number::Float(_)) | (Number::Float(_), Number::Integer(_)) => None,
    };
    match operator {
        Binary::NotEqual => ordering.is_none_or(core::cmp::Ordering::is_ne),
        Binary::Equal => ordering.is_some_and(core::cmp::Ordering::is_eq),
        Binary::Less => ordering.is_some_and(core::cmp::Ordering::is_lt),
        Binary::Greater => ordering.is_some_and(core::cmp::Ordering::is_gt),
        Binary::LessOrEqual => ordering.is_some_and(core::cmp::Ordering::is_le),
        Binary::GreaterOrEqual => ordering.is_some_and(core::cmp::Ordering::is_ge),
        Binary::Multiply
        | Binary::Divide
        | Binary::Remainder
        | Binary::Add
        | Binary::Subtract
        | Binary::Repeat
        | Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::And
        | Binary::Xor
        | Binary::Or => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::class::INT;

    #[test]
    fn floats_go_to_the_nearest_integer_of_the_type() {
        let unsigned = IntegerType {
            signed: false,
            ..INT
        };
        for (value, signed, without) in [
            (2.9, 2, 2),
            (-2.9, -2, 0),
            (3e9, i128::from(i32::MAX), 3_000_000_000),
            (-1e30, i128::from(i32::MIN), 0),
            (f64::NAN, 0, 0),
            (f64::INFINITY, i128::from(i32::MAX), i128::from(u32::MAX)),
        ] {
            assert_eq!(truncate(value, INT), signed, "{value}");
            assert_eq!(truncate(value, unsigned), without, "{value}");
        }
    }

    #[test]
    fn integers_are_rounded_once() {
        // 2^24 + 1 is between two floats, and 2^53 + 1 is between two doubles. Ties round to even.
        assert_eq!(
            round_integer((1 << 24) + 1, false, FloatType::Single),
            16_777_216.0
        );
        assert_eq!(
            round_integer((1 << 24) + 3, false, FloatType::Single),
            16_777_220.0
        );
        assert_eq!(
            round_integer((1 << 53) + 3, false, FloatType::Double),
            9_007_199_254_740_996.0
        );
        assert_eq!(round_integer(-1, true, FloatType::Double), 2f64.powi(128));
        // 2^60 + 2^52 is half way between two numbers of bf16. One more is above it, which a double cannot represent.
        let half_way = (1i128 << 60) + (1 << 52);
        assert_eq!(
            round_integer(half_way, false, FloatType::BFloat16),
            2f64.powi(60)
        );
        assert_eq!(
            round_integer(half_way + 1, false, FloatType::BFloat16),
            2f64.powi(60) + 2f64.powi(53)
        );
        // 1 + 2^-11 is half way between two numbers of binary16. 2^-40 more is above it.
        let above = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(round(above, FloatType::Half), 1.0 + 2f64.powi(-10));
        assert_eq!(round(1.0 + 2f64.powi(-11), FloatType::Half), 1.0);
        assert_eq!(
            round_integer(-65520, false, FloatType::Half),
            f64::NEG_INFINITY
        );
    }

    #[test]
    fn the_smallest_number_by_minus_one_wraps() {
        let least = i128::from(i32::MIN);
        let divide = |operator| integer_arithmetic(operator, least, -1, INT).unwrap();
        assert_eq!(divide(Binary::Divide), least);
        assert_eq!(divide(Binary::Remainder), 0);
    }
}
