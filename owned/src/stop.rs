//! A stop with its program, its wave and its arena.

use core::fmt;
use std::sync::Arc;

use hetdwarf::arch::ProcessAddress;
use hetdwarf::gpu_core::CoreWave;
use hetdwarf::inspect::{Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::wave::Wave;

use crate::core::LoadedCore;
use crate::pinned::Pinned;
use crate::program::LoadedProgram;

/// A wave that can be asked from any thread.
pub type SharedWave = Arc<dyn Wave + Send + Sync>;

/// The owner of a stop's program and wave.
enum Owner {
    Program {
        _wave: Pinned<SharedWave>,
        _program: Arc<LoadedProgram>,
    },
    Core {
        _wave: Pinned<CoreWave<'static, 'static>>,
        _core: Arc<LoadedCore>,
    },
}

/// A stop with what it borrows from: its frames are unwound once, whatever is asked. One thread at a time can ask it.
pub struct LoadedStop {
    stop: Stop<'static, 'static>,
    _arena: Pinned<Arena<'static>>,
    _owner: Owner,
}

// SAFETY: the counted references and cells of a stop and of its arena are reached from these alone, since the lifetimes of
// what a question gets are any, so that nothing of it can be in an answer. All of them move to another thread together.
// Programs, cores and waves can be shared.
unsafe impl Send for LoadedStop {}

impl LoadedStop {
    /// Stops a wave of a program.
    #[must_use]
    pub fn of_program(
        program: &Arc<LoadedProgram>,
        wave: SharedWave,
        pc: ProcessAddress,
        options: StopOptions,
    ) -> LoadedStop {
        let (arena, wave) = (Pinned::new(Arena::new()), Pinned::new(wave));
        // SAFETY: the arena is dropped after the stop, which is the only one to have it.
        let arena_ref = unsafe { arena.borrow() };
        // SAFETY: as the arena.
        let wave_ref = unsafe { wave.borrow() };
        // SAFETY: the owner keeps the program until the stop is dropped.
        let inside = unsafe { program.program() };
        LoadedStop {
            stop: Stop::new(inside, &**wave_ref, pc, options, arena_ref),
            _arena: arena,
            _owner: Owner::Program {
                _wave: wave,
                _program: Arc::clone(program),
            },
        }
    }

    /// Returns the stop of a wave of a core by its position; None if the wave is in no code object that was found.
    #[must_use]
    pub fn of_core(core: &Arc<LoadedCore>, position: usize) -> Option<LoadedStop> {
        // SAFETY: the core is dropped after all that is borrowed from it here.
        let (opened, programs) = unsafe { core.borrow() };
        let (arena, wave) = (
            Pinned::new(Arena::new()),
            Pinned::new(opened.wave(position)?),
        );
        // SAFETY: the arena is dropped after the stop, which is the only one to have it.
        let arena_ref = unsafe { arena.borrow() };
        // SAFETY: as the arena.
        let wave_ref = unsafe { wave.borrow() };
        Some(LoadedStop {
            stop: programs.stop(wave_ref, arena_ref)?,
            _arena: arena,
            _owner: Owner::Core {
                _wave: wave,
                _core: Arc::clone(core),
            },
        })
    }

    /// Asks something of the stop.
    pub fn with<R>(&self, question: impl for<'s, 'p, 'a> FnOnce(&'s Stop<'p, 'a>) -> R) -> R {
        // Nothing of it can be in the answer: its lifetimes are any.
        question(&self.stop)
    }
}

impl fmt::Debug for LoadedStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedStop").finish_non_exhaustive()
    }
}
