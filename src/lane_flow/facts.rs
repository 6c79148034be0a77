//! The facts about a function from its entry on, for every wave that stops in it. They are the location of the stack, the meaning of EXEC,
//! and the dwords that can still reach EXEC.

use std::collections::{BTreeMap, BTreeSet};

use super::dataflow::{Dataflow, follow};
use super::fuel::{Fuel, Used};
use super::idle::Idle;
use super::liveness::{Dword, Live, Liveness};
use super::place::{DwordPlace, Slot};
use super::state::{Exec, SectionLanes, State};
use super::step::Context;
use super::value::Value;
use crate::arch::WaveSize;
use crate::isa::{Effect, MachineRegister, Span};
use crate::machine_flow::{Code, Edge, STACK_REGISTERS, Solution};

/// The facts about a function from its entry on.
#[derive(Debug)]
pub(super) struct Facts {
    /// The states of scalar registers, in terms of the entry.
    states: Solution<State>,
    /// True for each instruction after which EXEC is unchanged until the function returns, apart from whole-wave sections.
    is_whole: Vec<bool>,
    /// The meaning of EXEC before each instruction.
    exec: Vec<Exec>,
    /// The live dwords for each half of the wave.
    liveness: [Liveness; 2],
    /// The skipped instructions for each half of the wave.
    idle: [Idle; 2],
}

/// The effects of the instructions on scratch and on EXEC, found on the path from the entry.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The first row of scratch that each load or store of registers with scalar values accesses, by the index of the instruction.
    pub(super) rows: BTreeMap<usize, Slot>,
    /// The first row of scratch that each store accesses, if it is known.
    pub(super) stores: BTreeMap<usize, Slot>,
    /// The instructions that write all lanes.
    pub(super) writes_all: BTreeSet<usize>,
    /// The instructions that change which lanes are active.
    changes_exec: BTreeSet<usize>,
    /// The meaning of EXEC before each instruction.
    exec: Vec<Exec>,
}

impl Facts {
    /// Follows a function from its entry. Returns the fuel that was used, and `None` if it was not enough.
    ///
    /// * `most`: the fuel for each fact.
    pub(super) fn find(context: &Context<'_>, most: Fuel) -> (Option<Facts>, Used) {
        let mut entry = State::at_stop(Exec::Active);
        entry.is_whole = true;
        let mut fuel = most;
        let flow = follow(context, 0, entry, &mut fuel);
        let mut used = fuel.since(most);
        let Some(Dataflow { states, .. }) = flow else {
            return (None, used);
        };
        let marks = mark(context, &states);
        let mut find = |half| {
            let mut fuel = most;
            let live = Liveness::find(context.code, &marks, half, &mut fuel);
            used = used.plus(fuel.since(most));
            live
        };
        let liveness = match context.wave_size {
            WaveSize::Wave32 => [find(0).alone(), Liveness::default()],
            WaveSize::Wave64 => {
                let mut halves = [find(0), find(1)];
                Liveness::divide(&mut halves);
                halves
            }
        };
        let find = |liveness| Idle::find(context.code, &marks, liveness);
        let [low, high] = &liveness;
        let idle = match context.wave_size {
            WaveSize::Wave32 => [find(low), Idle::default()],
            WaveSize::Wave64 => [find(low), find(high)],
        };
        let facts = Facts {
            states,
            is_whole: until_return(context.code, &marks.changes_exec),
            exec: marks.exec,
            liveness,
            idle,
        };
        (Some(facts), used)
    }

    /// Returns the state before an instruction, in terms of the entry.
    pub(super) fn before(&self, context: &Context<'_>, index: usize) -> Option<State> {
        let step = |state: &mut State, index| context.step_dwords(state, index);
        self.states.before(context.code, index, step)
    }

    /// Returns the number of instructions that [`before`](Facts::before) has to replay.
    pub(super) fn since(&self, index: usize) -> usize {
        self.states.distance(index)
    }

    /// Returns the meaning of EXEC before an instruction.
    pub(super) fn exec(&self, index: usize) -> Exec {
        self.exec.get(index).copied().unwrap_or(Exec::Unknown)
    }

    /// Returns true if EXEC, as far as it contains the active lanes, has the same value at the return as before an instruction.
    pub(super) fn is_whole_until_return(&self, index: usize) -> bool {
        self.is_whole.get(index).copied().unwrap_or(false)
    }

    /// Returns the dwords that can reach one dword of EXEC, before an instruction that is the target of a branch.
    pub(super) fn live(&self, half: u8, index: usize) -> Option<&Live> {
        self.liveness.get(usize::from(half))?.live(index)
    }

    /// Returns the instructions that are skipped for a lane of one half.
    pub(super) fn idle(&self, half: u8) -> Option<&Idle> {
        self.idle.get(usize::from(half))
    }

    /// Returns true if the value that an instruction puts into a lane of a vector register is followed for a lane of one half: see
    /// [`Liveness::is_needed`].
    pub(super) fn is_needed(&self, half: u8, index: usize) -> bool {
        let liveness = self.liveness.get(usize::from(half));
        liveness.is_none_or(|liveness| liveness.is_needed(index))
    }

    /// Returns the vector registers and rows of scratch that [`live`](Facts::live) describes, in its order.
    pub(super) fn dwords(&self) -> &[Dword] {
        let [low, _] = &self.liveness;
        low.dwords()
    }
}

/// Collects the effects of all instructions of the function.
fn mark(context: &Context<'_>, states: &Solution<State>) -> Marks {
    let code = context.code;
    let mut marks = Marks {
        exec: vec![Exec::Unknown; code.instructions.len()],
        ..Marks::default()
    };
    states.replay(code, |state, index| {
        if let Some(instruction) = code.instructions.get(index) {
            if let Effect::Load(access) | Effect::Store(access) = instruction.effect
                && let Some(slot) = context.slot(state, &access)
            {
                let mut data = access.data.into_iter().flat_map(Span::registers);
                if data.any(|register| code.has_lanes(register)) {
                    marks.rows.insert(index, slot);
                }
                if matches!(instruction.effect, Effect::Store(_)) {
                    marks.stores.insert(index, slot);
                }
            }
            if let Some(exec) = marks.exec.get_mut(index) {
                *exec = state.exec;
            }
            if let Exec::Section(section) = state.exec
                && section.lanes == SectionLanes::All
            {
                marks.writes_all.insert(index);
            }
        }
        state.is_whole = true;
        context.step_dwords(state, index);
        if !state.is_whole {
            marks.changes_exec.insert(index);
        }
    });
    marks
}

/// Returns, for each instruction, true if every path from it to the return preserves EXEC. This is false if some path does not return.
fn until_return(code: &Code, changes_exec: &BTreeSet<usize>) -> Vec<bool> {
    let count = code.instructions.len();
    let fails = |index: &usize| {
        let mut edges = code.edges(*index);
        changes_exec.contains(index) || edges.any(|edge| matches!(edge, Edge::Ends | Edge::Lost))
    };
    let mut work: Vec<usize> = (0..count).filter(fails).collect();
    let mut is_whole = vec![true; count];
    while let Some(index) = work.pop() {
        let Some(whole) = is_whole.get_mut(index).filter(|whole| **whole) else {
            continue;
        };
        *whole = false;
        work.extend(code.before(index));
    }
    is_whole
}

/// Relates the registers that point to the stack to one another, as far as their distance is known. A value that is stored through one is
/// then found through the other.
///
/// * `known`: the state at the stop, in terms of the entry.
pub(super) fn relate_stack_registers(known: &State, state: &mut State) {
    let mut first: Option<(DwordPlace, MachineRegister, i32)> = None;
    for register in STACK_REGISTERS {
        match known.scalar(register) {
            Value::Word(word) => state.set_scalar(register, Value::Word(word)),
            Value::Initial { place, plus } => match first {
                Some((same, base, of_base)) if same == place => {
                    let value = Value::initial(DwordPlace::Scalar(base));
                    state.set_scalar(register, value.plus(plus.wrapping_sub(of_base)));
                }
                Some(_) => {}
                None => first = Some((place, register, plus)),
            },
            Value::Unknown | Value::Bit(_) | Value::BitOf { .. } | Value::Made(_) => {}
        }
    }
}

/// Returns a row of scratch in terms of a stop.
///
/// * `known`: the state at the stop, in terms of the entry, as `slot` is.
/// * `state`: the stop's own state.
pub(super) fn row_at_stop(
    context: &Context<'_>,
    slot: Slot,
    known: &State,
    state: &State,
) -> Option<Slot> {
    let Some(base) = slot.base else {
        return Some(slot);
    };
    for register in STACK_REGISTERS {
        let value = known.scalar(register);
        let same =
            matches!(value, Value::Initial { place, .. } if place == DwordPlace::Scalar(base));
        if same {
            // The distance of the register from the base of the row.
            let moved = context.slot_at(value, 0, slot.addressing)?;
            let offset = slot.offset.saturating_sub(moved.offset);
            return context.slot_at(state.scalar(register), offset, slot.addressing);
        }
    }
    None
}
