//! Reads types from their entries into a [`TypeTable`].
//!
//! Each entry is read once for a table. A worklist replaces recursion, so recursive and deeply nested types are safe. Sizes and address spaces of an
//! entry are left to `type_entry`, dimensions to `array_shape`, base types to `representation`, members and variants to `read_member`, names to
//! `type_name`. Sources: DWARF 5 §5; HET A.5.

use std::borrow::Cow;

use gimli::constants::*;

use super::DebugInfo;
use super::alias::is_alias;
use super::attribute::{is_record, tag_name};
use super::die::Die;
use super::id::DieId;
use super::read_member::{VARIANT_PARTS, is_constant_member, is_data_member};
use super::representation::sized;
use super::type_attribute::TAGS;
use super::type_entry::{Chain, is_pointer};
use super::types::{
    Dimension, Enumerator, PointerKind, Qualifier, RecordKind, StaticMember, Type, TypeId,
    TypeKind, TypeTable,
};
use super::value::DieValue;
use crate::error::{ErrorKind, Result};
use crate::eval::{BaseType, BaseTypeEncoding};
use crate::meter::Meter;

impl<'a> DebugInfo<'a> {
    /// Reads the type whose entry is at `ty`, and all types it refers to, into `table`. Returns its number there. `None` in place of an entry means
    /// `void`. Types that the table already has are not read again.
    ///
    /// A part of the requested type that cannot be read becomes [`TypeKind::Unspecified`], so that the rest stays usable.
    ///
    /// # Errors
    /// If there is no entry at `ty`, or it is malformed.
    pub fn read_type(
        &self,
        table: &mut TypeTable,
        ty: Option<DieId>,
        meter: &Meter,
    ) -> Result<TypeId> {
        let mut reader = TypeReader {
            info: self,
            table,
            waiting: Vec::new(),
            chain: None,
            constants: Vec::new(),
            is_computed: false,
            meter,
        };
        let Some(root) = ty else {
            return Ok(reader.table.void());
        };
        let id = reader.number(root);
        while let Some((entry, number)) = reader.waiting.pop() {
            match reader.read(entry) {
                Ok(ty) => {
                    let constants = core::mem::take(&mut reader.constants);
                    reader.table.set(number, ty);
                    reader.table.set_constants(number, constants);
                    if reader.is_computed {
                        reader.table.set_computed(number, entry);
                    }
                }
                Err(error) if number == id => {
                    reader.table.forget(root);
                    for (entry, _) in reader.waiting {
                        reader.table.forget(entry);
                    }
                    return Err(error);
                }
                // The other parts remain usable.
                Err(_) => reader.table.set(number, Type::unspecified()),
            }
        }
        Ok(id)
    }
}

/// Reads types into a table. `read_member` reads members.
pub(super) struct TypeReader<'t, 'd, 'a> {
    pub(super) info: &'d DebugInfo<'a>,
    pub(super) table: &'t mut TypeTable,
    /// The entries with a number that are still to be read.
    waiting: Vec<(DieId, TypeId)>,
    /// The chain of the type read last.
    chain: Option<Chain>,
    /// The constant static data members of the record being read.
    constants: Vec<StaticMember>,
    /// True if the type read last has a run-time layout.
    is_computed: bool,
    pub(super) meter: &'t Meter,
}

impl<'a> TypeReader<'_, '_, 'a> {
    /// Returns the number of the type at `entry`. A new type is queued for reading.
    fn number(&mut self, entry: DieId) -> TypeId {
        if let Some(number) = self.table.number_of(entry) {
            return number;
        }
        let number = self.table.add(Type::unspecified());
        self.table.remember(entry, number);
        self.waiting.push((entry, number));
        number
    }

    fn read(&mut self, id: DieId) -> Result<Type> {
        self.meter.work(1)?;
        self.meter.hold_all::<Type>(1)?;
        self.is_computed = false;
        let declared = self.info.die(id)?;
        let die = match self.info.definition(&declared) {
            Some(definition) => self.info.die(definition)?,
            None => declared,
        };
        let kind = or_unsupported(self.kind(&die))?;
        Ok(Type {
            name: self.name(&die)?,
            byte_size: (self.info).size_in_chain(&die, &mut self.chain, self.meter),
            kind,
        })
    }

    /// Returns the kind of a type. [`ErrorKind::Unsupported`] names an unsupported attribute.
    fn kind(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        if let Some(name) = self.info.not_understood(die) {
            return Err(ErrorKind::Unsupported(name).into());
        }
        let tag = die.tag();
        Ok(if tag == DW_TAG_base_type {
            self.info.base_kind(die)?
        } else if is_pointer(tag) {
            self.pointer(die)
        } else if tag == DW_TAG_array_type {
            self.array(die)?
        } else if is_record(tag) {
            self.record(die)?
        } else if tag == DW_TAG_enumeration_type {
            self.enumeration(die)?
        } else if tag == DW_TAG_subroutine_type || tag == DW_TAG_subprogram {
            self.function(die)?
        } else if tag == DW_TAG_ptr_to_member_type {
            self.member_pointer(die)?
        } else if let Some(qualifier) = qualifier(tag) {
            TypeKind::Qualified(qualifier, self.target(die))
        } else if tag == DW_TAG_subrange_type {
            self.subrange(die)?
        } else if tag == DW_TAG_string_type {
            self.string(die)?
        } else if is_alias(tag) {
            TypeKind::Typedef(self.target(die))
        } else if TAGS.contains(&tag) {
            TypeKind::Unspecified
        } else {
            TypeKind::Unsupported(tag_name(tag))
        })
    }

    /// Returns the name with the enclosing namespaces and classes.
    fn name(&mut self, die: &Die<'a>) -> Result<Option<String>> {
        let Some(name) = self.text_of(die)? else {
            return Ok(None);
        };
        let Some(mut full) = self.info.qualifier(die.id()) else {
            return Ok(Some(name));
        };
        self.meter.hold(full.len() as u64)?;
        full.push_str("::");
        full.push_str(&name);
        Ok(Some(full))
    }

    /// `DW_AT_name`, copied.
    pub(super) fn text_of(&mut self, die: &Die<'a>) -> Result<Option<String>> {
        let name = die.attribute(DW_AT_name);
        let name = name.and_then(|name| self.info.string_of(die, name));
        let Some(name) = name else {
            return Ok(None);
        };
        self.meter.hold(name.len() as u64)?;
        Ok(Some(name.into_owned()))
    }

    /// Returns the number of the type in `DW_AT_type`. Without the attribute, the type is `void`.
    pub(super) fn target(&mut self, die: &Die<'a>) -> TypeId {
        self.target_of(die, DW_AT_type)
    }

    fn target_of(&mut self, die: &Die<'a>, name: DwAt) -> TypeId {
        let Some(attribute) = die.attribute(name) else {
            return self.table.void();
        };
        match self.info.target(die, attribute) {
            Ok(Some(target)) => self.number(target),
            // A missing type is not `void`.
            Ok(None) | Err(_) => self.table.add(Type::unspecified()),
        }
    }

    fn pointer(&mut self, die: &Die<'a>) -> TypeKind {
        let kind = if die.tag() == DW_TAG_reference_type {
            PointerKind::Reference
        } else if die.tag() == DW_TAG_rvalue_reference_type {
            PointerKind::RvalueReference
        } else {
            PointerKind::Pointer
        };
        TypeKind::Pointer {
            kind,
            target: self.target(die),
            address_space: self.info.address_space(die),
            memory_space: self.info.memory_space(die),
        }
    }

    fn array(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        let info = self.info;
        let mut is_computed = false;
        let shape = info.array_shape_by(die, self.meter, &mut |die, name| {
            let number = info.number(die, name);
            is_computed |= number.is_none() && die.attribute(name).is_some();
            Ok(number)
        })?;
        self.is_computed = is_computed;
        let mut wrong = shape.extents.iter().filter_map(|one| one.wrong_lower_bound);
        if let Some(bound) = wrong.next() {
            self.table.note_wrong_lower_bound(bound);
        }
        let vector = die.flag(DW_AT_GNU_vector);
        let element = self.target(die);
        if !shape.has_strided_dimension() {
            return Ok(TypeKind::Array {
                element,
                dimensions: shape.dimensions(),
                stride_in_bits: shape.stride,
                vector,
            });
        }
        // An array of arrays, each of one dimension with its own stride, from the inside outwards.
        let entry = self.info.direct_type(die);
        let bytes = entry.and_then(|ty| self.info.size(ty, self.meter));
        let mut bits = bytes.and_then(|bytes| bytes.checked_mul(8));
        let (mut element, mut stride) = (element, shape.stride);
        let mut rows = shape.extents.iter().rev().peekable();
        while let Some(extent) = rows.next() {
            let otherwise = stride.take();
            let kind = TypeKind::Array {
                element,
                dimensions: vec![extent.dimension],
                stride_in_bits: extent.stride.or(otherwise),
                vector,
            };
            if rows.peek().is_none() {
                return Ok(kind);
            }
            bits = bits.and_then(|bits| extent.size_in_bits(bits, otherwise));
            element = self.table.add(Type {
                name: None,
                byte_size: bits.map(|bits| bits.div_ceil(8)),
                kind,
            });
        }
        Ok(TypeKind::Unspecified)
    }

    /// Returns a Fortran string: an array of characters whose length may need evaluation. Source: DWARF 5 §5.11.
    fn string(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        let (character, size) = self.character(die)?;
        let bytes = self.info.own_size(die);
        self.is_computed = bytes.is_none() && die.attribute(DW_AT_string_length).is_some();
        let count = bytes.and_then(|bytes| bytes.checked_div(size));
        Ok(TypeKind::Array {
            element: character,
            dimensions: vec![Dimension {
                lower_bound: 1,
                count,
            }],
            stride_in_bits: None,
            vector: false,
        })
    }

    /// Returns the type of a string's characters, and their size in bytes: one, unless `DW_AT_type` says otherwise.
    fn character(&mut self, die: &Die<'a>) -> Result<(TypeId, u64)> {
        if die.attribute(DW_AT_type).is_some() {
            let size = self.info.character_size(die, self.meter)?;
            return Ok((self.target(die), size));
        }
        let base = BaseType::scalar(BaseTypeEncoding::UnsignedChar, 8);
        let character = Type {
            name: Some("character".to_owned()),
            byte_size: Some(1),
            kind: TypeKind::Base(base),
        };
        Ok((self.table.add(character), 1))
    }

    /// Returns a subrange type, which may be stored in fewer bits than its base type. Source: DWARF 5 §5.13.
    fn subrange(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        let bias = self.info.number(die, DW_AT_GNU_bias).unwrap_or(0);
        let bits = die.unsigned(DW_AT_bit_size).or_else(|| {
            let bytes = die.unsigned(DW_AT_byte_size)?;
            bytes.checked_mul(8)
        });
        if die.attribute(DW_AT_type).is_none() {
            // By DWARF 5 §5.13, the default is an integer as large as an address.
            let bits = bits.or_else(|| self.info.process_address_size(die)?.checked_mul(8));
            return sized(BaseType::scalar(BaseTypeEncoding::Signed, 0), bits, bias);
        }
        let Some(host) = self.info.subrange_host(die) else {
            return Ok(TypeKind::Typedef(self.target(die)));
        };
        let same = bits.is_none() || bits == self.info.size_in_bits_of(&host);
        if same && bias == 0 {
            return Ok(TypeKind::Typedef(self.target(die)));
        }
        if host.tag() == DW_TAG_enumeration_type && bias == 0 {
            return if die.attribute(DW_AT_bit_size).is_none() {
                self.enumeration(&host)
            } else {
                Err(ErrorKind::Unsupported("DW_AT_bit_size").into())
            };
        }
        if let TypeKind::Base(base) = self.info.base_kind(&host)? {
            sized(base, bits, bias)
        } else {
            Err(ErrorKind::Unsupported("DW_TAG_subrange_type").into())
        }
    }

    /// Returns a pointer to a member. Source: DWARF 5 §5.14.
    fn member_pointer(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        if let Some(attribute) = die.attribute(DW_AT_use_location) {
            // The pointer is added to the object's address. Any other expression is a different representation.
            let plus = |value| matches!(value, DieValue::Expression(found) if found.bytes == [DW_OP_plus.0]);
            if !self.info.value(die, attribute).is_ok_and(plus) {
                return Err(ErrorKind::Unsupported("DW_AT_use_location").into());
            }
        }
        Ok(TypeKind::MemberPointer {
            class: self.target_of(die, DW_AT_containing_type),
            target: self.target(die),
        })
    }

    fn record(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        let mut members = Vec::new();
        self.constants.clear();
        let mut is_computed = die
            .attribute(DW_AT_byte_size)
            .is_some_and(|_| die.unsigned(DW_AT_byte_size).is_none());
        let mut children = self.info.children(die.id())?;
        while let Some(child) = children.next(self.meter)? {
            if is_data_member(&child) {
                let member = self.member(&child)?;
                is_computed |= member.bit_offset.is_none();
                members.push(member);
            } else if child.tag() == DW_TAG_variant_part {
                members.push(self.variant_part(&child, VARIANT_PARTS)?);
            } else if is_constant_member(&child)
                && let Some(name) = self.text_of(&child)?
            {
                self.meter.hold_all::<StaticMember>(1)?;
                self.constants.push(StaticMember {
                    name: name.into(),
                    entry: child.id(),
                });
            }
        }
        self.is_computed = is_computed;
        let kind = if die.tag() == DW_TAG_union_type {
            RecordKind::Union
        } else if die.tag() == DW_TAG_structure_type {
            RecordKind::Structure
        } else {
            RecordKind::Class
        };
        Ok(TypeKind::Record { kind, members })
    }

    fn enumeration(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        let integer = self
            .info
            .direct_type(die)
            .and_then(|ty| self.info.integer(ty));
        let mut enumerators = Vec::new();
        let mut children = self.info.children(die.id())?;
        while let Some(child) = children.next(self.meter)? {
            if child.tag() != DW_TAG_enumerator {
                continue;
            }
            let value = self.info.wide_number(&child, DW_AT_const_value)?;
            if let (Some(name), Some(value)) = (self.text_of(&child)?, value) {
                let value = as_integer(value, integer);
                self.meter.hold_all::<Enumerator>(1)?;
                enumerators.push(Enumerator { name, value });
            }
        }
        Ok(TypeKind::Enumeration {
            underlying: self.target(die),
            enumerators,
        })
    }

    fn function(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        let mut parameters = Vec::new();
        let mut children = self.info.children(die.id())?;
        while let Some(child) = children.next(self.meter)? {
            if child.tag() == DW_TAG_formal_parameter {
                self.meter.hold_all::<TypeId>(1)?;
                parameters.push(self.target(&child));
            } else if child.tag() == DW_TAG_unspecified_parameters {
                parameters.push(self.table.ellipsis());
            }
        }
        Ok(TypeKind::Function {
            result: self.target(die),
            parameters,
        })
    }
}

/// Turns an unsupported construct into a kind instead of an error.
pub(super) fn or_unsupported(kind: Result<TypeKind>) -> Result<TypeKind> {
    kind.or_else(|error| {
        if let ErrorKind::Unsupported(name) = error.kind() {
            Ok(TypeKind::Unsupported(Cow::Borrowed(name)))
        } else {
            Err(error)
        }
    })
}

/// Qualifiers of types.
const QUALIFIERS: [(DwTag, Qualifier); 4] = [
    (DW_TAG_const_type, Qualifier::Const),
    (DW_TAG_volatile_type, Qualifier::Volatile),
    (DW_TAG_restrict_type, Qualifier::Restrict),
    (DW_TAG_atomic_type, Qualifier::Atomic),
];

/// Returns the qualifier that a tag stands for.
fn qualifier(tag: DwTag) -> Option<Qualifier> {
    let row = QUALIFIERS.iter().find(|(known, _)| *known == tag);
    row.map(|(_, qualifier)| *qualifier)
}

/// Interprets a constant as an integer of this size, signed or unsigned. Without this knowledge, it is unchanged.
pub(super) fn as_integer(value: i128, integer: Option<(u64, bool)>) -> i128 {
    let bits = integer.and_then(|(bytes, _)| u32::try_from(bytes.checked_mul(8)?).ok());
    let (Some(bits @ 1..=127), Some((_, signed))) = (bits, integer) else {
        return value;
    };
    let unused = 128u32.saturating_sub(bits);
    if signed {
        value.wrapping_shl(unused).wrapping_shr(unused)
    } else {
        let unsigned = value
            .cast_unsigned()
            .wrapping_shl(unused)
            .wrapping_shr(unused);
        unsigned.cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_cut_and_extended_by_their_type() {
        assert_eq!(as_integer(0xff, Some((1, true))), -1);
        assert_eq!(as_integer(0xff, Some((4, true))), 255);
        assert_eq!(as_integer(-1, Some((4, false))), 0xffff_ffff);
        assert_eq!(as_integer(-3, Some((4, true))), -3);
        assert_eq!(as_integer(-3, Some((16, true))), -3);
        assert_eq!(as_integer(-3, None), -3);
        assert_eq!(as_integer(-3, Some((u64::MAX, false))), -3);
    }
}
