//! Symbolizes addresses of a process: functions, inlined calls and lines, for many addresses in one call.

use core::ffi::c_char;
use std::sync::Arc;

use hetdwarf::arch::LoadAddress;
use hetdwarf::inspect::{FrameDescription, FrameKind, Symbolizer};

use crate::core::hetdwarf_core;
use crate::handle::with;
use crate::object::hetdwarf_object;
use crate::plain::{self, sized};
use crate::status::hetdwarf_status::HETDWARF_TOO_SMALL;
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::stop::{HETDWARF_FRAME_CALL, HETDWARF_FRAME_INLINED, HETDWARF_FRAME_SYMBOL};
use crate::text::Texts;

/// A function or inlined call at an address. Strings belong to the queried handle, and are NULL if absent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_source_frame {
    /// `sizeof(hetdwarf_source_frame)`, set by the caller, equal in all entries of an array.
    pub size: usize,
    /// The function, or the symbol.
    pub function: *const c_char,
    /// The function's name as the linker sees it.
    pub linkage_name: *const c_char,
    /// The source file, without directories.
    pub file: *const c_char,
    /// The file's path in the line table.
    pub path: *const c_char,
    /// The line, from 1; 0 if unknown. If the frame contains an inlined call, the line of that call.
    pub line: u64,
    /// The column, from 1; 0 for the line as a whole.
    pub column: u64,
    /// The kind of the frame: `HETDWARF_FRAME_…`.
    pub kind: u32,
    /// 1 if the address has line 0, so that `line` is from the nearest row before it, else 0.
    pub is_approximate: u32,
    /// The distance of the address from the start of the symbol, in bytes.
    pub symbol_offset: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_source_frame }

/// The output arrays of the caller.
struct Arrays {
    first: *mut usize,
    frames: *mut hetdwarf_source_frame,
    capacity: usize,
    frame_count: *mut usize,
}

fn describe(frame: &FrameDescription, texts: &Texts) -> hetdwarf_source_frame {
    let file = frame.file.as_ref();
    hetdwarf_source_frame {
        size: 0,
        function: texts.keep_if(frame.function.as_deref()),
        linkage_name: texts.keep_if(frame.linkage_name.as_deref()),
        file: texts.keep_if(file.map(|file| file.name())),
        path: texts.keep_if(file.map(|file| &*file.path)),
        line: frame.line.unwrap_or(0),
        column: frame.column.unwrap_or(0),
        kind: match frame.kind {
            FrameKind::Inlined => HETDWARF_FRAME_INLINED,
            FrameKind::Symbol => HETDWARF_FRAME_SYMBOL,
            _ => HETDWARF_FRAME_CALL,
        },
        is_approximate: frame.is_approximate.into(),
        symbol_offset: frame.symbol_offset.unwrap_or(0),
        reserved: [0; 4],
    }
}

/// Looks addresses up and fills the arrays.
///
/// # Safety
/// `addresses` has `count` entries, and the arrays meet the requirements of [`hetdwarf_symbolize`].
unsafe fn fill(
    symbolizer: &Symbolizer<'_, '_>,
    texts: &Texts,
    addresses: *const u64,
    count: usize,
    arrays: &Arrays,
) -> Answer<()> {
    let Arrays {
        first,
        frames,
        capacity,
        frame_count,
    } = *arrays;
    if count > 0 && (addresses.is_null() || first.is_null()) {
        return Err(Fault::argument("addresses or first is NULL"));
    }
    if frames.is_null() && capacity > 0 {
        return Err(Fault::argument("frames is NULL"));
    }
    // SAFETY: the caller keeps the contract of this function.
    let asked: Vec<u64> = (0..count)
        .map(|at| unsafe { addresses.add(at).read_unaligned() })
        .collect();
    let mut problem = None;
    let answers = symbolizer.symbolize_all(&asked, |found| {
        if let Some(error) = &found.problem {
            problem.get_or_insert_with(|| error.clone());
        }
        let frames = found.frames.iter();
        frames
            .map(|frame| describe(frame, texts))
            .collect::<Arc<[_]>>()
    });
    let mut sum = 0_usize;
    let mut place = frames;
    for (at, answer) in answers.iter().enumerate() {
        // SAFETY: the caller keeps the contract of this function.
        unsafe { first.add(at).write_unaligned(sum) };
        for frame in answer.iter() {
            if sum < capacity {
                // SAFETY: the array has room for the entry, which begins with its size.
                unsafe {
                    let size = plain::size_at(place)?;
                    plain::write(place, frame)?;
                    place = place.byte_add(size);
                }
            }
            sum += 1;
        }
    }
    if !first.is_null() {
        // SAFETY: the caller keeps the contract of this function.
        unsafe { first.add(count).write_unaligned(sum) };
    }
    if !frame_count.is_null() {
        // SAFETY: the caller keeps the contract of this function.
        unsafe { plain::put(frame_count, sum, "frame_count") }?;
    }
    let is_count_alone = frames.is_null() && !frame_count.is_null();
    if sum > capacity && !is_count_alone {
        let message = format!("{sum} entries are needed");
        return Err(Fault::new(HETDWARF_TOO_SMALL, message));
    }
    match problem {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Returns the functions, inlined calls and lines of many addresses. Each address is looked up once, in ascending order, regardless of the
/// order and repetitions in the array.
///
/// * `load_address`: the difference of the process's addresses from the object's; 0 if the addresses are the object's.
/// * `addresses`, `count`: addresses of the process.
/// * `first`: an array of `count + 1` entries. The frames of address `i` are `frames[first[i]]` up to, not including, `frames[first[i +
///   1]]`, the innermost first. An unknown address has no frames.
/// * `frames`, `capacity`: get the frames, at most `capacity`. The caller sets the `size` of each entry. NULL and 0 to get only the count.
/// * `frame_count`: gets the number of frames; may be NULL.
///
/// Errors: `HETDWARF_TOO_SMALL` if there are more frames than `capacity`; `HETDWARF_MALFORMED` and `HETDWARF_LIMIT` if the frames of an
/// address cannot be read. Such an address has only the frame of its symbol, and all other addresses are still answered.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_symbolize(
    object: *const hetdwarf_object,
    load_address: u64,
    addresses: *const u64,
    count: usize,
    first: *mut usize,
    frames: *mut hetdwarf_source_frame,
    capacity: usize,
    frame_count: *mut usize,
) -> hetdwarf_status {
    let arrays = Arrays {
        first,
        frames,
        capacity,
        frame_count,
    };
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            // SAFETY: the program is used only here, while the object is alive.
            let program = object.loaded.program();
            let symbolizer = Symbolizer::new([(program, LoadAddress(load_address))]);
            fill(&symbolizer, &object.texts, addresses, count, &arrays)
        })
    })
}

/// Returns the functions, inlined calls and lines of many addresses of a core's process, from the code objects of the core.
///
/// See `hetdwarf_symbolize` for the arguments and errors.
///
/// # Safety
/// Each pointer is NULL or meets the requirements of `hetdwarf_symbolize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_core_symbolize(
    core: *const hetdwarf_core,
    addresses: *const u64,
    count: usize,
    first: *mut usize,
    frames: *mut hetdwarf_source_frame,
    capacity: usize,
    frame_count: *mut usize,
) -> hetdwarf_status {
    let arrays = Arrays {
        first,
        frames,
        capacity,
        frame_count,
    };
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(core, |core, _| {
            // SAFETY: the programs are used only here, while the core is alive.
            let (_, programs) = core.loaded.borrow();
            let symbolizer = Symbolizer::of_process(programs);
            fill(&symbolizer, &core.texts, addresses, count, &arrays)
        })
    })
}
