//! Reads ROCm's packages of device code (`.kpack`), and the section of a library that refers to them.
//!
//! A package holds the code objects of several libraries, usually for one target, one after the other or each in a Zstandard frame. Its table of
//! contents maps each library and target to a code object. A library whose code is in packages has a section `.rocm_kpack_ref` with their paths.
//! Opening the files at these paths is left to the caller.
//!
//! Sources: ROCm's `rocm_kpack`, "Multi-Architecture Packaging with Kpack" and the code of its runtime; see `spec-notes/objects.md`.

use std::sync::Arc;

use object::LittleEndian as LE;
use object::elf as abi;
use object::read::elf::FileHeader as _;
use rmpv::ValueRef;

use super::{ContainerPlace, Finder, PER_ENTRY, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::meter::{Held, Meter};
use crate::object::bytes::{self, slice_at, tail_at, u32_at, u64_at};
use crate::object::compression::{Compressed, Method};
use crate::object::elf::{self, Header, Names};
use crate::object::identify::FileKind;
use crate::object::msgpack::{self, get, list, map, number, text};

const WHAT: &str = "kpack";
/// The only supported version of packages.
const VERSION: u32 = 1;
/// The section that refers to packages.
pub(super) const REFERENCE: &str = ".rocm_kpack_ref";
/// The maximum length of a path or name. Real ones have less than a hundred bytes.
const MAX_TEXT: usize = 4096;
/// The maximum number of paths of one library.
const MAX_PATHS: usize = 1024;

/// A package, with a name from the caller.
#[derive(Clone, Copy, Debug)]
pub struct Package<'data> {
    /// The name for messages, such as its path.
    pub name: &'data str,
    /// The contents of the file.
    pub data: &'data [u8],
}

/// The section `.rocm_kpack_ref`, in which a library refers to its device code.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageReference {
    /// The paths of packages, relative to the folder of the library unless they are absolute. `@GFXARCH@` in a path stands
    /// for any target.
    pub search_paths: Vec<String>,
    /// The name of the library in the tables of contents.
    pub name: String,
}

impl PackageReference {
    /// The placeholder for a target in a path.
    pub const TARGET: &'static str = "@GFXARCH@";

    /// Returns the reference of a host ELF64 file, or `None` if it has none.
    ///
    /// In a file without section headers, it is at the start of a loaded segment.
    ///
    /// # Errors
    /// If the ELF headers or the reference are malformed; if a limit is reached.
    pub fn of(data: &[u8], limits: &Limits) -> Result<Option<PackageReference>> {
        if FileKind::of(data) != FileKind::HostElf {
            return Ok(None);
        }
        let meter = Meter::new(limits, bytes::len(data));
        let header = Header::parse(data).map_err(|e| elf::bad("ELF header", e))?;
        let (sections, names) = elf::section_table(header, data)?;
        meter.work(sections.len() as u64)?;
        let names = Names::new(names, &meter);
        for section in sections {
            if &*names.text(section.sh_name.get(LE))? == REFERENCE {
                let (offset, size) = (section.sh_offset.get(LE), section.sh_size.get(LE));
                let contents = slice_at(data, offset, size)
                    .filter(|_| section.sh_type.get(LE) != abi::SHT_NOBITS);
                let contents =
                    contents.ok_or_else(|| malformed_reference("it is not in the file"))?;
                return PackageReference::read(contents, &meter).map(Some);
            }
        }
        if sections.is_empty() {
            return PackageReference::of_segments(header, data, &meter);
        }
        Ok(None)
    }

    fn of_segments(
        header: &Header,
        data: &[u8],
        meter: &Meter,
    ) -> Result<Option<PackageReference>> {
        let segments = header.program_headers(LE, data);
        for segment in segments.map_err(|e| elf::bad("ELF program headers", e))? {
            meter.work(1)?;
            if segment.p_type.get(LE) != abi::PT_LOAD {
                continue;
            }
            let contents = slice_at(data, segment.p_offset.get(LE), segment.p_filesz.get(LE));
            // A map of two keys, as in every reference.
            if let Some(contents) = contents.filter(|contents| contents.first() == Some(&0x82))
                && let Ok(found) = PackageReference::read(contents, meter)
            {
                return Ok(Some(found));
            }
        }
        meter.refused().map_or(Ok(None), Err)
    }

    /// Reads the section. Bytes after its map are ignored.
    fn read(section: &[u8], meter: &Meter) -> Result<PackageReference> {
        msgpack::read(section, meter, malformed_reference, |value| {
            let missing = || malformed_reference("it has no kpack_search_paths or no kernel_name");
            let paths = get(value, "kpack_search_paths").and_then(list);
            let name = get(value, "kernel_name").and_then(text);
            let (paths, name) = paths.zip(name).ok_or_else(missing)?;
            let paths: Option<Vec<&str>> = paths.iter().take(MAX_PATHS).map(text).collect();
            let paths = paths.ok_or_else(missing)?;
            for text in paths.iter().copied().chain([name]) {
                if text.len() > MAX_TEXT {
                    return Err(malformed_reference("a path or name is too long"));
                }
                meter.hold(bytes::len(text.as_bytes()))?;
                meter.hold_all::<String>(1)?;
            }
            Ok(PackageReference {
                search_paths: paths.into_iter().map(str::to_owned).collect(),
                name: name.to_owned(),
            })
        })
    }

    /// Returns true if a package has code of this library.
    ///
    /// # Errors
    /// If the package is malformed; if a limit is reached.
    pub fn is_in(&self, package: &[u8], limits: &Limits) -> Result<bool> {
        if FileKind::of(package) != FileKind::Kpack {
            return Err(malformed("it does not start with KPAK"));
        }
        let held = Held::new(Arc::new(Meter::new(limits, bytes::len(package))));
        let contents = Contents::read(package, &held)?;
        Ok(contents
            .entries
            .iter()
            .any(|entry| self.names(&entry.binary)))
    }

    /// Returns true if a key of a table of contents belongs to this library: its name, or its name, `#` and a number if a target has several code
    /// objects.
    fn names(&self, key: &str) -> bool {
        key.strip_prefix(self.name.as_str())
            .is_some_and(|rest| match rest.strip_prefix('#') {
                Some(number) => !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()),
                None => rest.is_empty(),
            })
    }
}

impl core::fmt::Display for PackageReference {
    /// `its code is in ../.kpack/blas_@GFXARCH@.kpack (as lib/libblas.so)`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        /// More paths are not useful to print.
        const MOST: usize = 4;
        write!(f, "its code is in ")?;
        for (index, path) in self.search_paths.iter().take(MOST).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{path}")?;
        }
        match self.search_paths.len().saturating_sub(MOST) {
            0 if self.search_paths.is_empty() => write!(f, "a package without a path")?,
            0 => {}
            more => write!(f, " and {more} other packages")?,
        }
        write!(f, " (as {})", self.name)
    }
}

impl<'data> Finder<'data> {
    /// Searches a package: all of it, or only the code objects of one library.
    ///
    /// * `package`: the name of the package, if it is another file.
    pub(super) fn kpack(
        &mut self,
        source: Source<'data, '_>,
        place: &ContainerPlace,
        wanted: Option<&PackageReference>,
        package: Option<&str>,
    ) -> Result<()> {
        let held = Held::new(Arc::clone(&self.meter));
        let contents = Contents::read(source.bytes(), &held)?;
        for entry in &contents.entries {
            if wanted.is_some_and(|wanted| !wanted.names(&entry.binary)) {
                continue;
            }
            self.meter.work(PER_ENTRY)?;
            let ordinal = usize::try_from(entry.ordinal).unwrap_or(usize::MAX);
            let &(offset, size) = contents.parts.get(ordinal).ok_or_else(|| {
                malformed(&format!(
                    "{} of {} has number {} of {}",
                    entry.target,
                    entry.binary,
                    entry.ordinal,
                    contents.parts.len()
                ))
            })?;
            let part = source.part(offset, size).ok_or_else(|| {
                malformed(&format!(
                    "code at {offset:#x} reaches beyond the end of the file"
                ))
            })?;
            let mut place = source.place(place, offset);
            place.member = Some(match package {
                Some(package) => format!("{package}({})", entry.binary),
                None => entry.binary.clone(),
            });
            let id = entry.target.clone();
            if !contents.is_compressed {
                self.part(FileKind::Kpack, id, part, place)?;
                continue;
            }
            place.compression = Some(Method::Zstd);
            let held = Held::new(Arc::clone(&self.meter));
            let compressed = Compressed {
                method: Method::Zstd,
                size: entry
                    .size
                    .ok_or_else(|| malformed("an entry has no original_size"))?,
                data: part.bytes(),
            };
            let (code, _) = compressed.decompress(&held)?;
            self.part(FileKind::Kpack, id, Source::Made(&code), place)?;
        }
        Ok(())
    }
}

/// The table of contents of a package, with the place of each code object.
struct Contents {
    is_compressed: bool,
    /// The offset in the file and the size (compressed, if applicable) of each code object, by its number.
    parts: Vec<(u64, u64)>,
    entries: Vec<Entry>,
}

/// A code object of a library.
struct Entry {
    /// The name of the library, and the number of the code object.
    binary: String,
    target: String,
    ordinal: u64,
    /// The size before compression.
    size: Option<u64>,
}

impl Contents {
    /// * `held`: charged for the table.
    fn read(package: &[u8], held: &Held) -> Result<Contents> {
        let header = |offset| u64_at(package, offset).ok_or_else(truncated);
        let version = u32_at(package, 4).ok_or_else(truncated)?;
        if version != VERSION {
            return Err(malformed(&format!("version {version} is not {VERSION}")));
        }
        let table = tail_at(package, header(8)?).filter(|table| !table.is_empty());
        let table = table.ok_or_else(|| malformed("its table of contents is not in the file"))?;
        msgpack::read(table, held.meter(), malformed_table, |table| {
            let scheme = get(table, "compression_scheme").and_then(text);
            let is_compressed = match scheme {
                Some("none") => false,
                Some("zstd-per-kernel") => true,
                Some(other) => {
                    let other: String = other.chars().take(64).collect();
                    return Err(malformed(&format!("unknown compression {other:?}")));
                }
                None => get(table, "blobs").is_none(),
            };
            let parts = if is_compressed {
                frames(package, table, held)?
            } else {
                blobs(table, held)?
            };
            let entries = entries(table, held)?;
            Ok(Contents {
                is_compressed,
                parts,
                entries,
            })
        })
    }
}

/// Returns the offsets and sizes of code objects that are not compressed.
fn blobs(table: &ValueRef<'_>, held: &Held) -> Result<Vec<(u64, u64)>> {
    let blobs = get(table, "blobs").and_then(list);
    let blobs = blobs.ok_or_else(|| malformed_table("it has no blobs"))?;
    held.meter().work(blobs.len() as u64)?;
    held.hold_all::<(u64, u64)>(blobs.len())?;
    let place = |blob| {
        let number = |key| get(blob, key).and_then(number);
        number("offset").zip(number("size"))
    };
    let places: Option<Vec<_>> = blobs.iter().map(place).collect();
    places.ok_or_else(|| malformed_table("a blob has no offset or no size"))
}

/// Returns the offsets and sizes of the frames, each with one code object.
fn frames(package: &[u8], table: &ValueRef<'_>, held: &Held) -> Result<Vec<(u64, u64)>> {
    let field = |key| get(table, key).and_then(number);
    let area = field("zstd_offset").zip(field("zstd_size"));
    let (start, size) =
        area.ok_or_else(|| malformed_table("it has no zstd_offset or no zstd_size"))?;
    let outside = || malformed("its compressed code reaches beyond the end");
    let area = slice_at(package, start, size).ok_or_else(outside)?;
    let count = u32_at(area, 0).ok_or_else(truncated)?;
    let mut frames = Vec::new();
    let mut at = 4_u64;
    for _ in 0..count {
        held.meter().work(1)?;
        let size = u64::from(u32_at(area, at).ok_or_else(truncated)?);
        at = at.saturating_add(4);
        slice_at(area, at, size).ok_or_else(outside)?;
        held.hold_all::<(u64, u64)>(1)?;
        frames.push((start.saturating_add(at), size));
        at = at.saturating_add(size);
    }
    Ok(frames)
}

/// Returns the code objects in the table. Entries of other types are left out.
fn entries(table: &ValueRef<'_>, held: &Held) -> Result<Vec<Entry>> {
    let binaries = get(table, "toc").and_then(map);
    let binaries = binaries.ok_or_else(|| malformed_table("it has no toc"))?;
    let mut entries = Vec::new();
    for (binary, targets) in binaries {
        let key = || malformed_table("a key of its toc is not text of reasonable length");
        let named = |name| text(name).filter(|name| name.len() <= MAX_TEXT);
        let binary = named(binary).ok_or_else(key)?;
        let targets = map(targets).ok_or_else(|| malformed_table("an entry is not a map"))?;
        for (target, entry) in targets {
            held.meter().work(PER_ENTRY)?;
            if get(entry, "type")
                .and_then(text)
                .is_some_and(|kind| kind != "hsaco")
            {
                continue;
            }
            let target = named(target).ok_or_else(key)?;
            let ordinal = get(entry, "ordinal").and_then(number);
            held.hold_all::<Entry>(1)?;
            held.hold((binary.len() as u64).saturating_add(target.len() as u64))?;
            entries.push(Entry {
                binary: binary.to_owned(),
                target: target.to_owned(),
                ordinal: ordinal.ok_or_else(|| malformed_table("an entry has no ordinal"))?,
                size: get(entry, "original_size").and_then(number),
            });
        }
    }
    Ok(entries)
}

fn truncated() -> Error {
    ErrorKind::Truncated { what: WHAT }.into()
}

fn malformed(reason: &str) -> Error {
    Error::malformed(WHAT, reason)
}

fn malformed_table(reason: &'static str) -> Error {
    Error::malformed("table of contents of a kpack", reason)
}

fn malformed_reference(reason: &'static str) -> Error {
    Error::malformed(REFERENCE, reason)
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
mod tests;
