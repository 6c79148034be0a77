//! Reads the frames and lanes of a stop through the C interface.

use core::ffi::{CStr, c_char};
use core::ptr::{null, null_mut};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::Path;

use hetdwarf_capi::hetdwarf_status::HETDWARF_OK;
use hetdwarf_capi::*;

use super::lanes::Lane;
use super::{Frame, Pair};

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

fn text(place: *const c_char) -> Option<String> {
    // SAFETY: the pointer is NULL, or points to a string of a handle that is not freed yet.
    (!place.is_null()).then(|| {
        unsafe { CStr::from_ptr(place) }
            .to_str()
            .unwrap()
            .to_owned()
    })
}

fn ok(status: hetdwarf_status) {
    assert!(
        status == HETDWARF_OK,
        "{status:?}: {:?}",
        text(hetdwarf_last_error())
    );
}

/// The handles of a stop.
struct Handles {
    stop: *mut hetdwarf_stop,
    snapshot: *mut hetdwarf_snapshot,
    object: *mut hetdwarf_object,
}

impl Handles {
    fn open(pair: &Pair) -> Handles {
        let path = |path: &Path| CString::new(path.to_str().unwrap()).unwrap();
        let (mut object, mut snapshot, mut stop) = (null_mut(), null_mut(), null_mut());
        let mut wave = sized!(hetdwarf_wave);
        // SAFETY: paths end with a NUL, and each handle has a place.
        unsafe {
            let file = path(&pair.object);
            ok(hetdwarf_object_open_file(
                file.as_ptr(),
                null(),
                &mut object,
            ));
            let file = path(&pair.wave);
            ok(hetdwarf_snapshot_open_file(file.as_ptr(), &mut snapshot));
            ok(hetdwarf_snapshot_wave(snapshot, &mut wave));
            ok(hetdwarf_object_stop(object, &wave, &mut stop));
        }
        Handles {
            stop,
            snapshot,
            object,
        }
    }

    fn info(&self) -> hetdwarf_stop_info {
        let mut info = sized!(hetdwarf_stop_info);
        // SAFETY: the handle is not freed yet, and the struct has its size.
        ok(unsafe { hetdwarf_stop_get_info(self.stop, &mut info) });
        info
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        for handle in [self.stop.cast(), self.snapshot.cast(), self.object.cast()] {
            // SAFETY: the pointer is a handle, and is not used afterwards.
            ok(unsafe { hetdwarf_free(handle) });
        }
    }
}

fn known(number: u64) -> Option<u64> {
    (number != 0).then_some(number)
}

/// Returns the frames.
pub(super) fn frames(pair: &Pair) -> Vec<Frame> {
    let handles = Handles::open(pair);
    let count = handles.info().frame_count;
    let frames = (0..count).map(|index| {
        let mut frame = sized!(hetdwarf_frame);
        // SAFETY: the handle is not freed yet, and the struct has its size.
        ok(unsafe { hetdwarf_stop_frame(handles.stop, index, &mut frame, null_mut(), 0) });
        let kind = match frame.kind {
            HETDWARF_FRAME_CALL => "call",
            HETDWARF_FRAME_INLINED => "inlined",
            HETDWARF_FRAME_SYMBOL => "symbol",
            other => panic!("kind {other}"),
        };
        let path = text(frame.path);
        let file = text(frame.file);
        assert_eq!(
            file.as_deref(),
            path.as_deref().map(|path| path.rsplit('/').next().unwrap())
        );
        Frame {
            index,
            kind: kind.to_owned(),
            function: text(frame.function),
            linkage_name: text(frame.linkage_name),
            file: path,
            line: known(frame.line),
            column: known(frame.column),
            approximate: frame.is_approximate == 1,
            symbol_offset: (kind == "symbol").then_some(frame.symbol_offset),
            pc: frame.pc,
            call_frame: usize::try_from(frame.call_frame).unwrap(),
        }
    });
    frames.collect()
}

/// Returns the lanes of a frame, or None if they cannot be read.
pub(super) fn lanes(pair: &Pair, index: usize) -> Option<Vec<Lane>> {
    let handles = Handles::open(pair);
    let mut places = [sized!(hetdwarf_lane_place); 64];
    // SAFETY: the handle is not freed yet, and each struct has its size.
    let status = unsafe {
        let recovery = HETDWARF_RECOVER_WHERE_MISSING;
        hetdwarf_stop_lanes(handles.stop, index, recovery, places.as_mut_ptr(), 64)
    };
    if status != HETDWARF_OK {
        return None;
    }
    let size = usize::try_from(handles.info().wave_size).unwrap();
    let address = |address: u64| (address != u64::MAX).then_some(address);
    let lanes = places[..size].iter().map(|place| Lane {
        state: text(place.state).unwrap(),
        origin: text(place.origin),
        reason: text(place.reason),
        pc: address(place.pc),
        left: address(place.left),
        resumes: address(place.resumes),
        file: text(place.file),
        line: known(place.line),
        caller: address(place.caller_pc).map(|pc| super::lanes::Caller {
            frame: usize::try_from(place.caller_level).unwrap(),
            function: text(place.caller_function),
            pc,
            file: text(place.caller_file),
            line: known(place.caller_line),
        }),
    });
    Some(lanes.collect())
}

/// Returns the variables of a frame that have a value in some lane.
pub(super) fn values(pair: &Pair, index: usize) -> BTreeSet<(String, usize)> {
    let handles = Handles::open(pair);
    let mut values = null_mut();
    let mut found = BTreeSet::new();
    // SAFETY: handles are not freed yet, structs have their sizes, and there is a state for each of 64 lanes.
    unsafe {
        ok(hetdwarf_stop_variables(handles.stop, index, &mut values));
        let mut count = 0;
        ok(hetdwarf_values_count(values, &mut count));
        for number in 0..count {
            let mut info = sized!(hetdwarf_value_info);
            ok(hetdwarf_values_get_info(values, number, &mut info));
            let name = text(info.name).unwrap();
            // An unwritten state equals none of the states with a value.
            let mut states = [u8::MAX; 64];
            let mut lanes = sized!(hetdwarf_lanes);
            (lanes.lanes, lanes.count) = (u64::MAX, states.len());
            lanes.states = states.as_mut_ptr();
            ok(hetdwarf_values_read(values, number, &lanes));
            let with_value = [HETDWARF_LANE_OK, HETDWARF_LANE_PARTIAL];
            for (lane, state) in states.iter().enumerate() {
                if with_value.contains(state) {
                    found.insert((name.clone(), lane));
                }
            }
        }
        ok(hetdwarf_free(values.cast()));
    }
    found
}
