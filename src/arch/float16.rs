//! The 16-bit floating-point formats: IEEE 754's binary16 (`_Float16`, `half`) and bfloat16 (`__bf16`).
//!
//! A double can represent every number of both formats. Values are therefore doubles, and these formats are only decoded and encoded.

/// A 16-bit format: a sign, an exponent, and the fraction bits of the mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float16 {
    /// IEEE 754 binary16: 5 bits of exponent, 10 of mantissa.
    Half,
    /// The upper half of a binary32: 8 bits of exponent, 7 of mantissa.
    Bfloat,
}

const SIGN: u16 = 1 << 15;
/// The bias of a double's exponent, which is above 52 bits of mantissa.
const DOUBLE_BIAS: i32 = 1023;
const DOUBLE_MANTISSA_BITS: u32 = 52;

impl Float16 {
    /// Returns the number of fraction bits.
    const fn mantissa_bits(self) -> u32 {
        match self {
            Float16::Half => 10,
            Float16::Bfloat => 7,
        }
    }

    /// Returns the bias of the stored exponent.
    const fn bias(self) -> i32 {
        match self {
            Float16::Half => 15,
            Float16::Bfloat => 127,
        }
    }

    /// Returns the exponent of the smallest normal number. Subnormal numbers have the same spacing as numbers with this exponent.
    const fn least_exponent(self) -> i32 {
        1 - self.bias()
    }

    /// Returns the bits of infinity: all ones in the exponent, and no mantissa.
    const fn infinity(self) -> u16 {
        (SIGN - 1) >> self.mantissa_bits() << self.mantissa_bits()
    }

    /// Returns the number that the bits represent.
    pub(crate) fn decode(self, bits: u16) -> f64 {
        let magnitude = bits & !SIGN;
        let mantissa_bits = self.mantissa_bits();
        let exponent = i32::from(magnitude >> mantissa_bits);
        let mantissa = u64::from(magnitude & ((1 << mantissa_bits) - 1));
        let shifted = mantissa << (DOUBLE_MANTISSA_BITS - mantissa_bits);
        let value = if magnitude >= self.infinity() {
            f64::from_bits(f64::INFINITY.to_bits() | shifted)
        } else if exponent == 0 {
            let unit = self.least_exponent() - mantissa_bits.cast_signed();
            f64::from(magnitude) * power_of_two(unit)
        } else {
            f64::from_bits(power_of_two(exponent - self.bias()).to_bits() | shifted)
        };
        if bits & SIGN == 0 { value } else { -value }
    }

    /// Returns the bits of the nearest number; ties go to the even one. A NaN becomes a quiet NaN with the upper bits of its mantissa.
    pub(crate) fn encode(self, value: f64) -> u16 {
        let sign = if value.is_sign_negative() { SIGN } else { 0 };
        let mantissa_bits = self.mantissa_bits();
        let bits = value.abs().to_bits();
        if value.is_nan() {
            let [low, high, ..] = (bits >> (DOUBLE_MANTISSA_BITS - mantissa_bits)).to_le_bytes();
            let payload = u16::from_le_bytes([low, high]) & ((1 << mantissa_bits) - 1);
            return sign | self.infinity() | payload | 1 << (mantissa_bits - 1);
        }
        let [low, high, ..] = (bits >> DOUBLE_MANTISSA_BITS).to_le_bytes();
        let exponent = i32::from(u16::from_le_bytes([low, high])) - DOUBLE_BIAS;
        if exponent > self.bias() {
            return sign | self.infinity();
        }
        let exponent = exponent.max(self.least_exponent());
        // In units of the last digit, the number has at most one digit more than the mantissa. Scaling by a power of two is exact.
        let units = value.abs() * power_of_two(mantissa_bits.cast_signed() - exponent);
        let steps = (exponent - self.least_exponent()) << mantissa_bits;
        // The leading digit is added to the exponent, and so is the carry of rounding, up to infinity.
        let encoded = f64::from(steps) + units.round_ties_even();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole, and at most the bits of infinity"
        )]
        let encoded = encoded as u16;
        sign | encoded
    }
}

/// Returns a power of two as a double. The exponent must belong to a normal number.
fn power_of_two(exponent: i32) -> f64 {
    debug_assert!((1 - DOUBLE_BIAS..=DOUBLE_BIAS).contains(&exponent));
    f64::from_bits(u64::from((exponent + DOUBLE_BIAS).unsigned_abs()) << DOUBLE_MANTISSA_BITS)
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn every_number_is_decoded_and_encoded_as_half_does() {
        // Hardware makes a signaling NaN quiet; software leaves it unchanged.
        const QUIET: u64 = 1 << (DOUBLE_MANTISSA_BITS - 1);
        let same = |value: f64, truth: f64| {
            let quiet = if truth.is_nan() { QUIET } else { 0 };
            value.is_nan() == truth.is_nan() && value.to_bits() | quiet == truth.to_bits() | quiet
        };
        for bits in 0..=u16::MAX {
            let (value, truth) = (Float16::Half.decode(bits), f16::from_bits(bits).to_f64());
            assert!(same(value, truth), "{bits:#x}: {value} {truth}");
            assert_eq!(Float16::Half.encode(value), f16::from_f64(truth).to_bits());
            let (value, truth) = (Float16::Bfloat.decode(bits), bf16::from_bits(bits).to_f64());
            assert!(same(value, truth), "{bits:#x}: {value} {truth}");
            let encoded = Float16::Bfloat.encode(value);
            assert_eq!(encoded, bf16::from_f64(truth).to_bits());
        }
    }

    /// Between two neighbours, the middle is rounded to the even one, and the doubles next to the middle to the nearer one. `half` reads
    /// only the upper 32 bits of a double, so it cannot serve as a reference.
    #[test]
    fn what_is_between_two_numbers_is_rounded_once() {
        for format in [Float16::Half, Float16::Bfloat] {
            for bits in 0..format.infinity() {
                let low = format.decode(bits);
                // The successor of the largest number would be as far away as its predecessor.
                let high = if bits + 1 == format.infinity() {
                    low + (low - format.decode(bits - 1))
                } else {
                    format.decode(bits + 1)
                };
                let middle = f64::midpoint(low, high);
                let even = bits + bits % 2;
                for (value, nearest) in [
                    (middle.next_down(), bits),
                    (middle, even),
                    (middle.next_up(), bits + 1),
                ] {
                    assert_eq!(format.encode(value), nearest, "{value:e}");
                    assert_eq!(format.encode(-value), SIGN | nearest, "-{value:e}");
                }
            }
        }
    }

    #[test]
    fn the_largest_and_smallest_doubles_are_infinity_and_zero() {
        for format in [Float16::Half, Float16::Bfloat] {
            assert_eq!(format.encode(f64::MAX), format.infinity());
            assert_eq!(format.encode(f64::from_bits(1)), 0);
            assert_eq!(format.encode(-f64::MIN_POSITIVE), SIGN);
            assert_eq!(format.encode(f64::NEG_INFINITY), SIGN | format.infinity());
        }
    }
}
