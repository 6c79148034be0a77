//! Implements the functions that query types.

use core::ffi::c_char;
use std::rc::Rc;
use std::sync::Arc;

use hetdwarf::debug_info::types::TypeKind;

use super::{
    Types, hetdwarf_choice, hetdwarf_dimension, hetdwarf_enumerator, hetdwarf_member,
    hetdwarf_type, hetdwarf_types, hetdwarf_variant,
};
use crate::handle::{give, with};
use crate::object::hetdwarf_object;
use crate::plain::{self, Sized_};
use crate::status::{Fault, guard, hetdwarf_status};
use crate::text::{Texts, given_if};
use crate::values::hetdwarf_values;

/// Writes a property of a type, after removing typedefs and qualifiers.
///
/// # Safety
/// `types` and `place` meet the requirements of `with` and `plain::write`.
unsafe fn ask<T: Sized_>(
    types: *const hetdwarf_types,
    number: u64,
    place: *mut T,
    find: impl FnOnce(&Types, &TypeKind) -> Option<T>,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(types, |types, _| {
            let id = types.id(number)?;
            let found = find(types, &types.table.borrow().resolved(id).kind);
            let name = T::NAME;
            let found = found
                .ok_or_else(|| Fault::not_found(format!("type {number} has no such {name}")))?;
            plain::write(place, &found)
        })
    })
}

/// Returns the types of an object that have a name.
///
/// * `name`: the name as in the source, without `struct` or `enum`, with or without its namespaces and classes. NULL selects no types: use
///   it to get the types of global variables by their numbers.
/// * `types`: gets the handle, which the caller frees; NULL on error. It has one type for each unit that defines the name.
///
/// Errors: `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`. If no unit defines the name, the handle has no types.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_types(
    object: *const hetdwarf_object,
    name: *const c_char,
    types: *mut *mut hetdwarf_types,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, lock| {
            give(types, || {
                let name = given_if(name, "name")?;
                let table = Rc::clone(&object.types);
                let chosen = name.map(|name| {
                    let types = &mut *table.borrow_mut();
                    (object.loaded).with(|program| program.info().types_named(name, types))
                });
                let made = Types {
                    chosen: chosen.transpose()?.unwrap_or_default(),
                    table,
                    texts: Texts::default(),
                };
                Ok((Arc::clone(lock), made))
            })
        })
    })
}

/// Returns the types of values, one for each value, in the same order.
///
/// * `types`: gets the handle, which the caller frees; NULL on error. The values may be freed first.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_types(
    values: *const hetdwarf_values,
    types: *mut *mut hetdwarf_types,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(values, |values, lock| {
            give(types, || {
                let made = Types {
                    table: Rc::clone(values.types()),
                    chosen: values.type_ids(),
                    texts: Texts::default(),
                };
                Ok((Arc::clone(lock), made))
            })
        })
    })
}

/// Returns the number of types that the query found.
///
/// * `count`: gets the number.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_count(
    types: *const hetdwarf_types,
    count: *mut usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(types, |types, _| {
            plain::put(count, types.chosen.len(), "count")
        })
    })
}

/// Returns the number by which other types refer to a type that the query found.
///
/// * `index`: below the count.
/// * `number`: gets the number.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_number(
    types: *const hetdwarf_types,
    index: usize,
    number: *mut u64,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(types, |types, _| {
            let id = types.chosen.get(index);
            let id = id.ok_or_else(|| Fault::not_found(format!("there is no type {index}")))?;
            plain::put(number, id.0.into(), "number")
        })
    })
}

/// Returns a type by its number.
///
/// * `number`: the number, from `hetdwarf_types_number`, a value, a global variable, a member or another type.
/// * `type`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_get(
    types: *const hetdwarf_types,
    number: u64,
    r#type: *mut hetdwarf_type,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(types, |types, _| {
            plain::write(r#type, &types.describe(types.id(number)?))
        })
    })
}

/// Returns a member or a base class of a structure, class or union.
///
/// * `number`: the number of the type.
/// * `index`: below the type's `member_count`.
/// * `member`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_member(
    types: *const hetdwarf_types,
    number: u64,
    index: usize,
    member: *mut hetdwarf_member,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    unsafe {
        ask(types, number, member, |types, kind| {
            Some(types.member(kind.members().get(index)?))
        })
    }
}

/// Returns an enumerator of an enumeration.
///
/// * `number`: the number of the type.
/// * `index`: below the type's `enumerator_count`.
/// * `enumerator`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_enumerator(
    types: *const hetdwarf_types,
    number: u64,
    index: usize,
    enumerator: *mut hetdwarf_enumerator,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    unsafe {
        ask(types, number, enumerator, |types, kind| {
            Some(types.enumerator(kind.enumerators().get(index)?))
        })
    }
}

/// Returns a dimension of an array. The slowest-varying dimension is the first.
///
/// * `number`: the number of the type.
/// * `index`: below the type's `dimension_count`.
/// * `dimension`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_dimension(
    types: *const hetdwarf_types,
    number: u64,
    index: usize,
    dimension: *mut hetdwarf_dimension,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    unsafe {
        ask(types, number, dimension, |_, kind| {
            Some(super::dimension(kind.dimensions().get(index)?))
        })
    }
}

/// Returns the type of a parameter of a function type.
///
/// * `number`: the number of the function type.
/// * `index`: below the type's `parameter_count`.
/// * `parameter`: gets the number of the parameter's type.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_parameter(
    types: *const hetdwarf_types,
    number: u64,
    index: usize,
    parameter: *mut u64,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(types, |types, _| {
            let table = types.table.borrow();
            let kind = &table.resolved(types.id(number)?).kind;
            let found = kind.parameters().get(index);
            let missing = || Fault::not_found(format!("there is no parameter {index}"));
            plain::put(parameter, found.ok_or_else(missing)?.0.into(), "parameter")
        })
    })
}

/// Returns the member that selects the variant. Its offset is relative to the start of the structure.
///
/// * `number`: the number of the variant part.
/// * `member`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`, also if there is no such member.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_discriminant(
    types: *const hetdwarf_types,
    number: u64,
    member: *mut hetdwarf_member,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    unsafe {
        ask(types, number, member, |types, kind| {
            Some(types.member(kind.variants().0?))
        })
    }
}

/// Returns a variant of a variant part.
///
/// * `number`: the number of the variant part.
/// * `index`: below the variant part's `variant_count`.
/// * `variant`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_variant(
    types: *const hetdwarf_types,
    number: u64,
    index: usize,
    variant: *mut hetdwarf_variant,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    unsafe {
        ask(types, number, variant, |_, kind| {
            Some(super::variant(kind.variants().1.get(index)?))
        })
    }
}

/// Returns a member of a variant. Its offset is relative to the start of the structure.
///
/// * `number`: the number of the variant part.
/// * `variant`: the index of the variant, below the variant part's `variant_count`.
/// * `index`: below the variant's `member_count`.
/// * `member`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_variant_member(
    types: *const hetdwarf_types,
    number: u64,
    variant: usize,
    index: usize,
    member: *mut hetdwarf_member,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    unsafe {
        ask(types, number, member, |types, kind| {
            let variant = kind.variants().1.get(variant)?;
            Some(types.member(variant.members.get(index)?))
        })
    }
}

/// Returns a range of discriminants that select a variant.
///
/// * `number`: the number of the variant part.
/// * `variant`: the index of the variant, below the variant part's `variant_count`.
/// * `index`: below the variant's `choice_count`.
/// * `choice`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_types_variant_choice(
    types: *const hetdwarf_types,
    number: u64,
    variant: usize,
    index: usize,
    choice: *mut hetdwarf_choice,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    unsafe {
        ask(types, number, choice, |_, kind| {
            let variant = kind.variants().1.get(variant)?;
            let choices = variant.choices.as_deref().unwrap_or_default();
            Some(super::choice(*choices.get(index)?))
        })
    }
}
