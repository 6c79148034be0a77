//! Supports split DWARF: units whose entries are in a `.dwo` file.
//!
//! This module pairs skeletons and split units by their common number. `unit` copies from the skeleton the attributes that the split unit lacks.
//! `package` finds the sections of a unit in a package. Sources: DWARF 5 §3.1.2, §3.1.3, §7.3.2, and GNU's extension of DWARF 4 (`DW_AT_GNU_dwo_id`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::DebugInfo;
use super::call_site::KnownCallSites;
use super::file::File;
use super::id::UnitId;
use super::unit::{UnitEntry, UnitKind};
use crate::error::Result;

impl<'a> DebugInfo<'a> {
    /// Adds the units of a `.dwo` file. `section` returns the bytes of a section by name (`.debug_info.dwo`, …), empty if there is none.
    ///
    /// A unit without a matching skeleton stays without addresses: its [`partner`](super::UnitInfo::partner) is `None`.
    ///
    /// # Errors
    /// If `section` fails.
    pub fn with_split(
        mut self,
        section: impl FnMut(&'static str) -> Result<&'a [u8]>,
    ) -> Result<DebugInfo<'a>> {
        let mut file = File::load(true, section)?;
        if let Some(main) = self.files.first() {
            file.dwarf.make_dwo(&main.dwarf);
        }
        let first = self.add_file(file);
        self.addresses = OnceLock::new();
        self.aranges = OnceLock::new();
        self.call_sites = KnownCallSites::default();
        let skeletons: BTreeMap<u64, UnitId> = self
            .unit_ids()
            .take(first)
            .zip(&self.units)
            .filter(|(_, entry)| entry.file == 0)
            .filter_map(|(id, entry)| Some((self.dwo_id(id, entry)?, id)))
            .collect();
        let pairs: Vec<(UnitId, UnitId)> = self
            .unit_ids()
            .zip(&self.units)
            .skip(first)
            .filter_map(|(id, entry)| Some((*skeletons.get(&self.dwo_id(id, entry)?)?, id)))
            .collect();
        for (skeleton, split) in pairs {
            self.pair(skeleton, split);
            self.pair(split, skeleton);
        }
        Ok(self)
    }

    /// Returns true if a `.dwo` file, which is loaded by itself, has the entries of a skeleton unit without a partner.
    pub(crate) fn has_skeleton_of(&self, dwo: &DebugInfo<'_>) -> bool {
        !self.dwo_ids(false).is_disjoint(&dwo.dwo_ids(true))
    }

    /// Returns the numbers of units without a partner: of the split units, or of the skeletons.
    fn dwo_ids(&self, is_split: bool) -> BTreeSet<u64> {
        let units = self.unit_ids().zip(&self.units);
        let units =
            units.filter(|(_, entry)| (entry.file != 0) == is_split && entry.partner.is_none());
        units
            .filter_map(|(id, entry)| self.dwo_id(id, entry))
            .collect()
    }

    /// Returns true for a unit of a `.dwo` file whose skeleton is not loaded. Its code has no addresses.
    pub(crate) fn is_without_skeleton(&self, id: UnitId) -> bool {
        let entry = self.entry(id);
        entry.is_ok_and(|entry| entry.file != 0 && entry.partner.is_none())
    }

    fn pair(&mut self, unit: UnitId, partner: UnitId) {
        if let Some(entry) = self.units.get_mut(unit.0 as usize) {
            entry.partner = Some(partner);
            // Data read before the partner was known lacks the partner's bases.
            entry.contents = OnceLock::new();
        }
        if let Some(cache) = self.caches.get_mut(unit.0 as usize) {
            *cache = OnceLock::new();
        }
    }

    /// Returns the number a unit shares with its partner.
    fn dwo_id(&self, id: UnitId, entry: &UnitEntry<'a>) -> Option<u64> {
        let paired = match entry.kind() {
            UnitKind::Skeleton | UnitKind::SplitCompile => true,
            // GNU's extension uses plain units, and puts the number into the first entry.
            UnitKind::Compile => entry.header.version() == 4,
            UnitKind::Partial | UnitKind::Type | UnitKind::SplitType => false,
        };
        let unit = paired.then(|| self.contents(id))?;
        unit.ok()?.gimli.dwo_id.map(|id| id.0)
    }
}
