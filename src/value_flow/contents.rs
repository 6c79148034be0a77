//! A vector register or a row of scratch, as seen by one lane.

use std::sync::Arc;

use super::number::{Cell, Number};
use crate::flat::Flat;
use crate::isa::MachineRegister;
use crate::lane_flow::Slot;
use crate::machine_flow::Lanes;

/// The known contents of a vector register or a row of scratch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    /// The lane's own dword.
    pub(super) own: Number,
    /// The dwords of lanes that scalar values were written to. Other lanes are unknown.
    lanes: Option<Arc<Flat<u8, Number>>>,
}

impl Contents {
    pub(super) const fn of(own: Number) -> Contents {
        Contents { own, lanes: None }
    }

    /// Returns the lanes with known dwords.
    pub(super) fn lanes(&self) -> impl Iterator<Item = (u8, Number)> {
        let lanes = self.lanes.iter().flat_map(|lanes| lanes.iter());
        lanes.map(|(lane, number)| (lane, *number))
    }

    /// Writes a scalar value to a lane, which may be the followed one.
    pub(super) fn set_lane(&mut self, lane: u8, number: Number) {
        self.own = Number::Unknown;
        Arc::make_mut(self.lanes.get_or_insert_default()).insert(lane, number);
    }

    /// Makes numbers unknown if `is_old` returns true for them.
    pub(super) fn forget(&mut self, is_old: impl Fn(Number) -> bool) {
        if is_old(self.own) {
            self.own = Number::Unknown;
        }
        if self.lanes().any(|(_, number)| is_old(number))
            && let Some(lanes) = &mut self.lanes
        {
            for (_, number) in Arc::make_mut(lanes).iter_mut() {
                if is_old(*number) {
                    *number = Number::Unknown;
                }
            }
        }
    }

    /// Returns true if `is_old` returns true for one of the numbers.
    pub(super) fn has(&self, is_old: impl Fn(Number) -> bool) -> bool {
        is_old(self.own) || self.lanes().any(|(_, number)| is_old(number))
    }

    /// Returns the number of listed values.
    pub(super) fn size(&self) -> usize {
        let lanes = self.lanes.as_ref().map_or(0, |lanes| lanes.len());
        lanes + 1
    }
}

impl Lanes for Contents {
    type Scalar = Number;
    type Row = Slot;

    const UNKNOWN: Contents = Contents::of(Number::Unknown);

    fn of_register(register: MachineRegister) -> Contents {
        Contents::of(Number::at_entry(Cell::Own(register)))
    }

    fn of_row(slot: Slot) -> Contents {
        Contents::of(Number::at_entry(Cell::Row(slot)))
    }

    fn lane(&self, lane: u8) -> Number {
        let lanes = self.lanes.as_ref();
        let known = lanes.and_then(|lanes| lanes.get(lane).copied());
        known.unwrap_or(Number::Unknown)
    }

    fn join(&self, other: &Contents) -> Option<Contents> {
        let same = |(lane, number): &(u8, Number)| other.lane(*lane) == *number;
        let is_same_in_lanes = self.lanes().all(|one| same(&one));
        if self.own == other.own && is_same_in_lanes {
            return None;
        }
        let own = match self.own == other.own {
            true => self.own,
            false => Number::Unknown,
        };
        let lanes = match is_same_in_lanes {
            true => self.lanes.clone(),
            false => Some(Arc::new(Flat::in_order(self.lanes().filter(same)))),
        };
        let joined = Contents { own, lanes };
        (joined != *self).then_some(joined)
    }
}
