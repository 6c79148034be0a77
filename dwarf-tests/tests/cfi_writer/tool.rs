//! Runs LLVM's tools with standard input.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a tool with standard input and returns its output.
pub fn pipe(tool: &Path, arguments: &[&str], input: Vec<u8>) -> Vec<u8> {
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{}", tool.display());
    output.stdout
}
