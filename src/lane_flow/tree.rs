//! The plan of a stop: a decision tree of the bits that decide where a lane resumes, in the order in which the paths of the code need them.

use super::Reason;
use super::answers::Answers;
use super::contents::Unread;
use super::fuel::pay;
use super::place::DwordPlace;
use super::state::State;
use super::switches::Contexts;
use super::value::{Decisions, Undecided};
use super::walk::{Goal, Search, WalkResult};
use crate::error;
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
    /// The bit of a place.
    Ask {
        place: DwordPlace,
        cost: usize,
        /// The index of the first of three nodes: for a clear bit, a set bit, and an unreadable place. In the last case, other places may be
        /// sufficient.
        then: usize,
    },
}

/// The places where lanes resume from one place of the code, by their bits in the masks there.
#[derive(Debug)]
pub(super) struct Tree {
    /// The root is the first one. An open node is replaced; no node is removed.
    nodes: Vec<Node>,
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
            nodes: vec![Node::Open],
            fuel: steps,
        }
    }

    /// Answers for lanes until a dword is needed that was not read yet, and returns its place. The caller reads it. Returns `None` when all lanes have
    /// an answer.
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
    ) -> error::Result<Option<Unread>> {
        while let Some(mut visit) = asking.work.pop() {
            if let Some((place, bit)) = visit.decision {
                (asking.decisions).go_on(visit.depth.saturating_sub(1), place, bit);
            }
            if let Some(Node::Open) = self.nodes.get(visit.node) {
                self.expand(source, &asking.decisions, &mut visit);
            } else if !visit.is_waiting {
                visit.search = None;
            }
            match self.nodes.get(visit.node) {
                None | Some(Node::Open) => debug_assert!(false, "a visited node is known"),
                Some(Node::Answer { answer, cost }) => {
                    pay(meter, *cost)?;
                    asker.answer(visit.lanes, *answer);
                }
                Some(Node::Ask { place, cost, then }) => {
                    let known = match visit.is_waiting {
                        true => Ok(asking.word),
                        false => asker.known(*place),
                    };
                    let word = match known {
                        Ok(word) => word,
                        Err(unread) => {
                            visit.is_waiting = true;
                            asking.work.push(visit);
                            return Ok(Some(unread));
                        }
                    };
                    pay(meter, *cost)?;
                    let depth = visit.depth.saturating_add(1);
                    let cost = visit.cost.saturating_add(*cost);
                    let mut add = |lanes, bit, search| {
                        let branch = match bit {
                            Some(false) => 0,
                            Some(true) => 1,
                            None => 2,
                        };
                        asking.work.push(Visit {
                            node: then.saturating_add(branch),
                            lanes,
                            decision: Some((*place, bit)),
                            depth,
                            cost,
                            search,
                            is_waiting: false,
                        });
                    };
                    let Some(word) = word else {
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

    /// Replaces an open node.
    ///
    /// The whole way to the node is charged to the tree, because it may have to be followed again.
    fn expand(&mut self, source: &Source<'_, '_>, decisions: &Decisions, visit: &mut Visit) {
        let (found, cost) = self.find(source, decisions, visit);
        let node = match found {
            Ok(answer) => Node::Answer { answer, cost },
            Err(Undecided(place)) => {
                let then = self.nodes.len();
                self.nodes.extend([Node::Open, Node::Open, Node::Open]);
                Node::Ask { place, cost, then }
            }
        };
        if let Some(open) = self.nodes.get_mut(visit.node) {
            *open = node;
        }
    }

    /// Returns the answer of an open node, or its question, and the number of instructions that were followed from the node above.
    fn find(
        &mut self,
        source: &Source<'_, '_>,
        decisions: &Decisions,
        visit: &mut Visit,
    ) -> (Result<WalkResult, Undecided>, usize) {
        let too_much = Ok(WalkResult::Unknown(Reason::Budget));
        let is_enough = self.fuel >= visit.cost;
        self.fuel = self.fuel.saturating_sub(visit.cost);
        if !is_enough {
            return (too_much, 0);
        }
        if visit.search.is_none() {
            visit.search = source.search_again(decisions, visit.cost).map(Box::new);
        }
        let Some(search) = &mut visit.search else {
            return (too_much, 0);
        };
        let (found, used) = search.go_on(source.contexts, decisions, self.fuel);
        let cost = used.instructions;
        self.fuel = self.fuel.saturating_sub(cost);
        let found = match found {
            Ok(WalkResult::Unknown(Reason::Mask)) => {
                let unreadable = decisions.unreadable().map(Reason::Unavailable);
                Ok(WalkResult::Unknown(unreadable.unwrap_or(Reason::Mask)))
            }
            Err(_) if visit.depth >= DEPTH => too_much,
            Ok(_) | Err(_) => found,
        };
        (found, cost)
    }
}

/// A query of a tree. It owns no part of the tree, so that the tree need not be locked while a wave is read: the wave's functions may ask the
/// same tree.
pub(super) struct Asking {
    /// The nodes to visit. Each branch is completed before the next one.
    work: Vec<Visit>,
    /// The decisions above the current node.
    decisions: Decisions,
    /// The dword that the last node in `work` waits for. `None` if it is unknown.
    pub(super) word: Option<u32>,
}

impl Asking {
    /// Creates a query for lanes, one bit per lane.
    pub(super) fn for_lanes(lanes: u32) -> Asking {
        let mut work = Vec::with_capacity(8);
        work.push(Visit {
            node: 0,
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
            word: None,
        }
    }
}

/// A node on the way of some lanes.
struct Visit {
    /// The index of the node.
    node: usize,
    /// One bit per lane.
    lanes: u32,
    /// The decision above the node.
    decision: Option<(DwordPlace, Option<bool>)>,
    depth: usize,
    /// The number of instructions that were followed to find all nodes above.
    cost: usize,
    /// The search that paused above the node. `None` if that was for an earlier query.
    search: Option<Box<Search>>,
    /// True if the search goes on with the dword that the caller has read.
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
