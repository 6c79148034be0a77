//! Reading types from their entries into a [`TypeTable`].
//!
//! Each entry is read once for a table; a list of what is still to be read stands in for recursion, so
//! types that contain themselves, or nest without end, are no trouble. What a single entry says of sizes
//! and spaces is left to `type_entry`, names to `type_name`. Sources: DWARF 5 §5; HET A.5.

use gimli::constants::*;

use super::attribute::{Extension, is_record};
use super::budget::Budget;
use super::die::{Die, DieId};
use super::type_entry::{is_alias, is_pointer};
use super::types::{
    Enumerator, Member, PointerKind, Qualifier, RecordKind, Type, TypeId, TypeKind, TypeTable,
};
use super::value::Value;
use super::{Bytes, DebugInfo};
use crate::arch::AddressSpace;
use crate::error::{Error, Result};
use crate::eval::{BaseType, Encoding};

impl<'a> DebugInfo<'a> {
    /// Reads the type whose entry is at `ty`, and all types it is made of, into `table`; gives the number
    /// it has there. No entry (`None`) means `void`. What the table has already is not read again.
    ///
    /// A type that is part of the one that was asked for and cannot be read becomes
    /// [`TypeKind::Unspecified`]: the rest is worth having.
    ///
    /// # Errors
    /// If there is no entry at `ty`, or it is malformed.
    pub fn read_type(&self, table: &mut TypeTable, ty: Option<DieId>) -> Result<TypeId> {
        let mut reader = TypeReader {
            info: self,
            table,
            waiting: Vec::new(),
            text: Budget::text(&self.limits),
            entries: Budget::reading(&self.limits),
        };
        let Some(root) = ty else {
            return Ok(reader.table.void());
        };
        let id = reader.number(root);
        while let Some((entry, number)) = reader.waiting.pop() {
            match reader.read(entry) {
                Ok(ty) => reader.table.set(number, ty),
                Err(error) if number == id => {
                    reader.table.forget(root);
                    for (entry, _) in reader.waiting {
                        reader.table.forget(entry);
                    }
                    return Err(error);
                }
                // The other parts are as good as before.
                Err(_) => reader.table.set(number, Type::unspecified()),
            }
        }
        Ok(id)
    }
}

struct TypeReader<'t, 'd, 'a> {
    info: &'d DebugInfo<'a>,
    table: &'t mut TypeTable,
    /// Entries that have a number already, but are not read yet.
    waiting: Vec<(DieId, TypeId)>,
    text: Budget,
    entries: Budget,
}

impl<'a> TypeReader<'_, '_, 'a> {
    /// The number of the type at `entry`, which is read later if it is new.
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
        self.entries.charge(1)?;
        let declared = self.info.die(id)?;
        let die = match self.info.definition(&declared) {
            Some(definition) => self.info.die(definition)?,
            None => declared,
        };
        let tag = die.tag();
        let kind = if tag == DW_TAG_base_type {
            TypeKind::Base(self.info.base_type_of(&die)?)
        } else if is_pointer(tag) {
            self.pointer(&die)
        } else if tag == DW_TAG_array_type {
            self.array(&die)?
        } else if is_record(tag) {
            self.record(&die)?
        } else if tag == DW_TAG_enumeration_type {
            self.enumeration(&die)?
        } else if tag == DW_TAG_subroutine_type || tag == DW_TAG_subprogram {
            self.function(&die)?
        } else if tag == DW_TAG_ptr_to_member_type {
            TypeKind::MemberPointer {
                class: self.target_of(&die, DW_AT_containing_type),
                target: self.target(&die),
            }
        } else if let Some(qualifier) = qualifier(tag) {
            TypeKind::Qualified(qualifier, self.target(&die))
        } else if is_alias(tag) || tag == DW_TAG_subrange_type {
            TypeKind::Typedef(self.target(&die))
        } else {
            TypeKind::Unspecified
        };
        Ok(Type {
            name: self.name(&die)?,
            byte_size: self.info.size(die.id(), &mut self.entries),
            kind,
        })
    }

    /// The name with the namespaces and classes it is in.
    fn name(&mut self, die: &Die<'a>) -> Result<Option<String>> {
        let Some(name) = self.text_of(die)? else {
            return Ok(None);
        };
        let Some(mut full) = self.info.qualifier(die.id()) else {
            return Ok(Some(name));
        };
        self.text.charge(full.len() as u64)?;
        full.push_str("::");
        full.push_str(&name);
        Ok(Some(full))
    }

    /// `DW_AT_name`, copied.
    fn text_of(&mut self, die: &Die<'a>) -> Result<Option<String>> {
        let name = die.attribute(DW_AT_name);
        let name = name.and_then(|name| self.info.string_of(die, name));
        let Some(name) = name else {
            return Ok(None);
        };
        self.text.charge(name.len() as u64)?;
        Ok(Some(name.into_owned()))
    }

    /// The number of the type that `DW_AT_type` names; no attribute means `void`.
    fn target(&mut self, die: &Die<'a>) -> TypeId {
        self.target_of(die, DW_AT_type)
    }

    fn target_of(&mut self, die: &Die<'a>, name: DwAt) -> TypeId {
        let Some(attribute) = die.attribute(name) else {
            return self.table.void();
        };
        match self.info.target(die, attribute) {
            Ok(Some(target)) => self.number(target),
            // A type that is missing is not `void`.
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
        let dimensions = self.info.dimensions(die, &mut self.entries)?;
        let bytes = die.unsigned(DW_AT_byte_stride);
        let bits = bytes.and_then(|bytes| bytes.checked_mul(8));
        Ok(TypeKind::Array {
            element: self.target(die),
            dimensions,
            stride_in_bits: bits.or_else(|| die.unsigned(DW_AT_bit_stride)),
            vector: die.flag(DW_AT_GNU_vector),
        })
    }

    fn record(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        let mut members = Vec::new();
        let mut children = self.info.children(die.id())?;
        while let Some(child) = children.next(&mut self.entries)? {
            if is_data_member(&child) {
                members.push(self.member(&child)?);
            }
        }
        let kind = if die.tag() == DW_TAG_union_type {
            RecordKind::Union
        } else if die.tag() == DW_TAG_structure_type {
            RecordKind::Structure
        } else {
            RecordKind::Class
        };
        Ok(TypeKind::Record { kind, members })
    }

    /// A data member or base class.
    fn member(&mut self, die: &Die<'a>) -> Result<Member> {
        Ok(Member {
            name: self.text_of(die)?,
            ty: self.target(die),
            bit_offset: self.member_offset(die)?,
            bit_size: die.unsigned(DW_AT_bit_size),
            is_base: die.tag() == DW_TAG_inheritance,
        })
    }

    /// Where a member starts, in bits. Source: DWARF 5 §5.7.3, §5.7.6; DWARF 3 §5.6.6 for
    /// `DW_AT_bit_offset`, which counts from the highest bit of a storage unit.
    fn member_offset(&mut self, die: &Die<'a>) -> Result<Option<u64>> {
        let bytes = match die.attribute(DW_AT_data_member_location) {
            None => Some(0),
            Some(attribute) => {
                let value = self.info.value(die, attribute)?;
                if let Value::Expression(expression) = value {
                    plain_member_offset(expression.bytes)
                } else {
                    value.unsigned()
                }
            }
        };
        let Some(start) = bytes.and_then(|bytes| bytes.checked_mul(8)) else {
            return Ok(None);
        };
        if let Some(bits) = die.unsigned(DW_AT_data_bit_offset) {
            return Ok(start.checked_add(bits));
        }
        let (Some(from_top), Some(size)) = (
            self.info.number(die, DW_AT_bit_offset),
            die.unsigned(DW_AT_bit_size),
        ) else {
            return Ok(Some(start));
        };
        let own = die.unsigned(DW_AT_byte_size);
        let unit = match own {
            Some(size) => Some(size),
            None => self
                .info
                .direct_type(die)
                .and_then(|ty| self.info.size(ty, &mut self.entries)),
        };
        let offset = unit.and_then(|unit| {
            let below = i128::from(unit.checked_mul(8)?)
                .checked_sub(from_top)?
                .checked_sub(size.into())?;
            u64::try_from(below.checked_add(start.into())?).ok()
        });
        Ok(offset)
    }

    fn enumeration(&mut self, die: &Die<'a>) -> Result<TypeKind> {
        let integer = self
            .info
            .direct_type(die)
            .and_then(|ty| self.info.integer(ty));
        let mut enumerators = Vec::new();
        let mut children = self.info.children(die.id())?;
        while let Some(child) = children.next(&mut self.entries)? {
            if child.tag() != DW_TAG_enumerator {
                continue;
            }
            let value = self.info.number(&child, DW_AT_const_value);
            if let (Some(name), Some(value)) = (self.text_of(&child)?, value) {
                let value = as_integer(value, integer);
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
        while let Some(child) = children.next(&mut self.entries)? {
            if child.tag() == DW_TAG_formal_parameter {
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

impl<'a> DebugInfo<'a> {
    /// What a `DW_TAG_base_type` entry says. Source: DWARF 5 §5.1; HET A.5.1.
    pub(super) fn base_type_of(&self, die: &Die<'a>) -> Result<BaseType> {
        let malformed = |reason: &str| {
            let section = self.section_of(die.id().unit).unwrap_or(".debug_info");
            Error::malformed("base type", reason).within(section, die.id().offset)
        };
        let bits = die.unsigned(DW_AT_bit_size).or_else(|| {
            let bytes = die.unsigned(DW_AT_byte_size)?;
            bytes.checked_mul(8)
        });
        let elements = match die.extension(Extension::VectorSize) {
            None => 1,
            Some(attribute) => attribute
                .udata_value()
                .and_then(|count| u32::try_from(count).ok())
                .filter(|count| *count > 0)
                .ok_or_else(|| malformed("DW_AT_LLVM_vector_size must be greater than 0"))?,
        };
        let bit_size = bits
            .and_then(|bits| u32::try_from(bits).ok())
            .and_then(|bits| bits.checked_mul(elements))
            .ok_or_else(|| malformed("it has no size, or one that is too large"))?;
        let encoding = encoding(die.unsigned(DW_AT_encoding).unwrap_or(0));
        let address_space = if encoding == Encoding::Address {
            self.address_space(die)
        } else {
            AddressSpace::None
        };
        Ok(BaseType {
            encoding,
            bit_size,
            elements,
            address_space,
        })
    }
}

/// Encodings with a meaning to expressions (DWARF 5 table 7.11).
const ENCODINGS: [(DwAte, Encoding); 8] = [
    (DW_ATE_address, Encoding::Address),
    (DW_ATE_boolean, Encoding::Boolean),
    (DW_ATE_float, Encoding::Float),
    (DW_ATE_signed, Encoding::Signed),
    (DW_ATE_signed_char, Encoding::SignedChar),
    (DW_ATE_unsigned, Encoding::Unsigned),
    (DW_ATE_unsigned_char, Encoding::UnsignedChar),
    (DW_ATE_UTF, Encoding::Utf),
];

/// Qualifiers of types.
const QUALIFIERS: [(DwTag, Qualifier); 4] = [
    (DW_TAG_const_type, Qualifier::Const),
    (DW_TAG_volatile_type, Qualifier::Volatile),
    (DW_TAG_restrict_type, Qualifier::Restrict),
    (DW_TAG_atomic_type, Qualifier::Atomic),
];

/// `DW_AT_encoding`.
fn encoding(code: u64) -> Encoding {
    let code = u8::try_from(code).unwrap_or(0);
    let row = ENCODINGS.iter().find(|(known, _)| known.0 == code);
    row.map_or(Encoding::Other(code), |(_, encoding)| *encoding)
}

/// Which qualifier a tag stands for.
fn qualifier(tag: DwTag) -> Option<Qualifier> {
    let row = QUALIFIERS.iter().find(|(known, _)| *known == tag);
    row.map(|(_, qualifier)| *qualifier)
}

/// Whether an entry is a base class or a data member. Before DWARF 5 static members were members too.
pub(super) fn is_data_member(die: &Die<'_>) -> bool {
    let is_static = die.flag(DW_AT_external) || die.flag(DW_AT_declaration);
    die.tag() == DW_TAG_inheritance || (die.tag() == DW_TAG_member && !is_static)
}

/// The offset that an expression adds to what is on the stack, if that is all it does:
/// `DW_OP_plus_uconst N`, or `DW_OP_constu N` with or without `DW_OP_plus`.
pub(super) fn plain_member_offset(expression: &[u8]) -> Option<u64> {
    let (opcode, rest) = expression.split_first()?;
    let mut rest = Bytes::new(rest, gimli::LittleEndian);
    let number = gimli::leb128::read::unsigned(&mut rest).ok()?;
    let trivial = match (DwOp(*opcode), rest.slice()) {
        (operation, []) => operation == DW_OP_plus_uconst || operation == DW_OP_constu,
        (operation, [next]) => operation == DW_OP_constu && DwOp(*next) == DW_OP_plus,
        _ => false,
    };
    trivial.then_some(number)
}

/// A constant as an integer of so many bytes, with a sign or without; as it is if that is not known.
fn as_integer(value: i128, integer: Option<(u64, bool)>) -> i128 {
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

    #[test]
    fn offsets_of_members_are_read_from_trivial_expressions() {
        assert_eq!(plain_member_offset(&[0x23, 0x88, 0x01]), Some(136));
        assert_eq!(plain_member_offset(&[0x10, 0x04]), Some(4));
        assert_eq!(plain_member_offset(&[0x10, 0x04, 0x22]), Some(4));
        assert_eq!(plain_member_offset(&[0x23, 0x04, 0x06]), None);
        assert_eq!(plain_member_offset(&[0x23, 0x80]), None);
        assert_eq!(plain_member_offset(&[0x12]), None);
        assert_eq!(plain_member_offset(&[]), None);
    }
}
