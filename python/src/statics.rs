//! Answers queries about a code object without a stop: functions, global variables, types and lines.

use std::sync::Arc;

use pyo3::prelude::*;

use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::debug_info::{Function as LibraryFunction, LocationRange, SourceFile};
use hetdwarf::eval::LocationAttribute;
use hetdwarf::inspect::Program;

use crate::error::Failure;
use crate::text::shown;
use crate::types::Type;

/// A function.
#[pyclass(frozen, get_all, module = "hetdwarf")]
pub struct Function {
    /// The name in the source.
    name: Option<String>,
    /// The name of the symbol, if it differs.
    linkage_name: Option<String>,
    /// The lowest address in the code object.
    low_pc: Option<u64>,
    /// The half-open address ranges.
    ranges: Vec<(u64, u64)>,
    /// The file of the declaration.
    file: Option<String>,
    /// The line of the declaration.
    line: Option<u64>,
    /// The functions inlined at the queried address, the innermost first; empty if no address was queried.
    inlined: Vec<String>,
}

impl Function {
    pub fn new(function: &LibraryFunction<'_>, inlined: Vec<String>) -> Function {
        let name = |name: &Option<std::borrow::Cow<'_, str>>| name.as_deref().map(str::to_owned);
        let ranges = function.ranges.iter();
        Function {
            name: name(&function.name),
            linkage_name: name(&function.linkage_name),
            low_pc: ranges.clone().map(|range| range.start).min(),
            ranges: ranges.map(|range| (range.start, range.end)).collect(),
            file: path_of(function.declaration.file.as_ref()),
            line: function.declaration.line,
            inlined,
        }
    }
}

fn path_of(file: Option<&SourceFile>) -> Option<String> {
    file.map(|file| file.path.to_string())
}

#[pymethods]
impl Function {
    fn __repr__(&self) -> String {
        shown(&format!(
            "<Function {}>",
            self.name.as_deref().unwrap_or("?")
        ))
    }
}

/// The location of a variable at some addresses: a DWARF expression.
#[pyclass(frozen, get_all, module = "hetdwarf")]
#[derive(Clone)]
pub struct Location {
    /// The half-open range of addresses in the code object at which the location holds; None if it holds wherever no other location of the
    /// variable does.
    range: Option<(u64, u64)>,
    /// The operations.
    expression: Vec<u8>,
    /// The operations as text, as llvm-dwarfdump prints them.
    text: String,
}

#[pymethods]
impl Location {
    fn __repr__(&self) -> String {
        let range = self
            .range
            .map(|(start, end)| format!("[{start:#x}, {end:#x}) "));
        shown(&format!(
            "<Location {}{}>",
            range.unwrap_or_default(),
            self.text
        ))
    }
}

/// Reads the expressions of a location.
pub fn locations<'a: 'l, 'l>(
    program: &Program<'a>,
    location: &LocationAttribute<'l>,
) -> Result<Vec<Location>, Failure> {
    let entries = program.info().locations(location)?;
    let made = entries.iter().map(|entry| Location {
        range: match &entry.range {
            LocationRange::Bounded(range) => Some((range.start, range.end)),
            _ => None,
        },
        expression: entry.expression.bytes.to_vec(),
        text: entry.expression.text(),
    });
    Ok(made.collect())
}

/// A variable of file scope or of a namespace.
#[pyclass(frozen, module = "hetdwarf")]
pub struct Global {
    /// The name of the variable.
    #[pyo3(get)]
    name: Option<String>,
    /// The name of the symbol, if it differs.
    #[pyo3(get)]
    linkage_name: Option<String>,
    /// The namespace or class that contains the variable.
    #[pyo3(get)]
    scope: Option<String>,
    ty: Type,
    /// The file of the declaration.
    #[pyo3(get)]
    file: Option<String>,
    /// The line of the declaration.
    #[pyo3(get)]
    line: Option<u64>,
    /// The expressions for the location; empty if the variable has no location.
    #[pyo3(get)]
    locations: Vec<Location>,
}

#[pymethods]
impl Global {
    /// The type of the variable.
    #[getter(r#type)]
    fn ty(&self) -> Type {
        self.ty.again()
    }

    /// The location, as operations that llvm-dwarfdump would print; None if there is no location, or several.
    #[getter]
    fn location(&self) -> Option<&str> {
        match &*self.locations {
            [only] if only.range.is_none() => Some(&only.text),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        let name = self.name.as_deref().unwrap_or("?");
        shown(&format!("<Global {name}>"))
    }
}

/// A row of a line table.
#[pyclass(frozen, get_all, module = "hetdwarf")]
pub struct LineRow {
    /// The address in the code object.
    address: u64,
    /// The path of the file in the line table.
    file: Option<String>,
    /// The line, from 1; 0 for code that belongs to no line.
    line: u64,
    /// The column, from 1; 0 for the line as a whole.
    column: u64,
    /// True if the row is a recommended breakpoint location.
    is_stmt: bool,
    /// True if the prologue of a function ends at the row.
    prologue_end: bool,
    /// True if the row is the first address after a sequence of instructions.
    end_sequence: bool,
}

#[pymethods]
impl LineRow {
    fn __repr__(&self) -> String {
        let file = self.file.as_deref().unwrap_or("?");
        shown(&format!(
            "<LineRow {:#x} {file}:{}>",
            self.address, self.line
        ))
    }
}

/// Reads the global variables with their types.
pub fn globals(program: &Program<'_>) -> Result<Vec<Global>, Failure> {
    let info = program.info();
    let mut types = TypeTable::default();
    let mut found = Vec::new();
    for variable in info.all_globals()? {
        // A type that cannot be read is unknown.
        let ty = info.variable_type(&variable, &mut types)?;
        let locations = match &variable.location {
            Some(location) => locations(program, location)?,
            None => Vec::new(),
        };
        found.push((variable, ty, locations));
    }
    let types = Arc::new(types);
    let void = Arc::new(TypeTable::default());
    let made = found.into_iter().map(|(variable, ty, locations)| {
        let text = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
        Global {
            name: text(&variable.name),
            linkage_name: text(&variable.linkage_name),
            scope: variable.scope.as_deref().map(str::to_owned),
            ty: match ty {
                Some(ty) => Type::new(&types, ty),
                None => Type::new(&void, hetdwarf::debug_info::types::TypeId(0)),
            },
            file: path_of(variable.declaration.file.as_ref()),
            line: variable.declaration.line,
            locations,
        }
    });
    Ok(made.collect())
}

/// Reads the functions with code.
pub fn functions(program: &Program<'_>) -> Result<Vec<Function>, Failure> {
    let all = program.info().all_functions()?;
    let made = all.iter();
    Ok(made.map(|one| Function::new(one, Vec::new())).collect())
}

/// Reads the types with a name.
pub fn types(program: &Program<'_>, name: &str) -> Result<Vec<Type>, Failure> {
    let mut types = TypeTable::default();
    let found = program.info().types_named(name, &mut types)?;
    let types = Arc::new(types);
    Ok(found.into_iter().map(|id| Type::new(&types, id)).collect())
}

/// Reads the rows of all line tables.
pub fn line_rows(program: &Program<'_>) -> Result<Vec<LineRow>, Failure> {
    let rows = program.info().line_rows()?;
    let made = rows.iter().map(|found| LineRow {
        address: found.row.address,
        file: path_of(found.file.as_ref()),
        line: found.row.line,
        column: found.row.column,
        is_stmt: found.row.is_stmt,
        prologue_end: found.row.prologue_end,
        end_sequence: found.row.end_sequence,
    });
    Ok(made.collect())
}
