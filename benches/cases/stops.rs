//! Measures a debugger's queries at a stop: variables and call stacks of emulated waves.

use std::cell::RefCell;

use hetdwarf::arch::{Register, WaveSize};
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::Options;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::wave::{Memory, Snapshot, Wave};

use super::objects::{load, load_with};
use super::{Case, Maker, fixture, keep, maker};

/// Unoptimized code with 64 lanes and five variables, one of which is an array: with the extensions, and as LLVM writes it without them.
const NOT_OPTIMISED: [&str; 2] = ["loops-gfx90a.rocm.hsaco", "loops-gfx90a.hsaco"];
/// Optimized code with 32 lanes and three frames.
const OPTIMISED: [&str; 2] = ["calls-O2.rocm.hsaco", "calls-O2.hsaco"];

pub(super) fn makers() -> Vec<Maker> {
    let mut makers = Vec::new();
    for (folder, files, wave) in [
        ("loops-gfx90a", NOT_OPTIMISED, "w12.json"),
        ("calls-O2", OPTIMISED, "w06.json"),
    ] {
        for file in files {
            makers.push(maker(format!("frame/variables, {file}"), move || {
                let program = program(folder, file);
                let wave = keep(wave_of(folder, wave));
                assert!(variables(program, wave) >= 3);
                Case::new(move || variables(program, wave))
            }));
        }
    }
    for file in OPTIMISED {
        makers.push(maker(
            format!("wave/all frames, variables and texts, {file}"),
            move || {
                let program = program("calls-O2", file);
                let wave = keep(wave_of("calls-O2", "w06.json"));
                let kept = RefCell::new(Kept::default());
                assert!(texts(program, wave, &mut kept.borrow_mut()) >= 17);
                Case::new(move || texts(program, wave, &mut kept.borrow_mut()))
            },
        ));
    }
    // The cost of a wave depends on where it stopped, so all 18 waves are used in turn.
    for file in OPTIMISED {
        let program = move || program("calls-O2", file);
        let wave = |number: u32| keep(wave_of("calls-O2", &format!("w{number:02}.json")));
        for number in [5, 6] {
            makers.push(maker(format!("texts/w{number:02}, {file}"), move || {
                let (program, wave) = (program(), wave(number));
                let kept = RefCell::new(Kept::default());
                Case::new(move || texts(program, wave, &mut kept.borrow_mut()))
            }));
        }
        makers.push(maker(format!("texts/a wave of all, {file}"), move || {
            let (program, waves) = (program(), (0..18).map(wave).collect::<Vec<_>>());
            let kept = RefCell::new(Kept::default());
            let all = move || -> usize {
                let mut kept = kept.borrow_mut();
                let counts = waves.iter().map(|wave| texts(program, wave, &mut kept));
                counts.sum()
            };
            Case::repeated(18, all)
        }));
    }
    for (name, most) in [("one step", 2), ("10 frames", 16)] {
        makers.push(maker(format!("unwind/{name}"), move || {
            let mut limits = Limits::DEFAULT;
            limits.frames = most;
            let file = fixture("waves/recursion/recursion.rocm.hsaco");
            let program = load_with(file, &limits);
            let wave = keep(ten_frames());
            assert_eq!(frames(program, wave), most.min(10) as usize);
            Case::new(move || frames(program, wave))
        }));
    }
    makers.push(maker("unwind/row of an address", || {
        let program = program("recursion", "recursion.rocm.hsaco");
        // The address is in the body of `sum`, after 38 rows.
        let row = move || program.cfi().row_at(0x1cdc, None).unwrap().unwrap().1;
        assert!(row().rules().len() > 20);
        Case::new(row)
    }));
    makers
}

fn program(folder: &str, file: &str) -> &'static Program<'static> {
    load(fixture(&format!("waves/{folder}/{file}")))
}

fn wave_of(folder: &str, file: &str) -> Snapshot {
    Snapshot::from_json(fixture(&format!("waves/{folder}/{file}"))).unwrap()
}

fn options(wave: &Snapshot) -> StopOptions {
    StopOptions::loaded_at(wave.load_address)
}

/// Stops, and reads every variable of the innermost frame in every lane. Returns their number.
fn variables(program: &'static Program<'static>, wave: &'static Snapshot) -> usize {
    // A debugger frees the data of one stop before the next.
    let arena = Arena::new();
    let stop = Stop::new(program, wave, wave.pc(), options(wave), &arena);
    let mut types = TypeTable::default();
    let frame = stop.call_frame(0).unwrap();
    frame.variables(&mut types).unwrap().len()
}

/// Returns a function that queries `count` waves of optimized code, one after the other. All threads share one program.
pub(crate) fn waves() -> impl Fn(u32) + Copy + Send + Sync {
    let program = program("calls-O2", OPTIMISED[0]);
    let wave = keep(wave_of("calls-O2", "w06.json"));
    move |count| {
        let mut kept = Kept::default();
        (0..count).for_each(|_| assert!(texts(program, wave, &mut kept) >= 17));
    }
}

/// The allocations that are reused for every wave.
#[derive(Default)]
struct Kept {
    types: TypeTable,
    text: String,
}

/// Formats every variable of every frame in every lane, as a debugger does for one of many waves. Returns the number of variables.
fn texts(program: &'static Program<'static>, wave: &'static Snapshot, kept: &mut Kept) -> usize {
    let arena = Arena::new();
    let stop = Stop::new(program, wave, wave.pc(), options(wave), &arena);
    let Kept { types, text } = kept;
    let mut count = 0;
    for frame in stop.call_frames() {
        for value in frame.variables(types).unwrap() {
            count += 1;
            let options = Options::default();
            let mut texts = value.texts(types, &options, text);
            for lane in wave.wave_size().all_lanes() {
                std::hint::black_box(texts.text(lane));
            }
        }
    }
    count
}

fn frames(program: &'static Program<'static>, wave: &'static Snapshot) -> usize {
    let arena = Arena::new();
    Stop::new(program, wave, wave.pc(), options(wave), &arena)
        .call_frames()
        .len()
}

/// Returns the stop `w06` of `recursion`, which is six frames deep, with four more recursive calls of `sum`.
///
/// Each call has 0xa00 bytes of the wave's scratch, 0x50 for each of 32 lanes. The 32 lanes of the caller's v41 are saved 2048 bytes after
/// the CFA. Lane 28 of v41 is the frame pointer (s33) of the caller's caller.
fn ten_frames() -> Snapshot {
    const FRAME: usize = 0xa00;
    const MORE: usize = 4;
    /// The CFA of the innermost frame.
    const INNERMOST: usize = 0x2800;
    const SAVED: usize = 2048 + 28 * 4;
    /// The size of the snapshot's scratch.
    const KNOWN: usize = 0x3400;
    let lane_address = |wave_address: usize| u32::try_from(wave_address / 32).unwrap();

    let mut wave = wave_of("recursion", "w06.json");
    let mut scratch = vec![0; KNOWN];
    wave.read_memory(Memory::PrivateWave, 0, &mut scratch)
        .unwrap();
    let caller = scratch[INNERMOST - FRAME..INNERMOST].to_vec();
    let innermost = scratch.split_off(INNERMOST);
    for _ in 0..MORE {
        scratch.extend_from_slice(&caller);
    }
    scratch.extend_from_slice(&innermost);
    for frame in 0..=MORE {
        let cfa = INNERMOST + frame * FRAME;
        let saved = lane_address(cfa - 2 * FRAME).to_le_bytes();
        scratch[cfa + SAVED..cfa + SAVED + 4].copy_from_slice(&saved);
    }

    let (low, high) = scratch.split_at(KNOWN);
    wave.write_memory(Memory::PrivateWave, 0, low).unwrap();
    wave.add_memory(Memory::PrivateWave, KNOWN as u64, high)
        .unwrap();
    let deeper = lane_address(MORE * FRAME);
    let mut move_up = |register: Register, bits: std::ops::Range<u32>| {
        let mut bytes = [0; 4];
        wave.read_register(register, bits.clone(), &mut bytes)
            .unwrap();
        let moved = u32::from_le_bytes(bytes) + deeper;
        wave.write_register(register, bits, &moved.to_le_bytes())
            .unwrap();
    };
    move_up(Register::sgpr(32).unwrap(), 0..32);
    move_up(Register::sgpr(33).unwrap(), 0..32);
    move_up(
        Register::vgpr(41, WaveSize::Wave32).unwrap(),
        28 * 32..29 * 32,
    );
    wave
}
