//! Reads memory of a wave, in every address space.

use base64::Engine as _;

use hetdwarf::arch::{AddressSpace, Apertures, Lane};
use hetdwarf::limits::Limits;
use hetdwarf::location::{Access, Bits, LaneSelect, Location, Place, Storage, read};
use hetdwarf::untrusted::Untrusted;

use super::message::Request;
use super::protocol::{Body, Memory};
use super::session::{Answer, Session};

/// The most bytes that are read at once.
const MOST_BYTES: i64 = 1 << 20;

/// An address in the editor's notation: `0x7f0000001000`, `local:0x10`, `private_lane:3:0x10`.
pub(super) struct Reference {
    space: AddressSpace,
    lane: Option<Lane>,
    pub(super) address: u64,
}

impl Reference {
    /// Reads the argument of a request.
    ///
    /// # Errors
    /// If the argument is missing or not an address.
    pub(super) fn of(request: &Request) -> Result<Reference, String> {
        let text = request.text("memoryReference")?;
        Reference::parse(text.ok_or("memoryReference: it is missing")?)
    }

    fn parse(text: &str) -> Result<Reference, String> {
        let wrong = || {
            format!(
                "memoryReference {}: an address is expected, 0x7f0000001000, local:0x10 or private_lane:3:0x10",
                Untrusted::from(text.to_owned())
            )
        };
        let mut parts = text.rsplit(':');
        let address = parts.next().unwrap_or_default();
        let digits = address.strip_prefix("0x").ok_or_else(wrong)?;
        let address = u64::from_str_radix(digits, 16).map_err(|_| wrong())?;
        let mut parts: Vec<&str> = parts.collect();
        let space = match parts.pop() {
            None => AddressSpace::None,
            Some(name) => AddressSpace::from_name(name).ok_or_else(wrong)?,
        };
        let lane = match (parts.pop(), parts.pop()) {
            (None, _) => None,
            (Some(lane), None) => Some(Lane(lane.parse().map_err(|_| wrong())?)),
            (Some(_), Some(_)) => return Err(wrong()),
        };
        Ok(Reference {
            space,
            lane,
            address,
        })
    }

    /// Returns true for memory of the process, which contains the code.
    pub(super) fn is_of_process(&self) -> bool {
        self.space == AddressSpace::None
    }

    /// Returns the address in a pointer, unless the pointer is null or not fully known.
    pub(super) fn of_pointer(space: AddressSpace, lane: Lane, bits: &Bits) -> Option<Reference> {
        let mut number = [0; 8];
        if !bits.is_complete() || bits.bytes.len() > number.len() {
            return None;
        }
        for (to, from) in number.iter_mut().zip(&bits.bytes) {
            *to = *from;
        }
        let address = u64::from_le_bytes(number);
        (address != space.null()).then(|| Reference::new(space, lane, address))
    }

    /// Returns the address of a location in a lane, if it is a whole byte in memory.
    pub(super) fn of_location(location: &Location<'_>, lane: Lane) -> Option<Reference> {
        let place = location.single()?;
        let Storage::Memory { space, lane: owner } = place.storage else {
            return None;
        };
        let owner = match owner {
            LaneSelect::One(owner) => owner,
            LaneSelect::None | LaneSelect::Each => lane,
        };
        let bits = place.bit_offset_in(lane)?;
        let address = u64::try_from(bits / 8).ok()?;
        bits.is_multiple_of(8)
            .then(|| Reference::new(space, owner, address))
    }

    fn new(space: AddressSpace, lane: Lane, address: u64) -> Reference {
        let is_of_lane = matches!(space, AddressSpace::PrivateLane | AddressSpace::Generic);
        Reference {
            space,
            lane: is_of_lane.then_some(lane),
            address,
        }
    }

    /// Returns the address in its actual memory: a flat address may refer to private or local memory. Compilers omit the address space of
    /// flat pointers.
    pub(super) fn seen_from(self, apertures: Option<Apertures>) -> Reference {
        if !matches!(self.space, AddressSpace::None | AddressSpace::Generic) {
            return self;
        }
        let (space, address) = Apertures::resolve(apertures, self.address);
        Reference {
            space,
            address,
            ..self
        }
    }

    pub(super) fn text(&self) -> String {
        let address = self.address;
        match (self.space, self.lane) {
            (AddressSpace::None, _) => format!("{address:#x}"),
            (space, Some(lane)) => format!("{}:{}:{address:#x}", space.name(), lane.0),
            (space, None) => format!("{}:{address:#x}", space.name()),
        }
    }
}

impl<'s> Session<'s> {
    /// Reads memory of the last selected wave.
    pub(super) fn read_memory(&mut self, request: &Request) -> Answer<'s> {
        let mut reference = Reference::of(request)?;
        let offset = request.integer("offset")?.unwrap_or(0);
        let count = request.needed("count")?;
        if !(0..=MOST_BYTES).contains(&count) {
            return Err(format!("count: from 0 to {MOST_BYTES}"));
        }
        reference.address = reference.address.wrapping_add_signed(offset);
        let wave = self.current.wave;
        let lanes = self.wave(wave)?.lanes;
        let lane = reference.lane.or(self.focus.get(&wave).copied());
        match lane {
            Some(lane) if u32::from(lane.0) >= lanes => {
                let last = lanes.saturating_sub(1);
                return Err(format!("wave {wave} has lanes 0 to {last}"));
            }
            None if reference.space == AddressSpace::PrivateLane => {
                return Err(
                    "private_lane is the memory of a lane: name it, as in private_lane:3:0x10"
                        .to_owned(),
                );
            }
            Some(_) | None => {}
        }
        self.with_wave(wave, |_, known, stop| {
            let wave = known.ok_or_else(|| format!("the registers of wave {wave} are unknown"))?;
            let max_bits = stop.map_or(Limits::DEFAULT.bits, |stop| stop.limits().bits);
            let access = Access {
                wave,
                lane,
                max_bits,
                meter: None,
            };
            let bytes = memory(&access, &reference, count.unsigned_abs());
            let missing = count.unsigned_abs().saturating_sub(bytes.len() as u64);
            Ok(Body::Memory(Memory {
                address: reference.text(),
                unreadable_bytes: (missing > 0).then_some(missing),
                data: (!bytes.is_empty())
                    .then(|| base64::engine::general_purpose::STANDARD.encode(bytes)),
            }))
        })
    }
}

/// Reads memory up to the first unknown byte.
fn memory(access: &Access<'_>, reference: &Reference, count: u64) -> Vec<u8> {
    /// The number of bytes per access.
    const STEP: u64 = 64;
    let read_at = |address: u64, bytes: u64| -> Option<Vec<u8>> {
        let storage = Storage::Memory {
            space: reference.space,
            lane: access.lane.map_or(LaneSelect::None, LaneSelect::One),
        };
        let place = Place::new(storage, u128::from(address).checked_mul(8)?);
        let bits = read(&Location::One(place), bytes.checked_mul(8)?, access).ok()?;
        bits.is_complete().then_some(bits.bytes)
    };
    let mut found = Vec::new();
    while (found.len() as u64) < count {
        let at = reference.address.wrapping_add(found.len() as u64);
        let rest = count - found.len() as u64;
        let step = rest.min(STEP);
        match read_at(at, step) {
            Some(bytes) => found.extend(bytes),
            None => match read_at(at, 1) {
                Some(bytes) if step > 1 => found.extend(bytes),
                _ => break,
            },
        }
    }
    found
}
