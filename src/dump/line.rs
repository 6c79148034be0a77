//! Line tables: headers, files and rows, one table after the other as they lie in the section.
//!
//! The library's line tables serve look-ups by unit and leave out what no look-up needs; here gimli is
//! asked for everything. Source: DWARF 5 §6.2.

use core::ops::Range;
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use gimli::{AttributeValue, DebugLineStr, DebugStr, DwLns, LineProgramHeader, LineRow};
use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::line_program;
use super::line_row::{COLUMNS, column, flags, line, print_row};
use super::list::address;
use super::names::quoted;
use super::output::Output;
use super::said_version;
use crate::debug_info::{
    Bytes, LineHeader, Refusal, UnitLength, complete, next_instruction, parse_program,
};
use crate::error::{Error, Result};
use crate::meter::{Held, Meter};
use crate::report::{Hex, hex_bytes};

/// The sections of line tables and of their strings.
struct Lines<'a> {
    section: &'static str,
    /// The offsets of tables of version 6, though their bytes say 5.
    of_6: &'a [u64],
    bytes: Bytes<'a>,
    strings: DebugStr<Bytes<'a>>,
    line_strings: DebugLineStr<Bytes<'a>>,
    /// The offsets of strings of a `.dwo` file.
    string_offsets: Bytes<'a>,
    /// Where the bytes are in the section, and how many of them are not in there but in the header of their table.
    start: usize,
    added: usize,
    /// The only offset to print.
    offset: Option<u64>,
    /// True if instructions are printed too.
    verbose: bool,
}

#[derive(Serialize)]
struct TableFields<'a> {
    section: &'static str,
    offset: Hex,
    version: u16,
    dwarf_format: u8,
    address_size: u8,
    min_inst_length: u8,
    max_ops_per_inst: u8,
    default_is_stmt: bool,
    line_base: i8,
    line_range: u8,
    opcode_base: u8,
    directories: Vec<Cow<'a, str>>,
    first_file: u8,
    files: Vec<FileFields<'a>>,
}

#[derive(Serialize)]
struct FileFields<'a> {
    name: Cow<'a, str>,
    directory: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    md5: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct RowFields {
    address: Hex,
    line: u64,
    column: u64,
    file: u64,
    isa: u64,
    discriminator: u64,
    op_index: u64,
    flags: Vec<&'static str>,
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
            offset: context.offset,
            verbose: context.style.verbose,
        };
        lines.tables(&sources.question(), output)?;
    }
    Ok(())
}

impl<'a> Lines<'a> {
    fn tables(&self, meter: &Arc<Meter>, output: &mut Output<'_>) -> io::Result<()> {
        let mut next = 0;
        while next < self.bytes.len() {
            let length = UnitLength::read(&self.bytes, next as u64, "line table");
            let end = match length {
                Ok(length) => length.body.end,
                Err(error) => {
                    output.problem(&error.within(self.section, next as u64))?;
                    break;
                }
            };
            if self.offset.is_some_and(|offset| offset != next as u64) {
                next = end;
                continue;
            }
            // Addresses of AMDGPU have 8 bytes; from DWARF 5 on the header says it.
            let held = Held::new(Arc::clone(meter));
            match parse_program(self.bytes, next, 8, &held) {
                Ok(program) if output.json() => self.json(program.header(), &held, output)?,
                Ok(program) => self.text(program.header(), output)?,
                Err(Refusal::Gimli(gimli::Error::MissingFileEntryFormatPath)) => {
                    self.nameless(next..end, &held, output)?
                }
                Err(Refusal::Gimli(error)) => output.problem(&self.malformed(next, error))?,
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

    /// Where a table ends in the section.
    fn start_of_next(&self, header: &LineProgramHeader<Bytes<'a>>) -> usize {
        let size = usize::from(header.format().word_size());
        let head = if size == 8 { 12 } else { size };
        let length = header.unit_length().saturating_sub(self.added);
        self.offset(header)
            .saturating_add(head)
            .saturating_add(length)
    }

    /// Where a table is in the section.
    fn offset(&self, header: &LineProgramHeader<Bytes<'a>>) -> usize {
        header.offset().0.saturating_add(self.start)
    }

    fn malformed(&self, offset: usize, error: gimli::Error) -> Error {
        Error::malformed("line table", error.to_string()).within(self.section, offset as u64)
    }

    /// Text that a header refers to; nothing if it is not there.
    fn string(&self, value: AttributeValue<Bytes<'a>>) -> Option<Cow<'a, str>> {
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

    /// A string by its index. In a `.dwo` file there is one table of strings, after a header of eight bytes.
    fn indexed(&self, index: usize) -> Option<Bytes<'a>> {
        let at = index.checked_mul(4)?.checked_add(8)?;
        let bytes = self.string_offsets.slice().get(at..)?.first_chunk()?;
        let offset = usize::try_from(u32::from_le_bytes(*bytes)).ok()?;
        self.strings.get_str(gimli::DebugStrOffset(offset)).ok()
    }

    /// * `size`: of an offset in the table, in bytes.
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

    fn version(&self, header: &LineProgramHeader<Bytes<'a>>) -> u16 {
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
        let length = header.unit_length().saturating_sub(self.added);
        let length = address(length as u64, size);
        writeln!(output, "    total_length: {length}")?;
        writeln!(output, "          format: DWARF{bits}")?;
        writeln!(output, "         version: {}", self.version(header))?;
        if header.version() >= 5 {
            writeln!(output, "    address_size: {}", header.address_size())?;
            // Behind the length, the version and the size of addresses; gimli passes over it.
            let at = header
                .offset()
                .0
                .saturating_add(if size == 8 { 15 } else { 7 });
            let selector = self.bytes.slice().get(at).copied().unwrap_or(0);
            writeln!(output, " seg_select_size: {selector}")?;
        }
        let length = header.header_length().saturating_sub(self.added);
        let length = address(length as u64, size);
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
        writeln!(
            output,
            " default_is_stmt: {}",
            u8::from(header.default_is_stmt())
        )?;
        writeln!(output, "       line_base: {}", header.line_base())?;
        writeln!(output, "      line_range: {}", header.line_range())?;
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
        // Before DWARF 5 directory 0 and file 0 are those of the unit.
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

    /// The directories and files of a header, which can all name one long string.
    fn listed(
        &self,
        header: &LineProgramHeader<Bytes<'a>>,
        held: &Held,
    ) -> Result<(Vec<Cow<'a, str>>, Vec<FileFields<'a>>)> {
        // A text stands in the document as well, in which a byte of it can be six.
        const COPIES: u64 = 7;
        let text = |value| {
            let text = self.string(value).unwrap_or_default();
            held.hold((text.len() as u64).saturating_mul(COPIES))?;
            Ok(text)
        };
        let directories = header.include_directories();
        held.hold_all::<Cow<'_, str>>(directories.len())?;
        let directories = directories.iter().map(|directory| text(*directory));
        let directories = directories.collect::<Result<_>>()?;
        // What a document has of a file besides its texts.
        const DIGITS: u64 = 128;
        let files = header.file_names();
        held.hold_all::<FileFields<'_>>(files.len())?;
        held.hold((files.len() as u64).saturating_mul(DIGITS))?;
        let fields = files.iter().map(|file| {
            Ok(FileFields {
                name: text(file.path_name())?,
                directory: file.directory_index(),
                modified: header.file_has_timestamp().then(|| file.timestamp()),
                length: header.file_has_size().then(|| file.size()),
                md5: header.file_has_md5().then(|| hex_bytes(file.md5())),
                source: file.source().map(text).transpose()?,
            })
        });
        Ok((directories, fields.collect::<Result<_>>()?))
    }

    fn json(
        &self,
        header: &LineProgramHeader<Bytes<'a>>,
        held: &Held,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let offset = self.offset(header);
        let (directories, files) = match self.listed(header, held) {
            Ok(listed) => listed,
            Err(error) => return output.problem(&error),
        };
        output.begin_element(&TableFields {
            section: self.section,
            offset: (offset as u64).into(),
            version: self.version(header),
            dwarf_format: header.format().word_size().saturating_mul(8),
            address_size: header.address_size(),
            min_inst_length: header.minimum_instruction_length(),
            max_ops_per_inst: header.maximum_operations_per_instruction(),
            default_is_stmt: header.default_is_stmt(),
            line_base: header.line_base(),
            line_range: header.line_range(),
            opcode_base: header.opcode_base(),
            directories,
            first_file: u8::from(header.version() < 5),
            files,
        })?;
        output.begin_array("rows")?;
        let result = rows(header, |row| {
            output.element(&RowFields {
                address: row.address().into(),
                line: line(row),
                column: column(row),
                file: row.file_index(),
                isa: row.isa(),
                discriminator: row.discriminator(),
                op_index: row.op_index(),
                flags: flags(row).collect(),
            })
        })?;
        if let Err(error) = result {
            output.problem(&self.malformed(offset, error))?;
        }
        output.end_array()?;
        output.end_element()
    }
}

/// Executes a program and gives each row. gimli executes the instructions; the loop is ours because its own overflows on some
/// (see [`next_instruction`]). The inner result is an error if the program is malformed.
fn rows(
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
