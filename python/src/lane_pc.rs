//! Writes lane PCs, the places at which inactive lanes wait, for compilers in Python.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};

use hetdwarf::arch::WaveSize;
use hetdwarf::lane_pc::{
    AssemblyFunction, Function, Label, MaskPlace, Phase, Program, Region, WholeWave, assembly,
};

use crate::error::Failure;

/// The deepest nesting of regions. Structured code has a few levels.
const DEEPEST: u32 = 100;

/// A finished function.
struct Done {
    name: String,
    start: String,
    end: String,
    program: Program,
}

/// A writer of lane PCs. It takes functions by their regions. A region is code that lanes enter together and leave one by one.
///
/// ```python
/// >>> writer = hetdwarf.LanePcWriter()
/// >>> choice = {
/// ...     "masks": [(0x08, 0x1c, "s4")],
/// ...     "phases": [
/// ...         {"name": "then", "code": (0x0c, 0x14), "wait": 0x14},
/// ...         {"name": "else", "code": (0x14, 0x1c), "wait": 0x1c},
/// ...     ],
/// ... }
/// >>> writer.function("choose", "choose", ".Lend", 0x24, 32, [choice])
/// >>> ".debug_info" in writer.text("choose.c")
/// True
///
/// ```
#[pyclass(module = "hetdwarf")]
pub struct LanePcWriter {
    done: Vec<Done>,
}

fn wrong(what: &str) -> PyErr {
    PyTypeError::new_err(what.to_owned())
}

fn field<'py>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = dict.get_item(name)?;
    Ok(found.filter(|found| !found.is_none()))
}

/// Returns the entries of a list field, or none if the field is left out.
fn entries<'py>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match field(dict, name)? {
        Some(list) => list.try_iter()?.collect(),
        None => Ok(Vec::new()),
    }
}

/// Reads the place of a mask: `exec` or `s4`; an `int` for a constant mask; `("v40", 3)` for a lane of a vector register; `("s33", 16)` for
/// scratch at a scalar register plus an offset; or `("without", mask, mask)`.
fn mask(value: &Bound<'_, PyAny>, depth: u32) -> PyResult<MaskPlace> {
    let wrong =
        || wrong("a mask is exec, s4, (v40, 3), (s33, 16), an int or (without, mask, mask)");
    let number =
        |name: &str, letter: char| -> Option<u16> { name.strip_prefix(letter)?.parse().ok() };
    if value.is_instance_of::<PyInt>() {
        return Ok(MaskPlace::Constant(value.extract()?));
    }
    if let Ok(name) = value.cast::<PyString>() {
        let name = name.to_string();
        return match (name.as_str(), number(&name, 's')) {
            ("exec", _) => Ok(MaskPlace::Exec),
            (_, Some(register)) => Ok(MaskPlace::Scalar(register)),
            _ => Err(wrong()),
        };
    }
    let tuple = value.cast::<PyTuple>().map_err(|_| wrong())?;
    if tuple.len() == 3 && depth > 0 {
        let (word, whole, gone): (String, Bound<'_, PyAny>, Bound<'_, PyAny>) = tuple.extract()?;
        if word != "without" {
            return Err(wrong());
        }
        return Ok(mask(&whole, 0)?.without(mask(&gone, 0)?));
    }
    let (name, value): (String, u64) = tuple.extract().map_err(|_| wrong())?;
    match (number(&name, 'v'), number(&name, 's')) {
        (Some(vgpr), _) => Ok(MaskPlace::VectorLane {
            vgpr,
            lane: u8::try_from(value)
                .ok()
                .filter(|lane| *lane < 64)
                .ok_or_else(|| PyValueError::new_err(format!("there is no lane {value}")))?,
        }),
        (None, Some(base)) => Ok(MaskPlace::Scratch {
            base,
            offset: value,
        }),
        (None, None) => Err(wrong()),
    }
}

fn region(value: &Bound<'_, PyAny>, depth: u32) -> PyResult<Region> {
    let depth = depth.checked_sub(1);
    let depth = depth.ok_or_else(|| PyValueError::new_err("regions are nested too deeply"))?;
    let dict = value
        .cast::<PyDict>()
        .map_err(|_| wrong("a region is a dict with masks and phases"))?;
    let mut masks = Vec::new();
    for entry in entries(dict, "masks")? {
        let (start, end, place): (u64, u64, Bound<'_, PyAny>) = entry.extract()?;
        masks.push((start.into()..end.into(), mask(&place, 1)?));
    }
    let mut phases = Vec::new();
    for entry in entries(dict, "phases")? {
        phases.push(phase(&entry, depth)?);
    }
    Ok(Region::new(masks, phases))
}

fn phase(value: &Bound<'_, PyAny>, depth: u32) -> PyResult<Phase> {
    let dict = value.cast::<PyDict>();
    let dict = dict.map_err(|_| wrong("a phase is a dict with code, wait, name and regions"))?;
    let code = field(dict, "code")?.ok_or_else(|| wrong("a phase has code: (start, end)"))?;
    let (start, end): (u64, u64) = code.extract()?;
    let name = field(dict, "name")?
        .map(|name| name.extract::<String>())
        .transpose()?;
    let known = ["then", "else", "loop", "continue", "return"];
    let name = match name.as_deref() {
        None => "part",
        Some(name) => *known.iter().find(|known| **known == name).ok_or_else(|| {
            PyValueError::new_err("name is none of then, else, loop, continue and return")
        })?,
    };
    let mut made = Phase::new(name, start.into()..end.into(), Label::from(0));
    made.wait = match field(dict, "wait")? {
        Some(wait) => Some(wait.extract::<u64>()?.into()),
        None => None,
    };
    let inner = entries(dict, "regions")?.into_iter();
    made.regions = inner
        .map(|inner| region(&inner, depth))
        .collect::<PyResult<_>>()?;
    Ok(made)
}

#[pymethods]
impl LanePcWriter {
    /// Creates a writer without functions.
    #[new]
    fn new() -> LanePcWriter {
        LanePcWriter { done: Vec::new() }
    }

    /// Adds a function. All code positions are in bytes from its start.
    ///
    /// * name: the name in the source.
    /// * start, end: the symbols at its first instruction and after its last.
    /// * size: the size of its code, in bytes.
    /// * `wave_size`: the lanes of a wave, 32 or 64.
    /// * regions: the regions of the function's body, in the order of the code. Each is a dict with `masks` and `phases`. `masks` is a list
    ///   of `(start, end, mask)`: the place of the mask of the region's lanes, active or inactive. `phases` is a list of dicts with `code`,
    ///   `(start, end)`; `wait`, the place at which inactive lanes of the region wait, left out if unknown; `name`, one of `then`, `else`,
    ///   `loop`, `continue` and `return`; and `regions`, the regions inside the phase. A mask is `"exec"`, `"s4"`, `("v40", 3)` for a lane
    ///   of a vector register, `("s33", 16)` for scratch at a scalar register plus an offset, an `int` for a constant mask, or `("without",
    ///   mask, mask)`.
    /// * `whole_wave`: a list of `(start, end, mask)`: code that runs with more lanes than the source specifies, and the place of the mask
    ///   of active lanes during this code.
    #[pyo3(signature = (name, start, end, size, wave_size, regions, whole_wave = None))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn function(
        &mut self,
        name: String,
        start: String,
        end: String,
        size: u64,
        wave_size: u64,
        regions: Vec<Bound<'_, PyAny>>,
        whole_wave: Option<Vec<(u64, u64, Bound<'_, PyAny>)>>,
    ) -> PyResult<()> {
        if name.is_empty() || start.is_empty() || end.is_empty() || start == end {
            let message = "name, start and end are not empty, and start is not end";
            return Err(PyValueError::new_err(message));
        }
        if self.done.iter().any(|done| done.start == start) {
            let message = format!("another function starts at {start:?}");
            return Err(PyValueError::new_err(message));
        }
        let wave_size = WaveSize::from_lanes(wave_size);
        let wave_size =
            wave_size.ok_or_else(|| PyValueError::new_err("a wave has 32 or 64 lanes"))?;
        let sections = whole_wave.unwrap_or_default().into_iter();
        let sections = sections.map(|(start, end, active)| {
            Ok(WholeWave {
                code: start.into()..end.into(),
                active: mask(&active, 1)?,
            })
        });
        let regions = regions.iter().map(|one| region(one, DEEPEST));
        let function = Function {
            code: 0.into()..size.into(),
            wave_size,
            regions: regions.collect::<PyResult<_>>()?,
            whole_wave: sections.collect::<PyResult<_>>()?,
        };
        let program = Program::new(&function).map_err(Failure::from)?;
        self.done.push(Done {
            name,
            start,
            end,
            program,
        });
        Ok(())
    }

    /// Returns a DWARF 5 unit with the lane PCs of all functions, as text for an assembler.
    ///
    /// * `unit_name`: the name of the unit.
    fn text(&self, unit_name: &str) -> String {
        let functions = self.done.iter().map(|done| AssemblyFunction {
            name: &done.name,
            start: &done.start,
            end: &done.end,
            program: &done.program,
        });
        assembly(unit_name, &functions.collect::<Vec<_>>())
    }
}
