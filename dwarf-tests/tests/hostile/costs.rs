//! Records the exact cost of queries in steps: removing a charge changes a number in `costs.txt`.
//!
//! Bounded growth (see `growth`) can be tested with any one of several charges. This test covers each charge that some file reaches. Adding
//! or removing a charge changes the cost of a query, and the change is confirmed by writing the file: `HETDWARF_WRITE_COSTS=1 cargo test -p
//! dwarf-tests --test hostile costs`.

use std::fmt::Write as _;
use std::path::Path;

use dwarf_tests::{cores, fixture, package, wave_cases};
use hetdwarf::annotate::{Request, annotate_file_within};
use hetdwarf::coverage::coverage_within;
use hetdwarf::display::Options;
use hetdwarf::dump::Dump;
use hetdwarf::gpu_core::GpuCore;
use hetdwarf::inspect::{Program, Stop, StopFrame, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::meter::Meter;
use hetdwarf::object::{CodeObject, code_objects_within};
use hetdwarf::report::{
    LaneChoice, LanePcDocument, ObjectDocument, PrintDocument, UnwindDocument, VarsDocument,
    VarsRequest,
};
use hetdwarf::wave::Snapshot;

use super::crafted::{
    BYTE_SIZE, COMPILE_UNIT, Everywhere, HIGH_PC, INLINED, LOCATION, LOW_PC, MEMBER,
    MEMBER_LOCATION, NAME, POINTER, STRUCTURE, SUBPROGRAM, TYPE, UPPER_BOUND, VARIABLE, code,
    debug_frame, encode, entry, evaluate_within, int, stop_files, stopped_wave, type_files,
};
use super::elf::{Attribute as A, Entry, Section, debug_info, object_file};
use super::growth::{KINDS, function, list_entries, meter, verify, with, with_entries};
use super::narrowing::straight;

/// The lines with the steps of each query and the bytes that it held. A query without steps has no line.
struct Costs(String);

impl Costs {
    fn add(&mut self, file: &str, question: &str, meter: &Meter) {
        let (steps, bytes) = (meter.steps(), meter.peak_bytes());
        if steps == 0 {
            return;
        }
        let cut = match meter.refused() {
            Some(_) => ", cut",
            None => "",
        };
        writeln!(
            self.0,
            "{file} | {question} | {steps} steps | {bytes} bytes{cut}"
        )
        .unwrap();
    }
}

/// Runs all queries on an object without a wave, each with its own meter.
fn of_object(name: &str, file: &[u8], costs: &mut Costs) {
    let asked = meter(file);
    verify(file, &asked);
    costs.add(name, "verify", &asked);
    let asked = meter(file);
    let _ = code_objects_within(file, &[], &asked);
    costs.add(name, "find", &asked);
    let parsed = |read: &dyn for<'a> Fn(&'a CodeObject<'a>)| {
        let asked = meter(file);
        if let Ok(object) = CodeObject::parse_within(file, &asked) {
            read(&object);
        }
        asked
    };
    let asked = parsed(&|object| {
        let _ = ObjectDocument::new(object, 0);
    });
    costs.add(name, "info", &asked);
    let asked = parsed(&|object| {
        for section in object.sections() {
            let _ = object.section(&section.name);
        }
        let _ = (object.symbols(), object.kernels());
    });
    costs.add(name, "sections", &asked);
    let asked = parsed(&|object| {
        let _ = Dump::new("file", object, None).write(&mut std::io::sink());
    });
    costs.add(name, "dump", &asked);
    let asked = parsed(&|object| {
        let Ok(program) = Program::load(object) else {
            return;
        };
        let info = program.info();
        for address in [0x1000, 0x1010, 0x1804, 0x1a00, 0x2000] {
            let _ = info.source_frames(address);
        }
        for unit in info.unit_ids().take(4) {
            let _ = (info.unit_info(unit), info.functions(unit));
            let _ = info.line_table(unit).map(|table| {
                table.map(|table| table.rows().len());
            });
        }
    });
    costs.add(name, "addresses", &asked);
    let counting = meter(file);
    parsed(&|object| {
        if let Ok(program) = Program::load(object) {
            let _ = coverage_within(&program, &counting).total();
        }
    });
    costs.add(name, "coverage", &counting);
    let asked = meter(file);
    let _ = annotate_file_within(file, &asked, &Request::new(&|_| true));
    costs.add(name, "annotate", &asked);
}

/// Runs the queries on a stop. Each uses a new program, so that cached facts of one query do not affect another.
fn of_stop(name: &str, file: &[u8], wave: &str, costs: &mut Costs) {
    let wave = Snapshot::from_json(wave.as_bytes()).unwrap();
    let mut stopped = |what: &str, ask: &dyn Fn(&Stop<'_, '_>)| {
        let asked = meter(file);
        let Ok(object) = CodeObject::parse_within(file, &asked) else {
            return;
        };
        let Ok(program) = Program::load(&object) else {
            return;
        };
        let arena = Arena::new();
        let options = StopOptions::loaded_at(wave.load_address);
        let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
        ask(&stop);
        costs.add(name, &format!("{what}, the object"), &asked);
        costs.add(name, what, stop.meter());
    };
    stopped("unwind", &|stop| {
        let _ = UnwindDocument::new(stop);
    });
    for level in 0..2 {
        stopped(&format!("vars {level}"), &|stop| {
            if let Some(frame) = stop.call_frame(level) {
                let _ = VarsDocument::new(&frame, &VarsRequest::default().children(2));
            }
        });
    }
    stopped("lane-pc", &|stop| {
        let _ = stop.call_frame(0).map(|frame| LanePcDocument::new(&frame));
    });
    stopped("print", &|stop| {
        let _ = stop.call_frame(0).map(|frame| print(&frame));
    });
}

/// Evaluates expressions with the first variables of a frame.
fn print(frame: &StopFrame<'_, '_, '_>) {
    let mut types = Default::default();
    let variables = frame.variables(&mut types).unwrap_or_default();
    let names = variables
        .iter()
        .take(3)
        .filter_map(|value| value.variable.name.as_deref());
    let texts = names.flat_map(|name| {
        [
            "#",
            "*#",
            "&#",
            "#[1]",
            "#->x",
            "#.x",
            "sizeof(#)",
            "(long)# + 1",
            "#@3",
        ]
        .map(|form| form.replace('#', name))
    });
    let texts: Vec<_> = texts.collect();
    let _ = PrintDocument::new(frame, LaneChoice::All, &texts, &Options::default());
}

/// Records the cost of opening a core file and its waves.
fn of_core(name: &str, file: &[u8], costs: &mut Costs) {
    let Ok(core) = GpuCore::open(&[file], &Limits::DEFAULT) else {
        return;
    };
    costs.add(name, "core", core.meter());
}

/// Returns an object and a wave that stopped in it.
fn case(folder: &Path, wave: &str) -> (Vec<u8>, String) {
    let names = std::fs::read_dir(folder).unwrap();
    let paths = names.map(|entry| entry.unwrap().path());
    let object = paths
        .filter(|path| path.to_string_lossy().ends_with(".rocm.hsaco"))
        .min();
    let wave = std::fs::read_to_string(folder.join(wave)).unwrap();
    (std::fs::read(object.unwrap()).unwrap(), wave)
}

/// Returns features that the other files lack: constants of all forms, names of several parts, variants, function types, and repeatedly
/// lost bits.
fn mixture() -> Vec<u8> {
    const CONST_VALUE: u64 = 0x1c;
    const LINKAGE_NAME: u64 = 0x6e;
    const BLOCK_FORM: u8 = 0x0a;
    let mut entries = vec![
        code(COMPILE_UNIT, 0, vec![]),
        int(1),
        code(SUBPROGRAM, 1, vec![]),
    ];
    let memory = A::expression(&[3, 0, 0x10, 0, 0, 0, 0, 0, 0]);
    let lost = "DW_OP_addr 0x1000, DW_OP_piece 0x1, DW_OP_piece 0x1, DW_OP_LLVM_piece_end, DW_OP_LLVM_extend 16 50";
    // The types follow eight variables: a structure in a namespace, one with variants, a pointer to a function, an array.
    let (qualified, variants, pointer, array) = (12, 13, 24, 28);
    let variable = |name: &str, ty: usize, rest: (u64, A)| {
        let attributes = vec![(NAME, A::name(name)), (TYPE, A::Entry(ty)), rest];
        entry(2, VARIABLE, attributes)
    };
    let block = A::Bytes(BLOCK_FORM, vec![4, 1, 2, 3, 4]);
    let mut linked = variable("linked", 1, (LOCATION, memory.clone()));
    (linked.attributes).push((LINKAGE_NAME, A::name(&"_ZN".repeat(50))));
    entries.extend([
        variable("block", 1, (CONST_VALUE, block)),
        variable("string", 1, (CONST_VALUE, A::name("text"))),
        variable("number", 1, (CONST_VALUE, A::number(7))),
        linked,
        variable("pointer", pointer, (LOCATION, memory.clone())),
        variable("qualified", qualified, (LOCATION, memory.clone())),
        variable("variant", variants, (LOCATION, memory)),
        variable("lost", array, (LOCATION, A::expression(&encode(lost)))),
    ]);
    assert_eq!(entries.len(), 11);
    entries.extend(mixed_types());
    with_entries(&entries)
}

/// Returns the types of [`mixture`], which start at entry 11.
fn mixed_types() -> Vec<Entry> {
    const NAMESPACE: u64 = 0x39;
    const VARIANT_PART: u64 = 0x33;
    const VARIANT: u64 = 0x19;
    let [discr, discr_value, discr_list] = [0x15, 0x16, 0x3d];
    let [subroutine, parameter, array, subrange] = [0x15, 0x05, 0x01, 0x21];
    let member = |depth: usize, at: u64| {
        let place = (MEMBER_LOCATION, A::number(at));
        entry(
            depth,
            MEMBER,
            vec![(NAME, A::name("m")), (TYPE, A::Entry(1)), place],
        )
    };
    let sized = |depth: usize, name: &str| {
        let size = (BYTE_SIZE, A::number(8));
        entry(depth, STRUCTURE, vec![(NAME, A::name(name)), size])
    };
    let types = vec![
        // 11
        entry(1, NAMESPACE, vec![(NAME, A::name("outer"))]),
        sized(2, "inner"),
        sized(1, "either"),
        entry(2, VARIANT_PART, vec![(discr, A::Entry(15))]),
        member(3, 0),
        entry(3, VARIANT, vec![(discr_value, A::number(1))]),
        member(4, 4),
        entry(
            3,
            VARIANT,
            vec![(discr_list, A::Bytes(0x0a, vec![5, 0, 2, 1, 3, 9]))],
        ),
        member(4, 4),
        // 20
        entry(3, VARIANT, vec![]),
        member(4, 4),
        entry(1, subroutine, vec![(TYPE, A::Entry(1))]),
        entry(2, parameter, vec![(TYPE, A::Entry(1))]),
        entry(
            1,
            POINTER,
            vec![(BYTE_SIZE, A::number(8)), (TYPE, A::Entry(22))],
        ),
        int(1),
        int(1),
        int(1),
        entry(1, array, vec![(TYPE, A::Entry(1))]),
        entry(2, subrange, vec![(UPPER_BOUND, A::number(24))]),
    ];
    assert_eq!(types.len(), 19);
    types
}

/// Returns a constant to which an implicit pointer points, and a variable whose scope starts with the ranges of a list.
fn pointed_at_and_listed() -> Vec<u8> {
    const CONST_VALUE: u64 = 0x1c;
    const START_SCOPE: u64 = 0x2c;
    const SECTION_OFFSET: u8 = 0x17;
    /// The offset of the entry after the unit's entry, which has two addresses of eight bytes.
    const NUMBER: u8 = 12 + 17;
    /// The size of the header of `.debug_rnglists`.
    const HEADER: u8 = 12;
    let variable = |depth: usize, name: &str, ty: usize, rest: Vec<(u64, A)>| {
        let mut attributes = vec![(NAME, A::name(name)), (TYPE, A::Entry(ty))];
        attributes.extend(rest);
        entry(depth, VARIABLE, attributes)
    };
    let pointer = A::expression(&[0xa0, NUMBER, 0, 0, 0, 0]);
    let memory = A::expression(&[3, 0, 0x10, 0, 0, 0, 0, 0, 0]);
    let scope = A::Bytes(SECTION_OFFSET, vec![HEADER, 0, 0, 0]);
    let entries = [
        code(COMPILE_UNIT, 0, vec![]),
        variable(1, "number", 2, vec![(CONST_VALUE, A::number(7))]),
        int(1),
        entry(
            1,
            POINTER,
            vec![(BYTE_SIZE, A::number(8)), (TYPE, A::Entry(2))],
        ),
        code(SUBPROGRAM, 1, vec![]),
        variable(2, "pointer", 3, vec![(LOCATION, pointer)]),
        variable(2, "late", 2, vec![(LOCATION, memory), (START_SCOPE, scope)]),
    ];
    let (abbreviations, info) = debug_info(&entries);
    // Two times, a `DW_RLE_start_length` of all code.
    let range = [7, 0, 0x10, 0, 0, 0, 0, 0, 0, 64];
    let mut ranges = vec![5, 0, 8, 0, 0, 0, 0, 0];
    ranges.extend([&range[..], &range, &[0]].concat());
    let length = (ranges.len() as u32).to_le_bytes();
    with(&[
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
        (".debug_rnglists", &[&length[..], &ranges].concat()),
    ])
}

/// Returns rows that are remembered and restored.
fn remembered_rows() -> Vec<u8> {
    // A rule; then a remembered row, another row, and the restored row.
    let rows = [0x05, 33, 1, 0x41, 0x0a, 0x41, 0x0b].repeat(20);
    with(&[(".debug_frame", &debug_frame(&[0x0c, 33, 0], &rows))])
}

/// Records the cost of single expressions: a branch, an implicit pointer, a location with several places, and a frame base in which a byte
/// could be `DW_OP_fbreg`.
fn of_expressions(costs: &mut Costs) {
    let somewhere = Everywhere {
        expression: encode("DW_OP_addr 0x1000"),
        times: 3,
    };
    for (name, text) in [
        (
            "a branch",
            "DW_OP_lit0, DW_OP_skip 2, DW_OP_nop, DW_OP_nop, DW_OP_stack_value",
        ),
        (
            "an implicit pointer",
            "DW_OP_implicit_pointer 0x5 +0, DW_OP_LLVM_offset_uconst 0x1",
        ),
        ("several places", "DW_OP_call2 0x0"),
        (
            "several places, moved",
            "DW_OP_call2 0x0, DW_OP_LLVM_offset_uconst 0x1",
        ),
        (
            "several places, selected",
            "DW_OP_call2 0x0, DW_OP_dup, DW_OP_lit5, DW_OP_LLVM_select_bit_piece 8 4",
        ),
        ("a frame base", "DW_OP_fbreg 0"),
        ("a register", "DW_OP_regx 40"),
    ] {
        let meter = Meter::new(&Limits::DEFAULT, 0);
        let frame_base = encode("DW_OP_const1u 0x91, DW_OP_plus_uconst 0x1");
        evaluate_within(&encode(text), &frame_base, &somewhere, &meter);
        costs.add(name, "evaluate", &meter);
    }
}

/// Records the cost of a stop's variables after another stop of the same program has read them.
fn asked_again(name: &str, file: &[u8], costs: &mut Costs) {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let wave = Snapshot::from_json(stopped_wave().as_bytes()).unwrap();
    for what in ["vars", "vars again"] {
        let arena = Arena::new();
        let options = StopOptions::loaded_at(wave.load_address);
        let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
        VarsDocument::new(&stop.call_frame(0).unwrap(), &VarsRequest::default()).unwrap();
        costs.add(name, what, stop.meter());
    }
}

/// Returns inlined calls that overlap without nesting.
fn overlapping_calls() -> Vec<u8> {
    let call = |from: u64| {
        let range = vec![(LOW_PC, A::address(from)), (HIGH_PC, A::number(0x20))];
        entry(2, INLINED, range)
    };
    with_entries(&function([call(0x1000), call(0x1008)]))
}

/// Returns a section whose name is not text, and two sections with the same name, which are read as one.
fn parts() -> Vec<u8> {
    const REL: u16 = 1;
    let (abbreviations, info) = debug_info(&[code(COMPILE_UNIT, 0, vec![]), int(1)]);
    let sections = [
        Section::new(".text", 1, &[0; 64]),
        Section::new(".not-text", 1, &[0; 64]),
        Section::new(".debug_abbrev", 1, &abbreviations),
        Section::new(".debug_info", 1, &info),
        Section::new(".debug_info", 1, &[]),
    ];
    let mut file = object_file(REL, &sections);
    let at = file
        .windows(9)
        .position(|bytes| bytes == b".not-text")
        .unwrap();
    file[at + 1] = 0xff;
    file
}

/// Returns two sections with the same name. Because of its alignment, the second starts 4096 bytes after the first.
fn parts_apart() -> Vec<u8> {
    const REL: u16 = 1;
    let (abbreviations, info) = debug_info(&[code(COMPILE_UNIT, 0, vec![]), int(1)]);
    let sections = [
        Section::new(".debug_abbrev", 1, &abbreviations),
        Section::new(".debug_info", 1, &info),
        Section::new(".debug_info", 1, &info).aligned(4096),
    ];
    object_file(REL, &sections)
}

/// Returns two similar units, each with a variable whose type is in the first: `DW_FORM_ref_addr` to the entry after the unit's, which has
/// no attributes.
fn references_between_units() -> Vec<u8> {
    const REF_ADDR: u8 = 0x10;
    const HEADER: u8 = 12;
    let to = A::Bytes(REF_ADDR, vec![HEADER + 1, 0, 0, 0]);
    let entries = [
        entry(0, COMPILE_UNIT, vec![]),
        int(1),
        entry(1, VARIABLE, vec![(TYPE, to)]),
    ];
    let (abbreviations, info) = debug_info(&entries);
    with(&[
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info.repeat(2)),
    ])
}

/// Returns real files with indices of names, and with embedded source texts.
fn with_indices_or_sources() -> impl Iterator<Item = (String, Vec<u8>)> {
    let names = [
        "debug_info/names-two.hsaco",
        "debug_info/small-gfx1100-O0-embed.hsaco",
    ];
    names.into_iter().map(|name| {
        let file = std::fs::read(fixture(name)).unwrap();
        (name.to_owned(), file)
    })
}

fn all() -> String {
    let mut costs = Costs(String::new());
    for (name, write, _, count, ..) in KINDS {
        let file = write(count / 10 + 1);
        of_object(name, &file, &mut costs);
        of_stop(name, &file, &stopped_wave(), &mut costs);
    }
    for (name, file) in [
        ("mixture", mixture()),
        ("calls that overlap", overlapping_calls()),
        ("parts", parts()),
        ("parts that are apart", parts_apart()),
        ("references between units", references_between_units()),
        ("pointed at and listed", pointed_at_and_listed()),
        ("rows that are remembered", remembered_rows()),
        ("code that narrows", straight(30)),
    ] {
        of_object(name, &file, &mut costs);
        of_stop(name, &file, &stopped_wave(), &mut costs);
    }
    asked_again("mixture", &mixture(), &mut costs);
    asked_again("list entries", &list_entries(20), &mut costs);
    of_expressions(&mut costs);
    for (name, file) in type_files(1) {
        of_stop(name, &file, &stopped_wave(), &mut costs);
    }
    for (name, file, _) in stop_files(1) {
        of_stop(name, &file, &stopped_wave(), &mut costs);
    }
    let listed = super::objects().into_iter().chain(super::bundles());
    for (name, file) in listed.chain(with_indices_or_sources()) {
        of_object(&name, &file, &mut costs);
    }
    for folder in wave_cases() {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (object, wave) = case(&folder, "w01.json");
        of_stop(&name, &object, &wave, &mut costs);
    }
    for name in ["gfx1100", "gfx90a"] {
        let file = cores::file(name, "merged.core");
        of_core(name, &file, &mut costs);
    }
    costs.0
}

/// If any lines differ, the message has the first 20 of them.
#[test]
fn each_charge_shows_in_a_figure() {
    let path = package().join("tests/hostile/costs.txt");
    let found = all();
    if std::env::var_os("HETDWARF_WRITE_COSTS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let differ: Vec<_> = (kept.lines().zip(found.lines()))
        .filter(|(kept, found)| kept != found)
        .map(|(kept, found)| format!("was {kept}\nis  {found}"))
        .collect();
    let of = |text: &str| text.lines().count();
    assert!(
        differ.is_empty() && of(&kept) == of(&found),
        "{} of {} figures differ:\n{}",
        differ.len(),
        of(&kept),
        differ[..differ.len().min(20)].join("\n")
    );
}
