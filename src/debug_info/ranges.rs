//! Reads the addresses that an entry covers.
//!
//! Interpreting the entry is left to the callers. Sources: DWARF 5 §2.17, §7.28; DWARF 4 §2.17.3.

use core::ops::Range;

use gimli::{RangeListsOffset, constants};

use super::DebugInfo;
use super::die::Die;
use super::id::DieId;
use super::raw_list::{Base, Listed, is_discarded};
use super::value::DieValue;
use crate::error::{Error, Origin, Result};
use crate::meter::Meter;

/// The attributes of an entry about its addresses.
enum Covered {
    /// There are no such attributes, or only a first address.
    Unsaid,
    One(Range<u64>),
    List(u64),
}

impl<'a> DebugInfo<'a> {
    /// Returns the address ranges of an entry, in the order of its list. Empty ranges are left out, and ranges of discarded code that are marked as
    /// such (they start at the two highest addresses).
    ///
    /// # Errors
    /// If the attributes or the range list are malformed.
    pub fn ranges(&self, die: &Die<'a>, meter: &Meter) -> Result<Vec<Range<u64>>> {
        let mut ranges = Vec::new();
        let mut full = Ok(());
        self.for_each_range(die, meter, |range| {
            full = meter.hold_all::<Range<u64>>(1);
            if full.is_ok() {
                ranges.push(range);
            }
            full.is_err()
        })?;
        full?;
        Ok(ranges)
    }

    /// Returns true if an entry has attributes for the addresses it covers.
    pub(super) fn says_ranges(&self, die: &Die<'a>) -> bool {
        !matches!(self.covered(die), Ok(Covered::Unsaid))
    }

    /// Returns true if an entry covers `pc`.
    pub(super) fn covers(&self, die: &Die<'a>, pc: u64, meter: &Meter) -> Result<bool> {
        self.for_each_range(die, meter, |range| range.contains(&pc))
    }

    /// Passes the ranges of an entry to `found` until it returns true. Returns true if it did.
    pub(super) fn for_each_range(
        &self,
        die: &Die<'a>,
        meter: &Meter,
        mut found: impl FnMut(Range<u64>) -> bool,
    ) -> Result<bool> {
        meter.work(1)?;
        match self.covered(die)? {
            Covered::Unsaid => Ok(false),
            Covered::One(range) => Ok(range.start < range.end && found(range)),
            Covered::List(offset) => self.for_each_in_list(die.id(), offset, meter, found),
        }
    }

    /// Calls `found` for each range of the list at `offset`, to which the entry at `id` refers.
    pub(crate) fn for_each_in_list(
        &self,
        id: DieId,
        offset: u64,
        meter: &Meter,
        mut found: impl FnMut(Range<u64>) -> bool,
    ) -> Result<bool> {
        self.for_each_listed(id, offset, meter, |listed| {
            let range = listed.range;
            range.start < range.end && !listed.is_discarded && found(range)
        })
    }

    /// Calls `found` for each range of the list, including empty ranges and ranges of discarded code.
    pub(crate) fn for_each_listed(
        &self,
        id: DieId,
        offset: u64,
        meter: &Meter,
        mut found: impl FnMut(Listed) -> bool,
    ) -> Result<bool> {
        let error = |error| self.unit_error("range list", id, error);
        let entry = self.entry(id.unit)?;
        let unit = &self.contents(id.unit)?.gimli;
        let offset = RangeListsOffset(usize::try_from(offset).unwrap_or(usize::MAX));
        let dwarf = &self.file(entry)?.dwarf;
        let mut list = dwarf.raw_ranges(unit, offset).map_err(error)?;
        let place = Origin {
            section: self.section_of(id.unit)?,
            offset: id.offset,
        };
        let mut base = Base::new(Some(unit.low_pc), entry.header.address_size());
        while let Some(item) = list.next().map_err(error)? {
            meter.work(1)?;
            let indexed = |index| self.indexed_address(id.unit, index, &place);
            if let Some(listed) = base.listed(item.into(), indexed)?
                && found(listed)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn covered(&self, die: &Die<'a>) -> Result<Covered> {
        if let Some(attribute) = die.attribute(constants::DW_AT_ranges)
            && let DieValue::RangeList(offset) = self.value(die, attribute)?
        {
            return Ok(Covered::List(offset));
        }
        let address = |name| -> Result<Option<DieValue<'a>>> {
            let attribute = die.attribute(name);
            attribute
                .map(|attribute| self.value(die, attribute))
                .transpose()
        };
        let Some(DieValue::Address(low)) = address(constants::DW_AT_low_pc)? else {
            return Ok(Covered::Unsaid);
        };
        let high = match address(constants::DW_AT_high_pc)? {
            Some(DieValue::Address(high)) => Some(high),
            Some(DieValue::Unsigned(size)) => low.checked_add(size),
            Some(DieValue::Signed(size)) => low.checked_add_signed(size),
            Some(_) => None,
            None => return Ok(Covered::Unsaid),
        };
        let high = high.ok_or_else(|| {
            Error::malformed(
                "address range",
                "DW_AT_high_pc is not an address after DW_AT_low_pc",
            )
            .within(
                self.section_of(die.id().unit).unwrap_or(".debug_info"),
                die.id().offset,
            )
        })?;
        let size = self.entry(die.id().unit)?.header.address_size();
        Ok(if is_discarded(low, size) {
            Covered::One(0..0)
        } else {
            Covered::One(low..high)
        })
    }
}
