//! Code objects made to do harm: an ELF file around sections of our own, and entries for `.debug_info`.

/// An `ET_DYN` file for gfx90a with these sections.
pub fn code_object(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = vec![0u8];
    let mut headers: Vec<[u64; 5]> = vec![[0; 5]];
    let mut body = Vec::new();
    for (name, bytes) in sections.iter().copied().chain([(".shstrtab", &[][..])]) {
        let name_offset = names.len() as u64;
        names.extend(name.as_bytes());
        names.push(0);
        // Every section with code is at address 0x1000.
        let (kind, flags, address) = match name {
            ".text" => (1, 6, 0x1000),
            ".shstrtab" => (3, 0, 0),
            _ => (1, 0, 0),
        };
        let bytes = if name == ".shstrtab" {
            names.clone()
        } else {
            bytes.to_vec()
        };
        headers.push([
            name_offset | kind << 32,
            flags,
            address,
            64 + body.len() as u64,
            bytes.len() as u64,
        ]);
        body.extend(bytes);
    }
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 64, 3];
    file.resize(16, 0);
    let table = 64 + body.len() as u64;
    let mut header = Vec::new();
    header.extend(3u16.to_le_bytes());
    header.extend(224u16.to_le_bytes());
    header.extend(1u32.to_le_bytes());
    for word in [0u64, 0, table] {
        header.extend(word.to_le_bytes());
    }
    header.extend(0x3fu32.to_le_bytes());
    let count = u16::try_from(headers.len()).unwrap();
    for half in [64u16, 0, 0, 64, count, count - 1] {
        header.extend(half.to_le_bytes());
    }
    file.extend(header);
    file.extend(body);
    for [first, flags, address, offset, size] in headers {
        for word in [first, flags, address, offset, size, 0, 1, 0] {
            file.extend(word.to_le_bytes());
        }
    }
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
