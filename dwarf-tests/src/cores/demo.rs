//! Cores of emulated waves, one of which stopped with a memory violation: [`particles`], the core of `hetdwarf demo`,
//! and [`calls`], the core that examples and tests read.

use serde_json::Value;

use super::emulated::{Emulated, MEMORY_VIOLATION, Placed, Process, list, region};
use super::writer::Built;
use crate::{json, package};

/// The snapshots that the waves of [`calls`] are.
const WAVES: [&str; 8] = ["w01", "w08", "w06", "w10", "w14", "w08", "w10", "w14"];
/// The one that faulted: `mid` had called `leaf` in a branch that the odd lanes take.
const FAULT: &str = "w06";

/// Eight waves of the case `calls-O2`, stopped at different times. That one of them faulted is made up.
#[must_use]
pub fn calls() -> Built {
    let waves = (0..).zip(WAVES).map(|(n, name)| Placed {
        trapsts: if name == FAULT { MEMORY_VIOLATION } else { 0 },
        ..Placed::running(Emulated::of_calls(name), n)
    });
    Process::calls(waves.collect(), FAULT).built()
}

/// Eight waves of `examples/particles`. The third stored past the end of a buffer in two lanes.
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

/// What the source of `examples/particles` gives for the wave that faulted.
#[must_use]
pub fn particles_truth() -> Value {
    let path = package().join("../examples/particles/waves.json");
    json(&path)["truth"].take()
}
