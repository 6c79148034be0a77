//! Decodes pointers of `.eh_frame`, and the augmentation data with their encoding.
//!
//! Source: LSB Core, "DWARF Extensions" and "Exception Frames".

use crate::error::{Error, Result};
use crate::expr::Cursor;

/// `DW_EH_PE_omit`: there is no pointer.
pub(super) const OMITTED: u8 = 0xff;

/// The augmentation data of a CIE in `.eh_frame`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EhAugmentation {
    pub(super) pointer_encoding: u8,
    pub(super) lsda_encoding: Option<u8>,
    pub(super) personality: Option<u64>,
    /// The address of the field with that address, if the pointer is relative to it.
    pub(super) personality_place: u64,
}

impl EhAugmentation {
    /// Reads the data.
    ///
    /// * `start`: the address of the data.
    pub(super) fn read(
        text: &str,
        data: &[u8],
        start: u64,
        address_size: u8,
    ) -> Result<EhAugmentation> {
        let mut read = EhAugmentation::default();
        let mut data = Cursor::new(data);
        for letter in text.chars().skip(1) {
            match letter {
                'R' => read.pointer_encoding = data.u8()?,
                'L' => read.lsda_encoding = Some(data.u8()?),
                'P' => {
                    let encoding = data.u8()?;
                    if encoding == OMITTED {
                        continue;
                    }
                    let place = start.wrapping_add(data.position() as u64);
                    // An indirect pointer refers to memory with the routine's address, which is not needed.
                    let direct = encoding & 0x7f;
                    read.personality_place = place_of(direct, place);
                    read.personality = Some(read_pointer(&mut data, direct, place, address_size)?);
                }
                // `S`, `B` and `G` have no data.
                _ => {}
            }
        }
        Ok(read)
    }
}

/// Returns the base of a pointer with this encoding, if it is relative to its own place.
pub(super) fn place_of(encoding: u8, place: u64) -> u64 {
    match encoding & 0x70 {
        0x10 => place,
        _ => 0,
    }
}

/// Reads a pointer of `.eh_frame`; `place` is its own address.
pub(super) fn read_pointer(
    cursor: &mut Cursor<'_>,
    encoding: u8,
    place: u64,
    address_size: u8,
) -> Result<u64> {
    let value = match encoding & 0x0f {
        0x00 => cursor.sized(address_size)?,
        0x01 => cursor.uleb()?,
        0x02 => cursor.u16()?.into(),
        0x03 => cursor.u32()?.into(),
        0x04 | 0x0c => cursor.u64()?,
        0x09 => cursor.sleb()?.cast_unsigned(),
        0x0a => i64::from(cursor.u16()?.cast_signed()).cast_unsigned(),
        0x0b => i64::from(cursor.u32()?.cast_signed()).cast_unsigned(),
        _ => {
            return Err(Error::malformed(
                "pointer encoding",
                format!("unknown encoding {encoding:#x}"),
            ));
        }
    };
    match encoding & 0xf0 {
        0x00 => Ok(value),
        0x10 => Ok(value.wrapping_add(place)),
        _ => Err(Error::malformed(
            "pointer encoding",
            format!("unknown encoding {encoding:#x}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each format reads -2, or the number with the same bytes. LSB Core, "DWARF Exception Header Encoding".
    #[test]
    fn signed_formats_have_a_sign() {
        let minus_two = [[0xfe].as_slice(), &[0xff; 7]].concat();
        let read = |encoding, bytes| read_pointer(&mut Cursor::new(bytes), encoding, 0x1000, 8);
        for (unsigned, signed, size) in [(2, 0x0a, 2), (3, 0x0b, 4), (4, 0x0c, 8)] {
            let bytes = &minus_two[..size];
            let most = u64::MAX >> (64 - 8 * size);
            assert_eq!(read(unsigned, bytes), Ok(most - 1));
            assert_eq!(read(signed, bytes), Ok(2_u64.wrapping_neg()));
            // Relative to the place of the pointer.
            assert_eq!(read(signed | 0x10, bytes), Ok(0xffe));
        }
        assert_eq!(read(1, &[0x7e]), Ok(126));
        assert_eq!(read(9, &[0x7e]), Ok(2_u64.wrapping_neg()));
    }
}
