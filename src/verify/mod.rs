//! Checks the debugging information of a code object with rules about all layers above.
//!
//! [`verify`] reports everything and never fails: an unreadable part is a finding, too. Callers find the files and print the findings. Each family of
//! rules has a file with its table and its checks. `spec-notes/verify.md` describes the findings in the output of compilers.
//!
//! ```
//! use hetdwarf::verify::{Rule, Severity};
//!
//! let rule = Rule::by_id("cfi-cie-pointer").unwrap();
//! assert_eq!((rule.severity, rule.spec), (Severity::Error, "DWARF 5 §6.4.1"));
//! ```

mod abbreviation;
mod aranges;
mod coverage;
mod dependency;
mod evidence;
mod evidence_row;
mod example;
mod expression;
mod families;
mod finding;
mod frame_expression;
mod given;
mod instructions;
mod lane;
mod lines;
mod location;
mod lost_value;
mod machine_code;
mod meaning;
mod names;
mod packages;
mod profile;
pub mod queue;
mod register;
mod remedy;
mod rule;
mod section;
mod selection;
mod strings;
mod subject;
mod target;
#[cfg(test)]
mod tests;

pub use crate::rule::{Rule, Severity};
pub use evidence::{CodeLine, Evidence, PlacedDirective};
pub use example::{Example, Setting};
pub use finding::{Excerpt, Finding, SourceLine};
pub use profile::Profile;
pub use selection::{Choice, MACHINE_CODE, Selection, UnknownRule};
pub use subject::shown_line;

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::cfi_check;
use crate::error::Error;
use crate::inspect::Program;
use crate::meter::Meter;
use finding::Findings;
use subject::Subject;

/// The findings in a code object.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The findings, sorted by section, offset, address and rule.
    pub findings: Vec<Finding>,
    /// The number of further findings. About ten thousand are kept.
    pub left_out: u64,
    /// The limit that ended the check early. `None` if the check is complete.
    pub stopped: Option<Error>,
}

/// Checks a code object with every rule.
///
/// The same file gives the same findings in the same order. Missing parts are not checked: an object without `.debug_frame` violates no rule about
/// it.
#[must_use]
pub fn verify(program: &Program<'_>) -> Verdict {
    verify_with(program, &Selection::default(), NonZeroUsize::MIN)
}

/// Checks a code object with the selected rules, on several threads. The result does not depend on the number of threads. Work that no selected rule
/// needs is skipped.
#[must_use]
pub fn verify_with(program: &Program<'_>, selection: &Selection, threads: NonZeroUsize) -> Verdict {
    verify_within(
        program,
        selection,
        threads,
        program.meter().for_query().into(),
    )
}

/// Checks the tables to which entries refer, and packages.
///
/// * `wants`: returns true if a rule of the given families is selected.
fn check_tables(
    subject: &Subject<'_, '_>,
    wants: &dyn Fn(&[&[&Rule]]) -> bool,
    findings: &mut Findings,
) {
    if wants(&[abbreviation::RULES]) {
        abbreviation::check(subject, findings);
    }
    if wants(&[lines::RULES]) {
        lines::check(subject, findings);
    }
    if wants(&[strings::RULES]) {
        strings::check(subject, findings);
    }
    if wants(&[packages::RULES]) {
        packages::check(subject, findings);
    }
}

/// Does the work of [`verify_with`] as a part of a larger query, with its meter.
pub(crate) fn verify_within(
    program: &Program<'_>,
    selection: &Selection,
    threads: NonZeroUsize,
    meter: Arc<Meter>,
) -> Verdict {
    let threads = threads.get();
    let wants = |families: &[&[&Rule]]| {
        let mut rules = families.iter().copied().flatten();
        rules.any(|rule| selection.severity(rule).is_some())
    };
    let subject = Subject::new(program, Arc::clone(&meter));
    let mut findings = Findings::default();
    target::check(&subject, &mut findings);
    target::check_relocations(&subject, &mut findings);
    let fdes = section::check(&subject, &mut findings);
    let fdes = coverage::check(&subject, fdes, &mut findings);
    let facts = subject.facts();
    let check_instructions = |meter: &Meter| {
        let mut findings = Findings::default();
        if wants(&instructions::FAMILIES) {
            instructions::check(&facts, &fdes, &subject.kernels, meter, &mut findings);
        }
        findings
    };
    let is_amdgpu = subject.machine().is_amdgpu();
    if is_amdgpu && wants(&[cfi_check::RULES]) {
        machine_code::check(&subject, &fdes, threads, check_instructions, &mut findings);
    } else {
        findings.append(check_instructions(&meter));
    }
    // For a large object, these are a tenth of the memory in use.
    drop(fdes);
    if wants(&location::FAMILIES) {
        location::check(&subject, threads, &mut findings);
    }
    check_tables(&subject, &wants, &mut findings);
    if is_amdgpu && wants(&[lane::RULES]) {
        lane::check(&subject, &mut findings);
    }
    if wants(&[aranges::RULES]) {
        aranges::check(&subject, &mut findings);
    }
    if wants(&[names::RULES]) {
        names::check(&subject, &mut findings);
    }
    // This check runs last, with the rest of the budget.
    if is_amdgpu && wants(&[lost_value::RULES]) {
        lost_value::check(&subject, &mut findings);
    }
    let (findings, left_out) = findings.finish(&meter);
    let mut verdict = Verdict {
        findings,
        left_out,
        stopped: meter.refused(),
    };
    selection.apply(&mut verdict);
    for finding in &mut verdict.findings {
        let Some(pc) = finding.pc else { continue };
        if finding.function.is_none() {
            finding.function = subject
                .symbol_at(pc)
                .map(|symbol| symbol.name.clone().into_owned().into());
        }
        finding.source = subject.source_at(pc);
    }
    match selection.profile() {
        // Users who cannot change the compiler do not write directives.
        Profile::Application => {
            for finding in &mut verdict.findings {
                (finding.excerpt, finding.help) = (None, None);
            }
        }
        Profile::Compiler | Profile::Release => {
            remedy::add(&subject, selection.assembler(), &mut verdict.findings);
        }
    }
    verdict
}
