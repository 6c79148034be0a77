//! `--wave -`: the command as a process, since it is the process that has a standard input.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the command on the built-in example, with `input` as its standard input.
fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hetdwarf"))
        .args(arguments)
        .current_dir(demo())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn demo() -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("examples/demo")
}

/// Every command with `--wave` answers the same, wherever the snapshot comes from.
#[test]
fn a_wave_is_read_from_standard_input() {
    let wave = std::fs::read(demo().join("stop.json")).unwrap();
    for command in [
        vec!["vars", "calls-O2.rocm.hsaco"],
        vec!["unwind", "calls-O2.rocm.hsaco"],
        vec!["lane-pc", "calls-O2.rocm.hsaco"],
        vec!["eval", "--expr", "push_lane", "--lane", "3"],
    ] {
        let with = |wave| [command.as_slice(), &["--wave", wave]].concat();
        let from_file = run(&with("stop.json"), b"");
        let from_input = run(&with("-"), &wave);
        assert!(from_file.status.success(), "{command:?}");
        assert!(!from_file.stdout.is_empty());
        assert_eq!(from_input, from_file, "{command:?}");
    }
}

#[test]
fn what_is_wrong_with_standard_input_is_said_of_it() {
    for input in [&b""[..], b"{}", b"no JSON"] {
        let output = run(&["vars", "calls-O2.rocm.hsaco", "--wave", "-"], input);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(
            error.starts_with("error: standard input: malformed wave snapshot: "),
            "{error}"
        );
        assert!(output.stdout.is_empty());
    }
}

/// Each answers the same of a file and of standard input, but for its name.
#[test]
fn an_object_is_read_from_standard_input() {
    let object = std::fs::read(demo().join("calls-O2.rocm.hsaco")).unwrap();
    for command in ["dump", "info", "verify"] {
        let from_file = run(&[command, "calls-O2.rocm.hsaco"], b"");
        let from_input = run(&[command, "-"], &object);
        let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
        let expected = text(&from_file).replace("calls-O2.rocm.hsaco", "standard input");
        assert!(!expected.is_empty());
        assert_eq!(text(&from_input), expected, "{command}");
        assert_eq!(from_input.status, from_file.status, "{command}");
        let nothing = run(&[command, "-"], b"");
        assert_eq!(nothing.status.code(), Some(2), "{command}");
        let error = String::from_utf8(nothing.stderr).unwrap();
        assert!(error.contains("standard input: "), "{error}");
        assert!(error.contains("it is an empty file"), "{error}");
    }
    // As llvm-dwarfdump calls it.
    let output = run(&["dump", "-", "--style", "llvm"], &object);
    assert!(output.stdout.starts_with(b"-:\tfile format elf64-amdgpu\n"));
}
