//! How much work and memory one file, one wave or one question can cost.
//!
//! Nothing in a file is trusted: what it makes a reader do is bounded, always. The defaults are far above what
//! real code needs; who needs more sets more.

use crate::error::{Error, ErrorKind, Limit};

/// A bound for each [`Limit`]. What reaches one fails with [`ErrorKind::Limit`], which says which and its number.
///
/// The limits of a file ([`CodeObject::parse_with`](crate::object::CodeObject::parse_with)) are those of all that
/// is read of it and of the waves that run it; an expression by itself has those of its
/// [`Context`](crate::eval::Context).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// [`Limit::Steps`]: operations executed in one evaluation, those of called expressions included.
    pub steps: u32,
    /// [`Limit::StopSteps`]: the same for all evaluations of one question to a stopped wave, and parts of locations
    /// that are read for them.
    pub stop_steps: u64,
    /// [`Limit::Stack`]: entries on the stack.
    pub stack: u32,
    /// [`Limit::Depth`]: nested calls, location lists, frame bases and entry values, and composites within
    /// composites. Each level needs some of the thread's stack, so that there is a [`MOST_DEPTH`].
    pub depth: u16,
    /// [`Limit::Parts`]: parts of one composite, where each was made by an operation of its own.
    pub parts: u32,
    /// [`Limit::Bits`]: bits read at once.
    pub bits: u64,
    /// [`Limit::Dies`]: debugging information entries, and ranges of code, looked at for one question. What is kept
    /// of them may be a quarter of that, what the frames of a call stack need an eighth, what instances of inlined
    /// functions leave out a sixteenth, and what is found only by references a 256th.
    pub dies: u64,
    /// [`Limit::Frames`]: call frames unwound.
    pub frames: u32,
    /// [`Limit::Output`]: bytes of text, or bits of values, that the answer to one question holds; values of
    /// variables count 64.
    pub output: u64,
    /// [`Limit::Decompressed`]: bytes made from the file's and held at one time: sections decompressed or relocated,
    /// code objects copied out of a compressed bundle, the bundle itself while it is searched.
    ///
    /// Independently of this, compressed data of `n` bytes may claim at most 64 MiB or 1100 times `n`, whichever is
    /// more: DEFLATE cannot do better, and real data never does.
    pub decompressed: u64,
    /// [`Limit::Entries`]: code objects in one file, and entries of bundles looked at; of a core file agents, queues, entries
    /// of its control stacks, packets of its queues and code objects, each.
    pub entries: u64,
}

/// The largest [`Limits::depth`] that is safe on a thread with a stack of 2 MiB, the default of Rust's.
pub const MOST_DEPTH: u16 = 64;

impl Limits {
    /// Those that hold where nothing else is said. At 108,366 stops in 153 code objects a call stack takes at most
    /// 4,019 [`stop_steps`](Limits::stop_steps) and 1,194 [`dies`](Limits::dies), and the variables of a frame 12,946
    /// steps (`dwarf-tests/tests/sweep.rs`).
    pub const DEFAULT: Limits = Limits {
        steps: 1 << 17,
        stop_steps: 1 << 22,
        stack: 1 << 12,
        depth: 32,
        parts: 1 << 16,
        bits: 1 << 24,
        dies: 1 << 24,
        frames: 1 << 10,
        output: 1 << 26,
        decompressed: 512 << 20,
        entries: 1 << 18,
    };

    /// The bound for `limit`.
    #[must_use]
    pub fn get(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Steps => self.steps.into(),
            Limit::StopSteps => self.stop_steps,
            Limit::Stack => self.stack.into(),
            Limit::Depth => self.depth.into(),
            Limit::Parts => self.parts.into(),
            Limit::Bits => self.bits,
            Limit::Dies => self.dies,
            Limit::Frames => self.frames.into(),
            Limit::Output => self.output,
            Limit::Decompressed => self.decompressed,
            Limit::Entries => self.entries,
        }
    }

    /// The most that the bound for `limit` can be set to.
    #[must_use]
    pub fn most(limit: Limit) -> u64 {
        match limit {
            Limit::Depth => MOST_DEPTH.into(),
            Limit::Steps | Limit::Stack | Limit::Parts | Limit::Frames => u32::MAX.into(),
            Limit::StopSteps
            | Limit::Bits
            | Limit::Dies
            | Limit::Output
            | Limit::Decompressed
            | Limit::Entries => u64::MAX,
        }
    }

    /// Sets the bound for `limit`; to [`most`](Limits::most), if `value` is more.
    pub fn set(&mut self, limit: Limit, value: u64) {
        let value = value.min(Limits::most(limit));
        let narrow = u32::try_from(value).unwrap_or(u32::MAX);
        match limit {
            Limit::Steps => self.steps = narrow,
            Limit::StopSteps => self.stop_steps = value,
            Limit::Stack => self.stack = narrow,
            Limit::Depth => self.depth = u16::try_from(value).unwrap_or(MOST_DEPTH),
            Limit::Parts => self.parts = narrow,
            Limit::Bits => self.bits = value,
            Limit::Dies => self.dies = value,
            Limit::Frames => self.frames = narrow,
            Limit::Output => self.output = value,
            Limit::Decompressed => self.decompressed = value,
            Limit::Entries => self.entries = value,
        }
    }

    /// The error of what reaches `limit`.
    pub(crate) fn reached(&self, limit: Limit) -> Error {
        reached(limit, self.get(limit))
    }
}

/// The error of what reaches a limit of `value`.
#[cold]
pub(crate) fn reached(limit: Limit, value: u64) -> Error {
    ErrorKind::Limit { limit, value }.into()
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_a_bound_of_its_own() {
        for limit in Limit::ALL {
            let mut limits = Limits::default();
            limits.set(limit, 7);
            for other in Limit::ALL {
                let expected = if other == limit {
                    7
                } else {
                    Limits::DEFAULT.get(other)
                };
                assert_eq!(
                    limits.get(other),
                    expected,
                    "{other:?} after {limit:?} was set"
                );
            }
            limits.set(limit, u64::MAX);
            assert_eq!(limits.get(limit), Limits::most(limit));
            assert_eq!(limits.reached(limit).kind().name(), "limit");
        }
    }
}
