//! `examples/verify.c` finds what the command finds; `examples/emit_cfi.cpp` writes what `examples/emit_cfi.rs` writes, which
//! llvm-mc and llvm-dwarfdump agree with elsewhere.
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

/// Objects with many findings and with few.
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
                // A bundle of several: the message lists them.
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
            // The document has the worst first.
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

/// The function of the example, as the library in Rust writes it.
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
        // The pointer to the CIE, and the function's address; two relocations in the order of their offsets.
        let relocations: Vec<&str> = printed.lines().rev().take(2).collect();
        assert!(relocations[0].ends_with("8 bytes of helper+0"), "{printed}");
        assert!(
            relocations[1].ends_with("4 bytes of .debug_frame+0"),
            "{printed}"
        );
        let written = std::fs::read(&bytes).unwrap();
        assert_eq!(written, section.bytes);
        // A CIE and an FDE of the function's size.
        let entries: Vec<Entry<'_>> = FrameSection::debug_frame(&written)
            .entries()
            .collect()
            .unwrap();
        assert_eq!(entries.len(), 2);
    }
}

#[test]
fn lane_pcs_are_those_of_the_library() {
    use core::ptr::{null, null_mut};
    use hetdwarf::lane_pc::{AssemblyFunction, Function, MaskPlace, Program, Region, assembly};
    use hetdwarf_capi::hetdwarf_status::{HETDWARF_INVALID_ARGUMENT, HETDWARF_OK};
    use hetdwarf_capi::*;

    // `r = a > b ? a + b : a - b` for 32 lanes: EXEC is saved in s4 at 0, `then` is from 0xc and `else` from 0x14 on.
    let range = |start: u64, end: u64| start.into()..end.into();
    let (then, otherwise) = ((range(0x0c, 0x14), vec![]), (range(0x14, 0x1c), vec![]));
    let choice = Region::if_then_else(
        0x08.into(),
        then,
        otherwise,
        0x1c.into(),
        MaskPlace::Scalar(4),
    );
    let program = Program::new(&Function {
        code: range(0, 0x24),
        wave_size: WaveSize::Wave32,
        regions: vec![choice.clone()],
        whole_wave: vec![],
    });
    let program = program.unwrap();
    let function = AssemblyFunction {
        name: "choose",
        start: "choose",
        end: ".Lchoose_end",
        program: &program,
    };
    let expected = assembly("unit", &[function]);

    let label = |label: &hetdwarf::lane_pc::Label| match label {
        hetdwarf::lane_pc::Label::Offset(offset) => *offset,
        hetdwarf::lane_pc::Label::Symbol(_) => panic!("there are no symbols here"),
    };
    let code = |range: &core::ops::Range<hetdwarf::lane_pc::Label>| hetdwarf_range {
        start: label(&range.start),
        end: label(&range.end),
    };
    let ok = |status| assert_eq!(status, HETDWARF_OK);
    // SAFETY: the handle is live, and strings end with a NUL.
    unsafe {
        let mut writer = null_mut();
        ok(hetdwarf_lane_pcs_new(&mut writer));
        let (name, end) = (c"choose".as_ptr(), c".Lchoose_end".as_ptr());
        ok(hetdwarf_lane_pcs_begin_function(
            writer, name, name, end, 0x24, 32,
        ));
        // A mask belongs to a region.
        let scalar = hetdwarf_mask {
            kind: HETDWARF_LANES_SCALAR,
            number: 4,
            value: 0,
        };
        let anywhere = hetdwarf_range { start: 0, end: 4 };
        let status = hetdwarf_lane_pcs_mask(writer, anywhere, scalar, null());
        assert_eq!(status, HETDWARF_INVALID_ARGUMENT);
        ok(hetdwarf_lane_pcs_begin_region(writer));
        for (range, _) in choice.masks() {
            ok(hetdwarf_lane_pcs_mask(writer, code(range), scalar, null()));
        }
        for phase in choice.phases() {
            let name = std::ffi::CString::new(phase.name).unwrap();
            let mut given: hetdwarf_phase = core::mem::zeroed();
            given.size = size_of::<hetdwarf_phase>();
            given.code = code(&phase.code);
            given.wait = label(phase.wait.as_ref().unwrap());
            given.flags = HETDWARF_PHASE_WAITS;
            given.name = name.as_ptr();
            ok(hetdwarf_lane_pcs_begin_phase(writer, &given));
            ok(hetdwarf_lane_pcs_end(writer));
        }
        ok(hetdwarf_lane_pcs_end(writer));
        ok(hetdwarf_lane_pcs_end(writer));
        let mut text = null();
        ok(hetdwarf_lane_pcs_text(writer, c"unit".as_ptr(), &mut text));
        assert_eq!(core::ffi::CStr::from_ptr(text).to_str().unwrap(), expected);
        ok(hetdwarf_free(writer.cast()));
    }
}
