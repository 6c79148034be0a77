//! Locates an address of a process: the memory that contains it, or its distance from memory and from buffers of kernel arguments.

use core::ops::Range;
use std::collections::BTreeSet;

use super::fault::{MemoryMap, distance};
use super::process::Programs;
use crate::arch::{Apertures, ProcessAddress};
use crate::fault::Memory;
use crate::gpu_core::{Dispatch, GpuCore, Process, Scratch};

/// Addresses below this have no memory: they are null pointers with an offset.
const NULL_PAGE: u64 = 4096;

/// The largest distance of an address from the base of its access, in bytes: offsets have 32 bits, and constants less.
const FARTHEST: u64 = 1 << 33;

/// An argument of a kernel that is a pointer into global memory.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointerArgument {
    /// The name in the source, if the object has it.
    pub name: Option<String>,
    /// The position among the arguments, from 0.
    pub position: usize,
    /// The address to which it points.
    pub value: u64,
    /// The memory that it points into. The buffer begins at `value` and ends within this memory.
    pub range: Option<Range<u64>>,
    /// The size of the type to which it points, in bytes, or `None` if unknown.
    pub element_size: Option<u64>,
}

impl PointerArgument {
    /// Returns the index of the element that contains an address, relative to the argument's target, or `None` if the size of an element is unknown.
    #[must_use]
    pub fn index_of(&self, address: u64) -> Option<i128> {
        let size = i128::from(self.element_size.filter(|size| *size != 0)?);
        let offset = i128::from(address).checked_sub(self.value.into())?;
        offset.checked_div_euclid(size)
    }

    /// Returns the maximum number of whole elements: as many as the memory has from the argument's target on.
    #[must_use]
    pub fn most_elements(&self) -> Option<u64> {
        let range = self.range.as_ref()?;
        let bytes = range.end.checked_sub(self.value)?;
        bytes.checked_div(self.element_size?)
    }
}

/// The nearest known thing to an address.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// The null page: a null pointer with an offset.
    NullPage,
    /// LDS, by a generic address.
    Local,
    /// Scratch of the wave, or by a generic address.
    Scratch,
    /// The memory that an argument points into.
    Argument(PointerArgument, Range<u64>),
    /// Memory that no argument points into.
    Mapping(Range<u64>),
    /// The memory of the process is unknown.
    Nothing,
}

/// The owner of memory that no argument points into.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostMemory {
    /// It was allocated by the host, and the GPU may have no mapping of it.
    Yes,
    /// It was allocated for the GPU, or the GPU is known to access it.
    No,
    /// The core does not tell.
    Unknown,
}

/// The place of an address.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// The nearest known thing.
    pub nearest: Nearest,
    /// The distance from the thing in bytes: positive after its last byte, negative before its first, 0 inside.
    pub distance: i128,
    /// The code object that contains the address.
    pub code_object: Option<usize>,
    /// For memory that no argument points into: its owner.
    pub host: HostMemory,
    /// True if the address was computed from a base address, by which the argument was chosen.
    pub is_from_base: bool,
    /// True if the address is known to belong to the argument: the argument is the base of the access, or the only one that points into the
    /// memory that contains the address.
    pub is_of_argument: bool,
}

impl Whereabouts {
    /// Finds the place of an address in a process of which only the code objects are known.
    ///
    /// * `loaded`: the addresses of each code object; empty if they are not known.
    #[must_use]
    pub fn in_objects(address: u64, loaded: &[Range<u64>]) -> Whereabouts {
        let object = loaded.iter().position(|range| range.contains(&address));
        let (nearest, distance) = match object.and_then(|index| loaded.get(index)) {
            _ if address < NULL_PAGE => (Nearest::NullPage, address.into()),
            Some(range) => (Nearest::Mapping(range.clone()), 0),
            None => (Nearest::Nothing, 0),
        };
        Whereabouts {
            nearest,
            distance,
            code_object: object,
            host: HostMemory::No,
            is_from_base: false,
            is_of_argument: false,
        }
    }
}

/// The memory of a process as a dispatch sees it.
#[derive(Clone, Debug, Default)]
pub struct DispatchMemory {
    /// The arguments that are pointers.
    pub arguments: Vec<PointerArgument>,
    /// All memory. It counts as complete if all arguments point into some of it, because a core without buffers lacks their memory.
    pub map: MemoryMap,
    /// The memory that was allocated for the GPU, if the core tells.
    gpu: Option<MemoryMap>,
}

impl DispatchMemory {
    /// Reads the memory from a core.
    ///
    /// * `dispatch`: the dispatch with the arguments, if known.
    #[must_use]
    pub fn new(
        core: &GpuCore<'_>,
        programs: &Programs<'_>,
        dispatch: Option<&Dispatch>,
    ) -> DispatchMemory {
        let ranges = core.mapped_ranges().iter().cloned();
        let map = MemoryMap::new(ranges.clone(), false);
        let found = dispatch.and_then(|dispatch| arguments(core, programs, dispatch, &map));
        let points_into_memory = found.as_ref().is_some_and(|arguments| {
            !arguments.is_empty()
                && arguments
                    .iter()
                    .all(|argument| argument.value == 0 || argument.range.is_some())
                && arguments.iter().any(|argument| argument.range.is_some())
        });
        let is_complete = core.has_all_mappings() && points_into_memory;
        let arguments = found.unwrap_or_default();
        let buffers = arguments.iter().filter_map(|one| one.range.clone());
        let scratch = core.waves().filter_map(|wave| {
            let scratch = wave.scratch()?;
            map.range_of(scratch.address)
        });
        // The memory with the arguments themselves is accessed too.
        let kernarg = dispatch.map(|one| one.packet.kernarg_address);
        let kernarg = kernarg.and_then(|address| map.range_of(address));
        let expected: BTreeSet<(u64, u64)> = buffers
            .chain(scratch.take(1))
            .chain(kernarg)
            .map(|range| (range.start, range.end))
            .collect();
        let expected = expected.into_iter().map(|(start, end)| start..end);
        DispatchMemory {
            map: MemoryMap::new(ranges, is_complete).expecting(expected),
            arguments,
            gpu: core
                .gpu_ranges()
                .map(|ranges| MemoryMap::new(ranges.iter().cloned(), false)),
        }
    }

    /// Finds the place of an address relative to the argument from which it was computed. Returns `None` if no argument is known to be its base,
    /// for addresses in the null page, and for addresses that no offset reaches.
    ///
    /// * `base`: the base address of the access.
    #[must_use]
    pub fn from_base(&self, address: u64, base: u64) -> Option<Whereabouts> {
        if address < NULL_PAGE || address.abs_diff(base) > FARTHEST {
            return None;
        }
        let mut equal = self.arguments.iter().filter(|one| one.value == base);
        let first = equal.next();
        let is_one = equal.next().is_none();
        let argument = match first {
            // Several null pointers cannot be told apart.
            Some(first) => Some(first).filter(|first| is_one || first.value != 0),
            None => {
                let range = self.map.range_of(base)?;
                self.argument_at(base, &range)
            }
        }?;
        let empty = argument.value..argument.value;
        let range = argument.range.clone().unwrap_or(empty);
        let is_of_argument = (first.is_some() && is_one) || self.is_only(argument, &range, address);
        Some(Whereabouts {
            distance: distance(&range, address),
            nearest: Nearest::Argument(argument.clone(), range),
            code_object: None,
            host: HostMemory::No,
            is_from_base: true,
            is_of_argument,
        })
    }

    /// Returns the argument to whose buffer an address near a range of memory may belong. The memory of adjacent buffers is one range, so the last
    /// argument that begins before the address is chosen.
    fn argument_at(&self, address: u64, range: &Range<u64>) -> Option<&PointerArgument> {
        let of_range = || {
            self.arguments
                .iter()
                .filter(|one| one.range.as_ref() == Some(range))
        };
        let before = of_range()
            .filter(|argument| argument.value <= address)
            .max_by_key(|argument| argument.value);
        before.or_else(|| of_range().min_by_key(|argument| argument.value))
    }

    /// Returns true if an argument is the only one that points into the memory that contains an address, which is not before its buffer.
    fn is_only(&self, argument: &PointerArgument, range: &Range<u64>, address: u64) -> bool {
        let mut others = self.arguments.iter().filter(|one| *one != argument);
        others.all(|other| other.range.as_ref() != Some(range))
            && range.contains(&address)
            && argument.value <= address
    }

    /// Returns the owner of memory that no argument points into.
    fn host(&self, address: u64) -> HostMemory {
        let is_expected = self.map.is_expected(address..address.saturating_add(1));
        match &self.gpu {
            _ if is_expected || self.arguments.is_empty() => HostMemory::No,
            Some(gpu) if gpu.range_of(address).is_some() => HostMemory::No,
            Some(_) => HostMemory::Yes,
            None => HostMemory::Unknown,
        }
    }

    /// Finds the place of an address.
    ///
    /// * `apertures`: the generic addresses of LDS and scratch.
    /// * `scratch`: the wave's scratch.
    #[must_use]
    pub fn find(
        &self,
        address: u64,
        apertures: Option<Apertures>,
        scratch: Option<Scratch>,
        process: &Process<'_>,
    ) -> Whereabouts {
        let in_aperture = |base: u64| {
            let offset = address.checked_sub(base);
            offset.is_some_and(|offset| u32::try_from(offset).is_ok())
        };
        let is_in_scratch = |scratch: Scratch| {
            let offset = address.checked_sub(scratch.address);
            offset.is_some_and(|offset| offset < scratch.size)
        };
        let at = |nearest: Nearest, distance: i128| Whereabouts {
            nearest,
            distance,
            code_object: process.object_at(ProcessAddress(address)),
            host: HostMemory::No,
            is_from_base: false,
            is_of_argument: false,
        };
        if address < NULL_PAGE {
            return at(Nearest::NullPage, address.into());
        }
        if let Some(apertures) = apertures {
            if in_aperture(apertures.shared_base) {
                return at(Nearest::Local, 0);
            }
            if in_aperture(apertures.private_base) {
                return at(Nearest::Scratch, 0);
            }
        }
        if scratch.is_some_and(is_in_scratch) {
            return at(Nearest::Scratch, 0);
        }
        let Some((range, far)) = self.map.nearest(address) else {
            return at(Nearest::Nothing, 0);
        };
        match self.argument_at(address, &range) {
            Some(argument) => Whereabouts {
                is_of_argument: self.is_only(argument, &range, address),
                ..at(Nearest::Argument(argument.clone(), range), far)
            },
            None => Whereabouts {
                host: self.host(address),
                ..at(Nearest::Mapping(range), far)
            },
        }
    }
}

/// Reads the arguments of a kernel that are pointers into global memory, or `None` if they are unknown.
fn arguments(
    core: &GpuCore<'_>,
    programs: &Programs<'_>,
    dispatch: &Dispatch,
    map: &MemoryMap,
) -> Option<Vec<PointerArgument>> {
    let (object, kernel) = programs.process().kernel(dispatch)?;
    let program = programs.get(object).and_then(Result::ok);
    let arguments = kernel.metadata.as_ref()?.args.as_ref()?;
    let start = dispatch.packet.kernarg_address;
    let pointers = arguments
        .iter()
        .enumerate()
        .filter(|(_, argument)| argument.value_kind.as_deref() == Some("global_buffer"));
    pointers
        .map(|(position, argument)| {
            let mut bytes = [0; 8];
            let at = start.checked_add(argument.offset?)?;
            core.read_memory(at, &mut bytes).then_some(())?;
            let value = u64::from_le_bytes(bytes);
            let parameter = program.and_then(|one| one.source_parameter(kernel, position));
            let (source_name, element_size) = match parameter {
                Some(parameter) => (parameter.name, parameter.element_size),
                None => (None, None),
            };
            Some(PointerArgument {
                // HIP's metadata has no names.
                name: argument.name.clone().or(source_name),
                position,
                value,
                range: map.range_of(value),
                element_size,
            })
        })
        .collect()
}
