//! Simulates a wave: instructions, and their effects on registers, EXEC and memory.
//!
//! Lanes exist only as bits of EXEC. Instructions have four bytes. The program counter counts from the start of the function.

use core::ops::Range;

use hetdwarf::arch::{Register, RegisterClass, WaveSize};
use hetdwarf::wave::{AccessError, Memory, Wave};

use super::source::{Condition, Decisions, Trips};

/// The bytes of an instruction.
pub const SIZE: u64 = 4;
/// The first vector register that holds masks.
pub const FIRST_VGPR: u16 = 40;
/// The scalar register with the address of the wave's memory.
pub const BASE: u16 = 33;
/// The value of that register.
pub(super) const BASE_ADDRESS: u64 = 0x40;

/// An operand that holds a mask of all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// The execution mask.
    Exec,
    /// The result of comparisons.
    Vcc,
    /// A scalar register and, for 64 lanes, the next one.
    Register(u16),
    /// A number, which is read only.
    Number(u64),
}

/// A half of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Lanes 0 to 31.
    Low,
    /// Lanes 32 to 63.
    High,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// An instruction without a relevant effect.
    Work,
    /// Each active lane decides. VCC gets the lanes that decide true.
    Compare(Condition),
    /// Active lanes enter a loop.
    Start(Trips),
    /// Each active lane decides whether it runs another iteration.
    Again(Trips),
    /// Copies the second operand to the first.
    Copy(Scalar, Scalar),
    /// Sets the first operand to the second without the third.
    AndNot(Scalar, Scalar, Scalar),
    /// Sets the first operand to the second AND the third.
    And(Scalar, Scalar, Scalar),
    /// Sets the first operand to the second OR the third.
    Or(Scalar, Scalar, Scalar),
    /// Writes a half to a lane of a vector register, regardless of EXEC.
    WriteLane(u16, u8, Scalar, Half),
    /// Reads a half from a lane of a vector register.
    ReadLane(Scalar, Half, u16, u8),
    /// Stores a half to scratch, at an offset in bytes from the base.
    Store(u64, Scalar, Half),
    /// Loads a half from scratch.
    Load(Scalar, Half, u64),
    /// Sets EXEC to all lanes.
    Everyone,
    /// Sets EXEC to all lanes of each quad with an active lane.
    Quads,
    /// Jumps to a label.
    Jump(usize),
    /// Jumps to a label if no lane is active.
    JumpIfNone(usize),
    /// Jumps to a label if a lane is active.
    JumpIfAny(usize),
    /// The end of the function.
    End,
}

/// The registers and memory of a wave.
#[derive(Clone, Debug)]
pub struct Machine {
    wave_size: WaveSize,
    /// The program counter, in bytes from the function's start.
    pub pc: u64,
    /// The load address that is added to the program counter for a debugger.
    pub base: u64,
    /// The execution mask.
    pub exec: u64,
    vcc: u64,
    sgprs: [u32; 64],
    vgprs: [[u32; 64]; 2],
    scratch: [u8; 512],
    lanes: Vec<Decisions>,
}

impl Machine {
    /// Returns a wave at the start of a function. Its registers contain arbitrary values.
    #[must_use]
    pub fn new(wave_size: WaveSize, entry: u64, base: u64) -> Machine {
        let mut sgprs = [0x5a5a_a5a5; 64];
        sgprs[usize::from(BASE)] = u32::try_from(BASE_ADDRESS).unwrap();
        let lanes = wave_size.lanes();
        Machine {
            wave_size,
            pc: 0,
            base,
            exec: entry & all(wave_size),
            vcc: 0x1234_5678,
            sgprs,
            vgprs: [[0x0ff0_f00f; 64]; 2],
            scratch: [0x3c; 512],
            lanes: (0..lanes.into()).map(Decisions::of).collect(),
        }
    }

    /// Runs an instruction. Returns false if it was the last.
    pub fn step(&mut self, instruction: Instruction, labels: &[u64]) -> bool {
        self.pc += SIZE;
        match instruction {
            Instruction::Work => {}
            Instruction::Compare(condition) => {
                self.vcc = self.ask(|lane| lane.decide(condition));
            }
            Instruction::Start(trips) => {
                self.ask(|lane| {
                    lane.start(trips);
                    false
                });
            }
            Instruction::Again(trips) => self.vcc = self.ask(|lane| lane.again(trips)),
            Instruction::Copy(to, from) => self.set(to, self.get(from)),
            Instruction::AndNot(to, a, b) => self.set(to, self.get(a) & !self.get(b)),
            Instruction::And(to, a, b) => self.set(to, self.get(a) & self.get(b)),
            Instruction::Or(to, a, b) => self.set(to, self.get(a) | self.get(b)),
            Instruction::WriteLane(vgpr, lane, from, half) => {
                let word = self.get_half(from, half);
                self.vgprs[usize::from(vgpr - FIRST_VGPR)][usize::from(lane)] = word;
            }
            Instruction::ReadLane(to, half, vgpr, lane) => {
                let word = self.vgprs[usize::from(vgpr - FIRST_VGPR)][usize::from(lane)];
                self.set_half(to, half, word);
            }
            Instruction::Store(offset, from, half) => {
                let word = self.get_half(from, half).to_le_bytes();
                let start = usize::try_from(BASE_ADDRESS + offset).unwrap();
                self.scratch[start..start + 4].copy_from_slice(&word);
            }
            Instruction::Load(to, half, offset) => {
                let start = usize::try_from(BASE_ADDRESS + offset).unwrap();
                let word = self.scratch[start..start + 4].try_into().unwrap();
                self.set_half(to, half, u32::from_le_bytes(word));
            }
            Instruction::Everyone => self.exec = all(self.wave_size),
            Instruction::Quads => {
                let quads = (0..16).filter(|quad| self.exec >> (4 * quad) & 0xf != 0);
                self.exec = quads.map(|quad| 0xf << (4 * quad)).sum();
            }
            Instruction::Jump(label) => self.pc = labels[label],
            Instruction::JumpIfNone(label) if self.exec == 0 => self.pc = labels[label],
            Instruction::JumpIfAny(label) if self.exec != 0 => self.pc = labels[label],
            Instruction::JumpIfNone(_) | Instruction::JumpIfAny(_) => {}
            Instruction::End => return false,
        }
        true
    }

    /// Returns the active lanes that answer true.
    fn ask(&mut self, question: impl Fn(&mut Decisions) -> bool) -> u64 {
        let mut yes = 0;
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            if self.exec >> number & 1 == 1 {
                yes |= u64::from(question(lane)) << number;
            }
        }
        yes
    }

    /// Returns the value of a mask.
    pub(super) fn get(&self, scalar: Scalar) -> u64 {
        match scalar {
            Scalar::Exec => self.exec,
            Scalar::Vcc => self.vcc,
            Scalar::Register(first) => {
                let first = usize::from(first);
                let low = u64::from(self.sgprs[first]);
                match self.wave_size {
                    WaveSize::Wave32 => low,
                    WaveSize::Wave64 => low | u64::from(self.sgprs[first + 1]) << 32,
                }
            }
            Scalar::Number(number) => number,
        }
    }

    fn set(&mut self, scalar: Scalar, value: u64) {
        let value = value & all(self.wave_size);
        match scalar {
            Scalar::Exec => self.exec = value,
            Scalar::Vcc => self.vcc = value,
            Scalar::Register(_) => {
                self.set_half(scalar, Half::Low, word(value, Half::Low));
                if self.wave_size == WaveSize::Wave64 {
                    self.set_half(scalar, Half::High, word(value, Half::High));
                }
            }
            Scalar::Number(_) => panic!("a number cannot be written"),
        }
    }

    fn get_half(&self, scalar: Scalar, half: Half) -> u32 {
        word(self.get(scalar), half)
    }

    fn set_half(&mut self, scalar: Scalar, half: Half, word: u32) {
        let Scalar::Register(first) = scalar else {
            panic!("halves are moved into registers");
        };
        let index = match half {
            Half::Low => usize::from(first),
            Half::High => usize::from(first) + 1,
        };
        self.sgprs[index] = word;
    }
}

fn word(value: u64, half: Half) -> u32 {
    let value = match half {
        Half::Low => value & 0xffff_ffff,
        Half::High => value >> 32,
    };
    u32::try_from(value).unwrap()
}

/// Returns the mask of all lanes.
#[must_use]
pub fn all(wave_size: WaveSize) -> u64 {
    match wave_size {
        WaveSize::Wave32 => 0xffff_ffff,
        WaveSize::Wave64 => u64::MAX,
    }
}

impl Wave for Machine {
    fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        let bytes =
            usize::try_from(bits.start / 8).unwrap()..usize::try_from(bits.end / 8).unwrap();
        let index = register.index().map_or(0, usize::from);
        let mut copy = |all: &[u8]| {
            let found = all.get(bytes.clone()).ok_or(AccessError::Unavailable)?;
            out.copy_from_slice(found);
            Ok(())
        };
        match register.class().ok_or(AccessError::Unavailable)? {
            RegisterClass::Pc => copy(&(self.base + self.pc).to_le_bytes()),
            RegisterClass::Exec => copy(&self.exec.to_le_bytes()),
            RegisterClass::Vcc => copy(&self.vcc.to_le_bytes()),
            RegisterClass::Sgpr => {
                let word = self.sgprs.get(index).ok_or(AccessError::Unavailable)?;
                copy(&word.to_le_bytes())
            }
            RegisterClass::Vgpr => {
                let index = index.checked_sub(FIRST_VGPR.into());
                let words = index.and_then(|index| self.vgprs.get(index));
                let words = words.ok_or(AccessError::Unavailable)?;
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                copy(&bytes)
            }
            RegisterClass::Status | RegisterClass::Agpr => Err(AccessError::Unavailable),
        }
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let start = usize::try_from(address).map_err(|_| AccessError::Unavailable)?;
        let found = self.scratch.get(start..start + out.len());
        match (memory, found) {
            (Memory::PrivateWave, Some(found)) => {
                out.copy_from_slice(found);
                Ok(())
            }
            (_, _) => Err(AccessError::Unavailable),
        }
    }
}
