//! Provides code objects: their contents, and the findings of `verify`.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use hetdwarf::Limits;
use hetdwarf::arch::WaveSize;
use hetdwarf::coverage::{compare, coverage};
use hetdwarf::error::Limit;
use hetdwarf::eval::Reading;
use hetdwarf::frame::write::Assembler;
use hetdwarf::inspect::Program;
use hetdwarf::object::{CodeObject, code_objects};
use hetdwarf::report::{CompareDocument, CoverageDocument, CoverageFile, ObjectDocument};
use hetdwarf::verify::{Profile, Rule, Selection, verify_with};
use hetdwarf_owned::LoadedProgram;

use crate::error::{Error, Failure, detached, read_file};
use crate::finding::Finding;
use crate::json;
use crate::statics::{self, Function, Global, LineRow};
use crate::stop::{Stop, StopData};
use crate::symbolize::{self, Frames};
use crate::text::shown;
use crate::types::Type;
use crate::wave::WaveSource;

/// The bytes of a code object, and its program after the first query.
pub struct ObjectData {
    bytes: Arc<[u8]>,
    limits: Limits,
    program: OnceLock<Arc<LoadedProgram>>,
}

impl ObjectData {
    /// Runs a query on the program.
    pub fn ask<R>(
        &self,
        question: impl for<'p, 'd> FnOnce(&'p Program<'d>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.program()?.with(question)
    }

    /// Returns the program, which is loaded once.
    pub fn program(&self) -> Result<&Arc<LoadedProgram>, Failure> {
        if let Some(program) = self.program.get() {
            return Ok(program);
        }
        let loaded = LoadedProgram::load_with(Arc::clone(&self.bytes), &self.limits)?;
        Ok(self.program.get_or_init(|| Arc::new(loaded)))
    }
}

/// The most threads of `verify`.
const MOST_JOBS: usize = 256;

/// A code object.
///
/// ```python
/// >>> obj.target, obj.wave_size, [function.name for function in obj.functions]
/// ('gfx1100', 32, ['area', 'fill', 'k', 'k'])
/// >>> [hex(address) for address in obj.addresses_of("structs.cl", 28)]
/// ['0x1fa8']
/// >>> obj.line_at(0x1fa8)
/// ('structs.cl', 28, 7)
///
/// ```
#[pyclass(frozen, module = "hetdwarf")]
pub struct Object {
    data: Arc<ObjectData>,
    path: Option<String>,
    /// Its number in the file.
    index: usize,
    target: String,
    wave_size: Option<WaveSize>,
}

/// Returns the bytes of a file or of `bytes`, and the file's name.
pub fn read(source: &Bound<'_, PyAny>) -> PyResult<(Vec<u8>, Option<PathBuf>)> {
    if let Ok(bytes) = source.cast::<PyBytes>() {
        return Ok((bytes.as_bytes().to_vec(), None));
    }
    if let Ok(bytes) = source.extract::<Vec<u8>>() {
        return Ok((bytes, None));
    }
    let path: PathBuf = source.extract()?;
    let bytes = read_file(source.py(), &path)?;
    Ok((bytes, Some(path)))
}

/// Returns the limits by their names, as in the command's `--limit`.
fn limits_of(given: Option<BTreeMap<String, u64>>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for (name, value) in given.unwrap_or_default() {
        limits.set(Limit::named(&name).map_err(PyValueError::new_err)?, value);
    }
    Ok(limits)
}

/// Returns the names of all rules of `verify`, or of the given ones.
///
/// * names: names of rules, or prefixes with `*` (`cfi-*`). An unknown name is a `ValueError`.
#[pyfunction]
#[pyo3(signature = (names = None))]
pub fn rules(names: Option<Vec<String>>) -> PyResult<Vec<&'static str>> {
    let Some(names) = names else {
        return Ok(Rule::all().map(|rule| rule.id).collect());
    };
    let mut found = Vec::new();
    for name in names {
        let rules = Rule::named(&name).map_err(|error| PyValueError::new_err(error.to_string()))?;
        found.extend(rules.iter().map(|rule| rule.id));
    }
    Ok(found)
}

/// Returns the given rules, or all of them, with the severities of a profile.
pub fn selection(rules: Option<&[String]>, profile: Option<&str>) -> PyResult<Selection> {
    let mut selection = Selection::default();
    if let Some(name) = profile {
        let mut profiles = Profile::ALL.into_iter();
        let known = profiles.find(|profile| profile.name() == name);
        selection.set_profile(known.ok_or_else(|| {
            let message = "expected compiler, release or application";
            Error::new_err(format!("profile {name:?}: {message}"))
        })?);
    }
    if let Some(rules) = rules {
        selection
            .only(rules)
            .map_err(|error| Failure::Other(error.to_string()))?;
    }
    Ok(selection)
}

/// Opens the code object of a file, given by its path or its bytes.
///
/// * limits: limits on work and memory by name, as in the command's `--limit NAME=N`: `{"value": 1 << 20}` reads up to 1 MiB of one value
///   in each lane, instead of 64 KiB.
#[pyfunction]
#[pyo3(signature = (source, limits = None))]
pub fn open(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    limits: Option<BTreeMap<String, u64>>,
) -> PyResult<Object> {
    let mut all = open_all(py, source, limits)?;
    match all.len() {
        1 => Ok(all.remove(0)),
        0 => Err(Error::new_err("the file has no code object")),
        count => {
            let targets: Vec<&str> = all.iter().map(|object| object.target.as_str()).collect();
            Err(Error::new_err(format!(
                "the file has {count} code objects ({}); see open_all",
                targets.join(", ")
            )))
        }
    }
}

/// Opens all code objects of a file: a single code object, or the contents of a bundle, an archive, a host object or a program.
///
/// * limits: see `open`.
#[pyfunction]
#[pyo3(signature = (source, limits = None))]
pub fn open_all(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    limits: Option<BTreeMap<String, u64>>,
) -> PyResult<Vec<Object>> {
    let limits = limits_of(limits)?;
    let (bytes, path) = read(source)?;
    let path = path.map(|path| path.to_string_lossy().into_owned());
    detached(py, || {
        let found = code_objects(&bytes).map_err(Failure::from)?;
        found
            .into_iter()
            .map(|found| {
                let object = Object::with_limits(&found.data, path.clone(), limits)?;
                let index = found.index;
                Ok(Object { index, ..object })
            })
            .collect()
    })
}

impl Object {
    pub fn new(bytes: &[u8], path: Option<String>) -> Result<Object, Failure> {
        Object::with_limits(bytes, path, Limits::default())
    }

    fn with_limits(bytes: &[u8], path: Option<String>, limits: Limits) -> Result<Object, Failure> {
        let object = CodeObject::parse_with(bytes, &limits)?;
        let mut sizes = object
            .kernels()?
            .iter()
            .filter_map(hetdwarf::object::Kernel::wave_size);
        let first = sizes.next();
        let wave_size = first.filter(|first| sizes.all(|other| other == *first));
        Ok(Object {
            target: object.target().to_string(),
            wave_size,
            data: Arc::new(ObjectData {
                bytes: bytes.into(),
                limits,
                program: OnceLock::new(),
            }),
            index: 0,
            path,
        })
    }
}

impl Object {
    /// Returns its path, as in documents; empty if it was opened from bytes.
    fn name(&self) -> &str {
        self.path.as_deref().unwrap_or_default()
    }

    /// Runs a query on the program, with the interpreter released.
    pub fn ask<R: Send>(
        &self,
        py: Python<'_>,
        question: impl for<'p, 'd> FnOnce(&'p Program<'d>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        detached(py, || Ok(self.data.ask(question)?))
    }

    /// Returns the program, loaded with the interpreter released.
    pub fn loaded(&self, py: Python<'_>) -> PyResult<Arc<LoadedProgram>> {
        detached(py, || Ok(Arc::clone(self.data.program()?)))
    }
}

#[pymethods]
impl Object {
    /// The target ID, `gfx90a:xnack+` for example.
    #[getter]
    fn target(&self) -> &str {
        &self.target
    }

    /// 32 or 64; None if the kernels differ, or if there is no kernel.
    #[getter]
    fn wave_size(&self) -> Option<u64> {
        self.wave_size.map(|size| size.lanes().into())
    }

    /// The path of the file, if the object was opened from one.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The bytes of the code object.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.data.bytes)
    }

    /// The kernels, by name.
    #[getter]
    fn kernels(&self, py: Python<'_>) -> PyResult<Vec<Kernel>> {
        self.ask(py, |program| {
            let info = hetdwarf::object::ObjectInfo::of(program.object())?;
            let kernels = program.object().kernels()?;
            // As in the document of `hetdwarf info`.
            let of = |kernel: &hetdwarf::object::Kernel| {
                let known = info
                    .kernels
                    .iter()
                    .find(|known| known.name.raw() == kernel.name);
                let descriptor = kernel
                    .descriptor
                    .iter()
                    .flat_map(hetdwarf::object::KernelDescriptor::fields);
                Ok(Kernel {
                    name: kernel.name.clone(),
                    entry: kernel.entry(),
                    wave_size: kernel.wave_size().map(|size| size.lanes().into()),
                    vgprs: known.and_then(|known| {
                        known.vgprs_used.or(known.vgprs_allocated.map(Into::into))
                    }),
                    sgprs: known.and_then(|known| {
                        known.sgprs_used.or(known.sgprs_allocated.map(Into::into))
                    }),
                    lds: known.and_then(|known| known.group_segment_size),
                    scratch: known.and_then(|known| known.private_segment_size),
                    max_workgroup_size: known.and_then(|known| known.max_workgroup_size),
                    required_workgroup_size: known.and_then(|known| known.required_workgroup_size),
                    arguments: json::value(serde_json::to_value(
                        known.and_then(|known| known.arguments.as_ref()),
                    ))?,
                    initial_registers: json::value(serde_json::to_value(
                        known.map(|known| &known.initial_registers),
                    ))?,
                    descriptor: descriptor
                        .map(|(field, value)| (field.name().to_owned(), value))
                        .collect(),
                })
            };
            kernels.iter().map(of).collect::<Result<_, Failure>>()
        })
    }

    /// Returns the function at an address of the code object.
    fn function_at(&self, py: Python<'_>, pc: u64) -> PyResult<Option<Function>> {
        self.ask(py, |program| {
            let info = program.info();
            let Some(function) = info.find_function(pc)? else {
                return Ok(None);
            };
            let inlined = info.inlined_chain(&function, pc, &info.for_query())?;
            let inlined = inlined.iter();
            let inlined = inlined.map(|call| call.name.as_deref().unwrap_or_default().to_owned());
            Ok(Some(Function::new(&function, inlined.collect())))
        })
    }

    /// Returns the file, line and column at an address of the code object.
    fn line_at(&self, py: Python<'_>, pc: u64) -> PyResult<Option<(Option<String>, u64, u64)>> {
        self.ask(py, |program| {
            let line = program.info().line_at(pc)?;
            Ok(line.map(|line| {
                let file = line.file.as_ref().map(|file| file.name().to_owned());
                (file, line.line, line.column)
            }))
        })
    }

    /// The document `object` of `hetdwarf info --format json --descriptor`: sections, units with their producers, kernels.
    #[getter]
    fn info(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let index = self.index;
        let document = self.ask(py, |program| {
            json::value(serde_json::to_value(ObjectDocument::new(
                program.object(),
                index,
            )?))
        })?;
        json::to_python(py, &document)
    }

    /// Returns the document of `hetdwarf coverage --format json`: the bytes of code in the scope of each variable that have a location or an
    /// earlier value. It names unreadable parts, and the limit that ended it.
    fn coverage(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (name, target) = (self.name(), self.target.clone());
        let document = self.ask(py, |program| {
            let file = CoverageFile::new(name, target, &coverage(program));
            json::value(serde_json::to_value(CoverageDocument::new(vec![file])))
        })?;
        json::to_python(py, &document)
    }

    /// Returns the document of `hetdwarf compare OLD NEW --format json`, where NEW is this object: the variables that lost or gained locations,
    /// and the differences of call frame information and lines in equal code.
    ///
    /// * old: the other build.
    /// * tolerance: `fell` is true in the document if coverage fell by more percentage points than this.
    #[pyo3(signature = (old, tolerance = 0.0))]
    fn compare(&self, py: Python<'_>, old: &Object, tolerance: f64) -> PyResult<Py<PyAny>> {
        if tolerance.is_nan() || tolerance < 0.0 {
            return Err(PyValueError::new_err("tolerance has to be at least 0"));
        }
        let document = self.ask(py, |new| {
            let found = old.data.ask(|old| Ok(compare(old, new)))?;
            let document = CompareDocument::new(old.name(), self.name(), tolerance, &found);
            json::value(serde_json::to_value(document))
        })?;
        json::to_python(py, &document)
    }

    /// All functions with code.
    #[getter]
    fn functions(&self, py: Python<'_>) -> PyResult<Vec<Function>> {
        self.ask(py, statics::functions)
    }

    /// All variables of file scope and of namespaces.
    #[getter]
    fn globals(&self, py: Python<'_>) -> PyResult<Vec<Global>> {
        self.ask(py, statics::globals)
    }

    /// Returns the types with a name, one for each unit that defines it; empty if there is none.
    ///
    /// * name: the name as in the source, without `struct` or `enum`, with or without its namespaces and classes.
    fn types(&self, py: Python<'_>, name: &str) -> PyResult<Vec<Type>> {
        self.ask(py, |program| statics::types(program, name))
    }

    /// Returns the addresses at which a debugger sets breakpoints for a line: where its code begins. Empty if the line has no code.
    ///
    /// * file: a path as in the line table, or its last components: `k.cl`.
    fn addresses_of(&self, py: Python<'_>, file: &str, line: u64) -> PyResult<Vec<u64>> {
        self.ask(py, |program| Ok(program.info().addresses_of(file, line)?))
    }

    /// Returns the functions, inlined calls and lines of addresses: a tuple of frames for each address, the innermost first. An unknown
    /// address has an empty tuple.
    ///
    /// * addresses: a list or a numpy array. Each address is looked up once, even if it occurs several times.
    /// * `load_address`: the difference of the given addresses from the object's.
    #[pyo3(signature = (addresses, load_address = 0))]
    fn symbolize(
        &self,
        py: Python<'_>,
        addresses: &Bound<'_, PyAny>,
        load_address: u64,
    ) -> PyResult<Frames> {
        let symbolizer = symbolize::of_program(self.loaded(py)?, load_address);
        symbolize::symbolize(py, &symbolizer, addresses)
    }

    /// Returns the rows of all line tables.
    fn line_rows(&self, py: Python<'_>) -> PyResult<Vec<LineRow>> {
        self.ask(py, statics::line_rows)
    }

    /// Checks the debugging information, and returns the findings.
    ///
    /// * rules: names of rules, or prefixes with `*` (`cfi-*`); all by default.
    /// * profile: `compiler` (all findings), `release` (errors and warnings) or `application` (what a debugger will show incorrectly, as
    ///   notes).
    /// * jobs: the number of threads that check. The findings do not depend on it.
    /// * assembler: the assembler for directives in the help, `llvm22` or `llvm24`.
    #[pyo3(signature = (rules = None, profile = None, jobs = 1, assembler = None))]
    fn verify(
        &self,
        py: Python<'_>,
        rules: Option<Vec<String>>,
        profile: Option<&str>,
        jobs: usize,
        assembler: Option<&str>,
    ) -> PyResult<Vec<Finding>> {
        let jobs = NonZeroUsize::new(jobs.min(MOST_JOBS));
        let jobs = jobs.ok_or_else(|| PyValueError::new_err("jobs must be at least 1"))?;
        let mut selection = selection(rules.as_deref(), profile)?;
        if let Some(name) = assembler {
            let known = Assembler::ALL
                .into_iter()
                .find(|known| known.name() == name);
            let names = Assembler::ALL.map(Assembler::name).join(" or ");
            selection.set_assembler(known.ok_or_else(|| {
                PyValueError::new_err(format!("assembler {name:?}: expected {names}"))
            })?);
        }
        self.ask(py, |program| {
            let verdict = verify_with(program, &selection, jobs);
            let findings = verdict.findings.into_iter();
            Ok(findings.map(Finding::new).collect())
        })
    }

    /// Creates the stop of a wave that runs this code.
    ///
    /// * wave: a dictionary or the path of a file (`hetdwarf-wave/1`), or an object with `read_register` and `read_memory`.
    /// * strict: read exactly as specified, without the adjustments for current producers.
    /// * `only_dwarf`: use only values from the debugging information: none from kernel arguments or from the machine code.
    ///
    /// Raises `Malformed` if waves with this number of lanes cannot run the code.
    #[pyo3(signature = (wave, strict = false, only_dwarf = false))]
    fn stop(
        &self,
        py: Python<'_>,
        wave: &Bound<'_, PyAny>,
        strict: bool,
        only_dwarf: bool,
    ) -> PyResult<Stop> {
        let reading = if strict {
            Reading::Strict
        } else {
            Reading::Tolerant
        };
        let wave = WaveSource::new(wave, self.wave_size)?;
        let object = Arc::clone(&self.data);
        if let Some(size) = wave.wave_size() {
            self.ask(py, |program| Ok(program.object().check_wave_size(size)?))?;
        }
        Stop::new(py, StopData::new(Some(object), wave, reading, only_dwarf))
    }

    fn __repr__(&self) -> String {
        shown(&match &self.path {
            Some(path) => format!("<Object {} of {path}>", self.target),
            None => format!("<Object {}>", self.target),
        })
    }
}

/// A kernel.
#[pyclass(frozen, module = "hetdwarf")]
pub struct Kernel {
    /// The name of the kernel's symbol.
    #[pyo3(get)]
    name: String,
    /// The address of the first instruction in the code object.
    #[pyo3(get)]
    entry: Option<u64>,
    /// The lanes of a wave, 32 or 64.
    #[pyo3(get)]
    wave_size: Option<u64>,
    /// Vector registers of a lane.
    #[pyo3(get)]
    vgprs: Option<u64>,
    /// Scalar registers of a wave.
    #[pyo3(get)]
    sgprs: Option<u64>,
    /// Local memory of a work-group, in bytes.
    #[pyo3(get)]
    lds: Option<u64>,
    /// Scratch of a lane, in bytes.
    #[pyo3(get)]
    scratch: Option<u64>,
    /// The largest work-group, in work-items.
    #[pyo3(get)]
    max_workgroup_size: Option<u64>,
    /// The required work-group size in x, y and z; None if any size is allowed.
    #[pyo3(get)]
    required_workgroup_size: Option<[u64; 3]>,
    arguments: serde_json::Value,
    initial_registers: serde_json::Value,
    descriptor: Vec<(String, u64)>,
}

#[pymethods]
impl Kernel {
    /// The arguments, including hidden ones, as in `hetdwarf info --format json`; None if there is no metadata about them.
    #[getter]
    fn arguments(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        json::to_python(py, &self.arguments)
    }

    /// The registers that are set when the kernel starts, as `entry` of `hetdwarf info --format json`.
    #[getter]
    fn initial_registers(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        json::to_python(py, &self.initial_registers)
    }

    /// The fields of the kernel descriptor by name, as encoded, not scaled.
    #[getter]
    fn descriptor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in &self.descriptor {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        shown(&format!("<Kernel {}>", self.name))
    }
}
