//! Rewrites a static archive with new contents of its members, in the format of GNU and LLVM. The table of symbols at the start has the offset of the
//! member that defines each symbol, and is updated.

use std::borrow::Cow;

use super::container::Writer;
use crate::error::{Error, Result};
use crate::object::{FileKind, slice_at};

const MAGIC: &[u8] = b"!<arch>\n";
/// The size of a member's header in bytes. Ten characters of it are the member's size.
const HEADER: u64 = 60;
const SIZE: u64 = 48;
const SIZE_DIGITS: u64 = 10;

/// A member: the offset of its header, the header, and the contents.
struct Member<'f> {
    at: u64,
    header: &'f [u8],
    contents: &'f [u8],
}

impl Member<'_> {
    fn name(&self) -> &[u8] {
        self.header.get(..16).unwrap_or_default().trim_ascii_end()
    }
}

fn malformed() -> Error {
    Error::malformed("archive", "the header of a member is malformed")
}

fn members(file: &[u8]) -> Result<Vec<Member<'_>>> {
    let mut found = Vec::new();
    let mut at = MAGIC.len() as u64;
    while at < file.len() as u64 {
        let header = slice_at(file, at, HEADER).ok_or_else(malformed)?;
        let digits = slice_at(header, SIZE, SIZE_DIGITS).unwrap_or_default();
        let size = core::str::from_utf8(digits).map_err(|_| malformed())?;
        let size: u64 = size.trim_end().parse().map_err(|_| malformed())?;
        let start = at.saturating_add(HEADER);
        let contents = slice_at(file, start, size).ok_or_else(malformed)?;
        found.push(Member {
            at,
            header,
            contents,
        });
        let end = start.saturating_add(size);
        at = end.saturating_add(end % 2);
    }
    Ok(found)
}

/// Returns the archive with its members rewritten.
pub(super) fn rewritten<'f>(file: &'f [u8], writer: &mut Writer<'_>) -> Result<Cow<'f, [u8]>> {
    let members = members(file)?;
    let mut new: Vec<Cow<'f, [u8]>> = Vec::new();
    for member in &members {
        let name = member.name();
        new.push(match name {
            b"/" | b"/SYM64/" | b"//" => Cow::Borrowed(member.contents),
            _ => writer.within("member", name, |writer| {
                writer.file(Some(FileKind::Archive), member.contents)
            })?,
        });
    }
    if new.iter().all(|one| matches!(one, Cow::Borrowed(_))) {
        return Ok(Cow::Borrowed(file));
    }
    let length: usize = new.iter().map(|one| one.len()).sum();
    writer.pay(file.len().saturating_add(length))?;
    let mut out = MAGIC.to_vec();
    // The old and the new offset of each member's header.
    let mut moved: Vec<(u64, u64)> = Vec::new();
    // The offset of the contents of the table of symbols, and the size of its numbers in bytes.
    let mut symbols: Option<(usize, usize)> = None;
    for (member, written) in members.iter().zip(new) {
        moved.push((member.at, out.len() as u64));
        let start = out
            .len()
            .saturating_add(usize::try_from(HEADER).unwrap_or(0));
        match member.name() {
            b"/" => symbols = Some((start, 4)),
            b"/SYM64/" => symbols = Some((start, 8)),
            _ => {}
        }
        let size = format!("{:<10}", written.len());
        if size.len() > 10 {
            return Err(Error::malformed(
                "archive",
                "a member is too long for an archive",
            ));
        }
        let mut header = member.header.to_vec();
        super::elf::set(&mut header, 48, size.as_bytes());
        out.extend(header);
        out.extend(written.iter());
        if out.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    if let Some((start, size)) = symbols {
        move_symbols(&mut out, start, size, &moved).ok_or_else(malformed)?;
    }
    Ok(Cow::Owned(out))
}

/// Updates the offsets of members in the table of symbols. The table is a count followed by that many offsets, all big-endian.
fn move_symbols(out: &mut [u8], start: usize, size: usize, moved: &[(u64, u64)]) -> Option<()> {
    let read = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let end = start.checked_add(size)?;
    let count = usize::try_from(read(out.get(start..end)?)).ok()?;
    let table = out.get_mut(end..)?;
    let table = table.get_mut(..count.checked_mul(size)?)?;
    for field in table.chunks_exact_mut(size) {
        let old = read(field);
        // The members are in the order of the file.
        let found = moved.binary_search_by_key(&old, |(at, _)| *at).ok()?;
        let (_, new) = moved.get(found)?;
        let bytes = new.to_be_bytes();
        let (upper, lower) = bytes.split_at_checked(8_usize.checked_sub(size)?)?;
        if upper.iter().any(|byte| *byte != 0) {
            return None;
        }
        field.copy_from_slice(lower);
    }
    Some(())
}
