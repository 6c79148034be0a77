//! Tests stress and misuse: mutated objects, threads, callbacks that fail or call back, fork and signals.
//! `HETDWARF_STRESS` sets the seconds for each test, by default 1. `.ci/full` uses a minute, with the address
//! sanitizer. `HETDWARF_SEED` sets the seed of the random numbers.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::undocumented_unsafe_blocks,
    reason = "a test, which calls as C does"
)]

mod common;

use core::ffi::{CStr, c_void};
use core::mem::zeroed;
use core::ptr::null_mut;
use std::ffi::CString;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use hetdwarf_capi::hetdwarf_status::*;
use hetdwarf_capi::*;

/// Makes a struct of zeros with its `size` set.
macro_rules! sized {
    ($name:ident) => {{
        let mut value = zero::<$name>();
        value.size = size_of::<$name>();
        value
    }};
}

/// Returns a struct of zeros. All bytes zero must be a valid value of `T`.
fn zero<T>() -> T {
    unsafe { zeroed() }
}

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap())
}

fn seconds() -> Duration {
    Duration::from_secs(number("HETDWARF_STRESS", 1))
}

/// A pseudo-random number generator (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % end
    }
}

fn files() -> [PathBuf; 2] {
    let folder = common::root().join("../dwarf-tests/fixtures/waves/structs");
    ["structs.rocm.hsaco", "w03.json"].map(|name| folder.join(name))
}

fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

unsafe extern "C" fn count(user: *mut c_void, finding: *const hetdwarf_finding) -> i32 {
    unsafe {
        *user.cast::<usize>() += 1;
        assert!(!CStr::from_ptr((*finding).message).to_bytes().is_empty());
    }
    HETDWARF_OK as i32
}

/// Calls all functions that read an object. A rejected call only returns a status.
fn ask_object(object: *mut hetdwarf_object) {
    let mut found = 0_usize;
    unsafe {
        hetdwarf_object_verify(
            object,
            core::ptr::null(),
            2,
            Some(count),
            (&raw mut found).cast(),
        );
        for list in 0..3 {
            let mut length = 0;
            hetdwarf_object_count(object, list, &mut length);
            for index in 0..length.min(200) {
                let (mut function, mut global) =
                    (sized!(hetdwarf_function), sized!(hetdwarf_global));
                let (mut row, mut place) = (sized!(hetdwarf_line_row), sized!(hetdwarf_location));
                match list {
                    0 => hetdwarf_object_function(object, index, &mut function),
                    1 => hetdwarf_object_global(object, index, &mut global),
                    _ => hetdwarf_object_line_row(object, index, &mut row),
                };
                if list == 1 {
                    hetdwarf_object_global_location(object, index, 0, &mut place);
                }
                if list == 2 && !row.path.is_null() {
                    let mut count = 0;
                    hetdwarf_object_addresses_of(
                        object,
                        row.path,
                        row.line,
                        null_mut(),
                        0,
                        &mut count,
                    );
                    break;
                }
            }
        }
        let mut types = null_mut();
        if hetdwarf_object_types(object, c"Rec".as_ptr(), &mut types) == HETDWARF_OK {
            ask_types(types, 0, 4);
            hetdwarf_free(types.cast());
        }
    }
}

fn ask_types(types: *mut hetdwarf_types, first: u64, depth: u32) {
    let mut ty = sized!(hetdwarf_type);
    if unsafe { hetdwarf_types_get(types, first, &mut ty) } != HETDWARF_OK || depth == 0 {
        return;
    }
    for index in 0..ty.member_count.min(20) {
        let mut member = sized!(hetdwarf_member);
        if unsafe { hetdwarf_types_member(types, first, index, &mut member) } == HETDWARF_OK {
            ask_types(types, member.r#type, depth - 1);
        }
    }
    ask_types(types, ty.target, depth - 1);
}

/// Reads all values of a stop and their parts.
fn ask_values(values: *mut hetdwarf_values, lane: u32, depth: u32) {
    let mut length = 0;
    unsafe { hetdwarf_values_count(values, &mut length) };
    for index in 0..length.min(50) {
        let (mut info, mut place) = (sized!(hetdwarf_value_info), sized!(hetdwarf_location));
        let (mut parts, mut location, mut more) = (null_mut(), null_mut(), 0);
        let mut texts = [core::ptr::null(); 64];
        let mut lanes = sized!(hetdwarf_lanes);
        (lanes.lanes, lanes.count, lanes.texts) = (1 << lane, 64, texts.as_mut_ptr());
        unsafe {
            hetdwarf_values_get_info(values, index, &mut info);
            hetdwarf_values_read(values, index, &lanes);
            hetdwarf_values_location_expression(values, index, 0, &mut place);
            hetdwarf_values_location(values, index, lane, &mut location);
            hetdwarf_free(location.cast());
            if depth > 0 {
                let (status, most) = (HETDWARF_OK, 20);
                if hetdwarf_values_parts(values, index, lane, 0, most, &mut parts, &mut more)
                    == status
                {
                    ask_values(parts, lane, depth - 1);
                    hetdwarf_free(parts.cast());
                }
            }
        }
    }
}

fn ask_stop(stop: *mut hetdwarf_stop) {
    let mut info = sized!(hetdwarf_stop_info);
    unsafe { hetdwarf_stop_get_info(stop, &mut info) };
    for level in 0..info.frame_count.min(5) {
        let (mut values, mut types) = (null_mut(), null_mut());
        let mut frame = sized!(hetdwarf_frame);
        unsafe {
            hetdwarf_stop_frame(stop, level, &mut frame, null_mut(), 0);
            if hetdwarf_stop_variables(stop, level, &mut values) == HETDWARF_OK {
                for lane in [0, 5] {
                    ask_values(values, lane, 3);
                }
                if hetdwarf_values_types(values, &mut types) == HETDWARF_OK {
                    ask_types(types, 0, 4);
                    hetdwarf_free(types.cast());
                }
                hetdwarf_free(values.cast());
            }
        }
    }
}

fn open(bytes: &[u8]) -> Option<*mut hetdwarf_object> {
    let mut object = null_mut();
    let (start, length) = (bytes.as_ptr(), bytes.len());
    let status = unsafe { hetdwarf_object_open(start, length, core::ptr::null(), &mut object) };
    (status == HETDWARF_OK).then_some(object)
}

fn open_snapshot() -> (*mut hetdwarf_snapshot, hetdwarf_wave) {
    let (mut snapshot, mut wave) = (null_mut(), sized!(hetdwarf_wave));
    let path = c(files()[1].to_str().unwrap());
    unsafe {
        assert_eq!(
            hetdwarf_snapshot_open_file(path.as_ptr(), &mut snapshot),
            HETDWARF_OK
        );
        assert_eq!(hetdwarf_snapshot_wave(snapshot, &mut wave), HETDWARF_OK);
    }
    (snapshot, wave)
}

fn ask_all(bytes: &[u8]) {
    let Some(object) = open(bytes) else { return };
    ask_object(object);
    let (snapshot, wave) = open_snapshot();
    let mut stop = null_mut();
    unsafe {
        if hetdwarf_object_stop(object, &wave, &mut stop) == HETDWARF_OK {
            hetdwarf_free(object.cast());
            ask_stop(stop);
            hetdwarf_free(stop.cast());
        }
        hetdwarf_free(snapshot.cast());
    }
}

#[test]
fn mutated_objects_are_refused_or_read() {
    let bytes = std::fs::read(&files()[0]).unwrap();
    let mut numbers = Numbers(number("HETDWARF_SEED", 35).max(1));
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < seconds() || count < 3 {
        let mut changed = bytes.clone();
        for _ in 0..[1, 4, 64][numbers.below(3)] {
            let at = numbers.below(changed.len());
            changed[at] = [0, 1, 0x7f, 0x80, 0xff, numbers.below(256) as u8][numbers.below(6)];
        }
        if numbers.below(5) == 0 {
            changed.truncate(64 + numbers.below(changed.len() - 64));
        }
        ask_all(&changed);
        count += 1;
    }
}

/// A handle that several threads use. The library serializes their calls.
#[derive(Clone, Copy)]
struct Shared(*mut hetdwarf_object);
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

#[test]
fn threads_share_an_object() {
    let bytes = std::fs::read(&files()[0]).unwrap();
    let object = Shared(open(&bytes).unwrap());
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let object = &object;
                let mut count = 0;
                while start.elapsed() < seconds() || count < 1 {
                    ask_object(object.0);
                    let (snapshot, wave) = open_snapshot();
                    let mut stop = null_mut();
                    unsafe {
                        let status = hetdwarf_object_stop(object.0, &wave, &mut stop);
                        assert_eq!(status, HETDWARF_OK);
                        ask_stop(stop);
                        hetdwarf_free(stop.cast());
                        hetdwarf_free(snapshot.cast());
                    }
                    count += 1;
                }
            });
        }
    });
    assert_eq!(unsafe { hetdwarf_free(object.0.cast()) }, HETDWARF_OK);
}

/// The state of the misbehaving callbacks.
struct Misuse {
    snapshot: *mut hetdwarf_snapshot,
    stop: *mut hetdwarf_stop,
    numbers: Numbers,
    busy: usize,
}

/// Returns the wrong answer that a callback sometimes gives.
fn misbehave(misuse: &mut Misuse) -> Option<i32> {
    match misuse.numbers.below(60) {
        0 => Some(HETDWARF_UNAVAILABLE as i32),
        1 => Some(HETDWARF_IO as i32),
        2 => Some(-1),
        3 => Some(HETDWARF_INTERNAL as i32),
        4 if !misuse.stop.is_null() => {
            let mut info = sized!(hetdwarf_stop_info);
            let status = unsafe { hetdwarf_stop_get_info(misuse.stop, &mut info) };
            assert_eq!(status, HETDWARF_BUSY);
            assert_eq!(unsafe { hetdwarf_free(misuse.stop.cast()) }, HETDWARF_BUSY);
            misuse.busy += 1;
            None
        }
        _ => None,
    }
}

unsafe extern "C" fn wrong_register(
    user: *mut c_void,
    number: u32,
    lane: i32,
    first: u32,
    count: u32,
    out: *mut c_void,
) -> i32 {
    let misuse = unsafe { &mut *user.cast::<Misuse>() };
    misbehave(misuse).unwrap_or_else(|| unsafe {
        hetdwarf_snapshot_read_register(misuse.snapshot.cast(), number, lane, first, count, out)
    })
}

unsafe extern "C" fn wrong_memory(
    user: *mut c_void,
    memory: u32,
    address: u64,
    size: usize,
    out: *mut c_void,
) -> i32 {
    let misuse = unsafe { &mut *user.cast::<Misuse>() };
    misbehave(misuse).unwrap_or_else(|| unsafe {
        hetdwarf_snapshot_read_memory(misuse.snapshot.cast(), memory, address, size, out)
    })
}

#[test]
fn callbacks_that_misbehave_are_statuses() {
    let bytes = std::fs::read(&files()[0]).unwrap();
    let object = open(&bytes).unwrap();
    let (snapshot, mut wave) = open_snapshot();
    let mut misuse = Box::new(Misuse {
        snapshot,
        stop: null_mut(),
        numbers: Numbers(number("HETDWARF_SEED", 35).max(1)),
        busy: 0,
    });
    wave.user = (&raw mut *misuse).cast();
    wave.read_register = Some(wrong_register);
    wave.read_memory = Some(wrong_memory);
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < seconds() || count < 20 {
        let mut stop = null_mut();
        misuse.stop = null_mut();
        if unsafe { hetdwarf_object_stop(object, &wave, &mut stop) } == HETDWARF_OK {
            misuse.stop = stop;
            ask_stop(stop);
            assert_eq!(unsafe { hetdwarf_free(stop.cast()) }, HETDWARF_OK);
        }
        count += 1;
    }
    assert!(misuse.busy > 0);
    unsafe {
        assert_eq!(hetdwarf_free(snapshot.cast()), HETDWARF_OK);
        assert_eq!(hetdwarf_free(object.cast()), HETDWARF_OK);
    }
}

#[test]
fn a_process_forks_and_is_interrupted() {
    // A library with a sanitizer needs the sanitizer's runtime in the program.
    if std::env::var("RUSTFLAGS").is_ok_and(|flags| flags.contains("sanitizer")) {
        return;
    }
    let Some(compiler) = common::compilers(false).into_iter().next() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("stress");
    let source = common::root().join("tests/stress.c");
    common::compile(compiler, &source, &program, &[]);
    let [object, wave] = files();
    let mut run = Command::new(&program);
    let output = common::run(
        run.args([object, wave])
            .arg(seconds().as_secs().to_string()),
    );
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("children, signals"), "{printed}");
}
