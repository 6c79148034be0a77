//! Goes back from the stop over all paths of the code, into functions that have returned and out to those that called.

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

/// How many calls deep functions are entered that have returned.
const MOST_CALLS: usize = 8;
/// How many activations of functions are looked at.
const MOST_ACTIVATIONS: usize = 64;
/// How many instructions one walk goes over, counted each time.
const MOST_STEPS: usize = 1 << 13;

/// An activation of a function.
pub(super) struct Activation<'a> {
    pub(super) flow: Arc<FunctionFlow<'a>>,
    /// The activation that called it and the instruction that did, as far as that is known.
    caller: Option<(usize, usize)>,
    depth: usize,
}

/// A place: the number of the activation, and that of the instruction.
pub(super) type Place = (usize, usize);

/// What an instruction does besides writing registers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traits {
    pub(super) reach: Option<Reach>,
    pub(super) waits: Option<Waits>,
}

/// What a walk does at an instruction, before it goes back over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Stop,
}

/// What a walk calls.
type Visit<'v, 'w, 'a> =
    dyn FnMut(&mut Surroundings<'w, 'a>, Place, &Instruction, &Past) -> Then + 'v;

/// What became of a way.
enum After {
    GoesOn,
    /// Whoever walks wanted no more.
    Stopped,
    /// It is not known what was before, or nothing before matters.
    Escaped,
}

/// The code around a stop, as walks have found it.
pub(super) struct Surroundings<'w, 'a> {
    pub(super) inputs: Inputs<'w, 'a>,
    activations: Vec<Activation<'a>>,
    /// The activations of functions that have returned, by the place of the call.
    returned: BTreeMap<Place, Option<usize>>,
    traits: BTreeMap<u64, Traits>,
}

/// A stop, and what walks read.
pub(super) struct Inputs<'w, 'a> {
    pub(super) now: &'w Now<'w>,
    pub(super) flow: &'w LaneFlow<'a>,
    pub(super) decoder: &'w Decoder,
    pub(super) object: &'a CodeObject<'a>,
    /// The lanes that there are.
    pub(super) all: u64,
    pub(super) load_address: u64,
    pub(super) meter: &'w Meter,
}

impl<'w, 'a> Surroundings<'w, 'a> {
    /// * `pc`: the stop, in the code object.
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

    /// Returns what an instruction reaches and waits for.
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

    /// Goes back over an instruction.
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

    /// Goes back from a place over all paths, until nothing changes.
    ///
    /// * `start`: what is known there, before its instruction.
    /// * `visit`: is called with what is known after each instruction, before the walk goes back over it, perhaps several times with less and less.
    ///
    /// Returns true if a path led to where it is not known what was before, or no access can be outstanding.
    ///
    /// # Errors
    /// If it takes too much.
    pub(super) fn walk(
        &mut self,
        from: Place,
        start: Past,
        stops_when_closed: bool,
        visit: &mut Visit<'_, 'w, 'a>,
    ) -> Result<bool> {
        // What is known after instructions from which control comes to the starts of blocks.
        let mut known: BTreeMap<Place, Past> = BTreeMap::new();
        let mut work = BTreeSet::new();
        let mut has_escaped = false;
        let mut steps = 0_usize;
        let mut next = Some((from, start));
        loop {
            while let Some((place, mut past)) = next.take() {
                let (sources, is_open) = self.sources(place, &past);
                has_escaped |= is_open;
                // Within a block there is one way, and nothing to be joined.
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
            if steps > MOST_STEPS {
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

    /// Goes back over one instruction.
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

    /// Takes in what is known after some instructions.
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

    /// Returns the instructions that control may have come from to a place, and whether it may have come from others too.
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

    /// Returns the activation of the function that a call, or a jump out of its function, went to.
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

    /// Returns the instructions by which an activation may have returned, if all are known.
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

    /// Returns the call that an activation began with.
    ///
    /// * `entry`: what is known where it begins.
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
        // A kernel has no caller: what is in the registers is something else, unless a call to the function is there.
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
