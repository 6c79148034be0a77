//! Describes the access at which a wave faulted, for the documents.

use std::borrow::Cow;
use std::rc::Rc;

use serde::Serialize;

use super::super::frame::FrameDocument;
use super::super::number::Hex;
use super::nearest::NearestDocument;
use super::places::Stack;
use crate::arch::{Lane, ProcessAddress};
use crate::error::Result;
use crate::gpu_core::{CoreWave, Process};
use crate::inspect::{DispatchMemory, FaultCandidate, MemoryMap, Stop};
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
    /// The place of the likeliest candidate's address relative to the argument from which it was computed, as text.
    #[serde(skip)]
    from_argument: Option<Untrusted<'static>>,
    /// The runtime's reason for the fault, as the end of a sentence.
    #[serde(skip)]
    pub(super) reason: Option<Untrusted<'static>>,
    /// True if the candidates are accesses to other memory, because none is known to reach the reported address.
    #[serde(skip)]
    pub(super) is_unreached: bool,
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

impl FaultDocument {
    /// Returns the place of the likeliest candidate's address as text, if the memory of the process is known.
    pub(super) fn place(&self) -> Option<&Untrusted<'static>> {
        let nearest = self.nearest.as_ref().map(|nearest| &nearest.text);
        self.from_argument.as_ref().or(nearest)
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
        // The file need not have the scratch that the wave was given.
        let own = scratch.map(|own| own.address..own.address.saturating_add(own.size));
        let own = own.filter(|own| memory.map.range_of(own.start).is_none());
        let map = match own {
            Some(own) => Cow::Owned(memory.map.with(own)),
            None => Cow::Borrowed(&memory.map),
        };
        let mut candidates = stop.fault_candidates(fault_address, &map, base)?;
        let other = match fault_address {
            Some(_) => proven_elsewhere(stop, &candidates, &map, base)?,
            None => None,
        };
        let is_unreached = other.is_some();
        if let Some(other) = other {
            candidates = other;
        }
        let first_base = candidates.first().and_then(|first| first.base);
        let mut fault = FoundFault::of(stop, candidates, fault_address)?;
        let document = &mut fault.document;
        document.is_unreached = is_unreached;
        let Some(address) = document.first_address() else {
            return Ok(fault);
        };
        let first = document.candidates.first();
        let place = |found| {
            let mut nearest = NearestDocument::new(address, &found);
            if let Some((access, lanes)) = first.and_then(FaultCandidateDocument::vector) {
                nearest.add_variables(stop, access, &lanes);
            }
            nearest
        };
        let from_base = first_base.and_then(|base| memory.from_base(address, base));
        let from_argument = from_base.map(|found| place(found).text);
        let nearest = place(memory.find(address, wave.apertures(), scratch, process));
        document.from_argument = from_argument;
        document.nearest = Some(nearest);
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

    /// Continues a sentence about the fault with the address that the runtime reported, if there is one: `; the runtime reported 0x…, a write to a
    /// read-only page`.
    pub(super) fn reported(&self) -> Option<String> {
        let address = self.address?.0;
        let reason = self.reason.as_ref().map(|reason| format!(", {reason}"));
        let reason = reason.unwrap_or_default();
        Some(match self.is_unreached {
            true => format!(
                "; no access before the stop is known to reach the reported address {address:#x}{reason}"
            ),
            false => format!("; the runtime reported {address:#x}{reason}"),
        })
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

    /// Returns the address of the instruction and the lanes at fault with their addresses, if they are known.
    fn vector(&self) -> Option<(ProcessAddress, Vec<(Lane, u64)>)> {
        let pc = u64::try_from(self.pc.0).ok()?;
        let lanes = self.lanes.iter();
        let lanes = lanes.map(|one| Some((Lane(one.lane), u64::try_from(one.address.0).ok()?)));
        let lanes: Vec<(Lane, u64)> = lanes.collect::<Option<_>>()?;
        (!lanes.is_empty()).then_some((ProcessAddress(pc), lanes))
    }
}

/// Returns the accesses that faulted according to the memory of the process, if they contradict a reported address: no access is known to reach
/// it, and either another access is proven to have faulted, or no access can reach it. Because of the contradiction, none of them is certain.
///
/// * `reported`: the candidates for the reported address.
fn proven_elsewhere(
    stop: &Stop<'_, '_>,
    reported: &[FaultCandidate],
    memory: &MemoryMap,
    scratch: Option<u64>,
) -> Result<Option<Vec<FaultCandidate>>> {
    let is_reached =
        |candidate: &FaultCandidate| !candidate.lanes.is_empty() || candidate.address.is_some();
    if reported.iter().any(is_reached) {
        return Ok(None);
    }
    let mut others = stop.fault_candidates(None, memory, scratch)?;
    let is_proven = others.first().is_some_and(|first| first.is_certain);
    if !is_proven && !reported.is_empty() {
        return Ok(None);
    }
    for other in &mut others {
        other.is_certain = false;
    }
    Ok(Some(others).filter(|others| !others.is_empty()))
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
