//! How much of the input one question may read or keep.
//!
//! Entries refer to lists and to each other, so a small file can make a naive reader look at the same
//! bytes again and again. Everything that follows such a reference pays for it here.

use crate::error::{Limit, Result};
use crate::limits::Limits;

/// What is left of a limit, or of a part of it.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u64,
    /// What is said when it is used up: the whole limit, which is what can be set.
    limits: Limits,
    limit: Limit,
}

impl Budget {
    /// Entries and ranges looked at in one question; a million times what real code asks for.
    pub(crate) fn reading(limits: &Limits) -> Budget {
        Budget::part(limits, Limit::Dies, 1)
    }

    /// Entries, ranges and letters looked at to say where the frames of a call stack are.
    #[cfg(feature = "serde")]
    pub(crate) fn call_stack(limits: &Limits) -> Budget {
        Budget::part(limits, Limit::Dies, 8)
    }

    /// Entries looked at to find what instances of inlined functions leave out. Of 153 code objects none needs
    /// more than 107 at an address.
    pub(super) fn omitted(limits: &Limits) -> Budget {
        Budget::part(limits, Limit::Dies, 16)
    }

    /// Entries and ranges kept in memory by one question.
    pub(super) fn keeping(limits: &Limits) -> Budget {
        Budget::part(limits, Limit::Dies, 4)
    }

    /// Bytes of text kept in memory by one question.
    pub(crate) fn text(limits: &Limits) -> Budget {
        Budget::part(limits, Limit::Output, 1)
    }

    /// Variables that one question finds by reference instead of in their place.
    pub(super) fn references(limits: &Limits) -> Budget {
        Budget::part(limits, Limit::Dies, 256)
    }

    /// The `share`th part of a limit, rounded up so that it is nothing only where the limit is.
    fn part(limits: &Limits, limit: Limit, share: u64) -> Budget {
        Budget {
            left: limits.get(limit).div_ceil(share),
            limits: *limits,
            limit,
        }
    }

    /// Pays for `amount` things. Once it could not, nothing can be paid for any more: what is asked next
    /// would cost as much as what was refused.
    pub(crate) fn charge(&mut self, amount: u64) -> Result<()> {
        match self.left.checked_sub(amount) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(self.limits.reached(self.limit))
            }
        }
    }
}
