//! Annotates a hand-made object in which every form and every operation refers to an entry, in units of all versions. gimli resolves each
//! reference before and after.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

#[path = "annotate_references/made.rs"]
mod made;
#[path = "annotate_references/reader.rs"]
mod reader;

use gimli::*;
use hetdwarf::annotate::{Request, annotate};
use hetdwarf::limits::Limits;
use hetdwarf::object::CodeObject;
use made::{InUnit, Part, Unit, end, everything, function, object, raw, refers, root, target};
use reader::{Reader, lane_pc_ranges, units_of_ranges};

/// Each reference leads to the named entry, before and after, and the operations and constants are unchanged.
#[test]
fn everything_that_refers_to_an_entry_is_followed() {
    let before = object(everything());
    let annotated = annotate(&before, &Limits::default(), &Request::new(&|_| true)).unwrap();
    let (functions, notes) = (&annotated.functions, &annotated.notes);
    // Each of these functions gets lanes, so every entry after them moves.
    let added = functions.iter().filter(|function| function.added > 0);
    let added: Vec<_> = added
        .filter_map(|function| function.name.as_deref())
        .collect();
    assert_eq!(added, ["f", "g", "h"], "{functions:?} {notes:?}");
    let old = Reader::new(&before);
    let new = Reader::new(&annotated.file);
    let (old, new) = (old.read(), new.read());
    assert_eq!(old.len(), new.len());
    let mut references = 0;
    for (name, (entries, bytes)) in &new {
        let (before, bytes_before) = &old[name];
        let to = name.split_once(" -> ").map(|(_, to)| to);
        assert!(
            before.iter().all(|entry| Some(entry.as_str()) == to),
            "{name} leads to {before:?} before"
        );
        assert_eq!(before, entries, "{name}");
        assert_eq!(bytes_before, bytes, "{name}");
        assert!(to.is_none() || !entries.is_empty(), "{name} leads nowhere");
        references += entries.len();
    }
    for function in functions.iter().filter(|one| one.added > 0) {
        let name = function.name.as_deref().unwrap();
        let code = function.address..function.address + function.size;
        let ranges = lane_pc_ranges(&annotated.file, name);
        let is_inside = |range: &Range| code.contains(&range.begin) && range.end <= code.end;
        assert!(ranges.iter().all(is_inside), "{name} {ranges:x?}");
        let covered: u64 = ranges.iter().map(|range| range.end - range.begin).sum();
        assert_eq!(covered, function.covered, "{name}");
        let is_sorted = ranges.is_sorted_by(|one, next| one.end <= next.begin);
        assert!(is_sorted, "{name} {ranges:x?}");
    }
    assert_eq!(
        units_of_ranges(&annotated.file),
        ["new", "old", "older", "oldest"]
    );
    assert!(references > 130, "{references}");
}

/// A unit that cannot be changed gets no lists. Here, the entry `t` would move beyond the offsets of `DW_FORM_ref1`:
/// it is at 12 (header) + 16 (`small`) + 19 (`f`) + 208 (a type with 204 letters) = 255.
#[test]
fn a_refused_unit_leaves_no_lists() {
    let to = Part::Entry("t", InUnit(1));
    let entries = vec![
        root("small"),
        function("f", 0),
        target(&"-".repeat(204)),
        target("t"),
        refers("close", "t", DW_AT_type, DW_FORM_ref1, vec![to]),
        end(),
    ];
    let others = vec![root("other"), function("g", 1), end()];
    let unit = |entries| Unit {
        version: 5,
        entries,
    };
    let units = |units| object((units, [vec![(0, vec![raw([0; 16])])], Vec::new()]));
    let lists = |file: &[u8]| {
        let object = CodeObject::parse(file).unwrap();
        object.section(".debug_loclists").unwrap().unwrap().len()
    };
    let before = units(vec![unit(entries), unit(others)]);
    let annotated = annotate(&before, &Limits::default(), &Request::new(&|_| true)).unwrap();
    let expected = "unit small was not changed: a reference would need more bytes than it has";
    assert_eq!(annotated.notes, [expected]);
    let [refused, other] = annotated.functions.as_slice() else {
        panic!("{:?}", annotated.functions);
    };
    assert!(refused.added == 0 && other.added > 0);
    // The lists of `g` follow a header of 12 bytes.
    assert_eq!(lists(&annotated.file), lists(&before) + 12 + other.added);
}

/// Returns an object with one unit of this version, which has the function `f`.
fn with_one_function(version: u16) -> Vec<u8> {
    let entries = vec![root("unit"), function("f", 0), end()];
    let unit = Unit { version, entries };
    object((vec![unit], [vec![(0, vec![raw([0; 16])])], Vec::new()]))
}

/// HET extends DWARF 5, and LLVM also writes its attributes in DWARF 4. Units of older versions stay as they are.
#[test]
fn units_of_old_versions_get_no_lanes() {
    for (version, is_changed) in [(5, true), (4, true), (3, false), (2, false)] {
        let before = with_one_function(version);
        let annotated = annotate(&before, &Limits::default(), &Request::new(&|_| true)).unwrap();
        assert_eq!(annotated.file != before, is_changed, "{version}");
        let added = annotated.functions.iter().any(|one| one.added > 0);
        assert_eq!(added, is_changed, "{version}");
    }
}

/// A loaded section has a fixed address, so it cannot grow. Here, all sections have SHF_ALLOC.
#[test]
fn loaded_sections_are_not_changed() {
    let mut before = with_one_function(5);
    // ELF-64: the table of sections is at e_shoff (40), has e_shnum (60) entries of 64 bytes, and sh_flags is at 8 in each.
    let number = |at: usize, size: usize| {
        let bytes = before[at..at + size].iter().rev();
        bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    let (table, count) = (number(40, 8), number(60, 2));
    for section in 1..count {
        before[table + section * 64 + 8] |= 2;
    }
    let annotated = annotate(&before, &Limits::default(), &Request::new(&|_| true)).unwrap();
    assert!(annotated.file == before);
    let notes = annotated.notes.join("\n");
    let expected = "a section that would change is loaded";
    assert!(notes.contains(expected), "{notes}");
}
