//! Tests GNU's view pairs, in lists and beside them. They do not affect the location of a variable.

use fallible_iterator::FallibleIterator;
use gimli::constants::DW_AT_location;

use super::*;
use crate::eval::{Context, LocationAttribute, locate};
use crate::location::{Arena, Location};

/// The location lists of the variables of `f` according to `readelf --debug-dump=loc` of binutils 2.40, in the order of their entries.
const LISTS: &[(&str, &[(u64, u64)])] = &[
    ("a", &[(0x1020, 0x102a), (0x102a, 0x1033), (0x1033, 0x1035)]),
    (
        "b",
        &[
            (0x1020, 0x1032),
            (0x1032, 0x1033),
            (0x1033, 0x1035),
            (0x1035, 0x103b),
        ],
    ),
    ("c", &[(0x1025, 0x1043), (0x1043, 0x1045)]),
    ("d", &[(0x1028, 0x1044), (0x1044, 0x1045)]),
];

/// Returns the names of the variables with location lists, and the offsets of the lists.
fn lists(info: &DebugInfo<'_>, unit: UnitId) -> Vec<(String, u64)> {
    let mut lists = Vec::new();
    let mut dies = info.dies(unit).unwrap();
    while let Some(die) = dies.next().unwrap() {
        let Some(attribute) = die.attribute(DW_AT_location) else {
            continue;
        };
        if let DieValue::LocationList(offset) = info.value(&die, attribute).unwrap() {
            let name = info.string_of(&die, die.attribute(gimli::DW_AT_name).unwrap());
            lists.push((name.unwrap().into_owned(), offset));
        }
    }
    lists
}

#[test]
fn view_pairs_are_read_over() {
    for file in ["views-5.elf", "views-4.elf", "views-in-lists.elf"] {
        let sections = sections(file);
        let info = load(&sections);
        let unit = info.unit_ids().next().unwrap();
        let found = lists(&info, unit);
        assert_eq!(found.len(), LISTS.len(), "{file}");
        for ((name, offset), (expected, ranges)) in found.into_iter().zip(LISTS) {
            assert_eq!(name, *expected, "{file}");
            let meter = info.for_query();
            let mut entries = info.location_list(unit, offset, &meter).unwrap();
            let mut read = Vec::new();
            while let Some(entry) = entries.next().unwrap() {
                let LocationRange::Bounded(range) = entry.range else {
                    panic!("{file}: {name} has a default location");
                };
                read.push((range.start, range.end));
            }
            assert_eq!(read, *ranges, "{file}: {name}");
        }
    }
}

/// `b` at 0x1036 is in RAX: `DW_OP_reg0`, 0x50.
#[test]
fn an_entry_after_a_view_pair_is_found() {
    let sections = sections("views-in-lists.elf");
    let info = load(&sections);
    let unit = info.unit_ids().next().unwrap();
    let (_, offset) = lists(&info, unit).swap_remove(1);
    let eval = info.eval_unit(unit).unwrap();
    let found = info.matching_at(eval, offset, 0x1036, info.meter());
    let found = found.unwrap().into_expressions();
    let found: Vec<&[u8]> = found.iter().map(|found| found.bytes).collect();
    assert_eq!(found, [&[0x50][..]]);
}

#[test]
fn a_view_pair_that_is_cut_short_ends_the_list() {
    let mut sections = sections("views-in-lists.elf");
    let lists_of = sections.get_mut(".debug_loclists").unwrap();
    // The second view pair of the list of `a`, which starts at 0xc, is at 0x14.
    assert_eq!(lists_of[0x14], 0x09);
    lists_of.truncate(0x16);
    let info = load(&sections);
    let unit = info.unit_ids().next().unwrap();
    let meter = info.for_query();
    let mut entries = info.location_list(unit, 0xc, &meter).unwrap();
    assert!(entries.next().unwrap().is_some());
    let error = entries.next().unwrap_err();
    assert_eq!(error.origin().unwrap().section, ".debug_loclists");
    // The offset of the truncated entry.
    assert_eq!(error.origin().unwrap().offset, 0x14);
    assert!(entries.next().unwrap().is_none());
}

/// The list of `a` has three entries, each after a view pair, and an end entry that is also read.
#[test]
fn what_says_no_expression_is_paid_for() {
    let sections = sections("views-in-lists.elf");
    let info = load(&sections);
    let unit = info.unit_ids().next().unwrap();
    let eval = info.eval_unit(unit).unwrap();
    let (_, offset) = lists(&info, unit).swap_remove(0);
    let meter = info.for_query();
    info.matching_at(eval, offset, 0x1000, &meter).unwrap();
    assert_eq!(meter.steps(), 7);
    // The evaluator charges for each entry that a resolver returns.
    let (meter, arena) = (info.for_query(), Arena::new());
    let context = Context {
        resolver: Some(&&info),
        pc: Some(0x1000),
        meter: Some(&meter),
        ..Context::new(&arena)
    };
    let unit = eval;
    let location = locate(&LocationAttribute::List { unit, offset }, &context);
    assert_eq!(location.unwrap(), Location::UNDEFINED);
    assert_eq!(meter.steps(), 6);
}
