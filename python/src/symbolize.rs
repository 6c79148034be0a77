//! Symbolizes addresses of a process: functions, inlined calls and lines, for many addresses at once.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use hetdwarf::arch::LoadAddress;
use hetdwarf::inspect::{FrameDescription, Symbolizer as LibrarySymbolizer};
use hetdwarf_owned::{LoadedProgram, LoadedSymbolizer};

use crate::core::Core;
use crate::error::{Failure, detached};
use crate::object::Object;
use crate::text::shown;

/// A function or inlined call at an address.
#[pyclass(frozen, get_all, module = "hetdwarf")]
pub struct SourceFrame {
    /// `call`, `inlined`, or `symbol` if only the ELF symbol is known.
    kind: &'static str,
    /// The function, or the symbol.
    function: Option<String>,
    /// The function's name as the linker sees it.
    linkage_name: Option<String>,
    /// The path of the source file in the line table.
    file: Option<String>,
    /// The line. If the frame contains an inlined call, the line of that call.
    line: Option<u64>,
    /// The column.
    column: Option<u64>,
    /// True if the address has line 0, so that `line` is from the nearest row before it.
    approximate: bool,
    /// For a symbol, the distance of the address from its start, in bytes.
    symbol_offset: Option<u64>,
}

#[pymethods]
impl SourceFrame {
    fn __repr__(&self) -> String {
        let function = self.function.as_deref().unwrap_or("?");
        let file = self.file.as_deref().unwrap_or("?");
        let file = file.rsplit('/').next().unwrap_or_default();
        let line = self.line.map_or("?".to_owned(), |line| line.to_string());
        shown(&format!("<SourceFrame {function} at {file}:{line}>"))
    }
}

impl From<&FrameDescription> for SourceFrame {
    fn from(frame: &FrameDescription) -> SourceFrame {
        SourceFrame {
            kind: frame.kind.name(),
            function: frame.function.clone(),
            linkage_name: frame.linkage_name.clone(),
            file: frame.file.as_ref().map(|file| file.path.to_string()),
            line: frame.line,
            column: frame.column,
            approximate: frame.is_approximate,
            symbol_offset: frame.symbol_offset,
        }
    }
}

/// The frames of each address. Equal addresses share one tuple.
pub type Frames = Vec<Py<PyTuple>>;

/// Looks up the addresses of a list, a numpy array or any other iterable of numbers.
pub fn symbolize(
    py: Python<'_>,
    symbolizer: &LoadedSymbolizer,
    addresses: &Bound<'_, PyAny>,
) -> PyResult<Frames> {
    let asked = addresses
        .try_iter()?
        .map(|address| address?.extract())
        .collect::<PyResult<Vec<u64>>>()?;
    let (numbers, answers) = detached(py, || {
        Ok(symbolizer.with(|symbolizer| look_up(symbolizer, &asked))?)
    })?;
    let made = answers.into_iter().map(|frames| {
        let frames = frames.into_iter().map(|frame| Py::new(py, frame));
        let frames = frames.collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, frames)?.unbind())
    });
    let made = made.collect::<PyResult<Vec<_>>>()?;
    let frames = numbers.into_iter().filter_map(|number| made.get(number));
    Ok(frames.map(|frames| frames.clone_ref(py)).collect())
}

/// Looks up addresses. Returns the index of each address's answer, and the answers.
fn look_up(
    symbolizer: &LibrarySymbolizer<'_, '_>,
    addresses: &[u64],
) -> Result<(Vec<usize>, Vec<Vec<SourceFrame>>), Failure> {
    let (mut answers, mut problem) = (Vec::new(), None);
    let numbers = symbolizer.symbolize_all(addresses, |found| {
        if let Some(error) = &found.problem {
            problem.get_or_insert_with(|| error.clone());
        }
        answers.push(found.frames.iter().map(SourceFrame::from).collect());
        answers.len() - 1
    });
    match problem {
        Some(error) => Err(error.into()),
        None => Ok((numbers, answers)),
    }
}

/// A lookup table for addresses of a process: code objects at their load addresses.
///
/// * objects: code objects, each alone or with its load address; or a core, whose code objects have the load addresses of the process. A
///   single code object answers every address. If two of several code objects contain an address, it has no frames.
///
/// ```python
/// >>> symbolizer = hetdwarf.Symbolizer([(obj, 0x7f4000000000)])
/// >>> symbolizer.symbolize([0x7f4000001fa8, 0x7f4000000000])
/// [(<SourceFrame fill at structs.cl:28>,), ()]
///
/// ```
#[pyclass(frozen, module = "hetdwarf")]
pub struct Symbolizer {
    symbolizer: LoadedSymbolizer,
}

#[pymethods]
impl Symbolizer {
    #[new]
    fn new(py: Python<'_>, objects: &Bound<'_, PyAny>) -> PyResult<Symbolizer> {
        if let Ok(core) = objects.cast::<Core>() {
            let core = Arc::clone(core.get().loaded());
            let symbolizer = py.detach(|| LoadedSymbolizer::of_core(&core));
            return Ok(Symbolizer { symbolizer });
        }
        let mut programs = Vec::new();
        for object in objects.try_iter()? {
            let object = object?;
            let (object, address) = match object.cast::<Object>() {
                Ok(alone) => (alone.clone(), 0),
                Err(_) => object.extract::<(Bound<'_, Object>, u64)>()?,
            };
            programs.push((object.get().loaded(py)?, LoadAddress(address)));
        }
        Ok(Symbolizer {
            symbolizer: LoadedSymbolizer::of_programs(programs),
        })
    }

    /// Returns the functions, inlined calls and lines of addresses: a tuple of frames for each address, the innermost first. An unknown address
    /// has an empty tuple.
    ///
    /// * addresses: a list or a numpy array. Each address is looked up once, even if it occurs several times.
    fn symbolize(&self, py: Python<'_>, addresses: &Bound<'_, PyAny>) -> PyResult<Frames> {
        symbolize(py, &self.symbolizer, addresses)
    }

    fn __repr__(&self) -> String {
        self.symbolizer.with(|symbolizer| {
            let count = symbolizer.object_count();
            format!("<Symbolizer of {count} code objects>")
        })
    }
}

/// Creates a symbolizer of one program.
pub fn of_program(program: Arc<LoadedProgram>, load_address: u64) -> LoadedSymbolizer {
    LoadedSymbolizer::of_programs(vec![(program, LoadAddress(load_address))])
}
