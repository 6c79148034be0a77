//! Reads the bits of a location for one lane.

use core::ops::Range;

use super::bits::{Bits, buffer, copy_bits};
use super::memory::{fetch_available, for_each_run, lane_of};
use super::{Composite, Location, Mask, Place, Storage};
use crate::arch::{Lane, Register};
use crate::error::{Error, ErrorKind, Limit, Resource, Result};
use crate::limits::Limits;
use crate::limits::reached;
use crate::meter::Meter;
use crate::wave::Wave;

/// The wave that provides the bits, and the lane that reads.
#[derive(Clone, Copy)]
pub struct Access<'w> {
    /// The stopped wave.
    pub wave: &'w dyn Wave,
    /// The reading lane, which determines the meaning of a location for all lanes.
    pub lane: Option<Lane>,
    /// The maximum number of bits read at once.
    pub max_bits: u64,
    /// Charged for each part of the location. Without one, a read may visit 2^20 parts.
    pub meter: Option<&'w Meter>,
}

impl Access<'_> {
    /// Calls a function with the meter that is charged for each part of a location.
    pub(super) fn metered<T>(&self, read: impl FnOnce(&Meter) -> T) -> T {
        /// The default limit. Nested composites of several places multiply; variables of real code have a few dozen parts.
        const VISITS: u64 = 1 << 20;
        match self.meter {
            Some(meter) => read(meter),
            None => read(&Meter::of_steps(&Limits::DEFAULT, VISITS)),
        }
    }
}

impl core::fmt::Debug for Access<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Access")
            .field("lane", &self.lane)
            .finish_non_exhaustive()
    }
}

/// Reads `bit_size` bits from the start of `location`.
///
/// If there are several places, the bits come from the first one that has them all. An implicit pointer has no readable bits: they are undefined.
///
/// # Errors
/// [`ErrorKind::OutOfBounds`] if the storage has fewer bits; [`ErrorKind::Access`] if the debugger's access failed; [`ErrorKind::Limit`] above
/// `max_bits`, or if more than 2^20 parts must be visited.
///
/// Source: HET A.2.5.3 and A.2.5.4.3.4, `DW_OP_deref_type`.
pub fn read(location: &Location<'_>, bit_size: u64, access: &Access<'_>) -> Result<Bits> {
    if bit_size > access.max_bits {
        return Err(too_many_bits(access.max_bits));
    }
    let mut bits = Bits::zero(bit_size)?;
    let found = Found::new(&mut bits.bytes);
    let Found {
        undefined,
        unavailable,
        ..
    } = found.read(location, bit_size, access)?;
    Ok(Bits {
        undefined,
        unavailable,
        ..bits
    })
}

/// Reads up to 128 bits, all of which must be available. A plain register or plain memory is not charged.
///
/// # Errors
/// Fails like [`read`], and with [`ErrorKind::UndefinedRead`] or [`ErrorKind::Unavailable`] if a bit has no value.
pub(crate) fn read_value(
    location: &Location<'_>,
    bit_size: u32,
    access: &Access<'_>,
) -> Result<u128> {
    if let Location::One(place) = location
        && let Some(value) = read_plain(place, bit_size, access.wave)
    {
        return Ok(value.into());
    }
    if u64::from(bit_size) > access.max_bits {
        return Err(too_many_bits(access.max_bits));
    }
    let mut value = [0; 16];
    let Some(bytes) = value.get_mut(..bit_size.div_ceil(8) as usize) else {
        return Err(too_many_bits(128));
    };
    let found = Found::new(bytes).read(location, bit_size.into(), access)?;
    if !found.undefined.is_empty() {
        return Err(ErrorKind::UndefinedRead.into());
    }
    if !found.unavailable.is_empty() {
        return Err(unavailable(location).into());
    }
    Ok(u128::from_le_bytes(value))
}

/// Reads the most frequent case: 1 to 8 whole bytes of a register or of global memory, the same for all lanes.
///
/// Returns `None` in other cases, and for errors, which [`read_value`] then reports.
#[inline(always)]
pub(crate) fn read_plain(place: &Place<'_>, bit_size: u32, wave: &dyn Wave) -> Option<u64> {
    let whole_bytes = place.bit_offset.is_multiple_of(8) && bit_size.is_multiple_of(8);
    // Zero bytes are not requested from a wave, since the register may not exist.
    if place.lane_step != 0 || !whole_bytes || bit_size == 0 {
        return None;
    }
    let mut value = [0; 8];
    let out = value.get_mut(..(bit_size / 8) as usize)?;
    match place.storage {
        Storage::Register(register) => {
            let start = u32::try_from(place.bit_offset).ok()?;
            let end = start.checked_add(bit_size)?;
            if end > register.size_in_bits()? {
                return None;
            }
            wave.read_register(register, start..end, out).ok()?;
        }
        Storage::Memory {
            space: crate::arch::AddressSpace::None,
            ..
        } => {
            let address = u64::try_from(place.bit_offset / 8).ok()?;
            // No byte after the last address is requested.
            address.checked_add(u64::from(bit_size / 8).checked_sub(1)?)?;
            wave.read_memory(crate::wave::Memory::Global, address, out)
                .ok()?;
        }
        Storage::Undefined
        | Storage::Memory { .. }
        | Storage::Value { .. }
        | Storage::Constant(_)
        | Storage::ImplicitPointer(_)
        | Storage::Composite(_) => return None,
    }
    Some(u64::from_le_bytes(value))
}

#[cold]
fn unavailable(location: &Location<'_>) -> ErrorKind {
    let place = location
        .places()
        .first()
        .copied()
        .unwrap_or(Place::UNDEFINED);
    // No address is larger; the number is only for the message.
    let address = || u64::try_from(place.bit_offset / 8).unwrap_or(u64::MAX);
    match place.storage {
        Storage::Memory { space, .. } => ErrorKind::Unavailable(Resource::Memory(space, address())),
        Storage::Register(register) => ErrorKind::Unavailable(Resource::Register(register)),
        Storage::Composite(composite) => match composite.parts().next() {
            Some(part) if composite.depth() <= 1 => unavailable(&part.location),
            Some(_) | None => ErrorKind::Unavailable(Resource::Part),
        },
        Storage::Undefined
        | Storage::Value { .. }
        | Storage::Constant(_)
        | Storage::ImplicitPointer(_) => ErrorKind::UndefinedRead,
    }
}

#[cold]
pub(super) fn out_of_bounds(place: &Place<'_>, offset: u128, count: u64) -> Error {
    // A range that does not fit may overflow; the number is only for the message.
    let end = place
        .bit_offset
        .saturating_add(offset)
        .saturating_add(count.into());
    let last = end.saturating_sub(1);
    let bit_offset = i128::try_from(last).unwrap_or(i128::MAX);
    ErrorKind::OutOfBounds {
        bit_offset,
        size_in_bits: place.storage_bits(),
    }
    .into()
}

#[cold]
pub(super) fn too_many_bits(value: u64) -> Error {
    let limit = Limit::Bits;
    reached(limit, value)
}

/// The bits being read, into bytes that are initially zero.
struct Found<'b> {
    bytes: &'b mut [u8],
    undefined: Mask,
    unavailable: Mask,
}

impl<'b> Found<'b> {
    fn new(bytes: &'b mut [u8]) -> Found<'b> {
        Found {
            bytes,
            undefined: Mask::new(),
            unavailable: Mask::new(),
        }
    }

    /// Reads from the start of a location.
    fn read(self, location: &Location<'_>, bit_size: u64, access: &Access<'_>) -> Result<Self> {
        access.metered(|meter| {
            let mut reader = Reader {
                access,
                found: self,
                meter,
            };
            reader.location(location, 0, bit_size, 0)?;
            Ok(reader.found)
        })
    }
}

struct Reader<'r, 'w, 'b> {
    access: &'r Access<'w>,
    found: Found<'b>,
    meter: &'r Meter,
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "bits of the result are asked for, and of a storage those that `place` found in it"
)]
impl Reader<'_, '_, '_> {
    /// Reads `count` bits, `offset` bits into `location`, to bit `to` of the result.
    fn location(
        &mut self,
        location: &Location<'_>,
        offset: u128,
        count: u64,
        to: u64,
    ) -> Result<()> {
        match location {
            Location::One(place) => self.place(place, offset, count, to),
            Location::Many(places) => self.first_complete(places, offset, count, to),
        }
    }

    /// Reads from the first of `places` that has all bits, or else from the first one.
    fn first_complete(
        &mut self,
        places: &[Place<'_>],
        offset: u128,
        count: u64,
        to: u64,
    ) -> Result<()> {
        let mut first = None;
        for place in places {
            let mut bytes = buffer(count)?;
            let mut reader = Reader {
                access: self.access,
                found: Found::new(&mut bytes),
                meter: self.meter,
            };
            let result = reader.place(place, offset, count, 0);
            if let Err(error) = &result
                && error.is_limit()
            {
                // The other places would reach the limit too.
                return result;
            }
            let (undefined, unavailable) = (reader.found.undefined, reader.found.unavailable);
            let complete = result.is_ok() && undefined.is_empty() && unavailable.is_empty();
            if complete || first.is_none() {
                first = Some(result.map(|()| (bytes, undefined, unavailable)));
            }
            if complete {
                break;
            }
        }
        let Some((bytes, undefined, unavailable)) = first.transpose()? else {
            // Undefined storage has no bits.
            self.found.undefined.insert(to..to + count);
            return Ok(());
        };
        copy_bits(&bytes, 0, self.found.bytes, to, count);
        for (from, into) in [
            (&undefined, &mut self.found.undefined),
            (&unavailable, &mut self.found.unavailable),
        ] {
            for range in from.ranges() {
                into.insert(range.start + to..range.end + to);
            }
        }
        Ok(())
    }

    fn place(&mut self, place: &Place<'_>, offset: u128, count: u64, to: u64) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        debug_assert!(
            to.checked_add(count)
                .is_some_and(|end| end.div_ceil(8) <= self.found.bytes.len() as u64),
            "{count} bits at bit {to} of {} bytes",
            self.found.bytes.len()
        );
        // Each of several places gets a separate buffer, which takes time too.
        self.meter.work(count / 512 + 1)?;
        let in_lane = match (place.lane_step, self.access.lane) {
            (0, _) => Some(place.bit_offset),
            (_, Some(lane)) => place.bit_offset_in(lane),
            (_, None) => return Err(crate::error::Need::Lane.into()),
        };
        let start = in_lane.and_then(|start| start.checked_add(offset));
        let end = start.and_then(|start| start.checked_add(count.into()));
        let range = start
            .zip(end)
            .filter(|(_, end)| *end <= place.storage_bits());
        let Some((start, _)) = range else {
            // In this lane it may begin before the storage. The offset for lane 0 is reported then.
            let bit_offset = in_lane.unwrap_or(place.bit_offset);
            let place = Place {
                bit_offset,
                ..*place
            };
            return Err(out_of_bounds(&place, offset, count));
        };
        match place.storage {
            Storage::Undefined | Storage::ImplicitPointer(_) => {
                self.found.undefined.insert(to..to + count)
            }
            Storage::Value { bits, .. } => {
                copy_bits(&bits.to_le_bytes(), low(start), self.found.bytes, to, count)
            }
            Storage::Constant(bytes) => copy_bits(bytes, low(start), self.found.bytes, to, count),
            Storage::Register(register) => self.register(register, start, count, to)?,
            Storage::Memory { space, lane } => {
                let lane = lane_of(lane, self.access.lane);
                let wave = self.access.wave;
                self.bytes(start, count, to, &mut |first, out, missing| {
                    for_each_run(wave, space, lane, first, out.len(), &mut |run| {
                        let out = run.bytes(out)?;
                        let mut fetch = |at: usize, out: &mut [u8]| {
                            wave.read_memory(run.memory, run.address.wrapping_add(at as u64), out)
                        };
                        fetch_available(&mut fetch, out, &mut |range| {
                            missing(range.start + run.start..range.end + run.start);
                        })
                    })
                })?;
            }
            Storage::Composite(composite) => self.composite(composite, start, count, to)?,
        }
        Ok(())
    }

    /// Reads `count` bits of a composite, from bit `start` on.
    fn composite(
        &mut self,
        composite: &Composite<'_>,
        start: u128,
        count: u64,
        to: u64,
    ) -> Result<()> {
        let mut done = 0u64;
        while done < count {
            let at = start + u128::from(done);
            let left = count - done;
            let Some(piece) = composite.piece(at, left) else {
                let place = Place::new(Storage::Composite(composite), start);
                return Err(out_of_bounds(&place, 0, count));
            };
            let to = to + done;
            self.location(&piece.location, piece.within, piece.count, to)?;
            if composite.is_repeated() && piece.within == 0 {
                // All others equal this one.
                return self.repeat(to, piece.count, left);
            }
            done += piece.count;
        }
        Ok(())
    }

    /// Fills `count` bits from bit `to` of the result on with repetitions of the first `period` of them.
    fn repeat(&mut self, to: u64, period: u64, count: u64) -> Result<()> {
        let mut done = period;
        while done < count {
            let length = done.min(count - done);
            let mut copied = buffer(length)?;
            copy_bits(self.found.bytes, to, &mut copied, 0, length);
            copy_bits(&copied, 0, self.found.bytes, to + done, length);
            done += length;
        }
        for mask in [&mut self.found.undefined, &mut self.found.unavailable] {
            let all = to..to + count;
            let first = to..to + period;
            if mask.covers(first.clone()) {
                mask.insert(all);
                continue;
            }
            let ranges: Vec<Range<u64>> = mask.within(first).collect();
            if ranges.is_empty() {
                continue;
            }
            let mut distance = period;
            while distance < count {
                for range in &ranges {
                    self.meter.work(1)?;
                    // The last element may be truncated.
                    let start = range.start + distance;
                    mask.insert(start..(range.end + distance).min(all.end));
                }
                distance += period;
            }
        }
        Ok(())
    }

    fn register(&mut self, register: Register, start: u128, count: u64, to: u64) -> Result<()> {
        let wave = self.access.wave;
        self.bytes(start, count, to, &mut |first, out, missing| {
            let mut fetch = |at: usize, out: &mut [u8]| {
                let bits = register_bits(first + at as u64, out.len());
                wave.read_register(register, bits, out)
            };
            fetch_available(&mut fetch, out, missing)
        })
    }

    /// Reads the whole bytes that contain `count` bits from bit `start` of a storage, with `fetch(first byte, out, missing)`, and keeps the requested
    /// bits.
    #[expect(
        clippy::type_complexity,
        reason = "one function to fetch with, named by the sentence above"
    )]
    fn bytes(
        &mut self,
        start: u128,
        count: u64,
        to: u64,
        fetch: &mut dyn FnMut(u64, &mut [u8], &mut dyn FnMut(Range<usize>)) -> Result<()>,
    ) -> Result<()> {
        let (first, skip) = (low(start / 8), low(start % 8));
        let mut buffer = buffer(skip + count)?;
        let unavailable = &mut self.found.unavailable;
        fetch(first, &mut buffer, &mut |missing| {
            // Bytes of the storage, as bits of the result.
            let bit = |byte: usize| {
                // Some bits of the first and the last byte may not be requested.
                (byte as u64 * 8).saturating_sub(skip).min(count) + to
            };
            unavailable.insert(bit(missing.start)..bit(missing.end));
        })?;
        copy_bits(&buffer, skip, self.found.bytes, to, count);
        // Bits of an unavailable byte are zero, even if the debugger wrote data there.
        Ok(())
    }
}

/// Converts a number of bits or bytes of a storage. A storage has at most 2^64 bytes, and one in our own memory far fewer.
pub(super) fn low(number: u128) -> u64 {
    debug_assert!(u64::try_from(number).is_ok(), "{number:#x}");
    number as u64
}

/// Reads the bits of `length` bytes of a register, from byte `first` on. The largest register has 256 bytes.
pub(super) fn register_bits(first: u64, length: usize) -> Range<u32> {
    let bit = |byte: u64| {
        debug_assert!(byte <= 256, "byte {byte}");
        (byte as u32).wrapping_mul(8)
    };
    bit(first)..bit(first.wrapping_add(length as u64))
}

#[cfg(test)]
mod tests;
