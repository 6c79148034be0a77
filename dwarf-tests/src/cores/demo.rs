//! Cores of emulated waves, one of which stopped with a memory violation: [`particles`], the core of `hetdwarf demo`,
//! and [`calls`], the core that examples and tests read.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::generation::Generation;
use super::writer::{Built, Copied, CoreSpec, QueueSpec, WaveSpec, at};
use crate::{fixture, json, number, package};

/// Memory violation. Source: the description of the format, section 10.
const MEMORY_VIOLATION: u32 = 1 << 28;

const LANES: u32 = 32;
const SGPRS: u32 = 106;
/// Scratch of a wave, in bytes.
const SCRATCH: u32 = 1024;
const LOAD: u64 = 0x7f40_0000_0000;
/// Where the copy of the code object's file is.
const COPY: u64 = 0x7fb3_0000_0000;
/// Where the kernel's arguments are.
const ARGUMENTS: u64 = 0x7f10_0000_0000;
/// The id of the packet, and the packets of the ring.
const PACKET: (u64, u32) = (381, 4);

/// A process: one dispatch, whose workgroups have one wave each.
struct Process {
    object: Vec<u8>,
    /// The address of the kernel's descriptor in the code object.
    descriptor: u64,
    vgprs: u32,
    /// Addresses and bytes.
    memory: Vec<(u64, Vec<u8>)>,
    waves: Vec<Emulated>,
    /// The index of the wave that faulted.
    fault: usize,
}

/// A wave where the emulator stopped it.
struct Emulated {
    pc: u64,
    exec: u64,
    vcc: u64,
    /// Each register's lanes.
    vector: Vec<Vec<u32>>,
    scalar: Vec<u32>,
    scratch: Vec<u8>,
}

/// The snapshots that the waves of [`calls`] are.
const WAVES: [&str; 8] = ["w01", "w08", "w06", "w10", "w14", "w08", "w10", "w14"];
/// The one that faulted: `mid` had called `leaf` in a branch that the odd lanes take.
pub const FAULT: &str = "w06";

/// Eight waves of the case `calls-O2`, stopped at different times. That one of them faulted is made up.
#[must_use]
pub fn calls() -> Built {
    let case = fixture("waves/calls-O2");
    let snapshots = WAVES.map(|name| json(&case.join(format!("{name}.json"))));
    let fault = WAVES.iter().position(|&name| name == FAULT).unwrap();
    let process = Process {
        object: std::fs::read(case.join("calls-O2.rocm.hsaco")).unwrap(),
        descriptor: 0x580,
        vgprs: 16,
        memory: regions(&snapshots[fault], "none"),
        waves: snapshots.iter().map(Emulated::of_snapshot).collect(),
        fault,
    };
    process.core()
}

/// Eight waves of `examples/particles`. The third stored past the end of a buffer in two lanes.
#[must_use]
pub fn particles() -> Built {
    let folder = package().join("../examples/particles");
    let made = json(&folder.join("waves.json"));
    let memory = made["memory"].as_array().unwrap().iter();
    let process = Process {
        object: std::fs::read(folder.join("particles.hsaco")).unwrap(),
        descriptor: 0x600,
        vgprs: 8,
        memory: memory.map(region).collect(),
        waves: list(&made["waves"], Emulated::of_particles),
        fault: 2,
    };
    process.core()
}

/// What the source of `examples/particles` gives for the wave that faulted.
#[must_use]
pub fn particles_truth() -> Value {
    let path = Path::new("../examples/particles/waves.json");
    json(&package().join(path))["truth"].take()
}

impl Process {
    fn core(self) -> Built {
        let mut spec = CoreSpec::new(Generation::Gfx11, 110_000);
        let uri = format!("memory://4242#offset={COPY:#x}&size={}", self.object.len());
        spec.objects = vec![(LOAD, uri)];
        for (address, bytes) in segments(&self.object) {
            spec.memory.push((LOAD + address, bytes, true));
        }
        spec.memory.push((COPY, self.object, false));
        for (address, bytes) in self.memory {
            spec.memory.push((address, bytes, true));
        }
        let groups = u32::try_from(self.waves.len()).unwrap();
        let waves = (0..).zip(self.waves);
        let waves = waves.map(|(n, wave)| wave.saved(n, self.vgprs, n as usize == self.fault));
        spec.queues = vec![QueueSpec {
            id: 1,
            packets: PACKET.1,
            read: PACKET.0,
            write: PACKET.0 + 1,
            scratch_waves: groups,
            scratch_bytes: SCRATCH,
            waves: vec![waves.collect()],
        }];
        let mut built = spec.build();
        // Another kernel than that of the other cores, with another grid: one workgroup for each wave.
        let packet = at::ring(0) + PACKET.0 % u64::from(PACKET.1) * 64;
        for (offset, word) in [
            (4, 1 << 16 | LANES),
            (8, 1),
            (12, LANES * groups),
            (16, 1),
            (20, 1),
            (24, SCRATCH / LANES),
        ] {
            built.set32(packet + offset, word);
        }
        built.set64(packet + 32, LOAD + self.descriptor);
        built.set64(packet + 40, ARGUMENTS);
        built
    }
}

impl Emulated {
    fn of_snapshot(snapshot: &Value) -> Self {
        let registers = &snapshot["registers"];
        let vectors = (0..16).map(|n| list(&registers[format!("v{n}")], word));
        Self {
            pc: long(&snapshot["pc"]),
            exec: long(&registers["exec"]),
            vcc: long(&registers["vcc"]),
            vector: vectors.collect(),
            scalar: (0..SGPRS)
                .map(|n| word(&registers[format!("s{n}")]))
                .collect(),
            scratch: regions(snapshot, "private_wave").remove(0).1,
        }
    }

    fn of_particles(wave: &Value) -> Self {
        Self {
            pc: long(&wave["pc"]),
            exec: long(&wave["exec"]),
            vcc: long(&wave["vcc"]),
            vector: list(&wave["vector"], |register| list(register, word)),
            scalar: list(&wave["scalar"], word),
            scratch: vec![0; SCRATCH as usize],
        }
    }

    fn saved(self, n: u32, vgprs: u32, has_faulted: bool) -> WaveSpec {
        let mut wave = WaveSpec {
            seed: 0,
            vgprs,
            slot: n,
            pc: self.pc,
            exec: self.exec,
            vcc: self.vcc,
            flat_scratch: at::scratch(0) + u64::from(n * SCRATCH),
            trapsts: if has_faulted { MEMORY_VIOLATION } else { 0 },
            is_stopped: has_faulted,
            packet_index: u32::try_from(PACKET.0 % u64::from(PACKET.1)).unwrap(),
            workgroup: [n, 0, 0],
            ..WaveSpec::of_gfx11()
        };
        // The registers that the emulator had replace those that the writer makes up.
        let mut record = wave.record(Generation::Gfx11, 10);
        let words = self.vector.into_iter().flatten().chain(self.scalar);
        for (bytes, word) in record.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        wave.copied = Some(Copied {
            record: record.into(),
            scratch: Arc::from(self.scratch),
        });
        wave
    }
}

fn long(value: &Value) -> u64 {
    number(value).try_into().unwrap()
}

fn word(value: &Value) -> u32 {
    number(value).try_into().unwrap()
}

fn list<T>(values: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    values.as_array().unwrap().iter().map(read).collect()
}

/// The memory of a space: addresses and bytes.
fn regions(snapshot: &Value, space: &str) -> Vec<(u64, Vec<u8>)> {
    let regions = snapshot["memory"].as_array().unwrap().iter();
    let of_space = regions.filter(|region| region["space"] == space);
    of_space.map(region).collect()
}

fn region(region: &Value) -> (u64, Vec<u8>) {
    let bytes = hetdwarf::report::parse_hex_bytes(region["bytes"].as_str().unwrap());
    (long(&region["address"]), bytes.unwrap())
}

/// The loaded segments of a code object: addresses and bytes.
fn segments(object: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let half = |at: usize| usize::from(u16::from_le_bytes(object[at..at + 2].try_into().unwrap()));
    let long = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().unwrap());
    let headers = long(32) as usize;
    (0..half(56))
        .map(|n| headers + n * 56)
        .filter(|&header| object[header..header + 4] == [1, 0, 0, 0])
        .map(|header| {
            let (offset, address) = (long(header + 8) as usize, long(header + 16));
            let (in_file, in_memory) = (long(header + 32) as usize, long(header + 40) as usize);
            let mut bytes = object[offset..offset + in_file].to_vec();
            bytes.resize(in_memory, 0);
            (address, bytes)
        })
        .collect()
}
