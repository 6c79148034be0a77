//! Holds the texts of the source files that a document shows, and warnings about them.
//!
//! A file that was edited after it was compiled is shown with a warning, and so is a file with too few lines. The caller finds and reads the files.
//! Source: DWARF 5 §6.2.4.1 (`DW_LNCT_MD5`).

use std::collections::{BTreeMap, BTreeSet};

use super::text::FileNames;
use crate::debug_info::{DebugInfo, SourceFile, UnitId};
use crate::meter::Meter;
use crate::untrusted::Untrusted;

/// A function that reads a source file, given its path and the compilation directory.
pub type ReadSource<'r> = &'r dyn Fn(&str, Option<&str>) -> Option<Vec<u8>>;

/// The source files whose lines a document shows.
#[derive(Debug, Default)]
pub struct SourceTexts {
    files: Vec<SourceText>,
    by_path: BTreeMap<String, usize>,
}

/// A source file.
#[derive(Debug)]
pub struct SourceText {
    path: Untrusted<'static>,
    /// The text, if it is known.
    text: Option<String>,
    /// The number of its lines.
    line_count: u64,
    /// The MD5 of the text.
    md5: Option<[u8; 16]>,
    /// Set if the MD5 in a line table differs.
    is_other: bool,
    /// The last line that is shown.
    last: u64,
}

/// The text of a file and its MD5. For a text that the line table contains, this is the MD5 in the line table, which is not verified.
type Found = (String, Option<[u8; 16]>);

impl SourceTexts {
    /// Returns the index of a file, and records that the line is shown.
    ///
    /// * `unit`: the unit whose line table names the file.
    /// * `read`: called once for each path, if the line table does not contain the text.
    /// * `meter`: the meter to which texts are charged. A text that it refuses is treated as missing.
    pub fn want(
        &mut self,
        info: &DebugInfo<'_>,
        unit: UnitId,
        file: &SourceFile,
        line: u64,
        read: ReadSource<'_>,
        meter: &Meter,
    ) -> usize {
        let compiled = info.source_md5(unit, file.index).ok().flatten();
        let find = || {
            // An error counts as missing text, because a document without source lines is still useful.
            if let Ok(Some(text)) = info.embedded_source(unit, file.index) {
                return Some((text.into_owned(), compiled));
            }
            let folder = info.unit_info(unit).ok().and_then(|unit| unit.comp_dir);
            read(&file.path, folder.as_deref()).map(|bytes| from_file(&bytes))
        };
        let paid = || {
            // The caller that reads the files also keeps a copy of each.
            const COPIES: u64 = 2;
            let found = meter.refused().is_none().then(find)??;
            let bytes = found.0.len() as u64 * COPIES;
            meter.hold(bytes).is_ok().then_some(found)
        };
        self.want_compiled(&file.path, line, compiled, paid)
    }

    /// Does the work of [`want`](SourceTexts::want) for a file that is given by its path.
    ///
    /// * `compiled`: the MD5 of the file at compilation, if it is known.
    pub fn want_compiled(
        &mut self,
        path: &str,
        line: u64,
        compiled: Option<[u8; 16]>,
        find: impl FnOnce() -> Option<Found>,
    ) -> usize {
        let index = match self.by_path.get(path) {
            Some(index) => *index,
            None => {
                self.files.push(SourceText::new(path, find()));
                let index = self.files.len() - 1;
                self.by_path.insert(path.to_owned(), index);
                index
            }
        };
        if let Some(text) = self.files.get_mut(index) {
            text.last = text.last.max(line);
            // Units can be compiled from different versions of a file.
            text.is_other |= text.differs(compiled);
        }
        index
    }

    /// Returns the files in the order of their indexes.
    pub fn files(&self) -> &[SourceText] {
        &self.files
    }

    /// Returns the shortest file names that are unique.
    pub fn names(&self) -> FileNames<'_> {
        FileNames::of(self.files.iter().map(|file| file.path.raw()))
    }

    /// Returns the names of the files whose text is not known.
    pub fn missing(&self) -> BTreeSet<Untrusted<'static>> {
        let names = self.names();
        let missing = self.files.iter().filter(|file| file.text.is_none());
        missing
            .map(|file| names.short(&file.path).into_owned())
            .collect()
    }

    /// Returns the warnings about the files, once for each file.
    pub fn warnings(&self) -> Vec<String> {
        let names = self.names();
        let files = self.files.iter();
        files
            .flat_map(|file| file.warnings(&names.short(&file.path)))
            .collect()
    }
}

impl SourceText {
    fn new(path: &str, found: Option<Found>) -> SourceText {
        let (text, md5) = found.map_or((None, None), |(text, md5)| (Some(text), md5));
        SourceText {
            path: path.to_owned().into(),
            line_count: text
                .as_deref()
                .map_or(0, |text| text.lines().count() as u64),
            text,
            md5,
            is_other: false,
            last: 0,
        }
    }

    /// Returns the path in the line table.
    pub fn path(&self) -> &Untrusted<'static> {
        &self.path
    }

    /// Returns the lines with their numbers, if the text is known.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &str)> {
        (1..).zip(self.text.as_deref().unwrap_or_default().lines())
    }

    /// Returns a line by its number, from 1.
    pub fn line(&self, number: u64) -> Option<&str> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.text.as_deref()?.lines().nth(index)
    }

    /// Returns true if the text is known and differs from the compiled one.
    ///
    /// * `compiled`: the MD5 of the file at compilation, if it is known.
    pub fn differs(&self, compiled: Option<[u8; 16]>) -> bool {
        let both = self.md5.zip(compiled);
        both.is_some_and(|(shown, compiled)| shown != compiled)
    }

    /// Returns the warnings about the file.
    pub fn warnings(&self, name: &Untrusted<'_>) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.is_other {
            warnings.push(format!(
                "{name} is not the file that was compiled (its MD5 differs): lines may not match"
            ));
        }
        if self.text.is_some() && self.last > self.line_count {
            let count = crate::plural::counted(self.line_count, "line");
            warnings.push(format!("{name} has {count}, not {}", self.last));
        }
        warnings
    }
}

/// Returns the text and the MD5 of a file.
pub fn from_file(bytes: &[u8]) -> Found {
    let text = String::from_utf8_lossy(bytes).into_owned();
    (text, Some(md5::compute(bytes).0))
}
