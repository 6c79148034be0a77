//! The variables whose values are followed, and where the debugging information gives them.

use core::ops::Range;
use std::collections::BTreeMap;

use super::number::Cell;
use crate::isa::MachineRegister;
use crate::machine_flow::Code;

/// What the debugging information says that a dword of a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dword {
    /// The contents of a place.
    In(Cell),
    /// A constant.
    Word(u32),
    /// A dword of the arguments of the kernel, by its offset in bytes.
    Kernarg(u32),
    /// Something that is not followed.
    Other,
}

/// A range of addresses at which the debugging information gives a variable.
#[derive(Clone, Debug)]
pub(crate) struct Covered {
    pub(crate) addresses: Range<u64>,
    /// The dwords of the variable, the lowest first.
    pub(crate) dwords: Vec<Dword>,
}

/// A variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    /// Where it is given.
    pub(crate) covered: Vec<Covered>,
    /// The addresses of the inlined call that it is in. Entering them begins another activation. Empty for a variable of the
    /// function itself.
    pub(crate) activation: Vec<Range<u64>>,
    /// Where it has what it had on entry to the function. Of a parameter of which that is known.
    pub(crate) on_entry: Option<OnEntry>,
}

/// Where a parameter has what it had on entry to the function.
#[derive(Clone, Debug)]
pub(crate) struct OnEntry {
    pub(crate) address: u64,
    /// Its dwords there, the lowest first.
    pub(crate) dwords: Vec<Dword>,
    /// True if only the calling convention says it. A caller need not pass what the function does not use: only copies that the
    /// function has made show that it was passed.
    pub(crate) is_assumed: bool,
}

/// What is known of the registers when the function starts, if it is a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelEntry {
    /// The registers that have the address of the kernel's arguments.
    pub(crate) kernarg_pointer: Option<[MachineRegister; 2]>,
    /// Those that have what follows from the dispatch.
    pub(crate) known: Vec<Cell>,
}

/// A variable that an instruction is the last to have: a range ends with it, control leaves there, or lanes may go off.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastGiven {
    /// Which variable, by its place in the list.
    pub(super) variable: usize,
    /// Which of its ranges.
    pub(super) range: usize,
    /// True if the range begins with the instruction.
    pub(super) is_first: bool,
}

/// What happens to variables along a function, by the number of the instruction before which it does.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// The variables that are given for the last time.
    pub(super) given: BTreeMap<usize, Vec<LastGiven>>,
    /// The variables of which another activation begins.
    pub(super) entered: BTreeMap<usize, Vec<usize>>,
}

impl Schedule {
    /// Returns what happens, or `None` if it takes more than so many steps to find it.
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
                    let is_last = index.saturating_add(1) == numbers.end;
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
                // A jump back may begin another activation as well as go on in one.
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
