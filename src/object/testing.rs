//! Builds small ELF files for tests.

/// One section of a file under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestSection {
    pub(crate) name: &'static str,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
    pub(crate) alignment: u64,
    pub(crate) contents: Vec<u8>,
    /// The size in the header, in place of the true size.
    pub(crate) claimed_size: Option<u64>,
    pub(crate) address: u64,
}

pub(crate) const PROGBITS: u32 = 1;
pub(crate) const SYMTAB: u32 = 2;
pub(crate) const STRTAB: u32 = 3;
pub(crate) const RELA: u32 = 4;
pub(crate) const NOTE: u32 = 7;
pub(crate) const NOBITS: u32 = 8;
pub(crate) const REL: u32 = 9;
pub(crate) const ALLOC: u64 = 2;
pub(crate) const EXECUTE: u64 = 4;
pub(crate) const COMPRESSED: u64 = 0x800;

pub(crate) fn section(name: &'static str, kind: u32, contents: &[u8]) -> TestSection {
    TestSection {
        name,
        kind,
        contents: contents.to_vec(),
        alignment: 1,
        ..TestSection::default()
    }
}

impl TestSection {
    pub(crate) fn flags(mut self, flags: u64) -> TestSection {
        self.flags = flags;
        self
    }

    pub(crate) fn at(mut self, address: u64) -> TestSection {
        self.address = address;
        self
    }

    pub(crate) fn linked(mut self, link: u32, info: u32) -> TestSection {
        self.link = link;
        self.info = info;
        self
    }
}

/// Returns a relocatable code object for gfx90a of version 5 with these sections, from number 1. A last section with their names is added.
pub(crate) fn relocatable(sections: &[TestSection]) -> Vec<u8> {
    elf(1, sections)
}

/// Returns a linked code object, without segments.
pub(crate) fn linked(sections: &[TestSection]) -> Vec<u8> {
    elf(3, sections)
}

fn elf(kind: u16, sections: &[TestSection]) -> Vec<u8> {
    let mut names = vec![0];
    let mut body = Vec::new();
    let mut headers = vec![0; 64];
    let mut all = sections.to_vec();
    all.push(section(".shstrtab", STRTAB, &[]));
    let count = all.len();
    for (index, section) in all.into_iter().enumerate() {
        let name = names.len() as u32;
        names.extend_from_slice(section.name.as_bytes());
        names.push(0);
        let contents = match index + 1 == count {
            true => names.clone(),
            false => section.contents,
        };
        headers.extend(name.to_le_bytes());
        headers.extend(section.kind.to_le_bytes());
        headers.extend(section.flags.to_le_bytes());
        headers.extend(section.address.to_le_bytes());
        headers.extend((64 + body.len() as u64).to_le_bytes());
        let size = section.claimed_size.unwrap_or(contents.len() as u64);
        headers.extend(size.to_le_bytes());
        headers.extend(section.link.to_le_bytes());
        headers.extend(section.info.to_le_bytes());
        headers.extend(section.alignment.to_le_bytes());
        headers.extend(0_u64.to_le_bytes());
        body.extend(contents);
    }
    let mut file = b"\x7fELF\x02\x01\x01\x40\x03\0\0\0\0\0\0\0".to_vec();
    file.extend(kind.to_le_bytes());
    file.extend(224_u16.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    file.extend([0; 16]);
    file.extend((64 + body.len() as u64).to_le_bytes());
    file.extend(0x53f_u32.to_le_bytes());
    for half in [64, 56, 0, 64, count as u16 + 1, count as u16] {
        file.extend(u16::to_le_bytes(half));
    }
    file.extend(body);
    file.extend(headers);
    file
}

/// Returns a symbol table entry.
pub(crate) fn symbol(name: u32, info: u8, section: u16, value: u64, size: u64) -> Vec<u8> {
    let mut entry = name.to_le_bytes().to_vec();
    entry.extend([info, 0]);
    entry.extend(section.to_le_bytes());
    entry.extend(value.to_le_bytes());
    entry.extend(size.to_le_bytes());
    entry
}

/// Returns a relocation with an addend.
pub(crate) fn rela(offset: u64, kind: u32, symbol: u32, addend: i64) -> Vec<u8> {
    let mut entry = rel(offset, kind, symbol);
    entry.extend(addend.to_le_bytes());
    entry
}

/// Returns a relocation without an addend.
pub(crate) fn rel(offset: u64, kind: u32, symbol: u32) -> Vec<u8> {
    let mut entry = offset.to_le_bytes().to_vec();
    entry.extend(kind.to_le_bytes());
    entry.extend(symbol.to_le_bytes());
    entry
}

/// Returns a note of `AMDGPU` with type 32.
pub(crate) fn metadata_note(contents: &[u8]) -> Vec<u8> {
    note(b"AMDGPU\0", 32, contents)
}

/// Returns a note.
pub(crate) fn note(owner: &[u8], kind: u32, contents: &[u8]) -> Vec<u8> {
    let mut note = (owner.len() as u32).to_le_bytes().to_vec();
    note.extend((contents.len() as u32).to_le_bytes());
    note.extend(kind.to_le_bytes());
    note.extend(owner);
    note.resize(note.len().next_multiple_of(4), 0);
    note.extend(contents);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}
