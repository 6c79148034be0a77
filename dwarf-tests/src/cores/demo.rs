//! The core of `hetdwarf demo`: emulated waves of the case `calls-O2`, one of which is said to have faulted.

use super::snapshots::{Placed, Process};
use super::writer::Built;

/// The snapshots that the waves are, each a workgroup of its own.
const WAVES: [&str; 8] = ["w01", "w08", "w06", "w10", "w14", "w08", "w10", "w14"];
/// The one that faulted: `mid` had called `leaf` in a branch that the odd lanes take.
pub const FAULT: &str = "w06";
/// Memory violation. Source: the description of the format, section 10.
const MEMORY_VIOLATION: u32 = 1 << 28;

/// The process.
#[must_use]
pub fn built() -> Built {
    let waves = (0..).zip(WAVES).map(|(n, snapshot)| Placed {
        trapsts: if snapshot == FAULT {
            MEMORY_VIOLATION
        } else {
            0
        },
        ..Placed::running(snapshot, n)
    });
    Process::new(waves.collect(), FAULT).built()
}
