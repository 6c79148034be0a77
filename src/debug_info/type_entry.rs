//! What single entries of types say: sizes, dimensions of arrays, address spaces.
//!
//! Putting types together is left to `read_type`. Sources: DWARF 5 §2.21, §5.1 to §5.5, §5.13;
//! HET A.5.1, A.5.3; facts of clang for `DW_AT_address_class`.

use gimli::constants::*;

use super::DebugInfo;
use super::attribute::Extension;
use super::budget::Budget;
use super::die::{Die, DieId};
use super::types::Dimension;
use crate::arch::{AddressSpace, MemorySpace};
use crate::error::{Limit, Result};
use crate::limits::reached;

/// How many entries may lie between a type and the one that has the size: typedefs, qualifiers, arrays.
pub(super) const HOPS: usize = 64;

/// How many dimensions an array may have.
const DIMENSIONS: usize = 64;

/// Finds the number that an attribute of an entry says.
type NumberOf<'n, 'a> = &'n mut dyn FnMut(&Die<'a>, DwAt) -> Result<Option<i128>>;

impl<'a> DebugInfo<'a> {
    /// The size of the type at `ty` in bytes, where it is known without evaluating anything.
    #[must_use]
    pub fn byte_size(&self, ty: DieId) -> Option<u64> {
        self.size(ty, &mut Budget::reading(&self.limits))
    }

    /// The same; what is looked at is paid for.
    pub(super) fn size(&self, ty: DieId, budget: &mut Budget) -> Option<u64> {
        let mut count = 1u64;
        let mut next = ty;
        for _ in 0..HOPS {
            budget.charge(1).ok()?;
            let die = self.die(next).ok()?;
            if let Some(definition) = self.definition(&die) {
                next = definition;
                continue;
            }
            if let Some(size) = self.own_size(&die) {
                return size.checked_mul(count);
            }
            if die.tag() == DW_TAG_array_type {
                let dimensions = self.dimensions(&die, budget).ok()?;
                for dimension in &dimensions {
                    count = count.checked_mul(dimension.count?)?;
                }
                if dimensions.is_empty() {
                    return None;
                }
            } else if !is_alias(die.tag()) && die.tag() != DW_TAG_enumeration_type {
                return None;
            }
            next = self.direct_type(&die)?;
        }
        None
    }

    /// The integer type behind typedefs, qualifiers and enumerations: its size in bytes and whether it
    /// has a sign.
    pub(super) fn integer(&self, ty: DieId) -> Option<(u64, bool)> {
        let mut next = ty;
        for _ in 0..HOPS {
            let die = self.die(next).ok()?;
            if die.tag() == DW_TAG_base_type {
                let encoding = die.unsigned(DW_AT_encoding)?;
                let signed = [DW_ATE_signed, DW_ATE_signed_char]
                    .iter()
                    .any(|code| u64::from(code.0) == encoding);
                return Some((self.own_size(&die)?, signed));
            }
            next = match self.definition(&die) {
                Some(definition) => definition,
                None => self.direct_type(&die)?,
            };
        }
        None
    }

    /// The type in a type unit that an entry stands for (`DW_AT_signature`).
    pub(super) fn definition(&self, die: &Die<'a>) -> Option<DieId> {
        self.target(die, die.attribute(DW_AT_signature)?).ok()?
    }

    /// The entry that `DW_AT_type` of this very entry names.
    pub(super) fn direct_type(&self, die: &Die<'a>) -> Option<DieId> {
        self.target(die, die.attribute(DW_AT_type)?).ok()?
    }

    /// The size of a type in bytes as its own entry gives it.
    fn own_size(&self, die: &Die<'a>) -> Option<u64> {
        let bits = || Some(die.unsigned(DW_AT_bit_size)?.div_ceil(8));
        let said = die.unsigned(DW_AT_byte_size).or_else(bits);
        if is_pointer(die.tag()) {
            return said.or_else(|| self.pointer_size(die));
        }
        // HET A.5.1: a vector is so many elements of the type without the attribute.
        match die.extension(Extension::VectorSize) {
            Some(elements) => said?.checked_mul(elements.udata_value()?),
            None => said,
        }
    }

    fn pointer_size(&self, die: &Die<'a>) -> Option<u64> {
        let process = self.entry(die.id().unit).ok()?.header.address_size();
        let bits = self.address_space(die).address_size_in_bits(process);
        Some(u64::from(bits.div_ceil(8)))
    }

    /// Where a pointer points: `DW_AT_LLVM_address_space`; else `DW_AT_address_class`, into which clang
    /// puts the same numbers; else the default space, as for a number that is reserved.
    pub(super) fn address_space(&self, die: &Die<'a>) -> AddressSpace {
        die.extension(Extension::AddressSpace)
            .or_else(|| die.attribute(DW_AT_address_class))
            .and_then(|attribute| attribute.udata_value())
            .and_then(AddressSpace::from_number)
            .unwrap_or(AddressSpace::None)
    }

    /// `DW_AT_LLVM_memory_space`; a number that nobody assigned counts as none.
    pub(super) fn memory_space(&self, die: &Die<'a>) -> MemorySpace {
        die.extension(Extension::MemorySpace)
            .and_then(|attribute| attribute.udata_value())
            .and_then(MemorySpace::from_number)
            .unwrap_or(MemorySpace::None)
    }

    /// The dimensions of an array, as far as they are constant. Source: DWARF 5 §5.5, §5.13.
    pub(super) fn dimensions(&self, die: &Die<'a>, budget: &mut Budget) -> Result<Vec<Dimension>> {
        self.dimensions_by(die, budget, &mut |die, name| Ok(self.number(die, name)))
    }

    /// The same with numbers that `number` finds.
    pub(super) fn dimensions_by(
        &self,
        die: &Die<'a>,
        budget: &mut Budget,
        number: NumberOf<'_, 'a>,
    ) -> Result<Vec<Dimension>> {
        let mut dimensions = Vec::new();
        let mut children = self.children(die.id())?;
        while let Some(child) = children.next(budget)? {
            let tag = child.tag();
            if tag == DW_TAG_subrange_type || tag == DW_TAG_generic_subrange {
                dimensions.push(self.dimension(&child, number)?);
            } else if tag == DW_TAG_enumeration_type {
                let count = self.enumerators(&child, budget)?;
                dimensions.push(Dimension {
                    lower_bound: 0,
                    count: Some(count),
                });
            }
            if dimensions.len() > DIMENSIONS {
                return Err(reached(Limit::Dies, DIMENSIONS as u64));
            }
        }
        Ok(dimensions)
    }

    fn dimension(&self, die: &Die<'a>, number: NumberOf<'_, 'a>) -> Result<Dimension> {
        let lower_bound = match number(die, DW_AT_lower_bound)? {
            Some(bound) => i64::try_from(bound).unwrap_or(i64::MAX),
            None => self.default_lower_bound(die.id()),
        };
        let count = match number(die, DW_AT_count)? {
            Some(count) => u64::try_from(count).ok(),
            None => number(die, DW_AT_upper_bound)?.map(|upper| {
                // gcc once wrote -1 in eight bytes for an array without elements.
                let upper = if upper == i128::from(u64::MAX) {
                    -1
                } else {
                    upper
                };
                let count = upper
                    .saturating_sub(i128::from(lower_bound))
                    .saturating_add(1);
                u64::try_from(count.max(0)).unwrap_or(u64::MAX)
            }),
        };
        Ok(Dimension { lower_bound, count })
    }

    /// A constant of either sign.
    pub(super) fn number(&self, die: &Die<'a>, name: DwAt) -> Option<i128> {
        self.value(die, die.attribute(name)?).ok()?.number()
    }

    /// The first index of an array by the language of the unit (DWARF 5 table 7.17).
    fn default_lower_bound(&self, id: DieId) -> i64 {
        let language = self
            .contents(id.unit)
            .ok()
            .and_then(|unit| unit.root.unsigned(DW_AT_language))
            .and_then(|code| u16::try_from(code).ok())
            .and_then(|code| DwLang(code).default_lower_bound());
        language
            .and_then(|bound| i64::try_from(bound).ok())
            .unwrap_or(0)
    }

    fn enumerators(&self, die: &Die<'a>, budget: &mut Budget) -> Result<u64> {
        let mut children = self.children(die.id())?;
        let mut count = 0u64;
        while let Some(child) = children.next(budget)? {
            if child.tag() == DW_TAG_enumerator {
                count = count.saturating_add(1);
            }
        }
        Ok(count)
    }
}

/// Whether a type is another one under a name or with a qualifier.
pub(super) fn is_alias(tag: DwTag) -> bool {
    [
        DW_TAG_typedef,
        DW_TAG_template_alias,
        DW_TAG_const_type,
        DW_TAG_volatile_type,
        DW_TAG_restrict_type,
        DW_TAG_atomic_type,
        DW_TAG_packed_type,
        DW_TAG_immutable_type,
        DW_TAG_shared_type,
    ]
    .contains(&tag)
}

/// Whether a type is a pointer or reference.
pub(super) fn is_pointer(tag: DwTag) -> bool {
    [
        DW_TAG_pointer_type,
        DW_TAG_reference_type,
        DW_TAG_rvalue_reference_type,
    ]
    .contains(&tag)
}
