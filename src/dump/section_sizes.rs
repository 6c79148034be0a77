//! Prints the sizes of the sections of debugging information, and their share of the file.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::object::CodeObject;
use crate::report::to_json;
use crate::untrusted::Untrusted;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    sections: Vec<Size<'a>>,
    total: u64,
    file: u64,
}

/// The total size of all sections with a name.
#[derive(Serialize)]
struct Size<'a> {
    name: Untrusted<'a>,
    size: u64,
}

/// Prints the sizes of the sections of debugging information.
///
/// * `name`: the name of the file;
/// * `file`: its size, in bytes;
/// * `json`: true to print a document instead of a table.
///
/// # Errors
/// If writing fails.
pub fn write_section_sizes<'a>(
    name: &str,
    object: &'a CodeObject<'a>,
    file: u64,
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sections: Vec<Size<'_>> = debug_sections(object)
        .into_iter()
        .map(|(name, size)| Size {
            name: Untrusted::from(name),
            size,
        })
        .collect();
    let sizes = sections.iter().map(|section| section.size);
    let total = sizes.fold(0, u64::saturating_add);
    if json {
        let document = Document {
            format: "hetdwarf-section-sizes/1",
            sections,
            total,
            file,
        };
        return writeln!(out, "{}", to_json(&document)?);
    }
    text(name, &sections, total, file, out)
}

/// Returns the sections of debugging information, with the total size for each name.
pub(super) fn debug_sections<'a>(object: &'a CodeObject<'a>) -> Vec<(&'a str, u64)> {
    let mut sections: Vec<(&str, u64)> = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for section in object.sections() {
        if !section.is_debug() && section.name != ".gdb_index" {
            continue;
        }
        let number = *numbers.entry(&*section.name).or_insert(sections.len());
        match sections.get_mut(number) {
            Some((_, size)) => *size = size.saturating_add(section.stored_size),
            None => sections.push((&*section.name, section.stored_size)),
        }
    }
    sections
}

fn text(
    name: &str,
    sections: &[Size<'_>],
    total: u64,
    file: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    const LINE: &str = "----------------------------------------------------";
    let names = sections.iter().map(|section| section.name.raw().len());
    let width = names.max().unwrap_or(0).max("SECTION".len());
    let digits = |size: &Size<'_>| size.size.to_string().len();
    let size_width = sections.iter().map(digits).max().unwrap_or(0);
    let size_width = size_width.max("SIZE (b)".len());
    #[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
    let percent = |size: u64| match file {
        0 => 0.0,
        file => size as f64 * 100.0 / file as f64,
    };
    writeln!(out, "{LINE}\nfile: {}\n{LINE}", Untrusted::from(name))?;
    writeln!(out, "{:width$}  {:>size_width$}", "SECTION", "SIZE (b)")?;
    writeln!(out, "{}  {}", "-".repeat(width), "-".repeat(size_width))?;
    for Size { name, size } in sections {
        let gap = width.saturating_sub(name.raw().len());
        let percent = percent(*size);
        writeln!(
            out,
            "{name}{:gap$}  {size:>size_width$} ({percent:.2}%)",
            ""
        )?;
    }
    writeln!(out, "\n Total Size: {total}  ({:.2}%)", percent(total))?;
    writeln!(out, " Total File Size: {file}\n{LINE}")
}
