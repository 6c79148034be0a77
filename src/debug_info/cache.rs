//! What has been read of a unit and is kept, since it is asked again.

use std::sync::{Arc, OnceLock};

use super::DebugInfo;
use super::constant::Constants;
use super::convention::UnitConvention;
use super::id::UnitId;
use super::line::LineTable;
use super::unit_index::UnitIndex;
use crate::error::{Error, Result};

/// Paths of files that were asked for, by their numbers.
type Paths = Box<[OnceLock<Option<Arc<str>>>]>;

/// What has been read of a unit, each when it was asked for first.
#[derive(Debug, Default)]
pub(super) struct UnitCache<'a> {
    pub(super) index: OnceLock<Result<UnitIndex<'a>>>,
    pub(super) constants: OnceLock<Result<Constants>>,
    pub(super) convention: OnceLock<Result<UnitConvention>>,
    /// The table of its lines, which several units can share.
    pub(super) lines: OnceLock<Result<Option<Arc<LineTable<'a>>>>>,
    /// Paths of the files of that table, by their numbers.
    pub(super) paths: OnceLock<Paths>,
}

impl<'a> DebugInfo<'a> {
    /// Returns how many units have been walked over from end to end, to find functions or names in them: what is kept
    /// of each grows with its entries.
    #[must_use]
    pub fn units_indexed(&self) -> usize {
        let caches = self.caches.iter().filter_map(OnceLock::get);
        caches.filter(|cache| cache.index.get().is_some()).count()
    }

    /// What has been read of a unit.
    pub(super) fn cache(&self, id: UnitId) -> Result<&UnitCache<'a>> {
        usize::try_from(id.0)
            .ok()
            .and_then(|index| self.caches.get(index))
            .map(|cache| &**cache.get_or_init(Box::default))
            .ok_or_else(|| Error::malformed("unit number", format!("there is no unit {}", id.0)))
    }
}
