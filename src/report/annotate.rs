//! `hetdwarf-annotate/1`: what was added to a code object.

use std::collections::BTreeMap;

use serde::Serialize;

use super::completeness::Completeness;
use super::number::Hex;
use crate::annotate::{Annotated, AnnotatedFunction};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AnnotateDocument {
    /// `hetdwarf-annotate/1`.
    pub format: &'static str,
    /// Whether anything was added.
    pub changed: bool,
    /// The size of the file before, in bytes.
    pub size_before: u64,
    /// And after.
    pub size_after: u64,
    /// Whether the answer is complete; its fields are the document's. Where the analysis of a function gave up no limit is named, and
    /// the bytes are among what is `missing` of the function.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The functions.
    pub functions: Vec<AnnotateFunction>,
    /// What was left alone besides, and why.
    pub notes: Vec<Untrusted<'static>>,
}

/// A function.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AnnotateFunction {
    /// Its name.
    pub name: Option<Untrusted<'static>>,
    /// The address of its code.
    pub address: Hex,
    /// The size of its code, in bytes.
    pub size: u64,
    /// How much of that has a lane program location now, in bytes.
    pub covered: u64,
    /// Why not more: bytes by reason.
    pub missing: BTreeMap<&'static str, u64>,
    /// How many bytes of location lists were added for it.
    pub added: usize,
    /// Why nothing was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_alone: Option<Untrusted<'static>>,
}

impl AnnotateDocument {
    /// Describes what was added to a file.
    #[must_use]
    pub fn new(before: &[u8], found: &Annotated) -> AnnotateDocument {
        AnnotateDocument {
            format: "hetdwarf-annotate/1",
            changed: before != found.file,
            size_before: before.len() as u64,
            size_after: found.file.len() as u64,
            completeness: Completeness {
                complete: found.is_complete(),
                limit: found.limit.as_ref().map(|error| error.to_string().into()),
            },
            functions: found.functions.iter().map(AnnotateFunction::new).collect(),
            notes: found.notes.iter().cloned().map(Untrusted::from).collect(),
        }
    }
}

impl AnnotateFunction {
    fn new(function: &AnnotatedFunction) -> AnnotateFunction {
        AnnotateFunction {
            name: function.name.clone().map(Untrusted::from),
            address: Hex::from(function.address),
            size: function.size,
            covered: function.covered,
            missing: function.missing.clone(),
            added: function.added,
            left_alone: function.left_alone.clone().map(Untrusted::from),
        }
    }
}
