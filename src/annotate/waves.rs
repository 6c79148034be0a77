//! Determines the active lanes for each range of code.

use core::ops::Range;

use super::expression::Expressions;
use super::lists::Entry;
use crate::error::Result;
use crate::lane_flow::ActiveLanes;

/// Adds an entry to a list, or extends the last entry if it is adjacent and equal.
pub(super) fn push(range: Range<u64>, expression: Vec<u8>, list: &mut Vec<Entry>) {
    match list.last_mut() {
        Some((last, same)) if last.end == range.start && *same == expression => {
            last.end = range.end;
        }
        Some(_) | None => list.push((range, expression)),
    }
}

/// Returns the entries of `DW_AT_LLVM_active_lane`, or None if EXEC holds the active lanes everywhere.
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
