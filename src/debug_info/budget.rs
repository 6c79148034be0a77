//! How much of the input one question may read or keep.
//!
//! Entries refer to lists and to each other, so a small file can make a naive reader look at the same
//! bytes again and again. Everything that follows such a reference pays for it here.

use crate::error::{ErrorKind, Limit, Result};

/// What is left of a limit.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: Limit,
    total: u64,
    left: u64,
}

impl Budget {
    /// Entries and ranges looked at in one question; a million times what real code asks for.
    pub(crate) fn reading() -> Budget {
        Budget::new(Limit::Dies, 1 << 24)
    }

    /// Entries, ranges and letters looked at to say where the frames of a call stack are. Of 153 code objects
    /// none needs more than 1,194.
    #[cfg(feature = "serde")]
    pub(crate) fn call_stack() -> Budget {
        Budget::new(Limit::Dies, 1 << 21)
    }

    /// Entries looked at to find what instances of inlined functions leave out. Of 153 code objects none needs
    /// more than 107 at an address.
    pub(super) fn omitted() -> Budget {
        Budget::new(Limit::Dies, 1 << 20)
    }

    /// Entries and ranges kept in memory by one question.
    pub(super) fn keeping() -> Budget {
        Budget::new(Limit::Dies, 1 << 22)
    }

    /// Bytes of text kept in memory by one question.
    pub(crate) fn text() -> Budget {
        Budget::new(Limit::Output, 1 << 26)
    }

    /// Variables that one question finds by reference instead of in their place.
    pub(super) fn references() -> Budget {
        Budget::new(Limit::Dies, 1 << 16)
    }

    fn new(limit: Limit, total: u64) -> Budget {
        Budget {
            limit,
            total,
            left: total,
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
                Err(ErrorKind::Limit {
                    limit: self.limit,
                    value: self.total,
                }
                .into())
            }
        }
    }
}
