//! GPU core files.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use hetdwarf::arch::LoadAddress;
use hetdwarf::eval::Reading;
use hetdwarf::report::{CoreReport, CoreRequest, FoundObject};
use hetdwarf::wave::Wave;
use hetdwarf_owned::LoadedCore;

use crate::error::{Error, Failure};
use crate::json;
use crate::object::{Object, read};
use crate::stop::{Stop, StopData};
use crate::text::shown;
use crate::wave::WaveSource;

/// A GPU core file, or its two halves.
///
/// ```python
/// >>> core = hetdwarf.open_core(demo + "/demo.core")
/// >>> core, core.waves[0].stop().stopped
/// (<Core of 8 waves, 0 problems>, 'return-address-undefined')
///
/// ```
#[pyclass(frozen, module = "hetdwarf")]
pub struct Core {
    loaded: Arc<LoadedCore>,
    /// Code objects from the user, each with its load address.
    given: Vec<(LoadAddress, Arc<[u8]>)>,
    waves: Vec<Py<CoreWave>>,
    problems: Vec<String>,
}

/// Opens a GPU core file: a merged one, or the GPU's and the host's in either order.
///
/// * objects: code objects in place of missing ones, each a path (or bytes) with its load address.
#[pyfunction]
#[pyo3(signature = (*files, objects = None))]
pub fn open_core(
    py: Python<'_>,
    files: &Bound<'_, PyTuple>,
    objects: Option<Vec<(Bound<'_, PyAny>, u64)>>,
) -> PyResult<Core> {
    if files.is_empty() {
        return Err(Error::new_err("open_core needs a file"));
    }
    let mut contents = Vec::new();
    for file in files {
        contents.push(Arc::from(read(&file)?.0));
    }
    let mut given = Vec::new();
    for (object, address) in objects.unwrap_or_default() {
        given.push((address.into(), Arc::from(read(&object)?.0)));
    }
    let found = py.detach(|| -> Result<_, Failure> {
        let loaded = Arc::new(LoadedCore::open(contents, &given)?);
        let (waves, problems) = loaded.with(|core, programs| {
            let problems = core.problems().iter().chain(programs.process().problems());
            let problems = problems.map(ToString::to_string).collect::<Vec<_>>();
            let waves: Vec<CoreWave> = core
                .waves()
                .map(|wave| CoreWave::new(&loaded, &wave))
                .collect();
            (waves, problems)
        });
        Ok((loaded, waves, problems))
    });
    let (loaded, waves, problems) = found?;
    let waves = waves.into_iter().map(|wave| Py::new(py, wave));
    Ok(Core {
        waves: waves.collect::<PyResult<_>>()?,
        loaded,
        given,
        problems,
    })
}

impl Core {
    pub fn loaded(&self) -> &Arc<LoadedCore> {
        &self.loaded
    }
}

#[pymethods]
impl Core {
    /// The waves, in the order of queues and control stacks.
    #[getter]
    fn waves(&self, py: Python<'_>) -> Vec<Py<CoreWave>> {
        self.waves.iter().map(|wave| wave.clone_ref(py)).collect()
    }

    /// The messages about unreadable parts of the core.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    /// Returns the document of `hetdwarf core --format json`: the verdict, the workgroups, and the faulting access of each wave that
    /// stopped for a memory violation.
    ///
    /// * `fault_address`: the fault address that the runtime reported for a wave, or the address of its page.
    #[pyo3(signature = (fault_address = None))]
    fn describe(&self, py: Python<'_>, fault_address: Option<u64>) -> PyResult<Py<PyAny>> {
        let found = py.detach(|| {
            self.loaded.with(|core, programs| {
                let objects: Vec<FoundObject> =
                    core.code_objects().iter().map(FoundObject::from).collect();
                let request = CoreRequest::default().fault_address(fault_address);
                let meter = core.meter().for_query();
                let report =
                    CoreReport::within(core, programs, &objects, request, &meter, &mut |_| {});
                serde_json::to_value(&report.document)
            })
        });
        let value = found.map_err(|error| Error::new_err(error.to_string()))?;
        json::to_python(py, &value)
    }

    /// The known code objects, with their load addresses.
    #[getter]
    fn objects(&self, py: Python<'_>) -> PyResult<Vec<(u64, Object)>> {
        let found = py.detach(|| {
            self.loaded.with(|core, _| {
                let given = self
                    .given
                    .iter()
                    .map(|(address, data)| (*address, data.to_vec()));
                let inside = core
                    .images()
                    .into_iter()
                    .filter_map(|(address, data)| Some((address, data?.into_owned())));
                let all = given
                    .chain(inside)
                    .map(|(address, data)| Ok((address.into(), Object::new(&data, None)?)));
                all.collect::<Result<Vec<_>, Failure>>()
            })
        });
        Ok(found?)
    }

    fn __repr__(&self) -> String {
        shown(&format!(
            "<Core of {} waves, {} problems>",
            self.waves.len(),
            self.problems.len()
        ))
    }
}

/// A wave of a core.
#[pyclass(frozen, module = "hetdwarf")]
pub struct CoreWave {
    core: Arc<LoadedCore>,
    position: usize,
    /// The wave's number in the list, from 1, as `--wave` takes it.
    #[pyo3(get)]
    index: usize,
    /// The program counter, as an address of the process.
    #[pyo3(get)]
    pc: u64,
    /// The execution mask, one bit per lane.
    #[pyo3(get)]
    exec: u64,
    /// The number of lanes.
    #[pyo3(get)]
    wave_size: u64,
    /// `running`, `stopped` or `unsure`.
    #[pyo3(get)]
    state: &'static str,
    reasons: serde_json::Value,
    /// The number of the wave's dispatch packet in its queue.
    #[pyo3(get)]
    packet_id: Option<u64>,
    /// The work-group's coordinates in the grid.
    #[pyo3(get)]
    workgroup: Option<(u32, u32, u32)>,
    /// The wave's number in the work-group.
    #[pyo3(get)]
    wave_in_group: Option<u32>,
}

impl CoreWave {
    fn new(core: &Arc<LoadedCore>, wave: &hetdwarf::gpu_core::CoreWave<'_, '_>) -> CoreWave {
        let names: Vec<&str> = wave
            .stops()
            .iter()
            .map(hetdwarf::gpu_core::StopReason::name)
            .collect();
        CoreWave {
            core: Arc::clone(core),
            position: wave.index(),
            index: wave.index() + 1,
            pc: wave.pc().into(),
            exec: wave.exec(),
            wave_size: wave.wave_size().lanes().into(),
            state: wave.state().name(),
            reasons: names.into(),
            packet_id: wave.packet_id(),
            workgroup: wave.workgroup().map(Into::into),
            wave_in_group: wave.wave_in_group(),
        }
    }
}

#[pymethods]
impl CoreWave {
    /// The reasons why the wave stopped, as `hetdwarf-core/1` names them. Empty if a debugger stopped the wave, or if it runs.
    #[getter]
    fn reasons(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        json::to_python(py, &self.reasons)
    }

    /// Returns the stop of the wave.
    #[pyo3(signature = (strict = false))]
    fn stop(&self, py: Python<'_>, strict: bool) -> PyResult<Stop> {
        if strict {
            return Err(Error::new_err("waves of a core cannot be read strictly"));
        }
        let wave = WaveSource::Core(Arc::clone(&self.core), self.position);
        Stop::new(py, StopData::new(None, wave, Reading::Tolerant, false))
    }

    fn __repr__(&self) -> String {
        shown(&format!(
            "<CoreWave {} at {:#x}, {}>",
            self.index, self.pc, self.state
        ))
    }
}
