//! Keeps the data that all waves at an address share: the function and its variables.
//!
//! Thousands of waves stop at a few addresses, and each gets the same queries. Only registers and memory must be read for each wave. Queries are not
//! charged for data that `debug_info` keeps for the file. For kept values, each query is charged the steps of the search.

use std::sync::{Arc, Mutex, OnceLock};

use foldhash::HashMap;

use crate::arch::WaveSize;
use crate::debug_info::{Function, InScope, Variable};
use crate::eval::{ExpressionBytes, LocationGap, Meaning, ObjectShape};
use crate::sync::lock;
use crate::value_flow::Kept;

/// A function at one of its addresses.
#[derive(Debug)]
pub(super) struct FramePlan<'a> {
    pub(super) function: Arc<Function<'a>>,
    /// In the order of [`variables`](super::StopFrame::variables).
    pub(super) variables: Box<[PlannedVariable<'a>]>,
    /// For each inlined call, innermost first, the end of its variables in `variables`.
    ends: Box<[usize]>,
    /// The kept values of variables without a location here; see [`kept`](FramePlan::kept).
    kept: [OnceLock<KeptAt>; 4],
}

/// The values of variables that registers and the stack keep.
#[derive(Debug, Default)]
pub(super) struct KeptAt {
    pub(super) kept: Kept,
    /// The steps for finding it, charged to each query.
    pub(super) steps: u64,
}

/// The plans for reading the kept values of a frame. A query holds them, so that its result does not depend on the plans that the program
/// keeps.
#[derive(Clone)]
pub(super) struct KeptPlans<'a> {
    pub(super) own: Arc<FramePlan<'a>>,
    /// The plan of the caller, if it may keep an argument of the frame's function.
    pub(super) caller: Option<Arc<FramePlan<'a>>>,
}

/// A variable at an address.
#[derive(Debug)]
pub(super) struct PlannedVariable<'a> {
    pub(super) variable: Arc<Variable<'a>>,
    /// The entry of its location list that holds here.
    pub(super) listed: OnceLock<Listed<'a>>,
    /// The translation of that expression by the producer's conventions, for an object of this shape, in waves of this size.
    pub(super) meaning: OnceLock<(ObjectShape, WaveSize, Meaning)>,
}

/// The entry of a location list for an address, as in the file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Listed<'a> {
    /// No entry holds.
    Nothing(LocationGap),
    One(ExpressionBytes<'a>),
    /// The object is in several places at once, or may be.
    Several,
}

impl<'a> FramePlan<'a> {
    pub(super) fn new(function: Function<'a>, in_scope: InScope<'a>) -> FramePlan<'a> {
        let variables = in_scope.variables.into_iter();
        FramePlan {
            function: Arc::new(function),
            variables: variables.map(PlannedVariable::new).collect(),
            ends: in_scope.ends.into(),
            kept: Default::default(),
        }
    }

    /// Returns the values kept in registers and on the stack, in waves of a size. A calling frame keeps other values than a frame that stopped at the
    /// same address.
    pub(super) fn kept(&self, wave_size: WaveSize, calls: bool) -> &OnceLock<KeptAt> {
        let [stopped32, stopped64, calling32, calling64] = &self.kept;
        match (wave_size, calls) {
            (WaveSize::Wave32, false) => stopped32,
            (WaveSize::Wave64, false) => stopped64,
            (WaveSize::Wave32, true) => calling32,
            (WaveSize::Wave64, true) => calling64,
        }
    }

    /// Returns the number of inlined calls that do not contain the variable with this index, or 0 for a variable of the innermost frame.
    pub(super) fn depth_of(&self, index: usize) -> usize {
        self.ends.partition_point(|end| *end <= index)
    }
}

impl<'a> PlannedVariable<'a> {
    pub(super) fn new(variable: Arc<Variable<'a>>) -> PlannedVariable<'a> {
        PlannedVariable {
            variable,
            listed: OnceLock::new(),
            meaning: OnceLock::new(),
        }
    }
}

/// The maximum number of variables and plans kept. A plan counts as several variables. The total is about 4 MiB.
const MOST: usize = 1 << 14;
const PLAN: usize = 4;

/// The plans of the addresses queried so far.
#[derive(Debug, Default)]
pub(super) struct Plans<'a> {
    known: Mutex<Known<'a>>,
}

#[derive(Debug, Default)]
struct Known<'a> {
    plans: HashMap<u64, Arc<FramePlan<'a>>>,
    variables: usize,
}

impl<'a> Plans<'a> {
    /// Returns the plan of an address of the code object.
    pub(super) fn get(&self, address: u64) -> Option<Arc<FramePlan<'a>>> {
        lock(&self.known).plans.get(&address).cloned()
    }

    /// Returns true if the variables in scope are few enough to be kept. Otherwise each query reads them, and is charged.
    pub(super) fn may_keep(in_scope: &InScope<'a>) -> bool {
        in_scope.variables.len() + PLAN <= MOST
    }

    /// Keeps a plan, and returns the one to use: two threads that need the same plan share the first. The number of addresses is unbounded, so
    /// the cache is cleared when it becomes large.
    pub(super) fn keep(&self, address: u64, plan: FramePlan<'a>) -> Arc<FramePlan<'a>> {
        let size = plan.variables.len() + PLAN;
        let known = &mut *lock(&self.known);
        if let Some(known) = known.plans.get(&address) {
            return Arc::clone(known);
        }
        known.variables += size;
        if known.variables > MOST {
            *known = Known {
                variables: size,
                ..Known::default()
            };
        }
        let plan = Arc::new(plan);
        known.plans.insert(address, Arc::clone(&plan));
        plan
    }
}
