//! Finds the regions that contain each point of a graph, and the contradictions.
//!
//! A walk down the dominator tree opens and closes regions at their events. The result is then checked at the edges: the wave must be in
//! the same regions on every path to a block.

use petgraph::graph::{DiGraph, NodeIndex};

use super::bracket::{Bracket, Brackets, Kind};
use super::event::{Block, Change, Point};
use super::flow::Flow;
use super::masks::{MaskId, Masks};
use super::refused::Reason;

/// An enclosing region, or refused part, of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// A phase of a region: 0, or 1 for an `else`.
    Region { region: usize, phase: u8 },
    /// A refused part, by its number in [`Brackets::enclosing`].
    Refused(usize),
}

/// A region or part around a point, and its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) inside: Inside,
}

/// A contradiction to the structure of the graph.
#[derive(Clone, Debug)]
pub(super) struct Contradiction {
    pub(super) reason: Reason,
    /// The points at which it occurs.
    pub(super) points: Vec<Point>,
    /// The masks that it makes unreliable. A part inside the region of such a mask is not sound.
    pub(super) masks: Vec<MaskId>,
}

/// The regions around each point.
#[derive(Debug)]
pub(super) struct Contexts {
    pub(super) nodes: Vec<Node>,
    /// For each block, the innermost node before each event and at the end. `None` is the function itself.
    pub(super) at: Vec<Vec<Option<usize>>>,
    pub(super) contradictions: Vec<Contradiction>,
}

struct Walk<'g> {
    graph: &'g DiGraph<Block, ()>,
    flow: &'g Flow,
    masks: &'g Masks,
    brackets: &'g Brackets,
    refused: &'g [usize],
    found: Contexts,
    /// For each block, the innermost node on entry, outside of a loop that begins there.
    entered: Vec<Option<usize>>,
    /// The masks from which lanes were removed since EXEC changed.
    taken_out: Vec<MaskId>,
}

impl Contexts {
    /// Finds the regions around each point of a graph.
    ///
    /// * `refused`: numbers in [`Brackets::enclosing`] of parts that are not divided into regions.
    pub(super) fn find(
        graph: &DiGraph<Block, ()>,
        flow: &Flow,
        masks: &Masks,
        brackets: &Brackets,
        refused: &[usize],
    ) -> Contexts {
        let blocks = graph.node_count();
        let mut walk = Walk {
            graph,
            flow,
            masks,
            brackets,
            refused,
            found: Contexts {
                nodes: Vec::new(),
                at: vec![Vec::new(); blocks],
                contradictions: Vec::new(),
            },
            entered: vec![None; blocks],
            taken_out: Vec::new(),
        };
        for number in flow.order() {
            walk.block(*number);
        }
        walk.edges();
        walk.found
    }

    /// Returns the innermost node at the end of a block.
    fn end(&self, block: usize) -> Option<usize> {
        self.at
            .get(block)
            .and_then(|points| points.last().copied().flatten())
    }

    /// Returns the innermost node at the start of a block.
    fn start(&self, block: usize) -> Option<usize> {
        self.at
            .get(block)
            .and_then(|points| points.first().copied().flatten())
    }

    /// Returns a node.
    pub(super) fn node(&self, number: Option<usize>) -> Option<Node> {
        self.nodes.get(number?).copied()
    }
}

impl Walk<'_> {
    fn block(&mut self, number: usize) {
        let Some(block) = self.graph.node_weight(NodeIndex::new(number)) else {
            return;
        };
        let mut here = self
            .flow
            .immediate_dominator(number)
            .and_then(|above| self.found.end(above));
        if let Some(entered) = self.entered.get_mut(number) {
            *entered = here;
        }
        let begins = self
            .flow
            .innermost_loop(number)
            .filter(|inner| self.flow.header(*inner) == Some(number));
        let begins = begins.and_then(|inner| self.brackets.loops.get(&inner).copied());
        if let (Some(region), false) = (begins, self.is_refused(here)) {
            here = Some(self.enter(here, Inside::Region { region, phase: 0 }));
        }
        let mut points = Vec::with_capacity(block.events.len() + 1);
        self.taken_out.clear();
        for (event, one) in block.events.iter().enumerate() {
            points.push(here);
            here = self.event(
                Point {
                    block: number,
                    event,
                },
                &one.change,
                here,
            );
        }
        points.push(here);
        if !self.taken_out.is_empty() {
            let last = Point {
                block: number,
                event: block.events.len(),
            };
            self.not_left(last);
        }
        if let Some(at) = self.found.at.get_mut(number) {
            *at = points;
        }
    }

    /// Returns the node after an event.
    fn event(&mut self, point: Point, change: &Change, here: Option<usize>) -> Option<usize> {
        match change {
            Change::Or { .. } | Change::AndNot { .. } => {
                match self.masks.operand(point) {
                    Some(operand) => self.taken_out.push(operand.mask),
                    None => self.unknown_change(point),
                }
                return here;
            }
            Change::Leave => {
                let taken_out = core::mem::take(&mut self.taken_out);
                self.leave(point, here, &taken_out);
                return here;
            }
            Change::Move { .. }
            | Change::Clobber { .. }
            | Change::SaveOthers { .. }
            | Change::Clear { .. } => return here,
            Change::Save { .. }
            | Change::And
            | Change::Flip { .. }
            | Change::Restore { .. }
            | Change::WholeWave => {}
        }
        if !self.taken_out.is_empty() {
            self.not_left(point);
        }
        let opens = self.brackets.opens.get(&point).copied();
        let closes = self.brackets.closes.get(&point).copied();
        if *change == Change::WholeWave {
            return match opens {
                Some(region) => Some(self.enter(here, Inside::Region { region, phase: 0 })),
                None => {
                    self.contradict(Reason::WholeWave, &[point], &[]);
                    here
                }
            };
        }
        if self.is_whole_wave(here) {
            return if closes.is_some() && closes == self.region(here) {
                self.leave_node(here)
            } else {
                self.contradict(Reason::WholeWave, &[point], &[]);
                here
            };
        }
        if let Some(Inside::Refused(part)) = self.found.node(here).map(|node| node.inside) {
            let close = self
                .brackets
                .enclosing
                .get(part)
                .map(|bracket| bracket.close);
            return if close == Some(point) {
                self.leave_node(here)
            } else {
                here
            };
        }
        match change {
            Change::Save { .. } => self.save(point, here, opens),
            Change::And => self.narrow(point, here, opens),
            Change::Flip { .. } => self.flip(point, here),
            Change::Restore { .. } => self.restore(point, here, closes),
            Change::SaveOthers { .. }
            | Change::Clear { .. }
            | Change::Move { .. }
            | Change::Clobber { .. }
            | Change::Or { .. }
            | Change::AndNot { .. }
            | Change::Leave
            | Change::WholeWave => here,
        }
    }

    fn save(&mut self, point: Point, here: Option<usize>, opens: Option<usize>) -> Option<usize> {
        let part = |part: &usize| {
            self.brackets
                .enclosing
                .get(*part)
                .map(|bracket| (*part, bracket))
        };
        let starts = self
            .refused
            .iter()
            .filter_map(part)
            .filter(|(_, bracket)| bracket.save == point);
        // Selects the largest of the parts that start here.
        let largest = starts.reduce(|best, next| {
            let is_larger = self.flow.dominates(best.1.close, next.1.close);
            if is_larger { next } else { best }
        });
        if let Some((part, _)) = largest {
            return Some(self.enter(here, Inside::Refused(part)));
        }
        match opens {
            Some(region) => Some(self.enter(here, Inside::Region { region, phase: 0 })),
            None => here,
        }
    }

    fn narrow(&mut self, point: Point, here: Option<usize>, opens: Option<usize>) -> Option<usize> {
        match opens.and_then(|region| Some((region, self.brackets.all.get(region)?.kind))) {
            Some((region, Kind::If(_))) => {
                Some(self.enter(here, Inside::Region { region, phase: 0 }))
            }
            Some((region, Kind::Loop(_))) if self.region(here) == Some(region) => here,
            Some((_, Kind::Loop(_) | Kind::Block | Kind::WholeWave(_))) | None => {
                self.contradict(Reason::Narrowed, &[point], &[]);
                here
            }
        }
    }

    /// Changes from `then` to `else`.
    fn flip(&mut self, point: Point, here: Option<usize>) -> Option<usize> {
        let node = self.found.node(here);
        if let Some(Node {
            parent,
            inside: Inside::Region { region, phase: 0 },
        }) = node
            && let Some(bracket) = self.brackets.all.get(region)
            && let (Kind::If(narrowed), Some(operand)) = (bracket.kind, self.masks.operand(point))
        {
            let is_mask = (operand.mask, operand.gone) == (bracket.mask, bracket.gone);
            let is_others = operand.gone.is_none()
                && self.brackets.others.get(&operand.mask) == Some(&narrowed);
            if is_mask || is_others {
                return Some(self.enter(parent, Inside::Region { region, phase: 1 }));
            }
        }
        self.contradict(Reason::Restored, &[point], &[]);
        here
    }

    fn restore(
        &mut self,
        point: Point,
        here: Option<usize>,
        closes: Option<usize>,
    ) -> Option<usize> {
        if closes.is_some() && closes == self.region(here) {
            return self.leave_node(here);
        }
        match self.masks.operand(point) {
            Some(operand) if self.brackets.others.contains_key(&operand.mask) => {
                self.flip(point, here)
            }
            Some(_) | None => {
                self.contradict(Reason::Restored, &[point], &[]);
                here
            }
        }
    }

    /// Lets lanes leave the regions from whose masks they were removed. The next enclosing region must be one in which lanes wait after its
    /// end.
    fn leave(&mut self, point: Point, here: Option<usize>, taken_out: &[MaskId]) {
        let mut at = here;
        while let Some(Node { parent, inside }) = self.found.node(at) {
            let (bracket, waits_after) = match inside {
                Inside::Refused(part) => (self.brackets.enclosing.get(part), true),
                Inside::Region { region, phase } => {
                    let bracket = self.brackets.all.get(region);
                    let kind = bracket.map(|bracket| bracket.kind);
                    (
                        bracket,
                        matches!(kind, Some(Kind::Loop(_) | Kind::Block)) || phase == 1,
                    )
                }
            };
            let Some(bracket) = bracket else { break };
            let is_out = |mask: &MaskId| taken_out.contains(mask);
            let with_gone = bracket.gone.as_ref().is_some_and(is_out);
            if !is_out(&bracket.mask) && !with_gone {
                if !waits_after {
                    self.contradict(Reason::Left, &[point], taken_out);
                }
                break;
            }
            at = parent;
        }
        // Lanes must not leave an outer region without leaving the regions in between.
        let mut further = at;
        while let Some(Node { parent, inside }) = self.found.node(further) {
            let bracket = match inside {
                Inside::Refused(part) => self.brackets.enclosing.get(part),
                Inside::Region { region, .. } => self.brackets.all.get(region),
            };
            let is_out = bracket.is_some_and(|bracket| taken_out.contains(&bracket.mask));
            if is_out {
                self.contradict(Reason::Left, &[point], taken_out);
                break;
            }
            further = parent;
        }
    }

    /// Records a contradiction: lanes were removed from masks and do not leave.
    fn not_left(&mut self, point: Point) {
        let masks = core::mem::take(&mut self.taken_out);
        self.contradict(Reason::Left, &[point], &masks);
    }

    /// Records a contradiction: an unknown mask was changed.
    fn unknown_change(&mut self, point: Point) {
        let all: Vec<MaskId> = self
            .brackets
            .enclosing
            .iter()
            .map(|bracket| bracket.mask)
            .collect();
        self.contradict(Reason::Lost, &[point], &all);
    }

    /// Checks that the wave is in the same regions on every path to a block.
    fn edges(&mut self) {
        for number in self.flow.order() {
            let end = Point {
                block: *number,
                event: self
                    .found
                    .at
                    .get(*number)
                    .map_or(0, |points| points.len().saturating_sub(1)),
            };
            let out = self.found.end(*number);
            let successors = self.flow.successors(*number);
            if successors.is_empty() && out.is_some() {
                self.contradict(Reason::NotRestored, &[end], &[]);
            }
            for next in successors {
                let begins = self
                    .flow
                    .innermost_loop(*next)
                    .filter(|inner| self.flow.header(*inner) == Some(*next));
                let comes_round = begins.is_some_and(|inner| self.flow.is_in_loop(*number, inner));
                let expected = match (begins, comes_round) {
                    (Some(_), false) => self.entered.get(*next).copied().flatten(),
                    (_, _) => self.found.start(*next),
                };
                if out != expected {
                    let start = Point {
                        block: *next,
                        event: 0,
                    };
                    self.contradict(Reason::Crossed, &[end, start], &[]);
                }
            }
        }
    }

    fn enter(&mut self, parent: Option<usize>, inside: Inside) -> usize {
        self.found.nodes.push(Node { parent, inside });
        self.found.nodes.len() - 1
    }

    fn leave_node(&self, here: Option<usize>) -> Option<usize> {
        self.found.node(here).and_then(|node| node.parent)
    }

    fn region(&self, here: Option<usize>) -> Option<usize> {
        match self.found.node(here)?.inside {
            Inside::Region { region, .. } => Some(region),
            Inside::Refused(_) => None,
        }
    }

    fn is_whole_wave(&self, here: Option<usize>) -> bool {
        let bracket: Option<&Bracket> = self
            .region(here)
            .and_then(|region| self.brackets.all.get(region));
        bracket.is_some_and(|bracket| matches!(bracket.kind, Kind::WholeWave(_)))
    }

    fn is_refused(&self, here: Option<usize>) -> bool {
        let inside = self.found.node(here).map(|node| node.inside);
        matches!(inside, Some(Inside::Refused(_)))
    }

    fn contradict(&mut self, reason: Reason, points: &[Point], masks: &[MaskId]) {
        self.found.contradictions.push(Contradiction {
            reason,
            points: points.to_vec(),
            masks: masks.to_vec(),
        });
    }
}
