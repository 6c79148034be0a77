//! Any bytes as a code object: the variables and the call stack of a wave that has stopped somewhere in it.
#![no_main]

use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;
use libfuzzer_sys::fuzz_target;

const WAVE: &[u8] = include_bytes!("../../src/cli/demo/stop.json");

fuzz_target!(|bytes: &[u8]| {
    let Ok(object) = CodeObject::parse(bytes) else {
        return;
    };
    let Ok(program) = Program::load(&object) else {
        return;
    };
    let Ok(wave) = Snapshot::from_json(WAVE) else {
        return;
    };
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address);
    let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
    for frame in stop.frames() {
        let _ = frame.variables(&mut TypeTable::default());
    }
});
