//! Holds bits that were read, and copies bits.

use smallvec::SmallVec;

use super::Mask;
use crate::error::{Limit, Result};
use crate::limits::reached;

/// Bits that were read. Unreadable bits are zero, and in one of the masks.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    /// The bits, with the first in the lowest bit of the first byte. Unused bits of the last byte are zero.
    pub bytes: Vec<u8>,
    /// The size in bits.
    pub bit_size: u64,
    /// The bits without a value (optimized away).
    pub undefined: Mask,
    /// The bits whose value is unknown to the debugger.
    pub unavailable: Mask,
}

impl Bits {
    /// Returns true if every bit has a known value.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.undefined.is_empty() && self.unavailable.is_empty()
    }

    /// Returns a part of the bits and masks. Bits beyond the end are unavailable.
    ///
    /// # Errors
    /// [`Limit::Bits`] if there is not enough memory.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "what is missing is cut to the part"
    )]
    pub(crate) fn part(&self, start: u64, bit_size: u64) -> Result<Bits> {
        let mut part = Bits::zero(bit_size)?;
        copy_bits(&self.bytes, start, &mut part.bytes, 0, bit_size);
        // A part may begin after the end, or its end may overflow. It is empty there.
        let range = start..start.saturating_add(bit_size);
        let moved = |mask: &Mask| -> Mask {
            let ranges = mask.within(range.clone());
            ranges
                .map(|range| range.start - start..range.end - start)
                .collect()
        };
        part.undefined = moved(&self.undefined);
        part.unavailable = moved(&self.unavailable);
        let known = self.bit_size.saturating_sub(start);
        part.unavailable.insert(known..bit_size);
        Ok(part)
    }

    /// Extends them to `bit_size` bits. The added bits are unavailable.
    pub(crate) fn extend_unavailable(&mut self, bit_size: u64) {
        self.unavailable
            .insert(self.bit_size..bit_size.max(self.bit_size));
    }

    pub(super) fn zero(bit_size: u64) -> Result<Bits> {
        Ok(Bits {
            bytes: zeros(bit_size.div_ceil(8))?,
            bit_size,
            undefined: Mask::new(),
            unavailable: Mask::new(),
        })
    }
}

/// Allocates this many zero bytes.
///
/// # Errors
/// [`Limit::Bits`] if there is not enough memory, since the limits may exceed it.
pub(super) fn zeros(count: u64) -> Result<Vec<u8>> {
    // The number is only for the message.
    let full = || reached(Limit::Bits, count.saturating_mul(8));
    let length = usize::try_from(count).map_err(|_| full())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| full())?;
    bytes.resize(length, 0);
    Ok(bytes)
}

/// Allocates zero bytes for this many bits, in place if they are few.
///
/// # Errors
/// Fails like [`zeros`].
pub(super) fn buffer(bit_size: u64) -> Result<SmallVec<[u8; 64]>> {
    let full = || reached(Limit::Bits, bit_size);
    let length = usize::try_from(bit_size.div_ceil(8)).map_err(|_| full())?;
    let mut buffer = SmallVec::new();
    buffer.try_reserve_exact(length).map_err(|_| full())?;
    buffer.resize(length, 0);
    Ok(buffer)
}

/// Copies `count` bits from bit `from_bit` of `from` to bit `to_bit` of `to`. Bits outside of either are left out.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the ends of both are numbers, which is asserted, and bits of a byte are few"
)]
pub(super) fn copy_bits(from: &[u8], from_bit: u64, to: &mut [u8], to_bit: u64, count: u64) {
    debug_assert!(
        to_bit.checked_add(count).is_some(),
        "{count} bits to bit {to_bit}"
    );
    // The range begins outside.
    if from_bit.checked_add(count).is_none() {
        return;
    }
    // No slice has so many bytes.
    let byte = |bit: u64| usize::try_from(bit / 8).unwrap_or(usize::MAX);
    if from_bit.is_multiple_of(8) && to_bit.is_multiple_of(8) && count.is_multiple_of(8) {
        let source = from.get(byte(from_bit)..).unwrap_or_default();
        let target = to.get_mut(byte(to_bit)..).unwrap_or_default();
        for (to, from) in target.iter_mut().zip(source).take(byte(count)) {
            *to = *from;
        }
        return;
    }
    // At most the remaining bits of the target byte at once.
    let mut done = 0;
    while done < count {
        let (source, target) = (from_bit + done, to_bit + done);
        let shift = target % 8;
        let length = (8 - shift).min(count - done);
        let source_byte = from.get(byte(source)..).unwrap_or_default();
        let (Some(low), Some(to)) = (source_byte.first(), to.get_mut(byte(target))) else {
            return;
        };
        let high = source_byte.get(1).copied();
        let available = if high.is_some() { 16 } else { 8u64 };
        // Bits after the end of the source leave the target unchanged.
        let length = length.min(available - source % 8);
        let pair = u16::from_le_bytes([*low, high.unwrap_or(0)]) >> (source % 8);
        let mask = 0xffu8 >> (8 - length);
        let [bits, _] = pair.to_le_bytes();
        *to = *to & !(mask << shift) | (bits & mask) << shift;
        done += length;
    }
}
