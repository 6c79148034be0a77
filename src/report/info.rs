//! `hetdwarf-info/1`: the code objects in a file, and a summary of each code object.
//!
//! [`ObjectInfo`] collects the facts of the ELF file. This module adds the facts of the debugging information.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use fallible_iterator::FallibleIterator;
use serde::Serialize;

use super::completeness::is_true;
use super::number::Hex;
use crate::arch::{FeatureSetting, TargetFeature};
use crate::debug_info::{UnitInfo, UnitKind};
use crate::error::Result;
use crate::frame::{Effect, Entry, FrameSection, Instructions};
use crate::inspect::Program;
use crate::object::{CodeObject, EmbeddedCodeObject, ObjectInfo, PackageReference};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct InfoDocument {
    /// `hetdwarf-info/1`.
    pub format: &'static str,
    /// The packages that contain the file's code, if the file refers to packages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packages: Option<PackagesDocument>,
    /// Every code object of the file.
    pub objects: Vec<EmbeddedDocument>,
    /// The chosen code object; absent if there are several and none was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectDocument>,
}

/// The packages that contain the code of a file.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct PackagesDocument {
    /// The name of the file in the packages.
    pub name: Untrusted<'static>,
    /// The search paths in the file, relative to its directory.
    pub search_paths: Vec<Untrusted<'static>>,
    /// The packages that were found and contain code of the file.
    pub found: Vec<Untrusted<'static>>,
}

impl PackagesDocument {
    /// Describes a reference.
    ///
    /// * `found`: the packages that were found and contain code of the file.
    pub fn new(
        reference: &PackageReference,
        found: impl IntoIterator<Item = PathBuf>,
    ) -> PackagesDocument {
        let paths = reference.search_paths.iter().cloned();
        PackagesDocument {
            name: reference.name.clone().into(),
            search_paths: paths.map(Untrusted::from).collect(),
            found: found
                .into_iter()
                .map(|path| Untrusted::from(path.as_path()).into_owned())
                .collect(),
        }
    }
}

impl core::fmt::Display for PackagesDocument {
    /// Writes a text like `its code is in lib/../.kpack/blas_gfx1100.kpack, as lib/libblas.so`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "its code is in ")?;
        for path in &self.found {
            write!(f, "{path}, ")?;
        }
        write!(f, "as {}", self.name)
    }
}

/// A code object in a file.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct EmbeddedDocument {
    /// The number, from 0.
    pub index: usize,
    /// The bundle entry ID; empty if the code object is not in a bundle.
    pub id: Untrusted<'static>,
    /// The target ID.
    pub target: Untrusted<'static>,
    /// The size in bytes.
    pub size: usize,
    /// The container in which it was found, as text.
    pub place: Untrusted<'static>,
}

/// A summary of a code object.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ObjectDocument {
    /// The index of the code object in the file, from 0.
    pub index: usize,
    /// Facts from the ELF file.
    #[serde(flatten)]
    pub info: ObjectInfo,
    /// The name of the machine; absent for AMDGPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The setting of each target feature: `any`, `on`, `off` or `unsupported`.
    pub features: BTreeMap<&'static str, &'static str>,
    /// True if the processor is in the table of known processors. If it is not, facts that depend on the processor are left out. Absent if true.
    #[serde(skip_serializing_if = "is_true")]
    pub is_known_processor: bool,
    /// The version of a generic processor; absent for other processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generic_version: Option<u8>,
    /// The units.
    pub units: Vec<UnitDocument>,
    /// The problems of units that are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unit_problems: Vec<Untrusted<'static>>,
    /// The call frame information; null if there is none.
    pub call_frames: Option<CallFramesDocument>,
}

/// A unit.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct UnitDocument {
    /// The section that contains the unit.
    pub section: &'static str,
    /// The offset of its header.
    pub offset: Hex,
    /// The version of DWARF.
    pub version: u16,
    /// The format: 32 or 64 bits.
    pub format: u8,
    /// The size of an address in bytes.
    pub address_size: u8,
    /// `compile`, `partial`, `skeleton`, `split-compile`, `type` or `split-type`.
    pub kind: &'static str,
    /// The compiler.
    pub producer: Option<Untrusted<'static>>,
    /// The language: the standard's name, or its code.
    pub language: Option<String>,
    /// The source file.
    pub name: Option<Untrusted<'static>>,
    /// The file with the debugging information entries of a skeleton unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dwo_name: Option<Untrusted<'static>>,
}

/// Call frame information.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CallFramesDocument {
    /// The section.
    pub section: &'static str,
    /// The number of CIEs.
    pub cies: usize,
    /// The number of FDEs, usually one for each function.
    pub fdes: usize,
    /// The number of FDEs with at least one rule, in their own instructions or in the initial instructions of their CIE.
    pub fdes_with_rules: usize,
    /// The augmentation strings that are not empty, sorted.
    pub augmentations: Vec<Untrusted<'static>>,
    /// The first problem that was found while reading the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Untrusted<'static>>,
}

impl InfoDocument {
    /// Describes the code objects of a file.
    #[must_use]
    pub fn new(objects: &[EmbeddedCodeObject<'_>]) -> InfoDocument {
        InfoDocument {
            format: "hetdwarf-info/1",
            packages: None,
            objects: objects.iter().map(EmbeddedDocument::new).collect(),
            object: None,
        }
    }
}

impl EmbeddedDocument {
    fn new(object: &EmbeddedCodeObject<'_>) -> EmbeddedDocument {
        EmbeddedDocument {
            index: object.index,
            id: object.id.clone().into(),
            target: object.target.clone().into(),
            size: object.data.len(),
            place: object.place.to_string().into(),
        }
    }
}

impl ObjectDocument {
    /// Describes a code object. `index` is its index in the file.
    ///
    /// # Errors
    /// If the symbols are malformed, or a debug section cannot be decompressed or relocated. The document reports malformed units and call frame
    /// information.
    pub fn new<'a>(object: &'a CodeObject<'a>, index: usize) -> Result<ObjectDocument> {
        let program = Program::load(object)?;
        let target = object.target();
        let is_other = !target.machine().is_amdgpu();
        let features = TargetFeature::ALL
            .iter()
            .filter(|_| !is_other)
            .map(|&feature| (feature.name(), setting_name(target.setting(feature))))
            .collect();
        let mut units = Vec::new();
        let mut unit_problems = Vec::new();
        let mut all = program.info().units();
        loop {
            match all.next() {
                Ok(Some(unit)) => units.push(UnitDocument::new(&unit)),
                Ok(None) => break,
                Err(error) => unit_problems.push(error.to_string().into()),
            }
        }
        let generic = target.processor().is_generic();
        Ok(ObjectDocument {
            index,
            info: ObjectInfo::of(object)?,
            machine: is_other.then(|| target.machine().to_string()),
            features,
            is_known_processor: is_other || target.processor().is_known(),
            generic_version: generic.then(|| target.generic_version()),
            units,
            unit_problems,
            call_frames: CallFramesDocument::new(program.cfi().section()),
        })
    }
}

/// Returns the name of a feature's setting.
fn setting_name(setting: FeatureSetting) -> &'static str {
    match setting {
        FeatureSetting::Unsupported => "unsupported",
        FeatureSetting::Any => "any",
        FeatureSetting::Off => "off",
        FeatureSetting::On => "on",
    }
}

impl UnitDocument {
    fn new(unit: &UnitInfo<'_>) -> UnitDocument {
        let text = |text: &Option<std::borrow::Cow<'_, str>>| {
            let text = text.as_ref();
            text.map(|text| Untrusted::from(text.to_string()))
        };
        UnitDocument {
            section: unit.section,
            offset: Hex::from(unit.offset),
            version: unit.version,
            format: if unit.offset_size == 8 { 64 } else { 32 },
            address_size: unit.address_size,
            kind: match unit.kind {
                UnitKind::Compile => "compile",
                UnitKind::Partial => "partial",
                UnitKind::Skeleton => "skeleton",
                UnitKind::SplitCompile => "split-compile",
                UnitKind::Type => "type",
                UnitKind::SplitType => "split-type",
            },
            producer: text(&unit.producer),
            language: unit.language.map(|language| {
                language
                    .name()
                    .map_or_else(|| format!("{language:?}"), str::to_owned)
            }),
            name: text(&unit.name),
            dwo_name: text(&unit.dwo_name),
        }
    }
}

impl CallFramesDocument {
    /// Describes a section. Returns `None` if it is empty.
    fn new(section: &FrameSection<'_>) -> Option<CallFramesDocument> {
        if section.bytes().is_empty() {
            return None;
        }
        let mut document = CallFramesDocument {
            section: section.name(),
            cies: 0,
            fdes: 0,
            fdes_with_rules: 0,
            augmentations: Vec::new(),
            problem: None,
        };
        let mut augmentations = BTreeSet::new();
        // Many FDEs share a CIE, so the result for each CIE is kept.
        let mut says: BTreeMap<u64, bool> = BTreeMap::new();
        let mut entries = section.entries();
        loop {
            match entries.next() {
                Ok(Some(Entry::Cie(cie))) => {
                    document.cies += 1;
                    augmentations.insert(cie.augmentation_text.to_owned());
                }
                Ok(Some(Entry::Fde(fde))) => {
                    document.fdes += 1;
                    let gives = |bytes, offset| {
                        gives_a_rule(bytes, offset, fde.cie.address_size, section.name())
                    };
                    let cie = &fde.cie;
                    let by_cie = *says.entry(cie.offset).or_insert_with(|| {
                        gives(cie.initial_instructions, cie.instructions_offset)
                    });
                    if by_cie || gives(fde.instructions, fde.instructions_offset) {
                        document.fdes_with_rules += 1;
                    }
                }
                Ok(Some(Entry::Terminator(_))) => {}
                Ok(None) => break,
                Err(error) => {
                    // A malformed entry does not prevent reading the next, so only the first error is reported.
                    document
                        .problem
                        .get_or_insert_with(|| error.to_string().into());
                }
            }
        }
        document.augmentations = augmentations
            .into_iter()
            .filter(|a| !a.is_empty())
            .map(Untrusted::from)
            .collect();
        Some(document)
    }
}

/// Returns true if an instruction before the first malformed one sets a rule.
fn gives_a_rule(bytes: &[u8], offset: u64, address_size: u8, section: &'static str) -> bool {
    let mut instructions = Instructions::new(bytes, offset, address_size, section);
    while let Ok(Some(item)) = instructions.next() {
        match item.effect(1) {
            Effect::Nothing
            | Effect::Advance(_)
            | Effect::SetLocation(_)
            | Effect::RememberState
            | Effect::RestoreState => {}
            Effect::DefineCfa { .. }
            | Effect::CfaRegister(_)
            | Effect::CfaOffset(_)
            | Effect::CfaExpression(_)
            | Effect::Rule(..)
            | Effect::RestoreRule(_) => return true,
        }
    }
    false
}
