//! Finds the call stacks of the waves of a core.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::frame::FrameDocument;
use super::super::text::FileNames;
use super::ProblemDocument;
use crate::arch::CodeAddress;
use crate::error::Result;
use crate::gpu_core::CoreWave;
use crate::inspect::{Programs, Stop, StopFrame};
use crate::location::Arena;
use crate::meter::Meter;
use crate::object::descriptor::InitialRegisters;
use crate::untrusted::Untrusted;
use crate::wave::Wave;

/// The call stack of a wave, the innermost frame first. Waves at the same place share its frames.
pub(in crate::report) type Stack = Vec<Rc<FrameDocument>>;

/// The place of a wave.
pub(super) struct Location {
    pub(super) stack: Stack,
    /// The registers that still hold their values from the start of the kernel ([`StopFrame::initial_registers`]).
    pub(super) entry: Vec<InitialRegisters>,
}

/// The source lines of call frames, by code object and address. They are kept because many waves are at the same few places.
#[derive(Debug)]
pub(super) struct Places<'m> {
    known: BTreeMap<(usize, u64), Stack>,
    /// The initial registers, by code object, address and number of lanes.
    known_entries: BTreeMap<(usize, u64, u32), Vec<InitialRegisters>>,
    /// The meter to which the stacks of all waves are charged.
    meter: &'m Meter,
    is_cut: bool,
    /// The code objects whose debugging information cannot be read, with the reason.
    unreadable: BTreeMap<usize, String>,
}

/// The number of operations that are charged for a frame.
const PER_FRAME: u64 = 64;

impl<'m> Places<'m> {
    pub(super) fn new(meter: &'m Meter) -> Places<'m> {
        Places {
            known: BTreeMap::new(),
            known_entries: BTreeMap::new(),
            meter,
            is_cut: false,
            unreadable: BTreeMap::new(),
        }
    }

    /// Finds the call stack of a wave, and the registers that still hold their initial values.
    pub(super) fn locate(
        &mut self,
        wave: &CoreWave<'_, '_>,
        object: Option<usize>,
        programs: &Programs<'_>,
    ) -> Location {
        let bare = |places: &Places<'_>| Location {
            stack: places.bare(wave, object, programs),
            entry: Vec::new(),
        };
        let Some(index) = object else {
            return bare(self);
        };
        if self.meter.refused().is_some() {
            self.is_cut = true;
            return bare(self);
        }
        let arena = Arena::new();
        let stop = match programs.get(index) {
            Some(Ok(_)) => programs.stop(wave, &arena),
            Some(Err(error)) => {
                let reason = error.to_string();
                self.unreadable.entry(index).or_insert(reason);
                None
            }
            None => None,
        };
        let Some(stop) = stop else {
            return bare(self);
        };
        let stack = self.frames(&stop, index);
        let lanes = wave.wave_size().lanes();
        let entry = self.entry(&stop, (index, wave.pc().0, lanes));
        // If the meter refuses this charge, the next wave reports it.
        let _ = self.meter.work(stop.meter().steps());
        let entry = entry.unwrap_or_else(|error| {
            self.unreadable.entry(index).or_insert(error.to_string());
            Vec::new()
        });
        match stack.is_empty() {
            false => Location { stack, entry },
            true => Location {
                entry,
                ..bare(self)
            },
        }
    }

    /// Returns the registers of a wave that still hold their values from the start of the kernel.
    fn entry(
        &mut self,
        stop: &Stop<'_, '_>,
        key: (usize, u64, u32),
    ) -> Result<Vec<InitialRegisters>> {
        let found = match (self.known_entries.get(&key), stop.call_frame(0)) {
            (Some(known), _) => known.clone(),
            (None, None) => Vec::new(),
            (None, Some(frame)) => {
                let found = frame.initial_registers()?;
                self.meter.hold_all::<InitialRegisters>(found.len())?;
                self.known_entries.insert(key, found.clone());
                found
            }
        };
        self.meter.hold_all::<InitialRegisters>(found.len())?;
        Ok(found)
    }

    /// Returns the stack of a wave of which only the pc is known.
    fn bare(
        &self,
        wave: &CoreWave<'_, '_>,
        object: Option<usize>,
        programs: &Programs<'_>,
    ) -> Stack {
        let program = object.and_then(|index| Some((index, programs.get(index)?.ok()?)));
        let symbol = program.and_then(|(index, program)| {
            let loaded = programs.process().objects().get(index)?;
            let CodeAddress(address) = loaded.load_address.checked_to_code(wave.pc())?;
            program.symbol_at(address)
        });
        vec![Rc::new(FrameDocument::of_symbol(wave.pc(), symbol))]
    }

    pub(super) fn frames(&mut self, stop: &Stop<'_, '_>, index: usize) -> Stack {
        let call_frames = stop.call_frames();
        let mut stack = Stack::with_capacity(call_frames.len());
        for frame in call_frames {
            if self.meter.work(PER_FRAME).is_err() {
                break;
            }
            let address = frame.call_frame().lookup_address();
            if let Some(known) = self.known.get(&(index, address)) {
                stack.extend_from_slice(known);
                continue;
            }
            match FrameDocument::parts(&frame, self.meter) {
                Ok(found) => {
                    let found: Stack = found.into_iter().map(Rc::new).collect();
                    let problems = stop.program().info().line_problems();
                    if let Some(problem) = problems.first() {
                        self.unreadable.entry(index).or_insert(problem.to_string());
                    }
                    stack.extend_from_slice(&found);
                    self.known.insert((index, address), found);
                }
                Err(error) => {
                    self.unreadable.entry(index).or_insert(error.to_string());
                    break;
                }
            }
        }
        stack
    }

    /// Returns the problems of code objects and stacks.
    pub(super) fn problems(&self) -> Vec<ProblemDocument> {
        let mut found: Vec<ProblemDocument> = self
            .unreadable
            .iter()
            .map(|(index, reason)| ProblemDocument {
                place: format!("code object {index}").into(),
                offset: None,
                file: None,
                message: format!("not all of its debugging information can be read: {reason}")
                    .into(),
            })
            .collect();
        if self.is_cut {
            let message =
                "the call stacks of all waves take too long: the last stacks have only one frame";
            found.push(ProblemDocument {
                place: "waves".into(),
                offset: None,
                file: None,
                message: message.into(),
            });
        }
        found
    }
}

/// Returns a frame as a line of text. A frame without a function is written with its address.
pub(super) fn line(frame: &FrameDocument, names: &FileNames<'_>) -> Untrusted<'static> {
    match &frame.function {
        Some(function) => frame.place_text(function.raw(), names),
        None => frame.place_text(format_args!("{:#x}", frame.pc.0), names),
    }
    .into()
}

/// Returns the innermost frame outside the functions that stop a program, which are `abort` and every function whose name starts with `__`. If there
/// is no such frame, returns the innermost frame.
#[must_use]
pub fn own_frame<'s, 'p, 'a>(stop: &'s Stop<'p, 'a>) -> Option<StopFrame<'s, 'p, 'a>> {
    let is_own = |frame: &StopFrame<'_, '_, '_>| {
        let name = frame.description().ok().and_then(|found| found.function);
        name.is_some_and(|name| !name.starts_with("__") && name != "abort")
    };
    stop.frames()
        .into_iter()
        .find(is_own)
        .or_else(|| stop.frame(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu_core::{GpuCore, Process};
    use crate::limits::Limits;

    /// Checks that each frame of a wave at a known place is charged, and the search for the stack as well.
    #[test]
    fn a_stack_is_paid_for() {
        let file = include_bytes!("../../../examples/demo/demo.core");
        let core = GpuCore::open(&[file], &Limits::DEFAULT).unwrap();
        let images = core.images();
        let process = Process::open(&core, &images);
        let programs = Programs::new(&process);
        let wave = core.wave(0).unwrap();
        let object = programs.object_of(&wave);
        let meter = core.meter().for_query();
        let mut places = Places::new(&meter);
        places.locate(&wave, object, &programs);
        let before = places.meter.steps();
        places.locate(&wave, object, &programs);
        let arena = Arena::new();
        let stop = programs.stop(&wave, &arena).unwrap();
        let (frames, unwinding) = (stop.call_frames().len() as u64, stop.meter().steps());
        assert!(frames > 1 && unwinding > 0, "{frames}, {unwinding}");
        let paid = places.meter.steps() - before;
        assert_eq!(paid, PER_FRAME * frames + unwinding);
    }
}
