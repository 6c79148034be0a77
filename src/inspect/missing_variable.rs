//! Explains why a frame has no variable with a name.

use core::fmt;

use super::Undescribed;
use super::stop::StopFrame;
use crate::error::Result;
use crate::nearest::nearest;
use crate::untrusted::Untrusted;

/// The maximum number of names in a message.
const LISTED: usize = 10;

/// The reason why a frame has no variable with a name. `Display` prints it.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingVariable {
    /// The debugging information does not describe the code at this address.
    Undescribed(Undescribed),
    /// No variable is in scope.
    NoVariables,
    /// Variables are in scope, and none of them has the name. The sentence lists some of their names.
    NoMatch(String),
}

impl fmt::Display for MissingVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissingVariable::Undescribed(undescribed) => undescribed.fmt(f),
            MissingVariable::NoVariables => f.write_str("no variables are in scope here"),
            MissingVariable::NoMatch(message) => Untrusted::from(message.as_str()).fmt(f),
        }
    }
}

impl StopFrame<'_, '_, '_> {
    /// Explains why no variable of the frame has a name.
    ///
    /// * `wanted`: the name, or a pattern of the command.
    /// * `names`: the names of all variables in scope.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn missing_variable<N: AsRef<str>>(
        &self,
        wanted: &str,
        names: &[N],
    ) -> Result<MissingVariable> {
        if !names.is_empty() {
            return Ok(MissingVariable::NoMatch(no_match(wanted, names)));
        }
        let undescribed = self.undescribed()?;
        Ok(undescribed.map_or(MissingVariable::NoVariables, MissingVariable::Undescribed))
    }
}

/// Returns the message for a name or pattern that matches no variable.
fn no_match<N: AsRef<str>>(wanted: &str, names: &[N]) -> String {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        let name = name.as_ref();
        if !name.is_empty() && !known.contains(&name) && known.len() <= LISTED {
            known.push(name);
        }
    }
    let is_pattern = wanted.contains(['*', '?', '[', '{']);
    let verb = if is_pattern { "matches" } else { "is called" };
    // All names are searched, because a global may come long after the variables of the function.
    let all = names.iter().map(AsRef::as_ref);
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
