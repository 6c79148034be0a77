//! The plan of a stop: which bits decide where a lane goes on, in the order in which the ways of the code
//! ask for them.

use super::Reason;
use super::answers::Answers;
use super::fuel::{Fuel, pay};
use super::place::DwordPlace;
use super::state::State;
use super::switches::Contexts;
use super::value::{Decisions, Undecided};
use super::walk::{Goal, Start, WalkResult, walk};
use crate::error::Result;
use crate::meter::Meter;

/// How many bits a lane's place may depend on.
const DEPTH: usize = 64;

/// A question, or an answer. What no lane has asked for yet has not been looked for.
#[derive(Debug)]
enum Node {
    Open,
    Answer {
        answer: WalkResult,
        /// Over how many instructions it took to go for it.
        cost: usize,
    },
    /// The bit of a place: what follows if it is clear, if it is set, and if the place cannot be read. Other
    /// places may then decide by themselves.
    Ask {
        place: DwordPlace,
        cost: usize,
        then: Box<[Node; 3]>,
    },
}

/// Where lanes go on from one place of the code, by their bits in the masks there.
#[derive(Debug)]
pub(super) struct Tree {
    root: Node,
    /// How many instructions may still be gone through for it.
    fuel: usize,
}

/// Where to find what the tree does not have yet.
#[derive(Debug)]
pub(super) struct Source<'c, 'x> {
    /// The contexts of active and of inactive lanes.
    pub(super) contexts: &'c Contexts<'x>,
    pub(super) goal: Goal,
    /// The instruction that is next at the stop.
    pub(super) start: usize,
    pub(super) state: &'c State,
}

impl Tree {
    /// Returns one that has to be looked for.
    ///
    /// * `steps`: how many instructions may be gone through for it.
    pub(super) fn new(steps: usize) -> Tree {
        Tree {
            root: Node::Open,
            fuel: steps,
        }
    }

    /// Answers for lanes, a bit each.
    ///
    /// # Errors
    /// If it costs more than the question may: every node on the way costs what it took to find it.
    pub(super) fn ask(
        &mut self,
        lanes: u32,
        source: &Source<'_, '_>,
        meter: &Meter,
        asker: &mut Answers<'_, '_, '_>,
    ) -> Result<()> {
        // The way to the node that is looked at: what is asked first is answered to the end before the next.
        let mut decisions = Decisions::default();
        let mut work = vec![(&mut self.root, lanes, None, 0_usize)];
        while let Some((node, lanes, decision, depth)) = work.pop() {
            if let Some((place, bit)) = decision {
                decisions.go_on(depth.saturating_sub(1), place, bit);
            }
            if matches!(node, Node::Open) {
                let mut fuel = Fuel::of(self.fuel);
                *node = expand(source, &decisions, depth, &mut fuel);
                self.fuel = fuel.instructions();
            }
            match node {
                Node::Open => {}
                Node::Answer { answer, cost } => {
                    pay(meter, *cost)?;
                    asker.answer(lanes, *answer);
                }
                Node::Ask { place, cost, then } => {
                    pay(meter, *cost)?;
                    let [clear, set, neither] = &mut **then;
                    let depth = depth.saturating_add(1);
                    let decided = |bit| Some((*place, bit));
                    let Some(word) = asker.read(*place) else {
                        work.push((neither, lanes, decided(None), depth));
                        continue;
                    };
                    if lanes & !word != 0 {
                        work.push((clear, lanes & !word, decided(Some(false)), depth));
                    }
                    if lanes & word != 0 {
                        work.push((set, lanes & word, decided(Some(true)), depth));
                    }
                }
            }
        }
        Ok(())
    }
}

fn expand(source: &Source<'_, '_>, decisions: &Decisions, depth: usize, fuel: &mut Fuel) -> Node {
    let before = fuel.instructions();
    let start = Start {
        index: source.start,
        state: source.state.clone(),
        decisions,
    };
    let found = walk(source.contexts, start, source.goal, fuel);
    let cost = before.saturating_sub(fuel.instructions());
    let answer = match found {
        Ok(WalkResult::Unknown(Reason::Mask)) => {
            let unreadable = decisions.unreadable().map(Reason::Unavailable);
            WalkResult::Unknown(unreadable.unwrap_or(Reason::Mask))
        }
        Ok(answer) => answer,
        Err(Undecided(place)) if depth < DEPTH => {
            let then = Box::new([Node::Open, Node::Open, Node::Open]);
            return Node::Ask { place, cost, then };
        }
        Err(_) => WalkResult::Unknown(Reason::Budget),
    };
    Node::Answer { answer, cost }
}
