//! Writes the locations of variables like compilers do: the two dialects of `DW_AT_location`, and their location lists.
//!
//! Sources of the forms: the corpus; DWARF 5 §7.7.3; HET A.2.5.

use super::bytes::Bytes;
use super::code::Code;
use crate::simulator::random::Random;

/// The dialect in which a compiler describes locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// LLVM without the extensions: a register as an address in address space 5.
    Legacy,
    /// With the extensions, as ROCm's LLVM.
    Het,
}

/// `DW_OP_regx`, `DW_OP_bregx`, `DW_OP_piece`, `DW_OP_swap`, `DW_OP_xderef`, `DW_OP_mul`, `DW_OP_plus`.
const REGX: u8 = 0x90;
const BREGX: u8 = 0x92;
const FBREG: u8 = 0x91;
const PIECE: u8 = 0x93;
const SWAP: u8 = 0x16;
const XDEREF: u8 = 0x18;
const MUL: u8 = 0x1e;
const PLUS: u8 = 0x22;
const DEREF_SIZE: u8 = 0x94;
const CONST_SIGNED: u8 = 0x11;
const STACK_VALUE: u8 = 0x9f;
/// `DW_OP_lit0`.
const LITERAL: u8 = 0x30;
/// `DW_OP_LLVM_user` with its operations.
const USER: u8 = 0xe9;
const FORM_ASPACE_ADDRESS: u8 = 0x02;
const PUSH_LANE: u8 = 0x03;
const OFFSET: u8 = 0x04;
const UNDEFINED: u8 = 0x08;
const PIECE_END: u8 = 0x0a;

/// The first vector register of a wave of 32 lanes, and the first scalar register.
const VGPR0: u64 = 1536;
const SGPR0: u64 = 32;

/// Returns the frame base: the stack in `s33`, or in `s32` for a leaf.
#[must_use]
pub fn frame_base(is_leaf: bool) -> Bytes {
    let mut expression = Bytes::default();
    let register = if is_leaf { 32 } else { 33 };
    expression.u8(REGX).uleb(SGPR0 + register);
    expression
}

/// Writes an expression for an object of `size` bytes.
pub fn expression(to: &mut Bytes, dialect: Dialect, size: u64, random: &mut Random) {
    let choice = random.below(100);
    if size > 8 || choice < 12 {
        return in_scratch(to, dialect, 16 + 4 * random.below(32) as i64);
    }
    if choice < 18 && dialect == Dialect::Het {
        to.u8(USER).u8(UNDEFINED);
        return;
    }
    if choice < 25 {
        to.u8(CONST_SIGNED).sleb(random.below(2000) as i64 - 1000);
        if dialect == Dialect::Legacy {
            to.raw(&[LITERAL + 5, SWAP, XDEREF]);
        }
        to.u8(STACK_VALUE);
        return;
    }
    let scalar = choice < 40;
    let first = 2 + random.below(30) as u64;
    if size <= 4 {
        return register(to, dialect, scalar, first);
    }
    for part in [first, first + 1] {
        register(to, dialect, scalar, part);
        to.u8(PIECE).uleb(4);
    }
    if dialect == Dialect::Het {
        to.u8(USER).u8(PIECE_END);
    }
}

/// Writes a location of 32 bits in a register: scalar for all lanes, or vector for each lane.
fn register(to: &mut Bytes, dialect: Dialect, scalar: bool, number: u64) {
    if scalar {
        to.u8(REGX).uleb(SGPR0 + number);
        return;
    }
    match dialect {
        Dialect::Legacy => {
            to.u8(BREGX).uleb(VGPR0 + number).sleb(0);
            to.raw(&[LITERAL + 5, SWAP, XDEREF]);
        }
        Dialect::Het => {
            to.u8(REGX).uleb(VGPR0 + number);
            to.raw(&[USER, PUSH_LANE, LITERAL + 4, MUL, USER, OFFSET]);
        }
    }
}

/// Writes a location in the frame, at an offset in bytes of one lane.
fn in_scratch(to: &mut Bytes, dialect: Dialect, offset: i64) {
    match dialect {
        Dialect::Legacy => {
            to.u8(FBREG).sleb(offset);
            to.raw(&[LITERAL + 5, SWAP, XDEREF]);
        }
        Dialect::Het => {
            to.u8(REGX).uleb(SGPR0 + 33).raw(&[DEREF_SIZE, 4]);
            to.u8(CONST_SIGNED).sleb(offset).u8(PLUS);
            to.raw(&[LITERAL + 5, USER, FORM_ASPACE_ADDRESS]);
        }
    }
}

/// The location lists of a unit, with the table of their offsets.
#[derive(Debug, Default)]
pub struct Lists {
    offsets: Vec<u32>,
    entries: Bytes,
}

/// `DW_LLE_end_of_list`, `DW_LLE_base_addressx`, `DW_LLE_offset_pair`.
const END_OF_LIST: u8 = 0;
const BASE_ADDRESSX: u8 = 1;
const OFFSET_PAIR: u8 = 4;

/// The base of the addresses in a list.
#[derive(Clone, Copy, Debug)]
pub enum Base {
    /// The start of the unit, with the offset of the function from it.
    Unit(u32),
    /// The entry of `.debug_addr` with the start of the function.
    Function(u64),
}

impl Lists {
    /// Adds a list of `count` entries for an object of `size` bytes that lives during the instructions `alive` of a function. Returns its
    /// number.
    pub fn add(
        &mut self,
        (dialect, size): (Dialect, u64),
        base: Base,
        code: &Code,
        alive: core::ops::Range<usize>,
        count: usize,
        random: &mut Random,
    ) -> u64 {
        self.offsets.push(self.entries.offset());
        let shift = match base {
            Base::Unit(offset) => offset,
            Base::Function(index) => {
                self.entries.u8(BASE_ADDRESSX).uleb(index);
                0
            }
        };
        let step = alive.len() / count;
        assert!(step >= 2, "there are fewer instructions than entries");
        for number in 0..count {
            let first = alive.start + number * step + random.below(step / 2);
            let last = first + 1 + random.below(step / 2);
            self.entries
                .u8(OFFSET_PAIR)
                .uleb(u64::from(shift + code.at(first)))
                .uleb(u64::from(shift + code.at(last)));
            let mut bytes = Bytes::default();
            expression(&mut bytes, dialect, size, random);
            self.entries.block(bytes.slice());
        }
        self.entries.u8(END_OF_LIST);
        self.offsets.len() as u64 - 1
    }

    /// Appends the contribution of a unit to `.debug_loclists`. Returns the base for `DW_AT_loclists_base`.
    pub fn finish(self, section: &mut Bytes) -> u32 {
        let length = section.start_length();
        let count = u32::try_from(self.offsets.len()).unwrap();
        section.u16(5).u8(8).u8(0).u32(count);
        let base = section.offset();
        for offset in self.offsets {
            section.u32(count * 4 + offset);
        }
        section.raw(self.entries.slice());
        section.end_length(length);
        base
    }
}
