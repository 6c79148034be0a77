//! Explains why no variable could be read.

use super::{LaneDocument, NameFilter, VariableDocument};
use crate::error::Result;
use crate::inspect::{StopFrame, Undescribed, ValueStateKind};
use crate::nearest::nearest;
use crate::untrusted::Untrusted;

/// The maximum number of names in a message.
const LISTED: usize = 10;

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
        if let (Some(filter), false) = (filter, all_names.is_empty()) {
            let message = no_match(filter.text, all_names).into();
            return Ok(Some((EmptyReason::NoMatch, message)));
        }
        Ok(Some(match frame.undescribed()? {
            Some(undescribed) => {
                let message = undescribed.to_string().into();
                (EmptyReason::Undescribed(undescribed), message)
            }
            None => (
                EmptyReason::NoVariables,
                "no variables are in scope here".into(),
            ),
        }))
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
            "the registers and memory that hold the variables are not available",
        )
    } else {
        (
            EmptyReason::Unreadable,
            "no variable can be read; each line gives the reason",
        )
    };
    Some((reason, message.into()))
}

/// Returns the message for a name or pattern that matches no variable.
fn no_match(wanted: &str, names: &[String]) -> String {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if !name.is_empty() && !known.contains(&name.as_str()) && known.len() <= LISTED {
            known.push(name);
        }
    }
    let is_pattern = wanted.contains(['*', '?', '[', '{']);
    let verb = if is_pattern { "matches" } else { "is called" };
    // All names are searched, because a global may come long after the variables of the function.
    let all = names.iter().map(String::as_str);
    let near = nearest(wanted, all).filter(|_| !is_pattern);
    match (near, known.get(..LISTED)) {
        (Some(near), _) => format!("no variable here {verb} {wanted}; did you mean {near}?"),
        (None, Some(first)) if known.len() > LISTED => {
            let list = first.join(", ");
            format!("no variable here {verb} {wanted}; there are {list} and others")
        }
        (None, _) => format!(
            "no variable here {verb} {wanted}; there are {}",
            known.join(", ")
        ),
    }
}
