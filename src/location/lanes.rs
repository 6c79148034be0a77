//! Reads the bits of a location for all lanes at once.
//!
//! A vector register and a row of interleaved scratch are each read once. Storage that is the same for all lanes is read once and copied. Other
//! storage is read lane by lane.

use super::bits::{Bits, copy_bits, zeros};
use super::memory::lane_of;
use super::read::{Access, read};
use super::{Composite, LaneSelect, Location, Mask, Place, Storage};
use crate::arch::{AddressSpace, Lane, Register, WaveSize, scratch};
use crate::error::Result;
use crate::wave::Memory;

/// The bits of an object in every lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneBits {
    /// The bytes of lane 0, lane 1, and so on, or only one copy if they are the same for all.
    bytes: Vec<u8>,
    bytes_per_lane: usize,
    bit_size: u64,
    lanes: usize,
    /// True if bytes and masks are the same for all lanes.
    same: bool,
    /// Empty if every bit of every lane is available. Otherwise one entry for each lane, or a single one if all lanes are the same.
    masks: Vec<(Mask, Mask)>,
}

impl LaneBits {
    /// Creates bits that are all available, with this many bytes for each lane.
    pub(crate) fn complete(bytes: Vec<u8>, bytes_per_lane: usize, lanes: usize) -> LaneBits {
        debug_assert_eq!(Some(bytes.len()), bytes_per_lane.checked_mul(lanes));
        LaneBits {
            bytes,
            bytes_per_lane,
            bit_size: (bytes_per_lane as u64).saturating_mul(8),
            lanes,
            same: false,
            masks: Vec::new(),
        }
    }

    /// Returns the number of bits of a lane.
    #[must_use]
    pub fn bit_size(&self) -> u64 {
        self.bit_size
    }

    /// Returns true if every bit of every lane is available.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.masks.is_empty()
    }

    /// Returns the bytes of a lane, lowest bit first, or an empty slice for a lane that does not exist.
    #[must_use]
    pub fn bytes(&self, lane: Lane) -> &[u8] {
        let start = self
            .index(lane)
            .map(|at| at.wrapping_mul(self.bytes_per_lane));
        start
            .and_then(|start| self.bytes.get(start..)?.get(..self.bytes_per_lane))
            .unwrap_or_default()
    }

    /// Returns the dwords of all lanes, lowest byte first, if each lane has its own complete dword, as in a vector register.
    pub(crate) fn dwords(&self) -> Option<&[[u8; 4]]> {
        let is_dword = self.bytes_per_lane == 4 && !self.same && self.is_complete();
        let (dwords, _) = self.bytes.as_chunks();
        is_dword.then_some(dwords)
    }

    /// Returns the number of lanes, if all have the same bits.
    pub(crate) fn same_lanes(&self) -> Option<usize> {
        self.same.then_some(self.lanes)
    }

    /// Returns the bits of a lane without a value (optimized away).
    #[must_use]
    pub fn undefined(&self, lane: Lane) -> &Mask {
        self.masks(lane).map_or(NONE, |(undefined, _)| undefined)
    }

    /// Returns the bits of a lane whose value is unknown to the debugger.
    #[must_use]
    pub fn unavailable(&self, lane: Lane) -> &Mask {
        self.masks(lane)
            .map_or(NONE, |(_, unavailable)| unavailable)
    }

    /// Returns one lane's bits.
    #[must_use]
    pub fn bits(&self, lane: Lane) -> Bits {
        Bits {
            bytes: self.bytes(lane).to_vec(),
            bit_size: self.bit_size,
            undefined: self.undefined(lane).clone(),
            unavailable: self.unavailable(lane).clone(),
        }
    }

    /// Extends each lane to `bit_size` bits. The added bits are unavailable.
    pub(crate) fn extend_unavailable(&mut self, bit_size: u64) {
        if bit_size <= self.bit_size {
            return;
        }
        if self.masks.is_empty() {
            let count = if self.same { 1 } else { self.lanes };
            self.masks = vec![(Mask::new(), Mask::new()); count];
        }
        for (_, unavailable) in &mut self.masks {
            unavailable.insert(self.bit_size..bit_size);
        }
    }

    /// Returns the index of a lane's data, or `None` for a lane that does not exist.
    fn index(&self, lane: Lane) -> Option<usize> {
        let index = usize::from(lane.0);
        (index < self.lanes).then_some(if self.same { 0 } else { index })
    }

    fn masks(&self, lane: Lane) -> Option<&(Mask, Mask)> {
        self.masks.get(self.index(lane)?)
    }

    fn masks_mut(&mut self, lane: Lane, lanes: usize) -> Option<&mut (Mask, Mask)> {
        if self.masks.is_empty() {
            self.masks = vec![(Mask::new(), Mask::new()); lanes];
        }
        self.masks.get_mut(usize::from(lane.0))
    }
}

const NONE: &Mask = &Mask::new();

/// Reads `bit_size` bits of `location` for each lane of the wave. The lane in `access` is not used.
///
/// # Errors
/// Fails like [`read`](super::read()), with the error of the first lane that has one.
pub fn read_lanes(location: &Location<'_>, bit_size: u64, access: &Access<'_>) -> Result<LaneBits> {
    access.metered(|meter| {
        let access = Access {
            lane: None,
            meter: Some(meter),
            ..*access
        };
        read_each(location, bit_size, &access)
    })
}

fn read_each(location: &Location<'_>, bit_size: u64, access: &Access<'_>) -> Result<LaneBits> {
    let lanes = access.wave.wave_size();
    let count = lanes.lanes() as usize;
    if !location.stands_for_all_lanes() || bit_size > access.max_bits {
        let bits = read(location, bit_size, access)?;
        return Ok(LaneBits::same(bits, count));
    }
    let bytes_per_lane = bit_size.div_ceil(8);
    // An overflowing size cannot be allocated, which `zeros` reports.
    let bytes = zeros(bytes_per_lane.saturating_mul(count as u64))?;
    let mut result = LaneBits {
        bytes,
        bytes_per_lane: bytes_per_lane as usize,
        bit_size,
        lanes: count,
        same: false,
        masks: Vec::new(),
    };
    let mut rows = Rows {
        access,
        result: &mut result,
    };
    if let Location::One(place) = location
        && rows.place(place, 0, bit_size, 0).is_some()
    {
        return Ok(result);
    }
    // Some rows may have been stored before one failed.
    result.bytes.fill(0);
    for lane in lanes.all_lanes() {
        let access = Access {
            lane: Some(lane),
            ..*access
        };
        let bits = read(location, bit_size, &access)?;
        result.store(&bits, lane, count);
    }
    Ok(result)
}

impl LaneBits {
    /// Returns the same bits for all lanes.
    fn same(bits: Bits, lanes: usize) -> LaneBits {
        let complete = bits.is_complete();
        let masks = (bits.undefined, bits.unavailable);
        LaneBits {
            bytes_per_lane: bits.bytes.len(),
            bytes: bits.bytes,
            bit_size: bits.bit_size,
            lanes,
            same: true,
            masks: if complete { Vec::new() } else { vec![masks] },
        }
    }

    fn store(&mut self, bits: &Bits, lane: Lane, lanes: usize) {
        debug_assert_eq!(bits.bytes.len(), self.bytes_per_lane);
        let start = usize::from(lane.0).wrapping_mul(self.bytes_per_lane);
        let out = self.bytes.get_mut(start..).unwrap_or_default();
        for (to, from) in out.iter_mut().zip(&bits.bytes) {
            *to = *from;
        }
        if !bits.is_complete()
            && let Some(masks) = self.masks_mut(lane, lanes)
        {
            *masks = (bits.undefined.clone(), bits.unavailable.clone());
        }
    }

    /// Stores `count` bits for every lane: lane N's start at bit `from + N * step` of `row`.
    fn scatter(&mut self, row: &[u8], from: u64, step: u64, count: u64, to: u64) {
        // The usual case: whole dwords. They are copied without counting bits.
        let dwords = (from, step, count) == (0, 32, 32) && to.is_multiple_of(8);
        if dwords && to == 0 && self.bytes_per_lane == 4 {
            for (to, from) in self.bytes.iter_mut().zip(row) {
                *to = *from;
            }
            return;
        }
        if self.bytes_per_lane == 0 {
            return;
        }
        let lanes = self.bytes.chunks_exact_mut(self.bytes_per_lane);
        if dwords && let Ok(first) = usize::try_from(to / 8) {
            for (out, dword) in lanes.zip(row.as_chunks::<4>().0) {
                if let Some(out) = out.get_mut(first..).and_then(<[u8]>::first_chunk_mut) {
                    *out = *dword;
                }
            }
            return;
        }
        let mut bit = from;
        for out in lanes {
            copy_bits(row, bit, out, to, count);
            bit = bit.wrapping_add(step);
        }
    }
}

/// Reads bits for all lanes from storage that is arranged in rows. Returns `None` for other storage, or if something is missing: the slow path then
/// reports it.
struct Rows<'r> {
    access: &'r Access<'r>,
    result: &'r mut LaneBits,
}

impl Rows<'_> {
    /// Reads `count` bits, `offset` bits into `place`, to bit `to` of every lane.
    fn place(&mut self, place: &Place<'_>, offset: u128, count: u64, to: u64) -> Option<()> {
        // The data are copied for every lane, and charged accordingly.
        self.access.metered(|meter| meter.work(8)).ok()?;
        match place.storage {
            Storage::Register(register) => self.register(register, place, offset, count, to),
            Storage::Memory {
                space: AddressSpace::PrivateLane,
                lane: LaneSelect::Each,
            } if place.lane_step == 0 => {
                let start = place.bit_offset.checked_add(offset)?;
                if start.checked_add(count.into())? > place.storage_bits() {
                    return None;
                }
                self.scratch(u64::try_from(start).ok()?, count, to)
            }
            Storage::Composite(composite) if place.lane_step == 0 => {
                let start = place.bit_offset.checked_add(offset)?;
                self.composite(composite, start, count, to)
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
            | Storage::Composite(_) => self.same_for_all(place, offset, count, to),
        }
    }

    fn composite(
        &mut self,
        composite: &Composite<'_>,
        start: u128,
        count: u64,
        to: u64,
    ) -> Option<()> {
        if composite.is_repeated() {
            // When reading lane by lane, no element is read twice.
            return None;
        }
        let mut done = 0u64;
        while done < count {
            let at = start.checked_add(done.into())?;
            let piece = composite.piece(at, count.checked_sub(done)?)?;
            let to = to.checked_add(done)?;
            self.place(piece.location.single()?, piece.within, piece.count, to)?;
            done = done.checked_add(piece.count)?;
        }
        Some(())
    }

    fn register(
        &mut self,
        register: Register,
        place: &Place<'_>,
        offset: u128,
        count: u64,
        to: u64,
    ) -> Option<()> {
        if place.lane_step == 0 {
            return self.same_for_all(place, offset, count, to);
        }
        let step = u32::try_from(place.lane_step).ok()?;
        let start = u32::try_from(place.bit_offset.checked_add(offset)?).ok()?;
        let last = self
            .access
            .wave
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
        let bits = first_byte.checked_mul(8)?..end_byte.checked_mul(8)?;
        self.access.wave.read_register(register, bits, row).ok()?;
        self.result
            .scatter(row, (start % 8).into(), step.into(), count, to);
        Some(())
    }

    /// Reads interleaved scratch: the same dword of all lanes lies in a row.
    fn scratch(&mut self, start: u64, count: u64, to: u64) -> Option<()> {
        let lanes = self.access.wave.wave_size();
        let mut row = [0; 256];
        let row = row.get_mut(..row_bytes(lanes))?;
        let mut done = 0u64;
        while done < count {
            let bit = start.checked_add(done)?;
            let (dword, within) = (bit / 32, bit % 32);
            let dword_address = u32::try_from(dword.checked_mul(4)?).ok()?;
            let address = scratch::dwords_for_all_lanes(dword_address, lanes)?;
            self.access
                .wave
                .read_memory(Memory::PrivateWave, address, row)
                .ok()?;
            let left = 32u64.checked_sub(within)?.min(count.checked_sub(done)?);
            self.result
                .scatter(row, within, 32, left, to.checked_add(done)?);
            done = done.checked_add(left)?;
        }
        Some(())
    }

    fn same_for_all(&mut self, place: &Place<'_>, offset: u128, count: u64, to: u64) -> Option<()> {
        let place = Place {
            bit_offset: place.bit_offset.checked_add(offset)?,
            ..*place
        };
        let access = Access {
            max_bits: count.max(1),
            ..*self.access
        };
        let bits = read(&Location::One(place), count, &access)
            .ok()
            .filter(Bits::is_complete)?;
        self.result.scatter(&bits.bytes, 0, 0, count, to);
        Some(())
    }
}

fn row_bytes(lanes: WaveSize) -> usize {
    (lanes.lanes() as usize).wrapping_mul(4)
}
