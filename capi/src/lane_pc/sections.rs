//! Writes lane PCs as sections with relocations, for a back end that writes object files itself.

use core::ffi::c_char;

use gimli::constants::{DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_TAG_subprogram};
use gimli::write::{
    Address, AttributeValue, Dwarf, EndianVec, LineProgram, RelocateWriter, Relocation,
    RelocationTarget, Sections, Unit,
};
use gimli::{Encoding, Format, LittleEndian};
use hetdwarf::lane_pc::{Label, UnitWriter};

use super::{Done, hetdwarf_lane_pcs};
use crate::cfi::{hetdwarf_relocation, hetdwarf_section};
use crate::handle::with;
use crate::plain;
use crate::status::hetdwarf_status::HETDWARF_LIMIT;
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::text::{Texts, given};

/// A finished section, with its representation for C.
pub(super) struct Written {
    name: *const c_char,
    bytes: Vec<u8>,
    relocations: Vec<hetdwarf_relocation>,
}

/// A section that is being written.
#[derive(Clone)]
struct Section {
    bytes: EndianVec<LittleEndian>,
    relocations: Vec<Relocation>,
}

impl RelocateWriter for Section {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &Self::Writer {
        &self.bytes
    }

    fn writer_mut(&mut self) -> &mut Self::Writer {
        &mut self.bytes
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }
}

/// Makes a unit of DWARF 5 with a subprogram for each function. Relocations refer to the function's start by its index.
fn unit(name: &str, functions: &[Done]) -> Dwarf {
    let encoding = Encoding {
        format: Format::Dwarf32,
        version: 5,
        address_size: 8,
    };
    let mut dwarf = Dwarf::new();
    let id = dwarf.units.add(Unit::new(encoding, LineProgram::none()));
    let unit = dwarf.units.get_mut(id);
    let root = unit.root();
    unit.get_mut(root)
        .set(DW_AT_name, AttributeValue::String(name.into()));
    let mut writer = UnitWriter::new();
    for (symbol, function) in functions.iter().enumerate() {
        let subprogram = unit.add(root, DW_TAG_subprogram);
        let die = unit.get_mut(subprogram);
        let start = Address::Symbol { symbol, addend: 0 };
        die.set(
            DW_AT_name,
            AttributeValue::String(function.name.clone().into()),
        );
        die.set(DW_AT_low_pc, AttributeValue::Address(start));
        die.set(DW_AT_high_pc, AttributeValue::Udata(function.size));
        writer.write(&function.program, unit, subprogram, &|label| match label {
            Label::Offset(offset) => Address::Symbol {
                symbol,
                addend: offset.cast_signed(),
            },
            // All labels from C are offsets.
            Label::Symbol(_) => start,
        });
    }
    dwarf
}

impl Written {
    fn new(name: &'static str, section: &Section, functions: &[Done], texts: &Texts) -> Written {
        let mut bytes = section.bytes.slice().to_vec();
        let mut relocations = Vec::new();
        for one in &section.relocations {
            let addend = one.addend.cast_unsigned();
            // Object formats without explicit addends read them from the field.
            let value = addend.to_le_bytes();
            let field = bytes.iter_mut().skip(one.offset).take(one.size.into());
            field.zip(value).for_each(|(byte, value)| *byte = value);
            let symbol = match one.target {
                RelocationTarget::Symbol(index) => {
                    functions.get(index).map(|function| function.start.as_str())
                }
                RelocationTarget::Section(id) => Some(id.name()),
            };
            relocations.push(hetdwarf_relocation {
                offset: one.offset as u64,
                addend,
                symbol: texts.keep_if(symbol),
                size: one.size.into(),
            });
        }
        relocations.sort_unstable_by_key(|one| one.offset);
        Written {
            name: texts.keep(name),
            bytes,
            relocations,
        }
    }
}

fn sections(unit_name: &str, functions: &[Done], texts: &Texts) -> Answer<Vec<Written>> {
    let mut sections = Sections::new(Section {
        bytes: EndianVec::new(LittleEndian),
        relocations: Vec::new(),
    });
    unit(unit_name, functions)
        .write(&mut sections)
        .map_err(|error| Fault::new(HETDWARF_LIMIT, error.to_string()))?;
    let mut written = Vec::new();
    sections
        .for_each(|id, section| -> gimli::write::Result<()> {
            if !section.bytes.slice().is_empty() {
                written.push(Written::new(id.name(), section, functions, texts));
            }
            Ok(())
        })
        .map_err(|error| Fault::new(HETDWARF_LIMIT, error.to_string()))?;
    Ok(written)
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
            let written = sections(unit_name, &writer.done.borrow(), &writer.texts)?;
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
