//! Finds the masks in each place at every point, by following saved masks through copies and joins.

use petgraph::graph::{DiGraph, NodeIndex};

use super::super::mask::MaskPlace;
use super::event::{Block, Change, Point};
use super::flow::Flow;
use crate::arch::WaveSize;

/// A mask, identified by the number of the event that made it.
pub(super) type MaskId = usize;

/// The mask that an event reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    pub(super) mask: MaskId,
    /// The mask of lanes that left, which are excluded.
    pub(super) gone: Option<MaskId>,
}

/// The facts that hold at a point on every path to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The places that hold masks, in the order of writing.
    held: Vec<(MaskPlace, MaskId)>,
    /// The masks that EXEC is equal to.
    equal: Vec<MaskId>,
}

impl State {
    /// Returns the place that a mask was written to last.
    pub(super) fn home(&self, mask: MaskId) -> Option<&MaskPlace> {
        let mut found = self.held.iter().rev();
        found
            .find(|(_, held)| *held == mask)
            .map(|(place, _)| place)
    }

    /// Returns true if EXEC equals a mask at the time when it was saved.
    pub(super) fn is_exec(&self, mask: MaskId) -> bool {
        self.equal.contains(&mask)
    }

    fn held_in(&self, place: &MaskPlace) -> Option<MaskId> {
        let mut found = self.held.iter();
        found.find(|(held, _)| held == place).map(|(_, mask)| *mask)
    }

    fn overwrite(&mut self, place: &MaskPlace, wave_size: WaveSize) {
        let before = self.held.len();
        self.held
            .retain(|(held, _)| !held.overlaps(place, wave_size));
        if self.held.len() != before {
            self.forget_lost();
        }
    }

    /// Forgets masks that are in no place. They cannot be restored, and `equal` would only grow.
    fn forget_lost(&mut self) {
        let State { held, equal } = self;
        equal.retain(|mask| held.iter().any(|(_, held)| held == mask));
    }

    fn put(&mut self, place: &MaskPlace, mask: MaskId, wave_size: WaveSize) {
        self.overwrite(place, wave_size);
        self.held.push((place.clone(), mask));
    }

    /// Records a new mask. The mask that the event made the last time is a different one.
    fn make(&mut self, place: &MaskPlace, mask: MaskId, wave_size: WaveSize) {
        self.held.retain(|(_, held)| *held != mask);
        self.equal.retain(|held| *held != mask);
        self.put(place, mask, wave_size);
    }

    /// Changes a mask in one place. Copies in other places no longer equal it.
    fn alter(&mut self, place: &MaskPlace) -> Option<MaskId> {
        let mask = self.held_in(place)?;
        self.held
            .retain(|(held, other)| *other != mask || held == place);
        Some(mask)
    }

    /// Keeps the facts that also hold on another path.
    fn meet(&mut self, other: &State) {
        self.held.retain(|held| other.held.contains(held));
        self.equal.retain(|mask| other.equal.contains(mask));
    }
}

/// The facts about masks at all points.
#[derive(Debug)]
pub(super) struct Masks {
    wave_size: WaveSize,
    /// The number of each block's first event.
    first: Vec<usize>,
    /// For each mask, the masks that EXEC equalled when it was saved.
    equal: Vec<Vec<MaskId>>,
    /// True for each mask from which lanes are removed or to which lanes are added.
    is_altered: Vec<bool>,
    /// The mask that each event reads.
    operands: Vec<Option<Operand>>,
    before: Vec<Option<State>>,
    after: Vec<Option<State>>,
}

impl Masks {
    pub(super) fn new(graph: &DiGraph<Block, ()>, flow: &Flow, wave_size: WaveSize) -> Masks {
        let mut first = Vec::with_capacity(graph.node_count());
        let mut events = 0_usize;
        for block in graph.node_weights() {
            first.push(events);
            events += block.events.len();
        }
        let mut masks = Masks {
            wave_size,
            first,
            equal: vec![Vec::new(); events],
            is_altered: vec![false; events],
            operands: vec![None; events],
            before: vec![None; graph.node_count()],
            after: vec![None; graph.node_count()],
        };
        // Facts are only removed, so each pass handles one level of loops. If the passes do not suffice, nothing is known.
        let most = graph.node_count() + events + 2;
        if !(0..most).any(|_| !masks.pass(graph, flow)) {
            masks.before.fill(None);
            masks.after.fill(None);
            masks.operands.fill(None);
        }
        masks
    }

    /// Visits all blocks once. Returns true if a fact changed.
    fn pass(&mut self, graph: &DiGraph<Block, ()>, flow: &Flow) -> bool {
        let mut changed = false;
        for number in flow.order() {
            let Some(block) = graph.node_weight(NodeIndex::new(*number)) else {
                continue;
            };
            let mut state = self.meet_at(*number, flow);
            if self
                .before
                .get(*number)
                .is_some_and(|known| known.as_ref() == Some(&state))
            {
                // Masks that were altered meanwhile may still change the facts at the end of the block.
                changed |= self.block(*number, block, state);
                continue;
            }
            changed = true;
            if let Some(before) = self.before.get_mut(*number) {
                *before = Some(core::mem::take(&mut state));
            }
            let state = self.before(*number);
            self.block(*number, block, state);
        }
        changed
    }

    /// Returns the facts that hold on every path to a block. Paths that have not been visited do not count yet.
    fn meet_at(&self, block: usize, flow: &Flow) -> State {
        // All paths pass the immediate dominator. The entry has none, and nothing is known there.
        let Some(dominator) = flow.immediate_dominator(block) else {
            return State::default();
        };
        let mut state = self.after(dominator);
        let ways = flow.predecessors(block).iter();
        ways.filter_map(|way| self.after.get(*way)?.as_ref())
            .for_each(|other| state.meet(other));
        state
    }

    /// Applies the events of a block. Returns true if a fact changed.
    fn block(&mut self, number: usize, block: &Block, mut state: State) -> bool {
        let mut changed = false;
        for (event, one) in block.events.iter().enumerate() {
            changed |= self.step(
                Point {
                    block: number,
                    event,
                },
                &one.change,
                &mut state,
            );
        }
        match self.after.get_mut(number) {
            Some(after) if after.as_ref() != Some(&state) => {
                *after = Some(state);
                true
            }
            Some(_) | None => changed,
        }
    }

    /// Applies an event. Returns true if a fact changed that affects other points.
    fn step(&mut self, point: Point, change: &Change, state: &mut State) -> bool {
        let number = self.number(point);
        let operand = self.read(change, state);
        if let Some(known) = self.operands.get_mut(number) {
            *known = operand;
        }
        let equal = self.apply(number, change, operand, state);
        let (Some(equal), Some(known)) = (equal, self.equal.get_mut(number)) else {
            return self.alter(change, operand);
        };
        let changed = *known != equal;
        *known = equal;
        changed
    }

    /// Returns the mask that an event reads.
    fn read(&self, change: &Change, state: &State) -> Option<Operand> {
        let (Change::Flip { from }
        | Change::Restore { from }
        | Change::Or { mask: from }
        | Change::AndNot { mask: from }) = change
        else {
            return None;
        };
        let (mask, gone) = if let MaskPlace::Without(mask, gone) = from {
            (mask.as_ref(), Some(state.held_in(gone)?))
        } else {
            (from, None)
        };
        Some(Operand {
            mask: state.held_in(mask)?,
            gone,
        })
    }

    /// Applies a change to the facts. Returns the masks that EXEC equals where a mask of all active lanes is saved.
    fn apply(
        &self,
        number: MaskId,
        change: &Change,
        operand: Option<Operand>,
        state: &mut State,
    ) -> Option<Vec<MaskId>> {
        match change {
            Change::Save { to } => {
                state.make(to, number, self.wave_size);
                state.equal.push(number);
                return Some(state.equal.clone());
            }
            Change::SaveOthers { to } | Change::Clear { to } => {
                state.make(to, number, self.wave_size);
            }
            Change::Move { from, to } => match state.held_in(from) {
                Some(mask) => state.put(to, mask, self.wave_size),
                None => state.overwrite(to, self.wave_size),
            },
            Change::Clobber { place } => state.overwrite(place, self.wave_size),
            Change::Or { mask } | Change::AndNot { mask } => {
                if let Some(altered) = state.alter(mask) {
                    state.equal.retain(|mask| *mask != altered);
                }
            }
            Change::And | Change::Flip { .. } | Change::Leave | Change::WholeWave => {
                state.equal.clear()
            }
            Change::Restore { .. } => {
                state.equal.clear();
                if let Some(Operand { mask, gone: None }) = operand {
                    match (self.is_altered.get(mask), self.equal.get(mask)) {
                        (Some(false), Some(equal)) => {
                            state.equal.clone_from(equal);
                            state.forget_lost();
                        }
                        (_, _) => state.equal.push(mask),
                    }
                }
            }
        }
        None
    }

    /// Records that a mask differs from its saved value. Returns true if that is new.
    fn alter(&mut self, change: &Change, operand: Option<Operand>) -> bool {
        let (Change::Or { .. } | Change::AndNot { .. }, Some(operand)) = (change, operand) else {
            return false;
        };
        let altered = self.is_altered.get_mut(operand.mask);
        altered.is_some_and(|known| !core::mem::replace(known, true))
    }

    fn number(&self, point: Point) -> usize {
        self.first
            .get(point.block)
            .map_or(usize::MAX, |first| first + point.event)
    }

    /// Returns the mask that the event after a point makes.
    pub(super) fn made_at(&self, point: Point) -> MaskId {
        self.number(point)
    }

    /// Returns the mask that the event after a point reads.
    pub(super) fn operand(&self, point: Point) -> Option<Operand> {
        self.operands.get(self.number(point)).copied().flatten()
    }

    /// Returns the facts at the start of a block.
    pub(super) fn before(&self, block: usize) -> State {
        self.before
            .get(block)
            .cloned()
            .flatten()
            .unwrap_or_default()
    }

    /// Returns the facts at the end of a block.
    pub(super) fn after(&self, block: usize) -> State {
        self.after.get(block).cloned().flatten().unwrap_or_default()
    }

    /// Updates the facts before an event to the facts after it.
    pub(super) fn pass_event(&self, point: Point, change: &Change, state: &mut State) {
        self.apply(self.number(point), change, self.operand(point), state);
    }
}
