//! Prints line tables: headers, files and rows, one table after the other in section order.
//!
//! The library's line tables serve look-ups by unit and omit everything else. This module reads all fields with gimli. Source: DWARF 5 §6.2.

use core::ops::Range;
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use gimli::{AttributeValue, DebugLineStr, DebugStr, DwLns, LineProgramHeader, LineRow};

use super::Failure;
use super::context::Context;
use super::line_program;
use super::line_repair::{self, Replaced, default_is_stmt, repaired};
use super::line_row::{COLUMNS, print_row};
use super::list::address;
use super::names::quoted;
use super::output::Output;
use super::{Sources, said_version};
use crate::debug_info::{
    Bytes, LineHeader, Refusal, UnitLength, complete, next_instruction, parse_program, path_in,
};
use crate::error::{Error, Result};
use crate::meter::{Held, Meter};
use crate::report::hex_bytes;

/// The sections of line tables and of their strings.
pub(super) struct Lines<'a> {
    pub(super) section: &'static str,
    /// The offsets of tables of version 6, whose bytes have been changed to 5.
    of_6: &'a [u64],
    bytes: Bytes<'a>,
    strings: DebugStr<Bytes<'a>>,
    line_strings: DebugLineStr<Bytes<'a>>,
    /// The offsets of strings of a `.dwo` file.
    string_offsets: Bytes<'a>,
    /// The offset of the bytes in the section, and the number of bytes that were added to the table's header.
    start: usize,
    added: usize,
    /// For a copy, the original values of the header, and the end of the table in the section.
    said: Option<(Replaced, usize)>,
    /// The only offset to print.
    offset: Option<u64>,
    /// True if instructions are printed too.
    verbose: bool,
}

/// Prints all line tables.
pub(super) fn dump(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let sources = context.sources;
    for (split, section) in [(false, ".debug_line"), (true, ".debug_line.dwo")] {
        let bytes = sources.bytes(split, ".debug_line")?;
        if !context.begin_section(section, bytes.len(), output)? {
            continue;
        }
        let lines = Lines {
            section,
            bytes,
            of_6: sources.of_6(split, ".debug_line")?,
            strings: sources.bytes(split, ".debug_str")?.into(),
            line_strings: sources.bytes(split, ".debug_line_str")?.into(),
            string_offsets: match split {
                true => sources.bytes(true, ".debug_str_offsets")?,
                false => Bytes::new(&[], gimli::LittleEndian),
            },
            start: 0,
            added: 0,
            said: None,
            offset: context.offset,
            verbose: context.style.verbose,
        };
        lines.tables(&sources.for_query(), output)?;
    }
    Ok(())
}

/// Adds the paths of the files in the line tables of a file without units.
///
/// # Errors
/// If a table cannot be read, or a limit is reached. The other tables are read anyway.
pub(super) fn paths(
    sources: &Sources<'_>,
    meter: &Arc<Meter>,
    files: &mut Vec<Arc<str>>,
) -> Result<()> {
    let lines = Lines {
        section: ".debug_line",
        of_6: &[],
        bytes: sources.bytes(false, ".debug_line")?,
        strings: sources.bytes(false, ".debug_str")?.into(),
        line_strings: sources.bytes(false, ".debug_line_str")?.into(),
        string_offsets: Bytes::new(&[], gimli::LittleEndian),
        start: 0,
        added: 0,
        said: None,
        offset: None,
        verbose: false,
    };
    let (mut next, mut read) = (0, Ok(()));
    while next < lines.bytes.len() {
        let held = Held::new(Arc::clone(meter));
        let length = UnitLength::read(&lines.bytes, next as u64, "line table");
        match parse_program(lines.bytes, next, 8, &held) {
            Ok(program) => lines.paths_of(program.header(), meter, files)?,
            Err(Refusal::Limit(error)) => return Err(error),
            Err(Refusal::Gimli(error)) => {
                let size = lines.bytes.len().saturating_sub(next);
                held.hold_all::<u8>(size.saturating_add(line_repair::MORE))?;
                let copy = repaired(lines.bytes.slice(), next);
                let bytes = copy.as_ref().map_or(&[][..], |copy| &copy.bytes);
                let bytes = Bytes::new(bytes, gimli::LittleEndian);
                match parse_program(bytes, 0, 8, &held) {
                    Ok(program) => lines.paths_of(program.header(), meter, files)?,
                    Err(Refusal::Limit(error)) => return Err(error),
                    Err(Refusal::Gimli(_)) => read = read.and(Err(lines.malformed(next, error))),
                }
            }
        }
        match length {
            Ok(length) => next = length.body.end,
            Err(_) => break,
        }
    }
    read
}

impl<'a> Lines<'a> {
    /// Adds the paths of the files in a header.
    fn paths_of<'b>(
        &self,
        header: &LineProgramHeader<Bytes<'b>>,
        meter: &Meter,
        files: &mut Vec<Arc<str>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        let lines: Lines<'b> = Lines { ..*self };
        for file in header.file_names() {
            let name = lines.string(file.path_name()).unwrap_or_default();
            // Before DWARF 5 directory 0 is the unit's directory.
            let is_own = header.version() < 5 && file.directory_index() == 0;
            let directory = file.directory(header).filter(|_| !is_own);
            let directory = directory.and_then(|directory| lines.string(directory));
            let directory = directory.unwrap_or_default();
            // A text shared by many files is read each time.
            let size = name.len().saturating_add(directory.len());
            meter.work((size as u64 / 16).saturating_add(1))?;
            let path = path_in(&directory, &name);
            meter.hold((path.len() as u64).saturating_add(32))?;
            files.push(path.into());
        }
        Ok(())
    }

    fn tables(&self, meter: &Arc<Meter>, output: &mut Output<'_>) -> io::Result<()> {
        let mut next = 0;
        while next < self.bytes.len() {
            let held = Held::new(Arc::clone(meter));
            let length = UnitLength::read(&self.bytes, next as u64, "line table");
            let end = match length {
                Ok(length) => length.body.end,
                Err(error) => {
                    let error = error.within(self.section, next as u64);
                    return self.repaired(next..self.bytes.len(), &error, &held, output);
                }
            };
            if self.offset.is_some_and(|offset| offset != next as u64) {
                next = end;
                continue;
            }
            // AMDGPU addresses have 8 bytes. From DWARF 5 on the header gives the size.
            match parse_program(self.bytes, next, 8, &held) {
                Ok(program) if output.json() => self.json(program.header(), &held, output)?,
                Ok(program) => self.text(program.header(), output)?,
                Err(Refusal::Gimli(gimli::Error::MissingFileEntryFormatPath)) => {
                    self.nameless(next..end, &held, output)?
                }
                Err(Refusal::Gimli(error)) => {
                    let error = self.malformed(next, error);
                    self.repaired(next..end, &error, &held, output)?
                }
                Err(Refusal::Limit(error)) => output.problem(&error)?,
            }
            next = end;
        }
        Ok(())
    }

    /// Prints a table that has no directories or no files, and no formats for them.
    fn nameless(
        &self,
        table: Range<usize>,
        held: &Held,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let offset = table.start;
        // The copy, which is a few bytes longer.
        if let Err(error) = held.hold_all::<u8>(table.len()) {
            return output.problem(&error);
        }
        let refused = || self.malformed(offset, gimli::Error::MissingFileEntryFormatPath);
        let Some(bytes) = complete(&self.bytes, offset) else {
            return output.problem(&refused());
        };
        let lines = Lines {
            bytes: Bytes::new(&bytes, gimli::LittleEndian),
            start: offset,
            added: bytes.len().saturating_sub(table.len()),
            ..*self
        };
        match parse_program(lines.bytes, 0, 8, held) {
            Ok(program) if output.json() => lines.json(program.header(), held, output),
            Ok(program) => lines.text(program.header(), output),
            Err(Refusal::Gimli(_)) => output.problem(&refused()),
            Err(Refusal::Limit(error)) => output.problem(&error),
        }
    }

    /// Prints the readable part of a table that gimli rejects, and the error.
    fn repaired(
        &self,
        table: Range<usize>,
        error: &Error,
        held: &Held,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        if let Err(error) = held.hold_all::<u8>(table.len().saturating_add(line_repair::MORE)) {
            return output.problem(&error);
        }
        let offset = table.start;
        let Some(copy) = repaired(self.bytes.slice(), offset) else {
            let is_reserved = UnitLength::read(&self.bytes, offset as u64, "line table").is_err();
            if is_reserved && output.is_quiet() && !output.json() {
                writeln!(output, "debug_line[{offset:#010x}]\n")?;
            }
            return output.problem(error);
        };
        let lines = Lines {
            bytes: Bytes::new(&copy.bytes, gimli::LittleEndian),
            start: offset,
            said: Some((copy.said, copy.end)),
            ..*self
        };
        match parse_program(lines.bytes, 0, 8, held) {
            Ok(program) if output.json() => lines.json(program.header(), held, output)?,
            Ok(program) => lines.text(program.header(), output)?,
            Err(Refusal::Gimli(_)) => {}
            Err(Refusal::Limit(error)) => output.problem(&error)?,
        }
        output.problem(error)
    }

    /// Returns the end of a table in the section.
    fn start_of_next(&self, header: &LineProgramHeader<Bytes<'a>>) -> usize {
        if let Some((_, end)) = self.said {
            return end;
        }
        let size = usize::from(header.format().word_size());
        let head = if size == 8 { 12 } else { size };
        let length = header.unit_length().saturating_sub(self.added);
        self.offset(header)
            .saturating_add(head)
            .saturating_add(length)
    }

    /// Returns the offset of a table in the section.
    pub(super) fn offset(&self, header: &LineProgramHeader<Bytes<'a>>) -> usize {
        header.offset().0.saturating_add(self.start)
    }

    pub(super) fn malformed(&self, offset: usize, error: gimli::Error) -> Error {
        Error::malformed("line table", error.to_string()).within(self.section, offset as u64)
    }

    /// Returns the text to which a header refers, or `None` if it is missing.
    pub(super) fn string(&self, value: AttributeValue<Bytes<'a>>) -> Option<Cow<'a, str>> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "indexed strings need a unit, which a table does not have"
        )]
        let bytes = match value {
            AttributeValue::String(text) => text,
            AttributeValue::DebugStrRef(offset) => self.strings.get_str(offset).ok()?,
            AttributeValue::DebugLineStrRef(offset) => self.line_strings.get_str(offset).ok()?,
            AttributeValue::DebugStrOffsetsIndex(index) => self.indexed(index.0)?,
            _ => return None,
        };
        Some(String::from_utf8_lossy(bytes.slice()))
    }

    /// Returns a string by its index. A `.dwo` file has one table of strings, after a header of eight bytes.
    fn indexed(&self, index: usize) -> Option<Bytes<'a>> {
        let at = index.checked_mul(4)?.checked_add(8)?;
        let bytes = self.string_offsets.slice().get(at..)?.first_chunk()?;
        let offset = usize::try_from(u32::from_le_bytes(*bytes)).ok()?;
        self.strings.get_str(gimli::DebugStrOffset(offset)).ok()
    }

    /// * `size`: the size of an offset in the table, in bytes.
    fn quoted(&self, value: AttributeValue<Bytes<'a>>, size: u8) -> String {
        let text = match self.string(value) {
            Some(text) => quoted(&text),
            None => "<unreadable>".to_owned(),
        };
        #[expect(clippy::wildcard_enum_match_arm, reason = "no offsets")]
        let (section, offset) = match value {
            AttributeValue::DebugStrRef(offset) if self.verbose => (".debug_str", offset.0),
            AttributeValue::DebugLineStrRef(offset) if self.verbose => {
                (".debug_line_str", offset.0)
            }
            AttributeValue::DebugStrOffsetsIndex(index) if self.verbose => {
                return format!("indexed ({:08x}) string = {text}", index.0);
            }
            _ => return text,
        };
        format!(" {section}[{}] = {text}", address(offset as u64, size))
    }

    fn text(
        &self,
        header: &LineProgramHeader<Bytes<'a>>,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let offset = self.offset(header);
        self.header(header, output)?;
        self.files(header, output)?;
        writeln!(output)?;
        if self.verbose {
            let end = self.start_of_next(header);
            let (any, result) = line_program::print(header, end, output)?;
            if let Err(error) = result {
                output.problem(&self.malformed(offset, error))?;
            }
            return if any { writeln!(output) } else { Ok(()) };
        }
        let (mut titled, mut text) = (false, String::new());
        let result = rows(header, |row| {
            if !titled {
                writeln!(output, "{COLUMNS}")?;
                titled = true;
            }
            print_row(row, &mut text, output)
        })?;
        if let Err(error) = result {
            output.problem(&self.malformed(offset, error))?;
        }
        if titled { writeln!(output) } else { Ok(()) }
    }

    /// Returns the original values of the header, whether or not the bytes are a copy.
    pub(super) fn said(&self, header: &LineProgramHeader<Bytes<'a>>) -> Replaced {
        if let Some((said, _)) = self.said {
            return said;
        }
        let own = |length: usize| length.saturating_sub(self.added) as u64;
        Replaced {
            length: own(header.unit_length()),
            header_length: own(header.header_length()),
            // gimli rejects headers with a segment selector.
            segment_selector_size: 0,
            default_is_stmt: {
                let size = header.format().word_size();
                let raw = default_is_stmt(&self.bytes, header.offset().0, size);
                raw.unwrap_or(0)
            },
            line_range: header.line_range(),
        }
    }

    pub(super) fn version(&self, header: &LineProgramHeader<Bytes<'a>>) -> u16 {
        said_version(header.version(), self.offset(header) as u64, self.of_6)
    }

    fn header(
        &self,
        header: &LineProgramHeader<Bytes<'a>>,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let size = header.format().word_size();
        let bits = u32::from(size).saturating_mul(8);
        writeln!(output, "debug_line[{:#010x}]", self.offset(header))?;
        writeln!(output, "Line table prologue:")?;
        let said = self.said(header);
        let length = address(said.length, size);
        writeln!(output, "    total_length: {length}")?;
        writeln!(output, "          format: DWARF{bits}")?;
        writeln!(output, "         version: {}", self.version(header))?;
        if header.version() >= 5 {
            writeln!(output, "    address_size: {}", header.address_size())?;
            let selector = said.segment_selector_size;
            writeln!(output, " seg_select_size: {selector}")?;
        }
        let length = address(said.header_length, size);
        writeln!(output, " prologue_length: {length}")?;
        writeln!(
            output,
            " min_inst_length: {}",
            header.minimum_instruction_length()
        )?;
        if header.version() >= 4 {
            let most = header.maximum_operations_per_instruction();
            writeln!(output, "max_ops_per_inst: {most}")?;
        }
        writeln!(output, " default_is_stmt: {}", said.default_is_stmt)?;
        writeln!(output, "       line_base: {}", header.line_base())?;
        writeln!(output, "      line_range: {}", said.line_range)?;
        writeln!(output, "     opcode_base: {}", header.opcode_base())?;
        let lengths = header.standard_opcode_lengths().slice().iter();
        for (code, length) in (1u8..).zip(lengths) {
            match DwLns(code).static_string() {
                Some(name) => writeln!(output, "standard_opcode_lengths[{name}] = {length}")?,
                None => writeln!(
                    output,
                    "standard_opcode_lengths[DW_LNS_unknown_{code:x}] = {length}"
                )?,
            }
        }
        Ok(())
    }

    fn files(
        &self,
        header: &LineProgramHeader<Bytes<'a>>,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        // Before DWARF 5 directory 0 and file 0 are the unit's own.
        let first = u64::from(header.version() < 5);
        let size = header.format().word_size();
        for (index, directory) in (first..).zip(header.include_directories()) {
            let text = self.quoted(*directory, size);
            writeln!(output, "include_directories[{index:>3}] = {text}")?;
        }
        for (index, file) in (first..).zip(header.file_names()) {
            writeln!(output, "file_names[{index:>3}]:")?;
            writeln!(
                output,
                "           name: {}",
                self.quoted(file.path_name(), size)
            )?;
            writeln!(output, "      dir_index: {}", file.directory_index())?;
            if header.file_has_md5() {
                writeln!(output, "   md5_checksum: {}", hex_bytes(file.md5()))?;
            }
            if header.file_has_timestamp() {
                writeln!(output, "       mod_time: {:#010x}", file.timestamp())?;
            }
            if header.file_has_size() {
                writeln!(output, "         length: {:#010x}", file.size())?;
            }
            if let Some(source) = file.source()
                && self.string(source).is_none_or(|text| !text.is_empty())
            {
                writeln!(output, "         source: {}", self.quoted(source, size))?;
            }
        }
        Ok(())
    }
}

/// Executes a program and passes each row on. gimli executes each instruction. Its own loop is not used because it overflows on some (see
/// [`next_instruction`]). The inner result is an error if the program is malformed.
pub(super) fn rows(
    header: &LineProgramHeader<Bytes<'_>>,
    mut give: impl FnMut(&LineRow) -> io::Result<()>,
) -> io::Result<gimli::Result<()>> {
    let mut instructions = header.instructions();
    let mut row = LineRow::new(header);
    loop {
        let instruction = match next_instruction(&mut instructions, header) {
            Ok(Some(instruction)) => instruction,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        match row.execute(instruction, &mut LineHeader(header)) {
            Ok(true) => {
                give(&row)?;
                row.reset(header);
            }
            Ok(false) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
}
