//! Prints the sections of abbreviations, table by table. Source: DWARF 5 §7.5.3.
//!
//! Each abbreviation is printed when it is read, since a small section can hold a great many of them.

use std::io::Write;

use gimli::constants as dw;
use gimli::{DwAt, DwForm, DwTag};
use serde::Serialize;

use super::context::Context;
use super::encoding::form_name;
use super::output::Output;
use super::{Failure, Naming};
use crate::debug_info::attribute::{attribute_code_name, tag_name};
use crate::error::Result;
use crate::expr::Cursor;
use crate::meter::Meter;
use crate::report::Hex;

#[derive(Serialize)]
struct TableFields {
    section: &'static str,
    offset: Hex,
}

#[derive(Serialize)]
struct AbbreviationFields {
    code: u64,
    tag: String,
    children: bool,
}

#[derive(Serialize)]
struct AttributeFields {
    name: String,
    form: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<i64>,
}

/// An attribute of an abbreviation: its name, its form and its implicit value.
type Specification = (DwAt, DwForm, Option<i64>);

/// Prints the sections.
pub(super) fn dump(
    context: Context<'_, '_>,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    for (split, section) in [(false, ".debug_abbrev"), (true, ".debug_abbrev.dwo")] {
        let bytes = context.sources.section(split, ".debug_abbrev")?;
        if !context.begin_section(section, bytes.len(), output)? {
            continue;
        }
        // llvm-dwarfdump prints the tables before a malformed one.
        let bytes = match context.style.naming {
            Naming::Llvm if !output.json() => whole_tables(bytes, section, output)?,
            Naming::Llvm | Naming::Names => bytes,
        };
        if bytes.is_empty() && !output.json() {
            writeln!(output, "< EMPTY >")?;
        }
        let mut cursor = Cursor::new(bytes);
        while !cursor.is_empty() {
            let offset = cursor.position() as u64;
            if output.json() {
                output.begin_element(&TableFields {
                    section,
                    offset: offset.into(),
                })?;
                output.begin_array("abbreviations")?;
            } else {
                writeln!(output, "Abbrev table for offset: {offset:#010x}")?;
            }
            let read = table(&mut cursor, context.style.naming, output)?;
            if let Err(error) = &read {
                output.problem(&error.clone().within(section, cursor.position() as u64))?;
            }
            if output.json() {
                output.end_array()?;
                output.end_element()?;
            }
            if read.is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Returns the section up to the first malformed table.
fn whole_tables<'a>(
    bytes: &'a [u8],
    section: &'static str,
    output: &mut Output<'_>,
) -> Result<&'a [u8]> {
    let mut cursor = Cursor::new(bytes);
    let mut start = 0;
    while !cursor.is_empty() {
        match pass_table(&mut cursor, output.meter()) {
            Ok(()) => start = cursor.position(),
            Err(error) => {
                output.note(&error.within(section, cursor.position() as u64));
                break;
            }
        }
    }
    Ok(bytes.get(..start).unwrap_or_default())
}

/// Reads a table to its end.
///
/// # Errors
/// If the table is malformed, or a limit is reached.
pub(super) fn pass_table(cursor: &mut Cursor<'_>, meter: &Meter) -> Result<()> {
    while cursor.uleb()? != 0 {
        cursor.uleb()?;
        cursor.u8()?;
        meter.work(1)?;
        while specification(cursor)?.is_some() {
            meter.work(1)?;
        }
    }
    Ok(())
}

/// Prints a table to its end.
fn table(
    cursor: &mut Cursor<'_>,
    naming: Naming,
    output: &mut Output<'_>,
) -> core::result::Result<Result<()>, Failure> {
    loop {
        let head = match head(cursor, naming) {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        if output.json() {
            output.begin_element(&head)?;
            output.begin_array("attributes")?;
        } else {
            let children = if head.children { "yes" } else { "no" };
            let (code, tag) = (head.code, &head.tag);
            writeln!(output, "[{code}] {tag}\tDW_CHILDREN_{children}")?;
        }
        let ended = loop {
            let (name, form, value) = match specification(cursor) {
                Ok(Some(specification)) => specification,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            let fields = AttributeFields {
                name: attribute_code_name(name).into_owned(),
                form: form_name(form),
                value,
            };
            if output.json() {
                output.element(&fields)?;
                continue;
            }
            write!(output, "\t{}\t{}", fields.name, fields.form)?;
            if let Some(value) = value {
                write!(output, "\t{value}")?;
            }
            writeln!(output)?;
        };
        if output.json() {
            output.end_array()?;
            output.end_element()?;
        } else {
            writeln!(output)?;
        }
        if ended.is_err() {
            return Ok(ended);
        }
    }
}

/// Reads the start of an abbreviation. Returns `None` at the end of the table.
fn head(cursor: &mut Cursor<'_>, naming: Naming) -> Result<Option<AbbreviationFields>> {
    let code = cursor.uleb()?;
    if code == 0 {
        return Ok(None);
    }
    let tag = match naming {
        Naming::Llvm => cursor.uleb()? & u64::from(u16::MAX),
        Naming::Names => cursor.uleb()?,
    };
    Ok(Some(AbbreviationFields {
        code,
        tag: match u16::try_from(tag) {
            Ok(tag) => tag_name(DwTag(tag)).into_owned(),
            Err(_) => format!("DW_TAG_unknown_{tag:x}"),
        },
        children: cursor.u8()? == dw::DW_CHILDREN_yes.0,
    }))
}

/// Reads an attribute. Returns `None` after the last one.
fn specification(cursor: &mut Cursor<'_>) -> Result<Option<Specification>> {
    let name = u16::try_from(cursor.uleb()?).unwrap_or(u16::MAX);
    let form = u16::try_from(cursor.uleb()?).unwrap_or(u16::MAX);
    if (name, form) == (0, 0) {
        return Ok(None);
    }
    let form = DwForm(form);
    let value = match form {
        dw::DW_FORM_implicit_const => Some(cursor.sleb()?),
        _ => None,
    };
    Ok(Some((DwAt(name), form, value)))
}
