//! Identifies a file by its first bytes, to choose how to open it, and for messages about unsupported files.

use object::elf;

use super::bytes::{slice_at, u16_at};
use crate::arch::Machine;

/// Returns the number of an ELF file's machine (`e_machine`), for any machine.
fn machine(data: &[u8]) -> Option<u16> {
    u16_at(data, 18)
}

/// Returns true if the bytes start like an ELF64 little-endian file for AMDGPU.
pub(crate) fn is_amdgpu(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF\x02\x01") && machine(data) == Some(elf::EM_AMDGPU.0)
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// An ELF64 file for AMDGPU.
    CodeObject,
    /// An ELF64 little-endian core file, for any machine.
    Core,
    /// Any other ELF64 little-endian file.
    HostElf,
    /// A 32-bit ELF file.
    Elf32,
    /// A big-endian ELF file.
    BigEndianElf,
    /// A clang offload bundle.
    Bundle,
    /// A compressed clang offload bundle.
    CompressedBundle,
    /// LLVM's offload binary, the contents of `.llvm.offloading`.
    OffloadBinary,
    /// A package of device code of several libraries.
    Kpack,
    /// A module of IREE: a `FlatBuffer`, perhaps as the first file of a ZIP archive.
    IreeModule,
    /// A static archive.
    Archive,
    /// A static archive whose members are other files.
    ThinArchive,
    /// LLVM bitcode.
    Bitcode,
    /// No bytes at all.
    Empty,
    /// Something else.
    Unknown,
}

/// The machines whose files are opened as code objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machines {
    /// AMDGPU.
    Amdgpu,
    /// All machines with ELF64 little-endian files.
    Any,
}

impl Machines {
    /// Returns true if these machines include a file of this kind.
    pub(super) fn include(self, kind: FileKind) -> bool {
        kind == FileKind::CodeObject || (self, kind) == (Machines::Any, FileKind::HostElf)
    }
}

/// The first bytes of a plain bundle.
pub(crate) const BUNDLE_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// The first bytes of a compressed bundle.
pub(crate) const CCOB_MAGIC: &[u8] = b"CCOB";
/// The first bytes of LLVM's offload binary.
pub(super) const OFFLOAD_MAGIC: &[u8] = &[0x10, 0xff, 0x10, 0xad];
/// The first bytes of a package of device code.
pub(super) const KPACK_MAGIC: &[u8] = b"KPAK";

impl FileKind {
    /// Identifies a file by its first bytes.
    pub(crate) fn of(data: &[u8]) -> FileKind {
        const MAGICS: &[(&[u8], FileKind)] = &[
            (b"\x7fELF\x01", FileKind::Elf32),
            (b"\x7fELF\x02\x02", FileKind::BigEndianElf),
            (b"\x7fELF\x02\x01", FileKind::HostElf),
            (BUNDLE_MAGIC, FileKind::Bundle),
            (CCOB_MAGIC, FileKind::CompressedBundle),
            (OFFLOAD_MAGIC, FileKind::OffloadBinary),
            (KPACK_MAGIC, FileKind::Kpack),
            (b"!<arch>\n", FileKind::Archive),
            (b"!<thin>\n", FileKind::ThinArchive),
            (b"BC\xc0\xde", FileKind::Bitcode),
        ];
        if data.is_empty() {
            return FileKind::Empty;
        }
        if is_core(data) {
            return FileKind::Core;
        }
        if is_amdgpu(data) {
            return FileKind::CodeObject;
        }
        if is_iree_module(data) {
            return FileKind::IreeModule;
        }
        MAGICS
            .iter()
            .find(|(magic, _)| data.starts_with(magic))
            .map_or(FileKind::Unknown, |&(_, kind)| kind)
    }

    /// Returns true if code objects can be inside.
    pub(super) fn is_container(self) -> bool {
        matches!(
            self,
            FileKind::HostElf
                | FileKind::Bundle
                | FileKind::CompressedBundle
                | FileKind::OffloadBinary
                | FileKind::Kpack
                | FileKind::IreeModule
                | FileKind::Archive
        )
    }

    /// Returns true if code objects are searched for in `inner`, when this kind of file contains it. Code objects themselves are handled elsewhere.
    ///
    /// All contents of bundles and offload binaries are searched, except archives, which are searched only as whole files. A host object inside a
    /// host object is not searched.
    pub(crate) fn is_searched_for(self, inner: FileKind) -> bool {
        match inner {
            FileKind::Bundle | FileKind::CompressedBundle | FileKind::OffloadBinary => true,
            FileKind::HostElf => self != FileKind::HostElf,
            FileKind::CodeObject
            | FileKind::Core
            | FileKind::Elf32
            | FileKind::BigEndianElf
            | FileKind::Kpack
            | FileKind::IreeModule
            | FileKind::Archive
            | FileKind::ThinArchive
            | FileKind::Bitcode
            | FileKind::Empty
            | FileKind::Unknown => false,
        }
    }

    /// Returns a description, for a person who expected a code object.
    pub(super) fn description(self, data: &[u8]) -> String {
        let fixed = match self {
            FileKind::CodeObject => "an AMDGPU code object",
            FileKind::HostElf => {
                let machine = machine(data).unwrap_or(0);
                let name = Machine(machine).name();
                let name = name.map_or(String::new(), |name| format!(" ({name})"));
                return format!("an ELF file for machine {machine}{name}, not for AMDGPU (224)");
            }
            FileKind::Core => "a core file, not a code object: `hetdwarf core` reads it",
            FileKind::Elf32 => "a 32-bit ELF file; AMDGPU code objects are ELF64",
            FileKind::BigEndianElf => {
                "a big-endian ELF file; AMDGPU code objects are little-endian"
            }
            FileKind::Bundle => "an offload bundle",
            FileKind::CompressedBundle => "a compressed offload bundle",
            FileKind::OffloadBinary => "an offload binary",
            FileKind::Kpack => "a kpack",
            FileKind::IreeModule => "a module of IREE",
            FileKind::Archive => "a static archive",
            FileKind::ThinArchive => "a thin archive; open its members, which are separate files",
            FileKind::Bitcode => "LLVM bitcode, not compiled yet",
            FileKind::Empty => "an empty file",
            FileKind::Unknown => "neither an ELF file nor an offload bundle",
        };
        fixed.to_owned()
    }
}

/// Returns true for a 64-bit little-endian ELF core file.
fn is_core(data: &[u8]) -> bool {
    // `e_type` follows the 16 bytes of `e_ident`.
    data.starts_with(b"\x7fELF\x02\x01") && u16_at(data, 16) == Some(elf::ET_CORE.0)
}

/// Returns true if the bytes start like an IREE module: a size, the root's offset and the identifier of the `FlatBuffer`, 4 bytes each. A ZIP file
/// header may precede them, which ends with the lengths of its name and extra field.
fn is_iree_module(data: &[u8]) -> bool {
    let is_module = |at: u64| slice_at(data, at.saturating_add(8), 4) == Some(b"IREE");
    if !data.starts_with(b"PK\x03\x04") {
        return is_module(0);
    }
    let lengths = u16_at(data, 26).zip(u16_at(data, 28));
    lengths.is_some_and(|(name, extra)| {
        is_module(
            u64::from(name)
                .saturating_add(extra.into())
                .saturating_add(30),
        )
    })
}
