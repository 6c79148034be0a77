//! Decodes attributes and formats them, for text and JSON.
//!
//! Sources: DWARF 5 §7.5.4 to §7.5.6. The wording follows llvm-dwarfdump 22.

use std::borrow::Cow;

use core::cell::Cell;
use core::ops::Range;
use gimli::constants as dw;
use gimli::{AttributeValue, DwForm};

use super::encoding::with_encoding;
use super::fields::{Fields, Placed};
use super::header::Header;
use super::list::{address, operations_text};
use super::names::{constant_name, cut, linkage_name, quoted, short_name, space_name};
use super::type_name::TypeNames;
use super::unit_facts::UnitFacts;
use super::value_text::{
    LANGUAGE_NAME, LANGUAGE_VERSION, block_text, constant_text, is_location, list_head, properties,
};
use super::{Naming, Sources, Style};
use crate::debug_info::attribute::attribute_name;
use crate::debug_info::raw_list::highest;
use crate::debug_info::{Bytes, DebugInfo, Die, DieId, DieValue, Language};
use crate::error::Result;
use crate::expr::{BaseTypeNames, Encoding, Printer};
use crate::meter::Meter;
use crate::untrusted::Untrusted;

/// An entry of a location list or range list.
#[derive(Debug)]
pub(super) struct ListItem<'a> {
    /// The entry without its expression.
    pub(super) head: String,
    /// The addresses, or `None` for a default location and for unknown addresses.
    pub(super) range: Option<Range<u64>>,
    /// The expression's text and bytes.
    pub(super) expression: Option<(String, &'a [u8])>,
}

/// A formatted attribute.
#[derive(Debug)]
pub(super) struct Shown<'a> {
    pub(super) name: Cow<'static, str>,
    pub(super) form: DwForm,
    /// The value, if there is one.
    pub(super) value: Option<DieValue<'a>>,
    /// The text in the parentheses, except lists and notes.
    pub(super) text: String,
    /// The name of the referenced entry, with `true` if it is the name of a type.
    pub(super) note: Option<Untrusted<'static>>,
    pub(super) list: Vec<ListItem<'a>>,
    /// The reason why something is missing.
    pub(super) problem: Option<crate::Error>,
}

/// The meaning of a number.
#[derive(Debug)]
pub(super) enum Meaning {
    /// A constant with a name.
    Name(&'static str),
    /// The path of a file.
    Path(Untrusted<'static>),
}

impl Meaning {
    /// Returns the exact text.
    pub(super) fn raw(&self) -> Untrusted<'_> {
        match self {
            Meaning::Name(name) => (*name).into(),
            Meaning::Path(path) => path.borrowed(),
        }
    }

    /// Returns the text in the style of llvm-dwarfdump.
    fn text(&self) -> String {
        match self {
            Meaning::Name(name) => (*name).to_owned(),
            // llvm-dwarfdump does not escape backslashes.
            Meaning::Path(path) => {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
                match path.raw() {
                    // The most frequent case, handled first for speed.
                    plain if plain.bytes().all(is_plain) => ["\"", plain, "\""].concat(),
                    _ => format!("\"{path}\""),
                }
            }
        }
    }
}

/// Formats attributes.
pub(super) struct Attributes<'d, 'a> {
    pub(super) info: &'d DebugInfo<'a>,
    pub(super) sources: &'d Sources<'a>,
    pub(super) types: TypeNames<'d, 'a>,
    /// The sections of addresses, if they are shown.
    pub(super) placed: Option<Placed>,
    pub(super) style: Style,
    /// True if forms are printed.
    pub(super) show_form: bool,
    /// The meter charged for the entries of lists, printed or not.
    pub(super) meter: &'d Meter,
    /// The last table of abbreviations that was read to its end: `true` for a split unit's table, and its offset.
    pub(super) whole_table: Cell<Option<(bool, usize)>>,
}

/// The names of base types, for expressions.
pub(super) struct BaseTypes<'d, 'a> {
    pub(super) info: &'d DebugInfo<'a>,
    pub(super) unit: UnitFacts,
}

impl BaseTypeNames for BaseTypes<'_, '_> {
    fn base_type_name(&self, offset: u64) -> Option<(u64, String)> {
        let id = DieId {
            unit: self.unit.id,
            offset: self.unit.offset.checked_add(offset)?,
        };
        let die = self.info.die(id).ok()?;
        if die.tag() != dw::DW_TAG_base_type {
            return None;
        }
        let name = short_name(self.info, &die)?;
        // An expression may refer to types very often.
        let short: String = name.raw().chars().take(64).collect();
        Some((id.offset, Untrusted::from(short).to_string()))
    }
}

impl<'a> Attributes<'_, 'a> {
    /// Returns true if entries are printed in the style of llvm-dwarfdump.
    pub(super) fn is_quiet(&self) -> bool {
        self.style.naming == Naming::Llvm
    }

    /// Returns the places of an entry's attributes, if they are needed.
    pub(super) fn fields(&self, unit: &Header<'a>, die: &Die<'a>) -> Option<Fields<'a>> {
        (self.placed.is_some()).then(|| Fields::new(unit.section, die.id().offset, unit.facts))
    }

    /// Returns the note after an address: its section, if that is shown.
    ///
    /// * `field`: the offset of the address in the section `name`.
    fn section_note(&self, split: bool, name: &'static str, field: Option<u64>) -> String {
        let (Some(placed), Some(field)) = (&self.placed, field) else {
            return String::new();
        };
        let section = placed.section(self.sources, (split, name), field);
        section.map_or(String::new(), |section| Placed::text(self.sources, section))
    }

    /// Formats an attribute of an entry.
    ///
    /// * `field`: the offset of its value in the section, if known.
    pub(super) fn show(
        &self,
        unit: UnitFacts,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        field: Option<u64>,
    ) -> Shown<'a> {
        let mut shown = Shown {
            name: attribute_name(die.tag(), attribute),
            form: attribute.form(),
            value: None,
            text: String::new(),
            note: None,
            list: Vec::new(),
            problem: None,
        };
        let filled = match self.info.value(die, attribute) {
            Ok(value) => {
                let filled = self.fill(unit, die, attribute, &value, &mut shown);
                if self.style.verbose {
                    shown.text = with_encoding(unit, attribute, shown.text);
                    shown
                        .text
                        .push_str(&self.place(unit, &value, attribute, field));
                }
                shown.value = Some(value);
                filled
            }
            Err(error) => match (unit.alone, attribute.raw_value()) {
                // Not malformed: the addresses are in the code object.
                (true, AttributeValue::DebugAddrIndex(index)) => {
                    shown.text = format!("indexed ({:08x}) address = <unresolved>", index.0);
                    Ok(())
                }
                (_, AttributeValue::DebugAddrIndex(index)) if self.is_quiet() => {
                    shown.text = format!("indexed ({:08x}) address = <unresolved>", index.0);
                    Err(error)
                }
                // llvm-dwarfdump prints the encoded reference in any case.
                (_, AttributeValue::UnitRef(offset)) if self.style.naming == Naming::Llvm => {
                    let at = unit.offset.saturating_sub(unit.shift);
                    shown.text = address(at.saturating_add(offset.0 as u64), 4);
                    Err(error)
                }
                _ => Err(error),
            },
        };
        if self.style.verbose && shown.value.is_none() {
            shown.text = with_encoding(unit, attribute, shown.text);
        }
        shown.problem = filled.err();
        shown
    }

    fn fill(
        &self,
        unit: UnitFacts,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        value: &DieValue<'a>,
        shown: &mut Shown<'a>,
    ) -> Result<()> {
        let name = attribute.name();
        // As in llvm-dwarfdump, list offsets are relative to the unit's part of a package.
        let in_part = |offset| self.info.list_in_part(unit.id, value, offset);
        shown.text = match value {
            DieValue::Address(value) => {
                let text = address(*value, unit.address_size);
                match name {
                    dw::DW_AT_low_pc if *value == highest(unit.address_size) => {
                        match self.style.verbose {
                            true => format!("{text} (dead code)"),
                            false => "dead code".to_owned(),
                        }
                    }
                    _ => text,
                }
            }
            DieValue::Block(bytes) if is_location(name) => {
                let encoding = self.info.eval_unit(unit.id)?.encoding;
                let (section, at) = (unit.section_name(), self.offset_in(unit, bytes));
                let bytes = self.sources.stored(unit.split, section, at, bytes);
                self.expression(unit, bytes, encoding)
            }
            DieValue::Block(bytes) => block_text(attribute.form(), bytes),
            DieValue::Unsigned(_) | DieValue::Signed(_) | DieValue::Wide(_) | DieValue::Flag(_) => {
                self.constant(unit, die, attribute, value)
            }
            DieValue::Expression(expression) => {
                let (section, at) = (unit.section_name(), Some(expression.offset));
                let bytes = (self.sources).stored(unit.split, section, at, expression.bytes);
                self.expression(unit, bytes, expression.unit.encoding)
            }
            DieValue::LocationList(offset) => {
                shown.text = list_head(attribute, "loclist", in_part(*offset), unit);
                shown.text.push_str(": ");
                self.locations(unit, *offset, &mut shown.list)?;
                return Ok(());
            }
            DieValue::RangeList(offset) => {
                // llvm-dwarfdump prints the section offset for an offset given by an index.
                let is_indexed = attribute.form() == dw::DW_FORM_rnglistx;
                let at = if is_indexed {
                    *offset
                } else {
                    in_part(*offset)
                };
                shown.text = list_head(attribute, "rangelist", at, unit);
                let read = self.ranges(unit, die, *offset, &mut shown.list);
                // Not malformed: the addresses are in the code object.
                return if unit.alone { Ok(()) } else { read };
            }
            DieValue::SectionOffset(offset) => address(*offset, unit.offset_size),
            DieValue::Reference(id) => {
                // Marks references into other units.
                let size = if attribute.form() == dw::DW_FORM_ref_addr {
                    8
                } else {
                    4
                };
                let shift = match id.unit == unit.id {
                    true => unit.shift,
                    false => self.shift_of(*id),
                };
                address(id.offset.saturating_sub(shift), size)
            }
            DieValue::Signature(signature) => address(*signature, 8),
            DieValue::Supplementary(offset) => address(*offset, unit.offset_size),
            DieValue::String(text) => quoted(text.raw()),
        };
        shown.note = self.target_name(die, attribute)?;
        Ok(())
    }

    /// Returns the name of the entry to which an attribute refers, if it is shown.
    fn target_name(
        &self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
    ) -> Result<Option<Untrusted<'static>>> {
        let name = attribute.name();
        let named = [
            dw::DW_AT_abstract_origin,
            dw::DW_AT_specification,
            dw::DW_AT_call_origin,
            dw::DW_AT_import,
        ];
        let is_type = name == dw::DW_AT_type || name == dw::DW_AT_containing_type;
        let is_property = name == dw::DW_AT_APPLE_property;
        if !(is_type || is_property || named.contains(&name)) {
            return Ok(None);
        }
        let Some(id) = self.info.target(die, attribute)? else {
            return Ok(None);
        };
        if is_type {
            let name = self.types.name(id).to_string();
            // A reference to something other than an entry has no name.
            let is_entry = || self.info.die(id).is_ok_and(|die| !die.is_null());
            return Ok((name != "void" || is_entry()).then(|| name.into()));
        }
        let target = self.info.die(id)?;
        if !is_property {
            let name = linkage_name(self.info, &target);
            return Ok(name.or_else(|| short_name(self.info, &target)));
        }
        let property = target.attribute(dw::DW_AT_APPLE_property_name);
        let text = property.and_then(|property| self.info.value(&target, property).ok());
        Ok(match text {
            Some(DieValue::String(text)) => Some(cut(text.raw()).to_owned().into()),
            Some(_) | None => None,
        })
    }

    fn constant(
        &self,
        unit: UnitFacts,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        value: &DieValue<'a>,
    ) -> String {
        let name = attribute.name();
        let plain = constant_text(attribute.form(), value);
        let Some(number) = value.unsigned() else {
            return plain;
        };
        match name {
            LANGUAGE_VERSION => return self.language_version(die, number),
            dw::DW_AT_APPLE_property_attribute => return plain + &properties(number),
            _ => {}
        }
        if let Some(meaning) = self.meaning(unit, die, attribute, number) {
            return meaning.text();
        }
        let lines = [
            dw::DW_AT_decl_line,
            dw::DW_AT_decl_column,
            dw::DW_AT_call_line,
            dw::DW_AT_call_column,
        ];
        if lines.contains(&name) {
            return number.to_string();
        }
        if name == dw::DW_AT_high_pc
            && !self.show_form
            && let Some(low) = die.attribute(dw::DW_AT_low_pc)
            && let Ok(DieValue::Address(low)) = self.info.value(die, low)
        {
            return address(low.wrapping_add(number), unit.address_size);
        }
        plain
    }

    /// Returns the version of the language in an entry.
    fn language_version(&self, die: &Die<'a>, version: u64) -> String {
        let language = die.attribute(LANGUAGE_NAME);
        let language = language.and_then(|attribute| attribute.udata_value());
        let name = language.and_then(|code| Language::Name(code).version_name(version));
        match name {
            Some(name) if self.style.verbose => format!("{version} {name}"),
            Some(name) => name.to_owned(),
            None => version.to_string(),
        }
    }

    /// Returns the meaning of a number.
    pub(super) fn meaning(
        &self,
        unit: UnitFacts,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        number: u64,
    ) -> Option<Meaning> {
        let name = attribute.name();
        if name == dw::DW_AT_decl_file || name == dw::DW_AT_call_file {
            // llvm-dwarfdump does not use the line table of a skeleton for a split unit.
            let is_llvm = matches!(self.style.naming, Naming::Llvm);
            if is_llvm && unit.split && self.sources.is_single() && !self.has_lines(unit) {
                return None;
            }
            // An unreadable line table is reported elsewhere.
            let file = self.info.source_file(unit.id, number).ok()??;
            return Some(Meaning::Path(file.path.to_string().into()));
        }
        constant_name(name, number)
            .or_else(|| space_name(self.style.naming, die.tag(), attribute, number))
            .map(Meaning::Name)
    }

    /// Returns the section of an address, as the note after it.
    fn place(
        &self,
        unit: UnitFacts,
        value: &DieValue<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        field: Option<u64>,
    ) -> String {
        if !matches!(value, DieValue::Address(_)) {
            return String::new();
        }
        if let AttributeValue::DebugAddrIndex(index) = attribute.raw_value() {
            let field = self.indexed_field(unit, index.0 as u64);
            return self.section_note(false, ".debug_addr", field);
        }
        self.section_note(unit.split, unit.section_name(), field)
    }

    /// Returns the offset in `.debug_addr` of the address with an index.
    pub(super) fn indexed_field(&self, unit: UnitFacts, index: u64) -> Option<u64> {
        let base = self.info.address_base(unit.id).ok()?;
        index
            .checked_mul(unit.address_size.into())?
            .checked_add(base)
    }

    /// Formats an expression.
    pub(super) fn expression(&self, unit: UnitFacts, bytes: &[u8], encoding: Encoding) -> String {
        let types = BaseTypes {
            info: self.info,
            unit,
        };
        // References of version 2 have the size of addresses; llvm-dwarfdump reads them as offsets.
        let offset_size = match self.style.naming {
            Naming::Llvm => unit.offset_size,
            Naming::Names => encoding.offset_size,
        };
        let encoding = Encoding {
            offset_size,
            ..encoding
        };
        let printer = Printer::new(encoding)
            .style(self.style.registers())
            .verbose(self.style.verbose)
            .names(&types);
        operations_text(&printer, bytes)
    }

    /// Returns the offset of bytes in a unit's section.
    fn offset_in(&self, unit: UnitFacts, bytes: &'a [u8]) -> Option<u64> {
        let section = self.sources.bytes(unit.split, unit.section_name()).ok()?;
        let bytes = Bytes::new(bytes, gimli::LittleEndian);
        Some(bytes.offset_from(section) as u64)
    }

    /// Returns the start of an entry's section among the joined ones, if they are shown separately.
    fn shift_of(&self, id: DieId) -> u64 {
        if !self.sources.is_apart() {
            return 0;
        }
        let Ok(unit) = self.info.unit_info(id.unit) else {
            return 0;
        };
        let split = unit.section.ends_with(".dwo");
        let name = unit.section.trim_end_matches(".dwo");
        self.sources.section_start(split, name, id.offset)
    }

    /// Returns true if a unit has its own line table.
    fn has_lines(&self, unit: UnitFacts) -> bool {
        let root = self.info.root(unit.id);
        root.is_ok_and(|root| root.attribute(dw::DW_AT_stmt_list).is_some())
    }
}

impl Shown<'_> {
    /// Returns the class of the value. Source: DWARF 5 §7.5.5.
    pub(super) fn class(&self) -> &'static str {
        match &self.value {
            Some(DieValue::Address(_)) => "address",
            Some(DieValue::Block(_)) => "block",
            Some(DieValue::Unsigned(_) | DieValue::Signed(_) | DieValue::Wide(_)) => "constant",
            Some(DieValue::Expression(_)) => "exprloc",
            Some(DieValue::Flag(_)) => "flag",
            Some(DieValue::LocationList(_)) => "loclist",
            Some(DieValue::RangeList(_)) => "rnglist",
            Some(DieValue::SectionOffset(_)) => "offset",
            Some(DieValue::Reference(_) | DieValue::Signature(_) | DieValue::Supplementary(_)) => {
                "reference"
            }
            Some(DieValue::String(_)) => "string",
            None => "unknown",
        }
    }

    /// Returns the name of the referenced entry, short enough to print.
    pub(super) fn note(&self) -> Option<Untrusted<'_>> {
        self.note.as_ref().map(|note| cut(note.raw()).into())
    }
}
