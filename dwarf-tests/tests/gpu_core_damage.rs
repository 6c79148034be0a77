//! Tests core files with one error, and with random wrong bytes. The damage stays local, and is reported.

use dwarf_tests::cores::generation::Generation;
use dwarf_tests::cores::writer::{Built, CoreSpec, QueueSpec, WaveSpec, at};
use dwarf_tests::fuzz::gpu_core;
use hetdwarf::arch::Processor;
use hetdwarf::gpu_core::{GpuCore, Problem, ProblemKind, ProblemPlace, Process, WaveState};
use hetdwarf::limits::Limits;
use hetdwarf::wave::{Memory, Wave};
use proptest::prelude::*;

/// Builds two queues of four waves each, on gfx1100: a workgroup of three waves and a workgroup of one.
fn built() -> Built {
    let mut spec = CoreSpec::new(Generation::Gfx11, 110_000);
    for queue in 0..2_u32 {
        let waves = (0..4).map(|n| wave(queue, n)).collect();
        spec.queues.push(QueueSpec {
            id: queue + 1,
            packets: 64,
            read: 382,
            write: 385,
            scratch_waves: 8,
            scratch_bytes: 1024,
            waves: vec![waves],
        });
    }
    spec.objects = vec![
        (0x7f40_0000_0000, "file:///a.hsaco".into()),
        (
            0x7f41_0000_0000,
            "memory://1#offset=0x7f3000000000&size=100".into(),
        ),
        (0x7f42_0000_0000, "file:///c.hsaco".into()),
    ];
    spec.build()
}

fn wave(queue: u32, n: u32) -> WaveSpec {
    let (engine, slot) = (n % 4, queue);
    let offset = u64::from(8 * engine + slot) * 1024;
    WaveSpec {
        seed: queue * 10 + n,
        lanes: 32,
        vgprs: 16,
        agprs: 0,
        shared: 0,
        sgprs: 128,
        lds: 512,
        is_first: n == 0 || n == 3,
        is_last: n >= 2,
        has_scratch: true,
        engine,
        slot,
        pc: 0x7f40_0000_1000 + u64::from(n) * 4,
        exec: 0xff,
        vcc: 0,
        flat_scratch: at::scratch(queue.into()) + offset,
        status: 0,
        trapsts: 1 << 28,
        mode: 0x2f0,
        state_priv: 0,
        excp_priv: 0,
        excp_user: 0,
        trap_ctrl: 0,
        is_stopped: n == 1,
        was_halted: false,
        was_in_handler: true,
        is_marked: false,
        trap_id: 0,
        packet_index: 62,
        workgroup: [n / 3, 0, 0],
        wave_in_group: n % 3,
        copied: None,
    }
}

/// The size of a record without LDS: 16 vector registers of 32 lanes, 128 scalars, hardware and trap registers.
const RECORD: u64 = 16 * 128 + 512 + 64 + 64;
const LDS: u64 = 512;
/// The first entries of a control stack: two packets, an event, two words of state.
const FIRST_WAVE: u64 = at::STACK + 5 * 4;
const STACK_BYTES: u64 = 4 * 9;

/// Returns the start of a wave's record in the save area of a queue.
fn record(queue: u64, wave: u64) -> u64 {
    let first_of_group = [1, 1, 1, 2][usize::try_from(wave).unwrap()];
    let end = at::save_area(queue) + at::STACK + STACK_BYTES + 4 * RECORD + 2 * LDS;
    end - (wave + 1) * RECORD - first_of_group * LDS
}

fn with<T>(file: &[u8], then: impl FnOnce(&GpuCore<'_>) -> T) -> T {
    then(&GpuCore::open(&[file], &Limits::default()).unwrap())
}

const QUEUE_1: ProblemPlace = ProblemPlace::Queue {
    queue_id: 1,
    xcc: None,
};

/// Opens a changed core. It must have exactly one problem, which is passed to `check`. The second queue, its waves and dispatches must be
/// unchanged.
fn damaged(change: impl FnOnce(&mut Built), check: impl FnOnce(&GpuCore<'_>, &Problem)) {
    let mut built = built();
    change(&mut built);
    with(&built.merged(), |core| {
        let [problem] = core.problems() else {
            panic!("{:#?}", core.problems());
        };
        eprintln!("{problem}");
        assert!(problem.offset.is_some());
        second_queue_is_whole(core);
        check(core, problem);
    });
}

fn second_queue_is_whole(core: &GpuCore<'_>) {
    let waves: Vec<_> = core
        .waves()
        .filter(|wave| wave.queue().unwrap().entry.queue_id == 2)
        .collect();
    assert_eq!(waves.len(), 4);
    for (wave, n) in waves.iter().zip(0..) {
        let spec = self::wave(1, n);
        assert_eq!((wave.pc().0, wave.packet_id()), (spec.pc, Some(382)));
        let state = if spec.is_stopped {
            WaveState::Stopped
        } else {
            WaveState::Running
        };
        assert_eq!(wave.state(), state);
        let mut byte = [0];
        wave.read_memory(Memory::PrivateWave, 5, &mut byte).unwrap();
        assert_eq!(byte[0], spec.scratch_byte(5));
        let leader = self::wave(1, n / 3 * 3);
        wave.read_memory(Memory::Local, 9, &mut byte).unwrap();
        assert_eq!(byte[0], leader.lds_byte(9));
    }
    let dispatches = core
        .dispatches()
        .iter()
        .filter(|dispatch| dispatch.queue == 1);
    assert_eq!(dispatches.count(), 3);
}

fn waves_of_first(core: &GpuCore<'_>) -> Vec<(WaveState, u64)> {
    core.waves()
        .filter(|wave| wave.queue().unwrap().entry.queue_id == 1)
        .map(|wave| (wave.state(), wave.pc().0))
        .collect()
}

#[test]
fn undamaged_there_is_no_problem() {
    let file = built().merged();
    with(&file, |core| {
        assert_eq!(core.problems(), []);
        assert_eq!(core.code_objects().len(), 3);
        second_queue_is_whole(core);
        assert_eq!(waves_of_first(core).len(), 4);
    });
}

// Tests of the note.

#[test]
fn a_note_that_is_short_loses_its_last_entries() {
    // The second queue's entry is truncated, so the order of the entries is reversed first.
    let mut built = built();
    let queues = at::AGENTS + at::AGENT;
    let first: Vec<u8> = built.note[queues..queues + 64].to_vec();
    built.note.copy_within(queues + 64.., queues);
    built.note.truncate(queues + 64);
    built.note.extend(&first[..63]);
    with(&built.merged(), |core| {
        let [problem] = core.problems() else {
            panic!("{:#?}", core.problems());
        };
        let expected = ProblemKind::NoteShort {
            needed: 304,
            found: 303,
        };
        assert_eq!(
            (problem.place, &problem.kind),
            (ProblemPlace::Note, &expected)
        );
        assert_eq!((core.queues().len(), core.waves().len()), (1, 4));
    });
}

#[test]
fn a_note_that_is_long_is_read_as_far_as_known() {
    damaged(
        |built| built.note.extend([1; 8]),
        |core, problem| {
            assert_eq!(problem.place, ProblemPlace::Note);
            let expected = ProblemKind::NoteLong {
                needed: 304,
                found: 312,
            };
            assert_eq!(problem.kind, expected);
            assert_eq!(core.waves().len(), 8);
        },
    );
}

#[test]
fn odd_sizes_of_entries_cost_those_entries() {
    for size in [0, 7, 63, 65] {
        let mut built = built();
        built.set_note32(36, size);
        with(&built.merged(), |core| {
            assert_eq!((core.agents().len(), core.queues().len()), (1, 0));
            let kind = &core.problems()[0].kind;
            assert!(
                matches!(kind, ProblemKind::EntrySize { what: "queues", .. }),
                "{kind}"
            );
        });
    }
    // Longer and shorter entries of whole words are read as far as possible.
    let mut built = built();
    let queues = built.note.split_off(at::AGENTS + at::AGENT);
    built.note.extend([0x99; 8]);
    built.note.extend(queues);
    built.set_note32(28, 128);
    with(&built.merged(), |core| {
        assert_eq!(core.problems(), []);
        second_queue_is_whole(core);
    });
}

#[test]
fn another_version_of_the_note_is_refused_by_its_number() {
    let mut built = built();
    built.set_note32(0, 3);
    let error = GpuCore::open(&[&built.merged()], &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("version 3"), "{error}");
    built.note.truncate(39);
    built.set_note32(0, 1);
    let error = GpuCore::open(&[&built.merged()], &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("39 bytes"), "{error}");
}

#[test]
fn other_versions_of_the_driver_make_waves_unsure() {
    for (kfd, is_known) in [
        ((1, 12), false),
        ((1, 13), true),
        ((1, 99), true),
        ((2, 0), false),
        ((0, 20), false),
    ] {
        let mut built = built();
        built.set_note32(8, kfd.0);
        built.set_note32(12, kfd.1);
        with(&built.merged(), |core| {
            assert_eq!(core.problems().is_empty(), is_known, "{kfd:?}");
            assert_eq!(core.waves().len(), 8);
            let unsure = core.waves().all(|wave| wave.state() == WaveState::Unsure);
            assert_eq!(unsure, !is_known, "{kfd:?}");
        });
    }
    let mut built = built();
    built.set_note32(48, 2);
    with(&built.merged(), |core| {
        let kind = &core.problems()[0].kind;
        assert_eq!(*kind, ProblemKind::RuntimeState { state: 2 });
        assert!(core.waves().all(|wave| wave.state() == WaveState::Unsure));
    });
}

#[test]
fn four_billion_agents_cost_nothing() {
    let mut built = built();
    built.set_note32(24, u32::MAX);
    with(&built.merged(), |core| {
        // The bytes after the agent are read as further agents, as far as possible.
        assert!(core.agents().len() <= 2 && core.queues().is_empty());
        let kinds: Vec<&ProblemKind> = core
            .problems()
            .iter()
            .map(|problem| &problem.kind)
            .collect();
        let short = |kind: &&ProblemKind| matches!(kind, ProblemKind::NoteShort { .. });
        assert!(kinds.iter().any(short), "{kinds:?}");
    });
    built.set_note32(24, 1);
    built.set_note32(32, u32::MAX);
    built.set_note32(36, 0xffff_fff8);
    with(&built.merged(), |core| assert!(core.queues().is_empty()));
}

// Tests of memory that is missing from the files.

#[test]
fn a_queue_without_save_area_is_named() {
    damaged(
        |built| built.cut(at::save_area(0)),
        |core, problem| {
            assert_eq!(problem.place, QUEUE_1);
            let text = problem.to_string();
            assert!(text.contains("save area at 0x7fb100000000"), "{text}");
            assert_eq!(waves_of_first(core), []);
        },
    );
}

#[test]
fn a_queue_without_structure_keeps_its_waves() {
    damaged(
        |built| built.cut(at::read_index(0) - 128),
        |core, problem| {
            assert_eq!(problem.place, QUEUE_1);
            assert!(problem.to_string().contains("queue structure"), "{problem}");
            assert_eq!(waves_of_first(core).len(), 4);
            let wave = core.wave(0).unwrap();
            assert_eq!((wave.packet_id(), wave.scratch()), (None, None));
            assert_eq!(wave.workgroup(), Some([0, 0, 0]));
        },
    );
}

#[test]
fn a_ring_that_is_missing_costs_dispatches() {
    damaged(
        |built| built.cut(at::ring(0)),
        |core, problem| {
            assert_eq!(problem.place, QUEUE_1);
            assert!(problem.to_string().contains("ring of packets"), "{problem}");
            let wave = core.wave(0).unwrap();
            assert_eq!(wave.packet_id(), Some(382));
            assert!(wave.dispatch().is_none());
            assert_eq!(waves_of_first(core).len(), 4);
        },
    );
}

/// Neither the kernel's descriptor nor its code object is in the core, so the dispatch has no name.
#[test]
fn a_kernel_without_descriptor_has_no_name() {
    let file = built().merged();
    with(&file, |core| {
        let images = core.images();
        let process = Process::open(core, &images);
        assert!(
            process
                .objects()
                .iter()
                .all(|object| object.object.is_none())
        );
        assert!(
            core.dispatches()
                .iter()
                .all(|dispatch| process.kernel(dispatch).is_none())
        );
        assert!(!core.wave(0).unwrap().is_halted_at_launch());
    });
}

#[test]
fn a_list_that_is_missing_costs_code_objects_only() {
    for (change, text) in [
        (
            Box::new(|built: &mut Built| built.cut(at::R_DEBUG)) as Box<dyn Fn(&mut Built)>,
            "not in the file",
        ),
        (Box::new(|built| built.set_note32(40, 0)), "not in the file"),
        (
            Box::new(|built| built.set32(at::R_DEBUG + 24, 1)),
            "being changed",
        ),
        (
            Box::new(|built| built.set64(at::R_DEBUG + 8, 0x10)),
            "not in the file",
        ),
        (
            Box::new(|built| (built.set_note32(40, 0), built.set_note32(44, 0)).0),
            "r_debug",
        ),
    ] {
        let mut built = built();
        change(&mut built);
        with(&built.merged(), |core| {
            assert_eq!(core.problems().len(), 1);
            let problem = &core.problems()[0];
            assert_eq!(problem.place, ProblemPlace::CodeObjects);
            assert!(problem.to_string().contains(text), "{problem}");
            assert_eq!(core.code_objects(), []);
            second_queue_is_whole(core);
            assert_eq!(waves_of_first(core).len(), 4);
        });
    }
}

#[test]
fn scratch_that_is_missing_costs_private_memory_of_those_waves() {
    damaged(
        |built| built.cut(wave(0, 2).flat_scratch),
        |core, problem| {
            assert_eq!(problem.place, QUEUE_1);
            let expected = ProblemKind::ScratchMissing {
                waves: 1,
                address: wave(0, 2).flat_scratch,
                hint: "",
            };
            assert_eq!(problem.kind, expected);
            let can_read = |n| {
                let wave = core.wave(n).unwrap();
                wave.read_memory(Memory::PrivateWave, 0, &mut [0]).is_ok()
            };
            assert_eq!([0, 1, 2, 3].map(can_read), [true, true, false, true]);
        },
    );
}

// Tests of the control stack and the records.

#[test]
fn records_before_a_gap_are_good() {
    // Records are located from the end of the area, so the third wave's record is the third from the end. The region ends before this
    // wave's hardware registers. The first three waves lose their records, and the fourth wave's record precedes the gap.
    let at = record(0, 2) + 16 * 128 + 512;
    damaged(
        |built| built.cut(at),
        |core, problem| {
            assert_eq!(problem.place, QUEUE_1);
            assert_eq!(problem.kind, ProblemKind::RecordsMissing { waves: 3 });
            assert_eq!(waves_of_first(core), [(WaveState::Running, wave(0, 3).pc)]);
        },
    );
}

#[test]
fn a_walk_that_ends_elsewhere_makes_its_waves_unsure() {
    let state = at::save_area(0) + at::STACK + 3 * 4;
    for change in [1_u32, 1 << 10, 1 << 26] {
        damaged(
            |built| {
                let word = built.get32(state);
                built.set32(state, word ^ change);
            },
            |core, problem| {
                assert_eq!(problem.place, QUEUE_1);
                let kind = &problem.kind;
                assert!(matches!(kind, ProblemKind::WalkEnd { .. }), "{kind}");
                let waves = waves_of_first(core);
                assert!(!waves.is_empty());
                assert!(
                    waves.iter().all(|(state, _)| *state == WaveState::Unsure),
                    "{waves:?}"
                );
            },
        );
    }
}

#[test]
fn states_and_headers_that_cannot_be_are_named() {
    type Change = Box<dyn Fn(&mut Built)>;
    let area = at::save_area(0);
    let set = |offset: u64, value: u32| -> Change {
        Box::new(move |built| built.set32(area + offset, value))
    };
    let cases: [(Change, &str, usize); 7] = [
        // There is no state before the first wave: the state becomes an event, and its second word has the bit of a state.
        (
            set(at::STACK + 3 * 4, 0x4000_0000),
            "before the first state",
            0,
        ),
        (set(0, 0xffff_0000), "beyond the end", 0),
        (set(4, 0xffff_fffc), "beyond the end", 0),
        (set(4, 35), "whole number of words", 0),
        (set(8, 0x10_0000), "beyond the end", 0),
        (set(12, 0x7fff_ffff), "have more bytes than", 0),
        (set(4, 4 * 8), "does not end where the waves start", 3),
    ];
    for (change, text, waves) in cases {
        let mut built = built();
        change(&mut built);
        with(&built.merged(), |core| {
            let problem = &core.problems()[0];
            assert_eq!(problem.place, QUEUE_1);
            assert!(problem.to_string().contains(text), "{problem}");
            let found = waves_of_first(core);
            assert_eq!(found.len(), waves, "{text}");
            assert!(found.iter().all(|(state, _)| *state == WaveState::Unsure));
            second_queue_is_whole(core);
        });
    }
}

#[test]
fn a_busy_queue_that_was_never_saved_is_named() {
    damaged(
        |built| {
            (0..16)
                .step_by(4)
                .for_each(|n| built.set32(at::save_area(0) + n, 0))
        },
        |core, problem| {
            assert_eq!(
                (problem.place, &problem.kind),
                (QUEUE_1, &ProblemKind::NeverSaved)
            );
            assert_eq!(waves_of_first(core), []);
        },
    );
    // An idle queue is no problem: its read index equals its write index.
    let mut built = built();
    (0..16)
        .step_by(4)
        .for_each(|n| built.set32(at::save_area(0) + n, 0));
    built.set64(at::read_index(0), 385);
    with(&built.merged(), |core| assert_eq!(core.problems(), []));
}

#[test]
fn waves_without_a_first_one_have_no_lds() {
    // The second wave is marked as the last of its workgroup, so the third has no first wave.
    let word = at::save_area(0) + FIRST_WAVE + 4;
    damaged(
        |built| {
            let value = built.get32(word);
            built.set32(word, value | 1 << 29);
        },
        |core, problem| {
            assert_eq!(problem.place, QUEUE_1);
            assert_eq!(problem.kind, ProblemKind::NoLeader { waves: 1 });
            let has_lds = |n| {
                core.wave(n)
                    .unwrap()
                    .read_memory(Memory::Local, 0, &mut [0])
                    .is_ok()
            };
            assert_eq!([0, 1, 2, 3].map(has_lds), [true, true, false, true]);
            assert!(
                waves_of_first(core)
                    .iter()
                    .all(|(state, _)| *state != WaveState::Unsure)
            );
        },
    );
}

#[test]
fn a_pc_between_instructions_is_damage() {
    let pc = record(0, 0) + 16 * 128 + 512 + 4;
    damaged(
        |built| built.set32(pc, 0x1002),
        |core, problem| {
            assert!(
                matches!(problem.kind, ProblemKind::BadPc { waves: 1, .. }),
                "{problem}"
            );
            let states = waves_of_first(core).into_iter().map(|(state, _)| state);
            let expected = [
                WaveState::Unsure,
                WaveState::Stopped,
                WaveState::Running,
                WaveState::Running,
            ];
            assert!(states.eq(expected));
        },
    );
}

#[test]
fn scratch_that_contradicts_its_register_is_not_read() {
    let register = record(0, 0) + 16 * 128 + 512 + 9 * 4;
    damaged(
        |built| built.set32(register, 0x40),
        |core, problem| {
            assert!(
                matches!(problem.kind, ProblemKind::ScratchBase { waves: 1, .. }),
                "{problem}"
            );
            assert_eq!(core.wave(0).unwrap().scratch(), None);
        },
    );
}

// Tests of packets, agents and rings.

#[test]
fn packets_outside_of_the_ring_leave_their_waves() {
    let ttmp6 = record(0, 0) + 16 * 128 + 512 + 64 + 6 * 4;
    // 63 is the last of three packets. 64 does not exist, 61 was finished, and 1 is not written yet.
    for (index, known) in [
        (62, true),
        (63, true),
        (0, true),
        (64, false),
        (61, false),
        (1, false),
    ] {
        let mut built = built();
        built.set32(ttmp6, index);
        with(&built.merged(), |core| {
            let wave = core.wave(0).unwrap();
            assert_eq!(wave.packet_id().is_some(), known, "{index}");
            assert_eq!(wave.workgroup(), Some([0, 0, 0]));
            assert_eq!(core.problems().is_empty(), known, "{index}");
            second_queue_is_whole(core);
        });
    }
}

#[test]
fn indices_that_contradict_each_other_cost_dispatches() {
    damaged(
        |built| built.set64(at::read_index(0), 386),
        |core, problem| {
            let expected = ProblemKind::RingIndices {
                read: 386,
                write: 385,
            };
            assert_eq!((problem.place, &problem.kind), (QUEUE_1, &expected));
            assert_eq!(waves_of_first(core).len(), 4);
            assert_eq!(core.wave(0).unwrap().packet_id(), None);
        },
    );
    // The ring is full, and the write index is reserved further. All packets exist.
    let mut built = built();
    built.set64(at::read_index(0) - 72, 382 + 1000);
    with(&built.merged(), |core| {
        assert_eq!(core.problems(), []);
        assert_eq!(core.wave(0).unwrap().packet_id(), Some(382));
    });
}

#[test]
fn a_queue_of_an_unknown_agent_is_named() {
    let queue = at::AGENTS + at::AGENT;
    damaged(
        |built| built.set_note32(queue + 44, 99),
        |core, problem| {
            let expected = ProblemKind::UnknownAgent { gpu_id: 99 };
            assert_eq!((problem.place, &problem.kind), (QUEUE_1, &expected));
            assert_eq!(core.queues().len(), 2);
            assert_eq!(waves_of_first(core), []);
        },
    );
}

#[test]
fn an_odd_ring_costs_dispatches() {
    let queue = at::AGENTS + at::AGENT;
    for size in [0, 63, 65, 192] {
        damaged(
            |built| built.set_note32(queue + 48, size),
            |core, problem| {
                let expected = ProblemKind::RingSize { size };
                assert_eq!((problem.place, &problem.kind), (QUEUE_1, &expected));
                assert_eq!(waves_of_first(core).len(), 4);
                assert_eq!(core.wave(0).unwrap().packet_id(), None);
            },
        );
    }
}

/// The tests also write cores of every processor whose layout the library knows. A new processor is listed here until `Generation` has its
/// layout.
#[test]
fn every_layout_has_a_generation() {
    let family = |version| Processor::family_by_version(version);
    let of_name = |name: &str| Processor::by_name(name)?.version();
    let written: Vec<_> = (Generation::TARGETS.iter())
        .map(|(_, _, name)| family(of_name(name).unwrap()))
        .collect();
    let mut known = 0;
    for processor in Processor::ALL {
        let Some(version) = processor.version() else {
            continue;
        };
        let mut built = built();
        let [major, minor, stepping] = version;
        let target = major * 10_000 + minor * 100 + stepping;
        built.set_note32(at::AGENTS + 88, target);
        with(&built.merged(), |core| {
            let name = processor.name();
            let unknown = format!("the layout of {name} is unknown");
            let mut problems = core.problems().iter();
            if !problems.any(|problem| problem.to_string().contains(&unknown)) {
                known += 1;
                assert!(written.contains(&family(version)), "{name}");
            }
        });
    }
    assert!(known > 20, "{known}");
}

#[test]
fn agents_that_cannot_be_read_are_named() {
    for (offset, value, text, waves) in [
        (88, 130_100, "the layout of gfx1310 is unknown", 0),
        (88, 80_003, "the layout of gfx803 is unknown", 0),
        (112, 1 << 15, "cannot be debugged", 0),
        (108, 0, "number of XCCs cannot be 0", 8),
        (108, u32::MAX, "number of XCCs cannot be 4294967295", 8),
        (104, 0, "shader engines cannot be 0", 8),
    ] {
        let mut built = built();
        built.set_note32(at::AGENTS + offset, value);
        with(&built.merged(), |core| {
            let problem = &core.problems()[0];
            assert_eq!(problem.place, ProblemPlace::Agent(4660));
            assert!(problem.to_string().contains(text), "{problem}");
            assert_eq!(core.waves().len(), waves, "{text}");
            assert_eq!((core.agents().len(), core.queues().len()), (1, 2));
        });
    }
}

// Tests of code objects.

#[test]
fn a_code_object_without_a_name_is_kept() {
    for (change, text) in [
        (
            Box::new(|built: &mut Built| built.set64(at::entry(1) + 8, 0x10))
                as Box<dyn Fn(&mut Built)>,
            "no name",
        ),
        (
            Box::new(|built: &mut Built| built.set32(at::entry(1) + 40, 0)),
            "no name",
        ),
        (
            Box::new(|built: &mut Built| built.set32(at::entry(1) + 40, 0x2f2f_3a78)),
            "neither a place",
        ),
    ] {
        damaged(change, |core, problem| {
            assert_eq!(problem.place, ProblemPlace::CodeObject(1));
            assert!(problem.to_string().contains(text), "{problem}");
            let addresses: Vec<u64> = core
                .code_objects()
                .iter()
                .map(|object| object.load_address.0)
                .collect();
            assert_eq!(
                addresses,
                [0x7f40_0000_0000, 0x7f41_0000_0000, 0x7f42_0000_0000]
            );
            assert_eq!(core.code_objects()[1].source, None);
        });
    }
}

#[test]
fn a_circle_of_code_objects_ends() {
    for to in 0..3 {
        damaged(
            |built| built.set64(at::entry(2) + 24, at::entry(to)),
            |core, problem| {
                assert_eq!(problem.place, ProblemPlace::CodeObjects);
                let address = at::entry(to);
                assert_eq!(problem.kind, ProblemKind::ListCircle { address });
                assert_eq!(core.code_objects().len(), 3);
            },
        );
    }
}

// Tests of files.

#[test]
fn what_is_no_core_is_refused() {
    let limits = Limits::default();
    let merged = built().merged();
    let refused = |file: &[u8]| GpuCore::open(&[file], &limits).unwrap_err().to_string();
    let mut object = merged.clone();
    object[16] = 3;
    assert!(refused(&object).contains("not a core"));
    object[18] = 224;
    assert!(refused(&object).contains("code object"));
    let mut narrow = merged.clone();
    narrow[4] = 1;
    assert!(refused(&narrow).contains("64-bit"));
    let mut big = merged.clone();
    big[5] = 2;
    assert!(refused(&big).contains("little-endian"));
    let mut short = merged.clone();
    short[54] = 55;
    assert!(refused(&short).contains("56 bytes"));
    assert!(refused(b"").contains("not an ELF file"));
    for len in 4..64 {
        refused(&merged[..len]);
    }
}

/// The old writer of the runtime stops before the first segment that does not fit, and leaves its headers empty.
#[test]
fn headers_that_were_never_written_are_counted() {
    let built = built();
    let mut file = built.merged();
    let count = built.regions.len();
    // The last two segments are scratch of the second queue's waves.
    let at = 64 + (count - 1) * 56;
    file[at..at + 112].fill(0);
    with(&file, |core| {
        let kinds: Vec<&ProblemKind> = core
            .problems()
            .iter()
            .map(|problem| &problem.kind)
            .collect();
        assert!(
            matches!(kinds[0], ProblemKind::EmptyHeaders { count: 2 }),
            "{kinds:?}"
        );
    });
    // The table itself is truncated.
    file.truncate(64 + 3 * 56 + 20);
    assert!(
        GpuCore::open(&[&file], &Limits::default()).is_err(),
        "no note"
    );
}

/// If a truncated file has many program headers, their number is lost. They then end where the contents start.
#[test]
fn headers_are_found_where_their_number_is_lost() {
    let mut file = built().with_many_segments(70_000);
    file.truncate(file.len() - 20);
    with(&file, |core| {
        let [problem] = core.problems() else {
            panic!("{:#?}", core.problems());
        };
        assert_eq!(
            (problem.place, &problem.kind),
            (ProblemPlace::File(0), &ProblemKind::HeaderCount)
        );
        second_queue_is_whole(core);
        assert_eq!(core.available(0x1000_0000 + 69_999 * 16, 2), 1);
    });
}

/// Several code objects in the same memory together do not have more bytes than the files.
#[test]
fn the_files_of_code_objects_are_not_more_than_the_core() {
    let mut built = built();
    let uri = b"memory://1#offset=0x7f3000000000&size=200000\0";
    for n in 0..3 {
        built.cut(at::entry(n) + 40);
        built.add(at::entry(n) + 40, uri.to_vec(), false);
    }
    built.add(0x7f30_0000_0000, vec![1; 200_000], false);
    let file = built.merged();
    assert!((200_000..400_000).contains(&file.len()), "{}", file.len());
    with(&file, |core| {
        let found: Vec<bool> = core
            .images()
            .iter()
            .map(|(_, image)| image.is_some())
            .collect();
        assert_eq!(found, [true, false, false]);
    });
}

/// In a truncated file, the part before the end is read, in bounded time.
#[test]
fn cut_anywhere_it_is_an_answer_or_an_error() {
    let file = built().merged();
    let mut waves = std::collections::BTreeSet::new();
    for len in (0..file.len()).step_by(97).chain([file.len()]) {
        if let Ok(core) = GpuCore::open(&[&file[..len]], &Limits::default()) {
            assert_eq!(core.problems().is_empty(), len == file.len(), "{len}");
            waves.insert(core.waves().len());
        }
    }
    assert!(
        waves.contains(&0) && waves.contains(&8) && waves.len() > 3,
        "{waves:?}"
    );
}

#[test]
fn limits_bound_what_is_kept() {
    let file = built().merged();
    let mut limits = Limits::default();
    (limits.work, limits.work_per_byte) = (16, 0);
    let core = GpuCore::open(&[&file], &limits).unwrap();
    assert!(core.waves().len() < 8);
    let names = |problem: &Problem| matches!(problem.kind, ProblemKind::Limit { value: 16, .. });
    assert!(core.problems().iter().any(names), "{:#?}", core.problems());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// One to four structural bytes are changed to harmful values. Nothing panics or hangs, and the output is bounded by the contents of
    /// the file.
    #[test]
    fn damaged_bytes_are_an_answer_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
            Just(0_u8), Just(0xff), Just(0x80), Just(0x7f), Just(1), any::<u8>(),
        ]), 1..5),
        word in any::<bool>(),
    ) {
        let built = built();
        let mut file = built.merged();
        let places = gpu_core::places(&file, &built);
        for (index, value) in changes {
            let at = places[index.index(places.len())];
            let len = if word { 4 } else { 1 };
            for byte in file.iter_mut().skip(at).take(len) {
                *byte = value;
            }
        }
        if let Ok(core) = GpuCore::open(&[&file], &Limits::default()) {
            prop_assert!(core.waves().len() <= file.len() / 128);
            gpu_core::exhaust(&core);
        }
    }
}
