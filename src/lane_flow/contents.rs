//! Reads the registers and the scratch of a frame. The innermost frame has the contents of the wave. A caller has the contents that it
//! finds when its callee returns.

use std::sync::Arc;

use super::dataflow::Returned;
use super::place::DwordPlace;
use super::value::Value;
use crate::arch::{Register, WaveSize};
use crate::isa::MachineRegister;
use crate::wave::{Memory, Wave};

/// Reads the registers and the scratch of a frame.
pub(super) trait Contents {
    /// Returns a scalar register, or one half of a 64-bit register. `None` if it is unknown.
    fn scalar(&self, register: MachineRegister) -> Option<u32>;

    /// Returns one lane's dword of a vector or accumulation register. `None` if it is unknown.
    fn vector_lane(&self, register: MachineRegister, lane: u8) -> Option<u32>;

    /// Returns the dword at an address of the wave's scratch. `None` if it is unknown.
    fn scratch(&self, address: u64) -> Option<u32>;
}

/// The frame in which a wave stopped.
impl Contents for &dyn Wave {
    fn scalar(&self, register: MachineRegister) -> Option<u32> {
        let (register, upper) = register.dwarf(self.wave_size())?;
        read_register(*self, register, if upper { 32 } else { 0 })
    }

    fn vector_lane(&self, register: MachineRegister, lane: u8) -> Option<u32> {
        let (register, _) = register.dwarf(self.wave_size())?;
        read_register(*self, register, u32::from(lane).checked_mul(32)?)
    }

    fn scratch(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.read_memory(Memory::PrivateWave, address, &mut bytes)).ok()?;
        Some(u32::from_le_bytes(bytes))
    }
}

fn read_register(wave: &dyn Wave, register: Register, first: u32) -> Option<u32> {
    let mut bytes = [0; 4];
    let bits = first..first.checked_add(32)?;
    wave.read_register(register, bits, &mut bytes).ok()?;
    Some(u32::from_le_bytes(bytes))
}

/// The registers of a frame.
pub(super) enum Frame<'w> {
    Stopped(&'w dyn Wave),
    Caller(Box<Caller<'w>>),
}

/// A frame whose callee has not returned, with the contents that it will find on return.
pub(super) struct Caller<'w> {
    pub(super) returned: Arc<Returned>,
    pub(super) inner: Frame<'w>,
    /// The lanes that entered the callee, one bit per lane.
    pub(super) entered: u64,
    /// The lanes that did not enter it. For lanes in neither set it is unknown.
    pub(super) others: u64,
    pub(super) wave_size: WaveSize,
}

impl Caller<'_> {
    /// Returns a value of the inner frame as a number. `None` if it is unknown.
    pub(super) fn word(&self, value: Value) -> Option<u32> {
        match value {
            Value::Word(word) => Some(word),
            Value::Initial { place, plus } => {
                let word = read(&self.inner, place, self.wave_size)?;
                Some(word.wrapping_add_signed(plus))
            }
            Value::Unknown | Value::Bit(_) | Value::BitOf { .. } | Value::Made(_) => None,
        }
    }
}

impl Contents for Frame<'_> {
    fn scalar(&self, register: MachineRegister) -> Option<u32> {
        match self {
            Frame::Stopped(wave) => wave.scalar(register),
            Frame::Caller(caller) => caller.word(caller.returned.state.scalar(register)),
        }
    }

    fn vector_lane(&self, register: MachineRegister, lane: u8) -> Option<u32> {
        match self {
            Frame::Stopped(wave) => wave.vector_lane(register, lane),
            Frame::Caller(caller) => {
                let bit = 1_u64.checked_shl(lane.into()).unwrap_or(0);
                let state = &caller.returned.state;
                let [entered, others] =
                    [caller.entered, caller.others].map(|lanes| lanes & bit != 0);
                caller.word(if entered || others {
                    state.vector_lane_that(register, entered, lane)
                } else {
                    state.vector_lane(register, lane)
                })
            }
        }
    }

    // Scratch below the stack pointer on entry is the caller's, and no callee writes it.
    fn scratch(&self, address: u64) -> Option<u32> {
        match self {
            Frame::Stopped(wave) => wave.scratch(address),
            Frame::Caller(caller) => caller.inner.scratch(address),
        }
    }
}

/// Reads the dword of a place.
pub(super) fn read(
    contents: &impl Contents,
    place: DwordPlace,
    wave_size: WaveSize,
) -> Option<u32> {
    match place {
        DwordPlace::Scalar(register) => contents.scalar(register),
        DwordPlace::Lane { register, lane } => contents.vector_lane(register, lane),
        DwordPlace::Scratch { slot, lane } => {
            let base = match slot.base {
                Some(register) => contents.scalar(register)?,
                None => 0,
            };
            contents.scratch(slot.address(base, lane, wave_size)?)
        }
    }
}

/// A place that was not read yet.
pub(super) struct Unread {
    place: DwordPlace,
    /// The index at which its dword belongs.
    at: usize,
}

/// Caches the dwords of a frame.
pub(super) struct Words<'f, 'w> {
    contents: &'f Frame<'w>,
    wave_size: WaveSize,
    /// The dwords that were read, sorted by place.
    known: Vec<(DwordPlace, Option<u32>)>,
}

impl<'f, 'w> Words<'f, 'w> {
    pub(super) fn of(contents: &'f Frame<'w>, wave_size: WaveSize) -> Words<'f, 'w> {
        Words {
            contents,
            wave_size,
            known: Vec::new(),
        }
    }

    /// Returns the dword of a place if it was read before. `None` if it is unknown.
    pub(super) fn known(&self, place: DwordPlace) -> Result<Option<u32>, Unread> {
        match self.known.binary_search_by_key(&place, |(known, _)| *known) {
            Ok(at) => Ok(self.known.get(at).and_then(|(_, word)| *word)),
            Err(at) => Err(Unread { place, at }),
        }
    }

    /// Returns the dword of a place, which is read if it was not read before. `None` if it is unknown. The places of successive calls are sorted.
    ///
    /// * `at`: a cursor, 0 for the first call.
    pub(super) fn next(&mut self, at: &mut usize, place: DwordPlace) -> Option<u32> {
        while self.known.get(*at).is_some_and(|(known, _)| *known < place) {
            *at = at.saturating_add(1);
        }
        match self.known.get(*at) {
            Some((known, word)) if *known == place => *word,
            _ => self.read(Unread { place, at: *at }),
        }
    }

    /// Reads the dword of a place. `None` if it is unknown.
    pub(super) fn read(&mut self, Unread { place, at }: Unread) -> Option<u32> {
        let word = read(self.contents, place, self.wave_size);
        self.known.insert(at, (place, word));
        word
    }
}
