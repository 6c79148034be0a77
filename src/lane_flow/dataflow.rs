//! Data flow analysis of whole dwords along every path from one place: the entry of a function, or the stop in a frame.

use super::fuel::Fuel;
use super::state::State;
use super::step::{Context, Outcome};
use super::value::{Decisions, Value};
use crate::isa::{Effect, MachineRegister};
use crate::machine_flow::{Analysis, Code, Edge, Scalar as _, Solution, Targets, solve, targets};

/// The facts along the paths from one place. States are joined where paths meet, so that each state changes at most once per dword.
#[derive(Debug)]
pub(super) struct Dataflow {
    pub(super) states: Solution<State>,
    /// The join of the states in which the function is left.
    pub(super) returned: Option<Returned>,
    /// True if some path leads to an unknown place.
    pub(super) is_lost: bool,
}

/// The known contents of the registers when a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Returned {
    pub(super) state: State,
    /// The return address, low half first.
    pub(super) address: [Value; 2],
}

/// The analysis of whole dwords.
struct Dwords<'d, 'c> {
    context: &'d Context<'c>,
    fuel: &'d mut Fuel,
    returned: Option<Returned>,
    is_lost: bool,
}

/// Follows every path from an instruction on.
///
/// * `fuel`: the budget of instructions and bytes. Returns `None` if it is exceeded.
pub(super) fn follow(
    context: &Context<'_>,
    start: usize,
    state: State,
    fuel: &mut Fuel,
) -> Option<Dataflow> {
    let mut dwords = Dwords {
        context,
        fuel,
        returned: None,
        is_lost: false,
    };
    let states = solve(context.code, start, state, &mut dwords).ok()?;
    Some(Dataflow {
        states,
        returned: dwords.returned,
        is_lost: dwords.is_lost,
    })
}

impl Analysis for Dwords<'_, '_> {
    type State = State;
    type Failure = ();

    fn charge(&mut self, instructions: usize) -> Result<(), ()> {
        self.fuel.count(instructions).ok_or(())
    }

    fn follow(&mut self, code: &Code, state: &State, index: usize) -> Result<Targets, ()> {
        for edge in code.edges(index) {
            match edge {
                Edge::Leaves => self.leave(index, state.clone()),
                Edge::Lost => self.is_lost = true,
                Edge::To(_) | Edge::Ends => {}
            }
        }
        Ok(targets(code, index))
    }

    fn step(&mut self, state: &mut State, index: usize) {
        self.context.step_dwords(state, index);
    }

    fn join(&mut self, known: Option<&mut State>, state: &State) -> Result<bool, ()> {
        self.fuel.arrive(known, state, 0).ok_or(())
    }
}

impl Context<'_> {
    /// Applies the transfer function of an instruction to whole dwords, for which no decisions are needed.
    pub(super) fn step_dwords(&self, state: &mut State, index: usize) {
        let outcome = self.step(state, index, &Decisions::default());
        debug_assert!(!matches!(outcome, Ok(Outcome::On) | Err(_)), "{outcome:?}");
    }
}

impl Dwords<'_, '_> {
    /// Records the state in which an instruction leaves the function: by a return, or by a tail call.
    fn leave(&mut self, index: usize, mut state: State) {
        let code = self.context.code;
        let link = MachineRegister::Sgpr(code.convention.return_address());
        let source = match code.instructions.get(index).map(|one| one.effect) {
            Some(Effect::SetPc { src }) => src.registers().map(|span| span.first),
            _ => None,
        };
        let address = [Some(link), link.plus(1)]
            .map(|half| half.map_or(Value::Unknown, |register| state.scalar(register)));
        if source != Some(link) {
            self.context.call(&mut state, index);
        }
        let found = Returned { state, address };
        match &mut self.returned {
            Some(known) => {
                known.state.join(&found.state);
                for (known, found) in known.address.iter_mut().zip(found.address) {
                    *known = known.join(found);
                }
            }
            none => *none = Some(found),
        }
    }
}
