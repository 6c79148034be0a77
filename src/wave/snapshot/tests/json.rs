use super::*;
use proptest::prelude::*;

/// A small file with all that the form has.
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
  "dispatch": {"workgroup_id": [1,0,0], "workgroup_size": [64,1,1], "grid_size": [256,1,1], "wave_in_group": 1} }"#;

fn read(text: &str) -> Result<Snapshot> {
    Snapshot::from_json(text.as_bytes())
}

/// What is wrong with a file.
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

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn errors_say_which_field_and_what_was_expected() {
    let vector = FILE
        .split("\"v0\": ")
        .nth(1)
        .unwrap()
        .split(" }")
        .next()
        .unwrap();
    for (from, to, message) in [
        (
            "hetdwarf-wave/1",
            "hetdwarf-wave/2",
            "format: expected \"hetdwarf-wave/1\", found \"hetdwarf-wave/2\"",
        ),
        ("\"gfx1100\"", "1100", "target: expected a text, found 1100"),
        (
            "\"wave_size\": 32",
            "\"wave_size\": 16",
            "wave_size: expected 32 or 64, found 16",
        ),
        (
            "\"wave_size\": 32",
            "\"wave_size\": \"big\"",
            "wave_size: expected 32 or 64, found \"big\"",
        ),
        (
            "\"wave_size\": 32",
            "\"wave_size\": 64",
            "registers.v0: expected a list of 64 lanes, found 32",
        ),
        (
            "\"pc\"",
            "\"PC\"",
            "PC: there is no such field; did you mean \"pc\"?",
        ),
        (
            "\"load_address\"",
            "\"load_adress\"",
            "load_adress: there is no such field; did you mean \"load_address\"?",
        ),
        (
            "\"load_address\": \"0x7f4000000000\"",
            "\"comment\": null",
            "comment: there is no such field, only format, target, wave_size, pc, load_address,",
        ),
        ("\"pc\": \"0x7f4000001a1c\",", "", "pc: is missing"),
        (
            "\"memory\"",
            "\"memories\"",
            "memories: there is no such field; did you mean \"memory\"?",
        ),
        (
            "\"bytes\": \"0102\"",
            "\"bytes\": \"0102\", \"size\": 2",
            "memory[0].size: there is no such field, only space, address, bytes",
        ),
        (
            "\"focus_lane\": 3",
            "\"focus_lane\": 32",
            "focus_lane: expected a lane below 32, found 32",
        ),
        (
            "\"focus_lane\": 3",
            "\"focus_lane\": 1000",
            "focus_lane: expected a lane below 32, found 1000",
        ),
        (
            "\"s4\"",
            "\"s999\"",
            "registers.s999: expected the name of a register",
        ),
        (
            "\"s4\"",
            "\"EXEC_LO\"",
            "registers.exec: the register is there twice, by two of its names",
        ),
        ("\"s4\"", "\"exec\"", "the field \"exec\" is there twice"),
        (
            "\"s4\"",
            "\"pc\"",
            "registers.pc: expected the document's \"pc\", 0x7f4000001a1c, found 305419896",
        ),
        (
            "\"s4\"",
            "\"2560\"",
            "registers.2560: expected a register of 32 lanes, found DWARF register 2560, which has 64",
        ),
        (
            "305419896",
            "4294967296",
            "registers.s4: expected an integer of at most 32 bits, found 4294967296",
        ),
        (
            "305419896",
            "[1]",
            "registers.s4: expected an integer of at most 32 bits, found a list of 1",
        ),
        (
            vector,
            "\"0x1\"",
            "registers.v0: expected a list of 32 lanes, found \"0x1\"",
        ),
        (
            vector,
            "[1, 2]",
            "registers.v0: expected a list of 32 lanes, found 2",
        ),
        (
            "null",
            "{}",
            "registers.v0[5]: expected an integer of at most 32 bits, found an object",
        ),
        (
            "\"257\"",
            "\"0x100000000\"",
            "registers.v0[1]: expected an integer of at most 32 bits, found \"0x100000000\"",
        ),
        (
            "\"private_wave\"",
            "\"private_lane\"",
            "memory[5].space: expected a memory, found \"private_lane\"",
        ),
        (
            "\"local\"",
            "\"generic\"",
            "memory[4].space: expected a memory, found \"generic\"",
        ),
        (
            "\"local\"",
            "\"lds\"",
            "memory[4].space: expected \"none\", \"region\", \"local\" or \"private_wave\", found \"lds\"",
        ),
        (
            "\"0708\"",
            "\"070\"",
            "memory[4].bytes: expected bytes of two hexadecimal digits each, found \"070\"",
        ),
        (
            "\"0708\"",
            "\"0g\"",
            "memory[4].bytes: expected bytes of two hexadecimal digits each, found \"0g\"",
        ),
        (
            "\"0708\"",
            "\"é0\"",
            "memory[4].bytes: expected bytes of two",
        ),
        (
            "\"0708\"",
            "[7, 8]",
            "memory[4].bytes: expected a text, found a list of 2",
        ),
        (
            "\"090A\"",
            "\"090a0b\"",
            "memory[5]: private_wave has 0x100000000 bytes, but 0x3 bytes at 0xfffffffe end at 0x100000001",
        ),
        (
            "0x7f0000001002",
            "0x7f0000001001",
            "memory: two regions have different bytes at 0x7f0000001001 of none",
        ),
        (
            "0x7f0000001002",
            "0xffffffffffffffff",
            "memory[1]: none has 0x10000000000000000 bytes, but 0x2 bytes at 0xffffffffffffffff end at",
        ),
        (
            "{\"space\": \"region\", \"address\": 8, ",
            "{\"space\": \"region\", ",
            "memory[3].address: is missing",
        ),
        (
            "\"private_base\"",
            "\"private\"",
            "apertures.private: there is no such field, only shared_base, private_base",
        ),
        (
            ", \"private_base\": \"0x2000000000000\"",
            "",
            "apertures.private_base: is missing",
        ),
        (
            "\"grid_size\"",
            "\"gridsize\"",
            "dispatch.gridsize: there is no such field; did you mean \"grid_size\"?",
        ),
        (
            "\"format\": \"hetdwarf-wave/1\"",
            "\"format\": \"hetdwarf-wave/2\", \"state\": 1",
            "format: expected",
        ),
        (
            "[64,1,1]",
            "[64,1]",
            "dispatch.workgroup_size: expected a list of 3, found a list of 2",
        ),
        (
            "[64,1,1]",
            "[64,1,-1]",
            "dispatch.workgroup_size[2]: expected an integer of at most 32 bits, found -1",
        ),
        ("{\"shared_base\"", "[{\"shared_base\"", "line 16"),
        (
            "\"target\"",
            "\"format\"",
            "the field \"format\" is there twice",
        ),
    ] {
        let file = FILE.replacen(from, to, 1);
        assert_ne!(file, FILE);
        let found = error(&file);
        assert!(
            found.contains(message),
            "{found}\n  but expected: {message}"
        );
    }
    for other in [
        "",
        "null",
        "[]",
        "1",
        "\"hetdwarf-wave/1\"",
        "{",
        "{}",
        "{} {}",
        "\u{feff}{}",
    ] {
        error(other);
    }
    assert!(Snapshot::from_json(b"{\"format\": \"\xff\"}").is_err());
    let long = error(&FILE.replace(
        "gfx1100\"",
        &format!("\", \"pc\": \"{}\", \"x\": \"", "é".repeat(1000)),
    ));
    assert!(long.len() < 300, "{long}");
}

/// `pc` is the program counter of a 64-bit process, which a document has anyway.
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

/// Any snapshot: all parts are optional, and regions do not contradict each other because the byte at an
/// address follows from the address.
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
