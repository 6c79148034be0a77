//! Provides seed inputs: the vectors and the corpus, cut to the form of each target.

use std::path::Path;

use fallible_iterator::FallibleIterator;
use hetdwarf::expr::{Encoding, Printer};
use hetdwarf::isa::Decoder;
use hetdwarf::object::{CodeObject, SectionKind};

use crate::{corpus, fixture, json, package, wave_cases};

/// The size limit of seeds: libFuzzer is fastest with small inputs.
const LARGEST: usize = 24 << 10;

/// Returns the expressions of the vectors.
#[must_use]
pub fn encoded_expressions() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for file in ["spec-examples.jsonl", "from-the-text.jsonl"] {
        let text = std::fs::read_to_string(package().join("vectors").join(file)).unwrap();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let vector: serde_json::Value = serde_json::from_str(line).unwrap();
            let hex = vector["hex"].as_str();
            found.extend(hex.and_then(hetdwarf::report::parse_hex_bytes));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the expressions of the vectors as text.
#[must_use]
pub fn texts() -> Vec<Vec<u8>> {
    let printer = Printer::new(Encoding::AMDGPU.in_memory());
    let text = |bytes: &Vec<u8>| printer.expression(bytes).into_bytes();
    encoded_expressions().iter().map(text).collect()
}

/// Returns the expressions of the vectors in several contexts.
#[must_use]
pub fn evaluations() -> Vec<Vec<u8>> {
    let expressions = encoded_expressions();
    let contexts = [
        [0, 0, 64, 0],
        [1, 0, 32, 0],
        [2, 1, 128, 3],
        [0x10, 8, 7, 0],
    ];
    contexts
        .iter()
        .flat_map(|context| {
            expressions
                .iter()
                .map(move |bytes| [context, bytes.as_slice()].concat())
        })
        .collect()
}

/// Returns choices of different lengths. Each byte is a choice.
#[must_use]
pub fn choices() -> Vec<Vec<u8>> {
    (0..32u8)
        .map(|number| {
            let byte = |at: u8| at.wrapping_mul(37).wrapping_add(number.wrapping_mul(11));
            (0..8 + number * 7).map(byte).collect()
        })
        .collect()
}

/// Returns the files of the corpus that are small enough.
fn files() -> Vec<Vec<u8>> {
    corpus().iter().filter_map(|path| small(path)).collect()
}

fn small(path: &Path) -> Option<Vec<u8>> {
    let data = std::fs::read(path).unwrap();
    (data.len() <= LARGEST).then_some(data)
}

/// Returns the sections of this name in the corpus.
fn sections(name: &str) -> Vec<Vec<u8>> {
    let section = |data: &Vec<u8>| {
        let object = CodeObject::parse(data).ok()?;
        let bytes = object.section(name).ok()??;
        (bytes.len() <= LARGEST).then(|| bytes.to_vec())
    };
    let mut found: Vec<_> = files().iter().filter_map(section).collect();
    found.sort();
    found.dedup();
    found
}

/// Returns `.debug_frame` of the corpus, read with different settings, and a handmade `.eh_frame`.
#[must_use]
pub fn call_frames() -> Vec<Vec<u8>> {
    let sections = sections(".debug_frame");
    assert!(sections.len() > 10, "the corpus has call frame information");
    let mut found: Vec<_> = sections
        .iter()
        .zip([0, 4, 8, 12].into_iter().cycle())
        .map(|(section, flags)| [&[flags, flags], section.as_slice()].concat())
        .collect();
    // CIE: version 1, "zR", code alignment 4, data alignment -8, return address 16, relative pointers of four bytes; def_cfa SGPR32+0. FDE:
    // 64 bytes at a distance of 0x100; advance by 1, offset PC at CFA-8.
    let cie = [
        0x10, 0, 0, 0, 0, 0, 0, 0, 1, b'z', b'R', 0, 4, 0x78, 16, 1, 0x1b, 0x0c, 64, 0,
    ];
    let fde = [
        0x14, 0, 0, 0, 0x18, 0, 0, 0, 0, 1, 0, 0, 0x40, 0, 0, 0, 0, 0x41, 0x90, 1, 0, 0, 0, 0,
    ];
    found.push([&[1, 0][..], &cie, &fde, &[0; 4]].concat());
    found
}

/// Returns small code objects.
#[must_use]
pub fn objects() -> Vec<Vec<u8>> {
    let mut found: Vec<_> = files()
        .into_iter()
        .filter(|data| data.len() <= 12 << 10)
        .collect();
    found.extend(small(&fixture("debug_info/made.elf")));
    assert!(found.len() > 10, "the corpus has small files");
    found
}

/// Returns each object unchanged, and with an edit.
#[must_use]
pub fn damages() -> Vec<Vec<u8>> {
    (0..12u8)
        .flat_map(|object| [vec![object], vec![object, 0, object, 40, 0, object, 1]])
        .collect()
}

/// Returns bundles, archives and host objects.
#[must_use]
pub fn containers() -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = ["corpus/bundle", "object"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(fixture(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "md"))
        .collect();
    paths.sort();
    let mut found: Vec<_> = paths.iter().filter_map(|path| small(path)).collect();
    found.dedup();
    // A bundle with two entries: an empty one for the host, and a code object of one byte after the header.
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend(2u64.to_le_bytes());
    for (size, id) in [
        (0u64, "host-x86_64-unknown-linux--"),
        (4, "hipv4-amdgcn-amd-amdhsa--gfx90a"),
    ] {
        bundle.extend(0xa0u64.to_le_bytes());
        bundle.extend(size.to_le_bytes());
        bundle.extend((id.len() as u64).to_le_bytes());
        bundle.extend(id.as_bytes());
    }
    bundle.resize(0xa0, 0);
    bundle.extend(b"\x7fELF");
    found.push(bundle);
    found
}

/// Returns snapshots with shortened memory and vector registers.
#[must_use]
pub fn snapshots() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for case in wave_cases() {
        let mut wave = json(&case.join("w01.json"));
        if let Some(registers) = wave["registers"].as_object_mut() {
            let few: Vec<_> = registers.keys().skip(6).cloned().collect();
            for name in few {
                registers.remove(&name);
            }
        }
        if let Some(memory) = wave["memory"].as_array_mut() {
            memory.truncate(3);
            for region in memory {
                let bytes = region["bytes"].as_str().unwrap_or_default();
                region["bytes"] = bytes[..bytes.len().min(32)].into();
            }
        }
        found.push(wave.to_string().into_bytes());
    }
    found
}

/// Returns a few instructions of each object in the corpus, with the bytes after them.
#[must_use]
pub fn machine_code() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for data in files() {
        let Ok(object) = CodeObject::parse(&data) else {
            continue;
        };
        let Some(decoder) = Decoder::new(object.target().processor(), None) else {
            continue;
        };
        let code = object
            .sections()
            .iter()
            .find(|section| section.kind == SectionKind::Code);
        let Some(code) = code.and_then(|section| object.section(&section.name).ok()?) else {
            continue;
        };
        let mut instructions = decoder.instructions(code, 0).step_by(7).take(12);
        while let Ok(Some(item)) = instructions.next() {
            let start = usize::try_from(item.address).unwrap();
            let end = code.len().min(start + 20);
            found.push(code[start..end].to_vec());
        }
    }
    found.sort();
    found.dedup();
    assert!(found.len() > 50, "the corpus has machine code");
    found
}

/// Returns cores of every generation: unchanged, and with each structural byte of one core changed.
#[must_use]
pub fn gpu_cores() -> Vec<Vec<u8>> {
    let count = u8::try_from(crate::cores::generation::Generation::TARGETS.len()).unwrap();
    let mut seeds: Vec<Vec<u8>> = (0..count).map(|which| vec![which]).collect();
    for place in 0..2500_u16 {
        let [low, high] = place.to_le_bytes();
        let [length, value] = [place % 4, place % 251].map(|n| n.to_le_bytes()[0]);
        let which = u8::try_from(place % u16::from(count)).unwrap();
        seeds.push(vec![which, low, high, length, value, 0xff, 0, 0x80]);
    }
    seeds
}

/// Returns entries of bundles and members of archives: one, several equal ones, and many of every kind.
#[must_use]
pub fn entries() -> Vec<Vec<u8>> {
    let mixed: Vec<u8> = (0..=255).flat_map(|number| [number, number, 0]).collect();
    let mut found = vec![
        vec![0, 0, 0],
        [20, 1, 0].repeat(9),
        [0, 0, 0, 5, 0, 0, 10, 0, 0].repeat(20),
        mixed,
        [21, 7, 255].repeat(1300),
    ];
    // Each kind of name and of contents, five times.
    found.extend((0..32u8).map(|kind| [kind, kind, 0].repeat(5)));
    found
}

/// Returns configurations.
#[must_use]
pub fn configurations() -> Vec<Vec<u8>> {
    [
        "",
        "[verify]\nallow = ['cfi-entry']\ndeny = ['cfi-*']\nwarn = ['machine-code']\n",
        "[verify]\nexclude = ['third_party', 'out/*.o', '/top.hsaco', '{a,b{c,d}}[e-g]?']\n",
        "[verify]\nbaseline = 'ci/known.json'\n",
        "[verify]\nbaseline = '../../etc/passwd'\nexclude = ['**']\n",
        "[verify]\nallow = ['*']\n",
        "[verify]\nallow = ['cfi-entyr']\n",
        "[verify]\nallowed = []\n[verify]\n",
        "[verify]\nexclude = ['{{{{{{a}}}}}}', 'a[', '']\n",
        "# a comment\n\"verify\" = { deny = [\"\"\"location-*\"\"\"] }\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

/// Returns baselines: an empty baseline, the baselines of some objects, and a baseline of missing findings.
#[must_use]
pub fn baselines() -> Vec<Vec<u8>> {
    use hetdwarf::report::{Baseline, VerifyDocument, check_file};
    let text = |document: &VerifyDocument| {
        Baseline::of(document, Clone::clone)
            .to_json()
            .unwrap()
            .into_bytes()
    };
    let of = |data: &Vec<u8>| {
        let checked = check_file("made.elf", data, &hetdwarf::verify::Selection::default());
        text(&VerifyDocument::new([checked]))
    };
    let own = std::fs::read(fixture("debug_info/made.elf")).unwrap();
    let mut found: Vec<_> = objects().iter().take(10).map(of).collect();
    let full = of(&own);
    let other = String::from_utf8(full.clone()).unwrap();
    found.push(other.replace("made.elf", "other.elf").into_bytes());
    found.extend([full, text(&VerifyDocument::new([]))]);
    found
}
