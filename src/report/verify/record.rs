//! `hetdwarf-finding/1`, `hetdwarf-file/1` and `hetdwarf-folder/1`: what `verify` finds, as lines that add up.
//!
//! The records of a file hold everything that a report says of it, so that reports of any set of files can be made of records
//! later ([`FileRecords::into_checked`]). They depend on the file and on what was asked, and on nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::super::completeness::{is_false, is_true};
use super::super::json::to_json;
use super::super::number::hex_bytes;
use super::{CheckedFile, FindingDocument, UnreadableFile, VerifiedFile, count, is_zero};
use crate::error::{Error, Result};
use crate::untrusted::Untrusted;

/// `hetdwarf-finding/1`: one finding of a file.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct FindingRecord {
    /// `hetdwarf-finding/1`.
    pub format: &'static str,
    /// What the file is called.
    pub file: Untrusted<'static>,
    /// The SHA-256 of the file, 64 hexadecimal digits; null if it could not be read.
    pub sha256: Option<String>,
    /// Which finding of the file it is, from 0.
    pub number: u64,
    /// The code object: the file and, of a container, the member or entry.
    pub object: Untrusted<'static>,
    /// The target ID.
    pub target: Untrusted<'static>,
    /// The compilers that the units of the code object name, joined by commas.
    pub producer: Untrusted<'static>,
    /// The finding, not grouped with others.
    #[serde(flatten)]
    pub finding: FindingDocument,
}

/// `hetdwarf-file/1`: what there is to say of a file as a whole.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FileRecord {
    /// `hetdwarf-file/1`.
    #[serde(skip_deserializing, default = "file_format")]
    pub format: &'static str,
    /// What the file is called.
    pub file: Untrusted<'static>,
    /// The SHA-256 of the file, 64 hexadecimal digits; null if it could not be read.
    pub sha256: Option<String>,
    /// The version of hetdwarf that checked it.
    pub hetdwarf: Untrusted<'static>,
    /// How many code objects were checked.
    pub objects: u64,
    /// How many findings there are, each a `hetdwarf-finding/1`.
    pub findings: u64,
    /// False if something in the file was not checked, or not all of its findings are there.
    pub complete: bool,
    /// How many more findings a baseline knew.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub known: u64,
    /// The code objects that were checked, in the order of a report.
    pub code_objects: Vec<CheckedObject>,
    /// What could not be read: the file, or code objects in it.
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
    /// The code object: the file and, of a container, the member or entry.
    pub object: Untrusted<'static>,
    /// The target ID.
    pub target: Untrusted<'static>,
    /// The compilers that its units name, sorted.
    pub producers: Vec<Untrusted<'static>>,
    /// How many findings there are in it.
    pub findings: u64,
    /// How many more findings there are that no record has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// False if a limit ended the check before everything was looked at; else it is absent.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub complete: bool,
    /// The other code objects of the file that are the same, byte for byte.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<Untrusted<'static>>,
}

fn yes() -> bool {
    true
}

/// `hetdwarf-folder/1`: a folder that was to be checked, or a path that the configuration leaves out. That there is nothing to
/// check in a folder is known only when all its files were looked at.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderRecord {
    /// `hetdwarf-folder/1`.
    #[serde(skip_deserializing, default = "folder_format")]
    pub format: &'static str,
    /// What it is called.
    pub folder: Untrusted<'static>,
    /// True if a code object was found in it, or something that could not be read.
    pub seen: bool,
    /// True if the configuration leaves out something in it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// True if the configuration leaves out all of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub left_out: bool,
}

fn folder_format() -> &'static str {
    "hetdwarf-folder/1"
}

impl FolderRecord {
    /// A folder that was to be checked.
    ///
    /// * `seen`: whether there is a code object in it, or something that cannot be read;
    /// * `partial`: whether the configuration leaves out something in it.
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

    /// A path that was named, and that the configuration leaves out.
    #[must_use]
    pub fn left_out(path: impl Into<Untrusted<'static>>) -> FolderRecord {
        FolderRecord {
            left_out: true,
            ..FolderRecord::new(path, false, false)
        }
    }

    /// Adds what another record of the folder says, which was made of other files in it.
    pub fn add(&mut self, other: &FolderRecord) {
        self.seen |= other.seen;
        self.partial |= other.partial;
    }
}

/// Returns the folders in which nothing was checked: a check that quietly looks at nothing is worse than none.
///
/// * `is_any`: whether anything was checked, or could not be read.
#[must_use]
pub fn unchecked(folders: &[FolderRecord], is_any: bool) -> Vec<UnreadableFile> {
    let mut found = Vec::new();
    for folder in folders.iter().filter(|folder| !folder.left_out) {
        let message = match (folder.seen, folder.partial) {
            (true, _) => continue,
            (false, false) => "there is no code object in it",
            (false, true) if is_any => continue,
            (false, true) => "there is no code object in what hetdwarf.toml leaves of it",
        };
        found.push(UnreadableFile::new(folder.folder.clone(), message));
    }
    if !is_any && found.is_empty() {
        let message = "hetdwarf.toml leaves it out, and there is nothing else to check";
        let left_out = folders.iter().filter(|folder| folder.left_out);
        found.extend(left_out.map(|path| UnreadableFile::new(path.folder.clone(), message)));
    }
    found
}

/// The SHA-256 of a file, as records have it: 64 hexadecimal digits in lower case.
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
    /// Its findings, in the order of a report.
    pub findings: Vec<FindingRecord>,
    /// The file.
    pub file: FileRecord,
}

impl FileRecords {
    /// Makes the records of a file.
    ///
    /// * `file`: what to call it;
    /// * `data`: all of it; nothing if it could not be read.
    #[must_use]
    pub fn new(file: &str, data: Option<&[u8]>, checked: CheckedFile) -> FileRecords {
        let sha256 = data.map(sha256);
        FileRecords::with_sha256(file, sha256, checked)
    }

    /// [`new`](FileRecords::new) of a file whose SHA-256 is known, 64 hexadecimal digits in lower case.
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

    /// Puts together what was read line by line; the findings may be in any order.
    #[must_use]
    pub fn of(file: FileRecord, findings: Vec<FindingRecord>) -> FileRecords {
        FileRecords { findings, file }
    }

    /// The records as lines of JSON, without their ends: the findings, and at last the file.
    ///
    /// # Errors
    /// None that can happen: texts and numbers always are JSON.
    pub fn lines(&self) -> serde_json::Result<Vec<String>> {
        let findings = self.findings.iter().map(to_json);
        findings.chain([to_json(&self.file)]).collect()
    }

    /// Returns what the records were made of.
    ///
    /// # Errors
    /// [`Malformed`](crate::error::ErrorKind::Malformed) if a finding is missing, or is of another code object.
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
                next = next.saturating_add(1);
            }
            checked.objects.push(VerifiedFile {
                container: (object.object != file.file).then(|| file.file.clone()),
                producers: object.producers,
                left_out: object.left_out,
                complete: object.complete,
                same: object.same,
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
