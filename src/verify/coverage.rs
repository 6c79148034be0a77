//! Checks the code that frame description entries cover. Source: DWARF 5 §6.4.1, `initial_location` and `address_range`.

use std::collections::BTreeSet;

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::{CodeSymbol, Subject};
use crate::frame::Fde;

rules! {
    RANGE_EMPTY "cfi-range-empty" Warning "DWARF 5 §6.4.1"
        "a frame description entry covers no code"
        "The address range of the entry is empty, so it applies to no address. Linkers leave such entries behind for functions that they \
         dropped.";
    DROPPED "cfi-dropped-code" Note "DWARF 5 §6.4.1"
        "frame description entries cover code that the linker dropped"
        "The linker dropped an unused or duplicate function, or merged two functions with the same code. It cannot remove entries from \
         the section. It writes 0 or another address without code into them, or the address of the other function. No program counter \
         finds such an entry.";
    OUTSIDE "cfi-range-outside-code" Error "DWARF 5 §6.4.1"
        "a frame description entry covers addresses without code"
        "The range of the entry is not inside one executable section. Its start or its length is wrong, or was not relocated, and \
         its function has no entry.";
    OVERLAP "cfi-range-overlap" Error "DWARF 5 §6.4.1"
        "two frame description entries cover the same code"
        "Debuggers use either of them, and may disagree.";
    FUNCTION_WITHOUT "cfi-function-without-fde" Warning "DWARF 5 §6.4"
        "a function has no frame description entry"
        "A debugger that stops in the function cannot find its caller. In assembly, .cfi_startproc and .cfi_endproc make the entry.";
    NOT_A_FUNCTION "cfi-range-not-function" Warning "DWARF 5 §6.4.1"
        "the range of a frame description entry differs from that of its function"
        "Compilers write one entry for each function, from its first to its last instruction. If the ranges differ, part of a function \
         has no rules, or the rules of another function.";
    MISSING "cfi-missing" Note "DWARF 5 §6.4"
        "there is no call frame information"
        "No function of the code object can be unwound. Compilers for AMDGPU write .debug_frame with -g.";
    EMPTY "cfi-empty" Note "HET A.6.4.1"
        "frame description entries have no instructions"
        "These entries give no rules for the CFA or the return address, so a debugger cannot unwind their functions. LLVM 22 writes such \
         entries for every function. LLVM 24 writes the rules.";
}

/// Checks the code that the entries cover. Returns the entries whose code the linker kept.
pub(super) fn check<'a>(
    subject: &Subject<'_, '_>,
    mut fdes: Vec<Fde<'a>>,
    findings: &mut Findings,
) -> Vec<Fde<'a>> {
    let section = subject.frame_section().name();
    if subject.frame_section().bytes().is_empty() {
        if let (true, Some(first)) = (subject.has_debug_info(), subject.symbols().first()) {
            let message = format!(
                ".debug_frame is missing, for {} functions",
                subject.symbols().len()
            );
            findings.add(Finding::new(&MISSING, ".debug_frame", message).pc(first.range.start));
        }
        return fdes;
    }
    let mut in_order: Vec<&Fde<'_>> = fdes.iter().collect();
    in_order.sort_unstable_by_key(|fde| (fde.initial_location, fde.end(), fde.offset));
    let mut dropped = BTreeSet::new();
    let mut before: Option<&Fde<'_>> = None;
    in_order.retain(|fde| {
        let is_dropped = (subject.is_dropped(fde.initial_location) && fde.address_range > 0)
            || before.is_some_and(|before| is_folded(before, fde));
        if is_dropped {
            dropped.insert(fde.offset);
        } else {
            before = Some(fde);
        }
        !is_dropped
    });
    if let Some(first) = dropped.first() {
        let message = format!(
            "{} of {} entries cover functions that the linker dropped",
            dropped.len(),
            fdes.len()
        );
        let finding = Finding::new(&DROPPED, section, message);
        findings.add(finding.example().at(*first));
    }
    let ranges: Vec<_> = in_order
        .iter()
        .map(|fde| (fde.initial_location, fde.end(), fde.offset))
        .collect();
    for (start, end, offset) in &ranges {
        if let Some(finding) = check_range(subject, *start, *end, section) {
            findings.add(finding.at(*offset).pc(*start));
        }
    }
    check_overlap(&ranges, section, findings);
    check_functions(subject, &ranges, section, findings);
    check_empty(&fdes, section, findings);
    fdes.retain(|fde| !dropped.contains(&fde.offset));
    fdes
}

/// Returns true if two entries cover the same code with equal rules. This happens if the linker folded two functions into one.
fn is_folded(one: &Fde<'_>, other: &Fde<'_>) -> bool {
    let code = |fde: &Fde<'_>| (fde.initial_location, fde.address_range);
    let (of_one, of_other) = (&*one.cie, &*other.cie);
    code(one) == code(other)
        && one.address_range > 0
        && one.instructions == other.instructions
        && of_one.initial_instructions == of_other.initial_instructions
        && of_one.code_alignment_factor == of_other.code_alignment_factor
        && of_one.data_alignment_factor == of_other.data_alignment_factor
        && of_one.return_address_register == of_other.return_address_register
        && of_one.augmentation == of_other.augmentation
}

fn check_range(
    subject: &Subject<'_, '_>,
    start: u64,
    end: u64,
    section: &'static str,
) -> Option<Finding> {
    if start >= end {
        let message = format!("it covers 0 bytes at {start:#x}");
        return Some(Finding::new(&RANGE_EMPTY, section, message));
    }
    let within = |range: &core::ops::Range<u64>| range.start <= start && end <= range.end;
    if !subject.executable.iter().any(within) {
        let message = format!("{start:#x}..{end:#x} is not inside an executable section");
        return Some(Finding::new(&OUTSIDE, section, message));
    }
    let at = subject
        .symbols()
        .partition_point(|symbol| symbol.range.start < start);
    let starts_here: Vec<&CodeSymbol<'_>> = subject
        .symbols()
        .iter()
        .skip(at)
        .take_while(|symbol| symbol.range.start == start)
        .collect();
    if subject.symbols().is_empty()
        || starts_here
            .iter()
            .any(|symbol| symbol.range.end == end || symbol.range.is_empty())
    {
        return None;
    }
    let (message, help) = match (starts_here.last(), subject.symbol_at(start)) {
        (Some(symbol), _) => {
            let fde = end - start;
            let function = symbol.range.end - symbol.range.start;
            let message = format!(
                "it covers {fde:#x} bytes, and {} has {function:#x}",
                symbol.name
            );
            (message, "give the entry the length of the function")
        }
        (None, Some(symbol)) if !symbol.range.is_empty() => {
            let inside = start - symbol.range.start;
            let message = format!(
                "it starts {inside:#x} bytes after the start of {}",
                symbol.name
            );
            (message, "start the entry at the start of the function")
        }
        // Static functions are missing in the symbols that the linker exports.
        (None, _) if !subject.has_all_symbols || subject.has_function_at(start) => return None,
        // Linkers for host processors generate call stubs, which have entries but no symbols.
        (None, _) if subject.is_made_by_linker(start) => return None,
        (None, _) => (
            format!("no function is at {start:#x}"),
            "start the entry at the start of a function",
        ),
    };
    Some(Finding::new(&NOT_A_FUNCTION, section, message).help(help))
}

/// Compares each range with the furthest end of the ranges before it.
fn check_overlap(ranges: &[(u64, u64, u64)], section: &'static str, findings: &mut Findings) {
    let mut furthest: Option<(u64, u64)> = None;
    for (start, end, offset) in ranges.iter().filter(|(start, end, _)| start < end) {
        if let Some((before, other)) = furthest
            && *start < before
        {
            let message = format!(
                "{start:#x}..{:#x} is also in the entry at {other:#x}",
                (*end).min(before)
            );
            findings.add(
                Finding::new(&OVERLAP, section, message)
                    .at(*offset)
                    .pc(*start),
            );
        }
        if furthest.is_none_or(|(before, _)| before < *end) {
            furthest = Some((*end, *offset));
        }
    }
}

fn check_functions(
    subject: &Subject<'_, '_>,
    ranges: &[(u64, u64, u64)],
    section: &'static str,
    findings: &mut Findings,
) {
    for symbol in subject.symbols().iter().filter(|s| !s.range.is_empty()) {
        let pc = symbol.range.start;
        let after = ranges.partition_point(|(start, _, _)| *start <= pc);
        // Overlapping entries are reported separately, so only the last few are searched.
        let covered = ranges
            .iter()
            .take(after)
            .rev()
            .take(16)
            .any(|(_, end, _)| pc < *end);
        if !covered {
            let message = format!("no entry covers {} at {pc:#x}", symbol.name);
            findings.add(Finding::new(&FUNCTION_WITHOUT, section, message).pc(pc));
        }
    }
}

/// Returns true if an entry has no rules.
pub(super) fn says_nothing(fde: &Fde<'_>) -> bool {
    let nothing = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    nothing(fde.instructions) && nothing(fde.cie.initial_instructions)
}

/// Reports all empty entries as one finding, because they are a property of the compiler and not of a function.
fn check_empty(fdes: &[Fde<'_>], section: &'static str, findings: &mut Findings) {
    let mut empty = fdes
        .iter()
        .filter(|fde| fde.cie.augmentation.is_known())
        .filter(|fde| says_nothing(fde))
        .peekable();
    let Some(first) = empty.peek() else { return };
    let (offset, pc) = (first.offset, first.initial_location);
    let message = format!(
        "{} of {} entries have no instructions",
        empty.count(),
        fdes.len()
    );
    findings.add(
        Finding::new(&EMPTY, section, message)
            .example()
            .at(offset)
            .pc(pc)
            .help("LLVM 22 writes such entries for every function; LLVM 24 writes the rules"),
    );
}
