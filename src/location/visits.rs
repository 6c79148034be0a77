//! How many places a read may visit: composites of composites of several places multiply.

use crate::error::{ErrorKind, Limit, Result};

/// What one read may visit, where nobody says otherwise. Variables of real code are in a few dozen parts.
pub(super) const VISITS: u64 = 1 << 20;

/// What is left of a number of visits.
#[derive(Debug)]
pub(crate) struct Visits {
    total: u64,
    left: u64,
}

impl Visits {
    pub(crate) fn new(total: u64) -> Visits {
        Visits { total, left: total }
    }

    /// How many were made.
    pub(crate) fn made(&self) -> u64 {
        self.total.saturating_sub(self.left)
    }

    /// Takes so many.
    pub(super) fn charge(&mut self, count: u64) -> Result<()> {
        let Some(left) = self.left.checked_sub(count) else {
            return Err(ErrorKind::Limit {
                limit: Limit::Parts,
                value: self.total,
            }
            .into());
        };
        self.left = left;
        Ok(())
    }
}
