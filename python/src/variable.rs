//! Variables and the values of expressions: what is known of them in each lane.

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

/// Dimensions, dtype, conversion, and bytes with those that are missing.
type Numpy<'py> = (
    Option<Vec<u64>>,
    Option<Py<PyAny>>,
    Option<&'static str>,
    Option<(Bound<'py, PyByteArray>, Bound<'py, PyBytes>)>,
);

/// A variable, or an expression, with what is known of it in each lane.
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

    /// The type of all values; None if lanes have different ones.
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

/// The most bytes that are made of the lanes of a variable for numpy.
const MOST_BYTES: u64 = 1 << 28;

/// `bytes` of a lane, and 1 for each of them of which a bit is missing.
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

    /// Its type, as the program declares it.
    #[getter(r#type)]
    fn ty(&self) -> Type {
        Type::named(&self.types, self.found.ty, self.found.type_name.clone())
    }

    /// The function or namespace that it is in.
    #[getter]
    fn scope(&self) -> Option<&str> {
        self.found.scope.as_deref()
    }

    /// The line of its declaration.
    #[getter]
    fn line(&self) -> Option<u64> {
        self.found.line
    }

    /// `dwarf` or `legacy-llvm`; None of an expression.
    #[getter]
    fn reading(&self) -> Option<&'static str> {
        self.found.reading
    }

    /// `prologue` if it is in memory that the prologue of the function writes, which is not over: what is there may be left over from
    /// others. None otherwise.
    #[getter]
    fn note(&self) -> Option<&'static str> {
        self.found.is_in_prologue.then_some("prologue")
    }

    /// The lanes that have a whole value.
    #[getter]
    fn lanes(&self) -> Vec<u32> {
        // Bytes would become `bytes`.
        let lanes = (0u32..).zip(&self.found.lanes);
        lanes
            .filter(|(_, value)| value.state == ValueStateKind::Ok)
            .map(|(lane, _)| lane)
            .collect()
    }

    /// How many lanes the wave has.
    #[getter]
    fn wave_size(&self) -> u64 {
        self.found.size.lanes().into()
    }

    /// What is known of it in a lane: `ok`, `optimized-out`, `partial`, `unavailable`, `ambiguous`, `unsupported`, `error`,
    /// `inactive` or `not-in-frame`; `entry` or `last-known` where the debugging information does not give it and `earlier` has what it was.
    fn state(&self, lane: i64) -> Result<&'static str, Failure> {
        Ok(self.lane(lane)?.1.state.name())
    }

    /// The value in a lane.
    fn value(&self, py: Python<'_>, lane: i64) -> PyResult<Py<PyAny>> {
        let (lane, value) = self.lane(lane)?;
        if value.state == ValueStateKind::Ok {
            return self.python(py, value);
        }
        Err(value.failure(&self.found.name, lane).into())
    }

    /// What it was in a lane, where the debugging information does not give the value: a pair of the value, and a dict with `state` (`entry`:
    /// what a parameter was on entry to its function, or `last-known`: what it was where that was last known), `from` (what keeps it:
    /// `kernarg`, `call-site`, `register`, `slot` or `computed`) and `as_of` (`pc`, `file` and `line`; None for `entry`). It may have
    /// changed since. None where the state is another.
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

    /// The value in each lane that has a whole one.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (lane, value) in (0u8..).zip(&self.found.lanes) {
            if value.state == ValueStateKind::Ok {
                dict.set_item(lane, self.python(py, value)?)?;
            }
        }
        Ok(dict)
    }

    /// The bytes in a lane, as in memory; those that are missing are 0. Also those of an `earlier` value.
    fn bytes<'py>(&self, py: Python<'py>, lane: i64) -> PyResult<Bound<'py, PyBytes>> {
        let (lane, value) = self.lane(lane)?;
        if value.state.is_readable() {
            Ok(PyBytes::new(py, &value.bits.bytes))
        } else {
            Err(value.failure(&self.found.name, lane).into())
        }
    }

    /// The value in a lane as the command prints it.
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

    /// Where it is in a lane: a list with a document as `hetdwarf eval` has it for each place, `{"storage": "memory", "address_space":
    /// "private_lane", "bit_offset": "0x80", "lane": 3}` for example; empty if it is nowhere, a constant for example.
    fn place(&self, py: Python<'_>, lane: i64) -> PyResult<Py<PyAny>> {
        let lane = wave::lane(lane, self.found.size)?;
        let (frame, position) = self.origin.variable()?;
        let stop = self.origin.stop.get();
        let ask = move |frame: &StopFrame<'_, '_, '_>| place::places_of(frame, position, lane);
        json::to_python(py, &stop.ask_frame(py, frame, ask)?)
    }

    /// The expressions of DWARF that say where it is, each with its addresses in the code object; empty of an expression, and of a variable
    /// that is nowhere.
    #[getter]
    fn locations(&self, py: Python<'_>) -> PyResult<Vec<Location>> {
        let Some(position) = self.origin.position else {
            return Ok(Vec::new());
        };
        let ask = move |frame: &StopFrame<'_, '_, '_>| place::locations(frame, position);
        self.origin.stop.get().ask_frame(py, self.origin.frame, ask)
    }

    /// Its parts in a lane, as a debugger's view of variables unfolds them: members and base classes, elements, what the variant holds that is
    /// present, and what a pointer points to. Empty if it has no value in this lane, or its value is a number.
    ///
    /// * depth: how many levels of parts are read: those of parts are their `children`.
    /// * elements: how many elements are read of each array.
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

    /// Changes the variable in a lane, through `write_register(dwarf, offset, bytes)` and `write_memory(space, address, bytes)` of a wave of
    /// your own. The frame reads its variables anew when it is asked again; this one stays what it was.
    ///
    /// * value: `bytes` of the size of the type; for a scalar also an `int`, a `bool` or a `float`.
    fn write(&self, py: Python<'_>, lane: i64, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let lane = wave::lane(lane, self.found.size)?;
        let (frame, position) = self.origin.variable()?;
        let ty = match self.found.lanes.get(usize::from(lane.0)) {
            Some(found) => found.ty,
            None => self.found.ty,
        };
        let bytes = value::to_bytes(&self.types, ty, value)?;
        let bit_size = (bytes.len() as u64).saturating_mul(8);
        let place = move |frame: &StopFrame<'_, '_, '_>| {
            place::destination(frame, position, lane, bit_size)
        };
        self.origin.stop.get().write(py, frame, (place, &bytes))
    }

    /// The value in a lane, as `value(lane)`.
    fn __getitem__(&self, py: Python<'_>, lane: i64) -> PyResult<Py<PyAny>> {
        if wave::lane(lane, self.found.size).is_err() {
            return Err(PyIndexError::new_err(lane));
        }
        self.value(py, lane)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.origin.stop)
    }

    /// The reason why there is no value in a lane, for people; empty if there is nothing to say.
    fn message(&self, lane: i64) -> Result<&str, Failure> {
        Ok(&self.lane(lane)?.1.message)
    }

    /// All lanes as a masked array of numpy. The dtype and the dimensions after that of the lanes come from the type alone; what has no
    /// value is masked, also within arrays and structures.
    fn array(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let arrays = slf.py().import("hetdwarf._arrays")?;
        Ok(arrays.getattr("array")?.call1((slf,))?.unbind())
    }

    /// For `array()`: dimensions, dtype, conversion, bytes of all lanes, and 1 for each byte that is missing.
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

    /// For `array()`: what there is of the value in a lane, with None for scalars that are missing.
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
