//! Tests the output files of the command, and the files that remain after a failure. The command runs as a process,
//! because a signal ends a process.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The time limit for one command.
const PATIENCE: Duration = Duration::from_secs(120);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("hetdwarf-outputs-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Folder {
        fs::write(self.0.join(name), bytes).unwrap();
        self
    }

    /// Copies the code object, snapshot and core of the built-in example into the folder.
    fn with_demo(&self) -> &Folder {
        for name in ["calls-O2.rocm.hsaco", "stop.json", "demo.core"] {
            fs::copy(demo().join(name), self.0.join(name)).unwrap();
        }
        self
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    fn spawn(&self, program: &str, arguments: &[&str]) -> Child {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.0);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped()).spawn().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        end(self.spawn(HETDWARF, arguments), &arguments)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const HETDWARF: &str = env!("CARGO_BIN_EXE_hetdwarf");

fn demo() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("examples/demo")
}

/// Waits for a command and returns its exit status and standard error.
fn end(mut child: Child, about: &dyn core::fmt::Debug) -> (Option<i32>, String) {
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
    let mut err = String::new();
    child.stderr.unwrap().read_to_string(&mut err).unwrap();
    (status.code(), err)
}

/// Returns a static archive of many objects, which takes seconds to check or annotate. A number after the end of each
/// object keeps the command from treating them as duplicates.
fn archive(count: usize) -> Vec<u8> {
    let object = fs::read(demo().join("calls-O2.rocm.hsaco")).unwrap();
    let mut archive = b"!<arch>\n".to_vec();
    for number in 0..count {
        let object = [&object[..], &(number as u64).to_le_bytes()].concat();
        let name = format!("m{number}.o/");
        let header = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            644,
            object.len()
        );
        archive.extend(header.as_bytes());
        archive.extend(object);
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    archive
}

/// Commands whose output `OUT` is also one of their inputs.
const OVER_INPUTS: [(&[&str], &str); 11] = [
    (
        &["dump", "calls-O2.rocm.hsaco", "-o", "OUT"],
        "calls-O2.rocm.hsaco",
    ),
    (&["dump", "--core", "demo.core", "-o", "OUT"], "demo.core"),
    (
        &["annotate", "calls-O2.rocm.hsaco", "-o", "OUT"],
        "calls-O2.rocm.hsaco",
    ),
    (
        &[
            "lane-pc",
            "calls-O2.rocm.hsaco",
            "--wave",
            "stop.json",
            "--svg",
            "OUT",
        ],
        "calls-O2.rocm.hsaco",
    ),
    (
        &[
            "lane-pc",
            "calls-O2.rocm.hsaco",
            "--wave",
            "stop.json",
            "--html",
            "OUT",
        ],
        "stop.json",
    ),
    (
        &["lane-pc", "--core", "demo.core", "--svg", "OUT"],
        "demo.core",
    ),
    (
        &[
            "lane-pc",
            "--core",
            "demo.core",
            "--object",
            "calls-O2.rocm.hsaco@0x1000",
            "--svg",
            "OUT",
        ],
        "calls-O2.rocm.hsaco",
    ),
    (
        &["verify", "calls-O2.rocm.hsaco", "--write-baseline", "OUT"],
        "calls-O2.rocm.hsaco",
    ),
    (
        &[
            "verify",
            "calls-O2.rocm.hsaco",
            "--config",
            "hetdwarf.toml",
            "--write-baseline",
            "OUT",
        ],
        "hetdwarf.toml",
    ),
    (&["core", "demo.core", "--html", "OUT"], "demo.core"),
    (
        &[
            "core",
            "demo.core",
            "--object",
            "calls-O2.rocm.hsaco",
            "--html",
            "OUT",
        ],
        "calls-O2.rocm.hsaco",
    ),
];

/// Writes every output of every command over each input, by its name, a hard link and a symbolic link.
#[test]
fn no_command_writes_over_what_it_reads() {
    for force in [&[][..], &["--force"]] {
        for (command, input) in OVER_INPUTS {
            let folder = Folder::new("inputs");
            folder.with_demo().file("hetdwarf.toml", "");
            fs::hard_link(folder.0.join(input), folder.0.join("hard")).unwrap();
            symlink(input, folder.0.join("soft")).unwrap();
            for name in [input, "hard", "soft"] {
                // No other file appears or disappears.
                let (before, names) = (folder.read(input), folder.names());
                let arguments: Vec<&str> = command
                    .iter()
                    .map(|word| if *word == "OUT" { name } else { word })
                    .chain(force.iter().copied())
                    .collect();
                let (status, err) = folder.run(&arguments);
                assert_eq!(status, Some(2), "{arguments:?}: {err}");
                assert!(err.contains("also an input"), "{arguments:?}: {err}");
                assert_eq!(
                    (folder.read(input), folder.names()),
                    (before, names),
                    "{arguments:?}"
                );
            }
        }
    }
}

/// Exports waves into the folder that contains the core, under the core's own name.
#[test]
fn an_export_does_not_write_over_its_core() {
    let folder = Folder::new("export");
    folder.with_demo();
    let core = folder.read("demo.core");
    fs::create_dir(folder.0.join("D")).unwrap();
    fs::rename(folder.0.join("demo.core"), folder.0.join("D/wave-1.json")).unwrap();
    let (status, err) = folder.run(&["core", "D/wave-1.json", "--export", "D"]);
    assert!(status == Some(2) && err.contains("also an input"), "{err}");
    assert_eq!(folder.read("D/wave-1.json"), core);
    assert_eq!(fs::read_dir(folder.0.join("D")).unwrap().count(), 1);
}

/// Rejects two outputs with one name. Replaces a file of another kind only with `--force`.
#[test]
fn outputs_are_files_of_their_own_and_of_their_kind() {
    let folder = Folder::new("kinds");
    folder.with_demo().file("notes.txt", "mine");
    let lanes = |more: &[&str]| {
        let arguments = ["lane-pc", "calls-O2.rocm.hsaco", "--wave", "stop.json"];
        folder.run(&[&arguments, more].concat())
    };
    let (status, err) = lanes(&["--svg", "same", "--html", "./same"]);
    assert!(status == Some(2) && err.contains("two outputs"), "{err}");
    assert!(!folder.0.join("same").exists());
    let (status, err) = lanes(&["--svg", "notes.txt"]);
    assert!(status == Some(2) && err.contains("--force"), "{err}");
    assert_eq!(folder.read("notes.txt"), b"mine");
    assert_eq!(lanes(&["--svg", "notes.txt", "--force"]).0, Some(0));
    // By now the file is an SVG picture.
    assert_eq!(lanes(&["--svg", "notes.txt"]).0, Some(0));
    let (status, err) = lanes(&["--html", "notes.txt"]);
    assert!(status == Some(2) && err.contains("an HTML page"), "{err}");
}

/// Checks that writing to a pipe without a reader is an error, and that a reader gets the whole output.
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = Folder::new("pipe");
    folder.with_demo();
    let path = folder.0.join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let annotate = ["annotate", "calls-O2.rocm.hsaco", "-o"];
    let (status, err) = folder.run(&[&annotate[..], &["pipe"]].concat());
    assert!(
        status == Some(2) && err.contains("no process reads"),
        "{err}"
    );
    let (status, err) = folder.run(&[&annotate[..], &["file"]].concat());
    assert_eq!(status, Some(0), "{err}");
    let reader = std::thread::spawn({
        let path = path.clone();
        move || fs::read(path).unwrap()
    });
    // The command fails until the reader has opened the pipe.
    let start = Instant::now();
    while folder.run(&[&annotate[..], &["pipe"]].concat()).0 != Some(0) {
        assert!(start.elapsed() < PATIENCE, "nobody reads");
    }
    assert_eq!(reader.join().unwrap(), folder.read("file"));
}

/// Checks that exceeding the file size limit is an error about the file, and that no file remains.
#[test]
fn a_file_that_may_not_be_that_large_leaves_nothing() {
    let folder = Folder::new("limit");
    folder.with_demo();
    let names = folder.names();
    // The limit is 512 bytes for files. It does not affect the pipe for the messages.
    let script = "ulimit -f 1; exec \"$@\"";
    for arguments in [
        &["annotate", "calls-O2.rocm.hsaco", "-o", "out"][..],
        &[
            "lane-pc",
            "calls-O2.rocm.hsaco",
            "--wave",
            "stop.json",
            "--html",
            "out",
        ],
        &["core", "demo.core", "--html", "out"],
        &["demo", "--save", "out"],
    ] {
        let words = [&["-c", script, "sh", HETDWARF][..], arguments].concat();
        let (status, err) = end(folder.spawn("sh", &words), &arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {err}");
        assert!(err.contains("out: "), "{arguments:?}: {err}");
        assert_eq!(folder.names(), names, "{arguments:?}");
    }
}

/// Checks that every command that writes a file fails with status 2 on a full disk and keeps the old file. The disk is
/// a `tmpfs` of 64 KiB in its own mount namespace, filled by another file.
#[test]
fn a_full_disk_leaves_no_half_files() {
    /// Prints the exit status, and writes the contents of the disk before and after to files.
    const SCRIPT: &str = r#"
        set -e
        mount -t tmpfs -o size=64k none disk
        echo old > disk/out
        head -c 1000000 /dev/zero > disk/filler 2>/dev/null || true
        (cd disk; for file in $(ls -A); do cksum "$file"; done; ls -A) > before
        status=0
        "$@" >/dev/null 2>error || status=$?
        (cd disk; for file in $(ls -A); do cksum "$file"; done; ls -A) > after
        cmp before after
        echo "status $status"
    "#;
    let folder = Folder::new("disk");
    folder.with_demo();
    fs::create_dir(folder.0.join("disk")).unwrap();
    let namespace = ["-rm", "sh", "-c"];
    let can = Command::new("unshare")
        .args(namespace)
        .args(["mount -t tmpfs -o size=64k none disk"])
        .current_dir(&folder.0)
        .output();
    if !can.is_ok_and(|ran| ran.status.success()) {
        test_skips::skipped("no file system can be mounted here");
        return;
    }
    let lanes: String = (0..32)
        .map(|lane| format!(" [{lane}] {lane:08x}"))
        .collect();
    let log = format!(
        "wave_1: pc=0x7f4000001c90 k(stopped, reason: MEMORY_VIOLATION)\n\nscalar registers:\n\
         {:>16}: 00000000{:>16}: 00000001\n\nvector registers:\n{:>16}:{lanes}\n\n",
        "s0", "s1", "v0"
    );
    folder.file("log", log);
    let object = "calls-O2.rocm.hsaco";
    let lanes = ["lane-pc", object, "--wave", "stop.json", "--force"];
    let commands = [
        vec!["annotate", object, "-o", "disk/out", "--force"],
        [&lanes[..], &["--html", "disk/out"]].concat(),
        [&lanes[..], &["--svg", "disk/out"]].concat(),
        vec!["core", "demo.core", "--html", "disk/out", "--force"],
        vec!["core", "demo.core", "--export", "disk"],
        vec!["demo", "--save", "disk/out", "--force"],
        vec!["verify", object, "--write-baseline", "disk/out", "--force"],
        vec!["man", "disk"],
        vec!["import", "log", "--target", "gfx1100", "-o", "disk"],
    ];
    for arguments in commands {
        let ran = Command::new("unshare")
            .args(namespace)
            .args([SCRIPT, "sh", HETDWARF])
            .args(&arguments)
            .current_dir(&folder.0)
            .output()
            .unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        let err = fs::read_to_string(folder.0.join("error")).unwrap_or_default();
        println!("{arguments:?}: {out}{err}");
        assert_eq!(out, "status 2\n", "{arguments:?}: {err}");
        assert!(
            err.contains("disk/") && !err.contains(".hetdwarf-"),
            "{arguments:?}: {err}"
        );
    }
}

/// Checks that writing to a full device is an error, even for the output of `--help`.
#[test]
fn a_full_device_is_an_error() {
    let folder = Folder::new("full");
    folder.with_demo();
    if !Path::new("/dev/full").exists() {
        return;
    }
    for arguments in [
        &["--help"][..],
        &["verify", "--help"],
        &["--version"],
        &["demo"],
        &["regs"],
    ] {
        let mut command = Command::new(HETDWARF);
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        command.args(arguments).stdout(full).stderr(Stdio::piped());
        let (status, err) = end(command.spawn().unwrap(), &arguments);
        assert!(
            status == Some(2) && err.contains("cannot write"),
            "{arguments:?}: {status:?} {err}"
        );
    }
    let (status, err) = folder.run(&["annotate", "calls-O2.rocm.hsaco", "-o", "/dev/full"]);
    assert!(status == Some(2) && err.contains("/dev/full"), "{err}");
}

fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Bit 0 stands for signal 1.
    ignored.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

/// Interrupts long work with `SIGINT` and `SIGTERM`. The exit status encodes the signal, existing files stay, and no
/// new file remains.
#[test]
fn an_interrupted_command_leaves_nothing() {
    let folder = Folder::new("signals");
    folder
        .file("in.a", archive(3000))
        .file("out", "\x7fELF\x02\x01 old");
    let names = folder.names();
    for arguments in [
        &["verify", "in.a"][..],
        &["verify", "in.a", "--write-baseline", "known.json"],
        &["annotate", "in.a", "-o", "out"],
    ] {
        for (signal, expected) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            // A parent such as `nohup` may have made the tests, and so the command, ignore `SIGINT`.
            if signal == Signal::INT && is_ignored(signal) {
                eprintln!("SIGINT is ignored here, and so by the command");
                continue;
            }
            let child = folder.spawn(HETDWARF, arguments);
            std::thread::sleep(Duration::from_millis(300));
            let pid = Pid::from_child(&child);
            kill_process(pid, signal).unwrap();
            let (status, err) = end(child, &arguments);
            assert_eq!(status, Some(expected), "{arguments:?}: {err}");
            assert_eq!(folder.names(), names, "{arguments:?}");
            assert_eq!(folder.read("out"), b"\x7fELF\x02\x01 old");
        }
    }
}

/// Checks that `-o` writes exactly the bytes that go to standard output without it, even for a malformed object.
#[test]
fn a_dump_is_written_to_a_file() {
    let folder = Folder::new("dump");
    folder.with_demo();
    let mut broken = folder.read("calls-O2.rocm.hsaco");
    let half = broken.len() / 2;
    for byte in &mut broken[half..half + 64] {
        *byte ^= 0x55;
    }
    folder.file("broken.hsaco", broken);
    for (object, style) in [
        ("calls-O2.rocm.hsaco", "text"),
        ("broken.hsaco", "text"),
        ("calls-O2.rocm.hsaco", "json"),
    ] {
        let dump = [
            "dump",
            object,
            "--debug-info",
            "--debug-frame",
            "--debug-line",
            "--format",
            style,
        ];
        let run = |arguments: &[&str]| {
            let command = env!("CARGO_BIN_EXE_hetdwarf");
            Command::new(command)
                .args(arguments)
                .current_dir(&folder.0)
                .output()
                .unwrap()
        };
        let expected = run(&dump);
        // The second run replaces an existing dump.
        for _ in 0..2 {
            let found = run(&[&dump[..], &["-o", "out.txt"]].concat());
            assert_eq!(found.status.code(), expected.status.code());
            assert!(found.stdout.is_empty());
            assert_eq!(found.stderr, expected.stderr);
            assert!(folder.read("out.txt") == expected.stdout);
        }
        let to_output = run(&[&dump[..], &["-o", "-"]].concat());
        assert!(to_output.stdout == expected.stdout);
    }
    folder.file("notes", "mine");
    let refused = Command::new(env!("CARGO_BIN_EXE_hetdwarf"))
        .args(["dump", "calls-O2.rocm.hsaco", "-o", "notes"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(folder.read("notes"), b"mine");
}
