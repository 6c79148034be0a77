//! Implements implicit locations, and pointers that were optimized away. Source: HET A.2.5.4.4.5.

use super::context::Context;
use super::control::ENTRY;
use super::machine::Machine;
use super::resolver::{DieReference, Procedure, Unit};
use super::stack::Entry;
use super::value::BaseTypeEncoding;
use crate::arch::AddressSpace;
use crate::error::{ErrorKind, Result, SpecRule};
use crate::location::{ImplicitPointer, Location, Place, Storage};

impl<'a> Machine<'_, '_, 'a> {
    pub(super) fn stack_value(&mut self) -> Result<()> {
        if let Some(top) = self.stack.top_mut()
            && let Entry::Generic(value) = *top
        {
            *top = Entry::Implicit(value);
            return Ok(());
        }
        let entry = self.pop()?;
        let storage = if let Entry::Pointer(pointer) = entry {
            // A pointer is converted back to its original location.
            Storage::ImplicitPointer(pointer)
        } else {
            let value = self.value_of(entry)?;
            // At most 128 bits, unless the caller pushed a larger value.
            value.base_type.check_fits()?;
            Storage::Value {
                bits: value.bits,
                bit_size: value.base_type.bit_size as u16,
            }
        };
        self.push(Entry::Location(Location::One(Place::new(storage, 0))))
    }

    #[inline(never)]
    pub(super) fn implicit_pointer(
        &mut self,
        entry: u64,
        byte_offset: i64,
        space: AddressSpace,
    ) -> Result<()> {
        let unit = self.unit();
        // Eight bits for each of at most 255 bytes.
        let bit_size = space.address_size_in_bits(unit.encoding.address_size);
        let pointer = ImplicitPointer {
            entry,
            byte_offset,
            space,
            bit_size: bit_size as u16,
            unit: unit.id,
        };
        let pointer = self.context.arena.pointers.alloc(pointer);
        self.push(Entry::Location(Location::One(Place::new(
            Storage::ImplicitPointer(pointer),
            0,
        ))))
    }

    /// Returns the implicit pointer that fills `bits` bits of a location, or `None` if there is none.
    ///
    /// # Errors
    /// [`SpecRule::ImplicitPointerUse`] if they hold only a part of one, or one and other bits.
    pub(super) fn implicit_pointer_at(
        &self,
        location: &Location<'a>,
        bits: u32,
    ) -> Result<Option<&'a ImplicitPointer>> {
        let Some(place) = location.single() else {
            return Ok(None);
        };
        match place.storage {
            Storage::ImplicitPointer(pointer)
                if place.bit_offset == 0 && bits == u32::from(pointer.bit_size) =>
            {
                Ok(Some(pointer))
            }
            Storage::ImplicitPointer(_) => Err(SpecRule::ImplicitPointerUse.into()),
            Storage::Composite(_) => self.implicit_pointer_in(place, bits),
            Storage::Undefined
            | Storage::Memory { .. }
            | Storage::Register(_)
            | Storage::Value { .. }
            | Storage::Constant(_) => Ok(None),
        }
    }

    /// Returns the implicit pointer in a composite: all bits must belong to one pointer, in order.
    fn implicit_pointer_in(
        &self,
        place: &Place<'a>,
        bits: u32,
    ) -> Result<Option<&'a ImplicitPointer>> {
        let mut found: Option<&ImplicitPointer> = None;
        let mut other = false;
        let mut done = 0u32;
        while done < bits {
            let Some((leaf, left)) = leaf_at(place, done.into()) else {
                return Ok(None);
            };
            if let Storage::ImplicitPointer(pointer) = leaf.storage {
                // All bits must come from one storage, in order from its first bit on.
                let same = found.is_none_or(|found| core::ptr::eq(found, pointer));
                if !same || leaf.bit_offset != u128::from(done) {
                    return Err(SpecRule::ImplicitPointerUse.into());
                }
                found = Some(pointer);
            } else {
                other = true;
            }
            // A number beyond 32 bits exceeds the size anyway.
            done = done.saturating_add(u32::try_from(left).unwrap_or(u32::MAX).max(1));
        }
        match found {
            Some(pointer) if !other && u32::from(pointer.bit_size) == bits => Ok(Some(pointer)),
            Some(_) => Err(SpecRule::ImplicitPointerUse.into()),
            None => Ok(None),
        }
    }

    /// Returns the location that an implicit pointer points to.
    pub(super) fn follow(&mut self, pointer: &ImplicitPointer) -> Result<Location<'a>> {
        let unit = Unit {
            id: pointer.unit,
            ..self.unit()
        };
        let context = Context {
            object: None,
            initial_stack: &[],
            ..*self.context
        };
        self.charge(ENTRY)?;
        let location = match self
            .resolver()?
            .procedure(unit, DieReference::InSection(pointer.entry))?
        {
            Procedure::Location(attribute) => self.nested(&attribute, &context)?,
            Procedure::Constant(bytes) => Location::One(Place::new(Storage::Constant(bytes), 0)),
            Procedure::Nothing => return Err(SpecRule::ImplicitPointerTarget.into()),
        };
        location.move_by(
            i128::from(pointer.byte_offset) << 3,
            0,
            self.lanes(),
            self.context.arena,
        )
    }

    /// Pops an integer as raw bits. Returns the bits and their number.
    pub(super) fn pop_mask(&mut self) -> Result<(u128, u32)> {
        let value = self.pop_value()?;
        if !value.base_type.is_integral() {
            return Err(ErrorKind::TypeMismatch {
                expected: "a mask",
                found: "no integer",
            }
            .into());
        }
        debug_assert!(value.base_type.encoding != BaseTypeEncoding::Float);
        Ok((value.bits, value.base_type.bit_size))
    }
}

/// Returns the innermost place that holds bit `bit` of a place, moved to it, and the number of bits it holds from there on.
fn leaf_at<'a>(place: &Place<'a>, bit: u128) -> Option<(Place<'a>, u128)> {
    let mut here = Place {
        bit_offset: place.bit_offset.checked_add(bit)?,
        ..*place
    };
    let mut left = u128::MAX;
    // The nesting of composites is limited.
    while let Storage::Composite(composite) = here.storage {
        let part = composite.part_at(here.bit_offset)?;
        let within = here.bit_offset.checked_sub(part.start)?;
        left = left.min(part.bit_size.checked_sub(within)?);
        let inner = part.location.single()?;
        here = Place {
            bit_offset: inner.bit_offset.checked_add(within)?,
            ..*inner
        };
    }
    Some((here, left))
}
