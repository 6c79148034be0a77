//! Finds the address that a loop accesses in each pass, as a wave does that waits for a flag or a lock.
//!
//! The access comes before any branch and any write to EXEC of the loop, so that every lane of the loop makes it in each pass. No instruction
//! of the loop writes a register of its address, so the current contents are those of each pass.

use core::ops::Range;

use super::address::{InLane, Memories, addresses, base, scalar};
use super::past::{Now, Past};
use super::undo::writes_exec;
use super::{Operation, Question};
use crate::error::Result;
use crate::isa::{AccessKind, Effect, Instruction, MachineRegister, Operand, Reach, ReachKind};

/// An access that a loop makes in each pass at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    /// The address of the instruction in the code object.
    pub(crate) instruction: u64,
    pub(crate) operation: Operation,
    /// The accessed address, which is the same in all active lanes.
    pub(crate) address: u64,
    /// The bytes that are accessed.
    pub(crate) bytes: u8,
    /// The base address, if the access has one in scalar registers.
    pub(crate) base: Option<u64>,
}

/// Returns the access that the loop around a stop makes in each pass. Returns `None` if registers do not prove that there is one.
///
/// * `range`: the addresses of the loop in the code object.
///
/// # Errors
/// If the budget is exceeded.
pub(crate) fn polled(question: &Question<'_, '_>, range: &Range<u64>) -> Result<Option<Polled>> {
    let pc = question.load_address.to_code(question.pc).0;
    let meter = question.meter;
    let found = range.contains(&pc).then(|| {
        let (function, _) = question.flow.function_at(pc, meter)?;
        let start = function.code().index_of(range.start)?;
        Some((function, start))
    });
    let Some((function, start)) = found.flatten() else {
        return Ok(None);
    };
    let code = function.code();
    let instructions = code.instructions.iter().skip(start);
    let within: Vec<&Instruction> = instructions
        .take_while(|one| one.address < range.end)
        .collect();
    meter.work(within.len() as u64)?;
    // A function that is called can write any register.
    let leaves =
        |one: &&Instruction| matches!(one.effect, Effect::Call { .. } | Effect::SetPc { .. });
    if within.iter().any(leaves) {
        return Ok(None);
    }
    let is_written = |register: MachineRegister| {
        within.iter().any(|one| {
            let writes = &one.writes;
            writes.is_indirect() || writes.contains(register)
        })
    };
    let now = Now::new(question.wave);
    let past = Past::at_stop(&now, question.wave.wave_size().mask());
    let memories = Memories {
        family: question.decoder.family(),
        apertures: question.wave.apertures(),
        scratch: question.scratch,
    };
    let is_straight =
        |one: &&&Instruction| !matches!(one.effect, Effect::Branch { .. }) && !writes_exec(one);
    for one in within.iter().take_while(is_straight) {
        let bytes = question.object.read_image(one.address, one.length.into());
        let reach = bytes.and_then(|bytes| question.decoder.reach(bytes, one.address));
        let Some(reach) = reach.filter(|reach| reach.operation != Operation::Store) else {
            continue;
        };
        if registers(&reach).any(is_written) {
            continue;
        }
        if let Some(address) = one_address(&now, &past, &reach, &memories) {
            return Ok(Some(Polled {
                instruction: one.address,
                operation: reach.operation,
                address,
                bytes: reach.bytes,
                base: base(&now, &past, &reach, &memories),
            }));
        }
    }
    Ok(None)
}

/// Returns the registers of the address of an access.
fn registers(reach: &Reach) -> impl Iterator<Item = MachineRegister> {
    let operands = [Some(reach.base), reach.descriptor, Some(reach.index)];
    let spans = operands
        .into_iter()
        .flatten()
        .filter_map(Operand::registers);
    let spans: Vec<_> = spans.chain(reach.address).collect();
    spans.into_iter().flat_map(|span| span.registers())
}

/// Returns the address of an access if it is the same in all active lanes, and in memory of the process.
fn one_address(now: &Now<'_>, past: &Past, reach: &Reach, memories: &Memories) -> Option<u64> {
    let touched = match reach.kind {
        ReachKind::Vector(AccessKind::Scratch) => return None,
        ReachKind::Vector(_) => {
            let (touched, is_unknown) = addresses(now, past, reach, past.surely, memories);
            if is_unknown || past.surely != past.maybe {
                return None;
            }
            touched.into_iter().map(|(_, one)| one).collect()
        }
        ReachKind::Scalar | ReachKind::ScalarBuffer => match scalar(now, past, reach) {
            InLane::At(touched) => vec![touched],
            InLane::Unknown | InLane::Nothing => return None,
        },
    };
    let first = touched.first()?;
    let is_same = touched.iter().all(|one| one.address == first.address);
    (is_same && first.generic.is_none()).then_some(first.address)
}
