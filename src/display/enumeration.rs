//! Formats enumerations by the names of their values. Source: DWARF 5 §5.7.

use core::fmt::{self, Write as _};

use super::{INCOMPLETE, Part, Printer, scalar, shape};
use crate::debug_info::types::{Enumerator, Type, TypeId, TypeKind};

impl Printer<'_> {
    /// Prints an enumerator's name, a sum of flags, or the number.
    pub(super) fn enumeration(
        &mut self,
        ty: &Type,
        underlying: TypeId,
        enumerators: &[Enumerator],
        part: Part,
    ) -> fmt::Result {
        self.look_through(enumerators.len())?;
        let full = ty.byte_size.map(|bytes| bytes.saturating_mul(8));
        let Some(full) = full.or_else(|| shape::size_in_bits(self.table, underlying)) else {
            return self.out.put(INCOMPLETE);
        };
        let size = part.bit_field.unwrap_or(full);
        if size == 0 && part.bit_field.is_none() {
            // A type with one value needs no bits.
            return match enumerators {
                [only] => self.out.put(&only.name),
                _ => self.without_bits(ty.name.as_deref()),
            };
        }
        if let Some(lost) = self.bits.state(part.bit_offset, size).text() {
            return self.out.put(lost);
        }
        if size > 128 {
            return self.hexadecimal(part.bit_offset, size);
        }
        let behind = &shape::resolve(self.table, underlying).ty.kind;
        if let TypeKind::Represented { .. } = behind {
            return self.named_integer(underlying, enumerators, part);
        }
        let signed = if let TypeKind::Base(base) = behind {
            scalar::is_signed(base.encoding)
        } else {
            enumerators.iter().any(|e| e.value < 0)
        };
        let value = self.bits.signed(part.bit_offset, size);
        let bits = self.bits.unsigned(part.bit_offset, size);
        // Producers may write the constants of an unsigned type as signed, or vice versa. Only the bits of the type's size are compared.
        let excess = u32::try_from(128u64.saturating_sub(full)).unwrap_or(0);
        let low = |value: u128| value.checked_shl(excess).unwrap_or(0);
        let held = if signed { value.cast_unsigned() } else { bits };
        if let Some(found) = enumerators
            .iter()
            .find(|e| low(e.value.cast_unsigned()) == low(held))
        {
            self.out.put(&found.name)
        } else if enumerators.iter().all(is_flag) && bits != 0 {
            self.flags(enumerators, bits)
        } else {
            self.integer(signed, part.bit_offset, size)
        }
    }

    /// Prints the name of an integer with a special representation, or the integer itself.
    fn named_integer(
        &mut self,
        underlying: TypeId,
        enumerators: &[Enumerator],
        part: Part,
    ) -> fmt::Result {
        match self.integer_at(underlying, part) {
            Some(Err(lost)) => self.out.put(lost.text().unwrap_or_default()),
            Some(Ok(value)) => match enumerators.iter().find(|e| e.value == value) {
                Some(found) => self.out.put(&found.name),
                None => write!(self.out, "{value}"),
            },
            None => self.value(underlying, part),
        }
    }

    /// Prints the flags that are set in `bits`, in the order of their declaration.
    fn flags(&mut self, enumerators: &[Enumerator], bits: u128) -> fmt::Result {
        let mut left = bits;
        let mut separator = "(";
        for flag in enumerators {
            let bit = flag.value.cast_unsigned();
            if left & bit != 0 {
                write!(self.out, "{separator}{}", flag.name)?;
                separator = " | ";
                left &= !bit;
            }
        }
        if left != 0 {
            write!(self.out, "{separator}unknown: {left:#x}")?;
        }
        self.out.put(")")
    }
}

/// Returns true if an enumerator can be combined with others in a value: it has at most one bit.
fn is_flag(enumerator: &Enumerator) -> bool {
    enumerator.value >= 0 && enumerator.value.count_ones() <= 1
}
