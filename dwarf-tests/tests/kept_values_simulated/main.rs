//! Tests recovered values in random programs. Each must equal the variable's value where its location list last gave it, or on entry. LLVM
//! assembles the programs and a separate interpreter runs them, so the test reads no machine code as the library does.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a failure here is a failure of the test"
)]

mod assembly;
mod program;
mod target;
mod walk;

use std::fmt::Write as _;

use ::object::{Object as _, ObjectSection as _};
use assembly::make;
use dwarf_tests::samples;
use hetdwarf::arch::Lane;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::inspect::{self, StopOptions, ValueStateKind};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;
use program::Program;
use target::{TARGETS, Target};
use walk::{Machine, Stop, Walk};

#[derive(Debug, Default)]
struct Tally {
    stops: usize,
    /// The number of lane values of variables without a location.
    lost: usize,
    shown: usize,
    wrong: Vec<String>,
}

fn hex(words: impl IntoIterator<Item = u32>) -> String {
    let mut text = String::new();
    for byte in words.into_iter().flat_map(u32::to_le_bytes) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

/// Returns the wave as a snapshot.
fn snapshot(target: &Target, program: &Program, machine: &Machine, pc: u64) -> Snapshot {
    let mut registers = serde_json::Map::new();
    let number = |word: u64| serde_json::Value::from(format!("{word:#x}"));
    registers.insert("exec".to_owned(), number(machine.exec));
    registers.insert("vcc".to_owned(), number(machine.vcc));
    let scalars = machine.scalars.iter().map(|(n, word)| (*n, *word));
    for (n, word) in scalars.chain(machine.mask_scalars()) {
        registers.insert(format!("s{n}"), number(word.into()));
    }
    let files = [("v", &machine.vectors), ("a", &machine.accs)];
    for (file, all) in files
        .into_iter()
        .filter(|(file, _)| *file == "v" || target.acc)
    {
        for (n, words) in all {
            let words = words.iter().map(|word| number((*word).into()));
            registers.insert(format!("{file}{n}"), words.collect());
        }
    }
    let stack = hex(machine.rows.values().flatten().copied());
    let mut wave = serde_json::json!({
        "format": "hetdwarf-wave/1",
        "target": target.name,
        "wave_size": target.lanes,
        "pc": format!("{pc:#x}"),
        "load_address": "0x0",
        "registers": registers,
        "memory": [{"space": "private_wave", "address": "0x0", "bytes": stack}],
    });
    if program.is_kernel {
        let size = u32::from(target.lanes) * 2;
        wave["dispatch"] = serde_json::json!({
            "workgroup_id": [2, 0, 0], "workgroup_size": [size, 1, 1],
            "grid_size": [size * 4, 1, 1], "wave_in_group": 1,
        });
    }
    Snapshot::from_json(wave.to_string().as_bytes()).unwrap()
}

/// The facts about a stop.
struct Question<'q> {
    name: String,
    program: &'q Program,
    /// The addresses of the program's instructions.
    addresses: &'q [u64],
    start: &'q Machine,
    stop: &'q Stop,
}

impl Question<'_> {
    /// Returns true if a value may be shown for a variable in a lane.
    fn is_right(&self, variable: usize, lane: usize, as_of: Option<u64>, word: u32) -> bool {
        match as_of {
            Some(pc) => {
                let last = self.stop.given.get(&(variable, lane));
                last.is_some_and(|(at, had)| self.addresses[*at] == pc && *had == word)
            }
            // The parameters start in v0, v1 and v2.
            None => {
                let one = &self.program.variables[variable];
                let register = u8::try_from(variable).unwrap();
                one.is_parameter && self.start.vectors[&register][lane] == word
            }
        }
    }

    fn ask(&self, program: &inspect::Program<'_>, target: &Target, tally: &mut Tally) {
        let pc = self.addresses[self.stop.at];
        let wave = snapshot(target, self.program, &self.stop.machine, pc);
        let arena = Arena::new();
        let stop = inspect::Stop::new(program, &wave, wave.pc(), StopOptions::default(), &arena);
        let frame = stop.call_frame(0).unwrap();
        let values = frame.variables(&mut TypeTable::default()).unwrap();
        tally.stops += 1;
        for value in &values {
            let name = value.variable.name.as_deref().unwrap();
            let variable: usize = name.strip_prefix('x').unwrap().parse().unwrap();
            for lane in 0..usize::from(target.lanes) {
                let state = value.state(Lane(lane.try_into().unwrap())).kind();
                tally.lost += usize::from(state == ValueStateKind::OptimizedOut);
                if !state.is_recovered() {
                    continue;
                }
                tally.lost += 1;
                let recovered = value.recovered().unwrap();
                let bits = value.bits(Lane(lane.try_into().unwrap())).unwrap().unwrap();
                let word = u32::from_le_bytes(bits.bytes.try_into().unwrap());
                tally.shown += 1;
                let as_of = recovered.as_of.map(|pc| pc.0);
                if !self.is_right(variable, lane, as_of, word) {
                    let given = self.stop.given.get(&(variable, lane));
                    let given =
                        given.map(|(at, had)| format!("{had:#x} at {:#x}", self.addresses[*at]));
                    tally.wrong.push(format!(
                        "{}, before {pc:#x}: {name} in lane {lane} is {word:#x} ({}, as of {as_of:x?}), was {given:?}",
                        self.name,
                        recovered.from.name()
                    ));
                }
            }
        }
    }
}

/// Returns the addresses of the instructions of each program.
fn addresses(file: &[u8], programs: &[Program]) -> Vec<Vec<u64>> {
    let file = ::object::File::parse(file).unwrap();
    let text = file.section_by_name(".text").unwrap().address();
    let offsets = file.section_by_name(".offsets").unwrap().data().unwrap();
    let mut offsets = offsets
        .chunks(4)
        .map(|one| text + u64::from(u32::from_le_bytes(one.try_into().unwrap())));
    let of_program = |program: &Program| offsets.by_ref().take(program.code.len()).collect();
    programs.iter().map(of_program).collect()
}

fn check(target: &Target, seeds: std::ops::Range<u64>, tally: &mut Tally) {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let programs: Vec<Program> = seeds
        .clone()
        .map(|seed| Program::new(target, seed))
        .collect();
    let Some(file) = make(
        target,
        &programs,
        &format!("{}-{}", target.name, seeds.start),
        folder,
    ) else {
        panic!("llvm-mc and ld.lld of LLVM 22 are needed");
    };
    let addresses = addresses(&file, &programs);
    let object = CodeObject::parse(&file).unwrap();
    let loaded = inspect::Program::load(&object).unwrap();
    for (seed, (program, addresses)) in seeds.zip(programs.iter().zip(&addresses)) {
        let walk = Walk::new(target, program, seed);
        for stop in &walk.stops {
            let question = Question {
                name: format!("{}, program {seed}", target.name),
                program,
                addresses,
                start: &walk.start,
                stop,
            };
            question.ask(&loaded, target, tally);
        }
    }
}

/// The number of programs for each target, of which some are used without `HETDWARF_THOROUGH`.
const PROGRAMS: u64 = 1000;
const SOME: u64 = 200;

fn check_target(number: usize) {
    let target = &TARGETS[number];
    let mut tally = Tally::default();
    let start = u64::try_from(number).unwrap() * PROGRAMS;
    for first in (start..start + samples(PROGRAMS, SOME)).step_by(50) {
        check(target, first..first + 50, &mut tally);
    }
    let Tally {
        stops,
        lost,
        shown,
        wrong,
    } = &tally;
    println!(
        "{}: {stops} stops, {shown} of {lost} lane values shown",
        target.name
    );
    let first: Vec<&String> = wrong.iter().take(8).collect();
    assert!(wrong.is_empty(), "{} wrong: {first:#?}", wrong.len());
    // The test is meaningful only if enough values are shown.
    assert!(shown * 10 > *lost, "{tally:?}");
}

#[test]
fn what_is_shown_was_there_gfx90a() {
    check_target(0);
}

#[test]
fn what_is_shown_was_there_gfx942() {
    check_target(1);
}

#[test]
fn what_is_shown_was_there_gfx1030() {
    check_target(2);
}

#[test]
fn what_is_shown_was_there_gfx1100() {
    check_target(3);
}

#[test]
fn what_is_shown_was_there_gfx1200() {
    check_target(4);
}
