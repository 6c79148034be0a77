//! Represents a frame as seen by lanes that wait in it: EXEC has disabled them, so that their lanes of vector registers do not change.

use std::rc::Rc;

use super::stop::StopFrame;
use crate::arch::Register;
use crate::error::Result;
use crate::eval::Frame;
use crate::frame::CallFrame;
use crate::lane_flow::Changed;
use crate::location::Location;

/// A frame without the registers that have changed for waiting lanes.
#[derive(Debug)]
pub(super) struct Seen<'s, 'p> {
    frame: CallFrame<'s, 'p, 'p>,
    changed: Option<Rc<Changed>>,
}

impl<'p> Frame<'p> for Seen<'_, 'p> {
    fn register(&self, register: Register) -> Result<Location<'p>> {
        match &self.changed {
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

impl<'s, 'p> StopFrame<'s, 'p, '_> {
    /// Returns the frame's registers at the wave's position, or at the position of waiting lanes.
    pub(super) fn seen(&self) -> Seen<'s, 'p> {
        Seen {
            frame: self.frame,
            changed: self.changed_since_waiting(),
        }
    }

    /// Returns the registers that no longer, or not yet, have the waiting lanes' values, or `None` if the frame is seen by the wave.
    fn changed_since_waiting(&self) -> Option<Rc<Changed>> {
        let waiting = self.waiting?;
        let wave = self.frame.code_address();
        let key = (wave, waiting.address);
        let mut known = self.stop.changed().borrow_mut();
        if let Some(changed) = known.get(&key) {
            return Some(Rc::clone(changed));
        }
        let flow = self.stop.program().lane_flow(self.wave_size());
        let found = flow.changed_between(wave, waiting.address, self.stop.meter());
        // The query's meter has refused it, so that the answer is marked as incomplete.
        let Ok(changed) = found else {
            return Some(Rc::new(Changed::all()));
        };
        let changed = Rc::new(changed);
        known.insert(key, Rc::clone(&changed));
        Some(changed)
    }
}
