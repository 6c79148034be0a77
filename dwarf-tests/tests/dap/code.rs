//! Tests instructions and memory.

use dwarf_tests::browser::base64;
use dwarf_tests::disassembly::disassemble;
use dwarf_tests::{fixture, json, llvm_tool, number, wave_cases};
use hetdwarf::arch::WaveSize;
use serde_json::{Value, json};

use crate::client::{Client, demo, demo_core, text};

/// The expected text is llvm-objdump-22's at 0x1630 of the demo's object. The expected memory comes from the core.
#[test]
fn instructions_and_memory_are_read() {
    let core = demo_core();
    let mut client = Client::open(json!({ "coreFile": core }));
    let frames = client.frames(&json!(3));
    let pc = frames[0]["instructionPointerReference"].clone();
    let listed = client.body(
        "disassemble",
        json!({ "memoryReference": pc, "instructionOffset": -2, "instructionCount": 5 }),
    );
    let listed = listed["instructions"].as_array().unwrap();
    assert_eq!(listed.len(), 5);
    assert_eq!(listed[2]["address"], pc);
    let addresses: Vec<u64> = listed
        .iter()
        .map(|one| number(&one["address"]) as u64)
        .collect();
    assert!(addresses.is_sorted());
    for one in listed {
        let bytes = one["instructionBytes"].as_str().unwrap().split(' ').count();
        assert!(matches!(bytes, 4 | 8 | 12), "{one}");
    }
    // The first dwords of the code are read through the memory of the process, and equal the object's.
    let memory = client.body("readMemory", json!({ "memoryReference": pc, "count": 4 }));
    let missing = client.body(
        "readMemory",
        json!({ "memoryReference": "0x10", "count": 4 }),
    );
    assert_eq!(missing["unreadableBytes"], 4);
    assert!(memory["address"] == pc);
    for wrong in ["", "10", "nosuch:0x10", "local:1:2:0x10", "0xzz"] {
        let answer = client.ask(
            "readMemory",
            json!({ "memoryReference": wrong, "count": 4 }),
        );
        assert_eq!(answer["success"], false, "{wrong}");
    }
}

/// The load address of the demo's code object.
const LOAD: u64 = 0x7f40_0000_0000;

/// The instructions around any address equal llvm-objdump's, across function ends and padding, up to the start of the section.
#[test]
fn instructions_before_an_address_are_those_of_llvm() {
    let Some(objdump) = llvm_tool("llvm-objdump") else {
        return;
    };
    let object = demo().join("calls-O2.rocm.hsaco");
    let lines = disassemble(&objdump, &object, WaveSize::Wave32);
    let known: Vec<u64> = lines.iter().map(|line| LOAD + line.address).collect();
    assert_eq!(known[0], LOAD + 0x1600);
    let source = text(&demo());
    let mut client = Client::open(json!({ "coreFile": demo_core(), "sourceDir": [source] }));
    for (at, before) in [(0x1680, 16), (0x1680, 3), (0x1900, 90), (0x1630, 4)] {
        let place = known.iter().position(|one| *one == LOAD + at).unwrap();
        let listed = client.body(
            "disassemble",
            json!({ "memoryReference": format!("{:#x}", LOAD + at), "instructionOffset": -before, "instructionCount": before + 2 }),
        );
        let listed = listed["instructions"].as_array().unwrap();
        let addresses: Vec<u64> = listed
            .iter()
            .map(|one| number(&one["address"]) as u64)
            .collect();
        let first = place - usize::try_from(before).unwrap();
        assert_eq!(addresses, known[first..place + 2], "{at:#x} {before}");
        // Only the first instruction names the file of the lines.
        let path = listed[0]["location"]["path"].as_str().unwrap_or_default();
        let is_of_code = listed[0]["line"].is_u64();
        assert_eq!(path.ends_with("demo/calls-O2.cl"), is_of_code, "{listed:?}");
        let named = listed.iter().filter(|one| one["location"].is_object());
        assert_eq!(
            named.count(),
            1,
            "the file is that of the instruction before"
        );
    }
    // Before the section there is no code. Editors still get the requested number of instructions, at distinct addresses.
    let listed = client.body(
        "disassemble",
        json!({ "memoryReference": "0x7f4000001600", "instructionOffset": -3, "instructionCount": 4 }),
    );
    let listed = listed["instructions"].as_array().unwrap();
    let addresses: Vec<&str> = listed
        .iter()
        .map(|one| one["address"].as_str().unwrap())
        .collect();
    let expected = [
        "0x7f40000015f4",
        "0x7f40000015f8",
        "0x7f40000015fc",
        "0x7f4000001600",
    ];
    assert_eq!(addresses, expected);
    assert_eq!(listed[0]["presentationHint"], "invalid");
    assert_eq!(
        (&listed[3]["symbol"], &listed[3]["line"]),
        (&json!("leaf"), &json!(8))
    );
    // These values are far beyond the requests of editors.
    for (offset, count) in [(i64::MAX, 1), (i64::MIN, 1), (0, i64::MAX), (0, -1)] {
        let answer = client.ask(
            "disassemble",
            json!({ "memoryReference": "0x7f4000001600", "instructionOffset": offset, "instructionCount": count }),
        );
        assert_eq!(answer["success"], false, "{offset} {count}");
    }
    let answer = client.ask(
        "disassemble",
        json!({ "memoryReference": "local:0x1600", "instructionCount": 1 }),
    );
    assert_eq!(answer["success"], false);
}

/// Memory of every space equals the snapshot. Dword `n` of a lane's scratch is dword `32 * n + lane` of the wave's, and the generic space
/// shows both in its apertures (AMDGPU user guide, "Address Spaces").
#[test]
fn memory_of_every_space_is_read() {
    let case = fixture("waves/calls-O2");
    let path = case.join("w06.json");
    let snapshot = json(&path);
    let region = |space: &str| {
        let mut regions = snapshot["memory"].as_array().unwrap().iter();
        let of_space = |one: &&Value| one["space"] == space;
        let bytes = regions.rfind(of_space).unwrap()["bytes"].as_str();
        hetdwarf::report::parse_hex_bytes(bytes.unwrap()).unwrap()
    };
    let scratch = region("private_wave");
    let of_lane_3 = [12, 12 + 128]
        .map(|at| scratch[at..at + 4].to_vec())
        .concat();
    let object = text(&case.join("calls-O2.rocm.hsaco"));
    let mut client = Client::open(json!({ "waveFile": text(&path), "object": object }));
    let mut read = |reference: &str, offset: i64, count: usize| {
        let arguments = json!({ "memoryReference": reference, "offset": offset, "count": count });
        let body = client.body("readMemory", arguments);
        let bytes = base64(body["data"].as_str().unwrap_or_default());
        let missing = body["unreadableBytes"].as_u64().unwrap_or(0);
        assert_eq!(bytes.len() as u64 + missing, count as u64);
        bytes
    };
    assert_eq!(read("private_wave:0x0", 0, 64), scratch[..64]);
    assert_eq!(read("private_wave:0x0", 4, 4), scratch[4..8]);
    assert_eq!(read("private_lane:3:0x0", 0, 8), of_lane_3);
    assert_eq!(read("private_lane:3:0x4", -4, 8), of_lane_3);
    assert_eq!(read("generic:3:0x2000000000000", 0, 8), of_lane_3);
    assert_eq!(read("0x7f1000000000", 0, 88), region("none"));
    assert_eq!(read("none:0x7f1000000000", 80, 100), region("none")[80..]);
    assert_eq!(read("0x10", 0, 100), [0; 0]);
    assert_eq!(read("region:0x0", 0, 4), [0; 0]);
    // The lane must be given.
    for wrong in [
        "private_lane:0x0",
        "private_lane:32:0x0",
        "private_lane:256:0x0",
    ] {
        let answer = client.ask(
            "readMemory",
            json!({ "memoryReference": wrong, "count": 4 }),
        );
        assert_eq!(answer["success"], false, "{wrong}");
    }
    client.body("hetdwarf/setLane", json!({ "threadId": 1, "lane": 3 }));
    let body = client.body(
        "readMemory",
        json!({ "memoryReference": "private_lane:0x0", "count": 8 }),
    );
    assert_eq!(base64(body["data"].as_str().unwrap()), of_lane_3);
}

/// LDS is read, in a case that uses it.
#[test]
fn local_memory_is_read() {
    let cases = wave_cases();
    let case = cases.iter().find(|case| case.ends_with("lds")).unwrap();
    let truth = json(&case.join("truth.json"));
    let wave = case.join(truth["snapshots"][0]["wave"].as_str().unwrap());
    let snapshot = json(&wave);
    let regions = snapshot["memory"].as_array().unwrap();
    let local = regions.iter().find(|one| one["space"] == "local").unwrap();
    let bytes = hetdwarf::report::parse_hex_bytes(local["bytes"].as_str().unwrap()).unwrap();
    let object = text(&case.join(truth["object"].as_str().unwrap()));
    let mut client = Client::open(json!({ "waveFile": text(&wave), "object": object }));
    let reference = format!("local:{}", local["address"].as_str().unwrap());
    let body = client.body(
        "readMemory",
        json!({ "memoryReference": reference, "count": bytes.len() }),
    );
    assert_eq!(base64(body["data"].as_str().unwrap()), bytes);
}
