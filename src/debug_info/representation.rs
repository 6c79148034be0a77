//! Reads base types: the layout of their bits, and the computation of their value.
//!
//! Sources: DWARF 5 §5.1, §5.13; HET A.5.1; DWARF 3 §5.1 for `DW_AT_bit_offset`.

use gimli::constants::*;

use super::DebugInfo;
use super::alias::{HOPS, is_alias};
use super::attribute::Extension;
use super::die::Die;
use super::types::{Representation, Scale, TypeKind};
use crate::arch::AddressSpace;
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{BaseType, BaseTypeEncoding};
use crate::meter::Meter;

/// The largest exponents of supported scales. Real ones are below 64 and 19.
const BINARY: u32 = 100;
const DECIMAL: u32 = 30;

impl<'a> DebugInfo<'a> {
    /// Returns the type that a `DW_TAG_base_type` entry describes.
    ///
    /// # Errors
    /// If it is malformed. [`ErrorKind::Unsupported`] names an unsupported attribute.
    pub(super) fn base_kind(&self, die: &Die<'a>) -> Result<TypeKind> {
        if let Some(name) = self.not_understood(die) {
            return Err(ErrorKind::Unsupported(name).into());
        }
        let by = self.representation(die)?;
        let mut base = self.base_type_of(die)?;
        let code = die.unsigned(DW_AT_encoding).unwrap_or(0);
        let is_fixed = fixed_point(code).is_some();
        if let Some(encoding) = fixed_point(code) {
            base.encoding = encoding;
        } else if let BaseTypeEncoding::Other(_) = base.encoding
            && !OTHERS.iter().any(|known| u64::from(known.0) == code)
        {
            let code = u8::try_from(code).ok();
            let name = code.and_then(|code| DwAte(code).static_string());
            return Err(ErrorKind::Unsupported(name.unwrap_or("DW_AT_encoding")).into());
        }
        if by.scale != Scale::One && !base.is_integral() {
            return Err(ErrorKind::Unsupported(scale_name(die)).into());
        }
        if by.bit_offset != 0 && base.elements != 1 {
            return Err(ErrorKind::Unsupported("DW_AT_data_bit_offset").into());
        }
        Ok(if by == Representation::PLAIN && !is_fixed {
            TypeKind::Base(base)
        } else {
            TypeKind::Represented { base, by }
        })
    }

    /// Returns the layout of a base type's bits, and the computation of its value.
    ///
    /// # Errors
    /// If it is malformed. [`ErrorKind::Unsupported`] names an unsupported attribute.
    pub(super) fn representation(&self, die: &Die<'a>) -> Result<Representation> {
        Ok(Representation {
            big_endian: is_big_endian(die)?,
            bit_offset: self.storage_offset(die)?,
            bias: self.number(die, DW_AT_GNU_bias).unwrap_or(0),
            scale: self.scale(die)?,
        })
    }

    /// Returns the bit offset of a base type's value in its bytes.
    fn storage_offset(&self, die: &Die<'a>) -> Result<u32> {
        let bytes = die.unsigned(DW_AT_byte_size).unwrap_or(0);
        let storage = i128::from(bytes).saturating_mul(8);
        let size = match die.unsigned(DW_AT_bit_size) {
            Some(size) => size.into(),
            None => storage,
        };
        let start = match (
            self.number(die, DW_AT_data_bit_offset),
            self.number(die, DW_AT_bit_offset),
        ) {
            (Some(start), _) => start,
            (None, Some(from_top)) => storage.saturating_sub(from_top).saturating_sub(size),
            (None, None) => return Ok(0),
        };
        let fits = start.saturating_add(size) <= storage;
        let start = u32::try_from(start).ok().filter(|_| fits);
        start.ok_or_else(|| self.malformed_base(die, "its value is not within its bytes"))
    }

    /// Returns the unit of a fixed-point type. Source: DWARF 5 §5.1.1.
    fn scale(&self, die: &Die<'a>) -> Result<Scale> {
        let within = |name: DwAt, most: u32| match self.number(die, name) {
            None => Ok(None),
            Some(exponent) => i32::try_from(exponent)
                .ok()
                .filter(|exponent| exponent.unsigned_abs() <= most)
                .map(Some)
                .ok_or_else(|| {
                    let name = name.static_string().unwrap_or_default();
                    Error::from(ErrorKind::Unsupported(name))
                }),
        };
        if let Some(exponent) = within(DW_AT_binary_scale, BINARY)? {
            return Ok(Scale::Binary(exponent));
        }
        if let Some(exponent) = within(DW_AT_decimal_scale, DECIMAL)? {
            return Ok(Scale::Decimal(exponent));
        }
        let Some(attribute) = die.attribute(DW_AT_small) else {
            return Ok(Scale::One);
        };
        let small = self.target(die, attribute)?;
        let fraction = small.and_then(|small| self.fraction(&self.die(small).ok()?));
        let unsupported = || Error::from(ErrorKind::Unsupported("DW_AT_small"));
        fraction.ok_or_else(unsupported)
    }

    /// Returns the constant that `DW_AT_small` refers to. gcc writes a numerator and a denominator; an integer has denominator 1.
    fn fraction(&self, die: &Die<'a>) -> Option<Scale> {
        let natural = |name| u64::try_from(self.number(die, name)?).ok();
        let numerator = natural(DW_AT_GNU_numerator).or_else(|| natural(DW_AT_const_value))?;
        let denominator = if die.attribute(DW_AT_GNU_denominator).is_some() {
            natural(DW_AT_GNU_denominator).filter(|denominator| *denominator > 0)?
        } else {
            1
        };
        Some(Scale::Fraction(numerator, denominator))
    }

    /// Returns the base type or enumeration underlying a subrange. It skips typedefs, qualifiers and other subranges without their own size.
    pub(super) fn subrange_host(&self, die: &Die<'a>) -> Option<Die<'a>> {
        let mut next = self.direct_type(die)?;
        for _ in 0..HOPS {
            let die = self.die(next).ok()?;
            let tag = die.tag();
            if tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type {
                return Some(die);
            }
            let is_range = tag == DW_TAG_subrange_type;
            if is_range && die.attribute(DW_AT_type).is_none() || !is_range && !is_alias(tag) {
                return None;
            }
            next = self.direct_type(&die)?;
        }
        None
    }

    /// Returns the size of a base type or enumeration in bits.
    pub(super) fn size_in_bits_of(&self, die: &Die<'a>) -> Option<u64> {
        if die.tag() == DW_TAG_base_type {
            return self.base_type_of(die).ok().map(|base| base.bit_size.into());
        }
        self.byte_size(die.id())?.checked_mul(8)
    }

    /// Returns the size of a string's character in bytes (`DW_AT_type` of `DW_TAG_string_type`).
    pub(super) fn character_size(&self, die: &Die<'a>, meter: &Meter) -> Result<u64> {
        let size = self.direct_type(die).and_then(|ty| self.size(ty, meter));
        size.filter(|size| *size > 0).ok_or_else(|| {
            let section = self.section_of(die.id().unit).unwrap_or(".debug_info");
            Error::malformed("string type", "its characters have no size")
                .within(section, die.id().offset)
        })
    }

    fn malformed_base(&self, die: &Die<'a>, reason: &str) -> Error {
        let section = self.section_of(die.id().unit).unwrap_or(".debug_info");
        Error::malformed("base type", reason).within(section, die.id().offset)
    }

    /// Reads a `DW_TAG_base_type` entry. Source: DWARF 5 §5.1; HET A.5.1.
    pub(super) fn base_type_of(&self, die: &Die<'a>) -> Result<BaseType> {
        let malformed = |reason| self.malformed_base(die, reason);
        let bits = die.unsigned(DW_AT_bit_size).or_else(|| {
            let bytes = die.unsigned(DW_AT_byte_size)?;
            bytes.checked_mul(8)
        });
        let elements = match die.extension(Extension::VectorSize) {
            None => 1,
            Some(attribute) => attribute
                .udata_value()
                .and_then(|count| u32::try_from(count).ok())
                .filter(|count| *count > 0)
                .ok_or_else(|| malformed("DW_AT_LLVM_vector_size must be greater than 0"))?,
        };
        let bit_size = bits
            .and_then(|bits| u32::try_from(bits).ok())
            .and_then(|bits| bits.checked_mul(elements))
            .ok_or_else(|| malformed("it has no size, or its size is too large"))?;
        let encoding = encoding(die.unsigned(DW_AT_encoding).unwrap_or(0));
        let address_space = if encoding == BaseTypeEncoding::Address {
            self.address_space(die)
        } else {
            AddressSpace::None
        };
        Ok(BaseType {
            encoding,
            bit_size,
            elements,
            address_space,
        })
    }
}

/// Returns true if `DW_AT_endianity` puts the most significant byte first.
pub(super) fn is_big_endian(die: &Die<'_>) -> Result<bool> {
    match die
        .attribute(DW_AT_endianity)
        .map(gimli::Attribute::udata_value)
    {
        None => Ok(false),
        Some(Some(code)) if code == u64::from(DW_END_big.0) => Ok(true),
        Some(Some(code)) if code <= u64::from(DW_END_little.0) => Ok(false),
        Some(_) => Err(ErrorKind::Unsupported("DW_AT_endianity").into()),
    }
}

/// Returns an integer type with the given number of bits and a bias.
pub(super) fn sized(base: BaseType, bits: Option<u64>, bias: i128) -> Result<TypeKind> {
    let bits = match bits {
        None => base.bit_size,
        Some(bits) => u32::try_from(bits).unwrap_or(u32::MAX),
    };
    if !base.is_integral() || bits > 128 {
        return Err(ErrorKind::Unsupported("DW_AT_byte_size").into());
    }
    let base = BaseType {
        bit_size: bits,
        ..base
    };
    Ok(if bias == 0 {
        TypeKind::Base(base)
    } else {
        let by = Representation {
            bias,
            ..Representation::PLAIN
        };
        TypeKind::Represented { base, by }
    })
}

/// Returns the name of the attribute that scales a type.
fn scale_name(die: &Die<'_>) -> &'static str {
    [DW_AT_binary_scale, DW_AT_decimal_scale]
        .iter()
        .find(|name| die.attribute(**name).is_some())
        .and_then(|name| name.static_string())
        .unwrap_or("DW_AT_small")
}

/// The encodings that can be printed, but not used in expressions. 0 stands for none.
const OTHERS: [DwAte; 3] = [DwAte(0), DW_ATE_complex_float, DW_ATE_imaginary_float];

/// Returns the integer type of a fixed-point number in its own unit.
fn fixed_point(code: u64) -> Option<BaseTypeEncoding> {
    match code {
        code if code == u64::from(DW_ATE_signed_fixed.0) => Some(BaseTypeEncoding::Signed),
        code if code == u64::from(DW_ATE_unsigned_fixed.0) => Some(BaseTypeEncoding::Unsigned),
        _ => None,
    }
}

/// Encodings with a meaning to expressions (DWARF 5 table 7.11).
const ENCODINGS: [(DwAte, BaseTypeEncoding); 10] = [
    (DW_ATE_address, BaseTypeEncoding::Address),
    (DW_ATE_boolean, BaseTypeEncoding::Boolean),
    (DW_ATE_float, BaseTypeEncoding::Float),
    (DW_ATE_signed, BaseTypeEncoding::Signed),
    (DW_ATE_signed_char, BaseTypeEncoding::SignedChar),
    (DW_ATE_unsigned, BaseTypeEncoding::Unsigned),
    (DW_ATE_unsigned_char, BaseTypeEncoding::UnsignedChar),
    (DW_ATE_UTF, BaseTypeEncoding::Utf),
    (DW_ATE_UCS, BaseTypeEncoding::Utf),
    (DW_ATE_ASCII, BaseTypeEncoding::UnsignedChar),
];

/// `DW_AT_encoding`.
fn encoding(code: u64) -> BaseTypeEncoding {
    let code = u8::try_from(code).unwrap_or(0);
    let row = ENCODINGS.iter().find(|(known, _)| known.0 == code);
    row.map_or(BaseTypeEncoding::Other(code), |(_, encoding)| *encoding)
}
