//! Undoes an instruction: computes the registers before it from the registers after it.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not undone loses what it writes"
)]

use super::past::{Now, Past, bit, lanes};
use crate::isa::{Effect, ExecOp, Instruction, MachineRegister, Operand, ScalarOp, Span, VectorOp};

/// Undoes an instruction.
///
/// * `all`: the existing lanes.
/// * `past`: the state after the instruction, which becomes the state before it.
pub(super) fn undo(now: &Now<'_>, instruction: &Instruction, past: &mut Past, all: u64) {
    let is_undone = writes_exec(instruction)
        || matches!(
            instruction.effect,
            Effect::VectorMove { .. }
                | Effect::Dual(_)
                | Effect::Vector { .. }
                | Effect::ReadLane { .. }
                | Effect::Scalar { .. }
        );
    if is_undone {
        let after = past.clone();
        undo_known(now, instruction, &after, past, all);
    } else {
        lose_written(now, instruction, past, all);
    }
}

fn undo_known(now: &Now<'_>, instruction: &Instruction, after: &Past, before: &mut Past, all: u64) {
    undo_exec(now, instruction, after, before, all);
    lose_written(now, instruction, before, all);
    match instruction.effect {
        Effect::VectorMove { dst, src } => {
            for n in 0..dst.count {
                let to = dst.first.plus(n);
                let from = src.registers().and_then(|span| span.first.plus(n));
                if let (Some(to), Some(from)) = (to, from) {
                    copy_back(now, after, before, to, from);
                }
            }
        }
        Effect::Dual(parts) => {
            for one in parts.into_iter().flatten() {
                undo_vector(now, after, before, one.op, one.dst, [one.a, one.b]);
            }
        }
        Effect::Vector {
            op,
            dst,
            sources: [a, b, _],
        } => undo_vector(now, after, before, op, dst, [a, b]),
        Effect::ReadLane { dst, src, lane } => {
            let value = dst.register().and_then(|dst| after.scalar(now, dst));
            let lane = after.operand(now, lane, 0);
            let lane = lane.and_then(|lane| lane.checked_rem(now.wave_size.lanes()));
            if let (Some(value), Some(lane), Some(src)) = (value, lane, src.register())
                && let Ok(lane) = u8::try_from(lane)
            {
                learn(now, before, src, lane, value);
            }
        }
        Effect::Scalar { op, dst, a, b } => undo_scalar(now, after, before, (op, dst, [a, b])),
        _ => {}
    }
}

/// Computes one source of an operation from the result and the other source, in certainly active lanes.
fn undo_vector(
    now: &Now<'_>,
    after: &Past,
    before: &mut Past,
    op: VectorOp,
    dst: MachineRegister,
    [a, b]: [Operand; 2],
) {
    for lane in lanes(before.surely) {
        let Some(result) = after.vector(now, dst).get(lane) else {
            continue;
        };
        let (one, other) = (before.in_lane(now, a, lane), before.in_lane(now, b, lane));
        let found = match (op, one, other) {
            (VectorOp::Mov, None, _) => Some((a, result)),
            (VectorOp::Not, None, _) => Some((a, !result)),
            (VectorOp::Add, None, Some(b)) => Some((a, result.wrapping_sub(b))),
            (VectorOp::Add, Some(a), None) => Some((b, result.wrapping_sub(a))),
            (VectorOp::Sub, None, Some(b)) => Some((a, result.wrapping_add(b))),
            (VectorOp::Sub, Some(a), None) => Some((b, a.wrapping_sub(result))),
            (VectorOp::Xor, None, Some(b)) => Some((a, result ^ b)),
            (VectorOp::Xor, Some(a), None) => Some((b, result ^ a)),
            (_, _, _) => None,
        };
        if let Some((operand, value)) = found
            && let Some(register) = operand.register()
        {
            learn(now, before, register, lane, value);
        }
    }
}

/// Records the earlier contents of a register, in one lane of a vector register.
fn learn(now: &Now<'_>, before: &mut Past, register: MachineRegister, lane: u8, value: u32) {
    match register {
        MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => {
            before.change_vector(now, register, |lanes| {
                if lanes.get(lane).is_none() {
                    lanes.set(lane, Some(value));
                }
            });
        }
        MachineRegister::ExecLo | MachineRegister::ExecHi | MachineRegister::Scc => {}
        _ if before.scalar(now, register).is_none() => before.set_scalar(register, Some(value)),
        _ => {}
    }
}

/// Copies the destination of a copy to its source, in certainly active lanes.
fn copy_back(
    now: &Now<'_>,
    after: &Past,
    before: &mut Past,
    to: MachineRegister,
    from: MachineRegister,
) {
    let copied = after.vector(now, to);
    for lane in lanes(before.surely & copied.known) {
        if let Some(value) = copied.get(lane) {
            learn(now, before, from, lane, value);
        }
    }
}

fn undo_scalar(
    now: &Now<'_>,
    after: &Past,
    before: &mut Past,
    (op, dst, [a, b]): (ScalarOp, Operand, [Operand; 2]),
) {
    let Some(span) = dst.registers() else {
        return;
    };
    let result = |n: u8| after.scalar(now, span.first.plus(n)?);
    let source = |operand: Operand, n: u8| operand.registers().and_then(|span| span.first.plus(n));
    match op {
        ScalarOp::Mov => {
            for n in 0..span.count {
                if let (Some(from), Some(value)) = (source(a, n), result(n)) {
                    learn(now, before, from, 0, value);
                }
            }
        }
        ScalarOp::Not => {
            for n in 0..span.count {
                if let (Some(from), Some(value)) = (source(a, n), result(n)) {
                    learn(now, before, from, 0, !value);
                }
            }
        }
        ScalarOp::Add | ScalarOp::Sub if span.count == 1 => {
            let Some(value) = result(0) else { return };
            let known = [a, b].map(|operand| before.operand(now, operand, 0));
            let found = match (op, known) {
                (ScalarOp::Add, [None, Some(b)]) => Some((a, value.wrapping_sub(b))),
                (ScalarOp::Add, [Some(a), None]) => Some((b, value.wrapping_sub(a))),
                (_, [None, Some(b)]) => Some((a, value.wrapping_add(b))),
                (_, [Some(a), None]) => Some((b, a.wrapping_sub(value))),
                (_, _) => None,
            };
            if let Some((operand, value)) = found
                && let Some(register) = source(operand, 0)
            {
                learn(now, before, register, 0, value);
            }
        }
        _ => {}
    }
}

/// Forgets the registers that an instruction writes.
fn lose_written(now: &Now<'_>, instruction: &Instruction, before: &mut Past, all: u64) {
    let writes = &instruction.writes;
    // Matrix operations write every lane, regardless of EXEC.
    let name = instruction.mnemonic;
    let active = match name.is_some_and(|name| name.is_matrix()) {
        true => all,
        false => before.maybe,
    };
    for span in writes.spans() {
        match span.first {
            MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) if writes.is_indirect() => {
                before.lose_vectors();
            }
            MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => {
                let lost = match instruction.effect {
                    Effect::WriteLane { lane, .. } => match before.operand(now, lane, 0) {
                        Some(lane) => u8::try_from(lane & 63).map_or(all, bit),
                        None => all,
                    },
                    _ => active,
                };
                for register in span.registers() {
                    before.change_vector(now, register, |known| {
                        lanes(lost).for_each(|lane| known.set(lane, None));
                    });
                }
            }
            _ if writes.is_indirect() => {
                for register in MachineRegister::scalars() {
                    before.set_scalar(register, None);
                }
            }
            _ => {
                for register in span.registers() {
                    before.set_scalar(register, None);
                }
            }
        }
    }
    if matches!(instruction.effect, Effect::GprIndex) {
        before.lose_vectors();
    }
}

/// Returns true if an instruction writes EXEC.
pub(super) fn writes_exec(instruction: &Instruction) -> bool {
    let writes = &instruction.writes;
    writes.contains(MachineRegister::ExecLo) || writes.contains(MachineRegister::ExecHi)
}

fn is_exec(operand: Operand) -> bool {
    operand
        .registers()
        .is_some_and(|span| span.first == MachineRegister::ExecLo)
}

/// Computes the lanes that were active before an instruction.
fn undo_exec(now: &Now<'_>, instruction: &Instruction, after: &Past, before: &mut Past, all: u64) {
    if !writes_exec(instruction) {
        return;
    }
    let is_known = after.surely == after.maybe;
    (before.surely, before.maybe) = match instruction.effect {
        Effect::SaveExec { dst, .. } => match after.mask(now, dst) {
            Some(saved) => (saved & all, saved & all),
            None => (0, all),
        },
        Effect::Scalar { op, dst, a, b } if is_exec(dst) && (is_exec(a) || is_exec(b)) => {
            let is_first = is_exec(a);
            let other = after.mask(now, if is_first { b } else { a });
            match (op, other) {
                (ScalarOp::Or, Some(other)) => (after.surely & !other, after.maybe),
                (ScalarOp::Or, None) => (0, after.maybe),
                (ScalarOp::And, Some(other)) => (after.surely, after.maybe | (all & !other)),
                (ScalarOp::And, None) => (after.surely, all),
                (ScalarOp::AndNot, Some(other)) if is_first => {
                    (after.surely, after.maybe | (all & other))
                }
                (ScalarOp::AndNot, None) if is_first => (after.surely, all),
                (ScalarOp::Xor, Some(other)) if is_known => {
                    let found = (after.surely ^ other) & all;
                    (found, found)
                }
                (_, _) => (0, all),
            }
        }
        // The lanes for which the comparison is true were active before.
        Effect::Compare { to_exec: true, .. } => (after.surely, all),
        _ => (0, all),
    };
    if let Effect::Scalar {
        op: ScalarOp::Mov,
        dst,
        a: Operand::Registers(Span { first, .. }),
        ..
    } = instruction.effect
        && is_exec(dst)
        && is_known
    {
        let halves = [after.surely & 0xffff_ffff, after.surely >> 32];
        for (n, half) in (0..).zip(halves) {
            if n > 0 && now.wave_size == crate::arch::WaveSize::Wave32 {
                break;
            }
            if let (Some(register), Ok(half)) = (first.plus(n), u32::try_from(half)) {
                learn(now, before, register, 0, half);
            }
        }
    }
}

/// Returns the certainly active and possibly active lanes after an instruction that writes EXEC, from the registers after it.
pub(super) fn exec_after(
    now: &Now<'_>,
    instruction: &Instruction,
    after: &Past,
    all: u64,
) -> (u64, u64) {
    let bounded = (after.surely, after.maybe & all);
    let exact = |mask: u64| (mask & all, mask & all);
    match instruction.effect {
        Effect::SaveExec { op, dst, src } => {
            let overlaps = src.registers().is_some_and(|src| {
                dst.registers()
                    .is_some_and(|dst| src.registers().any(|one| dst.contains(one)))
            });
            let saved = after.mask(now, dst);
            let source = after.mask(now, src).filter(|_| !overlaps && !is_exec(src));
            match (op, saved, source) {
                (_, Some(exec), Some(source)) => exact(combined(op, exec, source)),
                (ExecOp::And, one, other) => {
                    let most = one.or(other).unwrap_or(all);
                    (after.surely, after.maybe & all & most)
                }
                (ExecOp::ExecAndNotSource, Some(exec), _) => {
                    (after.surely, after.maybe & all & exec)
                }
                (_, _, _) => bounded,
            }
        }
        Effect::Scalar { op, dst, a, b } if is_exec(dst) => {
            let masks = [a, b].map(|operand| match is_exec(operand) {
                true => None,
                false => after.mask(now, operand),
            });
            match (op, masks) {
                (ScalarOp::Mov, [Some(mask), _]) => exact(mask),
                (ScalarOp::And, [Some(a), Some(b)]) => exact(a & b),
                (ScalarOp::AndNot, [Some(a), Some(b)]) => exact(a & !b),
                (ScalarOp::Or, [Some(a), Some(b)]) => exact(a | b),
                (ScalarOp::Xor, [Some(a), Some(b)]) => exact(a ^ b),
                (ScalarOp::And, [one, other]) => {
                    let most = one.or(other).unwrap_or(all);
                    (after.surely, after.maybe & all & most)
                }
                (ScalarOp::Or, [one, other]) => {
                    let least = one.or(other).unwrap_or(0);
                    (after.surely | least & all, after.maybe & all)
                }
                (_, _) => bounded,
            }
        }
        _ => bounded,
    }
}

fn combined(op: ExecOp, exec: u64, source: u64) -> u64 {
    match op {
        ExecOp::And => source & exec,
        ExecOp::Or => source | exec,
        ExecOp::Xor => source ^ exec,
        ExecOp::Nand => !(source & exec),
        ExecOp::Nor => !(source | exec),
        ExecOp::Xnor => !(source ^ exec),
        ExecOp::SourceAndNotExec => source & !exec,
        ExecOp::SourceOrNotExec => source | !exec,
        ExecOp::ExecAndNotSource => !source & exec,
        ExecOp::ExecOrNotSource => !source | exec,
    }
}
