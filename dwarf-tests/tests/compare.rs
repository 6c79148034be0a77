//! Tests `hetdwarf compare` on pairs of objects that are assembled from clang's output for the sources of the corpus. One object of each
//! pair has lost something.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure here is a failure of the test"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::{corpus, fixture, hetdwarf, llvm_tool};
use hetdwarf::coverage::{Comparison, compare};
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use serde_json::Value as Json;

/// The tools that make objects.
struct Tools {
    clang: PathBuf,
    linker: PathBuf,
    dumper: PathBuf,
    folder: PathBuf,
}

impl Tools {
    /// * `name`: the name of the folder for the files.
    fn find(name: &str) -> Option<Tools> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Some(Tools {
            clang: llvm_tool("clang")?,
            linker: llvm_tool("ld.lld")?,
            dumper: llvm_tool("llvm-dwarfdump")?,
            folder,
        })
    }

    fn run(&self, tool: &Path, arguments: &[&str]) {
        let mut command = Command::new(tool);
        let ran = command.args(arguments).current_dir(&self.folder);
        let ran = ran.output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{arguments:?}: {err}");
    }

    /// Returns the assembler text of a source of the corpus.
    fn assembly(&self, source: &str) -> String {
        let path = fixture("corpus/src").join(source);
        let language = ["-x", "cl", "-cl-std=CL2.0", "-nogpulib"];
        let target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100"];
        let sections = ["-O2", "-g", "-ffunction-sections", "-S", "-o", "made.s"];
        let mut all: Vec<&str> = [&language[..], &target, &sections].concat();
        all.push(path.to_str().unwrap());
        self.run(&self.clang, &all);
        let text = std::fs::read_to_string(self.folder.join("made.s")).unwrap();
        with_rows(&text)
    }

    /// Returns the number of bytes in scope that llvm-dwarfdump counts as covered.
    fn covered(&self, object: &[u8]) -> u64 {
        std::fs::write(self.folder.join("counted"), object).unwrap();
        let mut command = Command::new(&self.dumper);
        let ran = command.args(["--statistics", "counted"]);
        let ran = ran.current_dir(&self.folder).output().unwrap();
        let document: Json = serde_json::from_slice(&ran.stdout).unwrap();
        let name = "sum_all_variables(#bytes in parent scope covered by DW_AT_location)";
        document[name].as_u64().unwrap()
    }

    /// Assembles and links a text.
    fn object(&self, text: &str, link: &[&str]) -> Vec<u8> {
        std::fs::write(self.folder.join("a.s"), text).unwrap();
        let target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100"];
        self.run(
            &self.clang,
            &[&target[..], &["-c", "a.s", "-o", "a.o"]].concat(),
        );
        self.run(
            &self.linker,
            &[link, &["-shared", "a.o", "-o", "a.out"]].concat(),
        );
        std::fs::read(self.folder.join("a.out")).unwrap()
    }
}

/// Adds rows to call frame information, which LLVM 22 leaves empty: at every third line s33 gets a rule, or loses it.
fn with_rows(text: &str) -> String {
    let mut made = String::new();
    let (mut count, mut is_inside) = (0, false);
    for line in text.lines() {
        is_inside = (is_inside || line.trim() == ".cfi_startproc") && line.trim() != ".cfi_endproc";
        if is_inside && line.starts_with("\t.loc\t") {
            count += 1;
            if count % 3 == 0 {
                // DW_CFA_undefined or DW_CFA_same_value of s33.
                let code = if count % 2 == 0 { 7 } else { 8 };
                made.push_str(&format!("\t.cfi_escape {code}, 65\n"));
            }
        }
        made.push_str(line);
        made.push('\n');
    }
    made
}

/// Returns the numbers of the lines of a text that contain `what`.
fn lines_with(text: &str, what: &str) -> Vec<usize> {
    let lines = text.lines().enumerate();
    let found = lines.filter(|(_, line)| line.contains(what));
    found.map(|(number, _)| number).collect()
}

/// Returns `count` of the given places, evenly spread.
fn spread(places: &[usize], count: usize) -> Vec<usize> {
    assert!(places.len() >= count, "{} places", places.len());
    (0..count)
        .map(|n| places[n * places.len() / count])
        .collect()
}

/// Returns a text in which some lines are replaced.
fn replaced(text: &str, lines: core::ops::Range<usize>, by: &str) -> String {
    let all: Vec<&str> = text.lines().collect();
    let mut made = all[..lines.start].join("\n");
    made.push('\n');
    made.push_str(by);
    made.push_str(&all[lines.end..].join("\n"));
    made.push('\n');
    made
}

/// Returns the text without the location list entry that starts at a line.
fn without_entry(text: &str, at: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_next = |line: &str| line.contains("DW_LLE_");
    let size = lines[at + 1..]
        .iter()
        .position(|line| is_next(line))
        .unwrap();
    replaced(text, at..at + 1 + size, "")
}

/// Returns the text with a location list entry that ends four bytes after its start.
fn with_short_entry(text: &str, at: usize) -> String {
    let start = text.lines().nth(at + 1).unwrap();
    let end = start.replacen("-.L", "+4-.L", 1);
    replaced(text, at + 2..at + 3, &format!("{end}\n"))
}

/// Returns the text without a variable: its entry gets an abbreviation with the same attributes and another tag.
fn without_variable(text: &str, at: usize) -> String {
    let line = text.lines().nth(at).unwrap();
    let number = line.split(['[', ']']).nth(1).unwrap();
    let changed = replaced(text, at..at + 1, "\t.byte 100\n");
    let first = format!("\t.byte\t{number} ");
    let lines: Vec<&str> = changed.lines().collect();
    let is_it = |line: &str| line.starts_with(&first) && line.contains("Abbreviation Code");
    let start = lines.iter().position(|line| is_it(line)).unwrap();
    let size = lines[start..]
        .iter()
        .position(|line| line.contains("EOM(2)"));
    let attributes = lines[start + 2..=start + size.unwrap()].join("\n");
    // DW_TAG_label.
    let abbreviation = format!("\t.byte 100\n\t.byte 10\n{attributes}\n");
    replaced(&changed, start..start, &abbreviation)
}

fn compared(old: &[u8], new: &[u8]) -> Comparison {
    let (before, after) = (
        CodeObject::parse(old).unwrap(),
        CodeObject::parse(new).unwrap(),
    );
    let (before, after) = (
        Program::load(&before).unwrap(),
        Program::load(&after).unwrap(),
    );
    let found = compare(&before, &after);
    assert!(found.is_complete && found.matched > 0);
    found
}

/// Returns the number of variables that lost coverage, and of variables that gained.
fn changes(found: &Comparison) -> [usize; 2] {
    let variables = found.functions.iter().flat_map(|one| &one.variables);
    let (lost, gained): (Vec<_>, Vec<_>) = variables.partition(|one| one.is_loss());
    [lost.len(), gained.len()]
}

fn differences(found: &Comparison) -> [usize; 2] {
    let rows = found.functions.iter().map(|one| one.rows.len()).sum();
    let lines = found.functions.iter().map(|one| one.lines.len()).sum();
    [rows, lines]
}

/// Each of over twenty losses is planted in an object that is otherwise the same.
#[test]
fn planted_losses_are_found() {
    let Some(tools) = Tools::find("compare-losses") else {
        return;
    };
    let mut pairs = 0;
    for source in ["calls.cl", "inlined.cl"] {
        let text = tools.assembly(source);
        let old = tools.object(&text, &[]);
        assert!(compared(&old, &old).functions.is_empty());
        let entries = lines_with(&text, "DW_LLE_offset_pair");
        let is_variable = |at: &usize| {
            let line = text.lines().nth(*at).unwrap();
            ["DW_TAG_formal_parameter", "DW_TAG_variable"]
                .iter()
                .any(|tag| line.ends_with(tag))
        };
        let variables = lines_with(&text, "Abbrev [");
        let with_location = |at: &usize| {
            let rest = text.lines().skip(*at + 1);
            let mut own = rest.take_while(|line| !line.contains("Abbrev ["));
            own.any(|line| line.contains("DW_AT_location"))
        };
        let variables: Vec<usize> = variables
            .into_iter()
            .filter(is_variable)
            .filter(with_location)
            .collect();
        let losses = spread(&entries, 6)
            .into_iter()
            .map(|at| ("an entry less", without_entry(&text, at)))
            .chain(
                spread(&entries, 4)
                    .into_iter()
                    .map(|at| ("a shorter entry", with_short_entry(&text, at))),
            )
            .chain(
                spread(&variables, 4)
                    .into_iter()
                    .map(|at| ("a variable less", without_variable(&text, at))),
            );
        for (what, changed) in losses {
            let new = tools.object(&changed, &[]);
            if tools.covered(&new) == tools.covered(&old) {
                // The entry was already that short, or is outside of the scope.
                continue;
            }
            let found = compared(&old, &new);
            assert_eq!(changes(&found), [1, 0], "{source}: {what}: {found:#?}");
            assert_eq!(differences(&found), [0, 0], "{source}: {what}");
            assert!(found.fell_by_more_than(0.0), "{source}: {what}");
            assert!(!found.fell_by_more_than(100.0), "{source}: {what}");
            // In the other direction, the change is a gain.
            let back = compared(&new, &old);
            assert_eq!(changes(&back), [0, 1], "{source}: {what}");
            assert!(!back.fell_by_more_than(0.0), "{source}: {what}");
            pairs += 1;
        }
        let rows = lines_with(&text, ".cfi_escape");
        let inner: Vec<usize> = lines_with(&text, "\t.loc\t")
            .into_iter()
            .filter(|at| !text.lines().nth(*at).unwrap().contains("prologue_end"))
            .collect();
        let others = spread(&rows, 3)
            .into_iter()
            .map(|at| (0, replaced(&text, at..at + 1, "")))
            .chain(spread(&inner, 3).into_iter().map(|at| {
                let line = text.lines().nth(at).unwrap();
                let mut words: Vec<&str> = line.split(' ').collect();
                words[1] = "4321";
                (
                    1,
                    replaced(&text, at..at + 1, &format!("{}\n", words.join(" "))),
                )
            }));
        for (kind, changed) in others {
            let new = tools.object(&changed, &[]);
            let found = compared(&old, &new);
            assert_eq!(changes(&found), [0, 0], "{source}");
            let mut counts = differences(&found);
            assert!(counts[kind] > 0, "{source}: {found:#?}");
            counts[kind] = 0;
            assert_eq!(counts, [0, 0], "{source}: {found:#?}");
            assert!(!found.fell_by_more_than(0.0), "{source}");
            pairs += 1;
        }
    }
    assert!(pairs >= 35, "{pairs}");
}

/// Neither the addresses of code and data nor the order of sections make a difference.
#[test]
fn other_places_are_no_difference() {
    let Some(tools) = Tools::find("compare-places") else {
        return;
    };
    let text = tools.assembly("calls.cl");
    let old = tools.object(&text, &[]);
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("\t.type\t")?.split(',').next())
        .collect();
    let order: Vec<String> = names.iter().rev().map(|name| format!("{name}\n")).collect();
    std::fs::write(tools.folder.join("order"), order.concat()).unwrap();
    for link in [
        &["-Ttext=0x20000"][..],
        &["--image-base=0x100000"],
        &["--symbol-ordering-file=order"],
    ] {
        let new = tools.object(&text, link);
        assert_ne!(old, new, "{link:?}");
        let found = compared(&old, &new);
        assert!(found.functions.is_empty(), "{link:?}: {found:#?}");
        assert!(found.only_old.is_empty() && found.only_new.is_empty());
        assert!(found.matched > 5, "{link:?}");
    }
}

/// Every object of the corpus is equal to itself.
#[test]
fn equal_objects_are_equal() {
    let mut matched = 0;
    for path in corpus() {
        let file = std::fs::read(&path).unwrap();
        let Ok(object) = CodeObject::parse(&file) else {
            continue;
        };
        let program = Program::load(&object).unwrap();
        let found = compare(&program, &program);
        let name = path.display();
        assert!(
            found.functions.is_empty(),
            "{name}: {:?}",
            found.functions.first()
        );
        assert!(
            found.only_old.is_empty() && found.only_new.is_empty(),
            "{name}"
        );
        assert!(!found.fell_by_more_than(0.0), "{name}");
        matched += found.matched;
    }
    assert!(matched > 900, "{matched}");
}

/// Tests the output and exit statuses of the command.
#[test]
fn the_command_tells_what_fell() {
    let [o0, o2] = ["O0", "O2"].map(|level| {
        let path = format!("fixtures/corpus/llvm22/small-gfx90a-{level}-dwarf4.hsaco");
        assert!(dwarf_tests::package().join(&path).exists(), "{path}");
        path
    });
    let ran = hetdwarf(["compare", &o0, &o2]);
    insta::assert_snapshot!("compare", ran.out);
    assert_eq!((ran.status, ran.err.as_str()), (1, ""));
    let ran = hetdwarf(["compare", &o0, &o2, "--tolerance", "100"]);
    assert_eq!(ran.status, 0);
    let ran = hetdwarf(["compare", &o0, &o0, "--format", "json"]);
    let document: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["format"], "hetdwarf-compare/1");
    assert_eq!((ran.status, &document["fell"]), (0, &Json::from(false)));
    assert_eq!(document["functions"], Json::Array(Vec::new()));
    assert_eq!(hetdwarf(["compare", &o0, "none"]).status, 2);
    assert_eq!(
        hetdwarf(["compare", &o0, &o0, "--tolerance", "-1"]).status,
        2
    );
}

/// The same source for two targets.
#[test]
fn different_targets_are_named() {
    let [old, new] = ["gfx90a-O2-dwarf4", "gfx1100-O2-gz-zlib"]
        .map(|name| format!("fixtures/corpus/llvm22/small-{name}.hsaco"));
    let line = format!("{old} is for gfx90a, {new} is for gfx1100\n");
    let ran = hetdwarf(["compare", &old, &new]);
    assert!(ran.out.starts_with(&line), "{}", ran.out);
    let ran = hetdwarf(["compare", &old, &old]);
    assert!(!ran.out.contains(" is for "), "{}", ran.out);
}

/// A wrong path, or a compiler that renames its kernels, must not pass.
#[test]
fn nothing_in_common_is_an_error() {
    let folder = "fixtures/corpus/llvm22";
    let objects = ["pressure-gfx90a-O2", "tile-gfx1201-O2"];
    let [old, new] = objects.map(|name| format!("{folder}/{name}.hsaco"));
    let ran = hetdwarf(["compare", &old, &new]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("nothing was compared"), "{}", ran.err);
    assert!(ran.out.contains("only the old version has "), "{}", ran.out);
}

/// The total coverage rose, but two functions lost: in `scalar_heavy`, 47.8 of 100 bytes had a location, and now 43.4 have one. In
/// `live_across` it was 12.9, and is now 12.0 (llvm-dwarfdump --statistics has the sums).
#[test]
fn the_verdict_names_the_functions_that_fell() {
    let [old, new] =
        ["llvm22", "llvm24"].map(|llvm| format!("fixtures/corpus/{llvm}/pressure-gfx90a-O2.hsaco"));
    let ran = hetdwarf(["compare", &old, &new]);
    assert_eq!(ran.status, 1);
    let mut lines = ran.out.lines();
    let (verdict, total) = (lines.next().unwrap(), lines.next().unwrap());
    let falls =
        "coverage fell by more than 0 percentage points in 2 of 6 functions: scalar_heavy by 4.";
    assert!(verdict.starts_with(falls), "{verdict}");
    assert!(verdict.contains(", live_across by 0."), "{verdict}");
    assert!(total.starts_with("6 functions: 24.9 % "), "{total}");
}
