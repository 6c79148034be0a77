//! Explains why no variable could be read.

use super::{LaneDocument, NameFilter, VariableDocument};
use crate::error::Result;
use crate::inspect::{MissingVariable, StopFrame, Undescribed, ValueStateKind};
use crate::untrusted::Untrusted;

/// The reason why no variable could be read.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmptyReason {
    /// The debugging information does not describe the code at this address.
    Undescribed(Undescribed),
    /// No variable is in scope.
    NoVariables,
    /// No variable has a requested name.
    NoMatch,
    /// No requested lane is active.
    Inactive,
    /// All variables are optimised away in all active lanes.
    OptimizedOut,
    /// The debugger has none of the bytes of the variables.
    Unavailable,
    /// Each variable has its own reason.
    Unreadable,
}

impl EmptyReason {
    /// Returns the name in JSON documents: a name of [`Undescribed`], or `no-variables`, `no-match`, `inactive`, `optimized-out`, `unavailable` or
    /// `unreadable`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            EmptyReason::Undescribed(undescribed) => undescribed.name(),
            EmptyReason::NoVariables => "no-variables",
            EmptyReason::NoMatch => "no-match",
            EmptyReason::Inactive => "inactive",
            EmptyReason::OptimizedOut => "optimized-out",
            EmptyReason::Unavailable => "unavailable",
            EmptyReason::Unreadable => "unreadable",
        }
    }

    /// Returns the reason and its text for people. Returns `None` if a variable was read.
    ///
    /// * `all_names`: the names of all variables of the frame, if `filter` selects none of them; otherwise empty.
    /// * `variables`: the variables of each part of the frame.
    pub(super) fn find(
        frame: &StopFrame<'_, '_, '_>,
        all_names: &[String],
        filter: Option<NameFilter<'_>>,
        variables: &[Vec<VariableDocument>],
    ) -> Result<Option<(EmptyReason, Untrusted<'static>)>> {
        if variables.iter().any(|of_frame| !of_frame.is_empty()) {
            return Ok(unreadable(variables));
        }
        let missing = match filter {
            Some(filter) => frame.missing_variable(filter.text, all_names)?,
            None => frame.missing_variable::<String>("", &[])?,
        };
        let message = missing.to_string().into();
        let reason = match missing {
            MissingVariable::Undescribed(undescribed) => EmptyReason::Undescribed(undescribed),
            MissingVariable::NoVariables => EmptyReason::NoVariables,
            MissingVariable::NoMatch(_) => EmptyReason::NoMatch,
        };
        Ok(Some((reason, message)))
    }
}

/// Returns the reason why none of the variables has a value, or `None` if one has.
fn unreadable(variables: &[Vec<VariableDocument>]) -> Option<(EmptyReason, Untrusted<'static>)> {
    let lanes = || {
        variables
            .iter()
            .flatten()
            .flat_map(|variable| &variable.lanes)
    };
    if lanes().any(LaneDocument::is_readable) {
        return None;
    }
    let active = || lanes().filter(|lane| lane.state.is_active());
    let all = |state| active().all(|lane| lane.state == state);
    let (reason, message) = if active().next().is_none() {
        (EmptyReason::Inactive, "none of these lanes is active here")
    } else if all(ValueStateKind::OptimizedOut) {
        (
            EmptyReason::OptimizedOut,
            "all variables are optimized out here",
        )
    } else if all(ValueStateKind::Unavailable) {
        (
            EmptyReason::Unavailable,
            "the registers and memory that hold or locate the variables are not available",
        )
    } else {
        (
            EmptyReason::Unreadable,
            "no variable can be read; each line gives the reason",
        )
    };
    Some((reason, message.into()))
}
