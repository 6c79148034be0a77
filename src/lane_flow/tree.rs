//! The plan of a stop: a decision tree of the bits that decide where a lane resumes, in the order in which the paths of the code need them.

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

/// The most bits that the place of a lane may depend on.
const DEPTH: usize = 64;

/// A question or an answer. Nodes that no lane has needed yet are open.
#[derive(Debug)]
enum Node {
    Open,
    Answer {
        answer: WalkResult,
        /// The number of instructions that were followed to find it.
        cost: usize,
    },
    /// The bit of a place, with the nodes for a clear bit, a set bit, and an unreadable place. In the last case, other places may be
    /// sufficient.
    Ask {
        place: DwordPlace,
        cost: usize,
        then: Box<[Node; 3]>,
    },
}

/// The places where lanes resume from one place of the code, by their bits in the masks there.
#[derive(Debug)]
pub(super) struct Tree {
    root: Node,
    /// The number of instructions that may still be followed for it.
    fuel: usize,
}

/// The input for finding nodes of the tree.
#[derive(Debug)]
pub(super) struct Source<'c, 'x> {
    /// The contexts of active and of inactive lanes.
    pub(super) contexts: &'c Contexts<'x>,
    pub(super) goal: Goal,
    /// The next instruction at the stop.
    pub(super) start: usize,
    pub(super) state: &'c State,
}

impl Tree {
    /// Creates a tree whose root is open.
    ///
    /// * `steps`: the number of instructions that may be followed for it.
    pub(super) fn new(steps: usize) -> Tree {
        Tree {
            root: Node::Open,
            fuel: steps,
        }
    }

    /// Answers for lanes, one bit per lane.
    ///
    /// # Errors
    /// If the budget of the question is exceeded: every node on the path costs the instructions that were followed to find it.
    pub(super) fn ask(
        &mut self,
        lanes: u32,
        source: &Source<'_, '_>,
        meter: &Meter,
        asker: &mut Answers<'_, '_, '_>,
    ) -> Result<()> {
        // The path to the visited node. Each branch is completed before the next one.
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
