//! Runs `verify` on the output of linkers and producers: it reports no false positives, and finds errors that are easily missed.
//! `fixtures/verify/README.md` describes the files.

use std::num::NonZeroUsize;

use dwarf_tests::fixture;
use hetdwarf::expr::Dialect;
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Finding, Selection, Severity, verify_with};

fn findings(name: &str, dialect: Dialect) -> Vec<Finding> {
    let name = match name.contains('.') {
        true => name.to_owned(),
        false => format!("{name}.hsaco"),
    };
    let data = std::fs::read(fixture(&name)).unwrap();
    let object = CodeObject::parse(&data).unwrap();
    let program = Program::load(&object).unwrap().with_dialect(dialect);
    let verdict = verify_with(&program, &Selection::default(), NonZeroUsize::MIN);
    assert!(verdict.stopped.is_none(), "{name}: {:?}", verdict.stopped);
    verdict.findings
}

/// Returns the findings, without the notes that every object of LLVM 22 has.
fn rules(name: &str) -> Vec<(Severity, &'static str)> {
    const OF_LLVM_22: [&str; 3] = ["cfi-empty", "loc-legacy-llvm", "loc-narrow-frame-base"];
    let mut rules: Vec<_> = findings(name, Dialect::User)
        .iter()
        .map(|finding| (finding.severity, finding.rule.id))
        .filter(|(_, rule)| !OF_LLVM_22.contains(rule))
        .collect();
    rules.sort_unstable_by_key(|(_, rule)| *rule);
    rules.dedup();
    rules
}

/// For the address of a dropped function, lld writes 0, and 1 in `.debug_loc` (`Writer.cpp`, "tombstone"). No user can repair this.
#[test]
fn what_the_linker_dropped_is_no_fault() {
    let dropped = [
        (Severity::Note, "cfi-dropped-code"),
        (Severity::Note, "loc-dropped-code"),
    ];
    assert_eq!(rules("verify/comdat"), dropped);
    assert_eq!(rules("shapes/folded"), dropped);
    let of_frames = |name| {
        let findings = findings(name, Dialect::User);
        let found = findings
            .iter()
            .find(|one| one.rule.id == "cfi-dropped-code");
        found.unwrap().message.to_string()
    };
    // According to llvm-dwarfdump-22 --debug-frame, one FDE of four has pc=00000000 in the first file, and four of six in the second.
    assert!(of_frames("verify/comdat").starts_with("1 of 4 "));
    assert!(of_frames("shapes/folded").starts_with("4 of 6 "));
}

/// The lists belong to a function that the linker dropped. According to llvm-dwarfdump-22 --debug-loc, their ranges start at 0x9, where
/// there is no code, and according to --debug-info its DW_AT_low_pc is 0.
#[test]
fn lists_of_dropped_functions_are_no_fault() {
    let dropped = [
        (Severity::Note, "cfi-dropped-code"),
        (Severity::Note, "loc-dropped-code"),
    ];
    assert_eq!(rules("verify/dropped"), dropped);
}

/// Three functions of the source have the same fault. The linker dropped one, and merged two.
#[test]
fn rows_of_dropped_functions_are_not_checked() {
    let expected = [
        (Severity::Note, "cfi-dropped-code"),
        (Severity::Note, "cfi-rule-overwritten"),
    ];
    assert_eq!(rules("verify/dropped-rows"), expected);
    let found = findings("verify/dropped-rows", Dialect::User);
    let faults: Vec<_> = found
        .iter()
        .filter(|one| one.rule.id == "cfi-rule-overwritten")
        .collect();
    assert_eq!(faults.len(), 1, "{faults:#?}");
    let others: Vec<_> = found
        .iter()
        .filter(|one| one.rule.id == "cfi-dropped-code")
        .collect();
    assert!(others[0].message.to_string().starts_with("2 of 4 "));
}

/// DWARF 5 §5.7.8 requires the address of a virtual function's slot. GCC, clang and all other compilers write its number, and every
/// debugger reads it so.
#[test]
fn the_number_of_a_slot_is_no_fault() {
    assert_eq!(rules("verify/virtual"), []);
}

/// USAGE "Lookup By Name Section Header" prescribes `[amdgpu:v0.0]`.
#[test]
fn the_augmentation_string_of_usage_is_known() {
    assert_eq!(rules("verify/names-augmentation"), []);
}

/// There are 65 rows on the stack, so a finding that nothing was remembered would be wrong.
#[test]
fn a_limit_is_not_taken_for_a_fault() {
    let found = rules("verify/nested-rows");
    assert!(
        found.contains(&(Severity::Note, "cfi-too-large")),
        "{found:?}"
    );
    assert!(
        found.iter().all(|(_, rule)| *rule != "cfi-restore-state"),
        "{found:?}"
    );
}

/// Triton's fork writes rules for no address of the kernel, and variables of a type with 0 bytes.
#[test]
fn rows_without_a_cfa_are_found() {
    let warning = |rule| (Severity::Warning, rule);
    assert_eq!(
        rules("verify/row-without-cfa"),
        [warning("cfi-row-without-cfa")]
    );
    let of_triton = [
        warning("cfi-row-without-cfa"),
        warning("loc-type-without-size"),
    ];
    assert_eq!(rules("shapes/triton"), of_triton);
}

/// USAGE "Call Frame Information": the return address of a kernel is undefined.
#[test]
fn a_kernel_with_a_caller_is_found() {
    let found = rules("verify/kernel-return-address");
    assert!(
        found.contains(&(Severity::Warning, "cfi-kernel-row")),
        "{found:?}"
    );
}

/// In the current codes 0xe1 is not an operation. In the codes of 2020 to 2022 it is `DW_OP_LLVM_form_aspace_address`.
#[test]
fn the_codes_of_another_time_are_chosen() {
    let errors = |dialect| {
        let findings = findings("verify/one-byte", dialect);
        let errors = findings.iter().filter(|one| one.severity > Severity::Note);
        errors.map(|one| one.rule.id).collect::<Vec<_>>()
    };
    assert_eq!(errors(Dialect::User), ["expr-decode"]);
    assert_eq!(errors(Dialect::OneByte), [""; 0]);
}

/// Compares the findings in a small object of each producer (`spec-notes/producers.md`), without the notes that every object of LLVM has.
/// Each finding is a fault of the producer:
///
/// * clang at -O2: `DW_OP_fbreg` in a kernel without `DW_AT_frame_base`, as `llvm-dwarfdump-22` shows it;
/// * Flang at -O2: a parameter of 32 bits that is passed by reference has the two halves of its *address*;
/// * Mojo at -O0: a `bool` is a mask of 64 lanes in a pair of scalar registers;
/// * GCC: addresses of 64 bits are computed from one register of 32.
#[test]
fn a_small_object_of_each_producer_has_its_known_faults_and_no_more() {
    let error = |rule| (Severity::Error, rule);
    let warning = |rule| (Severity::Warning, rule);
    let faults: [(&str, &[(Severity, &str)]); 11] = [
        ("clang-13.hsaco", &[]),
        ("clang-14.hsaco", &[error("expr-no-frame-base")]),
        ("clang-16.hsaco", &[]),
        ("clang-19.hsaco", &[error("expr-no-frame-base")]),
        ("flang-22-O2.o", &[error("expr-long-composite")]),
        (
            "gcc-11.o",
            &[
                (Severity::Note, "cfi-missing"),
                warning("expr-narrow-register"),
            ],
        ),
        // llvm-dwarfdump --verify reports the same for the two units.
        (
            "mojo-0.25.7.o",
            &[error("expr-long-composite"), warning("line-shared")],
        ),
        ("rustc.elf", &[]),
        ("triton-3.9.hsaco", &[]),
        ("zig-0.14.1.o", &[]),
        ("zig-0.15.2.o", &[]),
    ];
    for (name, expected) in faults {
        assert_eq!(rules(&format!("producers/{name}")), expected, "{name}");
    }
}
