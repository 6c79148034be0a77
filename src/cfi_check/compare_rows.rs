//! Compares each reached instruction with its row.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "only some effects and registers matter to call frame information"
)]

use std::borrow::Cow;

use super::SkipReason;
use super::compare::Comparison;
use super::decode_row::DecodedRow;
use super::findings::{Findings, Place};
use super::flow::{self, Visitor};
use super::memory;
use super::state::{State, scalar_index};
use super::step::Context;
use super::value::Scalar;
use crate::abi::Convention;
use crate::isa::{Effect, Instruction, MachineRegister, ScalarOp};

/// The instructions that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All that can be reached.
    All,
    /// The one at an address.
    One(u64),
    /// The one at an address, or the call that contains it. A rule is also wrong if its value is not known to be the one on entry.
    Doubted(u64),
}

/// Compares each reached instruction with its row.
struct Comparer<'c, 'x> {
    context: &'c Context<'x>,
    extent: Extent,
    rows: core::iter::Peekable<core::slice::Iter<'c, DecodedRow>>,
    returns: &'c [u64],
    /// The start of the row that was compared last. `None` if more than the registers in `changed` has changed since.
    compared: Option<u64>,
    changed: Vec<MachineRegister>,
    findings: Findings,
}

/// Follows the function, and compares the reached instructions with their rows.
pub(super) fn compare(
    context: &Context<'_>,
    rows: &[DecodedRow],
    extent: Extent,
    findings: &mut Findings,
) -> Result<(), SkipReason> {
    let returns: Vec<u64> = (context.code.jumps())
        .filter(|one| matches!(one.effect, Effect::SetPc { .. }))
        .map(|one| one.address)
        .collect();
    let comparer = flow::visit(context, || Comparer {
        context,
        extent,
        rows: rows.iter().peekable(),
        returns: &returns,
        compared: None,
        changed: Vec::new(),
        findings: findings.clone(),
    })?;
    *findings = comparer.findings;
    Ok(())
}

impl Visitor for Comparer<'_, '_> {
    fn begin_block(&mut self) {
        self.compared = None;
        self.changed.clear();
    }

    fn visit(&mut self, state: &State, instruction: &Instruction) {
        while (self.rows)
            .next_if(|row| row.end <= instruction.address)
            .is_some()
        {}
        let Some(row) = self.rows.peek() else {
            return;
        };
        if let Extent::One(address) | Extent::Doubted(address) = self.extent
            && !(instruction.address..instruction.end()).contains(&address)
        {
            return;
        }
        let place = Place {
            start: instruction.address,
            end: instruction.end(),
        };
        let state = match self.extent {
            Extent::Doubted(address) if address != instruction.address => {
                Cow::Owned(during(state, instruction))
            }
            _ => Cow::Borrowed(state),
        };
        let comparison = Comparison {
            context: self.context,
            row,
            state: &state,
            place,
            returns: self.returns,
            doubts: matches!(self.extent, Extent::Doubted(_)),
        };
        if self.compared == Some(row.start) {
            if !self.changed.is_empty() {
                comparison.run_again(&self.changed, &mut self.findings);
            }
            self.findings.go_on(place);
        } else if row.start <= instruction.address {
            self.findings.begin();
            comparison.run(&mut self.findings);
            self.compared = Some(row.start);
        }
        self.changed.clear();
        if !is_limited(self.context, &state, instruction, row, &mut self.changed) {
            self.compared = None;
        }
    }
}

/// Returns the state during a call, in which the registers with the return address are overwritten.
fn during(state: &State, call: &Instruction) -> State {
    let mut state = state.clone();
    for register in call.writes.spans().iter().flat_map(|span| span.registers()) {
        if let MachineRegister::Sgpr(n) = register {
            state.set_scalar(n, Scalar::Other, 0);
        }
    }
    state
}

/// Returns true if an instruction changes the result of a comparison with the row only for registers that have no rule and are not named by
/// one. Adds those to `changed`.
fn is_limited(
    context: &Context<'_>,
    state: &State,
    instruction: &Instruction,
    row: &DecodedRow,
    changed: &mut Vec<MachineRegister>,
) -> bool {
    let spans = instruction.writes.spans();
    let changes_more = match instruction.effect {
        Effect::Call { .. } | Effect::GprIndex | Effect::VgprMsb { .. } => true,
        Effect::Store(access) => {
            !memory::leaves_alone(state, &access, context.wave_size, &row.saved)
        }
        _ => instruction.writes.is_indirect(),
    };
    // For GCC's functions, only the CFA is compared, and no other register is followed.
    if context.convention == Convention::Gcc {
        let mut written = spans.iter().flat_map(|span| span.registers());
        return !written
            .any(|register| matches!(register, MachineRegister::Sgpr(n) if row.names_scalar(n)));
    }
    if changes_more {
        return false;
    }
    // Values that depended on the earlier condition change, wherever they are.
    let finds_condition = matches!(
        instruction.effect,
        Effect::Compare { .. }
            | Effect::SaveExec { .. }
            | Effect::WriteExec { .. }
            | Effect::Scalar {
                op: ScalarOp::And | ScalarOp::AndNot,
                ..
            }
    );
    for span in spans {
        for register in span.registers() {
            let (has_rule, is_named) = match register {
                MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => {
                    (row.has_vector(register), row.names_vector(register))
                }
                MachineRegister::Sgpr(n) => {
                    let is_named = row.names_scalar(n) || finds_condition;
                    (row.has_scalar(n), is_named)
                }
                MachineRegister::ExecLo | MachineRegister::ExecHi => return false,
                // A rule can name VCC, as the rule of EXEC does; VCC has no rule of its own.
                MachineRegister::VccLo | MachineRegister::VccHi
                    if scalar_index(register).is_some_and(|n| row.names_scalar(n)) =>
                {
                    return false;
                }
                _ => continue,
            };
            if is_named {
                return false;
            }
            if !has_rule {
                changed.push(register);
            }
        }
    }
    true
}
