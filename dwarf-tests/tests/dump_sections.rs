//! Compares every section in `hetdwarf dump --style llvm` with llvm-dwarfdump byte by byte: for the fixtures, and for a small program that
//! clang compiles here with every DWARF version and option. Without the tools these tests are reported as skipped.
//!
//! [`DIFFERENCES`] has the reasons of differences; `spec-notes/dump.md` explains each.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a failure here is a failure of the test"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use dwarf_tests::{fixture, hetdwarf, llvm_tool};
use hetdwarf::dump::Part;

/// A difference between a line of llvm-dwarfdump and a line of hetdwarf.
struct Difference {
    reason: &'static str,
    /// Returns true if the difference explains llvm-dwarfdump's line and hetdwarf's.
    explains: fn(&str, &str) -> bool,
}

/// Returns true if llvm-dwarfdump stops before an operation that hetdwarf knows.
fn is_undecoded(theirs: &str, ours: &str) -> bool {
    theirs
        .split_once("<decoding error> ")
        .is_some_and(|(head, bytes)| {
            let known = ["a0", "a6", "9a", "f0", "fa"];
            known.iter().any(|code| bytes.starts_with(code)) && ours.starts_with(head)
        })
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        reason: "an operation that llvm-dwarfdump does not decode",
        explains: is_undecoded,
    },
    Difference {
        reason: "the location list of DW_AT_LLVM_lane_pc",
        explains: |theirs, ours| {
            theirs.trim_start().starts_with("DW_AT_LLVM_lane_pc")
                && theirs
                    .strip_suffix(')')
                    .is_some_and(|head| ours.starts_with(head))
        },
    },
    Difference {
        reason: "an attribute of the extensions whose code LLVM has given to another one",
        explains: |theirs, ours| {
            let others = [
                "apinotes",
                "ptrauth_",
                "num_extra_inhabitants",
                "stmt_sequence",
            ];
            let is_other = |name| theirs.contains(&format!("DW_AT_LLVM_{name}"));
            others.into_iter().any(is_other)
                && theirs.split('\t').skip(1).eq(ours.split('\t').skip(1))
        },
    },
    Difference {
        reason: "the name of a type: of Rust's usize, or after the brackets of an array",
        explains: |theirs, ours| {
            theirs.replace("usize", "u64") == ours.replace("usize", "u64")
                || (theirs.contains("(*[")
                    && theirs.split("(*[").next() == ours.split("(*[").next())
        },
    },
    Difference {
        reason: "characters that a terminal could obey",
        explains: |theirs, ours| {
            theirs.contains('\u{1b}') || ours.contains("\\u{") || ours.contains("\\x")
        },
    },
    Difference {
        reason: "the zeros that fill up an augmentation string",
        explains: |theirs, ours| theirs.replace('\0', "") == ours && theirs.contains('\0'),
    },
];

/// Returns options for all parts: every part by its own option, and `--all`, which prints only non-empty parts; plain and verbose.
fn options() -> Vec<Vec<String>> {
    let parts = Part::ALL.iter().map(|part| format!("--{}", part.option()));
    let ways = [parts.collect(), vec!["--all".to_owned()]];
    let verbose = |way: Vec<String>| {
        let mut verbose = way.clone();
        verbose.push("-v".to_owned());
        [way, verbose]
    };
    ways.into_iter().flat_map(verbose).collect()
}

/// Returns options for each part alone, plain and verbose.
fn single_options() -> Vec<Vec<String>> {
    let parts = Part::ALL.iter().map(|part| format!("--{}", part.option()));
    parts
        .flat_map(|option| [vec![option.clone()], vec![option, "-v".to_owned()]])
        .collect()
}

/// Returns the output of llvm-dwarfdump.
fn theirs(tool: &Path, file: &Path, arguments: &[String]) -> String {
    let output = Command::new(tool)
        .args(arguments)
        .arg(file)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compares the output of one invocation, and counts the known differences by reason.
fn compare(tool: &Path, file: &Path, arguments: &[String], counts: &mut Vec<(&'static str, u32)>) {
    let theirs = theirs(tool, file, arguments);
    let mut all = vec!["dump".to_owned(), "--style".to_owned(), "llvm".to_owned()];
    all.extend(arguments.iter().cloned());
    all.push(file.display().to_string());
    let ran = hetdwarf(all);
    let name = format!("{} {}", file.display(), arguments.join(" "));
    assert!(!ran.out.is_empty(), "{name}: {}", ran.err);
    if ran.out == theirs {
        return;
    }
    let mut ours = ran.out.split('\n').peekable();
    for line in theirs.split('\n') {
        let our = ours.next().unwrap_or_default();
        if line == our {
            continue;
        }
        let found = DIFFERENCES.iter().find(|known| (known.explains)(line, our));
        let Some(known) = found else {
            panic!("{name}\n  theirs: {line}\n  ours:   {our}");
        };
        match counts
            .iter_mut()
            .find(|(reason, _)| *reason == known.reason)
        {
            Some((_, count)) => *count += 1,
            None => counts.push((known.reason, 1)),
        }
        if our.trim_start().starts_with("DW_AT_LLVM_lane_pc") {
            while ours
                .next_if(|line| line.trim_start().starts_with('['))
                .is_some()
            {}
        }
    }
    assert_eq!(ours.next(), None, "{name}: we print more");
}

/// Collects code objects below a folder that are small enough for a quick test.
fn small_objects(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            small_objects(&path, found);
            continue;
        }
        let data = std::fs::read(&path).unwrap();
        // The file is ELF64, little-endian, for AMDGPU, and not a core.
        let is_object = data.starts_with(b"\x7fELF\x02\x01")
            && data.get(18..20) == Some(&[224, 0])
            && data.get(16) != Some(&4);
        // llvm-dwarfdump knows neither version 6 of DWARF nor sections named `.zdebug_`, and does not stop at endlessly nested types.
        let is_unknown = [
            "dwarf6-as-6.hsaco",
            "small-gfx1100-O2-zdebug.hsaco",
            "made.elf",
        ]
        .iter()
        .any(|name| path.ends_with(name));
        if is_object && data.len() < 20_000 && !is_unknown {
            found.push(path);
        }
    }
}

#[test]
fn every_section_of_the_fixtures_is_the_same() {
    let Some(tool) = llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let mut files = Vec::new();
    // AMDGPU's packages are not compared here: llvm-dwarfdump has no register names in them. Packages for x86-64 are compared below.
    for folder in ["corpus", "object", "debug_info", "shapes", "annotate"] {
        small_objects(&fixture(folder), &mut files);
    }
    files.sort();
    assert!(files.len() > 40, "{}", files.len());
    let mut counts = Vec::new();
    for file in &files {
        for arguments in options() {
            compare(&tool, file, &arguments, &mut counts);
        }
    }
    println!("{} files: {counts:?}", files.len());
}

/// A program with something for every section: macros, a template, a function that is inlined, types and a member function.
const PROGRAM: &str = r#"
#define SQUARE(x) ((x) * (x))
#undef SQUARE
#define FLAG 1
namespace shapes {
enum class Kind : char { Round = 'r', Flat };
template <class T, int N, char C> struct Array { T data[N]; const T &at(int i) const { return data[i]; } };
struct Base { virtual ~Base(); int (Base::*select)(int) const; };
struct Derived : Base { Kind kind; Array<long, 3, 'x'> numbers; unsigned flag : 3; };
static inline int half(int n) { return n / 2; }
}
using Function = void (*)(const char *, ...);
int counter;
static int hidden __attribute__((used)) = 3;
thread_local int local;
__attribute__((noinline)) int sum(int *v, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) { int part = v[i]; total += shapes::half(part); }
  return total;
}
int use(shapes::Derived *d, Function f) {
  int values[4] = {1, 2, counter, FLAG};
  f("%d", sum(values, 4));
  try { f("again"); } catch (int &code) { return code; }
  return d->numbers.at(1) + sum(values, 2) + local + hidden;
}
"#;

/// The ways in which the program is compiled.
const WAYS: &[(&str, &[&str])] = &[
    ("2", &["-gdwarf-2", "-O1"]),
    ("3", &["-gdwarf-3", "-O1"]),
    (
        "4",
        &["-gdwarf-4", "-O1", "-fdebug-macro", "-ggnu-pubnames"],
    ),
    (
        "4-types",
        &["-gdwarf-4", "-O1", "-fdebug-types-section", "-gpubnames"],
    ),
    ("4-sections", &["-gdwarf-4", "-O1", "-ffunction-sections"]),
    (
        "4-split",
        &[
            "-gdwarf-4",
            "-O1",
            "-gsplit-dwarf=single",
            "-fdebug-types-section",
        ],
    ),
    ("5", &["-gdwarf-5", "-O1", "-fdebug-macro", "-gpubnames"]),
    ("5-types", &["-gdwarf-5", "-O0", "-fdebug-types-section"]),
    (
        "5-sections",
        &["-gdwarf-5", "-O1", "-ffunction-sections", "-gembed-source"],
    ),
    ("5-wide", &["-gdwarf-5", "-O1", "-gdwarf64"]),
    (
        "5-split",
        &[
            "-gdwarf-5",
            "-O1",
            "-gsplit-dwarf=single",
            "-ffunction-sections",
        ],
    ),
    ("5-names", &["-gdwarf-5", "-O1", "-gsimple-template-names"]),
];

/// A temporary folder.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("hetdwarf-sections-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles the program for a machine.
fn compiled(clang: &Path, folder: &Path, machine: &str, way: &(&str, &[&str])) -> PathBuf {
    let source = folder.join("program.cpp");
    std::fs::write(&source, PROGRAM).unwrap();
    let object = folder.join(format!("{machine}-{}.o", way.0));
    let ran = Command::new(clang)
        .args(["-c", "program.cpp", "-o"])
        .arg(&object)
        .arg(format!("--target={machine}"))
        .args(way.1)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    object
}

#[test]
fn every_way_to_compile_is_the_same() {
    let (Some(tool), Some(clang)) = (llvm_tool("llvm-dwarfdump"), llvm_tool("clang")) else {
        return;
    };
    let folder = Folder::new();
    let mut counts = Vec::new();
    for machine in ["x86_64-linux-gnu", "aarch64-linux-gnu"] {
        for way in WAYS {
            let object = compiled(&clang, &folder.0, machine, way);
            for arguments in options() {
                compare(&tool, &object, &arguments, &mut counts);
            }
            if way.0 == "5-split" {
                for arguments in single_options() {
                    compare(&tool, &object, &arguments, &mut counts);
                }
            }
        }
    }
    assert!(counts.is_empty(), "{counts:?}");
}

/// The selected entries, and the parents and children printed with them, are the same.
#[test]
fn selections_are_the_same() {
    let (Some(tool), Some(clang)) = (llvm_tool("llvm-dwarfdump"), llvm_tool("clang")) else {
        return;
    };
    let folder = Folder::new();
    let mut counts = Vec::new();
    let selections = [
        "-n total",
        "-n total -p",
        "-n total -n counter -v",
        "-n SUM -i",
        "-n ^(sum|use)$ -x -c",
        "-n Derived -c -r 1",
        "-n Derived -c -t DW_TAG_member",
        "-n part -p --parent-recurse-depth 2",
        "-f sum",
        "-f sum -f counter -c",
        "-f nothing",
        "--debug-info -r 1",
        "--debug-info -F",
        "--debug-info=0xc",
        "--debug-info=0xc -c",
        "--debug-line=0",
        "--debug-line=1",
        "--show-section-sizes",
        "--show-sources",
        "--statistics",
        "--debug-info --debug-types --summarize-types",
    ];
    for way in WAYS {
        let object = compiled(&clang, &folder.0, "x86_64-linux-gnu", way);
        for selection in selections {
            let arguments: Vec<String> = selection.split(' ').map(str::to_owned).collect();
            compare(&tool, &object, &arguments, &mut counts);
        }
    }
    assert!(counts.is_empty(), "{counts:?}");
}

/// Looks up addresses of a linked program: in a function, and in a block. llvm-dwarfdump prints no line for a relocatable object.
#[test]
fn lookups_are_the_same() {
    let tools = ["llvm-dwarfdump", "clang", "ld.lld"].map(llvm_tool);
    let [Some(tool), Some(clang), Some(linker)] = tools else {
        return;
    };
    let folder = Folder::new();
    let mut counts = Vec::new();
    let ways = WAYS
        .iter()
        .filter(|way| matches!(way.0, "3" | "4" | "5" | "5-wide"));
    for way in ways {
        let object = compiled(&clang, &folder.0, "x86_64-linux-gnu", way);
        let linked = folder.0.join("linked");
        let ran = Command::new(&linker)
            .args([
                "--unresolved-symbols=ignore-all",
                "-e",
                "0",
                "-Ttext",
                "0x200000",
                "-o",
            ])
            .args([&linked, &object])
            .output()
            .unwrap();
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        for address in ["0x200001", "0x200018"] {
            let lookup = format!("--lookup={address}");
            compare(&tool, &linked, &[lookup], &mut counts);
        }
    }
    assert!(counts.is_empty(), "{counts:?}");
}

/// A package of two files, and gdb's index of a linked program.
#[test]
fn indices_are_the_same() {
    let tools = ["llvm-dwarfdump", "clang", "llvm-dwp", "ld.lld"].map(llvm_tool);
    let [Some(tool), Some(clang), Some(dwp), Some(linker)] = tools else {
        return;
    };
    let folder = Folder::new();
    let run = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        let ran = command.args(arguments).current_dir(&folder.0).output();
        let ran = ran.unwrap();
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    };
    std::fs::write(folder.0.join("program.cpp"), PROGRAM).unwrap();
    std::fs::write(folder.0.join("other.cpp"), "struct A { int b; } a;").unwrap();
    let mut counts = Vec::new();
    for version in ["4", "5"] {
        let names = [format!("program-{version}.o"), format!("other-{version}.o")];
        for (source, name) in ["program.cpp", "other.cpp"].iter().zip(&names) {
            let dwarf = format!("-gdwarf-{version}");
            run(
                &clang,
                &[
                    "-c",
                    source,
                    "-o",
                    name,
                    "--target=x86_64-linux-gnu",
                    "-O1",
                    "-fPIC",
                    "-gsplit-dwarf",
                    "-fdebug-types-section",
                    "-ggnu-pubnames",
                    &dwarf,
                ],
            );
        }
        let [program, other] = names.each_ref().map(|name| name.replace(".o", ".dwo"));
        let package = format!("both-{version}.dwp");
        run(&dwp, &[&program, &other, "-o", &package]);
        let linked = format!("linked-{version}.so");
        run(
            &linker,
            &[
                "-shared",
                "--gdb-index",
                "-z",
                "undefs",
                "-o",
                &linked,
                &names[0],
                &names[1],
            ],
        );
        for file in [&package, &linked, &program] {
            for arguments in options() {
                compare(&tool, &folder.0.join(file), &arguments, &mut counts);
            }
        }
    }
    assert!(counts.is_empty(), "{counts:?}");
}
