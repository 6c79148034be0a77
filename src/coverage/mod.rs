//! Measures the coverage of a program's variables. Counts the bytes of code in each variable's scope, and the bytes at which it has a location. Also
//! counts the bytes at which the machine code proves that an earlier value is still kept.
//!
//! Locations are counted like in `llvm-dwarfdump --statistics` (`statistics`). `value_flow` finds the kept values. Source:
//! `spec-notes/lost-values.md`.
//!
//! ```
//! use hetdwarf::coverage::coverage;
//! use hetdwarf::{inspect::Program, object::CodeObject};
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let object = CodeObject::parse(&file)?;
//! let found = coverage(&Program::load(&object)?);
//! let total = found.total();
//! assert!(total.dwarf > 0 && total.dwarf + total.recovered <= total.scope);
//! # Ok::<(), hetdwarf::Error>(())
//! ```

mod compare;
mod function;
mod lost;
mod spans;
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "`dump --statistics` has all of it")
)]
pub(crate) mod statistics;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::arch::WaveSize;
use crate::debug_info::types::TypeTable;
use crate::debug_info::{DieId, Function};
use crate::error::{Error, Limit, Result};
use crate::inspect::{MissingSplit, Program};
use crate::limits::reached;
use crate::meter::Meter;
use crate::object::Kernel;
pub use compare::{
    Change, Comparison, Difference, FunctionComparison, VariableChange, compare, compare_within,
};
pub(crate) use lost::{LostRange, LostVariable, Sought, lost_values};
use spans::Spans;
use statistics::CountedVariable;

/// The group in which a variable is counted.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VariableGroup {
    /// A parameter of the function itself.
    Parameter,
    /// A variable of the function itself.
    Local,
    /// A parameter or variable of a call that is inlined in the function.
    Inlined,
}

impl VariableGroup {
    /// All groups.
    pub const ALL: [VariableGroup; 3] = [
        VariableGroup::Parameter,
        VariableGroup::Local,
        VariableGroup::Inlined,
    ];

    /// Returns the name in JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            VariableGroup::Parameter => "parameter",
            VariableGroup::Local => "local",
            VariableGroup::Inlined => "inlined",
        }
    }
}

/// The coverage of variables' scopes, in bytes of code.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// The number of variables.
    pub variables: u64,
    /// The number of variables that are in the source but have no entry in an inlined copy of their function.
    pub omitted: u64,
    /// The bytes of code in the scopes of all variables.
    pub scope: u64,
    /// The bytes in the scopes of omitted variables, which `llvm-dwarfdump --statistics` does not count.
    pub omitted_scope: u64,
    /// The bytes with a location or a constant value.
    pub dwarf: u64,
    /// The bytes without a location that have an entry value or last-known value. Either the argument of a kernel is in memory, or the machine code
    /// proves that the function itself keeps the value, for every active lane. This holds before each instruction of these bytes. A value that only a
    /// caller may keep is not counted.
    pub recovered: u64,
}

impl Covered {
    /// Returns the number of bytes that have neither a location nor a recovered value.
    #[must_use]
    pub fn neither(&self) -> u64 {
        let shown = self.dwarf.saturating_add(self.recovered);
        self.scope.saturating_sub(shown)
    }

    /// Returns the percentage of the bytes in scope that have a location, if there are any bytes in scope.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a percentage needs no more digits"
    )]
    pub fn percent(&self) -> Option<f64> {
        (self.scope > 0).then(|| self.dwarf as f64 * 100.0 / self.scope as f64)
    }

    fn add(&mut self, other: &Covered) {
        for (sum, number) in [
            (&mut self.variables, other.variables),
            (&mut self.omitted, other.omitted),
            (&mut self.scope, other.scope),
            (&mut self.omitted_scope, other.omitted_scope),
            (&mut self.dwarf, other.dwarf),
            (&mut self.recovered, other.recovered),
        ] {
            *sum = sum.saturating_add(number);
        }
    }
}

/// An inlined call that contains a variable.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallPath {
    /// The name of the function that was inlined.
    pub name: Option<String>,
    /// The line of the call.
    pub line: Option<u64>,
    /// The column of the call.
    pub column: Option<u64>,
}

/// A variable of a function.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct VariableCoverage {
    /// The entry. For an omitted variable, the entry in the abstract instance.
    pub die: DieId,
    /// The name in the source.
    pub name: Option<String>,
    /// The line of its declaration.
    pub line: Option<u64>,
    /// The group in which it is counted.
    pub group: VariableGroup,
    /// True for a parameter of the function or of an inlined function.
    pub is_parameter: bool,
    /// The inlined calls that contain it, the outermost first.
    pub calls: Arc<[CallPath]>,
    /// The coverage of its scope.
    pub covered: Covered,
}

/// A function with code.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct FunctionCoverage {
    /// The entry.
    pub die: DieId,
    /// The name in the source.
    pub name: Option<String>,
    /// The linkage name, if it differs from the name.
    pub linkage_name: Option<String>,
    /// The first address.
    pub address: u64,
    /// The size of its code, in bytes.
    pub size: u64,
    /// The variables and parameters, including the variables of inlined calls.
    pub variables: Vec<VariableCoverage>,
    /// True if the search is complete; otherwise more values may be recoverable.
    pub is_complete: bool,
}

impl FunctionCoverage {
    /// Returns the sum over the selected variables.
    fn sum(&self, is_wanted: impl Fn(&VariableCoverage) -> bool) -> Covered {
        let mut sum = Covered::default();
        let wanted = self.variables.iter().filter(|one| is_wanted(one));
        wanted.for_each(|variable| sum.add(&variable.covered));
        sum
    }

    /// Returns the sum over all variables.
    #[must_use]
    pub fn total(&self) -> Covered {
        self.sum(|_| true)
    }

    /// Returns the sum over the variables of a group.
    #[must_use]
    pub fn of_group(&self, group: VariableGroup) -> Covered {
        self.sum(|variable| variable.group == group)
    }
}

/// The coverage of a program's variables.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// The functions with code, in the order of the entries.
    pub functions: Vec<FunctionCoverage>,
    /// The size of the waves for which the machine code was searched. `None` if the kernels disagree; functions other than kernels were then not
    /// searched.
    pub wave_size: Option<WaveSize>,
    /// The limit that ended the search early, if one was reached.
    pub limit: Option<Error>,
    /// The parts that could not be read.
    pub problems: Vec<Error>,
    /// The units that were not counted, because their entries are in `.dwo` files that were not loaded.
    pub missing_split: Option<MissingSplit>,
}

impl Coverage {
    /// Returns the sum over all functions.
    #[must_use]
    pub fn total(&self) -> Covered {
        self.sum(FunctionCoverage::total)
    }

    /// Returns the sum over the variables of a group.
    #[must_use]
    pub fn of_group(&self, group: VariableGroup) -> Covered {
        self.sum(|function| function.of_group(group))
    }

    fn sum(&self, of: impl Fn(&FunctionCoverage) -> Covered) -> Covered {
        let mut sum = Covered::default();
        self.functions.iter().for_each(|one| sum.add(&of(one)));
        sum
    }

    /// Returns true if the search is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let is_complete = |one: &FunctionCoverage| one.is_complete;
        self.limit.is_none() && self.functions.iter().all(is_complete)
    }
}

/// Measures the coverage of a program's variables. If a limit is reached, returns the results that were found before.
#[must_use]
pub fn coverage(program: &Program<'_>) -> Coverage {
    coverage_within(program, &program.meter().for_query())
}

/// Does the work of [`coverage`] as a part of a larger query.
#[must_use]
pub fn coverage_within(program: &Program<'_>, meter: &Meter) -> Coverage {
    let mut found = Coverage {
        missing_split: program.missing_split(),
        ..Coverage::default()
    };
    match program.object().wave_size() {
        Ok(wave_size) => found.wave_size = wave_size,
        Err(error) => found.problems.push(error),
    }
    let mut problems = Vec::new();
    let gone = for_each_function(
        program,
        found.wave_size,
        Sought::Earlier,
        meter,
        &mut problems,
        &mut |visit| {
            let of_function = function::coverage_of(program, visit);
            let is_complete = of_function.is_complete;
            // The memory of the function was charged when it was created.
            found.functions.push(of_function);
            is_complete
        },
    );
    found.problems.extend(problems);
    found.limit = gone.err();
    found.limit = found.limit.or_else(|| meter.refused());
    found
}

/// A function, with the parameters of the search for its variables.
struct Visit<'v, 'a> {
    function: &'v Function<'a>,
    counted: &'v [CountedVariable],
    /// The size of the function's waves, if it is known.
    wave_size: Option<WaveSize>,
    types: &'v mut TypeTable,
    sought: Sought,
    /// The meter with the budget.
    meter: &'v Meter,
}

/// Visits the functions of a program in the order of their entries. Each may take its share of the remaining budget.
///
/// * `problems`: receives the errors of unreadable parts.
/// * `visit`: returns false if its search did not finish.
///
/// # Errors
/// The limit that ended the search early, if one was reached.
fn for_each_function<'a>(
    program: &Program<'a>,
    wave_size: Option<WaveSize>,
    sought: Sought,
    meter: &Meter,
    problems: &mut Vec<Error>,
    visit: &mut dyn FnMut(Visit<'_, 'a>) -> bool,
) -> Result<()> {
    let info = program.info();
    let (statistics, error) = statistics::collect_variables(info, meter);
    let mut counted: BTreeMap<DieId, Vec<CountedVariable>> = BTreeMap::new();
    for variable in statistics.counted {
        counted.entry(variable.function).or_default().push(variable);
    }
    let mut limit = None;
    match error {
        Some(error) if error.is_limit() => limit = Some(error),
        error => problems.extend(error),
    }
    let mut functions: Vec<Function<'a>> = Vec::new();
    let units = info.unit_ids();
    for unit in units.filter(|unit| !info.is_without_skeleton(*unit)) {
        match info.functions(unit) {
            Ok(of_unit) => {
                meter.hold_all::<Function<'a>>(of_unit.len())?;
                functions.extend(of_unit.into_iter().filter(|one| one.die.unit == unit));
            }
            Err(error) if error.is_limit() => return Err(error),
            Err(error) => problems.push(error),
        }
    }
    let mut types = TypeTable::default();
    let mut code: u64 = functions.iter().map(size_of_code).sum();
    for function in &functions {
        meter.work(1)?;
        let share = Meter::share(meter.steps_left(), size_of_code(function), &mut code);
        let part = meter.part(share);
        let own = program.kernel_of(function).and_then(Kernel::wave_size);
        let counted = counted.remove(&function.die).unwrap_or_default();
        let is_complete = visit(Visit {
            function,
            counted: &counted,
            wave_size: own.or(wave_size),
            types: &mut types,
            sought,
            meter: &part,
        });
        meter.work(part.steps())?;
        if !is_complete && part.steps_left() <= 1 {
            limit.get_or_insert_with(|| reached(Limit::Work, meter.most_steps()));
        }
    }
    limit.map_or(Ok(()), Err)
}

/// Returns the size of a function's code, in bytes.
fn size_of_code(function: &Function<'_>) -> u64 {
    Spans::new(function.ranges.iter().cloned()).bytes()
}
