//! Lanes that wait together but part later. Each of them is reported at the place that they share.

use std::collections::BTreeSet;

use super::answer::{LaneState, Waiting};

/// Clears the next acting instruction of lanes that part before it: see [`parting`](parting()).
pub(super) fn forget_where_lanes_part(lanes: &mut [LaneState]) {
    // There are few kinds, and neighbouring lanes mostly have the same one.
    let mut kinds: Vec<Waiting> = Vec::new();
    for kind in lanes.iter().filter_map(|lane| lane.waiting()) {
        if kinds.last() != Some(&kind) && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut parting = kinds.clone();
    parting.retain(|one| parts(one, &kinds));
    if parting.is_empty() {
        return;
    }
    for lane in lanes {
        let parts = lane.waiting().is_some_and(|one| parting.contains(&one));
        if let LaneState::Waiting { arrival, .. } = lane
            && parts
        {
            *arrival = None;
        }
    }
}

/// Returns the kinds of waiting lanes that wait together but part before an instruction acts on them. They were switched off by the same
/// instruction and resume at the same one. Each of them is reported at the place that they share.
pub(super) fn parting(kinds: &BTreeSet<Waiting>) -> BTreeSet<Waiting> {
    let all: Vec<Waiting> = kinds.iter().copied().collect();
    kinds
        .iter()
        .copied()
        .filter(|one| parts(one, &all))
        .collect()
}

/// Returns true if one of `kinds` waits together with `one`, but parts from it before an instruction acts on them.
fn parts(one: &Waiting, kinds: &[Waiting]) -> bool {
    kinds.iter().any(|other| {
        // An unknown switch-off may be the same.
        let may_be_same = one.left.is_none() || other.left.is_none() || one.left == other.left;
        may_be_same && one.resumes == other.resumes && one.arrival != other.arrival
    })
}
