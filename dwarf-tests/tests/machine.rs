//! Call frame information against machine code.

#[path = "machine/code.rs"]
mod code;
#[path = "machine/objects.rs"]
mod objects;
#[path = "machine/tables.rs"]
mod tables;
#[path = "machine/truth.rs"]
mod truth;

use std::collections::{BTreeMap, BTreeSet};

use dwarf_tests::wave_cases;
use hetdwarf::verify::machine::When;
use truth::{Item, What};

/// Of the things of one kind that are wrong: how many there are, how many are found as wrong always, and
/// how many as wrong under a condition.
#[derive(Debug, Default)]
struct Share {
    all: usize,
    always: usize,
    conditional: usize,
}

/// Everything that was wrong when the programs ran, and nothing that was right.
#[test]
fn what_is_found_is_what_was_wrong_when_it_ran() {
    let mut shares: BTreeMap<What, Share> = BTreeMap::new();
    let mut false_alarms = Vec::new();
    let mut not_seen: BTreeMap<What, usize> = BTreeMap::new();
    let mut missed: Vec<Item> = Vec::new();
    for case in wave_cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_string();
        let truth = truth::read(&case);
        let [mut always, mut conditional] = [BTreeSet::new(), BTreeSet::new()];
        for function in objects::check(&case.join(format!("{name}.hsaco"))) {
            let executed = &truth.executed[&function.name];
            for one in &function.report.contradictions {
                let items = truth::items(&function.name, one, executed);
                if one.when == When::Always {
                    always.extend(items);
                } else {
                    conditional.extend(items);
                }
            }
        }
        for item in &truth.wrong {
            let share = shares.entry(item.what).or_default();
            share.all += 1;
            if always.contains(item) {
                share.always += 1;
            } else if conditional.contains(item) {
                share.conditional += 1;
            } else {
                missed.push(item.clone());
            }
        }
        false_alarms.extend(
            always
                .difference(&truth.wrong)
                .map(|item| (name.clone(), item.clone())),
        );
        for item in conditional.difference(&truth.wrong) {
            println!(
                "unseen {name} {} {:?} {:x}",
                item.function, item.what, item.pc
            );
            *not_seen.entry(item.what).or_default() += 1;
        }
    }
    for (what, share) in &shares {
        let seen = not_seen.get(what).copied().unwrap_or(0);
        println!("{what:?}: {share:?}, conditional and not seen {seen}");
    }
    println!("{not_seen:?}");
    let mut by: BTreeMap<(String, What, String), Vec<u64>> = BTreeMap::new();
    for item in missed {
        by.entry((item.function, item.what, item.register))
            .or_default()
            .push(item.pc);
    }
    for (key, pcs) in &by {
        println!(
            "missed {key:?} {} {:x?}",
            pcs.len(),
            &pcs[..pcs.len().min(8)]
        );
    }
    assert!(false_alarms.is_empty(), "{false_alarms:#x?}");
}

#[test]
fn print_all() {
    for case in dwarf_tests::wave_cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_string();
        println!("== {name}");
        for function in objects::check(&case.join(format!("{name}.hsaco"))) {
            println!(
                "{} {:#x} {:?}",
                function.name, function.start, function.report.silence
            );
            for one in &function.report.contradictions {
                println!(
                    "   {:?} {:?} {:x?}\n      {one}",
                    one.kind, one.when, one.ranges
                );
            }
        }
    }
}

/// The rules that `contradictions.json` lists: at a return, lanes that a reload has overwritten.
#[test]
fn stale_lanes_of_the_corpus_are_found() {
    let list = dwarf_tests::json(&dwarf_tests::fixture("corpus/contradictions.json"));
    let list = list["findings"].as_array().unwrap();
    let mut files: BTreeMap<String, Vec<objects::Checked>> = BTreeMap::new();
    let [mut always, mut conditional] = [0, 0];
    for one in list {
        let text = |field: &str| one[field].as_str().unwrap();
        let path = dwarf_tests::fixture("corpus").join(text("path"));
        let functions = files
            .entry(text("path").to_string())
            .or_insert_with(|| objects::check(&path));
        let pc = u64::try_from(dwarf_tests::number(&one["return_pc"])).unwrap();
        let register = match text("register") {
            "PC_REG" => "return-address".to_string(),
            name => name.replace("SGPR", "s"),
        };
        let items: Vec<(When, Item)> = (functions.iter())
            .filter(|function| function.name == text("function"))
            .flat_map(|function| {
                (function.report.contradictions.iter()).flat_map(|one| {
                    let items = truth::items(&function.name, one, &BTreeSet::from([pc]));
                    items.into_iter().map(|item| (one.when, item))
                })
            })
            .filter(|(_, item)| item.register == register)
            .collect();
        if items.iter().any(|(when, _)| *when == When::Always) {
            always += 1;
        } else if !items.is_empty() {
            conditional += 1;
        } else {
            println!("missed {one}");
        }
    }
    println!(
        "{} rules: {always} always wrong, {conditional} under a condition",
        list.len()
    );
}

#[test]
fn corpus_all() {
    let mut silences: BTreeMap<String, usize> = BTreeMap::new();
    for path in dwarf_tests::corpus() {
        println!("== {}", path.display());
        let t = std::time::Instant::now();
        for function in objects::check(&path) {
            *silences
                .entry(format!("{:?}", function.report.silence))
                .or_default() += 1;
            if function.report.silence.is_some()
                && format!("{:?}", function.report.silence) != "Some(NoCaller)"
            {
                println!(
                    "{} {:#x} {:?}",
                    function.name, function.start, function.report.silence
                );
            }
            for one in &function.report.contradictions {
                println!(
                    "  {} {:?} {:?} {:x?}\n      {one}",
                    function.name, one.kind, one.when, one.ranges
                );
            }
        }
        println!("TIME {:?}", t.elapsed());
    }
    println!("{silences:?}");
}
