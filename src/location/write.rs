//! Writes through a location.

use super::bits::{copy_bits, zeros};
use super::memory::{Run, access_error, for_each_run, lane_of};
use super::read::{Access, low, out_of_bounds, register_bits, too_many_bits};
use super::{Location, Place, Storage};
use crate::arch::Register;
use crate::error::{ErrorKind, Need, Resource, Result};
use crate::limits::too_many;
use crate::wave::{Memory, Wave};

/// The destinations of an object's bits: every place of its location.
///
/// It depends on the wave at the time the places were found, but borrows neither the location nor the stop, so that the wave can be written to.
///
/// Source: HET A.2.5.3: a changed value goes to all single location descriptions.
///
/// ```
/// use hetdwarf::arch::{Lane, Register, WaveSize};
/// use hetdwarf::location::{Access, Destination, Location, read};
/// use hetdwarf::wave::Snapshot;
///
/// let v0 = Register::v::<0>(WaveSize::Wave32);
/// let mut wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0);
/// wave.set_lanes(v0, &[Some(1); 32])?;
/// let location = Location::register(v0);
///
/// let access = Access { wave: &wave, lane: Some(Lane(0)), max_bits: 64, meter: None };
/// let destination = Destination::find(&location, 16, &access)?;
/// destination.write(&[7, 0], &mut wave)?;
///
/// let access = Access { wave: &wave, lane: Some(Lane(0)), max_bits: 64, meter: None };
/// assert_eq!(read(&location, 64, &access)?.bytes, [7, 0, 0, 0, 1, 0, 0, 0]);
/// # Ok::<(), hetdwarf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Destination {
    bit_size: u64,
    leaves: Vec<Leaf>,
}

impl Destination {
    /// Finds the places of the first `bit_size` bits of an object.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfBounds`] if the storage is smaller; [`ErrorKind::UndefinedRead`] if a part is optimized away; [`ErrorKind::Unsupported`] for
    /// a read-only implicit part; [`ErrorKind::Limit`] above `max_bits`.
    pub fn find(
        location: &Location<'_>,
        bit_size: u64,
        access: &Access<'_>,
    ) -> Result<Destination> {
        if bit_size > access.max_bits {
            return Err(too_many_bits(access.max_bits));
        }
        let mut plan = Plan {
            access,
            leaves: Vec::new(),
        };
        plan.location(location, 0, bit_size, 0)?;
        let leaves = plan.leaves;
        Ok(Destination { bit_size, leaves })
    }

    /// Writes the first bits of `bytes`, as many as the places were found for.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] if there are fewer; [`ErrorKind::Access`] if the wave rejects a write, which may then be incomplete.
    pub fn write(&self, bytes: &[u8], wave: &mut dyn Wave) -> Result<()> {
        if (bytes.len() as u64) < self.bit_size.div_ceil(8) {
            let expected = format!("{} bits", self.bit_size);
            return Err(ErrorKind::Syntax {
                expected,
                found: format!("{} bytes", bytes.len()),
            }
            .into());
        }
        (self.leaves.iter()).try_for_each(|leaf| leaf.write(bytes, wave))
    }
}

/// The target of a write.
#[derive(Clone, Debug)]
enum Target {
    /// Bytes of a register, from this one on.
    Register(Register, u64),
    /// Bytes of memories, run after run.
    Memory(Vec<Run>),
}

/// Bits to write to one register or memory.
#[derive(Clone, Debug)]
struct Leaf {
    target: Target,
    /// The bits of the first byte to preserve.
    skip: u64,
    /// The number of bits, at least one.
    count: u64,
    /// The number of affected bytes.
    length: usize,
    /// The first of the written bits.
    from: u64,
}

struct Plan<'w> {
    access: &'w Access<'w>,
    leaves: Vec<Leaf>,
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "bits of the object are written, and of a storage those that `place` found in it"
)]
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
        let start = match (place.lane_step, self.access.lane) {
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
            return Err(out_of_bounds(place, offset, count));
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
                let (wave, lane) = (self.access.wave, lane_of(select, self.access.lane));
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
                    let at = start + u128::from(done);
                    let Some(piece) = composite.piece(at, count - done) else {
                        return Err(out_of_bounds(place, offset, count));
                    };
                    self.location(&piece.location, piece.within, piece.count, from + done)?;
                    done += piece.count;
                }
                Ok(())
            }
        }
    }

    /// Adds bits from bit `start` of a storage on, if there are any; `target` gets the first byte and how many there are.
    fn leaf(
        &mut self,
        start: u128,
        count: u64,
        from: u64,
        target: impl FnOnce(u64, usize) -> Result<Target>,
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let (first, skip) = (low(start / 8), low(start % 8));
        // At most one more than the bytes of the object.
        let length = (skip + count).div_ceil(8) as usize;
        let target = target(first, length)?;
        self.leaves.push(Leaf {
            target,
            skip,
            count,
            length,
            from,
        });
        Ok(())
    }
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "what is counted are the bytes of the buffer, of which there is at least one"
)]
impl Leaf {
    fn write(&self, bytes: &[u8], wave: &mut dyn Wave) -> Result<()> {
        let end = self.skip + self.count;
        let mut buffer = zeros(self.length as u64)?;
        // A byte that changes only in part must be read first. The others need not be known.
        if self.skip != 0 {
            self.read_byte(0, &mut buffer, wave)?;
        }
        let last = self.length - 1;
        if !end.is_multiple_of(8) && (last != 0 || self.skip == 0) {
            self.read_byte(last, &mut buffer, wave)?;
        }
        copy_bits(bytes, self.from, &mut buffer, self.skip, self.count);
        match &self.target {
            Target::Register(register, first) => {
                let bits = register_bits(*first, self.length);
                wave.write_register(*register, bits, &buffer)
                    .map_err(access_error)
            }
            Target::Memory(runs) => runs.iter().try_for_each(|run| {
                let part = run.bytes(&mut buffer)?;
                wave.write_memory(run.memory, run.address, part)
                    .map_err(access_error)
            }),
        }
    }

    /// Reads byte `at` of the affected bytes.
    fn read_byte(&self, at: usize, buffer: &mut [u8], wave: &dyn Wave) -> Result<()> {
        let byte = Run {
            memory: Memory::Global,
            address: 0,
            start: at,
            length: 1,
        };
        let result = match &self.target {
            Target::Register(register, first) => {
                let bits = register_bits(first + at as u64, 1);
                wave.read_register(*register, bits, byte.bytes(buffer)?)
            }
            Target::Memory(runs) => {
                let has = |run: &&Run| (run.start..run.start + run.length).contains(&at);
                let run = runs.iter().find(has);
                let run = run.ok_or(ErrorKind::Unavailable(Resource::Part))?;
                let address = run.address.wrapping_add((at - run.start) as u64);
                wave.read_memory(run.memory, address, byte.bytes(buffer)?)
            }
        };
        result.map_err(access_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::WaveSize;
    use crate::wave::AccessError;

    /// A wave that has no data, and rejects all writes.
    struct Nothing;

    impl Wave for Nothing {
        fn wave_size(&self) -> WaveSize {
            WaveSize::Wave64
        }

        fn read_register(
            &self,
            _: Register,
            _: core::ops::Range<u32>,
            _: &mut [u8],
        ) -> Result<(), AccessError> {
            Err(AccessError::Unavailable)
        }

        fn read_memory(&self, _: Memory, _: u64, _: &mut [u8]) -> Result<(), AccessError> {
            Err(AccessError::Unavailable)
        }
    }

    /// An object of size zero in the middle of a byte changes nothing, and the other bits of the byte need not be known.
    #[test]
    fn no_bits_are_written_without_asking_the_wave() {
        let register = Storage::Register(Register::sgpr(4).unwrap());
        let memory = Storage::Memory {
            space: crate::arch::AddressSpace::None,
            lane: crate::location::LaneSelect::None,
        };
        for storage in [register, memory] {
            let location = Location::One(Place::new(storage, 4));
            let access = Access {
                wave: &Nothing,
                lane: None,
                max_bits: 8,
                meter: None,
            };
            let write = |bits, bytes: &[u8]| {
                Destination::find(&location, bits, &access)?.write(bytes, &mut Nothing)
            };
            write(0, &[]).unwrap();
            assert!(write(1, &[1]).is_err());
        }
    }
}
