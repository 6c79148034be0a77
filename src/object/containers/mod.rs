//! Finds code objects in the files that hold them: bundles, host objects and executables, archives.
//!
//! Choosing one of several is left to [`select()`], and opening one to [`CodeObject`](super::CodeObject).
//!
//! An archive holds host objects, bundles or code objects. A host object holds bundles or offload binaries in sections. These hold code objects or
//! any of the above except archives (`FileKind::is_searched_for`). A package (`kpack`) holds the code objects of several libraries, which refer to
//! it. The nesting depth is limited (`Limits::containers`). Sources: "Clang Offload Bundler", "Clang Offload Packager", USAGE "Embedding Bundled Code
//! Objects".

mod bundle;
mod compressed_header;
mod kpack;
mod offload_binary;
mod select;
mod whole;

pub(crate) use bundle::CompressedBundle;
pub use kpack::{Package, PackageReference};
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
use crate::error::{Error, ErrorKind, Limit, Result};
use crate::limits::Limits;
use crate::meter::Meter;

/// A code object found in a file.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedCodeObject<'data> {
    /// The number among the code objects of the file, from 0.
    pub index: usize,
    /// The bundle entry ID, such as `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`, or empty for a code object outside a bundle. An ID from an offload
    /// binary has the same form. An ID from a package has the target from its table of contents.
    pub id: String,
    /// The target ID, such as `gfx90a:xnack+`: from the code object's header or, if that cannot be read, from the end of `id`.
    pub target: String,
    /// The place in which it was found.
    pub place: ContainerPlace,
    /// The code object.
    pub data: Cow<'data, [u8]>,
}

/// The place of a code object in a file.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerPlace {
    /// The member of the archive. For a package it is the name of the library, as `PACKAGE(…)` if the package is a file other than the searched one.
    pub member: Option<String>,
    /// The section of the host object.
    pub section: Option<String>,
    /// The compression of the whole bundle that contained it.
    pub compression: Option<Method>,
    /// The offset in the file, in bytes: of the code object, or of a compressed bundle that contains it.
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

/// Returns all code objects in a file, in the order of the file, with the default [`Limits`].
///
/// The file is one of these: a code object; one or several clang offload bundles, plain (`__CLANG_OFFLOAD_BUNDLE__`) or compressed (`CCOB`, header
/// versions 1 to 3); LLVM's offload binary; a host object or executable (ELF64) with any of these in `.hip_fatbin`, `.llvm.offloading` or sections
/// named `__CLANG_OFFLOAD_BUNDLE__*`; a static archive of such files; or a package (`.kpack`). In other files, and in host objects without those
/// sections, it finds contiguous uncompressed code objects. Entries that are not AMDGPU ELF files (host code, bitcode, other devices) are skipped.
///
/// # Errors
/// If there is none (the error names the kind of file), if a container is malformed, or if a limit is reached.
pub fn code_objects(data: &[u8]) -> Result<Vec<EmbeddedCodeObject<'_>>> {
    code_objects_with(data, &Limits::default())
}

/// Returns all code objects in a file, in the order of the file.
///
/// # Errors
/// Fails like [`code_objects`].
pub fn code_objects_with<'data>(
    data: &'data [u8],
    limits: &Limits,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    code_objects_and_packages(data, &[], limits)
}

/// Returns all code objects in a file, followed by those in the packages to which its [`PackageReference`] refers.
///
/// # Errors
/// Fails like [`code_objects`].
pub fn code_objects_and_packages<'data>(
    data: &'data [u8],
    packages: &[Package<'data>],
    limits: &Limits,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    let lengths = packages.iter().map(|package| bytes::len(package.data));
    let length = lengths.fold(bytes::len(data), u64::saturating_add);
    let meter = Arc::new(Meter::new(limits, length));
    let found = search(data, packages, &meter, Keep::All)?;
    at_least_one(data, found)
}

/// Returns the code objects from [`code_objects_and_packages`]. If there are none, or the requested target is the file's own machine, it returns the
/// file itself, provided that it is an ELF64 little-endian file for another machine.
/// [`CodeObject::parse_any_machine`](super::CodeObject::parse_any_machine) opens all of them.
///
/// # Errors
/// Fails like [`code_objects`].
pub fn code_objects_or_host<'data>(
    data: &'data [u8],
    packages: &[Package<'data>],
    selector: &Selector,
    limits: &Limits,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    if let Some(host) = host(data)
        && matches!(selector, Selector::Target(wanted) if wanted.eq_ignore_ascii_case(&host.target))
    {
        return Ok(vec![host]);
    }
    let found = code_objects_and_packages(data, packages, limits);
    match (&found, host(data)) {
        (Err(error), Some(host)) if is_without_reference(error, data) => Ok(vec![host]),
        (Ok(_) | Err(_), _) => found,
    }
}

/// Returns true if neither the file nor the packages it refers to have a code object.
fn is_without_reference(error: &Error, data: &[u8]) -> bool {
    matches!(error.kind(), ErrorKind::NoCodeObject { .. })
        && matches!(PackageReference::of(data, &Limits::DEFAULT), Ok(None))
}

/// Returns the file itself, if it is an ELF64 little-endian file for a machine other than AMDGPU.
pub(crate) fn host(data: &[u8]) -> Option<EmbeddedCodeObject<'_>> {
    if FileKind::of(data) != FileKind::HostElf {
        return None;
    }
    Some(EmbeddedCodeObject {
        index: 0,
        id: String::new(),
        target: target::of_header(data)?.to_string(),
        place: ContainerPlace::default(),
        data: Cow::Borrowed(data),
    })
}

fn meter_of(data: &[u8], limits: &Limits) -> Arc<Meter> {
    Arc::new(Meter::new(limits, bytes::len(data)))
}

/// Returns the code objects in a file that need not have any. Unlike [`code_objects`], it returns an empty list in place of an error.
///
/// # Errors
/// If a container is malformed, or a limit is reached.
pub fn code_objects_if_any<'data>(
    data: &'data [u8],
    limits: &Limits,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    search(data, &[], &meter_of(data, limits), Keep::All)
}

/// Returns the code objects of [`code_objects_if_any`] and those in packages the file refers to, charged to the meter of a query.
///
/// # Errors
/// Fails like [`code_objects_if_any`].
pub fn code_objects_within<'data>(
    data: &'data [u8],
    packages: &[Package<'data>],
    meter: &Arc<Meter>,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    search(data, packages, meter, Keep::All)
}

/// Returns true if a file that starts with these bytes can hold code objects: an ELF64 file, a bundle, a package, an IREE module or a static archive.
/// Files of unknown kinds may contain some too.
///
/// * `start`: the first 512 bytes, or all if there are fewer. The rest is ignored.
#[must_use]
pub fn may_hold_code_objects(start: &[u8]) -> bool {
    let kind = FileKind::of(start);
    kind == FileKind::CodeObject || kind.is_container()
}

/// Returns true if a file that starts with these bytes is an ELF64 little-endian core file, for any machine.
///
/// * `start`: the first 18 bytes, or more.
#[must_use]
pub fn is_core_file(start: &[u8]) -> bool {
    FileKind::of(start) == FileKind::Core
}

/// Returns one code object of a file, with the default [`Limits`].
///
/// It is the code object that [`select()`] would choose among all, but only this one is held in memory. The rest of a compressed bundle is
/// decompressed and dropped.
///
/// # Errors
/// Fails like [`code_objects`] and [`select()`].
pub fn code_object<'data>(
    data: &'data [u8],
    selector: &Selector,
) -> Result<EmbeddedCodeObject<'data>> {
    code_object_with(data, selector, &Limits::default())
}

/// Returns one code object of a file.
///
/// # Errors
/// Fails like [`code_object`].
pub fn code_object_with<'data>(
    data: &'data [u8],
    selector: &Selector,
    limits: &Limits,
) -> Result<EmbeddedCodeObject<'data>> {
    let meter = meter_of(data, limits);
    let all = at_least_one(data, search(data, &[], &meter, Keep::File)?)?;
    let chosen = select(&all, selector)?;
    if chosen.place.compression.is_none() {
        return Ok(chosen.clone());
    }
    let index = chosen.index;
    drop(all);
    meter.reset();
    let again = search(data, &[], &meter, Keep::One(index))?;
    select(&again, &Selector::Index(index)).cloned()
}

fn search<'data>(
    data: &'data [u8],
    packages: &[Package<'data>],
    meter: &Arc<Meter>,
    keep: Keep,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    let mut finder = Finder {
        keep,
        meter: Arc::clone(meter),
        found: Vec::new(),
        depth: 0,
    };
    finder.whole(data)?;
    if !packages.is_empty()
        && let Some(reference) = PackageReference::of(data, meter.limits())?
    {
        for package in packages {
            let source = Source::File(package.data);
            let place = ContainerPlace::default();
            finder.kpack(source, &place, Some(&reference), Some(package.name))?;
        }
    }
    Ok(finder.found)
}

fn at_least_one<'data>(
    data: &[u8],
    found: Vec<EmbeddedCodeObject<'data>>,
) -> Result<Vec<EmbeddedCodeObject<'data>>> {
    if found.is_empty() {
        let hint = match PackageReference::of(data, &Limits::DEFAULT)? {
            Some(reference) => format!("{reference}, which was not found"),
            None => format!("this is {}", FileKind::of(data).description(data)),
        };
        let found = format!("no AMDGPU code object found; {hint}");
        return Err(ErrorKind::NoCodeObject { found }.into());
    }
    Ok(found)
}

/// The bytes of a container.
#[derive(Clone, Copy)]
enum Source<'data, 'made> {
    /// Bytes of the file.
    File(&'data [u8]),
    /// Decompressed bytes. Code objects found in them are copied.
    Made(&'made [u8]),
}

impl<'data, 'made> Source<'data, 'made> {
    fn bytes(self) -> &'made [u8]
    where
        'data: 'made,
    {
        match self {
            Source::File(bytes) | Source::Made(bytes) => bytes,
        }
    }

    /// Returns a part of the bytes.
    fn part(self, offset: u64, size: u64) -> Option<Source<'data, 'made>> {
        Some(match self {
            Source::File(bytes) => Source::File(slice_at(bytes, offset, size)?),
            Source::Made(bytes) => Source::Made(slice_at(bytes, offset, size)?),
        })
    }

    /// Returns the bytes from an offset on.
    fn tail(self, offset: u64) -> Option<Source<'data, 'made>> {
        Some(match self {
            Source::File(bytes) => Source::File(bytes::tail_at(bytes, offset)?),
            Source::Made(bytes) => Source::Made(bytes::tail_at(bytes, offset)?),
        })
    }

    /// Returns the place of a part, given the `place` of the whole. Decompressed bytes have the place of their compressed source.
    fn place(self, place: &ContainerPlace, offset: u64) -> ContainerPlace {
        let mut place = place.clone();
        if let Source::File(_) = self {
            place.offset = place.offset.saturating_add(offset);
        }
        place
    }
}

/// The code objects to copy out of compressed bundles. The data of the others stay empty.
#[derive(Clone, Copy)]
enum Keep {
    All,
    /// No copies: only code objects that are uncompressed in the file have data.
    File,
    One(usize),
}

/// The steps charged for an entry: its texts are read and written, and its header is checked.
const PER_ENTRY: u64 = 16;

/// The search, with its results and remaining budget.
struct Finder<'data> {
    keep: Keep,
    meter: Arc<Meter>,
    found: Vec<EmbeddedCodeObject<'data>>,
    /// The number of containers around the current one.
    depth: u16,
}

impl<'data> Finder<'data> {
    fn whole(&mut self, data: &'data [u8]) -> Result<()> {
        let (source, place) = (Source::File(data), ContainerPlace::default());
        let kind = FileKind::of(data);
        if kind == FileKind::Archive {
            return self.within(|finder| finder.archive(data));
        }
        if kind == FileKind::CodeObject {
            return self.add(String::new(), source, place);
        }
        if kind == FileKind::Unknown {
            return self.whole_objects(source, &place);
        }
        self.container(kind, source, &place)
    }

    /// Searches a container, unless the nesting limit is reached.
    fn within<T>(&mut self, look: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let limits = self.meter.limits();
        if self.depth >= limits.containers {
            return Err(limits.reached(Limit::Containers));
        }
        self.depth = self.depth.saturating_add(1);
        let found = look(self);
        self.depth = self.depth.saturating_sub(1);
        found
    }

    /// Searches a container other than an archive, at `place` of the whole.
    fn container(
        &mut self,
        kind: FileKind,
        source: Source<'data, '_>,
        place: &ContainerPlace,
    ) -> Result<()> {
        self.within(|finder| match kind {
            FileKind::HostElf => finder.host(source, place),
            FileKind::Bundle | FileKind::CompressedBundle => finder.bundles(source, place),
            FileKind::OffloadBinary => finder.offload_binaries(source, place),
            FileKind::Kpack => finder.kpack(source, place, None, None),
            FileKind::IreeModule => finder.whole_objects(source, place),
            FileKind::CodeObject
            | FileKind::Core
            | FileKind::Elf32
            | FileKind::BigEndianElf
            | FileKind::Archive
            | FileKind::ThinArchive
            | FileKind::Bitcode
            | FileKind::Empty
            | FileKind::Unknown => Ok(()),
        })
    }

    /// Handles the contents of a container: a code object, or another container. Anything else is skipped.
    fn part(
        &mut self,
        holder: FileKind,
        id: String,
        source: Source<'data, '_>,
        place: ContainerPlace,
    ) -> Result<()> {
        let kind = FileKind::of(source.bytes());
        if kind == FileKind::CodeObject {
            return self.add(id, source, place);
        }
        if holder.is_searched_for(kind) {
            // Entries can overlap, so that the same bytes would be searched repeatedly.
            if matches!(
                holder,
                FileKind::Bundle | FileKind::OffloadBinary | FileKind::Kpack
            ) {
                self.meter.charge_bytes(source.bytes().len())?;
            }
            return self.container(kind, source, &place);
        }
        Ok(())
    }

    fn archive(&mut self, data: &'data [u8]) -> Result<()> {
        let bad = |e| elf::bad("archive", e);
        let archive = ArchiveFile::parse(data).map_err(bad)?;
        for member in archive.members() {
            self.meter.work(PER_ENTRY)?;
            let member = member.map_err(bad)?;
            let contents = member.data(data).map_err(bad)?;
            self.meter.charge_bytes(member.name().len())?;
            let place = ContainerPlace {
                member: Some(String::from_utf8_lossy(member.name()).into_owned()),
                offset: member.file_range().0,
                ..ContainerPlace::default()
            };
            self.part(
                FileKind::Archive,
                String::new(),
                Source::File(contents),
                place,
            )?;
        }
        Ok(())
    }

    /// Searches a host object: the sections in which compilers embed device code.
    fn host(&mut self, source: Source<'data, '_>, place: &ContainerPlace) -> Result<()> {
        let bad = |e| elf::bad("ELF header", e);
        let data = source.bytes();
        let header = Header::parse(data).map_err(bad)?;
        let (sections, names) = elf::section_table(header, data)?;
        self.meter.work(sections.len() as u64)?;
        let meter = Arc::clone(&self.meter);
        let names = Names::new(names, &meter);
        let mut embedding = Vec::new();
        let mut is_elsewhere = false;
        for section in sections {
            let name = names.text(section.sh_name.get(LE))?;
            is_elsewhere |= name == kpack::REFERENCE;
            let embeds = name.as_bytes().starts_with(BUNDLE_MAGIC)
                || name.starts_with(".hip_fatbin")
                || name == ".llvm.offloading";
            if embeds && section.sh_type.get(LE) != object::elf::SHT_NOBITS {
                self.meter.work(PER_ENTRY)?;
                embedding.push((section, name));
            }
        }
        // Compilers without a section for device code embed it as data.
        let is_file = self.depth <= 1 || place.member.is_some();
        // Code objects in the memory of a core file belong to its process, and are found there.
        let is_core = header.e_type(LE) == object::elf::ET_CORE;
        if embedding.is_empty() && !is_elsewhere && is_file && !is_core {
            return self.whole_objects(source, place);
        }
        for (section, name) in embedding {
            // If the code is in packages, this section has only the remains of it.
            if is_elsewhere && name.starts_with(".hip_fatbin") {
                continue;
            }
            let id = name.as_bytes().strip_prefix(BUNDLE_MAGIC);
            let (offset, size) = (section.sh_offset.get(LE), section.sh_size.get(LE));
            let contents = source.part(offset, size).ok_or_else(|| {
                Error::malformed(
                    "host object",
                    format!("section {name} reaches beyond the end of the file"),
                )
            })?;
            let place = ContainerPlace {
                section: Some(name.to_string()),
                ..source.place(place, offset)
            };
            let id = id.map_or(String::new(), |id| String::from_utf8_lossy(id).into_owned());
            self.part(FileKind::HostElf, id, contents, place)?;
        }
        Ok(())
    }

    /// Handles an entry of a bundle or an offload binary.
    fn entry(
        &mut self,
        holder: FileKind,
        id: &str,
        container: Source<'data, '_>,
        offset: u64,
        size: u64,
        place: &ContainerPlace,
    ) -> Result<()> {
        let entry = container.part(offset, size).ok_or_else(|| {
            Error::malformed(
                "bundle",
                format!("entry {id} reaches beyond the end of the data"),
            )
        })?;
        let place = container.place(place, offset);
        self.part(holder, id.to_owned(), entry, place)
    }

    fn keeps_next(&self) -> bool {
        match self.keep {
            Keep::All => true,
            Keep::File => false,
            Keep::One(index) => index == self.found.len(),
        }
    }

    /// Handles a code object.
    fn add(&mut self, id: String, source: Source<'data, '_>, place: ContainerPlace) -> Result<()> {
        let data = match source {
            Source::File(data) => Cow::Borrowed(data),
            Source::Made(made) if self.keeps_next() => {
                self.meter.hold(bytes::len(made))?;
                self.meter.charge_bytes(made.len())?;
                Cow::Owned(made.to_vec())
            }
            Source::Made(_) => Cow::Borrowed(&[][..]),
        };
        self.meter.work(PER_ENTRY)?;
        self.push(id, source.bytes(), data, place)
    }

    /// `object` is the code object found, `data` the bytes to keep.
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
            None => target::at_end_of_id(&id),
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
