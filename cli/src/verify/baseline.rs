//! The baseline file: reads and writes it, names code objects relative to its folder, and reports the differences when it changes.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use super::super::contents::{Contents, Input};
use super::super::failure::Failure;
use super::super::input::check_not_elf;
use super::super::outputs::Output;
use super::config::normal;
use super::judged::Judged;
use hetdwarf::report::{Baseline, BaselineEntry, KnownFindings, VerifiedFile, VerifyDocument};
use hetdwarf::untrusted::Untrusted;
use hetdwarf::verify::{Rule, Selection, Severity};

/// The number of entries that are listed; the rest are only counted.
const MOST: usize = 20;

/// The place of a baseline. The baseline names code objects by paths relative to its folder.
pub(super) struct Place<'p> {
    path: &'p Path,
    /// The folder of the baseline, absolute.
    folder: PathBuf,
    /// The folder in which the command runs, absolute.
    here: &'p Path,
}

impl<'p> Place<'p> {
    pub(super) fn new(path: &'p Path, here: &'p Path) -> Place<'p> {
        let absolute = normal(&here.join(path));
        Place {
            path,
            folder: absolute.parent().unwrap_or(Path::new("/")).to_owned(),
            here,
        }
    }

    /// Returns the name in the baseline for a path relative to the current folder.
    fn name(&self, path: &Untrusted<'_>) -> Untrusted<'static> {
        let absolute = normal(&self.here.join(path.raw()));
        from_folder(&absolute, &self.folder)
            .to_string_lossy()
            .into_owned()
            .into()
    }

    /// Returns the absolute path for a name in the baseline.
    fn absolute(&self, name: &Untrusted<'_>) -> PathBuf {
        normal(&self.folder.join(name.raw()))
    }

    pub(super) fn read(&self) -> Result<Baseline, Failure> {
        let bytes = Contents::open(self.path, Input::Baseline).map_err(|error| {
            Failure::in_file(
                self.path,
                format!("{error}; --baseline takes a file that --write-baseline wrote"),
            )
        })?;
        check_not_elf(self.path, &bytes, "a baseline")?;
        Baseline::from_json(&bytes).map_err(|error| {
            let message = format!("this is not a baseline, which --write-baseline writes: {error}");
            Failure::in_file(self.path, message)
        })
    }
}

/// The use of a baseline while files are checked.
pub(super) enum Use<'a> {
    /// No baseline is used.
    None,
    /// Findings that the baseline lists are removed.
    Known(&'a Place<'a>, KnownFindings<'a>),
    /// A new baseline is made from the findings.
    Written(Place<'a>, Output, Written),
}

/// A new baseline, while findings are added to it.
#[derive(Default)]
pub(super) struct Written {
    baseline: Baseline,
    findings: u64,
}

impl Use<'_> {
    /// Removes known findings from a code object. If a baseline is being written, every finding becomes known.
    pub(super) fn take(&mut self, file: &mut VerifiedFile) {
        match self {
            Use::None => {}
            Use::Known(place, known) => known.take(file, &place.name(&file.path)),
            Use::Written(place, _, written) => {
                written.baseline.add(file, &place.name(&file.path));
                let findings = core::mem::take(&mut file.findings).len() as u64;
                written.findings += findings;
            }
        }
    }

    /// Records the number of known findings in the document, and reports differences from the existing baseline.
    ///
    /// A finding that is listed but no longer occurs is reported, because a stale entry would hide the finding if it came back.
    ///
    /// * `asked`: the paths to check; None if other machines check a part of them, so that no finding can be called stale.
    pub(super) fn finish(
        self,
        asked: Option<&[PathBuf]>,
        selection: &Selection,
        document: &mut VerifyDocument,
        err: &mut dyn Write,
    ) -> Result<(), Failure> {
        match self {
            Use::None => Ok(()),
            Use::Known(place, known) => {
                let Some(asked) = asked else {
                    known.finish(document, |path| place.name(path), |_| false);
                    document.stale.clear();
                    return Ok(());
                };
                let judged = Judged::new(asked, place.here, document);
                let is_checked = |name: &Untrusted<'_>| judged.holds(&place.absolute(name));
                known.finish(document, |path| place.name(path), is_checked);
                document.stale.retain(|entry| is_asked(entry, selection));
                list(err, "no longer found", document.stale.iter().cloned())?;
                if !document.stale.is_empty() {
                    writeln!(err, "use --write-baseline to remove them")?;
                }
                Ok(())
            }
            Use::Written(place, output, written) => {
                document.summary.known = written.findings;
                place.write(&written, &output, err)
            }
        }
    }
}

impl Place<'_> {
    /// Writes a baseline, and reports how it differs from the previous one.
    fn write(
        &self,
        written: &Written,
        output: &Output,
        err: &mut dyn Write,
    ) -> Result<(), Failure> {
        let Written { baseline, findings } = written;
        let old = self.path.symlink_metadata().is_ok().then(|| self.read());
        output.write(baseline.to_json()?.as_bytes())?;
        let path = Untrusted::from(self.path);
        match old {
            None => {}
            Some(Ok(old)) => {
                list(err, "new in it", baseline.beyond(&old).entries())?;
                list(err, "no longer in it", old.beyond(baseline).entries())?;
            }
            Some(Err(_)) => writeln!(
                err,
                "{path}: the existing file was not a baseline of this version"
            )?,
        }
        writeln!(err, "{path}: {findings} findings recorded")?;
        Ok(())
    }
}

/// Returns true if the selection would report this entry. A rule that was not selected says nothing about whether its entries are stale.
fn is_asked(entry: &BaselineEntry, selection: &Selection) -> bool {
    // A rule that no longer exists cannot be broken, so its entries are stale.
    let Some(rule) = Rule::by_id(entry.key.rule.raw()) else {
        return true;
    };
    let takes_notes = selection.profile().severity(Severity::Note).is_some();
    selection.severity(rule).is_some() && (takes_notes || !entry.is_note)
}

/// Returns a path relative to a folder. Both arguments are absolute and contain no `..`.
fn from_folder(path: &Path, folder: &Path) -> PathBuf {
    let mut names = path.components().peekable();
    let mut above = folder.components().peekable();
    while names.peek().is_some() && names.peek() == above.peek() {
        names.next();
        above.next();
    }
    above.map(|_| Component::ParentDir).chain(names).collect()
}

/// Prints a line for each of the first entries.
fn list(
    err: &mut dyn Write,
    what: &str,
    entries: impl Iterator<Item = BaselineEntry>,
) -> Result<(), Failure> {
    let mut more: usize = 0;
    for (number, entry) in entries.enumerate() {
        if number >= MOST {
            more += 1;
            continue;
        }
        let BaselineEntry { key, files, .. } = entry;
        write!(err, "{what}: {}", key.rule)?;
        if let Some(function) = &key.function {
            write!(err, " in {function}")?;
        }
        write!(err, " ({}", key.producer)?;
        if !key.kind.is_empty() {
            write!(err, ", {}", key.kind)?;
        }
        write!(err, ")")?;
        if let Some(file) = files.first() {
            write!(err, ": {file}")?;
        }
        match files.len() {
            0 | 1 => {}
            others => write!(err, " and {} more", others - 1)?,
        }
        writeln!(err)?;
    }
    if more > 0 {
        writeln!(err, "{what}: {more} more")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_count_from_the_folder_of_the_baseline() {
        for (baseline, path, expected) in [
            ("known.json", "build/k.hsaco", "build/k.hsaco"),
            ("ci/known.json", "build/k.hsaco", "../build/k.hsaco"),
            ("build/known.json", "build/lib.a(x.o)", "lib.a(x.o)"),
            ("/x/known.json", "k.hsaco", "../repo/k.hsaco"),
            ("known.json", "/repo/./a/../k.hsaco", "k.hsaco"),
        ] {
            let place = Place::new(Path::new(baseline), Path::new("/repo"));
            let name = place.name(&path.into());
            assert_eq!(name, expected);
            assert_eq!(
                place.absolute(&name),
                normal(&Path::new("/repo").join(path))
            );
        }
    }
}
