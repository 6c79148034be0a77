//! `.debug_str_offsets`: whether each offset leads to a string. Source: DWARF 5 §7.26.

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::debug_info::UnitLength;
use crate::expr::Cursor;

rules! {
    OFFSET "string-offset" Error "DWARF 5 §7.26"
        "an offset of a table of strings leads to no string"
        "It is behind the end of .debug_str, so that what has its name by this index has none. An offset may be in the middle of a string: linkers keep \
         the end of one for another.";
}

const SECTION: &str = ".debug_str_offsets";

/// Checks the parts of all units.
pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let object = subject.program.object();
    let section = |name| object.section(name).ok().flatten().unwrap_or_default();
    let (bytes, strings) = (section(SECTION), section(".debug_str"));
    let mut next = 0;
    while next < bytes.len() as u64 {
        // Where units count into it, that it has no header is found with them.
        let Ok(part) = UnitLength::read(bytes, next, "string offsets") else {
            return;
        };
        next = part.body.end as u64;
        let body = bytes.get(part.body.clone()).unwrap_or_default();
        let mut cursor = Cursor::new(body);
        let (Ok(5), Ok(_)) = (cursor.u16(), cursor.u16()) else {
            return;
        };
        if subject.meter().work(body.len() as u64 / 4).is_err() {
            return;
        }
        let mut bad = None;
        let mut count = 0_u64;
        loop {
            let at = part.body.start.saturating_add(cursor.position());
            let Ok(offset) = cursor.sized(part.offset_size) else {
                break;
            };
            if offset >= strings.len() as u64 {
                count = count.saturating_add(1);
                bad = bad.or(Some((at, offset)));
            }
        }
        if let Some((at, offset)) = bad {
            let message = match count {
                1 => format!("{offset:#x} is not in .debug_str"),
                _ => format!(
                    "{offset:#x} is not in .debug_str, nor are {} others",
                    count - 1
                ),
            };
            findings.add(Finding::new(&OFFSET, SECTION, message).at(at as u64));
        }
    }
}
