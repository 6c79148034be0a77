//! Tests the command line: its text output, its exit statuses, and that JSON output is valid.
//!
//! The expected texts are in `snapshots/`, and are reviewed like code. Other tests check the values in them (`variables.rs`, `object.rs`).
//! The values of the built-in example are checked here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::path::{Path, PathBuf};

use dwarf_tests::{Ran, hetdwarf, package};
use insta::assert_snapshot;
use serde_json::Value;

/// Runs a command whose arguments have no spaces. The tests run in the folder of the package.
fn run(arguments: &str) -> Ran {
    hetdwarf(arguments.split_whitespace())
}

/// Runs a command that must succeed, and returns its output.
fn done(arguments: &str) -> String {
    let ran = run(arguments);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments}");
    ran.out
}

/// Returns the arguments of `vars` for a wave of a case, with more arguments.
fn vars(case: &str, wave: &str, more: &str) -> String {
    format!(
        "vars fixtures/waves/{case}/{case}.rocm.hsaco --wave fixtures/waves/{case}/{wave}.json {more}"
    )
}

#[test]
fn help() {
    let all = done("--help");
    let commands = all.split_once("Commands:\n").unwrap().1;
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let commands = lines.map(|line| line.split_whitespace().next().unwrap());
    // `verify_command` has the help of `verify`.
    for command in commands.filter(|command| !["verify", "help"].contains(command)) {
        assert_snapshot!(
            format!("help-{command}"),
            done(&format!("{command} --help"))
        );
    }
    assert_snapshot!("help", all);
    assert!(done("--version").starts_with("hetdwarf "));
}

/// `print.rs` checks the values; this test checks their layout.
#[test]
fn print() {
    let ask = |case: &str, wave: &str, more: &[&str]| {
        let object = format!("fixtures/waves/{case}/{case}.rocm.hsaco");
        let wave = format!("fixtures/waves/{case}/{wave}.json");
        let arguments = ["print", &object, "--wave", &wave]
            .into_iter()
            .chain(more.iter().copied());
        let ran = hetdwarf(arguments);
        format!("{}---\n{}--- status {}\n", ran.out, ran.err, ran.status)
    };
    let more = [
        "a * x + 7",
        "x / (a - 3)",
        "&a",
        "g",
        "sizeof(int[3])",
        "a ? x : 0",
    ];
    assert_snapshot!("print-lanes", ask("calls-O2", "w06", &more));
    let more = [
        "--lane",
        "0-3,7",
        "r->in",
        "r->y[0]@2",
        "r->yy",
        "*r->x",
        "want",
        "$sp",
    ];
    assert_snapshot!("print-errors", ask("structs", "w08", &more));
    let more = ["--frame", "1", "a + 1", "b"];
    assert_snapshot!("print-caller", ask("calls-O2", "w06", &more));
}

#[test]
fn information() {
    for (name, path) in [
        ("calls", "corpus/llvm24/calls-gfx90a-O0.hsaco"),
        ("xnack", "corpus/llvm22/small-gfx90a-xnack+-O2.hsaco"),
        ("generic", "corpus/llvm22/small-gfx11-generic-O0.hsaco"),
        ("compressed", "corpus/llvm22/small-gfx1100-O2-gz-zstd.hsaco"),
        ("unlinked", "corpus/llvm22/small-gfx90a-O0-et-rel.o"),
        ("units", "corpus/llvm22/units-gfx90a.hsaco"),
        ("dwarf64", "corpus/llvm22/small-gfx942-O2-dwarf64.hsaco"),
        ("split", "corpus/llvm22/split-gfx90a-O2.hsaco"),
        ("no-debug", "corpus/llvm22/small-gfx90a-O2-nodebug.hsaco"),
        ("gcc", "corpus/gcc12/offload-gfx900-O0.hsaco"),
        ("several", "corpus/bundle/ccob3.hipfb"),
        ("host", "corpus/bundle/host-fatbin.o"),
    ] {
        assert_snapshot!(
            format!("info-{name}"),
            done(&format!("info fixtures/{path}"))
        );
    }
    let one = done("info fixtures/corpus/bundle/ccob3.hipfb --target gfx90a");
    assert_eq!(
        one,
        done("info fixtures/corpus/bundle/ccob3.hipfb --index 0")
    );
    assert!(one.starts_with("gfx90a\n"), "{one}");
}

#[test]
fn registers() {
    assert_snapshot!("regs", done("regs"));
    assert_snapshot!("regs-gfx90a", done("regs --target gfx90a:xnack+"));
    assert_snapshot!("regs-wave32", done("regs --wave-size 32 --target gfx1100"));
    assert_snapshot!("regs-v0-v2", done("regs v0-v2"));
    // USAGE "Register Identifier": VGPR0 to VGPR255 of wave64 are 2560 to 2815.
    for name in ["2602", "0xa2a", "2602-2602"] {
        assert!(
            done(&format!("regs {name}")).contains("\n2602   v42   VGPR42  2048  64"),
            "{name}"
        );
    }
    assert!(done("regs v42 --wave-size 64").contains("\n2602 "));
    // Reserved numbers share one row.
    assert_eq!(done("regs 1200-1300").lines().count(), 2);
}

#[test]
fn variables() {
    for (name, arguments) in [
        ("inlined", vars("calls-O2", "w17", "")),
        ("caller", vars("recursion", "w06", "--frame 2")),
        ("wave64", vars("loops-gfx90a", "w07", "")),
        ("wide", vars("structs", "w10", "--name [!r]*")),
        ("lane", vars("structs", "w10", "--lane 12")),
        (
            "legacy",
            "vars fixtures/waves/lds/lds.hsaco --wave fixtures/waves/lds/w14.json".into(),
        ),
        (
            "by-the-letter",
            "vars fixtures/waves/lds/lds.hsaco --wave fixtures/waves/lds/w14.json --strict".into(),
        ),
    ] {
        assert_snapshot!(format!("vars-{name}"), run(&arguments).out);
    }
}

/// 0xe1 is `DW_OP_LLVM_form_aspace_address` in the codes of 2020 to 2022, and nothing today; lit0 and lit6 are the address 0 in `private_wave`.
#[test]
fn the_dialect_is_that_of_the_bytes() {
    let eval = |dialect: &str| hetdwarf(["eval", "--hex", "30 36 e1", "--dialect", dialect]);
    let ran = eval("one-byte");
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (0, "private_wave#0x0\n"),
        "{}",
        ran.err
    );
    let ran = eval("user");
    assert_eq!(ran.status, 1, "{}", ran.out);
    assert!(
        ran.out.contains("unknown operation 0xe1"),
        "{}{}",
        ran.out,
        ran.err
    );
}

/// Entries that an expression refers to are read as in `vars`. The location of `a` of `mid`, the entry at 0x7c of the object that LLVM
/// writes without the extensions, is `fbreg +4, lit5, swap, xderef`. Exactly as specified this is a value of 64 bits, but LLVM means a
/// place in private memory. `truth.json`: `a` is 3 in lane 3, and 5 in lane 5.
#[test]
fn eval_reads_what_an_expression_refers_to_as_vars_does() {
    let object = "--object fixtures/waves/calls/calls.hsaco --wave fixtures/waves/calls/w02.json";
    // 0x99 is DW_OP_call4 with an offset in the unit (DWARF 5 §2.5.1.5).
    let options = "--tolerant --frame 0 --lane 3,5 --read 32 --format json --hex 997c000000";
    let answer: Value = serde_json::from_str(&done(&format!("eval {object} {options}"))).unwrap();
    let lanes = answer["lanes"].as_array().unwrap();
    let read: Vec<&str> = lanes
        .iter()
        .map(|lane| lane["read"]["bytes"].as_str().unwrap())
        .collect();
    assert_eq!(read, ["03000000", "05000000"]);
    let place = &lanes[0]["result"]["places"][0];
    assert_eq!(place["address_space"], "private_lane", "{place}");
}

/// Without a wave, entries are read in the same way: `line`, the entry at 0x34, is `addrx 0, lit3, swap, xderef`. Exactly as specified it
/// is read from local memory, but LLVM means a place there: its start, or the address that a later link assigns.
#[test]
fn eval_without_a_wave_reads_entries_as_they_are_meant() {
    let object = "--object fixtures/corpus/llvm22/lds-gfx1100-O2.hsaco";
    // DW_OP_call4, as above.
    let options = "--format json --hex 9934000000";
    let error = |reading: &str| {
        let out = run(&format!("eval {object} {reading} {options}")).out;
        let answer: Value = serde_json::from_str(&out).unwrap();
        answer["lanes"][0]["error"].clone()
    };
    let meant = error("--tolerant");
    assert_eq!(meant["kind"], "ambiguous", "{meant}");
    let message = meant["message"].as_str().unwrap();
    assert!(message.contains("its address in local memory"), "{message}");
    let by_the_letter = error("");
    assert_ne!(by_the_letter["kind"], "ambiguous", "{by_the_letter}");
}

#[test]
fn tables_fit_the_terminal() {
    for width in [40, 61, 200] {
        let arguments = vars("loops-gfx90a", "w07", "");
        let arguments = ["hetdwarf"]
            .into_iter()
            .chain(arguments.split_whitespace())
            .map(Into::into);
        let (mut out, mut err) = (anstream::StripStream::new(Vec::new()), Vec::new());
        assert_eq!(
            hetdwarf_cli::run_with_width(arguments, width, &mut out, &mut err),
            0
        );
        let text = String::from_utf8(out.into_inner()).unwrap();
        let tables: Vec<_> = text.lines().skip(1).collect();
        assert!(
            tables.iter().all(|line| line.chars().count() <= width),
            "{width}:\n{text}"
        );
        // The width is used: two more columns would not fit.
        assert!(
            tables.iter().any(|line| line.chars().count() + 12 > width),
            "{width}:\n{text}"
        );
        let lanes = tables
            .iter()
            .filter(|line| line.starts_with("lane "))
            .flat_map(|line| line.split_whitespace().skip(1));
        assert!(
            lanes.eq((0..64).map(|lane| lane.to_string())),
            "{width}:\n{text}"
        );
    }
}

#[test]
fn colours_are_there_to_be_removed() {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(
        hetdwarf_cli::run(["hetdwarf", "demo"].map(Into::into), &mut out, &mut err),
        0
    );
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("\u{1b}[1m"));
    assert!(!done("demo").contains('\u{1b}'));
}

#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = done(&format!("completions {shell}"));
        assert!(
            script.contains("unwind") && script.contains("demo"),
            "{shell}: {script}"
        );
    }
}

/// There is a page for the command and for each documented subcommand, and `man` can show it.
#[test]
fn manual_pages() {
    let folder = Folder::new("man");
    assert_eq!(done(&format!("man {}", folder.0.display())), "");
    let help = done("--help");
    assert!(!help.lines().any(|line| line.starts_with("  man ")));
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut expected: Vec<String> = commands
        .filter(|name| !["", "help"].contains(name))
        .map(|name| format!("hetdwarf-{name}.1"))
        .collect();
    assert!(expected.len() > 10, "{help}");
    expected.push("hetdwarf.1".to_owned());
    expected.sort();
    let mut pages: Vec<String> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    assert_eq!(pages, expected);
    let page = std::fs::read_to_string(folder.0.join("hetdwarf-verify.1")).unwrap();
    assert!(page.contains("\n.TH hetdwarf-verify 1 "), "{page}");
    assert!(page.contains("\\-\\-source\\-dir"), "{page}");
}

/// A folder for a test's files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("hetdwarf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// Returns an x86-64 object without sections, which is only a header.
fn host_object() -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    // ET_REL, EM_X86_64, EV_CURRENT; the sizes of header and section header.
    for (at, value) in [(16, 1), (18, 62), (20, 1), (52, 64), (58, 64)] {
        header[at] = value;
    }
    header
}

const GOOD: &str = "fixtures/waves/calls/calls.rocm.hsaco";
const STOP: &str = "fixtures/waves/calls/w09.json";
const SEVERAL: &str = "fixtures/corpus/bundle/ccob3.hipfb";

/// Runs commands that fail, each with a text that its message must contain. The message is one line on standard error, and nothing is on
/// standard output. Returns the commands and messages.
fn messages(folder: &Folder, commands: &[(&str, &str)]) -> String {
    let folder = folder.0.to_str().unwrap();
    let mut text = String::new();
    for (arguments, names) in commands {
        let arguments = arguments
            .replace("GOOD", GOOD)
            .replace("STOP", STOP)
            .replace("SEVERAL", SEVERAL);
        let ran = run(&arguments.replace("TMP", folder));
        let err = ran.err.replace(folder, "TMP");
        assert_eq!(
            (ran.status, ran.out.as_str()),
            (2, ""),
            "{arguments}\n{err}"
        );
        assert!(
            err.starts_with("error: ") && err.contains(names),
            "{arguments}\n{err}"
        );
        // A list of valid choices may follow.
        assert!(
            err.lines().count() == 1 || err.contains("; choose one of:\n"),
            "{arguments}\n{err}"
        );
        text.push_str(&format!("$ hetdwarf {arguments}\n{err}"));
    }
    text
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = Folder::new("wrong");
    let object = read(GOOD);
    let wave = String::from_utf8(read(STOP)).unwrap();
    let other_format = wave.replace("hetdwarf-wave/1", "hetdwarf-wave/9");
    folder.file("half.hsaco", &object[..object.len() / 2]);
    folder.file("header.hsaco", &object[..40]);
    folder.file("empty.hsaco", &[]);
    folder.file("text.hsaco", b"not an ELF file at all");
    folder.file("host.o", &host_object());
    folder.file("broken.json", &wave.as_bytes()[..wave.len() / 2]);
    folder.file("format.json", other_format.as_bytes());
    folder.file(
        "negative.json",
        &with(&wave, "\"wave_size\":32", "\"wave_size\":-1"),
    );
    folder.file("mistyped.json", &with(&wave, "load_address", "load_adress"));
    folder.file("target.json", &with(&wave, "gfx1100", "sm_90"));
    let wave64 = with(&wave, "\"wave_size\":32", "\"wave_size\":64");
    folder.file("wave64.json", &without_lists(&wave64));
    let gfx90a = with(&wave, "gfx1100", "gfx90a");
    folder.file("gfx90a.json", &gfx90a);
    let bundle = read(SEVERAL);
    folder.file("half.hipfb", &bundle[..bundle.len() / 2]);
    let commands = [
        ("info TMP/half.hipfb", "half.hipfb"),
        ("vars GOOD --wave TMP/negative.json", "found -1"),
        (
            "vars GOOD --wave TMP/mistyped.json",
            "did you mean \"load_address\"?",
        ),
        ("vars GOOD --wave TMP/target.json", "`sm_90`"),
        ("eval --expr lit0 --wave TMP/target.json", "`sm_90`"),
        ("vars GOOD --wave TMP/wave64.json", "wave64.json: "),
        ("unwind GOOD --wave TMP/wave64.json", "wave64.json: "),
        ("lane-pc GOOD --wave TMP/wave64.json", "wave64.json: "),
        (
            "eval --expr lit0 --object GOOD --wave TMP/wave64.json",
            "wave64.json: ",
        ),
        ("eval --expr lit0 --wave TMP/gfx90a.json", "gfx90a.json: "),
        ("vars SEVERAL --target gfx90a --wave STOP", "gfx90a"),
        ("vars missing.hsaco --wave STOP", "missing.hsaco"),
        ("vars GOOD --wave missing.json", "missing.json"),
        ("vars fixtures --wave STOP", "fixtures"),
        ("vars TMP/half.hsaco --wave STOP", "half.hsaco"),
        ("vars TMP/header.hsaco --wave STOP", "header.hsaco"),
        ("vars TMP/empty.hsaco --wave STOP", "empty.hsaco"),
        ("vars TMP/text.hsaco --wave STOP", "text.hsaco"),
        ("vars TMP/host.o --wave STOP", "host.o"),
        ("vars GOOD --wave TMP/broken.json", "broken.json"),
        ("vars GOOD --wave TMP/format.json", "format.json"),
        ("unwind missing.hsaco --wave STOP", "missing.hsaco"),
        ("unwind GOOD --wave TMP/broken.json", "broken.json"),
        ("eval --batch missing.jsonl --format json", "missing.jsonl"),
        ("info missing.hsaco", "missing.hsaco"),
        ("info TMP/half.hsaco", "half.hsaco"),
    ];
    assert_snapshot!("errors-files", messages(&folder, &commands));
}

/// Returns a text in which one part, which must occur, is replaced.
fn with(text: &str, old: &str, new: &str) -> Vec<u8> {
    assert!(text.contains(old), "{old}");
    text.replace(old, new).into_bytes()
}

/// Returns a snapshot without its vector registers.
fn without_lists(snapshot: &[u8]) -> Vec<u8> {
    let mut snapshot: Value = serde_json::from_slice(snapshot).unwrap();
    let registers = snapshot["registers"].as_object_mut().unwrap();
    registers.retain(|_, value| !value.is_array());
    serde_json::to_vec(&snapshot).unwrap()
}

/// A wave on another processor of the same kind is shown, with a warning.
#[test]
fn a_wave_on_another_processor_is_told() {
    let folder = Folder::new("processor");
    let wave = String::from_utf8(read(STOP)).unwrap();
    folder.file("other.json", &with(&wave, "gfx1100", "gfx1030"));
    let other = folder.0.join("other.json");
    let other = other.to_str().unwrap();
    for command in [
        format!("vars {GOOD}"),
        format!("unwind {GOOD}"),
        format!("lane-pc {GOOD}"),
        format!("eval --expr lit0 --object {GOOD}"),
    ] {
        let expected = done(&format!("{command} --wave {STOP}"));
        let ran = run(&format!("{command} --wave {other}"));
        let warning =
            format!("warning: {other}: the wave runs on gfx1030, but the code is for gfx1100\n");
        assert_eq!(
            (ran.out, ran.err, ran.status),
            (expected, warning, 0),
            "{command}"
        );
    }
    // Code for a generic processor runs on the processors that it covers.
    let generic = "fixtures/corpus/llvm22/small-gfx11-generic-O0.hsaco";
    let ran = run(&format!("unwind {generic} --wave {STOP}"));
    assert_eq!(ran.err, "");
}

/// Every command that takes a `.dwo` file finds functions and lanes with it.
#[test]
fn a_dwo_file_is_used() {
    let folder = Folder::new("dwo");
    let object = "fixtures/corpus/llvm22/split-gfx90a-O2.hsaco";
    // llvm-nm: the function `helper` is at 0x1600. The skeleton only names functions with inlined calls.
    let wave = r#"{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "0x1600",
        "registers": {"exec": "0xff"}, "memory": []}"#;
    folder.file("stop.json", wave.as_bytes());
    let wave = folder.0.join("stop.json");
    // Without the file, only the symbol is known.
    for command in ["unwind", "lane-pc"] {
        let arguments = format!("{command} {object} --wave {}", wave.display());
        let alone = done(&arguments);
        let with_dwo = done(&format!(
            "{arguments} --dwo fixtures/corpus/llvm22/small.dwo"
        ));
        assert!(
            alone.contains("helper") && with_dwo.contains("helper"),
            "{alone}{with_dwo}"
        );
        let is_symbol = |text: &str| text.contains("helper+0x0 (symbol) at small.cl:5");
        assert_eq!(is_symbol(&alone), command == "unwind", "{alone}");
        assert!(!is_symbol(&with_dwo), "{with_dwo}");
    }
}

#[test]
fn values_of_options_that_make_no_sense_are_named() {
    let commands = [
        ("vars GOOD --wave STOP --lane thirteen", "thirteen"),
        ("vars GOOD --wave STOP --lane 32", "--lane 32"),
        ("vars GOOD --wave STOP --lane 64", "--lane 64"),
        ("unwind GOOD --wave STOP --lane 32", "--lane 32"),
        ("unwind GOOD --wave STOP --lane 300", "--lane 300"),
        ("unwind GOOD --wave STOP --lane 3-1", "--lane 3-1"),
        (
            "vars GOOD --wave STOP --lane 1-3,64",
            "\"64\" is not a lane",
        ),
        ("eval --expr lit0 --wave STOP --lane 0-32", "--lane 0-32"),
        ("vars GOOD --wave STOP --name [a", "[a"),
        ("vars GOOD --wave STOP --children", "--format json"),
        ("vars GOOD --wave STOP --frame 99", "99"),
        ("vars GOOD --wave STOP --target gfx90a", "gfx90a"),
        ("vars GOOD --wave STOP --index 1", "number 1"),
        ("vars SEVERAL --wave STOP", SEVERAL),
        ("vars SEVERAL --wave STOP --target gfx906", "gfx906"),
        ("eval --hex 1g", "1g"),
        ("eval --expr DW_OP_what", "--expr: "),
        ("eval --expr lit0 --initial-stack what", "--initial-stack: "),
        (
            "eval --expr lit0 --object-location what",
            "--object-location: ",
        ),
        // The first entry of the object is at 0xc.
        ("dump GOOD --die 0x3", "--die 0x3"),
        ("dump GOOD --die 0x3 --format json", "--die 0x3"),
        ("dump GOOD --die 0xd", "--die 0xd"),
        ("info SEVERAL --target gfx906", "gfx906"),
        ("info SEVERAL --index 7", "number 7"),
        ("regs q7", "q7"),
        ("regs v7-v0", "v7-v0"),
        ("regs 5000", "5000"),
        ("regs --target gfx9999", "gfx9999"),
    ];
    assert_snapshot!(
        "errors-options",
        messages(&Folder::new("options"), &commands)
    );
}

/// An error of the argument parser can have several lines, because it includes suggestions.
#[test]
fn wrong_options_are_no_answer_either() {
    for arguments in [
        "",
        "undo",
        "vars",
        "vars a.hsaco",
        "vars a.hsaco --wave w.json --strict --tolerant",
        "vars a.hsaco --wave w.json --frame -1",
        "vars a.hsaco --wave w.json --lane -1",
        "vars a.hsaco --wave w.json --frame none",
        "vars a.hsaco --wave w.json --depth -1",
        "vars a.hsaco --wave w.json --children 17",
        "vars a.hsaco --wave w.json --format xml",
        "eval",
        "eval --expr lit0 --hex 30",
        "core",
        "import",
        "info",
        "info a --target gfx90a --index 0",
        "regs --wave-size 16",
        "completions tcsh",
        "demo --loud",
    ] {
        let ran = run(arguments);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments}");
        assert!(
            ran.err.contains("Usage: hetdwarf") || ran.err.starts_with("error: "),
            "{arguments}: {}",
            ran.err
        );
    }
}

#[test]
fn json_is_one_document() {
    let object = "fixtures/waves/calls/calls.rocm.hsaco";
    let wave = "--wave fixtures/waves/calls/w09.json";
    for (arguments, format) in [
        (format!("vars {object} {wave}"), "hetdwarf-vars/2"),
        (format!("vars {object} {wave} --lane 4"), "hetdwarf-vars/2"),
        (format!("unwind {object} {wave}"), "hetdwarf-unwind/2"),
        ("eval --expr lit1".into(), "hetdwarf-eval/1"),
        (format!("info {object}"), "hetdwarf-info/1"),
        (
            "info fixtures/corpus/bundle/ccob3.hipfb".into(),
            "hetdwarf-info/1",
        ),
        (
            "info fixtures/corpus/gcc12/offload-gfx900-O0.hsaco".into(),
            "hetdwarf-info/1",
        ),
        ("regs".into(), "hetdwarf-regs/1"),
        ("regs v0-v7 --target gfx1100".into(), "hetdwarf-regs/1"),
    ] {
        let text = done(&format!("{arguments} --format json"));
        // Anything after the document would be an error.
        let document: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments}: {error}"));
        assert_eq!(document["format"], format, "{arguments}");
    }
}

#[test]
fn info_as_json_has_what_the_text_has() {
    let document: Value = serde_json::from_str(&done(
        "info fixtures/corpus/llvm24/calls-gfx90a-O0.hsaco --format json",
    ))
    .unwrap();
    let object = &document["object"];
    // The values are as llvm-readelf and llvm-dwarfdump show them.
    assert_eq!(object["target"], "gfx90a");
    assert_eq!(object["features"]["xnack"], "any");
    assert_eq!(object["kernels"][0]["name"], "calls");
    assert_eq!(object["units"][0]["version"], 5);
    assert_eq!(object["call_frames"]["fdes"], 10);
    assert_eq!(object["call_frames"]["fdes_with_rules"], 10);
    assert_eq!(document["objects"].as_array().unwrap().len(), 1);
    let several: Value = serde_json::from_str(&done(
        "info fixtures/corpus/bundle/ccob3.hipfb --format json",
    ))
    .unwrap();
    assert_eq!(several["objects"][1]["target"], "gfx1100");
    assert!(several.get("object").is_none());
}

#[test]
fn exit_statuses() {
    let status = |arguments: &str| run(arguments).status;
    assert_eq!(status("eval --expr lit1"), 0);
    // The result is negative if the expression cannot be evaluated, or nothing can be read.
    assert_eq!(status("eval --expr drop"), 1);
    assert_eq!(status("eval --expr drop --format json"), 1);
    // Odd lanes are inactive and wait elsewhere. Their variables are shown for the position where they wait.
    assert_eq!(status(&vars("calls", "w09", "--lane 4")), 0);
    assert_eq!(status(&vars("calls", "w09", "--lane 5")), 0);
    assert_eq!(status(&vars("calls", "w09", "--name nothing")), 1);
    assert_eq!(status(&vars("calls", "w09", "--lane 32")), 2);
    assert_eq!(status("help"), 0);
}

/// The guide for debugger authors contains a snapshot.
#[test]
fn the_snapshot_of_the_guide_is_read() {
    let guide = String::from_utf8(read(package().join("../docs/debugger.md"))).unwrap();
    let (_, rest) = guide.split_once("```json\n").unwrap();
    let (snapshot, _) = rest.split_once("```").unwrap();
    let folder = Folder::new("guide");
    folder.file("stop.json", snapshot.as_bytes());
    let wave = folder.0.join("stop.json").into_os_string();
    let ran = hetdwarf([
        "eval".into(),
        "--expr".into(),
        "regx s32, deref_size 4".into(),
        "--wave".into(),
        wave,
    ]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(
        ran.out.contains("0x40") || ran.out.contains("64"),
        "{}",
        ran.out
    );
}

/// A damaged object is reported, or is described as far as it can be read.
#[test]
fn damaged_objects_do_not_end_the_program() {
    let folder = Folder::new("damaged");
    let object = read("fixtures/corpus/llvm24/small-gfx90a-O0-dwarf4.hsaco");
    let path = folder.0.join("damaged.hsaco");
    let mut described = 0;
    for at in (0..object.len()).step_by(31) {
        let mut damaged = object.clone();
        damaged[at] ^= 0xff;
        for bytes in [&damaged[..], &object[..at]] {
            folder.file("damaged.hsaco", bytes);
            for format in ["text", "json"] {
                let ran = hetdwarf([
                    "info".as_ref(),
                    path.as_os_str(),
                    "--format".as_ref(),
                    format.as_ref(),
                ]);
                match ran.status {
                    0 => described += 1,
                    2 => assert!(
                        ran.out.is_empty() && ran.err.contains("damaged.hsaco: "),
                        "byte {at}: {}",
                        ran.err
                    ),
                    status => panic!("byte {at}: {status}"),
                }
            }
        }
    }
    assert!(described > 100, "only {described}");
}

/// Every command that takes `--dwo` reads the file, and errors name it.
#[test]
fn a_bad_dwo_file_is_named() {
    let object = "fixtures/waves/calls/calls.rocm.hsaco";
    let wave = "--wave fixtures/waves/calls/w00.json";
    let dwo = "fixtures/waves/calls/truth.json";
    for command in [
        format!("vars {object} {wave}"),
        format!("unwind {object} {wave}"),
        format!("lane-pc {object} {wave}"),
        format!("eval --expr DW_OP_lit0 --object {object}"),
        format!("dump {object}"),
    ] {
        let ran = run(&format!("{command} --dwo {dwo}"));
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{command}");
        let expected = format!("error: {dwo}: ");
        assert!(ran.err.starts_with(&expected), "{command}: {}", ran.err);
    }
}

/// A wrong pattern is reported before anything is printed.
#[test]
fn a_wrong_pattern_prints_nothing() {
    for format in ["text", "json"] {
        let object = "fixtures/waves/calls/calls.rocm.hsaco";
        let ran = run(&format!("dump {object} --name [ --format {format}"));
        assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    }
}
