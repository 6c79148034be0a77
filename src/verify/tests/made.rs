//! Makes code objects with call frame information that no producer writes.

use crate::frame::Instruction;
use crate::inspect::Program;
use crate::limits::Limits;
use crate::object::CodeObject;
use crate::object::testing::{
    ALLOC, EXECUTE, PROGBITS, STRTAB, SYMTAB, relocatable, section, symbol,
};
use crate::verify::{Finding, verify};

/// The `EF_AMDGPU_MACH` values of gfx90a, which accesses scratch with `buffer_*`, and of gfx942, which uses `scratch_*`.
pub(super) const GFX90A: u32 = 0x3f;
pub(super) const GFX942: u32 = 0x4c;
/// The value of gfx1030, which has no AGPRs.
pub(super) const GFX1030: u32 = 0x36;

/// A code object with 0x40 bytes of code at address 0.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) mach: u32,
    /// The name, first address and size of each function.
    pub(super) functions: Vec<(&'static str, u64, u64)>,
    pub(super) section: &'static str,
    pub(super) entries: Vec<u8>,
}

impl Made {
    /// Returns a code object with one function `f` that covers all of the code.
    pub(super) fn with(entries: &[Vec<u8>]) -> Made {
        Made {
            mach: GFX90A,
            functions: vec![("f", 0, 0x40)],
            section: ".debug_frame",
            entries: entries.concat(),
        }
    }

    /// Returns a code object with one function, whose entry has these instructions.
    pub(super) fn saying(instructions: &[Instruction<'_>]) -> Made {
        Made::with(&[cie(&[]), fde(0, 0, 0x40, &code(instructions))])
    }

    pub(super) fn on(self, mach: u32) -> Made {
        Made { mach, ..self }
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut names = vec![0];
        let mut symbols = symbol(0, 0, 0, 0, 0);
        for (name, start, size) in &self.functions {
            symbols.extend(symbol(names.len() as u32, 2, 1, *start, *size));
            names.extend(name.as_bytes());
            names.push(0);
        }
        let mut file = relocatable(&[
            section(".text", PROGBITS, &[0; 0x40]).flags(ALLOC | EXECUTE),
            section(".symtab", SYMTAB, &symbols).linked(3, 1),
            section(".strtab", STRTAB, &names),
            section(self.section, PROGBITS, &self.entries),
        ]);
        file[48..52].copy_from_slice(&self.mach.to_le_bytes());
        // These limits suffice for objects of a hundred bytes. A slow algorithm exceeds them even with a small object.
        let limits = Limits {
            work: 1 << 16,
            work_per_byte: 1,
            ..Limits::DEFAULT
        };
        let object = CodeObject::parse_with(&file, &limits).unwrap();
        let program = Program::load(&object).unwrap();
        verify(&program).findings
    }

    pub(super) fn rules(&self) -> Vec<&'static str> {
        self.findings()
            .iter()
            .map(|finding| finding.rule.id)
            .collect()
    }
}

/// Returns the bytes of instructions.
pub(super) fn code(instructions: &[Instruction<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for instruction in instructions {
        instruction.encode(8, &mut bytes).unwrap();
    }
    bytes
}

/// Returns an entry with this body, padded to a multiple of 8 bytes.
pub(super) fn entry(body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize((body.len() + 4).next_multiple_of(8) - 4, 0);
    let mut entry = (body.len() as u32).to_le_bytes().to_vec();
    entry.extend(body);
    entry
}

/// Returns a common information entry in LLVM's form. It has 16 bytes without instructions.
pub(super) fn cie(instructions: &[Instruction<'_>]) -> Vec<u8> {
    cie_with(&[4, 0, 8, 0, 4, 4, 16], instructions)
}

/// Returns a common information entry with these fields after the identifier: version, augmentation, sizes, factors, column.
pub(super) fn cie_with(fields: &[u8], instructions: &[Instruction<'_>]) -> Vec<u8> {
    entry(&[&[0xff; 4], fields, &code(instructions)].concat())
}

/// Returns a frame description entry.
///
/// * `cie`: the offset of its common information entry.
pub(super) fn fde(cie: u32, start: u64, size: u64, instructions: &[u8]) -> Vec<u8> {
    entry(
        &[
            &cie.to_le_bytes()[..],
            &start.to_le_bytes(),
            &size.to_le_bytes(),
            instructions,
        ]
        .concat(),
    )
}
