use std::io::Write;

use super::*;
use crate::error::ErrorKind;
use crate::meter::Meter;
use crate::object::testing::{PROGBITS, relocatable, section};

/// Returns a code object with this value in `e_flags`.
fn object_for(flags: u32) -> Vec<u8> {
    let mut data = relocatable(&[]);
    data[48..52].copy_from_slice(&flags.to_le_bytes());
    data
}

const GFX90A: u32 = 0x53f;
const GFX90A_XNACK: u32 = 0x73f;
const GFX1100: u32 = 0x41;

/// Returns a bundle with the layout of the document.
fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut header = BUNDLE_MAGIC.to_vec();
    header.extend((entries.len() as u64).to_le_bytes());
    let ids: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
    let mut offset = (header.len() + ids) as u64;
    let mut body = Vec::new();
    for (id, data) in entries {
        header.extend(offset.to_le_bytes());
        header.extend((data.len() as u64).to_le_bytes());
        header.extend((id.len() as u64).to_le_bytes());
        header.extend(id.as_bytes());
        body.extend_from_slice(data);
        offset += data.len() as u64;
    }
    header.extend(body);
    header
}

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const ID_90A: &str = "hipv4-amdgcn-amd-amdhsa--gfx90a";
const ID_1100: &str = "hipv4-amdgcn-amd-amdhsa--gfx1100";

fn two() -> Vec<u8> {
    bundle(&[
        (HOST, b""),
        (ID_90A, &object_for(GFX90A)),
        ("hip-amdgcn-amd-amdhsa--gfx906", b"BC\xc0\xde bitcode"),
        (ID_1100, &object_for(GFX1100)),
    ])
}

/// Returns a compressed bundle with a header of version 2 and the given sizes in the header.
fn compressed(data: &[u8], total: Option<u32>, uncompressed: u32) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    let stream = encoder.finish().unwrap();
    let mut file = b"CCOB\x02\0\0\0".to_vec();
    let total = total.unwrap_or(24 + stream.len() as u32);
    file.extend(total.to_le_bytes());
    file.extend(uncompressed.to_le_bytes());
    file.extend([0; 8]);
    file.extend(stream);
    file
}

fn summary(data: &[u8]) -> Vec<(String, String, u64)> {
    let found = code_objects(data).unwrap();
    for (index, one) in found.iter().enumerate() {
        assert_eq!(one.index, index);
        assert!(crate::object::is_amdgpu(&one.data));
    }
    found
        .into_iter()
        .map(|o| (o.id, o.target, o.place.offset))
        .collect()
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Limit { .. })
}

#[test]
fn a_bundle_gives_its_code_objects_and_nothing_else() {
    let data = two();
    let first = data.windows(4).position(|w| w == b"\x7fELF").unwrap() as u64;
    let second = first + object_for(GFX90A).len() as u64 + 12;
    let expected = [
        (ID_90A.to_owned(), "gfx90a".to_owned(), first),
        (ID_1100.to_owned(), "gfx1100".to_owned(), second),
    ];
    assert_eq!(summary(&data), expected);
}

#[test]
fn bundles_follow_each_other_with_anything_between() {
    let size = two().len() as u32;
    let parts = [two(), vec![0; 77], compressed(&two(), None, size), two()];
    let data = [parts.concat(), b"CCO tail".to_vec()].concat();
    let found = code_objects(&data).unwrap();
    assert_eq!(found.len(), 6);
    assert_eq!(found[2].place.compression, Some(Method::Zlib));
    assert_eq!(found[2].place.offset, u64::from(size) + 77);
    assert_eq!(found[2].data, found[0].data);
    assert_eq!(found[5].data, found[1].data);
}

#[test]
fn cut_anywhere_a_bundle_is_an_error_or_has_what_is_left() {
    let data = two();
    let ends = code_objects(&data)
        .unwrap()
        .iter()
        .map(|o| o.place.offset as usize + o.data.len())
        .collect::<Vec<_>>();
    assert_eq!(ends[1], data.len());
    for len in 0..data.len() {
        assert!(code_objects(&data[..len]).is_err(), "{len}");
    }
    let data = compressed(&data, None, data.len() as u32);
    for len in 0..data.len() {
        assert!(code_objects(&data[..len]).is_err(), "{len}");
    }
}

#[test]
fn numbers_of_a_header_are_not_believed() {
    let at = BUNDLE_MAGIC.len();
    // Count, and offset, size and ID length of the first entry.
    for field in [at, at + 8, at + 16, at + 24] {
        for value in [u64::MAX, 1 << 63, 1 << 40] {
            let mut data = two();
            data[field..field + 8].copy_from_slice(&value.to_le_bytes());
            assert!(code_objects(&data).is_err(), "{field} {value:#x}");
        }
    }
    let size = two().len() as u32;
    for (total, uncompressed) in [
        (None, size - 1),
        (None, size + 1),
        (None, u32::MAX),
        (Some(0), size),
        (Some(u32::MAX), size),
        (Some(40), size),
    ] {
        let data = compressed(&two(), total, uncompressed);
        assert!(code_objects(&data).is_err(), "{total:?} {uncompressed}");
    }
    for (byte, value) in [(4, 4), (4, 0), (6, 2)] {
        let mut data = compressed(&two(), None, size);
        data[byte] = value;
        assert!(code_objects(&data).is_err(), "{byte} {value}");
    }
}

#[test]
fn entries_that_overlap_are_limited_where_they_are_copied() {
    let object = object_for(GFX90A);
    let mut data = bundle(&vec![(ID_90A, b"".as_slice()); 1000]);
    let at = data.len() as u64;
    data.extend(&object);
    let mut header = BUNDLE_MAGIC.len() + 8;
    for _ in 0..1000 {
        data[header..header + 8].copy_from_slice(&at.to_le_bytes());
        data[header + 8..header + 16].copy_from_slice(&(object.len() as u64).to_le_bytes());
        header += 24 + ID_90A.len();
    }
    assert_eq!(code_objects(&data).unwrap().len(), 1000);
    let packed = compressed(&data, None, data.len() as u32);
    let limits = |memory, work| Limits {
        memory,
        work,
        memory_per_byte: 0,
        work_per_byte: 0,
        ..Limits::DEFAULT
    };
    let meter = Arc::new(Meter::new(&Limits::DEFAULT, 0));
    assert_eq!(
        code_objects_within(&packed, &[], &meter).unwrap().len(),
        1000
    );
    let copies = 1000 * object.len() as u64;
    let (bytes, steps) = (meter.peak_bytes(), meter.steps());
    assert!(bytes > data.len() as u64 + copies, "{bytes}");
    let found = |data, memory, work| code_objects_with(data, &limits(memory, work));
    assert_eq!(found(&packed, bytes, steps).unwrap().len(), 1000);
    assert!(is_limit(&found(&packed, bytes - 1, steps).unwrap_err()));
    assert!(is_limit(&found(&packed, bytes, steps - 1).unwrap_err()));
    assert!(is_limit(&found(&data, 0, 500).unwrap_err()));
}

#[test]
fn one_code_object_is_found_without_holding_the_others() {
    let size = two().len() as u32;
    let data = [compressed(&two(), None, size), two()].concat();
    let all = code_objects(&data).unwrap();
    for one in &all {
        let index = Selector::Index(one.index);
        assert_eq!(&code_object(&data, &index).unwrap(), one);
    }
    assert!(code_object(&data, &Selector::parse("gfx90a")).is_err());
    // Enough for the bundle and one of its two code objects.
    let meter = Arc::new(Meter::new(&Limits::DEFAULT, 0));
    code_objects_within(&data, &[], &meter).unwrap();
    let limits = Limits {
        memory: meter.peak_bytes() - 1,
        memory_per_byte: 0,
        ..Limits::default()
    };
    assert!(is_limit(&code_objects_with(&data, &limits).unwrap_err()));
    for index in [0, 1, 3] {
        assert!(code_object_with(&data, &Selector::Index(index), &limits).is_ok());
    }
    // The bundle is released, so there is room for the next one.
    let many = compressed(&two(), None, size).repeat(100);
    let limits = Limits {
        memory: 100 * u64::from(size) - 1,
        ..limits
    };
    assert!(code_object_with(&many, &Selector::Index(150), &limits).is_ok());
}

/// Nested containers are searched up to the limit.
#[test]
fn a_bundle_in_a_bundle_is_looked_into_up_to_a_depth() {
    let inner = two();
    let expected = targets(&code_objects(&inner).unwrap());
    let nested = |depth| (1..depth).fold(inner.clone(), |file, _| bundle(&[(ID_90A, &file)]));
    let size = inner.len() as u32;
    let packed = bundle(&[(ID_90A, &compressed(&inner, None, size))]);
    for file in [nested(2), nested(8), packed] {
        let found = code_objects(&file).unwrap();
        assert_eq!(targets(&found), expected);
        for one in found.iter().filter(|one| one.place.compression.is_none()) {
            let at = one.place.offset as usize;
            assert_eq!(&file[at..at + one.data.len()], &*one.data);
        }
    }
    let error = code_objects(&nested(9)).unwrap_err();
    assert!(error.to_string().contains("`containers` of 8"), "{error}");
    let limits = Limits {
        containers: 9,
        ..Limits::DEFAULT
    };
    assert!(code_objects_with(&nested(9), &limits).is_ok());
    // A bundle that was compressed twice is not supported.
    let twice = compressed(&compressed(&inner, None, size), None, 1000);
    assert!(code_objects(&twice).is_err());
}

fn targets(found: &[EmbeddedCodeObject<'_>]) -> Vec<String> {
    found.iter().map(|one| one.target.clone()).collect()
}

/// Returns an x86-64 object with these sections.
fn host(sections: &[(&'static str, &[u8])]) -> Vec<u8> {
    let sections: Vec<_> = sections
        .iter()
        .map(|(name, contents)| section(name, PROGBITS, contents))
        .collect();
    let mut data = relocatable(&sections);
    data[18..20].copy_from_slice(&62_u16.to_le_bytes());
    data
}

#[test]
fn a_host_object_embeds_in_its_sections() {
    let object = object_for(GFX90A_XNACK);
    let data = host(&[
        (".text", &object),
        (".hip_fatbin", &two()),
        (
            "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a:xnack+",
            &object,
        ),
        (
            "__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-",
            b"\0",
        ),
        (".hipFatBinSegment", b"HIPF"),
    ]);
    let found = code_objects(&data).unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].place.section.as_deref(), Some(".hip_fatbin"));
    assert_eq!(found[2].id, "hip-amdgcn-amd-amdhsa--gfx90a:xnack+");
    assert_eq!(found[2].target, "gfx90a:xnack+");
    for one in &found {
        let start = one.place.offset as usize;
        assert_eq!(*one.data, data[start..start + one.data.len()]);
    }
}

/// Returns an archive with these members, whose names have at most 15 characters.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut data = b"!<arch>\n".to_vec();
    for (name, contents) in members {
        let name = format!("{name}/");
        let header = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            644,
            contents.len()
        );
        data.extend(header.as_bytes());
        data.extend_from_slice(contents);
        if contents.len() % 2 == 1 {
            data.push(b'\n');
        }
    }
    data
}

#[test]
fn an_archive_gives_what_its_members_have() {
    let object = object_for(GFX1100);
    let fat = host(&[(".hip_fatbin", &two())]);
    let plain = host(&[(".text", b"x")]);
    let data = archive(&[
        ("readme", b"odd"),
        ("plain.o", &plain),
        ("fat.o", &fat),
        ("device.o", &object),
        ("inner.a", &archive(&[("device.o", &object)])),
    ]);
    let found = code_objects(&data).unwrap();
    let places: Vec<_> = found
        .iter()
        .map(|o| (o.place.member.as_deref().unwrap(), &*o.target))
        .collect();
    let expected = [
        ("fat.o", "gfx90a"),
        ("fat.o", "gfx1100"),
        ("device.o", "gfx1100"),
    ];
    assert_eq!(places, expected);
    for one in &found {
        let start = one.place.offset as usize;
        assert_eq!(*one.data, data[start..start + one.data.len()]);
    }
    for len in 0..data.len() {
        // Never a panic. Complete members are found, unless a member is truncated.
        let _ = code_objects(&data[..len]);
    }
}

#[test]
fn a_file_without_code_objects_says_what_it_is() {
    let cases: [(Vec<u8>, &str); 5] = [
        (host(&[(".text", b"x")]), "machine 62 (x86-64)"),
        (bundle(&[(HOST, b"")]), "an offload bundle"),
        (archive(&[("a", b"x")]), "a static archive"),
        (b"!<thin>\n".to_vec(), "a thin archive"),
        (b"hello".to_vec(), "neither"),
    ];
    for (data, what) in cases {
        let error = code_objects(&data).unwrap_err().to_string();
        assert!(error.contains("no AMDGPU code object"), "{error}");
        assert!(error.contains(what), "{error}");
    }
}

/// Returns an offload binary with the layout of the document, version 1 or 2, with its strings and one image.
fn offload_binary(version: u32, image: &[u8]) -> Vec<u8> {
    let strings: &[u8] = b"arch\0gfx1100\0triple\0amdgcn-amd-amdhsa\0";
    let stride = if version == 1 { 16 } else { 24 };
    let table = 32 + 40;
    let text = table + 2 * stride;
    let start = (text + strings.len() as u64).next_multiple_of(8);
    let size = start + image.len() as u64;
    let mut data = vec![0x10, 0xff, 0x10, 0xad];
    data.extend(version.to_le_bytes());
    // Version 1 ends with the entry's size, version 2 with the number of entries.
    for number in [size, 32, if version == 1 { 40 } else { 1 }] {
        data.extend(number.to_le_bytes());
    }
    data.extend(1_u16.to_le_bytes());
    data.extend(4_u16.to_le_bytes());
    data.extend(0_u32.to_le_bytes());
    for number in [table, 2, start, image.len() as u64] {
        data.extend(number.to_le_bytes());
    }
    for (key, value, len) in [(0, 5, 7), (13, 20, 17)] {
        data.extend((text + key).to_le_bytes());
        data.extend((text + value).to_le_bytes());
        if version == 2 {
            data.extend(u64::to_le_bytes(len));
        }
    }
    data.extend(strings);
    data.resize(start as usize, 0);
    data.extend(image);
    data
}

#[test]
fn offload_binaries_of_both_versions_are_read() {
    let object = object_for(GFX1100);
    let both = [
        offload_binary(1, &object),
        vec![0; 24],
        offload_binary(2, &object),
        offload_binary(2, b"BC\xc0\xde"),
        vec![0; 3],
    ]
    .concat();
    let found = code_objects(&both).unwrap();
    assert_eq!(found.len(), 2);
    for one in &found {
        assert_eq!(one.id, "hip-amdgcn-amd-amdhsa--gfx1100");
        let start = one.place.offset as usize;
        assert_eq!(*one.data, both[start..start + one.data.len()]);
    }
    for version in [1, 2] {
        let whole = offload_binary(version, &object);
        for len in 0..whole.len() {
            assert!(code_objects(&whole[..len]).is_err(), "{len}");
        }
        for field in [8, 16, 40, 48, 56, 64] {
            for value in [u64::MAX, 1 << 40] {
                let mut data = whole.clone();
                data[field..field + 8].copy_from_slice(&value.to_le_bytes());
                // Missing strings affect only the ID.
                let _ = code_objects(&data);
            }
        }
    }
    let mut future = offload_binary(2, &object);
    future[4] = 3;
    assert!(code_objects(&future).is_err());
    let junk = [offload_binary(1, &object), b"junk".to_vec()].concat();
    assert!(code_objects(&junk).is_err());
}

fn choose(flags: &[u32], text: &str) -> Result<usize, Vec<String>> {
    let objects: Vec<Vec<u8>> = flags.iter().map(|&f| object_for(f)).collect();
    let ids: Vec<String> = (0..flags.len())
        .map(|n| format!("hip-amdgcn-amd-amdhsa--{n}"))
        .collect();
    let entries: Vec<(&str, &[u8])> = ids
        .iter()
        .map(String::as_str)
        .zip(objects.iter().map(Vec::as_slice))
        .collect();
    let data = bundle(&entries);
    let found = code_objects(&data).unwrap();
    let error = match select(&found, &Selector::parse(text)) {
        Ok(one) => return Ok(one.index),
        Err(error) => error,
    };
    let ErrorKind::Selection { candidates, .. } = error.kind() else {
        panic!("{error}");
    };
    Err(candidates
        .iter()
        .map(|c| c.split(" at ").next().unwrap().to_owned())
        .collect())
}

#[test]
fn the_only_one_needs_no_choice() {
    let one = object_for(GFX90A);
    let found = code_objects(&one).unwrap();
    assert_eq!(select(&found, &Selector::default()).unwrap().index, 0);
    let data = two();
    let found = code_objects(&data).unwrap();
    let error = select(&found, &Selector::Only).unwrap_err().to_string();
    assert!(error.contains("there are 2 code objects"), "{error}");
    assert!(error.contains("0: gfx90a at offset"), "{error}");
    assert!(error.contains("1: gfx1100 at offset"), "{error}");
    assert!(select(&[], &Selector::Only).is_err());
    let found = code_objects(&one).unwrap();
    assert!(select(&found, &Selector::parse("")).is_err());
}

#[test]
fn a_choice_is_an_index_an_id_or_a_target() {
    let all = &[GFX90A_XNACK, GFX1100];
    assert_eq!(choose(all, "1"), Ok(1));
    assert_eq!(choose(all, "hip-amdgcn-amd-amdhsa--1"), Ok(1));
    assert_eq!(choose(all, "gfx1100"), Ok(1));
    assert_eq!(choose(all, "gfx90a"), Ok(0));
    assert_eq!(choose(all, "gfx90a:xnack+"), Ok(0));
    assert_eq!(choose(all, "amdgcn-amd-amdhsa--gfx90a"), Ok(0));
    let listed = Err(vec!["0: gfx90a:xnack+".into(), "1: gfx1100".into()]);
    for none in ["2", "gfx90a:xnack-", "gfx906", "nonsense", ""] {
        assert_eq!(choose(all, none), listed, "{none}");
    }
}

#[test]
fn the_closest_fit_wins_and_two_equal_ones_are_ambiguous() {
    const GFX90A_NO_XNACK: u32 = 0x63f;
    const GFX11_GENERIC: u32 = 0x0100_0054;
    // A code object for any setting is accepted for a setting.
    assert_eq!(choose(&[GFX90A, GFX1100], "gfx90a:xnack+"), Ok(0));
    // Equal text before a fit.
    assert_eq!(choose(&[GFX90A_XNACK, GFX90A], "gfx90a"), Ok(1));
    assert_eq!(choose(&[GFX90A_XNACK, GFX90A], "gfx90a:xnack+"), Ok(0));
    let both = &[GFX90A_XNACK, GFX90A_NO_XNACK];
    assert_eq!(choose(both, "gfx90a:xnack-"), Ok(1));
    let ambiguous = Err(vec!["0: gfx90a:xnack+".into(), "1: gfx90a:xnack-".into()]);
    assert_eq!(choose(both, "gfx90a"), ambiguous);
    let same = Err(vec!["0: gfx1100".into(), "1: gfx1100".into()]);
    assert_eq!(choose(&[GFX1100, GFX1100], "gfx1100"), same);
    // The generic processor, if there is nothing closer. (Version 5 has no generic version, but the flags are read anyway.)
    assert_eq!(choose(&[GFX11_GENERIC, GFX90A], "gfx1100"), Ok(0));
    assert_eq!(choose(&[GFX11_GENERIC, GFX1100], "gfx1100"), Ok(1));
}
