//! Resolves types through typedefs and qualifiers, and computes sizes.

use crate::debug_info::types::{Dimension, Type, TypeId, TypeKind, TypeTable};

/// The maximum number of typedefs, qualifiers and arrays followed in all. Types of a damaged file may be cyclic; real chains are much shorter.
const MAX_STEPS: u32 = 256;

/// The typedefs that turn integers into characters.
const CHARACTER_NAMES: &[&str] = &["wchar_t", "char16_t", "char32_t"];

/// A type without typedefs and qualifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved<'a> {
    /// The type itself. It is a typedef or qualifier only if they form a cycle.
    pub(crate) ty: &'a Type,
    /// The name that determines the meaning of a base type's bits if the encoding does not: the name of a character type, which C defines as typedef
    /// of an integer, or else the base type's own.
    pub(crate) base_name: Option<&'a str>,
}

/// Returns the type that `id` stands for.
pub(crate) fn resolve(table: &TypeTable, id: TypeId) -> Resolved<'_> {
    resolve_within(table, id, &mut { MAX_STEPS })
}

/// Returns the type that `id` stands for, found in at most `left` steps. The steps taken are subtracted from `left`.
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

/// Returns the size of a type in bytes, padding included, or `None` if it is not a constant.
#[must_use]
pub fn size_in_bytes(table: &TypeTable, id: TypeId) -> Option<u64> {
    let own = table.get(id).byte_size;
    own.or_else(|| Some(size_in_bits(table, id)? / 8))
}

/// Returns the size of a type in bits, padding included, or `None` if it is not a constant.
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

/// Returns the number of elements of an array with these dimensions, or `None` if it is unknown.
pub(crate) fn elements(dimensions: &[Dimension]) -> Option<u64> {
    dimensions
        .iter()
        .try_fold(1u64, |product, d| product.checked_mul(d.count?))
}
