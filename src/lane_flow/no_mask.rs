//! Registers that hold no mask: on every way to a place what was written last is something else.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever is not known to be something else may be a mask"
)]

use std::collections::BTreeSet;

use crate::abi::Callees;
use crate::isa::{Effect, MachineRegister, ScalarOp};
use crate::machine_flow::Code;

/// Returns true if every way to an instruction puts something into a scalar register that is no mask of the function's lanes.
///
/// What the function was entered with is none; what a callee leaves in a register that it need not preserve is none.
pub(super) fn holds_no_mask(
    code: &Code,
    callees: &Callees<'_>,
    index: usize,
    register: MachineRegister,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut work = vec![index];
    let mut is_known = false;
    while let Some(at) = work.pop() {
        if at == 0 {
            // It may be a mask of a caller.
            if code.preserves(register) {
                return false;
            }
            is_known = true;
        }
        for earlier in code.before(at) {
            if !seen.insert(earlier) {
                continue;
            }
            let Some(instruction) = code.instructions.get(earlier) else {
                return false;
            };
            let is_lost = match instruction.effect {
                Effect::Call { .. } if !code.preserves(register) => {
                    let writes = code.callee(earlier).and_then(|one| callees.writes(one));
                    writes.is_some_and(|writes| writes.contains(register))
                }
                _ => false,
            };
            if !instruction.writes.contains(register) && !is_lost {
                work.push(earlier);
            } else if is_lost || is_other(&instruction.effect) {
                is_known = true;
            } else {
                return false;
            }
        }
    }
    is_known
}

/// Returns true if what an instruction writes to scalar registers is surely no mask.
fn is_other(effect: &Effect) -> bool {
    match effect {
        Effect::ScalarLoad { .. } | Effect::GetPc { .. } | Effect::Call { .. } => true,
        Effect::Scalar { op, a, .. } => match op {
            // A mask that is a constant is that of no lane or of all.
            ScalarOp::Mov => (a.constant()).is_some_and(|value| !matches!(value, -1 | 0)),
            ScalarOp::Add
            | ScalarOp::AddCarry
            | ScalarOp::Sub
            | ScalarOp::SubBorrow
            | ScalarOp::Mul
            | ScalarOp::MulHighUnsigned
            | ScalarOp::MulHighSigned => true,
            _ => false,
        },
        _ => false,
    }
}
