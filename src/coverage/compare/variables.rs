//! Which variables of two versions of a function are the same.

use std::collections::BTreeMap;

use super::super::{CallPath, VariableCoverage};

/// A variable of the old version and of the new one, where each has it.
pub(super) type Pair<'v> = (Option<&'v VariableCoverage>, Option<&'v VariableCoverage>);

/// What tells variables apart: the names of the calls that it is in, its own, and whether it is a parameter; and, as far as they count, the lines
/// and columns of the calls and its own line.
type Key<'v> = (
    Vec<(Option<&'v str>, Option<[Option<u64>; 2]>)>,
    Option<&'v str>,
    bool,
    Option<u64>,
);

/// * `with_places`: whether lines and columns count.
fn key(variable: &VariableCoverage, with_places: bool) -> Key<'_> {
    let call = |call: &CallPath| [call.line, call.column];
    let calls = variable.calls.iter();
    let calls = calls.map(|one| (name(one), with_places.then(|| call(one))));
    (
        calls.collect(),
        variable.name.as_deref(),
        variable.is_parameter,
        variable.line.filter(|_| with_places),
    )
}

fn name(call: &CallPath) -> Option<&str> {
    call.name.as_deref()
}

/// Matches the variables of two versions: first those that are in the same places of the source, then those of the same names. Of several
/// each is matched with one, in their order.
pub(super) fn matched<'v>(
    old: &'v [VariableCoverage],
    new: &'v [VariableCoverage],
) -> Vec<Pair<'v>> {
    let mut pairs: Vec<Pair<'v>> = Vec::with_capacity(old.len());
    let mut left: Vec<&VariableCoverage> = old.iter().collect();
    let mut rest: Vec<&VariableCoverage> = new.iter().collect();
    for with_places in [true, false] {
        let mut by_key: BTreeMap<Key<'v>, Vec<usize>> = BTreeMap::new();
        for (index, variable) in rest.iter().enumerate().rev() {
            by_key
                .entry(key(variable, with_places))
                .or_default()
                .push(index);
        }
        let mut taken = vec![false; rest.len()];
        left.retain(|before| {
            let index = by_key.get_mut(&key(before, with_places)).and_then(Vec::pop);
            let Some(after) = index.and_then(|index| rest.get(index)) else {
                return true;
            };
            if let Some(taken) = index.and_then(|index| taken.get_mut(index)) {
                *taken = true;
            }
            pairs.push((Some(before), Some(after)));
            false
        });
        let mut taken = taken.into_iter();
        rest.retain(|_| !taken.next().unwrap_or(false));
    }
    pairs.extend(left.into_iter().map(|before| (Some(before), None)));
    pairs.extend(rest.into_iter().map(|after| (None, Some(after))));
    pairs
}
