//! Facts about the machine: registers, address spaces, processors, and the arithmetic of scratch memory and apertures. The module is
//! independent of DWARF encodings and files.
//!
//! Source: [USAGE](crate), sections "Register Identifier", "Address Space Identifier", "Memory Space
//! Identifier", "Lane identifier", "Processors", "Target ID", "Header" (the ELF flags) and "Address
//! Spaces".
//!
//! ```
//! use hetdwarf::arch::{Processor, Register, RegisterClass, WaveSize};
//!
//! // USAGE "Register Identifier": v3 of a wave of 64 lanes is 2563, and each lane has 32 bits of it.
//! let v3 = Register::from_number(2563).ok_or("no such register")?;
//! assert_eq!((v3.class(), v3.index(), v3.size_in_bits()), (Some(RegisterClass::Vgpr), Some(3), Some(64 * 32)));
//! assert_eq!(Register::vgpr(3, WaveSize::Wave64), Some(v3));
//! assert_eq!(Register::s::<33>().number(), 65);
//!
//! let gfx90a = Processor::by_name("gfx90a").ok_or("no such processor")?;
//! assert!(gfx90a.supports_wave_size(WaveSize::Wave64) && !gfx90a.supports_wave_size(WaveSize::Wave32));
//! # Ok::<(), &str>(())
//! ```

mod aperture;
mod float16;
mod load_address;
mod machine;
mod processor;
mod register;
pub mod scratch;
mod space;
mod target_id;

pub use aperture::Apertures;
pub(crate) use float16::Float16;
pub use load_address::{CodeAddress, LoadAddress, ProcessAddress};
pub use machine::Machine;
pub(crate) use processor::AccumulationFile;
pub use processor::{
    Architecture, Family, FlatScratch, Processor, ScratchAddressing, TargetFeature,
};
pub use register::{
    Register, RegisterClass, RegisterKind, RegisterName, RegisterRange, UnnumberedRegister,
};
pub use space::{AddressSpace, MemorySpace};
pub use target_id::{CodeObjectVersion, FeatureSetting, TargetId};

/// The number of lanes in a wavefront.
///
/// It is exhaustive on purpose: hardware has these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaveSize {
    /// 32 lanes.
    Wave32,
    /// 64 lanes.
    Wave64,
}

impl WaveSize {
    /// Returns the number of lanes: 32 or 64.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        match self {
            WaveSize::Wave32 => 32,
            WaveSize::Wave64 => 64,
        }
    }

    /// Returns the wave size with this many lanes.
    #[must_use]
    pub const fn from_lanes(lanes: u64) -> Option<WaveSize> {
        match lanes {
            32 => Some(WaveSize::Wave32),
            64 => Some(WaveSize::Wave64),
            _ => None,
        }
    }

    /// Returns the mask of all lanes, lane 0 in bit 0.
    #[must_use]
    pub const fn mask(self) -> u64 {
        match self {
            WaveSize::Wave32 => u32::MAX as u64,
            WaveSize::Wave64 => u64::MAX,
        }
    }

    /// Returns the lane with the largest number.
    pub(crate) const fn last_lane(self) -> Lane {
        match self {
            WaveSize::Wave32 => Lane(31),
            WaveSize::Wave64 => Lane(63),
        }
    }

    /// Returns every lane, from 0.
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
    /// Returns the lane's bit in a mask of lanes; 0 for an invalid lane.
    #[must_use]
    pub const fn bit(self) -> u64 {
        match 1_u64.checked_shl(self.0 as u32) {
            Some(bit) => bit,
            None => 0,
        }
    }

    /// Returns true if a wavefront of this size has the lane.
    #[must_use]
    pub const fn is_in(self, wave_size: WaveSize) -> bool {
        (self.0 as u32) < wave_size.lanes()
    }
}
