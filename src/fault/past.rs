//! The contents of registers at an earlier place of the code, as far as they follow from the stop.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few registers and operands are read in another way than most"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::arch::WaveSize;
use crate::isa::{Counter, MachineRegister, Operand, Waits};
use crate::wave::Wave;

/// A dword of each lane, in the lanes in which it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    /// The lanes in which it is known, one bit per lane.
    pub(super) known: u64,
    /// The dwords; 0 in other lanes.
    values: Box<[u32; 64]>,
}

impl Lanes {
    const UNKNOWN_VALUES: [u32; 64] = [0; 64];

    fn unknown() -> Lanes {
        Lanes {
            known: 0,
            values: Box::new(Lanes::UNKNOWN_VALUES),
        }
    }

    pub(super) fn get(&self, lane: u8) -> Option<u32> {
        let is_known = bit(lane) & self.known != 0;
        is_known.then(|| self.values.get(usize::from(lane)).copied())?
    }

    pub(super) fn set(&mut self, lane: u8, value: Option<u32>) {
        if let Some(place) = self.values.get_mut(usize::from(lane)) {
            *place = value.unwrap_or(0);
            match value {
                Some(_) => self.known |= bit(lane),
                None => self.known &= !bit(lane),
            }
        }
    }

    /// Keeps the values that are equal in both.
    fn meet(&mut self, other: &Lanes) {
        for lane in lanes(self.known) {
            if self.get(lane) != other.get(lane) {
                self.set(lane, None);
            }
        }
    }
}

/// Returns the bit of a lane.
pub(super) const fn bit(lane: u8) -> u64 {
    1_u64.wrapping_shl(lane as u32)
}

/// Returns the lanes of a mask.
pub(super) fn lanes(mask: u64) -> impl Iterator<Item = u8> {
    (0..64).filter(move |lane| mask & bit(*lane) != 0)
}

/// The registers of the stopped wave, read on demand.
pub(super) struct Now<'w> {
    wave: &'w dyn Wave,
    pub(super) wave_size: WaveSize,
    vectors: RefCell<BTreeMap<MachineRegister, Rc<Lanes>>>,
}

impl<'w> Now<'w> {
    pub(super) fn new(wave: &'w dyn Wave) -> Now<'w> {
        Now {
            wave,
            wave_size: wave.wave_size(),
            vectors: RefCell::default(),
        }
    }

    fn scalar(&self, register: MachineRegister) -> Option<u32> {
        let (register, is_upper) = register.dwarf(self.wave_size)?;
        let start = if is_upper { 32_u32 } else { 0 };
        let mut bytes = [0; 4];
        let bits = start..start.saturating_add(32);
        let read = self.wave.read_register(register, bits, &mut bytes);
        read.ok().map(|()| u32::from_le_bytes(bytes))
    }

    fn vector(&self, register: MachineRegister) -> Rc<Lanes> {
        if let Some(known) = self.vectors.borrow().get(&register) {
            return Rc::clone(known);
        }
        let mut found = Lanes::unknown();
        if let Some((dwarf, _)) = register.dwarf(self.wave_size) {
            for lane in self.wave_size.all_lanes() {
                let start = u32::from(lane.0).saturating_mul(32);
                let mut bytes = [0; 4];
                let bits = start..start.saturating_add(32);
                let read = self.wave.read_register(dwarf, bits, &mut bytes);
                found.set(lane.0, read.ok().map(|()| u32::from_le_bytes(bytes)));
            }
        }
        let found = Rc::new(found);
        let mut kept = self.vectors.borrow_mut();
        Rc::clone(kept.entry(register).or_insert(found))
    }

    /// Returns EXEC, if it is known.
    pub(super) fn exec(&self) -> Option<u64> {
        let low = self.scalar(MachineRegister::ExecLo)?;
        let high = match self.wave_size {
            WaveSize::Wave32 => 0,
            WaveSize::Wave64 => self.scalar(MachineRegister::ExecHi)?,
        };
        Some(u64::from(high) << 32 | u64::from(low))
    }
}

/// The number of accesses on one counter, issued before a place, that may be outstanding at the stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    /// True if no access may be outstanding, because a wait for all accesses follows.
    is_closed: bool,
    /// The most accesses that complete in order; `None` if there is no limit.
    ordered: Option<u32>,
}

/// The known contents of registers at a place before the stop. Copies share the vector registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Past {
    /// The scalar registers that may differ from the stop; `None` if the contents are unknown.
    scalars: BTreeMap<MachineRegister, Option<u32>>,
    /// The dwords of vector registers.
    vectors: BTreeMap<MachineRegister, Rc<Lanes>>,
    /// True if all other vector registers may differ from the stop.
    are_vectors_lost: bool,
    /// The certainly active lanes, and the possibly active lanes.
    pub(super) surely: u64,
    pub(super) maybe: u64,
    rooms: [Room; Counter::COUNT],
}

impl Past {
    /// Returns the state at the stop itself.
    ///
    /// * `all`: the existing lanes.
    pub(super) fn at_stop(now: &Now<'_>, all: u64) -> Past {
        let exec = now.exec();
        let open = Room {
            is_closed: false,
            ordered: None,
        };
        Past {
            scalars: BTreeMap::new(),
            vectors: BTreeMap::new(),
            are_vectors_lost: false,
            surely: exec.unwrap_or(0),
            maybe: exec.unwrap_or(all),
            rooms: [open; Counter::COUNT],
        }
    }

    /// Returns a dword of a scalar register.
    pub(super) fn scalar(&self, now: &Now<'_>, register: MachineRegister) -> Option<u32> {
        let exec = || (self.surely == self.maybe).then_some(self.surely);
        let half = |value: u64| u32::try_from(value & 0xffff_ffff).ok();
        match register {
            MachineRegister::ExecLo => half(exec()?),
            MachineRegister::ExecHi => half(exec()? >> 32),
            _ => match self.scalars.get(&register) {
                Some(known) => *known,
                None => now.scalar(register),
            },
        }
    }

    pub(super) fn set_scalar(&mut self, register: MachineRegister, value: Option<u32>) {
        self.scalars.insert(register, value);
    }

    /// Returns a dword of a vector register in each lane.
    pub(super) fn vector(&self, now: &Now<'_>, register: MachineRegister) -> Rc<Lanes> {
        match self.vectors.get(&register) {
            Some(known) => Rc::clone(known),
            None if self.are_vectors_lost => Rc::new(Lanes::unknown()),
            None => now.vector(register),
        }
    }

    pub(super) fn change_vector(
        &mut self,
        now: &Now<'_>,
        register: MachineRegister,
        change: impl FnOnce(&mut Lanes),
    ) {
        let mut known = self.vector(now, register);
        change(Rc::make_mut(&mut known));
        self.vectors.insert(register, known);
    }

    /// Makes all vector registers unknown.
    pub(super) fn lose_vectors(&mut self) {
        self.vectors.clear();
        self.are_vectors_lost = true;
    }

    /// Returns dword `n` of an operand that is the same in all lanes.
    pub(super) fn operand(&self, now: &Now<'_>, operand: Operand, n: u8) -> Option<u32> {
        match operand {
            Operand::Registers(span) => {
                let register = span.first.plus(n)?;
                match register {
                    MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => None,
                    _ if n < span.count => self.scalar(now, register),
                    _ => None,
                }
            }
            Operand::Float(_) | Operand::Other(_) => None,
            _ => {
                let value = operand.constant()?;
                let shift = u32::from(n).saturating_mul(32);
                let word = value.checked_shr(shift).unwrap_or(0) & 0xffff_ffff;
                u32::try_from(word).ok()
            }
        }
    }

    /// Returns a dword of an operand in a lane.
    pub(super) fn in_lane(&self, now: &Now<'_>, operand: Operand, lane: u8) -> Option<u32> {
        match operand.register() {
            Some(register @ (MachineRegister::Vgpr(_) | MachineRegister::Agpr(_))) => {
                self.vector(now, register).get(lane)
            }
            _ => self.operand(now, operand, 0),
        }
    }

    /// Returns the mask of lanes in an operand.
    pub(super) fn mask(&self, now: &Now<'_>, operand: Operand) -> Option<u64> {
        let low = u64::from(self.operand(now, operand, 0)?);
        match now.wave_size {
            WaveSize::Wave32 => Some(low),
            WaveSize::Wave64 => Some(u64::from(self.operand(now, operand, 1)?) << 32 | low),
        }
    }

    /// Keeps the facts that also hold on another path. Returns true if this changes anything.
    pub(super) fn meet(&mut self, now: &Now<'_>, other: &Past) -> bool {
        let before = self.clone();
        let registers: Vec<MachineRegister> = (self.scalars.keys())
            .chain(other.scalars.keys())
            .copied()
            .collect();
        for register in registers {
            let (one, another) = (self.scalar(now, register), other.scalar(now, register));
            self.scalars
                .insert(register, one.filter(|_| one == another));
        }
        let registers: Vec<MachineRegister> = (self.vectors.keys())
            .chain(other.vectors.keys())
            .copied()
            .collect();
        for register in registers {
            let mut one = self.vector(now, register);
            let another = other.vector(now, register);
            if !Rc::ptr_eq(&one, &another) && one != another {
                Rc::make_mut(&mut one).meet(&another);
            }
            self.vectors.insert(register, one);
        }
        self.are_vectors_lost |= other.are_vectors_lost;
        self.surely &= other.surely;
        self.maybe |= other.maybe;
        for (room, other) in self.rooms.iter_mut().zip(other.rooms) {
            room.is_closed &= other.is_closed;
            room.ordered = match (room.ordered, other.ordered) {
                (Some(one), Some(another)) => Some(one.max(another)),
                (_, _) => None,
            };
        }
        *self != before
    }

    /// Updates the state from after a wait to before it.
    pub(super) fn wait(&mut self, waits: &Waits) {
        for (room, wait) in self.rooms.iter_mut().zip(waits) {
            if let Some(count) = *wait {
                room.is_closed |= count == 0;
                room.ordered = Some(room.ordered.map_or(count, |known| known.min(count)));
            }
        }
    }

    /// Returns true if an access at the place may be outstanding at the stop, or may have faulted just before it.
    pub(super) fn may_be_outstanding(&self, counter: Counter, is_ordered: bool) -> bool {
        let room = self.rooms.get(counter as usize);
        room.is_none_or(|room| !room.is_closed && (!is_ordered || room.ordered != Some(0)))
    }

    /// Updates the state from after an access that completes in order to before it.
    pub(super) fn issue(&mut self, counter: Counter) {
        if let Some(room) = self.rooms.get_mut(counter as usize)
            && let Some(left) = &mut room.ordered
        {
            *left = left.saturating_sub(1);
        }
    }

    /// Returns true if no access before the place can be outstanding.
    pub(super) fn is_closed(&self) -> bool {
        let counters = [Counter::Load, Counter::Store, Counter::Scalar];
        let mut rooms = counters
            .iter()
            .filter_map(|one| self.rooms.get(*one as usize));
        rooms.all(|room| room.is_closed)
    }
}
