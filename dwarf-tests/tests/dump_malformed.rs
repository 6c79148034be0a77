//! Compares `hetdwarf dump --style llvm` with llvm-dwarfdump byte by byte, on malformed files and on the split units that a skeleton names.
//! Without the tools these tests are reported as skipped.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::{Ran, hetdwarf, llvm_tool};

/// The error, the sections as assembler text, and the options.
const CASES: &[(&str, &str, &str)] = &[
    (
        "the first entry is a null entry",
        ".section .debug_abbrev\n .byte 1, 0x11, 0, 0, 0, 0\n.section .debug_info\n .long 8\n .short 4\n .long 0\n .byte 8, 0\n",
        "--debug-info",
    ),
    (
        "abbreviations break off",
        ".section .debug_abbrev\n .byte 1, 0x11, 0, 0, 0\n.section .debug_info\n .long 8\n .short 4\n .long 0\n .byte 8, 1\n",
        "--debug-info",
    ),
    (
        "there are no abbreviations",
        ".section .debug_info\n .long 8\n .short 4\n .long 0\n .byte 8, 0\n",
        "--debug-info",
    ),
    (
        "the type of a type unit is after it",
        ".section .debug_abbrev\n .byte 1, 0x41, 0, 0, 0, 0\n.section .debug_info\n .long 21\n .short 5\n .byte 2, 8\n .long 0\n .quad 7\n .long 0x100\n .byte 1\n",
        "--debug-info",
    ),
    (
        "a unit of a .dwo file is cut short",
        ".section .debug_info.dwo\n .long 8\n .short 4\n",
        "--debug-info",
    ),
    (
        "a reference leads to the null entry",
        ".section .debug_abbrev\n .byte 1, 0x11, 1, 0, 0, 2, 0x34, 0, 0x49, 0x13, 0, 0, 0\n.section .debug_info\n .long 14\n .short 4\n .long 0\n .byte 8, 1, 2\n .long 17\n .byte 0\n",
        "--debug-info",
    ),
    (
        "a tag has more than two bytes",
        ".section .debug_abbrev\n .byte 1\n .uleb128 0x14000\n .byte 2, 0, 0, 0\n",
        "--debug-abbrev",
    ),
    (
        "a line table has segment selectors, and a number for a flag",
        ".section .debug_line\n .long e-b\nb: .short 5\n .byte 8, 1\n .long p-h\nh: .byte 1, 1, 3, 4, 5, 1\n .byte 1, 1, 8, 1\n .asciz \"d\"\n .byte 1, 1, 8, 1\n .asciz \"f\"\np: .byte 0, 1, 1\ne:\n",
        "--debug-line -v",
    ),
    (
        "the directories of a line table have no end",
        ".section .debug_line\n .long e-b\nb: .short 4\n .long p-h\nh: .byte 1, 1, 1, 0xfb, 14, 1\n .asciz \"d\"\np:\ne:\n",
        "--debug-line",
    ),
    (
        "the files of a line table have no end",
        ".section .debug_line\n .long e-b\nb: .short 3\n .long p-h\nh: .byte 1, 1, 0xfb, 14, 1, 0\n .asciz \"f\"\n .byte 0, 0, 0\np:\ne:\n",
        "--debug-line",
    ),
    (
        "the files of a line table are missing",
        ".section .debug_line\n .long e-b\nb: .short 5\n .byte 8, 0\n .long p-h\nh: .byte 1, 1, 1, 0xfb, 14, 1\n .byte 1, 1, 8, 1\n .asciz \"d\"\np:\ne:\n",
        "--debug-line",
    ),
    (
        "a line table is longer than the section",
        ".section .debug_line\n .long 0x1000\n .short 3\n .long p-h\nh: .byte 1, 1, 0xfb, 14, 1, 0\n .asciz \"f\"\n .byte 0, 0, 0, 0\np: .byte 0, 9, 2\n .quad 0x20\n .byte 0, 1, 1\n",
        "--debug-line",
    ),
    (
        "the length of a line table is reserved",
        ".section .debug_line\n .long 0xfffffffe\n",
        "--debug-line",
    ),
    (
        "a kind of macro is not known",
        ".section .debug_macinfo\n .byte 3, 0, 1, 1, 1\n .asciz \"A 1\"\n .byte 9, 0, 0\n",
        "--debug-macro",
    ),
    (
        "a kind of macro is a vendor's",
        ".section .debug_macinfo\n .byte 3, 0, 1, 0xff, 0, 0, 0\n",
        "--debug-macro",
    ),
    (
        "no unit has the strings of macros",
        ".section .debug_macro\n .short 5\n .byte 0\n .byte 0x0b, 1, 0, 0\n",
        "--debug-macro",
    ),
    (
        "an entry of call frame information is longer than the section",
        ".section .eh_frame,\"a\"\n .long 0x100\n",
        "--debug-frame",
    ),
    (
        "range lists are followed by tables that cannot be read",
        ".section .debug_rnglists\n .long 9\n .short 4\n .byte 8, 0\n .long 0\n .byte 0\n .long 9\n .short 5\n .byte 8, 0\n .long 0x12345\n .byte 0\n .long 9\n .short 5\n .byte 8, 0\n .long 0\n .byte 0\n",
        "--debug-rnglists",
    ),
    (
        "a file has line tables and no units",
        ".section .debug_line\n .long e-b\nb: .short 3\n .long p-h\nh: .byte 1, 1, 0xfb, 14, 1\n .asciz \"d\"\n .byte 0\n .asciz \"f\"\n .byte 1, 0, 0\n .asciz \"/g\"\n .byte 0, 0, 0, 0\np:\ne:\n",
        "--show-sources",
    ),
    (
        "no unit has code at an address",
        ".section .debug_abbrev\n .byte 1, 0x11, 0, 0, 0, 0\n.section .debug_info\n .long 8\n .short 4\n .long 0\n .byte 8, 1\n",
        "--lookup=0x10",
    ),
    (
        "only one list is asked for",
        ".section .debug_abbrev\n .byte 1, 0x11, 0, 0, 0, 0\n.section .debug_info\n .long 8\n .short 4\n .long 0\n .byte 8, 1\n.section .debug_loc\n .quad 1, 2\n .short 1\n .byte 0x50\n .quad 0, 0\n",
        "--debug-loc=0",
    ),
    (
        "an address is not in its table",
        ".section .debug_abbrev\n .byte 1, 0x11, 0, 0x73, 0x17, 0x11, 0x1b, 0, 0, 0\n.section .debug_info\n .long e-b\nb: .short 5\n .byte 1, 8\n .long 0\n .byte 1\n .long 8\n .byte 7\ne:\n.section .debug_addr\n .long 12\n .short 5\n .byte 8, 0\n .quad 0x40\n",
        "--debug-info -v",
    ),
    (
        "a location list names an address that is not there",
        ".section .debug_abbrev\n .byte 1, 0x11, 1, 0x73, 0x17, 0, 0, 2, 0x34, 0, 2, 0x17, 0, 0, 0\n.section .debug_info\n .long e-b\nb: .short 5\n .byte 1, 8\n .long 0\n .byte 1\n .long 8\n .byte 2\n .long 12\n .byte 0\ne:\n.section .debug_addr\n .long 12\n .short 5\n .byte 8, 0\n .quad 0x40\n.section .debug_loclists\n .long n-m\nm: .short 5\n .byte 8, 0\n .long 0\n .byte 3, 0, 4, 1, 0x50, 3\n .uleb128 0xdead\n .byte 1, 1, 0x51, 0\nn:\n",
        "--debug-info",
    ),
];

/// A temporary folder.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = format!("hetdwarf-malformed-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ours(options: &str, file: &Path) -> Ran {
    let words = ["dump", "--style", "llvm"].into_iter();
    let words = words.chain(options.split(' ')).map(Into::into);
    hetdwarf(words.chain([file.display().to_string()]))
}

/// Returns llvm-dwarfdump's output, and true if it succeeded.
fn theirs(tool: &Path, options: &str, file: &Path) -> (String, bool) {
    let ran = Command::new(tool)
        .args(options.split(' '))
        .arg(file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    (text, ran.status.success())
}

#[test]
fn what_is_malformed_is_printed_alike() {
    let (Some(tool), Some(assembler)) = (llvm_tool("llvm-dwarfdump"), llvm_tool("llvm-mc")) else {
        return;
    };
    let folder = Folder::new("cases");
    let (source, object) = (folder.0.join("case.s"), folder.0.join("case.o"));
    for (what, text, options) in CASES {
        std::fs::write(&source, text).unwrap();
        let made = Command::new(&assembler)
            .args(["-triple=x86_64-linux-gnu", "-filetype=obj", "-o"])
            .args([&object, &source])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{what}: {said}");
        let (text, is_content) = theirs(&tool, options, &object);
        let ran = ours(options, &object);
        assert_eq!(ran.out, text, "{what}: {}", ran.err);
        assert_eq!(ran.status == 0, is_content, "{what}: {}", ran.err);
    }
}

const PROGRAM: &str =
    "static int g(int n) { return n + 1; }\nint f(int n) {\n  int m = g(n);\n  return m * n;\n}\n";

/// The split units of a skeleton are searched for below its compilation directory, and nowhere else.
#[test]
fn statistics_and_lookups_have_the_split_units() {
    let tools = ["llvm-dwarfdump", "clang"].map(llvm_tool);
    let [Some(tool), Some(clang)] = tools else {
        return;
    };
    let folder = Folder::new("split");
    std::fs::create_dir(folder.0.join("inner")).unwrap();
    std::fs::write(folder.0.join("p.c"), PROGRAM).unwrap();
    let compile = |version: &str, more: &[&str]| {
        let object = folder.0.join("p.o");
        let made = Command::new(&clang)
            .args(["-c", "-O1", "-gsplit-dwarf", "--target=x86_64-linux-gnu"])
            .args([version, "p.c", "-o", "p.o"])
            .args(more)
            .current_dir(&folder.0)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{said}");
        object
    };
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let object = compile(version, &[]);
        for options in ["--statistics", "--lookup=0x1"] {
            let (text, _) = theirs(&tool, options, &object);
            let ran = ours(options, &object);
            assert_eq!(ran.out, text, "{version} {options}: {}", ran.err);
        }
        let found = ours("--statistics", &object);
        assert!(
            found.out.contains("\"#source variables\": 3"),
            "{}",
            found.out
        );

        let inner = format!("-fdebug-compilation-dir={}/inner", folder.0.display());
        let outside = ["-Xclang", "-split-dwarf-file", "-Xclang", "../p.dwo"];
        let object = compile(version, &[&[&*inner], &outside[..]].concat());
        let elsewhere = ours("--statistics", &object);
        assert_eq!(elsewhere.status, 0, "{}", elsewhere.err);
        assert!(
            elsewhere.out.contains("\"#source variables\": 0"),
            "{}",
            elsewhere.out
        );
    }
}
