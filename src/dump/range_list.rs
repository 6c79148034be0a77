//! Range lists with every range that they have.
//!
//! The library's [`ranges`](crate::debug_info::DebugInfo::ranges) leaves out ranges without addresses and
//! those of code that the linker threw away; a dump shows them. gimli decodes the entries. Sources:
//! DWARF 5 §2.17.3, §7.28; DWARF 4 §2.17.3.

use core::ops::Range;

use gimli::constants as dw;
use gimli::{
    DebugAddr, DebugAddrBase, DebugAddrIndex, DebugRanges, DebugRngLists, Encoding, Format,
    RangeLists, RangeListsOffset, RawRngListEntry,
};

use super::Sources;
use super::attribute::UnitFacts;
use crate::debug_info::{Bytes, DebugInfo, DieValue, UnitId};
use crate::error::{Error, Result};

/// What the entries of a list refer to.
struct Addresses<'a> {
    table: DebugAddr<Bytes<'a>>,
    start: DebugAddrBase<usize>,
    size: u8,
}

impl Addresses<'_> {
    fn get(&self, index: DebugAddrIndex<usize>) -> gimli::Result<u64> {
        self.table.get_address(self.size, self.start, index)
    }

    fn add(&self, address: u64, offset: u64) -> u64 {
        let sum = address.wrapping_add(offset);
        if self.size == 4 {
            sum & u64::from(u32::MAX)
        } else {
            sum
        }
    }
}

/// The ranges of the list at `offset` of the section that holds those of the unit.
///
/// # Errors
/// If the list is malformed, or its addresses are not there. The ranges before that are in `ranges`.
pub(super) fn read(
    info: &DebugInfo<'_>,
    sources: &Sources<'_>,
    unit: UnitFacts,
    offset: u64,
    ranges: &mut Vec<Range<u64>>,
) -> Result<()> {
    let name = if unit.version >= 5 {
        ".debug_rnglists"
    } else {
        ".debug_ranges"
    };
    // Before DWARF 5, the ranges of split units are in the code object too.
    let split = unit.split && unit.version >= 5;
    let lists = RangeLists::new(
        DebugRanges::from(sources.bytes(split, ".debug_ranges")?),
        DebugRngLists::from(sources.bytes(split, ".debug_rnglists")?),
    );
    // What depends on where the linker put things is said in the skeleton (DWARF 5 §3.1.2).
    let holder = info.unit_info(unit.id)?.partner.filter(|_| unit.split);
    let holder = holder.unwrap_or(unit.id);
    let addresses = Addresses {
        table: sources.bytes(false, ".debug_addr")?.into(),
        start: DebugAddrBase(address_table(info, holder)?),
        size: unit.address_size,
    };
    let encoding = Encoding {
        address_size: unit.address_size,
        format: if unit.offset_size == 8 {
            Format::Dwarf64
        } else {
            Format::Dwarf32
        },
        version: unit.version,
    };
    let base = base_address(info, holder)?;
    let at = RangeListsOffset(usize::try_from(offset).unwrap_or(usize::MAX));
    entries(&lists, at, encoding, &addresses, base, ranges)
        .map_err(|error| Error::malformed("range list", error.to_string()).within(name, offset))
}

fn entries(
    lists: &RangeLists<Bytes<'_>>,
    at: RangeListsOffset<usize>,
    encoding: Encoding,
    addresses: &Addresses<'_>,
    mut base: u64,
    ranges: &mut Vec<Range<u64>>,
) -> gimli::Result<()> {
    let mut entries = lists.raw_ranges(at, encoding)?;
    while let Some(entry) = entries.next()? {
        ranges.push(match entry {
            RawRngListEntry::BaseAddress { addr } => {
                base = addr;
                continue;
            }
            RawRngListEntry::BaseAddressx { addr } => {
                base = addresses.get(addr)?;
                continue;
            }
            RawRngListEntry::AddressOrOffsetPair { begin, end }
            | RawRngListEntry::OffsetPair { begin, end } => {
                addresses.add(base, begin)..addresses.add(base, end)
            }
            RawRngListEntry::StartxEndx { begin, end } => {
                addresses.get(begin)?..addresses.get(end)?
            }
            RawRngListEntry::StartxLength { begin, length } => {
                let start = addresses.get(begin)?;
                start..addresses.add(start, length)
            }
            RawRngListEntry::StartEnd { begin, end } => begin..end,
            RawRngListEntry::StartLength { begin, length } => begin..addresses.add(begin, length),
        });
    }
    Ok(())
}

/// Where the addresses of a unit start in `.debug_addr`.
fn address_table(info: &DebugInfo<'_>, unit: UnitId) -> Result<usize> {
    let root = info.root(unit)?;
    let found = root
        .attribute(dw::DW_AT_addr_base)
        .or_else(|| root.attribute(dw::DW_AT_GNU_addr_base));
    let Some(attribute) = found else { return Ok(0) };
    let DieValue::SectionOffset(offset) = info.value(&root, attribute)? else {
        return Ok(0);
    };
    Ok(usize::try_from(offset).unwrap_or(usize::MAX))
}

/// The address that offsets of a unit count from.
fn base_address(info: &DebugInfo<'_>, unit: UnitId) -> Result<u64> {
    let root = info.root(unit)?;
    let Some(attribute) = root.attribute(dw::DW_AT_low_pc) else {
        return Ok(0);
    };
    match info.value(&root, attribute) {
        Ok(DieValue::Address(address)) => Ok(address),
        Ok(_) | Err(_) => Ok(0),
    }
}
