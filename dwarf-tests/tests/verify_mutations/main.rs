//! Damages call frame information of real code objects in two hundred ways. A rule meant for the damage must find each.
//!
//! A mutation changes one thing in a copy of a file that LLVM wrote. It is found if one of its rules has a finding that the original file
//! did not have.

mod code;
mod mutations;
mod subject;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use code::CODE;
use dwarf_tests::{fixture, simulator::Random};
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Finding, Selection, verify_with};
use mutations::{ENTRIES, EXPRESSIONS, INSTRUCTIONS, Mutation, RANGES};
use subject::Subject;

/// The number of mutations of each kind.
const EACH: usize = 6;

fn subjects() -> Vec<Subject> {
    // The files use buffer and flat scratch, have both wave sizes, and are optimized and unoptimized.
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

/// Tries each kind. Returns the number of mutations, and the ones that were not found.
fn run(kinds: &[&[Mutation]], seed: u64) -> (usize, Vec<String>) {
    let subjects = subjects();
    assert!(subjects.len() >= 5, "objects are missing");
    let mut random = Random::new(seed);
    let (mut done, mut missed) = (0, Vec::new());
    for mutation in kinds.iter().copied().flatten() {
        let mut times = 0;
        // Some entries do not have the parts that a kind changes.
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
            let ids: Vec<_> = found.iter().map(|finding| finding.rule.id).collect();
            if !ids.iter().any(|id| mutation.rules.contains(id)) {
                missed.push(format!("{}: {}: {ids:?}", mutation.what, subject.name));
            }
        }
        assert_eq!(times, EACH, "no entry to try it on: {}", mutation.what);
        done += times;
    }
    (done, missed)
}

#[test]
fn every_mutation_is_found() {
    let (done, missed) = run(&[ENTRIES, RANGES, INSTRUCTIONS, EXPRESSIONS], 2026);
    println!("{done} mutations of {} kinds", done / EACH);
    assert!(done >= 200 && missed.is_empty(), "{}", missed.join("\n"));
}

/// The rows are well formed and wrong. The rules report nothing if the code does not show the error: a register without a rule may be
/// written only by loads from untracked memory.
#[test]
fn most_of_what_only_the_code_shows_is_found() {
    let (done, missed) = run(&[CODE], 2026);
    println!(
        "{} of {done} found; not found:\n{}",
        done - missed.len(),
        missed.join("\n")
    );
    assert!(missed.len() * 10 <= done);
}

/// Returns the findings of a file, by all rules or by a single rule.
fn findings(data: &[u8], rule: Option<&str>) -> Vec<Finding> {
    let Ok(object) = CodeObject::parse(data) else {
        return Vec::new();
    };
    let Ok(program) = Program::load(&object) else {
        return Vec::new();
    };
    let mut selection = Selection::default();
    if let Some(rule) = rule {
        selection.only([rule]).unwrap();
    }
    verify_with(&program, &selection, NonZeroUsize::MIN).findings
}

/// A rule that runs alone has the same findings as among all rules, although checks that it does not need are skipped.
#[test]
fn a_rule_alone_finds_what_it_finds_among_all() {
    let subjects = subjects();
    let mut random = Random::new(2026);
    let kinds = [ENTRIES, RANGES, INSTRUCTIONS, EXPRESSIONS, CODE];
    let mutations = kinds.iter().copied().flatten();
    let mut files: Vec<Vec<u8>> = mutations
        .filter_map(|mutation| (mutation.apply)(&subjects[0], &mut random))
        .collect();
    let corpus = dwarf_tests::corpus().into_iter();
    let small = corpus.filter(|path| path.metadata().unwrap().len() < 1 << 16);
    files.extend(small.map(|path| std::fs::read(path).unwrap()));
    let mut rules = BTreeSet::new();
    for file in &files {
        let all = findings(file, None);
        let broken: BTreeSet<_> = all.iter().map(|finding| finding.rule.id).collect();
        for rule in broken {
            let expected: Vec<_> = all.iter().filter(|one| one.rule.id == rule).collect();
            let alone = findings(file, Some(rule));
            assert_eq!(alone.iter().collect::<Vec<_>>(), expected, "{rule}");
            rules.insert(rule);
        }
    }
    // The rules come from every part of `verify`.
    for start in [
        "cfi-entry",
        "cfi-row",
        "cfi-wrong-place",
        "register-",
        "expr-",
        "loc-",
    ] {
        assert!(
            rules.iter().any(|rule| rule.starts_with(start)),
            "{start}: {rules:?}"
        );
    }
}
