//! Determines the common format of all values of a type once, for printing many values.

use core::fmt;

use super::digits::push_hex;
use super::{Mark, Options, Pointee, TypedBytes, Value, character, scalar, shape};
use crate::arch::AddressSpace;
use crate::debug_info::types::{PointerKind, TypeId, TypeKind, TypeTable};
use crate::eval::BaseTypeEncoding;
use crate::meter::Meter;

/// A type, and the format of its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form<'v> {
    table: &'v TypeTable,
    id: TypeId,
    options: &'v Options,
    number: Option<Number>,
}

/// Integers and addresses of 4 or 8 bytes, the most frequent types: their text is little more than a number.
#[derive(Clone, Copy, Debug)]
struct Number {
    byte_size: u32,
    kind: NumberKind,
}

#[derive(Clone, Copy, Debug)]
enum NumberKind {
    Decimal {
        signed: bool,
    },
    Hexadecimal,
    /// An address, with the text before the digits.
    Address {
        mark: &'static str,
        space: AddressSpace,
    },
}

/// An integer of 4 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dword {
    /// A signed integer in decimal.
    Signed,
    /// An unsigned integer in decimal.
    Unsigned,
    /// An integer in hexadecimal.
    Hexadecimal,
}

impl Dword {
    /// Sets `text` to the result of [`Form::print`].
    pub(crate) fn print(self, bytes: [u8; 4], text: &mut String) {
        let mut digits = itoa::Buffer::new();
        text.clear();
        match self {
            Dword::Signed => text.push_str(digits.format(i32::from_le_bytes(bytes))),
            Dword::Unsigned => text.push_str(digits.format(u32::from_le_bytes(bytes))),
            Dword::Hexadecimal => push_hex(text, u32::from_le_bytes(bytes).into(), 1),
        }
    }
}

/// The maximum length of such a number: `@private_lane#0x` and 16 digits are 32.
const LONGEST: usize = 32;

impl<'v> Form<'v> {
    pub(crate) fn new(table: &'v TypeTable, id: TypeId, options: &'v Options) -> Form<'v> {
        Form {
            table,
            id,
            options,
            number: Number::of(table, id, options.hexadecimal)
                .filter(|_| options.max_chars >= LONGEST),
        }
    }

    pub(crate) fn id(&self) -> TypeId {
        self.id
    }

    /// Returns the format of dwords that are each printed as one text, which depends on nothing else, or `None` for other types.
    pub(crate) fn of_dwords(&self) -> Option<Dword> {
        let number = self.number.filter(|number| number.byte_size == 4)?;
        match number.kind {
            NumberKind::Decimal { signed: true } => Some(Dword::Signed),
            NumberKind::Decimal { signed: false } => Some(Dword::Unsigned),
            NumberKind::Hexadecimal => Some(Dword::Hexadecimal),
            NumberKind::Address { .. } => None,
        }
    }

    /// Appends the result of [`Value::print`] to an empty text.
    pub(crate) fn print(
        &self,
        value: &TypedBytes<'_>,
        pointees: &[Pointee],
        meter: &Meter,
        text: &mut String,
        marks: Option<&mut Vec<Mark>>,
    ) {
        if let Some(number) = self.number
            && value.undefined.is_empty()
            && value.unavailable.is_empty()
            && pointees.is_empty()
            && number.print(value.bytes, meter, text).is_some()
        {
            return;
        }
        let value = Value {
            table: self.table,
            id: self.id,
            value,
            pointees,
            options: self.options,
        };
        let printed: fmt::Result = value.print(meter, text, marks);
        debug_assert!(printed.is_ok(), "a String takes everything");
    }
}

impl Number {
    fn of(table: &TypeTable, id: TypeId, hexadecimal: bool) -> Option<Number> {
        let resolved = shape::resolve(table, id);
        if let TypeKind::Pointer {
            kind,
            address_space,
            ..
        } = &resolved.ty.kind
        {
            let mark = match kind {
                PointerKind::Pointer => "",
                PointerKind::Reference | PointerKind::RvalueReference => "@",
            };
            let space = *address_space;
            let byte_size = resolved.ty.byte_size.filter(|size| matches!(size, 4 | 8))?;
            return Some(Number {
                byte_size: u32::try_from(byte_size).ok()?,
                kind: NumberKind::Address { mark, space },
            });
        }
        let TypeKind::Base(base) = &resolved.ty.kind else {
            return None;
        };
        let is_number = matches!(
            base.encoding,
            BaseTypeEncoding::Signed | BaseTypeEncoding::Unsigned
        );
        let is_character = character::Kind::of(base, resolved.base_name).is_some();
        let is_whole = matches!(base.bit_size, 32 | 64) && base.elements <= 1;
        let signed = scalar::is_signed(base.encoding);
        let kind = match hexadecimal {
            true => NumberKind::Hexadecimal,
            false => NumberKind::Decimal { signed },
        };
        (is_number && is_whole && !is_character).then_some(Number {
            byte_size: base.bit_size / 8,
            kind,
        })
    }

    /// Appends the number. Returns `None` if the number of bytes differs, or the budget is exceeded.
    fn print(self, bytes: &[u8], meter: &Meter, text: &mut String) -> Option<()> {
        let number = match self.byte_size {
            4 => u32::from_le_bytes(bytes.try_into().ok()?).into(),
            _ => u64::from_le_bytes(bytes.try_into().ok()?),
        };
        meter.work(1).ok()?;
        let mut digits = itoa::Buffer::new();
        match self.kind {
            NumberKind::Decimal { signed: false } => text.push_str(digits.format(number)),
            NumberKind::Decimal { signed: true } => {
                let unused = u64::BITS - self.byte_size * 8;
                let signed = number
                    .wrapping_shl(unused)
                    .cast_signed()
                    .wrapping_shr(unused);
                text.push_str(digits.format(signed));
            }
            NumberKind::Hexadecimal => push_hex(text, number, 1),
            NumberKind::Address { mark, space } => {
                text.push_str(mark);
                if space != AddressSpace::None {
                    text.push_str(space.name());
                    text.push('#');
                }
                push_hex(text, number, 1);
            }
        }
        Some(())
    }
}
