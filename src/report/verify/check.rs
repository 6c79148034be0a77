//! Checks all code objects of one file.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _};

use super::{UnreadableFile, VerifiedFile};
use crate::error::{Error, Result};
use crate::inspect::Program;
use crate::limits::Limits;
use crate::meter::Meter;
use crate::object::{
    CodeObject, EmbeddedCodeObject, Layout, Package, PackageReference, Section, code_objects_with,
    code_objects_within,
};
use crate::verify::{Selection, verify_within};

/// The result of checking one file. Both lists are empty if the file contains no code object.
///
/// The structure is exhaustive on purpose, so that callers with their own checks can construct it.
#[derive(Clone, Debug, Default)]
pub struct CheckedFile {
    /// The code objects, in the order of the file.
    pub objects: Vec<VerifiedFile>,
    /// The unreadable parts: the file, or code objects in it.
    pub unreadable: Vec<UnreadableFile>,
}

impl CheckedFile {
    /// Creates the result for a file that could not be read at all.
    #[must_use]
    pub fn unreadable(path: &str, message: impl ToString) -> CheckedFile {
        CheckedFile {
            objects: Vec::new(),
            unreadable: vec![UnreadableFile::new(path.to_owned(), message.to_string())],
        }
    }

    /// Returns true if there was nothing to check.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.unreadable.is_empty()
    }
}

impl UnreadableFile {
    /// Creates the result for a file whose code is in a package that was not found.
    #[must_use]
    pub fn without_package(path: &str, reference: &PackageReference) -> UnreadableFile {
        let message = format!("not checked: {reference}, which was not found");
        UnreadableFile::elsewhere(path.to_owned(), message)
    }
}

/// Checks all code objects of a file with the rules of `selection`.
///
/// * `path`: the name of the file;
/// * `data`: the whole file: a code object, a bundle, an archive, or an object or program of the host.
///
/// ```
/// use hetdwarf::report::{VerifyDocument, check_file};
/// use hetdwarf::verify::Selection;
///
/// let path = "tests/bundle.hipfb";
/// let checked = check_file(path, &std::fs::read(path)?, &Selection::default());
/// let targets: Vec<_> = checked.objects.iter().map(|object| object.target.raw()).collect();
/// assert_eq!(targets, ["gfx90a", "gfx1100"]);
/// assert_eq!(VerifyDocument::new([checked]).summary.files, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn check_file(path: &str, data: &[u8], selection: &Selection) -> CheckedFile {
    check_file_with(path, data, selection, &Limits::DEFAULT, NonZeroUsize::MIN)
}

/// Does the work of [`check_file`] with custom limits and on several threads. The result does not depend on the number of threads.
#[must_use]
pub fn check_file_with(
    path: &str,
    data: &[u8],
    selection: &Selection,
    limits: &Limits,
    threads: NonZeroUsize,
) -> CheckedFile {
    let meter = Arc::new(Meter::new(limits, data.len() as u64));
    check_file_within(path, data, &[], selection, threads, &meter)
}

/// Does the work of [`check_packaged_file`] with a meter, whose limits apply.
#[must_use]
pub fn check_file_within(
    path: &str,
    data: &[u8],
    packages: &[Package<'_>],
    selection: &Selection,
    threads: NonZeroUsize,
    meter: &Arc<Meter>,
) -> CheckedFile {
    let objects = match code_objects_within(data, packages, meter) {
        Ok(objects) => objects,
        Err(error) => return CheckedFile::unreadable(path, error),
    };
    let mut checked = CheckedFile::default();
    // The checked code objects, by their bytes. Linkers and archivers repeat some.
    let mut names = Names::default();
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    for (number, object) in objects.iter().enumerate() {
        if let Some(error) = meter.refused() {
            let left = objects.len() - number;
            let message = format!("{error}; {left} of its code objects were not checked");
            checked
                .unreadable
                .push(UnreadableFile::new(path.to_owned(), message));
            break;
        }
        let path_in_file = names.next(path, object);
        if meter.hold(path_in_file.len() as u64 * 4).is_err() {
            continue;
        }
        // A comparison with the known code objects reads all bytes.
        let same = match meter.charge_bytes(object.data.len()) {
            Ok(()) => known.get(&*object.data),
            Err(_) => None,
        };
        if let Some(first) = same.and_then(|first| checked.objects.get_mut(*first)) {
            first.same.push(path_in_file.into());
            continue;
        }
        match check_object(&path_in_file, &object.data, selection, threads, meter) {
            Ok(mut found) => {
                found.container = (path_in_file != path).then(|| path.to_owned().into());
                known.insert(&object.data, checked.objects.len());
                if let Some(error) = meter.refused() {
                    let message = format!("{error}; the listed findings are incomplete");
                    let unreadable = UnreadableFile::new(found.path.clone(), message);
                    checked.unreadable.push(unreadable);
                }
                checked.objects.push(found);
            }
            Err(error) => {
                let unreadable = UnreadableFile::new(path_in_file, Error::to_string(&error));
                checked.unreadable.push(unreadable);
            }
        }
    }
    checked
}

/// Does the work of [`check_file_with`], including the code objects in packages that the file refers to.
///
/// * `packages`: the packages that were found.
#[must_use]
pub fn check_packaged_file(
    path: &str,
    data: &[u8],
    packages: &[Package<'_>],
    selection: &Selection,
    limits: &Limits,
    threads: NonZeroUsize,
) -> CheckedFile {
    let lengths = packages.iter().map(|package| package.data.len());
    let length = data.len() + lengths.sum::<usize>();
    let meter = Arc::new(Meter::new(limits, length as u64));
    check_file_within(path, data, packages, selection, threads, &meter)
}

/// Does the work of [`check_packaged_file`] for a file that the user named explicitly. Files of other machines are checked as far as possible, and a
/// file with nothing to check is reported as unreadable.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use hetdwarf::Limits;
/// use hetdwarf::report::check_named_file;
/// use hetdwarf::verify::Selection;
///
/// let (selection, limits) = (Selection::default(), Limits::DEFAULT);
/// let checked = check_named_file("notes.txt", b"text", &[], &selection, &limits, NonZeroUsize::MIN);
/// assert_eq!(checked.unreadable[0].path, "notes.txt");
/// ```
#[must_use]
pub fn check_named_file(
    path: &str,
    data: &[u8],
    packages: &[Package<'_>],
    selection: &Selection,
    limits: &Limits,
    threads: NonZeroUsize,
) -> CheckedFile {
    let mut checked = check_packaged_file(path, data, packages, selection, limits, threads);
    // Errors in the file are found by the search for code objects.
    let reference = PackageReference::of(data, limits).ok().flatten();
    if checked.is_empty()
        && reference.is_none()
        && let Some(host) = check_host_file(path, data, selection, limits, threads)
    {
        checked = host;
    }
    if packages.is_empty()
        && let Some(reference) = reference
    {
        checked
            .unreadable
            .push(UnreadableFile::without_package(path, &reference));
    }
    if checked.is_empty()
        && let Err(error) = code_objects_with(data, limits)
    {
        let meter = Arc::new(Meter::new(limits, data.len() as u64));
        let host = CodeObject::parse_any_machine(data, Layout::Distinct, &meter);
        let more = match host.is_ok() {
            true => "; it also has no debugging information",
            false => "",
        };
        return CheckedFile::unreadable(path, format!("{error}{more}"));
    }
    checked
}

/// Checks an ELF64 little-endian object or program of a machine other than AMDGPU, with the rules that are not about GPUs.
///
/// Returns None if the file is not of this kind or has no debugging information.
#[must_use]
pub fn check_host_file(
    path: &str,
    data: &[u8],
    selection: &Selection,
    limits: &Limits,
    threads: NonZeroUsize,
) -> Option<CheckedFile> {
    let meter = Arc::new(Meter::new(limits, data.len() as u64));
    let object = CodeObject::parse_any_machine(data, Layout::Distinct, &meter).ok()?;
    let has_debug_info = object.sections().iter().any(Section::is_debug);
    if object.target().machine().is_amdgpu() || !has_debug_info {
        return None;
    }
    drop(object);
    let checked = check_object(path, data, selection, threads, &meter);
    Some(match checked {
        Ok(found) => {
            let stopped = meter.refused().map(|error| {
                let message = format!("{error}; the listed findings are incomplete");
                UnreadableFile::new(path.to_owned(), message)
            });
            CheckedFile {
                objects: vec![found],
                unreadable: stopped.into_iter().collect(),
            }
        }
        Err(error) => CheckedFile::unreadable(path, error),
    })
}

fn check_object(
    path: &str,
    data: &[u8],
    selection: &Selection,
    threads: NonZeroUsize,
    meter: &Arc<Meter>,
) -> Result<VerifiedFile> {
    let object = CodeObject::parse_any_machine(data, Layout::Distinct, meter)?;
    let program = Program::load(&object)?.with_dialect(selection.dialect());
    let verdict = verify_within(&program, selection, threads, Arc::clone(meter));
    Ok(VerifiedFile::new(path, &program, &verdict))
}

/// Makes the names of the code objects of a file. The names contain no offsets, so that they are the same in every build. A name has the form
/// `FILE(MEMBER):ID`, and the second code object with the same name is `FILE(MEMBER):ID#2`.
#[derive(Default)]
struct Names {
    seen: BTreeMap<String, u64>,
}

impl Names {
    fn next(&mut self, file: &str, object: &EmbeddedCodeObject<'_>) -> String {
        let mut path = file.to_owned();
        if let Some(member) = &object.place.member {
            path.push_str(&format!("({member})"));
        }
        if !object.id.is_empty() {
            path.push(':');
            path.push_str(&object.id);
        }
        let number = self.seen.entry(path.clone()).or_insert(0);
        *number += 1;
        match *number {
            1 => path,
            again => format!("{path}#{again}"),
        }
    }
}
