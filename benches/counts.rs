//! Counts the instructions of all cases and of the compared tools: `cargo bench --profile dist --bench counts`, which needs valgrind.
//!
//! `-- FILTER` counts the cases whose names contain it. `-- --against FILE` compares with the output of an earlier run by the same
//! compiler. It fails if a case takes over 2 % more instructions, or over N % with `--tolerance N`. The output is the tables of
//! BENCHMARKS.md.
//!
//! Each case runs under callgrind in processes of its own, once and then many more times. The count of a run is the difference divided by
//! the number of additional runs, so the cost of making the case does not count.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark, in which an error is the end"
)]

#[allow(
    dead_code,
    unused_imports,
    reason = "what only the bench of threads needs"
)]
mod cases;

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// The argument by which this program runs a single case.
const RUN: &str = "--run";
/// The number of additional runs. A case that takes more than `LONG` instructions has only one.
const MORE: u64 = 100;
const LONG: u64 = 1_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [run, name, times] = arguments.as_slice()
        && run == RUN
    {
        let case = cases::case(name);
        (0..times.parse().unwrap()).for_each(|_: u64| case.run());
        return ExitCode::SUCCESS;
    }
    // Cargo passes `--bench` to measure. Without it, this is a test, for which it is enough to run every case once.
    if !arguments.iter().any(|argument| argument == "--bench") {
        cases::names()
            .iter()
            .for_each(|name| cases::case(name).run());
        return ExitCode::SUCCESS;
    }
    let mut given = arguments.iter().filter(|argument| *argument != "--bench");
    let (mut filter, mut against, mut tolerance) = (String::new(), None, 2);
    while let Some(argument) = given.next() {
        if argument == "--against" {
            against = Some(std::fs::read_to_string(given.next().unwrap()).unwrap());
        } else if argument == "--tolerance" {
            tolerance = given.next().unwrap().parse().unwrap();
        } else {
            filter.clone_from(argument);
        }
    }
    let names = cases::names();
    let names = names.iter().filter(|name| name.contains(&filter));
    let is_mix = |name: &&String| name.starts_with("mix/");
    let sizes = match names.clone().any(|name| is_mix(&name)) {
        true => cases::mix_sizes(),
        false => BTreeMap::new(),
    };
    // Some mixes have no expressions of some classes.
    let names = names.filter(|name| !is_mix(name) || size_of(&sizes, name) > 0);
    let counts: Counts = names.map(|name| (name.clone(), count(name))).collect();
    print_lanes(&counts);
    print_lookups(&counts);
    print_mixes(&counts, &sizes);
    print_rows(&counts);
    print_dumps(&counts);
    print_evaluators(&counts);
    print_others(&counts);
    match against {
        Some(earlier) => compare(&counts, &earlier, tolerance),
        None => ExitCode::SUCCESS,
    }
}

/// The instructions of a run, by the name of the case.
type Counts = BTreeMap<String, u64>;

fn count(name: &str) -> u64 {
    count_of_run(name) / u64::from(cases::case(name).times)
}

fn count_of_run(name: &str) -> u64 {
    let once = instructions(name, 1);
    let second = instructions(name, 2).saturating_sub(once);
    if second > LONG {
        return second;
    }
    instructions(name, 1 + MORE).saturating_sub(once) / MORE
}

/// Returns the number of instructions of a process that runs a case `times` times.
fn instructions(name: &str, times: u64) -> u64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(std::env::current_exe().unwrap());
    collected(name, command.args([RUN, name, &times.to_string()]))
}

/// Runs a command under callgrind, and returns the number of instructions.
fn collected(name: &str, command: &mut Command) -> u64 {
    let output = command.output().expect("valgrind counts the instructions");
    let text = String::from_utf8(output.stderr).unwrap();
    let collected = text.lines().find_map(|line| {
        let (_, number) = line.split_once("Collected :")?;
        number.trim().parse().ok()
    });
    collected.unwrap_or_else(|| panic!("{name}: {text}"))
}

/// Returns the nanoseconds of a run of each case. It takes the shortest of many rounds, in which the cases alternate.
fn nanoseconds<const N: usize>(names: [&str; N]) -> [f64; N] {
    const ROUNDS: u32 = 60;
    const RUNS: u32 = 2000;
    let cases = names.map(cases::case);
    let mut shortest = [f64::MAX; N];
    for _ in 0..ROUNDS {
        for (case, shortest) in cases.iter().zip(&mut shortest) {
            let start = Instant::now();
            (0..RUNS).for_each(|_| case.run());
            let round = start.elapsed().as_secs_f64() * 1e9 / f64::from(RUNS * case.times);
            *shortest = shortest.min(round);
        }
    }
    shortest
}

const ONE_LANE: &str = "VGPR variable/one lane";
const ALL_LANES: &str = "VGPR variable/64 lanes";

/// Returns `a` divided by `b`.
#[expect(clippy::cast_precision_loss, reason = "ratios of two digits")]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

/// Returns the subjects of a group that compares several libraries.
fn subjects<'c>(counts: &'c Counts, group: &str) -> Vec<&'c str> {
    let ours = counts.keys().filter_map(|name| {
        let rest = name.strip_prefix(group)?.strip_prefix('/')?;
        rest.strip_suffix("/hetdwarf")
    });
    ours.collect()
}

/// Prints the costs of all lanes next to the costs of one lane, in instructions and in time.
fn print_lanes(counts: &Counts) {
    let (Some(one), Some(all)) = (counts.get(ONE_LANE), counts.get(ALL_LANES)) else {
        return;
    };
    let more = ratio(*all, *one);
    let [one, all] = nanoseconds([ONE_LANE, ALL_LANES]);
    println!(
        "64 lanes of a VGPR variable: {more:.2}× one lane in instructions, {:.2}× in time.\n",
        all / one
    );
}

fn print_lookups(counts: &Counts) {
    println!(
        "| instructions | addr2line | hetdwarf | ratio, target at most 2 | |\n|---|--:|--:|--:|---|"
    );
    for subject in subjects(counts, "lookup") {
        let of = |who: &str| counts[&format!("lookup/{subject}/{who}")];
        let (theirs, ours) = (of("addr2line"), of("hetdwarf"));
        let ratio = ratio(ours, theirs);
        let holds = if ratio <= 2.0 {
            "holds"
        } else {
            "**does not hold**"
        };
        println!("| lookup: {subject} | {theirs} | {ours} | {ratio:.2} | {holds} |");
    }
    println!();
}

/// Returns the number of expressions in a mix, by the name of one of its cases.
fn size_of(sizes: &BTreeMap<String, usize>, name: &str) -> usize {
    let subject = name.split('/').nth(1).unwrap_or_default();
    sizes.get(subject).copied().unwrap_or(0)
}

/// Prints the costs of dumping whole sections, next to llvm-dwarfdump's costs, which include the start of a process.
fn print_dumps(counts: &Counts) {
    println!("| instructions | llvm-dwarfdump | hetdwarf | ratio |\n|---|--:|--:|--:|");
    for (name, ours) in counts {
        let Some(mut command) = cases::dump_command(name) else {
            continue;
        };
        let theirs = collected(name, &mut command);
        let subject = name.replacen('/', ": ", 1);
        println!(
            "| {subject} | {theirs} | {ours} | {:.2} |",
            ratio(*ours, theirs)
        );
    }
    println!();
}

/// Prints the costs of reading call frame information with both libraries.
fn print_rows(counts: &Counts) {
    println!("| instructions | gimli | hetdwarf | ratio |\n|---|--:|--:|--:|");
    for subject in subjects(counts, "rows") {
        let of = |who: &str| counts[&format!("rows/{subject}/{who}")];
        let (theirs, ours) = (of("gimli"), of("hetdwarf"));
        println!(
            "| rows: {subject} | {theirs} | {ours} | {:.2} |",
            ratio(ours, theirs)
        );
    }
    println!();
}

fn print_mixes(counts: &Counts, sizes: &BTreeMap<String, usize>) {
    println!(
        "| instructions of an expression | gimli | hetdwarf | times as fast | expressions |\n|---|--:|--:|--:|--:|"
    );
    for subject in subjects(counts, "mix") {
        let of = |who: &str| counts[&format!("mix/{subject}/{who}")];
        let (theirs, ours) = (of("gimli"), of("hetdwarf"));
        let fewer = ratio(theirs, ours);
        println!(
            "| mix: {subject} | {theirs} | {ours} | {fewer:.2} | {} |",
            sizes[subject]
        );
    }
    for (subject, count) in sizes.iter().filter(|(name, _)| name.ends_with("left out")) {
        println!("| {subject} | | | | {count} |");
    }
    println!();
}

fn print_evaluators(counts: &Counts) {
    println!(
        "| instructions | hetdwarf, at a stop | hetdwarf | gimli | gimli, arrays |\n|---|--:|--:|--:|--:|"
    );
    for group in ["evaluate", "decode"] {
        for subject in subjects(counts, group) {
            let of = |who: &str| {
                let count = counts.get(&format!("{group}/{subject}/{who}"));
                count.map_or(String::new(), u64::to_string)
            };
            let whos = ["hetdwarf, at a stop", "hetdwarf", "gimli", "gimli, arrays"];
            println!("| {group}: {subject} | {} |", whos.map(of).join(" | "));
        }
    }
    println!();
}

fn print_others(counts: &Counts) {
    println!("| case | instructions | a byte of debug sections |\n|---|--:|--:|");
    for name in cases::names() {
        let several = ["evaluate/", "decode/", "lookup/", "mix/", "rows/", "dump/"];
        let several = several.iter().any(|group| name.starts_with(group));
        let Some(count) = counts.get(&name).filter(|_| !several) else {
            continue;
        };
        let bytes = u64::try_from(cases::debug_bytes(&name)).unwrap();
        let each = count.checked_div(bytes);
        let each = each.map_or(String::new(), |each| each.to_string());
        println!("| {name} | {count} | {each} |");
    }
}

/// Compares with the tables of an earlier run. Up to `tolerance` percent more instructions are allowed.
fn compare(counts: &Counts, earlier: &str, tolerance: u64) -> ExitCode {
    let (mut compared, mut worse) = (0, 0);
    for (name, count) in counts {
        let Some(before) = before(earlier, name) else {
            continue;
        };
        compared += 1;
        if count * 100 > before * (100 + tolerance) {
            worse += 1;
            eprintln!("{name}: {count} instructions, {before} before");
        }
    }
    eprintln!(
        "{compared} cases compared, {worse} take over {tolerance} in a hundred more instructions"
    );
    ExitCode::from(u8::from(compared == 0 || worse != 0))
}

/// Returns the count of one of this crate's cases in the tables of an earlier run.
fn before(tables: &str, name: &str) -> Option<u64> {
    let (row, column) = match name.strip_suffix("/hetdwarf") {
        Some(ours) => (ours.replacen('/', ": ", 1), 1),
        None if name.starts_with("dump/") => (name.replacen('/', ": ", 1), 1),
        None => (name.to_owned(), 0),
    };
    let row = tables
        .lines()
        .find_map(|line| line.strip_prefix(&format!("| {row} | ")))?;
    row.split(" | ").nth(column)?.parse().ok()
}
