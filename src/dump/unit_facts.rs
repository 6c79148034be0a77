//! Holds the facts of a unit that are needed to print its entries.

use crate::debug_info::UnitId;

/// The facts of a unit that are needed to print its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitFacts {
    pub(super) id: UnitId,
    /// The offset of its header.
    pub(super) offset: u64,
    pub(super) version: u16,
    pub(super) address_size: u8,
    pub(super) offset_size: u8,
    /// True if it is in `.debug_types`.
    pub(super) in_types: bool,
    /// The start of its section among the joined ones, if they are shown separately.
    pub(super) shift: u64,
    /// The section of its first address, if that is shown.
    pub(super) base_section: Option<usize>,
    /// True if it is in a `.dwo` file.
    pub(super) split: bool,
    /// True if it is in a `.dwo` file and its addresses are unknown.
    pub(super) alone: bool,
}

impl UnitFacts {
    /// Returns the name of its section in a code object.
    pub(super) fn section_name(self) -> &'static str {
        match self.in_types {
            true => ".debug_types",
            false => ".debug_info",
        }
    }
}
