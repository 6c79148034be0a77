//! Addresses in the process and in the code object.

use core::fmt;

/// An address in a code object, as in its debugging information and its sections.
///
/// The type is used where both kinds of addresses occur: in `inspect`, `gpu_core` and `wave`. In `frame`, `debug_info`, `cfi_check` and
/// `lane_flow`, all addresses are the code object's, and are `u64`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeAddress(pub u64);

/// An address in the process that loaded code objects, as in registers and memory.
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
    /// Converts an address in the code object to one in the process.
    #[must_use]
    #[inline]
    pub const fn to_process(self, code: CodeAddress) -> ProcessAddress {
        ProcessAddress(code.0.wrapping_add(self.0))
    }

    /// Converts an address in the process to one in the code object. The address may belong to other code.
    #[must_use]
    #[inline]
    pub const fn to_code(self, process: ProcessAddress) -> CodeAddress {
        CodeAddress(process.0.wrapping_sub(self.0))
    }

    /// Converts an address in the code object to one in the process. `None` if it overflows.
    #[must_use]
    #[inline]
    pub const fn checked_to_process(self, code: CodeAddress) -> Option<ProcessAddress> {
        match code.0.checked_add(self.0) {
            Some(address) => Some(ProcessAddress(address)),
            None => None,
        }
    }

    /// Converts an address in the process to one in the code object. `None` if it is below the code object.
    #[must_use]
    #[inline]
    pub const fn checked_to_code(self, process: ProcessAddress) -> Option<CodeAddress> {
        match process.0.checked_sub(self.0) {
            Some(address) => Some(CodeAddress(address)),
            None => None,
        }
    }
}

/// The common traits of all three: conversion from numbers without a type, and formatting as numbers.
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

    /// The example of `spec-notes/snapshot.md`: pc 0x7f4000001a1c of an object at 0x7f4000000000 is 0x1a1c. An address below the object
    /// does not belong to it, but converts back unchanged.
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
