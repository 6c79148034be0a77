//! Helpers for entries of `.debug_info` in the crafted files: the numbers of tags and attributes, and common entries.

use crate::elf::{Attribute as A, Entry};

pub const COMPILE_UNIT: u64 = 0x11;
pub const SUBPROGRAM: u64 = 0x2e;
pub const VARIABLE: u64 = 0x34;
pub const BASE_TYPE: u64 = 0x24;
pub const STRUCTURE: u64 = 0x13;
pub const MEMBER: u64 = 0x0d;
pub const ARRAY: u64 = 0x01;
pub const SUBRANGE: u64 = 0x21;
pub const TYPEDEF: u64 = 0x16;
pub const POINTER: u64 = 0x0f;
pub const INLINED: u64 = 0x1d;
pub const BLOCK: u64 = 0x0b;
pub const NAME: u64 = 0x03;
pub const TYPE: u64 = 0x49;
pub const LOCATION: u64 = 0x02;
pub const BYTE_SIZE: u64 = 0x0b;
pub const UPPER_BOUND: u64 = 0x2f;
pub const MEMBER_LOCATION: u64 = 0x38;
pub const ENCODING: u64 = 0x3e;
pub const LOW_PC: u64 = 0x11;
pub const HIGH_PC: u64 = 0x12;
pub const ORIGIN: u64 = 0x31;
pub const SPECIFICATION: u64 = 0x47;
pub const FRAME_BASE: u64 = 0x40;

pub fn entry(depth: usize, tag: u64, attributes: Vec<(u64, A)>) -> Entry {
    Entry {
        tag,
        attributes,
        depth,
    }
}

/// Returns an entry with code from 0x1000 to 0x2000.
pub fn code(tag: u64, depth: usize, mut attributes: Vec<(u64, A)>) -> Entry {
    attributes.extend([(LOW_PC, A::address(0x1000)), (HIGH_PC, A::number(0x1000))]);
    entry(depth, tag, attributes)
}

pub fn int(depth: usize) -> Entry {
    entry(
        depth,
        BASE_TYPE,
        vec![
            (NAME, A::name("int")),
            (BYTE_SIZE, A::number(4)),
            (ENCODING, A::number(5)),
        ],
    )
}

pub fn named(tag: u64, depth: usize, name: &str, ty: usize) -> Entry {
    entry(
        depth,
        tag,
        vec![(NAME, A::name(name)), (TYPE, A::Entry(ty))],
    )
}
