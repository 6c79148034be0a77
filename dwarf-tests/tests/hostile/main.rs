//! No input, however malformed, causes a panic, an endless run or excessive memory use.
#![allow(
    clippy::panic,
    clippy::too_many_lines,
    clippy::string_slice,
    clippy::single_range_in_vec_init,
    clippy::wildcard_enum_match_arm,
    clippy::match_wildcard_for_single_variants,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    unreachable_pub,
    reason = "a test"
)]

mod amplified;
mod commands;
mod costs;
mod crafted;
mod elf;

mod every;
mod growth;
mod guard;
mod least;
mod machine;
mod narrowing;
mod split;
mod values;

use std::path::PathBuf;

use dwarf_tests::{corpus, fixture, probe, wave_cases};
use guard::Guard;
use hetdwarf::object::CodeObject;

#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits() % end as u64).unwrap()
    }

    fn byte(&mut self) -> u8 {
        const INTERESTING: [u8; 12] = [0, 1, 0xff, 0x7f, 0x80, 2, 4, 8, 0x10, 0x40, 0xe9, 0x94];
        if self.below(2) == 0 {
            INTERESTING[self.below(12)]
        } else {
            self.bits().to_le_bytes()[7]
        }
    }
}

/// Returns the most relevant bytes of a file: the debug sections and the headers.
fn interesting(data: &[u8]) -> Vec<core::ops::Range<usize>> {
    let mut ranges = vec![0..64.min(data.len())];
    if let Ok(object) = CodeObject::parse(data) {
        for section in object
            .sections()
            .iter()
            .filter(|section| section.is_debug())
        {
            if let Ok(Some(bytes)) = object.section(&section.name)
                && let Some(at) = data
                    .windows(bytes.len().max(1))
                    .position(|window| window == bytes)
            {
                ranges.push(at..at + bytes.len());
            }
        }
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

fn names(paths: &[PathBuf]) -> Vec<(String, Vec<u8>)> {
    let read = |path: &PathBuf| {
        let name = path
            .strip_prefix(fixture(""))
            .unwrap()
            .display()
            .to_string();
        (name, std::fs::read(path).unwrap())
    };
    paths.iter().map(read).collect()
}

/// Returns small objects of all kinds: with and without CFI, versions 3 to 5, type units, vendor operations.
fn objects() -> Vec<(String, Vec<u8>)> {
    let wanted = [
        "rocm-style/lane_pc.hsaco",
        "lane_pc_loclist.hsaco",
        "llvm22/small-gfx90a-O2-dwarf4",
        "llvm22/small-gfx90a-O0-dwarf3",
        "small-gfx942-O2-dwarf64.hsaco",
        "llvm22/split-gfx90a-O2",
        "gz-zlib",
        "et-rel.o",
        "types-gfx90a-O1-typeunits",
        "rocm-style/divergent-gfx90a",
        "rocm-style/inlined",
        "aranges",
    ];
    let paths: Vec<_> = corpus()
        .into_iter()
        .filter(|path| {
            wanted
                .iter()
                .any(|part| path.to_string_lossy().contains(part))
        })
        .collect();
    assert!(paths.len() >= wanted.len(), "{paths:?}");
    names(&paths)
}

fn bundles() -> Vec<(String, Vec<u8>)> {
    let folder = std::fs::read_dir(fixture("corpus/bundle")).unwrap();
    let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.push(fixture("object/two-images.offload"));
    paths.sort();
    names(&paths)
}

/// Tries `count` prefixes of each file.
fn prefixes(files: &[(String, Vec<u8>)], count: usize, guard: &mut Guard, probe: impl Fn(&[u8])) {
    for (name, data) in files {
        let step = data.len().div_ceil(count).max(1);
        for end in (0..data.len()).step_by(step) {
            guard.run(&format!("the first {end} bytes of {name}"), || {
                probe(&data[..end])
            });
        }
    }
}

/// Tries each file `count` times, with a few bytes changed.
fn changes(
    files: &[(String, Vec<u8>)],
    count: u64,
    seed: u64,
    guard: &mut Guard,
    probe: impl Fn(&[u8]),
) {
    for (number, (name, data)) in files.iter().enumerate() {
        let ranges = interesting(data);
        for case in 0..count {
            let seed = seed + (number as u64 * 0x1_0000 + case) * 0x1_0001;
            let mut random = Random(seed);
            let mut data = data.clone();
            let mut what = Vec::new();
            for _ in 0..=random.below(6) {
                let at = if random.below(5) == 0 {
                    random.below(data.len())
                } else {
                    let range = &ranges[random.below(ranges.len())];
                    range.start + random.below(range.len())
                };
                data[at] = random.byte();
                what.push(format!("{at:#x}={:#x}", data[at]));
            }
            guard.run(&format!("{name} with {}", what.join(" ")), || probe(&data));
        }
    }
}

/// Tries each file with single bytes changed: every `step`th of the most relevant bytes.
fn single_bytes(
    files: &[(String, Vec<u8>)],
    step: usize,
    guard: &mut Guard,
    probe: impl Fn(&[u8]),
) {
    for (name, data) in files {
        for at in interesting(data).into_iter().flatten().step_by(step) {
            for value in [0, 0xff, data[at] ^ 0x80, data[at].wrapping_add(1)] {
                let mut data = data.clone();
                data[at] = value;
                guard.run(&format!("{name} with {at:#x}={value:#x}"), || probe(&data));
            }
        }
    }
}

/// Tries each file with one debug section filled with the same byte.
fn filled(files: &[(String, Vec<u8>)], guard: &mut Guard, probe: impl Fn(&[u8])) {
    for (name, data) in files {
        for range in interesting(data).into_iter().skip(1) {
            for value in [0, 1, 4, 5, 7, 8, 0x0a, 0x7f, 0x80, 0x94, 0xff] {
                let mut data = data.clone();
                let what = format!("{name} with {range:x?} all {value:#x}");
                data[range.clone()].fill(value);
                guard.run(&what, || probe(&data));
            }
        }
    }
}

/// Returns some snapshots, cut to their distinct parts.
fn snapshots() -> Vec<(String, Vec<u8>)> {
    let paths: Vec<_> = wave_cases()
        .iter()
        .take(3)
        .map(|case| case.join("w01.json"))
        .collect();
    names(&paths)
}

/// Returns meaningful expressions, from which others are derived.
fn expressions() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for file in ["spec-examples.jsonl", "from-the-text.jsonl"] {
        let text =
            std::fs::read_to_string(dwarf_tests::package().join("vectors").join(file)).unwrap();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let vector: serde_json::Value = serde_json::from_str(line).unwrap();
            let bytes = vector["hex"]
                .as_str()
                .and_then(hetdwarf::report::parse_hex_bytes);
            if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
                found.push((vector["id"].as_str().unwrap().to_owned(), bytes));
            }
        }
    }
    assert!(found.len() > 700, "{}", found.len());
    found
}

fn texts() -> Vec<(String, Vec<u8>)> {
    use hetdwarf::expr::{Encoding, Printer};
    let printer = Printer::new(Encoding::AMDGPU);
    expressions()
        .into_iter()
        .map(|(name, bytes)| (name, printer.expression(&bytes).into_bytes()))
        .collect()
}

/// Tries objects and bundles, with `scale` times as many samples as the normal run.
fn objects_and_bundles(scale: usize) {
    let mut guard = Guard::new();
    let (objects, bundles) = (objects(), bundles());
    let seed = 0xd3a4_f000 * scale as u64;
    prefixes(&objects, 12 * scale, &mut guard, probe::file);
    changes(&objects, 25 * scale as u64, seed, &mut guard, probe::file);
    single_bytes(&objects[..3], (600 / scale).max(1), &mut guard, probe::file);
    filled(
        &objects[..scale.min(objects.len())],
        &mut guard,
        probe::file,
    );
    prefixes(&bundles, 3 * scale, &mut guard, probe::file);
    changes(
        &bundles,
        3 * scale as u64,
        seed + 1,
        &mut guard,
        probe::file,
    );
    guard.finish("objects and bundles");
}

fn expressions_and_text(scale: usize) {
    let mut guard = Guard::new();
    let (expressions, texts) = (expressions(), texts());
    let seed = 0xe3a4_f000 * scale as u64;
    let as_text = |bytes: &[u8]| probe::text(&String::from_utf8_lossy(bytes));
    prefixes(&expressions, 3 * scale, &mut guard, probe::expression);
    changes(
        &expressions,
        3 * scale as u64,
        seed,
        &mut guard,
        probe::expression,
    );
    prefixes(&texts, 3 * scale, &mut guard, as_text);
    changes(&texts, 3 * scale as u64, seed, &mut guard, as_text);
    let mut random = Random(seed);
    for number in 0..1000 * scale {
        let bytes: Vec<u8> = (0..1 + random.below(40)).map(|_| random.byte()).collect();
        guard.run(&format!("expression {bytes:02x?}, number {number}"), || {
            probe::expression(&bytes)
        });
    }
    guard.finish("expressions and text");
}

fn wave_snapshots(scale: usize) {
    let mut guard = Guard::new();
    let snapshots = snapshots();
    prefixes(&snapshots, 20 * scale, &mut guard, probe::snapshot);
    changes(
        &snapshots,
        40 * scale as u64,
        5,
        &mut guard,
        probe::snapshot,
    );
    for text in [
        r#"{"format": "hetdwarf-wave/1"}"#,
        r#"{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "0xffffffffffffffffff"}"#,
        r#"{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 18446744073709551615, "pc": -1}"#,
        r#"{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "0x0", "memory": [{"space": "none", "address": "0xffffffffffffffff", "bytes": "0000"}]}"#,
    ] {
        guard.run(text, || probe::snapshot(text.as_bytes()));
    }
    let deep = ["[".repeat(100_000), "{\"a\":".repeat(100_000)];
    for text in &deep {
        guard.run("JSON 100,000 deep", || probe::snapshot(text.as_bytes()));
    }
    guard.finish("snapshots");
}

#[test]
fn damaged_objects_and_bundles_end_with_an_answer_or_an_error() {
    objects_and_bundles(1);
}

#[test]
fn damaged_expressions_and_text_end_with_an_answer_or_an_error() {
    expressions_and_text(1);
}

#[test]
fn damaged_snapshots_end_with_an_answer_or_an_error() {
    wave_snapshots(1);
}

#[test]
#[ignore = "takes minutes"]
fn damaged_input_of_every_kind_ends_with_an_answer_or_an_error() {
    objects_and_bundles(40);
    expressions_and_text(20);
    wave_snapshots(20);
}
