//! Facts of the machine: registers, address spaces, processors, and the arithmetic of scratch memory
//! and apertures. It knows nothing of DWARF bytes or files.
//!
//! Source: USAGE, sections "Register Identifier", "Address Space Identifier", "Memory Space
//! Identifier", "Lane identifier", "Processors", "Target ID", "Header" (the ELF flags) and "Address
//! Spaces".

mod aperture;
mod processor;
mod register;
pub mod scratch;
mod space;
mod target_id;

pub use aperture::Apertures;
pub use processor::{
    Architecture, Family, FlatScratch, Processor, ScratchAddressing, TargetFeature,
};
pub use register::{Register, RegisterClass, RegisterKind, RegisterName, RegisterRange};
pub use space::{AddressSpace, MemorySpace};
pub use target_id::{CodeObjectVersion, FeatureSetting, TargetId};

/// How many lanes a wavefront has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaveSize {
    /// 32 lanes.
    Wave32,
    /// 64 lanes.
    Wave64,
}

impl WaveSize {
    /// The number of lanes: 32 or 64.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        match self {
            WaveSize::Wave32 => 32,
            WaveSize::Wave64 => 64,
        }
    }

    /// The wave size with this many lanes.
    #[must_use]
    pub const fn from_lanes(lanes: u64) -> Option<WaveSize> {
        match lanes {
            32 => Some(WaveSize::Wave32),
            64 => Some(WaveSize::Wave64),
            _ => None,
        }
    }

    /// Every lane, from 0.
    pub fn all_lanes(self) -> impl Iterator<Item = Lane> {
        (0u8..).take(self.lanes() as usize).map(Lane)
    }
}

/// The hardware's number of a lane in its wavefront, from 0.
///
/// Source: USAGE "Lane identifier".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub u8);

impl Lane {
    /// Whether a wavefront of this size has the lane.
    #[must_use]
    pub const fn is_in(self, wave_size: WaveSize) -> bool {
        (self.0 as u32) < wave_size.lanes()
    }
}
