//! Control-flow graphs as Python gives them: blocks, with the effects of their instructions on masks.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use hetdwarf::lane_pc::graph::{Block, Change, Event};
use hetdwarf::lane_pc::{Label, MaskPlace};
use hetdwarf::petgraph::graph::{DiGraph, NodeIndex};

use super::{check_keys, entries, field, mask, wrong};

/// A graph of blocks in the order of the code, with an edge for each successor.
pub fn graph(blocks: &[Bound<'_, PyAny>]) -> PyResult<DiGraph<Block, ()>> {
    let mut graph = DiGraph::new();
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let dict = block
            .cast::<PyDict>()
            .map_err(|_| wrong("a block is a dict with code, name, events and successors"))?;
        graph.add_node(self::block(dict, number)?);
        for successor in entries(dict, "successors")? {
            let successor: usize = successor.extract()?;
            if successor >= blocks.len() {
                let count = blocks.len();
                let message = format!("block {number}: there is no block {successor} of {count}");
                return Err(PyValueError::new_err(message));
            }
            edges.push((number, successor));
        }
    }
    for (from, to) in edges {
        graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
    }
    Ok(graph)
}

fn block(dict: &Bound<'_, PyDict>, number: usize) -> PyResult<Block> {
    check_keys(dict, "a block", &["code", "name", "events", "successors"])?;
    let code = field(dict, "code")?.ok_or_else(|| wrong("a block has code: (start, end)"))?;
    let (start, end): (u64, u64) = code.extract()?;
    let name = field(dict, "name")?
        .map(|name| name.extract::<String>())
        .transpose()?;
    let events = entries(dict, "events")?;
    Ok(Block {
        name: name.unwrap_or_else(|| format!("block {number}")),
        code: Label::from(start)..Label::from(end),
        events: events.iter().map(event).collect::<PyResult<_>>()?,
    })
}

/// An event: `(start, end, change)` with the masks that the change names.
fn event(value: &Bound<'_, PyAny>) -> PyResult<Event> {
    let wrong = || wrong("an event is (start, end, change) with the masks that the change names");
    let tuple = value.cast::<PyTuple>().map_err(|_| wrong())?;
    let mut items = tuple.iter();
    let mut next = || items.next().ok_or_else(wrong);
    let (start, end): (u64, u64) = (next()?.extract()?, next()?.extract()?);
    let name: String = next()?.extract()?;
    let mut place = || -> PyResult<MaskPlace> { mask(&next()?, 1) };
    let change = match name.as_str() {
        "save" => Change::Save { to: place()? },
        "save-others" => Change::SaveOthers { to: place()? },
        "clear" => Change::Clear { to: place()? },
        "move" => Change::Move {
            from: place()?,
            to: place()?,
        },
        "clobber" => Change::Clobber { place: place()? },
        "or" => Change::Or { mask: place()? },
        "and-not" => Change::AndNot { mask: place()? },
        "and" => Change::And,
        "flip" => Change::Flip { from: place()? },
        "restore" => Change::Restore { from: place()? },
        "leave" => Change::Leave,
        "whole-wave" => Change::WholeWave,
        other => {
            return Err(PyValueError::new_err(format!(
                "there is no change {other:?}"
            )));
        }
    };
    if next().is_ok() {
        return Err(wrong());
    }
    Ok(Event {
        code: Label::from(start)..Label::from(end),
        change,
    })
}
