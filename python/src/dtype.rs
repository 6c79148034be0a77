//! Maps types to dtypes of numpy. They depend on the type alone, never on values.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use hetdwarf::debug_info::types::{Member, TypeId, TypeKind, TypeTable};
use hetdwarf::display::{self, ScalarKind, scalar_format};

use crate::value::{DEPTH, record};

/// The most fields of all structures of a dtype. The types of a damaged file may contain each other many times.
const MOST_FIELDS: usize = 1 << 12;

/// The most bytes of a dtype.
const MOST_BYTES: u64 = i32::MAX as u64;

/// The most dimensions of an array in numpy 1, without the dimension of the lanes.
const MOST_DIMENSIONS: usize = 31;

/// The conversion for numbers without a dtype in numpy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    None,
    /// Truth values of several bytes, stored as integers.
    Boolean,
    /// The upper halves of `float32`, stored as `uint16`.
    Bfloat16,
}

impl Conversion {
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Conversion::None => None,
            Conversion::Boolean => Some("bool"),
            Conversion::Bfloat16 => Some("bfloat16"),
        }
    }
}

/// The argument of `numpy.dtype`, without the interpreter.
#[derive(Clone, Debug)]
pub enum Dtype {
    Scalar(String),
    Record {
        /// Name, dtype and offset in bytes.
        fields: Vec<(String, Dtype, u64)>,
        size: u64,
    },
    Array(Box<Dtype>, Vec<u64>),
}

/// A type as a numpy array: its element, and the dimensions after the dimension of the lanes.
#[derive(Clone, Debug)]
pub struct Layout {
    /// None if a dimension is not a constant.
    pub dimensions: Option<Vec<u64>>,
    /// The dtype of an element, if a dtype can represent its bytes.
    pub dtype: Option<Dtype>,
    pub conversion: Conversion,
    /// The size of the whole value in bytes, if there is a dtype.
    pub size: u64,
}

impl Dtype {
    pub fn to_python(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Dtype::Scalar(code) => code.into_py_any(py),
            Dtype::Array(element, dimensions) => {
                (element.to_python(py)?, PyTuple::new(py, dimensions)?).into_py_any(py)
            }
            Dtype::Record { fields, size } => {
                let dict = PyDict::new(py);
                let names: Vec<&str> = fields.iter().map(|(name, ..)| name.as_str()).collect();
                let formats = fields.iter().map(|(_, dtype, _)| dtype.to_python(py));
                let offsets: Vec<u64> = fields.iter().map(|(.., offset)| *offset).collect();
                dict.set_item("names", names)?;
                dict.set_item("formats", formats.collect::<PyResult<Vec<_>>>()?)?;
                dict.set_item("offsets", offsets)?;
                dict.set_item("itemsize", size)?;
                dict.into_py_any(py)
            }
        }
    }
}

impl Layout {
    pub fn new(types: &TypeTable, ty: TypeId) -> Layout {
        let maker = Maker { types };
        let (element, dimensions) = maker.elements(ty);
        let mut left = MOST_FIELDS;
        let (dtype, conversion) = match maker.scalar(element) {
            Some((code, conversion)) => (Some(Dtype::Scalar(code)), conversion),
            None => (maker.dtype(element, &mut left, DEPTH), Conversion::None),
        };
        let is_gapless = maker.is_gapless(ty);
        let vector = scalar_format(types, element).map_or(1, |format| format.elements);
        let mut dimensions = dimensions;
        if let (Some(dimensions), 2..) = (&mut dimensions, vector) {
            dimensions.push(vector);
        }
        let dimensions = dimensions.filter(|all| all.len() <= MOST_DIMENSIONS);
        let size = dimensions
            .iter()
            .flatten()
            .try_fold(maker.scalar_size(element).unwrap_or(0), |size, count| {
                size.checked_mul(*count)
            });
        let dtype = dtype.filter(|_| {
            is_gapless && dimensions.is_some() && size.is_some_and(|size| size <= MOST_BYTES)
        });
        Layout {
            conversion,
            size: size.filter(|_| dtype.is_some()).unwrap_or(0),
            dtype,
            dimensions,
        }
    }

    /// Returns the dtype of a whole value, if there is one.
    pub fn whole(self) -> Option<Dtype> {
        let (dtype, dimensions) = (self.dtype?, self.dimensions?);
        match (self.conversion, dimensions.is_empty()) {
            (Conversion::None, true) => Some(dtype),
            (Conversion::None, false) => Some(Dtype::Array(Box::new(dtype), dimensions)),
            (Conversion::Boolean | Conversion::Bfloat16, _) => None,
        }
    }
}

struct Maker<'t> {
    types: &'t TypeTable,
}

impl Maker<'_> {
    fn resolved(&self, mut ty: TypeId) -> TypeId {
        for _ in 0..DEPTH {
            match &self.types.get(ty).kind {
                TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => ty = *target,
                _ => break,
            }
        }
        ty
    }

    /// Returns the element type of arrays of arrays, and the dimensions. The dimensions are None if one is not a constant.
    fn elements(&self, ty: TypeId) -> (TypeId, Option<Vec<u64>>) {
        let mut ty = self.resolved(ty);
        let mut all = Some(Vec::new());
        for _ in 0..DEPTH {
            let TypeKind::Array {
                element,
                dimensions,
                ..
            } = &self.types.get(ty).kind
            else {
                break;
            };
            let counts: Option<Vec<u64>> = dimensions.iter().map(|one| one.count).collect();
            all = all.zip(counts).map(|(mut all, counts)| {
                all.extend(counts);
                all
            });
            ty = self.resolved(*element);
        }
        (ty, all)
    }

    /// Returns true if elements follow each other without gaps in an array of arrays.
    fn is_gapless(&self, ty: TypeId) -> bool {
        let mut ty = self.resolved(ty);
        for _ in 0..DEPTH {
            let TypeKind::Array {
                element,
                stride_in_bits,
                ..
            } = &self.types.get(ty).kind
            else {
                return true;
            };
            let size = display::size_in_bits(self.types, *element);
            if stride_in_bits.is_some() && *stride_in_bits != size {
                return false;
            }
            ty = self.resolved(*element);
        }
        false
    }

    /// Returns the size of an element in bytes.
    fn scalar_size(&self, element: TypeId) -> Option<u64> {
        match scalar_format(self.types, element) {
            Some(format) => Some(format.bit_size / 8),
            None => self.types.get(element).byte_size,
        }
    }

    /// Returns the code of a scalar, or of the elements of a vector base type.
    fn scalar(&self, element: TypeId) -> Option<(String, Conversion)> {
        let format = scalar_format(self.types, element)?;
        let size = format.bit_size / 8;
        let whole = self.types.get(element).byte_size;
        let fits = size.checked_mul(format.elements);
        if !format.bit_size.is_multiple_of(8) || !format.is_plain || whole != fits {
            return None;
        }
        let (letter, conversion) = match (format.kind, size) {
            (ScalarKind::Signed, 1 | 2 | 4 | 8) => ('i', Conversion::None),
            (ScalarKind::Unsigned, 1 | 2 | 4 | 8) => ('u', Conversion::None),
            (ScalarKind::Boolean, 1) => return Some(("?".to_owned(), Conversion::None)),
            (ScalarKind::Boolean, 2 | 4 | 8) => ('u', Conversion::Boolean),
            (ScalarKind::Bfloat16, _) => ('u', Conversion::Bfloat16),
            (ScalarKind::Float, 2 | 4 | 8) => ('f', Conversion::None),
            (ScalarKind::Complex, 8 | 16) => ('c', Conversion::None),
            _ => return None,
        };
        let order = if format.big_endian { '>' } else { '<' };
        Some((format!("{order}{letter}{size}"), conversion))
    }

    fn dtype(&self, ty: TypeId, left: &mut usize, depth: u32) -> Option<Dtype> {
        let depth = depth.checked_sub(1)?;
        if let Some((code, conversion)) = self.scalar(self.resolved(ty)) {
            let elements = scalar_format(self.types, ty)?.elements;
            let dtype = Dtype::Scalar(code);
            return match (conversion, elements) {
                (Conversion::None, 1) => Some(dtype),
                (Conversion::None, _) => Some(Dtype::Array(Box::new(dtype), vec![elements])),
                (Conversion::Boolean | Conversion::Bfloat16, _) => None,
            };
        }
        if let Some(members) = record(self.types, ty) {
            let size = self.types.get(self.resolved(ty)).byte_size?;
            if size == 0 || size > MOST_BYTES {
                return None;
            }
            let mut fields = Vec::new();
            self.fields(members, (0, size), &mut fields, left, depth)?;
            return Some(Dtype::Record { fields, size });
        }
        let (element, dimensions) = self.elements(ty);
        let dimensions = dimensions.filter(|all| (1..=MOST_DIMENSIONS).contains(&all.len()))?;
        let size = display::size_in_bits(self.types, ty)? / 8;
        if !self.is_gapless(ty) || size > MOST_BYTES {
            return None;
        }
        let element = self.dtype(element, left, depth)?;
        Some(Dtype::Array(Box::new(element), dimensions))
    }

    /// Adds the members of a record that starts at an offset. Returns None if one of them has no dtype.
    fn fields(
        &self,
        members: &[Member],
        (start, end): (u64, u64),
        fields: &mut Vec<(String, Dtype, u64)>,
        left: &mut usize,
        depth: u32,
    ) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        for member in members {
            *left = left.checked_sub(1)?;
            let offset = member.bit_offset?;
            if member.bit_size.is_some() || !offset.is_multiple_of(8) {
                return None;
            }
            let at = start.checked_add(offset / 8)?;
            match (&member.name, record(self.types, member.ty)) {
                (Some(name), found) if !(member.is_base && found.is_some()) => {
                    let size = display::size_in_bits(self.types, member.ty)? / 8;
                    if name.is_empty() || at.checked_add(size)? > end {
                        return None;
                    }
                    let dtype = self.dtype(member.ty, left, depth)?;
                    // As in a dictionary, the last of several fields with the same name wins.
                    fields.retain(|(known, ..)| known != name);
                    fields.push((name.clone(), dtype, at));
                }
                (_, Some(inner)) => self.fields(inner, (at, end), fields, left, depth)?,
                (_, None) => return None,
            }
        }
        Some(())
    }
}
