//! Formats base types with a special representation: other byte orders, values in a part of their storage, biased and fixed-point numbers. Source:
//! DWARF 5 §5.1.

use core::fmt;

use super::bits::{Bits, State};
use super::scalar::{COMPLEX_FLOAT, is_signed};
use super::{Part, Printer, shape};
use crate::debug_info::types::{Representation, Scale, TypeId, TypeKind};
use crate::eval::{BaseType, BaseTypeEncoding};

/// The largest number in a special bit order, in bits.
const LARGEST: u64 = 128;

/// The maximum number of digits after the point of a fraction, which may not terminate. For powers of two and ten, the exponents determine the
/// number.
const DIGITS_OF_FRACTION: usize = 20;

impl Printer<'_> {
    /// Prints a base type called `name` with a special representation.
    pub(super) fn represented(
        &mut self,
        base: &BaseType,
        by: &Representation,
        name: Option<&str>,
        part: Part,
    ) -> fmt::Result {
        let is_complex = base.encoding == BaseTypeEncoding::Other(COMPLEX_FLOAT);
        // The real and the imaginary part each have their own byte order.
        let count = if is_complex { 2 } else { base.elements };
        let bits = base.bit_size.checked_div(count).unwrap_or(0);
        if count > 1 && part.bit_field.is_none() {
            return self.several(base, count, bits, by, name, part);
        }
        let size = part.bit_field.unwrap_or(base.bit_size.into());
        if size == 0 && part.bit_field.is_none() {
            return self.without_bits(name);
        }
        if size > LARGEST {
            return self.out.put(if by.big_endian {
                "<unsupported: DW_AT_endianity>"
            } else {
                "<unsupported: a number of more than 128 bits>"
            });
        }
        let number = match ordered(&self.bits, by, part, size) {
            Ok(number) => number,
            Err(lost) => return self.out.put(lost.text().unwrap_or_default()),
        };
        if by.bias == 0 && by.scale == Scale::One {
            let usual = BaseType {
                bit_size: u32::try_from(size).unwrap_or(0),
                ..*base
            };
            return self.with_bits(Bits::of_number(number), |printer| {
                let at = Part {
                    bit_offset: 0,
                    // It is a number even if it has as many bits as a character.
                    bit_field: part.bit_field,
                    ..part
                };
                printer.base(&usual, name, at)
            });
        }
        let number = SignedMagnitude::new(number, size, is_signed(base.encoding)).plus(by.bias);
        number.print(&mut self.out, by.scale)
    }

    /// Prints elements of a vector, or parts of a complex number.
    fn several(
        &mut self,
        base: &BaseType,
        count: u32,
        bits: u32,
        by: &Representation,
        name: Option<&str>,
        part: Part,
    ) -> fmt::Result {
        let is_complex = base.elements == 1;
        let element = BaseType {
            bit_size: bits,
            elements: 1,
            encoding: if is_complex {
                BaseTypeEncoding::Float
            } else {
                base.encoding
            },
            ..*base
        };
        if !is_complex {
            let size = bits.into();
            return self.elements(count.into(), size, size, part, &|printer, at| {
                let at = Part {
                    in_vector: true,
                    ..at
                };
                printer.represented(&element, by, name, at)
            });
        }
        self.represented(&element, by, name, part)?;
        self.out.put(" + ")?;
        let imaginary = Part {
            bit_offset: part.bit_offset.saturating_add(bits.into()),
            ..part
        };
        self.represented(&element, by, name, imaginary)?;
        self.out.put("i")
    }

    /// Prints a value with reordered bits.
    fn with_bits(
        &mut self,
        bits: Bits<'_>,
        print: impl FnOnce(&mut Printer<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let mut text = String::new();
        let mut printer = Printer {
            table: self.table,
            bits,
            pointees: &[],
            options: self.options,
            meter: self.meter,
            out: super::Output::new(&mut text, self.options.max_chars, None),
        };
        let printed = print(&mut printer);
        printer.out.finish(printed)?;
        self.out.put(&text)
    }

    /// Returns the integer at a part of type `id`, or `None` if the type is no integer.
    pub(super) fn integer_at(&self, id: TypeId, part: Part) -> Option<Result<i128, State>> {
        const UNSIGNED: &BaseType = &BaseType::scalar(BaseTypeEncoding::Unsigned, 0);
        let mut ty = shape::resolve(self.table, id).ty;
        let mut full = ty.byte_size;
        if let TypeKind::Enumeration { underlying, .. } = ty.kind {
            ty = shape::resolve(self.table, underlying).ty;
            full = full.or(ty.byte_size);
        }
        let (base, by) = if let TypeKind::Base(base) = &ty.kind {
            (base, &Representation::PLAIN)
        } else if let TypeKind::Represented { base, by } = &ty.kind {
            (base, by)
        } else if ty.kind == TypeKind::Void {
            // An enumeration may lack its integer type.
            (UNSIGNED, &Representation::PLAIN)
        } else {
            return None;
        };
        let own = match base.bit_size {
            0 => full?.checked_mul(8)?,
            bits => bits.into(),
        };
        let size = part.bit_field.unwrap_or(own);
        if !base.is_integral() || size > LARGEST {
            return None;
        }
        Some(ordered(&self.bits, by, part, size).map(|number| {
            let number = SignedMagnitude::new(number, size, is_signed(base.encoding)).plus(by.bias);
            number.wrapped()
        }))
    }
}

/// Returns the bits of a number in their usual order, or the reason why they are unknown.
pub(super) fn ordered(
    bits: &Bits<'_>,
    by: &Representation,
    part: Part,
    size: u64,
) -> Result<u128, State> {
    let start = match part.bit_field {
        Some(_) => 0,
        None => by.bit_offset.into(),
    };
    let offset = part.bit_offset.saturating_add(start);
    if by.big_endian {
        return bits.big_endian(offset, size);
    }
    match bits.state(offset, size) {
        State::Known => Ok(bits.unsigned(offset, size)),
        lost @ (State::OptimizedOut | State::Unavailable) => Err(lost),
    }
}

/// An integer of up to 129 bits and a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignedMagnitude {
    pub(super) is_negative: bool,
    pub(super) magnitude: u128,
}

impl SignedMagnitude {
    pub(super) fn new(bits: u128, size: u64, signed: bool) -> SignedMagnitude {
        let above = u32::try_from(LARGEST.saturating_sub(size)).unwrap_or(0);
        let extended = bits.checked_shl(above).unwrap_or(0).cast_signed();
        let extended = extended.checked_shr(above).unwrap_or(0);
        if signed && extended < 0 {
            SignedMagnitude {
                is_negative: true,
                magnitude: extended.unsigned_abs(),
            }
        } else {
            SignedMagnitude {
                is_negative: false,
                magnitude: bits,
            }
        }
    }

    /// Adds a bias, which has at most 64 bits in DWARF. An overflow is clamped to the largest number.
    pub(super) fn plus(self, bias: i128) -> SignedMagnitude {
        if self.is_negative == (bias < 0) {
            let magnitude = self.magnitude.saturating_add(bias.unsigned_abs());
            return SignedMagnitude { magnitude, ..self };
        }
        match self.magnitude.checked_sub(bias.unsigned_abs()) {
            Some(magnitude) => SignedMagnitude {
                is_negative: self.is_negative && magnitude != 0,
                magnitude,
            },
            None => SignedMagnitude {
                is_negative: !self.is_negative,
                magnitude: bias.unsigned_abs() - self.magnitude,
            },
        }
    }

    /// Returns the number in two's complement.
    fn wrapped(self) -> i128 {
        let magnitude = self.magnitude.cast_signed();
        if self.is_negative {
            magnitude.wrapping_neg()
        } else {
            magnitude
        }
    }

    /// Prints the number in units of `scale`, with all its digits.
    fn print(self, out: &mut dyn fmt::Write, scale: Scale) -> fmt::Result {
        if self.is_negative {
            out.write_str("-")?;
        }
        let (factor, divisor) = scale.ratio();
        let product = factor.and_then(|factor| self.magnitude.checked_mul(factor));
        let (Some(product), Some(divisor @ 1..)) = (product, divisor) else {
            return match scale {
                Scale::Binary(exponent) => write!(out, "{} * 2^{exponent}", self.magnitude),
                Scale::Decimal(exponent) => write!(out, "{} * 10^{exponent}", self.magnitude),
                Scale::Fraction(numerator, denominator) => {
                    write!(out, "{} * {numerator}/{denominator}", self.magnitude)
                }
                Scale::One => write!(out, "{}", self.magnitude),
            };
        };
        let whole = product.checked_div(divisor).unwrap_or(0);
        let mut rest = product.checked_rem(divisor).unwrap_or(0);
        write!(out, "{whole}")?;
        if rest != 0 {
            out.write_str(".")?;
        }
        let most = match scale {
            Scale::Fraction(..) => DIGITS_OF_FRACTION,
            Scale::One | Scale::Binary(_) | Scale::Decimal(_) => usize::MAX,
        };
        for _ in 0..most {
            if rest == 0 {
                return Ok(());
            }
            // Below ten times the divisor, which has 100 bits at most.
            let tenfold = rest.saturating_mul(10);
            let digit = tenfold.checked_div(divisor).unwrap_or(0);
            write!(out, "{digit}")?;
            rest = tenfold.checked_rem(divisor).unwrap_or(0);
        }
        out.write_str(if rest == 0 { "" } else { "..." })
    }
}

impl Scale {
    /// Returns the numerator and the denominator of the unit, if each has at most 128 bits.
    pub(super) fn ratio(self) -> (Option<u128>, Option<u128>) {
        let power = |base: u128, exponent: i32| base.checked_pow(exponent.unsigned_abs());
        match self {
            Scale::One => (Some(1), Some(1)),
            Scale::Binary(exponent @ 0..) => (power(2, exponent), Some(1)),
            Scale::Binary(exponent) => (Some(1), power(2, exponent)),
            Scale::Decimal(exponent @ 0..) => (power(10, exponent), Some(1)),
            Scale::Decimal(exponent) => (Some(1), power(10, exponent)),
            Scale::Fraction(numerator, denominator) => {
                (Some(numerator.into()), Some(denominator.into()))
            }
        }
    }
}
