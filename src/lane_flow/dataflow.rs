//! What is known of whole dwords along every path from one place: of a function from its entry, or of a
//! frame from the stop to its return.

use super::fuel::Fuel;
use super::state::State;
use super::step::{Context, Outcome};
use super::value::{Decisions, Value};
use crate::isa::{Effect, MachineRegister};
use crate::machine_flow::{Analysis, Code, Edge, Scalar as _, Solution, Targets, solve, targets};

/// What is known along the paths from one place. States are joined where paths meet, so that each changes as
/// often at most as it has dwords.
#[derive(Debug)]
pub(super) struct Dataflow {
    pub(super) states: Solution<State>,
    /// The states in which the function is left, joined.
    pub(super) returned: Option<Returned>,
    /// True if some path goes to a place that is not known.
    pub(super) is_lost: bool,
}

/// The registers when a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Returned {
    pub(super) state: State,
    /// The address that it returns to, its low half first.
    pub(super) address: [Value; 2],
}

/// The analysis of whole dwords.
struct Dwords<'d, 'c> {
    context: &'d Context<'c>,
    fuel: &'d mut Fuel,
    returned: Option<Returned>,
    is_lost: bool,
}

/// Follows every path from before an instruction on.
///
/// * `fuel`: how many instructions may be gone through, and how much be kept. Nothing if that is not enough.
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
    /// Takes an instruction into account for whole dwords, of which nothing is to be decided.
    pub(super) fn step_dwords(&self, state: &mut State, index: usize) {
        let outcome = self.step(state, index, &Decisions::default());
        debug_assert!(!matches!(outcome, Ok(Outcome::On) | Err(_)), "{outcome:?}");
    }
}

impl Dwords<'_, '_> {
    /// The function is left by an instruction: with a return, or with a jump to another function that returns
    /// in its place.
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
