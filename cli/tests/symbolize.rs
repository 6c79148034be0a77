//! Tests `hetdwarf symbolize` as a process that reads lines from standard input.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const OBJECT: &str = "calls-O2.rocm.hsaco";

/// Runs a program in the folder of the built-in example.
fn run(program: &Path, arguments: &[&str], input: &[u8]) -> (Vec<u8>, Option<i32>) {
    let mut child = command(program, arguments).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The program answers while it reads. The write fails if the program does not read, because it closes the pipe.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (output.stdout, output.status.code())
}

fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/demo"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn own() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_hetdwarf"))
}

/// Compares unusual lines with llvm-symbolizer: empty, with zero bytes, longer than llvm-symbolizer's buffer, and
/// without an end.
#[test]
fn lines_are_those_of_llvm_symbolizer() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    let Some(llvm) = folders
        .find_map(|folder| Some(folder.join("llvm-symbolizer-22")).filter(|path| path.is_file()))
    else {
        test_skips::skipped("llvm-symbolizer-22 is not installed");
        return;
    };
    let long = format!("{:1022}0x1a1c\n", "");
    let exact = format!("0x1a1c{:1016}\n", "");
    let lines: Vec<&[u8]> = vec![
        b"0x1a1c\n",
        b"\n",
        b"\r\n",
        b"0x1a1c\0 rest\n",
        b"\0\n",
        b"0x1\ra1c\r\n",
        b"CODE 0x1a1c\n",
        b"\t0x1a1c\x0b\n",
        b"na\xffme\n",
        long.as_bytes(),
        exact.as_bytes(),
        b"0x1a1c",
    ];
    let input = lines.concat();
    let theirs = run(
        &llvm,
        &["--no-debuginfod", &format!("--obj={OBJECT}")],
        &input,
    );
    let ours = run(own(), &["symbolize", "--format", "llvm", OBJECT], &input);
    assert!(theirs.0.len() > 300);
    assert_eq!(
        String::from_utf8_lossy(&ours.0),
        String::from_utf8_lossy(&theirs.0)
    );
    assert_eq!(ours.1, Some(0));
}

/// Checks that each address is answered before the next one arrives.
#[test]
fn each_line_is_answered_when_the_next_is_not_there_yet() {
    for format in ["text", "json", "llvm"] {
        let mut child = command(own(), &["symbolize", "--format", format, OBJECT])
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        for _ in 0..3 {
            input.write_all(b"0x1a1c\n").unwrap();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert!(line.contains("__clang_ocl_kern_imp_k"), "{format}: {line}");
            if format == "llvm" {
                output.read_line(&mut line).unwrap();
                output.read_line(&mut line).unwrap();
            }
        }
        drop(input);
        assert!(child.wait().unwrap().success());
    }
}

/// Checks that a log is copied and its addresses are annotated.
#[test]
fn a_log_is_filtered() {
    let log = b"wave 3 at 0x7f0000001a1c\nlocals 0x10, x0x7f0000001a1c, 0x7f0000001a1cz, k+0x4:\n\x1b[1mred\x1b[0m 0:0x1a1c\n";
    let object = format!("{OBJECT}@0x7f0000000000");
    let (out, status) = run(own(), &["symbolize", "--filter", &object], log);
    let out = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    let place = "__clang_ocl_kern_imp_k at ./calls-O2.cl:41:3";
    assert_eq!(status, Some(0));
    assert_eq!(
        lines,
        [
            format!("wave 3 at 0x7f0000001a1c ({place})"),
            "locals 0x10, x0x7f0000001a1c, 0x7f0000001a1cz, k+0x4 (__clang_ocl_kern_imp_k (inlined) at ./calls-O2.cl:35:12, k at ./calls-O2.cl:34:60):"
                .to_owned(),
            format!("\\u{{1b}}[1mred\\u{{1b}}[0m 0:0x1a1c ({place})"),
        ]
    );
}

/// Returns the text on standard error and the status.
fn complaint(arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = command(own(), &[&["symbolize"], arguments].concat());
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    (
        String::from_utf8(output.stderr).unwrap(),
        output.status.code(),
    )
}

/// If nothing is known about any address, a warning names the part of the command that is probably missing.
#[test]
fn a_missing_load_address_or_half_of_a_core_is_named() {
    let (said, status) = complaint(&[OBJECT, "0x7f4000001a1c", "0x7f4000001a20"]);
    assert!(
        said.contains(
            "no code is known at any of 2 addresses, such as 0x7f4000001a1c; if the code was loaded"
        ),
        "{said}"
    );
    assert_eq!(status, Some(0));
    // One address that is known shows that the load address is right.
    assert_eq!(complaint(&[OBJECT, "0x7f4000001a1c", "0x1a1c"]).0, "");
    let half = "../../dwarf-tests/fixtures/cores/gfx1100/gpucore.4242.gz";
    let (said, _) = complaint(&["--core", half, "0x7f4000001b80"]);
    assert!(
        said.contains("the host's half of the core: add --core"),
        "{said}"
    );
    let (said, status) = complaint(&[&format!("{OBJECT}@7f4000000000"), "0x7f4000001a1c"]);
    assert!(
        said.contains("`7f4000000000` is not a load address; write @0x"),
        "{said}"
    );
    assert_eq!(status, Some(2));
}

/// Arguments that belong to another command, or to another option, get a hint.
#[test]
fn halves_of_a_core_and_names_of_variables_get_hints() {
    for (arguments, hint) in [
        (
            vec!["vars", "--core", "gpucore.1", "demo.core"],
            "hetdwarf vars --core gpucore.1 --core demo.core".to_owned(),
        ),
        (
            vec!["vars", "--core", "demo.core", "slot"],
            "hetdwarf vars --core demo.core --name slot".to_owned(),
        ),
        (
            vec!["core", "--core", "demo.core"],
            "`core` takes its files without --core: hetdwarf core demo.core".to_owned(),
        ),
    ] {
        let mut command = command(own(), &arguments);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(&hint), "{said}");
        assert!(!said.contains("similar argument"), "{said}");
    }
}
