//! The effects of vector ALU instructions.
//!
//! Source: AMD's instruction set architecture documents, "Vector ALU Operations"; for accumulation registers, "Matrix Arithmetic
//! Instructions" of MI100 and MI200.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few of the encodings and shapes have a field elsewhere than most, and the table decides which come here"
)]

use super::effect::{DualOp, Effect, VectorOp};
use super::field::{Raw, agpr, low_byte, low_half, vgpr};
use super::length::{has_controls, is_sdwa};
use super::register::{MachineRegister, Operand, Span};
use super::table::{Encoding, Op, Shape, flag};

/// Returns the destination field of a vector ALU instruction.
pub(super) fn destination(raw: &Raw<'_>) -> u32 {
    match raw.encoding {
        Encoding::Vop1 | Encoding::Vop2 => raw.bits(0, 17, 8),
        Encoding::Vintrp => raw.bits(0, 18, 8),
        _ => raw.bits(0, 0, 8),
    }
}

/// Returns the first source of a vector ALU instruction. SDWA instructions have it among the controls; it is a vector register unless a bit
/// is set (gfx9, gfx10).
pub(super) fn first_source(raw: &Raw<'_>, count: u8) -> Operand {
    match raw.encoding {
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc if has_controls(raw) => {
            vgpr(raw.bits(1, 0, 8), count)
        }
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => raw.source(raw.bits(0, 0, 9), count),
        _ if has_controls(raw) => vgpr(raw.bits(2, 0, 8), count),
        _ => raw.source(raw.bits(1, 0, 9), count),
    }
}

/// Returns the sources of a vector ALU instruction without controls that its encoding has.
fn sources(raw: &Raw<'_>) -> [Operand; 3] {
    let first = first_source(raw, 1);
    match raw.encoding {
        Encoding::Vop1 => [first, Operand::Null, Operand::Null],
        Encoding::Vop2 => [first, vgpr(raw.bits(0, 9, 8), 1), Operand::Null],
        _ => [
            first,
            raw.source(raw.bits(1, 9, 9), 1),
            raw.source(raw.bits(1, 18, 9), 1),
        ],
    }
}

/// Returns the effect of an operation.
///
/// * `sources`: the sources of the encoding, which can be more than the operation has.
fn vector(op: VectorOp, dst: MachineRegister, mut sources: [Operand; 3]) -> Effect {
    sources
        .iter_mut()
        .skip(op.sources())
        .for_each(|one| *one = Operand::Null);
    Effect::Vector { op, dst, sources }
}

/// Returns the source of `v_readlane_b32`: a vector register or `lds_direct`. Its field can contain the code of a scalar register, which
/// has no lanes.
fn read_lane_source(raw: &Raw<'_>) -> Operand {
    match first_source(raw, 1) {
        Operand::Registers(span)
            if !matches!(
                span.first,
                MachineRegister::Vgpr(_) | MachineRegister::Agpr(_)
            ) =>
        {
            Operand::Other(low_byte(raw.bits(1, 0, 9)))
        }
        source => source,
    }
}

/// Returns the effect of a vector ALU instruction whose row has an operation.
pub(super) fn effect(raw: &Raw<'_>) -> Effect {
    let field = destination(raw);
    let register = MachineRegister::Vgpr(low_half(field));
    let plain = !has_controls(raw);
    match raw.row.op {
        Op::ReadLane => Effect::ReadLane {
            dst: raw.scalar(field, 1),
            src: read_lane_source(raw),
            lane: raw.source(raw.bits(1, 9, 9), 1),
        },
        Op::WriteLane => Effect::WriteLane {
            dst: register,
            src: first_source(raw, 1),
            lane: raw.source(raw.bits(1, 9, 9), 1),
        },
        Op::ReadFirstLane if plain => Effect::ReadFirstLane {
            dst: raw.scalar(field, 1),
            src: first_source(raw, 1),
        },
        Op::VectorMove if plain && !is_modified(raw) => {
            let count = match raw.row.shape {
                Shape::Vector(count) => count,
                _ => 1,
            };
            Effect::VectorMove {
                dst: Span::new(register, count),
                src: first_source(raw, count),
            }
        }
        Op::Vector(op) if plain && !is_modified(raw) => {
            let [a, b, c] = sources(raw);
            vector(op, register, [a, b, c])
        }
        Op::Reversed(op) if plain && !is_modified(raw) => {
            let [a, b, c] = sources(raw);
            vector(op, register, [b, a, c])
        }
        Op::AccRead => Effect::VectorMove {
            dst: Span::new(register, 1),
            src: accumulation(raw),
        },
        Op::AccWrite => Effect::VectorMove {
            dst: Span::new(MachineRegister::Agpr(low_half(field)), 1),
            src: first_source(raw, 1),
        },
        Op::AccMove if plain => Effect::VectorMove {
            dst: Span::new(MachineRegister::Agpr(low_half(field)), 1),
            src: accumulation(raw),
        },
        _ => Effect::Other,
    }
}

/// Returns the effect of a comparison. `None` for other instructions. `v_cmpx` writes only `exec` on gfx10 and later, and also its
/// destination on gfx9.
pub(super) fn comparison(raw: &Raw<'_>) -> Option<Effect> {
    let is_vector = matches!(raw.encoding, Encoding::Vopc | Encoding::Vop3);
    match raw.row.shape {
        Shape::Mask => Some((mask(raw), false)),
        Shape::MaskAndExec => Some((mask(raw), true)),
        Shape::None if is_vector && raw.row.has(flag::EXEC) => Some((Operand::Null, true)),
        _ => None,
    }
    .map(|(dst, to_exec)| Effect::Compare { dst, to_exec })
}

/// Returns the effect of a dual instruction of gfx11 and gfx12.
pub(super) fn dual(raw: &Raw<'_>) -> Effect {
    /// The opcodes of the operations on integers, in both parts and in the second part. The first source of a shift is the amount.
    const INTEGER: [(u32, VectorOp); 4] = [
        (8, VectorOp::Mov),
        (16, VectorOp::Add),
        (17, VectorOp::ShiftLeft),
        (18, VectorOp::And),
    ];
    let [first, second] = dual_destinations(raw);
    let part = |opcode: u32, dst: u32, dword: u8| {
        let (_, op) = INTEGER.iter().find(|(one, _)| *one == opcode)?;
        let source = raw.source(raw.bits(dword, 0, 9), 1);
        let other = vgpr(raw.bits(dword, 9, 8), 1);
        let (a, b) = match op {
            VectorOp::Mov => (source, Operand::Null),
            VectorOp::ShiftLeft => (other, source),
            _ => (source, other),
        };
        Some(DualOp {
            op: *op,
            dst: MachineRegister::Vgpr(low_half(dst)),
            a,
            b,
        })
    };
    Effect::Dual([
        part(raw.bits(0, 22, 4), first, 0),
        part(raw.bits(0, 17, 5), second, 1),
    ])
}

/// Returns the numbers of the vector registers that the parts of a dual instruction write. The lowest bit of the second is the inverse of
/// the first's.
pub(super) fn dual_destinations(raw: &Raw<'_>) -> [u32; 2] {
    let first = raw.bits(1, 24, 8);
    [first, raw.bits(1, 17, 7) << 1 | (!first & 1)]
}

/// Returns the first source, which is always an accumulation register.
fn accumulation(raw: &Raw<'_>) -> Operand {
    match raw.encoding {
        Encoding::Vop1 => agpr(raw.bits(0, 0, 8), 1),
        _ => agpr(raw.bits(1, 0, 8), 1),
    }
}

/// Returns true if modifiers change the sign, size or range of a value.
fn is_modified(raw: &Raw<'_>) -> bool {
    match raw.encoding {
        // In place of the modifiers is the mask that it writes.
        Encoding::Vop3 if matches!(raw.row.shape, Shape::VectorAndMask(_)) => {
            raw.bit(0, 15) || raw.bits(1, 27, 5) != 0
        }
        Encoding::Vop3 => raw.bits(0, 8, 8) != 0 || raw.bits(1, 27, 5) != 0,
        _ => false,
    }
}

/// Returns the destination of a comparison: `vcc`, or the register that VOP3 names, or that SDWA names if a bit is set.
pub(super) fn mask(raw: &Raw<'_>) -> Operand {
    match raw.encoding {
        Encoding::Vop3 => raw.scalar(raw.bits(0, 0, 8), raw.mask_dwords()),
        Encoding::Vopc if is_sdwa(raw) && raw.bit(1, 15) => {
            raw.scalar(raw.bits(1, 8, 7), raw.mask_dwords())
        }
        _ => raw.vcc(),
    }
}
