//! Finds the access at which a wave faulted, and describes the memory of its process.

use core::ops::Range;

use super::stop::Stop;
use crate::arch::{CodeAddress, Lane, ProcessAddress};
use crate::error::Result;
use crate::fault::{self, Candidate, Memory, Operation, Question};
use crate::isa::Decoder;
use crate::lane_flow::LaneState;

/// The known memory of a process.
#[derive(Clone, Debug, Default)]
pub struct MemoryMap {
    /// The ranges in ascending order, without overlap.
    ranges: Vec<Range<u64>>,
    is_complete: bool,
    /// The memory that the kernel is known to access.
    expected: Vec<Range<u64>>,
}

impl MemoryMap {
    /// Creates the memory with these addresses.
    ///
    /// * `is_complete`: true if the GPU could have accessed no other memory.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = Range<u64>>, is_complete: bool) -> MemoryMap {
        let mut sorted: Vec<Range<u64>> = ranges.into_iter().collect();
        sorted.sort_by_key(|range| range.start);
        let mut ranges: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match ranges.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => ranges.push(range),
            }
        }
        MemoryMap {
            ranges,
            is_complete,
            expected: Vec::new(),
        }
    }

    /// Adds memory that the kernel is known to access: targets of arguments, and scratch. Accesses there are not suspected.
    #[must_use]
    pub fn expecting(self, expected: impl IntoIterator<Item = Range<u64>>) -> MemoryMap {
        MemoryMap {
            expected: expected.into_iter().collect(),
            ..self
        }
    }

    /// Returns the memory together with a range that the file lacks.
    #[must_use]
    pub fn with(&self, range: Range<u64>) -> MemoryMap {
        let ranges = self.ranges.iter().cloned().chain([range]);
        MemoryMap {
            expected: self.expected.clone(),
            ..MemoryMap::new(ranges, self.is_complete)
        }
    }

    /// Returns true if the GPU could have accessed no other memory.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the ranges of contiguous memory, in ascending order.
    #[must_use]
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Returns the range that contains an address.
    #[must_use]
    pub fn range_of(&self, address: u64) -> Option<Range<u64>> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        let range = self.ranges.get(after.checked_sub(1)?)?;
        range.contains(&address).then(|| range.clone())
    }

    /// Returns the range nearest to an address, and the distance of the address: positive after its last byte, negative before its first one, 0
    /// inside.
    #[must_use]
    pub fn nearest(&self, address: u64) -> Option<(Range<u64>, i128)> {
        let distances = self.ranges.iter().map(|range| {
            let distance = distance(range, address);
            (range.clone(), distance)
        });
        distances.min_by_key(|(_, distance)| distance.unsigned_abs())
    }
}

/// Returns the distance of an address from a range: positive after its last byte, negative before its first one, 0 inside.
pub(super) fn distance(range: &Range<u64>, address: u64) -> i128 {
    let address = i128::from(address);
    let (start, end) = (i128::from(range.start), i128::from(range.end));
    if address < start {
        address - start
    } else if address >= end {
        address - end + 1
    } else {
        0
    }
}

impl Memory for MemoryMap {
    fn is_missing(&self, bytes: Range<u64>) -> Option<bool> {
        let is_there = self
            .range_of(bytes.start)
            .is_some_and(|range| bytes.end <= range.end);
        match (is_there, self.is_complete) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }

    fn is_expected(&self, bytes: Range<u64>) -> bool {
        let mut expected = self.expected.iter();
        expected.any(|range| range.start <= bytes.start && bytes.end <= range.end)
    }
}

/// The kind of an access.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessOperation {
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads and writes memory.
    Atomic,
}

impl AccessOperation {
    /// Returns the name in JSON documents: `load`, `store` or `atomic`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AccessOperation::Load => "load",
            AccessOperation::Store => "store",
            AccessOperation::Atomic => "atomic",
        }
    }
}

impl From<Operation> for AccessOperation {
    fn from(operation: Operation) -> AccessOperation {
        match operation {
            Operation::Load => AccessOperation::Load,
            Operation::Store => AccessOperation::Store,
            Operation::Atomic => AccessOperation::Atomic,
        }
    }
}

/// An access that the loop around a wave makes in each pass at the same address.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolledAccess {
    /// The address of the instruction in the process.
    pub pc: ProcessAddress,
    /// The kind of the access.
    pub operation: AccessOperation,
    /// The accessed address.
    pub address: u64,
    /// The number of accessed bytes.
    pub bytes: u8,
    /// The base address, if the access has one in scalar registers.
    pub base: Option<u64>,
}

/// An access at which a wave may have faulted.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultCandidate {
    /// The address of the instruction in the process.
    pub pc: ProcessAddress,
    /// The instruction, in LLVM's syntax.
    pub instruction: String,
    /// The kind of the access.
    pub operation: AccessOperation,
    /// The lanes that may be at fault, with the addresses that they accessed. Empty for a scalar access, and if registers of the address
    /// have been overwritten since.
    pub lanes: Vec<(Lane, u64)>,
    /// The address of a scalar access.
    pub address: Option<u64>,
    /// The base address, if the access has one in scalar registers and it is known.
    pub base: Option<u64>,
    /// The number of bytes accessed by a lane.
    pub bytes: u8,
    /// True if the wave is proven to have executed the access at these addresses.
    pub is_certain: bool,
}

impl<'a> Stop<'_, 'a> {
    /// Returns the access that the innermost loop around the wave makes in each pass at the same address, if registers prove that there is one.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn polled_access(&self) -> Result<Option<PolledAccess>> {
        let load_address = self.options().load_address;
        let to_code = |at: ProcessAddress| load_address.checked_to_code(at);
        let found = self.innermost_loop();
        let range = found.and_then(|range| Some(to_code(range.start)?.0..to_code(range.end)?.0));
        let (memory, decoder) = (MemoryMap::default(), self.decoder());
        let question = decoder.as_ref().and_then(|one| self.question(one, &memory));
        let (Some(range), Some(question)) = (range, question) else {
            return Ok(None);
        };
        let found = fault::polled(&question, &range)?;
        Ok(found.map(|found| PolledAccess {
            pc: load_address.to_process(CodeAddress(found.instruction)),
            operation: found.operation.into(),
            address: found.address,
            bytes: found.bytes,
            base: found.base,
        }))
    }

    fn decoder(&self) -> Option<Decoder> {
        let wave_size = self.wave().wave_size();
        Decoder::new(self.program().processor(), Some(wave_size))
    }

    /// Returns the lanes that did not enter the function in which the wave stopped, as far as the machine code shows it.
    fn lanes_outside(&self) -> u64 {
        let found = self.code().lanes().ok();
        let innermost = found.and_then(|found| found.frames.first());
        innermost.map_or(0, |frame| {
            frame.lanes_that(|state| state == LaneState::Elsewhere)
        })
    }

    /// Returns the input of a search, without a reported address and without the wave's scratch.
    fn question<'q>(
        &'q self,
        decoder: &'q Decoder,
        memory: &'q MemoryMap,
    ) -> Option<Question<'q, 'a>> {
        let (program, wave) = (self.program(), self.wave());
        Some(Question {
            wave,
            pc: self.call_frame(0)?.pc(),
            load_address: self.options().load_address,
            flow: program.lane_flow(wave.wave_size()),
            decoder,
            object: program.object(),
            fault_address: None,
            memory,
            scratch: None,
            outside: self.lanes_outside(),
            meter: self.meter(),
        })
    }

    /// Returns the accesses at which the wave may have faulted, the likeliest first, or none if there is no candidate.
    ///
    /// * `fault_address`: the reported fault address, or any in its page. Without it, accesses to memory that the process does not have are
    ///   searched.
    /// * `scratch`: the address of the wave's scratch in the process, if known.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn fault_candidates(
        &self,
        fault_address: Option<u64>,
        memory: &MemoryMap,
        scratch: Option<u64>,
    ) -> Result<Vec<FaultCandidate>> {
        let (program, load_address) = (self.program(), self.options().load_address);
        let Some(decoder) = self.decoder() else {
            return Ok(Vec::new());
        };
        let Some(mut question) = self.question(&decoder, memory) else {
            return Ok(Vec::new());
        };
        question.fault_address = fault_address;
        question.scratch = scratch;
        let found = fault::find(&question)?.into_iter();
        let candidates = found.map(|candidate| {
            let Candidate {
                address,
                operation,
                lanes,
                scalar,
                base,
                is_certain,
                bytes,
            } = candidate;
            // The longest instruction has 20 bytes. Fewer bytes may follow the address at the end of the code.
            let code = [20, 16, 12, 8, 4].into_iter();
            let mut code = code.filter_map(|size| program.object().read_image(address, size));
            let text = code
                .next()
                .and_then(|code| decoder.print(code, address).ok());
            FaultCandidate {
                pc: load_address.to_process(CodeAddress(address)),
                instruction: text.unwrap_or_default(),
                operation: operation.into(),
                lanes,
                address: scalar,
                base,
                bytes,
                is_certain,
            }
        });
        Ok(candidates.collect())
    }
}
