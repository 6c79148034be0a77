//! The entries of `.debug_frame` and `.eh_frame`: whether they can be read at all. Sources: DWARF 5 §6.4.1,
//! HET A.6.4.1.

use fallible_iterator::FallibleIterator;

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::error::Error;
use crate::frame::{Cie, Entry};

rules! {
    ENTRY "cfi-entry" Error "DWARF 5 §6.4.1"
        "an entry cannot be read"
        "A field of the entry is missing, runs past the entry's end or has a value that the format does not define. A debugger that \
         reads the section in order loses this entry, and every one behind it if the length itself is wrong.";
    CIE_POINTER "cfi-cie-pointer" Error "DWARF 5 §6.4.1"
        "a frame description entry belongs to no common information entry"
        "The CIE_pointer of a frame description entry is the offset of its common information entry in the section. Where there is \
         none at that offset, nothing in the entry can be interpreted and its function cannot be unwound.";
}

pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let section = subject.frame_section();
    let mut entries = section.entries();
    loop {
        match entries.next() {
            Ok(Some(Entry::Cie(cie))) => check_cie(&cie, findings),
            Ok(Some(Entry::Fde(_) | Entry::Terminator(_))) => {}
            Ok(None) => return,
            Err(error) => findings.add(malformed(&error, section.name())),
        }
    }
}

fn check_cie(_cie: &Cie<'_>, _findings: &mut Findings) {}

fn malformed(error: &Error, section: &'static str) -> Finding {
    Finding::new(&ENTRY, section, error.to_string())
}
