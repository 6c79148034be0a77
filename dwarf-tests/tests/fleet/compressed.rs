//! Checks that every command prints the same for compressed cores and code objects as for the uncompressed files.

use std::fs;
use std::io::Write;

use dwarf_tests::cores::Folder;
use dwarf_tests::{fixture, hetdwarf};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::text;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a frame of uncompressed blocks. Source: LZ4 Frame Format Description: version 1, independent blocks of at most 64 KiB, no
/// checksums. The last byte of the descriptor is its hash.
fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
    for block in bytes.chunks(1 << 16) {
        let size = u32::try_from(block.len()).unwrap() | 1 << 31;
        file.extend(size.to_le_bytes());
        file.extend(block);
    }
    file.extend([0; 4]);
    file
}

/// Returns a frame of raw blocks. Source: RFC 8878, 3.1.1: a window of 1 MiB, no size, no checksum. A block's header has its size, its kind
/// and a bit for the last block.
fn zstandard(bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 10 << 3];
    let blocks = bytes.chunks(1 << 17);
    let count = blocks.len();
    for (number, block) in blocks.enumerate() {
        let is_last = u32::from(number + 1 == count);
        let header = u32::try_from(block.len()).unwrap() << 3 | is_last;
        file.extend(&header.to_le_bytes()[..3]);
        file.extend(block);
    }
    file
}

#[test]
fn what_is_in_compressed_files_is_read() {
    let folder = Folder::new();
    let core = fs::read(fixture("../../examples/demo/demo.core")).unwrap();
    let object = fs::read(fixture("waves/calls-O2/calls-O2.rocm.hsaco")).unwrap();
    let path = text(&folder.path("file"));
    let questions: [(&[u8], &[&str]); 6] = [
        (&core, &["core", &path]),
        (&core, &["core", &path, "--format=jsonl"]),
        (&core, &["unwind", "--core", &path]),
        (&object, &["verify", &path, "--format=jsonl"]),
        (&object, &["info", &path]),
        (&object, &["verify", folder.folder().to_str().unwrap()]),
    ];
    for (bytes, question) in questions {
        fs::write(&path, bytes).unwrap();
        let expected = hetdwarf(question.iter().copied());
        assert!(!expected.out.is_empty(), "{}", expected.err);
        for packed in [gzip(bytes), lz4(bytes), zstandard(bytes)] {
            fs::write(&path, packed).unwrap();
            let found = hetdwarf(question.iter().copied());
            assert_eq!(
                (found.status, found.out),
                (expected.status, expected.out.clone()),
                "{question:?}"
            );
        }
    }
}

/// Tests truncated files, and a file that decompresses to more than is allowed.
#[test]
fn damaged_compressed_files_are_errors() {
    let folder = Folder::new();
    let object = fs::read(fixture("waves/calls-O2/calls-O2.rocm.hsaco")).unwrap();
    let path = text(&folder.path("file"));
    for packed in [gzip(&object), lz4(&object), zstandard(&object)] {
        fs::write(&path, &packed[..packed.len() / 2]).unwrap();
        let ran = hetdwarf(["info", &path]);
        assert_eq!((ran.status, &*ran.out), (2, ""), "{}", ran.err);
    }
    // Each run of one byte expands four bytes to 128 KiB. Source: RFC 8878, 3.1.1.2.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 10 << 3];
    for _ in 0..1000 {
        bomb.extend(&(1_u32 << 20 | 1 << 1).to_le_bytes()[..3]);
        bomb.push(0);
    }
    fs::write(&path, bomb).unwrap();
    for command in ["info", "verify", "core"] {
        let ran = hetdwarf([command, &path]);
        assert_eq!(ran.status, 2, "{command}");
        assert!(ran.err.contains("more than 67108864 bytes"), "{}", ran.err);
    }
}
