//! Reads the tables of the sections of lists: a header, offsets of lists, and the lists.
//!
//! Sources: DWARF 5 §7.28, §7.29.

use std::io::{self, Write};

use super::list::address;
use super::output::Output;
use super::said_version;
use crate::debug_info::UnitLength;
use crate::error::{Error, Result};
use crate::expr::Cursor;

/// The header of a table.
pub(super) struct ListTable<'a> {
    /// The start of the table.
    pub(super) offset: u64,
    length: u64,
    pub(super) offset_size: u8,
    pub(super) address_size: u8,
    version: u16,
    segment_size: u8,
    offsets: u32,
    /// The section up to the end of the table.
    pub(super) whole: &'a [u8],
    /// The start of the offsets.
    start: u64,
    pub(super) end: u64,
}

impl<'a> ListTable<'a> {
    /// Reads the header at an offset of a section.
    ///
    /// * `of_6`: the offsets of tables of version 6, whose bytes have been changed to 5;
    /// * `what`: its name in errors.
    ///
    /// # Errors
    /// If the header is not in the section, or has another version.
    pub(super) fn read(
        bytes: &'a [u8],
        offset: u64,
        of_6: &[u64],
        what: &'static str,
    ) -> Result<ListTable<'a>> {
        let UnitLength {
            length,
            offset_size,
            body,
        } = UnitLength::read(bytes, offset, what)?;
        let mut cursor = Cursor::new(bytes.get(..body.end).unwrap_or_default());
        cursor.go_to(body.start)?;
        let version = cursor.u16()?;
        let address_size = cursor.u8()?;
        let segment_size = cursor.u8()?;
        let offsets = cursor.u32()?;
        let malformed = |reason: String| Err(Error::malformed(what, reason));
        if version != 5 || !matches!(address_size, 2 | 4 | 8) {
            return malformed(format!(
                "version {version} with addresses of {address_size} bytes is not supported"
            ));
        }
        if segment_size != 0 {
            return malformed(format!(
                "segment selectors of {segment_size} bytes are not supported"
            ));
        }
        let room = (body.end as u64).saturating_sub(cursor.position() as u64);
        if u64::from(offsets).saturating_mul(offset_size.into()) > room {
            return malformed(format!("it is too small for its {offsets} offsets"));
        }
        Ok(ListTable {
            offset,
            length,
            offset_size,
            address_size,
            version: said_version(version, offset, of_6),
            segment_size,
            offsets,
            whole: bytes.get(..body.end).unwrap_or_default(),
            start: cursor.position() as u64,
            end: body.end as u64,
        })
    }

    /// Returns the start of the first list.
    pub(super) fn lists(&self) -> u64 {
        let size = u64::from(self.offset_size);
        let after = size.saturating_mul(self.offsets.into());
        self.start.saturating_add(after).min(self.end)
    }

    /// Prints the header and the offsets.
    ///
    /// * `what`: the name of the header;
    /// * `verbose`: true to print the targets of the offsets too.
    pub(super) fn text(
        &self,
        what: &str,
        section: &'static str,
        verbose: bool,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let size = self.offset_size;
        if verbose {
            write!(output, "{:#010x}: ", self.offset)?;
        }
        writeln!(
            output,
            "{what} list header: length = {}, format = DWARF{}, version = {:#06x}, addr_size = {:#04x}, \
             seg_size = {:#04x}, offset_entry_count = {:#010x}",
            address(self.length, size),
            u32::from(size).saturating_mul(8),
            self.version,
            self.address_size,
            self.segment_size,
            self.offsets
        )?;
        if self.offsets == 0 {
            return Ok(());
        }
        let start = usize::try_from(self.start).unwrap_or(usize::MAX);
        let mut cursor = Cursor::new(self.whole.get(start..).unwrap_or_default());
        writeln!(output, "offsets: [")?;
        for _ in 0..self.offsets {
            let offset = match cursor.sized(size) {
                Ok(offset) => offset,
                Err(error) => {
                    output.problem(&error.within(section, self.start))?;
                    break;
                }
            };
            write!(output, "{}", address(offset, size))?;
            if verbose {
                write!(output, " => {:#010x}", self.start.saturating_add(offset))?;
            }
            writeln!(output)?;
        }
        writeln!(output, "]")
    }
}
