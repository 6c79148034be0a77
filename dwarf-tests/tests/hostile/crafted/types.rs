//! Tests entries that refer to themselves or each other, and types of any size.

use dwarf_tests::probe;
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;

use super::entries::*;
use super::stops::command;
use crate::elf::{Attribute as A, Entry, code_object, debug_info};
use crate::guard::Guard;

/// Returns a unit with one function, one variable `v` of type `ty` in it, and these types at its end, numbered from 3.
fn unit(ty: usize, types: Vec<Entry>) -> Vec<Entry> {
    let location = A::expression(&[0x03, 0, 0x10, 0, 0, 0, 0, 0, 0]);
    let mut entries = vec![
        code(COMPILE_UNIT, 0, vec![]),
        code(SUBPROGRAM, 1, vec![(NAME, A::name("f"))]),
        entry(
            2,
            VARIABLE,
            vec![
                (NAME, A::name("v")),
                (TYPE, A::Entry(ty)),
                (LOCATION, location),
            ],
        ),
    ];
    entries.extend(types);
    entries
}

/// Returns nested array types, each with this many elements.
fn arrays(depth: usize, most: u64) -> Vec<Entry> {
    let mut entries = vec![int(1)];
    for level in 0..depth {
        let element = if level == 0 { 3 } else { 2 + level * 2 };
        entries.push(entry(1, ARRAY, vec![(TYPE, A::Entry(element))]));
        entries.push(entry(2, SUBRANGE, vec![(UPPER_BOUND, A::number(most))]));
    }
    entries
}

/// Returns files with hostile entries and types.
pub fn type_files(scale: usize) -> Vec<(&'static str, Vec<u8>)> {
    let structure = |depth: usize, members: &[usize]| {
        let mut entries = vec![entry(
            depth,
            STRUCTURE,
            vec![(NAME, A::name("s")), (BYTE_SIZE, A::number(64))],
        )];
        for (number, ty) in members.iter().enumerate() {
            let place = (MEMBER_LOCATION, A::number(number as u64 * 4));
            entries.push(entry(
                depth + 1,
                MEMBER,
                vec![(NAME, A::name("m")), (TYPE, A::Entry(*ty)), place],
            ));
        }
        entries
    };
    // Each structure contains the next one twice.
    let doubling: Vec<Entry> = (0..60)
        .flat_map(|level| structure(1, &[3 + (level + 1) * 3, 3 + (level + 1) * 3]))
        .chain([int(1)])
        .collect();
    // Each typedef refers to the next one.
    let long: Vec<Entry> = (0..2_000 * scale)
        .map(|level| named(TYPEDEF, 1, "t", 4 + level))
        .chain([int(1)])
        .collect();
    let nested_blocks: Vec<Entry> = unit(0, vec![])
        .into_iter()
        .take(2)
        .chain((0..500 * scale).map(|depth| code(BLOCK, 2 + depth, vec![])))
        .collect();
    let nested_inlines: Vec<Entry> = unit(0, vec![])
        .into_iter()
        .take(2)
        .chain((0..100 * scale).map(|depth| code(INLINED, 2 + depth, vec![(ORIGIN, A::Entry(1))])))
        .collect();
    let long_name = "n".repeat(100_000);
    let variables: Vec<Entry> = unit(3, vec![])
        .into_iter()
        .chain((0..2_000 * scale).map(|_| named(VARIABLE, 2, &long_name[..20], 2)))
        .collect();
    let huge_variables: Vec<Entry> = {
        let mut entries = unit(3, arrays(1, 1 << 40));
        let variable = entries[2].clone();
        // More variables follow the first one. The types keep their numbers.
        entries.extend([code(SUBPROGRAM, 1, vec![(NAME, A::name("g"))])]);
        entries.extend(vec![
            Entry {
                attributes: vec![
                    (NAME, A::name("w")),
                    (TYPE, A::Entry(4)),
                    variable.attributes[2].clone()
                ],
                ..variable
            };
            10 * scale
        ]);
        entries
    };
    let cases: Vec<(&str, Vec<Entry>)> = vec![
        (
            "a typedef of itself",
            unit(3, vec![named(TYPEDEF, 1, "t", 3)]),
        ),
        (
            "two typedefs of each other",
            unit(
                3,
                vec![named(TYPEDEF, 1, "t", 4), named(TYPEDEF, 1, "u", 3)],
            ),
        ),
        (
            "a pointer to itself",
            unit(3, vec![named(POINTER, 1, "p", 3)]),
        ),
        ("a variable as its own type", unit(2, vec![])),
        ("a structure with itself", unit(3, structure(1, &[3, 3]))),
        (
            "an array of itself",
            unit(
                3,
                vec![
                    named(ARRAY, 1, "a", 3),
                    entry(2, SUBRANGE, vec![(UPPER_BOUND, A::number(9))]),
                ],
            ),
        ),
        ("an array of 2^40 ints", unit(4, arrays(1, (1 << 40) - 1))),
        ("an array of 2^64 ints", unit(4, arrays(1, u64::MAX))),
        ("ten dimensions of 2^40", unit(22, arrays(10, 1 << 40))),
        ("two hundred dimensions of 2", unit(402, arrays(200, 1))),
        ("structures of two structures, 60 deep", unit(3, doubling)),
        ("thousands of typedefs", unit(3, long)),
        (
            "an array as long as itself",
            unit(
                3,
                vec![
                    named(ARRAY, 1, "a", 5),
                    entry(2, SUBRANGE, vec![(UPPER_BOUND, A::Entry(2))]),
                    int(1),
                ],
            ),
        ),
        ("thousands of blocks", nested_blocks),
        ("thousands of inlined calls", nested_inlines),
        ("thousands of variables", variables),
        ("many variables of 2^40 ints", huge_variables),
        ("a function that completes itself", {
            let mut entries = unit(3, vec![int(1)]);
            entries[1]
                .attributes
                .extend([(ORIGIN, A::Entry(1)), (SPECIFICATION, A::Entry(1))]);
            entries
        }),
        ("a variable that completes another one that completes it", {
            let mut entries = unit(
                4,
                vec![entry(2, VARIABLE, vec![(ORIGIN, A::Entry(2))]), int(1)],
            );
            entries[2].attributes.push((ORIGIN, A::Entry(3)));
            entries
        }),
        ("a variable that calls itself", {
            let mut entries = unit(3, vec![int(1)]);
            // The offset of the variable is unknown here, so every offset near it is called.
            let calls: Vec<u8> = (12..60u8).flat_map(|offset| [0x98, offset, 0]).collect();
            entries[2].attributes[2].1 = A::expression(&calls);
            entries
        }),
    ];
    let file = |(name, entries): (_, Vec<Entry>)| {
        let (abbreviations, info) = debug_info(&entries);
        let sections = [
            (".text", &[0; 64][..]),
            (".debug_abbrev", &abbreviations),
            (".debug_info", &info),
        ];
        (name, code_object(&sections))
    };
    cases.into_iter().map(file).collect()
}

pub fn entries_and_types(scale: usize) {
    let mut guard = Guard::new();
    for (name, file) in type_files(scale) {
        guard.run(name, || {
            let object = CodeObject::parse(&file).unwrap();
            let program = Program::load(&object).unwrap();
            let function = program.info().find_function(0x1010);
            // If the file can be read at all, it has the intended contents.
            assert!(function.is_err() || function.unwrap().is_some(), "{name}");
            probe::stop(&program, 0x1010);
            probe::code_object(&object);
        });
        command(name, &file, &mut guard);
    }
    guard.finish("entries and types made to do harm");
}

#[test]
fn entries_and_types_made_to_do_harm() {
    entries_and_types(1);
}
