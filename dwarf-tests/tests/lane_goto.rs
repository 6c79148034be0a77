//! Compares the positions of waiting lanes with an emulator that knows the past and future of each lane. The programs have `goto` and
//! irreducible loops. Both `lane-pc` and the additions of `annotate` are compared.

#[path = "lane_goto/run.rs"]
mod run;
#[path = "lane_goto/source.rs"]
mod source;

use core::ops::AddAssign;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::emulator::{Machine, Program as Emulated};
use dwarf_tests::simulator::random::Random;
use dwarf_tests::{llvm_tool, seeds};
use hetdwarf::annotate::{Request, annotate};
use hetdwarf::arch::{CodeAddress, LoadAddress, WaveSize};
use hetdwarf::inspect::{LanePcs, LanePlace, Program, Recovery, Stop, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use rayon::prelude::*;
use run::{Failure, Waiting, run};

const TARGETS: [(&str, WaveSize); 5] = [
    ("gfx1100", WaveSize::Wave32),
    ("gfx90a", WaveSize::Wave64),
    ("gfx1200", WaveSize::Wave32),
    ("gfx942", WaveSize::Wave64),
    ("gfx1030", WaveSize::Wave32),
];

/// The number of waiting lanes with an answer, and the quality of the answers.
#[derive(Clone, Debug, Default)]
struct Figures {
    programs: usize,
    stops: usize,
    waiting: usize,
    right: usize,
    wrong: usize,
    /// The number of right answers with the line of the decision or of the arrival.
    expected_line: usize,
    /// The number of waiting lanes for which neither address has a line.
    no_line: usize,
    resumes: usize,
    unknown: BTreeMap<&'static str, usize>,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Figures) {
        self.programs += other.programs;
        self.stops += other.stops;
        self.waiting += other.waiting;
        self.right += other.right;
        self.wrong += other.wrong;
        self.expected_line += other.expected_line;
        self.no_line += other.no_line;
        self.resumes += other.resumes;
        for (reason, count) in other.unknown {
            *self.unknown.entry(reason).or_default() += count;
        }
    }
}

fn compile(clang: &Path, source: &Path, object: &Path, (target, level): (&str, &str)) {
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

/// Returns the reported address and frame of each lane of a stop.
fn said(program: &Program<'_>, machine: &Machine, recovery: Recovery) -> Vec<(usize, LanePlace)> {
    let arena = Arena::new();
    let pc = LoadAddress(0).to_process(CodeAddress(machine.pc));
    let stop = Stop::new(program, machine, pc, StopOptions::default(), &arena);
    let frame = stop.frame(0).unwrap();
    let found: LanePcs = frame.lane_pcs_by(recovery).unwrap();
    let callers = frame.lanes_in_callers(&found);
    let origin = |pc| LanePlace::Waiting {
        pc,
        origin: hetdwarf::inspect::LaneOrigin::Dwarf,
    };
    (found.places().iter().zip(callers))
        .map(|(place, caller)| match caller {
            Some(caller) => (caller.level, origin(caller.pc)),
            None => (0, *place),
        })
        .collect()
}

/// Compares the positions of lanes at a stop with their history. Returns a description of the errors.
fn compare(
    program: &Program<'_>,
    found: &[(usize, LanePlace)],
    expected: &[Option<Waiting>],
    (figures, is_dwarf): (&mut Figures, bool),
) -> Option<String> {
    let mut problem = None;
    let line = |address: u64| {
        let line = program.info().line_at(address).unwrap();
        line.map_or(0, |line| line.line)
    };
    for (lane, (expected, (frame, place))) in expected.iter().zip(found).enumerate() {
        let Some(expected) = expected else {
            if *place != LanePlace::Active && !matches!(place, LanePlace::Unknown(_)) {
                problem = Some(format!("lane {lane} is active, not {place:x?}"));
                figures.wrong += 1;
            }
            continue;
        };
        if is_dwarf && expected.frame > 0 && *place == LanePlace::Elsewhere {
            // Without call frame information, the attributes of callers cannot be evaluated.
            continue;
        }
        figures.waiting += 1;
        let lines = [Some(expected.decision), expected.arrival].map(|at| at.map_or(0, line));
        figures.no_line += usize::from(lines == [0, 0]);
        let pc = match place {
            LanePlace::Waiting { pc, .. } => LoadAddress(0).to_code(*pc).0,
            LanePlace::Unknown(reason) => {
                *figures.unknown.entry(reason.name()).or_default() += 1;
                continue;
            }
            // The lane is in a caller, but its position there is unknown.
            LanePlace::Elsewhere if expected.frame > 0 => {
                *figures.unknown.entry("in a caller").or_default() += 1;
                continue;
            }
            _ => {
                problem = Some(format!(
                    "lane {lane} waits, it is not {place:x?}: {expected:x?}"
                ));
                figures.wrong += 1;
                continue;
            }
        };
        let resumes = match place {
            LanePlace::Waiting {
                origin: hetdwarf::inspect::LaneOrigin::Recovered { resumes, .. },
                ..
            } => resumes.map(|pc| LoadAddress(0).to_code(pc).0),
            _ => None,
        };
        if !expected.right.contains(&pc) || *frame != expected.frame {
            problem = Some(format!(
                "lane {lane} is not at {pc:x} in frame {frame}: {expected:x?}"
            ));
            figures.wrong += 1;
            continue;
        }
        if resumes.is_some_and(|resumes| !expected.right.contains(&resumes)) {
            problem = Some(format!(
                "lane {lane} does not resume at {resumes:x?}: {expected:x?}"
            ));
            figures.wrong += 1;
            continue;
        }
        figures.resumes += usize::from(resumes == expected.resumes);
        figures.right += 1;
        let line = line(pc);
        figures.expected_line += usize::from(line != 0 && lines.contains(&line));
    }
    problem
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if std::env::var_os("HETDWARF_KEEP").is_none() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// Runs one program for a processor, and stops it at several places.
fn check(
    objdump: &Path,
    (path, wave_size): (&Path, WaveSize),
    seed: u64,
    by: &mut [Figures; 2],
) -> Result<(), String> {
    let emulated = Emulated::read(objdump, path, wave_size);
    let mut random = Random::new(seed ^ 0x5151);
    let input: Vec<u32> = (0..64).map(|_| random.number() as u32 & 31).collect();
    let mut machine = Machine::new(&emulated, &input);
    let ran = match run(&emulated, &mut machine, |_, _| {}) {
        Ok(ran) => ran,
        Err(Failure::TooLong) => return Ok(()),
        // The emulator lacks some rare instructions.
        Err(Failure::Instruction(name)) => {
            println!("{seed}: {name} is not emulated");
            return Ok(());
        }
    };
    let lanes = wave_size.lanes() as usize;
    let many = std::env::var("HETDWARF_STOPS").map_or(24, |text| text.parse().unwrap());
    // The wave is stopped where lanes wait.
    let full = |n: usize| ran.steps[n].active.count_ones() as usize == lanes;
    let divergent: Vec<usize> = (0..ran.steps.len()).filter(|n| !full(*n)).collect();
    let stops: std::collections::BTreeSet<usize> = (0..many.min(divergent.len()))
        .map(|_| divergent[random.below(divergent.len())])
        .collect();
    let mut machines = Vec::new();
    let mut machine = Machine::new(&emulated, &input);
    let _ = run(&emulated, &mut machine, |step, machine| {
        if stops.contains(&step) {
            machines.push((step, machine.clone()));
        }
    });
    let file = std::fs::read(path).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let annotate_too = std::env::var_os("HETDWARF_ONLY_RECOVERED").is_none();
    let wanted = |_: &str| annotate_too;
    let mut request = Request::new(&wanted);
    // Without the machine code, only this attribute gives the active lanes in whole-wave sections.
    request.active_lane = true;
    let annotated = annotate(&file, &Limits::default(), &request).unwrap();
    let annotated_object = CodeObject::parse(&annotated.file).unwrap();
    let annotated_program = Program::load(&annotated_object).unwrap();
    // Functions that `annotate` skipped have no positions.
    let left_alone: Vec<core::ops::Range<u64>> = (annotated.functions.iter())
        .filter(|function| function.left_alone.is_some())
        .map(|function| function.address..function.address + function.size)
        .collect();
    let is_said = |pc: u64| !left_alone.iter().any(|range| range.contains(&pc));
    let mut problems = Vec::new();
    for (step, machine) in &machines {
        let expected: Vec<Option<Waiting>> = (0..lanes)
            .map(|lane| ran.waiting(&emulated, *step, lane))
            .collect();
        let ways = [
            (&program, Recovery::Always, "recovered"),
            (&annotated_program, Recovery::Never, "annotated"),
        ];
        let ways = ways
            .into_iter()
            .filter(|way| annotate_too || way.1 == Recovery::Always)
            .filter(|way| way.1 == Recovery::Always || is_said(machine.pc));
        for ((program, recovery, how), figures) in ways.zip(by.iter_mut()) {
            let found = said(program, machine, recovery);
            figures.stops += 1;
            let problem = compare(
                program,
                &found,
                &expected,
                (figures, recovery == Recovery::Never),
            );
            problems.extend(
                problem.map(|text| format!("{how} at {:x} step {step}: {text}", machine.pc)),
            );
        }
    }
    for figures in by.iter_mut() {
        figures.programs += 1;
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

/// Uses the seed `HETDWARF_SEED` and `HETDWARF_COUNT` programs, if these variables are set.
#[test]
fn lanes_of_programs_with_goto_are_located() {
    let (Some(clang), Some(objdump)) = (llvm_tool("clang"), llvm_tool("llvm-objdump")) else {
        return;
    };
    let first = seeds::asked_for().unwrap_or(0);
    let count = std::env::var("HETDWARF_COUNT").map_or(4, |text| text.parse().unwrap());
    let folder = Folder(std::env::temp_dir().join(format!("hetdwarf-goto-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let levels = std::env::var("HETDWARF_LEVELS").unwrap_or("-O0 -O1 -O2".to_owned());
    let levels = ["-O0", "-O1", "-O2"]
        .into_iter()
        .filter(|one| levels.contains(one));
    let programs: Vec<(u64, &str)> = (first..first + count)
        .flat_map(|seed| levels.clone().map(move |level| (seed, level)))
        .collect();
    let checked: Vec<_> = (programs.par_iter())
        .map(|(seed, level)| {
            let (target, wave_size) = TARGETS[(seed % TARGETS.len() as u64) as usize];
            let path = |ending: &str| folder.0.join(format!("{seed}{level}-{target}.{ending}"));
            let (text, object) = (path("cl"), path("hsaco"));
            std::fs::write(&text, source::program(*seed)).unwrap();
            compile(&clang, &text, &object, (target, level));
            let mut by = [Figures::default(), Figures::default()];
            let checked = check(&objdump, (&object, wave_size), *seed, &mut by);
            let problem = checked.map_err(|problem| format!("{seed} {target} {level}: {problem}"));
            (*level, by, problem.err())
        })
        .collect();
    let mut figures: BTreeMap<&str, [Figures; 2]> = BTreeMap::new();
    let mut problems = Vec::new();
    for (level, by, problem) in checked {
        for (sum, figures) in figures.entry(level).or_default().iter_mut().zip(by) {
            *sum += figures;
        }
        problems.extend(problem);
    }
    println!("{} programs", count);
    for (level, [recovered, annotated]) in &figures {
        println!("{level} recovered {recovered:?}\n{level} annotated {annotated:?}");
    }
    assert!(
        problems.is_empty(),
        "{} problems\n{}",
        problems.len(),
        problems.join("\n")
    );
    for [recovered, _] in figures.values() {
        // The lanes whose last or next instruction has a line.
        let have_lines = recovered.right.saturating_sub(recovered.no_line);
        assert!(
            recovered.expected_line * 100 >= have_lines * 70,
            "{recovered:?}"
        );
    }
    for figures in figures.values().flatten() {
        let unknown: usize = figures.unknown.values().sum();
        assert!(figures.waiting > 0 && figures.wrong == 0, "{figures:?}");
        assert!(figures.programs * 4 >= count as usize * 3, "{figures:?}");
        assert_eq!(figures.right + unknown, figures.waiting, "{figures:?}");
    }
}
