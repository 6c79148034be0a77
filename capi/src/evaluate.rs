//! Expressions of DWARF: evaluated, and their results walked, read and written through.

use core::ffi::c_char;
use std::sync::Arc;

use hetdwarf::arch::{Lane, Register, WaveSize};
use hetdwarf::eval::{
    Context, ExpressionBytes, Frame as _, LaneFocus, Outcome, ResultKind, Subprogram, Unit,
    evaluate,
};
use hetdwarf::expr::{Encoding, ParseOptions, parse};
use hetdwarf::location::{
    Access, Arena, LaneSelect, Location, Place, Storage, read, read_lanes, write,
};
use hetdwarf::wave::{AccessError, Memory, Wave};
use hetdwarf_owned::Pinned;

use crate::bits::{self, hetdwarf_bits};
use crate::handle::{Lock, beside, give, handles, with};
use crate::plain::{self, sized};
use crate::status::hetdwarf_status::*;
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::stop::{SharedStop, hetdwarf_stop, lane_of};
use crate::text::{Texts, given_if};
use crate::values::hetdwarf_values;

/// A result of either kind.
pub const HETDWARF_RESULT_ANY: u32 = 0;
/// A location; a value is converted where HET allows it.
pub const HETDWARF_RESULT_LOCATION: u32 = 1;
/// A value; a location is converted where HET allows it.
pub const HETDWARF_RESULT_VALUE: u32 = 2;

/// No value is available.
pub const HETDWARF_STORAGE_UNDEFINED: u32 = 0;
/// The memory of an address space.
pub const HETDWARF_STORAGE_MEMORY: u32 = 1;
/// A register.
pub const HETDWARF_STORAGE_REGISTER: u32 = 2;
/// A value that can only be read.
pub const HETDWARF_STORAGE_IMPLICIT: u32 = 3;
/// A pointer that was optimised away although what it points to is known.
pub const HETDWARF_STORAGE_IMPLICIT_POINTER: u32 = 4;
/// Parts in several places.
pub const HETDWARF_STORAGE_COMPOSITE: u32 = 5;

/// In place of a unit's offset: the unit of the frame's function, or none without a stop.
pub const HETDWARF_UNIT_OF_FRAME: u64 = u64::MAX;

/// An expression, and what it is evaluated in.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_evaluation {
    /// `sizeof(hetdwarf_evaluation)`.
    pub size: usize,
    /// The operations; NULL if `text` is given.
    pub bytes: *const u8,
    /// How many bytes.
    pub length: usize,
    /// Operations as llvm-dwarfdump prints them, separated by commas; NULL if `bytes` is given.
    pub text: *const c_char,
    /// The stopped wave; NULL for an expression that needs none.
    pub stop: *const hetdwarf_stop,
    /// The level of the call frame; 0 is the innermost.
    pub level: usize,
    /// The unit whose entries the expression refers to: the offset of its header in `.debug_info`, or
    /// `HETDWARF_UNIT_OF_FRAME`.
    pub unit_offset: u64,
    /// The lane in focus; `HETDWARF_NO_LANE` if there is none.
    pub lane: i32,
    /// `HETDWARF_RESULT_…`.
    pub result: u32,
    /// The current object, a location; NULL if there is none.
    pub object: *const hetdwarf_result,
    /// What is on the stack at the start, the lowest entry first; NULL if there is nothing.
    pub initial: *const *const hetdwarf_result,
    /// How many entries that are.
    pub initial_count: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A result at a glance. Strings belong to the result; NULL if there is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_result_info {
    /// `sizeof(hetdwarf_result_info)`, set by the caller.
    pub size: usize,
    /// How many places a location has, at least one; 0 of a value. An object is written to all, and read from any.
    pub place_count: usize,
    /// Of a value how its bits are read: `generic`, `signed`, `unsigned`, `float`, `boolean`, `address`, `signed_char`,
    /// `unsigned_char`, `utf` or `other`.
    pub encoding: *const c_char,
    /// The size of a value, in bits, at most 128.
    pub bit_size: u64,
    /// Its bits, the lowest first.
    pub bytes: [u8; 16],
    /// Zero.
    pub reserved: [u64; 4],
}

/// A place: what the specification calls a single location description. Strings and bytes belong to the result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_place {
    /// `sizeof(hetdwarf_place)`, set by the caller.
    pub size: usize,
    /// `HETDWARF_STORAGE_…`; the fields that it has none of are 0.
    pub storage: u32,
    /// The bit in the byte at which the object starts, 0 to 7.
    pub bit: u32,
    /// The byte of the storage at which the object starts: the address, of memory.
    pub byte_offset: u64,
    /// Of memory, and of implicit pointers: the number of the address space in DWARF.
    pub address_space: u32,
    /// Of memory the lane whose memory it is; `HETDWARF_NO_LANE` if the space is not specific to a lane.
    pub lane: i32,
    /// The name of the address space, or of the register as the assembler has it; NULL if there is none.
    pub name: *const c_char,
    /// Of a register its DWARF number.
    pub register_number: u32,
    /// Zero.
    pub padding: u32,
    /// The size of implicit values and composites, in bits; `UINT64_MAX` if it is larger than that.
    pub bit_size: u64,
    /// The bits of an implicit value, as many bytes as they need.
    pub bytes: *const u8,
    /// Of an implicit pointer the offset, in `.debug_info`, of the entry that describes what it points to.
    pub entry: u64,
    /// Of an implicit pointer how many bytes from the start of that it points.
    pub pointer_offset: i64,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A part of a composite.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_part {
    /// `sizeof(hetdwarf_part)`, set by the caller.
    pub size: usize,
    /// The bit of the composite at which it starts.
    pub start: u64,
    /// Its size, in bits; the next part is at `start + bit_size`.
    pub bit_size: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_evaluation hetdwarf_result_info hetdwarf_place hetdwarf_part }

/// What results borrow from: dropped after them.
struct Home {
    /// Where composites and constants are: of this evaluation, and of those whose results it was given.
    arenas: Vec<Arc<Pinned<Arena<'static>>>>,
    stop: Option<SharedStop>,
}

/// What is behind a handle of a result.
pub(crate) struct Answered {
    outcome: Outcome<'static>,
    /// The lane that it was made for.
    lane: Option<Lane>,
    texts: Texts,
    home: Arc<Home>,
}

/// What an expression denotes: a location or a value. Free it with `hetdwarf_free`.
#[derive(Debug)]
pub struct hetdwarf_result {
    _private: [u8; 0],
}

handles! { hetdwarf_result: Answered = b"hdwrslt\x01"; }

/// A wave of which nothing is known, to read constants with.
struct NoWave;

impl Wave for NoWave {
    fn wave_size(&self) -> WaveSize {
        WaveSize::Wave64
    }

    fn read_register(
        &self,
        _: Register,
        _: core::ops::Range<u32>,
        _: &mut [u8],
    ) -> Result<(), AccessError> {
        Err(AccessError::Unavailable)
    }

    fn read_memory(&self, _: Memory, _: u64, _: &mut [u8]) -> Result<(), AccessError> {
        Err(AccessError::Unavailable)
    }
}

/// The most bits that are read or written at once.
const MOST_BITS: u64 = 1 << 24;

impl Answered {
    fn wave(&self) -> &dyn Wave {
        match &self.home.stop {
            Some(stop) => stop.stop().wave(),
            None => &NoWave,
        }
    }

    fn location(&self) -> Answer<Location<'static>> {
        match self.outcome {
            Outcome::Location(location) => Ok(location),
            Outcome::Value(_) => Err(Fault::argument("the result is a value, not a location")),
        }
    }

    /// The same for a value, which is a place that can only be read.
    fn readable(&self) -> Location<'static> {
        match self.outcome {
            Outcome::Location(location) => location,
            Outcome::Value(value) => {
                let bit_size = u16::try_from(value.base_type.bit_size).unwrap_or(u16::MAX);
                let bits = value.bits;
                Location::One(Place::new(Storage::Value { bits, bit_size }, 0))
            }
        }
    }

    fn place(&self, index: usize) -> Answer<Place<'static>> {
        let location = self.location()?;
        let place = location.places().get(index).copied();
        place.ok_or_else(|| Fault::not_found(format!("there is no place {index}")))
    }

    /// The lane to read or write for: the caller's, or that for which the result was made.
    fn lane(&self, number: i32) -> Answer<Option<Lane>> {
        Ok(lane_of(number, self.wave())?.or(self.lane))
    }

    /// A part of the same result.
    fn other(&self, location: Location<'static>) -> Answered {
        Answered {
            outcome: Outcome::Location(location),
            lane: self.lane,
            texts: Texts::default(),
            home: Arc::clone(&self.home),
        }
    }

    fn describe(&self, place: &Place<'static>) -> hetdwarf_place {
        let offset = self.lane.and_then(|lane| place.bit_offset_in(lane));
        let offset = offset.unwrap_or(place.bit_offset);
        let texts = &self.texts;
        let none = hetdwarf_place {
            size: 0,
            storage: HETDWARF_STORAGE_UNDEFINED,
            bit: u32::try_from(offset % 8).unwrap_or(0),
            byte_offset: u64::try_from(offset / 8).unwrap_or(u64::MAX),
            address_space: 0,
            lane: crate::wave::HETDWARF_NO_LANE,
            name: core::ptr::null(),
            register_number: 0,
            padding: 0,
            bit_size: 0,
            bytes: core::ptr::null(),
            entry: 0,
            pointer_offset: 0,
            reserved: [0; 4],
        };
        match place.storage {
            Storage::Undefined => none,
            Storage::Memory { space, lane } => hetdwarf_place {
                storage: HETDWARF_STORAGE_MEMORY,
                address_space: space.number().into(),
                name: texts.keep(space.name()),
                lane: match lane {
                    LaneSelect::None => none.lane,
                    LaneSelect::One(lane) => lane.0.into(),
                    LaneSelect::Each => self.lane.map_or(none.lane, |lane| lane.0.into()),
                },
                ..none
            },
            Storage::Register(register) => hetdwarf_place {
                storage: HETDWARF_STORAGE_REGISTER,
                name: texts.keep(&register.to_string()),
                register_number: register.number().into(),
                ..none
            },
            Storage::Value { bits, bit_size } => {
                let length = usize::from(bit_size.div_ceil(8));
                let bytes = bits.to_le_bytes();
                let bytes = bytes.get(..length).unwrap_or(&bytes);
                hetdwarf_place {
                    storage: HETDWARF_STORAGE_IMPLICIT,
                    bit_size: bit_size.into(),
                    bytes: texts.keep_bytes(bytes),
                    ..none
                }
            }
            Storage::Constant(bytes) => hetdwarf_place {
                storage: HETDWARF_STORAGE_IMPLICIT,
                bit_size: (bytes.len() as u64).saturating_mul(8),
                bytes: bytes.as_ptr(),
                ..none
            },
            Storage::ImplicitPointer(pointer) => hetdwarf_place {
                storage: HETDWARF_STORAGE_IMPLICIT_POINTER,
                address_space: pointer.space.number().into(),
                name: texts.keep(pointer.space.name()),
                bit_size: pointer.bit_size.into(),
                entry: pointer.entry,
                pointer_offset: pointer.byte_offset,
                ..none
            },
            Storage::Composite(composite) => hetdwarf_place {
                storage: HETDWARF_STORAGE_COMPOSITE,
                bit_size: u64::try_from(composite.bit_size()).unwrap_or(u64::MAX),
                ..none
            },
        }
    }
}

/// What an evaluation starts from.
struct Start {
    bytes: Option<Vec<u8>>,
    text: Option<String>,
    kind: ResultKind,
    object: Option<Location<'static>>,
    initial: Vec<Outcome<'static>>,
    /// What object and initial stack borrow from.
    arenas: Vec<Arc<Pinned<Arena<'static>>>>,
}

impl Start {
    /// # Safety
    /// The pointers are as `hetdwarf_evaluation` says.
    unsafe fn read(given: &hetdwarf_evaluation, lock: &Arc<Lock>) -> Answer<Start> {
        let mut arenas: Vec<Arc<Pinned<Arena<'static>>>> = Vec::new();
        let mut keep = |known: &Answered| {
            for arena in &known.home.arenas {
                if !arenas.iter().any(|other| Arc::ptr_eq(other, arena)) {
                    arenas.push(Arc::clone(arena));
                }
            }
        };
        // SAFETY: as the caller says.
        unsafe {
            let text = given_if(given.text, "text")?;
            let bytes = plain::bytes(given.bytes, given.length, "bytes")?;
            if text.is_some() && !bytes.is_empty() {
                return Err(Fault::argument("bytes and text are given"));
            }
            let object = match given.object.is_null() {
                true => None,
                false => Some(beside(given.object, lock, |known| {
                    keep(known);
                    known.location()
                })?),
            };
            let mut initial = Vec::new();
            if given.initial_count > 0 && given.initial.is_null() {
                return Err(Fault::argument("initial is NULL"));
            }
            for at in 0..given.initial_count {
                let entry = given.initial.add(at).read();
                initial.push(beside(entry, lock, |known| {
                    keep(known);
                    Ok(known.outcome)
                })?);
            }
            Ok(Start {
                bytes: text.is_none().then(|| bytes.to_vec()),
                text: text.map(str::to_owned),
                kind: match given.result {
                    HETDWARF_RESULT_ANY => ResultKind::Any,
                    HETDWARF_RESULT_LOCATION => ResultKind::Location,
                    HETDWARF_RESULT_VALUE => ResultKind::Value,
                    other => {
                        return Err(Fault::argument(format!(
                            "there is no kind of result {other}"
                        )));
                    }
                },
                object,
                initial,
                arenas,
            })
        }
    }

    /// The expression's bytes in an arena.
    fn expression(
        &self,
        unit: Unit,
        unit_offset: u64,
        wave_size: WaveSize,
        arena: &'static Arena<'static>,
    ) -> Answer<ExpressionBytes<'static>> {
        let unit = Unit {
            encoding: unit.encoding.in_memory(),
            ..unit
        };
        let bytes = match (&self.text, &self.bytes) {
            (Some(text), _) => {
                let options = ParseOptions {
                    wave_size,
                    encoding: unit.encoding,
                    unit_offset,
                };
                parse(text, &options)?.encode(unit.encoding)?
            }
            (None, bytes) => bytes.clone().unwrap_or_default(),
        };
        Ok(ExpressionBytes::alone(arena.keep(bytes), unit))
    }
}

/// Evaluates an expression, in a frame if there is a stop.
fn answer(
    given: &hetdwarf_evaluation,
    start: Start,
    stop: Option<&SharedStop>,
) -> Answer<Answered> {
    #[expect(
        clippy::arc_with_non_send_sync,
        reason = "the lock lets one thread at a time use it"
    )]
    let arena = Arc::new(Pinned::new(Arena::new()));
    // SAFETY: the home of the result drops it after the result.
    let place = unsafe { arena.borrow() };
    let outcome = match stop {
        Some(stop) => in_frame(given, &start, stop, place)?,
        None => {
            let context = Context {
                lane: focus(lane_of(given.lane, &NoWave)?),
                initial_stack: &start.initial,
                object: start.object,
                ..Context::new(place)
            };
            let unit = Unit::unknown(Encoding::AMDGPU);
            let expression = start.expression(unit, 0, WaveSize::Wave64, place)?;
            evaluate(&expression, start.kind, &context)?
        }
    };
    let wave: &dyn Wave = stop.map_or(&NoWave, |stop| stop.stop().wave());
    let mut arenas = start.arenas;
    arenas.push(arena);
    Ok(Answered {
        outcome,
        lane: lane_of(given.lane, wave)?,
        texts: Texts::default(),
        home: home(arenas, stop.map(Arc::clone)),
    })
}

#[expect(
    clippy::arc_with_non_send_sync,
    reason = "the lock lets one thread at a time use it"
)]
fn home(arenas: Vec<Arc<Pinned<Arena<'static>>>>, stop: Option<SharedStop>) -> Arc<Home> {
    Arc::new(Home { arenas, stop })
}

fn focus(lane: Option<Lane>) -> LaneFocus {
    lane.map_or(LaneFocus::None, LaneFocus::One)
}

/// The same in a call frame, with the debugging information of its object.
fn in_frame(
    given: &hetdwarf_evaluation,
    start: &Start,
    data: &SharedStop,
    arena: &'static Arena<'static>,
) -> Answer<Outcome<'static>> {
    let frame = data.frame(given.level)?;
    let stop = data.stop();
    let wave = stop.wave();
    let info = stop.program().info();
    let call_frame = frame.call_frame();
    let function = frame.function()?;
    let context = Context {
        wave: Some(wave),
        processor: Some(stop.program().processor()),
        lane: focus(lane_of(given.lane, wave)?),
        frame: Some(&call_frame),
        pc: Some(call_frame.lookup_address()),
        load_address: stop.options().load_address,
        resolver: Some(&info),
        subprogram: function.as_ref().map(|function| Subprogram {
            frame_base: function.frame_base,
            lanes: function.simt.lanes,
            iterations: None,
        }),
        object: start.object,
        initial_stack: &start.initial,
        reading: stop.options().reading,
        limits: *stop.limits(),
        ..Context::new(arena)
    };
    let unit = match given.unit_offset {
        HETDWARF_UNIT_OF_FRAME => function.map(|function| function.die.unit),
        offset => {
            let is_meant = |id: &_| info.unit_info(*id).is_ok_and(|unit| unit.offset == offset);
            let found = info.unit_ids().find(is_meant);
            let no_such = || Fault::not_found(format!("there is no unit at {offset:#x}"));
            Some(found.ok_or_else(no_such)?)
        }
    };
    let (unit, unit_offset) = match unit.or_else(|| info.unit_ids().next()) {
        Some(id) => (info.eval_unit(id)?, info.unit_info(id)?.offset),
        None => (Unit::unknown(Encoding::AMDGPU), 0),
    };
    let expression = start.expression(unit, unit_offset, wave.wave_size(), arena)?;
    Ok(evaluate(&expression, start.kind, &context)?)
}

/// Evaluates an expression of DWARF.
///
/// * `evaluation`: the expression, and what it is evaluated in. It can be freed afterwards, results in it too.
/// * `result`: gets the handle, to be freed by the caller; NULL if there is an error. The stop may be freed before.
///
/// Errors: `HETDWARF_MALFORMED`, `HETDWARF_MISSING_CONTEXT`, `HETDWARF_UNAVAILABLE`, `HETDWARF_OPTIMIZED_OUT`,
/// `HETDWARF_UNSUPPORTED`, `HETDWARF_LIMIT`, `HETDWARF_CALLBACK_FAILED`, `HETDWARF_FAILED`; `HETDWARF_NOT_FOUND` for a frame
/// or a unit.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_evaluate(
    evaluation: *const hetdwarf_evaluation,
    result: *mut *mut hetdwarf_result,
) -> hetdwarf_status {
    // SAFETY: as the caller says.
    guard(|| unsafe {
        plain::put(result, core::ptr::null_mut(), "result")?;
        let given = plain::read(evaluation)?;
        if !given.stop.is_null() {
            return with(given.stop, |stop, lock| {
                let start = Start::read(&given, lock)?;
                give(result, || {
                    Ok((Arc::clone(lock), answer(&given, start, Some(stop))?))
                })
            });
        }
        // Without a stop results that are given have a lock of their own, which the new one shares.
        let mut given_results = given.object;
        if given_results.is_null() && given.initial_count > 0 && !given.initial.is_null() {
            given_results = given.initial.read();
        }
        let evaluated = |lock: &Arc<Lock>| {
            let start = Start::read(&given, lock)?;
            give(result, || {
                Ok((Arc::clone(lock), answer(&given, start, None)?))
            })
        };
        if given_results.is_null() {
            return evaluated(&Arc::default());
        }
        with(given_results, |_, lock| evaluated(lock))
    })
}

/// Where a variable is in a lane, to be walked or written to.
///
/// * `index`: below the count of the values.
/// * `lane`: the lane.
/// * `result`: gets the handle, to be freed by the caller; NULL if there is an error.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such value; `HETDWARF_OPTIMIZED_OUT` if it is nowhere in this lane, or is no
/// variable but an expression or a constant.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_location(
    values: *const hetdwarf_values,
    index: usize,
    lane: u32,
    result: *mut *mut hetdwarf_result,
) -> hetdwarf_status {
    // SAFETY: as the caller says.
    guard(|| unsafe {
        with(values, |values, lock| {
            give(result, || {
                let stop = values.stop();
                let lane =
                    i32::try_from(lane).map_err(|_| Fault::argument("there is no such lane"))?;
                let lane = lane_of(lane, stop.stop().wave())?;
                let place = lane.map(|lane| values.location(index, lane)).transpose()?;
                let nowhere = || Fault::new(HETDWARF_OPTIMIZED_OUT, "it is nowhere in this lane");
                let answered = Answered {
                    outcome: Outcome::Location(place.flatten().ok_or_else(nowhere)?),
                    lane,
                    texts: Texts::default(),
                    home: home(Vec::new(), Some(Arc::clone(stop))),
                };
                Ok((Arc::clone(lock), answered))
            })
        })
    })
}

/// A result at a glance.
///
/// * `info`: its `size` is set; the rest is written.
///
/// Errors: those of arguments.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_get_info(
    result: *const hetdwarf_result,
    info: *mut hetdwarf_result_info,
) -> hetdwarf_status {
    // SAFETY: as the caller says.
    guard(|| unsafe {
        with(result, |result, _| {
            let mut value = hetdwarf_result_info {
                size: 0,
                place_count: 0,
                encoding: core::ptr::null(),
                bit_size: 0,
                bytes: [0; 16],
                reserved: [0; 4],
            };
            match &result.outcome {
                Outcome::Location(location) => value.place_count = location.places().len(),
                Outcome::Value(known) => {
                    value.encoding = result.texts.keep(known.base_type.encoding.name());
                    value.bit_size = known.base_type.bit_size.into();
                    value.bytes = known.bits.to_le_bytes();
                }
            }
            plain::write(info, &value)
        })
    })
}

/// A place of a location.
///
/// * `index`: below `place_count`.
/// * `place`: its `size` is set; the rest is written.
///
/// Errors: `HETDWARF_NOT_FOUND`; `HETDWARF_INVALID_ARGUMENT` of a value.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_place(
    result: *const hetdwarf_result,
    index: usize,
    place: *mut hetdwarf_place,
) -> hetdwarf_status {
    // SAFETY: as the caller says.
    guard(|| unsafe {
        with(result, |result, _| {
            plain::size_at(place)?;
            let found = result.place(index)?;
            plain::write(place, &result.describe(&found))
        })
    })
}

/// The part of a composite that has a bit of it. To walk over all parts, start at bit 0 and go on after each.
///
/// * `index`: that of the composite's place.
/// * `bit`: counted from the start of the composite.
/// * `part`: its `size` is set; the rest is written.
/// * `location`: gets a handle for the location of the part, to be freed by the caller; NULL if there is an error.
///
/// Errors: `HETDWARF_NOT_FOUND` past the end; `HETDWARF_INVALID_ARGUMENT` of a place that is no composite.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_part(
    result: *const hetdwarf_result,
    index: usize,
    bit: u64,
    part: *mut hetdwarf_part,
    location: *mut *mut hetdwarf_result,
) -> hetdwarf_status {
    // SAFETY: as the caller says.
    guard(|| unsafe {
        with(result, |result, lock| {
            give(location, || {
                plain::size_at(part)?;
                let Storage::Composite(composite) = result.place(index)?.storage else {
                    return Err(Fault::argument("the place is no composite"));
                };
                let found = composite.part_at(bit.into());
                let found =
                    found.ok_or_else(|| Fault::not_found(format!("no part has bit {bit}")))?;
                let value = hetdwarf_part {
                    size: 0,
                    start: u64::try_from(found.start).unwrap_or(u64::MAX),
                    bit_size: u64::try_from(found.bit_size).unwrap_or(u64::MAX),
                    reserved: [0; 4],
                };
                plain::write(part, &value)?;
                Ok((Arc::clone(lock), result.other(found.location)))
            })
        })
    })
}

/// Reads bits at a location, or of a value.
///
/// * `lane`: the lane that reads, where that matters; `HETDWARF_NO_LANE` for the one that the result was made for.
/// * `bit_size`: how many bits, at most 2^24.
/// * `bits`: says where they go.
///
/// Errors: `HETDWARF_TOO_SMALL`; `HETDWARF_FAILED` if the storage has fewer bits; `HETDWARF_LIMIT`;
/// `HETDWARF_CALLBACK_FAILED`. Bits that are missing are no error: see `hetdwarf_bits`.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_read(
    result: *const hetdwarf_result,
    lane: i32,
    bit_size: u64,
    bits: *mut hetdwarf_bits,
) -> hetdwarf_status {
    // SAFETY: as the caller says.
    guard(|| unsafe {
        with(result, |result, _| {
            let access = Access {
                wave: result.wave(),
                lane: result.lane(lane)?,
                max_bits: MOST_BITS,
            };
            bits::put(bits, &read(&result.readable(), bit_size, &access)?)
        })
    })
}

/// Writes bits to all places of a location, through the callbacks of the wave.
///
/// * `lane`: the lane that writes, where that matters; `HETDWARF_NO_LANE` for the one that the result was made for.
/// * `bytes`: the bits, the lowest first, `bit_size` of them.
///
/// Nothing is written unless every bit has a place that can be written to. What has been read of the wave before, frames and
/// values, is not changed by it: ask anew.
///
/// Errors: `HETDWARF_READ_ONLY` if the wave cannot be written to; `HETDWARF_UNSUPPORTED` for implicit parts;
/// `HETDWARF_OPTIMIZED_OUT`; `HETDWARF_FAILED` if the storage has fewer bits; `HETDWARF_CALLBACK_FAILED`.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_write(
    result: *const hetdwarf_result,
    lane: i32,
    bytes: *const u8,
    bit_size: u64,
) -> hetdwarf_status {
    // SAFETY: as the caller says.
    guard(|| unsafe {
        with(result, |result, _| {
            let length = usize::try_from(bit_size.div_ceil(8))
                .ok()
                .filter(|_| bit_size <= MOST_BITS);
            let length = length.ok_or_else(|| Fault::new(HETDWARF_LIMIT, "too many bits"))?;
            let bytes = plain::bytes(bytes, length, "bytes")?;
            let writer = result.home.stop.as_ref().and_then(|stop| stop.writer());
            let read_only = || Fault::new(HETDWARF_READ_ONLY, "the wave cannot be written to");
            let mut wave = writer.ok_or_else(read_only)?;
            let lane = result.lane(lane)?;
            let written = write(&result.location()?, bytes, bit_size, lane, &mut wave);
            written.map_err(|error| match wave.is_refused() {
                true => read_only(),
                false => error.into(),
            })
        })
    })
}

/// Reads a register of a frame: in a caller's, as the caller will find it.
///
/// * `level`: 0 for the innermost frame.
/// * `number`: the register's DWARF number.
/// * `lane`: the lane for which a scalar register is read that was saved in the memory of each lane; `HETDWARF_NO_LANE` for
///   lane 0, or where it does not matter. A vector register is read whole, 32 bits for each lane, lane 0 lowest.
/// * `bits`: says where the bits go; 256 bytes are enough for every register.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such frame or register; `HETDWARF_TOO_SMALL`; those of evaluations. Bits
/// that are missing are no error: see `hetdwarf_bits`.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_stop_register(
    stop: *const hetdwarf_stop,
    level: usize,
    number: u32,
    lane: i32,
    bits: *mut hetdwarf_bits,
) -> hetdwarf_status {
    // SAFETY: as the caller says.
    guard(|| unsafe {
        with(stop, |data, _| {
            let no_such = || Fault::not_found(format!("there is no register {number}"));
            let register = Register::from_number(number.into()).ok_or_else(no_such)?;
            let bit_size = u64::from(register.size_in_bits().ok_or_else(no_such)?);
            let location = data.frame(level)?.call_frame().register(register)?;
            let wave = data.stop().wave();
            let lane = lane_of(lane, wave)?;
            let found = if location.stands_for_all_lanes() {
                read_lanes(&location, bit_size, wave, MOST_BITS)?.bits(lane.unwrap_or(Lane(0)))
            } else {
                let max_bits = MOST_BITS;
                read(
                    &location,
                    bit_size,
                    &Access {
                        wave,
                        lane,
                        max_bits,
                    },
                )?
            };
            bits::put(bits, &found)
        })
    })
}
