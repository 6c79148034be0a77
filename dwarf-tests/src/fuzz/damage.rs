//! Changes real code objects within their debug sections, as the bytes choose.
//!
//! Arbitrary bytes are rarely a valid ELF file. Here each input is a list of edits, so that every input reaches the section readers.

use core::ops::Range;
use std::sync::OnceLock;

use hetdwarf::object::CodeObject;

use crate::fixture;

/// The objects that are damaged. They are small, of each DWARF version and producer, and have expressions, lists, call frames, type units,
/// entries in other files, and lanes.
const OBJECTS: &[&str] = &[
    "corpus/rocm-style/lane_pc.hsaco",
    "corpus/rocm-style/lane_pc_loclist.hsaco",
    "corpus/rocm-style/small-gfx90a-O0.hsaco",
    "corpus/rocm-style/inlined-gfx1201-O2.hsaco",
    "corpus/llvm22/small-gfx90a-O2-dwarf4.hsaco",
    "corpus/llvm22/small-gfx90a-O0-dwarf3.hsaco",
    "corpus/llvm22/small-gfx942-O2-dwarf64.hsaco",
    "corpus/llvm22/types-gfx90a-O1-typeunits.hsaco",
    "corpus/llvm22/split-gfx90a-O2.hsaco",
    "corpus/llvm24/calls-gfx90a-O2.hsaco",
    "corpus/llvm24/calls-gfx1100-O2.hsaco",
    "debug_info/made.elf",
];

/// The most edits of an input.
const EDITS: usize = 16;

struct Subject {
    data: Vec<u8>,
    /// The offsets of the debug sections in the file. The first range has the headers.
    sections: Vec<Range<usize>>,
}

fn subjects() -> &'static [Subject] {
    static SUBJECTS: OnceLock<Vec<Subject>> = OnceLock::new();
    SUBJECTS.get_or_init(|| OBJECTS.iter().map(|name| subject(name)).collect())
}

fn subject(name: &str) -> Subject {
    let data = std::fs::read(fixture(name)).unwrap();
    let object = CodeObject::parse(&data).unwrap();
    let sections = object
        .sections()
        .iter()
        .filter(|section| section.is_debug() && section.size > 0)
        .map(|section| {
            let start = usize::try_from(section.offset).unwrap();
            start..start + usize::try_from(section.size).unwrap()
        });
    let mut sections: Vec<_> = core::iter::once(0..64).chain(sections).collect();
    sections.retain(|range| range.end <= data.len());
    assert!(sections.len() > 3, "{name} has no debug sections");
    Subject {
        data: data.clone(),
        sections,
    }
}

/// Returns a damaged file: a byte chooses the object, then six bytes are an edit.
///
/// An edit has one byte for the operation, one for the section, two for the offset, and two for the value.
#[must_use]
pub fn damaged(bytes: &[u8]) -> Option<Vec<u8>> {
    let (object, edits) = bytes.split_first()?;
    let subjects = subjects();
    let subject = &subjects[usize::from(*object) % subjects.len()];
    let mut data = subject.data.clone();
    for edit in edits.as_chunks().0.iter().take(EDITS) {
        apply(*edit, subject, &mut data);
    }
    Some(data)
}

fn apply(edit: [u8; 6], subject: &Subject, data: &mut [u8]) {
    let [what, section, low, high, first, second] = edit;
    let range = &subject.sections[usize::from(section) % subject.sections.len()];
    let at = range.start + usize::from(u16::from_le_bytes([low, high])) % range.len();
    let left = &mut data[at..range.end];
    let value = u16::from_le_bytes([first, second]);
    match what % 8 {
        0 => left[0] = first,
        1 => left[0] = left[0].wrapping_add(first),
        2 => left[0] ^= 1 << (first % 8),
        3 => write(left, &value.to_le_bytes()),
        4 => write(left, &u32::from(value).to_le_bytes()),
        // A negative number, or one past the end of all sections.
        5 => write(left, &(u64::MAX - u64::from(value)).to_le_bytes()),
        6 => {
            let length = left.len().min(usize::from(second));
            left[..length].fill(first);
        }
        // Bytes from elsewhere in the section.
        _ => {
            let from = range.start + usize::from(value) % range.len();
            let length = (range.end - from).min(range.end - at).min(8);
            data.copy_within(from..from + length, at);
        }
    }
}

fn write(to: &mut [u8], bytes: &[u8]) {
    for (to, byte) in to.iter_mut().zip(bytes) {
        *to = *byte;
    }
}

/// Checks a damaged object with [`objects::check`](super::objects::check).
///
/// # Panics
/// See [`objects::check`](super::objects::check).
pub fn check(bytes: &[u8]) {
    if let Some(data) = damaged(bytes) {
        super::objects::check(&data);
    }
}
