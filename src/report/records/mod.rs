//! Reads records, which are the lines of JSON that commands write about single files, and makes reports from any number of them.
//!
//! [`Record::parse`] reads a line, which is untrusted. [`FileRecords`](super::FileRecords) and
//! [`CoreReport::lines`](super::CoreReport::lines) make the records of files and of waves. [`Crashes`] makes the report about the waves
//! of many cores.

mod crashes;
mod page;
mod tree;
mod wave;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use crashes::{CrashDocument, CrashExample, Crashes, CrashesDocument};
pub use page::CrashesPage;
pub use tree::TreeNode;
pub use wave::{FrameRecord, WaveFacts, WaveRecord};

use super::core::ProblemDocument;
use super::verify::{CheckedFile, FileRecord, FindingRecord, FolderRecord};
use crate::error::{Error, Result};
use crate::untrusted::Untrusted;

/// A record.
///
/// It is exhaustive on purpose, so that every report must handle each kind.
#[derive(Clone, Debug)]
pub enum Record {
    /// `hetdwarf-finding/1`.
    Finding(Box<FindingRecord>),
    /// `hetdwarf-file/1`.
    File(Box<FileRecord>),
    /// `hetdwarf-folder/1`.
    Folder(FolderRecord),
    /// `hetdwarf-core-wave/1`.
    Wave(Box<WaveRecord>),
    /// `hetdwarf-error/1`.
    Error(Box<ErrorRecord>),
}

/// `hetdwarf-error/1`: a file that is unreadable, even in part.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// `hetdwarf-error/1`.
    #[serde(skip_deserializing, default = "error_format")]
    pub format: &'static str,
    /// The name of the file.
    pub file: Untrusted<'static>,
    /// The reason why the file is unreadable; null if only a part of it is.
    pub error: Option<Untrusted<'static>>,
    /// The unreadable parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemDocument>,
}

fn error_format() -> &'static str {
    "hetdwarf-error/1"
}

impl ErrorRecord {
    /// Creates the record of an unreadable file.
    #[must_use]
    pub fn new(
        file: impl Into<Untrusted<'static>>,
        error: impl Into<Untrusted<'static>>,
    ) -> ErrorRecord {
        ErrorRecord {
            format: error_format(),
            file: file.into(),
            error: Some(error.into()),
            problems: Vec::new(),
        }
    }

    /// Creates the record of a core with an unreadable part. Returns None if there are no problems.
    #[must_use]
    pub fn of_problems(
        file: impl Into<Untrusted<'static>>,
        problems: &[ProblemDocument],
    ) -> Option<ErrorRecord> {
        (!problems.is_empty()).then(|| ErrorRecord {
            format: error_format(),
            file: file.into(),
            error: None,
            problems: problems.to_vec(),
        })
    }

    /// Returns the file as an unreadable file in a report of `verify`.
    #[must_use]
    pub fn to_checked(&self) -> CheckedFile {
        let nothing = Untrusted::from("a part of it could not be read");
        let error = self.error.as_ref().unwrap_or(&nothing);
        CheckedFile::unreadable(self.file.raw(), error.raw())
    }
}

/// The key that identifies the record of a line. Lines with the same key are equal, or were made from other contents or with other options.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    /// The name of the file.
    pub file: Untrusted<'static>,
    /// The SHA-256 of the file, if the record has one.
    pub sha256: Option<String>,
    /// The number of a finding or a wave; `u64::MAX` for the record of the file.
    pub number: u64,
}

impl Record {
    /// Parses a line.
    ///
    /// # Errors
    /// [`Malformed`](crate::error::ErrorKind::Malformed) if the line is not a record that this version supports.
    pub fn parse(line: &[u8]) -> Result<Record> {
        let bad = |reason: String| Error::malformed("record", reason);
        let wrong = |error: serde_json::Error| bad(error.to_string());
        let format = format_of(line).map_err(wrong)?;
        let record = match &*format {
            "hetdwarf-finding/1" => Record::Finding(serde_json::from_slice(line).map_err(wrong)?),
            "hetdwarf-file/1" => Record::File(serde_json::from_slice(line).map_err(wrong)?),
            "hetdwarf-folder/1" => Record::Folder(serde_json::from_slice(line).map_err(wrong)?),
            "hetdwarf-core-wave/1" => Record::Wave(serde_json::from_slice(line).map_err(wrong)?),
            "hetdwarf-error/1" => Record::Error(serde_json::from_slice(line).map_err(wrong)?),
            _ => {
                let format = Untrusted::from(format);
                return Err(bad(format!("unknown format `{format}`")));
            }
        };
        let key = record.key();
        match key.sha256.filter(|digits| !is_sha256(digits)) {
            Some(digits) => {
                let digits = Untrusted::from(digits);
                Err(bad(format!("its sha256 `{digits}` is not 64 digits")))
            }
            None => Ok(record),
        }
    }

    /// Returns the key of the record.
    #[must_use]
    pub fn key(&self) -> RecordKey {
        let (file, sha256, number) = match self {
            Record::Finding(record) => (&record.file, record.sha256.clone(), record.number),
            Record::File(record) => (&record.file, record.sha256.clone(), u64::MAX),
            Record::Folder(record) => (&record.folder, None, u64::MAX),
            Record::Wave(record) => (&record.file, None, record.wave.index),
            Record::Error(record) => (&record.file, None, u64::MAX),
        };
        RecordKey {
            file: file.clone(),
            sha256,
            number,
        }
    }
}

/// Returns the format that a line names.
fn format_of(line: &[u8]) -> serde_json::Result<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Format {
        format: String,
    }
    // Lines that hetdwarf wrote begin with the format, so that they are parsed only once.
    let rest = line.strip_prefix(br#"{"format":""#);
    let name = rest.and_then(|rest| rest.split(|byte| *byte == b'"').next());
    let name = name.and_then(|name| core::str::from_utf8(name).ok());
    match name.filter(|name| !name.contains('\\')) {
        Some(name) => Ok(name.into()),
        None => Ok(serde_json::from_slice::<Format>(line)?.format.into()),
    }
}

fn is_sha256(digits: &str) -> bool {
    digits.len() == 64
        && digits
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}
