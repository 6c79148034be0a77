//! The plan of a stop: which bits decide where a lane goes on, in the order in which the ways of the code
//! ask for them.

use super::Reason;
use super::arrival::arrival;
use super::bill::{Bill, Left};
use super::place::DwordPlace;
use super::state::State;
use super::switches::Contexts;
use super::value::{Decisions, Undecided};
use super::walk::{Answer, walk};
use crate::error::Result;

/// How many bits a lane's place may depend on.
const DEPTH: usize = 64;

/// What is found out about lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Where they go on.
    GoOn(Answer),
    /// The next instruction that acts on them; None if it is not known.
    Arrive(Option<u64>),
}

/// A question, or an answer. What no lane has asked for yet has not been looked for.
#[derive(Debug)]
enum Node {
    Open,
    Answer {
        answer: Found,
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
    left: usize,
}

/// Where to find what the tree does not have yet.
#[derive(Debug)]
pub(super) struct Source<'c, 'x> {
    /// Of lanes that are on, and of those that are off.
    pub(super) contexts: &'c Contexts<'x>,
    /// Whether it is asked what acts on the lanes, not where they go on.
    pub(super) is_of_arrival: bool,
    /// The instruction that is next at the stop.
    pub(super) start: usize,
    pub(super) state: &'c State,
}

/// The dwords that the tree asks for, and the answers for lanes that differ in them.
pub(super) trait Asker {
    /// What a place has; nothing if that is not known.
    fn read(&mut self, place: DwordPlace) -> Option<u32>;

    /// The answer for some lanes, a bit each.
    fn answer(&mut self, lanes: u32, answer: Found);
}

impl Tree {
    /// One that has to be looked for.
    ///
    /// * `steps`: how many instructions may be gone through for it.
    pub(super) fn new(steps: usize) -> Tree {
        Tree {
            root: Node::Open,
            left: steps,
        }
    }

    /// Answers for lanes, a bit each.
    ///
    /// # Errors
    /// If it cannot be paid for: every node on the way costs what it took to find it.
    pub(super) fn ask(
        &mut self,
        lanes: u32,
        (source, bill): (&Source<'_, '_>, &Bill<'_>),
        asker: &mut impl Asker,
    ) -> Result<()> {
        // The way to the node that is looked at: what is asked first is answered to the end before the next.
        let mut decisions = Decisions::default();
        let mut work = vec![(&mut self.root, lanes, None, 0_usize)];
        while let Some((node, lanes, decision, depth)) = work.pop() {
            if let Some(decision) = decision {
                decisions.go_on(depth.saturating_sub(1), decision);
            }
            if matches!(node, Node::Open) {
                let found = bill.find(self.left, |left| expand(source, &decisions, depth, left))?;
                *node = found.found;
                if let Node::Answer { cost, .. } | Node::Ask { cost, .. } = node {
                    self.left = self.left.saturating_sub(*cost);
                }
            }
            match node {
                Node::Open => {}
                Node::Answer { answer, cost } => {
                    bill.pay(*cost)?;
                    asker.answer(lanes, *answer);
                }
                Node::Ask { place, cost, then } => {
                    bill.pay(*cost)?;
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

fn expand(source: &Source<'_, '_>, decisions: &Decisions, depth: usize, left: &mut Left) -> Node {
    let before = left.instructions();
    let (start, state) = (source.start, source.state.clone());
    let found = if source.is_of_arrival {
        arrival(source.contexts, start, state, decisions, left).map(Found::Arrive)
    } else {
        walk(&source.contexts.off, start, state, decisions, left).map(Found::GoOn)
    };
    let cost = before.saturating_sub(left.instructions());
    let answer = match found {
        Ok(Found::GoOn(Answer::Unknown(Reason::Mask))) => {
            let unreadable = decisions.unreadable().map(Reason::Unavailable);
            Found::GoOn(Answer::Unknown(unreadable.unwrap_or(Reason::Mask)))
        }
        Ok(found) => found,
        Err(Undecided(place)) if depth < DEPTH => {
            let then = Box::new([Node::Open, Node::Open, Node::Open]);
            return Node::Ask { place, cost, then };
        }
        Err(_) if source.is_of_arrival => Found::Arrive(None),
        Err(_) => Found::GoOn(Answer::Unknown(Reason::Budget)),
    };
    Node::Answer { answer, cost }
}
