//! Locates the registers that a function overwrote without saving them.

use super::{CallFrame, LanesLeft};
use crate::arch::Register;
use crate::error::Result;
use crate::eval::Frame;
use crate::location::{Access, Bounds, Composite, Location, Place, Storage, read_value};

impl<'a> CallFrame<'_, '_, 'a> {
    /// Returns the lanes of the caller's register that are left, if the function has overwritten it without saving it and it has no rule.
    pub(super) fn lanes_left(&self, register: Register) -> Option<LanesLeft> {
        self.activation()?.correction.as_ref()?.lanes_left(register)
    }

    /// Returns the location of a lost register, which is undefined in all other lanes than these.
    pub(super) fn in_lanes(&self, register: Register, left: LanesLeft) -> Result<Location<'a>> {
        let unwind = &self.stack.unwind;
        let wave_size = unwind.wave.wave_size();
        let exec = Register::exec(wave_size);
        if left == LanesLeft::None || !register.is_vector() {
            return Ok(Location::UNDEFINED);
        }
        let (location, assumed) = self.recovered(exec)?;
        if assumed {
            return Ok(Location::UNDEFINED);
        }
        let access = Access {
            wave: unwind.wave,
            lane: None,
            max_bits: unwind.limits.bits,
            meter: None,
        };
        let mask = read_value(&location, exec.size_in_bits().unwrap_or(64), &access)?;
        let lanes = wave_size.lanes();
        let bounds = Bounds::of(&unwind.limits);
        let own = self.register(register)?;
        let (inactive, active) = match left {
            LanesLeft::Active => (Location::UNDEFINED, own),
            LanesLeft::Inactive | LanesLeft::None => (own, Location::UNDEFINED),
        };
        let of_lanes = (mask, lanes);
        let composite = Composite::select(
            inactive,
            active,
            of_lanes,
            32,
            lanes.into(),
            bounds,
            unwind.arena,
        )?;
        let composite = unwind.arena.composites.alloc(composite);
        Ok(Location::One(Place::new(Storage::Composite(composite), 0)))
    }
}
