//! Code objects made to do harm: an ELF file around sections of our own, and entries for `.debug_info`.

/// A section, with what its header says.
#[derive(Clone, Copy)]
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
    pub fn new(name: &'a str, kind: u32, bytes: &'a [u8]) -> Section<'a> {
        Section {
            name,
            kind,
            flags: 0,
            address: 0,
            link: 0,
            info: 0,
            // Offsets of notes and symbols count from an alignment of four or less.
            alignment: 1,
            bytes,
        }
    }

    pub fn linked(self, link: u32, info: u32) -> Section<'a> {
        Section { link, info, ..self }
    }

    pub fn flags(self, flags: u64) -> Section<'a> {
        Section { flags, ..self }
    }

    pub fn aligned(self, alignment: u64) -> Section<'a> {
        Section { alignment, ..self }
    }

    pub fn at(self, address: u64) -> Section<'a> {
        Section { address, ..self }
    }
}

/// An `ET_DYN` file for gfx90a with these sections.
pub fn code_object(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let sections = sections.iter().map(|&(name, bytes)| {
        let section = Section::new(name, 1, bytes);
        // Every section with code is at address 0x1000.
        let (flags, address) = if name == ".text" { (6, 0x1000) } else { (0, 0) };
        Section {
            flags,
            address,
            ..section
        }
    });
    object_file(3, &sections.collect::<Vec<_>>())
}

/// A file of a type (`ET_REL`, `ET_DYN`) for gfx90a with these sections, the first of which has number 1.
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
        // Tables are read in place, which needs their alignment.
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
    /// `DW_FORM_data8`, or any other form with its bytes.
    Bytes(u8, Vec<u8>),
    /// `DW_FORM_ref4` to an entry by its number.
    Entry(usize),
    /// An expression that calls an entry by its number.
    Call(usize),
}

impl Attribute {
    pub fn number(value: u64) -> Attribute {
        Attribute::Bytes(0x07, value.to_le_bytes().into())
    }

    pub fn address(value: u64) -> Attribute {
        Attribute::Bytes(0x01, value.to_le_bytes().into())
    }

    pub fn name(text: &str) -> Attribute {
        Attribute::Bytes(0x08, [text.as_bytes(), &[0]].concat())
    }

    pub fn expression(bytes: &[u8]) -> Attribute {
        Attribute::Bytes(0x18, [&uleb(bytes.len() as u64), bytes].concat())
    }
}

/// An entry: tag, attributes, and how many of the entries after it, with theirs, are its children.
#[derive(Clone, Debug)]
pub struct Entry {
    pub tag: u64,
    pub attributes: Vec<(u64, Attribute)>,
    pub depth: usize,
}

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

/// `.debug_abbrev` and `.debug_info` with one unit of version 5, whose entries are in order and as deep
/// as they say; the first is the unit.
pub fn debug_info(entries: &[Entry]) -> (Vec<u8>, Vec<u8>) {
    let (mut abbreviations, mut known): (Vec<u8>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    // Header of 12 bytes.
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
