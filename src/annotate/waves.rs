//! How many lanes the waves of a code object have, and which of them are active where.

use super::expression::Expressions;
use super::lists::Entry;
use crate::arch::WaveSize;
use crate::error::Result;
use crate::lane_flow::{ActiveLanes, RangePlan};
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
pub(super) fn push(range: core::ops::Range<u64>, expression: Vec<u8>, list: &mut Vec<Entry>) {
    match list.last_mut() {
        Some((last, same)) if last.end == range.start && *same == expression => {
            last.end = range.end;
        }
        Some(_) | None => list.push((range, expression)),
    }
}

/// `DW_AT_LLVM_active_lane`; nothing where EXEC always says it.
pub(super) fn active_lane(
    expressions: &Expressions<'_>,
    plan: &[RangePlan],
) -> Result<Option<Vec<Entry>>> {
    let known = || {
        plan.iter()
            .filter_map(|(range, known)| Some((range, known.as_ref().ok()?)))
    };
    if known().all(|(_, known)| known.active == ActiveLanes::Exec) {
        return Ok(None);
    }
    let mut list = Vec::new();
    for (range, known) in known() {
        push(
            range.clone(),
            expressions.active_lane(known.active)?,
            &mut list,
        );
    }
    Ok(Some(list))
}
