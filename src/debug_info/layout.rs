//! Determines layouts that depend on run-time values: variable-length arrays, and structures with sizes or member offsets given by expressions.
//!
//! It lists the questions and combines the answers. Evaluating is left to `inspect`. Sources: DWARF 5 §2.19 (attributes that are expressions or
//! references), §5.5, §5.7.6, §5.13.

use gimli::constants::*;

use super::DebugInfo;
use super::alias::{HOPS, is_alias};
use super::array_shape::{ArrayShape, Extent};
use super::die::Die;
use super::id::DieId;
use super::read_member::{is_data_member, plain_member_offset};
use super::types::{Dimension, TypeId, TypeKind, TypeTable};
use super::value::DieValue;
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{ExpressionBytes, LocationAttribute};
use crate::meter::Meter;

/// A value to determine in a frame, on which a layout depends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'a> {
    /// The value of the variable with this entry.
    Variable(DieId),
    /// The value of an expression.
    Value(ExpressionBytes<'a>),
    /// A number of the given size in bytes, at the location from an expression or a location list.
    Stored(LocationAttribute<'a>, u64),
    /// The distance in bits from an object to the location that an expression computes from the object's location.
    Member(ExpressionBytes<'a>),
}

/// Answers a question.
type Answer<'q, 'a> = &'q mut dyn FnMut(Question<'a>) -> Result<i128>;

/// A layout determined at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The size of the type, in bytes.
    pub(crate) byte_size: u64,
    /// Arrays with their dimensions, and typedefs and qualifiers, from the type inwards; each with its size.
    outer: Vec<(DieId, Option<ArrayShape>, u64)>,
    /// The type within these.
    inner: DieId,
    inner_size: u64,
    /// The offset of each member of a structure, in bits, or `None` if it is known without evaluation.
    members: Vec<Option<u64>>,
}

/// A variable that holds a number, such as a bound of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberVariable<'a> {
    pub(crate) location: Option<LocationAttribute<'a>>,
    /// `DW_AT_const_value`.
    pub(crate) constant: Option<i128>,
    pub(crate) byte_size: u64,
    pub(crate) is_signed: bool,
}

impl<'a> DebugInfo<'a> {
    /// Returns the layout of the type at `ty`, or `None` if it has none, such as a declaration. The meter is charged for every entry read.
    ///
    /// # Errors
    /// If an entry is malformed, or `answer` fails.
    pub(crate) fn layout(
        &self,
        ty: DieId,
        meter: &Meter,
        answer: Answer<'_, 'a>,
    ) -> Result<Option<Layout>> {
        let mut outer = Vec::new();
        let mut next = ty;
        for _ in 0..HOPS {
            meter.work(1)?;
            let mut die = self.die(next)?;
            if let Some(definition) = self.definition(&die) {
                die = self.die(definition)?;
            }
            let in_array = outer.iter().any(|(_, shape)| Option::is_some(shape));
            let is_record = super::attribute::is_record(die.tag());
            if is_record && !in_array {
                return self.record_layout(&die, outer, answer, meter);
            }
            if let Some(size) = self.size(next, meter) {
                return Ok(assemble(outer, next, size, Vec::new()));
            }
            if die.tag() == DW_TAG_string_type {
                return self.string_layout(&die, outer, answer, meter);
            }
            let shape = if die.tag() == DW_TAG_array_type {
                let mut number = |die: &Die<'a>, name| self.number_of(die, name, answer);
                let shape = self.array_shape_by(&die, meter, &mut number)?;
                if shape.extents.is_empty() {
                    return Ok(None);
                }
                if shape.has_strided_dimension() {
                    // Such an array consists of arrays, each of which would need its own layout.
                    return Err(ErrorKind::Unsupported("DW_AT_byte_stride").into());
                }
                Some(shape)
            } else if is_alias(die.tag()) {
                None
            } else {
                return Ok(None);
            };
            outer.push((die.id(), shape));
            match self.direct_type(&die) {
                Some(ty) => next = ty,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Returns the layout of a structure whose members are found from the location of the whole object.
    fn record_layout(
        &self,
        die: &Die<'a>,
        outer: Vec<(DieId, Option<ArrayShape>)>,
        answer: Answer<'_, 'a>,
        meter: &Meter,
    ) -> Result<Option<Layout>> {
        let bytes = self.number_of(die, DW_AT_byte_size, answer)?;
        let bits = match bytes {
            Some(_) => None,
            None => self.number_of(die, DW_AT_bit_size, answer)?,
        };
        let size = bytes.or_else(|| bits.map(|bits| bits.saturating_add(7) / 8));
        let Some(size) = size.and_then(|size| u64::try_from(size).ok()) else {
            return Ok(None);
        };
        let mut members = Vec::new();
        let mut children = self.children(die.id())?;
        while let Some(child) = children.next(meter)? {
            if is_data_member(&child) {
                members.push(self.member_position(&child, answer));
            }
        }
        Ok(assemble(outer, die.id(), size, members))
    }

    /// Returns the layout of a string with its own length. Source: DWARF 5 §5.11. Before DWARF 5, the entry's size was the size of the length.
    fn string_layout(
        &self,
        die: &Die<'a>,
        mut outer: Vec<(DieId, Option<ArrayShape>)>,
        answer: Answer<'_, 'a>,
        meter: &Meter,
    ) -> Result<Option<Layout>> {
        let Some(attribute) = die.attribute(DW_AT_string_length) else {
            return Ok(None);
        };
        let value = self.value(die, attribute)?;
        let length = if let DieValue::Reference(entry) = value {
            answer(Question::Variable(entry))?
        } else if let Some(number) = value.number() {
            number
        } else {
            let location = self.location(die, attribute)?;
            let unsupported = || Error::from(ErrorKind::Unsupported("DW_AT_string_length"));
            let location = location.ok_or_else(unsupported)?;
            answer(Question::Stored(location, self.length_size(die)))?
        };
        let character = match self.direct_type(die) {
            Some(_) => self.character_size(die, meter)?,
            None => 1,
        };
        let bytes = u64::try_from(length).unwrap_or(0);
        let dimension = Dimension {
            lower_bound: 1,
            count: Some(bytes.checked_div(character).unwrap_or(0)),
        };
        let stride = None;
        let shape = ArrayShape {
            extents: vec![Extent {
                dimension,
                stride,
                wrong_lower_bound: None,
            }],
            stride,
        };
        outer.push((die.id(), Some(shape)));
        Ok(assemble(outer, die.id(), character, Vec::new()))
    }

    /// Returns the size of a string's length, in bytes.
    fn length_size(&self, die: &Die<'a>) -> u64 {
        let bits = |name| Some(die.unsigned(name)?.div_ceil(8));
        die.unsigned(DW_AT_string_length_byte_size)
            .or_else(|| bits(DW_AT_string_length_bit_size))
            .or_else(|| die.unsigned(DW_AT_byte_size))
            .or_else(|| bits(DW_AT_bit_size))
            .or_else(|| self.process_address_size(die))
            .unwrap_or(8)
    }

    /// Returns the offset of a member that must be evaluated. A failure does not affect the other members.
    fn member_position(&self, die: &Die<'a>, answer: Answer<'_, 'a>) -> Option<u64> {
        let attribute = die.attribute(DW_AT_data_member_location)?;
        let Ok(DieValue::Expression(expression)) = self.value(die, attribute) else {
            return None;
        };
        if plain_member_offset(expression.bytes).is_some() {
            return None;
        }
        let start = answer(Question::Member(expression)).ok()?;
        let within = die.unsigned(DW_AT_data_bit_offset).unwrap_or(0);
        u64::try_from(start).ok()?.checked_add(within)
    }

    /// Returns the number in an attribute: a constant, or the value of an expression or of a variable.
    fn number_of(&self, die: &Die<'a>, name: DwAt, answer: Answer<'_, 'a>) -> Result<Option<i128>> {
        let Some(attribute) = die.attribute(name) else {
            return Ok(None);
        };
        let value = self.value(die, attribute)?;
        if let DieValue::Reference(entry) = value {
            return answer(Question::Variable(entry)).map(Some);
        }
        if let DieValue::Expression(expression) = value {
            return answer(Question::Value(expression)).map(Some);
        }
        Ok(value.number())
    }

    /// Reads the entry of a variable that holds a number.
    pub(crate) fn number_variable(&self, id: DieId) -> Result<NumberVariable<'a>> {
        let chain = self.chain(self.die(id)?);
        let integer = self.type_of(&chain)?.and_then(|ty| self.integer(ty));
        let (byte_size, is_signed) = integer.ok_or_else(|| {
            let section = self.section_of(id.unit).unwrap_or(".debug_info");
            Error::malformed("bound of an array", "its variable has no integer type")
                .within(section, id.offset)
        })?;
        let location = match chain.find(DW_AT_location) {
            Some((die, attribute)) => self.location(die, attribute)?,
            None => None,
        };
        let constant = self.chain_value(&chain, DW_AT_const_value)?;
        Ok(NumberVariable {
            location,
            constant: constant.and_then(|value| value.number()),
            byte_size,
            is_signed,
        })
    }

    /// Returns the type with `layout` in place of its static layout. The meter is charged for the memory.
    ///
    /// # Errors
    /// If an entry is malformed.
    pub(crate) fn type_with(
        &self,
        table: &mut TypeTable,
        layout: &Layout,
        meter: &Meter,
    ) -> Result<TypeId> {
        // The characters of a string are in its own entry, or in none.
        let is_string = layout.outer.last().map(|(entry, ..)| *entry) == Some(layout.inner);
        let mut id = self.read_type(table, Some(layout.inner), meter)?;
        if is_string && let TypeKind::Array { element, .. } = table.get(id).kind {
            id = element;
        }
        if !layout.members.is_empty() {
            let mut ty = table.get(id).clone();
            ty.byte_size = Some(layout.inner_size);
            if let TypeKind::Record { members, .. } = &mut ty.kind {
                for (member, position) in members.iter_mut().zip(&layout.members) {
                    member.bit_offset = position.or(member.bit_offset);
                }
            }
            id = table.add_derived(id, ty);
        }
        for (entry, found, size) in layout.outer.iter().rev() {
            let known = self.read_type(table, Some(*entry), meter)?;
            let mut ty = table.get(known).clone();
            ty.byte_size = Some(*size);
            if let TypeKind::Array {
                element,
                dimensions,
                ..
            } = &mut ty.kind
            {
                *element = id;
                *dimensions = found.as_ref().map_or_else(Vec::new, ArrayShape::dimensions);
            } else if let TypeKind::Typedef(target) | TypeKind::Qualified(_, target) = &mut ty.kind
            {
                *target = id;
            }
            id = table.add_derived(known, ty);
        }
        Ok(id)
    }
}

/// Combines sizes from the inside outwards. Returns `None` if a dimension is unknown, or the size overflows.
fn assemble(
    outer: Vec<(DieId, Option<ArrayShape>)>,
    inner: DieId,
    inner_size: u64,
    members: Vec<Option<u64>>,
) -> Option<Layout> {
    let mut bits = inner_size.checked_mul(8)?;
    let mut sized = Vec::with_capacity(outer.len());
    for (entry, shape) in outer.into_iter().rev() {
        if let Some(shape) = &shape {
            bits = shape.size_in_bits(bits)?;
        }
        sized.push((entry, shape, bits.div_ceil(8)));
    }
    sized.reverse();
    Some(Layout {
        byte_size: bits.div_ceil(8),
        outer: sized,
        inner,
        inner_size,
        members,
    })
}
