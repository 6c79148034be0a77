//! Computes the addresses of an access in each lane.
//!
//! Sources: AMD's instruction set architecture documents, "Buffer Addressing", "Range Checking", "Memory Buffer Resource
//! Descriptor", "Flat Memory Instructions" and "Scalar Memory Operations".

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few families and operands differ from most"
)]

use super::past::{Now, Past, lanes};
use crate::arch::{AddressSpace, Apertures, Family, Lane, scratch};
use crate::isa::{AccessKind, Operand, Reach, ReachKind};

/// The addresses of the wave's memories.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memories {
    pub(super) family: Family,
    pub(super) apertures: Option<Apertures>,
    /// The address of the wave's scratch in the process.
    pub(super) scratch: Option<u64>,
}

/// The bytes that an access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// A second address of the same bytes: the generic address of a lane's scratch. It equals the first one if the place of the wave's scratch in
    /// the process is unknown.
    pub(super) generic: Option<u64>,
}

impl Touched {
    /// Returns true if `address` is an address of the process, of which mappings tell whether it exists.
    pub(super) fn is_of_process(&self) -> bool {
        self.generic != Some(self.address)
    }
}

/// The bytes that a lane accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InLane {
    /// Some registers of its address are unknown.
    Unknown,
    /// None: LDS, or an access that the bounds of a buffer prevent.
    Nothing,
    At(Touched),
}

/// Returns the bytes that a scalar access touches.
pub(super) fn scalar(now: &Now<'_>, past: &Past, reach: &Reach) -> InLane {
    let found = || {
        let index = past.operand(now, reach.index, 0)?;
        let offset = i64::from(index).wrapping_add(reach.offset.into());
        let (address, bytes) = match reach.descriptor {
            None => {
                let base = pair(now, past, reach.base)?;
                (base.wrapping_add_signed(offset), u64::from(reach.bytes))
            }
            Some(descriptor) => {
                let words = Descriptor::read(now, past, descriptor)?;
                let offset = u64::try_from(offset).ok()?;
                let stride = words.stride.max(1);
                let size = u64::from(words.records).saturating_mul(stride);
                let left = size.saturating_sub(offset);
                (
                    words.base.wrapping_add(offset),
                    u64::from(reach.bytes).min(left),
                )
            }
        };
        // The lowest bits are ignored, except for accesses of less than a dword.
        let aligned = match bytes {
            0..4 => address,
            _ => address & !3,
        };
        Some((aligned, bytes))
    };
    match found() {
        None => InLane::Unknown,
        Some((_, 0)) => InLane::Nothing,
        Some((address, bytes)) => InLane::At(Touched {
            address,
            bytes,
            generic: None,
        }),
    }
}

/// Returns the bytes that a lane accesses.
pub(super) fn in_lane(
    now: &Now<'_>,
    past: &Past,
    reach: &Reach,
    lane: u8,
    memories: &Memories,
) -> InLane {
    let ReachKind::Vector(kind) = reach.kind else {
        return scalar(now, past, reach);
    };
    let word = |n: u8| {
        let register = reach.address?.first.plus(n)?;
        past.vector(now, register).get(lane)
    };
    let whole = || Some(u64::from(word(1)?) << 32 | u64::from(word(0)?));
    let at = |address: u64| {
        InLane::At(Touched {
            address,
            bytes: reach.bytes.into(),
            generic: None,
        })
    };
    let found = match kind {
        AccessKind::Global | AccessKind::Flat => {
            let base = match reach.base {
                Operand::Null => whole(),
                base => pair(now, past, base)
                    .zip(word(0))
                    .map(|(base, offset)| base.wrapping_add(offset.into())),
            };
            let address = base.map(|base| base.wrapping_add_signed(reach.offset.into()));
            address.map(|address| match (kind, memories.apertures) {
                (AccessKind::Flat, Some(apertures)) => {
                    match Apertures::resolve(Some(apertures), address) {
                        (AddressSpace::Local, _) => InLane::Nothing,
                        (AddressSpace::PrivateLane, private) => {
                            in_scratch(now, reach, private, lane, memories)
                        }
                        (_, _) => at(address),
                    }
                }
                (_, _) => at(address),
            })
        }
        AccessKind::Scratch => (|| {
            let base = past.operand(now, reach.base, 0)?;
            let offset = match reach.address {
                Some(_) => word(0)?,
                None => 0,
            };
            let private = base.wrapping_add(offset).wrapping_add_signed(reach.offset);
            Some(in_scratch(now, reach, private.into(), lane, memories))
        })(),
        AccessKind::Buffer => (|| {
            let descriptor = Descriptor::read(now, past, reach.descriptor?)?;
            let base = past.operand(now, reach.base, 0)?;
            let (index, offset) = match (reach.has_index, reach.has_offset) {
                (true, true) => (word(0)?, word(1)?),
                (true, false) => (word(0)?, 0),
                (false, true) => (0, word(0)?),
                (false, false) => (0, 0),
            };
            descriptor.access(reach, memories.family, lane, [index, offset, base])
        })(),
    };
    found.unwrap_or(InLane::Unknown)
}

/// Returns the bytes at an address of a lane's scratch.
fn in_scratch(now: &Now<'_>, reach: &Reach, private: u64, lane: u8, memories: &Memories) -> InLane {
    let generic = memories
        .apertures
        .map(|apertures| apertures.private_base.wrapping_add(private));
    let Ok(in_lane) = u32::try_from(private) else {
        return InLane::Unknown;
    };
    let in_wave = scratch::wave_address(in_lane, Lane(lane), now.wave_size);
    let address = memories.scratch.zip(in_wave);
    match (address.map(|(start, at)| start.wrapping_add(at)), generic) {
        (Some(address), generic) => InLane::At(Touched {
            address,
            bytes: u64::from(reach.bytes).min(4),
            generic,
        }),
        (None, Some(generic)) => InLane::At(Touched {
            address: generic,
            bytes: reach.bytes.into(),
            generic: Some(generic),
        }),
        (None, None) => InLane::Unknown,
    }
}

/// Returns the base address of an access in scalar registers: of a buffer in most code. Returns `None` if the access has none, or it is unknown.
pub(super) fn base(now: &Now<'_>, past: &Past, reach: &Reach, memories: &Memories) -> Option<u64> {
    match (reach.kind, reach.descriptor) {
        (ReachKind::Vector(AccessKind::Scratch), _) => None,
        // On gfx125x, descriptors have another form.
        (_, Some(_)) if memories.family == Family::Gfx12_5 => None,
        (_, Some(descriptor)) => Some(Descriptor::read(now, past, descriptor)?.base),
        (_, None) => match reach.base {
            base @ Operand::Registers(_) => pair(now, past, base),
            _ => None,
        },
    }
}

/// Returns an address in two scalar registers.
fn pair(now: &Now<'_>, past: &Past, operand: Operand) -> Option<u64> {
    let low = past.operand(now, operand, 0)?;
    let high = past.operand(now, operand, 1)?;
    Some(u64::from(high) << 32 | u64::from(low))
}

/// A buffer descriptor.
struct Descriptor {
    base: u64,
    /// The distance from one element to the next, in bytes.
    stride: u64,
    records: u32,
    /// Words 1 and 3.
    second: u32,
    fourth: u32,
}

impl Descriptor {
    fn read(now: &Now<'_>, past: &Past, operand: Operand) -> Option<Descriptor> {
        let word = |n| past.operand(now, operand, n);
        let (first, second, records, fourth) = (word(0)?, word(1)?, word(2)?, word(3)?);
        Some(Descriptor {
            base: u64::from(second & 0xffff) << 32 | u64::from(first),
            stride: (second >> 16 & 0x3fff).into(),
            records,
            second,
            fourth,
        })
    }

    /// Computes the bytes that a lane accesses through the descriptor.
    ///
    /// * `parts`: the index, the offset and the scalar offset.
    fn access(&self, reach: &Reach, family: Family, lane: u8, parts: [u32; 3]) -> Option<InLane> {
        let is_old = matches!(
            family,
            Family::Gfx9 | Family::Gfx908 | Family::Gfx90a | Family::Gfx942 | Family::Gfx950
        );
        // On gfx125x, the base has 57 bits.
        if family == Family::Gfx12_5 {
            return None;
        }
        let [index, offset, scalar] = parts.map(u64::from);
        let adds_lane = self.fourth >> 23 & 1 != 0;
        let index = if adds_lane {
            index.wrapping_add(lane.into())
        } else {
            index
        };
        let offset = offset.wrapping_add_signed(reach.offset.into());
        let swizzle = match family {
            Family::Gfx11 | Family::Gfx11_7 | Family::Gfx12 => self.second >> 30 & 3,
            _ => self.second >> 31 & 1,
        };
        let is_swizzled = swizzle != 0 && self.stride != 0;
        let size = u64::from(reach.bytes);
        let records = u64::from(self.records);
        let linear = offset.wrapping_add(index.wrapping_mul(self.stride));
        // The number of bytes of the access within the bounds.
        let within = |end: u64, at: u64| end.saturating_sub(at).min(size);
        let bytes = match (is_old, self.fourth >> 28 & 3) {
            (true, _) if !is_swizzled => within(records.saturating_sub(scalar), linear),
            (true, _) | (false, 1) if index >= records => 0,
            (false, 0) if index >= records => 0,
            (false, 0) if self.stride != 0 => within(self.stride, offset),
            (false, 2) if records == 0 => 0,
            (false, 3) if !is_swizzled => within(records.saturating_sub(scalar), linear),
            (false, 3) if index >= records => 0,
            (_, _) => size,
        };
        if bytes == 0 {
            return Some(InLane::Nothing);
        }
        let start = self.base.wrapping_add(scalar);
        let address = if is_swizzled {
            let group = 8_u64 << (self.fourth >> 21 & 3);
            let element = match (is_old, swizzle) {
                (true, _) => 2_u64 << (self.fourth >> 19 & 3),
                (false, 2) => 8,
                (false, 3) => 16,
                (false, _) => 4,
            };
            let (row, place) = (index.checked_div(group)?, index.checked_rem(group)?);
            let (part, rest) = (offset.checked_div(element)?, offset.checked_rem(element)?);
            let rows = row.wrapping_mul(self.stride);
            let rows = rows.wrapping_add(part.wrapping_mul(element));
            let in_rows = rows.wrapping_mul(group);
            start
                .wrapping_add(in_rows)
                .wrapping_add(place.wrapping_mul(element))
                .wrapping_add(rest)
        } else {
            start.wrapping_add(linear)
        };
        let bytes = if is_swizzled { bytes.min(4) } else { bytes };
        Some(InLane::At(Touched {
            address,
            bytes,
            generic: None,
        }))
    }
}

/// Returns the lanes of a mask with the bytes that an access touches, and true if those of some lanes are unknown.
pub(super) fn addresses(
    now: &Now<'_>,
    past: &Past,
    reach: &Reach,
    mask: u64,
    memories: &Memories,
) -> (Vec<(u8, Touched)>, bool) {
    let mut found = Vec::new();
    let mut is_unknown = false;
    for lane in lanes(mask) {
        match in_lane(now, past, reach, lane, memories) {
            InLane::Unknown => is_unknown = true,
            InLane::Nothing => {}
            InLane::At(touched) => found.push((lane, touched)),
        }
    }
    (found, is_unknown)
}
