//! Describes how each generation of processors saves its waves: the types of the table, and decoding of words.
//!
//! Everything that differs between families is a field of [`Layout`], with its values in `table`. No code outside this folder depends on the
//! generation of a wave. Sources: AMD's ROCdbgapi (`architecture.cpp`), and the trap handlers of the ROCm runtime (`trap_handler*.s`).
//! `spec-notes/gpu-core.md` gives the certainty of each value.

mod table;

pub(super) use table::of_family;

use super::hardware_register::HardwareRegister;
use super::stop::StopRule;
use crate::arch::{Processor, WaveSize};

/// The layout of saved waves of a generation of processors.
#[derive(Debug)]
pub(crate) struct Layout {
    /// State words of the control stack.
    pub(super) state: StateLayout,
    /// Wave words of the control stack.
    pub(super) wave: WaveLayout,
    /// The parts of a record.
    pub(super) record: RecordLayout,
    /// The places of the hardware registers.
    pub(super) registers: &'static [RegisterPlace],
    /// The trap temporaries, which identify a wave.
    pub(super) trap: &'static TrapLayout,
    /// The first version of the runtime's interface that puts the pc of a stopped wave in the trap temporaries (the wave is *parked* in the trap
    /// handler), or `None` if there is none.
    pub(super) parked: Option<Parked>,
    /// The place of a wave's scratch.
    pub(super) scratch: &'static ScratchLayout,
    /// True if the hardware sets up `FLAT_SCRATCH`, so that it must equal the address of the scratch.
    pub(super) has_architected_scratch: bool,
    /// The rules for stop reasons.
    pub(super) stops: &'static [&'static [StopRule]],
    /// The register and bit that indicate that the wave has deallocated its vector registers.
    pub(super) no_vgprs: Option<(HardwareRegister, Bits)>,
    /// `STATUS` as it is shown, without the bits set by the trap handler and the context save.
    pub(super) status: StatusLayout,
}

/// Consecutive bits of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    low: u32,
    high: u32,
}

/// Returns the bits from `low` to `high`, both included.
pub(super) const fn bits(low: u32, high: u32) -> Bits {
    Bits { low, high }
}

/// Returns one bit.
pub(super) const fn bit(number: u32) -> Bits {
    Bits {
        low: number,
        high: number,
    }
}

impl Bits {
    /// Returns their value in `word`.
    pub(super) const fn of(self, word: u32) -> u32 {
        let shifted = word.wrapping_shr(self.low);
        let width = self.high.wrapping_sub(self.low).wrapping_add(1);
        if width >= u32::BITS {
            shifted
        } else {
            shifted & !u32::MAX.wrapping_shl(width)
        }
    }

    /// Returns true if any of the bits is set.
    pub(super) const fn any(self, word: u32) -> bool {
        self.of(word) != 0
    }

    /// Returns `word` with all of the bits set or cleared.
    pub(super) const fn set(self, word: u32, value: bool) -> u32 {
        let width = self.high.wrapping_sub(self.low).wrapping_add(1);
        let ones = if width >= u32::BITS {
            u32::MAX
        } else {
            !u32::MAX.wrapping_shl(width)
        };
        let mask = ones.wrapping_shl(self.low);
        if value { word | mask } else { word & !mask }
    }
}

/// A state word: the number of registers and the amount of LDS of the following waves.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateLayout {
    /// True if the state has a second word, regardless of its bits.
    pub(super) has_second_word: bool,
    /// The number of blocks of vector registers, minus one.
    pub(super) vgprs: Bits,
    /// The vector registers of a block, in waves of 32 lanes, or `None` if there are no such waves.
    pub(super) block_32: Option<u32>,
    /// The size of a block in waves of 64 lanes.
    pub(super) block_64: Option<u32>,
    pub(super) accumulation: Accumulation,
    pub(super) sgprs: Scalars,
    /// LDS of the workgroup, in units of `lds_unit` bytes.
    pub(super) lds: Bits,
    pub(super) lds_unit: u32,
    /// The alternative size of LDS, in bytes, if the bit is set.
    pub(super) lds_large: Option<(Bits, u32)>,
    /// The bits for waves of 32 lanes. `None` if no wave has 32 lanes.
    pub(super) wave32: Option<Bits>,
    /// Shared vector registers, in blocks of 8.
    pub(super) shared: Option<Bits>,
}

/// Accumulation registers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Accumulation {
    /// None.
    None,
    /// One for each ordinary vector register.
    AsMany,
    /// The vector registers that are not ordinary ones. The bits give the ordinary ones, in blocks of 4, minus one.
    Rest(Bits),
}

/// The saved scalar registers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalars {
    /// A fixed number for all waves.
    Fixed(u32),
    /// Blocks of 16. The bits give the number minus one, and one block is not saved.
    Blocks(Bits),
}

/// A wave word.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaveLayout {
    pub(super) scratch_slot: Bits,
    pub(super) shader_engine: Bits,
    pub(super) has_scratch: Bits,
    pub(super) is_last: Bits,
    pub(super) is_first: Bits,
}

/// The parts of a record whose sizes are not in the state word.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordLayout {
    /// Unused bytes at the end.
    pub(super) gap: u32,
    /// Bytes of the hardware registers.
    pub(super) hardware: u32,
    /// True if the trap temporaries are the last 16 words of the scalar registers, instead of a separate part.
    pub(super) trap_in_scalars: bool,
    /// The number of allocated scalar registers at the end that have other names (`VCC` is the last two).
    pub(super) aliases: u32,
}

/// The place of a hardware register.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterPlace {
    pub(super) register: HardwareRegister,
    pub(super) words: Words,
    /// True if it has 64 bits, in waves of 32 lanes.
    pub(super) is_wide_in_wave32: bool,
    /// True if it has 64 bits, in waves of 64 lanes.
    pub(super) is_wide: bool,
}

/// The first word of a hardware register.
#[derive(Clone, Copy, Debug)]
pub(super) enum Words {
    /// Among the hardware registers.
    Hardware(u32),
    /// Among the scalar registers that have other names.
    Alias(u32),
}

/// The fields of the trap temporaries that identify a wave and give its state.
#[derive(Debug)]
pub(super) struct TrapLayout {
    /// True if they are set up at launch regardless of the note.
    pub(super) always_set_up: bool,
    /// Set in a wave that was launched without the set-up, from version 10 of the runtime's interface on.
    pub(super) not_set_up: Option<TrapBits>,
    /// The packet's index, modulo the ring.
    pub(super) packet: TrapBits,
    /// The workgroup, in three dimensions.
    pub(super) workgroup: [TrapBits; 3],
    /// The second and third dimension hold only if this is set; they are 0 otherwise.
    pub(super) has_dimensions: Option<TrapBits>,
    pub(super) wave_in_group: TrapBits,
    /// The following fields are valid only if this is set. Otherwise the wave was not in the trap handler.
    pub(super) was_in_handler: Option<TrapBits>,
    pub(super) stopped: TrapBits,
    /// The bits for a `HALT` that was set before the trap handler.
    pub(super) halted_before: TrapBits,
    pub(super) trap_id: TrapBits,
}

/// Bits of a trap temporary.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrapBits {
    pub(super) ttmp: usize,
    pub(super) bits: Bits,
}

impl TrapBits {
    pub(super) fn of(self, ttmps: &[u32; 16]) -> u32 {
        ttmps.get(self.ttmp).map_or(0, |&word| self.bits.of(word))
    }

    pub(super) fn any(self, ttmps: &[u32; 16]) -> bool {
        self.of(ttmps) != 0
    }
}

/// The place of the pc of a parked wave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parked {
    /// The first version of the runtime's interface.
    pub(super) since: u32,
    /// Bits 0 to 31.
    pub(super) low: TrapBits,
    /// Bits 32 to 47.
    pub(super) high: TrapBits,
}

/// The fields of `COMPUTE_TMPRING_SIZE`.
#[derive(Debug)]
pub(super) struct ScratchLayout {
    /// The number of waves that can have scratch.
    pub(super) waves: Bits,
    /// True if that number is for one shader engine, instead of the whole XCC.
    pub(super) waves_of_engine: bool,
    /// The scratch of a wave, in units of `unit` bytes.
    pub(super) size: Bits,
    pub(super) unit: u64,
}

/// Bits of `STATUS`.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusLayout {
    /// The place of `HALT`, which the trap handler sets to stop a wave.
    pub(super) halt: (HardwareRegister, Bits),
    /// Bits of `STATUS` that are shown as 0.
    pub(super) hidden: &'static [Bits],
    /// A bit that the trap handler sets, which marks waves that were in it.
    pub(super) skip_export: Option<Bits>,
}

/// The decoded state word, which applies to the waves after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) wave_size: WaveSize,
    /// Ordinary vector registers.
    pub(super) vgprs: u32,
    /// Accumulation registers.
    pub(super) agprs: u32,
    /// Shared vector registers.
    pub(super) shared: u32,
    /// Scalar registers.
    pub(super) sgprs: u32,
    /// LDS of the workgroup, in bytes.
    pub(super) lds: u32,
}

impl StateLayout {
    /// Decodes a state word. Returns `None` if no wave can have it.
    pub(super) fn read(&self, word: u32) -> Option<State> {
        let is_32 = self.wave32.is_some_and(|bits| bits.any(word));
        let (wave_size, block) = if is_32 {
            (WaveSize::Wave32, self.block_32?)
        } else {
            (WaveSize::Wave64, self.block_64?)
        };
        let blocks = |bits: Bits| bits.of(word).checked_add(1);
        let all = blocks(self.vgprs)?.checked_mul(block)?;
        let (vgprs, agprs) = match self.accumulation {
            Accumulation::None => (all, 0),
            Accumulation::AsMany => (all, all),
            Accumulation::Rest(ordinary) => {
                let ordinary = blocks(ordinary)?.checked_mul(ORDINARY_BLOCK)?;
                (ordinary, all.checked_sub(ordinary)?)
            }
        };
        let sgprs = match self.sgprs {
            Scalars::Fixed(count) => count,
            Scalars::Blocks(bits) => bits.of(word).checked_mul(SCALAR_BLOCK)?,
        };
        let lds = match self.lds_large {
            Some((bit, bytes)) if bit.any(word) => bytes,
            _ => self.lds.of(word).checked_mul(self.lds_unit)?,
        };
        let shared = self.shared.map_or(0, |bits| bits.of(word));
        Some(State {
            wave_size,
            vgprs,
            agprs,
            shared: shared.checked_mul(SHARED_BLOCK)?,
            sgprs,
            lds,
        })
    }
}

/// The registers of a block of ordinary vector registers, if there are accumulation registers too.
const ORDINARY_BLOCK: u32 = 4;
const SCALAR_BLOCK: u32 = 16;
const SHARED_BLOCK: u32 = 8;

impl Layout {
    /// Returns the layout of a target, numbered as in the note: major × 10000 + minor × 100 + stepping.
    pub(crate) fn of_target(target: u32) -> Option<&'static Layout> {
        let version = [target / 10_000, target / 100 % 100, target % 100];
        of_family(Processor::family_by_version(version)?)
    }

    /// Returns the place of a hardware register.
    pub(super) fn place(&self, register: HardwareRegister) -> Option<&'static RegisterPlace> {
        self.registers
            .iter()
            .find(|place| place.register == register)
    }
}
