//! Converts constants to the bytes of their type.
//!
//! Reading the size of a type is left to `type_entry`. Sources: DWARF 5 §4.1 item 10, §7.5.5 class constant.

use std::collections::BTreeMap;

use gimli::constants::DW_AT_const_value;

use super::DebugInfo;
use super::id::{DieId, UnitId};
use super::value::DieValue;
use crate::error::Result;
use crate::meter::Meter;

/// The largest size of a number in bytes. A larger type is not taken for a number.
const LARGEST_NUMBER: u64 = 16;

/// The constants of a unit by their entries.
pub(super) type Constants = BTreeMap<DieId, Vec<u8>>;

impl<'a> DebugInfo<'a> {
    /// Returns a constant as the bytes of an object of type `ty`, lowest byte first, and charges the meter for them. Returns `None` if the value is
    /// not a constant.
    ///
    /// A number is truncated or extended to the size of the type. The data forms have no sign: compilers use them for non-negative values, or for all
    /// bits of the type. They are therefore zero-extended.
    pub(super) fn constant_bytes(
        &self,
        value: &DieValue<'a>,
        ty: Option<DieId>,
        meter: &Meter,
    ) -> Result<Option<Vec<u8>>> {
        let size = ty.and_then(|ty| self.size(ty, meter));
        if let DieValue::Block(bytes) = value {
            meter.hold(bytes.len() as u64)?;
            return Ok(Some(bytes.to_vec()));
        }
        if let DieValue::String(text) = value {
            let terminated = (text.raw().len() as u64).saturating_add(1);
            let size = size.unwrap_or(terminated);
            meter.hold(size)?;
            let mut bytes = text.raw().as_bytes().to_vec();
            bytes.resize(usize::try_from(size).unwrap_or(0), 0);
            return Ok(Some(bytes));
        }
        let (number, natural) = if let DieValue::Address(address) = value {
            (i128::from(*address), 8)
        } else if let DieValue::Flag(flag) = value {
            (i128::from(*flag), 1)
        } else if let DieValue::Wide(number) = value {
            (number.cast_signed(), 16)
        } else {
            let Some(number) = value.number() else {
                return Ok(None);
            };
            (number, 8)
        };
        let size = size.filter(|size| *size <= LARGEST_NUMBER);
        let size = size.and_then(|size| usize::try_from(size).ok());
        let fill = if number < 0 { 0xff } else { 0 };
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.resize(size.unwrap_or(natural), fill);
        meter.hold(bytes.len() as u64)?;
        Ok(Some(bytes))
    }

    /// Returns the bytes of the constant that the entry at `id` holds (`DW_AT_const_value`), or `None` if it holds none.
    ///
    /// Numbers have no bytes in the section that could be borrowed. All constants of a unit are therefore converted at the first request, and kept.
    pub(super) fn constant_at(&self, id: DieId) -> Result<Option<&[u8]>> {
        let cache = self.cache(id.unit)?;
        let constants = cache.constants.get_or_init(|| self.constants(id.unit));
        let constants = constants.as_ref().map_err(Clone::clone)?;
        Ok(constants.get(&id).map(Vec::as_slice))
    }

    fn constants(&self, unit: UnitId) -> Result<Constants> {
        let mut constants = BTreeMap::new();
        let meter = self.meter();
        let mut walk = self.walk(self.contents(unit)?.root.id())?;
        while let Some(entry) = walk.next_entry()? {
            if entry.attr(DW_AT_const_value).is_none() && !super::scope::is_object(entry.tag()) {
                continue;
            }
            walk.pay(meter)?;
            let chain = self.chain(walk.die());
            if let Ok(Some(value)) = self.chain_value(&chain, DW_AT_const_value)
                && let Ok(ty) = self.type_of(&chain)
                && let Some(bytes) = self.constant_bytes(&value, ty, meter)?
            {
                constants.insert(walk.id(), bytes);
            }
        }
        Ok(constants)
    }
}
