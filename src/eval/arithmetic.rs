//! Implements arithmetic, logic, comparison and conversion. Sources: HET A.2.5.4.3.2 and A.2.5.4.3.3, USAGE "Base Type Conversions".

use super::context::{LaneFocus, Reading};
use super::machine::Machine;
use super::stack::{Entry, Linear};
use super::value::{BaseType, BaseTypeEncoding, Binary, Relation, Shift, Unary, Value};
use crate::arch::{AddressSpace, Apertures, scratch};
use crate::error::{Error, ErrorKind, Need, Result, SpecRule};

impl<'a> Machine<'_, '_, 'a> {
    // With a constant operation, the compiler removes the choice.
    #[inline(always)]
    pub(super) fn binary(&mut self, operation: Binary) -> Result<()> {
        if self.generic_bits == 64
            && let Some((a, b)) = self.stack.two_generics()
            && let Some(result) = operation.of_addresses(*a, *b)
        {
            *a = result;
            self.stack.drop_last();
            return Ok(());
        }
        self.binary_slow(operation)
    }

    /// Handles values of other types, and values that differ from lane to lane.
    fn binary_slow(&mut self, operation: Binary) -> Result<()> {
        self.need(2)?;
        if self.context.lane == LaneFocus::All
            && let Some(result) = self.binary_linear(operation)?
        {
            return self.push(result);
        }
        let (a, b) = self.pop_operands()?;
        self.push(Entry::from_value(a.binary(operation, &b)?))
    }

    /// Takes two operands, the second entry first. In a tolerant reading, an integer of the generic type beside one of a base type gets that type,
    /// since LLVM does not convert its literals.
    fn pop_operands(&mut self) -> Result<(Value, Value)> {
        let b = self.pop_value()?;
        let a = self.pop_value()?;
        if self.context.reading == Reading::Strict || a.base_type == b.base_type {
            return Ok((a, b));
        }
        let is_generic = |value: &Value| value.base_type.encoding == BaseTypeEncoding::Generic;
        match (is_generic(&a), is_generic(&b)) {
            (true, false) if b.base_type.is_integral() => Ok((a.convert(b.base_type)?, b)),
            (false, true) if a.base_type.is_integral() => Ok((a, b.convert(a.base_type)?)),
            (_, _) => Ok((a, b)),
        }
    }

    /// Adds, subtracts or multiplies if an operand differs from lane to lane. Returns `None`, and pops nothing, if the general path is needed.
    fn binary_linear(&mut self, operation: Binary) -> Result<Option<Entry<'a>>> {
        let (Some(a), Some(b)) = (self.stack.below(1), self.stack.top()) else {
            return Ok(None);
        };
        let (Some(a), Some(b)) = (linear(a), linear(*b)) else {
            return Ok(None);
        };
        if (a.step, b.step) == (0, 0) || self.generic_bits != 64 {
            return Ok(None);
        }
        let (base, step) = match operation {
            Binary::Plus => (a.base.wrapping_add(b.base), a.step.wrapping_add(b.step)),
            Binary::Minus => (a.base.wrapping_sub(b.base), a.step.wrapping_sub(b.step)),
            Binary::Mul if b.step == 0 => {
                (a.base.wrapping_mul(b.base), a.step.wrapping_mul(b.base))
            }
            Binary::Mul if a.step == 0 => {
                (a.base.wrapping_mul(b.base), a.base.wrapping_mul(b.step))
            }
            Binary::Mul | Binary::Div | Binary::Mod | Binary::And | Binary::Or | Binary::Xor => {
                return Err(self.needs_lane());
            }
        };
        self.stack.drop_last();
        self.stack.drop_last();
        Ok(Some(Entry::Linear { base, step }))
    }

    pub(super) fn plus_constant(&mut self, constant: u64) -> Result<()> {
        // `DW_OP_breg*` produces an address.
        if self.generic_bits == 64
            && let Some(top) = self.stack.top_mut()
            && let Entry::Generic(value) | Entry::Address(value) = *top
        {
            *top = Entry::Generic(value.wrapping_add(constant));
            return Ok(());
        }
        if let Some(&Entry::Linear { base, step }) = self.stack.top() {
            self.stack.drop_last();
            let base = base.wrapping_add(constant);
            return self.push(Entry::Linear { base, step });
        }
        let value = self.pop_value()?;
        // The constant is read as the type of the value it is added to (DWARF 5 §2.5.1.4).
        let constant = Value::generic(constant, 64).convert(value.base_type)?;
        self.push(Entry::from_value(value.binary(Binary::Plus, &constant)?))
    }

    pub(super) fn shift(&mut self, shift: Shift) -> Result<()> {
        self.need(2)?;
        if self.generic_bits == 64
            && let Some((value, count)) = self.stack.two_generics()
        {
            *value = shift.of_address(*value, *count);
            self.stack.drop_last();
            return Ok(());
        }
        if let (Some(Entry::Linear { base, step }), Some(&Entry::Generic(count))) =
            (self.stack.below(1), self.stack.top())
            && shift == Shift::Left
            && count < 64
        {
            self.stack.drop_last();
            self.stack.drop_last();
            let (base, step) = (base << count, step << count);
            return self.push(Entry::Linear { base, step });
        }
        let by = self.pop_value()?;
        let value = self.pop_value()?;
        self.push(Entry::from_value(value.shift(shift, &by)?))
    }

    pub(super) fn unary(&mut self, operation: Unary) -> Result<()> {
        let value = self.pop_value()?;
        self.push(Entry::from_value(value.unary(operation)?))
    }

    pub(super) fn compare(&mut self, relation: Relation) -> Result<()> {
        self.need(2)?;
        if self.generic_bits == 64
            && let Some((a, b)) = self.stack.two_generics()
        {
            *a = relation.of_addresses(*a, *b).into();
            self.stack.drop_last();
            return Ok(());
        }
        let (a, b) = self.pop_operands()?;
        self.push(Entry::Generic(a.compare(relation, &b)?.into()))
    }

    #[inline(never)]
    pub(super) fn convert(&mut self, base_type: u64) -> Result<()> {
        let to = self.type_or_generic(base_type)?;
        to.check_fits()?;
        let value = self.pop_value()?;
        let from = value.base_type;
        let spaces = from.address_space != to.address_space
            && (from.encoding, to.encoding)
                == (BaseTypeEncoding::Address, BaseTypeEncoding::Address);
        let converted = if spaces {
            self.convert_address(&value, to)?
        } else {
            value.convert(to)?
        };
        self.push(Entry::from_value(converted))
    }

    #[inline(never)]
    pub(super) fn reinterpret(&mut self, base_type: u64) -> Result<()> {
        let to = self.type_or_generic(base_type)?;
        let value = self.pop_value()?;
        if value.base_type.bit_size != to.bit_size {
            return Err(SpecRule::ReinterpretSize.into());
        }
        self.push(Entry::from_value(Value::new(to, value.bits)))
    }

    /// Returns the type at an offset. 0 means the generic type and needs no unit.
    fn type_or_generic(&mut self, offset: u64) -> Result<BaseType> {
        if offset == 0 {
            Ok(self.generic())
        } else {
            self.base_type(offset)
        }
    }

    /// Converts an address from one space to another, like an address space cast.
    fn convert_address(&mut self, value: &Value, to: BaseType) -> Result<Value> {
        let (from, into) = (value.base_type.address_space, to.address_space);
        let refuse = || {
            let found = "an address outside of it";
            Error::from(ErrorKind::TypeMismatch {
                expected: "an address of the space it is converted to",
                found,
            })
        };
        let address = u64::try_from(value.bits).map_err(|_| refuse())?;
        let wave = self.context.wave.ok_or_else(|| Error::from(Need::Wave))?;
        let apertures = wave.apertures().ok_or_else(|| Error::from(Need::Apertures));
        let result = match (from, into) {
            // A lane's private pointer becomes the wave's pointer to the same byte.
            (AddressSpace::Generic, AddressSpace::PrivateWave) => {
                let private = apertures?.pointer_from_generic(AddressSpace::PrivateLane, address);
                let private = private
                    .and_then(|address| u32::try_from(address).ok())
                    .ok_or_else(refuse)?;
                match self.context.lane {
                    LaneFocus::One(lane) => {
                        scratch::wave_address(private, lane, wave.wave_size()).ok_or_else(refuse)?
                    }
                    LaneFocus::None => return Err(Need::Lane.into()),
                    LaneFocus::All => return Err(self.needs_lane()),
                }
            }
            // Without apertures, all addresses are global.
            (AddressSpace::Generic, AddressSpace::None) => {
                match Apertures::resolve(wave.apertures(), address) {
                    (AddressSpace::None, address) => address,
                    (_, _) => return Err(refuse()),
                }
            }
            (AddressSpace::Generic, _) => apertures?
                .pointer_from_generic(into, address)
                .ok_or_else(refuse)?,
            (_, AddressSpace::Generic) => apertures?
                .pointer_to_generic(from, address)
                .ok_or_else(refuse)?,
            (_, _) => return Err(refuse()),
        };
        Ok(Value::new(to, result.into()))
    }
}

/// Returns the entry as a value that grows evenly from lane to lane, if it is of the generic type.
fn linear(entry: Entry<'_>) -> Option<Linear> {
    match entry {
        Entry::Generic(base) => Some(Linear { base, step: 0 }),
        Entry::Linear { base, step } => Some(Linear { base, step }),
        Entry::Address(_)
        | Entry::Implicit(_)
        | Entry::Register(_)
        | Entry::Typed(_)
        | Entry::Pointer(_)
        | Entry::Location(_)
        | Entry::Incomplete => None,
    }
}
