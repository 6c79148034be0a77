//! Scratch memory: the places of one lane's private memory in the wave's.
//!
//! The dwords of the lanes are interleaved: first dword 0 of every lane, then dword 1 of every lane. Consecutive bytes in `private_lane`
//! are therefore contiguous in `private_wave` only within a dword, and an access of several bytes is a sequence of [`runs`]. The caller
//! reads the memory. Source: USAGE "Address Space Identifier", the formula at `private_wave`.

use super::{Lane, WaveSize};

/// The unit of interleaving, in bytes.
const DWORD: u64 = 4;

/// The number of bytes that the `private_lane` addresses name.
const LANE_BYTES: u64 = 1 << 32;

/// Returns the `private_wave` address of the byte that a lane sees at `lane_address`.
///
/// The result can exceed 32 bits, although no real scratch memory is that large. Returns `None` if a wave of this size has no such lane.
///
/// Source: USAGE "Address Space Identifier". The division there is an integer division.
#[must_use]
pub const fn wave_address(lane_address: u32, lane: Lane, wave_size: WaveSize) -> Option<u64> {
    if !lane.is_in(wave_size) {
        return None;
    }
    let address = lane_address as u64;
    let row = address / DWORD * wave_size.lanes() as u64 * DWORD;
    Some(row + lane.0 as u64 * DWORD + address % DWORD)
}

/// Returns the lane that owns the byte at `wave_address` of `private_wave`, and its address in that lane's
/// `private_lane`: the inverse of [`wave_address`].
///
/// Returns `None` if the lane's address would exceed 32 bits.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the address is compared with 2^32 first, and a lane is less than 64"
)]
pub const fn lane_address(wave_address: u64, wave_size: WaveSize) -> Option<(Lane, u32)> {
    let lanes = wave_size.lanes() as u64;
    let dword = wave_address / DWORD;
    let address = dword / lanes * DWORD + wave_address % DWORD;
    if address >= LANE_BYTES {
        return None;
    }
    Some((Lane((dword % lanes) as u8), address as u32))
}

/// Returns the `private_wave` address of the row of dwords that the lanes see at `lane_address`, one per lane and lane 0 first. A vector
/// register that is spilled there is contiguous.
///
/// Returns `None` if the address is not a multiple of 4.
///
/// Source: USAGE "Address Space Identifier", the simplified formula.
#[must_use]
pub const fn dwords_for_all_lanes(lane_address: u32, wave_size: WaveSize) -> Option<u64> {
    if (lane_address as u64).is_multiple_of(DWORD) {
        Some(lane_address as u64 * wave_size.lanes() as u64)
    } else {
        None
    }
}

/// Bytes of one lane that are contiguous in the wave's memory.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The offset of the run in the access, in bytes.
    pub offset: u64,
    /// The `private_lane` address of the first byte.
    pub lane_address: u32,
    /// The `private_wave` address of the first byte.
    pub wave_address: u64,
    /// The number of bytes, from 1 to 4.
    pub length: u8,
}

/// Returns the runs of an access to `length` bytes at `lane_address`, in ascending order.
///
/// Returns `None` if a wave of this size has no such lane, or if the access extends past the end of the lane's 2^32 bytes: addresses do not
/// wrap.
#[must_use]
pub const fn runs(lane_address: u32, length: u64, lane: Lane, wave_size: WaveSize) -> Option<Runs> {
    let start = lane_address as u64;
    match start.checked_add(length) {
        Some(end) if end <= LANE_BYTES && lane.is_in(wave_size) => Some(Runs {
            start,
            next: start,
            end,
            lane,
            wave_size,
        }),
        Some(_) | None => None,
    }
}

/// The iterator of [`runs`]. It is infallible.
#[derive(Clone, Debug)]
pub struct Runs {
    start: u64,
    next: u64,
    end: u64,
    lane: Lane,
    wave_size: WaveSize,
}

impl Iterator for Runs {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let end_of_dword = self.next - self.next % DWORD + DWORD;
        let length = self.end.min(end_of_dword) - self.next;
        if length == 0 {
            return None;
        }
        let lane_address = u32::try_from(self.next).ok()?;
        let run = Run {
            offset: self.next - self.start,
            lane_address,
            wave_address: wave_address(lane_address, self.lane, self.wave_size)?,
            length: u8::try_from(length).ok()?,
        };
        self.next += length;
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAVE_SIZES: [WaveSize; 2] = [WaveSize::Wave32, WaveSize::Wave64];

    /// Returns the bytes of a wave's scratch in memory order: each dword, in it each lane, in it the four bytes. Each byte is given by its
    /// lane and its address there.
    fn interleaved(dwords: u32, wave_size: WaveSize) -> Vec<(Lane, u32)> {
        let mut bytes = Vec::new();
        for dword in 0..dwords {
            for lane in wave_size.all_lanes() {
                bytes.extend((0..4).map(|byte| (lane, dword * 4 + byte)));
            }
        }
        bytes
    }

    #[test]
    fn addresses_are_those_of_the_interleaved_bytes() {
        for wave_size in WAVE_SIZES {
            for (address, (lane, in_lane)) in (0u64..).zip(interleaved(7, wave_size)) {
                assert_eq!(wave_address(in_lane, lane, wave_size), Some(address));
                assert_eq!(lane_address(address, wave_size), Some((lane, in_lane)));
            }
        }
    }

    #[test]
    fn the_last_bytes_of_a_lane_are_reached() {
        // 2^32 bytes in each of 64 lanes: the very last byte is number 2^38 - 1.
        let last = (1u64 << 38) - 1;
        let lane = Lane(63);
        assert_eq!(wave_address(u32::MAX, lane, WaveSize::Wave64), Some(last));
        assert_eq!(lane_address(last, WaveSize::Wave64), Some((lane, u32::MAX)));
        assert_eq!(lane_address(last + 1, WaveSize::Wave64), None);
        assert_eq!(lane_address(u64::MAX, WaveSize::Wave32), None);
    }

    #[test]
    fn a_lane_that_the_wave_does_not_have_has_no_memory() {
        assert_eq!(wave_address(0, Lane(32), WaveSize::Wave32), None);
        assert_eq!(wave_address(0, Lane(64), WaveSize::Wave64), None);
        assert!(runs(0, 1, Lane(32), WaveSize::Wave32).is_none());
    }

    /// For every length and alignment up to five dwords, the runs together are the access, byte by byte, and each is as long as possible.
    #[test]
    fn runs_are_the_access_byte_by_byte() {
        for wave_size in WAVE_SIZES {
            let memory = interleaved(8, wave_size);
            for lane in [Lane(0), Lane(5), Lane(31)] {
                for start in 0..8u32 {
                    for length in 0..20u32 {
                        let mut offset = 0;
                        let mut previous_end = None;
                        for run in runs(start, u64::from(length), lane, wave_size).unwrap() {
                            assert_eq!(run.offset, u64::from(offset));
                            assert_eq!(run.lane_address, start + offset);
                            assert_ne!(previous_end, Some(run.wave_address), "could be longer");
                            for byte in 0..usize::from(run.length) {
                                let at = usize::try_from(run.wave_address).unwrap() + byte;
                                assert_eq!(memory[at], (lane, start + offset));
                                offset += 1;
                            }
                            previous_end = Some(run.wave_address + u64::from(run.length));
                        }
                        assert_eq!(offset, length);
                    }
                }
            }
        }
    }

    #[test]
    fn runs_end_with_the_memory_of_the_lane() {
        let lane = Lane(0);
        let all: Vec<_> = runs(u32::MAX - 4, 5, lane, WaveSize::Wave32)
            .unwrap()
            .map(|run| run.length)
            .collect();
        assert_eq!(all, [1, 4]);
        assert!(runs(u32::MAX - 4, 6, lane, WaveSize::Wave32).is_none());
        assert!(runs(0, 1 << 32, lane, WaveSize::Wave32).is_some());
        assert!(runs(0, u64::MAX, lane, WaveSize::Wave32).is_none());
        assert_eq!(
            runs(u32::MAX, 0, lane, WaveSize::Wave32).unwrap().count(),
            0
        );
    }

    #[test]
    fn a_row_starts_with_the_dword_of_lane_0() {
        for wave_size in WAVE_SIZES {
            for address in (0..64).step_by(4).chain([0xffff_fffc]) {
                let row = dwords_for_all_lanes(address, wave_size).unwrap();
                for lane in wave_size.all_lanes() {
                    assert_eq!(
                        wave_address(address, lane, wave_size),
                        Some(row + 4 * u64::from(lane.0))
                    );
                }
            }
            assert_eq!(dwords_for_all_lanes(6, wave_size), None);
        }
    }
}
