use std::io::Write;

use super::relocation::{RelocationType, UnresolvedReason};
use super::testing::{
    ALLOC, COMPRESSED, EXECUTE, NOBITS, NOTE, PROGBITS, REL, RELA, STRTAB, SYMTAB, TestSection,
    linked, metadata_note, note, rel, rela, relocatable, section, symbol,
};
use super::*;
use crate::arch::{Family, WaveSize};
use crate::error::{ErrorKind, Limit};

const CODE: u64 = ALLOC | EXECUTE;

fn malformed(error: &crate::Error) -> String {
    let kind = error.kind();
    assert!(
        matches!(
            kind,
            ErrorKind::Malformed { .. } | ErrorKind::Truncated { .. }
        ),
        "{kind:?}"
    );
    error.to_string()
}

#[test]
fn what_is_not_a_code_object_is_named() {
    let mut host = relocatable(&[]);
    host[18] = 62;
    let mut executable = relocatable(&[]);
    executable[16] = 4;
    let cases: [(&[u8], &str); 10] = [
        (b"", "an empty file"),
        (b"\x7fELF\x01\x01\x01", "a 32-bit ELF file"),
        (b"\x7fELF\x02\x02\x01", "a big-endian ELF file"),
        (&host, "machine 62 (x86-64)"),
        (
            b"__CLANG_OFFLOAD_BUNDLE__",
            "an offload bundle, which can contain",
        ),
        (b"CCOB\x03\0", "a compressed offload bundle"),
        (b"!<arch>\n", "a static archive"),
        (b"BC\xc0\xde", "LLVM bitcode"),
        (b"hello", "neither an ELF file nor an offload bundle"),
        (&executable, "a core file"),
    ];
    for (data, what) in cases {
        let error = CodeObject::parse(data).unwrap_err();
        // A core file of this machine is not an object.
        let is_named = matches!(
            error.kind(),
            ErrorKind::NoCodeObject { .. } | ErrorKind::Malformed { .. }
        );
        assert!(is_named, "{error:?}");
        let message = error.to_string();
        assert!(message.contains(what), "{message}");
    }
}

#[test]
fn the_header_is_what_the_file_says() {
    let data = relocatable(&[]);
    let object = CodeObject::parse(&data).unwrap();
    assert!(object.is_relocatable());
    assert_eq!(object.target().to_string(), "gfx90a");
    assert_eq!(object.target().processor().family(), Some(Family::Gfx90a));
    assert_eq!(object.os_abi(), OsAbi::Hsa);
    assert_eq!(object.abi_version(), 3);
    assert_eq!(object.code_object_version(), Some(5));
    assert_eq!(object.flags(), 0x53f);
    assert_eq!(object.section(".debug_info").unwrap(), None);
    assert!(object.symbols().unwrap().is_empty());
    assert!(object.kernels().unwrap().is_empty());
    assert_eq!(object.metadata().unwrap(), None);
    assert_eq!(object.read_image(0, 1), None);
}

#[test]
fn where_the_bytes_are_in_memory_does_not_matter() {
    let data = with_relocations(section(".rela.debug_x", RELA, &rela(0, 6, 1, 0)), &[0; 4]);
    for shift in 1..8 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(&data);
        let object = CodeObject::parse(&shifted[shift..]).unwrap();
        assert_eq!(object.symbols().unwrap().len(), 6);
        assert_eq!(
            object.section(".debug_x").unwrap(),
            Some(&[0x10, 1, 0, 0][..])
        );
    }
}

/// Several threads can read one object.
#[test]
fn a_code_object_can_be_shared() {
    fn shared<T: Send + Sync>(_: &T) {}
    let data = relocatable(&[]);
    shared(&CodeObject::parse(&data).unwrap());
}

#[test]
fn a_file_without_sections_opens() {
    let mut data = relocatable(&[]);
    data[40..48].fill(0);
    data[60..64].fill(0);
    assert!(CodeObject::parse(&data).unwrap().sections().is_empty());
}

/// Two code sections at 0 and 0x100, `.rodata` at 0x180, `.debug_x` with relocations, symbols 1 to 6.
fn with_relocations(relocations: TestSection, contents: &[u8]) -> Vec<u8> {
    let mut second = section(".text.b", PROGBITS, &[0x22; 0x80]).flags(CODE);
    second.alignment = 0x100;
    let symbols = [
        symbol(0, 0, 0, 0, 0),
        symbol(1, 2, 2, 0x10, 4),         // 1: in .text.b, at 0x110
        symbol(0, 3, 5, 0, 0),            // 2: the section .debug_x itself
        symbol(3, 0x10, 0, 0, 0),         // 3: undefined
        symbol(5, 0x10, 0xff00, 8, 4),    // 4: in local memory
        symbol(0, 0, 0xfff1, 1 << 40, 0), // 5: a number
        symbol(0, 0, 2, 0x8000_0000, 0),  // 6: beyond what a signed word holds
    ];
    relocatable(&[
        section(".text.a", PROGBITS, &[0x11; 0x40]).flags(CODE),
        second,
        section(".symtab", SYMTAB, &symbols.concat()).linked(4, 0),
        section(".strtab", STRTAB, b"\0f\0u\0l\0"),
        section(".debug_x", PROGBITS, contents),
        TestSection {
            link: 3,
            info: 5,
            ..relocations
        },
    ])
}

/// Every formula of the table, worked out by hand. P is the offset, since `.debug_x` is at 0.
#[test]
fn relocations_compute_what_the_table_says() {
    const F: u32 = 1; // S = 0x110
    const NUMBER: u32 = 5; // S = 2^40
    let cases: [(u32, u32, i64, &[u8]); 13] = [
        (0, F, 1, &[0xee; 8]),                                      // NONE
        (1, F, 0x7_0000_0001, &[0x11, 1, 0, 0]), // ABS32_LO: (S + A) & 0xffffffff
        (2, F, 0x7_0000_0001, &[7, 0, 0, 0]),    // ABS32_HI: (S + A) >> 32
        (2, NUMBER, -1, &[0xff, 0, 0, 0]),       // (2^40 - 1) >> 32
        (3, F, -0x111, &[0xff; 8]),              // ABS64: -1
        (4, F, 4, &[0x0c, 1, 0, 0]),             // REL32: 0x110 + 4 - 8
        (5, F, -0x110, &[0xf8, 255, 255, 255, 255, 255, 255, 255]), // REL64: -8
        (6, F, 0x20, &[0x30, 1, 0, 0]),          // ABS32
        (10, F, 4, &[0x0c, 1, 0, 0]),            // REL32_LO
        (11, F, -0x110, &[0xff; 4]),             // REL32_HI: -8 >> 32
        (11, NUMBER, 8, &[0, 1, 0, 0]),          // 2^40 >> 32
        (13, 0, 0x1234, &[0x34, 0x12, 0, 0, 0, 0, 0, 0]), // RELATIVE64: B + A, B = 0
        (14, F, 0, &[0x41, 0]),                  // REL16: (0x110 - 8 - 4) / 4
    ];
    for (kind, symbol, addend, expected) in cases {
        let table = section(".rela.debug_x", RELA, &rela(8, kind, symbol, addend));
        let data = with_relocations(table, &[0xee; 16]);
        let object = CodeObject::parse(&data).unwrap();
        let contents = object.section(".debug_x").unwrap().unwrap();
        let (before, rest) = contents.split_at(8);
        let (field, after) = rest.split_at(expected.len());
        assert_eq!(field, expected, "type {kind}");
        assert!(
            before.iter().chain(after).all(|&b| b == 0xee),
            "type {kind}"
        );
        assert!(
            object
                .unresolved_relocations(".debug_x")
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn an_addend_in_the_field_is_zero_extended() {
    let table = section(".rel.debug_x", REL, &rel(8, 6, 1));
    let data = with_relocations(table, &[0xee, 0xee, 0xee, 0xee, 0, 0, 0, 0, 5, 0, 0, 0]);
    let object = CodeObject::parse(&data).unwrap();
    let contents = object.section(".debug_x").unwrap().unwrap();
    assert_eq!(contents[8..], [0x15, 1, 0, 0]);
    // USAGE, "A": the high half comes from the symbol and the zero-extended addend: (2^40 + 0xffffffff) >> 32.
    let table = section(".rel.debug_x", REL, &rel(0, 2, 5));
    let data = with_relocations(table, &[0xff; 4]);
    let object = CodeObject::parse(&data).unwrap();
    assert_eq!(object.section(".debug_x").unwrap().unwrap(), [0, 1, 0, 0]);
}

#[test]
fn relocations_without_an_answer_are_listed() {
    let cases = [
        (7, 1, UnresolvedReason::NeedsGot, [0xee; 4]),
        (8, 1, UnresolvedReason::NeedsGot, [0xee; 4]),
        (9, 1, UnresolvedReason::NeedsGot, [0xee; 4]),
        (12, 1, UnresolvedReason::UnknownType, [0xee; 4]),
        (
            6,
            3,
            UnresolvedReason::NoAddress(SymbolSection::Undefined),
            [2, 0, 0, 0],
        ),
        (
            6,
            4,
            UnresolvedReason::NoAddress(SymbolSection::Lds),
            [2, 0, 0, 0],
        ),
        (6, 5, UnresolvedReason::Overflow, [2, 0, 0, 0]),
        // .text.b + 0x80000000 + 2: fits as an unsigned word, not as a signed one.
        (4, 6, UnresolvedReason::Overflow, [0xfe, 0, 0, 0x80]),
    ];
    for (kind, symbol, reason, field) in cases {
        let table = section(".rela.debug_x", RELA, &rela(4, kind, symbol, 2));
        let data = with_relocations(table, &[0xee; 8]);
        let object = CodeObject::parse(&data).unwrap();
        let [unresolved] = object.unresolved_relocations(".debug_x").unwrap() else {
            panic!("type {kind} is resolved");
        };
        assert_eq!(unresolved.offset, 4);
        assert_eq!(unresolved.kind, RelocationType::from_number(kind));
        assert_eq!(unresolved.reason, reason, "type {kind}");
        let contents = object.section(".debug_x").unwrap().unwrap();
        assert_eq!(contents[4..], field, "type {kind}");
    }
}

#[test]
fn relocations_that_make_no_sense_are_errors() {
    let contents = [0xee; 8];
    let tables = [
        section(".rela.debug_x", RELA, &rela(5, 6, 1, 0)),
        section(".rela.debug_x", RELA, &rela(u64::MAX, 6, 1, 0)),
        section(".rela.debug_x", RELA, &rela(0, 6, 99, 0)),
        section(".rela.debug_x", RELA, &rela(0, 6, 1, 0)[..20]),
    ];
    for table in tables {
        let data = with_relocations(table, &contents);
        let object = CodeObject::parse(&data).unwrap();
        malformed(&object.section(".debug_x").unwrap_err());
        // Repeated, and the rest still works.
        malformed(&object.section(".debug_x").unwrap_err());
        assert_eq!(object.section(".text.a").unwrap(), Some(&[0x11; 0x40][..]));
    }
    let mut table = section(".rela.debug_x", RELA, &rela(0, 6, 1, 0)).linked(0, 1);
    table.name = ".rela.again";
    let two = relocatable(&[
        section(".debug_x", PROGBITS, &contents),
        table.clone(),
        table,
    ]);
    malformed(&CodeObject::parse(&two).unwrap_err());
}

#[test]
fn symbols_and_image_use_the_addresses_given_to_sections() {
    let data = with_relocations(section(".rela.debug_x", RELA, &[]), &[]);
    let object = CodeObject::parse(&data).unwrap();
    let f = &object.symbols().unwrap()[0];
    assert_eq!(
        (&*f.name, f.kind, f.address, f.size),
        ("f", SymbolKind::Function, 0x110, 4)
    );
    assert_eq!(f.section, SymbolSection::Index(2));
    assert_eq!(object.read_image(0x3f, 1), Some(&[0x11][..]));
    assert_eq!(object.read_image(0x3f, 2), None);
    assert_eq!(object.read_image(0x40, 1), None);
    assert_eq!(object.read_image(0x110, 4), Some(&[0x22; 4][..]));
    assert_eq!(object.read_image(u64::MAX, 4), None);
    assert_eq!(object.read_image(0x100, usize::MAX), None);
}

#[test]
fn debug_sections_of_one_name_are_joined_and_relocated_to_their_place() {
    let symbols = [symbol(0, 0, 0, 0, 0), symbol(0, 3, 2, 1, 0)];
    let data = relocatable(&[
        section(".debug_info", PROGBITS, &[1, 2, 3]),
        section(".debug_info", PROGBITS, &[4; 8]),
        section(".rela.debug_info", RELA, &rela(4, 4, 1, 0)).linked(4, 2),
        section(".symtab", SYMTAB, &symbols.concat()).linked(5, 0),
        section(".strtab", STRTAB, &[0]),
    ]);
    let object = CodeObject::parse(&data).unwrap();
    // The second part is at 3, so S = 4 and P = 7.
    assert_eq!(
        object.section(".debug_info").unwrap().unwrap(),
        [1, 2, 3, 4, 4, 4, 4, 0xfd, 0xff, 0xff, 0xff]
    );
}

#[test]
fn sections_that_overlap_are_read_all_the_same() {
    let mut data = linked(&[
        section(".debug_a", PROGBITS, b"abcdef"),
        section(".debug_b", PROGBITS, b"ghi"),
    ]);
    // Give .debug_b the offset of .debug_a: the headers are after 64 + 9 + 30 bytes of contents.
    let object = CodeObject::parse(&data).unwrap();
    let offset = object.sections()[1].offset;
    let header = data.len() - 4 * 64 + 2 * 64;
    data[header + 24..header + 32].copy_from_slice(&offset.to_le_bytes());
    let object = CodeObject::parse(&data).unwrap();
    assert_eq!(object.section(".debug_a").unwrap(), Some(&b"abcdef"[..]));
    assert_eq!(object.section(".debug_b").unwrap(), Some(&b"abc"[..]));
}

#[test]
fn contents_outside_the_file_are_an_error_when_asked_for() {
    let mut outside = section(".debug_info", PROGBITS, b"abc");
    outside.claimed_size = Some(u64::MAX);
    let mut zeros = section(".bss", NOBITS, &[]).flags(ALLOC);
    zeros.claimed_size = Some(1 << 40);
    let data = linked(&[outside, zeros]);
    let object = CodeObject::parse(&data).unwrap();
    let error = object.section(".debug_info").unwrap_err();
    assert!(malformed(&error).starts_with(".debug_info+0x0: "));
    assert_eq!(object.section(".bss").unwrap(), None);
    assert_eq!(object.read_image(0, 16), None);
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Returns a section with `SHF_COMPRESSED`: type, reserved, size, alignment, stream.
fn compressed(kind: u32, size: u64, stream: &[u8]) -> Vec<u8> {
    let mut contents = kind.to_le_bytes().to_vec();
    contents.extend([0; 4]);
    contents.extend(size.to_le_bytes());
    contents.extend(1_u64.to_le_bytes());
    contents.extend(stream);
    linked(&[section(".debug_info", PROGBITS, &contents).flags(COMPRESSED)])
}

#[test]
fn compressed_sections_are_decompressed() {
    let text: Vec<u8> = (0..10_000_u32).flat_map(|n| n.to_le_bytes()).collect();
    for data in [
        compressed(1, 40_000, &zlib(&text)),
        compressed(2, 40_000, &zstd(&text)),
        compressed(2, 40_000, &[zstd(&text[..3]), zstd(&text[3..])].concat()),
    ] {
        let object = CodeObject::parse(&data).unwrap();
        assert_eq!(object.section(".debug_info").unwrap(), Some(&text[..]));
        assert_eq!(object.sections()[1].size, 40_000);
        assert!(object.sections()[1].stored_size < 40_000);
    }
}

#[test]
fn a_size_that_is_not_the_streams_is_an_error() {
    let text = [7; 1000];
    for claimed in [0, 999, 1001] {
        for (kind, stream) in [(1, zlib(&text)), (2, zstd(&text))] {
            let data = compressed(kind, claimed, &stream);
            let object = CodeObject::parse(&data).unwrap();
            malformed(&object.section(".debug_info").unwrap_err());
        }
    }
    for data in [
        compressed(3, 4, b"abcd"),
        compressed(1, 4, b"abcd"),
        compressed(2, 4, b"abcd"),
    ] {
        let object = CodeObject::parse(&data).unwrap();
        malformed(&object.section(".debug_info").unwrap_err());
    }
    let data = linked(&[section(".debug_info", PROGBITS, &[1; 20]).flags(COMPRESSED)]);
    let object = CodeObject::parse(&data).unwrap();
    malformed(&object.section(".debug_info").unwrap_err());
}

#[test]
fn a_damaged_checksum_is_an_error() {
    let text = [7; 1000];
    for (kind, mut stream) in [(1, zlib(&text)), (2, zstd(&text))] {
        *stream.last_mut().unwrap() ^= 1;
        let data = compressed(kind, 1000, &stream);
        let object = CodeObject::parse(&data).unwrap();
        malformed(&object.section(".debug_info").unwrap_err());
    }
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    let is_limit = |data: &[u8], limits: &Limits| {
        let object = CodeObject::parse_with(data, limits).unwrap();
        let error = object.section(".debug_info").unwrap_err();
        matches!(
            error.kind(),
            ErrorKind::Limit {
                limit: Limit::Memory,
                ..
            }
        )
    };
    let bomb = zlib(&vec![0; 20 << 20]);
    assert!(bomb.len() < 64 << 10);
    // Claims more than a stream of this size can hold.
    assert!(is_limit(&compressed(1, 1 << 40, &bomb), &Limits::default()));
    assert!(is_limit(&compressed(2, 1 << 40, &bomb), &Limits::default()));
    assert!(is_limit(&compressed(1, u64::MAX, &[]), &Limits::default()));
    // Claims more than the limit for a file of its size.
    assert!(is_limit(
        &compressed(2, 400 << 20, &bomb),
        &Limits::default()
    ));
    // Claims the true size, which exceeds the limit.
    let limits = Limits {
        memory: 1 << 20,
        memory_per_byte: 0,
        ..Limits::default()
    };
    assert!(is_limit(&compressed(1, 20 << 20, &bomb), &limits));
    // Claims little and holds much: the output exceeds the claim by one byte only.
    let data = compressed(1, 10, &bomb);
    let object = CodeObject::parse(&data).unwrap();
    assert!(malformed(&object.section(".debug_info").unwrap_err()).contains("produced more"));
}

#[test]
fn the_limit_is_for_all_sections_together() {
    let stream = zlib(&[0; 600]);
    let mut contents = b"ZLIB".to_vec();
    contents.extend(600_u64.to_be_bytes());
    contents.extend(stream);
    let data = linked(&[
        section(".zdebug_a", PROGBITS, &contents),
        section(".zdebug_b", PROGBITS, &contents),
    ]);
    let limits = Limits {
        memory: 1000 + 4 * 256,
        memory_per_byte: 0,
        ..Limits::default()
    };
    let object = CodeObject::parse_with(&data, &limits).unwrap();
    assert_eq!(object.section(".debug_a").unwrap(), Some(&[0; 600][..]));
    // Repeating the query costs nothing.
    assert!(object.section(".zdebug_a").is_ok());
    assert!(object.section(".debug_b").is_err());
}

#[test]
fn symbol_tables_that_make_no_sense_are_errors() {
    let good = [symbol(0, 0, 0, 0, 0), symbol(1, 2, 1, 0, 0)].concat();
    let object = |symbols: &[u8], strings: &[u8], link: u32| {
        let data = relocatable(&[
            section(".text", PROGBITS, &[0; 8]).flags(CODE),
            section(".symtab", SYMTAB, symbols).linked(link, 0),
            section(".strtab", STRTAB, strings),
        ]);
        let object = CodeObject::parse(&data).unwrap();
        object.symbols().map(<[Symbol<'_>]>::len)
    };
    assert_eq!(object(&good, b"\0f\0", 3).unwrap(), 1);
    assert_eq!(object(&[], b"\0", 3).unwrap(), 0);
    malformed(&object(&good, b"\0f", 3).unwrap_err());
    malformed(&object(&good, b"", 3).unwrap_err());
    malformed(&object(&good, b"\0f\0", 77).unwrap_err());
    malformed(&object(&good[..47], b"\0f\0", 3).unwrap_err());
    let beyond = [symbol(0, 0, 0, 0, 0), symbol(1, 2, 9, 0, 0)].concat();
    malformed(&object(&beyond, b"\0f\0", 3).unwrap_err());
    let overflow = [symbol(0, 0, 0, 0, 0), symbol(0, 2, 1, u64::MAX, 0)].concat();
    assert_eq!(
        object(&overflow, b"\0", 3).unwrap(),
        1,
        "the section is at 0"
    );
}

#[test]
fn names_that_overlap_cannot_cost_more_than_a_multiple_of_the_file() {
    let mut strings = vec![b'x'; 20_000];
    strings.push(0);
    let symbols: Vec<u8> = (0..2000).flat_map(|n| symbol(n, 0, 0xfff1, 0, 0)).collect();
    let data = linked(&[
        section(".symtab", SYMTAB, &symbols).linked(2, 0),
        section(".strtab", STRTAB, &strings),
    ]);
    let limits = Limits {
        work: 1000,
        work_per_byte: 1,
        ..Limits::DEFAULT
    };
    let object = CodeObject::parse_with(&data, &limits).unwrap();
    let error = object.symbols().unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Limit {
            limit: Limit::Work,
            ..
        }
    ));
}

#[test]
fn several_metadata_notes_are_one() {
    // {"amdhsa.version": [1, n], "amdhsa.kernels": [{".name": "<name>"}]}
    let document = |minor: u8, name: u8| {
        let mut bytes = b"\x82\xaeamdhsa.version\x92\x01".to_vec();
        bytes.push(minor);
        bytes.extend(b"\xaeamdhsa.kernels\x91\x81\xa5.name\xa1");
        bytes.push(name);
        metadata_note(&bytes)
    };
    let notes = [
        note(b"GNU\0", 1, b"abcde"),
        document(1, b'b'),
        document(2, b'a'),
    ]
    .concat();
    let mut notes = section(".note", NOTE, &notes);
    notes.alignment = 4;
    let data = linked(&[notes]);
    let object = CodeObject::parse(&data).unwrap();
    let metadata = object.metadata().unwrap().unwrap();
    assert_eq!(metadata.version, Some([1, 1]));
    let kernels = object.kernels().unwrap();
    let names: Vec<_> = kernels.iter().map(|k| &*k.name).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(kernels[0].descriptor.is_none() && kernels[0].entry().is_none());
}

#[test]
fn the_first_description_of_a_kernel_counts() {
    // {"amdhsa.kernels": [{".name": "a", ".sgpr_count": n}]}
    let document = |sgprs: u8| {
        let mut bytes = b"\x81\xaeamdhsa.kernels\x91\x82\xa5.name\xa1a\xab.sgpr_count".to_vec();
        bytes.push(sgprs);
        metadata_note(&bytes)
    };
    let notes = [document(7), document(8)].concat();
    let data = linked(&[section(".note", NOTE, &notes)]);
    let object = CodeObject::parse(&data).unwrap();
    let kernels = object.kernels().unwrap();
    assert_eq!(kernels.len(), 1);
    let metadata = kernels[0].metadata.as_ref().unwrap();
    assert_eq!(metadata.sgpr_count, Some(7));
}

/// Waves have the size of all kernels, and no size if these differ.
#[test]
fn the_wave_size_is_that_of_all_kernels() {
    // {"amdhsa.kernels": [{".name": "a", ".wavefront_size": n}, {".name": "b", ".wavefront_size": m}]}
    let wave_size = |sizes: [u8; 2]| {
        let mut bytes = b"\x81\xaeamdhsa.kernels\x92".to_vec();
        for (name, size) in [b'a', b'b'].into_iter().zip(sizes) {
            bytes.extend(b"\x82\xa5.name\xa1");
            bytes.push(name);
            bytes.extend(b"\xaf.wavefront_size");
            bytes.push(size);
        }
        let data = linked(&[section(".note", NOTE, &metadata_note(&bytes))]);
        CodeObject::parse(&data).unwrap().wave_size().unwrap()
    };
    assert_eq!(wave_size([32, 32]), Some(WaveSize::Wave32));
    assert_eq!(wave_size([64, 64]), Some(WaveSize::Wave64));
    assert_eq!(wave_size([32, 64]), None);
}

/// Section headers that all claim the same bytes must not multiply the work.
#[test]
fn tables_that_overlap_are_limited() {
    let is_limit = |error: crate::Error| {
        matches!(
            error.kind(),
            ErrorKind::Limit {
                limit: Limit::Work,
                ..
            }
        )
    };
    let limits = Limits {
        work: 10_000,
        work_per_byte: 1,
        ..Limits::DEFAULT
    };
    let note = metadata_note(&[&b"\xde\x03\xe8"[..], &[0xc0; 2000]].concat());
    let mut sections = vec![section(".note", NOTE, &note)];
    let mut again = section(".note", NOTE, &[]);
    again.claimed_size = Some(note.len() as u64);
    sections.extend(vec![again; 20]);
    let mut data = linked(&sections);
    let headers = data.len() - 64 * (sections.len() + 2);
    for n in 1..=sections.len() {
        let offset = headers + 64 * n + 24;
        data[offset..offset + 8].copy_from_slice(&64_u64.to_le_bytes());
    }
    let object = CodeObject::parse_with(&data, &limits).unwrap();
    assert!(is_limit(object.metadata().unwrap_err()));

    let table = rela(0, 6, 0, 0).repeat(1000);
    let mut sections = vec![
        section(".symtab", SYMTAB, &[0; 24]).linked(2, 0),
        section(".strtab", STRTAB, &[0]),
        section(".debug_info", PROGBITS, &[0; 8]),
        section(".rela.debug_info", RELA, &table).linked(1, 3),
    ];
    let shared = 64 + 24 + 1 + 8;
    for n in 0..60 {
        let mut again = section(".rela.again", RELA, &[]).linked(1, 5 + 2 * n);
        again.claimed_size = Some(table.len() as u64);
        sections.push(section(".debug_info", PROGBITS, &[0; 8]));
        sections.push(again);
    }
    let mut data = relocatable(&sections);
    let headers = data.len() - 64 * (sections.len() + 2);
    for n in (4..=sections.len()).filter(|n| n % 2 == 0) {
        let offset = headers + 64 * n + 24;
        data[offset..offset + 8].copy_from_slice(&u64::to_le_bytes(shared));
    }
    let object = CodeObject::parse_with(&data, &limits).unwrap();
    assert!(is_limit(object.section(".debug_info").unwrap_err()));
}

#[test]
fn metadata_of_version_2_are_read() {
    let with = |yaml: &[u8]| linked(&[section(".note", NOTE, &note(b"AMD\0", 10, yaml))]);
    let data = with(b"---\nVersion: [ 1, 0 ]\n...\n\0");
    let object = CodeObject::parse(&data).unwrap();
    assert_eq!(object.metadata().unwrap().unwrap().version, Some([1, 0]));
    // If the YAML has syntax that compilers do not write, the rest of the information is available.
    let data = with(b"---\nVersion: &anchor\n...\n\0");
    let info = ObjectInfo::of(&CodeObject::parse(&data).unwrap()).unwrap();
    assert!(info.metadata_error.unwrap().contains("line 2 of its YAML"));
}

#[test]
fn a_note_that_runs_out_is_an_error() {
    let whole = metadata_note(b"\x80");
    for len in 1..whole.len() - 3 {
        let data = linked(&[section(".note", NOTE, &whole[..len])]);
        let object = CodeObject::parse(&data).unwrap();
        assert!(object.metadata().is_err(), "{len}");
    }
}

/// A kernel whose code is in another section: the descriptor's relocation refers to it.
#[test]
fn the_descriptor_of_a_relocatable_object_points_to_its_code() {
    let mut rodata = section(".rodata", PROGBITS, &[0; 64]).flags(ALLOC);
    rodata.alignment = 64;
    let symbols = [
        symbol(0, 0, 0, 0, 0),
        symbol(1, 0x12, 1, 8, 4),
        symbol(3, 0x11, 2, 0, 64),
    ];
    let data = relocatable(&[
        section(".text", PROGBITS, &[0; 0x20]).flags(CODE),
        rodata,
        section(".rela.rodata", RELA, &rela(16, 5, 1, 16)).linked(4, 2),
        section(".symtab", SYMTAB, &symbols.concat()).linked(5, 0),
        section(".strtab", STRTAB, b"\0k\0k.kd\0"),
    ]);
    let object = CodeObject::parse(&data).unwrap();
    let kernels = object.kernels().unwrap();
    let [kernel] = kernels else {
        panic!("{kernels:?}");
    };
    assert_eq!(kernel.name, "k");
    assert_eq!(kernel.descriptor.as_ref().unwrap().address, 0x40);
    // The compiler counts from the field, so the addend is the field's offset in the descriptor.
    assert_eq!(kernel.entry(), Some(8));
}
