//! Implements composites. Source: HET A.2.5.4.4.6.

use super::machine::Machine;
use super::stack::Entry;
use crate::error::{ErrorKind, Result, SpecRule};
use crate::location::{Bounds, Composite, Incomplete, Location, Place, Storage};

impl<'a> Machine<'_, '_, 'a> {
    fn bounds(&self) -> Bounds {
        Bounds::of(&self.context.limits)
    }

    #[inline(always)]
    pub(super) fn piece(&mut self, bit_size: u128, bit_offset: u64) -> Result<()> {
        if bit_offset == 0
            && let Some(register) = self.stack.take_register()
        {
            let bounds = self.bounds();
            let composite = self.building()?;
            if composite.append_register(register, bit_size, bounds) {
                return Ok(());
            }
            return self.append(&Location::register(register), bit_size);
        }
        let location = if self.stack.len() == 0 || self.stack.top_is_incomplete() {
            Location::UNDEFINED
        } else {
            self.pop_part(bit_offset)?
        };
        self.append(&location, bit_size)
    }

    fn append(&mut self, location: &Location<'a>, bit_size: u128) -> Result<()> {
        let (bounds, arena) = (self.bounds(), self.context.arena);
        self.building()?.append(location, bit_size, bounds, arena)
    }

    /// Returns the incomplete composite on top, or a new one if there is none.
    #[inline(always)]
    fn building(&mut self) -> Result<&mut Incomplete<'a>> {
        if !self.stack.top_is_incomplete() {
            self.stack.push(Entry::Incomplete)?;
            self.building = Some(Incomplete::above(self.building.take(), self.context.arena));
        }
        let arena = self.context.arena;
        let building = (self.building).get_or_insert_with(|| Incomplete::above(None, arena));
        Ok(building)
    }

    /// Pops the location at which a part starts.
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
                SpecRule::PieceKind.into()
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
        let arena = self.context.arena;
        let building = self.building.take();
        let building = building.unwrap_or_else(|| Incomplete::above(None, arena));
        let (composite, below) = building.complete();
        self.building = below;
        at_start(composite)
    }

    #[inline(never)]
    pub(super) fn piece_end(&mut self) -> Result<()> {
        self.need(1)?;
        if !self.stack.top_is_incomplete() {
            return Err(SpecRule::PieceEnd.into());
        }
        self.stack.drop_last();
        let location = self.complete();
        self.push(Entry::Location(location))
    }

    #[inline(never)]
    pub(super) fn extend(&mut self, bit_size: u64, count: u64) -> Result<()> {
        let location = self.pop_location()?;
        let arena = self.context.arena;
        let composite = Composite::repeat(location, bit_size, count, self.bounds(), arena)?;
        let composite = arena.composites.alloc(composite);
        self.push(Entry::Location(at_start(composite)))
    }

    #[inline(never)]
    pub(super) fn select_bit_piece(&mut self, bit_size: u64, count: u64) -> Result<()> {
        self.need(3)?;
        let mask = self.pop_mask()?;
        let one = self.pop_location()?;
        let zero = self.pop_location()?;
        if zero.single().is_none() || one.single().is_none() {
            // Each element has its own places.
            let places = zero.places().len().max(one.places().len());
            // No evaluation has more steps than a number of 32 bits counts.
            let places = u32::try_from(places).unwrap_or(u32::MAX);
            let elements = u32::try_from(count).unwrap_or(u32::MAX);
            self.charge(places.saturating_mul(elements))?;
        }
        let arena = self.context.arena;
        let composite = Composite::select(zero, one, mask, bit_size, count, self.bounds(), arena)?;
        let composite = arena.composites.alloc(composite);
        self.push(Entry::Location(at_start(composite)))
    }

    /// Returns true if the expression has DWARF 6 semantics.
    pub(super) fn is_dwarf6(&self) -> bool {
        self.here.expression.unit.encoding.dialect.is_dwarf6()
    }

    /// `DW_OP_LLVM_NVIDIA_mux`, which is undocumented.
    #[cold]
    pub(super) fn of_nvidia(&mut self, _selector: u64) -> Result<()> {
        Err(ErrorKind::Unsupported("an undocumented operation of NVIDIA").into())
    }

    /// `DW_OP_composite` of DWARF 6.
    #[inline(never)]
    pub(super) fn begin_composite(&mut self) -> Result<()> {
        self.stack.push(Entry::Incomplete)?;
        self.building = Some(Incomplete::above(self.building.take(), self.context.arena));
        Ok(())
    }

    /// Implements the overlay of DWARF 6 (251120.1). It covers the storage of the base, extended as needed, and the result starts where the base does.
    fn overlay_of_dwarf6(&mut self, scale: i128) -> Result<()> {
        self.need(4)?;
        let width = self.pop_value()?.to_signed()?;
        let offset = self.pop_value()?.to_signed()?;
        let over = self.pop_location()?;
        let base = self.pop_location()?;
        let Some(place) = base.single().copied() else {
            return Err(ErrorKind::Unsupported("an overlay on several places at once").into());
        };
        if place.lane_step != 0 {
            return Err(self.needs_lane());
        }
        let bits = |value: i128| u128::try_from(value).map_err(|_| SpecRule::OverlayRange);
        let width = bits(width.saturating_mul(scale))?;
        let from_base = i128::try_from(place.bit_offset).unwrap_or(i128::MAX);
        let start = bits(offset.saturating_mul(scale).saturating_add(from_base))?;
        let end = start.saturating_add(width);
        let (arena, bounds, lanes) = (self.context.arena, self.bounds(), self.lanes());
        let storage = Location::One(Place::new(place.storage, 0));
        // Undefined storage is unbounded, so it gets the maximum size of a composite.
        let size = storage.bits_left().min(bounds.bits);
        let composite = Incomplete::above(None, arena);
        let gap = start.saturating_sub(size);
        let parts = [
            (storage, start.min(size)),
            (Location::UNDEFINED, gap),
            (over, width),
        ];
        for (part, bits) in &parts {
            if *bits != 0 {
                composite.append(part, *bits, bounds, arena)?;
            }
        }
        let rest = size.saturating_sub(end);
        if rest != 0 {
            let [(storage, _), ..] = &parts;
            let after = storage.move_by(end.cast_signed(), 0, lanes, arena)?;
            composite.append(&after, rest, bounds, arena)?;
        }
        let (composite, _) = composite.complete();
        let location = at_start(composite).move_by(from_base, 0, lanes, arena)?;
        self.push(Entry::Location(location))
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "what is left of the base is more than what the part ends at"
    )]
    pub(super) fn overlay(&mut self, scale: i128) -> Result<()> {
        if self.is_dwarf6() {
            return self.overlay_of_dwarf6(scale);
        }
        self.need(4)?;
        let size = self.pop_value()?.to_signed()?;
        let offset = self.pop_value()?.to_signed()?;
        let over = self.pop_location()?;
        let base = self.pop_location()?;
        // The largest number is beyond the end of every base.
        let bits = |value: i128| {
            u128::try_from(value.saturating_mul(scale)).map_err(|_| SpecRule::OverlayRange)
        };
        let (size, offset) = (bits(size)?, bits(offset)?);
        // Undefined storage is unbounded, so it gets the maximum size of a composite.
        let base_size = base.bits_left().min(self.bounds().bits);
        let end = offset
            .checked_add(size)
            .filter(|end| *end <= base_size)
            .ok_or(SpecRule::OverlayRange)?;
        if size == 0 {
            return self.push(Entry::Location(base));
        }
        if offset == 0 && size == base_size {
            return self.push(Entry::Location(over));
        }
        let arena = self.context.arena;
        let bounds = self.bounds();
        let composite = Incomplete::above(None, arena);
        if offset != 0 {
            composite.append(&base, offset, bounds, arena)?;
        }
        composite.append(&over, size, bounds, arena)?;
        if base_size > end {
            // No composite has more bits than the largest memory.
            let rest = base.move_by(end.cast_signed(), 0, self.lanes(), arena)?;
            composite.append(&rest, base_size - end, bounds, arena)?;
        }
        let (composite, _) = composite.complete();
        self.push(Entry::Location(at_start(composite)))
    }
}

/// Returns the location of a whole composite.
pub(super) fn at_start<'a>(composite: &'a Composite<'a>) -> Location<'a> {
    Location::One(Place::new(Storage::Composite(composite), 0))
}
