//! Programs and cores, loaded once for each thread that asks about them.
//!
//! What the library reads of a file borrows from its bytes and belongs to one thread. Python's objects own the bytes and have a number;
//! each thread keeps what it loaded last under that number.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hetdwarf::Limits;
use hetdwarf::gpu_core::{GpuCore, Image, Process};
use hetdwarf::inspect::{Program, Programs};
use hetdwarf::object::CodeObject;

use crate::error::Failure;

/// How many programs, and how many cores, a thread keeps.
const KEPT: usize = 16;

/// A number that no other object has.
pub fn new_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A value in a place of its own, which does not move, and which others may borrow until it is dropped.
struct Pinned<T>(NonNull<T>, PhantomData<T>);

impl<T> Pinned<T> {
    fn new(value: T) -> Pinned<T> {
        Pinned(NonNull::from(Box::leak(Box::new(value))), PhantomData)
    }

    /// # Safety
    /// What is borrowed must not be used after this is dropped.
    unsafe fn borrow(&self) -> &'static T {
        // SAFETY: the value is in a box that only `drop` frees, and is never borrowed mutably.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // SAFETY: it was made by `Box::leak` in `new`, and is dropped once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The bytes of a file for as long as the owner has them.
///
/// # Safety
/// What is borrowed must not be used after the last owner of `bytes` is dropped.
unsafe fn borrow_bytes(bytes: &Arc<[u8]>) -> &'static [u8] {
    // SAFETY: an `Arc` never moves or changes what it owns while it is shared; the caller keeps it.
    unsafe { &*Arc::as_ptr(bytes) }
}

/// A program with what it borrows from. Fields are dropped in their order, so that each goes before what it borrows.
struct LoadedProgram {
    program: Program<'static>,
    _object: Pinned<CodeObject<'static>>,
    _bytes: Arc<[u8]>,
}

impl LoadedProgram {
    fn load(bytes: &Arc<[u8]>) -> Result<LoadedProgram, Failure> {
        // SAFETY: `_bytes` owns them until the object and the program are dropped.
        let data = unsafe { borrow_bytes(bytes) };
        let object = Pinned::new(CodeObject::parse(data)?);
        // SAFETY: `_object` is dropped after the program.
        let program = Program::load(unsafe { object.borrow() })?;
        Ok(LoadedProgram {
            program,
            _object: object,
            _bytes: Arc::clone(bytes),
        })
    }
}

/// A core with its programs, in the same way.
struct LoadedCore {
    programs: Programs<'static>,
    _process: Pinned<Process<'static>>,
    _images: Pinned<Vec<Image<'static>>>,
    core: Pinned<GpuCore<'static>>,
    _files: Vec<Arc<[u8]>>,
}

impl LoadedCore {
    fn open(source: &CoreSource) -> Result<LoadedCore, Failure> {
        // SAFETY: `_files` owns them, and those of objects, until all else is dropped.
        let files: Vec<&'static [u8]> = source
            .files
            .iter()
            .map(|file| unsafe { borrow_bytes(file) })
            .collect();
        let core = Pinned::new(GpuCore::open(&files, &Limits::default())?);
        // SAFETY: `core` is dropped after what borrows from it.
        let opened = unsafe { core.borrow() };
        let mut images = opened.images();
        for (address, bytes) in &source.objects {
            // SAFETY: as for the files.
            let data = unsafe { borrow_bytes(bytes) };
            let loaded = opened.code_objects().iter().zip(&mut images);
            let mut chosen = loaded.filter(|(object, _)| object.load_address == *address);
            match chosen.next() {
                Some((_, image)) => image.1 = Some(data.into()),
                None => images.push((*address, Some(data.into()))),
            }
        }
        let images = Pinned::new(images);
        // SAFETY: `_images` is dropped after the process, and that after the programs.
        let process = Pinned::new(Process::open(opened, unsafe { images.borrow() }));
        // SAFETY: as above.
        let programs = Programs::new(unsafe { process.borrow() });
        let owned = source.objects.iter().map(|(_, bytes)| bytes);
        Ok(LoadedCore {
            programs,
            _process: process,
            _images: images,
            core,
            _files: source.files.iter().chain(owned).map(Arc::clone).collect(),
        })
    }
}

/// The files of a core, and code objects that the user gave, each with its load address.
#[derive(Debug)]
pub struct CoreSource {
    pub number: u64,
    pub files: Vec<Arc<[u8]>>,
    pub objects: Vec<(u64, Arc<[u8]>)>,
}

thread_local! {
    static PROGRAMS: RefCell<Vec<(u64, Rc<LoadedProgram>)>> = const { RefCell::new(Vec::new()) };
    static CORES: RefCell<Vec<(u64, Rc<LoadedCore>)>> = const { RefCell::new(Vec::new()) };
}

/// What is kept under a number, or else made; the one that was asked for last is at the end.
fn kept<T>(
    all: &RefCell<Vec<(u64, Rc<T>)>>,
    number: u64,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<Rc<T>, Failure> {
    let position = all.borrow().iter().position(|(known, _)| *known == number);
    if let Some(position) = position {
        let mut all = all.borrow_mut();
        let entry = all.remove(position);
        let found = Rc::clone(&entry.1);
        all.push(entry);
        return Ok(found);
    }
    let new = Rc::new(make()?);
    let mut all = all.borrow_mut();
    if all.len() >= KEPT {
        all.remove(0);
    }
    all.push((number, Rc::clone(&new)));
    Ok(new)
}

/// Calls `then` with the program of a code object's bytes.
pub fn with_program<R>(
    number: u64,
    bytes: &Arc<[u8]>,
    then: impl for<'p, 'a> FnOnce(&'p Program<'a>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let loaded = PROGRAMS.with(|all| kept(all, number, || LoadedProgram::load(bytes)))?;
    then(&loaded.program)
}

/// Calls `then` with a core and its programs.
pub fn with_core<R>(
    source: &CoreSource,
    then: impl for<'c, 'a> FnOnce(&'c GpuCore<'a>, &'c Programs<'a>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let loaded = CORES.with(|all| kept(all, source.number, || LoadedCore::open(source)))?;
    // SAFETY: `loaded` keeps the core until `then` has returned, and nothing of it can be in the result: its lifetimes are any.
    let core = unsafe { loaded.core.borrow() };
    then(core, &loaded.programs)
}
