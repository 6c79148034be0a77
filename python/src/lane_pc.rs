//! Writes lane PCs, the places at which inactive lanes wait, for compilers in Python.

mod graph;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString, PyTuple};

use hetdwarf::arch::WaveSize;
use hetdwarf::lane_pc::graph::recover;
use hetdwarf::lane_pc::{
    AssemblyFunction, Function, Label, MaskPlace, Phase, Program, Region, SectionFunction,
    WholeWave, assembly, sections,
};

use crate::cfi::Relocation;
use crate::error::Failure;

/// The deepest nesting of regions. Structured code has a few levels.
const DEEPEST: u32 = 100;

/// A finished function.
struct Done {
    names: Names,
    size: u64,
    program: Program,
}

/// The name and the symbols of a function.
struct Names {
    name: String,
    start: String,
    end: String,
}

/// A writer of lane PCs. It takes functions by their regions, or by their control-flow graphs, in which it finds the regions. A region is code that
/// lanes enter together and leave one by one.
///
/// ```python
/// >>> writer = hetdwarf.LanePcWriter()
/// >>> choice = {
/// ...     "masks": [(0x08, 0x1c, "s4")],
/// ...     "phases": [
/// ...         {"name": "then", "code": (0x0c, 0x14), "wait": 0x08},
/// ...         {"name": "else", "code": (0x14, 0x1c), "wait": 0x1c},
/// ...     ],
/// ... }
/// >>> writer.function("choose", "choose", ".Lend", 0x24, 32, [choice])
/// >>> ".debug_info" in writer.text("choose.c")
/// True
/// >>> blocks = [                                       # an `if`, of which only blocks are known
/// ...     {"code": (0x00, 0x08), "events": [(0x00, 0x04, "save", "s4"), (0x00, 0x04, "and")], "successors": [1, 2]},
/// ...     {"code": (0x08, 0x10), "successors": [2]},
/// ...     {"code": (0x10, 0x18), "events": [(0x10, 0x14, "restore", "s4")]},
/// ... ]
/// >>> writer.graph("maybe", "maybe", ".Lend2", 64, blocks)
/// []
/// >>> sorted(writer.sections("choose.c"))
/// ['.debug_abbrev', '.debug_info', '.debug_loclists']
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

/// Fails if a dict has a key other than these, which may be misspelt.
fn check_keys(dict: &Bound<'_, PyDict>, what: &str, known: &[&str]) -> PyResult<()> {
    for key in dict.keys() {
        let name = key.extract::<String>();
        if !name.is_ok_and(|name| known.contains(&name.as_str())) {
            let message = format!("{what} has {}, not {}", known.join(", "), key.repr()?);
            return Err(PyTypeError::new_err(message));
        }
    }
    Ok(())
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
    check_keys(dict, "a region", &["masks", "phases"])?;
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
    check_keys(dict, "a phase", &["code", "wait", "name", "regions"])?;
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

fn lanes(wave_size: u64) -> PyResult<WaveSize> {
    let size = WaveSize::from_lanes(wave_size);
    size.ok_or_else(|| PyValueError::new_err("a wave has 32 or 64 lanes"))
}

impl LanePcWriter {
    /// Returns the name and the symbols of a function. Checks that they are valid, and that no other function has the same start.
    fn names(&self, name: String, start: String, end: String) -> PyResult<Names> {
        if name.is_empty() || start.is_empty() || end.is_empty() || start == end {
            let message = "name, start and end are not empty, and start is not end";
            return Err(PyValueError::new_err(message));
        }
        if self.done.iter().any(|done| done.names.start == start) {
            let message = format!("another function starts at {start:?}");
            return Err(PyValueError::new_err(message));
        }
        Ok(Names { name, start, end })
    }
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
        let names = self.names(name, start, end)?;
        let wave_size = lanes(wave_size)?;
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
            names,
            size,
            program,
        });
        Ok(())
    }

    /// Adds a function by its blocks. Its regions are found in the graph. Returns the reason for each part without regions, in which EXEC does not
    /// change as in structured code. The unit does not place inactive lanes there.
    ///
    /// * name, start, end, `wave_size`: as for `function`.
    /// * blocks: its blocks in the order of the code, the entry first. Each is a dict: `code`, `(start, end)`; `name`, in messages;
    ///   `successors`, the indices of the blocks that the wave can go to from here; and `events`, the changes of masks in the block, in order.
    ///   An event is `(start, end, change)`: the range of the instruction and its change, with the masks that the change names. An
    ///   instruction with two changes, such as `s_and_saveexec_b64` (`save`, then `and`), is two events.
    ///
    /// | change | masks | meaning |
    /// |---|---|---|
    /// | `save` | to | a place gets EXEC: the mask of a region begins |
    /// | `save-others` | to | a place gets the active lanes for which the next condition is false: an `else` begins |
    /// | `clear` | to | a place gets no lanes: a mask of lanes that left begins |
    /// | `move` | from, to | a mask is in another place from then on |
    /// | `clobber` | place | a place gets a value that is not a mask |
    /// | `or` | mask | the active lanes are added to a mask of lanes that left |
    /// | `and-not` | mask | the active lanes are taken out of a mask |
    /// | `and` | | EXEC keeps the lanes for which a condition is true |
    /// | `flip` | from | EXEC gets the lanes of a mask that were not active: from `then` to `else` |
    /// | `restore` | from | EXEC gets the lanes of a mask: the saved lanes, or the lanes of an `else` |
    /// | `leave` | | EXEC becomes zero: the active lanes leave the regions from whose masks they were just taken |
    /// | `whole-wave` | | EXEC gets lanes that are not active, for whole or quad wave mode |
    fn graph(
        &mut self,
        name: String,
        start: String,
        end: String,
        wave_size: u64,
        blocks: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let names = self.names(name, start, end)?;
        let found = recover(&graph::graph(&blocks)?, lanes(wave_size)?).map_err(Failure::from)?;
        let size = match found.function.code.end {
            Label::Offset(end) => end,
            // All labels are offsets.
            Label::Symbol(_) => 0,
        };
        self.done.push(Done {
            names,
            size,
            program: Program::new(&found.function).map_err(Failure::from)?,
        });
        Ok(found.refused.iter().map(ToString::to_string).collect())
    }

    /// Returns a DWARF 5 unit with the lane PCs of all functions, as sections by name: the bytes of each, and its relocations. The symbol of a relocation is the start of a function, or the name of a section, which begins with a dot.
    ///
    /// * `unit_name`: the name of the unit.
    fn sections<'py>(&self, py: Python<'py>, unit_name: &str) -> PyResult<Bound<'py, PyDict>> {
        let functions = self.done.iter().map(|done| SectionFunction {
            name: &done.names.name,
            start: &done.names.start,
            size: done.size,
            program: &done.program,
        });
        let written = sections(unit_name, &functions.collect::<Vec<_>>()).map_err(Failure::from)?;
        let dict = PyDict::new(py);
        for section in written {
            let relocations = section.relocations.into_iter();
            let relocations: Vec<Relocation> = relocations.map(Relocation::from).collect();
            let bytes = PyBytes::new(py, &section.bytes);
            dict.set_item(section.name, (bytes, relocations))?;
        }
        Ok(dict)
    }

    /// Returns a DWARF 5 unit with the lane PCs of all functions, as text for an assembler.
    ///
    /// * `unit_name`: the name of the unit.
    fn text(&self, unit_name: &str) -> String {
        let functions = self.done.iter().map(|done| AssemblyFunction {
            name: &done.names.name,
            start: &done.names.start,
            end: &done.names.end,
            program: &done.program,
        });
        assembly(unit_name, &functions.collect::<Vec<_>>())
    }
}
