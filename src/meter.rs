//! Counts the cost of one query, in steps and in bytes, and limits it.
//!
//! A file of a few bytes can refer to the same item a million times, or claim to have a million items. Without counting, the work would be out of
//! proportion to the file. A [`Meter`] counts for one query: checking a whole file, the variables of a frame, or the call stack of a wave. Code whose
//! work or memory depends on the input charges the meter first.
//!
//! * A *step* takes about as long as reading an entry. The table lists the cost of each kind of work.
//! * A *byte* is one that is allocated and kept. Bytes that are freed during the query are returned.
//!
//! | work | steps for one | defined in |
//! |---|---|---|
//! | entry, operation, list entry, instruction of a line table or of call frame information | 1 | the module that reads it |
//! | machine instruction, decoded | 1 | `lane_flow/fuel.rs`, `cfi_check/mod.rs` |
//! | machine instruction, followed for a lane | 1/8 | `lane_flow/fuel.rs` |
//! | value of a state, compared by `lane_flow` | 1/64 | `lane_flow/fuel.rs` |
//! | machine instruction, compared with call frame information | 8 | `cfi_check/flow.rs` |
//! | rule of a row, copied or moved | 1/16 | `frame/row.rs` |
//! | member, enumerator or variant, searched by `display` | 1/8 | `display/mod.rs` |
//! | byte copied, compared or skipped | 1/32 | `meter.rs` (`BYTES_PER_STEP`) |
//! | byte of a dump | 1/16 | `dump/output.rs` |
//! | byte of the text of a document | 1/4 | `meter.rs` (`charge_text`) |
//!
//! Larger costs are constants beside their code, such as `PER_ENTRY` in `object/containers/mod.rs`: 16 steps for an entry of a container.
//!
//! A query may cost a base amount for every file, and an amount for each byte of the file: see [`Limits::work`] and [`Limits::memory`].
//!
//! ```
//! use std::sync::Arc;
//! use hetdwarf::{Limits, meter::Meter, object::CodeObject};
//!
//! let file = std::fs::read("tests/debug_info/made.elf").unwrap();
//! let meter = Arc::new(Meter::new(&Limits::default(), file.len() as u64));
//! let object = CodeObject::parse_within(&file, &meter)?;
//! let opened = meter.steps();
//! assert!(0 < opened && opened < meter.most_steps());
//!
//! // What is asked of the object is paid for with the same meter.
//! object.section(".debug_info")?;
//! assert!(meter.steps() >= opened && meter.refused().is_none());
//! # Ok::<(), hetdwarf::Error>(())
//! ```

mod stack;

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::error::{Error, Limit, Result};
use crate::limits::{Limits, reached};
pub(crate) use stack::HeldStack;

/// The number of bytes copied, compared or skipped for each step.
pub(crate) const BYTES_PER_STEP: u64 = 32;

impl Limits {
    /// Returns the number of steps allowed for a query about a file of `length` bytes.
    pub(crate) fn most_steps(&self, length: u64) -> u64 {
        let steps = self.work_per_byte.saturating_mul(length);
        self.work.saturating_add(steps)
    }
}

/// Counts the steps and bytes of one query, and rejects excess ones.
///
/// Several threads can use one. Simultaneous steps may be lost, so threads that share a query each have a fork of the meter.
///
/// ```
/// use hetdwarf::{limits::Limits, meter::Meter};
///
/// let mut limits = Limits::DEFAULT;
/// (limits.work, limits.work_per_byte) = (1000, 2);
/// let meter = Meter::new(&limits, 50);
/// assert_eq!((meter.steps(), meter.most_steps()), (0, 1100));
/// ```
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    most_steps: u64,
    most_bytes: u64,
    steps: AtomicU64,
    /// The steps of the earlier queries.
    earlier: AtomicU64,
    /// The bytes held at the start of the query.
    before: u64,
    bytes: AtomicU64,
    /// The maximum number of bytes held at one time.
    peak: AtomicU64,
    /// True if bytes were refused.
    is_full: core::sync::atomic::AtomicBool,
}

impl Meter {
    /// Creates an unused meter for a query about a file of `length` bytes.
    #[must_use]
    pub fn new(limits: &Limits, length: u64) -> Meter {
        let bytes = limits.memory_per_byte.saturating_mul(length);
        let most_bytes = limits.memory.saturating_add(bytes);
        Meter::of(limits, limits.most_steps(length), most_bytes)
    }

    fn of(limits: &Limits, most_steps: u64, most_bytes: u64) -> Meter {
        Meter {
            limits: *limits,
            most_steps,
            most_bytes,
            steps: AtomicU64::new(0),
            earlier: AtomicU64::new(0),
            before: 0,
            bytes: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            is_full: false.into(),
        }
    }

    /// Returns a meter with this many steps, which holds nothing.
    pub(crate) fn of_steps(limits: &Limits, steps: u64) -> Meter {
        Meter::of(limits, steps, 0)
    }

    /// Returns a meter for another query about the same file, with a full budget of steps, and the remaining memory.
    #[must_use]
    pub fn for_query(&self) -> Meter {
        let meter = Meter::of(&self.limits, self.most_steps, self.most_bytes);
        let before = self.bytes();
        Meter {
            before,
            bytes: before.into(),
            peak: before.into(),
            ..meter
        }
    }

    /// Returns a meter for a query about several files together. It has the sum of their step budgets, and their remaining memory together.
    #[cfg(feature = "serde")]
    pub(crate) fn for_query_about<'m>(files: impl Iterator<Item = &'m Meter>) -> Option<Meter> {
        files.map(Meter::for_query).reduce(|mut all, file| {
            all.most_steps = all.most_steps.saturating_add(file.most_steps);
            all.most_bytes = all.most_bytes.saturating_add(file.most_bytes);
            all.before = all.before.saturating_add(file.before);
            all.bytes = all.before.into();
            all.peak = all.before.into();
            all
        })
    }

    /// Returns a meter for reading ahead into caches, with a quarter of the file's budget. Returns `None` if more than half of the budget is used, to
    /// leave enough for required reading.
    pub(crate) fn for_prefetch(&self) -> Option<Meter> {
        let is_left = self.steps() <= self.most_steps / 2 && self.bytes() <= self.most_bytes / 2;
        is_left.then(|| Meter::of(&self.limits, self.most_steps / 4, self.most_bytes / 4))
    }

    /// Returns a meter with this many steps, but no more than are left, and the remaining memory.
    pub(crate) fn part(&self, steps: u64) -> Meter {
        let bytes = self.most_bytes.saturating_sub(self.bytes());
        Meter::of(&self.limits, self.steps_left().min(steps), bytes)
    }

    /// Returns the share of some steps for a part of the work, by its size.
    ///
    /// * `rest`: the total size of this part and the later ones. This part's size is subtracted from it.
    pub(crate) fn share(steps: u64, size: u64, rest: &mut u64) -> u64 {
        let share = u128::from(steps).saturating_mul(size.into());
        let share = share.div_euclid(u128::from((*rest).max(1)));
        *rest = rest.saturating_sub(size);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Returns a meter for a thread that does a part of the query. It starts with the current usage.
    pub(crate) fn fork(&self) -> Meter {
        let fork = Meter::of(&self.limits, self.most_steps, self.most_bytes);
        fork.steps.store(self.steps(), Ordering::Relaxed);
        fork.bytes.store(self.bytes(), Ordering::Relaxed);
        fork.peak.store(self.bytes(), Ordering::Relaxed);
        fork
    }

    /// Returns its limits, which include those on single evaluations.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the number of steps taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed).min(self.most_steps)
    }

    /// Returns the number of steps taken by all queries in sequence.
    #[must_use]
    pub fn steps_of_all(&self) -> u64 {
        (self.steps()).saturating_add(self.earlier.load(Ordering::Relaxed))
    }

    /// Returns the maximum number of steps.
    #[must_use]
    pub fn most_steps(&self) -> u64 {
        self.most_steps
    }

    /// Returns the number of steps left.
    #[inline]
    pub(crate) fn steps_left(&self) -> u64 {
        (self.most_steps).saturating_sub(self.steps.load(Ordering::Relaxed))
    }

    /// Returns the number of bytes held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of bytes held at one time.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of bytes that may be held.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Returns the error of the refusal, if any charge was refused. An answer is then incomplete.
    #[must_use]
    pub fn refused(&self) -> Option<Error> {
        if self.steps.load(Ordering::Relaxed) > self.most_steps {
            return Some(self.no_steps());
        }
        self.is_full
            .load(Ordering::Relaxed)
            .then(|| self.no_bytes())
    }

    /// Charges for `steps`. After a refusal all further charges are refused, because they would cost as much as the refused one.
    ///
    /// # Errors
    /// [`Limit::Work`] if fewer are left.
    #[inline]
    pub fn work(&self, steps: u64) -> Result<()> {
        let sum = self.steps.load(Ordering::Relaxed).saturating_add(steps);
        if sum > self.most_steps {
            return Err(self.out_of_steps());
        }
        self.steps.store(sum, Ordering::Relaxed);
        Ok(())
    }

    /// Charges for copying, comparing or skipping this many bytes.
    ///
    /// # Errors
    /// Fails like [`work`](Meter::work).
    #[inline]
    pub(crate) fn charge_bytes(&self, bytes: usize) -> Result<()> {
        self.work((bytes as u64).div_ceil(BYTES_PER_STEP))
    }

    /// Returns true if this many more bytes may be held.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let held = self.bytes().checked_add(bytes);
        held.is_some_and(|held| held <= self.most_bytes)
    }

    /// Takes the remaining steps, but no more than `most`. Returns their number.
    #[inline]
    pub(crate) fn take_steps(&self, most: u32) -> u32 {
        let left = self.steps_left();
        let taken = u32::try_from(left).map_or(most, |left| left.min(most));
        let sum = (self.steps.load(Ordering::Relaxed)).saturating_add(taken.into());
        self.steps.store(sum, Ordering::Relaxed);
        taken
    }

    /// Returns steps that were charged and not used.
    #[inline]
    pub(crate) fn refund_steps(&self, steps: u64) {
        let left = self.steps.load(Ordering::Relaxed).saturating_sub(steps);
        self.steps.store(left, Ordering::Relaxed);
    }

    /// Starts counting for another query, and releases the bytes held for the last one.
    pub(crate) fn reset(&self) {
        self.earlier.fetch_add(self.steps(), Ordering::Relaxed);
        self.steps.store(0, Ordering::Relaxed);
        self.bytes.store(self.before, Ordering::Relaxed);
        self.is_full.store(false, Ordering::Relaxed);
    }

    /// Charges for `bytes` that are allocated and kept.
    ///
    /// # Errors
    /// [`Limit::Memory`] if fewer are left. Nothing is charged then, and smaller charges may still succeed.
    #[inline]
    pub fn hold(&self, bytes: u64) -> Result<()> {
        let sum = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        match sum.checked_add(bytes) {
            Some(sum) if sum <= self.most_bytes => {
                self.peak.fetch_max(sum, Ordering::Relaxed);
                Ok(())
            }
            Some(_) | None => Err(self.out_of_bytes(bytes)),
        }
    }

    /// Checks that there is room for temporary bytes, without counting them.
    ///
    /// # Errors
    /// Fails like [`hold`](Meter::hold).
    pub(crate) fn check_room(&self, bytes: u64) -> Result<()> {
        if self.has_room(bytes) {
            return Ok(());
        }
        self.is_full.store(true, Ordering::Relaxed);
        Err(self.no_bytes())
    }

    /// Charges for text of a document, which is formatted, kept and printed.
    ///
    /// # Errors
    /// Fails like [`work`](Meter::work) and [`hold`](Meter::hold).
    pub(crate) fn charge_text(&self, length: usize) -> Result<()> {
        /// Most of it is numbers, each of which takes a step to format.
        const LETTERS_PER_STEP: u64 = 4;
        let length = length as u64;
        self.work(length.div_ceil(LETTERS_PER_STEP))?;
        self.hold(length)
    }

    /// Charges for `count` values of a type that are kept.
    ///
    /// # Errors
    /// Fails like [`hold`](Meter::hold).
    #[inline]
    pub(crate) fn hold_all<T>(&self, count: usize) -> Result<()> {
        self.hold((count as u64).saturating_mul(size_of::<T>() as u64))
    }

    /// Releases bytes that were charged and are no longer kept.
    pub(crate) fn release(&self, bytes: u64) {
        let less = |held: u64| Some(held.saturating_sub(bytes));
        // The closure never returns `None`.
        let _ = (self.bytes).fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Adds the usage of threads with a [`fork`](Meter::fork) each. Returns false if the total exceeds the budget.
    ///
    /// The result does not depend on the distribution of work between threads. If it is false, nothing is added: the refusals of single threads
    /// depend on the distribution, so one thread must repeat the work.
    pub(crate) fn join(&self, forks: &[Arc<Meter>]) -> bool {
        let start = (self.steps(), self.bytes());
        let used = |before: u64, after: u64| after.saturating_sub(before);
        let (mut steps, mut bytes, mut peak) = (start.0, start.1, self.peak_bytes());
        for fork in forks {
            if fork.refused().is_some() {
                return false;
            }
            steps = steps.saturating_add(used(start.0, fork.steps()));
            bytes = bytes.saturating_add(used(start.1, fork.bytes()));
            peak = peak.max(fork.peak_bytes());
        }
        let fits = steps <= self.most_steps && bytes <= self.most_bytes;
        if fits {
            self.steps.store(steps, Ordering::Relaxed);
            self.bytes.store(bytes, Ordering::Relaxed);
            self.peak.store(peak.max(bytes), Ordering::Relaxed);
        }
        fits
    }

    #[cold]
    fn out_of_steps(&self) -> Error {
        // More than the budget, so that none are left and the refusal is recorded.
        let none = self.most_steps.saturating_add(1);
        self.steps.store(none, Ordering::Relaxed);
        self.no_steps()
    }

    #[cold]
    fn out_of_bytes(&self, bytes: u64) -> Error {
        // The sum may have wrapped; subtracting reverts that.
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.is_full.store(true, Ordering::Relaxed);
        self.no_bytes()
    }

    /// Returns the error for exceeding the budget of steps.
    pub(crate) fn no_steps(&self) -> Error {
        reached(Limit::Work, self.most_steps)
    }

    fn no_bytes(&self) -> Error {
        reached(Limit::Memory, self.most_bytes)
    }
}

/// Bytes held by an owner that may be dropped before the end of the query. They are released then.
#[derive(Debug)]
pub(crate) struct Held {
    meter: Arc<Meter>,
    bytes: AtomicU64,
}

impl Held {
    /// Creates an owner that holds nothing.
    pub(crate) fn new(meter: Arc<Meter>) -> Held {
        Held {
            meter,
            bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Releases bytes that are not kept after all.
    pub(crate) fn release(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.meter.release(bytes);
    }

    /// Holds bytes if there is room for them. A failure does not count as a refusal.
    pub(crate) fn try_hold(&self, bytes: u64) -> bool {
        self.meter.has_room(bytes) && self.hold(bytes).is_ok()
    }

    /// Holds bytes like [`Meter::hold`].
    pub(crate) fn hold(&self, bytes: u64) -> Result<()> {
        self.meter.hold(bytes)?;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Holds values like [`Meter::hold_all`].
    pub(crate) fn hold_all<T>(&self, count: usize) -> Result<()> {
        self.hold((count as u64).saturating_mul(size_of::<T>() as u64))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.meter.release(*self.bytes.get_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn small(work: u64, memory: u64) -> Meter {
        let limits = Limits {
            work,
            memory,
            work_per_byte: 0,
            memory_per_byte: 0,
            ..Limits::DEFAULT
        };
        Meter::new(&limits, 1 << 40)
    }

    fn limit(result: Result<()>) -> (Limit, u64) {
        let error = result.unwrap_err();
        let ErrorKind::Limit { limit, value } = error.kind() else {
            panic!("{error}");
        };
        (*limit, *value)
    }

    #[test]
    fn what_a_query_may_cost_grows_with_its_file() {
        let limits = Limits {
            work: 100,
            work_per_byte: 3,
            memory: 7,
            memory_per_byte: 2,
            ..Limits::DEFAULT
        };
        let meter = Meter::new(&limits, 10);
        assert_eq!((meter.most_steps(), meter.most_bytes()), (130, 27));
        let all = Limits {
            work: u64::MAX,
            memory: u64::MAX,
            ..limits
        };
        let meter = Meter::new(&all, u64::MAX);
        meter.work(u64::MAX).unwrap();
        meter.hold(u64::MAX).unwrap();
        meter.release(u64::MAX);
        assert_eq!(meter.bytes(), 0);
    }

    #[test]
    fn after_a_step_that_was_refused_there_is_none() {
        let meter = small(10, 0);
        meter.work(4).unwrap();
        assert!(meter.refused().is_none());
        assert_eq!(limit(meter.work(7)), (Limit::Work, 10));
        assert_eq!(limit(meter.work(1)), (Limit::Work, 10));
        assert_eq!(
            limit(meter.refused().map_or(Ok(()), Err)),
            (Limit::Work, 10)
        );
        assert_eq!(meter.steps(), 10);
        meter.reset();
        meter.work(10).unwrap();
        meter.refund_steps(3);
        assert_eq!(meter.steps_left(), 3);
    }

    #[test]
    fn bytes_that_were_refused_leave_room_for_fewer() {
        let meter = small(0, 10);
        meter.hold(4).unwrap();
        assert_eq!(limit(meter.hold(7)), (Limit::Memory, 10));
        assert_eq!(limit(meter.hold(u64::MAX)), (Limit::Memory, 10));
        assert_eq!(meter.bytes(), 4);
        meter.hold(6).unwrap();
        meter.release(2);
        assert!(meter.hold(3).is_err());
        meter.hold(2).unwrap();
        assert_eq!(
            limit(meter.refused().map_or(Ok(()), Err)),
            (Limit::Memory, 10)
        );
        let meter = Arc::new(small(0, 10));
        let held = Held::new(Arc::clone(&meter));
        held.hold(10).unwrap();
        assert!(held.hold(1).is_err());
        drop(held);
        assert_eq!((meter.bytes(), meter.peak_bytes()), (0, 10));
    }

    #[test]
    fn room_for_a_moment_is_not_held() {
        let meter = small(0, 10);
        meter.hold(4).unwrap();
        meter.check_room(6).unwrap();
        assert_eq!((meter.bytes(), meter.peak_bytes()), (4, 4));
        assert!(meter.refused().is_none());
        assert_eq!(limit(meter.check_room(7)), (Limit::Memory, 10));
        assert_eq!(limit(meter.check_room(u64::MAX)), (Limit::Memory, 10));
        assert!(meter.refused().is_some() && meter.bytes() == 4);
    }

    #[test]
    fn threads_may_take_together_what_one_may() {
        let meter = small(10, 10);
        meter.work(2).unwrap();
        meter.hold(1).unwrap();
        let forks = [meter.fork(), meter.fork()].map(Arc::new);
        for (fork, (steps, bytes)) in forks.iter().zip([(3, 4), (5, 5)]) {
            fork.work(steps).unwrap();
            fork.hold(bytes).unwrap();
        }
        assert!(meter.join(&forks));
        assert_eq!((meter.steps(), meter.bytes()), (10, 10));
        let meter = small(10, 10);
        let forks = [meter.fork(), meter.fork()].map(Arc::new);
        forks.iter().for_each(|fork| fork.work(6).unwrap());
        assert!(!meter.join(&forks));
        assert_eq!(meter.steps(), 0);
    }
}
