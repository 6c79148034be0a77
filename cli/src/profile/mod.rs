//! Implements `hetdwarf profile`.

mod objects;
mod reader;
mod recording;
mod rocprof_json;
mod rocprof_samples;
mod stream;
mod tables;
mod text;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use hetdwarf::inspect::Program;
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;
use hetdwarf::object::CodeObject;
use hetdwarf::profile::{
    By, CodeOf, Counts, Located, Place, Profile, ProfilePlace, Site, SourcePosition, divergence,
};
use hetdwarf::report::{ProfileDocument, ProfilePage, write_json_pretty};
use hetdwarf::untrusted::Untrusted;

use super::arguments::{ByName, ProfileArguments, ProfileFormat};
use super::contents::{Contents, Input};
use super::failure::{Exit, Failure, print_warnings};
use super::sources::Sources;
use objects::Found;
use recording::{ListedObject, Recording};

/// The reason why files of two kinds are refused.
const MIXED: &str = "executions of a thread trace and samples are counted differently: ask for them in two commands";
/// The reason why files of two forms are refused.
const TWICE: &str = "JSON and CSV files may have the same samples, because profilers write a run in both forms: give one form, or ask for them in two commands";
/// The most rows that are printed as text.
const ROWS: usize = 40;

pub(crate) fn run(
    arguments: &ProfileArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let limits = arguments.limits.limits();
    let mut recording = Recording::default();
    let mut length = 0;
    let mut is_damaged = false;
    // True for JSON.
    let mut forms = BTreeSet::new();
    for path in &arguments.files {
        let before = recording.samples.count();
        let read = read(path, &mut recording, &limits, &mut is_damaged)?;
        length += read.length;
        if recording.samples.count() > before {
            forms.insert(read.is_json);
        }
        if recording.is_trace && recording.is_sampled {
            return Err(Failure::in_file(path, MIXED));
        }
        if forms.len() > 1 {
            return Err(Failure::in_file(path, TWICE));
        }
    }
    let used = used_objects(&recording);
    let found = objects::find(
        &recording,
        &used,
        &arguments.given,
        &arguments.folders,
        &limits,
    )?;
    // The code objects and the answers about them share the memory limit.
    let opened = found.bytes.iter().flatten().count() as u64;
    let mut limits = limits;
    limits.memory /= opened + 1;
    let meter = Meter::new(&limits, length);
    let objects = open(&found, &limits);
    let programs = load(&objects);
    let mut resolver = Resolver::new(&recording, &programs, &meter);
    let limit = recording.limit.clone().or(resolver.add_all().err());
    let Resolver {
        profile,
        reasons,
        by_comment,
        ..
    } = resolver;
    let (idle, short) = divergence(&profile, &meter);
    let (by, top) = (grouping(arguments), rows_wanted(arguments));
    let mut document = ProfileDocument::new(&profile, by, top, &idle);
    if recording.is_trace {
        document.counts = "executions";
    }
    document.unresolved_reasons = reasons;
    document.by_comment = by_comment;
    document.discarded = recording.discarded.clone();
    document.unknown_fields = all(recording.unknown.iter());
    document.notes = all(recording.notes.iter());
    let lines = line_problems(&recording, &programs);
    let problems = recording.problems.iter().chain(&found.problems);
    document.problems = all(problems.chain(&lines));
    if let Some(limit) = limit.or(short) {
        document.completeness.note(&limit);
    }
    match arguments.format {
        ProfileFormat::Json => write_json_pretty(&document, &mut *out)?,
        ProfileFormat::Text => text::print(&document, width, out)?,
        ProfileFormat::Folded => text::print_folded(&document, out)?,
        ProfileFormat::Html => write_page(arguments, &document, &profile, &meter, out)?,
    }
    print_warnings(&document.problems, err)?;
    let is_resolved = document.unresolved < document.samples;
    let is_whole = !is_damaged && document.discarded.is_empty();
    Ok(
        match (&document.completeness.limit, is_whole && is_resolved) {
            (Some(_), _) => Exit::Incomplete,
            (None, true) => Exit::Done,
            (None, false) => Exit::Negative,
        },
    )
}

/// Returns the key by which samples are grouped.
fn grouping(arguments: &ProfileArguments) -> By {
    match (arguments.by, arguments.format) {
        // The HTML page shows lines.
        (_, ProfileFormat::Html) => By::Line,
        (_, ProfileFormat::Folded) | (ByName::Stack, _) => By::Stack,
        (ByName::Line, _) => By::Line,
        (ByName::Function, _) => By::Function,
        (ByName::Kernel, _) => By::Kernel,
        (ByName::Instruction, _) => By::Instruction,
    }
}

/// Returns the most rows of the document.
fn rows_wanted(arguments: &ProfileArguments) -> Option<usize> {
    match arguments.format {
        ProfileFormat::Text => Some(arguments.top.unwrap_or(ROWS)),
        ProfileFormat::Json | ProfileFormat::Folded => arguments.top,
        ProfileFormat::Html => None,
    }
}

fn write_page(
    arguments: &ProfileArguments,
    document: &ProfileDocument,
    profile: &Profile<'_, '_>,
    meter: &Meter,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let sources = Sources::new(&arguments.sources.source_dirs);
    let read = |path: &str, folder: Option<&str>| Some(sources.bytes(path, folder)?.to_vec());
    // The folders of profiles mean nothing to readers of the page.
    let names: Vec<_> = (arguments.files.iter())
        .filter_map(|file| Some(file.file_name()?.to_string_lossy()))
        .collect();
    let title = Untrusted::from(names.join(", "));
    ProfilePage::new(title, document, profile, &read, meter).write(&mut *out)?;
    Ok(())
}

fn all<'t>(texts: impl Iterator<Item = &'t String>) -> Vec<Untrusted<'static>> {
    texts.map(|text| Untrusted::from(text.clone())).collect()
}

/// The facts about a profiler's file.
struct ReadFile {
    /// The length in bytes.
    length: u64,
    is_json: bool,
}

/// Reads a profiler's file.
fn read(
    path: &Path,
    recording: &mut Recording,
    limits: &Limits,
    is_damaged: &mut bool,
) -> Result<ReadFile, Failure> {
    let place = |error: &dyn core::fmt::Display| Failure::in_file(path, error);
    let bytes = Contents::open(path, Input::Profile).map_err(|error| place(&error))?;
    if bytes.starts_with(b"SQLite format 3") {
        return Err(place(
            &"rocpd databases (SQLite) are not supported; run rocprofv3 with `--output-format json`",
        ));
    }
    let length = bytes.len() as u64;
    let meter = Meter::new(limits, length);
    let before = recording.samples.count();
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let result = match first {
        // A binary file is none of these.
        _ if bytes.iter().take(64).any(|byte| *byte == 0) => Ok(false),
        Some(b'{') => rocprof_json::read(recording, path, &bytes, &meter, &|| bytes.release()),
        _ => tables::read(recording, path, &bytes, &meter),
    };
    bytes.check_length().map_err(|error| place(&error))?;
    match result {
        Ok(true) => {}
        Ok(false) => {
            return Err(place(
                &"neither PC samples of rocprofv3 (JSON, CSV) nor statistics of a thread trace",
            ));
        }
        Err(error) if recording.limit.is_some() => {
            recording
                .problems
                .push(format!("{}: {error}", Untrusted::from(path)));
        }
        Err(error) if recording.samples.count() == before => return Err(place(&error)),
        Err(error) => {
            *is_damaged = true;
            recording.problems.push(format!(
                "{}: {error}; only the samples before the error are counted",
                Untrusted::from(path)
            ));
        }
    }
    let is_json = first == Some(&b'{');
    Ok(ReadFile { length, is_json })
}

/// Returns the code objects that have samples.
fn used_objects(recording: &Recording) -> BTreeSet<usize> {
    let places = recording.samples.places().iter();
    let objects = places.filter_map(|place| match place.site {
        Site::Code { object, .. } => usize::try_from(object).ok(),
        Site::Text(_) => None,
    });
    objects.collect()
}

/// Opens the code objects that were found.
fn open<'d>(found: &'d Found, limits: &Limits) -> Vec<Option<CodeObject<'d>>> {
    let objects = found.bytes.iter().map(|bytes| {
        let bytes = bytes.as_deref()?;
        let meter = Arc::new(Meter::new(limits, bytes.len() as u64));
        CodeObject::parse_within(bytes, &meter).ok()
    });
    objects.collect()
}

/// Loads the programs of code objects.
fn load<'a>(objects: &'a [Option<CodeObject<'a>>]) -> Vec<Option<Program<'a>>> {
    let programs = objects.iter();
    let programs = programs.map(|object| Program::load(object.as_ref()?).ok());
    programs.collect()
}

/// Returns the problems with the line tables that samples were looked up in.
fn line_problems(recording: &Recording, programs: &[Option<Program<'_>>]) -> Vec<String> {
    let mut problems = Vec::new();
    for (listed, program) in recording.objects.iter().zip(programs) {
        let found = program
            .iter()
            .flat_map(|program| program.info().line_problems());
        let uri = Untrusted::from(&*listed.uri);
        problems.extend(found.map(|problem| format!("{uri}: lines are missing: {problem}")));
    }
    problems
}

/// Looks samples up in code objects.
struct Resolver<'r, 'p, 'a> {
    recording: &'r Recording,
    programs: &'p [Option<Program<'a>>],
    meter: &'r Meter,
    profile: Profile<'p, 'a>,
    /// The reasons why samples could not be looked up, with counts.
    reasons: BTreeMap<String, u64>,
    by_comment: u64,
}

impl<'r, 'p, 'a> Resolver<'r, 'p, 'a> {
    fn new(
        recording: &'r Recording,
        programs: &'p [Option<Program<'a>>],
        meter: &'r Meter,
    ) -> Resolver<'r, 'p, 'a> {
        Resolver {
            recording,
            programs,
            meter,
            profile: Profile {
                names: recording.samples.names.clone(),
                ..Profile::default()
            },
            reasons: BTreeMap::new(),
            by_comment: 0,
        }
    }

    /// Looks all positions up, until a limit is reached.
    fn add_all(&mut self) -> hetdwarf::Result<()> {
        let places = self.recording.samples.places();
        places.iter().try_for_each(|place| self.add(place))
    }

    fn add(&mut self, place: &Place) -> hetdwarf::Result<()> {
        let counts = place.counts.clone();
        let (object, kernel, address) = match place.site {
            Site::Code {
                object,
                kernel,
                address,
            } => (object, kernel, address),
            Site::Text(text) => {
                let text = usize::try_from(text).ok();
                let text = text.and_then(|text| self.recording.texts.get(text));
                let Some([instruction, comment]) = text else {
                    return Ok(());
                };
                if !self.add_comment(&counts, instruction, comment, None) {
                    self.fail(&counts, "the profiler names no line".to_owned());
                }
                return Ok(());
            }
        };
        let index = usize::try_from(object).unwrap_or(usize::MAX);
        let Some(listed) = self.recording.objects.get(index) else {
            return Ok(());
        };
        let reason = if listed.id == 0 {
            "outside of all code objects".to_owned()
        } else if let Some(Some(program)) = self.programs.get(index) {
            let code = CodeOf {
                object,
                program,
                address: linked(listed, address),
            };
            let kernel = kernel.and_then(|kernel| usize::try_from(kernel).ok());
            let kernel = kernel.and_then(|kernel| self.recording.kernels.get(kernel));
            let kernel = kernel.and_then(Option::as_deref);
            let added = self
                .profile
                .add_code(counts.clone(), code, kernel, self.meter)?;
            if added {
                return Ok(());
            }
            format!("no code at the address in code object {}", listed.id)
        } else {
            let id = listed.id;
            match listed.is_listed || listed.is_linked {
                true => format!(
                    "code object {id} was not found; give --object OBJ or --object-path DIR"
                ),
                false => format!("code object {id} is not in the file's list, and was not found"),
            }
        };
        let process = usize::try_from(listed.scope).ok();
        let process = process.and_then(|process| self.recording.processes.get(process));
        let text = place.text.and_then(|text| usize::try_from(text).ok());
        let texts = process.zip(text);
        let known = texts.and_then(|(process, text)| {
            Some((process.instructions.get(text), process.comments.get(text)?))
        });
        if let (Some((instruction, comment)), true) = (known, listed.id != 0) {
            let size = process.zip(listed.agent).and_then(|(process, agent)| {
                let (_, lanes) = process.agents.get(&agent)?;
                // Processors with waves of 32 lanes can also run waves of 64.
                lanes.filter(|lanes| *lanes == 64)
            });
            let instruction = instruction.map_or("", String::as_str);
            if self.add_comment(&counts, instruction, comment, size) {
                self.by_comment = self.by_comment.saturating_add(counts.samples);
                return Ok(());
            }
        }
        self.fail(&counts, reason);
        Ok(())
    }

    fn fail(&mut self, counts: &Counts, reason: String) {
        let count = counts.samples;
        self.profile.unresolved = self.profile.unresolved.saturating_add(count);
        let sum = self.reasons.entry(reason).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Adds a position from the profiler's comment. Returns false if the comment is not a position.
    fn add_comment(
        &mut self,
        counts: &Counts,
        instruction: &str,
        comment: &str,
        lanes: Option<u64>,
    ) -> bool {
        // For code outside of code objects the comment is a sentence that ends with an address.
        if comment.starts_with("Unrecognized code object") {
            return false;
        }
        let calls = comment.split(" -> ");
        let frames: Option<Vec<SourcePosition>> = calls.map(position).collect();
        let Some(frames) = frames else {
            return false;
        };
        let mut located = Located::default();
        located.frames = frames;
        located.instruction = Some(instruction.to_owned()).filter(|text| !text.is_empty());
        located.wave_size = lanes.and_then(hetdwarf::arch::WaveSize::from_lanes);
        self.profile.places.push(ProfilePlace {
            counts: counts.clone(),
            located,
            code: None,
        });
        true
    }
}

/// Parses `FILE:LINE`, or `FILE:?` for code without a line.
fn position(text: &str) -> Option<SourcePosition> {
    let (file, line) = text.rsplit_once(':')?;
    match line {
        "?" => Some(SourcePosition::of_line(file, None)),
        line => Some(SourcePosition::of_line(file, Some(line.parse().ok()?))),
    }
}

/// Returns the virtual address in the ELF file.
fn linked(listed: &ListedObject, offset: u64) -> u64 {
    match (listed.is_linked, listed.load_base, listed.load_delta) {
        (false, Some(base), Some(delta)) => base.wrapping_add(offset).wrapping_sub(delta),
        _ => offset,
    }
}
