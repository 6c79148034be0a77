//! Tests the search for faulting accesses with compiled kernels: no certain candidate is wrong.
//!
//! LLVM compiles random kernels with calls, loops and private arrays, for five processors at three levels. An emulator runs them until an
//! active lane accesses memory past the end of a buffer, and then for a random number of further instructions, until a wait needs the access.

#[path = "faults_compiled/source.rs"]
mod source;

use core::ops::Range;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use dwarf_tests::cores::Folder;
use dwarf_tests::emulator::machine::{ARGUMENTS, INPUT, OUTPUT, SCRATCH_ADDRESS};
use dwarf_tests::emulator::program::{EXEC, Instruction};
use dwarf_tests::emulator::{Event, Machine, Program as Emulated};
use dwarf_tests::simulator::random::Random;
use dwarf_tests::{llvm_tool, samples, seeds};
use hetdwarf::arch::{ProcessAddress, WaveSize};
use hetdwarf::inspect::{FaultCandidate, MemoryMap};
use hetdwarf::prelude::*;
use rayon::prelude::*;

const TARGETS: [(&str, WaveSize); 5] = [
    ("gfx90a", WaveSize::Wave64),
    ("gfx942", WaveSize::Wave64),
    ("gfx1030", WaveSize::Wave32),
    ("gfx1100", WaveSize::Wave32),
    ("gfx1200", WaveSize::Wave32),
];
const LEVELS: [&str; 3] = ["-O0", "-O1", "-O2"];
/// The number of kernels, of which some are used without `HETDWARF_THOROUGH`.
const KERNELS: u64 = 6;
const SOME: u64 = 2;
/// The number of runs of each compiled kernel.
const RUNS: usize = 5;
/// The size of a buffer, and the larger size of its memory in the emulator.
const PAGE: u64 = 4096;
const EMULATED: usize = 0x1_0000;
/// The most instructions of a run.
const MOST: usize = 100_000;

/// The memory that the process has.
const MAPPED: [Range<u64>; 5] = [
    0..0x1_0000,
    ARGUMENTS..ARGUMENTS + PAGE,
    INPUT..INPUT + PAGE,
    OUTPUT..OUTPUT + PAGE,
    SCRATCH_ADDRESS..SCRATCH_ADDRESS + 0x4_0000,
];

fn is_bad(address: u64) -> bool {
    !MAPPED.iter().any(|range| range.contains(&address))
}

fn compile(clang: &Path, source: &Path, object: &Path, target: &str, level: &str) {
    let ran = Command::new(clang)
        .args(["--target=amdgcn-amd-amdhsa", "-nogpulib", "-g", "-x", "cl"])
        .args(["-cl-std=CL2.0", "-w", level])
        .arg(format!("-mcpu={target}"))
        .arg(source)
        .arg("-o")
        .arg(object)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{source:?} {target} {level}: {text}");
}

/// An executed access to memory.
#[derive(Clone, Debug)]
struct Touched {
    pc: u64,
    lanes: BTreeMap<u8, u64>,
    bytes: u64,
    /// The activation of the function.
    activation: usize,
}

/// A run up to the stop.
struct Run {
    accesses: Vec<Touched>,
    /// The first faulting access, and the machine before it.
    fault: Touched,
    survives: bool,
    has_returned: bool,
    machine: Machine,
}

/// The largest counts of outstanding loads and stores that a wait lets pass, if the instruction waits for them.
fn counts(one: &Instruction) -> [Option<u64>; 3] {
    let number = |text: &str| match text.trim().strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.trim().parse().ok(),
    };
    let field = |name: &str| {
        let (_, rest) = one.text.split_once(&format!("{name}("))?;
        number(rest.split_once(')')?.0)
    };
    let operand = || number(one.text.rsplit([' ', ',']).next()?);
    match one.name.as_str() {
        "s_waitcnt" => [field("vmcnt"), None, field("lgkmcnt")],
        "s_waitcnt_vscnt" => [None, operand(), None],
        "s_wait_loadcnt" => [operand(), None, None],
        "s_wait_storecnt" => [None, operand(), None],
        "s_wait_kmcnt" => [None, None, operand()],
        "s_wait_loadcnt_dscnt" => [operand().map(|value| value >> 8 & 63), None, None],
        "s_wait_storecnt_dscnt" => [None, operand().map(|value| value >> 8 & 63), None],
        _ => [None, None, None],
    }
}

fn is_scalar(one: &Instruction) -> bool {
    one.name.starts_with("s_load")
}

fn is_store(one: &Instruction) -> bool {
    one.name.contains("store")
}

/// Returns true if an instruction waits for an access.
///
/// * `later`: the number of later accesses of its kind that complete after it.
fn needs(one: &Instruction, access: &Instruction, later: u64, is_one_counter: bool) -> bool {
    let [loads, stores, scalars] = counts(one);
    if is_scalar(access) {
        return scalars == Some(0);
    }
    let stores = if is_one_counter { loads } else { stores };
    let count = if is_store(access) { stores } else { loads };
    match access.name.starts_with("flat") {
        true => count == Some(0),
        false => count.is_some_and(|count| later >= count),
    }
}

fn touched(machine: &Machine, one: &Instruction, activation: usize) -> Option<Touched> {
    let (lanes, bytes) = machine.touched(one)?;
    let lanes = lanes
        .into_iter()
        .map(|(lane, address)| (lane as u8, address));
    Some(Touched {
        pc: one.address,
        lanes: lanes.collect(),
        bytes,
        activation,
    })
}

/// Runs a kernel until it faults, and then on. Returns None if it does not fault.
fn run(
    program: &Emulated,
    mut machine: Machine,
    random: &mut Random,
) -> Result<Option<Run>, String> {
    let is_one_counter = program.wave_size == WaveSize::Wave64;
    let latency = random.below(40);
    let mut accesses = Vec::new();
    let mut fault: Option<(Touched, usize, Machine)> = None;
    let (mut later, mut executed) = (0, 0);
    // The activations of functions that have not returned.
    let (mut stack, mut activations) = (vec![0_usize], 0);
    for _ in 0..MOST {
        let index = program.index_of(machine.pc).ok_or("no instruction")?;
        let one = &program.instructions[index];
        let is_end = one.name == "s_endpgm";
        if let Some((_, access, _)) = &fault {
            let access = &program.instructions[*access];
            if is_end || needs(one, access, later, is_one_counter) || executed >= latency {
                break;
            }
            executed += 1;
            let is_access = one.name.contains("_load") || one.name.contains("_store");
            let is_ordered = is_access && !one.name.starts_with("flat") && !is_scalar(one);
            later += u64::from(is_ordered && is_store(one) == is_store(access));
        }
        let here = touched(&machine, one, *stack.last().unwrap_or(&0));
        if let Some(here) = here.filter(|here| !here.lanes.is_empty()) {
            if fault.is_none() && here.lanes.values().any(|address| is_bad(*address)) {
                fault = Some((here.clone(), index, machine.clone()));
            }
            accesses.push(here);
        }
        match machine.step(one).ok_or_else(|| one.text.clone())? {
            Event::None => {}
            Event::Call => {
                activations += 1;
                stack.push(activations);
            }
            Event::Return => drop(stack.pop()),
            Event::End => return Ok(None),
        }
    }
    let Some((fault, index, then)) = fault else {
        return Err("it does not end".to_owned());
    };
    // The lanes that were active at the access, with the current address registers.
    let mut now = machine.clone();
    now.s[EXEC] = then.s[EXEC];
    now.s[EXEC + 1] = then.s[EXEC + 1];
    let same = touched(&now, &program.instructions[index], fault.activation);
    Ok(Some(Run {
        survives: same.is_some_and(|same| same.lanes == fault.lanes),
        has_returned: !stack.contains(&fault.activation),
        accesses,
        fault,
        machine,
    }))
}

/// Checks that a certain candidate was executed, that its lanes touched the given addresses, and that these faulted.
fn check(found: &[FaultCandidate], run: &Run, page: Option<u64>, what: &str) {
    for candidate in found.iter().filter(|one| one.is_certain) {
        let lanes = candidate.lanes.iter();
        let lanes = lanes.map(|(lane, address)| (lane.0, *address));
        let said: Vec<(u8, u64)> = lanes
            .chain(candidate.address.map(|address| (0, address)))
            .collect();
        let is_at_fault = |address: u64, bytes: u64| match page {
            Some(page) => (address..address + bytes).any(|at| (page..page + PAGE).contains(&at)),
            None => (address..address + bytes).any(is_bad),
        };
        let is_true = |touched: &&Touched| {
            touched.pc == candidate.pc.0
                && said.iter().all(|(lane, address)| {
                    touched.lanes.get(lane) == Some(address) && is_at_fault(*address, touched.bytes)
                })
        };
        let is_right = !said.is_empty() && run.accesses.iter().any(|one| is_true(&one));
        assert!(is_right, "{what}: {candidate:x?}\n{:x?}", run.accesses);
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    asked: usize,
    first: usize,
    among: usize,
    missing: usize,
    certain: usize,
}

/// The answers about the runs of one kernel or of several.
#[derive(Debug, Default)]
struct Found {
    faults: usize,
    /// The number of runs that ended early, by the reason.
    not_run: BTreeMap<String, usize>,
    /// The answers, by the class of the fault.
    figures: BTreeMap<String, Counts>,
}

impl Found {
    fn add(&mut self, other: Found) {
        self.faults += other.faults;
        for (reason, count) in other.not_run {
            *self.not_run.entry(reason).or_default() += count;
        }
        for (class, counts) in other.figures {
            let sum = self.figures.entry(class).or_default();
            sum.asked += counts.asked;
            sum.first += counts.first;
            sum.among += counts.among;
            sum.missing += counts.missing;
            sum.certain += counts.certain;
        }
    }
}

/// `HETDWARF_SEED` selects other seeds, and `HETDWARF_COUNT` their number.
#[test]
fn nothing_that_is_wrong_is_certain() {
    let (Some(clang), Some(objdump)) = (llvm_tool("clang"), llvm_tool("llvm-objdump")) else {
        return;
    };
    let first = seeds::asked_for().unwrap_or(0);
    let count = std::env::var("HETDWARF_COUNT")
        .map_or(samples(KERNELS, SOME), |text| text.parse().unwrap());
    let folder = Folder::new();
    let mut kernels = Vec::new();
    for seed in first..first + count {
        std::fs::write(folder.path(&format!("{seed}.cl")), source::program(seed)).unwrap();
        for target in TARGETS {
            kernels.extend(LEVELS.map(|level| (seed, target, level)));
        }
    }
    let found: Vec<Found> = (kernels.par_iter())
        .map(|(seed, (target, wave_size), level)| {
            let text = folder.path(&format!("{seed}.cl"));
            let path = folder.path(&format!("{seed}{level}-{target}.hsaco"));
            compile(&clang, &text, &path, target, level);
            let emulated = Emulated::read(&objdump, &path, *wave_size);
            let file = std::fs::read(&path).unwrap();
            let object = CodeObject::parse(&file).unwrap();
            let program = Program::load(&object).unwrap();
            let mut random = Random::new(seed + 1000);
            let mut found = Found::default();
            for number in 0..RUNS {
                let mut input: Vec<u32> = (0..64).map(|_| random.number() as u32 % 512).collect();
                input[60] = number as u32;
                let mut machine = Machine::new(&emulated, &input);
                machine.extend_memory(INPUT, EMULATED);
                machine.extend_memory(OUTPUT, EMULATED);
                let run = match run(&emulated, machine, &mut random) {
                    Ok(Some(run)) => run,
                    Ok(None) => continue,
                    Err(reason) => {
                        *found.not_run.entry(reason).or_default() += 1;
                        continue;
                    }
                };
                found.faults += 1;
                let what = format!("{seed} {target} {level} run {number}");
                ask(&program, &run, level, &what, &mut found.figures);
            }
            found
        })
        .collect();
    let mut sum = Found::default();
    for found in found {
        sum.add(found);
    }
    let Found {
        faults,
        not_run,
        figures,
    } = sum;
    println!("{faults} faults; not run: {not_run:?}");
    for (class, counts) in &figures {
        println!("{class}: {counts:?}");
    }
    assert!(
        not_run.values().sum::<usize>() * 10 <= faults,
        "{not_run:?}"
    );
    assert!(faults >= 20 * count as usize);
    for (class, counts) in figures
        .iter()
        .filter(|(class, _)| class.starts_with("survives"))
    {
        assert!(counts.first * 10 >= counts.asked * 8, "{class}: {counts:?}");
    }
}

/// Queries the candidates with the page, without it, and with a page that no lane touched.
fn ask(
    program: &Program<'_>,
    run: &Run,
    level: &str,
    what: &str,
    figures: &mut BTreeMap<String, Counts>,
) {
    let pc = ProcessAddress(run.machine.pc);
    let arena = Arena::new();
    let stop = Stop::new(program, &run.machine, pc, StopOptions::default(), &arena);
    let bad = run.fault.lanes.values().find(|address| is_bad(**address));
    let page = bad.unwrap() & !(PAGE - 1);
    let other = 0x7b00_0000_0000;
    for is_complete in [true, false] {
        let map = MemoryMap::new(MAPPED, is_complete);
        for scratch in [Some(SCRATCH_ADDRESS), None] {
            for asked in [Some(page), None, Some(other)] {
                let what = format!("{what} {asked:x?} at {:#x}", pc.0);
                let found = stop.fault_candidates(asked, &map, scratch).unwrap();
                check(&found, run, asked, &what);
                let is_counted = is_complete && scratch.is_some() && asked != Some(other);
                if asked == Some(other) {
                    assert!(found.iter().all(|one| !one.is_certain), "{what}");
                }
                if !is_counted {
                    continue;
                }
                let place = found.iter().position(|one| one.pc.0 == run.fault.pc);
                let kept = if run.survives {
                    "survives"
                } else {
                    "overwritten"
                };
                let whence = if run.has_returned {
                    ", of a function that has returned"
                } else {
                    ""
                };
                let counts = figures
                    .entry(format!("{kept} {level}{whence}"))
                    .or_default();
                counts.asked += 1;
                match place {
                    Some(0) => counts.first += 1,
                    Some(_) => counts.among += 1,
                    None => counts.missing += 1,
                }
                counts.certain += usize::from(place == Some(0) && found[0].is_certain);
            }
        }
    }
}
