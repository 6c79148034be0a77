use rmpv::Value as Pack;

use super::*;
use crate::error::ErrorKind;
use crate::object::testing::{PROGBITS, linked, relocatable, section};
use crate::object::{EmbeddedCodeObject, code_objects, code_objects_and_packages};

/// Returns a code object with this value in `e_flags`.
fn object_for(flags: u32) -> Vec<u8> {
    let mut data = relocatable(&[]);
    data[48..52].copy_from_slice(&flags.to_le_bytes());
    data
}

fn gfx90a() -> Vec<u8> {
    object_for(0x53f)
}

fn gfx1100() -> Vec<u8> {
    object_for(0x41)
}

fn encode(value: &Pack) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).unwrap();
    bytes
}

fn map(entries: Vec<(&str, Pack)>) -> Pack {
    let entries = entries.into_iter();
    Pack::Map(entries.map(|(key, value)| (key.into(), value)).collect())
}

/// A key, a target and an entry of the table.
type Row<'a> = (&'a str, &'a str, Pack);

fn entry(ordinal: u64, size: usize) -> Pack {
    map(vec![
        ("type", "hsaco".into()),
        ("ordinal", ordinal.into()),
        ("original_size", (size as u64).into()),
    ])
}

fn toc(rows: Vec<Row<'_>>) -> Pack {
    let row = |(key, target, entry)| (Pack::from(key), map(vec![(target, entry)]));
    Pack::Map(rows.into_iter().map(row).collect())
}

/// Returns a package with `body` at 16, where the padding of real ones is, and a table after it.
fn package(body: &[u8], table: &Pack) -> Vec<u8> {
    let mut file = b"KPAK\x01\0\0\0".to_vec();
    file.extend((16 + body.len() as u64).to_le_bytes());
    file.extend(body);
    file.extend(encode(table));
    file
}

fn plain(parts: &[Vec<u8>], rows: Vec<Row<'_>>) -> Vec<u8> {
    let mut at = 16;
    let mut blobs = Vec::new();
    for part in parts {
        blobs.push(map(vec![
            ("size", part.len().into()),
            ("offset", at.into()),
            ("align", 1.into()),
        ]));
        at += part.len();
    }
    let table = map(vec![
        ("toc", toc(rows)),
        ("tuning", map(vec![("x", Pack::F64(0.5))])),
        ("blobs", Pack::Array(blobs)),
        ("compression_scheme", "none".into()),
    ]);
    package(&parts.concat(), &table)
}

/// Returns a Zstandard frame of one raw block: magic, a header with the size in 8 bytes, the header of the last block (RFC 8878, 3.1.1).
fn frame(part: &[u8]) -> Vec<u8> {
    let mut frame = 0xfd2f_b528_u32.to_le_bytes().to_vec();
    frame.push(0xe0);
    frame.extend((part.len() as u64).to_le_bytes());
    frame.extend(&(1 | (part.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend(part);
    frame
}

fn packed(parts: &[Vec<u8>], rows: Vec<Row<'_>>) -> Vec<u8> {
    let mut body = (parts.len() as u32).to_le_bytes().to_vec();
    for part in parts {
        let frame = frame(part);
        body.extend((frame.len() as u32).to_le_bytes());
        body.extend(frame);
    }
    let table = map(vec![
        ("compression_scheme", "zstd-per-kernel".into()),
        ("zstd_offset", 16.into()),
        ("zstd_size", body.len().into()),
        ("toc", toc(rows)),
    ]);
    package(&body, &table)
}

/// Three code objects of two libraries; a second target of the same code; data of another type.
fn rows() -> Vec<Row<'static>> {
    let sizes = [gfx90a().len(), gfx1100().len()];
    vec![
        ("lib/a.so#0", "gfx90a:xnack-", entry(0, sizes[0])),
        ("lib/a.so#1", "gfx1100", entry(1, sizes[1])),
        ("lib/a.so.2#0", "gfx1100", entry(1, sizes[1])),
        ("lib/b.so", "gfx1100", entry(1, sizes[1])),
        (
            "lib/a.so#2",
            "gfx1100",
            map(vec![("type", "tensile".into()), ("ordinal", 99.into())]),
        ),
    ]
}

fn found(objects: &[EmbeddedCodeObject<'_>]) -> Vec<(String, String, u64)> {
    let row = |object: &EmbeddedCodeObject<'_>| {
        let place = &object.place;
        (
            place.member.clone().unwrap(),
            object.target.clone(),
            place.offset,
        )
    };
    objects.iter().map(row).collect()
}

/// Expected rows, with the offsets that the layout gives.
fn expected(offsets: [u64; 2]) -> Vec<(String, String, u64)> {
    let row = |key: &str, target: &str, at: usize| (key.to_owned(), target.to_owned(), offsets[at]);
    vec![
        row("lib/a.so#0", "gfx90a", 0),
        row("lib/a.so#1", "gfx1100", 1),
        row("lib/a.so.2#0", "gfx1100", 1),
        row("lib/b.so", "gfx1100", 1),
    ]
}

#[test]
fn a_package_gives_the_code_of_its_table() {
    let parts = [gfx90a(), gfx1100()];
    let size = gfx90a().len() as u64;
    let file = plain(&parts, rows());
    let objects = code_objects(&file).unwrap();
    assert_eq!(found(&objects), expected([16, 16 + size]));
    assert_eq!(objects[0].id, "gfx90a:xnack-");
    assert_eq!(
        (&*objects[0].data, &*objects[3].data),
        (&*parts[0], &*parts[1])
    );
    // A frame has 16 bytes more than its contents. Each frame follows its size, and the number of frames comes first.
    let file = packed(&parts, rows());
    let objects = code_objects(&file).unwrap();
    assert_eq!(found(&objects), expected([24, 24 + size + 16 + 4]));
    assert_eq!(
        (&*objects[0].data, &*objects[3].data),
        (&*parts[0], &*parts[1])
    );
    assert_eq!(objects[3].place.compression, Some(Method::Zstd));
    assert!(objects[3].place.to_string().ends_with("(zstd)"));
}

fn reference(extra: &[u8]) -> Vec<u8> {
    let mut bytes = encode(&map(vec![
        ("kernel_name", "lib/a.so".into()),
        (
            "kpack_search_paths",
            Pack::Array(vec!["../.kpack/a_@GFXARCH@.kpack".into()]),
        ),
    ]));
    bytes.extend(extra);
    bytes
}

/// Returns a host library with the remains of a bundle.
fn library(reference: &[u8]) -> Vec<u8> {
    let mut file = linked(&[
        section(
            ".hip_fatbin",
            PROGBITS,
            b"__CLANG_OFFLOAD_BUNDLE__ old bytes",
        ),
        section(REFERENCE, PROGBITS, reference),
    ]);
    file[18..20].copy_from_slice(&62_u16.to_le_bytes());
    file
}

#[test]
fn a_library_names_its_packages_and_takes_its_code_from_them() {
    let library = library(&reference(b"\0\0\0\xc1"));
    let limits = Limits::default();
    let named = PackageReference::of(&library, &limits).unwrap().unwrap();
    assert_eq!(named.name, "lib/a.so");
    assert_eq!(named.search_paths, ["../.kpack/a_@GFXARCH@.kpack"]);
    let error = code_objects(&library).unwrap_err().to_string();
    let hint = "its code is in ../.kpack/a_@GFXARCH@.kpack (as lib/a.so)";
    assert!(error.contains(hint), "{error}");

    let files = [
        plain(&[gfx90a(), gfx1100()], rows()),
        packed(
            &[gfx1100()],
            vec![("lib/a.so", "gfx1100", entry(0, gfx1100().len()))],
        ),
        plain(
            &[gfx1100()],
            vec![("lib/b.so#0", "gfx1100", entry(0, gfx1100().len()))],
        ),
    ];
    let is_in = files
        .each_ref()
        .map(|file| named.is_in(file, &limits).unwrap());
    assert_eq!(is_in, [true, true, false]);
    let packages = [("p", &files[0]), ("q", &files[1])].map(|(name, data)| Package { name, data });
    let objects = code_objects_and_packages(&library, &packages, &limits).unwrap();
    let members = found(&objects).into_iter().map(|(member, ..)| member);
    let expected = ["p(lib/a.so#0)", "p(lib/a.so#1)", "q(lib/a.so)"];
    assert_eq!(members.collect::<Vec<_>>(), expected);
    assert_eq!(
        objects
            .iter()
            .map(|object| object.index)
            .collect::<Vec<_>>(),
        [0, 1, 2]
    );
}

#[test]
fn a_file_without_section_headers_names_its_packages_too() {
    // One segment, whose contents are the reference.
    let contents = reference(b"\0");
    let mut file = library(&contents);
    let at = file
        .windows(contents.len())
        .position(|bytes| bytes == contents);
    let at = at.unwrap() as u64;
    let headers = file.len() as u64;
    file.extend(1_u32.to_le_bytes());
    file.extend(4_u32.to_le_bytes());
    for number in [
        at,
        0x4000,
        0x4000,
        contents.len() as u64,
        contents.len() as u64,
        1,
    ] {
        file.extend(number.to_le_bytes());
    }
    file[32..40].copy_from_slice(&headers.to_le_bytes());
    file[40..48].fill(0);
    file[56..58].copy_from_slice(&1_u16.to_le_bytes());
    file[60..64].fill(0);
    let found = PackageReference::of(&file, &Limits::default()).unwrap();
    assert_eq!(found.unwrap().name, "lib/a.so");
}

#[test]
fn names_are_compared_with_their_numbers() {
    let named = PackageReference {
        search_paths: Vec::new(),
        name: "lib/a.so".to_owned(),
    };
    for (key, is_its) in [
        ("lib/a.so", true),
        ("lib/a.so#0", true),
        ("lib/a.so#12", true),
        ("lib/a.so#", false),
        ("lib/a.so#x", false),
        ("lib/a.so.1", false),
        ("lib/a.so.1#0", false),
        ("lib/a", false),
        ("xlib/a.so", false),
    ] {
        assert_eq!(named.names(key), is_its, "{key}");
    }
}

#[test]
fn malformed_references_are_errors() {
    for bytes in [
        &b"\x80"[..],
        b"\xc0",
        b"",
        b"\x82\xabkernel_name\x01\xb2kpack_search_paths\x90",
        b"\x82\xabkernel_name\xa1x\xb2kpack_search_paths\x91\x01",
        &[0x91; 1000],
    ] {
        let library = library(bytes);
        assert!(PackageReference::of(&library, &Limits::default()).is_err());
        assert!(code_objects(&library).is_err());
    }
}

#[test]
fn what_is_cut_or_changed_anywhere_does_no_harm() {
    for file in [
        plain(&[gfx90a(), gfx1100()], rows()),
        packed(&[gfx90a(), gfx1100()], rows()),
    ] {
        for length in 4..file.len() {
            assert!(code_objects(&file[..length]).is_err(), "{length}");
        }
        for at in 0..file.len() {
            let mut file = file.clone();
            for value in [0x00, 0x7f, 0x80, 0xdf, 0xff] {
                file[at] = value;
                let _ = code_objects(&file);
            }
        }
    }
}

#[test]
fn what_a_package_claims_is_compared_with_what_is_there() {
    let size = gfx90a().len();
    let one = |ordinal, size| vec![("a", "gfx90a", entry(ordinal, size))];
    let bad = [
        plain(&[gfx90a()], one(1, size)),
        plain(&[gfx90a()], one(u64::MAX, size)),
        packed(&[gfx90a()], one(0, size - 1)),
        packed(&[gfx90a()], one(0, size + 1)),
        packed(
            &[gfx90a()],
            vec![("a", "gfx90a", map(vec![("ordinal", 0.into())]))],
        ),
        plain(
            &[gfx90a()],
            vec![("a", "gfx90a", map(vec![("original_size", 0.into())]))],
        ),
        plain(&[gfx90a()], vec![("a", "gfx90a", 1.into())]),
        package(b"", &map(vec![("compression_scheme", "lz4".into())])),
        package(b"", &map(vec![("compression_scheme", "none".into())])),
        package(b"", &map(vec![("toc", map(vec![]))])),
        package(b"", &Pack::from(1)),
        b"KPAK\x02\0\0\0\x10\0\0\0\0\0\0\0\x80".to_vec(),
        b"KPAK\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x80".to_vec(),
    ];
    for (number, file) in bad.iter().enumerate() {
        let error = code_objects(file).unwrap_err();
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Malformed { .. } | ErrorKind::Truncated { .. }
            ),
            "{number}: {error}"
        );
        assert!(
            !error.to_string().contains("no AMDGPU code object"),
            "{number}: {error}"
        );
    }
    // A package of another version can have any meaning.
    let mut file = plain(&[gfx90a()], one(0, size));
    assert!(code_objects(&file).is_ok());
    file[4] = 2;
    assert!(code_objects(&file).is_err());
    // Numbers of frames and sizes that are not there.
    let mut file = packed(&[gfx90a()], one(0, size));
    file[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(code_objects(&file).is_err());
    let blob = map(vec![("offset", u64::MAX.into()), ("size", 2.into())]);
    let table = map(vec![
        ("blobs", Pack::Array(vec![blob])),
        ("toc", toc(one(0, 2))),
    ]);
    assert!(code_objects(&package(b"", &table)).is_err());
}

#[test]
fn much_code_of_few_bytes_is_limited() {
    let is_limit = |file: &[u8]| {
        let error = code_objects(file).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    };
    // An impossible size.
    let entries = vec![("a", "gfx90a", entry(0, 1 << 50))];
    is_limit(&packed(&[gfx90a()], entries));
    // One frame of 128 KiB of zeros after a header (RFC 8878, a block of type RLE), for each of many entries.
    let mut frame = 0xfd2f_b528_u32.to_le_bytes().to_vec();
    let object = gfx90a();
    let blocks = 100_u32;
    let size = object.len() as u64 + u64::from(blocks) * (128 << 10);
    frame.push(0xe0);
    frame.extend(size.to_le_bytes());
    frame.extend(&((object.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend(&object);
    for block in 0..blocks {
        let is_last = u32::from(block + 1 == blocks);
        frame.extend(&(is_last | 1 << 1 | (128 << 10) << 3).to_le_bytes()[..3]);
        frame.push(0);
    }
    let mut body = 1_u32.to_le_bytes().to_vec();
    body.extend((frame.len() as u32).to_le_bytes());
    body.extend(frame);
    let keys: Vec<String> = (0..2000).map(|number| format!("a#{number}")).collect();
    let rows = keys
        .iter()
        .map(|key| (key.as_str(), "gfx90a", entry(0, size as usize)));
    let table = map(vec![
        ("toc", toc(rows.collect())),
        ("zstd_offset", 16.into()),
        ("zstd_size", body.len().into()),
    ]);
    is_limit(&package(&body, &table));
}
