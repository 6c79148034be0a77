//! Tests the words of verdicts: the buffer that they name, and what they keep of a report.
//!
//! The cores come from `fixtures/triage` and `fixtures/cores`, with known sources and truth.

use core::fmt::Write as _;

use dwarf_tests::cores::{Folder, unpacked};
use dwarf_tests::{hetdwarf, json, number};
use serde_json::Value;

fn document(arguments: &[&str]) -> Value {
    let ran = hetdwarf([&["core"], arguments, &["--format", "json"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err))
}

fn text(document: &Value) -> &str {
    document["verdict"]["text"].as_str().unwrap()
}

/// The load is `*(float *)(x + j)`, by `global_load_dword v3, v2, s[2:3]`. According to the truth, `x` is 0x7f0005e00000, whose memory has 0x1000
/// bytes, and the address is 0x7f000d070e00. That is 120000000 bytes after the start of `x`, and so 119995904 bytes after the end. The memory of
/// `y` is nearer, and the load has nothing to do with it.
#[test]
fn the_buffer_is_that_of_the_base_address() {
    let (_folder, core) = unpacked("fault/saddr-1030");
    let found = document(&[&core]);
    let expected = "0x7f000d070e00 is 119995904 bytes past the end of the memory that argument x points into, as element 120000000 of at most 4096";
    assert!(text(&found).contains(expected), "{}", text(&found));
    assert!(!text(&found).contains("argument y"), "{}", text(&found));
    // The field for the nearest memory does not depend on the access.
    let nearest = &found["waves"][1]["fault"]["nearest"];
    assert_eq!(nearest["name"], "y");
    assert_eq!(nearest["distance"], 111_607_297);
    assert_eq!(nearest["element"]["index"], 27_902_848);
}

/// The atomic operation is on `slots`, whose address is overwritten. The reported page is 23797761 bytes after the last byte of `out`, which has
/// 0x1000 bytes. 22 MiB are 23068672 bytes.
#[test]
fn no_buffer_is_counted_in_that_is_far_away() {
    let (_folder, core) = unpacked("fault/atomic-90a");
    let page = ["--fault-address", "0x7f00092b3000"];
    let found = document(&[&core, page[0], page[1]]);
    let expected = "may have faulted: 0x7f00092b3000 is near no memory of the process (the nearest is that of argument out, 22 MiB below)";
    assert!(text(&found).contains(expected), "{}", text(&found));
    assert!(!text(&found).contains("element"), "{}", text(&found));
    let nearest = &found["waves"][0]["fault"]["nearest"];
    assert_eq!(nearest["name"], "out");
    assert_eq!(nearest["distance"], 23_797_761);
    let page = ["--fault-address", "0x7f3abfaa5000"];
    let found = document(&[&core, page[0], page[1]]);
    let expected = "near no memory of the process (the nearest is ";
    assert!(text(&found).contains(expected), "{}", text(&found));
    assert!(text(&found).contains(" GiB above)"), "{}", text(&found));
}

/// No lane touched this page, and the store is proven without it. The sentence keeps the store, its lanes and its address.
#[test]
fn a_wrong_fault_address_does_not_hide_the_access() {
    let (_folder, core) = unpacked("fault/call-942");
    let found = document(&[&core, "--fault-address", "0x7f3a7962b000"]);
    let expected = "wave 2 (workgroup (1,0,0), wave 0) of kernel k: store (global_store_dword) in save at call-942.cl:6 probably faulted in lanes 0, 11, 22, \
                    33, 44, 55: 0x7f0005bffd30 is 720 bytes before the start of the memory that argument out points into, as element -180 of at most 1024 \
                    (at = -180); no access before the stop is known to reach the reported address 0x7f3a7962b000";
    assert_eq!(text(&found), expected);
    // Two facts contradict each other, so neither is certain.
    let fault = &found["waves"][1]["fault"];
    assert_eq!(fault["candidates"][0]["certain"], false);
    assert_eq!(fault["address"], "0x7f3a7962b000");
}

/// The pointer in `ptrs` leads to memory that was allocated with `malloc`. A merged core does not tell which memory is the host's.
#[test]
fn memory_of_the_host_is_named() {
    let (_folder, core) = unpacked("fault/host-1100");
    let range = "(0x55d0c0de0000-0x55d0c0de2000)";
    let expected = format!(
        "in memory of the process that no kernel argument points into {range}; if this is host memory, the GPU may have no mapping of it: was it \
         allocated with hipMalloc?"
    );
    let found = document(&[&core, "--fault-address", "0x55d0c0de0000"]);
    let sentence = format!("may have faulted: 0x55d0c0de0000 is {expected}");
    assert!(text(&found).ends_with(&sentence), "{}", text(&found));
    let ran = hetdwarf(["core", &core, "--where", "0x55d0c0de0404"]);
    assert_eq!(ran.out, format!("0x55d0c0de0404: {expected}\n"));
    // The list of mapped files tells: the kernel's buffers are mapped from the device file.
    let listed = [(
        0x7f00_0720_0000_u64,
        0x7f00_0740_1000_u64,
        "/dev/dri/renderD128",
    )];
    let bytes = with_mapped_files(std::fs::read(&core).unwrap(), &listed);
    std::fs::write(&core, bytes).unwrap();
    let ran = hetdwarf(["core", &core, "--where", "0x55d0c0de0404"]);
    let sure = format!(
        "0x55d0c0de0404: in host memory of the process {range}, which the GPU may have no mapping of: was it allocated with hipMalloc?\n"
    );
    assert_eq!(ran.out, sure);
    // The halves tell: the file of the GPU has the memory of the GPU. The runtime's list of code objects is in host memory.
    let folder = Folder::of("gfx1100");
    let [gpu, host] =
        ["gpucore.4242", "core.4242"].map(|name| folder.path(name).display().to_string());
    let ran = hetdwarf(["core", &gpu, &host, "--where", "0x7fb0000042e0"]);
    let start = "0x7fb0000042e0: in host memory of the process (0x7fb000004000-0x7fb000005000), which the GPU may have no mapping of: was it \
                 allocated with hipMalloc?\n";
    assert_eq!(ran.out, start);
}

/// Adds a list of mapped files (`NT_FILE`, core(5)) to the notes of a core. The first program header describes the notes.
fn with_mapped_files(mut core: Vec<u8>, files: &[(u64, u64, &str)]) -> Vec<u8> {
    let header = 64;
    let number = |core: &[u8], at: usize| u64::from_le_bytes(core[at..at + 8].try_into().unwrap());
    let (offset, size) = (number(&core, header + 8), number(&core, header + 32));
    let notes = core[offset as usize..(offset + size) as usize].to_vec();
    let mut list: Vec<u8> = Vec::new();
    let entries = files.iter().flat_map(|(start, end, _)| [*start, *end, 0]);
    for number in [files.len() as u64, 4096].into_iter().chain(entries) {
        list.extend(number.to_le_bytes());
    }
    for (_, _, path) in files {
        list.extend(path.as_bytes());
        list.push(0);
    }
    while !core.len().is_multiple_of(8) {
        core.push(0);
    }
    let start = core.len() as u64;
    core.extend(&notes);
    for number in [5, list.len() as u32, 0x4649_4c45] {
        core.extend(number.to_le_bytes());
    }
    core.extend(b"CORE\0\0\0\0");
    core.extend(&list);
    let size = core.len() as u64 - start;
    for (at, value) in [(8, start), (32, size), (40, size)] {
        core[header + at..header + at + 8].copy_from_slice(&value.to_le_bytes());
    }
    core
}

/// According to the source, the waves of workgroup g wait for the wave with `w == (2 + g) & 3`, which loops until `flag[w]` is not 0. The emulator
/// started with zeros.
#[test]
fn a_hang_names_the_value_and_the_waves_of_other_workgroups() {
    let (_folder, core) = unpacked("hang/spin-1100");
    let found = document(&[&core]);
    let expected = "wave 2 (--wave 3) loops at spin-1100.cl:9-10 and loads 0x7f0000400008, which is 0, in each pass, in the memory that argument flag points \
                    into, as element 2 of at most 1024 (1 other workgroup likewise: (1,0,0) waits for wave 3 (--wave 8))";
    assert!(text(&found).ends_with(expected), "{}", text(&found));
}

/// Prints a wave in the format of the debug agent.
///
/// * `lanes`: the number of lanes that are printed.
fn printed(wave: &Value, uri: &str, lanes: usize) -> String {
    let (pc, load) = (number(&wave["pc"]), number(&wave["load_address"]));
    let mut text =
        format!("wave_1: pc={pc:#x} (stopped, reason: MEMORY_VIOLATION)\n\nsystem registers:\n");
    let registers = wave["registers"].as_object().unwrap();
    for (name, value) in registers.iter().filter(|(_, value)| value.is_string()) {
        writeln!(text, "  {name}: {:08x}", number(value)).unwrap();
    }
    text.push_str("\nvector registers:\n");
    for (name, values) in registers {
        let Some(values) = values
            .as_array()
            .filter(|values| !values.contains(&Value::Null))
        else {
            continue;
        };
        write!(text, "  {name}:").unwrap();
        for (lane, value) in values.iter().cycle().take(lanes).enumerate() {
            write!(text, " [{lane}] {:08x}", number(value)).unwrap();
        }
        text.push('\n');
    }
    let end = load + 0x4000;
    writeln!(
        text,
        "\nDisassembly for function k:\n    code object: {uri}\n    loaded at: [{load:#x}-{end:#x}]\n => {pc:#x} <+48>:    s_nop\nEnd of disassembly."
    )
    .unwrap();
    text
}

/// The runtime's report stays in the verdict if no other address is proven. The reasons have the words of the runtime's `VMFaultHandler`.
#[test]
fn a_log_keeps_the_reported_address() {
    let (folder, core) = unpacked("fault/host-1100");
    let out = folder.path("out").display().to_string();
    assert_eq!(hetdwarf(["core", &core, "--export", &out]).status, 0);
    let object = folder.path("out/object-0.hsaco").display().to_string();
    let wave = json(&folder.path("out/wave-2.json"));
    let log = folder.path("log").display().to_string();
    for (reason, expected) in [
        (
            "Write access to a read-only page.",
            ", a write to a read-only page",
        ),
        (
            "Page not present or supervisor privilege.",
            ", a page that is not present or only for the supervisor",
        ),
        ("Host access only.", ", reason \"Host access only\""),
        ("Unknown.", ""),
    ] {
        let report = format!(
            "Memory access fault by GPU node-4 (Agent handle: 0x55a0) on address 0x7ffb61f02000. Reason: {reason}\n"
        );
        let waves = printed(&wave, "file:///a#offset=0&size=1", 32);
        std::fs::write(&log, format!("{report}{waves}")).unwrap();
        let end = format!("; the runtime reported 0x7ffb61f02000{expected}");
        let with = document(&[&log, "--object", &object]);
        let store = "store (global_store_b32) in k at host-1100.cl:8 may have faulted";
        assert!(text(&with).contains(store), "{}", text(&with));
        assert!(text(&with).ends_with(&end), "{}", text(&with));
        let without = document(&[&log]);
        assert!(text(&without).ends_with(&end), "{}", text(&without));
    }
}

/// A file given with `--object` that is not the code object of a wave is named with the reason, by `core` and by `import`.
#[test]
fn an_object_that_does_not_fit_a_log_is_named() {
    let (folder, core) = unpacked("fault/host-1100");
    let out = folder.path("out").display().to_string();
    assert_eq!(hetdwarf(["core", &core, "--export", &out]).status, 0);
    let path = folder.path("out/object-0.hsaco");
    let size = std::fs::metadata(&path).unwrap().len();
    let object = path.display().to_string();
    let wave = json(&folder.path("out/wave-2.json"));
    let (pc, load) = (number(&wave["pc"]), number(&wave["load_address"]));
    let mut elsewhere = wave.clone();
    elsewhere["pc"] = format!("{:#x}", load + 0x8000).into();
    let sized = "file:///a#offset=0&size=7704";
    let unnamed = "file:///a";
    let at = format!("{object}@0x1000");
    for (text, given, expected) in [
        (
            printed(&elsewhere, sized, 32),
            &object,
            format!("it has {size} bytes, the log's has 7704"),
        ),
        (
            printed(&wave, sized, 64),
            &object,
            "the wave has 64 lanes, but the code is for waves of 32".to_owned(),
        ),
        (
            printed(&wave, unnamed, 32),
            &at,
            format!("loaded at 0x1000, it does not contain the pc of a wave, such as {pc:#x}"),
        ),
    ] {
        let log = folder.path("log").display().to_string();
        std::fs::write(&log, text).unwrap();
        let place = format!("--object {given}");
        let message = format!("not used: {expected}");
        let found = document(&[&log, "--object", given]);
        let problem = &found["problems"][0];
        assert_eq!(
            (&problem["where"], &problem["message"]),
            (&place.clone().into(), &message.clone().into())
        );
        let snapshots = folder.path("snapshots").display().to_string();
        let ran = hetdwarf([
            "import", &log, "-o", &snapshots, "--force", "--object", given, "--target", "gfx1100",
        ]);
        assert_eq!(ran.status, 1, "{}", ran.err);
        assert!(
            ran.err.contains(&format!("{place}: {message}")),
            "{}",
            ran.err
        );
    }
    // With the right file, there is no message.
    let log = folder.path("log").display().to_string();
    std::fs::write(&log, printed(&wave, sized, 32)).unwrap();
    let found = document(&[&log, "--object", &object]);
    assert_eq!(found["problems"], serde_json::json!([]));
}
