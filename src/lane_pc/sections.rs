//! Writes lane program locations as sections with relocations, for a back end that writes object files itself.

use gimli::constants::{DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_TAG_subprogram};
use gimli::write::{
    Address, AttributeValue, Dwarf, EndianVec, LineProgram, RelocateWriter, Relocation,
    RelocationTarget, Sections, Unit,
};
use gimli::{Encoding, Format, LittleEndian};

use super::gimli_unit::UnitWriter;
use super::program::Program;
use super::region::Label;
use crate::error::{Error, Result};

/// A function in a unit of sections.
///
/// It is exhaustive on purpose: back ends write it as a literal.
#[derive(Clone, Debug)]
pub struct SectionFunction<'p> {
    /// Its name in the source.
    pub name: &'p str,
    /// The symbol at its first instruction.
    pub start: &'p str,
    /// The size of its code, in bytes.
    pub size: u64,
    /// The description of its lanes. Its labels are offsets from the first instruction.
    pub program: &'p Program,
}

/// A section.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name: `.debug_info`, for example.
    pub name: &'static str,
    /// The contents. Fields with a relocation hold its addend.
    pub bytes: Vec<u8>,
    /// The fields that need an address, by ascending offset.
    pub relocations: Vec<SectionRelocation>,
}

/// A field of a section that takes an address: `S + A`, absolute (`R_AMDGPU_ABS64` where `size` is 8, `R_AMDGPU_ABS32` where it is 4).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionRelocation {
    /// The offset of the field in the section, in bytes.
    pub offset: u64,
    /// The start of a function, or the name of a section, which begins with a dot.
    pub symbol: String,
    /// The addend.
    pub addend: u64,
    /// The size of the field, in bytes.
    pub size: u8,
}

/// A section that is being written. Relocations refer to the start of a function by its index.
#[derive(Clone)]
struct Writing {
    bytes: EndianVec<LittleEndian>,
    relocations: Vec<Relocation>,
}

impl RelocateWriter for Writing {
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

/// Returns a DWARF 5 unit with the lane program locations of some functions, as sections: `.debug_info`, `.debug_abbrev` and, where lists are
/// needed, `.debug_loclists`.
///
/// ```
/// use hetdwarf::arch::WaveSize;
/// use hetdwarf::lane_pc::{Function, Label, MaskPlace, Program, Region, SectionFunction, sections};
///
/// let range = |from: u64, to: u64| Label::from(from)..Label::from(to);
/// let choice = Region::if_then(0.into(), range(4, 12), MaskPlace::Scalar(4), vec![]);
/// let program = Program::new(&Function {
///     code: range(0, 16),
///     wave_size: WaveSize::Wave32,
///     regions: vec![choice],
///     whole_wave: vec![],
/// })?;
/// let function = SectionFunction { name: "f", start: "f", size: 16, program: &program };
/// let written = sections("f.c", &[function])?;
/// let names: Vec<&str> = written.iter().map(|section| section.name).collect();
/// assert_eq!(names, [".debug_abbrev", ".debug_loclists", ".debug_info"]);
/// # Ok::<(), hetdwarf::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Malformed`](crate::error::ErrorKind::Malformed) if the sections are too large for 32-bit DWARF.
pub fn sections(unit_name: &str, functions: &[SectionFunction<'_>]) -> Result<Vec<Section>> {
    let too_large = |error: gimli::write::Error| Error::malformed("sections", error.to_string());
    let mut sections = Sections::new(Writing {
        bytes: EndianVec::new(LittleEndian),
        relocations: Vec::new(),
    });
    let mut dwarf = unit(unit_name, functions);
    dwarf.write(&mut sections).map_err(too_large)?;
    let mut written = Vec::new();
    let collected = sections.for_each(|id, section| -> gimli::write::Result<()> {
        if !section.bytes.slice().is_empty() {
            written.push(Section::new(id.name(), section, functions));
        }
        Ok(())
    });
    collected.map_err(too_large)?;
    Ok(written)
}

/// Makes a unit with a subprogram for each function.
fn unit(name: &str, functions: &[SectionFunction<'_>]) -> Dwarf {
    let encoding = Encoding {
        format: Format::Dwarf32,
        version: 5,
        address_size: 8,
    };
    let text = |text: &str| AttributeValue::String(text.into());
    let mut dwarf = Dwarf::new();
    let id = dwarf.units.add(Unit::new(encoding, LineProgram::none()));
    let unit = dwarf.units.get_mut(id);
    let root = unit.root();
    unit.get_mut(root).set(DW_AT_name, text(name));
    let mut writer = UnitWriter::new();
    for (symbol, function) in functions.iter().enumerate() {
        let subprogram = unit.add(root, DW_TAG_subprogram);
        let die = unit.get_mut(subprogram);
        let start = Address::Symbol { symbol, addend: 0 };
        die.set(DW_AT_name, text(function.name));
        die.set(DW_AT_low_pc, AttributeValue::Address(start));
        die.set(DW_AT_high_pc, AttributeValue::Udata(function.size));
        writer.write(function.program, unit, subprogram, &|label| match label {
            Label::Offset(offset) => Address::Symbol {
                symbol,
                addend: offset.cast_signed(),
            },
            // All labels are offsets.
            Label::Symbol(_) => start,
        });
    }
    dwarf
}

impl Section {
    fn new(name: &'static str, section: &Writing, functions: &[SectionFunction<'_>]) -> Section {
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
                    functions.get(index).map_or("", |function| function.start)
                }
                RelocationTarget::Section(id) => id.name(),
            };
            relocations.push(SectionRelocation {
                offset: one.offset as u64,
                symbol: symbol.to_owned(),
                addend,
                size: one.size,
            });
        }
        relocations.sort_unstable_by_key(|one| one.offset);
        Section {
            name,
            bytes,
            relocations,
        }
    }
}
