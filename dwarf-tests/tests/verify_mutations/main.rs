//! Call frame information of real code objects, damaged in two hundred ways: each must be found by a rule that is
//! meant for it.
//!
//! A mutation changes one thing in a copy of a file that LLVM wrote. It is found if one of the rules named for it has
//! a finding that the file did not have before.

mod mutations;
mod subject;

use dwarf_tests::{fixture, simulator::Random};
use mutations::{ENTRIES, EXPRESSIONS, INSTRUCTIONS, Mutation, RANGES};
use subject::Subject;

/// How often each kind is tried on.
const EACH: usize = 6;

fn subjects() -> Vec<Subject> {
    // Buffer and flat scratch, both wave sizes, optimised and not.
    let names = [
        "calls-gfx90a-O2",
        "calls-gfx1030-O0",
        "calls-gfx1100-O2",
        "calls-gfx942-O2",
        "pressure-gfx90a-O2",
    ];
    names
        .iter()
        .map(|name| fixture(&format!("corpus/llvm24/{name}.hsaco")))
        .filter(|path| path.is_file())
        .map(|path| Subject::read(&path))
        .collect()
}

#[test]
fn every_mutation_is_found() {
    let subjects = subjects();
    assert!(subjects.len() >= 3, "the objects are missing");
    let mut random = Random::new(2026);
    let (mut done, mut missed) = (0, Vec::new());
    let kinds = [ENTRIES, RANGES, INSTRUCTIONS, EXPRESSIONS];
    for mutation in kinds.into_iter().flatten() {
        let mut times = 0;
        // Not every entry has what a kind changes.
        for attempt in 0..60 * EACH {
            if times == EACH {
                break;
            }
            let subject = &subjects[attempt % subjects.len()];
            let Some(data) = (mutation.apply)(subject, &mut random) else {
                continue;
            };
            times += 1;
            let found = subject.new_findings(&data);
            if !found
                .iter()
                .any(|finding| mutation.rules.contains(&finding.rule.id))
            {
                let ids: Vec<_> = found.iter().map(|finding| finding.rule.id).collect();
                missed.push(format!("{}: {}: {ids:?}", mutation.what, subject.name));
            }
        }
        assert_eq!(times, EACH, "no entry to try it on: {}", mutation.what);
        done += times;
    }
    println!("{done} mutations of {} kinds", done / EACH);
    assert!(
        missed.is_empty(),
        "{} of {done} are not found:\n{}",
        missed.len(),
        missed.join("\n")
    );
}
