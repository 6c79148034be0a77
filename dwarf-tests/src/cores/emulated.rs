//! Builds processes from emulated waves, some with invented faults.

use std::sync::Arc;

use serde_json::Value;

use super::generation::Generation;
use super::writer::{Built, Copied, CoreSpec, QueueSpec, WaveSpec, at};
use crate::{fixture, json, number};

/// The memory violation bit of TRAPSTS. Source: the description of the format, section 10.
pub const MEMORY_VIOLATION: u32 = 1 << 28;

const LANES: u32 = 32;
const SGPRS: u32 = 106;
/// The scratch of a wave, in bytes.
const SCRATCH: u32 = 1024;
/// The load address of the code object in the emulator.
const LOAD: u64 = 0x7f40_0000_0000;
/// The address of the copy of the code object's file.
const COPY: u64 = 0x7fb3_0000_0000;
/// The address of the kernel's arguments.
const ARGUMENTS: u64 = 0x7f10_0000_0000;
/// The id of the packet, and the number of packets of the ring.
const PACKET: (u64, u32) = (381, 4);

/// The state of a wave where the emulator stopped it.
#[derive(Clone, Debug)]
pub struct Emulated {
    /// The program counter.
    pub pc: u64,
    /// The execution mask.
    pub exec: u64,
    /// The condition mask.
    pub vcc: u64,
    /// The lanes of each vector register.
    pub vector: Vec<Vec<u32>>,
    /// The scalar registers.
    pub scalar: Vec<u32>,
    /// The scratch memory of the wave.
    pub scratch: Vec<u8>,
}

/// A wave of a process.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The registers and scratch.
    pub wave: Emulated,
    /// The stop reason as bits of TRAPSTS, or 0 if the wave runs.
    pub trapsts: u32,
    /// The lanes that are switched off in addition to the inactive lanes of the emulated wave.
    pub off: u64,
    /// The workgroup, in x.
    pub workgroup: u32,
}

impl Placed {
    /// Returns a running wave.
    #[must_use]
    pub fn running(wave: Emulated, workgroup: u32) -> Placed {
        Placed {
            wave,
            trapsts: 0,
            off: 0,
            workgroup,
        }
    }
}

/// A process with one dispatch, whose workgroups have one wave each.
#[derive(Clone, Debug)]
pub struct Process {
    /// The upper half of the load address. The lower half is 0.
    pub load_high: u32,
    /// The code object.
    pub object: Vec<u8>,
    /// The address of the kernel's descriptor in the code object.
    pub descriptor: u64,
    /// The number of vector registers of each wave.
    pub vgprs: u32,
    /// The buffers: addresses and bytes.
    pub memory: Vec<(u64, Vec<u8>)>,
    /// The waves, each in its own slot and workgroup.
    pub waves: Vec<Placed>,
}

impl Process {
    /// Returns a process of the case `calls-O2`, as the emulator ran it.
    ///
    /// * `buffers_of`: the snapshot whose buffers are in the core.
    #[must_use]
    pub fn calls(waves: Vec<Placed>, buffers_of: &str) -> Process {
        let case = fixture("waves/calls-O2");
        Process {
            load_high: (LOAD >> 32) as u32,
            object: std::fs::read(case.join("calls-O2.rocm.hsaco")).unwrap(),
            descriptor: 0x580,
            vgprs: 16,
            memory: regions(&json(&case.join(format!("{buffers_of}.json"))), "none"),
            waves,
        }
    }

    /// Builds the process at the time of its crash.
    #[must_use]
    pub fn built(&self) -> Built {
        let load = u64::from(self.load_high) << 32;
        let mut spec = CoreSpec::new(Generation::Gfx11, 110_000);
        let uri = format!("memory://4242#offset={COPY:#x}&size={}", self.object.len());
        spec.objects = vec![(load, uri)];
        for (address, bytes) in segments(&self.object) {
            spec.memory.push((load + address, bytes, true));
        }
        spec.memory.push((COPY, self.object.clone(), false));
        for (address, bytes) in &self.memory {
            spec.memory.push((*address, bytes.clone(), true));
        }
        let waves = (0..).zip(&self.waves);
        let waves: Vec<WaveSpec> = waves.map(|(n, placed)| self.wave(n, placed)).collect();
        let groups = self.waves.iter().map(|wave| wave.workgroup + 1);
        let groups = groups.max().unwrap_or(1);
        spec.queues = vec![QueueSpec {
            id: 1,
            packets: PACKET.1,
            read: PACKET.0,
            write: PACKET.0 + 1,
            scratch_waves: u32::try_from(waves.len()).unwrap(),
            scratch_bytes: SCRATCH,
            waves: vec![waves],
        }];
        let mut built = spec.build();
        // The kernel and grid differ from the other cores: one workgroup for each wave.
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
        built.set64(packet + 32, load + self.descriptor);
        built.set64(packet + 40, ARGUMENTS);
        built
    }

    /// Returns a word of a register or of scratch, with code addresses relocated to this process.
    fn moved(&self, word: u32) -> u32 {
        match word == (LOAD >> 32) as u32 {
            true => self.load_high,
            false => word,
        }
    }

    fn wave(&self, n: u32, placed: &Placed) -> WaveSpec {
        let of = &placed.wave;
        let mut wave = WaveSpec {
            seed: 0,
            vgprs: self.vgprs,
            slot: n,
            pc: (u64::from(self.load_high) << 32) + (of.pc - LOAD),
            exec: of.exec & !placed.off,
            vcc: of.vcc,
            flat_scratch: at::scratch(0) + u64::from(n * SCRATCH),
            trapsts: placed.trapsts,
            is_stopped: placed.trapsts != 0,
            packet_index: u32::try_from(PACKET.0 % u64::from(PACKET.1)).unwrap(),
            workgroup: [placed.workgroup, 0, 0],
            ..WaveSpec::of_gfx11()
        };
        // The emulator's registers replace the writer's invented ones.
        let mut record = wave.record(Generation::Gfx11, 10);
        let words = of.vector.iter().flatten().chain(&of.scalar);
        for (bytes, word) in record.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&self.moved(*word).to_le_bytes());
        }
        let mut scratch = of.scratch.clone();
        for word in scratch.chunks_exact_mut(4) {
            let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            word.copy_from_slice(&self.moved(value).to_le_bytes());
        }
        wave.copied = Some(Copied {
            record: record.into(),
            scratch: Arc::from(scratch),
        });
        wave
    }
}

impl Emulated {
    /// Returns a wave of the case `calls-O2`.
    ///
    /// * `name`: the snapshot, for example `w06`.
    #[must_use]
    pub fn of_calls(name: &str) -> Emulated {
        let snapshot = json(&fixture("waves/calls-O2").join(format!("{name}.json")));
        let registers = &snapshot["registers"];
        let vectors = (0..16).map(|n| list(&registers[format!("v{n}")], word));
        let scalars = (0..SGPRS).map(|n| word(&registers[format!("s{n}")]));
        Emulated {
            pc: long(&snapshot["pc"]),
            exec: long(&registers["exec"]),
            vcc: long(&registers["vcc"]),
            vector: vectors.collect(),
            scalar: scalars.collect(),
            scratch: regions(&snapshot, "private_wave").remove(0).1,
        }
    }

    /// Returns a wave of `examples/particles/waves.json`, which uses no scratch.
    #[must_use]
    pub fn of_particles(wave: &Value) -> Emulated {
        Emulated {
            pc: long(&wave["pc"]),
            exec: long(&wave["exec"]),
            vcc: long(&wave["vcc"]),
            vector: list(&wave["vector"], |register| list(register, word)),
            scalar: list(&wave["scalar"], word),
            scratch: vec![0; SCRATCH as usize],
        }
    }
}

fn long(value: &Value) -> u64 {
    number(value).try_into().unwrap()
}

fn word(value: &Value) -> u32 {
    number(value).try_into().unwrap()
}

/// Reads each element of a list.
pub fn list<T>(values: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    values.as_array().unwrap().iter().map(read).collect()
}

/// Returns the memory of a space: addresses and bytes.
fn regions(snapshot: &Value, space: &str) -> Vec<(u64, Vec<u8>)> {
    let regions = snapshot["memory"].as_array().unwrap().iter();
    let of_space = regions.filter(|region| region["space"] == space);
    of_space.map(region).collect()
}

/// Returns an address and the bytes there.
pub fn region(region: &Value) -> (u64, Vec<u8>) {
    let bytes = hetdwarf::report::parse_hex_bytes(region["bytes"].as_str().unwrap());
    (long(&region["address"]), bytes.unwrap())
}

/// Returns the loaded segments of a code object: addresses and bytes.
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
