//! Reads ELF notes of a code object.
//!
//! Source: USAGE "Note Records".

use object::LittleEndian as LE;
use object::elf;
use object::read::elf::NoteIterator;

use super::bytes::slice_at;
use super::elf::{Elf, Header, bad};
use crate::error::Result;

/// `NT_AMDGPU_METADATA`, of code objects of version 3 and above.
pub(super) const METADATA: (&[u8], u32) = (b"AMDGPU", 32);
/// `NT_AMD_HSA_METADATA`, of code objects of version 2: YAML.
pub(super) const METADATA_V2: (&[u8], u32) = (b"AMD", 10);

/// One note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note<'data> {
    /// The owner's name and the owner's number for this type of note.
    pub(super) kind: (&'data [u8], u32),
    pub(super) contents: &'data [u8],
}

/// Returns all notes, in the order of the file. They are read from the note sections or, if there are none, from the note segments.
pub(super) fn read_all<'data>(elf: &Elf<'data>) -> Result<Vec<Note<'data>>> {
    let mut places = Vec::new();
    for section in elf.sections {
        if section.sh_type.get(LE) == elf::SHT_NOTE {
            places.push((
                section.sh_addralign.get(LE),
                elf.stored(section)?.unwrap_or(&[]),
            ));
        }
    }
    if places.is_empty() {
        for segment in elf.segments {
            let contents = slice_at(elf.data, segment.p_offset.get(LE), segment.p_filesz.get(LE));
            if segment.p_type.get(LE) == elf::PT_NOTE {
                places.push((segment.p_align.get(LE), contents.unwrap_or(&[])));
            }
        }
    }
    // Overlapping places could multiply the notes; real ones do not overlap.
    let meter = elf.held.meter();
    let mut notes = Vec::new();
    for (alignment, contents) in places {
        meter.work(1)?;
        let mut all = NoteIterator::<Header>::new(LE, alignment, contents)
            .map_err(|e| bad("note", e).within(".note", 0))?;
        while let Some(note) = all.next().map_err(|e| bad("note", e).within(".note", 0))? {
            meter.work(1)?;
            meter.hold_all::<Note<'_>>(1)?;
            notes.push(Note {
                kind: (note.name(), note.n_type(LE).0),
                contents: note.desc(),
            });
        }
    }
    Ok(notes)
}
