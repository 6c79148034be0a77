//! One function: its graph, the facts about it from its entry on, and the plans of the places where waves stopped in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use super::Reason;
use super::answers::Answers;
use super::dataflow::{Returned, follow};
use super::facts::{Facts, relate_stack_registers, row_at_stop};
use super::fuel::{Fuel, Left, pay};
use super::gap::{self, UntilActing};
use super::liveness::Dword;
use super::no_mask;
use super::place::{DwordPlace, Slot};
use super::state::{Exec, HalfAt, State};
use super::step::{Context, Follow};
use super::switches::{Contexts, FollowedLane, MOST_KNOWN, Switch, Switches};
use super::tree::{Asking, Source, Tree};
use super::value::{Decisions, Undecided};
use super::walk::{Goal, Search, WalkResult};
use crate::abi::{Callees, addressing};
use crate::arch::{Processor, ScratchAddressing, WaveSize};
use crate::error::Result;
use crate::isa::{Decoder, MachineRegister};
use crate::machine_flow::Code;
use crate::meter::{Held, Meter};
use crate::sync::lock;

/// The number of instructions that may be followed to find one fact, per instruction of the function, and its bounds.
const INSTRUCTIONS_EACH: usize = 512;
const LEAST_INSTRUCTIONS: usize = 1 << 16;
const MOST_INSTRUCTIONS: usize = 1 << 22;
/// The factor by which the budget for all places of a function exceeds the budget of one fact.
const PLANS: usize = 16;

/// Known bits of lanes, sorted by place.
pub(super) type Bits = Vec<(DwordPlace, bool)>;

/// A set of addresses. `None` if they are unknown.
pub(super) type Addresses = Option<BTreeSet<u64>>;

/// The facts about one function.
#[derive(Debug)]
pub(crate) struct FunctionFlow<'a> {
    callees: Arc<Callees<'a>>,
    /// The memory that is charged for the kept facts.
    held: Held,
    /// The budget of each fact about the function.
    fuel: Fuel,
    /// The number of instructions that were followed for its code and the facts from the entry on.
    used: usize,
    code: Code,
    wave_size: WaveSize,
    addressing: Option<ScratchAddressing>,
    /// The facts from the entry on. `None` if the budget was exceeded.
    facts: Option<Facts>,
    /// The known state at each place where a wave stopped.
    stops: Mutex<BTreeMap<usize, Arc<AtStop>>>,
    /// The tree for each place where a wave stopped and each half of the wave.
    plans: Mutex<BTreeMap<HalfAt, Tree>>,
    /// The trees that lead to the next instructions that act on the lanes.
    arrivals: Mutex<BTreeMap<HalfAt, Tree>>,
    /// The instructions that follow each place where lanes resume, for each half of the wave.
    following: Mutex<BTreeMap<HalfAt, Arc<UntilActing>>>,
    /// The contents of registers when the function returns, for each place where a wave stopped.
    returns: PlaceCache<usize, Arc<Returned>>,
    /// For each half of the wave, the instructions that switch its lanes off, and the number of instructions that were followed. `None` if
    /// the budget was exceeded.
    switches: [OnceLock<(Option<Switches>, usize)>; 2],
    /// As `switches`, for lanes that did not enter the function.
    never: [OnceLock<(Option<Switches>, usize)>; 2],
    /// The possible addresses of a resumed lane until an instruction acts on it, by the address where it resumes and the half of the wave.
    pub(super) ahead: Mutex<BTreeMap<(u64, u8), Addresses>>,
    /// The possible switch-off points for each place at which a wave stopped.
    switches_at: PlaceCache<HalfAt, Arc<[PossibleSwitch]>>,
}

/// The facts for places of a function, and the number of instructions that were followed for each. A fact is `None` if the budget was
/// exceeded.
type PlaceCache<K, T> = Mutex<BTreeMap<K, (Option<T>, usize)>>;

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
    /// The relevant rows of scratch, in the order of [`Facts::dwords`].
    rows: Vec<Option<Slot>>,
}

/// An instruction that may have switched a lane off.
#[derive(Clone, Debug)]
pub(super) struct PossibleSwitch {
    pub(super) address: u64,
    /// The bits at the stop of a lane that the instruction switched off, sorted by place.
    pub(super) bits: Bits,
}

impl<'a> FunctionFlow<'a> {
    /// Decodes a function and finds the facts from its entry on.
    ///
    /// # Errors
    /// [`Reason::Code`] if the code cannot be decoded, [`Reason::Budget`] if the budget is exceeded.
    ///
    /// * `fuel`: the budget of each fact.
    pub(super) fn find(
        bytes: &FunctionBytes<'_>,
        callees: &Arc<Callees<'a>>,
        mut fuel: Fuel,
        held: Held,
    ) -> core::result::Result<FunctionFlow<'a>, Reason> {
        let count = bytes.code.len() / 4;
        let most = fuel;
        let is_paid = fuel.decode(count).is_some();
        if !is_paid || !held.try_hold(bytes_of_code(bytes.code)) {
            return Err(Reason::Budget);
        }
        let code = Code::new(bytes.decoder, callees, bytes.address, bytes.code);
        let code = code.map_err(|_| Reason::Code)?;
        let mut function = FunctionFlow {
            callees: Arc::clone(callees),
            held,
            fuel: most,
            used: 0,
            addressing: addressing(bytes.processor, &code.instructions),
            code,
            wave_size: bytes.wave_size,
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
        function.fuel = most.at_most(function.steps());
        let context = function.context(Follow::Scalars, &[]);
        let (facts, used) = Facts::find(&context, function.fuel);
        function.used = used.plus(fuel.since(most)).instructions;
        function.facts = facts.filter(|_| function.held.try_hold(used.bytes));
        Ok(function)
    }

    fn context<'c>(&'c self, follow: Follow, rows: &'c [Option<Slot>]) -> Context<'c> {
        Context {
            code: &self.code,
            callees: &self.callees,
            wave_size: self.wave_size,
            addressing: self.addressing,
            facts: self.facts.as_ref(),
            rows,
            follow,
        }
    }

    /// Charges for the kept facts about the whole function. Plans visit all of it, and are charged for everything that they need.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(crate) fn pay_for_code(&self, meter: &Meter) -> Result<()> {
        pay(meter, self.used)
    }

    /// Charges for the facts about instructions that switch lanes off, as [`pay_for_code`](Self::pay_for_code) does.
    pub(super) fn pay_for_switches(&self, meter: &Meter) -> Result<()> {
        let kept = self.switches.iter().chain(&self.never);
        let mut found = kept.filter_map(OnceLock::get);
        found.try_for_each(|(_, used)| pay(meter, *used))
    }

    pub(super) fn steps(&self) -> usize {
        let steps = self
            .code
            .instructions
            .len()
            .saturating_mul(INSTRUCTIONS_EACH);
        steps.clamp(LEAST_INSTRUCTIONS, MOST_INSTRUCTIONS)
    }

    /// Returns the index of the instruction at an address.
    pub(super) fn index_of(&self, pc: u64) -> Option<usize> {
        self.code.index_of(pc)
    }

    /// Returns true if an instruction does not change the known facts about lanes.
    pub(super) fn is_idle(&self, index: usize) -> bool {
        let does_nothing = |half| self.facts.as_ref()?.idle(half)?.forgets(index);
        (0..self.halves()).all(|half| does_nothing(half) == Some(0))
    }

    /// Returns true if an instruction is the return address of a call.
    pub(super) fn is_after_call(&self, index: usize) -> bool {
        self.code.is_after_call(index)
    }

    pub(crate) fn callees(&self) -> &Callees<'a> {
        &self.callees
    }

    pub(crate) fn code(&self) -> &Code {
        &self.code
    }

    pub(crate) fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    /// Returns the unit of the stack pointer. `None` if the code does not show it.
    pub(crate) fn addressing(&self) -> Option<ScratchAddressing> {
        self.addressing
    }

    /// Drops the kept state of a place.
    pub(super) fn forget(&self, index: usize) {
        let mut stops = lock(&self.stops);
        stops.remove(&index);
    }

    /// Returns the number of halves of 32 lanes that the wave has.
    pub(super) fn halves(&self) -> u8 {
        match self.wave_size {
            WaveSize::Wave32 => 1,
            WaveSize::Wave64 => 2,
        }
    }

    /// Returns the number of instructions that have to be replayed to find the state before an instruction.
    pub(super) fn since(&self, index: usize) -> usize {
        self.facts.as_ref().map_or(0, |facts| facts.since(index))
    }

    /// Returns true if EXEC contains the active lanes before an instruction.
    pub(crate) fn is_plain(&self, index: usize) -> bool {
        self.exec_at(index) == Exec::Active
    }

    /// Returns the meaning of EXEC before an instruction.
    pub(super) fn exec_at(&self, index: usize) -> Exec {
        let facts = self.facts.as_ref();
        facts.map_or(Exec::Unknown, |facts| facts.exec(index))
    }

    /// Returns the number of instructions that may be followed for the plans of all places.
    pub(super) fn most_plan_steps(&self) -> usize {
        self.steps().saturating_mul(PLANS)
    }

    /// Creates a search for the places to which lanes go from an instruction on.
    pub(super) fn search_from(&self, index: usize, goal: Goal) -> Search {
        Search::new(goal, index, self.at_stop(index).state.clone())
    }

    /// Goes on with a search from an instruction, for the lanes of a half that have some bits.
    ///
    /// # Errors
    /// A place whose bit decides where they go.
    pub(super) fn go_on(
        &self,
        search: &mut Search,
        at: HalfAt,
        decisions: &Decisions,
        left: &mut Left,
    ) -> Result<WalkResult, Undecided> {
        let stop = self.at_stop(at.index);
        let contexts = self.contexts(at.half, &stop.rows);
        let most = self.steps().min(left.instructions());
        let (answer, used) = search.go_on(&contexts, decisions, most);
        left.take(used);
        answer
    }

    /// Returns the instructions that a lane of a half executes from its resumption up to the first that may act on it.
    pub(super) fn until_acting(&self, at: HalfAt) -> Arc<UntilActing> {
        let HalfAt { index, half } = at;
        /// Few instructions are this far after the last branch target; finding their state would take long.
        const FAR: usize = 1 << 16;
        let find = || {
            if self.since(index) > FAR {
                let address = self.code.instructions.get(index).map(|one| one.address);
                return Arc::new(UntilActing {
                    places: address.into_iter().collect(),
                    arrival: None,
                });
            }
            // The state is needed once only, and would otherwise be kept forever.
            let stop = self.find_at_stop(index);
            let context = self.context(Follow::ActiveLane(half), &stop.rows);
            Arc::new(gap::until_acting(&context, index, stop.state))
        };
        let mut following = lock(&self.following);
        Arc::clone(following.entry(at).or_insert_with(find))
    }

    /// Returns the instruction that switched a lane off, and the neighbouring instructions that act on no lane.
    pub(super) fn around(&self, index: usize) -> Vec<u64> {
        gap::around(&self.code, index)
    }

    fn at_stop(&self, index: usize) -> Arc<AtStop> {
        let mut stops = lock(&self.stops);
        let find = || Arc::new(self.find_at_stop(index));
        Arc::clone(stops.entry(index).or_insert_with(find))
    }

    fn find_at_stop(&self, index: usize) -> AtStop {
        let context = self.context(Follow::Scalars, &[]);
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

    /// Returns the relation of EXEC to the active lanes before an instruction.
    pub(super) fn exec(&self, index: usize) -> Exec {
        self.at_stop(index).state.exec
    }

    /// Answers for the inactive lanes of one half before an instruction: where they resume, or the next instruction that acts on them.
    ///
    /// # Errors
    /// If the budget of the query is exceeded.
    pub(super) fn ask(
        &self,
        at: HalfAt,
        lanes: u32,
        asker: &mut Answers<'_, '_, '_>,
        meter: &Meter,
    ) -> Result<()> {
        let HalfAt { index, half } = at;
        let goal = asker.goal;
        let plans = match goal {
            Goal::Acting => &self.arrivals,
            Goal::On => &self.plans,
        };
        let stop = self.at_stop(index);
        let source = Source {
            contexts: &self.contexts(half, &stop.rows),
            goal,
            start: index,
            state: &stop.state,
        };
        let mut asking = Asking::for_lanes(lanes);
        loop {
            let missing = {
                let mut plans = lock(plans);
                let plan = (plans.entry(at)).or_insert_with(|| Tree::new(self.steps()));
                plan.go_on(&mut asking, &source, meter, asker)?
            };
            match missing {
                Some(unread) => asking.word = asker.read(unread),
                None => return Ok(()),
            }
        }
    }

    /// Finds a fact for a place, or returns the kept one, and charges the query for it. Returns `None` if the budget was exceeded. If
    /// there is no room to keep the fact, it is found again each time.
    ///
    /// * `find`: finds the fact, and charges for the followed instructions.
    /// * `bytes`: returns the size of the kept fact.
    ///
    /// # Errors
    /// If the query costs more than its budget.
    fn keep<K: Ord, T: Clone>(
        &self,
        kept: &PlaceCache<K, T>,
        key: K,
        meter: &Meter,
        fuel: Fuel,
        find: impl FnOnce(&mut Fuel) -> Option<T>,
        bytes: impl FnOnce(&T) -> u64,
    ) -> Result<Option<T>> {
        let mut kept = lock(kept);
        let (found, used) = match kept.get(&key) {
            Some(known) => known.clone(),
            None => {
                let mut left = fuel;
                let found = find(&mut left);
                let used = left.since(fuel).instructions;
                if self.held.try_hold(found.as_ref().map_or(0, bytes)) {
                    kept.insert(key, (found.clone(), used));
                }
                (found, used)
            }
        };
        pay(meter, used)?;
        Ok(found)
    }

    /// Returns the contents of registers when the function returns, for a wave before an instruction. Returns `None` if the function does
    /// not return, or the contents are unknown.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(super) fn returned(&self, index: usize, meter: &Meter) -> Result<Option<Arc<Returned>>> {
        let find = |fuel: &mut Fuel| {
            let context = self.context(Follow::Dwords, &[]);
            let state = self.at_stop(index).state.clone();
            let flow = follow(&context, index, state, fuel)?;
            flow.returned.filter(|_| !flow.is_lost).map(Arc::new)
        };
        let bytes = |returned: &Arc<Returned>| returned.state.bytes();
        let fuel = Fuel::of(self.steps());
        self.keep(&self.returns, index, meter, fuel, find, bytes)
    }

    /// Returns the instructions that may have switched off the lanes of a half that are inactive before an instruction. Returns none if the
    /// budget was exceeded.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(super) fn switches(&self, at: HalfAt, meter: &Meter) -> Result<Arc<[PossibleSwitch]>> {
        let find = |fuel: &mut Fuel| self.find_switches(at, fuel).map(Arc::from);
        let fuel = Fuel::of(MOST_KNOWN);
        let found = self.keep(&self.switches_at, at, meter, fuel, find, bytes_of)?;
        Ok(found.unwrap_or_default())
    }

    /// Finds the instructions that `switches` returns, without keeping them.
    ///
    /// * `fuel`: the budget of instructions from the last branch target on.
    pub(super) fn find_switches(&self, at: HalfAt, fuel: &mut Fuel) -> Option<Vec<PossibleSwitch>> {
        let off = self.off_lanes(at, Switch::On, fuel)?;
        Some(self.possible_switches(off))
    }

    /// Returns the bits, before an instruction, of lanes that did not enter the function. Uses `fuel` as
    /// [`find_switches`](Self::find_switches) does.
    pub(super) fn find_never(&self, at: HalfAt, fuel: &mut Fuel) -> Option<Vec<Bits>> {
        let off = self.off_lanes(at, Switch::NotEntered, fuel)?;
        Some(off.into_iter().map(|(_, bits)| bits).collect())
    }

    /// Returns the instructions that switch off the lanes of a half at each place, for lanes that entered the function or for lanes that
    /// did not.
    ///
    /// * `entry`: the state of the lanes at the entry, [`Switch::On`] or [`Switch::NotEntered`].
    pub(super) fn all_switches(&self, half: u8, entry: Switch) -> Option<&Switches> {
        let kept = match entry {
            Switch::NotEntered => &self.never,
            Switch::On | Switch::At(_) | Switch::Several => &self.switches,
        };
        let find = || {
            let rows = self.rows_at_entry().unwrap_or_default();
            let contexts = self.contexts(half, &rows);
            let mut fuel = self.fuel;
            let lane = FollowedLane {
                switch: entry,
                state: State::at_entry(),
                companion: (),
            };
            let found = Switches::find(&contexts, lane, &(), &mut fuel);
            let used = fuel.since(self.fuel);
            let found = found.filter(|_| self.held.try_hold(used.bytes));
            (found, used.instructions)
        };
        self.facts.as_ref()?;
        let (found, _) = kept.get(usize::from(half))?.get_or_init(find);
        found.as_ref()
    }

    /// Returns the lanes that may be off before an instruction, by their switch-off, with their bits.
    fn off_lanes(&self, at: HalfAt, entry: Switch, fuel: &mut Fuel) -> Option<Vec<(Switch, Bits)>> {
        let all = self.all_switches(at.half, entry)?;
        let rows = self.rows_at_entry()?;
        let contexts = self.contexts(at.half, &rows);
        let found = all.before(&contexts, at.index, &(), fuel)?;
        fuel.count(found.iter().map(|lane| lane.state.size()).sum())?;
        let off = found.iter().filter(|lane| lane.switch != Switch::On);
        let bits = |state| self.bits_at_stop(at.index, state);
        Some(off.map(|lane| (lane.switch, bits(&lane.state))).collect())
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

    /// Returns the rows of scratch in terms of the entry.
    pub(super) fn rows_at_entry(&self) -> Option<Vec<Option<Slot>>> {
        let rows = (self.facts.as_ref()?.dwords().iter()).map(|dword| match dword {
            Dword::Register(_) => None,
            Dword::Row(slot) => Some(*slot),
        });
        Some(rows.collect())
    }

    pub(super) fn contexts<'c>(&'c self, half: u8, rows: &'c [Option<Slot>]) -> Contexts<'c> {
        Contexts {
            on: self.context(Follow::ActiveLane(half), rows),
            off: self.context(Follow::Lane(half), rows),
        }
    }

    /// Returns the bits that are known in a state in terms of the entry, as places of a wave that stops before an instruction. The bits are
    /// sorted by place.
    pub(super) fn bits_at_stop(&self, index: usize, state: &State) -> Bits {
        let stop = self.at_stop(index);
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

    /// Returns true if every path to an instruction writes a value that is not a mask into a scalar register.
    pub(super) fn holds_no_mask(&self, index: usize, register: MachineRegister) -> bool {
        no_mask::holds_no_mask(&self.code, &self.callees, index, register)
    }
}

/// Returns the number of bytes that are charged for the decoded instructions of some code.
pub(super) fn bytes_of_code(code: &[u8]) -> u64 {
    /// The bytes that are charged for each instruction.
    const BYTES: u64 = 512;
    (code.len() as u64 / 4).saturating_mul(BYTES)
}

/// Returns the size of a list of possible switch-offs in bytes.
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
