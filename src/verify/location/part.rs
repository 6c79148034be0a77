//! The units of an object in parts: to be dropped one after the other, and to be checked by several threads.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;

use super::reference::SectionReferences;
use super::{Kept, UNITS_AT_ONCE, UnitCheck, malformed, rule};
use crate::debug_info::UnitId;
use crate::verify::finding::Findings;
use crate::verify::queue;
use crate::verify::subject::Subject;

/// What some units have given.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) findings: Findings,
    pub(super) references: BTreeMap<&'static str, SectionReferences>,
    /// What location lists have cost; nothing if the budget did not suffice.
    cost: Option<u64>,
}

impl Part {
    /// Adds the units behind these.
    fn append(&mut self, next: Part) {
        self.findings.append(next.findings);
        for (section, references) in next.references {
            self.references
                .entry(section)
                .or_default()
                .append(references);
        }
    }
}

/// Checks all units.
///
/// * `budget`: for location lists.
pub(super) fn check_all(
    subject: &Subject<'_, '_>,
    units: &[UnitId],
    threads: usize,
    budget: u64,
) -> Part {
    if threads > 1 && units.len() > 1 {
        let at_once = units.len().div_ceil(threads.saturating_mul(4));
        let parts = units.chunks(at_once.clamp(1, UNITS_AT_ONCE)).collect();
        if let Some(all) = check_parts(subject, parts, threads, budget) {
            return all;
        }
    }
    let mut all = Part::default();
    let mut left = budget;
    if units.len() <= UNITS_AT_ONCE {
        return check(subject, units, left);
    }
    for units in units.chunks(UNITS_AT_ONCE) {
        // What is kept of the units is kept in a program of its own. It was loaded once before.
        let part = match subject.program.source().load() {
            Ok(program) => check(&Subject::new(&program), units, left),
            Err(_) => check(subject, units, left),
        };
        left = part.cost.map_or(0, |cost| left.saturating_sub(cost));
        all.append(part);
    }
    all
}

/// Checks parts by several threads; nothing if the budget does not suffice for all of them: what is left out then
/// depends on the order.
fn check_parts(
    subject: &Subject<'_, '_>,
    parts: Vec<&[UnitId]>,
    threads: usize,
    budget: u64,
) -> Option<Part> {
    let source = subject.program.source();
    let spent = AtomicU64::new(0);
    let job = |units: &&[UnitId]| {
        let left = budget.checked_sub(spent.load(Ordering::Relaxed))?;
        let program = source.load().ok()?;
        let part = check(&Subject::new(&program), units, left);
        // More than the budget in any case, so that the other parts end as well.
        let cost = part.cost.unwrap_or(budget.saturating_add(1));
        let before = spent.fetch_add(cost, Ordering::Relaxed);
        (before.saturating_add(cost) <= budget).then_some(part)
    };
    let mut all = Part::default();
    for part in queue::run(&parts, threads, job, |_| ()) {
        all.append(part?);
    }
    Some(all)
}

/// Checks units one after the other.
fn check(subject: &Subject<'_, '_>, units: &[UnitId], budget: u64) -> Part {
    let info = subject.program.info();
    let mut part = Part::default();
    let mut left = Some(budget);
    let mut kept = Kept::default();
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
        let budget = left.unwrap_or(0);
        let check = UnitCheck::new(subject, &unit, expressions, findings, &mut kept, budget);
        let now = check.run(references);
        left = left.and(now);
    }
    part.cost = left.map(|left| budget.saturating_sub(left));
    part
}
