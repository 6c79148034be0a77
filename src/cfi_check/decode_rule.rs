//! Decodes a rule of a row, as far as machine code can contradict it.
//!
//! An expression is evaluated symbolically, without a wave: registers and the canonical frame address are symbols. The expressions of
//! compilers have one of few forms. Other expressions are not decoded, and not checked. Source: HET A.2.5.4, A.6.4.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not understood is left alone, whatever it is"
)]

use fallible_iterator::FallibleIterator;

use super::state::scalar_index;
use crate::arch::{AddressSpace, Register, RegisterClass, WaveSize};
use crate::expr::{self, Encoding, Operation};
use crate::frame::{CfaRule, RegisterRule};
use crate::isa::MachineRegister;

/// A number computed from a scalar register: `(register << shift) + plus`. A negative shift is to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaled {
    /// The scalar register, or the low register of a pair.
    pub(super) register: u8,
    /// True if it is the 64 bits of two registers.
    pub(super) pair: bool,
    pub(super) shift: i8,
    pub(super) plus: i64,
}

/// The CFA according to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DecodedCfa {
    pub(super) number: Scaled,
    pub(super) space: AddressSpace,
}

/// The place of 32 bits according to a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarPlace {
    /// A scalar register, by its index among those that are followed ([`scalar_index`]).
    Scalar(u8),
    /// A lane of a vector register.
    Lane {
        /// The vector or accumulation register.
        vector: MachineRegister,
        /// The lane.
        lane: u8,
    },
}

/// The place of a vector register according to a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VectorPlace {
    /// A vector or accumulation register.
    Register(MachineRegister),
    /// Scratch, at the CFA plus this many bytes of the wave.
    Saved(i64),
    /// For each lane, the second place if it is in EXEC on entry, otherwise the first.
    Select(Box<[VectorPlace; 2]>),
}

/// The rule of a register, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum DecodedRule {
    /// The register cannot be recovered, or the rule cannot be checked.
    #[default]
    None,
    /// 32 bits.
    Scalar(ScalarPlace),
    /// 64 bits, the low half first.
    Pair([ScalarPlace; 2]),
    /// A vector register.
    Vector(VectorPlace),
    /// The value itself, computed from a scalar register.
    Number(Scaled),
    /// The value itself: a multiple of the CFA.
    CfaScaled {
        /// The shift of the CFA; negative shifts are to the right.
        shift: i8,
        /// The offset to add.
        plus: i64,
    },
}

/// Returns the machine register of a DWARF register.
pub(super) fn machine_register(register: Register) -> Option<MachineRegister> {
    let index = register.index();
    match (register.class()?, index) {
        (RegisterClass::Sgpr, Some(n)) => u8::try_from(n).ok().map(MachineRegister::Sgpr),
        (RegisterClass::Vgpr, Some(n)) => Some(MachineRegister::Vgpr(n)),
        (RegisterClass::Agpr, Some(n)) => Some(MachineRegister::Agpr(n)),
        (RegisterClass::Exec, _) => Some(MachineRegister::ExecLo),
        (
            RegisterClass::Pc
            | RegisterClass::Vcc
            | RegisterClass::Status
            | RegisterClass::Sgpr
            | RegisterClass::Vgpr
            | RegisterClass::Agpr,
            _,
        ) => None,
    }
}

/// Returns the machine register in which a rule finds another one; for `vcc`, its low half.
///
/// LLVM sometimes keeps EXEC in `vcc`.
fn holder(register: Register) -> Option<MachineRegister> {
    match register.class() {
        Some(RegisterClass::Vcc) => Some(MachineRegister::VccLo),
        _ => machine_register(register),
    }
}

/// An entry of the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Constant(i64),
    Number(Scaled),
    Register {
        register: MachineRegister,
        bit: u64,
    },
    /// The CFA, shifted and plus an offset.
    Cfa {
        shift: i8,
        plus: i64,
    },
    Memory(Scaled, AddressSpace),
    /// An absolute address, independent of registers.
    Absolute,
    Parts {
        parts: Vec<(Entry, u64)>,
        complete: bool,
    },
    Select(Box<[Entry; 2]>),
    /// The execution mask on entry, as a location or a value.
    ExecMask,
}

/// Decodes the rule of the CFA. Returns `None` if it is not understood.
pub(super) fn cfa(rule: CfaRule<'_>, encoding: Encoding) -> Option<DecodedCfa> {
    match rule {
        CfaRule::None => None,
        CfaRule::Register {
            register,
            offset,
            space,
        } => {
            let register = scalar(Register::from_number(register)?)?;
            let space = AddressSpace::from_number(space)?;
            Some(DecodedCfa {
                number: Scaled {
                    register,
                    pair: false,
                    shift: 0,
                    plus: offset,
                },
                space,
            })
        }
        CfaRule::Expression(expression) => match run(expression.bytes, Vec::new(), encoding)? {
            Entry::Memory(number, space) => Some(DecodedCfa { number, space }),
            Entry::Number(number) => Some(DecodedCfa {
                number,
                space: AddressSpace::None,
            }),
            Entry::Constant(_)
            | Entry::Register { .. }
            | Entry::Cfa { .. }
            | Entry::Absolute
            | Entry::Parts { .. }
            | Entry::Select(_)
            | Entry::ExecMask => None,
        },
    }
}

/// Decodes the rule of a register of this many dwords.
pub(super) fn register(
    rule: RegisterRule<'_>,
    dwords: u8,
    encoding: Encoding,
    wave_size: WaveSize,
) -> DecodedRule {
    decode(rule, dwords, encoding, wave_size).unwrap_or(DecodedRule::None)
}

fn decode(
    rule: RegisterRule<'_>,
    dwords: u8,
    encoding: Encoding,
    wave_size: WaveSize,
) -> Option<DecodedRule> {
    let cfa = |plus| Entry::Cfa { shift: 0, plus };
    let (entry, is_value) = match rule {
        RegisterRule::Undefined | RegisterRule::SameValue | RegisterRule::Architectural => {
            return None;
        }
        RegisterRule::Offset(plus) => (cfa(plus), false),
        RegisterRule::ValOffset(plus) => (cfa(plus), true),
        RegisterRule::Register(number) => {
            let register = holder(Register::from_number(number)?)?;
            (Entry::Register { register, bit: 0 }, false)
        }
        RegisterRule::Expression(expression) => {
            (run(expression.bytes, vec![cfa(0)], encoding)?, false)
        }
        RegisterRule::ValExpression(expression) => {
            (run(expression.bytes, vec![cfa(0)], encoding)?, true)
        }
    };
    match (entry, is_value) {
        (Entry::Cfa { shift, plus }, true) => Some(DecodedRule::CfaScaled { shift, plus }),
        (Entry::Number(number), true) => Some(DecodedRule::Number(number)),
        (_, true) => None,
        (entry, false) => match dwords {
            1 => Some(DecodedRule::Scalar(scalar_place(&entry, 0)?)),
            2 => Some(DecodedRule::Pair([
                scalar_place(&entry, 0)?,
                scalar_place(&entry, 32)?,
            ])),
            _ => vector_place(&entry, wave_size).map(DecodedRule::Vector),
        },
    }
}

/// Returns the place of the 32 bits that begin at `bit` of a location.
fn scalar_place(entry: &Entry, bit: u64) -> Option<ScalarPlace> {
    match entry {
        Entry::Register {
            register,
            bit: from,
        } => {
            let from = from.checked_add(bit)?;
            let dword = u8::try_from(from / 32).ok().filter(|_| from % 32 == 0)?;
            match register {
                MachineRegister::Sgpr(n) if dword == 0 => Some(ScalarPlace::Scalar(*n)),
                MachineRegister::VccLo => match dword {
                    0 => scalar_index(MachineRegister::VccLo).map(ScalarPlace::Scalar),
                    1 => scalar_index(MachineRegister::VccHi).map(ScalarPlace::Scalar),
                    _ => None,
                },
                MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => Some(ScalarPlace::Lane {
                    vector: *register,
                    lane: dword,
                }),
                _ => None,
            }
        }
        Entry::Parts { parts, .. } => {
            let mut start = 0u64;
            for (part, size) in parts {
                let end = start.checked_add(*size)?;
                if let Some(within) = bit.checked_sub(start)
                    && bit.checked_add(32)? <= end
                {
                    return scalar_place(part, within);
                }
                start = end;
            }
            None
        }
        Entry::Constant(_)
        | Entry::Number(_)
        | Entry::Cfa { .. }
        | Entry::Memory(..)
        | Entry::Absolute
        | Entry::Select(_)
        | Entry::ExecMask => None,
    }
}

fn vector_place(entry: &Entry, wave_size: WaveSize) -> Option<VectorPlace> {
    match entry {
        Entry::Register { register, bit: 0 } => match register {
            MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => {
                Some(VectorPlace::Register(*register))
            }
            _ => None,
        },
        Entry::Cfa { shift: 0, plus } => Some(VectorPlace::Saved(*plus)),
        Entry::Select(places) => {
            let [zero, one] = &**places;
            let zero = vector_place(zero, wave_size)?;
            let one = vector_place(one, wave_size)?;
            Some(VectorPlace::Select(Box::new([zero, one])))
        }
        // A single part with the whole register.
        Entry::Parts { parts, .. } => match &**parts {
            [(part, size)] if *size == u64::from(wave_size.lanes()) * 32 => {
                vector_place(part, wave_size)
            }
            _ => None,
        },
        _ => None,
    }
}

fn scalar(register: Register) -> Option<u8> {
    match machine_register(register)? {
        MachineRegister::Sgpr(n) => Some(n),
        _ => None,
    }
}

/// Evaluates an expression. Returns `None` if it contains an operation that is not understood.
fn run(bytes: &[u8], initial: Vec<Entry>, encoding: Encoding) -> Option<Entry> {
    /// Compilers write about ten.
    const STEPS: usize = 64;
    let mut stack = initial;
    let mut items = expr::operations(bytes, encoding);
    for _ in 0..STEPS {
        match items.next() {
            Ok(Some(item)) => step(item.operation, &mut stack)?,
            Ok(None) => return stack.pop(),
            Err(_) => return None,
        }
    }
    None
}

/// Returns the entry that an operation without operands pushes. `None` if it has operands.
fn push(operation: Operation<'_>) -> Option<Entry> {
    let constant = |value: i64| Some(Entry::Constant(value));
    match operation {
        Operation::Lit { value } | Operation::Const1u { value } => constant(value.into()),
        Operation::Const2u { value } => constant(value.into()),
        Operation::Const4u { value } => constant(value.into()),
        Operation::Constu { value } => constant(i64::try_from(value).ok()?),
        Operation::Consts { value } => constant(value),
        Operation::Reg { register } => location(register.into()),
        Operation::Regx { register } => location(register),
        Operation::Bregx { register, offset } => Some(Entry::Number(Scaled {
            register: scalar(Register::from_number(register)?)?,
            pair: false,
            shift: 0,
            plus: offset,
        })),
        Operation::CallFrameEntryReg { register } => {
            let register = machine_register(Register::from_number(register)?)?;
            (register == MachineRegister::ExecLo).then_some(Entry::ExecMask)
        }
        _ => None,
    }
}

/// Returns the location of a register.
fn location(register: u64) -> Option<Entry> {
    let register = holder(Register::from_number(register)?)?;
    Some(Entry::Register { register, bit: 0 })
}

fn step(operation: Operation<'_>, stack: &mut Vec<Entry>) -> Option<()> {
    let entry = match operation {
        Operation::LlvmNop => return Some(()),
        Operation::Drop => return stack.pop().map(drop),
        Operation::Swap => {
            let (top, below) = (stack.pop()?, stack.pop()?);
            stack.push(top);
            below
        }
        Operation::DerefSize { .. } => read(stack.pop()?)?,
        Operation::Shl | Operation::Shr | Operation::Plus | Operation::Minus => {
            let (b, a) = (stack.pop()?, stack.pop()?);
            arithmetic(operation, a, b)?
        }
        Operation::PlusUconst { value } => {
            let below = stack.pop()?;
            let value = Entry::Constant(i64::try_from(value).ok()?);
            arithmetic(Operation::Plus, below, value)?
        }
        Operation::FormAspaceAddress => {
            let (space, address) = (stack.pop()?, stack.pop()?);
            form_address(address, &space)?
        }
        Operation::OffsetUconst { byte_offset } => offset(stack.pop()?, byte_offset)?,
        Operation::SelectBitPiece { bit_size: 32, .. } => {
            let (mask, one, zero) = (stack.pop()?, stack.pop()?, stack.pop()?);
            (mask == Entry::ExecMask).then(|| Entry::Select(Box::new([zero, one])))?
        }
        Operation::Piece { byte_size } => return piece(stack, byte_size.checked_mul(8)?, 0),
        Operation::BitPiece {
            bit_size,
            bit_offset,
        } => return piece(stack, bit_size, bit_offset),
        Operation::PieceEnd => match stack.pop()? {
            Entry::Parts { parts, .. } => Entry::Parts {
                parts,
                complete: true,
            },
            _ => return None,
        },
        other => push(other)?,
    };
    stack.push(entry);
    Some(())
}

/// Returns the value at a location.
fn read(location: Entry) -> Option<Entry> {
    match location {
        Entry::Register {
            register: MachineRegister::Sgpr(register),
            bit: 0,
        } => Some(Entry::Number(Scaled {
            register,
            pair: false,
            shift: 0,
            plus: 0,
        })),
        Entry::ExecMask => Some(Entry::ExecMask),
        _ => None,
    }
}

fn form_address(address: Entry, space: &Entry) -> Option<Entry> {
    let Entry::Constant(space) = space else {
        return None;
    };
    let space = AddressSpace::from_number(u64::try_from(*space).ok()?)?;
    match address {
        Entry::Number(number) => Some(Entry::Memory(number, space)),
        Entry::Constant(_) => Some(Entry::Absolute),
        _ => None,
    }
}

fn offset(location: Entry, bytes: u64) -> Option<Entry> {
    match location {
        Entry::Register { register, bit } => Some(Entry::Register {
            register,
            bit: bit.checked_add(bytes.checked_mul(8)?)?,
        }),
        Entry::Cfa { shift: 0, plus } => Some(Entry::Cfa {
            shift: 0,
            plus: plus.checked_add(i64::try_from(bytes).ok()?)?,
        }),
        _ => None,
    }
}

/// Adds the top entry to the composite below it, or begins one.
fn piece(stack: &mut Vec<Entry>, bit_size: u64, bit_offset: u64) -> Option<()> {
    let part = match stack.pop()? {
        Entry::Register { register, bit } => Entry::Register {
            register,
            bit: bit.checked_add(bit_offset)?,
        },
        part if bit_offset == 0 => part,
        _ => return None,
    };
    match stack.last_mut() {
        Some(Entry::Parts {
            parts,
            complete: false,
        }) => parts.push((part, bit_size)),
        _ => stack.push(Entry::Parts {
            parts: vec![(part, bit_size)],
            complete: false,
        }),
    }
    Some(())
}

fn arithmetic(operation: Operation<'_>, a: Entry, b: Entry) -> Option<Entry> {
    let Entry::Constant(n) = b else {
        return sum(operation, a, b);
    };
    let shifted = |shift: i8, plus: i64| {
        let by = i8::try_from(n).ok().filter(|n| (0..64).contains(n))?;
        match operation {
            Operation::Shl => Some((
                shift.checked_add(by)?,
                plus.checked_shl(u32::try_from(by).ok()?)?,
            )),
            // The bits that are shifted out must be zero.
            Operation::Shr if plus == 0 => Some((shift.checked_sub(by)?, 0)),
            Operation::Plus => Some((shift, plus.checked_add(n)?)),
            Operation::Minus => Some((shift, plus.checked_sub(n)?)),
            _ => None,
        }
    };
    match a {
        Entry::Number(number) => {
            let (shift, plus) = match operation {
                Operation::Plus => (number.shift, number.plus.checked_add(n)?),
                Operation::Minus => (number.shift, number.plus.checked_sub(n)?),
                _ => shifted(number.shift, number.plus)?,
            };
            Some(Entry::Number(Scaled {
                shift,
                plus,
                ..number
            }))
        }
        Entry::Cfa { shift, plus } => {
            let (shift, plus) = match operation {
                Operation::Plus => (shift, plus.checked_add(n)?),
                Operation::Minus => (shift, plus.checked_sub(n)?),
                _ => shifted(shift, plus)?,
            };
            Some(Entry::Cfa { shift, plus })
        }
        _ => None,
    }
}

/// Returns the sum of two registers, the high and the low half of an address.
fn sum(operation: Operation<'_>, a: Entry, b: Entry) -> Option<Entry> {
    let (Operation::Plus, Entry::Number(high), Entry::Number(low)) = (operation, a, b) else {
        return None;
    };
    let are_halves = high.shift == 32 && low.shift == 0 && high.plus == 0;
    let are_neighbours = low.register.checked_add(1) == Some(high.register);
    (are_halves && are_neighbours && !low.pair)
        .then_some(Entry::Number(Scaled { pair: true, ..low }))
}
