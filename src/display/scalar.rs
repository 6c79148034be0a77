//! Formats base types: integers, booleans, characters, floating-point and complex numbers, and vectors of them.
//!
//! Sources: DWARF 5 §5.1.1 and §7.8; HET A.5.1 (`DW_AT_LLVM_vector_size`).

use core::fmt::{self, Write as _};

use super::digits::push_hex;
use super::{INCOMPLETE, Part, Printer, character, float};
use crate::eval::{BaseType, BaseTypeEncoding};

/// `DW_ATE_complex_float`: two floating-point numbers, the real part first.
pub(super) const COMPLEX_FLOAT: u8 = 0x03;

/// `DW_ATE_imaginary_float`: a multiple of i.
pub(super) const IMAGINARY_FLOAT: u8 = 0x09;

/// The largest integer printed in decimal, in bits. Larger ones are hexadecimal.
const MAX_DECIMAL_BITS: u64 = 128;

impl Printer<'_> {
    /// Prints a base type called `name`.
    pub(super) fn base(&mut self, base: &BaseType, name: Option<&str>, part: Part) -> fmt::Result {
        let lanes = base.elements;
        if lanes > 1 && base.bit_size.is_multiple_of(lanes) && part.bit_field.is_none() {
            let element = BaseType {
                bit_size: base.bit_size.checked_div(lanes).unwrap_or(0),
                elements: 1,
                ..*base
            };
            let size = element.bit_size.into();
            return self.elements(lanes.into(), size, size, part, &|printer, at| {
                let at = Part {
                    in_vector: true,
                    ..at
                };
                printer.base(&element, name, at)
            });
        }
        let size = part.bit_field.unwrap_or(base.bit_size.into());
        if size == 0 && part.bit_field.is_none() {
            return self.without_bits(name);
        }
        if let Some(lost) = self.bits.state(part.bit_offset, size).text() {
            return self.out.put(lost);
        }
        match base.encoding {
            BaseTypeEncoding::Signed
            | BaseTypeEncoding::SignedChar
            | BaseTypeEncoding::Unsigned
            | BaseTypeEncoding::UnsignedChar
            | BaseTypeEncoding::Utf => match character::Kind::of(base, name) {
                Some(kind) if kind.bit_size() == size && !part.in_vector => {
                    self.character(kind, part.bit_offset)
                }
                _ => self.integer(is_signed(base.encoding), part.bit_offset, size),
            },
            BaseTypeEncoding::Generic => self.integer(false, part.bit_offset, size),
            BaseTypeEncoding::Boolean => self.boolean(part.bit_offset, size),
            BaseTypeEncoding::Float => self.float(name, part.bit_offset, size),
            BaseTypeEncoding::Address => self.address(base.address_space, part.bit_offset, size),
            BaseTypeEncoding::Other(COMPLEX_FLOAT) => self.complex(name, part.bit_offset, size),
            BaseTypeEncoding::Other(IMAGINARY_FLOAT) => {
                self.float(name, part.bit_offset, size)?;
                self.out.put("i")
            }
            BaseTypeEncoding::Other(_) => self.hexadecimal(part.bit_offset, size),
        }
    }

    /// Prints a value that has no bits as the name of its type, which for Rust's `()` is the value.
    pub(super) fn without_bits(&mut self, name: Option<&str>) -> fmt::Result {
        self.out.put(name.unwrap_or(INCOMPLETE))
    }

    /// Prints an integer in decimal, unless the options or its size demand hexadecimal.
    pub(super) fn integer(&mut self, signed: bool, offset: u64, size: u64) -> fmt::Result {
        if let Some(lost) = self.bits.state(offset, size).text() {
            self.out.put(lost)
        } else if size > MAX_DECIMAL_BITS || self.options.hexadecimal {
            self.hexadecimal(offset, size)
        } else if signed {
            let number = self.bits.signed(offset, size);
            self.out.put(itoa::Buffer::new().format(number))
        } else {
            let number = self.bits.unsigned(offset, size);
            self.out.put(itoa::Buffer::new().format(number))
        }
    }

    /// Prints `true`, `false` or, for another number, that it is invalid, with the number. gdb prints only the number, LLDB `true`, and both look
    /// like valid values.
    fn boolean(&mut self, offset: u64, size: u64) -> fmt::Result {
        if size > MAX_DECIMAL_BITS {
            return self.hexadecimal(offset, size);
        }
        match self.bits.unsigned(offset, size) {
            0 => self.out.put("false"),
            1 => self.out.put("true"),
            other => write!(self.out, "<invalid bool {other}>"),
        }
    }

    /// Prints a floating-point number, or its bits if the format is unknown.
    fn float(&mut self, name: Option<&str>, offset: u64, size: u64) -> fmt::Result {
        let bits = u64::try_from(self.bits.unsigned(offset, size)).unwrap_or(0);
        if let Some(format) = float::format(size, name) {
            return float::print(&mut self.out, format, bits);
        }
        write!(self.out, "<{size}-bit float ")?;
        self.hexadecimal(offset, size)?;
        self.out.put(">")
    }

    /// Prints a complex number.
    fn complex(&mut self, name: Option<&str>, offset: u64, size: u64) -> fmt::Result {
        let half = size / 2;
        self.float(name, offset, half)?;
        self.out.put(" + ")?;
        self.float(name, offset.saturating_add(half), half)?;
        self.out.put("i")
    }

    /// Prints bits as one hexadecimal number.
    pub(super) fn hexadecimal(&mut self, offset: u64, size: u64) -> fmt::Result {
        if let Some(lost) = self.bits.state(offset, size).text() {
            return self.out.put(lost);
        }
        if size <= 64 {
            let number = u64::try_from(self.bits.unsigned(offset, size)).unwrap_or(0);
            let mut text = String::new();
            push_hex(&mut text, number, 1);
            return self.out.put(&text);
        }
        self.out.put("0x")?;
        let mut leading = true;
        for nibble in (0..size.div_ceil(4)).rev() {
            let skip = nibble * 4;
            let width = (size - skip).min(4);
            let digit = self.bits.unsigned(offset + skip, width);
            leading &= digit == 0 && nibble != 0;
            if !leading {
                write!(self.out, "{digit:x}")?;
            }
        }
        Ok(())
    }
}

/// Returns true if the highest bit of an integer of this encoding is its sign.
pub(super) fn is_signed(encoding: BaseTypeEncoding) -> bool {
    matches!(
        encoding,
        BaseTypeEncoding::Signed | BaseTypeEncoding::SignedChar
    )
}
