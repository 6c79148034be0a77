//! Tests records of many files and cores: their contents, and that reports of parts add up to the report of one run.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod compressed;
mod cores;
mod hostile;
mod records;
mod set;
mod shards;

use std::path::Path;

use dwarf_tests::{Ran, hetdwarf};
use serde_json::Value;

/// A pseudo-random sequence that is the same on each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        // Knuth's MMIX generator. Its high bits are the most random.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Parses each line of an output.
fn lines(ran: &Ran) -> Vec<Value> {
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Returns the records of one format.
fn of<'l>(lines: &'l [Value], format: &str) -> Vec<&'l Value> {
    lines
        .iter()
        .filter(|line| line["format"] == format)
        .collect()
}

fn merge(files: &[String], options: &[&str]) -> Ran {
    let options = options.iter().map(|option| (*option).to_owned());
    let arguments = ["merge".to_owned()].into_iter();
    hetdwarf(arguments.chain(files.iter().cloned()).chain(options))
}
