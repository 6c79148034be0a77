//! Supports line tables without directories or files, which may have no entry formats either.
//!
//! Such a table is valid: both counts of formats may be 0 if there is nothing to describe. gimli requires a path in each list of formats, so it gets
//! a copy with a path added. Source: DWARF 5 §6.2.4, numbers 15 to 20.

use gimli::constants as dw;

use super::line_header::skip_form;
use super::unit_length::UnitLength;
use crate::error::Result;
use crate::expr::Cursor;

/// A list of formats with a path as text in the entry, and none.
const FORMATS: [u8; 3] = [1, dw::DW_LNCT_path.0 as u8, dw::DW_FORM_string.0 as u8];

/// Copies the line table at an offset of a section, and adds a format to each list that has neither formats nor entries. Returns `None` if there is
/// no such list, or the table is not valid DWARF 5. The copy contains only the table, and its length fields include the added bytes.
///
/// The caller charges for all bytes of the section after the offset.
pub(crate) fn complete(section: &[u8], offset: usize) -> Option<Vec<u8>> {
    let header = Header::read(section, offset).ok()?;
    let lists = header.lists.into_iter().flatten().collect::<Vec<usize>>();
    let added = lists.len().checked_mul(FORMATS.len().checked_sub(1)?)?;
    if added == 0 {
        return None;
    }
    let mut bytes = Vec::with_capacity(header.end.checked_sub(offset)?.checked_add(added)?);
    let mut from = offset;
    for list in lists {
        bytes.extend_from_slice(section.get(from..list)?);
        bytes.extend_from_slice(&FORMATS);
        // The count of formats.
        from = list.checked_add(1)?;
    }
    bytes.extend_from_slice(section.get(from..header.end)?);
    for (at, size) in [header.length, header.header_length] {
        let at = at.checked_sub(offset)?;
        let field = bytes.get_mut(at..at.checked_add(size)?)?;
        let mut number = [0; 8];
        number.get_mut(..size)?.copy_from_slice(field);
        let number = u64::from_le_bytes(number).checked_add(added as u64)?;
        field.copy_from_slice(number.to_le_bytes().get(..size)?);
    }
    Some(bytes)
}

/// The offsets in the section of the fields of a DWARF 5 table.
struct Header {
    end: usize,
    /// The offsets and sizes of the two length fields.
    length: (usize, usize),
    header_length: (usize, usize),
    /// The offsets of the format counts for directories and files, where both formats and entries are empty.
    lists: [Option<usize>; 2],
}

impl Header {
    fn read(section: &[u8], offset: usize) -> Result<Header> {
        let UnitLength {
            offset_size, body, ..
        } = UnitLength::read(section, offset as u64, "line table")?;
        let size = usize::from(offset_size);
        let mut cursor = Cursor::new(section.get(..body.end).unwrap_or_default());
        cursor.go_to(body.start)?;
        let mut header = Header {
            end: body.end,
            length: (body.start.saturating_sub(size), size),
            header_length: (body.start.saturating_add(4), size),
            lists: [None; 2],
        };
        // The sizes of addresses and of segment selectors come before the length of the header.
        if cursor.u16()? != 5 {
            return Ok(header);
        }
        cursor.u16()?;
        cursor.sized(offset_size)?;
        cursor.u32()?;
        cursor.u8()?;
        let opcodes = cursor.u8()?.saturating_sub(1);
        cursor.bytes(opcodes.into())?;
        for list in &mut header.lists {
            *list = formats(&mut cursor, offset_size)?;
        }
        Ok(header)
    }
}

/// Skips a list of formats and the entries that have them. Returns its offset if both are empty.
fn formats(cursor: &mut Cursor<'_>, offset_size: u8) -> Result<Option<usize>> {
    let at = cursor.position();
    let mut forms = Vec::new();
    for _ in 0..cursor.u8()? {
        cursor.uleb()?;
        forms.push(dw::DwForm(u16::try_from(cursor.uleb()?).unwrap_or(0)));
    }
    let count = cursor.uleb()?;
    if forms.is_empty() {
        return Ok((count == 0).then_some(at));
    }
    for _ in 0..count {
        for form in &forms {
            skip_form(cursor, *form, offset_size)?;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a table at offset 3 of a section: its header and a program of one byte.
    fn table(lists: &[u8]) -> Vec<u8> {
        let after = [&[4, 1, 1, 0xfb, 14, 2, 0], lists].concat();
        let mut header = vec![5, 0, 8, 0];
        header.extend(u32::try_from(after.len()).unwrap().to_le_bytes());
        header.extend(after);
        header.push(0x77);
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        [&[9, 9, 9], &length[..], &header, &[8, 8]].concat()
    }

    #[test]
    fn lists_without_formats_get_one_and_the_lengths_follow() {
        // No directories and no files; one directory "d" and no files; a file "f" in directory "d", whose number has one byte.
        let cases: [(&[u8], usize); 3] = [
            (&[0, 0, 0, 0], 4),
            (&[1, 1, 8, 1, b'd', 0, 0, 0], 2),
            (&[0, 0, 2, 1, 8, 2, 0xb, 1, b'f', 0, 0], 2),
        ];
        for (lists, added) in cases {
            let section = table(lists);
            let bytes = complete(&section, 3).unwrap();
            assert_eq!(bytes.len(), section.len() - 5 + added);
            assert_eq!(usize::from(bytes[0]), bytes.len() - 4);
            assert_eq!(bytes.last(), Some(&0x77));
            let lines = gimli::DebugLine::new(&bytes, gimli::LittleEndian);
            let program = lines.program(gimli::DebugLineOffset(0), 8, None, None);
            let instructions = program.unwrap().header().raw_program_buf().slice().to_vec();
            assert_eq!(instructions, [0x77]);
        }
    }

    #[test]
    fn other_tables_are_left_alone() {
        // All formats are present; entries without formats; an unknown form.
        for lists in [
            &[1, 1, 8, 0, 1, 1, 8, 0][..],
            &[0, 3, 0, 2],
            &[1, 1, 0x70, 1, 0, 0],
        ] {
            assert!(complete(&table(lists), 3).is_none(), "{lists:?}");
        }
        let section = table(&[0, 0, 0, 0]);
        for end in 0..section.len() - 2 {
            assert!(complete(&section[..end], 3).is_none(), "{end}");
        }
        let mut old = section.clone();
        old[7] = 4;
        assert!(complete(&old, 3).is_none());
    }
}
