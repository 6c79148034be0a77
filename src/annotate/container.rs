//! Annotates the code objects in container files: offload bundles, LLVM's offload binaries, relocatable host objects and static archives. Each
//! container is rewritten around its code objects. Only offsets and sizes change. The same containers are searched as in `object::containers`, with
//! the same maximum depth.
//!
//! A linked host program is left unchanged, because data after its device code is loaded. Thin archives are also left unchanged. Sources: "Clang
//! Offload Bundler", "Bundled Binary File Layout" and "Compressed Offload Bundle"; "Clang Offload Packager", "Binary Format"; System V ABI, "Archive
//! Files".

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::stored::stored_bundle;
use super::{Annotated, Request, annotate_within, archive, elf, meter_of};
use crate::error::{Error, Limit, Result};
use crate::limits::Limits;
use crate::meter::{Held, Meter};
use crate::object::{
    BUNDLE_MAGIC, CCOB_MAGIC, CompressedBundle, FileKind, PackageReference, code_objects_within,
    slice_at, u32_at, u64_at,
};

/// The maximum alignment that is preserved. Linkers and bundlers align to pages.
const PAGE: u64 = 4096;

/// Adds lane information to the code objects in a file, which is a code object itself or a container.
///
/// # Errors
/// If a container or a code object is malformed, or a limit is reached.
pub fn annotate_file(file: &[u8], limits: &Limits, request: &Request<'_>) -> Result<Annotated> {
    annotate_file_within(file, &meter_of(file, limits), request)
}

/// Does the work of [`annotate_file`] as a part of a larger query.
///
/// * `meter`: the meter to which all code objects together are charged.
///
/// # Errors
/// Returns the same errors as [`annotate_file`].
pub fn annotate_file_within(
    file: &[u8],
    meter: &Arc<Meter>,
    request: &Request<'_>,
) -> Result<Annotated> {
    if FileKind::of(file) == FileKind::CodeObject {
        return annotate_within(file, meter, request);
    }
    let mut writer = Writer {
        meter,
        request,
        found: Annotated::default(),
        place: Vec::new(),
        depth: 0,
    };
    let written = writer.file(None, file)?;
    if let Cow::Borrowed(file) = written {
        meter.hold(file.len() as u64)?;
    }
    let written = written.into_owned();
    let mut found = writer.found;
    found.file = written;
    found.limit = meter.refused();
    Ok(found)
}

/// Rewrites containers.
pub(super) struct Writer<'w> {
    meter: &'w Arc<Meter>,
    request: &'w Request<'w>,
    /// The additions, and the parts that were left unchanged.
    found: Annotated,
    /// The current position in the file, for messages: the part of each enclosing container.
    place: Vec<String>,
    /// The number of enclosing containers.
    depth: u16,
}

/// The maximum length of a part's name in messages.
const NAME: usize = 128;
/// The maximum length of a bundle entry's ID, as in `object::containers`.
const MAX_ID: u64 = 512;
/// The number of steps that are charged for an entry, as in `object::containers`.
const PER_ENTRY: u64 = 16;

/// The rewritten bundle, if it changed, and the old size of the bundle.
type Written = (Option<Vec<u8>>, usize);

impl Writer<'_> {
    /// Records that the current part is left unchanged.
    fn note(&mut self, why: &str) -> Result<()> {
        let place = match self.place.as_slice() {
            [] => "it".to_owned(),
            parts => parts.join(", "),
        };
        let note = format!("{place} was not changed: {why}");
        self.meter.hold(note.len() as u64)?;
        self.found.notes.push(note);
        Ok(())
    }

    /// Runs a function within a named part of the file.
    pub(super) fn within<T>(
        &mut self,
        what: &str,
        name: &[u8],
        write: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let name = String::from_utf8_lossy(name.get(..NAME).unwrap_or(name));
        self.place.push(format!("{what} {name}"));
        let written = write(self);
        self.place.pop();
        written
    }

    /// Returns a file or the contents of a container, with the code objects annotated.
    pub(super) fn file<'f>(
        &mut self,
        holder: Option<FileKind>,
        file: &'f [u8],
    ) -> Result<Cow<'f, [u8]>> {
        let kind = FileKind::of(file);
        match (kind, holder) {
            (FileKind::CodeObject, _) => self.code_object(file),
            (FileKind::ThinArchive, None) => {
                self.note("its members are separate files")?;
                Ok(Cow::Borrowed(file))
            }
            (FileKind::Kpack | FileKind::IreeModule | FileKind::Unknown, None) => {
                self.note("files of this kind cannot be rewritten")?;
                Ok(Cow::Borrowed(file))
            }
            (_, Some(holder)) if !holder.is_searched_for(kind) => Ok(Cow::Borrowed(file)),
            _ => self.container(kind, file),
        }
    }

    fn container<'f>(&mut self, kind: FileKind, file: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let limits = self.meter.limits();
        if self.depth >= limits.containers {
            return Err(limits.reached(Limit::Containers));
        }
        self.depth = self.depth.saturating_add(1);
        let written = match kind {
            FileKind::Bundle | FileKind::CompressedBundle => self.bundles(file),
            FileKind::OffloadBinary => self.offload_binaries(file),
            FileKind::HostElf => self.host(file),
            FileKind::Archive => archive::rewritten(file, self),
            FileKind::CodeObject
            | FileKind::Core
            | FileKind::ThinArchive
            | FileKind::Kpack
            | FileKind::IreeModule
            | FileKind::Elf32
            | FileKind::BigEndianElf
            | FileKind::Bitcode
            | FileKind::Empty
            | FileKind::Unknown => Ok(Cow::Borrowed(file)),
        };
        self.depth = self.depth.saturating_sub(1);
        written
    }

    /// Charges for bytes that are written.
    pub(super) fn pay(&self, bytes: usize) -> Result<()> {
        self.meter.hold(bytes as u64)?;
        self.meter.charge_bytes(bytes)
    }

    fn code_object<'f>(&mut self, file: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let found = annotate_within(file, self.meter, self.request)?;
        self.found.functions.extend(found.functions);
        self.found.is_short |= found.is_short;
        let place = match self.place.as_slice() {
            [] => String::new(),
            parts => format!("{}: ", parts.join(", ")),
        };
        for note in found.notes {
            let note = format!("{place}{note}");
            self.meter.hold(note.len() as u64)?;
            self.found.notes.push(note);
        }
        if found.file == file {
            return Ok(Cow::Borrowed(file));
        }
        Ok(Cow::Owned(found.file))
    }

    /// Rewrites consecutive bundles and preserves the data between them.
    fn bundles<'f>(&mut self, data: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        // The bundles with their offsets.
        let mut written: Vec<(usize, Written)> = Vec::new();
        let mut done = 0_usize;
        let starts = |at: &usize| {
            let here = data.get(*at..).unwrap_or_default();
            here.starts_with(BUNDLE_MAGIC) || here.starts_with(CCOB_MAGIC)
        };
        while let Some(at) = (done..data.len()).find(starts) {
            self.meter.work(PER_ENTRY)?;
            self.meter.hold_all::<(usize, Written)>(1)?;
            let bundle = data.get(at..).unwrap_or_default();
            let (new, size) = if bundle.starts_with(CCOB_MAGIC) {
                self.compressed_bundle(bundle)?
            } else {
                self.bundle(bundle)?
            };
            done = at.saturating_add(size.max(CCOB_MAGIC.len()));
            written.push((at, (new, size)));
        }
        if written.iter().all(|(_, (new, _))| new.is_none()) {
            return Ok(Cow::Borrowed(data));
        }
        let news = written.iter().filter_map(|(_, (new, _))| new.as_ref());
        let more: usize = news.map(Vec::len).sum();
        self.pay(data.len().saturating_add(more))?;
        let mut out = Vec::new();
        let mut done = 0_usize;
        for (at, (new, size)) in written {
            out.extend(data.get(done..at).unwrap_or_default());
            fill(&mut out, alignment(at as u64))?;
            let end = at.saturating_add(size).min(data.len());
            match new {
                Some(new) => out.extend(new),
                None => out.extend(data.get(at..end).unwrap_or_default()),
            }
            done = end.max(at.saturating_add(CCOB_MAGIC.len()));
        }
        out.extend(data.get(done..).unwrap_or_default());
        Ok(Cow::Owned(out))
    }

    /// Rewrites the bundle at the start of the data.
    fn bundle(&mut self, data: &[u8]) -> Result<Written> {
        let malformed = || Error::malformed("bundle", "its header is cut off");
        let count = u64_at(data, BUNDLE_MAGIC.len() as u64).ok_or_else(malformed)?;
        let mut at = (BUNDLE_MAGIC.len() as u64).saturating_add(8);
        // The offset of an entry's numbers, and the entry's offset, size and ID.
        let mut entries: Vec<(u64, u64, u64, &[u8])> = Vec::new();
        for _ in 0..count {
            self.meter.work(PER_ENTRY)?;
            self.meter.hold_all::<(u64, u64, u64, &[u8])>(1)?;
            let [offset, size, id] = [0, 8, 16].map(|field| u64_at(data, at.saturating_add(field)));
            let (offset, size) = (offset.ok_or_else(malformed)?, size.ok_or_else(malformed)?);
            let id_at = at.saturating_add(24);
            let id_size = id.filter(|size| *size <= MAX_ID).ok_or_else(malformed)?;
            let id = slice_at(data, id_at, id_size).ok_or_else(malformed)?;
            entries.push((at, offset, size, id));
            at = id_at.saturating_add(id_size);
        }
        let header_end = at;
        entries.sort_by_key(|(at, offset, size, _)| (*offset, *size, *at));
        // The new contents of each entry.
        let mut written: Vec<Cow<'_, [u8]>> = Vec::new();
        let mut end = header_end;
        for (_, offset, size, id) in &entries {
            let contents = slice_at(data, *offset, *size).ok_or_else(malformed)?;
            if *size > 0 && *offset < end {
                return Err(Error::malformed("bundle", "its entries overlap"));
            }
            self.meter.hold_all::<Cow<'_, [u8]>>(1)?;
            written.push(self.within("entry", id, |writer| match size {
                0 => Ok(Cow::Borrowed(contents)),
                _ => writer.file(Some(FileKind::Bundle), contents),
            })?);
            end = end.max(offset.saturating_add(*size));
        }
        let size = usize::try_from(end).map_err(|_| malformed())?;
        if size > data.len() {
            return Err(malformed());
        }
        if written.iter().all(|one| matches!(one, Cow::Borrowed(_))) {
            return Ok((None, size));
        }
        self.pay(written.iter().map(|one| one.len()).sum())?;
        let mut out = slice_at(data, 0, header_end)
            .ok_or_else(malformed)?
            .to_vec();
        for ((at, offset, ..), written) in entries.iter().zip(written) {
            fill(&mut out, alignment(*offset))?;
            let place = usize::try_from(*at).unwrap_or(usize::MAX);
            let new_offset = out.len() as u64;
            elf::set(&mut out, place, &new_offset.to_le_bytes());
            let place = place.saturating_add(8);
            elf::set(&mut out, place, &(written.len() as u64).to_le_bytes());
            out.extend(written.iter());
        }
        Ok((Some(out), size))
    }

    /// Rewrites the compressed bundle at the start of the data. If it changed, it is compressed again.
    fn compressed_bundle(&mut self, data: &[u8]) -> Result<Written> {
        let held = Held::new(Arc::clone(self.meter));
        let was = CompressedBundle::read(data, &held)?;
        let size = usize::try_from(was.size).unwrap_or(data.len());
        let (bundle, end) = self.bundle(&was.bundle)?;
        let Some(mut bundle) = bundle else {
            return Ok((None, size));
        };
        let rest = was.bundle.get(end..).unwrap_or_default();
        // Charges for the bytes of the rest, and for the bytes that are compressed.
        self.pay(rest.len().saturating_mul(2).saturating_add(bundle.len()))?;
        bundle.extend(rest);
        let written = stored_bundle(&was, &bundle);
        if written.is_none() {
            self.note("its header has no room for the new sizes")?;
        }
        Ok((written, size))
    }

    /// Rewrites consecutive offload binaries, with zeros between them.
    fn offload_binaries<'f>(&mut self, data: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let malformed = || {
            Error::malformed(
                "offload binary",
                "its size differs from the size in its header",
            )
        };
        let mut written: Vec<Cow<'f, [u8]>> = Vec::new();
        let mut rest = data;
        while FileKind::of(rest) == FileKind::OffloadBinary {
            self.meter.work(PER_ENTRY)?;
            self.meter.hold_all::<Cow<'f, [u8]>>(2)?;
            let size = u64_at(rest, 8)
                .filter(|size| *size > 0)
                .ok_or_else(malformed)?;
            let binary = slice_at(rest, 0, size).ok_or_else(malformed)?;
            written.push(self.offload_binary(binary)?);
            let after = rest.get(binary.len()..).unwrap_or_default();
            let zeros = after.iter().take_while(|byte| **byte == 0).count();
            let (zeros, next) = after.split_at_checked(zeros).unwrap_or((after, &[]));
            written.push(Cow::Borrowed(zeros));
            rest = next;
        }
        if written.iter().all(|one| matches!(one, Cow::Borrowed(_))) {
            return Ok(Cow::Borrowed(data));
        }
        written.push(Cow::Borrowed(rest));
        self.pay(written.iter().map(|one| one.len()).sum())?;
        Ok(Cow::Owned(written.concat()))
    }

    /// Rewrites an offload binary with one entry, whose image is at its end.
    fn offload_binary<'f>(&mut self, data: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let malformed = || Error::malformed("offload binary", "its header is cut off");
        let size = u64_at(data, 8).ok_or_else(malformed)?;
        let entry = u64_at(data, 16).ok_or_else(malformed)?;
        let [offset, length] = [24, 32].map(|field| u64_at(data, entry.saturating_add(field)));
        let (offset, length) = (offset.ok_or_else(malformed)?, length.ok_or_else(malformed)?);
        let end = offset.saturating_add(length);
        let padding = size.checked_sub(end).filter(|padding| *padding < 8);
        if u32_at(data, 4) != Some(1) || size != data.len() as u64 || padding.is_none() {
            self.note("it is not an offload binary of one entry with the image at its end")?;
            return Ok(Cow::Borrowed(data));
        }
        let image = slice_at(data, offset, length).ok_or_else(malformed)?;
        let new = self.file(Some(FileKind::OffloadBinary), image)?;
        if matches!(new, Cow::Borrowed(_)) {
            return Ok(Cow::Borrowed(data));
        }
        self.pay(data.len().saturating_add(new.len()))?;
        let mut out = slice_at(data, 0, offset).ok_or_else(malformed)?.to_vec();
        out.extend(new.iter());
        fill(&mut out, 8)?;
        let field = usize::try_from(entry.saturating_add(32)).unwrap_or(usize::MAX);
        let new_size = out.len() as u64;
        elf::set(&mut out, field, &(new.len() as u64).to_le_bytes());
        elf::set(&mut out, 8, &new_size.to_le_bytes());
        Ok(Cow::Owned(out))
    }

    /// Rewrites a host object: the sections in which compilers embed device code.
    fn host<'f>(&mut self, file: &'f [u8]) -> Result<Cow<'f, [u8]>> {
        let sections = elf::named_sections(file, self.meter)?;
        let embeds = |name: &[u8]| {
            name.starts_with(BUNDLE_MAGIC)
                || name.starts_with(b".hip_fatbin")
                || name == b".llvm.offloading"
        };
        let mut changed = BTreeMap::new();
        // The remaining device code in a file that refers to packages has no meaning.
        if let Some(reference) = PackageReference::of(file, self.meter.limits())? {
            self.note(&reference.to_string())?;
            return Ok(Cow::Borrowed(file));
        }
        if !sections.iter().any(|(_, name, _)| embeds(name))
            && !code_objects_within(file, &[], self.meter)?.is_empty()
        {
            self.note("its device code is in its data, which cannot be rewritten")?;
            return Ok(Cow::Borrowed(file));
        }
        for (index, name, contents) in sections.iter().filter(|(_, name, _)| embeds(name)) {
            if !elf::is_relocatable(file) {
                self.note("it is a linked program, in which the device code is loaded")?;
                return Ok(Cow::Borrowed(file));
            }
            let new = self.within("section", name, |writer| {
                writer.file(Some(FileKind::HostElf), contents)
            })?;
            if let Cow::Owned(new) = new {
                changed.insert(*index, new);
            }
        }
        if changed.is_empty() {
            return Ok(Cow::Borrowed(file));
        }
        let more: usize = changed.values().map(Vec::len).sum();
        self.pay(file.len().saturating_add(more))?;
        elf::with_contents(file, changed, self.meter).map(Cow::Owned)
    }
}

/// Returns the apparent alignment of data at an offset, up to the size of a page.
fn alignment(offset: u64) -> u64 {
    match offset {
        0 => 1,
        _ => (1_u64 << offset.trailing_zeros().min(12)).min(PAGE),
    }
}

/// Pads to a multiple of the alignment.
pub(super) fn fill(out: &mut Vec<u8>, alignment: u64) -> Result<()> {
    elf::align(out, alignment)
}
