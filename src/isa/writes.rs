//! Finds the registers that an instruction writes, from the shape in its row.
//!
//! Source: AMD's instruction set architecture documents, the destination fields of "Microcode Formats".

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few of the encodings and shapes have a field elsewhere than most, and the table decides which come here"
)]

use super::field::{Raw, agpr, low_byte, vgpr};
use super::memory::{is_accumulation, load_data, returns};
use super::register::{Operand, Writes};
use super::table::{Encoding, Shape, flag};
use super::{scalar, vector};

/// Returns the registers that the instruction writes.
pub(super) fn writes(raw: &Raw<'_>) -> Writes {
    let mut writes = Writes::default();
    match raw.encoding {
        Encoding::Vopd => dual(raw, &mut writes),
        Encoding::Vopd3 => dual_gfx125x(raw, &mut writes),
        _ => by_shape(raw, &mut writes),
    }
    if raw.row.has(flag::SCC) {
        writes.add(scalar::SCC);
    }
    if raw.row.has(flag::EXEC) {
        writes.add(raw.exec());
    }
    if raw.row.has(flag::M0) {
        writes.add(scalar::M0);
    }
    if raw.row.has(flag::INDIRECT) {
        writes.set_indirect();
    }
    writes
}

fn by_shape(raw: &Raw<'_>, writes: &mut Writes) {
    let field = vector::destination(raw);
    match raw.row.shape {
        Shape::None | Shape::Store(_) => {}
        Shape::Scalar(count) => writes.add(scalar_destination(raw, count)),
        Shape::ScalarAtomic(count) => {
            if returns(raw) {
                writes.add(scalar_destination(raw, count));
            }
        }
        Shape::Vector(count) => writes.add(vector_destination(raw, count)),
        Shape::VectorByWave(count) => writes.add(vector_destination(raw, by_wave(raw, count))),
        Shape::Half => writes.add(vgpr(field & 0x7f, 1)),
        Shape::Acc(count) => writes.add(agpr(field, count)),
        Shape::Matrix(count) => {
            let bit = raw.features().matrix_accumulates;
            let accumulates = bit.is_none() || raw.is_set(bit);
            writes.add(if accumulates {
                agpr(field, count)
            } else {
                vgpr(field, count)
            });
        }
        Shape::VectorAndMask(count) => {
            writes.add(vgpr(field, count));
            writes.add(match raw.encoding {
                Encoding::Vop3 => raw.scalar(raw.bits(0, 8, 7), raw.mask_dwords()),
                _ => raw.vcc(),
            });
        }
        Shape::Mask => writes.add(vector::mask(raw)),
        Shape::MaskAndExec => {
            writes.add(vector::mask(raw));
            writes.add(raw.exec());
        }
        Shape::Swap(count) => {
            writes.add(vgpr(field, count));
            writes.add(vector::first_source(raw, count));
        }
        Shape::SwapHalves => {
            writes.add(vgpr(field & 0x7f, 1));
            writes.add(vgpr(raw.bits(0, 0, 7), 1));
        }
        Shape::Load(count) => load_data(raw, count)
            .into_iter()
            .for_each(|d| writes.add(d)),
        Shape::LoadByWave(count) => {
            load_data(raw, by_wave(raw, count))
                .into_iter()
                .for_each(|d| writes.add(d));
        }
        Shape::Atomic(count) => {
            if returns(raw) {
                load_data(raw, count)
                    .into_iter()
                    .for_each(|d| writes.add(d));
            }
        }
        Shape::ImageLoad | Shape::Gather | Shape::ImageAtomic(_) | Shape::BvhDual => {
            image(raw, writes);
        }
        Shape::BvhStack(count) => {
            writes.add(vector_destination(raw, count));
            writes.add(vgpr(raw.bits(1, 0, 8), 1));
        }
    }
}

/// Returns the count for the wave size: half as many for 64 lanes.
fn by_wave(raw: &Raw<'_>, count: u8) -> u8 {
    count.div_ceil(raw.mask_dwords())
}

fn scalar_destination(raw: &Raw<'_>, count: u8) -> Operand {
    let code = match raw.encoding {
        Encoding::Smem => raw.bits(0, 6, 7),
        Encoding::Vop1 | Encoding::Vop3 => vector::destination(raw),
        _ => raw.bits(0, 16, 7),
    };
    raw.scalar(code, count)
}

fn vector_destination(raw: &Raw<'_>, count: u8) -> Operand {
    match raw.encoding {
        Encoding::Ds if is_accumulation(raw) => agpr(raw.bits(1, 24, 8), count),
        Encoding::Ds => vgpr(raw.bits(1, 24, 8), count),
        Encoding::Mimg | Encoding::Vimage | Encoding::Vsample => {
            load_data(raw, count).unwrap_or(Operand::Null)
        }
        _ => vgpr(vector::destination(raw), count),
    }
}

/// Returns the registers of an image instruction. The mask selects the components; packed 16-bit ones take half the registers.
fn image(raw: &Raw<'_>, writes: &mut Writes) {
    let components = match raw.encoding {
        Encoding::Mimg => raw.bits(0, 8, 4),
        _ => raw.bits(0, 22, 4),
    };
    let components = low_byte(components.count_ones()).max(1);
    let packed = raw.is_set(Some(raw.features().image.packed));
    let registers = |components: u8| {
        if packed {
            components.div_ceil(2)
        } else {
            components
        }
    };
    match raw.row.shape {
        Shape::ImageLoad => load_data(raw, registers(components)),
        Shape::Gather => load_data(raw, registers(4)),
        Shape::ImageAtomic(parts) if returns(raw) => {
            load_data(raw, components.checked_div(parts).unwrap_or(0).max(1))
        }
        Shape::BvhDual => {
            // The third and fourth addresses.
            writes.add(vgpr(raw.bits(2, 16, 8), 3));
            writes.add(vgpr(raw.bits(2, 24, 8), 3));
            load_data(raw, 10)
        }
        _ => None,
    }
    .into_iter()
    .for_each(|data| writes.add(data));
}

/// Adds two vector registers of one dword each.
fn dual(raw: &Raw<'_>, writes: &mut Writes) {
    for register in vector::dual_destinations(raw) {
        writes.add(vgpr(register, 1));
    }
}

/// Adds two vector registers, each with its own field; some operations have 64 bits.
fn dual_gfx125x(raw: &Raw<'_>, writes: &mut Writes) {
    let width = |opcode: u32| {
        if (0x20..=0x24).contains(&opcode) {
            2
        } else {
            1
        }
    };
    writes.add(vgpr(raw.bits(2, 0, 8), width(raw.bits(0, 18, 6))));
    writes.add(vgpr(raw.bits(2, 24, 8), width(raw.bits(0, 12, 6))));
}
