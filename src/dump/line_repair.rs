//! Repairs line tables that gimli rejects, in a copy with the readable part of their headers.
//!
//! Source: DWARF 5 §6.2.4.

use gimli::DwForm;
use gimli::constants as dw;

use crate::debug_info::skip_line_form;
use crate::error::Result;
use crate::expr::Cursor;

/// A format with a path as inline text, and no entries.
const NONE: &[u8] = &[1, dw::DW_LNCT_path.0 as u8, dw::DW_FORM_string.0 as u8, 0];

/// The fields of a header that differ in a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replaced {
    pub(super) length: u64,
    pub(super) header_length: u64,
    pub(super) segment_selector_size: u8,
    /// A flag that can have any number.
    pub(super) default_is_stmt: u8,
    pub(super) line_range: u8,
}

/// Returns the value of `default_is_stmt` in the header at an offset of a section: a number, although it is a flag.
pub(super) fn default_is_stmt(section: &[u8], offset: usize, offset_size: u8) -> Option<u8> {
    let size = usize::from(offset_size);
    let start = offset.checked_add(if size == 8 { 12 } else { 4 })?;
    let version = u16::from_le_bytes(*section.get(start..)?.first_chunk()?);
    // The version, the sizes of addresses and selectors, the length of the header, and the instruction parameters.
    let sizes = if version >= 5 { 4 } else { 2 };
    let instructions = if version >= 4 { 2 } else { 1 };
    let at = start.checked_add(sizes)?.checked_add(size)?;
    section.get(at.checked_add(instructions)?).copied()
}

/// A copy of a line table.
pub(super) struct Repaired {
    pub(super) bytes: Vec<u8>,
    /// The original values of the header.
    pub(super) said: Replaced,
    /// The end of the table in the section.
    pub(super) end: usize,
}

/// Copies the table at an offset of a section, up to its length or the end of the section. Returns `None` if its length or version is unsupported.
///
/// The caller charges for the copy, which has at most [`MORE`] bytes more than the table.
pub(super) fn repaired(section: &[u8], offset: usize) -> Option<Repaired> {
    repair(section, offset).ok().flatten()
}

/// The maximum number of bytes that a copy adds to its table.
pub(super) const MORE: usize = 16;

fn repair(section: &[u8], offset: usize) -> Result<Option<Repaired>> {
    let mut cursor = Cursor::new(section);
    cursor.go_to(offset)?;
    let (length, offset_size) = match cursor.u32()? {
        0xffff_ffff => (cursor.u64()?, 8),
        0xffff_fff0.. => return Ok(None),
        length => (length.into(), 4),
    };
    let start = cursor.position();
    let size = usize::try_from(length).unwrap_or(usize::MAX);
    let end = start.saturating_add(size).min(section.len());
    let body = section.get(start..end).unwrap_or_default();
    let mut cursor = Cursor::new(body);
    let version = cursor.u16()?;
    if !matches!(version, 2..=5) {
        return Ok(None);
    }
    let mut head = version.to_le_bytes().to_vec();
    let mut segment_selector_size = 0;
    if version == 5 {
        head.push(cursor.u8()?);
        segment_selector_size = cursor.u8()?;
        head.push(0);
    }
    let header_length = cursor.sized(offset_size)?;
    let rest = cursor.rest();
    let split = usize::try_from(header_length).unwrap_or(usize::MAX);
    let (header, program) = rest.split_at(split.min(rest.len()));
    let (tables, line_range) = prologue(header, version, offset_size)?;
    // Without a line range, no special opcode has a defined line.
    let program = if line_range == 0 { &[] } else { program };
    push(&mut head, tables.len() as u64, offset_size);
    let mut bytes = Vec::new();
    if offset_size == 8 {
        bytes.extend([0xff; 4]);
    }
    let total = head.len().saturating_add(tables.len());
    push(
        &mut bytes,
        total.saturating_add(program.len()) as u64,
        offset_size,
    );
    bytes.extend(head);
    bytes.extend(tables);
    bytes.extend(program);
    Ok(Some(Repaired {
        bytes,
        said: Replaced {
            length,
            header_length,
            segment_selector_size,
            default_is_stmt: default_is_stmt(section, offset, offset_size).unwrap_or(0),
            line_range,
        },
        end,
    }))
}

fn push(bytes: &mut Vec<u8>, number: u64, size: u8) {
    let number = number.to_le_bytes();
    bytes.extend(number.iter().take(usize::from(size)));
}

/// Returns the rest of a header with the readable part of its directories and files, and its line range.
fn prologue(header: &[u8], version: u16, offset_size: u8) -> Result<(Vec<u8>, u8)> {
    let mut cursor = Cursor::new(header);
    cursor.bytes(if version >= 4 { 4 } else { 3 })?;
    let range = cursor.position();
    let line_range = cursor.u8()?;
    let operations = u64::from(cursor.u8()?).saturating_sub(1);
    cursor.bytes(operations)?;
    let mut copy = header.get(..cursor.position()).unwrap_or_default().to_vec();
    if let Some(byte) = copy.get_mut(range) {
        *byte = (*byte).max(1);
    }
    if version == 5 {
        let mut is_whole = true;
        for _ in 0..2 {
            let read = || Forms::read(&mut cursor, offset_size);
            match is_whole.then(read).flatten() {
                Some(list) => {
                    is_whole = list.is_whole;
                    copy.extend(list.formats);
                    uleb(&mut copy, list.count);
                    copy.extend(list.entries);
                }
                None => {
                    is_whole = false;
                    copy.extend(NONE);
                }
            }
        }
        return Ok((copy, line_range));
    }
    let whole = texts(&mut cursor, 0, &mut copy);
    copy.push(0);
    if whole {
        texts(&mut cursor, 3, &mut copy);
    }
    copy.push(0);
    Ok((copy, line_range))
}

/// A list of version 5.
struct Forms<'a> {
    formats: &'a [u8],
    /// The number of readable entries.
    count: u64,
    entries: &'a [u8],
    /// True if these are all entries.
    is_whole: bool,
}

impl<'a> Forms<'a> {
    /// Reads a list as far as possible. Returns `None` if not even its formats can be read.
    fn read(cursor: &mut Cursor<'a>, offset_size: u8) -> Option<Forms<'a>> {
        let all = cursor.rest();
        let start = cursor.position();
        let mut forms = Vec::new();
        for _ in 0..cursor.u8().ok()? {
            cursor.uleb().ok()?;
            forms.push(DwForm(u16::try_from(cursor.uleb().ok()?).ok()?));
        }
        let formats = all.get(..cursor.position().checked_sub(start)?)?;
        let stated = cursor.uleb().ok()?;
        let first = cursor.position();
        let (mut count, mut end) = (0_u64, first);
        let read = |cursor: &mut Cursor<'a>| {
            let mut forms = forms.iter();
            forms.all(|form| skip_line_form(cursor, *form, offset_size).is_ok())
        };
        while !forms.is_empty() && count < stated && read(cursor) {
            // Forms without bytes would never end.
            if cursor.position() == end {
                break;
            }
            end = cursor.position();
            count = count.saturating_add(1);
        }
        let entries = all.get(first.checked_sub(start)?..end.checked_sub(start)?)?;
        // gimli requires a path.
        let no_formats = NONE.get(..3).filter(|_| forms.is_empty());
        Some(Forms {
            formats: no_formats.unwrap_or(formats),
            count,
            entries,
            is_whole: count == stated,
        })
    }
}

fn uleb(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Copies the entries of a list from before version 5, each a text and the given number of numbers. Returns true if the list is terminated.
fn texts(cursor: &mut Cursor<'_>, numbers: u8, copy: &mut Vec<u8>) -> bool {
    loop {
        let (all, start) = (cursor.rest(), cursor.position());
        let Some(length) = all.iter().position(|byte| *byte == 0) else {
            return false;
        };
        if length == 0 {
            return cursor.u8().is_ok();
        }
        let is_read = cursor.bytes((length as u64).saturating_add(1)).is_ok()
            && (0..numbers).all(|_| cursor.uleb_truncated().is_ok());
        let size = cursor.position().saturating_sub(start);
        match all.get(..size) {
            Some(entry) if is_read => copy.extend(entry),
            Some(_) | None => return false,
        }
    }
}
