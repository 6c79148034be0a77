//! Finds the memory that an instruction accesses, and its effect on the counters of outstanding accesses.
//!
//! Unlike an [`Access`](super::Access), a [`Reach`] also exists for atomic operations, scalar loads and typed buffers, since any of them
//! can fault. Callers compute the addresses. Sources: AMD's instruction set architecture documents, "Manually Inserted Wait States" and
//! "`S_WAITCNT`", "Scalar Memory Operations", "Vector Memory Operations" and "Flat Memory Instructions".

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few of the encodings and shapes reach memory"
)]

use super::effect::{AccessKind, Effect};
use super::field::Raw;
use super::memory::{buffer, buffer_gfx12, flat, returns};
use super::register::{Operand, Span};
use super::table::{Encoding, Op, Shape, WaitCounts};
use super::{Decoder, scalar};
use crate::arch::Family;

/// The operation of an access on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Operation {
    Load,
    Store,
    Atomic,
}

/// The kind of instructions that access memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReachKind {
    /// The access kind of vector memory instructions.
    Vector(AccessKind),
    /// `s_load_*`, `s_store_*`, `s_atomic_*`: a whole address.
    Scalar,
    /// `s_buffer_*`: through a descriptor.
    ScalarBuffer,
}

/// The memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) kind: ReachKind,
    pub(crate) operation: Operation,
    /// The bytes of memory: for each lane, or in total for a scalar access.
    pub(crate) bytes: u8,
    /// True if registers are loaded, which is optional for an atomic operation.
    pub(crate) returns: bool,
    /// The vector registers of the address.
    pub(crate) address: Option<Span>,
    /// The scalar part: a base address of 64 bits, or an offset of 32.
    pub(crate) base: Operand,
    /// The descriptor of a buffer.
    pub(crate) descriptor: Option<Operand>,
    /// For a scalar access, a scalar register that is added.
    pub(crate) index: Operand,
    /// The constant part, in bytes.
    pub(crate) offset: i32,
    /// True if the vector registers of a buffer access contain an offset, and an index before it.
    pub(crate) has_offset: bool,
    pub(crate) has_index: bool,
}

/// A counter of outstanding accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counter {
    /// `vmcnt`, `loadcnt`.
    Load,
    /// `vscnt`, `storecnt`; `vmcnt` on gfx9.
    Store,
    /// `lgkmcnt`, `dscnt`.
    Local,
    /// `lgkmcnt`, `kmcnt`.
    Scalar,
}

impl Counter {
    pub(crate) const COUNT: usize = 4;
}

/// The most accesses that may be outstanding after a wait, by [`Counter`]; `None` if it does not wait for the counter.
pub(crate) type Waits = [Option<u32>; Counter::COUNT];

impl Reach {
    /// Returns the counter that tracks the completion of the access.
    pub(crate) fn counter(&self) -> Counter {
        match (self.kind, self.operation) {
            (ReachKind::Scalar | ReachKind::ScalarBuffer, _) => Counter::Scalar,
            (ReachKind::Vector(_), Operation::Load) => Counter::Load,
            (ReachKind::Vector(_), Operation::Store) => Counter::Store,
            (ReachKind::Vector(_), Operation::Atomic) if self.returns => Counter::Load,
            (ReachKind::Vector(_), Operation::Atomic) => Counter::Store,
        }
    }

    /// Returns true if accesses of its kind complete in the order of issue. Scalar accesses do not, and flat accesses have two paths to
    /// memory.
    pub(crate) fn is_ordered(&self) -> bool {
        match self.kind {
            ReachKind::Vector(kind) => kind != AccessKind::Flat,
            ReachKind::Scalar | ReachKind::ScalarBuffer => false,
        }
    }
}

impl Decoder {
    /// Returns the memory that the instruction at the start of `bytes` accesses, if it is global memory or scratch.
    pub(crate) fn reach(&self, bytes: &[u8], address: u64) -> Option<Reach> {
        let (raw, _) = self.raw(bytes, address).ok()?;
        match raw.encoding {
            Encoding::Flat | Encoding::Mubuf | Encoding::Mtbuf | Encoding::Vbuffer => vector(&raw),
            Encoding::Smem => scalar_reach(&raw),
            _ => None,
        }
    }

    /// Returns the counters that the instruction at the start of `bytes` waits for, if it waits for accesses.
    pub(crate) fn waits(&self, bytes: &[u8], address: u64) -> Option<Waits> {
        let (raw, _) = self.raw(bytes, address).ok()?;
        if raw.row.op != Op::Wait {
            return None;
        }
        let (name, _) = raw.row.text.parts();
        let value = raw.bits(0, 0, 16);
        let is_old = matches!(self.family(), Family::Gfx9 | Family::Gfx908)
            || matches!(
                self.family(),
                Family::Gfx90a | Family::Gfx942 | Family::Gfx950
            );
        let mut waits = Waits::default();
        let mut set = |counter: Counter, count: u32| {
            if let Some(wait) = waits.get_mut(counter as usize) {
                *wait = Some(count);
            }
        };
        // Two counts in one value. A register may be added to the count.
        let (high, low) = (value >> 8 & 0x3f, value & 0x3f);
        let is_plain = raw.scalar(raw.bits(0, 16, 7), 1) == Operand::Null;
        match name {
            "s_waitcnt" => {
                let counts = raw.features().wait_counts;
                if let Some(count) = field(counts, "vmcnt", value) {
                    set(Counter::Load, count);
                    if is_old {
                        set(Counter::Store, count);
                    }
                }
                if let Some(count) = field(counts, "lgkmcnt", value) {
                    set(Counter::Local, count);
                    set(Counter::Scalar, count);
                }
            }
            "s_waitcnt_vmcnt" if is_plain => set(Counter::Load, value),
            "s_waitcnt_vscnt" if is_plain => set(Counter::Store, value),
            "s_waitcnt_lgkmcnt" if is_plain => {
                set(Counter::Local, value);
                set(Counter::Scalar, value);
            }
            "s_wait_idle" => {
                for counter in [
                    Counter::Load,
                    Counter::Store,
                    Counter::Local,
                    Counter::Scalar,
                ] {
                    set(counter, 0);
                }
            }
            "s_wait_loadcnt" => set(Counter::Load, value),
            "s_wait_storecnt" => set(Counter::Store, value),
            "s_wait_dscnt" => set(Counter::Local, value),
            "s_wait_kmcnt" => set(Counter::Scalar, value),
            "s_wait_loadcnt_dscnt" => {
                set(Counter::Load, high);
                set(Counter::Local, low);
            }
            "s_wait_storecnt_dscnt" => {
                set(Counter::Store, high);
                set(Counter::Local, low);
            }
            _ => return None,
        }
        Some(waits)
    }
}

/// Returns a count in the immediate of `s_waitcnt`; `None` if it has the maximum value, which does not wait.
fn field(counts: WaitCounts, wanted: &str, value: u32) -> Option<u32> {
    let (_, parts) = counts.iter().find(|(name, _)| *name == wanted)?;
    let (mut count, mut most, mut shift) = (0_u32, 0_u32, 0_u32);
    for (low, width) in *parts {
        let mask = 1_u32.checked_shl(*width)?.wrapping_sub(1);
        count |= (value.checked_shr(*low)? & mask).checked_shl(shift)?;
        most |= mask.checked_shl(shift)?;
        shift = shift.checked_add(*width)?;
    }
    (count != most).then_some(count)
}

fn vector(raw: &Raw<'_>) -> Option<Reach> {
    let (name, _) = raw.row.text.parts();
    // Their addresses contain the lane's number.
    if name.contains("addtid") {
        return None;
    }
    let (operation, count, returns) = match raw.row.shape {
        Shape::Load(count) | Shape::LoadByWave(count) => (Operation::Load, count, true),
        Shape::Store(count) => (Operation::Store, count, false),
        Shape::Atomic(count) => (Operation::Atomic, count, returns(raw)),
        Shape::None if name.contains("load_lds_") || name.contains("_lds_load_") => {
            (Operation::Load, dwords(name), true)
        }
        _ => return None,
    };
    let bytes = match raw.row.op {
        Op::Access(bytes) => bytes,
        _ if name.ends_with("byte") => 1,
        _ if name.ends_with("short") => 2,
        _ => count.saturating_mul(4),
    };
    let access = match raw.encoding {
        Encoding::Flat => flat(raw)?,
        Encoding::Vbuffer => buffer_gfx12(raw),
        _ => buffer(raw),
    };
    let fields = &raw.features().buffer;
    let is_buffer = access.kind == AccessKind::Buffer;
    Some(Reach {
        kind: ReachKind::Vector(access.kind),
        operation,
        bytes,
        returns,
        address: access.address,
        base: access.base,
        descriptor: access.descriptor,
        index: Operand::Null,
        offset: access.offset,
        has_offset: is_buffer && raw.field(fields.offset_enabled) != 0,
        has_index: is_buffer && raw.field(fields.index_enabled) != 0,
    })
}

/// Returns the number of dwords in the suffix of a name: `…_dwordx4`, `…_b128`.
fn dwords(name: &str) -> u8 {
    const ENDS: [(&str, u8); 10] = [
        ("x16", 16),
        ("x8", 8),
        ("x4", 4),
        ("x3", 3),
        ("x2", 2),
        ("b512", 16),
        ("b256", 8),
        ("b128", 4),
        ("b96", 3),
        ("b64", 2),
    ];
    let found = ENDS.iter().find(|(end, _)| name.ends_with(end));
    found.map_or(1, |(_, count)| *count)
}

fn scalar_reach(raw: &Raw<'_>) -> Option<Reach> {
    let (name, _) = raw.row.text.parts();
    let is_buffer = name.starts_with("s_buffer_");
    let rest = name.strip_prefix(if is_buffer { "s_buffer_" } else { "s_" })?;
    let operation = match rest.split('_').next()? {
        "load" => Operation::Load,
        "store" => Operation::Store,
        "atomic" => Operation::Atomic,
        _ => return None,
    };
    let bytes = match rest {
        "load_i8" | "load_u8" => 1,
        "load_i16" | "load_u16" => 2,
        _ => dwords(name).saturating_mul(4),
    };
    let Effect::ScalarLoad {
        base,
        index,
        offset,
        ..
    } = scalar::load(raw)
    else {
        return None;
    };
    let wide = base.registers().map(|span| Span::new(span.first, 4));
    Some(Reach {
        kind: if is_buffer {
            ReachKind::ScalarBuffer
        } else {
            ReachKind::Scalar
        },
        operation,
        bytes,
        returns: operation != Operation::Store,
        address: None,
        base: if is_buffer { Operand::Null } else { base },
        descriptor: wide.filter(|_| is_buffer).map(Operand::Registers),
        index,
        offset,
        has_offset: false,
        has_index: false,
    })
}
