//! The file of a baseline: where it is, what it calls code objects, and what is said when it changes.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use super::super::contents::{Contents, Input};
use super::super::failure::Failure;
use super::super::outputs::Output;
use super::config::normal;
use super::judged::Judged;
use hetdwarf::report::{Baseline, BaselineEntry, KnownFindings, VerifiedFile, VerifyDocument};
use hetdwarf::untrusted::Untrusted;
use hetdwarf::verify::{Rule, Selection, Severity};

/// How many entries are listed; nobody reads more.
const MOST: usize = 20;

/// Where a baseline is. Code objects are called in it as they are seen from its folder.
pub(super) struct Place<'p> {
    path: &'p Path,
    /// Its folder, absolute.
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

    /// What the baseline calls what has this path here.
    fn name(&self, path: &Untrusted<'_>) -> Untrusted<'static> {
        let absolute = normal(&self.here.join(path.raw()));
        from_folder(&absolute, &self.folder)
            .to_string_lossy()
            .into_owned()
            .into()
    }

    /// The absolute path of what the baseline calls so.
    fn absolute(&self, name: &Untrusted<'_>) -> PathBuf {
        normal(&self.folder.join(name.raw()))
    }

    pub(super) fn read(&self) -> Result<Baseline, Failure> {
        let bytes = Contents::open(self.path, Input::Baseline).map_err(|error| {
            Failure::in_file(
                self.path,
                format!("{error}; use --write-baseline to write a baseline"),
            )
        })?;
        Baseline::from_json(&bytes).map_err(|error| Failure::in_file(self.path, error))
    }
}

/// What is done with a baseline while files are checked.
pub(super) enum Use<'a> {
    /// There is none.
    None,
    /// What it knows is taken away.
    Known(&'a Place<'a>, KnownFindings<'a>),
    /// It is made of what is found.
    Written(Place<'a>, Output, Written),
}

/// A baseline while it is made.
#[derive(Default)]
pub(super) struct Written {
    baseline: Baseline,
    findings: u64,
}

impl Use<'_> {
    /// Takes out of a code object what is known, which is everything if it is written down.
    pub(super) fn take(&mut self, file: &mut VerifiedFile) {
        match self {
            Use::None => {}
            Use::Known(place, known) => known.take(file, &place.name(&file.path)),
            Use::Written(place, _, written) => {
                written.baseline.add(file, &place.name(&file.path));
                let findings = core::mem::take(&mut file.findings).len() as u64;
                written.findings = written.findings.saturating_add(findings);
            }
        }
    }

    /// Says in the document how much was taken, and what differs from the baseline that is there: what it lists and nobody finds
    /// any more would be let come back.
    ///
    /// * `asked`: what was to be checked; None if other machines check a part of it, so that nothing is known to be gone.
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
    /// Writes a baseline, and says what differs from the one that was there.
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

/// Whether it would be told if it were found: of what nobody asked for, it is not known that it is gone.
fn is_asked(entry: &BaselineEntry, selection: &Selection) -> bool {
    // A rule that there is no more is not broken either.
    let Some(rule) = Rule::by_id(entry.key.rule.raw()) else {
        return true;
    };
    let takes_notes = selection.profile().severity(Severity::Note).is_some();
    selection.severity(rule).is_some() && (takes_notes || !entry.is_note)
}

/// A path as it is seen from a folder; both are absolute and without `..`.
fn from_folder(path: &Path, folder: &Path) -> PathBuf {
    let mut names = path.components().peekable();
    let mut above = folder.components().peekable();
    while names.peek().is_some() && names.peek() == above.peek() {
        names.next();
        above.next();
    }
    above.map(|_| Component::ParentDir).chain(names).collect()
}

/// A line for each of the first entries.
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
            others => write!(err, " and {} more", others.saturating_sub(1))?,
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
