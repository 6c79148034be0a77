//! Runs `verify` on structural errors: line tables, abbreviations, nested code ranges, strings, indices of names. The objects were written
//! by hand with one fault each, and llvm-dwarfdump 22 --verify reports the same fault.

use dwarf_tests::fixture;
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Finding, Severity, verify};

/// Returns the findings that are worse than notes.
fn faults(name: &str) -> Vec<Finding> {
    let bytes = std::fs::read(fixture(&format!("verify/structure/{name}.so"))).unwrap();
    let object = CodeObject::parse(&bytes).unwrap();
    let program = Program::load(&object).unwrap();
    let mut all = verify(&program).findings;
    all.retain(|finding| finding.severity > Severity::Note);
    all
}

/// The number of a file, the rule, and a text that its message must contain, with numbers from the source.
#[rustfmt::skip]
const FAULTS: &[(u8, &str, &str)] = &[
    (1,  "line-offset",            "DW_AT_stmt_list is 0x1000"),
    (2,  "unit-string",            "0x1234 in .debug_str"),
    (3,  "unit-file",              "DW_AT_decl_file of `f` is 9, but the files of the line table are 1 to 1"),
    (4,  "line-file",              "names file 9, but files are 1 to 1"),
    (5,  "line-backwards",         "follows the row of"),
    (6,  "line-directory",         "file 1 is in directory 7, but directories are 0 to 1"),
    (7,  "scope-backwards",        "`f` starts at"),
    (8,  "scope-outside",          "not all inside its unit"),
    (9,  "scope-overlap",          "`g` has code in"),
    (10, "abbrev-attribute-twice", "DW_AT_stmt_list twice"),
    (11, "abbrev-form",            "DW_AT_decl_file of abbreviation 3 has DW_FORM_string"),
    (12, "scope-outside",          "not all inside its function"),
    (13, "scope-outside",          "not all inside the entry around it"),
    (14, "loc-reference-kind",     "DW_AT_abstract_origin of DW_TAG_formal_parameter refers to the DW_TAG_variable"),
];

#[test]
fn each_fault_is_found_and_nothing_else() {
    assert_eq!(faults("fault-0"), []);
    for (number, rule, message) in FAULTS {
        let found = faults(&format!("fault-{number}"));
        let [only] = found.as_slice() else {
            panic!("{number}: {found:#?}");
        };
        assert_eq!(only.rule.id, *rule, "{number}");
        let said = only.message.raw();
        assert!(said.contains(message), "{number}: {said}");
    }
}

/// The bounds of DW_TAG_generic_subrange take the number of the dimension from the stack (DWARF 5 §5.13 and figure D.13), and
/// DW_AT_string_length may use the address of the object (§5.11).
#[test]
fn dimensions_and_lengths_have_what_they_are_computed_from() {
    assert_eq!(faults("generic-subrange"), []);
    assert_eq!(faults("string-length"), []);
}

/// One index has no names, and the other has one of two. llvm-dwarfdump --verify reports `x` and `y` as missing in the first, and `y` in
/// the second.
#[test]
fn names_are_missing_in_an_index_without_entries_too() {
    let message = |name| {
        let found = faults(name);
        assert_eq!((found.len(), found[0].rule.id), (1, "names-missing"));
        found[0].message.raw().to_owned()
    };
    let none = message("names-none");
    assert!(none.contains("`x`") && none.contains("1 more"), "{none}");
    let one = message("names-one");
    assert!(one.contains("`y`") && !one.contains("more"), "{one}");
}
