//! The effects of vector memory instructions, and the fields their registers stand in.
//!
//! LDS and images are left to `writes`, since nothing asks what they do. Source: AMD's instruction set
//! architecture documents, "Vector Memory Operations" and "Flat Memory Instructions".

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few of the encodings and shapes have a field elsewhere than most, and the table decides which come here"
)]

use super::Generation;
use super::effect::{Access, AccessKind, Effect};
use super::field::{Raw, agpr, signed, vgpr};
use super::register::{Operand, Span};
use super::table::{Encoding, Op, Shape};

/// The bits that say which of `flat`, `scratch` and `global` it is.
pub(super) fn flat_kind(raw: &Raw<'_>) -> Option<AccessKind> {
    let segment = match raw.generation() {
        Generation::Gfx11 => raw.bits(0, 16, 2),
        Generation::Gfx12 | Generation::Gfx125x => raw.bits(0, 24, 2),
        Generation::Gfx9
        | Generation::Gfx908
        | Generation::Gfx90a
        | Generation::Gfx94x
        | Generation::Gfx10 => raw.bits(0, 14, 2),
    };
    match segment {
        0 => Some(AccessKind::Flat),
        1 => Some(AccessKind::Scratch),
        2 => Some(AccessKind::Global),
        _ => None,
    }
}

/// The effect of a load or store whose row has an operation.
pub(super) fn effect(raw: &Raw<'_>) -> Effect {
    let Op::Access(bytes) = raw.row.op else {
        return Effect::Other;
    };
    let (is_load, data) = match raw.row.shape {
        Shape::Load(count) => (true, load_data(raw, count)),
        Shape::Store(count) => (false, Some(store_data(raw, count))),
        _ => return Effect::Other,
    };
    let access = match raw.encoding {
        Encoding::Flat => flat(raw),
        Encoding::Mubuf => Some(buffer(raw)),
        Encoding::Vbuffer => Some(buffer_gfx12(raw)),
        _ => None,
    };
    let Some(access) = access else {
        return Effect::Other;
    };
    let access = Access {
        bytes,
        data: data.and_then(Operand::registers),
        ..access
    };
    if is_load {
        Effect::Load(access)
    } else {
        Effect::Store(access)
    }
}

/// Whether data are in accumulation registers (gfx90a to gfx950).
pub(super) fn is_accumulation(raw: &Raw<'_>) -> bool {
    let has_bit = raw.generation() >= Generation::Gfx90a && raw.generation() < Generation::Gfx10;
    has_bit
        && match raw.encoding {
            Encoding::Ds => raw.bit(0, 25),
            Encoding::Flat | Encoding::Mubuf | Encoding::Mtbuf => raw.bit(1, 23),
            Encoding::Mimg => raw.bit(0, 16),
            _ => false,
        }
}

fn data(raw: &Raw<'_>, n: u32, count: u8) -> Operand {
    if is_accumulation(raw) {
        agpr(n, count)
    } else {
        vgpr(n, count)
    }
}

/// The registers that a load or a returning atomic writes; nothing if it goes to LDS.
pub(super) fn load_data(raw: &Raw<'_>, count: u8) -> Option<Operand> {
    let generation = raw.generation();
    let gfx12 = generation >= Generation::Gfx12;
    let status = match raw.encoding {
        Encoding::Mubuf | Encoding::Mtbuf | Encoding::Mimg => match generation {
            Generation::Gfx9 | Generation::Gfx908 if raw.encoding == Encoding::Mimg => {
                raw.bit(0, 16)
            }
            Generation::Gfx9 | Generation::Gfx908 => raw.bit(1, 23),
            Generation::Gfx10 if raw.encoding == Encoding::Mimg => raw.bit(0, 16),
            Generation::Gfx10 => raw.bit(1, 23),
            Generation::Gfx11 => raw.bit(1, 21),
            Generation::Gfx90a | Generation::Gfx94x | Generation::Gfx12 | Generation::Gfx125x => {
                false
            }
        },
        Encoding::Vbuffer => raw.bit(0, 22),
        Encoding::Vimage => raw.bit(1, 23),
        Encoding::Vsample => raw.bit(0, 3),
        _ => false,
    };
    let to_lds = raw.encoding == Encoding::Mubuf
        && generation <= Generation::Gfx10
        && raw.bit(0, 16)
        && matches!(raw.row.shape, Shape::Load(_));
    let to_lds = to_lds
        || raw.encoding == Encoding::Flat
            && matches!(
                generation,
                Generation::Gfx9 | Generation::Gfx908 | Generation::Gfx90a | Generation::Gfx10
            )
            && raw.bit(0, 13)
            && matches!(raw.row.shape, Shape::Load(_));
    let n = match raw.encoding {
        Encoding::Flat | Encoding::Vbuffer | Encoding::Vimage | Encoding::Vsample if gfx12 => {
            raw.bits(1, 0, 8)
        }
        Encoding::Flat | Encoding::Ds => raw.bits(1, 24, 8),
        _ => raw.bits(1, 8, 8),
    };
    (!to_lds).then(|| data(raw, n, count.saturating_add(u8::from(status))))
}

/// The registers that a store reads.
fn store_data(raw: &Raw<'_>, count: u8) -> Operand {
    let n = match raw.encoding {
        Encoding::Flat if raw.generation() >= Generation::Gfx12 => raw.bits(1, 23, 8),
        Encoding::Vbuffer => raw.bits(1, 0, 8),
        _ => raw.bits(1, 8, 8),
    };
    data(raw, n, count)
}

/// Whether an atomic instruction returns the old value.
pub(super) fn returns(raw: &Raw<'_>) -> bool {
    match (raw.encoding, raw.generation()) {
        (_, Generation::Gfx12 | Generation::Gfx125x) => raw.bit(1, 20),
        (Encoding::Mimg, Generation::Gfx11) => raw.bit(0, 14),
        (Encoding::Mimg, _) => raw.bit(0, 13),
        (Encoding::Mubuf, _) | (Encoding::Flat, Generation::Gfx11) => raw.bit(0, 14),
        (Encoding::Smem | Encoding::Flat, _) => raw.bit(0, 16),
        _ => false,
    }
}

fn flat(raw: &Raw<'_>) -> Option<Access> {
    let kind = flat_kind(raw)?;
    let generation = raw.generation();
    let gfx12 = generation >= Generation::Gfx12;
    let offset = match generation {
        Generation::Gfx12 | Generation::Gfx125x => signed(raw.bits(2, 8, 24), 24),
        Generation::Gfx10 if kind == AccessKind::Flat => raw.bits(0, 0, 12).cast_signed(),
        Generation::Gfx10 => signed(raw.bits(0, 0, 12), 12),
        Generation::Gfx9
        | Generation::Gfx908
        | Generation::Gfx90a
        | Generation::Gfx94x
        | Generation::Gfx11 => match kind {
            // Unsigned: the highest bit is to be clear.
            AccessKind::Flat => raw.bits(0, 0, 13).cast_signed(),
            AccessKind::Scratch | AccessKind::Global | AccessKind::Buffer => {
                signed(raw.bits(0, 0, 13), 13)
            }
        },
    };
    let base = if gfx12 {
        raw.bits(0, 0, 7)
    } else {
        raw.bits(1, 16, 7)
    };
    // Which code says that there is no scalar register; gfx10 has two of them.
    let no_base = match generation {
        Generation::Gfx11 | Generation::Gfx12 | Generation::Gfx125x => base == 124,
        Generation::Gfx10 => base == 125 || base == 127,
        Generation::Gfx9 | Generation::Gfx908 | Generation::Gfx90a | Generation::Gfx94x => {
            base == 127
        }
    };
    let flat_without_base = kind == AccessKind::Flat && generation < Generation::Gfx125x;
    let base_width = if kind == AccessKind::Scratch { 1 } else { 2 };
    let address = match kind {
        AccessKind::Scratch => has_scratch_address(raw, base).then_some(1),
        _ if no_base || flat_without_base => Some(2),
        _ => Some(1),
    };
    let n = if gfx12 {
        raw.bits(2, 0, 8)
    } else {
        raw.bits(1, 0, 8)
    };
    Some(Access {
        kind,
        bytes: 0,
        data: None,
        address: address.and_then(|count| vgpr(n, count).registers()),
        base: if no_base || flat_without_base {
            Operand::Null
        } else {
            raw.scalar(base, base_width)
        },
        descriptor: None,
        offset,
    })
}

/// Whether a vector register takes part in a scratch address: a bit says so, or that there is no scalar
/// one.
fn has_scratch_address(raw: &Raw<'_>, base: u32) -> bool {
    match raw.generation() {
        Generation::Gfx9 | Generation::Gfx908 | Generation::Gfx90a => base == 127,
        Generation::Gfx94x => raw.bit(0, 13),
        Generation::Gfx10 => base == 125,
        Generation::Gfx11 => raw.bit(1, 23),
        Generation::Gfx12 | Generation::Gfx125x => raw.bit(1, 17),
    }
}

fn buffer(raw: &Raw<'_>) -> Access {
    let (offset_enabled, index_enabled) = if raw.generation() >= Generation::Gfx11 {
        (raw.bits(1, 22, 1), raw.bits(1, 23, 1))
    } else {
        (raw.bits(0, 12, 1), raw.bits(0, 13, 1))
    };
    Access {
        kind: AccessKind::Buffer,
        bytes: 0,
        data: None,
        address: buffer_address(raw.bits(1, 0, 8), offset_enabled, index_enabled),
        base: raw.scalar(raw.bits(1, 24, 8), 1),
        descriptor: Some(raw.scalar(raw.bits(1, 16, 5).wrapping_mul(4), 4)),
        offset: raw.bits(0, 0, 12).cast_signed(),
    }
}

fn buffer_gfx12(raw: &Raw<'_>) -> Access {
    Access {
        kind: AccessKind::Buffer,
        bytes: 0,
        data: None,
        address: buffer_address(raw.bits(2, 0, 8), raw.bits(1, 30, 1), raw.bits(1, 31, 1)),
        base: raw.scalar(raw.bits(0, 0, 7), 1),
        descriptor: Some(raw.scalar(raw.bits(1, 9, 9), 4)),
        offset: signed(raw.bits(2, 8, 24), 24),
    }
}

fn buffer_address(n: u32, offset_enabled: u32, index_enabled: u32) -> Option<Span> {
    match offset_enabled.saturating_add(index_enabled) {
        0 => None,
        1 => vgpr(n, 1).registers(),
        _ => vgpr(n, 2).registers(),
    }
}
