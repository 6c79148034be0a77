//! Provides stops of waves, and their frames.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use pyo3::exceptions::PyIndexError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use hetdwarf::arch::Lane;
use hetdwarf::eval::Reading;
use hetdwarf::inspect::{Stop as LibraryStop, StopFrame, StopOptions};
use hetdwarf::location::Destination;
use hetdwarf::report::UnwindDocument;
use hetdwarf_owned::LoadedStop;

use crate::error::{Failure, detached, lock};
use crate::frame::Frame;
use crate::object::ObjectData;
use crate::wave::{Asked, WaveSource};

/// The number of queries before a stop is unwound again. Each query reads more data, which the stop keeps.
const MOST_QUESTIONS: u32 = 1 << 10;

/// A stop that has been unwound.
struct Kept {
    stop: LoadedStop,
    /// The Python wave that the stop reads.
    asked: Option<Arc<Asked>>,
    questions: u32,
}

/// The data of a stop. Stops and frames share it, and it lets the garbage collector see a Python wave.
#[pyclass(frozen, module = "hetdwarf", name = "_StopData")]
pub struct StopData {
    /// The code object; None for a wave of a core, whose pc selects it.
    object: Option<Arc<ObjectData>>,
    wave: WaveSource,
    reading: Reading,
    only_dwarf: bool,
    kept: Mutex<Option<Kept>>,
    /// The number of writes through the stop. Data that was read before the last write is outdated.
    pub written: AtomicU64,
    /// The thread that is querying the stop. The callbacks of a Python wave may query it again on the same thread.
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
    pub fn new(
        object: Option<Arc<ObjectData>>,
        wave: WaveSource,
        reading: Reading,
        only_dwarf: bool,
    ) -> StopData {
        StopData {
            object,
            wave,
            reading,
            only_dwarf,
            kept: Mutex::new(None),
            written: AtomicU64::new(0),
            asking: Mutex::new(None),
        }
    }

    /// The lane in focus, of a snapshot that has one.
    pub fn focus_lane(&self) -> Option<Lane> {
        self.wave.focus_lane()
    }

    fn unwound(&self) -> Result<Kept, Failure> {
        let options = |load_address| {
            let options = StopOptions::loaded_at(load_address).reading(self.reading);
            options.only_dwarf(self.only_dwarf)
        };
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

    /// Runs a query on the stop, with the interpreter released. The stop is unwound once, unless the Python wave failed.
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
            // If the wave failed, the unwound frames are not the stack.
            if answer.is_ok() || stop.asked.is_none() {
                *kept = Some(stop);
            }
            answer
        })
    }

    /// Writes to a place in a lane, through the Python wave.
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
            let message = "only a wave implemented in Python can be written to".to_owned();
            return Err(Failure::Unsupported(message).into());
        };
        let destination = self.ask_frame(py, level, move |frame| place(frame))?;
        let mut wave = Asked::new(callbacks);
        let written = detached(py, || Ok(destination.write(bytes, &mut wave)));
        // The write may have been partial.
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

    /// Runs a query on a frame.
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

/// Runs a query on a stop. An exception of its wave takes precedence over any answer.
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

/// Records the querying thread for the duration of the query.
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

/// A stopped wave: a sequence of its frames.
///
/// ```python
/// >>> len(stop), stop[0], stop.stopped
/// (3, <Frame 0 fill at structs.cl:28>, 'return-address-undefined')
///
/// ```
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
            // An inlined call has the registers of its call frame.
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

    /// The frames, the innermost first. Every inlined call is a separate frame.
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

    /// The reason why there are no more frames, as in `hetdwarf-unwind/2`.
    #[getter]
    fn stopped(&self) -> &str {
        &self.stopped
    }

    /// The reason why there are no more frames, as a sentence.
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
