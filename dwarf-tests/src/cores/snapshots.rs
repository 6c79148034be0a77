//! Processes whose waves are emulated ones of the case `calls-O2`, some of which are said to have faulted.

use std::sync::Arc;

use serde_json::Value;

use super::generation::Generation;
use super::writer::{Built, Copied, CoreSpec, QueueSpec, WaveSpec, at};
use crate::{fixture, json, number};

const LANES: u32 = 32;
const VGPRS: u32 = 16;
/// Scratch of a wave, in bytes.
const SCRATCH: u32 = 1024;
/// Where the code object was loaded in the emulator.
const LOAD: u64 = 0x7f40_0000_0000;
/// The kernel's descriptor in the code object, `k.kd`.
const DESCRIPTOR: u64 = 0x580;
/// Where the copy of the code object's file is.
const COPY: u64 = 0x7fb3_0000_0000;
/// Where the kernel's arguments are.
const ARGUMENTS: u64 = 0x7f10_0000_0000;
/// The id of the packet, and the packets of the ring.
const PACKET: (u64, u32) = (381, 4);

/// A wave of a process.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The snapshot that it is.
    pub snapshot: &'static str,
    /// Why it stopped: bits of TRAPSTS; 0 if it runs.
    pub trapsts: u32,
    /// Lanes that are switched off besides those of the snapshot.
    pub off: u64,
    /// Its workgroup, in x.
    pub workgroup: u32,
}

impl Placed {
    /// A wave that runs.
    #[must_use]
    pub fn running(snapshot: &'static str, workgroup: u32) -> Placed {
        Placed {
            snapshot,
            trapsts: 0,
            off: 0,
            workgroup,
        }
    }
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// The upper half of the address that the code object is loaded at; the lower half is 0.
    pub load_high: u32,
    /// The code object.
    pub object: Vec<u8>,
    /// The waves, each in a slot and a workgroup of its own.
    pub waves: Vec<Placed>,
    /// The snapshot whose buffers are in the core.
    pub buffers_of: &'static str,
}

impl Process {
    /// A process as the emulator ran it.
    #[must_use]
    pub fn new(waves: Vec<Placed>, buffers_of: &'static str) -> Process {
        let object = fixture("waves/calls-O2").join("calls-O2.rocm.hsaco");
        Process {
            load_high: (LOAD >> 32) as u32,
            object: std::fs::read(object).unwrap(),
            waves,
            buffers_of,
        }
    }

    /// The process at its death.
    #[must_use]
    pub fn built(&self) -> Built {
        let case = fixture("waves/calls-O2");
        let load = u64::from(self.load_high) << 32;
        let mut spec = CoreSpec::new(Generation::Gfx11, 110_000);
        let uri = format!("memory://4242#offset={COPY:#x}&size={}", self.object.len());
        spec.objects = vec![(load, uri)];
        for (address, bytes) in segments(&self.object) {
            spec.memory.push((load + address, bytes, true));
        }
        spec.memory.push((COPY, self.object.clone(), false));
        let snapshot = |name: &str| json(&case.join(format!("{name}.json")));
        for region in regions(&snapshot(self.buffers_of), "none") {
            spec.memory.push((region.0, region.1, true));
        }
        let waves = (0..).zip(&self.waves);
        let waves: Vec<WaveSpec> = waves
            .map(|(n, placed)| self.wave(n, placed, &snapshot(placed.snapshot)))
            .collect();
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
        built.set64(packet + 32, load + DESCRIPTOR);
        built.set64(packet + 40, ARGUMENTS);
        built
    }

    /// A register or a word of scratch, where an address in the code object is one of this process.
    fn moved(&self, word: u32) -> u32 {
        match word == (LOAD >> 32) as u32 {
            true => self.load_high,
            false => word,
        }
    }

    fn wave(&self, n: u32, placed: &Placed, snapshot: &Value) -> WaveSpec {
        let registers = &snapshot["registers"];
        let value = |name: &str| u64::try_from(number(&registers[name])).unwrap();
        let pc = u64::try_from(number(&snapshot["pc"])).unwrap() - LOAD;
        let mut wave = WaveSpec {
            seed: 0,
            vgprs: VGPRS,
            slot: n,
            pc: (u64::from(self.load_high) << 32) + pc,
            exec: value("exec") & !placed.off,
            vcc: value("vcc"),
            flat_scratch: at::scratch(0) + u64::from(n * SCRATCH),
            trapsts: placed.trapsts,
            is_stopped: placed.trapsts != 0,
            packet_index: u32::try_from(PACKET.0 % u64::from(PACKET.1)).unwrap(),
            workgroup: [placed.workgroup, 0, 0],
            ..WaveSpec::of_gfx11()
        };
        // What is made up for the registers that the snapshot has is written over.
        let mut record = wave.record(Generation::Gfx11, 10);
        let mut set = |word: u32, value: u64| {
            let at = word as usize * 4;
            let value = self.moved(u32::try_from(value).unwrap());
            record[at..at + 4].copy_from_slice(&value.to_le_bytes());
        };
        for register in 0..VGPRS {
            let lanes = registers[format!("v{register}")].as_array().unwrap();
            for (lane, value) in (0..LANES).zip(lanes) {
                set(register * LANES + lane, number(value).try_into().unwrap());
            }
        }
        for register in 0..106 {
            set(VGPRS * LANES + register, value(&format!("s{register}")));
        }
        let mut scratch = regions(snapshot, "private_wave").remove(0).1;
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

/// The memory of a space: addresses and bytes.
fn regions(snapshot: &Value, space: &str) -> Vec<(u64, Vec<u8>)> {
    let regions = snapshot["memory"].as_array().unwrap().iter();
    let of_space = regions.filter(|region| region["space"] == space);
    of_space
        .map(|region| {
            let address = number(&region["address"]).try_into().unwrap();
            let bytes = hetdwarf::report::parse_hex_bytes(region["bytes"].as_str().unwrap());
            (address, bytes.unwrap())
        })
        .collect()
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
