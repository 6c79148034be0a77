//! Computes the effects of scalar instructions.
//!
//! Source: AMD's instruction set architecture documents, "Scalar ALU Operations" and "Program Flow
//! Control".

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few of the encodings and shapes have a field elsewhere than most, and the table decides which come here"
)]

use super::effect::{CallTarget, Effect, ScalarOp};
use super::field::{Raw, low_byte, low_half, signed};
use super::register::Operand;
use super::table::{Bits, Encoding, Op, ScalarLoad, Shape};
use super::{MachineRegister, Span};

/// Returns the effect of a scalar instruction whose row has an operation.
pub(super) fn effect(raw: &Raw<'_>) -> Effect {
    let width = match raw.row.shape {
        Shape::Scalar(width) => width,
        _ => 2,
    };
    let dst = raw.scalar(raw.bits(0, 16, 7), width);
    let src = raw.scalar(raw.bits(0, 0, 8), width);
    let immediate = low_half(raw.bits(0, 0, 16));
    match raw.row.op {
        Op::Alu(op) => alu(raw, op, dst, width),
        Op::SaveExec(op) => Effect::SaveExec { op, dst, src },
        Op::WriteExec(op) => Effect::WriteExec { op, dst, src },
        Op::GetPc => Effect::GetPc { dst },
        Op::SetPc => Effect::SetPc { src },
        Op::SwapPc => Effect::Call {
            dst,
            target: CallTarget::Registers(src),
        },
        Op::Call => Effect::Call {
            dst,
            target: CallTarget::Address(branch_target(raw)),
        },
        Op::Branch(condition) => Effect::Branch {
            target: branch_target(raw),
            condition,
        },
        Op::OtherJump => Effect::OtherJump,
        Op::EndProgram => Effect::EndProgram,
        Op::Trap => Effect::Trap { id: immediate },
        Op::CodeEnd => Effect::CodeEnd,
        Op::Clause => Effect::Clause { count: immediate },
        Op::Wait => Effect::Wait,
        Op::Nop => Effect::Nop { cycles: immediate },
        Op::GprIndex => Effect::GprIndex,
        Op::VgprMsb => Effect::VgprMsb {
            bits: low_byte(raw.bits(0, 0, 8)),
        },
        Op::ScalarLoad | Op::ScalarLoadPart(_) => load(raw),
        Op::Other
        | Op::ReadLane
        | Op::WriteLane
        | Op::ReadFirstLane
        | Op::VectorMove
        | Op::Vector(_)
        | Op::Reversed(_)
        | Op::AccRead
        | Op::AccWrite
        | Op::AccMove
        | Op::Access(_) => Effect::Other,
    }
}

fn alu(raw: &Raw<'_>, op: ScalarOp, dst: Operand, width: u8) -> Effect {
    let (a_width, b_width) = match op {
        ScalarOp::ShiftLeft
        | ScalarOp::ShiftRight
        | ScalarOp::ShiftRightSigned
        | ScalarOp::BitFieldExtract
        | ScalarOp::BitFieldExtractSigned => (width, 1),
        ScalarOp::BitFieldMask => (1, 1),
        ScalarOp::Mov
        | ScalarOp::MovIfScc
        | ScalarOp::Not
        | ScalarOp::Add
        | ScalarOp::AddCarry
        | ScalarOp::Sub
        | ScalarOp::SubBorrow
        | ScalarOp::Mul
        | ScalarOp::MulHighUnsigned
        | ScalarOp::MulHighSigned
        | ScalarOp::And
        | ScalarOp::Or
        | ScalarOp::Xor
        | ScalarOp::AndNot
        | ScalarOp::OrNot
        | ScalarOp::Nand
        | ScalarOp::Nor
        | ScalarOp::Xnor
        | ScalarOp::ShiftLeftAdd(_)
        | ScalarOp::Select => (width, width),
    };
    let immediate = Operand::Integer(raw.immediate());
    let (a, b) = match (raw.encoding, op) {
        (Encoding::Sopk, ScalarOp::Mov | ScalarOp::MovIfScc) => (immediate, Operand::Null),
        (Encoding::Sopk, _) => (dst, immediate),
        (Encoding::Sop1, _) => (raw.scalar(raw.bits(0, 0, 8), a_width), Operand::Null),
        _ => (
            raw.scalar(raw.bits(0, 0, 8), a_width),
            raw.scalar(raw.bits(0, 8, 8), b_width),
        ),
    };
    Effect::Scalar { op, dst, a, b }
}

fn branch_target(raw: &Raw<'_>) -> u64 {
    let dwords = i64::from(raw.immediate());
    raw.next_address()
        .wrapping_add_signed(dwords.wrapping_mul(4))
}

/// Returns the effect of a scalar load. On gfx9, it has a register or a constant, or both if a bit is set. Later generations have both, one
/// of which may be null.
pub(super) fn load(raw: &Raw<'_>) -> Effect {
    let width = match raw.row.shape {
        Shape::Scalar(width) => width,
        _ => 1,
    };
    let dst = raw.scalar(raw.bits(0, 6, 7), width);
    let base = raw.scalar(raw.bits(0, 0, 6).wrapping_mul(2), 2);
    let register = raw.scalar(raw.bits(1, 25, 7), 1);
    let constant = |field: Bits| signed(raw.field(field), field.2);
    let (index, offset) = match raw.features().scalar_load {
        ScalarLoad::Both(offset) => (register, constant(offset)),
        ScalarLoad::Either {
            both,
            constant: has_constant,
            offset,
        } => match (raw.is_set(Some(both)), raw.is_set(Some(has_constant))) {
            (true, true) => (register, constant(offset)),
            (true, false) => (register, 0),
            (false, true) => (Operand::Null, constant(offset)),
            (false, false) => (raw.scalar(raw.bits(1, 0, 7), 1), 0),
        },
    };
    let bytes = match raw.row.op {
        Op::ScalarLoadPart(bytes) => bytes,
        _ => width.saturating_mul(4),
    };
    Effect::ScalarLoad {
        bytes,
        dst,
        base,
        index,
        offset,
    }
}

/// `m0`, for instructions that write it without naming it.
pub(super) const M0: Operand = Operand::Registers(Span::new(MachineRegister::M0, 1));
/// The condition code `scc`, for instructions that write it without naming it.
pub(super) const SCC: Operand = Operand::Registers(Span::new(MachineRegister::Scc, 1));
