//! Prints the sections of strings. Source: DWARF 5 §7.26.

use std::io::Write;

use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::names::quoted;
use super::output::Output;
use crate::error::Error;
use crate::report::Hex;

#[derive(Serialize)]
struct StringFields<'a> {
    section: &'static str,
    offset: Hex,
    text: &'a str,
}

/// Prints `.debug_str` and its `.dwo` form.
pub(super) fn dump(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    section(context, (false, ".debug_str", ".debug_str"), output)?;
    section(context, (true, ".debug_str", ".debug_str.dwo"), output)
}

/// Prints `.debug_line_str`.
pub(super) fn dump_line(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    section(
        context,
        (false, ".debug_line_str", ".debug_line_str"),
        output,
    )
}

fn section(
    context: Context<'_, '_>,
    (split, name, section): (bool, &'static str, &'static str),
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let bytes = context.sources.section(split, name)?;
    context.begin_section(section, bytes.len(), output)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let offset = bytes.len().saturating_sub(rest.len()) as u64;
        let Some(end) = rest.iter().position(|byte| *byte == 0) else {
            let error =
                Error::malformed("string", "it has no terminating zero").within(section, offset);
            output.problem(&error)?;
            break;
        };
        let (text, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        let text = String::from_utf8_lossy(text);
        if output.json() {
            output.element(&StringFields {
                section,
                offset: offset.into(),
                text: &text,
            })?;
        } else {
            writeln!(output, "{offset:#010x}: {}", quoted(&text))?;
        }
        rest = after.get(1..).unwrap_or_default();
    }
    Ok(())
}
