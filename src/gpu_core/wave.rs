//! Implements [`Wave`] for a wave of a core.
//!
//! Registers and memory are read from the files on demand. DWARF numbers cover the program counter, `EXEC`, `VCC`, `STATUS`, scalar, vector and
//! accumulation registers (USAGE "Register Identifier"). [`CoreWave::hardware_register`] and [`CoreWave::trap_temporary`] read the others.

use core::ops::Range;

use super::GpuCore;
use super::hardware_register::HardwareRegister;
use super::layout::{Layout, Words};
use super::note::Agent;
use super::queue::{Dispatch, Queue};
use super::record::{AGPR, Blocks, SHARED};
use super::save_area::SavedWave;
use super::scratch::Scratch;
use super::stop::StopReasons;
use super::trap::SavedWords;
use crate::arch::{
    Apertures, ProcessAddress, Register, RegisterClass, UnnumberedRegister, WaveSize,
};
use crate::wave::{self, AccessError, Memory, Wave};

/// The stored data of a wave.
#[derive(Debug)]
pub(super) struct WaveRecord {
    pub(super) queue: usize,
    pub(super) agent: usize,
    pub(super) layout: &'static Layout,
    pub(super) xcc: u32,
    pub(super) saved: SavedWave,
    pub(super) words: SavedWords,
    /// The address of the LDS of its workgroup.
    pub(super) lds: Option<u64>,
    pub(super) state: WaveState,
    pub(super) stops: StopReasons,
    pub(super) is_halted: bool,
    pub(super) pc: u64,
    pub(super) packet_id: Option<u64>,
    /// The workgroup, and the wave's number in it.
    pub(super) place: Option<([u32; 3], u32)>,
    pub(super) scratch: Option<Scratch>,
}

/// The state of a wave: stopped or running.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaveState {
    /// The wave was running when the file was written, and was only switched out.
    Running,
    /// The wave had stopped.
    Stopped,
    /// The record may be at another place, or belong to another wave. No fact about the wave is certain.
    Unsure,
}

impl WaveState {
    /// Returns the name: `running`, `stopped` or `unsure`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            WaveState::Running => "running",
            WaveState::Stopped => "stopped",
            WaveState::Unsure => "unsure",
        }
    }
}

/// A wave of a core.
#[derive(Clone, Copy)]
pub struct CoreWave<'c, 'data> {
    pub(super) core: &'c GpuCore<'data>,
    pub(super) index: usize,
    pub(super) record: &'c WaveRecord,
}

impl core::fmt::Debug for CoreWave<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CoreWave")
            .field("index", &self.index)
            .field("record", self.record)
            .finish_non_exhaustive()
    }
}

impl<'c> CoreWave<'c, '_> {
    /// Returns its number among all waves, from 0, in the order of queues, XCCs and control stacks.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns its queue.
    #[must_use]
    pub fn queue(&self) -> Option<&'c Queue> {
        self.core.queues().get(self.record.queue)
    }

    /// Returns its agent.
    #[must_use]
    pub fn agent(&self) -> Option<&'c Agent> {
        self.core.agents().get(self.record.agent)
    }

    /// Returns the number of its XCC, from 0.
    #[must_use]
    pub fn xcc(&self) -> u32 {
        self.record.xcc
    }

    /// Returns the address of the next instruction in the process.
    #[must_use]
    pub fn pc(&self) -> ProcessAddress {
        ProcessAddress(self.record.pc)
    }

    /// Returns the mask of active lanes.
    #[must_use]
    pub fn exec(&self) -> u64 {
        self.hardware_register(HardwareRegister::Exec).unwrap_or(0)
    }

    /// Returns the state: stopped or running.
    #[must_use]
    pub fn state(&self) -> WaveState {
        self.record.state
    }

    /// Returns the reasons why it stopped. There are none if a debugger stopped it, or it did not stop.
    #[must_use]
    pub fn stops(&self) -> StopReasons {
        self.record.stops
    }

    /// Returns the id of the packet that launched it.
    #[must_use]
    pub fn packet_id(&self) -> Option<u64> {
        self.record.packet_id
    }

    /// Returns the dispatch that it belongs to.
    #[must_use]
    pub fn dispatch(&self) -> Option<&'c Dispatch> {
        self.core
            .dispatch(self.record.queue, self.record.packet_id?)
    }

    /// Returns the index of its dispatch in [`GpuCore::dispatches`].
    #[must_use]
    pub fn dispatch_index(&self) -> Option<usize> {
        self.core
            .dispatch_index(self.record.queue, self.record.packet_id?)
    }

    /// Returns the position of its workgroup, counted in workgroups, in each dimension.
    #[must_use]
    pub fn workgroup(&self) -> Option<[u32; 3]> {
        self.record.place.map(|(workgroup, _)| workgroup)
    }

    /// Returns its number in its workgroup, from 0.
    #[must_use]
    pub fn wave_in_group(&self) -> Option<u32> {
        self.record.place.map(|(_, wave)| wave)
    }

    /// Returns the place of its scratch in the memory of the process, or `None` if it has none or the place is unknown.
    #[must_use]
    pub fn scratch(&self) -> Option<Scratch> {
        self.record.scratch
    }

    /// Returns the LDS of its workgroup, in bytes.
    #[must_use]
    pub fn lds_size(&self) -> u32 {
        self.record.saved.state.lds
    }

    /// Returns true if a debugger halted it at launch. It has not run any instruction, and debuggers do not show it.
    #[must_use]
    pub fn is_halted_at_launch(&self) -> bool {
        let entry = || {
            let descriptor = self.dispatch()?.packet.kernel_object;
            let offset = self.core.memory.u64(descriptor.checked_add(ENTRY)?)?;
            Some(descriptor.wrapping_add(offset))
        };
        self.record.is_halted
            && self.record.state == WaveState::Running
            && entry().is_some_and(|entry| {
                let preloaded = entry.wrapping_add(PRELOADED_ENTRY);
                self.record.pc == entry || self.record.pc == preloaded
            })
    }

    /// Returns the saved value of a hardware register, zero-extended from 32 bits. Returns `None` if the generation has no such register, or it is
    /// not in the file.
    #[must_use]
    pub fn hardware_register(&self, register: HardwareRegister) -> Option<u64> {
        let layout = self.record.layout;
        let place = layout.place(register)?;
        let is_wide = match self.wave_size() {
            WaveSize::Wave32 => place.is_wide_in_wave32,
            WaveSize::Wave64 => place.is_wide,
        };
        let value = match place.words {
            Words::Hardware(_) => self.record.words.pair(layout, register),
            Words::Alias(alias) => {
                let aliases = layout.record.aliases(self.record.saved.state.sgprs)?;
                let number = aliases.start.checked_add(alias)?;
                let at = self.scalar_address(number)?;
                if is_wide {
                    self.core.memory.u64(at)?
                } else {
                    self.core.memory.u32(at)?.into()
                }
            }
        };
        Some(if is_wide { value } else { value & 0xffff_ffff })
    }

    /// Returns the trap temporary with this number, below 16.
    #[must_use]
    pub fn trap_temporary(&self, number: usize) -> Option<u32> {
        self.record.words.ttmps.get(number).copied()
    }

    /// Returns `STATUS` as debuggers show it: with `HALT` from before the trap handler, and without the bits set by the handler and the context save.
    fn status(&self) -> Option<u32> {
        let status = self.hardware_register(HardwareRegister::Status)?;
        let layout = self.record.layout.status;
        let mut status = u32::try_from(status).ok()?;
        for bits in layout.hidden {
            status = bits.set(status, false);
        }
        if let (HardwareRegister::Status, halt) = layout.halt {
            status = halt.set(status, self.record.is_halted);
        }
        Some(status)
    }

    fn blocks(&self) -> Blocks {
        // The starts of the parts do not depend on LDS, which comes after them.
        let layout = self.record.layout;
        layout.record.blocks(&self.record.saved.state, false)
    }

    fn scalar_address(&self, number: u32) -> Option<u64> {
        let start = self.record.saved.record.checked_add(self.blocks().sgprs)?;
        (number < self.record.saved.state.sgprs)
            .then(|| start.checked_add(u64::from(number).checked_mul(4)?))?
    }

    /// Returns the address of a vector register and the number of its bytes saved.
    fn vector(&self, class: RegisterClass, number: u32) -> Option<(u64, u64)> {
        let state = &self.record.saved.state;
        let lost = self.record.layout.no_vgprs.is_some_and(|(register, bits)| {
            let word = self.record.words.low(self.record.layout, register);
            word.is_some_and(|word| bits.any(word))
        });
        if lost {
            return None;
        }
        let blocks = self.blocks();
        let ordinary = u64::from(state.wave_size.lanes()).checked_mul(4)?;
        let (start, number, size) = if class == RegisterClass::Agpr {
            (number < state.agprs).then_some((blocks.agprs, number, AGPR))?
        } else if number < state.vgprs {
            (0, number, ordinary)
        } else {
            let number = number.checked_sub(state.vgprs)?;
            (number < state.shared).then_some((blocks.shared, number, SHARED))?
        };
        let at = start.checked_add(u64::from(number).checked_mul(size)?)?;
        Some((self.record.saved.record.checked_add(at)?, size))
    }

    /// Returns the bytes of a register that is not stored directly in the file.
    fn value(&self, register: Register) -> Option<[u8; 8]> {
        let value = match register.class()? {
            RegisterClass::Pc => self.record.pc,
            RegisterClass::Exec => self.hardware_register(HardwareRegister::Exec)?,
            RegisterClass::Vcc => self.hardware_register(HardwareRegister::Vcc)?,
            RegisterClass::Status => self.status()?.into(),
            RegisterClass::Sgpr | RegisterClass::Vgpr | RegisterClass::Agpr => return None,
        };
        Some(value.to_le_bytes())
    }

    /// Returns the address of a register in the memory of the process, and the number of its bytes there.
    fn address(&self, register: Register) -> Option<(u64, u64)> {
        let number = u32::from(register.index()?);
        let class = register.class()?;
        match class {
            RegisterClass::Sgpr => {
                let saved = self.record.saved.state.sgprs;
                let named = self.record.layout.record.aliases(saved)?.start;
                (number < named).then(|| Some((self.scalar_address(number)?, 4)))?
            }
            RegisterClass::Vgpr | RegisterClass::Agpr => self.vector(class, number),
            RegisterClass::Pc
            | RegisterClass::Exec
            | RegisterClass::Vcc
            | RegisterClass::Status => None,
        }
    }

    /// Translates an address of `len` bytes of local or scratch memory to the memory of the process.
    fn translated(&self, memory: Memory, address: u64, len: u64) -> Option<u64> {
        let (start, size) = match memory {
            Memory::Global => return Some(address),
            Memory::Region => return None,
            Memory::Local => (self.record.lds?, u64::from(self.lds_size())),
            Memory::PrivateWave => (self.record.scratch?.address, self.record.scratch?.size),
        };
        (address.checked_add(len)? <= size).then(|| start.checked_add(address))?
    }
}

/// The offset of the entry field in a kernel descriptor, in bytes. Source: USAGE "Kernel Descriptor".
const ENTRY: u64 = 16;
/// The distance in bytes from the entry to the start for kernels with preloaded arguments.
const PRELOADED_ENTRY: u64 = 256;

impl Wave for CoreWave<'_, '_> {
    fn wave_size(&self) -> WaveSize {
        self.record.saved.state.wave_size
    }

    fn dispatch(&self) -> Option<wave::Dispatch> {
        let (workgroup_id, wave_in_group) = self.record.place?;
        let packet = &CoreWave::dispatch(self)?.packet;
        Some(wave::Dispatch {
            workgroup_id,
            workgroup_size: packet.workgroup_size,
            grid_size: packet.grid_size,
            wave_in_group,
            kernarg_address: Some(packet.kernarg_address),
        })
    }

    fn stop_reasons(&self) -> Option<StopReasons> {
        Some(self.record.stops)
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        let of_other_waves = register
            .wave_size()
            .is_some_and(|size| size != self.wave_size());
        if of_other_waves || register == Register::PC_32 {
            return Err(AccessError::Unavailable);
        }
        check(register, &bits, out.len())?;
        let (start, end) = (bits.start / 8, bits.end / 8);
        if let Some(bytes) = self.value(register) {
            let bytes = bytes.get(start as usize..end as usize);
            out.copy_from_slice(bytes.ok_or(AccessError::Unavailable)?);
            return Ok(());
        }
        let (address, size) = self.address(register).ok_or(AccessError::Unavailable)?;
        let at = address.checked_add(start.into());
        match at {
            Some(at) if u64::from(end) <= size && self.core.memory.read(at, out) => Ok(()),
            _ => Err(AccessError::Unavailable),
        }
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let at = self.translated(memory, address, out.len() as u64);
        match at {
            Some(at) if self.core.memory.read(at, out) => Ok(()),
            _ => Err(AccessError::Unavailable),
        }
    }

    fn read_unnumbered(&self, register: UnnumberedRegister) -> Result<u64, AccessError> {
        let saved = |name| self.hardware_register(name);
        let value = match register {
            UnnumberedRegister::M0 => saved(HardwareRegister::M0),
            UnnumberedRegister::Mode => saved(HardwareRegister::Mode),
            UnnumberedRegister::TrapSts => saved(HardwareRegister::Trapsts),
            UnnumberedRegister::FlatScratch => saved(HardwareRegister::FlatScratch),
            UnnumberedRegister::XnackMask => saved(HardwareRegister::XnackMask),
            UnnumberedRegister::StatePriv => saved(HardwareRegister::StatePriv),
            UnnumberedRegister::ExcpFlagPriv => saved(HardwareRegister::ExcpFlagPriv),
            UnnumberedRegister::ExcpFlagUser => saved(HardwareRegister::ExcpFlagUser),
            UnnumberedRegister::TrapCtrl => saved(HardwareRegister::TrapCtrl),
            UnnumberedRegister::Ttmp(number) => self.trap_temporary(number.into()).map(u64::from),
        };
        value.ok_or(AccessError::Unavailable)
    }

    fn apertures(&self) -> Option<Apertures> {
        self.agent()?.apertures
    }
}

/// Fails unless `bits` are whole bytes of the register, as many as requested.
fn check(register: Register, bits: &Range<u32>, wanted: usize) -> Result<(), AccessError> {
    let is_whole = bits.start.is_multiple_of(8) && bits.end.is_multiple_of(8);
    let size = bits.end.checked_sub(bits.start).map(|size| size / 8);
    let fits = register
        .size_in_bits()
        .is_none_or(|register| bits.end <= register);
    if is_whole && fits && size.map(|size| size as usize) == Some(wanted) {
        return Ok(());
    }
    let text =
        format!("bits {bits:?} of {register} are out of range or do not fill {wanted} bytes");
    Err(AccessError::Failed(text.into()))
}
