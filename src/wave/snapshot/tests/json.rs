mod refused;

use super::*;
use proptest::prelude::*;

/// A small file with every part of the format.
const FILE: &str = r#"{ "format": "hetdwarf-wave/1",
  "target": "gfx1100", "wave_size": 32,
  "pc": "0x7f4000001a1c",
  "load_address": "0x7f4000000000",
  "focus_lane": 3,
  "registers": { "exec": "0xffff", "s4": 305419896,
    "v0": ["0x100", "257", 258, 259, 260, null, 262, 263, 264, 265, 266, 267, 268, 269, 270, 271, 272,
           273, 274, 275, 276, 277, 278, 279, 280, 281, 282, 283, 284, 285, 286, "0x11f"] },
  "memory": [ {"space": "none", "address": "0x7f0000001000", "bytes": "0102"},
              {"space": "none", "address": "0x7f0000001002", "bytes": "0304"},
              {"space": "none", "address": "0x7f0000002000", "bytes": "05"},
              {"space": "region", "address": 8, "bytes": "06"},
              {"space": "local", "address": "0", "bytes": "0708"},
              {"space": "private_wave", "address": "0xfffffffe", "bytes": "090A"} ],
  "apertures": {"shared_base": "0x1000000000000", "private_base": "0x2000000000000"},
  "dispatch": {"workgroup_id": [1,0,0], "workgroup_size": [64,1,1], "grid_size": [256,1,1], "wave_in_group": 1,
               "kernarg_address": "0x7f1000000000"},
  "stop": ["assert_trap", "memory_violation"],
  "fault_address": "0x7f0000003000" }"#;

fn read(text: &str) -> Result<Snapshot> {
    Snapshot::from_json(text.as_bytes())
}

/// Returns the error for a file.
fn error(text: &str) -> String {
    let error = read(text).expect_err(text);
    assert_eq!(error.kind().name(), "malformed");
    error.to_string()
}

#[test]
fn a_file_reads() {
    assert_eq!(read(FILE), Ok(sample()));
}

#[test]
fn what_is_written_reads_back() {
    assert_eq!(read(&sample().to_json()), Ok(sample()));
    let bare = Snapshot::new("gfx90a:\"xnack+\"\n", WaveSize::Wave64, u64::MAX);
    assert_eq!(read(&bare.to_json()), Ok(bare.clone()));
    assert_eq!(
        bare.to_json(),
        r#"{"format": "hetdwarf-wave/1",
 "target": "gfx90a:\"xnack+\"\n",
 "wave_size": 64,
 "pc": "0xffffffffffffffff",
 "load_address": "0x0",
 "registers": {},
 "memory": []}
"#
    );
}

#[test]
fn optional_fields_may_be_missing_or_null() {
    let bare = r#"{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": 0, "focus_lane": null,
        "registers": {}, "memory": []}"#;
    assert_eq!(read(bare), Ok(Snapshot::new("gfx90a", WaveSize::Wave64, 0)));
}

#[test]
fn an_integer_is_a_number_or_text() {
    for (text, value) in [
        ("0", 0),
        ("18446744073709551615", u64::MAX),
        ("\"18446744073709551615\"", u64::MAX),
        ("\"0xffffffffffffffff\"", u64::MAX),
        ("\"0xFF\"", 255),
        ("\"007\"", 7),
        ("9007199254740993", 9_007_199_254_740_993),
    ] {
        let file = FILE.replace("\"0x7f4000001a1c\"", text);
        assert_eq!(read(&file).map(|wave| wave.pc().0), Ok(value), "{text}");
    }
    for text in [
        "-1",
        "1.0",
        "1e3",
        "18446744073709551616",
        "true",
        "null",
        "[]",
        "{}",
        "\"\"",
        "\"0x\"",
        "\"-1\"",
        "\"+1\"",
        "\"0x+1\"",
        "\"1_0\"",
        "\" 1\"",
        "\"0X1\"",
        "\"ff\"",
        "\"1.0\"",
        "\"0x10000000000000000\"",
        "\"18446744073709551616\"",
        "\"٣\"",
    ] {
        let found = error(&FILE.replace("\"0x7f4000001a1c\"", text));
        assert!(found.contains("pc: "), "{found}");
    }
}

/// `pc` is the program counter of a 64-bit process, which every document has.
#[test]
fn the_program_counter_of_a_32_bit_process_keeps_its_name() {
    let text = r#"{"format": "hetdwarf-wave/1", "target": "gfx1100", "wave_size": 32, "pc": "0x2008",
        "registers": {"PC_32": "0x12"}, "memory": []}"#;
    let snapshot = read(text).unwrap();
    let mut pc = [0; 4];
    snapshot
        .read_register(Register::PC_32, 0..32, &mut pc)
        .unwrap();
    assert_eq!((snapshot.pc().0, pc), (0x2008, [0x12, 0, 0, 0]));
    assert_eq!(read(&snapshot.to_json()).unwrap(), snapshot);
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    for end in 0..FILE.len() {
        assert!(
            Snapshot::from_json(&FILE.as_bytes()[..end]).is_err(),
            "{end}"
        );
    }
}

#[test]
fn nesting_without_end_is_an_error() {
    for open in ["[", "{\"a\":"] {
        let text = format!("{{\"format\": {}", open.repeat(100_000));
        assert!(error(&text).contains("recursion limit"));
    }
}

/// Returns any snapshot: all parts are optional. Regions are consistent, because the byte at an address is computed from the address.
fn snapshots() -> impl Strategy<Value = Snapshot> {
    let memories = [
        Memory::Global,
        Memory::Region,
        Memory::Local,
        Memory::PrivateWave,
    ];
    let region = (0..memories.len(), 0u64..300, 0u64..40);
    let regions = proptest::collection::vec(region, 0..20);
    let vectors = proptest::collection::vec(
        (
            0u16..20,
            proptest::collection::vec(proptest::option::of(any::<u32>()), 64),
        ),
        0..4,
    );
    let scalars = proptest::collection::vec((0u16..106, any::<u32>()), 0..20);
    let own = (
        any::<bool>(),
        any::<u64>(),
        any::<u64>(),
        proptest::option::of(0u8..32),
        ".*",
    );
    let rest = (
        proptest::option::of(any::<[u64; 2]>()),
        proptest::option::of(any::<[u32; 10]>()),
    );
    (own, scalars, vectors, regions, rest).prop_map(
        move |(own, scalars, vectors, regions, rest)| {
            let (wide, pc, load_address, focus, target) = own;
            let size = if wide {
                WaveSize::Wave64
            } else {
                WaveSize::Wave32
            };
            let mut wave = Snapshot::new(target, size, pc);
            wave.load_address = LoadAddress(load_address);
            wave.set_focus_lane(focus.map(Lane)).unwrap();
            for (n, value) in scalars {
                wave.set_register(sgpr(n), value.into()).unwrap();
            }
            for (n, lanes) in vectors {
                let lanes = &lanes[..size.lanes() as usize];
                wave.set_lanes(Register::vgpr(n, size).unwrap(), lanes)
                    .unwrap();
            }
            for (memory, address, len) in regions {
                let content: Vec<u8> = (address..address + len).map(|a| (a % 251) as u8).collect();
                wave.add_memory(memories[memory], address, &content)
                    .unwrap();
            }
            wave.apertures = rest.0.map(|[shared_base, private_base]| Apertures {
                shared_base,
                private_base,
            });
            wave.dispatch = rest
                .1
                .map(|[a, b, c, d, e, f, g, h, i, wave_in_group]| Dispatch {
                    workgroup_id: [a, b, c],
                    workgroup_size: [d, e, f],
                    grid_size: [g, h, i],
                    wave_in_group,
                    kernarg_address: (a & 1 == 1).then(|| u64::from(b) << 8),
                });
            wave
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_snapshot_reads_back(wave in snapshots()) {
        let text = wave.to_json();
        prop_assert_eq!(&read(&text), &Ok(wave));
    }

    #[test]
    fn a_file_with_one_byte_changed_does_no_harm(at in 0..FILE.len(), byte in any::<u8>()) {
        let mut text = FILE.as_bytes().to_vec();
        text[at] = byte;
        let _ = Snapshot::from_json(&text);
    }
}
