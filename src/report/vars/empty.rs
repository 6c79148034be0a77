//! Why an answer is empty.

use super::{LaneDocument, NameFilter, VariableDocument};
use crate::error::Result;
use crate::inspect::StopFrame;
use crate::nearest::nearest;
use crate::untrusted::Untrusted;

/// How many names a message lists.
const LISTED: usize = 10;

/// Why no variable could be read.
pub(super) struct Reason {
    /// Its stable name.
    pub(super) name: &'static str,
    /// The same for people.
    pub(super) message: Untrusted<'static>,
}

impl Reason {
    /// The reason; nothing if a variable was read.
    ///
    /// * `all_names`: those of the frame, where `filter` leaves none.
    pub(super) fn find(
        frame: &StopFrame<'_, '_, '_>,
        all_names: &[String],
        filter: Option<NameFilter<'_>>,
        variables: &[VariableDocument],
    ) -> Result<Option<Reason>> {
        if !variables.is_empty() {
            return Ok(unreadable(variables));
        }
        if let (Some(filter), false) = (filter, all_names.is_empty()) {
            let message = no_match(filter.text, all_names).into();
            return Ok(Some(Reason {
                name: "no-match",
                message,
            }));
        }
        Ok(Some(match frame.undescribed()? {
            Some(undescribed) => Reason {
                name: undescribed.name(),
                message: undescribed.to_string().into(),
            },
            None => Reason {
                name: "no-variables",
                message: "no variables are in scope here".into(),
            },
        }))
    }
}

/// Why none of some variables has a value.
fn unreadable(variables: &[VariableDocument]) -> Option<Reason> {
    let lanes = || variables.iter().flat_map(|variable| &variable.lanes);
    if lanes().any(LaneDocument::is_readable) {
        return None;
    }
    let active = || lanes().filter(|lane| lane.state != "inactive");
    let all = |state: &str| active().all(|lane| lane.state == state);
    let (name, message) = if active().next().is_none() {
        ("inactive", "none of these lanes is active here")
    } else if all("optimized-out") {
        ("optimized-out", "all of it is optimized out here")
    } else if all("unavailable") {
        (
            "unavailable",
            "the wave does not say what is in the registers and memory where it is",
        )
    } else {
        ("unreadable", "nothing of it can be read; each says why")
    };
    let message = message.into();
    Some(Reason { name, message })
}

/// What is said of a name or pattern that no variable has.
fn no_match(wanted: &str, names: &[String]) -> String {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if !name.is_empty() && !known.contains(&name.as_str()) && known.len() <= LISTED {
            known.push(name);
        }
    }
    let is_pattern = wanted.contains(['*', '?', '[', '{']);
    let verb = if is_pattern { "matches" } else { "is called" };
    // A global may be far below the variables of the function.
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
