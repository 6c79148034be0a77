//! Finding code objects in the files that hold them: bundles, host objects and executables, archives.
//!
//! Which of several to take is [`select()`]'s question; opening one is [`CodeObject`](super::CodeObject)'s.
//!
//! Nesting is fixed: an archive holds host objects, bundles or code objects; a host object holds bundles
//! or offload binaries in sections; those hold code objects. Nothing deeper is looked into, so no file
//! can make this endless. Sources: "Clang Offload Bundler", "Clang Offload Packager", USAGE "Embedding
//! Bundled Code Objects".

mod bundle;
mod compressed_header;
mod offload_binary;
mod select;

pub(crate) use bundle::CompressedBundle;
pub use select::{Selector, select};

use std::borrow::Cow;
use std::sync::Arc;

use object::LittleEndian as LE;
use object::read::archive::ArchiveFile;
use object::read::elf::FileHeader as _;

use super::bytes::{self, slice_at};
use super::compression::Method;
use super::elf::{self, Header, Names};
use super::identify::{BUNDLE_MAGIC, FileKind};
use super::target;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::meter::Meter;

/// A code object found in a file.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedCodeObject<'data> {
    /// Its number among those of the file, from 0.
    pub index: usize,
    /// The bundle entry ID, `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+` for example; empty for a code object
    /// that is in no bundle. One from an offload binary is written in the same way.
    pub id: String,
    /// The target ID, `gfx90a:xnack+` for example: what the code object's header says or, if that cannot
    /// be read, the end of `id`.
    pub target: String,
    /// Where it was found.
    pub place: ContainerPlace,
    /// The code object.
    pub data: Cow<'data, [u8]>,
}

/// Where in a file a code object was found.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerPlace {
    /// The member of the archive.
    pub member: Option<String>,
    /// The section of the host object.
    pub section: Option<String>,
    /// What it was compressed with, as part of a whole bundle.
    pub compression: Option<Method>,
    /// The offset in the file, in bytes: of the code object or, if that was compressed, of the bundle.
    pub offset: u64,
}

impl core::fmt::Display for ContainerPlace {
    /// `member(x.o) section .hip_fatbin offset 0x1000 (zstd)`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if let Some(member) = &self.member {
            write!(f, "member {member} ")?;
        }
        if let Some(section) = &self.section {
            write!(f, "section {section} ")?;
        }
        write!(f, "offset {:#x}", self.offset)?;
        match self.compression {
            Some(method) => write!(f, " ({})", method.name()),
            None => Ok(()),
        }
    }
}

/// All code objects in a file, in the order of the file, with the default [`Limits`].
///
/// The file is a code object itself; a clang offload bundle, plain (`__CLANG_OFFLOAD_BUNDLE__`) or
/// compressed (`CCOB`, header versions 1 to 3), or several of them one after the other; LLVM's offload
/// binary; a host object or executable (ELF64) with any of these in `.hip_fatbin`, `.llvm.offloading` or
/// sections named `__CLANG_OFFLOAD_BUNDLE__*`; or a static archive of such files. Entries that are not
/// AMDGPU ELF files (host code, bitcode, other devices) are passed over.
///
/// # Errors
/// If there is none, saying what the file is; if a container is malformed; if a limit is reached.
pub fn code_objects(data: &[u8]) -> Result<Vec<EmbeddedCodeObject<'_>>> {
    code_objects_with(data, &Limits::default())
}

/// All code objects in a file, in the order of the file.
///
/// # Errors
/// As [`code_objects`].
pub fn code_objects_with<'data>(
    data: &'data [u8],
    limits: &Limits,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    at_least_one(data, search(data, &meter_of(data, limits), Keep::All)?)
}

fn meter_of(data: &[u8], limits: &Limits) -> Arc<Meter> {
    Arc::new(Meter::new(limits, bytes::len(data)))
}

/// As [`code_objects`], for files that nobody said are for a GPU: one without a code object gives none,
/// and is no error.
///
/// # Errors
/// If a container is malformed; if a limit is reached.
pub fn code_objects_if_any<'data>(
    data: &'data [u8],
    limits: &Limits,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    search(data, &meter_of(data, limits), Keep::All)
}

/// As [`code_objects_if_any`], as a part of a question.
///
/// # Errors
/// As [`code_objects_if_any`].
pub fn code_objects_within<'data>(
    data: &'data [u8],
    meter: &Arc<Meter>,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    search(data, meter, Keep::All)
}

/// Whether a file that starts with these bytes can hold code objects: it is an ELF64 file, a bundle or a
/// static archive.
///
/// * `start`: the first 24 bytes, or all if there are less; more are not looked at.
#[must_use]
pub fn may_hold_code_objects(start: &[u8]) -> bool {
    let kind = FileKind::of(start);
    kind == FileKind::CodeObject || kind.is_container()
}

/// One code object of a file, with the default [`Limits`].
///
/// It is the one that [`select()`] would choose among all, but it is the only one held in memory: what a
/// compressed bundle has besides is decompressed and dropped.
///
/// # Errors
/// As [`code_objects`] and [`select()`].
pub fn code_object<'data>(
    data: &'data [u8],
    selector: &Selector,
) -> Result<EmbeddedCodeObject<'data>> {
    code_object_with(data, selector, &Limits::default())
}

/// One code object of a file.
///
/// # Errors
/// As [`code_object`].
pub fn code_object_with<'data>(
    data: &'data [u8],
    selector: &Selector,
    limits: &Limits,
) -> Result<EmbeddedCodeObject<'data>> {
    let meter = meter_of(data, limits);
    let all = at_least_one(data, search(data, &meter, Keep::File)?)?;
    let chosen = select(&all, selector)?;
    if chosen.place.compression.is_none() {
        return Ok(chosen.clone());
    }
    let index = chosen.index;
    drop(all);
    meter.reset();
    let again = search(data, &meter, Keep::One(index))?;
    select(&again, &Selector::Index(index)).cloned()
}

fn search<'data>(
    data: &'data [u8],
    meter: &Arc<Meter>,
    keep: Keep,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    let mut finder = Finder {
        keep,
        meter: Arc::clone(meter),
        found: Vec::new(),
    };
    let kind = FileKind::of(data);
    if kind == FileKind::Archive {
        finder.archive(data)?;
    } else {
        finder.file(data, &ContainerPlace::default())?;
    }
    Ok(finder.found)
}

fn at_least_one<'data>(
    data: &[u8],
    found: Vec<EmbeddedCodeObject<'data>>,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    if found.is_empty() {
        return Err(Error::malformed(
            "file",
            format!(
                "there is no AMDGPU code object in it; it is {}",
                FileKind::of(data).description(data)
            ),
        ));
    }
    Ok(found)
}

/// The bytes of a container.
#[derive(Clone, Copy)]
enum Source<'data, 'made> {
    /// Those of the file.
    File(&'data [u8]),
    /// Decompressed ones: what is found in them has to be copied.
    Made(&'made [u8]),
}

impl<'made> Source<'_, 'made> {
    fn bytes(self) -> &'made [u8]
    where
        Self: 'made,
    {
        match self {
            Source::File(bytes) | Source::Made(bytes) => bytes,
        }
    }
}

/// Which code objects to copy out of compressed bundles; the data of the others are left empty.
#[derive(Clone, Copy)]
enum Keep {
    All,
    /// None: only those that are in the file as they are.
    File,
    One(usize),
}

/// As how many steps an entry counts: its texts are read and written, and its header is looked at.
const PER_ENTRY: u64 = 16;

/// The search, with what it found and what it may still spend.
struct Finder<'data> {
    keep: Keep,
    meter: Arc<Meter>,
    found: Vec<EmbeddedCodeObject<'data>>,
}

impl<'data> Finder<'data> {
    /// A file that is not an archive, at `place` of the whole.
    fn file(&mut self, data: &'data [u8], place: &ContainerPlace) -> Result<()> {
        match FileKind::of(data) {
            FileKind::CodeObject => self.add(String::new(), data, place.clone()),
            FileKind::HostElf => self.host(data, place),
            FileKind::Bundle | FileKind::CompressedBundle => self.bundles(data, place),
            FileKind::OffloadBinary => self.offload_binaries(data, place),
            FileKind::Elf32
            | FileKind::BigEndianElf
            | FileKind::Archive
            | FileKind::ThinArchive
            | FileKind::Bitcode
            | FileKind::Empty
            | FileKind::Unknown => Ok(()),
        }
    }

    fn archive(&mut self, data: &'data [u8]) -> Result<()> {
        let bad = |e| elf::bad("archive", e);
        let archive = ArchiveFile::parse(data).map_err(bad)?;
        for member in archive.members() {
            self.meter.work(PER_ENTRY)?;
            let member = member.map_err(bad)?;
            let contents = member.data(data).map_err(bad)?;
            self.meter.pass(member.name().len())?;
            let place = ContainerPlace {
                member: Some(String::from_utf8_lossy(member.name()).into_owned()),
                offset: member.file_range().0,
                ..ContainerPlace::default()
            };
            self.file(contents, &place)?;
        }
        Ok(())
    }

    /// A host object: the sections that compilers embed device code in.
    fn host(&mut self, data: &'data [u8], place: &ContainerPlace) -> Result<()> {
        let bad = |e| elf::bad("ELF header", e);
        let header = Header::parse(data).map_err(bad)?;
        let (sections, names) = elf::section_table(header, data)?;
        self.meter.work(sections.len() as u64)?;
        let meter = Arc::clone(&self.meter);
        let names = Names::new(names, &meter);
        for section in sections {
            let name = names.text(section.sh_name.get(LE))?;
            let id = name.as_bytes().strip_prefix(BUNDLE_MAGIC);
            let embeds =
                id.is_some() || name.starts_with(".hip_fatbin") || name == ".llvm.offloading";
            if !embeds || section.sh_type.get(LE) == object::elf::SHT_NOBITS {
                continue;
            }
            self.meter.work(PER_ENTRY)?;
            let (offset, size) = (section.sh_offset.get(LE), section.sh_size.get(LE));
            let contents = slice_at(data, offset, size).ok_or_else(|| {
                Error::malformed(
                    "host object",
                    format!("section {name} reaches beyond the end of the file"),
                )
            })?;
            let place = ContainerPlace {
                section: Some(name.to_string()),
                offset: place.offset.saturating_add(offset),
                ..place.clone()
            };
            let id = id.map_or(String::new(), |id| String::from_utf8_lossy(id).into_owned());
            if elf::is_amdgpu(contents) {
                self.add(id, contents, place)?;
            } else if FileKind::of(contents) != FileKind::HostElf {
                self.file(contents, &place)?;
            }
        }
        Ok(())
    }

    /// An entry of a container; passed over if it is not a code object.
    fn entry(
        &mut self,
        id: &str,
        container: Source<'data, '_>,
        offset: u64,
        size: u64,
        place: &ContainerPlace,
    ) -> Result<()> {
        let outside = || {
            Error::malformed(
                "bundle",
                format!("entry {id} reaches beyond the end of the data"),
            )
        };
        let entry = slice_at(container.bytes(), offset, size).ok_or_else(outside)?;
        if !elf::is_amdgpu(entry) {
            return Ok(());
        }
        let mut place = place.clone();
        let data = match container {
            Source::File(all) => {
                place.offset = place.offset.saturating_add(offset);
                Cow::Borrowed(slice_at(all, offset, size).ok_or_else(outside)?)
            }
            Source::Made(_) if self.keeps_next() => {
                self.meter.hold(bytes::len(entry))?;
                self.meter.pass(entry.len())?;
                Cow::Owned(entry.to_vec())
            }
            Source::Made(_) => Cow::Borrowed(&[][..]),
        };
        self.meter.work(PER_ENTRY)?;
        self.push(id.to_owned(), entry, data, place)
    }

    fn keeps_next(&self) -> bool {
        match self.keep {
            Keep::All => true,
            Keep::File => false,
            Keep::One(index) => index == self.found.len(),
        }
    }

    /// A code object that is in the file as it is.
    fn add(&mut self, id: String, data: &'data [u8], place: ContainerPlace) -> Result<()> {
        self.meter.work(PER_ENTRY)?;
        self.push(id, data, Cow::Borrowed(data), place)
    }

    /// `object` is what was found, `data` what is kept of it.
    fn push(
        &mut self,
        id: String,
        object: &[u8],
        data: Cow<'data, [u8]>,
        place: ContainerPlace,
    ) -> Result<()> {
        let texts = [Some(&id), place.member.as_ref(), place.section.as_ref()];
        let texts = texts.into_iter().flatten();
        let length = texts.fold(0, |sum: u64, text| sum.saturating_add(text.len() as u64));
        self.meter.hold(length)?;
        self.meter.hold_all::<EmbeddedCodeObject<'_>>(1)?;
        let target = match target::of_header(object) {
            Some(target) => target.to_string(),
            None => target::at_end_of_id(&id).to_owned(),
        };
        self.found.push(EmbeddedCodeObject {
            index: self.found.len(),
            id,
            target,
            place,
            data,
        });
        Ok(())
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
mod tests;
