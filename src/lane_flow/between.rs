//! Finds the instructions between two places of a function.

use crate::machine_flow::{Code, Edge};

/// The instructions that a wave may execute on its way from one instruction to another. Neither has been executed yet.
pub(super) struct Between {
    /// Their numbers, in the order of the code.
    pub(super) instructions: Vec<usize>,
    /// True if control may go anywhere.
    pub(super) is_unknown: bool,
}

impl Between {
    pub(super) fn new(code: &Code, from: usize, to: usize) -> Between {
        let count = code.instructions.len();
        let after = |index| {
            reached(index, count, |at, next| {
                next.extend(code.edges(at).filter_map(|edge| match edge {
                    Edge::To(to) => Some(to),
                    Edge::Leaves | Edge::Ends | Edge::Lost => None,
                }));
            })
        };
        let (after_from, after_to) = (after(from), after(to));
        let leads_to = reached(to, count, |at, next| next.extend(code.before(at)));
        // The last instruction is executed only if the wave has been there before.
        let is_loop = code.before(to).any(|one| is_in(&after_to, one));
        let is_between = |index: &usize| {
            is_in(&after_from, *index) && is_in(&leads_to, *index) && (*index != to || is_loop)
        };
        let is_lost = |index: usize| code.edges(index).any(|edge| edge == Edge::Lost);
        Between {
            instructions: (0..count).filter(is_between).collect(),
            is_unknown: (0..count).any(|index| is_in(&after_from, index) && is_lost(index)),
        }
    }
}

fn is_in(set: &[bool], index: usize) -> bool {
    set.get(index).copied().unwrap_or(false)
}

/// Returns the instructions that are reachable from one, including itself. `next` adds its successors.
fn reached(from: usize, count: usize, next: impl Fn(usize, &mut Vec<usize>)) -> Vec<bool> {
    let mut found = vec![false; count];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        match found.get_mut(at) {
            Some(seen @ false) => *seen = true,
            Some(true) | None => continue,
        }
        next(at, &mut open);
    }
    found
}
