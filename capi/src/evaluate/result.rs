//! A result, with the data from which it borrows.

use std::sync::Arc;

use hetdwarf::arch::{Lane, Register, WaveSize};
use hetdwarf::eval::Outcome;
use hetdwarf::location::{Arena, LaneSelect, Location, Place, Storage};
use hetdwarf::wave::{AccessError, Memory, Wave};
use hetdwarf_owned::Pinned;

use super::{
    HETDWARF_STORAGE_COMPOSITE, HETDWARF_STORAGE_IMPLICIT, HETDWARF_STORAGE_IMPLICIT_POINTER,
    HETDWARF_STORAGE_MEMORY, HETDWARF_STORAGE_REGISTER, HETDWARF_STORAGE_UNDEFINED, hetdwarf_place,
};
use crate::status::{Answer, Fault};
use crate::stop::{SharedStop, lane_of};
use crate::text::Texts;

/// The owner of the data from which results borrow. It is dropped after them.
pub(super) struct Home {
    /// The arenas of composites and constants: from this evaluation, and from the results that were its inputs.
    pub(super) arenas: Vec<Arc<Pinned<Arena<'static>>>>,
    pub(super) stop: Option<SharedStop>,
}

/// The contents of a result's handle.
pub(crate) struct Answered {
    pub(super) outcome: Outcome<'static>,
    /// The lane that it was evaluated for.
    pub(super) lane: Option<Lane>,
    pub(super) texts: Texts,
    pub(super) home: Arc<Home>,
}

/// A wave without any state, used to read constants.
pub(super) struct NoWave;

impl Wave for NoWave {
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

/// The most bits that are read or written at once.
pub(super) const MOST_BITS: u64 = 1 << 24;

impl Answered {
    pub(super) fn wave(&self) -> &dyn Wave {
        match &self.home.stop {
            Some(stop) => stop.stop().wave(),
            None => &NoWave,
        }
    }

    pub(super) fn location(&self) -> Answer<Location<'static>> {
        match self.outcome {
            Outcome::Location(location) => Ok(location),
            Outcome::Value(_) => Err(Fault::argument("the result is a value, not a location")),
        }
    }

    /// Returns the location to read. A value is a place that can only be read.
    pub(super) fn readable(&self) -> Location<'static> {
        match self.outcome {
            Outcome::Location(location) => location,
            Outcome::Value(value) => {
                let bit_size = u16::try_from(value.base_type.bit_size).unwrap_or(u16::MAX);
                let bits = value.bits;
                Location::One(Place::new(Storage::Value { bits, bit_size }, 0))
            }
        }
    }

    pub(super) fn place(&self, index: usize) -> Answer<Place<'static>> {
        let location = self.location()?;
        let place = location.places().get(index).copied();
        place.ok_or_else(|| Fault::not_found(format!("there is no place {index}")))
    }

    /// Returns the lane to read or write: the caller's lane, or else the lane of the evaluation.
    pub(super) fn lane(&self, number: i32) -> Answer<Option<Lane>> {
        Ok(lane_of(number, self.wave())?.or(self.lane))
    }

    /// Returns a part of the same result.
    pub(super) fn other(&self, location: Location<'static>) -> Answered {
        Answered {
            outcome: Outcome::Location(location),
            lane: self.lane,
            texts: Texts::default(),
            home: Arc::clone(&self.home),
        }
    }

    pub(super) fn describe(&self, place: &Place<'static>) -> hetdwarf_place {
        let offset = self.lane.and_then(|lane| place.bit_offset_in(lane));
        let offset = offset.unwrap_or(place.bit_offset);
        let texts = &self.texts;
        let none = hetdwarf_place {
            size: 0,
            storage: HETDWARF_STORAGE_UNDEFINED,
            bit: u32::try_from(offset % 8).unwrap_or(0),
            byte_offset: u64::try_from(offset / 8).unwrap_or(u64::MAX),
            address_space: 0,
            lane: crate::wave::HETDWARF_NO_LANE,
            name: core::ptr::null(),
            register_number: 0,
            padding: 0,
            bit_size: 0,
            bytes: core::ptr::null(),
            entry: 0,
            pointer_offset: 0,
            reserved: [0; 4],
        };
        match place.storage {
            Storage::Undefined => none,
            Storage::Memory { space, lane } => hetdwarf_place {
                storage: HETDWARF_STORAGE_MEMORY,
                address_space: space.number().into(),
                name: texts.keep(space.name()),
                lane: match lane {
                    LaneSelect::None => none.lane,
                    LaneSelect::One(lane) => lane.0.into(),
                    LaneSelect::Each => self.lane.map_or(none.lane, |lane| lane.0.into()),
                },
                ..none
            },
            Storage::Register(register) => hetdwarf_place {
                storage: HETDWARF_STORAGE_REGISTER,
                name: texts.keep(&register.to_string()),
                register_number: register.number().into(),
                ..none
            },
            Storage::Value { bits, bit_size } => {
                let length = usize::from(bit_size.div_ceil(8));
                let bytes = bits.to_le_bytes();
                let bytes = bytes.get(..length).unwrap_or(&bytes);
                hetdwarf_place {
                    storage: HETDWARF_STORAGE_IMPLICIT,
                    bit_size: bit_size.into(),
                    bytes: texts.keep_bytes(bytes),
                    ..none
                }
            }
            Storage::Constant(bytes) => hetdwarf_place {
                storage: HETDWARF_STORAGE_IMPLICIT,
                bit_size: bytes.len() as u64 * 8,
                bytes: bytes.as_ptr(),
                ..none
            },
            Storage::ImplicitPointer(pointer) => hetdwarf_place {
                storage: HETDWARF_STORAGE_IMPLICIT_POINTER,
                address_space: pointer.space.number().into(),
                name: texts.keep(pointer.space.name()),
                bit_size: pointer.bit_size.into(),
                entry: pointer.entry,
                pointer_offset: pointer.byte_offset,
                ..none
            },
            Storage::Composite(composite) => hetdwarf_place {
                storage: HETDWARF_STORAGE_COMPOSITE,
                bit_size: u64::try_from(composite.bit_size()).unwrap_or(u64::MAX),
                ..none
            },
        }
    }
}

#[expect(
    clippy::arc_with_non_send_sync,
    reason = "the lock lets one thread at a time use it"
)]
pub(super) fn home(
    arenas: Vec<Arc<Pinned<Arena<'static>>>>,
    stop: Option<SharedStop>,
) -> Arc<Home> {
    Arc::new(Home { arenas, stop })
}
