//! Prints the position of each lane of a diverged wave, including the lanes that EXEC has switched off.
//!
//! Run it with `cargo run --example where_are_my_lanes`. The wave has reached the inner `else` in
//! `dwarf-tests/fixtures/corpus/src/lane_pc.c`.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::collections::BTreeMap;
use std::path::Path;

use hetdwarf::arch::{Lane, Register, WaveSize};
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;

/// The lanes that entered the function, and those for which `a > b` and `b > c`.
const ENTERED: u64 = 0x0000_ffff_ffff_ffff;
const A_IS_GREATER: u64 = 0xff00_ff00_ff00_ff00;
const B_IS_GREATER: u64 = 0x0ff0_0ff0_0ff0_0ff0;
/// The position in the function, in bytes from its start: `r -= c`.
const OFFSET: u64 = 0x2c;

/// Returns the state of the wave that a debugger needs: EXEC, and the masks that the code saved.
fn wave(pc: u64) -> hetdwarf::Result<Snapshot> {
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, pc);
    let outer = ENTERED & A_IS_GREATER;
    wave.set_register(Register::EXEC_64, outer & !B_IS_GREATER)?;
    for (first, saved) in [(4, ENTERED), (6, outer)] {
        for (number, word) in [(first, saved & 0xffff_ffff), (first + 1, saved >> 32)] {
            let register = Register::sgpr(number)
                .ok_or_else(|| hetdwarf::Error::malformed("example", "no such register"))?;
            wave.set_register(register, word)?;
        }
    }
    Ok(wave)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dwarf-tests/fixtures/corpus");
    let code = std::fs::read(folder.join("rocm-style/lane_pc.hsaco"))?;
    let source = std::fs::read_to_string(folder.join("src/lane_pc.c"))?;
    let object = CodeObject::parse(&code)?;
    let program = Program::load(&object)?;
    let symbols = object.symbols()?;
    let nested = symbols.iter().find(|symbol| symbol.name == "nested");
    let start = nested.ok_or("there is no function `nested`")?.address;

    let wave = wave(start + OFFSET)?;
    let arena = Arena::new();
    let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
    let frame = stop.call_frame(0).ok_or("there is no frame")?;
    let found = frame.lane_pcs()?;

    // One row for each line with lanes: ● runs, ○ waits.
    let mut rows: BTreeMap<u64, Vec<char>> = BTreeMap::new();
    for (lane, pc) in WaveSize::Wave64.all_lanes().zip(found.pcs()) {
        let line = match pc {
            Some(pc) => frame.description_of_lane(pc)?.line.unwrap_or(0),
            None => continue,
        };
        let row = rows.entry(line).or_insert_with(|| vec!['·'; 64]);
        if let Some(cell) = row.get_mut(usize::from(lane.0)) {
            *cell = if found.is_active(lane) { '●' } else { '○' };
        }
    }
    for (number, text) in (1..).zip(source.lines()) {
        let lanes: String = rows.get(&number).into_iter().flatten().collect();
        println!("{number:3} {text:72} {lanes}");
    }
    let gone = found.pcs().filter(|pc| pc.is_none()).count();
    println!("{gone} lanes were not active when the function was entered");
    assert!(found.is_active(Lane(12)) && found.pcs().last() == Some(None));
    Ok(())
}
