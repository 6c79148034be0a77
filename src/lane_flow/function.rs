//! One function: its graph, what is known of it from its entry on, and the plans of the places where waves
//! stopped in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use super::bill::{Bill, Cells, Cost, FactKey, Fuel, WithCost, cell_of};
use super::dataflow::{Returned, follow};
use super::facts::{Facts, relate_stack_registers, row_at_stop};
use super::gap::{self, Ahead};
use super::liveness::Dword;
use super::no_mask;
use super::place::{DwordPlace, Slot};
use super::state::{Exec, HalfAt, State};
use super::step::{Context, Follow};
use super::switches::{Contexts, MOST_KNOWN, Switch, Switches};
use super::tree::{Asker, Source, Tree};
use super::value::{Decisions, Undecided};
use super::walk::{Answer, Goal, Start, walk};
use crate::abi::{Callees, addressing};
use crate::arch::{Processor, ScratchAddressing, WaveSize};
use crate::error::Result;
use crate::isa::{Decoder, MachineRegister};
use crate::machine_flow::Code;
use crate::meter::Held;
use crate::sync::lock;

/// How many instructions may be gone through for one thing that is found out, for each that the function has; and the
/// bounds of their number.
const STEPS_EACH: usize = 512;
const LEAST_STEPS: usize = 1 << 16;
const MOST_STEPS: usize = 1 << 22;
/// How many times as many for all places of a function.
const PLANS: usize = 16;

/// Bits that are known of lanes, in the order of their places.
pub(super) type Bits = Vec<(DwordPlace, bool)>;

/// Some addresses; nothing if they cannot be told.
pub(super) type Addresses = Option<BTreeSet<u64>>;

/// What is known of a function.
#[derive(Debug)]
pub(super) struct FunctionFlow {
    address: u64,
    /// What is kept here.
    held: Held,
    code: Code,
    wave_size: WaveSize,
    addressing: Option<ScratchAddressing>,
    /// What is known from the entry on; nothing if it would take too long.
    facts: Option<Facts>,
    /// For each place where a wave stopped, what is known there.
    stops: Mutex<BTreeMap<usize, Arc<AtStop>>>,
    /// For each place where a wave stopped and half of the wave.
    plans: Mutex<BTreeMap<HalfAt, Tree>>,
    /// The same of what acts on the lanes next.
    arrivals: Mutex<BTreeMap<HalfAt, Tree>>,
    /// For each place where lanes go on and half of the wave, what follows.
    following: Mutex<BTreeMap<HalfAt, Arc<Ahead>>>,
    /// For each place where a wave stopped, what registers have when the function returns.
    returns: Cells<usize, Option<Arc<Returned>>>,
    /// For each half of the wave, what switches its lanes off; nothing if it would take too long.
    switches: [OnceLock<WithCost<Option<Switches>>>; 2],
    /// The same of lanes that did not enter the function.
    never: [OnceLock<WithCost<Option<Switches>>>; 2],
    /// By the address where a lane is on again and the half of the wave, where it can be before it is acted on.
    pub(super) ahead: Mutex<BTreeMap<(u64, u8), Addresses>>,
    /// The same for each place where a wave stopped.
    switches_at: Cells<HalfAt, Arc<[PossibleSwitch]>>,
}

/// The machine code of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionBytes<'b> {
    pub(super) processor: &'static Processor,
    pub(super) wave_size: WaveSize,
    pub(super) decoder: &'b Decoder,
    pub(super) address: u64,
    pub(super) code: &'b [u8],
}

/// The state of a wave that stops before an instruction, in terms of its own registers.
#[derive(Debug)]
struct AtStop {
    state: State,
    /// The rows of scratch that matter, in the order of [`Facts::dwords`].
    rows: Vec<Option<Slot>>,
}

/// An instruction that may have switched a lane off.
#[derive(Clone, Debug)]
pub(super) struct PossibleSwitch {
    pub(super) address: u64,
    /// What the lane's bits are at the stop if it did, in the order of places.
    pub(super) bits: Bits,
}

impl FunctionFlow {
    /// # Errors
    /// If it cannot be paid for. Nothing is given if the code cannot be decoded.
    pub(super) fn find(
        bytes: &FunctionBytes<'_>,
        callees: &Callees<'_>,
        bill: &Bill<'_>,
        held: Held,
    ) -> Result<WithCost<Option<Arc<FunctionFlow>>>> {
        let FunctionBytes {
            processor,
            wave_size,
            decoder,
            address,
            code,
        } = *bytes;
        let decoded = Cost::of_code(code);
        bill.affords(decoded)?;
        let Ok(code) = Code::new(decoder, callees, address, code) else {
            return Ok(WithCost {
                found: None,
                cost: decoded,
            });
        };
        let addressing = addressing(processor, &code.instructions);
        let mut function = FunctionFlow {
            address,
            held,
            code,
            wave_size,
            addressing,
            facts: None,
            plans: Mutex::default(),
            arrivals: Mutex::default(),
            following: Mutex::default(),
            returns: Mutex::default(),
            switches: Default::default(),
            never: Default::default(),
            ahead: Mutex::default(),
            switches_at: Mutex::default(),
            stops: Mutex::default(),
        };
        let context = function.context(callees, Follow::Scalars, &[]);
        let facts = Facts::find(&context, function.steps(), bill)?;
        function.facts = facts.found;
        let cost = decoded.plus(facts.cost);
        bill.hold(&function.held, cost.bytes)?;
        Ok(WithCost {
            found: Some(Arc::new(function)),
            cost,
        })
    }

    fn context<'c>(
        &'c self,
        callees: &'c Callees<'c>,
        follow: Follow,
        rows: &'c [Option<Slot>],
    ) -> Context<'c> {
        Context {
            code: &self.code,
            callees,
            wave_size: self.wave_size,
            addressing: self.addressing,
            facts: self.facts.as_ref(),
            rows,
            follow,
        }
    }

    fn steps(&self) -> usize {
        let steps = self.code.instructions.len().saturating_mul(STEPS_EACH);
        steps.clamp(LEAST_STEPS, MOST_STEPS)
    }

    /// The number of the instruction at an address.
    pub(super) fn index_of(&self, pc: u64) -> Option<usize> {
        self.code.index_of(pc)
    }

    /// Whether the same is known of lanes before an instruction as after it.
    pub(super) fn is_idle(&self, index: usize) -> bool {
        let does_nothing = |half| self.facts.as_ref()?.idle(half)?.forgets(index);
        (0..self.halves()).all(|half| does_nothing(half) == Some(0))
    }

    /// Whether an instruction is where a call returns to.
    pub(super) fn is_after_call(&self, index: usize) -> bool {
        self.code.is_after_call(index)
    }

    pub(super) fn code(&self) -> &Code {
        &self.code
    }

    /// Drops what is kept of a place.
    pub(super) fn forget(&self, index: usize) {
        let mut stops = lock(&self.stops);
        stops.remove(&index);
    }

    /// How many halves of 32 lanes the wave has.
    pub(super) fn halves(&self) -> u8 {
        match self.wave_size {
            WaveSize::Wave32 => 1,
            WaveSize::Wave64 => 2,
        }
    }

    /// How many instructions one is after the last place from which on it is known what is known before it.
    pub(super) fn since(&self, index: usize) -> usize {
        self.facts.as_ref().map_or(0, |facts| facts.since(index))
    }

    /// Whether EXEC says before an instruction which lanes are active.
    pub(super) fn is_plain(&self, index: usize) -> bool {
        self.exec_at(index) == Exec::Active
    }

    /// Returns what EXEC says before an instruction.
    pub(super) fn exec_at(&self, index: usize) -> Exec {
        let facts = self.facts.as_ref();
        facts.map_or(Exec::Unknown, |facts| facts.exec(index))
    }

    /// Returns how many instructions may be gone through for the plan of every place.
    ///
    /// * `with_switch_off`: whether the plan tells what switched lanes off, for which as many are allowed again.
    pub(super) fn most_plan_steps(&self, with_switch_off: bool) -> usize {
        let times = if with_switch_off { 2 } else { 1 };
        self.steps().saturating_mul(PLANS).saturating_mul(times)
    }

    /// Follows the lanes of a half with some bits, from before an instruction on.
    ///
    /// # Errors
    /// A place whose bit decides where they go.
    pub(super) fn walk_from(
        &self,
        callees: &Callees<'_>,
        at: HalfAt,
        goal: Goal,
        decisions: &Decisions,
        left: &mut usize,
    ) -> Result<Answer, Undecided> {
        let stop = self.at_stop(callees, at.index);
        let contexts = self.contexts(callees, at.half, &stop.rows);
        let before = self.steps().min(*left);
        let mut fuel = Fuel::of(before);
        let start = Start {
            index: at.index,
            state: stop.state.clone(),
            decisions,
        };
        let answer = walk(&contexts, start, goal, &mut fuel);
        *left = left.saturating_sub(before.saturating_sub(fuel.instructions()));
        answer
    }

    /// Returns what a lane of a half executes that goes on at an instruction, up to the first that may act on it.
    pub(super) fn until_acting(&self, callees: &Callees<'_>, at: HalfAt) -> Arc<Ahead> {
        let HalfAt { index, half } = at;
        /// Hardly any instruction is so far after the last target of a branch; finding its state would take long.
        const FAR: usize = 1 << 16;
        let find = || {
            if self.since(index) > FAR {
                let address = self.code.instructions.get(index).map(|one| one.address);
                return Arc::new(Ahead {
                    places: address.into_iter().collect(),
                    arrival: None,
                });
            }
            // It is asked for once, and what is known there would be kept for ever.
            let stop = self.find_at_stop(callees, index);
            let context = self.context(callees, Follow::ActiveLane(half), &stop.rows);
            Arc::new(gap::until_acting(&context, index, stop.state))
        };
        let mut following = lock(&self.following);
        Arc::clone(following.entry(at).or_insert_with(find))
    }

    /// The instruction that switched a lane off, and those around it that act on no lane.
    pub(super) fn around(&self, index: usize) -> Vec<u64> {
        gap::around(&self.code, index)
    }

    fn at_stop(&self, callees: &Callees<'_>, index: usize) -> Arc<AtStop> {
        let mut stops = lock(&self.stops);
        let find = || Arc::new(self.find_at_stop(callees, index));
        Arc::clone(stops.entry(index).or_insert_with(find))
    }

    fn find_at_stop(&self, callees: &Callees<'_>, index: usize) -> AtStop {
        let context = self.context(callees, Follow::Scalars, &[]);
        let known = |facts: &Facts| facts.before(&context, index);
        let (Some(facts), Some(known)) = (&self.facts, self.facts.as_ref().and_then(known)) else {
            return AtStop {
                state: State::at_stop(Exec::Unknown),
                rows: Vec::new(),
            };
        };
        let mut state = State::at_stop(known.exec);
        state.is_whole = known.is_whole;
        if known.vectors_lost {
            state.lose_vectors();
        }
        relate_stack_registers(&known, &mut state);
        let rows = facts.dwords().iter().map(|dword| match dword {
            Dword::Register(_) => None,
            Dword::Row(slot) => row_at_stop(&context, *slot, &known, &state),
        });
        let rows = rows.collect();
        AtStop { state, rows }
    }

    /// Whether EXEC says which lanes are active before an instruction.
    pub(super) fn exec(&self, callees: &Callees<'_>, index: usize) -> Exec {
        self.at_stop(callees, index).state.exec
    }

    /// Answers for lanes of one half of the wave that are not active before an instruction: where they go on, or what acts on
    /// them next.
    ///
    /// # Errors
    /// If it cannot be paid for.
    pub(super) fn ask(
        &self,
        callees: &Callees<'_>,
        at: HalfAt,
        lanes: u32,
        goal: Goal,
        asker: &mut impl Asker,
        bill: &Bill<'_>,
    ) -> Result<()> {
        let HalfAt { index, half } = at;
        let mut plans = match goal {
            Goal::Acting => lock(&self.arrivals),
            Goal::On => lock(&self.plans),
        };
        let plan = (plans.entry(at)).or_insert_with(|| Tree::new(self.steps()));
        let stop = self.at_stop(callees, index);
        let source = Source {
            contexts: &self.contexts(callees, half, &stop.rows),
            goal,
            start: index,
            state: &stop.state,
        };
        plan.ask(lanes, &source, bill, asker)
    }

    /// What registers have when the function returns, for a wave that is before an instruction; nothing if
    /// it does not return, or that is not known.
    ///
    /// # Errors
    /// If it cannot be paid for.
    pub(super) fn returned(
        &self,
        callees: &Callees<'_>,
        index: usize,
        bill: &Bill<'_>,
    ) -> Result<Option<Arc<Returned>>> {
        let cell = cell_of(&self.returns, index);
        let find = || {
            let context = self.context(callees, Follow::Dwords, &[]);
            let state = self.at_stop(callees, index).state.clone();
            let found = bill.find(self.steps(), |fuel| {
                let flow = follow(&context, index, state, fuel)?;
                let returned = flow.returned.filter(|_| !flow.is_lost)?;
                Some(Arc::new(returned))
            })?;
            Ok(found.keeping(|returned, _| returned.state.bytes()))
        };
        let key = (self.address, FactKey::Returned(index));
        bill.keep(&cell, key, &self.held, find).cloned()
    }

    /// The instructions that may have switched lanes of a half off that are off before an instruction. None if it
    /// would take too long to tell.
    ///
    /// # Errors
    /// If it cannot be paid for.
    pub(super) fn switches(
        &self,
        callees: &Callees<'_>,
        at: HalfAt,
        bill: &Bill<'_>,
    ) -> Result<Arc<[PossibleSwitch]>> {
        let cell = cell_of(&self.switches_at, at);
        // What it takes to find what switches lanes off anywhere is paid for by itself.
        let all = self.all_switches(callees, at.half, true, bill)?;
        let find = || {
            bill.find(MOST_KNOWN, |fuel| {
                let all = all.and_then(|all| self.off_lanes(all, callees, at, fuel));
                let all = all.map(|all| self.possible_switches(all));
                Arc::from(all.unwrap_or_default())
            })
            .map(|found| found.with_bytes(bytes_of))
        };
        let key = (self.address, FactKey::SwitchesAt(at));
        bill.keep(&cell, key, &self.held, find).cloned()
    }

    /// The same, found again each time.
    ///
    /// * `fuel`: how many instructions may be gone through from the last place on that branches go to.
    ///
    /// # Errors
    /// If what is kept for all places cannot be paid for.
    pub(super) fn find_switches(
        &self,
        callees: &Callees<'_>,
        at: HalfAt,
        bill: &Bill<'_>,
        fuel: &mut Fuel,
    ) -> Result<Option<Vec<PossibleSwitch>>> {
        let all = self.all_switches(callees, at.half, true, bill)?;
        let off = all.and_then(|all| self.off_lanes(all, callees, at, fuel));
        Ok(off.map(|off| self.possible_switches(off)))
    }

    /// The bits that lanes have before an instruction that did not enter the function. As [`find_switches`](Self::find_switches).
    pub(super) fn find_never(
        &self,
        callees: &Callees<'_>,
        at: HalfAt,
        bill: &Bill<'_>,
        fuel: &mut Fuel,
    ) -> Result<Option<Vec<Bits>>> {
        let all = self.all_switches(callees, at.half, false, bill)?;
        let off = all.and_then(|all| self.off_lanes(all, callees, at, fuel));
        Ok(off.map(|off| off.into_iter().map(|(_, bits)| bits).collect()))
    }

    /// Of the lanes of a half, those that entered the function or those that did not, what switches them off at each place.
    pub(super) fn all_switches(
        &self,
        callees: &Callees<'_>,
        half: u8,
        entered: bool,
        bill: &Bill<'_>,
    ) -> Result<Option<&Switches>> {
        let (kept, key, switch) = if entered {
            (&self.switches, FactKey::Switches(half), Switch::On)
        } else {
            (&self.never, FactKey::Never(half), Switch::NotEntered)
        };
        let (Some(rows), Some(cell)) = (self.rows_at_entry(), kept.get(usize::from(half))) else {
            return Ok(None);
        };
        let find = || {
            let contexts = self.contexts(callees, half, &rows);
            let found = bill.find(self.steps(), |fuel| {
                Switches::find(&contexts, State::at_entry(), switch, fuel)
            })?;
            Ok(found.keeping(|_, bytes| bytes))
        };
        let found = bill.keep(cell, (self.address, key), &self.held, find)?;
        Ok(found.as_ref())
    }

    /// The lanes that may be off before an instruction, by what switched them off, with their bits.
    fn off_lanes(
        &self,
        all: &Switches,
        callees: &Callees<'_>,
        at: HalfAt,
        fuel: &mut Fuel,
    ) -> Option<Vec<(Switch, Bits)>> {
        let rows = self.rows_at_entry()?;
        let contexts = self.contexts(callees, at.half, &rows);
        let found = all.before(&contexts, at.index, fuel)?;
        fuel.count(found.iter().map(|(_, state)| state.size()).sum())?;
        let off = found.iter().filter(|(switch, _)| *switch != Switch::On);
        let bits = |state| self.bits_at_stop(callees, at.index, state);
        Some(off.map(|(switch, state)| (*switch, bits(state))).collect())
    }

    fn possible_switches(&self, off: Vec<(Switch, Bits)>) -> Vec<PossibleSwitch> {
        let possible = off.into_iter().filter_map(|(switch, bits)| {
            let instruction = self.code.instructions.get(switch.instruction()?)?;
            Some(PossibleSwitch {
                address: instruction.address,
                bits,
            })
        });
        possible.collect()
    }

    /// Rows of scratch in terms of the entry.
    pub(super) fn rows_at_entry(&self) -> Option<Vec<Option<Slot>>> {
        let rows = (self.facts.as_ref()?.dwords().iter()).map(|dword| match dword {
            Dword::Register(_) => None,
            Dword::Row(slot) => Some(*slot),
        });
        Some(rows.collect())
    }

    pub(super) fn contexts<'c>(
        &'c self,
        callees: &'c Callees<'c>,
        half: u8,
        rows: &'c [Option<Slot>],
    ) -> Contexts<'c> {
        Contexts {
            on: self.context(callees, Follow::ActiveLane(half), rows),
            off: self.context(callees, Follow::Lane(half), rows),
        }
    }

    /// The bits that a state in terms of the entry knows before an instruction, in places of a wave that stops there, in
    /// the order of places.
    pub(super) fn bits_at_stop(&self, callees: &Callees<'_>, index: usize, state: &State) -> Bits {
        let stop = self.at_stop(callees, index);
        let dwords = self.facts.as_ref().map_or(&[][..], Facts::dwords);
        let place_at_stop = |place: DwordPlace| match place {
            DwordPlace::Scratch { slot, lane } => {
                let row = dwords.binary_search(&Dword::Row(slot)).ok()?;
                let slot = stop.rows.get(row).copied().flatten()?;
                Some(DwordPlace::Scratch { slot, lane })
            }
            DwordPlace::Scalar(_) | DwordPlace::Lane { .. } => Some(place),
        };
        let bits = state.known_bits().into_iter();
        let bits = bits.filter_map(|(place, bit)| Some((place_at_stop(place)?, bit)));
        let mut bits: Vec<_> = bits.collect();
        bits.sort_unstable_by_key(|(place, _)| *place);
        bits
    }

    /// Whether every way to an instruction puts something into a scalar register that is no mask.
    pub(super) fn holds_no_mask(
        &self,
        callees: &Callees<'_>,
        index: usize,
        register: MachineRegister,
    ) -> bool {
        no_mask::holds_no_mask(&self.code, callees, index, register)
    }
}

/// How many bytes what may have switched lanes off takes.
fn bytes_of(switches: &Arc<[PossibleSwitch]>) -> u64 {
    let bits = |one: &PossibleSwitch| {
        one.bits
            .len()
            .saturating_mul(size_of::<(DwordPlace, bool)>())
    };
    let all = switches
        .iter()
        .map(|one| bits(one).saturating_add(size_of::<PossibleSwitch>()));
    all.fold(0, usize::saturating_add) as u64
}
