//! Tests `verify` in a GitHub workflow as a process, with the variables that the runner sets.
#![allow(
    clippy::unwrap_used,
    reason = "a failure here is a failure of the test"
)]

use std::process::Command;

/// Checks that the table is appended to the file that the runner names.
#[test]
fn a_workflow_gets_the_table_as_markdown() {
    let file = std::env::temp_dir().join(format!("hetdwarf-step-{}", std::process::id()));
    std::fs::write(&file, "before\n").unwrap();
    let run = |arguments: &[&str]| {
        let ran = Command::new(env!("CARGO_BIN_EXE_hetdwarf"))
            .args(["verify", "dwarf-tests/fixtures/corpus/llvm24"])
            .args(arguments)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .env("GITHUB_STEP_SUMMARY", &file)
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(1));
        std::fs::read_to_string(&file).unwrap()
    };
    assert_eq!(run(&[]), "before\n");
    let text = run(&["--format=github"]);
    std::fs::remove_file(&file).unwrap();
    assert!(text.starts_with("before\n### hetdwarf verify\n"), "{text}");
    assert!(
        text.contains("\n| error | `cfi-stale-lane` | 1 | "),
        "{text}"
    );
}
