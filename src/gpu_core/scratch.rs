//! Locates the scratch of a wave in the memory of the process.
//!
//! The scratch of a wave is contiguous, and interleaves its lanes ([`arch::scratch`](crate::arch::scratch)). Source:
//! AMD's ROCdbgapi (`queue.cpp`, `architecture.cpp`).

use super::layout::{Layout, ScratchLayout};
use super::note::Agent;
use super::problem::ProblemKind;
use super::queue::QueueScratch;

/// The scratch of a wave.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// The address of its first byte in the memory of the process.
    pub address: u64,
    /// The size, in bytes.
    pub size: u64,
}

/// The hardware position of a wave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) xcc: u32,
    /// The wave's word in the control stack.
    pub(super) word: u32,
    /// `FLAT_SCRATCH`.
    pub(super) flat_scratch: Option<u64>,
    /// The version of the runtime's interface.
    pub(super) version: u32,
}

/// The reason why the scratch of a wave is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScratchFault {
    /// The slots cannot be divided by the engines, or end beyond the address space.
    Slots { waves: u32, engines: u32 },
    /// `FLAT_SCRATCH` has another address.
    Base { computed: u64, register: u64 },
}

impl ScratchFault {
    /// Returns the problem of `waves` waves, of which this is the first.
    pub(super) fn of_waves(self, waves: u64) -> ProblemKind {
        match self {
            ScratchFault::Slots { waves, engines } => ProblemKind::ScratchWaves { waves, engines },
            ScratchFault::Base { computed, register } => ProblemKind::ScratchBase {
                waves,
                computed,
                register,
            },
        }
    }
}

/// The last version of the runtime's interface whose queue structure gives the scratch of one XCC.
const LAST_WITH_XCC_BYTES: u32 = 10;

/// Returns the scratch of a wave, or `None` if the queue has none.
///
/// # Errors
/// If the data are inconsistent. The wave then has no private memory.
pub(super) fn of_wave(
    layout: &Layout,
    queue: QueueScratch,
    agent: &Agent,
    seat: Seat,
) -> Result<Option<Scratch>, ScratchFault> {
    let scratch: &ScratchLayout = layout.scratch;
    let waves = scratch.waves.of(queue.tmpring);
    let size = u64::from(scratch.size.of(queue.tmpring)).saturating_mul(scratch.unit);
    let engines = agent.shader_engines;
    if size == 0 || waves == 0 {
        return Ok(None);
    }
    let indivisible = ScratchFault::Slots { waves, engines };
    let (of_engine, of_xcc) = if scratch.waves_of_engine {
        (
            u64::from(waves),
            u64::from(waves).saturating_mul(engines.into()),
        )
    } else {
        match waves.checked_rem(engines) {
            Some(0) => (
                u64::from(waves.checked_div(engines).unwrap_or(0)),
                u64::from(waves),
            ),
            Some(_) | None => return Err(indivisible),
        }
    };
    let xcc_bytes = if seat.version <= LAST_WITH_XCC_BYTES {
        queue.xcc_bytes
    } else {
        of_xcc.saturating_mul(size)
    };
    let engine = u64::from(layout.wave.shader_engine.of(seat.word));
    let slot = u64::from(layout.wave.scratch_slot.of(seat.word));
    // Neither number has more than 12 bits.
    let slot = of_engine.saturating_mul(engine).saturating_add(slot);
    let offset = slot.saturating_mul(size);
    let computed = xcc_bytes
        .checked_mul(seat.xcc.into())
        .and_then(|xcc| queue.address.checked_add(xcc)?.checked_add(offset));
    let Some(address) = computed else {
        return Err(indivisible);
    };
    match seat.flat_scratch {
        Some(register) if layout.has_architected_scratch && register != address => {
            Err(ScratchFault::Base {
                computed: address,
                register,
            })
        }
        _ => Ok(Some(Scratch { address, size })),
    }
}
