//! The dwords of a stopped wave that can hold a mask.

use core::cmp::Ordering;
use core::fmt;

use crate::arch::{ScratchAddressing, WaveSize};
use crate::isa::MachineRegister;
use crate::machine_flow::{Row, STACK_REGISTERS};

/// A dword of scratch for each lane, relative to the contents of a scalar register at the stop.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The base register of the address. `None` if the address is a constant.
    pub base: Option<MachineRegister>,
    /// The unit of the base register.
    pub addressing: ScratchAddressing,
    /// The offset in bytes of one lane.
    pub offset: i64,
}

impl Slot {
    fn is_flat(self) -> bool {
        self.addressing == ScratchAddressing::Flat
    }

    /// Returns the offset of a lane's dword of the row in the wave's scratch.
    ///
    /// * `base`: the contents of the base register; 0 if there is none.
    pub(crate) fn address(self, base: u32, lane: u8, wave_size: WaveSize) -> Option<u64> {
        let (base, lanes) = (i64::from(base), i64::from(wave_size.lanes()));
        let row = match self.addressing {
            ScratchAddressing::Flat => base.checked_add(self.offset)?.checked_mul(lanes)?,
            ScratchAddressing::Buffer => base.checked_add(self.offset.checked_mul(lanes)?)?,
        };
        u64::try_from(row.checked_add(i64::from(lane).checked_mul(4)?)?).ok()
    }
}

impl Row for Slot {
    fn is_comparable(self, other: Slot) -> bool {
        self.base == other.base && self.addressing == other.addressing
    }

    fn offset(self) -> i64 {
        self.offset
    }

    fn at(self, offset: i64) -> Slot {
        Slot { offset, ..self }
    }
}

impl Ord for Slot {
    fn cmp(&self, other: &Slot) -> Ordering {
        let key = |slot: &Slot| (slot.base, slot.is_flat(), slot.offset);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Slot) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A dword of the wave's state at a stop. As a mask, it has one bit for each of 32 lanes: bit `lane % 32`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DwordPlace {
    /// A scalar register, including `vcc_lo` and the like.
    Scalar(MachineRegister),
    /// One lane's dword of a vector or accumulation register. The lane holds a scalar value (`v_writelane_b32`), independent of the
    /// work-item of that lane.
    Lane {
        /// The register.
        register: MachineRegister,
        /// The lane.
        lane: u8,
    },
    /// One lane's dword of a vector register that was stored to scratch.
    Scratch {
        /// The row of scratch that holds the register.
        slot: Slot,
        /// The lane.
        lane: u8,
    },
}

impl DwordPlace {
    /// Returns true for a register that stack addresses are relative to.
    pub(super) fn is_stack_register(self) -> bool {
        matches!(self, DwordPlace::Scalar(register) if STACK_REGISTERS.contains(&register))
    }
}

/// Formats a place as `s4`, `v9[4]` or `scratch[s33+24][4]`.
impl fmt::Display for DwordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DwordPlace::Scalar(register) => register.fmt(f),
            DwordPlace::Lane { register, lane } => write!(f, "{register}[{lane}]"),
            DwordPlace::Scratch { slot, lane } => match slot.base {
                Some(base) => write!(f, "scratch[{base}{:+}][{lane}]", slot.offset),
                None => write!(f, "scratch[{}][{lane}]", slot.offset),
            },
        }
    }
}
