//! Tests the C functions: evaluation and cores against the command, writing, handles in use, wrong arguments, and
//! threads.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::undocumented_unsafe_blocks,
    reason = "a test, which calls as C does"
)]

mod common;

use core::ffi::{CStr, c_char, c_void};
use core::mem::zeroed;
use core::ptr::{null, null_mut};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::Path;

use hetdwarf_capi::hetdwarf_status::*;
use hetdwarf_capi::*;

/// Makes a struct of zeros with its `size` set.
macro_rules! sized {
    ($name:ident) => {{
        let mut value: $name = unsafe { zeroed() };
        value.size = size_of::<$name>();
        value
    }};
}

fn text(place: *const c_char) -> String {
    assert!(!place.is_null());
    unsafe { CStr::from_ptr(place) }
        .to_str()
        .unwrap()
        .to_owned()
}

fn ok(status: hetdwarf_status) {
    let message = hetdwarf_last_error();
    assert!(status == HETDWARF_OK, "{status:?}: {}", text(message));
}

fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

fn case(name: &str) -> (String, String) {
    let folder = common::root()
        .join("../dwarf-tests/fixtures/waves")
        .join(name);
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    (
        path(&folder.join(format!("{name}.rocm.hsaco"))),
        path(&folder.join("w09.json")),
    )
}

fn open_object(path: &str) -> *mut hetdwarf_object {
    let mut object = null_mut();
    ok(unsafe { hetdwarf_object_open_file(c(path).as_ptr(), null(), &mut object) });
    object
}

fn open_snapshot(path: &str) -> *mut hetdwarf_snapshot {
    let mut snapshot = null_mut();
    ok(unsafe { hetdwarf_snapshot_open_file(c(path).as_ptr(), &mut snapshot) });
    snapshot
}

/// Opens a stop of a wave whose registers and memory come from the snapshot.
fn open_stop(
    object: *const hetdwarf_object,
    snapshot: *mut hetdwarf_snapshot,
) -> *mut hetdwarf_stop {
    let mut wave = sized!(hetdwarf_wave);
    ok(unsafe { hetdwarf_snapshot_wave(snapshot, &mut wave) });
    let mut stop = null_mut();
    ok(unsafe { hetdwarf_object_stop(object, &wave, &mut stop) });
    stop
}

fn free<T>(handle: *mut T) {
    ok(unsafe { hetdwarf_free(handle.cast()) });
}

/// Opens an object, a snapshot and a stop, and frees them in an unusual order: the object before its stop.
fn with_stop(then: impl FnOnce(*mut hetdwarf_stop)) {
    let (object, wave) = case("calls");
    let (object, snapshot) = (open_object(&object), open_snapshot(&wave));
    let stop = open_stop(object, snapshot);
    free(object);
    then(stop);
    free(stop);
    free(snapshot);
}

fn evaluate(
    stop: *const hetdwarf_stop,
    expression: &str,
    lane: i32,
) -> Result<*mut hetdwarf_result, hetdwarf_status> {
    let expression = c(expression);
    let mut given = sized!(hetdwarf_evaluation);
    given.text = expression.as_ptr();
    given.stop = stop;
    given.unit_offset = HETDWARF_UNIT_OF_FRAME;
    given.lane = lane;
    // In lane 5, the tests need a location, for writing or reading. Elsewhere a number may be a value.
    given.result = if lane == 5 {
        HETDWARF_RESULT_LOCATION
    } else {
        HETDWARF_RESULT_ANY
    };
    let mut result = null_mut();
    match unsafe { hetdwarf_evaluate(&given, &mut result) } {
        HETDWARF_OK => Ok(result),
        other => {
            assert!(result.is_null());
            Err(other)
        }
    }
}

/// Returns a result in the form that `hetdwarf eval` writes.
fn document(result: *const hetdwarf_result) -> serde_json::Value {
    let mut info = sized!(hetdwarf_result_info);
    ok(unsafe { hetdwarf_result_get_info(result, &mut info) });
    if info.place_count == 0 {
        let length = (info.bit_size as usize).div_ceil(8);
        return serde_json::json!({
            "kind": "value",
            "type": {"encoding": text(info.encoding), "bit_size": info.bit_size},
            "bytes": hex(&info.bytes[..length]),
        });
    }
    let places: Vec<_> = (0..info.place_count).map(|at| place(result, at)).collect();
    serde_json::json!({"kind": "location", "places": places})
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn place(result: *const hetdwarf_result, at: usize) -> serde_json::Value {
    let mut place = sized!(hetdwarf_place);
    ok(unsafe { hetdwarf_result_place(result, at, &mut place) });
    let bit_offset = u128::from(place.byte_offset) * 8 + u128::from(place.bit);
    let as_hex = format!("{bit_offset:#x}");
    match place.storage {
        HETDWARF_STORAGE_UNDEFINED => serde_json::json!({"storage": "undefined"}),
        HETDWARF_STORAGE_MEMORY => {
            let mut memory = serde_json::json!({
                "storage": "memory", "address_space": text(place.name), "bit_offset": as_hex,
            });
            if place.lane != HETDWARF_NO_LANE {
                memory["lane"] = place.lane.into();
            }
            memory
        }
        HETDWARF_STORAGE_REGISTER => serde_json::json!({
            "storage": "register", "register": text(place.name), "dwarf": place.register_number,
            "bit_offset": u64::try_from(bit_offset).unwrap(),
        }),
        HETDWARF_STORAGE_IMPLICIT => {
            let length = (place.bit_size as usize).div_ceil(8);
            let bytes = unsafe { core::slice::from_raw_parts(place.bytes, length) };
            serde_json::json!({
                "storage": "implicit", "bytes": hex(bytes), "bit_size": place.bit_size,
                "bit_offset": u64::try_from(bit_offset).unwrap(),
            })
        }
        HETDWARF_STORAGE_COMPOSITE => {
            let (mut parts, mut bit) = (Vec::new(), 0);
            while bit < place.bit_size {
                let mut part = sized!(hetdwarf_part);
                let mut location = null_mut();
                ok(unsafe { hetdwarf_result_part(result, at, bit, &mut part, &mut location) });
                assert_eq!(part.start, bit);
                bit += part.bit_size;
                parts.push(serde_json::json!({
                    "bit_size": part.bit_size, "places": document(location)["places"],
                }));
                free(location);
            }
            serde_json::json!({
                "storage": "composite", "bit_size": place.bit_size,
                "bit_offset": u64::try_from(bit_offset).unwrap(), "parts": parts,
            })
        }
        other => panic!("{other}"),
    }
}

/// Makes numbers comparable. JSON writes numbers above 2^53 as text, so these fields are compared as text.
fn plain(value: &serde_json::Value) -> serde_json::Value {
    let mut text = value.to_string();
    for name in ["bit_size", "bit_offset"] {
        text = text.replace(&format!("\"{name}\":\"0x"), &format!("\"{name}\":\"0X"));
    }
    serde_json::from_str(&text).unwrap()
}

#[test]
fn results_are_those_of_the_command() {
    let (object, wave) = case("calls");
    with_stop(|stop| {
        for expression in [
            "DW_OP_lit6, DW_OP_lit7, DW_OP_mul",
            "DW_OP_regx VGPR1",
            "DW_OP_regx SGPR4, DW_OP_piece 0x4, DW_OP_regx SGPR5, DW_OP_piece 0x4",
            "DW_OP_regx VGPR42, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset",
            "DW_OP_call_frame_cfa",
            "DW_OP_lit8, DW_OP_stack_value, DW_OP_piece 0x4, DW_OP_piece 0x2",
            "DW_OP_lit1, DW_OP_lit0, DW_OP_div",
            "DW_OP_plus",
            "DW_OP_constu 0x40, DW_OP_lit5, DW_OP_LLVM_form_aspace_address",
        ] {
            let arguments = [
                "--expr", expression, "--object", &object, "--wave", &wave, "--lane", "3",
            ];
            let arguments = [
                &["eval"],
                &arguments[..],
                &["--tolerant", "--format", "json"],
            ]
            .concat();
            let lane = &common::hetdwarf(&arguments)["lanes"][0];
            match evaluate(stop, expression, 3) {
                Ok(result) => {
                    assert_eq!(
                        plain(&document(result)),
                        plain(&lane["result"]),
                        "{expression}"
                    );
                    free(result);
                }
                Err(status) => {
                    let kind = lane["error"]["kind"].as_str().unwrap();
                    let wanted = match kind {
                        "stack-underflow" => HETDWARF_MALFORMED,
                        "divide-by-zero" => HETDWARF_FAILED,
                        other => panic!("{expression}: {other}"),
                    };
                    assert_eq!(status, wanted, "{expression}");
                }
            }
        }
    });
}

/// Checks that procedures of a unit without the extensions are read as in `vars` and `eval`: as locations in scratch
/// memory. Read literally, `DW_OP_fbreg +4, DW_OP_lit5, DW_OP_swap, DW_OP_xderef` produces a value.
#[test]
fn procedures_are_read_as_their_unit_means_them() {
    let (object, wave) = case("calls");
    let object = object.replace(".rocm.hsaco", ".hsaco");
    let (opened, snapshot) = (open_object(&object), open_snapshot(&wave));
    let stop = open_stop(opened, snapshot);
    let mut in_memory = 0;
    // The DIEs of all parameters and variables: see `llvm-dwarfdump --debug-info`.
    for entry in ["0x33", "0x41", "0x4f", "0x5d", "0x7c", "0x8a", "0xa6"] {
        let expression = format!("DW_OP_call4 {entry}");
        let arguments = [
            "eval",
            "--expr",
            &expression,
            "--object",
            &object,
            "--wave",
            &wave,
            "--lane",
            "5",
            "--result",
            "location",
            "--tolerant",
            "--format",
            "json",
        ];
        let lane = &common::hetdwarf(&arguments)["lanes"][0];
        let result = evaluate(stop, &expression, 5).unwrap();
        assert_eq!(plain(&document(result)), plain(&lane["result"]), "{entry}");
        in_memory += u32::from(lane["result"]["places"][0]["address_space"] == "private_lane");
        free(result);
    }
    assert_eq!(in_memory, 7);
    free(stop);
    free(snapshot);
    free(opened);
}

/// The entry 0x2f after a unit's header is `float` in the first unit of the object, and `DW_ATE_unsigned_16` in the third: see
/// `llvm-dwarfdump --debug-info`.
#[test]
fn the_types_of_an_expression_are_those_of_the_frame_s_unit() {
    let path = common::root().join("../dwarf-tests/fixtures/corpus/llvm22/units-gfx90a.hsaco");
    let object = open_object(path.to_str().unwrap());
    for (pc, expected) in [
        // In `store_and_return`.
        (
            0x2104,
            serde_json::json!({"kind": "value", "type": {"encoding": "float", "bit_size": 32}, "bytes": hex(&7f32.to_le_bytes())}),
        ),
        // In `big`.
        (
            0x5604,
            serde_json::json!({"kind": "value", "type": {"encoding": "unsigned", "bit_size": 16}, "bytes": hex(&7u16.to_le_bytes())}),
        ),
    ] {
        let mut registers = Box::new(Registers {
            bytes: vec![0; 4096 * 256],
            stop: null(),
            statuses: Vec::new(),
        });
        let mut wave = sized!(hetdwarf_wave);
        wave.user = (&raw mut *registers).cast();
        wave.read_register = Some(read_register);
        wave.read_memory = Some(no_memory);
        wave.wave_size = 64;
        wave.pc = pc;
        let mut stop = null_mut();
        ok(unsafe { hetdwarf_object_stop(object, &wave, &mut stop) });
        let result = evaluate(stop, "DW_OP_lit7, DW_OP_convert 0x2f", HETDWARF_NO_LANE).unwrap();
        assert_eq!(document(result), expected, "{pc:#x}");
        free(result);
        free(stop);
    }
    free(object);
}

#[test]
fn a_result_can_be_the_object_of_another() {
    with_stop(|stop| {
        let vector = evaluate(stop, "DW_OP_regx VGPR1", 3).unwrap();
        let mut given = sized!(hetdwarf_evaluation);
        let expression = c("DW_OP_push_object_address, DW_OP_lit4, DW_OP_LLVM_offset");
        given.text = expression.as_ptr();
        given.stop = stop;
        given.unit_offset = HETDWARF_UNIT_OF_FRAME;
        given.lane = 3;
        given.object = vector;
        let mut result = null_mut();
        ok(unsafe { hetdwarf_evaluate(&given, &mut result) });
        free(vector);
        let found = document(result);
        assert_eq!(found["places"][0]["register"], "v1");
        assert_eq!(found["places"][0]["bit_offset"], 32);
        free(result);
    });
    // Evaluation without a stop.
    let one = evaluate(null(), "DW_OP_lit20", HETDWARF_NO_LANE).unwrap();
    let expression = c("DW_OP_lit22, DW_OP_plus");
    let initial = [one.cast_const()];
    let mut given = sized!(hetdwarf_evaluation);
    given.text = expression.as_ptr();
    given.lane = HETDWARF_NO_LANE;
    given.initial = initial.as_ptr();
    given.initial_count = 1;
    let mut sum = null_mut();
    ok(unsafe { hetdwarf_evaluate(&given, &mut sum) });
    assert_eq!(document(sum)["bytes"], "2a00000000000000");
    free(one);
    free(sum);
}

/// A stand-in for a debugger, which keeps its registers in an array, 256 bytes each.
struct Registers {
    bytes: Vec<u8>,
    stop: *const hetdwarf_stop,
    statuses: Vec<hetdwarf_status>,
}

unsafe extern "C" fn read_register(
    user: *mut c_void,
    number: u32,
    lane: i32,
    first: u32,
    count: u32,
    out: *mut c_void,
) -> i32 {
    let registers = unsafe { &mut *user.cast::<Registers>() };
    if !registers.stop.is_null() {
        let mut info = sized!(hetdwarf_stop_info);
        registers
            .statuses
            .push(unsafe { hetdwarf_stop_get_info(registers.stop, &mut info) });
        registers
            .statuses
            .push(unsafe { hetdwarf_free(registers.stop.cast_mut().cast()) });
    }
    let at = number as usize * 256 + lane.max(0) as usize * 4 + first as usize / 8;
    let found = &registers.bytes[at..at + count as usize / 8];
    unsafe { core::ptr::copy_nonoverlapping(found.as_ptr(), out.cast(), found.len()) };
    0
}

unsafe extern "C" fn write_register(
    user: *mut c_void,
    number: u32,
    lane: i32,
    first: u32,
    count: u32,
    bytes: *const c_void,
) -> i32 {
    let registers = unsafe { &mut *user.cast::<Registers>() };
    let at = number as usize * 256 + lane.max(0) as usize * 4 + first as usize / 8;
    let length = count as usize / 8;
    let given = unsafe { core::slice::from_raw_parts(bytes.cast::<u8>(), length) };
    registers.bytes[at..at + length].copy_from_slice(given);
    0
}

unsafe extern "C" fn no_memory(_: *mut c_void, _: u32, _: u64, _: usize, _: *mut c_void) -> i32 {
    HETDWARF_UNAVAILABLE as i32
}

fn with_registers(then: impl FnOnce(*mut hetdwarf_stop, *mut Registers)) {
    let (object, _) = case("calls");
    let object = open_object(&object);
    let registers = Registers {
        bytes: vec![0; 4096 * 256],
        stop: null(),
        statuses: Vec::new(),
    };
    let registers = Box::into_raw(Box::new(registers));
    let mut wave = sized!(hetdwarf_wave);
    wave.user = registers.cast();
    wave.read_register = Some(read_register);
    wave.read_memory = Some(no_memory);
    wave.write_register = Some(write_register);
    wave.wave_size = 32;
    let mut stop = null_mut();
    ok(unsafe { hetdwarf_object_stop(object, &wave, &mut stop) });
    then(stop, registers);
    free(stop);
    free(object);
    drop(unsafe { Box::from_raw(registers) });
}

#[test]
fn what_is_written_is_read_back() {
    with_registers(|stop, registers| {
        // Register 1538 is v2 of a wave of 32 lanes. The object joins two bytes of lane 5 of v2, from its second byte
        // on, and two bytes of s4.
        let expression = "DW_OP_regx VGPR2, DW_OP_lit21, DW_OP_LLVM_offset, DW_OP_piece 0x2, DW_OP_regx SGPR4, DW_OP_piece 0x2";
        let result = evaluate(stop, expression, 5).unwrap();
        ok(unsafe { hetdwarf_result_write(result, HETDWARF_NO_LANE, [1, 2, 3, 4].as_ptr(), 32) });
        let bytes = unsafe { &(*registers).bytes };
        assert_eq!(&bytes[1538 * 256 + 20..1538 * 256 + 24], [0, 1, 2, 0]);
        assert_eq!(&bytes[36 * 256..36 * 256 + 4], [3, 4, 0, 0]);
        let mut found = [0; 4];
        let mut bits = sized!(hetdwarf_bits);
        bits.bytes = found.as_mut_ptr();
        bits.capacity = 4;
        ok(unsafe { hetdwarf_result_read(result, HETDWARF_NO_LANE, 32, &mut bits) });
        assert_eq!(
            (found, bits.bit_size, bits.is_complete),
            ([1, 2, 3, 4], 32, 1)
        );
        bits.capacity = 3;
        let status = unsafe { hetdwarf_result_read(result, HETDWARF_NO_LANE, 32, &mut bits) };
        assert_eq!((status, bits.bit_size), (HETDWARF_TOO_SMALL, 32));
        // Memory is unavailable and cannot be written.
        let memory = evaluate(stop, "DW_OP_lit16", 5).unwrap();
        let (mut undefined, mut unavailable) = ([9; 4], [9; 4]);
        bits.capacity = 4;
        bits.undefined = undefined.as_mut_ptr();
        bits.unavailable = unavailable.as_mut_ptr();
        ok(unsafe { hetdwarf_result_read(memory, HETDWARF_NO_LANE, 32, &mut bits) });
        assert_eq!(
            (undefined, unavailable, bits.is_complete),
            ([0; 4], [0xff; 4], 0)
        );
        let status =
            unsafe { hetdwarf_result_write(memory, HETDWARF_NO_LANE, [0; 4].as_ptr(), 32) };
        assert_eq!(status, HETDWARF_READ_ONLY);
        free(memory);
        free(result);
    });
}

#[test]
fn a_callback_that_calls_back_is_refused() {
    with_registers(|stop, registers| {
        let result = evaluate(stop, "DW_OP_regx SGPR4", HETDWARF_NO_LANE).unwrap();
        unsafe { (*registers).stop = stop };
        let mut word = [0; 4];
        let mut bits = sized!(hetdwarf_bits);
        bits.bytes = word.as_mut_ptr();
        bits.capacity = 4;
        ok(unsafe { hetdwarf_result_read(result, HETDWARF_NO_LANE, 32, &mut bits) });
        unsafe { (*registers).stop = null() };
        let statuses = unsafe { &(*registers).statuses };
        assert_eq!(statuses.as_slice(), [HETDWARF_BUSY, HETDWARF_BUSY]);
        free(result);
    });
}

#[test]
fn a_core_s_waves_are_where_the_command_has_them() {
    let folder = common::root().join("../dwarf-tests/fixtures/cores/gfx1100");
    let unpacked = tempfile::tempdir().unwrap();
    let mut cores = Vec::new();
    let mut paths = Vec::new();
    for name in ["gpucore.4242", "core.4242"] {
        let packed = std::fs::File::open(folder.join(format!("{name}.gz"))).unwrap();
        let path = unpacked.path().join(name);
        let mut out = std::fs::File::create(&path).unwrap();
        std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut out).unwrap();
        paths.push(path);
    }
    let texts: Vec<CString> = paths.iter().map(|path| c(path.to_str().unwrap())).collect();
    for path in &texts {
        let mut file = sized!(hetdwarf_file);
        file.path = path.as_ptr();
        cores.push(file);
    }
    assert!(!cores.is_empty());
    let mut core = null_mut();
    ok(unsafe { hetdwarf_core_open(cores.as_ptr(), cores.len(), null(), 0, &mut core) });
    let mut arguments = vec!["core"];
    arguments.extend(paths.iter().map(|path| path.to_str().unwrap()));
    arguments.extend(["--format", "json"]);
    let document = common::hetdwarf(&arguments);
    let waves = document["waves"].as_array().unwrap();
    let mut info = sized!(hetdwarf_core_info);
    ok(unsafe { hetdwarf_core_get_info(core, &mut info) });
    assert_eq!(info.wave_count, waves.len());
    assert_eq!(
        info.problem_count,
        document["problems"].as_array().unwrap().len()
    );
    let mut stops = Vec::new();
    for (at, wave) in waves.iter().enumerate() {
        let mut known = sized!(hetdwarf_core_wave);
        ok(unsafe { hetdwarf_core_get_wave(core, at, &mut known) });
        assert_eq!(format!("{:#x}", known.pc), wave["pc"].as_str().unwrap());
        assert_eq!(text(known.state), wave["state"].as_str().unwrap());
        let mut stop = null_mut();
        ok(unsafe { hetdwarf_core_stop(core, at, &mut stop) });
        stops.push((stop, wave));
    }
    free(core);
    for (stop, wave) in stops {
        let mut frame = sized!(hetdwarf_frame);
        ok(unsafe { hetdwarf_stop_frame(stop, 0, &mut frame, null_mut(), 0) });
        assert_eq!(text(frame.function), wave["function"].as_str().unwrap());
        assert_eq!(frame.line, wave["line"].as_u64().unwrap());
        free(stop);
    }
}

/// Returns the functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = std::fs::read_to_string(common::root().join("include/hetdwarf.h")).unwrap();
    let lines = header
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let lines = lines.filter(|line| !line.starts_with(' ') && !line.starts_with("typedef"));
    let starts = lines.filter_map(|line| line.split_once('('));
    let starts = starts.filter(|(before, _)| !before.starts_with("template"));
    let names = starts.filter_map(|(before, _)| before.rsplit([' ', '*']).next());
    names
        .filter(|name| name.starts_with("hetdwarf_"))
        .map(str::to_owned)
        .collect()
}

/// Calls every function with `handle` as its handle and NULL or invalid values as the other arguments.
#[expect(clippy::too_many_lines, reason = "a line for each function")]
fn call_all(handle: *mut c_void) -> Vec<(&'static str, hetdwarf_status)> {
    let as_status = |status: i32| match status {
        1 => HETDWARF_INVALID_ARGUMENT,
        2 => HETDWARF_INVALID_HANDLE,
        other => panic!("{other}"),
    };
    macro_rules! calls {
        ($($name:ident($($argument:expr),*);)*) => {
            vec![$((stringify!($name), unsafe { $name($($argument),*) })),*]
        };
    }
    let h = handle;
    let nowhere = hetdwarf_range { start: 1, end: 0 };
    let no_mask = hetdwarf_mask {
        kind: 99,
        number: 0,
        value: 0,
    };
    let mut all = calls! {
        hetdwarf_cfi_add(h.cast(), null());
        hetdwarf_cfi_function(h.cast(), null(), 0);
        hetdwarf_cfi_new(null(), 0, null_mut());
        hetdwarf_cfi_text(h.cast(), null_mut());
        hetdwarf_cfi_write(h.cast(), null_mut());
        hetdwarf_core_describe(h.cast(), 0, null_mut());
        hetdwarf_core_get_info(h.cast(), null_mut());
        hetdwarf_core_get_wave(h.cast(), 0, null_mut());
        hetdwarf_core_open(null(), 1, null(), 1, null_mut());
        hetdwarf_core_problem(h.cast(), 0, null_mut());
        hetdwarf_core_stop(h.cast(), 0, null_mut());
        hetdwarf_escape(null(), null_mut(), 0, null_mut());
        hetdwarf_evaluate(null(), null_mut());
        hetdwarf_lane_pcs_add_graph(h.cast(), null(), null(), null(), 0, null(), 1, null_mut());
        hetdwarf_lane_pcs_begin_function(h.cast(), null(), null(), null(), 0, 0);
        hetdwarf_lane_pcs_begin_phase(h.cast(), null());
        hetdwarf_lane_pcs_begin_region(h.cast());
        hetdwarf_lane_pcs_end(h.cast());
        hetdwarf_lane_pcs_mask(h.cast(), nowhere, no_mask, null());
        hetdwarf_lane_pcs_new(null_mut());
        hetdwarf_lane_pcs_refused(h.cast(), 0, null_mut());
        hetdwarf_lane_pcs_section(h.cast(), 0, null_mut(), null_mut());
        hetdwarf_lane_pcs_text(h.cast(), null(), null_mut());
        hetdwarf_lane_pcs_whole_wave(h.cast(), nowhere, no_mask);
        hetdwarf_lane_pcs_write(h.cast(), null(), null_mut());
        hetdwarf_object_addresses_of(h.cast(), null(), 0, null_mut(), 1, null_mut());
        hetdwarf_object_count(h.cast(), 99, null_mut());
        hetdwarf_object_function(h.cast(), 0, null_mut());
        hetdwarf_object_function_range(h.cast(), 0, 0, null_mut());
        hetdwarf_object_global(h.cast(), 0, null_mut());
        hetdwarf_object_global_location(h.cast(), 0, 0, null_mut());
        hetdwarf_object_line_row(h.cast(), 0, null_mut());
        hetdwarf_object_open_with(null(), null_mut());
        hetdwarf_object_types(h.cast(), null(), null_mut());
        hetdwarf_symbolize(h.cast(), 0, null(), 1, null_mut(), null_mut(), 1, null_mut());
        hetdwarf_core_symbolize(h.cast(), null(), 1, null_mut(), null_mut(), 1, null_mut());
        hetdwarf_types_count(h.cast(), null_mut());
        hetdwarf_types_dimension(h.cast(), 0, 0, null_mut());
        hetdwarf_types_discriminant(h.cast(), 0, null_mut());
        hetdwarf_types_enumerator(h.cast(), 0, 0, null_mut());
        hetdwarf_types_get(h.cast(), 0, null_mut());
        hetdwarf_types_member(h.cast(), 0, 0, null_mut());
        hetdwarf_types_number(h.cast(), 0, null_mut());
        hetdwarf_types_parameter(h.cast(), 0, 0, null_mut());
        hetdwarf_types_variant(h.cast(), 0, 0, null_mut());
        hetdwarf_types_variant_choice(h.cast(), 0, 0, 0, null_mut());
        hetdwarf_types_variant_member(h.cast(), 0, 0, 0, null_mut());
        hetdwarf_values_location_expression(h.cast(), 0, 0, null_mut());
        hetdwarf_values_parts(h.cast(), 0, 99, 0, 1, null_mut(), null_mut());
        hetdwarf_values_types(h.cast(), null_mut());
        hetdwarf_object_function_at(h.cast(), 0, null_mut(), null_mut(), 1);
        hetdwarf_object_get_info(h.cast(), null_mut());
        hetdwarf_object_info_json(h.cast(), null_mut());
        hetdwarf_object_coverage_json(h.cast(), null_mut());
        hetdwarf_object_compare_json(h.cast(), h.cast(), f64::NAN, null_mut());
        hetdwarf_object_kernel(h.cast(), 0, null_mut());
        hetdwarf_object_kernel_argument(h.cast(), 0, 0, null_mut());
        hetdwarf_object_kernel_field(h.cast(), 0, 0, null_mut());
        hetdwarf_object_kernel_initial_registers(h.cast(), 0, 0, null_mut());
        hetdwarf_object_kernel_limits(h.cast(), 0, null_mut());
        hetdwarf_object_line_at(h.cast(), 0, null_mut());
        hetdwarf_object_open(null(), 1, null(), null_mut());
        hetdwarf_object_open_file(null(), null(), null_mut());
        hetdwarf_object_stop(h.cast(), null(), null_mut());
        hetdwarf_object_verify(h.cast(), null(), 0, None, null_mut());
        hetdwarf_result_get_info(h.cast(), null_mut());
        hetdwarf_result_part(h.cast(), 0, 0, null_mut(), null_mut());
        hetdwarf_result_place(h.cast(), 0, null_mut());
        hetdwarf_result_read(h.cast(), 0, 0, null_mut());
        hetdwarf_result_write(h.cast(), 0, null(), 8);
        hetdwarf_snapshot_open(null(), 1, null_mut());
        hetdwarf_snapshot_open_file(null(), null_mut());
        hetdwarf_snapshot_wave(h.cast(), null_mut());
        hetdwarf_stop_frame(h.cast(), 0, null_mut(), null_mut(), 1);
        hetdwarf_stop_get_info(h.cast(), null_mut());
        hetdwarf_stop_lanes(h.cast(), 0, 77, null_mut(), 64);
        hetdwarf_stop_print(h.cast(), 0, null(), 0, null_mut());
        hetdwarf_stop_register(h.cast(), 0, 0, 99, null_mut());
        hetdwarf_stop_variables(h.cast(), 0, null_mut());
        hetdwarf_values_count(h.cast(), null_mut());
        hetdwarf_values_earlier(h.cast(), 0, 99, null_mut());
        hetdwarf_values_find(h.cast(), null(), null_mut());
        hetdwarf_values_get_info(h.cast(), 0, null_mut());
        hetdwarf_values_location(h.cast(), 0, 99, null_mut());
        hetdwarf_values_read(h.cast(), 0, null());
    };
    let read = unsafe { hetdwarf_snapshot_read_register(h, 0, -5, 0, 8, null_mut()) };
    all.push(("hetdwarf_snapshot_read_register", as_status(read)));
    let read = unsafe { hetdwarf_snapshot_read_memory(h, 99, 0, 1, null_mut()) };
    all.push(("hetdwarf_snapshot_read_memory", as_status(read)));
    all
}

#[test]
fn nonsense_is_refused_by_every_function() {
    let is_refused = |status| matches!(status, HETDWARF_INVALID_ARGUMENT | HETDWARF_INVALID_HANDLE);
    let (object, wave) = case("calls");
    let (object, snapshot) = (open_object(&object), open_snapshot(&wave));
    let stop = open_stop(object, snapshot);
    let mut values = null_mut();
    ok(unsafe { hetdwarf_stop_variables(stop, 0, &mut values) });
    let result = evaluate(stop, "DW_OP_lit1", 0).unwrap();
    let mut types = null_mut();
    ok(unsafe { hetdwarf_values_types(values, &mut types) });
    let mut cfi = null_mut();
    ok(unsafe { hetdwarf_cfi_new(c"gfx90a".as_ptr(), 64, &mut cfi) });
    let mut lane_pcs = null_mut();
    ok(unsafe { hetdwarf_lane_pcs_new(&mut lane_pcs) });
    let mut words = [0x5555_5555_5555_5555_u64; 8];
    let handles: [*mut c_void; 11] = [
        null_mut(),
        words.as_mut_ptr().cast(),
        words.as_mut_ptr().cast::<u8>().wrapping_add(1).cast(),
        object.cast(),
        snapshot.cast(),
        stop.cast(),
        values.cast(),
        types.cast(),
        result.cast(),
        cfi.cast(),
        lane_pcs.cast(),
    ];
    let mut called = BTreeSet::new();
    for handle in handles {
        for (name, status) in call_all(handle) {
            // With a valid handle, the only other failure is a missing kernel.
            assert!(
                is_refused(status) || status == HETDWARF_NOT_FOUND,
                "{name}: {status:?}"
            );
            assert!(!hetdwarf_last_error().is_null(), "{name}");
            called.insert(name.to_owned());
        }
    }
    // A pointer that is not a handle is not freed. The functions for names accept any number.
    let status = unsafe { hetdwarf_free(words.as_mut_ptr().cast()) };
    assert_eq!(status, HETDWARF_INVALID_HANDLE);
    ok(unsafe { hetdwarf_free(null_mut()) });
    assert_eq!(text(hetdwarf_status_name(-1)), "?");
    assert_eq!(text(hetdwarf_lane_state_name(200)), "?");
    assert_eq!(text(hetdwarf_version()), env!("CARGO_PKG_VERSION"));
    assert!(hetdwarf_last_error().is_null());
    let rest = [
        "free",
        "last_error",
        "status_name",
        "lane_state_name",
        "version",
    ];
    called.extend(rest.map(|name| format!("hetdwarf_{name}")));
    assert_eq!(called, declared());
    for handle in &handles[3..] {
        free(*handle);
    }
}

#[test]
fn structs_of_wrong_sizes_are_refused() {
    with_stop(|stop| {
        let mut frame = sized!(hetdwarf_frame);
        let size = frame.size;
        for wrong in [0, 1, size - 8, size + 1, usize::MAX, usize::MAX - 7] {
            frame.size = wrong;
            let status = unsafe { hetdwarf_stop_frame(stop, 0, &mut frame, null_mut(), 0) };
            assert_eq!(status, HETDWARF_INVALID_ARGUMENT, "{wrong}");
        }
        // A struct of a later version of the header: the library clears the fields that it does not know.
        let mut later = [(sized!(hetdwarf_frame), [7_u64; 4])];
        later[0].0.size = size + 32;
        ok(unsafe { hetdwarf_stop_frame(stop, 0, (&raw mut later).cast(), null_mut(), 0) });
        assert_eq!(later[0].1, [0; 4]);
        // An input whose reserved field is not zero.
        let mut lanes = sized!(hetdwarf_lanes);
        lanes.reserved[1] = 1;
        let mut values = null_mut();
        ok(unsafe { hetdwarf_stop_variables(stop, 0, &mut values) });
        let status = unsafe { hetdwarf_values_read(values, 0, &lanes) };
        assert_eq!(status, HETDWARF_INVALID_ARGUMENT);
        // Arrays with these strides would exceed the address space.
        for stride in [usize::MAX, isize::MAX as usize] {
            let mut bytes = [0u8; 1];
            let lanes = hetdwarf_lanes {
                count: 1,
                lanes: 1,
                bytes: bytes.as_mut_ptr(),
                stride,
                ..sized!(hetdwarf_lanes)
            };
            let status = unsafe { hetdwarf_values_read(values, 0, &lanes) };
            assert_eq!(status, HETDWARF_INVALID_ARGUMENT, "{stride}");
        }
        // An input of a later version is accepted if its unknown bytes are zero.
        let mut later = [(sized!(hetdwarf_lanes), [0_u64; 4])];
        later[0].0.size += 32;
        ok(unsafe { hetdwarf_values_read(values, 0, (&raw const later).cast()) });
        for word in 0..4 {
            later[0].1 = [0; 4];
            later[0].1[word] = 1 << 63;
            let status = unsafe { hetdwarf_values_read(values, 0, (&raw const later).cast()) };
            assert_eq!(status, HETDWARF_INVALID_ARGUMENT, "{word}");
        }
        free(values);
    });
}

#[test]
fn more_threads_than_are_useful_are_fewer() {
    extern "C" fn ignore(_: *mut c_void, _: *const hetdwarf_finding) -> i32 {
        0
    }
    let (object, _) = case("calls");
    let object = open_object(&object);
    let rules = c"cfi-*".as_ptr();
    let verify =
        |jobs| unsafe { hetdwarf_object_verify(object, rules, jobs, Some(ignore), null_mut()) };
    assert_eq!(verify(257), HETDWARF_OK);
    assert_eq!(verify(u32::MAX), HETDWARF_OK);
    assert_eq!(verify(0), HETDWARF_INVALID_ARGUMENT);
    free(object);
}

/// Passes lengths above `isize::MAX`, the longest slice in Rust.
#[test]
fn more_bytes_than_memory_can_have_are_refused() {
    for length in [usize::MAX, isize::MAX as usize + 1] {
        let mut object = null_mut();
        let bytes = [0x7f];
        let status = unsafe { hetdwarf_object_open(bytes.as_ptr(), length, null(), &mut object) };
        assert_eq!(status, HETDWARF_INVALID_ARGUMENT, "{length}");
        assert!(object.is_null());
    }
}

/// Returns all texts of all variables of the innermost frame.
fn texts(stop: *const hetdwarf_stop) -> Vec<String> {
    let mut values = null_mut();
    ok(unsafe { hetdwarf_stop_variables(stop, 0, &mut values) });
    let mut count = 0;
    ok(unsafe { hetdwarf_values_count(values, &mut count) });
    let mut found = Vec::new();
    for at in 0..count {
        let mut texts = [null(); 64];
        let mut lanes = sized!(hetdwarf_lanes);
        lanes.lanes = u64::MAX;
        lanes.count = 64;
        lanes.texts = texts.as_mut_ptr();
        ok(unsafe { hetdwarf_values_read(values, at, &lanes) });
        found.extend(
            texts
                .iter()
                .filter(|place| !place.is_null())
                .map(|place| text(*place)),
        );
    }
    free(values);
    found
}

#[test]
fn eight_threads_use_handles_of_their_own_and_one_together() {
    #[derive(Clone, Copy)]
    struct Shared(
        *mut hetdwarf_object,
        *mut hetdwarf_snapshot,
        *mut hetdwarf_stop,
    );
    unsafe impl Send for Shared {}
    unsafe impl Sync for Shared {}

    let (path, wave) = case("calls");
    let (object, snapshot) = (open_object(&path), open_snapshot(&wave));
    let stop = open_stop(object, snapshot);
    let expected = texts(stop);
    assert!(expected.len() > 30);
    let shared = Shared(object, snapshot, stop);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (path, wave, expected, shared) = (&path, &wave, &expected, &shared);
            scope.spawn(move || {
                for round in 0..6 {
                    // The stop that all threads share.
                    assert_eq!(&texts(shared.2), expected);
                    // A stop of its own in the shared object.
                    let stop = open_stop(shared.0, shared.1);
                    assert_eq!(&texts(stop), expected);
                    free(stop);
                    if (thread + round) % 4 == 0 {
                        // An object, a snapshot and a stop of its own.
                        let (object, snapshot) = (open_object(path), open_snapshot(wave));
                        let stop = open_stop(object, snapshot);
                        free(object);
                        assert_eq!(&texts(stop), expected);
                        free(stop);
                        free(snapshot);
                    }
                    // The last error belongs to this thread.
                    let status = unsafe { hetdwarf_object_stop(shared.0, null(), null_mut()) };
                    assert_ne!(status, HETDWARF_OK);
                    assert!(!hetdwarf_last_error().is_null());
                }
            });
        }
    });
    free(stop);
    free(snapshot);
    free(object);
}

/// Compares kernel arguments and registers with `llvm-readelf -n` and the register order in USAGE.
#[test]
fn a_kernel_says_what_it_is_given() {
    let (object, _) = case("calls");
    let object = open_object(&object);
    // SAFETY: structs with their sizes, and a handle that is open.
    unsafe {
        let mut argument: hetdwarf_argument = zeroed();
        argument.size = size_of::<hetdwarf_argument>();
        ok(hetdwarf_object_kernel_argument(object, 0, 2, &mut argument));
        assert_eq!((argument.offset, argument.byte_size), (16, 4));
        assert_eq!(text(argument.type_name), "int");
        assert_eq!(text(argument.value_kind), "by_value");
        assert!(argument.name.is_null());
        assert_eq!(argument.is_hidden, 0);
        ok(hetdwarf_object_kernel_argument(object, 0, 3, &mut argument));
        assert_eq!(text(argument.name), "hidden_block_count_x");
        assert_eq!(argument.is_hidden, 1);
        assert_eq!(
            hetdwarf_object_kernel_argument(object, 0, 999, &mut argument),
            HETDWARF_NOT_FOUND
        );

        let mut limits: hetdwarf_kernel_limits = zeroed();
        limits.size = size_of::<hetdwarf_kernel_limits>();
        ok(hetdwarf_object_kernel_limits(object, 0, &mut limits));
        assert_eq!(limits.max_workgroup_size, 256);
        assert_eq!(limits.required_workgroup_size, [0; 3]);
        assert_eq!(limits.max_workgroups, [u64::MAX; 3]);

        let mut registers: hetdwarf_initial_registers = zeroed();
        registers.size = size_of::<hetdwarf_initial_registers>();
        let mut all = Vec::new();
        for index in 0.. {
            let status = hetdwarf_object_kernel_initial_registers(object, 0, index, &mut registers);
            if status == HETDWARF_NOT_FOUND {
                break;
            }
            ok(status);
            all.push((
                text(registers.registers),
                text(registers.holds),
                registers.first_bit,
                registers.bit_count,
            ));
        }
        let item = |registers: &str, holds: &str, first, count| {
            (registers.to_owned(), holds.to_owned(), first, count)
        };
        assert_eq!(all[0], item("s[0:1]", "dispatch-pointer", 0, 64));
        assert!(all.contains(&item("s[4:5]", "kernarg-segment-pointer", 0, 64)));
        assert!(all.contains(&item("v0", "work-item-id-z", 20, 10)));

        let mut field: hetdwarf_descriptor_field = zeroed();
        field.size = size_of::<hetdwarf_descriptor_field>();
        let mut fields = std::collections::BTreeMap::new();
        for index in 0.. {
            let status = hetdwarf_object_kernel_field(object, 0, index, &mut field);
            if status == HETDWARF_NOT_FOUND {
                break;
            }
            ok(status);
            fields.insert(text(field.name), field.value);
        }
        assert_eq!(fields["ENABLE_WAVEFRONT_SIZE32"], 1);
        assert_eq!(fields["ENABLE_SGPR_KERNARG_SEGMENT_PTR"], 1);
    }
    free(object);
}

/// Fails with the status that `user` points to.
unsafe extern "C" fn failing_register(
    user: *mut c_void,
    _: u32,
    _: i32,
    _: u32,
    _: u32,
    _: *mut c_void,
) -> i32 {
    unsafe { user.cast::<i32>().read() }
}

unsafe extern "C" fn failing_memory(
    user: *mut c_void,
    _: u32,
    _: u64,
    _: usize,
    _: *mut c_void,
) -> i32 {
    unsafe { user.cast::<i32>().read() }
}

#[test]
fn a_callback_that_fails_keeps_its_status() {
    let object = open_object(&case("calls").0);
    let status = Box::into_raw(Box::new(HETDWARF_OK as i32));
    let mut wave = sized!(hetdwarf_wave);
    wave.user = status.cast();
    wave.read_register = Some(failing_register);
    wave.read_memory = Some(failing_memory);
    wave.wave_size = 32;
    let mut stop = null_mut();
    ok(unsafe { hetdwarf_object_stop(object, &wave, &mut stop) });
    let results = [
        evaluate(stop, "DW_OP_regx SGPR4", HETDWARF_NO_LANE).unwrap(),
        evaluate(stop, "DW_OP_lit16", 5).unwrap(),
    ];
    let mut bytes = [0; 256];
    let mut bits = sized!(hetdwarf_bits);
    (bits.bytes, bits.capacity) = (bytes.as_mut_ptr(), 256);
    let cases = [
        (HETDWARF_IO as i32, HETDWARF_IO),
        (HETDWARF_LIMIT as i32, HETDWARF_LIMIT),
        (HETDWARF_NOT_FOUND as i32, HETDWARF_NOT_FOUND),
        (HETDWARF_FAILED as i32, HETDWARF_FAILED),
        (HETDWARF_CALLBACK_FAILED as i32, HETDWARF_CALLBACK_FAILED),
        // A status about the library's own handles, or an unknown status, is replaced.
        (HETDWARF_INTERNAL as i32, HETDWARF_CALLBACK_FAILED),
        (HETDWARF_INVALID_HANDLE as i32, HETDWARF_CALLBACK_FAILED),
        (-7, HETDWARF_CALLBACK_FAILED),
        (4711, HETDWARF_CALLBACK_FAILED),
    ];
    for (given, expected) in cases {
        unsafe { status.write(given) };
        let check = |found: hetdwarf_status| {
            let message = text(hetdwarf_last_error());
            assert_eq!(found, expected, "{given}: {message}");
            assert!(
                message.contains(&format!("returned status {given}")),
                "{message}"
            );
        };
        for result in results {
            check(unsafe { hetdwarf_result_read(result, HETDWARF_NO_LANE, 32, &mut bits) });
        }
        check(unsafe { hetdwarf_stop_register(stop, 0, 36, HETDWARF_NO_LANE, &mut bits) });
        // All lanes of a vector register are read in one call.
        check(unsafe { hetdwarf_stop_register(stop, 0, 1538, HETDWARF_NO_LANE, &mut bits) });
    }
    unsafe { status.write(HETDWARF_UNAVAILABLE as i32) };
    ok(unsafe { hetdwarf_stop_register(stop, 0, 36, HETDWARF_NO_LANE, &mut bits) });
    assert_eq!(bits.is_complete, 0);
    drop(unsafe { Box::from_raw(status) });
    for result in results {
        free(result);
    }
    free(stop);
    free(object);
}

#[test]
fn symbols_of_functions_are_not_empty_and_not_twice() {
    let mut cfi = null_mut();
    ok(unsafe { hetdwarf_cfi_new(c"gfx90a".as_ptr(), 64, &mut cfi) });
    ok(unsafe { hetdwarf_cfi_function(cfi, c"f".as_ptr(), 64) });
    ok(unsafe { hetdwarf_cfi_function(cfi, c"g".as_ptr(), 64) });
    let status = unsafe { hetdwarf_cfi_function(cfi, c"f".as_ptr(), 64) };
    assert_eq!(status, HETDWARF_INVALID_ARGUMENT);
    assert!(text(hetdwarf_last_error()).contains("`f`"));
    let status = unsafe { hetdwarf_cfi_function(cfi, c"".as_ptr(), 64) };
    assert_eq!(status, HETDWARF_MALFORMED);
    // The rejected functions are not written. The other two are, each with its symbol.
    let mut section = sized!(hetdwarf_section);
    ok(unsafe { hetdwarf_cfi_write(cfi, &mut section) });
    let points =
        unsafe { core::slice::from_raw_parts(section.relocations, section.relocation_count) };
    let symbols = points.iter().filter(|point| !point.symbol.is_null());
    let symbols: Vec<String> = symbols.map(|point| text(point.symbol)).collect();
    assert_eq!(symbols, ["f", "g"]);
    free(cfi);

    let mut writer = null_mut();
    ok(unsafe { hetdwarf_lane_pcs_new(&mut writer) });
    let begin = |name: &CStr, start: &CStr, end: &CStr| unsafe {
        hetdwarf_lane_pcs_begin_function(
            writer,
            name.as_ptr(),
            start.as_ptr(),
            end.as_ptr(),
            64,
            32,
        )
    };
    for (name, start, end) in [
        (c"", c"f", c"e"),
        (c"f", c"", c"e"),
        (c"f", c"f", c""),
        (c"f", c"f", c"f"),
    ] {
        assert_eq!(begin(name, start, end), HETDWARF_INVALID_ARGUMENT);
    }
    ok(begin(c"f", c"f", c".Lend"));
    ok(unsafe { hetdwarf_lane_pcs_end(writer) });
    assert_eq!(begin(c"other", c"f", c".Lother"), HETDWARF_INVALID_ARGUMENT);
    ok(begin(c"f", c"g", c".Lend_g"));
    free(writer);
}

/// Returns the state and message of the variable `name` in lane 0, in an object opened with these limits.
fn state_with(limits: &[hetdwarf_limit], name: &str) -> (u8, Option<String>) {
    let (object, wave) = case("calls");
    let path = c(&object);
    let mut opening = sized!(hetdwarf_opening);
    opening.path = path.as_ptr();
    opening.limits = limits.as_ptr();
    opening.limit_count = limits.len();
    let mut object = null_mut();
    ok(unsafe { hetdwarf_object_open_with(&opening, &mut object) });
    let snapshot = open_snapshot(&wave);
    let stop = open_stop(object, snapshot);
    let (mut values, mut index) = (null_mut(), 0);
    ok(unsafe { hetdwarf_stop_variables(stop, 0, &mut values) });
    ok(unsafe { hetdwarf_values_find(values, c(name).as_ptr(), &mut index) });
    let (mut states, mut messages) = ([0; 64], [null(); 64]);
    let mut lanes = sized!(hetdwarf_lanes);
    (lanes.lanes, lanes.count) = (1, 64);
    (lanes.states, lanes.messages) = (states.as_mut_ptr(), messages.as_mut_ptr());
    ok(unsafe { hetdwarf_values_read(values, index, &lanes) });
    let message = (!messages[0].is_null()).then(|| text(messages[0]));
    free(values);
    free(stop);
    free(snapshot);
    free(object);
    (states[0], message)
}

#[test]
fn the_limit_of_a_value_can_be_set() {
    let limit = |value| {
        [hetdwarf_limit {
            name: c"value".as_ptr(),
            value,
        }]
    };
    // `even` is an `int` of 4 bytes.
    assert_eq!(state_with(&[], "even"), (HETDWARF_LANE_OK, None));
    assert_eq!(state_with(&limit(4), "even"), (HETDWARF_LANE_OK, None));
    let (state, message) = state_with(&limit(3), "even");
    assert_eq!(state, HETDWARF_LANE_PARTIAL);
    let message = message.unwrap();
    assert!(
        message.contains("value") && message.contains('3'),
        "{message}"
    );
    let mut opening = sized!(hetdwarf_opening);
    let (path, limits) = (
        c(&case("calls").0),
        [hetdwarf_limit {
            name: c"sizes".as_ptr(),
            value: 1,
        }],
    );
    opening.path = path.as_ptr();
    (opening.limits, opening.limit_count) = (limits.as_ptr(), 1);
    let mut object = null_mut();
    let status = unsafe { hetdwarf_object_open_with(&opening, &mut object) };
    assert_eq!(status, HETDWARF_INVALID_ARGUMENT);
    let message = text(hetdwarf_last_error());
    assert!(
        message.contains("\"sizes\"") && message.contains("value"),
        "{message}"
    );
}

/// Symbolizes many addresses into arrays of the caller.
#[test]
fn addresses_are_symbolized_into_arrays() {
    const LOADED: u64 = 0x7f40_0000_0000;
    let root = common::root().join("../examples/demo");
    let object = open_object(root.join("calls-O2.rocm.hsaco").to_str().unwrap());
    let addresses = [0x1a1c, 0, 0x1a1c, 0x1984, 0x1600].map(|pc: u64| pc + LOADED);
    let mut first = [usize::MAX; 6];
    let mut count = 0;
    let ask = |frames: &mut [hetdwarf_source_frame], count: &mut usize, first: &mut [usize; 6]| {
        let place = match frames.is_empty() {
            true => null_mut(),
            false => frames.as_mut_ptr(),
        };
        unsafe {
            hetdwarf_symbolize(
                object,
                LOADED,
                addresses.as_ptr(),
                addresses.len(),
                first.as_mut_ptr(),
                place,
                frames.len(),
                count,
            )
        }
    };
    ok(ask(&mut [], &mut count, &mut first));
    let mut frames = vec![sized!(hetdwarf_source_frame); count];
    let status = ask(&mut frames[1..], &mut count, &mut first);
    assert_eq!(status, HETDWARF_TOO_SMALL);
    ok(ask(&mut frames, &mut count, &mut first));
    assert_eq!(count, frames.len());
    let places: Vec<Vec<(String, u64, u64)>> = first
        .windows(2)
        .map(|ends| {
            let frames = frames[ends[0]..ends[1]].iter();
            frames
                .map(|frame| (text(frame.function), frame.line, frame.column))
                .collect()
        })
        .collect();
    // llvm-symbolizer 22 prints the same.
    let expected = ("k".to_owned(), 41, 3);
    assert_eq!(places[0], [expected]);
    assert!(places[1].is_empty());
    assert_eq!(places[2], places[0]);
    assert!(!places[3].is_empty() && places[4][0].0 == "leaf");
    frames[0].size = 1;
    let status = ask(&mut frames, &mut count, &mut first);
    assert_eq!(status, HETDWARF_INVALID_ARGUMENT);
    unsafe { hetdwarf_free(object.cast()) };

    // A core includes the load address.
    let path = c(root.join("demo.core").to_str().unwrap());
    let mut file = sized!(hetdwarf_file);
    file.path = path.as_ptr();
    let mut core = null_mut();
    ok(unsafe { hetdwarf_core_open(&file, 1, null(), 0, &mut core) });
    let mut wave = sized!(hetdwarf_core_wave);
    ok(unsafe { hetdwarf_core_get_wave(core, 0, &mut wave) });
    let mut frames = [sized!(hetdwarf_source_frame); 8];
    let mut ends = [0; 2];
    ok(unsafe {
        hetdwarf_core_symbolize(
            core,
            &wave.pc,
            1,
            ends.as_mut_ptr(),
            frames.as_mut_ptr(),
            8,
            &mut count,
        )
    });
    assert!(ends == [0, count] && count > 0, "{ends:?}");
    unsafe { hetdwarf_free(core.cast()) };
}

/// Checks that a 64-lane wave is rejected for code of 32-lane waves. The command prints the same message.
#[test]
fn a_wave_that_cannot_run_the_code_is_refused() {
    let (object, wave) = case("calls");
    let (object, snapshot) = (open_object(&object), open_snapshot(&wave));
    let mut wave = sized!(hetdwarf_wave);
    ok(unsafe { hetdwarf_snapshot_wave(snapshot, &mut wave) });
    assert_eq!(wave.wave_size, 32);
    wave.wave_size = 64;
    let mut stop = null_mut();
    let status = unsafe { hetdwarf_object_stop(object, &wave, &mut stop) };
    assert_eq!(status, HETDWARF_INVALID_ARGUMENT);
    assert_eq!(
        text(hetdwarf_last_error()),
        "the wave has 64 lanes, but the code is for waves of 32"
    );
    assert!(stop.is_null());
    free(object);
    free(snapshot);
}

#[test]
fn a_wrong_load_address_and_a_wrong_name_are_explained() {
    let (object, wave) = case("calls");
    let (object, snapshot) = (open_object(&object), open_snapshot(&wave));
    let mut wave = sized!(hetdwarf_wave);
    ok(unsafe { hetdwarf_snapshot_wave(snapshot, &mut wave) });
    let loaded_at = wave.load_address;
    let find = |wave: &hetdwarf_wave, name: &str| {
        let (mut stop, mut values, mut index) = (null_mut(), null_mut(), 0);
        ok(unsafe { hetdwarf_object_stop(object, wave, &mut stop) });
        let mut info = sized!(hetdwarf_stop_info);
        ok(unsafe { hetdwarf_stop_get_info(stop, &mut info) });
        let end = text(info.message);
        ok(unsafe { hetdwarf_stop_variables(stop, 0, &mut values) });
        let status = unsafe { hetdwarf_values_find(values, c(name).as_ptr(), &mut index) };
        assert_eq!(status, HETDWARF_NOT_FOUND);
        let found = (text(hetdwarf_last_error()), end);
        free(values);
        free(stop);
        found
    };
    let (name, _) = find(&wave, "nobody");
    assert!(
        name.contains("no variable here is called nobody; there are "),
        "{name}"
    );
    wave.load_address = 0;
    let (name, end) = find(&wave, "nobody");
    let advice = format!("load address {loaded_at:#x} would fit");
    assert!(
        name.ends_with(&advice) && end.ends_with(&advice),
        "{name}\n{end}"
    );
    free(object);
    free(snapshot);
}
