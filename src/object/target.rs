//! Reads the targets in code objects and bundles as [`TargetId`].
//!
//! Sources: USAGE "Header", "Target ID".

use object::LittleEndian as LE;
use object::read::elf::FileHeader as _;

use super::elf::{Elf, Header};
use crate::arch::{
    Architecture, CodeObjectVersion, FeatureSetting, Machine, TargetFeature, TargetId,
};
use crate::error::{Error, ErrorKind, Result};

/// Returns the target of a code object, from its header.
pub(super) fn of_elf(elf: &Elf<'_>) -> Result<TargetId> {
    if !elf.machine.is_amdgpu() {
        return Ok(TargetId::of_machine(elf.machine));
    }
    let version = CodeObjectVersion::from_elf(elf.os_abi.number(), elf.abi_version);
    let version = version.ok_or_else(|| {
        Error::malformed(
            "ELF header",
            format!(
                "unknown ABI version {} of OS ABI {}",
                elf.abi_version,
                elf.os_abi.number()
            ),
        )
    })?;
    let target = TargetId::from_flags(version, elf.flags)?;
    if target.processor().architecture() == Architecture::R600 {
        return Err(ErrorKind::Unsupported("processors of the r600 architecture").into());
    }
    Ok(target)
}

/// Returns the target of a possible code object, if its header can be read.
pub(super) fn of_header(data: &[u8]) -> Option<TargetId> {
    let header = Header::parse(data).ok()?;
    let machine = Machine(header.e_machine(LE).0);
    if !machine.is_amdgpu() {
        return Some(TargetId::of_machine(machine));
    }
    let ident = header.e_ident();
    let version = CodeObjectVersion::from_elf(ident.os_abi.0, ident.abi_version)?;
    TargetId::from_flags(version, header.e_flags(LE).0).ok()
}

/// Returns the target ID at the end of a bundle entry ID: kind, triple of four parts (three in old ones), target ID, separated by dashes. If it is
/// empty, it returns the processor in the triple.
pub(super) fn at_end_of_id(id: &str) -> String {
    let parts = || id.splitn(6, '-');
    match parts().nth(5).or_else(|| parts().nth(4)).unwrap_or("") {
        "" => (id.parse::<TargetId>()).map_or(String::new(), |target| target.to_string()),
        target => target.to_owned(),
    }
}

/// The required match between a code object's target and the requested one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The same processor, and each requested feature has that setting.
    Named,
    /// The same processor, and no requested feature has the other setting.
    Compatible,
    /// Code that runs there: also for a generic processor that includes the requested one.
    Generic,
}

/// Returns true if the target `found` fits `wanted`.
pub(super) fn fits(found: &TargetId, wanted: &TargetId, fit: Fit) -> bool {
    let open = |setting| matches!(setting, FeatureSetting::Any | FeatureSetting::Unsupported);
    let all = |rule: &dyn Fn(FeatureSetting, FeatureSetting) -> bool| {
        TargetFeature::ALL
            .iter()
            .all(|&feature| rule(found.setting(feature), wanted.setting(feature)))
    };
    let same = found.has_processor_of(wanted);
    match fit {
        Fit::Named => same && all(&|f, w| open(w) || f == w),
        Fit::Compatible => same && all(&|f, w| open(w) || open(f) || f == w),
        Fit::Generic => found.runs_on(wanted),
    }
}
