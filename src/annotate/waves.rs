//! How many lanes the waves of a code object have, and which of them are active where.

use core::ops::Range;

use super::expression::Expressions;
use super::lists::Entry;
use crate::arch::WaveSize;
use crate::error::Result;
use crate::lane_flow::ActiveLanes;
use crate::object::{CodeObject, Kernel};

/// How many lanes the waves have that run a code object; nothing if that differs or is not known.
///
/// # Errors
/// If the processor does not say it, and the kernels cannot be read.
pub(super) fn wave_size(object: &CodeObject<'_>) -> Result<Option<WaveSize>> {
    let processor = object.target().processor();
    let [small, large] =
        [WaveSize::Wave32, WaveSize::Wave64].map(|size| processor.supports_wave_size(size));
    let kernels = match object.kernels() {
        Ok(kernels) => kernels,
        Err(_) if small != large => &[],
        Err(error) => return Err(error),
    };
    let mut sizes = kernels.iter().filter_map(Kernel::wave_size);
    Ok(match sizes.next() {
        Some(first) => sizes.all(|size| size == first).then_some(first),
        None if small != large => Some(if small {
            WaveSize::Wave32
        } else {
            WaveSize::Wave64
        }),
        None => None,
    })
}

/// Adds an entry to a list, or makes the last one longer that says the same.
pub(super) fn push(range: Range<u64>, expression: Vec<u8>, list: &mut Vec<Entry>) {
    match list.last_mut() {
        Some((last, same)) if last.end == range.start && *same == expression => {
            last.end = range.end;
        }
        Some(_) | None => list.push((range, expression)),
    }
}

/// Returns the entries of `DW_AT_LLVM_active_lane`, or None where EXEC always says it.
pub(super) fn active_lane(
    expressions: &Expressions<'_>,
    known: &[(Range<u64>, ActiveLanes)],
    function: &Range<u64>,
) -> Result<Option<Vec<Entry>>> {
    if let [(range, ActiveLanes::Exec)] = known
        && range.start <= function.start
        && function.end <= range.end
    {
        return Ok(None);
    }
    let mut list = Vec::new();
    for (range, active) in known {
        push(range.clone(), expressions.active_lane(*active)?, &mut list);
    }
    Ok(Some(list))
}
