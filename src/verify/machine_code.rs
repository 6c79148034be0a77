//! Compares call frame information with the machine code, and reports the contradictions that [`cfi_check`](crate::cfi_check) finds. Sources: HET
//! A.6.4, USAGE "Non-Kernel Functions", "Call Frame Information".

use core::fmt::Write;

use super::finding::{Finding, Findings};
use super::subject::Subject;
use crate::cfi_check::{Condition, Contradiction, FunctionCode, Machine};
use crate::expr::Encoding;
use crate::frame::Fde;
use crate::isa::KnownInstructions;
use crate::meter::Meter;
use crate::rule::Severity;
use crate::verify::queue;
use std::sync::Arc;

/// The number of functions in a job of a thread.
const AT_ONCE: usize = 64;

/// Compares the rows of every function with its code, if the code exists and can be followed.
///
/// * `first`: makes the findings that precede the findings of this check. With several threads, it runs in parallel.
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
    // Several entries for the same code are reported elsewhere. One of them is checked, because their code may be long.
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
        let mut known = KnownInstructions::default();
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
            let report = machine.check_within(&function, &mut known, meter);
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
        let (found, forks): (Vec<_>, Vec<_>) = queue::run(&jobs, threads, job).into_iter().unzip();
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
    // The message is written in many pieces, and is rarely longer.
    let mut message = String::with_capacity(256);
    // Writing to a string does not fail.
    let _ = write!(message, "{contradiction}");
    let mut finding = Finding::new(contradiction.rule, section, message)
        .at(fde.offset)
        .pc(first);
    finding.contradiction = Some(Box::new(contradiction.clone()));
    // The contradiction does not appear in a run that does not meet the condition, so the severity is lower.
    if contradiction.condition != Condition::Always {
        finding.severity = match finding.severity {
            Severity::Error => Severity::Warning,
            Severity::Warning | Severity::Note => Severity::Note,
        };
    }
    finding
}
