//! A vector register, or a row of scratch, as a dword for each lane.

use std::collections::BTreeMap;

use super::place::{Place, Slot};
use super::value::Value;
use crate::isa::MachineRegister;

/// What a whole vector register, or a row of scratch, has in the lanes that are not listed by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Whole {
    Unknown,
    /// What the register has at the stop, lane by lane.
    Register(MachineRegister),
    /// What scratch has at the stop, lane by lane.
    Slot(Slot),
}

/// A vector register, or a row of scratch: a dword for each lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vector {
    /// In the lanes that entered the function.
    entered: Whole,
    /// In the lanes that did not.
    others: Whole,
    /// The lanes of which something else is known.
    pub(super) lanes: BTreeMap<u8, Value>,
}

impl Whole {
    fn lane(self, lane: u8) -> Value {
        match self {
            Whole::Unknown => Value::Unknown,
            Whole::Register(register) => Value::initial(Place::Lane { register, lane }),
            Whole::Slot(slot) => Value::initial(Place::Scratch { slot, lane }),
        }
    }

    fn join(self, other: Whole) -> Whole {
        if self == other { self } else { Whole::Unknown }
    }
}

/// The lanes that an instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// All.
    All,
    /// These.
    Mask(u64),
    /// Those that entered the function.
    Entered,
    /// Those that did not.
    Others,
    /// Some.
    Some,
}

impl Vector {
    pub(super) const UNKNOWN: Vector = Vector {
        entered: Whole::Unknown,
        others: Whole::Unknown,
        lanes: BTreeMap::new(),
    };

    pub(super) fn of(whole: Whole) -> Vector {
        Vector {
            entered: whole,
            others: whole,
            lanes: BTreeMap::new(),
        }
    }

    /// One lane's dword, whether it entered the function or not.
    pub(super) fn lane(&self, lane: u8) -> Value {
        let whole = || self.entered.join(self.others).lane(lane);
        self.lanes.get(&lane).copied().unwrap_or_else(whole)
    }

    /// One lane's dword.
    ///
    /// * `has_entered`: whether the lane entered the function.
    pub(super) fn lane_that(&self, has_entered: bool, lane: u8) -> Value {
        let whole = if has_entered {
            self.entered
        } else {
            self.others
        };
        let known = self.lanes.get(&lane).copied();
        known.unwrap_or_else(|| whole.lane(lane))
    }

    pub(super) fn set_lane(&mut self, lane: u8, value: Value) {
        self.lanes.insert(lane, value);
    }

    /// Nothing but what is in some lanes, a bit each.
    pub(super) fn only(&self, lanes: u64) -> Vector {
        let mut only = Vector::UNKNOWN;
        for lane in 0..64_u8 {
            if lanes & 1_u64.checked_shl(lane.into()).unwrap_or(0) != 0
                && let value = self.lane(lane).as_mask()
                && value != Value::Unknown
            {
                only.lanes.insert(lane, value);
            }
        }
        only
    }

    /// Whether this holds for everything that the other holds for.
    pub(super) fn covers(&self, other: &Vector) -> bool {
        let wholes = [(self.entered, other.entered), (self.others, other.others)];
        let mut lanes = self.lanes.keys().chain(other.lanes.keys());
        (wholes.iter()).all(|(here, there)| here == there || *here == Whole::Unknown)
            && lanes.all(|lane| self.lane(*lane).covers(other.lane(*lane)))
    }

    /// What is known where two paths meet.
    pub(super) fn join(&self, other: &Vector) -> Vector {
        self.overwritten(other, Written::Some)
    }

    /// What is there after some lanes were written.
    pub(super) fn overwritten(&self, new: &Vector, written: Written) -> Vector {
        if self == new {
            return self.clone();
        }
        let (entered, others) = match written {
            Written::All => return new.clone(),
            Written::Mask(mask) => {
                let mut result = self.clone();
                for lane in 0..64_u8 {
                    if mask & 1_u64.checked_shl(lane.into()).unwrap_or(0) != 0 {
                        result.set_lane(lane, new.lane(lane));
                    }
                }
                return result;
            }
            Written::Entered => (new.entered, self.others),
            Written::Others => (self.entered, new.others),
            Written::Some => (self.entered.join(new.entered), self.others.join(new.others)),
        };
        let mut result = Vector {
            entered,
            others,
            lanes: BTreeMap::new(),
        };
        for lane in self.lanes.keys().chain(new.lanes.keys()) {
            let value = self.lane(*lane).join(new.lane(*lane));
            result.lanes.insert(*lane, value);
        }
        result
    }
}
