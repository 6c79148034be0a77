//! Finds last-known values that stay in one place along code that location lists do not cover. A compiler could have described them.

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

/// A variable with a last-known value in code that its location list does not cover.
#[derive(Debug)]
pub(crate) struct LostVariable<'a> {
    pub(crate) variable: Arc<Variable<'a>>,
    /// True if the variable exists once in each call of its function.
    pub(crate) is_of_function: bool,
    /// The ranges of code, in order.
    pub(crate) ranges: Vec<LostRange>,
}

/// A range of code along which a last-known value stays in the same place.
#[derive(Clone, Debug)]
pub(crate) struct LostRange {
    pub(crate) addresses: Range<u64>,
    /// The last address at which the location list gives the value. `None` for the value of a parameter on entry.
    pub(crate) as_of: Option<u64>,
    /// The places of the value's dwords, the lowest first.
    dwords: Vec<Step>,
}

impl LostRange {
    /// Converts a kept range. Returns `None` unless every dword is in a register or a slot, equally for the lanes of both halves of a wave.
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

    /// Returns the registers of the dwords, if each dword is in its own register. The register is scalar, or the dword is the lane's own dword of a
    /// vector register.
    pub(crate) fn registers(&self) -> Option<Vec<MachineRegister>> {
        let register = |step: &Step| match *step {
            Step::Register(Cell::Scalar(register) | Cell::Own(register)) => Some(register),
            Step::Register(Cell::Lane { .. } | Cell::Row(_)) | Step::Row(_) => None,
            Step::Word(_) | Step::Initial(_) | Step::Argument(_) | Step::Apply(_) => None,
        };
        self.dwords.iter().map(register).collect()
    }

    /// Returns the size of the range in bytes of code.
    pub(crate) fn bytes(&self) -> u64 {
        self.addresses.end.saturating_sub(self.addresses.start)
    }

    /// Returns the places as text: `v4`, `v4 and v5`, `the stack at s32 + 16`.
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

/// Finds each variable with a kept value in code that its location list does not cover, function by function.
///
/// * `sought`: the kind of values.
///
/// # Errors
/// The limit that ended the search early, if one was reached.
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
