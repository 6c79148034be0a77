//! A vector register, or a row of scratch, as a dword for each lane.

use std::sync::Arc;

use super::place::{DwordPlace, Slot};
use super::value::Value;
use crate::flat::Flat;
use crate::isa::MachineRegister;
use crate::machine_flow::{self, Lanes as _, Scalar as _};

/// The contents of a vector register, or a row of scratch, in the lanes that are not listed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Whole {
    Unknown,
    /// The contents of the register at the stop, lane by lane.
    Register(MachineRegister),
    /// The contents of scratch at the stop, lane by lane.
    Slot(Slot),
}

/// A vector register, or a row of scratch: a dword for each lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vector {
    /// The contents of the lanes that entered the function.
    entered: Whole,
    /// The contents of the lanes that did not enter it.
    others: Whole,
    /// The lanes with other known contents.
    lanes: Lanes,
}

/// The contents of some lanes, by lane. Copies share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lanes(Option<Arc<Flat<u8, Value>>>);

impl Lanes {
    const NONE: Lanes = Lanes(None);

    fn of(lanes: Flat<u8, Value>) -> Lanes {
        Lanes((!lanes.is_empty()).then(|| Arc::new(lanes)))
    }

    fn get(&self, lane: u8) -> Option<Value> {
        self.0.as_ref()?.get(lane).copied()
    }

    fn iter(&self) -> impl Iterator<Item = (u8, Value)> {
        let lanes = self.0.iter().flat_map(|lanes| lanes.iter());
        lanes.map(|(lane, value)| (lane, *value))
    }

    /// Returns the lanes in either of the two, in order, with the contents of each.
    fn either<'l>(
        &'l self,
        other: &'l Lanes,
    ) -> impl Iterator<Item = (u8, Option<&'l Value>, Option<&'l Value>)> {
        const NONE: &Flat<u8, Value> = &Flat::NONE;
        let [one, other] = [self, other].map(|lanes| lanes.0.as_deref().unwrap_or(NONE));
        Flat::either(one, other)
    }

    fn set(&mut self, lane: u8, value: Value) {
        if self.get(lane) != Some(value) {
            let lanes = self.0.get_or_insert_default();
            Arc::make_mut(lanes).insert(lane, value);
        }
    }

    /// Returns true if both share their storage, without comparing it.
    fn is_shared(&self, other: &Lanes) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (_, _) => false,
        }
    }
}

impl Whole {
    fn lane(self, lane: u8) -> Value {
        match self {
            Whole::Unknown => Value::Unknown,
            Whole::Register(register) => Value::initial(DwordPlace::Lane { register, lane }),
            Whole::Slot(slot) => Value::initial(DwordPlace::Scratch { slot, lane }),
        }
    }

    fn join(self, other: Whole) -> Whole {
        if self == other { self } else { Whole::Unknown }
    }
}

/// Returns true if a lane is in a set, one bit per lane.
fn is_in(lanes: u64, lane: u8) -> bool {
    lanes & 1_u64.checked_shl(lane.into()).unwrap_or(0) != 0
}

/// The lanes that an instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// All lanes.
    All,
    /// The lanes in this mask.
    Mask(u64),
    /// The lanes that entered the function.
    Entered,
    /// The lanes that did not enter it.
    Others,
    /// Some unknown lanes.
    Some,
}

impl machine_flow::Lanes for Vector {
    type Scalar = Value;
    type Row = Slot;

    const UNKNOWN: Vector = Vector {
        entered: Whole::Unknown,
        others: Whole::Unknown,
        lanes: Lanes::NONE,
    };

    fn of_register(register: MachineRegister) -> Vector {
        Vector::of(Whole::Register(register))
    }

    fn of_row(slot: Slot) -> Vector {
        Vector::of(Whole::Slot(slot))
    }

    fn lane(&self, lane: u8) -> Value {
        let whole = || self.entered.join(self.others).lane(lane);
        self.lanes.get(lane).unwrap_or_else(whole)
    }

    fn join(&self, other: &Vector) -> Option<Vector> {
        (!self.covers(other)).then(|| self.overwritten(other, Written::Some))
    }
}

impl Vector {
    /// Returns the number of listed values, plus one for the vector.
    pub(super) fn size(&self) -> usize {
        let lanes = self.lanes.0.as_ref().map_or(0, |lanes| lanes.len());
        lanes.saturating_add(1)
    }

    /// Returns the number of bytes that are not shared with another vector.
    pub(super) fn bytes(&self) -> usize {
        let own = self
            .lanes
            .0
            .as_ref()
            .filter(|lanes| Arc::strong_count(lanes) == 1);
        let lanes = own.map_or(0, |lanes| lanes.len());
        let lanes = lanes.saturating_mul(size_of::<(u8, Value)>());
        lanes.saturating_add(size_of::<(Slot, Vector)>())
    }

    fn of(whole: Whole) -> Vector {
        Vector {
            entered: whole,
            others: whole,
            lanes: Lanes::NONE,
        }
    }

    /// Returns one lane's dword.
    ///
    /// * `has_entered`: true if the lane entered the function.
    pub(super) fn lane_that(&self, has_entered: bool, lane: u8) -> Value {
        let whole = if has_entered {
            self.entered
        } else {
            self.others
        };
        let known = self.lanes.get(lane);
        known.unwrap_or_else(|| whole.lane(lane))
    }

    pub(super) fn set_lane(&mut self, lane: u8, value: Value) {
        self.lanes.set(lane, value);
    }

    /// Returns the lanes that are listed separately.
    pub(super) fn lanes(&self) -> impl Iterator<Item = (u8, Value)> {
        self.lanes.iter()
    }

    /// Returns true if any lane is listed separately.
    pub(super) fn has_lanes(&self) -> bool {
        self.lanes.0.is_some()
    }

    /// Returns true if a lane is listed with a value.
    pub(super) fn has_lane(&self, lane: u8, value: Value) -> bool {
        self.lanes.get(lane) == Some(value)
    }

    /// Returns true if some lane is listed with a value.
    pub(super) fn has(&self, value: Value) -> bool {
        self.lanes.iter().any(|(_, known)| known == value)
    }

    /// Replaces a value in every lane that is listed with it.
    pub(super) fn replace(&mut self, value: Value, by: Value) {
        if self.has(value)
            && let Some(lanes) = &mut self.lanes.0
        {
            let lanes = Arc::make_mut(lanes).iter_mut();
            for (_, known) in lanes.filter(|(_, known)| **known == value) {
                *known = by;
            }
        }
    }

    /// Returns true if [`only`](Vector::only) would not change it.
    pub(super) fn is_only(&self, lanes: u64) -> bool {
        (self.entered, self.others) == (Whole::Unknown, Whole::Unknown)
            && self.lanes.iter().all(|(lane, value)| {
                is_in(lanes, lane) && value != Value::Unknown && value.as_mask() == value
            })
    }

    /// Returns the masks in some lanes, one bit per lane, and forgets everything else.
    pub(super) fn only(&self, lanes: u64) -> Vector {
        // Most have not changed since the last branch.
        if self.is_only(lanes) {
            return self.clone();
        }
        if (self.entered, self.others) == (Whole::Unknown, Whole::Unknown) {
            let kept = self.lanes.iter().filter(|(lane, _)| is_in(lanes, *lane));
            let kept = kept.map(|(lane, value)| (lane, value.as_mask()));
            let kept = Flat::in_order(kept.filter(|(_, value)| *value != Value::Unknown));
            return Vector {
                lanes: Lanes::of(kept),
                ..Vector::UNKNOWN
            };
        }
        let mut left = lanes;
        let only = core::iter::from_fn(|| {
            let lane = u8::try_from(left.trailing_zeros()).ok();
            let lane = lane.filter(|_| left != 0)?;
            left &= left.wrapping_sub(1);
            Some((lane, self.lane(lane).as_mask()))
        });
        let only = Flat::in_order(only.filter(|(_, value)| *value != Value::Unknown));
        Vector {
            lanes: Lanes::of(only),
            ..Vector::UNKNOWN
        }
    }

    /// Returns true if every fact of this vector also holds for `other`.
    pub(super) fn covers(&self, other: &Vector) -> bool {
        self.covers_by(other, Value::covers)
    }

    /// Returns true if each value of this vector covers the other one.
    pub(super) fn covers_by(&self, other: &Vector, covers: impl Fn(Value, Value) -> bool) -> bool {
        let wholes = [(self.entered, other.entered), (self.others, other.others)];
        if wholes.iter().all(|(here, there)| here == there) && self.lanes.is_shared(&other.lanes) {
            return true;
        }
        let mut lanes = self.lanes.either(&other.lanes);
        (wholes.iter()).all(|(here, there)| here == there || *here == Whole::Unknown)
            && lanes.all(|(lane, here, there)| {
                let here = here.copied().unwrap_or_else(|| self.lane(lane));
                covers(here, there.copied().unwrap_or_else(|| other.lane(lane)))
            })
    }

    /// Returns the contents after a write to some lanes.
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
        let joined = |(lane, here, there): (u8, Option<&Value>, Option<&Value>)| {
            let here = here.copied().unwrap_or_else(|| self.lane(lane));
            let there = there.copied().unwrap_or_else(|| new.lane(lane));
            (lane, here.join(there))
        };
        Vector {
            entered,
            others,
            lanes: Lanes::of(Flat::in_order(self.lanes.either(&new.lanes).map(joined))),
        }
    }
}
