//! Groups the waves of a core.

use std::collections::BTreeMap;

use super::report::Stacks;
use super::{CoreWaveDocument, GroupBy, GroupDocument};
use crate::gpu_core::WaveState;
use crate::untrusted::Untrusted;

/// Returns the groups of waves: stopped ones first, then by size, then by position.
pub(super) fn groups(
    waves: &[CoreWaveDocument],
    stacks: &Stacks,
    group_by: GroupBy,
) -> Vec<GroupDocument> {
    type Key<'w> = (
        WaveState,
        Option<&'w Untrusted<'static>>,
        &'w [Untrusted<'static>],
        usize,
    );
    let mut found: BTreeMap<Key<'_>, Vec<usize>> = BTreeMap::new();
    for wave in waves {
        let stack = stacks.text(wave);
        let (common, own) = match group_by {
            GroupBy::Stack => (stack, 0),
            GroupBy::Line => (stack.get(..1).unwrap_or_default(), 0),
            GroupBy::Kernel => (Default::default(), 0),
            GroupBy::None => (stack, wave.index),
        };
        let key = (wave.state, wave.kernel.as_ref(), common, own);
        found.entry(key).or_default().push(wave.index);
    }
    let mut groups: Vec<GroupDocument> = found
        .into_iter()
        .map(|((state, kernel, stack, _), waves)| GroupDocument {
            waves,
            stack: stack.to_vec(),
            state,
            kernel: kernel.cloned(),
        })
        .collect();
    let rank = |state: WaveState| match state {
        WaveState::Stopped => 0,
        WaveState::Unsure => 1,
        WaveState::Running => 2,
    };
    groups.sort_by_key(|group| {
        let first = group.waves.first().copied();
        (
            rank(group.state),
            core::cmp::Reverse(group.waves.len()),
            first,
        )
    });
    groups
}
