//! Reads the ELF header and tables of a code object, and checks them once for all other modules.
//!
//! Sources: ELF gABI; USAGE "ELF Code Object", "Header".

use std::borrow::Cow;
use std::sync::Arc;

use object::LittleEndian as LE;
use object::elf::{self, FileHeader64, ProgramHeader64, SectionHeader64};
use object::pod::{self, Pod};
use object::read::elf::FileHeader as _;

use super::bytes::slice_at;
use super::identify::{FileKind, Machines};
use crate::arch::Machine;
use crate::error::{Error, ErrorKind, Result};
use crate::meter::{Held, Meter};

/// The header type of every code object.
pub(crate) type Header = FileHeader64<LE>;
/// A section header of every code object.
pub(crate) type RawSection = SectionHeader64<LE>;
/// A program header of every code object.
pub(crate) type RawSegment = ProgramHeader64<LE>;

/// The operating system a code object is for (`e_ident[EI_OSABI]`).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OsAbi {
    /// `ELFOSABI_NONE`, 0: unspecified.
    None,
    /// `ELFOSABI_AMDGPU_HSA`, 64: `amdhsa`, the only one with kernel descriptors.
    Hsa,
    /// `ELFOSABI_AMDGPU_PAL`, 65: `amdpal`.
    Pal,
    /// `ELFOSABI_AMDGPU_MESA3D`, 66: `mesa3d`.
    Mesa3d,
    /// Any other number.
    Other(u8),
}

impl OsAbi {
    /// Returns the ABI with this number.
    #[must_use]
    pub fn from_number(number: u8) -> OsAbi {
        match number {
            0 => OsAbi::None,
            64 => OsAbi::Hsa,
            65 => OsAbi::Pal,
            66 => OsAbi::Mesa3d,
            other => OsAbi::Other(other),
        }
    }

    /// Returns the number in the file.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            OsAbi::None => 0,
            OsAbi::Hsa => 64,
            OsAbi::Pal => 65,
            OsAbi::Mesa3d => 66,
            OsAbi::Other(number) => number,
        }
    }

    /// Returns the name in a target triple, or `unknown` if there is none.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OsAbi::Hsa => "amdhsa",
            OsAbi::Pal => "amdpal",
            OsAbi::Mesa3d => "mesa3d",
            OsAbi::None | OsAbi::Other(_) => "unknown",
        }
    }
}

/// The header and tables of an ELF64 file, in the file's encoding.
#[derive(Debug)]
pub(super) struct Elf<'data> {
    pub(super) data: &'data [u8],
    pub(super) machine: Machine,
    pub(super) os_abi: OsAbi,
    /// `e_ident[EI_ABIVERSION]`.
    pub(super) abi_version: u8,
    pub(super) flags: u32,
    pub(super) relocatable: bool,
    pub(super) sections: &'data [RawSection],
    /// The contents of the table of section names.
    pub(super) section_names: &'data [u8],
    pub(super) segments: &'data [RawSegment],
    /// The memory charged for data derived from the file.
    pub(super) held: Held,
}

impl<'data> Elf<'data> {
    /// Reads the header and finds the tables.
    pub(super) fn parse(
        data: &'data [u8],
        machines: Machines,
        meter: &Arc<Meter>,
    ) -> Result<Elf<'data>> {
        let kind = FileKind::of(data);
        if !machines.include(kind) {
            let hint = match kind.is_container() {
                true => ", which can contain code objects",
                false => "",
            };
            let found = format!("this is {}{hint}", kind.description(data));
            return Err(ErrorKind::NoCodeObject { found }.into());
        }
        let header = Header::parse(data).map_err(|e| bad("ELF header", e))?;
        let relocatable = match header.e_type(LE) {
            elf::ET_REL => true,
            elf::ET_DYN | elf::ET_EXEC => false,
            other => {
                return Err(Error::malformed(
                    "code object",
                    format!(
                        "e_type {} is neither ET_REL (1), ET_EXEC (2) nor ET_DYN (3)",
                        other.0
                    ),
                ));
            }
        };
        let (sections, section_names) = section_table(header, data)?;
        Ok(Elf {
            data,
            machine: Machine(header.e_machine(LE).0),
            os_abi: OsAbi::from_number(header.e_ident().os_abi.0),
            abi_version: header.e_ident().abi_version,
            flags: header.e_flags(LE).0,
            relocatable,
            sections,
            section_names,
            segments: header
                .program_headers(LE, data)
                .map_err(|e| bad("ELF program headers", e))?,
            held: Held::new(Arc::clone(meter)),
        })
    }

    /// Returns the stored bytes of a section, or `None` for one without any (`SHT_NOBITS`).
    pub(super) fn stored(&self, section: &RawSection) -> Result<Option<&'data [u8]>> {
        if section.sh_type.get(LE) == elf::SHT_NOBITS {
            return Ok(None);
        }
        slice_at(
            self.data,
            section.sh_offset.get(LE),
            section.sh_size.get(LE),
        )
        .map(Some)
        .ok_or_else(|| Error::malformed("section", "it reaches beyond the end of the file"))
    }
}

/// Returns the section headers, and the bytes of the table with their names.
pub(super) fn section_table<'data>(
    header: &Header,
    data: &'data [u8],
) -> Result<(&'data [RawSection], &'data [u8])> {
    const WHAT: &str = "ELF section headers";
    let sections = header.section_headers(LE, data).map_err(|e| bad(WHAT, e))?;
    if sections.is_empty() {
        return Ok((sections, &[]));
    }
    let index = header
        .section_strings_index(LE, data)
        .map_err(|e| bad(WHAT, e))?;
    let names = sections
        .get(index.0)
        .and_then(|s| slice_at(data, s.sh_offset.get(LE), s.sh_size.get(LE)))
        .ok_or_else(|| Error::malformed(WHAT, "the table of section names is not in the file"))?;
    Ok((sections, names))
}

pub(super) fn bad(what: &'static str, error: object::read::Error) -> Error {
    Error::malformed(what, error.to_string())
}

/// Returns a table as a slice of entries.
pub(super) fn whole_entries<'data, T: Pod>(
    what: &'static str,
    bytes: &'data [u8],
) -> Result<&'data [T]> {
    if !bytes.len().is_multiple_of(size_of::<T>()) {
        return Err(Error::malformed(
            what,
            format!(
                "its {} bytes are not a whole number of entries of {} bytes",
                bytes.len(),
                size_of::<T>()
            ),
        ));
    }
    pod::slice_from_all_bytes(bytes).map_err(|()| Error::malformed(what, "it is misaligned"))
}

/// Reads strings from a table.
///
/// Strings in a table may overlap, so a file of `n` bytes can refer to `n²` bytes of them. The meter is therefore charged.
#[derive(Debug)]
pub(super) struct Names<'data, 'm> {
    table: &'data [u8],
    meter: &'m Meter,
}

impl<'data, 'm> Names<'data, 'm> {
    pub(super) fn new(table: &'data [u8], meter: &'m Meter) -> Names<'data, 'm> {
        Names { table, meter }
    }

    /// Returns the string that starts at `offset`, without its final NUL.
    pub(super) fn get(&self, offset: u32) -> Result<&'data [u8]> {
        let bad = |reason: &str| Error::malformed("string table", reason);
        let tail = usize::try_from(offset)
            .ok()
            .and_then(|start| self.table.get(start..))
            .ok_or_else(|| bad(&format!("offset {offset:#x} is outside")))?;
        let name = tail
            .iter()
            .position(|&b| b == 0)
            .and_then(|end| tail.get(..end));
        self.meter.charge_bytes(name.unwrap_or(tail).len())?;
        name.ok_or_else(|| bad(&format!("the string at {offset:#x} has no end")))
    }

    /// Returns the string that starts at `offset`, as text. Invalid UTF-8 is replaced in a copy.
    pub(super) fn text(&self, offset: u32) -> Result<Cow<'data, str>> {
        let text = String::from_utf8_lossy(self.get(offset)?);
        if let Cow::Owned(copy) = &text {
            self.meter.hold(copy.len() as u64)?;
        }
        Ok(text)
    }
}
