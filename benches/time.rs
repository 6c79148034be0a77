//! Wall times of all cases: `cargo bench --bench time`.
//!
//! Times depend on the machine and the moment, so compare only within a run. The cases are in `cases`.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark, in which an error is the end"
)]

#[allow(
    dead_code,
    unused_imports,
    reason = "what only the tables of counts need"
)]
mod cases;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

fn main() {
    divan::main();
}

#[divan::bench(args = cases::names())]
fn time(bencher: Bencher<'_, '_>, name: &str) {
    let case = cases::case(name);
    match cases::debug_bytes(name) {
        0 if case.times == 1 => bencher.bench_local(|| case.run()),
        0 => bencher
            .counter(ItemsCount::new(case.times))
            .bench_local(|| case.run()),
        bytes => bencher
            .counter(BytesCount::new(bytes))
            .bench_local(|| case.run()),
    }
}
