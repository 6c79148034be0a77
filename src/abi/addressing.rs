//! The unit of the stack pointer: bytes of one lane, or of all lanes of the wave.
//!
//! Source: USAGE "Non-Kernel Functions", which gives the unit for each way to address scratch.

use crate::arch::{Processor, ScratchAddressing};
use crate::isa::{AccessKind, Effect, Instruction, MachineRegister, Operand};

/// Returns the unit of the stack pointer in this function. On processors with two ways to access scratch, the instructions determine it.
/// `None` if there are none.
pub(crate) fn addressing(
    processor: &Processor,
    instructions: &[Instruction],
) -> Option<ScratchAddressing> {
    let default = processor.scratch_addressing()?;
    if default == ScratchAddressing::Flat {
        return Some(default);
    }
    instructions.iter().find_map(|instruction| {
        let (Effect::Load(access) | Effect::Store(access)) = instruction.effect else {
            return None;
        };
        let base = access.base.registers().map(|span| span.first);
        let by_stack = matches!(base, Some(MachineRegister::Sgpr(32..=34)));
        match access.kind {
            AccessKind::Scratch => Some(ScratchAddressing::Flat),
            AccessKind::Buffer if by_stack && has_first_descriptor(access.descriptor) => {
                Some(ScratchAddressing::Buffer)
            }
            AccessKind::Buffer | AccessKind::Flat | AccessKind::Global => None,
        }
    })
}

fn has_first_descriptor(descriptor: Option<Operand>) -> bool {
    let first = descriptor
        .and_then(Operand::registers)
        .map(|span| span.first);
    first == Some(MachineRegister::Sgpr(0))
}
