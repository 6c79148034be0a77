//! Composites. Source: HET A.2.5.4.4.6.

use super::machine::Machine;
use super::stack::Entry;
use crate::error::{ErrorKind, Result, Rule};
use crate::location::{Bounds, Composite, Incomplete, Location, Place, Storage};

/// A composite on the stack to which parts can be added, and the next one below it.
pub(super) struct Building<'a> {
    composite: Incomplete<'a>,
    below: Option<&'a mut Building<'a>>,
}

impl<'a> Building<'a> {
    fn above(below: Option<&'a mut Building<'a>>) -> Building<'a> {
        Building {
            composite: Incomplete::new(),
            below,
        }
    }
}

impl<'a> Machine<'_, '_, 'a> {
    fn bounds(&self) -> Bounds {
        let limits = &self.context.limits;
        // As large as the largest address space, in bits.
        Bounds {
            parts: limits.parts,
            depth: limits.depth,
            bits: 1 << 67,
        }
    }

    pub(super) fn piece(&mut self, bit_size: u128, bit_offset: u64) -> Result<()> {
        let location = if bit_offset == 0
            && let Some(register) = self.stack.take_register()
        {
            Location::register(register)
        } else if self.stack.len() == 0 || self.stack.top_is_incomplete() {
            Location::UNDEFINED
        } else {
            self.pop_part(bit_offset)?
        };
        let (bounds, arena) = (self.bounds(), self.context.arena);
        if !self.stack.top_is_incomplete() {
            self.stack.push_incomplete()?;
            let below = self.building.take();
            let below = below.map(|building| arena.alloc_mut(building));
            self.building = Some(Building::above(below));
        }
        match &mut self.building {
            Some(building) => building
                .composite
                .append(&location, bit_size, bounds, arena),
            None => Ok(()),
        }
    }

    /// Pops the location that a part starts at.
    #[inline]
    fn pop_part(&mut self, bit_offset: u64) -> Result<Location<'a>> {
        let entry = self.pop()?;
        let location = if let Entry::Location(location @ Location::One(_)) = entry {
            Ok(location)
        } else {
            self.location_of(entry)
        };
        let location = location.map_err(|error| {
            let other_kind = matches!(error.kind(), ErrorKind::TypeMismatch { .. });
            if other_kind {
                Rule::PieceKind.into()
            } else {
                error
            }
        })?;
        if bit_offset == 0 {
            return Ok(location);
        }
        let displacement = self.as_displacement(bit_offset);
        location.move_by(displacement, 0, self.lanes(), self.context.arena)
    }

    /// Completes the composite that was taken from the stack.
    pub(super) fn complete(&mut self) -> Location<'a> {
        let building = self.building.take();
        let Building { composite, below } = building.unwrap_or_else(|| Building::above(None));
        self.building = below.map(|below| core::mem::replace(below, Building::above(None)));
        self.store(composite.complete())
    }

    fn store(&self, composite: Composite<'a>) -> Location<'a> {
        let composite = self.context.arena.alloc(composite);
        Location::One(Place::new(Storage::Composite(composite), 0))
    }

    pub(super) fn piece_end(&mut self) -> Result<()> {
        self.need(1)?;
        if !self.stack.top_is_incomplete() {
            return Err(Rule::PieceEnd.into());
        }
        self.stack.drop_last();
        let location = self.complete();
        self.push(Entry::Location(location))
    }

    pub(super) fn extend(&mut self, bit_size: u64, count: u64) -> Result<()> {
        let location = self.pop_location()?;
        let arena = self.context.arena;
        let composite = Composite::repeat(location, bit_size, count, self.bounds(), arena)?;
        let location = self.store(composite);
        self.push(Entry::Location(location))
    }

    pub(super) fn select_bit_piece(&mut self, bit_size: u64, count: u64) -> Result<()> {
        self.need(3)?;
        let mask = self.pop_mask()?;
        let one = self.pop_location()?;
        let zero = self.pop_location()?;
        if zero.single().is_none() || one.single().is_none() {
            // Each element gets places of its own.
            let places = zero.places().len().max(one.places().len());
            let places = u32::try_from(places).unwrap_or(u32::MAX);
            let elements = u32::try_from(count).unwrap_or(u32::MAX);
            self.charge(places.saturating_mul(elements))?;
        }
        let composite = Composite::select(
            zero,
            one,
            mask,
            bit_size,
            count,
            self.bounds(),
            self.context.arena,
        )?;
        let location = self.store(composite);
        self.push(Entry::Location(location))
    }

    pub(super) fn overlay(&mut self, scale: i128) -> Result<()> {
        self.need(4)?;
        let size = self.pop_value()?.to_signed()?;
        let offset = self.pop_value()?.to_signed()?;
        let over = self.pop_location()?;
        let base = self.pop_location()?;
        let bits = |value: i128| {
            u128::try_from(value.saturating_mul(scale)).map_err(|_| Rule::OverlayRange)
        };
        let (size, offset) = (bits(size)?, bits(offset)?);
        // Undefined storage has no end: it counts as large as a composite can be.
        let base_size = base.bits_left().min(self.bounds().bits);
        let end = offset
            .checked_add(size)
            .filter(|end| *end <= base_size)
            .ok_or(Rule::OverlayRange)?;
        if size == 0 {
            return self.push(Entry::Location(base));
        }
        if offset == 0 && size == base_size {
            return self.push(Entry::Location(over));
        }
        let arena = self.context.arena;
        let bounds = self.bounds();
        let mut composite = Incomplete::new();
        if offset != 0 {
            composite.append(&base, offset, bounds, arena)?;
        }
        composite.append(&over, size, bounds, arena)?;
        if base_size > end {
            let displacement = i128::try_from(end).unwrap_or(i128::MAX);
            let rest = base.move_by(displacement, 0, self.lanes(), arena)?;
            composite.append(&rest, base_size.saturating_sub(end), bounds, arena)?;
        }
        let location = self.store(composite.complete());
        self.push(Entry::Location(location))
    }
}
