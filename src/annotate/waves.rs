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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotate::expression::tests::expressions;
    use crate::arch::WaveSize;

    /// A consumer takes EXEC as the active lanes if there is no attribute. So it is left out only if EXEC holds them in the whole function.
    #[test]
    fn exec_is_stated_if_the_lanes_are_known_in_a_part_only() {
        let expressions = expressions(WaveSize::Wave32);
        let function = 0x1000..0x1010;
        let list = |end| {
            let known = [(0x1000..end, ActiveLanes::Exec)];
            active_lane(&expressions, &known, &function).unwrap()
        };
        assert_eq!(list(0x1010), None);
        // DW_OP_reg1 (EXEC in waves of 32 lanes: USAGE "Register Identifier"), DW_OP_deref_size 4, DW_OP_stack_value.
        let exec = vec![0x51, 0x94, 4, 0x9f];
        assert_eq!(list(0x1008), Some(vec![(0x1000..0x1008, exec)]));
    }
}
