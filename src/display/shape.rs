//! What a type is below its names, and how large.

use crate::debug_info::types::{Dimension, Type, TypeId, TypeKind, TypeTable};

/// How many typedefs, qualifiers and arrays are followed in all. Types of a damaged file may name each other in a
/// circle; no real chain comes near this.
const MAX_STEPS: u32 = 256;

/// Typedefs that make characters of integers.
const CHARACTER_NAMES: &[&str] = &["wchar_t", "char16_t", "char32_t"];

/// A type without typedefs and qualifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved<'a> {
    /// The type itself; a typedef or qualifier only where they go in a circle.
    pub(crate) ty: &'a Type,
    /// The name that says how the bits of a base type are meant where the encoding does not: that of a
    /// character type, which C has as typedefs of integers, else the base type's own.
    pub(crate) base_name: Option<&'a str>,
}

/// Returns the type that `id` stands for.
pub(crate) fn resolve(table: &TypeTable, id: TypeId) -> Resolved<'_> {
    resolve_within(table, id, &mut { MAX_STEPS })
}

/// Returns the type that `id` stands for, found in at most `left` steps, which those that are taken are subtracted from.
fn resolve_within<'a>(table: &'a TypeTable, id: TypeId, left: &mut u32) -> Resolved<'a> {
    let mut character = None;
    let mut ty = table.get(id);
    while let Some(after) = left.checked_sub(1) {
        *left = after;
        let name = ty.name.as_deref();
        character = character.or(name.filter(|name| CHARACTER_NAMES.contains(name)));
        let (TypeKind::Typedef(target) | TypeKind::Qualified(_, target)) = ty.kind else {
            break;
        };
        ty = table.get(target);
    }
    Resolved {
        ty,
        base_name: character.or(ty.name.as_deref()),
    }
}

/// Returns the number of the type that `id` stands for.
pub(crate) fn named(table: &TypeTable, id: TypeId) -> TypeId {
    let mut next = id;
    for _ in 0..MAX_STEPS {
        let (TypeKind::Typedef(target) | TypeKind::Qualified(_, target)) = table.get(next).kind
        else {
            break;
        };
        next = target;
    }
    next
}

/// Returns the size of a type in bytes, padding included; None if it is not a constant.
#[must_use]
pub fn size_in_bytes(table: &TypeTable, id: TypeId) -> Option<u64> {
    let own = table.get(id).byte_size;
    own.or_else(|| Some(size_in_bits(table, id)? / 8))
}

/// Returns the size of a type in bits, padding included; None if it is not a constant.
#[must_use]
pub fn size_in_bits(table: &TypeTable, id: TypeId) -> Option<u64> {
    let mut left = MAX_STEPS;
    let mut ty = resolve_within(table, id, &mut left).ty;
    let mut count = 1u64;
    while left > 0 {
        if let Some(bytes) = ty.byte_size {
            return bytes.checked_mul(8)?.checked_mul(count);
        }
        if let TypeKind::Base(base) = &ty.kind {
            let size = u64::from(base.bit_size).next_multiple_of(8);
            return size.checked_mul(count);
        }
        let TypeKind::Array {
            element,
            dimensions,
            stride_in_bits,
            ..
        } = &ty.kind
        else {
            return None;
        };
        count = count.checked_mul(elements(dimensions)?)?;
        if let Some(stride) = stride_in_bits {
            return stride.checked_mul(count);
        }
        ty = resolve_within(table, *element, &mut left).ty;
    }
    None
}

/// Returns how many elements an array of these dimensions has. `None` where that is not known.
pub(crate) fn elements(dimensions: &[Dimension]) -> Option<u64> {
    dimensions
        .iter()
        .try_fold(1u64, |product, d| product.checked_mul(d.count?))
}
