//! `hetdwarf-compare/1`: what differs between two versions of a code object.

use serde::Serialize;

use super::completeness::Completeness;
use super::coverage::CallPathDocument;
use super::number::Hex;
use crate::coverage::{
    Change, Comparison, Covered, Difference, FunctionComparison, VariableChange,
};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CompareDocument {
    /// `hetdwarf-compare/1`.
    pub format: &'static str,
    /// The file of the old version.
    pub old: Untrusted<'static>,
    /// That of the new one.
    pub new: Untrusted<'static>,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// By how many percent points coverage may fall.
    pub tolerance: f64,
    /// True if it fell by more, of all functions together or of one of them.
    pub fell: bool,
    /// The number of functions in both versions.
    pub matched: u64,
    /// How much of the variables of these functions is covered.
    pub total: ChangeDocument,
    /// The functions in which something differs.
    pub functions: Vec<CompareFunction>,
    /// The functions that only the old one has.
    pub only_old: Vec<Untrusted<'static>>,
    /// The functions that only the new one has.
    pub only_new: Vec<Untrusted<'static>>,
}

/// The coverage in the old version and in the new one.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChangeDocument {
    /// In the old one.
    pub old: ShareDocument,
    /// In the new one. Variables that it lacks count with the scopes that they had; those that only it has are not counted.
    pub new: ShareDocument,
}

/// How much is covered.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ShareDocument {
    /// The bytes of code in scope.
    pub bytes_in_scope: u64,
    /// The bytes with a location.
    pub dwarf: u64,
    /// The bytes without a location that have an entry value or last-known value.
    pub recovered: u64,
    /// How many percent have a location; `null` if nothing is in scope.
    pub percent: Option<f64>,
}

/// A function in which something differs.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CompareFunction {
    /// The name for the linker, or the name.
    pub function: Untrusted<'static>,
    /// The first address in the old version.
    pub old_address: Hex,
    /// The first address in the new version; `null` if it does not describe the function.
    pub new_address: Option<Hex>,
    /// True if the code is equal, but for the addresses that it computes.
    pub same_code: bool,
    /// The coverage of its variables.
    pub total: ChangeDocument,
    /// The variables of which less is covered, or that the new version lacks.
    pub lost: Vec<CompareVariable>,
    /// The variables of which more is covered, or that the old version lacks.
    pub gained: Vec<CompareVariable>,
    /// Where rows of call frame information differ, if the code is equal.
    pub rows: Vec<DifferenceDocument>,
    /// Where lines differ, if the code is equal.
    pub lines: Vec<DifferenceDocument>,
}

/// A variable of which more or less is covered.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CompareVariable {
    /// The name.
    pub name: Option<Untrusted<'static>>,
    /// The line that it is declared in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// `parameter`, `local` or `inlined`.
    pub kind: &'static str,
    /// The inlined calls that it is in, the outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallPathDocument>,
    /// In the old version; `null` if it does not have it.
    pub old: Option<ShareDocument>,
    /// In the new version.
    pub new: Option<ShareDocument>,
}

/// Code for which the two versions say different things.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceDocument {
    /// Its offset from the start of the function, in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What the old version says; `null` for nothing.
    pub old: Option<Untrusted<'static>>,
    /// What the new version says.
    pub new: Option<Untrusted<'static>>,
}

impl CompareDocument {
    /// Describes what was found.
    #[must_use]
    pub fn new(old: &str, new: &str, tolerance: f64, found: &Comparison) -> CompareDocument {
        let names = |names: &[String]| names.iter().cloned().map(Untrusted::from).collect();
        CompareDocument {
            format: "hetdwarf-compare/1",
            old: old.to_owned().into(),
            new: new.to_owned().into(),
            completeness: Completeness {
                complete: found.is_complete,
                limit: found.limit.as_ref().map(|error| error.to_string().into()),
            },
            tolerance,
            fell: found.fell_by_more_than(tolerance),
            matched: found.matched,
            total: ChangeDocument::from(&found.total),
            functions: found.functions.iter().map(CompareFunction::new).collect(),
            only_old: names(&found.only_old),
            only_new: names(&found.only_new),
        }
    }
}

impl CompareFunction {
    fn new(function: &FunctionComparison) -> CompareFunction {
        let [old_address, new_address] = function.addresses;
        let (lost, gained) = function
            .variables
            .iter()
            .partition::<Vec<_>, _>(|variable| variable.is_loss());
        let variables = |variables: Vec<&VariableChange>| {
            let variables = variables.into_iter();
            variables.filter_map(CompareVariable::new).collect()
        };
        let differences = |differences: &[Difference]| {
            let all = differences.iter();
            all.map(|one| DifferenceDocument {
                offset: one.offset,
                size: one.size,
                old: one.old.clone().map(Untrusted::from),
                new: one.new.clone().map(Untrusted::from),
            })
            .collect()
        };
        CompareFunction {
            function: function.name.clone().into(),
            old_address: Hex::from(old_address),
            new_address: (!function.is_undescribed).then(|| Hex::from(new_address)),
            same_code: function.has_same_code,
            total: ChangeDocument::from(&function.change),
            lost: variables(lost),
            gained: variables(gained),
            rows: differences(&function.rows),
            lines: differences(&function.lines),
        }
    }
}

impl CompareVariable {
    fn new(change: &VariableChange) -> Option<CompareVariable> {
        let variable = change.old.as_ref().or(change.new.as_ref())?;
        let share =
            |is_there: bool, covered: &Covered| is_there.then(|| ShareDocument::from(covered));
        Some(CompareVariable {
            name: variable.name.clone().map(Untrusted::from),
            line: variable.line,
            kind: variable.group.name(),
            calls: variable.calls.iter().map(CallPathDocument::new).collect(),
            old: share(change.old.is_some(), &change.change.old),
            new: share(change.new.is_some(), &change.change.new),
        })
    }
}

impl From<&Change> for ChangeDocument {
    fn from(change: &Change) -> ChangeDocument {
        ChangeDocument {
            old: ShareDocument::from(&change.old),
            new: ShareDocument::from(&change.new),
        }
    }
}

impl From<&Covered> for ShareDocument {
    fn from(covered: &Covered) -> ShareDocument {
        ShareDocument {
            bytes_in_scope: covered.scope,
            dwarf: covered.dwarf,
            recovered: covered.recovered,
            percent: covered.percent(),
        }
    }
}
