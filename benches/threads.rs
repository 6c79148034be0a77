//! Measures how queries scale with the number of threads that share a program: `cargo bench --profile dist --bench threads`.
//!
//! One thread and two threads alternately query the same number of waves. The table has the wall time of a wave, and the processor time as
//! the kernel counts it. On a busy machine the wall time says little. If threads wait for each other, the two times differ.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    clippy::expect_used,
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

use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
/// The number of waves of a round, for all threads together.
const WAVES: u32 = 4000;

fn main() {
    let run = cases::waves();
    run(1);
    let mut rounds: [Vec<(Duration, Duration)>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (threads, rounds) in (1u32..).zip(&mut rounds) {
            rounds.push(round(threads, run));
        }
    }
    println!(
        "| threads | microseconds of a wave, by the clock | of the processor |\n|--:|--:|--:|"
    );
    for (threads, rounds) in (1u32..).zip(rounds) {
        let median = |pick: fn(&(Duration, Duration)) -> Duration| {
            let mut times: Vec<Duration> = rounds.iter().map(pick).collect();
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6 / f64::from(WAVES)
        };
        let (wall, processor) = (median(|round| round.0), median(|round| round.1));
        println!("| {threads} | {wall:.1} | {processor:.1} |");
    }
}

/// Runs a round with this many threads. Returns the wall time and the processor time.
fn round(threads: u32, run: impl Fn(u32) + Copy + Send + Sync) -> (Duration, Duration) {
    let start = Instant::now();
    let processor = std::thread::scope(|scope| {
        let each = || {
            run(WAVES / threads);
            on_processor()
        };
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(each)).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    (start.elapsed(), processor)
}

/// Returns the processor time of this thread.
fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}
