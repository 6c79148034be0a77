//! Apertures: the ranges of generic addresses that show local and private memory.
//!
//! All other generic addresses are global addresses of the same value. The lane and the scratch offset of a private address are left to
//! [`scratch`](super::scratch). Sources: USAGE "Address Spaces" (Generic), "Base Type Conversions".

use super::AddressSpace;

/// The apertures of the generic address space for the work-group's local memory and the lane's private memory.
///
/// Each aperture is 2^32 bytes long. The hardware aligns the bases to that size, but alignment is not required here. If the two overlap,
/// addresses in both are local.
///
/// On processors with globally accessible scratch ([`has_globally_accessible_scratch`](super::Processor::has_globally_accessible_scratch)),
/// code forms generic addresses of private memory in another way. These are global addresses here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Apertures {
    /// The generic address of the first byte of local memory (`SRC_SHARED_BASE`).
    pub shared_base: u64,
    /// The generic address of the first byte of private memory (`SRC_PRIVATE_BASE`).
    pub private_base: u64,
}

impl Apertures {
    /// Returns the address that a generic address stands for: in `local`, in `private_lane`, or in global memory (`none`). Without
    /// apertures, all are global.
    ///
    /// This is how memory is accessed; no address is special, not even NULL.
    #[must_use]
    pub const fn resolve(apertures: Option<Apertures>, generic: u64) -> (AddressSpace, u64) {
        if let Some(apertures) = apertures {
            if let Some(address) = inside(apertures.shared_base, generic) {
                return (AddressSpace::Local, address);
            }
            if let Some(address) = inside(apertures.private_base, generic) {
                return (AddressSpace::PrivateLane, address);
            }
        }
        (AddressSpace::None, generic)
    }

    /// Returns the generic address of a byte of `space`: the inverse of [`resolve`](Apertures::resolve).
    ///
    /// Returns `None` if the byte has no generic address: region memory, `private_wave` addresses, and global addresses that an aperture
    /// hides.
    #[must_use]
    pub const fn generic_address(self, space: AddressSpace, address: u64) -> Option<u64> {
        let generic = match space {
            AddressSpace::None | AddressSpace::Generic => Some(address),
            AddressSpace::Local => within(self.shared_base, address),
            AddressSpace::PrivateLane => within(self.private_base, address),
            AddressSpace::Region | AddressSpace::PrivateWave => None,
        };
        let Some(generic) = generic else {
            return None;
        };
        if matches!(space, AddressSpace::Generic) {
            return Some(generic);
        }
        let (found, _) = Apertures::resolve(Some(self), generic);
        if found.number() == space.number() {
            Some(generic)
        } else {
            None
        }
    }

    /// Returns a pointer of `space` as a generic one, as code converts it. NULL becomes NULL, and any other address is converted by
    /// [`generic_address`](Apertures::generic_address).
    ///
    /// USAGE does not specify NULL here; LLVM 22 first compares with NULL in each `addrspacecast`.
    #[must_use]
    pub const fn pointer_to_generic(self, space: AddressSpace, address: u64) -> Option<u64> {
        if converts(space) && address == space.null() {
            return Some(AddressSpace::Generic.null());
        }
        self.generic_address(space, address)
    }

    /// Returns a generic pointer as one of `space`, as code converts it. NULL becomes NULL, and any other address is converted by
    /// [`resolve`](Apertures::resolve).
    ///
    /// Returns `None` if it points to another space: the conversion is undefined (USAGE "Base Type Conversions"). For `private_wave`,
    /// convert to `private_lane` first.
    #[must_use]
    pub const fn pointer_from_generic(self, space: AddressSpace, generic: u64) -> Option<u64> {
        if converts(space) && generic == AddressSpace::Generic.null() {
            return Some(space.null());
        }
        if matches!(space, AddressSpace::Generic) {
            return Some(generic);
        }
        let (found, address) = Apertures::resolve(Some(self), generic);
        if found.number() == space.number() {
            Some(address)
        } else {
            None
        }
    }
}

/// Returns true if pointers of the space convert to and from generic ones.
const fn converts(space: AddressSpace) -> bool {
    match space {
        AddressSpace::None
        | AddressSpace::Generic
        | AddressSpace::Local
        | AddressSpace::PrivateLane => true,
        AddressSpace::Region | AddressSpace::PrivateWave => false,
    }
}

/// The last address of an aperture, relative to its base.
const LAST: u64 = 0xffff_ffff;

/// Returns the offset of `generic` in the aperture at `base`.
const fn inside(base: u64, generic: u64) -> Option<u64> {
    match generic.checked_sub(base) {
        Some(address) if address <= LAST => Some(address),
        _ => None,
    }
}

/// Returns the generic address `address` bytes into the aperture at `base`.
const fn within(base: u64, address: u64) -> Option<u64> {
    if address <= LAST {
        base.checked_add(address)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressSpace::{Generic, Local, None as Global, PrivateLane, PrivateWave, Region};

    const APERTURES: Apertures = Apertures {
        shared_base: 0x1_0000_0000_0000,
        private_base: 0x2_0000_0000_0000,
    };

    #[test]
    fn apertures_are_2_to_the_32_bytes_long() {
        let cases = [
            (0, (Global, 0)),
            (0x0_ffff_ffff_ffff, (Global, 0x0_ffff_ffff_ffff)),
            (0x1_0000_0000_0000, (Local, 0)),
            (0x1_0000_ffff_ffff, (Local, 0xffff_ffff)),
            (0x1_0001_0000_0000, (Global, 0x1_0001_0000_0000)),
            (0x2_0000_0000_0010, (PrivateLane, 0x10)),
            (0x2_0001_0000_0000, (Global, 0x2_0001_0000_0000)),
            (u64::MAX, (Global, u64::MAX)),
        ];
        for (generic, expected) in cases {
            assert_eq!(Apertures::resolve(Some(APERTURES), generic), expected);
            let (space, address) = expected;
            assert_eq!(APERTURES.generic_address(space, address), Some(generic));
            assert_eq!(Apertures::resolve(None, generic), (Global, generic));
        }
    }

    #[test]
    fn an_aperture_at_the_very_end_does_not_overflow() {
        let high = Apertures {
            shared_base: u64::MAX,
            private_base: u64::MAX - 1,
        };
        assert_eq!(Apertures::resolve(Some(high), u64::MAX), (Local, 0));
        assert_eq!(
            Apertures::resolve(Some(high), u64::MAX - 1),
            (PrivateLane, 0)
        );
        assert_eq!(high.generic_address(Local, 1), None);
    }

    #[test]
    fn some_bytes_have_no_generic_address() {
        for (space, address) in [
            (Region, 0),
            (PrivateWave, 0),
            (Local, 1 << 32),
            (PrivateLane, 1 << 32),
            (Global, APERTURES.shared_base),
        ] {
            assert_eq!(APERTURES.generic_address(space, address), None);
            assert_eq!(APERTURES.pointer_to_generic(space, address), None);
        }
        for space in [Region, PrivateWave] {
            assert_eq!(APERTURES.pointer_to_generic(space, space.null()), None);
            assert_eq!(APERTURES.pointer_from_generic(space, 0), None);
        }
    }

    /// The code of LLVM 22 for `addrspacecast` on gfx90a and gfx1100: all ones become 0 in the conversion to generic, and 0 becomes all
    /// ones in the conversion back.
    #[test]
    fn null_converts_to_null() {
        for space in [Local, PrivateLane] {
            assert_eq!(APERTURES.pointer_to_generic(space, 0xffff_ffff), Some(0));
            assert_eq!(APERTURES.pointer_from_generic(space, 0), Some(0xffff_ffff));
        }
        for space in [Global, Generic] {
            assert_eq!(APERTURES.pointer_to_generic(space, 0), Some(0));
            assert_eq!(APERTURES.pointer_from_generic(space, 0), Some(0));
        }
        // 0 is a valid address in local memory.
        assert_eq!(
            APERTURES.pointer_to_generic(Local, 0),
            Some(APERTURES.shared_base)
        );
    }

    #[test]
    fn a_generic_pointer_converts_only_to_the_space_it_points_to() {
        let generic = APERTURES.private_base + 0x24;
        assert_eq!(
            APERTURES.pointer_from_generic(PrivateLane, generic),
            Some(0x24)
        );
        assert_eq!(
            APERTURES.pointer_from_generic(Generic, generic),
            Some(generic)
        );
        for space in [Global, Local, Region, PrivateWave] {
            assert_eq!(APERTURES.pointer_from_generic(space, generic), None);
        }
    }
}
