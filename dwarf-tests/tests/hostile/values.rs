//! Tests types that make a variable of few bytes expensive.

use std::sync::Arc;

use dwarf_tests::probe::Zeros;
use hetdwarf::arch::WaveSize;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::meter::Meter;
use hetdwarf::object::CodeObject;
use hetdwarf::report::{VarsDocument, VarsRequest};

use super::crafted::{self, COMPILE_UNIT, SUBPROGRAM, VARIABLE, code, entry};
use super::elf::{Attribute as A, Entry, code_object, debug_info};

const ARRAY: u64 = 0x01;
const ENUMERATION: u64 = 0x04;
const ENUMERATOR: u64 = 0x28;
const SUBRANGE: u64 = 0x21;
const UPPER_BOUND: u64 = 0x2f;
const BYTE_SIZE: u64 = 0x0b;
const CONST_VALUE: u64 = 0x1c;

/// Returns a function with one variable of type `ty`, in memory, and types, numbered from 3.
fn file(ty: usize, types: Vec<Entry>) -> Vec<u8> {
    let attributes = vec![
        (crafted::NAME, A::name("v")),
        (crafted::TYPE, A::Entry(ty)),
        (
            crafted::LOCATION,
            A::expression(&[0x03, 0, 0x10, 0, 0, 0, 0, 0, 0]),
        ),
    ];
    let mut entries = vec![
        code(COMPILE_UNIT, 0, vec![]),
        code(SUBPROGRAM, 1, vec![]),
        entry(2, VARIABLE, attributes),
    ];
    entries.extend(types);
    let (abbreviations, info) = debug_info(&entries);
    code_object(&[
        (".text", &[0; 64]),
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
    ])
}

/// Returns the cost of the frame's variables in steps, and true if the limit was reached.
fn steps(file: &[u8]) -> (u64, bool) {
    let meter = Arc::new(Meter::new(&Default::default(), file.len() as u64));
    let object = CodeObject::parse_within(file, &meter).unwrap();
    let program = Program::load(&object).unwrap();
    let (wave, arena) = (Zeros(WaveSize::Wave64), Arena::new());
    let stop = Stop::new(&program, &wave, 0x1010, StopOptions::default(), &arena);
    let _ = VarsDocument::new(&stop.call_frame(0).unwrap(), &VarsRequest::default());
    (stop.meter().steps(), stop.meter().refused().is_some())
}

/// Two hundred mutually nested arrays have no size. Each of them visits 64 arrays to find this out: 38,400 steps for the arrays and their
/// bounds. The layout does not depend on the lane, so it is not computed for each of 64 lanes.
#[test]
fn a_layout_without_questions_is_that_of_all_lanes() {
    let mut types = vec![crafted::int(1)];
    for level in 0..200 {
        let element = if level == 0 { 3 } else { 2 + level * 2 };
        types.push(entry(1, ARRAY, vec![(crafted::TYPE, A::Entry(element))]));
        types.push(entry(2, SUBRANGE, vec![(UPPER_BOUND, A::number(1))]));
    }
    let (steps, is_limit) = steps(&file(402, types));
    assert!((38_400..50_000).contains(&steps), "{steps}");
    assert!(!is_limit);
}

/// The value of each of 1296 elements is compared with all enumerators without a match, in each of 64 lanes.
#[test]
fn enumerators_that_are_looked_through_are_paid_for() {
    let of = |enumerators: u64| {
        let size = (BYTE_SIZE, A::number(4));
        let mut types = vec![entry(1, ENUMERATION, vec![size])];
        types.extend((1..=enumerators).map(|value| {
            let attributes = vec![
                (crafted::NAME, A::name("e")),
                (CONST_VALUE, A::number(3 * value)),
            ];
            entry(2, ENUMERATOR, attributes)
        }));
        // The innermost arrays are short, so that runs of more than 10 equal elements do not occur.
        let first = 3 + types.len();
        types.push(entry(1, ARRAY, vec![(crafted::TYPE, A::Entry(3))]));
        for _ in 0..4 {
            types.push(entry(2, SUBRANGE, vec![(UPPER_BOUND, A::number(5))]));
        }
        steps(&file(first, types))
    };
    let (few, is_limit) = of(10);
    assert!(!is_limit, "{few}");
    // For each of 1296 elements, 40,000 enumerators are compared, eight per step. Lanes with the same bits share the text.
    let (many, is_limit) = of(40_000);
    assert!(!is_limit, "{many}");
    assert!(many > few + 1296 * 40_000 / 8, "{many} steps beside {few}");
}
