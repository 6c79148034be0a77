//! Reads values: the bits of a node, their state, and their location.

use super::node::Root;
use super::{NoValue, Node, Tree};
use crate::arch::{AddressSpace, Apertures, Lane};
use crate::debug_info::types::{TypeId, TypeTable};
use crate::display::Pointee;
use crate::error::Need;
use crate::eval::Reading;
use crate::inspect::{NotUnderstood, ValueState, ValueStateKind, implicit_unit};
use crate::location::{Bits, LaneSelect, Location, Place, Storage, read};

impl<'p> Node<'p> {
    /// Returns the address space and the address of the value.
    ///
    /// # Errors
    /// If it is in a register, a constant, or in several places.
    pub(crate) fn address(&self) -> Result<(AddressSpace, u64), NoValue> {
        let (space, start) = match &self.root {
            Root::Memory { space, address, .. } => (*space, i128::from(*address) * 8),
            Root::Bits { location, .. } => start_in_memory(location.as_ref(), self.lane)?,
            Root::Place(location) => start_in_memory(Some(location), self.lane)?,
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

/// Truncates an address to the size of pointers in a space.
pub(crate) fn cut(address: i128, space: AddressSpace) -> u64 {
    let [low, _] = halves(address);
    let bits = space.address_size_in_bits(8);
    low & u64::MAX.checked_shr(64 - bits).unwrap_or(0)
}

/// Returns the low and the high half of a number.
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

/// Returns the start of a location in memory for a lane, in bits.
fn start_in_memory(
    location: Option<&Location<'_>>,
    lane: Lane,
) -> Result<(AddressSpace, i128), NoValue> {
    let nowhere = |reason: String| Err(NoValue::NoAddress(reason));
    let Some(location) = location else {
        return nowhere("it is a value without a place".to_owned());
    };
    let Some(place) = location.single() else {
        return nowhere("it is in several places".to_owned());
    };
    match place.storage {
        Storage::Memory { space, lane: owner } => {
            // A generic address of another lane may refer to global memory, which all lanes share.
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

impl<'p> Tree<'_, 'p, '_> {
    /// Reads bits of a value from its start on.
    ///
    /// # Errors
    /// If its location is not readable. Missing bits are in the masks.
    pub(crate) fn read(&self, node: &Node<'p>, bit_size: u64) -> Result<Bits, NoValue> {
        self.check_size(bit_size.div_ceil(8).into())?;
        let start_from = |start: i128| start.saturating_add(node.bit_offset);
        match &node.root {
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
                let start = start_from(i128::from(*address) * 8);
                let location = in_memory(self.seen_as(*space), start, node.lane);
                self.read_location(&location, node.lane, bit_size)
            }
            Root::Bits { bits, location } => {
                let start = u64::try_from(node.bit_offset).ok();
                let end = start.and_then(|start| start.checked_add(bit_size));
                if let (Some(start), Some(end)) = (start, end)
                    && end <= bits.bit_size
                {
                    return Ok(bits.part(start, bit_size)?);
                }
                let Ok((space, start)) = start_in_memory(location.as_ref(), node.lane) else {
                    return Err(NoValue::OutsideOfObject);
                };
                let location = in_memory(self.seen_as(space), start_from(start), node.lane);
                self.read_location(&location, node.lane, bit_size)
            }
            Root::Place(location) => {
                let location =
                    location.offset_by_bits(node.bit_offset, self.frame.stop().arena())?;
                self.read_location(&location, node.lane, bit_size)
            }
        }
    }

    /// Checks that a value of this many bytes may be read.
    pub(crate) fn check_size(&self, bytes: u128) -> Result<(), NoValue> {
        let most = self.frame.stop().limits().value;
        if bytes > most.into() {
            return Err(NoValue::TooLarge { bytes, most });
        }
        Ok(())
    }

    /// Returns the location at which a value starts, if it has one.
    pub(super) fn location(&self, node: &Node<'p>) -> Option<Location<'p>> {
        let location = match &node.root {
            Root::Memory { is_null: true, .. } => return None,
            Root::Memory { space, address, .. } => {
                let start = i128::from(*address) * 8;
                let start = start.saturating_add(node.bit_offset);
                return Some(in_memory(*space, start, node.lane));
            }
            Root::Bits { location, .. } => (*location)?,
            Root::Place(location) => *location,
        };
        let location = Location::One(location.single()?.in_lane(node.lane)?);
        let arena = self.frame.stop().arena();
        location.offset_by_bits(node.bit_offset, arena).ok()
    }

    /// Reads bits of a location.
    pub(crate) fn read_location(
        &self,
        location: &Location<'_>,
        lane: Lane,
        bit_size: u64,
    ) -> Result<Bits, NoValue> {
        let stop = self.frame.stop();
        Ok(read(location, bit_size, &stop.access(Some(lane)))?)
    }

    /// Returns the targets of pointers without bits in a value.
    pub(crate) fn pointees(&self, node: &Node<'p>, types: &TypeTable) -> Vec<Pointee> {
        // Only variables and targets of such pointers can have any.
        if matches!(node.root, Root::Memory { .. }) {
            return Vec::new();
        }
        let location = self.location(node);
        let Some((location, unit)) = location.and_then(|at| Some((at, implicit_unit(&at)?))) else {
            return Vec::new();
        };
        match self.context(unit) {
            Ok(context) => context.pointees((&location, node.ty), node.lane, types),
            Err(_) => Vec::new(),
        }
    }

    /// Returns the space for looking up an address. Compilers omit the space of generic pointers. No global memory is inside the apertures, so an
    /// address inside belongs to the memory of the aperture.
    fn seen_as(&self, space: AddressSpace) -> AddressSpace {
        let is_tolerant = self.frame.stop().options().reading == Reading::Tolerant;
        if space == AddressSpace::None && is_tolerant {
            AddressSpace::Generic
        } else {
            space
        }
    }

    /// Converts a pointer from one space to another.
    pub(crate) fn convert(
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

/// Converts a pointer through the generic address space.
fn between(
    apertures: Apertures,
    from: AddressSpace,
    address: u64,
    to: AddressSpace,
) -> Option<u64> {
    let generic = apertures.pointer_to_generic(from, address)?;
    apertures.pointer_from_generic(to, generic)
}

/// Returns the location at an address, in bits, for a lane.
fn in_memory<'p>(space: AddressSpace, start: i128, lane: Lane) -> Location<'p> {
    // Addresses wrap, like pointers. The bit offset within a byte stays.
    let address = cut(start.div_euclid(8), space);
    let within = u128::try_from(start.rem_euclid(8)).unwrap_or(0);
    let is_of_lane = matches!(space, AddressSpace::PrivateLane | AddressSpace::Generic);
    let lane = if is_of_lane {
        LaneSelect::One(lane)
    } else {
        LaneSelect::None
    };
    let bit_offset = u128::from(address) * 8 + within;
    Location::One(Place::new(Storage::Memory { space, lane }, bit_offset))
}

/// The state of a value that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) state: ValueStateKind,
    /// Additional text for the state.
    pub(crate) message: Option<String>,
}

impl Known {
    /// Returns the state of bits of a type. `pointees` are the targets of implicit pointers in them.
    pub(crate) fn of(
        bits: &Bits,
        pointees: &[Pointee],
        types: &mut TypeTable,
        ty: TypeId,
    ) -> Known {
        let NotUnderstood { whole, part } = NotUnderstood::of(types, ty);
        let state = match (&whole, pointees) {
            (Some(_), _) => ValueStateKind::Unsupported,
            (None, []) => ValueState::of_bits(bits).kind(),
            (None, [..]) => ValueStateKind::Partial,
        };
        let is_hidden = state == ValueStateKind::Ok && part.is_some();
        let state = match is_hidden {
            true => ValueStateKind::Partial,
            false => state,
        };
        let message = whole.or_else(|| part.filter(|_| state == ValueStateKind::Partial));
        Known { state, message }
    }
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
