//! Finds values that a location list could still give, according to the machine code.
//!
//! This takes longer than all other rules together, so the rule runs only if it is chosen explicitly. Source: `spec-notes/lost-values.md`.

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::coverage::{LostRange, LostVariable, Sought, lost_values};
use crate::plural::counted;

rules! {
    LOST_VALUE "loc-lost-value" Note "DWARF 5 §2.6.2"
        "the machine code keeps a value at addresses without a location"
        "After the end of its location list, a debugger shows the variable as \"optimized out\". According to the machine code, its last value in the list is \
         still in a register or on the stack. An entry with that place would show it, unless the variable has changed since, which the code alone does not tell. \
         Following all values takes longer than all other rules together, so this rule is active only if it is named: `--warn loc-lost-value`, `--rules \
         loc-lost-value`.";
}

/// The maximum number of ranges in a message.
const NAMED: usize = 4;

/// Checks the variables of all functions.
pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let meter = subject.meter();
    // A limit is reported for the whole check.
    let _ = lost_values(subject.program, Sought::Earlier, meter, &mut |mut lost| {
        // The value of a parameter on entry is not the last value that the list gave.
        lost.ranges.retain(|range| range.as_of.is_some());
        if !lost.ranges.is_empty() {
            findings.add(finding(&lost));
        }
    });
}

fn finding(lost: &LostVariable<'_>) -> Finding {
    let name = lost.variable.name.as_deref().unwrap_or("?");
    let bytes = lost.ranges.iter().map(LostRange::bytes);
    let bytes = counted(bytes.fold(0, u64::saturating_add), "byte");
    let texts = lost.ranges.iter().take(NAMED).map(|range| {
        let ends = &range.addresses;
        let (place, as_of) = (range.place(), range.as_of.unwrap_or(0));
        format!(
            "[{:#x}, {:#x}) in {place}, as of {as_of:#x}",
            ends.start, ends.end
        )
    });
    let mut texts: Vec<String> = texts.collect();
    if let Some(more) = lost
        .ranges
        .len()
        .checked_sub(NAMED)
        .filter(|more| *more > 0)
    {
        texts.push(counted(more as u64, "more range"));
    }
    let message = format!(
        "the machine code keeps the last known value of `{name}` for {bytes} more of its scope, without an entry in its location list: {}",
        texts.join("; ")
    );
    let help = "add an entry with this place to the location list, unless the variable changes there or before";
    let finding = Finding::new(&LOST_VALUE, ".debug_info", message);
    let finding = finding.at(lost.variable.die.offset).help(help);
    match lost.ranges.first() {
        Some(first) => finding.pc(first.addresses.start),
        None => finding,
    }
}
