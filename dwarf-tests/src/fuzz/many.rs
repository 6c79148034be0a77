//! Builds bundles and archives of many objects from bytes: each three bytes are an entry or member, and headers are often consistent. The
//! files are checked like build outputs, within the limits for their size.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;
use hetdwarf::object::code_objects_within;
use hetdwarf::report::{VerifyDocument, check_file_within};
use hetdwarf::verify::Selection;

use super::containers;

/// Returns the smallest code objects: a header without sections for some processors, and bytes that are no code object.
fn contents() -> [Vec<u8>; 4] {
    let object = |flags: u32, name: u8| {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 64, 3];
        bytes.resize(16, 0);
        for half in [3u16, 224] {
            bytes.extend(half.to_le_bytes());
        }
        bytes.extend(1u32.to_le_bytes());
        bytes.resize(48, 0);
        bytes.extend(flags.to_le_bytes());
        bytes.extend([64, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, name]);
        bytes
    };
    [
        object(0x3f, 0),
        object(0x41, 0),
        object(0x3f, 1),
        b"no object, and of odd length ".to_vec(),
    ]
}

const IDS: [&str; 4] = [
    "hipv4-amdgcn-amd-amdhsa--gfx90a",
    "hipv4-amdgcn-amd-amdhsa--gfx1100",
    "host-x86_64-unknown-linux--",
    "",
];

/// Returns an offload bundle. In each entry, the first byte selects its contents and ID, the second moves its start, and the third changes
/// its size.
#[must_use]
pub fn bundle(bytes: &[u8]) -> Vec<u8> {
    let contents = contents();
    let entries: Vec<&[u8]> = bytes.chunks(3).collect();
    let byte = |entry: &[u8], at: usize| entry.get(at).copied().unwrap_or(0);
    let id = |entry: &[u8]| IDS[usize::from(byte(entry, 0) >> 2) % IDS.len()];
    let head: usize = entries.iter().map(|entry| 24 + id(entry).len()).sum();
    let start = 32 + head;
    let mut starts = Vec::new();
    let mut end = start;
    for content in &contents {
        starts.push(end);
        end += content.len();
    }
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend((entries.len() as u64).to_le_bytes());
    for entry in &entries {
        let which = usize::from(byte(entry, 0)) % contents.len();
        let moved =
            |number: usize, by: u8| (number as u64).wrapping_add_signed(by.cast_signed().into());
        let (at, size) = (starts[which], contents[which].len());
        for number in [
            moved(at, byte(entry, 1)),
            moved(size, byte(entry, 2)),
            id(entry).len() as u64,
        ] {
            bundle.extend(number.to_le_bytes());
        }
        bundle.extend(id(entry).as_bytes());
    }
    bundle.extend(contents.concat());
    bundle
}

/// Returns an archive. In each member, the first byte selects its contents and kind of name, the second the name, and the third changes its
/// size.
#[must_use]
pub fn archive(bytes: &[u8]) -> Vec<u8> {
    let contents = contents();
    let mut archive = b"!<arch>\n".to_vec();
    for member in bytes.chunks(3) {
        let byte = |at: usize| member.get(at).copied().unwrap_or(0);
        let content = &contents[usize::from(byte(0)) % contents.len()];
        let number = byte(1);
        let name = match byte(0) >> 2 & 7 {
            0 => "//".to_owned(),
            1 => "/".to_owned(),
            2 => format!("/{number}"),
            3 => format!("#1/{number}"),
            4 => "x".repeat(usize::from(number) % 17),
            _ => format!("m{number}.o/"),
        };
        let size = (content.len() as u64).wrapping_add_signed(byte(2).cast_signed().into());
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
        archive.extend(header.as_bytes());
        archive.extend(content);
        // Half of the members of odd length are not padded.
        if archive.len() % 2 == 1 && byte(0) & 0x80 == 0 {
            archive.push(b'\n');
        }
    }
    archive
}

/// Checks the [`bundle`] of these bytes.
///
/// # Panics
/// See [`cost`].
pub fn check_bundle(bytes: &[u8]) {
    cost(&bundle(bytes));
}

/// Checks the [`archive`] of these bytes.
///
/// # Panics
/// See [`cost`].
pub fn check_archive(bytes: &[u8]) {
    cost(&archive(bytes));
}

/// Finds and checks the objects in a file.
///
/// # Panics
/// If the cost exceeds the limit for the file's size, or if an object is missing from the report. See also [`containers::check`].
pub fn cost(file: &[u8]) {
    containers::check(file);
    // The limits have no floor, so that the rate per byte is tested.
    let mut limits = Limits::DEFAULT;
    (limits.work, limits.memory) = (1 << 12, 1 << 16);
    let meter = Arc::new(Meter::new(&limits, file.len() as u64));
    let found = code_objects_within(file, &[], &meter).map_or(0, |found| found.len());
    assert!(meter.bytes() <= meter.most_bytes() && meter.steps() <= meter.most_steps());
    let meter = Arc::new(Meter::new(&limits, file.len() as u64));
    let checked = check_file_within(
        "file",
        file,
        &[],
        &Selection::default(),
        NonZeroUsize::MIN,
        &meter,
    );
    assert!(meter.peak_bytes() <= meter.most_bytes() && meter.steps() <= meter.most_steps());
    let listed: usize = (checked.objects.iter())
        .map(|object| 1 + object.same.len())
        .sum();
    let all = listed + checked.unreadable.len();
    if meter.refused().is_none() {
        assert!(all >= found, "{listed} of {found} objects");
    } else {
        assert!(!checked.unreadable.is_empty(), "a limit is not said");
    }
    let text = serde_json::to_string(&VerifyDocument::new([checked])).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
}
