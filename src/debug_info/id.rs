//! The names of units and entries: everything else in `debug_info` is asked by them.

/// The number of a unit in its [`DebugInfo`](super::DebugInfo): first the units of `.debug_info`, then those of
/// `.debug_types`, then those of each `.dwo` file, each in the order of their sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub u32);

/// The identity of an entry.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DieId {
    /// Its unit.
    pub unit: UnitId,
    /// Its offset in bytes from the start of the section the unit is in.
    pub offset: u64,
}
