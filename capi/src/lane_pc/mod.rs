//! Writes `DW_AT_LLVM_lane_pc` from a back end's control flow, structured or as a graph: as text for an assembler, or as sections.

mod graph;
mod sections;

use core::cell::RefCell;
use core::ffi::c_char;
use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::Arc;

use hetdwarf::arch::WaveSize;
use hetdwarf::lane_pc::{
    AssemblyFunction, Function, Label, MaskPlace, Phase, Program, Region, WholeWave, assembly,
};

pub use self::graph::*;
use self::sections::Written;
pub use self::sections::{hetdwarf_lane_pcs_section, hetdwarf_lane_pcs_write};
use crate::handle::{give, handles, with};
use crate::plain::{self, sized};
use crate::status::hetdwarf_status::HETDWARF_NOT_FOUND;
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::text::{Texts, given, given_if};

/// The mask is in EXEC itself.
pub const HETDWARF_LANES_EXEC: u32 = 0;
/// The mask is in scalar register `number`. A mask of 64 lanes also uses the register after it.
pub const HETDWARF_LANES_SCALAR: u32 = 1;
/// The mask is in lane `value` of vector register `number`. A mask of 64 lanes also uses the lane after it.
pub const HETDWARF_LANES_VECTOR_LANE: u32 = 2;
/// The mask is in scratch, at the wave's address in scalar register `number` plus `value`.
pub const HETDWARF_LANES_SCRATCH: u32 = 3;
/// The mask is always `value`.
pub const HETDWARF_LANES_CONSTANT: u32 = 4;

/// The place of a mask of lanes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_mask {
    /// `HETDWARF_LANES_…`.
    pub kind: u32,
    /// The number of the register, as the assembler counts registers.
    pub number: u32,
    /// See the kinds.
    pub value: u64,
}

/// A range of code: from `start` up to, but not including, `end`, in bytes from the start of the function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_range {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

/// Inactive lanes wait at `wait`.
pub const HETDWARF_PHASE_WAITS: u32 = 1;

/// A part of a region's code during which its inactive lanes wait in one place.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_phase {
    /// `sizeof(hetdwarf_phase)`.
    pub size: usize,
    /// The code of the phase. It starts after the instruction that changes EXEC.
    pub code: hetdwarf_range,
    /// The place at which inactive lanes of the region wait, in bytes from the start of the function.
    pub wait: u64,
    /// `HETDWARF_PHASE_WAITS`; without this flag, it is unknown where inactive lanes wait.
    pub flags: u32,
    /// Zero.
    pub padding: u32,
    /// The suffix of procedure names: `then`, `else`, `loop`, `continue` or `return`; NULL for `part`.
    pub name: *const c_char,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_phase }

/// A region or a phase that has begun and not ended.
enum Open {
    Region {
        masks: Vec<(Range<Label>, MaskPlace)>,
        phases: Vec<Phase>,
    },
    Phase(Phase),
}

/// A function with complete regions.
struct Done {
    /// The size of its code in bytes.
    size: u64,
    name: String,
    start: String,
    end: String,
    program: Program,
}

/// A function that has begun.
struct Begun {
    size: u64,
    names: Names,
    function: Function,
    open: Vec<Open>,
}

/// The contents of a writer's handle.
#[derive(Default)]
pub(crate) struct Writer {
    done: RefCell<Vec<Done>>,
    begun: RefCell<Option<Begun>>,
    /// The starts of the finished functions.
    starts: RefCell<BTreeSet<String>>,
    /// The reasons why parts of the last added graph have no lane PCs.
    refused: RefCell<Vec<String>>,
    written: RefCell<Vec<Written>>,
    texts: Texts,
}

/// A writer of lane PCs: the places at which inactive lanes wait. Free it with `hetdwarf_free`.
///
/// Begin a function, then its regions in the order of the code. Each region has masks and phases, and a phase can contain regions. End them
/// in reverse order. If only the blocks of a function are known, `hetdwarf_lane_pcs_add_graph` finds its regions.
#[derive(Debug)]
pub struct hetdwarf_lane_pcs {
    _private: [u8; 0],
}

handles! { hetdwarf_lane_pcs: Writer = b"hdwlnpc\x01"; }

fn wave_size(lanes: u32) -> Answer<WaveSize> {
    let size = WaveSize::from_lanes(lanes.into());
    size.ok_or_else(|| Fault::argument("a wave has 32 or 64 lanes"))
}

fn labels(range: hetdwarf_range) -> Answer<Range<Label>> {
    if range.start > range.end {
        return Err(Fault::argument(format!(
            "{:#x} is after {:#x}",
            range.start, range.end
        )));
    }
    Ok(Label::from(range.start)..Label::from(range.end))
}

fn mask(mask: hetdwarf_mask) -> Answer<MaskPlace> {
    let number = u16::try_from(mask.number);
    let number =
        || number.map_err(|_| Fault::argument(format!("there is no register {}", mask.number)));
    Ok(match mask.kind {
        HETDWARF_LANES_EXEC => MaskPlace::Exec,
        HETDWARF_LANES_SCALAR => MaskPlace::Scalar(number()?),
        HETDWARF_LANES_VECTOR_LANE => MaskPlace::VectorLane {
            vgpr: number()?,
            lane: u8::try_from(mask.value)
                .ok()
                .filter(|lane| *lane < 64)
                .ok_or_else(|| Fault::argument(format!("there is no lane {}", mask.value)))?,
        },
        HETDWARF_LANES_SCRATCH => MaskPlace::Scratch {
            base: number()?,
            offset: mask.value,
        },
        HETDWARF_LANES_CONSTANT => MaskPlace::Constant(mask.value),
        other => return Err(Fault::argument(format!("there is no mask {other}"))),
    })
}

fn phase_name(name: Option<&str>) -> Answer<&'static str> {
    Ok(match name {
        None => "part",
        Some("then") => "then",
        Some("else") => "else",
        Some("loop") => "loop",
        Some("continue") => "continue",
        Some("return") => "return",
        Some(_) => {
            return Err(Fault::argument(
                "name is none of then, else, loop, continue and return",
            ));
        }
    })
}

/// The deepest nesting of regions. Structured code has a few levels.
const DEEPEST: usize = 1000;

/// The name and labels of a function.
struct Names {
    name: String,
    start: String,
    end: String,
}

impl Writer {
    /// Reads the name and labels of a function. They must be unique.
    ///
    /// # Safety
    /// The pointers are NULL or NUL-terminated strings.
    unsafe fn names(
        &self,
        name: *const c_char,
        start: *const c_char,
        end: *const c_char,
    ) -> Answer<Names> {
        // SAFETY: the caller keeps the contract of this function.
        let text = |text, what: &str| match unsafe { given(text, what) }? {
            "" => Err(Fault::argument(format!("{what} is empty"))),
            text => Ok(text.to_owned()),
        };
        let names = Names {
            name: text(name, "name")?,
            start: text(start, "start")?,
            end: text(end, "end")?,
        };
        let place = hetdwarf::Untrusted::from(&*names.start);
        if names.start == names.end {
            return Err(Fault::argument(format!("start and end are both {place}")));
        }
        if self.starts.borrow().contains(&names.start) {
            let message = format!("another function starts at {place}");
            return Err(Fault::argument(message));
        }
        Ok(names)
    }

    /// Adds a finished function.
    fn add(&self, Names { name, start, end }: Names, size: u64, program: Program) {
        self.starts.borrow_mut().insert(start.clone());
        self.done.borrow_mut().push(Done {
            size,
            name,
            start,
            end,
            program,
        });
    }

    fn with_begun<R>(&self, then: impl FnOnce(&mut Begun) -> Answer<R>) -> Answer<R> {
        let mut begun = self.begun.borrow_mut();
        let begun = begun.as_mut();
        then(begun.ok_or_else(|| Fault::new(HETDWARF_NOT_FOUND, "no function has been begun"))?)
    }
}

fn out_of_order(what: &str) -> Fault {
    Fault::argument(format!("{what} is not allowed here"))
}

/// Creates a writer of lane PCs.
///
/// * `lane_pcs`: gets the handle, which the caller frees; NULL on error.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_new(
    lane_pcs: *mut *mut hetdwarf_lane_pcs,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe { give(lane_pcs, || Ok((Arc::default(), Writer::default()))) })
}

/// Begins a function.
///
/// * `name`: the name in the source.
/// * `start`, `end`: the symbols at its first instruction and after its last.
/// * `size`: the size of its code, in bytes.
/// * `wave_size`: the lanes of a wave, 32 or 64.
///
/// Errors: `HETDWARF_INVALID_ARGUMENT` also if another function has not been ended, if a name is empty, if `start` and `end` are equal, or
/// if another function starts at `start`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_begin_function(
    lane_pcs: *mut hetdwarf_lane_pcs,
    name: *const c_char,
    start: *const c_char,
    end: *const c_char,
    size: u64,
    wave_size: u32,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            let begun = Begun {
                size,
                names: writer.names(name, start, end)?,
                function: Function {
                    code: Label::from(0)..Label::from(size),
                    wave_size: self::wave_size(wave_size)?,
                    regions: Vec::new(),
                    whole_wave: Vec::new(),
                },
                open: Vec::new(),
            };
            let mut place = writer.begun.borrow_mut();
            if place.is_some() {
                return Err(out_of_order("a function"));
            }
            *place = Some(begun);
            Ok(())
        })
    })
}

/// Begins a region in the function or in a phase. A region is code that lanes enter together and leave one by one.
///
/// Errors: `HETDWARF_NOT_FOUND` if no function was begun.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_begin_region(
    lane_pcs: *mut hetdwarf_lane_pcs,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            writer.with_begun(|begun| match begun.open.last() {
                None | Some(Open::Phase(_)) if begun.open.len() < DEEPEST => {
                    begun.open.push(Open::Region {
                        masks: Vec::new(),
                        phases: Vec::new(),
                    });
                    Ok(())
                }
                _ => Err(out_of_order("a region")),
            })
        })
    })
}

/// Sets the place of the mask of the region's lanes: the lanes that entered it and did not leave for good, active or inactive.
///
/// * `code`: the code of the region for which this place holds.
/// * `place`: the place of the mask.
/// * `without`: a mask of lanes that have left, which are excluded; NULL if there is none.
///
/// Errors: `HETDWARF_NOT_FOUND` if no function was begun.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_mask(
    lane_pcs: *mut hetdwarf_lane_pcs,
    code: hetdwarf_range,
    place: hetdwarf_mask,
    without: *const hetdwarf_mask,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            let mut place = mask(place)?;
            if !without.is_null() {
                place = place.without(mask(without.read())?);
            }
            let code = labels(code)?;
            writer.with_begun(|begun| match begun.open.last_mut() {
                Some(Open::Region { masks, .. }) => {
                    masks.push((code, place));
                    Ok(())
                }
                _ => Err(out_of_order("a mask")),
            })
        })
    })
}

/// Begins a phase of the region.
///
/// * `phase`: the facts about the phase.
///
/// Errors: `HETDWARF_NOT_FOUND` if no function was begun.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_begin_phase(
    lane_pcs: *mut hetdwarf_lane_pcs,
    phase: *const hetdwarf_phase,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            let phase = plain::read(phase)?;
            if phase.flags > HETDWARF_PHASE_WAITS {
                return Err(Fault::argument(format!(
                    "unknown flags of a phase: {:#x}",
                    phase.flags
                )));
            }
            let name = phase_name(given_if(phase.name, "name")?)?;
            let mut made = Phase::new(name, labels(phase.code)?, phase.wait.into());
            if phase.flags & HETDWARF_PHASE_WAITS == 0 {
                made.wait = None;
            }
            writer.with_begun(|begun| match begun.open.last() {
                Some(Open::Region { .. }) => {
                    begun.open.push(Open::Phase(made));
                    Ok(())
                }
                _ => Err(out_of_order("a phase")),
            })
        })
    })
}

/// Marks code that runs with more lanes than the source specifies: whole or quad wave mode.
///
/// * `code`: the code, which starts after the instruction that sets EXEC.
/// * `active`: the place of the mask of active lanes during this code.
///
/// Errors: `HETDWARF_NOT_FOUND` if no function was begun.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_whole_wave(
    lane_pcs: *mut hetdwarf_lane_pcs,
    code: hetdwarf_range,
    active: hetdwarf_mask,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            let code = labels(code)?;
            let active = mask(active)?;
            writer.with_begun(|begun| {
                begun.function.whole_wave.push(WholeWave { code, active });
                Ok(())
            })
        })
    })
}

/// Ends the phase, region or function that was begun last. Ending the function checks it.
///
/// Errors: `HETDWARF_NOT_FOUND` if nothing was begun; `HETDWARF_MALFORMED` or `HETDWARF_UNSUPPORTED` if the regions of the function do not
/// nest. The function is then dropped.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_end(
    lane_pcs: *mut hetdwarf_lane_pcs,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            let is_function = writer.with_begun(|begun| {
                match begun.open.pop() {
                    None => return Ok(true),
                    Some(Open::Phase(phase)) => match begun.open.last_mut() {
                        Some(Open::Region { phases, .. }) => phases.push(phase),
                        _ => return Err(out_of_order("the end of a phase")),
                    },
                    Some(Open::Region { masks, phases }) => {
                        let region = Region::new(masks, phases);
                        match begun.open.last_mut() {
                            Some(Open::Phase(phase)) => phase.regions.push(region),
                            _ => begun.function.regions.push(region),
                        }
                    }
                }
                Ok(false)
            })?;
            if is_function && let Some(begun) = writer.begun.borrow_mut().take() {
                let program = Program::new(&begun.function)?;
                writer.add(begun.names, begun.size, program);
            }
            Ok(())
        })
    })
}

/// Writes a DWARF 5 unit with the lane PCs of all ended functions, as text for an assembler.
///
/// * `unit_name`: the name of the unit.
/// * `text`: gets a string that belongs to the writer.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_text(
    lane_pcs: *mut hetdwarf_lane_pcs,
    unit_name: *const c_char,
    text: *mut *const c_char,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            let unit_name = given(unit_name, "unit_name")?;
            let done = writer.done.borrow();
            let functions = done.iter().map(|done| AssemblyFunction {
                name: &done.name,
                start: &done.start,
                end: &done.end,
                program: &done.program,
            });
            let functions: Vec<AssemblyFunction<'_>> = functions.collect();
            let all = assembly(unit_name, &functions);
            plain::put(text, writer.texts.keep(&all), "text")
        })
    })
}
