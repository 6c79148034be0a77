//! Describes how each generation saves a wave, for the writer.
//!
//! This is based on the description of the format, and independent of the table of the library. Here one expression per generation
//! assembles a word; the library takes words apart by fields.

use super::writer::WaveSpec;

/// A generation with its own layout of saved waves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// gfx900 and gfx906.
    Gfx900,
    /// gfx908.
    Gfx908,
    /// gfx90a.
    Gfx90a,
    /// gfx942.
    Gfx942,
    /// gfx950.
    Gfx950,
    /// gfx1010 and related processors.
    Gfx10_1,
    /// gfx1030 and related processors.
    Gfx10_3,
    /// gfx1100 and related processors.
    Gfx11,
    /// gfx1200 and gfx1201.
    Gfx12,
    /// gfx1250.
    Gfx12_5,
}

use Generation::{Gfx10_1, Gfx10_3, Gfx11, Gfx12, Gfx12_5, Gfx90a, Gfx900, Gfx908, Gfx942, Gfx950};

impl Generation {
    /// The generations, each with a target's number in the note and its name.
    pub const TARGETS: [(Generation, u32, &'static str); 11] = [
        (Gfx900, 90_000, "gfx900"),
        (Gfx900, 90_006, "gfx906"),
        (Gfx908, 90_008, "gfx908"),
        (Gfx90a, 90_010, "gfx90a"),
        (Gfx942, 90_402, "gfx942"),
        (Gfx950, 90_500, "gfx950"),
        (Gfx10_1, 100_100, "gfx1010"),
        (Gfx10_3, 100_300, "gfx1030"),
        (Gfx11, 110_000, "gfx1100"),
        (Gfx12, 120_001, "gfx1201"),
        (Gfx12_5, 120_500, "gfx1250"),
    ];

    /// Returns true for the generations of gfx9.
    #[must_use]
    pub fn is_gfx9(self) -> bool {
        self < Gfx10_1
    }

    /// Returns the supported wave sizes.
    #[must_use]
    pub fn lanes(self) -> &'static [u32] {
        match self {
            Gfx12_5 => &[32],
            generation if generation.is_gfx9() => &[64],
            _ => &[32, 64],
        }
    }

    /// Returns true if a stopped wave is parked, for a version of the runtime's interface.
    #[must_use]
    pub fn parks(self, version: u32) -> bool {
        match self {
            Gfx900 | Gfx908 | Gfx90a | Gfx10_1 | Gfx12 => true,
            Gfx11 => version >= 9,
            Gfx942 | Gfx950 | Gfx10_3 | Gfx12_5 => false,
        }
    }

    /// Returns the number of saved scalar registers that have names of their own.
    #[must_use]
    pub fn named_scalars(self, saved: u32) -> u32 {
        if self.is_gfx9() {
            saved.min(108) - 6
        } else {
            106
        }
    }

    /// Returns the words of the wave's state: one or two.
    pub(super) fn state(self, wave: &WaveSpec, second: u32) -> Vec<u32> {
        let sgprs = wave.sgprs / 16;
        match self {
            Gfx900 | Gfx908 => {
                vec![1 << 31 | (wave.vgprs / 4 - 1) | sgprs << 6 | (wave.lds / 512) << 9]
            }
            Gfx90a | Gfx942 | Gfx950 => {
                let lds = wave.lds / if self == Gfx950 { 1280 } else { 512 };
                let all = (wave.vgprs + wave.agprs) / 8 - 1;
                vec![1 << 31 | all | sgprs << 6 | lds << 9 | (wave.vgprs / 4 - 1) << 24]
            }
            Gfx10_1 | Gfx10_3 | Gfx11 | Gfx12 => {
                let is_32 = u32::from(wave.lanes == 32);
                let blocks = wave.vgprs / if wave.lanes == 32 { 8 } else { 4 } - 1;
                // A workgroup that has all of LDS sets a bit of its own.
                let lds = if wave.lds == 128 << 10 {
                    1 << 6
                } else {
                    (wave.lds / 512) << 10
                };
                vec![
                    1 << 31 | blocks | lds | is_32 << 24 | (wave.shared / 8) << 26,
                    second,
                ]
            }
            Gfx12_5 => vec![
                1 << 31 | (wave.vgprs / 16 - 1) | (wave.lds / 1024) << 10 | 1 << 24,
                second,
            ],
        }
    }

    /// Returns the word of a wave.
    pub(super) fn wave_word(self, wave: &WaveSpec) -> u32 {
        let (first, last) = (u32::from(wave.is_first), u32::from(wave.is_last));
        let scratch = u32::from(wave.has_scratch);
        let (engine, slot) = (wave.engine, wave.slot);
        match self {
            Gfx900 | Gfx908 => slot | engine << 11 | scratch << 15 | last << 16 | first << 17,
            Gfx90a | Gfx942 | Gfx950 => {
                slot | engine << 9 | scratch << 15 | last << 16 | first << 17
            }
            Gfx10_1 | Gfx10_3 | Gfx11 | Gfx12 => {
                slot | scratch << 11 | first << 12 | engine << 24 | last << 29
            }
            Gfx12_5 => slot | scratch << 11 | first << 12 | engine << 24 | last << 13,
        }
    }

    /// Returns the hardware registers.
    pub(super) fn hardware(self, wave: &WaveSpec, saved_pc: u64) -> Vec<u32> {
        let mut words: Vec<u32> = (0..if self == Gfx12_5 { 128 } else { 16 })
            .map(|n| wave.value("hardware", n, 0))
            .collect();
        words[0] = wave.m0();
        (words[1], words[2]) = halves(saved_pc);
        let (low, high) = halves(wave.exec);
        words[3] = low;
        // In a wave of 32 lanes the upper half, if present, is undefined.
        if wave.lanes == 64 {
            words[4] = high;
        }
        let (flat_low, flat_high) = halves(wave.flat_scratch);
        match self {
            Gfx900 | Gfx908 | Gfx90a | Gfx942 | Gfx950 => {
                (words[5], words[6], words[9]) = (wave.status, wave.trapsts, wave.mode);
            }
            Gfx10_1 | Gfx10_3 | Gfx11 => {
                (words[5], words[6], words[8]) = (wave.status, wave.trapsts, wave.mode);
                (words[9], words[10]) = (flat_low, flat_high);
            }
            Gfx12 | Gfx12_5 => {
                (words[5], words[6], words[8]) = (wave.state_priv, wave.excp_priv, wave.mode);
                (words[9], words[10]) = (flat_low, flat_high);
                (words[11], words[12], words[13]) = (wave.excp_user, wave.trap_ctrl, wave.status);
            }
        }
        words
    }

    /// Returns the trap temporaries.
    pub(super) fn ttmps(self, wave: &WaveSpec, version: u32) -> [u32; 16] {
        let mut ttmps = [0; 16];
        for (n, word) in (0..).zip(&mut ttmps) {
            *word = wave.value("ttmp", n, 0);
        }
        let [x, y, z] = wave.workgroup;
        let stop = u32::from(wave.is_stopped) << 30 | u32::from(wave.was_halted) << 29;
        let (low, high) = halves(wave.pc);
        let parked = wave.is_stopped && self.parks(version);
        let entered = u32::from(wave.was_in_handler) << 31;
        match self {
            Gfx900 | Gfx908 | Gfx90a | Gfx10_1 | Gfx10_3 | Gfx11 => {
                let mark = u32::from(wave.is_marked) << 31;
                ttmps[6] = mark | stop | wave.trap_id << 25 | wave.packet_index;
                (ttmps[8], ttmps[9], ttmps[10]) = (x, y, z);
                ttmps[11] = ttmps[11] & !0x3f | wave.wave_in_group;
                if parked {
                    ttmps[7] = low;
                    ttmps[11] = ttmps[11] & !(0xffff << 7) | high << 7;
                }
            }
            Gfx942 | Gfx950 => {
                let mark = u32::from(wave.is_marked) << 31;
                ttmps[6] = mark | stop | wave.trap_id << 25 | ttmps[6] & 0x01ff_ffff;
                (ttmps[8], ttmps[9], ttmps[10]) = (x, y, z);
                ttmps[11] = entered | wave.packet_index << 6 | wave.wave_in_group;
            }
            Gfx12 | Gfx12_5 => {
                let dimensions = u32::from(y != 0 || z != 0) << 30;
                ttmps[8] = entered | dimensions | wave.wave_in_group << 25 | wave.packet_index;
                ttmps[9] = x;
                // With one dimension, the other coordinates are undefined.
                if dimensions != 0 {
                    ttmps[7] = z << 16 | y;
                }
                if self == Gfx12_5 {
                    ttmps[6] = stop | ttmps[6] & 0x1fff_ffff;
                    ttmps[11] = wave.trap_id << 28 | ttmps[11] & 0x0fff_ffff;
                } else {
                    ttmps[6] = stop | wave.trap_id << 25 | ttmps[6] & 0x01ff_ffff;
                }
                if parked {
                    ttmps[10] = low;
                    ttmps[11] = ttmps[11] & !(0xffff << 7) | high << 7;
                }
            }
        }
        ttmps
    }

    /// Returns `COMPUTE_TMPRING_SIZE`.
    pub(super) fn tmpring(self, waves: u32, bytes: u32) -> u32 {
        match self {
            Gfx11 | Gfx12 | Gfx12_5 => waves | (bytes / 256) << 12,
            _ => waves | (bytes / 1024) << 12,
        }
    }

    /// Returns the offset of a wave's scratch from the start of the scratch of its XCC.
    #[must_use]
    pub fn scratch_offset(
        self,
        waves: u32,
        engines: u32,
        bytes: u32,
        engine: u32,
        slot: u32,
    ) -> u64 {
        let per_engine = match self {
            Gfx11 | Gfx12 | Gfx12_5 => waves,
            _ => waves / engines,
        };
        u64::from(per_engine * engine + slot) * u64::from(bytes)
    }

    /// Returns the size of the scratch of all waves of an XCC, in bytes.
    #[must_use]
    pub fn scratch_of_xcc(self, waves: u32, engines: u32, bytes: u32) -> u64 {
        let waves = match self {
            Gfx11 | Gfx12 | Gfx12_5 => waves * engines,
            _ => waves,
        };
        u64::from(waves) * u64::from(bytes)
    }
}

pub(super) fn halves(value: u64) -> (u32, u32) {
    (value as u32, (value >> 32) as u32)
}
