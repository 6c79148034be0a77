//! What bytes of a type are in Python.
//!
//! Integers, characters, enumerations and pointers are `int`, `_Bool` is `bool`, floating-point numbers are `float`, records are `dict` by
//! member (those of anonymous members and base classes among the record's own), arrays and vectors are `list`, and arrays of characters
//! that end with a null character, as C prints them as a string, are `str`. A type without a value is its `bytes`.

use core::cell::Cell;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use hetdwarf::debug_info::types::{Dimension, Member, TypeId, TypeKind, TypeTable};
use hetdwarf::display::{self, Options, TypedBytes};
use hetdwarf::eval::{BaseType, BaseTypeEncoding};

/// How deep values may nest: types of a damaged file may name each other in a circle.
const DEPTH: u32 = 64;

/// How many values one value may have inside, besides one for each of its bytes: members of a damaged type may overlap, and theirs
/// again.
const VALUES: usize = 1 << 16;

/// `size` bits from bit `start` on, in whole bytes; 0 where there are no more.
fn cut(bytes: &[u8], start: u64, size: u64) -> Vec<u8> {
    let (first, shift) = (usize::try_from(start / 8).unwrap_or(usize::MAX), start % 8);
    // Types of a damaged file may be larger than their values.
    let left = (bytes.len() as u64).saturating_mul(8).saturating_sub(start);
    let count = usize::try_from(size.min(left).div_ceil(8)).unwrap_or(0);
    let byte = |at: usize| u16::from(bytes.get(first.saturating_add(at)).copied().unwrap_or(0));
    let mut found: Vec<u8> = (0..count)
        .map(|at| ((byte(at) | byte(at.saturating_add(1)) << 8) >> shift).to_le_bytes()[0])
        .collect();
    if let (1..8, Some(last)) = (size % 8, found.last_mut()) {
        *last &= (1u8 << (size % 8)) - 1;
    }
    found
}

/// What a value of type `ty` is, of which these are the bytes.
pub fn to_python(
    py: Python<'_>,
    types: &TypeTable,
    (ty, bit_field): (TypeId, Option<u64>),
    bytes: &[u8],
) -> PyResult<Py<PyAny>> {
    let converter = Converter {
        py,
        types,
        left: Cell::new(VALUES.saturating_add(bytes.len())),
    };
    converter.value(ty, bytes, bit_field, DEPTH)
}

struct Converter<'t, 'py> {
    py: Python<'py>,
    types: &'t TypeTable,
    /// How many more values it may make.
    left: Cell<usize>,
}

impl Converter<'_, '_> {
    /// * `bits`: the size of a bit-field.
    fn value(
        &self,
        ty: TypeId,
        bytes: &[u8],
        bits: Option<u64>,
        depth: u32,
    ) -> PyResult<Py<PyAny>> {
        let py = self.py;
        let found = self.types.get(ty);
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.left.get().checked_sub(1))
        else {
            return Ok(PyBytes::new(py, bytes).into_any().unbind());
        };
        self.left.set(left);
        match &found.kind {
            TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => {
                self.value(*target, bytes, bits, depth)
            }
            TypeKind::Base(base) => self.base(ty, *base, bytes, bits),
            TypeKind::Represented { .. } => self.spelled(ty, bytes),
            TypeKind::Pointer { .. } | TypeKind::MemberPointer { .. } => {
                integer(bytes, bits, false).into_py_any(py)
            }
            TypeKind::Enumeration { underlying, .. } => {
                let signed = self.is_signed(*underlying);
                integer(bytes, bits, signed).into_py_any(py)
            }
            TypeKind::Array {
                element,
                dimensions,
                stride_in_bits,
                ..
            } => {
                if let Some(text) = self.text(*element, dimensions, bytes) {
                    return text.into_py_any(py);
                }
                let size = self
                    .types
                    .get(*element)
                    .byte_size
                    .unwrap_or(0)
                    .saturating_mul(8);
                let stride = stride_in_bits.unwrap_or(size);
                self.array(
                    (*element, size.min(stride), stride),
                    dimensions,
                    bytes,
                    0,
                    depth,
                )
            }
            TypeKind::Record { members, .. } => {
                let dict = PyDict::new(py);
                self.members(&dict, members, bytes, depth)?;
                dict.into_py_any(py)
            }
            _ => Ok(PyBytes::new(py, bytes).into_any().unbind()),
        }
    }

    fn base(
        &self,
        ty: TypeId,
        base: BaseType,
        bytes: &[u8],
        bits: Option<u64>,
    ) -> PyResult<Py<PyAny>> {
        let py = self.py;
        match base.encoding {
            _ if base.elements > 1 => self.spelled(ty, bytes),
            BaseTypeEncoding::Boolean => bytes.iter().any(|byte| *byte != 0).into_py_any(py),
            BaseTypeEncoding::Signed | BaseTypeEncoding::SignedChar => {
                integer(bytes, bits, true).into_py_any(py)
            }
            BaseTypeEncoding::Float => {
                if let Ok(single) = bytes.try_into() {
                    return f64::from(f32::from_le_bytes(single)).into_py_any(py);
                }
                match bytes.try_into() {
                    Ok(double) => f64::from_le_bytes(double).into_py_any(py),
                    Err(_) => self.spelled(ty, bytes),
                }
            }
            BaseTypeEncoding::Generic
            | BaseTypeEncoding::Address
            | BaseTypeEncoding::Unsigned
            | BaseTypeEncoding::UnsignedChar
            | BaseTypeEncoding::Utf => integer(bytes, bits, false).into_py_any(py),
            _ => self.spelled(ty, bytes),
        }
    }

    /// The number that the command prints; its bytes, if it prints something else.
    fn spelled(&self, ty: TypeId, bytes: &[u8]) -> PyResult<Py<PyAny>> {
        let text = display::to_string(
            self.types,
            ty,
            &TypedBytes::known(bytes),
            &Options::default(),
        );
        if let Ok(number) = text.parse::<i128>() {
            return number.into_py_any(self.py);
        }
        match text.parse::<f64>() {
            Ok(number) => number.into_py_any(self.py),
            Err(_) => Ok(PyBytes::new(self.py, bytes).into_any().unbind()),
        }
    }

    fn is_signed(&self, mut ty: TypeId) -> bool {
        for _ in 0..DEPTH {
            match &self.types.get(ty).kind {
                TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => ty = *target,
                TypeKind::Base(base) => {
                    return matches!(
                        base.encoding,
                        BaseTypeEncoding::Signed | BaseTypeEncoding::SignedChar
                    );
                }
                _ => return false,
            }
        }
        false
    }

    /// Whether a type is a character of one byte.
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

    /// The text of an array of characters: up to its null character, of which there must be one, in UTF-8.
    fn text(&self, element: TypeId, dimensions: &[Dimension], bytes: &[u8]) -> Option<String> {
        let ([_], true) = (dimensions, self.is_character(element)) else {
            return None;
        };
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let text = core::str::from_utf8(bytes.get(..end)?).ok()?;
        let is_shown = |c: char| !c.is_control() || c.is_ascii_whitespace();
        text.chars().all(is_shown).then(|| text.to_owned())
    }

    /// An array whose first element starts at bit `start`.
    fn array(
        &self,
        element: (TypeId, u64, u64),
        dimensions: &[Dimension],
        bytes: &[u8],
        start: u64,
        depth: u32,
    ) -> PyResult<Py<PyAny>> {
        let (ty, size, stride) = element;
        let Some((first, rest)) = dimensions.split_first() else {
            return self.value(ty, &cut(bytes, start, size), None, depth);
        };
        let inner = rest.iter().map(|inner| inner.count.unwrap_or(0));
        let step = inner.fold(stride, u64::saturating_mul);
        let left = (bytes.len() as u64).saturating_mul(8).saturating_sub(start);
        // No more than there are bytes for, whatever the type says.
        let most = left.checked_div(step).unwrap_or(0);
        let count = first.count.unwrap_or(most).min(most);
        let list = PyList::empty(self.py);
        for index in 0..count {
            let at = start.saturating_add(index.saturating_mul(step));
            list.append(self.array(element, rest, bytes, at, depth)?)?;
        }
        list.into_py_any(self.py)
    }

    fn members(
        &self,
        dict: &Bound<'_, PyDict>,
        members: &[Member],
        bytes: &[u8],
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
            let Some(start) = member.bit_offset else {
                continue;
            };
            let whole = self
                .types
                .get(member.ty)
                .byte_size
                .unwrap_or(0)
                .saturating_mul(8);
            let part = cut(bytes, start, member.bit_size.unwrap_or(whole));
            match (&member.name, self.record(member.ty)) {
                (Some(name), found) if !(member.is_base && found.is_some()) => {
                    dict.set_item(name, self.value(member.ty, &part, member.bit_size, depth)?)?;
                }
                (_, Some(inner)) => self.members(dict, inner, &part, depth)?,
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// The members of a record, through typedefs and qualifiers.
    fn record(&self, mut ty: TypeId) -> Option<&[Member]> {
        for _ in 0..DEPTH {
            match &self.types.get(ty).kind {
                TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => ty = *target,
                TypeKind::Record { members, .. } => return Some(members),
                _ => return None,
            }
        }
        None
    }
}

/// An integer of up to 128 bits; the rest of longer ones is left out.
fn integer(bytes: &[u8], bits: Option<u64>, signed: bool) -> Integer {
    let mut word = [0; 16];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    let number = u128::from_le_bytes(word);
    let size = bits
        .unwrap_or((bytes.len() as u64).saturating_mul(8))
        .min(128);
    let unused = 128u32.saturating_sub(u32::try_from(size).unwrap_or(128));
    if signed {
        let high = number.checked_shl(unused).unwrap_or(0).cast_signed();
        return Integer::Signed(high.checked_shr(unused).unwrap_or(0));
    }
    Integer::Unsigned(number)
}

enum Integer {
    Signed(i128),
    Unsigned(u128),
}

impl<'py> IntoPyObject<'py> for Integer {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Integer::Signed(number) => number.into_bound_py_any(py),
            Integer::Unsigned(number) => number.into_bound_py_any(py),
        }
    }
}
