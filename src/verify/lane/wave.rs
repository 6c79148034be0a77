//! Provides a synthetic wave with given bits in given places. Nothing else of it can be read.

use core::ops::Range;
use std::collections::BTreeMap;

use crate::arch::{Register, WaveSize};
use crate::isa::MachineRegister;
use crate::lane_flow::{ActiveLanes, DwordPlace, Slot};
use crate::wave::{AccessError, Memory, Wave};

/// The wave.
#[derive(Debug)]
pub(super) struct MadeWave {
    wave_size: WaveSize,
    /// The dwords of registers, by register and index of the dword in it.
    registers: BTreeMap<(Register, u32), u32>,
    /// The dwords of scratch, by address in the wave's scratch.
    scratch: BTreeMap<u64, u32>,
    /// The contents of stack registers.
    bases: BTreeMap<MachineRegister, u32>,
}

/// The distance between the values of stack registers. It exceeds the size of every frame, in bytes of the wave.
const BETWEEN_BASES: u32 = 1 << 26;

impl MadeWave {
    /// Creates a wave of the given size without contents.
    pub(super) fn new(wave_size: WaveSize) -> MadeWave {
        MadeWave {
            wave_size,
            registers: BTreeMap::new(),
            scratch: BTreeMap::new(),
            bases: BTreeMap::new(),
        }
    }

    /// Sets the active lanes in the representation that the code uses at a place. If EXEC does not represent them, it gets other lanes.
    pub(super) fn set_active(&mut self, active: ActiveLanes, lanes: u64) {
        let (exec, saved) = match active {
            ActiveLanes::Exec => (lanes, None),
            ActiveLanes::Saved(register) => (u64::MAX, Some(register)),
            ActiveLanes::NotExec => (!lanes, None),
        };
        self.set_mask(MachineRegister::ExecLo, exec);
        if let Some(register) = saved {
            self.set_mask(register, lanes);
        }
    }

    fn set_mask(&mut self, register: MachineRegister, mask: u64) {
        let low = u32::try_from(mask & u64::from(u32::MAX)).unwrap_or(0);
        let high = u32::try_from(mask >> 32).unwrap_or(0);
        self.set_scalar(register, low);
        if self.wave_size == WaveSize::Wave64
            && let Some(register) = register.plus(1)
        {
            self.set_scalar(register, high);
        }
    }

    fn set_scalar(&mut self, register: MachineRegister, word: u32) {
        if let Some((register, is_upper)) = register.dwarf(self.wave_size) {
            self.registers.insert((register, is_upper.into()), word);
        }
    }

    /// Sets a dword in a place.
    pub(super) fn set(&mut self, place: DwordPlace, word: u32) {
        match place {
            DwordPlace::Scalar(register) => self.set_scalar(register, word),
            DwordPlace::Lane { register, lane } => {
                if let Some((register, _)) = register.dwarf(self.wave_size) {
                    self.registers.insert((register, lane.into()), word);
                }
            }
            DwordPlace::Scratch { slot, lane } => {
                if let Some(address) = self.address(slot, lane) {
                    self.scratch.insert(address, word);
                }
            }
        }
    }

    /// Returns the address of a lane's dword in a scratch slot. Gives the stack register of the slot a value.
    fn address(&mut self, slot: Slot, lane: u8) -> Option<u64> {
        let base = match slot.base {
            Some(register) => {
                let number = u32::try_from(self.bases.len()).ok()?.checked_add(1)?;
                let new = BETWEEN_BASES.checked_mul(number)?;
                let base = *self.bases.entry(register).or_insert(new);
                self.set_scalar(register, base);
                base
            }
            None => 0,
        };
        slot.address(base, lane, self.wave_size)
    }
}

impl Wave for MadeWave {
    fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        for (bit, out) in bits.step_by(8).zip(out) {
            let word = self.registers.get(&(register, bit / 32));
            let bytes = word.ok_or(AccessError::Unavailable)?.to_le_bytes();
            let [a, b, c, d] = bytes;
            *out = match bit / 8 % 4 {
                0 => a,
                1 => b,
                2 => c,
                _ => d,
            };
        }
        Ok(())
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let Memory::PrivateWave = memory else {
            return Err(AccessError::Unavailable);
        };
        for (address, out) in (address..).zip(out) {
            let word = self.scratch.get(&(address & !3));
            let bytes = word.ok_or(AccessError::Unavailable)?.to_le_bytes();
            let [a, b, c, d] = bytes;
            *out = match address & 3 {
                0 => a,
                1 => b,
                2 => c,
                _ => d,
            };
        }
        Ok(())
    }
}
