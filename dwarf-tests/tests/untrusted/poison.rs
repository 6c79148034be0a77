//! Builds code objects, and files around them, in which a test chooses every name.

use std::collections::BTreeMap;

/// The sections of a linked object by name, with the offsets of their headers and contents.
struct Elf {
    bytes: Vec<u8>,
    headers: BTreeMap<String, usize>,
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn u64_at(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
}

/// Returns the text up to a zero byte.
fn text_at(bytes: &[u8], at: usize) -> String {
    let text = bytes[at..].split(|byte| *byte == 0).next().unwrap();
    String::from_utf8(text.to_vec()).unwrap()
}

impl Elf {
    fn new(bytes: Vec<u8>) -> Elf {
        let table = u64_at(&bytes, 0x28);
        let count = usize::from(bytes[0x3c]);
        let names = table + usize::from(bytes[0x3e]) * 64;
        let names = u64_at(&bytes, names + 0x18);
        let header = |number: usize| table + number * 64;
        let headers = (0..count)
            .map(|number| {
                let name = u32_at(&bytes, header(number));
                (text_at(&bytes, names + name), header(number))
            })
            .collect();
        Elf { bytes, headers }
    }

    /// Returns the range of a section's contents. Returns `None` if there is no such section.
    fn range(&self, name: &str) -> Option<core::ops::Range<usize>> {
        let header = *self.headers.get(name)?;
        let start = u64_at(&self.bytes, header + 0x18);
        Some(start..start + u64_at(&self.bytes, header + 0x20))
    }

    fn section(&self, name: &str) -> Option<Vec<u8>> {
        Some(self.bytes[self.range(name)?].to_vec())
    }

    /// Replaces the contents of a section, by bytes at the end of the file.
    fn replace(&mut self, name: &str, contents: &[u8]) {
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
        let header = self.headers[name];
        let at = self.bytes.len() as u64;
        self.bytes[header + 0x18..header + 0x20].copy_from_slice(&at.to_le_bytes());
        let size = (contents.len() as u64).to_le_bytes();
        self.bytes[header + 0x20..header + 0x28].copy_from_slice(&size);
        self.bytes.extend(contents);
    }

    fn put(&mut self, at: usize, number: usize) {
        let number = u32::try_from(number).unwrap();
        self.bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
}

/// Consecutive strings, each preceded by a zero byte.
#[derive(Default)]
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> usize {
        assert!(!text.contains('\0'));
        self.0.push(0);
        let at = self.0.len();
        self.0.extend(text.as_bytes());
        at
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.push(0);
        self.0
    }
}

/// Returns a linked code object of DWARF 5 with names changed by `name`: functions, variables, types, members, enumerators and the producer
/// (`.debug_str`), source files (`.debug_line_str`), symbols, kernels in the metadata, and a debug section.
pub fn object(file: &[u8], name: &dyn Fn(&str) -> String) -> Vec<u8> {
    let mut elf = Elf::new(file.to_vec());
    debug_strings(&mut elf, name);
    files(&mut elf, name);
    symbols(&mut elf, name);
    metadata(&mut elf, name);
    section_name(&mut elf, name);
    elf.bytes
}

fn debug_strings(elf: &mut Elf, name: &dyn Fn(&str) -> String) {
    let (Some(old), Some(offsets)) = (elf.section(".debug_str"), elf.range(".debug_str_offsets"))
    else {
        return;
    };
    let mut strings = Strings::default();
    // The header has 8 bytes, and each string an offset of 4 bytes.
    for at in offsets.skip(8).step_by(4).collect::<Vec<_>>() {
        let text = text_at(&old, u32_at(&elf.bytes, at));
        let offset = match text.as_str() {
            // This is the directory of the compiler.
            "." => strings.add("."),
            "" => strings.add(&name("producer")),
            text => strings.add(&name(text)),
        };
        elf.put(at, offset);
    }
    elf.replace(".debug_str", &strings.finish());
}

/// Replaces the names in the line table's header, DWARF 5 §6.2.4: the formats of directories and files, and their entries.
fn files(elf: &mut Elf, name: &dyn Fn(&str) -> String) {
    let old = elf.section(".debug_line_str").unwrap();
    let mut strings = Strings::default();
    let mut at = elf.range(".debug_line").unwrap().start;
    assert_eq!(elf.bytes[at + 4..at + 6], [5, 0], "version 5");
    // Skips to opcode_base, which the lengths of the standard opcodes follow.
    at += 17;
    at += usize::from(elf.bytes[at]);
    for is_file in [false, true] {
        let count = usize::from(elf.bytes[at]);
        let formats: Vec<[u8; 2]> = (0..count)
            .map(|number| {
                [
                    elf.bytes[at + 1 + 2 * number],
                    elf.bytes[at + 2 + 2 * number],
                ]
            })
            .collect();
        at += 1 + 2 * count;
        let entries = elf.bytes[at];
        at += 1;
        for _ in 0..entries {
            for format in &formats {
                match format {
                    // A path, in DW_FORM_line_strp.
                    [1, 0x1f] => {
                        let text = text_at(&old, u32_at(&elf.bytes, at));
                        let text = if is_file { name(&text) } else { text };
                        let offset = strings.add(&text);
                        elf.put(at, offset);
                        at += 4;
                    }
                    // The number of a directory, in DW_FORM_udata.
                    [2, 0x0b | 0x0f] => at += 1,
                    // DW_FORM_data16.
                    [5, 0x1e] => at += 16,
                    other => panic!("{other:x?}"),
                }
            }
        }
    }
    elf.replace(".debug_line_str", &strings.finish());
}

fn symbols(elf: &mut Elf, name: &dyn Fn(&str) -> String) {
    let old = elf.section(".strtab").unwrap();
    let mut strings = Strings::default();
    let table = elf.range(".symtab").unwrap();
    for at in table.step_by(24).skip(1).collect::<Vec<_>>() {
        let text = text_at(&old, u32_at(&elf.bytes, at));
        let text = match text.strip_suffix(".kd") {
            Some(kernel) => format!("{}.kd", name(kernel)),
            None if text.is_empty() => text,
            None => name(&text),
        };
        let offset = strings.add(&text);
        elf.put(at, offset);
    }
    elf.replace(".strtab", &strings.finish());
}

/// Renames the kernel `k`, if it exists, in the metadata. In `MessagePack`, the length of a text precedes it.
fn metadata(elf: &mut Elf, name: &dyn Fn(&str) -> String) {
    let Some(note) = elf.section(".note") else {
        return;
    };
    let text = |text: &str| {
        let length = u16::try_from(text.len()).unwrap();
        [&[0xda][..], &length.to_be_bytes(), text.as_bytes()].concat()
    };
    let mut contents = note.clone();
    for (key, old, new) in [
        (&b"\xa5.name"[..], &b"\xa1k"[..], name("k")),
        (b"\xa7.symbol", b"\xa4k.kd", format!("{}.kd", name("k"))),
    ] {
        let wanted = [key, old].concat();
        let mut places = contents.windows(wanted.len());
        let Some(at) = places.position(|bytes| bytes == wanted) else {
            return;
        };
        let new = [key, text(&new).as_slice()].concat();
        contents.splice(at..at + wanted.len(), new);
    }
    // The size of the description follows the size of the owner's name. Both parts are padded.
    let added = contents.len() - note.len();
    let size = u32::try_from(u32_at(&note, 4) + added).unwrap();
    contents[4..8].copy_from_slice(&size.to_le_bytes());
    contents.resize(contents.len().next_multiple_of(4), 0);
    elf.replace(".note", &contents);
}

fn section_name(elf: &mut Elf, name: &dyn Fn(&str) -> String) {
    let mut names = elf.section(".shstrtab").unwrap();
    let header = elf.headers[".comment"];
    let offset = names.len();
    elf.put(header, offset);
    names.extend(format!(".debug_{}\0", name("section")).as_bytes());
    elf.replace(".shstrtab", &names);
}

/// Returns a static archive in ar's format: members after headers of 60 bytes, long names in a member of their own.
pub fn archive(members: &[(String, &[u8])]) -> Vec<u8> {
    let header = |name: &str, size: usize| {
        let zero = 0;
        format!("{name:<16}{zero:<12}{zero:<6}{zero:<6}{zero:<8}{size:<10}`\n").into_bytes()
    };
    let mut names = Vec::new();
    let mut places = Vec::new();
    for (name, _) in members {
        places.push(names.len());
        names.extend(name.as_bytes());
        names.extend(b"/\n");
    }
    names.resize(names.len().next_multiple_of(2), b'\n');
    let mut bytes = b"!<arch>\n".to_vec();
    bytes.extend(header("//", names.len()));
    bytes.extend(names);
    for ((_, data), place) in members.iter().zip(places) {
        bytes.extend(header(&format!("/{place}"), data.len()));
        bytes.extend(*data);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// Returns a bundle (Clang Offload Bundler): a magic, a count, and for each entry its offset, size and ID.
pub fn bundle(entries: &[(String, &[u8])]) -> Vec<u8> {
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let number = |number: usize| (number as u64).to_le_bytes();
    bytes.extend(number(entries.len()));
    let table: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
    let mut offset = (bytes.len() + table).next_multiple_of(16);
    let mut contents = Vec::new();
    for (id, data) in entries {
        bytes.extend([number(offset), number(data.len()), number(id.len())].concat());
        bytes.extend(id.as_bytes());
        contents.extend(*data);
        contents.resize(contents.len().next_multiple_of(16), 0);
        offset += data.len().next_multiple_of(16);
    }
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    bytes.extend(contents);
    bytes
}
