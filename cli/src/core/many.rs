//! Implements `hetdwarf core A B C…` for cores of many processes. Each thread has one core open at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::super::arguments::{CoreArguments, CoreFormat, GroupByName};
use super::super::contents::Contents;
use super::super::failure::{Exit, Failure};
use super::super::outputs::Outputs;
use super::super::progress::Progress;
use super::crashes::{CrashPrinting, crash_exit};
use super::{each_line, names};
use hetdwarf::report::{CoreRequest, Crashes, ErrorRecord, WaveRecord, to_json};
use hetdwarf::verify::queue;

/// Groups files by process: the GPU's half of a core and the host's half belong together, and every other file is a process of its own. The
/// processes are ordered by file name.
///
/// Two files belong together if they are one half each, whatever their names are. Among more files, two halves belong together if they are
/// in the same folder and their numbers match. The last number in the name of the GPU's half (`gpucore.PID`) must occur in exactly one host
/// half's name (`core.PID`).
pub(super) fn processes(files: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    if let [_] = files {
        return vec![files.to_vec()];
    }
    let halves: Vec<Option<Half>> = files.iter().map(|file| Half::of(file)).collect();
    if let [Some(Half::Gpu), Some(Half::Host)] | [Some(Half::Host), Some(Half::Gpu)] = &*halves {
        return vec![files.to_vec()];
    }
    let of_kind = |kind: Half| {
        let files = files.iter().zip(&halves);
        files.filter_map(move |(file, half)| (*half == Some(kind)).then_some(file))
    };
    // The host halves, by folder and by each number in their names.
    let mut hosts: BTreeMap<(Option<&Path>, &str), BTreeSet<&PathBuf>> = BTreeMap::new();
    for host in of_kind(Half::Host) {
        for number in numbers(host) {
            let named = hosts.entry((host.parent(), number)).or_default();
            named.insert(host);
        }
    }
    let mut pairs: BTreeMap<&PathBuf, &PathBuf> = BTreeMap::new();
    for gpu in of_kind(Half::Gpu) {
        let number = numbers(gpu).last();
        let named = number.and_then(|number| hosts.get(&(gpu.parent(), number)));
        if let Some(named) = named
            && named.len() == 1
            && let Some(host) = named.first()
        {
            pairs.entry(host).or_insert(gpu);
        }
    }
    let paired: BTreeSet<&PathBuf> = pairs.values().copied().collect();
    let alone = files.iter().filter(|file| !paired.contains(file));
    let processes: BTreeMap<String, Vec<PathBuf>> = alone
        .map(|file| {
            let gpu = pairs.get(file).copied();
            let files: Vec<PathBuf> = gpu.into_iter().chain([file]).cloned().collect();
            (names(&files), files)
        })
        .collect();
    processes.into_values().collect()
}

/// The kind of a core file, according to its ELF header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    /// A file that the runtime writes about a GPU.
    Gpu,
    /// A file that the kernel writes about the process, or a merged file.
    Host,
}

impl Half {
    /// Reads the header of a file. Returns None if it is not a core, for example a log.
    fn of(file: &Path) -> Option<Half> {
        let start = Contents::start_of_argument(file).ok()?;
        let is_core = start.starts_with(b"\x7fELF") && start.get(16..18) == Some(&[4, 0]);
        // EM_AMDGPU
        let is_gpu = start.get(18..20) == Some(&[224, 0]);
        is_core.then_some(if is_gpu { Half::Gpu } else { Half::Host })
    }
}

/// Returns the numbers in the name of a file.
fn numbers(file: &Path) -> impl Iterator<Item = &str> {
    let name = file.file_name().and_then(|name| name.to_str());
    let parts = name
        .unwrap_or_default()
        .split(|c: char| !c.is_ascii_digit());
    parts.filter(|part| !part.is_empty())
}

/// The results for a core: records for reports, or JSON lines.
struct Kept {
    records: Vec<WaveRecord>,
    lines: Vec<String>,
    error: Option<ErrorRecord>,
}

/// Reports on many cores, or on one with the tree of its stacks.
pub(super) fn run(
    arguments: &CoreArguments,
    processes: &[Vec<PathBuf>],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let of_one = [
        ("--export", arguments.export.is_some()),
        ("--where", arguments.whereabouts.is_some()),
        ("--fault-address", arguments.fault_address.is_some()),
        ("--all", arguments.all),
        ("--agents", arguments.agents),
        ("--queues", arguments.queues),
        ("--dispatches", arguments.dispatches),
        ("--group-by", arguments.group_by != GroupByName::Stack),
        ("--source-dir", !arguments.sources.source_dirs.is_empty()),
    ];
    if let Some((option, _)) = of_one.iter().find(|(_, is_given)| *is_given) {
        let count = processes.len();
        let message = format!("{option} works with one core, not with {count}");
        return Err(Failure::new(message));
    }
    let mut outputs = Outputs::new(arguments.force, arguments.inputs());
    let printing = CrashPrinting::plan(arguments.html.as_deref(), &mut outputs)?;
    let is_jsonl = arguments.format == CoreFormat::Jsonl;
    if is_jsonl && (arguments.tree || arguments.html.is_some()) {
        return Err(Failure::new(
            "--tree and --html are not available with --format jsonl; hetdwarf merge makes both from the records",
        ));
    }
    let jobs = arguments
        .jobs
        .or_else(|| std::thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let mut crashes = Crashes::new(arguments.tree);
    let (mut is_incomplete, mut is_partial) = (false, false);
    let mut written = Ok(());
    let mut progress = Progress::new(processes.len(), "cores");
    queue::in_order(
        processes,
        jobs,
        |files| one(arguments, files, is_jsonl),
        |kept: Kept| {
            for wave in &kept.records {
                crashes.add(wave);
            }
            if let Some(record) = &kept.error {
                is_incomplete |= record.error.is_some();
                is_partial |= record.error.is_none();
                crashes.add_error(record);
            }
            if is_jsonl && written.is_ok() {
                written = write(&kept, out, err);
            }
        },
        |done| progress.show(done),
    );
    drop(progress);
    written?;
    if is_jsonl {
        return Ok(crash_exit(is_incomplete, is_partial));
    }
    let is_json = arguments.format == CoreFormat::Json;
    printing.print(&crashes.finish(), is_json, out, err)
}

/// Reads the core of one process.
fn one(arguments: &CoreArguments, files: &[PathBuf], is_jsonl: bool) -> Kept {
    let file = names(files);
    let mut records = Vec::new();
    let mut lines = Vec::new();
    let read = each_line(arguments, files, CoreRequest::default(), |line| {
        match is_jsonl {
            true => lines.push(to_json(line)?),
            false => records.push(WaveRecord::from(line)),
        }
        Ok(())
    });
    let error = match read {
        Ok(problems) => ErrorRecord::of_problems(file, &problems),
        Err(failure) => {
            (records, lines) = (Vec::new(), Vec::new());
            Some(unreadable(file, &failure))
        }
    };
    Kept {
        records,
        lines,
        error,
    }
}

/// Returns the record of a core that could not be read.
fn unreadable(file: String, failure: &Failure) -> ErrorRecord {
    let text = failure.to_string();
    // The record has the name of the file in a field of its own.
    let short = text.strip_prefix(&format!("{file}: ")).unwrap_or(&text);
    let short = short.to_owned();
    ErrorRecord::new(file, short)
}

/// Prints the record of a single core that could not be read, and returns the exit status.
pub(super) fn print_unreadable(
    files: &[PathBuf],
    failure: &Failure,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let kept = Kept {
        records: Vec::new(),
        lines: Vec::new(),
        error: Some(unreadable(names(files), failure)),
    };
    write(&kept, out, err)?;
    Ok(crash_exit(true, false))
}

fn write(kept: &Kept, out: &mut dyn Write, err: &mut dyn Write) -> Result<(), Failure> {
    let mut text = String::new();
    for line in &kept.lines {
        text.push_str(line);
        text.push('\n');
    }
    if let Some(record) = &kept.error {
        text.push_str(&to_json(record)?);
        text.push('\n');
        if let Some(error) = &record.error {
            Failure::new(format!("{}: {error}", record.file)).report(err);
        }
    }
    out.write_all(text.as_bytes())?;
    // Flushing lets readers see each core as soon as it is finished.
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two halves, and files that are not cores: a log, and a file that does not exist.
    #[test]
    fn halves_of_a_process_are_found_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let header = |machine: u8| {
            let mut header = b"\x7fELF\x02\x01".to_vec();
            header.resize(16, 0);
            header.extend([4, 0, machine, 0]);
            header
        };
        let path = |name: &str| folder.path().join(name);
        for (name, machine) in [
            ("gpucore.7", 224),
            ("core.7", 62),
            ("gpucore.8", 224),
            ("merged-9.core", 62),
            ("gpucore.10", 224),
            ("core.10.1", 62),
            ("core.10.2", 62),
            ("node3-gpucore.14", 224),
            ("core.14", 62),
            ("core.3", 62),
        ] {
            std::fs::write(path(name), header(machine)).unwrap();
        }
        std::fs::write(path("agent-7.log"), "text").unwrap();
        let grouped = |given: &[&str]| -> Vec<Vec<String>> {
            let given: Vec<PathBuf> = given.iter().map(|name| path(name)).collect();
            let name = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
            let groups = processes(&given);
            groups
                .iter()
                .map(|files| files.iter().map(name).collect())
                .collect()
        };
        // Two files are halves of a core regardless of their names.
        assert_eq!(grouped(&["core.7", "gpucore.8"]), [["core.7", "gpucore.8"]]);
        assert_eq!(grouped(&["core.7"]), [["core.7"]]);
        assert_eq!(
            grouped(&[
                "gpucore.8",
                "core.7",
                "merged-9.core",
                "gpucore.7",
                "agent-7.log",
                "none"
            ]),
            [
                vec!["agent-7.log"],
                vec!["gpucore.7", "core.7"],
                vec!["gpucore.8"],
                vec!["merged-9.core"],
                vec!["none"],
            ]
        );
        // The GPU half matches two host halves, so it is ambiguous.
        assert_eq!(
            grouped(&["gpucore.10", "core.10.1", "core.10.2"]),
            [["core.10.1"], ["core.10.2"], ["gpucore.10"]]
        );
        // The last number is the process ID.
        assert_eq!(
            grouped(&["node3-gpucore.14", "core.14", "core.3"]),
            [vec!["core.3"], vec!["node3-gpucore.14", "core.14"]]
        );
        assert_eq!(
            grouped(&["core.7", "core.7", "none"]),
            [["core.7"], ["none"]]
        );
    }
}
