//! Records a run of a wave: the active lanes at each instruction, and from these the position of each waiting lane.
//!
//! The correct position of a waiting lane depends on its last and next instructions. An instruction *acts* on a lane if it executes while
//! the lane is active and is not control flow. The *gap* of a lane lies between the last instruction that acted on it and the next one that
//! will.

use std::collections::BTreeSet;

use dwarf_tests::emulator::program::{EXEC, Instruction, Operand};
use dwarf_tests::emulator::{Event, Machine, Program};

/// An instruction that was executed.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The index of the instruction in the program.
    pub index: usize,
    /// The active lanes of the program, even in sections in which other lanes execute.
    pub active: u64,
    /// True if the instruction acts on the active lanes.
    pub acts: bool,
    /// The call that contains the step.
    pub call: usize,
}

/// A call of a function, or the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The lanes that entered the function.
    pub entered: u64,
    /// The caller, as a call of its own.
    pub caller: Option<usize>,
    /// The range of steps from the entry to the return.
    pub steps: (usize, usize),
}

/// The history of a wave.
pub struct Run {
    /// The executed instructions, in order.
    pub steps: Vec<Step>,
    /// The calls, in order.
    pub calls: Vec<Call>,
}

/// The reason why a wave was not run.
#[derive(Debug)]
pub enum Failure {
    /// An instruction that the emulator does not implement, or that accesses something missing.
    Instruction(String),
    /// The wave did not end.
    TooLong,
}

/// The most instructions that are run.
const MOST: usize = 400_000;

/// The register that holds the mask of active lanes while other lanes execute.
#[derive(Clone, Copy)]
struct Section {
    saved: usize,
    active: u64,
}

/// Returns the register in which EXEC is saved, if an instruction begins a section in which other lanes execute.
fn begins_section(one: &Instruction) -> Option<usize> {
    let is_begin = (one.name.starts_with("s_or_saveexec")
        || one.name.starts_with("s_xor_saveexec"))
        && one.operands.get(1) == Some(&Operand::Number(-1));
    match one.operands.first() {
        Some(Operand::Scalars(first, _)) if is_begin => Some(*first),
        _ => None,
    }
}

fn ends_section(one: &Instruction, section: Section) -> bool {
    let [Operand::Scalars(EXEC, _), Operand::Scalars(from, _)] = one.operands[..] else {
        return false;
    };
    one.name.starts_with("s_mov_b") && from == section.saved
}

/// Runs a wave to its end, and calls `each` before every instruction.
///
/// # Errors
/// If the wave cannot be run.
pub fn run(
    program: &Program,
    machine: &mut Machine,
    mut each: impl FnMut(usize, &Machine),
) -> Result<Run, Failure> {
    let all = machine.mask(EXEC);
    let mut run = Run {
        steps: Vec::new(),
        calls: vec![Call {
            entered: all,
            caller: None,
            steps: (0, 0),
        }],
    };
    let mut section: Option<Section> = None;
    let mut call = 0;
    loop {
        let number = run.steps.len();
        if number > MOST {
            return Err(Failure::TooLong);
        }
        let failed = |text: &str| Failure::Instruction(text.to_owned());
        let index = program
            .index_of(machine.pc)
            .ok_or_else(|| failed("no instruction"))?;
        let one = &program.instructions[index];
        each(number, machine);
        let active = section.map_or(machine.mask(EXEC), |section| section.active);
        run.steps.push(Step {
            index,
            active,
            acts: one.acts() && section.is_none(),
            call,
        });
        if section.is_none() {
            section = begins_section(one).map(|saved| Section { saved, active });
        } else if let Some(known) = section
            && ends_section(one, known)
        {
            section = None;
        }
        match machine.step(one).ok_or_else(|| failed(&one.text))? {
            Event::None => {}
            Event::Call => {
                let caller = Some(call);
                call = run.calls.len();
                run.calls.push(Call {
                    entered: active,
                    caller,
                    steps: (number + 1, 0),
                });
            }
            Event::Return => {
                run.calls[call].steps.1 = number + 1;
                call = run.calls[call].caller.ok_or_else(|| failed("return"))?;
            }
            Event::End => {
                for call in &mut run.calls {
                    if call.steps.1 == 0 {
                        call.steps.1 = number + 1;
                    }
                }
                return Ok(run);
            }
        }
    }
}

/// The position of a waiting lane.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    /// The number of frames from the innermost outwards.
    pub frame: usize,
    /// All addresses that are right.
    pub right: BTreeSet<u64>,
    /// The instruction that first switched the lane off after the last instruction that acted on it.
    pub decision: u64,
    /// The last instruction at which the lane was on.
    pub left: u64,
    /// The first address at which the lane is active again. None if there is none in this frame.
    pub resumes: Option<u64>,
    /// The next instruction that acts on the lane.
    pub arrival: Option<u64>,
}

impl Run {
    /// Returns the position of a lane while a wave is before a step. Returns None if it is active.
    #[must_use]
    pub fn waiting(&self, program: &Program, stop: usize, lane: usize) -> Option<Waiting> {
        let step = self.steps[stop];
        let is_on = |step: &Step| step.active >> lane & 1 == 1;
        if is_on(&step) {
            return None;
        }
        let mut waiting = Waiting::default();
        let mut call = step.call;
        while self.calls[call].entered >> lane & 1 == 0 {
            call = self.calls[call].caller?;
            waiting.frame += 1;
        }
        // The frame's own instructions, up to the last one before the gap and the first after it.
        let (first, end) = self.calls[call].steps;
        let own =
            |range: core::ops::Range<usize>| range.filter(move |n| self.steps[*n].call == call);
        let acts = |n: &usize| self.steps[*n].acts && is_on(&self.steps[*n]);
        let last = own(first..stop).rev().find(acts);
        let next = own(stop..end).find(acts);
        let gap: Vec<usize> =
            own(last.map_or(first, |last| last + 1)..next.map_or(end, |n| n + 1)).collect();
        let at = |n: usize| &program.instructions[self.steps[n].index];
        // The start of the current run of instructions in the block that do not act on lanes.
        let mut block = 0;
        let mut before: Option<usize> = None;
        let mut follows = false;
        // The lane was active before the gap.
        let mut was_on = true;
        for (place, n) in gap.iter().copied().enumerate() {
            let consecutive = before
                .is_some_and(|before| at(before).next == at(n).address && !at(before).is_branch());
            if !consecutive || at(n).is_first || before.is_some_and(|one| self.steps[one].acts) {
                block = place;
            }
            if is_on(&self.steps[n]) {
                waiting.right.insert(at(n).address);
                if !was_on {
                    waiting
                        .right
                        .extend(gap[block..place].iter().map(|n| at(*n).address));
                    if n >= stop && waiting.resumes.is_none() {
                        waiting.resumes = Some(at(n).address);
                    }
                }
                follows = true;
            } else {
                if was_on {
                    let off = before
                        .or(last)
                        .map(|n| at(n).address)
                        .unwrap_or(at(n).address);
                    if waiting.decision == 0 {
                        waiting.decision = off;
                    }
                    if n <= stop {
                        waiting.left = off;
                    }
                    follows = consecutive || before.is_none();
                    // A comparison that switched the lane off acted on it.
                    if before.is_none() && last.is_some_and(|n| at(n).name.starts_with("v_cmpx")) {
                        waiting.right.insert(off);
                    }
                }
                // The instructions after the switch, up to the branch.
                follows &= !self.steps[n].acts;
                if !was_on {
                    follows &= consecutive && !at(n).is_first;
                }
                if follows {
                    waiting.right.insert(at(n).address);
                }
                if at(n).is_branch() {
                    follows = false;
                }
            }
            was_on = is_on(&self.steps[n]);
            before = Some(n);
        }
        waiting.arrival = next.map(|n| at(n).address);
        Some(waiting)
    }
}
