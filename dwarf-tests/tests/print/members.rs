//! Tests which member of several with one name is read (C++20 [class.member.lookup]).
//!
//! As in `bases.rs`, the program was never run. clang accepts each expression of the rows as C++, and rejects each of the ambiguous ones. Places in
//! objects: `clang -Xclang -fdump-record-layouts`.

use super::cxx::{LANES, LOAD, Object, PRIVATE, Row, Scratch, check, expressions, text};

/// The tables of `Diamond`, of `Dominant` inside it, and of `Mixed`. Each has the distance of the virtual base class three words before the address
/// that objects contain (`llvm-objdump -s -j .rodata`).
const OBJECT: Object = Object {
    path: "print/members.hsaco",
    words: &[
        (DIAMOND_TABLE - 24, 32),
        (DIAMOND_TABLE - 20, 0),
        (DOMINANT_TABLE - 24, 16),
        (DOMINANT_TABLE - 20, 0),
        (MIXED_TABLE - 24, 28),
        (MIXED_TABLE - 20, 0),
    ],
};
const DIAMOND_TABLE: u64 = 0x350;
const DOMINANT_TABLE: u64 = 0x368;
const MIXED_TABLE: u64 = 0x3b0;
/// The instruction `s_nop 77` of `members`.
const PC: u64 = 0x1634;

/// The objects of a lane, in the order of the arguments: address and dwords. `Diamond` and `Mixed` begin with the address of a table, and `Diamond`
/// has a second one at 16.
const OBJECTS: [(u64, i64); 9] = [
    (0x100, 5),
    (0x120, 5),
    (0x140, 5),
    (0x160, 3),
    (0x180, 2),
    (0x1a0, 10),
    (0x1d0, 9),
    (0x200, 3),
    (0x220, 2),
];

/// A dword of an object has the number of the argument in its hundreds, then its own number, and the lane is added.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("both->own", "int", |l| text(4 + l)),
    ("both->a", "int", |l| text(1 + l)),
    ("both->b", "int", |l| text(3 + l)),
    ("((B *)both)->x", "int", |l| text(2 + l)),
    ("uneven->deeper", "int", |l| text(102 + l)),
    ("hiding->x", "int", |l| text(204 + l)),
    ("((A *)hiding)->x", "int", |l| text(200 + l)),
    ("in_union->x", "int", |l| text(302 + l)),
    ("in_union->a", "int", |l| text(301 + l)),
    ("constant->x", "const int", |_| text(77)),
    ("((A *)constant)->x", "int", |l| text(400 + l)),
    ("diamond->x", "int", |l| text(506 + l)),
    ("diamond->a", "int", |l| text(509 + l)),
    ("diamond->v", "int", |l| text(502 + l)),
    ("((Virtual *)diamond)->x", "int", |l| text(508 + l)),
    ("mixed->v", "int", |l| text(602 + l)),
    ("mixed->plain", "int", |l| text(605 + l)),
    ("((Virtual *)mixed)->x", "int", |l| text(607 + l)),
    ("((Plain *)mixed)->x", "int", |l| text(603 + l)),
    ("shared->k", "const int", |_| text(5)),
    ("Shared::k", "const int", |_| text(5)),
    ("shared->right", "int", |l| text(701 + l)),
    ("two_k->two", "int", |l| text(801 + l)),
];

fn scratch() -> Scratch {
    let mut scratch = Scratch::new();
    let at = |address: u64| usize::try_from(address).unwrap();
    for lane in 0..LANES {
        for (number, (address, count)) in (0..).zip(OBJECTS) {
            let first = i64::from(number) * 100 + lane;
            let values: Vec<i64> = (first..first + count).collect();
            scratch.ints(lane, at(address), &values);
            scratch.long(lane, 8 + number as usize * 8, PRIVATE + address);
        }
        scratch.long(lane, at(OBJECTS[5].0), LOAD + DIAMOND_TABLE);
        scratch.long(lane, at(OBJECTS[5].0) + 16, LOAD + DOMINANT_TABLE);
        scratch.long(lane, at(OBJECTS[6].0), LOAD + MIXED_TABLE);
    }
    scratch
}

#[test]
fn members_of_derived_classes_hide_those_of_base_classes() {
    let texts = ROWS.iter().map(|(text, ..)| *text);
    check(
        ROWS,
        &expressions("members", (&OBJECT, PC), scratch(), texts),
    );
}

/// The messages have each way to such a member, the shortest first.
#[test]
fn members_of_several_base_classes_are_ambiguous() {
    ambiguous(
        PC,
        &[
            ("both->x", "A::x, B::x"),
            ("both->x + 1", "A::x, B::x"),
            ("uneven->x", "B::x, Deeper::A::x"),
            ("mixed->x", "Virtual::A::x, Plain::A::x"),
            ("mixed->a", "Virtual::A::a, Plain::A::a"),
            ("two_k->k", "OtherK::k, Left::Counted::k"),
            ("TwoK::k", "OtherK::k, Left::Counted::k"),
        ],
    );
    // In a member function without `this->`.
    ambiguous(0x1868, &[("x", "B::x, Deeper::A::x")]);
}

fn ambiguous(pc: u64, faults: &[(&str, &str)]) {
    let texts = faults.iter().map(|(text, _)| *text);
    let answers = expressions(
        "ambiguous-members",
        (&OBJECT, pc),
        method_scratch(pc),
        texts,
    );
    for ((text, candidates), answer) in faults.iter().zip(answers) {
        assert_eq!(
            answer["error"]["kind"], "ambiguous-name",
            "{text}: {answer}"
        );
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(
            message.ends_with(&format!(" is ambiguous: {candidates}")),
            "{text}: {answer}"
        );
    }
}

/// In member functions, the object of the class `uneven`, `in_union` or `constant` is at 0x210. DW_AT_location of `this`: +8.
fn method_scratch(pc: u64) -> Scratch {
    if pc == PC {
        return scratch();
    }
    let mut scratch = Scratch::new();
    for lane in 0..LANES {
        scratch.long(lane, 8, PRIVATE + 0x210);
        scratch.ints(lane, 0x210, &[lane, 1 + lane, 2 + lane, 3 + lane, 4 + lane]);
    }
    scratch
}

#[test]
fn names_in_member_functions_are_the_members_of_the_class() {
    let of_union: &[Row] = &[
        ("x", "int", |l| text(2 + l)),
        ("a", "int", |l| text(1 + l)),
        ("((A *)this)->x", "int", text),
    ];
    let of_constant: &[Row] = &[
        ("x", "const int", |_| text(77)),
        ("this->x", "const int", |_| text(77)),
        ("a", "int", |l| text(1 + l)),
    ];
    for (pc, rows) in [(0x1914, of_union), (0x1988, of_constant)] {
        let texts = rows.iter().map(|(text, ..)| *text);
        check(
            rows,
            &expressions("methods", (&OBJECT, pc), method_scratch(pc), texts),
        );
    }
}
