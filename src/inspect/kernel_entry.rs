//! Computes initial registers of a kernel from the dispatch: the position of the wave in it, and the address of the arguments.
//!
//! Source: USAGE "Initial Kernel Execution State".

use super::program::Program;
use crate::arch::{Lane, WaveSize};
use crate::debug_info::Function;
use crate::isa::MachineRegister;
use crate::object::descriptor::{InitialRegisters, InitialValue, KernelDescriptor, RegisterFile};
use crate::value_flow::{Cell, KernelEntry};
use crate::wave::Dispatch;

/// Returns the descriptor of the kernel that starts at a function's code.
pub(super) fn descriptor_of<'a>(
    program: &Program<'a>,
    function: &Function<'_>,
) -> Option<&'a KernelDescriptor> {
    let descriptor = program.kernel_of(function)?.descriptor.as_ref()?;
    let entry = descriptor.entry();
    // The function with the code of an OpenCL kernel has the kernel's name, but is another function.
    let is_own = (function.ranges.first()).is_some_and(|range| range.start == entry);
    is_own.then_some(descriptor)
}

/// Returns the known registers at the start of a kernel.
pub(super) fn kernel_entry(descriptor: &KernelDescriptor) -> KernelEntry {
    let registers = descriptor.initial_registers();
    let known = registers.iter().filter(|one| coordinate(one).is_some());
    let mut known: Vec<Cell> = known.filter_map(cell_of).collect();
    known.dedup();
    KernelEntry {
        kernarg_pointer: kernarg_pointer(&registers),
        known,
    }
}

/// Returns the registers with the address of a kernel's arguments at its start.
fn kernarg_pointer(registers: &[InitialRegisters]) -> Option<[MachineRegister; 2]> {
    let mut registers = registers.iter();
    let pointer = registers.find(|one| one.holds == InitialValue::KernargSegmentPointer)?;
    let is_pair = pointer.file == RegisterFile::Scalar && pointer.count == 2;
    let first = u8::try_from(pointer.first).ok().filter(|_| is_pair)?;
    Some([first, first.checked_add(1)?].map(MachineRegister::Sgpr))
}

/// Returns the initial value of a register in a lane, or `None` if the dispatch does not determine it, or the lane has no work-item.
pub(super) fn initial_value(
    registers: &[InitialRegisters],
    cell: Cell,
    dispatch: &Dispatch,
    lane: Lane,
    wave_size: WaveSize,
) -> Option<u32> {
    let mut value = None;
    for one in registers.iter().filter(|one| cell_of(one) == Some(cell)) {
        let (counted, n) = coordinate(one)?;
        let group = *dispatch.workgroup_id.get(n)?;
        let item = match counted {
            Counted::WorkGroup => group,
            Counted::WorkItem => {
                let item = *dispatch.work_item(lane, wave_size)?.get(n)?;
                item.checked_sub(group.checked_mul(*dispatch.workgroup_size.get(n)?)?)?
            }
        };
        let shift = one.bits.as_ref().map_or(0, |bits| bits.start);
        value = Some(value.unwrap_or(0) | item.checked_shl(shift.into())?);
    }
    value
}

/// A number that counts from 0 in each dimension of a dispatch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    WorkGroup,
    WorkItem,
}

/// The coordinates, and their dimensions.
const COORDINATES: [(InitialValue, Counted, usize); 6] = [
    (InitialValue::WorkGroupIdX, Counted::WorkGroup, 0),
    (InitialValue::WorkGroupIdY, Counted::WorkGroup, 1),
    (InitialValue::WorkGroupIdZ, Counted::WorkGroup, 2),
    (InitialValue::WorkItemIdX, Counted::WorkItem, 0),
    (InitialValue::WorkItemIdY, Counted::WorkItem, 1),
    (InitialValue::WorkItemIdZ, Counted::WorkItem, 2),
];

/// Returns the coordinate in registers and its dimension, or `None` if they hold something else.
fn coordinate(one: &InitialRegisters) -> Option<(Counted, usize)> {
    let mut all = COORDINATES.iter();
    let (_, counted, dimension) = all.find(|(holds, ..)| *holds == one.holds)?;
    Some((*counted, *dimension))
}

/// Returns the register that an item occupies or shares. Trap temporaries are left out, because the trap handler writes them.
fn cell_of(one: &InitialRegisters) -> Option<Cell> {
    match one.file {
        RegisterFile::Scalar => {
            let number = u8::try_from(one.first).ok()?;
            Some(Cell::Scalar(MachineRegister::Sgpr(number)))
        }
        RegisterFile::Vector => Some(Cell::Own(MachineRegister::Vgpr(one.first))),
        RegisterFile::TrapTemporary => None,
    }
}
