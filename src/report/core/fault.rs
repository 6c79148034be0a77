//! Describes the access at which a wave faulted, for the documents.

use core::fmt;
use std::rc::Rc;

use serde::Serialize;

use super::super::frame::FrameDocument;
use super::super::number::Hex;
use super::element::ElementDocument;
use super::places::Stack;
use crate::arch::{Lane, ProcessAddress};
use crate::error::Result;
use crate::gpu_core::{CoreWave, Process};
use crate::inspect::{DispatchMemory, FaultCandidate, MemoryMap, Nearest, Stop, Whereabouts};
use crate::plural::counted;
use crate::untrusted::Untrusted;
use crate::wave::Wave;

/// The access at which a wave faulted.
#[non_exhaustive]
#[derive(Clone, Debug, Default, Serialize)]
pub struct FaultDocument {
    /// The reported address, which may be the address of its page; null if no address was reported.
    pub address: Option<Hex>,
    /// The accesses at which the wave may have faulted, the likeliest first.
    pub candidates: Vec<FaultCandidateDocument>,
    /// The place of the likeliest candidate's address; null if no address is known.
    pub nearest: Option<NearestDocument>,
    /// Set if the wave was not searched because enough other waves at the same place were
    /// ([`CoreRequest::all_faults`](super::CoreRequest::all_faults)).
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub not_searched: bool,
}

/// An access at which a wave may have faulted.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct FaultCandidateDocument {
    /// The address in the process.
    pub pc: Hex,
    /// The instruction.
    pub instruction: String,
    /// `load`, `store` or `atomic`.
    pub kind: &'static str,
    /// The lanes at fault. Empty for a scalar access, and if the registers of the address were overwritten since.
    pub lanes: Vec<FaultLaneDocument>,
    /// The address of a scalar access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Hex>,
    /// The number of bytes that one lane accesses.
    pub bytes: u8,
    /// The function, which may be an inlined function.
    pub function: Option<Untrusted<'static>>,
    /// The path of the source file.
    pub file: Option<Untrusted<'static>>,
    /// The line.
    pub line: Option<u64>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The function and the functions that it is inlined into, the innermost first.
    pub inlined: Vec<Untrusted<'static>>,
    /// Set if it is proven that the wave executed the access at these addresses, and that they caused the fault.
    pub certain: bool,
}

/// A lane at fault.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct FaultLaneDocument {
    /// The number.
    pub lane: u8,
    /// The address that it accessed.
    pub address: Hex,
    /// The work-item in the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_item: Option<[u32; 3]>,
}

/// The known object nearest to an address.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct NearestDocument {
    /// The address.
    pub of: Hex,
    /// `mapping`, `argument`, `lds`, `scratch` or `none`.
    pub what: &'static str,
    /// The name of the argument, or the kind of memory.
    pub name: Option<Untrusted<'static>>,
    /// The distance from the object in bytes: positive after its last byte, negative before its first byte, 0 inside it.
    pub distance: i64,
    /// The first address of the memory, and the first address after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[Hex; 2]>,
    /// The element that contains the address; null if the type is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementDocument>,
    /// All of these fields as text for people.
    pub text: Untrusted<'static>,
}

/// The fault of a wave, and the frames at each candidate, the innermost first.
pub(super) struct FoundFault {
    pub(super) document: FaultDocument,
    pub(super) accesses: Vec<Stack>,
}

impl From<FaultDocument> for FoundFault {
    /// Creates a fault without candidates.
    fn from(document: FaultDocument) -> FoundFault {
        FoundFault {
            document,
            accesses: Vec::new(),
        }
    }
}

impl FoundFault {
    /// Searches for the access at which a wave faulted.
    ///
    /// # Errors
    /// If the search reaches a limit, or the debugging information is malformed.
    pub(super) fn new(
        wave: &CoreWave<'_, '_>,
        stop: &Stop<'_, '_>,
        memory: &DispatchMemory,
        process: &Process<'_>,
        fault_address: Option<u64>,
    ) -> Result<FoundFault> {
        let scratch = wave.scratch();
        let base = scratch.map(|scratch| scratch.address);
        let candidates = stop.fault_candidates(fault_address, &memory.map, base)?;
        let mut fault = FoundFault::of(stop, candidates, fault_address)?;
        let document = &mut fault.document;
        document.nearest = document.first_address().map(|address| {
            let found = memory.find(address, wave.apertures(), scratch, process);
            let first = document.candidates.first();
            let first = first.and_then(FaultCandidateDocument::first_lane);
            let access = first.map(|(pc, lane)| (stop, pc, lane));
            NearestDocument::new(address, &found, access)
        });
        Ok(fault)
    }

    /// Searches for the access at which a wave faulted, without knowledge of the memory of the process.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Self::new).
    pub(super) fn without_memory(
        stop: &Stop<'_, '_>,
        fault_address: Option<u64>,
    ) -> Result<FoundFault> {
        let memory = MemoryMap::default();
        let candidates = stop.fault_candidates(fault_address, &memory, None)?;
        FoundFault::of(stop, candidates, fault_address)
    }

    /// Describes candidates.
    fn of(
        stop: &Stop<'_, '_>,
        candidates: Vec<FaultCandidate>,
        fault_address: Option<u64>,
    ) -> Result<FoundFault> {
        let candidates = candidates.into_iter();
        let described = candidates.map(|one| FaultCandidateDocument::new(one, stop));
        let (candidates, accesses) = described.collect::<Result<_>>()?;
        let document = FaultDocument {
            candidates,
            ..FaultDocument::of_address(fault_address)
        };
        Ok(FoundFault { document, accesses })
    }
}

impl FaultDocument {
    /// Describes a fault of which only the address is known.
    pub(super) fn of_address(fault_address: Option<u64>) -> FaultDocument {
        FaultDocument {
            address: fault_address.map(Hex::from),
            ..FaultDocument::default()
        }
    }

    /// Describes a fault that was not searched for.
    pub(super) fn not_searched(fault_address: Option<u64>) -> FaultDocument {
        FaultDocument {
            not_searched: true,
            ..FaultDocument::of_address(fault_address)
        }
    }

    /// Returns the most reliable address at fault: of the first candidate's first lane, of its scalar access, or the reported address.
    pub(super) fn first_address(&self) -> Option<u64> {
        let first = self.candidates.first();
        let of_lane = first
            .and_then(|one| one.lanes.first())
            .map(|one| one.address);
        let found = of_lane
            .or(first.and_then(|one| one.address))
            .or(self.address)?;
        u64::try_from(found.0).ok()
    }
}

impl FaultCandidateDocument {
    /// Describes a candidate. Also returns its frames, the innermost first, of which the document has the text.
    fn new(
        candidate: FaultCandidate,
        stop: &Stop<'_, '_>,
    ) -> Result<(FaultCandidateDocument, Stack)> {
        let frames = frames_at(stop, candidate.pc)?;
        let innermost = frames.first();
        let wave = stop.wave();
        let lanes = candidate
            .lanes
            .iter()
            .map(|(lane, address)| FaultLaneDocument {
                lane: lane.0,
                address: Hex::from(*address),
                work_item: wave.work_item(*lane),
            });
        let document = FaultCandidateDocument {
            pc: Hex::from(candidate.pc),
            kind: candidate.operation.name(),
            lanes: lanes.collect(),
            address: candidate.address.map(Hex::from),
            bytes: candidate.bytes,
            function: innermost.and_then(|frame| frame.function.clone()),
            file: innermost.and_then(|frame| frame.file.clone()),
            line: innermost.and_then(|frame| frame.line),
            column: innermost.and_then(|frame| frame.column),
            inlined: Vec::new(),
            certain: candidate.is_certain,
            instruction: candidate.instruction,
        };
        Ok((document, frames))
    }

    /// Returns the address of the access and the first lane at fault.
    fn first_lane(&self) -> Option<(ProcessAddress, Lane)> {
        let pc = u64::try_from(self.pc.0).ok()?;
        let first = self.lanes.first()?;
        Some((ProcessAddress(pc), Lane(first.lane)))
    }
}

/// Returns the frames at an address of the process, the innermost first.
pub(super) fn frames_at(stop: &Stop<'_, '_>, pc: ProcessAddress) -> Result<Stack> {
    let Some(frame) = stop.call_frame(0) else {
        return Ok(Stack::new());
    };
    let frame = frame.for_waiting(pc, 0);
    let parts = FrameDocument::parts(&frame, stop.meter())?;
    Ok(parts.into_iter().map(Rc::new).collect())
}

impl NearestDocument {
    /// * `access`: the instruction and the lane that accessed the address. Its function has the variables that are named in the text.
    pub(super) fn new(
        address: u64,
        found: &Whereabouts,
        access: Option<(&Stop<'_, '_>, ProcessAddress, Lane)>,
    ) -> NearestDocument {
        let range =
            |range: &core::ops::Range<u64>| Some([Hex::from(range.start), Hex::from(range.end)]);
        let (what, name, range) = match &found.nearest {
            Nearest::NullPage => ("none", Some("null page".to_owned()), None),
            Nearest::Local => ("lds", None, None),
            Nearest::Scratch => ("scratch", None, None),
            Nearest::Argument(argument, memory) => {
                let name = argument.name.clone();
                let name = name.unwrap_or_else(|| format!("argument {}", argument.position));
                ("argument", Some(name), range(memory))
            }
            Nearest::Mapping(memory) => {
                let object = found
                    .code_object
                    .map(|object| format!("code object {object}"));
                ("mapping", object, range(memory))
            }
            Nearest::Nothing => ("none", None, None),
        };
        let mut element = match &found.nearest {
            Nearest::Argument(argument, _) => ElementDocument::new(argument, address),
            Nearest::NullPage
            | Nearest::Local
            | Nearest::Scratch
            | Nearest::Mapping(_)
            | Nearest::Nothing => None,
        };
        if let (Some(element), Some((stop, pc, lane))) = (&mut element, access) {
            element.add_variables(stop, pc, lane);
        }
        let place = WhereText(address, found);
        let text = match &element {
            Some(element) => format!("{place}, as {element}"),
            None => place.to_string(),
        };
        NearestDocument {
            of: Hex::from(address),
            what,
            name: name.map(Untrusted::from),
            distance: i64::try_from(found.distance).unwrap_or(match found.distance < 0 {
                true => i64::MIN,
                false => i64::MAX,
            }),
            range,
            element,
            text: text.into(),
        }
    }
}

/// Displays the location of an address.
struct WhereText<'w>(u64, &'w Whereabouts);

impl fmt::Display for WhereText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WhereText(address, found) = self;
        let what = match &found.nearest {
            Nearest::NullPage => {
                let from = counted(*address, "byte");
                return write!(f, "{from} after address 0: a null pointer");
            }
            Nearest::Local => return f.write_str("in LDS"),
            Nearest::Scratch => return f.write_str("in scratch"),
            Nearest::Nothing => return f.write_str("in no memory that is known"),
            Nearest::Argument(argument, _) => match &argument.name {
                Some(name) => {
                    format!(
                        "the memory that argument {} points into",
                        Untrusted::from(name.clone())
                    )
                }
                None => format!("the memory that argument {} points into", argument.position),
            },
            Nearest::Mapping(range) => match found.code_object {
                Some(object) => format!("code object {object}"),
                None => format!("the memory mapped at {:#x}-{:#x}", range.start, range.end),
            },
        };
        let far = u64::try_from(found.distance.unsigned_abs()).unwrap_or(u64::MAX);
        match found.distance {
            0 => write!(f, "in {what}"),
            ..0 => write!(f, "{} before the start of {what}", counted(far, "byte")),
            // The first byte after the end is at a distance of one.
            1 => write!(f, "at the end of {what}"),
            2.. => {
                let past = far.saturating_sub(1);
                write!(f, "{} past the end of {what}", counted(past, "byte"))
            }
        }
    }
}
