//! Prints the tables of public names and types, set by set: `.debug_pubnames`, `.debug_pubtypes` and GNU's variants with the kinds of names.
//!
//! Source: DWARF 4 §6.1.1; for GNU's the description of gdb's index, "Symbol hash table".

use std::io::Write;

use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::list::address;
use super::names::quoted;
use super::output::Output;
use super::part::Part;
use crate::debug_info::UnitLength;
use crate::error::{Error, Result};
use crate::expr::Cursor;
use crate::report::Hex;

#[derive(Serialize)]
struct SetFields {
    offset: Hex,
    length: Hex,
    dwarf_format: u8,
    version: u16,
    unit: Hex,
    unit_size: Hex,
}

#[derive(Serialize)]
struct NameFields<'a> {
    entry: Hex,
    #[serde(skip_serializing_if = "Option::is_none")]
    linkage: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    name: &'a str,
}

/// The sections by their parts, with true if they have the kinds of names.
const SECTIONS: [(Part, &str, bool); 4] = [
    (Part::Pubnames, ".debug_pubnames", false),
    (Part::Pubtypes, ".debug_pubtypes", false),
    (Part::GnuPubnames, ".debug_gnu_pubnames", true),
    (Part::GnuPubtypes, ".debug_gnu_pubtypes", true),
];

/// The kinds of names, by their numbers.
const KINDS: [&str; 8] = [
    "NONE", "TYPE", "VARIABLE", "FUNCTION", "OTHER", "UNUSED5", "UNUSED6", "UNUSED7",
];

/// Prints the section of the part.
pub(super) fn dump(
    context: Context<'_, '_>,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    let mut sections = SECTIONS.iter();
    let section = sections.find(|(part, ..)| *part == context.part);
    let Some((_, name, is_gnu)) = section.copied() else {
        return Ok(());
    };
    let bytes = context.sources.section(false, name)?;
    if !context.begin_section(name, bytes.len(), output)? {
        return Ok(());
    }
    let mut next = 0;
    while next < bytes.len() as u64 {
        let set = match Set::read(bytes, next) {
            Ok(set) => set,
            Err(error) => {
                output.problem(&error.within(name, next))?;
                break;
            }
        };
        set.print(next, (name, is_gnu), output)?;
        next = set.end;
    }
    Ok(())
}

struct Set<'a> {
    length: u64,
    offset_size: u8,
    version: u16,
    unit: u64,
    unit_size: u64,
    names: Cursor<'a>,
    end: u64,
}

impl<'a> Set<'a> {
    fn read(bytes: &'a [u8], offset: u64) -> Result<Set<'a>> {
        let length = UnitLength::read(bytes, offset, "name table")?;
        let size = length.offset_size;
        let mut cursor = Cursor::new(bytes.get(..length.body.end).unwrap_or_default());
        cursor.go_to(length.body.start)?;
        Ok(Set {
            length: length.length,
            offset_size: size,
            version: cursor.u16()?,
            unit: cursor.sized(size)?,
            unit_size: cursor.sized(size)?,
            names: cursor,
            end: length.body.end as u64,
        })
    }

    fn print(
        &self,
        offset: u64,
        (section, is_gnu): (&'static str, bool),
        output: &mut Output<'_>,
    ) -> core::result::Result<(), Failure> {
        let size = self.offset_size;
        let dwarf_format = size.saturating_mul(8);
        let json = output.json();
        if json {
            output.begin_element(&SetFields {
                offset: offset.into(),
                length: self.length.into(),
                dwarf_format,
                version: self.version,
                unit: self.unit.into(),
                unit_size: self.unit_size.into(),
            })?;
            output.begin_array("names")?;
        } else {
            let [length, unit, unit_size] =
                [self.length, self.unit, self.unit_size].map(|value| address(value, size));
            writeln!(
                output,
                "length = {length}, format = DWARF{dwarf_format}, version = {:#06x}, unit_offset = {unit}, unit_size = {unit_size}",
                self.version
            )?;
            let kinds = if is_gnu { "Linkage  Kind     " } else { "" };
            writeln!(output, "Offset     {kinds}Name")?;
        }
        let mut names = self.names;
        loop {
            let entry = match name(&mut names, size, is_gnu) {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) => {
                    output.problem(&error.within(section, offset))?;
                    break;
                }
            };
            let text = String::from_utf8_lossy(entry.name);
            let kind = entry
                .kind
                .and_then(|bits| KINDS.get(usize::from(bits >> 4 & 7)).copied());
            let linkage = entry.kind.map(|bits| match bits >> 7 {
                0 => "EXTERNAL",
                _ => "STATIC",
            });
            if json {
                output.element(&NameFields {
                    entry: entry.offset.into(),
                    linkage,
                    kind,
                    name: &text,
                })?;
                continue;
            }
            write!(output, "{} ", address(entry.offset, size))?;
            if let (Some(linkage), Some(kind)) = (linkage, kind) {
                write!(output, "{linkage:8} {kind:8} ")?;
            }
            writeln!(output, "{}", quoted(&text))?;
        }
        if json {
            output.end_array()?;
            output.end_element()?;
        }
        Ok(())
    }
}

struct Name<'a> {
    /// The offset of the entry in its unit.
    offset: u64,
    /// GNU's bits for the kind of the name.
    kind: Option<u8>,
    name: &'a [u8],
}

/// Returns the next name of a set, or `None` at its end.
fn name<'a>(cursor: &mut Cursor<'a>, size: u8, is_gnu: bool) -> Result<Option<Name<'a>>> {
    let offset = cursor.sized(size)?;
    if offset == 0 {
        return Ok(None);
    }
    let kind = is_gnu.then(|| cursor.u8()).transpose()?;
    let rest = cursor.rest();
    let end = rest.iter().position(|byte| *byte == 0);
    let end = end.ok_or_else(|| Error::malformed("name table", "a name has no end"))?;
    let name = cursor.bytes(end as u64)?;
    cursor.u8()?;
    Ok(Some(Name { offset, kind, name }))
}
