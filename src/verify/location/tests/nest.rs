//! Tests nested and adjacent code, the root entry of a unit, and the files and strings of units.

use super::*;
use crate::verify::location::nest::check_units;

/// Returns a function or a block with code, by offsets from the start of the unit's code.
fn code(tag: DwTag, label: &'static str, start: u64, end: u64) -> Made {
    made(tag, label)
        .with(DW_AT_low_pc, Address(0x1000 + start))
        .with(DW_AT_high_pc, Address(0x1000 + end))
}

fn function_at(label: &'static str, start: u64, end: u64) -> Made {
    code(DW_TAG_subprogram, label, start, end)
}

fn block(label: &'static str, start: u64, end: u64) -> Made {
    code(DW_TAG_lexical_block, label, start, end)
}

/// Returns a function whose code is the first list of `.debug_rnglists`.
fn of_list(label: &'static str) -> Made {
    made(DW_TAG_subprogram, label).with(DW_AT_ranges, Offset(12))
}

/// Returns `.debug_rnglists` with one list without a base, by offsets from the start of the unit's code.
fn range_list(ranges: &[(u64, u64)]) -> Vec<u8> {
    let mut body = vec![5, 0, 8, 0, 0, 0, 0, 0];
    for (start, end) in ranges {
        body.push(DW_RLE_start_end.0);
        body.extend((0x1000 + start).to_le_bytes());
        body.extend((0x1000 + end).to_le_bytes());
    }
    body.push(DW_RLE_end_of_list.0);
    let mut section = (body.len() as u32).to_le_bytes().to_vec();
    section.extend(body);
    section
}

fn rules(file: &File) -> Vec<(&'static str, String)> {
    let found = findings(&object(file));
    let said = |one: &Finding| (one.rule.id, one.message.raw().to_owned());
    found.iter().map(said).collect()
}

/// Checks that a file has only one finding, with this rule and this part of the message.
fn finds(file: &File, rule: &str, part: &str) {
    let found = rules(file);
    assert!(
        matches!(found.as_slice(), [(id, said)] if *id == rule && said.contains(part)),
        "{rule}, {part}: {found:#?}"
    );
}

#[test]
fn a_function_in_another_need_not_have_its_code_there() {
    let nested = |inner: Made| file([function_at("f", 0, 0x40).has(inner)]);
    assert_eq!(rules(&nested(function_at("g", 0x80, 0xa0))), []);
    finds(
        &nested(block("b", 0x30, 0x44)),
        "scope-outside",
        "its function",
    );
    // A block must be inside its function, and the function inside its unit.
    let inner = function_at("g", 0x80, 0xa0).has(block("b", 0x80, 0x90));
    assert_eq!(rules(&nested(inner)), []);
    let inner = function_at("g", 0x80, 0xa0).has(block("b", 0, 0x10));
    finds(&nested(inner), "scope-outside", "its function");
    finds(
        &file([function_at("f", 0xf0, 0x104)]),
        "scope-outside",
        "its unit",
    );
}

#[test]
fn functions_with_the_same_code_are_folded_and_blocks_are_not() {
    let both = |make: fn(&'static str, u64, u64) -> Made, second: (u64, u64)| {
        file([function_at("around", 0, 0x100)
            .has(make("a", 0x10, 0x20))
            .has(make("b", second.0, second.1))])
    };
    assert_eq!(rules(&both(function_at, (0x10, 0x20))), []);
    assert_eq!(rules(&both(function_at, (0x20, 0x30))), []);
    assert_eq!(rules(&both(function_at, (0, 0x10))), []);
    assert_eq!(rules(&both(block, (0x20, 0x30))), []);
    let said = "as has the entry at";
    finds(&both(function_at, (0x10, 0x24)), "scope-overlap", said);
    finds(&both(function_at, (0x0c, 0x14)), "scope-overlap", said);
    finds(&both(block, (0x10, 0x20)), "scope-overlap", said);
}

#[test]
fn each_range_of_a_list_counts() {
    let with = |ranges: &[(u64, u64)], more: Made| File {
        ranges: range_list(ranges),
        ..file([of_list("f"), more])
    };
    let beside = || function_at("g", 0x40, 0x50);
    assert_eq!(rules(&with(&[(0, 0x10), (0x20, 0x30)], beside())), []);
    let twice = with(&[(0, 0x10), (8, 0x20)], beside());
    finds(
        &twice,
        "scope-overlap",
        "addresses of [0x1008, 0x1020) twice",
    );
    let second = with(&[(0, 0x10), (0x48, 0x58)], beside());
    finds(&second, "scope-overlap", "as has the entry at");
    let outside = with(&[(0, 0x10), (0xf8, 0x108)], beside());
    finds(&outside, "scope-outside", "[0x10f8, 0x1108)");
    // A range that ends before it starts has no code.
    let backwards = with(&[(0, 0x10), (0x48, 0x44)], beside());
    finds(
        &backwards,
        "scope-backwards",
        "starts at 0x1048 and ends at 0x1044",
    );
}

/// A constant `DW_AT_high_pc` is the length.
#[test]
fn an_end_can_be_a_length() {
    let of = |length: u8| {
        let function = made(DW_TAG_subprogram, "f").with(DW_AT_low_pc, Address(0x10f0));
        file([function.with(DW_AT_high_pc, Data1(length))])
    };
    assert_eq!(rules(&of(0x10)), []);
    finds(&of(0x14), "scope-outside", "[0x10f0, 0x1104)");
}

/// Code that the linker dropped is at an address without code. This applies to the function and to all ranges in it.
#[test]
fn dropped_code_need_not_be_anywhere() {
    let at = |start: u64| {
        made(DW_TAG_subprogram, "f")
            .with(DW_AT_low_pc, Address(start))
            .with(DW_AT_high_pc, Data1(0x20))
            .has(variable("x", List(0)))
    };
    let list = [(0, 0x10, "regx SGPR4"), (0x20, 0x30, "regx SGPR5")];
    // A range that does not wrap.
    let short = function_at("h", 0, 0x20);
    let mut gone = made(DW_TAG_subprogram, "h");
    gone.attributes = vec![
        (DW_AT_low_pc, Address(u64::MAX - 1)),
        (DW_AT_high_pc, Data1(1)),
    ];
    let found = rules(&file([gone, short]));
    assert!(
        matches!(found.as_slice(), [("loc-dropped-code", _)]),
        "{found:#?}"
    );
    let dropped = file([int(), at(u64::MAX - 1), function_at("g", 0, 0x20)]).list(&list);
    let found = rules(&dropped);
    assert!(
        matches!(found.as_slice(), [("loc-dropped-code", _)]),
        "{found:#?}"
    );
    let kept = rules(&file([int(), at(0x1000)]).list(&list));
    let outside = kept.iter().filter(|(id, _)| *id == "loc-range-outside");
    assert_eq!(outside.count(), 2, "{kept:#?}");
}

/// Checks the overlap of units, given their code ranges with the offsets of their headers.
#[test]
fn units_share_code_if_they_are_folded() {
    let pcs = |units: &[(u64, u64, u64)]| -> Vec<(u64, u64)> {
        let units = units.iter().map(|(start, end, unit)| (*start..*end, *unit));
        let mut findings = Findings::default();
        check_units(units.collect(), &mut findings);
        let meter = Meter::new(&crate::limits::Limits::DEFAULT, 0);
        let found = findings.finish(&meter).0;
        let at = |one: &Finding| (one.offset.unwrap(), one.pc.unwrap());
        found.iter().map(at).collect()
    };
    // Adjacent units, equal ranges, and ranges of the same unit are accepted.
    assert_eq!(pcs(&[(0, 0x10, 1), (0x10, 0x20, 2)]), []);
    assert_eq!(pcs(&[(0, 0x10, 1), (0, 0x10, 2)]), []);
    assert_eq!(pcs(&[(0, 0x10, 1), (8, 0x20, 1)]), []);
    assert_eq!(pcs(&[(0, 0x10, 1), (8, 0x20, 2)]), [(2, 8)]);
    // The first range reaches further than the second.
    assert_eq!(
        pcs(&[(0, 0x80, 1), (0x10, 0x20, 2), (0x40, 0x50, 3)]),
        [(2, 0x10), (3, 0x40)]
    );
}

#[test]
fn the_first_entry_is_that_of_a_unit() {
    let of = |tag: DwTag, entries: Vec<Made>| {
        let mut bytes = object(&file(entries));
        // The abbreviations begin with the root entry: code, tag.
        let section = CodeObject::parse(&bytes).unwrap();
        let mut sections = section.sections().iter();
        let place = sections.find(|one| one.name == ".debug_abbrev");
        let place = usize::try_from(place.unwrap().offset).unwrap();
        bytes[place + 1] = tag.0 as u8;
        let found = findings(&bytes);
        found.iter().map(|one| one.rule.id).collect::<Vec<_>>()
    };
    let with_tag = |tag| of(tag, vec![int()]);
    assert_eq!(with_tag(DW_TAG_compile_unit), [""; 0]);
    assert_eq!(with_tag(DW_TAG_partial_unit), [""; 0]);
    // A skeleton unit stands for a unit with entries, and has no entries itself.
    assert_eq!(with_tag(DW_TAG_skeleton_unit), ["unit-skeleton-children"]);
    assert_eq!(of(DW_TAG_skeleton_unit, Vec::new()), [""; 0]);
    assert!(with_tag(DW_TAG_namespace).contains(&"unit-root"));
    assert!(with_tag(DW_TAG_type_unit).contains(&"unit-root"));
}

/// A unit without a line table has no files. The number 0 means no file and is accepted.
#[test]
fn a_file_needs_a_line_table() {
    let of = |name: DwAt, number: u8| file([function().with(name, Data1(number))]);
    finds(
        &of(DW_AT_decl_file, 1),
        "unit-file",
        "the unit has no line table",
    );
    finds(&of(DW_AT_call_file, 2), "unit-file", "DW_AT_call_file");
    assert_eq!(rules(&of(DW_AT_decl_file, 0)), []);
}
