//! The plan of a stop: a decision tree of the bits that decide where a lane resumes, in the order in which the paths of the code need them.

use super::Reason;
use super::answers::Answers;
use super::contents::Word;
use super::fuel::pay;
use super::place::DwordPlace;
use super::state::State;
use super::switches::Contexts;
use super::value::{Decisions, Undecided};
use super::walk::{Goal, Search, WalkResult};
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
        /// The number of instructions that were followed from the node above to find it.
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

    /// Returns the node below some decisions. An open node is replaced, and never opened again, so the nodes above are questions.
    fn node_after(&mut self, decisions: &Decisions) -> (&mut Node, &mut usize) {
        let mut node = &mut self.root;
        for (_, bit) in decisions.iter() {
            let Node::Ask { then, .. } = node else {
                break;
            };
            let [clear, set, neither] = &mut **then;
            node = match bit {
                Some(false) => clear,
                Some(true) => set,
                None => neither,
            };
        }
        (node, &mut self.fuel)
    }

    /// Answers for lanes until a dword is needed that was not read yet, and returns its place. Returns `None` when all lanes have an answer.
    ///
    /// # Errors
    /// If the budget of the query is exceeded: every node on the path costs the instructions that were followed from the node above to
    /// find it. Searches that are repeated are bounded by the budget of the tree.
    pub(super) fn go_on(
        &mut self,
        asking: &mut Asking,
        source: &Source<'_, '_>,
        meter: &Meter,
        asker: &mut Answers<'_, '_, '_>,
    ) -> Result<Option<DwordPlace>> {
        while let Some(mut visit) = asking.work.pop() {
            if let Some((place, bit)) = visit.decision {
                (asking.decisions).go_on(visit.depth.saturating_sub(1), place, bit);
            }
            let (node, fuel) = self.node_after(&asking.decisions);
            if matches!(node, Node::Open) {
                *node = expand(source, &asking.decisions, &mut visit, fuel);
            } else if !visit.is_waiting {
                visit.search = None;
            }
            match node {
                Node::Open => {}
                Node::Answer { answer, cost } => {
                    pay(meter, *cost)?;
                    asker.answer(visit.lanes, *answer);
                }
                Node::Ask { place, cost, .. } => {
                    let word = asker.known(*place);
                    if matches!(word, Word::NotRead) {
                        visit.is_waiting = true;
                        asking.work.push(visit);
                        return Ok(Some(*place));
                    }
                    pay(meter, *cost)?;
                    let depth = visit.depth.saturating_add(1);
                    let cost = visit.cost.saturating_add(*cost);
                    let mut add = |lanes, bit, search| {
                        asking.work.push(Visit {
                            lanes,
                            decision: Some((*place, bit)),
                            depth,
                            cost,
                            search,
                            is_waiting: false,
                        });
                    };
                    let Word::Known(word) = word else {
                        add(visit.lanes, None, visit.search);
                        continue;
                    };
                    let [off, on] = [visit.lanes & !word, visit.lanes & word];
                    if off != 0 {
                        let search = match on {
                            0 => visit.search.take(),
                            _ => visit.search.clone(),
                        };
                        add(off, Some(false), search);
                    }
                    if on != 0 {
                        add(on, Some(true), visit.search);
                    }
                }
            }
        }
        Ok(None)
    }
}

/// A query of a tree. It owns no part of the tree, so that the tree need not be locked while a wave is read: the wave's functions may ask the
/// same tree.
pub(super) struct Asking {
    /// The nodes to visit. Each branch is completed before the next one.
    work: Vec<Visit>,
    /// The decisions above the current node.
    decisions: Decisions,
}

impl Asking {
    /// Creates a query for lanes, one bit per lane.
    pub(super) fn for_lanes(lanes: u32) -> Asking {
        let mut work = Vec::with_capacity(8);
        work.push(Visit {
            lanes,
            decision: None,
            depth: 0,
            cost: 0,
            search: None,
            is_waiting: false,
        });
        Asking {
            work,
            decisions: Decisions::default(),
        }
    }
}

/// A node on the way of some lanes.
struct Visit {
    /// One bit per lane.
    lanes: u32,
    /// The decision above the node.
    decision: Option<(DwordPlace, Option<bool>)>,
    depth: usize,
    /// The number of instructions that were followed to find all nodes above.
    cost: usize,
    /// The search that paused above the node. `None` if that was for an earlier query.
    search: Option<Box<Search>>,
    /// True if a dword has to be read before the search goes on.
    is_waiting: bool,
}

impl Source<'_, '_> {
    fn search(&self) -> Search {
        Search::new(self.goal, self.start, self.state.clone())
    }

    /// Repeats the search from the start to an open node. Returns `None` if it does not ask the same questions, because it reached a limit.
    fn search_again(&self, decisions: &Decisions, cost: usize) -> Option<Search> {
        let mut search = self.search();
        let mut before = Decisions::default();
        let mut left = cost;
        for (place, bit) in decisions.iter() {
            let (asked, used) = search.go_on(self.contexts, &before, left);
            if asked != Err(Undecided(place)) {
                return None;
            }
            left = left.saturating_sub(used.instructions);
            before = before.with(place, bit);
        }
        Some(search)
    }
}

/// Finds an open node.
///
/// * `fuel`: the number of instructions that may still be followed for the tree. Charged for the whole way to the node, which may have to
///   be followed again.
fn expand(
    source: &Source<'_, '_>,
    decisions: &Decisions,
    visit: &mut Visit,
    fuel: &mut usize,
) -> Node {
    let too_much = Node::Answer {
        answer: WalkResult::Unknown(Reason::Budget),
        cost: 0,
    };
    let is_enough = *fuel >= visit.cost;
    *fuel = fuel.saturating_sub(visit.cost);
    if !is_enough {
        return too_much;
    }
    if visit.search.is_none() {
        visit.search = source.search_again(decisions, visit.cost).map(Box::new);
    }
    let Some(search) = &mut visit.search else {
        return too_much;
    };
    let (found, used) = search.go_on(source.contexts, decisions, *fuel);
    let cost = used.instructions;
    *fuel = fuel.saturating_sub(cost);
    let answer = match found {
        Ok(WalkResult::Unknown(Reason::Mask)) => {
            let unreadable = decisions.unreadable().map(Reason::Unavailable);
            WalkResult::Unknown(unreadable.unwrap_or(Reason::Mask))
        }
        Ok(answer) => answer,
        Err(Undecided(place)) if visit.depth < DEPTH => {
            let then = Box::new([Node::Open, Node::Open, Node::Open]);
            return Node::Ask { place, cost, then };
        }
        Err(_) => WalkResult::Unknown(Reason::Budget),
    };
    Node::Answer { answer, cost }
}
