//! Reads the first field of most DWARF headers: the length of the rest, and the format (32-bit or 64-bit). Source: DWARF 5 §7.4.

use core::ops::Range;

use crate::error::{Error, Result};
use crate::expr::Cursor;

/// The start of a header.
pub(crate) struct UnitLength {
    /// The value of the field: the number of bytes after it.
    pub(crate) length: u64,
    /// 4 or 8: the size of offsets in bytes.
    pub(crate) offset_size: u8,
    /// The range of these bytes in the section.
    pub(crate) body: Range<usize>,
}

impl UnitLength {
    /// Reads the field at `offset` of a section.
    ///
    /// * `what`: the name of the structure, for error messages.
    ///
    /// # Errors
    /// If it is not in the section, has a reserved value, or goes past the section's end.
    pub(crate) fn read(section: &[u8], offset: u64, what: &'static str) -> Result<UnitLength> {
        let mut cursor = Cursor::new(section);
        cursor.go_to(usize::try_from(offset).unwrap_or(usize::MAX))?;
        let (length, offset_size) = match cursor.u32()? {
            0xffff_ffff => (cursor.u64()?, 8),
            reserved @ 0xffff_fff0.. => {
                let reason = format!("the length {reserved:#x} is reserved");
                return Err(Error::malformed(what, reason));
            }
            length => (length.into(), 4),
        };
        let start = cursor.position();
        let left = cursor.rest().len();
        match usize::try_from(length) {
            Ok(count) if count <= left => Ok(UnitLength {
                length,
                offset_size,
                body: start..start.saturating_add(count),
            }),
            Ok(_) | Err(_) => {
                let reason = format!(
                    "the length is {length:#x}, but {left:#x} bytes are left in the section"
                );
                Err(Error::malformed(what, reason))
            }
        }
    }
}
