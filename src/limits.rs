//! How much work and memory one file, one wave or one question can cost. What one costs is counted by a
//! [`Meter`](crate::meter::Meter).
//!
//! Nothing in a file is trusted: what it makes a reader do is bounded, always. The defaults are far above what
//! real code needs; who needs more sets more.

use crate::error::{Error, ErrorKind, Limit};

/// A bound for each [`Limit`], which says what it bounds. What reaches one fails with [`ErrorKind::Limit`], which says
/// which and its number.
///
/// The limits of a file ([`CodeObject::parse_with`](crate::object::CodeObject::parse_with)) are those of all that
/// is read of it and of the waves that run it; an expression by itself has those of its
/// [`Context`](crate::eval::Context).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// [`Limit::Steps`].
    pub steps: u32,
    /// [`Limit::Stack`].
    pub stack: u32,
    /// [`Limit::Depth`]; each level needs some of the thread's stack, so that there is a [`MOST_DEPTH`].
    pub depth: u16,
    /// [`Limit::Parts`].
    pub parts: u32,
    /// [`Limit::Bits`].
    pub bits: u64,
    /// [`Limit::Frames`].
    pub frames: u32,
    /// [`Limit::Work`].
    pub work: u64,
    /// [`Limit::WorkPerByte`].
    pub work_per_byte: u64,
    /// [`Limit::Memory`].
    pub memory: u64,
    /// [`Limit::MemoryPerByte`].
    pub memory_per_byte: u64,
}

/// The largest [`Limits::depth`] that is safe on a thread with a stack of 2 MiB, the default of Rust's: a level takes up
/// to 36 KiB of it in a build without optimization.
pub const MOST_DEPTH: u16 = 40;

impl Limits {
    /// Those that hold where nothing else is said.
    ///
    /// At 108,366 stops in 153 code objects a call stack takes at most 4,019 steps of expressions and 1,194 entries,
    /// and the variables of a frame 12,946 steps (`dwarf-tests/tests/sweep.rs`). To check a file takes at most a tenth of
    /// its steps, and a hundredth of its bytes (`dwarf-tests/tests/hostile/growth.rs`).
    pub const DEFAULT: Limits = Limits {
        steps: 1 << 17,
        stack: 1 << 12,
        depth: 32,
        parts: 1 << 16,
        bits: 1 << 24,
        frames: 1 << 10,
        work: 1 << 22,
        work_per_byte: 1 << 5,
        memory: 256 << 20,
        memory_per_byte: 1 << 5,
    };

    /// The bound for `limit`.
    #[must_use]
    pub fn get(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Steps => self.steps.into(),
            Limit::Stack => self.stack.into(),
            Limit::Depth => self.depth.into(),
            Limit::Parts => self.parts.into(),
            Limit::Bits => self.bits,
            Limit::Frames => self.frames.into(),
            Limit::Work => self.work,
            Limit::WorkPerByte => self.work_per_byte,
            Limit::Memory => self.memory,
            Limit::MemoryPerByte => self.memory_per_byte,
        }
    }

    /// The most that the bound for `limit` can be set to.
    #[must_use]
    pub fn most(limit: Limit) -> u64 {
        match limit {
            Limit::Depth => MOST_DEPTH.into(),
            Limit::Steps | Limit::Stack | Limit::Parts | Limit::Frames => u32::MAX.into(),
            Limit::Bits
            | Limit::Work
            | Limit::WorkPerByte
            | Limit::Memory
            | Limit::MemoryPerByte => u64::MAX,
        }
    }

    /// Sets the bound for `limit`; to [`most`](Limits::most), if `value` is more.
    pub fn set(&mut self, limit: Limit, value: u64) {
        let value = value.min(Limits::most(limit));
        let narrow = u32::try_from(value).unwrap_or(u32::MAX);
        match limit {
            Limit::Steps => self.steps = narrow,
            Limit::Stack => self.stack = narrow,
            Limit::Depth => self.depth = u16::try_from(value).unwrap_or(MOST_DEPTH),
            Limit::Parts => self.parts = narrow,
            Limit::Bits => self.bits = value,
            Limit::Frames => self.frames = narrow,
            Limit::Work => self.work = value,
            Limit::WorkPerByte => self.work_per_byte = value,
            Limit::Memory => self.memory = value,
            Limit::MemoryPerByte => self.memory_per_byte = value,
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
