//! Checks that the target and the relocations of the code object are known. Sources: USAGE "Header", "Relocation Records".

use std::collections::BTreeSet;

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::object::relocation::{RelocationType, UnresolvedReason};
use crate::object::static_name;

rules! {
    UNKNOWN "target-unknown" Warning "USAGE \"Header\""
        "the target processor is unknown"
        "The lowest byte of e_flags is the number of a processor (EF_AMDGPU_MACH). If the number is unknown or 0, hetdwarf knows neither the \
         machine code nor the unit of pointers into scratch memory. Rules about them find nothing; all others are checked.";
    RELOCATION "relocation-unknown" Error "USAGE \"Relocation Records\""
        "a relocation of debugging information has an unknown type"
        "The bytes that the relocation changes are read as they are in the file, usually 0. Addresses, names and types taken from them are wrong. \
         Either the type belongs to a newer ABI of the machine, or the file is damaged.";
}

pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let object = subject.program.object();
    let target = object.target();
    // A file of split units has neither a processor nor code.
    let is_split = subject.executable.is_empty() && object.has_split_units();
    if target.machine().is_amdgpu() && !is_split && !target.processor().is_known() {
        let message = format!("the code is for {target}: rules about machine code are not checked");
        findings.add(Finding::new(&UNKNOWN, "ELF header", message));
    }
}

/// Checks the relocations of sections with debugging information. Reports one finding for each section.
pub(super) fn check_relocations(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let object = subject.program.object();
    if !object.is_relocatable() {
        return;
    }
    let names = object.sections().iter().map(static_name);
    let names = names.filter(|name| name.starts_with(".debug_") || *name == ".eh_frame");
    for name in names.collect::<BTreeSet<_>>() {
        // Unreadable relocations are reported by the rules about the section.
        let unresolved = object.unresolved_relocations(name).unwrap_or_default();
        let mut unknown = unresolved
            .iter()
            .filter(|one| one.reason == UnresolvedReason::UnknownType);
        let (Some(first), more) = (unknown.next(), unknown.count()) else {
            continue;
        };
        let RelocationType::Unknown(number) = first.kind else {
            continue;
        };
        let mut message = format!("type {number} of {} is unknown", object.target().machine());
        if more > 0 {
            message = format!("{message}; {more} more of this rule in this section");
        }
        findings.add(Finding::new(&RELOCATION, name, message).at(first.offset));
    }
}
