//! Processors: their names, their numbers in ELF headers, and the facts that a debugger needs about each.
//!
//! The rows are in `table`. The features for which a code object was built are left to [`TargetId`](super::TargetId). Sources: USAGE
//! "Processors", "Header" (`EF_AMDGPU_MACH`), "Address Spaces", "Flat Scratch".

mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::AccumulationFile;
use table::Facts;
pub use table::Family;

use super::WaveSize;
use crate::error::{ErrorKind, Result};

/// One processor, or one generic processor that stands for several.
///
/// All facts apply to the compiler's default code for the processor. Two processors are equal if they are the same row of the table.
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

/// The two architectures that use `EM_AMDGPU`. Source: USAGE "Target Triples".
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// `r600`: 32-bit code objects, older than GCN. The DWARF of USAGE does not describe it.
    R600,
    /// `amdgcn`: 64-bit code objects, GFX6 and later.
    Amdgcn,
}

impl Architecture {
    /// Returns the name, as at the beginning of a target triple.
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
    /// `sramecc`: error correction of on-chip memories.
    Sramecc,
    /// `xnack`: replay of memory accesses after a page fault.
    Xnack,
}

impl TargetFeature {
    /// Every feature, in the order of a canonical target id.
    pub const ALL: &'static [TargetFeature] = &[TargetFeature::Sramecc, TargetFeature::Xnack];

    /// Returns the name in a target id.
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
    /// There are no flat accesses, and thus no generic address space.
    Unsupported,
    /// `FLAT_SCRATCH` holds an offset from a base that is hidden from the wave.
    Offset,
    /// `FLAT_SCRATCH` is a pair of scalar registers that holds the address.
    Absolute,
    /// The hardware sets `FLAT_SCRATCH` up; it is not a pair of general scalar registers.
    Architected,
    /// The processor is unknown ([`Processor::UNKNOWN`]).
    Unknown,
}

/// The unit of an offset into scratch in a scalar register (stack and frame pointer, SGPR32 and SGPR33).
///
/// It follows from the instructions that access scratch. USAGE lists the processors without the buffer ("Private Segment Buffer"). The unit
/// was determined from code of LLVM 22, which adds 0x400 to SGPR32 on `gfx90a`, and 16 on `gfx942`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScratchAddressing {
    /// `buffer_*` instructions: the register counts bytes of the whole wave, which are the bytes of one lane times the wave size.
    Buffer,
    /// `scratch_*` instructions: the register counts bytes of one lane.
    Flat,
}

impl ScratchAddressing {
    /// Returns the `private_lane` address of a stack or frame pointer with the contents `value`.
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

    /// A processor that the table does not have: a newer one, or none. It has every register and both wave sizes, so that nothing is
    /// rejected. Facts that differ between processors are unknown: the default wave size, the unit of scratch pointers, machine code. It is
    /// not in [`ALL`](Processor::ALL).
    pub const UNKNOWN: &'static Processor = &table::UNKNOWN;

    /// Returns true if the processor is in the table, and is not [`UNKNOWN`](Processor::UNKNOWN).
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.mach != Processor::UNKNOWN.mach
    }

    /// Returns the processor with this name: the primary one or, for `amdgcn`, an alternative like `tahiti`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Processor> {
        Processor::ALL
            .iter()
            .find(|row| row.name == name || row.other_names.contains(&name))
    }

    /// Returns the processor that the first part of a target triple names: `amdgpu9.0a` is `gfx90a`, `amdgpu9.4` is `gfx9-4-generic`.
    /// Returns `None` for other names, for example `amdgpu` and `amdgpu8`, whose family has no generic processor.
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

    /// Returns true if the first part of a target triple is compatible with this processor: its architecture, its subarchitecture, or the
    /// major one of its family.
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
            // No processor, or the major subarchitecture of a family without a generic processor; gfx810 has its own.
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

    /// Returns the primary name: `gfx90a`, `gfx11-generic`, `cayman`; `unknown` for [`UNKNOWN`](Processor::UNKNOWN).
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the `EF_AMDGPU_MACH` value; 0 (`EF_AMDGPU_MACH_NONE`) for [`UNKNOWN`](Processor::UNKNOWN).
    #[must_use]
    pub const fn mach(&self) -> u8 {
        self.mach
    }

    /// Returns the alternative names, for example `tahiti` for `gfx600`.
    #[must_use]
    pub const fn other_names(&self) -> &'static [&'static str] {
        self.other_names
    }

    /// Returns the architecture of the processor.
    #[must_use]
    pub const fn architecture(&self) -> Architecture {
        self.facts.architecture
    }

    /// Returns the major number after `gfx`, from 6 to 13. `None` for `r600` processors and unknown ones.
    #[must_use]
    pub const fn generation(&self) -> Option<u8> {
        self.facts.generation
    }

    /// Returns the family of the processor. `None` for an unknown one.
    #[must_use]
    pub const fn family(&self) -> Option<Family> {
        self.family
    }

    /// Returns the major and minor number and the stepping: 9, 0 and 10 for `gfx90a`. `None` for generic, `r600` and unknown processors.
    #[must_use]
    pub fn version(&self) -> Option<[u32; 3]> {
        let digits = self.name.strip_prefix("gfx")?;
        let (major, rest) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
        let mut rest = rest.chars().map(|digit| digit.to_digit(16));
        Some([major.parse().ok()?, rest.next()??, rest.next()??])
    }

    /// Returns the family of the processor of this version.
    ///
    /// A stepping that the table does not have gets the family of the processors with the same major and minor number, if they have only
    /// one.
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

    /// Returns the features that a target id for this processor can name.
    ///
    /// For `gfx1250` and `gfx1251`, this follows LLVM 24, which has `sramecc`. The documents of LLVM 22 have no features, although it sets
    /// both to *any* in `e_flags`.
    #[must_use]
    pub const fn features(&self) -> &'static [TargetFeature] {
        self.features
    }

    /// Returns true if a target id for this processor can name the feature.
    #[must_use]
    pub fn supports(&self, feature: TargetFeature) -> bool {
        self.features.contains(&feature)
    }

    /// Returns the wave sizes, with the default of the compiler first. None for `r600` processors; both, in arbitrary order, for unknown
    /// ones.
    #[must_use]
    pub const fn wave_sizes(&self) -> &'static [WaveSize] {
        self.facts.wave_sizes
    }

    /// Returns true if waves can have this size.
    #[must_use]
    pub fn supports_wave_size(&self, wave_size: WaveSize) -> bool {
        self.wave_sizes().contains(&wave_size)
    }

    /// Checks that waves can have this size.
    ///
    /// # Errors
    /// [`WrongWaveSize`](ErrorKind::WrongWaveSize) if they cannot.
    pub fn check_wave_size(&self, wave_size: WaveSize) -> Result<()> {
        if self.supports_wave_size(wave_size) {
            return Ok(());
        }
        Err(ErrorKind::WrongWaveSize {
            lanes: wave_size.lanes(),
            reason: format!("{} has no such waves", self.name()),
        }
        .into())
    }

    /// Returns the compiler's default wave size. `None` for `r600` processors and unknown ones.
    #[must_use]
    pub fn default_wave_size(&self) -> Option<WaveSize> {
        let first = self.wave_sizes().first().copied();
        first.filter(|_| self.is_known())
    }

    /// Returns the number of scalar registers that an instruction can name, from `s0`.
    ///
    /// USAGE has the numbers of allocated registers, which include special ones; these numbers are accepted by LLVM 22's assembler.
    #[must_use]
    pub const fn max_sgprs(&self) -> u16 {
        self.facts.sgprs
    }

    /// Returns the number of vector registers that code can name, from `v0`. Accumulation registers are not included, even if they share a
    /// file with these.
    #[must_use]
    pub const fn max_vgprs(&self) -> u16 {
        self.facts.vgprs
    }

    /// Returns the number of accumulation registers that an instruction can name, from `a0`.
    #[must_use]
    pub const fn max_agprs(&self) -> u16 {
        match self.facts.accumulation {
            AccumulationFile::None => 0,
            AccumulationFile::Separate | AccumulationFile::Unified => 256,
        }
    }

    /// Returns the way in which flat accesses find scratch.
    #[must_use]
    pub const fn flat_scratch(&self) -> FlatScratch {
        self.facts.flat_scratch
    }

    /// Returns true if there is a generic address space. Unknown processors are assumed to have one, as all processors since gfx7.
    #[must_use]
    pub const fn has_generic_address_space(&self) -> bool {
        !matches!(self.facts.flat_scratch, FlatScratch::Unsupported)
    }

    /// Returns the unit of scalar registers that point into scratch. `None` for `r600` and unknown processors.
    ///
    /// With architected flat scratch, there is no scratch buffer (USAGE "Private Segment Buffer"). On other processors, LLVM can use
    /// `scratch_*` if an option is set (`enable-flat-scratch`). It is off by default, and code objects do not record it.
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

    /// Returns true if scratch is global memory in the generic address space, at addresses that contain the lane ("Globally Accessible
    /// Scratch" of USAGE). Code of LLVM 22 then does not use the private aperture.
    #[must_use]
    pub const fn has_globally_accessible_scratch(&self) -> bool {
        self.facts.globally_accessible_scratch
    }

    /// Returns true if it is a generic processor: a name for code that runs on several processors.
    #[must_use]
    pub const fn is_generic(&self) -> bool {
        !self.covers.is_empty()
    }

    /// Returns true if code built for this processor can run on `device`: the same processor, or one that this generic processor covers.
    /// Features and generic versions are not compared.
    #[must_use]
    pub fn runs_on(&self, device: &Processor) -> bool {
        self == device || self.covers.contains(&device.name)
    }
}
