//! Tests hostile split DWARF, packages and indices of names: counts, offsets and references between the files, and names that all have the
//! same hash.

use std::path::PathBuf;
use std::sync::Arc;

use dwarf_tests::fixture;
use hetdwarf::annotate::{Request, annotate_file_within};
use hetdwarf::dump::{Dump, Part};
use hetdwarf::meter::Meter;
use hetdwarf::object::CodeObject;

use super::Random;
use super::crafted::stopped_wave;
use super::elf::{Section, code_object, object_file, uleb};
use super::growth::{Read, meter, verify};
use super::guard::Guard;

/// The commands that use a `.dwo` file.
const COMMANDS: [&str; 8] = [
    "info FILE",
    "dump FILE --dwo DWO --debug-info --debug-line --debug-loclists",
    "dump DWO",
    "verify FILE DWO",
    "vars FILE --wave WAVE --dwo DWO --frame all",
    "unwind FILE --wave WAVE --dwo DWO --format json",
    "lane-pc FILE --wave WAVE --dwo DWO",
    "print FILE --wave WAVE --dwo DWO v",
];

/// Returns a DWARF 5 unit of this type, with its number and the bytes after its header.
fn unit(kind: u8, number: u64, entries: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend([5, 0, kind, 8, 0, 0, 0, 0]);
    bytes.extend(number.to_le_bytes());
    bytes.extend(entries);
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// Returns a skeleton unit with code from 0x1000 to 0x1100. It uses abbreviation 1.
fn skeleton(number: u64) -> Vec<u8> {
    let place = [0x1000_u64, 0x100].map(u64::to_le_bytes).concat();
    unit(4, number, &[&[1][..], &place].concat())
}

const SKELETON: [u8; 10] = [1, 0x4a, 0, 0x11, 0x01, 0x12, 0x07, 0, 0, 0];

fn object(skeletons: &[u8], others: &[(&str, &[u8])]) -> Vec<u8> {
    let own: [(&str, &[u8]); 3] = [
        (".text", &[0; 256]),
        (".debug_abbrev", &SKELETON),
        (".debug_info", skeletons),
    ];
    code_object(&[&own[..], others].concat())
}

/// The abbreviations of split units: 1, an empty unit; 2, a function with `DW_FORM_addrx` and a size; 3, a variable with a name by
/// `DW_FORM_strx`, a location by `DW_FORM_loclistx` and a type by `DW_FORM_ref_addr`.
const SPLIT: [u8; 32] = [
    1, 0x11, 1, 0, 0, 2, 0x2e, 1, 0x11, 0x1b, 0x12, 0x07, 0, 0, 3, 0x34, 0, 0x03, 0x1a, 0x02, 0x22,
    0x49, 0x10, 0, 0, 4, 0x2e, 1, 0, 0, 0, 0,
];

fn dwo(units: &[u8], others: &[(&str, &[u8])]) -> Vec<u8> {
    let own: [(&str, &[u8]); 2] = [(".debug_abbrev.dwo", &SPLIT), (".debug_info.dwo", units)];
    let sections: Vec<_> = (own.iter().chain(others))
        .map(|(name, bytes)| Section::new(name, 1, bytes))
        .collect();
    object_file(1, &sections)
}

/// Returns a split unit with `count` variables, whose names, lists and types are numbers that do not exist.
fn variables(number: u64, count: usize, index: u64, offset: u32) -> Vec<u8> {
    let mut entries = vec![1, 2];
    entries.extend(uleb(index));
    entries.extend(0x100_u64.to_le_bytes());
    let one = [&[3][..], &uleb(index), &uleb(index), &offset.to_le_bytes()].concat();
    entries.extend(one.repeat(count));
    entries.extend([0, 0]);
    unit(5, number, &entries)
}

/// Returns a unit index of a package: version 5, with these numbers of columns, units and slots.
fn package_index([columns, units, slots]: [u32; 3], rest: usize) -> Vec<u8> {
    let mut bytes = vec![5, 0, 0, 0];
    bytes.extend([columns, units, slots].map(u32::to_le_bytes).concat());
    bytes.resize(bytes.len() + rest, 0xff);
    bytes
}

/// Returns objects, each with a `.dwo` file or a package.
fn pairs() -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let (one, split) = (skeleton(7), variables(7, 3, 0, 12));
    let mut found = vec![
        (
            "the same number often".to_owned(),
            object(&one.repeat(20_000), &[]),
            dwo(&split.repeat(20_000), &[]),
        ),
        (
            "the file itself".to_owned(),
            object(&one, &[]),
            object(&one, &[]),
        ),
        (
            "a skeleton and a split unit in both".to_owned(),
            object(
                &[one.clone(), split.clone()].concat(),
                &[(".debug_info.dwo", &one)],
            ),
            dwo(
                &[split.clone(), one.clone()].concat(),
                &[(".debug_info", &one)],
            ),
        ),
        (
            "numbers that nothing has".to_owned(),
            object(&one, &[]),
            dwo(&variables(7, 20_000, u64::MAX, u32::MAX), &[]),
        ),
        (
            "types in one another's place".to_owned(),
            object(&one, &[]),
            dwo(&variables(7, 20_000, 0, 21), &[]),
        ),
        (
            "functions in one another".to_owned(),
            object(&one, &[]),
            dwo(&unit(5, 7, &[&[1][..], &[4; 100_000]].concat()), &[]),
        ),
        (
            "tables that claim much".to_owned(),
            object(&one, &[(".debug_addr", &[0xff; 64])]),
            dwo(
                &split,
                &[
                    (".debug_str_offsets.dwo", &[0xff; 64]),
                    (".debug_loclists.dwo", &[0xff; 64]),
                ],
            ),
        ),
    ];
    for shape in [
        [8, 1, 2],
        [u32::MAX; 3],
        [1, u32::MAX, 1],
        [0, 0, u32::MAX],
        [8, 1 << 30, 1 << 31],
    ] {
        let index = package_index(shape, 4096);
        let package = dwo(
            &split,
            &[(".debug_cu_index", &index), (".debug_tu_index", &index)],
        );
        found.push((
            format!("a package of {shape:x?}"),
            object(&one, &[]),
            package,
        ));
    }
    found
}

fn run(guard: &mut Guard, (test, name): (&str, &str), object: &[u8], dwo: &[u8]) {
    let folder = std::env::temp_dir().join(format!("hetdwarf-split-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("wave.json"), stopped_wave()).unwrap();
    std::fs::write(folder.join("object.hsaco"), object).unwrap();
    std::fs::write(folder.join("split.dwo"), dwo).unwrap();
    for command in COMMANDS {
        guard.run(&format!("{name}: {command}"), || {
            let words = command.split(' ').map(|word| match word {
                "FILE" => folder.join("object.hsaco"),
                "DWO" => folder.join("split.dwo"),
                "WAVE" => folder.join("wave.json"),
                word => PathBuf::from(word),
            });
            let words = core::iter::once(PathBuf::from("hetdwarf")).chain(words);
            let (mut out, mut err) = (std::io::sink(), Vec::new());
            let words = words.map(PathBuf::into_os_string);
            let mut status = None;
            let allocated = allocation_counter::measure(|| {
                status = Some(hetdwarf_cli::run(words, &mut out, &mut err));
            });
            let said = String::from_utf8_lossy(&err);
            assert!(
                status.unwrap() <= 2 && !said.contains("unexpected argument"),
                "{said}"
            );
            let most = 32 * (object.len() + dwo.len()) as u64 + (256 << 20);
            assert!(allocated.bytes_max <= most, "{}", allocated.bytes_max);
        });
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Every command ends with a documented status, even if the files contradict each other.
#[test]
fn pairs_of_files_end_with_an_answer_or_an_error() {
    let mut guard = Guard::new();
    for (name, object, dwo) in pairs() {
        run(&mut guard, ("pairs", &name), &object, &dwo);
    }
    guard.finish("pairs of files");
}

/// Pairs of real files with changed bytes in both end in the same way.
#[test]
fn damaged_pairs_end_with_an_answer_or_an_error() {
    let read = |name: &str| std::fs::read(fixture(name)).unwrap();
    let object = read("corpus/llvm22/split-gfx90a-O2.hsaco");
    let dwo = read("corpus/llvm22/small.dwo");
    let mut guard = Guard::new();
    for seed in 0..12 {
        let mut random = Random(seed);
        let mut files = [object.clone(), dwo.clone()];
        for file in &mut files {
            let ranges = super::interesting(file);
            for _ in 0..random.below(8) {
                let range = &ranges[random.below(ranges.len())];
                let at = range.start + random.below(range.len());
                file[at] = random.byte();
            }
        }
        let name = format!("seed {seed}");
        run(&mut guard, ("damaged", &name), &files[0], &files[1]);
    }
    guard.finish("damaged pairs");
}

/// Returns the hash of DWARF 5 §7.33 for a name in lower case.
fn hash(name: &str) -> u32 {
    let bytes = name.bytes();
    bytes.fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(byte.into())
    })
}

/// Returns names with equal hashes: incrementing a letter adds 33, and decrementing the next one by 33 compensates (`1a`, `2@`).
fn same_hash(count: usize) -> Vec<String> {
    let bits = usize::BITS - count.leading_zeros();
    let name = |number: usize| -> String {
        (0..bits)
            .map(|bit| if number >> bit & 1 == 0 { "1a" } else { "2@" })
            .collect()
    };
    (0..count).map(name).collect()
}

/// Returns an object with an index of names, which are all in one bucket.
fn names(count: usize) -> Vec<u8> {
    let names = same_hash(count);
    let (mut strings, mut offsets) = (vec![0], Vec::new());
    for name in &names {
        offsets.push(strings.len() as u32);
        strings.extend(name.as_bytes());
        strings.push(0);
    }
    let abbreviations = [1, 0x2e, 3, 0x13, 0, 0, 0];
    let count = names.len() as u32;
    let mut section = vec![0; 4];
    section.extend([5, 0, 0, 0]);
    // The numbers of units, of both kinds of type units, of buckets and of names, and the sizes of the abbreviations and of the
    // augmentation.
    let header = [1, 0, 0, 1, count, abbreviations.len() as u32, 0];
    section.extend(header.map(u32::to_le_bytes).concat());
    // The offset of the unit, and the only bucket.
    section.extend([0_u32, 1].map(u32::to_le_bytes).concat());
    let of_names = names.iter().flat_map(|name| hash(name).to_le_bytes());
    section.extend(of_names);
    section.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
    // All names have the entry of the unit, after a header of 12 bytes.
    section.extend(vec![0; 4 * names.len()]);
    section.extend(abbreviations);
    section.extend([1, 12, 0, 0, 0, 0]);
    let length = (section.len() - 4) as u32;
    section[..4].copy_from_slice(&length.to_le_bytes());
    let (abbreviations, info) = super::growth::unit_with_lines();
    code_object(&[
        (".text", &[0; 64]),
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
        (".debug_str", &strings),
        (".debug_names", &section),
    ])
}

/// An index whose names share one hash costs no more than its length: twice as many names take twice as many steps, and time does not grow
/// quadratically.
#[test]
fn names_of_one_hash_cost_what_other_names_do() {
    let one = same_hash(100);
    assert!(one.iter().all(|name| hash(name) == hash(&one[0])));
    let dumped = |file: &[u8], meter: &Arc<Meter>| {
        let object = CodeObject::parse_within(file, meter).unwrap();
        let mut text = Vec::new();
        let dump = Dump::new("file", &object, None).parts(&[Part::Names]);
        dump.write(&mut text).unwrap();
        assert!(text.len() > file.len());
    };
    let checked = |file: &[u8], meter: &Arc<Meter>| {
        let found = verify(file, meter);
        assert!(found.unreadable.is_empty());
    };
    let annotated = |file: &[u8], meter: &Arc<Meter>| {
        let _ = annotate_file_within(file, meter, &Request::new(&|_| true));
    };
    let reads: [(&str, Read); 3] = [
        ("dump", dumped),
        ("verify", checked),
        ("annotate", annotated),
    ];
    for (what, read) in reads {
        let mut costs = Vec::new();
        for count in [1000, 2000, 4000, 8000] {
            let file = names(count);
            let meter = meter(&file);
            let start = std::time::Instant::now();
            read(&file, &meter);
            assert!(meter.refused().is_none(), "{what}, {count}");
            costs.push((file.len(), meter.steps(), start.elapsed()));
        }
        println!("{what}: {costs:?}");
        let per_byte = |(length, steps, _): &(usize, u64, _)| *steps as f64 / *length as f64;
        assert!(
            per_byte(&costs[3]) < 1.25 * per_byte(&costs[0]),
            "{what}: {costs:?}"
        );
        // Eight times as many names take eight times as long, and not 64 times. The limit is generous, because other tests run at the same
        // time.
        let slow = costs[3].2 > 24 * costs[0].2 && costs[3].2.as_millis() > 500;
        assert!(!slow, "{what}: {costs:?}");
    }
}
