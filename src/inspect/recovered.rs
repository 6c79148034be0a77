//! Values that the debugging information does not give, with what they are instead.
//!
//! Where they are found is left to the files beside this one: `kernel_argument`. Source: `spec-notes/lost-values.md`.

use super::value::ValueStateKind;
use crate::arch::ProcessAddress;

/// What keeps a value that the debugging information does not give.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecoveredFrom {
    /// The memory with the arguments of the kernel.
    Kernarg,
    /// The caller: a register or a slot of it that a call does not change.
    CallSite,
    /// A register.
    Register,
    /// A slot of the stack.
    Slot,
    /// Several of these, or a value that is computed from them.
    Computed,
}

impl RecoveredFrom {
    /// Returns the name in JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            RecoveredFrom::Kernarg => "kernarg",
            RecoveredFrom::CallSite => "call-site",
            RecoveredFrom::Register => "register",
            RecoveredFrom::Slot => "slot",
            RecoveredFrom::Computed => "computed",
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for RecoveredFrom {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What is known of a value that the debugging information does not give.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// What keeps it.
    pub from: RecoveredFrom,
    /// The last address at which the debugging information gave it; `None` for what a parameter was on entry.
    pub as_of: Option<ProcessAddress>,
}

impl Recovered {
    /// Returns the state of the lanes that have such a value.
    #[must_use]
    pub fn state(&self) -> ValueStateKind {
        match self.as_of {
            None => ValueStateKind::Entry,
            Some(_) => ValueStateKind::LastKnown,
        }
    }

    /// Returns what a value is that is made of two.
    pub(crate) fn and(self, other: Recovered) -> Recovered {
        let from = match self.from == other.from {
            true => self.from,
            false => RecoveredFrom::Computed,
        };
        // What is known of the older one is known of both.
        let as_of = match (self.as_of, other.as_of) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Recovered { from, as_of }
    }
}
