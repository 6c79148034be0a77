//! Looks up the debugging information that expressions refer to, without evaluating anything.

use core::cell::Cell;

use gimli::constants::{
    DW_AT_abstract_origin, DW_AT_bit_size, DW_AT_byte_size, DW_AT_const_value, DW_AT_encoding,
    DW_AT_location, DW_AT_specification, DW_ATE_boolean, DW_ATE_signed, DW_ATE_signed_char,
    DW_ATE_unsigned, DW_ATE_unsigned_char, DW_TAG_base_type,
};

use crate::debug_info::{DebugInfo, Die, DieValue};
use crate::eval::{DieReference, Resolver, Unit};
use crate::verify::expression::{Callee, Entries, Type};

/// The maximum number of references from an entry to the entry with the location. Compilers write two.
const HOPS: usize = 4;

/// The entries to which an expression of a unit can refer.
pub(super) struct UnitEntries<'d, 'a> {
    info: &'d DebugInfo<'a>,
    unit: Unit,
    /// True if the addresses are in a file that is not known.
    has_no_skeleton: bool,
    asked: Cell<bool>,
}

impl<'d, 'a> UnitEntries<'d, 'a> {
    /// * `has_no_skeleton`: true for a split unit whose skeleton is not known. The skeleton has the addresses: DWARF 5 §7.3.2.2.
    pub(super) fn new(
        info: &'d DebugInfo<'a>,
        unit: Unit,
        has_no_skeleton: bool,
    ) -> UnitEntries<'d, 'a> {
        UnitEntries {
            info,
            unit,
            has_no_skeleton,
            asked: Cell::new(false),
        }
    }

    /// Returns true if an expression used information of the unit.
    pub(super) fn were_asked(&self) -> bool {
        self.asked.get()
    }

    fn die(&self, reference: DieReference) -> Option<Die<'a>> {
        let id = self.info.resolve(self.unit, reference).ok()?;
        self.info.die(id).ok()
    }

    /// Returns the location or constant of an entry, or of the entry that it is an instance of.
    fn location_of(&self, mut die: Die<'a>) -> Callee<'_> {
        for _ in 0..HOPS {
            let found = [DW_AT_location, DW_AT_const_value]
                .into_iter()
                .find_map(|name| die.attribute(name));
            if let Some(attribute) = found {
                return match self.info.value(&die, attribute) {
                    Ok(DieValue::Expression(expression)) => Callee::Expression {
                        bytes: expression.bytes,
                        encoding: expression.unit.encoding,
                        die: die.id().offset,
                    },
                    Ok(DieValue::LocationList(_)) => Callee::List,
                    Ok(DieValue::Block(bytes)) => Callee::Constant(Some(bytes.len() as u64)),
                    Ok(_) => Callee::Constant(None),
                    Err(_) => Callee::Unreadable,
                };
            }
            let origin = [DW_AT_abstract_origin, DW_AT_specification]
                .into_iter()
                .find_map(|name| die.attribute(name));
            let Some(origin) = origin else {
                return Callee::Nothing;
            };
            match self.info.target(&die, origin) {
                Ok(Some(id)) => match self.info.die(id) {
                    Ok(next) => die = next,
                    Err(_) => return Callee::Unreadable,
                },
                Ok(None) | Err(_) => return Callee::Unreadable,
            }
        }
        Callee::Unreadable
    }
}

impl Entries for UnitEntries<'_, '_> {
    fn base_type(&self, offset: u64) -> Option<Type> {
        self.asked.set(true);
        let die = self.die(DieReference::InUnit(offset))?;
        if die.tag() != DW_TAG_base_type {
            return None;
        }
        let bits = die
            .unsigned(DW_AT_bit_size)
            .or_else(|| die.unsigned(DW_AT_byte_size)?.checked_mul(8));
        let (Some(bits), Some(encoding)) = (bits, die.unsigned(DW_AT_encoding)) else {
            return Some(Type::Unknown);
        };
        let integral = [
            DW_ATE_boolean,
            DW_ATE_signed,
            DW_ATE_signed_char,
            DW_ATE_unsigned,
            DW_ATE_unsigned_char,
        ];
        let entry = offset;
        Some(
            if integral.iter().any(|code| u64::from(code.0) == encoding) {
                Type::Integral { bits, entry }
            } else {
                Type::Other { bits, entry }
            },
        )
    }

    fn callee(&self, offset: u64, in_section: bool) -> Callee<'_> {
        self.asked.set(true);
        let reference = if in_section {
            DieReference::InSection(offset)
        } else {
            DieReference::InUnit(offset)
        };
        match self.die(reference) {
            Some(die) => self.location_of(die),
            None => Callee::Missing,
        }
    }

    fn has_address(&self, index: u64) -> bool {
        self.asked.set(true);
        self.has_no_skeleton || self.info.address(self.unit, index).is_ok()
    }
}
