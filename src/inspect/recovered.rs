//! Describes recovered values, which the debugging information does not locate: their keeper, and the time of the value.
//!
//! `kernel_argument` and `kept_value` find them. Source: `spec-notes/lost-values.md`.

use super::plan::PlannedVariable;
use super::value::{Contents, ValueStateKind};
use super::variable::{Reader, size_read};
use crate::arch::{Lane, ProcessAddress};
use crate::debug_info::types::{TypeId, TypeTable};
use crate::eval::PerLane;

/// The keeper of a value without a location in the debugging information.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecoveredFrom {
    /// The memory with the arguments of the kernel.
    Kernarg,
    /// The caller: one of its registers or slots that a call does not change.
    CallSite,
    /// A register.
    Register,
    /// A slot of the stack.
    Slot,
    /// Several of these, or a value computed from them.
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

/// The origin of a value without a location in the debugging information.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The keeper of the value.
    pub from: RecoveredFrom,
    /// The last address at which the debugging information gave the value, or `None` for a parameter's value on entry.
    pub as_of: Option<ProcessAddress>,
}

impl Recovered {
    /// Returns the state of lanes with such a value.
    #[must_use]
    pub fn state(&self) -> ValueStateKind {
        match self.as_of {
            None => ValueStateKind::Entry,
            Some(_) => ValueStateKind::LastKnown,
        }
    }

    /// Returns the origin of a value that is computed from two.
    pub(crate) fn and(self, other: Recovered) -> Recovered {
        let from = match self.from == other.from {
            true => self.from,
            false => RecoveredFrom::Computed,
        };
        // The older of the two applies to the combined value.
        let as_of = match (self.as_of, other.as_of) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Recovered { from, as_of }
    }
}

impl<'p, 'a> Reader<'_, '_, 'p, 'a> {
    /// Reads a value without a location from the keeper of an earlier value, if one is known. If a limit is reached, the contents are its error.
    pub(super) fn recover(
        &self,
        planned: &PlannedVariable<'a>,
        ty: TypeId,
        types: &mut TypeTable,
    ) -> (Contents<'p>, Option<Recovered>) {
        let is_wanted = self.frame.stop.options().recovers_values();
        let size = size_read(types, ty).filter(|size| is_wanted && *size != 0);
        let variable = &planned.variable;
        let plans = || {
            let find = || self.frame.kept_values(self.function).ok().flatten();
            self.kept.get_or_init(find).clone()
        };
        let argument = size.and_then(|bits| {
            let (frame, bytes) = (&self.frame, bits / 8);
            let argument = frame.kernel_argument(variable, self.function, bytes, plans);
            let (location, recovered) = argument?;
            let contents = self.fetch(PerLane::All(location), bits).ok()?;
            Some((contents, recovered))
        });
        let kept = || {
            let bits = size?;
            let kept = self.frame.read_kept(&plans()?, variable.die, bits / 8)?;
            self.keep(bits, self.frame.wave_size().lanes()).ok()?;
            Some(kept)
        };
        // Unreadable memory, as in a log, need not be read: the kernel may have loaded the argument.
        let is_read = argument
            .as_ref()
            .is_some_and(|(contents, _)| contents.is_whole(Lane(0)));
        let found = match is_read {
            true => argument,
            false => kept().or(argument),
        };
        match (self.frame.stop.meter().refused(), found) {
            (Some(limit), _) => (Contents::Failed(limit), None),
            (None, Some((contents, recovered))) => (contents, Some(recovered)),
            (None, None) => (Contents::None, None),
        }
    }
}
