//! Runs `hetdwarf annotate` on containers: their code objects change as single files would, and all other bytes stay the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::process::Command;

use dwarf_tests::{fixture, hetdwarf, llvm_tool};
use hetdwarf::Limits;
use hetdwarf::annotate::{Annotated, Request, annotate, annotate_file};
use hetdwarf::object::{EmbeddedCodeObject, code_objects};
use object::{Object, ObjectSection, ObjectSymbol};

fn annotated(file: &[u8]) -> Annotated {
    annotate_file(file, &Limits::default(), &Request::new(&|_| true)).unwrap()
}

fn alone(object: &EmbeddedCodeObject<'_>) -> Vec<u8> {
    let found = annotate(&object.data, &Limits::default(), &Request::new(&|_| true)).unwrap();
    found.file
}

/// Annotates a container, and compares its code objects before and after. Returns the file and the number of changed code objects.
fn check(file: &[u8], name: &str) -> (Annotated, usize) {
    let found = annotated(file);
    let [before, after] = [file, &found.file].map(|file| code_objects(file).unwrap());
    assert_eq!(before.len(), after.len(), "{name}");
    let mut changed = 0;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(
            (&before.id, &before.target),
            (&after.id, &after.target),
            "{name}"
        );
        assert_eq!(
            (&before.place.section, before.place.compression),
            (&after.place.section, after.place.compression),
            "{name}"
        );
        assert!(alone(before) == after.data.as_ref(), "{name} {}", before.id);
        changed += usize::from(before.data != after.data);
    }
    let again = annotated(&found.file);
    assert!(again.file == found.file, "{name}");
    (found, changed)
}

#[test]
fn bundles_hold_annotated_code_objects() {
    let file = std::fs::read(fixture("corpus/bundle/plain.hipfb")).unwrap();
    let (found, changed) = check(&file, "plain.hipfb");
    assert_eq!(changed, 2);
    // Entries start at page boundaries, as the bundler places them.
    for object in code_objects(&found.file).unwrap() {
        assert_eq!(object.place.offset % 4096, 0, "{}", object.id);
    }
    is_read_by_the_bundler(&found.file, "plain");
    // Bytes after the last bundle are kept.
    let (more, _) = check(&[&file[..], b"the end"].concat(), "plain.hipfb and more");
    assert!(more.file == [&found.file[..], b"the end"].concat());
}

/// Checks that LLVM's bundler finds the same code objects in a bundle.
fn is_read_by_the_bundler(file: &[u8], name: &str) {
    let Some(tool) = llvm_tool("clang-offload-bundler") else {
        return;
    };
    let folder = std::env::temp_dir();
    let own = |part| format!("hetdwarf-containers-{}-{name}-{part}", std::process::id());
    let [bundle, entry] = ["bundle", "entry"].map(|part| folder.join(own(part)));
    std::fs::write(&bundle, file).unwrap();
    for object in code_objects(file).unwrap() {
        let ran = Command::new(&tool)
            .args(["--type=o", "--unbundle", "--allow-missing-bundles"])
            .arg(format!("--targets={}", object.id))
            .arg(format!("--input={}", bundle.display()))
            .arg(format!("--output={}", entry.display()))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        assert!(std::fs::read(&entry).unwrap() == object.data.as_ref());
    }
    for file in [bundle, entry] {
        std::fs::remove_file(file).unwrap();
    }
}

/// A compressed bundle is compressed again with the same method, and gets the new hash. All of these files contain the same bundle.
#[test]
fn compressed_bundles_hold_annotated_code_objects() {
    let plain = std::fs::read(fixture("corpus/bundle/plain.hipfb")).unwrap();
    let hash = |bundle: &[u8]| md5::compute(bundle).0[..8].to_vec();
    let inside = annotated(&plain).file;
    for (name, at) in [
        ("ccob1-zlib", 12),
        ("ccob2", 16),
        ("ccob2-zlib", 16),
        ("ccob3", 24),
        ("ccob3-zlib", 24),
    ] {
        let path = fixture("corpus/bundle").join(format!("{name}.hipfb"));
        let file = std::fs::read(path).unwrap();
        // The hash that clang wrote.
        assert_eq!(file[at..at + 8], hash(&plain), "{name}");
        let (found, changed) = check(&file, name);
        assert_eq!((changed, found.notes.as_slice()), (2, &[][..]), "{name}");
        assert_eq!(found.file[..8], file[..8], "{name}");
        assert_eq!(found.file[at..at + 8], hash(&inside), "{name}");
        is_read_by_the_bundler(&found.file, name);
        // Two files are concatenated. In the first version of the format, only the last file has a known end.
        if at > 12 {
            let (two, changed) = check(&[file.as_slice(), &file].concat(), name);
            assert_eq!(changed, 4, "{name}");
            assert!(two.file.starts_with(&found.file), "{name}");
        }
    }
}

/// Bytes after the bundle in a compressed one are kept. The header has the hash of the contents.
#[test]
fn the_rest_of_a_compressed_bundle_is_kept() {
    let plain = std::fs::read(fixture("corpus/bundle/plain.hipfb")).unwrap();
    let contents = [&plain[..], b"the rest"].concat();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut zlib, &contents).unwrap();
    let compressed = zlib.finish().unwrap();
    // Version 2: the method (zlib), the size of the file and of its contents, and their hash ("Compressed Offload Bundle").
    let mut file = b"CCOB\x02\0\0\0".to_vec();
    for size in [24 + compressed.len(), contents.len()] {
        file.extend(u32::try_from(size).unwrap().to_le_bytes());
    }
    file.extend(&md5::compute(&contents).0[..8]);
    file.extend(compressed);
    let (found, changed) = check(&file, "ccob2 and more");
    assert_eq!((changed, found.notes.as_slice()), (2, &[][..]));
    let expected = [&annotated(&plain).file[..], b"the rest"].concat();
    assert_eq!(found.file[16..24], md5::compute(expected).0[..8]);
}

/// Returns a relocatable host object with a bundle in a section, and a symbol at an offset in it, with the size of the section.
fn host_with_symbol(bundle: &[u8], offset: u64) -> Vec<u8> {
    use object::write::{Object, Symbol, SymbolSection};
    let (format, endian) = (object::BinaryFormat::Elf, object::Endianness::Little);
    let mut file = Object::new(format, object::Architecture::X86_64, endian);
    let data = object::SectionKind::ReadOnlyData;
    let section = file.add_section(Vec::new(), b".hip_fatbin".to_vec(), data);
    file.append_section_data(section, bundle, 4096);
    file.add_symbol(Symbol {
        name: b"__hip_fatbin".to_vec(),
        value: offset,
        size: bundle.len() as u64,
        kind: object::SymbolKind::Data,
        scope: object::SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(section),
        flags: object::SymbolFlags::None,
    });
    file.write().unwrap()
}

/// A symbol with the size of the section grows with it. A symbol within the device code cannot be kept.
#[test]
fn symbols_of_device_code_keep_its_size() {
    let bundle = std::fs::read(fixture("corpus/bundle/plain.hipfb")).unwrap();
    let (found, changed) = check(&host_with_symbol(&bundle, 0), "host with a symbol");
    assert_eq!(changed, 2);
    let file = object::File::parse(found.file.as_slice()).unwrap();
    let section = file.section_by_name(".hip_fatbin").unwrap();
    let symbol = file.symbol_by_name("__hip_fatbin").unwrap();
    assert!(section.size() > bundle.len() as u64);
    assert_eq!((symbol.address(), symbol.size()), (0, section.size()));

    let file = host_with_symbol(&bundle, 8);
    let error = annotate_file(&file, &Limits::default(), &Request::new(&|_| true)).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("a symbol is within the device code"),
        "{message}"
    );
}

/// In a relocatable host object, every other section and every symbol is unchanged.
#[test]
fn host_objects_hold_annotated_code_objects() {
    for name in ["host-fatbin.o", "object-with-bundle.o"] {
        let file = std::fs::read(fixture("corpus/bundle").join(name)).unwrap();
        let (found, changed) = check(&file, name);
        assert!(changed >= 2, "{name}: {changed}");
        let [before, after] =
            [&file, &found.file].map(|file| object::File::parse(file.as_slice()).unwrap());
        let [sections, new_sections] = [&before, &after].map(|file| file.sections());
        for (old, new) in sections.zip(new_sections) {
            let title = old.name().unwrap();
            assert_eq!(title, new.name().unwrap(), "{name}");
            assert_eq!(old.align(), new.align(), "{name} {title}");
            assert_eq!(
                new.file_range()
                    .map_or(0, |(at, _)| at % new.align().max(1)),
                0
            );
            let holds = title.starts_with("__CLANG") || title == ".hip_fatbin";
            assert!(
                holds || old.data().unwrap() == new.data().unwrap(),
                "{name} {title}"
            );
        }
        let symbols = |file: &object::File<'_>| -> Vec<(String, u64, u64)> {
            let symbols = file.symbols();
            let symbol =
                symbols.map(|one| (one.name().unwrap().to_owned(), one.address(), one.size()));
            symbol.collect()
        };
        assert_eq!(symbols(&before), symbols(&after), "{name}");
    }
}

/// The device code of a linked program is at a fixed address, so the program is left unchanged.
#[test]
fn linked_programs_are_left_alone() {
    let mut file = std::fs::read(fixture("corpus/bundle/host-fatbin.o")).unwrap();
    // ET_DYN.
    file[16] = 3;
    let found = annotated(&file);
    assert!(found.file == file);
    assert!(
        found.notes.iter().any(|note| note.contains("linked")),
        "{:?}",
        found.notes
    );
}

/// Returns an archive's member, with the header that `ar` writes.
fn member(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut member = format!(
        "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
        0,
        0,
        0,
        644,
        contents.len()
    )
    .into_bytes();
    assert_eq!(member.len(), 60);
    member.extend(contents);
    if contents.len() % 2 == 1 {
        member.push(b'\n');
    }
    member
}

/// The table of symbols has numbers of four bytes, or of eight in a large archive.
#[test]
fn archives_hold_annotated_members_and_find_their_symbols() {
    for (table, width) in [("/", 4), ("/SYM64/", 8)] {
        archive_finds_its_symbols(table, width);
    }
}

fn archive_finds_its_symbols(table: &str, width: usize) {
    let read = |name: &str| std::fs::read(fixture("corpus/bundle").join(name)).unwrap();
    let [host, bundle] = ["object-with-bundle.o", "plain.hipfb"].map(read);
    // The symbol table refers to the second member, which moves because the first member grows.
    let first = member("a.hipfb/", &bundle);
    let symbols_size = width + width + 5;
    let second_at = 8 + 60 + symbols_size + symbols_size % 2 + first.len();
    let number = |number: u64| number.to_be_bytes()[8 - width..].to_vec();
    let mut symbols = [number(1), number(second_at as u64)].concat();
    symbols.extend(b"main\0");
    let mut file = b"!<arch>\n".to_vec();
    file.extend(member(table, &symbols));
    file.extend(first);
    assert_eq!(file.len(), second_at);
    file.extend(member("b.o/", &host));
    file.extend(member("text/", b"odd"));
    let (found, changed) = check(&file, "archive");
    assert_eq!(changed, 4);
    let archive = object::read::archive::ArchiveFile::parse(found.file.as_slice()).unwrap();
    let symbol = archive.symbols().unwrap().unwrap().next().unwrap().unwrap();
    assert_eq!(symbol.name(), b"main");
    let member = archive.member(symbol.offset()).unwrap();
    assert_eq!(member.name(), b"b.o");
    let last = archive.members().last().unwrap().unwrap();
    assert_eq!(last.data(found.file.as_slice()).unwrap(), b"odd");
}

/// The offload binary has one entry: header, entry, no strings, image.
#[test]
fn offload_binaries_hold_annotated_images() {
    let path = fixture("lanes/ifelse-gfx1100-O2/ifelse-gfx1100-O2.hsaco");
    let image = std::fs::read(path).unwrap();
    let binary = || {
        let mut binary = vec![0x10, 0xff, 0x10, 0xad];
        binary.extend(1_u32.to_le_bytes());
        let size = (72 + image.len()).next_multiple_of(8) as u64;
        // The total size, and the offset and size of the entry.
        for number in [size, 32, 40] {
            binary.extend(number.to_le_bytes());
        }
        // The kind is an object, for HIP, without flags. Then come the offset and number of the strings, and the offset and size of the
        // image.
        binary.extend([1, 0, 4, 0, 0, 0, 0, 0]);
        for number in [72, 0, 72, image.len() as u64] {
            binary.extend(number.to_le_bytes());
        }
        binary.extend(&image);
        binary.resize(size as usize, 0);
        binary
    };
    let two = [binary(), binary()].concat();
    let (_, changed) = check(&two, "offload binaries");
    assert_eq!(changed, 2);
}

/// Truncated and damaged containers result in an error or a file, and never in a panic.
#[test]
fn damaged_containers_are_survived() {
    for name in [
        "plain.hipfb",
        "ccob2.hipfb",
        "ccob3-zlib.hipfb",
        "object-with-bundle.o",
        "host-fatbin.o",
    ] {
        let file = std::fs::read(fixture("corpus/bundle").join(name)).unwrap();
        for cut in [
            0,
            1,
            20,
            31,
            40,
            63,
            64,
            100,
            200,
            4096,
            5000,
            file.len() - 1,
        ] {
            let _ = annotate_file(&file[..cut], &Limits::default(), &Request::new(&|_| false));
        }
        for seed in 0..400_usize {
            let mut damaged = file.clone();
            // Headers are at the start, section headers at the end.
            let length = damaged.len();
            let at = match seed % 2 {
                0 => seed * 7 % 300,
                _ => length - 1 - seed * 13 % 1400,
            };
            damaged[at] = damaged[at].wrapping_add(1 + (seed / 3) as u8);
            let _ = annotate_file(&damaged, &Limits::default(), &Request::new(&|_| false));
        }
    }
}

/// The command takes containers like single code objects.
#[test]
fn the_command_takes_containers() {
    let input = fixture("corpus/bundle/host-fatbin.o");
    let output = std::env::temp_dir().join(format!("hetdwarf-containers-{}", std::process::id()));
    let arguments = [
        "annotate".into(),
        input.clone().into_os_string(),
        "-o".into(),
        output.clone().into(),
    ];
    let ran = hetdwarf(arguments);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.contains("lane positions were added to"),
        "{}",
        ran.out
    );
    let found = annotated(&std::fs::read(&input).unwrap());
    assert!(std::fs::read(&output).unwrap() == found.file);
    std::fs::remove_file(output).unwrap();
}
