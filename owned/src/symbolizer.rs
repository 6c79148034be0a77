//! A symbolizer that owns its programs.

use core::fmt;
use std::sync::Arc;

use hetdwarf::arch::LoadAddress;
use hetdwarf::inspect::Symbolizer;

use crate::core::LoadedCore;
use crate::program::LoadedProgram;

/// The owner of a symbolizer's programs.
enum Owner {
    Programs { _programs: Vec<Arc<LoadedProgram>> },
    Core { _core: Arc<LoadedCore> },
}

/// A symbolizer with the programs that it borrows from. Several threads can query it at once.
pub struct LoadedSymbolizer {
    symbolizer: Symbolizer<'static, 'static>,
    _owner: Owner,
}

impl LoadedSymbolizer {
    /// Returns a symbolizer of programs, each at its load address. They are numbered from 0.
    #[must_use]
    pub fn of_programs(programs: Vec<(Arc<LoadedProgram>, LoadAddress)>) -> LoadedSymbolizer {
        let inside = programs.iter().map(|(program, load_address)| {
            // SAFETY: the owner keeps the program until the symbolizer is dropped.
            (unsafe { program.program() }, *load_address)
        });
        LoadedSymbolizer {
            symbolizer: Symbolizer::new(inside),
            _owner: Owner::Programs {
                _programs: programs.into_iter().map(|(program, _)| program).collect(),
            },
        }
    }

    /// Returns a symbolizer of the code objects of a core, with the numbers that they have there.
    #[must_use]
    pub fn of_core(core: &Arc<LoadedCore>) -> LoadedSymbolizer {
        // SAFETY: the owner keeps the core until the symbolizer is dropped.
        let (_, programs) = unsafe { core.borrow() };
        LoadedSymbolizer {
            symbolizer: Symbolizer::of_process(programs),
            _owner: Owner::Core {
                _core: Arc::clone(core),
            },
        }
    }

    /// Calls `question` with the symbolizer.
    pub fn with<R>(&self, question: impl for<'s, 'p, 'a> FnOnce(&'s Symbolizer<'p, 'a>) -> R) -> R {
        // The answer cannot borrow from the symbolizer, because `question` accepts any lifetimes.
        question(&self.symbolizer)
    }
}

impl fmt::Debug for LoadedSymbolizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedSymbolizer").finish_non_exhaustive()
    }
}
