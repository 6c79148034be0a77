//! Reads the note with the state of the driver: its version, the agents and the queues.
//!
//! In an entry longer than expected, the known fields are read. Missing fields of a shorter one are 0. Sources: the ROCm runtime's
//! `amd_core_dump.cpp` (the note), the kernel's `include/uapi/linux/kfd_ioctl.h` (`kfd_runtime_info`, `kfd_dbg_device_info_entry`,
//! `kfd_queue_snapshot_entry`).

use super::container::{CoreFile, notes};
use super::layout::Layout;
use super::problem::{FileOffset, ProblemKind, ProblemPlace, Problems};
use crate::arch::{Apertures, Processor};
use crate::error::{Error, Result};
use crate::meter::Meter;
use crate::object::bytes::{len, slice_at, tail_at, u32_at, u64_at};

/// `NT_AMDGPU_KFD_CORE_STATE`.
const TYPE: u32 = 33;
const NAME: &[u8] = b"AMDGPU";
/// The only existing version.
const VERSION: u64 = 1;
const HEADER: u64 = 40;
/// The first version of the driver's interface that supports debuggers.
const FIRST_KFD: (u32, u32) = (1, 13);

/// The facts of the note about the process as a whole.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteHeader {
    /// The version of the note: 1.
    pub version: u64,
    /// The version of the driver's interface (KFD), major and minor.
    pub kfd: (u32, u32),
    /// The address of the runtime's list of code objects (`r_debug`).
    pub r_debug: u64,
    /// The state of the runtime: 1 is enabled.
    pub runtime_state: u32,
    /// True if the trap temporaries of all waves were set up at launch.
    pub ttmp_setup: bool,
}

/// An agent: one GPU.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The driver's number for it, to which queues refer.
    pub gpu_id: u32,
    /// The target: `gfx90a`.
    pub target: String,
    /// The target in the driver's numbering: major × 10000 + minor × 100 + stepping.
    pub target_number: u32,
    /// The processor, or `None` if the target is unknown.
    pub processor: Option<&'static Processor>,
    /// The apertures of the generic address space for local and private memory, or `None` if the note has none.
    pub apertures: Option<Apertures>,
    /// PCI location: bus × 256 + device × 8 + function.
    pub location: u32,
    /// The number of SIMDs.
    pub simds: u32,
    /// The maximum number of waves of a SIMD.
    pub waves_per_simd: u32,
    /// The number of XCCs: parts with their own queues and save areas.
    pub xccs: u32,
    /// The number of shader engines of one XCC.
    pub shader_engines: u32,
    /// True if the trap temporaries of its waves were set up at launch, regardless of the header.
    pub ttmp_setup: bool,
    /// True if the driver supports debuggers for it.
    pub is_debuggable: bool,
    /// Exceptions that were raised on it: bit `code - 1`.
    pub exceptions: u64,
    /// The driver's capability bits.
    pub capability: u32,
    /// The offset of the entry.
    pub offset: FileOffset,
}

impl Agent {
    /// Returns true if its waves can be read: their layout is known, and the driver supports debuggers for it.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.is_debuggable && self.layout().is_some()
    }

    /// Returns the layout of its saved waves, or `None` if it is unknown.
    pub(super) fn layout(&self) -> Option<&'static Layout> {
        Layout::of_target(self.target_number)
    }
}

/// The purpose of a queue.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueType {
    /// Kernels, by packets of the architected queuing language. Only these queues are searched for waves.
    Aql,
    /// Kernels, by packets of the hardware.
    Pm4,
    /// Copies.
    Sdma,
    /// Copies to another GPU.
    Xgmi,
    /// Copies, by a chosen engine.
    SdmaByEngine,
    /// Another number.
    Unknown(u32),
}

impl QueueType {
    fn from_number(number: u32) -> QueueType {
        match number {
            0 => QueueType::Pm4,
            1 => QueueType::Sdma,
            2 => QueueType::Aql,
            3 => QueueType::Xgmi,
            4 => QueueType::SdmaByEngine,
            other => QueueType::Unknown(other),
        }
    }

    /// Returns the name: `aql`, `pm4`, `sdma`, `xgmi`, `sdma-by-engine` or `unknown`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            QueueType::Aql => "aql",
            QueueType::Pm4 => "pm4",
            QueueType::Sdma => "sdma",
            QueueType::Xgmi => "xgmi",
            QueueType::SdmaByEngine => "sdma-by-engine",
            QueueType::Unknown(_) => "unknown",
        }
    }
}

/// A queue, from the note.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// The number. With newer runtimes it is only an identifier.
    pub queue_id: u32,
    /// The agent's number.
    pub gpu_id: u32,
    /// The purpose.
    pub kind: QueueType,
    /// The address of the ring of packets.
    pub ring_address: u64,
    /// The size of the ring, in bytes.
    pub ring_size: u32,
    /// The address of the write index.
    pub write_address: u64,
    /// The address of the read index.
    pub read_address: u64,
    /// The address of the save area of the first XCC.
    pub save_area: u64,
    /// The size of the save area of one XCC, in bytes.
    pub save_area_size: u32,
    /// Exceptions that were raised on it: bit `code - 1`.
    pub exceptions: u64,
    /// The offset of the entry.
    pub offset: FileOffset,
}

/// The note.
#[derive(Debug)]
pub(super) struct CoreNote {
    pub(super) header: NoteHeader,
    pub(super) agents: Vec<Agent>,
    pub(super) queues: Vec<QueueEntry>,
    /// True if versions and states have known values.
    pub(super) is_sure: bool,
}

/// A note's contents, and their place.
#[derive(Clone, Copy)]
struct Contents<'data> {
    bytes: &'data [u8],
    start: FileOffset,
}

impl Contents<'_> {
    fn at(&self, offset: u64) -> FileOffset {
        FileOffset {
            file: self.start.file,
            offset: self.start.offset.saturating_add(offset),
        }
    }
}

/// Finds the note in the files and reads it.
///
/// # Errors
/// If no file has one, if it has another version, or if its header is incomplete.
pub(super) fn read(
    files: &[CoreFile<'_>],
    meter: &Meter,
    problems: &mut Problems,
) -> Result<CoreNote> {
    let mut found: Option<Contents<'_>> = None;
    for (file, core) in files.iter().enumerate() {
        for extent in &core.notes {
            for note in notes(core.data, *extent) {
                if note.kind != TYPE || note.name != NAME {
                    continue;
                }
                let start = FileOffset {
                    file,
                    offset: note.offset,
                };
                if note.beyond != 0 {
                    let kind = ProblemKind::NoteBeyondSegment { bytes: note.beyond };
                    problems.add(ProblemPlace::File(file), Some(start), kind);
                }
                match found {
                    None => {
                        found = Some(Contents {
                            bytes: note.contents,
                            start,
                        });
                    }
                    Some(first) if first.bytes != note.contents || first.start.file == file => {
                        problems.add(
                            ProblemPlace::File(file),
                            Some(start),
                            ProblemKind::SecondNote,
                        );
                    }
                    Some(_) => {}
                }
            }
        }
    }
    let found = found.ok_or_else(|| {
        let reason = if files.iter().any(|file| file.is_gpu_half) {
            "there is no AMDGPU note of type 33: the file is cut off, or was not written by the ROCm runtime"
        } else {
            "this is only the host's half of a core, without the GPU's state (AMDGPU note of type 33); give the GPU's half too: `hetdwarf core gpucore.PID core.PID`"
        };
        Error::malformed("GPU core", reason)
    })?;
    parse(found, meter, problems)
}

fn parse(note: Contents<'_>, meter: &Meter, problems: &mut Problems) -> Result<CoreNote> {
    let cut = || {
        let reason = format!(
            "it has {} bytes, but its header alone has 40",
            note.bytes.len()
        );
        Error::malformed("AMDGPU note", reason)
    };
    let u32 = |at| u32_at(note.bytes, at).ok_or_else(cut);
    let u64 = |at| u64_at(note.bytes, at).ok_or_else(cut);
    let version = u64(0)?;
    if version != VERSION {
        return Err(Error::malformed(
            "AMDGPU note",
            format!("unknown version {version}; only version 1 is known"),
        ));
    }
    let kfd = (u32(8)?, u32(12)?);
    let runtime_size = u64(16)?;
    let (agents, agent_size) = (u32(24)?, u32(28)?);
    let (queues, queue_size) = (u32(32)?, u32(36)?);
    let runtime = Entry::of(note.bytes, HEADER, runtime_size);
    let header = NoteHeader {
        version,
        kfd,
        r_debug: runtime.u64(0),
        runtime_state: runtime.u32(8),
        ttmp_setup: runtime.u32(12) & 1 == 1,
    };
    let mut is_sure = true;
    if kfd.0 != FIRST_KFD.0 || kfd < FIRST_KFD {
        is_sure = false;
        let (major, minor) = kfd;
        let kind = ProblemKind::KfdVersion { major, minor };
        problems.add(ProblemPlace::Note, Some(note.at(8)), kind);
    }
    if header.runtime_state != 1 {
        is_sure = false;
        let state = header.runtime_state;
        let kind = ProblemKind::RuntimeState { state };
        let at = note.at(HEADER.saturating_add(8));
        problems.add(ProblemPlace::Note, Some(at), kind);
    }
    let mut table = Table {
        note,
        at: HEADER.saturating_add(runtime_size),
        meter,
    };
    let agents = table.read("agents", agents, agent_size, read_agent, problems);
    let queues = table.read("queues", queues, queue_size, read_queue, problems);
    let (needed, found) = (table.at, len(note.bytes));
    let end = Some(note.at(found.min(needed)));
    if needed > found {
        let kind = ProblemKind::NoteShort { needed, found };
        problems.add(ProblemPlace::Note, end, kind);
    } else if needed < found {
        let kind = ProblemKind::NoteLong { needed, found };
        problems.add(ProblemPlace::Note, end, kind);
    }
    check_agents(&agents, problems);
    Ok(CoreNote {
        header,
        agents,
        queues,
        is_sure,
    })
}

/// The tables of entries, one after the other.
struct Table<'data> {
    note: Contents<'data>,
    at: u64,
    meter: &'data Meter,
}

impl Table<'_> {
    /// Reads the complete entries, and goes to the end of the table.
    fn read<T>(
        &mut self,
        what: &'static str,
        count: u32,
        size: u32,
        read: impl Fn(Entry<'_>, FileOffset) -> T,
        problems: &mut Problems,
    ) -> Vec<T> {
        let start = self.at;
        let size = u64::from(size);
        // Neither factor has more than 32 bits.
        self.at = start.saturating_add(u64::from(count).saturating_mul(size));
        if count != 0 && (size == 0 || !size.is_multiple_of(8)) {
            let kind = ProblemKind::EntrySize { what, size };
            problems.add(ProblemPlace::Note, Some(self.note.at(start)), kind);
            return Vec::new();
        }
        let mut found = Vec::new();
        for index in 0..u64::from(count) {
            let at = start.saturating_add(index.saturating_mul(size));
            if slice_at(self.note.bytes, at, size).is_none() {
                break;
            }
            let place = self.note.at(at);
            if let Err(error) = self.meter.work(1).and(self.meter.hold_all::<T>(1)) {
                let kind = ProblemKind::of_limit(&error);
                problems.add(ProblemPlace::Note, Some(place), kind);
                break;
            }
            found.push(read(Entry::of(self.note.bytes, at, size), place));
        }
        found
    }
}

/// An entry. Fields beyond its end are 0.
#[derive(Clone, Copy)]
struct Entry<'data>(&'data [u8]);

impl<'data> Entry<'data> {
    fn of(note: &'data [u8], at: u64, size: u64) -> Entry<'data> {
        let tail = tail_at(note, at).unwrap_or(&[]);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        Entry(tail.get(..size).unwrap_or(tail))
    }

    fn u32(&self, at: u64) -> u32 {
        u32_at(self.0, at).unwrap_or(0)
    }

    fn u64(&self, at: u64) -> u64 {
        u64_at(self.0, at).unwrap_or(0)
    }
}

/// The bits of `capability` that the driver needs to support debuggers: one for the agent, and one for its firmware.
const DEBUGGABLE: u32 = 1 << 15 | 1 << 29;
/// The bit of `debug_prop` for trap temporaries that are always set up.
const TTMP_ALWAYS: u32 = 1 << 10;

fn read_agent(entry: Entry<'_>, offset: FileOffset) -> Agent {
    let target_number = entry.u32(88);
    let target = target_name(target_number);
    let arrays = entry.u32(100);
    Agent {
        gpu_id: entry.u32(56),
        processor: Processor::by_name(&target),
        target,
        target_number,
        apertures: apertures(entry.u64(8), entry.u64(24)),
        location: entry.u32(60),
        simds: entry.u32(92),
        waves_per_simd: entry.u32(96),
        xccs: entry.u32(108),
        // 0 if the entry has no such number, which is detected when scratch is looked up.
        shader_engines: arrays.checked_div(entry.u32(104)).unwrap_or(0),
        ttmp_setup: entry.u32(116) & TTMP_ALWAYS != 0,
        is_debuggable: entry.u32(112) & DEBUGGABLE == DEBUGGABLE,
        exceptions: entry.u64(0),
        capability: entry.u32(112),
        offset,
    }
}

/// The maximum number of XCCs of an agent; current ones have at most 8.
const MOST_XCCS: u32 = 64;

fn check_agents(agents: &[Agent], problems: &mut Problems) {
    for agent in agents {
        let mut add =
            |kind| problems.add(ProblemPlace::Agent(agent.gpu_id), Some(agent.offset), kind);
        if agent.layout().is_none() {
            let target = agent.target.clone();
            add(ProblemKind::UnknownTarget { target });
        }
        if !agent.is_debuggable {
            let capability = agent.capability;
            add(ProblemKind::NotDebuggable { capability });
        }
        if agent.xccs == 0 || agent.xccs > MOST_XCCS {
            let field = "the number of XCCs";
            let value = agent.xccs;
            add(ProblemKind::AgentField { field, value });
        }
        if agent.shader_engines == 0 {
            let field = "the number of shader engines";
            add(ProblemKind::AgentField { field, value: 0 });
        }
    }
}

impl Agent {
    /// Returns the number of XCCs to search for waves.
    pub(super) fn sound_xccs(&self) -> u32 {
        self.xccs.clamp(1, MOST_XCCS)
    }
}

fn target_name(number: u32) -> String {
    let (major, rest) = (number / 10_000, number % 10_000);
    format!("gfx{major}{:x}{:x}", rest / 100, rest % 100)
}

/// Only the upper halves matter.
fn apertures(local: u64, private: u64) -> Option<Apertures> {
    const UPPER: u64 = !0xffff_ffff;
    (local != 0 || private != 0).then_some(Apertures {
        shared_base: local & UPPER,
        private_base: private & UPPER,
    })
}

fn read_queue(entry: Entry<'_>, offset: FileOffset) -> QueueEntry {
    QueueEntry {
        queue_id: entry.u32(40),
        gpu_id: entry.u32(44),
        kind: QueueType::from_number(entry.u32(52)),
        ring_address: entry.u64(8),
        ring_size: entry.u32(48),
        write_address: entry.u64(16),
        read_address: entry.u64(24),
        save_area: entry.u64(32),
        save_area_size: entry.u32(56),
        exceptions: entry.u64(0),
        offset,
    }
}
