//! Checks that the result of an expression is valid for its use. Sources: HET A.2.5.4, A.3.3.5, A.6.4.2.

use super::code::Code;
use super::entry::{Entry, Offset, Place, Sources, Storage, Type};
use super::machine::{Machine, Stack};
use super::value::{as_place, as_value};
use super::{Role, rule};
use crate::expr::Operation;
use crate::rule::Rule;

impl Machine<'_> {
    /// Checks the stack at the end.
    pub(super) fn check_result(&mut self, code: &Code<'_>, stack: &Stack) {
        let role = self.env.role;
        if matches!(role, Role::Procedure | Role::Any) {
            return;
        }
        let below = self.env.initial.len();
        let count = stack.len().saturating_sub(below).saturating_sub(1);
        if count > 0 {
            let text = format!("{count} more {} below the result", entries(count));
            self.whole(&rule::LEFTOVER, text);
        }
        let Some(top) = stack.last().copied() else {
            if matches!(
                role,
                Role::Value | Role::OfDimension | Role::RegisterValue { .. }
            ) {
                let text = "a value is required, but the stack is empty at the end";
                self.whole(&rule::RESULT_KIND, text);
            }
            return;
        };
        match role {
            Role::Value | Role::OfDimension => {
                self.value_result(top);
            }
            Role::RegisterValue { bits } => {
                let found = self
                    .value_result(top)
                    .and_then(|ty| ty.bits(self.generic_bits()));
                if let (Some(found), Some(bits)) = (found, bits)
                    && found != u64::from(bits)
                {
                    let text = format!("the value has {found} bits, but the register has {bits}");
                    self.whole(&rule::VALUE_SIZE, text);
                }
            }
            Role::EntryValue => self.entry_value_result(code, top),
            Role::Location { .. }
            | Role::FrameBase
            | Role::Cfa
            | Role::SavedRegister { .. }
            | Role::Member
            | Role::VirtualSlot
            | Role::DataLocation
            | Role::LanePc { .. }
            | Role::ActiveLane { .. } => self.location_result(top),
            Role::Procedure | Role::Any => {}
        }
    }

    /// Adds a fault of the whole expression.
    fn whole(&mut self, rule: &'static Rule, message: impl Into<String>) {
        self.fault_at(rule, None, message, None);
    }

    /// Returns the type of a result that must be a value.
    fn value_result(&mut self, top: Entry) -> Option<Type> {
        match as_value(top) {
            Some(value) => Some(value.ty),
            None => {
                self.whole(
                    &rule::RESULT_KIND,
                    format!("a value is required, but the result is {top}"),
                );
                None
            }
        }
    }

    fn entry_value_result(&mut self, code: &Code<'_>, top: Entry) {
        let is_register = matches!(
            code.items.last().map(|item| item.operation),
            Some(Operation::Reg { .. } | Operation::Regx { .. })
        );
        let fits = match top {
            Entry::Value(_) | Entry::Unknown => true,
            Entry::Place(place) => is_register || place.storage == Storage::Unknown,
        };
        if !fits {
            self.whole(
                &rule::ENTRY_VALUE,
                format!("its expression gives {top}, which is neither a value nor a register"),
            );
        }
    }

    fn location_result(&mut self, top: Entry) {
        let role = self.env.role;
        let Some(place) = as_place(top) else {
            self.fault_at(
                &rule::RESULT_KIND,
                None,
                format!("a location is required, but the result is {top}"),
                Some("DW_OP_stack_value makes a location with this value"),
            );
            return;
        };
        if role != Role::VirtualSlot
            && let Entry::Value(value) = top
            && value.sources == Sources::NONE
            && value.known().is_some()
        {
            self.whole(
                &rule::VALUE_AS_LOCATION,
                format!("{top} is used as an address in global memory"),
            );
        }
        match role {
            Role::Location { bits: Some(bits) } => self.check_object(&place, bits.into()),
            Role::SavedRegister { bits: Some(bits) } => {
                self.check_room(&place, bits.into(), &rule::SHORT, "the register");
            }
            Role::FrameBase => self.check_frame_base(&place),
            Role::Cfa => self.check_cfa(&place),
            Role::LanePc { lanes: Some(lanes) } => {
                let bits = u128::from(lanes) * u128::from(self.generic_bits());
                self.check_room(&place, bits, &rule::LANE_PC, "one address for each lane");
            }
            Role::ActiveLane { lanes: Some(lanes) } => {
                self.check_room(&place, lanes.into(), &rule::ACTIVE_LANE, "the mask");
            }
            Role::Location { bits: None }
            | Role::SavedRegister { bits: None }
            | Role::LanePc { lanes: None }
            | Role::ActiveLane { lanes: None }
            | Role::Member
            | Role::VirtualSlot
            | Role::DataLocation
            | Role::Value
            | Role::OfDimension
            | Role::RegisterValue { .. }
            | Role::Procedure
            | Role::EntryValue
            | Role::Any => {}
        }
    }

    /// Checks that an object with this size fits into its place.
    fn check_object(&mut self, place: &Place, bits: u128) {
        let is_composite = matches!(place.storage, Storage::Composite { .. });
        let rule = if is_composite {
            &rule::SHORT_COMPOSITE
        } else {
            &rule::SHORT
        };
        self.check_room(place, bits, rule, "the object");
        if is_composite
            && let Some(room) = place.room()
            && room > bits
        {
            self.whole(
                &rule::LONG_COMPOSITE,
                format!("the object has {bits} bits, but its parts have {room}"),
            );
        }
        self.check_lane(place);
        if let Some(room) = place.lane_room()
            && room < bits
        {
            let what = Entry::Place(*place);
            self.fault_at(
                &rule::LANE_OVERRUN,
                None,
                format!("the object has {bits} bits, but each lane has {room} bits of {what}"),
                Some("the other dwords are in other registers: make the location a composite"),
            );
        }
    }

    fn check_room(&mut self, place: &Place, bits: u128, rule: &'static Rule, object: &str) {
        if let Some(room) = place.room()
            && room < bits
        {
            let what = Entry::Place(*place);
            self.whole(
                rule,
                format!("{object} takes {bits} bits, but {what} has {room}"),
            );
        }
    }

    fn check_frame_base(&mut self, place: &Place) {
        if matches!(
            place.storage,
            Storage::Register(_)
                | Storage::ReservedRegister
                | Storage::CallerRegister(_)
                | Storage::Memory(_)
                | Storage::Unknown
        ) {
            return;
        }
        let text = format!("it is {}", Entry::Place(*place));
        self.whole(&rule::FRAME_BASE, text);
    }

    fn check_cfa(&mut self, place: &Place) {
        let is_byte = match place.offset {
            Offset::Linear { base, per_lane } => base % 8 == 0 && per_lane == 0,
            Offset::Unknown => true,
        };
        let fits = match place.storage {
            Storage::Memory(_) => is_byte,
            Storage::CallerRegister(_) | Storage::Unknown => true,
            Storage::Register(_)
            | Storage::ReservedRegister
            | Storage::Undefined
            | Storage::Implicit(_)
            | Storage::ImplicitPointer
            | Storage::Composite { .. } => false,
        };
        if !fits {
            self.whole(&rule::CFA, format!("it is {}", Entry::Place(*place)));
        }
    }
}

fn entries(count: usize) -> &'static str {
    if count == 1 {
        "entry is left"
    } else {
        "entries are left"
    }
}
