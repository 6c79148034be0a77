//! What `annotate` says that it did.

use std::collections::BTreeMap;

use crate::debug_info::Function;
use crate::error::Error;
use crate::lane_flow::Reason;

/// A code object with what was added.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Annotated {
    /// The file; as it was if nothing was added.
    pub file: Vec<u8>,
    /// The functions with debugging information, in its order.
    pub functions: Vec<AnnotatedFunction>,
    /// What was left alone besides, and why.
    pub notes: Vec<String>,
    /// The limit that was reached on the way, if one of the whole file was. What a function's own share was not enough for
    /// is among its [`missing`](AnnotatedFunction::missing).
    pub limit: Option<Error>,
}

impl Annotated {
    /// Whether nothing was left out for a limit.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let is_short =
            |function: &AnnotatedFunction| function.missing.contains_key(Reason::Budget.name());
        self.limit.is_none() && !self.functions.iter().any(is_short)
    }

    /// Notes that nothing is added, and why.
    pub(super) fn give_up(&mut self, error: &Error) {
        self.notes.push(format!("nothing is added: {error}"));
        for function in &mut self.functions {
            if function.left_alone.is_none() {
                function.leave(error.to_string());
            }
        }
    }
}

impl AnnotatedFunction {
    /// A function that nothing was added for so far.
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

    /// Notes that nothing is added for the function, and why.
    pub(super) fn leave(&mut self, why: String) {
        (self.covered, self.added) = (0, 0);
        self.left_alone = Some(why);
    }
}

/// What was added for a function.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct AnnotatedFunction {
    /// Its name.
    pub name: Option<String>,
    /// The address of its code.
    pub address: u64,
    /// The size of its code, in bytes.
    pub size: u64,
    /// How much of that has a lane program location now, in bytes.
    pub covered: u64,
    /// Why not more: bytes by the name of the reason ([`Reason`]).
    pub missing: BTreeMap<&'static str, u64>,
    /// How many bytes were added for it.
    pub added: usize,
    /// Why nothing was added.
    pub left_alone: Option<String>,
}
