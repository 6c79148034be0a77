//! The facts about the inactive lanes at each place of a function, independent of the masks of a wave. Debugging information can contain
//! them.
//!
//! A plan is a decision tree of `tree` with both answers to every question. If an instruction writes nothing that the next tree reads, it
//! has the same tree.

use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::Reason;
use super::fuel::Left;
use super::function::FunctionFlow;
use super::history::{History, SwitchOff, WantsSwitchOff};
use super::lane_plan::{ActiveLanes, LanePlan, PlacePlan, RangePlan, both};
use super::place::DwordPlace;
use super::state::{Exec, HalfAt, SectionLanes};
use super::value::{Decisions, Undecided};
use super::walk::{Goal, Search, WalkResult};
use crate::isa::{AccessKind, Effect, Instruction, MachineRegister};

/// The most questions that one place of the code may ask.
const MOST_QUESTIONS: usize = 48;
/// The most questions on one path of a tree.
const DEPTH: usize = 24;
/// The most questions of one place that may be asked for the next acting instruction.
const MOST_ARRIVALS: usize = 48;
/// The part of `DEPTH` that questions for the next acting instruction may not use.
const DEPTH_OF_ARRIVALS: usize = 8;

/// The options for the plans of a function.
#[derive(Clone, Copy)]
pub(super) struct Planning<'p> {
    pub(super) is_kernel: bool,
    /// Selects the places at which the switch-off of a lane is stated, as far as its bits determine it. Bits that no lane can have are then
    /// left out. `None` selects no place.
    pub(super) wants_switch_off: Option<&'p WantsSwitchOff<'p>>,
}

impl FunctionFlow<'_> {
    /// Returns the facts about the lanes of a wave at each instruction. Neighbouring instructions with equal facts form one range. Also
    /// returns the number of instructions to charge, and true if there were too few.
    ///
    /// * `most`: the query's budget in instructions.
    pub(super) fn plan(
        &self,
        planning: Planning<'_>,
        most: usize,
    ) -> (Vec<RangePlan>, usize, bool) {
        let wants_switch_off = planning.wants_switch_off;
        let count = self.code().instructions.len();
        // Half of the budget may be needed for plans without switch-offs, if the switch-offs are too expensive.
        let most = if wants_switch_off.is_some() {
            most / 2
        } else {
            most
        };
        let mut left = Left::of(self.most_plan_steps(), most);
        let mut plans: Vec<RangePlan> = Vec::new();
        let mut plain: Option<(Vec<RangePlan>, usize, bool)> = None;
        let mut after: Option<Result<Arc<PlacePlan>, Reason>> = None;
        // The state before an instruction is found by replaying from the last branch target.
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
            // The state is found again from there.
            let found = left.pay(since);
            let mut plan = if found.is_err() || left.instructions() == 0 {
                Err(Reason::Budget)
            } else {
                self.plan_before(planning, index, after.as_ref(), &mut left)
            };
            if plan == Err(Reason::Budget) && wants_switch_off.is_some() {
                let find = || {
                    let plain = Planning {
                        wants_switch_off: None,
                        ..planning
                    };
                    self.plan(plain, most)
                };
                let (plain, ..) = plain.get_or_insert_with(find);
                plan = plan_of(plain, instruction.address).unwrap_or(plan);
            }
            push(&mut plans, instruction, &plan);
            self.forget(index.saturating_add(1));
            after = Some(plan);
        }
        plans.reverse();
        let (more, is_short) = plain.map_or((0, false), |(_, used, is_short)| (used, is_short));
        let used = left.used().saturating_add(more);
        (plans, used, is_short || left.is_paid_out())
    }

    /// Returns the facts before an instruction.
    ///
    /// * `after`: the facts before the next instruction.
    fn plan_before(
        &self,
        planning: Planning<'_>,
        index: usize,
        after: Option<&Result<Arc<PlacePlan>, Reason>>,
        left: &mut Left,
    ) -> Result<Arc<PlacePlan>, Reason> {
        let histories: Vec<Option<History<'_>>> = match planning.wants_switch_off {
            Some(wants) => (0..self.halves())
                .map(|half| HalfAt { index, half })
                .map(|at| History::find(self, at, wants, &mut *left))
                .collect(),
            None => Vec::new(),
        };
        left.pay(1)?;
        if let Some(Ok(plan)) = after
            && self.leaves_alone(index, plan)
        {
            for (plan, history) in plan.halves.iter().zip(&histories) {
                if let Some(history) = history {
                    left.pay(history.cost.saturating_mul(plan.leaves()))?;
                }
            }
            if tells_as_much(plan, &histories) {
                return Ok(Arc::clone(plan));
            }
        }
        let plan = self.plan_at(planning, index, &histories, left)?;
        Ok(Arc::new(plan))
    }

    /// Returns the active lanes along the function, as far as they are known.
    pub(super) fn active_lanes(&self) -> Vec<(Range<u64>, ActiveLanes)> {
        let mut found: Vec<(Range<u64>, ActiveLanes)> = Vec::new();
        for (index, instruction) in self.code().instructions.iter().enumerate() {
            let Ok(active) = self.active(index) else {
                continue;
            };
            match found.last_mut() {
                Some((range, same)) if *same == active && range.end == instruction.address => {
                    range.end = instruction.end();
                }
                Some(_) | None => found.push((instruction.address..instruction.end(), active)),
            }
        }
        found
    }

    fn active(&self, index: usize) -> Result<ActiveLanes, Reason> {
        match self.exec_at(index) {
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
        planning: Planning<'_>,
        index: usize,
        histories: &[Option<History<'_>>],
        left: &mut Left,
    ) -> Result<PlacePlan, Reason> {
        let active = self.active(index)?;
        let mut halves = Vec::new();
        for half in 0..self.halves() {
            let history = histories.get(usize::from(half)).and_then(Option::as_ref);
            let mut asker = Asker {
                flow: self,
                at: HalfAt { index, half },
                is_kernel: planning.is_kernel,
                history,
                questions: MOST_QUESTIONS,
                arrivals: MOST_ARRIVALS,
                parting: BTreeSet::new(),
                left: &mut *left,
            };
            let mut plan = asker.start()?;
            let parting = plan.as_ref().map_or_else(BTreeSet::new, LanePlan::parting);
            if !parting.is_empty() {
                // Lanes that were switched off by different instructions do not wait together.
                asker.parting = parting.iter().map(|one| one.pc).collect();
                let told = asker.start()?;
                plan = told.map(|told| {
                    let parting = told.parting();
                    told.without_arrivals(&parting)
                });
            }
            // Without a plan, no lane is off here.
            halves.push(plan.unwrap_or(LanePlan::Elsewhere));
        }
        Ok(PlacePlan { active, halves })
    }

    /// Returns true if the facts after an instruction also hold before it.
    fn leaves_alone(&self, index: usize, plan: &PlacePlan) -> bool {
        let Some(instruction) = self.code().instructions.get(index) else {
            return false;
        };
        if !self.code().goes_on(index) {
            return false;
        }
        if self.is_idle(index) {
            return true;
        }
        if self.active(index) != Ok(plan.active) {
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
            | Effect::Vector { .. }
            | Effect::Dual(_)
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

/// Prepends the facts at an instruction to the facts of the later instructions.
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

/// Returns the plan of the range that contains an address.
fn plan_of(plans: &[RangePlan], address: u64) -> Option<Result<Arc<PlacePlan>, Reason>> {
    let after = plans.partition_point(|(range, _)| range.start <= address);
    let (range, plan) = plans.get(after.checked_sub(1)?)?;
    range.contains(&address).then(|| plan.clone())
}

/// Returns true if a plan states everything that the bits of the lanes determine at another place.
fn tells_as_much(plan: &PlacePlan, histories: &[Option<History<'_>>]) -> bool {
    let halves = plan.halves.iter().zip(histories);
    halves
        .into_iter()
        .all(|(plan, history)| history.as_ref().is_none_or(|one| one.is_told_by(plan)))
}

/// Asks every question of one place of the code with both answers.
struct Asker<'f> {
    flow: &'f FunctionFlow<'f>,
    at: HalfAt,
    is_kernel: bool,
    /// The switch-offs of the lanes that are inactive here, if they are requested.
    history: Option<&'f History<'f>>,
    /// The number of questions that may still be asked.
    questions: usize,
    /// The number of questions that may still be asked for the next acting instruction.
    arrivals: usize,
    /// The addresses where lanes resume that may part later. Their switch-offs are stated.
    parting: BTreeSet<u64>,
    /// The number of instructions that may still be followed.
    left: &'f mut Left,
}

impl Asker<'_> {
    /// Returns the plan of all lanes that are off. `None` if there are none.
    fn start(&mut self) -> Result<Option<LanePlan>, Reason> {
        let decisions = Decisions::default();
        let search = self.flow.search_from(self.at.index, Goal::On);
        self.ask(search, &decisions, DEPTH)
    }

    /// Returns the plan of the lanes with the decided bits. `None` if no lane has them.
    ///
    /// * `search`: the search, which waits for the last of these bits.
    fn ask(
        &mut self,
        mut search: Search,
        decisions: &Decisions,
        depth: usize,
    ) -> Result<Option<LanePlan>, Reason> {
        if let Some(history) = self.history {
            self.left.pay(history.cost)?;
            if !history.is_possible(decisions) {
                return Ok(None);
            }
        }
        let answer = (self.flow).go_on(&mut search, self.at, decisions, self.left);
        let place = match answer {
            Ok(WalkResult::Resumes(pc)) => {
                return self.arrive(pc, None, decisions, depth);
            }
            Ok(WalkResult::Leaves) => return Ok(Some(LanePlan::Elsewhere)),
            // The lane may also have stayed outside the function.
            Ok(WalkResult::Ends(_)) if !self.is_kernel => return Err(Reason::Caller),
            Ok(WalkResult::Ends(Some(pc))) => {
                return self.tell(LanePlan::Ends { pc, left: None }, decisions, depth);
            }
            Ok(WalkResult::Ends(None)) => return Err(Reason::SeveralEnds),
            Ok(WalkResult::Unknown(reason)) => return Err(reason),
            Err(undecided) => undecided.0,
        };
        let depth = self.may_ask(depth)?;
        let [clear, set] = [false, true].map(|bit| decisions.with(place, Some(bit)));
        let clear = self.ask(search.clone(), &clear, depth)?;
        let set = self.ask(search, &set, depth)?;
        Ok(both(place, clear, set))
    }

    /// Finds the next instruction that acts on the lanes with the decided bits, and then their switch-off. The lanes resume at `pc`. If no
    /// such instruction is found, the plan is right without it.
    ///
    /// * `search`: the search for it, if it has begun.
    fn arrive(
        &mut self,
        pc: u64,
        search: Option<Search>,
        decisions: &Decisions,
        depth: usize,
    ) -> Result<Option<LanePlan>, Reason> {
        let at = |arrival| LanePlan::Resumes {
            pc,
            left: None,
            arrival,
        };
        let Some(history) = self.history else {
            return Ok(Some(at(None)));
        };
        let following = self.flow.index_of(pc).and_then(|index| {
            let place = HalfAt {
                index,
                half: self.at.half,
            };
            self.flow.until_acting(place).arrival
        });
        if following.is_some() {
            return self.tell(at(following), decisions, depth);
        }
        let begin = || self.flow.search_from(self.at.index, Goal::Acting);
        let mut search = search.unwrap_or_else(begin);
        let found = (self.flow).go_on(&mut search, self.at, decisions, self.left);
        match found {
            Ok(WalkResult::Resumes(arrival)) => self.tell(at(Some(arrival)), decisions, depth),
            Ok(_) => self.tell(at(None), decisions, depth),
            Err(_) if self.arrivals == 0 || depth <= DEPTH_OF_ARRIVALS => {
                self.tell(at(None), decisions, depth)
            }
            Err(Undecided(place)) => {
                self.arrivals = self.arrivals.saturating_sub(1);
                let depth = depth.saturating_sub(1);
                let mut ask = |search, bit| {
                    let decisions = decisions.with(place, Some(bit));
                    self.left.pay(history.cost)?;
                    if !history.is_possible(&decisions) {
                        return Ok(None);
                    }
                    self.arrive(pc, Some(search), &decisions, depth)
                };
                let (clear, set) = (ask(search.clone(), false)?, ask(search, true)?);
                Ok(both(place, clear, set))
            }
        }
    }

    /// Adds the switch-off of the lanes with the decided bits to a plan, if it is requested.
    fn tell(
        &mut self,
        found: LanePlan,
        decisions: &Decisions,
        depth: usize,
    ) -> Result<Option<LanePlan>, Reason> {
        let waits_with_others = |pc: u64| self.parting.contains(&pc);
        let is_wanted = found.waiting().is_some_and(|one| waits_with_others(one.pc));
        let told = match self.history {
            Some(history) => {
                self.left.pay(history.cost)?;
                if is_wanted {
                    Some(history.told(decisions))
                } else {
                    history.tell(&found, decisions)
                }
            }
            None => None,
        };
        let Some(told) = told else {
            return Ok(Some(found));
        };
        match told {
            SwitchOff::By(left) => Ok(Some(found.with_switch_off(left))),
            SwitchOff::Ask(place) => {
                let depth = self.may_ask(depth)?;
                let bits = [false, true].map(|bit| decisions.with(place, Some(bit)));
                let [clear, set] =
                    bits.map(|decisions| self.tell(found.clone(), &decisions, depth));
                Ok(both(place, clear?, set?))
            }
        }
    }

    /// Counts a question. Returns the number of questions that may follow it.
    fn may_ask(&mut self, depth: usize) -> Result<usize, Reason> {
        self.questions = self.questions.checked_sub(1).ok_or(Reason::Budget)?;
        depth.checked_sub(1).ok_or(Reason::Budget)
    }
}
