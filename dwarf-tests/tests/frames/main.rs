//! All interfaces list the same frames for a stop: `unwind`, `core`, `lane-pc`, the page, Rust and C agree on numbers, kinds, names,
//! positions and lanes.
//!
//! Every interface is queried about every wave of the fixtures, and its output is converted to a common form. This form is compared with
//! the Rust interface. `symbolizer.rs` compares the Rust interface with llvm-symbolizer, and `truth.rs` with the emulated waves.

mod c;
mod core;
mod lanes;
mod reports;
mod text;
mod truth;

use std::io::Read;
use std::path::{Path, PathBuf};

use dwarf_tests::{fixture, hetdwarf, json, lane_cases, number, samples, wave_cases};
use flate2::read::GzDecoder;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;
use rayon::prelude::*;
use serde_json::Value;

/// A frame in the output of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    index: usize,
    kind: String,
    function: Option<String>,
    linkage_name: Option<String>,
    file: Option<String>,
    line: Option<u64>,
    column: Option<u64>,
    approximate: bool,
    symbol_offset: Option<u64>,
    pc: u64,
    call_frame: usize,
}

/// A wave, and an object in which it stopped.
#[derive(Clone, Debug)]
struct Pair {
    object: PathBuf,
    wave: PathBuf,
}

/// Returns all waves of the fixtures, each with every object that it belongs to.
fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut add = |object: PathBuf, wave: PathBuf| {
        assert!(object.exists() && wave.exists(), "{object:?} {wave:?}");
        pairs.push(Pair { object, wave });
    };
    for case in wave_cases() {
        for wave in files(&case, "json") {
            if !wave.file_name().unwrap().to_str().unwrap().starts_with('w') {
                continue;
            }
            for object in files(&case, "hsaco") {
                add(object, wave.clone());
            }
        }
    }
    for case in lane_cases() {
        for packed in files(&case, "gz") {
            let name = case.file_name().unwrap().to_str().unwrap();
            add(case.join(format!("{name}.hsaco")), unpacked(&packed, name));
        }
    }
    for wave in files(&fixture("shapes"), "json") {
        add(wave.with_extension("hsaco"), wave);
    }
    for (object, wave) in [
        ("clang18/hip-gfx90a-O0.hsaco", "clang18/stop-hip-O0.json"),
        ("clang18/hip-gfx90a-O2.hsaco", "clang18/stop-hip-O2.json"),
        (
            "clang18/opencl-gfx90a-O0.hsaco",
            "clang18/stop-opencl-O0.json",
        ),
        ("triton/add-gfx942.hsaco", "triton/stop-gfx942.json"),
        (
            "triton/add-gfx942-lines-only.hsaco",
            "triton/stop-gfx942.json",
        ),
        ("rocm-style/lane_pc.hsaco", "../lane_pc/nested-else.json"),
        ("rocm-style/lane_pc.hsaco", "../lane_pc/nested-no-exec.json"),
    ] {
        add(fixture("corpus").join(object), fixture("corpus").join(wave));
    }
    pairs
}

/// Unpacks a wave to a file that commands can read.
fn unpacked(packed: &Path, case: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("frames")
        .join(case);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(packed.file_stem().unwrap());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(packed).unwrap();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    // Several tests may write the same file.
    let own = path.with_extension(format!("{:?}", std::thread::current().id()));
    std::fs::write(&own, bytes).unwrap();
    std::fs::rename(&own, &path).unwrap();
    path
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .collect();
    files.sort();
    files
}

impl Pair {
    fn name(&self) -> String {
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        format!("{} {}", name(&self.object), name(&self.wave))
    }

    /// Calls `ask` with the stop, through Rust.
    fn with_stop<R>(&self, ask: impl FnOnce(&Stop<'_, '_>) -> R) -> R {
        let file = std::fs::read(&self.object).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        let wave = Snapshot::from_json(&std::fs::read(&self.wave).unwrap()).unwrap();
        let options = StopOptions::loaded_at(wave.load_address);
        let arena = Arena::new();
        let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
        ask(&stop)
    }

    /// Runs a command that prints text or a document.
    fn run(&self, command: &str, more: &[&str]) -> String {
        let (object, wave) = (self.object.to_str().unwrap(), self.wave.to_str().unwrap());
        let given = [command, object, "--wave", wave];
        let ran = hetdwarf(given.iter().chain(more).copied());
        assert!(ran.status < 2, "{}: {command}: {}", self.name(), ran.err);
        ran.out
    }

    fn document(&self, command: &str, more: &[&str]) -> Value {
        let out = self.run(command, &[&["--format=json"], more].concat());
        serde_json::from_str(&out).unwrap()
    }
}

/// Returns the frames through Rust.
fn of_rust(stop: &Stop<'_, '_>) -> Vec<Frame> {
    let frames = stop.frames().into_iter().map(|frame| {
        let found = frame.description().unwrap();
        Frame {
            index: frame.index(),
            kind: found.kind.name().to_owned(),
            function: found.function,
            linkage_name: found.linkage_name,
            file: found.file.map(|file| file.path.to_string()),
            line: found.line,
            column: found.column,
            approximate: found.is_approximate,
            symbol_offset: found.symbol_offset,
            pc: frame.pc().into(),
            call_frame: frame.call_index(),
        }
    });
    frames.collect()
}

/// Returns the frames in a document of `unwind` or `vars`.
fn of_documents<'v>(frames: impl IntoIterator<Item = &'v Value>) -> Vec<Frame> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let size = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let frames = frames.into_iter().map(|frame| Frame {
        index: size(&frame["index"]),
        kind: text(&frame["kind"]).unwrap(),
        function: text(&frame["function"]),
        linkage_name: text(&frame["linkage_name"]),
        file: text(&frame["file"]),
        line: frame["line"].as_u64(),
        column: frame["column"].as_u64(),
        approximate: frame["approximate"] == true,
        symbol_offset: frame["symbol_offset"].as_u64(),
        pc: u64::try_from(number(&frame["pc"])).unwrap(),
        call_frame: size(&frame["call_frame"]),
    });
    frames.collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

#[test]
fn documents_text_rust_and_c_have_the_same_frames() {
    let counts = pairs().into_par_iter().enumerate().map(|(number, pair)| {
        let name = pair.name();
        let expected = pair.with_stop(of_rust);
        for (index, frame) in expected.iter().enumerate() {
            assert_eq!(frame.index, index, "{name}");
            let call = &expected[frame.call_frame];
            assert!(call.kind != "inlined" && call.pc == frame.pc, "{name}");
            assert_eq!(call.index == index, frame.kind != "inlined", "{name}");
        }
        let unwound = pair.document("unwind", &[]);
        assert_eq!(
            of_documents(list(&unwound["frames"])),
            expected,
            "{name}: unwind"
        );
        for frame in list(&unwound["frames"]) {
            let is_call = frame["kind"] != "inlined";
            assert_eq!(frame.get("cfa").is_some(), is_call, "{name}: {frame}");
            assert_eq!(frame.get("registers").is_some(), is_call, "{name}: {frame}");
        }
        let vars = pair.document("vars", &["--frame=all"]);
        let of_vars = list(&vars["frames"])
            .iter()
            .map(|content| &content["frame"]);
        assert_eq!(of_documents(of_vars), expected, "{name}: vars");
        // Each stop has another one, unless all are compared.
        let shown = expected.iter().cycle().skip(number % expected.len());
        for frame in shown.take(samples(expected.len(), 1)) {
            let one = pair.document("vars", &[&format!("--frame={}", frame.index)]);
            let one = list(&one["frames"]).iter().map(|content| &content["frame"]);
            assert_eq!(
                of_documents(one),
                std::slice::from_ref(frame),
                "{name}: vars --frame"
            );
        }
        text::check(&name, &pair.run("unwind", &[]), &expected);
        assert_eq!(c::frames(&pair), expected, "{name}: C");
        let inlined = expected.iter().filter(|frame| frame.kind == "inlined");
        [1, expected.len(), inlined.count()]
    });
    let [stops, frames, inlined] = sum(counts);
    println!("{stops} stops, {frames} frames, {inlined} inlined");
    assert!(
        stops > 300 && frames > 600 && inlined > 50,
        "{stops} {frames} {inlined}"
    );
}

/// Adds up the counts of stops.
fn sum(counts: impl ParallelIterator<Item = [usize; 3]>) -> [usize; 3] {
    counts.reduce(|| [0; 3], |[a, b, c], [x, y, z]| [a + x, b + y, c + z])
}

/// Returns the waves whose truth is known, as `truth.json` lists them.
fn snapshots(case: &Path) -> Vec<(Value, Pair)> {
    let truth = json(&case.join("truth.json"));
    let mut found = Vec::new();
    for snapshot in list(&truth["snapshots"]) {
        let wave = case.join(snapshot["wave"].as_str().unwrap());
        for object in files(case, "hsaco") {
            if wave.exists() {
                let wave = wave.clone();
                found.push((snapshot.clone(), Pair { object, wave }));
            }
        }
    }
    found
}
