//! Builds the locations of variables, as a compiler would, and shows how a debugger reads them.
//!
//! Run it with `cargo run --example write_locations`.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use hetdwarf::arch::{AddressSpace, Lane, Register, WaveSize};
use hetdwarf::eval::{Context, ExpressionBytes, LaneFocus, Outcome, ResultKind, Unit, evaluate};
use hetdwarf::expr::{Builder, Encoding, Operation, Printer};
use hetdwarf::location::{Access, Arena, read};
use hetdwarf::wave::{Memory, Snapshot};

fn main() -> hetdwarf::Result<()> {
    let encoding = Encoding::AMDGPU;
    let wave_size = WaveSize::Wave64;
    let register = |found: Option<Register>| {
        found.ok_or_else(|| hetdwarf::Error::malformed("example", "no such register"))
    };
    let (v4, s33) = (
        register(Register::vgpr(4, wave_size))?,
        register(Register::sgpr(33))?,
    );

    // An `int` in the lane's dword of v4.
    let mut in_register = Builder::new(encoding);
    in_register.lane_of_vector(v4)?;

    // An `int` on the stack of a target whose frame pointer counts the bytes of the whole wave.
    let mut on_stack = Builder::new(encoding);
    on_stack.stack_slot(s33, Some(wave_size), 16)?;

    // A `long` with its low half in v4 and a high half that is always zero.
    let mut in_parts = Builder::new(encoding);
    in_parts
        .lane_of_vector(v4)?
        .push(Operation::Piece { byte_size: 4 })?;
    in_parts
        .constant(0)?
        .push(Operation::StackValue)?
        .push(Operation::Piece { byte_size: 4 })?;
    in_parts.push(Operation::PieceEnd)?;

    // A variable in local memory, at an address from the linker.
    let mut in_local = Builder::new(encoding);
    in_local.constant(0x40)?.form_address(AddressSpace::Local)?;

    // An invalid operation is rejected when it is written, not when somebody debugs the program.
    let refused = Builder::new(encoding)
        .push(Operation::Regx { register: 100 })
        .map(|_| ());
    println!(
        "{}\n",
        refused
            .err()
            .map_or_else(String::new, |error| error.to_string())
    );

    // The values that a debugger would read in lane 5.
    let mut wave = Snapshot::new("gfx90a", wave_size, 0x1a00);
    wave.set_lanes(
        v4,
        &(0..64).map(|lane| Some(100 + lane)).collect::<Vec<_>>(),
    )?;
    wave.set_register(s33, 0x400)?;
    // Frame pointer 0x400 is lane address 0x10. The slot is 16 bytes further, in the row of dwords at 0x800.
    wave.add_memory(Memory::PrivateWave, 0x800 + 5 * 4, &7u32.to_le_bytes())?;
    wave.add_memory(Memory::Local, 0x40, &42u32.to_le_bytes())?;
    for (name, builder, bits) in [
        ("register", in_register, 32),
        ("stack", on_stack, 32),
        ("parts", in_parts, 64),
        ("local", in_local, 32),
    ] {
        let bytes = builder.finish()?;
        println!("{name}: {}", Printer::new(encoding).expression(&bytes));
        let arena = Arena::new();
        let lane = Lane(5);
        let context = Context::new(&arena)
            .with_wave(&wave)
            .with_lane(LaneFocus::One(lane));
        let expression = ExpressionBytes::alone(&bytes, Unit::unknown(encoding));
        let Outcome::Location(location) = evaluate(&expression, ResultKind::Location, &context)?
        else {
            continue;
        };
        let found = read(
            &location,
            bits,
            &Access {
                wave: &wave,
                lane: Some(lane),
                max_bits: 1 << 20,
                meter: None,
            },
        )?;
        println!("  {} bytes, in lane 5: {:02x?}", bytes.len(), found.bytes);
    }
    Ok(())
}
