//! Tests files of some kilobytes that decompress to megabytes, and other amplification.

use std::io::Read as _;
use std::path::Path;

use super::crafted::{self, code, entry, named};
use super::elf::{Attribute as A, Entry, Section, debug_info, linked_code, object_file, uleb};
use super::growth::{
    address, compressed_section, function, line_program_of, unit_with_lines, variable, with_entries,
};

/// Returns a code object with these sections, with debugging information compressed.
fn packed(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let stored: Vec<_> = sections
        .iter()
        .map(|(name, bytes)| (*name, compressed_section(bytes)))
        .collect();
    let text = Section::new(".text", 1, &[0; 4096]).flags(6).at(0x1000);
    let debug = stored
        .iter()
        .map(|(name, bytes)| Section::new(name, 1, bytes).flags(0x800));
    object_file(3, &core::iter::once(text).chain(debug).collect::<Vec<_>>())
}

fn packed_entries(entries: &[Entry]) -> Vec<u8> {
    let (abbreviations, info) = debug_info(entries);
    packed(&[(".debug_abbrev", &abbreviations), (".debug_info", &info)])
}

/// Returns a unit that repeats these bytes after the first entry, which is a function at 0x1000.
fn repeated(abbreviation: &[u8], bytes: &[u8], size: usize) -> Vec<u8> {
    // A unit, a function with code from 0x1000 to 0x2000, and an int.
    let mut abbreviations = vec![1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0];
    abbreviations.extend([2, 0x2e, 1, 0x11, 0x01, 0x12, 0x07, 0, 0]);
    abbreviations.extend([3, 0x24, 0, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0]);
    abbreviations.extend(abbreviation);
    abbreviations.push(0);
    let place = [&0x1000_u64.to_le_bytes()[..], &0x1000_u64.to_le_bytes()].concat();
    let mut info = vec![0; 4];
    info.extend([5, 0, 1, 8, 0, 0, 0, 0]);
    info.extend([&[1][..], &place, &[3, 4, 5], &[2], &place].concat());
    info.extend(bytes.repeat(size / bytes.len()));
    let length = (info.len() - 4) as u32;
    info[..4].copy_from_slice(&length.to_le_bytes());
    packed(&[(".debug_abbrev", &abbreviations), (".debug_info", &info)])
}

/// The offset of the int in `repeated`.
const INT: u8 = 12 + 17;

/// Returns a line program whose header has large lists.
fn lines(lists: &[u8], program: &[u8], version: u8) -> Vec<u8> {
    let (abbreviations, info) = unit_with_lines();
    packed(&[
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
        (".debug_line", &line_program_of(lists, program, version)),
    ])
}

/// Returns nested namespaces with a variable in each.
fn namespaces(count: usize) -> Vec<Entry> {
    let mut entries = function([]);
    entries.pop();
    let first = code(crafted::SUBPROGRAM, 1, vec![]);
    entries.push(first);
    for depth in 0..count {
        let name = vec![(crafted::NAME, A::name("ns"))];
        entries.push(entry(1 + depth, 0x39, name));
        let mut global = variable(&address(depth));
        global.depth = 2 + depth;
        entries.push(global);
    }
    entries
}

/// Returns a chain of typedefs, and variables of the first type in the chain.
fn typedefs(count: usize, variables: usize) -> Vec<Entry> {
    let first = 3 + variables;
    let variables = (0..variables).map(|number| {
        let attributes = vec![
            (crafted::NAME, A::name("v")),
            (crafted::TYPE, A::Entry(first)),
            (crafted::LOCATION, A::expression(&address(number))),
        ];
        entry(2, crafted::VARIABLE, attributes)
    });
    let types = (0..count).map(|level| {
        let next = if level + 1 == count {
            1
        } else {
            first + level + 1
        };
        named(crafted::TYPEDEF, 1, "t", next)
    });
    function(variables.chain(types))
}

/// Returns arrays with any number of elements of no bytes.
fn empty_elements(variables: usize) -> Vec<Entry> {
    let types = 3 + variables;
    let variables = (0..variables).map(|_| {
        let attributes = vec![
            (crafted::NAME, A::name("v")),
            (crafted::TYPE, A::Entry(types + 1)),
            (crafted::LOCATION, A::expression(&address(0x1000))),
        ];
        entry(2, crafted::VARIABLE, attributes)
    });
    let empty = vec![
        (crafted::NAME, A::name("e")),
        (crafted::BYTE_SIZE, A::number(0)),
    ];
    let bound = vec![(crafted::UPPER_BOUND, A::number(1 << 40))];
    function(variables.chain([
        entry(1, crafted::STRUCTURE, empty),
        entry(1, crafted::ARRAY, vec![(crafted::TYPE, A::Entry(types))]),
        entry(2, crafted::SUBRANGE, bound),
    ]))
}

/// Returns a function of machine code with very many paths.
fn machine_code(count: usize) -> Vec<u8> {
    // The code repeats `s_and_saveexec_b64 s[0:1], vcc`, `s_cbranch_execz` forward over half of the rest, `s_xor_b64 exec, exec, s[0:1]`.
    let mut text = Vec::new();
    for number in 0..count {
        let register = (number % 48 * 2) as u32;
        let jump = 1 + (number * 7919 % 64) as u32;
        for word in [
            0xbe80_206a | register << 16,
            0xbf88_0000 | jump,
            0x88fe_7e00 | register,
        ] {
            text.extend(word.to_le_bytes());
        }
    }
    // `s_endpgm` is at every possible target of a jump.
    text.extend([0, 0, 0x81, 0xbf].repeat(256));
    let all = 0..text.len();
    linked_code(&text, &[all])
}

/// Returns the metadata of a code object: a map of one key with this value.
fn metadata(value: &[u8]) -> Vec<u8> {
    let description = [&[0x81, 0xae][..], b"amdhsa.kernels", value].concat();
    let mut note = Vec::new();
    for word in [7, description.len() as u32, 32] {
        note.extend(word.to_le_bytes());
    }
    note.extend(b"AMDGPU\0\0");
    note.extend(&description);
    note.resize(note.len().next_multiple_of(4), 0);
    object_file(3, &[Section::new(".note", 7, &note).aligned(4)])
}

/// Returns nested bundles, each of which is the entry of the enclosing one.
pub fn nested_bundles(depth: usize, inside: &[u8]) -> Vec<u8> {
    const ID: &[u8] = b"hip-amdgcn-amd-amdhsa--gfx90a";
    let mut file = inside.to_vec();
    for _ in 0..depth {
        let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
        for number in [1, 32 + 24 + ID.len(), file.len(), ID.len()] {
            bundle.extend((number as u64).to_le_bytes());
        }
        bundle.extend(ID);
        bundle.extend(file);
        file = bundle;
    }
    file
}

/// Returns a compressed bundle of zeros after a bundle with a code object.
fn packed_bundle(size: usize) -> Vec<u8> {
    let object = with_entries(&function([]));
    let mut inside = nested_bundles(1, &object);
    inside.resize(size, 0);
    let body = &compressed_section(&inside)[24..];
    let mut bundle = b"CCOB".to_vec();
    bundle.extend([2, 0, 0, 0]);
    bundle.extend((24 + body.len() as u32).to_le_bytes());
    bundle.extend((inside.len() as u32).to_le_bytes());
    bundle.extend([0; 8]);
    bundle.extend(body);
    bundle
}

/// Returns nested bundles whose entries are all the same bundle: each level has more entries than the file has bytes.
fn bundles_of_the_same(depth: usize) -> Vec<u8> {
    let mut file = with_entries(&function([]));
    for _ in 0..depth {
        let count = 40;
        let header = 32 + count * 24;
        let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
        bundle.extend((count as u64).to_le_bytes());
        for _ in 0..count {
            for number in [header, file.len(), 0] {
                bundle.extend((number as u64).to_le_bytes());
            }
        }
        bundle.extend(file);
        file = bundle;
    }
    file
}

/// The decompressed size in bytes.
const SIZE: usize = 15 << 20;

/// Returns all of these files.
pub fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut of_udata = vec![1, 1, 0x08, 1, b'/', 0, 1, 1, 0x0f];
    of_udata.extend(uleb(SIZE as u64));
    of_udata.resize(of_udata.len() + SIZE, 0);
    let mut directories = vec![1, 1, 0x0b];
    directories.extend(uleb(SIZE as u64));
    directories.resize(directories.len() + SIZE, 0);
    let mut claimed = vec![1, 1, 0x08, 0, 1, 1, 0x0f];
    claimed.extend(uleb(u64::MAX));
    claimed.resize(claimed.len() + SIZE, 0x80);
    let strings = [
        &b"d\0".repeat(SIZE / 4)[..],
        &[0],
        &b"f\0\0\0\0".repeat(SIZE / 10),
        &[0],
    ]
    .concat();
    // Each `DW_LNE_define_file` defines a file with a name of one letter.
    let defined = [0, 6, 3, b'f', 0, 0, 0, 0].repeat(SIZE / 8);
    let pointer = [&[0x0d, 0x49, 0x13][..]].concat();
    vec![
        ("files of one byte", lines(&of_udata, &[], 5)),
        ("directories of one byte", lines(&directories, &[], 5)),
        ("more files than bytes", lines(&claimed, &[], 5)),
        ("files and directories of a letter", lines(&strings, &[], 4)),
        (
            "files that a line program defines",
            lines(&[0, 0], &defined, 4),
        ),
        (
            "blocks in one another",
            repeated(&[4, 0x0b, 1, 0, 0], &[4], SIZE),
        ),
        (
            "namespaces without names in one another",
            repeated(&[4, 0x39, 1, 0, 0], &[4], SIZE),
        ),
        (
            "types in one another",
            repeated(&[4, 0x13, 1, 0x03, 0x08, 0, 0], &[4, b's', 0], SIZE),
        ),
        (
            "variables of two bytes",
            repeated(&[4, 0x34, 0, 0x49, 0x11, 0, 0], &[4, INT], SIZE),
        ),
        (
            "variables without end",
            repeated(
                &[4, 0x34, 0, 0x49, 0x11, 0x02, 0x18, 0, 0],
                &[4, INT, 4, 0x13, 0x2f, 0xfc, 0xff],
                SIZE,
            ),
        ),
        (
            "variables of many bits",
            repeated(
                &[4, 0x34, 0, 0x49, 0x11, 0x02, 0x18, 0, 0],
                &[4, INT, 2, 0x30, 0x9f],
                SIZE,
            ),
        ),
        (
            "members",
            repeated(&[4, 0x0d, 0, 0x49, 0x11, 0, 0], &[4, INT], SIZE),
        ),
        (
            "functions without names",
            repeated(&[4, 0x2e, 0, 0, 0], &[4], SIZE),
        ),
        (
            "inlined calls",
            repeated(&[4, 0x1d, 0, 0x31, 0x11, 0, 0], &[4, INT], SIZE),
        ),
        ("call sites", repeated(&[4, 0x48, 0, 0, 0], &[4], SIZE)),
        (
            "enumerators",
            repeated(&[4, 0x28, 0, 0x03, 0x08, 0, 0], &[4, b'e', 0], SIZE),
        ),
        (
            "type units",
            packed(&[
                (".debug_abbrev", &[1, 0x41, 0, 0, 0, 0]),
                (
                    ".debug_info",
                    &[
                        &[21, 0, 0, 0, 5, 0, 2, 8, 0, 0, 0, 0][..],
                        &[7; 8],
                        &[24, 0, 0, 0, 1],
                    ]
                    .concat()
                    .repeat(SIZE / 25),
                ),
            ]),
        ),
        (
            "abbreviations of four bytes",
            packed(&[
                (
                    ".debug_abbrev",
                    &[&[1, 0x11, 0, 0, 0][..], &abbreviation_codes(SIZE / 8)].concat(),
                ),
                (".debug_info", &[8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1]),
            ]),
        ),
        (
            "attributes of one abbreviation",
            packed(&[
                (
                    ".debug_abbrev",
                    &[&[1, 0x11, 0][..], &[3, 0x19].repeat(SIZE / 2), &[0, 0, 0]].concat(),
                ),
                (".debug_info", &[8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1]),
            ]),
        ),
        (
            "a chain of pointers",
            repeated(
                &[&[4][..], &pointer, &[0, 0]].concat(),
                &[4, INT, 0, 0, 0],
                SIZE,
            ),
        ),
        (
            "namespaces in one another",
            with_entries(&namespaces(20_000)),
        ),
        (
            "many namespaces in one another",
            packed_entries(&namespaces(200_000)),
        ),
        ("a chain of typedefs", packed_entries(&typedefs(200_000, 1))),
        (
            "a chain of typedefs of many variables",
            packed_entries(&typedefs(100_000, 1000)),
        ),
        ("elements without bytes", with_entries(&empty_elements(100))),
        ("code with many ways", machine_code(40_000)),
        (
            "metadata of nothing",
            metadata(&[&[0xdd, 0, 0x10, 0, 0][..], &vec![0xc0; 1 << 20]].concat()),
        ),
        (
            "metadata that claims much",
            metadata(&[0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0]),
        ),
        ("metadata in itself", metadata(&vec![0x91; 1 << 20])),
        ("bundles in one another", nested_bundles(7_000, b"")),
        (
            "bundles in one another, of the same",
            bundles_of_the_same(7),
        ),
        ("a compressed bundle of zeros", packed_bundle(100 << 20)),
    ]
}

/// Returns abbreviations with consecutive codes.
fn abbreviation_codes(count: usize) -> Vec<u8> {
    (2..count as u64 + 2)
        .flat_map(|code| [&uleb(code)[..], &[0x34, 0, 0, 0]].concat())
        .collect()
}

/// Returns the files in `given`, unchanged. Each once made a command fail.
pub fn given() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/given");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .map(|path| {
            let mut bytes = Vec::new();
            let packed = std::fs::File::open(&path).unwrap();
            flate2::read::GzDecoder::new(packed)
                .read_to_end(&mut bytes)
                .unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, bytes)
        })
        .collect();
    found.sort();
    found
}
