//! Implements stack entries, the conversions between values and locations, and the stack operations.
//!
//! Sources: HET A.2.5.4.1 (stack operations), A.2.5.4.4.3 (implicit conversions).

use super::budget::steps_for_places;
use super::control::ENTRY;
use super::machine::Machine;
use super::value::{BaseType, BaseTypeEncoding, Value};
use crate::arch::{AddressSpace, Register};
use crate::error::{Error, ErrorKind, Result, SpecRule};
use crate::location::{ImplicitPointer, LaneSelect, Location, Place, Storage};

/// An entry of the stack.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry<'a> {
    /// A value of the generic type; bits above its size are zero.
    Generic(u64),
    /// The location of a byte in the default space.
    Address(u64),
    /// A location that holds a value of the generic type.
    Implicit(u64),
    /// A whole register.
    Register(Register),
    /// A value of the generic type that grows evenly from lane to lane: `base + step * lane`, modulo 2^64. It occurs only when all lanes are
    /// evaluated at once.
    Linear { base: u64, step: u64 },
    /// A value of any other type.
    Typed(Value),
    /// The value of a pointer that was optimized away.
    Pointer(&'a ImplicitPointer),
    /// A location.
    Location(Location<'a>),
    /// An incomplete composite: the innermost one on the stack, which the machine holds.
    Incomplete,
}

impl Entry<'_> {
    pub(super) fn from_value(value: Value) -> Self {
        match (value.base_type.encoding, u64::try_from(value.bits)) {
            (BaseTypeEncoding::Generic, Ok(bits)) => Entry::Generic(bits),
            (_, _) => Entry::Typed(value),
        }
    }
}

/// A value of the generic type that is the same for all lanes or grows evenly from lane to lane.
#[derive(Clone, Copy)]
pub(super) struct Linear {
    pub(super) base: u64,
    pub(super) step: u64,
}

impl<'a> Machine<'_, '_, 'a> {
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry<'a>) -> Result<()> {
        self.stack.push(entry)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Result<Entry<'a>> {
        self.stack.pop().ok_or_else(|| underflow(1, 0))
    }

    /// Fails unless the stack has `needed` entries.
    #[inline]
    pub(super) fn need(&self, needed: usize) -> Result<()> {
        let found = self.stack.len();
        if found < needed {
            return Err(underflow(needed, found));
        }
        Ok(())
    }

    /// Pops a value that is the same for all lanes.
    pub(super) fn pop_value(&mut self) -> Result<Value> {
        let entry = self.pop()?;
        self.value_of(entry)
    }

    /// Pops a location.
    pub(super) fn pop_location(&mut self) -> Result<Location<'a>> {
        let entry = self.pop()?;
        self.location_of(entry)
    }

    /// Pops a value of the generic type that may differ from lane to lane. Returns `None` for another type, which stays on the stack.
    pub(super) fn pop_linear(&mut self) -> Result<Option<Linear>> {
        let entry = self.stack.top().ok_or_else(|| underflow(1, 0))?;
        let linear = match *entry {
            Entry::Generic(base) => Linear { base, step: 0 },
            Entry::Address(address) => Linear {
                base: self.truncate(address),
                step: 0,
            },
            Entry::Linear { base, step } => Linear { base, step },
            Entry::Location(location) => match self.address_of(&location) {
                Some(linear) => linear,
                None => return Err(not_a_value(&location)),
            },
            Entry::Implicit(value) => return Err(not_a_value(&self.implicit(value))),
            Entry::Register(register) => return Err(not_a_value(&Location::register(register))),
            Entry::Incomplete => return Err(SpecRule::IncompleteComposite.into()),
            Entry::Typed(_) | Entry::Pointer(_) => return Ok(None),
        };
        self.stack.drop_last();
        Ok(Some(linear))
    }

    /// Returns the address to which a location in the default space converts (HET A.2.5.4.4.3).
    fn address_of(&self, location: &Location<'a>) -> Option<Linear> {
        let place = location.single()?;
        let default = matches!(
            place.storage,
            Storage::Memory {
                space: AddressSpace::None,
                ..
            }
        );
        if !default || !place.bit_offset.is_multiple_of(8) || place.lane_step % 8 != 0 {
            return None;
        }
        let base = self.truncate(u64::try_from(place.bit_offset / 8).ok()?);
        Some(Linear {
            base,
            step: (place.lane_step / 8).cast_unsigned(),
        })
    }

    /// Returns the value of an entry.
    pub(super) fn value_of(&mut self, entry: Entry<'a>) -> Result<Value> {
        match entry {
            Entry::Generic(value) | Entry::Address(value) => {
                Ok(Value::generic(self.truncate(value), self.generic_bits))
            }
            Entry::Implicit(value) => Err(not_a_value(&self.implicit(value))),
            Entry::Register(register) => Err(not_a_value(&Location::register(register))),
            Entry::Typed(value) => Ok(value),
            Entry::Linear { .. } => Err(self.needs_lane()),
            Entry::Pointer(_) => Err(SpecRule::ImplicitPointerUse.into()),
            Entry::Incomplete => Err(SpecRule::IncompleteComposite.into()),
            Entry::Location(location) => match self.address_of(&location) {
                Some(Linear { base, step: 0 }) => Ok(Value::generic(base, self.generic_bits)),
                Some(_) => Err(self.needs_lane()),
                None => Err(not_a_value(&location)),
            },
        }
    }

    /// Returns the location that an entry is, or to which it converts.
    pub(super) fn location_of(&mut self, entry: Entry<'a>) -> Result<Location<'a>> {
        match entry {
            Entry::Location(location) => {
                if let Some(steps) = steps_for_places(&location) {
                    self.charge(steps)?;
                }
                Ok(location)
            }
            Entry::Generic(address) => Ok(Location::byte(self.truncate(address))),
            Entry::Address(address) => Ok(Location::byte(address)),
            Entry::Implicit(value) => Ok(self.implicit(value)),
            Entry::Register(register) => Ok(Location::register(register)),
            Entry::Linear { base, step } => self.memory(AddressSpace::None, Linear { base, step }),
            Entry::Pointer(pointer) if pointer.space == AddressSpace::None => self.follow(pointer),
            Entry::Pointer(_) => Err(SpecRule::ImplicitPointerUse.into()),
            // In DWARF 6 a composite is always a location, even if parts may follow.
            Entry::Incomplete if self.is_dwarf6() => Ok(self.complete()),
            Entry::Incomplete => Err(SpecRule::IncompleteComposite.into()),
            Entry::Typed(_) => Err(ErrorKind::TypeMismatch {
                expected: "a location",
                found: "a value that is not generic",
            }
            .into()),
        }
    }

    /// Returns the location that holds a value of the generic type.
    #[inline]
    pub(super) fn implicit(&self, value: u64) -> Location<'a> {
        let storage = Storage::Value {
            bits: value.into(),
            // Eight bits for each of at most 255 bytes.
            bit_size: self.generic_bits as u16,
        };
        Location::One(Place::new(storage, 0))
    }

    /// Returns the memory location at a byte address of a space, truncated to the space's address size.
    #[inline(always)]
    pub(super) fn memory(&mut self, space: AddressSpace, address: Linear) -> Result<Location<'a>> {
        if space == AddressSpace::None && address.step == 0 {
            return Ok(Location::byte(self.truncate(address.base)));
        }
        let mask = space.address_mask(self.unit().encoding.address_size);
        let Linear { base, step } = address;
        let mut lane_step = 0;
        if step != 0 {
            // All lanes at once only if no lane's address wraps around.
            let lanes = self
                .context
                .wave
                .map_or(64, |wave| wave.wave_size().lanes());
            #[expect(
                clippy::arithmetic_side_effects,
                reason = "64 bits times at most 63, and 64 bits more, are far fewer than 128"
            )]
            let last =
                i128::from(step.cast_signed()) * i128::from(lanes - 1) + i128::from(base & mask);
            if u64::try_from(last).is_ok_and(|last| last <= mask) {
                lane_step = step
                    .cast_signed()
                    .checked_mul(8)
                    .ok_or_else(|| self.needs_lane())?;
            } else {
                return Err(self.needs_lane());
            }
        }
        let lane = self.context.lane.select(space);
        self.budget.used_lane |= lane == LaneSelect::Each;
        let bit_offset = u128::from(base & mask) * 8;
        Ok(Location::One(Place {
            storage: Storage::Memory { space, lane },
            bit_offset,
            lane_step,
        }))
    }

    /// Pops the identifier of an address space.
    pub(super) fn pop_address_space(&mut self) -> Result<AddressSpace> {
        let value = self.pop_value()?;
        if !value.base_type.is_integral() {
            return Err(ErrorKind::TypeMismatch {
                expected: "an address space",
                found: "no integer",
            }
            .into());
        }
        let space = u64::try_from(value.bits)
            .ok()
            .and_then(AddressSpace::from_number);
        space.ok_or_else(|| SpecRule::AddressSpace.into())
    }

    /// Returns a constant of the generic type as a signed displacement.
    pub(super) fn as_displacement(&self, constant: u64) -> i128 {
        super::value::sign_extend(constant.into(), self.generic_bits)
    }

    /// Pops a displacement: a signed number for each lane, as `base + step * lane`.
    pub(super) fn pop_displacement(&mut self) -> Result<(i128, i64)> {
        match self.pop_linear()? {
            Some(Linear { base, step: 0 }) => {
                Ok((super::value::sign_extend(base.into(), self.generic_bits), 0))
            }
            Some(Linear { base, step }) => {
                let (base, step) = (base.cast_signed(), step.cast_signed());
                // Too small to wrap around in any lane.
                if base.unsigned_abs() > 1 << 62 || step.unsigned_abs() > 1 << 48 {
                    return Err(self.needs_lane());
                }
                Ok((base.into(), step))
            }
            None => Ok((self.pop_value()?.to_signed()?, 0)),
        }
    }

    pub(super) fn base_type(&mut self, offset: u64) -> Result<BaseType> {
        self.charge(ENTRY)?;
        self.resolver()?.base_type(self.unit(), offset)
    }

    /// Returns an entry to which stack operations have access.
    fn whole(entry: Entry<'a>) -> Result<Entry<'a>> {
        if let Entry::Incomplete = entry {
            return Err(SpecRule::IncompleteComposite.into());
        }
        Ok(entry)
    }

    #[inline(always)]
    pub(super) fn dup(&mut self) -> Result<()> {
        if let Some(value) = self.stack.top_generic() {
            let value = *value;
            return self.push(Entry::Generic(value));
        }
        self.pick(0)
    }

    #[inline(never)]
    pub(super) fn pick(&mut self, index: usize) -> Result<()> {
        let entry = self.stack.below(index);
        // The operand is a byte.
        let entry = entry.ok_or_else(|| underflow(index.wrapping_add(1), self.stack.len()))?;
        self.push(Self::whole(entry)?)
    }

    pub(super) fn drop(&mut self) -> Result<()> {
        let entry = self.pop()?;
        Self::whole(entry).map(|_| ())
    }

    pub(super) fn swap(&mut self) -> Result<()> {
        if let Some((below, top)) = self.stack.two_generics() {
            core::mem::swap(below, top);
            return Ok(());
        }
        self.need(2)?;
        let (a, b) = (Self::whole(self.pop()?)?, Self::whole(self.pop()?)?);
        self.push(a)?;
        self.push(b)
    }

    #[inline(never)]
    pub(super) fn rot(&mut self) -> Result<()> {
        self.need(3)?;
        let (a, b, c) = (
            Self::whole(self.pop()?)?,
            Self::whole(self.pop()?)?,
            Self::whole(self.pop()?)?,
        );
        self.push(a)?;
        self.push(c)?;
        self.push(b)
    }
}

#[cold]
fn underflow(needed: usize, found: usize) -> Error {
    ErrorKind::StackUnderflow { needed, found }.into()
}

#[cold]
fn not_a_value(location: &Location<'_>) -> Error {
    let found = match location.places() {
        [place] => match place.storage {
            Storage::Undefined => "an undefined location",
            Storage::Memory {
                space: AddressSpace::None,
                ..
            } => "a location that is not at a whole byte",
            Storage::Memory { .. } => "a location in another address space",
            Storage::Register(_) => "a register location",
            Storage::Value { .. } | Storage::Constant(_) => "an implicit location",
            Storage::ImplicitPointer(_) => "an implicit pointer",
            Storage::Composite(_) => "a composite location",
        },
        _ => "a location with several places",
    };
    ErrorKind::TypeMismatch {
        expected: "a value",
        found,
    }
    .into()
}
