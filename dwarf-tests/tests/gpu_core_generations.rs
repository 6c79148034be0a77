//! Tests every generation's layout, in core files from the tests' writer (`dwarf_tests::cores::writer`).
//!
//! The writer assembles each word with one expression per generation, and the library reads them with its table. `spec-notes/gpu-core.md`
//! lists the layouts that were also checked with other tools' files.

use dwarf_tests::cores::generation::Generation;
use dwarf_tests::cores::writer::{CoreSpec, QueueSpec, SIZES, WaveSpec, at};
use hetdwarf::arch::{Processor, Register, WaveSize};
use hetdwarf::gpu_core::{CoreWave, GpuCore, HardwareRegister, WaveState};
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{AccessError, Memory, Wave};

const READ: u64 = 1_000_062;

/// Returns waves of a queue's XCC: workgroups of one to three waves, each with its own sizes.
fn waves(generation: Generation, lanes: u32, xcc: u32, spec: &QueueShape) -> Vec<WaveSpec> {
    let mut found = Vec::new();
    for group in 0..5_u32 {
        let size = group % 3 + 1;
        for member in 0..size {
            let n = found.len() as u32;
            let mut wave = wave(generation, lanes, xcc * 100 + n, group);
            (wave.is_first, wave.is_last) = (member == 0, member + 1 == size);
            wave.wave_in_group = member;
            (wave.engine, wave.slot) = (n % spec.engines, n / spec.engines);
            let offset = generation.scratch_offset(
                spec.scratch_waves,
                spec.engines,
                spec.scratch_bytes,
                wave.engine,
                wave.slot,
            );
            let of_xcc =
                generation.scratch_of_xcc(spec.scratch_waves, spec.engines, spec.scratch_bytes);
            wave.flat_scratch = at::scratch(0) + u64::from(xcc) * of_xcc + offset;
            wave.has_scratch = n != 3;
            found.push(wave);
        }
    }
    found
}

struct QueueShape {
    engines: u32,
    scratch_waves: u32,
    scratch_bytes: u32,
}

fn wave(generation: Generation, lanes: u32, seed: u32, group: u32) -> WaveSpec {
    use Generation::{Gfx12, Gfx12_5, Gfx90a, Gfx900, Gfx908, Gfx942, Gfx950};
    let vgprs = match generation {
        Gfx900 | Gfx908 => 4 + 8 * group,
        // Vector registers are allocated in fours. With the accumulation registers, the total is a multiple of eight.
        Gfx90a | Gfx942 | Gfx950 => 4 + 4 * group,
        Gfx12_5 => 16 + 256 * (group % 4),
        _ => 8 + 16 * group,
    };
    let agprs = match generation {
        Gfx908 => vgprs,
        Gfx90a | Gfx942 | Gfx950 => 8 * group + 8 - vgprs % 8,
        _ => 0,
    };
    let lds_unit = match generation {
        Gfx950 => 1280,
        Gfx12_5 => 1024,
        _ => 512,
    };
    let has_shared = lanes == 64 && !generation.is_gfx9();
    let no_more = generation == Gfx12 && group == 4;
    WaveSpec {
        seed,
        lanes,
        vgprs,
        agprs,
        shared: if has_shared { 8 * (group % 3) } else { 0 },
        sgprs: if generation.is_gfx9() {
            112 - 16 * (group % 2)
        } else {
            128
        },
        lds: if no_more {
            128 << 10
        } else {
            lds_unit * group * 3
        },
        is_first: false,
        is_last: false,
        has_scratch: true,
        engine: 0,
        slot: 0,
        pc: 0x7f40_1234_0000 + u64::from(seed) * 4,
        exec: (0x8123_4567_89ab_cdef ^ u64::from(seed))
            & if lanes == 32 { 0xffff_ffff } else { !0 },
        vcc: 0x1357_9bdf_0246_8ace ^ u64::from(seed),
        flat_scratch: 0,
        status: 0x0005_0840 & !(1 << 24),
        trapsts: 0,
        mode: 0x2f0,
        state_priv: 0,
        excp_priv: 0,
        excp_user: 0,
        trap_ctrl: 0,
        is_stopped: seed.is_multiple_of(2),
        was_halted: seed.is_multiple_of(4),
        was_in_handler: true,
        is_marked: false,
        trap_id: 0,
        packet_index: (62 + seed % 3) % 64,
        workgroup: [group, group % 2, group % 3],
        wave_in_group: 0,
        copied: None,
    }
}

fn spec(generation: Generation, target: u32, lanes: u32, version: u32) -> CoreSpec {
    let mut spec = CoreSpec::new(generation, target);
    let is_split = matches!(generation, Generation::Gfx942 | Generation::Gfx950);
    spec.xccs = if is_split { 3 } else { 1 };
    spec.version = version;
    spec.engines = 4;
    let shape = QueueShape {
        engines: spec.engines,
        scratch_waves: if generation.is_gfx9() || generation < Generation::Gfx11 {
            32
        } else {
            8
        },
        scratch_bytes: 3072,
    };
    let xccs = 0..spec.xccs;
    spec.queues.push(QueueSpec {
        id: 7,
        packets: 64,
        read: READ,
        write: READ + 3,
        scratch_waves: shape.scratch_waves,
        scratch_bytes: shape.scratch_bytes,
        waves: xccs
            .map(|xcc| waves(generation, lanes, xcc, &shape))
            .collect(),
    });
    spec
}

fn open(file: &[u8]) -> GpuCore<'_> {
    GpuCore::open(&[file], &Limits::default()).unwrap()
}

fn read(wave: &CoreWave<'_, '_>, register: Register, from: u32, bytes: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; bytes];
    let bits = from * 8..(from + u32::try_from(bytes).unwrap()) * 8;
    match wave.read_register(register, bits, &mut out) {
        Ok(()) => Some(out),
        Err(AccessError::Unavailable) => None,
        Err(error) => panic!("{register}: {error}"),
    }
}

fn bytes_of(words: impl IntoIterator<Item = u32>) -> Option<Vec<u8>> {
    Some(words.into_iter().flat_map(u32::to_le_bytes).collect())
}

fn check_registers(wave: &CoreWave<'_, '_>, spec: &WaveSpec, generation: Generation) {
    let size = wave.wave_size();
    assert_eq!(size.lanes(), spec.lanes);
    let len = spec.lanes as usize * 4;
    for n in 0..spec.vgprs {
        let register = Register::vgpr(n.try_into().unwrap(), size).unwrap();
        let expected = bytes_of((0..spec.lanes).map(|lane| spec.value("v", n, lane)));
        assert_eq!(read(wave, register, 0, len), expected, "v{n}");
    }
    for n in 0..spec.shared {
        let register = Register::vgpr((spec.vgprs + n).try_into().unwrap(), size).unwrap();
        let expected = bytes_of((0..32).map(|lane| spec.value("shared", n, lane)));
        assert_eq!(read(wave, register, 0, 128), expected, "shared {n}");
        // The shared registers have no separate lanes for the upper half of a wave.
        assert_eq!(read(wave, register, 124, 8), None);
    }
    let after = u16::try_from(spec.vgprs + spec.shared).unwrap();
    if let Some(register) = Register::vgpr(after, size) {
        assert_eq!(read(wave, register, 0, 4), None, "v{after}");
    }
    for n in 0..spec.agprs {
        let register = Register::agpr(n.try_into().unwrap(), size).unwrap();
        let expected = bytes_of((0..spec.lanes).map(|lane| spec.value("a", n, lane)));
        assert_eq!(read(wave, register, 0, len), expected, "a{n}");
    }
    if let Some(register) = Register::agpr(spec.agprs.try_into().unwrap(), size) {
        assert_eq!(read(wave, register, 0, 4), None, "a{}", spec.agprs);
    }
    let named = generation.named_scalars(spec.sgprs);
    for n in 0..106 {
        let register = Register::sgpr(n.try_into().unwrap()).unwrap();
        let expected = (n < named).then(|| spec.value("s", n, 0));
        let expected = expected.and_then(|value| bytes_of([value]));
        assert_eq!(read(wave, register, 0, 4), expected, "s{n}");
    }
    let mask = |value: u64| value.to_le_bytes()[..spec.lanes as usize / 8].to_vec();
    let whole = spec.lanes as usize / 8;
    assert_eq!(
        read(wave, Register::exec(size), 0, whole),
        Some(mask(spec.exec))
    );
    assert_eq!(
        read(wave, Register::vcc(size), 0, whole),
        Some(mask(spec.vcc))
    );
    let pc = Some(spec.pc.to_le_bytes().to_vec());
    assert_eq!(read(wave, Register::PC_64, 0, 8), pc);
    let other = match size {
        WaveSize::Wave32 => Register::EXEC_64,
        WaveSize::Wave64 => Register::EXEC_32,
    };
    assert_eq!(read(wave, other, 0, 4), None);
}

fn check_hardware(wave: &CoreWave<'_, '_>, spec: &WaveSpec, generation: Generation) {
    use HardwareRegister::{
        ExcpFlagPriv, ExcpFlagUser, FlatScratch, M0, Mode, StatePriv, Status, TrapCtrl, Trapsts,
    };
    let is_12 = generation >= Generation::Gfx12;
    let old = |value: u32| (!is_12).then_some(u64::from(value));
    let new = |value: u32| is_12.then_some(u64::from(value));
    let expected = [
        (M0, Some(spec.m0().into())),
        (FlatScratch, Some(spec.flat_scratch)),
        (Mode, Some(spec.mode.into())),
        (Status, Some(spec.status.into())),
        (Trapsts, old(spec.trapsts)),
        (StatePriv, new(spec.state_priv)),
        (ExcpFlagPriv, new(spec.excp_priv)),
        (ExcpFlagUser, new(spec.excp_user)),
        (TrapCtrl, new(spec.trap_ctrl)),
    ];
    for (register, value) in expected {
        assert_eq!(wave.hardware_register(register), value, "{register:?}");
    }
}

fn check_memory(wave: &CoreWave<'_, '_>, spec: &WaveSpec, leader: &WaveSpec, scratch_bytes: u32) {
    let read = |memory, address, len: usize| {
        let mut out = vec![0; len];
        wave.read_memory(memory, address, &mut out)
            .is_ok()
            .then_some(out)
    };
    let lds = (0..spec.lds).map(|n| leader.lds_byte(n)).collect();
    assert_eq!(wave.lds_size(), spec.lds);
    assert_eq!(read(Memory::Local, 0, spec.lds as usize), Some(lds));
    assert_eq!(read(Memory::Local, spec.lds.into(), 1), None);
    let scratch = (0..scratch_bytes).map(|n| spec.scratch_byte(n)).collect();
    let scratch = Some(scratch).filter(|_| spec.has_scratch);
    assert_eq!(wave.scratch().unwrap().address, spec.flat_scratch);
    assert_eq!(
        read(Memory::PrivateWave, 0, scratch_bytes as usize),
        scratch
    );
    assert_eq!(read(Memory::PrivateWave, scratch_bytes.into(), 1), None);
}

#[test]
fn every_generation_reads_back() {
    let mut waves = 0;
    for (generation, target, name) in Generation::TARGETS {
        for &lanes in generation.lanes() {
            for version in 8..=12 {
                let spec = spec(generation, target, lanes, version);
                let file = spec.build().merged();
                let core = open(&file);
                eprintln!("{name}, {lanes} lanes, version {version}");
                assert_eq!(core.problems(), []);
                assert_eq!(core.agents()[0].target, name);
                assert_eq!(core.dispatches().len(), 3);
                let queue = &spec.queues[0];
                let expected: Vec<(u32, &WaveSpec)> = (0..)
                    .zip(&queue.waves)
                    .flat_map(|(xcc, waves)| waves.iter().map(move |wave| (xcc, wave)))
                    .collect();
                assert_eq!(core.waves().len(), expected.len());
                let mut leader = expected[0].1;
                for (wave, (xcc, spec)) in core.waves().zip(expected) {
                    if spec.is_first {
                        leader = spec;
                    }
                    assert_eq!(wave.xcc(), xcc);
                    assert_eq!(wave.pc().0, spec.pc);
                    assert_eq!(wave.exec(), spec.exec);
                    let state = if spec.is_stopped {
                        WaveState::Stopped
                    } else {
                        WaveState::Running
                    };
                    assert_eq!(wave.state(), state);
                    // 62, 63 or, after the ring's end, 0.
                    let id = READ + u64::from(spec.seed % 3);
                    assert_eq!(wave.packet_id(), Some(id));
                    assert_eq!(wave.dispatch().unwrap().packet.grid_size, SIZES.1);
                    assert_eq!(wave.workgroup(), Some(spec.workgroup));
                    assert_eq!(wave.wave_in_group(), Some(spec.wave_in_group));
                    check_registers(&wave, spec, generation);
                    check_hardware(&wave, spec, generation);
                    check_memory(&wave, spec, leader, queue.scratch_bytes);
                    waves += 1;
                }
            }
        }
    }
    // There are 9 waves on each XCC, 13 combinations of targets and wave sizes with one XCC, two with three XCCs, and five versions.
    assert_eq!(waves, 9 * (13 + 2 * 3) * 5);
}

/// Returns a core with one wave, after applying `change`.
fn one(
    generation: Generation,
    target: u32,
    version: u32,
    change: impl Fn(&mut CoreSpec),
) -> Vec<u8> {
    let lanes = generation.lanes()[0];
    let mut spec = spec(generation, target, lanes, version);
    let mut wave = wave(generation, lanes, 0, 1);
    (wave.is_first, wave.is_last, wave.has_scratch) = (true, true, false);
    spec.xccs = 1;
    spec.queues[0].waves = vec![vec![wave]];
    change(&mut spec);
    spec.build().merged()
}

/// Returns the facts about a wave of the core.
fn told(file: &[u8]) -> (String, Vec<&'static str>, Option<u64>, u64) {
    let core = open(file);
    let wave = core.wave(0).unwrap();
    let stops = wave.stops().iter().map(|reason| reason.name()).collect();
    (
        wave.state().name().to_owned(),
        stops,
        wave.packet_id(),
        wave.pc().0,
    )
}

/// The rows are the table of section 10: the bits of TRAPSTS or EXCP_FLAG_PRIV, of EXCP_FLAG_USER, and of MODE or TRAP_CTRL, with their
/// meaning.
#[test]
fn every_stop_reason_has_its_bit() {
    type Row = (
        Option<(u32, Option<u32>)>,
        Option<(u32, Option<u32>)>,
        &'static str,
    );
    // (TRAPSTS bit, MODE bit), (flag bit, TRAP_CTRL bit): flags above 31 belong to EXCP_FLAG_USER.
    let rows: &[Row] = &[
        (Some((28, None)), Some((12, None)), "memory_violation"),
        (Some((8, None)), Some((4, None)), "address_error"),
        (Some((11, None)), Some((6, None)), "illegal_instruction"),
        (Some((7, Some(19))), Some((0, Some(7))), "watchpoint"),
        (Some((12, Some(19))), Some((1, Some(7))), "watchpoint"),
        (Some((13, Some(19))), Some((2, Some(7))), "watchpoint"),
        (Some((14, Some(19))), Some((3, Some(7))), "watchpoint"),
        (None, Some((11, None)), "single_step"),
        (None, Some((8, None)), "trap"),
        (None, Some((9, None)), "trap"),
        (
            Some((0, Some(12))),
            Some((32, Some(0))),
            "fp_invalid_operation",
        ),
        (
            Some((1, Some(13))),
            Some((33, Some(1))),
            "fp_input_denormal",
        ),
        (Some((2, Some(14))), Some((34, Some(2))), "fp_divide_by_0"),
        (Some((3, Some(15))), Some((35, Some(3))), "fp_overflow"),
        (Some((4, Some(16))), Some((36, Some(4))), "fp_underflow"),
        (Some((5, Some(17))), Some((37, Some(5))), "fp_inexact"),
        (Some((6, Some(18))), Some((38, Some(6))), "int_divide_by_0"),
        (Some((10, None)), Some((5, None)), ""),
    ];
    for (generation, target, name) in Generation::TARGETS {
        let is_12 = generation >= Generation::Gfx12;
        let own: &[Row] = match generation {
            Generation::Gfx942 | Generation::Gfx950 => &[
                (Some((25, None)), None, "single_step"),
                (Some((23, None)), None, "trap"),
                (Some((24, None)), None, "trap"),
            ],
            Generation::Gfx11 => &[
                (Some((20, None)), None, "single_step"),
                (Some((17, None)), None, "trap"),
                (Some((18, None)), None, "trap"),
            ],
            _ => &[],
        };
        for (old, new, reason) in rows.iter().chain(own) {
            let Some((bit, enable)) = (if is_12 { *new } else { *old }) else {
                continue;
            };
            for (stopped, enabled) in [(true, true), (true, false), (false, true)] {
                let file = one(generation, target, 10, |spec| {
                    let wave = &mut spec.queues[0].waves[0][0];
                    wave.is_stopped = stopped;
                    let flag = 1_u64 << bit;
                    wave.trapsts = if is_12 { 0 } else { flag as u32 };
                    (wave.excp_priv, wave.excp_user) = (flag as u32, (flag >> 32) as u32);
                    let enable = enable.filter(|_| enabled).map_or(0, |bit| 1 << bit);
                    (wave.mode, wave.trap_ctrl) = (0x2f0 | enable, enable);
                });
                let applies = stopped && (enabled || enable.is_none()) && !reason.is_empty();
                let expected = if applies { vec![*reason] } else { vec![] };
                assert_eq!(
                    told(&file).1,
                    expected,
                    "{name} bit {bit}, {stopped} {enabled}"
                );
            }
        }
        for (trap_id, reason) in [
            (1, "breakpoint"),
            (2, "assert_trap"),
            (3, "debug_trap"),
            (4, "trap"),
            (15, "trap"),
        ] {
            let file = one(generation, target, 10, |spec| {
                spec.queues[0].waves[0][0].trap_id = trap_id;
            });
            assert_eq!(told(&file).1, [reason], "{name} trap {trap_id}");
        }
        // Next to a memory violation, the address error has no meaning.
        let file = one(generation, target, 10, |spec| {
            let wave = &mut spec.queues[0].waves[0][0];
            (wave.trapsts, wave.excp_priv) =
                (1 << 28 | 1 << 8 | 1 << 11, 1 << 12 | 1 << 4 | 1 << 6);
        });
        assert_eq!(
            told(&file).1,
            ["memory_violation", "illegal_instruction"],
            "{name}"
        );
    }
}

/// Trap temporaries are valid if the hardware or the marks of the trap handler say so.
#[test]
fn trap_temporaries_are_believed_when_they_were_set_up() {
    for (generation, target, name) in Generation::TARGETS {
        let always = generation >= Generation::Gfx12;
        let is_94x = matches!(generation, Generation::Gfx942 | Generation::Gfx950);
        for version in [8, 9, 10, 12] {
            for (flag, agent_flag) in [(false, false), (true, false), (false, true)] {
                for skip_export in [false, true] {
                    for (in_handler, marked) in [(true, false), (true, true), (false, true)] {
                        let file = one(generation, target, version, |spec| {
                            (spec.ttmp_setup, spec.ttmp_always) = (flag, agent_flag);
                            let wave = &mut spec.queues[0].waves[0][0];
                            (wave.was_in_handler, wave.is_marked) = (in_handler, marked);
                            wave.status = u32::from(skip_export) << 18;
                        });
                        let (state, _, packet, _) = told(&file);
                        let set_up = flag || agent_flag || always;
                        let entered = in_handler || !(is_94x || always);
                        let stopped = entered && (set_up || version >= 10 && skip_export);
                        let expected = if stopped { "stopped" } else { "running" };
                        let what = format!(
                            "{name} {version} {flag} {agent_flag} {skip_export} {in_handler} {marked}"
                        );
                        assert_eq!(state, expected, "{what}");
                        let is_marked = marked && !always && version >= 10 && entered;
                        let known = set_up && !is_marked;
                        assert_eq!(packet.is_some(), known, "{what}");
                    }
                }
            }
        }
    }
}

/// A wave that has released its vector registers still has the block in its record, but its registers are not available.
#[test]
fn vector_registers_that_were_given_back_are_not_available() {
    for (generation, target, name) in Generation::TARGETS {
        let file = one(generation, target, 10, |spec| {
            spec.queues[0].waves[0][0].status |= 1 << 24;
        });
        let core = open(&file);
        let wave = core.wave(0).unwrap();
        let v0 = Register::vgpr(0, wave.wave_size()).unwrap();
        let has_bit = generation >= Generation::Gfx11;
        assert_eq!(read(&wave, v0, 0, 4).is_none(), has_bit, "{name}");
        assert!(read(&wave, Register::sgpr(0).unwrap(), 0, 4).is_some());
    }
}

/// STATUS is shown without the changes by the trap handler and the context switch.
#[test]
fn status_is_shown_as_the_program_has_it() {
    for (generation, target, name) in Generation::TARGETS {
        for (was_halted, raw) in [(false, 0x0004_2020_u32), (true, 0)] {
            let file = one(generation, target, 10, |spec| {
                let wave = &mut spec.queues[0].waves[0][0];
                (wave.was_halted, wave.status) = (was_halted, raw | 1);
            });
            let core = open(&file);
            let found = read(&core.wave(0).unwrap(), Register::STATUS, 0, 4);
            let shown = match (generation >= Generation::Gfx12, was_halted) {
                (true, _) => raw | 1,
                (false, true) => 1 << 13 | 1,
                (false, false) => 1,
            };
            assert_eq!(found, bytes_of([shown]), "{name}");
        }
    }
}

/// Returns a code object for a processor. Its code is not at the addresses of the waves in these tests.
fn object_for(target: &str) -> Vec<u8> {
    let mut file = std::fs::read(dwarf_tests::fixture("waves/calls/calls.rocm.hsaco")).unwrap();
    // The lowest byte of e_flags.
    file[48] = Processor::by_name(target).unwrap().mach();
    file
}

/// A wave that stopped at an `s_trap` is at that instruction, although the handler has advanced the pc.
#[test]
fn a_wave_that_stopped_at_a_trap_is_at_its_instruction() {
    for (generation, target, name) in Generation::TARGETS {
        let file = object_for(name);
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        let s_trap: u32 = if generation >= Generation::Gfx11 {
            0xbf90_0002
        } else {
            0xbf92_0002
        };
        for (before, trap_id, moved) in [(s_trap, 2, 4), (s_trap, 0, 0), (0xbf80_0002, 2, 0)] {
            let file = one(generation, target, 10, |spec| {
                let wave = &mut spec.queues[0].waves[0][0];
                wave.trap_id = trap_id;
                let pc = wave.pc;
                let code = before.to_le_bytes().to_vec();
                spec.memory.push((pc - 4, code, true));
            });
            let core = open(&file);
            let wave = core.wave(0).unwrap();
            let arena = Arena::new();
            let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
            let at = stop.frame(0).unwrap().pc();
            assert_eq!(at.0, wave.pc().0 - moved, "{name}");
        }
    }
}

/// A debugger holds the wave at its kernel's first instruction.
#[test]
fn a_wave_that_never_ran_is_told() {
    for (at_entry, halted, expected) in [
        (true, true, true),
        (true, false, false),
        (false, true, false),
    ] {
        let file = one(Generation::Gfx11, 110_000, 10, |spec| {
            let wave = &mut spec.queues[0].waves[0][0];
            (wave.is_stopped, wave.status) = (false, u32::from(halted) << 13);
            wave.pc = if at_entry {
                at::KERNEL + 0x1000
            } else {
                0x7f40_0000_0000
            };
            let mut descriptor = vec![0; 64];
            descriptor[16..24].copy_from_slice(&0x1000_u64.to_le_bytes());
            spec.memory.push((at::KERNEL, descriptor, true));
        });
        let core = open(&file);
        assert_eq!(core.wave(0).unwrap().is_halted_at_launch(), expected);
    }
}

/// Opens halves in both orders, and a file with more program headers than the ELF header can count.
#[test]
fn files_are_put_together_and_counted() {
    let spec = spec(Generation::Gfx11, 110_000, 32, 10);
    let built = spec.build();
    let (gpu, host, merged) = (built.gpu_half(), built.host_half(), built.merged());
    let many = built.with_many_segments(70_000);
    let limits = Limits::default();
    let whole = open(&merged);
    let scratch = whole.wave(0).unwrap().scratch().unwrap().address;
    for files in [
        vec![&*gpu, &*host],
        vec![&*host, &*gpu],
        vec![&*many],
        vec![&*merged, &*gpu],
        vec![&*merged, &*merged],
    ] {
        let core = GpuCore::open(&files, &limits).unwrap();
        assert_eq!(core.problems(), []);
        assert_eq!(core.waves().len(), whole.waves().len());
        assert_eq!(core.available(scratch, 3072), 3072);
        for (a, b) in core.waves().zip(whole.waves()) {
            assert_eq!(
                (a.pc(), a.packet_id(), a.stops()),
                (b.pc(), b.packet_id(), b.stops())
            );
        }
    }
    let mut byte = [0];
    let core = GpuCore::open(&[&many], &limits).unwrap();
    assert!(core.read_memory(0x1000_0000 + 69_999 * 16, &mut byte) && byte == [69_999_u32 as u8]);
    assert!(!core.read_memory(0x1000_0001, &mut byte));
    // The GPU's half alone: agents and queues, and a message about the missing half.
    let core = GpuCore::open(&[&gpu], &limits).unwrap();
    assert_eq!(
        (core.agents().len(), core.queues().len(), core.waves().len()),
        (1, 1, 0)
    );
    let texts: Vec<String> = core.problems().iter().map(ToString::to_string).collect();
    assert!(
        texts
            .iter()
            .all(|text| text.contains("give the host file (core.PID) too")),
        "{texts:?}"
    );
    assert_eq!(texts.len(), 3, "list, structure, save area: {texts:#?}");
    // The host's half alone has no note.
    let error = GpuCore::open(&[&host], &limits).unwrap_err().to_string();
    assert!(error.contains("gpucore.PID"), "{error}");
    assert!(GpuCore::open(&[], &limits).is_err());
}

/// If both halves have a byte, the host's is used, and a segment without bytes hides none. This holds in both orders, and for partly
/// overlapping segments.
#[test]
fn overlapping_segments_give_each_byte_once() {
    const AT: u64 = 0x6000_0000_0000;
    let mut spec = spec(Generation::Gfx11, 110_000, 32, 10);
    spec.memory.push((AT + 2, vec![2; 4], false));
    spec.memory.push((AT, vec![1; 8], true));
    spec.memory.push((AT + 7, vec![3; 3], true));
    let built = spec.build();
    let (gpu, host) = (built.gpu_half(), built.host_half());
    for files in [[&*gpu, &*host], [&*host, &*gpu]] {
        let core = GpuCore::open(&files, &Limits::default()).unwrap();
        let mut bytes = [0; 10];
        assert!(core.read_memory(AT, &mut bytes));
        assert_eq!(bytes, [1, 1, 2, 2, 2, 2, 1, 1, 3, 3]);
        assert_eq!(
            (core.available(AT, 20), core.available(AT + 9, 20)),
            (10, 1)
        );
        assert!(!core.read_memory(AT + 1, &mut bytes));
    }
}
