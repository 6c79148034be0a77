//! `verify` in a workflow of GitHub, as a process: what the runner names in the environment.
#![allow(
    clippy::unwrap_used,
    reason = "a failure here is a failure of the test"
)]

use std::process::Command;

/// The runner names the file, and what earlier steps wrote stays.
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
