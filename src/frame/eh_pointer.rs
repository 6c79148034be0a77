//! Pointers of `.eh_frame`, whose encoding the augmentation of a CIE gives. Source: Linux Standard Base, "Exception Frames".

use super::entry::Cie;
use crate::error::{Error, Result};
use crate::expr::Cursor;

/// `DW_EH_PE_omit`: there is no pointer.
pub(super) const OMITTED: u8 = 0xff;

/// Reads the augmentation data of a CIE of `.eh_frame`.
///
/// * `start`: the address of the data.
pub(super) fn read_eh_augmentation(text: &str, start: u64, cie: &mut Cie<'_>) -> Result<()> {
    let mut data = Cursor::new(cie.augmentation_data);
    cie.pointer_encoding = Some(0);
    for letter in text.chars().skip(1) {
        match letter {
            'R' => cie.pointer_encoding = Some(data.u8()?),
            'L' => cie.lsda_encoding = Some(data.u8()?),
            'P' => {
                let encoding = data.u8()?;
                if encoding != OMITTED {
                    let place = start.wrapping_add(data.position() as u64);
                    // A pointer in memory leads on to the routine; which one it is nobody asks.
                    let direct = encoding & 0x7f;
                    cie.personality_place = if direct & 0x70 == 0x10 { place } else { 0 };
                    cie.personality =
                        Some(read_pointer(&mut data, direct, place, cie.address_size)?);
                }
            }
            // `S`, `B` and `G` have no data.
            _ => {}
        }
    }
    Ok(())
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
                format!("{encoding:#x} is not known"),
            ));
        }
    };
    match encoding & 0xf0 {
        0x00 => Ok(value),
        0x10 => Ok(value.wrapping_add(place)),
        _ => Err(Error::malformed(
            "pointer encoding",
            format!("{encoding:#x} is not known"),
        )),
    }
}
