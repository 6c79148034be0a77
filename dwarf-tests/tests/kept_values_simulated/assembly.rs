//! Builds an object with many programs, using LLVM's assembler and linker.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use dwarf_tests::llvm_tool;

use super::program::{Action, CLOBBERED, Place, Program};
use super::target::Target;

/// The abbreviations: a unit, a function, a parameter, a variable and a type.
const ABBREVIATIONS: &str = "\
.section .debug_abbrev,\"\",@progbits
.uleb128 1, 0x11
.byte 1
.uleb128 0x25, 8, 0x13, 5, 0x03, 8, 0x11, 1, 0x12, 6, 0, 0
.uleb128 2, 0x2e
.byte 1
.uleb128 0x03, 8, 0x11, 1, 0x12, 6, 0x3f, 0x19, 0, 0
.uleb128 3, 0x05
.byte 0
.uleb128 0x03, 8, 0x49, 0x13, 0x02, 0x17, 0, 0
.uleb128 4, 0x34
.byte 0
.uleb128 0x03, 8, 0x49, 0x13, 0x02, 0x17, 0, 0
.uleb128 5, 0x24
.byte 0
.uleb128 0x03, 8, 0x3e, 0x0b, 0x0b, 0x0b, 0, 0
.byte 0
";

fn jump_target(action: Action) -> Option<usize> {
    match action {
        Action::Jump { to }
        | Action::JumpIfNone { to }
        | Action::JumpIfSome { to }
        | Action::JumpIf { to, .. } => Some(to),
        _ => None,
    }
}

/// Returns the code of the programs, with a label at each instruction.
fn code(target: &Target, programs: &[Program]) -> String {
    let mut text = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n.text\n.Lfirst:\n",
        target.name
    );
    for (n, program) in programs.iter().enumerate() {
        write!(
            text,
            ".globl p{n}\n.p2align 8\n.type p{n},@function\np{n}:\n"
        )
        .unwrap();
        for (index, one) in program.code.iter().enumerate() {
            write!(text, ".Lp{n}_{index}:\n{}", one.text).unwrap();
            if let Some(to) = jump_target(one.action) {
                write!(text, " .Lp{n}_{to}").unwrap();
            }
            text.push('\n');
        }
        let end = program.code.len();
        write!(text, ".Lp{n}_{end}:\n.size p{n}, .Lp{n}_{end}-p{n}\n").unwrap();
    }
    text.push_str(".p2align 8\n.type clobber,@function\nclobber:\n");
    let (vectors, scalars) = CLOBBERED;
    vectors
        .iter()
        .for_each(|n| writeln!(text, "v_mov_b32 v{n}, 9").unwrap());
    scalars
        .iter()
        .for_each(|n| writeln!(text, "s_mov_b32 s{n}, 9").unwrap());
    text.push_str("s_setpc_b64 s[30:31]\n.Lend:\n.size clobber, .Lend-clobber\n");
    let kernels = programs.iter().enumerate().filter(|(_, one)| one.is_kernel);
    text.push_str(".section .rodata,\"a\",@progbits\n.p2align 6\n");
    for (n, _) in kernels {
        write!(
            text,
            ".amdhsa_kernel p{n}\n.amdhsa_next_free_vgpr 64\n.amdhsa_next_free_sgpr 64\n\
             .amdhsa_system_vgpr_workitem_id 0\n"
        )
        .unwrap();
        if target.acc {
            text.push_str(".amdhsa_accum_offset 64\n");
        }
        if target.lanes == 32 {
            text.push_str(".amdhsa_wavefront_size32 1\n");
        }
        text.push_str(".end_amdhsa_kernel\n");
    }
    text.push_str(".section .offsets,\"\",@progbits\n");
    for (n, program) in programs.iter().enumerate() {
        for index in 0..program.code.len() {
            writeln!(text, ".long .Lp{n}_{index}-.Lfirst").unwrap();
        }
    }
    text
}

fn expression(target: &Target, place: Place) -> String {
    // `DW_OP_regx`, or `DW_OP_consts` and `DW_OP_stack_value`.
    let (operation, number) = match place {
        Place::Vector(n) => (
            "0x90",
            format!(".uleb128 {}", target.dwarf_vgpr() + u64::from(n)),
        ),
        Place::Scalar(n) => ("0x90", format!(".uleb128 {}", 32 + n)),
        Place::Constant(n) => ("0x11", format!(".sleb128 {n}\n.byte 0x9f")),
    };
    format!(".byte {operation}\n{number}\n")
}

fn debug_info(target: &Target, programs: &[Program]) -> String {
    let mut info = String::from(
        ".section .debug_info,\"\",@progbits\n.Lunit:\n.long .Lunit_end-.Lunit_start\n.Lunit_start:\n\
         .short 5\n.byte 1, 8\n.long .debug_abbrev\n.uleb128 1\n.asciz \"clang version 22.0.0\"\n\
         .short 0x15\n.asciz \"random.cl\"\n.quad .Lfirst\n.long .Lend-.Lfirst\n\
         .Lint:\n.uleb128 5\n.asciz \"int\"\n.byte 5, 4\n",
    );
    let mut lists = String::from(
        ".section .debug_loclists,\"\",@progbits\n.long .Llists_end-.Llists_start\n.Llists_start:\n\
         .short 5\n.byte 8, 0\n.long 0\n",
    );
    for (n, program) in programs.iter().enumerate() {
        let end = program.code.len();
        write!(
            info,
            ".uleb128 2\n.asciz \"p{n}\"\n.quad .Lp{n}_0\n.long .Lp{n}_{end}-.Lp{n}_0\n"
        )
        .unwrap();
        for (v, variable) in program.variables.iter().enumerate() {
            let abbreviation = if variable.is_parameter { 3 } else { 4 };
            write!(
                info,
                ".uleb128 {abbreviation}\n.asciz \"x{v}\"\n.long .Lint-.Lunit\n.long .Ll{n}_{v}\n"
            )
            .unwrap();
            writeln!(lists, ".Ll{n}_{v}:").unwrap();
            for (r, range) in variable.ranges.iter().enumerate() {
                let (start, end) = (range.start, range.end);
                write!(
                    lists,
                    ".byte 7\n.quad .Lp{n}_{start}\n.quad .Lp{n}_{end}\n\
                     .uleb128 .Le{n}_{v}_{r}-.Lb{n}_{v}_{r}\n.Lb{n}_{v}_{r}:\n{}.Le{n}_{v}_{r}:\n",
                    expression(target, range.place)
                )
                .unwrap();
            }
            lists.push_str(".byte 0\n");
        }
        info.push_str(".byte 0\n");
    }
    info.push_str(".byte 0\n.Lunit_end:\n");
    lists.push_str(".Llists_end:\n");
    format!("{ABBREVIATIONS}{info}{lists}")
}

fn run(tool: &Path, arguments: &[&str]) {
    let ran = Command::new(tool).args(arguments).output().unwrap();
    let message = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{arguments:?}: {message}");
}

/// Makes the object.
///
/// * `name`: the name of its source files.
///
/// Returns `None` if LLVM's tools are absent.
pub fn make(target: &Target, programs: &[Program], name: &str, folder: &Path) -> Option<Vec<u8>> {
    let (assembler, linker) = (llvm_tool("llvm-mc")?, llvm_tool("ld.lld")?);
    let path = |end: &str| folder.join(format!("{name}.{end}"));
    let (source, object, linked) = (path("s"), path("o"), path("hsaco"));
    let text = code(target, programs) + &debug_info(target, programs);
    std::fs::write(&source, text).unwrap();
    let [source, object, linked] = [&source, &object, &linked].map(|one| one.to_str().unwrap());
    let cpu = format!("-mcpu={}", target.name);
    let arguments = [
        "-triple=amdgcn-amd-amdhsa",
        &cpu,
        "-filetype=obj",
        source,
        "-o",
        object,
    ];
    run(&assembler, &arguments);
    run(&linker, &["-shared", object, "-o", linked]);
    Some(std::fs::read(linked).unwrap())
}
