//! Emulates a wave: its registers and memory, and the effects of instructions.

use core::ops::Range;

use hetdwarf::arch::{Apertures, Register, RegisterClass, WaveSize};
use hetdwarf::wave::{AccessError, Memory, Wave};

use super::program::{AGPRS, EXEC, Instruction, Operand, PRIVATE_BASE, Program, SHARED_BASE, VCC};

/// The addresses of the arguments, `in` and `out`.
pub const ARGUMENTS: u64 = 0x10_0000;
/// See [`ARGUMENTS`].
pub const INPUT: u64 = 0x20_0000;
/// See [`ARGUMENTS`].
pub const OUTPUT: u64 = 0x30_0000;
/// The address of the wave's scratch in the process, for buffer descriptors.
pub const SCRATCH_ADDRESS: u64 = 0x40_0000;
/// The number of bytes of scratch for each lane.
const SCRATCH: usize = 4096;

/// A wave.
#[derive(Clone)]
pub struct Machine {
    /// The scalar registers, including EXEC and VCC.
    pub s: Vec<u32>,
    /// The vector registers, lane by lane, then the accumulation registers.
    pub v: Vec<[u32; 64]>,
    scc: bool,
    /// The program counter.
    pub pc: u64,
    wave_size: WaveSize,
    scratch: Vec<u8>,
    memory: Vec<(u64, Vec<u8>)>,
}

/// A load or store.
struct Access {
    is_store: bool,
    /// The number of dwords.
    count: usize,
    /// The first register of the data.
    data: usize,
    /// The active lanes, each with its address, and true if the address is in the wave's scratch.
    lanes: Vec<(usize, u64, bool)>,
}

/// A side result of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing.
    None,
    /// A call.
    Call,
    /// A return, or another jump through a register.
    Return,
    /// The wave ended.
    End,
}

fn binary(name: &str, a: u32, b: u32) -> Option<u32> {
    let (x, y) = (a.cast_signed(), b.cast_signed());
    Some(match name {
        "and_b32" => a & b,
        "or_b32" => a | b,
        "xor_b32" => a ^ b,
        "xnor_b32" => !(a ^ b),
        "add_u32" | "add_nc_u32" | "add_i32" => a.wrapping_add(b),
        "sub_u32" | "sub_nc_u32" | "sub_i32" => a.wrapping_sub(b),
        "subrev_u32" | "subrev_nc_u32" => b.wrapping_sub(a),
        "mul_lo_u32" | "mul_i32" => a.wrapping_mul(b),
        "mul_u32_u24" => (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff),
        "mul_i32_i24" => ((x << 8) >> 8).wrapping_mul((y << 8) >> 8).cast_unsigned(),
        "mul_hi_u32" => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        "lshlrev_b32" => b.wrapping_shl(a),
        "lshrrev_b32" => b.wrapping_shr(a),
        "ashrrev_i32" => y.wrapping_shr(a).cast_unsigned(),
        "lshl_b32" => a.wrapping_shl(b),
        "lshr_b32" => a.wrapping_shr(b),
        "ashr_i32" => x.wrapping_shr(b).cast_unsigned(),
        "min_u32" => a.min(b),
        "max_u32" => a.max(b),
        "min_i32" => x.min(y).cast_unsigned(),
        "max_i32" => x.max(y).cast_unsigned(),
        "and_not1_b32" | "andn2_b32" => a & !b,
        "or_not1_b32" | "orn2_b32" => a | !b,
        "nand_b32" => !(a & b),
        "nor_b32" => !(a | b),
        "bfm_b32" => (1_u32.wrapping_shl(a & 31).wrapping_sub(1)).wrapping_shl(b & 31),
        _ => return None,
    })
}

fn ternary(name: &str, a: u32, b: u32, c: u32) -> Option<u32> {
    let bits = |width: u32| 1_u32.checked_shl(width).map_or(u32::MAX, |one| one - 1);
    Some(match name {
        "add3_u32" => a.wrapping_add(b).wrapping_add(c),
        "lshl_add_u32" => a.wrapping_shl(b).wrapping_add(c),
        "add_lshl_u32" => a.wrapping_add(b).wrapping_shl(c),
        "lshl_or_b32" => a.wrapping_shl(b) | c,
        "and_or_b32" => a & b | c,
        "or3_b32" => a | b | c,
        "xor3_b32" => a ^ b ^ c,
        "xad_u32" => (a ^ b).wrapping_add(c),
        "mad_u32_u24" => (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c),
        "mad_i32_i24" => {
            let [a, b] = [a, b].map(|n| (n.cast_signed() << 8) >> 8);
            a.wrapping_mul(b).cast_unsigned().wrapping_add(c)
        }
        "bfe_u32" => a.wrapping_shr(b & 31) & bits(c & 31),
        "bfi_b32" => a & b | !a & c,
        "bfe_i32" if c & 31 != 0 => {
            let shift = 32 - (c & 31);
            ((a.wrapping_shr(b & 31) << shift).cast_signed() >> shift).cast_unsigned()
        }
        "bfe_i32" => 0,
        "max3_u32" => a.max(b).max(c),
        "min3_u32" => a.min(b).min(c),
        _ => return None,
    })
}

fn compares(name: &str, a: u64, b: u64) -> Option<bool> {
    let (how, kind) = name.split_once('_')?;
    let (x, y) = match kind {
        "i32" => (
            i64::from((a as u32).cast_signed()),
            i64::from((b as u32).cast_signed()),
        ),
        "u32" | "b32" => ((a as u32).into(), (b as u32).into()),
        "i64" => (a.cast_signed(), b.cast_signed()),
        "u64" if matches!(how, "eq" | "ne" | "lg") => (a.cast_signed(), b.cast_signed()),
        "u16" => ((a as u16).into(), (b as u16).into()),
        "i16" => (
            (a as u16).cast_signed().into(),
            (b as u16).cast_signed().into(),
        ),
        _ => return None,
    };
    Some(match how {
        "eq" => x == y,
        "ne" | "lg" => x != y,
        "lt" => x < y,
        "le" => x <= y,
        "gt" => x > y,
        "ge" => x >= y,
        _ => return None,
    })
}

/// A bitwise operation on masks.
fn masks(op: &str, a: u64, b: u64) -> Option<u64> {
    Some(match op {
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "andn2" | "and_not1" => a & !b,
        "orn2" | "or_not1" => a | !b,
        "andn1" | "and_not0" => !a & b,
        "orn1" | "or_not0" => !a | b,
        "nand" => !(a & b),
        "nor" => !(a | b),
        "xnor" => !(a ^ b),
        _ => return None,
    })
}

impl Machine {
    /// Returns a wave at the start of its kernel.
    #[must_use]
    pub fn new(program: &Program, input: &[u32]) -> Machine {
        let lanes = program.wave_size.lanes() as usize;
        let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut memory = program.image.clone();
        let arguments = [OUTPUT, INPUT].map(u64::to_le_bytes).concat();
        memory.push((ARGUMENTS, [arguments, vec![0; 256]].concat()));
        memory.push((INPUT, bytes));
        memory.push((OUTPUT, vec![0; 4096]));
        let mut machine = Machine {
            s: vec![0; 128],
            v: vec![[0; 64]; 512],
            scc: false,
            pc: program.entry,
            wave_size: program.wave_size,
            scratch: vec![0; SCRATCH * lanes],
            memory,
        };
        if program.has_scratch_descriptor {
            // The descriptor has the runtime's settings: swizzled by dwords and lanes, with the lane's number added to the index.
            let [index_stride, lanes] = [2 + u32::from(lanes == 64), lanes as u32];
            machine.s[0] = SCRATCH_ADDRESS as u32;
            machine.s[1] = 1 << 31;
            machine.s[2] = SCRATCH as u32 * lanes;
            machine.s[3] = 1 << 23 | index_stride << 21 | 1 << 19;
        }
        machine.s[program.arguments] = ARGUMENTS as u32;
        for lane in 0..lanes {
            machine.v[0][lane] = lane as u32;
        }
        machine.set_mask(EXEC, u64::MAX);
        machine
    }

    fn lanes(&self) -> usize {
        self.wave_size.lanes() as usize
    }

    fn mask_dwords(&self) -> usize {
        self.lanes() / 32
    }

    /// Returns the mask in a scalar register or in a pair of registers.
    #[must_use]
    pub fn mask(&self, register: usize) -> u64 {
        match self.wave_size {
            WaveSize::Wave32 => self.s[register].into(),
            WaveSize::Wave64 => u64::from(self.s[register]) | u64::from(self.s[register + 1]) << 32,
        }
    }

    fn set_mask(&mut self, register: usize, mask: u64) {
        self.s[register] = mask as u32;
        if self.mask_dwords() == 2 {
            self.s[register + 1] = (mask >> 32) as u32;
        }
    }

    fn scalar(&self, operand: Operand) -> Option<u32> {
        match operand {
            Operand::Scalars(first, _) => self.s.get(first).copied(),
            Operand::Number(value) => Some(value as u32),
            Operand::Null => Some(0),
            _ => None,
        }
    }

    /// Returns up to 64 bits of a scalar operand.
    fn wide(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Scalars(first, 1) => Some(self.s[first].into()),
            Operand::Scalars(first, _) => {
                Some(u64::from(self.s[first]) | u64::from(self.s[first + 1]) << 32)
            }
            Operand::Number(value) => Some(value.cast_unsigned()),
            Operand::Null => Some(0),
            _ => None,
        }
    }

    fn set_wide(&mut self, operand: Operand, value: u64) -> Option<()> {
        match operand {
            Operand::Scalars(first, count) => {
                self.s[first] = value as u32;
                if count > 1 {
                    self.s[first + 1] = (value >> 32) as u32;
                }
                Some(())
            }
            Operand::Null => Some(()),
            _ => None,
        }
    }

    /// Returns a lane's dword of an operand.
    fn source(&self, operand: Operand, lane: usize) -> Option<u32> {
        match operand {
            Operand::Vectors(first, _) => Some(self.v[first][lane]),
            other => self.scalar(other),
        }
    }

    fn wide_source(&self, operand: Operand, lane: usize) -> Option<u64> {
        match operand {
            Operand::Vectors(first, count) if count > 1 => {
                Some(u64::from(self.v[first][lane]) | u64::from(self.v[first + 1][lane]) << 32)
            }
            Operand::Vectors(first, _) => Some(self.v[first][lane].into()),
            other => self.wide(other),
        }
    }

    /// Adds memory after a region, so that accesses past its end have an effect.
    ///
    /// * `length`: the new size of the region, in bytes.
    pub fn extend_memory(&mut self, address: u64, length: usize) {
        if let Some((_, bytes)) = self.memory.iter_mut().find(|(start, _)| *start == address) {
            bytes.resize(length, 0);
        }
    }

    fn region(&self, address: u64, length: usize) -> Option<(usize, usize)> {
        self.memory
            .iter()
            .enumerate()
            .find_map(|(n, (start, bytes))| {
                let at = usize::try_from(address.checked_sub(*start)?).ok()?;
                (at + length <= bytes.len()).then_some((n, at))
            })
    }

    /// Returns a dword of memory.
    #[must_use]
    pub fn read(&self, address: u64) -> Option<u32> {
        let (n, at) = self.region(address, 4)?;
        Some(u32::from_le_bytes(
            self.memory[n].1[at..at + 4].try_into().unwrap(),
        ))
    }

    /// Runs one instruction. Returns None if the emulator does not implement it, or if it accesses missing memory.
    pub fn step(&mut self, one: &Instruction) -> Option<Event> {
        self.pc = one.next;
        if let Some((second, count)) = &one.second {
            // Both halves read their operands before either half writes.
            let Operand::Vectors(register, _) = one.operands[*count] else {
                return None;
            };
            let before = self.v[register];
            self.vector(&second.replace("v_dual_", "v_"), &one.operands[*count..], 0)?;
            let after = core::mem::replace(&mut self.v[register], before);
            self.vector(
                &one.name.replace("v_dual_", "v_"),
                &one.operands[..*count],
                0,
            )?;
            self.v[register] = after;
            return Some(Event::None);
        }
        if one.name.starts_with("s_") {
            return self.scalar_step(one);
        }
        self.vector(&one.name, &one.operands, one.offset)?;
        Some(Event::None)
    }

    fn branch(&mut self, one: &Instruction, condition: bool) -> Option<Event> {
        if condition {
            self.pc = one.target;
        }
        Some(Event::None)
    }

    fn scalar_step(&mut self, one: &Instruction) -> Option<Event> {
        let operand = |n: usize| one.operands.get(n).copied().unwrap_or(Operand::Other);
        let (dst, a, b) = (operand(0), operand(1), operand(2));
        let name = &one.name[2..];
        let exec = self.mask(EXEC);
        let vcc = self.mask(VCC);
        match name {
            "nop"
            | "delay_alu"
            | "clause"
            | "inst_prefetch"
            | "set_inst_prefetch_distance"
            | "setreg_b32"
            | "setreg_imm32_b32"
            | "sethalt"
            | "sleep"
            | "icache_inv" => {
                return Some(Event::None);
            }
            _ if name.starts_with("wait") => return Some(Event::None),
            "endpgm" => return Some(Event::End),
            "branch" => return self.branch(one, true),
            "cbranch_scc0" => return self.branch(one, !self.scc),
            "cbranch_scc1" => return self.branch(one, self.scc),
            "cbranch_vccz" => return self.branch(one, vcc == 0),
            "cbranch_vccnz" => return self.branch(one, vcc != 0),
            "cbranch_execz" => return self.branch(one, exec == 0),
            "cbranch_execnz" => return self.branch(one, exec != 0),
            "getpc_b64" => {
                self.set_wide(dst, one.next)?;
                return Some(Event::None);
            }
            "swappc_b64" => {
                let target = self.wide(a)?;
                self.set_wide(dst, one.next)?;
                self.pc = target;
                return Some(Event::Call);
            }
            "setpc_b64" => {
                self.pc = self.wide(dst)?;
                return Some(Event::Return);
            }
            _ => {}
        }
        if let Some(size) = name.strip_prefix("load_") {
            let (address, count) = self.scalar_load(size, one)?;
            let Operand::Scalars(first, _) = dst else {
                return None;
            };
            for n in 0..count {
                self.s[first + n] = self.read(address + 4 * n as u64)?;
            }
            return Some(Event::None);
        }
        if let Some(compare) = name.strip_prefix("cmp_") {
            self.scc = compares(compare, self.wide(dst)?, self.wide(a)?)?;
            return Some(Event::None);
        }
        if let Some(compare) = name.strip_prefix("cmpk_") {
            self.scc = compares(compare, self.wide(dst)?, self.wide(a)?)?;
            return Some(Event::None);
        }
        match name {
            "bitcmp1_b32" | "bitcmp0_b32" => {
                let bit = self.scalar(dst)?.wrapping_shr(self.scalar(a)?) & 1 == 1;
                self.scc = bit == (name == "bitcmp1_b32");
                return Some(Event::None);
            }
            "mov_b32" | "mov_b64" => self.set_wide(dst, self.wide(a)?)?,
            "movk_i32" => self.set_wide(dst, self.wide(a)?)?,
            "cmov_b32" | "cmov_b64" => {
                if self.scc {
                    self.set_wide(dst, self.wide(a)?)?;
                }
            }
            "not_b32" | "not_b64" => {
                let value = !self.wide(a)?;
                self.set_result(dst, value, name)?;
            }
            "cselect_b32" | "cselect_b64" => {
                self.set_wide(dst, self.wide(if self.scc { a } else { b })?)?;
            }
            "sext_i32_i16" => self.set_wide(
                dst,
                i64::from(self.scalar(a)? as u16 as i16).cast_unsigned(),
            )?,
            "sext_i32_i8" => {
                self.set_wide(dst, i64::from(self.scalar(a)? as u8 as i8).cast_unsigned())?
            }
            "add_u32" | "add_co_u32" => {
                let (sum, carry) = self.scalar(a)?.overflowing_add(self.scalar(b)?);
                self.set_wide(dst, sum.into())?;
                self.scc = carry;
            }
            "addc_u32" | "add_co_ci_u32" => {
                let sum =
                    u64::from(self.scalar(a)?) + u64::from(self.scalar(b)?) + u64::from(self.scc);
                self.set_wide(dst, sum & 0xffff_ffff)?;
                self.scc = sum >> 32 != 0;
            }
            "sub_u32" | "sub_co_u32" => {
                let (result, borrow) = self.scalar(a)?.overflowing_sub(self.scalar(b)?);
                self.set_wide(dst, result.into())?;
                self.scc = borrow;
            }
            "add_i32" | "add_co_i32" | "sub_i32" | "sub_co_i32" => {
                let (a, b) = (self.scalar(a)?.cast_signed(), self.scalar(b)?.cast_signed());
                let (result, overflow) = if name.starts_with("add") {
                    a.overflowing_add(b)
                } else {
                    a.overflowing_sub(b)
                };
                self.set_wide(dst, u64::from(result.cast_unsigned()))?;
                self.scc = overflow;
            }
            "addk_i32" | "addk_co_i32" => {
                let (result, overflow) = (self.scalar(dst)?.cast_signed())
                    .overflowing_add(self.scalar(a)?.cast_signed());
                self.set_wide(dst, u64::from(result.cast_unsigned()))?;
                self.scc = overflow;
            }
            "mulk_i32" => {
                let result = self.scalar(dst)?.wrapping_mul(self.scalar(a)?);
                self.set_wide(dst, result.into())?;
            }
            "add_nc_u64" | "add_u64" => {
                self.set_wide(dst, self.wide(a)?.wrapping_add(self.wide(b)?))?;
            }
            "lshl_b64" => {
                let value = self.wide(a)?.wrapping_shl(self.scalar(b)?);
                self.set_result(dst, value, name)?;
            }
            "lshr_b64" => {
                let value = self.wide(a)?.wrapping_shr(self.scalar(b)?);
                self.set_result(dst, value, name)?;
            }
            "ashr_i64" => {
                let value = self.wide(a)?.cast_signed().wrapping_shr(self.scalar(b)?);
                self.set_result(dst, value.cast_unsigned(), name)?;
            }
            "bfe_u32" | "bfe_i32" => {
                let (value, field) = (self.scalar(a)?, self.scalar(b)?);
                let value = ternary(name, value, field & 31, field >> 16 & 127)?;
                self.set_result(dst, value.into(), "b32")?;
            }
            "min_i32" | "max_i32" | "min_u32" | "max_u32" => {
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                let value = binary(name, a, b)?;
                self.set_wide(dst, value.into())?;
                self.scc = value == a;
            }
            "mul_i32" | "bfm_b32" => {
                let value = binary(name, self.scalar(a)?, self.scalar(b)?)?;
                self.set_wide(dst, value.into())?;
            }
            "mul_hi_u32" => {
                let value = binary(name, self.scalar(a)?, self.scalar(b)?)?;
                self.set_wide(dst, value.into())?;
            }
            "lshl1_add_u32" | "lshl2_add_u32" | "lshl3_add_u32" | "lshl4_add_u32" => {
                let shift = u32::from(name.as_bytes()[4] - b'0');
                let sum = (u64::from(self.scalar(a)?) << shift) + u64::from(self.scalar(b)?);
                self.set_wide(dst, sum & 0xffff_ffff)?;
                self.scc = sum >> 32 != 0;
            }
            _ => self.scalar_masks(name, [dst, a, b])?,
        }
        Some(Event::None)
    }

    /// Writes a result, and sets SCC if it is not 0.
    fn set_result(&mut self, dst: Operand, value: u64, name: &str) -> Option<()> {
        let value = if name.contains("64") {
            value
        } else {
            value & 0xffff_ffff
        };
        self.set_wide(dst, value)?;
        self.scc = value != 0;
        Some(())
    }

    fn scalar_masks(&mut self, name: &str, [dst, a, b]: [Operand; 3]) -> Option<()> {
        let (body, _) = name.rsplit_once('_')?;
        let exec = self.mask(EXEC);
        if let Some(op) = body.strip_suffix("_saveexec") {
            let new = masks(op, self.wide(a)?, exec)?;
            self.set_wide(dst, exec)?;
            self.set_mask(EXEC, new);
            self.scc = self.mask(EXEC) != 0;
            return Some(());
        }
        if let Some(op) = body.strip_suffix("_wrexec") {
            let new = masks(op, self.wide(a)?, exec)?;
            self.set_wide(dst, new)?;
            self.set_mask(EXEC, new);
            self.scc = self.mask(EXEC) != 0;
            return Some(());
        }
        let (x, y) = (self.wide(a)?, self.wide(b)?);
        let value = match masks(body, x, y) {
            Some(value) => value,
            None => binary(name, x as u32, y as u32)?.into(),
        };
        self.set_result(dst, value, name)
    }

    fn active(&self) -> Vec<usize> {
        let exec = self.mask(EXEC);
        (0..self.lanes())
            .filter(|lane| exec >> lane & 1 == 1)
            .collect()
    }

    fn vector(&mut self, name: &str, operands: &[Operand], offset: i64) -> Option<()> {
        let operand = |n: usize| operands.get(n).copied().unwrap_or(Operand::Other);
        let (dst, a, b, c) = (operand(0), operand(1), operand(2), operand(3));
        let Some(name) = name.strip_prefix("v_") else {
            return self.access(name, operands, offset);
        };
        let lanes = self.active();
        if let Some(rest) = name.strip_prefix("cmpx_") {
            let (a, b) = match operands {
                [_, _] => (dst, a),
                _ => (a, b),
            };
            let mut mask = 0;
            for lane in lanes {
                let hit = compares(rest, self.wide_source(a, lane)?, self.wide_source(b, lane)?)?;
                mask |= u64::from(hit) << lane;
            }
            if operands.len() == 3 {
                self.set_wide(dst, mask)?;
            }
            self.set_mask(EXEC, mask);
            return Some(());
        }
        if let Some(rest) = name.strip_prefix("cmp_") {
            let mut mask = 0;
            for lane in lanes {
                let hit = compares(rest, self.wide_source(a, lane)?, self.wide_source(b, lane)?)?;
                mask |= u64::from(hit) << lane;
            }
            return self.set_wide(dst, mask);
        }
        match name {
            "nop" => return Some(()),
            "readlane_b32" | "readfirstlane_b32" => {
                let lane = match name {
                    "readlane_b32" => self.scalar(b)? as usize % self.lanes(),
                    _ => lanes.first().copied().unwrap_or(0),
                };
                let value = self.source(a, lane)?;
                return self.set_wide(dst, value.into());
            }
            "writelane_b32" => {
                let (Operand::Vectors(register, _), value) = (dst, self.scalar(a)?) else {
                    return None;
                };
                let lane = self.scalar(b)? as usize % self.lanes();
                self.v[register][lane] = value;
                return Some(());
            }
            _ => {}
        }
        let Operand::Vectors(first, _) = dst else {
            return None;
        };
        let mut carries: Option<(Operand, u64)> = None;
        for lane in lanes {
            let wide = |m: &Self, operand| m.wide_source(operand, lane);
            let narrow = |m: &Self, operand| m.source(operand, lane);
            let is_wide = matches!(
                name,
                "mov_b64"
                    | "lshlrev_b64"
                    | "lshrrev_b64"
                    | "ashrrev_i64"
                    | "lshl_add_u64"
                    | "add_nc_u64"
            );
            if is_wide {
                let value = match name {
                    "mov_b64" => wide(self, a)?,
                    "lshlrev_b64" => wide(self, b)?.wrapping_shl(narrow(self, a)?),
                    "lshrrev_b64" => wide(self, b)?.wrapping_shr(narrow(self, a)?),
                    "ashrrev_i64" => {
                        let value = wide(self, b)?.cast_signed();
                        value.wrapping_shr(narrow(self, a)?).cast_unsigned()
                    }
                    "add_nc_u64" => wide(self, a)?.wrapping_add(wide(self, b)?),
                    _ => {
                        (wide(self, a)?.wrapping_shl(narrow(self, b)?)).wrapping_add(wide(self, c)?)
                    }
                };
                self.v[first][lane] = value as u32;
                self.v[first + 1][lane] = (value >> 32) as u32;
                continue;
            }
            let value = match name {
                "mov_b32" | "accvgpr_read_b32" | "accvgpr_write_b32" | "accvgpr_mov_b32" => {
                    narrow(self, a)?
                }
                "not_b32" => !narrow(self, a)?,
                "pk_mov_b32" => {
                    // `op_sel:[0,1]` takes both halves unchanged.
                    let low = wide(self, a)? as u32;
                    let high = match b {
                        Operand::Vectors(first, _) => self.v[first + 1][lane],
                        other => (self.wide(other)? >> 32) as u32,
                    };
                    self.v[first + 1][lane] = high;
                    low
                }
                "cndmask_b32" => {
                    let mask = match c {
                        Operand::Scalars(..) => self.wide(c)?,
                        _ => self.mask(VCC),
                    };
                    narrow(self, if mask >> lane & 1 == 1 { b } else { a })?
                }
                "add_co_u32" | "sub_co_u32" | "subrev_co_u32" | "addc_co_u32" | "add_co_ci_u32"
                | "subb_co_u32" | "sub_co_ci_u32" | "subrev_co_ci_u32" | "subbrev_co_u32" => {
                    let (x, y) = (u64::from(narrow(self, b)?), u64::from(narrow(self, c)?));
                    let has_carry =
                        name.contains("addc") || name.contains("_ci_") || name.contains("subb");
                    let carry = match operand(4) {
                        Operand::Scalars(..) if has_carry => self.wide(operand(4))? >> lane & 1,
                        _ => 0,
                    };
                    let result = match name {
                        _ if name.starts_with("add") => x + y + carry,
                        _ if name.contains("rev") => y.wrapping_sub(x).wrapping_sub(carry),
                        _ => x.wrapping_sub(y).wrapping_sub(carry),
                    };
                    let (_, carries) = carries.get_or_insert((a, 0));
                    *carries |= (result >> 32 & 1) << lane;
                    result as u32
                }
                "mad_u64_u32" | "mad_co_u64_u32" | "mad_nc_u64_u32" => {
                    let at = usize::from(name != "mad_nc_u64_u32") + 1;
                    let product = u64::from(narrow(self, operand(at))?)
                        * u64::from(narrow(self, operand(at + 1))?);
                    let value = product.wrapping_add(wide(self, operand(at + 2))?);
                    self.v[first + 1][lane] = (value >> 32) as u32;
                    value as u32
                }
                _ if operands.len() >= 4 => {
                    ternary(name, narrow(self, a)?, narrow(self, b)?, narrow(self, c)?)?
                }
                _ => binary(name, narrow(self, a)?, narrow(self, b)?)?,
            };
            self.v[first][lane] = value;
        }
        if let Some((mask, carries)) = carries {
            self.set_wide(mask, carries)?;
        }
        Some(())
    }

    /// Returns the addresses in memory that an instruction is about to access, by lane, and the number of bytes in each. A scalar load has
    /// lane 0. Returns None for other instructions, and for accesses to scratch alone.
    #[must_use]
    pub fn touched(&self, one: &Instruction) -> Option<(Vec<(usize, u64)>, u64)> {
        if let Some(size) = one.name.strip_prefix("s_load_") {
            let (address, count) = self.scalar_load(size, one)?;
            return Some((vec![(0, address)], 4 * count as u64));
        }
        let access = self.lanes_of_access(&one.name, &one.operands, one.offset)?;
        let lanes = access.lanes.into_iter();
        let in_memory = lanes.filter(|(_, _, is_scratch)| !is_scratch);
        let in_memory: Vec<(usize, u64)> = in_memory.map(|(lane, at, _)| (lane, at)).collect();
        (!in_memory.is_empty()).then_some((in_memory, 4 * access.count as u64))
    }

    /// Returns the address of a scalar load, and the number of dwords.
    ///
    /// * `size`: the name after `s_load_`.
    fn scalar_load(&self, size: &str, one: &Instruction) -> Option<(u64, usize)> {
        let count = match size {
            "dword" | "b32" => 1,
            "dwordx2" | "b64" => 2,
            "dwordx3" | "b96" => 3,
            "dwordx4" | "b128" => 4,
            "dwordx8" | "b256" => 8,
            _ => return None,
        };
        let offset = match *one.operands.get(2)? {
            Operand::Number(offset) => offset,
            Operand::Null => one.offset,
            Operand::Scalars(first, _) => i64::from(self.s[first]) + one.offset,
            _ => return None,
        };
        let base = self.wide(*one.operands.get(1)?)?;
        Some((base.wrapping_add_signed(offset), count))
    }

    /// Executes a load or store.
    fn access(&mut self, name: &str, operands: &[Operand], offset: i64) -> Option<()> {
        let (kind, rest) = name.split_once('_')?;
        if matches!(kind, "buffer" | "global") && rest.starts_with("gl")
            || rest.contains("inv")
            || rest.contains("wb")
        {
            return Some(());
        }
        let access = self.lanes_of_access(name, operands, offset)?;
        let lanes = self.lanes() as i64;
        for (lane, start, is_scratch) in access.lanes {
            for n in 0..access.count {
                let bytes: &mut [u8] = if is_scratch {
                    // The dwords of all lanes are consecutive.
                    let row = start.wrapping_add_signed(4 * n as i64 * lanes + 4 * lane as i64);
                    let at = usize::try_from(row).ok()?;
                    self.scratch.get_mut(at..at + 4)?
                } else {
                    let (region, at) = self.region(start + 4 * n as u64, 4)?;
                    &mut self.memory[region].1[at..at + 4]
                };
                let register = access.data + n;
                if access.is_store {
                    bytes.copy_from_slice(&self.v[register][lane].to_le_bytes());
                } else {
                    self.v[register][lane] = u32::from_le_bytes(bytes.try_into().ok()?);
                }
            }
        }
        Some(())
    }

    /// Returns the active lanes of a load or store with their addresses. The instruction must be one of these.
    fn lanes_of_access(&self, name: &str, operands: &[Operand], offset: i64) -> Option<Access> {
        let (kind, rest) = name.split_once('_')?;
        if !matches!(kind, "buffer" | "global" | "flat" | "scratch") {
            return None;
        }
        let (what, size) = rest.split_once('_')?;
        let count = match size {
            "dword" | "b32" => 1,
            "dwordx2" | "b64" => 2,
            "dwordx3" | "b96" => 3,
            "dwordx4" | "b128" => 4,
            _ => return None,
        };
        let operand = |n: usize| operands.get(n).copied().unwrap_or(Operand::Other);
        let is_store = what == "store";
        let (data, address, base) = match (kind, is_store) {
            ("buffer", _) => (operand(0), operand(1), operand(3)),
            (_, true) => (operand(1), operand(0), operand(2)),
            (_, false) => (operand(0), operand(1), operand(2)),
        };
        let Operand::Vectors(data, _) = data else {
            return None;
        };
        let mut found = Access {
            is_store,
            count,
            data,
            lanes: Vec::new(),
        };
        let lanes = self.lanes() as i64;
        for lane in self.active() {
            // The address: a byte of the lane in the wave's scratch, or a byte in memory.
            let own = i64::from(match address {
                Operand::Vectors(first, 1) => self.v[first][lane],
                _ => 0,
            });
            let (start, is_scratch) = match kind {
                "scratch" => {
                    let base = match base {
                        Operand::Scalars(register, _) => self.s[register].into(),
                        _ => 0,
                    };
                    (((own + base + offset) * lanes).cast_unsigned(), true)
                }
                "buffer" => {
                    let base = i64::from(self.scalar(base)?);
                    ((base + (own + offset) * lanes).cast_unsigned(), true)
                }
                _ => {
                    let start = match base {
                        Operand::Scalars(_, 2) => self.wide(base)?.wrapping_add_signed(own),
                        _ => self.wide_source(address, lane)?,
                    };
                    let at = start.wrapping_add_signed(offset);
                    match kind == "flat" && (at >> 32) as u32 == PRIVATE_BASE {
                        true => ((at & 0xffff_ffff) * lanes.cast_unsigned(), true),
                        false => (at, false),
                    }
                }
            };
            found.lanes.push((lane, start, is_scratch));
        }
        Some(found)
    }
}

impl Wave for Machine {
    fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    fn apertures(&self) -> Option<Apertures> {
        Some(Apertures {
            shared_base: SHARED_BASE,
            private_base: u64::from(PRIVATE_BASE) << 32,
        })
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        let index = usize::from(register.index().unwrap_or(0));
        let words: Vec<u32> = match register.class() {
            Some(RegisterClass::Sgpr) => vec![self.s[index]],
            Some(RegisterClass::Vgpr) => self.v[index][..self.lanes()].to_vec(),
            Some(RegisterClass::Agpr) => self.v[AGPRS + index][..self.lanes()].to_vec(),
            _ if register == Register::exec(self.wave_size) => {
                self.s[EXEC..EXEC + self.mask_dwords()].to_vec()
            }
            _ if register == Register::vcc(self.wave_size) => {
                self.s[VCC..VCC + self.mask_dwords()].to_vec()
            }
            _ if register == Register::PC_64 => vec![self.pc as u32, (self.pc >> 32) as u32],
            _ => return Err(AccessError::Unavailable),
        };
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let first = bits.start as usize / 8;
        let part = bytes.get(first..first + out.len());
        out.copy_from_slice(part.ok_or(AccessError::Unavailable)?);
        Ok(())
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let at = usize::try_from(address).map_err(|_| AccessError::Unavailable)?;
        let part = match memory {
            Memory::PrivateWave => self.scratch.get(at..at.saturating_add(out.len())),
            _ => None,
        };
        out.copy_from_slice(part.ok_or(AccessError::Unavailable)?);
        Ok(())
    }
}
