//! Compares `vars --hidden`, the arguments that the compiler adds to a kernel, with the metadata as `llvm-readelf --notes` prints it.

#![allow(
    clippy::unwrap_used,
    reason = "a failure here is a failure of the test"
)]

use dwarf_tests::{fixture, hetdwarf};
use serde_json::{Value, json};

/// Runs `vars` on `hip-gfx90a-O0.hsaco`. Its kernel `k` starts at 0x1900. The hidden arguments start at 16 with `hidden_block_count_x` of
/// four bytes. `hidden_group_size_x` of two bytes is at 28, and `hidden_hostcall_buffer` of eight bytes at 96.
fn ask(memory: &Value, more: &[&str]) -> String {
    let name = format!("hetdwarf-hidden-{}-{}", std::process::id(), more.len());
    let path = std::env::temp_dir().join(name);
    let wave = json!({
        "format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "0x1900",
        "registers": {"exec": "0xffffffffffffffff"}, "memory": memory,
        "dispatch": {
            "workgroup_id": [0, 0, 0], "workgroup_size": [64, 1, 1], "grid_size": [256, 1, 1],
            "wave_in_group": 0, "kernarg_address": "0x7000",
        },
    });
    std::fs::write(&path, wave.to_string()).unwrap();
    let object = fixture("corpus/clang18/hip-gfx90a-O0.hsaco");
    let mut arguments = vec!["vars".into(), object.into_os_string()];
    arguments.extend(["--wave".into(), path.clone().into_os_string()]);
    arguments.extend(more.iter().map(Into::into));
    let ran = hetdwarf(arguments);
    std::fs::remove_file(path).unwrap();
    ran.out
}

/// Returns memory with the bytes 0, 1, 2, … from 0x7000 on.
fn memory() -> Value {
    let bytes: String = (0..=255).map(|byte: u8| format!("{byte:02x}")).collect();
    json!([{"space": "none", "address": "0x7000", "bytes": bytes}])
}

#[test]
fn hidden_arguments_are_those_of_the_metadata() {
    let document: Value =
        serde_json::from_str(&ask(&memory(), &["--hidden", "--format", "json"])).unwrap();
    let hidden = document["frames"][0]["hidden"].as_array().unwrap();
    assert_eq!(hidden.len(), 19);
    let find = |name: &str| hidden.iter().find(|one| one["name"] == name).unwrap();
    let count = find("hidden_block_count_x");
    assert_eq!(count["state"], "entry");
    assert_eq!(count["from"], "kernarg");
    assert_eq!(count["address"], "0x7010");
    // The bytes 16 to 19 form 0x13121110.
    assert_eq!(count["bytes"], "10111213");
    assert_eq!(count["value"], "319951120");
    // The bytes 28 and 29 form 0x1d1c.
    assert_eq!(find("hidden_group_size_x")["value"], "7452");
    let buffer = find("hidden_hostcall_buffer");
    assert_eq!(buffer["value"], "0x6766656463626160");
}

#[test]
fn hidden_arguments_that_cannot_be_read_are_unavailable() {
    let text = ask(&json!([]), &["--hidden"]);
    let line = "hidden_block_count_x = <unavailable> (the memory of the arguments is not \
                available)";
    assert!(text.contains(line), "{text}");
    assert!(!ask(&memory(), &[]).contains("hidden_"));
    let text = ask(&memory(), &["--hidden"]);
    assert!(
        text.contains("hidden_group_size_x = 7452 (at entry)"),
        "{text}"
    );
}
