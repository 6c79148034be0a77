//! Tests expressions without a value, in one lane or in all: errors of each kind with their positions, and states.

use serde_json::Value;

use core::cell::RefCell;
use core::ops::Range;

use dwarf_tests::fixture;
use hetdwarf::arch::{Apertures, CodeAddress, Lane, Register, WaveSize};
use hetdwarf::display::Options;
use hetdwarf::eval::Reading;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::query::Query;
use hetdwarf::wave::{AccessError, Memory, Snapshot, Wave};

use crate::{expressions, print, truth};

/// A text, the kind of its error, the error's position, and a part of its message.
type Fault = (&'static str, &'static str, usize, &'static str);

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    ("id +", "syntax", 4, "expected an operand, found the end"),
    ("", "syntax", 0, "expected an operand"),
    ("(id", "syntax", 3, "expected `)`"),
    ("id id", "syntax", 3, "expected an operator or the end, found `id`"),
    ("recs[0", "syntax", 6, "expected `]`"),
    ("copy.1", "syntax", 4, "found a number"),
    ("id ? 1", "syntax", 6, "expected `:`"),
    ("08 + id", "syntax", 0, "expected a number, found `08`"),
    ("id + ''", "syntax", 5, "one character"),
    ("id # 3", "syntax", 3, "`#`"),
    ("99999999999999999999", "syntax", 0, "at most 64 bits"),
    ("lokal#0x10", "syntax", 0, "address space"),
    ("local#0x100000000", "syntax", 0, "an address of 32 bits"),
    ("id = 3", "unsupported", 3, "assignment"),
    ("id += 3", "unsupported", 3, "assignment"),
    ("id++", "unsupported", 2, "is only read"),
    ("--id", "unsupported", 0, "is only read"),
    ("area(0, 1)", "unsupported", 4, "call"),
    ("id, 3", "unsupported", 2, "comma"),
    ("Rec", "unsupported", 0, "a type has no value"),
    ("unsigned int", "unsupported", 0, "a type has no value"),
    ("1 + idd", "unknown-name", 4, "did you mean `id`?"),
    ("out + reks", "unknown-name", 6, "did you mean `recs`?"),
    ("nothing_like_it", "unknown-name", 0, "there is no `nothing_like_it` here"),
    ("(Rek *)out", "unknown-type", 1, "did you mean `Rec`?"),
    ("sizeof(struct Rec)", "unknown-type", 7, "there is no type `Rec`"),
    ("(unsigned float)id", "unknown-type", 1, "float unsigned"),
    ("recs[0].yy", "unknown-member", 8, "did you mean `y`?"),
    ("copy.in", "unknown-member", 5, "`Small` has no member `in`"),
    ("$foo + 1", "unknown-register", 0, "$foo"),
    ("$a0", "unknown-register", 0, "$a0"),
    ("$1", "unknown-register", 0, "$1"),
    ("id.x", "type", 3, "`int` has no members"),
    ("id->x", "type", 4, "not a pointer"),
    ("g.x", "type", 2, "use `->`"),
    ("*id", "type", 0, "not a pointer"),
    ("id[1]", "type", 2, "no elements"),
    ("recs + recs", "type", 5, "`+` between"),
    ("copy + 1", "type", 5, "`+` between `Small` and `int`"),
    ("out * 2", "type", 4, "`*` between `float *` and `int`"),
    ("a % 2", "type", 2, "`%` between `float` and `int`"),
    ("a << 1", "type", 2, "`<<` between"),
    ("~a", "type", 0, "`~` on `float`"),
    ("!copy", "type", 0, "used as a condition"),
    ("copy ? 1 : 2", "type", 5, "used as a condition"),
    ("id ? copy : 1", "type", 3, "`?:` between"),
    ("(int)copy", "type", 0, "a cast from `Small` to `int`"),
    ("(Small)id", "type", 0, "a cast from `int` to `Small`"),
    ("(int *)a", "type", 0, "a cast from `float` to `int *`"),
    ("&(id + 1)", "type", 0, "no address"),
    ("&5", "type", 0, "no address"),
    ("(id + 1)@3", "type", 8, "in memory"),
    ("recs[0]@a", "type", 7, "must be a number"),
    ("g[a]", "type", 1, "an index of the type `float`"),
    ("*(void *)g", "type", 0, "no known type"),
    ("sizeof(int(int))", "unsupported", 11, "functions"),
    ("&recs[0] - g", "type", 9, "address spaces private_lane and none"),
    ("&recs[0].x - g", "type", 11, "address spaces private_lane and none"),
    ("1 - g", "type", 2, "`-` between `int` and"),
    ("(char *)g - (int *)g", "type", 10, "`-` between"),
    // Waves of 32 lanes have no halves of masks.
    ("$vcc_hi", "unknown-register", 0, "$vcc_hi"),
    ("$vcc[0:1]", "unknown-register", 0, "$vcc"),
    ("$sgpr[0:1]", "unknown-register", 0, "$sgpr"),
];

#[test]
fn errors_of_each_kind_say_what_and_where() {
    let texts = FAULTS.iter().map(|(text, ..)| *text);
    let answers = expressions("structs", ".rocm.hsaco", "w05", &[], texts);
    let mut wrong = Vec::new();
    for ((text, kind, offset, message), answer) in FAULTS.iter().zip(answers) {
        let error = &answer["error"];
        let said = error["message"].as_str().unwrap_or_default();
        let is_right =
            error["kind"] == *kind && error["offset"] == *offset && said.contains(message);
        if !is_right || !answer["lanes"].is_null() {
            wrong.push(format!("`{text}`: {answer}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    // These kinds are possible for a text of 65536 bytes. `limit` is tested in `hostile`, and `debug-info` needs a damaged file.
    let mut kinds: Vec<&str> = FAULTS.iter().map(|fault| fault.1).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "syntax",
            "type",
            "unknown-member",
            "unknown-name",
            "unknown-register",
            "unknown-type",
            "unsupported"
        ]
    );
}

/// Returns the result of an expression in a lane.
fn lane(case: &str, wave: &str, text: &str, lane: usize) -> Value {
    let answers = expressions(case, ".rocm.hsaco", wave, &[], [text]);
    answers[0]["lanes"]
        .as_array()
        .unwrap_or_else(|| panic!("{}", answers[0]))[lane]
        .clone()
}

#[test]
fn what_one_lane_cannot_be_asked_costs_the_others_nothing() {
    // `a` is 3 in lane 3 of `leaf` of calls-O2.cl. Lane 0 did not enter `leaf`.
    for (text, number, state, said) in [
        ("x / (a - 3)", 3, "error", "division by zero"),
        ("x % (a - 3)", 3, "error", "division by zero"),
        ("1 << (a - 4)", 3, "error", "a shift of 32 bits by -1"),
        ("1 << (a + 31)", 1, "error", "a shift of 32 bits by 32"),
        ("1l >> (a + 61)", 3, "error", "a shift of 64 bits by 64"),
        // The right operand keeps its type (C17 §6.5.7).
        (
            "1 << 4294967297",
            3,
            "error",
            "a shift of 32 bits by 4294967297",
        ),
        (
            "x / (a - 3)",
            0,
            "not-in-frame",
            "did not enter this function; waiting in frame 1, mid",
        ),
        ("1", 0, "not-in-frame", "calls-O2.cl:23"),
    ] {
        let found = lane("calls-O2", "w06", text, number);
        assert_eq!(found["state"], state, "{text}: {found}");
        assert!(
            found["message"].as_str().unwrap_or_default().contains(said),
            "{text}: {found}"
        );
        assert!(
            found["value"].is_null() && found["bytes"].is_null(),
            "{text}: {found}"
        );
    }
    // a = 5, and x = g[a & 3] = g[1] = -3: -3 / 2 is -1.
    assert_eq!(lane("calls-O2", "w06", "x / (a - 3)", 5)["value"], "-1");
    assert_eq!(lane("calls-O2", "w06", "1 << (a - 4)", 5)["value"], "2");
    // Only the relevant side is evaluated.
    for (text, value) in [
        ("a == 3 || x / (a - 3) > 100", "1"),
        ("a != 3 && x / (a - 3) > 100", "0"),
        ("a == 3 ? 7 : x / (a - 3)", "7"),
        ("0 && *(int *)0", "0"),
        ("sizeof(1 / (a - 3))", "4"),
    ] {
        assert_eq!(lane("calls-O2", "w06", text, 3)["value"], value, "{text}");
    }
    assert_eq!(
        lane("calls-O2", "w06", "x / (a - 3) || 1", 3)["state"],
        "error"
    );
}

#[test]
fn null_pointers_of_every_space_point_nowhere() {
    for (text, said) in [
        ("*(int *)0", "the pointer is null"),
        ("((Rec *)0)->x", "the pointer is null"),
        ("*(__private int *)0", "private_lane#0xffffffff"),
        ("*(int *)local#0xffffffff", "local#0xffffffff"),
        ("((__local float *)NULL)[3]", "local#0xffffffff"),
    ] {
        let found = lane("structs", "w05", text, 4);
        if text.ends_with("[3]") {
            // Adding to a null pointer gives some address, as in C, with unknown contents.
            assert_ne!(found["state"], "ok", "{text}: {found}");
            continue;
        }
        assert_eq!(found["state"], "error", "{text}: {found}");
        assert!(
            found["message"].as_str().unwrap().contains(said),
            "{text}: {found}"
        );
    }
    for (text, value) in [
        // These are C's idioms for `offsetof`: y starts after an int of 4 bytes, and big is at 24.
        ("(long)&((Rec *)0)->y[2]", "12"),
        ("(unsigned long)&((Rec *)0)->big", "24"),
        ("(__private int *)0 == 0", "1"),
        // `false` is 0 in C (C17 §7.18).
        ("(__private int *)0 == false", "1"),
        // Address 0 of local memory is no null pointer (USAGE "Address Spaces").
        ("(bool)local#0 + 0", "1"),
        ("(bool)local#0xffffffff + 0", "0"),
        ("!(__local int *)0", "1"),
        ("(long)(__local int *)0", "4294967295"),
        ("(__generic int *)(__local int *)0 == 0", "1"),
        ("local#0 == 0", "0"),
    ] {
        assert_eq!(lane("structs", "w05", text, 4)["value"], value, "{text}");
    }
}

#[test]
fn what_is_in_a_register_has_no_address() {
    let found = lane("calls-O2", "w06", "&a", 5);
    assert_eq!(found["state"], "error");
    let message = found["message"].as_str().unwrap();
    assert!(
        message.contains("no address") && message.contains("the register v"),
        "{message}"
    );
    // `a` of calls-O2.cl is in a vector register, which has a dword for each lane.
    let register = message.rsplit(' ').next().unwrap();
    let text = format!("${register} == a");
    assert_eq!(lane("calls-O2", "w06", &text, 5)["value"], "1");
    let found = lane("calls-O2", "w06", "a@2", 5);
    assert_eq!(found["state"], "error", "{found}");
}

#[test]
fn what_was_optimized_out_says_so_and_what_is_unknown_too() {
    for text in [
        "y",
        "y == 0",
        "a + (y == 0)",
        "*(int *)y",
        "((int *)y)[1]",
        "!y",
    ] {
        let found = lane("calls-O2", "w06", text, 5);
        assert_eq!(found["state"], "optimized-out", "{text}: {found}");
        // The first entry of the list (llvm-dwarfdump) is [0x1644, …), in the line of the initialization.
        let why = "its first location begins at calls-O2.cl:13 (0x7f4000001644)";
        assert_eq!(found["message"], format!("`y`: {why}"), "{text}: {found}");
    }
    let found = lane("structs", "w05", "*(int *)0x123456789a", 5);
    assert_eq!(found["state"], "unavailable", "{found}");
    let found = lane("structs", "w05", "1 + *(int *)0x123456789a", 5);
    assert_eq!(found["state"], "unavailable", "{found}");
    // `g` of pointers.cl has four longs, and the snapshot lacks the bytes after them.
    let found = lane("pointers", "w03", "g[2]@4", 5);
    assert_eq!(found["state"], "partial", "{found}");
    assert_eq!(
        found["value"],
        "{42949672960, 6, <unavailable>, <unavailable>}"
    );
    assert_eq!(found["unavailable"], serde_json::json!([[128, 256]]));
    assert_eq!(
        lane("pointers", "w03", "(g[2]@4)[1]", 5)["value"],
        "6",
        "a part that is there"
    );
    assert_eq!(
        lane("pointers", "w03", "(g[2]@4)[3]", 5)["state"],
        "unavailable"
    );
}

#[test]
fn registers_are_those_of_the_lane() {
    let wave = dwarf_tests::json(&fixture("waves/calls-O2/w06.json"));
    let registers = &wave["registers"];
    for name in ["v0", "v1", "v3", "s0", "s33", "vcc"] {
        for number in [1, 13, 25] {
            let own = &registers[name];
            let expected = dwarf_tests::number(own.get(number).unwrap_or(own));
            let found = lane("calls-O2", "w06", &format!("${name}"), number);
            assert_eq!(
                found["value"],
                expected.to_string(),
                "${name} in lane {number}"
            );
        }
    }
    let exec = dwarf_tests::number(&truth("calls-O2", "w06")["exec"]).to_string();
    assert_eq!(lane("calls-O2", "w06", "$exec", 5)["value"], exec);
    assert_eq!(lane("calls-O2", "w06", "$pc", 5)["value"], wave["pc"]);
    assert_eq!(
        lane("calls-O2", "w06", "$exec >> $_lane & 1", 5)["value"],
        "1"
    );
    // On gfx1100, which accesses scratch by scratch_* instructions, s32 is a private address.
    let s32 = lane("structs", "w05", "$s32", 5)["value"]
        .as_str()
        .unwrap()
        .parse::<u64>()
        .unwrap();
    assert_eq!(
        lane("structs", "w05", "$sp", 5)["value"],
        format!("private_lane#{s32:#x}")
    );
    // On gfx90a, which accesses scratch through buffers, s32 counts the bytes of all 64 lanes.
    let s32 = lane("loops-gfx90a", "w12", "$s32", 5)["value"]
        .as_str()
        .unwrap()
        .parse::<u64>()
        .unwrap();
    assert_eq!(
        lane("loops-gfx90a", "w12", "$sp", 5)["value"],
        format!("private_lane#{:#x}", s32 / 64)
    );
    assert!(s32 > 0 && s32.is_multiple_of(64));
}

/// Names in the caller's frame refer to the caller's variables: `mid(a, b, g)` called `leaf`.
#[test]
fn frames_have_names_of_their_own() {
    let options = ["--frame", "1", "--lane", "3,7"];
    // At the first call, `r` is still `b`, which is `id * 5`, and `a` is `id`.
    let answers = expressions(
        "calls-O2",
        ".rocm.hsaco",
        "w06",
        &options,
        ["b - 5 * a", "r == b", "x"],
    );
    for lane in answers[0]["lanes"].as_array().unwrap() {
        assert_eq!(lane["value"], "0", "{lane}");
    }
    assert_eq!(answers[1]["lanes"][1]["value"], "1");
    assert_eq!(
        answers[2]["error"]["kind"], "unknown-name",
        "x is one of leaf's"
    );
}

/// EXEC of the caller has no rule, so the mask at the call is unknown unless it is read strictly: then it is the mask of the wave (HET A.6.4.1, *same
/// value*). Calls may change M0 (USAGE, *Non-Kernel Functions*).
#[test]
fn masks_and_lost_registers_are_not_those_of_the_caller() {
    let folder = fixture("waves/calls-O2");
    let mut wave = dwarf_tests::json(&folder.join("w06.json"));
    wave["registers"]["m0"] = "0x7".into();
    let wave = Snapshot::from_json(wave.to_string().as_bytes()).unwrap();
    let file = std::fs::read(folder.join("calls-O2.rocm.hsaco")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let arena = Arena::new();
    let exec = dwarf_tests::number(&truth("calls-O2", "w06")["exec"]).to_string();
    let unavailable = "the register or memory is not available";
    for (reading, level, text, expected) in [
        (Reading::Tolerant, 0, "$exec", exec.as_str()),
        (Reading::Tolerant, 1, "$exec", unavailable),
        (Reading::Strict, 1, "$exec", &exec),
        (Reading::Tolerant, 0, "$m0", "7"),
        (Reading::Tolerant, 1, "$m0", unavailable),
    ] {
        let mut options = StopOptions::loaded_at(wave.load_address);
        options.reading = reading;
        let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
        let mut query = Query::new(stop.call_frame(level).unwrap()).unwrap();
        let answer = query.evaluate(text, &[Lane(3)]).unwrap();
        let lane = &answer.lanes[0];
        let found = match &lane.value {
            Ok(_) => query.text(lane, &Options::default()).unwrap(),
            Err(reason) => reason.to_string(),
        };
        assert_eq!(found, expected, "{text} of frame {level}, {reading:?}");
    }
}

/// The prologue of `k` (llvm-dwarfdump: from 0x2080 to 0x2124) has not written its variables yet. Their addresses and sizes are not affected.
#[test]
fn only_values_depend_on_the_end_of_the_prologue() {
    let folder = fixture("waves/structs");
    let wave = Snapshot::from_json(&std::fs::read(folder.join("w05.json")).unwrap()).unwrap();
    let file = std::fs::read(folder.join("structs.rocm.hsaco")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address);
    for (at, is_in_prologue) in [(0x2120, true), (0x2124, false)] {
        let pc = options.load_address.to_process(CodeAddress(at));
        let stop = Stop::new(&program, &wave, pc, options, &arena);
        let mut query = Query::new(stop.call_frame(0).unwrap()).unwrap();
        for (text, is_read) in [
            ("id", true),
            ("copy.s + 1", true),
            ("&id", false),
            ("&copy.s", false),
            ("&recs[1].y[2]", false),
            ("sizeof copy.s", false),
            ("&recs[id]", true),
        ] {
            let answer = query.evaluate(text, &[Lane(4)]).unwrap();
            let expected = is_in_prologue && is_read;
            assert_eq!(answer.is_in_prologue, expected, "{text} at {at:#x}");
        }
    }
}

/// `recs` is in private memory, and `g` points into global memory. The array in either record decays to a pointer into the space of the first,
/// where the other has no address.
#[test]
fn an_object_has_no_address_in_the_space_of_another() {
    // `recs[0].y[0]` is id * 0.5.
    let text = "*((id < 99 ? recs[0] : *(Rec *)g).y + 0)";
    assert_eq!(lane("structs", "w05", text, 4)["value"], "2");
    let found = lane(
        "structs",
        "w05",
        "*((id > 99 ? *(Rec *)g : recs[0]).y + 0)",
        4,
    );
    assert_eq!(found["state"], "error", "{found}");
    let said = found["message"].as_str().unwrap();
    assert!(said.contains("is not in the address space none"), "{said}");
}

#[test]
fn functions_are_where_they_start() {
    let answers = expressions(
        "structs",
        ".rocm.hsaco",
        "w05",
        &["--lane", "0"],
        ["area", "&area == area", "fill", "(long)*area"],
    );
    // According to llvm-dwarfdump, DW_AT_low_pc is 0x1a00 for `area` and 0x1c80 for `fill`. The wave's load address is 0.
    assert_eq!(answers[0]["lanes"][0]["value"], "0x1a00");
    assert_eq!(answers[0]["type"], "float (*)(Rec *, Color)");
    assert_eq!(answers[1]["lanes"][0]["value"], "1");
    assert_eq!(answers[2]["lanes"][0]["value"], "0x1c80");
    assert_eq!(answers[3]["lanes"][0]["value"], "6656", "0x1a00 in decimal");
}

#[test]
fn the_exit_status_tells_whether_there_is_an_answer() {
    let status = |options: &[&str], texts: &[&str]| {
        print(
            "structs",
            ".rocm.hsaco",
            "w05",
            options,
            texts.iter().copied(),
        )
        .status
    };
    assert_eq!(status(&[], &["id"]), 0);
    assert_eq!(status(&[], &["id", "idd"]), 1, "one is wrong");
    assert_eq!(status(&[], &["1 / 0"]), 1, "no lane has a value");
    assert_eq!(status(&[], &["1 / id"]), 0, "some have");
    assert_eq!(status(&["--lane", "0"], &["1 / id"]), 1);
    assert_eq!(status(&["--lane", "40"], &["id"]), 2);
    assert_eq!(status(&["--frame", "9"], &["id"]), 2);
}

/// A pointer without an address space may point into an aperture. Here it points into private memory, where `arr[0]` is `id`. Exactly as
/// specified it points into global memory, which the wave does not have there.
#[test]
fn pointers_without_a_space_are_generic_unless_read_by_the_letter() {
    let text = "*(int *)0x2000000000038";
    assert_eq!(lane("pointers", "w09", text, 4)["value"], "4");
    let answers = expressions(
        "pointers",
        ".rocm.hsaco",
        "w09",
        &["--strict"],
        [text, "arr[0]"],
    );
    assert_eq!(
        answers[0]["lanes"][4]["state"], "unavailable",
        "{}",
        answers[0]
    );
    assert_eq!(answers[1]["lanes"][4]["value"], "4");
}

/// A wave that records reads of global memory.
struct Watched {
    wave: Snapshot,
    asked: RefCell<Vec<u64>>,
}

impl Wave for Watched {
    fn wave_size(&self) -> WaveSize {
        self.wave.wave_size()
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        self.wave.read_register(register, bits, out)
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        if memory == Memory::Global {
            self.asked.borrow_mut().push(address);
        }
        self.wave.read_memory(memory, address, out)
    }

    fn apertures(&self) -> Option<Apertures> {
        self.wave.apertures()
    }
}

#[test]
fn what_does_not_count_is_not_read() {
    let file = std::fs::read(fixture("waves/structs/structs.rocm.hsaco")).unwrap();
    let wave = std::fs::read(fixture("waves/structs/w05.json")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let wave = Watched {
        wave: Snapshot::from_json(&wave).unwrap(),
        asked: RefCell::default(),
    };
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.wave.load_address);
    let stop = Stop::new(&program, &wave, wave.wave.pc(), options, &arena);
    let mut query = Query::new(stop.call_frame(0).unwrap()).unwrap();
    for (text, is_read) in [
        ("*(int *)0x7000", true),
        ("1 && *(int *)0x7000", true),
        ("0 && *(int *)0x7000", false),
        ("1 || *(int *)0x7000", false),
        ("0 || *(int *)0x7000", true),
        ("1 ? 2 : *(int *)0x7000", false),
        ("0 ? *(int *)0x7000 : 2", false),
        ("0 ? 2 : *(int *)0x7000", true),
        ("sizeof(*(int *)0x7000 + 1)", false),
        ("1 / 0 && *(int *)0x7000", false),
        ("&*(int *)0x7000", false),
        ("0 && (1 || *(int *)0x7000) + *(int *)0x7000", false),
    ] {
        wave.asked.borrow_mut().clear();
        query.evaluate(text, &[Lane(4)]).unwrap();
        let asked = wave.asked.borrow().contains(&0x7000);
        assert_eq!(asked, is_read, "{text}");
    }
}
