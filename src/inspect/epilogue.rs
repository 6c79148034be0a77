//! Finds epilogues: code that has restored the caller's frame pointer.
//!
//! `DW_AT_frame_base` is one expression for the whole function. LLVM's uses the frame pointer (`s33`), which the last instructions before a return
//! have already restored, so that it is the caller's. The stack pointer has been restored by then too, so it has the value from which the frame
//! pointer was set.
//!
//! Sources: DWARF 5 §3.3.5; USAGE "Non-Kernel Functions" (`s32`, `s33` and the return address in `s[30:31]`).

use core::ops::Range;

use fallible_iterator::FallibleIterator;

use super::program::Program;
use crate::abi::Convention;
use crate::arch::{RegisterClass, WaveSize};
use crate::debug_info::Function;
use crate::error::Error;
use crate::eval::{ExpressionBytes, LocationAttribute, Unit, single_register};
use crate::expr::Encoding;
use crate::isa::{Decoder, Effect, Instruction, MachineRegister, Operand, ScalarOp, Span};

/// The maximum number of instructions examined from a stop to the return. LLVM restores the frame pointer shortly before it.
const MOST_LEFT: usize = 8;
/// The maximum number of instructions examined from the start of a function to the one that sets its frame pointer.
const MOST: usize = 64;
/// The size of the longest instruction in bytes.
const LONGEST: u64 = 20;

const CONVENTION: Convention = Convention::Llvm;
/// `DW_OP_regx SGPR32`: the stack pointer of [`CONVENTION`].
const STACK_POINTER: ExpressionBytes<'static> =
    ExpressionBytes::alone(&[0x90, 0x40], Unit::unknown(Encoding::AMDGPU));

/// Returns the function with the frame base that is valid at an address, if the epilogue has restored the frame pointer there. It is the stack
/// pointer, or none if that is not proven to have the same value. Returns `None` if the original frame base is valid.
pub(super) fn in_epilogue<'a>(
    program: &Program<'a>,
    function: &Function<'a>,
    address: u64,
    wave_size: WaveSize,
) -> Option<Function<'a>> {
    let Some(LocationAttribute::Expression(base)) = function.frame_base else {
        return None;
    };
    let register = single_register(&base)?;
    let number = u8::try_from(register.index()?).ok()?;
    let is_scalar = register.class() == Some(RegisterClass::Sgpr);
    if !is_scalar || number == CONVENTION.stack_pointer() {
        return None;
    }
    let frame_pointer = MachineRegister::Sgpr(number);
    let stack_pointer = MachineRegister::Sgpr(CONVENTION.stack_pointer());
    let decoder = Decoder::new(program.processor(), Some(wave_size))?;
    let code = |range: Range<u64>| instructions(program, &decoder, range);
    let range = function.ranges.iter().find(|one| one.contains(&address))?;
    // If the register is written before the return, it has not been restored yet.
    let mut rest = code(address..range.end)?.take(MOST_LEFT);
    let mut is_moved = false;
    loop {
        let one = rest.next().ok()??;
        if has(&one, frame_pointer) {
            return None;
        }
        is_moved |= has(&one, stack_pointer);
        if is_return(&one) {
            break;
        }
        if may_leave(&one) {
            return None;
        }
    }
    // A register that the function does not set is not restored.
    let mut first = code(function.ranges.first()?.start..address)?;
    let mut is_sure = !is_moved;
    let set = loop {
        let one = first.next().ok()??;
        if has(&one, frame_pointer) {
            break one;
        }
        is_sure &= !may_leave(&one) && !has(&one, stack_pointer);
    };
    let stack_pointer = Operand::Registers(Span::new(stack_pointer, 1));
    let is_copy = matches!(
        set.effect,
        Effect::Scalar { op: ScalarOp::Mov, a, .. } if a == stack_pointer
    );
    let base = (is_sure && is_copy).then_some(LocationAttribute::Expression(STACK_POINTER));
    Some(Function {
        frame_base: base,
        ..function.clone()
    })
}

/// Decodes the first instructions of a range. Returns `None` if they are not in the file.
fn instructions<'d>(
    program: &'d Program<'_>,
    decoder: &'d Decoder,
    range: Range<u64>,
) -> Option<impl FallibleIterator<Item = Instruction, Error = Error> + use<'d>> {
    let most = LONGEST * MOST as u64;
    let length = range.end.checked_sub(range.start)?.min(most);
    let length = usize::try_from(length).ok()?;
    let code = program.object().read_image(range.start, length)?;
    Some(decoder.instructions(code, range.start).take(MOST))
}

/// Returns true if an instruction writes a register.
fn has(one: &Instruction, register: MachineRegister) -> bool {
    one.writes
        .spans()
        .iter()
        .any(|span| span.contains(register))
}

/// Returns true for a jump to the return address.
fn is_return(one: &Instruction) -> bool {
    let Effect::SetPc {
        src: Operand::Registers(Span { first, .. }),
    } = one.effect
    else {
        return false;
    };
    first == MachineRegister::Sgpr(CONVENTION.return_address())
}

/// Returns true if the next instruction may not be the following one.
fn may_leave(one: &Instruction) -> bool {
    matches!(
        one.effect,
        Effect::Branch { .. }
            | Effect::Call { .. }
            | Effect::SetPc { .. }
            | Effect::OtherJump
            | Effect::EndProgram
            | Effect::CodeEnd
    )
}
