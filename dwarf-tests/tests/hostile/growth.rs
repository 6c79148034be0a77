//! Checks that the cost of a file, in steps and bytes of the meter, is proportional to its size for any contents.
//!
//! Each kind of contents is repeated, and the file is read three times with twice as many each time. Each must cost at least the given
//! amount, so that the test fails if the charge is removed. The last must not cost more than the first.

use std::num::NonZeroUsize;
use std::sync::Arc;

use dwarf_tests::probe::Zeros;
use hetdwarf::arch::WaveSize;
use hetdwarf::dump::{Dump, Part};
use hetdwarf::error::Limit;
use hetdwarf::eval::{
    Context, ExpressionBytes, LocationAttribute, ResultKind, Unit, evaluate, locate,
};
use hetdwarf::expr::Encoding;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::location::{Access, Arena, Location, Place, Storage, read};
use hetdwarf::meter::Meter;
use hetdwarf::object::{CodeObject, code_objects_within};
use hetdwarf::report::{CheckedFile, check_file_within};
use hetdwarf::verify::Selection;

use super::crafted::{self, COMPILE_UNIT, code, debug_frame, entry, int};
use super::elf::{Attribute as A, Entry, Section, code_object, debug_info, object_file, uleb};

/// Returns a meter with limits in proportion to the file and without a floor, so that the floor hides no cost.
pub fn meter(file: &[u8]) -> Arc<Meter> {
    Arc::new(Meter::new(&Limits::DEFAULT, file.len() as u64))
}

/// Returns limits with this many steps for any file.
fn so_much_work(work: u64) -> Limits {
    let mut limits = Limits::DEFAULT;
    (limits.work, limits.work_per_byte) = (work, 0);
    limits
}

pub fn verify(file: &[u8], meter: &Arc<Meter>) -> CheckedFile {
    check_file_within(
        "file",
        file,
        &[],
        &Selection::default(),
        NonZeroUsize::MIN,
        meter,
    )
}

/// A function that reads a file.
pub type Read = fn(&[u8], &Arc<Meter>);

fn verified(file: &[u8], meter: &Arc<Meter>) {
    let found = verify(file, meter);
    assert!(!found.objects.is_empty(), "{:?}", found.unreadable);
}

fn opened(file: &[u8], meter: &Arc<Meter>) {
    CodeObject::parse_within(file, meter).unwrap();
}

fn symbols(file: &[u8], meter: &Arc<Meter>) {
    let object = CodeObject::parse_within(file, meter).unwrap();
    assert!(object.symbols().unwrap().len() > 10);
}

fn notes(file: &[u8], meter: &Arc<Meter>) {
    let object = CodeObject::parse_within(file, meter).unwrap();
    object.metadata().unwrap();
}

fn info_section(file: &[u8], meter: &Arc<Meter>) {
    let object = CodeObject::parse_within(file, meter).unwrap();
    object.section(".debug_info").unwrap().unwrap();
}

fn loaded(file: &[u8], meter: &Arc<Meter>) {
    let object = CodeObject::parse_within(file, meter).unwrap();
    let program = Program::load(&object).unwrap();
    assert!(program.info().unit_ids().next().is_some());
    for unit in program.info().unit_ids() {
        program.info().unit_info(unit).unwrap();
    }
}

fn line_rows(file: &[u8], meter: &Arc<Meter>) {
    let object = CodeObject::parse_within(file, meter).unwrap();
    let program = Program::load(&object).unwrap();
    let unit = program.info().unit_ids().next().unwrap();
    let table = program.info().line_table(unit).unwrap().unwrap();
    assert!(table.rows().len() > 10, "{:?}", table.problem());
}

fn found(file: &[u8], meter: &Arc<Meter>) {
    assert!(code_objects_within(file, &[], meter).unwrap().len() > 10);
}

/// Reads the variables of a stop. The query has its own meter, so its steps are added.
fn variables(file: &[u8], meter: &Arc<Meter>) {
    let object = CodeObject::parse_within(file, meter).unwrap();
    let program = Program::load(&object).unwrap();
    let (wave, arena) = (Zeros(WaveSize::Wave64), Arena::new());
    let stop = Stop::new(&program, &wave, 0x1010, StopOptions::default(), &arena);
    let mut types = Default::default();
    let variables = stop.call_frame(0).unwrap().variables(&mut types).unwrap();
    assert!(variables.len() > 10, "{}", variables.len());
    LAST.with(|last| last.set((stop.meter().steps(), stop.meter().peak_bytes())));
}

std::thread_local! {
    /// The cost of the last query of a stop.
    static LAST: core::cell::Cell<(u64, u64)> = const { core::cell::Cell::new((0, 0)) };
}

/// Returns the steps and bytes of reading a file, and the number of uncharged bytes.
fn cost(file: &[u8], read: Read) -> (u64, u64, u64) {
    let meter = meter(file);
    LAST.with(|last| last.set((0, 0)));
    let allocated = allocation_counter::measure(|| read(file, &meter));
    assert!(meter.refused().is_none(), "{:?}", meter.refused());
    let (steps, bytes) = LAST.with(core::cell::Cell::get);
    let (steps, bytes) = (meter.steps() + steps, meter.peak_bytes() + bytes);
    // The meter's bytes equal the allocated bytes, except that a growing vector exists twice for a moment, and every file takes a constant
    // amount.
    let most = 2 * bytes + 3 * file.len() as u64 + (1 << 20);
    (steps, bytes, allocated.bytes_max.saturating_sub(most))
}

pub fn with(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let text = (".text", &[0; 64][..]);
    code_object(&[&[text], sections].concat())
}

pub fn with_entries(entries: &[Entry]) -> Vec<u8> {
    let (abbreviations, info) = debug_info(entries);
    with(&[(".debug_abbrev", &abbreviations), (".debug_info", &info)])
}

pub fn function(inside: impl IntoIterator<Item = Entry>) -> Vec<Entry> {
    let start = [
        code(COMPILE_UNIT, 0, vec![]),
        int(1),
        code(crafted::SUBPROGRAM, 1, vec![]),
    ];
    start.into_iter().chain(inside).collect()
}

pub fn variable(location: &[u8]) -> Entry {
    let attributes = vec![
        (crafted::NAME, A::name("v")),
        (crafted::TYPE, A::Entry(1)),
        (crafted::LOCATION, A::expression(location)),
    ];
    entry(2, crafted::VARIABLE, attributes)
}

/// Returns `DW_OP_addr` with a distinct address.
pub fn address(number: usize) -> Vec<u8> {
    [&[3][..], &(number as u64).to_le_bytes()].concat()
}

pub fn rows(count: usize) -> Vec<u8> {
    // Each repetition advances one byte of code and adds a rule.
    let instructions = [0x41, 0x05, 33, 1].repeat(count);
    with(&[(".debug_frame", &debug_frame(&[0x0c, 33, 0], &instructions))])
}

/// Returns rows of machine code without effects, so that both rows and code are followed.
pub fn code_rows(count: usize) -> Vec<u8> {
    // The code is `s_nop`, and each instruction has a rule for a vector register.
    let text = [0, 0, 0x80, 0xbf].repeat(count);
    let mut frame = debug_frame(&[0x0c, 33, 0, 0x90, 1], &[]);
    let rule = [&[0x44, 0x05][..], &uleb(2600), &[1]].concat();
    frame.extend(rule.repeat(count - 1));
    // Updates the length of the last entry and of its code.
    let entry = frame.len() - rule.len() * (count - 1) - 24;
    let length = (frame.len() - entry - 4) as u32;
    frame[entry..entry + 4].copy_from_slice(&length.to_le_bytes());
    frame[entry + 16..entry + 24].copy_from_slice(&(text.len() as u64).to_le_bytes());
    code_object(&[(".text", &text), (".debug_frame", &frame)])
}

/// Returns rows that cover no code.
pub fn empty_rows(count: usize) -> Vec<u8> {
    with(&[(
        ".debug_frame",
        &debug_frame(&[0x0c, 33, 0], &vec![0x40; count]),
    )])
}

pub fn frame_entries(count: usize) -> Vec<u8> {
    let mut bytes = debug_frame(&[0x0c, 33, 0], &[]);
    let fde = bytes[bytes.len() - 24..].to_vec();
    bytes.extend(fde.repeat(count));
    with(&[(".debug_frame", &bytes)])
}

pub fn units(count: usize) -> Vec<u8> {
    // The unit has version 4, and its first entry has no attributes.
    let unit = [8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1];
    let abbreviations = [1, 0x11, 0, 0, 0, 0];
    with(&[
        (".debug_abbrev", &abbreviations),
        (".debug_info", &unit.repeat(count)),
    ])
}

pub fn abbreviations(count: usize) -> Vec<u8> {
    let mut table = vec![1, 0x11, 0, 0, 0];
    for code in 2..count as u64 + 2 {
        table.extend([&uleb(code)[..], &[0x34, 0, 0, 0]].concat());
    }
    table.push(0);
    let unit = [8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1];
    with(&[(".debug_abbrev", &table), (".debug_info", &unit)])
}

pub fn entries(count: usize) -> Vec<u8> {
    with_entries(&function(vec![entry(2, crafted::VARIABLE, vec![]); count]))
}

pub fn many_variables(count: usize) -> Vec<u8> {
    with_entries(&function(
        (0..count).map(|number| variable(&address(number))),
    ))
}

/// Returns endless expressions, each different from the others.
pub fn endless(count: usize) -> Vec<u8> {
    with_entries(&endless_variables(count))
}

fn endless_variables(count: usize) -> Vec<Entry> {
    let expression = |number: usize| [&address(number)[..], &[0x13, 0x2f, 0xfd, 0xff]].concat();
    function((0..count).map(|number| variable(&expression(number))))
}

/// Returns variables, each with its own type.
pub fn types(count: usize) -> Vec<u8> {
    let types = (0..count).map(|_| crafted::named(crafted::TYPEDEF, 1, "t", 1));
    let variables = (0..count).map(|number| {
        let attributes = vec![(crafted::TYPE, A::Entry(3 + count + number))];
        entry(2, crafted::VARIABLE, attributes)
    });
    with_entries(&function(variables.chain(types)))
}

/// Returns a location list of these entries, shared by `variables` variables.
fn list_of(entries: &[u8], variables: usize) -> Vec<u8> {
    let mut list = vec![0; 4];
    list.extend([5, 0, 8, 0, 0, 0, 0, 0]);
    list.extend(entries);
    list.push(0);
    let length = list.len() as u32 - 4;
    list[..4].copy_from_slice(&length.to_le_bytes());
    let location = A::Bytes(0x17, vec![12, 0, 0, 0]);
    let attributes = vec![(crafted::TYPE, A::Entry(1)), (crafted::LOCATION, location)];
    let variables = vec![entry(2, crafted::VARIABLE, attributes); variables];
    let (abbreviations, info) = debug_info(&function(variables));
    with(&[
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
        (".debug_loclists", &list),
    ])
}

pub fn list_entries(count: usize) -> Vec<u8> {
    // `DW_LLE_start_length` of eight bytes of code, with a distinct expression.
    let entry = |number: usize| {
        let start = 0x1000 + 8 * number as u64;
        [&[8][..], &start.to_le_bytes(), &[8, 9], &address(number)].concat()
    };
    list_of(&(0..count).flat_map(entry).collect::<Vec<_>>(), 1)
}

/// `DW_LLE_GNU_view_pair`, which has no expression.
const VIEW_PAIR: [u8; 3] = [9, 0, 0];
/// `DW_LLE_base_address` of 0x1000.
const BASE_ADDRESS: [u8; 9] = [6, 0, 0x10, 0, 0, 0, 0, 0, 0];
/// `DW_LLE_start_length` for code that the linker dropped, with an empty expression.
const DISCARDED: [u8; 11] = [8, 255, 255, 255, 255, 255, 255, 255, 255, 8, 0];

pub fn view_pairs(count: usize) -> Vec<u8> {
    list_of(&VIEW_PAIR.repeat(count), 1)
}

pub fn base_addresses(count: usize) -> Vec<u8> {
    list_of(&BASE_ADDRESS.repeat(count), 1)
}

pub fn discarded_entries(count: usize) -> Vec<u8> {
    list_of(&DISCARDED.repeat(count), 1)
}

/// Returns a list that eleven variables share.
pub fn shared_view_pairs(count: usize) -> Vec<u8> {
    list_of(&VIEW_PAIR.repeat(count), 11)
}

/// Returns a line program that repeats one special opcode.
fn line_table(count: usize) -> Vec<u8> {
    // The header has no directories and one file, and the program starts at 0x1000.
    let lists = [0, b'a', 0, 0, 0, 0, 0];
    let start = [0, 9, 2, 0, 0x10, 0, 0, 0, 0, 0, 0];
    line_program_of(
        &lists,
        &[&start[..], &vec![0x20; count], &[0, 1, 1]].concat(),
        4,
    )
}

/// Returns a line program with these lists in its header, and these instructions.
pub fn line_program_of(lists: &[u8], program: &[u8], version: u8) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 14, 13];
    header.extend([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
    header.extend(lists);
    let mut table = vec![version, 0];
    if version >= 5 {
        table.extend([8, 0]);
    }
    table.extend((header.len() as u32).to_le_bytes());
    table.extend(header);
    table.extend(program);
    let length = (table.len() as u32).to_le_bytes();
    [&length[..], &table].concat()
}

/// Returns a compressed section.
pub fn compressed_section(bytes: &[u8]) -> Vec<u8> {
    compressed(ZLIB, bytes.len(), &deflated(bytes))
}

/// Returns a unit whose line table is at offset 0.
pub fn unit_with_lines() -> (Vec<u8>, Vec<u8>) {
    let unit = code(COMPILE_UNIT, 0, vec![(0x10, A::Bytes(0x17, vec![0; 4]))]);
    debug_info(&[unit])
}

pub fn line_program(count: usize) -> Vec<u8> {
    let table = line_table(count);
    let (abbreviations, info) = unit_with_lines();
    with(&[
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
        (".debug_line", &table),
    ])
}

pub fn sections(count: usize) -> Vec<u8> {
    with(&vec![(".s", &[][..]); count])
}

const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const RELA: u32 = 4;
const NOTE: u32 = 7;
const REL: u16 = 1;
const DYN: u16 = 3;

/// Returns symbols that share one long name.
pub fn names(count: usize) -> Vec<u8> {
    let mut symbol = [0; 24];
    symbol[0] = 1;
    symbol[6] = 0xf1;
    symbol[7] = 0xff;
    let name = [&[0][..], &[b'n'; 3200], &[0]].concat();
    let symbols = symbol.repeat(count);
    object_file(
        DYN,
        &[
            Section::new(".symtab", SYMTAB, &symbols).linked(2, 0),
            Section::new(".strtab", STRTAB, &name),
        ],
    )
}

pub fn many_notes(count: usize) -> Vec<u8> {
    let note = [4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'G', b'N', b'U', 0];
    object_file(DYN, &[Section::new(".note", NOTE, &note.repeat(count))])
}

pub fn relocations(count: usize) -> Vec<u8> {
    // The relocation is `R_AMDGPU_ABS32` of the null symbol.
    let mut relocation = [0; 24];
    relocation[8] = 6;
    object_file(
        REL,
        &[
            Section::new(".debug_info", 1, &[0; 8]),
            Section::new(".rela.debug_info", RELA, &relocation.repeat(count)).linked(3, 1),
            Section::new(".symtab", SYMTAB, &[0; 24]).linked(4, 0),
            Section::new(".strtab", STRTAB, &[0]),
        ],
    )
}

/// Returns an archive whose members are the same code object.
pub fn members(count: usize) -> Vec<u8> {
    let object = code_object(&[(".text", &[0; 8])]);
    let object = [&object[..], &vec![0; object.len() % 2]].concat();
    let mut archive = b"!<arch>\n".to_vec();
    for number in 0..count {
        let name = format!("m{number}.o/");
        let header = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            644,
            object.len()
        );
        archive.extend(header.as_bytes());
        archive.extend(&object);
    }
    archive
}

/// Returns a bundle whose entries all refer to a single code object.
pub fn bundle_entries(count: usize) -> Vec<u8> {
    const ID: &[u8] = b"hipv4-amdgcn-amd-amdhsa--gfx90a";
    let object = code_object(&[(".text", &[0; 8])]);
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend((count as u64).to_le_bytes());
    let at = bundle.len() + count * (24 + ID.len());
    for _ in 0..count {
        for number in [at, object.len(), ID.len()] {
            bundle.extend((number as u64).to_le_bytes());
        }
        bundle.extend(ID);
    }
    bundle.extend(object);
    bundle
}

/// Returns a section in this many empty Zstandard frames.
pub fn zstd_frames(count: usize) -> Vec<u8> {
    // The frame header with a size of one byte, and a last block that is raw and empty.
    let empty = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];
    let full = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 9, 0, 0, 7];
    let section = compressed(ZSTD, 1, &[&empty.repeat(count)[..], &full].concat());
    object_file(
        DYN,
        &[Section::new(".debug_info", 1, &section).flags(0x800)],
    )
}

/// `ELFCOMPRESS_ZLIB` and `ELFCOMPRESS_ZSTD`.
const ZLIB: u8 = 1;
const ZSTD: u8 = 2;

/// Returns a compressed section: the header with the method and the size, and the stream.
fn compressed(how: u8, size: usize, stream: &[u8]) -> Vec<u8> {
    let mut section = vec![0; 24];
    section[0] = how;
    section[8..16].copy_from_slice(&(size as u64).to_le_bytes());
    // The alignment is 1.
    section[16] = 1;
    section.extend(stream);
    section
}

/// Compresses bytes as a zlib stream.
fn deflated(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a compressed section of zeros.
pub fn zlib(count: usize) -> Vec<u8> {
    packed_with(".debug_info", &vec![0; count], &[])
}

/// The kind of contents, functions that write and read a file of a given count, the first count, and the fewest steps and bytes that each
/// must cost.
pub type Kind = (&'static str, fn(usize) -> Vec<u8>, Read, usize, f64, f64);

pub const KINDS: [Kind; 27] = [
    ("rows", rows, verified, 1000, 2.0, 0.0),
    (
        "rows and machine code",
        code_rows,
        verified,
        1000,
        4.0,
        300.0,
    ),
    (
        "rows for no code",
        empty_rows,
        verified,
        10_000,
        1.0,
        1000.0,
    ),
    (
        "entries of call frame information",
        frame_entries,
        verified,
        1000,
        8.0,
        100.0,
    ),
    ("units", units, loaded, 1000, 9.0, 100.0),
    ("abbreviations", abbreviations, loaded, 1000, 1.0, 100.0),
    ("entries", entries, verified, 1000, 2.0, 48.0),
    (
        "variables, checked",
        many_variables,
        verified,
        1000,
        5.0,
        400.0,
    ),
    (
        "variables, read",
        many_variables,
        variables,
        500,
        16.0,
        200.0,
    ),
    (
        "expressions without end, checked",
        endless,
        verified,
        100,
        3.0,
        2000.0,
    ),
    ("types", types, variables, 500, 10.0, 200.0),
    ("list entries", list_entries, verified, 1000, 2.0, 24.0),
    ("view pairs", view_pairs, verified, 1000, 1.0, 0.0),
    ("base addresses", base_addresses, verified, 1000, 1.0, 0.0),
    (
        "discarded entries",
        discarded_entries,
        verified,
        1000,
        1.0,
        0.0,
    ),
    // The list is read twice for each of eleven variables: to find the unit's convention, and to look it up.
    (
        "view pairs of variables",
        shared_view_pairs,
        variables,
        1000,
        22.0,
        0.0,
    ),
    ("line rows", line_program, line_rows, 10_000, 1.0, 16.0),
    ("sections", sections, opened, 1000, 1.0, 256.0),
    ("names", names, symbols, 1000, 100.0, 40.0),
    ("notes", many_notes, notes, 1000, 1.0, 40.0),
    ("relocations", relocations, info_section, 1000, 1.0, 0.0),
    ("members, found", members, found, 100, 32.0, 100.0),
    ("members, checked", members, verified, 100, 32.0, 100.0),
    (
        "bundle entries, found",
        bundle_entries,
        found,
        1000,
        32.0,
        100.0,
    ),
    (
        "bundle entries, checked",
        bundle_entries,
        verified,
        1000,
        32.0,
        300.0,
    ),
    (
        "Zstandard frames",
        zstd_frames,
        info_section,
        100,
        1000.0,
        0.0,
    ),
    (
        "bytes that are decompressed",
        zlib,
        info_section,
        1_000_000,
        0.03,
        1.0,
    ),
];

#[test]
fn steps_and_bytes_grow_in_proportion() {
    let mut wrong = Vec::new();
    for (name, write, read, count, fewest_steps, fewest_bytes) in KINDS {
        let costs = [count, 2 * count, 4 * count].map(|count| cost(&write(count), read));
        let [once, twice, four] = costs;
        let number = count as f64;
        let slope = |of: fn((u64, u64, u64)) -> u64| {
            let first = (of(twice) as f64 - of(once) as f64) / number;
            let second = (of(four) as f64 - of(twice) as f64) / (2.0 * number);
            (first, second)
        };
        let (steps, bytes) = (slope(|cost| cost.0), slope(|cost| cost.1));
        println!("{name}: {steps:.2?} steps and {bytes:.1?} bytes each");
        if steps.0 < fewest_steps || bytes.0 < fewest_bytes {
            wrong.push(format!(
                "{name}: nobody pays: {steps:?} steps, {bytes:?} bytes each"
            ));
        }
        if four.2 > 0 {
            wrong.push(format!("{name}: {} bytes are not paid for", four.2));
        }
        // Larger numbers may need one more byte.
        if steps.1 > steps.0 * 1.3 + 1.0 || bytes.1 > bytes.0 * 1.3 + 1.0 {
            wrong.push(format!(
                "{name}: more for each of more: {steps:?} steps, {bytes:?} bytes"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The output of compilers needs only a small part of the limits.
#[test]
fn real_files_take_far_less_than_they_may() {
    let mut costs = Vec::new();
    for path in dwarf_tests::corpus() {
        let file = std::fs::read(&path).unwrap();
        let meter = meter(&file);
        verify(&file, &meter);
        assert!(meter.refused().is_none(), "{}", path.display());
        let steps = meter.steps() as f64 / meter.most_steps() as f64;
        let bytes = meter.peak_bytes() as f64 / meter.most_bytes() as f64;
        costs.push((
            steps,
            bytes,
            meter.steps(),
            meter.peak_bytes(),
            file.len(),
            path,
        ));
    }
    costs.sort_by(|one, other| other.0.total_cmp(&one.0));
    for cost in &costs[..5] {
        println!("{cost:?}");
    }
    let most = costs
        .iter()
        .map(|cost| cost.0.max(cost.1))
        .fold(0.0, f64::max);
    assert!(most < 0.1, "{most}");
}

/// Work beyond the limit is stopped. The results so far are kept and marked as incomplete.
#[test]
fn what_is_too_much_is_refused_and_what_was_found_is_kept() {
    let limits = so_much_work(8_000);
    let file = endless(1000);
    let meter = Arc::new(Meter::new(&limits, 0));
    let checked = verify(&file, &meter);
    let limit = "the limit `work` of 8000 was reached";
    assert!(
        checked.unreadable[0].message.raw().contains(limit),
        "{:?}",
        checked.unreadable
    );
    assert!(!checked.objects[0].complete);
    assert!(!checked.objects[0].findings.is_empty());
    assert_eq!(meter.steps(), 8_000);
    // The document is also marked.
    let document = hetdwarf::report::VerifyDocument::new([checked]);
    let text = serde_json::to_string(&document).unwrap();
    assert!(text.contains("\"complete\":false"), "{text}");
}

/// The default entry of a list cannot be evaluated: it is offset 0 from a missing frame base. This does not matter where another entry
/// applies, at address 0x1000.
#[test]
fn only_entries_that_hold_have_to_be_understood() {
    for (length, is_found) in [(0x20, true), (0x10, false)] {
        // `DW_LLE_start_length` from 0x1000 with an expression, and `DW_LLE_default_location` with `DW_OP_fbreg`.
        let bounded = [
            &[8][..],
            &0x1000_u64.to_le_bytes(),
            &[length, 9],
            &address(0x1000),
        ]
        .concat();
        let file = list_of(&[&bounded[..], &[5, 2, 0x91, 0]].concat(), 1);
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        let (wave, arena) = (Zeros(WaveSize::Wave64), Arena::new());
        let stop = Stop::new(&program, &wave, 0x1010, StopOptions::default(), &arena);
        let context = stop.call_frame(0).unwrap().context().unwrap();
        let unit = context.unit().unwrap();
        let unit = program.info().eval_unit(unit).unwrap();
        let list = LocationAttribute::List { unit, offset: 12 };
        let located = locate(&list, &context.context());
        assert_eq!(located.is_ok(), is_found, "{located:?}");
    }
}

/// A dump that reads too much without printing it is also stopped: each of 100 variables has the list of 10,000 entries.
#[test]
fn a_dump_pays_for_what_it_does_not_print() {
    let limits = so_much_work(200_000);
    for entry in [&VIEW_PAIR[..], &BASE_ADDRESS, &DISCARDED] {
        for (variables, is_whole) in [(10, true), (100, false)] {
            let file = list_of(&entry.repeat(10_000), variables);
            let object = CodeObject::parse_with(&file, &limits).unwrap();
            let mut text = Vec::new();
            let dump = Dump::new("file", &object, None).parts(&[Part::Info]);
            let problem = dump.json(true).write(&mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert_eq!(
                !text.contains("\"complete\":false"),
                is_whole,
                "{problem:?}"
            );
            assert_eq!(problem.is_none(), is_whole, "{problem:?}");
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
        }
    }
}

/// Returns the files that once took hours or gigabytes, and true if the whole file is read within the limits.
pub fn files_that_took() -> [(&'static str, Vec<u8>, Read, bool); 9] {
    let long_name = "n".repeat(1 << 20);
    [
        // A file of some kilobytes has 64 MB of rows.
        (
            "64 million rows",
            packed(".debug_frame", &empty_frame(64 << 20)),
            verified,
            false,
        ),
        (
            "64 million line rows",
            packed_lines(64 << 20),
            line_rows,
            false,
        ),
        (
            "400 MiB of units",
            packed(".debug_info", &units_alone(400 << 20)),
            attempted,
            false,
        ),
        (
            "a member's long name",
            member_with_bundle(&long_name, 20_000),
            attempted,
            false,
        ),
        (
            "one object 20,000 times",
            bundle_entries(20_000),
            verified,
            true,
        ),
        (
            "131,072 empty frames",
            zstd_frames(1 << 17),
            attempted,
            false,
        ),
        (
            "bundles that claim much",
            bundles_that_claim(20),
            attempted,
            true,
        ),
        (
            "sections that overlap",
            overlapping(5_000),
            attempted,
            false,
        ),
        (
            "200,000 endless expressions",
            packed_endless(200_000),
            attempted,
            true,
        ),
    ]
}

/// Each file stays within its limits, in steps and in bytes.
#[test]
fn files_that_took_hours_or_gigabytes_do_not() {
    for (name, file, read, is_complete) in files_that_took() {
        let meter = meter(&file);
        let mut steps_and_bytes = (0, 0);
        let allocated = allocation_counter::measure(|| {
            read(&file, &meter);
            steps_and_bytes = (meter.steps(), meter.peak_bytes());
        });
        println!(
            "{name}: a file of {} bytes, {steps_and_bytes:?} steps and bytes, {} MiB",
            file.len(),
            allocated.bytes_max >> 20
        );
        assert!(
            meter.steps() <= (1 << 22) + 32 * file.len() as u64,
            "{name}"
        );
        assert!(
            meter.peak_bytes() <= (256 << 20) + 32 * file.len() as u64,
            "{name}"
        );
        assert!(
            allocated.bytes_max < 512 << 20,
            "{name}: {} bytes",
            allocated.bytes_max
        );
        assert_eq!(meter.refused().is_none(), is_complete, "{name}");
    }
}

fn attempted(file: &[u8], meter: &Arc<Meter>) {
    let found = verify(file, meter);
    assert!(meter.refused().is_none() || !found.unreadable.is_empty());
}

/// Returns a file with one compressed section and other sections.
fn packed_with(name: &str, bytes: &[u8], others: &[(&str, &[u8])]) -> Vec<u8> {
    let section = compressed(ZLIB, bytes.len(), &deflated(bytes));
    let others = others
        .iter()
        .map(|(name, bytes)| Section::new(name, 1, bytes));
    let sections: Vec<_> = others
        .chain([Section::new(name, 1, &section).flags(0x800)])
        .collect();
    object_file(DYN, &sections)
}

fn packed(name: &str, bytes: &[u8]) -> Vec<u8> {
    packed_with(name, bytes, &[(".debug_abbrev", &[1, 0x11, 0, 0, 0, 0])])
}

fn empty_frame(count: usize) -> Vec<u8> {
    debug_frame(&[0x0c, 33, 0], &vec![0x40; count])
}

fn units_alone(size: usize) -> Vec<u8> {
    [8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1].repeat(size / 12)
}

fn packed_lines(count: usize) -> Vec<u8> {
    let (abbreviations, info) = unit_with_lines();
    let others = [
        (".debug_abbrev", &abbreviations[..]),
        (".debug_info", &info),
    ];
    packed_with(".debug_line", &line_table(count), &others)
}

fn packed_endless(count: usize) -> Vec<u8> {
    let (abbreviations, info) = debug_info(&endless_variables(count));
    packed_with(".debug_info", &info, &[(".debug_abbrev", &abbreviations)])
}

/// Returns an archive with one member, with a long name, that is a bundle of `count` entries.
fn member_with_bundle(name: &str, count: usize) -> Vec<u8> {
    let bundle = bundle_entries(count);
    let names = format!("{name}/\n\n");
    let names = &names[..names.len() & !1];
    let header = |name: &str, size: usize| {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644)
    };
    let mut archive = b"!<arch>\n".to_vec();
    archive.extend(header("//", names.len()).as_bytes());
    archive.extend(names.as_bytes());
    archive.extend(header("/0", bundle.len()).as_bytes());
    archive.extend(bundle);
    archive
}

/// Returns compressed bundles of a few bytes, each of which decompresses to 64 MiB.
fn bundles_that_claim(count: usize) -> Vec<u8> {
    let mut inside = bundle_entries(11);
    inside.resize(64 << 20, 0);
    let body = deflated(&inside);
    let mut bundle = b"CCOB".to_vec();
    bundle.extend([2, 0, 0, 0]);
    bundle.extend((24 + body.len() as u32).to_le_bytes());
    bundle.extend((inside.len() as u32).to_le_bytes());
    bundle.extend([0; 8]);
    bundle.extend(body);
    bundle.repeat(count)
}

/// Returns `count` sections of notes, all of which cover the same megabyte.
fn overlapping(count: usize) -> Vec<u8> {
    let notes = [4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'G', b'N', b'U', 0].repeat(1 << 16);
    let sections = vec![Section::new(".note", NOTE, &[]); count];
    let first = Section::new(".note", NOTE, &notes);
    let mut file = object_file(DYN, &[&[first][..], &sections].concat());
    let table = file.len() - 64 * (count + 3);
    for number in 2..count + 2 {
        let at = table + 64 * number;
        file[at + 24..at + 32].copy_from_slice(&64_u64.to_le_bytes());
        file[at + 32..at + 40].copy_from_slice(&(notes.len() as u64).to_le_bytes());
    }
    file
}

/// Identical code objects are checked once.
#[test]
fn the_same_object_is_checked_once() {
    let file = bundle_entries(20_000);
    let meter = meter(&file);
    let checked = verify(&file, &meter);
    assert_eq!((checked.objects.len(), checked.unreadable.len()), (1, 0));
    assert_eq!(checked.objects[0].same.len(), 19_999);
    assert!(meter.steps() < 1_500_000, "{}", meter.steps());
}

/// Several threads give the same result as one, even if the limit is reached.
#[test]
fn threads_reach_the_limit_where_one_does() {
    let mut file_of_units = Vec::new();
    let (abbreviations, info) =
        debug_info(&function((0..50).map(|number| variable(&address(number)))));
    for _ in 0..40 {
        file_of_units.extend(&info);
    }
    let file = with(&[
        (".debug_abbrev", &abbreviations),
        (".debug_info", &file_of_units),
    ]);
    for work in [2_000, 10_000, 1_000_000] {
        let limits = so_much_work(work);
        let texts = [1, 2, 5].map(|threads| {
            let meter = Arc::new(Meter::new(&limits, 0));
            let threads = NonZeroUsize::new(threads).unwrap();
            let found =
                check_file_within("file", &file, &[], &Selection::default(), threads, &meter);
            format!("{found:?}")
        });
        assert_eq!(texts[0], texts[1], "{work}");
        assert_eq!(texts[0], texts[2], "{work}");
        assert_eq!(
            texts[0].contains("the limit `work`"),
            work < 100_000,
            "{work}"
        );
    }
}

fn all_limits_at_their_maximum() -> Limits {
    let mut limits = Limits::DEFAULT;
    for limit in Limit::ALL {
        limits.set(limit, u64::MAX);
    }
    limits
}

/// The highest possible limits cause no other failures.
#[test]
fn limits_at_their_maximum_do_no_harm() {
    let limits = all_limits_at_their_maximum();
    for (_, write, _, count, ..) in KINDS {
        let file = write(count / 10 + 11);
        let meter = Arc::new(Meter::new(&limits, file.len() as u64));
        let _ = verify(&file, &meter);
        let Ok(object) = CodeObject::parse_with(&file, &limits) else {
            continue;
        };
        if let Ok(program) = Program::load(&object) {
            dwarf_tests::probe::stop(&program, 0x1010);
        }
    }
}

/// A stack that grows with each step reaches a limit before memory runs out.
#[test]
fn an_arena_does_not_grow_without_end() {
    let mut limits = all_limits_at_their_maximum();
    limits.memory = 1 << 24;
    let arena = Arena::new();
    // `DW_OP_lit0`, then an endless loop of `DW_OP_dup`.
    let bytes = [0x30, 0x12, 0x2f, 0xfc, 0xff];
    let unit = Unit::unknown(Encoding::AMDGPU);
    let context = Context::new(&arena).with_limits(limits);
    let expression = ExpressionBytes::alone(&bytes, unit);
    let error = evaluate(&expression, ResultKind::Any, &context).unwrap_err();
    let reached = "the limit `memory` of 16777216 was reached";
    assert!(error.to_string().contains(reached), "{error}");
    // A result with the largest possible number of bits also exceeds the limit.
    let everything = Location::One(Place::new(Storage::Undefined, 0));
    let access = Access {
        wave: &Zeros(WaveSize::Wave64),
        lane: None,
        max_bits: u64::MAX,
        meter: None,
    };
    let error = read(&everything, u64::MAX, &access).unwrap_err();
    assert_eq!(error.kind().name(), "limit");
}
