//! What one file may cost: bounds on everything that is made from its bytes.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ErrorKind, Limit, Result};

/// Bounds on the work and memory that one file can cause.
///
/// They are always on and can only be raised; the defaults are far above what real files need.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes made from the file's and held at one time: sections decompressed or relocated, code objects
    /// copied out of a compressed bundle, the bundle itself while it is searched. Default: 512 MiB.
    ///
    /// Independently of this, compressed data of `n` bytes may claim at most 64 MiB or 1100 times `n`,
    /// whichever is more: DEFLATE cannot do better, and real data never does.
    pub decompressed: u64,
    /// Code objects in one file, and entries of bundles looked at. Default: 2^18.
    pub entries: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            decompressed: 512 << 20,
            entries: 1 << 18,
        }
    }
}

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
            .map_err(|_| {
                ErrorKind::Limit {
                    limit: self.limit,
                    value: self.total,
                }
                .into()
            })
    }
}

#[cfg(test)]
#[allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test that overflows has failed"
)]
mod tests {
    use super::*;

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
