//! Tests variables whose types are laid out at run time, and types and scopes that the compilers of the fixtures do not write. The value in
//! each lane is worked out by hand.
//!
//! The code object is built here, because no front end for AMDGPU writes all of these attributes.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test"
)]

#[allow(dead_code, reason = "the other test that it belongs to uses all of it")]
#[path = "hostile/elf.rs"]
mod elf;
#[path = "layout/odd_entries.rs"]
mod odd_entries;

use elf::{Attribute as A, Entry, code_object, debug_info};
use hetdwarf::arch::Lane;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::Options;
use hetdwarf::inspect::{Program, Stop, StopOptions, ValueState, VariableValue};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::query::Query;
use hetdwarf::wave::Snapshot;

const ARRAY: u64 = 0x01;
const MEMBER: u64 = 0x0d;
const COMPILE_UNIT: u64 = 0x11;
const STRUCTURE: u64 = 0x13;
const TYPEDEF: u64 = 0x16;
const SUBRANGE: u64 = 0x21;
const BASE_TYPE: u64 = 0x24;
const CONST: u64 = 0x26;
const SUBPROGRAM: u64 = 0x2e;
const VARIABLE: u64 = 0x34;

const LOCATION: u64 = 0x02;
const NAME: u64 = 0x03;
const BYTE_SIZE: u64 = 0x0b;
const LOW_PC: u64 = 0x11;
const HIGH_PC: u64 = 0x12;
const CONST_VALUE: u64 = 0x1c;
const LOWER_BOUND: u64 = 0x22;
const UPPER_BOUND: u64 = 0x2f;
const COUNT: u64 = 0x37;
const MEMBER_LOCATION: u64 = 0x38;
const ENCODING: u64 = 0x3e;
const TYPE: u64 = 0x49;

/// Returns the location of the lane's dword of v0 or v1, which are 2560 and 2561 in a wave of 64 lanes.
fn dword_of_vgpr(number: u8) -> Vec<u8> {
    // regx v, push_lane, lit4, mul, offset
    vec![0x90, 0x80 | number, 0x14, 0xe9, 3, 0x34, 0x1e, 0xe9, 4]
}

/// Private memory at address 0: lit0, lit5, form_aspace_address.
const PRIVATE: [u8; 4] = [0x30, 0x35, 0xe9, 2];

/// The entries that every object has, by number.
const INT: usize = 1;
const UNSIGNED: usize = 2;
const N: usize = 4;
const SIGNED_N: usize = 5;
const CONSTANT: usize = 6;
const NOWHERE: usize = 7;
const FIRST: usize = 8;

fn entry(depth: usize, tag: u64, attributes: Vec<(u64, A)>) -> Entry {
    Entry {
        tag,
        attributes,
        depth,
    }
}

fn code(tag: u64, depth: usize) -> Entry {
    let attributes = vec![(LOW_PC, A::address(0x1000)), (HIGH_PC, A::number(0x40))];
    entry(depth, tag, attributes)
}

fn base(name: &str, encoding: u64) -> Entry {
    let attributes = vec![
        (NAME, A::name(name)),
        (BYTE_SIZE, A::number(4)),
        (ENCODING, A::number(encoding)),
    ];
    entry(1, BASE_TYPE, attributes)
}

fn variable(depth: usize, name: &str, ty: usize, more: Vec<(u64, A)>) -> Entry {
    let attributes = [vec![(NAME, A::name(name)), (TYPE, A::Entry(ty))], more].concat();
    entry(depth, VARIABLE, attributes)
}

fn at(expression: &[u8]) -> Vec<(u64, A)> {
    vec![(LOCATION, A::expression(expression))]
}

/// Returns a function with bounds in v0 (`n`, unsigned) and v1 (`m`, signed). Its variable `v` is at `location`, and has the first of
/// `types`.
fn object(location: &[u8], types: Vec<Entry>) -> Vec<u8> {
    let mut entries = vec![
        code(COMPILE_UNIT, 0),
        base("int", 5),
        base("unsigned", 7),
        code(SUBPROGRAM, 1),
        variable(2, "n", UNSIGNED, at(&dword_of_vgpr(0))),
        variable(2, "m", INT, at(&dword_of_vgpr(1))),
        variable(2, "c", INT, vec![(CONST_VALUE, A::number(2))]),
        variable(2, "gone", INT, vec![]),
    ];
    let ty = FIRST + 1;
    entries.push(variable(2, "v", ty, at(location)));
    entries.extend(types);
    let (abbreviations, info) = debug_info(&entries);
    code_object(&[
        (".text", &[0; 64]),
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
    ])
}

/// Returns a stop of lanes 0 to 7. v0 holds the lane modulo 4, and v1 one less. Dword D of lane L's private memory holds 100 L + D, for D
/// below 16.
fn stop_wave() -> Snapshot {
    let list = |value: &dyn Fn(u32) -> u32| {
        let values: Vec<String> = (0..64).map(|lane| value(lane).to_string()).collect();
        format!("[{}]", values.join(", "))
    };
    let (n, m) = (
        list(&|lane| lane % 4),
        list(&|lane| (lane % 4).wrapping_sub(1)),
    );
    // The same dword of all lanes is a row (USAGE "Address Space Identifier").
    let dwords = (0..16u32).flat_map(|dword| (0..64).map(move |lane| 100 * lane + dword));
    let bytes: String = dwords
        .flat_map(u32::to_le_bytes)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let json = format!(
        r#"{{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "0x1010",
            "registers": {{"exec": "0xff", "v0": {n}, "v1": {m}}},
            "memory": [{{"space": "private_wave", "address": "0x0", "bytes": "{bytes}"}}]}}"#
    );
    Snapshot::from_json(json.as_bytes()).unwrap()
}

/// Calls `look` with the variable `v` of the object.
fn with_v(types: Vec<Entry>, look: impl FnOnce(&VariableValue<'_>, &TypeTable)) {
    let file = object(&PRIVATE, types);
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let wave = stop_wave();
    let arena = Arena::new();
    let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
    let mut types = TypeTable::default();
    let variables = stop.call_frame(0).unwrap().variables(&mut types).unwrap();
    let v = variables
        .iter()
        .find(|value| value.variable.name.as_deref() == Some("v"));
    look(v.unwrap(), &types);
}

/// Returns the texts of lanes 0 to 7, whose states are ok. The other lanes are inactive.
fn texts(types: Vec<Entry>) -> (String, Vec<String>) {
    let mut found = (String::new(), Vec::new());
    with_v(types, |value, types| {
        assert_eq!(value.state(Lane(8)), ValueState::Inactive);
        found.0.clone_from(&value.type_name.to_string());
        for lane in (0..8).map(Lane) {
            assert_eq!(value.state(lane), ValueState::Ok, "lane {}", lane.0);
            found
                .1
                .push(value.text(lane, types, &Options::default()).unwrap());
        }
    });
    found
}

fn array(element: usize, bounds: Vec<Vec<(u64, A)>>) -> Vec<Entry> {
    let mut entries = vec![entry(1, ARRAY, vec![(TYPE, A::Entry(element))])];
    entries.extend(bounds.into_iter().map(|bound| entry(2, SUBRANGE, bound)));
    entries
}

/// The variable is `int v[n]`, where n is 0, 1, 2, 3, 0, 1, 2, 3.
#[test]
fn each_lane_has_its_own_number_of_elements() {
    let (ty, lanes) = texts(array(INT, vec![vec![(COUNT, A::Entry(N))]]));
    assert_eq!(ty, "int[]");
    assert_eq!(
        lanes,
        [
            "{}",
            "{100}",
            "{200, 201}",
            "{300, 301, 302}",
            "{}",
            "{500}",
            "{600, 601}",
            "{700, 701, 702}"
        ]
    );
}

/// The last index is m, from -1 to 2. In the second type the first index is 1, so there is one element less.
#[test]
fn bounds_count_from_the_first_index_to_the_last() {
    let upper = || (UPPER_BOUND, A::Entry(SIGNED_N));
    let (_, lanes) = texts(array(INT, vec![vec![upper()]]));
    assert_eq!(lanes[..4], ["{}", "{100}", "{200, 201}", "{300, 301, 302}"]);
    let lower = (LOWER_BOUND, A::number(1));
    let (_, lanes) = texts(array(INT, vec![vec![lower, upper()]]));
    assert_eq!(lanes[..4], ["{}", "{}", "{200}", "{300, 301}"]);
}

/// An expression gives the count n + 1: the lane's dword of v0, deref_size 4, plus_uconst 1.
#[test]
fn a_count_may_be_an_expression() {
    let count = [dword_of_vgpr(0), vec![0x94, 4, 0x23, 1]].concat();
    let (_, lanes) = texts(array(INT, vec![vec![(COUNT, A::expression(&count))]]));
    assert_eq!(
        lanes[..4],
        [
            "{0}",
            "{100, 101}",
            "{200, 201, 202}",
            "{300, 301, 302, 303}"
        ]
    );
}

/// The variables are `int v[2][n]` and `int v[n][2]`.
#[test]
fn of_several_dimensions_any_may_be_computed() {
    let two = || vec![(COUNT, A::number(2))];
    let n = || vec![(COUNT, A::Entry(N))];
    let (_, lanes) = texts(array(INT, vec![two(), n()]));
    assert_eq!(lanes[1..3], ["{{100}, {101}}", "{{200, 201}, {202, 203}}"]);
    let (_, lanes) = texts(array(INT, vec![n(), two()]));
    assert_eq!(lanes[1..3], ["{{100, 101}}", "{{200, 201}, {202, 203}}"]);
}

/// A constant count in an entry is the same for all lanes, so it is in the name of the type, also through `typedef const int T[c]`.
#[test]
fn a_size_that_all_lanes_share_is_in_the_name_of_the_type() {
    let (ty, lanes) = texts(array(INT, vec![vec![(COUNT, A::Entry(CONSTANT))]]));
    assert_eq!(ty, "int[2]");
    assert_eq!(lanes[3], "{300, 301}");
    let named = entry(
        1,
        TYPEDEF,
        vec![(NAME, A::name("T")), (TYPE, A::Entry(FIRST + 2))],
    );
    let constant = entry(1, CONST, vec![(TYPE, A::Entry(FIRST + 3))]);
    let types = [
        vec![named, constant],
        array(INT, vec![vec![(COUNT, A::Entry(N))]]),
    ];
    let (ty, lanes) = texts(types.concat());
    assert_eq!(ty, "T");
    assert_eq!(lanes[2], "{200, 201}");
}

/// The type is `struct { int x; int y; }` with a size of 16 by an expression, and y is n dwords after the start. The location of the object
/// is on the stack; the lane's dword of v0, deref_size 4, lit4, mul, LLVM_offset.
#[test]
fn a_member_may_be_where_an_expression_says() {
    let far = [dword_of_vgpr(0), vec![0x94, 4, 0x34, 0x1e, 0xe9, 4]].concat();
    let member = |name: &str, location| {
        let attributes = vec![
            (NAME, A::name(name)),
            (TYPE, A::Entry(INT)),
            (MEMBER_LOCATION, location),
        ];
        entry(2, MEMBER, attributes)
    };
    let structure = |size: A| {
        vec![
            entry(1, STRUCTURE, vec![(NAME, A::name("s")), (BYTE_SIZE, size)]),
            member("x", A::number(0)),
            member("y", A::expression(&far)),
        ]
    };
    let expected = [
        "{x = 0, y = 0}",
        "{x = 100, y = 101}",
        "{x = 200, y = 202}",
        "{x = 300, y = 303}",
    ];
    // const1u 16
    for size in [A::number(16), A::expression(&[0x08, 16])] {
        let (ty, lanes) = texts(structure(size));
        assert_eq!(
            (ty.as_str(), &lanes[..4]),
            ("s", &expected.map(str::to_owned)[..])
        );
    }
}

/// An unknown bound is an error in the lane, and a bound that is too large is cut.
#[test]
fn bounds_that_are_missing_or_absurd_do_no_harm() {
    with_v(
        array(INT, vec![vec![(COUNT, A::Entry(NOWHERE))]]),
        |v, _| {
            let ValueState::Error(error) = v.state(Lane(0)) else {
                panic!("{:?}", v.state(Lane(0)));
            };
            assert_eq!(error.kind().name(), "undefined-read");
        },
    );
    // There are 2^62 elements, or a count that is computed by an endless loop.
    for count in [vec![0x31, 0x08, 62, 0x24], vec![0x2f, 0xfd, 0xff]] {
        with_v(
            array(INT, vec![vec![(COUNT, A::expression(&count))]]),
            |v, _| {
                assert!(
                    matches!(v.state(Lane(1)), ValueState::Error(_)),
                    "{:?}",
                    v.state(Lane(1))
                );
            },
        );
    }
    // There are 2^20 elements. The elements in private memory are shown, and the others are not available.
    let count = A::expression(&[0x31, 0x44, 0x24]);
    with_v(array(INT, vec![vec![(COUNT, count)]]), |v, types| {
        assert_eq!(v.state(Lane(1)), ValueState::Partial);
        let text = v.text(Lane(1), types, &Options::default()).unwrap();
        assert!(text.starts_with("{100, 101, 102, "), "{text}");
    });
    // The array contains itself.
    with_v(
        array(FIRST + 1, vec![vec![(COUNT, A::Entry(N))]]),
        |v, _| {
            assert!(matches!(v.state(Lane(1)), ValueState::Error(_)));
        },
    );
}

/// Returns the results of an expression in lanes 0 to 3: the type's name, and values or reasons.
fn printed(types: Vec<Entry>, text: &str) -> (String, Vec<String>) {
    printed_at(&PRIVATE, types, text).unwrap()
}

/// Like [`printed`], with the location of `v`. Returns the message of an error.
fn printed_at(
    location: &[u8],
    types: Vec<Entry>,
    text: &str,
) -> Result<(String, Vec<String>), String> {
    let file = object(location, types);
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let wave = stop_wave();
    let arena = Arena::new();
    let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
    let mut query = Query::new(stop.call_frame(0).unwrap()).unwrap();
    let lanes: Vec<Lane> = (0..4).map(Lane).collect();
    let answer = query.evaluate(text, &lanes).map_err(|e| e.to_string())?;
    let shown = answer.lanes.iter().map(|lane| match &lane.value {
        Ok(_) => query.text(lane, &Options::default()).unwrap(),
        Err(reason) => reason.to_string(),
    });
    Ok((answer.type_name.clone(), shown.collect()))
}

/// The variables `int v[n]`, `int v[2][n]`, `int v[n][2]`, and a structure whose `y` is n dwords from its start, are used in expressions. n
/// is 0, 1, 2, 3, and dword D of lane L holds 100 L + D.
#[test]
fn expressions_take_the_layout_of_their_lane() {
    let n = || vec![(COUNT, A::Entry(N))];
    let two = || vec![(COUNT, A::number(2))];
    let line = |text: &str| printed(array(INT, vec![n()]), text);
    assert_eq!(line("n ? v[n - 1] : -1").1, ["-1", "100", "201", "302"]);
    assert_eq!(line("sizeof v").1, ["0", "4", "8", "12"]);
    assert_eq!(line("sizeof v / sizeof v[0] == n").1, ["1", "1", "1", "1"]);
    assert_eq!(line("*v + 1").1, ["1", "101", "201", "301"]);
    assert_eq!(line("&v[2] - v").1, ["2", "2", "2", "2"]);
    // Nothing is read past the last element, but its address can be computed.
    let beyond = [
        "there is no element 2: the array has none",
        "there is no element 2: the first is 0, the last is 0",
        "there is no element 2: the first is 0, the last is 1",
        "302",
    ];
    assert_eq!(line("v[2]").1, beyond);
    let (ty, whole) = line("v");
    assert_eq!(ty, "int[]");
    assert_eq!(whole, ["{}", "{100}", "{200, 201}", "{300, 301, 302}"]);
    // The array has rows of n elements, or n rows.
    let rows = |text: &str| printed(array(INT, vec![two(), n()]), text);
    assert_eq!(rows("v[1][0]").1[1..], ["101", "202", "303"]);
    assert_eq!(
        rows("v[1]").1[1..],
        ["{101}", "{202, 203}", "{303, 304, 305}"]
    );
    assert_eq!(rows("sizeof v").1, ["0", "8", "16", "24"]);
    let columns = |text: &str| printed(array(INT, vec![n(), two()]), text);
    assert_eq!(columns("v[n - 1][1]").1[1..], ["101", "203", "305"]);
    assert_eq!(columns("v[0]").0, "int[2]");
    // The lane's dword of v0, deref_size 4, lit4, mul, LLVM_offset.
    let far = [dword_of_vgpr(0), vec![0x94, 4, 0x34, 0x1e, 0xe9, 4]].concat();
    let member = |name: &str, location| {
        let attributes = vec![
            (NAME, A::name(name)),
            (TYPE, A::Entry(INT)),
            (MEMBER_LOCATION, location),
        ];
        entry(2, MEMBER, attributes)
    };
    let structure = |text: &str| {
        let size = (BYTE_SIZE, A::number(16));
        let head = entry(1, STRUCTURE, vec![(NAME, A::name("s")), size]);
        let members = vec![
            head,
            member("x", A::number(0)),
            member("y", A::expression(&far)),
        ];
        printed(members, text)
    };
    assert_eq!(structure("v.y").1, ["0", "101", "202", "303"]);
    assert_eq!(structure("&v.y - &v.x").1, ["0", "1", "2", "3"]);
    // Through a pointer, the same expression gives the member's offset.
    assert_eq!(structure("(&v)->y").1, ["0", "101", "202", "303"]);
}
