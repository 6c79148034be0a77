use super::*;
use crate::wave::StopReason;

/// Returns a wave of 32 lanes with a register of each kind and bytes of each memory.
fn sample() -> Snapshot {
    let mut wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0x7f40_0000_1a1c);
    wave.load_address = LoadAddress(0x7f40_0000_0000);
    wave.set_focus_lane(Some(Lane(3))).unwrap();
    wave.apertures = Some(Apertures {
        shared_base: 1 << 48,
        private_base: 2 << 48,
    });
    wave.dispatch = Some(Dispatch {
        workgroup_id: [1, 0, 0],
        workgroup_size: [64, 1, 1],
        grid_size: [256, 1, 1],
        wave_in_group: 1,
        kernarg_address: Some(0x7f10_0000_0000),
    });
    let mut stop = StopReasons::default();
    stop.insert(StopReason::MemoryViolation);
    stop.insert(StopReason::AssertTrap);
    wave.stop = Some(stop);
    wave.fault_address = Some(0x7f00_0000_3000);
    wave.set_register(Register::EXEC_32, 0xffff).unwrap();
    wave.set_register(sgpr(4), 0x1234_5678).unwrap();
    let lanes: Vec<Option<u32>> = (0..32)
        .map(|lane| (lane != 5).then_some(0x100 + lane))
        .collect();
    wave.set_lanes(vgpr(0), &lanes).unwrap();
    wave.add_memory(Memory::Global, 0x7f00_0000_1000, &[1, 2, 3, 4])
        .unwrap();
    wave.add_memory(Memory::Global, 0x7f00_0000_2000, &[5])
        .unwrap();
    wave.add_memory(Memory::Region, 8, &[6]).unwrap();
    wave.add_memory(Memory::Local, 0, &[7, 8]).unwrap();
    wave.add_memory(Memory::PrivateWave, 0xffff_fffe, &[9, 10])
        .unwrap();
    wave
}

fn sgpr(n: u16) -> Register {
    Register::sgpr(n).unwrap()
}

fn vgpr(n: u16) -> Register {
    Register::vgpr(n, WaveSize::Wave32).unwrap()
}

/// Returns the bytes of a register, or `None` if they are unavailable.
fn register(wave: &Snapshot, register: Register, bits: Range<u32>) -> Option<Vec<u8>> {
    let mut out = vec![0xee; (bits.end as usize - bits.start as usize) / 8];
    match wave.read_register(register, bits, &mut out) {
        Ok(()) => Some(out),
        Err(AccessError::Unavailable) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Returns the bytes of a memory, or `None` if they are unavailable.
fn bytes(wave: &Snapshot, memory: Memory, address: u64, len: usize) -> Option<Vec<u8>> {
    let mut out = vec![0xee; len];
    match wave.read_memory(memory, address, &mut out) {
        Ok(()) => Some(out),
        Err(AccessError::Unavailable) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn registers_read_as_a_whole_and_in_part() {
    let wave = sample();
    assert_eq!(
        register(&wave, sgpr(4), 0..32),
        Some(vec![0x78, 0x56, 0x34, 0x12])
    );
    assert_eq!(register(&wave, sgpr(4), 8..24), Some(vec![0x56, 0x34]));
    assert_eq!(register(&wave, sgpr(4), 8..8), Some(vec![]));
    assert_eq!(
        register(&wave, Register::EXEC_32, 0..32),
        Some(vec![0xff, 0xff, 0, 0])
    );
    assert_eq!(
        register(&wave, Register::PC_64, 0..64),
        Some(0x7f40_0000_1a1cu64.to_le_bytes().to_vec())
    );
    assert_eq!(register(&wave, sgpr(5), 0..32), None);
    assert_eq!(register(&wave, Register::EXEC_64, 0..64), None);
    assert_eq!(
        (wave.wave_size(), wave.focus_lane()),
        (WaveSize::Wave32, Some(Lane(3)))
    );
    assert_eq!(Wave::apertures(&wave), wave.apertures);
}

#[test]
fn a_lane_that_is_not_known_does_not_hide_the_others() {
    let wave = sample();
    assert_eq!(register(&wave, vgpr(0), 128..160), Some(vec![4, 1, 0, 0]));
    assert_eq!(register(&wave, vgpr(0), 160..192), None);
    assert_eq!(register(&wave, vgpr(0), 152..168), None);
    assert_eq!(register(&wave, vgpr(0), 144..160), Some(vec![0, 0]));
    assert_eq!(register(&wave, vgpr(0), 192..1024).unwrap().len(), 26 * 4);
    assert_eq!(register(&wave, vgpr(0), 0..1024), None);
}

#[test]
#[expect(
    clippy::reversed_empty_ranges,
    reason = "a careless caller's range is what is tested"
)]
fn a_caller_that_asks_for_bits_that_are_not_there_gets_an_error() {
    let mut wave = sample();
    for (bits, len) in [
        (0..40, 5),
        (4..12, 1),
        (0..32, 3),
        (0..31, 4),
        (24..16, 1),
        (32..40, 1),
    ] {
        let mut out = vec![0; len];
        let read = wave.read_register(sgpr(4), bits.clone(), &mut out);
        assert!(matches!(read, Err(AccessError::Failed(_))), "{bits:?}");
        let written = wave.write_register(sgpr(4), bits, &out);
        assert!(matches!(written, Err(AccessError::Failed(_))));
    }
    let (read, _) = (wave.read_register(vgpr(0), 1024..1056, &mut [0; 4]), ());
    assert!(matches!(read, Err(AccessError::Failed(_))));
}

#[test]
fn memory_reads_across_regions_that_touch() {
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, 0);
    wave.add_memory(Memory::Global, 0x1004, &[5, 6]).unwrap();
    wave.add_memory(Memory::Global, 0x1000, &[1, 2, 3, 4])
        .unwrap();
    wave.add_memory(Memory::Global, 0x1008, &[9]).unwrap();
    wave.add_memory(Memory::Global, 0x1007, &[]).unwrap();
    assert_eq!(
        bytes(&wave, Memory::Global, 0x1000, 6),
        Some(vec![1, 2, 3, 4, 5, 6])
    );
    assert_eq!(bytes(&wave, Memory::Global, 0x1003, 2), Some(vec![4, 5]));
    assert_eq!(bytes(&wave, Memory::Global, 0x1003, 4), None);
    assert_eq!(bytes(&wave, Memory::Global, 0xfff, 2), None);
    assert_eq!(bytes(&wave, Memory::Local, 0x1000, 1), None);
    assert_eq!(bytes(&wave, Memory::Local, 0x1000, 0), Some(vec![]));
    assert_eq!(bytes(&wave, Memory::Global, u64::MAX, 2), None);
    // This closes the gap.
    wave.add_memory(Memory::Global, 0x1005, &[6, 7, 8, 9, 10])
        .unwrap();
    let all = Some((1..=10).collect());
    assert_eq!(bytes(&wave, Memory::Global, 0x1000, 10), all);
}

#[test]
fn regions_may_overlap_where_they_agree() {
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, 0);
    wave.add_memory(Memory::Local, 16, &[1, 2, 3, 4]).unwrap();
    wave.add_memory(Memory::Local, 17, &[2, 3]).unwrap();
    wave.add_memory(Memory::Local, 14, &[9, 8, 1, 2, 3, 4, 7])
        .unwrap();
    let before = wave.clone();
    let error = wave.add_memory(Memory::Local, 19, &[4, 7, 5, 5]).err();
    assert_eq!(error, None);
    let error = before
        .clone()
        .add_memory(Memory::Local, 12, &[5, 5, 9, 8, 0])
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("different bytes at 0x10 of local"),
        "{error}"
    );
    let mut other = before.clone();
    other
        .add_memory(Memory::Local, 12, &[5, 5, 9, 8, 0])
        .unwrap_err();
    assert_eq!(other, before);
}

#[test]
fn memory_ends_with_its_addresses() {
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, 0);
    wave.add_memory(Memory::Global, u64::MAX, &[1]).unwrap();
    wave.add_memory(Memory::Global, u64::MAX - 3, &[1, 1, 1, 1])
        .unwrap();
    assert_eq!(
        bytes(&wave, Memory::Global, u64::MAX - 1, 2),
        Some(vec![1, 1])
    );
    assert_eq!(bytes(&wave, Memory::Global, u64::MAX - 1, 3), None);
    assert!(wave.add_memory(Memory::Global, u64::MAX, &[1, 2]).is_err());
    for memory in [Memory::Region, Memory::Local, Memory::PrivateWave] {
        wave.add_memory(memory, 0xffff_ffff, &[1]).unwrap();
        assert!(wave.add_memory(memory, 0xffff_ffff, &[1, 2]).is_err());
        assert!(wave.add_memory(memory, 1 << 32, &[1]).is_err());
    }
}

/// Every way to add up to three regions to eight bytes, compared with adding single bytes.
#[test]
fn regions_in_any_order_give_the_same_memory() {
    let content = [3u8, 1, 4, 1, 5, 9, 2, 6];
    let spans: Vec<Range<usize>> = (0..8).flat_map(|a| (a..=8).map(move |b| a..b)).collect();
    for a in &spans {
        for b in &spans {
            for c in [0..0, 1..3, 4..5, 2..7] {
                let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, 0);
                let mut known = [false; 10];
                for span in [a.clone(), b.clone(), c] {
                    let address = 100 + span.start as u64;
                    wave.add_memory(Memory::Local, address, &content[span.clone()])
                        .unwrap();
                    known[span].fill(true);
                }
                for start in 0..8 {
                    for len in 1..=2 {
                        let expected = known[start..start + len]
                            .iter()
                            .all(|&known| known)
                            .then(|| content[start..start + len].to_vec());
                        let read = bytes(&wave, Memory::Local, 100 + start as u64, len);
                        assert_eq!(read, expected);
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_known_can_be_replaced() {
    let mut wave = sample();
    wave.write_register(sgpr(4), 8..24, &[0xaa, 0xbb]).unwrap();
    assert_eq!(
        register(&wave, sgpr(4), 0..32),
        Some(vec![0x78, 0xaa, 0xbb, 0x12])
    );
    wave.write_register(vgpr(0), 32..64, &[1, 2, 3, 4]).unwrap();
    assert_eq!(register(&wave, vgpr(0), 32..64), Some(vec![1, 2, 3, 4]));
    wave.write_register(Register::PC_64, 0..64, &8u64.to_le_bytes())
        .unwrap();
    assert_eq!(wave.pc().0, 8);
    let lost = wave.write_register(vgpr(0), 160..192, &[0; 4]);
    assert!(matches!(lost, Err(AccessError::Unavailable)));
    let lost = wave.write_register(sgpr(9), 0..32, &[0; 4]);
    assert!(matches!(lost, Err(AccessError::Unavailable)));

    wave.write_memory(Memory::Global, 0x7f00_0000_1001, &[0x22, 0x33])
        .unwrap();
    let read = bytes(&wave, Memory::Global, 0x7f00_0000_1000, 4);
    assert_eq!(read, Some(vec![1, 0x22, 0x33, 4]));
    let lost = wave.write_memory(Memory::Global, 0x7f00_0000_1003, &[1, 1]);
    assert!(matches!(lost, Err(AccessError::Unavailable)));
    assert_eq!(
        bytes(&wave, Memory::Global, 0x7f00_0000_1003, 1),
        Some(vec![4])
    );
    wave.write_memory(Memory::Local, 99, &[]).unwrap();
}

#[test]
fn registers_take_only_values_that_they_can_hold() {
    let mut wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0);
    let text = |result: Result<()>| result.unwrap_err().to_string();
    let error = text(wave.set_register(sgpr(0), 1 << 32));
    assert!(
        error.contains("a value of 32 bits, found 0x100000000"),
        "{error}"
    );
    let error = text(wave.set_register(vgpr(0), 1));
    assert!(
        error.contains("a list of 32 lanes, found one value"),
        "{error}"
    );
    let error = text(wave.set_lanes(sgpr(0), &[Some(1); 32]));
    assert!(error.contains("one value, found a list"), "{error}");
    let error = text(wave.set_lanes(vgpr(0), &[Some(1); 64]));
    assert!(error.contains("a list of 32 lanes, found 64"), "{error}");
    let error = text(wave.set_register(Register::EXEC_64, 1));
    assert!(
        error.contains("register of 32 lanes, found DWARF register 17"),
        "{error}"
    );
    let error = text(wave.set_register(Register(5), 1));
    assert!(error.contains("register 5 is reserved"), "{error}");
    let error = text(wave.set_focus_lane(Some(Lane(32))));
    assert!(error.contains("a lane below 32, found 32"), "{error}");
    assert_eq!(wave, Snapshot::new("gfx1100", WaveSize::Wave32, 0));
}

#[cfg(feature = "serde")]
mod json;

/// Objects of six bytes, for which a JSON reader allocates a hundred times as much.
#[cfg(feature = "serde")]
#[test]
fn a_text_that_would_need_much_is_refused() {
    let list = [r#"{"":0}"#].repeat(1 << 20).join(",");
    let text = format!(r#"{{"format": "hetdwarf-wave/1", "memory": [{list}]}}"#);
    let error = Snapshot::from_json(text.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("`memory`"), "{error}");
}
