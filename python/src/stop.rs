//! Stops of waves, and their frames.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};

use hetdwarf::arch::Register;
use hetdwarf::eval::Reading;
use hetdwarf::inspect::{Recovery, Stop as LibraryStop, StopFrame, StopOptions};
use hetdwarf::location::Destination;
use hetdwarf::report::{LanePcDocument, LanePicture, UnwindDocument};
use hetdwarf_owned::LoadedStop;

use crate::error::{Failure, detached, lock};
use crate::json;
use crate::lanes::LanePc;
use crate::object::ObjectData;
use crate::text::shown;
use crate::variable::{self, Origin, Variable};
use crate::wave::{Asked, WaveSource};

/// How many questions are asked of a stop before it is unwound again: what it reads it keeps, and each question reads more.
const MOST_QUESTIONS: u32 = 1 << 10;

/// A stop that has been unwound.
struct Kept {
    stop: LoadedStop,
    /// The wave of Python that it reads.
    asked: Option<Arc<Asked>>,
    questions: u32,
}

/// The data of a stop. Stops and frames share it; the garbage collector sees a wave of Python through it.
#[pyclass(frozen, module = "hetdwarf", name = "_StopData")]
pub struct StopData {
    /// The code object; nothing of a wave of a core, whose pc tells it.
    object: Option<Arc<ObjectData>>,
    wave: WaveSource,
    reading: Reading,
    kept: Mutex<Option<Kept>>,
    /// How often something was written through the stop: what was read before is old.
    written: AtomicU64,
    /// The thread that asks the stop: a wave of Python may ask it again meanwhile.
    asking: Mutex<Option<ThreadId>>,
}

#[pymethods]
impl StopData {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.wave {
            WaveSource::Callbacks(callbacks) => callbacks.traverse(&visit),
            WaveSource::Snapshot(_) | WaveSource::Core(..) => Ok(()),
        }
    }
}

impl StopData {
    pub fn new(object: Option<Arc<ObjectData>>, wave: WaveSource, reading: Reading) -> StopData {
        StopData {
            object,
            wave,
            reading,
            kept: Mutex::new(None),
            written: AtomicU64::new(0),
            asking: Mutex::new(None),
        }
    }

    fn unwound(&self) -> Result<Kept, Failure> {
        let options = |load_address| StopOptions::loaded_at(load_address).reading(self.reading);
        let mut asked = None;
        let stop = match (&self.wave, &self.object) {
            (WaveSource::Snapshot(wave), Some(object)) => {
                let (pc, options) = (wave.pc(), options(wave.load_address));
                LoadedStop::of_program(object.program()?, Arc::clone(wave) as _, pc, options)
            }
            (WaveSource::Callbacks(callbacks), Some(object)) => {
                let wave = Arc::new(Asked::new(callbacks));
                asked = Some(Arc::clone(&wave));
                let options = options(callbacks.load_address.into());
                LoadedStop::of_program(object.program()?, wave, callbacks.pc.into(), options)
            }
            (WaveSource::Core(core, index), _) => {
                LoadedStop::of_core(core, *index).ok_or_else(|| {
                    let wave = core.with(|core, _| core.wave(*index).map(|wave| wave.pc().0));
                    match wave {
                        Some(pc) => Failure::Unavailable(format!(
                            "the wave is at {pc:#x}, in no code object that was found"
                        )),
                        None => Failure::Other(format!("the core has no wave {index}")),
                    }
                })?
            }
            (_, None) => return Err(Failure::Other("the wave has no code object".to_owned())),
        };
        Ok(Kept {
            stop,
            asked,
            questions: 0,
        })
    }

    /// Asks something of the stop, with the interpreter released. It is unwound once, unless the wave of Python failed.
    pub fn ask<R: Send>(
        &self,
        py: Python<'_>,
        question: impl for<'s, 'p, 'a> FnOnce(&'s LibraryStop<'p, 'a>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        detached(py, || {
            let me = thread::current().id();
            if *lock(&self.asking) == Some(me) {
                return ask(&self.unwound()?, question);
            }
            let mut kept = lock(&self.kept);
            let _asking = Asking::new(&self.asking, me);
            let mut stop = match kept.take() {
                Some(stop) if stop.questions < MOST_QUESTIONS => stop,
                Some(_) | None => self.unwound()?,
            };
            stop.questions += 1;
            let answer = ask(&stop, question);
            // Where the wave failed, what was unwound is not the stack.
            if answer.is_ok() || stop.asked.is_none() {
                *kept = Some(stop);
            }
            answer
        })
    }

    /// Writes to a place in a lane, through the wave of Python.
    pub fn write(
        &self,
        py: Python<'_>,
        level: usize,
        (place, bytes): (
            impl FnOnce(&StopFrame<'_, '_, '_>) -> Result<Destination, Failure> + Send,
            &[u8],
        ),
    ) -> PyResult<()> {
        let WaveSource::Callbacks(callbacks) = &self.wave else {
            let message = "only a wave of your own can be written to".to_owned();
            return Err(Failure::Unsupported(message).into());
        };
        let destination = self.ask_frame(py, level, move |frame| place(frame))?;
        let mut wave = Asked::new(callbacks);
        let written = detached(py, || Ok(destination.write(bytes, &mut wave)));
        // Some of it may have been written.
        self.written.fetch_add(1, Ordering::Relaxed);
        detached(py, || {
            *lock(&self.kept) = None;
            Ok(())
        })?;
        match wave.raised() {
            Some(raised) => Err(raised),
            None => Ok(written?.map_err(Failure::from)?),
        }
    }

    /// Asks something of a frame.
    pub fn ask_frame<R: Send>(
        &self,
        py: Python<'_>,
        level: usize,
        question: impl for<'s, 'p, 'a> FnOnce(&StopFrame<'s, 'p, 'a>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        self.ask(py, move |stop| match stop.frame(level) {
            Some(frame) => question(&frame),
            None => Err(Failure::Other(format!("there is no frame {level}"))),
        })
    }
}

/// Asks a stop; an exception of its wave comes before any answer.
fn ask<R>(
    kept: &Kept,
    question: impl for<'s, 'p, 'a> FnOnce(&'s LibraryStop<'p, 'a>) -> Result<R, Failure>,
) -> PyResult<R> {
    let answer = kept.stop.with(question);
    match kept.asked.as_ref().and_then(|asked| asked.raised()) {
        Some(raised) => Err(raised),
        None => Ok(answer?),
    }
}

/// Says which thread asks, for as long as it does.
struct Asking<'s>(&'s Mutex<Option<ThreadId>>);

impl<'s> Asking<'s> {
    fn new(asking: &'s Mutex<Option<ThreadId>>, thread: ThreadId) -> Asking<'s> {
        *lock(asking) = Some(thread);
        Asking(asking)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        *lock(self.0) = None;
    }
}

/// A stopped wave: its frames.
#[pyclass(frozen, module = "hetdwarf")]
pub struct Stop {
    data: Py<StopData>,
    frames: Vec<Py<Frame>>,
    stopped: String,
    message: String,
}

impl Stop {
    pub fn new(py: Python<'_>, data: StopData) -> PyResult<Stop> {
        let data = Py::new(py, data)?;
        let document = data.get().ask(py, |stop| Ok(UnwindDocument::new(stop)?))?;
        let frames = document.frames.iter().map(|frame| {
            let text = |text: &Option<hetdwarf::Untrusted<'static>>| {
                text.as_ref().map(|text| text.raw().to_owned())
            };
            // An inlined call has the registers of the call frame that it is in.
            let call = document.frames.get(frame.frame.call_frame);
            let call = call.and_then(|call| call.call.as_ref());
            let registers = serde_json::to_value(call.map(|call| &call.registers));
            let registers = registers.map_err(|error| Failure::Other(error.to_string()))?;
            let cfa = call.and_then(|call| call.cfa.as_ref());
            let frame = &frame.frame;
            let frame = Frame {
                data: data.clone_ref(py),
                index: frame.index,
                kind: frame.kind.name(),
                call: frame.call_frame,
                pc: u64::try_from(frame.pc.0).unwrap_or(u64::MAX),
                function: text(&frame.function),
                linkage_name: text(&frame.linkage_name),
                symbol_offset: frame.symbol_offset,
                file: text(&frame.file),
                line: frame.line,
                column: frame.column,
                approximate: frame.approximate,
                cfa: cfa.map(|cfa| (cfa.address_space, cfa.address.0)),
                registers,
                variables: Mutex::new(None),
            };
            Py::new(py, frame)
        });
        Ok(Stop {
            frames: frames.collect::<PyResult<_>>()?,
            stopped: document.stopped.to_owned(),
            message: document.message.to_string(),
            data,
        })
    }
}

#[pymethods]
impl Stop {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.data)?;
        self.frames.iter().try_for_each(|frame| visit.call(frame))
    }

    /// The frames, the innermost first. Every inlined call is a frame of its own.
    #[getter]
    fn frames(&self, py: Python<'_>) -> Vec<Py<Frame>> {
        self.frames
            .iter()
            .map(|frame| frame.clone_ref(py))
            .collect()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.frames(py))?.try_iter()
    }

    fn __len__(&self) -> usize {
        self.frames.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Py<Frame>> {
        let count = self.frames.len();
        let at = match index {
            0.. => Some(index.unsigned_abs()),
            _ => count.checked_sub(index.unsigned_abs()),
        };
        let frame = at.and_then(|at| self.frames.get(at));
        frame
            .map(|frame| frame.clone_ref(py))
            .ok_or_else(|| PyIndexError::new_err(index))
    }

    /// Why there are no more frames, as in `hetdwarf-unwind/2`.
    #[getter]
    fn stopped(&self) -> &str {
        &self.stopped
    }

    /// The same for people.
    #[getter]
    fn message(&self) -> &str {
        &self.message
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let innermost = self.frames.first().map(|frame| frame.get().__repr__());
        let _ = py;
        format!(
            "<Stop of {} frames, {}>",
            self.frames.len(),
            innermost.as_deref().unwrap_or("nowhere")
        )
    }
}

/// The variables of a frame.
type Variables = Arc<Vec<Py<Variable>>>;

/// A frame of a stop.
#[pyclass(frozen, module = "hetdwarf")]
pub struct Frame {
    data: Py<StopData>,
    index: usize,
    kind: &'static str,
    /// The number of its call frame.
    call: usize,
    pc: u64,
    function: Option<String>,
    linkage_name: Option<String>,
    symbol_offset: Option<u64>,
    file: Option<String>,
    line: Option<u64>,
    column: Option<u64>,
    approximate: bool,
    cfa: Option<(&'static str, u128)>,
    registers: serde_json::Value,
    /// As of how many writes.
    variables: Mutex<Option<(u64, Variables)>>,
}

impl Frame {
    fn origin(&self, py: Python<'_>, position: Option<usize>) -> Origin {
        Origin {
            stop: self.data.clone_ref(py),
            frame: self.index,
            position,
        }
    }

    /// The names of its variables, each once, the innermost scope first.
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

    /// Its variables, read once until something is written.
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
            .ask_frame(py, self.index, variable::variables)?;
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

    /// The number; 0 is the innermost. Every inlined call is a frame of its own.
    #[getter]
    fn index(&self) -> usize {
        self.index
    }

    /// `call`, `inlined` or `symbol`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind
    }

    /// The number of the call frame that it is, or is inlined in.
    #[getter]
    fn call_frame(&self) -> usize {
        self.call
    }

    /// The program location, an address of the process.
    #[getter]
    fn pc(&self) -> u64 {
        self.pc
    }

    /// The function, or the symbol.
    #[getter]
    fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// The function's name for the linker.
    #[getter]
    fn linkage_name(&self) -> Option<&str> {
        self.linkage_name.as_deref()
    }

    /// How many bytes after the symbol the program location is.
    #[getter]
    fn symbol_offset(&self) -> Option<u64> {
        self.symbol_offset
    }

    /// The path of the source file, as the line table gives it.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The line in that file; of a frame with an inlined call in it that of the call.
    #[getter]
    fn line(&self) -> Option<u64> {
        self.line
    }

    /// The column in that line.
    #[getter]
    fn column(&self) -> Option<u64> {
        self.column
    }

    /// True if the program location has line 0, and the line is that of the nearest row before it.
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

    /// What the registers had in this frame that call frame information says something of, as in `hetdwarf-unwind/2`.
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

    /// The innermost variable of a name.
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<Variable>> {
        let all = self.found(py)?;
        let found = all.iter().find(|variable| variable.get().is_named(name));
        found
            .map(|variable| variable.clone_ref(py))
            .ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// The innermost variable of a name; `default` if there is none.
    #[pyo3(signature = (name, default = None))]
    fn get(&self, py: Python<'_>, name: &str, default: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let found = self.found(py)?;
        match found.iter().find(|variable| variable.get().is_named(name)) {
            Some(variable) => Ok(variable.clone_ref(py).into_any()),
            None => Ok(default.unwrap_or_else(|| py.None())),
        }
    }

    /// The names of its variables, each once, the innermost scope first.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.names(py)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.names(py)?)?.try_iter()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.names(py)?.len())
    }

    /// What a register had in this frame: an `int`, or a list of one for each lane of a vector register. What is missing is None.
    ///
    /// * name: as the assembler has it: `s33`, `v0`, `exec`, `vcc`, `pc`.
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
            let range = start..start.saturating_add(bytes.len() as u64 * 8);
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

    /// The value of an expression of C.
    fn eval(&self, py: Python<'_>, text: &str) -> PyResult<Variable> {
        let (found, types) = self
            .data
            .get()
            .ask_frame(py, self.index, |frame| variable::expression(frame, text))?;
        Ok(Variable::new(
            found,
            &Arc::new(types),
            self.origin(py, None),
        ))
    }

    /// Where each lane is.
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

    /// The picture of where the lanes are, as SVG.
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

    fn __repr__(&self) -> String {
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
