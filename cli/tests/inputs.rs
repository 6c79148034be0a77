//! Tests the inputs and exit statuses of the command. The command runs as a process, because a process can block, die
//! from a signal, or write to a closed pipe.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use hetdwarf::object::CodeObject;
use rustix::process::{Pid, Signal, kill_process};

/// The time limit for one command. Only a command that waits for input that never comes exceeds it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A temporary folder for the files of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("hetdwarf-inputs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path.canonicalize().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Folder {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// Returns the command, set up to run in this folder.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hetdwarf"));
        command.args(arguments).current_dir(&self.0);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments), &arguments)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The output and exit status of a finished command.
#[derive(Debug)]
struct Ran {
    out: String,
    err: String,
    status: Option<i32>,
}

/// Runs a command to its end. Kills it and fails if it exceeds `PATIENCE`.
fn finish(mut command: Command, about: &dyn core::fmt::Debug) -> Ran {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |input: &mut dyn Read| {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let out = std::thread::spawn(move || read(&mut out));
    let err = std::thread::spawn(move || read(&mut err));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{about:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Ran {
        out: out.join().unwrap(),
        err: err.join().unwrap(),
        status: status.code(),
    }
}

fn good() -> Vec<u8> {
    fs::read(demo().join("calls-O2.rocm.hsaco")).unwrap()
}

/// Returns the good code object with the bytes at an offset in a section replaced.
fn patched(section: &str, offset: usize, old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut file = good();
    let object = CodeObject::parse(&file).unwrap();
    let section = object.section(section).unwrap().unwrap().to_vec();
    drop(object);
    let mut places = file.windows(section.len());
    let start = places.position(|bytes| bytes == section).unwrap() + offset;
    assert_eq!(file[start..start + old.len()], *old);
    file[start..start + new.len()].copy_from_slice(new);
    file
}

/// Returns a code object whose first FDE, at 0x10 of `.debug_frame`, has a CIE pointer outside of the section (DWARF 5
/// §6.4.1).
fn damaged() -> Vec<u8> {
    patched(".debug_frame", 0x14, &[0; 4], &[0, 0, 0xee, 0x0e])
}

/// Returns an ELF file for the host that has only a header and contains no code objects.
fn host() -> Vec<u8> {
    let mut host = vec![0; 64];
    host[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    for (at, value) in [(16, 1), (18, 62), (20, 1), (52, 64), (58, 64)] {
        host[at] = value;
    }
    host
}

fn demo() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("examples/demo")
}

fn fixture(path: &str) -> PathBuf {
    let fixtures =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("dwarf-tests/fixtures");
    fixtures.join(path)
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

const RULES: &str = "--rules=cfi-entry,cfi-cie-pointer";

/// Creates a folder with a good object, its snapshot, and special files. Returns the name and kind of each special
/// file.
fn folder_of_no_files(name: &str) -> (Folder, [(&'static str, &'static str); 4], UnixListener) {
    let folder = Folder::new(name);
    folder
        .file("good.hsaco", good())
        .file("stop.json", fs::read(demo().join("stop.json")).unwrap());
    fs::create_dir(folder.0.join("folder")).unwrap();
    pipe(&folder.0.join("pipe"));
    let socket = UnixListener::bind(folder.0.join("socket")).unwrap();
    let kinds = [
        ("folder", "directory"),
        ("pipe", "pipe"),
        ("socket", "socket"),
        ("/dev/zero", "device"),
    ];
    (folder, kinds, socket)
}

/// Passes each kind of special file as every argument that names an input file.
#[test]
fn what_is_no_file_is_an_error_and_is_not_waited_for() {
    let (folder, kinds, _socket) = folder_of_no_files("kinds");
    for (path, kind) in kinds {
        for arguments in [
            &["info", path][..],
            &["dump", path],
            &["dump", "good.hsaco", "--dwo", path],
            &["vars", path, "--wave", "stop.json"],
            &["vars", "good.hsaco", "--wave", path],
            &["vars", "good.hsaco", "--dwo", path, "--wave", "stop.json"],
            &["print", "good.hsaco", "--wave", path, "x"],
            &["lane-pc", "good.hsaco", "--wave", path],
            &["unwind", "good.hsaco", "--wave", path],
            &["unwind", "--core", path],
            &["core", path],
            &["eval", "--expr", "lit1", "--wave", path],
            &["eval", "--expr", "lit1", "--object", path],
            &["eval", "--batch", path],
            &["verify", "good.hsaco", "--baseline", path],
            &["verify", "good.hsaco", "--config", path],
            // A folder is searched for code objects.
            &["verify", path],
        ] {
            let is_searched = arguments == ["verify", "folder"];
            let ran = folder.run(arguments);
            assert_eq!(ran.status, Some(2), "{arguments:?} {ran:?}");
            let expected = if is_searched {
                "no code object found".to_owned()
            } else {
                format!("this is a {kind}")
            };
            let expected = format!("error: {path}: {expected}");
            assert!(ran.err.starts_with(&expected), "{arguments:?} {ran:?}");
            assert_eq!(ran.out.is_empty(), arguments != ["verify", path]);
        }
    }
}

/// The user who runs the command may not have written the batch or the configuration. Neither may name a pipe or a
/// device.
#[test]
fn what_a_file_names_is_no_pipe_and_no_device() {
    let (folder, kinds, _socket) = folder_of_no_files("named");
    // The pipe has a writer that never writes.
    let pipe = folder.0.join("pipe");
    let _writer = OpenOptions::new().read(true).write(true).open(pipe);
    for (path, kind) in kinds {
        let expected = format!("this is a {kind}");
        let line = format!("{{\"expr\": \"lit1\", \"wave\": \"{path}\"}}\n");
        folder.file("batch", line);
        let ran = folder.run(&["eval", "--batch", "batch"]);
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.out.contains(&expected), "{ran:?}");

        folder.file("c.toml", format!("[verify]\nbaseline = '{path}'\n"));
        let ran = folder.run(&["verify", "good.hsaco", "--config=c.toml"]);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        let expected = match path {
            "/dev/zero" => "leads out of the directory",
            _ => &expected,
        };
        assert!(ran.err.contains(expected), "{ran:?}");
    }
    // The configuration file that is found without `--config`.
    let none = Folder::new("no-config");
    none.file("good.hsaco", good());
    self::pipe(&none.0.join("hetdwarf.toml"));
    let ran = none.run(&["verify", "good.hsaco"]);
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(ran.err.contains("hetdwarf.toml: this is a pipe"), "{ran:?}");
}

/// Checks input from pipes whose writer is slow. A shell's `<(…)` is a pipe, and `/dev/stdin` often is.
#[cfg(target_os = "linux")]
#[test]
fn a_wave_and_a_batch_are_read_from_pipes_and_standard_input() {
    let stop = fs::read(demo().join("stop.json")).unwrap();
    let batch = b"{\"expr\": \"lit1\", \"id\": 1}\n\n{\"expr\": \"lit2\", \"id\": 2}".to_vec();
    let folder = Folder::new("pipes");
    folder
        .file("good.hsaco", good())
        .file("stop.json", &stop)
        .file("batch", &batch);
    let feed = |arguments: &[&str], input: &[u8]| -> Output {
        let mut child = folder
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    };
    for (arguments, file, input) in [
        (&["vars", "good.hsaco", "--wave"][..], "stop.json", &stop),
        (&["eval", "--batch"], "batch", &batch),
    ] {
        let with = |name| [arguments, &[name]].concat();
        let expected = folder.run(&with(file));
        assert_eq!(expected.status, Some(0), "{expected:?}");
        assert!(expected.out.lines().count() >= 2, "{expected:?}");
        for name in ["/dev/stdin", "-"] {
            let found = feed(&with(name), input);
            assert_eq!(String::from_utf8(found.stdout).unwrap(), expected.out);
            assert_eq!(found.status.code(), Some(0), "{name}");
        }
    }
    // A line of the maximum length, and a line that is one byte too long.
    let mut long = vec![b' '; (16 << 20) - 1];
    long.push(b'\n');
    let fits = feed(&["eval", "--batch", "-"], &long);
    assert_eq!(fits.status.code(), Some(0));
    folder.file("long", [b"{}\n", &[b' '; 1][..], &long].concat());
    let ran = folder.run(&["eval", "--batch", "long"]);
    assert_eq!(ran.status, Some(2), "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 1);
    let expected = "error: long: line 2 has more than 16777216 bytes\n";
    assert_eq!(ran.err, expected);
}

/// Cuts the file before the test reads the rest of the output. By then the command is blocked in the middle of the
/// dump, whose text exceeds the pipe and the buffers (64 KiB each). If the file were mapped, a signal would end the
/// command.
#[test]
fn a_file_that_is_cut_in_the_middle_of_a_dump_is_dumped_to_its_end() {
    let folder = Folder::new("cut");
    let mut object = fs::read(fixture("corpus/gcc12/offload-gfx906-O1.hsaco")).unwrap();
    object.resize(20 << 20, 0);
    folder.file("object.hsaco", &object);
    let expected = folder.run(&["dump", "object.hsaco"]);
    assert_eq!(expected.status, Some(0), "{}", expected.err);
    assert!(expected.out.len() > 1 << 18, "{}", expected.out.len());

    let mut child = folder
        .command(&["dump", "object.hsaco"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut text = vec![0];
    out.read_exact(&mut text).unwrap();
    let file = OpenOptions::new()
        .write(true)
        .open(folder.0.join("object.hsaco"));
    file.unwrap().set_len(0).unwrap();
    out.read_to_end(&mut text).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "{status}");
    assert!(text == expected.out.as_bytes());
}

/// Cuts a mapped file (more than 64 MiB) while the command waits for the wave. The missing bytes are an error with
/// status 2, not a `SIGBUS`.
#[test]
fn a_large_file_that_is_cut_is_an_error() {
    let folder = Folder::new("cut-large");
    let object = fs::read(demo().join("calls-O2.rocm.hsaco")).unwrap();
    let wave = fs::read(demo().join("stop.json")).unwrap();
    folder.file("object.hsaco", &object);
    let path = folder.0.join("object.hsaco");
    let resize = |length| {
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
    };
    // The file is unchanged, grown, or truncated to nothing while the command reads it.
    for (length, later, expected) in [
        (100 << 20, 100 << 20, 0),
        (100 << 20, 101 << 20, 0),
        (100 << 20, 0, 2),
    ] {
        resize(length);
        let mut child = folder
            .command(&["vars", "object.hsaco", "--wave", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // This exceeds the capacity of a pipe. When the write returns, the command is reading the wave and has already
        // opened the object.
        input.write_all(&[b' '; 1 << 18]).unwrap();
        resize(later);
        input.write_all(&wave).unwrap();
        drop(input);
        let ran = child.wait_with_output().unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(
            ran.status.code(),
            Some(expected),
            "{later}: {:?}: {err}",
            ran.status
        );
        if expected == 2 {
            assert!(err.contains("shorter"), "{err}");
        }
        fs::write(&path, &object).unwrap();
    }
}

/// Checks that the command keeps reading the file it opened when another file takes its name.
#[test]
fn a_file_that_is_replaced_is_read_as_it_was() {
    let folder = Folder::new("replaced");
    let object = fs::read(demo().join("calls-O2.rocm.hsaco")).unwrap();
    let wave = fs::read(demo().join("stop.json")).unwrap();
    let run = |replaced: bool| {
        folder
            .file("object.hsaco", &object)
            .file("other", "no object");
        let mut child = folder
            .command(&["vars", "object.hsaco", "--wave", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&[b' '; 1 << 18]).unwrap();
        if replaced {
            fs::rename(folder.0.join("other"), folder.0.join("object.hsaco")).unwrap();
        }
        input.write_all(&wave).unwrap();
        drop(input);
        let ran = child.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{replaced}");
        ran.stdout
    };
    assert_eq!(run(false), run(true));
}

/// Returns the write end of a pipe whose reader is closed.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn the_status_is_the_same_where_nobody_reads() {
    let folder = Folder::new("closed");
    folder
        .file("good.hsaco", good())
        .file("bad.hsaco", damaged())
        // The first entry, after a header of 12 bytes, has an undefined abbreviation code (DWARF 5 §7.5.2).
        .file("code.hsaco", patched(".debug_info", 12, &[1], &[0x7f]))
        .file("stop.json", fs::read(demo().join("stop.json")).unwrap())
        .file("text", "no object");
    let packed = fs::File::open(fixture("cores/bad-file-cut/merged.core.gz")).unwrap();
    let mut core = Vec::new();
    let mut unpacked = flate2::read::GzDecoder::new(packed);
    unpacked.read_to_end(&mut core).unwrap();
    folder.file("cut.core", core);
    let cases: &[(&[&str], i32)] = &[
        (&["verify", "good.hsaco", RULES], 0),
        (&["verify", "bad.hsaco", RULES], 1),
        (&["verify", "bad.hsaco", RULES, "--format=json"], 1),
        (&["verify", "bad.hsaco", RULES, "--format=sarif"], 1),
        (&["verify", "bad.hsaco", RULES, "--format=github"], 1),
        (&["verify", "bad.hsaco", "text", RULES], 2),
        (
            &["vars", "good.hsaco", "--wave=stop.json", "--name=none"],
            1,
        ),
        (&["print", "good.hsaco", "--wave=stop.json", "none"], 1),
        (&["eval", "--expr", "drop"], 1),
        (&["core", "cut.core"], 1),
        (&["info", "good.hsaco"], 0),
        (&["info", "text"], 2),
        (&["dump", "good.hsaco"], 0),
        (&["dump", "text"], 2),
        (&["dump", "code.hsaco"], 2),
        (&["demo"], 0),
    ];
    for (arguments, status) in cases {
        let ran = folder.run(arguments);
        assert_eq!(ran.status, Some(*status), "{arguments:?} {ran:?}");
        for (out, err) in [
            (closed(), Stdio::null()),
            (Stdio::null(), closed()),
            (closed(), closed()),
        ] {
            let mut command = folder.command(arguments);
            let found = command.stdout(out).stderr(err).status().unwrap();
            assert_eq!(found.code(), Some(*status), "{arguments:?} {found}");
        }
    }
    // Messages about baselines go to standard error.
    folder.file("known.json", baseline(["bad.hsaco"]));
    for (option, status) in [("--baseline", 1), ("--write-baseline", 0)] {
        let mut command = folder.command(&["verify", "bad.hsaco", RULES, option, "known.json"]);
        let found = command
            .stdout(Stdio::null())
            .stderr(closed())
            .status()
            .unwrap();
        assert_eq!(found.code(), Some(status), "{option} {found}");
    }
}

/// Returns a baseline in which every finding is obsolete.
fn baseline<P: core::fmt::Display>(paths: impl IntoIterator<Item = P>) -> String {
    let entries: Vec<String> = paths
        .into_iter()
        .map(|path| {
            format!("{{\"rule\": \"cfi-entry\", \"producer\": \"LLVM\", \"function\": \"{path}\", \"files\": [\"{path}\"]}}")
        })
        .collect();
    let entries = entries.join(",\n");
    format!("{{\"format\": \"hetdwarf-baseline/2\", \"findings\": [{entries}]}}")
}

#[test]
fn a_check_that_checks_nothing_fails() {
    let folder = Folder::new("nothing");
    folder
        .file("empty/source.cl", "kernel void k() {}")
        .file("host/program", host())
        .file("both/program", host())
        .file("both/deep/good.hsaco", good())
        .file("out/good.hsaco", good())
        .file("part/out/good.hsaco", good())
        .file("leave.toml", "[verify]\nexclude = ['out', 'host']\n");
    let leave = "--config=leave.toml";
    let nothing = "no code object found";
    let rest = "hetdwarf.toml excludes all code objects in it";
    let left_out = "hetdwarf.toml excludes it, and there is nothing else to check";
    /// Arguments, the exit status, and the expected messages by path.
    type Case<'a> = (&'a [&'a str], i32, &'a [(&'a str, &'a str)]);
    let cases: &[Case<'_>] = &[
        (&["both"], 0, &[]),
        (&["empty"], 2, &[("empty", nothing)]),
        (&["host"], 2, &[("host", nothing)]),
        (&["host", "both"], 2, &[("host", nothing)]),
        (
            &["empty", "host"],
            2,
            &[("empty", nothing), ("host", nothing)],
        ),
        (&["both", "out", leave], 0, &[]),
        (&["both", "part", leave], 0, &[]),
        (&["part", leave], 2, &[("part", rest)]),
        (&["out", leave], 2, &[("out", left_out)]),
        (
            &["out/good.hsaco", leave],
            2,
            &[("out/good.hsaco", left_out)],
        ),
        (
            &["host/program"],
            2,
            &[(
                "host/program",
                "this is an ELF file for machine 62 (x86-64)",
            )],
        ),
    ];
    for (arguments, status, messages) in cases {
        for format in ["--format=text", "--format=json"] {
            let ran = folder.run(&[&["verify", RULES, format], *arguments].concat());
            assert_eq!(ran.status, Some(*status), "{arguments:?} {ran:?}");
            let lines: Vec<&str> = ran.err.lines().collect();
            assert_eq!(lines.len(), messages.len(), "{arguments:?} {ran:?}");
            for (line, (path, message)) in lines.iter().zip(*messages) {
                let start = format!("error: {path}: ");
                let is_said = line.starts_with(&start) && line.contains(message);
                assert!(is_said, "{arguments:?} {line}");
            }
        }
    }
}

/// Nests folders until the path exceeds the limit of the system, `PATH_MAX`.
#[test]
fn an_entry_of_a_folder_that_cannot_be_looked_at_is_named() {
    let folder = Folder::new("deep");
    folder.file("top/good.hsaco", good());
    let make = "n=0; while [ $n -lt 24 ]; do mkdir $0 && cd -P $0 || exit 1; n=$((n + 1)); done";
    let made = Command::new("sh")
        .args(["-c", make, &"d".repeat(200)])
        .current_dir(folder.0.join("top"))
        .status()
        .unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("nowhere", folder.0.join("top/link")).unwrap();
    let ran = folder.run(&["verify", "top", RULES]);
    assert_eq!(ran.status, Some(2), "{ran:?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 1, "{ran:?}");
    assert!(
        lines[0].starts_with("error: top/ddd") && lines[0].contains("name too long"),
        "{ran:?}"
    );
    assert!(ran.out.contains("1 code object"), "{ran:?}");
}

#[test]
fn patterns_that_are_too_much_are_errors() {
    let folder = Folder::new("patterns");
    folder
        .file("good.hsaco", good())
        .file("stop.json", fs::read(demo().join("stop.json")).unwrap());
    // A depth of 300 exceeds the limit of the pattern library. A depth of 20,000 would overflow the stack of a
    // recursive parser.
    for depth in [300, 20_000] {
        let pattern = "{a,b".repeat(depth) + &"}".repeat(depth);
        for arguments in [
            &["dump", "good.hsaco", "--name", &pattern][..],
            &["vars", "good.hsaco", "--wave=stop.json", "--name", &pattern],
        ] {
            let ran = folder.run(arguments);
            assert_eq!(ran.status, Some(2), "{depth} {}", ran.err.len());
            assert!(ran.err.starts_with("error: --name: the pattern has "));
            assert!(ran.err.len() < 200, "{}", ran.err.len());
        }
        folder.file("c.toml", format!("[verify]\nexclude = ['x',\n'{pattern}']"));
        let ran = folder.run(&["verify", "good.hsaco", "--config=c.toml"]);
        assert_eq!(ran.status, Some(2), "{depth} {}", ran.err.len());
        assert!(ran.err.starts_with("error: c.toml:3: the pattern has "));
        assert!(ran.err.len() < 200, "{}", ran.err.len());
    }
    // Too many patterns are an error even if each is valid.
    let many = "'a',".repeat(1001);
    folder.file("c.toml", format!("[verify]\nexclude = [{many}]"));
    let ran = folder.run(&["verify", "good.hsaco", "--config=c.toml"]);
    assert_eq!(ran.status, Some(2), "{}", ran.err.len());
    assert!(ran.err.contains("more than 1000 patterns"), "{}", ran.err);
}

#[test]
fn a_configuration_is_bounded_and_names_only_files_in_its_folder() {
    let folder = Folder::new("config");
    folder
        .file("repo/good.hsaco", good())
        .file("repo/in/known.json", baseline([""; 0]))
        .file("secret.json", baseline([""; 0]));
    std::os::unix::fs::symlink("in/known.json", folder.0.join("repo/link")).unwrap();
    std::os::unix::fs::symlink("../secret.json", folder.0.join("repo/out")).unwrap();
    std::os::unix::fs::symlink("..", folder.0.join("repo/up")).unwrap();
    let absolute = folder.0.join("repo/in/known.json");
    let verify = |text: &str| {
        folder.file("repo/hetdwarf.toml", text);
        let mut command = folder.command(&["verify", "../good.hsaco", RULES]);
        command.current_dir(folder.0.join("repo/in"));
        finish(command, &text)
    };
    for (named, error) in [
        ("in/known.json", None),
        ("./in/known.json", None),
        ("link", None),
        ("../secret.json", Some("leads out of the directory")),
        ("in/../in/known.json", Some("leads out of the directory")),
        (
            absolute.to_str().unwrap(),
            Some("leads out of the directory"),
        ),
        ("out", Some("is a link that leads out of the directory")),
        (
            "up/secret.json",
            Some("is a link that leads out of the directory"),
        ),
        ("none.json", Some("a file that --write-baseline wrote")),
    ] {
        let ran = verify(&format!("[verify]\nbaseline = '{named}'\n"));
        assert_eq!(ran.status, Some(error.map_or(0, |_| 2)), "{named} {ran:?}");
        assert!(ran.err.contains(error.unwrap_or("")), "{named} {ran:?}");
    }
    // Configurations that nest too deeply or are too large.
    for text in [
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(60_000)),
        format!("{}a = 1", "a.".repeat(100_000)),
        "#".repeat((256 << 10) + 1),
    ] {
        let ran = verify(&text);
        assert_eq!(ran.status, Some(2), "{}", ran.err);
        assert!(ran.err.contains("hetdwarf.toml:"), "{}", ran.err);
        assert!(ran.err.len() < 400, "{}", ran.err.len());
    }
    fs::remove_file(folder.0.join("repo/hetdwarf.toml")).unwrap();
    // hetdwarf looks for the file in the current folder and its 127 nearest parents.
    folder.file("repo/hetdwarf.toml", "wrong");
    for (depth, status) in [(127, 2), (128, 0)] {
        let deep = folder.0.join("repo").join("d/".repeat(depth));
        fs::create_dir_all(&deep).unwrap();
        let object = folder.0.join("repo/good.hsaco");
        let mut command = folder.command(&["verify", object.to_str().unwrap(), RULES]);
        command.current_dir(deep);
        let ran = finish(command, &depth);
        assert_eq!(ran.status, Some(status), "{depth} {ran:?}");
    }
}

/// Reads a baseline of 200,000 obsolete entries. An algorithm that compares every two of them would run into the time
/// limit.
#[test]
fn a_long_baseline_of_what_is_gone_is_read_in_linear_time() {
    let folder = Folder::new("baseline");
    let count = 200_000;
    let entries = (0..count).map(|number| format!("o/{number:06}.o"));
    folder
        .file("o/good.hsaco", good())
        .file("known.json", baseline(entries));
    let ran = folder.run(&["verify", "o", RULES, "--baseline", "known.json"]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains("no longer found: 199980 more"),
        "{}",
        ran.err
    );
    // The command cannot read 5000 of the files. Their known findings are not reported as no longer found.
    let gone: Vec<String> = (0..5000).map(|number| format!("o/{number:06}.o")).collect();
    let mut arguments = vec!["verify", "o", RULES, "--baseline", "known.json"];
    arguments.extend(gone.iter().map(|path| &**path));
    let ran = folder.run(&arguments);
    assert_eq!(ran.status, Some(2));
    assert!(
        ran.err.contains("no longer found: 194980 more"),
        "{}",
        ran.err.lines().last().unwrap()
    );
}

/// A baseline in an older format.
const OLD: &str = r#"{"format": "hetdwarf-baseline/1"}"#;

/// Checks that a symbolic link stays a link, and that a special file is written to instead of replaced.
#[test]
fn a_baseline_takes_the_place_of_the_old_one() {
    let folder = Folder::new("write");
    folder.file("bad.hsaco", damaged()).file("known.json", OLD);
    std::os::unix::fs::symlink("known.json", folder.0.join("link")).unwrap();
    let mut reader = fs::File::open(folder.0.join("known.json")).unwrap();
    let ran = folder.run(&["verify", "bad.hsaco", RULES, "--write-baseline=link"]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    // A reader that opened the old baseline still sees all of it.
    let mut old = String::new();
    reader.read_to_string(&mut old).unwrap();
    assert_eq!(old, OLD);
    let new = fs::read_to_string(folder.0.join("known.json")).unwrap();
    assert!(new.starts_with("{\"format\": \"hetdwarf-baseline/2\"") && new.ends_with("]}\n"));
    assert!(folder.0.join("link").is_symlink());
    let ran = folder.run(&["verify", "bad.hsaco", RULES, "--write-baseline=/dev/stdout"]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    // Its paths are relative to another folder, so only the text before the first path is compared.
    let start = new.split("\"path\"").next().unwrap();
    assert!(ran.out.starts_with(start), "{ran:?}");
}

/// Returns the signal of Ctrl-C, or `SIGTERM` where `SIGINT` is ignored. `nohup`, for example, makes every process it
/// starts ignore `SIGINT`.
fn interrupt() -> (Signal, i32) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Bit 0 stands for signal 1.
    match ignored.is_some_and(|mask| mask & 0b10 != 0) {
        true => (Signal::TERM, 15),
        false => (Signal::INT, 2),
    }
}

/// Checks that an interrupted command leaves its output file complete or absent, and no temporary file.
#[test]
fn what_is_interrupted_leaves_nothing_half_done() {
    let (mut stopped, mut finished) = (0, 0);
    let (interrupt, number) = interrupt();
    for pause in (0..60).step_by(3) {
        let folder = Folder::new("interrupted");
        fs::copy(demo().join("demo.core"), folder.0.join("demo.core")).unwrap();
        let mut command = folder.command(&["core", "demo.core", "--html", "page.html"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        signal(&child, interrupt);
        let status = child.wait().unwrap();
        let mut names: Vec<_> = fs::read_dir(&folder.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        match status.code() {
            // The status encodes the signal.
            Some(code) if code == 128 + number => stopped += 1,
            // The signal arrived before the command had installed its handlers.
            None => {
                assert_eq!(
                    std::os::unix::process::ExitStatusExt::signal(&status),
                    Some(number)
                );
                stopped += 1;
            }
            Some(code) => {
                assert_eq!(code, 0);
                assert_eq!(names, ["demo.core", "page.html"]);
                finished += 1;
            }
        }
        assert!(
            names.iter().all(|name| !name.starts_with(".hetdwarf")),
            "{names:?}"
        );
        if names.contains(&"page.html".to_owned()) {
            let page = fs::read_to_string(folder.0.join("page.html")).unwrap();
            assert!(page.ends_with("</html>\n"));
        }
    }
    assert!(stopped > 0, "{stopped} stopped, {finished} finished");
}

/// Sends a signal to a process.
fn signal(child: &std::process::Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Returns the output of a command on a terminal. The command is stopped for over a second after `pause`.
fn said_on_a_terminal(command: &mut Command, pause: Duration) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let its = OpenOptions::new().write(true).open(name).unwrap();
    let mut child = command.stdout(Stdio::null()).stderr(its).spawn().unwrap();
    // Until it is replaced, `stderr` keeps the other end of the terminal open.
    command.stderr(Stdio::null());
    std::thread::sleep(pause);
    signal(&child, Signal::STOP);
    std::thread::sleep(Duration::from_millis(1100));
    signal(&child, Signal::CONT);
    assert!(child.wait().unwrap().success());
    let mut said = Vec::new();
    // Once all writers have closed the terminal, reading fails.
    let _ = fs::File::from(ours).read_to_end(&mut said);
    String::from_utf8(said).unwrap()
}

/// Checks that a command that runs for over a second shows its progress on a line that it erases at the end.
#[test]
fn a_long_run_says_how_far_it_is() {
    let folder = Folder::new("progress");
    fs::copy(demo().join("demo.core"), folder.0.join("demo.core")).unwrap();
    let mut command = folder.command(&["core", "demo.core", "--html", "page.html"]);
    let is_told = (2..80).step_by(4).any(|pause| {
        let said = said_on_a_terminal(&mut command, Duration::from_millis(pause));
        // The demo's core has eight waves.
        let Some((_, line)) = said.split_once('\r') else {
            assert_eq!(said, "");
            return false;
        };
        let (done, rest) = line.split_once(" of 8 waves").unwrap();
        assert!(done.parse::<u32>().unwrap() <= 8, "{said:?}");
        assert!(rest.ends_with("\r\u{1b}[K"), "{said:?}");
        true
    });
    assert!(is_told);
    // Without a terminal there is no progress line.
    let ran = folder.run(&["core", "demo.core", "--html", "page.html"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{ran:?}");
}
