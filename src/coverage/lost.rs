//! Last known values that are kept in one place along code for which location lists say nothing: what a compiler could have said.

use core::ops::Range;
use std::fmt::Write as _;
use std::sync::Arc;

use super::function::lost_in_function;
use super::spans::Spans;
use super::{Visit, for_each_function};
use crate::debug_info::Variable;
use crate::error::Error;
use crate::inspect::Program;
use crate::isa::MachineRegister;
use crate::meter::Meter;
pub(crate) use crate::value_flow::Sought;
use crate::value_flow::{Cell, KeptRange, Recipe, Step};

/// A variable with a last known value that is kept where its location list says nothing.
#[derive(Debug)]
pub(crate) struct LostVariable<'a> {
    pub(crate) variable: Arc<Variable<'a>>,
    /// True if each call of its function has it once.
    pub(crate) is_of_function: bool,
    /// Where, in order.
    pub(crate) ranges: Vec<LostRange>,
}

/// Code along which a last known value is kept in the same place.
#[derive(Clone, Debug)]
pub(crate) struct LostRange {
    pub(crate) addresses: Range<u64>,
    /// The last address at which the location list gives the value; `None` for what a parameter was on entry.
    pub(crate) as_of: Option<u64>,
    /// The dwords of the value, the lowest first: where each is.
    dwords: Vec<Step>,
}

impl LostRange {
    /// What is known of a range, if every dword is in a register or a slot, the same for lanes of both halves of a wave.
    fn new(kept: &KeptRange) -> Option<LostRange> {
        let place = |dword: &Recipe| match dword.0.as_slice() {
            [place @ (Step::Register(_) | Step::Row(_))] => Some(*place),
            _ => None,
        };
        let dwords: Option<Vec<Step>> = kept.value.dwords.iter().map(place).collect();
        Some(LostRange {
            addresses: kept.addresses.clone(),
            as_of: kept.value.as_of,
            dwords: dwords.filter(|_| kept.is_same)?,
        })
    }

    /// Returns the registers that have the dwords, if each is in a register by itself: a scalar one, or the lane's own dword of a vector register.
    pub(crate) fn registers(&self) -> Option<Vec<MachineRegister>> {
        let register = |step: &Step| match *step {
            Step::Register(Cell::Scalar(register) | Cell::Own(register)) => Some(register),
            Step::Register(Cell::Lane { .. } | Cell::Row(_)) | Step::Row(_) => None,
            Step::Word(_) | Step::Initial(_) | Step::Argument(_) | Step::Apply(_) => None,
        };
        self.dwords.iter().map(register).collect()
    }

    /// Returns how many bytes of code it is.
    pub(crate) fn bytes(&self) -> u64 {
        self.addresses.end.saturating_sub(self.addresses.start)
    }

    /// Returns the places, for people: `v4`, `v4 and v5`, `the stack at s32 + 16`.
    pub(crate) fn place(&self) -> String {
        let texts: Vec<String> = self.dwords.iter().filter_map(place_of).collect();
        texts.join(" and ")
    }
}

fn place_of(step: &Step) -> Option<String> {
    Some(match *step {
        Step::Register(Cell::Scalar(register) | Cell::Own(register)) => register.to_string(),
        Step::Register(Cell::Lane { register, lane }) => format!("lane {lane} of {register}"),
        Step::Register(Cell::Row(slot)) | Step::Row(slot) => {
            let mut text = "the stack at ".to_owned();
            // Writing to a string does not fail.
            let _ = match slot.base {
                Some(base) => write!(text, "{base} {:+}", slot.offset),
                None => write!(text, "{}", slot.offset),
            };
            text
        }
        Step::Word(_) | Step::Initial(_) | Step::Argument(_) | Step::Apply(_) => return None,
    })
}

/// Gives each variable that is kept where its location list says nothing, function by function.
///
/// * `sought`: what it may be.
///
/// # Errors
/// The limit that was reached before all were found, if one was.
pub(crate) fn lost_values<'a>(
    program: &Program<'a>,
    sought: Sought,
    meter: &Meter,
    give: &mut dyn FnMut(LostVariable<'a>),
) -> Result<(), Error> {
    let wave_size = program.object().wave_size().ok().flatten();
    let mut visit = |visit: Visit<'_, 'a>| {
        let Ok((variables, is_complete)) = lost_in_function(program, visit) else {
            return false;
        };
        for one in variables {
            let lost = one.scope.without(&one.dwarf);
            let Some(known) = one.known else {
                continue;
            };
            let kept = known.kept.iter().filter_map(LostRange::new);
            let within = kept.flat_map(|range| {
                let own = Spans::new([range.addresses.clone()]).and(&lost);
                let own = own.ranges().to_vec().into_iter();
                own.map(move |addresses| LostRange {
                    addresses,
                    ..range.clone()
                })
            });
            let ranges: Vec<LostRange> = within.collect();
            if !ranges.is_empty() {
                give(LostVariable {
                    is_of_function: known.is_of_function,
                    variable: known.variable,
                    ranges,
                });
            }
        }
        is_complete
    };
    for_each_function(
        program,
        wave_size,
        sought,
        meter,
        &mut Vec::new(),
        &mut visit,
    )
}
