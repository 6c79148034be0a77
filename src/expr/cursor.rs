//! Reads the bytes of an expression from a position.

use crate::error::{ErrorKind, Result};

/// The maximum number of bytes of a LEB128 number: enough for 448 bits, or for any reasonable padding. A longer one would cost as much work as it has
/// bytes, but count as one operand.
const LONGEST_LEB128: u32 = 64;

/// Reads little-endian numbers and LEB128 from a slice; never past its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    /// The number of bytes read, at most all.
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the first of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Moves to an offset.
    ///
    /// # Errors
    /// If there are fewer bytes.
    #[inline(always)]
    pub(crate) fn go_to(&mut self, offset: usize) -> Result<()> {
        if offset > self.bytes.len() {
            return truncated("an offset");
        }
        self.at = offset;
        Ok(())
    }

    /// Returns the number of bytes read.
    #[inline(always)]
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Returns true if no bytes are left.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns the remaining bytes.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Reads this many bytes. Returns `None`, and reads nothing, if there are fewer.
    #[inline(always)]
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.take(N).and_then(<[u8]>::first_chunk) {
            Some(array) => Ok(*array),
            None => truncated("an operand"),
        }
    }

    /// Reads with a local copy, so that the compiler can keep the cursor in registers.
    #[inline(always)]
    fn apart<T>(&mut self, read: impl FnOnce(&mut Cursor<'a>) -> Result<T>) -> Result<T> {
        let mut copy = *self;
        let read = read(&mut copy);
        self.at = copy.at;
        read
    }

    /// Returns the next byte, or `None` at the end.
    #[inline(always)]
    pub(crate) fn next_byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at = self.at.wrapping_add(1);
        Some(byte)
    }

    #[inline(always)]
    pub(crate) fn u8(&mut self) -> Result<u8> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    #[inline(always)]
    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    #[inline(always)]
    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    #[inline(always)]
    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads an address or an offset of `size` bytes.
    #[inline(always)]
    pub(crate) fn sized(&mut self, size: u8) -> Result<u64> {
        match size {
            8 => self.u64(),
            4 => self.u32().map(u64::from),
            2 => self.u16().map(u64::from),
            _ => Err(ErrorKind::Unsupported("an address size other than 2, 4 or 8 bytes").into()),
        }
    }

    #[inline(always)]
    pub(crate) fn bytes(&mut self, size: u64) -> Result<&'a [u8]> {
        let size = usize::try_from(size).ok();
        match size.and_then(|size| self.take(size)) {
            Some(block) => Ok(block),
            None => truncated("a block"),
        }
    }

    /// Reads an unsigned LEB128. If it exceeds 64 bits, it returns the largest number, which exceeds every limit and table.
    #[inline(always)]
    pub(crate) fn uleb(&mut self) -> Result<u64> {
        // Nearly every operand is below 128.
        if let Some(&byte) = self.bytes.get(self.at)
            && byte < 0x80
        {
            self.at = self.at.wrapping_add(1);
            return Ok(byte.into());
        }
        self.apart(Cursor::long_uleb)
    }

    #[inline(never)]
    fn long_uleb(&mut self) -> Result<u64> {
        // The numbers of vector registers, and most offsets from 128 on.
        if let Some([low, high]) = self.rest().first_chunk()
            && *high < 0x80
        {
            self.at = self.at.wrapping_add(2);
            return Ok(u64::from(low & 0x7f) | (u64::from(*high) << 7));
        }
        let (value, fits) = self.leb(false)?;
        Ok(if fits { value } else { u64::MAX })
    }

    /// Reads a signed LEB128. If it exceeds 64 bits, it returns the extreme number of the same sign.
    #[inline(always)]
    pub(crate) fn sleb(&mut self) -> Result<i64> {
        // Nearly every operand is between -64 and 63.
        if let Some(&byte) = self.bytes.get(self.at)
            && byte < 0x80
        {
            self.at = self.at.wrapping_add(1);
            // The seventh bit is the sign.
            return Ok(((byte << 1).cast_signed() >> 1).into());
        }
        self.apart(Cursor::long_sleb)
    }

    #[inline(never)]
    fn long_sleb(&mut self) -> Result<i64> {
        let (value, fits) = self.leb(true)?;
        let value = value.cast_signed();
        Ok(match (fits, value < 0) {
            (true, _) => value,
            (false, true) => i64::MIN,
            (false, false) => i64::MAX,
        })
    }

    /// Reads an unsigned LEB128 and returns its low 64 bits (HET A.2.5.4.3.1: a literal that is too large is truncated).
    #[inline(always)]
    pub(crate) fn uleb_truncated(&mut self) -> Result<u64> {
        let mut value = 0;
        let mut ahead = *self;
        // Nine bytes have 63 bits, so none is lost.
        for shift in (0..63).step_by(7) {
            let Some(byte) = ahead.next_byte() else {
                return truncated("a LEB128 number");
            };
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                *self = ahead;
                return Ok(value);
            }
        }
        self.apart(|cursor| cursor.leb(false))
            .map(|(value, _)| value)
    }

    /// Reads a signed LEB128 and returns its low 64 bits.
    #[inline(always)]
    pub(crate) fn sleb_truncated(&mut self) -> Result<i64> {
        self.apart(|cursor| cursor.leb(true))
            .map(|(value, _)| value.cast_signed())
    }

    /// Reads a LEB128. Returns its low 64 bits, and true if these are the whole value.
    #[inline(never)]
    fn leb(&mut self, signed: bool) -> Result<(u64, bool)> {
        let mut value = 0u64;
        let mut shift = 0u32;
        let mut fits = true;
        loop {
            let Some(byte) = self.next_byte() else {
                return truncated("a LEB128 number");
            };
            let payload = u64::from(byte & 0x7f);
            let negative = signed && byte & 0x40 != 0;
            if shift < 64 {
                value |= payload << shift;
                // One bit of the tenth byte belongs to the value; the others must repeat the sign.
                if shift == 63
                    && payload >> 1 != (if signed && payload & 1 == 1 { 0x3f } else { 0 })
                {
                    fits = false;
                }
            } else if payload
                != (if signed && value.cast_signed() < 0 {
                    0x7f
                } else {
                    0
                })
            {
                fits = false;
            }
            shift = shift.saturating_add(7);
            if shift > LONGEST_LEB128 * 7 {
                return Err(ErrorKind::TooMany {
                    what: "bytes of a LEB128 number",
                    most: LONGEST_LEB128.into(),
                }
                .into());
            }
            if byte & 0x80 == 0 {
                if negative && shift < 64 {
                    value |= u64::MAX << shift;
                }
                return Ok((value, fits));
            }
        }
    }
}

#[cold]
fn truncated<T>(what: &'static str) -> Result<T> {
    Err(ErrorKind::Truncated { what }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The examples of DWARF 5 §7.6, tables 7.7 and 7.8, and the edges of 64 bits.
    #[test]
    fn leb128_numbers_of_the_standard() {
        let unsigned: &[(&[u8], u64)] = &[
            (&[2], 2),
            (&[127], 127),
            (&[0x80, 1], 128),
            (&[0x81, 1], 129),
            (&[0x82, 1], 130),
            (&[0xb9, 0x64], 12857),
            (
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
                u64::MAX,
            ),
            // Padding changes nothing.
            (
                &[
                    0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0,
                ],
                2,
            ),
        ];
        for (bytes, value) in unsigned {
            let mut cursor = Cursor::new(bytes);
            assert_eq!(cursor.uleb().unwrap(), *value);
            assert!(cursor.is_empty());
        }
        let signed: &[(&[u8], i64)] = &[
            (&[2], 2),
            (&[0x7e], -2),
            (&[0xff, 0], 127),
            (&[0x81, 0x7f], -127),
            (&[0x80, 1], 128),
            (&[0x80, 0x7f], -128),
            (&[0x81, 1], 129),
            (&[0xff, 0x7e], -129),
            (
                &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f],
                i64::MIN,
            ),
            (
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
                i64::MAX,
            ),
            (
                &[
                    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
                ],
                -1,
            ),
        ];
        for (bytes, value) in signed {
            assert_eq!(Cursor::new(bytes).sleb().unwrap(), *value, "{bytes:x?}");
        }
    }

    #[test]
    fn a_number_has_at_most_64_bytes() {
        let padded = |length: usize| {
            let mut bytes = vec![0x80; length - 1];
            bytes.push(0);
            bytes
        };
        for read in [
            |bytes: &[u8]| Cursor::new(bytes).uleb().map(|value| value == 0),
            |bytes: &[u8]| Cursor::new(bytes).sleb().map(|value| value == 0),
            |bytes: &[u8]| Cursor::new(bytes).uleb_truncated().map(|value| value == 0),
            |bytes: &[u8]| Cursor::new(bytes).sleb_truncated().map(|value| value == 0),
        ] {
            assert!(read(&padded(64)).unwrap());
            assert_eq!(read(&padded(65)).unwrap_err().kind().name(), "limit");
            // Further bytes are not read.
            assert_eq!(read(&[0x80; 65]).unwrap_err().kind().name(), "limit");
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_truncated_as_a_constant_and_huge_as_anything_else() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(Cursor::new(&bytes).uleb_truncated().unwrap(), u64::MAX);
        let bytes = [
            0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1,
        ];
        assert_eq!(Cursor::new(&bytes).uleb_truncated().unwrap(), 5);
        assert_eq!(Cursor::new(&bytes).uleb().unwrap(), u64::MAX);
    }

    #[test]
    fn every_prefix_of_a_number_is_truncated() {
        let bytes = [0xff, 0xff, 0xff, 0x7f];
        for end in 0..bytes.len() {
            let mut cursor = Cursor::new(&bytes[..end]);
            assert!(matches!(
                cursor.uleb().unwrap_err().kind(),
                ErrorKind::Truncated { .. }
            ));
        }
        assert!(Cursor::new(&[1, 2, 3]).u32().is_err());
        assert!(Cursor::new(&[1, 2, 3]).bytes(4).is_err());
        assert!(Cursor::new(&[1, 2, 3]).bytes(u64::MAX).is_err());
    }
}
