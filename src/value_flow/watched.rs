//! The variables whose values are followed, and their places according to the debugging information.

use core::ops::Range;
use std::collections::BTreeMap;

use super::number::Cell;
use crate::isa::MachineRegister;
use crate::machine_flow::Code;

/// A dword of a variable, according to the debugging information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dword {
    /// The contents of a place.
    In(Cell),
    /// A constant.
    Word(u32),
    /// A dword of the kernel's arguments, by its offset in bytes.
    Kernarg(u32),
    /// A value that is not followed.
    Other,
}

/// A range of addresses in which the debugging information describes a variable.
#[derive(Clone, Debug)]
pub(crate) struct Covered {
    pub(crate) addresses: Range<u64>,
    /// The dwords of the variable, the lowest first.
    pub(crate) dwords: Vec<Dword>,
}

/// A variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    /// The ranges in which the debugging information describes the variable.
    pub(crate) covered: Vec<Covered>,
    /// The addresses of its inlined call. Entering them begins another activation. Empty for a variable of the function itself.
    pub(crate) activation: Vec<Range<u64>>,
    /// For a parameter, the place where it has its value on entry, if it is known.
    pub(crate) on_entry: Option<OnEntry>,
}

/// The place where a parameter has its value on entry to the function.
#[derive(Clone, Debug)]
pub(crate) struct OnEntry {
    pub(crate) address: u64,
    /// The dwords of the parameter there, the lowest first.
    pub(crate) dwords: Vec<Dword>,
    /// True if only the calling convention determines the place. A caller need not pass unused arguments, so only copies that the function
    /// has made prove that it was passed.
    pub(crate) is_assumed: bool,
}

/// The known contents of registers when a kernel starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelEntry {
    /// The registers that hold the address of the kernel's arguments.
    pub(crate) kernarg_pointer: Option<[MachineRegister; 2]>,
    /// The registers whose contents follow from the dispatch.
    pub(crate) known: Vec<Cell>,
}

/// A variable at the last instruction that describes it: a range ends, control leaves, or lanes may be switched off.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastGiven {
    /// The index of the variable.
    pub(super) variable: usize,
    /// The index of its range.
    pub(super) range: usize,
    /// True if the range begins with the instruction.
    pub(super) is_first: bool,
}

/// The events of variables along a function, by the index of the instruction after them.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// The variables that are described for the last time.
    pub(super) given: BTreeMap<usize, Vec<LastGiven>>,
    /// The variables for which another activation begins.
    pub(super) entered: BTreeMap<usize, Vec<usize>>,
}

impl Schedule {
    /// Creates the schedule, or returns `None` if this takes more than `most` steps.
    pub(super) fn new(code: &Code, watched: &[Watched], mut most: usize) -> Option<Schedule> {
        let mut schedule = Schedule::default();
        let instructions = &code.instructions;
        let numbered = |range: &Range<u64>| {
            let start = instructions.partition_point(|one| one.address < range.start);
            let end = instructions.partition_point(|one| one.address < range.end);
            start..end
        };
        for (variable, one) in watched.iter().enumerate() {
            for (range, covered) in one.covered.iter().enumerate() {
                let numbers = numbered(&covered.addresses);
                most = most.checked_sub(numbers.len())?;
                for index in numbers.clone() {
                    let is_last = index + 1 == numbers.end;
                    let may_go_off = || {
                        let instruction = instructions.get(index);
                        instruction.is_some_and(|one| {
                            one.writes.contains(MachineRegister::ExecLo)
                                || one.writes.contains(MachineRegister::ExecHi)
                        })
                    };
                    if is_last || !code.goes_on(index) || may_go_off() {
                        let given = schedule.given.entry(index).or_default();
                        given.push(LastGiven {
                            variable,
                            range,
                            is_first: index == numbers.start,
                        });
                    }
                }
            }
            let ranges: Vec<Range<usize>> = one.activation.iter().map(numbered).collect();
            let is_inside = |index: usize| ranges.iter().any(|range| range.contains(&index));
            for index in ranges.iter().cloned().flatten() {
                most = most.checked_sub(ranges.len())?;
                let before = || code.before(index);
                // A jump back may begin another activation or continue one.
                let is_entered = index == 0
                    || (code.is_block_start(index)
                        && before().any(|one| one >= index || !is_inside(one)))
                    || (!code.is_block_start(index)
                        && index.checked_sub(1).is_none_or(|one| !is_inside(one)));
                if is_entered {
                    schedule.entered.entry(index).or_default().push(variable);
                }
            }
        }
        Some(schedule)
    }
}
