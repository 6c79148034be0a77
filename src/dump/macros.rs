//! Prints the sections of macros, list by list: `.debug_macro` and `.debug_macinfo`.
//!
//! Sources: DWARF 5 §6.3, §7.23; DWARF 4 §7.22; for version 4 of `.debug_macro` GNU's extension.

use std::collections::BTreeMap;
use std::io::Write;

use gimli::constants::{DW_AT_GNU_macros, DW_AT_macros};
use gimli::{AttributeValue, DebugStrOffsetsIndex};
use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::digits::spaces;
use super::list::address;
use super::output::Output;
use crate::debug_info::{DebugInfo, UnitId};
use crate::error::{Error, Result};
use crate::expr::Cursor;
use crate::meter::Meter;
use crate::report::Hex;
use crate::untrusted::Untrusted;

/// The operands of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    /// A line and a macro in the section itself.
    Macro,
    /// A line and the offset of a macro's text in `.debug_str`.
    Offset,
    /// A line and an offset in the string section of a supplementary file.
    Supplementary,
    /// A line and an index of `.debug_str_offsets`.
    Index,
    /// A line and the number of a file.
    File,
    /// Nothing.
    End,
    /// The offset of another list.
    Import,
    /// A constant and a string.
    Vendor,
}

/// A kind of entry.
struct Row {
    code: u8,
    /// The names in `.debug_macinfo`, and in `.debug_macro` of version 4 and of version 5, or empty where the code is unknown.
    names: [&'static str; 3],
    operands: Operands,
}

const fn row(code: u8, names: [&'static str; 3], operands: Operands) -> Row {
    Row {
        code,
        names,
        operands,
    }
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row(0x01, ["DW_MACINFO_define",     "DW_MACRO_GNU_define",                 "DW_MACRO_define"],      Operands::Macro),
    row(0x02, ["DW_MACINFO_undef",      "DW_MACRO_GNU_undef",                  "DW_MACRO_undef"],       Operands::Macro),
    row(0x03, ["DW_MACINFO_start_file", "DW_MACRO_GNU_start_file",             "DW_MACRO_start_file"],  Operands::File),
    row(0x04, ["DW_MACINFO_end_file",   "DW_MACRO_GNU_end_file",               "DW_MACRO_end_file"],    Operands::End),
    row(0x05, ["",                      "DW_MACRO_GNU_define_indirect",        "DW_MACRO_define_strp"], Operands::Offset),
    row(0x06, ["",                      "DW_MACRO_GNU_undef_indirect",         "DW_MACRO_undef_strp"],  Operands::Offset),
    row(0x07, ["",                      "DW_MACRO_GNU_transparent_include",    "DW_MACRO_import"],      Operands::Import),
    row(0x08, ["",                      "DW_MACRO_GNU_define_indirect_alt",    "DW_MACRO_define_sup"],  Operands::Supplementary),
    row(0x09, ["",                      "DW_MACRO_GNU_undef_indirect_alt",     "DW_MACRO_undef_sup"],   Operands::Supplementary),
    row(0x0a, ["",                      "DW_MACRO_GNU_transparent_include_alt", "DW_MACRO_import_sup"], Operands::Import),
    row(0x0b, ["",                      "",                                    "DW_MACRO_define_strx"], Operands::Index),
    row(0x0c, ["",                      "",                                    "DW_MACRO_undef_strx"],  Operands::Index),
    row(0xff, ["DW_MACINFO_vendor_ext", "",                                    ""],                     Operands::Vendor),
];

#[derive(Serialize)]
struct ListFields {
    section: &'static str,
    offset: Hex,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    debug_line_offset: Option<Hex>,
}

#[derive(Default, Serialize)]
struct EntryFields {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constant: Option<u64>,
}

/// The header of a list of `.debug_macro`, or the properties of `.debug_macinfo`, which has no version.
#[derive(Clone, Copy)]
struct Header {
    version: Option<u16>,
    flags: u8,
    offset_size: u8,
    line_offset: Option<u64>,
}

/// A section of macros, with the sections to which its entries refer.
struct Section<'s, 'a> {
    name: &'static str,
    /// True if its lists have headers.
    has_headers: bool,
    strings: &'a [u8],
    info: &'s DebugInfo<'a>,
    /// The units by the offsets of their lists.
    units: &'s BTreeMap<u64, UnitId>,
}

/// Prints the sections.
pub(super) fn dump(
    context: Context<'_, '_>,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    let info = context.sources.info(context.style.dialect)?;
    for (split, base, name) in [
        (false, ".debug_macro", ".debug_macro"),
        (true, ".debug_macro", ".debug_macro.dwo"),
        (false, ".debug_macinfo", ".debug_macinfo"),
        (true, ".debug_macinfo", ".debug_macinfo.dwo"),
    ] {
        let bytes = context.sources.section(split, base)?;
        // llvm-dwarfdump prints titles for all four.
        if split && bytes.is_empty() && context.explicit && !output.json() {
            writeln!(output, "\n{name} contents:")?;
        }
        if !context.begin_section(name, bytes.len(), output)? {
            continue;
        }
        let units = units(&info, split, output)?;
        let section = Section {
            name,
            has_headers: base == ".debug_macro",
            strings: context.sources.section(split, ".debug_str")?,
            info: &info,
            units: &units,
        };
        if output.is_quiet()
            && let Err(error) = section.strings_of_indices(bytes, output.meter())
        {
            output.warns(false);
            output.note(&error);
            continue;
        }
        section.lists(bytes, output)?;
    }
    Ok(())
}

/// Returns the units by the offsets of their lists of macros.
fn units(info: &DebugInfo<'_>, split: bool, output: &Output<'_>) -> Result<BTreeMap<u64, UnitId>> {
    let mut units = BTreeMap::new();
    for id in info.unit_ids() {
        output.meter().hold_all::<(u64, UnitId)>(2)?;
        let (Ok(unit), Ok(root)) = (info.unit_info(id), info.root(id)) else {
            continue;
        };
        let names = [DW_AT_macros, DW_AT_GNU_macros];
        let attribute = names.iter().find_map(|name| root.attribute(*name));
        if let Some(AttributeValue::SecOffset(at)) = attribute.map(gimli::Attribute::raw_value)
            && unit.section.ends_with(".dwo") == split
        {
            units.entry(at as u64).or_insert(id);
        }
    }
    Ok(units)
}

impl Section<'_, '_> {
    fn lists(&self, bytes: &[u8], output: &mut Output<'_>) -> core::result::Result<(), Failure> {
        let mut cursor = Cursor::new(bytes);
        let mut level = 0;
        while !cursor.is_empty() {
            let offset = cursor.position() as u64;
            let header = match self.header(&mut cursor) {
                Ok(header) => header,
                Err(error) => {
                    output.warns(false);
                    output.problem(&error.within(self.name, offset))?;
                    break;
                }
            };
            self.begin(offset, header, output)?;
            let ended = loop {
                let at = cursor.position() as u64;
                // llvm-dwarfdump reads the code as a LEB128 number, and thus finds no vendor code.
                if output.is_quiet() && !self.has_headers && cursor.rest().first() >= Some(&0x80) {
                    let error = Error::malformed("macro list", "an entry of a vendor");
                    break Err(error.within(self.name, at));
                }
                let entry = match self.entry(&mut cursor, header, offset) {
                    Ok(entry) => entry,
                    Err(error) => break Err(error.within(self.name, at)),
                };
                let Some((entry, operands)) = entry else {
                    break Ok(());
                };
                if operands == Operands::End {
                    level = usize::saturating_sub(level, 1);
                }
                if output.json() {
                    output.element(&entry)?;
                } else {
                    entry.text(level, header, output)?;
                }
                if operands == Operands::File {
                    level = level.saturating_add(1);
                }
            };
            match &ended {
                Err(error) => {
                    if output.is_quiet() && !self.has_headers && !output.json() {
                        let indent = spaces(level.saturating_mul(2));
                        output.texts(&[indent, "DW_MACINFO_invalid\n"])?;
                    }
                    output.problem(error)?;
                }
                Ok(()) if !output.json() => writeln!(output)?,
                Ok(()) => {}
            }
            if output.json() {
                output.end_array()?;
                output.end_element()?;
            }
            if ended.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Reads all lists up to a malformed part: llvm-dwarfdump prints none of them if a string with an index is missing.
    ///
    /// # Errors
    /// If a string is missing, or a limit is reached.
    fn strings_of_indices(&self, bytes: &[u8], meter: &Meter) -> Result<()> {
        let mut cursor = Cursor::new(bytes);
        while !cursor.is_empty() {
            let list = cursor.position() as u64;
            let Ok(header) = self.header(&mut cursor) else {
                return Ok(());
            };
            loop {
                meter.work(1)?;
                let at = cursor.position() as u64;
                let is_index = matches!(cursor.rest().first(), Some(0x0b | 0x0c));
                match self.entry(&mut cursor, header, list) {
                    // A text that many entries refer to is read each time.
                    Ok(Some((entry, _))) => {
                        let text = entry.text.as_deref().unwrap_or_default();
                        meter.work(text.len() as u64 / 16)?;
                    }
                    Ok(None) => break,
                    Err(error) if is_index && self.has_headers => {
                        return Err(error.within(self.name, at));
                    }
                    Err(_) => return Ok(()),
                }
            }
        }
        Ok(())
    }

    fn header(&self, cursor: &mut Cursor<'_>) -> Result<Header> {
        if !self.has_headers {
            return Ok(Header {
                version: None,
                flags: 0,
                offset_size: 4,
                line_offset: None,
            });
        }
        let malformed = |reason| Error::malformed("macro list", reason);
        let version = cursor.u16()?;
        if !matches!(version, 4 | 5) {
            return Err(malformed(format!("unknown version {version}")));
        }
        let flags = cursor.u8()?;
        if flags & 4 != 0 {
            return Err(malformed(
                "entries of its own kinds are not supported".to_owned(),
            ));
        }
        let offset_size = if flags & 1 == 0 { 4 } else { 8 };
        let line_offset = (flags & 2 != 0).then(|| cursor.sized(offset_size));
        Ok(Header {
            version: Some(version),
            flags,
            offset_size,
            line_offset: line_offset.transpose()?,
        })
    }

    fn begin(
        &self,
        offset: u64,
        header: Header,
        output: &mut Output<'_>,
    ) -> core::result::Result<(), Failure> {
        if output.json() {
            output.begin_element(&ListFields {
                section: self.name,
                offset: offset.into(),
                version: header.version,
                debug_line_offset: header.line_offset.map(Hex::from),
            })?;
            return Ok(output.begin_array("entries")?);
        }
        writeln!(output, "{offset:#010x}:")?;
        if let Some(version) = header.version {
            write!(
                output,
                "macro header: version = {version:#06x}, flags = {:#04x}, format = DWARF{}",
                header.flags,
                header.offset_size.saturating_mul(8)
            )?;
            if let Some(offset) = header.line_offset {
                let offset = address(offset, header.offset_size);
                write!(output, ", debug_line_offset = {offset}")?;
            }
            writeln!(output)?;
        }
        Ok(())
    }

    /// Returns the next entry, or `None` at the end of the list.
    ///
    /// * `list`: the start of the list.
    fn entry(
        &self,
        cursor: &mut Cursor<'_>,
        header: Header,
        list: u64,
    ) -> Result<Option<(EntryFields, Operands)>> {
        let code = cursor.u8()?;
        if code == 0 {
            return Ok(None);
        }
        let name = |row: &Row| {
            let [macinfo, old, new] = row.names;
            match header.version {
                None => macinfo,
                Some(4) => old,
                Some(_) => new,
            }
        };
        let row = ROWS
            .iter()
            .find(|row| row.code == code && !name(row).is_empty());
        let row =
            row.ok_or_else(|| Error::malformed("macro list", format!("unknown kind {code:#04x}")))?;
        let operands = row.operands;
        let mut entry = EntryFields {
            kind: name(row),
            ..EntryFields::default()
        };
        match operands {
            Operands::Import => entry.import = Some(cursor.sized(header.offset_size)?.into()),
            Operands::Vendor => entry.constant = Some(cursor.uleb()?),
            Operands::End => {}
            Operands::Macro
            | Operands::Offset
            | Operands::Supplementary
            | Operands::Index
            | Operands::File => entry.line = Some(cursor.uleb()?),
        }
        entry.text = match operands {
            Operands::Macro | Operands::Vendor => {
                let text = string(cursor.rest())?;
                cursor.bytes((text.len() as u64).saturating_add(1))?;
                Some(lossy(text))
            }
            Operands::Offset => {
                let at = cursor.sized(header.offset_size)?;
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                Some(lossy(string(self.strings.get(at..).unwrap_or_default())?))
            }
            Operands::Supplementary => {
                let at = cursor.sized(header.offset_size)?;
                Some(format!("<alt {at:#x}>"))
            }
            Operands::Index => {
                let index = cursor.uleb()?;
                Some(self.indexed(list, index)?)
            }
            Operands::File => {
                entry.file = Some(cursor.uleb()?);
                None
            }
            Operands::Import | Operands::End => None,
        };
        Ok(Some((entry, operands)))
    }

    /// Returns a text by its index in the table of the list's unit.
    fn indexed(&self, list: u64, index: u64) -> Result<String> {
        let unit = self.units.get(&list).copied();
        let unit = unit.ok_or_else(|| {
            Error::malformed(
                "macro list",
                "the string offset table of its unit is unknown",
            )
        })?;
        let index = DebugStrOffsetsIndex(usize::try_from(index).unwrap_or(usize::MAX));
        let value = AttributeValue::DebugStrOffsetsIndex(index);
        let sections = self.info.raw_sections(unit)?;
        let text = sections.attr_string(self.info.gimli_unit(unit)?, value);
        let text = text.map_err(|error| Error::malformed("string index", error.to_string()))?;
        Ok(lossy(text.slice()))
    }
}

impl EntryFields {
    fn text(
        &self,
        level: usize,
        header: Header,
        output: &mut Output<'_>,
    ) -> core::result::Result<(), Failure> {
        output.texts(&[spaces(level.saturating_mul(2)), self.kind])?;
        if let Some(line) = self.line {
            write!(output, " - lineno: {line}")?;
        }
        if let Some(file) = self.file {
            write!(output, " filenum: {file}")?;
        }
        let text = self.text.as_deref().map(Untrusted::from);
        if let Some(import) = &self.import {
            let offset = u64::try_from(import.0).unwrap_or(u64::MAX);
            let offset = address(offset, header.offset_size);
            write!(output, " - import offset: {offset}")?;
        }
        match (self.constant, text) {
            (Some(constant), Some(text)) => {
                write!(output, " - constant: {constant} string: {text}")?;
            }
            (None, Some(text)) => write!(output, " macro: {text}")?,
            (_, None) => {}
        }
        Ok(writeln!(output)?)
    }
}

/// Returns the text at the start of the bytes, up to a zero.
fn string(bytes: &[u8]) -> Result<&[u8]> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let end = end.ok_or_else(|| Error::malformed("macro list", "a text has no end"))?;
    Ok(bytes.get(..end).unwrap_or_default())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
