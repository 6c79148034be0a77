//! Reads CIEs and FDEs. Sources: HET A.6.4.1, DWARF 5 §6.4.1; for `.eh_frame` the LSB Core Specification, "Exception Frames".

use core::ops::Range;
use std::sync::Arc;

use fallible_iterator::FallibleIterator;

use super::augmentation::Augmentation;
use super::eh_pointer::{EhAugmentation, OMITTED, place_of, read_pointer};
use crate::arch::Register;
use crate::debug_info::UnitLength;
use crate::error::{Error, Result};
use crate::expr::Cursor;

/// The section of the entries, which determines their layout.
///
/// Intentionally exhaustive: there are only these two sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// `.debug_frame`.
    DebugFrame,
    /// `.eh_frame`.
    EhFrame,
}

/// A section of call frame information.
#[derive(Clone, Copy, Debug)]
pub struct FrameSection<'a> {
    bytes: &'a [u8],
    kind: SectionKind,
    /// The load address of the section, for pointers relative to their own place.
    address: u64,
    address_size: u8,
}

/// An entry of either kind.
///
/// Intentionally exhaustive: sections have only these kinds.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry<'a> {
    /// The common information of several FDEs.
    Cie(Cie<'a>),
    /// The rows of a function.
    Fde(Fde<'a>),
    /// The terminator of `.eh_frame`.
    Terminator(u64),
}

impl Entry<'_> {
    /// Returns its offset in the section, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match self {
            Entry::Cie(cie) => cie.offset,
            Entry::Fde(fde) => fde.offset,
            Entry::Terminator(offset) => *offset,
        }
    }
}

/// A Common Information Entry.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Cie<'a> {
    /// The offset in the section, in bytes.
    pub offset: u64,
    /// The size of offsets: 4 in the 32-bit format, 8 in the 64-bit format.
    pub offset_size: u8,
    /// The value of the length field: the number of bytes after it.
    pub length: u64,
    /// 1, 3 or 4.
    pub version: u8,
    /// The augmentation string.
    pub augmentation_text: &'a str,
    /// The decoded augmentation string.
    pub augmentation: Augmentation<'a>,
    /// The size of an address, in bytes.
    pub address_size: u8,
    /// The size of a segment selector, in bytes.
    pub segment_selector_size: u8,
    /// The factor of advances, in bytes.
    pub code_alignment_factor: u64,
    /// The factor of factored offsets, in bytes.
    pub data_alignment_factor: i64,
    /// The column of the return address.
    pub return_address_register: u64,
    /// The initial instructions of every FDE.
    pub initial_instructions: &'a [u8],
    /// The offset in the section, in bytes.
    pub instructions_offset: u64,
    /// The encoding of addresses in `.eh_frame` (`DW_EH_PE_*`). `None` in `.debug_frame`.
    pub pointer_encoding: Option<u8>,
    /// The augmentation data in `.eh_frame`.
    pub augmentation_data: &'a [u8],
    /// The address of the personality routine, or of the pointer to it, if `.eh_frame` has one.
    pub personality: Option<u64>,
    /// The address of the field with that address, to which it may be relative.
    pub(crate) personality_place: u64,
    /// The encoding of the addresses of language-specific data in `.eh_frame`, if there are any.
    pub lsda_encoding: Option<u8>,
}

/// A Frame Description Entry.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Fde<'a> {
    /// The offset in the section, in bytes.
    pub offset: u64,
    /// The value of the length field: the number of bytes after it.
    pub length: u64,
    /// The CIE, which other FDEs may share.
    pub cie: Arc<Cie<'a>>,
    /// The first address, in the code object.
    pub initial_location: u64,
    /// The size of the code in bytes.
    pub address_range: u64,
    /// The instructions.
    pub instructions: &'a [u8],
    /// The offset in the section, in bytes.
    pub instructions_offset: u64,
    /// The address of the language-specific data, if `.eh_frame` has one.
    pub lsda: Option<u64>,
    /// The address of the field with that address, to which it may be relative.
    pub(crate) lsda_place: u64,
}

impl Fde<'_> {
    /// Returns the first address past the code.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.initial_location.saturating_add(self.address_range)
    }

    /// Returns true if an address is in the code.
    #[must_use]
    pub fn contains(&self, pc: u64) -> bool {
        self.initial_location <= pc && pc < self.end()
    }
}

impl Cie<'_> {
    /// Returns the column of the return address as a register, or `None` if there is no such register.
    #[must_use]
    pub fn return_address(&self) -> Option<Register> {
        Register::from_number(self.return_address_register)
    }
}

/// The fields at the start of every entry.
struct Header<'a> {
    offset: u64,
    offset_size: u8,
    length: u64,
    id: u64,
    id_offset: u64,
    body: Cursor<'a>,
    end: u64,
}

impl<'a> FrameSection<'a> {
    /// Creates the entries of a section.
    ///
    /// * `address`: the load address of the section, needed only for `.eh_frame`.
    /// * `address_size`: the size of an address in bytes, for entries without this field.
    #[must_use]
    pub fn new(
        bytes: &'a [u8],
        kind: SectionKind,
        address: u64,
        address_size: u8,
    ) -> FrameSection<'a> {
        FrameSection {
            bytes,
            kind,
            address,
            address_size,
        }
    }

    /// Returns the `.debug_frame` of an AMDGPU code object.
    #[must_use]
    pub fn debug_frame(bytes: &'a [u8]) -> FrameSection<'a> {
        FrameSection::new(bytes, SectionKind::DebugFrame, 0, 8)
    }

    /// Returns the section's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.kind {
            SectionKind::DebugFrame => ".debug_frame",
            SectionKind::EhFrame => ".eh_frame",
        }
    }

    /// Returns the bytes of the section.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the kind of the section.
    #[must_use]
    pub fn kind(&self) -> SectionKind {
        self.kind
    }

    /// Returns all entries, in order, up to the first one with an invalid length. Any other fault within an entry is an item with the error, and the
    /// next entry follows.
    #[must_use]
    pub fn entries(&self) -> Entries<'a> {
        Entries {
            section: *self,
            next: 0,
            last: None,
        }
    }

    /// Returns the CIE at an offset.
    ///
    /// # Errors
    /// If there is none.
    pub fn cie_at(&self, offset: u64) -> Result<Cie<'a>> {
        let header = self
            .header(offset)?
            .ok_or_else(|| self.malformed(offset, "CIE", "it is past the end of the section"))?;
        if !self.is_cie(&header) {
            return Err(self.malformed(offset, "CIE pointer", "there is no CIE at this offset"));
        }
        self.cie(header)
    }

    /// Returns the FDE at an offset.
    ///
    /// # Errors
    /// If there is none.
    pub fn fde_at(&self, offset: u64) -> Result<Fde<'a>> {
        self.fde_with(offset, |offset| self.cie_at(offset).map(Arc::new))
    }

    /// Returns the FDE at an offset. `cie_at` returns the CIE at an offset.
    pub(super) fn fde_with(
        &self,
        offset: u64,
        cie_at: impl FnOnce(u64) -> Result<Arc<Cie<'a>>>,
    ) -> Result<Fde<'a>> {
        let header = self
            .header(offset)?
            .ok_or_else(|| self.malformed(offset, "FDE", "it is past the end of the section"))?;
        if self.is_cie(&header) || header.length == 0 {
            return Err(self.malformed(offset, "FDE", "there is no FDE at this offset"));
        }
        self.fde(header, cie_at)
    }

    fn malformed(&self, offset: u64, what: &'static str, reason: &str) -> Error {
        Error::malformed(what, reason).within(self.name(), offset)
    }

    /// Returns the header at `offset`, or `None` at the end of the section.
    fn header(&self, offset: u64) -> Result<Option<Header<'a>>> {
        if offset >= self.bytes.len() as u64 {
            return Ok(None);
        }
        let place = |error: Error| error.within(self.name(), offset);
        let UnitLength {
            length,
            offset_size,
            body: Range { start, end },
        } = UnitLength::read(self.bytes, offset, "entry length").map_err(place)?;
        let mut body = Cursor::new(self.bytes.get(start..end).unwrap_or_default());
        let id = match self.kind {
            _ if length == 0 => 0,
            SectionKind::DebugFrame => body.sized(offset_size).map_err(place)?,
            // The pointer of `.eh_frame` has four bytes in both formats.
            SectionKind::EhFrame => body.u32().map_err(place)?.into(),
        };
        Ok(Some(Header {
            offset,
            offset_size,
            length,
            id,
            id_offset: start as u64,
            body,
            end: end as u64,
        }))
    }

    fn is_cie(&self, header: &Header<'_>) -> bool {
        match self.kind {
            SectionKind::DebugFrame => {
                header.id
                    == if header.offset_size == 8 {
                        u64::MAX
                    } else {
                        0xffff_ffff
                    }
            }
            SectionKind::EhFrame => header.id == 0,
        }
    }

    fn cie(&self, header: Header<'a>) -> Result<Cie<'a>> {
        let offset = header.offset;
        self.cie_fields(header)
            .map_err(|error| error.within(self.name(), offset))
    }

    fn cie_fields(&self, header: Header<'a>) -> Result<Cie<'a>> {
        let Header {
            offset,
            offset_size,
            length,
            mut body,
            end,
            ..
        } = header;
        let version = body.u8()?;
        if !matches!(version, 1 | 3 | 4) {
            return Err(Error::malformed(
                "CIE version",
                format!("{version} is not 1, 3 or 4"),
            ));
        }
        let text = read_string(&mut body)?;
        let mut cie = Cie {
            offset,
            offset_size,
            length,
            version,
            augmentation_text: text,
            augmentation: Augmentation::parse(text),
            address_size: self.address_size,
            segment_selector_size: 0,
            code_alignment_factor: 1,
            data_alignment_factor: 1,
            return_address_register: 0,
            initial_instructions: &[],
            instructions_offset: end,
            pointer_encoding: None,
            augmentation_data: &[],
            personality: None,
            personality_place: 0,
            lsda_encoding: None,
        };
        if !cie.augmentation.is_known() {
            // Nothing after the string is reliable (HET A.6.4.1).
            return Ok(cie);
        }
        if version >= 4 {
            cie.address_size = body.u8()?;
            cie.segment_selector_size = body.u8()?;
        }
        cie.code_alignment_factor = body.uleb()?;
        cie.data_alignment_factor = body.sleb()?;
        cie.return_address_register = if version == 1 {
            body.u8()?.into()
        } else {
            body.uleb()?
        };
        if let Augmentation::EhFrame(text) = cie.augmentation {
            let size = body.uleb()?;
            let start = end.saturating_sub(body.rest().len() as u64);
            cie.augmentation_data = body.bytes(size)?;
            let start = self.address.wrapping_add(start);
            let read = EhAugmentation::read(text, cie.augmentation_data, start, cie.address_size)?;
            cie.pointer_encoding = Some(read.pointer_encoding);
            cie.lsda_encoding = read.lsda_encoding;
            cie.personality = read.personality;
            cie.personality_place = read.personality_place;
        }
        cie.initial_instructions = body.rest();
        cie.instructions_offset = end.saturating_sub(body.rest().len() as u64);
        Ok(cie)
    }

    /// Returns the FDE of a header. `cie_at` returns the CIE at an offset.
    fn fde(
        &self,
        header: Header<'a>,
        cie_at: impl FnOnce(u64) -> Result<Arc<Cie<'a>>>,
    ) -> Result<Fde<'a>> {
        let offset = header.offset;
        self.fde_fields(header, cie_at)
            .map_err(|error| error.within(self.name(), offset))
    }

    fn fde_fields(
        &self,
        header: Header<'a>,
        cie_at: impl FnOnce(u64) -> Result<Arc<Cie<'a>>>,
    ) -> Result<Fde<'a>> {
        let Header {
            offset,
            length,
            id,
            id_offset,
            mut body,
            end,
            ..
        } = header;
        let cie_offset = self.cie_offset(id, id_offset)?;
        let cie = cie_at(cie_offset)?;
        let code = self.code_of(&mut body, &cie, end)?;
        let known = cie.augmentation.is_known();
        let instructions = if known { body.rest() } else { &[] };
        let instructions_offset = end.saturating_sub(instructions.len() as u64);
        Ok(Fde {
            offset,
            length,
            cie,
            initial_location: code.start,
            address_range: code.size,
            instructions,
            instructions_offset,
            lsda: code.lsda,
            lsda_place: code.lsda_place,
        })
    }

    /// Returns the offset of the CIE to which the pointer `id` of an FDE refers.
    fn cie_offset(&self, id: u64, id_offset: u64) -> Result<u64> {
        let offset = match self.kind {
            SectionKind::DebugFrame => Some(id),
            SectionKind::EhFrame => id_offset.checked_sub(id),
        };
        offset.ok_or_else(|| {
            Error::malformed(
                "CIE pointer",
                "it is before the start of the \
                                                              section",
            )
        })
    }

    /// Reads the code range of an FDE: the first address, and the number of bytes.
    fn code_of(&self, body: &mut Cursor<'a>, cie: &Cie<'a>, end: u64) -> Result<CodeFields> {
        body.bytes(cie.segment_selector_size.into())?;
        let Some(encoding) = cie.pointer_encoding else {
            return Ok(CodeFields {
                start: body.sized(cie.address_size)?,
                size: body.sized(cie.address_size)?,
                lsda: None,
                lsda_place: 0,
            });
        };
        let place = |body: &Cursor<'a>| {
            let address = self.address.wrapping_add(end);
            address.wrapping_sub(body.rest().len() as u64)
        };
        let start = read_pointer(body, encoding, place(body), cie.address_size)?;
        // The range has the format of the start, but is a plain number.
        let range = read_pointer(body, encoding & 0x0f, 0, cie.address_size)?;
        let length = body.uleb()?;
        let at = place(body);
        let mut data = Cursor::new(body.bytes(length)?);
        let read = |encoding| read_pointer(&mut data, encoding, at, cie.address_size).ok();
        let lsda = cie.lsda_encoding.filter(|encoding| *encoding != OMITTED);
        Ok(CodeFields {
            start,
            size: range,
            lsda: lsda.and_then(read),
            lsda_place: lsda.map_or(0, |encoding| place_of(encoding, at)),
        })
    }

    /// Returns the first address, the first address past the end, and the offset of every FDE with readable fields, in the order of the section. The
    /// rest of an FDE is not read, and a CIE is read once for all FDEs after it.
    pub(super) fn code_ranges(&self) -> Vec<(u64, u64, u64)> {
        let mut ranges = Vec::new();
        let mut common: Option<Cie<'a>> = None;
        let mut next = 0;
        while let Ok(Some(header)) = self.header(next) {
            let Header {
                offset,
                id,
                id_offset,
                mut body,
                end,
                ..
            } = header;
            next = end;
            if header.length == 0 || self.is_cie(&header) {
                continue;
            }
            let Ok(cie_offset) = self.cie_offset(id, id_offset) else {
                continue;
            };
            if common.as_ref().is_none_or(|cie| cie.offset != cie_offset) {
                common = self.cie_at(cie_offset).ok();
            }
            let read = common.as_ref().map(|cie| self.code_of(&mut body, cie, end));
            if let Some(Ok(CodeFields { start, size, .. })) = read {
                ranges.push((start, start.saturating_add(size), offset));
            }
        }
        ranges
    }
}

fn read_string<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str> {
    /// Every FDE reads the string of its CIE, so a long string would make this quadratic.
    const LONGEST: usize = 1024;
    let length = cursor
        .rest()
        .iter()
        .take(LONGEST)
        .position(|byte| *byte == 0);
    let length = length.ok_or_else(|| Error::malformed("augmentation string", "it has no end"))?;
    let bytes = cursor.bytes(length as u64)?;
    cursor.u8()?;
    core::str::from_utf8(bytes)
        .map_err(|_| Error::malformed("augmentation string", "it is not UTF-8"))
}

/// The fields of an FDE with its code range.
struct CodeFields {
    start: u64,
    size: u64,
    lsda: Option<u64>,
    lsda_place: u64,
}

/// The entries of a section, in order.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    section: FrameSection<'a>,
    next: u64,
    /// The CIE read last, which is usually the next FDE's too.
    last: Option<Arc<Cie<'a>>>,
}

impl<'a> FallibleIterator for Entries<'a> {
    type Item = Entry<'a>;
    type Error = Error;

    fn next(&mut self) -> Result<Option<Entry<'a>>> {
        let offset = self.next;
        let header = match self.section.header(offset) {
            Ok(Some(header)) => header,
            Ok(None) => return Ok(None),
            Err(error) => {
                self.next = u64::MAX;
                return Err(error);
            }
        };
        self.next = header.end;
        if header.length == 0 {
            return Ok(Some(Entry::Terminator(offset)));
        }
        if self.section.is_cie(&header) {
            let cie = self.section.cie(header)?;
            self.last = Some(Arc::new(cie.clone()));
            return Ok(Some(Entry::Cie(cie)));
        }
        let last = &mut self.last;
        let fde = self.section.fde(header, |at| match last {
            Some(cie) if cie.offset == at => Ok(Arc::clone(cie)),
            Some(_) | None => Ok(Arc::clone(last.insert(Arc::new(self.section.cie_at(at)?)))),
        });
        fde.map(|fde| Some(Entry::Fde(fde)))
    }
}
