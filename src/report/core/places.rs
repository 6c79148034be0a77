//! Where waves are: the call stacks of a core, as lines.

use std::collections::BTreeMap;

use super::super::text::source_place;
use super::super::vars::VarsFrame;
use super::ProblemDocument;
use crate::arch::{CodeAddress, ProcessAddress};
use crate::gpu_core::{CoreWave, GpuCore};
use crate::inspect::{Programs, Stop, StopFrame};
use crate::location::Arena;
use crate::meter::Meter;
use crate::object::SymbolKind;
use crate::untrusted::Untrusted;

/// Where a wave is.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    pub(super) function: Option<Untrusted<'static>>,
    pub(super) file: Option<Untrusted<'static>>,
    pub(super) line: Option<u64>,
    /// The innermost first.
    pub(super) frames: Vec<Untrusted<'static>>,
}

/// Where call frames are in the source, by code object and address: waves are at few places.
pub(super) struct Places {
    known: BTreeMap<(usize, u64), VarsFrame>,
    /// Places without debugging information.
    symbols: BTreeMap<ProcessAddress, Untrusted<'static>>,
    /// What the stacks of all waves take together.
    meter: Meter,
    is_cut: bool,
    /// Code objects whose debugging information cannot be read, with the reason.
    unreadable: BTreeMap<usize, String>,
}

/// As how many operations a frame counts.
const PER_FRAME: u64 = 64;

impl Places {
    pub(super) fn new(core: &GpuCore<'_>) -> Places {
        Places {
            known: BTreeMap::new(),
            symbols: BTreeMap::new(),
            meter: core.meter().question(),
            is_cut: false,
            unreadable: BTreeMap::new(),
        }
    }

    /// The call stack of a wave.
    pub(super) fn stack(
        &mut self,
        wave: &CoreWave<'_, '_>,
        object: Option<usize>,
        programs: &Programs<'_>,
    ) -> Stack {
        let Some(index) = object else {
            return self.bare(wave, object, programs);
        };
        if self.meter.refused().is_some() {
            self.is_cut = true;
            return self.bare(wave, object, programs);
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
        match stop.map(|stop| self.frames(&stop, index, programs)) {
            Some(stack) if !stack.frames.is_empty() => stack,
            _ => self.bare(wave, object, programs),
        }
    }

    /// The stack of a wave of which only the pc is known.
    pub(super) fn bare(
        &mut self,
        wave: &CoreWave<'_, '_>,
        object: Option<usize>,
        programs: &Programs<'_>,
    ) -> Stack {
        Stack {
            frames: vec![self.symbol(wave.line_pc(), object, programs)],
            ..Stack::default()
        }
    }

    pub(super) fn symbol(
        &mut self,
        pc: ProcessAddress,
        object: Option<usize>,
        programs: &Programs<'_>,
    ) -> Untrusted<'static> {
        let known = self.symbols.entry(pc);
        known
            .or_insert_with(|| symbol(pc, object, programs))
            .clone()
    }

    pub(super) fn frames(
        &mut self,
        stop: &Stop<'_, '_>,
        index: usize,
        programs: &Programs<'_>,
    ) -> Stack {
        let mut stack = Stack::default();
        for frame in stop.frames() {
            if self.meter.work(PER_FRAME).is_err() {
                break;
            }
            let address = frame.call_frame().lookup_address();
            let found = match self.known.get(&(index, address)) {
                Some(known) => known.clone(),
                None => match VarsFrame::within(&frame, &self.meter) {
                    Ok(found) => {
                        self.known.insert((index, address), found.clone());
                        found
                    }
                    Err(error) => {
                        self.unreadable.entry(index).or_insert(error.to_string());
                        break;
                    }
                },
            };
            if stack.frames.is_empty() {
                stack.function.clone_from(&found.function);
                stack.file.clone_from(&found.file);
                stack.line = found.line;
            }
            let function = match &found.function {
                Some(function) => function.clone(),
                None => self.symbol(frame.call_frame().pc(), Some(index), programs),
            };
            add_frame(&mut stack.frames, &found, &function);
        }
        // What was refused shows at the next wave.
        let _ = self.meter.work(stop.meter().steps());
        stack
    }

    /// What went wrong with code objects, and with all stacks.
    pub(super) fn problems(&self) -> Vec<ProblemDocument> {
        let mut found: Vec<ProblemDocument> = self
            .unreadable
            .iter()
            .map(|(index, reason)| ProblemDocument {
                place: format!("code object {index}").into(),
                offset: None,
                file: None,
                message: format!("its debugging information cannot be read: {reason}").into(),
            })
            .collect();
        if self.is_cut {
            let message =
                "the call stacks of all waves take too long: those of the last ones have one frame";
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

/// Adds the lines of a frame: functions that were inlined look like frames.
fn add_frame(
    frames: &mut Vec<Untrusted<'static>>,
    found: &VarsFrame,
    function: &Untrusted<'static>,
) {
    let file = found.file.as_ref().map(Untrusted::raw);
    let mut place = Some(source_place(file, found.line));
    for name in &found.inlined {
        let place = place.take().unwrap_or_default();
        frames.push(format!("{} (inlined){place}", name.raw()).into());
    }
    let place = place.unwrap_or_default();
    frames.push(format!("{}{place}", function.raw()).into());
}

/// The innermost frame that is not of the code that stops a program (`abort`, and what is called `__…`); if there is none,
/// the innermost one.
#[must_use]
pub fn own_frame<'s, 'p, 'a>(stop: &'s Stop<'p, 'a>) -> Option<StopFrame<'s, 'p, 'a>> {
    let is_own = |frame: &StopFrame<'_, '_, '_>| {
        let function = frame.function().ok().flatten();
        let name = function.and_then(|function| function.name);
        name.is_some_and(|name| !name.starts_with("__") && name != "abort")
    };
    stop.frames().find(is_own).or_else(|| stop.frame(0))
}

/// A place without debugging information: function and offset by the symbols, or else the address.
fn symbol(
    pc: ProcessAddress,
    object: Option<usize>,
    programs: &Programs<'_>,
) -> Untrusted<'static> {
    let process = programs.process();
    let loaded = object.and_then(|index| process.objects().get(index));
    let found = loaded.and_then(|loaded| {
        let CodeAddress(address) = loaded.load_address.checked_to_code(pc)?;
        let symbols = loaded.object.as_ref()?.symbols().ok()?;
        symbols
            .iter()
            .filter(|symbol| symbol.kind == SymbolKind::Function)
            .filter_map(|symbol| Some((symbol, address.checked_sub(symbol.address)?)))
            .find(|(symbol, offset)| *offset < symbol.size)
            .map(|(symbol, offset)| format!("{}+{offset:#x}", symbol.name))
    });
    found.unwrap_or_else(|| format!("{pc:#x}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu_core::Process;
    use crate::limits::Limits;

    /// Of a wave whose places are known already, each frame is paid for, and what it took to find the stack.
    #[test]
    fn a_stack_is_paid_for() {
        let file = include_bytes!("../../cli/demo/demo.core");
        let core = GpuCore::open(&[file], &Limits::DEFAULT).unwrap();
        let images = core.images();
        let process = Process::open(&core, &images);
        let programs = Programs::new(&process);
        let wave = core.wave(0).unwrap();
        let object = process.object_at(wave.line_pc());
        let mut places = Places::new(&core);
        places.stack(&wave, object, &programs);
        let before = places.meter.steps();
        places.stack(&wave, object, &programs);
        let arena = Arena::new();
        let stop = programs.stop(&wave, &arena).unwrap();
        let (frames, unwinding) = (stop.frames().len() as u64, stop.meter().steps());
        assert!(frames > 1 && unwinding > 0, "{frames}, {unwinding}");
        let paid = places.meter.steps() - before;
        assert_eq!(paid, PER_FRAME * frames + unwinding);
    }
}
