//! Changes the structural bytes of core files: headers, note, list, queue structures, headers and stacks of save areas, and the words that
//! identify each wave.

use std::sync::OnceLock;

use hetdwarf::arch::Register;
use hetdwarf::gpu_core::{GpuCore, Process, WaveState};
use hetdwarf::limits::Limits;
use hetdwarf::wave::{Memory, Wave};

use crate::cores::generation::Generation;
use crate::cores::writer::{Built, CoreSpec, QueueSpec, WaveSpec, at};

/// A file, and the offsets of its structural bytes.
struct Base {
    file: Vec<u8>,
    places: Vec<usize>,
}

/// Interprets the input: the first byte chooses a core. Each following seven bytes change one to eight bytes of it: the position, the
/// count, and the new values.
pub fn check(bytes: &[u8]) {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    let bases = BASES.get_or_init(|| Generation::TARGETS.iter().map(base).collect());
    let Some((&which, edits)) = bytes.split_first() else {
        return;
    };
    let base = &bases[usize::from(which) % bases.len()];
    let mut file = base.file.clone();
    for edit in edits.chunks_exact(7) {
        let index = usize::from(u16::from_le_bytes([edit[0], edit[1]]));
        let at = base.places[index % base.places.len()];
        let len = 1 << (edit[2] % 4);
        for (byte, value) in file
            .iter_mut()
            .skip(at)
            .take(len)
            .zip(edit[3..].iter().cycle())
        {
            *byte = *value;
        }
    }
    open(&file);
}

/// Runs every query on a file, if it is a core. Opening the file twice gives the same results.
fn open(file: &[u8]) {
    let limits = Limits::default();
    let Ok(core) = GpuCore::open(&[file], &limits) else {
        return;
    };
    // A record has at least hardware registers and trap temporaries. Several XCCs can share an area.
    assert!(core.waves().len() <= 64 * file.len() / 128);
    exhaust(&core);
    let twice = GpuCore::open(&[file, file], &limits).expect("it was opened before");
    let told = |core: &GpuCore<'_>| -> Vec<_> {
        core.waves()
            .map(|wave| (wave.pc(), wave.state(), wave.packet_id(), wave.scratch()))
            .collect()
    };
    assert_eq!(told(&core), told(&twice));
}

/// Runs every query on a core, and returns the amount of output.
pub fn exhaust(core: &GpuCore<'_>) -> usize {
    let text: usize = core
        .problems()
        .iter()
        .map(|problem| problem.to_string().len())
        .sum();
    let images = core.images();
    let process = Process::open(core, &images);
    let kernels = core
        .dispatches()
        .iter()
        .filter_map(|dispatch| process.kernel(dispatch));
    let mut known = text + kernels.count();
    for wave in core.waves() {
        assert!(wave.pc().0.is_multiple_of(4) || wave.state() == WaveState::Unsure);
        let _ = (
            process.object_at(wave.pc()),
            wave.stop_reasons(),
            wave.is_halted_at_launch(),
        );
        let lanes = wave.wave_size().all_lanes();
        known += lanes.filter(|&lane| wave.work_item(lane).is_some()).count();
        for number in (0..4096).step_by(7) {
            let register = Register(number);
            if let Some(bits) = register.size_in_bits() {
                let mut out = vec![0; bits as usize / 8];
                known += usize::from(wave.read_register(register, 0..bits, &mut out).is_ok());
            }
        }
        for memory in [
            Memory::Global,
            Memory::Local,
            Memory::PrivateWave,
            Memory::Region,
        ] {
            for address in [0, 511, u64::MAX] {
                known += usize::from(wave.read_memory(memory, address, &mut [0; 2]).is_ok());
            }
        }
    }
    known
}

fn base(&(generation, target, _): &(Generation, u32, &'static str)) -> Base {
    let mut spec = CoreSpec::new(generation, target);
    spec.xccs = if matches!(generation, Generation::Gfx942 | Generation::Gfx950) {
        2
    } else {
        1
    };
    spec.objects = vec![
        (
            0x7f40_0000_0000,
            "memory://1#offset=0x7fb200000000&size=64".into(),
        ),
        (0x7f41_0000_0000, "file:///a.hsaco".into()),
    ];
    spec.memory
        .push((0x7fb2_0000_0000, b"\x7fELF".repeat(16), false));
    let waves = |xcc: u32| (0..3).map(|n| wave(generation, xcc * 3 + n)).collect();
    spec.queues.push(QueueSpec {
        id: 1,
        packets: 4,
        read: 6,
        write: 9,
        scratch_waves: 8,
        scratch_bytes: 1024,
        waves: (0..spec.xccs).map(waves).collect(),
    });
    let built = spec.build();
    let file = built.merged();
    Base {
        places: places(&file, &built),
        file,
    }
}

fn wave(generation: Generation, seed: u32) -> WaveSpec {
    let lanes = generation.lanes()[0];
    let is_split = matches!(
        generation,
        Generation::Gfx90a | Generation::Gfx942 | Generation::Gfx950
    );
    WaveSpec {
        seed,
        lanes,
        vgprs: 16,
        agprs: match generation {
            Generation::Gfx908 => 16,
            _ if is_split => 8,
            _ => 0,
        },
        shared: 0,
        sgprs: if generation.is_gfx9() { 112 } else { 128 },
        lds: if generation == Generation::Gfx950 {
            1280
        } else {
            1024
        },
        is_first: seed.is_multiple_of(3),
        is_last: !seed.is_multiple_of(3),
        has_scratch: true,
        engine: seed % 4,
        slot: 0,
        pc: 0x7f40_0000_0100,
        exec: 0xff,
        vcc: 0,
        flat_scratch: at::scratch(0),
        status: 0,
        trapsts: 1 << 28,
        mode: 0x2f0,
        state_priv: 0,
        excp_priv: 1 << 12,
        excp_user: 0,
        trap_ctrl: 0,
        is_stopped: true,
        was_halted: false,
        was_in_handler: true,
        is_marked: false,
        trap_id: 0,
        packet_index: seed % 4,
        workgroup: [seed, 0, 0],
        wave_in_group: 0,
        copied: None,
    }
}

/// Returns the offsets of the structural bytes. All other bytes are contents.
#[must_use]
pub fn places(file: &[u8], built: &Built) -> Vec<usize> {
    let mut places: Vec<usize> = (0..64).collect();
    let count = built.regions.len() + 1;
    places.extend(64..64 + count * 56);
    let u64_at = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let note = u64_at(64 + 8);
    places.extend(note..note + u64_at(64 + 32));
    for (index, region) in built.regions.iter().enumerate() {
        let offset = u64_at(64 + (index + 1) * 56 + 8);
        places.extend(offset..offset + region.bytes.len().min(256));
        // The end of a save area has the first wave's record, before its LDS.
        if region.bytes.len() > 4096 {
            let end = offset + region.bytes.len();
            places.extend(end - 1600..end);
        }
    }
    places
}
