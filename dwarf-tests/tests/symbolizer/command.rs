//! Checks that `hetdwarf symbolize --format llvm` prints the same as llvm-symbolizer 22, byte by byte.
//!
//! Each object that differs is a row of [`DIFFERENCES`], and is justified in `spec-notes/symbolize.md`.

use std::path::{Path, PathBuf};

use dwarf_tests::Ran;
use hetdwarf::object::CodeObject;
use rayon::prelude::*;

use super::{addresses, objects};

/// The kind of difference of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A relocatable object that is rejected: relocations of its machine are not applied, or its code is in several sections at 0.
    Refused,
    /// llvm-symbolizer finds no lines.
    NoLines,
    /// llvm-symbolizer does not find the split unit, which is in the same file.
    NoSplitUnit,
    /// Functions that a linker dropped are all at 0, where there is no code. The two programs choose different functions.
    DroppedCode,
}

/// The objects that differ, by the end of their path.
const DIFFERENCES: &[(&str, Kind)] = &[
    ("bundle/host-fatbin.o", Kind::Refused),
    ("bundle/object-with-bundle.o", Kind::Refused),
    ("llvm22/calls-gfx90a-O2-et-rel-sections.o", Kind::Refused),
    ("object/calls-gfx90a-O2-et-rel-sections.o", Kind::Refused),
    ("object/host-fatbin.o", Kind::Refused),
    ("object/object-with-bundle.o", Kind::Refused),
    ("object/small-gfx1100-O2-zdebug.hsaco", Kind::NoLines),
    ("object/typeunits-gfx90a-et-rel-gz.o", Kind::Refused),
    ("dwp/single.o", Kind::NoSplitUnit),
    ("shapes/folded.hsaco", Kind::DroppedCode),
];

/// Options for both programs, and the number of addresses at which each object is compared.
const OPTIONS: &[(&[&str], usize)] = &[
    (&[], usize::MAX),
    (&["--no-inlines"], 1000),
    (&["--basenames"], 400),
    (&["--functions=short"], 1000),
    (&["--functions=none", "--no-inlines"], 400),
    (&["--functions=linkage", "--basenames"], 400),
];

/// Lines that are not plain addresses. `PC` stands for an address and `SYMBOL` for a function of the object.
const OTHERS: &[&str] = &[
    "CODE PC",
    "CODE  PC and more",
    "  PC",
    "DATA SYMBOL",
    "SYMBOL",
    "SYMBOL+4",
    "SYMBOL+0x10",
    "SYMBOL+",
    "SYMBOL+0x10000000",
    "CODE SYMBOL+8",
    "nothing",
    "12z",
    "4096",
    "0b1",
    "017",
    "0o17",
    "0xffffffffffffffff",
    "0x1ffffffffffffffff",
    "FILE:a PC",
    "CODE",
    "\"PC\"",
    "PC\tPC",
    "0",
];

fn theirs(path: &Path, options: &[&str], lines: &[String]) -> Vec<u8> {
    let mut found = Vec::new();
    // There are more lines than a command may have arguments.
    for lines in lines.chunks(10_000) {
        let output = std::process::Command::new("llvm-symbolizer-22")
            .arg("--no-debuginfod")
            .args(options)
            .arg(format!("--obj={}", path.display()))
            .args(lines)
            .output()
            .unwrap();
        found.extend(output.stdout);
    }
    found
}

fn ours(path: &Path, options: &[&str], lines: &[String]) -> Ran {
    let start = ["symbolize", "--format", "llvm"].into_iter();
    let arguments = start.chain(options.iter().copied());
    let arguments = arguments.chain([path.to_str().unwrap()]);
    let arguments = arguments.chain(lines.iter().map(String::as_str));
    let arguments = ["hetdwarf"].into_iter().chain(arguments).map(Into::into);
    // Names can have bytes that look like colour codes.
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = hetdwarf_cli::run(arguments, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran {
        out: text(out),
        err: text(err),
        status,
    }
}

fn difference(path: &Path) -> Option<Kind> {
    let path = path.to_str().unwrap();
    let mut rows = DIFFERENCES.iter();
    rows.find_map(|(end, kind)| path.ends_with(end).then_some(*kind))
}

/// Checks the answers of an object that differs.
fn check_difference(kind: Kind, ran: &Ran, theirs: &str) {
    match kind {
        Kind::Refused => assert!(
            ran.status == 2 && ran.err.contains("not linked"),
            "{}",
            ran.err
        ),
        Kind::NoLines => {
            let mut places = theirs.lines().filter(|line| line.contains(':'));
            assert!(
                places.all(|place| matches!(place, "??:0:0" | "??:?")),
                "{theirs}"
            );
            assert_eq!(answers(&ran.out), answers(theirs));
        }
        Kind::DroppedCode => {
            let pairs = ran.out.split("\n\n").zip(theirs.split("\n\n"));
            assert!(pairs.skip(OTHERS.len()).all(|(own, other)| own == other));
        }
        Kind::NoSplitUnit => {
            for (own, other) in ran.out.lines().zip(theirs.lines()) {
                assert!(own == other || other == "??", "{own} and not {other}");
            }
        }
    }
}

fn answers(text: &str) -> usize {
    text.matches("\n\n").count()
}

/// Compares the output for an object with each choice of options. Returns the number of addresses, and the path if there is a difference.
fn compare_output(path: PathBuf) -> (usize, Option<PathBuf>) {
    let file = std::fs::read(&path).unwrap();
    let Ok(object) = CodeObject::parse(&file) else {
        return (0, None);
    };
    let symbols = object.symbols().unwrap_or_default();
    let function = symbols
        .iter()
        .find(|it| it.kind == hetdwarf::object::SymbolKind::Function);
    let function = function.map_or("k", |symbol| &*symbol.name);
    let (mut asked, mut differs) = (0, false);
    for (options, count) in OPTIONS {
        let pcs = addresses(&object, *count);
        let Some(first) = pcs.first() else { continue };
        let other = |line: &&str| {
            line.replace("PC", &format!("{first:#x}"))
                .replace("SYMBOL", function)
        };
        let mut lines: Vec<String> = OTHERS.iter().map(other).collect();
        lines.extend(pcs.iter().map(|pc| format!("{pc:#x}")));
        let (ran, theirs) = (ours(&path, options, &lines), theirs(&path, options, &lines));
        asked += pcs.len();
        let theirs = String::from_utf8(theirs).unwrap();
        let same = ran.out == theirs;
        differs |= !same;
        match difference(&path) {
            Some(kind) => check_difference(kind, &ran, &theirs),
            None if same => assert_eq!(ran.status, 0, "{}: {}", path.display(), ran.err),
            None => {
                let pairs = ran.out.split("\n\n").zip(theirs.split("\n\n")).zip(&lines);
                let wrong = pairs.into_iter().find(|((own, other), _)| own != other);
                panic!("{} {options:?}: {wrong:?}", path.display());
            }
        }
    }
    (asked, differs.then_some(path))
}

#[test]
fn output_is_that_of_llvm_symbolizer() {
    if dwarf_tests::llvm_tool("llvm-symbolizer").is_none() {
        return;
    }
    let compared = objects().into_par_iter().map(compare_output);
    let compared: Vec<(usize, Option<PathBuf>)> = compared.collect();
    let asked: usize = compared.iter().map(|(asked, _)| asked).sum();
    let differing: Vec<PathBuf> = compared.into_iter().filter_map(|(_, path)| path).collect();
    println!("{asked} addresses; {differing:?}");
    let known = objects()
        .iter()
        .filter(|path| difference(path).is_some())
        .count();
    assert!(differing.len() <= known && asked > 400_000);
}
