//! Compares two versions of a program that were made from the same source. Finds variables with more or less coverage. In functions with equal code,
//! also finds differences in call frame information and lines.
//!
//! Functions are matched by their linkage names, so that neither the order of sections nor the load address matters.
//!
//! ```
//! use hetdwarf::coverage::compare;
//! use hetdwarf::{inspect::Program, object::CodeObject};
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let object = CodeObject::parse(&file)?;
//! let program = Program::load(&object)?;
//! let found = compare(&program, &program);
//! assert!(found.matched > 0 && found.functions.is_empty());
//! assert!(!found.fell_by_more_than(0.0));
//! # Ok::<(), hetdwarf::Error>(())
//! ```

mod code;
mod lines;
mod rows;
mod variables;

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use super::{Coverage, Covered, FunctionCoverage, VariableCoverage, coverage_within};
use crate::error::{Error, Result};
use crate::inspect::{MissingSplit, Program};
use crate::isa::Decoder;
use crate::meter::Meter;
use crate::object::{SymbolKind, SymbolSection};
use variables::matched;

/// The differences between two versions of a program.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The number of functions in both versions.
    pub matched: u64,
    /// The functions in both versions that differ, and the functions whose debugging information only the new version lacks.
    pub functions: Vec<FunctionComparison>,
    /// The names of functions that only the old version has.
    pub only_old: Vec<String>,
    /// The names of functions that only the new version has.
    pub only_new: Vec<String>,
    /// The coverage of the variables of all functions in both versions.
    pub total: Change,
    /// The limit that ended the comparison early, if one was reached.
    pub limit: Option<Error>,
    /// True if the comparison is complete; otherwise more may differ.
    pub is_complete: bool,
    /// The target IDs of the old version and of the new one.
    pub targets: [String; 2],
    /// The units of the old version and of the new one that were not compared, because their entries are in `.dwo` files that were not loaded.
    pub missing_split: [Option<MissingSplit>; 2],
}

impl Comparison {
    /// Returns true if the share of bytes with a location fell by more than `points` percentage points. The share of all functions together and the
    /// share of each function are compared.
    #[must_use]
    pub fn fell_by_more_than(&self, points: f64) -> bool {
        let fell = |change: &Change| change.fall().is_some_and(|fall| fall > points);
        fell(&self.total) || self.functions.iter().any(|one| fell(&one.change))
    }
}

/// The coverage in the old version and in the new one.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The coverage in the old version.
    pub old: Covered,
    /// The coverage in the new version. A variable that only the old version has counts with its scope in the old version. A variable that only the
    /// new version has is not counted.
    pub new: Covered,
}

impl Change {
    /// Returns the number of percentage points by which the share of bytes with a location fell. Returns None if it did not fall.
    #[must_use]
    pub fn fall(&self) -> Option<f64> {
        let is_less = is_less(&self.new, &self.old);
        let (old, new) = (self.old.percent()?, self.new.percent()?);
        is_less.then_some(old - new)
    }

    /// Returns true if the share of bytes with a location changed.
    #[must_use]
    pub fn differs(&self) -> bool {
        is_less(&self.new, &self.old) || is_less(&self.old, &self.new)
    }

    fn add(&mut self, other: &Change) {
        self.old.add(&other.old);
        self.new.add(&other.new);
    }
}

/// Returns true if the share of `one` is less than the share of `other`.
fn is_less(one: &Covered, other: &Covered) -> bool {
    let product = |a: u64, b: u64| u128::from(a).saturating_mul(b.into());
    product(one.dwarf, other.scope) < product(other.dwarf, one.scope)
}

/// A function that both versions have.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct FunctionComparison {
    /// The linkage name, or else the name.
    pub name: String,
    /// The first address in the old version, and in the new version.
    pub addresses: [u64; 2],
    /// True if the code is equal, except for addresses that it computes.
    pub has_same_code: bool,
    /// True if the new version has the code but no debugging information about it.
    pub is_undescribed: bool,
    /// The coverage of the function's variables.
    pub change: Change,
    /// The variables with a different coverage.
    pub variables: Vec<VariableChange>,
    /// The different rows of call frame information, if the code is equal.
    pub rows: Vec<Difference>,
    /// The different lines, if the code is equal.
    pub lines: Vec<Difference>,
}

/// A variable whose coverage changed.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct VariableChange {
    /// The variable in the old version, if it exists.
    pub old: Option<VariableCoverage>,
    /// The variable in the new version, if it exists.
    pub new: Option<VariableCoverage>,
    /// The coverage in both versions.
    pub change: Change,
}

/// A range of code that the two versions describe differently.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The offset from the start of the function, in bytes.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
    /// The description in the old version, if there is one.
    pub old: Option<String>,
    /// The description in the new version, if there is one.
    pub new: Option<String>,
}

/// Compares two versions of a program. If a limit is reached, returns the differences that were found before.
#[must_use]
pub fn compare(old: &Program<'_>, new: &Program<'_>) -> Comparison {
    let (old_meter, new_meter) = (old.meter().for_query(), new.meter().for_query());
    compare_within((old, &old_meter), (new, &new_meter))
}

/// Implements [`compare`] as part of larger queries about the programs, with their meters.
#[must_use]
pub fn compare_within(
    (old, old_meter): (&Program<'_>, &Meter),
    (new, new_meter): (&Program<'_>, &Meter),
) -> Comparison {
    let of_old = coverage_within(old, old_meter);
    let of_new = coverage_within(new, new_meter);
    let mut found = Comparison {
        is_complete: of_old.is_complete() && of_new.is_complete(),
        targets: [old.object().target(), new.object().target()].map(ToString::to_string),
        missing_split: [of_old.missing_split.clone(), of_new.missing_split.clone()],
        ..Comparison::default()
    };
    let (old, new) = (Version::new(old, old_meter), Version::new(new, new_meter));
    let compared = compare_functions((&old, &of_old), (&new, &of_new), &mut found);
    found.limit = compared
        .err()
        .filter(Error::is_limit)
        .or(of_old.limit)
        .or(of_new.limit)
        .or_else(|| old_meter.refused())
        .or_else(|| new_meter.refused());
    found.is_complete &= found.limit.is_none();
    found
}

/// One of the two versions.
#[derive(Debug)]
struct Version<'c, 'a> {
    program: &'c Program<'a>,
    meter: &'c Meter,
    decoder: Option<Decoder>,
}

impl<'c, 'a> Version<'c, 'a> {
    fn new(program: &'c Program<'a>, meter: &'c Meter) -> Version<'c, 'a> {
        let wave_size = program.object().wave_size().ok().flatten();
        Version {
            program,
            meter,
            decoder: Decoder::new(program.processor(), wave_size),
        }
    }

    /// Returns the names of the functions in the symbol table.
    fn symbols(&self) -> BTreeSet<String> {
        let symbols = self.program.object().symbols().unwrap_or_default();
        let functions = symbols.iter().filter(|symbol| {
            symbol.kind == SymbolKind::Function && matches!(symbol.section, SymbolSection::Index(_))
        });
        functions.map(|symbol| symbol.name.to_string()).collect()
    }
}

/// The identity of a function: its name, and its number among the functions with this name.
type Name = (String, usize);

/// Returns the functions with code in the object, by name.
fn by_name<'f>(
    version: &Version<'_, '_>,
    coverage: &'f Coverage,
) -> BTreeMap<Name, &'f FunctionCoverage> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut functions = BTreeMap::new();
    for function in &coverage.functions {
        let name = function
            .linkage_name
            .as_deref()
            .or(function.name.as_deref());
        let (Some(name), Some(_)) = (name, version.code_of(function)) else {
            continue;
        };
        let count = counts.entry(name).or_default();
        functions.insert((name.to_owned(), *count), function);
        *count = count.saturating_add(1);
    }
    functions
}

fn compare_functions(
    (old, of_old): (&Version<'_, '_>, &Coverage),
    (new, of_new): (&Version<'_, '_>, &Coverage),
    found: &mut Comparison,
) -> Result<()> {
    let mut functions = by_name(new, of_new);
    let symbols = new.symbols();
    for ((name, number), before) in by_name(old, of_old) {
        old.meter.work(1)?;
        let after = functions.remove(&(name.clone(), number));
        if after.is_none() && !symbols.contains(&name) {
            found.only_old.push(name);
            continue;
        }
        found.matched = found.matched.saturating_add(1);
        let mut one = FunctionComparison {
            name,
            addresses: [before.address, after.map_or(0, |after| after.address)],
            has_same_code: false,
            is_undescribed: after.is_none(),
            change: Change::default(),
            variables: Vec::new(),
            rows: Vec::new(),
            lines: Vec::new(),
        };
        let none = Vec::new();
        let variables = after.map_or(&none, |after| &after.variables);
        for (before, after) in matched(&before.variables, variables) {
            old.meter.work(1)?;
            let change = VariableChange::new(before, after);
            if change.old.is_some() {
                one.change.add(&change.change);
            }
            if change.is_one() {
                one.variables.push(change);
            }
        }
        found.total.add(&one.change);
        if let Some(after) = after {
            one.has_same_code = code::is_same((old, before), (new, after))?;
            if one.has_same_code {
                one.rows = rows::differences((old, before), (new, after))?;
                one.lines = lines::differences((old, before), (new, after))?;
            }
        }
        let is_same = one.variables.is_empty() && one.rows.is_empty() && one.lines.is_empty();
        if !is_same || one.is_undescribed || one.change.differs() {
            found.functions.push(one);
        }
    }
    found.only_new = functions.into_keys().map(|(name, _)| name).collect();
    Ok(())
}

impl VariableChange {
    fn new(old: Option<&VariableCoverage>, new: Option<&VariableCoverage>) -> VariableChange {
        let covered = |one: Option<&VariableCoverage>| one.map(|one| one.covered);
        let before = covered(old).unwrap_or_default();
        let after = covered(new).unwrap_or_else(|| Covered {
            scope: before.scope,
            ..Covered::default()
        });
        VariableChange {
            old: old.cloned(),
            new: new.cloned(),
            change: Change {
                old: before,
                new: after,
            },
        }
    }

    /// Returns true if less of the variable is covered, or if the new version lacks it.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        let is_omitted = |one: &Option<VariableCoverage>| {
            let one = one.as_ref();
            one.is_none_or(|one| one.covered.omitted > 0)
        };
        match (is_omitted(&self.old), is_omitted(&self.new)) {
            (false, true) => true,
            (true, false) => false,
            _ => is_less(&self.change.new, &self.change.old) || self.new.is_none(),
        }
    }

    /// Returns true if the change is reported. The share of bytes with a location changed, and not only because the scope did, or the new version lacks
    /// the variable, or only the new version has it and gives it a location.
    fn is_one(&self) -> bool {
        let is_omitted = |one: &VariableCoverage| one.covered.omitted > 0;
        match (&self.old, &self.new) {
            // An omitted variable is equivalent to a variable without a location.
            (Some(old), Some(new)) => {
                let has_other_bytes = old.covered.dwarf != new.covered.dwarf;
                is_omitted(old) != is_omitted(new) || (self.change.differs() && has_other_bytes)
            }
            (Some(_), None) => true,
            (None, new) => new.as_ref().is_some_and(|new| new.covered.dwarf > 0),
        }
    }
}

/// Returns the ranges in which two descriptions of the same code differ. Each description is a sorted list of ranges.
fn differences<T: PartialEq>(
    old: &[(Range<u64>, T)],
    new: &[(Range<u64>, T)],
    tell: impl Fn(Option<&T>, Option<&T>) -> [Option<String>; 2],
) -> Vec<Difference> {
    let ends = old.iter().chain(new);
    let ends: BTreeSet<u64> = ends
        .flat_map(|(range, _)| [range.start, range.end])
        .collect();
    fn at<T>(said: &[(Range<u64>, T)], offset: u64) -> Option<&T> {
        let after = said.partition_point(|(range, _)| range.start <= offset);
        let (range, said) = said.get(after.checked_sub(1)?)?;
        range.contains(&offset).then_some(said)
    }
    let mut found: Vec<Difference> = Vec::new();
    for (start, end) in ends.iter().zip(ends.iter().skip(1)) {
        let (before, after) = (at(old, *start), at(new, *start));
        if before == after {
            continue;
        }
        let [old, new] = tell(before, after);
        let size = end.saturating_sub(*start);
        match found.last_mut() {
            Some(last)
                if last.offset.saturating_add(last.size) == *start
                    && last.old == old
                    && last.new == new =>
            {
                last.size = last.size.saturating_add(size);
            }
            Some(_) | None => found.push(Difference {
                offset: *start,
                size,
                old,
                new,
            }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::VariableGroup;
    use crate::debug_info::{DieId, UnitId};

    /// A variable with a location in 4 bytes of its scope is neither lost nor gained if only the scope changed.
    #[test]
    fn another_scope_is_no_change_of_the_variable() {
        let variable = |dwarf: u64, scope: u64| VariableCoverage {
            die: DieId {
                unit: UnitId(0),
                offset: 0,
            },
            name: Some("g".to_owned()),
            line: None,
            group: VariableGroup::Local,
            is_parameter: false,
            calls: Vec::new().into(),
            covered: Covered {
                variables: 1,
                scope,
                dwarf,
                ..Covered::default()
            },
        };
        let old = variable(4, 376);
        for (dwarf, scope, expected) in [(4, 372, false), (4, 380, false), (0, 376, true)] {
            let new = variable(dwarf, scope);
            let change = VariableChange::new(Some(&old), Some(&new));
            assert_eq!(change.is_one(), expected, "{dwarf} of {scope}");
        }
        assert!(VariableChange::new(Some(&old), None).is_one());
    }
}
