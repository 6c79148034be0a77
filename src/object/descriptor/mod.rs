//! Reads kernel descriptors: 64 bytes for each kernel that tell the hardware how to start it.
//!
//! [`Field`] has every field of the document's tables, one row each, with its bits on each family. The methods of [`KernelDescriptor`] derive values
//! for debuggers. [`KernelDescriptor::initial_registers`] lists the contents of registers at the start of the kernel.
//!
//! Source: [USAGE](crate) "Kernel Descriptor". Comments at the rows note where its tables disagree with its assembler directives.

mod field;
mod initial_state;

pub use field::{Field, Placement, Word};
pub use initial_state::{InitialRegisters, InitialValue, RegisterFile};

use super::bytes::u64_at;
use crate::arch::{AccumulationFile, Family, WaveSize};

/// A kernel descriptor.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// The address in the code object.
    pub address: u64,
    /// The 64 bytes.
    pub bytes: [u8; KernelDescriptor::SIZE],
    /// The family whose tables define the bits. `None` for a processor whose descriptors are unknown ([`described`]).
    pub family: Option<Family>,
}

impl KernelDescriptor {
    /// The size of a descriptor, in bytes.
    pub const SIZE: usize = 64;

    /// Returns the unscaled value of a field, or `None` if the family has no such field. Without a family, only fields with the same bits on all
    /// families are known.
    #[must_use]
    pub fn field(&self, field: Field) -> Option<u64> {
        let placement = match self.family {
            Some(family) => field.placement(family)?,
            None => field.common_placement()?,
        };
        Some(self.bits(placement.first_bit(), placement.width()))
    }

    /// Returns all fields of the family with their values, in the order of the tables.
    pub fn fields(&self) -> impl Iterator<Item = (Field, u64)> + '_ {
        Field::ALL
            .iter()
            .filter_map(|&field| self.field(field).map(|value| (field, value)))
    }

    /// Returns the numbers of the set bits that belong to no field of the family, from the start of the descriptor.
    pub fn reserved_bits(&self) -> impl Iterator<Item = u32> + '_ {
        (0..512).filter(|&bit| {
            let covered = self.family.is_none_or(|family| {
                Field::ALL
                    .iter()
                    .filter_map(|field| field.placement(family))
                    .any(|p| p.covers(bit))
            });
            !covered && self.bits(bit, 1) == 1
        })
    }

    /// Returns `width` bits, at most 64, from bit `first` of the descriptor. They must not cross a multiple of 64.
    fn bits(&self, first: u32, width: u32) -> u64 {
        let word = u64_at(&self.bytes, u64::from(first / 64) * 8).unwrap_or(0);
        let shifted = word.checked_shr(first % 64).unwrap_or(0);
        let unused = 64_u32.saturating_sub(width);
        let mask = u64::MAX.checked_shr(unused).unwrap_or(0);
        shifted & mask
    }

    fn value(&self, field: Field) -> u64 {
        self.field(field).unwrap_or(0)
    }

    fn small(&self, field: Field) -> u32 {
        u32::try_from(self.value(field)).unwrap_or(u32::MAX)
    }

    /// Returns the address of the kernel's first instruction in the code object.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.address
            .wrapping_add(self.value(Field::KernelCodeEntryByteOffset))
    }

    /// Returns the start of a kernel with preloaded arguments on firmware that supports preloading: 256 bytes after [`entry`](Self::entry). Returns
    /// `None` if it preloads none.
    ///
    /// Source: USAGE "Preloaded Kernel Arguments".
    #[must_use]
    pub fn preload_entry(&self) -> Option<u64> {
        (self.value(Field::KernargPreloadSpecLength) != 0).then(|| self.entry().wrapping_add(256))
    }

    /// Returns true if waves can allocate more vector registers while they run. On a compute queue, the start of their private memory is then
    /// reserved for these registers, and the kernel's frame begins after it.
    #[must_use]
    pub fn has_dynamic_vgprs(&self) -> bool {
        self.field(Field::EnableDynamicVgpr) == Some(1)
    }

    /// Returns the local memory of a work-group, in bytes, without the part allocated at dispatch.
    #[must_use]
    pub fn group_segment_fixed_size(&self) -> u32 {
        self.small(Field::GroupSegmentFixedSize)
    }

    /// Returns the scratch of one lane, in bytes, without a dynamic stack.
    #[must_use]
    pub fn private_segment_fixed_size(&self) -> u32 {
        self.small(Field::PrivateSegmentFixedSize)
    }

    /// Returns the size of the arguments, in bytes, or 0 if the descriptor does not give it.
    #[must_use]
    pub fn kernarg_size(&self) -> u32 {
        self.small(Field::KernargSize)
    }

    /// Returns the number of lanes of the wavefronts, or `None` without a family.
    #[must_use]
    pub fn wave_size(&self) -> Option<WaveSize> {
        self.family?;
        Some(match self.field(Field::EnableWavefrontSize32) {
            Some(1) => WaveSize::Wave32,
            _ => WaveSize::Wave64,
        })
    }

    /// Returns the number of vector registers of a lane, rounded up to the descriptor's granularity. It includes the accumulation registers if both
    /// share one file (GFX90A to GFX950).
    #[must_use]
    pub fn vector_registers(&self) -> Option<u32> {
        let granule = vgpr_granule(self.family?, self.wave_size()?)?;
        let blocks = self.small(Field::GranulatedWorkitemVgprCount);
        blocks.checked_add(1)?.checked_mul(granule)
    }

    /// Returns the number of the first accumulation register in the shared file: the assembler's `accum_offset`. Returns `None` on targets without a
    /// shared file.
    #[must_use]
    pub fn accumulation_offset(&self) -> Option<u32> {
        let blocks = u32::try_from(self.field(Field::AccumOffset)?).ok()?;
        blocks.checked_add(1)?.checked_mul(4)
    }

    /// Returns the number of accumulation registers of a lane, or `None` on targets without any.
    #[must_use]
    pub fn accumulation_registers(&self) -> Option<u32> {
        let all = self.vector_registers()?;
        match self.family?.accumulation() {
            AccumulationFile::None => None,
            AccumulationFile::Separate => Some(all),
            AccumulationFile::Unified => Some(all.saturating_sub(self.accumulation_offset()?)),
        }
    }

    /// Returns the number of scalar registers of a wavefront, rounded up to the descriptor's granularity, including VCC and similar registers.
    #[must_use]
    pub fn scalar_registers(&self) -> Option<u32> {
        let blocks = self.small(Field::GranulatedWavefrontSgprCount);
        match self.family? {
            Family::Gfx6 | Family::Gfx7 | Family::Gfx8 => blocks.checked_add(1)?.checked_mul(8),
            // Stored as 2 * max(0, ceil(n / 16) - 1).
            Family::Gfx9 | Family::Gfx908 | Family::Gfx90a | Family::Gfx942 | Family::Gfx950 => {
                (blocks / 2).checked_add(1)?.checked_mul(16)
            }
            // Not in the count: every wavefront has all of them.
            Family::Gfx10_1
            | Family::Gfx10_3
            | Family::Gfx11
            | Family::Gfx11_7
            | Family::Gfx12
            | Family::Gfx12_5
            | Family::Gfx13 => Some(128),
            Family::R600 => None,
        }
    }

    /// Returns the bytes of local memory in one block of `GRANULATED_LDS_SIZE`, or `None` without a family.
    #[must_use]
    pub fn local_memory_granule(&self) -> Option<u32> {
        Some(match self.family? {
            Family::Gfx6 => 64 * 4,
            Family::Gfx7
            | Family::Gfx8
            | Family::Gfx9
            | Family::Gfx908
            | Family::Gfx90a
            | Family::Gfx942
            | Family::Gfx10_1
            | Family::Gfx10_3
            | Family::Gfx11
            | Family::Gfx11_7
            | Family::Gfx12 => 128 * 4,
            Family::Gfx950 => 320 * 4,
            Family::Gfx12_5 => 512 * 4,
            Family::Gfx13 => 256 * 4,
            Family::R600 => return None,
        })
    }
}

/// Returns the family, if it has kernel descriptors.
#[must_use]
pub const fn described(family: Family) -> Option<Family> {
    match family {
        Family::Gfx6
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
        | Family::Gfx12_5
        | Family::Gfx13 => Some(family),
        // There are no kernel descriptors.
        Family::R600 => None,
    }
}

/// Returns the number of vector registers in one block of `GRANULATED_WORKITEM_VGPR_COUNT`.
const fn vgpr_granule(family: Family, wave_size: WaveSize) -> Option<u32> {
    Some(match (family, wave_size) {
        (Family::Gfx6 | Family::Gfx7 | Family::Gfx8 | Family::Gfx9 | Family::Gfx908, _) => 4,
        (Family::Gfx90a | Family::Gfx942 | Family::Gfx950, _) => 8,
        (
            Family::Gfx10_1 | Family::Gfx10_3 | Family::Gfx11 | Family::Gfx11_7 | Family::Gfx12,
            wave_size,
        ) => match wave_size {
            WaveSize::Wave64 => 4,
            WaveSize::Wave32 => 8,
        },
        (Family::Gfx12_5, _) | (Family::Gfx13, WaveSize::Wave32) => 16,
        // Waves of 64 lanes on GFX13 are not documented.
        (Family::Gfx13, WaveSize::Wave64) | (Family::R600, _) => return None,
    })
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
mod tests;
