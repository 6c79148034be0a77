//! Tests waves, code objects and cores on standard input. The command runs as a process, because only a process has a
//! standard input.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the command on the built-in example with `input` on standard input.
fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hetdwarf"))
        .args(arguments)
        .current_dir(demo())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The write fails if the command does not read, because it closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn demo() -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("examples/demo")
}

/// Checks that every command with `--wave` gives the same answer for a file and for standard input.
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

/// Checks that each command gives the same answer for a file and for standard input, apart from the name.
#[test]
fn an_object_is_read_from_standard_input() {
    let object = std::fs::read(demo().join("calls-O2.rocm.hsaco")).unwrap();
    for command in ["dump", "info", "verify", "coverage"] {
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
        assert!(error.contains("this is an empty file"), "{error}");
    }
    // llvm-dwarfdump prints this name.
    let output = run(&["dump", "-", "--style", "llvm"], &object);
    assert!(output.stdout.starts_with(b"-:\tfile format elf64-amdgpu\n"));
}

/// Wraps bytes into a gzip file of stored, uncompressed blocks (RFC 1952 §2.3, RFC 1951 §3.2.4). The checksum is
/// computed bit by bit, as in RFC 1952 §8.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let blocks = bytes.chunks(0xffff);
    let count = blocks.len();
    for (number, block) in blocks.enumerate() {
        let length = u16::try_from(block.len()).unwrap();
        file.push(u8::from(number + 1 == count));
        file.extend(length.to_le_bytes());
        file.extend((!length).to_le_bytes());
        file.extend(block);
    }
    let sum = bytes.iter().fold(!0_u32, |mut sum, byte| {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
        sum
    });
    file.extend((!sum).to_le_bytes());
    file.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
    file
}

/// Reads a core, compressed and uncompressed, and the other inputs of `core`: a log and a snapshot.
#[test]
fn a_core_is_read_from_standard_input() {
    let named = |output: &Output, name: &str| {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        text.replace(name, "standard input")
    };
    let log = concat!(env!("CARGO_TARGET_TMPDIR"), "/agent.log");
    let text = "wave_1: pc=0x1000 (stopped, reason: MEMORY_VIOLATION)\n\nsystem registers:\n  exec: ffffffff\n\n";
    std::fs::write(log, text).unwrap();
    for (file, command) in [
        ("demo.core", &["core"][..]),
        ("demo.core", &["core", "--format=jsonl"]),
        ("demo.core", &["core", "--tree"]),
        ("demo.core", &["unwind", "--core"]),
        ("demo.core", &["vars", "--wave=1", "--core"]),
        ("demo.core", &["info", "--code-object=0", "--core"]),
        ("stop.json", &["core", "--object=calls-O2.rocm.hsaco"]),
        (log, &["core"]),
    ] {
        let bytes = std::fs::read(demo().join(file)).unwrap();
        let from_file = run(&[command, &[file]].concat(), b"");
        assert!(!from_file.stdout.is_empty(), "{command:?}");
        for input in [&bytes, &gzip(&bytes)] {
            let from_input = run(&[command, &["-"]].concat(), input);
            let found = String::from_utf8(from_input.stdout).unwrap();
            assert_eq!(found, named(&from_file, file), "{command:?}");
            assert_eq!(from_input.status, from_file.status, "{command:?}");
        }
    }
}

/// Sends a core in parts, so that the first read returns too little to recognize it.
#[test]
fn a_core_may_come_slowly() {
    let core = std::fs::read(demo().join("demo.core")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hetdwarf"))
        .args(["core", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for part in [&core[..3], &core[3..700], &core[700..]] {
        input.write_all(part).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, run(&["core", "demo.core"], b"").stdout);
}

/// Checks that each request is answered before the next one arrives.
#[test]
fn each_request_of_a_batch_is_answered_when_the_next_is_not_there_yet() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hetdwarf"))
        .args(["eval", "--batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for number in 1..4 {
        writeln!(input, "{{\"expr\": \"lit{number}\", \"id\": {number}}}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.contains(&format!("\"id\":{number}")), "{line}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_core_that_is_none_is_an_error_of_standard_input() {
    for input in [&b""[..], b"\x7fELF", b"text"] {
        let output = run(&["core", "-"], input);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(error.starts_with("error: standard input: "), "{error}");
        assert!(output.stdout.is_empty());
    }
}
