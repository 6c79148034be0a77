//! Processors: their names, their numbers in ELF headers, and what a debugger must know of each.
//!
//! The rows stand in `table`; which features a code object was built for is the business of
//! [`TargetId`](super::TargetId). Sources: USAGE "Processors", "Header" (`EF_AMDGPU_MACH`), "Address
//! Spaces", "Flat Scratch".

mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::AccumulationFile;
use table::Facts;
pub use table::Family;

use super::WaveSize;

/// One processor, or one generic processor that stands for several.
///
/// All facts are those of what the compiler produces for the processor by default; two processors are
/// equal if they are the same row of the table.
#[derive(Clone, Copy)]
pub struct Processor {
    name: &'static str,
    mach: u8,
    family: Option<Family>,
    facts: &'static Facts,
    features: &'static [TargetFeature],
    other_names: &'static [&'static str],
    covers: &'static [&'static str],
}

impl PartialEq for Processor {
    fn eq(&self, other: &Processor) -> bool {
        self.mach == other.mach
    }
}

impl Eq for Processor {}

impl core::fmt::Debug for Processor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Processor")
            .field("name", &self.name)
            .field("mach", &self.mach)
            .finish_non_exhaustive()
    }
}

/// The two architectures behind `EM_AMDGPU`. Source: USAGE "Target Triples".
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// `r600`: 32-bit code objects, older than GCN. The DWARF of USAGE does not describe it.
    R600,
    /// `amdgcn`: 64-bit code objects, GFX6 and later.
    Amdgcn,
}

impl Architecture {
    /// The name, as it begins a target triple.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Architecture::R600 => "r600",
            Architecture::Amdgcn => "amdgcn",
        }
    }
}

/// A feature that a target id can switch on or off. Source: USAGE "Target Features".
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetFeature {
    /// `sramecc`: error correction of the memories on the chip.
    Sramecc,
    /// `xnack`: memory accesses that can be replayed after a page fault.
    Xnack,
}

impl TargetFeature {
    /// Every feature, in the order of a canonical target id.
    pub const ALL: &'static [TargetFeature] = &[TargetFeature::Sramecc, TargetFeature::Xnack];

    /// The name in a target id.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TargetFeature::Sramecc => "sramecc",
            TargetFeature::Xnack => "xnack",
        }
    }
}

/// The way in which flat accesses of a wave find its scratch memory. Source: USAGE "Flat Scratch".
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlatScratch {
    /// There are no flat accesses, and so no generic address space.
    Unsupported,
    /// `FLAT_SCRATCH` holds an offset from a base that is hidden from the wave.
    Offset,
    /// `FLAT_SCRATCH` is a pair of scalar registers that holds the address.
    Absolute,
    /// The hardware sets `FLAT_SCRATCH` up; it is not a pair of general scalar registers.
    Architected,
    /// The processor is not known ([`Processor::UNKNOWN`]).
    Unknown,
}

/// The unit of an offset into scratch in a scalar register (stack and frame pointer, SGPR32 and SGPR33).
///
/// It follows from the instructions that reach scratch. USAGE says which processors lack the buffer
/// ("Private Segment Buffer"); what the registers count is seen in the code of LLVM 22, which adds
/// 0x400 to SGPR32 on `gfx90a` where it adds 16 on `gfx942`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScratchAddressing {
    /// `buffer_*` instructions: the register counts bytes of the whole wave, the wave size times as many
    /// as of one lane.
    Buffer,
    /// `scratch_*` instructions: the register counts bytes of one lane.
    Flat,
}

impl ScratchAddressing {
    /// Returns the `private_lane` address that a stack or frame pointer stands for, where it is `value`.
    #[must_use]
    pub const fn lane_address(self, value: u32, wave_size: WaveSize) -> u32 {
        match self {
            ScratchAddressing::Buffer => value / wave_size.lanes(),
            ScratchAddressing::Flat => value,
        }
    }
}

impl Processor {
    /// Every processor, by ascending [`mach`](Processor::mach).
    pub const ALL: &'static [Processor] = table::PROCESSORS;

    /// Stands for a processor that the table does not have: a newer one, or none. It has every register and both wave
    /// sizes, so that nothing is refused for its sake; what differs from processor to processor (the default wave
    /// size, what scratch pointers count, machine code) is not known of it. It is not in [`ALL`](Processor::ALL).
    pub const UNKNOWN: &'static Processor = &table::UNKNOWN;

    /// Returns true if it is one of the table, and not [`UNKNOWN`](Processor::UNKNOWN).
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.mach != Processor::UNKNOWN.mach
    }

    /// The processor with this name: the primary one or, for `amdgcn`, an alternative like `tahiti`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Processor> {
        Processor::ALL
            .iter()
            .find(|row| row.name == name || row.other_names.contains(&name))
    }

    /// Returns the processor that the first part of a target triple names: `amdgpu9.0a` is `gfx90a`, `amdgpu9.4` is
    /// `gfx9-4-generic`. Nothing if it names none, as `amdgpu` and `amdgpu8`, whose family has no generic processor.
    ///
    /// Source: USAGE of LLVM 24, "Target Triples", "Subarchitecture Compatibility".
    #[must_use]
    pub fn by_subarchitecture(text: &str) -> Option<&'static Processor> {
        let subarchitecture = text.strip_prefix("amdgpu")?;
        let (major, minor) = match subarchitecture.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (subarchitecture, ""),
        };
        let is_number = |text: &str| text.bytes().all(|letter| letter.is_ascii_hexdigit());
        if !is_number(major) || !is_number(minor) {
            return None;
        }
        let name = match minor.len() {
            0 => format!("gfx{major}-generic"),
            1 => format!("gfx{major}-{minor}-generic"),
            _ => format!("gfx{major}{minor}"),
        };
        Processor::by_name(&name)
    }

    /// Returns true if the first part of a target triple can stand before this processor: its architecture, its
    /// subarchitecture, or the major one of its family.
    #[must_use]
    pub(super) fn has_architecture(&self, text: &str) -> bool {
        if text == self.architecture().name() {
            return true;
        }
        let Some(subarchitecture) = text.strip_prefix("amdgpu") else {
            return false;
        };
        if self.architecture() != Architecture::Amdgcn {
            return false;
        }
        match Processor::by_subarchitecture(text) {
            Some(named) => {
                // `gfx1250-strict` is a variant of `gfx1250`.
                let rest = self.name.strip_prefix(named.name);
                named.runs_on(self) || rest.is_some_and(|rest| rest.starts_with('-'))
            }
            // None, or the major one of a family without a generic processor; gfx810 has its own.
            None => {
                let major = self.version().filter(|[_, minor, _]| *minor == 0);
                subarchitecture.is_empty()
                    || major.is_some_and(|[major, ..]| major.to_string() == subarchitecture)
            }
        }
    }

    /// Returns the processor with this `EF_AMDGPU_MACH` value: the lowest byte of `e_flags`.
    #[must_use]
    pub const fn by_mach(mach: u8) -> Option<&'static Processor> {
        let mut rows = Processor::ALL;
        while let [row, rest @ ..] = rows {
            if row.mach == mach {
                return Some(row);
            }
            rows = rest;
        }
        None
    }

    /// The primary name: `gfx90a`, `gfx11-generic`, `cayman`; `unknown` of [`UNKNOWN`](Processor::UNKNOWN).
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the `EF_AMDGPU_MACH` value; 0 (`EF_AMDGPU_MACH_NONE`) of [`UNKNOWN`](Processor::UNKNOWN).
    #[must_use]
    pub const fn mach(&self) -> u8 {
        self.mach
    }

    /// Alternative names, `tahiti` for `gfx600` for example.
    #[must_use]
    pub const fn other_names(&self) -> &'static [&'static str] {
        self.other_names
    }

    /// Returns the architecture it belongs to.
    #[must_use]
    pub const fn architecture(&self) -> Architecture {
        self.facts.architecture
    }

    /// Returns the major number after `gfx`, from 6 to 13. `None` for `r600` processors and one that is not known.
    #[must_use]
    pub const fn generation(&self) -> Option<u8> {
        self.facts.generation
    }

    /// Returns the family it belongs to. `None` for one that is not known.
    #[must_use]
    pub const fn family(&self) -> Option<Family> {
        self.family
    }

    /// Returns the major and minor number and the stepping: 9, 0 and 10 of `gfx90a`. Nothing of a generic processor, of `r600`
    /// ones and of one that is not known.
    #[must_use]
    pub fn version(&self) -> Option<[u32; 3]> {
        let digits = self.name.strip_prefix("gfx")?;
        let (major, rest) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
        let mut rest = rest.chars().map(|digit| digit.to_digit(16));
        Some([major.parse().ok()?, rest.next()??, rest.next()??])
    }

    /// Returns the family of the processor of this version.
    ///
    /// Of a stepping that the table does not have it is the family of those with the same major and minor number, if they
    /// are all of one.
    #[must_use]
    pub fn family_by_version(version: [u32; 3]) -> Option<Family> {
        let [major, minor, _] = version;
        let alike = Processor::ALL.iter().filter_map(|processor| {
            let theirs = processor.version()?;
            let [of_major, of_minor, _] = theirs;
            let is_alike = (of_major, of_minor) == (major, minor);
            is_alike.then_some((theirs, processor.family?))
        });
        let mut exact = alike.clone().filter(|(theirs, _)| *theirs == version);
        if let Some((_, family)) = exact.next() {
            return Some(family);
        }
        let mut families = alike.map(|(_, family)| family);
        let first = families.next()?;
        families.all(|family| family == first).then_some(first)
    }

    /// The features a target id for this processor can name.
    ///
    /// For `gfx1250` and `gfx1251` this follows LLVM 24, which has `sramecc`. The documents of LLVM 22 have none, although
    /// it sets both features to *any* in `e_flags`.
    #[must_use]
    pub const fn features(&self) -> &'static [TargetFeature] {
        self.features
    }

    /// Returns true if a target id for this processor can name the feature.
    #[must_use]
    pub fn supports(&self, feature: TargetFeature) -> bool {
        self.features.contains(&feature)
    }

    /// Returns the wave sizes, that of code built without options first. None for `r600` processors, and both, in no
    /// meaningful order, for one that is not known.
    #[must_use]
    pub const fn wave_sizes(&self) -> &'static [WaveSize] {
        self.facts.wave_sizes
    }

    /// Returns true if waves can have this size.
    #[must_use]
    pub fn supports_wave_size(&self, wave_size: WaveSize) -> bool {
        self.wave_sizes().contains(&wave_size)
    }

    /// Returns the wave size of code built without options. `None` for `r600` processors and one that is not known.
    #[must_use]
    pub fn default_wave_size(&self) -> Option<WaveSize> {
        let first = self.wave_sizes().first().copied();
        first.filter(|_| self.is_known())
    }

    /// Returns how many scalar registers an instruction can name, from `s0`.
    ///
    /// USAGE speaks of numbers allocated, which include special registers; these counts are those that
    /// LLVM 22's assembler accepts.
    #[must_use]
    pub const fn max_sgprs(&self) -> u16 {
        self.facts.sgprs
    }

    /// Returns how many vector registers code can name, from `v0`. Accumulation registers are not counted, also
    /// where they share a file with these.
    #[must_use]
    pub const fn max_vgprs(&self) -> u16 {
        self.facts.vgprs
    }

    /// Returns how many accumulation registers an instruction can name, from `a0`.
    #[must_use]
    pub const fn max_agprs(&self) -> u16 {
        match self.facts.accumulation {
            AccumulationFile::None => 0,
            AccumulationFile::Separate | AccumulationFile::Unified => 256,
        }
    }

    /// Returns how flat accesses find scratch.
    #[must_use]
    pub const fn flat_scratch(&self) -> FlatScratch {
        self.facts.flat_scratch
    }

    /// Returns true if there is a generic address space; of a processor that is not known it is taken that there is, as on all
    /// since gfx7.
    #[must_use]
    pub const fn has_generic_address_space(&self) -> bool {
        !matches!(self.facts.flat_scratch, FlatScratch::Unsupported)
    }

    /// Returns the unit of scalar registers that point into scratch. `None` for `r600` and unknown processors.
    ///
    /// Where flat scratch is architected, there is no scratch buffer to reach it by (USAGE "Private
    /// Segment Buffer"). On others LLVM can be told to use `scratch_*` as well (`enable-flat-scratch`);
    /// nothing in a code object says so, and no default does.
    #[must_use]
    pub const fn scratch_addressing(&self) -> Option<ScratchAddressing> {
        match (self.architecture(), self.facts.flat_scratch) {
            (Architecture::R600, _) | (Architecture::Amdgcn, FlatScratch::Unknown) => None,
            (Architecture::Amdgcn, FlatScratch::Architected) => Some(ScratchAddressing::Flat),
            (
                Architecture::Amdgcn,
                FlatScratch::Unsupported | FlatScratch::Offset | FlatScratch::Absolute,
            ) => Some(ScratchAddressing::Buffer),
        }
    }

    /// Returns true if scratch is seen through the generic address space as global memory, at addresses that
    /// contain the lane ("Globally Accessible Scratch" of USAGE). Code of LLVM 22 then does without the
    /// private aperture.
    #[must_use]
    pub const fn has_globally_accessible_scratch(&self) -> bool {
        self.facts.globally_accessible_scratch
    }

    /// Returns true if it is a generic processor: a name for code that runs on several.
    #[must_use]
    pub const fn is_generic(&self) -> bool {
        !self.covers.is_empty()
    }

    /// Returns true if code built for this processor can run on `device`: the same one, or one that this generic
    /// processor stands for. Features and generic versions are not compared.
    #[must_use]
    pub fn runs_on(&self, device: &Processor) -> bool {
        self == device || self.covers.contains(&device.name)
    }
}
