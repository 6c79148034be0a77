//! Finds the places of variables' values for a whole function: the results of [`find`](super::find) for each address, from one search.

use core::ops::Range;

use super::expression::Expressions;
use super::number::{Cell, Number};
use super::plan::{EntryNumbers, KeptValue, kept_value, numbers_of_parameters, places_on_entry};
use super::recipe::{Recipe, Step};
use super::search::Search;
use super::state::State;
use super::step::Context;
use super::watched::{KernelEntry, Schedule, Watched};
use crate::lane_flow::{FunctionFlow, LaneFlow};
use crate::machine_flow::Code;
use crate::meter::Meter;

/// The most instructions that ranges of location lists may cover.
const MOST_COVERED: usize = 1 << 22;

/// A variable whose places are requested.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) watched: Watched,
    /// The requested addresses, in order.
    pub(crate) addresses: Vec<Range<u64>>,
}

/// The values to search for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sought {
    /// Last known values, and the values of parameters on entry, as a stop shows them.
    Earlier,
    /// The values of parameters on entry to the function.
    OnEntry,
}

/// A range of code in which a value is in the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptRange {
    pub(crate) addresses: Range<u64>,
    /// The value for lanes of the lower half of the wave. It is read within the function, without the caller.
    pub(crate) value: KeptValue,
    /// True if the place is the same for lanes of both halves.
    pub(crate) is_same: bool,
}

/// Finds the places that hold the values of variables, for each variable in the order of addresses. The value has to have the same `as_of`
/// for lanes of both halves of the wave. Returns `None` if the budget is exceeded.
///
/// * `kernel`: the known registers on entry, if the function is a kernel.
/// * `meter`: the budget, which is charged.
pub(crate) fn survey(
    flow: &FunctionFlow<'_>,
    asked: Vec<Asked>,
    sought: Sought,
    kernel: Option<&KernelEntry>,
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
        expressions: Expressions::default(),
        kernel,
    };
    let on_entry = places_on_entry(code, &watched);
    let places = on_entry.iter().flatten().map(|(index, _)| *index);
    let places: Vec<usize> = places.collect();
    let begin = |states: Vec<Option<State>>| Half {
        entries: numbers_of_parameters(&on_entry, states.into_iter()),
        runs: vec![Vec::new(); watched.len()],
        sought,
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

/// Instructions, by index, along which a value is in the same place.
#[derive(Clone, Debug)]
struct Run {
    instructions: Range<usize>,
    value: KeptValue,
}

/// The results for one half of the wave.
#[derive(Debug)]
struct Half {
    entries: Vec<Option<EntryNumbers>>,
    /// The runs of each variable, in the order in which instructions are visited.
    runs: Vec<Vec<Run>>,
    sought: Sought,
}

impl Half {
    /// Records the values that are in the machine before an instruction. Returns the number of values that were visited.
    fn visit(
        &mut self,
        context: &Context<'_>,
        wanted: &[Vec<Range<usize>>],
        index: usize,
        here: &State,
    ) -> usize {
        let known = context.kernel.map_or(&[][..], |kernel| &kernel.known);
        let mut search: Option<Search<'_>> = None;
        let mut looked_at = wanted.len();
        for (variable, (wanted, runs)) in wanted.iter().zip(&mut self.runs).enumerate() {
            let next = wanted.partition_point(|range| range.end <= index);
            if wanted.get(next).is_none_or(|range| index < range.start) {
                continue;
            }
            let entry = self.entries.get(variable).and_then(Option::as_ref);
            let last = runs.last_mut().filter(|run| {
                run.instructions.end == index && still_has(context, here, variable, run)
            });
            if let Some(run) = last {
                run.instructions.end = index + 1;
                continue;
            }
            let (given, entry) = match self.sought {
                Sought::Earlier => (here.given(variable), entry),
                Sought::OnEntry => (None, entry.filter(|(_, is_assumed)| !is_assumed)),
            };
            if given.is_none() && entry.is_none() {
                continue;
            }
            let search = search.get_or_insert_with(|| {
                looked_at += here.size();
                Search::new(here, &context.expressions, known)
            });
            let is_here = |value: &KeptValue| !value.dwords.iter().any(Recipe::has_argument);
            let value = kept_value(context.code, search, given, entry).filter(is_here);
            if let Some(value) = value {
                runs.push(Run {
                    instructions: index..index + 1,
                    value,
                });
            }
        }
        looked_at + search.map_or(0, |search| search.looked_at())
    }
}

/// Returns true if the last described value of a variable is still in the same place as before the last visited instruction. The value of a
/// parameter on entry is searched for again.
fn still_has(context: &Context<'_>, here: &State, variable: usize, run: &Run) -> bool {
    let (Some(as_of), Some(given)) = (run.value.as_of, here.given(variable)) else {
        return false;
    };
    let instruction = context.code.instructions.get(given.as_of as usize);
    if instruction.map(|one| one.address) != Some(as_of) {
        return false;
    }
    let mut dwords = run.value.dwords.iter().zip(&given.dwords);
    dwords.all(|(recipe, number)| number_of(context, here, recipe) == Some(*number))
}

/// Returns the number that a recipe reads. `None` for rows, since they are relative to current contents of their base.
fn number_of(context: &Context<'_>, here: &State, recipe: &Recipe) -> Option<Number> {
    let mut stack: Vec<Number> = Vec::new();
    for step in &recipe.0 {
        let number = match *step {
            Step::Word(word) => Number::Word(word),
            Step::Register(cell @ (Cell::Scalar(_) | Cell::Own(_) | Cell::Lane { .. })) => {
                here.number(cell)
            }
            Step::Initial(cell) => Number::at_entry(cell),
            Step::Apply(operation) => {
                let (b, a) = (stack.pop()?, stack.pop()?);
                context.expressions.apply(operation, a, b)
            }
            Step::Register(Cell::Row(_)) | Step::Row(_) | Step::Argument(_) => return None,
        };
        stack.push(number);
    }
    stack.pop().filter(|number| *number != Number::Unknown)
}

/// Returns the indices of the instructions in some ranges of addresses.
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

/// Returns the runs in which both halves of a wave have a value with the same `as_of`, each with true if the place is the same.
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

/// Returns the address ranges of runs, in order. Adjacent ranges with the same value are merged.
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
