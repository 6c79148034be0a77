//! Reports the position of each lane in a frame, including inactive lanes.

use core::ffi::c_char;
use core::mem::size_of;

use hetdwarf::inspect::{LaneOrigin, LanePlace, Recovery};
use hetdwarf::report::{Hex, LanePcDocument, LanePcLane};

use crate::handle::with;
use crate::plain::{self, sized};
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::stop::{StopData, hetdwarf_stop};

/// The machine code is used if `DW_AT_LLVM_lane_pc` does not locate a lane.
pub const HETDWARF_RECOVER_WHERE_MISSING: u32 = 0;
/// Only `DW_AT_LLVM_lane_pc` is used.
pub const HETDWARF_RECOVER_NEVER: u32 = 1;
/// Only the machine code is used.
pub const HETDWARF_RECOVER_ALWAYS: u32 = 2;

/// The place of a lane. Strings belong to the stop, and are NULL if absent. Addresses are addresses of the process, or `UINT64_MAX` if
/// unknown.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_lane_place {
    /// `sizeof(hetdwarf_lane_place)`, set by the caller in each entry.
    pub size: usize,
    /// `active`, `waiting`, `elsewhere` (not active on entry to the function) or `unknown`.
    pub state: *const c_char,
    /// The source of a waiting lane's place: `dwarf` or `recovered`.
    pub origin: *const c_char,
    /// The reason why the place is unknown, or `not-dispatched` for a lane that the dispatch did not start.
    pub reason: *const c_char,
    /// The lane's program location.
    pub pc: u64,
    /// The instruction that switched the lane off, if the place was recovered.
    pub left: u64,
    /// The first instruction that executes after the lane is switched on again, if the place was recovered.
    pub resumes: u64,
    /// The source file at `pc`, without directories.
    pub file: *const c_char,
    /// The line at `pc`; 0 if unknown.
    pub line: u64,
    /// The function of the caller's frame in which the lane is, if it was inactive on entry to this function.
    pub caller_function: *const c_char,
    /// The lane's program location in that frame; `UINT64_MAX` unless the lane is known to be in a caller.
    pub caller_pc: u64,
    /// The number of the caller's frame.
    pub caller_level: u64,
    /// The source file at `caller_pc`, without directories.
    pub caller_file: *const c_char,
    /// The line at `caller_pc`.
    pub caller_line: u64,
    /// The work-item of the lane, as its position in the grid: x, y and z.
    pub work_item: [u32; 3],
    /// 1 if `work_item` is known, else 0.
    pub has_work_item: u32,
    /// 1 if the lane is active, else 0.
    pub is_active: u32,
    /// Zero.
    pub padding: u32,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_lane_place }

fn address(address: Option<Hex>) -> u64 {
    address
        .and_then(|Hex(address)| u64::try_from(address).ok())
        .unwrap_or(u64::MAX)
}

fn place(lane: &LanePcLane, data: &StopData) -> hetdwarf_lane_place {
    let texts = &data.texts;
    let caller = lane.caller.as_ref();
    let origin = lane.place.origin();
    let raw = |text: &Option<hetdwarf::Untrusted<'static>>| {
        texts.keep_if(text.as_ref().map(|text| text.raw()))
    };
    let name = |path: &Option<hetdwarf::Untrusted<'static>>| {
        let path = path.as_ref().map(|path| path.raw());
        texts.keep_if(path.and_then(|path| path.rsplit('/').next()))
    };
    hetdwarf_lane_place {
        size: 0,
        state: texts.keep(lane.place.name()),
        origin: texts.keep_if(origin.map(LaneOrigin::name)),
        reason: texts.keep_if(lane.place.reason()),
        pc: address(lane.pc),
        left: address(origin.and_then(LaneOrigin::left).map(Hex::from)),
        resumes: address(origin.and_then(LaneOrigin::resumes).map(Hex::from)),
        file: name(&lane.file),
        line: lane.line.unwrap_or(0),
        caller_function: caller.map_or(core::ptr::null(), |caller| raw(&caller.function)),
        caller_pc: address(caller.map(|caller| caller.pc)),
        caller_level: caller.map_or(0, |caller| caller.frame as u64),
        caller_file: caller.map_or(core::ptr::null(), |caller| name(&caller.file)),
        caller_line: caller.and_then(|caller| caller.line).unwrap_or(0),
        work_item: lane.work_item.unwrap_or_default(),
        has_work_item: lane.work_item.is_some().into(),
        is_active: (lane.place == LanePlace::Active).into(),
        padding: 0,
        reserved: [0; 4],
    }
}

/// Returns the places of all lanes in a frame.
///
/// * `level`: the number of the frame, 0 for the innermost. An inlined frame has the lanes of its call frame.
/// * `recovery`: `HETDWARF_RECOVER_…`.
/// * `places`: an array of the caller with an entry for each lane, lane 0 first. The caller sets the `size` of each entry.
/// * `count`: the number of entries, at least the wave size; 64 is always enough.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such frame; `HETDWARF_UNAVAILABLE` if the debugger does not know the active lanes;
/// `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`; `HETDWARF_TOO_SMALL`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_stop_lanes(
    stop: *const hetdwarf_stop,
    level: usize,
    recovery: u32,
    places: *mut hetdwarf_lane_place,
    count: usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(stop, |data, _| {
            let recovery = match recovery {
                HETDWARF_RECOVER_WHERE_MISSING => Recovery::WhereMissing,
                HETDWARF_RECOVER_NEVER => Recovery::Never,
                HETDWARF_RECOVER_ALWAYS => Recovery::Always,
                other => return Err(Fault::argument(format!("there is no recovery {other}"))),
            };
            let document = LanePcDocument::by(&data.frame(level)?, recovery)?;
            if count < document.lanes.len() {
                let message = format!("{} entries are needed", document.lanes.len());
                return Err(Fault::new(hetdwarf_status::HETDWARF_TOO_SMALL, message));
            }
            let stride = plain::size_at(places)?;
            // Entries of a later version are larger and farther apart.
            (document.lanes.iter().enumerate()).try_for_each(|(at, lane)| -> Answer<()> {
                let offset = at.saturating_mul(stride);
                debug_assert!(stride >= size_of::<hetdwarf_lane_place>());
                plain::write(places.byte_add(offset), &place(lane, data))
            })
        })
    })
}
