//! Implements [`Snapshot`]: one stopped wavefront in memory and, with the feature `serde`, in a file of the format `hetdwarf-wave/1`.
//!
//! It implements the interface to a debugger. Interpreting registers and bytes is left to the callers. A register or byte that was not set is
//! unavailable.

mod contents;
#[cfg(feature = "serde")]
mod json;
mod memory;
#[cfg(feature = "serde")]
mod read;
#[cfg(test)]
mod tests;
#[cfg(feature = "serde")]
mod write;

use core::ops::Range;
use std::collections::BTreeMap;

use super::{AccessError, Dispatch, Memory, StopReasons, Wave};
use crate::arch::{
    Apertures, Lane, LoadAddress, ProcessAddress, Register, UnnumberedRegister, WaveSize,
};
use crate::error::{Error, Result};
use contents::Contents;
use memory::Regions;

/// The known state of a stopped wavefront.
///
/// ```
/// use hetdwarf::arch::{Register, WaveSize};
/// use hetdwarf::wave::{Memory, Snapshot, Wave};
///
/// let mut wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0x1a1c);
/// wave.add_memory(Memory::Local, 0x10, &[0x2a, 0, 0, 0])?;
///
/// let mut word = [0; 4];
/// wave.read_memory(Memory::Local, 0x10, &mut word).unwrap();
/// assert_eq!(u32::from_le_bytes(word), 42);
/// assert!(wave.read_memory(Memory::Local, 0x12, &mut word).is_err());
///
/// wave.read_register(Register::PC_64, 0..32, &mut word).unwrap();
/// assert_eq!(u32::from_le_bytes(word), 0x1a1c);
/// # Ok::<(), hetdwarf::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The processor, as in `-mcpu`: `gfx1100`, `gfx90a:xnack+`.
    pub target: String,
    /// The load address: the difference between run-time addresses and addresses of the code object.
    pub load_address: LoadAddress,
    /// The apertures of the generic address space for local and private memory. `None` if unknown.
    pub apertures: Option<Apertures>,
    /// The dispatch of the wave. `None` if unknown.
    pub dispatch: Option<Dispatch>,
    /// The reasons why the wave stopped, if known.
    pub stop: Option<StopReasons>,
    /// The address of the access that faulted, in global memory, if known.
    pub fault_address: Option<u64>,
    wave_size: WaveSize,
    focus_lane: Option<Lane>,
    /// The registers by DWARF number, including `PC_64`.
    registers: BTreeMap<Register, Contents>,
    /// The registers without a DWARF number.
    unnumbered: BTreeMap<UnnumberedRegister, u64>,
    memory: BTreeMap<Memory, Regions>,
}

impl Snapshot {
    /// Creates a wave with only a known position.
    ///
    /// * `pc`: a run-time address.
    #[must_use]
    pub fn new(
        target: impl Into<String>,
        wave_size: WaveSize,
        pc: impl Into<ProcessAddress>,
    ) -> Snapshot {
        let ProcessAddress(pc) = pc.into();
        Snapshot {
            target: target.into(),
            load_address: LoadAddress(0),
            apertures: None,
            dispatch: None,
            stop: None,
            fault_address: None,
            wave_size,
            focus_lane: None,
            registers: BTreeMap::from([(Register::PC_64, Contents::scalar(&pc.to_le_bytes()))]),
            unnumbered: BTreeMap::new(),
            memory: BTreeMap::new(),
        }
    }

    /// Returns the run-time address of the next instruction.
    #[must_use]
    pub fn pc(&self) -> ProcessAddress {
        let pc = self.registers.get(&Register::PC_64);
        ProcessAddress(pc.map_or(0, Contents::low))
    }

    /// Returns the lane selected by the user, or `None` if none is selected.
    #[must_use]
    pub fn focus_lane(&self) -> Option<Lane> {
        self.focus_lane
    }

    /// Sets the lane selected by the user.
    ///
    /// # Errors
    /// If the wave has no such lane.
    pub fn set_focus_lane(&mut self, lane: Option<Lane>) -> Result<()> {
        let lanes = self.wave_size.lanes();
        match lane {
            Some(Lane(lane)) if u32::from(lane) >= lanes => Err(fault(format!(
                "expected a lane below {lanes}, found {lane}"
            ))),
            lane => {
                self.focus_lane = lane;
                Ok(())
            }
        }
    }

    /// Sets the value of a register that all lanes share, zero-extended to the register's size.
    ///
    /// # Errors
    /// If the value has more bits than the register, or the register is reserved, of the other wave
    /// size, or a vector register.
    pub fn set_register(&mut self, register: Register, value: u64) -> Result<()> {
        let size = self.size_of(register)?;
        if register.is_vector() {
            let lanes = self.wave_size.lanes();
            return Err(fault(format!(
                "expected a list of {lanes} lanes, found one value"
            )));
        }
        let bytes = value.to_le_bytes();
        let fits = size >= u64::BITS || value.checked_shr(size).unwrap_or(0) == 0;
        let bytes = bytes.get(..size.div_ceil(8) as usize).filter(|_| fits);
        let Some(bytes) = bytes else {
            return Err(fault(format!(
                "expected a value of {size} bits, found {value:#x}"
            )));
        };
        self.registers.insert(register, Contents::scalar(bytes));
        Ok(())
    }

    /// Sets the value of a register without a DWARF number.
    ///
    /// # Errors
    /// If the value has more bits than the register.
    pub fn set_unnumbered(&mut self, register: UnnumberedRegister, value: u64) -> Result<()> {
        let size = register.size_in_bits();
        if value.checked_shr(size).unwrap_or(0) != 0 {
            return Err(fault(format!(
                "expected a value of {size} bits, found {value:#x}"
            )));
        }
        self.unnumbered.insert(register, value);
        Ok(())
    }

    /// Sets the value of a vector register in each lane, from lane 0. `None` for an unknown lane.
    ///
    /// # Errors
    /// If there are not as many values as lanes, or the register is reserved, of the other wave size, or
    /// no vector register.
    pub fn set_lanes(&mut self, register: Register, lanes: &[Option<u32>]) -> Result<()> {
        self.size_of(register)?;
        if !register.is_vector() {
            return Err(fault("expected one value, found a list of lanes".into()));
        }
        let expected = self.wave_size.lanes();
        if lanes.len() != expected as usize {
            let found = lanes.len();
            return Err(fault(format!(
                "expected a list of {expected} lanes, found {found}"
            )));
        }
        self.registers.insert(register, Contents::vector(lanes));
        Ok(())
    }

    /// Sets the bytes at `address` of `memory`.
    ///
    /// # Errors
    /// If they reach past the end of the memory, or differ from bytes set before. Nothing changes then.
    pub fn add_memory(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<()> {
        memory::check(memory, address, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let regions = self.memory.entry(memory).or_default();
        regions.insert(address, bytes).map_err(|address| {
            let name = memory.address_space().name();
            fault(format!(
                "two regions have different bytes at {address:#x} of {name}"
            ))
        })
    }

    /// Reads a file of the format `hetdwarf-wave/1` (`spec-notes/snapshot.md`). An unknown field is an error, so that a mistyped name is not ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](crate::error::ErrorKind::Malformed) if it does not have that format. The error gives the field, and the expected
    /// value.
    #[cfg(feature = "serde")]
    pub fn from_json(text: &[u8]) -> Result<Snapshot> {
        read::from_json(text)
    }

    /// Returns a file of the format `hetdwarf-wave/1`, which [`from_json`](Snapshot::from_json) reads back to an equal snapshot.
    #[cfg(feature = "serde")]
    #[must_use]
    pub fn to_json(&self) -> String {
        write::Document(self).to_string()
    }

    /// Returns the size of a register of this wave, in bits.
    fn size_of(&self, register: Register) -> Result<u32> {
        let number = register.number();
        let Some(size) = register.size_in_bits() else {
            return Err(fault(format!("DWARF register {number} is reserved")));
        };
        match register.wave_size() {
            Some(other) if other != self.wave_size => Err(fault(format!(
                "expected a register of {} lanes, found DWARF register {number}, which has {}",
                self.wave_size.lanes(),
                other.lanes()
            ))),
            _ => Ok(size),
        }
    }
}

/// Creates an error about a snapshot.
fn fault(reason: String) -> Error {
    Error::malformed("wave snapshot", reason)
}

impl Wave for Snapshot {
    fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        let contents = self
            .registers
            .get(&register)
            .ok_or(AccessError::Unavailable)?;
        let bytes = contents.read(bits, out.len())?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn read_unnumbered(&self, register: UnnumberedRegister) -> Result<u64, AccessError> {
        let value = self.unnumbered.get(&register).copied();
        value.ok_or(AccessError::Unavailable)
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        if out.is_empty() {
            return Ok(());
        }
        let regions = self.memory.get(&memory).ok_or(AccessError::Unavailable)?;
        let bytes = regions
            .read(address, out.len())
            .ok_or(AccessError::Unavailable)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn apertures(&self) -> Option<Apertures> {
        self.apertures
    }

    fn dispatch(&self) -> Option<Dispatch> {
        self.dispatch
    }

    fn stop_reasons(&self) -> Option<StopReasons> {
        self.stop
    }

    fn write_register(
        &mut self,
        register: Register,
        bits: Range<u32>,
        bytes: &[u8],
    ) -> Result<(), AccessError> {
        let contents = self
            .registers
            .get_mut(&register)
            .ok_or(AccessError::Unavailable)?;
        contents.write(bits, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    fn write_memory(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), AccessError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let regions = self
            .memory
            .get_mut(&memory)
            .ok_or(AccessError::Unavailable)?;
        let slot = regions
            .write(address, bytes.len())
            .ok_or(AccessError::Unavailable)?;
        slot.copy_from_slice(bytes);
        Ok(())
    }
}
