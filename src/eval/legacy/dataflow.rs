//! Follows values that LLVM writes as expressions over registers.
//!
//! The operations have the semantics of LLVM's intermediate representation: integers of some width, signed or unsigned depending on the operation.
//! DWARF's stack has 64 bits. The analysis therefore tracks the integer of each entry ([`Integer`]). Before an operation that depends on more than
//! the low bits, it widens the entry as needed: with zeros for `shr`, and with the sign for `shra`, `div` and `mod`, which LLVM writes only for
//! signed division. Comparisons look the same for both; see [`Choice`](super::Choice).
//!
//! Each operation of the source is rewritten in place, so that the machine's stack has the same entries as the one here. There are no loops, because
//! expressions with branches are rejected.

use fallible_iterator::FallibleIterator;
use smallvec::SmallVec;

use super::binary::{Binary, binary};
use super::part::{DWORD, Translator, register};
use super::pointer::Load;
use super::{LegacyBase, Refusal};
use crate::arch::{AddressSpace, Register};
use crate::error::Ambiguity;
use crate::expr::{Builder, Item, Operation, operations};

/// The maximum number of entries on the stack. Real expressions have three.
const STACK: usize = 64;

/// An integer on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Integer {
    /// The width of the integer, in bits.
    pub(super) width: u8,
    /// The number of the object's low bits it determines.
    pub(super) known: u8,
    /// True if the 64 bits of the entry are the sign-extended integer.
    pub(super) widened: bool,
    /// The 64 bits are below 2 to this power, so that they are the integer in any larger width.
    pub(super) below: Option<u8>,
    /// The value, if that is a constant.
    pub(super) constant: Option<u64>,
    /// The origin of the integer.
    pub(super) origin: Origin,
    /// The part of a register that it equals, until it is changed.
    pub(super) fresh: Fresh,
}

/// The origin of an integer, to decide if it is an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The address of a slot of the lane's stack, plus constants.
    Slot,
    /// An address of the code object, plus constants.
    Global,
    /// A pointer loaded from a slot, plus constants.
    Pointer(AddressSpace),
    /// Anything else.
    Number,
}

/// A part of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fresh {
    /// The whole register.
    Whole,
    /// The bits above its low half.
    Shifted,
    /// No part of a register.
    No,
}

/// The entries of the stack, and the rewritten expression.
pub(super) struct Dataflow<'d, 't> {
    pub(super) translator: &'d mut Translator<'t>,
    stack: SmallVec<[Integer; 4]>,
    pub(super) object_bits: Option<u64>,
    /// The result of the part's last load.
    pub(super) last_load: Load,
    /// The number of further source operations that have been rewritten already.
    pub(super) skip: usize,
}

impl Integer {
    /// The contents of a scalar register, or of a lane's dword of a vector register.
    const DWORD: Integer = Integer {
        width: 32,
        known: 32,
        widened: false,
        below: Some(32),
        constant: None,
        origin: Origin::Number,
        fresh: Fresh::Whole,
    };

    /// Returns true if the 64 bits are the sign-extended integer of a width.
    pub(super) fn is_widened_from(&self, width: u8) -> bool {
        if width == 64 || self.below.is_some_and(|below| below < width) {
            return true;
        }
        match self.constant {
            Some(value) => {
                let unused = 64u32.saturating_sub(width.into());
                (value << (unused & 63)).cast_signed() >> (unused & 63) == value.cast_signed()
            }
            None => self.widened && self.width <= width,
        }
    }

    /// Returns true if the bits above a width are zero.
    pub(super) fn is_below(&self, width: u8) -> bool {
        width == 64 || self.below.is_some_and(|below| below <= width)
    }
}

impl<'d, 't> Dataflow<'d, 't> {
    pub(super) fn new(
        translator: &'d mut Translator<'t>,
        object_bits: Option<u64>,
        last_load: Load,
    ) -> Dataflow<'d, 't> {
        Dataflow {
            translator,
            stack: SmallVec::new(),
            object_bits,
            last_load,
            skip: 0,
        }
    }

    /// Returns the only remaining entry.
    pub(super) fn result(&self) -> Result<Integer, Refusal> {
        self.stack.last().copied().ok_or(Refusal::Malformed)
    }

    pub(super) fn builder(&mut self) -> &mut Builder {
        &mut self.translator.builder
    }

    pub(super) fn emit(&mut self, operation: Operation<'_>) -> Result<(), Refusal> {
        self.builder().push(operation)?;
        Ok(())
    }

    pub(super) fn push(&mut self, integer: Integer) -> Result<(), Refusal> {
        if self.stack.len() >= STACK {
            return Err(Refusal::Malformed);
        }
        self.stack.push(integer);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<Integer, Refusal> {
        self.stack.pop().ok_or(Refusal::Malformed)
    }

    /// Returns the entry at this depth below the top.
    pub(super) fn below(&self, index: usize) -> Result<Integer, Refusal> {
        let at = self.stack.len().checked_sub(index.saturating_add(1));
        at.and_then(|at| self.stack.get(at))
            .copied()
            .ok_or(Refusal::Malformed)
    }

    /// Rewrites the first of the remaining operations.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other operations have no meaning that is known"
    )]
    pub(super) fn step(&mut self, items: &[Item<'_>]) -> Result<(), Refusal> {
        if let Some(left) = self.skip.checked_sub(1) {
            self.skip = left;
            return Ok(());
        }
        let Some(item) = items.first() else {
            return Ok(());
        };
        let operation = item.operation;
        if self.names_space(items)? {
            return Ok(());
        }
        if let Some(value) = operation.constant() {
            self.emit(operation)?;
            return self.push(wide(Some(value)));
        }
        if let Some(bits) = sign_extension(items) {
            self.skip = SIGN_EXTENSION - 1;
            return self.convert(bits, 64, true);
        }
        match operation {
            Operation::Nop => Ok(()),
            Operation::Bregx { register, offset } => self.register_plus(register, offset),
            Operation::Fbreg { offset } => self.frame_base_plus(offset),
            Operation::Addr { .. } | Operation::Addrx { .. } => {
                self.emit(operation)?;
                self.push(Integer {
                    origin: Origin::Global,
                    ..wide(None)
                })
            }
            Operation::RegvalType {
                register,
                base_type,
            } => {
                self.register_plus(register, 0)?;
                self.convert_to(base_type)
            }
            Operation::EntryValue { expression } => self.entry_value(expression, &operation),
            Operation::Deref => self.load(None, items),
            Operation::DerefSize { byte_size } => self.load(Some(byte_size), items),
            Operation::Convert { base_type } => self.convert_to(base_type),
            Operation::PlusUconst { .. } | Operation::Not | Operation::Neg | Operation::Abs => {
                self.unary(&operation)
            }
            Operation::Dup
            | Operation::Drop
            | Operation::Over
            | Operation::Pick { .. }
            | Operation::Swap
            | Operation::Rot => self.rearrange(&operation),
            _ => match binary(&operation) {
                Some(kind) => self.binary(kind, &operation),
                None => Err(Ambiguity::Operation(operation.opcode().name()).into()),
            },
        }
    }

    /// Pushes the contents of a register, or an address on the stack, plus a constant.
    fn register_plus(&mut self, number: u64, offset: i64) -> Result<(), Refusal> {
        let register =
            register(number).ok_or(Ambiguity::Operation("a register that is reserved"))?;
        if self.translator.is_frame_register(number) {
            self.slot_base(Some(register))?;
            self.push(Integer {
                origin: Origin::Slot,
                ..Integer::DWORD
            })?;
        } else if register.is_vector() || u64::from(register.size_in_bits().unwrap_or(0)) == DWORD {
            if register.is_vector() {
                self.builder().lane_of_vector(register)?;
            } else {
                self.builder().register(register)?;
            }
            self.emit(Operation::DerefSize { byte_size: 4 })?;
            self.push(Integer::DWORD)?;
        } else {
            self.emit(Operation::Bregx {
                register: number,
                offset: 0,
            })?;
            self.push(wide(None))?;
        }
        self.add(offset)
    }

    fn frame_base_plus(&mut self, offset: i64) -> Result<(), Refusal> {
        match self.translator.frame.base {
            LegacyBase::Register(register) => self.slot_base(Some(register))?,
            LegacyBase::Zero => self.slot_base(None)?,
            LegacyBase::Unknown => return Err(Ambiguity::FrameBase.into()),
        }
        self.push(Integer {
            origin: Origin::Slot,
            ..Integer::DWORD
        })?;
        self.add(offset)
    }

    /// Pushes the lane's address in a frame register, or 0 without a frame register.
    fn slot_base(&mut self, register: Option<Register>) -> Result<(), Refusal> {
        let scaled_by = self.translator.frame.scaled_by;
        let builder = self.builder();
        let Some(register) = register else {
            builder.constant(0)?;
            return Ok(());
        };
        builder
            .register(register)?
            .push(Operation::DerefSize { byte_size: 4 })?;
        if let Some(wave_size) = scaled_by {
            builder
                .constant(wave_size.lanes().trailing_zeros().into())?
                .push(Operation::Shr)?;
        }
        Ok(())
    }

    /// Adds a constant to the entry on top.
    fn add(&mut self, offset: i64) -> Result<(), Refusal> {
        if offset == 0 {
            return Ok(());
        }
        match u64::try_from(offset) {
            Ok(offset) => self.builder().constant(offset)?,
            Err(_) => self.builder().push(Operation::Consts { value: offset })?,
        };
        self.push(wide(Some(offset.cast_unsigned())))?;
        self.binary(Binary::LowBits, &Operation::Plus)
    }

    fn entry_value(&mut self, expression: &[u8], operation: &Operation<'_>) -> Result<(), Refusal> {
        let encoding = self.translator.unit.encoding;
        let items = operations(expression, encoding).collect::<Vec<Item<'_>>>()?;
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "two operations name a register"
        )]
        let number = match items.as_slice() {
            [item] => match item.operation {
                Operation::Reg { register } => u64::from(register),
                Operation::Regx { register } => register,
                _ => return Err(Ambiguity::Operation(operation.opcode().name()).into()),
            },
            _ => return Err(Ambiguity::Operation(operation.opcode().name()).into()),
        };
        let Some(register) = register(number).filter(|register| register.is_vector()) else {
            self.emit(*operation)?;
            let size = register(number).and_then(Register::size_in_bits);
            let is_dword = size.is_some_and(|size| u64::from(size) == DWORD);
            return self.push(if is_dword { Integer::DWORD } else { wide(None) });
        };
        // The lane's dword of the register's value on entry.
        let mut inner = Builder::new(encoding.in_memory());
        inner
            .lane_of_vector(register)?
            .push(Operation::DerefSize { byte_size: 4 })?;
        let expression = inner.finish()?;
        self.emit(Operation::EntryValue {
            expression: &expression,
        })?;
        self.push(Integer::DWORD)
    }

    fn convert_to(&mut self, base_type: u64) -> Result<(), Refusal> {
        let unit = self.translator.unit;
        let to = self.translator.info.integer(unit, base_type);
        let to = to.ok_or(Ambiguity::Operation(
            "DW_OP_convert to a type that is no integer",
        ))?;
        let from = self.below(0)?.width;
        if to.bits <= from {
            self.convert(to.bits, to.bits, to.signed)
        } else {
            self.convert(from, to.bits, to.signed)
        }
    }

    /// Truncates the top entry to `from` bits, and widens it to `to`.
    fn convert(&mut self, from: u8, to: u8, signed: bool) -> Result<(), Refusal> {
        let integer = self.pop()?;
        let from = from.min(integer.width);
        if from == to {
            let cut = from < integer.width;
            return self.push(Integer {
                width: to,
                known: if cut {
                    integer.known.min(to)
                } else {
                    integer.known
                },
                widened: integer.is_widened_from(to),
                below: integer.below,
                constant: integer.constant.filter(|_| !cut),
                origin: Origin::Number,
                fresh: if cut { Fresh::No } else { integer.fresh },
            });
        }
        self.widen_top(&integer, from, signed)?;
        self.push(Integer {
            width: to,
            known: 64,
            widened: true,
            below: Some(from).filter(|_| !signed),
            constant: None,
            origin: Origin::Number,
            fresh: Fresh::No,
        })
    }

    /// Widens the top entry to 64 bits from an integer of a width, signed or unsigned.
    pub(super) fn widen_top(
        &mut self,
        integer: &Integer,
        width: u8,
        signed: bool,
    ) -> Result<(), Refusal> {
        let unused = 64u8.saturating_sub(width);
        if signed && !integer.is_widened_from(width) {
            self.builder()
                .constant(unused.into())?
                .push(Operation::Shl)?
                .constant(unused.into())?
                .push(Operation::Shra)?;
        } else if !signed && !integer.is_below(width) {
            let mask = u64::MAX.checked_shr(unused.into()).unwrap_or(0);
            self.builder().constant(mask)?.push(Operation::And)?;
        }
        Ok(())
    }

    /// Widens the two top entries, as [`widen_top`](Self::widen_top) does for one.
    pub(super) fn widen_two(
        &mut self,
        a: &Integer,
        b: &Integer,
        width: u8,
        signed: bool,
    ) -> Result<(), Refusal> {
        self.widen_top(b, width, signed)?;
        self.widen_second(a, width, signed)
    }

    pub(super) fn widen_second(
        &mut self,
        a: &Integer,
        width: u8,
        signed: bool,
    ) -> Result<(), Refusal> {
        let is_wide = if signed {
            a.is_widened_from(width)
        } else {
            a.is_below(width)
        };
        if !is_wide {
            self.emit(Operation::Swap)?;
            self.widen_top(a, width, signed)?;
            self.emit(Operation::Swap)?;
        }
        Ok(())
    }

    fn unary(&mut self, operation: &Operation<'_>) -> Result<(), Refusal> {
        if let Operation::PlusUconst { value } = *operation {
            self.builder().constant(value)?;
            self.push(wide(Some(value)))?;
            return self.binary(Binary::LowBits, &Operation::Plus);
        }
        let integer = self.pop()?;
        if *operation == Operation::Abs {
            self.widen_top(&integer, integer.width, true)?;
        }
        self.emit(*operation)?;
        let widened = *operation == Operation::Not && integer.is_widened_from(integer.width);
        self.push(Integer {
            widened: widened || integer.width == 64,
            below: None,
            constant: None,
            origin: Origin::Number,
            fresh: Fresh::No,
            ..integer
        })
    }

    fn rearrange(&mut self, operation: &Operation<'_>) -> Result<(), Refusal> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the caller sends these alone"
        )]
        match *operation {
            Operation::Dup => self.push(self.below(0)?)?,
            Operation::Over => self.push(self.below(1)?)?,
            Operation::Pick { index } => self.push(self.below(index.into())?)?,
            Operation::Drop => {
                self.pop()?;
            }
            Operation::Swap => {
                let (b, a) = (self.pop()?, self.pop()?);
                self.stack.extend([b, a]);
            }
            _ => {
                let (c, b, a) = (self.pop()?, self.pop()?, self.pop()?);
                self.stack.extend([c, a, b]);
            }
        }
        self.emit(*operation)
    }
}

/// Returns an integer of 64 bits.
pub(super) fn wide(constant: Option<u64>) -> Integer {
    Integer {
        width: 64,
        known: 64,
        widened: true,
        below: constant.map(bits_of),
        constant,
        origin: Origin::Number,
        fresh: Fresh::No,
    }
}

/// Returns the number of bits that an unsigned number needs.
pub(super) fn bits_of(value: u64) -> u8 {
    u8::try_from(64u32.saturating_sub(value.leading_zeros())).unwrap_or(64)
}

/// The number of operations that LLVM writes before DWARF 5 to sign-extend an integer.
const SIGN_EXTENSION: usize = 9;

/// Returns the width from which operations sign-extend an integer, if they begin with LLVM's sequence from before DWARF 5: the sign bit times minus
/// one, shifted to the end of the integer.
fn sign_extension(items: &[Item<'_>]) -> Option<u8> {
    let number = |at: usize| items.get(at)?.operation.constant();
    let shape = [
        (0, Operation::Dup),
        (2, Operation::Shr),
        (4, Operation::Not),
        (5, Operation::Mul),
        (7, Operation::Shl),
        (8, Operation::Or),
    ];
    let fits = (shape.iter()).all(|(at, operation)| {
        items
            .get(*at)
            .is_some_and(|item| item.operation == *operation)
    });
    let bits = number(6).filter(|bits| (1..64).contains(bits))?;
    let sign = number(1) == bits.checked_sub(1) && number(3) == Some(0);
    (fits && sign).then(|| u8::try_from(bits).ok())?
}
