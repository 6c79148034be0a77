//! Builds code objects: an ELF file around given sections, and entries for `.debug_info`.

use core::ops::Range;

/// A section, with the fields of its header.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    name: &'a str,
    kind: u32,
    flags: u64,
    address: u64,
    link: u32,
    info: u32,
    alignment: u64,
    bytes: &'a [u8],
}

impl<'a> Section<'a> {
    /// Returns a section of a type that has no flags and is not loaded.
    #[must_use]
    pub fn new(name: &'a str, kind: u32, bytes: &'a [u8]) -> Section<'a> {
        Section {
            name,
            kind,
            flags: 0,
            address: 0,
            link: 0,
            info: 0,
            // Offsets in notes and symbols require an alignment of four or less.
            alignment: 1,
            bytes,
        }
    }

    /// Sets `sh_link` and `sh_info`.
    #[must_use]
    pub fn linked(self, link: u32, info: u32) -> Section<'a> {
        Section { link, info, ..self }
    }

    /// Sets `sh_flags`.
    #[must_use]
    pub fn flags(self, flags: u64) -> Section<'a> {
        Section { flags, ..self }
    }

    /// Sets `sh_addralign`.
    #[must_use]
    pub fn aligned(self, alignment: u64) -> Section<'a> {
        Section { alignment, ..self }
    }

    /// Sets `sh_addr`.
    #[must_use]
    pub fn at(self, address: u64) -> Section<'a> {
        Section { address, ..self }
    }
}

/// Returns an `ET_DYN` file for gfx90a with these sections.
#[must_use]
pub fn code_object(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let sections = sections.iter().map(|&(name, bytes)| {
        let section = Section::new(name, 1, bytes);
        // Sections with code are at address 0x1000.
        let (flags, address) = if name == ".text" { (6, 0x1000) } else { (0, 0) };
        Section {
            flags,
            address,
            ..section
        }
    });
    object_file(3, &sections.collect::<Vec<_>>())
}

/// Returns a file of a type (`ET_REL`, `ET_DYN`) for gfx90a with these sections. The first section has number 1.
///
/// # Panics
/// If there are too many sections.
#[must_use]
pub fn object_file(file_type: u16, sections: &[Section<'_>]) -> Vec<u8> {
    let mut names = vec![0];
    for name in sections
        .iter()
        .map(|section| section.name)
        .chain([".shstrtab"])
    {
        names.extend(name.as_bytes());
        names.push(0);
    }
    let strings = Section::new(".shstrtab", 3, &names);
    let mut headers = vec![0; 64];
    let (mut body, mut name) = (Vec::new(), 1u64);
    for section in sections.iter().chain([&strings]) {
        let words = [
            name | u64::from(section.kind) << 32,
            section.flags,
            section.address,
            64 + body.len() as u64,
            section.bytes.len() as u64,
            u64::from(section.link) | u64::from(section.info) << 32,
            section.alignment,
            if section.kind == 2 { 24 } else { 0 },
        ];
        headers.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        name += section.name.len() as u64 + 1;
        body.extend(section.bytes);
        // Tables are read in place, so they must be aligned.
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 64, 3];
    file.resize(16, 0);
    file.extend(file_type.to_le_bytes());
    file.extend(224u16.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    for word in [0u64, 0, 64 + body.len() as u64] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0x3fu32.to_le_bytes());
    let count = u16::try_from(sections.len() + 2).unwrap();
    for half in [64u16, 0, 0, 64, count, count - 1] {
        file.extend(half.to_le_bytes());
    }
    file.extend(body);
    file.extend(headers);
    file
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub enum Attribute {
    /// `DW_FORM_data8`, or another form with its bytes.
    Bytes(u8, Vec<u8>),
    /// `DW_FORM_ref4` with the number of an entry.
    Entry(usize),
    /// An expression that calls the entry with this number.
    Call(usize),
}

impl Attribute {
    /// Returns a value of `DW_FORM_data8`.
    #[must_use]
    pub fn number(value: u64) -> Attribute {
        Attribute::Bytes(0x07, value.to_le_bytes().into())
    }

    /// Returns a value of `DW_FORM_addr`.
    #[must_use]
    pub fn address(value: u64) -> Attribute {
        Attribute::Bytes(0x01, value.to_le_bytes().into())
    }

    /// Returns a value of `DW_FORM_string`.
    #[must_use]
    pub fn name(text: &str) -> Attribute {
        Attribute::Bytes(0x08, [text.as_bytes(), &[0]].concat())
    }

    /// Returns a value of `DW_FORM_exprloc`.
    #[must_use]
    pub fn expression(bytes: &[u8]) -> Attribute {
        Attribute::Bytes(0x18, [&uleb(bytes.len() as u64), bytes].concat())
    }
}

/// An entry: its tag, attributes and depth in the tree.
#[derive(Clone, Debug)]
pub struct Entry {
    /// `DW_TAG_…`.
    pub tag: u64,
    /// The attributes `DW_AT_…` with their values.
    pub attributes: Vec<(u64, Attribute)>,
    /// The number of entries that enclose it.
    pub depth: usize,
}

/// Encodes a number as unsigned LEB128.
#[must_use]
pub fn uleb(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// Returns `.debug_abbrev` and `.debug_info` with one unit of version 5. The entries are in order, with the given depths, and the first is
/// the unit.
///
/// # Panics
/// If an entry refers to one that does not exist.
#[must_use]
pub fn debug_info(entries: &[Entry]) -> (Vec<u8>, Vec<u8>) {
    let (mut abbreviations, mut known): (Vec<u8>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    // The header has 12 bytes.
    let mut info = vec![0; 4];
    info.extend([5, 0, 1, 8, 0, 0, 0, 0]);
    let (mut offsets, mut references) = (Vec::new(), Vec::new());
    for (number, entry) in entries.iter().enumerate() {
        let next = entries.get(number + 1).map_or(0, |next| next.depth);
        let mut abbreviation = uleb(entry.tag);
        abbreviation.push(u8::from(next > entry.depth));
        for (name, attribute) in &entry.attributes {
            abbreviation.extend(uleb(*name));
            abbreviation.push(match attribute {
                Attribute::Bytes(form, _) => *form,
                Attribute::Entry(_) => 0x13,
                Attribute::Call(_) => 0x18,
            });
        }
        abbreviation.extend([0, 0]);
        let same = known.iter().position(|other| *other == abbreviation);
        let code = same.unwrap_or_else(|| {
            abbreviations.extend(uleb(known.len() as u64 + 1));
            abbreviations.extend(&abbreviation);
            known.push(abbreviation);
            known.len() - 1
        });
        offsets.push(info.len());
        info.extend(uleb(code as u64 + 1));
        for (_, attribute) in &entry.attributes {
            match attribute {
                Attribute::Bytes(_, bytes) => info.extend(bytes),
                Attribute::Call(target) => {
                    info.extend([5, 0x99]);
                    references.push((info.len(), *target));
                    info.extend([0; 4]);
                }
                Attribute::Entry(target) => {
                    references.push((info.len(), *target));
                    info.extend([0; 4]);
                }
            }
        }
        info.extend(core::iter::repeat_n(0, entry.depth.saturating_sub(next)));
    }
    abbreviations.push(0);
    for (at, target) in references {
        let offset = u32::try_from(offsets[target]).unwrap();
        info[at..at + 4].copy_from_slice(&offset.to_le_bytes());
    }
    let length = u32::try_from(info.len() - 4).unwrap();
    info[..4].copy_from_slice(&length.to_le_bytes());
    (abbreviations, info)
}

/// The address of the code in linked code objects.
const BASE: u64 = 0x1000;

/// Returns a linked code object for gfx90a with machine code at 0x1000, a symbol for each function, and other sections.
///
/// * `functions`: names, and ranges of the code in bytes, which may overlap.
///
/// # Panics
/// If a size exceeds its field.
#[must_use]
pub fn linked(
    code: &[u8],
    functions: &[(String, Range<usize>)],
    others: &[(&str, &[u8])],
) -> Vec<u8> {
    const SYMTAB: u32 = 2;
    const STRTAB: u32 = 3;
    const DYN: u16 = 3;
    let (mut symbols, mut names) = (vec![0; 24], vec![0]);
    for (name, range) in functions {
        symbols.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
        // A global function in the first section.
        symbols.extend([0x12, 0, 1, 0]);
        let words = [BASE + range.start as u64, range.len() as u64];
        symbols.extend(words.map(u64::to_le_bytes).concat());
        names.extend(name.as_bytes());
        names.push(0);
    }
    let mut sections = vec![Section::new(".text", 1, code).flags(6).at(BASE)];
    sections.extend(
        others
            .iter()
            .map(|(name, bytes)| Section::new(name, 1, bytes)),
    );
    let strings = u32::try_from(sections.len() + 2).unwrap();
    sections.push(Section::new(".symtab", SYMTAB, &symbols).linked(strings, 1));
    sections.push(Section::new(".strtab", STRTAB, &names));
    let mut file = object_file(DYN, &sections);
    // A program header loads the code, which follows the file's header, at the address of its section.
    let at = file.len() as u64;
    file.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    let size = code.len() as u64;
    let words = [64, BASE, BASE, size, size, 4];
    file.extend(words.map(u64::to_le_bytes).concat());
    file[32..40].copy_from_slice(&at.to_le_bytes());
    file[54..58].copy_from_slice(&[56, 0, 1, 0]);
    file
}

/// Returns a code object like [`linked`] with an entry for each function: `f`, `f1`, `f2`, ….
///
/// # Panics
/// See [`linked`].
#[must_use]
pub fn linked_code(code: &[u8], functions: &[Range<usize>]) -> Vec<u8> {
    const NAME: u64 = 0x03;
    const LOW_PC: u64 = 0x11;
    const HIGH_PC: u64 = 0x12;
    const COMPILE_UNIT: u64 = 0x11;
    const SUBPROGRAM: u64 = 0x2e;
    let place = |range: &Range<usize>| {
        vec![
            (LOW_PC, Attribute::address(BASE + range.start as u64)),
            (HIGH_PC, Attribute::number(range.len() as u64)),
        ]
    };
    let mut entries = vec![Entry {
        tag: COMPILE_UNIT,
        attributes: place(&(0..code.len())),
        depth: 0,
    }];
    let mut named = Vec::new();
    for (number, range) in functions.iter().enumerate() {
        let name = match number {
            0 => "f".to_owned(),
            number => format!("f{number}"),
        };
        let mut attributes = place(range);
        attributes.push((NAME, Attribute::name(&name)));
        entries.push(Entry {
            tag: SUBPROGRAM,
            attributes,
            depth: 1,
        });
        named.push((name, range.clone()));
    }
    let (abbreviations, info) = debug_info(&entries);
    let sections = [(".debug_info", &*info), (".debug_abbrev", &*abbreviations)];
    linked(code, &named, &sections)
}
