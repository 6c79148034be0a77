//! Files that hold code objects: offload bundles, LLVM's offload binaries, relocatable host objects and static archives. Each code
//! object in them is annotated, and what holds it is written anew around it: offsets and sizes, and nothing else.
//!
//! A linked host program is left alone: what is after the device code in it is loaded. So are thin archives. Sources: "Clang Offload
//! Bundler", "Bundled Binary File Layout" and "Compressed Offload Bundle"; "Clang Offload Packager", "Binary Format"; System V ABI,
//! "Archive Files".

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::stored::stored_bundle;
use super::{Annotated, annotate_within, archive, elf, meter_of};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::meter::{Held, Meter};
use crate::object::{
    BUNDLE_MAGIC, CCOB_MAGIC, CompressedBundle, FileKind, slice_at, u32_at, u64_at,
};

/// The greatest alignment that is kept: linkers and bundlers align to pages.
const PAGE: u64 = 4096;

/// Adds what can be told of lanes to the code objects in a file: one by itself, or those that a container holds.
///
/// * `wanted`: which functions, by name.
///
/// # Errors
/// If a container or a code object is malformed; if a limit is reached.
pub fn annotate_file(
    file: &[u8],
    limits: &Limits,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Annotated> {
    annotate_file_within(file, &meter_of(file, limits), wanted)
}

/// As [`annotate_file`], as a part of a question.
///
/// * `meter`: what it may cost, all code objects together.
///
/// # Errors
/// As [`annotate_file`].
pub fn annotate_file_within(
    file: &[u8],
    meter: &Arc<Meter>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Annotated> {
    if FileKind::of(file) == FileKind::CodeObject {
        return annotate_within(file, meter, wanted);
    }
    let mut writer = Writer {
        meter,
        wanted,
        found: Annotated::default(),
        place: String::new(),
    };
    let written = writer.file(file)?.into_owned();
    let mut found = writer.found;
    found.file = written;
    found.limit = meter.refused();
    Ok(found)
}

/// Writes containers anew.
pub(super) struct Writer<'w> {
    meter: &'w Arc<Meter>,
    wanted: &'w dyn Fn(&str) -> bool,
    /// What was added, and what was left alone.
    found: Annotated,
    /// Which part of the file it is, for people.
    place: String,
}

impl Writer<'_> {
    /// Says that a part is left alone.
    fn note(&mut self, why: &str) {
        let place = match self.place.as_str() {
            "" => "it".to_owned(),
            place => place.to_owned(),
        };
        self.found
            .notes
            .push(format!("{place} is left alone: {why}"));
    }

    /// Does something within a part of the file that has a name.
    pub(super) fn within<T>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let outer = self.place.clone();
        let separator = if outer.is_empty() { "" } else { ", " };
        self.place = format!("{outer}{separator}{name}");
        let written = write(self);
        self.place = outer;
        written
    }

    /// A file, or a member of an archive.
    pub(super) fn file<'f>(&mut self, file: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        match FileKind::of(file) {
            FileKind::CodeObject => self.code_object(file),
            FileKind::Bundle | FileKind::CompressedBundle => self.bundles(file),
            FileKind::OffloadBinary => self.offload_binaries(file),
            FileKind::HostElf => self.host(file),
            FileKind::Archive if self.place.is_empty() => {
                archive::rewritten(file, self).map(Cow::Owned)
            }
            FileKind::ThinArchive => {
                self.note("its members are other files");
                Ok(Cow::Borrowed(file))
            }
            FileKind::Archive
            | FileKind::Elf32
            | FileKind::BigEndianElf
            | FileKind::Bitcode
            | FileKind::Empty
            | FileKind::Unknown => Ok(Cow::Borrowed(file)),
        }
    }

    fn code_object<'f>(&mut self, file: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let found = annotate_within(file, self.meter, self.wanted)?;
        self.found.functions.extend(found.functions);
        let place = match self.place.as_str() {
            "" => String::new(),
            place => format!("{place}: "),
        };
        let notes = found.notes.iter().map(|note| format!("{place}{note}"));
        self.found.notes.extend(notes);
        Ok(Cow::Owned(found.file))
    }

    /// Bundles one after the other, with anything between them.
    fn bundles<'f>(&mut self, data: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let mut out = Vec::new();
        let mut done = 0_usize;
        let starts = |at: &usize| {
            let here = data.get(*at..).unwrap_or_default();
            here.starts_with(BUNDLE_MAGIC) || here.starts_with(CCOB_MAGIC)
        };
        while let Some(at) = (done..data.len()).find(starts) {
            let bundle = data.get(at..).unwrap_or_default();
            out.extend(data.get(done..at).unwrap_or_default());
            fill(&mut out, alignment(at as u64))?;
            let (written, size) = if bundle.starts_with(CCOB_MAGIC) {
                self.compressed_bundle(bundle)?
            } else {
                self.bundle(bundle)?
            };
            out.extend(written);
            done = at.saturating_add(size.max(CCOB_MAGIC.len()));
        }
        out.extend(data.get(done..).unwrap_or_default());
        Ok(Cow::Owned(out))
    }

    /// The bundle at the start of the data, and how long it was.
    fn bundle(&mut self, data: &[u8]) -> Result<(Vec<u8>, usize)> {
        let malformed = || Error::malformed("bundle", "its header is cut off");
        let count = u64_at(data, BUNDLE_MAGIC.len() as u64).ok_or_else(malformed)?;
        let mut at = (BUNDLE_MAGIC.len() as u64).saturating_add(8);
        // Where the numbers of an entry are, its offset, and its size.
        let mut entries: Vec<(u64, u64, u64, String)> = Vec::new();
        for _ in 0..count {
            let [offset, size, id] = [0, 8, 16].map(|field| u64_at(data, at.saturating_add(field)));
            let (offset, size) = (offset.ok_or_else(malformed)?, size.ok_or_else(malformed)?);
            let id_at = at.saturating_add(24);
            let id_size = id.ok_or_else(malformed)?;
            let id = slice_at(data, id_at, id_size).ok_or_else(malformed)?;
            entries.push((at, offset, size, String::from_utf8_lossy(id).into_owned()));
            at = id_at.saturating_add(id_size);
        }
        let header_end = at;
        entries.sort_by_key(|(at, offset, size, _)| (*offset, *size, *at));
        let mut out = slice_at(data, 0, header_end)
            .ok_or_else(malformed)?
            .to_vec();
        let mut end = header_end;
        let mut is_changed = false;
        for (at, offset, size, id) in entries {
            let contents = slice_at(data, offset, size).ok_or_else(malformed)?;
            if size > 0 && offset < end {
                return Err(Error::malformed("bundle", "its entries overlap"));
            }
            fill(&mut out, alignment(offset))?;
            let written = self.within(&format!("entry {id}"), |writer| match size {
                0 => Ok(Cow::Borrowed(contents)),
                _ => writer.file(contents),
            })?;
            is_changed |= *written != *contents;
            let place = usize::try_from(at).unwrap_or(usize::MAX);
            let new_offset = out.len() as u64;
            elf::set(&mut out, place, &new_offset.to_le_bytes());
            let place = place.saturating_add(8);
            elf::set(&mut out, place, &(written.len() as u64).to_le_bytes());
            out.extend(written.iter());
            end = end.max(offset.saturating_add(size));
        }
        let size = usize::try_from(end).map_err(|_| malformed())?;
        let before = data.get(..size).ok_or_else(malformed)?;
        let written = if is_changed { out } else { before.to_vec() };
        Ok((written, size))
    }

    /// The compressed bundle at the start of the data, compressed again, and how long it was.
    fn compressed_bundle(&mut self, data: &[u8]) -> Result<(Vec<u8>, usize)> {
        let held = Held::new(Arc::clone(self.meter));
        let was = CompressedBundle::read(data, &held)?;
        let size = usize::try_from(was.size).unwrap_or(data.len());
        let (mut bundle, end) = self.bundle(&was.bundle)?;
        bundle.extend(was.bundle.get(end..).unwrap_or_default());
        let before = data.get(..size).unwrap_or(data);
        if bundle == was.bundle {
            return Ok((before.to_vec(), size));
        }
        let written = stored_bundle(&was, &bundle)?;
        if written.is_none() {
            self.note("its header has no room for the sizes that it would have");
        }
        Ok((written.unwrap_or_else(|| before.to_vec()), size))
    }

    /// Offload binaries one after the other, with zeros between them.
    fn offload_binaries<'f>(&mut self, data: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let malformed =
            || Error::malformed("offload binary", "it does not have the size that it says");
        let mut out = Vec::new();
        let mut rest = data;
        while FileKind::of(rest) == FileKind::OffloadBinary {
            let size = u64_at(rest, 8)
                .filter(|size| *size > 0)
                .ok_or_else(malformed)?;
            let binary = slice_at(rest, 0, size).ok_or_else(malformed)?;
            out.extend(self.offload_binary(binary)?.iter());
            let after = rest.get(binary.len()..).unwrap_or_default();
            let zeros = after.iter().take_while(|byte| **byte == 0).count();
            let (zeros, next) = after.split_at_checked(zeros).unwrap_or((after, &[]));
            out.extend(zeros);
            rest = next;
        }
        out.extend(rest);
        Ok(Cow::Owned(out))
    }

    /// An offload binary with one entry, whose image is at its end.
    fn offload_binary<'f>(&mut self, data: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let malformed = || Error::malformed("offload binary", "its header is cut off");
        let size = u64_at(data, 8).ok_or_else(malformed)?;
        let entry = u64_at(data, 16).ok_or_else(malformed)?;
        let [offset, length] = [24, 32].map(|field| u64_at(data, entry.saturating_add(field)));
        let (offset, length) = (offset.ok_or_else(malformed)?, length.ok_or_else(malformed)?);
        let end = offset.saturating_add(length);
        let padding = size.checked_sub(end).filter(|padding| *padding < 8);
        if u32_at(data, 4) != Some(1) || size != data.len() as u64 || padding.is_none() {
            self.note("it is not an offload binary of one entry with the image at its end");
            return Ok(Cow::Borrowed(data));
        }
        let image = slice_at(data, offset, length).ok_or_else(malformed)?;
        let new = self.file(image)?;
        if *new == *image {
            return Ok(Cow::Borrowed(data));
        }
        let mut out = slice_at(data, 0, offset).ok_or_else(malformed)?.to_vec();
        out.extend(new.iter());
        fill(&mut out, 8)?;
        let field = usize::try_from(entry.saturating_add(32)).unwrap_or(usize::MAX);
        let new_size = out.len() as u64;
        elf::set(&mut out, field, &(new.len() as u64).to_le_bytes());
        elf::set(&mut out, 8, &new_size.to_le_bytes());
        Ok(Cow::Owned(out))
    }

    /// A host object: the sections that compilers embed device code in.
    fn host<'f>(&mut self, file: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let sections = elf::named_sections(file)?;
        let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let embeds = |name: &[u8]| {
            name.starts_with(BUNDLE_MAGIC)
                || name.starts_with(b".hip_fatbin")
                || name == b".llvm.offloading"
        };
        let mut changed = BTreeMap::new();
        for (index, title, contents) in sections.iter().filter(|(_, name, _)| embeds(name)) {
            if !elf::is_relocatable(file) {
                self.note("it is a linked program, in which the device code is loaded");
                return Ok(Cow::Borrowed(file));
            }
            // A host object in a host object is not meant.
            if FileKind::of(contents) == FileKind::HostElf {
                continue;
            }
            let title = format!("section {}", name(title));
            let new = self.within(&title, |writer| writer.file(contents))?;
            if *new != **contents {
                changed.insert(*index, new.into_owned());
            }
        }
        if changed.is_empty() {
            return Ok(Cow::Borrowed(file));
        }
        elf::with_contents(file, &changed).map(Cow::Owned)
    }
}

/// The alignment that something at an offset seems to have, up to that of a page.
fn alignment(offset: u64) -> u64 {
    match offset {
        0 => 1,
        _ => (1_u64 << offset.trailing_zeros().min(12)).min(PAGE),
    }
}

/// Fills up to a multiple.
pub(super) fn fill(out: &mut Vec<u8>, alignment: u64) -> Result<()> {
    elf::align(out, alignment)
}
