//! Runs every command on every hostile file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rayon::prelude::*;

use super::amplified;
use super::crafted::{stop_files, stopped_wave, type_files};
use super::growth::{KINDS, files_that_took};
use super::guard::Guard;

/// The most processor time of a command. `.ci/full` allows five seconds for the command alone; here the allocator counts, and there are other tests.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 });

/// Returns the most memory that a command may hold at once, for a file of this length, as README promises.
fn promised(length: usize) -> u64 {
    32 * length as u64 + (256 << 20)
}

/// The arguments of every command that reads a code object, with `FILE`, `WAVE` and `OUT` replaced. A dump of everything contains the dumps
/// of parts.
const COMMANDS: [&str; 23] = [
    "info FILE",
    "info FILE --format json",
    "dump FILE --all",
    "dump FILE --all --verbose --style llvm",
    "dump FILE --all --verbose --format json",
    "dump FILE --name v -p -c -v --regex",
    "dump FILE --find v -c",
    "verify FILE",
    "verify FILE --format json --each",
    "verify FILE --format sarif",
    "vars FILE --wave WAVE --frame all --children 2",
    "vars FILE --wave WAVE --format json",
    "unwind FILE --wave WAVE --registers --format json",
    "lane-pc FILE --wave WAVE",
    "print FILE --wave WAVE v &v *v v[1] sizeof(v)",
    "eval --expr DW_OP_lit1 --object FILE --wave WAVE --lane all",
    "annotate FILE -o OUT",
    "core FILE",
    "symbolize FILE 0x0 0x1000 0x1004 0:0x1800 k+0x4",
    "symbolize FILE 0x0 0x1000 0x1004 0:0x1800 --format json",
    "symbolize FILE 0x0 0x1000 0x1004 k+4 --format llvm",
    "profile FILE",
    "profile stats.csv --object FILE --format html",
];

/// The arguments of every command that reads a core.
const CORE_COMMANDS: [&str; 10] = [
    "core FILE",
    "core FILE --format json",
    "core FILE --html OUT --all",
    "core FILE --html OUT --export FOLDER --format json",
    "unwind --core FILE --all-waves --registers --format json",
    "print --core FILE --all-waves v a[0] --format json",
    "vars --core FILE --wave 1 --frame all --children 2",
    "lane-pc --core FILE --wave 1 --html OUT",
    "eval --expr DW_OP_lit1 --core FILE --wave 1 --lane all",
    "symbolize --core FILE 0x1000 0:0x1000 --format json",
];

/// Returns cores: the demo's, damaged ones, one with many waves, and the given one.
fn cores() -> Vec<(String, Vec<u8>)> {
    let demo = dwarf_tests::package().join("../examples/demo/demo.core");
    let mut all = vec![("demo".to_owned(), std::fs::read(demo).unwrap())];
    let mut folders: Vec<PathBuf> = std::fs::read_dir(dwarf_tests::fixture("cores"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("merged.core.gz").exists())
        .collect();
    folders.sort();
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        all.push((
            format!("core: {name}"),
            dwarf_tests::cores::file(name, "merged.core"),
        ));
    }
    all.push((
        "many waves".to_owned(),
        dwarf_tests::cores::many::built(2000).merged(),
    ));
    let given = amplified::given().into_iter();
    all.extend(given.filter(|(name, _)| name.ends_with(".core")));
    all
}

/// Returns all files: those with many repetitions, those that once took hours or gigabytes, types and stops.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, write, _, count, ..) in KINDS {
        all.push((format!("much: {name}"), write(4 * count)));
    }
    for (name, file, ..) in files_that_took() {
        all.push((name.to_owned(), file));
    }
    for (name, file) in amplified::files() {
        all.push((format!("amplified: {name}"), file));
    }
    for (name, file) in amplified::given() {
        all.push((format!("given: {name}"), file));
    }
    for (name, file) in type_files(1) {
        all.push((name.to_owned(), file));
    }
    for (name, file, _) in stop_files(1) {
        all.push((name.to_owned(), file));
    }
    all
}

/// Returns a profile of a code object, with a sample at every address that small files have code at.
fn statistics() -> String {
    let rows = (0..0x4000).step_by(4);
    let rows = rows.map(|address| format!("1,{address},,1,2,1,0,\n"));
    let header = "CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source\n";
    core::iter::once(header.to_owned()).chain(rows).collect()
}

/// Returns the arguments of a command, for a file in a folder.
fn arguments(command: &str, folder: &Path) -> Vec<PathBuf> {
    let put_in = |word: &str| match word {
        "FILE" => folder.join("file"),
        "WAVE" => folder.join("wave.json"),
        "stats.csv" => folder.join("stats.csv"),
        "OUT" => folder.join("out"),
        "FOLDER" => folder.join("folder"),
        word => word.into(),
    };
    command.split(' ').map(put_in).collect()
}

/// The output of a command, reduced to the parts that are checked.
#[derive(Default)]
struct Said {
    is_any: bool,
    is_incomplete: bool,
    /// The last bytes, in which a searched text may begin.
    last: Vec<u8>,
}

impl std::io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // The texts that mark an incomplete result in JSON and in text.
        const INCOMPLETE: [&[u8]; 2] = [b"\"complete\": false", b"not complete: "];
        const LONGEST: usize = 17;
        self.is_any |= !bytes.is_empty();
        if !self.is_incomplete {
            self.last.extend(bytes);
            self.is_incomplete = INCOMPLETE.iter().any(|sought| {
                let mut places = self.last.windows(sought.len());
                places.any(|place| place == *sought)
            });
            let before = self.last.len().saturating_sub(LONGEST);
            self.last.drain(..before);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The environment variable with the arguments of [`one_command`], one per line.
const ARGUMENTS: &str = "HETDWARF_ONE_COMMAND";

/// Runs one command in a process of its own. Prints its status, whether it gives a reason, its peak allocation, its peak resident memory,
/// and its time in milliseconds.
#[test]
#[ignore = "is run by another test"]
fn one_command() {
    let Some(arguments) = std::env::var_os(ARGUMENTS) else {
        return;
    };
    let arguments = arguments.into_string().unwrap();
    let words = core::iter::once("hetdwarf").chain(arguments.split('\n'));
    let (mut out, mut err) = (Said::default(), Said::default());
    let mut status = None;
    let allocated = Guard::new().run(&arguments, || {
        allocation_counter::measure(|| {
            status = Some(hetdwarf_cli::run(words.map(Into::into), &mut out, &mut err));
        })
    });
    let (held, status) = (allocated.unwrap().bytes_max, status.unwrap());
    // JSON output may contain the reason itself, and nothing else prints it then.
    let says_why = err.is_any || out.is_incomplete;
    let peak = super::guard::peak_kib() << 10;
    let took = super::guard::processor_time().as_millis();
    println!("\nENDED {status} {says_why} {held} {peak} {took}");
}

/// The output of [`one_command`].
struct Ended {
    status: u8,
    says_why: bool,
    /// The most bytes that were allocated at once.
    held: u64,
    /// The most bytes that were resident.
    peak: u64,
    /// The processor time. Several commands run at the same time.
    took: Duration,
}

/// Runs a command in a process of its own.
///
/// # Errors
/// Returns the output so far, if the command did not end.
fn run_alone(arguments: &[PathBuf]) -> Result<Ended, String> {
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_str().unwrap())
        .collect();
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["every::one_command", "--exact", "--ignored", "--nocapture"])
        .env(ARGUMENTS, words.join("\n"))
        .output()
        .unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let ended = out.lines().find_map(|line| line.strip_prefix("ENDED "));
    let ended = ended.map(|ended| ended.split(' ').collect::<Vec<_>>());
    let Some([status, says_why, held, peak, took]) = ended.as_deref() else {
        let err = String::from_utf8_lossy(&ran.stderr);
        return Err(format!("{:?}: {out} {err}", ran.status));
    };
    Ok(Ended {
        status: status.parse().unwrap(),
        says_why: says_why.parse().unwrap(),
        held: held.parse().unwrap(),
        peak: peak.parse().unwrap(),
        took: Duration::from_millis(took.parse().unwrap()),
    })
}

/// Checks the end of a command. Returns the problem, if there is one.
///
/// * `size`: the size of the file in bytes.
fn fault(ended: &Ended, size: usize) -> Option<String> {
    let most = promised(size);
    let (held, peak) = (ended.held >> 20, ended.peak >> 20);
    match ended {
        Ended { status: 3.., .. } => Some(format!("status {}", ended.status)),
        Ended {
            status: 2,
            says_why: false,
            ..
        } => Some("says nothing".to_owned()),
        _ if ended.held.max(ended.peak) > most => Some(format!(
            "{held} MiB allocated and {peak} MiB resident, of {} MiB",
            most >> 20
        )),
        _ if ended.took > LIMIT => Some(format!("took {:?}", ended.took)),
        _ => None,
    }
}

/// Each command ends with a documented status, gives a reason for status 2, and stays within README's memory limits, both allocated and
/// resident: on all hostile files, all cores, and every tenth fixture.
#[test]
#[ignore = "takes minutes; .ci/full runs it in a release build"]
fn every_command_ends_and_holds_little() {
    every_command_on_every_file(10);
}

#[test]
#[ignore = "takes minutes; .ci/full runs it"]
fn every_command_ends_and_holds_little_on_every_fixture() {
    every_command_on_every_file(1);
}

/// * `step`: only every `step`th fixture is used.
fn every_command_on_every_file(step: usize) {
    let fixtures = dwarf_tests::corpus().into_iter().step_by(step).map(|path| {
        let file = std::fs::read(&path).unwrap();
        (path.display().to_string(), file)
    });
    let objects = files().into_iter().chain(fixtures);
    let objects = objects.map(|(name, file)| (name, file, &COMMANDS[..]));
    let cores = cores().into_iter();
    let cores = cores.map(|(name, file)| (name, file, &CORE_COMMANDS[..]));
    let all: Vec<_> = objects.chain(cores).collect();
    let wrong = all.par_iter().flat_map_iter(|(name, file, commands)| {
        let mut wrong = Vec::new();
        every_command(name, file, commands, &mut wrong);
        wrong
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn every_command(name: &str, file: &[u8], commands: &[&str], wrong: &mut Vec<String>) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = format!("hetdwarf-every-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("wave.json"), stopped_wave()).unwrap();
    std::fs::write(folder.join("stats.csv"), statistics()).unwrap();
    std::fs::write(folder.join("file"), file).unwrap();
    for command in commands {
        let fault = match run_alone(&arguments(command, &folder)) {
            Ok(ended) => fault(&ended, file.len()),
            Err(printed) => Some(printed),
        };
        if let Some(fault) = fault {
            wrong.push(format!("{name} ({} bytes): {command}: {fault}", file.len()));
        }
        let _ = std::fs::remove_file(folder.join("out"));
        let _ = std::fs::remove_dir_all(folder.join("folder"));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Writes each file to a folder of its own, next to a wave, for a release build of the command: `HETDWARF_HOSTILE=FOLDER`. `.ci/full` runs
/// every command on them, with limits of five seconds and 512 MiB.
#[test]
#[ignore = "writes files"]
fn files_for_a_release() {
    let Some(all) = std::env::var_os("HETDWARF_HOSTILE").map(PathBuf::from) else {
        panic!("HETDWARF_HOSTILE names no folder");
    };
    for (name, file) in files() {
        let folder = all.join(name.replace([' ', ',', ':', '^'], "-"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("file"), file).unwrap();
        std::fs::write(folder.join("wave.json"), stopped_wave()).unwrap();
        std::fs::write(folder.join("stats.csv"), statistics()).unwrap();
    }
    let commands = COMMANDS.map(|command| command.replace("FILE", "file"));
    let commands =
        commands.map(|command| command.replace("WAVE", "wave.json").replace("OUT", "out"));
    std::fs::write(all.join("commands"), commands.join("\n") + "\n").unwrap();
}
