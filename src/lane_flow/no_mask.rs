//! Finds the registers that hold no mask: on every path to a place, the last write was another kind of value.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever is not known to be something else may be a mask"
)]

use std::collections::BTreeSet;

use crate::abi::Callees;
use crate::isa::{Effect, MachineRegister, ScalarOp};
use crate::machine_flow::Code;

/// Returns true if every path to an instruction writes a value into a scalar register that is not a mask of the function's lanes.
///
/// Values on entry are not masks of the function's lanes, nor are the values that a callee leaves in registers that it need not preserve.
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
            // The register may hold a mask of a caller.
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

/// Returns true if the value that an instruction writes to scalar registers is certainly not a mask.
fn is_other(effect: &Effect) -> bool {
    match effect {
        Effect::ScalarLoad { .. } | Effect::GetPc { .. } | Effect::Call { .. } => true,
        Effect::Scalar { op, a, .. } => match op {
            // As a mask, a constant selects no lane or all lanes.
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
