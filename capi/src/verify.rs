//! Reports problems in the debugging information of an object.

use core::ffi::{c_char, c_void};
use core::num::NonZeroUsize;

use hetdwarf::rule::Severity;
use hetdwarf::verify::{Finding, Selection, verify_with};

use crate::handle::with;
use crate::object::hetdwarf_object;
use crate::plain::sized;
use crate::status::hetdwarf_status::*;
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::text::{Texts, given_if};

/// Debuggers show wrong results.
pub const HETDWARF_SEVERITY_ERROR: u32 = 0;
/// Debuggers may show wrong or missing results.
pub const HETDWARF_SEVERITY_WARNING: u32 = 1;
/// The information is unusual, or could be improved.
pub const HETDWARF_SEVERITY_NOTE: u32 = 2;

/// A finding. Strings are valid until the callback returns, and are NULL if absent. Unknown numbers are `UINT64_MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_finding {
    /// `sizeof(hetdwarf_finding)` of the library.
    pub size: usize,
    /// The rule's name, `cfi-incomplete` for example.
    pub rule: *const c_char,
    /// `HETDWARF_SEVERITY_…`.
    pub severity: u32,
    /// Zero.
    pub padding: u32,
    /// The problem, with the numbers that show it.
    pub message: *const c_char,
    /// The correct contents.
    pub help: *const c_char,
    /// The section with the problem.
    pub section: *const c_char,
    /// The offset in the section, in bytes.
    pub offset: u64,
    /// The first affected address in the object.
    pub pc: u64,
    /// The function at this address.
    pub function: *const c_char,
    /// The path of the source file at this address.
    pub file: *const c_char,
    /// The line at this address.
    pub line: u64,
    /// The section of the specification that states the rule.
    pub spec: *const c_char,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_finding }

/// Receives a finding. Returns `HETDWARF_OK` to continue, or any other status to stop. It must not throw an exception, and must not call
/// functions with the object.
///
/// * `user`: the argument of `hetdwarf_object_verify`.
pub type hetdwarf_on_finding =
    Option<unsafe extern "C" fn(user: *mut c_void, finding: *const hetdwarf_finding) -> i32>;

fn describe(finding: &Finding, texts: &Texts) -> hetdwarf_finding {
    let source = finding.source.as_ref();
    hetdwarf_finding {
        size: size_of::<hetdwarf_finding>(),
        rule: texts.keep(finding.rule.id),
        severity: match finding.severity {
            Severity::Error => HETDWARF_SEVERITY_ERROR,
            Severity::Warning => HETDWARF_SEVERITY_WARNING,
            Severity::Note => HETDWARF_SEVERITY_NOTE,
        },
        padding: 0,
        message: texts.keep(finding.message.raw()),
        help: texts.keep_if(finding.help.as_ref().map(|help| help.raw())),
        section: texts.keep(finding.section),
        offset: finding.offset.unwrap_or(u64::MAX),
        pc: finding.pc.unwrap_or(u64::MAX),
        function: texts.keep_if(finding.function.as_ref().map(|name| name.raw())),
        file: texts.keep_if(source.map(|source| source.file.raw())),
        line: source.map_or(u64::MAX, |source| source.line),
        spec: texts.keep(finding.rule.spec),
        reserved: [0; 4],
    }
}

/// The most threads that check an object.
const MOST_JOBS: u32 = 256;

/// Returns the number of threads for the argument `jobs`.
fn threads(jobs: u32) -> Answer<NonZeroUsize> {
    let jobs = usize::try_from(jobs.min(MOST_JOBS)).unwrap_or(1);
    NonZeroUsize::new(jobs).ok_or_else(|| Fault::argument("jobs is 0"))
}

/// Checks the debugging information of an object. Reports the findings of `hetdwarf verify --each`, in the same order.
///
/// * `rules`: the names of rules, or prefixes with `*` (`cfi-*`), separated by commas; NULL for all rules.
/// * `jobs`: the number of threads that check, at least 1; values above 256 mean 256. The calling thread does everything else.
/// * `on_finding`: the callback, which the calling thread calls for each finding.
/// * `user`: the first argument of the callback.
///
/// Errors: `HETDWARF_NOT_FOUND` for an unknown rule; `HETDWARF_CALLBACK_FAILED` if the callback stopped the check. A problem in the object
/// is a finding, and not an error.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_verify(
    object: *const hetdwarf_object,
    rules: *const c_char,
    jobs: u32,
    on_finding: hetdwarf_on_finding,
    user: *mut c_void,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let on_finding = on_finding.ok_or_else(|| Fault::argument("on_finding is NULL"))?;
            let jobs = threads(jobs)?;
            let mut selection = Selection::default();
            if let Some(rules) = given_if(rules, "rules")? {
                let names: Vec<&str> = rules.split(',').map(str::trim).collect();
                let chosen = selection.only(&names);
                chosen.map_err(|error| Fault::not_found(error.to_string()))?;
            }
            let verdict = object
                .loaded
                .with(|program| verify_with(program, &selection, jobs));
            for finding in &verdict.findings {
                let texts = Texts::default();
                let status = on_finding(user, &describe(finding, &texts));
                if status != HETDWARF_OK as i32 {
                    let message = format!("the callback returned status {status}");
                    return Err(Fault::new(HETDWARF_CALLBACK_FAILED, message));
                }
            }
            Ok(())
        })
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn more_jobs_than_256_are_256() {
        for (jobs, expected) in [(1, 1), (255, 255), (256, 256), (257, 256), (u32::MAX, 256)] {
            assert_eq!(threads(jobs).unwrap().get(), expected);
        }
        assert!(threads(0).is_err());
    }
}
