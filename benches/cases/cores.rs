//! Measures the first answers about the core of a crashed kernel: the list of all waves in groups, and the stack and variables of a wave.

use hetdwarf::gpu_core::{GpuCore, Process};
use hetdwarf::inspect::Programs;
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::report::{CoreReport, GroupBy, UnwindDocument, VarsDocument, VarsRequest};

use super::{Case, Maker, keep, maker};

/// The core of `hetdwarf demo`, which has eight waves of 32 lanes.
const DEMO: &[u8] = include_bytes!("../../examples/demo/demo.core");
const WAVES: usize = 8;

pub(super) fn makers() -> Vec<Maker> {
    vec![
        maker("core/list and groups of 10000 waves", || {
            let core = many(10_000 / WAVES);
            assert_eq!(list_and_groups(core), (10_000, 5));
            Case::new(move || list_and_groups(core))
        }),
        maker("core/first answer, one of 10000 waves", || {
            let core = many(10_000 / WAVES);
            assert_eq!(first_answer(core), (4, 4));
            Case::new(move || first_answer(core))
        }),
    ]
}

/// Opens a core, and returns the numbers of its waves and groups.
fn list_and_groups(bytes: &[u8]) -> (usize, usize) {
    let core = GpuCore::open(&[bytes], &Limits::DEFAULT).unwrap();
    let images = core.images();
    let process = Process::open(&core, &images);
    let programs = Programs::new(&process);
    let document = CoreReport::new(&core, &programs, &[], GroupBy::Stack).document;
    assert!(document.problems.is_empty(), "{:?}", document.problems);
    (document.waves.len(), document.groups.len())
}

/// Opens a core, and returns the number of frames of the faulted wave and the number of variables in its innermost frame.
fn first_answer(bytes: &[u8]) -> (usize, usize) {
    let core = GpuCore::open(&[bytes], &Limits::DEFAULT).unwrap();
    let images = core.images();
    let process = Process::open(&core, &images);
    let programs = Programs::new(&process);
    let wave = core.select(Default::default()).unwrap();
    let arena = Arena::new();
    let stop = programs.stop(&wave, &arena).unwrap();
    let frames = UnwindDocument::new(&stop).unwrap().frames;
    let frame = stop.call_frame(0).unwrap();
    let vars = VarsDocument::new(&frame, &VarsRequest::default()).unwrap();
    (
        frames.len(),
        vars.frames.iter().map(|frame| frame.variables.len()).sum(),
    )
}

/// Returns the demo's core with each wave repeated. The copies have the same records and scratch, in a new save area.
fn many(times: usize) -> &'static [u8] {
    let word = |at: usize| u32::from_le_bytes(DEMO[at..at + 4].try_into().unwrap()) as usize;
    let long = |at: usize| u64::from_le_bytes(DEMO[at..at + 8].try_into().unwrap()) as usize;
    // The note has a header, the runtime, one agent and one queue. The queue has the address and the size of its save area.
    let note = DEMO
        .windows(8)
        .position(|name| name == b"AMDGPU\0\0")
        .unwrap()
        + 8;
    let queue = note + 40 + 16 + 120;
    let address = long(queue + 32);
    let headers = (0..word(56) & 0xffff).map(|n| 64 + n * 56);
    let header = headers.clone().find(|at| long(at + 16) == address).unwrap();
    let area = long(header + 8);
    let (stack, stack_size) = (word(area), word(area + 4));
    let (end, records_size) = (word(area + 8), word(area + 12));
    let stack_end = area + stack + stack_size;
    let waves = stack_end - 4 * WAVES..stack_end;
    let records = &DEMO[area + end - records_size..area + end];
    let (stack_size, records_size) = (stack_size + waves.len() * (times - 1), records_size * times);
    let end = stack + stack_size + records_size;
    let mut made = Vec::new();
    for value in [stack, stack_size, end, records_size, end] {
        made.extend(u32::try_from(value).unwrap().to_le_bytes());
    }
    made.extend(&DEMO[area + made.len()..stack_end]);
    (1..times).for_each(|_| made.extend(&DEMO[waves.clone()]));
    (0..times).for_each(|_| made.extend(records));
    let mut file = DEMO.to_vec();
    let size = made.len() as u64;
    let offset = file.len() as u64;
    for (at, value) in [(8, offset), (32, size), (40, size)] {
        file[header + at..header + at + 8].copy_from_slice(&value.to_le_bytes());
    }
    let size = u32::try_from(size).unwrap();
    file[queue + 56..queue + 60].copy_from_slice(&size.to_le_bytes());
    file.extend(made);
    keep(file)
}
