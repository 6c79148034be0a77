//! Writing through a location.

use core::ops::Range;

use super::memory::{Run, access_error, for_each_run, lane_of};
use super::read::{copy_bits, out_of_bounds};
use super::{Location, Place, Storage};
use crate::arch::{Lane, Register};
use crate::error::{ErrorKind, Need, Result};
use crate::limits::too_many;
use crate::wave::Wave;

/// Writes the first `bit_size` bits of `bytes` to every place of `location`.
///
/// Nothing is written unless every bit has a place that can be written to; only a failure of the wave
/// itself can leave the write half done.
///
/// * `lane`: the lane that writes, which decides what a location that stands for all lanes means.
///
/// # Errors
/// [`ErrorKind::OutOfBounds`] if the storage is smaller; [`ErrorKind::UndefinedRead`] if a part is
/// optimised away; [`ErrorKind::Unsupported`] for an implicit part, which cannot be changed;
/// [`ErrorKind::Access`] if the wave refuses.
///
/// Source: HET A.2.5.3: a changed value goes to all single location descriptions.
pub fn write(
    location: &Location<'_>,
    bytes: &[u8],
    bit_size: u64,
    lane: Option<Lane>,
    wave: &mut dyn Wave,
) -> Result<()> {
    if (bytes.len() as u64).saturating_mul(8) < bit_size {
        let expected = format!("{bit_size} bits");
        return Err(ErrorKind::Syntax {
            expected,
            found: format!("{} bytes", bytes.len()),
        }
        .into());
    }
    let mut plan = Plan {
        lane,
        wave,
        leaves: Vec::new(),
    };
    plan.location(location, 0, bit_size, 0)?;
    for leaf in plan.leaves {
        leaf.write(bytes, wave)?;
    }
    Ok(())
}

/// What a debugger is asked to change.
enum Target {
    /// Bytes of a register, from this one on.
    Register(Register, u64),
    /// Bytes of memories, run after run.
    Memory(Vec<Run>),
}

/// Bits that go to one register or memory.
struct Leaf {
    target: Target,
    /// Bits of the first byte that stay.
    skip: u64,
    count: u64,
    /// The first of the bits that are written.
    from: u64,
}

struct Plan<'w> {
    lane: Option<Lane>,
    wave: &'w dyn Wave,
    leaves: Vec<Leaf>,
}

impl Plan<'_> {
    fn location(
        &mut self,
        location: &Location<'_>,
        offset: u128,
        count: u64,
        from: u64,
    ) -> Result<()> {
        location
            .places()
            .iter()
            .try_for_each(|place| self.place(place, offset, count, from))
    }

    fn place(&mut self, place: &Place<'_>, offset: u128, count: u64, from: u64) -> Result<()> {
        const LEAVES: usize = 1 << 16;
        if self.leaves.len() >= LEAVES {
            return Err(too_many("parts of a place that is written", LEAVES as u64));
        }
        let start = match (place.lane_step, self.lane) {
            (0, _) => Some(place.bit_offset),
            (_, Some(lane)) => place.bit_offset_in(lane),
            (_, None) => return Err(Need::Lane.into()),
        };
        let start = start.and_then(|start| start.checked_add(offset));
        let end = start.and_then(|start| start.checked_add(count.into()));
        let Some((start, _)) = start
            .zip(end)
            .filter(|(_, end)| *end <= place.storage_bits())
        else {
            return Err(out_of_bounds(place, offset.saturating_add(count.into())));
        };
        match place.storage {
            Storage::Undefined => Err(ErrorKind::UndefinedRead.into()),
            Storage::Value { .. } | Storage::Constant(_) | Storage::ImplicitPointer(_) => {
                Err(ErrorKind::Unsupported(
                    "writing to an implicit location, which exists only in the DWARF",
                )
                .into())
            }
            Storage::Register(register) => {
                let target = |first, _| Ok(Target::Register(register, first));
                self.leaf(start, count, from, target)
            }
            Storage::Memory {
                space,
                lane: select,
            } => {
                let (wave, lane) = (self.wave, lane_of(select, self.lane));
                self.leaf(start, count, from, |first, length| {
                    let mut runs = Vec::new();
                    for_each_run(wave, space, lane, first, length, &mut |run| {
                        runs.push(run);
                        Ok(())
                    })?;
                    Ok(Target::Memory(runs))
                })
            }
            Storage::Composite(composite) => {
                let mut done = 0u64;
                while done < count {
                    let at = start.saturating_add(done.into());
                    let Some(piece) = composite.piece(at, count.saturating_sub(done)) else {
                        return Err(out_of_bounds(place, count.into()));
                    };
                    let from = from.saturating_add(done);
                    self.location(&piece.location, piece.within, piece.count, from)?;
                    done = done.saturating_add(piece.count);
                }
                Ok(())
            }
        }
    }

    /// Adds bits from bit `start` of a storage on; `target` gets the first byte and how many there are.
    fn leaf(
        &mut self,
        start: u128,
        count: u64,
        from: u64,
        target: impl FnOnce(u64, usize) -> Result<Target>,
    ) -> Result<()> {
        let first = u64::try_from(start / 8).unwrap_or(u64::MAX);
        let skip = u64::from((start % 8) as u8);
        let length = usize::try_from(skip.saturating_add(count).div_ceil(8)).unwrap_or(0);
        let target = target(first, length)?;
        self.leaves.push(Leaf {
            target,
            skip,
            count,
            from,
        });
        Ok(())
    }
}

impl Leaf {
    fn write(&self, bytes: &[u8], wave: &mut dyn Wave) -> Result<()> {
        let end = self.skip.saturating_add(self.count);
        let length = usize::try_from(end.div_ceil(8)).unwrap_or(0);
        let mut buffer = vec![0; length];
        // A byte of which only some bits change must be read first; the others need not be known.
        if self.skip != 0 {
            self.read_byte(0, &mut buffer, wave)?;
        }
        let last = length.saturating_sub(1);
        if !end.is_multiple_of(8) && (last != 0 || self.skip == 0) {
            self.read_byte(last, &mut buffer, wave)?;
        }
        copy_bits(bytes, self.from.into(), &mut buffer, self.skip, self.count);
        match &self.target {
            Target::Register(register, first) => {
                let bits = register_bits(*first, length);
                wave.write_register(*register, bits, &buffer)
                    .map_err(access_error)
            }
            Target::Memory(runs) => runs.iter().try_for_each(|run| {
                let end = run.start.saturating_add(run.length);
                let part = buffer.get(run.start..end).unwrap_or_default();
                wave.write_memory(run.memory, run.address, part)
                    .map_err(access_error)
            }),
        }
    }

    /// Reads byte `at` of those that are written.
    fn read_byte(&self, at: usize, buffer: &mut [u8], wave: &dyn Wave) -> Result<()> {
        let Some(out) = buffer.get_mut(at..).and_then(|rest| rest.get_mut(..1)) else {
            return Ok(());
        };
        let result = match &self.target {
            Target::Register(register, first) => {
                let bits = register_bits(first.saturating_add(at as u64), 1);
                wave.read_register(*register, bits, out)
            }
            Target::Memory(runs) => {
                let within = |run: &&Run| {
                    at.checked_sub(run.start)
                        .is_some_and(|within| within < run.length)
                };
                let Some(run) = runs.iter().find(within) else {
                    return Ok(());
                };
                let within = at.saturating_sub(run.start) as u64;
                wave.read_memory(run.memory, run.address.wrapping_add(within), out)
            }
        };
        result.map_err(access_error)
    }
}

/// The bits of `length` bytes of a register.
fn register_bits(first: u64, length: usize) -> Range<u32> {
    let bit = |byte: u64| u32::try_from(byte.saturating_mul(8)).unwrap_or(u32::MAX);
    bit(first)..bit(first.saturating_add(length as u64))
}
