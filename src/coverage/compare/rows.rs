//! Finds different rows of call frame information in two versions of a function with equal code.

use core::ops::Range;
use std::collections::BTreeMap;

use super::super::FunctionCoverage;
use super::{Difference, Version};
use crate::error::Result;
use crate::expr::RegisterStyle;
use crate::frame::{Fde, FramePrinter, Row, Rows};

/// The contents of a row: the rule of the CFA and of each register, as text.
type Rules = BTreeMap<String, String>;

/// Returns the ranges with different rows.
pub(super) fn differences(
    (old, before): (&Version<'_, '_>, &FunctionCoverage),
    (new, after): (&Version<'_, '_>, &FunctionCoverage),
) -> Result<Vec<Difference>> {
    let said = (old.entry(before), new.entry(after));
    if let (Some(one), Some(other)) = &said
        && is_same(one, other)
    {
        return Ok(Vec::new());
    }
    let (old, new) = (old.rows(before)?, new.rows(after)?);
    Ok(super::differences(&old, &new, |old, new| {
        [text(old, new), text(new, old)]
    }))
}

/// Returns true if two entries are equal except for their addresses.
fn is_same(one: &Fde<'_>, other: &Fde<'_>) -> bool {
    let parts = |fde: &Fde<'_>| {
        let cie = &fde.cie;
        (
            fde.address_range,
            cie.code_alignment_factor,
            cie.data_alignment_factor,
            cie.address_size,
        )
    };
    parts(one) == parts(other)
        && one.instructions == other.instructions
        && one.cie.initial_instructions == other.cie.initial_instructions
}

/// Returns the rules of a row that another row lacks. Returns `None` if there is no row.
fn text(rules: Option<&Rules>, others: Option<&Rules>) -> Option<String> {
    let rules = rules?;
    let is_other = |name: &str, rule: &str| {
        let other = others.and_then(|others| others.get(name));
        other.is_none_or(|other| other != rule)
    };
    let own = rules.iter().filter(|(name, rule)| is_other(name, rule));
    let mut texts: Vec<String> = own.map(|(name, rule)| format!("{name}={rule}")).collect();
    let missing = others.into_iter().flatten();
    let missing = missing.filter(|(name, _)| !rules.contains_key(*name));
    texts.extend(missing.map(|(name, _)| format!("{name} has no rule")));
    Some(texts.join(", "))
}

impl<'a> Version<'_, 'a> {
    /// Returns the entry that covers the start of a function.
    fn entry(&self, function: &FunctionCoverage) -> Option<Fde<'a>> {
        self.program.cfi().find(function.address).ok().flatten()
    }

    /// Returns the rows of a function, by their offsets in the function. Rows after a malformed part are left out.
    fn rows(&self, function: &FunctionCoverage) -> Result<Vec<(Range<u64>, Rules)>> {
        let cfi = self.program.cfi();
        let end = function.address.saturating_add(function.size);
        let (mut found, mut at) = (Vec::new(), function.address);
        let section = *cfi.section();
        let style = RegisterStyle::default();
        let printer = FramePrinter::new(section, style, self.program.dialect());
        // A function may have several entries, one for each part.
        while at < end {
            self.meter.work(1)?;
            let Some(fde) = cfi.find(at).ok().flatten() else {
                break;
            };
            if let Ok(mut rows) = Rows::new(&fde, section.name()) {
                loop {
                    rows.pay(self.meter)?;
                    let Ok(Some(row)) = rows.next() else {
                        break;
                    };
                    let range = row.start.max(at)..row.end.min(end);
                    if range.is_empty() {
                        continue;
                    }
                    let offset = |address: u64| address.saturating_sub(function.address);
                    let rules = self.rules(row, &fde, &printer)?;
                    found.push((offset(range.start)..offset(range.end), rules));
                }
            }
            at = fde.end().max(at.saturating_add(1));
        }
        Ok(found)
    }

    fn rules(&self, row: &Row<'a>, fde: &Fde<'a>, printer: &FramePrinter<'a>) -> Result<Rules> {
        let mut rules = Rules::new();
        let cfa = printer.row(&row.of_cfa(), &fde.cie);
        let cfa = cfa.strip_prefix("CFA=").unwrap_or_default();
        rules.insert("CFA".to_owned(), cfa.to_owned());
        for (register, rule) in row.rules() {
            let (name, rule) = (printer.register(*register), printer.rule(*rule, &fde.cie));
            self.meter.work(4)?;
            self.meter
                .hold((name.len().saturating_add(rule.len()).saturating_add(64)) as u64)?;
            rules.insert(name, rule);
        }
        Ok(rules)
    }
}
