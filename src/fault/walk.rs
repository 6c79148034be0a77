//! Walks back from the stop over all paths of the code, into functions that have returned and out to callers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::past::{Now, Past};
use super::undo::undo;
use crate::error::Result;
use crate::isa::{Decoder, Effect, Instruction, MachineRegister, Reach, Waits};
use crate::lane_flow::{FunctionFlow, LaneFlow};
use crate::machine_flow::Edge;
use crate::meter::Meter;
use crate::object::CodeObject;

/// The most nested calls for which returned functions are entered.
const MOST_CALLS: usize = 8;
/// The most activations of functions that are visited.
const MOST_ACTIVATIONS: usize = 64;
/// The most instructions that one walk visits, including repeated visits.
const MOST_INSTRUCTIONS: usize = 1 << 13;

/// An activation of a function.
pub(super) struct Activation<'a> {
    pub(super) flow: Arc<FunctionFlow<'a>>,
    /// The activation and the instruction that called it, if they are known.
    caller: Option<(usize, usize)>,
    depth: usize,
}

/// A place: the index of the activation, and the index of the instruction.
pub(super) type Place = (usize, usize);

/// The effects of an instruction other than register writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traits {
    pub(super) reach: Option<Reach>,
    pub(super) waits: Option<Waits>,
}

/// The action of a walk at an instruction, before it is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Stop,
}

/// The callback of a walk.
type Visit<'v, 'w, 'a> =
    dyn FnMut(&mut Surroundings<'w, 'a>, Place, &Instruction, &Past) -> Then + 'v;

/// The continuation of a path.
enum After {
    GoesOn,
    /// The callback stopped the walk.
    Stopped,
    /// The earlier code is unknown, or irrelevant.
    Escaped,
}

/// The code around a stop, as explored by walks.
pub(super) struct Surroundings<'w, 'a> {
    pub(super) inputs: Inputs<'w, 'a>,
    activations: Vec<Activation<'a>>,
    /// The activations of functions that have returned, by the place of the call.
    returned: BTreeMap<Place, Option<usize>>,
    traits: BTreeMap<u64, Traits>,
}

/// The input of walks: a stop, and the code.
pub(super) struct Inputs<'w, 'a> {
    pub(super) now: &'w Now<'w>,
    pub(super) flow: &'w LaneFlow<'a>,
    pub(super) decoder: &'w Decoder,
    pub(super) object: &'a CodeObject<'a>,
    /// The existing lanes.
    pub(super) all: u64,
    pub(super) load_address: u64,
    pub(super) meter: &'w Meter,
}

impl<'w, 'a> Surroundings<'w, 'a> {
    /// Creates the surroundings of a stop.
    ///
    /// * `pc`: the address of the stop in the code object.
    pub(super) fn new(inputs: Inputs<'w, 'a>, pc: u64) -> Option<(Surroundings<'w, 'a>, Place)> {
        let (function, index) = inputs.flow.function_at(pc, inputs.meter)?;
        let activation = Activation {
            flow: function,
            caller: None,
            depth: 0,
        };
        let surroundings = Surroundings {
            inputs,
            activations: vec![activation],
            returned: BTreeMap::new(),
            traits: BTreeMap::new(),
        };
        Some((surroundings, (0, index)))
    }

    pub(super) fn instruction(&self, place: Place) -> Option<Instruction> {
        let activation = self.activations.get(place.0)?;
        let code = activation.flow.code();
        code.instructions.get(place.1).cloned()
    }

    /// Returns true if EXEC contains the active lanes before the instruction at a place, and no lanes that a section switches on.
    pub(super) fn is_plain(&self, place: Place) -> bool {
        let activation = self.activations.get(place.0);
        activation.is_some_and(|activation| activation.flow.is_plain(place.1))
    }

    /// Returns the memory that an instruction accesses, and the counters that it waits for.
    pub(super) fn traits(&mut self, instruction: &Instruction) -> Traits {
        if let Some(known) = self.traits.get(&instruction.address) {
            return *known;
        }
        let bytes = self
            .inputs
            .object
            .read_image(instruction.address, instruction.length.into());
        let found = bytes.map_or(Traits::default(), |bytes| Traits {
            reach: self.inputs.decoder.reach(bytes, instruction.address),
            waits: self.inputs.decoder.waits(bytes, instruction.address),
        });
        self.traits.insert(instruction.address, found);
        found
    }

    /// Undoes an instruction.
    pub(super) fn back_over(&mut self, instruction: &Instruction, past: &mut Past) {
        let Traits { reach, waits } = self.traits(instruction);
        undo(self.inputs.now, instruction, past, self.inputs.all);
        if let Some(waits) = waits {
            past.wait(&waits);
        }
        if let Some(reach) = reach
            && reach.is_ordered()
        {
            past.issue(reach.counter());
        }
    }

    /// Walks back from a place over all paths, until nothing changes.
    ///
    /// * `start`: the state there, before its instruction.
    /// * `visit`: receives the state after each instruction, before it is undone. It may be called several times, with fewer and fewer
    ///   facts.
    ///
    /// Returns true if a path led to unknown code, or to a place before which no access can be outstanding.
    ///
    /// # Errors
    /// If the budget is exceeded.
    pub(super) fn walk(
        &mut self,
        from: Place,
        start: Past,
        stops_when_closed: bool,
        visit: &mut Visit<'_, 'w, 'a>,
    ) -> Result<bool> {
        // The states after the predecessors of block starts.
        let mut known: BTreeMap<Place, Past> = BTreeMap::new();
        let mut work = BTreeSet::new();
        let mut has_escaped = false;
        let mut steps = 0_usize;
        let mut next = Some((from, start));
        loop {
            while let Some((place, mut past)) = next.take() {
                let (sources, is_open) = self.sources(place, &past);
                has_escaped |= is_open;
                // Within a block, there is only one path, and no join.
                let is_within = !self.is_block_start(place);
                let [source] = *sources else {
                    self.join(&sources, &past, &mut known, &mut work);
                    continue;
                };
                if !is_within || source.0 != place.0 {
                    self.join(&sources, &past, &mut known, &mut work);
                    continue;
                }
                steps = steps.saturating_add(1);
                match self.step(source, &mut past, stops_when_closed, visit)? {
                    After::Escaped => has_escaped = true,
                    After::Stopped => {}
                    After::GoesOn => next = Some((source, past)),
                }
            }
            steps = steps.saturating_add(1);
            if steps > MOST_INSTRUCTIONS {
                return Ok(true);
            }
            let Some(source) = work.pop_last() else {
                return Ok(has_escaped);
            };
            let Some(mut past) = known.get(&source).cloned() else {
                continue;
            };
            match self.step(source, &mut past, stops_when_closed, visit)? {
                After::Escaped => has_escaped = true,
                After::Stopped => {}
                After::GoesOn => next = Some((source, past)),
            }
        }
    }

    /// Undoes one instruction.
    fn step(
        &mut self,
        source: Place,
        past: &mut Past,
        stops_when_closed: bool,
        visit: &mut Visit<'_, 'w, 'a>,
    ) -> Result<After> {
        self.inputs.meter.work(1)?;
        let Some(instruction) = self.instruction(source) else {
            return Ok(After::Escaped);
        };
        if visit(self, source, &instruction, past) == Then::Stop {
            return Ok(After::Stopped);
        }
        self.back_over(&instruction, past);
        Ok(match stops_when_closed && past.is_closed() {
            true => After::Escaped,
            false => After::GoesOn,
        })
    }

    /// Joins the states after some instructions.
    fn join(
        &self,
        sources: &[Place],
        past: &Past,
        known: &mut BTreeMap<Place, Past>,
        work: &mut BTreeSet<Place>,
    ) {
        for source in sources {
            let is_new = match known.get_mut(source) {
                Some(other) => other.meet(self.inputs.now, past),
                None => {
                    known.insert(*source, past.clone());
                    true
                }
            };
            if is_new {
                work.insert(*source);
            }
        }
    }

    fn is_block_start(&self, (number, index): Place) -> bool {
        let activation = self.activations.get(number);
        activation.is_none_or(|activation| activation.flow.code().is_block_start(index))
    }

    /// Returns the predecessors of a place, and true if there may be others.
    fn sources(&mut self, place: Place, here: &Past) -> (Vec<Place>, bool) {
        let (number, index) = place;
        let Some(activation) = self.activations.get(number) else {
            return (Vec::new(), true);
        };
        let flow = Arc::clone(&activation.flow);
        let code = flow.code();
        let mut found = Vec::new();
        let mut is_open = false;
        for before in code.before(index) {
            let is_call = code
                .instructions
                .get(before)
                .is_some_and(|one| matches!(one.effect, Effect::Call { .. }));
            if !is_call {
                found.push((number, before));
                continue;
            }
            let place = (number, before);
            match self.callee(place) {
                Some(callee) => match self.returns(callee) {
                    Some(returns) => found.extend(returns),
                    None => is_open = true,
                },
                None => is_open = true,
            }
        }
        if index == 0 {
            match self.caller(number, here) {
                Some(caller) => found.push(caller),
                None => is_open = true,
            }
        }
        (found, is_open)
    }

    /// Returns the activation of the function that a call, or a tail call, went to.
    fn callee(&mut self, place: Place) -> Option<usize> {
        if let Some(known) = self.returned.get(&place) {
            return *known;
        }
        let found = self.find_callee(place);
        self.returned.insert(place, found);
        found
    }

    fn find_callee(&mut self, place: Place) -> Option<usize> {
        let (number, index) = place;
        let activation = self.activations.get(number)?;
        let depth = activation.depth.saturating_add(1);
        let target = activation.flow.code().callee(index)?;
        let is_full = self.activations.len() >= MOST_ACTIVATIONS;
        let (flow, entry) = self.inputs.flow.function_at(target, self.inputs.meter)?;
        (entry == 0 && depth <= MOST_CALLS && !is_full).then(|| {
            self.activations.push(Activation {
                flow,
                caller: Some(place),
                depth,
            });
            self.activations.len().saturating_sub(1)
        })
    }

    /// Returns the instructions by which an activation may have returned, if all of them are known.
    fn returns(&mut self, number: usize) -> Option<Vec<Place>> {
        let activation = self.activations.get(number)?;
        let flow = Arc::clone(&activation.flow);
        let code = flow.code();
        let link = MachineRegister::Sgpr(code.convention.return_address());
        let mut found = Vec::new();
        for jump in code.jumps() {
            let index = code.index_of(jump.address)?;
            if !code.edges(index).any(|edge| edge == Edge::Leaves) {
                continue;
            }
            let Effect::SetPc { src } = jump.effect else {
                return None;
            };
            if src.registers().map(|span| span.first) == Some(link) {
                found.push((number, index));
                continue;
            }
            let callee = self.callee((number, index))?;
            found.extend(self.returns(callee)?);
        }
        (!found.is_empty()).then_some(found)
    }

    /// Returns the call that began an activation.
    ///
    /// * `entry`: the state on its entry.
    fn caller(&mut self, number: usize, entry: &Past) -> Option<Place> {
        let activation = self.activations.get(number)?;
        if activation.caller.is_some() {
            return activation.caller;
        }
        let convention = activation.flow.code().convention;
        let first = convention.return_address();
        let low = entry.scalar(self.inputs.now, MachineRegister::Sgpr(first))?;
        let high = entry.scalar(
            self.inputs.now,
            MachineRegister::Sgpr(first.checked_add(1)?),
        )?;
        let address =
            (u64::from(high) << 32 | u64::from(low)).checked_sub(self.inputs.load_address)?;
        let callee = activation.flow.code().instructions.first()?.address;
        let (flow, after) = self.inputs.flow.function_at(address, self.inputs.meter)?;
        let call = after.checked_sub(1)?;
        let code = flow.code();
        // A kernel has no caller. Its registers hold other values, unless they are the address after a call to the function.
        let is_it = code.is_after_call(after) && code.callee(call).is_none_or(|to| to == callee);
        if !is_it || self.activations.len() >= MOST_ACTIVATIONS {
            return None;
        }
        let caller = (self.activations.len(), call);
        self.activations.push(Activation {
            flow,
            caller: None,
            depth: 0,
        });
        self.activations.get_mut(number)?.caller = Some(caller);
        Some(caller)
    }
}
