//! Holds the facts about a stack entry that are known without running the program.
//!
//! An entry is as precise as can be proved, and unknown otherwise. [`Entry::join`] keeps the common facts of two paths to the same operation.
//! Sources: HET A.2.5.2, A.2.5.3.

use core::fmt;
use core::ops::BitOr;

use crate::arch::{AddressSpace, Register};

/// The sources from which the number of a value or the address of a place was computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::verify) struct Sources(u8);

impl Sources {
    /// Only constants.
    pub(in crate::verify) const NONE: Sources = Sources(0);
    /// The contents of registers.
    pub(in crate::verify) const REGISTERS: Sources = Sources(1);
    /// The contents of memory.
    pub(in crate::verify) const MEMORY: Sources = Sources(2);
    /// The canonical frame address, or the frame base.
    pub(in crate::verify) const FRAME: Sources = Sources(4);
    /// The lane in focus.
    pub(in crate::verify) const LANE: Sources = Sources(8);
    /// An address in the code object.
    pub(in crate::verify) const ADDRESS: Sources = Sources(16);
    /// An unknown source.
    pub(in crate::verify) const OTHER: Sources = Sources(32);
}

impl BitOr for Sources {
    type Output = Sources;
    fn bitor(self, other: Sources) -> Sources {
        Sources(self.0 | other.0)
    }
}

/// The type of a value, as precisely as the rules of operations require.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Type {
    /// The generic type: integral, with the size of an address.
    Generic,
    /// A base type with an integral encoding, and its size in bits. `entry` is its offset in the unit.
    Integral { bits: u64, entry: u64 },
    /// Any other base type, and its size in bits.
    Other { bits: u64, entry: u64 },
    /// An unknown type.
    Unknown,
}

/// The known facts about the number in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Number {
    /// The number `base + per_lane · lane`, modulo the generic type.
    Linear { base: u64, per_lane: u64 },
    /// Any number with at most this many bits.
    Below { bits: u64 },
}

/// A value on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::verify) struct Value {
    pub(in crate::verify) ty: Type,
    pub(in crate::verify) number: Number,
    pub(in crate::verify) sources: Sources,
    /// True if `DW_OP_xderef` loaded it. LLVM without the extensions writes such a load for a location.
    pub(in crate::verify) legacy: bool,
}

/// The kind of storage of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Storage {
    /// Memory, and its address space if it is known.
    Memory(Option<AddressSpace>),
    Register(Register),
    /// A register whose number is reserved.
    ReservedRegister,
    /// The storage of the caller's register, which is known only when the program is stopped.
    CallerRegister(Register),
    Undefined,
    /// A constant, and its size in bits if it is known.
    Implicit(Option<u64>),
    /// A pointer that was optimised away.
    ImplicitPointer,
    /// Parts, and the sum of their sizes in bits if it is known.
    Composite {
        bits: Option<u128>,
        complete: bool,
    },
    /// Unknown storage.
    Unknown,
}

/// The offset of a place in its storage, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Offset {
    /// The offset `base + per_lane · lane`.
    Linear { base: i128, per_lane: i128 },
    /// An unknown offset.
    Unknown,
}

/// A location on the stack. A location with several possible places has [`Storage::Unknown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::verify) struct Place {
    pub(in crate::verify) storage: Storage,
    pub(in crate::verify) offset: Offset,
    pub(in crate::verify) sources: Sources,
    /// True if an operation moved the place, even by zero. Its start was then chosen explicitly.
    pub(in crate::verify) moved: bool,
}

/// A stack entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Entry {
    Value(Value),
    Place(Place),
    /// An unknown value or location.
    Unknown,
}

impl Value {
    /// Returns a constant of the generic type.
    pub(in crate::verify) const fn constant(number: u64) -> Value {
        Value {
            ty: Type::Generic,
            number: Number::Linear {
                base: number,
                per_lane: 0,
            },
            sources: Sources::NONE,
            legacy: false,
        }
    }

    /// Returns an unknown number of a type.
    pub(in crate::verify) const fn any(ty: Type, bits: u64, sources: Sources) -> Value {
        Value {
            ty,
            number: Number::Below { bits },
            sources,
            legacy: false,
        }
    }

    /// Returns the number, if it is the same in every lane and at every stop.
    pub(in crate::verify) const fn known(&self) -> Option<u64> {
        match self.number {
            Number::Linear { base, per_lane: 0 } => Some(base),
            Number::Linear { .. } | Number::Below { .. } => None,
        }
    }
}

impl Place {
    pub(in crate::verify) const fn start_of(storage: Storage, sources: Sources) -> Place {
        Place {
            storage,
            offset: Offset::Linear {
                base: 0,
                per_lane: 0,
            },
            sources,
            moved: false,
        }
    }

    /// A place without known facts.
    pub(in crate::verify) const UNKNOWN: Place = Place {
        storage: Storage::Unknown,
        offset: Offset::Unknown,
        sources: Sources::OTHER,
        moved: false,
    };

    /// Returns the size of the storage in bits, if it is known.
    pub(in crate::verify) fn storage_bits(&self) -> Option<u128> {
        match self.storage {
            Storage::Memory(space) => Some(space_bits(space?)),
            Storage::Register(register) => register.size_in_bits().map(u128::from),
            Storage::Implicit(bits) => bits.map(u128::from),
            Storage::Composite { bits, .. } => bits,
            Storage::ReservedRegister
            | Storage::CallerRegister(_)
            | Storage::Undefined
            | Storage::ImplicitPointer
            | Storage::Unknown => None,
        }
    }

    /// Returns the number of bits from the place's start in lane 0 to the end of its storage.
    pub(in crate::verify) fn room(&self) -> Option<u128> {
        let Offset::Linear { base, .. } = self.offset else {
            return None;
        };
        self.storage_bits()?.checked_sub(u128::try_from(base).ok()?)
    }

    /// Returns the number of lanes that have a dword in the storage; 1 if it is not a vector register.
    pub(in crate::verify) fn lanes(&self) -> u32 {
        match (self.storage, self.storage_bits()) {
            (Storage::Register(register), Some(bits)) if register.is_vector() => {
                u32::try_from(bits / 32).unwrap_or(1)
            }
            (_, _) => 1,
        }
    }

    /// Returns the number of bits to the end of the lane's dword, if each lane has its own dword of a vector register.
    pub(in crate::verify) fn lane_room(&self) -> Option<u128> {
        match (self.storage, self.offset) {
            (Storage::Register(register), Offset::Linear { base, per_lane: 32 })
                if register.is_vector() =>
            {
                let base = u128::try_from(base).ok()?;
                32_u128.checked_sub(base).filter(|room| *room > 0)
            }
            _ => None,
        }
    }

    /// Returns true if the place is a vector register from which no part was selected. It then starts with the dword of lane 0, regardless of the
    /// lane in focus.
    pub(in crate::verify) fn is_whole_vector(&self) -> bool {
        matches!(self.storage, Storage::Register(register) if register.is_vector()) && !self.moved
    }
}

/// Returns the size of an address space in bits. Addresses of four bytes would make it smaller, but no processor of `amdgcn` has them.
pub(in crate::verify) fn space_bits(space: AddressSpace) -> u128 {
    space.size_in_bits(8)
}

impl Entry {
    /// Returns the common facts of two entries.
    pub(in crate::verify) fn join(self, other: Entry) -> Entry {
        match (self, other) {
            (a, b) if a == b => a,
            (Entry::Value(a), Entry::Value(b)) => Entry::Value(Value {
                ty: if a.ty == b.ty { a.ty } else { Type::Unknown },
                number: Number::Below { bits: u64::MAX },
                sources: a.sources | b.sources,
                legacy: a.legacy || b.legacy,
            }),
            (Entry::Place(a), Entry::Place(b)) => Entry::Place(Place {
                storage: if a.storage == b.storage {
                    a.storage
                } else {
                    Storage::Unknown
                },
                offset: Offset::Unknown,
                sources: a.sources | b.sources,
                moved: a.moved || b.moved,
            }),
            (_, _) => Entry::Unknown,
        }
    }
}

/// Formats an entry for messages.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Unknown => f.write_str("an unknown entry"),
            Entry::Value(value) => match (value.ty, value.known()) {
                (Type::Generic, Some(number)) => write!(f, "the value {number:#x}"),
                (Type::Generic, None) => f.write_str("a value"),
                (Type::Integral { bits, .. }, _) => {
                    write!(f, "an integral value of a base type of {bits} bits")
                }
                (Type::Other { bits, .. }, _) => {
                    write!(
                        f,
                        "a value of a base type of {bits} bits that is not integral"
                    )
                }
                (Type::Unknown, _) => f.write_str("a value of a base type"),
            },
            Entry::Place(place) => match place.storage {
                Storage::Memory(Some(space)) => write!(f, "a location in {} memory", space.name()),
                Storage::Memory(None) => f.write_str("a location in memory"),
                Storage::Register(register) => write!(f, "a location in register {register}"),
                Storage::ReservedRegister => f.write_str("a location in a reserved register"),
                Storage::CallerRegister(register) => {
                    write!(f, "the location of register {register} on entry")
                }
                Storage::Undefined => f.write_str("the undefined location"),
                Storage::Implicit(_) => f.write_str("the location of an implicit value"),
                Storage::ImplicitPointer => f.write_str("the location of an implicit pointer"),
                Storage::Composite { .. } => f.write_str("a composite location"),
                Storage::Unknown => f.write_str("a location"),
            },
        }
    }
}
