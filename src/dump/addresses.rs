//! Prints the tables of `.debug_addr`. Source: DWARF 5 §7.27.

use std::io::Write;

use serde::Serialize;

use super::context::Context;
use super::list::address;
use super::output::Output;
use super::{Failure, said_version};
use crate::debug_info::UnitLength;
use crate::error::{Error, Result};
use crate::expr::Cursor;
use crate::report::Hex;

const NAME: &str = ".debug_addr";

#[derive(Serialize)]
struct TableFields {
    offset: Hex,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<Hex>,
    dwarf_format: u8,
    version: u16,
    address_size: u8,
    segment_size: u8,
}

/// A table: its header, and the place of its addresses in the section.
struct Table {
    offset: u64,
    /// `None` before DWARF 5, which has no headers.
    length: Option<u64>,
    offset_size: u8,
    version: u16,
    address_size: u8,
    segment_size: u8,
    start: usize,
    end: usize,
}

/// Prints the section.
pub(super) fn dump(
    context: Context<'_, '_>,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    let bytes = context.sources.section(false, NAME)?;
    let of_6 = context.sources.of_6(false, NAME)?;
    if !context.begin_section(NAME, bytes.len(), output)? {
        return Ok(());
    }
    let units = context.sources.unit_facts(context.style.dialect)?;
    let mut next = 0;
    while next < bytes.len() {
        let offset = next as u64;
        let table = match units.version {
            5.. => header(bytes, offset),
            old => Ok(Table {
                offset,
                length: None,
                offset_size: 4,
                version: old,
                address_size: units.address_size,
                segment_size: 0,
                start: next,
                end: bytes.len(),
            }),
        };
        let table = match table {
            Ok(table) => table,
            Err(error) => {
                output.problem(&error.within(NAME, offset))?;
                break;
            }
        };
        next = table.end;
        let version = said_version(table.version, offset, of_6);
        print(bytes, &table, version, context.style.verbose, output)?;
    }
    Ok(())
}

fn header(bytes: &[u8], offset: u64) -> Result<Table> {
    const WHAT: &str = "address table";
    let length = UnitLength::read(bytes, offset, WHAT)?;
    let mut cursor = Cursor::new(bytes.get(..length.body.end).unwrap_or_default());
    cursor.go_to(length.body.start)?;
    let table = Table {
        offset,
        length: Some(length.length),
        offset_size: length.offset_size,
        version: cursor.u16()?,
        address_size: cursor.u8()?,
        segment_size: cursor.u8()?,
        start: cursor.position(),
        end: length.body.end,
    };
    let reason = if table.version != 5 {
        format!("unknown version {}", table.version)
    } else if !matches!(table.address_size, 1 | 2 | 4 | 8) {
        format!(
            "addresses of {} bytes are not supported",
            table.address_size
        )
    } else if table.segment_size != 0 {
        format!(
            "segment selectors of {} bytes are not supported",
            table.segment_size
        )
    } else {
        return Ok(table);
    };
    Err(Error::malformed(WHAT, reason))
}

fn print(
    bytes: &[u8],
    table: &Table,
    version: u16,
    verbose: bool,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    let size = table.address_size;
    let dwarf_format = table.offset_size.saturating_mul(8);
    let json = output.json();
    if json {
        output.begin_element(&TableFields {
            offset: table.offset.into(),
            length: table.length.map(Hex::from),
            dwarf_format,
            version,
            address_size: size,
            segment_size: table.segment_size,
        })?;
        output.begin_array("addresses")?;
    } else {
        if verbose {
            write!(output, "{:#010x}: ", table.offset)?;
        }
        if let Some(length) = table.length {
            writeln!(
                output,
                "Address table header: length = {}, format = DWARF{dwarf_format}, version = {version:#06x}, \
                 addr_size = {size:#04x}, seg_size = {:#04x}",
                address(length, table.offset_size),
                table.segment_size
            )?;
        }
    }
    let addresses = bytes.get(table.start..table.end).unwrap_or_default();
    let chunks = addresses.chunks_exact(usize::from(size.max(1)));
    let left = chunks.remainder().len();
    if !json && !addresses.is_empty() {
        writeln!(output, "Addrs: [")?;
    }
    for chunk in chunks {
        let value = Cursor::new(chunk).sized(size)?;
        if json {
            output.element(&Hex::from(value))?;
        } else {
            writeln!(output, "{}", address(value, size))?;
        }
    }
    if !json && !addresses.is_empty() {
        writeln!(output, "]")?;
    }
    if left > 0 {
        let reason = format!("{left} bytes are left after its last address");
        let error = Error::malformed("address table", reason);
        output.problem(&error.within(NAME, table.offset))?;
    }
    if json {
        output.end_array()?;
        output.end_element()?;
    }
    Ok(())
}
