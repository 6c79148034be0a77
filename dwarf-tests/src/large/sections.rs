//! Writes the sections of the object, and the ELF file around them.
//!
//! Sources: ELF gABI; USAGE "ELF Code Object", "Kernel Descriptor".

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::bytes::Bytes;
use super::code::NOP;

/// The alignment of the end of the read-only segment, and of the code.
const PAGE: u64 = 0x1000;
/// The size of the file header and three program headers.
const HEADERS: u64 = 64 + 3 * 56;
const DESCRIPTOR: u64 = 64;

/// All sections, while they are built.
#[derive(Debug)]
pub struct Sections {
    pub(super) text: Bytes,
    pub(super) info: Bytes,
    pub(super) abbrev: Bytes,
    pub(super) loclists: Bytes,
    pub(super) rnglists: Bytes,
    pub(super) str_offsets: Bytes,
    pub(super) addr: Bytes,
    pub(super) line: Bytes,
    pub(super) frame: Bytes,
    pub(super) aranges: Bytes,
    debug_str: Bytes,
    line_str: Bytes,
    shared: BTreeMap<String, u32>,
    descriptors: Bytes,
    text_address: u64,
    descriptors_offset: u64,
    local_symbols: Bytes,
    global_symbols: Bytes,
    symbol_names: Bytes,
}

/// The numbers of the sections that symbols refer to.
const DESCRIPTORS: u16 = 1;
const TEXT: u16 = 2;

impl Sections {
    /// Returns empty sections.
    ///
    /// * `kernels`: the maximum number of kernels. Their descriptors precede the code.
    #[must_use]
    pub fn new(kernels: u64) -> Sections {
        let descriptors_offset = HEADERS.next_multiple_of(DESCRIPTOR);
        let end = descriptors_offset + kernels * DESCRIPTOR;
        let mut sections = Sections {
            text: Bytes::default(),
            info: Bytes::default(),
            abbrev: Bytes::default(),
            loclists: Bytes::default(),
            rnglists: Bytes::default(),
            str_offsets: Bytes::default(),
            addr: Bytes::default(),
            line: Bytes::default(),
            frame: Bytes::default(),
            aranges: Bytes::default(),
            debug_str: Bytes::default(),
            line_str: Bytes::default(),
            shared: BTreeMap::new(),
            descriptors: Bytes::default(),
            text_address: end.next_multiple_of(PAGE),
            descriptors_offset,
            local_symbols: Bytes::default(),
            global_symbols: Bytes::default(),
            symbol_names: Bytes::default(),
        };
        super::abbreviations::write(&mut sections.abbrev);
        sections.line_str.string("/work");
        // The null symbol.
        sections.local_symbols.zeros(24);
        sections.symbol_names.u8(0);
        sections
    }

    /// Pads the code to a multiple of `alignment`. Returns the address there.
    pub(super) fn align_text(&mut self, alignment: u64) -> u64 {
        loop {
            let address = self.text_address + self.text.len() as u64;
            if address.is_multiple_of(alignment) {
                return address;
            }
            self.text.u32(NOP.1[0]);
        }
    }

    /// Appends a string that is used once. Returns its offset in `.debug_str`.
    pub(super) fn string(&mut self, text: &str) -> u32 {
        let offset = self.debug_str.offset();
        self.debug_str.string(text);
        offset
    }

    /// Returns the offset of a shared string in `.debug_str`, and appends it at its first use.
    pub(super) fn shared_string(&mut self, text: &str) -> u32 {
        if let Some(offset) = self.shared.get(text) {
            return *offset;
        }
        let offset = self.string(text);
        self.shared.insert(text.to_owned(), offset);
        offset
    }

    pub(super) fn line_string(&mut self, text: &str) -> u32 {
        let offset = self.line_str.offset();
        self.line_str.string(text);
        offset
    }

    /// Adds the symbol of a function, or the symbol and descriptor of a kernel.
    pub(super) fn add_symbol(&mut self, name: &str, address: u64, size: u64, is_kernel: bool) {
        const FUNCTION: u8 = 2;
        const OBJECT: u8 = 1;
        const GLOBAL: u8 = 1 << 4;
        let offset = self.symbol_names.offset();
        self.symbol_names.string(name);
        if !is_kernel {
            symbol(
                &mut self.local_symbols,
                offset,
                FUNCTION,
                TEXT,
                address,
                size,
            );
            return;
        }
        symbol(
            &mut self.global_symbols,
            offset,
            GLOBAL | FUNCTION,
            TEXT,
            address,
            size,
        );
        let descriptor = self.descriptors_offset + self.descriptors.len() as u64;
        let offset = self.symbol_names.offset();
        self.symbol_names.string(&format!("{name}.kd"));
        let symbols = &mut self.global_symbols;
        symbol(
            symbols,
            offset,
            GLOBAL | OBJECT,
            DESCRIPTORS,
            descriptor,
            DESCRIPTOR,
        );
        self.descriptors
            .zeros(8)
            .u32(16) // bytes of arguments
            .u32(0)
            .u64(address.wrapping_sub(descriptor))
            .zeros(24)
            .u32(5) // 48 vector registers
            .u32(0x80) // its first scalar registers hold the workgroup's number
            .u16(0x408) // it gets the address of its arguments; waves of 32 lanes
            .zeros(6);
    }

    /// Writes the file. Returns its size, and the offset of `.debug_info`.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<(u64, u64)> {
        let mut table = Table::default();
        let (progbits, symtab, strtab) = (1, 2, 3);
        let (alloc, exec) = (2, 4);
        let at = self.descriptors_offset;
        table.place(at, at);
        table.add(
            ".rodata",
            progbits,
            alloc,
            &[&self.descriptors],
            [0, 0, 64, 0],
        );
        table.place(self.text_address, self.text_address);
        table.add(
            ".text",
            progbits,
            alloc | exec,
            &[&self.text],
            [0, 0, 256, 0],
        );
        let debug = self.debug_sections();
        let mut info_offset = 0;
        for (name, bytes) in &debug {
            // Strings are mergeable and zero-terminated.
            let (flags, entry) = if name.ends_with("str") {
                (0x30, 1)
            } else {
                (0, 0)
            };
            table.place(0, table.offset.next_multiple_of(8));
            if *name == ".debug_info" {
                info_offset = table.offset;
            }
            table.add(name, progbits, flags, &[bytes], [0, 0, 1, entry]);
        }
        let string_table = debug.len() as u64 + 4;
        let locals = self.local_symbols.len() as u64 / 24;
        let symbols = [&self.local_symbols, &self.global_symbols];
        table.place(0, table.offset.next_multiple_of(8));
        table.add(
            ".symtab",
            symtab,
            0,
            &symbols,
            [string_table, locals, 8, 24],
        );
        table.add(".strtab", strtab, 0, &[&self.symbol_names], [0, 0, 1, 0]);
        table.add_names();
        let headers_at = table.offset.next_multiple_of(8);

        let mut out = Counting { out, count: 0 };
        out.all(self.file_header(headers_at, table.count).slice())?;
        out.pad_to(self.descriptors_offset)?;
        out.all(self.descriptors.slice())?;
        out.pad_to(self.text_address)?;
        out.all(self.text.slice())?;
        for (_, bytes) in debug {
            out.pad()?;
            out.all(bytes.slice())?;
        }
        out.pad()?;
        for bytes in symbols {
            out.all(bytes.slice())?;
        }
        out.all(self.symbol_names.slice())?;
        out.all(table.names.slice())?;
        out.pad()?;
        out.all(table.headers.slice())?;
        Ok((out.count, info_offset))
    }

    fn debug_sections(&self) -> Vec<(&'static str, &Bytes)> {
        let all = [
            (".debug_loclists", &self.loclists),
            (".debug_abbrev", &self.abbrev),
            (".debug_info", &self.info),
            (".debug_rnglists", &self.rnglists),
            (".debug_str_offsets", &self.str_offsets),
            (".debug_str", &self.debug_str),
            (".debug_addr", &self.addr),
            (".debug_aranges", &self.aranges),
            (".debug_frame", &self.frame),
            (".debug_line", &self.line),
            (".debug_line_str", &self.line_str),
        ];
        all.into_iter()
            .filter(|(_, bytes)| !bytes.is_empty())
            .collect()
    }

    /// Returns the file header and the program headers.
    fn file_header(&self, sections_offset: u64, sections: u16) -> Bytes {
        const AMDGPU_HSA: u8 = 64;
        const VERSION_5: u8 = 3;
        const DYN: u16 = 3;
        const AMDGPU: u16 = 224;
        const GFX1100: u32 = 0x41;
        const LOAD: u32 = 1;
        const GNU_STACK: u32 = 0x6474_e551;
        let mut bytes = Bytes::default();
        bytes
            .raw(b"\x7fELF")
            .raw(&[2, 1, 1, AMDGPU_HSA, VERSION_5])
            .zeros(7)
            .u16(DYN)
            .u16(AMDGPU)
            .u32(1)
            .u64(0)
            .u64(64)
            .u64(sections_offset)
            .u32(GFX1100)
            .u16(64)
            .u16(56)
            .u16(3)
            .u16(64)
            .u16(sections)
            .u16(sections - 1);
        let mut segment = |ty: u32, flags: u32, at: u64, size: u64| {
            let align = if ty == LOAD { PAGE } else { 0 };
            bytes.u32(ty).u32(flags).u64(at).u64(at).u64(at);
            bytes.u64(size).u64(size).u64(align);
        };
        let constants = self.descriptors_offset + self.descriptors.len() as u64;
        segment(LOAD, 4, 0, constants);
        segment(LOAD, 5, self.text_address, self.text.len() as u64);
        segment(GNU_STACK, 6, 0, 0);
        bytes
    }
}

/// The table of section headers.
#[derive(Debug)]
struct Table {
    headers: Bytes,
    names: Bytes,
    count: u16,
    /// The address and offset of the next section.
    address: u64,
    offset: u64,
}

impl Default for Table {
    fn default() -> Table {
        let mut table = Table {
            headers: Bytes::default(),
            names: Bytes::default(),
            count: 1,
            address: 0,
            offset: 0,
        };
        // The null section.
        table.headers.zeros(64);
        table.names.u8(0);
        table
    }
}

impl Table {
    /// Sets the address and offset of the next section.
    fn place(&mut self, address: u64, offset: u64) {
        (self.address, self.offset) = (address, offset);
    }

    /// Adds a section.
    ///
    /// * `more`: `sh_link`, `sh_info`, `sh_addralign`, `sh_entsize`.
    fn add(&mut self, name: &str, ty: u32, flags: u64, contents: &[&Bytes], more: [u64; 4]) {
        let size: u64 = contents.iter().map(|bytes| bytes.len() as u64).sum();
        self.header(ty, flags, size, more);
        self.names.string(name);
        self.place(0, self.offset + size);
    }

    /// Adds the section with the names of all sections, including its own.
    fn add_names(&mut self) {
        let name = ".shstrtab";
        let size = (self.names.len() + name.len() + 1) as u64;
        self.header(3, 0, size, [0, 0, 1, 0]);
        self.names.string(name);
        self.place(0, self.offset + size);
    }

    fn header(&mut self, ty: u32, flags: u64, size: u64, more: [u64; 4]) {
        let [link, info, alignment, entry] = more;
        self.headers
            .u32(self.names.offset())
            .u32(ty)
            .u64(flags)
            .u64(self.address)
            .u64(self.offset)
            .u64(size)
            .u32(u32::try_from(link).unwrap())
            .u32(u32::try_from(info).unwrap())
            .u64(alignment)
            .u64(entry);
        self.count += 1;
    }
}

fn symbol(to: &mut Bytes, name: u32, info: u8, section: u16, address: u64, size: u64) {
    to.u32(name)
        .u8(info)
        .u8(0)
        .u16(section)
        .u64(address)
        .u64(size);
}

/// A writer that counts its bytes.
struct Counting<'o, W> {
    out: &'o mut W,
    count: u64,
}

impl<W: Write> Counting<'_, W> {
    fn all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.count += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn pad_to(&mut self, offset: u64) -> io::Result<()> {
        let zeros = [0; 4096];
        while self.count < offset {
            let some = (offset - self.count).min(zeros.len() as u64) as usize;
            self.all(&zeros[..some])?;
        }
        Ok(())
    }

    fn pad(&mut self) -> io::Result<()> {
        self.pad_to(self.count.next_multiple_of(8))
    }
}
