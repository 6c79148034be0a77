//! What is known of the lanes that are off at each place of a function, whatever a wave has in its masks: what
//! debugging information can say of it.
//!
//! It is the decision trees of `tree`, with every question asked both ways. Instructions that write nothing of what
//! the tree after them asks for have the same tree.

use core::ops::Range;
use std::sync::Arc;

use super::Reason;
use super::function::FunctionFlow;
use super::place::DwordPlace;
use super::state::{Exec, SectionLanes};
use super::value::Decisions;
use super::walk::Answer;
use crate::abi::Callees;
use crate::isa::{AccessKind, Effect, Instruction, MachineRegister};

/// How many questions one place of the code may ask.
const MOST_QUESTIONS: usize = 48;
/// How many questions may follow one another.
const DEPTH: usize = 24;

/// Where a lane is that is off, by its bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LanePlan {
    /// It waits, and executes next at this address.
    Resumes(u64),
    /// It never executes again; the wave ends at this address.
    Ends(u64),
    /// It did not enter the function.
    Elsewhere,
    /// What the bit of a place decides.
    Ask {
        /// Where the bit is.
        place: DwordPlace,
        /// What follows if it is clear, and if it is set.
        then: Box<[LanePlan; 2]>,
    },
}

/// Which lanes are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActiveLanes {
    /// Those of EXEC.
    Exec,
    /// Those of the mask in this register, and of 64 lanes the next.
    Saved(MachineRegister),
    /// Those that are not in EXEC.
    NotExec,
}

/// What is known of the lanes at a place of a function.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacePlan {
    /// Which lanes are active.
    pub active: ActiveLanes,
    /// Where lanes are that are not: of each half of 32 lanes.
    pub halves: Vec<LanePlan>,
}

/// What is known along a range of addresses, or why nothing is.
pub type RangePlan = (Range<u64>, Result<Arc<PlacePlan>, Reason>);

impl LanePlan {
    /// The places that are asked for.
    pub(super) fn places(&self) -> Vec<DwordPlace> {
        let mut found = Vec::new();
        let mut work = vec![self];
        while let Some(plan) = work.pop() {
            if let LanePlan::Ask { place, then } = plan {
                found.push(*place);
                work.extend(then.iter());
            }
        }
        found
    }
}

impl FunctionFlow {
    /// What is known of the lanes of a wave at each instruction; neighbours of which the same is known are one range.
    pub(super) fn plan(&self, callees: &Callees<'_>, is_kernel: bool) -> Vec<RangePlan> {
        let count = self.code().instructions.len();
        let mut left = self.plan_steps();
        let mut plans: Vec<RangePlan> = Vec::new();
        let mut after: Option<Result<Arc<PlacePlan>, Reason>> = None;
        // What is known before an instruction is found from the last place on that branches go to.
        let mut since: Vec<usize> = Vec::with_capacity(count);
        for index in 0..count {
            let before = since.last().copied().unwrap_or(0);
            let is_leader = self.code().is_leader(index);
            since.push(if is_leader {
                0
            } else {
                before.saturating_add(1)
            });
        }
        for (index, since) in since.into_iter().enumerate().rev() {
            let Some(instruction) = self.code().instructions.get(index) else {
                continue;
            };
            left = left.saturating_sub(since);
            if left == 0 {
                after = None;
                push(&mut plans, instruction, &Err(Reason::Budget));
                continue;
            }
            let same = match &after {
                Some(Ok(plan)) if self.leaves_alone(callees, index, plan) => {
                    Some(Ok(Arc::clone(plan)))
                }
                Some(_) | None => None,
            };
            let plan = same.unwrap_or_else(|| {
                let plan = self.plan_at(callees, index, is_kernel, &mut left);
                plan.map(Arc::new)
            });
            push(&mut plans, instruction, &plan);
            self.forget(index.saturating_add(1));
            after = Some(plan);
        }
        plans.reverse();
        plans
    }

    fn active(&self, callees: &Callees<'_>, index: usize) -> Result<ActiveLanes, Reason> {
        match self.exec(callees, index) {
            Exec::Active => Ok(ActiveLanes::Exec),
            Exec::Section(section) => match (section.saved, section.lanes) {
                (Some(register), _) => Ok(ActiveLanes::Saved(register)),
                (None, SectionLanes::Inactive) => Ok(ActiveLanes::NotExec),
                (None, SectionLanes::All | SectionLanes::Mask(_)) => Err(Reason::WholeWave),
            },
            Exec::Unknown => Err(Reason::WholeWave),
        }
    }

    fn plan_at(
        &self,
        callees: &Callees<'_>,
        index: usize,
        is_kernel: bool,
        left: &mut usize,
    ) -> Result<PlacePlan, Reason> {
        let active = self.active(callees, index)?;
        let mut halves = Vec::new();
        for half in 0..self.halves() {
            let mut questions = MOST_QUESTIONS;
            let mut asker = Asker {
                flow: self,
                callees,
                at: (index, half),
                is_kernel,
                questions: &mut questions,
                left: &mut *left,
            };
            halves.push(asker.ask(&Decisions::default(), DEPTH)?);
        }
        Ok(PlacePlan { active, halves })
    }

    /// Whether what is known after an instruction is known before it too.
    fn leaves_alone(&self, callees: &Callees<'_>, index: usize, plan: &PlacePlan) -> bool {
        let Some(instruction) = self.code().instructions.get(index) else {
            return false;
        };
        if !self.code().goes_on(index) {
            return false;
        }
        if self.is_idle(index) {
            return true;
        }
        if self.active(callees, index) != Ok(plan.active) {
            return false;
        }
        let (writes_memory, is_plain) = match instruction.effect {
            Effect::Store(access) => (access.kind != AccessKind::Global, true),
            Effect::Other
            | Effect::Scalar { .. }
            | Effect::Compare { to_exec: false, .. }
            | Effect::ReadLane { .. }
            | Effect::ReadFirstLane { .. }
            | Effect::VectorMove { .. }
            | Effect::Load(_)
            | Effect::ScalarLoad { .. }
            | Effect::Clause { .. }
            | Effect::Wait
            | Effect::Nop { .. } => (false, true),
            Effect::SaveExec { .. }
            | Effect::WriteExec { .. }
            | Effect::Compare { to_exec: true, .. }
            | Effect::WriteLane { .. }
            | Effect::Call { .. }
            | Effect::SetPc { .. }
            | Effect::GetPc { .. }
            | Effect::Branch { .. }
            | Effect::OtherJump
            | Effect::EndProgram
            | Effect::Trap { .. }
            | Effect::CodeEnd
            | Effect::GprIndex
            | Effect::VgprMsb { .. } => (true, false),
        };
        let writes = |register: MachineRegister| instruction.writes.contains(register);
        let mut kept = vec![MachineRegister::ExecLo, MachineRegister::ExecHi];
        if let ActiveLanes::Saved(register) = plan.active {
            kept.extend([Some(register), register.plus(1)].into_iter().flatten());
        }
        let mut in_memory = false;
        for place in plan.halves.iter().flat_map(LanePlan::places) {
            match place {
                DwordPlace::Scalar(register) | DwordPlace::Lane { register, .. } => {
                    kept.push(register)
                }
                DwordPlace::Scratch { slot, .. } => {
                    in_memory = true;
                    kept.extend(slot.base);
                }
            }
        }
        is_plain && !(in_memory && writes_memory) && !kept.into_iter().any(writes)
    }
}

/// Adds what is known at an instruction to what is known of those after it.
fn push(
    plans: &mut Vec<RangePlan>,
    instruction: &Instruction,
    plan: &Result<Arc<PlacePlan>, Reason>,
) {
    match plans.last_mut() {
        Some((range, known)) if known == plan && range.start == instruction.end() => {
            range.start = instruction.address;
        }
        Some(_) | None => plans.push((instruction.address..instruction.end(), plan.clone())),
    }
}

/// Asks every question of one place of the code both ways.
struct Asker<'f, 'c> {
    flow: &'f FunctionFlow,
    callees: &'f Callees<'c>,
    at: (usize, u8),
    is_kernel: bool,
    /// How many questions may still be asked.
    questions: &'f mut usize,
    /// How many instructions may still be gone through.
    left: &'f mut usize,
}

impl Asker<'_, '_> {
    fn ask(&mut self, decisions: &Decisions, depth: usize) -> Result<LanePlan, Reason> {
        let answer = self
            .flow
            .walk_from(self.callees, self.at, decisions, self.left);
        let place = match answer {
            Ok(Answer::Resumes(pc)) => return Ok(LanePlan::Resumes(pc)),
            Ok(Answer::Leaves) => return Ok(LanePlan::Elsewhere),
            // It may as well be a lane that did not enter the function.
            Ok(Answer::Ends(_)) if !self.is_kernel => return Err(Reason::Caller),
            Ok(Answer::Ends(Some(pc))) => return Ok(LanePlan::Ends(pc)),
            Ok(Answer::Ends(None)) => return Err(Reason::SeveralEnds),
            Ok(Answer::Unknown(reason)) => return Err(reason),
            Err(undecided) => undecided.0,
        };
        let depth = depth.checked_sub(1).ok_or(Reason::Budget)?;
        *self.questions = self.questions.checked_sub(1).ok_or(Reason::Budget)?;
        let clear = self.ask(&decisions.with(place, Some(false)), depth)?;
        let set = self.ask(&decisions.with(place, Some(true)), depth)?;
        if clear == set {
            return Ok(clear);
        }
        let then = Box::new([clear, set]);
        Ok(LanePlan::Ask { place, then })
    }
}
