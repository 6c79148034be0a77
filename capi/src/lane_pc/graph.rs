//! Adds functions as control-flow graphs: blocks, with the effects of their instructions on masks.

use core::ffi::c_char;
use core::ops::Range;

use hetdwarf::lane_pc::graph::{Block, Change, Event, recover};
use hetdwarf::lane_pc::{Label, MaskPlace, Program};
use petgraph::graph::{DiGraph, NodeIndex};

use super::{hetdwarf_lane_pcs, hetdwarf_mask, hetdwarf_range, labels, mask, out_of_order};
use crate::handle::with;
use crate::plain::{self, sized};
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::text::given_if;

/// `place` gets EXEC: the mask of a region begins.
pub const HETDWARF_LANES_SAVE: u32 = 0;
/// `place` gets the active lanes for which the condition that comes next is false: those of an `else`.
pub const HETDWARF_LANES_SAVE_OTHERS: u32 = 1;
/// `place` gets no lanes: a mask of lanes that left begins.
pub const HETDWARF_LANES_CLEAR: u32 = 2;
/// The mask in `place` is in `to` from then on.
pub const HETDWARF_LANES_MOVE: u32 = 3;
/// `place` gets something that is no mask.
pub const HETDWARF_LANES_CLOBBER: u32 = 4;
/// The active lanes are added to the mask of lanes that left, in `place`.
pub const HETDWARF_LANES_OR: u32 = 5;
/// The active lanes are taken out of the mask in `place`.
pub const HETDWARF_LANES_AND_NOT: u32 = 6;
/// EXEC keeps the lanes for which a condition is true.
pub const HETDWARF_LANES_AND: u32 = 7;
/// EXEC gets the lanes of the mask in `place` that were not active: from `then` to `else`.
pub const HETDWARF_LANES_FLIP: u32 = 8;
/// EXEC gets the lanes of the mask in `place`: those that were saved, or those of an `else`.
pub const HETDWARF_LANES_RESTORE: u32 = 9;
/// EXEC becomes zero: the active lanes leave the regions whose masks they were just taken out of.
pub const HETDWARF_LANES_LEAVE: u32 = 10;
/// EXEC gets lanes that are not active, for whole or quad wave mode.
pub const HETDWARF_LANES_WHOLE_WAVE: u32 = 11;

/// An instruction, or a few that belong together, that changes EXEC or a saved mask.
///
/// Instructions that do two things, `s_and_saveexec_b64` for example (`HETDWARF_LANES_SAVE`, then `HETDWARF_LANES_AND`), are two
/// events with the same code.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_lane_event {
    /// `sizeof(hetdwarf_lane_event)`, the same in all entries of an array.
    pub size: usize,
    /// The instruction; of several, the one after which the change is complete.
    pub code: hetdwarf_range,
    /// The kind of change: `HETDWARF_LANES_SAVE` and those after it.
    pub change: u32,
    /// Zero.
    pub padding: u32,
    /// See the changes; zero where they do not name it.
    pub place: hetdwarf_mask,
    /// See the changes; zero where they do not name it.
    pub to: hetdwarf_mask,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A basic block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_block {
    /// `sizeof(hetdwarf_block)`, the same in all entries of an array.
    pub size: usize,
    /// The name in messages.
    pub name: *const c_char,
    /// Its code.
    pub code: hetdwarf_range,
    /// The changes that its instructions make to masks, in order; NULL if there are none.
    pub events: *const hetdwarf_lane_event,
    /// The number of entries.
    pub event_count: usize,
    /// The blocks that the wave can go to from here, by their indices; NULL if there are none.
    pub successors: *const usize,
    /// The number of entries.
    pub successor_count: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_lane_event hetdwarf_block }

fn change(event: &hetdwarf_lane_event) -> Answer<Change> {
    let place = || -> Answer<MaskPlace> { mask(event.place) };
    Ok(match event.change {
        HETDWARF_LANES_SAVE => Change::Save { to: place()? },
        HETDWARF_LANES_SAVE_OTHERS => Change::SaveOthers { to: place()? },
        HETDWARF_LANES_CLEAR => Change::Clear { to: place()? },
        HETDWARF_LANES_MOVE => Change::Move {
            from: place()?,
            to: mask(event.to)?,
        },
        HETDWARF_LANES_CLOBBER => Change::Clobber { place: place()? },
        HETDWARF_LANES_OR => Change::Or { mask: place()? },
        HETDWARF_LANES_AND_NOT => Change::AndNot { mask: place()? },
        HETDWARF_LANES_AND => Change::And,
        HETDWARF_LANES_FLIP => Change::Flip { from: place()? },
        HETDWARF_LANES_RESTORE => Change::Restore { from: place()? },
        HETDWARF_LANES_LEAVE => Change::Leave,
        HETDWARF_LANES_WHOLE_WAVE => Change::WholeWave,
        other => return Err(Fault::argument(format!("there is no change {other}"))),
    })
}

/// Reads an array of blocks into a graph with an edge for each successor.
///
/// # Safety
/// `blocks` is NULL or an array of `count` entries that meet the requirements of `hetdwarf_block`.
unsafe fn graph(blocks: *const hetdwarf_block, count: usize) -> Answer<DiGraph<Block, ()>> {
    let mut graph = DiGraph::new();
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut at = blocks;
    for number in 0..count {
        // SAFETY: the caller keeps the contract of this function; each entry starts with its size.
        let block = unsafe { plain::read(at) }?;
        // SAFETY: the next entry is inside the array, or one past its end.
        at = unsafe { at.byte_add(block.size) };
        let mut events = Vec::new();
        let mut next = block.events;
        for _ in 0..block.event_count {
            // SAFETY: the caller keeps the contract of this function.
            let event = unsafe { plain::read(next) }?;
            // SAFETY: the caller keeps the contract of this function.
            next = unsafe { next.byte_add(event.size) };
            events.push(Event {
                code: labels(event.code)?,
                change: change(&event)?,
            });
        }
        for index in 0..block.successor_count {
            if block.successors.is_null() {
                return Err(Fault::argument("successors is NULL"));
            }
            // SAFETY: it is not NULL, and the array has enough entries.
            let successor = unsafe { block.successors.add(index).read() };
            if successor >= count {
                let message = format!("block {number}: there is no block {successor} of {count}");
                return Err(Fault::argument(message));
            }
            edges.push((number, successor));
        }
        // SAFETY: the name is NULL or a string.
        let name = unsafe { given_if(block.name, "name") }?;
        graph.add_node(Block {
            name: name.map_or_else(|| format!("block {number}"), str::to_owned),
            code: labels(block.code)?,
            events,
        });
    }
    for (from, to) in edges {
        graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
    }
    Ok(graph)
}

/// Returns the size of a function's code in bytes.
fn size_of_code(code: &Range<Label>) -> u64 {
    match code.end {
        Label::Offset(end) => end,
        Label::Symbol(_) => 0,
    }
}

/// Adds a function of which only blocks are known: its regions are found in the graph.
///
/// * `name`: in the source.
/// * `start`, `end`: the symbols at its first instruction and after its last.
/// * `wave_size`: lanes of the waves, 32 or 64.
/// * `blocks`, `block_count`: its blocks in the order of the code, the entry first.
/// * `refused_count`: gets in how many parts of it no regions were found, as EXEC is not changed as structured code does it. There
///   nothing is said of lanes that are not active; `hetdwarf_lane_pcs_refused` says why. May be NULL.
///
/// Errors: `HETDWARF_INVALID_ARGUMENT` also for names as of `hetdwarf_lane_pcs_begin_function`, and if another has not been ended;
/// `HETDWARF_MALFORMED` if there are no blocks, if a block begins before the one before it ends, or if EXEC gets more lanes and what is active cannot be told; `HETDWARF_LIMIT` for regions that are nested too deep.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_add_graph(
    lane_pcs: *mut hetdwarf_lane_pcs,
    name: *const c_char,
    start: *const c_char,
    end: *const c_char,
    wave_size: u32,
    blocks: *const hetdwarf_block,
    block_count: usize,
    refused_count: *mut usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            if writer.begun.borrow().is_some() {
                return Err(out_of_order("a function"));
            }
            let wave_size = super::wave_size(wave_size)?;
            let names = writer.names(name, start, end)?;
            let found = recover(&graph(blocks, block_count)?, wave_size)?;
            let size = size_of_code(&found.function.code);
            writer.add(names, size, Program::new(&found.function)?);
            let refused = found.refused.iter().map(ToString::to_string).collect();
            if !refused_count.is_null() {
                refused_count.write_unaligned(found.refused.len());
            }
            *writer.refused.borrow_mut() = refused;
            Ok(())
        })
    })
}

/// Why nothing is said of a part of the graph that was added last.
///
/// * `index`: below `refused_count`.
/// * `text`: gets a string that belongs to the writer: the reason, and the blocks by their names.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_refused(
    lane_pcs: *mut hetdwarf_lane_pcs,
    index: usize,
    text: *mut *const c_char,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            let refused = writer.refused.borrow();
            let found = refused.get(index);
            let missing = || Fault::not_found(format!("there is no refused part {index}"));
            let found = found.ok_or_else(missing)?;
            plain::put(text, writer.texts.keep(found), "text")
        })
    })
}
