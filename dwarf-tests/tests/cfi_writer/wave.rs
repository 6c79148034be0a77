//! Makes a wave stopped in `helper`, and reads the registers of its caller.

use hetdwarf::arch::{Register, ScratchAddressing};
use hetdwarf::frame::CallFrame;
use hetdwarf::frame::write::Target;
use hetdwarf::location::{Access, read};
use hetdwarf::wave::{Memory, Snapshot};

use crate::program::{s, v};

/// Returns the caller's value of a register, in bytes.
pub fn caller_value(frame: &CallFrame<'_, '_, '_>, register: Register, wave: &Snapshot) -> Vec<u8> {
    let (location, assumes_exec) = frame.recovered(register).unwrap();
    assert!(!assumes_exec, "EXEC has a rule");
    let access = Access {
        wave,
        lane: None,
        max_bits: 1 << 20,
        meter: None,
    };
    let bits = register.size_in_bits().unwrap().into();
    let found = read(&location, bits, &access).unwrap();
    assert!(found.is_complete(), "{register}");
    found.bytes
}

pub fn dwords(bytes: &[u8]) -> Vec<u32> {
    let dwords = bytes.chunks(4);
    dwords
        .map(|d| u32::from_le_bytes(d.try_into().unwrap()))
        .collect()
}

/// Returns a wave that stopped in `helper`, called from `kernel` at 0x1050. The kernel's frame starts at the frame pointer: at byte 0x400
/// of the wave.
pub fn stopped_in_helper(target: Target, processor: &str, pc: u64) -> Snapshot {
    let lanes = u16::try_from(target.wave_size.lanes()).unwrap();
    let each = |base: u32| -> Vec<Option<u32>> {
        (0..u32::from(lanes))
            .map(|lane| Some(base + lane))
            .collect()
    };
    let mut wave = Snapshot::new(processor, target.wave_size, pc);
    // The frame starts 0x400 bytes into the wave's scratch. If pointers count the bytes of one lane, the pointer is a 32nd of that.
    let (stack, frame) = match target.scratch {
        ScratchAddressing::Buffer => (0x1000, 0x400),
        ScratchAddressing::Flat => (0x1000 / 32, 0x400 / 32),
        other => panic!("{other:?}"),
    };
    wave.set_register(s(32), stack).unwrap();
    wave.set_register(s(33), frame).unwrap();
    // s[4:5] hold EXEC on entry.
    wave.set_register(s(4), 0xff00_ff00).unwrap();
    wave.set_register(s(5), 0x1).unwrap();
    wave.set_register(s(6), 0x123).unwrap();
    wave.set_register(s(34), 0xbad).unwrap();
    wave.set_register(Register::exec(target.wave_size), 0xf)
        .unwrap();
    let mut v40 = each(0xbad0);
    v40[..3].copy_from_slice(&[Some(0x1050), Some(0), Some(0x77)]);
    wave.set_lanes(v(40, target), &v40).unwrap();
    wave.set_lanes(v(41, target), &each(100)).unwrap();
    wave.set_lanes(v(42, target), &each(0xbad0)).unwrap();
    let row = u64::from(lanes) * 4;
    for (index, base) in [(0, 300), (1, 200), (2, 400)] {
        let values = each(base).into_iter().flatten().flat_map(u32::to_le_bytes);
        let values: Vec<u8> = values.collect();
        let address = 0x400 + index * row;
        wave.add_memory(Memory::PrivateWave, address, &values)
            .unwrap();
    }
    wave
}
