//! Tests casts and comparisons of pointers to base classes (C++20 [conv.ptr], [expr.static.cast]).
//!
//! As in `cxx.rs`, the program was never run. Classes have the layout of the Itanium C++ ABI: a base class with data precedes the members, the
//! virtual base class follows them, and the table of the class has its offset.

use super::cxx::{LANES, LOAD, Object, PRIVATE, Row, Scratch, check, expressions, text};

/// The table of `Join` (`llvm-nm`: `_ZTV4Join`) begins with the distance of its virtual base class.
const OBJECT: Object = Object {
    path: "print/bases.hsaco",
    words: &[(0x2d8, 16), (0x2dc, 0)],
};
/// The instruction `s_nop 77` of `bases`.
const PC: u64 = 0x1544;
/// The address that objects of `Join` contain: it is after the first three words of the table.
const TABLE: u64 = LOAD + 0x2d8 + 24;

/// The addresses of the objects in a lane: `Three` has a 0, b 4, two 8, three 12. `Twice` has a Left (a 0, left 4), a Two (a 8, b 12, two 16) and
/// twice 20. `Join` has the table's address 0, v 8, join 12, b 16.
const THREE: u64 = 0x210;
const TWICE: u64 = 0x240;
const JOIN: u64 = 0x280;

fn generic(address: u64) -> String {
    format!("generic#{:#x}", PRIVATE + address)
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("((A *)t)->a", "int", |l| text(1 + l)),
    ("((B *)t)->b", "int", |l| text(2 + l)),
    ("((const B *)(Two *)t)->b", "int", |l| text(2 + l)),
    ("(B *)t", "B *", |_| generic(THREE + 4)),
    ("(Two *)t", "Two *", |_| generic(THREE)),
    ("b", "B *", |_| generic(THREE + 4)),
    ("(Three *)b", "Three *", |_| generic(THREE)),
    ("((Three *)b)->three", "int", |l| text(4 + l)),
    ("((Two *)b)->two", "int", |l| text(3 + l)),
    ("(B *)t == b", "int", |_| text(1)),
    ("t == b", "int", |_| text(1)),
    ("b != t", "int", |_| text(0)),
    ("(void *)t == (void *)b", "int", |_| text(0)),
    ("(A *)b", "A *", |_| generic(THREE + 4)),
    ("(int *)t", "int *", |_| generic(THREE)),
    ("(Three *)nothing", "Three *", |_| text("generic#0x0")),
    ("(B *)(Three *)0", "B *", |_| text("0x0")),
    ("((B *)w)->b", "int", |l| text(14 + l)),
    ("((Left *)w)->a", "int", |l| text(11 + l)),
    ("(Two *)w", "Two *", |_| generic(TWICE + 8)),
    ("((A *)(Two *)w)->a", "int", |l| text(13 + l)),
    ("((Twice *)(Two *)w)->twice", "int", |l| text(16 + l)),
    ("((B *)j)->b", "int", |l| text(24 + l)),
    ("(B *)j == of_j", "int", |_| text(1)),
    ("j == of_j", "int", |_| text(1)),
    ("((Virtual *)j)->v", "int", |l| text(22 + l)),
    ("((Join *)(Virtual *)j)->join", "int", |l| text(23 + l)),
];

fn scratch() -> Scratch {
    let mut scratch = Scratch::new();
    let at = |address: u64| usize::try_from(address).unwrap();
    for lane in 0..LANES {
        let pointers = [THREE, THREE + 4, 0, TWICE, JOIN, JOIN + 16];
        for (slot, address) in (1..).zip(pointers) {
            let null = address == 0;
            scratch.long(lane, slot * 8, if null { 0 } else { PRIVATE + address });
        }
        let counted = |first: i64, count: i64| (first..first + count).map(|value| value + lane);
        scratch.ints(lane, at(THREE), &counted(1, 4).collect::<Vec<_>>());
        scratch.ints(lane, at(TWICE), &counted(11, 6).collect::<Vec<_>>());
        scratch.long(lane, at(JOIN), TABLE);
        scratch.ints(lane, at(JOIN) + 8, &counted(22, 3).collect::<Vec<_>>());
    }
    scratch
}

#[test]
fn pointers_to_base_classes_move_to_their_object() {
    let texts = ROWS.iter().map(|(text, ..)| *text);
    check(ROWS, &expressions("bases", (&OBJECT, PC), scratch(), texts));
}

/// The rows for `local`. DW_AT_location: d +8, object +16 (a 16, same 20, inner 24), p +32. A local class has the name of its base class, and `Deep<70>`
/// has seventy base classes of base classes.
#[rustfmt::skip]
const LOCAL: &[Row] = &[
    ("p == p", "int", |_| text(1)),
    ("p <= p", "int", |_| text(1)),
    ("(Same *)p", "Same *", |_| generic(16)),
    ("((A *)p)->a", "int", text),
    ("p->same + p->inner", "int", |l| text(300 + 2 * l)),
    ("d == d", "int", |_| text(1)),
    ("d->deep", "int", |l| text(7 + l)),
    ("(B *)d", "B *", |_| generic(THREE)),
];

#[test]
fn classes_are_told_apart_by_more_than_their_name() {
    let mut scratch = Scratch::new();
    for lane in 0..LANES {
        scratch.long(lane, 8, PRIVATE + THREE);
        scratch.ints(lane, 16, &[lane, 100 + lane, 200 + lane]);
        scratch.long(lane, 32, PRIVATE + 16);
        scratch.ints(lane, usize::try_from(THREE).unwrap(), &[7 + lane]);
    }
    let texts = LOCAL.iter().map(|(text, ..)| *text);
    check(
        LOCAL,
        &expressions("local", (&OBJECT, 0x1e90), scratch, texts),
    );
}

#[test]
fn casts_without_one_target_are_errors() {
    let faults = [
        ("(A *)w", "`Twice` has several base classes `A`"),
        ("(Twice *)(A *)t", "`Twice` has several base classes `A`"),
        ("w == (A *)t", "`Twice` has several base classes `A`"),
        (
            "(Join *)of_j",
            "a pointer to the virtual base class `B` does not lead to the derived class",
        ),
    ];
    let texts = faults.iter().map(|(text, _)| *text);
    let answers = expressions("base-faults", (&OBJECT, PC), scratch(), texts);
    for ((text, message), answer) in faults.iter().zip(answers) {
        let found = answer["error"]["message"].as_str().unwrap();
        assert!(found.contains(message), "{text}: {answer}");
    }
}
