//! Analyses one function: the addresses at which its variables have a location, and at which an earlier value is kept.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::spans::Spans;
use super::statistics::CountedVariable;
use super::{CallPath, Covered, FunctionCoverage, VariableCoverage, VariableGroup, Visit};
use crate::debug_info::{DieId, Variable, short_name};
use crate::error::Result;
use crate::inspect::{KeptInFunction, KeptQuestion, KeptVariable, Program};
use crate::meter::Meter;

/// A variable with its addresses.
#[derive(Debug)]
pub(super) struct VariableSpans<'a> {
    /// The kept values; `None` if the scopes of the function contradict each other.
    pub(super) known: Option<KeptVariable<'a>>,
    /// The addresses in its scope.
    pub(super) scope: Spans,
    /// The addresses at which it has a location.
    pub(super) dwarf: Spans,
}

impl VariableSpans<'_> {
    /// Returns the addresses at which the variable has no location but an earlier value is kept.
    pub(super) fn recovered(&self) -> Spans {
        let lost = || self.scope.without(&self.dwarf);
        let Some(known) = &self.known else {
            return Spans::default();
        };
        if known.is_argument {
            return lost();
        }
        let kept = known.kept.iter().map(|kept| kept.addresses.clone());
        Spans::new(kept).and(&lost())
    }
}

/// Returns the addresses in the scope of a counted variable, and the addresses at which it has a location.
fn spans_of(counted: &CountedVariable) -> (Spans, Spans) {
    let scope = Spans::new(counted.addresses.iter().cloned());
    let dwarf = match counted.is_everywhere {
        true => scope.clone(),
        false => Spans::new(counted.covered.iter().cloned()),
    };
    (scope, dwarf)
}

/// The identity of a variable in a function: its entry, and the copy that omits it if it is omitted.
type Key = (DieId, Option<DieId>);

/// Finds the variables of a function, in the order of `counted`. Also returns false if the search for kept values did not finish for all of them.
///
/// # Errors
/// If the search exceeds its budget.
pub(super) fn lost_in_function<'a>(
    program: &Program<'a>,
    visit: Visit<'_, 'a>,
) -> Result<(Vec<VariableSpans<'a>>, bool)> {
    let Visit {
        function,
        counted,
        wave_size,
        types,
        sought,
        meter,
    } = visit;
    let mut spans: BTreeMap<Key, (Spans, Spans)> = BTreeMap::new();
    for one in counted {
        let ranges = one.addresses.len().saturating_add(one.covered.len());
        meter.work(ranges as u64)?;
        meter.hold_all::<Range<u64>>(ranges)?;
        let copy = one.call.unwrap_or(one.function);
        let key = (one.die, one.is_omitted.then_some(copy));
        spans.insert(key, spans_of(one));
    }
    let asked = |variable: &Variable<'a>| -> Vec<Range<u64>> {
        let found = spans.get(&key_of(variable)).map(|(scope, dwarf)| {
            let lost = scope.without(dwarf);
            lost.ranges().to_vec()
        });
        found.unwrap_or_default()
    };
    let question = KeptQuestion {
        wave_size,
        asked: &asked,
        sought,
    };
    let KeptInFunction {
        variables,
        is_complete,
    } = program.kept_in_function(function, &question, types, meter)?;
    let mut known: BTreeMap<Key, KeptVariable<'a>> = variables
        .into_iter()
        .map(|one| (key_of(&one.variable), one))
        .collect();
    let lost = counted.iter().map(|one| {
        let copy = one.call.unwrap_or(one.function);
        let key = (one.die, one.is_omitted.then_some(copy));
        let (scope, dwarf) = spans.get(&key).cloned().unwrap_or_default();
        VariableSpans {
            known: known.remove(&key),
            scope,
            dwarf,
        }
    });
    Ok((lost.collect(), is_complete))
}

fn key_of(variable: &Variable<'_>) -> Key {
    let copy = variable.scope_die.filter(|_| variable.is_omitted);
    (variable.die, copy)
}

/// Counts the coverage of the variables of a function.
pub(super) fn coverage_of<'a>(program: &Program<'a>, visit: Visit<'_, 'a>) -> FunctionCoverage {
    let Visit {
        function,
        counted,
        meter,
        ..
    } = visit;
    let mut found = FunctionCoverage {
        die: function.die,
        name: function.name.as_deref().map(str::to_owned),
        linkage_name: function.linkage_name.as_deref().map(str::to_owned),
        address: function.ranges.first().map_or(0, |range| range.start),
        size: super::size_of_code(function),
        variables: Vec::new(),
        is_complete: true,
    };
    let paid = meter.hold_all::<FunctionCoverage>(1);
    let lost = paid.and_then(|()| lost_in_function(program, visit));
    let (lost, is_complete) = lost.unwrap_or_default();
    found.is_complete = is_complete;
    let mut paths: BTreeMap<DieId, Arc<[CallPath]>> = BTreeMap::new();
    let mut lost = lost.into_iter();
    for one in counted {
        let lost = lost.next();
        let known = lost.as_ref().and_then(|lost| lost.known.as_ref());
        let innermost = known.and_then(|known| known.calls.first());
        let calls = match innermost.and_then(|call| paths.get(call)) {
            Some(path) => Arc::clone(path),
            None => path_of(program, known, meter),
        };
        if let Some(call) = innermost {
            paths.insert(*call, Arc::clone(&calls));
        }
        let of_entry = || {
            let die = program.info().die(one.die).ok()?;
            Some(short_name(program.info(), &die)?.raw().to_owned())
        };
        let name = match known {
            Some(known) => known.variable.name.as_deref().map(str::to_owned),
            None => of_entry(),
        };
        let (_, dwarf) = spans_of(one);
        let dwarf = match one.is_everywhere {
            true => one.scope,
            false => dwarf.bytes(),
        };
        let recovered = lost.as_ref().map_or(0, |lost| lost.recovered().bytes());
        let group = match (one.call, one.is_parameter) {
            (Some(_), _) => VariableGroup::Inlined,
            (None, true) => VariableGroup::Parameter,
            (None, false) => VariableGroup::Local,
        };
        let length = name.as_ref().map_or(0, String::len);
        let paid = meter.hold((length.saturating_add(size_of::<VariableCoverage>())) as u64);
        if paid.is_err() {
            found.is_complete = false;
            break;
        }
        found.variables.push(VariableCoverage {
            die: one.die,
            name,
            line: known.and_then(|known| known.variable.declaration.line),
            group,
            is_parameter: one.is_parameter,
            calls,
            covered: Covered {
                variables: 1,
                omitted: u64::from(one.is_omitted),
                scope: one.scope,
                omitted_scope: match one.is_omitted {
                    true => one.scope,
                    false => 0,
                },
                dwarf,
                recovered,
            },
        });
    }
    found
}

/// Returns the inlined calls that contain a variable, the outermost first.
fn path_of(
    program: &Program<'_>,
    known: Option<&KeptVariable<'_>>,
    meter: &Meter,
) -> Arc<[CallPath]> {
    let calls = known.map_or(&[][..], |known| &known.calls);
    let path = calls.iter().rev().map(|call| {
        let call = program.info().inlined_call_at(*call, meter).ok()?;
        let name = call.name.as_deref().map(str::to_owned);
        let length = name.as_ref().map_or(0, String::len);
        let size = length.saturating_add(size_of::<CallPath>());
        meter.hold(size as u64).ok()?;
        Some(CallPath {
            name,
            line: call.call_line,
            column: call.call_column,
        })
    });
    path.flatten().collect()
}
