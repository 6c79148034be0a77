//! Lays out CIEs and FDEs as a section, and lists the fields that need an address. Source: HET A.6.4.1.

use std::collections::BTreeSet;

use super::common::ADDRESS_SIZE;
use super::function::{FunctionFrame, Start};
use crate::error::{Error, Result};

/// The functions of a `.debug_frame` section.
#[derive(Clone, Debug, Default)]
pub struct FrameTable {
    functions: Vec<FunctionFrame>,
}

/// A `.debug_frame` section.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameBytes {
    /// The contents. Fields with a relocation point hold its addend.
    pub bytes: Vec<u8>,
    /// The fields that need an address, by ascending offset.
    pub relocations: Vec<RelocationPoint>,
    /// The offsets of the FDEs, in the order of the functions.
    pub fdes: Vec<u64>,
}

/// A field of the section that takes an address: `S + A`, absolute (`R_AMDGPU_ABS64` where `size` is 8,
/// `R_AMDGPU_ABS32` where it is 4).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelocationPoint {
    /// The offset of the field in the section, in bytes.
    pub offset: u64,
    /// The target of the address.
    pub target: RelocationTarget,
    /// The addend.
    pub addend: u64,
    /// The size of the field, in bytes.
    pub size: u8,
}

/// The target of a relocation point.
///
/// Intentionally exhaustive: a writer of the section has to handle each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelocationTarget {
    /// A symbol.
    Symbol(String),
    /// The start of this `.debug_frame` in the linker's combined section. The offset of a CIE is relative to it.
    ThisSection,
}

impl FrameTable {
    /// Creates a table without functions.
    #[must_use]
    pub fn new() -> FrameTable {
        FrameTable::default()
    }

    /// Adds a function.
    pub fn add(&mut self, function: FunctionFrame) -> &mut FrameTable {
        self.functions.push(function);
        self
    }

    /// Returns the functions, in the order in which they were added.
    #[must_use]
    pub fn functions(&self) -> &[FunctionFrame] {
        &self.functions
    }

    /// Returns the section: each CIE before the first FDE that needs it, the FDEs in the order of the functions.
    ///
    /// A function that starts at an address is final, and has no relocation points.
    ///
    /// # Errors
    /// If the section is too large for 32-bit DWARF, or two functions start at the same place.
    pub fn write(&self) -> Result<FrameBytes> {
        let mut section = FrameBytes::default();
        let mut starts = BTreeSet::new();
        // There are few, so a linear search suffices.
        let mut cies: Vec<(Vec<u8>, u64)> = Vec::new();
        for function in &self.functions {
            if !starts.insert(&function.start) {
                return Err(Error::malformed(
                    "table",
                    format!("two functions start at {}", function.start),
                ));
            }
            let cie = function.common.write()?;
            let known = cies.iter().find(|(bytes, _)| *bytes == cie);
            let cie_offset = match known {
                Some((_, offset)) => *offset,
                None => {
                    let offset = section.bytes.len() as u64;
                    section.bytes.extend(&cie);
                    cies.push((cie, offset));
                    offset
                }
            };
            section.fde(function, cie_offset)?;
        }
        Ok(section)
    }
}

impl FrameBytes {
    fn fde(&mut self, function: &FunctionFrame, cie_offset: u64) -> Result<()> {
        let format = function.common.format();
        let offset = self.bytes.len() as u64;
        let mut body = Vec::new();
        format.write_offset(cie_offset, &mut body)?;
        let cie_pointer = offset.saturating_add(format.length_size().into());
        let initial_location = cie_pointer.saturating_add(format.offset_size().into());
        let first = match &function.start {
            Start::Address(address) => *address,
            Start::Symbol { name, addend } => {
                self.relocations.push(RelocationPoint {
                    offset: cie_pointer,
                    target: RelocationTarget::ThisSection,
                    addend: cie_offset,
                    size: format.offset_size(),
                });
                self.relocations.push(RelocationPoint {
                    offset: initial_location,
                    target: RelocationTarget::Symbol(name.clone()),
                    addend: *addend,
                    size: ADDRESS_SIZE,
                });
                *addend
            }
        };
        body.extend(first.to_le_bytes());
        body.extend(function.size.to_le_bytes());
        body.extend(&function.instructions);
        self.bytes.extend(format.entry(body)?);
        self.fdes.push(offset);
        Ok(())
    }

    /// Returns the contents with all addresses filled in, like a linker or a compiler that loads its own code.
    ///
    /// * `address_of`: returns the address of a symbol, or `None` if there is none. The section itself is at 0, like all debug sections.
    ///
    /// # Errors
    /// If a symbol is not known.
    pub fn resolved(&self, mut address_of: impl FnMut(&str) -> Option<u64>) -> Result<Vec<u8>> {
        let mut bytes = self.bytes.clone();
        for point in &self.relocations {
            let base = match &point.target {
                RelocationTarget::ThisSection => 0,
                RelocationTarget::Symbol(name) => address_of(name).ok_or_else(|| {
                    Error::malformed("symbol", format!("{name:?} has no address"))
                        .within(".debug_frame", point.offset)
                })?,
            };
            let value = base.wrapping_add(point.addend).to_le_bytes();
            let size = usize::from(point.size);
            let field = usize::try_from(point.offset)
                .ok()
                .and_then(|start| bytes.get_mut(start..)?.get_mut(..size));
            if let (Some(field), Some(value)) = (field, value.get(..size)) {
                field.copy_from_slice(value);
            }
        }
        Ok(bytes)
    }
}
