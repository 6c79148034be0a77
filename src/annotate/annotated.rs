//! Describes the results of `annotate`.

use core::ops::Range;
use std::collections::BTreeMap;

use crate::debug_info::Function;
use crate::error::{Error, Result};
use crate::lane_flow::Reason;
use crate::meter::Meter;

/// A code object with its additions.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Annotated {
    /// The file, which is unchanged if nothing was added.
    pub file: Vec<u8>,
    /// The functions with debugging information, in the order of the debugging information.
    pub functions: Vec<AnnotatedFunction>,
    /// The variables whose location lists got more entries.
    pub locations: Vec<AnnotatedVariable>,
    /// The parts that were left unchanged, with the reason.
    pub notes: Vec<String>,
    /// The limit that was reached by the whole file, or by a function in its share of the work. Code that the analysis itself did not finish is only
    /// counted in the function's [`missing`](AnnotatedFunction::missing).
    pub limit: Option<Error>,
    /// True if a required part could not be read.
    pub is_short: bool,
}

impl Annotated {
    /// Cancels all additions, because the file cannot be written.
    pub(super) fn refuse(&mut self, error: &Error) {
        self.locations.clear();
        let reason = format!("the file cannot be rewritten: {error}");
        for function in &mut self.functions {
            function.covered = 0;
            function.added = 0;
            (function.left_alone).get_or_insert_with(|| "the file was not changed".to_owned());
        }
        self.notes.push(reason);
        if error.is_limit() {
            self.limit = Some(error.clone());
        } else {
            self.is_short = true;
        }
    }

    /// Returns true if nothing was left out because of a limit, a bound of the analysis, or an unreadable part.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let is_short =
            |function: &AnnotatedFunction| function.missing.contains_key(Reason::Budget.name());
        self.limit.is_none() && !self.is_short && !self.functions.iter().any(is_short)
    }

    /// Records that nothing is added to a unit, with the reason.
    pub(super) fn leave_unit(&mut self, name: &str, why: &str, meter: &Meter) -> Result<()> {
        let note = format!("unit {name} was not changed: {why}");
        meter.hold(note.len() as u64)?;
        self.notes.push(note);
        Ok(())
    }
}

impl AnnotatedFunction {
    /// Creates the result of a function without additions.
    pub(super) fn of(function: &Function<'_>) -> AnnotatedFunction {
        let range = function.ranges.first().cloned().unwrap_or_default();
        AnnotatedFunction {
            name: function.name.as_deref().map(str::to_owned),
            address: range.start,
            size: range.end.saturating_sub(range.start),
            covered: 0,
            missing: BTreeMap::new(),
            added: 0,
            left_alone: None,
        }
    }

    /// Records that nothing is added for the function, with the reason.
    pub(super) fn leave(&mut self, why: String) {
        (self.covered, self.added) = (0, 0);
        self.left_alone = Some(why);
    }
}

/// The additions for a function.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct AnnotatedFunction {
    /// The name.
    pub name: Option<String>,
    /// The address of its code.
    pub address: u64,
    /// The size of its code, in bytes.
    pub size: u64,
    /// The number of bytes that now have a lane program location.
    pub covered: u64,
    /// The number of bytes without a lane program location, by the name of the reason ([`Reason`]).
    pub missing: BTreeMap<&'static str, u64>,
    /// The number of bytes that were added for the function.
    pub added: usize,
    /// The reason why nothing was added.
    pub left_alone: Option<String>,
}

/// A variable whose location list got more entries.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct AnnotatedVariable {
    /// The name.
    pub name: Option<String>,
    /// The function that contains it, which may be an inlined function.
    pub function: Option<String>,
    /// The code that the location list covers now and did not cover before.
    pub ranges: Vec<Range<u64>>,
}
