//! Identifies units and entries. All queries to `debug_info` take these identifiers.

/// The number of a unit in its [`DebugInfo`](super::DebugInfo). The units of `.debug_info` come first, then those in `.debug_types`, then those in
/// each `.dwo` file, each in section order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub u32);

/// The identity of an entry.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DieId {
    /// The unit.
    pub unit: UnitId,
    /// The offset in bytes from the start of the unit's section.
    pub offset: u64,
}
