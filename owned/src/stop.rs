//! A stop that owns its program, its wave and its arena.

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

/// A wave that any thread can query.
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

/// A stop with the values that it borrows from. Its frames are unwound once. Only one thread at a time can query it.
pub struct LoadedStop {
    stop: Stop<'static, 'static>,
    _arena: Pinned<Arena<'static>>,
    _owner: Owner,
}

// SAFETY: the counted references and cells of a stop and its arena are reachable only from here, because `with` accepts any lifetimes and
// no answer can borrow from them. They move to another thread together. Programs, cores and waves can be shared.
unsafe impl Send for LoadedStop {}

impl LoadedStop {
    /// Creates a stop of a wave of a program.
    #[must_use]
    pub fn of_program(
        program: &Arc<LoadedProgram>,
        wave: SharedWave,
        pc: ProcessAddress,
        options: StopOptions,
    ) -> LoadedStop {
        let (arena, wave) = (Pinned::new(Arena::new()), Pinned::new(wave));
        // SAFETY: the stop is the only user of the arena, and is dropped before it.
        let arena_ref = unsafe { arena.borrow() };
        // SAFETY: the stop is dropped before the wave.
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

    /// Creates a stop of a core's wave by its position. Returns None if the wave is in no code object that was found.
    #[must_use]
    pub fn of_core(core: &Arc<LoadedCore>, position: usize) -> Option<LoadedStop> {
        // SAFETY: the core is dropped after everything that borrows from it here.
        let (opened, programs) = unsafe { core.borrow() };
        let (arena, wave) = (
            Pinned::new(Arena::new()),
            Pinned::new(opened.wave(position)?),
        );
        // SAFETY: the stop is the only user of the arena, and is dropped before it.
        let arena_ref = unsafe { arena.borrow() };
        // SAFETY: the stop is dropped before the wave.
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

    /// Calls `question` with the stop.
    pub fn with<R>(&self, question: impl for<'s, 'p, 'a> FnOnce(&'s Stop<'p, 'a>) -> R) -> R {
        // The answer cannot borrow from the stop, because `question` accepts any lifetimes.
        question(&self.stop)
    }
}

impl fmt::Debug for LoadedStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedStop").finish_non_exhaustive()
    }
}
