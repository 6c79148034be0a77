//! Compares real code objects and their containers with the output of the tools that made them.
//!
//! `fixtures/object/README.md` describes the origin of the files.

use std::path::PathBuf;

use hetdwarf::error::ErrorKind;
use hetdwarf::object::{
    CodeObject, CompressionMethod, KernelInfo, ObjectInfo, SectionKind, Selector, SymbolKind,
    code_objects, select,
};

fn fixture(name: &str) -> Vec<u8> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "fixtures", "object", name]
        .iter()
        .collect();
    std::fs::read(path).unwrap()
}

const ALL: [&str; 16] = [
    "calls-gfx90a-O2-et-rel-sections.o",
    "typeunits-gfx90a-et-rel-gz.o",
    "small-gfx1100-O2-gz-zlib.hsaco",
    "small-gfx1100-O2-gz-zstd.hsaco",
    "small-gfx1100-O2-zdebug.hsaco",
    "small-gfx90a-xnack+-O2.hsaco",
    "pressure-gfx90a-O2.hsaco",
    "small.dwo",
    "two-images.offload",
    "plain.hipfb",
    "ccob1-zlib.hipfb",
    "ccob2.hipfb",
    "ccob3.hipfb",
    "ccob3-zlib.hipfb",
    "object-with-bundle.o",
    "host-fatbin.o",
];

/// The linker joined and relocated the same debug sections at the same addresses.
#[test]
fn debug_sections_of_relocatable_objects_are_as_the_linker_makes_them() {
    let mut compared = 0;
    for name in [
        "calls-gfx90a-O2-et-rel-sections",
        "typeunits-gfx90a-et-rel-gz",
    ] {
        let (ours, theirs) = (
            fixture(&format!("{name}.o")),
            fixture(&format!("{name}.linked")),
        );
        let (ours, theirs) = (
            CodeObject::parse(&ours).unwrap(),
            CodeObject::parse(&theirs).unwrap(),
        );
        assert!(ours.is_relocatable() && !theirs.is_relocatable());
        for section in theirs.sections().iter().filter(|s| s.is_debug()) {
            let expected = theirs.section(&section.name).unwrap().unwrap();
            let found = ours.section(&section.name).unwrap().unwrap();
            assert_eq!(found, expected, "{name} {}", section.name);
            let unresolved = ours.unresolved_relocations(&section.name).unwrap();
            assert!(unresolved.is_empty());
            compared += 1;
        }
    }
    // `llvm-readelf -S` gives the same counts.
    assert_eq!(compared, 7 + 10);
}

#[test]
fn code_sections_of_a_relocatable_object_are_told_apart() {
    let data = fixture("calls-gfx90a-O2-et-rel-sections.o");
    let object = CodeObject::parse(&data).unwrap();
    let mut code: Vec<_> = object
        .sections()
        .iter()
        .filter(|s| s.kind == SectionKind::Code && s.size > 0)
        .collect();
    code.sort_by_key(|s| s.address);
    // Sizes and alignments come from `llvm-readelf -S`, in the order of the file: 0x1c, 0xa0, 0x15c, 0x144, 0xc8, 0xf8, 0x278, 0xd0 and, at
    // a multiple of 256, 0x194, then 0x2b4. The sections are consecutive.
    let addresses: Vec<_> = code.iter().map(|s| s.address).collect();
    assert_eq!(
        addresses,
        [
            0, 0x1c, 0xbc, 0x218, 0x35c, 0x424, 0x51c, 0x794, 0x900, 0xa94
        ]
    );
    for symbol in object.symbols().unwrap() {
        if symbol.kind == SymbolKind::Function {
            let section = code
                .iter()
                .find(|s| s.name == format!(".text.{}", symbol.name))
                .unwrap();
            assert_eq!(symbol.address, section.address);
            let size = usize::try_from(symbol.size).unwrap();
            let image = object.read_image(symbol.address, size).unwrap();
            assert_eq!(Some(image), object.section(&section.name).unwrap());
        }
    }
    let kernels = object.kernels().unwrap();
    assert_eq!(kernels.len(), 1);
    assert_eq!(kernels[0].entry(), Some(0x900), "that of .text.calls");
}

#[test]
fn compressed_and_plain_sections_are_the_same() {
    let zlib = fixture("small-gfx1100-O2-gz-zlib.hsaco");
    let zstd = fixture("small-gfx1100-O2-gz-zstd.hsaco");
    let zdebug = fixture("small-gfx1100-O2-zdebug.hsaco");
    let zlib = CodeObject::parse(&zlib).unwrap();
    let zstd = CodeObject::parse(&zstd).unwrap();
    let zdebug = CodeObject::parse(&zdebug).unwrap();
    let info = |object| ObjectInfo::of(object).unwrap().debug_sections;
    let mut compressed = 0;
    for section in info(&zlib) {
        let contents = zlib.section(section.name.raw()).unwrap().unwrap();
        assert_eq!(contents.len() as u64, section.size);
        assert_eq!(zstd.section(section.name.raw()).unwrap(), Some(contents));
        assert_eq!(zdebug.section(section.name.raw()).unwrap(), Some(contents));
        compressed += usize::from(section.compression == Some(CompressionMethod::Zlib));
    }
    assert!(compressed > 0);
    let old = info(&zdebug);
    let old = old.iter().find(|s| s.name == ".zdebug_info").unwrap();
    assert_eq!(old.compression, Some(CompressionMethod::Zlib));
    assert!(
        info(&zstd)
            .iter()
            .any(|s| s.compression == Some(CompressionMethod::Zstd))
    );
}

#[test]
fn split_debugging_information_opens() {
    let data = fixture("small.dwo");
    let object = CodeObject::parse(&data).unwrap();
    assert_eq!(object.target().to_string(), "gfx90a");
    // Sizes come from `llvm-readelf -S`.
    for (name, size) in [
        (".debug_info.dwo", 0x1a7),
        (".debug_abbrev.dwo", 0x13e),
        (".debug_loclists.dwo", 0x144),
        (".debug_rnglists.dwo", 0x54),
        (".debug_str.dwo", 0xa8),
        (".debug_str_offsets.dwo", 0x68),
    ] {
        assert_eq!(object.section(name).unwrap().unwrap().len(), size, "{name}");
    }
    assert!(object.kernels().unwrap().is_empty());
    assert_eq!(object.section(".text").unwrap(), None);
}

/// The expected facts come from `llvm-objdump -D -j .rodata --disassemble-symbols=pressure.kd` (descriptor), `llvm-readelf -n` (metadata)
/// and `llvm-nm` (symbols).
#[test]
fn a_kernels_resources_are_those_of_its_descriptor_and_metadata() {
    let data = fixture("pressure-gfx90a-O2.hsaco");
    let object = CodeObject::parse(&data).unwrap();
    let info = ObjectInfo::of(&object).unwrap();
    assert_eq!(info.target, "gfx90a");
    assert_eq!(info.os, "amdhsa");
    assert_eq!(info.code_object_version, Some(6));
    assert_eq!(info.flags, 0x53f);
    assert_eq!(info.functions, 6);
    assert_eq!(info.debug_sections.len(), 10);
    assert_eq!(info.metadata_error, None);
    let [kernel]: [KernelInfo; 1] = info.kernels.try_into().unwrap();
    assert_eq!(kernel.name, "pressure");
    assert_eq!(kernel.entry, Some(0x4c00));
    assert_eq!(kernel.wave_size, Some(64));
    // .sgpr_count is 38, and registers are allocated in sixteens.
    assert_eq!(kernel.sgprs_used, Some(38));
    assert_eq!(kernel.sgprs_allocated, Some(48));
    // .amdhsa_next_free_vgpr and .amdhsa_accum_offset are 128.
    assert_eq!(kernel.vgprs_used, Some(128));
    assert_eq!(kernel.vgprs_allocated, Some(128));
    assert_eq!(kernel.agprs_used, Some(0));
    assert_eq!(kernel.agprs_allocated, Some(0));
    assert_eq!(kernel.group_segment_size, Some(0));
    assert_eq!(kernel.private_segment_size, Some(1236));
    assert_eq!(kernel.kernarg_size, Some(28));
    assert_eq!(kernel.dynamic_stack, Some(false));
    assert_eq!(kernel.max_workgroup_size, Some(256));
    // The symbol gives the position of the code in the image.
    let symbols = object.symbols().unwrap();
    let code = symbols.iter().find(|s| s.name == "pressure").unwrap();
    assert_eq!(code.address, 0x4c00);
    let image = object.read_image(0x4c00, 4).unwrap();
    let text = object.section(".text").unwrap().unwrap();
    assert_eq!(image, &text[0x3500..0x3504], ".text is at 0x1700");
}

/// Segments come from `llvm-readelf -l`: 0x640 bytes at 0, 0x3b00 at 0x1700, 0x70 (of 0xe00 in memory) at 0x6200.
#[test]
fn the_image_is_what_the_segments_say() {
    let data = fixture("pressure-gfx90a-O2.hsaco");
    let object = CodeObject::parse(&data).unwrap();
    let has = |address, len| object.read_image(address, len).is_some();
    assert_eq!(object.read_image(0, 4), Some(&b"\x7fELF"[..]));
    assert!(has(0x600, 0x40) && has(0x63f, 1));
    assert!(!has(0x63f, 2) && !has(0x640, 1) && !has(0x16ff, 1));
    assert!(has(0x1700, 0x3b00) && !has(0x1700, 0x3b01));
    assert!(has(0x626f, 1) && !has(0x6270, 1));
}

#[test]
fn containers_give_the_objects_that_went_into_them() {
    let ids = [
        "hipv4-amdgcn-amd-amdhsa--gfx90a",
        "hipv4-amdgcn-amd-amdhsa--gfx1100",
    ];
    let plain = fixture("plain.hipfb");
    let plain = code_objects(&plain).unwrap();
    // The bundle has `-bundle-align=4096`. The expected sizes are the sizes of the bundled files.
    let places: Vec<_> = plain
        .iter()
        .map(|o| (o.place.offset, o.data.len()))
        .collect();
    assert_eq!(places, [(0x1000, 9712), (0x4000, 17880)]);
    for (name, copies) in [
        ("plain.hipfb", 1),
        ("ccob1-zlib.hipfb", 1),
        ("ccob2.hipfb", 1),
        ("ccob3.hipfb", 1),
        ("ccob3-zlib.hipfb", 1),
        ("object-with-bundle.o", 1),
        ("host-fatbin.o", 2),
    ] {
        let data = fixture(name);
        let found = code_objects(&data).unwrap();
        assert_eq!(found.len(), 2 * copies, "{name}");
        for (index, one) in found.iter().enumerate() {
            assert_eq!(one.id, ids[index % 2], "{name}");
            assert_eq!(one.data, plain[index % 2].data, "{name}");
            let object = CodeObject::parse(&one.data).unwrap();
            assert_eq!(object.target().to_string(), one.target);
        }
    }
    let data = fixture("two-images.offload");
    let found = code_objects(&data).unwrap();
    let ids: Vec<_> = found.iter().map(|o| &*o.id).collect();
    assert_eq!(
        ids,
        [
            "hip-amdgcn-amd-amdhsa--gfx90a:xnack+",
            "openmp-amdgcn-amd-amdhsa--gfx1100"
        ]
    );
    assert_eq!(*found[0].data, *fixture("small-gfx90a-xnack+-O2.hsaco"));
    assert_eq!(*found[1].data, *fixture("small-gfx1100-O2-gz-zstd.hsaco"));
}

#[test]
fn a_person_chooses_by_target() {
    let data = fixture("two-images.offload");
    let found = code_objects(&data).unwrap();
    let by = |text: &str| select(&found, &Selector::parse(text)).map(|o| o.index);
    assert_eq!(by("gfx90a"), Ok(0));
    assert_eq!(by("gfx1100"), Ok(1));
    assert_eq!(by("1"), Ok(1));
    assert!(by("gfx90a:xnack-").is_err());
    let data = fixture("host-fatbin.o");
    let found = code_objects(&data).unwrap();
    let error = select(&found, &Selector::Target("gfx90a".into())).unwrap_err();
    let ErrorKind::Selection { candidates, .. } = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(candidates.len(), 2);
}

/// Reads the file in every way, and ignores the results.
fn touch(data: &[u8]) {
    for one in code_objects(data).unwrap_or_default() {
        open(&one.data);
    }
    open(data);
}

fn open(data: &[u8]) {
    let Ok(object) = CodeObject::parse(data) else {
        return;
    };
    for section in object.sections() {
        let _ = object.section(&section.name);
        let _ = object.read_image(section.address, 1);
    }
    let _ = ObjectInfo::of(&object);
    for kernel in object.kernels().unwrap_or_default() {
        if let Some(descriptor) = &kernel.descriptor {
            assert!(descriptor.fields().count() > 20);
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_no_reason_to_panic() {
    for name in ALL {
        let data = fixture(name);
        // The file is cut at every byte of the headers and tables at both ends. In between, the step meets every remainder.
        let step = if data.len() > 9000 { 37 } else { 1 };
        let ends = (0..300).chain(data.len() - 300..data.len());
        for len in ends.chain((300..data.len()).step_by(step)) {
            touch(&data[..len]);
        }
    }
}

#[test]
fn a_file_with_wrong_bytes_is_no_reason_to_panic() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    for name in ALL {
        let original = fixture(name);
        for _ in 0..200 {
            let mut data = original.clone();
            // The first and the last parts have the headers.
            let len = data.len();
            for _ in 0..=next(4) {
                let at = match next(3) {
                    0 => next(512.min(len)),
                    1 => len - 1 - next(2560.min(len)),
                    _ => next(len),
                };
                data[at] = [0, 1, 0x7f, 0x80, 0xff][next(5)];
            }
            touch(&data);
        }
    }
}
