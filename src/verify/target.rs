//! What the code object is for. Source: USAGE "Header".

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;

rules! {
    UNKNOWN "target-unknown" Warning "USAGE \"Header\""
        "the processor that the code is for is not known"
        "The lowest byte of e_flags is the number of a processor (EF_AMDGPU_MACH). Of one that is not in the table, or where the number is 0, \
         nothing is known of the machine code and of what pointers into scratch memory count, so that rules about them find nothing; all \
         others are checked.";
}

pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let object = subject.program.object();
    let target = object.target();
    // A file of split units says nothing of a processor, nor has it code.
    let is_split = subject.executable.is_empty() && object.has_split_units();
    if target.machine().is_amdgpu() && !is_split && !target.processor().is_known() {
        let message = format!("the code is for {target}: rules about machine code are left out");
        findings.add(Finding::new(&UNKNOWN, "ELF header", message));
    }
}
