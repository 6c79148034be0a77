//! Reads members, base classes and variant parts of records.
//!
//! Sources: DWARF 5 §5.7.3, §5.7.6, §5.7.10; DWARF 3 §5.6.6 for `DW_AT_bit_offset`.

use std::borrow::Cow;

use gimli::constants::*;

use super::Bytes;
use super::die::Die;
use super::read_type::{TypeReader, as_integer, or_unsupported};
use super::types::{Member, Type, TypeKind, Variant};
use super::value::DieValue;
use crate::error::{Error, ErrorKind, Result};

/// The deepest nesting of variant parts.
pub(super) const VARIANT_PARTS: u32 = 16;

/// `DW_DSC_label` and `DW_DSC_range`. Source: DWARF 5 table 7.28.
const LABEL: u8 = 0;
const RANGE: u8 = 1;

impl<'a> TypeReader<'_, '_, 'a> {
    /// Returns a data member or base class. An unsupported one gets a type that says so.
    pub(super) fn member(&mut self, die: &Die<'a>) -> Result<Member> {
        self.meter.hold_all::<Member>(1)?;
        let ty = match self.info.not_understood(die) {
            Some(name) => self.table.add(Type {
                kind: TypeKind::Unsupported(Cow::Borrowed(name)),
                ..Type::unspecified()
            }),
            None => self.target(die),
        };
        Ok(Member {
            name: self.text_of(die)?,
            ty,
            bit_offset: self.member_offset(die)?,
            bit_size: die.unsigned(DW_AT_bit_size),
            is_base: die.tag() == DW_TAG_inheritance,
        })
    }

    /// Returns the offset of a member in bits. Source: DWARF 5 §5.7.3, §5.7.6; DWARF 3 §5.6.6 for `DW_AT_bit_offset`, which counts from the highest
    /// bit of a storage unit.
    fn member_offset(&mut self, die: &Die<'a>) -> Result<Option<u64>> {
        let bytes = match die.attribute(DW_AT_data_member_location) {
            None => Some(0),
            Some(attribute) => {
                let value = self.info.value(die, attribute)?;
                if let DieValue::Expression(expression) = value {
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
                .and_then(|ty| self.info.size(ty, self.meter)),
        };
        let offset = unit.and_then(|unit| {
            let room = i128::from(unit.checked_mul(8)?).checked_sub(size.into())?;
            let below = match room.checked_sub(from_top)? {
                below @ 0.. => below,
                // The offset of a bit-field that extends beyond its unit is negative, but the data forms have no sign.
                _ => room.checked_sub(with_sign(
                    from_top,
                    die.attribute(DW_AT_bit_offset)?.form(),
                )?)?,
            };
            u64::try_from(below.checked_add(start.into())?).ok()
        });
        Ok(offset)
    }

    /// Returns a variant part, as a member without a name. Its variants may nest further ones up to `depth`.
    pub(super) fn variant_part(&mut self, die: &Die<'a>, depth: u32) -> Result<Member> {
        self.meter.hold_all::<Member>(1)?;
        let kind = or_unsupported(self.variants(die, depth))?;
        let ty = self.table.add(Type {
            kind,
            ..Type::unspecified()
        });
        Ok(Member {
            name: None,
            ty,
            bit_offset: Some(0),
            bit_size: None,
            is_base: false,
        })
    }

    /// Reads a variant part. [`ErrorKind::Unsupported`] names the unsupported attribute or entry.
    fn variants(&mut self, die: &Die<'a>, depth: u32) -> Result<TypeKind> {
        let unsupported = |name| Err(ErrorKind::Unsupported(name).into());
        let Some(depth) = depth.checked_sub(1) else {
            return unsupported("DW_TAG_variant_part");
        };
        if let Some(name) = self.info.not_understood(die) {
            return unsupported(name);
        }
        let teller = match die.attribute(DW_AT_discr) {
            Some(attribute) => match self.info.target(die, attribute)? {
                Some(target) => Some(self.info.die(target)?),
                None => return unsupported("DW_AT_discr"),
            },
            None => None,
        };
        let integer = teller
            .as_ref()
            .and_then(|teller| self.info.direct_type(teller))
            .and_then(|ty| self.info.integer(ty));
        let mut variants = Vec::new();
        let mut children = self.info.children(die.id())?;
        while let Some(child) = children.next(self.meter)? {
            if child.tag() != DW_TAG_variant {
                continue;
            }
            if let Some(name) = self.info.not_understood(&child) {
                return unsupported(name);
            }
            self.meter.hold_all::<Variant>(1)?;
            let choices = self.choices(&child, integer)?;
            let members = self.variant(&child, depth)?;
            variants.push(Variant { choices, members });
        }
        if teller.is_none() && variants.len() > 1 {
            return unsupported("DW_TAG_variant_part");
        }
        let discriminant = match &teller {
            Some(teller) => Some(Box::new(self.member(teller)?)),
            None => None,
        };
        Ok(TypeKind::Variants {
            discriminant,
            variants,
        })
    }

    /// Returns the members of a variant.
    fn variant(&mut self, die: &Die<'a>, depth: u32) -> Result<Vec<Member>> {
        let mut members = Vec::new();
        let mut children = self.info.children(die.id())?;
        while let Some(child) = children.next(self.meter)? {
            if is_data_member(&child) {
                members.push(self.member(&child)?);
            } else if child.tag() == DW_TAG_variant_part {
                members.push(self.variant_part(&child, depth)?);
            }
        }
        Ok(members)
    }

    /// Returns the values of the discriminant, of the type `integer`, that choose a variant, or `None` for the default variant.
    fn choices(
        &mut self,
        die: &Die<'a>,
        integer: Option<(u64, bool)>,
    ) -> Result<Option<Vec<(i128, i128)>>> {
        let own = |value| as_integer(value, integer);
        let mut choices = None;
        if let Some(value) = self.info.wide_number(die, DW_AT_discr_value)? {
            choices = Some(vec![(own(value), own(value))]);
        }
        if let Some(attribute) = die.attribute(DW_AT_discr_list) {
            let DieValue::Block(bytes) = self.info.value(die, attribute)? else {
                return Err(ErrorKind::Unsupported("DW_AT_discr_list").into());
            };
            self.meter.work(bytes.len() as u64)?;
            // An item is two bytes or more.
            self.meter.hold_all::<(i128, i128)>(bytes.len() / 2)?;
            let is_signed = integer.is_some_and(|(_, is_signed)| is_signed);
            let list = discriminants(bytes, is_signed).ok_or_else(|| {
                let section = self.info.section_of(die.id().unit).unwrap_or(".debug_info");
                Error::malformed("DW_AT_discr_list", "it ends in the middle of an item")
                    .within(section, die.id().offset)
            })?;
            let list = list.into_iter().map(|(low, high)| (own(low), own(high)));
            choices.get_or_insert_with(Vec::new).extend(list);
        }
        Ok(choices)
    }
}

/// Interprets a number in a form without signedness as signed.
fn with_sign(number: i128, form: DwForm) -> Option<i128> {
    let sizes = [
        (DW_FORM_data1, 8u32),
        (DW_FORM_data2, 16),
        (DW_FORM_data4, 32),
        (DW_FORM_data8, 64),
        (DW_FORM_udata, 64),
    ];
    let Some((_, bits)) = sizes.iter().find(|(known, _)| *known == form) else {
        return Some(number);
    };
    let unused = 128u32.checked_sub(*bits)?;
    number.checked_shl(unused)?.checked_shr(unused)
}

/// Returns the ranges of a list of discriminants, or `None` if it is malformed. Source: DWARF 5 §5.7.10.
fn discriminants(bytes: &[u8], is_signed: bool) -> Option<Vec<(i128, i128)>> {
    let mut rest = Bytes::new(bytes, gimli::LittleEndian);
    let mut ranges = Vec::new();
    let number = |rest: &mut Bytes<'_>| -> Option<i128> {
        Some(if is_signed {
            gimli::leb128::read::signed(rest).ok()?.into()
        } else {
            gimli::leb128::read::unsigned(rest).ok()?.into()
        })
    };
    while !rest.is_empty() {
        let kind = gimli::Reader::read_u8(&mut rest).ok()?;
        let low = number(&mut rest)?;
        ranges.push(match kind {
            LABEL => (low, low),
            RANGE => (low, number(&mut rest)?),
            _ => return None,
        });
    }
    Some(ranges)
}

/// Returns true if an entry is a base class or a data member. Before DWARF 5 static members were members too.
pub(super) fn is_data_member(die: &Die<'_>) -> bool {
    let is_static = die.flag(DW_AT_external) || die.flag(DW_AT_declaration);
    die.tag() == DW_TAG_inheritance || (die.tag() == DW_TAG_member && !is_static)
}

/// Returns true if an entry in a record is a constant static data member. From DWARF 5 on, it is a variable.
pub(super) fn is_constant_member(die: &Die<'_>) -> bool {
    let is_variable = die.tag() == DW_TAG_variable;
    let is_member = die.tag() == DW_TAG_member && !is_data_member(die);
    (is_variable || is_member) && die.attribute(DW_AT_const_value).is_some()
}

/// Returns the offset that an expression adds to the top of the stack, if it does nothing else: `DW_OP_plus_uconst N`, or `DW_OP_constu N` with or
/// without `DW_OP_plus`.
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn lists_of_discriminants_are_read_with_the_sign_of_their_type() {
        // label 3; range 5 to 200; 0x7f is 127 as unsigned and -1 as signed.
        let list = [0, 3, 1, 5, 0xc8, 0x01, 0, 0x7f];
        assert_eq!(
            discriminants(&list, false),
            Some(vec![(3, 3), (5, 200), (127, 127)])
        );
        assert_eq!(
            discriminants(&list, true),
            Some(vec![(3, 3), (5, 200), (-1, -1)])
        );
        assert_eq!(discriminants(&[], false), Some(vec![]));
        for cut in [&[0][..], &[1, 5], &[1, 5, 0x80], &[2, 1]] {
            assert_eq!(discriminants(cut, false), None);
        }
    }
}
