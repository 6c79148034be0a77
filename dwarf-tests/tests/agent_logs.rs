//! Reads random logs in the format of ROCm's debug agent: every complete wave in the text is found, and nothing is invented.
//!
//! The text is written here according to the agent's description. Waves of one or several programs are interleaved line by line, with the
//! prefixes of launchers and services and other output between. They may be coloured, have Windows line ends, or be truncated.

use std::fmt::Write as _;

use dwarf_tests::simulator::random::Random;
use hetdwarf::debug_agent::{Log, LoggedWave};

const LOGS: u64 = 1000;

/// A wave, as it is printed.
struct Printed {
    number: u64,
    pc: u64,
    kernel: Option<String>,
    kernargs: Option<u64>,
    is_violation: bool,
    scalars: Vec<(String, u64)>,
    vectors: Vec<(String, Vec<u32>)>,
    lines: Vec<String>,
}

fn wave(random: &mut Random, number: u64) -> Printed {
    let lanes = [32, 64][random.below(2)];
    let pc = 0x7f40_0000_0000 + 4 * random.below(1 << 16) as u64;
    let names = ["k", "void f<int, (k)2>(S<int>, T)", "_Z1kPi"];
    let (mut kernel, mut kernargs) = (None, None);
    let mut first = format!("wave_{number}: pc=0x{pc:x} ");
    if random.percent(70) {
        let name = names[random.below(names.len())];
        let _ = write!(first, "(kernel_code_entry=0x{:x} <{name}>", pc & !0xfff);
        kernel = Some(name.to_owned());
        if random.percent(50) {
            let at = 0x7e00_0000_0000 + 64 * random.below(1000) as u64;
            let _ = write!(first, ", kernargs=0x{at:x}");
            kernargs = Some(at);
        }
        first.push_str(") ");
    }
    let reasons = [
        "running",
        "stopped, reason: MEMORY_VIOLATION",
        "stopped, reason: ASSERT_TRAP",
        "stopped, reason: MEMORY_VIOLATION|ASSERT_TRAP",
    ];
    let reason = reasons[random.below(reasons.len())];
    let _ = write!(first, "({reason})");
    let mut lines = vec![first, String::new(), "scalar registers:".to_owned()];
    let mut scalars: Vec<(String, u64)> = Vec::new();
    for row in 0..1 + random.below(6) {
        let mut line = String::new();
        for n in 0..4 {
            let (name, value) = (format!("s{}", 4 * row + n), random.number() as u32);
            let _ = write!(line, "{name:>16}: {value:08x}");
            scalars.push((name, value.into()));
        }
        lines.push(line);
    }
    lines.extend([String::new(), "vector registers:".to_owned()]);
    let mut vectors = Vec::new();
    for n in 0..1 + random.below(4) {
        let name = format!("v{n}");
        let values: Vec<u32> = (0..lanes).map(|_| random.number() as u32).collect();
        let mut line = format!("{name:>16}:");
        for (lane, value) in values.iter().enumerate() {
            let _ = write!(line, " [{lane}] {value:08x}");
        }
        lines.push(line);
        vectors.push((name, values));
    }
    lines.extend([String::new(), "general registers:".to_owned()]);
    let exec = random.number();
    lines.push(format!("{:>16}: {exec:016x}", "exec"));
    scalars.push(("exec".to_owned(), exec));
    if random.percent(50) {
        lines.push(String::new());
        lines.push("Local memory content:".to_owned());
        lines.push(format!("    0x0: {:08x} {:08x}", random.number() as u32, 7));
    }
    if random.percent(70) {
        lines.push(String::new());
        lines.push("Disassembly for function k:".to_owned());
        lines.push("    code object: memory://4242#offset=0x7f0000&size=100".to_owned());
        lines.push("    loaded at: [0x7f4000000000-0x7f4000100000]".to_owned());
        lines.push(format!(" => 0x{pc:x} <+8>:    s_waitcnt vmcnt(0)"));
        lines.push("End of disassembly.".to_owned());
    }
    lines.push("-".repeat(56));
    Printed {
        number,
        pc,
        kernel,
        kernargs,
        is_violation: reason.contains("MEMORY_VIOLATION"),
        scalars,
        vectors,
        lines,
    }
}

/// A program with the prefix of its lines.
struct Rank {
    label: String,
    times: usize,
    fault: Option<u64>,
    waves: Vec<Printed>,
    /// The lines that are not written yet.
    left: Vec<String>,
}

fn rank(random: &mut Random, number: usize, is_alone: bool, times: usize) -> Rank {
    let labels = [
        format!("[rank{number}]: "),
        format!("{number}: "),
        format!("node{number} app: "),
    ];
    let label = match is_alone && random.percent(50) {
        true => String::new(),
        false => labels[random.below(3)].clone(),
    };
    let fault = random
        .percent(60)
        .then(|| 0x7c00_0000_0000 + 4096 * random.below(1000) as u64);
    let waves: Vec<Printed> = (0..1 + random.below(4))
        .map(|n| wave(random, n as u64 + 1))
        .collect();
    let mut left = Vec::new();
    left.extend(fault.map(|address| {
        format!(
            "Memory access fault by GPU node-1 (Agent handle: 0x5581) on address 0x{address:x}. Reason: Page not present or supervisor privilege."
        )
    }));
    left.extend(waves.iter().flat_map(|wave| wave.lines.clone()));
    left.reverse();
    Rank {
        label,
        times,
        fault,
        waves,
        left,
    }
}

fn time(random: &mut Random, style: usize, count: usize) -> String {
    let second = count % 60;
    match style {
        0 => String::new(),
        1 => format!(
            "2026-05-14T15:31:{second:02}.{:09}Z ",
            random.below(1_000_000_000)
        ),
        2 => format!("15:31:{second:02},{} ", random.below(1000)),
        _ => format!("[{:5}.{:06}] ", count, random.below(1_000_000)),
    }
}

/// Writes the text. Also returns the offset of the end of each line of each program.
fn write(random: &mut Random, ranks: &mut [Rank]) -> (String, Vec<Vec<usize>>) {
    let mut text = String::new();
    let mut ends = vec![Vec::new(); ranks.len()];
    let (crlf, colours) = (random.percent(30), random.percent(30));
    let mut count = 0;
    while ranks.iter().any(|rank| !rank.left.is_empty()) {
        let chosen = random.below(ranks.len());
        let rank = &mut ranks[chosen];
        // A program often writes several lines in a row.
        for _ in 0..1 + random.below(20) {
            let Some(line) = rank.left.pop() else { break };
            count += 1;
            let time = time(random, rank.times, count);
            let is_coloured = colours && random.percent(20);
            let line = match is_coloured {
                true => format!("\u{1b}[31m{time}{}{line}\u{1b}[0m", rank.label),
                false => format!("{time}{}{line}", rank.label),
            };
            text.push_str(&line);
            text.push_str(if crlf { "\r\n" } else { "\n" });
            ends[chosen].push(text.len());
        }
        if random.percent(30) {
            text.push_str("other output: step 12, loss 0.5\n");
        }
    }
    (text, ends)
}

/// Returns true if a found wave equals the available part of a printed one.
fn is_of(found: &LoggedWave, printed: &Printed) -> bool {
    let has = |name: &String, value: &u64| printed.scalars.contains(&(name.clone(), *value));
    let has_lanes = |name: &String, values: &Vec<u32>| {
        printed.vectors.contains(&(name.clone(), values.clone()))
    };
    found.number == printed.number
        && found.pc == printed.pc
        && found.kernel == printed.kernel
        && found.kernarg_address == printed.kernargs
        && found.scalars.iter().all(|(name, value)| has(name, value))
        && found
            .vectors
            .iter()
            .all(|(name, values)| has_lanes(name, values))
}

#[test]
fn whole_waves_are_found_and_nothing_else() {
    let (mut whole, mut cut) = (0, 0);
    for seed in 0..LOGS {
        let mut random = Random::new(seed);
        let count = 1 + random.below(3);
        let times = random.below(4);
        let mut ranks: Vec<Rank> = (0..count)
            .map(|number| rank(&mut random, number, count == 1, times))
            .collect();
        let (text, ends) = write(&mut random, &mut ranks);
        let end = match random.percent(30) {
            true => random.below(text.len()),
            false => text.len(),
        };
        let log = Log::parse(&text.as_bytes()[..end]);
        for found in &log.waves {
            let printed = ranks
                .iter()
                .filter(|rank| found.rank.contains(rank.label.trim()))
                .flat_map(|rank| rank.waves.iter().map(move |wave| (rank, wave)));
            let of = printed.clone().find(|(_, wave)| is_of(found, wave));
            let (rank, wave) = of.unwrap_or_else(|| panic!("log {seed}: {found:x?}\n{text}"));
            let expected = rank.fault.filter(|_| wave.is_violation);
            assert_eq!(found.fault_address, expected, "log {seed}: {found:x?}");
        }
        for (rank, ends) in ranks.iter().zip(&ends) {
            let mut line = usize::from(rank.fault.is_some());
            for wave in &rank.waves {
                line += wave.lines.len();
                // A wave counts as whole if all of its lines are in the text.
                if ends[line - 1] > end {
                    cut += 1;
                    continue;
                }
                whole += 1;
                let mut found = log.waves.iter().filter(|found| {
                    let is_whole = found.scalars.len() == wave.scalars.len()
                        && found.vectors.len() == wave.vectors.len();
                    found.rank.contains(rank.label.trim()) && is_of(found, wave) && is_whole
                });
                assert!(
                    found.next().is_some(),
                    "log {seed}: wave_{} is missing\n{text}",
                    wave.number
                );
            }
        }
        let printed: usize = ranks.iter().map(|rank| rank.waves.len()).sum();
        assert!(log.waves.len() <= printed, "log {seed}");
    }
    assert!(whole > 2000 && cut > 300, "{whole} {cut}");
}
