//! Prints line tables as JSON.

use std::borrow::Cow;
use std::io;

use gimli::LineProgramHeader;
use serde::Serialize;

use super::line::{Lines, rows};
use super::line_row::{column, flags, line};
use super::output::Output;
use crate::debug_info::Bytes;
use crate::error::Result;
use crate::meter::Held;
use crate::report::{Hex, hex_bytes};

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

impl<'a> Lines<'a> {
    /// Returns the directories and files of a header, which may all refer to one long string.
    fn listed(
        &self,
        header: &LineProgramHeader<Bytes<'a>>,
        held: &Held,
    ) -> Result<(Vec<Cow<'a, str>>, Vec<FileFields<'a>>)> {
        // A text is copied to the document, where a byte can become six.
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
        // The size of a file in a document, without its texts.
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

    /// Writes a table.
    pub(super) fn json(
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
            line_range: self.said(header).line_range,
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
