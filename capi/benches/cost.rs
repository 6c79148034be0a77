//! Measures the cost of the C interface: the instructions for a variable of all lanes, with and without C.
//!
//! `cargo bench -p hetdwarf-capi` prints them; it needs valgrind. Each side runs with 20 and with 120 rounds, and the difference is divided
//! by 100, so opening does not count. A round is the work of a debugger at a stop. It makes a stop, reads its variables, and reads the
//! state, bytes and text of one variable in each lane.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::undocumented_unsafe_blocks,
    missing_docs,
    reason = "a benchmark, which calls as C does"
)]

use core::mem::zeroed;
use core::ptr::{null, null_mut};
use std::ffi::CString;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::Options;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{Snapshot, Wave as _};
use hetdwarf_capi::hetdwarf_status::HETDWARF_OK;
use hetdwarf_capi::*;

/// The object and the snapshot: a wave of 64 lanes, with a variable that differs in each.
const CASE: [&str; 2] = [
    "loops-gfx90a/loops-gfx90a.rocm.hsaco",
    "loops-gfx90a/w06.json",
];

fn paths() -> [PathBuf; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dwarf-tests/fixtures/waves");
    CASE.map(|name| folder.join(name))
}

fn in_rust(rounds: u32) -> usize {
    let [object, wave] = paths().map(|path| std::fs::read(path).unwrap());
    let object = CodeObject::parse(&object).unwrap();
    let program = Program::load(&object).unwrap();
    let wave = Snapshot::from_json(&wave).unwrap();
    let mut length = 0;
    for _ in 0..rounds {
        let arena = Arena::new();
        let options = StopOptions::loaded_at(wave.load_address);
        let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
        let frame = stop.call_frame(0).unwrap();
        let mut types = TypeTable::default();
        let values = frame.variables(&mut types).unwrap();
        let value = values.first().unwrap();
        let (options, mut buffer) = (Options::default(), String::new());
        let mut texts = value.texts(&types, &options, &mut buffer);
        for lane in wave.wave_size().all_lanes() {
            black_box(value.state(lane));
            black_box(value.bits(lane).unwrap());
            length += texts.text(lane).map_or(0, str::len);
        }
    }
    length
}

fn in_c(rounds: u32) -> usize {
    let [object_path, wave_path] =
        paths().map(|path| CString::new(path.to_str().unwrap()).unwrap());
    let check = |status| assert_eq!(status, HETDWARF_OK);
    let mut length = 0;
    unsafe {
        let (mut object, mut snapshot) = (null_mut(), null_mut());
        check(hetdwarf_object_open_file(
            object_path.as_ptr(),
            null(),
            &mut object,
        ));
        check(hetdwarf_snapshot_open_file(
            wave_path.as_ptr(),
            &mut snapshot,
        ));
        let mut wave: hetdwarf_wave = zeroed();
        wave.size = size_of::<hetdwarf_wave>();
        check(hetdwarf_snapshot_wave(snapshot, &mut wave));
        for _ in 0..rounds {
            let (mut stop, mut values) = (null_mut(), null_mut());
            check(hetdwarf_object_stop(object, &wave, &mut stop));
            check(hetdwarf_stop_variables(stop, 0, &mut values));
            let (mut states, mut bytes, mut texts) = ([0; 64], [0; 64 * 8], [null(); 64]);
            let mut lanes: hetdwarf_lanes = zeroed();
            lanes.size = size_of::<hetdwarf_lanes>();
            lanes.lanes = u64::MAX;
            lanes.count = 64;
            lanes.states = states.as_mut_ptr();
            lanes.bytes = bytes.as_mut_ptr();
            lanes.stride = 8;
            lanes.texts = texts.as_mut_ptr();
            check(hetdwarf_values_read(values, 0, &lanes));
            black_box((&states, &bytes));
            for text in texts {
                if !text.is_null() {
                    length += core::ffi::CStr::from_ptr(text).to_bytes().len();
                }
            }
            check(hetdwarf_free(values.cast()));
            check(hetdwarf_free(stop.cast()));
        }
        check(hetdwarf_free(snapshot.cast()));
        check(hetdwarf_free(object.cast()));
    }
    length
}

/// Returns the number of instructions of a run of this program.
fn counted(side: &str, rounds: u32) -> u64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command
        .arg(std::env::current_exe().unwrap())
        .args([side, &rounds.to_string()]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    line.unwrap_or_else(|| panic!("{text}"))
        .1
        .trim()
        .parse()
        .unwrap()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1..).unwrap_or_default() {
        [side, rounds] if side == "rust" => println!("{}", in_rust(rounds.parse().unwrap())),
        [side, rounds] if side == "c" => println!("{}", in_c(rounds.parse().unwrap())),
        _ => {
            assert_eq!(in_rust(1), in_c(1), "both read the same text");
            let each = |side| (counted(side, 120) - counted(side, 20)) / 100;
            let (rust, c) = (each("rust"), each("c"));
            let ratio = c as f64 / rust as f64;
            println!(
                "a variable of 64 lanes: {rust} instructions in Rust, {c} through C: {ratio:.2}"
            );
        }
    }
}
