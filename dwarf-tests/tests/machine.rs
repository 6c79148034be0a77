//! Compares call frame information with machine code: small functions, the emulated runs, and the corpus.

#[path = "machine/borders.rs"]
mod borders;
#[path = "machine/code.rs"]
mod code;
#[path = "machine/hostile.rs"]
mod hostile;
#[path = "machine/objects.rs"]
mod objects;
#[path = "machine/steps.rs"]
mod steps;
#[path = "machine/stores.rs"]
mod stores;
#[path = "machine/tables.rs"]
mod tables;
#[path = "machine/truth.rs"]
mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dwarf_tests::{corpus, fixture, json, number, wave_cases_with_cfi};
use hetdwarf::cfi_check::{Condition, SkipReason};
use hetdwarf::verify::{MACHINE_CODE, Rule};
use truth::{Item, What};

/// The counts of contradictions of one kind: all, those found as always wrong, and those found as wrong under a condition. Also the number
/// reported under a condition that did not occur in the runs.
#[derive(Debug, Default)]
struct Share {
    all: usize,
    always: usize,
    conditional: usize,
    not_seen: usize,
}

/// The contradictions found in one case.
#[derive(Default)]
struct Found {
    always: BTreeSet<Item>,
    conditional: BTreeSet<Item>,
}

fn find(case: &std::path::Path, truth: &truth::Truth) -> Found {
    let name = case.file_name().unwrap().to_str().unwrap();
    let mut found = Found::default();
    for function in objects::check(&case.join(format!("{name}.hsaco"))) {
        let executed = &truth.executed[&function.name];
        for one in &function.report.contradictions {
            let items = truth::items(&function.name, one, executed);
            if one.condition == Condition::Always {
                found.always.extend(items);
            } else {
                found.conditional.extend(items);
            }
        }
    }
    found
}

/// Returns true if an expected contradiction was found. For undefined registers, `cfi-check.json` lists all registers that are wrong at
/// some of the addresses, so one of them must be found. A masked rule is wrong because EXEC has no rule, and is found at that point.
fn is_among(items: &BTreeSet<Item>, wrong: &Item) -> bool {
    let like = |what, register: &str| Item {
        what,
        register: register.to_string(),
        ..wrong.clone()
    };
    match wrong.what {
        What::Clobbered => {
            let from = like(What::Clobbered, "");
            let mut after = items.range(from..);
            after.next().is_some_and(|item| {
                (&item.function, item.pc, item.what) == (&wrong.function, wrong.pc, wrong.what)
            })
        }
        What::Masked => items.contains(wrong) || items.contains(&like(What::Exec, "exec")),
        _ => items.contains(wrong),
    }
}

/// The analysis finds everything that was wrong when the programs ran, and nothing that was right. EXEC cannot always be followed out of
/// nested loops.
#[test]
fn what_is_found_is_what_was_wrong_when_it_ran() {
    let mut shares: BTreeMap<What, Share> = BTreeMap::new();
    let mut false_alarms = Vec::new();
    for case in wave_cases_with_cfi() {
        let truth = truth::read(&case);
        let found = find(&case, &truth);
        for item in &truth.wrong {
            let share = shares.entry(item.what).or_default();
            share.all += 1;
            share.always += usize::from(is_among(&found.always, item));
            let conditional = !is_among(&found.always, item) && is_among(&found.conditional, item);
            share.conditional += usize::from(conditional);
        }
        let case = case.file_name().unwrap().to_owned();
        let alarms = found.always.difference(&truth.wrong);
        false_alarms.extend(alarms.map(|item| (case.clone(), item.clone())));
        for item in found.conditional.difference(&truth.wrong) {
            shares.entry(item.what).or_default().not_seen += 1;
        }
    }
    for (what, share) in &shares {
        println!("{what:?}: {share:?}");
    }
    assert!(false_alarms.is_empty(), "{false_alarms:#x?}");
    for (what, share) in &shares {
        let found = share.always + share.conditional;
        match what {
            What::Exec => assert!(found >= 767, "{found} of {}", share.all),
            What::Masked => assert_eq!(found, share.all),
            _ => assert_eq!(share.always, share.all, "{what:?}"),
        }
        // The runs did not meet some conditions: in loops all lanes stayed together, all lanes took the branches, and lanes 0 and 1 were
        // active, which hold the return address in a register that is reloaded for inactive lanes.
        let not_met = match what {
            What::Exec => 281,
            What::ReturnAddress => 36,
            What::Masked => 2,
            _ => 0,
        };
        assert!(share.not_seen <= not_met, "{what:?}: {share:?}");
    }
    assert_eq!(shares.len(), 9, "each of the kinds was wrong somewhere");
}

/// `contradictions.json` lists rules at returns for lanes that a reload has overwritten.
#[test]
fn stale_lanes_of_the_corpus_are_found() {
    let list = json(&fixture("corpus/contradictions.json"));
    let list = list["findings"].as_array().unwrap();
    let mut files: BTreeMap<String, Vec<objects::Checked>> = BTreeMap::new();
    let [mut always, mut conditional] = [0, 0];
    for one in list {
        let text = |field: &str| one[field].as_str().unwrap();
        let path = fixture("corpus").join(text("path"));
        let functions =
            (files.entry(text("path").to_string())).or_insert_with(|| objects::check(&path));
        let pc = u64::try_from(number(&one["return_pc"])).unwrap();
        let register = match text("register") {
            "PC_REG" => "return-address".to_string(),
            name => name.replace("SGPR", "s"),
        };
        let conditions: Vec<Condition> = (functions.iter())
            .filter(|function| function.name == text("function"))
            .flat_map(|function| &function.report.contradictions)
            .filter(|one| one.rule.id == "cfi-stale-lane")
            .filter(|one| {
                let items = truth::items("", one, &BTreeSet::from([pc]));
                items.iter().any(|item| item.register == register)
            })
            .map(|one| one.condition)
            .collect();
        // With a condition, the reload affects only the lanes that were inactive on entry.
        always += usize::from(conditions.contains(&Condition::Always));
        conditional += usize::from(conditions.contains(&Condition::LanesInactive));
    }
    println!(
        "{} rules: {always} wrong always, {conditional} for lanes that were not active",
        list.len()
    );
    assert_eq!(always + conditional, list.len());
}

/// Every function with rows is analysed, and the findings are reproducible.
#[test]
fn the_corpus_is_followed() {
    let mut found: BTreeMap<(&str, Condition), usize> = BTreeMap::new();
    let mut skipped: BTreeMap<Option<SkipReason>, usize> = BTreeMap::new();
    let mut time = Duration::ZERO;
    for path in corpus() {
        let checked = objects::check(&path);
        let again = objects::check(&path);
        let folder = path.parent().unwrap().file_name().unwrap();
        for (function, again) in checked.iter().zip(&again) {
            assert_eq!(function.report, again.report);
            time += function.time;
            *skipped.entry(function.report.skip_reason).or_default() += 1;
            for one in &function.report.contradictions {
                *found.entry((one.rule.id, one.condition)).or_default() += 1;
                // LLVM 22 writes no rules, and a missing rule is not wrong.
                assert_ne!(folder, "llvm22");
                assert!(!one.ranges.is_empty() && !one.to_string().is_empty());
                if folder == "gcc12" {
                    assert_eq!(one.rule.id, "cfi-cfa-wrong");
                }
            }
        }
    }
    println!("{skipped:?}\n{time:?}");
    let skipped_for = |reason| skipped.get(&reason).copied().unwrap_or(0);
    assert!(skipped_for(None) > 700);
    assert_eq!(skipped.len(), 2, "nothing but NoCaller: {skipped:?}");
    assert!(skipped_for(Some(SkipReason::NoCaller)) > 100);
    assert_eq!(found, BTreeMap::from(FOUND_IN_CORPUS));
    // `machine/code.rs` tests these rules.
    let never = [
        "cfi-cfa-scale",
        "cfi-row-inside-instruction",
        "cfi-wrong-place",
    ];
    // `verify_lanes.rs` tests the rules about lanes.
    let rules = Rule::named(MACHINE_CODE).unwrap();
    for rule in rules.iter().filter(|rule| rule.id.starts_with("cfi-")) {
        let is_found = found.keys().any(|(id, _)| *id == rule.id);
        assert_eq!(is_found, !never.contains(&rule.id), "{}", rule.id);
    }
}

/// The number of findings in the corpus, by rule and condition. If a number grows, the new finding counts as a false positive until
/// somebody has read the code. These objects were not run, and a run shows a fault only if it meets the condition.
///
/// A missing rule for EXEC is wrong in three cases: if lanes are inactive where all lanes are switched on; if lanes were switched off where
/// a mask is combined with EXEC; and always if the inactive lanes have replaced the active ones (`s_xor_saveexec -1`).
const FOUND_IN_CORPUS: [((&str, Condition), usize); 13] = [
    (("cfi-cfa-after-epilogue", Condition::Always), 5),
    (("cfi-cfa-realigned", Condition::StackMisaligned), 2),
    (("cfi-cfa-wrong", Condition::Always), 499),
    (("cfi-clobbered-not-undefined", Condition::Always), 112),
    (("cfi-exec-without-rule", Condition::Always), 75),
    (("cfi-exec-without-rule", Condition::LanesInactive), 237),
    (("cfi-exec-without-rule", Condition::LanesSwitchedOff), 277),
    (("cfi-inactive-lanes-only", Condition::Always), 90),
    (("cfi-scalar-without-rule", Condition::Always), 63),
    (("cfi-stack-pointer-without-rule", Condition::Always), 166),
    (("cfi-stale-lane", Condition::Always), 665),
    (("cfi-stale-lane", Condition::LanesInactive), 93),
    (("cfi-vector-without-rule", Condition::Always), 242),
];
