//! Determines the contents of each register at the start of a kernel, as requested by the kernel descriptor.
//!
//! The table below has one row for each item of the initial state. The values, and their use by the kernel's first instructions, are left to other
//! modules.
//!
//! Source: [USAGE](crate) "Initial Kernel Execution State", "Preloaded Kernel Arguments", "Flat Scratch"; USAGE does not
//! describe the trap temporaries of GFX12, see `spec-notes/objects.md`.

use core::fmt;
use core::ops::Range;

use super::{Field, KernelDescriptor};
use crate::arch::Family;

/// Registers that hold one item at the start of a kernel.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialRegisters {
    /// The kind of register.
    pub file: RegisterFile,
    /// The number of the first register.
    pub first: u16,
    /// The number of registers, each of 32 bits.
    pub count: u16,
    /// The bits of the register that hold the item, if it shares the register with others. The range is half open, and bit 0 is the lowest.
    pub bits: Option<Range<u8>>,
    /// The contents.
    pub holds: InitialValue,
    /// The offset of the value in the kernarg segment, in bytes; only for [`InitialValue::PreloadedKernargs`].
    pub kernarg_offset: Option<u32>,
}

impl InitialRegisters {
    /// Returns the registers in assembler syntax: `s[8:9]`, `v0`, `ttmp9`.
    #[must_use]
    pub fn registers(&self) -> String {
        let (prefix, first) = (self.file.prefix(), self.first);
        match self.count.checked_sub(1) {
            None | Some(0) => format!("{prefix}{first}"),
            Some(more) => format!("{prefix}[{first}:{}]", first.saturating_add(more)),
        }
    }
}

/// Formats them as `s[8:9] = kernarg segment pointer` or `ttmp7, bits 0-15 = work-group id y`.
impl fmt::Display for InitialRegisters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.registers())?;
        if let Some(Range { start, end }) = self.bits {
            write!(f, ", bits {start}-{}", end.saturating_sub(1))?;
        }
        write!(f, " = {}", self.holds.text())?;
        if let Some(offset) = self.kernarg_offset {
            write!(f, ", from offset {offset}")?;
        }
        Ok(())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for InitialRegisters {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("registers", &self.registers())?;
        if let Some(Range { start, end }) = self.bits {
            map.serialize_entry("bits", &[start, end])?;
        }
        map.serialize_entry("holds", self.holds.name())?;
        if let Some(offset) = self.kernarg_offset {
            map.serialize_entry("kernarg_offset", &offset)?;
        }
        map.end()
    }
}

/// A kind of register that the hardware sets up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterFile {
    /// General scalar registers, from `s0` on.
    Scalar,
    /// Trap temporaries, `ttmp0` to `ttmp15`. Code that is not a trap handler can read them.
    TrapTemporary,
    /// Vector registers, from `v0` on. Each lane has its own value.
    Vector,
}

impl RegisterFile {
    /// Returns the assembler's prefix before the number.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            RegisterFile::Scalar => "s",
            RegisterFile::TrapTemporary => "ttmp",
            RegisterFile::Vector => "v",
        }
    }
}

/// The registers for an item.
#[derive(Clone, Copy)]
enum Place {
    /// The given number of next user registers: scalar registers from `s0` on, `USER_SGPR_COUNT` in all.
    User(u16),
    /// The next user registers, as many as the value of the row's field.
    UserCounted,
    /// The next system register: a scalar register after the user registers.
    System,
    /// Bits `high` to `low` of a trap temporary.
    Trap { number: u16, high: u8, low: u8 },
    /// A whole vector register.
    Vector(u16),
    /// Bits `high` to `low` of `v0`.
    Packed { high: u8, low: u8 },
}

/// A range of families, both ends included.
type Families = &'static [(Family, Family)];

/// A row of the table.
struct Row {
    holds: InitialValue,
    place: Place,
    /// The field of the descriptor that requests the item.
    field: Field,
    /// The values of the field that request it.
    values: Range<u64>,
    families: Families,
}

macro_rules! values {
    ($($value:ident $name:literal $text:literal $what:literal;)*) => {
        /// The initial contents of a register.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum InitialValue {
            $(#[doc = concat!("`", $name, "`: ", $what, ".")] $value,)*
        }

        impl InitialValue {
            /// Every item, in the order of the registers.
            pub const ALL: &'static [InitialValue] = &[$(InitialValue::$value,)*];

            /// Returns the name in USAGE, in lower case and with hyphens: `kernarg-segment-pointer`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(InitialValue::$value => $name,)* }
            }

            /// Returns the name for use in a sentence: `kernarg segment pointer`.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(InitialValue::$value => $text,)* }
            }

            /// Returns a description.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(InitialValue::$value => $what,)* }
            }
        }
    };
}

values! {
    PrivateSegmentBuffer   "private-segment-buffer"   "private segment buffer"   "the buffer descriptor of the queue's scratch memory";
    DispatchPointer        "dispatch-pointer"         "dispatch pointer"         "the address of the dispatch packet";
    QueuePointer           "queue-pointer"            "queue pointer"            "the address of the queue";
    KernargSegmentPointer  "kernarg-segment-pointer"  "kernarg segment pointer"  "the address of the kernel's arguments";
    DispatchId             "dispatch-id"              "dispatch id"              "the number of the dispatch in its queue";
    FlatScratchInit        "flat-scratch-init"        "flat scratch init"        "the base of the queue's scratch memory, from which the kernel sets up `FLAT_SCRATCH`";
    PrivateSegmentSize     "private-segment-size"     "private segment size"     "the scratch memory of a work-item, in bytes";
    PreloadedKernargs      "preloaded-kernargs"       "preloaded kernargs"       "dwords of the kernel's arguments; with firmware that cannot preload, only after the first 256 bytes of \
                                                                                  code";
    WorkGroupIdX           "work-group-id-x"          "work-group id x"          "the work-group's x in the grid";
    WorkGroupIdY           "work-group-id-y"          "work-group id y"          "the work-group's y in the grid";
    WorkGroupIdZ           "work-group-id-z"          "work-group id z"          "the work-group's z in the grid";
    WorkGroupInfo          "work-group-info"          "work-group info"          "the number of waves in the work-group, and a flag for its first wave";
    ScratchWavefrontOffset "scratch-wavefront-offset" "scratch wavefront offset" "the offset of the wave's scratch memory in the queue's, in bytes";
    WorkItemIdX            "work-item-id-x"           "work-item id x"           "the work-item's x in the work-group";
    WorkItemIdY            "work-item-id-y"           "work-item id y"           "the work-item's y in the work-group";
    WorkItemIdZ            "work-item-id-z"           "work-item id z"           "the work-item's z in the work-group";
}

const EVERY: Families = &[(Family::Gfx6, Family::Gfx13)];
/// Families with work-group ids in trap temporaries.
const ARCHITECTED_IDS: Families = &[(Family::Gfx12, Family::Gfx13)];
const SYSTEM_IDS: Families = &[(Family::Gfx6, Family::Gfx11_7)];
/// Families except those that USAGE lists with "Architected flat scratch".
const SCRATCH_BY_OFFSET: Families = &[
    (Family::Gfx6, Family::Gfx90a),
    (Family::Gfx10_1, Family::Gfx10_3),
];
/// Families that USAGE lists with "Packed work-item IDs".
const PACKED_IDS: Families = &[
    (Family::Gfx90a, Family::Gfx950),
    (Family::Gfx11, Family::Gfx13),
];
const UNPACKED_IDS: Families = &[
    (Family::Gfx6, Family::Gfx908),
    (Family::Gfx10_1, Family::Gfx10_3),
];

/// The items, in the order in which they are assigned registers. A row takes none if the family lacks its field.
#[rustfmt::skip]
const ROWS: &[Row] = {
    use Field::*;
    use InitialValue::*;
    use Place::*;
    &[
        Row { holds: PrivateSegmentBuffer,   place: User(4),     field: EnableSgprPrivateSegmentBuffer, values: 1..2,   families: EVERY },
        Row { holds: DispatchPointer,        place: User(2),     field: EnableSgprDispatchPtr,          values: 1..2,   families: EVERY },
        Row { holds: QueuePointer,           place: User(2),     field: EnableSgprQueuePtr,             values: 1..2,   families: EVERY },
        Row { holds: KernargSegmentPointer,  place: User(2),     field: EnableSgprKernargSegmentPtr,    values: 1..2,   families: EVERY },
        Row { holds: DispatchId,             place: User(2),     field: EnableSgprDispatchId,           values: 1..2,   families: EVERY },
        Row { holds: FlatScratchInit,        place: User(2),     field: EnableSgprFlatScratchInit,      values: 1..2,   families: EVERY },
        Row { holds: PrivateSegmentSize,     place: User(1),     field: EnableSgprPrivateSegmentSize,   values: 1..2,   families: EVERY },
        Row { holds: PreloadedKernargs,      place: UserCounted, field: KernargPreloadSpecLength,       values: 1..128, families: EVERY },
        Row { holds: WorkGroupIdX,           place: System,      field: EnableSgprWorkgroupIdX,         values: 1..2,   families: SYSTEM_IDS },
        Row { holds: WorkGroupIdY,           place: System,      field: EnableSgprWorkgroupIdY,         values: 1..2,   families: SYSTEM_IDS },
        Row { holds: WorkGroupIdZ,           place: System,      field: EnableSgprWorkgroupIdZ,         values: 1..2,   families: SYSTEM_IDS },
        Row { holds: WorkGroupInfo,          place: System,      field: EnableSgprWorkgroupInfo,        values: 1..2,   families: EVERY },
        Row { holds: ScratchWavefrontOffset, place: System,      field: EnablePrivateSegment,           values: 1..2,   families: SCRATCH_BY_OFFSET },
        Row { holds: WorkGroupIdX, place: Trap { number: 9, high: 31, low: 0 },  field: EnableSgprWorkgroupIdX, values: 1..2, families: ARCHITECTED_IDS },
        Row { holds: WorkGroupIdY, place: Trap { number: 7, high: 15, low: 0 },  field: EnableSgprWorkgroupIdY, values: 1..2, families: ARCHITECTED_IDS },
        Row { holds: WorkGroupIdZ, place: Trap { number: 7, high: 31, low: 16 }, field: EnableSgprWorkgroupIdZ, values: 1..2, families: ARCHITECTED_IDS },
        // 3 is undefined, so work-item ids are unknown then.
        Row { holds: WorkItemIdX,  place: Vector(0),                 field: EnableVgprWorkitemId, values: 0..3, families: UNPACKED_IDS },
        Row { holds: WorkItemIdY,  place: Vector(1),                 field: EnableVgprWorkitemId, values: 1..3, families: UNPACKED_IDS },
        Row { holds: WorkItemIdZ,  place: Vector(2),                 field: EnableVgprWorkitemId, values: 2..3, families: UNPACKED_IDS },
        Row { holds: WorkItemIdX,  place: Packed { high: 9,  low: 0 },  field: EnableVgprWorkitemId, values: 0..3, families: PACKED_IDS },
        Row { holds: WorkItemIdY,  place: Packed { high: 19, low: 10 }, field: EnableVgprWorkitemId, values: 1..3, families: PACKED_IDS },
        Row { holds: WorkItemIdZ,  place: Packed { high: 29, low: 20 }, field: EnableVgprWorkitemId, values: 2..3, families: PACKED_IDS },
    ]
};

/// Returns the maximum number of user registers that the hardware loads. A descriptor can request more, which are not loaded.
const fn user_registers(family: Family) -> u16 {
    match family {
        Family::Gfx12_5 => 32,
        Family::R600
        | Family::Gfx6
        | Family::Gfx7
        | Family::Gfx8
        | Family::Gfx9
        | Family::Gfx908
        | Family::Gfx90a
        | Family::Gfx942
        | Family::Gfx950
        | Family::Gfx10_1
        | Family::Gfx10_3
        | Family::Gfx11
        | Family::Gfx11_7
        | Family::Gfx12
        | Family::Gfx13 => 16,
    }
}

impl KernelDescriptor {
    /// Returns the known contents of registers at the start of the kernel: scalar registers, trap temporaries and vector registers, each in ascending
    /// order. All other registers are undefined.
    ///
    /// If the descriptor requests more user registers than the hardware loads, the excess items are left out. Without a [`family`](Self::family)
    /// nothing is known.
    ///
    /// On GFX12.5 a dispatch with clusters has the cluster's ids in place of the work-group's.
    #[must_use]
    pub fn initial_registers(&self) -> Vec<InitialRegisters> {
        let Some(family) = self.family else {
            return Vec::new();
        };
        let most = user_registers(family);
        let asked = u16::try_from(self.small(Field::UserSgprCount));
        let loaded = asked.map_or(most, |count| count.min(most));
        let (mut next_user, mut next_system) = (0, loaded);
        let mut all = Vec::new();
        for row in ROWS {
            let Some(value) = self.asks_for(row, family) else {
                continue;
            };
            let whole = |file, first, count| (file, first, count, None);
            let (file, first, count, bits) = match row.place {
                Place::User(count) => {
                    let first = take(&mut next_user, count);
                    // A partially loaded pointer is not listed.
                    let is_loaded = first.saturating_add(count) <= loaded;
                    whole(
                        RegisterFile::Scalar,
                        first,
                        if is_loaded { count } else { 0 },
                    )
                }
                Place::UserCounted => {
                    let count = u16::try_from(value).unwrap_or(u16::MAX);
                    let first = take(&mut next_user, count);
                    whole(
                        RegisterFile::Scalar,
                        first,
                        count.min(loaded.saturating_sub(first)),
                    )
                }
                Place::System => whole(RegisterFile::Scalar, take(&mut next_system, 1), 1),
                Place::Vector(number) => whole(RegisterFile::Vector, number, 1),
                Place::Trap { number, high, low } => {
                    (RegisterFile::TrapTemporary, number, 1, part(high, low))
                }
                Place::Packed { high, low } => (RegisterFile::Vector, 0, 1, part(high, low)),
            };
            if count > 0 {
                all.push(InitialRegisters {
                    file,
                    first,
                    count,
                    bits,
                    holds: row.holds,
                    kernarg_offset: matches!(row.place, Place::UserCounted).then(|| {
                        self.small(Field::KernargPreloadSpecOffset)
                            .saturating_mul(4)
                    }),
                });
            }
        }
        all
    }

    /// Returns the value of the row's field, if it requests the row's item on this family.
    fn asks_for(&self, row: &Row, family: Family) -> Option<u64> {
        let mut families = row.families.iter();
        let is_here = families.any(|&(first, last)| first <= family && family <= last);
        self.field(row.field)
            .filter(|value| is_here && row.values.contains(value))
    }
}

/// Takes the given number of registers, and returns the first.
fn take(next: &mut u16, count: u16) -> u16 {
    let first = *next;
    *next = first.saturating_add(count);
    first
}

/// Returns bits `high` to `low` of a register, or `None` if that is the whole register.
const fn part(high: u8, low: u8) -> Option<Range<u8>> {
    match (high, low) {
        (31, 0) => None,
        _ => Some(low..high.saturating_add(1)),
    }
}
