//! Describes a wave: the caller's choices, the values derived from its number, and its record in a save area.

use std::sync::Arc;

use super::set64;
use crate::cores::generation::{Generation, halves};

/// A wave.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "fields as in the description of the format")]
pub struct WaveSpec {
    /// The seed of the register values.
    pub seed: u32,
    pub lanes: u32,
    pub vgprs: u32,
    pub agprs: u32,
    pub shared: u32,
    pub sgprs: u32,
    pub lds: u32,
    pub is_first: bool,
    pub is_last: bool,
    pub has_scratch: bool,
    pub engine: u32,
    pub slot: u32,
    pub pc: u64,
    pub exec: u64,
    pub vcc: u64,
    pub flat_scratch: u64,
    pub status: u32,
    pub trapsts: u32,
    pub mode: u32,
    pub state_priv: u32,
    pub excp_priv: u32,
    pub excp_user: u32,
    pub trap_ctrl: u32,
    pub is_stopped: bool,
    pub was_halted: bool,
    pub was_in_handler: bool,
    /// True if the wave was launched without initialized trap temporaries.
    pub is_marked: bool,
    pub trap_id: u32,
    pub packet_index: u32,
    pub workgroup: [u32; 3],
    pub wave_in_group: u32,
    /// The state of a wave that ran, in place of generated values.
    pub copied: Option<Copied>,
}

/// The state of another gfx1100 wave, without LDS.
#[derive(Clone, Debug)]
pub struct Copied {
    /// The saved record.
    pub record: Arc<[u8]>,
    /// The start of the scratch.
    pub scratch: Arc<[u8]>,
}

impl Copied {
    /// Returns the record, moved to another position in the grid and in scratch.
    fn record(&self, wave: &WaveSpec) -> Vec<u8> {
        let mut record = self.record.to_vec();
        let ttmps = record.len() - 64;
        let hardware = ttmps - 64;
        set64(&mut record, hardware + 9 * 4, wave.flat_scratch);
        for (n, word) in (8..).zip(wave.workgroup) {
            record[ttmps + n * 4..ttmps + n * 4 + 4].copy_from_slice(&word.to_le_bytes());
        }
        record[ttmps + 11 * 4] &= !0x3f;
        record
    }
}

/// The pc of a wave that is parked in the trap handler.
pub const TRAP_HANDLER: u64 = 0x7fff_0000_1000;

impl WaveSpec {
    /// Returns a wave of 32 lanes on gfx11. It is the only one of its workgroup, is at address 0 and has no active lane.
    #[must_use]
    pub fn of_gfx11() -> WaveSpec {
        WaveSpec {
            seed: 0,
            lanes: 32,
            vgprs: 8,
            agprs: 0,
            shared: 0,
            sgprs: 128,
            lds: 0,
            is_first: true,
            is_last: true,
            has_scratch: true,
            engine: 0,
            slot: 0,
            pc: 0,
            exec: 0,
            vcc: 0,
            flat_scratch: 0,
            status: 0,
            trapsts: 0,
            mode: 0,
            state_priv: 0,
            excp_priv: 0,
            excp_user: 0,
            trap_ctrl: 0,
            is_stopped: false,
            was_halted: false,
            was_in_handler: true,
            is_marked: false,
            trap_id: 0,
            packet_index: 0,
            workgroup: [0, 0, 0],
            wave_in_group: 0,
            copied: None,
        }
    }

    /// Returns the value of a register, or of a byte of LDS or scratch.
    #[must_use]
    pub fn value(&self, kind: &str, number: u32, lane: u32) -> u32 {
        let start = kind
            .bytes()
            .fold(self.seed.wrapping_mul(0x9e37_79b9), |hash, byte| {
                hash.rotate_left(5) ^ u32::from(byte)
            });
        let mut hash = start ^ number.wrapping_mul(0x85eb_ca6b) ^ lane.wrapping_mul(0xc2b2_ae35);
        for shift in [16, 13, 15] {
            hash = (hash ^ hash >> shift).wrapping_mul(0x27d4_eb2f);
        }
        hash
    }

    /// Returns `M0`.
    #[must_use]
    pub fn m0(&self) -> u32 {
        self.value("m0", 0, 0)
    }

    pub(in crate::cores) fn record(&self, generation: Generation, version: u32) -> Vec<u8> {
        if let Some(copied) = &self.copied {
            return copied.record(self);
        }
        let mut words = Vec::new();
        for n in 0..self.vgprs {
            words.extend((0..self.lanes).map(|lane| self.value("v", n, lane)));
        }
        for n in 0..self.agprs {
            words.extend((0..64).map(|lane| self.value("a", n, lane)));
        }
        for n in 0..self.shared {
            words.extend((0..32).map(|lane| self.value("shared", n, lane)));
        }
        let parked = self.is_stopped && generation.parks(version);
        let saved_pc = if parked { TRAP_HANDLER } else { self.pc };
        let hardware = generation.hardware(self, saved_pc);
        let ttmps = generation.ttmps(self, version);
        let mut scalars: Vec<u32> = (0..self.sgprs).map(|n| self.value("s", n, 0)).collect();
        let named = generation.named_scalars(self.sgprs) as usize;
        if generation.is_gfx9() {
            (scalars[named], scalars[named + 1]) = halves(self.flat_scratch);
            (scalars[named + 4], scalars[named + 5]) = halves(self.vcc);
        } else {
            (scalars[106], scalars[107]) = halves(self.vcc);
        }
        if generation == Generation::Gfx12_5 {
            scalars[112..].copy_from_slice(&ttmps);
            words.extend(scalars);
            words.extend(hardware);
        } else {
            words.extend(scalars);
            words.extend(hardware);
            words.extend(ttmps);
        }
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        if self.is_first {
            bytes.extend((0..self.lds).map(|n| self.lds_byte(n)));
        }
        if generation.is_gfx9() {
            bytes.extend([0xee; 64]);
        }
        bytes
    }

    /// Returns a byte of LDS, in a workgroup whose first wave this is.
    #[must_use]
    pub fn lds_byte(&self, at: u32) -> u8 {
        self.value("lds", at, 0) as u8
    }

    /// Returns a byte of scratch.
    #[must_use]
    pub fn scratch_byte(&self, at: u32) -> u8 {
        let copied = self.copied.as_ref();
        let byte = copied.map(|copied| copied.scratch.get(at as usize).copied().unwrap_or(0));
        byte.unwrap_or_else(|| self.value("scratch", at, 0) as u8)
    }
}
