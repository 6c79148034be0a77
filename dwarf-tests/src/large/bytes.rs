//! Builds the bytes of a section, in little-endian order.

/// A section that is being built.
#[derive(Debug, Default)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all bytes.
    #[must_use]
    pub fn slice(&self) -> &[u8] {
        &self.0
    }

    /// Returns the offset of the next byte, in the 32-bit format.
    #[must_use]
    pub fn offset(&self) -> u32 {
        u32::try_from(self.0.len()).expect("the 32-bit format ends at 4 GiB")
    }

    /// Appends bytes unchanged.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Bytes {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends zeros.
    pub fn zeros(&mut self, count: usize) -> &mut Bytes {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    /// Appends a byte.
    pub fn u8(&mut self, number: u8) -> &mut Bytes {
        self.raw(&[number])
    }

    /// Appends two bytes.
    pub fn u16(&mut self, number: u16) -> &mut Bytes {
        self.raw(&number.to_le_bytes())
    }

    /// Appends four bytes.
    pub fn u32(&mut self, number: u32) -> &mut Bytes {
        self.raw(&number.to_le_bytes())
    }

    /// Appends eight bytes.
    pub fn u64(&mut self, number: u64) -> &mut Bytes {
        self.raw(&number.to_le_bytes())
    }

    /// Appends an unsigned LEB128.
    pub fn uleb(&mut self, mut number: u64) -> &mut Bytes {
        loop {
            let low = (number & 0x7f) as u8;
            number >>= 7;
            if number == 0 {
                return self.u8(low);
            }
            self.u8(low | 0x80);
        }
    }

    /// Appends a signed LEB128.
    pub fn sleb(&mut self, mut number: i64) -> &mut Bytes {
        loop {
            let low = (number & 0x7f) as u8;
            number >>= 7;
            let ends = (number == 0 && low & 0x40 == 0) || (number == -1 && low & 0x40 != 0);
            if ends {
                return self.u8(low);
            }
            self.u8(low | 0x80);
        }
    }

    /// Appends a length as unsigned LEB128, and the bytes.
    pub fn block(&mut self, bytes: &[u8]) -> &mut Bytes {
        self.uleb(bytes.len() as u64).raw(bytes)
    }

    /// Appends a string and its terminating zero.
    pub fn string(&mut self, text: &str) -> &mut Bytes {
        self.raw(text.as_bytes()).u8(0)
    }

    /// Appends a placeholder for a length of four bytes, and returns its position for [`end_length`](Bytes::end_length).
    pub fn start_length(&mut self) -> usize {
        let place = self.len();
        self.u32(0);
        place
    }

    /// Fills in a length: the number of bytes appended after it.
    pub fn end_length(&mut self, place: usize) {
        let length = u32::try_from(self.len() - place - 4).unwrap();
        self.0[place..place + 4].copy_from_slice(&length.to_le_bytes());
    }
}
