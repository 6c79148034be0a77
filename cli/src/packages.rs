//! Opens an input file together with the packages that hold its device code.
//!
//! A library of ROCm can name packages by paths relative to its folder; see [`PackageReference`]. These paths are resolved here. A file is
//! read only if it begins with the magic bytes of a package.

use core::ops::Deref;
use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::contents::{Contents, Input, STANDARD_INPUT, input_name};
use super::failure::Failure;
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;
use hetdwarf::object::{Package, PackageReference};

/// The first bytes of a package.
const MAGIC: &[u8] = b"KPAK";
/// The most packages that are opened for a library, which has one for each target.
const MOST_PACKAGES: usize = 256;
/// The most entries of a folder that are compared with a path.
const MOST_ENTRIES: usize = 1 << 16;

/// A file and the packages with its code.
pub(crate) struct ObjectFile {
    contents: Contents,
    /// The reference to packages, if the file has one.
    pub(crate) reference: Option<PackageReference>,
    packages: Vec<OpenedPackage>,
}

/// A package that holds code of the file.
struct OpenedPackage {
    path: PathBuf,
    name: String,
    contents: Contents,
}

impl ObjectFile {
    /// Opens the file that an argument names, and the packages that hold its code. Standard input (`-`) is in no folder, so its packages
    /// are not found.
    pub(crate) fn open(path: &Path, input: Input, limits: &Limits) -> Result<ObjectFile, Failure> {
        let contents = Contents::of_argument(path, input)
            .map_err(|error| Failure::in_file(input_name(path), error))?;
        if path == Path::new(STANDARD_INPUT) {
            return Ok(contents.into());
        }
        let opened = ObjectFile::with_packages(path, contents, input, limits);
        opened.map_err(|(package, error)| Failure::in_file(&package, error))
    }

    /// Opens the packages of an open file.
    ///
    /// # Errors
    /// If a package cannot be read; the error names its path.
    pub(crate) fn with_packages(
        path: &Path,
        contents: Contents,
        input: Input,
        limits: &Limits,
    ) -> Result<ObjectFile, (PathBuf, String)> {
        let mut file = ObjectFile::from(contents);
        // A damaged file is reported by the caller that looks for code objects.
        let Ok(Some(reference)) = PackageReference::of(&file.contents, limits) else {
            return Ok(file);
        };
        for package in find(path, &reference.search_paths) {
            if !Contents::start(&package).is_ok_and(|start| start.starts_with(MAGIC)) {
                continue;
            }
            let wrong = |error: &dyn core::fmt::Display| (package.clone(), error.to_string());
            let contents = Contents::open(&package, input).map_err(|error| wrong(&error))?;
            let is_in = reference.is_in(&contents, limits);
            if is_in.map_err(|error| wrong(&error))? {
                file.packages.push(OpenedPackage {
                    name: package.to_string_lossy().into_owned(),
                    path: package,
                    contents,
                });
            }
        }
        file.reference = Some(reference);
        Ok(file)
    }

    /// Returns the packages that hold the file's code.
    pub(crate) fn packages(&self) -> Vec<Package<'_>> {
        let packages = self.packages.iter();
        let packages = packages.map(|package| Package {
            name: &package.name,
            data: &package.contents,
        });
        packages.collect()
    }

    /// Returns the paths of the packages.
    pub(crate) fn package_paths(&self) -> impl Iterator<Item = &Path> {
        self.packages.iter().map(|package| package.path.as_path())
    }

    /// Returns a meter for work on the file and its packages.
    pub(crate) fn meter(&self, limits: &Limits) -> Arc<Meter> {
        let lengths = self.packages.iter().map(|package| package.contents.len());
        let length = self.contents.len() + lengths.sum::<usize>();
        Arc::new(Meter::new(limits, length as u64))
    }

    /// Returns the package reference if no package with the code was found.
    pub(crate) fn missing(&self) -> Option<&PackageReference> {
        self.reference.as_ref().filter(|_| self.packages.is_empty())
    }

    /// Fails if the file or a package was truncated; see [`Contents::check_length`].
    pub(crate) fn check_length(&self) -> io::Result<()> {
        self.all().try_for_each(Contents::check_length)
    }

    /// Releases the memory of a part of a mapped file; see [`Contents::release_part`].
    pub(crate) fn release_part(&self, part: &[u8]) {
        self.all().for_each(|contents| contents.release_part(part));
    }

    /// Returns the file and its packages.
    fn all(&self) -> impl Iterator<Item = &Contents> {
        let packages = self.packages.iter().map(|package| &package.contents);
        core::iter::once(&self.contents).chain(packages)
    }

    /// Fails if the file or a package was truncated, and names it. Call this after using mapped files.
    pub(crate) fn check_lengths(&self, path: &Path) -> Result<(), Failure> {
        let packages = self.packages.iter();
        let packages = packages.map(|package| (package.path.as_path(), &package.contents));
        packages
            .chain([(path, &self.contents)])
            .try_for_each(|(path, contents)| {
                let length = contents.check_length();
                length.map_err(|error| Failure::in_file(path, error))
            })
    }
}

impl From<Contents> for ObjectFile {
    /// Returns a file without packages.
    fn from(contents: Contents) -> ObjectFile {
        ObjectFile {
            contents,
            reference: None,
            packages: Vec::new(),
        }
    }
}

impl Deref for ObjectFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.contents
    }
}

/// Returns the files that match the search paths of a library. Each is listed once, in the order of the paths and then of the targets.
fn find(library: &Path, search_paths: &[String]) -> Vec<PathBuf> {
    let folder = library.parent().unwrap_or(Path::new(""));
    let mut found = files(folder, search_paths);
    // The library may be a link, with the packages next to the real file.
    if found.is_empty()
        && let Ok(real) = library.canonicalize()
        && let Some(real) = real.parent()
    {
        found = files(real, search_paths);
    }
    found
}

fn files(folder: &Path, search_paths: &[String]) -> Vec<PathBuf> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for path in search_paths {
        let path = folder.join(path);
        for file in expand(&path) {
            let is_new = file
                .canonicalize()
                .is_ok_and(|real| real.is_file() && known.insert(real));
            if is_new && found.len() < MOST_PACKAGES {
                found.push(file);
            }
        }
    }
    found
}

/// Replaces the target placeholder in a path by each target that exists. Returns the path itself if it has no placeholder.
fn expand(path: &Path) -> BTreeSet<PathBuf> {
    let word = PackageReference::TARGET;
    let text = path.to_string_lossy();
    if !text.contains(word) {
        return [path.to_owned()].into();
    }
    // The first path component with the placeholder; the entries of its folder give the targets.
    let mut before = PathBuf::new();
    let mut pattern = String::new();
    for component in path.components() {
        let name = component.as_os_str().to_string_lossy();
        if matches!(component, Component::Normal(_)) && name.contains(word) {
            pattern = name.into_owned();
            break;
        }
        before.push(component);
    }
    if before.as_os_str().is_empty() {
        before.push(".");
    }
    let Ok(entries) = before.read_dir() else {
        return BTreeSet::new();
    };
    let names = entries.take(MOST_ENTRIES).flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let targets: BTreeSet<String> = names.filter_map(|name| target(&pattern, &name)).collect();
    let path = |target: String| PathBuf::from(text.replace(word, &target));
    targets.into_iter().map(path).collect()
}

/// Returns the target with which `pattern` yields `name`.
fn target(pattern: &str, name: &str) -> Option<String> {
    let word = PackageReference::TARGET;
    let count = pattern.matches(word).count();
    let others = pattern.len().checked_sub(count.checked_mul(word.len())?)?;
    let length = name.len().checked_sub(others)?.checked_div(count)?;
    let start = pattern.find(word)?;
    let target = name.get(start..start.checked_add(length)?)?;
    let is_target = target.starts_with("gfx")
        && target
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '+' | '-' | '_'));
    (is_target && pattern.replace(word, target) == name).then(|| target.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_what_makes_the_name() {
        for (pattern, name, expected) in [
            ("app_@GFXARCH@.kpack", "app_gfx1100.kpack", Some("gfx1100")),
            (
                "app_@GFXARCH@.kpack",
                "app_gfx90a:xnack-.kpack",
                Some("gfx90a:xnack-"),
            ),
            (
                "app_@GFXARCH@.kpack",
                "app_gfx9-4-generic.kpack",
                Some("gfx9-4-generic"),
            ),
            ("@GFXARCH@", "gfx942", Some("gfx942")),
            ("@GFXARCH@.@GFXARCH@", "gfx942.gfx942", Some("gfx942")),
            ("@GFXARCH@.@GFXARCH@", "gfx942.gfx90a", None),
            ("app_@GFXARCH@.kpack", "app_.kpack", None),
            ("app_@GFXARCH@.kpack", "app.kpack", None),
            ("app_@GFXARCH@.kpack", "app_other.kpack", None),
            ("app_@GFXARCH@.kpack", "app_gfx1100.kpack2", None),
            ("app_@GFXARCH@.kpack", "äpp_gfx1100.kpack", None),
        ] {
            assert_eq!(
                target(pattern, name).as_deref(),
                expected,
                "{pattern} {name}"
            );
        }
    }
}
