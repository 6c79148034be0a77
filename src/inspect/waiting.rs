//! A frame as lanes see it that wait in it: EXEC has switched them off, and their own registers hold still.

use super::stop::StopFrame;
use crate::arch::Register;
use crate::error::Result;
use crate::eval::Frame;
use crate::frame::CallFrame;
use crate::lane_flow::Changed;
use crate::location::Location;

/// A frame without the registers that have changed for waiting lanes.
pub(super) struct Seen<'f, 's, 'p> {
    pub(super) frame: &'f CallFrame<'s, 'p, 'p>,
    pub(super) changed: Option<&'f Changed>,
}

impl<'p> Frame<'p> for Seen<'_, '_, 'p> {
    fn register(&self, register: Register) -> Result<Location<'p>> {
        match self.changed {
            Some(changed) if changed.contains(register) => Ok(Location::UNDEFINED),
            Some(_) | None => self.frame.register(register),
        }
    }

    fn entry_register(&self, register: Register) -> Result<Location<'p>> {
        self.frame.entry_register(register)
    }

    fn cfa(&self) -> Result<Location<'p>> {
        self.frame.cfa()
    }

    fn with_caller(
        &self,
        visit: &mut dyn FnMut(&dyn Frame<'p>, u64) -> Result<()>,
    ) -> Result<bool> {
        self.frame.with_caller(visit)
    }

    fn is_assumed_in_caller(&self, register: Register) -> bool {
        self.frame.is_assumed_in_caller(register)
    }
}

impl StopFrame<'_, '_, '_> {
    /// The registers that are not those of the waiting lanes any more, or not yet; nothing if it is seen from where the wave is.
    pub(super) fn changed_since_waiting(&self) -> Option<Changed> {
        let waiting = self.waiting?;
        let load_address = self.stop.options().load_address;
        let wave = self.frame.pc().wrapping_sub(load_address);
        let flow = self.stop.program().lane_flow(self.wave_size());
        Some(flow.changed_between(wave, waiting.address))
    }
}
