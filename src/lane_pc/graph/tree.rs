//! Converts the regions around each point to a tree of regions with their code, in the order of the code.

use core::ops::Range;

use petgraph::graph::{DiGraph, NodeIndex};

use super::super::mask::MaskPlace;
use super::super::region::{Label, Phase, Region, WholeWave};
use super::bracket::{Bracket, Brackets, Kind};
use super::context::{Contexts, Contradiction, Inside, Node};
use super::event::{Block, Point};
use super::masks::{MaskId, Masks, State};
use super::refused::Reason;
use crate::error::Result;
use crate::limits::too_many;

/// The depth limit: deeper than compilers nest, and equal to the limit of [`super::super::Program`].
const DEPTH: usize = 1024;

/// The tree of regions.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) regions: Vec<Region>,
    pub(super) whole_wave: Vec<WholeWave>,
    pub(super) contradictions: Vec<Contradiction>,
}

/// A region that has begun and not ended.
struct Open {
    inside: Inside,
    bracket: Bracket,
    mask: Vec<(Range<Label>, MaskPlace)>,
    phases: Vec<Phase>,
    phase_start: Label,
    within: Vec<Region>,
}

struct Maker<'g> {
    graph: &'g DiGraph<Block, ()>,
    brackets: &'g Brackets,
    open: Vec<Open>,
    /// The regions that have begun; they may have ended.
    has_begun: Vec<bool>,
    /// The place of the mask of each `if` at the instruction that narrows EXEC, which precedes its region.
    at_start: Vec<Option<MaskPlace>>,
    made: Made,
    /// The end of the visited code.
    end: Label,
}

/// Makes the tree.
///
/// # Errors
/// [`ErrorKind::TooMany`](crate::error::ErrorKind::TooMany) for regions nested deeper than 1024.
pub(super) fn make(
    graph: &DiGraph<Block, ()>,
    masks: &Masks,
    brackets: &Brackets,
    contexts: &Contexts,
    is_all_refused: bool,
) -> Result<Made> {
    let first = graph
        .node_weights()
        .next()
        .map(|block| block.code.start.clone());
    let mut maker = Maker {
        graph,
        brackets,
        open: Vec::new(),
        has_begun: vec![false; brackets.all.len()],
        at_start: vec![None; brackets.all.len()],
        made: Made::default(),
        end: first.unwrap_or(Label::Offset(0)),
    };
    for (number, block) in graph.node_weights().enumerate() {
        let mut state = masks.before(number);
        let nodes = contexts.at.get(number).map_or(&[][..], Vec::as_slice);
        let mut from = block.code.start.clone();
        // An unreachable block belongs to the region around it.
        for (event, node) in nodes.iter().enumerate() {
            let point = Point {
                block: number,
                event,
            };
            let until = block
                .events
                .get(event)
                .map_or(&block.code.end, |one| &one.code.end);
            if from != *until {
                maker.gap(
                    point,
                    from..until.clone(),
                    *node,
                    contexts,
                    &state,
                    is_all_refused,
                )?;
                from = until.clone();
            }
            if let Some(one) = block.events.get(event) {
                maker.note_start(point, &state);
                masks.pass_event(point, &one.change, &mut state);
            }
        }
    }
    maker.close_down_to(0);
    Ok(maker.made)
}

impl Maker<'_> {
    /// Adds a range of code between two events.
    fn gap(
        &mut self,
        point: Point,
        code: Range<Label>,
        node: Option<usize>,
        contexts: &Contexts,
        state: &State,
        is_all_refused: bool,
    ) -> Result<()> {
        let mut around = Vec::new();
        let mut at = node;
        while let Some(Node { parent, inside }) = contexts.node(at) {
            if !is_all_refused || self.is_whole_wave(inside) {
                around.push(inside);
            }
            at = parent;
            if around.len() > DEPTH {
                return Err(too_many("nested regions", DEPTH as u64));
            }
        }
        around.reverse();
        let same = self
            .open
            .iter()
            .zip(&around)
            .take_while(|(open, inside)| open.inside == **inside)
            .count();
        let turns = match (self.open.get(same), around.get(same)) {
            (Some(open), Some(inside)) => turns_to(open.inside, *inside),
            (_, _) => None,
        };
        self.close_down_to(same + usize::from(turns.is_some()));
        if let (Some(phase), Some(inside)) = (turns, around.get(same)) {
            if phase == 0 {
                self.contradict(Reason::Scattered, point, &[]);
            }
            self.end_phase();
            if let Some(open) = self.open.last_mut() {
                open.inside = *inside;
                open.phase_start = code.start.clone();
            }
        }
        for inside in around.iter().skip(self.open.len()) {
            self.begin(*inside, point, &code.start);
        }
        self.note_masks(point, &code, state);
        self.end = code.end;
        Ok(())
    }

    fn begin(&mut self, inside: Inside, point: Point, start: &Label) {
        let found = match inside {
            Inside::Region { region, phase } => {
                let begun = self.has_begun.get_mut(region);
                let is_again = begun.is_some_and(|begun| core::mem::replace(begun, true));
                if is_again || phase != 0 {
                    self.contradict(Reason::Scattered, point, &[]);
                }
                self.brackets.all.get(region)
            }
            Inside::Refused(part) => self.brackets.enclosing.get(part),
        };
        let Some(bracket) = found.copied() else {
            return;
        };
        let mut mask = Vec::new();
        if let Kind::If(narrowed) = bracket.kind
            && let Some(event) = self.event(narrowed)
        {
            // From the instruction that narrows EXEC, the mask belongs to the region.
            let code = event.code.clone();
            match self.start_of(inside) {
                Some(place) => mask.push((code, place)),
                None => self.contradict(Reason::Lost, point, &[bracket.mask]),
            }
        }
        self.open.push(Open {
            inside,
            bracket,
            mask,
            phases: Vec::new(),
            phase_start: start.clone(),
            within: Vec::new(),
        });
    }

    /// Records the place of the mask of a region that begins with the next event.
    fn note_start(&mut self, point: Point, state: &State) {
        let Some(region) = self.brackets.opens.get(&point) else {
            return;
        };
        let found = self
            .brackets
            .all
            .get(*region)
            .and_then(|bracket| place(bracket, state));
        if let Some(start) = self.at_start.get_mut(*region) {
            *start = found;
        }
    }

    fn start_of(&self, inside: Inside) -> Option<MaskPlace> {
        match inside {
            Inside::Region { region, .. } => self.at_start.get(region).cloned().flatten(),
            Inside::Refused(_) => None,
        }
    }

    /// Records the places of the masks of open regions.
    fn note_masks(&mut self, point: Point, code: &Range<Label>, state: &State) {
        let mut lost = Vec::new();
        for open in &mut self.open {
            match (place(&open.bracket, state), open.mask.last_mut()) {
                (Some(place), Some((range, last))) if *last == place && range.end == code.start => {
                    range.end = code.end.clone();
                }
                (Some(place), _) => open.mask.push((code.clone(), place)),
                (None, _) => {
                    lost.push(open.bracket.mask);
                    lost.extend(open.bracket.gone);
                }
            }
        }
        if !lost.is_empty() {
            self.contradict(Reason::Lost, point, &lost);
        }
    }

    fn close_down_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            self.end_phase();
            let Some(open) = self.open.pop() else { break };
            if self.is_whole_wave(open.inside) {
                let sections = open
                    .mask
                    .into_iter()
                    .map(|(code, active)| WholeWave { code, active });
                self.made.whole_wave.extend(sections);
                continue;
            }
            let region = Region::new(open.mask, open.phases);
            match self.open.last_mut() {
                Some(around) => around.within.push(region),
                None => self.made.regions.push(region),
            }
        }
    }

    /// Ends the phase of the innermost region at the end of the visited code.
    fn end_phase(&mut self) {
        let Some((open, around)) = self.open.split_last() else {
            return;
        };
        let is_in_loop = matches!(
            around.last().map(|around| around.bracket.kind),
            Some(Kind::Loop(_))
        );
        let after = self
            .event(open.bracket.close)
            .map(|event| event.code.end.clone());
        let (name, wait) = match (open.inside, open.bracket.kind) {
            (Inside::Refused(_), _) => ("unknown", None),
            (Inside::Region { phase: 0, .. }, Kind::If(narrowed)) => (
                "then",
                self.event(narrowed).map(|event| event.code.start.clone()),
            ),
            (Inside::Region { .. }, Kind::If(_)) => ("else", after),
            (Inside::Region { .. }, Kind::Loop(_)) => ("loop", after),
            (Inside::Region { .. }, Kind::Block) if is_in_loop => ("continue", after),
            (Inside::Region { .. }, Kind::Block) if around.is_empty() => ("return", after),
            (Inside::Region { .. }, Kind::Block | Kind::WholeWave(_)) => ("block", after),
        };
        let end = self.end.clone();
        if let Some(open) = self.open.last_mut() {
            let code = open.phase_start.clone()..end;
            let regions = core::mem::take(&mut open.within);
            open.phases.push(Phase {
                name,
                code,
                wait,
                regions,
            });
        }
    }

    fn event(&self, point: Point) -> Option<&super::event::Event> {
        self.graph
            .node_weight(NodeIndex::new(point.block))?
            .events
            .get(point.event)
    }

    fn is_whole_wave(&self, inside: Inside) -> bool {
        let Inside::Region { region, .. } = inside else {
            return false;
        };
        let kind = self.brackets.all.get(region).map(|bracket| bracket.kind);
        matches!(kind, Some(Kind::WholeWave(_)))
    }

    fn contradict(&mut self, reason: Reason, point: Point, masks: &[MaskId]) {
        self.made.contradictions.push(Contradiction {
            reason,
            points: vec![point],
            masks: masks.to_vec(),
        });
    }
}

/// Returns the phase that a region changes to, if both arguments belong to one region.
fn turns_to(from: Inside, to: Inside) -> Option<u8> {
    match (from, to) {
        (
            Inside::Region { region, .. },
            Inside::Region {
                region: other,
                phase,
            },
        ) if region == other => Some(phase),
        (Inside::Region { .. } | Inside::Refused(_), _) => None,
    }
}

/// Returns the place of the mask of a region, without the lanes that left, unless they are removed from the mask itself.
fn place(bracket: &Bracket, state: &State) -> Option<MaskPlace> {
    let mask = state.home(bracket.mask)?.clone();
    match bracket.gone {
        Some(gone) => Some(mask.without(state.home(gone)?.clone())),
        None => Some(mask),
    }
}
