//! Tests which of several entities with the same name an expression refers to (C17 §6.2.1, C++20 [basic.lookup.unqual]).
//!
//! The types differ in size, and the enumerators and variables in value, so each answer shows the entity. The numbers are from the source,
//! `names.cpp` and `unit_*`.

use super::cxx::{Object, Row, Scratch, check, expressions_in, text};

/// The variables `o::level`, `level` and `n::level`, at the addresses that llvm-nm shows.
const OBJECT: Object = Object {
    path: "print/names.hsaco",
    words: &[(0x4270, 4), (0x4274, 1), (0x427c, 2)],
};

/// The addresses of the instructions `s_nop`, from llvm-objdump.
const OTHER: u64 = 0x14ac;
const INSIDE: u64 = 0x1530;
const INLINED: u64 = 0x1724;
const OUTSIDE: u64 = 0x1778;
const BLOCKS: u64 = 0x1bd8;

/// Rows for a frame at an address.
type Place = (&'static str, u64, &'static [Row]);

#[rustfmt::skip]
const PLACES: &[Place] = &[
    ("0", OTHER, &[
        ("sizeof(T)", "unsigned long", |_| text(50)),
        ("sizeof(::T)", "unsigned long", |_| text(1)),
        ("sizeof(struct T)", "unsigned long", |_| text(50)),
        ("sizeof(Mine)", "unsigned long", |_| text(51)),
        ("WHERE + 0", "unsigned int", |_| text(50)),
        ("sizeof(n::T)", "unsigned long", |_| text(2)),
    ]),
    ("0", INSIDE, &[
        ("sizeof(T)", "unsigned long", |_| text(2)),
        ("sizeof(::T)", "unsigned long", |_| text(1)),
        ("sizeof(m::T)", "unsigned long", |_| text(3)),
        ("sizeof(o::T)", "unsigned long", |_| text(4)),
        ("sizeof(N)", "unsigned long", |_| text(20)),
        ("sizeof(O)", "unsigned long", |_| text(23)),
        ("sizeof(other::T)", "unsigned long", |_| text(50)),
        ("WHERE + 0", "unsigned int", |_| text(2)),
        ("level", "int", |_| text(2)),
        ("(char *)&number - (char *)&n::number", "long", |_| text(0)),
    ]),
    // The inlined function belongs to a namespace, and the function that contains it does not.
    ("0", INLINED, &[
        ("sizeof(T)", "unsigned long", |_| text(2)),
        ("sizeof(N)", "unsigned long", |_| text(20)),
        ("sizeof(Own)", "unsigned long", |_| text(30)),
        ("level", "int", |_| text(2)),
        ("o::level + ::level", "int", |_| text(5)),
    ]),
    ("1", INLINED, &[
        ("sizeof(T)", "unsigned long", |_| text(1)),
        ("sizeof(n::inlined::Own)", "unsigned long", |_| text(30)),
        ("sizeof(inlined::Own)", "unsigned long", |_| text(30)),
        ("level", "int", |_| text(1)),
    ]),
    ("0", OUTSIDE, &[
        ("sizeof(T)", "unsigned long", |_| text(1)),
        ("WHERE + 0", "unsigned int", |_| text(2)),
        ("other::ONLY + 0", "unsigned int", |_| text(51)),
        ("level", "int", |_| text(1)),
    ]),
    ("0", BLOCKS, &[
        ("sizeof(Block)", "unsigned long", |_| text(62)),
        ("sizeof(t)", "unsigned long", |_| text(60)),
        ("sizeof(::T)", "unsigned long", |_| text(1)),
    ]),
];

/// An object with four units, each with its own types.
const UNITS: Object = Object {
    path: "print/units.hsaco",
    words: &[],
};

/// `u::far` of the first unit is inlined into `call` of the second one. 0x1c10 is in `run_d` of the last unit.
#[rustfmt::skip]
const UNIT_PLACES: &[Place] = &[
    ("0", 0x1758, &[
        ("sizeof(T)", "unsigned long", |_| text(80)),
        ("sizeof(Own)", "unsigned long", |_| text(81)),
        ("sizeof(V)", "unsigned long", |_| text(74)),
    ]),
    ("1", 0x1758, &[
        ("sizeof(T)", "unsigned long", |_| text(82)),
        ("sizeof(u::T)", "unsigned long", |_| text(80)),
        // An inline namespace can be left out. An enumerator is in the scope of its enumeration and in the scope around it.
        ("sizeof(n::V)", "unsigned long", |_| text(74)),
        ("sizeof(::n::v1::V)", "unsigned long", |_| text(74)),
        ("::n::IN + 0", "unsigned int", |_| text(5)),
        ("n::v1::IN + 0", "unsigned int", |_| text(5)),
        ("n::Which::IN + 0", "unsigned int", |_| text(5)),
    ]),
    ("0", 0x1c10, &[
        ("sizeof(struct Fwd)", "unsigned long", |_| text(71)),
        ("sizeof(struct U)", "unsigned long", |_| text(73)),
        ("sizeof(Both)", "unsigned long", |_| text(75)),
        ("sizeof(struct Both)", "unsigned long", |_| text(76)),
    ]),
];

fn check_places(object: &Object, places: &[Place]) {
    for (frame, pc, rows) in places {
        let texts = rows.iter().map(|(text, ..)| *text);
        let answers = expressions_in(frame, "names", (object, *pc), Scratch::new(), texts);
        check(rows, &answers);
    }
}

#[test]
fn names_refer_to_the_nearest_entity() {
    check_places(&OBJECT, PLACES);
    check_places(&UNITS, UNIT_PLACES);
}

/// Expressions that are wrong in a frame at an address, and the messages.
#[rustfmt::skip]
const FAULTS: &[(&str, u64, &str, &str)] = &[
    ("0", INSIDE, "sizeof(Mine)", "there is no type `Mine`; did you mean `other::Mine`?"),
    ("0", INSIDE, "ONLY", "there is no `ONLY` here; did you mean `other::ONLY`?"),
    ("1", INLINED, "sizeof(Own)", "there is no type `Own`; did you mean `n::inlined::Own`?"),
    ("0", OUTSIDE, "sizeof(N)", "`N` is ambiguous: o::N, n::N"),
    ("0", OUTSIDE, "&number", "`number` is ambiguous: o::number, n::number"),
    ("0", BLOCKS, "sizeof(T)", "`T` is ambiguous: blocks::T (line 52), blocks::T (line 54)"),
    ("0", INSIDE, "sizeof(blocks::T)", "`blocks::T` is ambiguous: blocks::T (line 52), blocks::T (line 54)"),
    ("0", INSIDE, "sizeof(::Mine)", "there is no `::Mine` here; did you mean `Mine`?"),
];

#[test]
fn names_that_are_not_visible_or_not_unique_are_errors() {
    for (frame, pc, expression, message) in FAULTS {
        let texts = [*expression].into_iter();
        let answers = expressions_in(frame, "name-faults", (&OBJECT, *pc), Scratch::new(), texts);
        let found = answers[0]["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(found, *message, "{expression}: {}", answers[0]);
    }
}
