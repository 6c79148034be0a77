//! Tests that `examples/verify.c` finds the same as the command, and that `examples/emit_cfi.cpp` writes the same as
//! `examples/emit_cfi.rs`. Other tests compare the latter with llvm-mc and llvm-dwarfdump.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod common;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use fallible_iterator::FallibleIterator;
use hetdwarf::Untrusted;
use hetdwarf::arch::{Lane, Register, ScratchAddressing, WaveSize};
use hetdwarf::frame::write::{
    Common, FrameTable, FunctionFrame, Mask, ReturnAddress, Start, Target,
};
use hetdwarf::frame::{Entry, FrameSection};

/// Returns objects with many findings and with few.
fn objects() -> Vec<PathBuf> {
    let corpus = common::root().join("../dwarf-tests/fixtures/corpus");
    let mut found = Vec::new();
    for folder in ["llvm22", "clang18", "gcc12", "triton", "rocm-style"] {
        let entries = std::fs::read_dir(corpus.join(folder)).unwrap();
        let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        names.retain(|path| path.is_file());
        names.sort();
        found.extend(names.into_iter().take(4));
    }
    found
}

fn finding_line(finding: &serde_json::Value) -> String {
    let text = |name: &str| finding[name].as_str().unwrap().to_owned();
    let shown = |name: &str| Untrusted::from(text(name)).to_string();
    let mut line = format!("{} {} {}", text("severity"), text("rule"), text("section"));
    if !finding["offset"].is_null() {
        write!(line, "+{}", text("offset")).unwrap();
    }
    if !finding["pc"].is_null() {
        write!(line, " pc {}", text("pc")).unwrap();
    }
    if !finding["function"].is_null() {
        write!(line, " in {}", shown("function")).unwrap();
    }
    write!(line, ": {}", shown("message")).unwrap();
    if !finding["help"].is_null() {
        write!(line, "; {}", shown("help")).unwrap();
    }
    write!(line, " ({})", text("spec")).unwrap();
    line
}

#[test]
fn verify_in_c_finds_what_the_command_finds() {
    let folder = tempfile::tempdir().unwrap();
    let source = common::root().join("examples/verify.c");
    for compiler in common::compilers(false) {
        let program = folder.path().join(compiler);
        common::compile(compiler, &source, &program, &[]);
        let mut count = 0;
        for object in objects() {
            let path = object.to_str().unwrap();
            let output = Command::new(&program).arg(path).output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            if output.status.code() == Some(2) {
                // The file contains several code objects, and the message lists them.
                let message = String::from_utf8(output.stderr).unwrap();
                assert!(message.contains("code object"), "{path}: {message}");
                continue;
            }
            let document = common::hetdwarf(&["verify", "--each", "--format", "json", path]);
            let mut expected = Vec::new();
            for file in document["files"].as_array().unwrap() {
                expected.extend(
                    file["findings"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(finding_line),
                );
            }
            // The command's document starts with the most severe findings.
            let mut printed: Vec<&str> = printed.lines().collect();
            printed.sort_unstable();
            expected.sort_unstable();
            assert_eq!(printed, expected, "{path}");
            let is_bad = expected.iter().any(|line| line.starts_with("error "));
            assert_eq!(output.status.code(), Some(i32::from(is_bad)), "{path}");
            count += expected.len();
        }
        assert!(count > 20, "{count} findings");
    }
}

/// Returns the example's function, as written with the Rust library.
fn table() -> FrameTable {
    let wave_size = WaveSize::Wave64;
    let s = |n| Register::sgpr(n).unwrap();
    let v = |n| Register::vgpr(n, wave_size).unwrap();
    let exec = Register::exec(wave_size);
    let target = Target {
        wave_size,
        scratch: ScratchAddressing::Buffer,
    };
    let (common, start) = (Common::new(), Start::symbol("helper"));
    let mut frame = FunctionFrame::new(target, &common, start, 0x1a4).unwrap();
    let mut write = || -> hetdwarf::Result<()> {
        frame
            .cfa_from_stack_pointer(s(32))?
            .stack_pointer_from_cfa(s(32))?;
        frame.return_address_in(ReturnAddress::Pair(s(30)))?;
        frame.clobbered(s(4))?.clobbered(s(5))?.clobbered(s(6))?;
        frame.at(4)?.saved_in_register(s(33), s(6))?;
        frame.at(8)?.cfa_from_frame_pointer(s(33))?;
        frame.at(12)?.saved_in_register(exec, s(4))?;
        frame
            .at(20)?
            .inactive_saved_to_scratch(v(40), 0, Mask::ExecOnEntry)?;
        frame
            .at(32)?
            .saved_to_scratch(v(41), 4, Mask::ExecOnEntry)?;
        frame
            .at(48)?
            .saved_in_lane(Register::PC_64, v(40), Lane(0))?;
        frame.at(0x130)?.remember()?;
        frame.at(0x140)?.restored(Register::PC_64)?;
        frame
            .at(0x160)?
            .restored(v(41))?
            .restored(v(40))?
            .restored(exec)?
            .restored(s(33))?;
        frame.cfa_from_stack_pointer(s(32))?;
        frame.at(0x164)?.restore()?;
        Ok(())
    };
    write().unwrap();
    let mut table = FrameTable::new();
    table.add(frame);
    table
}

#[test]
fn a_back_end_in_cpp_writes_what_one_in_rust_writes() {
    let folder = tempfile::tempdir().unwrap();
    let source = common::root().join("examples/emit_cfi.cpp");
    let table = table();
    let section = table.write().unwrap();
    let directives = table.directives().unwrap();
    for compiler in common::compilers(true) {
        let program = folder.path().join(compiler);
        let bytes = folder.path().join("frame");
        common::compile(compiler, &source, &program, &[]);
        let output = common::run(Command::new(&program).arg(&bytes));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(
            printed.starts_with(&format!("{}\n", directives[0])),
            "{printed}"
        );
        // Two relocations in the order of their offsets: the pointer to the CIE, and the function's address.
        let relocations: Vec<&str> = printed.lines().rev().take(2).collect();
        assert!(relocations[0].ends_with("8 bytes of helper+0"), "{printed}");
        assert!(
            relocations[1].ends_with("4 bytes of .debug_frame+0"),
            "{printed}"
        );
        let written = std::fs::read(&bytes).unwrap();
        assert_eq!(written, section.bytes);
        // A CIE, and an FDE for the function.
        let entries: Vec<Entry<'_>> = FrameSection::debug_frame(&written)
            .entries()
            .collect()
            .unwrap();
        assert_eq!(entries.len(), 2);
    }
}
