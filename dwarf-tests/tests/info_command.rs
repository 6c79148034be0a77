//! Compares `hetdwarf info` on kernels, as text and JSON, with LLVM's tools, and tests the choice of objects by the triples of LLVM 24.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use dwarf_tests::{fixture, hetdwarf, llvm_tool, wave_cases};
use serde_json::{Value, json};

fn info(arguments: &[&str]) -> Value {
    let arguments = ["info", "--format", "json"]
        .into_iter()
        .chain(arguments.iter().copied());
    let ran = hetdwarf(arguments);
    assert_eq!(ran.status, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

fn path(name: &str) -> String {
    fixture(name).to_str().unwrap().to_owned()
}

/// Returns the arguments of each kernel as `llvm-readelf -n` prints them: a list of keys and values.
fn arguments_by_readelf(readelf: &Path, object: &Path) -> Vec<Vec<BTreeMap<String, String>>> {
    let ran = Command::new(readelf).arg("-n").arg(object).output();
    let text = String::from_utf8(ran.unwrap().stdout).unwrap();
    let mut kernels = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        let entry = line.trim_start();
        if entry.trim_start_matches("- ") == ".args:" {
            kernels.push(Vec::new());
            inside = true;
        } else if inside && depth >= 6 {
            let arguments: &mut Vec<BTreeMap<_, _>> = kernels.last_mut().unwrap();
            let entry = entry.strip_prefix("- ").map_or(entry, |first| {
                arguments.push(BTreeMap::new());
                first
            });
            let (key, value) = entry.split_once(':').unwrap();
            let value = value.trim().trim_matches('\'').to_owned();
            arguments.last_mut().unwrap().insert(key.to_owned(), value);
        } else {
            inside = false;
        }
    }
    kernels
}

#[test]
fn arguments_are_those_of_the_metadata() {
    let Some(readelf) = llvm_tool("llvm-readelf") else {
        return;
    };
    let mut compared = 0;
    for case in wave_cases() {
        let mut objects: Vec<_> = std::fs::read_dir(&case)
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|one| one == "hsaco"))
            .collect();
        objects.sort();
        for object in objects {
            let document = info(&[object.to_str().unwrap()]);
            let kernels = document["object"]["kernels"].as_array().unwrap();
            let expected = arguments_by_readelf(&readelf, &object);
            assert_eq!(kernels.len(), expected.len(), "{}", object.display());
            for (kernel, expected) in kernels.iter().zip(expected) {
                let found = kernel["args"].as_array().unwrap();
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    let text = |key: &str| expected.get(key).map_or(Value::Null, |v| json!(v));
                    let number = |key: &str| json!(expected[key].parse::<u64>().unwrap());
                    assert_eq!(found["offset"], number(".offset"));
                    assert_eq!(found["size"], number(".size"));
                    assert_eq!(found["value_kind"], text(".value_kind"));
                    assert_eq!(found["type"], text(".type_name"));
                    let space = found.get("address_space").unwrap_or(&Value::Null);
                    assert_eq!(*space, text(".address_space"));
                    let is_hidden = expected[".value_kind"].starts_with("hidden_");
                    assert_eq!(found["hidden"], is_hidden);
                    let name = if is_hidden { ".value_kind" } else { ".name" };
                    assert_eq!(found["name"], text(name));
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

/// The descriptor and metadata come from `llvm-objdump --disassemble-symbols=calls.kd` and `llvm-readelf -n`. The initial registers follow
/// the order of USAGE: the 14 user registers are 4 for the scratch buffer, and 2 each for five more items.
#[test]
fn a_kernel_is_described_as_json() {
    let object = path("corpus/llvm24/calls-gfx90a-O0.hsaco");
    let document = info(&[&object, "--descriptor"]);
    let kernel = &document["object"]["kernels"][0];
    let entry = [
        json!({"registers": "s[0:3]", "holds": "private-segment-buffer"}),
        json!({"registers": "s[4:5]", "holds": "dispatch-pointer"}),
        json!({"registers": "s[6:7]", "holds": "queue-pointer"}),
        json!({"registers": "s[8:9]", "holds": "kernarg-segment-pointer"}),
        json!({"registers": "s[10:11]", "holds": "dispatch-id"}),
        json!({"registers": "s[12:13]", "holds": "flat-scratch-init"}),
        json!({"registers": "s14", "holds": "work-group-id-x"}),
        json!({"registers": "s15", "holds": "work-group-id-y"}),
        json!({"registers": "s16", "holds": "work-group-id-z"}),
        json!({"registers": "s17", "holds": "scratch-wavefront-offset"}),
        json!({"registers": "v0", "bits": [0, 10], "holds": "work-item-id-x"}),
        json!({"registers": "v0", "bits": [10, 20], "holds": "work-item-id-y"}),
        json!({"registers": "v0", "bits": [20, 30], "holds": "work-item-id-z"}),
    ];
    assert_eq!(kernel["entry"], json!(entry));
    assert_eq!(kernel["max_workgroup_size"], 256);
    assert_eq!(kernel["reqd_workgroup_size"], Value::Null);
    let descriptor = kernel["descriptor"].as_object().unwrap();
    assert_eq!(descriptor["USER_SGPR_COUNT"], 14);
    assert_eq!(descriptor["ENABLE_VGPR_WORKITEM_ID"], 2);
    assert_eq!(descriptor["FLOAT_DENORM_MODE_16_64"], 3);
    // JSON numbers cannot represent all 64-bit values.
    assert!(descriptor["KERNEL_CODE_ENTRY_BYTE_OFFSET"].is_string());
    let document = info(&[&object]);
    let kernel = &document["object"]["kernels"][0];
    assert_eq!(kernel.get("descriptor"), None);
    let text = hetdwarf(["info", &object, "--descriptor"]).out;
    assert!(text.contains("  descriptor at 0x"), "{text}");
    let mut lines = text.lines().map(|line| line.split_whitespace().take(2));
    assert!(
        lines.any(|words| words.eq(["USER_SGPR_COUNT", "14"])),
        "{text}"
    );
}

/// The source declares `reqd_work_group_size(4, 2, 8)` in OpenCL C.
#[test]
fn limits_are_those_of_the_source() {
    let Some(clang) = llvm_tool("clang") else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("info-limits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, object) = (folder.join("k.cl"), folder.join("k.o"));
    std::fs::write(
        &source,
        "__kernel __attribute__((reqd_work_group_size(4, 2, 8))) void k(__global int *out, int n) { out[0] = n; }",
    )
    .unwrap();
    let ran = Command::new(clang)
        .args(["-x", "cl", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a"])
        .args(["-cl-kernel-arg-info", "-nogpulib", "-O1", "-c", "-o"])
        .args([&object, &source])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{errors}");
    let object = object.to_str().unwrap();
    let document = info(&[object]);
    let kernel = &document["object"]["kernels"][0];
    assert_eq!(kernel["reqd_workgroup_size"], json!([4, 2, 8]));
    assert_eq!(kernel["max_workgroup_size"], 64);
    assert_eq!(kernel["args"][0]["name"], "out");
    assert_eq!(kernel["args"][1]["name"], "n");
    let text = hetdwarf(["info", object]).out;
    for line in [
        "  work-groups of 4x2x8 work-items\n",
        "         0     8  out   int*  global_buffer\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The bundle has the entries `hipv4-amdgpu9.0a-amd-amdhsa--gfx90a` and `hipv4-amdgpu9.42-amd-amdhsa--`.
#[test]
fn objects_are_chosen_by_subarchitecture() {
    let bundle = path("object/subarchitectures.hipfb");
    let chosen = |target: &str| info(&[&bundle, "--target", target])["object"]["target"].clone();
    for target in [
        "gfx942",
        "amdgpu9.42",
        "amdgpu9.42-amd-amdhsa",
        "hipv4-amdgpu9.42-amd-amdhsa--",
        "amdgpu9.42-amd-amdhsa-unknown-gfx942",
    ] {
        assert_eq!(chosen(target), "gfx942", "{target}");
    }
    for target in ["amdgpu9.0a", "amdgpu9.0a-amd-amdhsa--gfx90a"] {
        assert_eq!(chosen(target), "gfx90a", "{target}");
    }
    for target in ["amdgpu9.50", "amdgpu9", "amdgpu9.42-amd-amdhsa--gfx90a"] {
        let ran = hetdwarf(["info", &bundle, "--target", target]);
        assert_eq!(ran.status, 2, "{target}");
    }
}

/// Each kernel has four user registers, for the dispatch pointer and the pointer to its arguments. Its code reads the work-group's x from
/// s4 (gfx1170), or from ttmp9 (gfx1250, and gfx1310, which has the code of gfx1201).
#[test]
fn kernels_of_the_newest_processors_are_described() {
    for (name, target, in_register) in [
        ("k-gfx1170-O1", "gfx1170", "s4"),
        ("k-gfx1250-sramecc+-O1", "gfx1250:sramecc+", "ttmp9"),
        ("k-gfx1310-O1", "gfx1310", "ttmp9"),
    ] {
        let object = path(&format!("object/{name}.hsaco"));
        let document = info(&[&object, "--descriptor", "--target", target]);
        assert_eq!(document["object"]["target"], target);
        let kernel = &document["object"]["kernels"][0];
        let entry = kernel["entry"].as_array().unwrap();
        let holds = |what: &str| {
            let found = entry.iter().find(|one| one["holds"] == what);
            found.map_or(&Value::Null, |one| &one["registers"])
        };
        assert_eq!(holds("kernarg-segment-pointer"), "s[2:3]", "{name}");
        assert_eq!(holds("work-group-id-x"), in_register, "{name}");
        assert_eq!(kernel["wave_size"], 32);
        let descriptor = &kernel["descriptor"];
        let has_clamp = descriptor.get("ENABLE_DX10_CLAMP").is_some();
        assert!(!has_clamp, "{name}: {descriptor}");
        assert!(kernel["vgprs_allocated"].is_u64());
    }
}
