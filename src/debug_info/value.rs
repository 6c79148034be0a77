//! Reads the values of attributes.
//!
//! It converts forms to values that are independent of the unit: indices to addresses, offsets to section offsets, references to entries.
//! Interpreting a value is left to the callers. Sources: DWARF 5 §2.2, §7.5.4 to §7.5.6.

use std::borrow::Cow;

use gimli::{AttributeValue, SectionId};

use super::die::Die;
use super::file::offset_in_table;
use super::id::{DieId, UnitId};
use super::index_table::{index_error, index_of};
use super::package::Contributions;
use super::{Bytes, DebugInfo, attribute, lossy};
use crate::error::{Error, ErrorKind, Origin, Result};
use crate::eval::{ExpressionBytes, LocationAttribute};
use crate::object::relocation::EntryTarget;
use crate::untrusted::Untrusted;

/// The value of an attribute.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DieValue<'a> {
    /// An address of the code object.
    Address(u64),
    /// Uninterpreted bytes.
    Block(&'a [u8]),
    /// An unsigned constant, or one whose signedness depends on the attribute or type (the data forms).
    Unsigned(u64),
    /// A signed constant.
    Signed(i64),
    /// A constant of 16 bytes.
    Wide(u128),
    /// An operation expression.
    Expression(ExpressionBytes<'a>),
    /// A flag.
    Flag(bool),
    /// A location list, by its offset in the unit's section of location lists.
    LocationList(u64),
    /// A range list, by its offset in the unit's section of range lists.
    RangeList(u64),
    /// An offset in another section, which depends on the attribute.
    SectionOffset(u64),
    /// An entry.
    Reference(DieId),
    /// A type, by the signature of its unit.
    Signature(u64),
    /// An entry or string of a supplementary file, by its offset there.
    Supplementary(u64),
    /// Text. Invalid UTF-8 is replaced, and truncated after a few hundred bytes.
    String(Untrusted<'a>),
}

impl DieValue<'_> {
    /// Returns a constant as a number. The data forms are read as unsigned.
    #[must_use]
    pub fn number(&self) -> Option<i128> {
        if let DieValue::Unsigned(number) = self {
            Some((*number).into())
        } else if let DieValue::Signed(number) = self {
            Some((*number).into())
        } else if let DieValue::Wide(number) = self {
            Some(number.cast_signed())
        } else {
            None
        }
    }

    /// Returns a constant, or the number in a block that is too large for other forms.
    pub(super) fn wide_number(&self) -> Option<i128> {
        let DieValue::Block(bytes) = self else {
            return self.number();
        };
        let mut wide = [0; 16];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(i128::from_le_bytes(wide))
    }

    /// Returns a constant that is non-negative and fits.
    #[must_use]
    pub fn unsigned(&self) -> Option<u64> {
        u64::try_from(self.number()?).ok()
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns the value of an attribute of `die`.
    ///
    /// # Errors
    /// If an index or offset is out of bounds.
    pub fn value(
        &self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
    ) -> Result<DieValue<'a>> {
        use AttributeValue as V;
        let entry = self.entry(die.id().unit)?;
        let value = attribute.value();
        if let Some(constant) = constant(&value) {
            return Ok(constant);
        }
        let extension = attribute::extension(die.tag(), attribute);
        let place = Origin {
            section: self.section_of(die.id().unit)?,
            offset: die.id().offset,
        };
        if let Some((table, index)) = index_of(&value) {
            self.check_index(die.id().unit, table, index)?
                .map_err(|fault| index_error(fault, &place))?;
        }
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "what is left after `constant` are strings"
        )]
        match value {
            V::Addr(address) => Ok(DieValue::Address(address)),
            V::DebugAddrIndex(index) => {
                let address = self.indexed_address(die.id().unit, index.0 as u64, &place);
                address.map(DieValue::Address)
            }
            V::Block(block) if extension.is_some() => {
                self.expression(die, gimli::Expression(block))
            }
            V::Block(block) => Ok(DieValue::Block(block.slice())),
            V::Exprloc(expression) => self.expression(die, expression),
            V::LocationListsRef(offset) => self.location_list_at(die, offset.0),
            V::SecOffset(offset) if extension.is_some() => self.location_list_at(die, offset),
            V::SecOffset(offset) => Ok(DieValue::SectionOffset(offset as u64)),
            V::DebugLocListsIndex(_) | V::RangeListsRef(_) | V::DebugRngListsIndex(_) => {
                self.list(die, value)
            }
            V::UnitRef(offset) => self.reference(
                die,
                entry.header.section(),
                entry.offset().checked_add(offset.0),
                Some(die.id().unit),
            ),
            V::DebugInfoRef(offset) => match EntryTarget::of_field(offset.0 as u64) {
                EntryTarget::Elsewhere => Ok(DieValue::SectionOffset(offset.0 as u64)),
                EntryTarget::Here(offset) => {
                    let offset = usize::try_from(offset).ok();
                    self.reference(die, SectionId::DebugInfo, offset, None)
                }
            },
            V::DebugTypesRef(signature) => Ok(DieValue::Signature(signature.0)),
            V::DebugInfoRefSup(offset) => Ok(DieValue::Supplementary(offset.0 as u64)),
            V::DebugStrRefSup(offset) => Ok(DieValue::Supplementary(offset.0 as u64)),
            value => self
                .contents(die.id().unit)
                .and_then(|unit| {
                    self.file(entry)?
                        .dwarf
                        .attr_string(&unit.gimli, value)
                        .map_err(|error| self.unit_error("string", die.id(), error))
                })
                .map(|text| DieValue::String(lossy(text.slice()).into())),
        }
    }

    fn expression(
        &self,
        die: &Die<'a>,
        expression: gimli::Expression<Bytes<'a>>,
    ) -> Result<DieValue<'a>> {
        let entry = self.entry(die.id().unit)?;
        let file = self.file(entry)?;
        let whole = if entry.header.section() == SectionId::DebugTypes {
            gimli::Section::reader(&file.dwarf.debug_types)
        } else {
            gimli::Section::reader(&file.dwarf.debug_info)
        };
        Ok(DieValue::Expression(ExpressionBytes {
            bytes: expression.0.slice(),
            unit: self.eval_unit(die.id().unit)?,
            section: self.section_of(die.id().unit)?,
            offset: expression.0.offset_from(*whole) as u64,
        }))
    }

    /// Returns the location list at an offset. In a package, the offset is relative to the unit's part of the section.
    fn location_list_at(&self, die: &Die<'a>, offset: usize) -> Result<DieValue<'a>> {
        let offset = match &self.contents(die.id().unit)?.parts {
            Some(parts) => Contributions::resolve(parts.locations, offset)
                .map_err(|error| self.at_die(die, error))?,
            None => offset,
        };
        Ok(DieValue::LocationList(offset as u64))
    }

    /// Converts the offset of a list to the unit's part of a package. In other files the offset is unchanged.
    #[cfg(feature = "serde")]
    pub(crate) fn list_in_part(&self, unit: UnitId, value: &DieValue<'_>, offset: u64) -> u64 {
        let parts = self.contents(unit).ok().and_then(|unit| unit.parts);
        let part = parts.and_then(|parts| {
            if matches!(value, DieValue::RangeList(_)) {
                parts.ranges
            } else {
                parts.locations
            }
        });
        offset.saturating_sub(part.map_or(0, |part| part.start() as u64))
    }

    fn at_die(&self, die: &Die<'a>, error: Error) -> Error {
        match self.section_of(die.id().unit) {
            Ok(section) => error.within(section, die.id().offset),
            Err(_) => error,
        }
    }

    /// Returns the offset of a location list or range list, given by an index or a relative offset.
    fn list(&self, die: &Die<'a>, value: AttributeValue<Bytes<'a>>) -> Result<DieValue<'a>> {
        let entry = self.entry(die.id().unit)?;
        let file = self.file(entry)?;
        let contents = self.contents(die.id().unit)?;
        let (unit, parts) = (&contents.gimli, &contents.parts);
        let format = entry.header.format();
        let error = |index: usize| {
            self.unit_error(
                "list index",
                die.id(),
                gimli::Error::OffsetOutOfBounds(index as u64),
            )
        };
        if let AttributeValue::DebugLocListsIndex(index) = value {
            return offset_in_table(file.loclists, unit.loclists_base.0, index.0, format)
                .map(|offset| DieValue::LocationList(offset as u64))
                .ok_or_else(|| error(index.0));
        }
        if let AttributeValue::DebugRngListsIndex(index) = value {
            return offset_in_table(file.rnglists, unit.rnglists_base.0, index.0, format)
                .map(|offset| DieValue::RangeList(offset as u64))
                .ok_or_else(|| error(index.0));
        }
        if let (AttributeValue::RangeListsRef(offset), Some(parts), 5..) =
            (&value, parts, entry.header.version())
        {
            return Contributions::resolve(parts.ranges, offset.0)
                .map(|offset| DieValue::RangeList(offset as u64))
                .map_err(|error| self.at_die(die, error));
        }
        match file.dwarf.attr_ranges_offset(unit, value) {
            Ok(Some(offset)) => Ok(DieValue::RangeList(offset.0 as u64)),
            Ok(None) => Err(error(0)),
            Err(problem) => Err(self.unit_error("range list", die.id(), problem)),
        }
    }

    /// Returns the entry at `offset` of a section in the file of `die`. If `unit` is given, the entry must be in that unit.
    fn reference(
        &self,
        die: &Die<'a>,
        section: SectionId,
        offset: Option<usize>,
        unit: Option<UnitId>,
    ) -> Result<DieValue<'a>> {
        let file = self.entry(die.id().unit)?.file;
        offset
            .and_then(|offset| self.find_die(file, section, offset))
            .filter(|id| unit.is_none_or(|unit| unit == id.unit))
            .map(DieValue::Reference)
            .ok_or_else(|| {
                let error = gimli::Error::OffsetOutOfBounds(offset.unwrap_or(usize::MAX) as u64);
                self.unit_error("reference", die.id(), error)
            })
    }

    /// Returns the entry that an attribute refers to: directly, or as a type with a signature. Returns `None` if it is no reference.
    ///
    /// # Errors
    /// If the reference is invalid, or its target is not loaded.
    pub fn target(
        &self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
    ) -> Result<Option<DieId>> {
        let place = |error: Error| match self.section_of(die.id().unit) {
            Ok(section) => error.within(section, die.id().offset),
            Err(_) => error,
        };
        match self.value(die, attribute)? {
            DieValue::Reference(id) => Ok(Some(id)),
            DieValue::Signature(signature) => {
                let file = self.entry(die.id().unit)?.file;
                let found = self.type_with_signature(file, signature);
                found.map(Some).ok_or_else(|| {
                    let reason = format!("no type unit has the signature {signature:#018x}");
                    place(Error::malformed("reference", reason))
                })
            }
            DieValue::Supplementary(_) => Err(place(
                ErrorKind::Unsupported("supplementary debugging information files").into(),
            )),
            DieValue::Address(_)
            | DieValue::Block(_)
            | DieValue::Unsigned(_)
            | DieValue::Signed(_)
            | DieValue::Wide(_)
            | DieValue::Expression(_)
            | DieValue::Flag(_)
            | DieValue::LocationList(_)
            | DieValue::RangeList(_)
            | DieValue::SectionOffset(_)
            | DieValue::String(_) => Ok(None),
        }
    }

    /// Returns an attribute that is an expression or a location list.
    pub(super) fn location(
        &self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
    ) -> Result<Option<LocationAttribute<'a>>> {
        let value = self.value(die, attribute)?;
        if let DieValue::Expression(expression) = value {
            return Ok(Some(LocationAttribute::Expression(expression)));
        }
        let DieValue::LocationList(offset) = value else {
            return Ok(None);
        };
        let unit = self.eval_unit(die.id().unit)?;
        Ok(Some(LocationAttribute::List { unit, offset }))
    }

    /// Returns an attribute's text, or `None` if it has none or it cannot be read.
    pub(crate) fn string_of(
        &self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
    ) -> Option<Cow<'a, str>> {
        match self.value(die, attribute) {
            Ok(DieValue::String(text)) => Some(text.into_raw()),
            _ => None,
        }
    }
}

/// Returns a constant in any form. For some attributes gimli converts constants to names, which is undone here.
fn constant<'a>(value: &AttributeValue<Bytes<'a>>) -> Option<DieValue<'a>> {
    use AttributeValue as V;
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all others are not constants; `value` has them"
    )]
    Some(match *value {
        V::Data1(value) => DieValue::Unsigned(value.into()),
        V::Data2(value) => DieValue::Unsigned(value.into()),
        V::Data4(value) => DieValue::Unsigned(value.into()),
        V::Data8(value) | V::Udata(value) | V::FileIndex(value) => DieValue::Unsigned(value),
        V::Data16(value) => DieValue::Wide(value),
        V::Sdata(value) => DieValue::Signed(value),
        V::Flag(value) => DieValue::Flag(value),
        V::Encoding(value) => DieValue::Unsigned(value.0.into()),
        V::DecimalSign(value) => DieValue::Unsigned(value.0.into()),
        V::Endianity(value) => DieValue::Unsigned(value.0.into()),
        V::Accessibility(value) => DieValue::Unsigned(value.0.into()),
        V::Visibility(value) => DieValue::Unsigned(value.0.into()),
        V::Virtuality(value) => DieValue::Unsigned(value.0.into()),
        V::Language(value) => DieValue::Unsigned(value.0.into()),
        V::AddressClass(value) => DieValue::Unsigned(value.0),
        V::IdentifierCase(value) => DieValue::Unsigned(value.0.into()),
        V::CallingConvention(value) => DieValue::Unsigned(value.0.into()),
        V::Inline(value) => DieValue::Unsigned(value.0.into()),
        V::Ordering(value) => DieValue::Unsigned(value.0.into()),
        V::DwoId(value) => DieValue::Unsigned(value.0),
        V::DebugAddrBase(base) => DieValue::SectionOffset(base.0 as u64),
        V::DebugLocListsBase(base) => DieValue::SectionOffset(base.0 as u64),
        V::DebugRngListsBase(base) => DieValue::SectionOffset(base.0 as u64),
        V::DebugStrOffsetsBase(base) => DieValue::SectionOffset(base.0 as u64),
        V::DebugLineRef(offset) => DieValue::SectionOffset(offset.0 as u64),
        V::DebugMacinfoRef(offset) => DieValue::SectionOffset(offset.0 as u64),
        V::DebugMacroRef(offset) => DieValue::SectionOffset(offset.0 as u64),
        _ => return None,
    })
}
