//! Call frame information against the machine code: findings of what [`machine`](super::machine) contradicts.
//! Sources: HET A.6.4, USAGE "Non-Kernel Functions", "Call Frame Information".

use core::fmt::Write;

use super::finding::{Finding, Findings};
use super::machine::{Contradiction, ContradictionKind, FunctionCode, Machine, When};
use super::rule::{Rule, Severity, rules};
use super::subject::Subject;
use crate::expr::Encoding;
use crate::frame::Fde;
use crate::meter::Meter;
use crate::verify::queue;
use std::sync::Arc;

/// How many functions a thread takes at once.
const AT_ONCE: usize = 64;

rules! {
    STALE_LANE "cfi-stale-lane" Error "HET A.6.4.1"
        "a rule names lanes of a vector register that has been reloaded for the caller"
        "An epilogue takes saved scalar registers out of the lanes of a vector register and then reloads that register for the caller. From the \
         reload on the lanes hold what is the caller's, and a rule that still names them makes a debugger take it for a return address. Put \
         the rules back right behind the reads: the return address into its registers, the others to same value.";
    SCALAR_WITHOUT_RULE "cfi-scalar-without-rule" Error "USAGE \"Non-Kernel Functions\""
        "a scalar register that functions preserve was overwritten and has no rule"
        "Functions preserve these registers for their callers. One that has no rule is taken to be unchanged, so that a debugger shows the \
         callee's value in the caller's frame. The caller's frame pointer (s33) between the copy of the stack pointer into it and its \
         rule is the common case: the rule belongs where the old value was moved away.";
    VECTOR_WITHOUT_RULE "cfi-vector-without-rule" Error "USAGE \"Non-Kernel Functions\""
        "a vector register that functions preserve was overwritten and has no rule"
        "Functions preserve these registers for their callers. One that has no rule is taken to be unchanged, so that a debugger shows the \
         callee's value in the caller's frame. Back ends that make no rules within a clause of instructions lose them in this way.";
    EXEC_WITHOUT_RULE "cfi-exec-without-rule" Warning "HET A.6.4.1"
        "the execution mask was changed and has no rule, though rules ask for it as it was on entry"
        "Vector registers are saved for the lanes that are active on entry, and their rules select lanes by the mask of the entry. EXEC without \
         a rule is taken to be unchanged: where lanes have been switched off since, their values are taken from the wrong place. \
         Give EXEC a rule where it was saved, or let the rules use the register in which it was.";
    CFA_REALIGNED "cfi-cfa-realigned" Error "HET A.6.4.1"
        "the CFA is the frame pointer that was rounded, not the stack pointer on entry"
        "A function that needs more alignment rounds the stack pointer up. The CFA is then the rounded address in some rows and the \
         incoming one in others, and what was saved relative to one is looked for relative to the other. Keep the incoming \
         stack pointer and compute the CFA from it.";
    CFA_AFTER_EPILOGUE "cfi-cfa-after-epilogue" Error "DWARF 5 §6.4.2.4"
        "code laid out behind an epilogue has the epilogue's CFA"
        "Rows are in the order of addresses, not of control flow. A block behind a return is reached from the body, where the stack pointer \
         had moved, and needs the body's rules: remember them before the epilogue and restore them behind it.";
    INACTIVE_LANES_ONLY "cfi-inactive-lanes-only" Error "HET A.6.4.1"
        "a rule claims all lanes of a register that was stored for those inactive on entry alone"
        "A vector register that only carries scalars is saved for the lanes that are not active on entry (s_xor_saveexec), because the others are \
         free to use. Its rule must select those lanes by the inverted mask; the rest is undefined. As it is, a debugger \
         shows what lay in scratch before as the caller's values.";
    CLOBBERED_NOT_UNDEFINED "cfi-clobbered-not-undefined" Warning "USAGE \"Non-Kernel Functions\""
        "a register that functions need not preserve was overwritten and is not said to be undefined"
        "AMDGPU's default rule is same value. A register that a function may overwrite, and does, must be said to be undefined, or a debugger shows \
         the callee's value in the caller's frame.";
    STACK_POINTER_WITHOUT_RULE "cfi-stack-pointer-without-rule" Warning "HET A.6.4.1"
        "the stack pointer was moved and has no rule"
        "The caller's stack pointer is the CFA, divided by the number of lanes where it counts the bytes of one. Without a rule it is taken to be \
         unchanged, and is the callee's in every frame. Debuggers that know the calling convention can do without.";
    CFA_SCALE "cfi-cfa-scale" Error "USAGE \"Call Frame Information\""
        "the CFA is scaled otherwise than scratch is addressed"
        "Where scratch is reached by buffer_* instructions the stack pointer counts the bytes of all lanes, where it is reached by scratch_* \
         those of one. An address in private_wave counts those of all. A CFA that confuses the two names the wrong memory, by a \
         factor of the number of lanes.";
    CFA_WRONG "cfi-cfa-wrong" Error "HET A.6.4.1"
        "the CFA is not the stack pointer on entry"
        "The CFA is the stack pointer as it was on entry, in every row. Here the register that the row names holds something else at this \
         point of the code, so that everything that is found by the CFA is wrong, from the registers saved on the stack to the CFAs of callers.";
    WRONG_PLACE "cfi-wrong-place" Error "HET A.6.4.1"
        "a rule names a place that has something else"
        "The code did not store the register where the rule says, or has overwritten that place since. A debugger that follows the rule shows \
         something else as the caller's value; if it is the return address, another caller.";
    ROW_INSIDE_INSTRUCTION "cfi-row-inside-instruction" Error "DWARF 5 §6.4.1"
        "a row starts in the middle of an instruction"
        "No program counter is there, so that the row holds from the next instruction on at best. An advance was computed with another \
         code alignment factor, or with other lengths of instructions.";
}

impl ContradictionKind {
    /// The rule that it breaks.
    #[must_use]
    pub const fn rule(self) -> &'static Rule {
        match self {
            ContradictionKind::StaleLane => &STALE_LANE,
            ContradictionKind::ScalarWithoutRule => &SCALAR_WITHOUT_RULE,
            ContradictionKind::VectorWithoutRule => &VECTOR_WITHOUT_RULE,
            ContradictionKind::ExecWithoutRule => &EXEC_WITHOUT_RULE,
            ContradictionKind::CfaRealigned => &CFA_REALIGNED,
            ContradictionKind::CfaAfterEpilogue => &CFA_AFTER_EPILOGUE,
            ContradictionKind::InactiveLanesOnly => &INACTIVE_LANES_ONLY,
            ContradictionKind::ClobberedNotUndefined => &CLOBBERED_NOT_UNDEFINED,
            ContradictionKind::StackPointerWithoutRule => &STACK_POINTER_WITHOUT_RULE,
            ContradictionKind::CfaScale => &CFA_SCALE,
            ContradictionKind::CfaWrong => &CFA_WRONG,
            ContradictionKind::WrongPlace => &WRONG_PLACE,
            ContradictionKind::RowInsideInstruction => &ROW_INSIDE_INSTRUCTION,
        }
    }
}

/// Holds the rows of every function against its code, where there is code and the code can be followed.
///
/// * `first`: what is to be found before; with several threads it is looked for beside.
pub(super) fn check(
    subject: &Subject<'_, '_>,
    fdes: &[Fde<'_>],
    threads: usize,
    first: impl Fn(&Meter) -> Findings + Sync,
    findings: &mut Findings,
) {
    let object = subject.program.object();
    let code = |start: u64, size: u64| object.read_image(start, usize::try_from(size).ok()?);
    let says_something = |fde: &&Fde<'_>| fde.instructions.iter().any(|byte| *byte != 0);
    let mut fdes: Vec<&Fde<'_>> = fdes.iter().filter(says_something).collect();
    if fdes.is_empty() {
        return findings.append(first(subject.meter()));
    }
    fdes.sort_by_key(|fde| (fde.initial_location, fde.offset));
    let functions = fdes.iter().filter_map(|fde| {
        let start = fde.initial_location;
        Some((start, code(start, fde.address_range)?))
    });
    let machine = Machine::new(subject.processor(), subject.wave_size, functions);
    let section = subject.frame_section().name();
    let dialect = subject.program.dialect();
    let mut last_end = 0;
    // Of entries for the same code, which is a finding already, one is enough: their code may be long.
    let functions: Vec<(&Fde<'_>, &[u8])> = fdes
        .into_iter()
        .filter(|fde| {
            let is_new = fde.initial_location >= last_end;
            if is_new {
                last_end = fde.end();
            }
            is_new
        })
        .filter_map(|fde| Some((fde, code(fde.initial_location, fde.address_range)?)))
        .collect();
    let check_some = |functions: &[(&Fde<'_>, &[u8])], meter: &Meter, findings: &mut Findings| {
        for (fde, code) in functions {
            if meter.refused().is_some() {
                return;
            }
            let function = FunctionCode {
                code,
                fde,
                section,
                encoding: Encoding {
                    address_size: fde.cie.address_size,
                    offset_size: fde.cie.offset_size,
                    dialect,
                },
            };
            let report = machine.check_within(&function, meter);
            for contradiction in &report.contradictions {
                findings.add(finding(contradiction, fde, section));
            }
        }
    };
    let meter = subject.meter();
    if threads > 1 {
        let parts = functions.chunks(AT_ONCE).map(Some);
        let jobs: Vec<_> = core::iter::once(None).chain(parts).collect();
        let job = |part: &Option<&[(&Fde<'_>, &[u8])]>| {
            let fork = Arc::new(meter.fork());
            let found = match part {
                None => first(&fork),
                Some(functions) => {
                    let mut findings = Findings::default();
                    check_some(functions, &fork, &mut findings);
                    findings
                }
            };
            (found, fork)
        };
        let (found, forks): (Vec<_>, Vec<_>) =
            queue::run(&jobs, threads, job, |_| ()).into_iter().unzip();
        if meter.join(&forks) {
            return found.into_iter().for_each(|found| findings.append(found));
        }
    }
    findings.append(first(meter));
    check_some(&functions, meter, findings);
}

fn finding(contradiction: &Contradiction, fde: &Fde<'_>, section: &'static str) -> Finding {
    let first = contradiction
        .ranges
        .first()
        .map_or(fde.initial_location, |range| range.start);
    // It is written in many pieces, and is rarely longer.
    let mut message = String::with_capacity(256);
    // Writing to a string does not fail.
    let _ = write!(message, "{contradiction}");
    let mut finding = Finding::new(contradiction.kind.rule(), section, message)
        .at(fde.offset)
        .pc(first);
    // A run in which the condition is not met does not show it.
    if contradiction.when != When::Always {
        finding.severity = match finding.severity {
            Severity::Error => Severity::Warning,
            Severity::Warning | Severity::Note => Severity::Note,
        };
    }
    finding
}
