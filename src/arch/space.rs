//! Address spaces and memory spaces: numbers, names, sizes and NULL.
//!
//! An address space is a memory of the machine, or a view of one, in which an address is looked up. A memory space is a property of a
//! pointer or variable in the source language. [`scratch`](super::scratch) and [`Apertures`](super::Apertures) convert addresses between
//! spaces. Sources: USAGE "Address Space Identifier", "Memory Space Identifier", "Address Spaces".

use core::fmt;

/// A DWARF address space of AMDGPU.
///
/// It is exhaustive on purpose: each is accessed in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressSpace {
    /// The default space: global memory.
    None,
    /// The flat addresses of the machine, through which global memory, the work-group's local memory and the lane's private memory are
    /// visible; see [`Apertures`](super::Apertures).
    Generic,
    /// The memory of the device that all waves share (GDS).
    Region,
    /// The memory of the work-group (LDS).
    Local,
    /// The private memory (scratch) of one lane.
    PrivateLane,
    /// The private memory (scratch) of all lanes of the wave, in memory order.
    PrivateWave,
}

/// The facts about one address space.
struct Row {
    number: u8,
    name: &'static str,
    llvm_name: &'static str,
    usage_name: &'static str,
    /// True if addresses have the size of a process address; otherwise, they have 32 bits.
    process_sized: bool,
    /// LLVM's address space of the same memory, in its intermediate representation.
    ir_number: u32,
    ir_name: &'static str,
    null: u64,
}

#[rustfmt::skip]
const fn row(number: u8, names: [&'static str; 3], process_sized: bool, ir: (u32, &'static str), null: u64) -> Row {
    let [name, llvm_name, usage_name] = names;
    let (ir_number, ir_name) = ir;
    Row { number, name, llvm_name, usage_name, process_sized, ir_number, ir_name, null }
}

impl AddressSpace {
    /// Every address space, by ascending number.
    pub const ALL: &'static [AddressSpace] = &[
        AddressSpace::None,
        AddressSpace::Generic,
        AddressSpace::Region,
        AddressSpace::Local,
        AddressSpace::PrivateLane,
        AddressSpace::PrivateWave,
    ];

    /// Returns the row of the table. LLVM's names are those in its library; USAGE omits the `LLVM_`.
    #[rustfmt::skip]
    const fn row(self) -> Row {
        //                    number, names: ours, LLVM's, USAGE's,                                                               process sized, in IR,            NULL
        match self {
            Self::None        => row(0, ["none",         "DW_ASPACE_LLVM_none",                "DW_ASPACE_LLVM_none"],           true,  (1, "global"),  0),
            Self::Generic     => row(1, ["generic",      "DW_ASPACE_LLVM_AMDGPU_generic",      "DW_ASPACE_AMDGPU_generic"],      true,  (0, "generic"), 0),
            Self::Region      => row(2, ["region",       "DW_ASPACE_LLVM_AMDGPU_region",       "DW_ASPACE_AMDGPU_region"],       false, (2, "region"),  0xffff_ffff),
            Self::Local       => row(3, ["local",        "DW_ASPACE_LLVM_AMDGPU_local",        "DW_ASPACE_AMDGPU_local"],        false, (3, "local"),   0xffff_ffff),
            Self::PrivateLane => row(5, ["private_lane", "DW_ASPACE_LLVM_AMDGPU_private_lane", "DW_ASPACE_AMDGPU_private_lane"], false, (5, "private"), 0xffff_ffff),
            Self::PrivateWave => row(6, ["private_wave", "DW_ASPACE_LLVM_AMDGPU_private_wave", "DW_ASPACE_AMDGPU_private_wave"], false, (5, "private"), 0xffff_ffff),
        }
    }

    /// Returns the number, as DWARF encodes it.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.row().number
    }

    /// Returns the address space with this number, or `None` if the number is reserved, as 4 is.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<AddressSpace> {
        let mut spaces = AddressSpace::ALL;
        while let [space, rest @ ..] = spaces {
            if space.number() as u64 == number {
                return Some(*space);
            }
            spaces = rest;
        }
        None
    }

    /// Returns the short name: `none`, `generic`, `region`, `local`, `private_lane`, `private_wave`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns LLVM's name, for example `DW_ASPACE_LLVM_AMDGPU_local`. `llvm-dwarfdump` prints the number.
    #[must_use]
    pub const fn llvm_name(self) -> &'static str {
        self.row().llvm_name
    }

    /// Returns the address space with this name: the short one, LLVM's, or USAGE's.
    #[must_use]
    pub fn from_name(name: &str) -> Option<AddressSpace> {
        AddressSpace::ALL.iter().copied().find(|space| {
            let row = space.row();
            [row.name, row.llvm_name, row.usage_name].contains(&name)
        })
    }

    /// Returns the size of an address, in bits.
    ///
    /// * `process_address_bytes`: the size of an address of the process, as the address size of a unit gives it: 8 for `amdgcn`.
    #[must_use]
    pub const fn address_size_in_bits(self, process_address_bytes: u8) -> u32 {
        if self.row().process_sized {
            process_address_bytes as u32 * 8
        } else {
            32
        }
    }

    /// Returns an address with all its bits set; `process_address_bytes` as above.
    #[inline]
    pub(crate) const fn address_mask(self, process_address_bytes: u8) -> u64 {
        match u64::MAX.checked_shl(self.address_size_in_bits(process_address_bytes)) {
            Some(above) => !above,
            None => u64::MAX,
        }
    }

    /// Returns the size of the whole storage, in bits: of all bytes that an address can name, mapped or not. `process_address_bytes` as
    /// above; an invalid size results in the largest number.
    #[must_use]
    pub const fn size_in_bits(self, process_address_bytes: u8) -> u128 {
        // 2^n bytes are 2^(n + 3) bits.
        match 8u128.checked_shl(self.address_size_in_bits(process_address_bytes)) {
            Some(bits) if bits != 0 => bits,
            _ => u128::MAX,
        }
    }

    /// Returns the address of a null pointer.
    ///
    /// USAGE contradicts itself about private memory: "Address Spaces" has 0xffffffff, "Memory Spaces" in the section on AMDHSA has 0.
    /// Compilers follow the first. LLVM 22 stores all ones for a null pointer in LLVM's address spaces 5, 3 and 2 (for region, USAGE has no
    /// value), and 0 in 0, 1 and 4. It does so for `gfx600`, `gfx90a`, `gfx1100` and `gfx1250`.
    #[must_use]
    pub const fn null(self) -> u64 {
        self.row().null
    }

    /// Returns the number of the same memory as an address space of LLVM's intermediate representation. DWARF does not use it: even clang's
    /// `DW_AT_address_class` and `DW_OP_xderef` use [`number`](AddressSpace::number).
    #[must_use]
    pub const fn llvm_ir_number(self) -> u32 {
        self.row().ir_number
    }

    /// Returns the name that belongs to [`llvm_ir_number`](AddressSpace::llvm_ir_number): `global`, `private`, ….
    #[must_use]
    pub const fn llvm_ir_name(self) -> &'static str {
        self.row().ir_name
    }

    /// Returns the memory of an address space of LLVM's intermediate representation: constant (4) is global memory, private (5) is a
    /// lane's. `None` for spaces that are not plain memory.
    #[must_use]
    pub const fn from_llvm_ir_number(number: u32) -> Option<AddressSpace> {
        match number {
            0 => Some(AddressSpace::Generic),
            1 | 4 => Some(AddressSpace::None),
            2 => Some(AddressSpace::Region),
            3 => Some(AddressSpace::Local),
            5 => Some(AddressSpace::PrivateLane),
            _ => None,
        }
    }

    /// Returns true if an address of the space can name a different byte in each lane. This holds for `private_lane`, and for generic,
    /// whose addresses in the private aperture translate to `private_lane`.
    #[must_use]
    pub const fn is_lane_specific(self) -> bool {
        matches!(self, AddressSpace::PrivateLane | AddressSpace::Generic)
    }
}

/// Formats the short name.
impl fmt::Display for AddressSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A DWARF memory space: the memory of a pointer's target or a variable, as a property in the source language.
///
/// It is exhaustive on purpose: the extensions define these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemorySpace {
    /// None: the language's generic memory.
    None,
    /// Global memory.
    Global,
    /// Memory that is constant while a kernel runs; a part of global memory.
    Constant,
    /// The work-group's memory.
    Group,
    /// A thread's own memory.
    Private,
    /// The region (GDS) of AMDGPU, 0x8000.
    Region,
    /// Another memory space in the vendor range 0x8000 to 0xffff.
    Other(u16),
}

impl MemorySpace {
    /// Every memory space that has a name, by ascending number.
    pub const ALL: &'static [MemorySpace] = &[
        MemorySpace::None,
        MemorySpace::Global,
        MemorySpace::Constant,
        MemorySpace::Group,
        MemorySpace::Private,
        MemorySpace::Region,
    ];

    /// Returns the row of the table: number, short name, DWARF name, and the corresponding address space of AMDGPU.
    #[rustfmt::skip]
    const fn row(self) -> (u16, Option<(&'static str, &'static str, AddressSpace)>) {
        match self {
            Self::None     => (0x0000, Some(("none",     "DW_MSPACE_LLVM_none",     AddressSpace::Generic))),
            Self::Global   => (0x0001, Some(("global",   "DW_MSPACE_LLVM_global",   AddressSpace::None))),
            Self::Constant => (0x0002, Some(("constant", "DW_MSPACE_LLVM_constant", AddressSpace::None))),
            Self::Group    => (0x0003, Some(("group",    "DW_MSPACE_LLVM_group",    AddressSpace::Local))),
            Self::Private  => (0x0004, Some(("private",  "DW_MSPACE_LLVM_private",  AddressSpace::PrivateLane))),
            Self::Region   => (0x8000, Some(("region",   "DW_MSPACE_AMDGPU_region", AddressSpace::Region))),
            Self::Other(number) => (number, None),
        }
    }

    /// Returns the number, as DWARF encodes it.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.row().0
    }

    /// Returns the memory space with this number. `None` for unassigned numbers: from 5 up to the vendor range (`DW_MSPACE_LLVM_lo_user`,
    /// 0x8000), and above it (0xffff).
    #[must_use]
    pub fn from_number(number: u64) -> Option<MemorySpace> {
        let number = u16::try_from(number).ok()?;
        let named = MemorySpace::ALL
            .iter()
            .copied()
            .find(|space| space.number() == number);
        named.or((number >= 0x8000).then_some(MemorySpace::Other(number)))
    }

    /// Returns the short name: `none`, `global`, `constant`, `group`, `private`, `region`. `None` for another vendor's.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self.row().1 {
            Some((name, _, _)) => Some(name),
            None => None,
        }
    }

    /// Returns the name in DWARF, for example `DW_MSPACE_LLVM_group`. `None` for another vendor's.
    #[must_use]
    pub const fn llvm_name(self) -> Option<&'static str> {
        match self.row().1 {
            Some((_, name, _)) => Some(name),
            None => None,
        }
    }

    /// Returns the memory space with this name, the short one or DWARF's.
    #[must_use]
    pub fn from_name(name: &str) -> Option<MemorySpace> {
        MemorySpace::ALL
            .iter()
            .copied()
            .find(|space| space.name() == Some(name) || space.llvm_name() == Some(name))
    }

    /// Returns the corresponding address space of AMDGPU. `None` for another vendor's.
    ///
    /// This is the memory that the space names, and not the representation of its addresses. A pointer type specifies that with
    /// `DW_AT_LLVM_address_space`.
    #[must_use]
    pub const fn address_space(self) -> Option<AddressSpace> {
        match self.row().1 {
            Some((_, _, space)) => Some(space),
            None => None,
        }
    }
}

/// Formats the short name, or the number in hexadecimal if there is none.
impl fmt::Display for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "{:#06x}", self.number()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// USAGE, table "AMDGPU DWARF Address Space Mapping": name, value, address size in a 64-bit and in a 32-bit process; and LLVM's address
    /// space, from the table of "Address Spaces".
    const USAGE: &[(&str, u64, u32, u32, u32)] = &[
        ("DW_ASPACE_LLVM_none", 0, 64, 32, 1),
        ("DW_ASPACE_AMDGPU_generic", 1, 64, 32, 0),
        ("DW_ASPACE_AMDGPU_region", 2, 32, 32, 2),
        ("DW_ASPACE_AMDGPU_local", 3, 32, 32, 3),
        ("DW_ASPACE_AMDGPU_private_lane", 5, 32, 32, 5),
        ("DW_ASPACE_AMDGPU_private_wave", 6, 32, 32, 5),
    ];

    #[test]
    fn address_spaces_are_those_of_the_document() {
        assert_eq!(USAGE.len(), AddressSpace::ALL.len());
        for &(name, number, wide, narrow, ir) in USAGE {
            let space = AddressSpace::from_number(number).unwrap();
            assert_eq!(AddressSpace::from_name(name), Some(space));
            assert_eq!(u64::from(space.number()), number);
            assert_eq!(space.address_size_in_bits(8), wide, "{name}");
            assert_eq!(space.address_size_in_bits(4), narrow, "{name}");
            assert_eq!(space.llvm_ir_number(), ir, "{name}");
            let is_lane_specific = name.ends_with("_lane") || name.ends_with("_generic");
            assert_eq!(space.is_lane_specific(), is_lane_specific, "{name}");
        }
        for reserved in [4, 7, 0x20, 0x100, 0x101, u64::MAX] {
            assert_eq!(AddressSpace::from_number(reserved), None);
        }
    }

    #[test]
    fn every_printed_name_reads_back() {
        for &space in AddressSpace::ALL {
            assert_eq!(AddressSpace::from_name(space.name()), Some(space));
            assert_eq!(AddressSpace::from_name(space.llvm_name()), Some(space));
            assert_eq!(AddressSpace::from_name(&space.to_string()), Some(space));
        }
        for &space in MemorySpace::ALL {
            assert_eq!(MemorySpace::from_name(&space.to_string()), Some(space));
            assert_eq!(
                MemorySpace::from_name(space.llvm_name().unwrap()),
                Some(space)
            );
        }
        assert_eq!(AddressSpace::from_name("lane"), None);
        assert_eq!(MemorySpace::from_name("shared"), None);
    }

    #[test]
    fn a_space_has_as_many_bytes_as_addresses() {
        assert_eq!(AddressSpace::None.size_in_bits(8), (1u128 << 64) * 8);
        assert_eq!(AddressSpace::Generic.size_in_bits(4), (1u128 << 32) * 8);
        assert_eq!(AddressSpace::Local.size_in_bits(8), (1u128 << 32) * 8);
        assert_eq!(AddressSpace::None.size_in_bits(15), 8u128 << 120);
        assert_eq!(AddressSpace::None.size_in_bits(16), u128::MAX);
        assert_eq!(AddressSpace::None.size_in_bits(255), u128::MAX);
    }

    /// The values that LLVM 22 stores for `nullptr` in its address spaces 0 to 5, on gfx90a.
    #[test]
    fn null_is_what_the_compiler_stores() {
        let stored = [0, 0, 0xffff_ffff, 0xffff_ffff, 0, 0xffff_ffff];
        for (ir, null) in (0..).zip(stored) {
            let space = AddressSpace::from_llvm_ir_number(ir).unwrap();
            assert_eq!(space.null(), null, "{space}");
        }
        // Constant 32-bit and the buffer spaces are not plain memory of DWARF.
        for ir in [6, 7, 8, 9, 128] {
            assert_eq!(AddressSpace::from_llvm_ir_number(ir), None);
        }
    }

    /// USAGE, table "AMDGPU DWARF Memory Space Mapping", and the range of HET A.7.5.4's memory spaces.
    #[test]
    fn memory_spaces_are_those_of_the_document() {
        let usage = [
            (0x0000, "DW_MSPACE_LLVM_none", AddressSpace::Generic),
            (0x0001, "DW_MSPACE_LLVM_global", AddressSpace::None),
            (0x0002, "DW_MSPACE_LLVM_constant", AddressSpace::None),
            (0x0003, "DW_MSPACE_LLVM_group", AddressSpace::Local),
            (0x0004, "DW_MSPACE_LLVM_private", AddressSpace::PrivateLane),
            (0x8000, "DW_MSPACE_AMDGPU_region", AddressSpace::Region),
        ];
        for (number, name, address_space) in usage {
            let space = MemorySpace::from_number(number).unwrap();
            assert_eq!(space.llvm_name(), Some(name));
            assert_eq!(u64::from(space.number()), number);
            assert_eq!(space.address_space(), Some(address_space));
        }
        for number in [5, 0x7fff, 0x1_0000, u64::MAX] {
            assert_eq!(MemorySpace::from_number(number), None);
        }
        let vendors = MemorySpace::from_number(0x8001).unwrap();
        assert_eq!(vendors, MemorySpace::Other(0x8001));
        assert_eq!((vendors.name(), vendors.address_space()), (None, None));
        assert_eq!(vendors.to_string(), "0x8001");
        assert_eq!(
            MemorySpace::from_number(0xffff),
            Some(MemorySpace::Other(0xffff))
        );
    }
}
