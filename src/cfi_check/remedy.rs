//! Reports the rule that a row should have as an event of [`frame::write`](crate::frame::write), which encodes it.
//!
//! No rule is guessed: if the correct value was not found, the register is only known to be overwritten.

use super::contradiction::{Contradiction, Dword, RowRule, SavedLanes, Subject};
use crate::arch::{AddressSpace, Lane, Register, ScratchAddressing, WaveSize};
use crate::error::Result;
use crate::expr::{write_sleb, write_uleb};
use crate::frame::Instruction;
use crate::frame::write::{FunctionFrame, Mask, ReturnAddress, Target};
use crate::isa::MachineRegister;

impl Contradiction {
    /// Returns the target for a function with the expected rule.
    pub(crate) fn target(&self, wave_size: WaveSize) -> Target {
        let is_buffer = matches!(self.expected, RowRule::Cfa { shift: 0, .. });
        let scratch = if is_buffer {
            ScratchAddressing::Buffer
        } else {
            ScratchAddressing::Flat
        };
        Target { wave_size, scratch }
    }

    /// Reports the expected rule to `frame`. Returns `None` if no event can express it, or if the row is wrong for a reason other than this rule.
    pub(crate) fn expect_in(
        &self,
        frame: &mut FunctionFrame,
        wave_size: WaveSize,
    ) -> Result<Option<()>> {
        if self.expected != RowRule::Other && self.expected == self.actual {
            // The rule of EXEC in the row is wrong instead.
            return Ok(None);
        }
        say(self, frame, wave_size)
    }
}

fn say(
    contradiction: &Contradiction,
    frame: &mut FunctionFrame,
    wave_size: WaveSize,
) -> Result<Option<()>> {
    let number = |register: MachineRegister| register.dwarf(wave_size).map(|(number, _)| number);
    let lanes = i64::from(wave_size.lanes());
    let in_lane = |offset: i64| match offset.checked_rem(lanes) {
        Some(0) => offset
            .checked_div(lanes)
            .and_then(|offset| u32::try_from(offset).ok()),
        Some(_) | None => None,
    };
    let place = if let RowRule::Dwords(dwords) = &contradiction.expected {
        find_value(dwords, wave_size)
    } else {
        None
    };
    let register = match contradiction.subject {
        Subject::Register(register) => register,
        Subject::ReturnAddress => {
            let Some(place) = place else { return Ok(None) };
            return frame
                .return_address_in(match place {
                    Holder::Register(low) => ReturnAddress::Pair(low),
                    Holder::Lane(register, low) => ReturnAddress::Lanes {
                        register,
                        low,
                        high: Lane(low.0.saturating_add(1)),
                    },
                })
                .map(|_| Some(()));
        }
        Subject::Cfa => return cfa(frame, &contradiction.expected, wave_size),
        Subject::Row => return Ok(None),
    };
    let said = match contradiction.expected {
        RowRule::SameValue | RowRule::None => frame.restored(register),
        // If the value was not found, the register is at least known to be overwritten.
        RowRule::Undefined | RowRule::Other => frame.clobbered(register),
        RowRule::Dwords(_) => match place {
            Some(Holder::Register(holder)) => frame.saved_in_register(register, holder),
            Some(Holder::Lane(vector, lane)) => frame.saved_in_lane(register, vector, lane),
            None => return Ok(None),
        },
        RowRule::Vector(holder, saved) => {
            let Some(holder) = number(holder) else {
                return Ok(None);
            };
            match saved {
                SavedLanes::All => frame.saved_in_register(register, holder),
                SavedLanes::Active => frame.saved_in_vector(register, holder, Mask::ExecOnEntry),
                SavedLanes::Inactive => return Ok(None),
            }
        }
        RowRule::Scratch(offset, saved) => {
            let Some(offset) = in_lane(offset) else {
                return Ok(None);
            };
            match saved {
                SavedLanes::All => frame.saved_to_scratch_whole(register, offset),
                SavedLanes::Active => frame.saved_to_scratch(register, offset, Mask::ExecOnEntry),
                SavedLanes::Inactive => {
                    frame.inactive_saved_to_scratch(register, offset, Mask::ExecOnEntry)
                }
            }
        }
        RowRule::Cfa { .. } | RowRule::CfaShiftedRight(_) => return Ok(None),
    };
    said.map(|_| Some(()))
}

/// The holder of one or two dwords: one register, or two adjacent registers.
enum Holder {
    Register(Register),
    Lane(Register, Lane),
}

fn find_value(dwords: &[Dword], wave_size: WaveSize) -> Option<Holder> {
    let number = |register: MachineRegister| register.dwarf(wave_size).map(|(number, _)| number);
    let (first, second) = match dwords {
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        _ => return None,
    };
    match (first, second) {
        (Dword::Scalar(low), None) => Some(Holder::Register(number(*low)?)),
        (Dword::Scalar(low), Some(Dword::Scalar(high))) if low.plus(1) == Some(*high) => {
            Some(Holder::Register(number(*low)?))
        }
        (Dword::Lane(vector, lane), None) => Some(Holder::Lane(number(*vector)?, Lane(*lane))),
        (Dword::Lane(vector, low), Some(Dword::Lane(other, high)))
            if vector == other && low.checked_add(1) == Some(*high) =>
        {
            Some(Holder::Lane(number(*vector)?, Lane(*low)))
        }
        _ => None,
    }
}

fn cfa(frame: &mut FunctionFrame, expected: &RowRule, wave_size: WaveSize) -> Result<Option<()>> {
    let RowRule::Cfa {
        register,
        shift,
        plus,
        space,
    } = *expected
    else {
        return Ok(None);
    };
    let Some((number, _)) = register.dwarf(wave_size) else {
        return Ok(None);
    };
    let offset = plus.checked_shr(shift.unsigned_abs().into()).unwrap_or(0);
    let said = match space {
        AddressSpace::PrivateWave => frame.cfa_from_register(number, offset),
        AddressSpace::None => {
            let expression = pair_plus(number, plus);
            frame.raw(Instruction::DefCfaExpression {
                expression: &expression,
            })
        }
        AddressSpace::Generic
        | AddressSpace::Region
        | AddressSpace::Local
        | AddressSpace::PrivateLane => return Ok(None),
    };
    said.map(|_| Some(()))
}

/// Returns the expression for an address in two scalar registers plus an offset. It has the form that GCC writes for its CFA: `bregx high, const1u
/// 32, shl, bregx low, plus, consts, plus`.
fn pair_plus(low: Register, plus: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = u64::from(low.number());
    for (register, rest) in [
        (number.saturating_add(1), &[0x08, 0x20, 0x24][..]),
        (number, &[0x22]),
    ] {
        bytes.push(0x92);
        write_uleb(register, &mut bytes);
        bytes.push(0);
        bytes.extend(rest);
    }
    if plus != 0 {
        bytes.push(0x11);
        write_sleb(plus, &mut bytes);
        bytes.push(0x22);
    }
    bytes
}
