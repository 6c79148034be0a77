//! What one question has cost, in steps and in bytes, and how much more it may cost.
//!
//! A file of a few bytes can name the same thing a million times, or say that there are a million of it. What a
//! reader then does is in no relation to the file, unless somebody counts. A [`Meter`] counts for one question:
//! for the check of a file with everything in it, for the variables of a frame, for the call stack of a wave.
//! Whoever does work that input decides about pays for it before doing it, and so does whoever asks for memory.
//!
//! * A *step* is what takes about as long as reading an entry: an operation, an entry, a row, an entry of a list,
//!   a machine instruction followed. What copies or compares bytes takes one for some dozen of them.
//! * A *byte* is one that is asked for and kept. What is dropped while the question lasts is given back.
//!
//! What a question may cost is a floor, which every file may, and so much for each byte of the file: see
//! [`Limits::work`] and [`Limits::memory`].
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

/// How many bytes that are copied, compared or passed over count as a step.
pub(crate) const BYTES_PER_STEP: u64 = 32;

impl Limits {
    /// Returns how many steps a question about a file of `length` bytes may take.
    pub(crate) fn most_steps(&self, length: u64) -> u64 {
        let steps = self.work_per_byte.saturating_mul(length);
        self.work.saturating_add(steps)
    }
}

/// Counts the steps and bytes of one question, and refuses those that are too many.
///
/// Several threads can look at one. Steps that they count at the same moment may be lost, which is why threads that
/// share a question each have a fork of the meter.
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
    /// Steps of the questions before this one.
    earlier: AtomicU64,
    /// Bytes that were held when the question was asked.
    before: u64,
    bytes: AtomicU64,
    /// The most bytes that were held at one time.
    peak: AtomicU64,
    /// True if bytes were refused.
    is_full: core::sync::atomic::AtomicBool,
}

impl Meter {
    /// Creates a meter for a question about a file of `length` bytes, of which nothing is used yet.
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

    /// Returns a meter for what may take so many steps, and holds nothing.
    pub(crate) fn of_steps(limits: &Limits, steps: u64) -> Meter {
        Meter::of(limits, steps, 0)
    }

    /// Returns a meter for another question about the same file, which may take as many steps again, and hold what is left.
    #[must_use]
    pub fn question(&self) -> Meter {
        let meter = Meter::of(&self.limits, self.most_steps, self.most_bytes);
        let before = self.bytes();
        Meter {
            before,
            bytes: before.into(),
            peak: before.into(),
            ..meter
        }
    }

    /// Returns a meter for a question about several files together: as many steps as each may take, and what all together may still
    /// hold.
    #[cfg(feature = "serde")]
    pub(crate) fn question_about<'m>(files: impl Iterator<Item = &'m Meter>) -> Option<Meter> {
        files.map(Meter::question).reduce(|mut all, file| {
            all.most_steps = all.most_steps.saturating_add(file.most_steps);
            all.most_bytes = all.most_bytes.saturating_add(file.most_bytes);
            all.before = all.before.saturating_add(file.before);
            all.bytes = all.before.into();
            all.peak = all.before.into();
            all
        })
    }

    /// Returns a meter for reading ahead into caches: a quarter of what the file may cost, or none if half of that is used already, so
    /// that enough is left for what has to be read.
    pub(crate) fn for_prefetch(&self) -> Option<Meter> {
        let is_left = self.steps() <= self.most_steps / 2 && self.bytes() <= self.most_bytes / 2;
        is_left.then(|| Meter::of(&self.limits, self.most_steps / 4, self.most_bytes / 4))
    }

    /// Returns a meter for what may take so many steps, if that many are left, and hold all that may be held.
    pub(crate) fn part(&self, steps: u64) -> Meter {
        let bytes = self.most_bytes.saturating_sub(self.bytes());
        Meter::of(&self.limits, self.steps_left().min(steps), bytes)
    }

    /// Returns the share of some steps that a part of the work may take, by its size.
    ///
    /// * `rest`: the size of this part and of those after it, from which its own is taken.
    pub(crate) fn share(steps: u64, size: u64, rest: &mut u64) -> u64 {
        let share = u128::from(steps).saturating_mul(size.into());
        let share = share.div_euclid(u128::from((*rest).max(1)));
        *rest = rest.saturating_sub(size);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Returns a meter for a thread that does a part of the question: it starts with what was used until now.
    pub(crate) fn fork(&self) -> Meter {
        let fork = Meter::of(&self.limits, self.most_steps, self.most_bytes);
        fork.steps.store(self.steps(), Ordering::Relaxed);
        fork.bytes.store(self.bytes(), Ordering::Relaxed);
        fork.peak.store(self.bytes(), Ordering::Relaxed);
        fork
    }

    /// Returns the limits that it was made of; those of single evaluations are in them too.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns how many steps were taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed).min(self.most_steps)
    }

    /// Returns how many steps were taken by all questions that were asked one after the other.
    #[must_use]
    pub fn steps_of_all(&self) -> u64 {
        (self.steps()).saturating_add(self.earlier.load(Ordering::Relaxed))
    }

    /// Returns how many steps may be taken in all.
    #[must_use]
    pub fn most_steps(&self) -> u64 {
        self.most_steps
    }

    /// Returns how many steps may still be taken.
    #[inline]
    pub(crate) fn steps_left(&self) -> u64 {
        (self.most_steps).saturating_sub(self.steps.load(Ordering::Relaxed))
    }

    /// Returns how many bytes are held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the most bytes that were held at one time.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Returns how many bytes may be held in all.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Returns the error of what was refused, if something was: then there is an answer that is not complete.
    #[must_use]
    pub fn refused(&self) -> Option<Error> {
        if self.steps.load(Ordering::Relaxed) > self.most_steps {
            return Some(self.no_steps());
        }
        self.is_full
            .load(Ordering::Relaxed)
            .then(|| self.no_bytes())
    }

    /// Pays for `steps`. Once they could not be paid for, nothing is done any more: what is asked for next would cost as
    /// much as what was refused.
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

    /// Charges for copying, comparing or passing over so many bytes.
    ///
    /// # Errors
    /// As [`work`](Meter::work).
    #[inline]
    pub(crate) fn charge_bytes(&self, bytes: usize) -> Result<()> {
        self.work((bytes as u64).div_ceil(BYTES_PER_STEP))
    }

    /// Returns true if so many more bytes may be held.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let held = self.bytes().checked_add(bytes);
        held.is_some_and(|held| held <= self.most_bytes)
    }

    /// Takes as many steps as there are, but no more than `most`; gives how many.
    #[inline]
    pub(crate) fn take_steps(&self, most: u32) -> u32 {
        let left = self.steps_left();
        let taken = u32::try_from(left).map_or(most, |left| left.min(most));
        let sum = (self.steps.load(Ordering::Relaxed)).saturating_add(taken.into());
        self.steps.store(sum, Ordering::Relaxed);
        taken
    }

    /// Gives back steps that were paid for and not taken.
    #[inline]
    pub(crate) fn refund_steps(&self, steps: u64) {
        let left = self.steps.load(Ordering::Relaxed).saturating_sub(steps);
        self.steps.store(left, Ordering::Relaxed);
    }

    /// Starts to count the steps and bytes of another question; what the last one held is not held any more.
    pub(crate) fn reset(&self) {
        self.earlier.fetch_add(self.steps(), Ordering::Relaxed);
        self.steps.store(0, Ordering::Relaxed);
        self.bytes.store(self.before, Ordering::Relaxed);
        self.is_full.store(false, Ordering::Relaxed);
    }

    /// Pays for `bytes` that are asked for and kept.
    ///
    /// # Errors
    /// [`Limit::Memory`] if fewer are left; then none are paid for, and what takes fewer may still be.
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

    /// Checks that there is room for bytes that are needed for a moment, without counting them.
    ///
    /// # Errors
    /// As [`hold`](Meter::hold).
    pub(crate) fn check_room(&self, bytes: u64) -> Result<()> {
        if self.has_room(bytes) {
            return Ok(());
        }
        self.is_full.store(true, Ordering::Relaxed);
        Err(self.no_bytes())
    }

    /// Charges for text of a document, which is made, kept and printed.
    ///
    /// # Errors
    /// As [`work`](Meter::work) and [`hold`](Meter::hold).
    pub(crate) fn charge_text(&self, length: usize) -> Result<()> {
        /// Numbers are what most of it is, and the digits of one take a step.
        const LETTERS_PER_STEP: u64 = 4;
        let length = length as u64;
        self.work(length.div_ceil(LETTERS_PER_STEP))?;
        self.hold(length)
    }

    /// Pays for `count` values of a type that are kept.
    ///
    /// # Errors
    /// As [`hold`](Meter::hold).
    #[inline]
    pub(crate) fn hold_all<T>(&self, count: usize) -> Result<()> {
        self.hold((count as u64).saturating_mul(size_of::<T>() as u64))
    }

    /// Gives back bytes that were paid for and are not kept any more.
    pub(crate) fn release(&self, bytes: u64) {
        let less = |held: u64| Some(held.saturating_sub(bytes));
        // It never gives nothing.
        let _ = (self.bytes).fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Takes over what threads have done that had a [`fork`](Meter::fork) each, if all of it together could be paid for.
    ///
    /// Whether it could does not depend on which thread did what. If it could not, nothing is taken over: what was
    /// refused to which thread does depend on it, and the work is to be done again by one.
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
        // More than there are, so that nothing is left and it shows that something was refused.
        let none = self.most_steps.saturating_add(1);
        self.steps.store(none, Ordering::Relaxed);
        self.no_steps()
    }

    #[cold]
    fn out_of_bytes(&self, bytes: u64) -> Error {
        // The sum may have wrapped, which subtracting undoes.
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.is_full.store(true, Ordering::Relaxed);
        self.no_bytes()
    }

    fn no_steps(&self) -> Error {
        reached(Limit::Work, self.most_steps)
    }

    fn no_bytes(&self) -> Error {
        reached(Limit::Memory, self.most_bytes)
    }
}

/// Bytes that somebody holds who may be gone before the question is answered; they are given back then.
#[derive(Debug)]
pub(crate) struct Held {
    meter: Arc<Meter>,
    bytes: AtomicU64,
}

impl Held {
    /// Holds nothing yet.
    pub(crate) fn new(meter: Arc<Meter>) -> Held {
        Held {
            meter,
            bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Gives back bytes of what is not kept after all.
    pub(crate) fn release(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.meter.release(bytes);
    }

    /// Holds bytes if there is room for them. What is not held counts as nothing that was refused.
    pub(crate) fn try_hold(&self, bytes: u64) -> bool {
        self.meter.has_room(bytes) && self.hold(bytes).is_ok()
    }

    /// As [`Meter::hold`].
    pub(crate) fn hold(&self, bytes: u64) -> Result<()> {
        self.meter.hold(bytes)?;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// As [`Meter::hold_all`].
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
    fn what_a_question_may_cost_grows_with_its_file() {
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
