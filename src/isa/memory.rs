//! The effects of vector memory instructions, and the fields of their registers.
//!
//! LDS and images are left to `writes`, since their effects are not needed. Source: AMD's instruction set architecture documents, "Vector
//! Memory Operations" and "Flat Memory Instructions".

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few of the encodings and shapes have a field elsewhere than most, and the table decides which come here"
)]

use super::effect::{Access, AccessKind, Effect};
use super::field::{Raw, agpr, signed, vgpr};
use super::register::{Operand, Span};
use super::table::{Encoding, Op, ScratchAddress, Shape};

/// Returns the kind of a `flat`, `scratch` or `global` instruction.
pub(super) fn flat_kind(raw: &Raw<'_>) -> Option<AccessKind> {
    let segment = raw.field(raw.features().flat.segment);
    match segment {
        0 => Some(AccessKind::Flat),
        1 => Some(AccessKind::Scratch),
        2 => Some(AccessKind::Global),
        _ => None,
    }
}

/// Returns the prefix of the name for rows that FLAT, SCRATCH and GLOBAL share.
pub(super) fn prefix(raw: &Raw<'_>) -> Option<&'static str> {
    if raw.encoding != Encoding::Flat {
        return Some("");
    }
    Some(match flat_kind(raw)? {
        AccessKind::Scratch => "scratch_",
        AccessKind::Global => "global_",
        AccessKind::Flat | AccessKind::Buffer => "flat_",
    })
}

/// Returns the effect of a load or store whose row has an operation.
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

/// Returns true if the data are in accumulation registers (gfx90a to gfx950).
pub(super) fn is_accumulation(raw: &Raw<'_>) -> bool {
    raw.features().has_accumulation_bit
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

/// Returns the registers that a load or a returning atomic writes. `None` if it goes to LDS.
pub(super) fn load_data(raw: &Raw<'_>, count: u8) -> Option<Operand> {
    let features = raw.features();
    let status = match raw.encoding {
        Encoding::Mubuf | Encoding::Mtbuf | Encoding::Vbuffer => raw.is_set(features.buffer.status),
        Encoding::Mimg | Encoding::Vimage => raw.is_set(features.image.status),
        Encoding::Vsample => raw.bit(0, 3),
        _ => false,
    };
    let lds_bit = match raw.encoding {
        Encoding::Mubuf => features.buffer.to_lds,
        Encoding::Flat => features.flat.to_lds,
        _ => None,
    };
    let to_lds = raw.is_set(lds_bit) && matches!(raw.row.shape, Shape::Load(_));
    let n = match raw.encoding {
        Encoding::Flat => raw.field(features.flat.loaded),
        Encoding::Vbuffer | Encoding::Vimage | Encoding::Vsample => raw.bits(1, 0, 8),
        Encoding::Ds => raw.bits(1, 24, 8),
        _ => raw.bits(1, 8, 8),
    };
    (!to_lds).then(|| data(raw, n, count.saturating_add(u8::from(status))))
}

/// Returns the registers that a store reads.
fn store_data(raw: &Raw<'_>, count: u8) -> Operand {
    let n = match raw.encoding {
        Encoding::Flat => raw.field(raw.features().flat.stored),
        Encoding::Vbuffer => raw.bits(1, 0, 8),
        _ => raw.bits(1, 8, 8),
    };
    data(raw, n, count)
}

/// Returns true if an atomic instruction returns the old value.
pub(super) fn returns(raw: &Raw<'_>) -> bool {
    let returns = &raw.features().returns;
    raw.is_set(match raw.encoding {
        Encoding::Mimg | Encoding::Vimage => Some(returns.image),
        Encoding::Mubuf | Encoding::Vbuffer => Some(returns.buffer),
        Encoding::Flat => Some(returns.flat),
        Encoding::Smem => Some(returns.scalar),
        _ => None,
    })
}

pub(super) fn flat(raw: &Raw<'_>) -> Option<Access> {
    let kind = flat_kind(raw)?;
    let fields = &raw.features().flat;
    let offset = raw.field(fields.offset);
    let offset = if kind == AccessKind::Flat && !fields.has_signed_flat_offset {
        offset.cast_signed()
    } else {
        signed(offset, fields.offset.2)
    };
    let base = raw.field(fields.base);
    let no_base = fields.no_base.contains(&base);
    let flat_without_base = kind == AccessKind::Flat && !fields.has_flat_base;
    let base_width = if kind == AccessKind::Scratch { 1 } else { 2 };
    let address = match kind {
        AccessKind::Scratch => has_scratch_address(raw, base).then_some(1),
        _ if no_base || flat_without_base => Some(2),
        _ => Some(1),
    };
    let n = raw.field(fields.address);
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

/// Returns true if a scratch address has a vector register: a bit is set, or there is no scalar base.
pub(super) fn has_scratch_address(raw: &Raw<'_>, base: u32) -> bool {
    match raw.features().flat.scratch_address {
        ScratchAddress::BaseIs(code) => base == code,
        ScratchAddress::Bit(bit) => raw.is_set(Some(bit)),
    }
}

pub(super) fn buffer(raw: &Raw<'_>) -> Access {
    Access {
        descriptor: Some(raw.scalar(raw.bits(1, 16, 5).wrapping_mul(4), 4)),
        offset: raw.bits(0, 0, 12).cast_signed(),
        ..buffer_at(raw, raw.bits(1, 0, 8), raw.bits(1, 24, 8))
    }
}

pub(super) fn buffer_gfx12(raw: &Raw<'_>) -> Access {
    Access {
        descriptor: Some(raw.scalar(raw.bits(1, 9, 9), 4)),
        offset: signed(raw.bits(2, 8, 24), 24),
        ..buffer_at(raw, raw.bits(2, 0, 8), raw.bits(0, 0, 7))
    }
}

/// Returns a buffer access at the address in `vgpr` and the scalar `base`, without descriptor and offset.
fn buffer_at(raw: &Raw<'_>, vgpr: u32, base: u32) -> Access {
    let fields = &raw.features().buffer;
    let (offset_enabled, index_enabled) = (
        raw.field(fields.offset_enabled),
        raw.field(fields.index_enabled),
    );
    Access {
        kind: AccessKind::Buffer,
        bytes: 0,
        data: None,
        address: buffer_address(vgpr, offset_enabled, index_enabled),
        base: raw.scalar(base, 1),
        descriptor: None,
        offset: 0,
    }
}

fn buffer_address(n: u32, offset_enabled: u32, index_enabled: u32) -> Option<Span> {
    match offset_enabled.saturating_add(index_enabled) {
        0 => None,
        1 => vgpr(n, 1).registers(),
        _ => vgpr(n, 2).registers(),
    }
}
