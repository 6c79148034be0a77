//! Reads the waves of a debug agent's or runtime's log, or of snapshots, in place of a core.

use std::path::{Path, PathBuf};

use hetdwarf::arch::{LoadAddress, Register};
use hetdwarf::debug_agent::LoggedWave;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::meter::Meter;
use hetdwarf::object::CodeObject;
use hetdwarf::report::{
    CoreObjectDocument, CoreReport, CoreRequest, LogDocuments, LoggedStop, ProblemDocument,
    offset_in_function,
};
use hetdwarf::untrusted::Untrusted;
use hetdwarf::wave::{Snapshot, StopReason, Wave};

use super::super::arguments::{CoreArguments, CoreObjects};
use super::super::contents::Contents;
use super::super::failure::{Exit, Failure};
use super::super::import::{
    Chosen, Gathered, Given, Unused, Waves, choose, gather, given, given_in_folder, unused,
};
use super::super::input::read_wave;
use super::super::outputs::{Kind, Output, Outputs};
use super::in_files;
use super::source::{Ask, WaveSource};

/// The most files of a folder that are read.
const MOST_FILES: usize = 10_000;

/// Returns true if a file is a text log and not a core.
pub(crate) fn is_log(files: &[PathBuf]) -> bool {
    let [first, ..] = files else { return false };
    let start = Contents::start_of_argument(first).unwrap_or_default();
    !start.is_empty() && !start.contains(&0) && !start.starts_with(b"\x7fELF")
}

/// A log with the code objects that its waves run.
pub(crate) struct OpenedLog<'l> {
    waves: &'l [LoggedWave],
    /// The registers of each wave, or the reason why they are unknown.
    chosen: Vec<Result<Chosen, Failure>>,
    programs: Vec<Program<'l>>,
    options: StopOptions,
    /// The bytes of the code objects that were given.
    objects: Vec<&'l [u8]>,
    /// The files that were given and are not used.
    unused: Vec<Unused>,
    /// The limits, which depend on the size of the code objects.
    limits: Limits,
}

impl OpenedLog<'_> {
    fn snapshot(&self, index: usize) -> Option<&Snapshot> {
        let chosen = self.chosen.get(index)?.as_ref().ok()?;
        Some(&chosen.snapshot)
    }

    pub(super) fn ask(&self, index: usize, ask: &mut Ask<'_>) -> Result<(), Failure> {
        let chosen = self.chosen.get(index).and_then(|one| one.as_ref().ok());
        let Some(chosen) = chosen else {
            return ask(None, None);
        };
        let wave = &chosen.snapshot;
        let program = chosen.object.and_then(|object| self.programs.get(object));
        let Some(program) = program else {
            return ask(Some(wave), None);
        };
        let arena = Arena::new();
        let options = self.options.at(wave.load_address);
        let stop = Stop::new(program, wave, wave.pc(), options, &arena);
        ask(Some(wave), Some(&stop))
    }

    /// Returns a meter for one question about all waves.
    pub(super) fn meter(&self) -> Meter {
        let length = self.objects.iter().map(|data| data.len() as u64).sum();
        Meter::new(&self.limits, length)
    }

    /// Writes `wave-INDEX.json` for each wave whose registers are in the log, with INDEX from 1, and `object-N.hsaco` for each code object,
    /// with N from 0. A log has no memory except LDS.
    pub(super) fn export(&self, folder: &Path, outputs: &mut Outputs) -> Result<(), Failure> {
        std::fs::create_dir_all(folder).map_err(|error| Failure::in_file(folder, error))?;
        let objects = self.objects.iter().enumerate();
        let objects = objects.map(|(index, data)| {
            let path = folder.join(format!("object-{index}.hsaco"));
            Ok((outputs.plan(&path, Kind::Object)?, *data))
        });
        let objects: Vec<(Output, &[u8])> = objects.collect::<Result<_, Failure>>()?;
        let waves = (0..self.waves.len()).filter_map(|index| Some((index, self.snapshot(index)?)));
        let waves = waves.map(|(index, snapshot)| {
            let path = folder.join(format!("wave-{}.json", index + 1));
            Ok((outputs.plan(&path, Kind::Wave)?, snapshot))
        });
        // All output paths are checked before anything is written.
        let waves: Vec<(Output, &Snapshot)> = waves.collect::<Result<_, Failure>>()?;
        for (output, data) in objects {
            output.write(data)?;
        }
        for (output, snapshot) in waves {
            output.write(snapshot.to_json().as_bytes())?;
        }
        Ok(())
    }

    /// Returns the offset of a process address from the start of its function.
    pub(super) fn offset_in(&self, object: usize, pc: u64) -> Option<u64> {
        let mut in_it = self.chosen.iter().flatten();
        let chosen = in_it.find(|chosen| chosen.object == Some(object))?;
        offset_in_function(self.programs.get(object)?, chosen.snapshot.load_address, pc)
    }

    /// Returns the position of the chosen wave in the log. A wave is chosen by its number from 1; the default is the first that has
    /// stopped.
    pub(super) fn select(&self, wanted: Option<&str>) -> Result<usize, Failure> {
        if let Some(text) = wanted.filter(|text| *text != "stopped") {
            let index = text.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            let index = index.filter(|index| *index < self.waves.len());
            let count = self.waves.len();
            let text = Untrusted::from(text);
            return index.ok_or_else(|| {
                Failure::new(format!(
                    "--wave {text}: for a log, expected a wave number from 1 to {count}, or `stopped`"
                ))
            });
        }
        let is_stopped = |wave: &LoggedWave| !wave.stop_reasons().is_empty();
        let stopped = self.waves.iter().position(is_stopped);
        Ok(stopped.unwrap_or(0))
    }
}

impl WaveSource for OpenedLog<'_> {
    fn with(&self, index: usize, ask: &mut Ask<'_>) -> Result<(), Failure> {
        self.ask(index.saturating_sub(1), ask)
    }
}

/// Opens a log and calls `then` with it, the code objects and the runtime's messages.
pub(super) fn with_log<T>(
    files: &[PathBuf],
    wanted: &CoreObjects,
    options: StopOptions,
    limits: &Limits,
    then: impl FnOnce(&OpenedLog<'_>, &Gathered, &[(&Given, CodeObject<'_>)]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let snapshots = snapshots(files)?;
    let are_snapshots = !snapshots.is_empty();
    let gathered = match snapshots.is_empty() {
        true => gather(files)?,
        false => Gathered::of(snapshots.iter().map(logged).collect()),
    };
    if gathered.waves.is_empty() && gathered.events.is_empty() {
        let message = "not an ELF file, and not a log of the debug agent or the runtime: it contains no line of either";
        return Err(in_files(files, message));
    }
    let mut given = given(&wanted.given, limits)?;
    given.extend(given_in_folder(&in_folders(&wanted.folders)?, limits)?);
    let parsed: Vec<(&Given, CodeObject<'_>)> = given
        .iter()
        .map(|given| Ok((given, CodeObject::parse_with(&given.data, limits)?)))
        .collect::<hetdwarf::Result<_>>()?;
    let programs = parsed
        .iter()
        .map(|(_, object)| Program::load(object))
        .collect::<hetdwarf::Result<Vec<_>>>()?;
    let waves = gathered.waves.iter();
    let chosen: Vec<Result<Chosen, Failure>> = match snapshots.is_empty() {
        true => waves.map(|wave| choose(wave, &parsed, None)).collect(),
        false => snapshots
            .into_iter()
            .map(|snapshot| Ok(Chosen::of(snapshot, &parsed)))
            .collect(),
    };
    let used: Vec<usize> = chosen
        .iter()
        .flatten()
        .filter_map(|one| one.object)
        .collect();
    let first = chosen.iter().flatten().next();
    let of_log = Waves {
        waves: &gathered.waves,
        load_address: first
            .filter(|_| are_snapshots)
            .map(|one| one.snapshot.load_address),
        target: None,
    };
    let unused = unused(&parsed, &used, &of_log);
    let opened = OpenedLog {
        waves: &gathered.waves,
        chosen,
        programs,
        options,
        objects: parsed.iter().map(|(given, _)| &*given.data).collect(),
        unused,
        limits: *limits,
    };
    then(&opened, &gathered, &parsed)
}

/// Reads the files as snapshots, if they are snapshots.
fn snapshots(files: &[PathBuf]) -> Result<Vec<Snapshot>, Failure> {
    let is_snapshot = |path: &&PathBuf| {
        let start = Contents::start_of_argument(path).unwrap_or_default();
        start.trim_ascii_start().starts_with(b"{")
    };
    let snapshots = files.iter().filter(is_snapshot);
    snapshots.map(|path| read_wave(path)).collect()
}

/// Converts a snapshot to a wave of a log.
fn logged(snapshot: &Snapshot) -> LoggedWave {
    let mut wave = LoggedWave::default();
    wave.pc = snapshot.pc().0;
    wave.fault_address = snapshot.fault_address;
    let stops = snapshot.stop.unwrap_or_default();
    let reasons: Vec<&str> = stops.iter().map(StopReason::name).collect();
    wave.reason = match reasons.is_empty() {
        true => "stopped".to_owned(),
        false => reasons.join("|").to_ascii_uppercase(),
    };
    let mut exec = [0; 8];
    let register = Register::exec(snapshot.wave_size());
    let bits = snapshot.wave_size().lanes();
    if let Some(bytes) = exec.get_mut(..(bits / 8) as usize)
        && snapshot.read_register(register, 0..bits, bytes).is_ok()
    {
        wave.scalars
            .insert("exec".to_owned(), u64::from_le_bytes(exec));
    }
    wave
}

/// Returns the files of folders that contain code objects.
fn in_folders(folders: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).map_err(|error| Failure::in_file(folder, error))?;
        let mut files: Vec<PathBuf> = entries
            .take(MOST_FILES)
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        files.sort();
        found.extend(files.into_iter().filter(|path| has_code(path)));
    }
    Ok(found)
}

fn has_code(path: &Path) -> bool {
    let start = Contents::start(path).unwrap_or_default();
    start.starts_with(b"\x7fELF") || start.starts_with(b"__CLANG_OFFLOAD")
}

/// Implements `hetdwarf core LOG`: calls `then` with the document.
pub(super) fn run(
    arguments: &CoreArguments,
    files: &[PathBuf],
    request: CoreRequest,
    then: impl FnOnce(&CoreReport, &OpenedLog<'_>) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let limits = arguments.limits.limits();
    let options = arguments.recovery.options();
    let objects = &arguments.objects;
    with_document(files, objects, options, &limits, request, |report, log| {
        then(report, log)?;
        Ok(super::exit(&report.document.problems))
    })
}

/// Opens a log and calls `then` with the document about it.
pub(super) fn with_document<T>(
    files: &[PathBuf],
    wanted: &CoreObjects,
    options: StopOptions,
    limits: &Limits,
    request: CoreRequest,
    then: impl FnOnce(&CoreReport, &OpenedLog<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_log(files, wanted, options, limits, |log, gathered, given| {
        let meter = log.meter();
        let mut documents = LogDocuments::new(request, &meter);
        for index in 0..log.waves.len() {
            log.add_to(index, &mut documents)?;
        }
        let mut objects = Vec::new();
        for (index, (given, object)) in given.iter().enumerate() {
            let mut in_it = log.chosen.iter().flatten();
            let load = in_it.find(|chosen| chosen.object == Some(index));
            let load = load.map(|chosen| chosen.snapshot.load_address);
            let segments = object.load_segments();
            let ends = segments.map(|one| one.start..one.end);
            let ends = ends.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end));
            let loaded = load.zip(ends).map(|(LoadAddress(load), ends)| {
                load.wrapping_add(ends.start)..load.wrapping_add(ends.end)
            });
            documents.add_loaded(loaded.unwrap_or_default());
            if let Some((program, load)) = log.programs.get(index).zip(load) {
                documents.locate_in(program, load);
            }
            let path = Untrusted::from(&*given.path).into_owned();
            objects.push(CoreObjectDocument::given(
                load.unwrap_or_default(),
                path,
                object,
            ));
        }
        let report = documents.finish(&gathered.events, objects, log.problems());
        then(&report, log)
    })
}

impl OpenedLog<'_> {
    fn add_to(&self, index: usize, documents: &mut LogDocuments<'_>) -> Result<(), Failure> {
        let Some(wave) = self.waves.get(index) else {
            return Ok(());
        };
        let chosen = self.chosen.get(index).and_then(|one| one.as_ref().ok());
        self.ask(index, &mut |_, stop| {
            let mut logged = LoggedStop::new(wave);
            logged.snapshot = self.snapshot(index);
            logged.stop = stop;
            logged.code_object = chosen.and_then(|chosen| chosen.object);
            logged.place = chosen.and_then(|chosen| chosen.place);
            documents.add(&logged);
            Ok(())
        })
    }

    /// Returns the missing facts about waves, with advice on how to supply them.
    fn problems(&self) -> Vec<ProblemDocument> {
        let unused = self.unused.iter();
        let unused = unused.map(|one| ProblemDocument::of(one.option.clone(), one.message.clone()));
        let mut found: Vec<ProblemDocument> = unused.collect();
        let why = match found.is_empty() {
            true => "it was not given",
            false => "no given file fits",
        };
        for (index, (wave, chosen)) in (1..).zip(self.waves.iter().zip(&self.chosen)) {
            let problem = match chosen {
                Ok(chosen) if chosen.object.is_some() => continue,
                Ok(_) => {
                    let uri = wave.object.as_ref().map(|object| object.uri.clone());
                    let place = uri.map(Untrusted::from).unwrap_or("code object".into());
                    let message = format!(
                        "{why}: functions, lines and variables of its waves are unknown; use --object FILE"
                    );
                    ProblemDocument::of(place, message)
                }
                Err(failure) => ProblemDocument::of(format!("wave {index}"), failure.to_string()),
            };
            if !found.contains(&problem) {
                found.push(problem);
            }
        }
        found
    }
}
