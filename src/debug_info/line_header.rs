//! Counts the directories and files that the header of a line program lists, before gimli allocates them.
//!
//! gimli may allocate some hundred bytes for an entry of one byte. Interpreting the entries is left to gimli. Source: DWARF 5 §6.2.4.

use gimli::{
    DebugLineOffset, DwForm, IncompleteLineProgram, LineInstruction, LineProgramHeader, constants,
};

use super::{Bytes, UnitLength};
use crate::error::{Error, Result};
use crate::expr::Cursor;
use crate::meter::Held;

/// The bytes that gimli holds for a directory and for a file.
const DIRECTORY: u64 = size_of::<gimli::AttributeValue<Bytes<'_>>>() as u64;
const FILE: u64 = size_of::<gimli::FileEntry<Bytes<'_>>>() as u64;

/// The reason why a line program was not parsed.
pub(crate) enum Refusal {
    /// A limit was reached.
    Limit(Error),
    /// gimli's reason.
    Gimli(gimli::Error),
}

/// Parses the header of a line program, after charging for its directories and files.
///
/// # Errors
/// If the header is malformed, or lists more than may be held.
pub(crate) fn parse_program<'a>(
    section: Bytes<'a>,
    offset: usize,
    address_size: u8,
    held: &Held,
) -> core::result::Result<IncompleteLineProgram<Bytes<'a>>, Refusal> {
    let listed = Listed::read(section.slice(), offset);
    held.hold(listed.bytes()).map_err(Refusal::Limit)?;
    let table = gimli::DebugLine::from(section);
    let program = table.program(DebugLineOffset(offset), address_size, None, None);
    program.map_err(|error| {
        held.release(listed.bytes());
        Refusal::Gimli(error)
    })
}

/// Reads the next instruction of a line program. Returns `None` at its end.
///
/// # Errors
/// If it is malformed. An advance by the lowest number of lines counts as malformed, because gimli overflows on it.
pub(crate) fn next_instruction<'a>(
    instructions: &mut gimli::LineInstructions<Bytes<'a>>,
    header: &LineProgramHeader<Bytes<'a>>,
) -> gimli::Result<Option<LineInstruction<Bytes<'a>>>> {
    let instruction = instructions.next_instruction(header)?;
    if instruction.as_ref().is_some_and(overflows) {
        return Err(gimli::Error::BadSignedLeb128);
    }
    Ok(instruction)
}

/// Returns true for an advance by the lowest number of lines.
#[inline]
pub(super) fn overflows(instruction: &LineInstruction<Bytes<'_>>) -> bool {
    matches!(instruction, LineInstruction::AdvanceLine(i64::MIN))
}

/// A header, for gimli to execute instructions with. Files that the program adds are not kept in it.
pub(crate) struct Header<'p, 'a>(pub(crate) &'p LineProgramHeader<Bytes<'a>>);

impl<'a> gimli::LineProgram<Bytes<'a>> for Header<'_, 'a> {
    fn header(&self) -> &LineProgramHeader<Bytes<'a>> {
        self.0
    }

    fn add_file(&mut self, _: gimli::FileEntry<Bytes<'a>>) {}
}

/// The numbers of directories and files in a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Listed {
    directories: u64,
    files: u64,
    /// True if the lists grow one by one, and may take twice their size. Otherwise gimli knows their length in advance.
    grow: bool,
}

impl Listed {
    /// Counts the entries of the header at `offset`. In a malformed header it counts the part that gimli reads.
    fn read(section: &[u8], offset: usize) -> Listed {
        let mut listed = Listed::default();
        if let Ok(unit) = UnitLength::read(section, offset as u64, "line table") {
            let body = section.get(unit.body).unwrap_or_default();
            // gimli finds and reports the fault.
            let _ = listed.count(&mut Cursor::new(body), unit.offset_size);
        }
        listed
    }

    fn count(&mut self, cursor: &mut Cursor<'_>, offset_size: u8) -> Result<()> {
        let version = cursor.u16()?;
        // From version 5 on the sizes of an address and of a segment selector.
        cursor.bytes(if version >= 5 { 2 } else { 0 })?;
        let length = cursor.sized(offset_size)?;
        let header = cursor.bytes(length.min(cursor.rest().len() as u64))?;
        let mut cursor = Cursor::new(header);
        // The minimum length of an instruction, the most operations of one, and how lines advance.
        cursor.bytes(if version >= 4 { 5 } else { 4 })?;
        let operations = u64::from(cursor.u8()?).saturating_sub(1);
        cursor.bytes(operations)?;
        self.grow = version < 5;
        if self.grow {
            self.count_strings(&mut cursor)
        } else {
            self.count_forms(&mut cursor, offset_size)
        }
    }

    /// Lists of strings, each ended by an empty one.
    fn count_strings(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        while string(cursor)? > 0 {
            self.directories = self.directories.saturating_add(1);
        }
        while string(cursor)? > 0 {
            // The directory, the time and the size.
            for _ in 0..3 {
                skip_leb128(cursor)?;
            }
            self.files = self.files.saturating_add(1);
        }
        Ok(())
    }

    /// Counts the lists that give the forms of their entries.
    fn count_forms(&mut self, cursor: &mut Cursor<'_>, offset_size: u8) -> Result<()> {
        for count in [&mut self.directories, &mut self.files] {
            let mut forms = Vec::new();
            for _ in 0..cursor.u8()? {
                skip_leb128(cursor)?;
                let form = u16::try_from(cursor.uleb()?).map_err(|_| unknown_form())?;
                forms.push(DwForm(form));
            }
            let stated = cursor.uleb()?;
            if forms.is_empty() {
                return Err(unknown_form());
            }
            // gimli allocates this many at once, before it reads any.
            let left = cursor.rest().len() as u64;
            *count = stated.min(left);
            let mut read = 0;
            while read < stated {
                for form in &forms {
                    skip_form(cursor, *form, offset_size)?;
                }
                read = read.saturating_add(1);
            }
        }
        Ok(())
    }

    /// Returns the number of bytes that gimli holds for these entries.
    fn bytes(&self) -> u64 {
        let directories = self.directories.saturating_mul(DIRECTORY);
        let files = self.files.saturating_mul(FILE);
        let bytes = directories.saturating_add(files);
        bytes.saturating_mul(if self.grow { 2 } else { 1 })
    }
}

/// Skips a string and its terminator, and returns its length.
fn string(cursor: &mut Cursor<'_>) -> Result<usize> {
    let rest = cursor.rest();
    let length = rest.iter().position(|byte| *byte == 0);
    let length = length.ok_or_else(|| Error::malformed("line table", "a string has no end"))?;
    cursor.bytes(length as u64)?;
    cursor.u8()?;
    Ok(length)
}

/// Skips a number of any length, as gimli does.
fn skip_leb128(cursor: &mut Cursor<'_>) -> Result<()> {
    while cursor.u8()? & 0x80 != 0 {}
    Ok(())
}

/// Skips a value. Unknown forms are left to gimli, which reports an error.
pub(crate) fn skip_form(cursor: &mut Cursor<'_>, form: DwForm, offset_size: u8) -> Result<()> {
    let size = match form {
        constants::DW_FORM_data1 | constants::DW_FORM_flag | constants::DW_FORM_strx1 => 1,
        constants::DW_FORM_data2 | constants::DW_FORM_strx2 => 2,
        constants::DW_FORM_strx3 => 3,
        constants::DW_FORM_data4 | constants::DW_FORM_strx4 => 4,
        constants::DW_FORM_data8 => 8,
        constants::DW_FORM_data16 => 16,
        constants::DW_FORM_sec_offset
        | constants::DW_FORM_strp
        | constants::DW_FORM_line_strp
        | constants::DW_FORM_strp_sup
        | constants::DW_FORM_GNU_strp_alt => offset_size.into(),
        constants::DW_FORM_block1 => cursor.u8()?.into(),
        constants::DW_FORM_block2 => cursor.u16()?.into(),
        constants::DW_FORM_block4 => cursor.u32()?.into(),
        constants::DW_FORM_block => cursor.uleb()?,
        constants::DW_FORM_udata
        | constants::DW_FORM_sdata
        | constants::DW_FORM_strx
        | constants::DW_FORM_GNU_str_index => return skip_leb128(cursor),
        constants::DW_FORM_string => return string(cursor).map(drop),
        _ => return Err(unknown_form()),
    };
    cursor.bytes(size)?;
    Ok(())
}

fn unknown_form() -> Error {
    Error::malformed("line table", "an entry has a form that it cannot have")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::limits::Limits;
    use crate::meter::Meter;

    /// Returns a table of version 5, with these lists after the standard operations.
    fn table(lists: &[u8]) -> Vec<u8> {
        let mut header = vec![1, 1, 1, 0xfb, 14, 2, 0];
        header.extend(lists);
        let mut table = vec![5, 0, 8, 0];
        table.extend((header.len() as u32).to_le_bytes());
        table.extend(header);
        let length = (table.len() as u32).to_le_bytes();
        [&length[..], &table].concat()
    }

    fn held(memory: u64) -> Held {
        let limits = Limits {
            memory,
            memory_per_byte: 0,
            ..Limits::DEFAULT
        };
        Held::new(Arc::new(Meter::new(&limits, 0)))
    }

    fn parsed(table: &[u8], held: &Held) -> core::result::Result<(usize, usize), String> {
        let bytes = Bytes::new(table, gimli::LittleEndian);
        match parse_program(bytes, 0, 8, held) {
            Ok(program) => {
                let header = program.header();
                Ok((
                    header.include_directories().len(),
                    header.file_names().len(),
                ))
            }
            Err(Refusal::Limit(error)) => Err(error.to_string()),
            Err(Refusal::Gimli(error)) => Err(format!("gimli: {error}")),
        }
    }

    /// One directory by `DW_FORM_string`, and files by `DW_FORM_udata`, each in one byte. Only the path needs a form.
    #[test]
    fn files_are_paid_for_before_they_are_made() {
        let mut lists = vec![1, 1, 0x08, 1, b'/', 0, 1, 1, 0x0f, 100];
        lists.extend([0; 100]);
        let table = table(&lists);
        let enough = DIRECTORY + 100 * FILE;
        assert_eq!(parsed(&table, &held(enough)), Ok((1, 100)));
        let refused = parsed(&table, &held(enough - 1)).unwrap_err();
        assert!(refused.contains("`memory`"), "{refused}");
    }

    /// gimli reserves one entry for each remaining byte, before it finds fewer files.
    #[test]
    fn a_count_is_paid_for_as_far_as_there_are_bytes() {
        let lists = [1, 1, 0x08, 0, 1, 1, 0x0f, 0xff, 0xff, 0xff, 0xff, 0x0f];
        let table = table(&[&lists[..], &[0; 50]].concat());
        let refused = parsed(&table, &held(50 * FILE - 1)).unwrap_err();
        assert!(refused.contains("`memory`"), "{refused}");
        let held = held(50 * FILE);
        assert!(parsed(&table, &held).unwrap_err().starts_with("gimli"));
        // gimli has dropped them.
        assert_eq!(held.meter().bytes(), 0);
    }

    /// gimli rejects entries without bytes, of which there could be any number.
    #[test]
    fn entries_without_bytes_are_malformed() {
        let no_forms = [0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0];
        // `DW_FORM_flag_present` and `DW_FORM_implicit_const`.
        let flags = [0x19, 0x21].map(|form| [1, 1, form, 0xff, 0xff, 0xff, 0xff, 0x0f]);
        for lists in [no_forms, flags[0], flags[1]] {
            let error = parsed(&table(&lists), &held(1 << 10)).unwrap_err();
            assert!(error.starts_with("gimli"), "{error}");
        }
    }

    /// Version 3: directories `a` and `b`, file `c`.
    #[test]
    fn lists_of_strings_are_counted() {
        let mut header = vec![1, 1, 0xfb, 14, 2, 0];
        header.extend(b"a\0b\0\0c\0\x01\x80\x00\x00\0");
        let mut table = vec![3, 0];
        table.extend((header.len() as u32).to_le_bytes());
        table.extend(header);
        let length = (table.len() as u32).to_le_bytes();
        let table = [&length[..], &table].concat();
        let enough = 2 * (2 * DIRECTORY + FILE);
        assert_eq!(parsed(&table, &held(enough)), Ok((2, 1)));
        assert!(parsed(&table, &held(enough - 1)).is_err());
    }

    /// Every prefix of the lists is an error, and no entry is created before its charge.
    #[test]
    fn a_header_that_is_cut_is_malformed() {
        let lists = [1, 1, 0x08, 1, b'/', 0, 2, 1, 0x1f, 5, 0x1e, 1];
        let lists = [&lists[..], &[7; 20]].concat();
        assert_eq!(parsed(&table(&lists), &held(1 << 20)), Ok((1, 1)));
        for end in 0..lists.len() {
            let held = held(1 << 20);
            let error = parsed(&table(&lists[..end]), &held).unwrap_err();
            assert!(error.starts_with("gimli"), "{end}: {error}");
            assert_eq!(held.meter().bytes(), 0);
        }
    }
}
