//! Recovers regions from a control-flow graph, for back ends that have linear code under EXEC masks, but no tree of its source structure.
//!
//! [`recover`] follows saved masks through the graph; [`Change`] describes the effects of instructions on them. It finds the beginning and
//! end of each region with dominators and post-dominators. It checks at every edge that the wave is in the same regions on every path. A
//! contradiction is refused: in the smallest part around it that saves and restores EXEC, the places of inactive lanes are unknown. The
//! encoding of the regions is left to [`Program`](super::Program).
//!
//! An `if` of LLVM's linear code:
//!
//! ```
//! use hetdwarf::arch::WaveSize;
//! use hetdwarf::lane_pc::graph::{Block, Change, Event, recover};
//! use hetdwarf::lane_pc::{Label, MaskPlace, Region};
//! use hetdwarf::petgraph::graph::DiGraph;
//!
//! let code = |from: u64, to: u64| Label::from(from)..Label::from(to);
//! let saved = MaskPlace::Scalar(4);
//! let block = |name: &str, from, to, events| Block { name: name.to_owned(), code: code(from, to), events };
//!
//! let mut graph = DiGraph::new();
//! // s_and_saveexec_b64 s[4:5], vcc; s_cbranch_execz end
//! let save = Event { code: code(0, 4), change: Change::Save { to: saved.clone() } };
//! let narrow = Event { code: code(0, 4), change: Change::And };
//! let start = graph.add_node(block("start", 0, 8, vec![save, narrow]));
//! let then = graph.add_node(block("then", 8, 16, vec![]));
//! // s_or_b64 exec, exec, s[4:5]; s_endpgm
//! let restore = Event { code: code(16, 20), change: Change::Restore { from: saved.clone() } };
//! let end = graph.add_node(block("end", 16, 24, vec![restore]));
//! for (from, to) in [(start, then), (start, end), (then, end)] {
//!     graph.add_edge(from, to, ());
//! }
//!
//! let recovered = recover(&graph, WaveSize::Wave64)?;
//! assert!(recovered.refused.is_empty());
//! let expected = Region::if_then(0.into(), code(4, 20), saved, vec![]);
//! assert_eq!(recovered.function.regions, [expected]);
//! # Ok::<(), hetdwarf::Error>(())
//! ```

mod bracket;
mod context;
mod event;
mod flow;
mod masks;
mod refused;
#[cfg(test)]
mod tests;
mod tree;

use core::ops::Range;

use petgraph::graph::{DiGraph, NodeIndex};

use self::bracket::{Bracket, Brackets};
use self::context::{Contexts, Contradiction};
use self::event::Point;
use self::flow::Flow;
use self::masks::Masks;
use super::region::{Function, Label};
use crate::arch::WaveSize;
use crate::error::{Error, Result};

pub use event::{Block, Change, Event};
pub use refused::{Reason, Refused};

/// A function whose regions were recovered.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The function. A refused part is a region with one phase, `unknown`, in which the place of waiting lanes is unknown. If the whole
    /// function is refused, it has no regions, so that inactive lanes are nowhere.
    pub function: Function,
    /// The refused parts and the reasons, in the order of the blocks.
    pub refused: Vec<Refused>,
}

/// Checks that blocks follow each other. The addresses of symbols are unknown.
fn check_order(graph: &DiGraph<Block, ()>) -> Result<()> {
    let mut before: Option<(&Block, u64)> = None;
    for block in graph.node_weights() {
        if let (Some((other, end)), Label::Offset(start)) = (before, &block.code.start)
            && *start < end
        {
            let (name, other) = (&block.name, &other.name);
            let message = format!("`{name}` begins before `{other}`, the function before it, ends");
            return Err(Error::malformed("graph", message));
        }
        if let Label::Offset(end) = &block.code.end {
            before = Some((block, *end));
        }
    }
    Ok(())
}

/// Recovers the regions of a function.
///
/// * `graph`: its blocks in the order of the code, the entry first, with an edge for each branch that the wave can take.
///
/// # Errors
/// [`crate::error::ErrorKind::Malformed`] if there are no blocks, if a block begins before the previous one ends, or if EXEC gets more
/// lanes while the active ones are unknown ([`Reason::WholeWave`]). [`crate::error::ErrorKind::TooMany`] for regions nested deeper than
/// 1024.
pub fn recover(graph: &DiGraph<Block, ()>, wave_size: WaveSize) -> Result<Recovered> {
    let (Some(first), Some(last)) = (graph.node_weights().next(), graph.node_weights().last())
    else {
        return Err(Error::malformed("graph", "it has no blocks"));
    };
    check_order(graph)?;
    let flow = Flow::new(graph);
    let masks = Masks::new(graph, &flow, wave_size);
    let brackets = Brackets::find(graph, &flow, &masks);
    // Refused parts, in the order of refusal; a later one may enclose earlier ones.
    let mut parts: Vec<usize> = Vec::new();
    let mut refused: Vec<Refused> = Vec::new();
    let mut is_all_refused = false;
    loop {
        let contexts = Contexts::find(graph, &flow, &masks, &brackets, &parts);
        let mut made = tree::make(graph, &masks, &brackets, &contexts, is_all_refused)?;
        let mut contradictions = contexts.contradictions;
        contradictions.append(&mut made.contradictions);
        let whole_wave = contradictions
            .iter()
            .find(|one| one.reason == Reason::WholeWave);
        if let Some(one) = whole_wave {
            let refused = describe(graph, &flow, one, None);
            return Err(Error::malformed("graph", refused.to_string()));
        }
        if contradictions.is_empty() || is_all_refused {
            refused.sort_by(|a, b| (&a.blocks, a.reason).cmp(&(&b.blocks, b.reason)));
            refused.dedup();
            return Ok(Recovered {
                function: Function {
                    code: first.code.start.clone()..last.code.end.clone(),
                    wave_size,
                    regions: made.regions,
                    whole_wave: made.whole_wave,
                },
                refused,
            });
        }
        for one in &contradictions {
            let part = smallest(&flow, &brackets, one, &parts);
            is_all_refused |= part.is_none();
            refused.push(describe(
                graph,
                &flow,
                one,
                part.and_then(|part| brackets.enclosing.get(part)),
            ));
            parts.extend(part);
        }
    }
}

/// Returns the smallest part that is not refused yet, encloses a contradiction, and is not affected by it.
fn smallest(
    flow: &Flow,
    brackets: &Brackets,
    one: &Contradiction,
    parts: &[usize],
) -> Option<usize> {
    let mut best: Option<(usize, &Bracket)> = None;
    for (number, bracket) in brackets.enclosing.iter().enumerate() {
        let is_touched = one.masks.contains(&bracket.mask)
            || bracket.gone.is_some_and(|gone| one.masks.contains(&gone));
        if is_touched
            || parts.contains(&number)
            || !one
                .points
                .iter()
                .all(|point| is_within(flow, bracket, *point))
        {
            continue;
        }
        let is_smaller = best.is_none_or(|(_, best)| is_inner(flow, bracket, best));
        if is_smaller {
            best = Some((number, bracket));
        }
    }
    best.map(|(number, _)| number)
}

/// Returns true if a point is after the event that saves a mask, and not after the event that restores it.
fn is_within(flow: &Flow, bracket: &Bracket, point: Point) -> bool {
    let (save, close) = (bracket.save, bracket.close);
    let is_over = match close.block == point.block {
        true => point.event > close.event,
        false => flow.dominates(close, point),
    };
    save != point && flow.dominates(save, point) && flow.post_dominates(close, point) && !is_over
}

/// Returns true if a bracket is inside another one with which it shares a point.
fn is_inner(flow: &Flow, inner: &Bracket, outer: &Bracket) -> bool {
    if inner.save == outer.save {
        return flow.dominates(inner.close, outer.close);
    }
    flow.dominates(outer.save, inner.save)
}

/// Describes a refused part for the caller.
fn describe(
    graph: &DiGraph<Block, ()>,
    flow: &Flow,
    one: &Contradiction,
    part: Option<&Bracket>,
) -> Refused {
    let mut blocks: Vec<usize> = one.points.iter().map(|point| point.block).collect();
    let mut reason = one.reason;
    // A problem of a cycle is found at one of its blocks; the whole cycle is reported.
    for cycle in one
        .points
        .iter()
        .flat_map(|point| flow.irreducible(point.block))
    {
        reason = Reason::Irreducible;
        blocks.extend(cycle);
    }
    blocks.sort_unstable();
    blocks.dedup();
    let blocks: Vec<NodeIndex> = blocks.into_iter().map(NodeIndex::new).collect();
    let names = blocks
        .iter()
        .filter_map(|block| graph.node_weight(*block))
        .map(|block| block.name.clone());
    Refused {
        reason,
        names: names.collect(),
        code: part.and_then(|part| code_of(graph, part)),
        blocks,
    }
}

/// Returns the code from after the event that saves a mask to after the event that restores it.
fn code_of(graph: &DiGraph<Block, ()>, bracket: &Bracket) -> Option<Range<Label>> {
    let after = |point: Point| {
        let events = &graph.node_weight(NodeIndex::new(point.block))?.events;
        events.get(point.event).map(|event| event.code.end.clone())
    };
    Some(after(bracket.save)?..after(bracket.close)?)
}
