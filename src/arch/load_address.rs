//! Addresses of the process and of the code object.

use core::fmt;

/// Where a code object is loaded: the difference between an address of the process (registers, memory) and the address in
/// the code object (debugging information).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoadAddress(pub u64);

impl LoadAddress {
    /// The address in the process of one of the code object.
    #[must_use]
    #[inline]
    pub const fn to_process(self, code: u64) -> u64 {
        code.wrapping_add(self.0)
    }

    /// The address in the code object of one of the process, which may be of other code.
    #[must_use]
    #[inline]
    pub const fn to_code(self, process: u64) -> u64 {
        process.wrapping_sub(self.0)
    }
}

impl From<u64> for LoadAddress {
    fn from(address: u64) -> LoadAddress {
        LoadAddress(address)
    }
}

impl fmt::LowerHex for LoadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
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
        assert_eq!(at.to_code(0x7f40_0000_1a1c), 0x1a1c);
        assert_eq!(at.to_process(0x1a1c), 0x7f40_0000_1a1c);
        assert_eq!(at.to_process(at.to_code(8)), 8);
    }
}
