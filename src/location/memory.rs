//! Translates places into memory accesses of a debugger.
//!
//! Sources: USAGE "Address Space Identifier" (the interleaving), USAGE "Address Spaces" (apertures).

use smallvec::SmallVec;

use super::LaneSelect;
use crate::arch::{AddressSpace, Apertures, Lane, scratch};
use crate::error::{AccessFailure, Error, ErrorKind, Need, Result};
use crate::wave::{AccessError, Memory, Wave};

/// A contiguous run of bytes in a hardware memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) memory: Memory,
    pub(super) address: u64,
    /// The offset of the run in the requested bytes.
    pub(super) start: usize,
    pub(super) length: usize,
}

impl Run {
    /// Returns its bytes, as a slice of the requested ones.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfBounds`] if they are not among the requested bytes, so that none is skipped silently.
    pub(super) fn bytes<'b>(&self, all: &'b mut [u8]) -> Result<&'b mut [u8]> {
        let size_in_bits = (all.len() as u128).wrapping_mul(8);
        let end = self.start.checked_add(self.length);
        let bytes = end.and_then(|end| all.get_mut(self.start..end));
        bytes.ok_or_else(|| {
            let bit_offset = (self.start as i128).wrapping_mul(8);
            let kind = ErrorKind::OutOfBounds {
                bit_offset,
                size_in_bits,
            };
            kind.into()
        })
    }
}

/// Returns the lane that owns the memory of a place, when read by `reader`.
pub(super) fn lane_of(select: LaneSelect, reader: Option<Lane>) -> Option<Lane> {
    match select {
        LaneSelect::None => None,
        LaneSelect::One(lane) => Some(lane),
        LaneSelect::Each => reader,
    }
}

/// Calls `visit` for each run of the `length` bytes at `address`, in order. The bytes must be within the memory.
///
/// # Errors
/// If `visit` fails; [`Need::Lane`] if the memory belongs to a lane and no lane is known.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the bytes lie in the memory, and what is added is less than their length"
)]
pub(super) fn for_each_run(
    wave: &dyn Wave,
    space: AddressSpace,
    lane: Option<Lane>,
    address: u64,
    length: usize,
    visit: &mut dyn FnMut(Run) -> Result<()>,
) -> Result<()> {
    let whole = |memory| Run {
        memory,
        address,
        start: 0,
        length,
    };
    match space {
        AddressSpace::None => visit(whole(Memory::Global)),
        AddressSpace::Region => visit(whole(Memory::Region)),
        AddressSpace::Local => visit(whole(Memory::Local)),
        AddressSpace::PrivateWave => visit(whole(Memory::PrivateWave)),
        AddressSpace::PrivateLane => {
            let lane = lane.ok_or_else(|| Error::from(Need::Lane))?;
            let runs = u32::try_from(address).ok();
            let runs = runs
                .and_then(|address| scratch::runs(address, length as u64, lane, wave.wave_size()));
            let Some(runs) = runs else {
                return Err(ErrorKind::MissingContext(Need::Lane).into());
            };
            for run in runs {
                visit(Run {
                    memory: Memory::PrivateWave,
                    address: run.wave_address,
                    // Less than `length`.
                    start: run.offset as usize,
                    length: run.length.into(),
                })?;
            }
            Ok(())
        }
        AddressSpace::Generic => {
            let mut start = 0usize;
            while start < length {
                let here = address + start as u64;
                let rest = length - start;
                let (space, segment_address) = Apertures::resolve(wave.apertures(), here);
                // Apertures start and end at multiples of 2^32, so the bytes up to the next multiple belong together.
                let in_segment = (1u64 << 32) - (here & 0xffff_ffff);
                let part = usize::try_from(in_segment).unwrap_or(usize::MAX).min(rest);
                for_each_run(wave, space, lane, segment_address, part, &mut |run| {
                    visit(Run {
                        start: run.start + start,
                        ..run
                    })
                })?;
                start += part;
            }
            Ok(())
        }
    }
}

/// Reads the bytes at an offset from the debugger.
type Fetch<'f> = &'f mut dyn FnMut(usize, &mut [u8]) -> Result<(), AccessError>;

/// Fetches `out.len()` bytes with `fetch(offset, out)`, and retries smaller pieces if some are unavailable.
///
/// `missing` is called with the ranges of unavailable bytes.
///
/// # Errors
/// [`ErrorKind::Access`] if the debugger's own access failed.
pub(super) fn fetch_available(
    fetch: Fetch<'_>,
    out: &mut [u8],
    missing: &mut dyn FnMut(core::ops::Range<usize>),
) -> Result<()> {
    // The halves still to be fetched, nearest last, at most one for each bit of the length.
    let mut pending = SmallVec::<[core::ops::Range<usize>; 4]>::new();
    pending.push(0..out.len());
    while let Some(range) = pending.pop() {
        let Some(bytes) = out.get_mut(range.clone()) else {
            continue;
        };
        match fetch(range.start, bytes) {
            Ok(()) => {}
            Err(AccessError::Unavailable) if range.len() > 1 => {
                let middle = range.start.midpoint(range.end);
                pending.push(middle..range.end);
                pending.push(range.start..middle);
            }
            Err(AccessError::Unavailable) => {
                bytes.fill(0);
                missing(range);
            }
            Err(error @ (AccessError::ReadOnly | AccessError::Failed(_))) => {
                return Err(access_error(error));
            }
        }
    }
    Ok(())
}

#[cold]
pub(crate) fn access_error(error: AccessError) -> Error {
    let failure = match error {
        AccessError::Failed(error) => AccessFailure::new(error),
        other @ (AccessError::Unavailable | AccessError::ReadOnly) => AccessFailure::new(other),
    };
    ErrorKind::Access(failure).into()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// The last byte, and one after it: bytes that were not requested are not read.
    #[test]
    fn a_run_has_its_bytes_or_is_an_error() {
        let run = |start, length| Run {
            memory: Memory::Global,
            address: 0x40,
            start,
            length,
        };
        let mut all = [1, 2, 3, 4];
        assert_eq!(run(2, 2).bytes(&mut all).unwrap(), [3, 4]);
        for run in [run(2, 3), run(5, 0), run(usize::MAX, 1)] {
            let error = run.bytes(&mut all).unwrap_err();
            assert_eq!(error.kind().name(), "out-of-bounds", "{run:?}");
        }
    }

    #[test]
    fn the_debuggers_own_error_is_the_source() {
        let reset = || io::Error::new(io::ErrorKind::ConnectionReset, "the probe is gone\n");
        let mut fetch = |_, _: &mut [u8]| Err(AccessError::Failed(reset().into()));
        let error = fetch_available(&mut fetch, &mut [0; 4], &mut |_| ()).unwrap_err();
        let text = "the debugger's access failed: the probe is gone\\u{a}";
        assert_eq!(error.to_string(), text);
        let source = core::error::Error::source(&error).unwrap();
        let source: &io::Error = source.downcast_ref().unwrap();
        assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(error, access_error(AccessError::Failed(reset().into())));
        assert_ne!(error, access_error(AccessError::ReadOnly));
    }
}
