//! Computes the places of the parts of a wave's record.
//!
//! Source: AMD's ROCdbgapi (`architecture.cpp`, `register_address`).

use core::ops::Range;

use super::layout::{RecordLayout, State};
use crate::isa::MachineRegister;

/// Offsets from the start of a record, in bytes: the vector registers come first, the gap last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// The start of the accumulation registers. Ordinary vector registers start the record.
    pub(super) agprs: u64,
    /// Shared vector registers.
    pub(super) shared: u64,
    pub(super) sgprs: u64,
    pub(super) hardware: u64,
    pub(super) ttmps: u64,
    pub(super) lds: u64,
    /// The end of LDS, where the gap starts.
    pub(super) gap: u64,
    /// The size of the record.
    pub(super) end: u64,
}

/// Bytes of an accumulation register: 64 lanes.
pub(super) const AGPR: u64 = 64 * 4;
/// Bytes of a shared vector register: 32 lanes.
pub(super) const SHARED: u64 = 32 * 4;
/// Bytes of the trap temporaries.
const TTMPS: u64 = 16 * 4;

impl RecordLayout {
    /// Returns the parts of a wave's record. Only the record of the first wave of a workgroup has LDS.
    pub(super) fn blocks(&self, state: &State, is_first: bool) -> Blocks {
        let bytes = |count: u32, size: u64| u64::from(count).saturating_mul(size);
        let vgpr = u64::from(state.wave_size.lanes()).saturating_mul(4);
        let agprs = bytes(state.vgprs, vgpr);
        let shared = agprs.saturating_add(bytes(state.agprs, AGPR));
        let sgprs = shared.saturating_add(bytes(state.shared, SHARED));
        let hardware = sgprs.saturating_add(bytes(state.sgprs, 4));
        let end = hardware.saturating_add(self.hardware.into());
        let (ttmps, lds) = if self.trap_in_scalars {
            (hardware.saturating_sub(TTMPS), end)
        } else {
            (end, end.saturating_add(TTMPS))
        };
        let gap = lds.saturating_add(if is_first { state.lds.into() } else { 0 });
        Blocks {
            agprs,
            shared,
            sgprs,
            hardware,
            ttmps,
            lds,
            gap,
            end: gap.saturating_add(self.gap.into()),
        }
    }

    /// Returns the numbers of the `saved` scalar registers that have other names. The registers before these are the named ones.
    pub(super) fn aliases(&self, saved: u32) -> Option<Range<u32>> {
        // More registers can be saved than a wave has, including those with other names.
        let end = saved.min(MachineRegister::SCALARS.into());
        Some(end.checked_sub(self.aliases)?..end)
    }
}

#[cfg(test)]
mod tests {
    use crate::gpu_core::layout::Layout;

    /// Sizes worked out by hand from the table of blocks, gap and LDS of the first wave included. gfx906, 4
    /// blocks of 4 vector registers and 96 scalars, 1024 bytes of LDS: 16·256 + 96·4 + 64 + 64 + 1024 + 64. gfx90a,
    /// 32 registers of which 8 are ordinary, 112 scalars: 32·256 + 112·4 + 64 + 64 + 64. gfx1100 wave32, 32
    /// registers: 32·128 + 512 + 64 + 64. gfx1030 wave64, 16 registers and 8 shared ones: 16·256 + 8·128 + 512 +
    /// 64 + 64. gfx1250, 32 registers, 1024 bytes of LDS: 32·128 + 512 + 512 + 1024.
    #[test]
    fn records_are_as_large_as_worked_out_by_hand() {
        let cases = [
            (90_006, 0x8000_0583_u32, true, 5696),
            (90_010, 0x8100_01c3, false, 8832),
            (110_000, 0x8100_0003, false, 4736),
            (100_300, 0x8400_0003, false, 5760),
            (120_500, 0x8100_0401, true, 6144),
        ];
        for (target, word, is_first, size) in cases {
            let layout = Layout::of_target(target).unwrap();
            let state = layout.state.read(word).unwrap();
            let blocks = layout.record.blocks(&state, is_first);
            assert_eq!(blocks.end, size, "{target}: {state:?}");
        }
    }
}
