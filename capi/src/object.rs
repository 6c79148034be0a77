//! Opens code objects, and answers queries about their targets and source lines.

use core::ffi::c_char;
use std::borrow::Cow;
use std::sync::Arc;

use hetdwarf::Limits;
use hetdwarf::debug_info::Function;
use hetdwarf::error::Limit;
use hetdwarf::object::{ObjectInfo, Selector, code_object};
use hetdwarf_owned::LoadedProgram;

use crate::handle::{Lock, give, handles, with};
use crate::plain::{self, sized};
use crate::statics::{Lists, path_of};
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::text::{Texts, given, given_if};
use crate::values::SharedTypes;

/// The contents of an object's handle. Lists are dropped before the program, from which they borrow.
pub(crate) struct Object {
    pub(crate) lists: Lists,
    /// The types of all queried values.
    pub(crate) types: SharedTypes,
    pub(crate) loaded: Arc<LoadedProgram>,
    pub(crate) info: ObjectInfo,
    /// The number of the code object in its file.
    pub(crate) index: usize,
    pub(crate) texts: Texts,
}

/// A code object with its debugging information. Free it with `hetdwarf_free`.
#[derive(Debug)]
pub struct hetdwarf_object {
    _private: [u8; 0],
}

handles! { hetdwarf_object: Object = b"hdwobj\0\x01"; }

/// Facts about a code object. Strings belong to the object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_object_info {
    /// `sizeof(hetdwarf_object_info)`, set by the caller.
    pub size: usize,
    /// The target ID, `gfx90a:xnack+` for example.
    pub target: *const c_char,
    /// The operating system, `amdhsa` for example.
    pub os: *const c_char,
    /// The lanes of a wave, 32 or 64; 0 if the kernels differ, or if there is no kernel.
    pub wave_size: u32,
    /// `e_flags` of the ELF file.
    pub flags: u32,
    /// The number of kernels.
    pub kernel_count: usize,
    /// The number of functions with a symbol, including the code of kernels.
    pub function_count: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A kernel. Strings belong to the object. Unknown numbers are `UINT64_MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_kernel {
    /// `sizeof(hetdwarf_kernel)`, set by the caller.
    pub size: usize,
    /// The name as the linker sees it.
    pub name: *const c_char,
    /// The address of the first instruction in the object.
    pub entry: u64,
    /// The lanes of a wave, 32 or 64.
    pub wave_size: u64,
    /// Scalar registers of a wave.
    pub sgprs: u64,
    /// Vector registers of a lane. The accumulation registers are included if both share one register file.
    pub vgprs: u64,
    /// Local memory of a work-group, in bytes.
    pub local_size: u64,
    /// Scratch of a lane, in bytes.
    pub scratch_size: u64,
    /// The argument memory, in bytes.
    pub kernarg_size: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A function. Strings belong to the object, and are NULL if absent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_function {
    /// `sizeof(hetdwarf_function)`, set by the caller.
    pub size: usize,
    /// The name in the source.
    pub name: *const c_char,
    /// The name as the linker sees it.
    pub linkage_name: *const c_char,
    /// The lowest address of the function in the object.
    pub low_pc: u64,
    /// The number of calls that are inlined at the queried address.
    pub inlined_count: usize,
    /// The path of the file that declares the function.
    pub path: *const c_char,
    /// The line of the declaration; 0 if unknown.
    pub line: u64,
    /// The number of address ranges.
    pub range_count: usize,
    /// Zero.
    pub reserved: [u64; 1],
}

/// A source line. Strings belong to the object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_line {
    /// `sizeof(hetdwarf_line)`, set by the caller.
    pub size: usize,
    /// The file's name without directories; NULL if unknown.
    pub file: *const c_char,
    /// The file's path in the line table; NULL if unknown.
    pub path: *const c_char,
    /// The line, from 1; 0 for code that belongs to no line.
    pub line: u64,
    /// The column, from 1; 0 for the line as a whole.
    pub column: u64,
    /// The first address of the row in the object.
    pub low_pc: u64,
    /// The address after the row.
    pub high_pc: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_object_info hetdwarf_kernel hetdwarf_function hetdwarf_line }

/// Opens the selected code object of a file.
fn open(file: &[u8], choose: Option<&str>, limits: &Limits) -> Answer<(Arc<Lock>, Object)> {
    let selector = choose.map_or(Selector::Only, Selector::parse);
    let chosen = code_object(file, &selector)?;
    let bytes: Arc<[u8]> = match chosen.data {
        Cow::Borrowed(bytes) => bytes.into(),
        Cow::Owned(bytes) => bytes.into(),
    };
    let loaded = Arc::new(LoadedProgram::load_with(bytes, limits)?);
    let object = Object {
        info: loaded.with(|program| ObjectInfo::of(program.object()))?,
        lists: Lists::default(),
        types: SharedTypes::default(),
        index: chosen.index,
        loaded,
        texts: Texts::default(),
    };
    Ok((Arc::default(), object))
}

/// Opens the code object of a file in memory. The bytes are copied.
///
/// * `bytes`, `length`: a code object, or a file that contains some: a bundle, an archive, a host object or a program.
/// * `choose`: the code object to open: its number from 0 (as text) or its target ID, as `hetdwarf info` lists them; NULL if there is only
///   one.
/// * `object`: gets the handle, which the caller frees; NULL on error.
///
/// Errors: `HETDWARF_MALFORMED`; `HETDWARF_NOT_FOUND` if `choose` matches no code object or more than one (the message lists them all);
/// `HETDWARF_LIMIT`. Any thread can call this function and use the handle; other threads wait.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_open(
    bytes: *const u8,
    length: usize,
    choose: *const c_char,
    object: *mut *mut hetdwarf_object,
) -> hetdwarf_status {
    guard(|| {
        // SAFETY: the caller keeps the contract of this function.
        unsafe {
            give(object, || {
                open(
                    plain::bytes(bytes, length, "bytes")?,
                    given_if(choose, "choose")?,
                    &Limits::DEFAULT,
                )
            })
        }
    })
}

/// Opens the code object of a file.
///
/// * `path`: the path, UTF-8. The file is read whole, and closed.
///
/// Errors: the errors of `hetdwarf_object_open`; `HETDWARF_IO`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_open_file(
    path: *const c_char,
    choose: *const c_char,
    object: *mut *mut hetdwarf_object,
) -> hetdwarf_status {
    guard(|| {
        // SAFETY: the caller keeps the contract of this function.
        unsafe {
            give(object, || {
                let choose = given_if(choose, "choose")?;
                open(&read_file(path)?, choose, &Limits::DEFAULT)
            })
        }
    })
}

/// A limit on work or memory. It is an element of an array and has no size: it never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_limit {
    /// The name of the limit, as in `hetdwarf --limit NAME=N`. For example, `value` is the number of bytes that are read of one value in
    /// each lane.
    pub name: *const c_char,
    /// The new value. A value above the maximum means the maximum.
    pub value: u64,
}

/// Options for opening an object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_opening {
    /// `sizeof(hetdwarf_opening)`.
    pub size: usize,
    /// The path of the file, UTF-8; NULL if its bytes are given.
    pub path: *const c_char,
    /// The bytes of the file, if there is no path. They are copied.
    pub bytes: *const u8,
    /// The number of bytes.
    pub length: usize,
    /// The code object to choose, as in `hetdwarf_object_open`; NULL if there is only one.
    pub choose: *const c_char,
    /// The limits that differ from the defaults.
    pub limits: *const hetdwarf_limit,
    /// The number of entries.
    pub limit_count: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_opening }

/// Opens the code object of a file with limits that differ from the defaults.
///
/// * `opening`: the file, and the limits.
/// * `object`: gets the handle, which the caller frees; NULL on error.
///
/// Errors: the errors of `hetdwarf_object_open` and `hetdwarf_object_open_file`; `HETDWARF_INVALID_ARGUMENT` for an unknown limit. The
/// message then lists the known limits.
///
/// # Safety
/// Each pointer is NULL or meets the requirements of `hetdwarf_opening`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_open_with(
    opening: *const hetdwarf_opening,
    object: *mut *mut hetdwarf_object,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        give(object, || {
            let given = plain::read(opening)?;
            let mut limits = Limits::DEFAULT;
            if given.limits.is_null() && given.limit_count > 0 {
                return Err(Fault::argument("limits is NULL"));
            }
            for at in 0..given.limit_count {
                let limit = given.limits.add(at).read_unaligned();
                let name = Limit::named(self::given(limit.name, "the name of a limit")?);
                limits.set(name.map_err(Fault::argument)?, limit.value);
            }
            let choose = given_if(given.choose, "choose")?;
            if given.path.is_null() {
                let bytes = plain::bytes(given.bytes, given.length, "bytes")?;
                return open(bytes, choose, &limits);
            }
            if !given.bytes.is_null() {
                return Err(Fault::argument("path and bytes are given"));
            }
            open(&read_file(given.path)?, choose, &limits)
        })
    })
}

/// Reads a file.
///
/// # Safety
/// `path` is NULL or a NUL-terminated string.
pub(crate) unsafe fn read_file(path: *const c_char) -> Answer<Vec<u8>> {
    // SAFETY: the caller keeps the contract of this function.
    let path = unsafe { given(path, "path") }?;
    std::fs::read(path).map_err(|error| {
        let path = hetdwarf::Untrusted::from(path);
        Fault::new(hetdwarf_status::HETDWARF_IO, format!("{path}: {error}"))
    })
}

/// Returns facts about an object.
///
/// * `info`: gets the answer; the caller sets its `size`.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_get_info(
    object: *const hetdwarf_object,
    info: *mut hetdwarf_object_info,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let kernels = &object.info.kernels;
            let mut sizes = kernels.iter().map(|kernel| kernel.wave_size);
            let first = sizes.next().flatten();
            let wave_size = first.filter(|_| sizes.all(|other| other == first));
            let value = hetdwarf_object_info {
                size: 0,
                target: object.texts.keep(&object.info.target),
                os: object.texts.keep(object.info.os),
                wave_size: wave_size.unwrap_or(0),
                flags: object.info.flags,
                kernel_count: kernels.len(),
                function_count: object.info.functions,
                reserved: [0; 4],
            };
            plain::write(info, &value)
        })
    })
}

/// Returns a kernel of an object.
///
/// * `index`: below `kernel_count`. Kernels are sorted by name.
/// * `kernel`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_kernel(
    object: *const hetdwarf_object,
    index: usize,
    kernel: *mut hetdwarf_kernel,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let known = object.info.kernels.get(index);
            let known =
                known.ok_or_else(|| Fault::not_found(format!("there is no kernel {index}")))?;
            let or_max = |number: Option<u64>| number.unwrap_or(u64::MAX);
            let value = hetdwarf_kernel {
                size: 0,
                name: object.texts.keep(known.name.raw()),
                entry: or_max(known.entry),
                wave_size: or_max(known.wave_size.map(Into::into)),
                sgprs: or_max(known.sgprs_used.or(known.sgprs_allocated.map(Into::into))),
                vgprs: or_max(known.vgprs_used.or(known.vgprs_allocated.map(Into::into))),
                local_size: or_max(known.group_segment_size),
                scratch_size: or_max(known.private_segment_size),
                kernarg_size: or_max(known.kernarg_size),
                reserved: [0; 4],
            };
            plain::write(kernel, &value)
        })
    })
}

/// Describes a function, with the number of calls inlined at the queried address.
pub(crate) fn describe_function(
    object: &Object,
    found: &Function<'_>,
    inlined_count: usize,
) -> hetdwarf_function {
    let texts = &object.texts;
    let starts = found.ranges.iter().map(|range| range.start);
    hetdwarf_function {
        size: 0,
        name: texts.keep_if(found.name.as_deref()),
        linkage_name: texts.keep_if(found.linkage_name.as_deref()),
        low_pc: starts.min().unwrap_or(0),
        inlined_count,
        path: texts.keep_if(path_of(found.declaration.file.as_ref())),
        line: found.declaration.line.unwrap_or(0),
        range_count: found.ranges.len(),
        reserved: [0; 1],
    }
}

/// Returns the function at an address, and the calls that are inlined there.
///
/// * `pc`: an address in the object, not in the process.
/// * `function`: gets the answer; the caller sets its `size`.
/// * `inlined`, `capacity`: get the names of the functions inlined at `pc`, the innermost first, at most `capacity`. The strings belong to
///   the object, and are empty for functions without a name. NULL and 0 to omit them.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no function at the address; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_function_at(
    object: *const hetdwarf_object,
    pc: u64,
    function: *mut hetdwarf_function,
    inlined: *mut *const c_char,
    capacity: usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            plain::size_at(function)?;
            // SAFETY: the program is used only here, while the object is alive.
            let info = object.loaded.program().info();
            let found = info.find_function(pc)?;
            let found =
                found.ok_or_else(|| Fault::not_found(format!("no function is at {pc:#x}")))?;
            let calls = info.inlined_chain(&found, pc, &info.for_query())?;
            if inlined.is_null() && capacity > 0 {
                return Err(Fault::argument("inlined is NULL"));
            }
            for (at, call) in calls.iter().take(capacity).enumerate() {
                let name = call.name.as_deref().unwrap_or_default();
                inlined.add(at).write(object.texts.keep(name));
            }
            let value = describe_function(object, &found, calls.len());
            plain::write(function, &value)
        })
    })
}

/// Returns the source line of an address.
///
/// * `pc`: an address in the object, not in the process.
/// * `line`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND` if the line table has no row for the address; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_line_at(
    object: *const hetdwarf_object,
    pc: u64,
    line: *mut hetdwarf_line,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            plain::size_at(line)?;
            // SAFETY: the program is used only here, while the object is alive.
            let found = object.loaded.program().info().line_at(pc)?;
            let found = found.ok_or_else(|| Fault::not_found(format!("no line is at {pc:#x}")))?;
            let file = found.file.as_ref();
            let value = hetdwarf_line {
                size: 0,
                file: object.texts.keep_if(file.map(|file| file.name())),
                path: object.texts.keep_if(file.map(|file| &*file.path)),
                line: found.line,
                column: found.column,
                low_pc: found.range.start,
                high_pc: found.range.end,
                reserved: [0; 4],
            };
            plain::write(line, &value)
        })
    })
}
