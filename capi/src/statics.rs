//! Answers queries about a code object without a stop: functions, global variables, line rows, addresses of lines, locations.

use core::cell::OnceCell;
use core::ffi::c_char;
use std::sync::Arc;

use hetdwarf::debug_info::types::TypeId;
use hetdwarf::debug_info::{
    Function, LineRow, LocationEntry, LocationRange, Row, SourceFile, Variable,
};

use crate::handle::with;
use crate::lane_pc::hetdwarf_range;
use crate::object::{Object, describe_function, hetdwarf_function, hetdwarf_object};
use crate::plain::{self, sized};
use crate::status::hetdwarf_status::HETDWARF_TOO_SMALL;
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::text::{Texts, given};
use crate::values::{SharedTypes, hetdwarf_values};

/// Functions with code.
pub const HETDWARF_LIST_FUNCTIONS: u32 = 0;
/// Variables of file scope and of namespaces.
pub const HETDWARF_LIST_GLOBALS: u32 = 1;
/// Rows of line tables.
pub const HETDWARF_LIST_LINE_ROWS: u32 = 2;

/// The row is a recommended breakpoint location.
pub const HETDWARF_ROW_IS_STMT: u32 = 1;
/// The prologue of a function ends at the row.
pub const HETDWARF_ROW_PROLOGUE_END: u32 = 2;
/// The row is the first address after a sequence of instructions.
pub const HETDWARF_ROW_END_SEQUENCE: u32 = 4;

/// A variable of file scope or of a namespace. Strings belong to the object, and are NULL if absent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_global {
    /// `sizeof(hetdwarf_global)`, set by the caller.
    pub size: usize,
    /// The name in the source.
    pub name: *const c_char,
    /// The name as the linker sees it, if it differs.
    pub linkage_name: *const c_char,
    /// The namespace or class that contains the variable.
    pub scope: *const c_char,
    /// The path of the file that declares the variable.
    pub path: *const c_char,
    /// The line of the declaration; 0 if unknown.
    pub line: u64,
    /// The number of the variable's type, for queries of `hetdwarf_object_types`; `HETDWARF_NO_TYPE` if the type cannot be read.
    pub r#type: u64,
    /// The offset of the variable's entry in `.debug_info`.
    pub entry: u64,
    /// The number of expressions for the location; see `hetdwarf_object_global_location`.
    pub location_count: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A row of a line table. Strings belong to the object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_line_row {
    /// `sizeof(hetdwarf_line_row)`, set by the caller.
    pub size: usize,
    /// The address in the object.
    pub address: u64,
    /// The path of the file in the line table; NULL if unknown.
    pub path: *const c_char,
    /// The line, from 1; 0 for code that belongs to no line.
    pub line: u64,
    /// The column, from 1; 0 for the line as a whole.
    pub column: u64,
    /// `HETDWARF_ROW_…`, combined with `|`.
    pub flags: u32,
    /// Zero.
    pub padding: u32,
    /// Zero.
    pub reserved: [u64; 4],
}

/// The location of a variable at some addresses: a DWARF expression. Its pointers belong to the queried handle.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_location {
    /// `sizeof(hetdwarf_location)`, set by the caller.
    pub size: usize,
    /// The first address in the object at which the location holds.
    pub low_pc: u64,
    /// The address after the last one at which the location holds.
    pub high_pc: u64,
    /// 1 if the location holds wherever no other location of the variable does, else 0. If 1, both addresses are 0.
    pub is_default: u32,
    /// Zero.
    pub padding: u32,
    /// The operations.
    pub bytes: *const u8,
    /// The number of bytes.
    pub length: usize,
    /// The operations as text, as llvm-dwarfdump prints them.
    pub text: *const c_char,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_global hetdwarf_line_row hetdwarf_location }

/// A global variable, and its type if it could be read.
type Global = (Arc<Variable<'static>>, Option<TypeId>);

/// The lists of an object, each read at its first use.
#[derive(Default)]
pub(crate) struct Lists {
    functions: OnceCell<Vec<Function<'static>>>,
    globals: OnceCell<Vec<Global>>,
    rows: OnceCell<Vec<LineRow>>,
}

/// Returns the contents of a cell, after filling it if it is empty.
fn filled<T>(cell: &OnceCell<Vec<T>>, fill: impl FnOnce() -> Answer<Vec<T>>) -> Answer<&[T]> {
    if let Some(found) = cell.get() {
        return Ok(found);
    }
    let found = fill()?;
    Ok(cell.get_or_init(|| found))
}

impl Object {
    fn info(&self) -> &'static hetdwarf::debug_info::DebugInfo<'static> {
        // SAFETY: values read from the program are kept in this object, which drops them before it.
        unsafe { self.loaded.program() }.info()
    }

    fn functions(&self) -> Answer<&[Function<'static>]> {
        filled(&self.lists.functions, || Ok(self.info().all_functions()?))
    }

    fn globals(&self) -> Answer<&[Global]> {
        filled(&self.lists.globals, || {
            let types: &SharedTypes = &self.types;
            let types = &mut *types.borrow_mut();
            let found = self.info().all_globals()?.into_iter();
            let typed = found.map(|variable| {
                let ty = self.info().variable_type(&variable, types)?;
                Ok((variable, ty))
            });
            typed.collect()
        })
    }

    fn rows(&self) -> Answer<&[LineRow]> {
        filled(&self.lists.rows, || Ok(self.info().line_rows()?))
    }

    /// Returns the expressions of a variable's location.
    fn locations(&self, variable: &Variable<'static>) -> Answer<Vec<LocationEntry<'static>>> {
        match &variable.location {
            Some(location) => Ok(self.info().locations(location)?),
            None => Ok(Vec::new()),
        }
    }

    fn global(&self, (variable, ty): &Global) -> Answer<hetdwarf_global> {
        let texts = &self.texts;
        let declaration = &variable.declaration;
        Ok(hetdwarf_global {
            size: 0,
            name: texts.keep_if(variable.name.as_deref()),
            linkage_name: texts.keep_if(variable.linkage_name.as_deref()),
            scope: texts.keep_if(variable.scope.as_deref()),
            path: texts.keep_if(path_of(declaration.file.as_ref())),
            line: declaration.line.unwrap_or(0),
            r#type: ty.map_or(crate::types::HETDWARF_NO_TYPE, |ty| ty.0.into()),
            entry: variable.die.offset,
            location_count: self.locations(variable)?.len(),
            reserved: [0; 4],
        })
    }

    fn row(&self, LineRow { file, row, .. }: &LineRow) -> hetdwarf_line_row {
        let Row {
            address,
            line,
            column,
            is_stmt,
            prologue_end,
            end_sequence,
            ..
        } = *row;
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        hetdwarf_line_row {
            size: 0,
            address,
            path: self.texts.keep_if(path_of(file.as_ref())),
            line,
            column,
            flags: flag(is_stmt, HETDWARF_ROW_IS_STMT)
                | flag(prologue_end, HETDWARF_ROW_PROLOGUE_END)
                | flag(end_sequence, HETDWARF_ROW_END_SEQUENCE),
            padding: 0,
            reserved: [0; 4],
        }
    }
}

pub(crate) fn path_of(file: Option<&SourceFile>) -> Option<&str> {
    file.map(|file| &*file.path)
}

fn location(
    entries: &[LocationEntry<'_>],
    index: usize,
    texts: &Texts,
) -> Answer<hetdwarf_location> {
    let entry = element(entries, index, "location")?;
    let range = match &entry.range {
        LocationRange::Bounded(range) => Some(range.clone()),
        _ => None,
    };
    Ok(hetdwarf_location {
        size: 0,
        is_default: range.is_none().into(),
        low_pc: range.as_ref().map_or(0, |range| range.start),
        high_pc: range.map_or(0, |range| range.end),
        padding: 0,
        bytes: texts.keep_bytes(entry.expression.bytes),
        length: entry.expression.bytes.len(),
        text: texts.keep(&entry.expression.text()),
        reserved: [0; 4],
    })
}

fn element<'l, T>(list: &'l [T], index: usize, what: &str) -> Answer<&'l T> {
    let found = list.get(index);
    found.ok_or_else(|| Fault::not_found(format!("there is no {what} {index}")))
}

/// Returns the number of functions, global variables or line rows in an object. The first call reads them; later calls use the kept list.
///
/// * `list`: `HETDWARF_LIST_…`.
/// * `count`: gets the number.
///
/// Errors: `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_count(
    object: *const hetdwarf_object,
    list: u32,
    count: *mut usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let found = match list {
                HETDWARF_LIST_FUNCTIONS => object.functions()?.len(),
                HETDWARF_LIST_GLOBALS => object.globals()?.len(),
                HETDWARF_LIST_LINE_ROWS => object.rows()?.len(),
                other => return Err(Fault::argument(format!("there is no list {other}"))),
            };
            plain::put(count, found, "count")
        })
    })
}

/// Returns a function with code.
///
/// * `index`: below the count of `HETDWARF_LIST_FUNCTIONS`.
/// * `function`: gets the answer, without inlined calls; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_function(
    object: *const hetdwarf_object,
    index: usize,
    function: *mut hetdwarf_function,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let found = element(object.functions()?, index, "function")?;
            plain::write(function, &describe_function(object, found, 0))
        })
    })
}

/// Returns an address range of a function.
///
/// * `index`: the index of the function, below the count of `HETDWARF_LIST_FUNCTIONS`.
/// * `at`: the index of the range, below the function's `range_count`.
/// * `range`: gets the addresses in the object.
///
/// Errors: `HETDWARF_NOT_FOUND`; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_function_range(
    object: *const hetdwarf_object,
    index: usize,
    at: usize,
    range: *mut hetdwarf_range,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let function = element(object.functions()?, index, "function")?;
            let found = element(&function.ranges, at, "range")?;
            let found = hetdwarf_range {
                start: found.start,
                end: found.end,
            };
            plain::put(range, found, "range")
        })
    })
}

/// Returns a variable of file scope or of a namespace.
///
/// * `index`: below the count of `HETDWARF_LIST_GLOBALS`.
/// * `global`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_global(
    object: *const hetdwarf_object,
    index: usize,
    global: *mut hetdwarf_global,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let found = element(object.globals()?, index, "global variable")?;
            plain::write(global, &object.global(found)?)
        })
    })
}

/// Returns an expression for the location of a global variable.
///
/// * `index`: the index of the variable, below the count of `HETDWARF_LIST_GLOBALS`.
/// * `at`: the index of the expression, below the variable's `location_count`.
/// * `location`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_global_location(
    object: *const hetdwarf_object,
    index: usize,
    at: usize,
    location: *mut hetdwarf_location,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let (variable, _) = element(object.globals()?, index, "global variable")?;
            let entries = object.locations(variable)?;
            plain::write(location, &self::location(&entries, at, &object.texts)?)
        })
    })
}

/// Returns a row of a line table. Rows are in the order of the tables. A sequence of rows ends with a row of `HETDWARF_ROW_END_SEQUENCE`.
///
/// * `index`: below the count of `HETDWARF_LIST_LINE_ROWS`.
/// * `row`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_line_row(
    object: *const hetdwarf_object,
    index: usize,
    row: *mut hetdwarf_line_row,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            plain::write(row, &object.row(element(object.rows()?, index, "row")?))
        })
    })
}

/// Returns the addresses at which a debugger sets breakpoints for a line: where its code begins, in ascending order.
///
/// * `file`: a path as in the line table, or its last components: `k.cl`.
/// * `line`: the line, from 1.
/// * `addresses`, `capacity`: get the addresses in the object, at most `capacity`. NULL and 0 to get only the count.
/// * `count`: gets the number of addresses, 0 for a line without code; may be NULL.
///
/// Errors: `HETDWARF_TOO_SMALL` if there are more addresses than `capacity`; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_addresses_of(
    object: *const hetdwarf_object,
    file: *const c_char,
    line: u64,
    addresses: *mut u64,
    capacity: usize,
    count: *mut usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            if addresses.is_null() && capacity > 0 {
                return Err(Fault::argument("addresses is NULL"));
            }
            let file = given(file, "file")?;
            let found = object.info().addresses_of(file, line)?;
            if !count.is_null() {
                plain::put(count, found.len(), "count")?;
            }
            for (at, address) in found.iter().take(capacity).enumerate() {
                addresses.add(at).write_unaligned(*address);
            }
            let is_count_alone = addresses.is_null() && !count.is_null();
            if found.len() > capacity && !is_count_alone {
                let message = format!("{} entries are needed", found.len());
                return Err(Fault::new(HETDWARF_TOO_SMALL, message));
            }
            Ok(())
        })
    })
}

/// Returns an expression for the location of a variable of a frame, at the addresses of its scope.
///
/// * `index`: below the count of the values.
/// * `at`: the index of the expression. Count from 0 until `HETDWARF_NOT_FOUND`.
/// * `location`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`, also if the value is an expression, a part or a constant; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_location_expression(
    values: *const hetdwarf_values,
    index: usize,
    at: usize,
    location: *mut hetdwarf_location,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(values, |values, _| {
            let entries = values.locations(index)?;
            plain::write(location, &self::location(&entries, at, values.texts())?)
        })
    })
}
