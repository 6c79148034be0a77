//! Every command ends in time and within the memory limit, with an answer or an error, for any changed byte and any truncation of its file.
//!
//! The normal run takes samples; `fuzz/README.md` has the results of a complete run. `cargo test --release -p dwarf-tests --test
//! damaged_files -- --ignored --nocapture` tries every prefix and every change of one byte. Add a test's name to run only that test.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dwarf_tests::{fixture, hetdwarf};
use hetdwarf::arch::{Register, WaveSize};
use hetdwarf::wave::Snapshot;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// The time limit of a command: a second, or more in unoptimized builds and next to other tests.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 12 } else { 1 });

/// The memory limit of a command, in bytes.
const MEMORY: usize = 200 << 20;

/// Ensures that nothing else allocates while a command is measured.
static ALONE: Mutex<()> = Mutex::new(());

/// The commands, and true if the command needs a stopped wave that runs the file.
const COMMANDS: &[(&[&str], bool)] = &[
    (&["info", "--format", "json"], false),
    (&["verify"], false),
    (&["verify", "--format", "sarif"], false),
    (
        &[
            "dump",
            "--debug-info",
            "--debug-loclists",
            "--debug-line",
            "--debug-frame",
        ],
        false,
    ),
    (
        &[
            "dump",
            "--debug-info",
            "--debug-line",
            "--debug-frame",
            "--format",
            "json",
        ],
        false,
    ),
    (&["vars", "--lane", "all"], true),
    (
        &["vars", "--format", "json", "--strict", "--frame", "1"],
        true,
    ),
    (&["unwind", "--registers"], true),
    (&["unwind", "--format", "json", "--strict"], true),
    (&["lane-pc"], true),
];

/// A folder for the damaged file, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("hetdwarf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error cannot be handled here.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The statistics of the runs.
#[derive(Debug, Default)]
struct Figures {
    commands: usize,
    /// The number of commands that ended with the status 0, 1 and 2.
    by_status: [usize; 3],
    longest: (Duration, String),
    largest: (usize, String),
    failures: Vec<String>,
}

impl Figures {
    /// Runs all commands on a file. `what` describes the damage.
    fn run(&mut self, file: &Path, wave: &Path, what: &str) {
        for (command, is_of_wave) in COMMANDS {
            let mut arguments: Vec<&Path> = command.iter().map(Path::new).collect();
            arguments.insert(1, file);
            if *is_of_wave {
                arguments.extend([Path::new("--wave"), wave]);
            }
            let what = || format!("{} of {what}", command.join(" "));
            ALLOCATED.reset_peak_usage();
            let before = ALLOCATED.current_usage();
            let start = Instant::now();
            let Ok(ran) = std::panic::catch_unwind(|| hetdwarf(&arguments)) else {
                self.failures.push(format!("{}: panicked", what()));
                continue;
            };
            let (time, memory) = (
                start.elapsed(),
                ALLOCATED.peak_usage().saturating_sub(before),
            );
            if time > TIME || memory > MEMORY {
                self.failures
                    .push(format!("{}: {time:?}, {memory} bytes", what()));
            }
            if time > self.longest.0 {
                self.longest = (time, what());
            }
            if memory > self.largest.0 {
                self.largest = (memory, what());
            }
            if ran.status == 2 && ran.err.is_empty() {
                self.failures
                    .push(format!("{}: no word of what is wrong", what()));
            }
            self.by_status[usize::from(ran.status)] += 1;
            self.commands += 1;
        }
    }

    fn finish(&self) {
        println!(
            "{} commands, by status {:?}; the longest took {:?}: {}; the most memory was {} KiB: {}",
            self.commands,
            self.by_status,
            self.longest.0,
            self.longest.1,
            self.largest.0 >> 10,
            self.largest.1
        );
        let failures = self.failures.join("\n");
        assert!(failures.is_empty(), "{failures}");
    }
}

/// Returns small files, each with a wave that runs it: a hand-written one with lane program locations, and one from a compiler.
fn files(folder: &Path) -> Vec<(String, Vec<u8>, PathBuf)> {
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, 0x1310);
    let exec = Register::exec(WaveSize::Wave64);
    wave.set_register(exec, 0xf0f0).unwrap();
    let lane_pc = folder.join("lane_pc.json");
    std::fs::write(&lane_pc, wave.to_json()).unwrap();
    let calls = fixture("waves/calls-O2/w06.json");
    [
        ("corpus/rocm-style/lane_pc.hsaco", lane_pc),
        ("waves/calls-O2/calls-O2.rocm.hsaco", calls.clone()),
        ("waves/calls-O2/calls-O2.hsaco", calls),
    ]
    .map(|(name, wave)| (name.to_owned(), std::fs::read(fixture(name)).unwrap(), wave))
    .into()
}

/// Tries each file cut off after every `step`th byte.
fn prefixes(step: usize) {
    let _alone = ALONE.lock().unwrap();
    let folder = Folder::new(&format!("prefixes-{step}"));
    let damaged = folder.0.join("damaged.hsaco");
    let mut figures = Figures::default();
    for (name, data, wave) in files(&folder.0) {
        for end in (0..=data.len()).step_by(step) {
            std::fs::write(&damaged, &data[..end]).unwrap();
            figures.run(&damaged, &wave, &format!("the first {end} bytes of {name}"));
        }
    }
    figures.finish();
    // The section headers are at the end of these files, so most prefixes are errors.
    assert!(figures.by_status[2] > 0);
}

/// The number of damaged bytes of a file between two reports of a run that takes hours.
const REPORT: usize = 256;

/// Tries each file with every `step`th byte changed to each of the values that differ from it by `changes`.
fn single_bytes(step: usize, changes: impl Iterator<Item = u8> + Clone) {
    let _alone = ALONE.lock().unwrap();
    let folder = Folder::new(&format!("bytes-{step}"));
    let damaged = folder.0.join("damaged.hsaco");
    let mut figures = Figures::default();
    for (name, mut data, wave) in files(&folder.0) {
        for at in (0..data.len()).step_by(step) {
            if at % REPORT == 0 && step == 1 {
                println!("{name}: {at} of {} bytes", data.len());
                figures.finish();
            }
            for change in changes.clone() {
                data[at] ^= change;
                std::fs::write(&damaged, &data).unwrap();
                figures.run(
                    &damaged,
                    &wave,
                    &format!("{name} with {at:#x}={:#x}", data[at]),
                );
                data[at] ^= change;
            }
        }
    }
    figures.finish();
    assert!(
        figures.by_status[0] > figures.by_status[2],
        "most changes are in code and text"
    );
}

#[test]
fn some_prefixes_of_files() {
    prefixes(211);
}

#[test]
fn some_changes_of_one_byte() {
    // The changed bit differs from byte to byte, so that all eight bits occur.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    single_bytes(
        211,
        core::iter::repeat_with(|| 1 << (NEXT.fetch_add(1, Ordering::Relaxed) % 8)).take(1),
    );
}

#[test]
#[ignore = "takes minutes"]
fn every_prefix_of_files() {
    prefixes(1);
}

#[test]
#[ignore = "takes a quarter of an hour"]
fn every_change_of_one_bit() {
    single_bytes(1, (0..8).map(|bit| 1 << bit));
}

#[test]
#[ignore = "takes eight hours"]
fn every_change_of_one_byte() {
    single_bytes(1, 1..=255);
}
