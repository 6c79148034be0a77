//! Opens damaged code objects through the C interface, and compares its results with the library's.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::{null, null_mut};

use hetdwarf::arch::{Lane, Register, WaveSize};
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::Options;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{Memory, Wave};
use hetdwarf_capi::hetdwarf_status::{
    HETDWARF_INVALID_ARGUMENT, HETDWARF_OK, HETDWARF_UNAVAILABLE,
};
use hetdwarf_capi::*;

use super::objects::{addresses, hash};
use super::wave::Scrambled;

/// Makes a struct of zeros with its size set.
macro_rules! sized {
    ($name:ident) => {{
        #[allow(unused_unsafe, reason = "it is used within such blocks too")]
        // SAFETY: all fields are numbers, pointers and optional functions.
        let mut value: $name = unsafe { core::mem::zeroed() };
        value.size = size_of::<$name>();
        value
    }};
}

/// Stops a wave in the functions of a damaged object, once through each interface.
///
/// # Panics
/// If the results differ, or if a call fails with an internal error.
pub fn check(bytes: &[u8]) {
    let Some(data) = super::damage::damaged(bytes) else {
        return;
    };
    let mut opened = null_mut();
    // SAFETY: the pointer and length are of a slice, and the output is a handle.
    let status = unsafe { hetdwarf_object_open(data.as_ptr(), data.len(), null(), &mut opened) };
    let object = CodeObject::parse(&data);
    if status != HETDWARF_OK {
        assert!(opened.is_null());
        // SAFETY: the text is valid until the next call.
        let message = unsafe { CStr::from_ptr(hetdwarf_last_error()) };
        assert!(!message.is_empty());
        return;
    }
    let object = object.expect("the C interface has opened it");
    let program = Program::load(&object).expect("the C interface has loaded it");
    let hash = hash(&data);
    let size = program.processor().default_wave_size();
    let wave = Scrambled::new(size.unwrap_or(WaveSize::Wave64), hash.to_le_bytes()[7]);
    for pc in addresses(&program, hash).into_iter().take(2) {
        let arena = Arena::new();
        let stop = Stop::new(&program, &wave, pc, StopOptions::default(), &arena);
        // Formatting a large array for all lanes takes seconds, so each input formats four lanes.
        let asked = (0..4).fold(0, |lanes, at| lanes | 1 << ((hash >> (6 * at)) % 64));
        let directly: Vec<_> = (0..FRAMES)
            .map(|frame| directly(&stop, frame, asked))
            .collect();
        // The library lets its users stop waves of another size.
        let directly = object
            .check_wave_size(wave.wave_size)
            .is_ok()
            .then_some(directly);
        assert_eq!(through_c(opened, &wave, pc, asked), directly);
    }
    // SAFETY: the handle is live, and is not used afterwards.
    let status = unsafe { hetdwarf_free(opened.cast()) };
    assert_eq!(status, HETDWARF_OK);
}

/// The state and the text of a variable in each lane.
type Lanes = Vec<(&'static str, Option<String>)>;

/// The number of frames that are compared. The innermost are often inlined calls.
const FRAMES: usize = 2;

/// The variables of a frame, by name. None if the frame does not exist or its variables cannot be read.
type Texts = Option<Vec<(String, Lanes)>>;

fn directly(stop: &Stop<'_, '_>, frame: usize, asked: u64) -> Texts {
    let frame = stop.frame(frame)?;
    let mut types = TypeTable::default();
    let values = frame.variables(&mut types).ok()?;
    let lanes = |value: &hetdwarf::inspect::VariableValue<'_>| {
        let lanes = frame.wave_size().all_lanes();
        let lane = |lane: Lane| {
            let state = value.state(lane);
            let is_readable = asked & lane.bit() != 0 && state.kind().is_readable();
            let text = is_readable.then(|| value.text(lane, &types, &Options::default()));
            // C strings end at a NUL, so it is replaced.
            let text = text.flatten().map(|text| text.replace('\0', "\u{fffd}"));
            (state.name(), text)
        };
        lanes.map(lane).collect()
    };
    let name = |value: &hetdwarf::inspect::VariableValue<'_>| {
        let name = value.variable.name.as_deref().unwrap_or_default();
        name.replace('\0', "\u{fffd}")
    };
    Some(
        values
            .iter()
            .map(|value| (name(value), lanes(value)))
            .collect(),
    )
}

/// Returns None if the code does not run in waves of this size.
fn through_c(
    object: *const hetdwarf_object,
    wave: &Scrambled,
    pc: u64,
    asked: u64,
) -> Option<Vec<Texts>> {
    let mut described = sized!(hetdwarf_wave);
    described.user = core::ptr::from_ref(wave).cast_mut().cast();
    described.read_register = Some(read_register);
    described.read_memory = Some(read_memory);
    described.pc = pc;
    described.wave_size = wave.wave_size.lanes();
    if let Some(apertures) = wave.apertures {
        described.flags = HETDWARF_WAVE_HAS_APERTURES;
        described.shared_base = apertures.shared_base;
        described.private_base = apertures.private_base;
    }
    let mut stop = null_mut();
    // SAFETY: the handles are live, the callbacks have the declared types, and the arrays have the given lengths.
    unsafe {
        let status = hetdwarf_object_stop(object, &described, &mut stop);
        if status == HETDWARF_INVALID_ARGUMENT {
            return None;
        }
        assert_eq!(status, HETDWARF_OK);
        let values: [_; FRAMES] = core::array::from_fn(|level| {
            let mut frame = sized!(hetdwarf_frame);
            let _ = hetdwarf_stop_frame(stop, level, &mut frame, null_mut(), 0);
            let mut values = null_mut();
            let status = hetdwarf_stop_variables(stop, level, &mut values);
            (status == HETDWARF_OK).then_some(values)
        });
        // Values of a stop remain usable after the stop is freed.
        assert_eq!(hetdwarf_free(stop.cast()), HETDWARF_OK);
        let read = |values: Option<*mut hetdwarf_values>| {
            let values = values?;
            let found = texts(values, wave.wave_size.lanes() as usize, asked);
            assert_eq!(hetdwarf_free(values.cast()), HETDWARF_OK);
            Some(found)
        };
        Some(values.into_iter().map(read).collect())
    }
}

/// # Safety
/// `values` is a live handle.
unsafe fn texts(values: *const hetdwarf_values, lanes: usize, asked: u64) -> Vec<(String, Lanes)> {
    let text = |place: *const c_char| {
        // SAFETY: the pointer is NULL, or points to a string of the handle.
        (!place.is_null()).then(|| {
            unsafe { CStr::from_ptr(place) }
                .to_str()
                .unwrap()
                .to_owned()
        })
    };
    let mut count = 0;
    // SAFETY: the handle is live, and the arrays have the given lengths.
    unsafe {
        assert_eq!(hetdwarf_values_count(values, &mut count), HETDWARF_OK);
        let value = |at| {
            let mut info = sized!(hetdwarf_value_info);
            assert_eq!(hetdwarf_values_get_info(values, at, &mut info), HETDWARF_OK);
            let (mut states, mut texts) = ([0; 64], [null(); 64]);
            let mut wanted = sized!(hetdwarf_lanes);
            wanted.lanes = u64::MAX;
            wanted.count = 64;
            wanted.states = states.as_mut_ptr();
            assert_eq!(hetdwarf_values_read(values, at, &wanted), HETDWARF_OK);
            wanted.lanes = asked;
            wanted.states = null_mut();
            wanted.texts = texts.as_mut_ptr();
            assert_eq!(hetdwarf_values_read(values, at, &wanted), HETDWARF_OK);
            let lane = |lane: usize| {
                let state = CStr::from_ptr(hetdwarf_lane_state_name(states[lane]));
                (state.to_str().unwrap(), text(texts[lane]))
            };
            (text(info.name).unwrap(), (0..lanes).map(lane).collect())
        };
        (0..count).map(value).collect()
    }
}

/// # Safety
/// The contract of `hetdwarf_read_register`; `user` is a [`Scrambled`].
unsafe extern "C" fn read_register(
    user: *mut c_void,
    number: u32,
    lane: i32,
    first: u32,
    count: u32,
    out: *mut c_void,
) -> i32 {
    // SAFETY: the caller keeps the contract.
    let (wave, out) = unsafe {
        let out = core::slice::from_raw_parts_mut(out.cast::<u8>(), count as usize / 8);
        (&*user.cast::<Scrambled>(), out)
    };
    let register = Register::from_number(number.into()).unwrap();
    let start = first + u32::try_from(lane).map_or(0, |lane| lane * 32);
    match wave.read_register(register, start..start + count, out) {
        Ok(()) => HETDWARF_OK as i32,
        Err(_) => HETDWARF_UNAVAILABLE as i32,
    }
}

/// # Safety
/// The contract of `hetdwarf_read_memory`; `user` is a [`Scrambled`].
unsafe extern "C" fn read_memory(
    user: *mut c_void,
    memory: u32,
    address: u64,
    size: usize,
    out: *mut c_void,
) -> i32 {
    // SAFETY: the caller keeps the contract.
    let (wave, out) = unsafe {
        let out = core::slice::from_raw_parts_mut(out.cast::<u8>(), size);
        (&*user.cast::<Scrambled>(), out)
    };
    let memory = match memory {
        HETDWARF_MEMORY_GLOBAL => Memory::Global,
        HETDWARF_MEMORY_REGION => Memory::Region,
        HETDWARF_MEMORY_LOCAL => Memory::Local,
        _ => Memory::PrivateWave,
    };
    match wave.read_memory(memory, address, out) {
        Ok(()) => HETDWARF_OK as i32,
        Err(_) => HETDWARF_UNAVAILABLE as i32,
    }
}
