//! The generations that the tables of kernel descriptors tell apart.

use crate::arch::WaveSize;

/// A group of processors with the same kernel descriptor. In the order of the tables, so that a row can
/// give a first and a last one.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// gfx600 to gfx602.
    Gfx6,
    /// gfx700 to gfx705.
    Gfx7,
    /// gfx801 to gfx810.
    Gfx8,
    /// gfx900 to gfx90c but gfx908 and gfx90a.
    Gfx9,
    /// gfx908: GFX9 with accumulation registers.
    Gfx908,
    /// gfx90a.
    Gfx90a,
    /// gfx940 to gfx942 and their generic processor.
    Gfx942,
    /// gfx950.
    Gfx950,
    /// gfx1010 to gfx1036.
    Gfx10,
    /// gfx1100 to gfx1154.
    Gfx11,
    /// gfx1200 and gfx1201.
    Gfx120,
    /// gfx1250, gfx1250-strict and gfx1251.
    Gfx125,
}

impl Generation {
    /// The generation of a processor, `gfx90a` or `gfx11-generic` for example.
    #[must_use]
    pub fn of_processor(name: &str) -> Option<Generation> {
        let number = name.strip_prefix("gfx")?;
        if let Some(base) = number.strip_suffix("-generic") {
            return Some(match base {
                "9" => Generation::Gfx9,
                "9-4" => Generation::Gfx942,
                "10-1" | "10-3" => Generation::Gfx10,
                "11" => Generation::Gfx11,
                "12" => Generation::Gfx120,
                "12-5" => Generation::Gfx125,
                _ => return None,
            });
        }
        let number = number.strip_suffix("-strict").unwrap_or(number);
        // The last two characters are the minor version and the stepping, in hexadecimal.
        let (major, rest) = number.split_at_checked(number.len().checked_sub(2)?)?;
        let (minor, stepping) = rest.split_at_checked(1)?;
        Some(match (major, minor, stepping) {
            ("6", "0", _) => Generation::Gfx6,
            ("7", "0", _) => Generation::Gfx7,
            ("8", "0" | "1", _) => Generation::Gfx8,
            ("9", "0", "8") => Generation::Gfx908,
            ("9", "0", "a") => Generation::Gfx90a,
            ("9", "0", _) => Generation::Gfx9,
            ("9", "4", _) => Generation::Gfx942,
            ("9", "5", _) => Generation::Gfx950,
            ("10", "1" | "3", _) => Generation::Gfx10,
            ("11", "0" | "5", _) => Generation::Gfx11,
            ("12", "0", _) => Generation::Gfx120,
            ("12", "5", _) => Generation::Gfx125,
            _ => return None,
        })
    }

    /// How many vector registers one block of `GRANULATED_WORKITEM_VGPR_COUNT` stands for.
    pub(super) fn vgpr_granule(self, wave_size: WaveSize) -> u32 {
        match (self, wave_size) {
            (
                Generation::Gfx6
                | Generation::Gfx7
                | Generation::Gfx8
                | Generation::Gfx9
                | Generation::Gfx908,
                _,
            ) => 4,
            (Generation::Gfx90a | Generation::Gfx942 | Generation::Gfx950, _) => 8,
            (Generation::Gfx10 | Generation::Gfx11 | Generation::Gfx120, WaveSize::Wave64) => 4,
            (Generation::Gfx10 | Generation::Gfx11 | Generation::Gfx120, WaveSize::Wave32) => 8,
            (Generation::Gfx125, _) => 16,
        }
    }
}
