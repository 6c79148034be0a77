//! Prints `.debug_names`, index by index. Source: DWARF 5 §6.1.1.

use std::io::{self, Write};

use gimli::constants as dw;
use gimli::{DwForm, DwIdx, DwTag};
use serde::Serialize;

use super::Failure;
use super::Sources;
use super::context::Context;
use super::list::address;
use super::output::Output;
use crate::debug_info::name_index::{NameEntry, NameIndex, NameValue, SECTION};
use crate::error::Error;
use crate::report::Hex;
use crate::untrusted::Untrusted;

#[derive(Serialize)]
struct IndexFields {
    offset: Hex,
    length: Hex,
    dwarf_format: u32,
    version: u16,
    augmentation: String,
    bucket_count: u32,
    name_count: u32,
}

#[derive(Serialize)]
struct AbbreviationFields {
    code: Hex,
    tag: String,
    attributes: Vec<[String; 2]>,
}

#[derive(Serialize)]
struct NameFields {
    index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<Hex>,
    string: Hex,
    name: String,
}

#[derive(Serialize)]
struct EntryFields {
    offset: Hex,
    abbreviation: Hex,
    tag: String,
    attributes: Vec<ValueFields>,
}

#[derive(Serialize)]
struct ValueFields {
    name: String,
    value: Hex,
}

/// An index being printed.
struct Dump<'d, 'a, 'o> {
    index: &'d NameIndex<'a>,
    sources: &'d Sources<'a>,
    /// `.debug_str`.
    strings: &'a [u8],
    output: &'d mut Output<'o>,
}

/// Prints the section.
pub(super) fn dump(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let bytes = context.sources.section(false, SECTION)?;
    let strings = context.sources.section(false, ".debug_str")?;
    if !context.begin_section(SECTION, bytes.len(), output)? {
        return Ok(());
    }
    let mut next = 0;
    while next < bytes.len() as u64 {
        let index = match NameIndex::read(bytes, next) {
            Ok(index) => index,
            Err(error) => {
                output.problem(&error)?;
                break;
            }
        };
        next = index.end();
        let mut dump = Dump {
            index: &index,
            sources: context.sources,
            strings,
            output,
        };
        if dump.output.json() {
            dump.json()?;
        } else {
            dump.text()?;
        }
    }
    Ok(())
}

impl Dump<'_, '_, '_> {
    /// Returns the displayed offset of a unit.
    fn shown(&self, offset: u64) -> u64 {
        offset.saturating_sub(self.sources.section_start(false, ".debug_info", offset))
    }

    /// Returns the problem that makes the rest of an index unreadable.
    fn problem(&self) -> Option<Error> {
        let index = self.index;
        let reason = if index.version != 5 {
            format!("unknown version {}", index.version)
        } else if !index.fits() {
            let needed = index.needed();
            format!("its tables take {needed:#x} bytes, more than it has")
        } else {
            return index.broken.clone();
        };
        Some(Error::malformed("name index", reason).within(SECTION, index.offset))
    }

    fn text(&mut self) -> io::Result<()> {
        let index = self.index;
        writeln!(self.output, "Name Index @ {:#x} {{", index.offset)?;
        self.header()?;
        if let Some(error) = self.problem() {
            self.output.problem(&error)?;
            writeln!(self.output, "}}")?;
            return Ok(());
        }
        let counted = [
            ("Compilation Unit offsets", index.unit_count),
            ("Local Type Unit offsets", index.local_type_unit_count),
            (
                "Foreign Type Unit signatures",
                index.foreign_type_unit_count,
            ),
        ];
        for (number, (title, count)) in counted.into_iter().enumerate() {
            if count == 0 && number > 0 {
                continue;
            }
            writeln!(self.output, "  {title} [")?;
            for unit in 0..count {
                let line = match number {
                    0 => index
                        .unit(unit)
                        .map(|at| format!("CU[{unit}]: {:#010x}", self.shown(at))),
                    1 => index
                        .local_type_unit(unit)
                        .map(|at| format!("LocalTU[{unit}]: {:#010x}", self.shown(at))),
                    _ => index
                        .foreign_type_unit(unit)
                        .map(|at| format!("ForeignTU[{unit}]: {at:#018x}")),
                };
                writeln!(self.output, "    {}", line.unwrap_or_default())?;
            }
            writeln!(self.output, "  ]")?;
        }
        self.abbreviations()?;
        self.names()?;
        writeln!(self.output, "}}")?;
        Ok(())
    }

    fn header(&mut self) -> io::Result<()> {
        let index = self.index;
        writeln!(
            self.output,
            "  Header {{\n    Length: {:#X}\n    Format: DWARF{}\n    Version: {}\n    CU count: {}\n    \
             Local TU count: {}\n    Foreign TU count: {}\n    Bucket count: {}\n    Name count: {}\n    \
             Abbreviations table size: {:#X}\n    Augmentation: '{}'\n  }}",
            index.length,
            u32::from(index.offset_size).saturating_mul(8),
            index.version,
            index.unit_count,
            index.local_type_unit_count,
            index.foreign_type_unit_count,
            index.bucket_count,
            index.name_count,
            index.abbreviations_size,
            Untrusted::from(String::from_utf8_lossy(index.augmentation))
        )?;
        Ok(())
    }

    fn abbreviations(&mut self) -> io::Result<()> {
        writeln!(self.output, "  Abbreviations [")?;
        for abbreviation in &self.index.abbreviations {
            writeln!(
                self.output,
                "    Abbreviation {:#x} {{\n      Tag: {}",
                abbreviation.code,
                tag(abbreviation.tag)
            )?;
            for (name, form) in &abbreviation.attributes {
                writeln!(self.output, "      {}: {}", idx(*name), form_name(*form))?;
            }
            writeln!(self.output, "    }}")?;
        }
        writeln!(self.output, "  ]")?;
        Ok(())
    }

    fn names(&mut self) -> io::Result<()> {
        let index = self.index;
        if index.bucket_count == 0 {
            writeln!(self.output, "  Hash table not present")?;
            for name in 1..=index.name_count {
                self.name(name, "  ")?;
            }
        }
        for bucket in 0..index.bucket_count {
            writeln!(self.output, "  Bucket {bucket} [")?;
            match index.bucket(bucket) {
                None | Some(0) => writeln!(self.output, "    EMPTY")?,
                Some(first) if first > index.name_count => {
                    writeln!(self.output, "    Name index is invalid")?;
                }
                Some(first) => {
                    for name in names_in_bucket(index, bucket, first) {
                        self.name(name, "    ")?;
                    }
                }
            }
            writeln!(self.output, "  ]")?;
        }
        Ok(())
    }

    fn name(&mut self, name: u32, indent: &str) -> io::Result<()> {
        let index = self.index;
        writeln!(self.output, "{indent}Name {name} {{")?;
        if let Some(hash) = index.hash(name) {
            writeln!(self.output, "{indent}  Hash: {hash:#X}")?;
        }
        let string = index.string(name).unwrap_or_default();
        let text = Untrusted::from(String::from_utf8_lossy(string_at(self.strings, string)));
        writeln!(self.output, "{indent}  String: {string:#010x} \"{text}\"")?;
        let mut next = index.entries_of(name).unwrap_or_default();
        loop {
            match index.entry_at(next) {
                Ok(Some((entry, after))) => {
                    self.entry(&entry, indent)?;
                    next = after;
                }
                Ok(None) => break,
                Err(error) => {
                    self.output.problem(&error)?;
                    break;
                }
            }
        }
        writeln!(self.output, "{indent}}}")?;
        Ok(())
    }

    fn entry(&mut self, entry: &NameEntry, indent: &str) -> io::Result<()> {
        writeln!(
            self.output,
            "{indent}  Entry @ {:#x} {{\n{indent}    Abbrev: {:#x}\n{indent}    Tag: {}",
            entry.offset,
            entry.code,
            tag(entry.tag)
        )?;
        for value in &entry.values {
            let text = self.value(value);
            writeln!(self.output, "{indent}    {}: {text}", idx(value.name))?;
        }
        writeln!(self.output, "{indent}  }}")?;
        Ok(())
    }

    fn value(&self, value: &NameValue) -> String {
        if value.name == dw::DW_IDX_parent {
            return if value.form == dw::DW_FORM_flag_present {
                "<parent not indexed>".to_owned()
            } else {
                let at = self.index.pool().saturating_add(value.value);
                format!("Entry @ {at:#x}")
            };
        }
        match value.form {
            dw::DW_FORM_flag_present => "true".to_owned(),
            dw::DW_FORM_flag => (value.value != 0).to_string(),
            dw::DW_FORM_data1 => address(value.value, 1),
            dw::DW_FORM_data2 => address(value.value, 2),
            dw::DW_FORM_data4 => address(value.value, 4),
            dw::DW_FORM_data8 => address(value.value, 8),
            dw::DW_FORM_udata => value.value.to_string(),
            _ => format!("{:#010x}", value.value),
        }
    }

    fn json(&mut self) -> io::Result<()> {
        let index = self.index;
        self.output.begin_element(&IndexFields {
            offset: index.offset.into(),
            length: index.length.into(),
            dwarf_format: u32::from(index.offset_size).saturating_mul(8),
            version: index.version,
            augmentation: String::from_utf8_lossy(index.augmentation).into_owned(),
            bucket_count: index.bucket_count,
            name_count: index.name_count,
        })?;
        let problem = self.problem();
        let readable = problem.is_none();
        self.output.begin_array("units")?;
        for unit in (0..index.unit_count).take_while(|_| readable) {
            self.output.element(&index.unit(unit).map(Hex::from))?;
        }
        self.output.end_array()?;
        self.output.begin_array("local_type_units")?;
        for unit in (0..index.local_type_unit_count).take_while(|_| readable) {
            self.output
                .element(&index.local_type_unit(unit).map(Hex::from))?;
        }
        self.output.end_array()?;
        self.output.begin_array("foreign_type_units")?;
        for unit in (0..index.foreign_type_unit_count).take_while(|_| readable) {
            self.output
                .element(&index.foreign_type_unit(unit).map(Hex::from))?;
        }
        self.output.end_array()?;
        self.output.begin_array("abbreviations")?;
        for abbreviation in index.abbreviations.iter().take_while(|_| readable) {
            let attributes = abbreviation.attributes.iter();
            self.output.element(&AbbreviationFields {
                code: abbreviation.code.into(),
                tag: tag(abbreviation.tag),
                attributes: attributes
                    .map(|(name, form)| [idx(*name), form_name(*form)])
                    .collect(),
            })?;
        }
        self.output.end_array()?;
        self.output.begin_array("names")?;
        if let Some(error) = problem {
            self.output.problem(&error)?;
        } else {
            self.json_names()?;
        }
        self.output.end_array()?;
        self.output.end_element()
    }

    fn json_names(&mut self) -> io::Result<()> {
        let index = self.index;
        if index.bucket_count == 0 {
            for name in 1..=index.name_count {
                self.json_name(name, None)?;
            }
        }
        for bucket in 0..index.bucket_count {
            let first = index.bucket(bucket).unwrap_or_default();
            for name in names_in_bucket(index, bucket, first) {
                self.json_name(name, Some(bucket))?;
            }
        }
        Ok(())
    }

    fn json_name(&mut self, name: u32, bucket: Option<u32>) -> io::Result<()> {
        let index = self.index;
        let string = index.string(name).unwrap_or_default();
        let fields = NameFields {
            index: name,
            bucket,
            hash: index.hash(name).map(|hash| u64::from(hash).into()),
            string: string.into(),
            name: String::from_utf8_lossy(string_at(self.strings, string)).into_owned(),
        };
        self.output.begin_element(&fields)?;
        self.output.begin_array("entries")?;
        let mut next = index.entries_of(name).unwrap_or_default();
        loop {
            match index.entry_at(next) {
                Ok(Some((entry, after))) => {
                    let values = entry.values.iter();
                    self.output.element(&EntryFields {
                        offset: entry.offset.into(),
                        abbreviation: entry.code.into(),
                        tag: tag(entry.tag),
                        attributes: values
                            .map(|value| ValueFields {
                                name: idx(value.name),
                                value: value.value.into(),
                            })
                            .collect(),
                    })?;
                    next = after;
                }
                Ok(None) => break,
                Err(error) => {
                    self.output.problem(&error)?;
                    break;
                }
            }
        }
        self.output.end_array()?;
        self.output.end_element()
    }
}

/// Returns a string, without its terminating zero, or empty if there is none.
fn string_at(strings: &[u8], offset: u64) -> &[u8] {
    let at = usize::try_from(offset).unwrap_or(usize::MAX);
    let rest = strings.get(at..).unwrap_or_default();
    rest.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Prints the names of a bucket: from its first one to the last whose hash belongs there.
fn names_in_bucket<'d>(
    index: &'d NameIndex<'_>,
    bucket: u32,
    first: u32,
) -> impl Iterator<Item = u32> + use<'d> {
    let count = index.bucket_count;
    // An empty bucket has no first name.
    let last = if first == 0 { 0 } else { index.name_count };
    (first.max(1)..=last).take_while(move |name| {
        let hash = index.hash(*name);
        hash.and_then(|hash| hash.checked_rem(count)) == Some(bucket)
    })
}

fn tag(tag: DwTag) -> String {
    match tag.static_string() {
        Some(name) => name.to_owned(),
        None => format!("DW_TAG_unknown_{:x}", tag.0),
    }
}

fn idx(name: DwIdx) -> String {
    match name.static_string() {
        Some(name) => name.to_owned(),
        None => format!("DW_IDX_unknown_{:x}", name.0),
    }
}

fn form_name(form: DwForm) -> String {
    match form.static_string() {
        Some(name) => name.to_owned(),
        None => format!("DW_FORM_unknown_{:x}", form.0),
    }
}
