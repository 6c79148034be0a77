//! What is left of the limits on what is made from a file's bytes.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Limit, Result};
use crate::limits::reached;

/// What is left of a limit; charged before the work is done.
#[derive(Debug)]
pub(super) struct Budget {
    limit: Limit,
    total: u64,
    left: AtomicU64,
}

impl Budget {
    pub(super) fn new(limit: Limit, total: u64) -> Budget {
        Budget {
            limit,
            total,
            left: AtomicU64::new(total),
        }
    }

    /// Gives back what was charged for something that is no longer held.
    pub(super) fn release(&self, amount: u64) {
        self.left.fetch_add(amount, Ordering::Relaxed);
    }

    /// Takes `amount` away.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if less is left; then nothing is taken.
    pub(super) fn charge(&self, amount: u64) -> Result<()> {
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(amount)
            })
            .map(|_| ())
            .map_err(|_| reached(self.limit, self.total))
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_budget_refuses_more_than_it_has_and_keeps_the_rest() {
        let budget = Budget::new(Limit::Decompressed, 10);
        budget.charge(4).unwrap();
        assert_eq!(
            budget.charge(7).unwrap_err().kind(),
            &ErrorKind::Limit {
                limit: Limit::Decompressed,
                value: 10
            }
        );
        budget.charge(6).unwrap();
        assert!(budget.charge(1).is_err());
        budget.release(2);
        assert!(budget.charge(3).is_err());
        budget.charge(2).unwrap();
    }
}
