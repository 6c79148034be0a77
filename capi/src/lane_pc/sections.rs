//! Writes lane PCs as sections with relocations, for a back end that writes object files itself.

use core::ffi::c_char;

use hetdwarf::lane_pc::{Section, SectionFunction, sections};

use super::hetdwarf_lane_pcs;
use crate::cfi::{hetdwarf_relocation, hetdwarf_section};
use crate::handle::with;
use crate::plain;
use crate::status::hetdwarf_status::HETDWARF_LIMIT;
use crate::status::{Fault, guard, hetdwarf_status};
use crate::text::{Texts, given};

/// A finished section, with its representation for C.
pub(super) struct Written {
    name: *const c_char,
    bytes: Vec<u8>,
    relocations: Vec<hetdwarf_relocation>,
}

impl Written {
    fn new(section: Section, texts: &Texts) -> Written {
        let relocations = section.relocations.iter().map(|one| hetdwarf_relocation {
            offset: one.offset,
            addend: one.addend,
            symbol: texts.keep(&one.symbol),
            size: one.size.into(),
        });
        Written {
            name: texts.keep(section.name),
            relocations: relocations.collect(),
            bytes: section.bytes,
        }
    }
}

/// Writes a DWARF 5 unit with the lane PCs of all ended functions, as sections.
///
/// * `unit_name`: the name of the unit.
/// * `section_count`: gets the number of sections: `.debug_info`, `.debug_abbrev` and, if lists are needed, `.debug_loclists`.
///
/// Errors: `HETDWARF_LIMIT` if the sections are too large.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_write(
    lane_pcs: *mut hetdwarf_lane_pcs,
    unit_name: *const c_char,
    section_count: *mut usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            let unit_name = given(unit_name, "unit_name")?;
            let done = writer.done.borrow();
            let functions = done.iter().map(|done| SectionFunction {
                name: &done.name,
                start: &done.start,
                size: done.size,
                program: &done.program,
            });
            let written = sections(unit_name, &functions.collect::<Vec<_>>())
                .map_err(|error| Fault::new(HETDWARF_LIMIT, error.to_string()))?;
            let written = written.into_iter();
            let written: Vec<Written> = written
                .map(|section| Written::new(section, &writer.texts))
                .collect();
            plain::put(section_count, written.len(), "section_count")?;
            *writer.written.borrow_mut() = written;
            Ok(())
        })
    })
}

/// Returns a section of the last `hetdwarf_lane_pcs_write`.
///
/// * `index`: below `section_count`.
/// * `name`: gets the section's name, which belongs to the writer.
/// * `section`: gets the answer; the caller sets its `size`. The symbol of a relocation is the start of a function, or the name of a
///   section, which begins with a dot.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_lane_pcs_section(
    lane_pcs: *mut hetdwarf_lane_pcs,
    index: usize,
    name: *mut *const c_char,
    section: *mut hetdwarf_section,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(lane_pcs.cast_const(), |writer, _| {
            plain::size_at(section)?;
            let written = writer.written.borrow();
            let found = written.get(index);
            let found =
                found.ok_or_else(|| Fault::not_found(format!("there is no section {index}")))?;
            plain::put(name, found.name, "name")?;
            let value = hetdwarf_section {
                size: 0,
                bytes: found.bytes.as_ptr(),
                length: found.bytes.len(),
                relocations: found.relocations.as_ptr(),
                relocation_count: found.relocations.len(),
                reserved: [0; 4],
            };
            plain::write(section, &value)
        })
    })
}
