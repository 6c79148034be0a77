//! What is found for an address: which places have what a variable was.

use smallvec::SmallVec;

use super::number::{Cell, Number, Origin};
use super::state::State;
use super::step::Context;
use super::watched::{Dword, OnEntry, Schedule, Watched};
use crate::isa::MachineRegister;
use crate::lane_flow::{FunctionFlow, Slot};
use crate::machine_flow::Code;
use crate::meter::Meter;

/// How many vector registers arguments are in.
///
/// Source: USAGE "Non-Kernel Functions".
const ARGUMENTS: u16 = 32;

/// Where a dword is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// Nowhere: it is a constant.
    Word(u32),
    /// In a register.
    Register(Cell),
    /// In the lane's own dword of a row of scratch, counted from what a register has now.
    Row(Slot),
}

/// A dword that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) keeper: Keeper,
    /// What is to be added to what is there.
    pub(crate) plus: u32,
}

/// A dword of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptDword {
    /// It is kept here.
    Here(Holder),
    /// It is nowhere in the function. It is what a vector register had on entry, plus a constant: the caller may have it.
    Argument { register: u16, plus: u32 },
}

/// A value that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptValue {
    /// Its dwords, the lowest first.
    pub(crate) dwords: SmallVec<[KeptDword; 2]>,
    /// The address at which the debugging information last gave it; `None` for what a parameter was on entry.
    pub(crate) as_of: Option<u64>,
}

/// What is kept of variables, for each half of the wave.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// For each half, in the order of the variables. Empty if it would take too much to tell.
    pub(crate) halves: Vec<Vec<Option<KeptValue>>>,
    /// For each half, if the instruction is where a call returns to: what is kept after the call of the vector registers that arguments
    /// are in, from v0 on, as they were at the call.
    pub(crate) arguments: Vec<Vec<Option<Holder>>>,
    /// The function that was called, if that is known: the frame further in can be another's, which that one jumped to.
    pub(crate) callee: Option<u64>,
    /// Over how many instructions it was found.
    pub(crate) instructions: usize,
}

/// Finds which places have the values of variables before an instruction of a function.
///
/// * `meter`: what it may cost.
pub(crate) fn find(
    flow: &FunctionFlow<'_>,
    index: usize,
    watched: &[Watched],
    meter: &Meter,
) -> Kept {
    /// How many instructions may be covered by ranges of location lists.
    const MOST_COVERED: usize = 1 << 20;
    let code = flow.code();
    let Some(schedule) = Schedule::new(code, watched, MOST_COVERED) else {
        return Kept::default();
    };
    let context = Context {
        code,
        callees: flow.callees(),
        wave_size: flow.wave_size(),
        addressing: flow.addressing(),
        watched,
        schedule,
    };
    let entry = State::at_entry(watched.len());
    // The last places are those at which parameters have what they had on entry.
    let on_entry = places_on_entry(code, watched);
    let places = on_entry.iter().flatten().map(|(index, _)| *index);
    let call = index.checked_sub(1).filter(|_| code.is_after_call(index));
    let places = [index, call.unwrap_or(index)].into_iter().chain(places);
    let places: Vec<usize> = places.collect();
    let followed = flow.follow_with(&places, &entry, &context, meter);
    let mut arguments = Vec::new();
    let halves = followed.halves.into_iter().map(|states| {
        let mut states = states.into_iter();
        let here = states.next().flatten();
        let at_call = states.next().flatten().filter(|_| call.is_some());
        if let (Some(here), Some(at_call)) = (&here, &at_call) {
            let registers = (0..ARGUMENTS).map(MachineRegister::Vgpr);
            let numbers = registers.map(|register| at_call.number(Cell::Own(register)));
            arguments.push(numbers.map(|number| holder(here, number)).collect());
        }
        let entries = numbers_of_parameters(&on_entry, states);
        let Some(here) = here else {
            return Vec::new();
        };
        let variables = entries.iter().enumerate();
        let kept =
            variables.map(|(variable, entry)| kept_value(code, &here, variable, entry.as_ref()));
        kept.collect()
    });
    let halves = halves.collect();
    Kept {
        halves,
        arguments,
        callee: call.and_then(|call| code.callee(call)),
        instructions: followed.instructions,
    }
}

/// The places at which parameters have what they had on entry, for each variable.
pub(super) fn places_on_entry<'w>(
    code: &Code,
    watched: &'w [Watched],
) -> Vec<Option<(usize, &'w OnEntry)>> {
    let on_entry = watched.iter().map(|one| one.on_entry.as_ref());
    let places = on_entry.map(|entry| Some((code.index_of(entry?.address)?, entry?)));
    places.collect()
}

/// What parameters were on entry: the numbers of their dwords, and whether only the calling convention says it.
pub(super) type EntryNumbers = (SmallVec<[Number; 2]>, bool);

/// Returns what parameters were on entry, for each variable.
///
/// * `states`: what is known at each of the places.
pub(super) fn numbers_of_parameters(
    on_entry: &[Option<(usize, &OnEntry)>],
    mut states: impl Iterator<Item = Option<State>>,
) -> Vec<Option<EntryNumbers>> {
    let entries = on_entry.iter().map(|entry| {
        let (_, entry) = entry.as_ref()?;
        let numbers = numbers_on_entry(states.next().flatten().as_ref()?, &entry.dwords)?;
        Some((numbers, entry.is_assumed))
    });
    entries.collect()
}

/// Returns what is kept of a variable before an instruction.
pub(super) fn kept_value(
    code: &Code,
    here: &State,
    variable: usize,
    entry: Option<&EntryNumbers>,
) -> Option<KeptValue> {
    let address = |index: u32| code.instructions.get(index as usize).map(|one| one.address);
    let given = here.given(variable).and_then(|given| {
        let as_of = address(given.as_of)?;
        let dwords = given.dwords.as_slice();
        let kept = kept_dwords(here, dwords).filter(|_| !is_of_caller(dwords))?;
        Some((kept, Some(as_of)))
    });
    let on_entry = || Some((kept_on_entry(here, entry)?, None));
    let is_here = |(dwords, _): &(SmallVec<[KeptDword; 2]>, _)| {
        let mut dwords = dwords.iter();
        dwords.all(|dword| matches!(dword, KeptDword::Here(_)))
    };
    // What the caller has is asked for last.
    let (dwords, as_of) = match (given, on_entry()) {
        (Some(given), Some(entry)) if !is_here(&given) && is_here(&entry) => entry,
        (given, entry) => given.or(entry)?,
    };
    Some(KeptValue { dwords, as_of })
}

/// Returns what is kept of what a parameter was on entry.
pub(super) fn kept_on_entry(
    here: &State,
    entry: Option<&EntryNumbers>,
) -> Option<SmallVec<[KeptDword; 2]>> {
    let (numbers, is_assumed) = entry?;
    match is_assumed {
        true => copied_dwords(here, numbers),
        false => kept_dwords(here, numbers),
    }
}

/// Returns true if a dword is what a register had on entry in which no argument is passed: the caller's, which an epilogue has restored while
/// a location list still names the register.
pub(super) fn is_of_caller(numbers: &[Number]) -> bool {
    numbers.iter().any(|number| match number {
        Number::Known {
            origin: Origin::Entry(Cell::Own(MachineRegister::Vgpr(register))),
            ..
        } => *register >= ARGUMENTS,
        Number::Known { .. } | Number::Word(_) | Number::Unknown => false,
    })
}

/// The numbers of a parameter at a place where it has what it had on entry, if they are those of places on entry.
fn numbers_on_entry(state: &State, dwords: &[Dword]) -> Option<SmallVec<[Number; 2]>> {
    let number = |dword: &Dword| match dword {
        Dword::In(cell) => match state.number(*cell) {
            number @ Number::Known {
                origin: Origin::Entry(_),
                ..
            } => Some(number),
            Number::Unknown | Number::Word(_) | Number::Known { .. } => None,
        },
        Dword::Word(_) | Dword::Other => None,
    };
    dwords.iter().map(number).collect()
}

/// The places that have these numbers, if there is one for each.
fn kept_dwords(state: &State, numbers: &[Number]) -> Option<SmallVec<[KeptDword; 2]>> {
    let kept = numbers.iter().map(|number| {
        let argument = || match *number {
            Number::Known {
                origin: Origin::Entry(Cell::Own(MachineRegister::Vgpr(register))),
                plus,
            } if register < ARGUMENTS => Some(KeptDword::Argument { register, plus }),
            Number::Known { .. } | Number::Word(_) | Number::Unknown => None,
        };
        holder(state, *number)
            .map(KeptDword::Here)
            .or_else(argument)
    });
    kept.collect()
}

/// The places that have copies of what these places had on entry, if there is one for each.
fn copied_dwords(state: &State, numbers: &[Number]) -> Option<SmallVec<[KeptDword; 2]>> {
    let copied = numbers.iter().map(|number| {
        let holder = holder_but(state, *number, |cell| *number == Number::at_entry(cell))?;
        Some(KeptDword::Here(holder))
    });
    copied.collect()
}

fn holder(state: &State, wanted: Number) -> Option<Holder> {
    holder_but(state, wanted, |_| false)
}

/// * `is_left_out`: says which places do not count.
fn holder_but(state: &State, wanted: Number, is_left_out: impl Fn(Cell) -> bool) -> Option<Holder> {
    let (origin, plus) = match wanted {
        Number::Unknown => return None,
        Number::Word(word) => {
            let keeper = Keeper::Word(word);
            return Some(Holder { keeper, plus: 0 });
        }
        Number::Known { origin, plus } => (origin, plus),
    };
    let mut found: Option<Holder> = None;
    for (cell, number) in state.numbered() {
        let Number::Known {
            origin: other,
            plus: has,
        } = number
        else {
            continue;
        };
        if other != origin || is_left_out(cell) {
            continue;
        }
        let keeper = match cell {
            Cell::Row(slot) => row_now(state, slot).map(Keeper::Row),
            cell @ (Cell::Scalar(_) | Cell::Own(_) | Cell::Lane { .. }) => {
                Some(Keeper::Register(cell))
            }
        };
        let plus = plus.wrapping_sub(has);
        if let Some(keeper) = keeper
            && (found.is_none() || plus == 0)
        {
            found = Some(Holder { keeper, plus });
            if plus == 0 {
                break;
            }
        }
    }
    found
}

/// A row that is counted from what a register had on entry, counted from what a register has now.
fn row_now(state: &State, slot: Slot) -> Option<Slot> {
    let Some(base) = slot.base else {
        return Some(slot);
    };
    let on_entry = Origin::Entry(Cell::Scalar(base));
    state.scalars.iter().find_map(|(register, number)| {
        let Number::Known { origin, plus } = number else {
            return None;
        };
        let is_it = origin == on_entry && plus == 0 && is_stack_register(register);
        is_it.then_some(Slot {
            base: Some(register),
            ..slot
        })
    })
}

/// Returns true for the registers that addresses on the stack are counted from.
fn is_stack_register(register: MachineRegister) -> bool {
    crate::machine_flow::STACK_REGISTERS.contains(&register)
}
