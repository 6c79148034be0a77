//! Compares the documents of objects, and `entry` and `last-known` values, with the output of the command.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod common;

use core::ffi::{CStr, c_char};
use core::ptr::{null, null_mut};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::Path;

use hetdwarf_capi::hetdwarf_status::*;
use hetdwarf_capi::*;
use serde_json::Value;

fn text(place: *const c_char) -> Option<String> {
    if place.is_null() {
        return None;
    }
    // SAFETY: strings of the library end with a NUL.
    let text = unsafe { CStr::from_ptr(place) };
    Some(text.to_str().unwrap().to_owned())
}

fn ok(status: hetdwarf_status) {
    let message = hetdwarf_last_error();
    assert!(status == HETDWARF_OK, "{status:?}: {:?}", text(message));
}

/// An open code object.
struct Object(*mut hetdwarf_object);

impl Object {
    fn open(path: &Path, choose: Option<&str>) -> Object {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        let choose = choose.map(|choose| CString::new(choose).unwrap());
        let choose = choose.as_ref().map_or(null(), |choose| choose.as_ptr());
        let mut object = null_mut();
        // SAFETY: both strings end with a NUL.
        ok(unsafe { hetdwarf_object_open_file(path.as_ptr(), choose, &mut object) });
        Object(object)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the handle is live.
        ok(unsafe { hetdwarf_free(self.0.cast()) });
    }
}

/// Returns the JSON document that a function writes.
fn json(get: impl FnOnce(*mut *const c_char) -> hetdwarf_status) -> Value {
    let mut place = null();
    ok(get(&mut place));
    serde_json::from_str(&text(place).unwrap()).unwrap()
}

/// Returns the command's document without file names, which C objects do not have.
fn of_command(arguments: &[&str]) -> Value {
    let mut document = common::hetdwarf(arguments);
    for name in ["old", "new"] {
        if let Some(file) = document.get_mut(name) {
            *file = "".into();
        }
    }
    if let Some(files) = document.get_mut("files") {
        files[0]["file"] = "".into();
    }
    document
}

/// Returns the files in a folder of fixtures whose names have this ending.
fn fixtures(folder: &str, end: &str) -> Vec<String> {
    let folder = common::root().join("../dwarf-tests/fixtures").join(folder);
    let files = std::fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().path().to_str().unwrap().to_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

#[test]
fn documents_are_those_of_the_command() {
    let mut objects = fixtures("waves/calls", ".hsaco");
    objects.extend(fixtures("waves/structs", ".hsaco"));
    objects.extend(fixtures("waves/loops-gfx90a", ".hsaco"));
    for path in &objects {
        let object = Object::open(Path::new(path), None);
        // SAFETY: the handle is live.
        let found = json(|place| unsafe { hetdwarf_object_info_json(object.0, place) });
        let info = common::hetdwarf(&["info", path, "--descriptor", "--format", "json"]);
        assert_eq!(found, info["object"], "{path}");
        // SAFETY: as above.
        let found = json(|place| unsafe { hetdwarf_object_coverage_json(object.0, place) });
        assert_eq!(
            found,
            of_command(&["coverage", path, "--format", "json"]),
            "{path}"
        );
    }
}

#[test]
fn the_number_of_an_object_in_a_bundle_is_in_its_document() {
    let path = &fixtures("object", ".hipfb")[0];
    let listed = common::hetdwarf(&["info", path, "--format", "json"]);
    let count = listed["objects"].as_array().unwrap().len();
    assert!(count > 1, "{count}");
    for index in 0..count {
        let number = index.to_string();
        let object = Object::open(Path::new(path), Some(&number));
        // SAFETY: the handle is live.
        let found = json(|place| unsafe { hetdwarf_object_info_json(object.0, place) });
        let arguments = ["info", path, "--index", &number, "--descriptor", "--format"];
        let info = common::hetdwarf(&[&arguments[..], &["json"]].concat());
        assert_eq!(found, info["object"], "{path}");
        assert_eq!(found["index"], index);
    }
}

#[test]
fn comparisons_are_those_of_the_command() {
    let folder = common::root().join("../dwarf-tests/fixtures/waves");
    let old = folder.join("calls/calls.rocm.hsaco");
    let new = folder.join("calls-O2/calls-O2.rocm.hsaco");
    for (old, new, tolerance) in [(&old, &new, "0"), (&new, &old, "2.5"), (&new, &new, "0")] {
        let (before, after) = (Object::open(old, None), Object::open(new, None));
        let tolerance_number = tolerance.parse().unwrap();
        // SAFETY: the handles are live.
        let found = json(|place| unsafe {
            hetdwarf_object_compare_json(after.0, before.0, tolerance_number, place)
        });
        let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
        let arguments = [
            "compare",
            old,
            new,
            "--tolerance",
            tolerance,
            "--format",
            "json",
        ];
        assert_eq!(found, of_command(&arguments), "{old} {new}");
    }
    let object = Object::open(&old, None);
    let mut place = null();
    for tolerance in [-0.5, f64::NAN] {
        // SAFETY: the handle is live.
        let status =
            unsafe { hetdwarf_object_compare_json(object.0, object.0, tolerance, &mut place) };
        assert_eq!(status, HETDWARF_INVALID_ARGUMENT);
    }
}

/// Returns the library's information about the earlier value of a variable in a lane.
fn earlier(
    values: *const hetdwarf_values,
    index: usize,
    lane: u32,
) -> Result<hetdwarf_earlier, hetdwarf_status> {
    // SAFETY: all bytes zero are a valid value.
    let mut found: hetdwarf_earlier = unsafe { core::mem::zeroed() };
    found.size = size_of::<hetdwarf_earlier>();
    // SAFETY: the handle is live.
    match unsafe { hetdwarf_values_earlier(values, index, lane, &mut found) } {
        HETDWARF_OK => Ok(found),
        status => Err(status),
    }
}

/// Compares the earlier values of all lanes of a variable or expression with the command's lanes.
fn compare(
    values: *const hetdwarf_values,
    index: usize,
    lanes: &[Value],
    states: &mut BTreeSet<String>,
) {
    let mut messages = [null(); 64];
    // SAFETY: all bytes zero are a valid value.
    let mut read: hetdwarf_lanes = unsafe { core::mem::zeroed() };
    read.size = size_of::<hetdwarf_lanes>();
    (read.lanes, read.count) = (u64::MAX, 64);
    read.messages = messages.as_mut_ptr();
    // SAFETY: the arrays have 64 entries.
    ok(unsafe { hetdwarf_values_read(values, index, &read) });
    for lane in lanes {
        let number = u32::try_from(lane["lane"].as_u64().unwrap()).unwrap();
        let state = lane["state"].as_str().unwrap();
        let found = earlier(values, index, number);
        if lane["from"].is_null() {
            assert_eq!(found.err(), Some(HETDWARF_NOT_FOUND), "{lane}");
            continue;
        }
        let (found, as_of) = (found.unwrap(), &lane["as_of"]);
        let name = hetdwarf_lane_state_name(u8::try_from(found.state).unwrap());
        assert_eq!(text(name).as_deref(), Some(state));
        assert_eq!(text(found.origin).as_deref(), lane["from"].as_str());
        assert_eq!(text(found.path).as_deref(), as_of["file"].as_str());
        assert_eq!(found.line, as_of["line"].as_u64().unwrap_or(0));
        let pc = match as_of["pc"].as_str() {
            Some(pc) => u64::from_str_radix(pc.trim_start_matches("0x"), 16).unwrap(),
            None => 0,
        };
        assert_eq!(found.pc, pc);
        let message = text(messages[number as usize]);
        assert_eq!(message, common::earlier(lane), "{lane}");
        let since = text(found.text).unwrap();
        let from = lane["from"].as_str().unwrap();
        assert_eq!(message, Some(format!("{since}, from {from}")));
        states.insert(format!("{state} {from}"));
    }
    assert_eq!(
        earlier(values, index, 64).err(),
        Some(HETDWARF_INVALID_ARGUMENT)
    );
}

#[test]
fn earlier_values_are_those_of_the_command() {
    let mut states = BTreeSet::new();
    let mut cases: Vec<_> = common::waves().into_iter().step_by(23).collect();
    for case in ["across-gfx1100-O2", "prev-gfx90a-O2"] {
        let objects = fixtures(&format!("lost/{case}"), ".rocm.hsaco");
        let waves = fixtures(&format!("lost/{case}"), ".json").into_iter();
        let waves = waves.filter(|path| path.rsplit('/').next().unwrap().starts_with('w'));
        cases.extend(waves.map(|wave| (objects[0].clone().into(), wave.into())));
    }
    for (object, wave) in cases {
        let opened = Object::open(&object, None);
        let [object, wave] = [object, wave].map(|path| path.to_str().unwrap().to_owned());
        let (mut snapshot, mut stop, mut values) = (null_mut(), null_mut(), null_mut());
        let path = CString::new(wave.as_str()).unwrap();
        // SAFETY: all bytes zero are a valid value, and the handles are live.
        unsafe {
            let mut description: hetdwarf_wave = core::mem::zeroed();
            description.size = size_of::<hetdwarf_wave>();
            ok(hetdwarf_snapshot_open_file(path.as_ptr(), &mut snapshot));
            ok(hetdwarf_snapshot_wave(snapshot, &mut description));
            ok(hetdwarf_object_stop(opened.0, &description, &mut stop));
            ok(hetdwarf_stop_variables(stop, 0, &mut values));
        }
        let arguments = [
            "vars", &object, "--wave", &wave, "--frame", "0", "--lane", "all",
        ];
        let document = common::hetdwarf(&[&arguments[..], &["--format", "json"]].concat());
        let variables = document["frames"][0]["variables"].as_array().unwrap();
        for (index, variable) in variables.iter().enumerate() {
            compare(
                values,
                index,
                variable["lanes"].as_array().unwrap(),
                &mut states,
            );
        }
        for handle in [values.cast(), stop.cast(), snapshot.cast()] {
            // SAFETY: the handle is live.
            ok(unsafe { hetdwarf_free(handle) });
        }
    }
    let seen = |state: &str| states.iter().any(|one| one.starts_with(state));
    assert!(seen("entry ") && seen("last-known "), "{states:?}");
}
