//! Tests that owned values give the same answers as borrowed ones, on any thread and after moves.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::sync::Arc;

use hetdwarf::arch::LoadAddress;
use hetdwarf::gpu_core::{GpuCore, Process};
use hetdwarf::inspect::{Program, Programs, Symbolizer};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::{Limits, Result};
use hetdwarf_owned::{LoadedCore, LoadedProgram, LoadedSymbolizer};

fn demo(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/demo");
    std::fs::read(format!("{folder}/{name}")).unwrap()
}

/// Queries a value from four threads, each of which holds a reference to it.
fn asked_by_four<T: Send + Sync + 'static, R: Send + 'static>(
    value: T,
    question: fn(&T) -> R,
) -> Vec<R> {
    let shared = Arc::new(value);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let share = Arc::clone(&shared);
            std::thread::spawn(move || question(&share))
        })
        .collect();
    drop(shared);
    let answers = threads.into_iter().map(|thread| thread.join().unwrap());
    answers.collect()
}

/// Returns the function and the line of every fourth byte of code.
fn places(program: &Program<'_>) -> Result<Vec<(Option<String>, Option<u64>)>> {
    let info = program.info();
    (0x1000..0x3000)
        .step_by(4)
        .map(|pc| {
            let function = info.find_function(pc)?;
            let name = function.and_then(|found| found.name.map(Into::into));
            Ok((name, info.line_at(pc)?.map(|line| line.line)))
        })
        .collect()
}

#[test]
fn an_owned_program_outlives_its_inputs() {
    let bytes = demo("calls-O2.rocm.hsaco");
    let object = CodeObject::parse(&bytes).unwrap();
    let expected = places(&Program::load(&object).unwrap()).unwrap();
    let named = expected.iter().filter(|(name, _)| name.is_some()).count();
    assert!(named > 100, "{named}");

    let owned: Arc<[u8]> = bytes.clone().into();
    let loaded = LoadedProgram::load(owned).unwrap();
    for found in asked_by_four(loaded, |loaded| loaded.with(places).unwrap()) {
        assert_eq!(found, expected);
    }
}

/// Returns the depth of each wave's call stack.
fn stacks(core: &GpuCore<'_>, programs: &Programs<'_>) -> Vec<Option<usize>> {
    let depth = |index| {
        let wave = core.wave(index)?;
        let arena = Arena::new();
        Some(programs.stop(&wave, &arena)?.call_frames().len())
    };
    (0..core.waves().len()).map(depth).collect()
}

#[test]
fn an_owned_core_outlives_its_inputs() {
    let bytes = demo("demo.core");
    let core = GpuCore::open(&[&bytes], &Limits::default()).unwrap();
    let images = core.images();
    let process = Process::open(&core, &images);
    let expected = stacks(&core, &Programs::new(&process));
    assert!(expected.contains(&Some(3)), "{expected:?}");

    let loaded = LoadedCore::open(vec![bytes.clone().into()], &[]).unwrap();
    for found in asked_by_four(loaded, |loaded| loaded.with(stacks)) {
        assert_eq!(found, expected);
    }
}

/// A code object from the user replaces the one at its address.
#[test]
fn given_code_objects_replace_missing_ones() {
    let bytes = demo("demo.core");
    let core = GpuCore::open(&[&bytes], &Limits::default()).unwrap();
    let address = core.code_objects().first().unwrap().load_address;
    let open = |object: Vec<u8>| {
        let objects = [(address, Arc::from(object))];
        LoadedCore::open(vec![bytes.clone().into()], &objects).unwrap()
    };
    let given = open(demo("calls-O2.rocm.hsaco"));
    let whole = given.with(stacks);
    assert!(whole.contains(&Some(3)), "{whole:?}");
    // A wave outside of all programs has no stop.
    let lost = open(b"no code object".to_vec());
    assert!(lost.with(stacks).iter().all(Option::is_none));
}

/// Returns the functions and lines of code that is loaded at an address.
fn symbolized(
    symbolizer: &Symbolizer<'_, '_>,
    load_address: u64,
) -> Vec<Vec<(Option<String>, Option<u64>)>> {
    let addresses: Vec<u64> = (0x1600..0x2000)
        .step_by(4)
        .map(|pc| load_address + pc)
        .collect();
    symbolizer.symbolize_all(&addresses, |found| {
        let frames = found.frames.iter();
        frames
            .map(|frame| (frame.function.clone(), frame.line))
            .collect()
    })
}

/// A symbolizer outlives its programs, and several threads query it at once. A core's symbolizer has the load addresses of the core.
#[test]
fn an_owned_symbolizer_outlives_its_inputs() {
    const LOADED: LoadAddress = LoadAddress(0x7f40_0000_0000);
    let bytes = demo("calls-O2.rocm.hsaco");
    let object = CodeObject::parse(&bytes).unwrap();
    let program = Program::load(&object).unwrap();
    let expected = symbolized(&Symbolizer::new([(&program, LOADED)]), LOADED.0);
    assert!(expected.iter().any(|frames| frames.len() > 1));

    let loaded = Arc::new(LoadedProgram::load(bytes.clone().into()).unwrap());
    let owned = LoadedSymbolizer::of_programs(vec![(loaded, LOADED)]);
    let found = asked_by_four(owned, |owned| owned.with(|it| symbolized(it, LOADED.0)));
    assert!(found.iter().all(|found| *found == expected));

    let core = LoadedCore::open(vec![demo("demo.core").into()], &[]).unwrap();
    let core = Arc::new(core);
    let at = core.with(|core, _| core.code_objects().first().unwrap().load_address);
    let owned = LoadedSymbolizer::of_core(&core);
    drop(core);
    assert_eq!(owned.with(|it| symbolized(it, at.0)), expected);
}

/// An address within two code objects is ambiguous. Addresses in one of them are found.
#[test]
fn an_address_in_two_code_objects_is_ambiguous() {
    let bytes = demo("calls-O2.rocm.hsaco");
    let object = CodeObject::parse(&bytes).unwrap();
    let program = Program::load(&object).unwrap();
    let at = |address| (&program, LoadAddress(address));
    let symbolizer = Symbolizer::new([at(0), at(0x100), at(0x10_0000)]);
    assert_eq!(symbolizer.objects_at(0x1a1c_u64), [0, 1]);
    let found = symbolizer.symbolize(0x1a1c_u64);
    assert!(found.object.is_none() && found.frames.is_empty() && found.symbol.is_none());
    assert_eq!(symbolizer.objects_at(0x10_1a1c_u64), [2]);
    let alone = symbolizer.symbolize(0x10_1a1c_u64);
    assert_eq!(alone.object, Some(2));
    assert_eq!(alone.frames, symbolizer.symbolize_in(1, 0x1a1c_u64).frames);
    assert!(symbolizer.objects_at(0x20_0000_u64).is_empty());
    assert!(symbolizer.symbolize_in(3, 0x1a1c_u64).object.is_none());
    let named: Vec<_> = symbolizer
        .symbols_named("leaf")
        .map(|(object, ..)| object)
        .collect();
    assert_eq!(named, [0, 1, 2]);
    assert_eq!(symbolizer.symbols_named("lea").count(), 0);
}
