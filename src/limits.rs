//! Limits the work and memory for one file, one wave or one query. A [`Meter`](crate::meter::Meter) counts the costs.
//!
//! No file is trusted: the work that it causes is always bounded. The defaults are far above the needs of real code, and can be raised.
//!
//! ```
//! use hetdwarf::error::{ErrorKind, Limit};
//! use hetdwarf::{Limits, object::CodeObject};
//!
//! let file = std::fs::read("tests/debug_info/made.elf").unwrap();
//! let mut limits = Limits::default();
//! assert!(CodeObject::parse_with(&file, &limits).is_ok());
//!
//! // One step for all of the file, and none more for each byte of it.
//! limits.set(Limit::Work, 1);
//! limits.set(Limit::WorkPerByte, 0);
//! let error = CodeObject::parse_with(&file, &limits).unwrap_err();
//! assert_eq!(*error.kind(), ErrorKind::Limit { limit: Limit::Work, value: 1 });
//! assert_eq!(error.to_string(), "the limit `work` of 1 was reached");
//! ```

use crate::error::{Error, ErrorKind};

/// The largest [`Limits::depth`] that is safe on a thread with a stack of 2 MiB, Rust's default. A level takes up to 36 KiB of it in an unoptimized
/// build.
pub const MOST_DEPTH: u16 = 40;

/// The largest [`Limits::containers`] that is safe on a thread with a stack of 2 MiB.
pub const MOST_CONTAINERS: u16 = 64;

/// The table of limits: the name in Rust, the field with its type, the default, the maximum, the name in options and messages, and a description.
macro_rules! limits {
    ($($name:ident $field:ident: $int:ident = $default:expr, $most:expr, $text:literal $about:literal;)*) => {
        /// A limit on work or memory, so that no input can make either endless.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Limit { $(#[doc = concat!("`", $text, "`: ", $about, ".")] $name,)* }

        impl Limit {
            /// All limits.
            pub const ALL: [Limit; [$($text),*].len()] = [$(Limit::$name,)*];

            /// Returns the limit's name in options.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Limit::$name => $text,)* }
            }

            /// Returns the limit with a name.
            ///
            /// # Errors
            /// If there is none. The error lists the names.
            pub fn named(name: &str) -> Result<Limit, String> {
                let found = Limit::ALL.into_iter().find(|limit| limit.name() == name);
                let names = || Limit::ALL.map(Limit::name).join(", ");
                found.ok_or_else(|| format!("there is no limit {name:?}; there are {}", names()))
            }

            /// Returns a short description of the limit.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Limit::$name => $about,)* }
            }
        }

        /// A bound for each [`Limit`]. Reaching a bound causes [`ErrorKind::Limit`], with the limit and its value.
        ///
        /// The limits of a file ([`CodeObject::parse_with`](crate::object::CodeObject::parse_with)) apply to everything read from it and to the waves
        /// that run it. A single expression has the limits of its [`Context`](crate::eval::Context).
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Limits {
            $(#[doc = concat!("[`Limit::", stringify!($name), "`]: ", $about, ".")] pub $field: $int,)*
        }

        impl Limits {
            /// The default limits.
            ///
            /// At 108,366 stops in 153 code objects a call stack takes at most 4,019 steps of expressions and 1,194 entries, and the variables of a
            /// frame 12,946 steps (`dwarf-tests/tests/sweep.rs`). Checking a file takes at most a tenth of its steps, and a hundredth of its bytes
            /// (`dwarf-tests/tests/hostile/growth.rs`).
            pub const DEFAULT: Limits = Limits { $($field: $default,)* };

            /// Returns the bound for `limit`.
            #[must_use]
            pub fn get(&self, limit: Limit) -> u64 {
                match limit { $(Limit::$name => u64::from(self.$field),)* }
            }

            /// Returns the maximum of the bound for `limit`.
            #[must_use]
            pub fn most(limit: Limit) -> u64 {
                match limit { $(Limit::$name => u64::from($most),)* }
            }

            /// Sets the bound for `limit`, clamped to [`most`](Limits::most).
            pub fn set(&mut self, limit: Limit, value: u64) {
                let value = value.min(Limits::most(limit));
                match limit { $(Limit::$name => self.$field = $int::try_from(value).unwrap_or($most),)* }
            }
        }
    };
}

limits! {
    Steps steps: u32 = 1 << 17, u32::MAX, "steps"
        "operations executed in one evaluation";
    Stack stack: u32 = 1 << 12, u32::MAX, "stack"
        "entries on the stack of an evaluation";
    // Each level uses the thread's stack.
    Depth depth: u16 = 32, MOST_DEPTH, "depth"
        "nested calls, entry values and composites";
    // Each level uses the thread's stack.
    Containers containers: u16 = 8, MOST_CONTAINERS, "containers"
        "nested containers (archives, bundles, host objects)";
    Parts parts: u32 = 1 << 16, u32::MAX, "parts"
        "parts of one composite";
    Bits bits: u64 = 1 << 24, u64::MAX, "bits"
        "bits read at once";
    Value value: u64 = 1 << 16, u64::MAX, "value"
        "bytes read of one value in each lane; the rest is shown as unavailable";
    Frames frames: u32 = 1 << 10, u32::MAX, "frames"
        "call frames unwound";
    Work work: u64 = 1 << 22, u64::MAX, "work"
        "steps of one query, regardless of file size";
    WorkPerByte work_per_byte: u64 = 1 << 5, u64::MAX, "work-per-byte"
        "additional steps for each byte of the file";
    // The counted memory is less than the resident memory: vectors have room to grow, allocations have headers, and temporary data are not always
    // counted. With these defaults at most 256 MiB and 32 bytes for each byte of the file are resident. `dwarf-tests/tests/hostile/every.rs` measures
    // this for every command.
    Memory memory: u64 = 128 << 20, u64::MAX, "memory"
        "bytes of memory of one query, regardless of file size";
    MemoryPerByte memory_per_byte: u64 = 1 << 4, u64::MAX, "memory-per-byte"
        "additional bytes for each byte of the file";
}

impl Limits {
    /// Returns the error for reaching `limit`.
    pub(crate) fn reached(&self, limit: Limit) -> Error {
        reached(limit, self.get(limit))
    }
}

/// Returns the error for reaching a limit of `value`.
#[cold]
pub(crate) fn reached(limit: Limit, value: u64) -> Error {
    ErrorKind::Limit { limit, value }.into()
}

/// Returns the error for exceeding `most`, a bound that no limit sets.
#[cold]
pub(crate) fn too_many(what: &'static str, most: u64) -> Error {
    ErrorKind::TooMany { what, most }.into()
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
