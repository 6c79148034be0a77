//! Reads GPU core files: the waves of a process that uses AMD GPUs, at its crash or when a debugger wrote the core.
//!
//! [`GpuCore`] opens one or two files: a merged one (from `roccoremerge`, or ROCgdb's `gcore`), or the GPU's half (`gpucore.PID`, from the ROCm
//! runtime) and the host's (`core.PID`, from the kernel). It finds agents, queues, dispatches and waves; a [`CoreWave`] is a
//! [`Wave`](crate::wave::Wave). [`Process`] has the loaded code objects. Interpreting their debugging information is left to the layers above.
//!
//! ```
//! use hetdwarf::Limits;
//! use hetdwarf::gpu_core::{GpuCore, StopReason};
//!
//! let file = std::fs::read("examples/demo/demo.core").unwrap();
//! let core = GpuCore::open(&[&file], &Limits::default())?;
//! assert!(core.problems().is_empty());
//! let mut faulted = core.waves().filter(|wave| wave.stops().contains(StopReason::MemoryViolation));
//! let wave = faulted.next().unwrap();
//! assert_eq!(wave.workgroup(), Some([2, 0, 0]));
//! assert_eq!(wave.exec() & 0xff, 0xaa, "lanes 1, 3, 5 and 7 were active");
//! # Ok::<(), hetdwarf::Error>(())
//! ```
//!
//! No input is trusted: a damaged part becomes a [`Problem`] with its place, and the rest is read. Bytes are borrowed from the files, which can be
//! mapped. Opening reads headers, notes, control stacks and a few words of each wave.
//!
//! Sources: AMD's ROCdbgapi, the ROCm runtime and thunk library, the kernel's `kfd_ioctl.h`. Each file names the parts it uses, and
//! `spec-notes/gpu-core.md` gives their certainty.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod code_object;
mod container;
mod hardware_register;
mod layout;
mod mapped_files;
mod memory;
mod note;
mod problem;
mod process;
mod queue;
mod record;
mod save_area;
mod scratch;
mod select;
mod stop;
mod survey;
mod trap;
mod wave;

pub use code_object::{LoadedObject, ObjectSource};
pub use hardware_register::HardwareRegister;
pub use note::{Agent, NoteHeader, QueueEntry, QueueType};
pub use problem::{FileOffset, Problem, ProblemKind, ProblemPlace};
pub use process::{Fit, Image, Process, ProcessObject};
pub use queue::{Dispatch, FenceScope, Packet, Queue};
pub use scratch::Scratch;
pub use select::WaveSelector;
pub use stop::{StopReason, StopReasons};
pub use trap::place_in_dispatch;
pub use wave::{CoreWave, WaveState};

use core::ops::Range;

use container::CoreFile;
use memory::ProcessMemory;
use problem::Problems;
use wave::WaveRecord;

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::meter::Meter;
use std::sync::Arc;

/// The GPU state of a process, from its core files.
#[derive(Debug)]
pub struct GpuCore<'data> {
    memory: ProcessMemory<'data>,
    mapped: Vec<Range<u64>>,
    /// The memory that was allocated for the GPU, if the files tell.
    gpu_mapped: Option<Vec<Range<u64>>>,
    has_all_mappings: bool,
    is_gpu_half: bool,
    meter: Arc<Meter>,
    header: NoteHeader,
    interface: Option<u32>,
    agents: Vec<Agent>,
    queues: Vec<Queue>,
    /// By queue and packet.
    dispatches: Vec<Dispatch>,
    objects: Vec<LoadedObject>,
    waves: Vec<WaveRecord>,
    problems: Vec<Problem>,
}

impl<'data> GpuCore<'data> {
    /// Opens a core: a merged file, or the GPU's half and the host's, in any order.
    ///
    /// Damaged parts are listed in [`problems`](Self::problems), and the rest is read.
    ///
    /// # Errors
    /// [`Malformed`](crate::error::ErrorKind::Malformed) if a file is no core, if no file has the note with the driver's state, or if its version is
    /// not 1.
    pub fn open(files: &[&'data [u8]], limits: &Limits) -> Result<GpuCore<'data>> {
        let mut problems = Problems::default();
        if files.is_empty() {
            return Err(Error::malformed("GPU core", "there is no file"));
        }
        let length = files.iter().map(|file| file.len() as u64);
        let length = length.fold(0, u64::saturating_add);
        let meter = Arc::new(Meter::new(limits, length));
        let files = files
            .iter()
            .enumerate()
            .map(|(file, data)| CoreFile::parse(data, file, &mut problems))
            .collect::<Result<Vec<_>>>()?;
        let note = note::read(&files, &meter, &mut problems)?;
        let memory = ProcessMemory::new(&files);
        let mut core = survey::survey(&files, memory, note, meter, problems);
        core.has_all_mappings =
            files.iter().all(|file| file.is_whole) && files.iter().any(|file| !file.is_gpu_half);
        core.is_gpu_half = files.iter().all(|file| file.is_gpu_half);
        core.gpu_mapped = match (core.is_gpu_half, files.iter().any(|file| file.is_gpu_half)) {
            (true, _) => None,
            (false, true) => {
                let halves = files.iter().filter(|file| file.is_gpu_half);
                let of_gpu = halves.flat_map(|file| file.mapped.iter().cloned());
                let of_gpu: Vec<Range<u64>> = of_gpu.collect();
                let is_whole = files.iter().all(|file| file.is_whole);
                Some(of_gpu).filter(|ranges| !ranges.is_empty() && is_whole)
            }
            (false, false) => {
                let mut lists = files.iter();
                lists.find_map(|file| mapped_files::device_ranges(file, &core.meter))
            }
        };
        core.mapped = files.into_iter().flat_map(|file| file.mapped).collect();
        Ok(core)
    }

    /// Returns the limits with which it was opened.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.meter.limits()
    }

    /// Returns the total size of its files, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.memory.size()
    }

    /// Returns the meter for everything read from it, including its code objects.
    #[must_use]
    pub fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Returns the facts of the note about the process as a whole.
    #[must_use]
    pub fn header(&self) -> &NoteHeader {
        &self.header
    }

    /// Returns the version of the runtime's interface (`r_version`), or `None` if it is not in the files.
    #[must_use]
    pub fn interface(&self) -> Option<u32> {
        self.interface
    }

    /// Returns the number of files from which it was opened.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.memory.file_count()
    }

    /// Returns the GPUs, in the order of the note.
    #[must_use]
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Returns the queues, in the order of the note.
    #[must_use]
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// Returns the dispatches that are not finished, in the order of queues and packets.
    #[must_use]
    pub fn dispatches(&self) -> &[Dispatch] {
        &self.dispatches
    }

    /// Returns the dispatch of a packet of a queue, given by index.
    #[must_use]
    pub fn dispatch(&self, queue: usize, packet_id: u64) -> Option<&Dispatch> {
        self.dispatches.get(self.dispatch_index(queue, packet_id)?)
    }

    /// Returns the index of that dispatch in [`dispatches`](Self::dispatches).
    fn dispatch_index(&self, queue: usize, packet_id: u64) -> Option<usize> {
        let key = |dispatch: &Dispatch| (dispatch.queue, dispatch.packet_id);
        self.dispatches
            .binary_search_by_key(&(queue, packet_id), key)
            .ok()
    }

    /// Returns the code objects that were loaded, in the order of the runtime's list.
    #[must_use]
    pub fn code_objects(&self) -> &[LoadedObject] {
        &self.objects
    }

    /// Returns all waves, in the order of queues, XCCs and control stacks.
    pub fn waves(&self) -> impl ExactSizeIterator<Item = CoreWave<'_, 'data>> {
        self.waves
            .iter()
            .enumerate()
            .map(|(index, record)| CoreWave {
                core: self,
                index,
                record,
            })
    }

    /// Returns the wave with this number, from 0.
    #[must_use]
    pub fn wave(&self, index: usize) -> Option<CoreWave<'_, 'data>> {
        let record = self.waves.get(index)?;
        Some(CoreWave {
            core: self,
            index,
            record,
        })
    }

    /// Returns everything that could not be read, or is invalid.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Copies bytes of the process's memory into `out`. Returns false if any of them is not in the files; `out` is then partly overwritten.
    #[must_use]
    pub fn read_memory(&self, address: u64, out: &mut [u8]) -> bool {
        self.memory.read(address, out)
    }

    /// Returns the addresses of the process whose bytes are in the files, ascending.
    pub fn memory_ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.memory.ranges()
    }

    /// Returns the mapped addresses of the process, whether or not their bytes are in the files, in the order of the files.
    #[must_use]
    pub fn mapped_ranges(&self) -> &[Range<u64>] {
        &self.mapped
    }

    /// Returns the memory that was allocated for the GPU: the mapped addresses of the GPU's half, or the mappings of device files that a merged core
    /// lists. Returns `None` if the files have neither, or not all of it.
    #[must_use]
    pub fn gpu_ranges(&self) -> Option<&[Range<u64>]> {
        self.gpu_mapped.as_deref()
    }

    /// Returns the problem because of which no wave could be read: of the files first, and then of the note, the agents and the queues. Returns
    /// `None` if there are waves, or if no problem can hide any.
    #[must_use]
    pub fn unread(&self) -> Option<&Problem> {
        let hiding = self.problems.iter().filter(|one| one.may_hide_waves());
        hiding
            .min_by_key(|problem| match problem.place {
                ProblemPlace::File(_) => 0,
                ProblemPlace::Note => 1,
                ProblemPlace::Agent(_) => 2,
                ProblemPlace::Queue { .. }
                | ProblemPlace::CodeObjects
                | ProblemPlace::CodeObject(_) => 3,
            })
            .filter(|_| self.waves.is_empty())
    }

    /// Returns true if the files list all memory of the process: they include the host's half or a merged file, and no program header is missing.
    #[must_use]
    pub fn has_all_mappings(&self) -> bool {
        self.has_all_mappings
    }

    /// Returns true if only the GPU's half of the core was given. Queues, waves and code objects are found through memory of the host's half.
    #[must_use]
    pub fn is_gpu_half(&self) -> bool {
        self.is_gpu_half
    }

    /// Returns the number of the `len` bytes from `address` on that come before the first one missing in the files.
    #[must_use]
    pub fn available(&self, address: u64, len: u64) -> u64 {
        self.memory.available(address, len)
    }
}
