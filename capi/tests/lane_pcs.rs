//! Tests lane PCs in C. The output for regions and for a graph equals the Rust library's. The sections link, and a
//! debugger can read them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod common;

use core::ffi::{CStr, c_char};
use core::ops::Range;
use core::ptr::{null, null_mut};
use std::collections::BTreeSet;
use std::process::Command;

use hetdwarf::arch::{Register, WaveSize};
use hetdwarf::inspect::{self, Stop, StopOptions};
use hetdwarf::lane_pc::{AssemblyFunction, Function, Label, MaskPlace, Program, Region, assembly};
use hetdwarf::{location::Arena, object::CodeObject, wave::Snapshot};
use hetdwarf_capi::hetdwarf_status::{
    HETDWARF_INVALID_ARGUMENT, HETDWARF_MALFORMED, HETDWARF_NOT_FOUND, HETDWARF_OK,
};
use hetdwarf_capi::*;
use object::{Architecture, BinaryFormat, Endianness, FileFlags, SectionKind, elf, write};

/// `r = a > b ? a + b : a - b` for 32 lanes of a gfx1030.
const CODE: [u32; 9] = [
    0xbe84_037e, // 0x00  s_mov_b32 s4, exec_lo
    0x7d08_0300, // 0x04  v_cmp_gt_i32 vcc_lo, v0, v1
    0x877e_6a04, // 0x08  s_and_b32 exec_lo, s4, vcc_lo       where lanes of `else` wait
    0x4a04_0300, // 0x0c  v_add_nc_u32 v2, v0, v1
    0x8a7e_7e04, // 0x10  s_andn2_b32 exec_lo, s4, exec_lo
    0x4c04_0300, // 0x14  v_sub_nc_u32 v2, v0, v1
    0xbefe_0304, // 0x18  s_mov_b32 exec_lo, s4
    0x7e00_0302, // 0x1c  v_mov_b32 v0, v2                    where lanes of `then` wait
    0xbe80_201e, // 0x20  s_setpc_b64 s[30:31]
];
const SIZE: u64 = 0x24;
/// USAGE "Relocation Records".
const R_AMDGPU_ABS32: elf::RelocationType = elf::RelocationType(6);
const R_AMDGPU_ABS64: elf::RelocationType = elf::RelocationType(3);
const NAME: &CStr = c"choose";
const END: &CStr = c".Lchoose_end";

/// The saved EXEC mask, in s4.
const SAVED: hetdwarf_mask = hetdwarf_mask {
    kind: HETDWARF_LANES_SCALAR,
    number: 4,
    value: 0,
};
const NO_MASK: hetdwarf_mask = hetdwarf_mask {
    kind: HETDWARF_LANES_EXEC,
    number: 0,
    value: 0,
};

fn labels(start: u64, end: u64) -> Range<Label> {
    start.into()..end.into()
}

fn choice() -> Region {
    let (then, otherwise) = ((labels(0x0c, 0x14), vec![]), (labels(0x14, 0x1c), vec![]));
    let saved = MaskPlace::Scalar(4);
    Region::if_then_else(0x08.into(), then, otherwise, 0x1c.into(), saved)
}

/// Returns the assembly that the Rust library writes for the function.
fn expected() -> String {
    let program = Program::new(&Function {
        code: labels(0, SIZE),
        wave_size: WaveSize::Wave32,
        regions: vec![choice()],
        whole_wave: vec![],
    });
    let program = program.unwrap();
    let function = AssemblyFunction {
        name: "choose",
        start: "choose",
        end: ".Lchoose_end",
        program: &program,
    };
    assembly("unit", &[function])
}

fn ok(status: hetdwarf_status) {
    assert_eq!(status, HETDWARF_OK);
}

fn code(range: &Range<Label>) -> hetdwarf_range {
    let offset = |label: &Label| match label {
        Label::Offset(offset) => *offset,
        Label::Symbol(_) => panic!("there are no symbols here"),
    };
    hetdwarf_range {
        start: offset(&range.start),
        end: offset(&range.end),
    }
}

/// A writer, freed on drop.
struct Writer(*mut hetdwarf_lane_pcs);

impl Writer {
    fn new() -> Writer {
        let mut writer = null_mut();
        // SAFETY: there is a place for the handle.
        ok(unsafe { hetdwarf_lane_pcs_new(&mut writer) });
        Writer(writer)
    }

    /// Returns a writer with the function, described by its region.
    fn of_region() -> Writer {
        let writer = Writer::new();
        let this = writer.0;
        // SAFETY: the handle is live, and strings end with a NUL.
        unsafe {
            let (name, end) = (NAME.as_ptr(), END.as_ptr());
            ok(hetdwarf_lane_pcs_begin_function(
                this, name, name, end, SIZE, 32,
            ));
            // A mask outside of a region is an error.
            let anywhere = hetdwarf_range { start: 0, end: 4 };
            let status = hetdwarf_lane_pcs_mask(this, anywhere, SAVED, null());
            assert_eq!(status, HETDWARF_INVALID_ARGUMENT);
            let choice = choice();
            ok(hetdwarf_lane_pcs_begin_region(this));
            for (range, _) in choice.masks() {
                ok(hetdwarf_lane_pcs_mask(this, code(range), SAVED, null()));
            }
            for phase in choice.phases() {
                let name = std::ffi::CString::new(phase.name).unwrap();
                let wait = phase.wait.clone().unwrap();
                let mut given: hetdwarf_phase = core::mem::zeroed();
                given.size = size_of::<hetdwarf_phase>();
                given.code = code(&phase.code);
                given.wait = code(&(wait.clone()..wait)).start;
                given.flags = HETDWARF_PHASE_WAITS;
                given.name = name.as_ptr();
                ok(hetdwarf_lane_pcs_begin_phase(this, &given));
                ok(hetdwarf_lane_pcs_end(this));
            }
            ok(hetdwarf_lane_pcs_end(this));
            ok(hetdwarf_lane_pcs_end(this));
        }
        writer
    }

    /// Adds the function, described by its blocks. Returns the status and the number of rejected parts.
    fn add(&self, blocks: &[Block]) -> (hetdwarf_status, usize) {
        self.add_as([NAME, END], blocks)
    }

    /// Adds a function with these symbols at its start and end. Returns the same as `add`.
    fn add_as(&self, names: [&CStr; 2], blocks: &[Block]) -> (hetdwarf_status, usize) {
        let events: Vec<Vec<hetdwarf_lane_event>> = blocks
            .iter()
            .map(|block| block.events.iter().map(event).collect())
            .collect();
        let given: Vec<hetdwarf_block> = blocks
            .iter()
            .zip(&events)
            .map(|(block, events)| hetdwarf_block {
                size: size_of::<hetdwarf_block>(),
                name: block.name.as_ptr(),
                code: code(&block.code),
                events: events.as_ptr(),
                event_count: events.len(),
                successors: block.successors.as_ptr(),
                successor_count: block.successors.len(),
                reserved: [0; 4],
            })
            .collect();
        let mut refused = usize::MAX;
        let [name, end] = names.map(CStr::as_ptr);
        let (blocks, count) = (given.as_ptr(), given.len());
        // SAFETY: the handle is live, arrays have so many entries, and strings end with a NUL.
        let status = unsafe {
            hetdwarf_lane_pcs_add_graph(self.0, name, name, end, 32, blocks, count, &mut refused)
        };
        (status, refused)
    }

    fn text(&self) -> String {
        let mut text = null();
        // SAFETY: the handle is live, and the string ends with a NUL.
        unsafe {
            ok(hetdwarf_lane_pcs_text(self.0, c"unit".as_ptr(), &mut text));
            CStr::from_ptr(text).to_str().unwrap().to_owned()
        }
    }

    fn refused(&self, index: usize) -> Option<String> {
        let mut text = null();
        // SAFETY: as above.
        unsafe {
            match hetdwarf_lane_pcs_refused(self.0, index, &mut text) {
                HETDWARF_OK => Some(CStr::from_ptr(text).to_str().unwrap().to_owned()),
                status => {
                    assert_eq!(status, HETDWARF_NOT_FOUND);
                    None
                }
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // SAFETY: the handle is live.
        ok(unsafe { hetdwarf_free(self.0.cast()) });
    }
}

/// A block. Each event has the start of its instruction.
struct Block {
    name: &'static CStr,
    code: Range<Label>,
    events: Vec<(u64, u32)>,
    successors: Vec<usize>,
}

fn block(
    name: &'static CStr,
    (start, end): (u64, u64),
    events: &[(u64, u32)],
    successors: &[usize],
) -> Block {
    Block {
        name,
        code: labels(start, end),
        events: events.to_vec(),
        successors: successors.to_vec(),
    }
}

fn event((start, change): &(u64, u32)) -> hetdwarf_lane_event {
    hetdwarf_lane_event {
        size: size_of::<hetdwarf_lane_event>(),
        code: code(&labels(*start, start + 4)),
        change: *change,
        padding: 0,
        place: match *change {
            HETDWARF_LANES_AND => NO_MASK,
            _ => SAVED,
        },
        to: NO_MASK,
        reserved: [0; 4],
    }
}

/// Returns the blocks of the function. A jump skips each part that no lane executes.
fn blocks() -> Vec<Block> {
    vec![
        block(
            c"entry",
            (0x00, 0x0c),
            &[(0x00, HETDWARF_LANES_SAVE), (0x08, HETDWARF_LANES_AND)],
            &[1, 2],
        ),
        block(c"then", (0x0c, 0x10), &[], &[2]),
        block(
            c"flip",
            (0x10, 0x14),
            &[(0x10, HETDWARF_LANES_FLIP)],
            &[3, 4],
        ),
        block(c"else", (0x14, 0x18), &[], &[4]),
        block(c"end", (0x18, SIZE), &[(0x18, HETDWARF_LANES_RESTORE)], &[]),
    ]
}

#[test]
fn lane_pcs_are_those_of_the_library() {
    assert_eq!(Writer::of_region().text(), expected());
}

#[test]
fn a_graph_has_the_regions_that_it_was_made_of() {
    let writer = Writer::new();
    assert_eq!(writer.add(&blocks()), (HETDWARF_OK, 0));
    assert_eq!(writer.text(), expected());
    assert_eq!(writer.refused(0), None);
}

/// Narrows EXEC without restoring it. The writer leaves out the inactive lanes and reports the reason.
#[test]
fn what_is_not_structured_is_told() {
    let mut blocks = blocks();
    blocks[4].events.clear();
    let writer = Writer::new();
    let (status, refused) = writer.add(&blocks);
    assert_eq!(status, HETDWARF_OK);
    assert!(refused > 0);
    let reason = writer.refused(0).unwrap();
    assert!(
        reason.contains("EXEC") && reason.contains("blocks: "),
        "{reason}"
    );
    assert_eq!(writer.refused(refused), None);
}

#[test]
fn a_wrong_graph_is_an_error() {
    let writer = Writer::new();
    assert_eq!(writer.add(&[]).0, HETDWARF_MALFORMED);
    let mut wrong = blocks();
    wrong[0].successors = vec![5];
    assert_eq!(writer.add(&wrong).0, HETDWARF_INVALID_ARGUMENT);
    let mut wrong = blocks();
    wrong[0].events = vec![(0, 99)];
    assert_eq!(writer.add(&wrong).0, HETDWARF_INVALID_ARGUMENT);
    let mut wrong = blocks();
    wrong[2].code = labels(0x14, 0x10);
    assert_eq!(writer.add(&wrong).0, HETDWARF_INVALID_ARGUMENT);
    // The second block begins before the first one ends, or after the third.
    for code in [labels(0x00, 0x14), labels(0x18, 0x1c)] {
        let mut wrong = blocks();
        wrong[1].code = code;
        assert_eq!(writer.add(&wrong).0, HETDWARF_MALFORMED);
    }
    // Nothing of a rejected graph is written.
    assert!(!writer.text().contains("choose"));
    // A rejected function does not reserve its names. An accepted function does.
    assert_eq!(writer.add(&blocks()).0, HETDWARF_OK);
    assert_eq!(writer.add(&blocks()).0, HETDWARF_INVALID_ARGUMENT);
}

/// Returns an object file with the code, `before` bytes into its section, and with the sections that C receives.
fn object_file(writer: &Writer, before: u64) -> Vec<u8> {
    // The builder does not support the machine, so its number is patched in at the end.
    let mut file = write::Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    file.flags = FileFlags::Elf {
        os_abi: elf::OsAbi(64),
        abi_version: 4,
        e_flags: elf::FileFlags(0x36),
    };
    let text = file.section_id(write::StandardSection::Text);
    file.append_section_data(text, &vec![0; usize::try_from(before).unwrap()], 4);
    file.append_section_data(text, &CODE.map(u32::to_le_bytes).concat(), 4);
    let symbol = file.add_symbol(write::Symbol {
        name: b"choose".to_vec(),
        value: before,
        size: SIZE,
        kind: object::SymbolKind::Text,
        scope: object::SymbolScope::Linkage,
        weak: false,
        section: write::SymbolSection::Section(text),
        flags: object::SymbolFlags::None,
    });

    let mut count = 0;
    // SAFETY: the handle is live, and the string ends with a NUL.
    ok(unsafe { hetdwarf_lane_pcs_write(writer.0, c"unit".as_ptr(), &mut count) });
    let mut sections = Vec::new();
    for index in 0..count {
        let mut name: *const c_char = null();
        // SAFETY: all bytes zero are a valid value.
        let mut section: hetdwarf_section = unsafe { core::mem::zeroed() };
        section.size = size_of::<hetdwarf_section>();
        // SAFETY: the handle is live, and there are places for the answers.
        ok(unsafe { hetdwarf_lane_pcs_section(writer.0, index, &mut name, &mut section) });
        // SAFETY: C's promises: a string, and arrays of so many entries.
        let (name, bytes, relocations) = unsafe {
            (
                CStr::from_ptr(name).to_bytes().to_vec(),
                core::slice::from_raw_parts(section.bytes, section.length),
                core::slice::from_raw_parts(section.relocations, section.relocation_count),
            )
        };
        let id = file.add_section(vec![], name.clone(), SectionKind::Debug);
        file.append_section_data(id, bytes, 1);
        sections.push((name, id, bytes, relocations));
    }
    for (_, id, bytes, relocations) in &sections {
        for one in *relocations {
            // SAFETY: C's promise: a string, for these sections never NULL.
            let name = unsafe { CStr::from_ptr(one.symbol) }.to_bytes();
            let target = sections.iter().find(|(known, ..)| known == name);
            let target = match target {
                Some((_, id, ..)) => file.section_symbol(*id),
                None => {
                    assert_eq!(name, b"choose");
                    symbol
                }
            };
            // The field also contains the addend.
            let (offset, size) = (
                usize::try_from(one.offset).unwrap(),
                usize::try_from(one.size).unwrap(),
            );
            assert_eq!(
                bytes[offset..offset + size],
                one.addend.to_le_bytes()[..size]
            );
            let relocation = write::Relocation {
                offset: one.offset,
                symbol: target,
                addend: one.addend.cast_signed(),
                flags: object::RelocationFlags::Elf {
                    r_type: match one.size {
                        8 => R_AMDGPU_ABS64,
                        4 => R_AMDGPU_ABS32,
                        other => panic!("a field of {other} bytes"),
                    },
                },
            };
            file.add_relocation(*id, relocation).unwrap();
        }
    }
    let mut bytes = file.write().unwrap();
    drop(bytes.splice(18..20, elf::EM_AMDGPU.0.to_le_bytes()));
    bytes
}

/// Links the sections and reads the lanes at `v_sub`. Of the eight lanes that entered, four are active. The other four
/// have finished `then` and resume after the `else` part. Lanes that never entered have no PC.
#[test]
fn sections_are_linked_and_read() {
    if !common::has("ld.lld-22") || !common::has("llvm-dwarfdump-22") {
        test_skips::skipped("there is no ld.lld-22 or no llvm-dwarfdump-22");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let by_graph = Writer::new();
    assert_eq!(by_graph.add(&blocks()).0, HETDWARF_OK);
    for (writer, before) in [(Writer::of_region(), 0), (by_graph, 0x40)] {
        std::fs::write(path("choose.o"), object_file(&writer, before)).unwrap();
        let mut linker = Command::new("ld.lld-22");
        linker.arg("-shared").arg(path("choose.o"));
        common::run(linker.arg("-o").arg(path("choose")));
        let mut dwarfdump = Command::new("llvm-dwarfdump-22");
        let verified = dwarfdump.arg("--verify").arg(path("choose")).output();
        let verified = String::from_utf8(verified.unwrap().stdout).unwrap();
        assert!(verified.contains("Verifying unit: 1 / 1"), "{verified}");
        assert!(verified.contains("No errors."), "{verified}");

        let bytes = std::fs::read(path("choose")).unwrap();
        let object = CodeObject::parse(&bytes).unwrap();
        let read = inspect::Program::load(&object).unwrap();
        let start = (0..0x10000).step_by(4).find(|pc| {
            let found = read.info().find_function(*pc).unwrap();
            found.is_some_and(|function| function.name.as_deref() == Some("choose"))
        });
        let start = start.unwrap();
        let pc = start + 0x14;
        let mut wave = Snapshot::new("gfx1030", WaveSize::Wave32, pc);
        wave.set_register(Register::EXEC_32, 0xf0).unwrap();
        wave.set_register(Register::sgpr(4).unwrap(), 0xff).unwrap();
        let arena = Arena::new();
        let stop = Stop::new(&read, &wave, pc, StopOptions::default(), &arena);
        let lanes = stop.call_frame(0).unwrap().lane_pcs().unwrap();
        let expected = |lane| match lane {
            0..4 => Some(start + 0x1c),
            4..8 => Some(pc),
            _ => None,
        };
        let expected: Vec<Option<u64>> = (0..32).map(expected).collect();
        let pcs: Vec<_> = lanes.pcs().map(|pc| pc.map(u64::from)).collect();
        assert_eq!(pcs, expected);
    }
}

/// Adds two functions with the same blocks. Relocations refer to both, and no section is empty.
#[test]
fn sections_of_two_functions_name_both() {
    let writer = Writer::new();
    assert_eq!(writer.add(&blocks()).0, HETDWARF_OK);
    let other = writer.add_as([c"other", c".Lother_end"], &blocks());
    assert_eq!(other, (HETDWARF_OK, 0));
    let (mut count, mut names) = (0, BTreeSet::new());
    // SAFETY: the handle is live, and the string ends with a NUL.
    ok(unsafe { hetdwarf_lane_pcs_write(writer.0, c"unit".as_ptr(), &mut count) });
    for index in 0..count {
        let mut name: *const c_char = null();
        // SAFETY: all bytes zero are a valid value.
        let mut section: hetdwarf_section = unsafe { core::mem::zeroed() };
        section.size = size_of::<hetdwarf_section>();
        // SAFETY: the handle is live, and there are places for the answers.
        ok(unsafe { hetdwarf_lane_pcs_section(writer.0, index, &mut name, &mut section) });
        assert!(section.length > 0);
        // SAFETY: C's promise: an array of so many entries.
        let relocations =
            unsafe { core::slice::from_raw_parts(section.relocations, section.relocation_count) };
        for one in relocations {
            // SAFETY: C's promise: a string, for these sections never NULL.
            names.insert(unsafe { CStr::from_ptr(one.symbol) }.to_str().unwrap());
        }
    }
    for name in ["choose", "other"] {
        assert!(names.contains(name), "{names:?}");
    }
}
