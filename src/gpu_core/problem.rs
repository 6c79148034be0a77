//! Describes the problems of a core, and their places. The rest of the core is still shown.

use core::fmt;

use crate::error::{Error, ErrorKind, Limit};

/// Memory with the states of waves, as [`ProblemKind::NotInFile`] names it.
pub(super) const SAVE_AREA: &str = "the save area";
pub(super) const CONTROL_STACK: &str = "the control stack";

/// A part of a core that could not be read, or is invalid.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The part of the core that it concerns.
    pub place: ProblemPlace,
    /// The offset of the bytes at fault, or `None` if they are in no file.
    pub offset: Option<FileOffset>,
    /// The kind of the problem.
    pub kind: ProblemKind,
}

impl Problem {
    /// Returns true if waves may be missing because of it.
    pub(super) fn may_hide_waves(&self) -> bool {
        let is_of_code = matches!(
            self.place,
            ProblemPlace::CodeObjects | ProblemPlace::CodeObject(_)
        );
        let hides = if let ProblemKind::NotInFile { what, .. } = &self.kind {
            matches!(*what, SAVE_AREA | CONTROL_STACK)
        } else {
            matches!(
                &self.kind,
                ProblemKind::HeaderCount
                    | ProblemKind::HeadersCut { .. }
                    | ProblemKind::EmptyHeaders { .. }
                    | ProblemKind::FileCut { .. }
                    | ProblemKind::NoteBeyondSegment { .. }
                    | ProblemKind::SecondNote
                    | ProblemKind::NoteShort { .. }
                    | ProblemKind::EntrySize { .. }
                    | ProblemKind::UnknownTarget { .. }
                    | ProblemKind::NotDebuggable { .. }
                    | ProblemKind::AgentField { .. }
                    | ProblemKind::UnknownAgent { .. }
                    | ProblemKind::SaveAreaHeader { .. }
                    | ProblemKind::NeverSaved
                    | ProblemKind::StateWord { .. }
                    | ProblemKind::NoState
                    | ProblemKind::StackCut
                    | ProblemKind::RecordsMissing { .. }
                    | ProblemKind::Limit { .. }
            )
        };
        hides && !is_of_code
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.kind)
    }
}

/// The position of a byte in one of the files of a core.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOffset {
    /// The number of the file, from 0, in the order given.
    pub file: usize,
    /// The offset from its start, in bytes.
    pub offset: u64,
}

/// The part of a core that a problem concerns.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemPlace {
    /// A file, from 0.
    File(usize),
    /// The note with the state of the driver.
    Note,
    /// An agent, by its `gpu_id`.
    Agent(u32),
    /// A queue, by its number and, if it is about waves, the XCC.
    Queue {
        /// The queue's number (`queue_id`).
        queue_id: u32,
        /// The XCC, from 0, or `None` for all.
        xcc: Option<u32>,
    },
    /// The list of code objects.
    CodeObjects,
    /// One code object of the list, from 0.
    CodeObject(usize),
}

impl fmt::Display for ProblemPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProblemPlace::File(file) => write!(f, "file {}", file.saturating_add(1)),
            ProblemPlace::Note => f.write_str("note"),
            ProblemPlace::Agent(gpu_id) => write!(f, "agent {gpu_id}"),
            ProblemPlace::Queue {
                queue_id,
                xcc: None,
            } => write!(f, "queue {queue_id}"),
            ProblemPlace::Queue {
                queue_id,
                xcc: Some(xcc),
            } => write!(f, "queue {queue_id}, XCC {xcc}"),
            ProblemPlace::CodeObjects => f.write_str("code objects"),
            ProblemPlace::CodeObject(index) => write!(f, "code object {index}"),
        }
    }
}

/// Declares the kinds of problems, with the text of each message and its fields.
macro_rules! problems {
    ($($(#[doc = $doc:literal])* $name:ident $({ $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty),* })? => $text:literal;)*) => {
        /// The kind of the problem.
        #[non_exhaustive]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum ProblemKind {
            $($(#[doc = $doc])* $name $({ $($(#[doc = $field_doc])* $field: $ty),* })?,)*
        }

        impl fmt::Display for ProblemKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(ProblemKind::$name $({ $($field),* })? => write!(f, $text),)*
                }
            }
        }
    };
}

problems! {
    // The files.
    /// The number of program headers is in a section header that the file does not have.
    HeaderCount => "the number of program headers is missing: the end of the file is cut off";
    /// The table of program headers ends early.
    HeadersCut {
        /// The number of headers in the file.
        read: u64,
        /// The expected number, as text.
        of: String
    } => "only {read} of {of} program headers are in the file";
    /// Program headers that were never written.
    EmptyHeaders {
        /// The number of headers.
        count: u64
    } => "{count} program headers are empty: the file was cut while it was written, for example by a size limit";
    /// Segments beyond the end of the file.
    FileCut {
        /// The number of segments.
        segments: u64,
        /// The number of missing bytes.
        bytes: u64
    } => "the file ends early: {bytes} bytes of {segments} segments are missing";
    /// A note is longer than its segment.
    NoteBeyondSegment {
        /// The number of excess bytes.
        bytes: u64
    } => "the AMDGPU note says that {bytes} bytes of it are beyond the end of its segment";
    /// More than one file has a note, and they differ; or one file has two.
    SecondNote => "there is another AMDGPU note, which is ignored: the files belong to different processes, or one was written twice";

    // The note.
    /// The note ends before its last entry.
    NoteShort {
        /// The bytes that it should have.
        needed: u64,
        /// The bytes that it has.
        found: u64
    } => "it has {found} of {needed} bytes; incomplete entries are omitted";
    /// There are bytes after the last entry.
    NoteLong {
        /// The bytes that it should have.
        needed: u64,
        /// The bytes that it has.
        found: u64
    } => "it has {found} bytes and should have {needed}; the rest is ignored";
    /// The size of an entry is invalid.
    EntrySize {
        /// The entry at fault.
        what: &'static str,
        /// The size in bytes.
        size: u64
    } => "{what} of {size} bytes each cannot be read: the size is not a positive multiple of 8";
    /// An unknown version of the driver's interface.
    KfdVersion {
        /// Major version.
        major: u32,
        /// Minor version.
        minor: u32
    } => "version {major}.{minor} of the driver's interface is not between 1.13 and 1.x: data read with it is uncertain";
    /// The driver was not ready for debuggers.
    RuntimeState {
        /// The state.
        state: u32
    } => "the state of the runtime is {state}, not 1 (enabled): waves were not saved for debuggers and are unsure";

    // Agents.
    /// A GPU without a known layout.
    UnknownTarget {
        /// The target.
        target: String
    } => "the layout of {target} is unknown: its waves cannot be read";
    /// The agent cannot be debugged.
    NotDebuggable {
        /// The field `capability`.
        capability: u32
    } => "the agent cannot be debugged (capability {capability:#x}, bits 15 and 29): its waves cannot be read";
    /// An invalid number.
    AgentField {
        /// The name of the field.
        field: &'static str,
        /// The value.
        value: u32
    } => "{field} cannot be {value}";

    // Queues.
    /// A save area that another queue also refers to. Its waves are assigned to that queue.
    SameSaveArea {
        /// The number of the other queue.
        queue_id: u32
    } => "it shares the save area of queue {queue_id}, whose waves are counted once";
    /// The queue refers to an agent that is not in the note.
    UnknownAgent {
        /// The `gpu_id`.
        gpu_id: u32
    } => "there is no agent {gpu_id}: its waves cannot be read";
    /// The size of the ring is invalid.
    RingSize {
        /// The size in bytes.
        size: u32
    } => "a ring of {size} bytes does not hold a power-of-two number of packets: dispatches are unknown";
    /// The indices of the ring contradict each other.
    RingIndices {
        /// The read index.
        read: u64,
        /// The write index.
        write: u64
    } => "the read index {read} is past the write index {write}: dispatches are unknown";
    /// Memory that is not in the files.
    NotInFile {
        /// The name of the missing data.
        what: &'static str,
        /// The address.
        address: u64,
        /// The file that would contain it.
        hint: &'static str
    } => "{what} at {address:#x} is not in the file{hint}";
    /// The header of the save area is inconsistent.
    SaveAreaHeader {
        /// The reason.
        reason: &'static str
    } => "the header of the save area is damaged: {reason}";
    /// Work is pending, but the save area was never written.
    NeverSaved => "there are dispatches, but the save area is empty: the queue was not switched out, so its waves are not in the file";
    /// A state word that no wave can have.
    StateWord {
        /// The word.
        word: u32
    } => "the state {word:#010x} in the control stack is invalid: waves from there on cannot be read";
    /// A wave before the first state.
    NoState => "the control stack has a wave before the first state: its waves cannot be read";
    /// The control stack ends within an entry.
    StackCut => "the control stack ends in the middle of a state";
    /// The records do not end where the wave area starts.
    WalkEnd {
        /// The start of the last record, as an offset from the start of the wave area.
        offset: i64
    } => "the records of the waves end {offset} bytes from the start of the area: the control stack or the area is damaged, and all its waves \
          are unsure";
    /// Waves without the first one of their workgroup.
    NoLeader {
        /// The number of waves.
        waves: u64
    } => "{waves} waves are in a workgroup without a first wave: they have no LDS";
    /// Records that are not completely in the file.
    RecordsMissing {
        /// The number of waves.
        waves: u64
    } => "the records of {waves} waves are not in the file";
    /// Invalid program counters.
    BadPc {
        /// The number of waves.
        waves: u64,
        /// The program counter of the first wave.
        pc: u64
    } => "the pc of {waves} waves is not a multiple of 4 ({pc:#x}): they are unsure";
    /// Packets outside the ring, or not between read and write index.
    PacketIndex {
        /// The number of waves.
        waves: u64,
        /// The index of the first of them.
        index: u32,
        /// Packets in the ring.
        packets: u32
    } => "the dispatch of {waves} waves is unknown: packet {index} of a ring of {packets} is not between the read and write indices";
    /// Scratch that is not in the files.
    ScratchMissing {
        /// The number of waves.
        waves: u64,
        /// The address of the first.
        address: u64,
        /// The file that would contain it.
        hint: &'static str
    } => "the scratch of {waves} waves (from {address:#x}) is not in the file{hint}: private memory is not available";
    /// The address in the register differs from the computed one.
    ScratchBase {
        /// The number of waves.
        waves: u64,
        /// The computed address.
        computed: u64,
        /// The address in the register.
        register: u64
    } => "the scratch of {waves} waves should be at {computed:#x}, but FLAT_SCRATCH is {register:#x}: private memory is not available";
    /// The slots cannot be divided evenly.
    ScratchWaves {
        /// The number of waves with scratch.
        waves: u32,
        /// The number of shader engines.
        engines: u32
    } => "scratch for {waves} waves is not divisible by {engines} shader engines: private memory is not available";

    // Code objects.
    /// There is no list.
    NoDebugStructure => "the address of the list (r_debug) is 0: code objects are unknown";
    /// An unknown version of the runtime's interface.
    InterfaceVersion {
        /// The version.
        version: u32,
        /// The first known version.
        first: u32,
        /// The last known version.
        last: u32
    } => "version {version} of the runtime's interface is not between {first} and {last}: stops and dispatches are uncertain";
    /// The list was being changed.
    ListChanging {
        /// The state.
        state: u32
    } => "the list was being changed (state {state}): code objects are unknown";
    /// The list is cyclic.
    ListCircle {
        /// The address of the repeated entry.
        address: u64
    } => "the list has no end: its last entry leads back to {address:#x}";
    /// The object has no URI.
    NoName => "it has no name: its contents are unknown";
    /// The URI is invalid.
    BadUri {
        /// The URI.
        uri: String
    } => "`{uri}` gives neither a place in memory nor a file";
    /// The bytes are no code object.
    NotAnObject {
        /// The reason.
        reason: String
    } => "it cannot be read: {reason}";
    /// The code is for a processor that no agent has.
    OtherTarget {
        /// The object's target.
        target: String
    } => "it is for {target}, but no agent has this processor";

    /// A limit was reached.
    Limit {
        /// The name of the limit.
        limit: &'static str,
        /// The value.
        value: u64
    } => "the limit `{limit}` of {value} was reached: the rest is not read";
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    pub(super) fn add(
        &mut self,
        place: ProblemPlace,
        offset: Option<FileOffset>,
        kind: ProblemKind,
    ) {
        self.found.push(Problem {
            place,
            offset,
            kind,
        });
    }

    pub(super) fn into_vec(self) -> Vec<Problem> {
        self.found
    }
}

/// A count of waves of a queue with the same problem, and the data from the first one.
#[derive(Debug)]
pub(super) struct Counted<T> {
    pub(super) waves: u64,
    pub(super) first: Option<T>,
}

impl<T> Default for Counted<T> {
    fn default() -> Counted<T> {
        Counted {
            waves: 0,
            first: None,
        }
    }
}

impl<T> Counted<T> {
    pub(super) fn count(&mut self, what: T) {
        self.waves = self.waves.saturating_add(1);
        self.first.get_or_insert(what);
    }
}

impl ProblemKind {
    /// Converts a limit error, or any other error, to a problem.
    pub(super) fn of_limit(error: &Error) -> ProblemKind {
        // Meters return no other errors.
        let (limit, value) = if let ErrorKind::Limit { limit, value } = error.kind() {
            (*limit, *value)
        } else {
            (Limit::Work, 0)
        };
        ProblemKind::Limit {
            limit: limit.name(),
            value,
        }
    }
}
