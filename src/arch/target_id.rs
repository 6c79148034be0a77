//! Target ids: the processor a code object was built for, and the features it was built with.
//!
//! They are in the flags of an ELF header and, as text, in metadata, bundles and options. Reading the header is left to `object`. Sources:
//! USAGE "Target ID", "Header" (the tables of `e_flags`), "Generic Processor Versioning".

use core::fmt;
use core::str::FromStr;

use super::{Machine, Processor, TargetFeature};
use crate::error::{Error, ErrorKind, Result};

/// The version of the code object ABI, which determines the layout of the flags in the ELF header.
///
/// Source: USAGE "Header", `EI_ABIVERSION`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeObjectVersion {
    /// Version 2.
    V2,
    /// Version 3.
    V3,
    /// Version 4.
    V4,
    /// Version 5.
    V5,
    /// Version 6.
    V6,
}

impl CodeObjectVersion {
    /// Returns the version by `EI_OSABI` and `EI_ABIVERSION` of an ELF header.
    ///
    /// Objects that are not for HSA (PAL, Mesa, and those for no operating system) have no version. Their flags have the layout of version
    /// 3, as LLVM writes them. Returns `None` for versions that the table does not have.
    #[must_use]
    pub const fn from_elf(os_abi: u8, abi_version: u8) -> Option<CodeObjectVersion> {
        /// `ELFOSABI_NONE`, `ELFOSABI_AMDGPU_HSA`, `…_PAL` and `…_MESA3D`.
        const NONE: u8 = 0;
        const HSA: u8 = 64;
        const PAL: u8 = 65;
        const MESA3D: u8 = 66;
        match (os_abi, abi_version) {
            (HSA, 0) => Some(CodeObjectVersion::V2),
            (HSA, 1) | (NONE | PAL | MESA3D, 0) => Some(CodeObjectVersion::V3),
            (HSA, 2) => Some(CodeObjectVersion::V4),
            (HSA, 3) => Some(CodeObjectVersion::V5),
            (HSA, 4) => Some(CodeObjectVersion::V6),
            _ => None,
        }
    }
}

/// The setting of a feature for which code was built.
///
/// It is exhaustive on purpose: there is no other setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeatureSetting {
    /// The processor does not have the feature.
    Unsupported,
    /// The code runs with the feature on or off.
    Any,
    /// The code runs only with the feature off.
    Off,
    /// The code runs only with the feature on.
    On,
}

impl FeatureSetting {
    /// Returns true if code built for `self` runs on a device set to `device`.
    #[must_use]
    pub const fn runs_with(self, device: FeatureSetting) -> bool {
        match (self, device) {
            (FeatureSetting::On, FeatureSetting::Off | FeatureSetting::Unsupported)
            | (FeatureSetting::Off, FeatureSetting::On) => false,
            (FeatureSetting::Unsupported | FeatureSetting::Any, _)
            | (_, FeatureSetting::Any)
            | (FeatureSetting::On, FeatureSetting::On)
            | (FeatureSetting::Off, FeatureSetting::Off | FeatureSetting::Unsupported) => true,
        }
    }
}

/// The target for which a code object was built.
///
/// Formatted as a canonical target id: `gfx90a:sramecc+:xnack-`. A feature that can have any setting, or that the processor does not have,
/// is omitted, and so is the generic version. An unknown processor is formatted as its number: `unknown-0x27`. Code for a machine other
/// than AMDGPU has the machine's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetId {
    machine: Machine,
    processor: &'static Processor,
    /// `EF_AMDGPU_MACH`, also for an unknown processor.
    mach: u8,
    sramecc: FeatureSetting,
    xnack: FeatureSetting,
    generic_version: u8,
}

impl TargetId {
    /// Returns the target of code for this processor that runs with any setting of the features it supports.
    #[must_use]
    pub fn new(processor: &'static Processor) -> TargetId {
        let setting = |feature| {
            if processor.supports(feature) {
                FeatureSetting::Any
            } else {
                FeatureSetting::Unsupported
            }
        };
        TargetId {
            machine: Machine::AMDGPU,
            processor,
            mach: processor.mach(),
            sramecc: setting(TargetFeature::Sramecc),
            xnack: setting(TargetFeature::Xnack),
            generic_version: 0,
        }
    }

    /// Returns the target in the `e_flags` of an ELF header.
    ///
    /// Settings are taken from the flags even if the processor does not support the feature: LLVM sets some that USAGE does not list, see
    /// [`Processor::features`].
    ///
    /// Versions 2 and 3 have one bit per feature and cannot express *any*; a set bit reads as *on*, as in USAGE. According to USAGE, the
    /// flags of version 2 have no processor. However, LLVM used the layout of version 3 when it still wrote version 2, and such flags are
    /// accepted. Otherwise, the processor is in a note, and [`from_flags_v2`](TargetId::from_flags_v2) returns the target.
    ///
    /// A number that the table does not have, including 0, is an unknown processor ([`Processor::UNKNOWN`]).
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for flags of version 2 that name no processor, and [`ErrorKind::Malformed`] for flags that name an
    /// unknown one. The meaning of their other bits depends on whether they name a processor.
    pub fn from_flags(version: CodeObjectVersion, flags: u32) -> Result<TargetId> {
        let [mach, features, _, generic_version] = flags.to_le_bytes();
        let processor = match (Processor::by_mach(mach), version) {
            (Some(processor), CodeObjectVersion::V2) if processor.generation().is_none() => {
                // In this version, the low bits are features, and not the number of an r600 processor.
                return Err(Error::new(ErrorKind::Unsupported(V2)));
            }
            (Some(processor), _) => processor,
            (None, CodeObjectVersion::V2) if mach <= 3 => {
                return Err(Error::new(ErrorKind::Unsupported(V2)));
            }
            (
                None,
                CodeObjectVersion::V3
                | CodeObjectVersion::V4
                | CodeObjectVersion::V5
                | CodeObjectVersion::V6,
            ) => Processor::UNKNOWN,
            (None, CodeObjectVersion::V2) => {
                return Err(Error::malformed(
                    "ELF flags",
                    format!("{mach:#04x} is not the number of a known processor"),
                ));
            }
        };
        let target = TargetId {
            mach,
            ..TargetId::new(processor)
        };
        Ok(match version {
            CodeObjectVersion::V2 | CodeObjectVersion::V3 => TargetId {
                xnack: one_bit(features, target.xnack),
                sramecc: one_bit(features >> 1, target.sramecc),
                ..target
            },
            CodeObjectVersion::V4 | CodeObjectVersion::V5 | CodeObjectVersion::V6 => TargetId {
                xnack: two_bits(features),
                sramecc: two_bits(features >> 2),
                generic_version: if version == CodeObjectVersion::V6 {
                    generic_version
                } else {
                    0
                },
                ..target
            },
        })
    }

    /// Returns the target in the `e_flags` of a code object of version 2, for a processor named in its notes.
    #[must_use]
    pub fn from_flags_v2(processor: &'static Processor, flags: u32) -> TargetId {
        let [features, ..] = flags.to_le_bytes();
        let target = TargetId::new(processor);
        TargetId {
            xnack: one_bit(features, target.xnack),
            ..target
        }
    }

    /// Returns the target of code for a machine other than AMDGPU, with an unknown processor.
    #[must_use]
    pub fn of_machine(machine: Machine) -> TargetId {
        TargetId {
            machine,
            ..TargetId::new(Processor::UNKNOWN)
        }
    }

    /// Returns the machine. Machines other than AMDGPU have no known processor and no features.
    #[must_use]
    pub const fn machine(&self) -> Machine {
        self.machine
    }

    /// Returns the target of code for a processor that the table does not have, from its `EF_AMDGPU_MACH`.
    fn unknown(mach: u8) -> TargetId {
        TargetId {
            mach,
            ..TargetId::new(Processor::UNKNOWN)
        }
    }

    /// Returns the processor; [`Processor::UNKNOWN`] if the table does not have it.
    #[must_use]
    pub const fn processor(&self) -> &'static Processor {
        self.processor
    }

    /// Returns the setting of the feature for which the code was built.
    #[must_use]
    pub const fn setting(&self, feature: TargetFeature) -> FeatureSetting {
        match feature {
            TargetFeature::Sramecc => self.sramecc,
            TargetFeature::Xnack => self.xnack,
        }
    }

    fn setting_mut(&mut self, feature: TargetFeature) -> &mut FeatureSetting {
        match feature {
            TargetFeature::Sramecc => &mut self.sramecc,
            TargetFeature::Xnack => &mut self.xnack,
        }
    }

    /// Returns the version of a generic processor's code object, from 1. 0 for other processors, and if the id was parsed from text.
    #[must_use]
    pub const fn generic_version(&self) -> u8 {
        self.generic_version
    }

    /// Returns true if both are for the same processor. Unknown processors are compared by their numbers.
    #[must_use]
    pub fn has_processor_of(&self, other: &TargetId) -> bool {
        self.machine == other.machine
            && self.processor == other.processor
            && self.mach == other.mach
    }

    /// Returns true if code for this target runs on `device`: the processors and the settings of all features are compatible. Generic
    /// versions are not compared, since a device has none.
    #[must_use]
    pub fn runs_on(&self, device: &TargetId) -> bool {
        self.processor.runs_on(device.processor)
            && (self.processor.is_known() || self.has_processor_of(device))
            && TargetFeature::ALL
                .iter()
                .all(|&feature| self.setting(feature).runs_with(device.setting(feature)))
    }
}

const V2: &str = "flags of code object version 2, which do not name the processor";

/// Returns a feature of code object versions 2 and 3: the lowest bit of `flags` means on.
const fn one_bit(flags: u8, supported: FeatureSetting) -> FeatureSetting {
    match (flags & 1, supported) {
        (1, _) => FeatureSetting::On,
        (_, FeatureSetting::Unsupported) => FeatureSetting::Unsupported,
        (_, FeatureSetting::Any | FeatureSetting::Off | FeatureSetting::On) => FeatureSetting::Off,
    }
}

/// Returns a feature of code object version 4 and later: the two lowest bits of `flags`.
const fn two_bits(flags: u8) -> FeatureSetting {
    match flags & 3 {
        0 => FeatureSetting::Unsupported,
        1 => FeatureSetting::Any,
        2 => FeatureSetting::Off,
        _ => FeatureSetting::On,
    }
}

/// Formats the canonical form, with features in alphabetical order.
impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.machine.is_amdgpu() {
            return self.machine.fmt(f);
        }
        f.write_str(self.processor.name())?;
        if !self.processor.is_known() {
            write!(f, "-{:#04x}", self.mach)?;
        }
        for feature in TargetFeature::ALL {
            match self.setting(*feature) {
                FeatureSetting::On => write!(f, ":{}+", feature.name())?,
                FeatureSetting::Off => write!(f, ":{}-", feature.name())?,
                FeatureSetting::Any | FeatureSetting::Unsupported => {}
            }
        }
        Ok(())
    }
}

/// Parses a target id, canonical or not: `gfx90a:xnack-`, `tahiti`, with features in any order. It may follow a target triple
/// (`amdgcn-amd-amdhsa--gfx90a:xnack+`). If nothing else names the processor, the subarchitecture of a triple does
/// (`amdgpu9.42-amd-amdhsa--`, also `amdgpu9.42` alone). A `+` after the processor indicates the form of code object versions 2 and 3
/// (`gfx906+xnack`), in which features that are not named are off. `unknown-0x27` is accepted, too.
///
/// Errors: [`ErrorKind::Syntax`] if the processor is unknown, or if a target id for this processor cannot name a feature, or names it
/// twice.
impl FromStr for TargetId {
    type Err = Error;

    fn from_str(text: &str) -> Result<TargetId> {
        let end = text.find([':', '+']).unwrap_or(text.len());
        let (head, features) = text.split_at_checked(end).unwrap_or((text, ""));
        let mut target = match (processor_after_triple(head), unknown_after_triple(head)) {
            (Some(processor), _) => TargetId::new(processor),
            (None, Some(mach)) => TargetId::unknown(mach),
            (None, None) => return Err(syntax("an AMDGPU processor", head)),
        };
        let processor = target.processor;
        if let Some(features) = features.strip_prefix('+') {
            for feature in processor.features() {
                *target.setting_mut(*feature) = FeatureSetting::Off;
            }
            for name in features.split('+') {
                // The spelling of LLVM in these versions.
                let name = if name == "sram-ecc" { "sramecc" } else { name };
                set(&mut target, name, FeatureSetting::Off, FeatureSetting::On)?;
            }
        } else if let Some(features) = features.strip_prefix(':') {
            for text in features.split(':') {
                let (name, setting) = if let Some(name) = text.strip_suffix('+') {
                    (name, FeatureSetting::On)
                } else if let Some(name) = text.strip_suffix('-') {
                    (name, FeatureSetting::Off)
                } else {
                    return Err(syntax("a feature followed by + or -", text));
                };
                set(&mut target, name, FeatureSetting::Any, setting)?;
            }
        }
        Ok(target)
    }
}

/// Changes the feature of this name, which has to be `unset` before.
fn set(
    target: &mut TargetId,
    name: &str,
    unset: FeatureSetting,
    setting: FeatureSetting,
) -> Result<()> {
    let processor = target.processor;
    let feature = processor
        .features()
        .iter()
        .find(|feature| feature.name() == name)
        .ok_or_else(|| {
            let expected = format!(
                "a feature that a target id for {} can name",
                processor.name()
            );
            Error::new(ErrorKind::Syntax {
                expected,
                found: format!("`{name}`"),
            })
        })?;
    let current = target.setting_mut(*feature);
    if *current != unset {
        return Err(syntax("each feature once", name));
    }
    *current = setting;
    Ok(())
}

/// Returns the processor that `text` names, alone or after a triple of its architecture. Without a name, the triple's subarchitecture
/// determines it. The names of generic processors contain dashes, so the text is split by searching for the name.
fn processor_after_triple(text: &str) -> Option<&'static Processor> {
    if let Some(processor) = Processor::by_name(text) {
        return Some(processor);
    }
    let named = text.match_indices('-').find_map(|(at, _)| {
        let (triple, name) = text.split_at_checked(at)?;
        Some((triple, Processor::by_name(name.strip_prefix('-')?)?))
    });
    match named {
        Some((triple, processor)) => {
            let mut parts = triple.split('-');
            (parts.any(|part| processor.has_architecture(part))).then_some(processor)
        }
        None => processor_of_triple(text),
    }
}

/// Returns the processor from the subarchitecture of a triple that no target id follows: `amdgpu9.42`, `amdgpu9.42-amd-amdhsa` and, as in
/// bundles, `hipv4-amdgpu9.42-amd-amdhsa--`.
fn processor_of_triple(text: &str) -> Option<&'static Processor> {
    let mut parts = text.split('-');
    // In a bundle, the kind of offloading is first.
    let processor = parts
        .by_ref()
        .take(2)
        .find_map(Processor::by_subarchitecture)?;
    let [_vendor, system, environment, target, more] = [(); 5].map(|()| parts.next());
    // A processor in place of the environment would be an unknown one.
    let is_processor = environment.is_some_and(|part| part.starts_with("gfx"));
    let is_alone = !text.contains('-');
    let is_triple = system.is_some() && target.is_none_or(str::is_empty) && more.is_none();
    (is_alone || is_triple && !is_processor).then_some(processor)
}

/// Returns the number at the end of `unknown-0x27`, if no known processor has it.
fn unknown_after_triple(text: &str) -> Option<u8> {
    let (_, digits) = text.rsplit_once("unknown-0x")?;
    let mach = u8::from_str_radix(digits, 16).ok()?;
    Processor::by_mach(mach).is_none().then_some(mach)
}

fn syntax(expected: &str, found: &str) -> Error {
    Error::new(ErrorKind::Syntax {
        expected: expected.into(),
        found: format!("`{found}`"),
    })
}

#[cfg(test)]
mod tests;
