//! Reading the bits of a location for all lanes at once.
//!
//! A vector register is read once, and so is a row of interleaved scratch; storage that is the same for
//! all lanes is read once and copied. What fits neither is read lane by lane.

use super::memory::lane_of;
use super::read::{Access, Bits, copy_bits, read};
use super::{LaneSelect, Location, Mask, Place, Storage};
use crate::arch::{AddressSpace, Lane, Register, WaveSize, scratch};
use crate::error::Result;
use crate::wave::{Memory, Wave};

/// The bits of an object in every lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneBits {
    bytes: Vec<u8>,
    bytes_per_lane: usize,
    bit_size: u64,
    /// Empty if every bit of every lane is there; else one entry for each lane.
    masks: Vec<(Mask, Mask)>,
}

impl LaneBits {
    /// The number of bits a lane has.
    #[must_use]
    pub fn bit_size(&self) -> u64 {
        self.bit_size
    }

    /// The bytes of a lane, the first bit lowest; empty for a lane that does not exist.
    #[must_use]
    pub fn bytes(&self, lane: Lane) -> &[u8] {
        let start = usize::from(lane.0).saturating_mul(self.bytes_per_lane);
        self.bytes
            .get(start..start.saturating_add(self.bytes_per_lane))
            .unwrap_or_default()
    }

    /// The bits of a lane that have no value (optimised away).
    #[must_use]
    pub fn undefined(&self, lane: Lane) -> &Mask {
        self.masks
            .get(usize::from(lane.0))
            .map_or(NONE, |(undefined, _)| undefined)
    }

    /// The bits of a lane that have a value which the debugger does not know.
    #[must_use]
    pub fn unavailable(&self, lane: Lane) -> &Mask {
        self.masks
            .get(usize::from(lane.0))
            .map_or(NONE, |(_, unavailable)| unavailable)
    }

    /// One lane's bits.
    #[must_use]
    pub fn bits(&self, lane: Lane) -> Bits {
        Bits {
            bytes: self.bytes(lane).to_vec(),
            bit_size: self.bit_size,
            undefined: self.undefined(lane).clone(),
            unavailable: self.unavailable(lane).clone(),
        }
    }

    fn masks_mut(&mut self, lane: Lane, lanes: usize) -> Option<&mut (Mask, Mask)> {
        if self.masks.is_empty() {
            self.masks = vec![(Mask::new(), Mask::new()); lanes];
        }
        self.masks.get_mut(usize::from(lane.0))
    }
}

const NONE: &Mask = &Mask::new();

/// Reads `bit_size` bits of `location` for each lane of the wave.
///
/// # Errors
/// As [`read`]; the first lane that has one decides.
pub fn read_lanes(
    location: &Location<'_>,
    bit_size: u64,
    wave: &dyn Wave,
    max_bits: u64,
) -> Result<LaneBits> {
    let lanes = wave.wave_size();
    let count = lanes.lanes() as usize;
    let bytes_per_lane = usize::try_from(bit_size.min(max_bits).div_ceil(8)).unwrap_or(0);
    let bytes = vec![0; bytes_per_lane.saturating_mul(count)];
    let mut result = LaneBits {
        bytes,
        bytes_per_lane,
        bit_size,
        masks: Vec::new(),
    };
    if !location.stands_for_all_lanes() {
        let bits = read(
            location,
            bit_size,
            &Access {
                wave,
                lane: None,
                max_bits,
            },
        )?;
        for lane in lanes.all_lanes() {
            result.store(&bits, lane, count);
        }
        return Ok(result);
    }
    if bit_size <= max_bits
        && let Location::One(place) = location
        && rows(place, 0, bit_size, 0, wave, &mut result).is_some()
    {
        return Ok(result);
    }
    // Some rows may have been stored before one failed.
    result.bytes.fill(0);
    for lane in lanes.all_lanes() {
        let bits = read(
            location,
            bit_size,
            &Access {
                wave,
                lane: Some(lane),
                max_bits,
            },
        )?;
        result.store(&bits, lane, count);
    }
    Ok(result)
}

impl LaneBits {
    fn store(&mut self, bits: &Bits, lane: Lane, lanes: usize) {
        let start = usize::from(lane.0).saturating_mul(self.bytes_per_lane);
        if let Some(out) = self
            .bytes
            .get_mut(start..start.saturating_add(self.bytes_per_lane))
        {
            for (to, from) in out.iter_mut().zip(&bits.bytes) {
                *to = *from;
            }
        }
        if !bits.is_complete()
            && let Some(masks) = self.masks_mut(lane, lanes)
        {
            *masks = (bits.undefined.clone(), bits.unavailable.clone());
        }
    }

    /// Stores `count` bits for every lane: lane N's start at bit `from + N * step` of `row`.
    fn scatter(&mut self, row: &[u8], from: u64, step: u64, count: u64, to: u64) {
        // The usual case, a dword for each lane, is a copy.
        if self.bytes_per_lane == 4 && (from, step, count, to) == (0, 32, 32, 0) {
            for (to, from) in self.bytes.iter_mut().zip(row) {
                *to = *from;
            }
            return;
        }
        if self.bytes_per_lane == 0 {
            return;
        }
        let mut bit = from;
        for out in self.bytes.chunks_exact_mut(self.bytes_per_lane) {
            copy_bits(row, bit.into(), out, to, count);
            bit = bit.saturating_add(step);
        }
    }
}

/// Reads bits for all lanes from storage that is arranged in rows. Nothing if it is not, or if something is
/// missing: the thorough way says what.
fn rows(
    place: &Place<'_>,
    offset: u128,
    count: u64,
    to: u64,
    wave: &dyn Wave,
    result: &mut LaneBits,
) -> Option<()> {
    match place.storage {
        Storage::Register(register) => {
            register_row(register, place, offset, count, to, wave, result)
        }
        Storage::Memory {
            space: AddressSpace::PrivateLane,
            lane: LaneSelect::Each,
        } if place.lane_step == 0 => {
            let start = place.bit_offset.checked_add(offset)?;
            if start.checked_add(count.into())? > place.storage_bits() {
                return None;
            }
            scratch_rows(u64::try_from(start).ok()?, count, to, wave, result)
        }
        Storage::Composite(composite) if place.lane_step == 0 => {
            let start = place.bit_offset.checked_add(offset)?;
            let mut done = 0u64;
            while done < count {
                let at = start.checked_add(done.into())?;
                let part = composite.part_at(at)?;
                let within = at.checked_sub(part.start)?;
                let left = part
                    .bit_size
                    .checked_sub(within)?
                    .min(count.checked_sub(done)?.into());
                let left = u64::try_from(left).ok()?;
                rows(
                    part.location.single()?,
                    within,
                    left,
                    to.checked_add(done)?,
                    wave,
                    result,
                )?;
                done = done.checked_add(left)?;
            }
            Some(())
        }
        Storage::Undefined | Storage::ImplicitPointer(_) => None,
        Storage::Memory { lane, .. }
            if lane_of(lane, None).is_none() && lane == LaneSelect::Each =>
        {
            None
        }
        Storage::Memory { .. }
        | Storage::Value { .. }
        | Storage::Constant(_)
        | Storage::Composite(_) => same_for_all(place, offset, count, to, wave, result),
    }
}

fn register_row(
    register: Register,
    place: &Place<'_>,
    offset: u128,
    count: u64,
    to: u64,
    wave: &dyn Wave,
    result: &mut LaneBits,
) -> Option<()> {
    if place.lane_step == 0 {
        return same_for_all(place, offset, count, to, wave, result);
    }
    let step = u32::try_from(place.lane_step).ok()?;
    let start = u32::try_from(place.bit_offset.checked_add(offset)?).ok()?;
    let last = wave
        .wave_size()
        .lanes()
        .checked_sub(1)?
        .checked_mul(step)?
        .checked_add(start)?;
    let end = last.checked_add(u32::try_from(count).ok()?)?;
    let (first_byte, end_byte) = (start / 8, end.div_ceil(8));
    if end > register.size_in_bits()? {
        return None;
    }
    // The largest register has 64 dwords.
    let mut row = [0; 256];
    let row = row.get_mut(..end_byte.checked_sub(first_byte)? as usize)?;
    wave.read_register(
        register,
        first_byte.checked_mul(8)?..end_byte.checked_mul(8)?,
        row,
    )
    .ok()?;
    result.scatter(row, (start % 8).into(), step.into(), count, to);
    Some(())
}

/// Reads interleaved scratch: the same dword of all lanes lies in a row.
fn scratch_rows(
    start: u64,
    count: u64,
    to: u64,
    wave: &dyn Wave,
    result: &mut LaneBits,
) -> Option<()> {
    let lanes = wave.wave_size();
    let mut row = [0; 256];
    let row = row.get_mut(..row_bytes(lanes))?;
    let mut done = 0u64;
    while done < count {
        let bit = start.checked_add(done)?;
        let (dword, within) = (bit / 32, bit % 32);
        let dword_address = u32::try_from(dword.checked_mul(4)?).ok()?;
        let address = scratch::dwords_for_all_lanes(dword_address, lanes)?;
        wave.read_memory(Memory::PrivateWave, address, row).ok()?;
        let left = 32u64.checked_sub(within)?.min(count.checked_sub(done)?);
        result.scatter(row, within, 32, left, to.checked_add(done)?);
        done = done.checked_add(left)?;
    }
    Some(())
}

fn row_bytes(lanes: WaveSize) -> usize {
    lanes.lanes() as usize * 4
}

fn same_for_all(
    place: &Place<'_>,
    offset: u128,
    count: u64,
    to: u64,
    wave: &dyn Wave,
    result: &mut LaneBits,
) -> Option<()> {
    let place = Place {
        bit_offset: place.bit_offset.checked_add(offset)?,
        ..*place
    };
    let access = Access {
        wave,
        lane: None,
        max_bits: count.max(1),
    };
    let bits = read(&Location::One(place), count, &access)
        .ok()
        .filter(Bits::is_complete)?;
    result.scatter(&bits.bytes, 0, 0, count, to);
    Some(())
}
