//! Finds the places that hold the values of variables at one address.

use smallvec::SmallVec;

use super::expression::Expressions;
use super::number::{Cell, Number, Origin};
use super::recipe::{ARGUMENTS, Recipe, Step};
use super::search::Search;
use super::state::{Given, State};
use super::step::Context;
use super::watched::{Dword, KernelEntry, OnEntry, Schedule, Watched};
use crate::isa::MachineRegister;
use crate::lane_flow::FunctionFlow;
use crate::machine_flow::Code;
use crate::meter::Meter;

/// A value that is still in the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptValue {
    /// The dwords, the lowest first.
    pub(crate) dwords: SmallVec<[Recipe; 2]>,
    /// The address at which the debugging information last described it; `None` for the value of a parameter on entry.
    pub(crate) as_of: Option<u64>,
}

/// The values of variables that are still in the machine, for each half of the wave.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The values for each half, in the order of the variables. Empty if the budget was exceeded.
    pub(crate) halves: Vec<Vec<Option<KeptValue>>>,
    /// The values of the argument registers at a call, from v0 on, for each half. Empty unless the instruction is the return address of the
    /// call. A value is `None` if it cannot be read after the call.
    pub(crate) arguments: Vec<Vec<Option<Recipe>>>,
    /// The called function, if it is known. The inner frame can belong to another function, to which the callee jumped.
    pub(crate) callee: Option<u64>,
    /// The registers to read that the convention does not preserve, but that neither the callee nor its callees write.
    pub(crate) left_alone: Vec<MachineRegister>,
    /// The number of instructions that were followed.
    pub(crate) instructions: usize,
}

impl Kept {
    /// Returns the registers that are read.
    fn registers(&self) -> impl Iterator<Item = MachineRegister> {
        let values = self.halves.iter().flatten().flatten();
        let values = values.flat_map(|value| &value.dwords);
        let arguments = self.arguments.iter().flatten().flatten();
        let steps = values.chain(arguments).flat_map(|recipe| &recipe.0);
        steps.filter_map(|step| match step {
            Step::Register(cell) => cell.register(),
            Step::Row(slot) => slot.base,
            Step::Word(_) | Step::Argument(_) | Step::Initial(_) | Step::Apply(_) => None,
        })
    }
}

/// Finds the places that hold the values of variables before an instruction of a function.
///
/// * `kernel`: the known registers on entry, if the function is a kernel.
/// * `meter`: the budget.
pub(crate) fn find(
    flow: &FunctionFlow<'_>,
    index: usize,
    watched: &[Watched],
    kernel: Option<&KernelEntry>,
    meter: &Meter,
) -> Kept {
    /// The most instructions that ranges of location lists may cover.
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
        expressions: Expressions::default(),
        kernel,
    };
    let known = kernel.map_or(&[][..], |kernel| &kernel.known);
    let entry = State::at_entry(watched.len());
    // The last places are those at which parameters still have their values on entry.
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
        let entries = numbers_of_parameters(&on_entry, states);
        let Some(here) = here else {
            return Vec::new();
        };
        let search = Search::new(&here, &context.expressions, known);
        if let Some(at_call) = &at_call {
            let registers = (0..ARGUMENTS).map(MachineRegister::Vgpr);
            let numbers = registers.map(|register| at_call.number(Cell::Own(register)));
            arguments.push(numbers.map(|number| search.recipe(number)).collect());
        }
        let entries = entries.iter().enumerate();
        let kept =
            entries.map(|(n, entry)| kept_value(code, &search, here.given(n), entry.as_ref()));
        kept.collect()
    });
    let halves = halves.collect();
    let mut kept = Kept {
        halves,
        arguments,
        callee: call.and_then(|call| code.callee(call)),
        left_alone: Vec::new(),
        instructions: followed.instructions,
    };
    if kept.callee.is_some() {
        let registers = kept.registers();
        kept.left_alone = registers.filter(|one| !code.preserves(*one)).collect();
    }
    kept
}

/// Returns the recipe for reading a variable, if its value is still in the machine.
pub(super) fn kept_value(
    code: &Code,
    search: &Search<'_>,
    given: Option<&Given>,
    on_entry: Option<&EntryNumbers>,
) -> Option<KeptValue> {
    let given = given.filter(|given| !is_of_caller(&given.dwords));
    let given = given.and_then(|given| {
        let last = code.instructions.get(given.as_of as usize)?;
        Some((search.recipes(&given.dwords)?, Some(last.address)))
    });
    let on_entry = || {
        let (numbers, is_assumed) = on_entry?;
        let kept = match is_assumed {
            true => search.copies(numbers)?,
            false => search.recipes(numbers)?,
        };
        Some((kept, None))
    };
    let is_here =
        |(dwords, _): &(SmallVec<[Recipe; 2]>, _)| !dwords.iter().any(Recipe::has_argument);
    // Values that the caller would have to supply come last.
    let (dwords, as_of) = match (given, on_entry()) {
        (Some(given), Some(entry)) if !is_here(&given) && is_here(&entry) => entry,
        (given, entry) => given.or(entry)?,
    };
    Some(KeptValue { dwords, as_of })
}

/// Returns true if a dword is the value on entry of a register that passes no argument. It is the caller's value, which an epilogue has
/// restored while a location list still names the register.
fn is_of_caller(numbers: &[Number]) -> bool {
    numbers.iter().any(|number| match number.origin() {
        Some(Origin::Entry(Cell::Own(MachineRegister::Vgpr(register)))) => register >= ARGUMENTS,
        _ => false,
    })
}

/// Returns the places at which parameters still have their values on entry, for each variable.
pub(super) fn places_on_entry<'w>(
    code: &Code,
    watched: &'w [Watched],
) -> Vec<Option<(usize, &'w OnEntry)>> {
    let on_entry = watched.iter().map(|one| one.on_entry.as_ref());
    let places = on_entry.map(|entry| Some((code.index_of(entry?.address)?, entry?)));
    places.collect()
}

/// The values of parameters on entry: the numbers of their dwords, and true if only the calling convention determines them.
pub(super) type EntryNumbers = (SmallVec<[Number; 2]>, bool);

/// Returns the values of parameters on entry, for each variable.
///
/// * `states`: the states at the places in `on_entry`.
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

/// Returns the numbers of a parameter at a place where it has its value on entry, if they stand for places on entry.
fn numbers_on_entry(state: &State, dwords: &[Dword]) -> Option<SmallVec<[Number; 2]>> {
    let number = |dword: &Dword| match dword {
        Dword::In(cell) => match state.number(*cell) {
            number @ Number::Known {
                origin: Origin::Entry(_),
                ..
            } => Some(number),
            Number::Unknown | Number::Word(_) | Number::Known { .. } => None,
        },
        Dword::Kernarg(offset) => Some(Number::argument(*offset)),
        Dword::Word(_) | Dword::Other => None,
    };
    dwords.iter().map(number).collect()
}
