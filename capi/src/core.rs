//! Opens core files of processes with GPUs, and provides a stop for each wave.

use core::ffi::c_char;
use std::sync::Arc;

use hetdwarf::arch::LoadAddress;
use hetdwarf::gpu_core::{CoreWave, StopReason};
use hetdwarf::report::{CoreReport, CoreRequest, FoundObject, to_json};
use hetdwarf_owned::LoadedCore;

use crate::handle::{Lock, give, handles, with};
use crate::object::read_file;
use crate::plain::{self, sized};
use crate::status::hetdwarf_status::HETDWARF_UNAVAILABLE;
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::stop::{StopData, hetdwarf_stop};
use crate::text::Texts;

/// The contents of a core's handle.
pub(crate) struct Core {
    pub(crate) loaded: Arc<LoadedCore>,
    pub(crate) texts: Texts,
}

/// A core file of a process with GPUs. Free it with `hetdwarf_free`.
#[derive(Debug)]
pub struct hetdwarf_core {
    _private: [u8; 0],
}

handles! { hetdwarf_core: Core = b"hdwcore\x01"; }

/// A file, by its path or in memory: a core file or a half of one, or a code object in place of a missing one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_file {
    /// `sizeof(hetdwarf_file)`, equal in all entries of an array.
    pub size: usize,
    /// The bytes, which are copied; NULL if `path` is given.
    pub bytes: *const u8,
    /// The number of bytes.
    pub length: usize,
    /// The path, UTF-8; NULL if `bytes` is given.
    pub path: *const c_char,
    /// The load address of a code object; 0 for a core.
    pub load_address: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

/// Facts about a core.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_core_info {
    /// `sizeof(hetdwarf_core_info)`, set by the caller.
    pub size: usize,
    /// The number of waves.
    pub wave_count: usize,
    /// The number of problems; 0 if the whole core could be read.
    pub problem_count: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A wave of a core. Strings belong to the core. Unknown numbers are `UINT64_MAX`, or `UINT32_MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_core_wave {
    /// `sizeof(hetdwarf_core_wave)`, set by the caller.
    pub size: usize,
    /// The address in the process at which the wave stopped.
    pub pc: u64,
    /// The active lanes, a bit each.
    pub exec: u64,
    /// The number of lanes, 32 or 64.
    pub wave_size: u32,
    /// The wave's number in its work-group, from 0.
    pub wave_in_group: u32,
    /// The wave's work-group, counted in work-groups: x, y and z.
    pub workgroup: [u32; 3],
    /// 1 if `workgroup` is known, else 0.
    pub has_workgroup: u32,
    /// The number of the wave's dispatch packet in the queue.
    pub packet_id: u64,
    /// `running`, `stopped` or `unsure`.
    pub state: *const c_char,
    /// The reasons why the wave stopped, as `hetdwarf core` names them, separated by commas. Empty if a debugger stopped the wave, or if it
    /// runs.
    pub reasons: *const c_char,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_file hetdwarf_core_info hetdwarf_core_wave }

/// Reads an array of files.
///
/// # Safety
/// `files` is NULL or an array of `count` entries.
unsafe fn files(
    files: *const hetdwarf_file,
    count: usize,
) -> Answer<Vec<(LoadAddress, Arc<[u8]>)>> {
    let mut found = Vec::new();
    let mut at = files;
    for _ in 0..count {
        // SAFETY: the caller keeps the contract of this function; each entry starts with its size.
        unsafe {
            let file = plain::read(at)?;
            let bytes: Arc<[u8]> = match (file.path.is_null(), file.length) {
                (true, _) => plain::bytes(file.bytes, file.length, "bytes")?.into(),
                (false, 0) => read_file(file.path)?.into(),
                (false, _) => return Err(Fault::argument("path and bytes are given")),
            };
            found.push((file.load_address.into(), bytes));
            at = at.byte_add(file.size);
        }
    }
    Ok(found)
}

/// Opens a core file: a merged one, or the GPU's and the host's in either order.
///
/// * `cores`, `core_count`: the file or files.
/// * `objects`, `object_count`: code objects in place of missing ones, with their load addresses; NULL and 0 if there are none.
/// * `core`: gets the handle, which the caller frees; NULL on error.
///
/// Errors: `HETDWARF_MALFORMED` if it is not the core file of a process with GPUs; `HETDWARF_IO`; `HETDWARF_LIMIT`. An unreadable part of
/// the core is not an error, but a problem of the core.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_core_open(
    cores: *const hetdwarf_file,
    core_count: usize,
    objects: *const hetdwarf_file,
    object_count: usize,
    core: *mut *mut hetdwarf_core,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        give(core, || {
            if core_count == 0 {
                return Err(Fault::argument("there is no file"));
            }
            let cores = files(cores, core_count)?
                .into_iter()
                .map(|(_, bytes)| bytes);
            let objects = files(objects, object_count)?;
            let loaded = LoadedCore::open(cores.collect(), &objects)?;
            let core = Core {
                loaded: Arc::new(loaded),
                texts: Texts::default(),
            };
            Ok((Arc::default(), core))
        })
    })
}

/// Returns facts about a core.
///
/// * `info`: gets the answer; the caller sets its `size`.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_core_get_info(
    core: *const hetdwarf_core,
    info: *mut hetdwarf_core_info,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(core, |core, _| {
            let value = hetdwarf_core_info {
                size: 0,
                wave_count: core.loaded.with(|core, _| core.waves().len()),
                problem_count: problems(core).len(),
                reserved: [0; 4],
            };
            plain::write(info, &value)
        })
    })
}

/// Returns the problems of a core as text.
fn problems(core: &Core) -> Vec<String> {
    core.loaded.with(|core, programs| {
        let problems = core.problems().iter().chain(programs.process().problems());
        problems.map(ToString::to_string).collect()
    })
}

/// Returns a wave of a core by its index.
///
/// # Safety
/// The wave must not be used after the core is dropped.
unsafe fn wave_at(core: &Core, index: usize) -> Answer<CoreWave<'static, 'static>> {
    // SAFETY: the caller keeps the contract of this function.
    let (core, _) = unsafe { core.loaded.borrow() };
    let wave = core.wave(index);
    wave.ok_or_else(|| Fault::not_found(format!("the core has no wave {index}")))
}

/// Returns the message of a problem of a core.
///
/// * `index`: below `problem_count`.
/// * `text`: gets a string that belongs to the core.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_core_problem(
    core: *const hetdwarf_core,
    index: usize,
    text: *mut *const c_char,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(core, |core, _| {
            let problems = problems(core);
            let problem = problems.get(index);
            let problem =
                problem.ok_or_else(|| Fault::not_found(format!("there is no problem {index}")))?;
            plain::put(text, core.texts.keep(problem), "text")
        })
    })
}

/// Returns the document of `hetdwarf core --format json` (`hetdwarf-core/1`). It begins with the `verdict`, and has the `workgroups` and
/// the `waves`. A wave that stopped for a memory violation has its `fault`.
///
/// * `fault_address`: the fault address that the runtime reported for a wave, or the address of its page; 0 if unknown.
/// * `json`: gets a string that belongs to the core.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_core_describe(
    core: *const hetdwarf_core,
    fault_address: u64,
    json: *mut *const c_char,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(core, |core, _| {
            let address = Some(fault_address).filter(|address| *address != 0);
            let request = CoreRequest::default().fault_address(address);
            let text = core.loaded.with(|core, programs| {
                let found: Vec<FoundObject> =
                    core.code_objects().iter().map(FoundObject::from).collect();
                let meter = core.meter().for_query();
                let report =
                    CoreReport::within(core, programs, &found, request, &meter, &mut |_| {});
                to_json(&report.document)
            });
            let text = text.map_err(|error| Fault::argument(error.to_string()))?;
            plain::put(json, core.texts.keep(&text), "json")
        })
    })
}

/// Returns a wave of a core.
///
/// * `index`: below `wave_count`. The command `hetdwarf core` counts waves from 1.
/// * `wave`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_core_get_wave(
    core: *const hetdwarf_core,
    index: usize,
    wave: *mut hetdwarf_core_wave,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(core, |core, _| {
            plain::size_at(wave)?;
            let found = wave_at(core, index)?;
            let reasons: Vec<&str> = found.stops().iter().map(StopReason::name).collect();
            let value = hetdwarf_core_wave {
                size: 0,
                pc: found.pc().into(),
                exec: found.exec(),
                wave_size: hetdwarf::wave::Wave::wave_size(&found).lanes(),
                wave_in_group: found.wave_in_group().unwrap_or(u32::MAX),
                workgroup: found.workgroup().unwrap_or_default(),
                has_workgroup: found.workgroup().is_some().into(),
                packet_id: found.packet_id().unwrap_or(u64::MAX),
                state: core.texts.keep(found.state().name()),
                reasons: core.texts.keep(&reasons.join(",")),
                reserved: [0; 4],
            };
            plain::write(wave, &value)
        })
    })
}

/// Creates the stop of a core's wave, in the code object that contains its pc.
///
/// * `index`: below `wave_count`.
/// * `stop`: gets the handle, which the caller frees; NULL on error. The core may be freed first.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such wave; `HETDWARF_UNAVAILABLE` if the code object that contains its pc was not found.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_core_stop(
    core: *const hetdwarf_core,
    index: usize,
    stop: *mut *mut hetdwarf_stop,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function; the stop owns the core.
    guard(|| unsafe {
        with(core, |core, lock| {
            give(stop, || {
                let wave = wave_at(core, index)?;
                let pc = wave.pc();
                let data = StopData::of_core(&core.loaded, wave);
                let outside = || {
                    let message =
                        format!("the wave is at {pc:#x}, in no code object that was found");
                    Fault::new(HETDWARF_UNAVAILABLE, message)
                };
                #[expect(
                    clippy::arc_with_non_send_sync,
                    reason = "the lock lets one thread at a time use it"
                )]
                let data = Arc::new(data.ok_or_else(outside)?);
                Ok((Arc::<Lock>::clone(lock), data))
            })
        })
    })
}
