//! Implements [`Recorder`]: a wave that records reads of global memory, so that a snapshot contains the memory needed for its queries.

use core::cell::RefCell;
use core::ops::Range;
use std::collections::BTreeMap;

use super::{AccessError, Dispatch, Memory, Snapshot, Wave};
use crate::arch::{Apertures, Lane, ProcessAddress, Register, UnnumberedRegister, WaveSize};
use crate::error::Result;

/// A wave that forwards to another one, and records the bytes of global memory that were successfully read.
pub struct Recorder<'w> {
    wave: &'w dyn Wave,
    /// The ranges by their first address, without overlap.
    seen: RefCell<BTreeMap<u64, u64>>,
}

impl core::fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Recorder")
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl<'w> Recorder<'w> {
    /// Creates a recorder without any recorded reads.
    #[must_use]
    pub fn new(wave: &'w dyn Wave) -> Recorder<'w> {
        Recorder {
            wave,
            seen: RefCell::default(),
        }
    }

    /// Returns the addresses of global memory that were read, ascending.
    #[must_use]
    pub fn seen(&self) -> Vec<Range<u64>> {
        let seen = self.seen.borrow();
        seen.iter().map(|(start, end)| *start..*end).collect()
    }

    fn note(&self, address: u64, len: u64) {
        let Some(mut end) = address.checked_add(len).filter(|_| len != 0) else {
            return;
        };
        let mut seen = self.seen.borrow_mut();
        let mut start = address;
        // Ranges that touch it are joined with it.
        while let Some((&first, &last)) = seen.range(..=end).next_back().filter(|r| *r.1 >= start) {
            seen.remove(&first);
            start = start.min(first);
            end = end.max(last);
        }
        seen.insert(start, end);
    }
}

impl Wave for Recorder<'_> {
    fn wave_size(&self) -> WaveSize {
        self.wave.wave_size()
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        self.wave.read_register(register, bits, out)
    }

    fn read_unnumbered(&self, register: UnnumberedRegister) -> Result<u64, AccessError> {
        self.wave.read_unnumbered(register)
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        self.wave.read_memory(memory, address, out)?;
        if memory == Memory::Global {
            self.note(address, out.len() as u64);
        }
        Ok(())
    }

    fn apertures(&self) -> Option<Apertures> {
        self.wave.apertures()
    }

    fn dispatch(&self) -> Option<Dispatch> {
        self.wave.dispatch()
    }

    fn work_item(&self, lane: Lane) -> Option<[u32; 3]> {
        self.wave.work_item(lane)
    }
}

impl Snapshot {
    /// Returns a copy of a wave's registers, its apertures and its place in the dispatch. Memory is left to the caller.
    ///
    /// * `pc`: a run-time address, used in place of the register.
    ///
    /// # Errors
    /// None for a wave that behaves as specified by [`Wave`].
    pub fn of_registers(
        target: impl Into<String>,
        pc: impl Into<ProcessAddress>,
        wave: &dyn Wave,
    ) -> Result<Snapshot> {
        let size = wave.wave_size();
        let mut snapshot = Snapshot::new(target, size, pc);
        snapshot.apertures = wave.apertures();
        snapshot.dispatch = wave.dispatch();
        for register in UnnumberedRegister::all() {
            if let Ok(value) = wave.read_unnumbered(register) {
                snapshot.set_unnumbered(register, value)?;
            }
        }
        let numbers = Register::ranges()
            .iter()
            .flat_map(|range| range.first..=range.last);
        for register in numbers.map(Register) {
            let is_other = register.wave_size().is_some_and(|other| other != size);
            // The program counter is a parameter.
            let is_pc = register == Register::PC_64 || register == Register::PC_32;
            let Some(bits) = register.size_in_bits().filter(|_| !is_other && !is_pc) else {
                continue;
            };
            if register.is_vector() {
                let mut word = [0; 4];
                let lanes: Vec<Option<u32>> = (0..size.lanes())
                    .map(|lane| {
                        let first = lane.checked_mul(u32::BITS)?;
                        let bits = first..first.checked_add(u32::BITS)?;
                        wave.read_register(register, bits, &mut word).ok()?;
                        Some(u32::from_le_bytes(word))
                    })
                    .collect();
                if lanes.iter().any(Option::is_some) {
                    snapshot.set_lanes(register, &lanes)?;
                }
            } else {
                let mut value = [0; 8];
                let Some(out) = value.get_mut(..bits.div_ceil(8) as usize) else {
                    continue;
                };
                if wave.read_register(register, 0..bits, out).is_ok() {
                    snapshot.set_register(register, u64::from_le_bytes(value))?;
                }
            }
        }
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_noted_once() {
        let mut wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0);
        wave.add_memory(Memory::Global, 0x100, &[7; 0x40]).unwrap();
        wave.add_memory(Memory::Local, 0, &[7; 0x40]).unwrap();
        let recorder = Recorder::new(&wave);
        let read = |memory, address, len: usize| {
            recorder
                .read_memory(memory, address, &mut vec![0; len])
                .is_ok()
        };
        assert!(read(Memory::Global, 0x110, 4) && read(Memory::Global, 0x130, 4));
        assert_eq!(recorder.seen(), [0x110..0x114, 0x130..0x134]);
        // A range that touches both neighbors. Failed reads and other memories are not recorded.
        assert!(read(Memory::Global, 0x112, 0x1e) && read(Memory::Local, 0, 4));
        assert!(!read(Memory::Global, 0x13f, 2) && read(Memory::Global, 0x120, 0));
        let seen: Vec<_> = recorder
            .seen()
            .iter()
            .map(|range| (range.start, range.end))
            .collect();
        assert_eq!(seen, [(0x110, 0x134)]);
    }
}
