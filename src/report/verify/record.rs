//! `hetdwarf-finding/1`, `hetdwarf-file/1` and `hetdwarf-folder/1`: the findings of `verify` as lines that can be combined.
//!
//! The records of a file contain everything that a report shows of it. Reports of any set of files can therefore be made from records later
//! ([`FileRecords::into_checked`]). The records depend only on the file and the request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::super::completeness::{is_false, is_true};
use super::super::json::to_json;
use super::super::number::hex_bytes;
use super::{CheckedFile, FindingDocument, UnreadableFile, VerifiedFile, count, is_zero};
use crate::error::{Error, Result};
use crate::inspect::MissingSplit;
use crate::untrusted::Untrusted;

/// `hetdwarf-finding/1`: one finding of a file.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct FindingRecord {
    /// `hetdwarf-finding/1`.
    pub format: &'static str,
    /// The name of the file.
    pub file: Untrusted<'static>,
    /// The SHA-256 of the file, 64 hexadecimal digits; null if it could not be read.
    pub sha256: Option<String>,
    /// The number of the finding in the file, from 0.
    pub number: u64,
    /// The code object: the file and, for a container, the member or entry.
    pub object: Untrusted<'static>,
    /// The target ID.
    pub target: Untrusted<'static>,
    /// The compilers that the units of the code object name, joined by commas.
    pub producer: Untrusted<'static>,
    /// The finding, which is not grouped with others.
    #[serde(flatten)]
    pub finding: FindingDocument,
}

/// `hetdwarf-file/1`: the facts about a whole file.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FileRecord {
    /// `hetdwarf-file/1`.
    #[serde(skip_deserializing, default = "file_format")]
    pub format: &'static str,
    /// The name of the file.
    pub file: Untrusted<'static>,
    /// The SHA-256 of the file, 64 hexadecimal digits; null if it could not be read.
    pub sha256: Option<String>,
    /// The version of hetdwarf that checked it.
    pub hetdwarf: Untrusted<'static>,
    /// The number of checked code objects.
    pub objects: u64,
    /// The number of findings. Each of them is a `hetdwarf-finding/1`.
    pub findings: u64,
    /// False if a part of the file was not checked, or if some findings are not listed.
    pub complete: bool,
    /// The number of additional findings that are in the baseline.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub known: u64,
    /// The checked code objects, in the order of a report.
    pub code_objects: Vec<CheckedObject>,
    /// The unreadable parts: the file, or code objects in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableFile>,
}

fn file_format() -> &'static str {
    "hetdwarf-file/1"
}

/// A code object that was checked, without its findings.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckedObject {
    /// The code object: the file and, for a container, the member or entry.
    pub object: Untrusted<'static>,
    /// The target ID.
    pub target: Untrusted<'static>,
    /// The compilers that its units name, sorted.
    pub producers: Vec<Untrusted<'static>>,
    /// The number of findings in the code object.
    pub findings: u64,
    /// The number of additional findings without a record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// False if a limit ended the check early; absent otherwise.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub complete: bool,
    /// The other code objects of the file with the same bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<Untrusted<'static>>,
    /// The units that were not checked, because their entries are in `.dwo` files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_split: Option<MissingSplit>,
}

fn yes() -> bool {
    true
}

/// `hetdwarf-folder/1`: a folder that was to be checked, or a path that the configuration excludes. A folder without code objects is known only after
/// all its files were read.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderRecord {
    /// `hetdwarf-folder/1`.
    #[serde(skip_deserializing, default = "folder_format")]
    pub format: &'static str,
    /// The name of the folder.
    pub folder: Untrusted<'static>,
    /// True if it contains a code object or an unreadable file.
    pub seen: bool,
    /// True if the configuration excludes a part of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// True if the configuration excludes all of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub left_out: bool,
}

fn folder_format() -> &'static str {
    "hetdwarf-folder/1"
}

impl FolderRecord {
    /// Creates the record of a folder that was to be checked.
    ///
    /// * `seen`: true if the folder contains a code object or an unreadable file;
    /// * `partial`: true if the configuration excludes a part of it.
    #[must_use]
    pub fn new(folder: impl Into<Untrusted<'static>>, seen: bool, partial: bool) -> FolderRecord {
        FolderRecord {
            format: folder_format(),
            folder: folder.into(),
            seen,
            partial,
            left_out: false,
        }
    }

    /// Creates the record of a path that the user named and the configuration excludes.
    #[must_use]
    pub fn left_out(path: impl Into<Untrusted<'static>>) -> FolderRecord {
        FolderRecord {
            left_out: true,
            ..FolderRecord::new(path, false, false)
        }
    }

    /// Adds the facts of another record of the same folder, which was made from other files in it.
    pub fn add(&mut self, other: &FolderRecord) {
        self.seen |= other.seen;
        self.partial |= other.partial;
    }
}

/// Returns the folders in which nothing was checked, so that a check of nothing does not pass silently.
///
/// * `is_any`: true if anything was checked or could not be read.
#[must_use]
pub fn unchecked(folders: &[FolderRecord], is_any: bool) -> Vec<UnreadableFile> {
    let mut found = Vec::new();
    for folder in folders.iter().filter(|folder| !folder.left_out) {
        let message = match (folder.seen, folder.partial) {
            (true, _) => continue,
            (false, false) => "no code object found",
            (false, true) if is_any => continue,
            (false, true) => "hetdwarf.toml excludes all code objects in it",
        };
        found.push(UnreadableFile::new(folder.folder.clone(), message));
    }
    if !is_any && found.is_empty() {
        let message = "hetdwarf.toml excludes it, and there is nothing else to check";
        let left_out = folders.iter().filter(|folder| folder.left_out);
        found.extend(left_out.map(|path| UnreadableFile::new(path.folder.clone(), message)));
    }
    found
}

/// Returns the SHA-256 of a file as in records: 64 hexadecimal digits in lower case.
#[must_use]
pub fn sha256(data: &[u8]) -> String {
    hex_bytes(&Sha256::digest(data))
}

/// The records of one file.
///
/// ```
/// use hetdwarf::report::{FileRecords, check_file};
/// use hetdwarf::verify::Selection;
///
/// let path = "tests/bundle.hipfb";
/// let data = std::fs::read(path)?;
/// let checked = check_file(path, &data, &Selection::default());
/// let records = FileRecords::new(path, Some(&data), checked);
/// assert_eq!((records.file.objects, records.file.findings), (2, records.findings.len() as u64));
/// let last = records.lines()?.pop().unwrap_or_default();
/// assert!(last.starts_with(r#"{"format":"hetdwarf-file/1","file":"tests/bundle.hipfb","sha256":""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct FileRecords {
    /// The findings, in the order of a report.
    pub findings: Vec<FindingRecord>,
    /// The record of the file.
    pub file: FileRecord,
}

impl FileRecords {
    /// Makes the records of a file.
    ///
    /// * `file`: the name of the file;
    /// * `data`: the whole file, or None if it could not be read.
    #[must_use]
    pub fn new(file: &str, data: Option<&[u8]>, checked: CheckedFile) -> FileRecords {
        let sha256 = data.map(sha256);
        FileRecords::with_sha256(file, sha256, checked)
    }

    /// Makes the records of a file whose SHA-256 is already known, as 64 hexadecimal digits in lower case.
    #[must_use]
    pub fn with_sha256(file: &str, sha256: Option<String>, checked: CheckedFile) -> FileRecords {
        let CheckedFile {
            mut objects,
            mut unreadable,
        } = checked;
        objects.sort_by(|a, b| a.order().cmp(&b.order()));
        unreadable.sort();
        let file = Untrusted::from(file.to_owned());
        let mut findings = Vec::new();
        let mut code_objects = Vec::with_capacity(objects.len());
        for object in objects {
            let producers: Vec<&str> = object.producers.iter().map(Untrusted::raw).collect();
            let producer = Untrusted::from(producers.join(", "));
            code_objects.push(CheckedObject {
                object: object.path.clone(),
                target: object.target.clone(),
                findings: count(object.findings.len()),
                left_out: object.left_out,
                complete: object.complete,
                same: object.same,
                missing_split: object.missing_split,
                producers: object.producers,
            });
            for finding in object.findings {
                findings.push(FindingRecord {
                    format: "hetdwarf-finding/1",
                    file: file.clone(),
                    sha256: sha256.clone(),
                    number: count(findings.len()),
                    object: object.path.clone(),
                    target: object.target.clone(),
                    producer: producer.clone(),
                    finding,
                });
            }
        }
        let is_whole = |object: &CheckedObject| object.complete && object.left_out == 0;
        let file = FileRecord {
            format: file_format(),
            file,
            sha256,
            hetdwarf: env!("CARGO_PKG_VERSION").into(),
            objects: count(code_objects.len()),
            findings: count(findings.len()),
            complete: unreadable.is_empty() && code_objects.iter().all(is_whole),
            known: 0,
            code_objects,
            unreadable,
        };
        FileRecords { findings, file }
    }

    /// Combines records that were read line by line. The findings may be in any order.
    #[must_use]
    pub fn of(file: FileRecord, findings: Vec<FindingRecord>) -> FileRecords {
        FileRecords { findings, file }
    }

    /// Returns the records as lines of JSON without line ends: the findings, and then the file.
    ///
    /// # Errors
    /// Never in practice, because texts and numbers can always be written as JSON.
    pub fn lines(&self) -> serde_json::Result<Vec<String>> {
        let findings = self.findings.iter().map(to_json);
        findings.chain([to_json(&self.file)]).collect()
    }

    /// Returns the result of the check from which the records were made.
    ///
    /// # Errors
    /// [`Malformed`](crate::error::ErrorKind::Malformed) if a finding is missing or belongs to another code object.
    pub fn into_checked(self) -> Result<CheckedFile> {
        let bad = |reason: String| Err(Error::malformed("records of a file", reason));
        let FileRecords { findings, file } = self;
        let there = findings.len();
        let numbered = findings.into_iter().map(|record| (record.number, record));
        let mut numbered: BTreeMap<u64, FindingRecord> = numbered.collect();
        let mut checked = CheckedFile {
            objects: Vec::with_capacity(file.code_objects.len()),
            unreadable: file.unreadable,
        };
        let mut next: u64 = 0;
        for object in file.code_objects {
            let mut findings = Vec::new();
            for _ in 0..object.findings {
                let Some(record) = numbered.remove(&next) else {
                    return bad(format!("finding {next} of {} is missing", file.findings));
                };
                if record.object != object.object {
                    return bad(format!("finding {next} is of {}", record.object));
                }
                findings.push(record.finding);
                next += 1;
            }
            checked.objects.push(VerifiedFile {
                container: (object.object != file.file).then(|| file.file.clone()),
                producers: object.producers,
                left_out: object.left_out,
                complete: object.complete,
                same: object.same,
                missing_split: object.missing_split,
                ..VerifiedFile::with_findings(object.object, object.target, findings)
            });
        }
        if next != file.findings || !numbered.is_empty() {
            return bad(format!(
                "there are {there} findings, the file has {}, and its code objects {next}",
                file.findings
            ));
        }
        Ok(checked)
    }
}
