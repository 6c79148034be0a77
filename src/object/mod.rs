//! Reads a code object from bytes: ELF, relocations, compressed sections, offload bundles, kernel descriptors and metadata notes.
//!
//! It provides sections, symbols, code bytes and kernels. Interpreting the debug sections is left to `debug_info` and `frame`.
//!
//! * [`code_objects`] finds the code objects in any file that can hold some, [`select`] chooses one, [`code_object`] does both;
//! * [`CodeObject`] is an opened code object;
//! * [`ObjectInfo`] summarizes one.
//!
//! ```
//! use hetdwarf::object::CodeObject;
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let object = CodeObject::parse(&file)?;
//! assert_eq!(object.target().to_string(), "gfx1100");
//! let [kernel] = object.kernels()? else { panic!("one kernel") };
//! assert_eq!(kernel.name, "k");
//!
//! // The code that the kernel starts with.
//! let entry = kernel.entry().unwrap();
//! assert!(object.read_image(entry, 4).is_some());
//! assert!(object.section(".debug_info")?.is_some());
//! # Ok::<(), hetdwarf::Error>(())
//! ```
//!
//! Source: [USAGE](crate) "ELF Code Object", "Code Object Metadata", "Kernel Descriptor"; "Clang Offload Bundler".

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod amdgpu_info;
pub(crate) mod bytes;
mod compression;
mod containers;
mod contents;
pub mod descriptor;
mod dwarf6;
pub(crate) mod elf;
mod identify;
mod image;
mod info;
mod kernel;
mod kernel_info;
pub mod metadata;
mod msgpack;
mod note;
pub mod relocation;
mod section;
mod shader_info;
mod symbol;
mod target;
#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
pub(crate) mod testing;

#[cfg(feature = "serde")]
pub(crate) use contents::known_name;
pub(crate) use contents::static_name;

pub use amdgpu_info::{FunctionInfo, Resources};
pub(crate) use bytes::{slice_at, u32_at, u64_at};
pub use compression::Method as CompressionMethod;
pub(crate) use containers::CompressedBundle;
pub use containers::{
    ContainerPlace, EmbeddedCodeObject, Package, PackageReference, Selector, code_object,
    code_object_with, code_objects, code_objects_and_packages, code_objects_if_any,
    code_objects_or_host, code_objects_with, code_objects_within, is_core_file,
    may_hold_code_objects, select,
};
pub use descriptor::KernelDescriptor;
pub use elf::OsAbi;
pub(crate) use identify::{BUNDLE_MAGIC, CCOB_MAGIC, FileKind, is_amdgpu};
pub use info::{DebugSectionInfo, ObjectInfo};
pub use kernel::Kernel;
pub use kernel_info::{ArgumentInfo, KernelInfo};
pub use metadata::{KernelMetadata, Metadata};
pub use section::{Layout, Section, SectionKind};
pub use shader_info::ShaderInfo;
pub use symbol::{Symbol, SymbolKind, SymbolSection};

#[cfg(feature = "serde")]
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use contents::{Contents, Loaded};
use elf::Elf;
use identify::Machines;
use relocation::Unresolved;

use crate::arch::{TargetId, WaveSize};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use crate::meter::Meter;

/// One code object: an ELF64 file for AMDGPU, linked (`ET_DYN`), relocatable (`ET_REL`) or a `.dwo` file.
///
/// Opening it reads headers only. Contents are read, decompressed and relocated on demand, and kept. Several threads can share it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use hetdwarf::object::{CodeObject, Selector, code_object};
///
/// let file = std::fs::read("tests/bundle.hipfb")?;
/// let embedded = code_object(&file, &Selector::parse("gfx90a"))?;
/// let object = CodeObject::parse(&embedded.data)?;
///
/// let kernels = object.kernels()?;
/// assert_eq!(kernels[0].name, "divergent");
/// let descriptor = kernels[0].descriptor.as_ref().ok_or("no descriptor")?;
/// assert_eq!(descriptor.accumulation_offset(), Some(8));
/// let unit = object.section(".debug_info")?.ok_or("no debugging information")?;
/// assert_eq!(unit[4..6], [5, 0], "the version of DWARF");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CodeObject<'data> {
    elf: Elf<'data>,
    target: TargetId,
    sections: Vec<Section<'data>>,
    contents: Contents<'data>,
    symbols: OnceLock<Result<Vec<Symbol<'data>>>>,
    kernels: OnceLock<Result<Vec<Kernel>>>,
}

impl<'data> CodeObject<'data> {
    /// Opens a code object, with the default [`Limits`].
    ///
    /// # Errors
    /// [`Malformed`](crate::error::ErrorKind::Malformed) if the bytes are not a code object (the error identifies the file) or a header is wrong;
    /// [`Unsupported`](crate::error::ErrorKind::Unsupported) for version 2 and processors without DWARF.
    pub fn parse(data: &'data [u8]) -> Result<CodeObject<'data>> {
        CodeObject::parse_with(data, &Limits::default())
    }

    /// Opens a code object.
    ///
    /// # Errors
    /// Fails like [`parse`](Self::parse).
    pub fn parse_with(data: &'data [u8], limits: &Limits) -> Result<CodeObject<'data>> {
        CodeObject::parse_within(data, &Arc::new(Meter::new(limits, bytes::len(data))))
    }

    /// Opens a code object within a query, for example one from a bundle. Everything read from it later is charged to that query too.
    ///
    /// # Errors
    /// Fails like [`parse`](Self::parse).
    pub fn parse_within(data: &'data [u8], meter: &Arc<Meter>) -> Result<CodeObject<'data>> {
        CodeObject::parse_for(data, Machines::Amdgpu, Layout::Distinct, meter)
    }

    /// Opens an ELF64 little-endian object or executable of any machine, with its debugging information.
    ///
    /// For a machine other than AMDGPU, the [`target`](Self::target) has no known processor, and there are no kernels. Documentation about GPUs does
    /// not apply to it.
    ///
    /// # Errors
    /// Fails like [`parse`](Self::parse), except that any machine is accepted.
    pub fn parse_any_machine(
        data: &'data [u8],
        layout: Layout,
        meter: &Arc<Meter>,
    ) -> Result<CodeObject<'data>> {
        CodeObject::parse_for(data, Machines::Any, layout, meter)
    }

    fn parse_for(
        data: &'data [u8],
        machines: Machines,
        layout: Layout,
        meter: &Arc<Meter>,
    ) -> Result<CodeObject<'data>> {
        let elf = Elf::parse(data, machines, meter)?;
        let target = target::of_elf(&elf)?;
        let sections = section::read_all(&elf, layout)?;
        let contents = Contents::new(&elf, &sections)?;
        Ok(CodeObject {
            elf,
            target,
            sections,
            contents,
            symbols: OnceLock::new(),
            kernels: OnceLock::new(),
        })
    }

    /// Returns the limits with which it was opened.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.meter().limits()
    }

    /// Returns the meter for everything read from it.
    #[must_use]
    pub fn meter(&self) -> &Arc<Meter> {
        self.elf.held.meter()
    }

    /// Returns the processor and its features, or another machine.
    #[must_use]
    pub fn target(&self) -> &TargetId {
        &self.target
    }

    /// Returns the operating system of the code.
    #[must_use]
    pub fn os_abi(&self) -> OsAbi {
        self.elf.os_abi
    }

    /// Returns `e_ident[EI_ABIVERSION]`, 1 to 4 for `amdhsa`; see [`code_object_version`](Self::code_object_version).
    #[must_use]
    pub fn abi_version(&self) -> u8 {
        self.elf.abi_version
    }

    /// Returns the version of code objects, 3 to 6, or `None` for systems other than `amdhsa`, which have no such versions.
    #[must_use]
    pub fn code_object_version(&self) -> Option<u8> {
        if self.elf.os_abi == OsAbi::Hsa {
            self.elf.abi_version.checked_add(2)
        } else {
            None
        }
    }

    /// Returns `e_flags` as a number.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.elf.flags
    }

    /// Returns true if the object has not been linked (`ET_REL`).
    ///
    /// Its allocated sections then get synthetic addresses. Code sections come first, from 0, in the order of the file, each aligned. The other
    /// allocated sections follow. Sections, symbols, relocated contents and [`read_image`](Self::read_image) all use these addresses. A single code
    /// section is at 0, as other tools show it. If there are several (`-ffunction-sections`), other tools show each at 0, which makes them
    /// indistinguishable.
    #[must_use]
    pub fn is_relocatable(&self) -> bool {
        self.elf.relocatable
    }

    /// Returns all sections, in the order of the file. The index equals the index in the section header table, so the first one is the null section.
    #[must_use]
    pub fn sections(&self) -> &[Section<'data>] {
        &self.sections
    }

    /// Returns the contents of the section with this name, decompressed and relocated, or `None` if there is none or it has no bytes in the file.
    ///
    /// `.debug_info` also finds `.zdebug_info`. In a relocatable object all debug sections of one name (type units have one each) are joined in the
    /// order of the file, as a linker would join them. [`unresolved_relocations`](Self::unresolved_relocations) lists the relocations that cannot be
    /// applied.
    ///
    /// # Errors
    /// If the contents are outside the file, do not decompress, are larger than the limit, or have
    /// relocations outside the section or to symbols that do not exist.
    pub fn section(&self, name: &str) -> Result<Option<&[u8]>> {
        Ok(self.load(name)?.map(|loaded| &*loaded.bytes))
    }

    /// Returns the contents of a debug section for a reader of DWARF 5, with the offsets of the parts of version 6 that are read as version 5. Empty
    /// if there is none.
    ///
    /// # Errors
    /// Fails like [`section`](Self::section).
    pub(crate) fn debug_section(&self, name: &str) -> Result<(&[u8], &[u64])> {
        match self.load(name)? {
            Some(loaded) => loaded.as_dwarf5(name, &self.elf.held),
            None => Ok((&[], &[])),
        }
    }

    /// Returns true if it has sections for split units (`.debug_info.dwo`): a `.dwo` file, a package, or an object from `-gsplit-dwarf=single`, which
    /// also has skeletons.
    #[must_use]
    pub fn has_split_units(&self) -> bool {
        let mut names = self.sections.iter().map(|section| &*section.name);
        names.any(|name| matches!(name, ".debug_info.dwo" | ".debug_types.dwo"))
    }

    /// Returns the relocations of a section that could not be applied, by ascending entry in the file, at most 2^16 for each section. A linked object
    /// has none.
    ///
    /// # Errors
    /// Fails like [`section`](Self::section).
    pub fn unresolved_relocations(&self, name: &str) -> Result<&[Unresolved]> {
        Ok(self
            .load(name)?
            .map_or(&[][..], |loaded| &loaded.unresolved))
    }

    /// Returns the contents of a section before relocation, empty if there is none.
    ///
    /// # Errors
    /// Fails like [`section`](Self::section).
    #[cfg(feature = "serde")]
    pub(crate) fn stored_section(&self, name: &str) -> Result<&[u8]> {
        let index = self.sections.iter().position(|s| s.standard_name() == name);
        let loaded = match index {
            Some(index) => (self.contents).load_stored(&self.elf, &self.sections, index)?,
            None => None,
        };
        Ok(loaded.map_or(&[], |loaded| &*loaded.bytes))
    }

    /// Returns the indices of the sections to which the relocated fields of the sections with this name refer, by the offsets of the fields. Empty
    /// for a linked object.
    ///
    /// # Errors
    /// If the relocations are malformed; if a limit is reached.
    #[cfg(feature = "serde")]
    pub(crate) fn targets_of(&self, name: &str) -> Result<BTreeMap<u64, usize>> {
        let mut targets = BTreeMap::new();
        if !self.is_relocatable() {
            return Ok(targets);
        }
        let sections = self.sections.iter().enumerate();
        for (index, section) in sections.filter(|(_, section)| section.standard_name() == name) {
            relocation::targets_of(&self.elf, index, section.address, &mut targets)?;
        }
        Ok(targets)
    }

    fn load(&self, name: &str) -> Result<Option<&Loaded<'data>>> {
        let by_name = |name: &str| self.sections.iter().position(|s| s.name == name);
        let by_standard_name = || self.sections.iter().position(|s| s.standard_name() == name);
        match by_name(name).or_else(by_standard_name) {
            Some(index) => self.contents.load(&self.elf, &self.sections, index),
            None => Ok(None),
        }
    }

    /// Returns the symbols of `.symtab` or, in a stripped object, `.dynsym`, in the order of the file.
    ///
    /// # Errors
    /// If the table is malformed.
    pub fn symbols(&self) -> Result<&[Symbol<'data>]> {
        self.symbols
            .get_or_init(|| symbol::read_all(&self.elf, &self.sections))
            .as_ref()
            .map(Vec::as_slice)
            .map_err(Clone::clone)
    }

    /// Returns the `len` bytes of the loaded image at `address`, code or constants.
    ///
    /// Returns `None` unless one segment (in a relocatable object, one section) has all of them in the file. The rest is unmapped, zeros without file
    /// contents, or malformed. Dynamic relocations (`.rela.dyn`, which a loader applies to pointers in data) are not applied.
    #[must_use]
    pub fn read_image(&self, address: u64, len: usize) -> Option<&[u8]> {
        let section = |index| {
            let loaded = self
                .contents
                .load(&self.elf, &self.sections, index)
                .ok()??;
            Some(&*loaded.bytes)
        };
        image::read(
            &self.elf,
            &self.sections,
            section,
            address,
            u64::try_from(len).ok()?,
        )
    }

    /// Returns the addresses of the loaded segments (`PT_LOAD`), `p_memsz` bytes from `p_vaddr` on, in the order of the file. A relocatable object
    /// has none.
    pub fn load_segments(&self) -> impl Iterator<Item = core::ops::Range<u64>> + '_ {
        image::load_segments(&self.elf)
    }

    /// Returns the compiler's data for the linker about each function (`.amdgpu.info`), in the order of the file. Empty for an object without it,
    /// such as a linked one.
    ///
    /// # Errors
    /// If the section or a symbol is malformed; if a limit is reached.
    pub fn function_infos(&self) -> Result<Vec<FunctionInfo>> {
        amdgpu_info::read(self)
    }

    /// Reads the metadata notes. Returns `None` if there are none.
    ///
    /// # Errors
    /// If a note is malformed, or the YAML of version 2 has syntax that compilers do not write.
    pub fn metadata(&self) -> Result<Option<Metadata>> {
        metadata::read_notes(&self.elf)
    }

    /// Returns all kernels, sorted by name: those with a descriptor (a symbol that ends in `.kd`) and those that only the metadata mention.
    ///
    /// # Errors
    /// If the symbols or the metadata are malformed.
    pub fn kernels(&self) -> Result<&[Kernel]> {
        let read = || kernel::read_all(self, self.metadata()?.as_ref());
        self.kernels
            .get_or_init(read)
            .as_ref()
            .map(Vec::as_slice)
            .map_err(Clone::clone)
    }

    /// Checks that waves of this size can run the code, as far as its processor and its kernels tell. Check a wave that comes from
    /// elsewhere: with the wrong number of lanes, answers about it are wrong.
    ///
    /// # Errors
    /// [`WrongWaveSize`](ErrorKind::WrongWaveSize) if they cannot.
    pub fn check_wave_size(&self, wave_size: WaveSize) -> Result<()> {
        self.target().processor().check_wave_size(wave_size)?;
        // A processor with two sizes, and kernels that cannot be read, exclude none.
        match self.wave_size() {
            Ok(Some(only)) if only != wave_size => Err(ErrorKind::WrongWaveSize {
                lanes: wave_size.lanes(),
                reason: format!("the code is for waves of {}", only.lanes()),
            }
            .into()),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Returns the number of lanes of the waves that run it, or `None` if that varies or is unknown.
    ///
    /// # Errors
    /// If the processor allows several sizes, and the kernels cannot be read.
    pub(crate) fn wave_size(&self) -> Result<Option<WaveSize>> {
        let processor = self.target().processor();
        let [small, large] =
            [WaveSize::Wave32, WaveSize::Wave64].map(|size| processor.supports_wave_size(size));
        let kernels = match self.kernels() {
            Ok(kernels) => kernels,
            Err(_) if small != large => &[],
            Err(error) => return Err(error),
        };
        let mut sizes = kernels.iter().filter_map(Kernel::wave_size);
        Ok(match sizes.next() {
            Some(first) => sizes.all(|size| size == first).then_some(first),
            None if small != large => Some(if small {
                WaveSize::Wave32
            } else {
                WaveSize::Wave64
            }),
            None => None,
        })
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
mod tests;
