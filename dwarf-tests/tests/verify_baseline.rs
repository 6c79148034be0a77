//! Checks that a baseline of one build also applies to another build with a different optimization level or target.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use dwarf_tests::fixture;
use hetdwarf::limits::Limits;
use hetdwarf::report::{Baseline, VerifyDocument, check_file_with};
use hetdwarf::verify::Selection;

fn check(name: &str) -> VerifyDocument {
    let data = std::fs::read(fixture(&format!("corpus/{name}"))).unwrap();
    VerifyDocument::new([check_file_with(
        name,
        &data,
        &Selection::default(),
        &Limits::DEFAULT,
        NonZeroUsize::MIN,
    )])
}

/// Returns the new findings in an object with the baseline of another: rule, function and kind.
fn new(from: &str, to: &str) -> Vec<(String, String, String)> {
    let baseline = Baseline::of(&check(from), Clone::clone);
    let mut document = check(to);
    baseline.apply(&mut document, Clone::clone, |_| false);
    let function = |name: Option<&hetdwarf::Untrusted<'_>>| name.map_or("", |n| n.raw()).to_owned();
    (document.findings())
        .map(|(_, one)| {
            let function = function(one.function.as_ref());
            (one.rule.to_owned(), function, one.kind.clone())
        })
        .collect()
}

/// Splits the name of a corpus file into the program and target, and the optimization level: `calls-gfx90a-O1-dwarf4.hsaco`.
fn parts(name: &str) -> Option<(&str, char)> {
    let (program, rest) = name.split_once("-O")?;
    Some((program, rest.chars().next()?))
}

/// Returns all pairs of objects of one source that differ in the target, gfx90a and gfx942, or in the level, 1 and 2.
fn pairs() -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for folder in ["llvm22", "llvm24", "rocm-style"] {
        let names: Vec<String> = std::fs::read_dir(fixture(&format!("corpus/{folder}")))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let is_pair = |one: &str, other: &str| {
            let (Some((program, level)), Some((others, others_level))) = (parts(one), parts(other))
            else {
                return false;
            };
            match program == others {
                true => level == '1' && others_level == '2',
                false => level == others_level && program.replace("-gfx90a", "-gfx942") == others,
            }
        };
        for (one, other) in names
            .iter()
            .flat_map(|one| names.iter().map(move |other| (one, other)))
            .filter(|(one, other)| is_pair(one, other))
        {
            let path = |name: &str| format!("{folder}/{name}");
            pairs.push((path(one), path(other)));
            pairs.push((path(other), path(one)));
        }
    }
    pairs
}

#[test]
fn another_level_or_target_makes_old_findings_not_new() {
    let pairs = pairs();
    assert!(pairs.len() >= 8, "{pairs:?}");
    let mut known = 0;
    for (from, to) in &pairs {
        let before: BTreeSet<_> = (check(from).findings())
            .map(|(_, one)| (one.rule, one.kind.clone(), one.function.clone()))
            .collect();
        known += before.len();
        for (rule, function, kind) in new(from, to) {
            let is_known = before.iter().any(|(r, k, f)| {
                *r == rule && *k == kind && f.as_ref().is_some_and(|f| *f == *function)
            });
            assert!(!is_known, "{from} -> {to}: {rule} in {function} ({kind})");
        }
    }
    assert!(known > 50, "{known}");
}

/// The objects are LLVM 24's. Their findings are about machine code, in which registers, addresses and offsets all differ.
#[test]
fn nothing_at_all_is_new_for_another_target() {
    for (one, other) in [
        (
            "llvm24/calls-gfx90a-O2.hsaco",
            "llvm24/calls-gfx942-O2.hsaco",
        ),
        (
            "llvm24/pressure-gfx90a-O2.hsaco",
            "llvm24/pressure-gfx942-O2.hsaco",
        ),
    ] {
        for (from, to) in [(one, other), (other, one)] {
            assert_eq!(new(from, to), [], "{from} -> {to}");
        }
    }
}

/// The test detects a new finding in a function that had none.
#[test]
fn another_function_is_new() {
    let found = new(
        "llvm24/small-gfx90a-O0-dwarf4.hsaco",
        "llvm24/calls-gfx90a-O2.hsaco",
    );
    let rules: BTreeMap<&str, usize> = found.iter().fold(BTreeMap::new(), |mut rules, one| {
        *rules.entry(one.0.as_str()).or_default() += 1;
        rules
    });
    assert!(rules.contains_key("cfi-stale-lane"), "{rules:?}");
}
