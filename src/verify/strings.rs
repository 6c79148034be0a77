//! Checks `.debug_str_offsets` and `.debug_str_offsets.dwo`: each offset must lead to a string. Source: DWARF 5 §7.26.

use core::ops::Range;
use std::collections::BTreeSet;

use gimli::Section as _;

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::debug_info::UnitLength;
use crate::expr::Cursor;

rules! {
    OFFSET "string-offset" Error "DWARF 5 §7.26"
        "an offset in a table of string offsets is invalid"
        "The offset is after the end of .debug_str, so entries that take their name from this index have none. An offset may point into the middle of a \
         string, because linkers share the ends of strings.";
}

/// A section of offsets, and its section of strings.
struct Tables<'s> {
    section: &'static str,
    offsets: &'s [u8],
    of_strings: &'static str,
    strings: &'s [u8],
}

/// Checks the parts of all units.
pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let (object, info) = (subject.program.object(), subject.program.info());
    let section = |name| object.section(name).ok().flatten().unwrap_or_default();
    let own = Tables {
        section: ".debug_str_offsets",
        offsets: section(".debug_str_offsets"),
        of_strings: ".debug_str",
        strings: section(".debug_str"),
    };
    own.check_parts(subject, findings);
    // Units of a package share their sections.
    let mut seen = BTreeSet::new();
    for unit in info.unit_ids() {
        let (Ok(unit_info), Ok(sections)) = (info.unit_info(unit), info.raw_sections(unit)) else {
            continue;
        };
        let offsets = sections.debug_str_offsets.reader().slice();
        if !unit_info.section.ends_with(".dwo") || !seen.insert(offsets.as_ptr()) {
            continue;
        }
        let split = Tables {
            section: ".debug_str_offsets.dwo",
            offsets,
            of_strings: ".debug_str.dwo",
            strings: sections.debug_str.reader().slice(),
        };
        if info.version(unit).is_ok_and(|version| version < 5) {
            // GNU's extension of DWARF 4 has no headers.
            let all = 0..offsets.len();
            split.check_part(all, 4, subject, findings);
        } else {
            split.check_parts(subject, findings);
        }
    }
}

impl Tables<'_> {
    /// Checks the offsets after each header.
    fn check_parts(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let mut next = 0;
        while next < self.offsets.len() as u64 {
            // A missing header is reported with the units that use the section.
            let Ok(part) = UnitLength::read(self.offsets, next, "string offsets") else {
                return;
            };
            next = part.body.end as u64;
            let body = self.offsets.get(part.body.clone()).unwrap_or_default();
            let mut cursor = Cursor::new(body);
            let (Ok(5), Ok(_)) = (cursor.u16(), cursor.u16()) else {
                return;
            };
            let start = part.body.start + cursor.position();
            self.check_part(start..part.body.end, part.offset_size, subject, findings);
        }
    }

    /// Checks the offsets of one part.
    fn check_part(
        &self,
        part: Range<usize>,
        size: u8,
        subject: &Subject<'_, '_>,
        findings: &mut Findings,
    ) {
        let body = self.offsets.get(part.clone()).unwrap_or_default();
        if subject.meter().work(body.len() as u64 / 4).is_err() {
            return;
        }
        let mut cursor = Cursor::new(body);
        let (mut bad, mut count) = (None, 0_u64);
        loop {
            let at = part.start + cursor.position();
            let Ok(offset) = cursor.sized(size) else {
                break;
            };
            if offset >= self.strings.len() as u64 {
                count += 1;
                bad = bad.or(Some((at, offset)));
            }
        }
        if let Some((at, offset)) = bad {
            let name = self.of_strings;
            let message = match count {
                1 => format!("{offset:#x} is not in {name}"),
                _ => format!("{offset:#x} is not in {name}, nor are {} others", count - 1),
            };
            findings.add(Finding::new(&OFFSET, self.section, message).at(at as u64));
        }
    }
}
