//! Holds the code objects of a process at their load addresses.
//!
//! Reading files is left to the caller. It passes the bytes; [`GpuCore::images`] returns the images in the core. A replacement for a stripped or
//! missing object is checked against the loaded code ([`GpuCore::fit`]).

use core::ops::Range;
use std::borrow::Cow;

use object::LittleEndian as LE;
use object::elf;

use super::problem::{Problem, ProblemKind, ProblemPlace};
use super::{Dispatch, GpuCore, LoadedObject, ObjectSource};
use crate::arch::{CodeAddress, LoadAddress, ProcessAddress};
use crate::object::bytes::pod_at;
use crate::object::elf::{Header, RawSegment};
use crate::object::{CodeObject, Kernel};

/// A code object at the address where it is loaded.
#[non_exhaustive]
#[derive(Debug)]
pub struct ProcessObject<'a> {
    /// The load address: the difference between addresses of the process and of the object.
    pub load_address: LoadAddress,
    /// The object, or `None` if its file is unknown or cannot be read.
    pub object: Option<CodeObject<'a>>,
}

/// The code objects of a process.
#[derive(Debug)]
pub struct Process<'a> {
    objects: Vec<ProcessObject<'a>>,
    /// The addresses of loaded segments and the index of their object, ascending.
    ranges: Vec<(Range<ProcessAddress>, usize)>,
    problems: Vec<Problem>,
}

impl<'a> Process<'a> {
    /// Opens the code objects of a core. `images` ([`GpuCore::images`], or more) are their files, each with its load address. Their order determines
    /// the indices: first [`GpuCore::code_objects`], then others that the caller knows.
    ///
    /// An image that is no code object is treated as unknown, with a problem.
    #[must_use]
    pub fn open(core: &GpuCore<'_>, images: &'a [Image<'_>]) -> Process<'a> {
        let mut process = Process {
            objects: Vec::with_capacity(images.len()),
            ranges: Vec::new(),
            problems: Vec::new(),
        };
        for (index, (load_address, image)) in images.iter().enumerate() {
            let object = image
                .as_deref()
                .and_then(|image| process.parse(core, index, image));
            let segments = match &object {
                Some(object) => object.load_segments().collect(),
                None => loaded_segments(core, *load_address),
            };
            process.ranges.extend(segments.iter().filter_map(|range| {
                let start = load_address.checked_to_process(CodeAddress(range.start))?;
                let end = load_address.checked_to_process(CodeAddress(range.end))?;
                Some((start..end, index))
            }));
            process.objects.push(ProcessObject {
                load_address: *load_address,
                object,
            });
        }
        process
            .ranges
            .sort_by_key(|(range, index)| (range.start, *index));
        process
    }

    fn parse(
        &mut self,
        core: &GpuCore<'_>,
        index: usize,
        image: &'a [u8],
    ) -> Option<CodeObject<'a>> {
        let mut add = |kind| {
            self.problems.push(Problem {
                place: ProblemPlace::CodeObject(index),
                offset: None,
                kind,
            });
        };
        match CodeObject::parse_within(image, core.meter()) {
            Ok(object) => {
                if !core.has_agent_for(&object) {
                    let target = object.target().to_string();
                    add(ProblemKind::OtherTarget { target });
                }
                Some(object)
            }
            Err(error) => {
                let reason = error.to_string();
                add(ProblemKind::NotAnObject { reason });
                None
            }
        }
    }

    /// Returns the code objects, in the order of the images.
    #[must_use]
    pub fn objects(&self) -> &[ProcessObject<'a>] {
        &self.objects
    }

    /// Returns their problems.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the code object that has the byte at an address of the process in one of its loaded segments. If its file is unknown, it is found by
    /// the headers in its loaded memory.
    #[must_use]
    pub fn object_at(&self, address: impl Into<ProcessAddress>) -> Option<usize> {
        let address = address.into();
        let after = self
            .ranges
            .partition_point(|(range, _)| range.start <= address);
        let (range, index) = self.ranges.get(after.checked_sub(1)?)?;
        range.contains(&address).then_some(*index)
    }

    /// Returns the kernel of a dispatch, by the address of its descriptor, and the index of its code object.
    #[must_use]
    pub fn kernel(&self, dispatch: &Dispatch) -> Option<(usize, &Kernel)> {
        let address = ProcessAddress(dispatch.packet.kernel_object);
        let index = self.object_at(address)?;
        let loaded = self.objects.get(index)?;
        let CodeAddress(address) = loaded.load_address.checked_to_code(address)?;
        let kernels = loaded.object.as_ref()?.kernels().ok()?;
        let kernel = kernels.iter().find(|kernel| {
            let descriptor = kernel.descriptor.as_ref();
            descriptor.is_some_and(|descriptor| descriptor.address == address)
        })?;
        Some((index, kernel))
    }
}

/// The result of comparing a code object with the one that was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The code equals the loaded code.
    Matches {
        /// The number of bytes compared.
        bytes: u64,
    },
    /// The core has none of the memory for its code.
    Unknown,
    /// No agent has its processor.
    OtherTarget,
    /// The loaded code differs.
    Differs {
        /// The address in the code object of the first difference.
        address: u64,
    },
}

/// The step in bytes for skipping code that is not in the core.
const PAGE: usize = 4096;

/// The load address of a code object, and its file if known.
pub type Image<'data> = (LoadAddress, Option<Cow<'data, [u8]>>);

impl<'data> GpuCore<'data> {
    /// Returns [`images`](Self::images), with the caller's files in place of those at the same load addresses. A file at another address is a code
    /// object that the core does not list.
    #[must_use]
    pub fn images_with(
        &self,
        given: impl IntoIterator<Item = (LoadAddress, Cow<'data, [u8]>)>,
    ) -> Vec<Image<'data>> {
        let mut images = self.images();
        for (address, file) in given {
            match images.iter_mut().find(|(known, _)| *known == address) {
                Some((_, image)) => *image = Some(file),
                None => images.push((address, Some(file))),
            }
        }
        images
    }

    /// Returns the files of all code objects that are completely in the core, in the order of [`code_objects`](Self::code_objects).
    ///
    /// The total size of the files is limited to the size of the core, which only overlapping files could exceed. Files in several pieces are copied, up to the
    /// memory limit of the [meter](Self::meter).
    #[must_use]
    pub fn images(&self) -> Vec<Image<'data>> {
        let mut left = self.memory.size();
        let mut copies = self.meter.most_bytes();
        let image = |object: &LoadedObject| {
            let Some(ObjectSource::Memory { address, size }) = object.source else {
                return (object.load_address, None);
            };
            let found = self
                .memory
                .bytes(address, size, copies)
                .filter(|_| size <= left);
            if let Some(found) = &found {
                left = left.saturating_sub(size);
                if matches!(found, Cow::Owned(_)) {
                    copies = copies.saturating_sub(size);
                }
            }
            (object.load_address, found)
        };
        self.code_objects().iter().map(image).collect()
    }
}

impl GpuCore<'_> {
    /// Returns true if an agent can run code for the target of an object.
    #[must_use]
    pub fn has_agent_for(&self, object: &CodeObject<'_>) -> bool {
        let wanted = object.target().processor();
        let mut processors = self.agents().iter().filter_map(|agent| agent.processor);
        processors.any(|processor| wanted.runs_on(processor))
    }

    /// Compares `object` with the memory at `load_address`. Its target must be an agent's target, and its code must equal the memory of the process,
    /// as far as both are available.
    #[must_use]
    pub fn fit(&self, object: &CodeObject<'_>, load_address: LoadAddress) -> Fit {
        if !self.has_agent_for(object) {
            return Fit::OtherTarget;
        }
        let mut compared: u64 = 0;
        for section in object.sections() {
            if !section.executable || !section.allocated {
                continue;
            }
            let code = usize::try_from(section.size)
                .ok()
                .and_then(|size| object.read_image(section.address, size));
            match self.compare(code.unwrap_or(&[]), section.address, load_address) {
                Ok(bytes) => compared = compared.saturating_add(bytes),
                Err(address) => return Fit::Differs { address },
            }
        }
        if compared == 0 {
            return Fit::Unknown;
        }
        Fit::Matches { bytes: compared }
    }

    /// Returns the number of bytes of `code` that are in memory. The error is the address of the first difference.
    fn compare(&self, code: &[u8], address: u64, load_address: LoadAddress) -> Result<u64, u64> {
        let mut compared: u64 = 0;
        let mut rest = code;
        let mut at = address;
        let mut chunk = [0; PAGE];
        while !rest.is_empty() {
            let most = rest.len().min(PAGE) as u64;
            let there = load_address
                .checked_to_process(CodeAddress(at))
                .map_or(0, |loaded| self.available(loaded.0, most));
            let size = usize::try_from(there).unwrap_or(0);
            if let (Some(loaded), Some(code)) = (chunk.get_mut(..size), rest.get(..size))
                && self.read_memory(load_address.to_process(CodeAddress(at)).0, loaded)
            {
                let same = loaded.iter().zip(code).take_while(|(a, b)| a == b).count();
                if same < size {
                    return Err(at.saturating_add(same as u64));
                }
                compared = compared.saturating_add(there);
            }
            let step = if there == 0 { most } else { there };
            at = at.saturating_add(step);
            let step = usize::try_from(step).unwrap_or(usize::MAX);
            rest = rest.get(step..).unwrap_or_default();
        }
        Ok(compared)
    }
}

/// Returns the loaded segments of a code object whose file is unknown. Its headers are at the start of its loaded memory, where linkers put them.
fn loaded_segments(core: &GpuCore<'_>, load_address: LoadAddress) -> Vec<Range<u64>> {
    let read = |offset: u64, out: &mut [u8]| {
        load_address
            .checked_to_process(CodeAddress(offset))
            .is_some_and(|at| core.read_memory(at.0, out))
    };
    let mut header = [0; size_of::<Header>()];
    let mut found = Vec::new();
    if !read(0, &mut header) || !crate::object::is_amdgpu(&header) {
        return found;
    }
    let Some(header) = pod_at::<Header>(&header, 0) else {
        return found;
    };
    let mut at = Some(header.e_phoff.get(LE));
    for _ in 0..header.e_phnum.get(LE) {
        let mut segment = [0; size_of::<RawSegment>()];
        if !at.is_some_and(|at| read(at, &mut segment)) {
            break;
        }
        at = at.and_then(|at| at.checked_add(segment.len() as u64));
        if let Some(segment) = pod_at::<RawSegment>(&segment, 0)
            && segment.p_type.get(LE) == elf::PT_LOAD
        {
            let start = segment.p_vaddr.get(LE);
            let end = start.checked_add(segment.p_memsz.get(LE));
            found.extend(end.map(|end| start..end));
        }
    }
    found
}
