//! Compares the positions of inactive lanes, recovered from machine code, with the records of an emulator. These do not come from DWARF or
//! from reading masks (`fixtures/lanes/README.md`).

#[path = "lane_flow/asking.rs"]
mod asking;
#[path = "lane_flow/oracle.rs"]
mod oracle;
#[path = "lane_flow/programs.rs"]
mod programs;

use core::ops::Range;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use dwarf_tests::disassembly::disassemble;
use dwarf_tests::{json, lane_cases, llvm_tool, number, wave_cases};
use hetdwarf::arch::{LoadAddress, Register, RegisterClass, WaveSize};
use hetdwarf::lane_flow::{Function, LaneFlow, LaneState, Reason, StopLanes};
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{AccessError, Memory, Snapshot, Wave};
use serde_json::Value;

fn snapshot(path: &Path) -> Snapshot {
    let mut text = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut text)
        .unwrap();
    Snapshot::from_json(&text).unwrap()
}

fn ask(flow: &LaneFlow<'_>, wave: &Snapshot, wave_size: WaveSize) -> StopLanes {
    let dispatched = wave.dispatch.as_ref().and_then(|d| d.lanes(wave_size));
    let pc = wave.load_address.to_code(wave.pc()).0;
    // The limits are the same as for a stop in the smallest possible file.
    let meter = Meter::new(&Limits::DEFAULT, 0);
    flow.stop(wave, pc, wave.load_address, dispatched, &meter)
        .unwrap()
}

/// The number of waiting lanes with an answer.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    right: usize,
    unknown: usize,
    wrong: usize,
    /// The number with a known switch-off point.
    left: usize,
}

impl Score {
    fn add(&mut self, other: Score) {
        self.right += other.right;
        self.unknown += other.unknown;
        self.wrong += other.wrong;
        self.left += other.left;
    }

    fn waiting(self) -> usize {
        self.right + self.unknown + self.wrong
    }

    fn is_at_least(self, percent: usize) -> bool {
        self.waiting() > 0 && self.right * 100 >= self.waiting() * percent
    }
}

fn is_within(runs: &Value, pc: u64) -> bool {
    runs.as_array().unwrap().iter().any(|run| {
        let [first, last] = [&run[0], &run[1]].map(number);
        (first..=last).contains(&u128::from(pc))
    })
}

/// Compares the lanes of one stop that wait at the same place.
fn compare(found: &StopLanes, group: &Value) -> (Score, Option<String>) {
    let (mut score, mut problem) = (Score::default(), None);
    let next = group["next_active"]
        .as_str()
        .map(|_| number(&group["next_active"]) as u64);
    for lane in group["lanes"].as_array().unwrap() {
        let lane = lane.as_u64().unwrap();
        let (frame, state) = found.lane(lane as u8);
        let is_right = match state {
            LaneState::Waiting {
                pc, left, resumes, ..
            } => {
                score.left += usize::from(left.is_some());
                let last = number(&group["last_active"]) as u64;
                frame as u64 == group["frame"].as_u64().unwrap()
                    && is_within(&group["right"], pc)
                    // The required instruction is exact, except for copies of a join. This is stricter than a debugger needs.
                    && resumes.is_some() == next.is_some()
                    && left.is_none_or(|left| left == last)
            }
            LaneState::Unknown(_) => {
                score.unknown += 1;
                continue;
            }
            _ => false,
        };
        if is_right {
            score.right += 1;
        } else {
            score.wrong += 1;
            problem = Some(format!("lane {lane}: {state:x?} in frame {frame}; {group}"));
        }
    }
    (score, problem)
}

/// Calculates the scores of all cases. `add` assigns a score by the case and the group of lanes.
fn scores(mut add: impl FnMut(&Value, &Value, Score)) -> Vec<String> {
    let mut problems = Vec::new();
    for case in lane_cases() {
        let truth = json(&case.join("truth.json"));
        let file = std::fs::read(case.join(truth["object"].as_str().unwrap())).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let wave_size = WaveSize::from_lanes(truth["wave_size"].as_u64().unwrap()).unwrap();
        let functions = Function::all(&object).unwrap();
        let flow = LaneFlow::new(
            object.target().processor(),
            wave_size,
            functions,
            object.meter(),
        );
        for stop in truth["snapshots"].as_array().unwrap() {
            let wave = stop["wave"].as_str().unwrap();
            let at = format!("{} {wave}", truth["case"]);
            let found = ask(&flow, &snapshot(&case.join(wave)), wave_size);
            let active = found.frames[0].lanes_that(|state| state == LaneState::Active);
            if u128::from(active) != number(&stop["active"]) {
                problems.push(format!(
                    "{at}: {active:#x} are active, not {}",
                    stop["active"]
                ));
            }
            let mut waiting = 0;
            for group in stop["groups"].as_array().unwrap() {
                let (score, problem) = compare(&found, group);
                problems.extend(problem.map(|problem| format!("{at}: {problem}")));
                add(&truth, group, score);
                waiting += score.waiting();
            }
            // All waves of the cases are full, so every lane is active or waits.
            assert_eq!(
                active.count_ones() as usize + waiting,
                wave_size.lanes() as usize,
                "{at}"
            );
        }
    }
    problems
}

/// Prints a table of the right answers for waiting lanes, and the number of unknown lanes, if any.
fn table(title: &str, scores: &BTreeMap<(String, String), Score>) {
    let mut columns: Vec<&String> = scores.keys().map(|(_, column)| column).collect();
    columns.sort();
    columns.dedup();
    let mut rows: Vec<&String> = scores.keys().map(|(row, _)| row).collect();
    rows.dedup();
    println!(
        "| {title} | {} |",
        columns
            .iter()
            .map(|c| c.as_str())
            .collect::<Vec<_>>()
            .join(" | ")
    );
    println!("|---|{}", "---|".repeat(columns.len()));
    for row in rows {
        let cells = columns.iter().map(|column| {
            let score = scores.get(&(row.clone(), (*column).clone()));
            score.map_or(String::new(), |score| {
                format!("{}/{}", score.right, score.waiting())
            })
        });
        println!("| {row} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}

#[test]
fn waiting_lanes_are_where_they_were() {
    let [mut constructs, mut kinds] = [BTreeMap::new(), BTreeMap::new()];
    let mut levels: BTreeMap<&str, Score> = BTreeMap::new();
    let mut callers = Score::default();
    let problems = scores(|truth, group, score| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let size = truth["wave_size"].as_u64().unwrap();
        let target = format!("{} w{size}", text(&truth["target"]));
        let construct = text(&truth["source"]).replace(".cl", "");
        let key = (construct, target.clone());
        constructs
            .entry(key)
            .or_insert_with(Score::default)
            .add(score);
        let level = text(&truth["optimisation"]);
        let key = (
            text(&group["kind"]),
            format!("{level} {}", text(&truth["compiler"])),
        );
        kinds.entry(key).or_insert_with(Score::default).add(score);
        let level = if level == "-O0" { "-O0" } else { "-O1, -O2" };
        levels.entry(level).or_default().add(score);
        if group["frame"].as_u64().unwrap() > 0 {
            callers.add(score);
        }
    });
    table("construct", &constructs);
    println!();
    table("kind", &kinds);
    println!("\nby level: {levels:?}\nin callers: {callers:?}");
    assert!(problems.is_empty(), "{} {problems:#?}", problems.len());
    let all: usize = levels.values().map(|score| score.waiting()).sum();
    assert_eq!(all, 7948, "the cases have other lanes than they had");
    // The switch-off point is known for most lanes, and must then be right.
    for (level, percent) in [("-O0", 80), ("-O1, -O2", 95)] {
        let score = levels[level];
        assert!(score.left * 100 >= score.waiting() * percent, "{levels:?}");
    }
    assert!(levels["-O0"].is_at_least(95), "{levels:?}");
    assert!(levels["-O1, -O2"].is_at_least(97), "{levels:?}");
    assert!(callers.is_at_least(95), "{callers:?}");
}

/// For these waves, the lanes that entered each frame and the active lanes are known.
#[test]
fn lanes_are_in_the_frames_that_they_entered() {
    let (mut stops, mut divergent, mut frames, mut unknown) = (0, 0, 0, 0);
    for case in wave_cases() {
        let truth = json(&case.join("truth.json"));
        let file = std::fs::read(case.join(truth["object"].as_str().unwrap())).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let wave_size = WaveSize::from_lanes(truth["wave_size"].as_u64().unwrap()).unwrap();
        let functions = Function::all(&object).unwrap();
        let flow = LaneFlow::new(
            object.target().processor(),
            wave_size,
            functions,
            object.meter(),
        );
        for stop in truth["snapshots"].as_array().unwrap() {
            let at = format!("{} {}", truth["case"], stop["wave"]);
            let text = std::fs::read(case.join(stop["wave"].as_str().unwrap())).unwrap();
            let wave = Snapshot::from_json(&text).unwrap();
            let found = ask(&flow, &wave, wave_size);
            let expected = stop["frames"].as_array().unwrap();
            assert!(found.frames.len() <= expected.len(), "{at}");
            stops += 1;
            divergent += usize::from(stop["exec"] != expected.last().unwrap()["entry_exec"]);
            for (frame, expected) in found.frames.iter().zip(expected) {
                let pc = number(&expected["pc"]) as u64 - wave.load_address.0;
                assert_eq!(frame.pc, pc, "{at}");
                frames += 1;
                let entered = frame.lanes_that(|state| state != LaneState::Elsewhere);
                let here = frame.lanes_that(|state| state == LaneState::Active);
                let unsure = frame.lanes_that(|state| matches!(state, LaneState::Unknown(_)));
                unknown += unsure.count_ones();
                let [entry, active] =
                    ["entry_exec", "exec"].map(|key| number(&expected[key]) as u64);
                assert_eq!(entered & !unsure, entry & !unsure, "{at} {frame:x?}");
                // In the whole-wave sections of prologues and epilogues, EXEC differs from the active lanes. All lanes that entered are
                // then active.
                let is_mark = stop["stop"] == "mark" || expected["index"] != 0;
                let active = if is_mark || active == here {
                    active
                } else {
                    entry
                };
                assert_eq!(here & !unsure, active & !unsure, "{at} {frame:x?}");
            }
        }
    }
    println!(
        "{stops} stops, {divergent} of them divergent, {frames} frames, {unknown} lanes unknown"
    );
    assert!(stops >= 130 && divergent >= 25 && frames > stops);
    assert_eq!(unknown, 0);
}

/// A wave with arbitrary contents, the same on every run.
struct Arbitrary {
    seed: u64,
    wave_size: WaveSize,
    exec: u64,
}

impl Arbitrary {
    /// Returns a word of a fixed sequence (SplitMix64).
    fn word(&self, which: u64, n: u64) -> u32 {
        let mut x = self.seed
            ^ which.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ n.wrapping_mul(0xd1b5_4a32_d192_ed03);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 16) as u32
    }
}

impl oracle::Machine for Arbitrary {
    fn scalar(&self, index: usize) -> u32 {
        match index {
            // The stack of a kernel starts at 0; other functions have a higher one.
            33 => 0x4000,
            32 => 0x8000,
            _ => self.word(1, index as u64),
        }
    }

    fn vector(&self, register: usize, lane: usize) -> u32 {
        self.word(2, (register * 64 + lane) as u64)
    }

    fn scratch(&self, address: i64) -> u32 {
        self.word(3, address as u64)
    }
}

impl Wave for Arbitrary {
    fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        use oracle::Machine;
        if register == Register::exec(self.wave_size) {
            let bytes = self.exec.to_le_bytes();
            out.copy_from_slice(&bytes[..out.len()]);
            return Ok(());
        }
        let dword = bits.start as usize / 32;
        let index = usize::from(register.index().unwrap_or(0));
        let word = match register.class() {
            Some(RegisterClass::Sgpr) => self.scalar(index),
            Some(RegisterClass::Vgpr) => self.vector(index, dword),
            Some(RegisterClass::Agpr) => self.vector(1024 + index, dword),
            _ if register == Register::vcc(self.wave_size) => self.scalar(106 + dword),
            _ => return Err(AccessError::Unavailable),
        };
        out.copy_from_slice(&word.to_le_bytes());
        Ok(())
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        use oracle::Machine;
        assert_eq!(memory, Memory::PrivateWave);
        out.copy_from_slice(&self.scratch(address as i64).to_le_bytes());
        Ok(())
    }
}

/// The comparison of the library and the oracle.
#[derive(Debug, Default)]
struct Agreement {
    same: usize,
    /// The oracle knows one place, and the library knows none.
    unknown: usize,
    /// The library knows a place, and the oracle does not, because it does not follow values that callees preserve.
    more: usize,
    /// Neither knows.
    neither: usize,
    too_many: usize,
}

/// At arbitrary addresses, with arbitrary contents of registers and scratch, the library agrees with the oracle about each lane.
#[test]
fn plans_say_what_a_concrete_walk_finds() {
    let Some(objdump) = llvm_tool("llvm-objdump") else {
        return;
    };
    let mut agreement = Agreement::default();
    for (seed, case) in (1..).zip(lane_cases()) {
        let truth = json(&case.join("truth.json"));
        let path = case.join(truth["object"].as_str().unwrap());
        let wave_size = WaveSize::from_lanes(truth["wave_size"].as_u64().unwrap()).unwrap();
        let at = truth["case"].as_str().unwrap();
        check_object(&objdump, (&path, wave_size), (seed, 83), at, &mut agreement);
    }
    println!("{agreement:?}");
    assert!(agreement.same > 700 && agreement.too_many * 5 < agreement.same);
    assert!(agreement.unknown * 50 < agreement.same, "{agreement:?}");
}

/// Compares both at some addresses of an object, with arbitrary contents.
///
/// * `step`: only every `step`th address is used.
fn check_object(
    objdump: &Path,
    (path, wave_size): (&Path, WaveSize),
    (seed, step): (u64, usize),
    name: &str,
    agreement: &mut Agreement,
) {
    let file = std::fs::read(path).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let functions = Function::all(&object).unwrap();
    let processor = object.target().processor();
    let flow = LaneFlow::new(
        processor,
        wave_size,
        functions.iter().copied(),
        object.meter(),
    );
    let lines = disassemble(objdump, path, wave_size);
    for function in functions {
        let range = function.address..function.address + function.code.len() as u64;
        let body: Vec<_> = (lines.iter())
            .filter(|line| range.contains(&line.address))
            .cloned()
            .collect();
        let code = oracle::Code::new(&body, wave_size.lanes() as usize);
        let places = code.addresses().enumerate();
        for (n, pc) in places.skip(seed as usize % 37).step_by(step) {
            let mut wave = Arbitrary {
                seed: seed << 32 | n as u64,
                wave_size,
                exec: 0,
            };
            wave.exec = u64::from(wave.word(4, 0)) | u64::from(wave.word(4, 1)) << 32;
            if wave_size == WaveSize::Wave32 {
                wave.exec &= 0xffff_ffff;
            }
            let at = format!("{name} {pc:#x}");
            let place = (pc, function.is_kernel);
            check_stop(&flow, &code, &wave, place, &at, agreement);
        }
    }
}

/// For random compiled programs, recovery agrees with the oracle, or has no answer. `HETDWARF_PROGRAMS=FIRST-LAST` selects other seeds.
#[test]
fn random_programs_are_recovered_as_a_concrete_walk_finds() {
    let (Some(clang), Some(objdump)) = (llvm_tool("clang"), llvm_tool("llvm-objdump")) else {
        return;
    };
    let seeds = std::env::var("HETDWARF_PROGRAMS").ok();
    let seeds = seeds.as_deref().and_then(|text| {
        let (first, last) = text.split_once('-')?;
        Some(first.parse::<u64>().ok()?..=last.parse().ok()?)
    });
    let folder = std::env::temp_dir().join(format!("hetdwarf-programs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [source, object] = ["k.cl", "k.hsaco"].map(|name| folder.join(name));
    let mut agreement = Agreement::default();
    for seed in seeds.unwrap_or(1..=3) {
        std::fs::write(&source, programs::program(seed)).unwrap();
        for (target, wave_size) in [("gfx1100", WaveSize::Wave32), ("gfx90a", WaveSize::Wave64)] {
            for level in ["-O0", "-O1", "-O2"] {
                let ran = std::process::Command::new(&clang)
                    .args(["--target=amdgcn-amd-amdhsa", "-nogpulib", "-g", "-x", "cl"])
                    .args(["-cl-std=CL2.0", "-w", level])
                    .arg(format!("-mcpu={target}"))
                    .arg(&source)
                    .arg("-o")
                    .arg(&object)
                    .output()
                    .unwrap();
                let text = String::from_utf8_lossy(&ran.stderr);
                assert!(ran.status.success(), "{seed} {target} {level}: {text}");
                let at = format!("program {seed} {target} {level}");
                check_object(
                    &objdump,
                    (&object, wave_size),
                    (seed, 61),
                    &at,
                    &mut agreement,
                );
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{agreement:?}");
    assert!(agreement.same > 100, "{agreement:?}");
    assert!(agreement.unknown * 10 < agreement.same, "{agreement:?}");
}

fn check_stop(
    flow: &LaneFlow<'_>,
    code: &oracle::Code,
    wave: &Arbitrary,
    (pc, is_kernel): (u64, bool),
    at: &str,
    agreement: &mut Agreement,
) {
    let all = u64::MAX >> (64 - wave.wave_size.lanes());
    let meter = Meter::new(&Limits::DEFAULT, 0);
    let found = flow
        .stop(wave, pc, LoadAddress(0), Some(all), &meter)
        .unwrap();
    let frame = &found.frames[0];
    if frame.lanes_that(|state| state == LaneState::Active) != wave.exec {
        // In a whole-wave section, the followed lanes differ from EXEC.
        return;
    }
    let off = wave
        .wave_size
        .all_lanes()
        .filter(|lane| wave.exec >> lane.0 & 1 == 0);
    for lane in off.step_by(5) {
        let state = frame.lanes[usize::from(lane.0)];
        let end = code.follow(wave, pc, usize::from(lane.0));
        let end = match &end {
            oracle::End::Found { on, leaves, ends } => {
                (on.len(), *leaves, ends.len(), on.first(), ends.first())
            }
            oracle::End::Unknown => {
                match state {
                    LaneState::Unknown(_) => agreement.neither += 1,
                    _ => agreement.more += 1,
                }
                continue;
            }
            oracle::End::TooMany => {
                agreement.too_many += 1;
                continue;
            }
        };
        // For lanes with arbitrary contents, the switch-off point has no meaning.
        let waits = |pc, resumes| LaneState::Waiting {
            pc,
            left: None,
            resumes,
            arrival: None,
        };
        let expected = match end {
            (1, false, 0, Some(pc), _) => Some(waits(*pc, Some(*pc))),
            (0, true, 0, ..) => Some(LaneState::Elsewhere),
            (0, false, 1, _, Some(pc)) if is_kernel => Some(waits(*pc, None)),
            _ => None,
        };
        let state = match state {
            LaneState::Waiting { pc, resumes, .. } => waits(pc, resumes),
            state => state,
        };
        match (expected, state) {
            (Some(expected), state) if expected == state => agreement.same += 1,
            // An arbitrary wave has no caller.
            (Some(LaneState::Elsewhere), LaneState::Unknown(Reason::Caller)) => agreement.same += 1,
            (Some(_), LaneState::Unknown(_)) => agreement.unknown += 1,
            (None, LaneState::Unknown(_)) => agreement.neither += 1,
            (expected, state) => {
                panic!("{at} lane {lane:?}: {state:x?}, but {expected:x?} by {end:x?}")
            }
        }
    }
}
