//! Finds the code objects of a core: in the core, in files that a user gives, and in folders that a user names. No other file is opened,
//! regardless of the paths in the core.

use std::borrow::Cow;
use std::path::Path;

use hetdwarf::arch::LoadAddress;
use hetdwarf::gpu_core::{Fit, GpuCore, Image, ObjectSource, Process};
use hetdwarf::object::{
    CodeObject, code_objects_if_any, code_objects_within, may_hold_code_objects,
};
use hetdwarf::report::{FoundObject, ProblemDocument};
use hetdwarf::untrusted::Untrusted;

use super::super::arguments::{CoreObjects, object_and_load};
use super::super::contents::{Contents, Input};
use super::super::failure::Failure;
use super::super::folders::files_below;
use super::super::packages::ObjectFile;

/// The code objects that were found.
pub(super) struct Found<'data> {
    /// The files of the code objects, first in the order of the runtime's list and then of the arguments.
    pub(super) images: Vec<Image<'data>>,
    /// The origin of each code object.
    pub(super) objects: Vec<FoundObject>,
    /// The problems with code objects that the user gave.
    pub(super) problems: Vec<ProblemDocument>,
}

/// Finds the code objects.
pub(super) fn find<'data>(
    core: &GpuCore<'data>,
    wanted: &CoreObjects,
) -> Result<Found<'data>, Failure> {
    let mut found = Found {
        images: core.images(),
        objects: core.code_objects().iter().map(FoundObject::from).collect(),
        problems: Vec::new(),
    };
    for given in &wanted.given {
        found.add_given(core, given)?;
    }
    let mut skipped = Vec::new();
    for folder in &wanted.folders {
        if !folder.is_dir() {
            return Err(Failure::in_file(folder, "--object-path: not a directory"));
        }
        skipped.extend(found.search(core, folder));
    }
    // The unsearched part may contain a code object that is still missing.
    if !skipped.is_empty() && !found.wanted(core).is_empty() {
        found.problems.extend(skipped);
    }
    Ok(found)
}

/// Returns a problem for each code object that was not found, with advice on how to supply it.
pub(super) fn lost(process: &Process<'_>, found: &Found<'_>) -> Vec<ProblemDocument> {
    let objects = process.objects().iter().zip(&found.images);
    (0..)
        .zip(objects.zip(&found.objects))
        .filter(|(_, ((loaded, (_, image)), _))| loaded.object.is_none() && image.is_none())
        .map(|(index, (_, object))| {
            let why = match ObjectSource::parse(object.uri.raw()) {
                Some(ObjectSource::Memory { .. }) => "its copy is not in the core",
                Some(ObjectSource::File { .. }) => {
                    "files are opened only in directories given with --object-path"
                }
                Some(_) | None => "the path of its file is unknown",
            };
            let message = format!(
                "it was not found ({why}): functions, lines and variables of its waves are unknown; \
                 use --object-path DIR or --object FILE"
            );
            problem(index, message)
        })
        .collect()
}

fn problem(index: usize, message: String) -> ProblemDocument {
    ProblemDocument::of(format!("code object {index}"), message)
}

impl Found<'_> {
    /// Adds a code object that the user gives.
    fn add_given(&mut self, core: &GpuCore<'_>, given: &Path) -> Result<(), Failure> {
        let (path, load_address) = object_and_load(given);
        let file = ObjectFile::open(path, Input::Object, core.limits())?;
        let meter = file.meter(core.limits());
        let inside = code_objects_within(&file, &file.packages(), &meter)
            .map_err(|error| Failure::in_file(path, error))?;
        let mut is_used = false;
        let mut reason = match &file.reference {
            Some(reference) if inside.is_empty() => reference.to_string(),
            _ => String::from("it has no code object"),
        };
        let mut is_worse = false;
        for embedded in inside {
            let object = match CodeObject::parse_with(&embedded.data, core.limits()) {
                Ok(object) => object,
                Err(error) => {
                    reason = error.to_string();
                    continue;
                }
            };
            let has_debug = has_debugging_information(&object);
            if let Some(address) = load_address.map(LoadAddress) {
                match core.fit(&object, address) {
                    Fit::Matches { .. } | Fit::Unknown => {
                        let index = self.at(address);
                        let is_put = self.put_better(core, index, path, &embedded.data, has_debug);
                        is_used |= is_put;
                        is_worse |= !is_put;
                    }
                    other @ (Fit::OtherTarget | Fit::Differs { .. }) => reason = misfit(other),
                }
                continue;
            }
            for index in 0..self.images.len() {
                let Some((address, _)) = self.images.get(index) else {
                    continue;
                };
                match core.fit(&object, *address) {
                    Fit::Matches { .. } => {
                        let is_put = self.put_better(core, index, path, &embedded.data, has_debug);
                        is_used |= is_put;
                        is_worse |= !is_put;
                    }
                    other @ (Fit::Unknown | Fit::OtherTarget | Fit::Differs { .. }) => {
                        reason = misfit(other);
                    }
                }
            }
        }
        if is_worse {
            reason = String::from(
                "it is stripped, and the core has this code object with debugging information",
            );
        }
        if !is_used {
            let place = format!("--object {}", Untrusted::from(given));
            let message = format!("not used: {reason}");
            self.problems.push(ProblemDocument::of(place, message));
        }
        Ok(())
    }

    /// Returns the index of the code object at an address. Adds one if there is none.
    fn at(&mut self, load_address: LoadAddress) -> usize {
        let known = self
            .images
            .iter()
            .position(|(address, _)| *address == load_address);
        known.unwrap_or_else(|| {
            self.images.push((load_address, None));
            self.objects.push(FoundObject::default());
            self.images.len() - 1
        })
    }

    fn put(&mut self, index: usize, path: &Path, bytes: &[u8]) {
        if let Some((_, image)) = self.images.get_mut(index) {
            *image = Some(Cow::Owned(bytes.to_vec()));
        }
        if let Some(object) = self.objects.get_mut(index) {
            object.file = Some(Untrusted::from(path).into_owned());
        }
    }

    /// Uses a file for a code object, unless the file is stripped and the core's own code object is not. Returns true if the file is used.
    fn put_better(
        &mut self,
        core: &GpuCore<'_>,
        index: usize,
        path: &Path,
        bytes: &[u8],
        has_debug: bool,
    ) -> bool {
        let is_better = has_debug || self.is_wanted(core, index);
        if is_better {
            self.put(index, path, bytes);
        }
        is_better
    }

    /// Returns the code objects that are lost or stripped.
    fn wanted(&self, core: &GpuCore<'_>) -> Vec<usize> {
        let all = 0..self.images.len();
        all.filter(|&index| self.is_wanted(core, index)).collect()
    }

    /// Searches a folder for lost or stripped code objects. Returns a problem if part of the folder could not be searched.
    fn search(&mut self, core: &GpuCore<'_>, folder: &Path) -> Option<ProblemDocument> {
        let mut wanted = self.wanted(core);
        if wanted.is_empty() {
            return None;
        }
        let mut below = files_below(folder);
        for path in core::mem::take(&mut below.files) {
            if wanted.is_empty() {
                break;
            }
            let contents = match Contents::open(&path, Input::Object) {
                Ok(contents) => contents,
                Err(error) => {
                    below.skip(&path, error);
                    continue;
                }
            };
            if !may_hold_code_objects(&contents) {
                continue;
            }
            let by_name = |index: &usize| self.is_named(*index, &path);
            let named: Vec<usize> = wanted.iter().copied().filter(by_name).collect();
            let inside = code_objects_if_any(&contents, core.limits());
            for embedded in inside.unwrap_or_default() {
                let Ok(object) = CodeObject::parse_with(&embedded.data, core.limits()) else {
                    continue;
                };
                let has_debug = has_debugging_information(&object);
                wanted.retain(|&index| {
                    let image = self.images.get(index);
                    let address = image.map_or_else(LoadAddress::default, |(address, _)| *address);
                    let is_better = has_debug || self.is_lost(index);
                    let fits = is_better
                        && match core.fit(&object, address) {
                            Fit::Matches { .. } => true,
                            Fit::Unknown => named.contains(&index),
                            Fit::OtherTarget | Fit::Differs { .. } => false,
                        };
                    if fits {
                        self.put(index, &path, &embedded.data);
                    }
                    !fits
                });
            }
        }
        below.first.map(|first| {
            let message = match below.skipped {
                1 => first,
                count => format!("{first}; and {} more", count - 1),
            };
            ProblemDocument::of(
                format!("--object-path {}", Untrusted::from(folder)),
                message,
            )
        })
    }

    fn is_lost(&self, index: usize) -> bool {
        self.images
            .get(index)
            .is_none_or(|(_, image)| image.is_none())
    }

    /// Returns true if a code object is lost or has no debugging information.
    fn is_wanted(&self, core: &GpuCore<'_>, index: usize) -> bool {
        let image = self
            .images
            .get(index)
            .and_then(|(_, image)| image.as_deref());
        image.is_none_or(|image| {
            CodeObject::parse_with(image, core.limits())
                .is_ok_and(|object| !has_debugging_information(&object))
        })
    }

    /// Returns true if this path has the file name in the runtime's URI of a code object.
    fn is_named(&self, index: usize, path: &Path) -> bool {
        let object = self.objects.get(index);
        let source = object.and_then(|object| ObjectSource::parse(object.uri.raw()));
        let Some(ObjectSource::File { path: stated, .. }) = source else {
            return false;
        };
        let stated = String::from_utf8_lossy(&stated).into_owned();
        Path::new(&stated).file_name() == path.file_name()
    }
}

fn has_debugging_information(object: &CodeObject<'_>) -> bool {
    object
        .sections()
        .iter()
        .any(|section| section.standard_name() == ".debug_info")
}

fn misfit(fit: Fit) -> String {
    match fit {
        Fit::Matches { .. } => "it fits".to_owned(),
        Fit::Unknown => {
            "the core has no loaded code to compare with; give its address with @LOAD".to_owned()
        }
        Fit::OtherTarget => "no GPU of the core has its processor".to_owned(),
        Fit::Differs { address } => {
            format!("the loaded code differs, first at its address {address:#x}")
        }
    }
}
