//! Finds the parts of the debugging information that are in `.dwo` files and were not loaded.

use core::fmt;

use super::Program;
use crate::error::Result;
use crate::meter::{BYTES_PER_STEP, Meter};
use crate::object::CodeObject;
use crate::untrusted::Untrusted;

/// The skeleton units whose entries are in `.dwo` files that were not loaded.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MissingSplit {
    /// The number of these units.
    pub units: u64,
    /// The `.dwo` file that the first of them names.
    pub name: Option<Untrusted<'static>>,
    /// True if another one names a different file.
    pub has_others: bool,
}

/// Returns the place of the debugging information, as the end of a sentence.
impl fmt::Display for MissingSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.has_others {
            "other files"
        } else {
            "another file"
        };
        f.write_str(place)?;
        match (&self.name, self.has_others) {
            (Some(name), false) => write!(f, ", {name}"),
            (Some(name), true) => write!(f, ", {name} and more"),
            (None, _) => Ok(()),
        }
    }
}

impl Program<'_> {
    /// Returns true if a `.dwo` file has the entries of a skeleton unit of this program that were not loaded yet.
    ///
    /// # Errors
    /// If a debug section of the file cannot be decompressed or relocated.
    pub fn has_skeleton_of<'d>(&self, dwo: &'d CodeObject<'d>) -> Result<bool> {
        let dwo = Program::load(dwo)?;
        Ok(self.info().has_skeleton_of(dwo.info()))
    }

    /// Returns the units whose entries are in `.dwo` files that were not loaded, or `None` if there are none.
    #[must_use]
    pub fn missing_split(&self) -> Option<MissingSplit> {
        let mut missing = None;
        // A limit or a malformed unit is reported by the query that reads the units' entries.
        let _ = self.collect_missing_split(&mut missing, &self.meter().for_query());
        missing
    }

    fn collect_missing_split(
        &self,
        missing: &mut Option<MissingSplit>,
        meter: &Meter,
    ) -> Result<()> {
        for id in self.info().unit_ids() {
            meter.work(1)?;
            let Ok(unit) = self.info().unit_info(id) else {
                continue;
            };
            if !unit.is_without_split_unit() {
                continue;
            }
            let name = unit.dwo_name.as_deref();
            meter.work(name.map_or(0, str::len) as u64 / BYTES_PER_STEP)?;
            match missing {
                None => {
                    *missing = Some(MissingSplit {
                        units: 1,
                        name: name.map(|name| name.to_owned().into()),
                        has_others: false,
                    });
                }
                Some(missing) => {
                    missing.units += 1;
                    missing.has_others |= missing.name.as_ref().map(Untrusted::raw) != name;
                }
            }
        }
        Ok(())
    }
}
