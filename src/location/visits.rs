//! How many places a read may visit: composites of composites of several places multiply.

use crate::error::{Limit, Result};
use crate::limits::reached;

/// What one read may visit, where nobody says otherwise. Variables of real code are in a few dozen parts.
pub(super) const VISITS: u64 = 1 << 20;

/// What is left of a number of visits.
#[derive(Debug)]
pub(crate) struct Visits {
    total: u64,
    left: u64,
    /// What is reached when nothing is left, and its value.
    limit: (Limit, u64),
}

impl Visits {
    pub(crate) fn new(total: u64) -> Visits {
        Visits {
            total,
            left: total,
            limit: (Limit::Parts, total),
        }
    }

    /// As many as steps are left of an evaluation that may take `limit`.
    pub(crate) fn of_steps(left: u32, limit: u32) -> Visits {
        Visits {
            total: left.into(),
            left: left.into(),
            limit: (Limit::Steps, limit.into()),
        }
    }

    /// How many were made.
    pub(crate) fn made(&self) -> u64 {
        self.total.saturating_sub(self.left)
    }

    /// Takes so many.
    pub(super) fn charge(&mut self, count: u64) -> Result<()> {
        let Some(left) = self.left.checked_sub(count) else {
            let (limit, value) = self.limit;
            return Err(reached(limit, value));
        };
        self.left = left;
        Ok(())
    }
}
