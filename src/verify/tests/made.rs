//! Making code objects with call frame information that no writer would write.

use crate::frame::Instruction;
use crate::inspect::Program;
use crate::limits::Limits;
use crate::object::CodeObject;
use crate::object::testing::{
    ALLOC, EXECUTE, PROGBITS, STRTAB, SYMTAB, relocatable, section, symbol,
};
use crate::verify::{Finding, verify};

/// `EF_AMDGPU_MACH` of gfx90a, whose scratch is reached by `buffer_*`, and of gfx942, by `scratch_*`.
pub(super) const GFX90A: u32 = 0x3f;
pub(super) const GFX942: u32 = 0x4c;
/// Of gfx1030: no AGPRs.
pub(super) const GFX1030: u32 = 0x36;

/// A code object with 0x40 bytes of code at address 0.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) mach: u32,
    /// Name, first address and size.
    pub(super) functions: Vec<(&'static str, u64, u64)>,
    pub(super) section: &'static str,
    pub(super) entries: Vec<u8>,
}

impl Made {
    /// Returns one function `f` that is all of the code.
    pub(super) fn with(entries: &[Vec<u8>]) -> Made {
        Made {
            mach: GFX90A,
            functions: vec![("f", 0, 0x40)],
            section: ".debug_frame",
            entries: entries.concat(),
        }
    }

    /// Returns one function, whose entry has these instructions.
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
        // Objects of a hundred bytes need no more, and one that needs more need not be large.
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

/// Returns an entry around its body, padded to a multiple of 8 bytes.
pub(super) fn entry(body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize((body.len() + 4).next_multiple_of(8) - 4, 0);
    let mut entry = (body.len() as u32).to_le_bytes().to_vec();
    entry.extend(body);
    entry
}

/// Returns a common information entry as LLVM writes it; 16 bytes without instructions.
pub(super) fn cie(instructions: &[Instruction<'_>]) -> Vec<u8> {
    cie_with(&[4, 0, 8, 0, 4, 4, 16], instructions)
}

/// Returns one with these fields after the identifier: version, augmentation, sizes, factors, column.
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
