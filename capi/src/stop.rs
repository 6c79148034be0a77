//! Provides stops. A stop is a stopped wave of an object, with its call frames and the registers of each frame.

use core::ffi::c_char;
use std::sync::Arc;

use hetdwarf::arch::Lane;
use hetdwarf::eval::Reading;
use hetdwarf::gpu_core::CoreWave;
use hetdwarf::inspect::{FrameDescription, FrameKind, Stop as LibraryStop, StopFrame, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::wave::Wave;
use hetdwarf_owned::{LoadedCore, LoadedProgram, Pinned};

use crate::handle::{Lock, give, handles, with};
use crate::object::hetdwarf_object;
use crate::plain::{self, sized};
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::text::Texts;
use crate::wave::{CallbackWave, hetdwarf_wave};

/// The owner of a stop's program and wave.
pub(crate) enum Source {
    /// An object, and callbacks.
    Callbacks {
        wave: Pinned<CallbackWave>,
        _object: Arc<LoadedProgram>,
    },
    /// A core.
    Core {
        _wave: Pinned<CoreWave<'static, 'static>>,
        _core: Arc<LoadedCore>,
    },
}

/// A stop with the values that it borrows from, in the order in which they must be dropped.
pub(crate) struct StopData {
    stop: LibraryStop<'static, 'static>,
    _arena: Pinned<Arena<'static>>,
    source: Source,
    pub(crate) texts: Texts,
}

pub(crate) type SharedStop = Arc<StopData>;

/// A stopped wave in an object. Free it with `hetdwarf_free`.
///
/// A stop is valid while the wave stands still, because data of the wave may be cached until the stop is freed.
#[derive(Debug)]
pub struct hetdwarf_stop {
    _private: [u8; 0],
}

handles! { hetdwarf_stop: SharedStop = b"hdwstop\x01"; }

/// Facts about a stop. Strings belong to the stop.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_stop_info {
    /// `sizeof(hetdwarf_stop_info)`, set by the caller.
    pub size: usize,
    /// The number of frames, at least one. Every inlined call is a separate frame.
    pub frame_count: usize,
    /// The reason why there are no more frames: `return-address-undefined` for a complete stack, or another value of `stopped` in the
    /// documents of `hetdwarf unwind`.
    pub stopped: *const c_char,
    /// The reason of `stopped` as a sentence.
    pub message: *const c_char,
    /// The lanes of the wave, 32 or 64.
    pub wave_size: u32,
    /// Zero.
    pub padding: u32,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A call frame.
pub const HETDWARF_FRAME_CALL: u32 = 0;
/// An inlined call, whose code is part of a call frame.
pub const HETDWARF_FRAME_INLINED: u32 = 1;
/// A call frame of which only the ELF symbol is known.
pub const HETDWARF_FRAME_SYMBOL: u32 = 2;

/// A frame. Every inlined call is a separate frame. Strings belong to the stop, and are NULL if absent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_frame {
    /// `sizeof(hetdwarf_frame)`, set by the caller.
    pub size: usize,
    /// The program location or return address, as an address of the process. An inlined call has the address of its call frame.
    pub pc: u64,
    /// The function, or the symbol.
    pub function: *const c_char,
    /// The function's name as the linker sees it.
    pub linkage_name: *const c_char,
    /// The source file, without directories.
    pub file: *const c_char,
    /// The file's path in the line table.
    pub path: *const c_char,
    /// The line, from 1; 0 if unknown. If the frame contains an inlined call, the line of that call.
    pub line: u64,
    /// The column, from 1; 0 for the line as a whole.
    pub column: u64,
    /// Zero: inlined calls are separate frames.
    pub inlined_count: usize,
    /// The name of the address space of the canonical frame address, for example `private_wave`; NULL if the address is unknown.
    pub cfa_space: *const c_char,
    /// The canonical frame address of the call frame.
    pub cfa: u64,
    /// The lanes that EXEC enables, one bit per lane.
    pub exec: u64,
    /// 1 if `exec` is known, else 0.
    pub has_exec: u32,
    /// The kind of the frame: `HETDWARF_FRAME_…`.
    pub kind: u32,
    /// The number of the call frame that this frame is, or is inlined in.
    pub call_frame: u64,
    /// The distance of the program location from the start of the symbol, in bytes.
    pub symbol_offset: u64,
    /// 1 if the program location has line 0, so that `line` is from the nearest row before it, else 0.
    pub is_approximate: u32,
    /// Zero.
    pub padding: u32,
    /// Zero.
    pub reserved: [u64; 1],
}

sized! { hetdwarf_stop_info hetdwarf_frame }

impl StopData {
    fn of_callbacks(object: &Arc<LoadedProgram>, wave: CallbackWave) -> StopData {
        let arena = Pinned::new(Arena::new());
        let wave = Pinned::new(wave);
        // SAFETY: the stop is the only user of arena, wave and program, and is dropped before them.
        let (arena_ref, wave_ref, program) =
            unsafe { (arena.borrow(), wave.borrow(), object.program()) };
        let given = wave_ref.given();
        let options = StopOptions::loaded_at(given.load_address.into());
        let mut options = options.only_dwarf(wave_ref.is_only_dwarf());
        if wave_ref.is_strict() {
            options = options.reading(Reading::Strict);
        }
        StopData {
            stop: LibraryStop::new(program, wave_ref, given.pc, options, arena_ref),
            _arena: arena,
            source: Source::Callbacks {
                wave,
                _object: Arc::clone(object),
            },
            texts: Texts::default(),
        }
    }

    /// Creates the stop of a core's wave. Returns `None` if the wave's code object was not found.
    pub(crate) fn of_core(
        core: &Arc<LoadedCore>,
        wave: CoreWave<'static, 'static>,
    ) -> Option<StopData> {
        let arena = Pinned::new(Arena::new());
        let wave = Pinned::new(wave);
        // SAFETY: the stop is the only user of arena, wave and core, and is dropped before them.
        let (arena_ref, wave_ref, (_, programs)) =
            unsafe { (arena.borrow(), wave.borrow(), core.borrow()) };
        Some(StopData {
            stop: programs.stop(wave_ref, arena_ref)?,
            _arena: arena,
            source: Source::Core {
                _wave: wave,
                _core: Arc::clone(core),
            },
            texts: Texts::default(),
        })
    }

    /// Returns the stop. Values borrowed from it must not outlive this.
    pub(crate) fn stop(&self) -> &LibraryStop<'static, 'static> {
        &self.stop
    }

    /// Returns a frame by its number.
    pub(crate) fn frame(&self, level: usize) -> Answer<StopFrame<'_, 'static, 'static>> {
        let frame = self.stop.frame(level);
        frame.ok_or_else(|| Fault::not_found(format!("there is no frame {level}")))
    }

    /// Returns a wave for writing, if the wave has callbacks.
    pub(crate) fn writer(&self) -> Option<CallbackWave> {
        match &self.source {
            Source::Callbacks { wave, .. } => {
                // SAFETY: it is used only here.
                let wave = unsafe { wave.borrow() };
                Some(wave.writer())
            }
            Source::Core { .. } => None,
        }
    }
}

/// Returns a lane of a wave by its number. Returns None for `HETDWARF_NO_LANE`.
pub(crate) fn lane_of(number: i32, wave: &dyn Wave) -> Answer<Option<Lane>> {
    if number == crate::wave::HETDWARF_NO_LANE {
        return Ok(None);
    }
    let lanes = wave.wave_size().lanes();
    let found = u8::try_from(number)
        .ok()
        .filter(|lane| u32::from(*lane) < lanes);
    let found =
        found.ok_or_else(|| Fault::argument(format!("there is no lane {number} of {lanes}")))?;
    Ok(Some(Lane(found)))
}

/// Creates the stop of a wave in an object, and unwinds its call stack.
///
/// * `object`: the code object that contains the wave's pc. It may be freed before the stop.
/// * `wave`: the wave, which is copied. Functions that use the stop, or handles made from it, call its callbacks on the calling thread.
/// * `stop`: gets the handle, which the caller frees; NULL on error.
///
/// Errors: `HETDWARF_INVALID_ARGUMENT` if waves with this number of lanes cannot run the code. If unwinding ends early,
/// `hetdwarf_stop_get_info` returns the reason.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above; callbacks meet the requirements of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_stop(
    object: *const hetdwarf_object,
    wave: *const hetdwarf_wave,
    stop: *mut *mut hetdwarf_stop,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, lock| {
            give(stop, || {
                let wave = CallbackWave::new(plain::read(wave)?)?;
                let program = object.loaded.program();
                program.object().check_wave_size(wave.wave_size())?;
                #[expect(
                    clippy::arc_with_non_send_sync,
                    reason = "the lock lets one thread at a time use it"
                )]
                let data = Arc::new(StopData::of_callbacks(&object.loaded, wave));
                Ok((Arc::<Lock>::clone(lock), data))
            })
        })
    })
}

/// Returns facts about a stop.
///
/// * `info`: gets the answer; the caller sets its `size`.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_stop_get_info(
    stop: *const hetdwarf_stop,
    info: *mut hetdwarf_stop_info,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(stop, |data, _| {
            let stop = data.stop();
            let stopped = stop.stopped();
            let message = match stop.stack().error() {
                Some(error) => error.to_string(),
                None => stop.end_text(),
            };
            let value = hetdwarf_stop_info {
                size: 0,
                frame_count: stop.frames().len(),
                stopped: data.texts.keep(stopped.name()),
                message: data.texts.keep(&message),
                wave_size: stop.wave().wave_size().lanes(),
                padding: 0,
                reserved: [0; 4],
            };
            plain::write(info, &value)
        })
    })
}

/// Returns a frame of a stop.
///
/// * `level`: the number of the frame, 0 for the innermost, below `frame_count`.
/// * `frame`: gets the answer; the caller sets its `size`.
/// * `inlined`, `capacity`: unused, because inlined calls are separate frames. Pass NULL and 0.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such frame; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_stop_frame(
    stop: *const hetdwarf_stop,
    level: usize,
    frame: *mut hetdwarf_frame,
    inlined: *mut *const c_char,
    capacity: usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(stop, |data, _| {
            plain::size_at(frame)?;
            if inlined.is_null() && capacity > 0 {
                return Err(Fault::argument("inlined is NULL"));
            }
            let found = data.frame(level)?;
            let FrameDescription {
                kind,
                function,
                linkage_name,
                file,
                line,
                column,
                is_approximate,
                symbol_offset,
                ..
            } = found.description()?;
            let cfa = hetdwarf::eval::Frame::cfa(&found.call_frame()).ok();
            let cfa = cfa.and_then(|cfa| cfa.byte_address());
            let texts = &data.texts;
            let exec = found.exec();
            let value = hetdwarf_frame {
                size: 0,
                pc: found.pc().into(),
                function: texts.keep_if(function.as_deref()),
                linkage_name: texts.keep_if(linkage_name.as_deref()),
                file: texts.keep_if(file.as_ref().map(|file| file.name())),
                path: texts.keep_if(file.as_ref().map(|file| &*file.path)),
                line: line.unwrap_or(0),
                column: column.unwrap_or(0),
                inlined_count: 0,
                cfa_space: texts.keep_if(cfa.map(|(space, _)| space.name())),
                cfa: cfa.map_or(0, |(_, address)| address),
                exec: exec.unwrap_or(0),
                has_exec: exec.is_some().into(),
                kind: match kind {
                    FrameKind::Inlined => HETDWARF_FRAME_INLINED,
                    FrameKind::Symbol => HETDWARF_FRAME_SYMBOL,
                    _ => HETDWARF_FRAME_CALL,
                },
                call_frame: found.call_index() as u64,
                symbol_offset: symbol_offset.unwrap_or(0),
                is_approximate: is_approximate.into(),
                padding: 0,
                reserved: [0; 1],
            };
            plain::write(frame, &value)
        })
    })
}
