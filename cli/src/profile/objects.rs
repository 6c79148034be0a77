//! Finds the code objects of a profile: in files that a user passes, and in folders that a user names. No other file is opened, even if the
//! profile contains its path.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use hetdwarf::gpu_core::ObjectSource;
use hetdwarf::limits::Limits;
use hetdwarf::object::{
    CodeObject, code_objects_if_any, code_objects_within, may_hold_code_objects,
};
use hetdwarf::untrusted::Untrusted;

use super::super::contents::{Contents, Input};
use super::super::failure::Failure;
use super::super::folders::files_below;
use super::super::packages::ObjectFile;
use super::recording::{ListedObject, Recording};

/// The code objects that were found for a profile.
pub(super) struct Found {
    /// The bytes of each code object, by its number in the recording.
    pub(super) bytes: Vec<Option<Arc<[u8]>>>,
    /// The problems with files that were given or searched for.
    pub(super) problems: Vec<String>,
}

/// A file that may be the code object.
struct Candidate {
    bytes: Arc<[u8]>,
    /// The path, for messages.
    path: String,
}

/// A code object that is being searched for.
struct Wanted<'r> {
    number: usize,
    listed: &'r ListedObject,
    pid: Option<u64>,
    /// The name of the processor.
    target: Option<&'r str>,
    candidates: Vec<Candidate>,
}

/// Finds the code objects of a recording.
pub(super) fn find(
    recording: &Recording,
    used: &BTreeSet<usize>,
    given: &[std::path::PathBuf],
    folders: &[std::path::PathBuf],
    limits: &Limits,
) -> Result<Found, Failure> {
    let mut found = Found {
        bytes: vec![None; recording.objects.len()],
        problems: Vec::new(),
    };
    let mut wanted: Vec<Wanted<'_>> = used
        .iter()
        .filter_map(|&number| Wanted::new(recording, number))
        .collect();
    let is_unnamed = wanted.len() == 1;
    for path in given {
        add_given(path, &mut wanted, is_unnamed, limits, &mut found.problems)?;
    }
    found.settle(&mut wanted);
    let own: BTreeSet<&Path> = (recording.processes.iter())
        .flat_map(|process| {
            let folder = folder_of(&process.file);
            [Some(folder), folder_of_trace(folder)]
        })
        .flatten()
        .collect();
    for folder in own {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        let mut paths: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| wanted.iter().any(|one| one.is_saved_as(path)))
            .collect();
        paths.sort();
        for path in paths {
            add_saved(&path, &mut wanted, limits);
        }
    }
    found.settle(&mut wanted);
    for folder in folders {
        if !folder.is_dir() {
            return Err(Failure::in_file(folder, "--object-path: not a directory"));
        }
        if wanted.is_empty() {
            continue;
        }
        let below = files_below(folder);
        for path in &below.files {
            add_saved(path, &mut wanted, limits);
            add_file(path, &mut wanted, limits);
        }
        if let Some(first) = below.first {
            let folder = Untrusted::from(folder.as_path());
            found
                .problems
                .push(format!("--object-path {folder}: {first}"));
        }
    }
    found.settle(&mut wanted);
    Ok(found)
}

/// Returns the folder that contains a file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns the folder that contains `ui_output_…`, the folder of a thread trace. The code objects are saved beside it.
fn folder_of_trace(folder: &Path) -> Option<&Path> {
    let name = folder.file_name()?.to_str()?;
    (name.starts_with("ui_output_")).then(|| folder_of(folder))
}

impl Found {
    /// Assigns each code object its matching file, if there is exactly one.
    fn settle(&mut self, wanted: &mut Vec<Wanted<'_>>) {
        for one in &mut *wanted {
            let candidates = core::mem::take(&mut one.candidates);
            let Some(first) = candidates.first() else {
                continue;
            };
            if let Some(other) = candidates.iter().find(|other| other.bytes != first.bytes) {
                self.problems.push(format!(
                    "code object {}: both {} and {} match, so neither is used",
                    one.listed.id, first.path, other.path
                ));
                continue;
            }
            if let Some(bytes) = self.bytes.get_mut(one.number) {
                *bytes = Some(Arc::clone(&first.bytes));
            }
        }
        let is_found = |number: usize| self.bytes.get(number).is_some_and(Option::is_some);
        wanted.retain(|one| !is_found(one.number));
    }
}

impl<'r> Wanted<'r> {
    fn new(recording: &'r Recording, number: usize) -> Option<Wanted<'r>> {
        let listed = recording.objects.get(number).filter(|one| one.id != 0)?;
        let process = recording
            .processes
            .get(usize::try_from(listed.scope).ok()?)?;
        let mut names = process.agents.iter();
        let target = match listed.agent {
            Some(agent) => names.find(|(handle, _)| **handle == agent),
            None => None,
        };
        let target = target.map(|(_, (name, _))| name.as_str());
        Some(Wanted {
            number,
            listed,
            pid: process.pid,
            target: target.filter(|name| name.starts_with("gfx")),
            candidates: Vec::new(),
        })
    }

    /// Returns true if a file has the name under which rocprofv3 saves the code object.
    fn is_saved_as(&self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return false;
        };
        let end = format!("_code_object_id_{}.out", self.listed.id);
        let Some(start) = name.strip_suffix(&end) else {
            return false;
        };
        // The name is PID_GFX. The process ID may be unknown.
        let pid = start.split('_').next().and_then(|pid| pid.parse().ok());
        self.pid.is_none_or(|own| pid == Some(own))
    }

    /// Returns true if the size and the target match the code object, as far as they are known.
    fn fits(&self, object: &CodeObject<'_>) -> bool {
        let is_target = |target| object.target().processor().name() == target;
        if !self.target.is_none_or(is_target) {
            return false;
        }
        let Some(wanted) = self.listed.load_size.filter(|size| *size != 0) else {
            return true;
        };
        let segments = object.load_segments();
        let ends = segments.map(|range| (range.start, range.end));
        let all = ends.reduce(|(start, end), (from, to)| (start.min(from), end.max(to)));
        all.is_some_and(|(start, end)| {
            let size = end.saturating_sub(start);
            // A loader may round the size up to whole pages.
            wanted == size || Some(wanted) == size.checked_next_multiple_of(4096)
        })
    }

    /// Returns the part of a file to which the profile's URI refers, if the file has that name.
    fn part<'c>(&self, path: &Path, contents: &'c [u8]) -> Option<&'c [u8]> {
        let ObjectSource::File {
            path: stated,
            offset,
            size,
        } = ObjectSource::parse(&self.listed.uri)?
        else {
            return None;
        };
        let stated = String::from_utf8_lossy(&stated).into_owned();
        let is_named = Path::new(&stated).file_name() == path.file_name();
        let rest = contents.get(usize::try_from(offset).ok().filter(|_| is_named)?..)?;
        match size {
            Some(size) => rest.get(..usize::try_from(size).ok()?),
            None => Some(rest),
        }
    }

    /// Returns true if the profile has no size to compare a file with.
    fn is_blind(&self) -> bool {
        self.listed.load_size.is_none_or(|size| size == 0)
    }

    fn add(&mut self, bytes: &[u8], path: &Path) {
        self.candidates.push(Candidate {
            bytes: bytes.into(),
            path: Untrusted::from(path).to_string(),
        });
    }
}

/// Adds the code objects of a file that the user gives.
fn add_given(
    path: &Path,
    wanted: &mut [Wanted<'_>],
    is_unnamed: bool,
    limits: &Limits,
    problems: &mut Vec<String>,
) -> Result<(), Failure> {
    let file = ObjectFile::open(path, Input::Object, limits)?;
    let meter = file.meter(limits);
    let inside = code_objects_within(&file, &file.packages(), &meter)
        .map_err(|error| Failure::in_file(path, error))?;
    let mut is_used = false;
    for embedded in &inside {
        let Ok(object) = CodeObject::parse_with(&embedded.data, limits) else {
            continue;
        };
        for one in &mut *wanted {
            if one.fits(&object) && (!one.is_blind() || is_unnamed) {
                one.add(&embedded.data, path);
                is_used = true;
            }
        }
    }
    if !is_used {
        let reason = match (inside.is_empty(), wanted.is_empty()) {
            (true, _) => "it has no code object",
            (false, true) => "no sample is in a code object",
            (false, false) => "no code object with samples has its target and size",
        };
        let path = Untrusted::from(path);
        problems.push(format!("--object {path}: not used: {reason}"));
    }
    Ok(())
}

/// Adds a code object that rocprofv3 saved.
fn add_saved(path: &Path, wanted: &mut [Wanted<'_>], limits: &Limits) {
    for one in wanted.iter_mut().filter(|one| one.is_saved_as(path)) {
        let Ok(contents) = Contents::open(path, Input::Object) else {
            continue;
        };
        let is_it = CodeObject::parse_with(&contents, limits).is_ok_and(|object| one.fits(&object));
        if is_it {
            one.add(&contents, path);
        }
    }
}

/// Adds code objects of a file in a folder: the object at the URI's offset, or the objects of a matching size.
fn add_file(path: &Path, wanted: &mut [Wanted<'_>], limits: &Limits) {
    let Ok(contents) = Contents::open(path, Input::Object) else {
        return;
    };
    for one in &mut *wanted {
        if let Some(part) = one.part(path, &contents)
            && CodeObject::parse_with(part, limits).is_ok_and(|object| one.fits(&object))
        {
            one.add(part, path);
        }
    }
    let is_open = |one: &Wanted<'_>| !one.is_blind() && one.candidates.is_empty();
    if !wanted.iter().any(is_open) || !may_hold_code_objects(&contents) {
        return;
    }
    let inside = code_objects_if_any(&contents, limits);
    for embedded in inside.unwrap_or_default() {
        let Ok(object) = CodeObject::parse_with(&embedded.data, limits) else {
            continue;
        };
        for one in wanted.iter_mut().filter(|one| !one.is_blind()) {
            if one.fits(&object) {
                one.add(&embedded.data, path);
            }
        }
    }
}
