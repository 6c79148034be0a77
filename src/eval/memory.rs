//! Implements memory locations, and reading values from locations. Sources: HET A.2.5.4.4.3 and A.2.5.4.3.4.

use super::context::{LaneFocus, Reading};
use super::machine::Machine;
use super::stack::{Entry, Linear};
use super::value::{BaseType, Value};
use crate::arch::{AddressSpace, CodeAddress, ProcessAddress, Register, WaveSize};
use crate::error::{Error, ErrorKind, Limit, Need, Result, SpecRule};
use crate::location::{Access, Location, Place, Storage, read_plain, read_value};
use crate::meter::Meter;

impl<'a> Machine<'_, '_, 'a> {
    /// Pushes the location of an address of the code object.
    pub(super) fn push_address(&mut self, address: u64) -> Result<()> {
        let address = self.loaded(address);
        self.push(Entry::Address(address))
    }

    #[inline(never)]
    pub(super) fn addrx(&mut self, index: u64) -> Result<()> {
        let address = self.resolver()?.address(self.unit(), index)?;
        self.push_address(address)
    }

    /// Converts an address of the code object to one of the process.
    pub(super) fn loaded(&self, address: u64) -> u64 {
        let ProcessAddress(address) = self.context.load_address.to_process(CodeAddress(address));
        self.truncate(address)
    }

    pub(super) fn form_aspace_address(&mut self) -> Result<()> {
        self.need(2)?;
        let space = self.pop_address_space()?;
        if let Some(address) = self.pop_linear()? {
            let location = self.memory(space, address)?;
            return self.push(Entry::Location(location));
        }
        let entry = self.pop()?;
        let location = if let Entry::Pointer(pointer) = entry {
            if pointer.space != space {
                return Err(SpecRule::ImplicitPointerUse.into());
            }
            self.follow(pointer)?
        } else {
            let value = self.value_of(entry)?;
            if !value.base_type.is_integral() {
                let found = "no integer";
                let expected = "an address";
                return Err(ErrorKind::TypeMismatch { expected, found }.into());
            }
            // Only the low bits count (HET: "the least significant S bits").
            #[expect(
                clippy::cast_possible_truncation,
                reason = "addresses have at most 64 bits"
            )]
            let base = value.bits as u64;
            self.memory(space, Linear { base, step: 0 })?
        };
        self.push(Entry::Location(location))
    }

    /// Creates a location from an address space and the address below it.
    pub(super) fn swap_into_address(&mut self) -> Result<()> {
        self.swap()?;
        self.form_aspace_address()
    }

    #[inline(never)]
    pub(super) fn form_tls_address(&mut self) -> Result<()> {
        let offset = self.pop_value()?;
        if !offset.base_type.is_integral() {
            return Err(ErrorKind::TypeMismatch {
                expected: "an offset",
                found: "no integer",
            }
            .into());
        }
        let tls = self.context.tls.ok_or_else(|| Error::from(Need::Tls))?;
        let offset = u64::try_from(offset.bits).map_err(|_| ErrorKind::TypeMismatch {
            expected: "an offset of at most 64 bits",
            found: "a larger number",
        })?;
        self.flush();
        let location = tls(offset)?;
        self.push(Entry::Location(location))
    }

    #[inline(never)]
    pub(super) fn call_frame_cfa(&mut self) -> Result<()> {
        let frame = self.frame();
        let cfa = frame.ok_or_else(|| Error::from(Need::Frame))?.cfa()?;
        self.push(Entry::Location(cfa))
    }

    pub(super) fn breg(&mut self, register: u64, offset: i64, space: AddressSpace) -> Result<()> {
        let address_bits = if space == AddressSpace::None {
            self.generic_bits
        } else {
            space.address_size_in_bits(self.unit().encoding.address_size)
        };
        let size = register_bits(register);
        let bits = match (self.context.reading, size) {
            (Reading::Tolerant, Some(size)) => size.min(address_bits),
            (Reading::Tolerant, None) | (Reading::Strict, _) => address_bits,
        };
        let location = self.register_location(register)?;
        check_size(size, bits)?;
        let value = self.read_address(&location, bits)?;
        let base = value.wrapping_add(offset.cast_unsigned());
        if space == AddressSpace::None {
            let address = self.truncate(base);
            return self.push(Entry::Address(address));
        }
        let location = self.memory(space, Linear { base, step: 0 })?;
        self.push(Entry::Location(location))
    }

    /// Returns the address of a space, read from the start of a location.
    pub(super) fn address_in(
        &mut self,
        location: &Location<'a>,
        space: AddressSpace,
    ) -> Result<u64> {
        let bits = space.address_size_in_bits(self.unit().encoding.address_size);
        let narrower = u32::try_from(location.bits_left())
            .ok()
            .filter(|left| (1..bits).contains(left));
        let bits = match (self.context.reading, narrower) {
            (Reading::Tolerant, Some(left)) => left,
            (Reading::Tolerant, None) | (Reading::Strict, _) => bits,
        };
        self.read_address(location, bits)
    }

    /// Reads an address, which has at most 64 bits.
    #[inline(always)]
    fn read_address(&mut self, location: &Location<'a>, bits: u32) -> Result<u64> {
        let value = self.read(location, bits)?;
        u64::try_from(value).map_err(|_| wide_address())
    }

    /// Reads bits that are the same for all lanes.
    #[inline]
    pub(super) fn read(&mut self, location: &Location<'a>, bit_size: u32) -> Result<u128> {
        if let (Location::One(place), Some(wave)) = (location, self.context.wave)
            && let Some(value) = read_plain(place, bit_size, wave)
        {
            return Ok(value.into());
        }
        self.read_slow(location, bit_size)
    }

    fn read_slow(&mut self, location: &Location<'a>, bit_size: u32) -> Result<u128> {
        if self.context.lane == LaneFocus::All && location.stands_for_all_lanes() {
            return Err(self.needs_lane());
        }
        let limits = &self.context.limits;
        let meter = Meter::of_steps(limits, self.steps_left().into());
        let access = Access {
            meter: Some(&meter),
            ..self.access()?
        };
        let value = read_value(location, bit_size, &access);
        if meter.refused().is_some() {
            return Err(limits.reached(Limit::Steps));
        }
        // It had no more than the remaining steps of this evaluation.
        self.charge(meter.steps() as u32)?;
        value
    }

    pub(super) fn deref(&mut self) -> Result<()> {
        self.deref_as(self.generic())
    }

    pub(super) fn deref_size(&mut self, byte_size: u8) -> Result<()> {
        let bits = u32::from(byte_size) << 3;
        if bits >= self.generic_bits {
            return self.deref();
        }
        let location = self.pop_location()?;
        if let Some(pointer) = self.implicit_pointer_at(&location, bits)? {
            return self.push(Entry::Pointer(pointer));
        }
        let value = self.read_address(&location, bits)?;
        self.push(Entry::Generic(value))
    }

    #[inline(never)]
    pub(super) fn deref_type(&mut self, byte_size: u8, base_type: u64) -> Result<()> {
        let ty = self.base_type(base_type)?;
        if ty.byte_size() != u32::from(byte_size) {
            return Err(SpecRule::DerefTypeSize.into());
        }
        self.deref_as(ty)
    }

    #[inline(never)]
    pub(super) fn regval_type(&mut self, register: u64, base_type: u64) -> Result<()> {
        let ty = self.base_type(base_type)?;
        let location = self.register_location(register)?;
        check_size(register_bits(register), ty.bit_size)?;
        self.push(Entry::Location(location))?;
        self.deref_as(ty)
    }

    fn deref_as(&mut self, ty: BaseType) -> Result<()> {
        let location = self.pop_location()?;
        ty.check_fits()?;
        if let Some(pointer) = self.implicit_pointer_at(&location, ty.bit_size)? {
            return self.push(Entry::Pointer(pointer));
        }
        let value = self.read(&location, ty.bit_size)?;
        self.push(Entry::from_value(Value::new(ty, value)))
    }

    pub(super) fn offset(&mut self, scale: i64) -> Result<()> {
        self.need(2)?;
        let (base, step) = self.pop_displacement()?;
        // A number of 128 bits can be larger than any storage, and so can the largest number.
        let bits = base.saturating_mul(scale.into());
        // It has at most 48 bits, and a byte has eight.
        self.move_top(bits, step.wrapping_mul(scale))
    }

    pub(super) fn offset_constant(&mut self, bits: i128) -> Result<()> {
        self.move_top(bits, 0)
    }

    /// Moves the location on top by `bits` plus `step` for every lane.
    fn move_top(&mut self, bits: i128, step: i64) -> Result<()> {
        let lanes = self.lanes();
        // Most locations are moved in place, because a location is large.
        if let Some(register) = self.stack.take_register() {
            self.push(Entry::Location(Location::register(register)))?;
        }
        if let Some(place) = self.stack.top_place()
            && (step == 0 || can_step(place, lanes))
        {
            return place.move_by(bits, step, lanes);
        }
        let location = self.pop_location()?;
        if step != 0 && !location.places().iter().all(|place| can_step(place, lanes)) {
            return Err(self.needs_lane());
        }
        let moved = location.move_by(bits, step, lanes, self.context.arena)?;
        self.push(Entry::Location(moved))
    }

    /// Returns the lanes that a location stands for, if all are evaluated at once.
    pub(super) fn lanes(&self) -> Option<WaveSize> {
        match self.context.lane {
            LaneFocus::All => self.context.wave.map(crate::wave::Wave::wave_size),
            LaneFocus::None | LaneFocus::One(_) => None,
        }
    }
}

/// Returns the size of a register, in bits, or `None` if it is reserved.
fn register_bits(register: u64) -> Option<u32> {
    Register::from_number(register)?.size_in_bits()
}

/// Fails if a register of `size` bits (`None` if it is reserved) has fewer than `bits`. Its location in a frame cannot show this, because other data
/// follow the memory where it was saved.
#[inline]
pub(super) fn check_size(size: Option<u32>, bits: u32) -> Result<()> {
    // A reserved register has no bits.
    let size = size.unwrap_or(0);
    if bits > size {
        return Err(past_register(size, bits));
    }
    Ok(())
}

#[cold]
fn wide_address() -> Error {
    ErrorKind::Unsupported("addresses of more than 64 bits").into()
}

#[cold]
fn past_register(size: u32, bits: u32) -> Error {
    // The only one.
    let bit_offset = i128::from(bits).wrapping_sub(1);
    let size_in_bits = size.into();
    ErrorKind::OutOfBounds {
        bit_offset,
        size_in_bits,
    }
    .into()
}

/// Returns true if the offset of a place can grow from lane to lane, so that it stands for all lanes. The rest of a register after its own lanes has
/// no meaning for a wave with more lanes.
fn can_step(place: &Place<'_>, lanes: Option<WaveSize>) -> bool {
    match place.storage {
        Storage::Memory { .. } => true,
        Storage::Register(register) => {
            let own = register.wave_size().map(WaveSize::lanes);
            own.is_none_or(|own| lanes.is_none_or(|wave| wave.lanes() <= own))
        }
        Storage::Undefined
        | Storage::Value { .. }
        | Storage::Constant(_)
        | Storage::ImplicitPointer(_)
        | Storage::Composite(_) => false,
    }
}
