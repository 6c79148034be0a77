//! Holds the programs of a process, and stops its waves.

use std::sync::OnceLock;

use super::{Program, Stop, StopOptions};
use crate::arch::ProcessAddress;
use crate::error::{Error, Result};
use crate::gpu_core::{CoreWave, Process};
use crate::location::Arena;

/// The programs of the code objects of a process, each loaded on first use.
#[derive(Debug)]
pub struct Programs<'p> {
    process: &'p Process<'p>,
    loaded: Vec<OnceLock<Result<Program<'p>>>>,
    options: StopOptions,
}

impl<'p> Programs<'p> {
    /// Creates the programs of a process without loading any. Waves are read tolerantly.
    #[must_use]
    pub fn new(process: &'p Process<'p>) -> Programs<'p> {
        Programs {
            process,
            loaded: process.objects().iter().map(|_| OnceLock::new()).collect(),
            options: StopOptions::default(),
        }
    }

    /// Sets the options for reading waves. The load address of each code object is already known.
    #[must_use]
    pub fn options(self, options: StopOptions) -> Programs<'p> {
        Programs { options, ..self }
    }

    /// Returns the process.
    #[must_use]
    pub fn process(&self) -> &'p Process<'p> {
        self.process
    }

    /// Returns the program of the code object with this index, or `None` if its file is unknown.
    ///
    /// # Errors
    /// Fails like [`Program::load`].
    pub fn get(&self, index: usize) -> Option<Result<&Program<'p>, &Error>> {
        let object = self.process.objects().get(index)?.object.as_ref()?;
        let program = self.loaded.get(index)?;
        Some(program.get_or_init(|| Program::load(object)).as_ref())
    }

    /// Returns the index of the code object that contains a wave. A wave that stopped at a trap may be after the end of its code.
    #[must_use]
    pub fn object_of(&self, wave: &CoreWave<'_, '_>) -> Option<usize> {
        let pc = wave.pc();
        let before = || pc.0.checked_sub(1).map(ProcessAddress);
        let object = self.process.object_at(pc);
        object.or_else(|| self.process.object_at(before()?))
    }

    /// Returns the stop of a wave in the code object that contains its pc, or `None` if that is unknown or cannot be loaded.
    #[must_use]
    pub fn stop<'w>(
        &'w self,
        wave: &'w CoreWave<'w, '_>,
        arena: &'w Arena<'w>,
    ) -> Option<Stop<'w, 'p>> {
        let index = self.object_of(wave)?;
        let program = self.get(index)?.ok()?;
        let load_address = self.process.objects().get(index)?.load_address;
        let options = self.options.at(load_address);
        Some(Stop::new(program, wave, wave.pc(), options, arena))
    }
}
