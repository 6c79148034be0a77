//! What belongs to a unit and is needed wherever its entries are printed.

use crate::debug_info::UnitId;

/// What belongs to a unit and is needed again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitFacts {
    pub(super) id: UnitId,
    /// Where its header is.
    pub(super) offset: u64,
    pub(super) version: u16,
    pub(super) address_size: u8,
    pub(super) offset_size: u8,
    /// True if it is in `.debug_types`.
    pub(super) in_types: bool,
    /// Where its section starts among those that were joined, if they are shown apart.
    pub(super) shift: u64,
    /// The section that its first address points into, if that is shown.
    pub(super) base_section: Option<usize>,
    /// True if it is in a `.dwo` file.
    pub(super) split: bool,
    /// True if it is in a `.dwo` file and nobody knows its addresses.
    pub(super) alone: bool,
}

impl UnitFacts {
    /// Returns the section it is in, as a code object names it.
    pub(super) fn section_name(self) -> &'static str {
        match self.in_types {
            true => ".debug_types",
            false => ".debug_info",
        }
    }
}
