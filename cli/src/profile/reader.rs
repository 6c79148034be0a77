//! The state shared by the readers of JSON files.

use std::path::Path;

use hetdwarf::error::Error;
use hetdwarf::meter::Meter;
use serde::de::MapAccess;

use super::recording::{Recording, Scope};
use super::stream::{Fields, Number, skip};

/// The state of reading a file.
pub(super) struct Reader<'r> {
    pub(super) recording: &'r mut Recording,
    pub(super) meter: &'r Meter,
    /// The process that is being read.
    pub(super) scope: Scope,
    pub(super) path: &'r Path,
    /// True in the second pass, which reads only samples.
    pub(super) again: bool,
    /// True if the file has the expected fields.
    pub(super) is_known: bool,
    /// The first process of the file.
    pub(super) first: Scope,
    /// Releases the memory of the part of the file that was read.
    pub(super) release: &'r dyn Fn(),
    /// The number of samples since the last release.
    pub(super) since: u32,
    /// The header of a thread trace's rows.
    pub(super) header: Option<Vec<String>>,
}

impl Reader<'_> {
    /// Converts an error to a message, and keeps it if it is a limit.
    pub(super) fn check<T>(&mut self, result: Result<T, Error>) -> Result<T, String> {
        result.map_err(|error| {
            let text = error.to_string();
            self.recording.limit.get_or_insert(error);
            text
        })
    }

    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), String> {
        let held = self.meter.hold(bytes as u64);
        self.check(held)
    }

    /// Counts a sample, and releases memory from time to time.
    pub(super) fn go_on(&mut self) {
        /// The number of samples in some tens of megabytes.
        const SAMPLES: u32 = 1 << 15;
        self.since += 1;
        if self.since >= SAMPLES {
            self.since = 0;
            (self.release)();
        }
    }
}

/// Three numbers: x, y and z.
#[derive(Clone, Copy, Default)]
pub(super) struct Triple(pub(super) [Option<u64>; 3]);

impl Triple {
    pub(super) fn all(self) -> Option<[u64; 3]> {
        let [x, y, z] = self.0;
        Some([x?, y?, z?])
    }
}

impl<'de> Fields<'de> for Triple {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        let [x, y, z] = &mut self.0;
        let number = match name {
            b"x" => x,
            b"y" => y,
            b"z" => z,
            _ => return skip(map),
        };
        *number = map.next_value_seed(Number)?;
        Ok(())
    }
}
