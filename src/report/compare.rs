//! `hetdwarf-compare/1`: the differences between two versions of a code object.

use serde::Serialize;

use super::completeness::Completeness;
use super::coverage::CallPathDocument;
use super::number::Hex;
use crate::coverage::{
    Change, Comparison, Covered, Difference, FunctionComparison, VariableChange,
};
use crate::inspect::MissingSplit;
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CompareDocument {
    /// `hetdwarf-compare/1`.
    pub format: &'static str,
    /// The file of the old version.
    pub old: Untrusted<'static>,
    /// The file of the new version.
    pub new: Untrusted<'static>,
    /// The target of the old version.
    pub old_target: Untrusted<'static>,
    /// The target of the new version.
    pub new_target: Untrusted<'static>,
    /// The units of the old version that were not compared, because their entries are in `.dwo` files that were not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_missing_split: Option<MissingSplit>,
    /// The units of the new version that were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_missing_split: Option<MissingSplit>,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The number of percentage points by which coverage may fall.
    pub tolerance: f64,
    /// True if the coverage fell by more, either of all functions together or of a single function.
    pub fell: bool,
    /// The number of functions in both versions.
    pub matched: u64,
    /// The coverage of the variables of these functions.
    pub total: ChangeDocument,
    /// The functions in which something differs.
    pub functions: Vec<CompareFunction>,
    /// The functions that only the old version has.
    pub only_old: Vec<Untrusted<'static>>,
    /// The functions that only the new version has.
    pub only_new: Vec<Untrusted<'static>>,
}

/// The coverage in the old version and in the new one.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChangeDocument {
    /// The coverage in the old version.
    pub old: ShareDocument,
    /// The coverage in the new version. A variable that only the old version has counts with its scope in the old version. A variable that only the
    /// new version has is not counted.
    pub new: ShareDocument,
}

/// The amount of code in which variables have a value.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ShareDocument {
    /// The bytes of code in scope.
    pub bytes_in_scope: u64,
    /// The bytes with a location.
    pub dwarf: u64,
    /// The bytes without a location that have an entry value or last-known value.
    pub recovered: u64,
    /// The percentage of the bytes in scope that have a location; `null` if nothing is in scope.
    pub percent: Option<f64>,
}

/// A function that differs between the versions.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CompareFunction {
    /// The linkage name, or the name if there is none.
    pub function: Untrusted<'static>,
    /// The first address in the old version.
    pub old_address: Hex,
    /// The first address in the new version; `null` if the new version does not describe the function.
    pub new_address: Option<Hex>,
    /// True if the code is equal except for the addresses that it computes.
    pub same_code: bool,
    /// The coverage of its variables.
    pub total: ChangeDocument,
    /// The variables whose coverage is smaller, or that the new version lacks.
    pub lost: Vec<CompareVariable>,
    /// The variables whose coverage is larger, or that the old version lacks.
    pub gained: Vec<CompareVariable>,
    /// The code with different rows of call frame information, if the code is equal.
    pub rows: Vec<DifferenceDocument>,
    /// The code with different line numbers, if the code is equal.
    pub lines: Vec<DifferenceDocument>,
}

/// A variable whose coverage changed.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CompareVariable {
    /// The name of the variable.
    pub name: Option<Untrusted<'static>>,
    /// The line of its declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// `parameter`, `local` or `inlined`.
    pub kind: &'static str,
    /// The inlined calls that contain it, the outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallPathDocument>,
    /// The coverage in the old version; `null` if the old version lacks the variable.
    pub old: Option<ShareDocument>,
    /// The coverage in the new version; `null` if the new version lacks the variable.
    pub new: Option<ShareDocument>,
}

/// A range of code that the two versions describe differently.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceDocument {
    /// The offset from the start of the function, in bytes.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
    /// The description in the old version; `null` if there is none.
    pub old: Option<Untrusted<'static>>,
    /// The description in the new version; `null` if there is none.
    pub new: Option<Untrusted<'static>>,
}

impl CompareDocument {
    /// Describes the result of a comparison.
    #[must_use]
    pub fn new(old: &str, new: &str, tolerance: f64, found: &Comparison) -> CompareDocument {
        let [old_target, new_target] = found.targets.clone().map(Untrusted::from);
        let [old_missing_split, new_missing_split] = found.missing_split.clone();
        let names = |names: &[String]| names.iter().cloned().map(Untrusted::from).collect();
        CompareDocument {
            format: "hetdwarf-compare/1",
            old: old.to_owned().into(),
            new: new.to_owned().into(),
            old_target,
            new_target,
            old_missing_split,
            new_missing_split,
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
