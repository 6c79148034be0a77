//! Reads booleans in scalar registers: one for all lanes, or a bit for each.
//!
//! LLVM keeps a per-lane comparison as a mask with a bit for each lane. It gives the mask's registers as the location of the `bool`, exactly as for a
//! value that is the same for all lanes. The machine code shows which it is (`lane_flow/uniform`).

use fallible_iterator::FallibleIterator;
use smallvec::{SmallVec, smallvec};

use super::legacy::LegacyReader;
use crate::arch::{Register, RegisterClass, WaveSize};
use crate::error::{Ambiguity, Result};
use crate::eval::{Doubt, ExpressionBytes, IntegerType, LegacyUnit, Meaning};
use crate::expr::{Builder, Item, Operation, operations};
use crate::isa::MachineRegister;
use crate::lane_flow::Uniformity;

/// The registers that may hold a mask, lower half first.
type Mask = SmallVec<[Register; 2]>;

impl<'p> LegacyReader<'p, '_> {
    /// Translates the location of a boolean of one byte in scalar registers that may hold a bit for each lane. Returns `None` if it is elsewhere, or
    /// if the registers hold one value.
    ///
    /// * `pc`: the address at which the frame continues, in the code object.
    pub(super) fn truth_value(
        &self,
        expression: &ExpressionBytes<'p>,
        pc: u64,
    ) -> Result<Option<Meaning>> {
        let Some(mask) = self.mask_in(expression) else {
            return Ok(None);
        };
        let asked = self.asked();
        let registers: SmallVec<[MachineRegister; 2]> =
            mask.iter().flat_map(|register| dwords(*register)).collect();
        let flow = asked.program.lane_flow(asked.wave_size);
        let unknown = Meaning {
            readings: SmallVec::new(),
            doubts: vec![Doubt {
                bits: 0..8,
                reason: Ambiguity::LaneMask,
            }],
        };
        Ok(match flow.uniformity(pc, &registers, asked.meter)? {
            Some(Uniformity::Uniform) => None,
            Some(Uniformity::PerLane | Uniformity::Same) => Some(Meaning {
                readings: smallvec![bit_of_lane(expression, &mask)?],
                doubts: Vec::new(),
            }),
            None => Some(unknown),
        })
    }

    /// Returns the scalar registers in a location, if they have a bit for each lane of the wave, and the location has only the operations that LLVM
    /// writes for an `i1`.
    fn mask_in(&self, expression: &ExpressionBytes<'p>) -> Option<Mask> {
        let items = items(expression)?;
        let lanes = self.asked().wave_size.lanes();
        let (first, rest) = named(&items)?;
        match rest {
            [] => (first.size_in_bits() == Some(lanes)).then(|| smallvec![first]),
            [piece, rest @ ..] if is_dword(piece) => {
                let (second, rest) = named(rest)?;
                let is_pair = Register::sgpr(first.index()?.checked_add(1)?) == Some(second)
                    && first.class() == Some(RegisterClass::Sgpr)
                    && self.asked().wave_size == WaveSize::Wave64;
                let is_all = matches!(rest, [piece] if is_dword(piece));
                (is_pair && is_all).then(|| smallvec![first, second])
            }
            // The bit of a lane, zero-extended.
            conversions => {
                let is_bit = |item: &Item<'_>| {
                    let Operation::Convert { base_type } = item.operation else {
                        return false;
                    };
                    let bit = IntegerType {
                        bits: 1,
                        signed: false,
                    };
                    self.integer(expression.unit, base_type) == Some(bit)
                };
                let (bit, rest) = conversions.split_first()?;
                let is_value = rest.last()?.operation == Operation::StackValue;
                let is_widened = rest.iter().all(|item| {
                    matches!(
                        item.operation,
                        Operation::Convert { .. } | Operation::StackValue
                    ) || is_space(item)
                });
                (is_bit(bit) && is_value && is_widened && first.size_in_bits() == Some(lanes))
                    .then(|| smallvec![first])
            }
        }
    }
}

/// Somewhat more operations than two registers with their spaces and pieces need.
const MOST: usize = 12;

/// Returns the operations of an expression, or `None` if there are too many.
fn items<'e>(expression: &ExpressionBytes<'e>) -> Option<SmallVec<[Item<'e>; MOST]>> {
    let mut items = SmallVec::new();
    let mut all = operations(expression.bytes, expression.unit.encoding);
    while let Some(item) = all.next().ok()? {
        if items.len() == MOST {
            return None;
        }
        items.push(item);
    }
    Some(items)
}

/// Returns the scalar register and its dwords, if the location is that register alone, with a bit for each lane of the wave.
pub(crate) fn mask_alone(
    expression: &ExpressionBytes<'_>,
    wave_size: WaveSize,
) -> Option<(Register, SmallVec<[MachineRegister; 2]>)> {
    let items = items(expression)?;
    let (register, rest) = named(&items)?;
    let is_mask = rest.is_empty() && register.size_in_bits() == Some(wave_size.lanes());
    is_mask.then(|| (register, dwords(register).collect()))
}

/// Returns the scalar register at the start of some operations, with or without its address space, and the remaining operations.
fn named<'i, 'e>(items: &'i [Item<'e>]) -> Option<(Register, &'i [Item<'e>])> {
    let (first, rest) = items.split_first()?;
    let (number, rest) = match (first.operation, rest) {
        (Operation::Reg { register }, rest) => (register.into(), rest),
        (Operation::Regx { register }, rest) => (register, rest),
        (
            Operation::Bregx {
                register,
                offset: 0,
            },
            [space, swap, xderef, rest @ ..],
        ) if space.operation.constant().is_some()
            && swap.operation == Operation::Swap
            && xderef.operation == Operation::Xderef =>
        {
            (register, rest)
        }
        (
            Operation::Bregx {
                register,
                offset: 0,
            },
            rest @ [next, ..],
        ) if matches!(next.operation, Operation::Convert { .. }) => (register, rest),
        _ => return None,
    };
    let register = Register::from_number(number)?;
    let is_scalar = matches!(
        register.class(),
        Some(RegisterClass::Sgpr | RegisterClass::Vcc)
    );
    is_scalar.then_some((register, rest))
}

/// Returns true for the operations that give an address space.
fn is_space(item: &Item<'_>) -> bool {
    item.operation.constant().is_some()
        || matches!(item.operation, Operation::Swap | Operation::Xderef)
}

fn is_dword(item: &Item<'_>) -> bool {
    item.operation == Operation::Piece { byte_size: 4 }
}

/// Returns the dwords of a scalar register.
fn dwords(register: Register) -> impl Iterator<Item = MachineRegister> {
    let index = register.index().and_then(|index| u8::try_from(index).ok());
    let (first, second) = match (register.class(), register.size_in_bits()) {
        (Some(RegisterClass::Sgpr), _) => (index.map(MachineRegister::Sgpr), None),
        (Some(RegisterClass::Vcc), Some(64)) => {
            (Some(MachineRegister::VccLo), Some(MachineRegister::VccHi))
        }
        (Some(RegisterClass::Vcc), _) => (Some(MachineRegister::VccLo), None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

/// Returns the expression of a lane's bit of a mask.
fn bit_of_lane(expression: &ExpressionBytes<'_>, mask: &[Register]) -> Result<Vec<u8>> {
    let mut builder = Builder::new(expression.unit.encoding.in_memory());
    let mut is_first = true;
    for register in mask.iter().rev() {
        if !is_first {
            builder.constant(32)?.push(Operation::Shl)?;
        }
        let byte_size = register.size_in_bits().map_or(4, |bits| bits.div_ceil(8));
        builder.register(*register)?.push(Operation::DerefSize {
            byte_size: u8::try_from(byte_size).unwrap_or(4),
        })?;
        if !is_first {
            builder.push(Operation::Or)?;
        }
        is_first = false;
    }
    builder
        .push(Operation::PushLane)?
        .push(Operation::Shr)?
        .constant(1)?
        .push(Operation::And)?
        .push(Operation::StackValue)?;
    builder.finish()
}
