//! `hetdwarf-core/1`: the contents of a GPU core file.

mod assertion;
mod element;
mod fault;
mod faults;
mod groups;
mod lines;
mod log;
mod nearest;
mod places;
mod report;
mod survey;
mod verdict;
mod workgroups;

use serde::{Deserialize, Serialize};

use super::number::Hex;
use crate::gpu_core::{
    CoreWave, Dispatch, FenceScope, GpuCore, LoadedObject, Problem, Queue, WaveState,
};
use crate::inspect::Programs;
use crate::meter::Meter;
use crate::object::descriptor::InitialRegisters;
use crate::untrusted::Untrusted;
use crate::wave::Wave;
pub use assertion::AssertionDocument;
pub use element::ElementDocument;
pub use fault::{FaultCandidateDocument, FaultDocument, FaultLaneDocument};
use faults::Faults;
pub use lines::{CoreWaveLine, offset_in_function};
pub use log::{EventDocument, LogDocuments, LoggedStop};
pub use nearest::NearestDocument;
use places::Places;
pub use places::own_frame;
pub use report::CoreReport;
pub use survey::unread;
use survey::{Finders, survey};
pub use verdict::VerdictDocument;
pub use workgroups::{DivergentDocument, OffLanesDocument, PolledDocument, WorkgroupDocument};
use workgroups::{Started, WavePlaces};

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoreDocument {
    /// `hetdwarf-core/1`.
    pub format: &'static str,
    /// The verdict: what happened, in one sentence.
    pub verdict: VerdictDocument,
    /// The note with the state of the driver; null for a log.
    pub note: Option<CoreNoteDocument>,
    /// The GPUs.
    pub agents: Vec<AgentDocument>,
    /// The queues, in the order of the note.
    pub queues: Vec<QueueDocument>,
    /// The dispatches that are not finished.
    pub dispatches: Vec<DispatchDocument>,
    /// The code objects that were loaded.
    pub code_objects: Vec<CoreObjectDocument>,
    /// The waves, in the order of queues, XCCs and control stacks.
    pub waves: Vec<CoreWaveDocument>,
    /// The workgroups of these waves.
    pub workgroups: Vec<WorkgroupDocument>,
    /// The place of the requested address; absent if no address was requested.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub whereabouts: Option<NearestDocument>,
    /// The groups of waves: stopped ones first, then by size.
    pub groups: Vec<GroupDocument>,
    /// The messages of the runtime, in a log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventDocument>,
    /// Parts that are unreadable or invalid.
    pub problems: Vec<ProblemDocument>,
}

/// The note with the state of the driver.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoreNoteDocument {
    /// The version.
    pub version: u64,
    /// The version of the driver's interface, major and minor.
    pub kfd: [u32; 2],
    /// The address of the runtime's list of code objects.
    pub r_debug: Hex,
    /// The state of the runtime; 1 is enabled.
    pub runtime_state: u32,
    /// The version of the runtime's interface; null if it is not in the file.
    pub interface: Option<u32>,
}

/// A GPU.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AgentDocument {
    /// The number, from 1.
    pub index: usize,
    /// The driver's id of the GPU.
    pub gpu_id: u32,
    /// The target.
    pub target: Untrusted<'static>,
    /// XCCs.
    pub xcc: u32,
    /// Shader engines of one XCC.
    pub shader_engines: u32,
    /// SIMDs.
    pub simds: u32,
    /// PCI location: bus, device and function, `0a:00.0`.
    pub location: String,
    /// True if its waves can be read.
    pub readable: bool,
}

/// A queue.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct QueueDocument {
    /// The number, from 1.
    pub index: usize,
    /// The driver's id of the queue.
    pub queue_id: u32,
    /// The driver's id of the queue's GPU.
    pub gpu_id: u32,
    /// `aql`, `pm4`, `sdma`, `xgmi`, `sdma-by-engine` or `unknown`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Waves that were found.
    pub waves: u64,
    /// The id of the first packet that is not finished; null if it is not known.
    pub read_id: Option<u64>,
    /// The id of the first packet that is not written; null if it is not known.
    pub write_id: Option<u64>,
    /// The address of the ring.
    pub ring_address: Hex,
    /// The size of the ring, in bytes.
    pub ring_size: u32,
}

/// A dispatch.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct DispatchDocument {
    /// The number, from 1.
    pub index: usize,
    /// The driver's id of its queue.
    pub queue_id: u32,
    /// The id of its packet.
    pub packet_id: u64,
    /// The kernel's symbol; null if its code object or name is not known.
    pub kernel: Option<Untrusted<'static>>,
    /// The kernel's name in the source, without parameters; absent if the debugging information does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_function: Option<Untrusted<'static>>,
    /// Work-items of the grid.
    pub grid_size: [u32; 3],
    /// Work-items of a workgroup.
    pub workgroup_size: [u32; 3],
    /// The address of the kernel's descriptor.
    pub kernel_object: Hex,
    /// The address of the arguments.
    pub kernarg: Hex,
    /// Scratch of a lane, in bytes.
    pub private_segment_size: u32,
    /// LDS of a workgroup, in bytes.
    pub group_segment_size: u32,
    /// True if the dispatch waits for the packets before it.
    pub barrier: bool,
    /// The scope that is acquired before it.
    pub acquire_scope: FenceScope,
    /// The scope that is released after it.
    pub release_scope: FenceScope,
}

/// A code object.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoreObjectDocument {
    /// The address where it is loaded.
    pub load_address: Hex,
    /// The place of its file, as the runtime names it.
    pub uri: Untrusted<'static>,
    /// The target; null if the file of the code object was not found.
    pub target: Option<Untrusted<'static>>,
    /// True if its file was found.
    pub found: bool,
    /// The file that was read; absent if it is a copy in the core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Untrusted<'static>>,
}

/// A wave.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoreWaveDocument {
    /// The number, from 1.
    pub index: usize,
    /// The driver's id of its GPU.
    pub gpu_id: u32,
    /// The driver's id of its queue.
    pub queue_id: u32,
    /// The XCC it ran on, from 0.
    pub xcc: u32,
    /// The id of the packet that launched the wave; null if it is not known.
    pub packet_id: Option<u64>,
    /// The workgroup; null if it is not known.
    pub workgroup: Option<[u32; 3]>,
    /// The wave's number in the workgroup; null if it is not known.
    pub wave_in_group: Option<u32>,
    /// The number of its lanes.
    pub lanes: u32,
    /// The program counter, as an address of the process.
    pub pc: Hex,
    /// The mask of its active lanes.
    pub exec: Hex,
    /// The state: stopped or running.
    pub state: WaveState,
    /// The reasons for the stop, the most specific first.
    pub stop: Vec<&'static str>,
    /// The index of the code object that contains the pc, from 0; null if it is not known.
    pub code_object: Option<usize>,
    /// The symbol of the wave's kernel.
    pub kernel: Option<Untrusted<'static>>,
    /// The kernel's name in the source, without parameters; absent if the debugging information does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_function: Option<Untrusted<'static>>,
    /// The function at the pc, which may be an inlined function, or the symbol.
    pub function: Option<Untrusted<'static>>,
    /// The path of the source file, as the line table gives it.
    pub file: Option<Untrusted<'static>>,
    /// The line.
    pub line: Option<u64>,
    /// Set if a debugger halted the wave at launch, so that it never ran.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub halted_at_launch: bool,
    /// The access at which it faulted; absent unless it stopped for a memory violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultDocument>,
    /// The access that the loop around the wave repeats; absent if registers do not prove it, or if enough other waves were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polled: Option<PolledDocument>,
    /// The assertion that failed; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion: Option<AssertionDocument>,
    /// The registers of a kernel that still hold their initial values
    /// ([`StopFrame::initial_registers`](crate::inspect::StopFrame::initial_registers)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<InitialRegisters>,
}

/// A group of waves.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct GroupDocument {
    /// The numbers of the waves, from 1.
    pub waves: Vec<usize>,
    /// The common key: by default the call stack, the innermost function first.
    pub stack: Vec<Untrusted<'static>>,
    /// The state of the waves: stopped or running.
    pub state: WaveState,
    /// The kernel of the waves.
    pub kernel: Option<Untrusted<'static>>,
}

/// A part of the core that could not be read.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemDocument {
    /// The affected part of the core.
    #[serde(rename = "where")]
    pub place: Untrusted<'static>,
    /// The offset in the file of the bytes at fault; null if the problem has no place in a file.
    pub offset: Option<Hex>,
    /// The index of the file, from 0; absent if there is only one file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<usize>,
    /// The problem, as text.
    pub message: Untrusted<'static>,
}

impl ProblemDocument {
    /// Creates a problem that has no place in a file.
    #[must_use]
    pub fn of(place: impl Into<Untrusted<'static>>, message: String) -> ProblemDocument {
        ProblemDocument {
            place: place.into(),
            offset: None,
            file: None,
            message: message.into(),
        }
    }
}

/// The key by which waves are grouped.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// State, kernel and call stack.
    #[default]
    Stack,
    /// State, kernel and source line.
    Line,
    /// State and kernel.
    Kernel,
    /// Nothing: each wave is a group.
    None,
}

/// A request about a core.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreRequest {
    /// The key by which waves are grouped.
    pub group_by: GroupBy,
    /// The fault address that the runtime reported, or the address of its page.
    pub fault_address: Option<u64>,
    /// The address to locate.
    pub whereabouts: Option<u64>,
    /// True to search for the faulting access of every wave, however many waves faulted.
    pub all_faults: bool,
}

impl CoreRequest {
    /// Sets the key by which waves are grouped.
    #[must_use]
    pub fn group_by(self, group_by: GroupBy) -> CoreRequest {
        CoreRequest { group_by, ..self }
    }

    /// Searches for the faulting access of every wave if `all_faults` is true. Otherwise, only some waves at each place are searched.
    #[must_use]
    pub fn all_faults(self, all_faults: bool) -> CoreRequest {
        CoreRequest { all_faults, ..self }
    }

    /// Sets the address to locate.
    #[must_use]
    pub fn whereabouts(self, address: Option<u64>) -> CoreRequest {
        CoreRequest {
            whereabouts: address,
            ..self
        }
    }

    /// Sets the fault address, which may be the address of its page.
    #[must_use]
    pub fn fault_address(self, fault_address: Option<u64>) -> CoreRequest {
        CoreRequest {
            fault_address,
            ..self
        }
    }
}

/// A code object as the caller found it.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct FoundObject {
    /// The place of its file, as the runtime or the user names it.
    pub uri: Untrusted<'static>,
    /// The file that was read. `None` if it is a copy in the core.
    pub file: Option<Untrusted<'static>>,
}

impl CoreReport {
    /// Describes a core. `found` lists the code objects in the order of [`Process::objects`](crate::gpu_core::Process::objects).
    #[must_use]
    pub fn new(
        core: &GpuCore<'_>,
        programs: &Programs<'_>,
        found: &[FoundObject],
        group_by: GroupBy,
    ) -> CoreReport {
        let meter = core.meter().for_query();
        let request = CoreRequest::default().group_by(group_by);
        CoreReport::within(core, programs, found, request, &meter, &mut |_| {})
    }

    /// Describes a core and charges the call stacks of the waves to the meter of a command.
    ///
    /// * `progress`: called for each located wave with the number of waves so far. Locating waves takes most of the time.
    pub fn within(
        core: &GpuCore<'_>,
        programs: &Programs<'_>,
        found: &[FoundObject],
        request: CoreRequest,
        meter: &Meter,
        progress: &mut dyn FnMut(usize),
    ) -> CoreReport {
        let process = programs.process();
        let mut places = Places::new(meter);
        let mut faults = Faults::new(core, programs, request, meter);
        let dispatches: Vec<DispatchDocument> = (1..)
            .zip(core.dispatches())
            .map(|(index, dispatch)| DispatchDocument::new(index, dispatch, core, programs))
            .collect();
        let mut finders = Finders {
            places: &mut places,
            faults: &mut faults,
            whereabouts: WavePlaces::new(programs, meter),
        };
        let found_waves = survey(core, programs, &dispatches, &mut finders, progress);
        let (waves, wave_places, stacks) = found_waves.named();
        let workgroups =
            workgroups::workgroups(core.waves().map(Started::of), &waves, &wave_places);
        let verdict = verdict::Found {
            waves: &waves,
            places: &wave_places,
            workgroups: &workgroups,
            stacks: &stacks,
            names: &stacks.names(),
            unread: unread(core),
        };
        let verdict = verdict.verdict();
        let has_several = core.file_count() > 1;
        let problems = core.problems().iter().chain(process.problems());
        let mut problems: Vec<ProblemDocument> = problems
            .map(|problem| ProblemDocument::new(problem, has_several))
            .collect();
        problems.extend(places.problems());
        problems.extend(faults.problem());
        let document = CoreDocument {
            format: "hetdwarf-core/1",
            verdict,
            note: Some(survey::note(core)),
            agents: survey::agents(core),
            queues: (1..)
                .zip(core.queues())
                .map(|(index, queue)| QueueDocument::new(index, queue))
                .collect(),
            dispatches,
            code_objects: survey::code_objects(process, found),
            workgroups,
            whereabouts: request
                .whereabouts
                .map(|address| faults.whereabouts(address)),
            groups: groups::groups(&waves, &stacks, request.group_by),
            waves,
            events: Vec::new(),
            problems,
        };
        CoreReport { document, stacks }
    }
}

impl From<&LoadedObject> for FoundObject {
    fn from(object: &LoadedObject) -> FoundObject {
        FoundObject {
            uri: object.uri.clone().into(),
            file: None,
        }
    }
}

impl QueueDocument {
    fn new(index: usize, queue: &Queue) -> QueueDocument {
        let entry = &queue.entry;
        QueueDocument {
            index,
            queue_id: entry.queue_id,
            gpu_id: entry.gpu_id,
            kind: entry.kind.name(),
            waves: queue.waves,
            read_id: queue.read_id,
            write_id: queue.write_id,
            ring_address: Hex::from(entry.ring_address),
            ring_size: entry.ring_size,
        }
    }
}

impl DispatchDocument {
    fn new(
        index: usize,
        dispatch: &Dispatch,
        core: &GpuCore<'_>,
        programs: &Programs<'_>,
    ) -> DispatchDocument {
        let packet = &dispatch.packet;
        let queue = core.queues().get(dispatch.queue);
        let kernel = programs.process().kernel(dispatch);
        let function = kernel.and_then(|(object, kernel)| {
            let program = programs.get(object)?.ok()?;
            let entry = kernel.descriptor.as_ref()?.entry();
            let function = program.info().find_function(entry).ok()??;
            Some(function.name?.into_owned())
        });
        DispatchDocument {
            index,
            queue_id: queue.map_or(0, |queue| queue.entry.queue_id),
            packet_id: dispatch.packet_id,
            kernel: kernel.map(|(_, kernel)| kernel.name.clone().into()),
            kernel_function: function.map(Untrusted::from),
            grid_size: packet.grid_size,
            workgroup_size: packet.workgroup_size,
            kernel_object: Hex::from(packet.kernel_object),
            kernarg: Hex::from(packet.kernarg_address),
            private_segment_size: packet.private_segment_size,
            group_segment_size: packet.group_segment_size,
            barrier: packet.barrier,
            acquire_scope: packet.acquire,
            release_scope: packet.release,
        }
    }
}

impl DispatchDocument {
    /// Returns the kernel's name as text shows it: its name in the source, or its symbol.
    #[must_use]
    pub fn kernel_name(&self) -> Option<&Untrusted<'static>> {
        self.kernel_function.as_ref().or(self.kernel.as_ref())
    }
}

impl CoreWaveDocument {
    /// Returns the kernel's name as text shows it: its name in the source, or its symbol.
    #[must_use]
    pub fn kernel_name(&self) -> Option<&Untrusted<'static>> {
        self.kernel_function.as_ref().or(self.kernel.as_ref())
    }

    fn new(
        wave: &CoreWave<'_, '_>,
        programs: &Programs<'_>,
        dispatches: &[DispatchDocument],
        stack: &places::Stack,
    ) -> CoreWaveDocument {
        let queue_id = wave.queue().map_or(0, |queue| queue.entry.queue_id);
        let kernel = wave
            .dispatch_index()
            .and_then(|index| dispatches.get(index));
        let innermost = stack.first();
        CoreWaveDocument {
            index: wave.index() + 1,
            gpu_id: wave.agent().map_or(0, |agent| agent.gpu_id),
            queue_id,
            xcc: wave.xcc(),
            packet_id: wave.packet_id(),
            workgroup: wave.workgroup(),
            wave_in_group: wave.wave_in_group(),
            lanes: wave.wave_size().lanes(),
            pc: Hex::from(wave.pc()),
            exec: Hex::from(wave.exec()),
            state: wave.state(),
            stop: wave.stops().iter().map(|reason| reason.name()).collect(),
            code_object: programs.object_of(wave),
            kernel: kernel.and_then(|dispatch| dispatch.kernel.clone()),
            kernel_function: kernel.and_then(|dispatch| dispatch.kernel_function.clone()),
            function: innermost.and_then(|frame| frame.function.clone()),
            file: innermost.and_then(|frame| frame.file.clone()),
            line: innermost.and_then(|frame| frame.line),
            halted_at_launch: wave.is_halted_at_launch(),
            fault: None,
            polled: None,
            assertion: None,
            entry: Vec::new(),
        }
    }
}

impl ProblemDocument {
    fn new(problem: &Problem, has_several: bool) -> ProblemDocument {
        let file = problem.offset.map(|offset| offset.file);
        ProblemDocument {
            place: problem.place.to_string().into(),
            offset: problem.offset.map(|at| Hex::from(at.offset)),
            file: file.filter(|_| has_several),
            message: problem.kind.to_string().into(),
        }
    }
}
