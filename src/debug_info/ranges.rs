//! The addresses that an entry covers.
//!
//! It leaves to others what an entry is. Sources: DWARF 5 §2.17, §7.28; DWARF 4 §2.17.3.

use core::ops::Range;

use gimli::{DebugAddrIndex, RangeListsOffset, RawRngListEntry, constants};

use super::DebugInfo;
use super::die::Die;
use super::id::DieId;
use super::value::DieValue;
use crate::error::{Error, Result};
use crate::meter::Meter;

/// What an entry's attributes say of its addresses.
enum Covered {
    /// There are no such attributes, or only a first address.
    Unsaid,
    One(Range<u64>),
    List(u64),
}

impl<'a> DebugInfo<'a> {
    /// The address ranges of an entry, in the order of its list; empty ranges are left out, and those of
    /// code that the linker threw away as far as they say so (they start at the two highest addresses).
    ///
    /// # Errors
    /// If the attributes or the range list are malformed.
    pub fn ranges(&self, die: &Die<'a>) -> Result<Vec<Range<u64>>> {
        self.ranges_within(die, &self.question())
    }

    /// The same; what is kept is paid for.
    pub(crate) fn ranges_within(&self, die: &Die<'a>, meter: &Meter) -> Result<Vec<Range<u64>>> {
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

    /// Whether an entry says which addresses it covers.
    pub(super) fn says_ranges(&self, die: &Die<'a>) -> bool {
        !matches!(self.covered(die), Ok(Covered::Unsaid))
    }

    /// Whether an entry covers `pc`.
    pub(super) fn covers(&self, die: &Die<'a>, pc: u64, meter: &Meter) -> Result<bool> {
        self.for_each_range(die, meter, |range| range.contains(&pc))
    }

    /// Gives the ranges of an entry to `found` until it says that that is enough; whether it said so.
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

    /// The same for the range list at `offset`, which the entry at `id` refers to.
    pub(crate) fn for_each_in_list(
        &self,
        id: DieId,
        offset: u64,
        meter: &Meter,
        mut found: impl FnMut(Range<u64>) -> bool,
    ) -> Result<bool> {
        let error = |error| self.unit_error("range list", id, error);
        let entry = self.entry(id.unit)?;
        let unit = &self.contents(id.unit)?.gimli;
        let offset = RangeListsOffset(usize::try_from(offset).unwrap_or(usize::MAX));
        let dwarf = &self.file(entry)?.dwarf;
        let mut list = dwarf.raw_ranges(unit, offset).map_err(error)?;
        let place = (self.section_of(id.unit).unwrap_or(".debug_info"), id.offset);
        let address_size = entry.header.address_size();
        let mut base = unit.low_pc;
        while let Some(item) = list.next().map_err(error)? {
            meter.work(1)?;
            let address = |index| self.indexed_address(id.unit, index, place);
            let range = match resolve(item, &mut base, address_size, address)? {
                Some(range) if range.start < range.end => range,
                Some(_) | None => continue,
            };
            if !is_discarded(range.start, address_size) && found(range) {
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
                "DW_AT_high_pc is no address after DW_AT_low_pc",
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

/// The range of an entry of a list; nothing for one that only sets the base address, which is then in `base`, or
/// counts from the address of code that the linker threw away.
fn resolve(
    entry: RawRngListEntry<usize>,
    base: &mut u64,
    address_size: u8,
    address: impl Fn(DebugAddrIndex<usize>) -> Result<u64>,
) -> Result<Option<Range<u64>>> {
    use RawRngListEntry as Raw;
    let add = |address: u64, offset: u64| {
        let sum = address.wrapping_add(offset);
        if address_size == 4 {
            sum & u64::from(u32::MAX)
        } else {
            sum
        }
    };
    Ok(Some(match entry {
        Raw::BaseAddress { addr } => {
            *base = addr;
            return Ok(None);
        }
        Raw::BaseAddressx { addr } => {
            *base = address(addr)?;
            return Ok(None);
        }
        Raw::AddressOrOffsetPair { .. } | Raw::OffsetPair { .. }
            if is_discarded(*base, address_size) =>
        {
            return Ok(None);
        }
        Raw::AddressOrOffsetPair { begin, end } | Raw::OffsetPair { begin, end } => {
            add(*base, begin)..add(*base, end)
        }
        Raw::StartxEndx { begin, end } => address(begin)?..address(end)?,
        Raw::StartxLength { begin, length } => {
            let start = address(begin)?;
            start..add(start, length)
        }
        Raw::StartEnd { begin, end } => begin..end,
        Raw::StartLength { begin, length } => begin..add(begin, length),
    }))
}

/// Whether an address stands for code that the linker threw away: the two highest addresses
/// (DWARF 6 issue 200609.1; the second is for the lists of DWARF 4, where the first has a meaning).
pub(super) fn is_discarded(address: u64, address_size: u8) -> bool {
    let highest = match address_size {
        1 => u64::from(u8::MAX),
        2 => u64::from(u16::MAX),
        4 => u64::from(u32::MAX),
        _ => u64::MAX,
    };
    address == highest || address == highest.saturating_sub(1)
}
