//! Supplies both evaluators with the same registers, memory, entries, base types and other inputs of expressions.

use core::ops::Range;

use hetdwarf::arch::{Register, WaveSize};
use hetdwarf::wave::{AccessError, Memory, Wave};

use super::random::mix;

/// The base types that gimli supports, by their offsets in the unit.
pub const TYPES: [BaseType; 10] = [
    BaseType::new(0x20, Kind::Signed, 1),
    BaseType::new(0x24, Kind::Signed, 2),
    BaseType::new(0x28, Kind::Signed, 4),
    BaseType::new(0x2c, Kind::Signed, 8),
    BaseType::new(0x30, Kind::Unsigned, 1),
    BaseType::new(0x34, Kind::Unsigned, 2),
    BaseType::new(0x38, Kind::Unsigned, 4),
    // An offset whose LEB128 has two bytes.
    BaseType::new(0x123, Kind::Unsigned, 8),
    BaseType::new(0x40, Kind::Float, 4),
    BaseType::new(0x44, Kind::Float, 8),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Signed,
    Unsigned,
    Float,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseType {
    pub offset: u64,
    pub kind: Kind,
    pub bytes: u8,
}

impl BaseType {
    const fn new(offset: u64, kind: Kind, bytes: u8) -> BaseType {
        BaseType {
            offset,
            kind,
            bytes,
        }
    }

    pub fn at(offset: u64) -> Option<BaseType> {
        TYPES.into_iter().find(|ty| ty.offset == offset)
    }
}

/// The registers of 64 bits: the program counter, EXEC and VCC of 64 lanes. The registers of 32 bits are scalar. The others are vector
/// registers.
pub const REGISTERS_64: [u16; 3] = [16, 17, 768];
pub const REGISTERS_32: [u16; 6] = [32, 33, 40, 63, 1088, 128];
pub const REGISTERS_VECTOR: [u16; 3] = [2560, 2561, 2602];

pub const LOAD_ADDRESS: u64 = 0x10_0000;
pub const CFA: u64 = 0x7fff_1230;
pub const FRAME_BASE: u64 = 0x7ffe_0000;
pub const OBJECT: u64 = 0x5151_5150;
pub const ADDRESSES: [u64; 4] = [0x1000, 0x2222_2220, 0x7f, 0x4000_0000];

/// The address where the caller's registers were saved, 64 bytes for each.
pub const SAVE_AREA: u64 = 0x6000_0000;

pub fn tls(offset: u64) -> u64 {
    (offset ^ 0x0550_0000) & 0x7fff_ffff
}

/// Returns the size in bits of a register that an expression may read.
pub fn register_bits(register: u16) -> Option<u32> {
    Register(register).size_in_bits()
}

/// Returns a byte of a register. Its values as floats are neither negative nor NaN, because gimli adds 0.0 to the result of
/// `DW_OP_regval_type`.
fn register_byte(register: u16, byte: u32) -> u8 {
    let random = mix(u64::from(register) << 32 | u64::from(byte)).to_le_bytes()[0];
    if byte % 4 == 3 { random & 0x3f } else { random }
}

/// Returns `length` bytes of a register. Returns None past its end.
pub fn read_register(register: u16, length: u8) -> Option<Vec<u8>> {
    let bits = register_bits(register)?;
    let bytes = u32::from(length);
    (bytes * 8 <= bits).then(|| {
        (0..bytes)
            .map(|byte| register_byte(register, byte))
            .collect()
    })
}

/// Returns true if the contents of the memory are unknown to the debugger.
fn is_unavailable(address: u64) -> bool {
    address >> 60 == 0xe
}

fn memory_byte(memory: Memory, address: u64) -> u8 {
    if memory == Memory::Global && (SAVE_AREA..SAVE_AREA + (1 << 20)).contains(&address) {
        // The caller's registers equal the callee's, with the low byte inverted.
        let offset = address - SAVE_AREA;
        let (register, byte) = (offset / 64, offset % 64);
        let byte = u32::try_from(byte).unwrap();
        return register_byte(u16::try_from(register).unwrap(), byte)
            ^ if byte == 0 { 0xff } else { 0 };
    }
    mix(address ^ (memory as u64) << 56).to_le_bytes()[0]
}

/// The reason why memory cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    PastTheEnd,
    Unavailable,
    NoSuchSpace,
}

pub fn read_memory(space: u64, address: u64, length: u8) -> Result<Vec<u8>, Trouble> {
    let (memory, size) = match space {
        0 => (Memory::Global, 1u128 << 64),
        2 => (Memory::Region, 1 << 32),
        3 => (Memory::Local, 1 << 32),
        6 => (Memory::PrivateWave, 1 << 32),
        _ => return Err(Trouble::NoSuchSpace),
    };
    let address = if space == 0 {
        address
    } else {
        address & 0xffff_ffff
    };
    if u128::from(address) + u128::from(length) > size {
        return Err(Trouble::PastTheEnd);
    }
    let bytes = (0..u64::from(length)).map(|byte| {
        let address = address + byte;
        if is_unavailable(address) {
            return Err(Trouble::Unavailable);
        }
        Ok(memory_byte(memory, address))
    });
    bytes.collect()
}

/// A debugger's view of the same contents.
pub struct Stopped;

impl Wave for Stopped {
    fn wave_size(&self) -> WaveSize {
        WaveSize::Wave64
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        for (byte, out) in (bits.start / 8..).zip(out) {
            *out = register_byte(register.0, byte);
        }
        Ok(())
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        for (address, out) in (address..=u64::MAX).zip(out) {
            if is_unavailable(address) {
                return Err(AccessError::Unavailable);
            }
            *out = memory_byte(memory, address);
        }
        Ok(())
    }
}
