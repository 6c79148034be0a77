//! Lanes that wait together but part later: the place that they share is what can be said of each.

use std::collections::BTreeSet;

use super::answer::{LaneState, Waiting};

/// Forgets what acts next on lanes that part before it: see [`parting`](parting()).
pub(super) fn forget_where_lanes_part(lanes: &mut [LaneState]) {
    // There are few, and neighbours mostly are of one kind.
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

/// Returns those of waiting lanes that wait together, switched off by the same instruction and to go on at the same one, but part
/// before anything acts on them. The place of each is what they share.
pub(super) fn parting(kinds: &BTreeSet<Waiting>) -> BTreeSet<Waiting> {
    let all: Vec<Waiting> = kinds.iter().copied().collect();
    kinds
        .iter()
        .copied()
        .filter(|one| parts(one, &all))
        .collect()
}

/// Returns true if one of these waits together with a lane of a kind, but parts from it before anything acts on them.
fn parts(one: &Waiting, kinds: &[Waiting]) -> bool {
    kinds.iter().any(|other| {
        // An unknown one may be the same.
        let may_be_same = one.left.is_none() || other.left.is_none() || one.left == other.left;
        may_be_same && one.resumes == other.resumes && one.arrival != other.arrival
    })
}
