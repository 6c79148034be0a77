//! Compares `hetdwarf print` in every lane with values worked out by hand.
//!
//! The stopped waves come from `fixtures/waves`. Their variables are known from the same source run on the host (`truth.json`). Each row
//! derives its value.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

#[path = "print/arithmetic.rs"]
mod arithmetic;
#[path = "print/bases.rs"]
mod bases;
#[path = "print/cxx.rs"]
mod cxx;
#[path = "print/hostile.rs"]
mod hostile;
#[path = "print/members.rs"]
mod members;
#[path = "print/names.rs"]
mod names;
#[path = "print/rows.rs"]
mod rows;
#[path = "print/states.rs"]
mod states;

use dwarf_tests::{Ran, fixture, hetdwarf, json};
use serde_json::Value;

/// Runs `print` on a wave of a case. `object` is the end of the object's name.
fn print<'t>(
    case: &str,
    object: &str,
    wave: &str,
    options: &[&str],
    texts: impl IntoIterator<Item = &'t str>,
) -> Ran {
    let folder = fixture("waves").join(case);
    let path = |name: String| folder.join(name).to_str().unwrap().to_owned();
    let mut arguments = vec![
        "print".to_owned(),
        path(format!("{case}{object}")),
        "--wave".to_owned(),
        path(format!("{wave}.json")),
    ];
    arguments.extend(options.iter().map(ToString::to_string));
    arguments.push("--".to_owned());
    arguments.extend(texts.into_iter().map(str::to_owned));
    hetdwarf(arguments)
}

/// Returns the `expressions` in the document of `print`.
fn expressions<'t>(
    case: &str,
    object: &str,
    wave: &str,
    options: &[&str],
    texts: impl IntoIterator<Item = &'t str>,
) -> Vec<Value> {
    let options: Vec<&str> = options
        .iter()
        .copied()
        .chain(["--format", "json"])
        .collect();
    let ran = print(case, object, wave, &options, texts);
    assert!(ran.err.is_empty(), "{}", ran.err);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["format"], "hetdwarf-print/1");
    document["expressions"].as_array().unwrap().clone()
}

/// Reads the true facts about a stopped wave.
fn truth(case: &str, wave: &str) -> Value {
    let truth = json(&fixture("waves").join(case).join("truth.json"));
    let snapshots = truth["snapshots"].as_array().unwrap();
    let name = format!("{wave}.json");
    snapshots
        .iter()
        .find(|s| s["wave"] == *name)
        .unwrap()
        .clone()
}
