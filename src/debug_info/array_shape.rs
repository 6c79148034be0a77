//! Reads the dimensions of arrays, in memory order: the number of elements in each, and their distance.
//!
//! Sources: DWARF 5 §5.5, §5.13, §2.19 (strides).

use gimli::constants::*;

use super::DebugInfo;
use super::alias::{HOPS, is_alias};
use super::die::Die;
use super::id::UnitId;
use super::types::Dimension;
use crate::error::{ErrorKind, Result};
use crate::limits::too_many;
use crate::meter::Meter;

/// The maximum number of dimensions of an array.
const DIMENSIONS: usize = 64;

/// The languages whose arrays are in column-major order by default.
const COLUMN_MAJOR: [DwLang; 6] = [
    DW_LANG_Fortran77,
    DW_LANG_Fortran90,
    DW_LANG_Fortran95,
    DW_LANG_Fortran03,
    DW_LANG_Fortran08,
    DW_LANG_Fortran18,
];

/// The languages whose arrays can start at any index. In all other languages, a lower bound other than the default is wrong: some versions of Zig
/// write a number unrelated to the array.
const ANY_LOWER_BOUND: [DwLang; 16] = [
    DW_LANG_Ada83,
    DW_LANG_Ada95,
    DW_LANG_Ada2005,
    DW_LANG_Ada2012,
    DW_LANG_Cobol74,
    DW_LANG_Cobol85,
    DW_LANG_Fortran77,
    DW_LANG_Fortran90,
    DW_LANG_Fortran95,
    DW_LANG_Fortran03,
    DW_LANG_Fortran08,
    DW_LANG_Fortran18,
    DW_LANG_Modula2,
    DW_LANG_Modula3,
    DW_LANG_PLI,
    DW_LANG_Pascal83,
];

/// Returns the last index according to an upper bound. For an array without elements, GCC writes −1 as an unsigned number of eight bytes.
pub(crate) fn last_index(upper: i128) -> i128 {
    match upper == i128::from(u64::MAX) {
        true => -1,
        false => upper,
    }
}

/// A function that finds the number that is the value of an attribute.
type NumberOf<'n, 'a> = &'n mut dyn FnMut(&Die<'a>, DwAt) -> Result<Option<i128>>;

/// A dimension, and the distance of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) dimension: Dimension,
    /// The stride in bits, if the dimension has its own.
    pub(super) stride: Option<u64>,
    /// The lower bound in the entry, if it contradicts the language.
    pub(super) wrong_lower_bound: Option<i64>,
}

/// An array without its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArrayShape {
    /// The slowest-varying dimension first.
    pub(super) extents: Vec<Extent>,
    /// The size of an entry in bits, if the array gives it.
    pub(super) stride: Option<u64>,
}

impl ArrayShape {
    pub(super) fn dimensions(&self) -> Vec<Dimension> {
        self.extents.iter().map(|extent| extent.dimension).collect()
    }

    /// Returns true if a dimension has its own stride. The elements have no common stride then.
    pub(super) fn has_strided_dimension(&self) -> bool {
        self.extents.iter().any(|extent| extent.stride.is_some())
    }

    /// Computes the size of the whole array from the size of an element, in bits: from the start of the first element to the end of the last. Returns
    /// `None` if a dimension is unknown or the size overflows.
    pub(super) fn size_in_bits(&self, element: u64) -> Option<u64> {
        let mut bits = element;
        let mut array_stride = self.stride;
        for extent in self.extents.iter().rev() {
            bits = extent.size_in_bits(bits, array_stride.take())?;
        }
        Some(bits)
    }
}

impl Extent {
    /// Computes the size of one dimension. Its elements are `otherwise` apart unless it has its own stride.
    pub(super) fn size_in_bits(&self, element: u64, otherwise: Option<u64>) -> Option<u64> {
        let count = self.dimension.count?;
        match self.stride.or(otherwise) {
            None => element.checked_mul(count),
            Some(stride) => match count.checked_sub(1) {
                None => Some(0),
                Some(before) => stride.checked_mul(before)?.checked_add(element.min(stride)),
            },
        }
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns the constant parts of an array's shape. Source: DWARF 5 §5.5, §5.13.
    ///
    /// # Errors
    /// If an entry is malformed; [`ErrorKind::Unsupported`] if a stride is not a constant.
    pub(super) fn array_shape(&self, die: &Die<'a>, meter: &Meter) -> Result<ArrayShape> {
        self.array_shape_by(die, meter, &mut |die, name| Ok(self.number(die, name)))
    }

    /// Returns the shape of an array with the bounds that `number` finds.
    pub(super) fn array_shape_by(
        &self,
        die: &Die<'a>,
        meter: &Meter,
        number: NumberOf<'_, 'a>,
    ) -> Result<ArrayShape> {
        let mut extents = Vec::new();
        let mut children = self.children(die.id())?;
        while let Some(child) = children.next(meter)? {
            let tag = child.tag();
            if tag == DW_TAG_generic_subrange {
                // Its bounds apply to every dimension, and `DW_AT_rank` is the number of dimensions.
                return Err(ErrorKind::Unsupported("DW_TAG_generic_subrange").into());
            }
            let mut wrong_lower_bound = None;
            let dimension = if tag == DW_TAG_subrange_type {
                let said = self.dimension(&child, number, meter)?;
                let lower_bound = self.possible_lower_bound(&child, said.lower_bound);
                wrong_lower_bound = (lower_bound != said.lower_bound).then_some(said.lower_bound);
                Dimension {
                    lower_bound,
                    ..said
                }
            } else if tag == DW_TAG_enumeration_type {
                self.enumerators(&child, meter)?
            } else {
                continue;
            };
            if let Some(name) = self.not_understood(&child) {
                return Err(ErrorKind::Unsupported(name).into());
            }
            let stride = self.stride(&child)?;
            extents.push(Extent {
                dimension,
                stride,
                wrong_lower_bound,
            });
            if extents.len() > DIMENSIONS {
                return Err(too_many("dimensions of an array", DIMENSIONS as u64));
            }
        }
        if self.is_column_major(die) {
            extents.reverse();
        }
        let stride = self.stride(die)?;
        Ok(ArrayShape { extents, stride })
    }

    /// `DW_AT_byte_stride` or `DW_AT_bit_stride`, in bits.
    fn stride(&self, die: &Die<'a>) -> Result<Option<u64>> {
        let bits = |name, scale| {
            let said = self.number(die, name)?;
            Some((name, said.checked_mul(scale)))
        };
        match bits(DW_AT_byte_stride, 8).or_else(|| bits(DW_AT_bit_stride, 1)) {
            None => Ok(None),
            Some((name, bits)) => match bits.and_then(|bits| u64::try_from(bits).ok()) {
                Some(bits) => Ok(Some(bits)),
                // A section of an array from its end to its start.
                None => {
                    Err(ErrorKind::Unsupported(name.static_string().unwrap_or_default()).into())
                }
            },
        }
    }

    /// Returns true if the first index varies fastest. Source: DWARF 5 §5.5: the language determines the default.
    fn is_column_major(&self, die: &Die<'a>) -> bool {
        match die.unsigned(DW_AT_ordering) {
            Some(order) => order == u64::from(DW_ORD_col_major.0),
            None => self
                .language(die.id().unit)
                .is_some_and(|language| COLUMN_MAJOR.contains(&language)),
        }
    }

    fn dimension(
        &self,
        die: &Die<'a>,
        number: NumberOf<'_, 'a>,
        meter: &Meter,
    ) -> Result<Dimension> {
        if is_unbounded(die)
            && let Some(index) = self.index_type(die)
        {
            // `array (Color) of T`: the index type determines the bounds.
            return if index.tag() == DW_TAG_enumeration_type {
                self.enumerators(&index, meter)
            } else {
                self.bounds(&index, number)
            };
        }
        self.bounds(die, number)
    }

    /// Returns the type of an index: an enumeration, or a subrange with bounds.
    fn index_type(&self, die: &Die<'a>) -> Option<Die<'a>> {
        let mut next = self.direct_type(die)?;
        for _ in 0..HOPS {
            let die = self.die(next).ok()?;
            if die.tag() == DW_TAG_enumeration_type {
                return Some(die);
            }
            if die.tag() == DW_TAG_subrange_type {
                if !is_unbounded(&die) {
                    return Some(die);
                }
            } else if !is_alias(die.tag()) {
                return None;
            }
            next = self.direct_type(&die)?;
        }
        None
    }

    fn bounds(&self, die: &Die<'a>, number: NumberOf<'_, 'a>) -> Result<Dimension> {
        let lower_bound = match number(die, DW_AT_lower_bound)? {
            Some(bound) => i64::try_from(bound).unwrap_or(i64::MAX),
            None => self.default_lower_bound(die),
        };
        let count = match number(die, DW_AT_count)? {
            Some(count) => u64::try_from(count).ok(),
            None => number(die, DW_AT_upper_bound)?.map(|upper| {
                let count = last_index(upper)
                    .saturating_sub(i128::from(lower_bound))
                    .saturating_add(1);
                u64::try_from(count.max(0)).unwrap_or(u64::MAX)
            }),
        };
        Ok(Dimension { lower_bound, count })
    }

    /// Returns the first index of an array by the language of the unit (DWARF 5 table 7.17).
    fn default_lower_bound(&self, die: &Die<'a>) -> i64 {
        self.language(die.id().unit)
            .and_then(|language| language.default_lower_bound())
            .and_then(|bound| i64::try_from(bound).ok())
            .unwrap_or(0)
    }

    /// Returns the first index of an array whose lower bound is `said`. The language's default takes precedence if the language has no other.
    fn possible_lower_bound(&self, die: &Die<'a>, said: i64) -> i64 {
        match self.language(die.id().unit) {
            Some(language) if !ANY_LOWER_BOUND.contains(&language) => {
                let default = language.default_lower_bound();
                default.map_or(said, |bound| i64::try_from(bound).unwrap_or(said))
            }
            Some(_) | None => said,
        }
    }

    /// Returns the source language of a unit.
    pub(crate) fn language(&self, unit: UnitId) -> Option<DwLang> {
        let unit = self.contents(unit).ok()?;
        let code = unit.root.unsigned(DW_AT_language)?;
        u16::try_from(code).ok().map(DwLang)
    }

    /// Returns a dimension whose index is an enumeration.
    fn enumerators(&self, die: &Die<'a>, meter: &Meter) -> Result<Dimension> {
        let mut children = self.children(die.id())?;
        let mut count = 0u64;
        while let Some(child) = children.next(meter)? {
            if child.tag() == DW_TAG_enumerator {
                count = count.saturating_add(1);
            }
        }
        Ok(Dimension {
            lower_bound: 0,
            count: Some(count),
        })
    }
}

/// Returns true if a subrange has no attribute for the number of elements.
fn is_unbounded(die: &Die<'_>) -> bool {
    die.attribute(DW_AT_count).is_none() && die.attribute(DW_AT_upper_bound).is_none()
}
