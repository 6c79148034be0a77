//! Implements `Wave` over a debugger's access to a process, and prints variables.
//!
//! Run it with `cargo run --example print_variables`. Here the process is a snapshot in a file. A real debugger would
//! call its driver instead.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;

use hetdwarf::arch::{Lane, Register, WaveSize};
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::Options;
use hetdwarf::inspect::{Program, Stop, StopOptions, ValueState};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{AccessError, Memory, Snapshot, Wave};

/// The debugger's access to a stopped wave. It counts the accesses, to show how few there are.
struct Process {
    wave: Snapshot,
    accesses: RefCell<u32>,
}

impl Wave for Process {
    fn wave_size(&self) -> WaveSize {
        self.wave.wave_size()
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        *self.accesses.borrow_mut() += 1;
        self.wave.read_register(register, bits, out)
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        *self.accesses.borrow_mut() += 1;
        self.wave.read_memory(memory, address, out)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dwarf-tests/fixtures/waves/calls");
    let code = std::fs::read(folder.join("calls.rocm.hsaco"))?;
    let process = Process {
        wave: Snapshot::from_json(&std::fs::read(folder.join("w09.json"))?)?,
        accesses: RefCell::new(0),
    };

    // Once for each code object.
    let object = CodeObject::parse(&code)?;
    let program = Program::load(&object)?;

    // Once for each stop.
    let arena = Arena::new();
    let options = StopOptions::loaded_at(process.wave.load_address);
    let stop = Stop::new(&program, &process, process.wave.pc(), options, &arena);
    for frame in stop.frames() {
        let place = frame.description()?;
        println!(
            "#{} {} at line {}",
            frame.index(),
            place.function.unwrap_or_default(),
            place.line.unwrap_or(0)
        );

        let mut types = TypeTable::default();
        for variable in frame.variables(&mut types)? {
            let name = variable.variable.name.clone().unwrap_or_default();
            let shown = [Lane(0), Lane(1), Lane(2)].map(|lane| {
                let state = variable.state(lane);
                if state == ValueState::Ok {
                    let text = variable.text(lane, &types, &Options::default());
                    text.unwrap_or_default()
                } else {
                    format!("<{}>", state.name())
                }
            });
            println!(
                "     {} {name} = {} in lanes 0 to 2",
                variable.type_name,
                shown.join(", ")
            );
        }
    }
    println!(
        "{} accesses to the process, for all {} lanes",
        process.accesses.borrow(),
        process.wave_size().lanes()
    );
    Ok(())
}
