//! Addresses of the process and of the code object.

use core::fmt;

/// An address in a code object, as its debugging information and its sections have it.
///
/// It is a type where both kinds of addresses are at hand: in `inspect`, `gpu_core`, `wave`. In `frame`, `debug_info`, `cfi_check` and
/// `lane_flow`, where all are the code object's, addresses are `u64`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeAddress(pub u64);

/// An address in the process that loaded code objects, as registers and memory have it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessAddress(pub u64);

/// The load address of a code object: the difference between an address of the process (registers, memory) and the address in
/// the code object (debugging information).
///
/// ```
/// use hetdwarf::arch::{CodeAddress, LoadAddress, ProcessAddress};
///
/// let loaded = LoadAddress(0x7f40_0000_0000);
/// assert_eq!(loaded.to_code(ProcessAddress(0x7f40_0000_1a1c)), CodeAddress(0x1a1c));
/// assert_eq!(loaded.checked_to_code(ProcessAddress(0x1a1c)), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadAddress(pub u64);

impl LoadAddress {
    /// Returns the address in the process of one of the code object.
    #[must_use]
    #[inline]
    pub const fn to_process(self, code: CodeAddress) -> ProcessAddress {
        ProcessAddress(code.0.wrapping_add(self.0))
    }

    /// Returns the address in the code object of one of the process, which may be of other code.
    #[must_use]
    #[inline]
    pub const fn to_code(self, process: ProcessAddress) -> CodeAddress {
        CodeAddress(process.0.wrapping_sub(self.0))
    }

    /// Returns the address in the process of one of the code object. `None` if it is beyond the last one.
    #[must_use]
    #[inline]
    pub const fn checked_to_process(self, code: CodeAddress) -> Option<ProcessAddress> {
        match code.0.checked_add(self.0) {
            Some(address) => Some(ProcessAddress(address)),
            None => None,
        }
    }

    /// Returns the address in the code object of one of the process. `None` if it is below the code object.
    #[must_use]
    #[inline]
    pub const fn checked_to_code(self, process: ProcessAddress) -> Option<CodeAddress> {
        match process.0.checked_sub(self.0) {
            Some(address) => Some(CodeAddress(address)),
            None => None,
        }
    }
}

/// What all three have in common: they are made of numbers that have no type yet, and are printed as numbers.
macro_rules! address {
    ($($ty:ident),+) => {
        $(
            impl From<u64> for $ty {
                fn from(address: u64) -> $ty {
                    $ty(address)
                }
            }

            impl From<$ty> for u64 {
                fn from(address: $ty) -> u64 {
                    address.0
                }
            }

            impl fmt::LowerHex for $ty {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::LowerHex::fmt(&self.0, f)
                }
            }
        )+
    };
}

address! { CodeAddress, LoadAddress, ProcessAddress }

impl fmt::Debug for CodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for ProcessAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of `spec-notes/snapshot.md`: pc 0x7f4000001a1c of an object at 0x7f4000000000 is its 0x1a1c. An address
    /// below is none of the object's, and comes back.
    #[test]
    fn each_way_is_the_other_backwards() {
        let at = LoadAddress(0x7f40_0000_0000);
        let (process, code) = (ProcessAddress(0x7f40_0000_1a1c), CodeAddress(0x1a1c));
        assert_eq!(at.to_code(process), code);
        assert_eq!(at.to_process(code), process);
        assert_eq!(at.checked_to_code(process), Some(code));
        assert_eq!(at.checked_to_process(code), Some(process));
        let below = ProcessAddress(8);
        assert_eq!(at.to_process(at.to_code(below)), below);
        assert_eq!(at.checked_to_code(below), None);
        assert_eq!(at.checked_to_process(CodeAddress(u64::MAX)), None);
    }
}
