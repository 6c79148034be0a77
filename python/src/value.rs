//! Converts bytes of a type to Python values, and back.
//!
//! Integers, characters, enumerations and pointers are `int`. `_Bool` is `bool`, floating-point numbers are `float`, and complex numbers
//! are `complex`. Records are `dict` by member, and include the members of anonymous members and base classes. Arrays and vectors are
//! `list`. Arrays of characters that end with a null character, which C prints as a string, are `str`. A type without a value is its
//! `bytes`. Numbers come from [`numbers`](display::numbers), never from text.

use core::cell::Cell;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyDict, PyList};

use hetdwarf::debug_info::types::{Dimension, Member, TypeId, TypeKind, TypeTable};
use hetdwarf::display::{self, Number, ScalarKind, ScalarPlace, TypedBytes, scalar_format};
use hetdwarf::eval::BaseTypeEncoding;
use hetdwarf::location::Bits;

/// The deepest nesting of values. The types of a damaged file may contain themselves.
pub const DEPTH: u32 = 64;

/// The most values inside one value, besides one for each of its bytes. The members of a damaged type may overlap at every level.
const VALUES: usize = 1 << 16;

/// Returns `size` bits from bit `start` on, in whole bytes; fewer if the data ends.
fn cut(bytes: &[u8], start: u64, size: u64) -> Vec<u8> {
    let (first, shift) = (usize::try_from(start / 8).unwrap_or(usize::MAX), start % 8);
    // Types of a damaged file may be larger than their values.
    let left = (bytes.len() as u64 * 8).saturating_sub(start);
    let count = usize::try_from(size.min(left).div_ceil(8)).unwrap_or(0);
    let byte = |at: usize| u16::from(bytes.get(first.saturating_add(at)).copied().unwrap_or(0));
    let mut found: Vec<u8> = (0..count)
        .map(|at| ((byte(at) | byte(at + 1) << 8) >> shift).to_le_bytes()[0])
        .collect();
    if let (1..8, Some(last)) = (size % 8, found.last_mut()) {
        *last &= (1u8 << (size % 8)) - 1;
    }
    found
}

/// Converts the bits of a value of type `ty` to Python. Scalars with missing bits are None.
pub fn to_python(
    py: Python<'_>,
    types: &TypeTable,
    (ty, bit_field): (TypeId, Option<u64>),
    bits: &Bits,
) -> PyResult<Py<PyAny>> {
    let converter = Converter {
        py,
        types,
        bits,
        left: Cell::new(VALUES + bits.bytes.len()),
    };
    converter.value(ty, 0, bit_field, DEPTH)
}

struct Converter<'t, 'py> {
    py: Python<'py>,
    types: &'t TypeTable,
    bits: &'t Bits,
    /// The number of values that may still be made.
    left: Cell<usize>,
}

impl Converter<'_, '_> {
    /// Converts the value that starts at bit `start`.
    ///
    /// * `bits`: the size of a bit-field.
    fn value(&self, ty: TypeId, start: u64, bits: Option<u64>, depth: u32) -> PyResult<Py<PyAny>> {
        let py = self.py;
        let found = self.types.get(ty);
        let size = bits.unwrap_or_else(|| self.size(ty));
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.left.get().checked_sub(1))
        else {
            return self.raw(start, size);
        };
        self.left.set(left);
        match &found.kind {
            TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => {
                self.value(*target, start, bits, depth)
            }
            TypeKind::Array {
                element,
                dimensions,
                stride_in_bits,
                vector,
            } => {
                let text = || self.text(*element, dimensions, start, size);
                if let Some(text) = (!vector).then(text).flatten() {
                    return text.into_py_any(py);
                }
                let size = self.size(*element);
                let stride = stride_in_bits.unwrap_or(size);
                // An element that is larger than the stride is truncated.
                let part = (stride < size).then_some(stride);
                let end = start.saturating_add(self.size_or_all(ty, start));
                self.array((*element, part, stride), dimensions, (start, end), depth)
            }
            TypeKind::Record { members, .. } => {
                let dict = PyDict::new(py);
                self.members(&dict, members, start, depth)?;
                dict.into_py_any(py)
            }
            TypeKind::Base(_)
            | TypeKind::Represented { .. }
            | TypeKind::Pointer { .. }
            | TypeKind::MemberPointer { .. }
            | TypeKind::Enumeration { .. } => self.scalar(ty, start, bits, size),
            _ => self.raw(start, size),
        }
    }

    fn scalar(&self, ty: TypeId, start: u64, bits: Option<u64>, size: u64) -> PyResult<Py<PyAny>> {
        let end = start.saturating_add(size);
        let is_lost = self.bits.undefined.overlaps(start..end)
            || self.bits.unavailable.overlaps(start..end)
            || end > self.bits.bytes.len() as u64 * 8;
        if is_lost && size > 0 {
            return Ok(self.py.None());
        }
        let place = ScalarPlace {
            bit_offset: start,
            bit_field: bits,
        };
        let bytes = TypedBytes::known(&self.bits.bytes);
        let Some(numbers) = display::numbers(self.types, ty, &bytes, place) else {
            return self.raw(start, size);
        };
        let format = display::scalar_format(self.types, ty);
        let is_vector = bits.is_none() && format.is_some_and(|format| format.elements > 1);
        let numbers = numbers.into_iter().map(|number| self.number(number));
        let mut numbers = numbers.collect::<PyResult<Vec<_>>>()?;
        match (is_vector, numbers.len()) {
            (false, 1) => Ok(numbers.remove(0)),
            _ => numbers.into_py_any(self.py),
        }
    }

    fn number(&self, number: Number) -> PyResult<Py<PyAny>> {
        let py = self.py;
        match number {
            Number::Signed(number) => number.into_py_any(py),
            Number::Unsigned(number) => number.into_py_any(py),
            Number::Float(number) => number.into_py_any(py),
            Number::Complex(real, imaginary) => {
                PyComplex::from_doubles(py, real, imaginary).into_py_any(py)
            }
            Number::Boolean(truth) => truth.into_py_any(py),
            _ => Ok(py.None()),
        }
    }

    /// Returns the bytes of a type without a value.
    fn raw(&self, start: u64, size: u64) -> PyResult<Py<PyAny>> {
        PyBytes::new(self.py, &cut(&self.bits.bytes, start, size)).into_py_any(self.py)
    }

    /// Returns the size of a type in bits; 0 if unknown.
    fn size(&self, ty: TypeId) -> u64 {
        display::size_in_bits(self.types, ty).unwrap_or(0)
    }

    /// Returns the size of a type in bits; the size of the remaining data if unknown.
    fn size_or_all(&self, ty: TypeId, start: u64) -> u64 {
        let all = self.bits.bytes.len() as u64 * 8;
        let left = all.saturating_sub(start);
        display::size_in_bits(self.types, ty)
            .unwrap_or(left)
            .min(left)
    }

    /// Returns true if a type is a character of one byte.
    fn is_character(&self, mut ty: TypeId) -> bool {
        for _ in 0..DEPTH {
            match &self.types.get(ty).kind {
                TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => ty = *target,
                TypeKind::Base(base) => {
                    let is_character = matches!(
                        base.encoding,
                        BaseTypeEncoding::SignedChar | BaseTypeEncoding::UnsignedChar
                    );
                    return is_character && base.bit_size == 8;
                }
                _ => return false,
            }
        }
        false
    }

    /// Returns the text of an array of characters, up to its null character. It must have one, and be UTF-8.
    fn text(
        &self,
        element: TypeId,
        dimensions: &[Dimension],
        start: u64,
        size: u64,
    ) -> Option<String> {
        let ([_], true) = (dimensions, self.is_character(element)) else {
            return None;
        };
        let end = start.saturating_add(size);
        if self.bits.undefined.overlaps(start..end) || self.bits.unavailable.overlaps(start..end) {
            return None;
        }
        let bytes = cut(&self.bits.bytes, start, size);
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let text = core::str::from_utf8(bytes.get(..end)?).ok()?;
        let is_shown = |c: char| !c.is_control() || c.is_ascii_whitespace();
        text.chars().all(is_shown).then(|| text.to_owned())
    }

    /// Converts an array that has this range of bits.
    fn array(
        &self,
        element: (TypeId, Option<u64>, u64),
        dimensions: &[Dimension],
        (start, end): (u64, u64),
        depth: u32,
    ) -> PyResult<Py<PyAny>> {
        let (ty, part, stride) = element;
        let Some((first, rest)) = dimensions.split_first() else {
            return self.value(ty, start, part, depth);
        };
        let inner = rest.iter().map(|inner| inner.count.unwrap_or(0));
        let step = inner.fold(stride, u64::saturating_mul);
        // The data limits the number of elements, whatever the type says.
        let most = end.saturating_sub(start).checked_div(step).unwrap_or(0);
        let count = first.count.unwrap_or(most).min(most);
        let list = PyList::empty(self.py);
        for index in 0..count {
            let at = start + index * step;
            list.append(self.array(element, rest, (at, end), depth)?)?;
        }
        list.into_py_any(self.py)
    }

    fn members(
        &self,
        dict: &Bound<'_, PyDict>,
        members: &[Member],
        start: u64,
        depth: u32,
    ) -> PyResult<()> {
        let (Some(depth), Some(left)) = (
            depth.checked_sub(1),
            self.left.get().checked_sub(members.len()),
        ) else {
            return Ok(());
        };
        self.left.set(left);
        for member in members {
            let Some(offset) = member.bit_offset else {
                continue;
            };
            let at = start.saturating_add(offset);
            match (&member.name, record(self.types, member.ty)) {
                (Some(name), found) if !(member.is_base && found.is_some()) => {
                    dict.set_item(name, self.value(member.ty, at, member.bit_size, depth)?)?;
                }
                (_, Some(inner)) => self.members(dict, inner, at, depth)?,
                (_, None) => {}
            }
        }
        Ok(())
    }
}

/// Returns the members of a record, through typedefs and qualifiers.
pub fn record(types: &TypeTable, mut ty: TypeId) -> Option<&[Member]> {
    for _ in 0..DEPTH {
        match &types.get(ty).kind {
            TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => ty = *target,
            TypeKind::Record { members, .. } => return Some(members),
            _ => return None,
        }
    }
    None
}

/// Converts a Python value to the bytes of a value of type `ty`.
pub fn to_bytes(types: &TypeTable, ty: TypeId, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let size = display::size_in_bits(types, ty).unwrap_or(0) / 8;
    let wrong = |text: String| Err(PyValueError::new_err(text));
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        if bytes.len() as u64 != size {
            return wrong(format!("{} bytes for a type of {size}", bytes.len()));
        }
        return Ok(bytes.to_vec());
    }
    let format = scalar_format(types, ty);
    let format = format.filter(|format| {
        format.elements == 1 && format.is_plain && format.bit_size == size.saturating_mul(8)
    });
    let Some(format) = format else {
        return Err(PyTypeError::new_err(
            "a value of this type must be given as bytes",
        ));
    };
    let py = value.py();
    let order = if format.big_endian { ">" } else { "<" };
    match format.kind {
        ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Boolean => {
            let options = PyDict::new(py);
            options.set_item("signed", format.kind == ScalarKind::Signed)?;
            let order = if format.big_endian { "big" } else { "little" };
            let number = value.call_method0("__index__")?;
            if format.kind == ScalarKind::Boolean && number.gt(1)? {
                return wrong("expected True or False".to_owned());
            }
            let bytes = number.call_method("to_bytes", (size, order), Some(&options))?;
            bytes.extract()
        }
        ScalarKind::Float => {
            let code = match size {
                2 => "e",
                4 => "f",
                8 => "d",
                _ => {
                    return Err(PyTypeError::new_err(
                        "a value of this type must be given as bytes",
                    ));
                }
            };
            let packed = py.import("struct")?;
            packed
                .call_method1("pack", (format!("{order}{code}"), value))?
                .extract()
        }
        _ => Err(PyTypeError::new_err(
            "a value of this type must be given as bytes",
        )),
    }
}
