use crate::object::testing::{PROGBITS, linked, relocatable, section};
use crate::object::{code_objects, may_hold_code_objects};

fn object(text: &[u8]) -> Vec<u8> {
    linked(&[section(".text", PROGBITS, text)])
}

/// Returns the offsets and sizes of the code objects in a file.
fn found(file: &[u8]) -> Vec<(u64, usize)> {
    let found = code_objects(file).unwrap_or_default();
    let row =
        |object: &crate::object::EmbeddedCodeObject<'_>| (object.place.offset, object.data.len());
    found.iter().map(row).collect()
}

/// Returns a host object with sections.
fn host(sections: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
    let section = |(name, contents): &(&'static str, Vec<u8>)| section(name, PROGBITS, contents);
    let sections: Vec<_> = sections.iter().map(section).collect();
    let mut file = relocatable(&sections);
    file[18..20].copy_from_slice(&62_u16.to_le_bytes());
    file
}

#[test]
fn code_objects_in_other_files_have_their_offsets() {
    let (first, second) = (object(&[0; 40]), object(&[1; 4]));
    let file = [
        &b"a file of its own kind \x7fELF\x02"[..],
        &first,
        b"\x7f\x7fELF",
        &second,
        b"end",
    ];
    let start = file[0].len();
    let after = start + first.len() + 5;
    let expected = [(start as u64, first.len()), (after as u64, second.len())];
    assert_eq!(found(&file.concat()), expected);
    // In a host program they are data.
    let contents = [&b"abc"[..], &first].concat();
    let file = host(&[(".text", vec![0xc3]), (".rodata", contents)]);
    assert_eq!(found(&file), [(64 + 1 + 3, first.len())]);
}

#[test]
fn what_is_inside_of_a_code_object_is_its_own() {
    let outer = object(&object(&[0; 4]));
    let file = [&b"--"[..], &outer].concat();
    assert_eq!(found(&file), [(2, outer.len())]);
}

#[test]
fn formats_that_say_where_the_code_is_are_not_searched() {
    let first = object(&[0; 40]);
    for name in [
        ".hip_fatbin",
        ".llvm.offloading",
        ".rocm_kpack_ref",
        "__CLANG_OFFLOAD_BUNDLE__x",
    ] {
        let file = host(&[(name, b"nothing".to_vec()), (".rodata", first.clone())]);
        assert_eq!(found(&file), [], "{name}");
    }
    // A core file: `e_type` is 4.
    let mut core = host(&[(".rodata", first.clone())]);
    assert_eq!(found(&core).len(), 1);
    core[16] = 4;
    assert_eq!(found(&core), []);
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend([0; 8]);
    bundle.extend(&first);
    assert_eq!(found(&bundle), []);
}

#[test]
fn headers_that_are_not_sound_are_passed_over() {
    let good = object(&[0; 40]);
    let place = |file: &[u8]| found(&[&b"--"[..], file, b"--"].concat());
    assert_eq!(place(&good), [(2, good.len())]);
    // Offsets in the header, with invalid values: machine, type, version, offset of the table, size of a header, number of sections, number of the
    // section with names.
    for (at, value) in [
        (18, 3),
        (16, 4),
        (6, 2),
        (40, 0xff),
        (58, 65),
        (60, 0),
        (60, 200),
        (62, 3),
    ] {
        let mut bad = good.clone();
        bad[at] = value;
        assert_eq!(place(&bad), [], "{at}");
    }
    // A section that reaches beyond the end: its size is at 32 of the second header.
    let mut bad = good.clone();
    let table = good.len() - 3 * 64;
    bad[table + 64 + 38] = 1;
    assert_eq!(place(&bad), []);
    for length in 0..good.len() {
        assert_eq!(
            found(&[&b"--"[..], &good[..length]].concat()),
            [],
            "{length}"
        );
    }
}

#[test]
fn headers_with_overlapping_tables_are_charged() {
    use crate::error::ErrorKind;
    // Each header claims the same table of 60,000 sections at the end.
    let mut header = object(&[])[..64].to_vec();
    let count: u16 = 60_000;
    header[60..62].copy_from_slice(&count.to_le_bytes());
    let headers = 50_000_usize;
    let mut file = b"--".to_vec();
    for number in 0..headers {
        let distance = ((headers - number) * 64) as u64;
        header[40..48].copy_from_slice(&distance.to_le_bytes());
        file.extend(&header);
    }
    // A last section that is not in the file makes each header unsound.
    let mut table = vec![0; usize::from(count) * 64];
    let last = table.len() - 64;
    table[last + 4] = 1;
    table[last + 32..last + 40].fill(0xff);
    file.extend(table);
    let error = code_objects(&file).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}

#[test]
fn modules_of_iree_are_known_by_their_first_bytes() {
    let flat = b"\x10\0\0\0\x0c\0\0\0IREE\0\0\0\0".to_vec();
    let mut zip = b"PK\x03\x04".to_vec();
    zip.resize(26, 0);
    zip.extend([9, 0, 25, 0]);
    zip.extend(b"module.fb");
    zip.resize(64, 0);
    zip.extend(&flat);
    assert!(may_hold_code_objects(&flat) && may_hold_code_objects(&zip));
    assert!(!may_hold_code_objects(&zip[..60]));
    let object = object(&[0; 4]);
    assert_eq!(
        found(&[&zip[..], &object].concat()),
        [(zip.len() as u64, object.len())]
    );
}
