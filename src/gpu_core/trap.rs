//! Decodes the trap temporaries: the identity of a wave, and whether it stopped.
//!
//! At launch, the hardware writes dispatch and coordinates there. Later the trap handler records its actions. Sources: the ROCm runtime's
//! `trap_handler*.s`; AMD's ROCdbgapi (`architecture.cpp`).

use super::hardware_register::HardwareRegister;
use super::layout::{Layout, Parked, TrapBits, Words, of_family};
use super::stop::StopReasons;
use crate::arch::Processor;

/// The words of a record that identify a wave.
#[derive(Clone, Copy, Debug)]
pub(super) struct SavedWords {
    /// The first 16 words of the hardware registers.
    pub(super) hardware: [u32; 16],
    pub(super) ttmps: [u32; 16],
}

/// Returns the workgroup of a wave and its number in it, from trap temporaries that the hardware has set up at launch.
///
/// * `ttmps`: the known trap temporaries.
#[must_use]
pub fn place_in_dispatch(
    processor: &Processor,
    ttmps: &[Option<u32>; 16],
) -> Option<([u32; 3], u32)> {
    let layout = processor.family().and_then(of_family)?;
    let trap = layout.trap;
    let bits = trap.workgroup.into_iter().chain([trap.wave_in_group]);
    let mut used = bits.chain(trap.has_dimensions);
    let is_known = |bits: TrapBits| ttmps.get(bits.ttmp).is_some_and(Option::is_some);
    if !used.all(is_known) {
        return None;
    }
    let words = SavedWords {
        hardware: [0; 16],
        ttmps: ttmps.map(|word| word.unwrap_or(0)),
    };
    let identity = words.identity(layout);
    Some((identity.workgroup, identity.wave_in_group))
}

/// The process in which the wave ran.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrapContext {
    /// True if trap temporaries are set up at launch.
    pub(super) is_set_up: bool,
    /// The version of the runtime's interface.
    pub(super) version: u32,
}

/// The decoded trap temporaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrapState {
    pub(super) is_stopped: bool,
    pub(super) stops: StopReasons,
    /// `HALT`, as it was before the trap handler.
    pub(super) is_halted: bool,
    pub(super) pc: u64,
    /// The packet's index modulo the ring, the workgroup and the wave's number in it.
    pub(super) identity: Option<Identity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) packet: u32,
    pub(super) workgroup: [u32; 3],
    pub(super) wave_in_group: u32,
}

/// The first version of the runtime's interface that marks waves whose trap temporaries were not set up.
const MARKS_NOT_SET_UP: u32 = 10;

impl SavedWords {
    /// Returns the low 32 bits of a hardware register that is not among the scalar ones.
    pub(super) fn low(&self, layout: &Layout, register: HardwareRegister) -> Option<u32> {
        match layout.place(register)?.words {
            Words::Hardware(word) => self.hardware.get(usize::try_from(word).ok()?).copied(),
            Words::Alias(_) => None,
        }
    }

    /// Decodes them.
    pub(super) fn read(&self, layout: &Layout, context: TrapContext) -> TrapState {
        let trap = layout.trap;
        let is_set_up = context.is_set_up || trap.always_set_up;
        let marks = context.version >= MARKS_NOT_SET_UP;
        let was_in_handler = trap.was_in_handler.is_none_or(|bit| bit.any(&self.ttmps));
        let skips_export = || {
            let bit = layout.status.skip_export;
            let status = self.low(layout, HardwareRegister::Status);
            bit.zip(status).is_some_and(|(bit, word)| bit.any(word))
        };
        let is_stopped = was_in_handler
            && (is_set_up || marks && skips_export())
            && trap.stopped.any(&self.ttmps);
        let marked =
            marks && was_in_handler && trap.not_set_up.is_some_and(|bit| bit.any(&self.ttmps));
        let (halt, bit) = layout.status.halt;
        let saved_halt = self.low(layout, halt).is_some_and(|word| bit.any(word));
        TrapState {
            is_stopped,
            stops: if is_stopped {
                self.stops(layout)
            } else {
                StopReasons::default()
            },
            is_halted: if is_stopped {
                trap.halted_before.any(&self.ttmps)
            } else {
                saved_halt
            },
            pc: self.pc(layout, is_stopped, context.version),
            identity: (is_set_up && !marked).then(|| self.identity(layout)),
        }
    }

    fn stops(&self, layout: &Layout) -> StopReasons {
        let trap_id = layout.trap.trap_id.of(&self.ttmps);
        let mut stops = StopReasons::default();
        for rule in layout.stops.iter().copied().flatten() {
            if rule.applies(|register| self.low(layout, register), trap_id) {
                stops.insert(rule.reason);
            }
        }
        stops
    }

    fn pc(&self, layout: &Layout, is_stopped: bool, version: u32) -> u64 {
        let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        match layout.parked {
            Some(Parked { since, low, high }) if is_stopped && version >= since => {
                join(low.of(&self.ttmps), high.of(&self.ttmps))
            }
            _ => self.pair(layout, HardwareRegister::Pc),
        }
    }

    /// Returns a hardware register of 64 bits.
    pub(super) fn pair(&self, layout: &Layout, register: HardwareRegister) -> u64 {
        let Some(Words::Hardware(word)) = layout.place(register).map(|place| place.words) else {
            return 0;
        };
        let at = |word: u32| {
            let index = usize::try_from(word).ok()?;
            self.hardware.get(index).copied()
        };
        let low = at(word).unwrap_or(0);
        let high = word.checked_add(1).and_then(at).unwrap_or(0);
        u64::from(high) << 32 | u64::from(low)
    }

    fn identity(&self, layout: &Layout) -> Identity {
        let trap = layout.trap;
        let of = |bits: TrapBits| bits.of(&self.ttmps);
        let [x, y, z] = trap.workgroup.map(of);
        let is_flat = trap.has_dimensions.is_some_and(|bit| !bit.any(&self.ttmps));
        Identity {
            packet: of(trap.packet),
            workgroup: if is_flat { [x, 0, 0] } else { [x, y, z] },
            wave_in_group: of(trap.wave_in_group),
        }
    }
}
