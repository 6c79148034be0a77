//! `hetdwarf-annotate/1`: the additions to a code object.

use std::collections::BTreeMap;

use serde::Serialize;

use super::completeness::Completeness;
use super::number::Hex;
use crate::annotate::{Annotated, AnnotatedFunction, AnnotatedVariable};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AnnotateDocument {
    /// `hetdwarf-annotate/1`.
    pub format: &'static str,
    /// True if anything was added.
    pub changed: bool,
    /// The size of the file before, in bytes.
    pub size_before: u64,
    /// The size of the file after, in bytes.
    pub size_after: u64,
    /// The completeness of the document, whose fields are flattened into it. If the analysis of a function stopped early, no limit is named; the
    /// function's `missing` counts the bytes.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The functions.
    pub functions: Vec<AnnotateFunction>,
    /// The variables whose location lists got more entries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<AnnotateVariable>,
    /// Other parts that were left unchanged, and why.
    pub notes: Vec<Untrusted<'static>>,
}

/// A function.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AnnotateFunction {
    /// The name.
    pub name: Option<Untrusted<'static>>,
    /// The address of its code.
    pub address: Hex,
    /// The size of its code, in bytes.
    pub size: u64,
    /// The bytes that now have a lane program location.
    pub covered: u64,
    /// The number of bytes without a lane program location, by reason.
    pub missing: BTreeMap<&'static str, u64>,
    /// The bytes of location lists that were added for it.
    pub added: usize,
    /// The reason why nothing was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_alone: Option<Untrusted<'static>>,
}

/// A variable whose location list got more entries.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AnnotateVariable {
    /// The name.
    pub name: Option<Untrusted<'static>>,
    /// The function that it is in, which may be an inlined one.
    pub function: Option<Untrusted<'static>>,
    /// The code that the location list covers now and did not cover before, as the start and end of each range.
    pub ranges: Vec<[Hex; 2]>,
    /// The size of that code in bytes.
    pub bytes: u64,
}

impl AnnotateVariable {
    fn new(variable: &AnnotatedVariable) -> AnnotateVariable {
        let ranges = || variable.ranges.iter();
        let size = |range: &core::ops::Range<u64>| range.end.saturating_sub(range.start);
        AnnotateVariable {
            name: variable.name.clone().map(Untrusted::from),
            function: variable.function.clone().map(Untrusted::from),
            ranges: ranges()
                .map(|range| [Hex::from(range.start), Hex::from(range.end)])
                .collect(),
            bytes: ranges().map(size).fold(0, u64::saturating_add),
        }
    }
}

impl AnnotateDocument {
    /// Describes the additions to a file.
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
            locations: found.locations.iter().map(AnnotateVariable::new).collect(),
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
