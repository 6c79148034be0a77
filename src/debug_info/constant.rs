//! Values of constants, as bytes of their type.
//!
//! What a type says of its size is left to `type_entry`. Sources: DWARF 5 §4.1 item 10, §7.5.5 class
//! constant.

use std::collections::BTreeMap;

use gimli::constants::DW_AT_const_value;

use super::DebugInfo;
use super::budget::Budget;
use super::die::DieId;
use super::unit::UnitId;
use super::value::Value;
use crate::error::Result;

/// No constant is larger; a larger size is not believed.
const LARGEST: u64 = 1 << 16;

/// The constants of a unit by their entries.
pub(super) type Constants = BTreeMap<DieId, Vec<u8>>;

impl<'a> DebugInfo<'a> {
    /// A constant as the bytes of an object of type `ty`, the lowest first.
    ///
    /// A number is cut or extended to the size of the type. The data forms say nothing of a sign:
    /// compilers use them for what is not negative, or for all bits of the type, so they are extended
    /// with zeros. Nothing if the value is not a constant.
    pub(super) fn constant_bytes(&self, value: &Value<'a>, ty: Option<DieId>) -> Option<Vec<u8>> {
        let size = ty
            .and_then(|ty| self.byte_size(ty))
            .filter(|size| *size <= LARGEST)
            .and_then(|size| usize::try_from(size).ok());
        let (number, natural) = match value {
            Value::Unsigned(number) | Value::Address(number) => (i128::from(*number), 8),
            Value::Signed(number) => (i128::from(*number), 8),
            Value::Wide(number) => (number.cast_signed(), 16),
            Value::Flag(flag) => (i128::from(*flag), 1),
            Value::Block(bytes) => return Some(bytes.to_vec()),
            Value::String(text) => {
                let mut bytes = text.as_bytes().to_vec();
                bytes.push(0);
                if let Some(size) = size {
                    bytes.resize(size, 0);
                }
                return Some(bytes);
            }
            Value::Expression(_)
            | Value::LocationList(_)
            | Value::RangeList(_)
            | Value::SectionOffset(_)
            | Value::Reference(_)
            | Value::Signature(_)
            | Value::Supplementary(_) => return None,
        };
        let fill = if number < 0 { 0xff } else { 0 };
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.resize(size.unwrap_or(natural), fill);
        Some(bytes)
    }

    /// The bytes of the constant that the entry at `id` holds (`DW_AT_const_value`); nothing if it holds
    /// none.
    ///
    /// Numbers have no bytes in the section that could be lent out, so the constants of a unit are all
    /// made when one of them is first asked for, and kept.
    pub(super) fn constant_at(&self, id: DieId) -> Result<Option<&[u8]>> {
        let entry = self.entry(id.unit)?;
        let constants = entry.constants.get_or_init(|| self.constants(id.unit));
        let constants = constants.as_ref().map_err(Clone::clone)?;
        Ok(constants.get(&id).map(Vec::as_slice))
    }

    fn constants(&self, unit: UnitId) -> Result<Constants> {
        let mut constants = BTreeMap::new();
        let mut budget = Budget::text();
        let mut walk = self.walk(self.contents(unit)?.root.id())?;
        while let Some(entry) = walk.next_entry()? {
            if entry.attr(DW_AT_const_value).is_none() && !super::scope::is_object(entry.tag()) {
                continue;
            }
            let chain = self.chain(walk.die());
            if let Ok(Some(value)) = self.chain_value(&chain, DW_AT_const_value)
                && let Some(bytes) = self.constant_bytes(&value, self.type_of(&chain)?)
            {
                budget.charge(bytes.len() as u64)?;
                constants.insert(walk.id(), bytes);
            }
        }
        Ok(constants)
    }
}
