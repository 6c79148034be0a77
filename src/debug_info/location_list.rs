//! Reads location lists: expressions and the addresses at which they hold.
//!
//! This module resolves the addresses of entries, which [`raw_list`](super::raw_list) decodes. It separates the default entry from the bounded ones,
//! and keeps the section offset of each expression. Choosing an entry for a program location is left to [`eval`]. Sources: HET A.2.5.5; DWARF 5
//! §2.6.2.

use fallible_iterator::FallibleIterator;

use super::DebugInfo;
use super::id::UnitId;
use super::raw_list::{Base, Bounds, LocationFormat, RawLocation, RawLocations};
use crate::error::{Error, Origin, Result};
use crate::eval::{self, ExpressionBytes, LocationEntry, LocationRange};
use crate::meter::Meter;

/// The entries of a location list; see [`DebugInfo::location_list`].
#[derive(Debug)]
pub struct LocationEntries<'d, 'a> {
    encoded: EncodedLocations<'d, 'a>,
    meter: &'d Meter,
}

/// The encoded entries, one by one. They are not charged here.
#[derive(Debug)]
pub(super) struct EncodedLocations<'d, 'a> {
    info: &'d DebugInfo<'a>,
    unit: UnitId,
    expressions: eval::Unit,
    section: &'static str,
    /// The offset at which the list starts in the section.
    offset: u64,
    raw: RawLocations<'a>,
    base: Base,
}

impl<'a> DebugInfo<'a> {
    /// Returns the entries of the location list at `offset`. The section is `.debug_loclists`, or `.debug_loc` before DWARF 5. Base addresses are
    /// applied, and entries for discarded code are left out. Every encoded entry takes a step, even one that is left out.
    ///
    /// # Errors
    /// If the offset is outside the section. The iterator ends with its first error.
    pub fn location_list<'d>(
        &'d self,
        unit: UnitId,
        offset: u64,
        meter: &'d Meter,
    ) -> Result<LocationEntries<'d, 'a>> {
        Ok(LocationEntries {
            encoded: self.encoded_locations(unit, offset)?,
            meter,
        })
    }

    /// Returns the encoded entries, for callers that charge for each entry themselves.
    pub(super) fn encoded_locations(
        &self,
        unit: UnitId,
        offset: u64,
    ) -> Result<EncodedLocations<'_, 'a>> {
        let entry = self.entry(unit)?;
        let file = self.file(entry)?;
        let (version, address_size) = (entry.header.version(), entry.header.address_size());
        let (section, bytes) = file.location_lists(version);
        let format = LocationFormat::of(version, file.split);
        Ok(EncodedLocations {
            info: self,
            unit,
            expressions: self.eval_unit(unit)?,
            section,
            offset,
            raw: RawLocations::new(section, bytes, offset, format, address_size)?,
            base: Base::new(Some(self.contents(unit)?.gimli.low_pc), address_size),
        })
    }
}

impl<'a> EncodedLocations<'_, 'a> {
    /// Returns the next entry of the list.
    pub(super) fn next(&mut self) -> Result<Option<RawLocation<'a>>> {
        self.raw.next()
    }

    /// Resolves the addresses of an entry. Returns `None` for an entry without an expression: it only sets the base address, has no addresses, or
    /// is for discarded code.
    pub(super) fn resolve(&mut self, entry: &RawLocation<'a>) -> Result<Option<LocationEntry<'a>>> {
        let place = Origin {
            section: self.section,
            offset: self.offset,
        };
        let indexed = |index| self.info.indexed_address(self.unit, index, &place);
        let listed = self.base.listed(entry.bounds, indexed)?;
        let range = match (entry.bounds, listed) {
            (Bounds::Default, _) => LocationRange::Default,
            (_, Some(listed)) if !listed.is_discarded => LocationRange::Bounded(listed.range),
            (_, _) => return Ok(None),
        };
        Ok(entry.expression.map(|(offset, bytes)| {
            let expression = ExpressionBytes {
                bytes,
                unit: self.expressions,
                section: self.section,
                offset,
            };
            LocationEntry::new(range, expression)
        }))
    }
}

impl<'a> FallibleIterator for LocationEntries<'_, 'a> {
    type Item = LocationEntry<'a>;
    type Error = Error;

    fn next(&mut self) -> Result<Option<LocationEntry<'a>>> {
        loop {
            self.meter.work(1)?;
            let Some(entry) = self.encoded.next()? else {
                return Ok(None);
            };
            let resolved = self.encoded.resolve(&entry)?;
            if resolved.is_some() {
                return Ok(resolved);
            }
        }
    }
}
