//! Finds source files: their paths, and their text if it is in the line table.
//!
//! Reading the table is left to `line`. Sources: DWARF 5 §6.2.4 and §6.2.4.1 (`DW_LNCT_MD5`); HET A.6.2.4.1 (`DW_LNCT_LLVM_source`).

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use gimli::SectionId;

use super::id::UnitId;
use super::index_table::{index_error, index_of};
use super::line::LineTable;
use super::{Bytes, DebugInfo, lossy};
use crate::error::{Error, Origin, Result};

/// The maximum number of bytes of a path. A longer one is truncated: tables can combine one long directory with any number of files.
const PATH: usize = 1024;

/// A file of the source.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceFile {
    /// The number in the line table of the unit.
    pub index: u64,
    /// The path: the directory joined to the name, as `llvm-dwarfdump` prints `DW_AT_decl_file` (`./calls.cl`).
    pub path: Arc<str>,
}

impl SourceFile {
    /// Returns the plain name, without directories.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns a file of the line table of a unit, by its number, or `None` if the table does not have it.
    ///
    /// # Errors
    /// If the header of the table is malformed.
    pub fn source_file(&self, unit: UnitId, index: u64) -> Result<Option<SourceFile>> {
        let path = self.source_path(unit, index)?;
        Ok(path.map(|path| SourceFile { index, path }))
    }

    /// Returns the name of a file in the line table of a unit, without its directory. It is an absolute path if the table has one.
    ///
    /// # Errors
    /// If the header of the table is malformed.
    pub fn source_file_name(&self, unit: UnitId, index: u64) -> Result<Option<Cow<'a, str>>> {
        let Some(table) = self.lines_of(unit)? else {
            return Ok(None);
        };
        let Some(entry) = table.file_entry(index) else {
            return Ok(None);
        };
        let name = self.line_string(unit, table, entry.path_name())?;
        Ok(Some(lossy(name)))
    }

    /// Returns the path of a name relative to the directory of a unit.
    ///
    /// # Errors
    /// If the unit cannot be read.
    #[cfg(feature = "serde")]
    pub(crate) fn path_of_unit(&self, unit: UnitId, name: &str) -> Result<Arc<str>> {
        Ok(path_in(&self.comp_dir(unit)?, name).into())
    }

    /// Returns the path of such a file.
    pub(super) fn source_path(&self, unit: UnitId, index: u64) -> Result<Option<Arc<str>>> {
        let Some(table) = self.lines_of(unit)? else {
            return Ok(None);
        };
        // Units that share a table may have different directories.
        let paths = self.cache(unit)?.paths.get_or_init(|| {
            // Numbers start at 1 before DWARF 5.
            let numbers = 0..=table.file_count();
            numbers.map(|_| OnceLock::new()).collect()
        });
        let number = usize::try_from(index).unwrap_or(usize::MAX);
        // Files added by the line program are rare, so their paths are not kept.
        let Some(known) = paths.get(number) else {
            return self.path(unit, table, index);
        };
        if let Some(path) = known.get() {
            return Ok(path.clone());
        }
        let path = self.path(unit, table, index)?;
        Ok(known.get_or_init(|| path).clone())
    }

    /// Returns the text of a source file, if the line table has it (`DW_LNCT_LLVM_source`). The text of a file known to be empty is a single line
    /// end.
    ///
    /// # Errors
    /// If the header of the table is malformed, or the text is not at its offset.
    pub fn embedded_source(&self, unit: UnitId, index: u64) -> Result<Option<Cow<'a, str>>> {
        let Some(table) = self.line_table(unit)? else {
            return Ok(None);
        };
        let file = table.header().and_then(|header| header.file(index));
        let Some(source) = file.and_then(gimli::FileEntry::source) else {
            return Ok(None);
        };
        let text = self.line_string(unit, &table, source)?;
        Ok((!text.is_empty()).then(|| String::from_utf8_lossy(text)))
    }

    /// Returns the MD5 of a source file as it was compiled, if the line table has it.
    ///
    /// # Errors
    /// If the header of the table is malformed.
    pub fn source_md5(&self, unit: UnitId, index: u64) -> Result<Option<[u8; 16]>> {
        let Some(table) = self.lines_of(unit)? else {
            return Ok(None);
        };
        let with_md5 = table.header().filter(|header| header.file_has_md5());
        let file = with_md5.and_then(|header| header.file(index));
        // LLVM writes zeros if the MD5 is unknown.
        Ok(file.map(|file| *file.md5()).filter(|md5| *md5 != [0; 16]))
    }

    /// Returns the path of a file. It is relative to the compilation directory if the table has no absolute path.
    fn path(&self, unit: UnitId, table: &LineTable<'a>, index: u64) -> Result<Option<Arc<str>>> {
        let Some(header) = table.header() else {
            return Ok(None);
        };
        let before_5 = header.version() < 5;
        if before_5 && index == 0 {
            return Ok(None);
        }
        let Some(entry) = table.file_entry(index) else {
            return Ok(None);
        };
        let name = lossy(self.line_string(unit, table, entry.path_name())?);
        if is_absolute(&name) {
            return Ok(Some(cut(&name).into()));
        }
        let number = entry.directory_index();
        let directory = match entry.directory(header) {
            // Before DWARF 5, directory 0 is the unit's directory, which comes first below.
            Some(value) if !(before_5 && number == 0) => {
                lossy(self.line_string(unit, table, value)?)
            }
            _ => Cow::Borrowed(""),
        };
        let mut path = String::new();
        // From DWARF 5 on, directory 0 is the directory of the unit itself.
        if !is_absolute(&directory) && (before_5 || number != 0) {
            let comp_dir = self.comp_dir(unit)?;
            join(&mut path, &comp_dir);
        }
        join(&mut path, &directory);
        join(&mut path, &name);
        Ok(Some(cut(&path).into()))
    }

    fn comp_dir(&self, unit: UnitId) -> Result<Cow<'a, str>> {
        let own = self.unit_info(unit)?;
        if own.comp_dir.is_some() {
            return Ok(own.comp_dir.unwrap_or_default());
        }
        let Some(partner) = own.partner else {
            return Ok(Cow::Borrowed(""));
        };
        Ok(self.unit_info(partner)?.comp_dir.unwrap_or_default())
    }

    fn line_string(
        &self,
        unit: UnitId,
        table: &LineTable<'a>,
        value: gimli::AttributeValue<Bytes<'a>>,
    ) -> Result<&'a [u8]> {
        let file = self
            .files
            .get(table.file)
            .ok_or_else(|| Error::malformed("line table", "its file is not loaded"))?;
        let offset = table.offset;
        let error = |error| file.error("line table", SectionId::DebugLine, offset, error);
        let holder = self.line_offset(unit)?.map_or(unit, |(unit, _)| unit);
        if let Some((kind, index)) = index_of(&value) {
            let place = Origin {
                section: file.section_name(SectionId::DebugLine),
                offset: offset as u64,
            };
            self.check_index(holder, kind, index)?
                .map_err(|fault| index_error(fault, &place))?;
        }
        let unit = &self.contents(holder)?.gimli;
        file.dwarf
            .attr_string(unit, value)
            .map(|text| text.slice())
            .map_err(error)
    }
}

/// Returns the path of a file in a directory.
#[cfg(feature = "serde")]
pub(crate) fn path_in(directory: &str, name: &str) -> String {
    let mut path = String::new();
    if !is_absolute(name) {
        join(&mut path, directory);
    }
    join(&mut path, name);
    cut(&path).to_owned()
}

/// Returns true if a path starts at a root, of Unix or, with a drive letter or a server, of Windows.
fn is_absolute(path: &str) -> bool {
    match path.as_bytes() {
        [b'/', ..] | [b'\\', b'\\', ..] => true,
        [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// Appends a part to a path, according to the rules of file systems.
fn join(path: &mut String, part: &str) {
    let part = part.get(..PATH.min(part.len())).unwrap_or(part);
    if !path.is_empty() && !path.ends_with('/') && !part.is_empty() {
        path.push('/');
    }
    path.push_str(part);
}

/// Returns a path, truncated to the maximum length.
fn cut(path: &str) -> &str {
    let end = (0..=PATH.min(path.len()))
        .rev()
        .find(|end| path.is_char_boundary(*end));
    path.get(..end.unwrap_or(0)).unwrap_or(path)
}
