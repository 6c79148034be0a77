//! Holds the known contents of one register.
#![warn(clippy::cast_possible_truncation)]

use core::ops::Range;

use crate::wave::AccessError;

/// The bytes of a register, and the mask of its known dwords. In a vector register single lanes can be known; other registers are completely known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    /// The bytes, lowest first. The bytes of an unknown lane are zero.
    bytes: Vec<u8>,
    /// Bit N for dword N. A register has at most 64.
    known: u64,
}

impl Contents {
    /// Returns a completely known register.
    pub(super) fn scalar(bytes: &[u8]) -> Contents {
        Contents {
            bytes: bytes.to_vec(),
            known: u64::MAX,
        }
    }

    /// Returns a vector register of at most 64 lanes, lane 0 first.
    pub(super) fn vector(lanes: &[Option<u32>]) -> Contents {
        let bit =
            |(lane, value): (u32, &Option<u32>)| value.and(1u64.checked_shl(lane)).unwrap_or(0);
        Contents {
            bytes: lanes
                .iter()
                .flat_map(|value| value.unwrap_or(0).to_le_bytes())
                .collect(),
            known: (0u32..)
                .zip(lanes)
                .map(bit)
                .fold(0, |known, bit| known | bit),
        }
    }

    /// Returns the low 64 bits, known or not.
    pub(super) fn low(&self) -> u64 {
        self.bytes
            .iter()
            .take(8)
            .rev()
            .fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// Returns the values of the lanes of a vector register, lane 0 first.
    #[cfg(feature = "serde")]
    pub(super) fn lanes(&self) -> impl Iterator<Item = Option<u32>> {
        let (dwords, _) = self.bytes.as_chunks::<4>();
        (0u32..).zip(dwords).map(|(lane, &dword)| {
            let known = self.known.checked_shr(lane).unwrap_or(0) & 1 == 1;
            known.then_some(u32::from_le_bytes(dword))
        })
    }

    /// Returns the `len` bytes of `bits`.
    pub(super) fn read(&self, bits: Range<u32>, len: usize) -> Result<&[u8], AccessError> {
        let range = self.range(&bits, len)?;
        self.bytes.get(range).ok_or_else(|| misuse(&bits, len))
    }

    /// Returns the `len` bytes of `bits`, for writing.
    pub(super) fn write(&mut self, bits: Range<u32>, len: usize) -> Result<&mut [u8], AccessError> {
        let range = self.range(&bits, len)?;
        self.bytes.get_mut(range).ok_or_else(|| misuse(&bits, len))
    }

    /// Returns the position of `bits` among the bytes, all of which must be known.
    fn range(&self, bits: &Range<u32>, len: usize) -> Result<Range<usize>, AccessError> {
        let whole = bits.start.is_multiple_of(8) && bits.end.is_multiple_of(8);
        let (start, end) = (bits.start as usize / 8, bits.end as usize / 8);
        let fits = end.checked_sub(start) == Some(len) && end <= self.bytes.len();
        if !whole || !fits {
            return Err(misuse(bits, len));
        }
        let (first, last) = (bits.start / 32, bits.end.saturating_sub(1) / 32);
        // A bit for each dword, at their positions, or `None` if there are not that many dwords.
        let count = last.saturating_sub(first).saturating_add(1);
        let ones = 64u32
            .checked_sub(count)
            .and_then(|others| u64::MAX.checked_shr(others));
        let dwords = ones
            .filter(|_| last < 64)
            .and_then(|ones| ones.checked_shl(first));
        if len == 0 || dwords.is_some_and(|dwords| self.known & dwords == dwords) {
            Ok(start..end)
        } else {
            Err(AccessError::Unavailable)
        }
    }
}

/// Returns the error for a caller that violates the contract of [`Wave::read_register`](crate::wave::Wave::read_register).
fn misuse(bits: &Range<u32>, len: usize) -> AccessError {
    let (start, end) = (bits.start, bits.end);
    AccessError::Failed(
        format!("bits {start} to {end} are outside of the register, or are not {len} bytes").into(),
    )
}
