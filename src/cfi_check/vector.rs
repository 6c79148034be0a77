//! The known contents of a vector register, or of a row of scratch in which one is saved.
//!
//! The lanes that were active on entry are unknown. Therefore there is one abstract value each for lanes active and inactive on entry.

use std::sync::Arc;

use super::mask::{Mask, Part};
use super::slot::{Base, Slot};
use super::value::{Scalar, Verdict};
use crate::isa::MachineRegister;
use crate::machine_flow;

/// One lane's dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneValue {
    /// The value of the vector register in the same lane on entry.
    Entry(MachineRegister),
    /// Another value.
    Other,
    /// Any value.
    Unknown,
}

impl LaneValue {
    fn join(self, other: LaneValue) -> LaneValue {
        match (self, other) {
            (one, other) if one == other => one,
            (LaneValue::Unknown | LaneValue::Entry(_), _)
            | (_, LaneValue::Unknown | LaneValue::Entry(_)) => LaneValue::Unknown,
            (LaneValue::Other, LaneValue::Other) => LaneValue::Other,
        }
    }

    /// Returns the value as the contents of a scalar register.
    fn as_scalar(self) -> Scalar {
        match self {
            LaneValue::Entry(_) | LaneValue::Other => Scalar::Other,
            LaneValue::Unknown => Scalar::Unknown,
        }
    }
}

/// The contents of all lanes: a common value, and the lanes that scalar values were written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    pub(super) rest: LaneValue,
    /// The named lanes, ascending. `None` if there are none.
    named: Option<Arc<Vec<(u8, Scalar)>>>,
}

impl Lanes {
    const fn new(rest: LaneValue) -> Lanes {
        Lanes { rest, named: None }
    }

    pub(super) fn get(&self, lane: u8) -> Scalar {
        let named = self.named();
        match named.binary_search_by_key(&lane, |(lane, _)| *lane) {
            Ok(at) => (named.get(at)).map_or(Scalar::Unknown, |(_, value)| *value),
            Err(_) => self.rest.as_scalar(),
        }
    }

    fn set(&mut self, lane: u8, value: Scalar) {
        let named = Arc::make_mut(self.named.get_or_insert_default());
        match named.binary_search_by_key(&lane, |(lane, _)| *lane) {
            Ok(at) => {
                if let Some((_, slot)) = named.get_mut(at) {
                    *slot = value;
                }
            }
            Err(at) => named.insert(at, (lane, value)),
        }
    }

    /// Returns the lanes that have a value of their own.
    pub(super) fn named(&self) -> &[(u8, Scalar)] {
        self.named.as_ref().map_or(&[], |named| named)
    }

    /// Forgets the facts that depend on the earlier condition of an instruction. Returns `None` if there are none.
    fn forget(&self, at: u32) -> Option<Lanes> {
        let depends = |value: Scalar| value.depends_on(at);
        (self.named().iter().any(|(_, value)| depends(*value))).then(|| {
            let forgotten = self
                .named()
                .iter()
                .map(|(lane, value)| (*lane, value.forget(at)));
            Lanes {
                rest: self.rest,
                named: Some(Arc::new(forgotten.collect())),
            }
        })
    }

    fn join(&self, other: &Lanes) -> Lanes {
        if self == other {
            return self.clone();
        }
        let mut joined = Lanes::new(self.rest.join(other.rest));
        let lanes = self.named().iter().chain(other.named());
        for (lane, _) in lanes {
            joined.set(*lane, self.get(*lane).join(other.get(*lane)));
        }
        joined
    }

    /// Compares every lane with the register on entry.
    pub(super) fn is_entry_of(&self, register: MachineRegister) -> Verdict {
        let rest = match self.rest {
            LaneValue::Entry(of) if of == register => Verdict::Same,
            LaneValue::Entry(_) | LaneValue::Other => Verdict::Different,
            LaneValue::Unknown => Verdict::Unknown,
        };
        (self.named().iter())
            .map(|(_, value)| {
                if *value == Scalar::Unknown {
                    Verdict::Unknown
                } else {
                    Verdict::Different
                }
            })
            .fold(rest, Verdict::and)
    }
}

/// A dword for each lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vector {
    /// The contents of lanes that were active on entry.
    pub(super) active: Lanes,
    /// The contents of lanes that were inactive on entry.
    pub(super) inactive: Lanes,
    /// The offset in the function, in bytes, of the instruction that wrote it last. The highest where paths meet.
    pub(super) written_at: u32,
}

impl machine_flow::Lanes for Vector {
    type Scalar = Scalar;
    type Row = Slot;

    const UNKNOWN: Vector = Vector {
        active: Lanes::new(LaneValue::Unknown),
        inactive: Lanes::new(LaneValue::Unknown),
        written_at: 0,
    };

    const COMPUTED: Vector = Vector {
        active: Lanes::new(LaneValue::Other),
        inactive: Lanes::new(LaneValue::Other),
        written_at: 0,
    };

    fn of_register(register: MachineRegister) -> Vector {
        Vector::all(LaneValue::Entry(register), 0)
    }

    /// Returns the contents of a row that was never written. The function has saved no value on entry there.
    fn of_row(slot: Slot) -> Vector {
        let value = if slot.base == Base::Entry && slot.offset % 4 == 0 {
            LaneValue::Other
        } else {
            LaneValue::Unknown
        };
        Vector::all(value, 0)
    }

    fn lane(&self, lane: u8) -> Scalar {
        self.active.get(lane).join(self.inactive.get(lane))
    }

    fn join(&self, other: &Vector) -> Option<Vector> {
        let joined = Vector {
            active: self.active.join(&other.active),
            inactive: self.inactive.join(&other.inactive),
            written_at: self.written_at.max(other.written_at),
        };
        let is_same = joined.active == self.active && joined.inactive == self.inactive;
        (!is_same).then_some(joined)
    }
}

impl Vector {
    /// Returns a register with the same value in all lanes.
    pub(super) fn all(value: LaneValue, written_at: u32) -> Vector {
        Vector {
            active: Lanes::new(value),
            inactive: Lanes::new(value),
            written_at,
        }
    }

    /// Returns the dword of one lane, for a lane active and a lane inactive on entry.
    pub(super) fn lanes(&self, lane: u8) -> [Scalar; 2] {
        [self.active.get(lane), self.inactive.get(lane)]
    }

    /// Writes a value to one lane, independent of the execution mask.
    pub(super) fn set_lane(&mut self, lane: u8, value: Scalar, at: u32) {
        self.active.set(lane, value);
        self.inactive.set(lane, value);
        self.written_at = at;
    }

    /// Copies the lanes in `mask` from `value`.
    pub(super) fn write(&mut self, mask: Mask, value: &Vector, at: u32) {
        self.written_at = at;
        write_part(&mut self.active, &value.active, mask.active());
        write_part(&mut self.inactive, &value.inactive, mask.inactive());
    }

    /// Forgets the facts that depend on the earlier condition of an instruction. Returns `None` if there are none.
    pub(super) fn forget(&self, at: u32) -> Option<Vector> {
        let (active, inactive) = (self.active.forget(at), self.inactive.forget(at));
        (active.is_some() || inactive.is_some()).then(|| Vector {
            active: active.unwrap_or_else(|| self.active.clone()),
            inactive: inactive.unwrap_or_else(|| self.inactive.clone()),
            ..*self
        })
    }
}

fn write_part(lanes: &mut Lanes, value: &Lanes, part: Part) {
    match part {
        Part::None => {}
        Part::All => lanes.clone_from(value),
        Part::Less | Part::Unknown => *lanes = lanes.join(value),
    }
}
