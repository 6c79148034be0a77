//! What is known of a function from its entry on, whoever stops in it: where the stack is, whether EXEC
//! says who is active, and which dwords can still reach EXEC.

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

/// See the head of the module.
#[derive(Debug)]
pub(super) struct Facts {
    /// The states of scalar registers, in terms of the entry.
    states: Solution<State>,
    /// True for each instruction after which EXEC is unchanged until the function returns, apart from whole-wave sections.
    is_whole: Vec<bool>,
    /// What EXEC says before each instruction.
    exec: Vec<Exec>,
    /// For each half of the wave.
    liveness: [Liveness; 2],
    /// Likewise.
    idle: [Idle; 2],
}

/// What an instruction does to what lies in scratch and to EXEC, as it was found on the way from the entry.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The first row of scratch that a load or store of registers with scalar values reaches, by the number of
    /// the instruction.
    pub(super) rows: BTreeMap<usize, Slot>,
    /// The slot of every store.
    pub(super) stores: BTreeMap<usize, Slot>,
    /// Those that write all lanes.
    pub(super) writes_all: BTreeSet<usize>,
    /// Those that change which lanes are active.
    changes_exec: BTreeSet<usize>,
    /// What EXEC says before each.
    exec: Vec<Exec>,
}

impl Facts {
    /// Follows a function from its entry. Returns what that took, and None if it was too much.
    ///
    /// * `most`: what each fact may take.
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

    /// What is known before an instruction, in terms of the entry.
    pub(super) fn before(&self, context: &Context<'_>, index: usize) -> Option<State> {
        let step = |state: &mut State, index| context.step_dwords(state, index);
        self.states.before(context.code, index, step)
    }

    /// Returns how many instructions one is after the last place from which on [`before`](Facts::before) goes.
    pub(super) fn since(&self, index: usize) -> usize {
        self.states.distance(index)
    }

    /// Returns what EXEC says before an instruction.
    pub(super) fn exec(&self, index: usize) -> Exec {
        self.exec.get(index).copied().unwrap_or(Exec::Unknown)
    }

    /// Returns true if EXEC, where it has the lanes that are active, is given back at the return as it is before an
    /// instruction.
    pub(super) fn is_whole_until_return(&self, index: usize) -> bool {
        self.is_whole.get(index).copied().unwrap_or(false)
    }

    /// Returns the dwords that can reach one dword of EXEC, before an instruction that branches go to.
    pub(super) fn live(&self, half: u8, index: usize) -> Option<&Live> {
        self.liveness.get(usize::from(half))?.live(index)
    }

    /// What changes nothing that is followed in the way of a lane of one half.
    pub(super) fn idle(&self, half: u8) -> Option<&Idle> {
        self.idle.get(usize::from(half))
    }

    /// Returns true if what an instruction puts into a lane of a vector register is followed in the way of a lane of one half:
    /// see [`Liveness::is_needed`].
    pub(super) fn is_needed(&self, half: u8, index: usize) -> bool {
        let liveness = self.liveness.get(usize::from(half));
        liveness.is_none_or(|liveness| liveness.is_needed(index))
    }

    /// Returns the vector registers and rows of scratch that [`live`](Facts::live) tells about, in its order.
    pub(super) fn dwords(&self) -> &[Dword] {
        let [low, _] = &self.liveness;
        low.dwords()
    }
}

/// Goes through the function with what is known.
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

/// For each instruction, whether every way from before it to the return leaves EXEC as it is. It does not where
/// some way does not return: nothing is given back there.
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

/// Tells registers that point to the stack from one another, as far as their distance is known: what is
/// stored through one is then found through the other.
///
/// * `known`: what is known at a stop, in terms of the entry.
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
/// * `known`: what is known at the stop, in terms of the entry, as `slot` is.
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
            // How far the register is from where the row is counted from.
            let moved = context.slot_at(value, 0, slot.addressing)?;
            let offset = slot.offset.saturating_sub(moved.offset);
            return context.slot_at(state.scalar(register), offset, slot.addressing);
        }
    }
    None
}
