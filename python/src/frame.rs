//! Provides frames of a stop: their location, variables, registers and expressions.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyKeyError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};

use hetdwarf::arch::Register;
use hetdwarf::inspect::{Recovery, StopFrame};
use hetdwarf::report::{LanePcDocument, LanePicture};

use crate::error::lock;
use crate::evaluate::{Given, in_frame};
use crate::found;
use crate::json;
use crate::lanes::LanePc;
use crate::place::Origin;
use crate::stop::StopData;
use crate::text::shown;
use crate::variable::Variable;

/// The variables of a frame.
pub type Variables = Arc<Vec<Py<Variable>>>;

/// A frame of a stop: a mapping of names to variables.
///
/// ```python
/// >>> frame.function, frame.line, list(frame)
/// ('fill', 28, ['r', 'id', 'g'])
/// >>> frame.eval("id * 2")[5]
/// 10
/// >>> frame.register("exec")
/// 4042322160
/// >>> frame.evaluate("DW_OP_call_frame_cfa", lane=5)["lanes"][0]["result"]["places"][0]["address_space"]
/// 'private_wave'
///
/// ```
#[pyclass(frozen, module = "hetdwarf")]
pub struct Frame {
    pub data: Py<StopData>,
    pub index: usize,
    pub kind: &'static str,
    /// The number of the call frame.
    pub call: usize,
    pub pc: u64,
    pub function: Option<String>,
    pub linkage_name: Option<String>,
    pub symbol_offset: Option<u64>,
    pub file: Option<String>,
    pub line: Option<u64>,
    pub column: Option<u64>,
    pub approximate: bool,
    pub cfa: Option<(&'static str, u128)>,
    pub registers: serde_json::Value,
    /// The variables, with the number of writes before they were read.
    pub variables: Mutex<Option<(u64, Variables)>>,
}

impl Frame {
    fn origin(&self, py: Python<'_>, position: Option<usize>) -> Origin {
        Origin {
            stop: self.data.clone_ref(py),
            frame: self.index,
            position,
        }
    }

    /// Returns the names of the variables, each once, the innermost scope first.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for variable in self.found(py)?.iter() {
            let name = variable.get().name();
            if !name.is_empty() && seen.insert(name.to_owned()) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Explains why there is no variable with a name.
    fn no_such(&self, py: Python<'_>, wanted: &str) -> PyResult<String> {
        let names = self.names(py)?;
        let ask = |frame: &StopFrame<'_, '_, '_>| Ok(frame.missing_variable(wanted, &names)?);
        let reason = self.data.get().ask_frame(py, self.index, ask)?;
        Ok(shown(&format!("{wanted}: {reason}")))
    }

    /// Returns the variables. They are cached until the next write.
    fn found(&self, py: Python<'_>) -> PyResult<Variables> {
        let written = self.data.get().written.load(Ordering::Relaxed);
        if let Some((as_of, found)) = &*lock(&self.variables)
            && *as_of == written
        {
            return Ok(Arc::clone(found));
        }
        let (found, types) = self
            .data
            .get()
            .ask_frame(py, self.index, found::variables)?;
        let types = Arc::new(types);
        let made = found.into_iter().enumerate().map(|(position, found)| {
            let origin = self.origin(py, Some(position));
            Py::new(py, Variable::new(found, &types, origin))
        });
        let made = Arc::new(made.collect::<PyResult<_>>()?);
        let old = lock(&self.variables).replace((written, Arc::clone(&made)));
        drop(old);
        Ok(made)
    }
}

#[pymethods]
impl Frame {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.data)?;
        let Ok(variables) = self.variables.try_lock() else {
            return Ok(());
        };
        let mut variables = variables.iter().flat_map(|(_, variables)| variables.iter());
        variables.try_for_each(|variable| visit.call(variable))
    }

    /// The number of the frame; 0 is the innermost. Every inlined call is a separate frame.
    #[getter]
    fn index(&self) -> usize {
        self.index
    }

    /// `call`, `inlined` or `symbol`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind
    }

    /// The number of the call frame that this frame is, or is inlined in.
    #[getter]
    fn call_frame(&self) -> usize {
        self.call
    }

    /// The program location, as an address of the process.
    #[getter]
    fn pc(&self) -> u64 {
        self.pc
    }

    /// The function, or the symbol.
    #[getter]
    fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// The function's name as the linker sees it.
    #[getter]
    fn linkage_name(&self) -> Option<&str> {
        self.linkage_name.as_deref()
    }

    /// The distance of the program location from the start of the symbol, in bytes.
    #[getter]
    fn symbol_offset(&self) -> Option<u64> {
        self.symbol_offset
    }

    /// The path of the source file in the line table.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The line in that file. If the frame contains an inlined call, the line of that call.
    #[getter]
    fn line(&self) -> Option<u64> {
        self.line
    }

    /// The column in that line.
    #[getter]
    fn column(&self) -> Option<u64> {
        self.column
    }

    /// True if the program location has line 0, so that `line` is from the nearest row before it.
    #[getter]
    fn approximate(&self) -> bool {
        self.approximate
    }

    /// The canonical frame address: `{"address_space": …, "address": …}`.
    #[getter]
    fn cfa<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some((space, address)) = self.cfa else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        dict.set_item("address_space", space)?;
        dict.set_item("address", address)?;
        Ok(Some(dict))
    }

    /// The registers of this frame that call frame information describes, as in `hetdwarf-unwind/2`.
    #[getter]
    fn registers(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        json::to_python(py, &self.registers)
    }

    /// The variables in scope, the innermost scope first.
    #[getter]
    fn variables(&self, py: Python<'_>) -> PyResult<Vec<Py<Variable>>> {
        let found = self.found(py)?;
        Ok(found
            .iter()
            .map(|variable| variable.clone_ref(py))
            .collect())
    }

    /// Returns the innermost variable with a name.
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<Variable>> {
        let all = self.found(py)?;
        let found = all.iter().find(|variable| variable.get().is_named(name));
        match found {
            Some(variable) => Ok(variable.clone_ref(py)),
            None => Err(PyKeyError::new_err(self.no_such(py, name)?)),
        }
    }

    /// Returns the innermost variable with a name, or `default` if there is none.
    #[pyo3(signature = (name, default = None))]
    fn get(&self, py: Python<'_>, name: &str, default: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let found = self.found(py)?;
        match found.iter().find(|variable| variable.get().is_named(name)) {
            Some(variable) => Ok(variable.clone_ref(py).into_any()),
            None => Ok(default.unwrap_or_else(|| py.None())),
        }
    }

    /// Returns the names of the variables, each once, the innermost scope first.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.names(py)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.names(py)?)?.try_iter()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.names(py)?.len())
    }

    /// Returns the value of a register in this frame: an `int`, or a list with one for each lane of a vector register. None stands for a
    /// missing value.
    ///
    /// * name: the assembler's name: `s33`, `v0`, `exec`, `vcc`, `pc`.
    fn register(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let size = self
            .data
            .get()
            .ask_frame(py, self.index, |frame| Ok(frame.wave_size()))?;
        let Some(register) = Register::from_name(name, Some(size)) else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        let ask = move |frame: &StopFrame<'_, '_, '_>| Ok(frame.read_register(register, None)?);
        let bits = self.data.get().ask_frame(py, self.index, ask)?;
        let number = |start: usize, bytes: &[u8]| -> Option<u128> {
            let (start, mut word) = (start as u64 * 8, [0; 16]);
            let range = start..start + bytes.len() as u64 * 8;
            let is_lost =
                bits.undefined.overlaps(range.clone()) || bits.unavailable.overlaps(range);
            word.get_mut(..bytes.len())?.copy_from_slice(bytes);
            (!is_lost).then(|| u128::from_le_bytes(word))
        };
        if register.is_vector() {
            let lanes = bits.bytes.chunks(4).enumerate();
            let lanes: Vec<_> = lanes.map(|(lane, bytes)| number(lane * 4, bytes)).collect();
            return lanes.into_py_any(py);
        }
        number(0, &bits.bytes).into_py_any(py)
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self
            .found(py)?
            .iter()
            .any(|variable| variable.get().is_named(name)))
    }

    /// Evaluates a C expression.
    fn eval(&self, py: Python<'_>, text: &str) -> PyResult<Variable> {
        let (found, types) = self
            .data
            .get()
            .ask_frame(py, self.index, |frame| found::expression(frame, text))?;
        Ok(Variable::new(
            found,
            &Arc::new(types),
            self.origin(py, None),
        ))
    }

    /// Evaluates a DWARF expression in this frame, with its registers and its debugging information: its bytes, or operations as
    /// llvm-dwarfdump prints them. For C expressions, use `eval`.
    ///
    /// Returns the document of `hetdwarf eval --format json` for all lanes (`"all"`), for one lane, or, by default, for the snapshot's lane in
    /// focus. A strict stop evaluates exactly as specified.
    ///
    /// * read: the number of bits to read at the location, or from the value.
    /// * result: the required kind of the result: `any`, `location` or `value`.
    /// * `initial_stack`: expressions whose results are pushed first.
    /// * `object_location`: the expression of the current object's location.
    #[pyo3(signature = (expression, lane = None, read = None, *, result = "any", initial_stack = None, object_location = None))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn evaluate(
        &self,
        py: Python<'_>,
        expression: &Bound<'_, PyAny>,
        lane: Option<&Bound<'_, PyAny>>,
        read: Option<u64>,
        result: &str,
        initial_stack: Option<Vec<Bound<'_, PyAny>>>,
        object_location: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let given = Given {
            expression,
            lane,
            read,
            result,
            initial_stack: initial_stack.unwrap_or_default(),
            object_location,
        };
        let data = self.data.get();
        let size = data.ask_frame(py, self.index, |frame| Ok(frame.wave_size()))?;
        let (source, options) = given.request(size, data.focus_lane())?;
        let ask = |frame: &StopFrame<'_, '_, '_>| in_frame(frame, &source, &options);
        json::to_python(py, &data.ask_frame(py, self.index, ask)?)
    }

    /// Returns the place of each lane.
    #[pyo3(signature = (recover = None))]
    fn lane_pcs(&self, py: Python<'_>, recover: Option<bool>) -> PyResult<Vec<LanePc>> {
        let recovery = match recover {
            None => Recovery::WhereMissing,
            Some(true) => Recovery::Always,
            Some(false) => Recovery::Never,
        };
        let document = self.data.get().ask_frame(py, self.index, |frame| {
            Ok(LanePcDocument::by(frame, recovery)?)
        })?;
        Ok(document.lanes.iter().map(LanePc::new).collect())
    }

    /// Returns a picture of the places of the lanes, as SVG.
    fn lane_picture(&self, py: Python<'_>) -> PyResult<String> {
        self.data.get().ask_frame(py, self.index, |frame| {
            let document = LanePcDocument::new(frame)?;
            Ok(LanePicture::new(frame, &document, &|_, _| None)?.svg())
        })
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let html = slf.py().import("hetdwarf._html")?;
        html.getattr("frame")?.call1((slf,))?.extract()
    }

    pub fn __repr__(&self) -> String {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                let name = file.rsplit('/').next().unwrap_or(file);
                format!(" at {name}:{line}")
            }
            _ => String::new(),
        };
        shown(&format!(
            "<Frame {} {}{place}>",
            self.index,
            self.function.as_deref().unwrap_or("?")
        ))
    }
}
