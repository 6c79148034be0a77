//! Answers queries about whole objects with the JSON documents of the command.

use core::ffi::c_char;
use core::fmt::Display;
use std::sync::Arc;

use hetdwarf::coverage::{compare, coverage};
use hetdwarf::report::{CompareDocument, CoverageDocument, CoverageFile, ObjectDocument, to_json};

use crate::handle::with;
use crate::object::hetdwarf_object;
use crate::plain;
use crate::status::{Answer, Fault, guard, hetdwarf_status};

/// Converts the error of a document that cannot be written as JSON.
fn not_json(error: impl Display) -> Fault {
    Fault::argument(error.to_string())
}

/// Returns the document of `hetdwarf info --format json --descriptor` about an object, with its sections, units and producers.
///
/// * `json`: gets a string that belongs to the object.
///
/// Errors: `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_info_json(
    object: *const hetdwarf_object,
    json: *mut *const c_char,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let text = object.loaded.with(|program| -> Answer<String> {
                let document = ObjectDocument::new(program.object(), object.index)?;
                to_json(&document).map_err(not_json)
            })?;
            plain::put(json, object.texts.keep(&text), "json")
        })
    })
}

/// Returns the document of `hetdwarf coverage --format json` about an object. For each variable, it counts the bytes of code in the
/// variable's scope, and how many of them have a location or an earlier value. The name of the file in it is empty.
///
/// * `json`: gets a string that belongs to the object.
///
/// Errors: `HETDWARF_INVALID_ARGUMENT`. The document names unreadable parts, and the limit that ended it.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_coverage_json(
    object: *const hetdwarf_object,
    json: *mut *const c_char,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let target = object.info.target.clone();
            let file = object
                .loaded
                .with(|program| CoverageFile::new("", target, &coverage(program)));
            let text = to_json(&CoverageDocument::new(vec![file])).map_err(not_json)?;
            plain::put(json, object.texts.keep(&text), "json")
        })
    })
}

/// Returns the document of `hetdwarf compare --format json` about two builds of an object. It lists the variables that lost or gained
/// locations, and the places where call frame information or lines differ for equal code. The names of the files in it are empty.
///
/// * `old`: the build that `object` is compared with; it may be the same.
/// * `tolerance`: `fell` is true in the document if coverage fell by more percent points than this.
/// * `json`: gets a string that belongs to `object`.
///
/// Errors: `HETDWARF_INVALID_ARGUMENT`. The document names the limit that ended it.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_compare_json(
    object: *const hetdwarf_object,
    old: *const hetdwarf_object,
    tolerance: f64,
    json: *mut *const c_char,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        // One handle is locked at a time, so that two threads can compare the same objects in either order.
        let old = with(old, |old, _| Ok(Arc::clone(&old.loaded)))?;
        with(object, |object, _| {
            if tolerance.is_nan() || tolerance < 0.0 {
                return Err(Fault::argument(format!("tolerance is {tolerance}")));
            }
            let new = &object.loaded;
            let found = old.with(|old| new.with(|new| compare(old, new)));
            let text =
                to_json(&CompareDocument::new("", "", tolerance, &found)).map_err(not_json)?;
            plain::put(json, object.texts.keep(&text), "json")
        })
    })
}
