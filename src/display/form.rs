//! What the texts of all values of a type have in common, found out once for many values.

use core::fmt;

use super::{Options, Pointee, TypedBytes, Value, character, scalar, shape};
use crate::debug_info::types::{TypeId, TypeKind, TypeTable};
use crate::eval::BaseTypeEncoding;
use crate::meter::Meter;

/// A type, and how its values are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form<'v> {
    table: &'v TypeTable,
    id: TypeId,
    options: &'v Options,
    integer: Option<Integer>,
}

/// Integers of 4 or 8 bytes, which most variables are: their text is a number and nothing else.
#[derive(Clone, Copy, Debug)]
struct Integer {
    byte_size: u32,
    signed: bool,
}

/// An integer of 4 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dword {
    signed: bool,
}

impl Dword {
    /// Makes `text` what [`Form::print`] prints.
    pub(crate) fn print(self, bytes: [u8; 4], text: &mut String) {
        let mut digits = itoa::Buffer::new();
        text.clear();
        text.push_str(match self.signed {
            true => digits.format(i32::from_le_bytes(bytes)),
            false => digits.format(u32::from_le_bytes(bytes)),
        });
    }
}

/// As many characters as the longest integer of 8 bytes has.
const LONGEST: usize = 20;

impl<'v> Form<'v> {
    pub(crate) fn new(table: &'v TypeTable, id: TypeId, options: &'v Options) -> Form<'v> {
        Form {
            table,
            id,
            options,
            integer: Integer::of(table, id).filter(|_| options.max_chars >= LONGEST),
        }
    }

    pub(crate) fn id(&self) -> TypeId {
        self.id
    }

    /// How all dwords are printed as one text each, which depends on nothing else; nothing for other types.
    pub(crate) fn of_dwords(&self) -> Option<Dword> {
        let integer = self.integer.filter(|integer| integer.byte_size == 4)?;
        Some(Dword {
            signed: integer.signed,
        })
    }

    /// Appends what [`Value::print`] prints.
    pub(crate) fn print(
        &self,
        value: &TypedBytes<'_>,
        pointees: &[Pointee],
        meter: &Meter,
        text: &mut String,
    ) {
        if let Some(integer) = self.integer
            && value.undefined.is_empty()
            && value.unavailable.is_empty()
            && integer.print(value.bytes, meter, text).is_some()
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
        let printed: fmt::Result = value.print(meter, text);
        debug_assert!(printed.is_ok(), "a String takes everything");
    }
}

impl Integer {
    fn of(table: &TypeTable, id: TypeId) -> Option<Integer> {
        let resolved = shape::resolve(table, id);
        let TypeKind::Base(base) = &resolved.ty.kind else {
            return None;
        };
        let is_number = matches!(
            base.encoding,
            BaseTypeEncoding::Signed | BaseTypeEncoding::Unsigned
        );
        let is_character = character::Kind::of(base, resolved.base_name).is_some();
        let is_whole = matches!(base.bit_size, 32 | 64) && base.elements <= 1;
        (is_number && is_whole && !is_character).then_some(Integer {
            byte_size: base.bit_size / 8,
            signed: scalar::is_signed(base.encoding),
        })
    }

    /// Appends the number; nothing if the bytes are not as many as it has, or nothing is left to pay with.
    fn print(self, bytes: &[u8], meter: &Meter, text: &mut String) -> Option<()> {
        let mut digits = itoa::Buffer::new();
        let digits = match (self.byte_size, self.signed) {
            (4, true) => digits.format(i32::from_le_bytes(bytes.try_into().ok()?)),
            (4, false) => digits.format(u32::from_le_bytes(bytes.try_into().ok()?)),
            (_, true) => digits.format(i64::from_le_bytes(bytes.try_into().ok()?)),
            (_, false) => digits.format(u64::from_le_bytes(bytes.try_into().ok()?)),
        };
        meter.work(1).ok()?;
        text.push_str(digits);
        Some(())
    }
}
