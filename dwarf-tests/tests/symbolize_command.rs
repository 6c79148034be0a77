//! Tests `hetdwarf symbolize` as text and JSON: the choice of code objects, frames and names.
//!
//! Functions, files and lines are llvm-symbolizer 22's (`symbolizer` compares all), and symbols are llvm-nm's.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use dwarf_tests::{Ran, hetdwarf};
use serde_json::{Value, json};

const OBJECT: &str = "../examples/demo/calls-O2.rocm.hsaco";
const CORE: &str = "../examples/demo/demo.core";
/// A program with four code objects, two of which have the address 0x1a1c.
const PROGRAM: &str = "fixtures/object/host-fatbin.o";

fn run(arguments: &str) -> Ran {
    hetdwarf(
        ["symbolize"]
            .into_iter()
            .chain(arguments.split_whitespace()),
    )
}

fn text(arguments: &str) -> String {
    let ran = run(arguments);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments}");
    ran.out
}

fn lines(arguments: &str) -> Vec<Value> {
    let ran = run(&format!("{arguments} --format json"));
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The names of functions are in the `.dwo` file. Without it, functions have the names of symbols.
#[test]
fn a_missing_split_file_is_named() {
    let skeleton = "fixtures/dwp/ab.so fb+0x10";
    let whole = text(&format!("{skeleton} --dwo fixtures/dwp/ab.dwp"));
    assert!(whole.starts_with("fb+0x10: fb at "), "{whole}");
    for format in ["text", "json", "llvm"] {
        let ran = run(&format!("{skeleton} --format {format}"));
        let warning = "ab.so: the debugging information is in other files, a.dwo and more: give it with --dwo";
        assert!(ran.err.contains(warning), "{format}: {}", ran.err);
    }
}

#[test]
fn text_has_a_line_for_each_frame() {
    assert_eq!(
        text(&format!("{OBJECT} 0x1a1c k+0x4 0x1 none+0x4 7:0x1a1c")),
        "0x1a1c: __clang_ocl_kern_imp_k at ./calls-O2.cl:41:3\n\
         k+0x4: __clang_ocl_kern_imp_k (inlined) at ./calls-O2.cl:35:12\n       \
         k at ./calls-O2.cl:34:60\n\
         0x1: ??\nnone+0x4\n7:0x1a1c\n"
    );
    let short = "--no-inlines --basenames --functions";
    assert_eq!(
        text(&format!("{OBJECT} k+0x4 {short} short")),
        "k+0x4: k at calls-O2.cl:35:12\n"
    );
    assert_eq!(
        text(&format!("{OBJECT} k+0x4 {short} none")),
        "k+0x4: calls-O2.cl:35:12\n"
    );
}

#[test]
fn json_has_an_object_for_each_address() {
    let inlined = json!({"kind": "inlined", "function": "k", "linkage_name": "__clang_ocl_kern_imp_k", "file": "./calls-O2.cl",
        "line": 35, "column": 12, "approximate": false});
    let call = json!({"kind": "call", "function": "k", "linkage_name": null, "file": "./calls-O2.cl",
        "line": 34, "column": 60, "approximate": false});
    let expected = json!({"address": "0x7f0000001904", "object": 0, "frames": [inlined, call], "symbol": {"name": "k", "offset": 4}});
    let loaded = format!("{OBJECT}@0x7f0000000000");
    let found = lines(&format!(
        "{loaded} 0x7f0000001904 0:0x1904 k+0x4 0x1904 none+0x0"
    ));
    assert_eq!(found[..3], [expected.clone(), expected.clone(), expected]);
    // An address below the code object has no position. A line that is not an address is passed through.
    assert_eq!(
        found[3],
        json!({"address": "0x1904", "object": null, "frames": [], "symbol": null})
    );
    assert_eq!(found[4], json!({"text": "none+0x0"}));
}

#[test]
fn an_address_in_several_code_objects_is_not_looked_up() {
    let ran = run(&format!("{PROGRAM} 0x1a1c"));
    assert_eq!(ran.status, 1);
    assert_eq!(
        ran.out,
        "0x1a1c: ?? (in the code objects 0, 2: write NUMBER:0x…)\n"
    );
    let found = lines(&format!("{PROGRAM} 0x1a1c 2:0x1a1c"));
    assert_eq!(
        (&found[0]["object"], &found[0]["objects"]),
        (&Value::Null, &json!([0, 2]))
    );
    assert_eq!(found[1]["frames"][0]["function"], "divergent");
    let chosen = text(&format!("{PROGRAM} --index 2 0x1a1c"));
    assert_eq!(
        chosen,
        "0x1a1c: __clang_ocl_kern_imp_divergent at ./divergent.cl:67:5\n"
    );
    // The same object loaded at another address has distinct addresses.
    let both = lines(&format!("{OBJECT} {OBJECT}@0x100000 0x1a1c 0x101a1c"));
    assert_eq!([&both[0]["object"], &both[1]["object"]], [0, 1]);
    assert_eq!(both[0]["frames"], both[1]["frames"]);
    // A name that both objects have is ambiguous too.
    assert_eq!(run(&format!("{OBJECT} {OBJECT}@0x100000 k+0x4")).status, 1);
}

#[test]
fn a_core_has_load_addresses() {
    let found = lines(&format!("--core {CORE} 0x7f4000001a1c 0:0x1a1c 0x1a1c"));
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0]["frames"][0]["line"], 41);
    assert!(found[2]["frames"].as_array().unwrap().is_empty());
}

#[test]
fn what_cannot_be_is_said() {
    for (arguments, message) in [
        ("0x10".to_owned(), "name an OBJECT, or a --core"),
        (
            format!("{OBJECT} 0x10 --filter --format json"),
            "--filter is for --format text",
        ),
        (
            "missing 0x10".to_owned(),
            "missing: No such file or directory",
        ),
        (
            format!("{OBJECT} 173c"),
            "173c: there is no such file; an address begins with 0x",
        ),
        (
            format!("--core {CORE} Cargo.toml"),
            "Cargo.toml: this is text, not a code object; to translate the addresses in a log, use --filter < LOG",
        ),
        (
            format!("--core {CORE} --target gfx90a 0x10"),
            "--target works with OBJECT",
        ),
        (format!("{PROGRAM} --target gfx700 0x10"), "gfx700"),
    ] {
        let ran = run(&arguments);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments}");
        assert!(ran.err.contains(message), "{arguments}: {}", ran.err);
    }
}
