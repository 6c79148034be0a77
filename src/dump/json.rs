//! Prints entries as JSON: one object for each, in the order of the section, written as they are read.

use std::io;

use serde::Serialize;

use super::attribute::{Meaning, Shown};
use super::entries::{Encoded, Sink};
use super::header::Header;
use super::output::Output;
use crate::debug_info::attribute::tag_name;
use crate::debug_info::type_signature;
use crate::debug_info::{Die, DieValue};
use crate::error::Error;
use crate::report::{Hex, hex_bytes};
use crate::untrusted::Untrusted;

#[derive(Serialize)]
struct UnitFields {
    section: &'static str,
    offset: Hex,
    length: Hex,
    version: u16,
    dwarf_format: u8,
    kind: &'static str,
    abbrev_offset: Hex,
    address_size: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    dwo_id: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    type_signature: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    type_offset: Option<Hex>,
}

#[derive(Serialize)]
struct EntryFields {
    offset: Hex,
    depth: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    abbreviation: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Hex>,
    tag: Option<String>,
}

#[derive(Serialize)]
struct AttributeFields<'s> {
    name: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<&'static str>,
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Untrusted<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<Vec<ListFields<'s>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges: Option<Vec<[Hex; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct ListFields<'s> {
    range: RangeField<'s>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum RangeField<'s> {
    Addresses([Hex; 2]),
    /// `default`, or the encoded entry if its addresses are unknown.
    Text(&'s str),
}

/// Prints entries as JSON.
pub(super) struct JsonEntries<'p, 'o> {
    output: &'p mut Output<'o>,
}

impl<'p, 'o> JsonEntries<'p, 'o> {
    pub(super) fn new(output: &'p mut Output<'o>) -> JsonEntries<'p, 'o> {
        JsonEntries { output }
    }
}

/// Returns a JSON number, or a string if readers might lose digits.
fn number(value: u64) -> serde_json::Value {
    if value < 1 << 53 {
        value.into()
    } else {
        format!("{value:#x}").into()
    }
}

fn hex(value: u64) -> serde_json::Value {
    format!("{value:#x}").into()
}

fn value(shown: &Shown<'_>) -> Option<serde_json::Value> {
    Some(match shown.value.as_ref()? {
        DieValue::Address(value)
        | DieValue::LocationList(value)
        | DieValue::RangeList(value)
        | DieValue::SectionOffset(value)
        | DieValue::Signature(value)
        | DieValue::Supplementary(value) => hex(*value),
        DieValue::Reference(id) => hex(id.offset),
        DieValue::Unsigned(value) => number(*value),
        DieValue::Signed(value) if value.unsigned_abs() < 1 << 53 => (*value).into(),
        DieValue::Signed(value) => value.to_string().into(),
        DieValue::Wide(value) => format!("{value:#x}").into(),
        DieValue::Flag(value) => (*value).into(),
        DieValue::String(text) => text.raw().into(),
        DieValue::Expression(_) => shown.text.as_str().into(),
        DieValue::Block(_) => return None,
    })
}

impl<'a> Sink<'a> for JsonEntries<'_, '_> {
    fn begin_unit(
        &mut self,
        unit: &Header<'a>,
        section: &'static str,
        _whole: bool,
    ) -> io::Result<()> {
        let signature = type_signature(&unit.header);
        self.output.begin_element(&UnitFields {
            section,
            offset: unit.facts.offset.into(),
            length: (unit.header.unit_length() as u64).into(),
            version: unit.facts.version,
            dwarf_format: unit.facts.offset_size.saturating_mul(8),
            kind: unit.kind(),
            abbrev_offset: (unit.abbreviations as u64).into(),
            address_size: unit.facts.address_size,
            dwo_id: unit.dwo_id().map(Hex::from),
            type_signature: signature.map(|(signature, _)| signature.into()),
            type_offset: signature.map(|(_, offset)| (offset as u64).into()),
        })?;
        self.output.begin_array("entries")
    }

    fn summary(&mut self, _unit: &Header<'a>, _signature: u64) -> io::Result<()> {
        // The unit has all of it.
        Ok(())
    }

    fn begin_entry(&mut self, die: &Die<'a>, depth: usize, encoded: Encoded) -> io::Result<()> {
        self.output.begin_element(&EntryFields {
            offset: die.id().offset.into(),
            depth,
            abbreviation: (encoded.code > 0).then_some(encoded.code),
            parent: encoded.parent.map(Hex::from),
            tag: (!die.is_null()).then(|| tag_name(die.tag()).into_owned()),
        })?;
        self.output.begin_array("attributes")
    }

    fn attribute(&mut self, shown: &Shown<'a>, meaning: Option<&Meaning>) -> io::Result<()> {
        if let Some(error) = &shown.problem {
            self.output.note(error);
        }
        let bytes = match &shown.value {
            Some(DieValue::Expression(expression)) => Some(hex_bytes(expression.bytes)),
            Some(DieValue::Block(bytes)) => Some(hex_bytes(bytes)),
            _ => None,
        };
        let list = matches!(shown.value, Some(DieValue::LocationList(_)))
            .then(|| shown.list.iter().map(|item| list_item(item)).collect());
        let ranges = matches!(shown.value, Some(DieValue::RangeList(_))).then(|| {
            let ranges = shown.list.iter().filter_map(|item| item.range.clone());
            ranges
                .map(|range| [range.start.into(), range.end.into()])
                .collect()
        });
        self.output.element(&AttributeFields {
            name: &shown.name,
            form: shown.form.static_string(),
            class: shown.class(),
            value: value(shown),
            text: shown.note().or(meaning.map(Meaning::raw)),
            bytes,
            list,
            ranges,
            error: shown.problem.as_ref().map(ToString::to_string),
        })
    }

    fn end_entry(&mut self) -> io::Result<()> {
        self.output.end_array()?;
        self.output.end_element()
    }

    fn problem(&mut self, error: &Error) -> io::Result<()> {
        self.output.problem(error)
    }

    fn end_unit(&mut self) -> io::Result<()> {
        self.output.end_array()?;
        self.output.end_element()
    }
}

fn list_item<'s>(item: &'s super::attribute::ListItem<'_>) -> ListFields<'s> {
    let expression = item.expression.as_ref();
    ListFields {
        range: match &item.range {
            Some(range) => RangeField::Addresses([range.start.into(), range.end.into()]),
            None => RangeField::Text(item.head.trim_matches(['<', '>'])),
        },
        value: expression.map(|(text, _)| text.as_str()),
        bytes: expression.map(|(_, bytes)| hex_bytes(bytes)),
    }
}
