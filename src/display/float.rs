//! Floating-point numbers (`DW_ATE_float`), with as few digits as read back to the same bits.
//!
//! Where the point stands, and when an exponent is written, is as gdb's `%g` has it.

use core::fmt;

use crate::arch::Float16;

/// An interchange format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    bit_size: u32,
    /// The name of the type, where it decides: DWARF has one encoding for both formats of 16 bits.
    name: Option<&'static str>,
    mantissa_bits: u32,
    /// Decimal digits that tell all values apart; an exponent is written from this one on.
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

/// The low 16 bits.
fn low16(bits: u64) -> u16 {
    let [a, b, ..] = bits.to_le_bytes();
    u16::from_le_bytes([a, b])
}

/// The low 32 bits.
fn low32(bits: u64) -> u32 {
    let [a, b, c, d, ..] = bits.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// The nearest `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// The format of a floating-point type of `bit_size` bits and this name; nothing if there is none.
pub(super) fn format(bit_size: u64, name: Option<&str>) -> Option<Format> {
    let fits = |format: &&Format| {
        u64::from(format.bit_size) == bit_size && (format.name.is_none() || format.name == name)
    };
    FORMATS.iter().find(fits).copied()
}

/// Prints the value that `bits` stand for.
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
        // A whole number of so few digits is exact, also where fewer of them would tell it apart.
        return write!(out, "{value:.0}");
    }
    let digits = mantissa.replace('.', "");
    match usize::try_from(exponent) {
        Ok(above) => {
            let (whole, fraction) = digits
                .split_at_checked(above.saturating_add(1))
                .unwrap_or((&digits, ""));
            write!(out, "{whole}.{fraction}")
        }
        Err(_) => {
            let zeros = "000".get(..exponent.unsigned_abs().saturating_sub(1) as usize);
            write!(out, "0.{}{digits}", zeros.unwrap_or(""))
        }
    }
}

/// The shortest of at most `digits` digits that reads back to the same number of the format.
fn search(digits: usize, value: f64, format: Float16) -> String {
    let bits = format.encode(value);
    (0..digits)
        .map(|decimals| format!("{value:.decimals$e}"))
        .find(|text| text.parse().is_ok_and(|read| format.encode(read) == bits))
        .unwrap_or_else(|| format!("{value:e}"))
}
