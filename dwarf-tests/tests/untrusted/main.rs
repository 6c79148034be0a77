//! Passes names with everything that a terminal or a CI could interpret through every command and format. Text contains none of it, and
//! JSON preserves the exact names.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    unreachable_pub,
    reason = "a test"
)]

mod poison;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use dwarf_tests::{cores, fixture};
use serde_json::Value;

/// The characters that terminals interpret, by hand from the Unicode character database 16.0: the categories Cc (without U+0000, which ends
/// names), Cf, Zl and Zp.
const OBEYED: &[core::ops::RangeInclusive<u32>] = &[
    0x01..=0x1f,
    0x7f..=0x9f,
    0xad..=0xad,
    0x600..=0x605,
    0x61c..=0x61c,
    0x6dd..=0x6dd,
    0x70f..=0x70f,
    0x890..=0x891,
    0x8e2..=0x8e2,
    0x180e..=0x180e,
    0x200b..=0x200f,
    0x2028..=0x202e,
    0x2060..=0x2064,
    0x2066..=0x206f,
    0xfeff..=0xfeff,
    0xfff9..=0xfffb,
    0x110bd..=0x110bd,
    0x110cd..=0x110cd,
    0x13430..=0x1343f,
    0x1bca0..=0x1bca3,
    0x1d173..=0x1d17a,
    0xe0001..=0xe0001,
    0xe0020..=0xe007f,
];

fn is_obeyed(letter: char) -> bool {
    OBEYED
        .iter()
        .any(|range| range.contains(&u32::from(letter)))
}

/// The kind of contents in names.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// All characters that are interpreted.
    Characters,
    /// Commands of CI systems: at the start, after line ends of all kinds, and in the middle.
    Commands,
    /// A few of each, for names that must be short and contain no line end.
    Short,
}

/// Returns a harmful name that contains a harmless one.
fn evil(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Characters => {
            let all = OBEYED.iter().cloned().flatten().filter_map(char::from_u32);
            format!(
                "N-{name}-{}\u{1b}]0;title\u{7}\u{9b}2J",
                all.collect::<String>()
            )
        }
        Kind::Commands => format!(
            "::error title=N-{name}-::x\n::warning::{name}\r\n \t::notice::{name}\u{85}::debug::x\u{2028}##[error]{name}##vso[task.x]###teamcity[y]"
        ),
        Kind::Short => format!(
            "N-{name}-\u{1b}]0;t\u{7}\u{9b}2J\r\u{7f}\u{202e}\u{2066}\u{2028}\u{ad}\u{e0041}##[error]##vso[x]"
        ),
    }
}

/// Returns the harmless part of a name that remains in text.
fn mark(name: &str) -> String {
    format!("N-{name}-")
}

/// Runs the command, and returns its output with its colours.
fn run<A: Into<OsString>>(arguments: Vec<A>) -> (String, String, u8) {
    let arguments = arguments.into_iter().map(Into::into);
    let arguments = [OsString::from("hetdwarf")].into_iter().chain(arguments);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = hetdwarf_cli::run(arguments, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(err), status)
}

/// Removes the command's own colours: ESC, `[`, numbers, `m`.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match rest.strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => plain.push_str(&format!("\u{1b}[{part}")),
        }
    }
    plain
}

/// Checks that a terminal or a CI interprets nothing in a text.
fn check_text(text: &str, what: &dyn core::fmt::Debug) {
    let text = without_colours(text);
    for line in text.split('\n') {
        if let Some(letter) = line
            .chars()
            .find(|letter| is_obeyed(*letter) && *letter != '\t')
        {
            panic!("{what:?}: U+{:04X} in {line:?}", u32::from(letter));
        }
        // GitHub accepts blanks before a command.
        assert!(!line.trim_start().starts_with("::"), "{what:?}: {line:?}");
        check_commands(line, what);
    }
}

/// Checks for GitHub's older commands, and Azure's and TeamCity's, which can be anywhere in a line.
fn check_commands(line: &str, what: &dyn core::fmt::Debug) {
    for command in ["##[", "##vso[", "##teamcity["] {
        assert!(!line.contains(command), "{what:?}: {line:?}");
    }
}

/// Collects every text in a document, including keys.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                found.push(key.clone());
                texts(value, found);
            }
        }
        _ => {}
    }
}

/// Checks a JSON document: it contains nothing harmful, and the exact names.
fn check_json(text: &str, names: &[String], what: &dyn core::fmt::Debug) {
    check_text(text, what);
    let mut found = Vec::new();
    for line in text.lines() {
        // The output is one document, or one in each line.
        match serde_json::from_str(text).or_else(|_| serde_json::from_str::<Value>(line)) {
            Ok(value) => texts(&value, &mut found),
            Err(error) => panic!("{what:?}: {error}: {text}"),
        }
        if serde_json::from_str::<Value>(text).is_ok() {
            break;
        }
    }
    for name in names {
        let is_there = found.iter().any(|text| text.contains(name.as_str()));
        assert!(is_there, "{what:?}: {name:?} is not in the document");
    }
}

/// The files of a test.
struct Files {
    folder: PathBuf,
    kind: Kind,
}

impl Files {
    fn new(kind: Kind) -> Files {
        use core::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hetdwarf-untrusted-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Files { folder, kind }
    }

    fn name(&self, name: &str) -> String {
        evil(self.kind, name)
    }

    /// Returns a name for a file, with at most 255 bytes and without `/`.
    fn file_name(&self, name: &str) -> String {
        match self.kind {
            Kind::Characters => evil(Kind::Short, name),
            kind => evil(kind, name),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Returns the object of a case with other names.
    fn object(&self, case: &str) -> Vec<u8> {
        let path = fixture("waves")
            .join(case)
            .join(format!("{case}.rocm.hsaco"));
        poison::object(&std::fs::read(path).unwrap(), &|name| self.name(name))
    }

    /// Runs the command with text and with JSON output, and checks both. `marks` must be in the text, `names` in JSON.
    fn both(&self, arguments: &[&str], marks: &[&str], names: &[&str]) {
        self.text(arguments, marks);
        self.json(arguments, names);
    }

    fn text(&self, arguments: &[&str], marks: &[&str]) -> String {
        let (out, err, _) = run(arguments.to_vec());
        check_text(&out, &arguments);
        check_text(&err, &arguments);
        for name in marks {
            let is_there = out.contains(&mark(name)) || err.contains(&mark(name));
            assert!(is_there, "{arguments:?}: {name} is not in {out}{err}");
        }
        format!("{out}{err}")
    }

    fn json(&self, arguments: &[&str], names: &[&str]) {
        let arguments = [arguments, &["--format", "json"]].concat();
        let (out, err, _) = run(arguments.clone());
        check_text(&err, &arguments);
        let names: Vec<String> = names.iter().map(|name| self.name(name)).collect();
        assert!(!out.is_empty(), "{arguments:?}: {err}");
        check_json(&out, &names, &arguments);
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const KINDS: [Kind; 2] = [Kind::Characters, Kind::Commands];

fn wave(case: &str, name: &str) -> String {
    fixture("waves")
        .join(case)
        .join(name)
        .to_str()
        .unwrap()
        .to_owned()
}

/// Names of functions, variables, types, members, files, producers, kernels, symbols and sections, and the object's own path.
#[test]
fn names_of_debugging_information() {
    for kind in KINDS {
        let files = Files::new(kind);
        let path = files.file_name("path");
        let object = files.write(&path, &files.object("structs"));
        files.both(
            &["info", &object],
            &["producer", "k", "section", "structs.cl"],
            &["producer", "k", "section", "structs.cl"],
        );
        let all = [
            "--debug-info",
            "--debug-loclists",
            "--debug-line",
            "--debug-frame",
            "--debug-names",
            "--debug-aranges",
        ];
        files.both(
            &[&["dump", &object][..], &all].concat(),
            &[
                "path",
                "fill",
                "recs",
                "Rec",
                "GREEN",
                "structs.cl",
                "producer",
                "__clang_ocl_kern_imp_k",
            ],
            &[
                "fill",
                "recs",
                "Rec",
                "GREEN",
                "structs.cl",
                "producer",
                "__clang_ocl_kern_imp_k",
            ],
        );
        // The fixtures have waves in all of these: `area`, `fill` and the kernel.
        let mut seen = String::new();
        for number in WAVES {
            let wave = wave("structs", &format!("w{number:02}.json"));
            let at = [object.as_str(), "--wave", &wave];
            seen += &files.text(
                &[&["vars"], &at[..], &["--frame", "all", "--lane", "0-3"]].concat(),
                &["structs.cl"],
            );
            seen += &files.text(
                &[&["unwind"], &at[..], &["--registers"]].concat(),
                &["structs.cl"],
            );
            files.json(&[&["unwind"], &at[..]].concat(), &["structs.cl"]);
            files.json(
                &[
                    &["vars"],
                    &at[..],
                    &["--frame", "all", "--lane", "0", "--children", "2"],
                ]
                .concat(),
                &["structs.cl"],
            );
            let svg = files.folder.join("lanes.svg");
            let html = files.folder.join("lanes.html");
            let draw = [
                "--svg",
                svg.to_str().unwrap(),
                "--html",
                html.to_str().unwrap(),
            ];
            files.both(
                &[&["lane-pc"], &at[..], &draw].concat(),
                &["structs.cl"],
                &["structs.cl"],
            );
            for picture in [svg, html] {
                let picture = std::fs::read_to_string(picture).unwrap();
                check_text(&picture, &"picture");
                assert!(picture.contains(&mark("structs.cl")), "{picture}");
            }
            files.text(&[&["vars"], &at[..], &["--name", "recz"]].concat(), &[]);
            files.both(
                &[&["print"], &at[..], &["recs", "1 +", "(Rec *)0"]].concat(),
                &[],
                &["structs.cl"],
            );
        }
        for name in [
            "area", "fill", "recs", "Rec", "Small", "copy", "Color", "GREEN", "want", "col",
        ] {
            assert!(seen.contains(&mark(name)), "{name}");
        }
        let first = wave("structs", "w00.json");
        files.text(
            &[
                "eval",
                "--object",
                &object,
                "--wave",
                &first,
                "--expr",
                "DW_OP_lit1",
            ],
            &[],
        );
    }
}

/// The waves in `area`, in `fill` and in the kernel.
const WAVES: [u32; 3] = [0, 5, 9];

/// The index of names refers to positions that are now inside other strings.
#[test]
fn names_of_the_index() {
    for kind in KINDS {
        let files = Files::new(kind);
        let path = fixture("corpus/llvm22/tile-gfx90a-O1-names.hsaco");
        let bytes = std::fs::read(path).unwrap();
        let object = poison::object(&bytes, &|name| files.name(name));
        let object = files.write("object", &object);
        let text = files.text(&["dump", &object, "--debug-names"], &[]);
        assert!(
            text.contains("String: 0x") && text.contains(r"\u{1b}") || text.contains("N-"),
            "{text}"
        );
        files.json(&["dump", &object, "--debug-names"], &[]);
    }
}

/// Only JSON lists the parts of values one by one.
#[test]
fn names_of_members_round_trip() {
    for kind in KINDS {
        let files = Files::new(kind);
        let object = files.write("object", &files.object("structs"));
        let wave = wave("structs", "w10.json");
        let arguments = [
            "vars",
            &object,
            "--wave",
            &wave,
            "--frame",
            "all",
            "--children",
            "3",
        ];
        files.json(&arguments, &["recs", "Rec", "col", "Color", "float"]);
        let (out, ..) = run([&arguments[..], &["--format", "json"]].concat());
        // In text output, values contain the names of members and enumerators.
        assert!(
            out.contains(&mark("GREEN")) || out.contains(&mark("BLUE")),
            "{out}"
        );
    }
}

/// Names of archive members, bundle entries and sections of host objects occur in lists, in failing selections, and in reports.
#[test]
fn names_of_containers() {
    for kind in KINDS {
        let files = Files::new(kind);
        let object = files.object("calls");
        // A line end would end the name.
        let member = |name: &str| match kind {
            Kind::Commands => evil(Kind::Short, name),
            kind => evil(kind, name).replace('\n', ""),
        };
        let archive = poison::archive(&[(member("member"), &object), (member("other"), &object)]);
        let archive = files.write("archive.a", &archive);
        let id = |name: &str| {
            format!(
                "hipv4-amdgcn-amd-amdhsa--gfx1100{}",
                evil(Kind::Short, name)
            )
        };
        let bundle = poison::bundle(&[(id("entry"), &object), (id("another"), &object)]);
        let bundle = files.write("bundle.hipfb", &bundle);
        for (path, names, exact) in [
            (
                &archive,
                ["member", "other"],
                [member("member"), member("other")],
            ),
            (&bundle, ["entry", "another"], [id("entry"), id("another")]),
        ] {
            files.text(&["info", path], &names);
            // Two objects match, so that the choice is ambiguous.
            files.text(&["info", path, "--target", "gfx1100"], &[]);
            files.text(&["verify", path], &names);
            for arguments in [
                ["info", path, "--format", "json"],
                ["verify", path, "--format", "json"],
            ] {
                let (out, err, _) = run(arguments.to_vec());
                check_text(&err, &arguments);
                check_json(&out, &exact, &arguments);
            }
        }
    }
}

/// Findings contain names in every format, with harmful paths, configuration and baseline.
#[test]
fn names_in_what_is_checked() {
    for kind in KINDS {
        let files = Files::new(kind);
        let path = format!("folder/{}", files.file_name("path"));
        let object = files.write(&path, &files.object("structs"));
        let folder = files.folder.join("folder").to_str().unwrap().to_owned();
        files.write(
            &format!("folder/{}", files.file_name("broken")),
            b"\x7fELF\x02\x01\x01\x40",
        );
        let marks = ["path", "broken", "fill", "area", "structs.cl"];
        files.text(&["verify", &folder], &marks);
        files.json(
            &["verify", &folder],
            &["fill", "area", "structs.cl", "producer"],
        );
        let (out, err, _) = run(vec!["verify", &folder, "--format", "sarif"]);
        check_text(&err, &"sarif");
        check_json(
            &out,
            &["fill", "area"].map(|name| files.name(name)),
            &"sarif",
        );
        let log: Value = serde_json::from_str(&out).unwrap();
        let mut found = Vec::new();
        texts(&log["runs"][0]["results"], &mut found);
        texts(&log["runs"][0]["invocations"], &mut found);
        let is_uri = |text: &&String| text.ends_with("structs.cl") || text.contains("%1B");
        for uri in found.iter().filter(is_uri) {
            assert!(
                !uri.starts_with('/') && !uri.contains("//") && !uri.contains(".."),
                "{uri}"
            );
        }
        let (out, err, _) = run(vec!["verify", &folder, "--format", "github"]);
        check_text(&err, &"github");
        for line in out.strip_suffix('\n').unwrap().split('\n') {
            assert!(!line.contains(is_obeyed), "{line:?}");
            check_commands(line, &"github");
            let line = line.strip_prefix("::").unwrap();
            let (command, rest) = line.split_once(' ').unwrap();
            assert!(["error", "warning", "notice"].contains(&command), "{line}");
            // The properties end at the first `::`, and no property contains one.
            let (properties, _) = rest.split_once("::").unwrap();
            for property in properties.split(',') {
                let (name, value) = property.split_once('=').unwrap();
                assert!(["file", "line", "title"].contains(&name), "{line}");
                assert!(
                    !value.starts_with('/') && !value.split('/').any(|part| part == ".."),
                    "{line}"
                );
            }
        }
        assert!(
            out.contains(&mark("fill")) && out.contains(&mark("path")),
            "{out}"
        );
        // The baseline is old, and has entries that are no longer found.
        let entry = |function: &str| {
            serde_json::json!({"rule": files.name("rule"), "producer": files.name("producer"),
                "function": files.name(function), "kind": files.name("kind"), "files": [object]})
        };
        let baseline = serde_json::json!({"format": "hetdwarf-baseline/2", "findings": [entry("f"), entry("g")]});
        let baseline = files.write("baseline.json", baseline.to_string().as_bytes());
        files.both(
            &["verify", &object, "--baseline", &baseline],
            &["path", "rule"],
            &["rule", "f", "g", "kind"],
        );
        let other = serde_json::json!({"format": files.name("format"), "findings": []});
        let other = files.write(&files.file_name("baseline"), other.to_string().as_bytes());
        files.text(
            &["verify", &object, "--baseline", &other],
            &["baseline", "format"],
        );
        let written = files.folder.join(files.file_name("written"));
        files.text(
            &[
                "verify",
                &object,
                "--write-baseline",
                written.to_str().unwrap(),
            ],
            &["written"],
        );
        for (number, text) in [
            format!("[verify]\nallow = [{}]\n", Value::from(files.name("allow"))),
            format!(
                "[verify]\nexclude = [{}]\n",
                Value::from(format!("[{}", files.name("exclude")))
            ),
            format!("[verify]\n{} = 1\n", Value::from(files.name("key"))),
            format!(
                "[verify]\nbaseline = {}\n",
                Value::from(files.name("gone").replace('/', ""))
            ),
            format!("[verify]\nallow = {}\n", Value::from(files.name("type"))),
        ]
        .iter()
        .enumerate()
        {
            // JSON escapes are valid in TOML, except for some characters from DEL on, which need no escape.
            let config = files.write(
                &format!("{number}-{}", files.file_name("config")),
                text.as_bytes(),
            );
            let said = files.text(&["verify", &object, "--config", &config], &[]);
            assert!(said.contains("N-"), "{said}");
        }
        for option in ["--rules", "--allow", "--deny", "--warn", "--explain"] {
            files.text(
                &[
                    "verify",
                    "--jobs",
                    "1",
                    option,
                    &files.name("option"),
                    &object,
                ],
                &[],
            );
        }
    }
}

/// Errors contain names: from snapshots, requests and arguments, and from files of the wrong kind.
#[test]
fn names_in_errors() {
    for kind in KINDS {
        let files = Files::new(kind);
        let object = fixture("waves/calls/calls.rocm.hsaco");
        let object = object.to_str().unwrap();
        let good: Value = dwarf_tests::json(&fixture("waves/calls/w00.json"));
        let with = |change: &dyn Fn(&mut Value)| {
            let mut wave = good.clone();
            change(&mut wave);
            wave.to_string()
        };
        let waves = [
            with(&|wave| wave[files.name("key")] = 1.into()),
            with(&|wave| wave["target"] = files.name("target").into()),
            with(&|wave| wave["target"] = format!("gfx9{}", files.name("target")).into()),
            with(&|wave| wave["pc"] = files.name("pc").into()),
            with(&|wave| wave["format"] = files.name("format").into()),
            with(&|wave| wave["registers"][files.name("register")] = "0x1".into()),
            with(&|wave| wave["registers"]["s0"] = files.name("value").into()),
            with(&|wave| wave["memory"][0]["space"] = files.name("space").into()),
            with(&|wave| wave["memory"][0]["bytes"] = files.name("bytes").into()),
            files.name("no JSON"),
        ];
        for (number, text) in waves.iter().enumerate() {
            let wave = files.write(
                &format!("{number}-{}", files.file_name("wave")),
                text.as_bytes(),
            );
            for command in ["vars", "unwind", "lane-pc"] {
                let said = files.text(&[command, object, "--wave", &wave], &["wave"]);
                assert!(!said.is_empty());
                let (out, err, _) = run(vec![command, object, "--wave", &wave, "--format", "json"]);
                check_text(&err, &(command, number));
                if !out.is_empty() {
                    check_json(&out, &[], &(command, number));
                }
            }
        }
        let gone = files
            .folder
            .join(files.file_name("gone"))
            .to_str()
            .unwrap()
            .to_owned();
        let text = files.write(&files.file_name("text"), b"no object");
        let wave = wave("calls", "w00.json");
        let evil = files.name("argument");
        for path in [&gone, &text] {
            for arguments in [
                &["info", path][..],
                &["dump", path],
                &["vars", path, "--wave", &wave],
                &["vars", object, "--wave", path],
                &["print", path, "--wave", &wave, "x"],
                &["unwind", path, "--wave", &wave],
                &["lane-pc", path, "--wave", &wave],
                &["core", path],
                &["core", path, path],
                &["unwind", "--core", path, "--wave", "1"],
                &["eval", "--object", path, "--expr", "DW_OP_lit0"],
                &["eval", "--batch", path],
                &["verify", path],
                &["verify", object, "--config", path],
                &["verify", object, "--baseline", path],
                &["info", object, "--target", &evil],
                &["vars", object, "--wave", &wave, "--name", &evil],
                &[
                    "vars",
                    object,
                    "--wave",
                    &wave,
                    "--name",
                    &format!("[{evil}"),
                ],
                &["vars", object, "--wave", &wave, "--lane", &evil],
                &["dump", object, "--name", &evil],
                &[
                    "print",
                    object,
                    "--wave",
                    &wave,
                    &evil,
                    &format!("a + {evil}"),
                ],
                &["eval", "--expr", &evil],
                &["eval", "--hex", &evil],
                &["regs", &evil],
                &["info", &format!("--{evil}")],
                &["info", object, "--limit", &evil],
                &["regs", "v0", "--target", &evil],
                &[
                    "lane-pc",
                    object,
                    "--wave",
                    &wave,
                    "--svg",
                    &format!("{gone}/x"),
                ],
            ] {
                let (out, err, _) = run(arguments.to_vec());
                check_text(&out, &arguments);
                check_text(&err, &arguments);
            }
        }
        let request = serde_json::json!({"id": files.name("id"), "expr": files.name("expr"), "wave": files.name("wave")});
        let only = serde_json::json!({"id": files.name("id"), "expr": files.name("expr")});
        let batch = files.write("batch.jsonl", format!("{request}\n{only}\n").as_bytes());
        files.json(&["eval", "--batch", &batch], &["id"]);
    }
}

/// Cores contain names: in call stacks, in the URIs of code objects, and in paths of given files.
#[test]
fn names_in_cores() {
    for kind in KINDS {
        let files = Files::new(kind);
        let object = files.write(&files.file_name("object"), &files.object("calls"));
        let core = cores::file("gfx1100", "merged.core");
        let good = files.write("merged.core", &core);
        files.both(
            &["core", &good, "--object", &object, "--all"],
            &["mid", "leaf", "calls.cl"],
            &["mid", "leaf", "calls.cl"],
        );
        files.both(
            &[
                "unwind", "--core", &good, "--object", &object, "--wave", "1",
            ],
            &["calls.cl"],
            &["calls.cl"],
        );
        // The URI of a code object in the runtime's list is replaced by a text of the same length.
        let mut other = core.clone();
        let wanted = b"memory://";
        let places: Vec<usize> = (0..other.len() - wanted.len())
            .filter(|at| other[*at..].starts_with(wanted))
            .collect();
        assert!(!places.is_empty());
        for at in places {
            other[at..at + wanted.len()].copy_from_slice("\u{1b}[2J\n::ee".as_bytes());
        }
        let other = files.write(&files.file_name("core"), &other);
        let (out, err, _) = run(vec!["core", &other, "--format", "json"]);
        check_text(&err, &"core");
        check_json(&out, &["\u{1b}[2J\n::ee".to_owned()], &"core");
        files.text(&["core", &other], &[]);
        files.text(&["core", &good, "--object", &other], &["core"]);
        files.text(
            &["unwind", "--core", &other, "--wave", &files.name("wave")],
            &["wave"],
        );
    }
}

/// A terminal gets source lines from `core`.
#[test]
fn lines_of_the_source() {
    let files = Files::new(Kind::Characters);
    let line = format!("{}\n", evil(Kind::Short, "line"));
    files.write("src/calls.cl", line.repeat(60).as_bytes());
    let folder = files.folder.join("src").to_str().unwrap().to_owned();
    let core = files.write("merged.core", &cores::file("gfx1100", "merged.core"));
    files.text(&["core", &core, "--source-dir", &folder], &["line"]);
    let object = fixture("waves/calls/calls.rocm.hsaco");
    let wave = wave("calls", "w00.json");
    let html = files.folder.join("lanes.html");
    let arguments = [
        "lane-pc",
        object.to_str().unwrap(),
        "--wave",
        &wave,
        "--source-dir",
        &folder,
        "--html",
    ];
    files.text(&[&arguments[..], &[html.to_str().unwrap()]].concat(), &[]);
    let html = std::fs::read_to_string(html).unwrap();
    check_text(&html, &"html");
    assert!(html.contains(&mark("line")), "{html}");
}

/// Files that only the debugging information names are not read for source lines.
#[test]
fn sources_are_shown_from_folders_that_are_named() {
    let files = Files::new(Kind::Short);
    let secret = files.write("secret", &b"very secret\n".repeat(60));
    let named = |name: &str| match name {
        "calls.cl" => secret.clone(),
        name => name.to_owned(),
    };
    let path = fixture("waves/calls/calls.rocm.hsaco");
    let object = poison::object(&std::fs::read(path).unwrap(), &named);
    let object = files.write("object", &object);
    let wave = wave("calls", "w00.json");
    let empty = files.folder.join("empty").to_str().unwrap().to_owned();
    std::fs::create_dir_all(&empty).unwrap();
    let html = files.folder.join("lanes.html").to_str().unwrap().to_owned();
    let base = ["lane-pc", &object, "--wave", &wave, "--html", &html];
    let folder = files.folder.to_str().unwrap();
    for (more, is_shown) in [
        (&[][..], false),
        (&["--source-dir", &empty], false),
        (&["--source-dir", &empty, "--source-dir", folder], true),
        (&["--source-dir", &format!("{folder}={folder}")], true),
        (&["--source-dir", &format!("/elsewhere={folder}")], false),
    ] {
        let said = files.text(&[&base[..], more].concat(), &[]);
        let picture = std::fs::read_to_string(&html).unwrap();
        assert_eq!(picture.contains("very secret"), is_shown, "{more:?}");
        for text in [said, picture] {
            assert_eq!(
                text.contains("source of secret is not shown"),
                !is_shown,
                "{more:?}: {text}"
            );
            assert_eq!(text.contains("--source-dir"), !is_shown, "{more:?}: {text}");
        }
    }
}

/// The check itself detects harmful text.
#[test]
fn the_check_can_fail() {
    for text in [
        "a\u{1b}[2Jb",
        "a\u{1b}",
        "\u{9b}",
        "x\n ::error::",
        "\u{202e}",
        "a##[error]",
        "\r",
        "a ##vso[x]",
    ] {
        assert!(
            std::panic::catch_unwind(|| check_text(text, &"")).is_err(),
            "{text:?}"
        );
    }
    check_text("\u{1b}[1ma::b\u{1b}[0m\n # ## [\n", &"");
    assert!(std::panic::catch_unwind(|| check_json("[\"a\"]", &["b".to_owned()], &"")).is_err());
    check_json("[\"a\\u001bb\"]", &["a\u{1b}b".to_owned()], &"");
    // Every path that a test makes exists under that name.
    let files = Files::new(Kind::Short);
    let path = files.write(&files.file_name("path"), b"");
    assert!(
        Path::new(&path)
            .file_name()
            .unwrap()
            .as_bytes()
            .contains(&0x1b)
    );
}
