//! Finds kept values without a location in the debugging information, for all addresses of a function, as stops there would show them.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::given::{Followed, Given};
use super::program::Program;
use crate::arch::WaveSize;
use crate::debug_info::types::TypeTable;
use crate::debug_info::{DieId, Function, InFunction, InlinedCall, Variable};
use crate::error::Result;
use crate::meter::Meter;
use crate::value_flow::{Asked, KeptRange, Sought, survey};

/// A variable of a function, and the ranges in which its value is kept.
#[derive(Debug)]
pub(crate) struct KeptVariable<'a> {
    pub(crate) variable: Arc<Variable<'a>>,
    /// The inlined calls around it, innermost first.
    pub(crate) calls: Arc<[DieId]>,
    /// True for a parameter of a kernel whose argument is known to be in memory.
    pub(crate) is_argument: bool,
    /// True if there is one instance for each call of the function: it is the function's own, or belongs to the code of an OpenCL kernel inlined in
    /// the kernel.
    pub(crate) is_of_function: bool,
    /// The ranges in which it is kept, within the requested range.
    pub(crate) kept: Vec<KeptRange>,
}

/// The variables of a function, and the ranges in which their values are kept.
#[derive(Debug, Default)]
pub(crate) struct KeptInFunction<'a> {
    /// Empty if the scopes of the function contradict each other.
    pub(crate) variables: Vec<KeptVariable<'a>>,
    /// False if these ranges are unknown, because a limit was reached.
    pub(crate) is_complete: bool,
}

/// A query about a function.
pub(crate) struct KeptQuestion<'q, 'a> {
    /// The size of the waves that run it. With `None`, nothing is found.
    pub(crate) wave_size: Option<WaveSize>,
    /// A function that returns the requested addresses for a variable, in order.
    pub(crate) asked: &'q dyn Fn(&Variable<'a>) -> Vec<Range<u64>>,
    pub(crate) sought: Sought,
}

impl<'a> Program<'a> {
    /// Finds the ranges in which values of the variables of a function are kept. Values kept only by a caller are left out.
    ///
    /// # Errors
    /// If the cost of reading its variables exceeds the limit.
    pub(crate) fn kept_in_function(
        &self,
        function: &Function<'a>,
        question: &KeptQuestion<'_, 'a>,
        types: &mut TypeTable,
        meter: &Meter,
    ) -> Result<KeptInFunction<'a>> {
        let info = self.info();
        let variables = info.variables_of(function.die, meter)?.unwrap_or_default();
        let mut kept: Vec<KeptVariable<'a>> = Vec::with_capacity(variables.len());
        for InFunction { variable, calls } in variables {
            let ty = info.read_type(types, variable.ty, meter)?;
            let size = types.get(ty).byte_size.filter(|size| *size > 0);
            let argument = size.and_then(|size| self.argument_offset(&variable, function, size));
            meter.hold_all::<KeptVariable<'a>>(1)?;
            kept.push(KeptVariable {
                variable,
                calls,
                is_argument: argument.is_some(),
                is_of_function: false,
                kept: Vec::new(),
            });
        }
        let mut found = KeptInFunction {
            variables: kept,
            is_complete: true,
        };
        match self.survey(function, question, types, meter, &mut found) {
            Err(error) if error.is_limit() => found.is_complete = false,
            result => result?,
        }
        Ok(found)
    }

    fn survey(
        &self,
        function: &Function<'a>,
        question: &KeptQuestion<'_, 'a>,
        types: &mut TypeTable,
        meter: &Meter,
        found: &mut KeptInFunction<'a>,
    ) -> Result<()> {
        let Some(wave_size) = question.wave_size else {
            return Ok(());
        };
        let addresses: Vec<Vec<Range<u64>>> = found
            .variables
            .iter()
            .map(|one| (question.asked)(&one.variable))
            .collect();
        let Some(start) = function.ranges.first().map(|range| range.start) else {
            return Ok(());
        };
        if addresses.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let lane_flow = self.lane_flow(wave_size);
        let Some((flow, _)) = lane_flow.function_at(start, meter) else {
            return Ok(());
        };
        let mut calls: BTreeMap<DieId, InlinedCall<'a>> = BTreeMap::new();
        for call in found.variables.iter().filter_map(|one| one.calls.first()) {
            if !calls.contains_key(call) {
                meter.hold_all::<InlinedCall<'a>>(1)?;
                calls.insert(*call, self.info().inlined_call_at(*call, meter)?);
            }
        }
        let followed = found.variables.iter().map(|one| Followed {
            variable: &one.variable,
            call: one.calls.first().and_then(|call| calls.get(call)),
        });
        let followed: Vec<Followed<'_, 'a>> = followed.collect();
        let mut given = Given::new(self, wave_size, function, meter);
        let watched = given.watched_of(&followed, types)?;
        found.is_complete = !given.is_cut();
        for (one, watched) in found.variables.iter_mut().zip(&watched) {
            one.is_of_function = watched.activation.is_empty();
        }
        let asked = watched.into_iter().zip(addresses);
        let asked = asked.map(|(watched, addresses)| Asked { watched, addresses });
        let kernel = given.kernel();
        let kept = survey(&flow, asked.collect(), question.sought, kernel, meter);
        drop(flow);
        // The data for a function are many times as large as its code.
        lane_flow.forget(start);
        match kept {
            Some(kept) => {
                for (one, kept) in found.variables.iter_mut().zip(kept) {
                    one.kept = kept;
                }
            }
            None => found.is_complete = false,
        }
        Ok(())
    }
}
