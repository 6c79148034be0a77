//! Maps offsets of a section to their new values after insertions.

/// Bytes that replace others.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// The offset in the old section.
    pub(super) at: usize,
    /// The number of removed bytes.
    pub(super) removed: usize,
    pub(super) bytes: Vec<u8>,
}

/// The mapping from offsets in the old section to offsets in the new one.
#[derive(Clone, Debug, Default)]
pub(super) struct Shift {
    /// The old offsets at which the displacement changes, with the total number of inserted bytes; in ascending order.
    steps: Vec<(usize, usize)>,
}

impl Shift {
    /// * `edits`: the edits in ascending order. None of them makes the section shorter.
    pub(super) fn new<'e>(edits: impl IntoIterator<Item = &'e Edit>) -> Shift {
        let mut total = 0_usize;
        let steps = edits.into_iter().map(|edit| {
            total = total.saturating_add(edit.bytes.len().saturating_sub(edit.removed));
            (edit.at.saturating_add(edit.removed), total)
        });
        Shift {
            steps: steps.collect(),
        }
    }

    /// Returns the new offset of an entry or unit that starts at an old offset. Bytes that are inserted at this offset precede it.
    pub(super) fn entry(&self, old: usize) -> usize {
        let passed = self.steps.partition_point(|(from, _)| *from <= old);
        let last = passed.checked_sub(1).and_then(|last| self.steps.get(last));
        old.saturating_add(last.map_or(0, |(_, more)| *more))
    }
}

/// Returns the section with the edits, which are in ascending order.
pub(super) fn edited(section: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut out = Vec::with_capacity(section.len());
    let mut from = 0;
    for edit in edits {
        out.extend(section.get(from..edit.at).unwrap_or_default());
        out.extend(&edit.bytes);
        from = edit.at.saturating_add(edit.removed);
    }
    out.extend(section.get(from..).unwrap_or_default());
    out
}
