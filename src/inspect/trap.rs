//! Finds the position of a wave that stopped at a trap.
//!
//! The hardware may leave the program counter after the `s_trap`, which can be the last instruction of its function or line. Such a wave is treated
//! as being at the trap: its frame, line and variables are the trap's. Source: AMD's ROCdbgapi, which moves the program counter back in the same way;
//! USAGE "Trap Handler ABI".

use super::program::Program;
use crate::arch::{CodeAddress, LoadAddress, ProcessAddress};
use crate::isa::Decoder;
use crate::wave::{Memory, Wave};

/// The size of `s_trap`, in bytes.
const SIZE: usize = 4;

/// Returns the address of the trap at which the wave stopped, or else `pc`. Both are addresses of the process.
///
/// A wave with an unknown stop reason counts as stopped at a trap if there is one before `pc`. A debugger's breakpoint is not in the file, so the
/// wave's memory is read too if it is known to have stopped at a trap.
pub(super) fn stopped_at(
    program: &Program<'_>,
    wave: &dyn Wave,
    pc: ProcessAddress,
    load_address: LoadAddress,
) -> ProcessAddress {
    let reasons = wave.stop_reasons();
    let may_be_trap = |reasons: crate::wave::StopReasons| reasons.iter().any(|one| one.is_trap());
    let Some(before) = pc.0.checked_sub(SIZE as u64) else {
        return pc;
    };
    if !reasons.is_none_or(may_be_trap) {
        return pc;
    }
    let Some(decoder) = Decoder::new(program.processor(), Some(wave.wave_size())) else {
        return pc;
    };
    let is_trap = |code: &[u8]| {
        let instruction = decoder.decode(code, before).ok();
        let name = instruction.and_then(|instruction| instruction.mnemonic);
        name.is_some_and(|name| name == "s_trap")
    };
    let CodeAddress(address) = load_address.to_code(ProcessAddress(before));
    let in_file = || program.object().read_image(address, SIZE);
    let in_memory = || {
        let mut code = [0; SIZE];
        let read = wave.read_memory(Memory::Global, before, &mut code);
        read.is_ok_and(|()| is_trap(&code))
    };
    if in_file().is_some_and(is_trap) || (reasons.is_some() && in_memory()) {
        return ProcessAddress(before);
    }
    pc
}
