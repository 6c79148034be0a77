//! Builds a core with any number of waves, by repeating the waves of the case `gfx1100` at different positions.

use std::sync::Arc;

use super::generation::Generation;
use super::writer::{Built, Copied, CoreSpec, QueueSpec, WaveSpec, at};
use super::{file, truth};
use crate::number;

/// The size of a wave's record in the case: 32 vector registers of 32 lanes, 128 scalars, hardware and trap registers.
const RECORD: usize = 32 * 128 + 512 + 64 + 64;
/// The address of the save area, and the end of its records.
const AREA: (u64, usize) = (0x7fb1_0000_0000, 89_344);
const SCRATCH: u32 = 5120;
/// The number of shader engines, the most that a wave's word can name, and the waves of each.
const ENGINES: u32 = 8;
const SLOTS: u32 = 500;
/// The number of waves of a queue.
const OF_QUEUE: u32 = ENGINES * SLOTS;

/// Builds a process with `count` waves.
#[must_use]
pub fn built(count: u32) -> Built {
    let core = file("gfx1100", "merged.core");
    let truth = truth("gfx1100");
    let waves = truth["waves"].as_array().unwrap();
    let mut spec = CoreSpec::new(Generation::Gfx11, 110_000);
    spec.engines = ENGINES;
    spec.objects = vec![(
        0x7f40_0000_0000,
        "memory://4242#offset=0x7fb300000340&size=9560".into(),
    )];
    for (address, size, of_gpu) in [
        (0x7fb3_0000_0000, 0x3000, false),
        (0x7f40_0000_0000, 0x1000, true),
        (0x7f40_0000_1000, 0x2000, true),
        (0x7f40_0000_3000, 0x1000, true),
        (0x7f00_0000_1000, 0x1000, true),
        (0x7f00_0001_2000, 0x1000, true),
    ] {
        spec.memory
            .push((address, read(&core, address, size), of_gpu));
    }
    let area = read(&core, AREA.0, AREA.1);
    let copied: Vec<Copied> = waves
        .iter()
        .enumerate()
        .map(|(n, truth)| {
            let end = area.len() - n * RECORD;
            let scratch = &truth["scratch"];
            let known = usize::try_from(number(&scratch["known"])).unwrap();
            let address = number(&scratch["address"]).try_into().unwrap();
            Copied {
                record: area[end - RECORD..end].into(),
                scratch: Arc::from(read(&core, address, known)),
            }
        })
        .collect();
    for (queue, first) in (0..).zip((0..count).step_by(OF_QUEUE as usize)) {
        let waves = (first..count.min(first + OF_QUEUE)).map(|n| {
            let (engine, slot) = ((n - first) / SLOTS, (n - first) % SLOTS);
            let offset = u64::from(SLOTS * engine + slot) * u64::from(SCRATCH);
            wave(n, engine, slot, at::scratch(queue) + offset, &copied)
        });
        spec.queues.push(QueueSpec {
            id: u32::try_from(queue).unwrap() + 1,
            packets: 64,
            read: 382,
            write: 384,
            scratch_waves: SLOTS,
            scratch_bytes: SCRATCH,
            waves: vec![waves.collect()],
        });
    }
    spec.build()
}

fn wave(n: u32, engine: u32, slot: u32, flat_scratch: u64, copied: &[Copied]) -> WaveSpec {
    WaveSpec {
        seed: n,
        vgprs: 32,
        engine,
        slot,
        flat_scratch,
        workgroup: [n, 0, 0],
        copied: Some(copied[n as usize % copied.len()].clone()),
        ..WaveSpec::of_gfx11()
    }
}

/// Reads memory of a core file's process, within one segment.
fn read(core: &[u8], address: u64, size: usize) -> Vec<u8> {
    let u64_at = |at: usize| u64::from_le_bytes(core[at..at + 8].try_into().unwrap());
    let headers = usize::from(u16::from_le_bytes(core[56..58].try_into().unwrap()));
    (0..headers)
        .map(|n| 64 + n * 56)
        .filter(|&header| core[header] == 1)
        .find_map(|header| {
            let (offset, start) = (u64_at(header + 8), u64_at(header + 16));
            let from = address.checked_sub(start)?;
            let there = from + size as u64 <= u64_at(header + 32);
            let at = (offset + from) as usize;
            there.then(|| core[at..at + size].to_vec())
        })
        .unwrap_or_else(|| panic!("no memory at {address:#x}"))
}
