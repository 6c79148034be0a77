//! Where the bytes of a section are after some were put in.

/// Bytes in the place of others.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// Where, in the old section.
    pub(super) at: usize,
    /// How many bytes go.
    pub(super) removed: usize,
    pub(super) bytes: Vec<u8>,
}

/// Where what is in the old section is in the new one.
#[derive(Clone, Debug, Default)]
pub(super) struct Shift {
    /// From an old offset on, how many bytes there are more; ascending.
    steps: Vec<(usize, usize)>,
}

impl Shift {
    /// * `edits`: in ascending order; none makes the section shorter.
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

    /// Where an entry or unit is that starts at an old offset: after what is put in there.
    pub(super) fn entry(&self, old: usize) -> usize {
        let passed = self.steps.partition_point(|(from, _)| *from <= old);
        let last = passed.checked_sub(1).and_then(|last| self.steps.get(last));
        old.saturating_add(last.map_or(0, |(_, more)| *more))
    }
}

/// Returns the section with edits, which are in ascending order.
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
