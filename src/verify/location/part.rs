//! Divides the units of an object into parts. Parts are dropped one after the other to save memory, or are checked by several threads.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::reference::SectionReferences;
use super::{UNITS_AT_ONCE, UnitCache, UnitCheck, malformed, rule};
use crate::debug_info::UnitId;
use crate::verify::finding::Findings;
use crate::verify::queue;
use crate::verify::subject::Subject;

/// The results of some units.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) findings: Findings,
    pub(super) references: BTreeMap<&'static str, SectionReferences>,
    /// The code ranges of the units of `.debug_info`, with the offsets of their headers.
    pub(super) code: Vec<(Range<u64>, u64)>,
}

impl Part {
    /// Appends the results of the following units.
    fn append(&mut self, next: Part) {
        self.findings.append(next.findings);
        self.code.extend(next.code);
        for (section, references) in next.references {
            self.references
                .entry(section)
                .or_default()
                .append(references);
        }
    }
}

/// Checks all units.
pub(super) fn check_all(subject: &Subject<'_, '_>, units: &[UnitId], threads: usize) -> Part {
    if threads > 1 && units.len() > 1 {
        let at_once = units.len().div_ceil(threads.saturating_mul(4));
        let parts = units.chunks(at_once.clamp(1, at_once_of(units))).collect();
        if let Some(all) = check_parts(subject, parts, threads) {
            return all;
        }
    }
    if units.len() <= UNITS_AT_ONCE {
        return check(subject, units);
    }
    let mut all = Part::default();
    for units in units.chunks(at_once_of(units)) {
        if subject.meter().refused().is_some() {
            break;
        }
        // The program for these units is loaded again, so that its cached data can be dropped afterwards.
        all.append(match subject.program.source().load(subject.meter()) {
            Ok(program) => {
                let meter = Arc::clone(subject.meter());
                check(&Subject::new(&program, meter), units)
            }
            Err(_) => check(subject, units),
        });
    }
    all
}

/// Returns the number of units that are read before their kept data is dropped. Each drop requires that the headers of all units are read again. The
/// number of drops is therefore limited for objects with very many units.
fn at_once_of(units: &[UnitId]) -> usize {
    const TIMES: usize = 64;
    units.len().div_ceil(TIMES).max(UNITS_AT_ONCE)
}

/// Checks parts on several threads. Returns `None` if the meter does not suffice for all parts, because the omitted parts would then depend on the
/// order of the threads.
fn check_parts(subject: &Subject<'_, '_>, parts: Vec<&[UnitId]>, threads: usize) -> Option<Part> {
    let source = subject.program.source();
    let meter = subject.meter();
    let left = meter.steps_left();
    let spent = AtomicU64::new(0);
    let job = |units: &&[UnitId]| {
        let fork = Arc::new(meter.fork());
        if spent.load(Ordering::Relaxed) > left {
            return None;
        }
        let program = source.load(&fork).ok()?;
        let part = check(&Subject::new(&program, Arc::clone(&fork)), units);
        // The memory of the program is released before the charges of the threads are added up.
        drop(program);
        let steps = fork.steps().saturating_sub(meter.steps());
        spent.fetch_add(steps, Ordering::Relaxed);
        Some((part, fork))
    };
    let mut all = Part::default();
    let mut forks = Vec::new();
    for done in queue::run(&parts, threads, job) {
        let (part, fork) = done?;
        all.append(part);
        forks.push(fork);
    }
    meter.join(&forks).then_some(all)
}

/// Checks units one after the other.
fn check(subject: &Subject<'_, '_>, units: &[UnitId]) -> Part {
    let info = subject.program.info();
    let mut part = Part::default();
    let mut kept = UnitCache::default();
    for id in units {
        let unit = match info.unit_info(*id) {
            Ok(unit) => unit,
            Err(error) => {
                part.findings
                    .add(malformed(&rule::ENTRY, ".debug_info", &error));
                continue;
            }
        };
        let Ok(expressions) = info.eval_unit(*id) else {
            continue;
        };
        let references = part.references.entry(unit.section).or_default();
        let findings = &mut part.findings;
        let check = UnitCheck::new(subject, &unit, expressions, findings, &mut kept);
        if unit.section == ".debug_info"
            && subject
                .meter()
                .hold_all::<(Range<u64>, u64)>(check.ranges.len())
                .is_ok()
        {
            let code = check
                .ranges
                .iter()
                .filter(|code| !subject.is_dropped(code.start));
            part.code
                .extend(code.map(|code| (code.clone(), unit.offset)));
        }
        check.run(references);
    }
    part
}
