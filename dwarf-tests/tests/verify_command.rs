//! Tests `hetdwarf verify`: its inputs, the selection of rules, its exit statuses, and the validity of each output format.
//!
//! Other tests cover the rules. Here a code object has an error that is unambiguous by DWARF 5 §6.4.1, and only the rules of that section
//! run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::{Ran, fixture, hetdwarf};
use hetdwarf::object::CodeObject;
use hetdwarf::report::{
    CheckedFile, FindingDocument, SarifLog, SourceDocument, UnreadableFile, VerifiedFile,
    VerifyDocument,
};
use hetdwarf::verify::{Excerpt, Rule, Severity};
use insta::assert_snapshot;
use serde_json::Value;

/// The rules about entries, which correct objects satisfy.
const RULES: &str = "--rules=cfi-entry,cfi-cie-pointer";

fn good() -> Vec<u8> {
    fs::read(fixture("waves/calls-O2/calls-O2.rocm.hsaco")).unwrap()
}

/// Returns a damaged file: the CIE pointer of the first FDE, at 0x10 of `.debug_frame`, is outside of the section.
fn damaged() -> Vec<u8> {
    let mut file = good();
    let object = CodeObject::parse(&file).unwrap();
    let section = object.section(".debug_frame").unwrap().unwrap().to_vec();
    drop(object);
    let mut places = file.windows(section.len());
    let start = places.position(|bytes| bytes == section).unwrap();
    // The length, and then the pointer: 0, the offset of the only CIE.
    assert_eq!(section[0x14..0x18], [0, 0, 0, 0]);
    file[start + 0x14..start + 0x18].copy_from_slice(&[0, 0, 0xee, 0x0e]);
    file
}

/// Returns a static archive in ar's format: a magic, and members after headers of 60 characters.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in members {
        let name = format!("{name}/");
        bytes.extend(
            format!(
                "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
                0,
                0,
                0,
                644,
                data.len()
            )
            .bytes(),
        );
        bytes.extend(*data);
        if data.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// A temporary folder.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("hetdwarf-verify-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Folder {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Runs `verify`. `TMP` in the arguments and in the output stands for this folder.
    fn verify(&self, arguments: &[&str]) -> Ran {
        let folder = self.0.to_str().unwrap();
        let arguments = arguments.iter().map(|text| text.replace("TMP", folder));
        let ran = hetdwarf(["verify".to_owned()].into_iter().chain(arguments));
        Ran {
            out: ran.out.replace(folder, "TMP"),
            err: ran.err.replace(folder, "TMP"),
            ..ran
        }
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.verify(&[arguments, &["--format=json"]].concat());
        serde_json::from_str(&ran.out)
            .unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.err))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the paths of the checked code objects.
fn paths(document: &Value) -> Vec<&str> {
    let files = document["files"].as_array().unwrap();
    files
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect()
}

#[test]
fn help() {
    let ran = hetdwarf(["verify", "--help"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_snapshot!("help-verify", ran.out);
    let script = hetdwarf(["completions", "bash"]).out;
    assert!(
        script.contains("hetdwarf__verify") || script.contains("hetdwarf__subcmd__verify"),
        "{script}"
    );
}

#[test]
fn the_status_is_the_worst_that_was_found() {
    let folder = Folder::new("status");
    folder
        .file("good.hsaco", good())
        .file("bad.hsaco", damaged())
        .file("text", "no object");
    for (arguments, status) in [
        (&["TMP/good.hsaco"][..], 0),
        (&["TMP/bad.hsaco"], 1),
        (&["TMP"], 1),
        (&["TMP/good.hsaco", "TMP/text"], 2),
        (&["TMP/bad.hsaco", "TMP/text"], 2),
        (&["TMP/bad.hsaco", "TMP/missing"], 2),
        (&["TMP/bad.hsaco", "--warn=cfi-*"], 0),
        // No rule is left.
        (&["TMP/bad.hsaco", "--allow=cfi-*"], 2),
        (
            &[
                "TMP/bad.hsaco",
                "--allow=cfi-*",
                "--deny=cfi-entry,cfi-cie-pointer",
            ],
            1,
        ),
    ] {
        let ran = folder.verify(&[arguments, &[RULES]].concat());
        assert_eq!(ran.status, status, "{arguments:?}\n{}{}", ran.out, ran.err);
    }
}

/// An error in one file is reported, and the others are checked.
#[test]
fn an_unreadable_file_does_not_stop_the_others() {
    let folder = Folder::new("unreadable");
    folder
        .file("bad.hsaco", damaged())
        .file("half.hsaco", &good()[..100])
        .file("text", "no object");
    for format in ["text", "json", "sarif", "github", "lines", "junit"] {
        let format = format!("--format={format}");
        let ran = folder.verify(&[
            "TMP/bad.hsaco",
            "TMP/half.hsaco",
            "TMP/text",
            "TMP/none",
            RULES,
            &format,
        ]);
        assert_eq!(ran.status, 2, "{format}");
        let lines: Vec<_> = ran.err.lines().collect();
        assert_eq!(lines.len(), 3, "{}", ran.err);
        for (line, name) in lines.iter().zip(["half.hsaco", "none", "text"]) {
            assert!(line.starts_with(&format!("error: TMP/{name}: ")), "{line}");
        }
        assert!(ran.out.contains("bad.hsaco"), "{}", ran.out);
    }
    let document = folder.json(&["TMP/bad.hsaco", "TMP/half.hsaco"]);
    assert_eq!(document["unreadable"][0]["path"], "TMP/half.hsaco");
    assert_eq!(document["summary"]["unreadable"], 1);
}

#[test]
fn folders_are_searched_for_what_can_hold_code_objects() {
    let folder = Folder::new("folders");
    let bundle = fs::read(fixture("corpus/bundle/ccob3.hipfb")).unwrap();
    folder
        .file("b/deep/good.hsaco", good())
        .file("a.hipfb", bundle)
        .file("b/source.cl", "kernel void k() {}")
        .file("b/empty", "")
        .file(
            "lib.a",
            archive(&[("x.o", &good()), ("y.o", &damaged()), ("readme", b"text")]),
        );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&folder.0, folder.0.join("b/loop")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.0.join("b/broken")).unwrap();
    }
    let expected = [
        "a.hipfb:hip-amdgcn-amd-amdhsa--gfx1100",
        "a.hipfb:hip-amdgcn-amd-amdhsa--gfx90a",
        "b/deep/good.hsaco",
        "lib.a(x.o)",
        "lib.a(y.o)",
    ];
    let whole = folder.json(&["TMP", RULES]);
    let found: Vec<_> = paths(&whole)
        .iter()
        .map(|path| path.replace("TMP/", ""))
        .collect();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        // The bundle chooses the kind of offloading before the triple.
        let end = expected.split_once(":hip").map_or(expected, |(_, end)| end);
        assert!(found.ends_with(end), "{found} {expected}");
    }
    assert!(whole.get("unreadable").is_none());
    assert_eq!(whole["files"][4]["container"], "TMP/lib.a");
    assert_eq!(whole["summary"]["errors"], 1);
    // A file that is named twice is checked once.
    assert_eq!(
        paths(&folder.json(&["TMP", "TMP/b", "TMP/b/deep/good.hsaco", RULES])),
        paths(&whole)
    );
    // A folder without anything to check is an error, because it is probably a mistake in a CI.
    let none = folder.verify(&["TMP/b/deep/../../c"]);
    assert_eq!(none.status, 2);
    folder.file("c/source.cl", "");
    let none = folder.verify(&["TMP/c"]);
    assert_eq!(none.status, 2, "{}", none.out);
    assert!(none.err.starts_with("error: TMP/c: "), "{}", none.err);
}

/// Build folders contain hosts without device code, which are no error.
#[test]
fn a_host_object_in_a_folder_is_passed_over_but_not_a_named_one() {
    let folder = Folder::new("host");
    let mut host = vec![0; 64];
    host[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    for (at, value) in [(16, 1), (18, 62), (20, 1), (52, 64), (58, 64)] {
        host[at] = value;
    }
    folder.file("host.o", host).file("good.hsaco", good());
    assert_eq!(folder.verify(&["TMP", RULES]).status, 0);
    let ran = folder.verify(&["TMP", "TMP/host.o", RULES]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("x86-64"), "{}", ran.err);
}

/// A test run before the check can leave core files among the code objects.
#[test]
fn a_core_in_a_folder_is_passed_over_but_not_a_named_one() {
    let folder = Folder::new("core");
    let core = fs::read(fixture("cores/gfx90a/gpucore.4242.gz")).unwrap();
    folder.file("gpucore.1234", core).file("good.hsaco", good());
    let ran = folder.verify(&["TMP", RULES]);
    assert_eq!((ran.status, &*ran.err), (0, ""), "{}", ran.out);
    let ran = folder.verify(&["TMP/gpucore.1234", RULES]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("`hetdwarf core` reads it"), "{}", ran.err);
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    // Threads are assigned to files first. The remaining threads share the work on a file.
    let paths = ["corpus", "corpus/gcc12/offload-gfx906-O1.hsaco"].map(fixture);
    for (path, format) in paths.iter().flat_map(|path| {
        let formats = ["text", "json", "sarif", "github"];
        formats.map(|format| (path.to_str().unwrap(), format))
    }) {
        let run =
            |jobs: &str| hetdwarf(["verify", path, "--each", "--format", format, "--jobs", jobs]);
        let one = run("1");
        assert_ne!(one.status, 2, "{}", one.err);
        for jobs in ["2", "7"] {
            let many = run(jobs);
            assert_eq!((many.status, &many.err), (one.status, &one.err));
            assert!(many.out == one.out, "{path}: {format} with {jobs} threads");
        }
    }
}

/// With the application profile there are no errors, but notes about values that a debugger will show incorrectly.
#[test]
fn a_profile_says_what_counts() {
    let path = fixture("corpus/llvm24/calls-gfx90a-O2.hsaco");
    let path = path.to_str().unwrap();
    let run = |profile: &str| hetdwarf(["verify", path, "--profile", profile]);
    let numbers = |text: &str| text.lines().last().unwrap().to_owned();
    let compiler = run("compiler");
    assert_eq!(compiler.out, hetdwarf(["verify", path]).out);
    assert_eq!((compiler.status, run("release").status), (1, 1));
    assert!(numbers(&run("release").out).contains(", 0 notes"));
    let application = run("application");
    assert_eq!(application.status, 0);
    assert!(
        numbers(&application.out).starts_with("1 code object: 0 errors, 0 warnings, "),
        "{}",
        application.out
    );
    assert!(
        application
            .out
            .contains("debuggers will show a wrong value of s33 in callers of `"),
        "{}",
        application.out
    );
    // Application developers do not write directives.
    assert!(!application.out.contains(".cfi_"), "{}", application.out);
    assert!(compiler.out.contains(".cfi_"), "{}", compiler.out);
    // A setting for a rule takes precedence.
    let deny = hetdwarf([
        "verify",
        path,
        "--profile=application",
        "--deny=cfi-stale-lane",
    ]);
    assert_eq!(deny.status, 1);
    let folder = Folder::new("profile");
    folder.file("hetdwarf.toml", "[verify]\nprofile = 'application'\n");
    assert_eq!(
        folder.verify(&[path, "--config=TMP/hetdwarf.toml"]).status,
        0
    );
}

#[test]
fn only_what_a_baseline_does_not_know_counts() {
    let folder = Folder::new("baseline");
    folder.file("o/bad.hsaco", damaged());
    let written = folder.verify(&["TMP/o", RULES, "--write-baseline=TMP/known.json"]);
    assert_eq!(written.status, 0, "{}", written.err);
    let known = folder.verify(&["TMP/o", RULES, "--baseline=TMP/known.json"]);
    assert_eq!((known.status, known.err.as_str()), (0, ""));
    assert_eq!(
        known.out,
        "1 code object: 0 errors, 0 warnings, 0 notes; 1 in the baseline\n"
    );
    let text = fs::read_to_string(folder.path("known.json")).unwrap();
    assert!(!text.contains("0x1"), "{text}");

    folder.file("o/new.hsaco", damaged());
    let more = folder.verify(&["TMP/o", RULES, "--baseline=TMP/known.json"]);
    assert_eq!(more.status, 1);
    assert!(more.out.contains("TMP/o/new.hsaco: .debug_frame") && !more.out.contains("bad.hsaco"));

    folder
        .file("o/bad.hsaco", good())
        .file("o/new.hsaco", good());
    let less = folder.verify(&["TMP/o", RULES, "--baseline=TMP/known.json"]);
    assert_eq!(less.status, 0);
    assert_eq!(
        less.err,
        "no longer found: cfi-cie-pointer (unknown): o/bad.hsaco\n\
         use --write-baseline to remove them\n"
    );
    // A file that was not to be checked has no known findings.
    let other = folder.verify(&["TMP/o/new.hsaco", RULES, "--baseline=TMP/known.json"]);
    assert_eq!((other.status, other.err.as_str()), (0, ""));

    // If the baseline is written again, the differences are printed.
    folder.file("o/new.hsaco", damaged());
    let write = ["TMP/o", RULES, "--write-baseline=TMP/known.json"];
    assert_eq!(
        folder.verify(&write).err,
        "new in it: cfi-cie-pointer (unknown): o/new.hsaco\n\
         no longer in it: cfi-cie-pointer (unknown): o/bad.hsaco\n\
         TMP/known.json: 1 findings recorded\n"
    );
    assert_eq!(
        folder.verify(&write).err,
        "TMP/known.json: 1 findings recorded\n"
    );
    let missing = folder.verify(&["TMP/o", "--baseline=TMP/none.json"]);
    assert_eq!(missing.status, 2);
    assert!(missing.err.contains("--write-baseline"), "{}", missing.err);
}

#[test]
fn a_repository_chooses_in_a_file() {
    let folder = Folder::new("config");
    folder
        .file("o/bad.hsaco", damaged())
        .file("o/vendor/bad.hsaco", damaged())
        .file(
            "hetdwarf.toml",
            "[verify]\nwarn = ['cfi-*']\nexclude = ['vendor']\n",
        )
        .file("wrong.toml", "[verify]\ndenied = []\n")
        .file("known.toml", "[verify]\nbaseline = 'known.json'\n");
    let config = "--config=TMP/hetdwarf.toml";
    let ran = folder.verify(&["TMP/o", RULES, config]);
    assert_eq!(ran.status, 0);
    assert!(
        ran.out
            .ends_with("1 code object: 0 errors, 1 warning, 0 notes\n"),
        "{}",
        ran.out
    );
    // The command line takes precedence, and naming a file does not override it.
    let ran = folder.verify(&[
        "TMP/o",
        "TMP/o/vendor/bad.hsaco",
        RULES,
        config,
        "--deny=cfi-*",
    ]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.out
            .ends_with("1 code object: 1 error, 0 warnings, 0 notes\n"),
        "{}",
        ran.out
    );
    let wrong = folder.verify(&["TMP/o", "--config=TMP/wrong.toml"]);
    assert_eq!(wrong.status, 2);
    assert!(
        wrong
            .err
            .starts_with("error: TMP/wrong.toml:2: unknown field `denied`"),
        "{}",
        wrong.err
    );
    // The baseline is next to the configuration. It need not exist when it is written.
    let known = ["TMP/o", RULES, "--config=TMP/known.toml"];
    assert_eq!(folder.verify(&known).status, 2);
    assert_eq!(
        folder
            .verify(&[&known[..], &["--write-baseline=TMP/known.json"]].concat())
            .status,
        0
    );
    assert_eq!(folder.verify(&known).status, 0);
}

#[test]
fn rules_are_explained_and_wrong_names_corrected() {
    let list = hetdwarf(["verify", "--list"]).out;
    for rule in Rule::all() {
        let line = list
            .lines()
            .find(|line| line.split_whitespace().next() == Some(rule.id));
        let line = line.unwrap_or_else(|| panic!("{}", rule.id));
        assert!(line.contains(rule.severity.name()) && line.contains(rule.summary));
        let text = hetdwarf(["verify", "--explain", rule.id]).out;
        let words: Vec<_> = text.split_whitespace().collect();
        let explanation: Vec<_> = rule.explanation.split_whitespace().collect();
        assert!(
            words
                .windows(explanation.len())
                .any(|some| some == explanation)
                && text.contains(rule.spec)
                && text.contains("Fixed by: "),
            "{text}"
        );
        assert!(
            // An example is printed unchanged.
            text.lines()
                .skip(1)
                .all(|line| line.starts_with("    ") || line.chars().count() <= 100),
            "{text}"
        );
    }
    let json = hetdwarf(["verify", "--list", "--format", "json"]).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["rules"].as_array().unwrap().len(), Rule::all().count());
    let text = hetdwarf(["verify", "--explain", "machine-code"]).out;
    let explained = ["cfi-stale-lane (error): ", "\n\ncfi-cfa-wrong (error): "];
    assert!(explained.iter().all(|start| text.contains(start)), "{text}");
    assert!(!text.contains("cfi-entry"), "{text}");
    for arguments in [
        &["--explain", "cfi-entyr"][..],
        &["--allow", "cfi-entyr", "."],
        &["--rules", "cfi-cie-pointer,cfi-entyr", "."],
        &["--warn", "cfi-entry", "--deny", "cfi-entyr", "."],
    ] {
        let ran = hetdwarf(["verify"].iter().chain(arguments).copied());
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}");
        let option =
            arguments[arguments.len() - 2 - usize::from(arguments.last() == Some(&"."))..][0];
        assert_eq!(
            ran.err,
            format!("error: {option}: there is no rule `cfi-entyr`; did you mean `cfi-entry`?\n")
        );
    }
    // A name is completed before a similar one is suggested.
    for (wrong, meant) in [
        ("loc-lost", "loc-lost-value"),
        ("lost", "loc-lost-value"),
        ("cfi", "cfi-*"),
        ("cfi-c", "cfi-c*"),
        ("machine", "machine-code"),
    ] {
        let ran = hetdwarf(["verify", "--explain", wrong]);
        let expected =
            format!("error: --explain: there is no rule `{wrong}`; did you mean `{meant}`?\n");
        assert_eq!((ran.status, ran.err), (2, expected));
    }
    let list = hetdwarf(["verify", "--list", "--rules", "loc-*"]).out;
    let ids = Rule::all().map(|rule| rule.id);
    assert_eq!(
        list.lines().count(),
        ids.filter(|id| id.starts_with("loc-")).count()
    );
    // An object is not a snapshot or a baseline, and a check of nothing does not pass.
    let object = fixture("waves/calls-O2/calls-O2.rocm.hsaco");
    let object = object.to_str().unwrap();
    for (arguments, expected) in [
        (
            &["verify", object, "--baseline", object][..],
            "this is a code object, not a baseline (JSON)",
        ),
        (
            &["lane-pc", object, "--wave", object],
            "this is a code object, not a wave snapshot (JSON)",
        ),
        (
            &["verify", object, "--rules", "cfi-entry", "--allow", "cfi-*"],
            "no rule is left to check: --rules, --allow, --profile and hetdwarf.toml together exclude all",
        ),
        (
            &[
                "verify",
                object,
                "--baseline",
                "fixtures/waves/structs/w00.json",
            ],
            "this is not a baseline, which --write-baseline writes: ",
        ),
        (
            &["compare", object, object, "--tolerance", "-1"],
            "expected a number from 0 to 100",
        ),
        (
            &["eval", "DW_OP_lit1"],
            "--expr takes the expression: hetdwarf eval --expr 'DW_OP_lit1'",
        ),
        (
            &["core", "--core", "x.core"],
            "`core` takes its files without --core: hetdwarf core ",
        ),
        (
            &["eval", "--expr", "DW_OP_const1u"],
            "expected a number after `DW_OP_const1u`, found nothing",
        ),
    ] {
        let ran = hetdwarf(arguments.iter().copied());
        assert!(
            ran.status == 2 && ran.err.contains(expected),
            "{arguments:?}: {}",
            ran.err
        );
        assert!(!ran.err.contains("similar argument"), "{}", ran.err);
    }
    for (arguments, expected) in [
        (
            ["--hex", "ff"],
            "unknown-operation: at byte 0: unknown operation 0xff",
        ),
        (["--expr", "deref"], "needs 1 stack entry, found 0"),
    ] {
        let ran = hetdwarf(["eval"].iter().chain(&arguments).copied());
        assert!(ran.status == 1 && ran.out.contains(expected), "{}", ran.out);
    }
    for arguments in [
        &[][..],
        &["--list", "x.hsaco"],
        &["--explain", "cfi-entry", "--format", "sarif"],
        &["x", "--jobs", "0"],
        &["x", "--baseline", "a", "--write-baseline", "b"],
    ] {
        let ran = hetdwarf(["verify"].iter().chain(arguments).copied());
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}");
    }
}

/// Returns a document with findings that have every optional part, and findings without them.
fn document() -> VerifyDocument {
    let finding = |severity, source| {
        let message = "100% {0} of \"it\"\nis wrong";
        let spec = "DWARF 5 §6.4.1";
        let mut finding =
            FindingDocument::new("cfi-entry", severity, ".debug_frame", message, spec);
        finding.source = Some(source);
        finding.fingerprint = "0123456789abcdef".into();
        finding.registers = vec!["s33".to_owned()];
        finding.cause = Some(0x1a04_u64.into());
        finding.kind = "scalar".to_owned();
        finding
    };
    let mut source = SourceDocument::new("/src/a b:c.cl", 12);
    source.text = Some("x = y;".into());
    let mut full = finding(Severity::Warning, source);
    full.offset = Some(0x68_u64.into());
    full.pc = Some(u64::MAX.into());
    full.function = Some("helper<int>(int*)".into());
    full.excerpt = Some(Excerpt::new("row\u{1b}", 0..3));
    full.help = Some("more".into());
    let bare = finding(Severity::Note, SourceDocument::new("a.cl", 0));
    let file = |path: &str, container: Option<&str>, findings: Vec<FindingDocument>| {
        let mut file = VerifiedFile::with_findings(path.to_owned(), "gfx90a", findings);
        file.container = container.map(|path| path.to_owned().into());
        file.left_out = 1;
        file
    };
    VerifyDocument::new([CheckedFile {
        objects: vec![
            file(
                "lib é.a(x.o):hip-amdgcn-amd-amdhsa--gfx90a#2",
                Some("lib é.a"),
                vec![full.clone(), full],
            ),
            file("b.hsaco", None, vec![bare]),
        ],
        unreadable: vec![UnreadableFile::new("gone", "not there")],
    }])
}

/// Returns the standard's schema, from the sources of a package generated from it.
fn sarif_schema() -> Value {
    let host = Command::new("rustc").arg("-vV").output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap();
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--offline",
            "--format-version=1",
            "--filter-platform",
            host,
        ])
        .current_dir(dwarf_tests::package())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&metadata.stderr)));
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages
        .find(|package| package["name"] == "serde-sarif")
        .unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    let text = fs::read_to_string(manifest.with_file_name("src").join("schema.json")).unwrap();
    // A `]` without a `[` is literal in ECMA-262, but an error in stricter regex parsers.
    let stray = "-[a-zA-Z]{2}]?$";
    assert_eq!(text.matches(stray).count(), 2);
    let schema: Value = serde_json::from_str(&text.replace(stray, r"-[a-zA-Z]{2}\\]?$")).unwrap();
    assert!(
        schema["$id"]
            .as_str()
            .unwrap()
            .ends_with("/sarif-schema-2.1.0.json"),
        "{}",
        schema["$id"]
    );
    schema
}

/// Two files with the same errors share findings as text. In a `JUnit` report both fail, also if it is merged from records.
#[test]
fn every_file_with_an_error_fails_in_junit() {
    let folder = Folder::new("junit-groups");
    folder.file("a.hsaco", good()).file("b.hsaco", good());
    let rule = "--rules=cfi-inactive-lanes-only";
    let text = folder.verify(&["TMP", rule]).out;
    assert!(text.contains("2 code objects: 2 errors, "), "{text}");
    let report = folder.verify(&["TMP", rule, "--format=junit"]).out;
    for name in ["a", "b"] {
        let suite = format!("<testsuite name=\"TMP/{name}.hsaco\" tests=\"2\" failures=\"2\" ");
        assert!(report.contains(&suite), "{report}");
    }
    let records = folder.verify(&["TMP", rule, "--format=jsonl"]).out;
    folder.file("records.jsonl", records);
    let merged = hetdwarf(["merge", &folder.path("records.jsonl"), "--format=junit"]);
    assert_eq!((merged.status, merged.out), (1, report));
}

/// Another kind of file has one error per line. Only the first are printed.
#[test]
fn a_file_that_is_not_of_records_is_not_read_to_the_end() {
    let folder = Folder::new("no-records");
    folder
        .file("good.hsaco", good())
        .file("report.sarif", "{\n".repeat(50));
    let record = folder
        .verify(&["TMP/good.hsaco", RULES, "--format=jsonl"])
        .out;
    // Wrong lines among records are all printed.
    let mixed = format!("wrong\nwrong\n{record}wrong\n").replace("TMP", folder.0.to_str().unwrap());
    folder.file("mixed.jsonl", mixed);
    let ran = hetdwarf([
        "merge",
        &folder.path("report.sarif"),
        &folder.path("mixed.jsonl"),
    ]);
    assert_eq!(ran.status, 2);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 10 + 1 + 3, "{}", ran.err);
    assert!(
        lines[9].contains("report.sarif:10: malformed record"),
        "{}",
        lines[9]
    );
    assert!(
        lines[10].contains("report.sarif: the rest of the file is not read; "),
        "{}",
        lines[10]
    );
    assert!(
        ran.out
            .ends_with("1 code object: 0 errors, 0 warnings, 0 notes\n"),
        "{}",
        ran.out
    );
}

/// The output is valid for a schema in use, the schema of Jenkins' xUnit plugin.
#[test]
fn junit_is_what_its_schema_says() {
    let Ok(version) = Command::new("xmllint").arg("--version").output() else {
        dwarf_tests::skipped("xmllint is not installed");
        return;
    };
    assert!(version.status.success());
    let folder = Folder::new("junit");
    let schema = fixture("junit/junit-10.xsd");
    let valid = |text: &str| {
        folder.file("report.xml", text);
        let ran = Command::new("xmllint")
            .args(["--noout", "--nonet", "--schema"])
            .args([&schema, &folder.0.join("report.xml")])
            .output()
            .unwrap();
        (
            ran.status.success(),
            String::from_utf8_lossy(&ran.stderr).into_owned(),
        )
    };
    let corpus = fixture("corpus");
    let real = hetdwarf(["verify", corpus.to_str().unwrap(), "--format=junit"]).out;
    for text in [&real, &hetdwarf::report::junit(&document())] {
        let (is_valid, said) = valid(text);
        assert!(is_valid, "{said}");
    }
    // These changes show that the check can fail.
    for (right, wrong) in [("<failure ", "<failed "), (" failures=", " fails=")] {
        assert!(!valid(&real.replace(right, wrong)).0, "{wrong}");
    }
}

#[test]
fn sarif_is_what_its_schema_says() {
    let schema = sarif_schema();
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap();
    let folder = Folder::new("sarif");
    folder
        .file("bad.hsaco", damaged())
        .file("text", "no object");
    let ran = folder.verify(&["TMP", "TMP/text", RULES, "--format=sarif"]);
    let real: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(real["runs"][0]["results"].as_array().unwrap().len(), 1);
    let made = serde_json::to_value(SarifLog::new(&document(), "/src")).unwrap();
    assert_eq!(made["runs"][0]["results"].as_array().unwrap().len(), 3);
    for log in [&real, &made] {
        let errors: Vec<_> = validator
            .iter_errors(log)
            .map(|e| format!("{e} at {}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{log:#}");
        // A reader that knows the types accepts the document.
        let read: serde_sarif::sarif::Sarif = serde_json::from_value(log.clone()).unwrap();
        let driver = &read.runs[0].tool.driver;
        assert_eq!(driver.rules.as_ref().unwrap().len(), Rule::all().count());
    }
    // These changes show that the check can fail.
    for (pointer, wrong) in [
        ("/runs/0/results/0/level", Value::from("bad")),
        ("/runs/0/results/0/message", Value::from("bad")),
        (
            "/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri",
            Value::from("a b"),
        ),
        ("/runs/0/tool/driver/rules/0/id", Value::Null),
    ] {
        let mut log = made.clone();
        *log.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&log), "{pointer}");
    }
}

/// The line is shown from the source folder that the user gives, and paths are relative to it.
#[test]
fn a_finding_shows_its_source_line() {
    let folder = Folder::new("sources");
    let object = fixture("waves/recursion/recursion.hsaco");
    let arguments = [object.to_str().unwrap(), "--rules=cfi-stale-lane"];
    let found = folder.json(&arguments);
    let source = |document: &Value| document["files"][0]["findings"][0]["source"].clone();
    let (path, line) = (
        source(&found)["file"].clone(),
        source(&found)["line"].clone(),
    );
    // The object names its file without a folder, and does not contain the source.
    assert_eq!(path, "recursion.cl");
    assert_eq!(source(&found).get("text"), None);
    let line = line.as_u64().unwrap();
    let lines: String = (1..=100).map(|n| format!("  line_{n}();\n")).collect();
    folder.file("src/recursion.cl", lines);
    let shown = format!("line_{line}();");
    let sources = ["--source-dir=TMP/src", arguments[0], arguments[1]];
    assert_eq!(source(&folder.json(&sources))["text"], *shown);
    let text = folder.verify(&sources).out;
    assert!(text.contains(&format!("\n  {line} | {shown}\n")), "{text}");
    let log = folder.verify(&[&sources[..], &["--format=sarif"]].concat());
    let log: Value = serde_json::from_str(&log.out).unwrap();
    let region = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    let shown = format!("line_{}();", region["startLine"]);
    assert_eq!(region["snippet"]["text"], *shown);
    // A mapping for another folder does not apply.
    let other = folder.json(&["--source-dir=/build=TMP/src", arguments[0], arguments[1]]);
    assert_eq!(source(&other), source(&found));
}

/// All formats agree: they have the same number of findings, with the same rules and lines.
#[test]
fn every_form_has_every_finding() {
    let document = document();
    let annotations = hetdwarf::report::github_annotations(&document, "/src");
    // One annotation is for the missing file.
    assert_eq!(annotations.lines().count(), 1 + document.findings().count());
    assert!(annotations.lines().all(|line| line.starts_with("::")));
    let log = serde_json::to_value(SarifLog::new(&document, "/src")).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    // The worst findings come first, unlike in the document.
    let mut findings: Vec<_> = document.findings().collect();
    findings.sort_by_key(|(_, finding)| core::cmp::Reverse(finding.severity));
    for (result, (_, finding)) in results.iter().zip(findings) {
        assert_eq!(result["ruleId"], finding.rule);
        assert_eq!(result["level"], finding.severity.name());
        assert!(
            result["message"]["text"]
                .as_str()
                .unwrap()
                .starts_with(&finding.message.to_string())
        );
    }
    // A code host distinguishes two similar findings.
    let prints: std::collections::BTreeSet<_> = results
        .iter()
        .map(|result| result["partialFingerprints"].to_string())
        .collect();
    assert_eq!(prints.len(), results.len());
}
