//! `hetdwarf-coverage/1`: the number of bytes of code in which each variable has a location.

use std::collections::BTreeMap;

use serde::Serialize;

use super::completeness::Completeness;
use super::number::Hex;
use crate::coverage::{
    CallPath, Coverage, Covered, FunctionCoverage, VariableCoverage, VariableGroup,
};
use crate::inspect::MissingSplit;
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoverageDocument {
    /// `hetdwarf-coverage/1`.
    pub format: &'static str,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The sum over all files.
    pub total: CoveredDocument,
    /// The sums by kind: `parameter`, `local` and `inlined`.
    pub by_kind: BTreeMap<&'static str, CoveredDocument>,
    /// The files.
    pub files: Vec<CoverageFile>,
}

/// A code object.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoverageFile {
    /// The file.
    pub file: Untrusted<'static>,
    /// The target of the code object.
    pub target: String,
    /// The completeness of the file's answer, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The size of the waves whose lanes were followed; `null` if the kernels disagree.
    pub wave_size: Option<u32>,
    /// The sum over all functions.
    pub total: CoveredDocument,
    /// The sums by kind: `parameter`, `local` and `inlined`.
    pub by_kind: BTreeMap<&'static str, CoveredDocument>,
    /// The functions that lose the most, in descending order of the bytes with neither a location nor a recovered value.
    pub loses_most: Vec<LossDocument>,
    /// The functions.
    pub functions: Vec<CoverageFunction>,
    /// The parts that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Untrusted<'static>>,
    /// The units that were not counted, because their entries are in `.dwo` files that were not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_split: Option<MissingSplit>,
}

/// The coverage of variables, in bytes of code.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CoveredDocument {
    /// The number of variables.
    pub variables: u64,
    /// The number of variables that an inlined copy of their function omits.
    pub omitted: u64,
    /// The bytes of code in the scopes of the variables.
    pub bytes_in_scope: u64,
    /// The bytes in the scopes of omitted variables. They are included in `bytes_in_scope`.
    pub omitted_bytes: u64,
    /// The bytes with a location.
    pub dwarf: u64,
    /// The bytes without a location that have an entry value or last-known value.
    pub recovered: u64,
    /// The bytes with neither.
    pub neither: u64,
}

/// A function with the amount of code in which its variables have no value.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct LossDocument {
    /// The linkage name, or the name if there is none.
    pub function: Option<Untrusted<'static>>,
    /// The first address.
    pub address: Hex,
    /// The bytes in the scopes of its variables that have neither a location nor a recovered value.
    pub neither: u64,
}

/// A function.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoverageFunction {
    /// The name in the source.
    pub name: Option<Untrusted<'static>>,
    /// The linkage name, if it differs from the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linkage_name: Option<Untrusted<'static>>,
    /// The first address.
    pub address: Hex,
    /// The size of the code, in bytes.
    pub size: u64,
    /// False if the search for values did not finish for all variables.
    #[serde(skip_serializing_if = "super::completeness::is_true")]
    pub complete: bool,
    /// The sum over all variables.
    pub total: CoveredDocument,
    /// The sums by kind.
    pub by_kind: BTreeMap<&'static str, CoveredDocument>,
    /// The variables.
    pub variables: Vec<CoverageVariable>,
}

/// A variable.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoverageVariable {
    /// The name.
    pub name: Option<Untrusted<'static>>,
    /// The line of its declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// `parameter`, `local` or `inlined`.
    pub kind: &'static str,
    /// True if it is a parameter of the function or of an inlined function.
    pub parameter: bool,
    /// The inlined calls that contain it, the outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallPathDocument>,
    /// True if the inlined copy omits it.
    #[serde(skip_serializing_if = "super::completeness::is_false")]
    pub omitted: bool,
    /// The bytes of code in its scope.
    pub bytes_in_scope: u64,
    /// The bytes with a location.
    pub dwarf: u64,
    /// The bytes without a location that have an entry value or last-known value.
    pub recovered: u64,
    /// The bytes with neither.
    pub neither: u64,
}

/// An inlined call.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CallPathDocument {
    /// The name of the function that was inlined.
    pub name: Option<Untrusted<'static>>,
    /// The line of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl CoverageDocument {
    /// Creates the document of several files, with their sums.
    #[must_use]
    pub fn new(files: Vec<CoverageFile>) -> CoverageDocument {
        let incomplete = files.iter().find(|file| !file.completeness.complete);
        let sum = |of: &dyn Fn(&CoverageFile) -> Option<CoveredDocument>| {
            let mut sum = CoveredDocument::from(&Covered::default());
            files.iter().filter_map(of).for_each(|one| sum.add(&one));
            sum
        };
        let by_kind = VariableGroup::ALL.map(|group| {
            let of_group = |file: &CoverageFile| file.by_kind.get(group.name()).copied();
            (group.name(), sum(&of_group))
        });
        CoverageDocument {
            format: "hetdwarf-coverage/1",
            completeness: incomplete
                .map_or_else(Completeness::default, |file| file.completeness.clone()),
            total: sum(&|file| Some(file.total)),
            by_kind: by_kind.into(),
            files,
        }
    }
}

impl CoverageFile {
    /// The maximum number of functions in `loses_most`.
    const MOST_LOST: usize = 10;

    /// Describes the coverage of a code object.
    #[must_use]
    pub fn new(file: &str, target: String, found: &Coverage) -> CoverageFile {
        let mut losses: Vec<LossDocument> = found.functions.iter().map(LossDocument::new).collect();
        losses.retain(|loss| loss.neither > 0);
        losses.sort_by_key(|loss| core::cmp::Reverse(loss.neither));
        losses.truncate(CoverageFile::MOST_LOST);
        CoverageFile {
            file: file.to_owned().into(),
            target,
            completeness: Completeness {
                complete: found.is_complete(),
                limit: found.limit.as_ref().map(|error| error.to_string().into()),
            },
            wave_size: found.wave_size.map(crate::arch::WaveSize::lanes),
            total: CoveredDocument::from(&found.total()),
            by_kind: by_kind(|group| found.of_group(group)),
            loses_most: losses,
            functions: found.functions.iter().map(CoverageFunction::new).collect(),
            problems: found
                .problems
                .iter()
                .map(|error| error.to_string().into())
                .collect(),
            missing_split: found.missing_split.clone(),
        }
    }
}

fn by_kind(of: impl Fn(VariableGroup) -> Covered) -> BTreeMap<&'static str, CoveredDocument> {
    let all = VariableGroup::ALL.into_iter();
    all.map(|group| (group.name(), CoveredDocument::from(&of(group))))
        .collect()
}

fn text(text: Option<&String>) -> Option<Untrusted<'static>> {
    text.cloned().map(Untrusted::from)
}

impl LossDocument {
    fn new(function: &FunctionCoverage) -> LossDocument {
        let name = function.linkage_name.as_ref().or(function.name.as_ref());
        LossDocument {
            function: text(name),
            address: Hex::from(function.address),
            neither: function.total().neither(),
        }
    }
}

impl CoverageFunction {
    fn new(function: &FunctionCoverage) -> CoverageFunction {
        CoverageFunction {
            name: text(function.name.as_ref()),
            linkage_name: text(function.linkage_name.as_ref()),
            address: Hex::from(function.address),
            size: function.size,
            complete: function.is_complete,
            total: CoveredDocument::from(&function.total()),
            by_kind: by_kind(|group| function.of_group(group)),
            variables: function
                .variables
                .iter()
                .map(CoverageVariable::new)
                .collect(),
        }
    }
}

impl CoverageVariable {
    fn new(variable: &VariableCoverage) -> CoverageVariable {
        let covered = &variable.covered;
        CoverageVariable {
            name: text(variable.name.as_ref()),
            line: variable.line,
            kind: variable.group.name(),
            parameter: variable.is_parameter,
            calls: variable.calls.iter().map(CallPathDocument::new).collect(),
            omitted: covered.omitted > 0,
            bytes_in_scope: covered.scope,
            dwarf: covered.dwarf,
            recovered: covered.recovered,
            neither: covered.neither(),
        }
    }
}

impl CallPathDocument {
    pub(super) fn new(call: &CallPath) -> CallPathDocument {
        CallPathDocument {
            name: text(call.name.as_ref()),
            line: call.line,
        }
    }
}

impl CoveredDocument {
    fn add(&mut self, other: &CoveredDocument) {
        for (sum, number) in [
            (&mut self.variables, other.variables),
            (&mut self.omitted, other.omitted),
            (&mut self.bytes_in_scope, other.bytes_in_scope),
            (&mut self.omitted_bytes, other.omitted_bytes),
            (&mut self.dwarf, other.dwarf),
            (&mut self.recovered, other.recovered),
            (&mut self.neither, other.neither),
        ] {
            *sum = sum.saturating_add(number);
        }
    }
}

impl From<&Covered> for CoveredDocument {
    fn from(covered: &Covered) -> CoveredDocument {
        CoveredDocument {
            variables: covered.variables,
            omitted: covered.omitted,
            bytes_in_scope: covered.scope,
            omitted_bytes: covered.omitted_scope,
            dwarf: covered.dwarf,
            recovered: covered.recovered,
            neither: covered.neither(),
        }
    }
}
