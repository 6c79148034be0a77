//! Objects of one lane: where they are, and the reading of their bits.
//!
//! A variable is what `inspect` has read of it, with its missing bits; only what lies beyond, and what pointers
//! point to, is read here.

use std::rc::Rc;

use super::error::NoValue;
use crate::arch::{AddressSpace, Apertures, Lane};
use crate::debug_info::types::TypeId;
use crate::error::Need;
use crate::eval::Reading;
use crate::inspect::{MOST_BYTES, StopFrame};
use crate::location::{Access, Bits, LaneSelect, Location, Place, Storage, read_within};

/// An object of a lane.
#[derive(Clone, Debug)]
pub(super) struct Object<'p> {
    /// Its type in the lane.
    pub(super) ty: TypeId,
    pub(super) root: Root<'p>,
    /// How many bits after the start of the root it starts.
    pub(super) bit_offset: i128,
}

/// What an object is a part of.
#[derive(Clone, Debug)]
pub(super) enum Root<'p> {
    /// Bits that were read, and where they are, if they are anywhere.
    Bits {
        bits: Rc<Bits>,
        location: Option<Location<'p>>,
    },
    /// Memory.
    Memory {
        space: AddressSpace,
        address: u64,
        is_null: bool,
    },
}

/// A lane of a frame, of which objects are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'s, 'p, 'a> {
    pub(super) frame: StopFrame<'s, 'p, 'a>,
    pub(super) lane: Lane,
}

impl<'p> Object<'p> {
    /// The part that starts so many bits further on.
    pub(super) fn part(&self, ty: TypeId, bits: i128) -> Object<'p> {
        Object {
            ty,
            root: self.root.clone(),
            bit_offset: self.bit_offset.saturating_add(bits),
        }
    }

    /// The space and the address of the object.
    pub(super) fn address(&self, lane: Lane) -> Result<(AddressSpace, u64), NoValue> {
        let (space, start) = match &self.root {
            Root::Memory { space, address, .. } => (*space, i128::from(*address).saturating_mul(8)),
            Root::Bits { location, .. } => start_in_memory(location.as_ref(), lane)?,
        };
        let bits = start.saturating_add(self.bit_offset);
        if bits.rem_euclid(8) != 0 {
            return Err(NoValue::NoAddress(
                "it does not start at a whole byte".to_owned(),
            ));
        }
        Ok((space, cut(bits.div_euclid(8), space)))
    }
}

/// An address, as far as pointers of a space hold it.
pub(super) fn cut(address: i128, space: AddressSpace) -> u64 {
    let [low, _] = halves(address);
    let bits = space.address_size_in_bits(8);
    low & u64::MAX
        .checked_shr(64u32.saturating_sub(bits))
        .unwrap_or(0)
}

/// The low and the high half of a number.
fn halves(number: i128) -> [u64; 2] {
    let bytes = number.to_le_bytes();
    let half = |from: usize| {
        let mut half = [0; 8];
        for (to, from) in half.iter_mut().zip(bytes.iter().skip(from)) {
            *to = *from;
        }
        u64::from_le_bytes(half)
    };
    [half(0), half(8)]
}

/// Where a location starts in memory for a lane, in bits.
fn start_in_memory(
    location: Option<&Location<'_>>,
    lane: Lane,
) -> Result<(AddressSpace, i128), NoValue> {
    let nowhere = |reason: String| Err(NoValue::NoAddress(reason));
    let Some(location) = location else {
        return nowhere("it is a value, and in no place".to_owned());
    };
    let Some(place) = location.single() else {
        return nowhere("it is in several places".to_owned());
    };
    match place.storage {
        Storage::Memory { space, lane: owner } => {
            // A generic address of another lane may be one of global memory, which is the same in all lanes.
            if let LaneSelect::One(owner) = owner
                && space == AddressSpace::PrivateLane
                && owner != lane
            {
                return nowhere(format!("it is in the memory of lane {}", owner.0));
            }
            let start = place
                .bit_offset_in(lane)
                .and_then(|start| i128::try_from(start).ok());
            match start {
                Some(start) => Ok((space, start)),
                None => nowhere("it starts outside of its memory".to_owned()),
            }
        }
        Storage::Register(register) => nowhere(format!("it is in the register {register}")),
        Storage::Composite(_) => nowhere("its parts are in several places".to_owned()),
        Storage::Value { .. } | Storage::Constant(_) => nowhere("it is a constant".to_owned()),
        Storage::ImplicitPointer(_) => {
            nowhere("it is a pointer that was optimized away".to_owned())
        }
        Storage::Undefined => nowhere("it was optimized out".to_owned()),
    }
}

impl Reader<'_, '_, '_> {
    /// Reads bits of an object from its start on.
    pub(super) fn read(&self, object: &Object<'_>, bit_size: u64) -> Result<Bits, NoValue> {
        let bytes = u128::from(bit_size.div_ceil(8));
        if bytes > MOST_BYTES.into() {
            return Err(NoValue::TooLarge {
                bytes,
                most: MOST_BYTES,
            });
        }
        match &object.root {
            Root::Memory {
                space,
                is_null: true,
                ..
            } => Err(NoValue::NullPointer(*space)),
            Root::Memory {
                space,
                address,
                is_null: false,
            } => {
                let start = i128::from(*address)
                    .saturating_mul(8)
                    .saturating_add(object.bit_offset);
                self.memory(*space, start, bit_size)
            }
            Root::Bits { bits, location } => {
                let start = u64::try_from(object.bit_offset).ok();
                let end = start.and_then(|start| start.checked_add(bit_size));
                if let (Some(start), Some(end)) = (start, end)
                    && end <= bits.bit_size
                {
                    return Ok(bits.part(start, bit_size));
                }
                let Ok((space, start)) = start_in_memory(location.as_ref(), self.lane) else {
                    return Err(NoValue::OutsideOfObject);
                };
                self.memory(space, start.saturating_add(object.bit_offset), bit_size)
            }
        }
    }

    /// Reads memory from a bit on.
    fn memory(&self, space: AddressSpace, start: i128, bit_size: u64) -> Result<Bits, NoValue> {
        let space = self.seen_as(space);
        // Addresses wrap, as pointers do; what is within a byte stays.
        let address = cut(start.div_euclid(8), space);
        let within = u128::try_from(start.rem_euclid(8)).unwrap_or(0);
        let is_of_lane = matches!(space, AddressSpace::PrivateLane | AddressSpace::Generic);
        let lane = if is_of_lane {
            LaneSelect::One(self.lane)
        } else {
            LaneSelect::None
        };
        let bit_offset = u128::from(address).saturating_mul(8).saturating_add(within);
        let location = Location::One(Place::new(Storage::Memory { space, lane }, bit_offset));
        self.location(&location, bit_size)
    }

    /// Reads bits of a location.
    pub(super) fn location(&self, location: &Location<'_>, bit_size: u64) -> Result<Bits, NoValue> {
        let stop = self.frame.stop();
        let access = Access {
            wave: stop.wave(),
            lane: Some(self.lane),
            max_bits: stop.limits().bits,
        };
        Ok(read_within(location, bit_size, &access, stop.meter())?)
    }

    /// The space that an address is looked up in. Compilers leave the space of generic pointers out; no global
    /// memory lies in the apertures, so that what does is meant to be in what they show.
    fn seen_as(&self, space: AddressSpace) -> AddressSpace {
        let is_tolerant = self.frame.stop().options().reading == Reading::Tolerant;
        if space == AddressSpace::None && is_tolerant {
            AddressSpace::Generic
        } else {
            space
        }
    }

    /// A pointer of one space as one of another.
    pub(super) fn convert(
        &self,
        address: u64,
        from: AddressSpace,
        to: AddressSpace,
    ) -> Result<u64, NoValue> {
        let is_flat = |space| matches!(space, AddressSpace::None | AddressSpace::Generic);
        if from == to || (is_flat(from) && is_flat(to)) {
            return Ok(address);
        }
        if address == from.null() {
            return Ok(to.null());
        }
        let Some(apertures) = self.frame.stop().wave().apertures() else {
            return Err(crate::Error::from(Need::Apertures).into());
        };
        let converted = if is_flat(to) {
            apertures.pointer_to_generic(from, address)
        } else if is_flat(from) {
            apertures.pointer_from_generic(to, address)
        } else {
            between(apertures, from, address, to)
        };
        converted.ok_or(NoValue::NotInSpace { from, address, to })
    }
}

/// A pointer by way of the generic address space.
fn between(
    apertures: Apertures,
    from: AddressSpace,
    address: u64,
    to: AddressSpace,
) -> Option<u64> {
    let generic = apertures.pointer_to_generic(from, address)?;
    apertures.pointer_from_generic(to, generic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_wrap_at_the_size_of_their_space() {
        assert_eq!(cut(-4, AddressSpace::PrivateLane), 0xffff_fffc);
        assert_eq!(cut(1 << 32, AddressSpace::Local), 0);
        assert_eq!(cut(-1, AddressSpace::None), u64::MAX);
        assert_eq!(cut(1 << 64, AddressSpace::Generic), 0);
    }
}
