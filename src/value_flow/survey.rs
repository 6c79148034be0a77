//! Where values of variables are kept all over a function: what [`find`](super::find) says of each address, from one search.

use core::ops::Range;

use super::number::{Cell, Number, Origin};
use super::plan::{
    EntryNumbers, Holder, Keeper, KeptDword, KeptValue, is_of_caller, kept_on_entry, kept_value,
    numbers_of_parameters, places_on_entry,
};
use super::state::State;
use super::step::Context;
use super::watched::{Dword, Schedule, Watched};
use crate::lane_flow::{FunctionFlow, LaneFlow};
use crate::machine_flow::Code;
use crate::meter::Meter;

/// How many values a search for a place looks at.
const PER_SEARCH: usize = 512;
/// How many instructions may be covered by ranges of location lists.
const MOST_COVERED: usize = 1 << 22;

/// A variable of which it is asked where it is kept.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) watched: Watched,
    /// At which addresses, in order.
    pub(crate) addresses: Vec<Range<u64>>,
}

/// Which values are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sought {
    /// Last known values, and what parameters were on entry: those that a stop shows.
    Earlier,
    /// What parameters were on entry to the function.
    OnEntry,
}

/// Where a value is kept along some code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptRange {
    pub(crate) addresses: Range<u64>,
    /// What is kept of lanes of the lower half of the wave. All of it is in the function itself, nothing in the caller.
    pub(crate) value: KeptValue,
    /// True if it is in the same place for lanes of both halves.
    pub(crate) is_same: bool,
}

/// Finds where the values of variables are kept, for each variable in the order of the addresses. Lanes of each half of the wave have
/// to have the value as of the same place. Returns None if it would take too much.
///
/// * `meter`: what it may cost, and is charged for it.
pub(crate) fn survey(
    flow: &FunctionFlow<'_>,
    asked: Vec<Asked>,
    sought: Sought,
    meter: &Meter,
) -> Option<Vec<Vec<KeptRange>>> {
    flow.pay_for_code(meter).ok()?;
    let code = flow.code();
    let (watched, addresses): (Vec<Watched>, Vec<Vec<Range<u64>>>) = asked
        .into_iter()
        .map(|one| (one.watched, one.addresses))
        .unzip();
    let schedule = Schedule::new(code, &watched, MOST_COVERED)?;
    let addresses = addresses.iter().map(|ranges| numbered(code, ranges));
    let wanted: Vec<Vec<Range<usize>>> = addresses.collect();
    let context = Context {
        code,
        callees: flow.callees(),
        wave_size: flow.wave_size(),
        addressing: flow.addressing(),
        watched: &watched,
        schedule,
    };
    let on_entry = places_on_entry(code, &watched);
    let places = on_entry.iter().flatten().map(|(index, _)| *index);
    let places: Vec<usize> = places.collect();
    let begin = |states: Vec<Option<State>>| Half {
        entries: numbers_of_parameters(&on_entry, states.into_iter()),
        sought,
        runs: vec![Vec::new(); watched.len()],
    };
    let give =
        |half: &mut Half, index: usize, here: &State| half.visit(&context, &wanted, index, here);
    let entry = State::at_entry(watched.len());
    let visited = flow.follow_each(&places, &entry, &context, meter, begin, give);
    LaneFlow::charge(visited.instructions, meter).ok()?;
    let mut halves = visited.halves?.into_iter();
    let first = halves.next()?;
    let second = halves.next();
    let variables = first.runs.into_iter().enumerate();
    let ranges = variables.map(|(variable, runs)| {
        let other = second.as_ref().map(|half| half.runs.get(variable));
        let runs = match other {
            Some(other) => common(&runs, other.map_or(&[], Vec::as_slice)),
            None => runs.into_iter().map(|run| (run, true)).collect(),
        };
        addressed(code, runs)
    });
    Some(ranges.collect())
}

/// Some instructions, by number, along which a value is kept in the same place.
#[derive(Clone, Debug)]
struct Run {
    instructions: Range<usize>,
    value: KeptValue,
}

/// What is found for a half of the wave.
#[derive(Debug)]
struct Half {
    sought: Sought,
    entries: Vec<Option<EntryNumbers>>,
    /// For each variable, in the order in which instructions are visited.
    runs: Vec<Vec<Run>>,
}

impl Half {
    /// Notes what is kept before an instruction. Returns how many values were looked at.
    fn visit(
        &mut self,
        context: &Context<'_>,
        wanted: &[Vec<Range<usize>>],
        index: usize,
        here: &State,
    ) -> usize {
        let code = context.code;
        let mut present: Option<Vec<Origin>> = None;
        let mut looked_at = wanted.len();
        for (variable, (wanted, runs)) in wanted.iter().zip(&mut self.runs).enumerate() {
            let next = wanted.partition_point(|range| range.end <= index);
            if wanted.get(next).is_none_or(|range| index < range.start) {
                continue;
            }
            let entry = self.entries.get(variable).and_then(Option::as_ref);
            let is_here = |value: &KeptValue| {
                let mut dwords = value.dwords.iter();
                dwords.all(|dword| matches!(dword, KeptDword::Here(_)))
            };
            if self.sought == Sought::OnEntry {
                let entry = entry.filter(|(_, is_assumed)| !is_assumed);
                let value = kept_on_entry(here, entry).map(|dwords| KeptValue {
                    dwords,
                    as_of: None,
                });
                // Registers are gone through.
                looked_at = looked_at.saturating_add(PER_SEARCH);
                runs.extend(value.filter(is_here).map(|value| Run {
                    instructions: index..index.saturating_add(1),
                    value,
                }));
                continue;
            }
            let last = runs.last_mut().filter(|run| {
                run.instructions.end == index && still_has(code, here, variable, run)
            });
            if let Some(run) = last {
                run.instructions.end = index.saturating_add(1);
                continue;
            }
            let instructions = index..index.saturating_add(1);
            let watched = context.watched.get(variable);
            if let Some(value) = watched.and_then(|one| in_place(code, here, variable, one)) {
                runs.push(Run {
                    instructions,
                    value,
                });
                continue;
            }
            let present = present.get_or_insert_with(|| {
                let found = origins(here);
                looked_at = looked_at.saturating_add(found.len());
                found
            });
            let given = here.given(variable).map(|given| given.dwords.as_slice());
            let entry_dwords = entry.map(|(numbers, _)| numbers.as_slice());
            let may_be_here = |numbers: &[Number]| {
                numbers.iter().all(|number| match number {
                    Number::Unknown => false,
                    Number::Word(_) => true,
                    Number::Known { origin, .. } => present.binary_search(origin).is_ok(),
                })
            };
            if !given.is_some_and(may_be_here) && !entry_dwords.is_some_and(may_be_here) {
                continue;
            }
            looked_at = looked_at.saturating_add(present.len());
            if let Some(value) = kept_value(code, here, variable, entry).filter(is_here) {
                runs.push(Run {
                    instructions,
                    value,
                });
            }
        }
        looked_at
    }
}

/// What is named by the numbers of places.
fn origins(here: &State) -> Vec<Origin> {
    let origins = here.numbered().filter_map(|(_, number)| match number {
        Number::Known { origin, .. } => Some(origin),
        Number::Unknown | Number::Word(_) => None,
    });
    let mut origins: Vec<Origin> = origins.collect();
    origins.sort_unstable();
    origins.dedup();
    origins
}

/// What was last given of a variable, if that is still where the debugging information gave it, in registers.
fn in_place(code: &Code, here: &State, variable: usize, watched: &Watched) -> Option<KeptValue> {
    let given = here.given(variable)?;
    if is_of_caller(&given.dwords) {
        return None;
    }
    let as_of = code.instructions.get(given.as_of as usize)?.address;
    let mut covering = watched
        .covered
        .iter()
        .filter(|covered| covered.addresses.contains(&as_of));
    let (Some(covered), None) = (covering.next(), covering.next()) else {
        return None;
    };
    let dwords = covered.dwords.iter().zip(&given.dwords);
    let dwords = dwords.map(|(dword, number)| match *dword {
        Dword::In(cell) if here.number(cell) == *number => Some(KeptDword::Here(Holder {
            keeper: Keeper::Register(cell),
            plus: 0,
        })),
        Dword::In(_) | Dword::Word(_) | Dword::Other => None,
    });
    Some(KeptValue {
        dwords: dwords.collect::<Option<_>>()?,
        as_of: Some(as_of),
    })
}

/// Returns true if what was last given of a variable is still kept where it was before the instruction that was visited last. What a
/// parameter was on entry is looked for anew.
fn still_has(code: &Code, here: &State, variable: usize, run: &Run) -> bool {
    let (Some(as_of), Some(given)) = (run.value.as_of, here.given(variable)) else {
        return false;
    };
    let instruction = code.instructions.get(given.as_of as usize);
    if instruction.map(|one| one.address) != Some(as_of) {
        return false;
    }
    let mut dwords = run.value.dwords.iter().zip(&given.dwords);
    dwords.all(|(dword, number)| {
        let KeptDword::Here(Holder { keeper, plus }) = *dword else {
            return false;
        };
        match keeper {
            Keeper::Word(word) => *number == Number::Word(word.wrapping_add(plus)),
            Keeper::Register(cell @ (Cell::Scalar(_) | Cell::Own(_) | Cell::Lane { .. })) => {
                here.number(cell).plus(plus) == *number
            }
            // Rows are named by what their base has now.
            Keeper::Register(Cell::Row(_)) | Keeper::Row(_) => false,
        }
    })
}

/// The instructions of some ranges of addresses.
fn numbered(code: &Code, ranges: &[Range<u64>]) -> Vec<Range<usize>> {
    let number = |address| {
        code.instructions
            .partition_point(|one| one.address < address)
    };
    let numbered = ranges
        .iter()
        .map(|range| number(range.start)..number(range.end));
    numbered.filter(|range| !range.is_empty()).collect()
}

/// Where both halves of a wave have a value as of the same place, with whether it is kept in the same place.
fn common(first: &[Run], second: &[Run]) -> Vec<(Run, bool)> {
    let mut common = Vec::new();
    let sorted = |runs: &[Run]| {
        let mut runs = runs.to_vec();
        runs.sort_by_key(|run| run.instructions.start);
        runs
    };
    let (first, second) = (sorted(first), sorted(second));
    let mut others = second.iter().peekable();
    for run in &first {
        while let Some(other) = others.peek() {
            let start = run.instructions.start.max(other.instructions.start);
            let end = run.instructions.end.min(other.instructions.end);
            if start < end && run.value.as_of == other.value.as_of {
                let is_same = run.value == other.value;
                let run = Run {
                    instructions: start..end,
                    value: run.value.clone(),
                };
                common.push((run, is_same));
            }
            if other.instructions.end > run.instructions.end {
                break;
            }
            others.next();
        }
    }
    common
}

/// The addresses of runs, in order; those of the same value that touch are one.
fn addressed(code: &Code, mut runs: Vec<(Run, bool)>) -> Vec<KeptRange> {
    runs.sort_by_key(|(run, _)| run.instructions.start);
    let mut ranges: Vec<KeptRange> = Vec::with_capacity(runs.len());
    for (run, is_same) in runs {
        let first = code.instructions.get(run.instructions.start);
        let last = run
            .instructions
            .end
            .checked_sub(1)
            .and_then(|last| code.instructions.get(last));
        let (Some(first), Some(last)) = (first, last) else {
            continue;
        };
        let range = KeptRange {
            addresses: first.address..last.end(),
            value: run.value,
            is_same,
        };
        match ranges.last_mut() {
            Some(before)
                if before.addresses.end == range.addresses.start
                    && before.value == range.value
                    && before.is_same == range.is_same =>
            {
                before.addresses.end = range.addresses.end;
            }
            Some(_) | None => ranges.push(range),
        }
    }
    ranges
}
