//! Checks the creation, movement and reading of places. Sources: HET A.2.5.4.3.4, A.2.5.4.4.1 to A.2.5.4.4.5.

use super::entry::{Entry, Number, Offset, Place, Sources, Storage, Type, Value};
use super::machine::{Machine, Step, Stop};
use super::stack::is_incomplete;
use super::value::as_place;
use super::{Callee, FrameBase, Role, rule};
use crate::arch::{AddressSpace, Register};
use crate::expr::Operation;

impl Machine<'_> {
    /// Pops a complete location. A value is converted if the rules allow it.
    pub(super) fn pop_place(&mut self) -> Step<Place> {
        let entry = self.pop_any()?;
        if is_incomplete(&entry) {
            self.fault(
                &rule::INCOMPLETE,
                "it needs a location, but finds an incomplete composite",
            );
            return Err(Stop);
        }
        let Some(place) = as_place(entry) else {
            self.fault(
                &rule::KIND,
                format!("it needs a location, but finds {entry}"),
            );
            return Err(Stop);
        };
        Ok(place)
    }

    fn push_place(&mut self, place: Place) -> Step {
        self.push(Entry::Place(place));
        Ok(())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`execute` sends only these operations here"
    )]
    pub(super) fn locate(&mut self, operation: &Operation<'_>) -> Step {
        match *operation {
            Operation::Addr { address } => {
                let number = Value::constant(address);
                let place = memory(AddressSpace::None, &number, Sources::ADDRESS);
                self.push_place(place)
            }
            Operation::Addrx { index } => {
                self.check_address_index(index);
                self.push_place(somewhere(Some(AddressSpace::None), Sources::ADDRESS))
            }
            Operation::Fbreg { .. } => self.push_frame_base(),
            Operation::Breg { register, .. } => {
                self.based(register.into(), Some(AddressSpace::None))
            }
            Operation::Bregx { register, .. } => self.based(register, Some(AddressSpace::None)),
            Operation::AspaceBregx { register, .. } => {
                let space = self.pop_space()?;
                self.based(register, space)
            }
            Operation::FormAspaceAddress => {
                let space = self.pop_space()?;
                let address = self.pop_integral()?;
                let place = match space {
                    Some(space) => memory(space, &address, address.sources),
                    None => somewhere(None, address.sources),
                };
                self.push_place(place)
            }
            Operation::FormTlsAddress => {
                let offset = self.pop_integral()?;
                self.push_place(somewhere(None, offset.sources))
            }
            // The address space of a CFA depends on the call frame information.
            Operation::CallFrameCfa => self.push_place(somewhere(None, Sources::FRAME)),
            Operation::Reg { register } => self.register(register.into()),
            Operation::Regx { register } => self.register(register),
            Operation::CallFrameEntryReg { register } => {
                let storage = match self.known_register(register) {
                    Some(register) => Storage::CallerRegister(register),
                    None => Storage::ReservedRegister,
                };
                self.push_place(Place::start_of(storage, Sources::REGISTERS))
            }
            Operation::PushObjectAddress => self.push_object(),
            Operation::Offset => {
                let displacement = self.pop_integral()?;
                self.shift(&displacement, 8)
            }
            Operation::OffsetUconst { byte_offset } => self.shift(&Value::constant(byte_offset), 8),
            Operation::BitOffset => {
                let displacement = self.pop_integral()?;
                self.shift(&displacement, 1)
            }
            Operation::Undefined => {
                self.push_place(Place::start_of(Storage::Undefined, Sources::NONE))
            }
            _ => Err(Stop),
        }
    }

    /// Checks `DW_OP_fbreg`. The offset is ignored, because the size of a frame is not known.
    fn push_frame_base(&mut self) -> Step {
        if self.env.role == Role::FrameBase {
            self.fault(&rule::FRAME_BASE, "a frame base cannot refer to itself");
            return Err(Stop);
        }
        self.asks_frame_base = true;
        let place = match self.env.frame_base {
            FrameBase::Missing => {
                self.fault_with(
                    &rule::NO_FRAME_BASE,
                    "the function has no DW_AT_frame_base",
                    "give the function a DW_AT_frame_base, or write the location without DW_OP_fbreg",
                );
                return Err(Stop);
            }
            FrameBase::Unknown => Place::UNKNOWN,
            FrameBase::Place(place) => match place.storage {
                // A register represents the address that it contains (HET A.3.3.5, item 2).
                Storage::Register(_) => somewhere(
                    Some(AddressSpace::None),
                    Sources::FRAME | Sources::REGISTERS,
                ),
                Storage::Memory(space) => somewhere(space, place.sources | Sources::FRAME),
                Storage::ReservedRegister
                | Storage::CallerRegister(_)
                | Storage::Undefined
                | Storage::Implicit(_)
                | Storage::ImplicitPointer
                | Storage::Composite { .. }
                | Storage::Unknown => Place::UNKNOWN,
            },
        };
        self.push_place(place)
    }

    fn push_object(&mut self) -> Step {
        let without = matches!(
            self.env.role,
            Role::Location { .. }
                | Role::FrameBase
                | Role::LanePc { .. }
                | Role::ActiveLane { .. }
                | Role::EntryValue
        );
        if without {
            self.fault(
                &rule::CONTEXT,
                "this attribute is evaluated without an object, so there is no address to push",
            );
            return Err(Stop);
        }
        self.push_place(Place::UNKNOWN)
    }

    /// Pops an address space. Returns `None` if it is not known.
    fn pop_space(&mut self) -> Step<Option<AddressSpace>> {
        let value = self.pop_integral()?;
        let Some(number) = value.known() else {
            return Ok(None);
        };
        match AddressSpace::from_number(number) {
            Some(space) => Ok(Some(space)),
            None => {
                self.fault(
                    &rule::ADDRESS_SPACE,
                    format!("{number} is not an address space of AMDGPU"),
                );
                Err(Stop)
            }
        }
    }

    /// Pushes the place at the address in a register.
    fn based(&mut self, number: u64, space: Option<AddressSpace>) -> Step {
        if let (Some(register), Some(space)) = (self.known_register(number), space) {
            let place = Place::start_of(Storage::Register(register), Sources::REGISTERS);
            self.check_lane(&place);
            let needed = space.address_size_in_bits(self.encoding.address_size);
            if let Some(bits) = register.size_in_bits()
                && bits < needed
            {
                self.fault(
                    &rule::NARROW,
                    format!(
                        "{register} has {bits} bits, but an address of the space `{}` has {needed}",
                        space.name()
                    ),
                );
            }
        }
        self.push_place(somewhere(space, Sources::REGISTERS))
    }

    /// Returns the register of a number, if the number is not reserved and the size is known.
    fn known_register(&self, number: u64) -> Option<Register> {
        let register = Register::from_number(number)?;
        let is_known = self.env.machine.is_amdgpu() && register.class().is_some();
        is_known.then_some(register)
    }

    fn register(&mut self, number: u64) -> Step {
        let storage = match self.known_register(number) {
            Some(register) => Storage::Register(register),
            None => Storage::ReservedRegister,
        };
        self.push_place(Place::start_of(storage, Sources::REGISTERS))
    }

    /// Reports a whole vector register where the dword of one lane is required.
    pub(super) fn check_lane(&mut self, place: &Place) {
        if self.wants_lane()
            && place.is_whole_vector()
            && let Storage::Register(register) = place.storage
        {
            self.fault_with(
                &rule::LANE_MISSING,
                format!("it reads lane 0 of {register} for every lane"),
                "move the location with DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, \
                 DW_OP_LLVM_offset",
            );
        }
    }

    /// Moves a location by units of `unit` bits.
    fn shift(&mut self, displacement: &Value, unit: i128) -> Step {
        let place = self.pop_place()?;
        if place.storage == Storage::Undefined {
            return self.push_place(place);
        }
        let place = Place {
            moved: true,
            ..place
        };
        // In a generic type of 32 bits, a negative displacement looks like a large one.
        let is_wide = self.encoding.address_size == 8;
        let (
            true,
            Offset::Linear { base, per_lane },
            Number::Linear {
                base: by,
                per_lane: by_lane,
            },
        ) = (is_wide, place.offset, displacement.number)
        else {
            return self.push_place(Place {
                offset: Offset::Unknown,
                ..place
            });
        };
        // Displacements of the generic type are signed.
        let bits = |count: u64| i128::from(count.cast_signed()) * unit;
        let moved = base.saturating_add(bits(by));
        let per_lane = per_lane.saturating_add(bits(by_lane));
        let moved = Place {
            offset: Offset::Linear {
                base: moved,
                per_lane,
            },
            sources: place.sources | displacement.sources,
            ..place
        };
        self.check_inside(&moved)?;
        self.push_place(moved)
    }

    /// Checks that a place starts inside its storage, in every lane.
    pub(super) fn check_inside(&mut self, place: &Place) -> Step {
        let (Offset::Linear { base, per_lane }, Some(size)) = (place.offset, place.storage_bits())
        else {
            return Ok(());
        };
        let size = i128::try_from(size).unwrap_or(i128::MAX);
        let lanes = place.lanes();
        let last = base.saturating_add(per_lane.saturating_mul(lanes.saturating_sub(1).into()));
        for start in [base, last] {
            if !(0..size).contains(&start) {
                let what = Entry::Place(*place);
                self.fault(
                    &rule::OUT_OF_BOUNDS,
                    format!("{what} would start at bit {start} of {size}"),
                );
                return Err(Stop);
            }
        }
        Ok(())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`execute` sends only these operations here"
    )]
    pub(super) fn read(&mut self, operation: &Operation<'_>) -> Step {
        let generic = self.generic_bits();
        match *operation {
            Operation::Deref => self.deref(Type::Generic, generic),
            Operation::DerefSize { byte_size } => {
                let bits = self.small_size(byte_size);
                self.deref(Type::Generic, bits)
            }
            Operation::DerefType {
                byte_size,
                base_type,
            } => {
                let ty = self.base_type(base_type);
                self.check_type_size(ty, byte_size.into());
                self.deref(ty, ty.bits(generic).unwrap_or(0))
            }
            Operation::RegvalType {
                register,
                base_type,
            } => {
                let ty = self.base_type(base_type);
                self.register(register)?;
                self.deref(ty, ty.bits(generic).unwrap_or(0))
            }
            Operation::Xderef => self.xderef(Type::Generic, generic),
            Operation::XderefSize { byte_size } => {
                let bits = self.small_size(byte_size);
                self.xderef(Type::Generic, bits)
            }
            Operation::XderefType {
                byte_size,
                base_type,
            } => {
                let ty = self.base_type(base_type);
                self.check_type_size(ty, byte_size.into());
                self.xderef(ty, ty.bits(generic).unwrap_or(0))
            }
            _ => Err(Stop),
        }
    }

    /// Returns the number of bits of a read with this size operand.
    fn small_size(&mut self, bytes: u8) -> u64 {
        if bytes == 0 {
            self.fault(&rule::EMPTY_PART, "it reads no bytes");
        }
        (u64::from(bytes) * 8).min(self.generic_bits())
    }

    /// Reads `bits` bits of the location on top of the stack.
    fn deref(&mut self, ty: Type, bits: u64) -> Step {
        let place = self.pop_place()?;
        self.check_read(&place, bits.into())?;
        let sources = match place.storage {
            Storage::Register(_) | Storage::ReservedRegister | Storage::CallerRegister(_) => {
                Sources::REGISTERS
            }
            Storage::Memory(_) => Sources::MEMORY,
            Storage::Composite { .. } | Storage::Implicit(_) => place.sources,
            Storage::Undefined | Storage::ImplicitPointer | Storage::Unknown => Sources::OTHER,
        };
        // Reading an implicit pointer yields an implicit pointer, which no type expresses.
        let ty = if place.storage == Storage::ImplicitPointer {
            Type::Unknown
        } else {
            ty
        };
        self.push(Entry::Value(Value::any(ty, bits, sources)));
        Ok(())
    }

    /// Checks that `bits` bits can be read from a place.
    fn check_read(&mut self, place: &Place, bits: u128) -> Step {
        if place.storage == Storage::Undefined && bits > 0 {
            self.fault(
                &rule::UNDEFINED_READ,
                "it reads the undefined location, which has no contents",
            );
            return Err(Stop);
        }
        let what = Entry::Place(*place);
        if let Some(room) = place.room()
            && room < bits
        {
            self.fault(
                &rule::OUT_OF_BOUNDS,
                format!("it reads {bits} bits of {what}, which has {room} bits"),
            );
            return Err(Stop);
        }
        if let Some(room) = place.lane_room()
            && room < bits
        {
            self.fault(
                &rule::LANE_OVERRUN,
                format!("it reads {bits} bits of {what}, but each lane has {room}"),
            );
        }
        self.check_lane(place);
        Ok(())
    }

    /// Checks a read through an address space.
    fn xderef(&mut self, ty: Type, bits: u64) -> Step {
        self.legacy = true;
        let address = self.pop_integral()?;
        self.pop_space()?;
        self.push(Entry::Value(Value {
            legacy: true,
            ..Value::any(ty, bits, address.sources | Sources::MEMORY)
        }));
        Ok(())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`execute` sends only these operations here"
    )]
    pub(super) fn make_implicit(&mut self, operation: &Operation<'_>) -> Step {
        match *operation {
            Operation::ImplicitValue { bytes } => {
                let bits = (bytes.len() as u64).checked_mul(8);
                self.push_place(Place::start_of(Storage::Implicit(bits), Sources::NONE))
            }
            Operation::StackValue => {
                let value = self.pop_value()?;
                // A value of unknown type may be an implicit pointer, which is then restored.
                let storage = match value.ty.bits(self.generic_bits()) {
                    Some(bits) => Storage::Implicit(Some(bits)),
                    None => Storage::Implicit(None),
                };
                self.push_place(Place::start_of(storage, value.sources))
            }
            Operation::ImplicitPointer { entry, .. } => self.implicit_pointer(entry),
            Operation::AspaceImplicitPointer { entry, .. } => {
                self.pop_space()?;
                self.implicit_pointer(entry)
            }
            _ => Err(Stop),
        }
    }

    fn implicit_pointer(&mut self, entry: u64) -> Step {
        match self.env.entries.map(|entries| entries.callee(entry, true)) {
            Some(Callee::Missing) => {
                let text = format!("there is no entry at {entry:#x} of .debug_info");
                self.fault(&rule::CALL_TARGET, text);
            }
            Some(Callee::Nothing) => {
                let text = format!(
                    "the entry at {entry:#x} of .debug_info has neither location nor constant"
                );
                self.fault(&rule::POINTEE, text);
            }
            Some(
                Callee::Expression { .. } | Callee::List | Callee::Constant(_) | Callee::Unreadable,
            )
            | None => {}
        }
        self.push_place(Place::start_of(Storage::ImplicitPointer, Sources::NONE))
    }
}

/// Returns a place in memory with an unknown address.
fn somewhere(space: Option<AddressSpace>, sources: Sources) -> Place {
    Place {
        storage: Storage::Memory(space),
        offset: Offset::Unknown,
        sources,
        moved: false,
    }
}

/// Returns the place of an address, which is truncated to the address size of its space.
fn memory(space: AddressSpace, address: &Value, sources: Sources) -> Place {
    let offset = match address.number {
        Number::Linear { base, per_lane: 0 } => {
            let bytes = if space.size_in_bits(8) / 8 > u128::from(u32::MAX) + 1 {
                base
            } else {
                base & u64::from(u32::MAX)
            };
            Offset::Linear {
                base: i128::from(bytes) * 8,
                per_lane: 0,
            }
        }
        Number::Linear { .. } | Number::Below { .. } => Offset::Unknown,
    };
    Place {
        storage: Storage::Memory(Some(space)),
        offset,
        sources,
        moved: false,
    }
}
