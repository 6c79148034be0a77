//! Composites. Source: HET A.2.5.4.4.6.

use super::machine::Machine;
use super::stack::Entry;
use crate::error::{ErrorKind, Result, Rule};
use crate::location::{Bounds, Composite, Link, Location, Place, Storage};

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
        let undefined = Location::UNDEFINED;
        let (before, location) = match self.stack.pop() {
            None => (None, undefined),
            Some(Entry::Incomplete(link)) => (Some(link), undefined),
            Some(entry) => {
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
                let location = if bit_offset == 0 {
                    location
                } else {
                    location.move_by(
                        self.as_displacement(bit_offset),
                        0,
                        self.lanes(),
                        self.context.arena,
                    )?
                };
                match self.stack.top_incomplete() {
                    Some(link) => {
                        self.stack.drop_last();
                        (Some(link), location)
                    }
                    None => (None, location),
                }
            }
        };
        let link = Link::append(before, location, bit_size, self.bounds())?;
        let link = self.context.arena.alloc(link);
        self.push(Entry::Incomplete(link))
    }

    pub(super) fn complete(&mut self, link: &'a Link<'a>) -> Location<'a> {
        let composite = link.complete(self.context.arena);
        self.store(composite)
    }

    fn store(&self, composite: Composite<'a>) -> Location<'a> {
        let composite = self.context.arena.alloc(composite);
        Location::One(Place::new(Storage::Composite(composite), 0))
    }

    pub(super) fn piece_end(&mut self) -> Result<()> {
        self.need(1)?;
        let Some(link) = self.stack.top_incomplete() else {
            return Err(Rule::PieceEnd.into());
        };
        self.stack.drop_last();
        let location = self.complete(link);
        self.push(Entry::Location(location))
    }

    pub(super) fn extend(&mut self, bit_size: u64, count: u64) -> Result<()> {
        let location = self.pop_location()?;
        let composite = Composite::repeat(location, bit_size, count, self.bounds())?;
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
        let mut link: Option<&'a Link<'a>> = None;
        let mut append = |location: Location<'a>, bit_size: u128, bounds: Bounds| -> Result<()> {
            link = Some(arena.alloc(Link::append(link, location, bit_size, bounds)?));
            Ok(())
        };
        let bounds = self.bounds();
        if offset != 0 {
            append(base, offset, bounds)?;
        }
        append(over, size, bounds)?;
        if base_size > end {
            let displacement = i128::try_from(end).unwrap_or(i128::MAX);
            let rest = base.move_by(displacement, 0, self.lanes(), arena)?;
            append(rest, base_size.saturating_sub(end), bounds)?;
        }
        match link {
            Some(link) => {
                let location = self.complete(link);
                self.push(Entry::Location(location))
            }
            None => Ok(()),
        }
    }
}
