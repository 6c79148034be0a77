//! Checks the entries of `.debug_frame` and `.eh_frame`: they must be readable, and their fields must be valid. `coverage` checks the covered code,
//! and `instructions` checks the instructions. Sources: DWARF 5 §6.4.1, HET A.6.4.1, USAGE "Call Frame Information".

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::arch::{Machine, Register};
use crate::error::{Error, ErrorKind};
use crate::frame::{Cie, Fde, FrameSection, SectionKind};
use crate::meter::Meter;

rules! {
    LENGTH "cfi-entry-length" Error "DWARF 5 §6.4.1"
        "the length of an entry is invalid"
        "An entry starts with the number of bytes that follow. If this length goes past the end of the section or is reserved, neither \
         the entry nor any entry after it can be read.";
    ENTRY "cfi-entry" Error "DWARF 5 §6.4.1"
        "an entry cannot be read"
        "A field of the entry is missing, runs past the end of the entry or has a value that the format does not define. A debugger cannot \
         unwind the functions that need it.";
    CIE_POINTER "cfi-cie-pointer" Error "DWARF 5 §6.4.1"
        "a frame description entry belongs to no common information entry"
        "The CIE_pointer of a frame description entry is the offset of its common information entry in the section. None starts at that \
         offset, so the entry cannot be interpreted and its function cannot be unwound.";
    VERSION "cfi-version" Error "DWARF 5 §6.4.1"
        "the version of a common information entry is unknown"
        "Call frame information has its own versions: 1 in DWARF 2, 3 in DWARF 3, 4 since DWARF 4. The fields of other versions are \
         unknown, so the functions of the entry cannot be unwound.";
    AUGMENTATION "cfi-augmentation" Warning "HET A.6.4.1"
        "an augmentation string names unknown extensions"
        "The augmentation string names the vendor extensions of the entry, as [vendor:vX.Y:options]. A reader that does not know the \
         vendor or the major version must not interpret the instructions; it can use only the range of code. Known are [amd:v0.Y], \
         [amdgpu:v0.Y] and [llvm:v0.Y], the empty string, and the letters of .eh_frame.";
    ADDRESS_SIZE "cfi-address-size" Error "DWARF 5 §6.4.1"
        "an entry has a different address size than the process"
        "An AMDGPU process has addresses of 8 bytes and no segments (USAGE \"Call Frame Information\"). With other sizes, the start and \
         length of every function of this entry are read from the wrong bytes.";
    ALIGNMENT "cfi-entry-alignment" Warning "DWARF 5 §7.2.1"
        "the size of an entry is not a multiple of the address size"
        "DW_CFA_nop pads an entry so that its length field plus its contents are a multiple of the address size. Readers \
         that use the length are not affected, but some tools that copy or sort entries are.";
    FACTOR "cfi-alignment-factor" Error "DWARF 5 §6.4.1"
        "an alignment factor is zero"
        "Advances are multiplied by the code alignment factor, and offsets by the data alignment factor. With a factor of zero, every row \
         starts at the start of the function, or every register is saved at the CFA.";
    RETURN_ADDRESS "cfi-return-address-column" Error "USAGE \"Call Frame Information\""
        "the return address is not in the column of the program counter"
        "In a 64-bit AMDGPU process, the return address register is 16, PC_64. An unwinder uses the rule of the register that is named \
         here to find the caller's program counter. Any other register gives a wrong caller, or none.";
    TERMINATOR "cfi-terminator" Warning "LSB Core, \"Exception Frames\""
        "an entry of length zero has entries after it"
        "In .eh_frame, an entry of length zero ends the section, and some readers skip everything after it. In \
         .debug_frame, such an entry is invalid.";
    UNUSED "cfi-unused-cie" Note "DWARF 5 §6.4.1"
        "no frame description entry belongs to a common information entry"
        "The entry describes nothing. Linkers that drop functions leave such entries behind.";
}

/// The first fields of an entry. They are read independently of `frame`, so that one wrong field does not hide the others.
struct Header {
    offset: u64,
    /// The offset of the first byte past the entry.
    end: u64,
    /// The length. It is zero only in the terminator.
    length: u64,
    id: u64,
    is_wide: bool,
    id_offset: u64,
}

/// Checks every entry, and returns the readable frame description entries.
pub(super) fn check<'a>(subject: &Subject<'_, 'a>, findings: &mut Findings) -> Vec<Fde<'a>> {
    let section = subject.frame_section();
    let meter = subject.meter();
    let headers = read_headers(&section, meter, findings);
    let is_cie = |header: &Header| match (section.kind(), header.is_wide) {
        (SectionKind::EhFrame, _) => header.id == 0,
        (SectionKind::DebugFrame, false) => header.id == 0xffff_ffff,
        (SectionKind::DebugFrame, true) => header.id == u64::MAX,
    };
    // The offset of each CIE, and true if an FDE refers to it, in the order of the section.
    let mut cies: Vec<(u64, bool)> = headers
        .iter()
        .filter(|header| header.length > 0 && is_cie(header))
        .map(|header| (header.offset, false))
        .collect();
    let mut fdes = Vec::new();
    for (number, header) in headers.iter().enumerate() {
        if header.length == 0 {
            if section.kind() == SectionKind::DebugFrame || number + 1 < headers.len() {
                let message = "an entry of length 0, which has no meaning here";
                findings.add(Finding::new(&TERMINATOR, section.name(), message).at(header.offset));
            }
            continue;
        }
        check_alignment(header, &section, findings);
        if is_cie(header) {
            match section.cie_at(header.offset) {
                Ok(cie) => check_cie(&cie, subject.machine(), &section, findings),
                Err(error) => findings.add(unreadable(&error, header, &section)),
            }
            continue;
        }
        let pointer = match section.kind() {
            SectionKind::DebugFrame => Some(header.id),
            SectionKind::EhFrame => header.id_offset.checked_sub(header.id),
        };
        let found =
            pointer.and_then(|at| cies.binary_search_by_key(&at, |(offset, _)| *offset).ok());
        let Some((_, used)) = found.and_then(|at| cies.get_mut(at)) else {
            let message = match pointer {
                Some(at) => format!("no common information entry starts at {at:#x}"),
                None => format!("{:#x} bytes back is before the section", header.id),
            };
            findings.add(Finding::new(&CIE_POINTER, section.name(), message).at(header.offset));
            continue;
        };
        *used = true;
        match section.fde_at(header.offset) {
            Ok(_) if meter.hold_all::<Fde<'a>>(1).is_err() => break,
            Ok(fde) => fdes.push(fde),
            // Faults of the CIE are reported with the CIE.
            Err(_) if pointer.is_some_and(|at| section.cie_at(at).is_err()) => {}
            Err(error) => findings.add(unreadable(&error, header, &section)),
        }
    }
    for (offset, _) in cies.into_iter().filter(|(_, used)| !used) {
        let message = "no frame description entry belongs to it";
        findings.add(Finding::new(&UNUSED, section.name(), message).at(offset));
    }
    fdes
}

/// The number of steps that are charged for an entry, which several checks read.
const PER_ENTRY: u64 = 8;

/// Reads the headers of all entries, up to the first with an impossible length.
fn read_headers(section: &FrameSection<'_>, meter: &Meter, findings: &mut Findings) -> Vec<Header> {
    let bytes = section.bytes();
    let mut headers = Vec::new();
    let mut offset = 0;
    while offset < bytes.len() {
        match read_header(section, offset) {
            Ok(header) => {
                let kept = meter.hold_all::<Header>(1);
                if meter.work(PER_ENTRY).and(kept).is_err() {
                    break;
                }
                offset = usize::try_from(header.end).unwrap_or(usize::MAX);
                headers.push(header);
            }
            Err(message) => {
                let rest = bytes.len() - offset;
                findings.add(
                    Finding::new(&LENGTH, section.name(), message)
                        .at(offset as u64)
                        .help(format!(
                            "the {rest:#x} bytes from here to the end of the section cannot be read"
                        )),
                );
                break;
            }
        }
    }
    headers
}

/// Reads a header without `UnitLength`, because `frame` uses `UnitLength` to read the data that is checked here.
fn read_header(section: &FrameSection<'_>, offset: usize) -> Result<Header, String> {
    let rest = section.bytes().get(offset..).unwrap_or_default();
    let number = |at: usize, size: usize| -> Option<u64> {
        let bytes = rest.get(at..)?.get(..size)?;
        let digits = bytes.iter().rev();
        Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let short = |what: &str| format!("the section ends within the {what}");
    let first = number(0, 4).ok_or_else(|| short("length"))?;
    let is_wide = first == 0xffff_ffff;
    let (length, id_at) = if is_wide {
        (number(4, 8).ok_or_else(|| short("length"))?, 12)
    } else if first >= 0xffff_fff0 {
        return Err(format!("the length {first:#x} is reserved"));
    } else {
        (first, 4)
    };
    // The CIE pointer of .eh_frame has four bytes in both formats.
    let id_size = match section.kind() {
        SectionKind::DebugFrame if is_wide => 8,
        SectionKind::DebugFrame | SectionKind::EhFrame => 4,
    };
    let after = (rest.len() - id_at) as u64;
    if length > after {
        return Err(format!(
            "the length is {length:#x}, but {after:#x} bytes are left in the section"
        ));
    }
    if length > 0 && length < id_size as u64 {
        return Err(format!(
            "the length is {length:#x}, less than the {id_size} bytes of the CIE pointer"
        ));
    }
    let offset = offset as u64;
    let id_offset = offset + id_at as u64;
    Ok(Header {
        offset,
        end: id_offset + length,
        length,
        id: number(id_at, id_size).unwrap_or_default(),
        is_wide,
        id_offset,
    })
}

fn unreadable(error: &Error, header: &Header, section: &FrameSection<'_>) -> Finding {
    let is_version = matches!(
        error.kind(),
        ErrorKind::Malformed {
            what: "CIE version",
            ..
        }
    );
    let rule = if is_version { &VERSION } else { &ENTRY };
    Finding::new(rule, section.name(), error.kind().to_string()).at(header.offset)
}

fn check_alignment(header: &Header, section: &FrameSection<'_>, findings: &mut Findings) {
    let size = header.end - header.offset;
    // Entries of .eh_frame need only an alignment of 4.
    let (alignment, what) = match section.kind() {
        SectionKind::DebugFrame => (8, "an address"),
        SectionKind::EhFrame => (4, "a word"),
    };
    if !size.is_multiple_of(alignment) {
        let message = format!(
            "its size, {size:#x} bytes, is not a multiple of {alignment}, the size of {what}"
        );
        findings.add(
            Finding::new(&ALIGNMENT, section.name(), message)
                .at(header.offset)
                .help("pad the instructions with DW_CFA_nop"),
        );
    }
}

fn check_cie(cie: &Cie<'_>, machine: Machine, section: &FrameSection<'_>, findings: &mut Findings) {
    let mut add = |finding: Finding| findings.add(finding.at(cie.offset));
    if !cie.augmentation.is_known() {
        let message = format!("\"{}\" is unknown", cie.augmentation_text);
        add(Finding::new(&AUGMENTATION, section.name(), message));
        return;
    }
    if cie.address_size != 8 || cie.segment_selector_size != 0 {
        let message = format!(
            "addresses have {} bytes and segment selectors {}; a process has 8 and 0",
            cie.address_size, cie.segment_selector_size
        );
        add(Finding::new(&ADDRESS_SIZE, section.name(), message));
    }
    if cie.code_alignment_factor == 0 || cie.data_alignment_factor == 0 {
        let message = format!(
            "the code alignment factor is {}, the data alignment factor {}",
            cie.code_alignment_factor, cie.data_alignment_factor
        );
        add(Finding::new(&FACTOR, section.name(), message));
    }
    let pc = u64::from(Register::PC_64.number());
    if machine.is_amdgpu() && cie.return_address_register != pc {
        let message = format!("it is {}", cie.return_address_register);
        add(
            Finding::new(&RETURN_ADDRESS, section.name(), message).help(format!(
                "PC_64, the program counter of a 64-bit process, is {pc}"
            )),
        );
    }
}
