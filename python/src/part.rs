//! Provides the parts of values in a lane: members, elements and targets of pointers.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use hetdwarf::arch::Lane;
use hetdwarf::debug_info::types::{TypeId, TypeTable};
use hetdwarf::display::Options;
use hetdwarf::inspect::StopFrame;
use hetdwarf::location::Bits;
use hetdwarf::query::Query;
use hetdwarf::tree::{Part as LibraryPart, Parts, Tree};

use crate::error::Failure;
use crate::found::wrong_expression;
use crate::place::variable_at;
use crate::text::shown;
use crate::types::Type;
use crate::value;

/// The selection of the parts to read.
pub struct Wanted<'w> {
    /// The name of the variable, or the text of the expression.
    pub name: &'w str,
    /// The position among the variables of the frame; None for an expression.
    pub position: Option<usize>,
    pub lane: Lane,
    pub depth: u32,
    pub elements: u64,
}

/// A part with its own parts, without the interpreter.
pub struct Found {
    name: String,
    ty: TypeId,
    type_name: String,
    state: &'static str,
    bits: Option<Bits>,
    bit_field: Option<u64>,
    text: Option<String>,
    message: String,
    children: Vec<Found>,
    more: u64,
}

/// Reads the parts of a variable or an expression of a frame.
pub fn parts(
    frame: &StopFrame<'_, '_, '_>,
    wanted: &Wanted<'_>,
) -> Result<(Vec<Found>, TypeTable), Failure> {
    let tree = Tree::of_frame(*frame)?;
    let (lane, elements) = (wanted.lane, 0..wanted.elements);
    let options = Options::default();
    let mut types = TypeTable::default();
    let found = if let Some(position) = wanted.position {
        let values = frame.variables(&mut types)?;
        let value = variable_at(&values, position)?;
        tree.of_variable(value, lane, &mut types, elements, &options)?
    } else {
        let mut query = Query::new(*frame)?;
        let answer = query.evaluate(wanted.name, &[lane]);
        let answer = answer.map_err(|error| wrong_expression(wanted.name, &error))?;
        types = query.types().clone();
        let answer = answer.lanes.first();
        match answer.map(|answer| (answer, &answer.value)) {
            Some((answer, Ok(bits))) if answer.state().is_readable() => {
                tree.of_bits(bits, answer.ty, lane, &mut types, elements, &options)?
            }
            _ => Parts::default(),
        }
    };
    let found = below(&tree, found, &mut types, wanted, wanted.depth)?.0;
    Ok((found, types))
}

/// Reads parts and their parts, up to a number of levels.
fn below<'p>(
    tree: &Tree<'_, 'p, '_>,
    parts: Parts<'p>,
    types: &mut TypeTable,
    wanted: &Wanted<'_>,
    depth: u32,
) -> Result<(Vec<Found>, u64), Failure> {
    let Some(depth) = depth.checked_sub(1) else {
        return Ok((Vec::new(), 0));
    };
    let mut all = Vec::with_capacity(parts.parts.len());
    for part in parts.parts {
        let (children, more) = if depth == 0 {
            (Vec::new(), 0)
        } else {
            let inner = tree.of_part(&part, types, 0..wanted.elements, &Options::default())?;
            below(tree, inner, types, wanted, depth)?
        };
        let LibraryPart {
            name,
            ty,
            type_name,
            state,
            bits,
            bit_field,
            text,
            message,
            ..
        } = part;
        all.push(Found {
            name,
            ty,
            type_name,
            state: state.name(),
            bits,
            bit_field,
            text,
            message: message.unwrap_or_default(),
            children,
            more,
        });
    }
    Ok((all, parts.more))
}

/// Converts parts to Python.
pub fn to_python(
    py: Python<'_>,
    found: Vec<Found>,
    types: &Arc<TypeTable>,
) -> PyResult<Vec<Py<Part>>> {
    let made = found.into_iter().map(|mut found| {
        let children = to_python(py, std::mem::take(&mut found.children), types)?;
        let types = Arc::clone(types);
        Py::new(
            py,
            Part {
                found,
                types,
                children,
            },
        )
    });
    made.collect()
}

/// A part of a value in a lane: a member, an element, or the target of a pointer.
#[pyclass(frozen, module = "hetdwarf")]
pub struct Part {
    found: Found,
    types: Arc<TypeTable>,
    children: Vec<Py<Part>>,
}

#[pymethods]
impl Part {
    /// The suffix of the part in a C expression, without the dot of a member: `x`, `[3]`, or `*` for the target of a pointer. Empty for an
    /// anonymous structure or union; `<Base>` for a base class.
    #[getter]
    fn name(&self) -> &str {
        &self.found.name
    }

    /// The type of the part in the lane.
    #[getter]
    fn r#type(&self) -> Type {
        Type::named(&self.types, self.found.ty, self.found.type_name.clone())
    }

    /// The state of the part, see `Variable.state`.
    #[getter]
    fn state(&self) -> &'static str {
        self.found.state
    }

    /// The value as the command prints it; None if there is no value.
    #[getter]
    fn text(&self) -> Option<&str> {
        self.found.text.as_deref()
    }

    /// The bytes as in memory, with 0 for missing ones. For a bit-field, its bits, from the lowest on. None if there is no value.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let bits = self.found.bits.as_ref()?;
        Some(PyBytes::new(py, &bits.bytes))
    }

    /// The value, see `Variable.value`, with None for missing scalars; None if there is no value.
    #[getter]
    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.found.bits {
            Some(bits) => {
                value::to_python(py, &self.types, (self.found.ty, self.found.bit_field), bits)
            }
            None => Ok(py.None()),
        }
    }

    /// The message that explains a missing or incomplete value; empty if there is no message.
    #[getter]
    fn message(&self) -> &str {
        &self.found.message
    }

    /// The parts of this part, if the requested depth includes them.
    #[getter]
    fn children(&self, py: Python<'_>) -> Vec<Py<Part>> {
        let children = self.children.iter();
        children.map(|child| child.clone_ref(py)).collect()
    }

    /// The number of elements after the children.
    #[getter]
    fn more_children(&self) -> u64 {
        self.found.more
    }

    fn __repr__(&self) -> String {
        let Found {
            name,
            type_name,
            state,
            text,
            ..
        } = &self.found;
        let text = text.as_deref().unwrap_or(state);
        shown(&format!("<Part {type_name} {name} = {text}>"))
    }
}
