//! Builds mostly well-formed debugging information from bytes: entries, line programs, call frame information, location lists and machine
//! code. A fuzzer then reaches code past the first checks.
//!
//! Line rows, call frame rows and location lists are compared with gimli's. Each unknown difference (`is_known_difference`) is a failure.

use std::collections::BTreeMap;

use fallible_iterator::FallibleIterator;
use gimli::UnwindSection as _;
use hetdwarf::debug_info::Row;
use hetdwarf::error::{ErrorKind, SpecRule};
use hetdwarf::eval::LocationRange;
use hetdwarf::frame::{CfaRule, Entry as FrameEntry, FrameSection, RegisterRule, Rows};
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;

use crate::elf::{Attribute, Entry, code_object, debug_info, uleb};

/// Reads choices. After the last byte all choices are 0.
#[derive(Clone, Debug)]
struct Choices<'b>(&'b [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::from(self.byte()) % list.len()]
    }

    /// Returns a number, mostly a small one.
    fn number(&mut self) -> u64 {
        let first = self.byte();
        match first {
            0..=0xdf => u64::from(first),
            0xe0..=0xef => u64::from(self.byte()) << 4,
            0xf0..=0xf7 => u64::from(self.byte()) << (8 * (first & 7)),
            0xf8..=0xfb => u64::MAX - u64::from(self.byte()),
            _ => 1 << (self.byte() % 64),
        }
    }

    /// Returns a signed number, but never the lowest of all, which overflows in gimli's loop over a line program.
    fn signed(&mut self) -> i64 {
        let number = self.number().cast_signed();
        let number = if number == i64::MIN { 0 } else { number };
        if self.byte() & 1 == 0 {
            number
        } else {
            -number
        }
    }

    fn address(&mut self) -> u64 {
        match self.byte() % 16 {
            0 => self.number(),
            1 => u64::MAX - u64::from(self.byte()),
            _ => 0x1000 + u64::from(self.byte()),
        }
    }

    /// Returns an expression of a few operations, mostly well-formed.
    fn expression(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..self.byte() % 6 {
            match self.byte() % 10 {
                // lit, reg and breg.
                0 => bytes.push(0x30 + self.byte() % 32),
                1 => bytes.push(0x50 + self.byte() % 32),
                2 => bytes.extend([0x70 + self.byte() % 32, self.byte() & 0x7f]),
                // regx of a vector register, fbreg, plus_uconst.
                3 => bytes.extend([&[0x90][..], &uleb(2560 + self.number() % 512)].concat()),
                4 => bytes.extend([&[0x91][..], &sleb(self.signed())].concat()),
                5 => bytes.extend([&[0x23][..], &uleb(self.number())].concat()),
                // addr.
                6 => bytes.extend([&[0x03][..], &self.address().to_le_bytes()].concat()),
                // piece, and bit pieces.
                7 => bytes.extend([&[0x93][..], &uleb(self.number())].concat()),
                // DW_OP_LLVM_user and one of its operations.
                8 => bytes.extend([0xe9, self.byte() % 16]),
                _ => bytes.push(self.byte()),
            }
        }
        bytes
    }
}

/// Encodes a number as signed LEB128.
fn sleb(mut value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 && byte & 0x40 == 0 || value == -1 && byte & 0x40 != 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// Tags of units, functions, scopes, variables and types.
const TAGS: &[u64] = &[
    0x11, 0x2e, 0x2e, 0x0b, 0x0b, 0x1d, 0x34, 0x34, 0x34, 0x05, 0x05, 0x48, 0x49, 0x24, 0x24, 0x0f,
    0x10, 0x13, 0x0d, 0x17, 0x01, 0x21, 0x04, 0x28, 0x16, 0x26, 0x35, 0x15, 0x39, 0x3a, 0x08, 0x1c,
    0x33, 0x19, 0x1f, 0x2f, 0x30, 0x42, 0x46, 0x4109,
];
/// Attributes whose values are numbers or locations.
const NUMBERS: &[u64] = &[
    0x0b, 0x0d, 0x3e, 0x2f, 0x37, 0x22, 0x1c, 0x38, 0x6b, 0x0c, 0x88, 0x2e, 0x51, 0x20, 0x34, 0x39,
    0x3a, 0x3b, 0x57, 0x58, 0x59, 0x6a, 0x33, 0x32, 0x3f, 0x3c, 0x0a, 0x3e10,
];
const REFERENCES: &[u64] = &[
    0x49, 0x49, 0x49, 0x31, 0x47, 0x54, 0x1d, 0x64, 0x18, 0x41, 0x0b, 0x2f, 0x37, 0x7f, 0x80, 0x6d,
    0x15,
];
const EXPRESSIONS: &[u64] = &[
    0x02, 0x02, 0x02, 0x40, 0x19, 0x38, 0x2a, 0x46, 0x4d, 0x48, 0x50, 0x4f, 0x4e, 0x71, 0x7e, 0x83,
    0x3e08, 0x3e0a, 0x3e0c,
];

/// Builds entries, whose tree, tags, attributes and references the bytes choose.
#[must_use]
pub fn entries(bytes: &[u8]) -> Vec<u8> {
    /// The most entries. More would not test anything new.
    const MOST: usize = 96;
    let mut choices = Choices(bytes);
    let place = |tag: u64| -> Vec<(u64, Attribute)> {
        match tag {
            0x11 | 0x2e | 0x0b | 0x1d => vec![
                (0x11, Attribute::address(0x1000)),
                (0x12, Attribute::number(0x100)),
            ],
            _ => Vec::new(),
        }
    };
    let mut all = vec![Entry {
        tag: 0x11,
        attributes: place(0x11),
        depth: 0,
    }];
    while !choices.is_over() && all.len() < MOST {
        let deepest = all[all.len() - 1].depth + 1;
        let up = match choices.byte() {
            0..=0x5f => 0,
            0x60..=0xdf => 1,
            other => usize::from(other & 0x1f),
        };
        let depth = deepest.saturating_sub(up).max(1);
        let tag = choices.of(TAGS);
        let mut attributes = match choices.byte() % 4 {
            0 => Vec::new(),
            _ => place(tag),
        };
        let mut taken: Vec<u64> = attributes.iter().map(|(name, _)| *name).collect();
        for _ in 0..choices.byte() % 6 {
            let (name, value) = match choices.byte() % 9 {
                0 | 1 => (
                    0x03,
                    Attribute::name(choices.of(&[
                        "v",
                        "int",
                        "f",
                        "",
                        "ns",
                        "a::b<c>",
                        "\u{1b}[2J",
                    ])),
                ),
                2 => (choices.of(NUMBERS), Attribute::number(choices.number())),
                // DW_FORM_data1 and DW_FORM_flag.
                3 => (
                    choices.of(NUMBERS),
                    Attribute::Bytes(choices.of(&[0x0b, 0x0c]), vec![choices.byte() % 20]),
                ),
                4 | 5 => (
                    choices.of(REFERENCES),
                    Attribute::Entry(choices.byte().into()),
                ),
                6 => (
                    choices.of(EXPRESSIONS),
                    Attribute::expression(&choices.expression()),
                ),
                7 => (
                    choices.of(EXPRESSIONS),
                    Attribute::Call(choices.byte().into()),
                ),
                // DW_FORM_sec_offset, loclistx and sdata.
                _ => (
                    choices.of(EXPRESSIONS),
                    match choices.byte() % 3 {
                        0 => Attribute::Bytes(0x17, u32::from(choices.byte()).to_le_bytes().into()),
                        1 => Attribute::Bytes(0x22, uleb(choices.number())),
                        _ => Attribute::Bytes(0x0d, sleb(choices.signed())),
                    },
                ),
            };
            if !taken.contains(&name) {
                taken.push(name);
                attributes.push((name, value));
            }
        }
        all.push(Entry {
            tag,
            attributes,
            depth,
        });
    }
    let count = all.len();
    for (_, attribute) in all.iter_mut().flat_map(|entry| &mut entry.attributes) {
        if let Attribute::Entry(target) | Attribute::Call(target) = attribute {
            *target %= count;
        }
    }
    let (abbreviations, info) = debug_info(&all);
    code_object(&[
        (".text", &[0; 256]),
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
        (".debug_loclists", &list_section(&mut choices)),
    ])
}

/// Returns a contribution to `.debug_loclists` with one list at offset 12.
fn list_section(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut section = vec![0; 4];
    section.extend([5, 0, 8, 0, 0, 0, 0, 0]);
    for _ in 0..24 {
        if choices.is_over() {
            break;
        }
        let kind = choices.of(&[4, 5, 6, 7, 8, 4, 8, 6]);
        section.push(kind);
        match kind {
            4 => section.extend([uleb(choices.number()), uleb(choices.number())].concat()),
            6 => section.extend(choices.address().to_le_bytes()),
            7 => section.extend(
                [choices.address(), choices.address()]
                    .map(u64::to_le_bytes)
                    .concat(),
            ),
            8 => section.extend(
                [
                    &choices.address().to_le_bytes()[..],
                    &uleb(choices.number()),
                ]
                .concat(),
            ),
            // DW_LLE_default_location.
            _ => {}
        }
        if kind != 6 {
            let expression = choices.expression();
            section.extend([uleb(expression.len() as u64), expression].concat());
        }
    }
    section.push(0);
    let length = u32::try_from(section.len() - 4).unwrap();
    section[..4].copy_from_slice(&length.to_le_bytes());
    section
}

/// Returns a unit with a low address, a line table at 0 and a location list at 12.
fn unit() -> (Vec<u8>, Vec<u8>) {
    let offset = |at: u32| Attribute::Bytes(0x17, at.to_le_bytes().into());
    debug_info(&[
        Entry {
            tag: 0x11,
            attributes: vec![
                (0x11, Attribute::address(0x1000)),
                (0x12, Attribute::number(0x100)),
                (0x10, offset(0)),
            ],
            depth: 0,
        },
        Entry {
            tag: 0x34,
            attributes: vec![(0x02, offset(12))],
            depth: 1,
        },
    ])
}

/// Builds a code object with a line program that the bytes choose.
#[must_use]
pub fn lines(bytes: &[u8]) -> Vec<u8> {
    let mut choices = Choices(bytes);
    let version = choices.of(&[5, 4, 3, 2, 5, 5]);
    // Minimum instruction length, operations (for version 4 and on), default of is_stmt, line base, line range, opcode base.
    let mut header = vec![choices.of(&[1, 4, 1, 4, 2])];
    if version >= 4 {
        header.push(1);
    }
    let range = choices.of(&[14, 14, 12, 1, 255]);
    let base = choices.of(&[13, 13, 10, 14]);
    header.extend([
        choices.byte() & 1,
        choices.of(&[0xfb, 0xfb, 0xff, 0x80]),
        range,
        base,
    ]);
    let lengths = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 2];
    header.extend(&lengths[..usize::from(base) - 1]);
    if version >= 5 {
        // A format of a path and a directory, in strings and bytes; a directory and two files.
        header.extend([1, 1, 8, 1]);
        header.extend(b"/d\0");
        header.extend([2, 1, 8, 2, 0x0b, 2]);
        header.extend(b"a.cl\0\0b.cl\0\0");
    } else {
        header.extend(b"d\0\0a.cl\0\0\0\0b.cl\0\x01\0\0\0");
    }
    let mut program = Vec::new();
    // The program mostly begins with an address.
    let starts = choices.byte() % 8 != 0;
    if starts {
        program.extend([&[0, 9, 2][..], &0x1000_u64.to_le_bytes()].concat());
    }
    for _ in 0..200 {
        if choices.is_over() {
            break;
        }
        let code = choices.byte();
        match code {
            0x00..=0x0f => {
                program.extend([&[0, 9, 2][..], &choices.address().to_le_bytes()].concat())
            }
            0x10..=0x1f => program.extend([0, 1, 1]),
            0x20..=0x27 => program.extend([&[0, 2, 4][..], &[choices.byte() & 0x7f]].concat()),
            // An extended operation with an unknown number.
            0x28..=0x2b => program.extend([0, 3, 0x90, choices.byte(), choices.byte()]),
            0x2c..=0x2f if version < 5 => program.extend(b"\0\x06\x03c\0\0\0\0"),
            0x30..=0x3f => program.extend([&[2][..], &uleb(choices.number())].concat()),
            0x40..=0x4f => program.extend([&[3][..], &sleb(choices.signed())].concat()),
            0x50..=0x57 => program.extend([&[4][..], &uleb(choices.number())].concat()),
            0x58..=0x5f => program.extend([&[5][..], &uleb(choices.number())].concat()),
            0x60..=0x67 if base > 12 => {
                program.extend([&[12][..], &uleb(choices.number())].concat())
            }
            0x68..=0x6f => program.extend([9, choices.byte(), choices.byte() & 0x1f]),
            0x70..=0x9f => program.push(choices.of(&[1, 1, 6, 7, 8, 10, 11]).min(base)),
            // Special opcodes.
            _ => program.push(choices.byte().max(base)),
        }
    }
    program.extend([0, 1, 1]);
    let mut table = vec![version, 0];
    if version >= 5 {
        table.extend([8, 0]);
    }
    table.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    table.extend(header);
    table.extend(program);
    let length = u32::try_from(table.len()).unwrap().to_le_bytes();
    let (abbreviations, info) = unit();
    code_object(&[
        (".text", &[0; 256]),
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
        (".debug_line", &[&length[..], &table].concat()),
    ])
}

/// Builds a code object with call frame information that the bytes choose.
#[must_use]
pub fn frames(bytes: &[u8]) -> Vec<u8> {
    let mut choices = Choices(bytes);
    let version = choices.of(&[4, 3, 1, 4]);
    let mut cie = vec![255, 255, 255, 255, version, 0];
    if version >= 4 {
        cie.extend([8, 0]);
    }
    cie.extend(uleb(choices.of(&[4, 1, 4, 0, 200])));
    cie.extend(sleb(choices.of(&[4, -4, 1, -8, 0])));
    cie.push(16);
    // The CFA is mostly defined.
    if choices.byte() % 8 != 0 {
        cie.extend([0x0c, 33, 0]);
    }
    cie.extend(frame_instructions(&mut choices, 6, false));
    let mut section = with_length(cie);
    for number in 0..3_u64 {
        if choices.is_over() {
            break;
        }
        let mut fde = 0_u32.to_le_bytes().to_vec();
        fde.extend((0x1000 + number * 0x100).to_le_bytes());
        let size = if choices.byte() % 8 == 0 {
            choices.number()
        } else {
            0x100
        };
        fde.extend(size.to_le_bytes());
        fde.extend(frame_instructions(&mut choices, 40, true));
        section.extend(with_length(fde));
    }
    code_object(&[(".text", &[0; 768]), (".debug_frame", &section)])
}

/// Returns an entry with its length in front, padded to a multiple of 4 bytes.
fn with_length(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let length = u32::try_from(bytes.len()).unwrap();
    [&length.to_le_bytes()[..], &bytes].concat()
}

/// * `advances`: true if locations advance, which is meaningless in a CIE.
fn frame_instructions(choices: &mut Choices<'_>, most: u8, advances: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..choices.byte() % (most + 1) {
        let register = |choices: &mut Choices<'_>| match choices.byte() % 4 {
            0 => uleb(u64::from(choices.byte() % 64)),
            1 => uleb(2560 + u64::from(choices.byte())),
            _ => uleb(32 + u64::from(choices.byte() % 8)),
        };
        let code = choices.of(&[
            0x40, 0x41, 0x44, 0x01, 0x02, 0x03, 0x04, 0x80, 0xc0, 0x05, 0x06, 0x07, 0x08, 0x09,
            0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x00,
            0x2e, 0x40, 0x42, 0x0a, 0x0b, 0x80, 0x05, 0x0c,
        ]);
        if !advances && matches!(code, 0x01..=0x04 | 0x40..=0x7f) {
            continue;
        }
        bytes.push(code);
        match code {
            0x80 | 0xc0 => {
                let number = choices.byte() % 64;
                *bytes.last_mut().unwrap() |= number;
                if code == 0x80 {
                    bytes.extend(uleb(choices.number()));
                }
            }
            // set_loc, advance_loc1 to 4.
            0x01 => bytes.extend((0x1000 + u64::from(choices.byte())).to_le_bytes()),
            0x02 => bytes.push(choices.byte()),
            0x03 => bytes.extend([choices.byte(), 0]),
            0x04 => bytes.extend([choices.byte(), 0, 0, 0]),
            // offset_extended, val_offset and def_cfa: a register and a number.
            0x05 | 0x14 | 0x0c => {
                bytes.extend([register(choices), uleb(choices.number())].concat())
            }
            0x11 | 0x15 | 0x12 => {
                bytes.extend([register(choices), sleb(choices.signed())].concat())
            }
            // restore_extended, undefined, same_value and def_cfa_register: a register.
            0x06..=0x08 | 0x0d => bytes.extend(register(choices)),
            0x09 => bytes.extend([register(choices), register(choices)].concat()),
            0x0e | 0x2e => bytes.extend(uleb(choices.number())),
            0x13 => bytes.extend(sleb(choices.signed())),
            // Expressions.
            0x0f => {
                let expression = choices.expression();
                bytes.extend([uleb(expression.len() as u64), expression].concat());
            }
            0x10 | 0x16 => {
                let expression = choices.expression();
                bytes.extend(
                    [register(choices), uleb(expression.len() as u64), expression].concat(),
                );
            }
            _ => {}
        }
    }
    bytes
}

/// Builds a code object with a location list that the bytes choose.
#[must_use]
pub fn lists(bytes: &[u8]) -> Vec<u8> {
    let (abbreviations, info) = unit();
    code_object(&[
        (".text", &[0; 256]),
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
        (".debug_loclists", &list_section(&mut Choices(bytes))),
    ])
}

/// Checks entries like any other object.
///
/// # Panics
/// See [`objects::check`](super::objects::check).
pub fn check_entries(bytes: &[u8]) {
    super::objects::check(&entries(bytes));
}

/// Returns a section of a code object for gimli.
fn section<'a>(
    object: &'a CodeObject<'a>,
    name: &str,
) -> gimli::EndianSlice<'a, gimli::LittleEndian> {
    let bytes = object.section(name).unwrap().unwrap_or_default();
    gimli::EndianSlice::new(bytes, gimli::LittleEndian)
}

/// Compares the rows of a line program with gimli's.
///
/// # Panics
/// If the rows differ.
pub fn check_lines(bytes: &[u8]) {
    let file = lines(bytes);
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let unit = program.info().unit_ids().next().unwrap();
    let ours = program.info().line_table(unit);
    let theirs = gimli::DebugLine::from(section(&object, ".debug_line"));
    let theirs = theirs.program(gimli::DebugLineOffset(0), 8, None, None);
    let (ours, theirs) = match (ours, theirs) {
        (Ok(Some(ours)), Ok(theirs)) => (ours, theirs),
        (Err(_), Err(_)) => return,
        (ours, theirs) => panic!("{ours:?}, but {:?}", theirs.err()),
    };
    let mut rows = theirs.rows();
    let mut expected = Vec::new();
    let error = loop {
        match rows.next_row() {
            Ok(Some((_, row))) => expected.push(*row),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let is_same = |(ours, theirs): &(Row, &gimli::LineRow)| {
        let column = match theirs.column() {
            gimli::ColumnType::LeftEdge => 0,
            gimli::ColumnType::Column(column) => column.get(),
        };
        ours.address == theirs.address()
            && ours.file == theirs.file_index()
            && ours.line == theirs.line().map_or(0, core::num::NonZeroU64::get)
            && ours.column == column
            && ours.isa == theirs.isa()
            && ours.discriminator == theirs.discriminator()
            && ours.is_stmt == theirs.is_stmt()
            && ours.basic_block == theirs.basic_block()
            && ours.epilogue_begin == theirs.epilogue_begin()
            && ours.prologue_end == theirs.prologue_end()
            && ours.end_sequence == theirs.end_sequence()
    };
    assert_eq!(
        ours.problem().is_some(),
        error.is_some(),
        "{:?}, but {error:?}",
        ours.problem()
    );
    assert_eq!(
        ours.rows().len(),
        expected.len(),
        "{:#?}, but {expected:#?}",
        ours.rows().collect::<Vec<Row>>()
    );
    for pair in ours.rows().zip(&expected) {
        assert!(is_same(&pair), "{pair:#?}");
    }
}

/// Compares the entries of a location list with gimli's.
///
/// # Panics
/// If the entries differ.
pub fn check_lists(bytes: &[u8]) {
    let file = lists(bytes);
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let unit = program.info().unit_ids().next().unwrap();
    let meter = program.info().for_query();
    let mut ours = program.info().location_list(unit, 12, &meter).unwrap();
    let (mut found, mut our_error) = (Vec::new(), None);
    loop {
        match ours.next() {
            Ok(Some(entry)) => found.push((entry.range, entry.expression.bytes.to_vec())),
            Ok(None) => break,
            Err(error) => {
                our_error = Some(error);
                break;
            }
        }
    }
    let theirs = gimli::LocationLists::new(
        gimli::DebugLoc::from(gimli::EndianSlice::default()),
        gimli::DebugLocLists::from(section(&object, ".debug_loclists")),
    );
    let encoding = gimli::Encoding {
        format: gimli::Format::Dwarf32,
        version: 5,
        address_size: 8,
    };
    let addresses = gimli::DebugAddr::from(gimli::EndianSlice::default());
    let at = gimli::LocationListsOffset(12);
    let base = gimli::DebugAddrBase(0);
    let mut theirs = theirs
        .locations(at, encoding, 0x1000, &addresses, base)
        .unwrap();
    let (mut expected, mut their_error) = (Vec::new(), None);
    loop {
        match theirs.next() {
            Ok(Some(entry)) => expected.push((entry.range, entry.data.0.slice().to_vec())),
            Ok(None) => break,
            Err(error) => {
                their_error = Some(error);
                break;
            }
        }
    }
    // gimli omits empty and reversed ranges, and represents the default location as a range of all addresses.
    let found: Vec<_> = found
        .into_iter()
        .filter_map(|(range, bytes)| match range {
            LocationRange::Default => Some((0..u64::MAX, bytes)),
            LocationRange::Bounded(range) => (range.start < range.end).then_some((range, bytes)),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(range, bytes)| (range.begin..range.end, bytes))
        .collect();
    let both = found.len().min(expected.len());
    assert_eq!(found[..both], expected[..both]);
    assert_eq!(
        our_error.is_some(),
        their_error.is_some(),
        "{our_error:?}, but {their_error:?}"
    );
    assert_eq!(found.len(), expected.len());
}

/// The rules of a row: the CFA rule, and the register rules.
type Rules = (String, BTreeMap<u64, String>);

/// Compares the rows of call frame information with gimli's.
///
/// # Panics
/// If the rows differ.
pub fn check_frames(bytes: &[u8]) {
    let file = frames(bytes);
    let object = CodeObject::parse(&file).unwrap();
    let bytes = section(&object, ".debug_frame");
    let ours = FrameSection::debug_frame(bytes.slice());
    let mut theirs = gimli::DebugFrame::from(bytes);
    theirs.set_address_size(8);
    let bases = gimli::BaseAddresses::default();
    let mut entries = ours.entries();
    while let Ok(Some(entry)) = entries.next() {
        let FrameEntry::Fde(fde) = entry else {
            continue;
        };
        // An entry at the end of the address space ends there in hetdwarf. In gimli it ends before it begins.
        if fde
            .initial_location
            .checked_add(fde.address_range)
            .is_none()
        {
            continue;
        }
        let offset = gimli::DebugFrameOffset(usize::try_from(fde.offset).unwrap());
        let their_fde = theirs.fde_from_offset(&bases, offset, gimli::DebugFrame::cie_from_offset);
        let their_fde = their_fde.unwrap_or_else(|error| panic!("{fde:?}, but {error}"));
        let (found, our_error) = our_rows(&fde, ours.name());
        let (expected, their_error) = their_rows(&theirs, &their_fde);
        if is_known_difference(our_error.as_ref(), their_error) {
            continue;
        }
        let both = found.len().min(expected.len());
        assert_eq!(
            found[..both],
            expected[..both],
            "{our_error:?}, {their_error:?}"
        );
        // If both reject the entry, either can be the first to do so.
        if our_error.is_some() && their_error.is_some() {
            continue;
        }
        assert!(
            our_error.is_none() && their_error.is_none(),
            "{our_error:?}, but {their_error:?}; {fde:x?}"
        );
        assert_eq!(found.len(), expected.len(), "{found:#?}, but {expected:#?}");
    }
}

/// Rows by their ranges, without empty ones.
type Found = Vec<((u64, u64), Rules)>;

fn our_rows(
    fde: &hetdwarf::frame::Fde<'_>,
    section: &'static str,
) -> (Found, Option<hetdwarf::Error>) {
    let mut found = Vec::new();
    let mut rows = match Rows::new(fde, section) {
        Ok(rows) => rows,
        Err(error) => return (found, Some(error)),
    };
    loop {
        match rows.next() {
            Ok(Some(row)) => {
                let cfa = match row.cfa {
                    CfaRule::None => "register 0 + 0".to_owned(),
                    CfaRule::Register {
                        register, offset, ..
                    } => format!("register {register} + {offset}"),
                    CfaRule::Expression(expression) => format!("{:02x?}", expression.bytes),
                    _ => panic!("{:?}", row.cfa),
                };
                let rules = row.rules().iter().map(|(register, rule)| {
                    let text = match rule {
                        RegisterRule::Expression(bytes) => format!("at {:02x?}", bytes.bytes),
                        RegisterRule::ValExpression(bytes) => format!("is {:02x?}", bytes.bytes),
                        other => format!("{other:?}"),
                    };
                    (*register, text)
                });
                if row.start < row.end {
                    found.push(((row.start, row.end), (cfa, rules.collect())));
                }
            }
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error)),
        }
    }
}

type Slice<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;

fn their_rows<'a>(
    section: &gimli::DebugFrame<Slice<'a>>,
    fde: &gimli::FrameDescriptionEntry<Slice<'a>>,
) -> (Found, Option<gimli::Error>) {
    let bases = gimli::BaseAddresses::default();
    let mut context = gimli::UnwindContext::new();
    let mut found = Vec::new();
    let mut rows = match fde.rows(section, &bases, &mut context) {
        Ok(rows) => rows,
        Err(error) => return (found, Some(error)),
    };
    loop {
        match rows.next_row() {
            Ok(Some(row)) => {
                let bytes = |expression: &gimli::UnwindExpression<usize>| {
                    let bytes = expression.get(section).unwrap();
                    format!("{:02x?}", bytes.0.slice())
                };
                let cfa = match row.cfa() {
                    gimli::CfaRule::RegisterAndOffset { register, offset } => {
                        format!("register {} + {offset}", register.0)
                    }
                    gimli::CfaRule::Expression(expression) => bytes(expression),
                };
                let rules = row.registers().map(|(register, rule)| {
                    let text = match rule {
                        gimli::RegisterRule::Register(other) => format!("Register({})", other.0),
                        gimli::RegisterRule::Expression(expression) => {
                            format!("at {}", bytes(expression))
                        }
                        gimli::RegisterRule::ValExpression(expression) => {
                            format!("is {}", bytes(expression))
                        }
                        other => format!("{other:?}"),
                    };
                    (u64::from(register.0), text)
                });
                let range = (row.start_address(), row.end_address());
                if range.0 < range.1 {
                    found.push((range, (cfa, rules.collect())));
                }
            }
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error)),
        }
    }
}

/// Returns true for known differences. gimli keeps fewer rules and remembered rows. Its CFA is register 0 before it is defined, when an
/// instruction that changes a part of it is ill-formed (DWARF 5 §6.4.2.2). It rejects `DW_CFA_restore` in a CIE, whose initial rules are
/// the rules of the CIE so far. An entry sees the rows that its CIE has remembered (`spec-notes/frames.md`).
fn is_known_difference(ours: Option<&hetdwarf::Error>, theirs: Option<gimli::Error>) -> bool {
    let is_known = |error: &hetdwarf::Error| match error.kind() {
        ErrorKind::IllFormed(SpecRule::CfaRule) => true,
        ErrorKind::Malformed { what, .. } => *what == "DW_CFA_restore_state",
        _ => false,
    };
    ours.is_some_and(is_known)
        || matches!(
            theirs,
            Some(
                gimli::Error::TooManyRegisterRules
                    | gimli::Error::StackFull
                    | gimli::Error::CfiInstructionInInvalidContext
            )
        )
}

/// Annotates machine code that bytes choose.
///
/// # Panics
/// If a second run differs, if the additions cannot be read, or if other sections have changed.
pub fn check_flow(bytes: &[u8]) {
    use hetdwarf::annotate::{Request, annotate};
    use hetdwarf::limits::Limits;
    /// The most instructions. More take longer without testing anything new.
    const MOST: usize = 4 * 400;
    let Some((overlapping, bytes)) = bytes.split_first() else {
        return;
    };
    let items = crate::flow::code(&bytes[..bytes.len().min(MOST)]);
    let file = crate::flow::object(&items, usize::from(*overlapping) % 5);
    let mut limits = Limits::DEFAULT;
    limits.work = 1 << 18;
    let mut request = Request::new(&|_| true);
    // Otherwise a note appears wherever EXEC has other lanes than the active ones.
    request.active_lane = true;
    let found = annotate(&file, &limits, &request).unwrap();
    let again = annotate(&file, &limits, &request).unwrap();
    assert!(found.file == again.file);
    for function in &found.functions {
        let missing: u64 = function.missing.values().sum();
        let is_all = function.covered + missing == function.size || function.left_alone.is_some();
        assert!(is_all, "{function:?}");
    }
    if found.file == file {
        return;
    }
    let (before, after) = (
        CodeObject::parse(&file).unwrap(),
        CodeObject::parse(&found.file).unwrap(),
    );
    assert_eq!(
        before.section(".text").unwrap(),
        after.section(".text").unwrap()
    );
    let (before, after) = (
        Program::load(&before).unwrap(),
        Program::load(&after).unwrap(),
    );
    let at_limit = (found.functions.iter()).any(|function| function.missing.contains_key("limit"));
    let rules = |program: &Program<'_>| -> Vec<String> {
        let found = hetdwarf::verify::verify(program).findings;
        // The generated code reads masks from registers without a mask: leftovers of a callee or of the caller. `annotate` tracks these
        // bits all the same. Where `annotate` reached its small limit, the rules find out more.
        let own = found.iter().filter(|finding| match finding.rule.id {
            "lane-pc-no-mask" => false,
            "lane-pc-missing" => !at_limit,
            other => !other.starts_with("cfi-"),
        });
        own.map(|finding| format!("{} {:?}", finding.rule.id, finding.message))
            .collect()
    };
    let (before, after) = (rules(&before), rules(&after));
    let new: Vec<_> = after
        .iter()
        .filter(|finding| !before.contains(finding))
        .collect();
    assert!(new.is_empty(), "{new:#?}");
}

/// Returns this many pseudo-random choices.
#[must_use]
pub fn choices(seed: u64, count: usize) -> Vec<u8> {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[4]
    };
    core::iter::repeat_with(next).take(count).collect()
}

/// Returns choices of several lengths.
///
/// # Panics
/// Never.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let length = |seed: u64| 20 + 30 * usize::try_from(seed).unwrap();
    (0..24).map(|seed| choices(seed, length(seed))).collect()
}
