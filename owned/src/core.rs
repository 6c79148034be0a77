//! A core that owns its process, its programs and their files.

use core::fmt;
use std::sync::Arc;

use hetdwarf::arch::LoadAddress;
use hetdwarf::gpu_core::{GpuCore, Image, Process};
use hetdwarf::inspect::Programs;
use hetdwarf::{Limits, Result};

use crate::pinned::{Pinned, borrow_bytes};

/// A core with the values that it borrows from.
pub struct LoadedCore {
    programs: Pinned<Programs<'static>>,
    _process: Pinned<Process<'static>>,
    _images: Pinned<Vec<Image<'static>>>,
    core: Pinned<GpuCore<'static>>,
    _files: Vec<Arc<[u8]>>,
}

impl LoadedCore {
    /// Opens a core from the merged file, or from the GPU's and the host's files in either order. `objects` are files that replace the code
    /// objects at these load addresses, or supply lost ones.
    ///
    /// # Errors
    /// See [`GpuCore::open`].
    pub fn open(files: Vec<Arc<[u8]>>, objects: &[(LoadAddress, Arc<[u8]>)]) -> Result<LoadedCore> {
        // SAFETY: `_files` owns these bytes and the bytes of `objects`, and is dropped last.
        let borrow = |bytes: &Arc<[u8]>| unsafe { borrow_bytes(bytes) };
        let bytes: Vec<&'static [u8]> = files.iter().map(borrow).collect();
        let core = Pinned::new(GpuCore::open(&bytes, &Limits::default())?);
        // SAFETY: `core` is dropped after all values that borrow from it.
        let opened = unsafe { core.borrow() };
        let given = objects
            .iter()
            .map(|(address, bytes)| (*address, borrow(bytes).into()));
        let images = Pinned::new(opened.images_with(given));
        // SAFETY: `_images` is dropped after the process.
        let process = Process::open(opened, unsafe { images.borrow() });
        let process = Pinned::new(process);
        // SAFETY: `_process` is dropped after the programs.
        let programs = Programs::new(unsafe { process.borrow() });
        let owned = objects.iter().map(|(_, bytes)| Arc::clone(bytes));
        Ok(LoadedCore {
            programs: Pinned::new(programs),
            _process: process,
            _images: images,
            core,
            _files: files.into_iter().chain(owned).collect(),
        })
    }

    /// Calls `question` with the core and its programs.
    pub fn with<R>(
        &self,
        question: impl for<'c, 'd> FnOnce(&'c GpuCore<'d>, &'c Programs<'d>) -> R,
    ) -> R {
        // SAFETY: the answer cannot borrow from the core, because `question` accepts any lifetimes.
        let (core, programs) = unsafe { self.borrow() };
        question(core, programs)
    }

    /// Returns the core and its programs with a lifetime that the caller controls.
    ///
    /// # Safety
    /// The references must not be used after this core is dropped.
    #[must_use]
    pub unsafe fn borrow(&self) -> (&'static GpuCore<'static>, &'static Programs<'static>) {
        // SAFETY: the caller keeps the contract of this function.
        let core = unsafe { self.core.borrow() };
        // SAFETY: the caller keeps the contract of this function.
        let programs = unsafe { self.programs.borrow() };
        (core, programs)
    }
}

impl fmt::Debug for LoadedCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedCore").finish_non_exhaustive()
    }
}
