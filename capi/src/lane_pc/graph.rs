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
/// `place` gets the active lanes for which the next condition is false: the lanes of an `else`.
pub const HETDWARF_LANES_SAVE_OTHERS: u32 = 1;
/// `place` becomes empty: a mask of lanes that left begins.
pub const HETDWARF_LANES_CLEAR: u32 = 2;
/// The mask in `place` moves to `to`.
pub const HETDWARF_LANES_MOVE: u32 = 3;
/// `place` is overwritten, and no longer holds a mask.
pub const HETDWARF_LANES_CLOBBER: u32 = 4;
/// The active lanes are added to `place`, the mask of lanes that left.
pub const HETDWARF_LANES_OR: u32 = 5;
/// The active lanes are removed from the mask in `place`.
pub const HETDWARF_LANES_AND_NOT: u32 = 6;
/// EXEC keeps the lanes for which a condition is true.
pub const HETDWARF_LANES_AND: u32 = 7;
/// EXEC gets the lanes of the mask in `place` that were inactive: the change from `then` to `else`.
pub const HETDWARF_LANES_FLIP: u32 = 8;
/// EXEC gets the lanes of the mask in `place`: the saved lanes, or the lanes of an `else`.
pub const HETDWARF_LANES_RESTORE: u32 = 9;
/// EXEC becomes zero: the active lanes leave the regions whose masks they were just removed from.
pub const HETDWARF_LANES_LEAVE: u32 = 10;
/// EXEC also gets inactive lanes, for whole or quad wave mode.
pub const HETDWARF_LANES_WHOLE_WAVE: u32 = 11;

/// A change of EXEC or of a saved mask, by one instruction or by several that belong together.
///
/// An instruction that makes two changes is two events with the same code. For example, `s_and_saveexec_b64` is `HETDWARF_LANES_SAVE`, then
/// `HETDWARF_LANES_AND`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_lane_event {
    /// `sizeof(hetdwarf_lane_event)`, equal in all entries of an array.
    pub size: usize,
    /// The code of the instruction. For several instructions, the code of the one that completes the change.
    pub code: hetdwarf_range,
    /// The kind of change: `HETDWARF_LANES_SAVE` and those after it.
    pub change: u32,
    /// Zero.
    pub padding: u32,
    /// The place that the change names; zero if it names none.
    pub place: hetdwarf_mask,
    /// The second place that the change names; zero if it names none.
    pub to: hetdwarf_mask,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A basic block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_block {
    /// `sizeof(hetdwarf_block)`, equal in all entries of an array.
    pub size: usize,
    /// The block's name in messages.
    pub name: *const c_char,
    /// The code of the block.
    pub code: hetdwarf_range,
    /// The changes that its instructions make to masks, in order; NULL if there are none.
    pub events: *const hetdwarf_lane_event,
    /// The number of entries.
    pub event_count: usize,
    /// The indices of the blocks to which the wave can go from here; NULL if there are none.
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

/// Adds a function by its blocks. Its regions are found in the control-flow graph.
///
/// * `name`: the name in the source.
/// * `start`, `end`: the symbols at its first instruction and after its last.
/// * `wave_size`: the lanes of a wave, 32 or 64.
/// * `blocks`, `block_count`: the blocks in the order of the code, the entry first.
/// * `refused_count`: gets the number of parts without regions, because they do not change EXEC as structured code does. In these parts,
///   inactive lanes get no location. `hetdwarf_lane_pcs_refused` returns the reasons. May be NULL.
///
/// Errors: `HETDWARF_INVALID_ARGUMENT` also for the names that `hetdwarf_lane_pcs_begin_function` rejects, and if another function has not
/// been ended; `HETDWARF_MALFORMED` if there are no blocks, if a block begins before the previous one ends, or if EXEC gets more lanes and
/// the active lanes cannot be determined; `HETDWARF_LIMIT` if regions are nested too deeply.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
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

/// Returns the reason why a part of the last added graph has no lane PCs.
///
/// * `index`: below `refused_count`.
/// * `text`: gets a string that belongs to the writer: the reason, with the names of the blocks.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
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
