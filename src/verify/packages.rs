//! Checks `.debug_cu_index` and `.debug_tu_index`: each unit of a package must have its own part of the sections. Source: DWARF 5 §7.3.5.

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::debug_info::package_index::PackageIndex;

rules! {
    OVERLAP "package-overlap" Error "DWARF 5 §7.3.5.3"
        "two units of a package share bytes of a section"
        "The index of a package gives each unit a part of each section. If two parts overlap, a debugger reads the entries, names or lines of another \
         unit. Units of one .dwo file may share all parts except the units themselves.";
}

/// Checks both indices.
pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    for section in [".debug_cu_index", ".debug_tu_index"] {
        let bytes = subject.program.object().section(section);
        let Ok(Some(bytes)) = bytes else { continue };
        // An unreadable index is reported with the unit that cannot be found.
        let Ok(index) = PackageIndex::read(bytes) else {
            continue;
        };
        for column in 0..index.column_count() {
            let work = u64::from(index.units) + u64::from(index.slots);
            if subject.meter().work(work).is_err() {
                return;
            }
            if let Some((slot, message)) = overlap(&index, column) {
                let finding = Finding::new(&OVERLAP, section, message);
                findings.add(finding.at(index.signature_offset(slot)));
            }
        }
    }
}

/// The part of a section that belongs to a unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Owned {
    start: u32,
    end: u64,
    row: u32,
    slot: usize,
    signature: u64,
}

/// Returns the first overlap in a column: the slot of the second unit, and a message.
fn overlap(index: &PackageIndex<'_>, column: usize) -> Option<(usize, String)> {
    let mut all: Vec<Owned> = (0..index.slot_count())
        .filter_map(|slot| {
            let (signature, row) = index.slot(slot)?;
            let at = usize::try_from(row).ok()?;
            let (start, size) = index.part(at, column)?;
            let end = u64::from(start) + u64::from(size);
            (size > 0).then_some(Owned {
                start,
                end,
                row,
                slot,
                signature,
            })
        })
        .collect();
    all.sort_unstable();
    let (name, _) = index.column(column);
    let may_share = !matches!(name, "INFO" | "TYPES");
    let mut furthest: Option<Owned> = None;
    for part in all {
        if let Some(before) = furthest
            && u64::from(part.start) < before.end
            && part.row != before.row
            && !(may_share && (part.start, part.end) == (before.start, before.end))
        {
            let message = format!(
                "{name} of {:#018x} is [{:#x}, {:#x}), and {name} of {:#018x} is [{:#x}, {:#x})",
                before.signature, before.start, before.end, part.signature, part.start, part.end
            );
            return Some((part.slot, message));
        }
        if furthest.is_none_or(|before| before.end < part.end) {
            furthest = Some(part);
        }
    }
    None
}
