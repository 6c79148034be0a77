//! Implements `hetdwarf import`: converts the debug agent's log into snapshots.

mod unused;

pub(crate) use unused::{Unused, Waves, unused};

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::arguments::{Format, ImportArguments, object_and_load};
use super::contents::{Contents, Input, input_name};
use super::failure::{Exit, Failure};
use super::outputs::{Kind, Output, Outputs};
use super::packages::ObjectFile;
use hetdwarf::arch::{CodeAddress, LoadAddress, ProcessAddress, WaveSize};
use hetdwarf::debug_agent::{Log, LoggedObject, LoggedWave, RuntimeEvent};
use hetdwarf::gpu_core::place_in_dispatch;
use hetdwarf::limits::Limits;
use hetdwarf::object::{CodeObject, code_objects_within};
use hetdwarf::report::{Hex, write_json_pretty};
use hetdwarf::untrusted::Untrusted;
use hetdwarf::wave::{Dispatch, Snapshot, Wave};

/// More waves than any GPU holds.
const MOST_WAVES: usize = 100_000;

/// The document `hetdwarf-import/1`.
#[derive(Debug, Serialize)]
struct ImportDocument {
    format: &'static str,
    waves: Vec<ImportedWave>,
    /// The waves that were not written, and the code objects that were not used, with reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Untrusted<'static>>,
    /// The number of lines that are damaged or are not from the agent.
    skipped_lines: u64,
    /// The number of waves that were printed again with the same values.
    repeated: u64,
}

/// A wave that was written.
#[derive(Debug, Serialize)]
struct ImportedWave {
    /// The agent's number of the wave.
    number: u64,
    /// The path of the snapshot.
    snapshot: Untrusted<'static>,
    pc: Hex,
    lanes: u32,
    target: Untrusted<'static>,
    /// `running`, or the reason why the wave stopped.
    reason: Untrusted<'static>,
    /// The file with the wave's code object; null if no matching file was given.
    object: Option<Untrusted<'static>>,
    /// The index of the code object in its file, for `--index`. Absent if the file has only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    /// The URI of the code object in the log, if the log has one.
    uri: Option<Untrusted<'static>>,
    /// The number of values that are not in the snapshot, because their registers have no DWARF numbers.
    left_out: u64,
}

/// A code object that the user gives.
pub(crate) struct Given {
    pub(crate) path: PathBuf,
    pub(crate) data: Vec<u8>,
    /// Its load address, if the user gives one.
    load_address: Option<LoadAddress>,
    /// Its index in the file, if the file has several.
    index: Option<usize>,
    /// True if the user named the file, and not only its folder.
    is_named: bool,
}

pub(crate) fn run(
    arguments: &ImportArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let limits = arguments.limits.limits();
    let Gathered {
        waves,
        skipped_lines,
        repeated,
        ..
    } = gather(&arguments.logs)?;
    if waves.is_empty() {
        let message = "it contains no wave of the debug agent, which starts with a line `wave_N: \
                       pc=0x… (…)`";
        let first = arguments
            .logs
            .first()
            .map_or(Path::new(""), PathBuf::as_path);
        return Err(Failure::in_file(first, message));
    }
    let given = given(&arguments.objects, &limits)?;
    let parsed: Vec<(&Given, CodeObject<'_>)> = given
        .iter()
        .map(|given| Ok((given, CodeObject::parse_with(&given.data, &limits)?)))
        .collect::<hetdwarf::Result<_>>()?;
    // All output paths are checked before anything is written.
    let Converted {
        files,
        mut problems,
        used,
    } = convert(&waves, &parsed, arguments);
    // If no snapshot can be written, the first problem is the error. Otherwise the other snapshots are kept.
    if files.is_empty() && !problems.is_empty() {
        return Err(problems.swap_remove(0));
    }
    problems.extend(not_used(&waves, &parsed, &used, arguments));
    let inputs = arguments.logs.iter().chain(&arguments.objects);
    let mut outputs = Outputs::new(arguments.force, inputs.map(PathBuf::as_path));
    let folder = &arguments.output;
    std::fs::create_dir_all(folder).map_err(|error| Failure::in_file(folder, error))?;
    let mut document = ImportDocument {
        format: "hetdwarf-import/1",
        waves: Vec::new(),
        problems: problems
            .iter()
            .map(|problem| problem.to_string().into())
            .collect(),
        skipped_lines,
        repeated,
    };
    let planned: Vec<Output> = files
        .iter()
        .map(|(path, ..)| outputs.plan(path, Kind::Wave))
        .collect::<Result<_, _>>()?;
    for (output, (_, text, wave)) in planned.iter().zip(files) {
        output.write(text.as_bytes())?;
        document.waves.push(wave);
    }
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => print(&document, out)?,
    }
    for problem in &problems {
        problem.report(err);
    }
    Ok(match problems.is_empty() {
        true => Exit::Done,
        false => Exit::Negative,
    })
}

/// Waves as snapshots, not written yet.
struct Converted {
    /// The paths of the snapshots, their texts and their rows of the document.
    files: Vec<(PathBuf, String, ImportedWave)>,
    problems: Vec<Failure>,
    /// The indexes of the code objects of waves.
    used: Vec<usize>,
}

/// Converts waves to snapshots.
fn convert(
    waves: &[LoggedWave],
    given: &[(&Given, CodeObject<'_>)],
    arguments: &ImportArguments,
) -> Converted {
    let mut files = Vec::new();
    let mut names: BTreeMap<u64, u64> = BTreeMap::new();
    let mut problems = Vec::new();
    let mut used = Vec::new();
    for wave in waves {
        let found = snapshot(wave, given, arguments.target.as_deref());
        let (text, mut document) = match found {
            Ok((text, document, object)) => {
                used.extend(object);
                (text, document)
            }
            Err(failure) => {
                problems.push(failure);
                continue;
            }
        };
        let count = names.entry(wave.number).or_default();
        *count += 1;
        let name = match *count {
            1 => format!("wave-{}.json", wave.number),
            // Another wave has the same number: the log is about several programs or times.
            count => format!("wave-{}-{count}.json", wave.number),
        };
        let path = arguments.output.join(name);
        document.snapshot = Untrusted::from(&*path).into_owned();
        files.push((path, text, document));
    }
    Converted {
        files,
        problems,
        used,
    }
}

/// Returns the code objects that were given and are not used, with the reasons.
fn not_used(
    waves: &[LoggedWave],
    given: &[(&Given, CodeObject<'_>)],
    used: &[usize],
    arguments: &ImportArguments,
) -> Vec<Failure> {
    let of_log = Waves {
        waves,
        load_address: None,
        target: arguments.target.as_deref(),
    };
    let found = unused(given, used, &of_log).into_iter();
    let found =
        found.map(|Unused { option, message }| Failure::new(format!("{option}: {message}")));
    found.collect()
}

/// The waves of all logs.
pub(crate) struct Gathered {
    pub(crate) waves: Vec<LoggedWave>,
    pub(crate) events: Vec<RuntimeEvent>,
    skipped_lines: u64,
    repeated: u64,
}

impl Gathered {
    /// Collects waves that do not come from a log.
    pub(crate) fn of(waves: Vec<LoggedWave>) -> Gathered {
        Gathered {
            waves,
            events: Vec::new(),
            skipped_lines: 0,
            repeated: 0,
        }
    }
}

impl Chosen {
    /// Returns the registers of a snapshot, with the code object that its wave is in.
    pub(crate) fn of(snapshot: Snapshot, given: &[(&Given, CodeObject<'_>)]) -> Chosen {
        let pc = snapshot.pc().0;
        let is_in = |(_, object): &(&Given, CodeObject<'_>)| {
            contains(object, snapshot.load_address, pc)
                && object.check_wave_size(snapshot.wave_size()).is_ok()
        };
        let dispatch = snapshot.dispatch;
        Chosen {
            object: given.iter().position(is_in),
            place: dispatch.map(|one| (one.workgroup_id, one.wave_in_group)),
            left_out: 0,
            snapshot,
        }
    }
}

/// Reads the logs. A wave that a log prints twice counts once.
pub(crate) fn gather(logs: &[PathBuf]) -> Result<Gathered, Failure> {
    let mut waves: Vec<LoggedWave> = Vec::new();
    let (mut skipped_lines, mut repeated) = (0_u64, 0_u64);
    let mut events = Vec::new();
    // The positions of known waves by hash.
    let mut known: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for path in logs {
        let contents = Contents::of_argument(path, Input::Log);
        let path = input_name(path);
        let log = Log::parse(&contents.map_err(|error| Failure::in_file(path, error))?);
        skipped_lines += log.skipped;
        events.extend(log.events);
        for wave in log.waves {
            let mut hasher = DefaultHasher::new();
            wave.hash(&mut hasher);
            let alike = known.entry(hasher.finish()).or_default();
            if alike.iter().any(|&index| waves.get(index) == Some(&wave)) {
                repeated += 1;
                continue;
            }
            alike.push(waves.len());
            waves.push(wave);
            if waves.len() > MOST_WAVES {
                let message = format!("it contains more than {MOST_WAVES} waves");
                return Err(Failure::in_file(path, message));
            }
        }
    }
    Ok(Gathered {
        waves,
        events,
        skipped_lines,
        repeated,
    })
}

/// Reads the code objects of the given files.
///
/// # Errors
/// If a file cannot be read, or has no code object.
pub(crate) fn given(paths: &[PathBuf], limits: &Limits) -> Result<Vec<Given>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        let (file, load_address) = object_and_load(path);
        let load_address = load_address.map(LoadAddress);
        match objects_in(file, load_address, limits)? {
            Inside::Objects(objects) => found.extend(objects.into_iter().map(|one| Given {
                is_named: true,
                ..one
            })),
            Inside::Nothing(reason) => {
                return Err(Failure::in_file(file, format!("--object: {reason}")));
            }
        }
    }
    Ok(found)
}

/// Reads the code objects of files found in a folder. Files without code objects are left out.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn given_in_folder(paths: &[PathBuf], limits: &Limits) -> Result<Vec<Given>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if let Inside::Objects(objects) = objects_in(path, None, limits)? {
            found.extend(objects);
        }
    }
    Ok(found)
}

/// The code objects of a file, if it has any.
enum Inside {
    Objects(Vec<Given>),
    /// No code object, with the reason.
    Nothing(String),
}

fn objects_in(
    path: &Path,
    load_address: Option<LoadAddress>,
    limits: &Limits,
) -> Result<Inside, Failure> {
    let in_file = |error: &dyn core::fmt::Display| Failure::in_file(path, error);
    let file = ObjectFile::open(path, Input::Object, limits)?;
    let meter = file.meter(limits);
    let inside = code_objects_within(&file, &file.packages(), &meter);
    let inside = inside.map_err(|error| in_file(&error))?;
    if inside.is_empty() {
        let reason = file.reference.as_ref().map(ToString::to_string);
        let reason = reason.unwrap_or_else(|| "it has no code object".to_owned());
        return Ok(Inside::Nothing(reason));
    }
    let has_several = inside.len() > 1;
    let mut found = Vec::new();
    for (index, embedded) in inside.into_iter().enumerate() {
        let data = embedded.data.to_vec();
        CodeObject::parse_with(&data, limits).map_err(|error| in_file(&error))?;
        found.push(Given {
            path: path.to_owned(),
            data,
            load_address,
            index: has_several.then_some(index),
            is_named: false,
        });
    }
    Ok(Inside::Objects(found))
}

/// Returns the name under which the agent saves a code object.
fn saved_name(uri: &str) -> String {
    uri.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// Returns the load address of a code object, from the address range or the kernel entry in the log.
fn load_address(object: &CodeObject<'_>, wave: &LoggedWave) -> Option<LoadAddress> {
    const PAGE: u64 = 4096;
    let by_range = |logged: &LoggedObject| {
        let first = object.load_segments().map(|segment| segment.start).min()?;
        let start = first.checked_sub(first.checked_rem(PAGE)?)?;
        let load = (!logged.loaded.is_empty()).then(|| logged.loaded.start.checked_sub(start))?;
        load.map(LoadAddress)
    };
    let by_entry = || {
        let entry = wave.kernel_entry?;
        let kernels = object.kernels().ok()?;
        let entries = kernels.iter().filter_map(|kernel| kernel.entry());
        let loads = entries.filter_map(|at| entry.checked_sub(at));
        // Code objects are loaded at page boundaries.
        let mut loads = loads
            .filter(|load| load.is_multiple_of(PAGE))
            .map(LoadAddress);
        loads.find(|load| contains(object, *load, wave.pc))
    };
    let found = wave.object.as_ref().and_then(by_range).or_else(by_entry);
    found.filter(|load| contains(object, *load, wave.pc))
}

fn contains(object: &CodeObject<'_>, load_address: LoadAddress, pc: u64) -> bool {
    load_address
        .checked_to_code(ProcessAddress(pc))
        .is_some_and(|CodeAddress(at)| object.load_segments().any(|segment| segment.contains(&at)))
}

/// The registers of a wave in a log.
pub(crate) struct Chosen {
    pub(crate) snapshot: Snapshot,
    /// The index of the given code object that the wave is in.
    pub(crate) object: Option<usize>,
    /// The workgroup and the wave's number in it, if trap temporaries have them.
    pub(crate) place: Option<([u32; 3], u32)>,
    left_out: u64,
}

/// Returns the text of a snapshot file, its row of the document and the index of its code object.
fn snapshot(
    wave: &LoggedWave,
    given: &[(&Given, CodeObject<'_>)],
    target: Option<&str>,
) -> Result<(String, ImportedWave, Option<usize>), Failure> {
    let chosen = choose(wave, given, target)?;
    let object = chosen.object.and_then(|index| given.get(index));
    let document = ImportedWave {
        number: wave.number,
        snapshot: Untrusted::default(),
        pc: Hex::from(wave.pc),
        lanes: chosen.snapshot.wave_size().lanes(),
        target: chosen.snapshot.target.clone().into(),
        reason: wave.reason.clone().into(),
        object: object.map(|(given, _)| Untrusted::from(&*given.path).into_owned()),
        index: object.and_then(|(given, _)| given.index),
        uri: wave.object.as_ref().map(|object| object.uri.clone().into()),
        left_out: chosen.left_out,
    };
    Ok((chosen.snapshot.to_json(), document, chosen.object))
}

/// Chooses the code object of a wave and makes its snapshot.
pub(crate) fn choose(
    wave: &LoggedWave,
    given: &[(&Given, CodeObject<'_>)],
    target: Option<&str>,
) -> Result<Chosen, Failure> {
    let number = wave.number;
    if wave.is_cut {
        let message = format!("wave_{number}: the log ends within this wave");
        return Err(Failure::new(message));
    }
    let saved = wave.object.as_ref().map(|object| saved_name(&object.uri));
    let is_saved = |given: &Given| {
        let name = given.path.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| saved.as_deref() == Some(&*saved_name(&name)))
    };
    let fitting = || {
        let numbered = given.iter().enumerate();
        numbered.filter(|(_, (given, object))| {
            let own = object.target().to_string();
            let is_wanted = target.is_none_or(|target| own == target);
            let has_size = |size| object.check_wave_size(size).is_ok();
            is_wanted
                && wave.wave_size().is_none_or(has_size)
                && load_at(given, object, wave).is_some()
        })
    };
    let by_name = fitting().find(|(_, (given, _))| is_saved(given));
    let mut others = fitting();
    // An ambiguous match selects no code object.
    let chosen = by_name.or_else(|| others.next().filter(|_| others.next().is_none()));
    let (index, chosen) = chosen.unzip();
    let load = chosen.and_then(|(given, object)| load_at(given, object, wave));
    let own = chosen.map(|(_, object)| object.target().to_string());
    let only = || match given {
        [(_, object)] => Some(object.target().to_string()),
        _ => None,
    };
    let found = target.map(str::to_owned).or(own).or_else(only);
    let Some(found) = found else {
        return Err(Failure::new(format!(
            "wave_{number}: the log does not contain its target: give its code object with --object \
             (`hetdwarf import` also takes --target)"
        )));
    };
    let id: hetdwarf::arch::TargetId = found
        .parse()
        .map_err(|error: hetdwarf::Error| Failure::in_option("--target", &found, error))?;
    let sizes = [WaveSize::Wave32, WaveSize::Wave64];
    let mut possible = sizes
        .into_iter()
        .filter(|size| id.processor().supports_wave_size(*size));
    let only = possible.next().filter(|_| possible.next().is_none());
    let Some(size) = wave.wave_size().or(only) else {
        let message = format!("wave_{number}: no complete vector register shows its lane count");
        return Err(Failure::new(message));
    };
    if !id.processor().supports_wave_size(size) {
        let lanes = size.lanes();
        return Err(Failure::new(format!(
            "wave_{number}: it has {lanes} lanes, but {found} has no such waves"
        )));
    }
    let (mut snapshot, left_out) = wave.snapshot(&found, size, load.unwrap_or_default())?;
    let place = place_in_dispatch(id.processor(), &trap_temporaries(wave));
    if let (Some((workgroup_id, wave_in_group)), Some([grid, workgroup])) = (place, wave.sizes) {
        let mut dispatch = Dispatch::default();
        dispatch.workgroup_id = workgroup_id;
        dispatch.workgroup_size = workgroup;
        dispatch.grid_size = grid;
        dispatch.wave_in_group = wave_in_group;
        dispatch.kernarg_address = wave.kernarg_address;
        // A dispatch packet that does not fit the wave belongs to another dispatch.
        snapshot.dispatch = Some(dispatch).filter(|one| one.lanes(size).is_some());
    }
    Ok(Chosen {
        snapshot,
        object: index,
        place,
        left_out,
    })
}

/// Returns the load address of a code object: from the user, or else from the log.
fn load_at(given: &Given, object: &CodeObject<'_>, wave: &LoggedWave) -> Option<LoadAddress> {
    match given.load_address {
        Some(load) => Some(load).filter(|load| contains(object, *load, wave.pc)),
        None => load_address(object, wave),
    }
}

/// Returns the trap temporaries that a log has.
fn trap_temporaries(wave: &LoggedWave) -> [Option<u32>; 16] {
    let mut found = [None; 16];
    for (number, place) in found.iter_mut().enumerate() {
        let value = wave.scalars.get(&format!("ttmp{number}"));
        *place = value.and_then(|value| u32::try_from(*value).ok());
    }
    found
}

fn print(document: &ImportDocument, out: &mut dyn Write) -> Result<(), Failure> {
    for wave in &document.waves {
        let with = match (&wave.object, &wave.uri) {
            (Some(object), _) => match wave.index {
                Some(index) => format!(", in {object} (--index {index})"),
                None => format!(", in {object}"),
            },
            (None, Some(uri)) => format!(", in {uri}: give it with --object"),
            (None, None) => String::new(),
        };
        writeln!(
            out,
            "{}: {} lanes of {}, {} at {:#x}{with}",
            wave.snapshot, wave.lanes, wave.target, wave.reason, wave.pc.0
        )?;
    }
    writeln!(
        out,
        "{} waves; {} lines were skipped, {} waves were there twice",
        document.waves.len(),
        document.skipped_lines,
        document.repeated
    )?;
    let waves = document.waves.iter();
    let with_object = waves.filter_map(|wave| Some((wave, wave.object.as_ref()?)));
    let is_running = |(wave, _): &(&ImportedWave, &Untrusted<'_>)| *wave.reason.raw() == *"running";
    if let Some((wave, object)) = with_object.min_by_key(is_running) {
        let index = wave.index.map(|index| format!(" --index {index}"));
        let index = index.unwrap_or_default();
        let snapshot = &wave.snapshot;
        writeln!(out, "next: hetdwarf vars {object}{index} --wave {snapshot}")?;
    }
    Ok(())
}
