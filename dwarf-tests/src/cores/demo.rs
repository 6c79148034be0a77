//! Builds cores of emulated waves, one of which stopped with a memory violation: [`particles`], the core of `hetdwarf demo`, and [`calls`],
//! the core that examples and tests read.

use serde_json::Value;

use super::emulated::{Emulated, MEMORY_VIOLATION, Placed, Process, list, region};
use super::writer::Built;
use crate::{json, package};

/// The snapshots of the waves of [`calls`].
const WAVES: [&str; 8] = ["w01", "w08", "w06", "w10", "w14", "w08", "w10", "w14"];
/// The snapshot of the wave that faulted: `mid` had called `leaf` in a branch that the odd lanes take.
const FAULT: &str = "w06";

/// Builds eight waves of the case `calls-O2`, stopped at different times. The fault of one of them is invented.
#[must_use]
pub fn calls() -> Built {
    let waves = (0..).zip(WAVES).map(|(n, name)| Placed {
        trapsts: if name == FAULT { MEMORY_VIOLATION } else { 0 },
        ..Placed::running(Emulated::of_calls(name), n)
    });
    Process::calls(waves.collect(), FAULT).built()
}

/// Builds eight waves of `examples/particles`. The third stored past the end of a buffer in two lanes.
#[must_use]
pub fn particles() -> Built {
    let folder = package().join("../examples/particles");
    let made = json(&folder.join("waves.json"));
    let waves = (0..).zip(list(&made["waves"], Emulated::of_particles));
    let waves = waves.map(|(n, wave)| Placed {
        trapsts: if n == 2 { MEMORY_VIOLATION } else { 0 },
        ..Placed::running(wave, n)
    });
    let process = Process {
        object: std::fs::read(folder.join("particles.hsaco")).unwrap(),
        descriptor: 0x600,
        vgprs: 8,
        memory: list(&made["memory"], region),
        ..Process::calls(waves.collect(), FAULT)
    };
    process.built()
}

/// Returns the values that the source of `examples/particles` gives for the faulting wave.
#[must_use]
pub fn particles_truth() -> Value {
    let path = package().join("../examples/particles/waves.json");
    json(&path)["truth"].take()
}
