//! Provides waves: snapshots, waves of a core, and Python objects that read registers and memory.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes, PyDict, PyTuple};

use hetdwarf::arch::{Apertures, Lane, Register, WaveSize};
use hetdwarf::wave::{AccessError, Dispatch, Memory, Snapshot, Wave};

use hetdwarf_owned::LoadedCore;

use crate::error::{Failure, Malformed, Unavailable, Unsupported, lock, read_file};
use crate::text::shown;

/// The source of a stop's registers and memory.
#[derive(Clone)]
pub enum WaveSource {
    Snapshot(Arc<Snapshot>),
    Callbacks(Arc<Callbacks>),
    Core(Arc<LoadedCore>, usize),
}

impl WaveSource {
    /// Reads a wave from Python: a dictionary or the path of a file (`hetdwarf-wave/1`), or an object that reads.
    pub fn new(wave: &Bound<'_, PyAny>, wave_size: Option<WaveSize>) -> PyResult<WaveSource> {
        if let Ok(dict) = wave.cast::<PyDict>() {
            let dumps = wave.py().import("json")?.getattr("dumps")?;
            let text: String = dumps.call1((dict,))?.extract()?;
            return WaveSource::parse(text.as_bytes(), "wave");
        }
        if wave.hasattr("read_register")? {
            let callbacks = Callbacks::new(wave, wave_size)?;
            return Ok(WaveSource::Callbacks(Arc::new(callbacks)));
        }
        let path: std::path::PathBuf = wave.extract()?;
        let bytes = read_file(wave.py(), &path)?;
        WaveSource::parse(&bytes, &path.to_string_lossy())
    }

    /// Returns the number of lanes. Returns `None` for a wave of a core, which runs its own code object.
    pub fn wave_size(&self) -> Option<WaveSize> {
        match self {
            WaveSource::Snapshot(wave) => Some(wave.wave_size()),
            WaveSource::Callbacks(callbacks) => Some(callbacks.wave_size),
            WaveSource::Core(..) => None,
        }
    }

    /// Returns the lane in focus of a snapshot, if it has one.
    pub fn focus_lane(&self) -> Option<Lane> {
        match self {
            WaveSource::Snapshot(wave) => wave.focus_lane(),
            WaveSource::Callbacks(_) | WaveSource::Core(..) => None,
        }
    }

    fn parse(text: &[u8], name: &str) -> PyResult<WaveSource> {
        let wave = Snapshot::from_json(text);
        let wave = wave.map_err(|error| Malformed::new_err(shown(&format!("{name}: {error}"))))?;
        Ok(WaveSource::Snapshot(Arc::new(wave)))
    }
}

/// A wave that a Python object provides.
pub struct Callbacks {
    object: Py<PyAny>,
    takes: Takes,
    pub wave_size: WaveSize,
    pub pc: u64,
    pub load_address: u64,
    /// The object's apertures and dispatch.
    rest: Snapshot,
}

/// The arguments of `read_register` besides the DWARF number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// None: the method returns the whole register.
    Whole,
    /// The lane, or `None` for registers that all lanes share.
    Lane,
    /// The first byte and the number of bytes.
    Bytes,
}

impl Callbacks {
    /// Reports the object to the garbage collector. This is its only reference.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)
    }

    fn new(object: &Bound<'_, PyAny>, wave_size: Option<WaveSize>) -> PyResult<Callbacks> {
        let py = object.py();
        let number = |name: &str| -> PyResult<Option<u64>> {
            match object.getattr_opt(name)? {
                Some(value) if !value.is_none() => Ok(Some(value.extract()?)),
                Some(_) | None => Ok(None),
            }
        };
        let takes = takes(&object.getattr("read_register")?)?;
        let lanes = number("wave_size")?.map(|lanes| {
            WaveSize::from_lanes(lanes).ok_or_else(|| {
                Malformed::new_err(format!("a wave has 32 or 64 lanes, not {lanes}"))
            })
        });
        let wave_size = lanes.transpose()?.or(wave_size);
        let wave_size =
            wave_size.ok_or_else(|| Malformed::new_err("the wave needs an attribute wave_size"))?;
        let rest = PyDict::new(py);
        rest.set_item("format", "hetdwarf-wave/1")?;
        rest.set_item("target", "gfx900")?;
        rest.set_item("wave_size", wave_size.lanes())?;
        rest.set_item("pc", 0)?;
        rest.set_item("registers", PyDict::new(py))?;
        rest.set_item("memory", pyo3::types::PyList::empty(py))?;
        for name in ["apertures", "dispatch"] {
            if let Some(value) = object.getattr_opt(name)?.filter(|value| !value.is_none()) {
                rest.set_item(name, value)?;
            }
        }
        let WaveSource::Snapshot(rest) = WaveSource::new(&rest, None)? else {
            return Err(Malformed::new_err(
                "the wave's apertures or dispatch cannot be read",
            ));
        };
        let mut callbacks = Callbacks {
            object: object.clone().unbind(),
            takes,
            wave_size,
            pc: 0,
            load_address: number("load_address")?.unwrap_or(0),
            rest: Arc::unwrap_or_clone(rest),
        };
        callbacks.pc = if let Some(pc) = number("pc")? {
            pc
        } else {
            let bytes = callbacks.register(py, Register::PC_64, 0..64)?;
            let bytes = bytes.ok_or_else(|| {
                Unavailable::new_err("the wave has neither an attribute pc nor register 16")
            })?;
            let word = <[u8; 8]>::try_from(&*bytes);
            u64::from_le_bytes(word.map_err(|_| too_few(bytes.len(), 8))?)
        };
        Ok(callbacks)
    }

    /// Returns some bits of a register, in whole bytes, or None if they are not available.
    fn register(
        &self,
        py: Python<'_>,
        register: Register,
        bits: Range<u32>,
    ) -> PyResult<Option<Vec<u8>>> {
        let method = self.object.bind(py).getattr("read_register")?;
        let number = register.number();
        let bytes = |bits: &Range<u32>| (bits.start / 8) as usize..(bits.end / 8) as usize;
        let whole = bytes(&bits);
        let cut = |value: Bound<'_, PyAny>, part: Range<usize>| {
            let found = contents(&value, part.end)?;
            Ok(found.and_then(|found| found.get(part).map(<[u8]>::to_vec)))
        };
        if self.takes == Takes::Bytes {
            let value = method.call1((number, whole.start, whole.len()))?;
            return contents(&value, whole.len());
        }
        if self.takes == Takes::Whole {
            return cut(method.call1((number,))?, whole);
        }
        let mut found = Vec::with_capacity(whole.len());
        for (lane, within) in register.by_lane(bits) {
            let value = method.call1((number, lane.map(|lane| lane.0)))?;
            match cut(value, bytes(&within))? {
                Some(part) => found.extend(part),
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }
}

/// Returns the kind of arguments that a bound method takes.
fn takes(method: &Bound<'_, PyAny>) -> PyResult<Takes> {
    let inspect = method.py().import("inspect")?;
    let Ok(signature) = inspect.call_method1("signature", (method,)) else {
        return Ok(Takes::Bytes);
    };
    let mut count = 0;
    for parameter in signature
        .getattr("parameters")?
        .call_method0("values")?
        .try_iter()?
    {
        let kind: u8 = parameter?.getattr("kind")?.extract()?;
        match kind {
            // Positional, also if they can be passed by name.
            0 | 1 => count += 1,
            // Variadic.
            2 => return Ok(Takes::Bytes),
            _ => {}
        }
    }
    Ok(match count {
        0 | 1 => Takes::Whole,
        2 => Takes::Lane,
        _ => Takes::Bytes,
    })
}

/// Converts bytes from Python: `bytes` or a little-endian `int`. `None` means not available.
fn contents(value: &Bound<'_, PyAny>, count: usize) -> PyResult<Option<Vec<u8>>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    if value.is_instance_of::<pyo3::types::PyInt>() {
        let (mask, shift) = (u8::MAX, 8);
        let mut rest = value.clone();
        let mut bytes = Vec::with_capacity(count);
        for _ in 0..count {
            bytes.push(rest.bitand(mask)?.extract()?);
            rest = rest.rshift(shift)?;
        }
        return Ok(Some(bytes));
    }
    Ok(Some(value.extract::<Vec<u8>>()?))
}

/// A Python wave during one query. An exception ends the query and is raised again.
pub struct Asked {
    callbacks: Arc<Callbacks>,
    raised: Mutex<Option<PyErr>>,
}

impl Asked {
    pub fn new(callbacks: &Arc<Callbacks>) -> Asked {
        Asked {
            callbacks: Arc::clone(callbacks),
            raised: Mutex::new(None),
        }
    }

    /// Returns the first raised exception, if any.
    pub fn raised(&self) -> Option<PyErr> {
        lock(&self.raised).take()
    }

    /// Calls a writing method.
    fn call(
        &self,
        method: &str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    ) -> Result<(), AccessError> {
        let called = Python::try_attach(|py| {
            let object = self.callbacks.object.bind(py);
            if !object.hasattr(method)? {
                let message = format!("the wave cannot be written to: it has no {method}");
                return Err(Unsupported::new_err(message));
            }
            object.call_method1(method, arguments(py)?).map(|_| ())
        });
        match called {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                *lock(&self.raised) = Some(error);
                Err(AccessError::ReadOnly)
            }
            None => Err(AccessError::ReadOnly),
        }
    }

    fn answer(
        &self,
        out: &mut [u8],
        ask: impl FnOnce(Python<'_>) -> PyResult<Option<Vec<u8>>>,
    ) -> Result<(), AccessError> {
        if lock(&self.raised).is_some() {
            return Err(AccessError::Unavailable);
        }
        // While the interpreter shuts down, nothing is available.
        let found = Python::try_attach(|py| {
            ask(py).or_else(|error| {
                if error.is_instance_of::<Unavailable>(py) {
                    return Ok(None);
                }
                Err(error)
            })
        });
        let found = found.unwrap_or(Ok(None));
        match found {
            Ok(Some(bytes)) if bytes.len() == out.len() => {
                out.copy_from_slice(&bytes);
                Ok(())
            }
            Ok(Some(bytes)) => {
                *lock(&self.raised) = Some(too_few(bytes.len(), out.len()));
                Err(AccessError::Unavailable)
            }
            Ok(None) => Err(AccessError::Unavailable),
            Err(error) => {
                *lock(&self.raised) = Some(error);
                Err(AccessError::Unavailable)
            }
        }
    }
}

impl Wave for Asked {
    fn wave_size(&self) -> WaveSize {
        self.callbacks.wave_size
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        self.answer(out, |py| self.callbacks.register(py, register, bits))
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let space = memory.name();
        let count = out.len();
        self.answer(out, |py| {
            let object = self.callbacks.object.bind(py);
            let value = object.call_method1("read_memory", (space, address, count))?;
            contents(&value, count)
        })
    }

    fn write_register(
        &mut self,
        register: Register,
        bits: Range<u32>,
        bytes: &[u8],
    ) -> Result<(), AccessError> {
        let at = (u32::from(register.number()), bits.start / 8);
        self.call("write_register", |py| {
            (at.0, at.1, PyBytes::new(py, bytes)).into_pyobject(py)
        })
    }

    fn write_memory(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), AccessError> {
        self.call("write_memory", |py| {
            (memory.name(), address, PyBytes::new(py, bytes)).into_pyobject(py)
        })
    }

    fn apertures(&self) -> Option<Apertures> {
        self.callbacks.rest.apertures()
    }

    fn dispatch(&self) -> Option<Dispatch> {
        self.callbacks.rest.dispatch()
    }
}

/// Returns the error for a wave that returned the wrong number of bytes.
fn too_few(found: usize, asked: usize) -> PyErr {
    Malformed::new_err(format!(
        "the wave returned {found} bytes instead of {asked}"
    ))
}

/// Returns the lanes of a wave.
pub fn lanes(size: WaveSize) -> Vec<Lane> {
    size.all_lanes().collect()
}

/// Returns a lane by its number.
pub fn lane(number: i64, size: WaveSize) -> Result<Lane, Failure> {
    let lanes = size.lanes();
    let found = u8::try_from(number)
        .ok()
        .filter(|lane| u32::from(*lane) < lanes);
    found
        .map(Lane)
        .ok_or_else(|| Failure::Other(format!("there is no lane {number} in a wave of {lanes}")))
}
