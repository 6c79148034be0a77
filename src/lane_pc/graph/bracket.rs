//! Finds the events at which each region begins and ends.
//!
//! Every region ends where EXEC is restored from a mask. If an instruction narrows EXEC, the region begins there (an `if`), or at the
//! header of the loop that contains it (a loop). Otherwise, it begins where the mask was saved, and lanes leave from within. The beginning
//! of a region dominates its end, and its end post-dominates its beginning.

use std::collections::HashMap;

use petgraph::graph::{DiGraph, NodeIndex};

use super::event::{Block, Change, Point};
use super::flow::Flow;
use super::masks::{MaskId, Masks, State};

/// The beginning of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The point at which EXEC is narrowed.
    If(Point),
    /// The header of a loop, by its number.
    Loop(usize),
    /// The event that saved the mask.
    Block,
    /// The point at which EXEC gets inactive lanes.
    WholeWave(Point),
}

/// A region, or a candidate for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bracket {
    pub(super) kind: Kind,
    pub(super) mask: MaskId,
    pub(super) gone: Option<MaskId>,
    /// The event that saves the mask.
    pub(super) save: Point,
    /// The event that restores it.
    pub(super) close: Point,
}

/// The regions of a graph.
#[derive(Debug, Default)]
pub(super) struct Brackets {
    pub(super) all: Vec<Bracket>,
    /// The regions that begin or continue at an event.
    pub(super) opens: HashMap<Point, usize>,
    /// The regions that begin with a loop.
    pub(super) loops: HashMap<usize, usize>,
    pub(super) closes: HashMap<Point, usize>,
    /// The masks of the lanes of an `else`, with the event that narrows EXEC after each is made.
    pub(super) others: HashMap<MaskId, Point>,
    /// All enclosing parts, regardless of their contents: from an event that saves EXEC to one that restores it.
    pub(super) enclosing: Vec<Bracket>,
}

struct Maker<'g> {
    graph: &'g DiGraph<Block, ()>,
    flow: &'g Flow,
    masks: &'g Masks,
    /// The events that restore EXEC from each mask, with the mask of lanes that left.
    restores: HashMap<MaskId, Vec<(Point, Option<MaskId>)>>,
    /// The masks that EXEC is restored from, by the block that saves them.
    saves: Vec<Vec<Point>>,
    /// The nearest dominator of each block that saves a mask, including the block itself.
    nearest: Vec<Option<usize>>,
    made: Brackets,
}

impl Brackets {
    pub(super) fn find(graph: &DiGraph<Block, ()>, flow: &Flow, masks: &Masks) -> Brackets {
        let mut maker = Maker {
            graph,
            flow,
            masks,
            restores: HashMap::new(),
            saves: vec![Vec::new(); graph.node_count()],
            nearest: vec![None; graph.node_count()],
            made: Brackets::default(),
        };
        maker.collect();
        for number in flow.order() {
            maker.narrowing(*number);
        }
        maker.blocks();
        maker.made
    }
}

impl<'g> Maker<'g> {
    fn events(&self, block: usize) -> impl Iterator<Item = (Point, &'g Change)> + use<'g> {
        let events = self
            .graph
            .node_weight(NodeIndex::new(block))
            .map(|block| &block.events);
        let events = events.into_iter().flatten().enumerate();
        events.map(move |(event, one)| (Point { block, event }, &one.change))
    }

    /// Collects the events that save and restore masks.
    fn collect(&mut self) {
        for number in self.flow.order() {
            let mut others = Vec::new();
            for (point, change) in self.events(*number) {
                match change {
                    Change::SaveOthers { .. } => others.push(self.masks.made_at(point)),
                    Change::And => {
                        for mask in others.drain(..) {
                            self.made.others.insert(mask, point);
                        }
                    }
                    Change::Restore { .. } => {
                        if let Some(operand) = self.masks.operand(point) {
                            let list = self.restores.entry(operand.mask).or_default();
                            list.push((point, operand.gone));
                        }
                        others.clear();
                    }
                    Change::Flip { .. } | Change::Leave | Change::WholeWave => others.clear(),
                    Change::Save { .. }
                    | Change::Clear { .. }
                    | Change::Move { .. }
                    | Change::Clobber { .. }
                    | Change::Or { .. }
                    | Change::AndNot { .. } => {}
                }
            }
        }
        for number in self.flow.order() {
            for (point, change) in self.events(*number) {
                let is_restored = self.restores.contains_key(&self.masks.made_at(point));
                if let (Change::Save { .. }, true, Some(saves)) =
                    (change, is_restored, self.saves.get_mut(*number))
                {
                    saves.push(point);
                }
            }
            let has_saves = self
                .saves
                .get(*number)
                .is_some_and(|saves| !saves.is_empty());
            let above = self.flow.immediate_dominator(*number);
            let above = above.and_then(|above| self.nearest.get(above).copied().flatten());
            if let Some(nearest) = self.nearest.get_mut(*number) {
                *nearest = if has_saves { Some(*number) } else { above };
            }
        }
    }

    /// Finds the region of each event of a block that changes EXEC from a saved mask.
    fn narrowing(&mut self, number: usize) {
        let mut state = self.masks.before(number);
        for (point, change) in self.events(number) {
            let found = if matches!(change, Change::And) {
                self.region_of(point, &state)
            } else if matches!(change, Change::WholeWave) {
                self.nearest_save(point, |save, close| {
                    self.is_if(save, point, close, &state)
                        .then_some(Kind::WholeWave(point))
                })
            } else {
                None
            };
            if let Some(found) = found {
                self.add(found, point);
            }
            self.masks.pass_event(point, change, &mut state);
        }
    }

    /// Returns the region whose EXEC is narrowed at a point.
    fn region_of(&self, point: Point, state: &State) -> Option<Bracket> {
        self.nearest_save(point, |save, close| {
            if self.is_if(save, point, close, state) {
                return Some(Kind::If(point));
            }
            let inner = self.flow.innermost_loop(point.block)?;
            self.is_loop(save, inner, close)
                .then_some(Kind::Loop(inner))
        })
    }

    /// Returns the nearest mask that was saved above a point, and the first event that restores it, for which `kind` returns a region.
    fn nearest_save(
        &self,
        point: Point,
        kind: impl Fn(Point, Point) -> Option<Kind>,
    ) -> Option<Bracket> {
        let mut at = self.nearest.get(point.block).copied().flatten();
        while let Some(block) = at {
            for save in self.saves.get(block).into_iter().flatten().rev() {
                if !self.flow.dominates(*save, point) {
                    continue;
                }
                let mask = self.masks.made_at(*save);
                let mut first: Option<Bracket> = None;
                for (close, gone) in self.restores.get(&mask).into_iter().flatten() {
                    let is_first =
                        first.is_none_or(|first| self.flow.dominates(*close, first.close));
                    if let (true, Some(kind)) = (is_first, kind(*save, *close)) {
                        first = Some(Bracket {
                            kind,
                            mask,
                            gone: *gone,
                            save: *save,
                            close: *close,
                        });
                    }
                }
                if first.is_some() {
                    return first;
                }
            }
            let above = self.flow.immediate_dominator(block);
            at = above.and_then(|above| self.nearest.get(above).copied().flatten());
        }
        None
    }

    /// Returns true if EXEC equals the mask of `save` before the change at `point`, and is restored from it at `close`.
    fn is_if(&self, save: Point, point: Point, close: Point, state: &State) -> bool {
        state.is_exec(self.masks.made_at(save))
            && self.flow.innermost_loop(save.block) == self.flow.innermost_loop(point.block)
            && self.flow.encloses(point, close)
    }

    /// Returns true if EXEC equals the mask of `save` where a loop is entered, and is restored from it at `close` after the loop.
    fn is_loop(&self, save: Point, inner: usize, close: Point) -> bool {
        let Some(header) = self.flow.header(inner) else {
            return false;
        };
        let start = Point {
            block: header,
            event: 0,
        };
        let around = self.flow.loop_around(inner);
        let mask = self.masks.made_at(save);
        let entries = self.flow.predecessors(header).iter();
        self.flow.innermost_loop(save.block) == around
            && self.flow.innermost_loop(close.block) == around
            && self.flow.dominates(save, start)
            && self.flow.dominates(start, close)
            && self.flow.post_dominates(close, start)
            && entries
                .filter(|before| !self.flow.is_in_loop(**before, inner))
                .all(|before| self.masks.after(*before).is_exec(mask))
    }

    fn add(&mut self, found: Bracket, point: Point) {
        if let Kind::Loop(number) = found.kind
            && let Some(known) = self.made.loops.get(&number)
        {
            // Several events may take lanes out of one loop.
            if self.made.all.get(*known) == Some(&found) {
                self.made.opens.insert(point, *known);
            }
            return;
        }
        if self.made.closes.contains_key(&found.close) {
            return;
        }
        let number = self.made.all.len();
        self.made.all.push(found);
        self.made.opens.insert(point, number);
        self.made.closes.insert(found.close, number);
        if let Kind::Loop(inner) = found.kind {
            self.made.loops.insert(inner, number);
        }
    }

    /// Finds the regions of masks that change only because lanes leave, and all enclosing parts.
    fn blocks(&mut self) {
        for number in self.flow.order() {
            for save in self.saves.get(*number).cloned().unwrap_or_default() {
                let mask = self.masks.made_at(save);
                let restores = self.restores.get(&mask).cloned().unwrap_or_default();
                let is_first = |close: Point| {
                    restores
                        .iter()
                        .all(|(other, _)| self.flow.dominates(close, *other))
                };
                for (close, gone) in &restores {
                    if !self.flow.encloses(save, *close) {
                        continue;
                    }
                    let bracket = Bracket {
                        kind: Kind::Block,
                        mask,
                        gone: *gone,
                        save,
                        close: *close,
                    };
                    self.made.enclosing.push(bracket);
                    if is_first(*close) && !self.made.closes.contains_key(close) {
                        let number = self.made.all.len();
                        self.made.all.push(bracket);
                        self.made.opens.insert(save, number);
                        self.made.closes.insert(*close, number);
                    }
                }
            }
        }
    }
}
