//! Computes numbers and addresses in a lane: arithmetic, comparisons, conversions and registers.

use std::rc::Rc;

use super::class::{Arithmetic, Class, IntegerType, Rank};
use super::lane::{Given, Held, Walk, cut_pointer, is_unsigned_128, representation};
use super::number::{Number, arithmetic, compare};
use super::step::{AnyRegister, Calculation, Step, StepId};
use crate::arch::{Register, UnnumberedRegister};
use crate::debug_info::types::TypeId;
use crate::eval::{Frame, Reading};
use crate::location::{Bits, access_error};
use crate::tree::{NoValue, Node};
use crate::wave::AccessError;

impl<'p> Walk<'_, '_, 'p, '_> {
    /// Returns the number that a step computes.
    pub(super) fn calculate(&self, calculation: Calculation, step: &Step<'p>) -> Given<Number> {
        match calculation {
            Calculation::Constant(value) => Ok(value),
            Calculation::Register { register, shift } => self.register(register, shift),
            Calculation::Unnumbered(register) => self.unnumbered(register),
            Calculation::Exec => self.exec(),
            Calculation::Lane => Ok(Number::Integer(self.lane.0.into())),
            Calculation::AddressOf(object) => self.address_of(object, step.class),
            Calculation::SizeOf(operand) => self.size_of(operand),
            Calculation::Cast(operand) => self.cast(operand, step.class),
            Calculation::Promote { operand, ty } => self.converted(operand, ty),
            Calculation::Negate {
                operand,
                is_complement,
                ty,
            } => self.negate(operand, is_complement, ty),
            Calculation::Not(operand) => Ok(truth(!self.is_true(operand)?)),
            Calculation::Arithmetic {
                operator,
                left,
                right,
                ty,
            } => {
                let left = self.converted(left, ty)?;
                arithmetic(operator, left, self.converted(right, ty)?, ty)
            }
            Calculation::Shift {
                operator,
                left,
                right,
                ty,
            } => {
                let ty = Arithmetic::Integer(ty);
                let left = self.converted(left, ty)?;
                arithmetic(operator, left, self.number(right)?, ty)
            }
            Calculation::Compare {
                operator,
                left,
                right,
                ty,
            } => {
                let (left, right) = (self.converted(left, ty)?, self.converted(right, ty)?);
                Ok(truth(compare(operator, left, right, is_unsigned_128(ty))))
            }
            Calculation::ComparePointers {
                operator,
                left,
                right,
                space,
            } => {
                let address = |step| -> Given<Number> {
                    Ok(Number::Integer(self.address_in(step, space)?.into()))
                };
                Ok(truth(compare(
                    operator,
                    address(left)?,
                    address(right)?,
                    false,
                )))
            }
            Calculation::MovePointer {
                pointer,
                index,
                bytes,
                backwards,
            } => self.move_pointer(pointer, index, bytes, backwards),
            Calculation::Distance { left, right, bytes } => self.distance(left, right, bytes),
            Calculation::Logical {
                is_and,
                left,
                right,
            } => {
                let is_decided = self.is_true(left)? != is_and;
                Ok(truth(if is_decided {
                    !is_and
                } else {
                    self.is_true(right)?
                }))
            }
        }
    }

    fn size_of(&self, operand: StepId) -> Given<Number> {
        let object = self.given_object(operand)?;
        let bits = self.types.bits(object.ty).ok_or(NoValue::UnknownLayout)?;
        Ok(Number::Integer(bits.div_ceil(8).into()))
    }

    fn negate(&self, operand: StepId, is_complement: bool, ty: Arithmetic) -> Given<Number> {
        let value = match self.converted(operand, ty)? {
            Number::Integer(value) if is_complement => Number::Integer(!value),
            Number::Integer(value) => Number::Integer(value.wrapping_neg()),
            Number::Float(value) => Number::Float(-value),
        };
        Ok(value.convert(ty, is_unsigned_128(ty)))
    }

    fn move_pointer(
        &self,
        pointer: StepId,
        index: StepId,
        bytes: u64,
        backwards: bool,
    ) -> Given<Number> {
        let (address, ty) = self.address(pointer)?;
        let distance = self.integer(index)?.wrapping_mul(bytes.into());
        let distance = if backwards {
            distance.wrapping_neg()
        } else {
            distance
        };
        let moved = i128::from(address).wrapping_add(distance);
        Ok(Number::Integer(cut_pointer(moved, ty)))
    }

    /// Returns the number of elements between two pointers. A difference of more than half the address space is negative.
    fn distance(&self, left: StepId, right: StepId, bytes: u64) -> Given<Number> {
        let (left, ty) = self.address(left)?;
        let (right, _) = self.address(right)?;
        let width = IntegerType {
            rank: Rank::Long,
            bits: ty.bits,
            signed: true,
        };
        let between = width.wrap(i128::from(left).wrapping_sub(right.into()));
        let count = between.checked_div(bytes.into());
        Ok(Number::Integer(count.unwrap_or(0)))
    }

    fn register(&self, register: Register, shift: u32) -> Given<Number> {
        let frame = self.tree.frame;
        let location = frame.call_frame().register(register)?;
        let (location, size) = if register.is_vector() {
            let own = i128::from(self.lane.0).wrapping_mul(32);
            (location.offset_by_bits(own, frame.stop().arena())?, 32)
        } else {
            (location, register.size_in_bits().unwrap_or(32))
        };
        let bits = self.tree.read_location(&location, self.lane, size.into())?;
        if !bits.undefined.is_empty() {
            return Err(NoValue::OptimizedOut);
        }
        if !bits.unavailable.is_empty() {
            return Err(NoValue::Unavailable);
        }
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(&bits.bytes) {
            *to = *from;
        }
        let value = u64::from_le_bytes(bytes).checked_shr(shift).unwrap_or(0);
        Ok(Number::Integer(value.into()))
    }

    fn unnumbered(&self, register: UnnumberedRegister) -> Given<Number> {
        let frame = self.tree.frame;
        if frame.call_frame().level() != 0 && register.is_lost_by_calls() {
            return Err(NoValue::Unavailable);
        }
        match frame.stop().wave().read_unnumbered(register) {
            Ok(value) => Ok(Number::Integer(value.into())),
            Err(AccessError::Unavailable) => Err(NoValue::Unavailable),
            Err(error) => Err(access_error(error).into()),
        }
    }

    /// Returns the consecutive dwords of registers. Unknown dwords are marked as missing, unless all are unknown.
    pub(super) fn registers(&self, registers: &[AnyRegister], ty: TypeId) -> Given<Held<'p>> {
        const DWORD: u64 = 32;
        let mut found = Bits {
            bit_size: DWORD * registers.len() as u64,
            ..Bits::default()
        };
        let mut start = 0u64;
        for register in registers {
            let value = match *register {
                AnyRegister::Numbered(register) => self.register(register, 0),
                AnyRegister::Unnumbered(register) => self.unnumbered(register),
            };
            let end = start + DWORD;
            let value = match value {
                Ok(Number::Integer(value)) => u32::try_from(value).unwrap_or(0),
                Ok(Number::Float(_)) => 0,
                Err(NoValue::OptimizedOut) => {
                    found.undefined.insert(start..end);
                    0
                }
                Err(NoValue::Unavailable) => {
                    found.unavailable.insert(start..end);
                    0
                }
                Err(other) => return Err(other),
            };
            found.bytes.extend_from_slice(&value.to_le_bytes());
            start = end;
        }
        let object = Node::of_bits(self.lane, ty, Rc::new(found), None);
        Ok(Held::Object(object))
    }

    /// Returns EXEC of the frame. In the strict reading, falls back to the register according to call frame information.
    fn exec(&self) -> Given<Number> {
        let frame = self.tree.frame;
        match frame.exec() {
            Some(mask) => Ok(Number::Integer(mask.into())),
            None if frame.stop().options().reading == Reading::Tolerant => {
                Err(NoValue::Unavailable)
            }
            None => self.register(Register::exec(frame.wave_size()), 0),
        }
    }

    fn address_of(&self, object: StepId, class: Class) -> Given<Number> {
        let object = self.given_object(object)?;
        let (space, address) = object.address()?;
        let pointer = class.pointer().ok_or(NoValue::UnknownLayout)?;
        // The pointer type holds for all lanes, but in one lane the object may be in another address space.
        if space != pointer.space {
            return Err(NoValue::NotInSpace {
                from: space,
                address,
                to: pointer.space,
            });
        }
        Ok(Number::Integer(address.into()))
    }

    fn cast(&self, operand: StepId, to: Class) -> Given<Number> {
        let from = self.at(operand)?.class;
        match (from, to) {
            (Class::Pointer(_), Class::Pointer(to)) => {
                let address = self.address_in(operand, to.space)?;
                Ok(Number::Integer(cut_pointer(address.into(), to)))
            }
            (
                Class::Pointer(_),
                Class::Integer(IntegerType {
                    rank: Rank::Bool, ..
                }),
            ) => Ok(Number::Integer(i128::from(self.is_true(operand)?))),
            (_, Class::Pointer(to)) => Ok(Number::Integer(cut_pointer(self.integer(operand)?, to))),
            (_, _) => {
                let to = representation(to).ok_or(NoValue::UnknownLayout)?;
                self.converted(operand, to)
            }
        }
    }
}

/// Returns the number for true or false in C.
fn truth(value: bool) -> Number {
    Number::Integer(value.into())
}
