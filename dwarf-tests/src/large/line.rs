//! Writes the line table of a unit. Source: DWARF 5 §6.2.

use super::bytes::Bytes;
use super::code::Code;
use crate::simulator::random::Random;

const LINE_BASE: i64 = -5;
const LINE_RANGE: i64 = 14;
const OPCODE_BASE: i64 = 13;
/// The minimum instruction length in bytes, which is the unit of addresses.
const UNIT: u32 = 4;

const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const SET_FILE: u8 = 4;
const SET_COLUMN: u8 = 5;
const NEGATE_STATEMENT: u8 = 6;
const SET_PROLOGUE_END: u8 = 10;
const END_SEQUENCE: u8 = 1;
const SET_ADDRESS: u8 = 2;

/// A line program that is being built.
#[derive(Debug, Default)]
pub struct Lines {
    program: Bytes,
    address: Option<u64>,
    line: i64,
    column: u64,
}

impl Lines {
    /// Adds the rows of a function that starts at an address and a line.
    pub fn function(&mut self, address: u64, code: &Code, line: u16, random: &mut Random) {
        let mut next_line = i64::from(line);
        self.row(address, next_line);
        let mut at = code.body.start;
        self.program.u8(SET_PROLOGUE_END);
        while at < code.body.end {
            next_line = (next_line + random.below(8) as i64 - 2).max(line.into());
            let column = 3 + random.below(40) as u64;
            if column != self.column {
                self.program.u8(SET_COLUMN).uleb(column);
                self.column = column;
            }
            if random.percent(20) {
                self.program.u8(NEGATE_STATEMENT);
            }
            self.row(address + u64::from(code.at(at)), next_line);
            at += 1 + random.below(5);
        }
        self.row(address + u64::from(code.at(code.body.end)), next_line + 1);
    }

    /// Ends the sequence at an address, because the next function is not adjacent.
    pub fn end_sequence(&mut self, address: u64) {
        let Some(from) = self.address.take() else {
            return;
        };
        self.advance(from, address);
        self.program.raw(&[0, 1, END_SEQUENCE]);
        (self.line, self.column) = (0, 0);
    }

    fn row(&mut self, address: u64, line: i64) {
        let from = match self.address {
            Some(from) => from,
            None => {
                self.program.raw(&[0, 9, SET_ADDRESS]).u64(address);
                self.program.raw(&[SET_FILE, 0]);
                self.line = 1;
                address
            }
        };
        self.address = Some(address);
        let mut delta = line - self.line;
        self.line = line;
        if !(LINE_BASE..LINE_BASE + LINE_RANGE).contains(&delta) {
            self.program.u8(ADVANCE_LINE).sleb(delta);
            delta = 0;
        }
        let steps = (address - from) as i64 / i64::from(UNIT);
        let special = |steps: i64| delta - LINE_BASE + LINE_RANGE * steps + OPCODE_BASE;
        let opcode = match special(steps) {
            fits @ 0..=255 => fits,
            _ => {
                self.advance(from, address);
                special(0)
            }
        };
        self.program.u8(u8::try_from(opcode).unwrap());
    }

    fn advance(&mut self, from: u64, to: u64) {
        self.program
            .u8(ADVANCE_PC)
            .uleb((to - from) / u64::from(UNIT));
    }

    /// Appends the table to `.debug_line`. Returns its offset.
    ///
    /// * `folder`, `file`: offsets in `.debug_line_str`.
    pub fn finish(self, section: &mut Bytes, folder: u32, file: u32) -> u32 {
        const PATH: u64 = 1;
        const DIRECTORY_INDEX: u64 = 2;
        const LINE_STRP: u64 = 0x1f;
        const UDATA: u64 = 0x0f;
        let start = section.offset();
        let length = section.start_length();
        section.u16(5).u8(8).u8(0);
        let header = section.start_length();
        section.raw(&[
            UNIT as u8,
            1,
            1,
            LINE_BASE as u8,
            LINE_RANGE as u8,
            OPCODE_BASE as u8,
        ]);
        section.raw(&[0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
        section.u8(1).uleb(PATH).uleb(LINE_STRP);
        section.uleb(1).u32(folder);
        section.u8(2).uleb(PATH).uleb(LINE_STRP);
        section.uleb(DIRECTORY_INDEX).uleb(UDATA);
        section.uleb(1).u32(file).uleb(0);
        section.end_length(header);
        section.raw(self.program.slice());
        section.end_length(length);
        start
    }
}
