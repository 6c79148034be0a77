//! Provides variables and the values of expressions, in each lane.

use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict};

use hetdwarf::debug_info::types::{TypeId, TypeTable};
use hetdwarf::display::{self, Options, TypedBytes};
use hetdwarf::inspect::{StopFrame, ValueStateKind};

use crate::dtype::Layout;
use crate::error::{Failure, Limit};
use crate::found::{Found, LaneValue};
use crate::json;
use crate::part::{self, Part};
use crate::place::{self, Origin};
use crate::statics::Location;
use crate::text::shown;
use crate::types::Type;
use crate::value;
use crate::wave;

/// Dimensions, dtype, conversion, bytes, and a mask of the missing bytes.
type Numpy<'py> = (
    Option<Vec<u64>>,
    Option<Py<PyAny>>,
    Option<&'static str>,
    Option<(Bound<'py, PyByteArray>, Bound<'py, PyBytes>)>,
);

/// A variable or an expression, with its state and value in each lane.
///
/// ```python
/// >>> variable = frame["id"]
/// >>> variable.type, variable.state(0), variable.state(5), variable[5]
/// (<Type int>, 'inactive', 'ok', 5)
/// >>> frame["r"].children(5, depth=2)[0].children[0]
/// <Part int x = -77>
/// >>> [location.text[:18] for location in variable.locations]
/// ['DW_OP_regx SGPR33,']
///
/// ```
#[pyclass(frozen, module = "hetdwarf")]
pub struct Variable {
    found: Found,
    types: Arc<TypeTable>,
    origin: Origin,
}

impl Variable {
    pub fn new(found: Found, types: &Arc<TypeTable>, origin: Origin) -> Variable {
        Variable {
            found,
            types: Arc::clone(types),
            origin,
        }
    }

    fn lane(&self, lane: i64) -> Result<(u8, &LaneValue), Failure> {
        let lane = wave::lane(lane, self.found.size)?.0;
        let value = self.found.lanes.get(usize::from(lane));
        value
            .map(|value| (lane, value))
            .ok_or_else(|| Failure::Other(format!("there is no lane {lane}")))
    }

    fn python(&self, py: Python<'_>, value: &LaneValue) -> PyResult<Py<PyAny>> {
        value::to_python(py, &self.types, (value.ty, value.bit_field), &value.bits)
    }

    /// Returns the type of all values; None if it differs between lanes.
    fn common_type(&self) -> Option<TypeId> {
        let mut lanes = self.found.lanes.iter();
        let readable = |value: &&LaneValue| value.state.is_current();
        let Some(first) = lanes.find(readable) else {
            return Some(self.found.ty);
        };
        let is_field = |value: &LaneValue| value.bit_field.is_some();
        let mut rest = lanes.filter(readable);
        let all = !is_field(first) && rest.all(|other| other.ty == first.ty && !is_field(other));
        all.then_some(first.ty)
    }
}

/// The most bytes of a numpy array for the lanes of a variable.
const MOST_BYTES: u64 = 1 << 28;

/// Copies the bytes of a lane, and sets a 1 for each byte with a missing bit.
fn fill(value: &LaneValue, bytes: &mut [u8], missing: &mut [u8]) {
    if !value.state.is_current() {
        missing.fill(1);
        return;
    }
    let there = value.bits.bytes.len().min(bytes.len());
    bytes[..there].copy_from_slice(&value.bits.bytes[..there]);
    missing[there..].fill(1);
    let lost = value.bits.undefined.ranges().iter();
    for range in lost.chain(value.bits.unavailable.ranges()) {
        let byte = |bit: u64| {
            usize::try_from(bit)
                .unwrap_or(usize::MAX)
                .min(missing.len())
        };
        let (start, end) = (byte(range.start / 8), byte(range.end.div_ceil(8)));
        missing[start..end].fill(1);
    }
}

#[pymethods]
impl Variable {
    /// The name, or the text of the expression.
    #[getter]
    pub fn name(&self) -> &str {
        &self.found.name
    }

    /// `parameter`, `variable`, `constant`, `global` or `expression`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.found.kind
    }

    /// The type, as the program declares it.
    #[getter(r#type)]
    fn ty(&self) -> Type {
        Type::named(&self.types, self.found.ty, self.found.type_name.clone())
    }

    /// The function or namespace that contains the variable.
    #[getter]
    fn scope(&self) -> Option<&str> {
        self.found.scope.as_deref()
    }

    /// The line of the declaration.
    #[getter]
    fn line(&self) -> Option<u64> {
        self.found.line
    }

    /// `dwarf` or `legacy-llvm`; None for an expression.
    #[getter]
    fn reading(&self) -> Option<&'static str> {
        self.found.reading
    }

    /// `prologue` if the prologue of the function has not finished, and may not have written the variable to memory yet. None otherwise.
    #[getter]
    fn note(&self) -> Option<&'static str> {
        self.found.is_in_prologue.then_some("prologue")
    }

    /// The lanes that have a complete value.
    #[getter]
    fn lanes(&self) -> Vec<u32> {
        // PyO3 would convert a list of `u8` to `bytes`.
        let lanes = (0u32..).zip(&self.found.lanes);
        lanes
            .filter(|(_, value)| value.state == ValueStateKind::Ok)
            .map(|(lane, _)| lane)
            .collect()
    }

    /// The lanes of the wave, 32 or 64.
    #[getter]
    fn wave_size(&self) -> u64 {
        self.found.size.lanes().into()
    }

    /// Returns the state in a lane: `ok`, `optimized-out`, `partial`, `unavailable`, `ambiguous`, `unsupported`, `error`, `inactive` or
    /// `not-in-frame`; `entry` or `last-known` if the debugging information does not give the value, but `earlier` returns an older one.
    fn state(&self, lane: i64) -> Result<&'static str, Failure> {
        Ok(self.lane(lane)?.1.state.name())
    }

    /// Returns the value in a lane.
    fn value(&self, py: Python<'_>, lane: i64) -> PyResult<Py<PyAny>> {
        let (lane, value) = self.lane(lane)?;
        if value.state == ValueStateKind::Ok {
            return self.python(py, value);
        }
        Err(value.failure(&self.found.name, lane).into())
    }

    /// Returns an older value in a lane, if the debugging information does not give the current one. The value may have changed since. It
    /// is a pair of the value and a dict with `state`, `from` and `as_of`. `state` is `entry` (the value of a parameter on entry to its
    /// function) or `last-known` (the value where it was last known). `from` is the source: `kernarg`, `call-site`, `register`, `slot` or
    /// `computed`. `as_of` has `pc`, `file` and `line`, and is None for `entry`. Returns None in any other state.
    fn earlier<'py>(
        &self,
        py: Python<'py>,
        lane: i64,
    ) -> PyResult<Option<(Py<PyAny>, Bound<'py, PyDict>)>> {
        let (_, value) = self.lane(lane)?;
        let Some(recovered) = &value.recovered else {
            return Ok(None);
        };
        let about = PyDict::new(py);
        about.set_item("state", value.state.name())?;
        about.set_item("from", recovered.from.name())?;
        let as_of = recovered.as_of.as_ref().map(|place| {
            let dict = PyDict::new(py);
            dict.set_item("pc", place.pc.0)?;
            dict.set_item("file", place.file.as_ref().map(ToString::to_string))?;
            dict.set_item("line", place.line)?;
            PyResult::Ok(dict)
        });
        about.set_item("as_of", as_of.transpose()?)?;
        Ok(Some((self.python(py, value)?, about)))
    }

    /// Returns the value of each lane that has a complete one.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (lane, value) in (0u8..).zip(&self.found.lanes) {
            if value.state == ValueStateKind::Ok {
                dict.set_item(lane, self.python(py, value)?)?;
            }
        }
        Ok(dict)
    }

    /// Returns the bytes in a lane, as in memory, also for an `earlier` value. Missing bytes are 0.
    fn bytes<'py>(&self, py: Python<'py>, lane: i64) -> PyResult<Bound<'py, PyBytes>> {
        let (lane, value) = self.lane(lane)?;
        if value.state.is_readable() {
            Ok(PyBytes::new(py, &value.bits.bytes))
        } else {
            Err(value.failure(&self.found.name, lane).into())
        }
    }

    /// Returns the value in a lane as the command prints it.
    fn text(&self, lane: i64) -> Result<String, Failure> {
        let (lane, value) = self.lane(lane)?;
        if let Some(text) = &value.text {
            return Ok(text.clone());
        }
        if !value.state.is_readable() {
            return Err(value.failure(&self.found.name, lane));
        }
        let when = value.recovered.as_ref();
        let when = when.map_or(String::new(), |recovered| format!(" ({recovered})"));
        let bytes = TypedBytes {
            undefined: &value.bits.undefined,
            unavailable: &value.bits.unavailable,
            ..TypedBytes::known(&value.bits.bytes)
        };
        let text = display::to_string(&self.types, value.ty, &bytes, &Options::default());
        Ok(format!("{text}{when}"))
    }

    /// Returns the places of the variable in a lane, as a list of documents of `hetdwarf eval`: for example `{"storage": "memory",
    /// "address_space": "private_lane", "bit_offset": "0x80", "lane": 3}`. Empty if it has no location, for example for a constant.
    fn place(&self, py: Python<'_>, lane: i64) -> PyResult<Py<PyAny>> {
        let lane = wave::lane(lane, self.found.size)?;
        let (frame, position) = self.origin.variable()?;
        let stop = self.origin.stop.get();
        let ask = move |frame: &StopFrame<'_, '_, '_>| place::places_of(frame, position, lane);
        json::to_python(py, &stop.ask_frame(py, frame, ask)?)
    }

    /// The DWARF expressions for the location, each with its addresses in the code object. Empty for an expression, and for a variable
    /// without a location.
    #[getter]
    fn locations(&self, py: Python<'_>) -> PyResult<Vec<Location>> {
        let Some(position) = self.origin.position else {
            return Ok(Vec::new());
        };
        let ask = move |frame: &StopFrame<'_, '_, '_>| place::locations(frame, position);
        self.origin.stop.get().ask_frame(py, self.origin.frame, ask)
    }

    /// Returns the parts in a lane, as a debugger expands a variable: members and base classes, elements, the members of the present
    /// variant, and the target of a pointer. Empty if there is no value in this lane, or if the value is a number.
    ///
    /// * depth: the number of levels to read. The parts of a part are its `children`.
    /// * elements: the maximum number of elements to read of each array.
    #[pyo3(signature = (lane, depth = 1, elements = 200))]
    fn children(
        &self,
        py: Python<'_>,
        lane: i64,
        depth: u32,
        elements: u64,
    ) -> PyResult<Vec<Py<Part>>> {
        let lane = wave::lane(lane, self.found.size)?;
        let wanted = part::Wanted {
            name: &self.found.name,
            position: self.origin.position,
            lane,
            depth: depth.min(value::DEPTH),
            elements,
        };
        let ask = |frame: &StopFrame<'_, '_, '_>| part::parts(frame, &wanted);
        let (found, types) = self
            .origin
            .stop
            .get()
            .ask_frame(py, self.origin.frame, ask)?;
        part::to_python(py, found, &Arc::new(types))
    }

    /// Changes the variable in a lane, through `write_register(dwarf, offset, bytes)` and `write_memory(space, address, bytes)` of a wave
    /// of your own. The frame then reads its variables again; this object keeps its old values.
    ///
    /// * value: `bytes` of the size of the type. For a scalar, also an `int`, a `bool` or a `float`.
    fn write(&self, py: Python<'_>, lane: i64, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let lane = wave::lane(lane, self.found.size)?;
        let (frame, position) = self.origin.variable()?;
        let ty = match self.found.lanes.get(usize::from(lane.0)) {
            Some(found) => found.ty,
            None => self.found.ty,
        };
        let bytes = value::to_bytes(&self.types, ty, value)?;
        let bit_size = bytes.len() as u64 * 8;
        let place = move |frame: &StopFrame<'_, '_, '_>| {
            place::destination(frame, position, lane, bit_size)
        };
        self.origin.stop.get().write(py, frame, (place, &bytes))
    }

    /// Returns the value in a lane, as `value(lane)` does.
    fn __getitem__(&self, py: Python<'_>, lane: i64) -> PyResult<Py<PyAny>> {
        if wave::lane(lane, self.found.size).is_err() {
            return Err(PyIndexError::new_err(lane));
        }
        self.value(py, lane)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.origin.stop)
    }

    /// Returns the message that explains a missing value in a lane; empty if there is no message.
    fn message(&self, lane: i64) -> Result<&str, Failure> {
        Ok(&self.lane(lane)?.1.message)
    }

    /// Returns all lanes as a masked numpy array. The dtype and the dimensions after the dimension of the lanes depend on the type alone.
    /// Missing values are masked, also within arrays and structures.
    fn array(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let arrays = slf.py().import("hetdwarf._arrays")?;
        Ok(arrays.getattr("array")?.call1((slf,))?.unbind())
    }

    /// Returns the input of `array()`: dimensions, dtype, conversion, bytes of all lanes, and 1 for each missing byte.
    fn _numpy<'py>(&self, py: Python<'py>) -> PyResult<Numpy<'py>> {
        let layout = self.common_type().map(|ty| Layout::new(&self.types, ty));
        let Some(layout) = layout else {
            return Ok((None, None, None, None));
        };
        let Some(dtype) = &layout.dtype else {
            return Ok((layout.dimensions, None, None, None));
        };
        let size = usize::try_from(layout.size).unwrap_or(usize::MAX);
        let total = layout.size.saturating_mul(self.wave_size());
        if total > MOST_BYTES {
            return Err(Limit::new_err(format!(
                "{} has {total} bytes in all lanes, but an array has at most {MOST_BYTES}",
                shown(&self.found.name)
            )));
        }
        let count = usize::try_from(total).unwrap_or(0);
        let (mut bytes, mut missing) = (vec![0; count], vec![0; count]);
        if size > 0 {
            let lanes = bytes.chunks_mut(size).zip(missing.chunks_mut(size));
            for (value, (bytes, missing)) in self.found.lanes.iter().zip(lanes) {
                fill(value, bytes, missing);
            }
        }
        let data = (PyByteArray::new(py, &bytes), PyBytes::new(py, &missing));
        let dtype = dtype.to_python(py)?;
        Ok((
            layout.dimensions,
            Some(dtype),
            layout.conversion.name(),
            Some(data),
        ))
    }

    /// Returns the value in a lane for `array()`, with None for missing scalars.
    fn _part(&self, py: Python<'_>, lane: i64) -> PyResult<Py<PyAny>> {
        let (_, value) = self.lane(lane)?;
        if value.state.is_current() {
            self.python(py, value)
        } else {
            Ok(py.None())
        }
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let html = slf.py().import("hetdwarf._html")?;
        html.getattr("variable")?.call1((slf,))?.extract()
    }

    fn __repr__(&self) -> String {
        let lanes = self.lanes().len();
        let first = self
            .lanes()
            .first()
            .and_then(|lane| self.text((*lane).into()).ok());
        let first = first.map_or_else(
            || "no value".to_owned(),
            |text| format!("{text} in the first"),
        );
        shown(&format!(
            "<Variable {} {}: {lanes} of {} lanes, {first}>",
            self.found.type_name,
            self.found.name,
            self.found.lanes.len()
        ))
    }
}

impl Variable {
    pub fn is_named(&self, name: &str) -> bool {
        self.found.name == name
    }
}
