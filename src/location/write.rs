//! Writing through a location.

use super::memory::{access_error, for_each_run, lane_of};
use super::read::{copy_bits, out_of_bounds};
use super::{Location, Place, Storage};
use crate::arch::Lane;
use crate::error::{ErrorKind, Limit, Need, Result};
use crate::wave::{Memory, Wave};

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
        leaves: Vec::new(),
    };
    plan.location(location, 0, bit_size, 0)?;
    for leaf in &plan.leaves {
        leaf.write(bytes, lane, wave)?;
    }
    Ok(())
}

/// Bits that go to one register or memory.
struct Leaf<'a> {
    storage: Storage<'a>,
    start: u128,
    count: u64,
    from: u64,
}

struct Plan<'a> {
    lane: Option<Lane>,
    leaves: Vec<Leaf<'a>>,
}

impl<'a> Plan<'a> {
    fn location(
        &mut self,
        location: &Location<'a>,
        offset: u128,
        count: u64,
        from: u64,
    ) -> Result<()> {
        location
            .places()
            .iter()
            .try_for_each(|place| self.place(place, offset, count, from))
    }

    fn place(&mut self, place: &Place<'a>, offset: u128, count: u64, from: u64) -> Result<()> {
        const LEAVES: usize = 1 << 16;
        if self.leaves.len() >= LEAVES {
            return Err(ErrorKind::Limit {
                limit: Limit::Parts,
                value: LEAVES as u64,
            }
            .into());
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
            Storage::Register(_) | Storage::Memory { .. } => {
                self.leaves.push(Leaf {
                    storage: place.storage,
                    start,
                    count,
                    from,
                });
                Ok(())
            }
            Storage::Composite(composite) => {
                let mut done = 0u64;
                while done < count {
                    let at = start.saturating_add(done.into());
                    let Some(part) = composite.part_at(at) else {
                        return Err(out_of_bounds(place, count.into()));
                    };
                    let within = at.saturating_sub(part.start);
                    let left = part
                        .bit_size
                        .saturating_sub(within)
                        .min(count.saturating_sub(done).into());
                    let left = u64::try_from(left).unwrap_or(u64::MAX);
                    self.location(&part.location, within, left, from.saturating_add(done))?;
                    done = done.saturating_add(left);
                }
                Ok(())
            }
        }
    }
}

impl Leaf<'_> {
    fn write(&self, bytes: &[u8], lane: Option<Lane>, wave: &mut dyn Wave) -> Result<()> {
        let first = u64::try_from(self.start / 8).unwrap_or(u64::MAX);
        let skip = u64::from((self.start % 8) as u8);
        let length = usize::try_from(skip.saturating_add(self.count).div_ceil(8)).unwrap_or(0);
        let mut buffer = vec![0; length];
        // A byte of which only some bits change must be read first.
        let partial = skip != 0 || !self.count.is_multiple_of(8);
        let change =
            |buffer: &mut [u8]| copy_bits(bytes, self.from.into(), buffer, skip, self.count);
        match self.storage {
            Storage::Register(register) => {
                let bit = |byte: u64| u32::try_from(byte.saturating_mul(8)).unwrap_or(u32::MAX);
                let bits = bit(first)..bit(first.saturating_add(length as u64));
                if partial {
                    wave.read_register(register, bits.clone(), &mut buffer)
                        .map_err(|e| access_error(&e))?;
                }
                change(&mut buffer);
                wave.write_register(register, bits, &buffer)
                    .map_err(|e| access_error(&e))
            }
            Storage::Memory {
                space,
                lane: select,
            } => {
                let mut runs: Vec<(Memory, u64, usize, usize)> = Vec::new();
                for_each_run(
                    wave,
                    space,
                    lane_of(select, lane),
                    first,
                    length,
                    &mut |run| {
                        runs.push((
                            run.memory,
                            run.address,
                            run.start,
                            run.start.saturating_add(run.length),
                        ));
                        Ok(())
                    },
                )?;
                if partial {
                    for &(memory, address, start, end) in &runs {
                        let Some(out) = buffer.get_mut(start..end) else {
                            continue;
                        };
                        wave.read_memory(memory, address, out)
                            .map_err(|e| access_error(&e))?;
                    }
                }
                change(&mut buffer);
                for (memory, address, start, end) in runs {
                    let Some(part) = buffer.get(start..end) else {
                        continue;
                    };
                    wave.write_memory(memory, address, part)
                        .map_err(|e| access_error(&e))?;
                }
                Ok(())
            }
            // The plan has no other leaves.
            Storage::Undefined
            | Storage::Value { .. }
            | Storage::Constant(_)
            | Storage::ImplicitPointer(_)
            | Storage::Composite(_) => Ok(()),
        }
    }
}
