//! The core of `hetdwarf demo`: emulated waves of the case `calls-O2`, one of which is said to have faulted.

use std::sync::Arc;

use serde_json::Value;

use super::generation::Generation;
use super::writer::{Built, Copied, CoreSpec, QueueSpec, WaveSpec, at};
use crate::{fixture, json, number};

/// The snapshots that the waves are, each a workgroup of its own.
const WAVES: [&str; 8] = ["w01", "w08", "w06", "w10", "w14", "w08", "w10", "w14"];
/// The one that faulted: `mid` had called `leaf` in a branch that the odd lanes take.
pub const FAULT: &str = "w06";
/// Memory violation. Source: the description of the format, section 10.
const MEMORY_VIOLATION: u32 = 1 << 28;

const LANES: u32 = 32;
const VGPRS: u32 = 16;
/// Scratch of a wave, in bytes.
const SCRATCH: u32 = 1024;
const LOAD: u64 = 0x7f40_0000_0000;
/// The kernel's descriptor in the code object, `k.kd`.
const DESCRIPTOR: u64 = 0x580;
/// Where the copy of the code object's file is.
const COPY: u64 = 0x7fb3_0000_0000;
/// Where the kernel's arguments are.
const ARGUMENTS: u64 = 0x7f10_0000_0000;
/// The id of the packet, and the packets of the ring.
const PACKET: (u64, u32) = (381, 4);

/// The process.
#[must_use]
pub fn built() -> Built {
    let case = fixture("waves/calls-O2");
    let object = std::fs::read(case.join("calls-O2.rocm.hsaco")).unwrap();
    let mut spec = CoreSpec::new(Generation::Gfx11, 110_000);
    let uri = format!("memory://4242#offset={COPY:#x}&size={}", object.len());
    spec.objects = vec![(LOAD, uri)];
    for (address, bytes) in segments(&object) {
        spec.memory.push((LOAD + address, bytes, true));
    }
    spec.memory.push((COPY, object, false));
    let mut waves = Vec::new();
    for (n, name) in (0..).zip(WAVES) {
        let snapshot = json(&case.join(format!("{name}.json")));
        if name == FAULT {
            for region in regions(&snapshot, "none") {
                spec.memory.push((region.0, region.1, true));
            }
        }
        waves.push(wave(n, &snapshot, name == FAULT));
    }
    let groups = u32::try_from(waves.len()).unwrap();
    spec.queues = vec![QueueSpec {
        id: 1,
        packets: PACKET.1,
        read: PACKET.0,
        write: PACKET.0 + 1,
        scratch_waves: groups,
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
    built.set64(packet + 32, LOAD + DESCRIPTOR);
    built.set64(packet + 40, ARGUMENTS);
    built
}

fn wave(n: u32, snapshot: &Value, has_faulted: bool) -> WaveSpec {
    let registers = &snapshot["registers"];
    let value = |name: &str| u64::try_from(number(&registers[name])).unwrap();
    let mut wave = WaveSpec {
        seed: 0,
        vgprs: VGPRS,
        slot: n,
        pc: number(&snapshot["pc"]).try_into().unwrap(),
        exec: value("exec"),
        vcc: value("vcc"),
        flat_scratch: at::scratch(0) + u64::from(n * SCRATCH),
        trapsts: if has_faulted { MEMORY_VIOLATION } else { 0 },
        is_stopped: has_faulted,
        packet_index: u32::try_from(PACKET.0 % u64::from(PACKET.1)).unwrap(),
        workgroup: [n, 0, 0],
        ..WaveSpec::of_gfx11()
    };
    // What is made up for the registers that the snapshot has is written over.
    let mut record = wave.record(Generation::Gfx11, 10);
    let mut set = |word: u32, value: u64| {
        let at = word as usize * 4;
        let value = u32::try_from(value).unwrap();
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
    let scratch = regions(snapshot, "private_wave").remove(0).1;
    wave.copied = Some(Copied {
        record: record.into(),
        scratch: Arc::from(scratch),
    });
    wave
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
