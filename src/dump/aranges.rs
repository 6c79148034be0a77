//! Prints `.debug_aranges`, set by set. Source: DWARF 5 §6.1.2.

use std::io::{self, Write};

use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::list::{address, range_text};
use super::output::Output;
use crate::debug_info::address_ranges::{AddressRangeSet, SECTION};
use crate::error::Error;
use crate::report::Hex;

#[derive(Serialize)]
struct SetFields {
    offset: Hex,
    length: Hex,
    dwarf_format: u32,
    version: u16,
    unit: Hex,
    address_size: u8,
    segment_size: u8,
}

/// Prints the section.
pub(super) fn dump(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let bytes = context.sources.section(false, SECTION)?;
    if !context.begin_section(SECTION, bytes.len(), output)? {
        return Ok(());
    }
    let mut next = 0;
    while next < bytes.len() as u64 {
        let set = match AddressRangeSet::read(bytes, next) {
            Ok(set) => set,
            Err(error) => {
                output.problem(&error)?;
                break;
            }
        };
        next = set.end;
        let unit = set.unit;
        let unit = unit.saturating_sub(context.sources.section_start(false, ".debug_info", unit));
        print_set(&set, unit, output)?;
    }
    Ok(())
}

/// * `unit`: the displayed offset of its unit.
fn print_set(set: &AddressRangeSet<'_>, unit: u64, output: &mut Output<'_>) -> io::Result<()> {
    let dwarf_format = u32::from(set.offset_size).saturating_mul(8);
    let json = output.json();
    if json {
        output.begin_element(&SetFields {
            offset: set.offset.into(),
            length: set.length.into(),
            dwarf_format,
            version: set.version,
            unit: set.unit.into(),
            address_size: set.address_size,
            segment_size: set.segment_size,
        })?;
        output.begin_array("ranges")?;
    } else {
        writeln!(
            output,
            "Address Range Header: length = {}, format = DWARF{dwarf_format}, version = {:#06x}, cu_offset = {}, \
             addr_size = {:#04x}, seg_size = {:#04x}",
            address(set.length, set.offset_size),
            set.version,
            address(unit, set.offset_size),
            set.address_size,
            set.segment_size
        )?;
    }
    for tuple in set.tuples().take_while(|tuple| !tuple.is_end()) {
        let end = tuple.address.wrapping_add(tuple.length);
        if json {
            output.element(&[Hex::from(tuple.address), end.into()])?;
        } else {
            let range = range_text(&(tuple.address..end), set.address_size);
            writeln!(output, "{range}")?;
        }
    }
    if set.bytes_after_end().is_none() {
        let reason = if set.has_tuples() {
            "it has no terminating tuple of zeros".to_owned()
        } else {
            format!(
                "addresses of {} bytes and segment selectors of {} are not supported",
                set.address_size, set.segment_size
            )
        };
        output
            .problem(&Error::malformed("address range set", reason).within(SECTION, set.offset))?;
    }
    if json {
        output.end_array()?;
        output.end_element()?;
    }
    Ok(())
}
