//! Reports problems in the debugging information of an object.

use core::ffi::{c_char, c_void};
use core::num::NonZeroUsize;

use hetdwarf::rule::Severity;
use hetdwarf::verify::{Finding, Selection, verify_with};

use crate::handle::with;
use crate::object::hetdwarf_object;
use crate::plain::sized;
use crate::status::hetdwarf_status::*;
use crate::status::{Fault, guard, hetdwarf_status};
use crate::text::{Texts, given_if};

/// Debuggers show what is wrong.
pub const HETDWARF_SEVERITY_ERROR: u32 = 0;
/// Debuggers may show what is wrong, or nothing.
pub const HETDWARF_SEVERITY_WARNING: u32 = 1;
/// Unusual, or could be better.
pub const HETDWARF_SEVERITY_NOTE: u32 = 2;

/// A finding. Strings are valid until the callback returns; NULL if there is none. Numbers that are not known are
/// `UINT64_MAX`.
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
    /// The section at fault.
    pub section: *const c_char,
    /// The offset in the section, in bytes.
    pub offset: u64,
    /// The first address in the object at which it matters.
    pub pc: u64,
    /// The function that this address is in.
    pub function: *const c_char,
    /// The path of the source file there.
    pub file: *const c_char,
    /// The line there.
    pub line: u64,
    /// The section of the specification that states the rule.
    pub spec: *const c_char,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_finding }

/// Gets a finding. It gives `HETDWARF_OK` to get the next, or anything else to end. It must not throw, nor call functions
/// with the object.
///
/// * `user`: what the caller of `hetdwarf_object_verify` gave.
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
        file: texts.keep_if(source.map(|(file, _)| file.raw())),
        line: source.map_or(u64::MAX, |(_, line)| *line),
        spec: texts.keep(finding.rule.spec),
        reserved: [0; 4],
    }
}

/// The most threads that check an object.
const MOST_JOBS: u32 = 256;

/// Checks the debugging information of an object against its rules: what `hetdwarf verify --each` finds, in its order.
///
/// * `rules`: the rules, or what their names begin with (`cfi-*`), separated by commas; NULL for all.
/// * `jobs`: how many threads check, at least 1; more than 256 count as 256. All else is done by the thread that calls.
/// * `on_finding`: is called for each finding, by the thread that calls.
/// * `user`: is given to it.
///
/// Errors: `HETDWARF_NOT_FOUND` for a rule that there is not; `HETDWARF_CALLBACK_FAILED` if the callback has ended it. That
/// something is wrong with the object is no error: it is found.
///
/// # Safety
/// Pointers are NULL or as said above.
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
            let jobs = usize::try_from(jobs.min(MOST_JOBS)).unwrap_or(1);
            let jobs = NonZeroUsize::new(jobs);
            let jobs = jobs.ok_or_else(|| Fault::argument("jobs is 0"))?;
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
