//! Formats floating-point numbers (`DW_ATE_float`), with the fewest digits that read back to the same bits, and computes their values.
//!
//! The position of the point, and the use of an exponent, follow gdb's `%g`.

use core::fmt;

use crate::arch::Float16;

/// An interchange format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    bit_size: u32,
    /// The name of the type, if needed: DWARF has one encoding for both formats of 16 bits.
    name: Option<&'static str>,
    mantissa_bits: u32,
    /// The number of decimal digits that distinguishes all values. From this number on, an exponent is written.
    digits: i32,
    /// The value of some bits.
    decode: fn(u64) -> f64,
    /// A number in scientific notation, with the fewest digits that read back to it.
    shortest: fn(f64) -> String,
}

#[rustfmt::skip]
const FORMATS: &[Format] = &[
    Format { bit_size: 16, name: Some("__bf16"), mantissa_bits: 7,  digits: 4,  decode: |b| Float16::Bfloat.decode(low16(b)), shortest: |v| search(4, v, Float16::Bfloat) },
    Format { bit_size: 16, name: None,           mantissa_bits: 10, digits: 5,  decode: |b| Float16::Half.decode(low16(b)),   shortest: |v| search(5, v, Float16::Half) },
    Format { bit_size: 32, name: None,           mantissa_bits: 23, digits: 9,  decode: |b| f32::from_bits(low32(b)).into(),    shortest: |v| format!("{:e}", narrow(v)) },
    Format { bit_size: 64, name: None,           mantissa_bits: 52, digits: 17, decode: f64::from_bits,                         shortest: |v| format!("{v:e}") },
];

/// Returns the low 16 bits.
fn low16(bits: u64) -> u16 {
    let [a, b, ..] = bits.to_le_bytes();
    u16::from_le_bytes([a, b])
}

/// Returns the low 32 bits.
fn low32(bits: u64) -> u32 {
    let [a, b, c, d, ..] = bits.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Returns the nearest `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// Returns the format of a floating-point type of `bit_size` bits and this name, or `None` if there is none.
pub(super) fn format(bit_size: u64, name: Option<&str>) -> Option<Format> {
    let fits = |format: &&Format| {
        u64::from(format.bit_size) == bit_size && (format.name.is_none() || format.name == name)
    };
    FORMATS.iter().find(fits).copied()
}

/// Returns true if values of a type of `bit_size` bits and this name are the upper halves of 32-bit numbers.
pub(super) fn is_bfloat16(bit_size: u64, name: Option<&str>) -> bool {
    bit_size == 16 && format(bit_size, name).is_some_and(|format| format.mantissa_bits == 7)
}

/// Prints the value of `bits`.
pub(super) fn print(out: &mut dyn fmt::Write, format: Format, bits: u64) -> fmt::Result {
    let value = (format.decode)(bits);
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        let mantissa = bits & !(u64::MAX.checked_shl(format.mantissa_bits).unwrap_or(0));
        write!(out, "{sign}nan({mantissa:#x})")
    } else if value.is_infinite() {
        write!(out, "{sign}inf")
    } else {
        write!(out, "{sign}")?;
        finite(out, format, value.abs())
    }
}

/// Prints a number that is neither infinite nor negative.
fn finite(out: &mut dyn fmt::Write, format: Format, value: f64) -> fmt::Result {
    let text = (format.shortest)(value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..format.digits).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    if value.fract() == 0.0 {
        // A whole number with this few digits is exact, even if fewer digits would identify it.
        return write!(out, "{value:.0}");
    }
    let digits = mantissa.replace('.', "");
    match usize::try_from(exponent) {
        Ok(above) => {
            let (whole, fraction) = digits.split_at_checked(above + 1).unwrap_or((&digits, ""));
            write!(out, "{whole}.{fraction}")
        }
        Err(_) => {
            let zeros = "000".get(..(exponent.unsigned_abs() - 1) as usize);
            write!(out, "0.{}{digits}", zeros.unwrap_or(""))
        }
    }
}

/// Returns the shortest representation with at most `digits` digits that reads back to the same number of the format.
fn search(digits: usize, value: f64, format: Float16) -> String {
    let bits = format.encode(value);
    (0..digits)
        .map(|decimals| format!("{value:.decimals$e}"))
        .find(|text| text.parse().is_ok_and(|read| format.encode(read) == bits))
        .unwrap_or_else(|| format!("{value:e}"))
}

/// The formats with more digits than a double. Their numbers are rounded and have no text here.
///
/// `long double` of 128 bits is left out: it is binary128 on one machine, x87's on another, and two doubles on a third.
#[derive(Clone, Copy, Debug)]
struct WideFormat {
    bit_size: u64,
    /// The names of the type, if needed.
    names: &'static [&'static str],
    /// The number of stored bits of the mantissa, and true if the bit before the point is among them.
    mantissa_bits: u32,
    has_leading_bit: bool,
}

#[rustfmt::skip]
const WIDE_FORMATS: &[WideFormat] = &[
    WideFormat { bit_size: 80,  names: &[],                           mantissa_bits: 64,  has_leading_bit: true },
    WideFormat { bit_size: 128, names: &["__float128", "_Float128"], mantissa_bits: 112, has_leading_bit: false },
];

/// The bits of the exponent of both wide formats: all set for infinity and NaN.
const WIDE_EXPONENT: u128 = 0x7fff;

/// The exponent bias in both wide formats.
const WIDE_BIAS: i32 = 16383;

/// Returns the value of the bits of a type of `bit_size` bits and this name, if the format is known.
pub(super) fn value(bit_size: u64, name: Option<&str>, bits: u128) -> Option<f64> {
    if let Some(format) = format(bit_size, name) {
        return Some((format.decode)(u64::try_from(bits).ok()?));
    }
    let fits = |format: &&WideFormat| {
        let is_named = name.is_some_and(|name| format.names.contains(&name));
        format.bit_size == bit_size && (format.names.is_empty() || is_named)
    };
    let format = WIDE_FORMATS.iter().find(fits)?;
    let stored = bits & !u128::MAX.checked_shl(format.mantissa_bits)?;
    let after = bits.checked_shr(format.mantissa_bits)?;
    let exponent = i32::try_from(after & WIDE_EXPONENT).ok()?;
    let is_negative = after > WIDE_EXPONENT;
    let (point, leading) = match format.has_leading_bit {
        true => (format.mantissa_bits.checked_sub(1)?, 0),
        false => (
            format.mantissa_bits,
            1u128.checked_shl(format.mantissa_bits)?,
        ),
    };
    let magnitude = match u128::try_from(exponent) {
        Ok(WIDE_EXPONENT) => {
            let fraction = stored & !u128::MAX.checked_shl(point)?;
            if fraction == 0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        Ok(0) => nearest(stored, scale(1, point)?),
        _ => nearest(stored | leading, scale(exponent, point)?),
    };
    Some(if is_negative { -magnitude } else { magnitude })
}

/// Returns the exponent of two of the last bit of a wide mantissa.
fn scale(exponent: i32, point: u32) -> Option<i32> {
    let above = i32::try_from(point).ok()?;
    exponent.checked_sub(WIDE_BIAS)?.checked_sub(above)
}

/// The bits of a double's mantissa, including the one before the point.
const DOUBLE_BITS: u32 = f64::MANTISSA_DIGITS;

/// The power of two of the smallest double.
const LEAST_EXPONENT: i32 = -1074;

/// Returns `mantissa * 2^exponent`, rounded to the nearest double, ties to even.
pub(super) fn nearest(mantissa: u128, exponent: i32) -> f64 {
    let bits = u128::BITS - mantissa.leading_zeros();
    // The exponent of two of the last bit kept.
    let last = exponent
        .saturating_add_unsigned(bits)
        .saturating_sub_unsigned(DOUBLE_BITS)
        .max(LEAST_EXPONENT);
    if mantissa == 0 {
        return 0.0;
    }
    let lost = last.saturating_sub(exponent);
    let Ok(lost) = u32::try_from(lost) else {
        let room = mantissa.checked_shl(lost.unsigned_abs()).unwrap_or(0);
        return power(room, last);
    };
    let kept = mantissa.checked_shr(lost).unwrap_or(0);
    let rest = mantissa ^ kept.checked_shl(lost).unwrap_or(0);
    // If all bits are dropped, half of the last bit kept is above all of them.
    let half = match lost.checked_sub(1) {
        Some(below) => 1u128.checked_shl(below).unwrap_or(u128::MAX),
        None => u128::MAX,
    };
    let is_up = rest > half || (rest == half && kept & 1 == 1 && lost <= u128::BITS);
    power(kept + u128::from(is_up), last)
}

/// Returns `mantissa * 2^exponent` if it is exactly a double.
pub(super) fn exact(mantissa: u128, exponent: i32) -> Option<f64> {
    let zeros = mantissa.trailing_zeros();
    let odd = mantissa.checked_shr(zeros).unwrap_or(0);
    let exponent = exponent.saturating_add_unsigned(zeros);
    let fits = odd >> DOUBLE_BITS == 0 && (odd == 0 || exponent >= LEAST_EXPONENT);
    let value = nearest(mantissa, exponent.saturating_sub_unsigned(zeros));
    (fits && value.is_finite()).then_some(value)
}

/// Returns `mantissa * 2^exponent` for at most 53 bits and an exponent within the range of a double's last bit.
#[expect(clippy::cast_precision_loss, reason = "it has at most 53 bits")]
fn power(mantissa: u128, exponent: i32) -> f64 {
    if exponent > 971 {
        return f64::INFINITY;
    }
    let biased = exponent + 1023;
    let bits = match u64::try_from(biased) {
        Ok(biased @ 1..) => biased << 52,
        // A power of two below the normal numbers is one bit of the mantissa.
        _ => 1u64
            .checked_shl((exponent - LEAST_EXPONENT).unsigned_abs())
            .unwrap_or(0),
    };
    mantissa as f64 * f64::from_bits(bits)
}
