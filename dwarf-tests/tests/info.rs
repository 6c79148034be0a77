//! Tests `info` on pipelines of `amdpal`, code objects of version 2, and the functions in `.amdgpu.info`.
//!
//! The expected facts come from LLVM's readers of the notes and symbols, and from `calls.s`, where the sums are computed by hand.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use dwarf_tests::{fixture, hetdwarf};
use hetdwarf::object::CodeObject;
use serde_json::{Value, json};

fn object(name: &str) -> Value {
    let path = fixture("info").join(name);
    let ran = hetdwarf(["info", path.to_str().unwrap(), "--format=json"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    serde_json::from_str::<Value>(&ran.out).unwrap()["object"].take()
}

fn text(name: &str) -> String {
    hetdwarf(["info", fixture("info").join(name).to_str().unwrap()]).out
}

/// Returns true if a line has these words, in this order and with nothing else.
fn has_row(text: &str, row: &str) -> bool {
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    text.lines().any(|line| words(line) == words(row))
}

#[test]
fn pipelines_have_entry_points_and_registers() {
    let object = object("pal.o");
    let shader = &object["shaders"][0];
    assert_eq!(object["shaders"].as_array().unwrap().len(), 1);
    for (key, value) in [
        ("stage", json!("cs")),
        ("name", json!("_amdgpu_cs_main")),
        ("symbol", json!("cs")),
        ("entry", json!("0x0")),
        ("sgprs_used", json!(2)),
        ("vgprs_used", json!(2)),
        ("agprs_used", Value::Null),
        ("scratch_size", json!(0)),
    ] {
        assert_eq!(shader[key], value, "{key}");
    }
    let text = text("pal.o");
    assert!(
        has_row(&text, "_amdgpu_cs_main cs cs 2 2 - - 0 -"),
        "{text}"
    );
}

#[test]
fn version_2_has_its_kernels() {
    let object = object("version2.hsaco");
    assert_eq!(
        (&object["code_object_version"], &object["metadata_error"]),
        (&json!(2), &Value::Null)
    );
    let kernels = object["kernels"].as_array().unwrap();
    let names: Vec<_> = kernels
        .iter()
        .map(|kernel| kernel["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["add", "empty"]);
    for (key, value) in [
        // amd_kernel_code_t has 256 bytes, and follows the symbol at 0x1a00.
        ("entry_address", json!("0x1b00")),
        ("wave_size", json!(64)),
        ("sgprs_used", json!(7)),
        ("vgprs_used", json!(3)),
        ("group_segment_size", json!(256)),
        ("private_segment_size", json!(0)),
        ("kernarg_size", json!(20)),
        ("max_workgroup_size", json!(64)),
        ("sgprs_allocated", Value::Null),
    ] {
        assert_eq!(kernels[0][key], value, "{key}");
    }
    assert_eq!(
        (&kernels[1]["entry_address"], &kernels[1]["sgprs_used"]),
        (&json!("0x1d00"), &Value::Null)
    );

    let file = std::fs::read(fixture("info/version2.hsaco")).unwrap();
    let metadata = CodeObject::parse(&file)
        .unwrap()
        .metadata()
        .unwrap()
        .unwrap();
    assert_eq!(metadata.version, Some([1, 0]));
    assert_eq!(metadata.printf.unwrap(), ["1:1:4:it's \"%d\": # of\\n"]);
    let kernel = &metadata.kernels.as_ref().unwrap()[0];
    assert_eq!(kernel.reqd_workgroup_size, Some([64, 1, 1]));
    let args = kernel.args.as_ref().unwrap();
    let row = |index: usize| {
        let arg = &args[index];
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (
            text(&arg.name),
            text(&arg.type_name),
            arg.offset,
            arg.size,
            text(&arg.value_kind),
            arg.is_const,
        )
    };
    let expected = |name: &str, kind: &str, at, size, value: &str, is_const| {
        (
            name.to_owned(),
            kind.to_owned(),
            Some(at),
            Some(size),
            value.to_owned(),
            is_const,
        )
    };
    assert_eq!(row(0), expected("out", "int*", 0, 8, "global_buffer", None));
    assert_eq!(
        row(1),
        expected("in", "int*", 8, 8, "global_buffer", Some(true))
    );
    assert_eq!(row(2), expected("n", "int", 16, 4, "by_value", None));
    let text = text("version2.hsaco");
    assert!(has_row(&text, "add 64 7/- 3/- - 256 0 20 -"), "{text}");
}

#[test]
fn functions_have_registers_and_scratch_with_their_callees() {
    let object = object("calls.o");
    let functions = object["function_infos"].as_array().unwrap();
    let names: Vec<_> = functions
        .iter()
        .map(|function| function["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["k", "f", "g"]);
    let kernel = &functions[0];
    assert_eq!(
        kernel["own"],
        json!({"sgprs": 33, "vgprs": 42, "agprs": null, "private_segment_size": 16})
    );
    // f has the most SGPRs and g the most VGPRs. The deepest chain is k and f: 16 + 64.
    assert_eq!(
        kernel["with_callees"],
        json!({"sgprs": 40, "vgprs": 64, "agprs": null, "private_segment_size": 80})
    );
    assert_eq!(kernel["calls"], json!(["f"]));
    assert_eq!(kernel["indirect_calls"], json!(["vi"]));
    assert_eq!(
        (&kernel["dynamic_stack"], &kernel["uses_vcc"]),
        (&json!(true), &json!(true))
    );
    let open = json!([
        "calls functions by address",
        "calls functions that are described elsewhere"
    ]);
    assert_eq!(kernel["open"], open);
    assert_eq!(functions[1]["calls"], json!(["elsewhere"]));
    assert_eq!(functions[2]["type_ids"], json!(["vi"]));
    assert_eq!(functions[2].get("open"), None);
    let text = text("calls.o");
    assert!(has_row(&text, "g -/- 64/64 -/- 32/32 0"), "{text}");
}
