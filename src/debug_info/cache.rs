//! Keeps the data that was read for a unit, because it is needed again.

use std::sync::{Arc, OnceLock};

use super::DebugInfo;
use super::constant::Constants;
use super::convention::UnitConvention;
use super::id::UnitId;
use super::line::LineTable;
use super::unit_index::UnitIndex;
use crate::error::{Error, Result};

/// The paths of requested files, by file number.
type Paths = Box<[OnceLock<Option<Arc<str>>>]>;

/// The data read for a unit, each item at its first use.
#[derive(Debug, Default)]
pub(super) struct UnitCache<'a> {
    pub(super) index: OnceLock<Result<UnitIndex<'a>>>,
    pub(super) constants: OnceLock<Result<Constants>>,
    pub(super) convention: OnceLock<Result<UnitConvention>>,
    /// The line table of the unit, which several units can share.
    pub(super) lines: OnceLock<Result<Option<Arc<LineTable<'a>>>>>,
    /// The paths of the files in that table, by file number.
    pub(super) paths: OnceLock<Paths>,
}

impl<'a> DebugInfo<'a> {
    /// Returns the number of units read from end to end to find functions or names. The memory held for each grows with its entries.
    #[must_use]
    pub fn units_indexed(&self) -> usize {
        let caches = self.caches.iter().filter_map(OnceLock::get);
        caches.filter(|cache| cache.index.get().is_some()).count()
    }

    /// Returns the data read for a unit.
    pub(super) fn cache(&self, id: UnitId) -> Result<&UnitCache<'a>> {
        usize::try_from(id.0)
            .ok()
            .and_then(|index| self.caches.get(index))
            .map(|cache| &**cache.get_or_init(Box::default))
            .ok_or_else(|| Error::malformed("unit number", format!("there is no unit {}", id.0)))
    }
}
