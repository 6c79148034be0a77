//! Matches the variables in two versions of a function.

use std::collections::BTreeMap;

use super::super::{CallPath, VariableCoverage};

/// A variable in the old version and in the new one, if it exists there.
pub(super) type Pair<'v> = (Option<&'v VariableCoverage>, Option<&'v VariableCoverage>);

/// The identity of a variable: the names of the enclosing inlined calls, its own name, and true for a parameter. If places count, also the lines and
/// columns of the calls and the line of the variable.
type Key<'v> = (
    Vec<(Option<&'v str>, Option<[Option<u64>; 2]>)>,
    Option<&'v str>,
    bool,
    Option<u64>,
);

/// * `with_places`: true if lines and columns count.
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

/// Matches the variables of two versions, first by name and source place and then by name alone. If several variables match, they are paired in their
/// order.
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
