//! Finds the accesses that may have faulted, most likely first.

use std::collections::BTreeMap;

use core::cmp::Reverse;

use super::address::{InLane, Memories, Touched, addresses, base, scalar};
use super::past::{Now, Past};
use super::undo::{exec_after, writes_exec};
use super::walk::{Inputs, Place, Surroundings, Then};
use super::{Candidate, Memory, Question, page_of};
use crate::arch::Lane;
use crate::error::Result;
use crate::isa::{Reach, ReachKind};

/// The most accesses that are examined.
const MOST_ACCESSES: usize = 64;
/// The most executions of an access in a loop that are examined, from the last one backwards.
const MOST_PASSES: usize = 3;

/// The likelihood that an access faulted, most likely first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likelihood {
    Certain,
    /// Lanes have faulting addresses, and every path has passed the access.
    Passed,
    /// Lanes have faulting addresses.
    Possible,
    /// Lanes have addresses that may be unmapped.
    Unlisted,
    /// Lanes have addresses in memory that no argument points to; it may belong to the host.
    Unexpected,
    /// The addresses are unknown.
    Unknown,
    /// The last execution did not fault, and the addresses of earlier ones, in a loop, are unknown.
    Earlier,
}

/// The assessment of a lane's address, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OfLane {
    AtFault,
    Unlisted,
    Unexpected,
    Sound,
}

/// Finds the accesses that may have faulted.
///
/// # Errors
/// If the budget is exceeded.
pub(crate) fn find(question: &Question<'_, '_>) -> Result<Vec<Candidate>> {
    let wave = question.wave;
    let now = Now::new(wave);
    let wave_size = wave.wave_size();
    let dispatched = wave.dispatch().and_then(|one| one.lanes(wave_size));
    let all = dispatched.unwrap_or(wave_size.mask());
    let inputs = Inputs {
        now: &now,
        flow: question.flow,
        decoder: question.decoder,
        object: question.object,
        all,
        load_address: question.load_address.0,
        meter: question.meter,
    };
    let pc = question.load_address.to_code(question.pc).0;
    let Some((mut surroundings, stop)) = Surroundings::new(inputs, pc) else {
        return Ok(Vec::new());
    };
    let start = Past::at_stop(&now, all);
    let accesses = accesses(&mut surroundings, stop, &start)?;
    let memories = Memories {
        family: question.decoder.family(),
        apertures: wave.apertures(),
        scratch: question.scratch,
    };
    let search = Search {
        question,
        memories,
        stop,
        start,
    };
    let mut found: Vec<(Likelihood, Reverse<bool>, usize, Candidate)> = Vec::new();
    for (distance, (place, reach)) in accesses.into_iter().enumerate() {
        if let Some((likelihood, candidate)) = search.judge(&mut surroundings, place, &reach)? {
            // Accesses that certainly faulted are ranked from the first one on, and others from the nearest to the stop on.
            let is_first = matches!(likelihood, Likelihood::Certain | Likelihood::Passed);
            let rank = match is_first {
                true => MOST_ACCESSES.saturating_sub(distance),
                false => distance,
            };
            found.push((likelihood, Reverse(is_first), rank, candidate));
        }
    }
    found.sort_by_key(|(likelihood, _, rank, _)| (*likelihood, *rank));
    let mut candidates: Vec<Candidate> = Vec::new();
    for (_, _, _, candidate) in found {
        // The same instruction in several activations is reported once.
        if candidates
            .iter()
            .all(|one| one.address != candidate.address)
        {
            candidates.push(candidate);
        }
    }
    Ok(candidates)
}

/// Returns the accesses that may be outstanding, those nearest to the stop first.
fn accesses(
    surroundings: &mut Surroundings<'_, '_>,
    stop: Place,
    start: &Past,
) -> Result<Vec<(Place, Reach)>> {
    let mut found: Vec<(Place, Reach)> = Vec::new();
    surroundings.walk(
        stop,
        start.clone(),
        true,
        &mut |around, place, one, after| {
            if let Some(reach) = around.traits(one).reach
                && after.may_be_outstanding(reach.counter(), reach.is_ordered())
                && found.len() < MOST_ACCESSES
                && found.iter().all(|(known, _)| *known != place)
            {
                found.push((place, reach));
            }
            Then::GoOn
        },
    )?;
    Ok(found)
}

/// A search for the access that faulted.
struct Search<'s, 'q, 'a> {
    question: &'s Question<'q, 'a>,
    memories: Memories,
    stop: Place,
    start: Past,
}

impl Search<'_, '_, '_> {
    /// Returns the likelihood that an access faulted; `None` if it did not.
    fn judge(
        &self,
        surroundings: &mut Surroundings<'_, '_>,
        place: Place,
        reach: &Reach,
    ) -> Result<Option<(Likelihood, Candidate)>> {
        let Some(instruction) = surroundings.instruction(place) else {
            return Ok(None);
        };
        let candidate = Candidate {
            address: instruction.address,
            operation: reach.operation,
            lanes: Vec::new(),
            scalar: None,
            base: None,
            is_certain: false,
            bytes: reach.bytes,
        };
        let mut from = (self.stop, self.start.clone());
        for pass in 0..MOST_PASSES {
            let Some((mut past, has_escaped)) = self.execution(surroundings, place, from)? else {
                return Ok(None);
            };
            if !past.may_be_outstanding(reach.counter(), reach.is_ordered()) {
                return Ok(None);
            }
            surroundings.back_over(&instruction, &mut past);
            if past.surely != past.maybe {
                let (surely, maybe) = self.active(surroundings, place, &past)?;
                past.surely |= surely;
                past.maybe &= maybe;
                if surroundings.is_plain(place) {
                    past.maybe &= !self.question.outside;
                }
            }
            let now = surroundings.inputs.now;
            let candidate = Candidate {
                base: base(now, &past, reach, &self.memories),
                ..candidate.clone()
            };
            let found = self.judge_execution(now, (&past, has_escaped), reach, &candidate);
            match found {
                Some((Likelihood::Unknown, candidate)) if pass > 0 => {
                    return Ok(Some((Likelihood::Earlier, candidate)));
                }
                Some(found) => return Ok(Some(found)),
                // An earlier execution can have faulted, if the access is in a loop.
                None => from = (place, past),
            }
        }
        Ok(Some((Likelihood::Earlier, candidate)))
    }

    /// Goes back to the last execution of an access. Returns the state after it, and true if paths lead elsewhere; `None` if no path leads to it.
    ///
    /// * `from`: a place, and the state before its instruction.
    fn execution(
        &self,
        surroundings: &mut Surroundings<'_, '_>,
        place: Place,
        (from, start): (Place, Past),
    ) -> Result<Option<(Past, bool)>> {
        let now = surroundings.inputs.now;
        let mut at: Option<Past> = None;
        let has_escaped = surroundings.walk(from, start, true, &mut |_, one, _, after| {
            if one != place {
                return Then::GoOn;
            }
            match &mut at {
                Some(known) => drop(known.meet(now, after)),
                None => at = Some(after.clone()),
            }
            Then::Stop
        })?;
        Ok(at.map(|past| (past, has_escaped)))
    }

    /// Returns the likelihood that an execution of an access faulted; `None` if it did not.
    ///
    /// * `past`: the state before the access.
    fn judge_execution(
        &self,
        now: &Now<'_>,
        (past, has_escaped): (&Past, bool),
        reach: &Reach,
        candidate: &Candidate,
    ) -> Option<(Likelihood, Candidate)> {
        if !matches!(reach.kind, ReachKind::Vector(_)) {
            return self.judge_scalar(now, (past, has_escaped), reach, candidate.clone());
        }
        let (touched, is_unknown) = addresses(now, past, reach, past.maybe, &self.memories);
        let is_sure = |lane: u8| past.surely & super::past::bit(lane) != 0;
        let worst_of = |surely: bool| {
            let lanes = touched.iter();
            let lanes = lanes.filter(|(lane, _)| !surely || is_sure(*lane));
            lanes.map(|(_, one)| self.of_lane(one)).min()
        };
        // Lanes that may have been off can have any addresses, which alone are no evidence.
        let worst = match worst_of(false) {
            Some(OfLane::AtFault) => Some(OfLane::AtFault),
            _ => worst_of(true),
        };
        let is_sound = matches!(worst_of(false), Some(OfLane::Sound) | None);
        let is_unknown = is_unknown || (past.surely == 0 && !is_sound);
        // Returns the lanes whose assessment equals the worst.
        let chosen = |surely: bool| {
            let hits = touched.iter().filter(|(lane, touched)| {
                (is_sure(*lane) || !surely) && Some(self.of_lane(touched)) == worst
            });
            let lanes = hits.map(|(lane, touched)| (Lane(*lane), touched.address));
            lanes.collect::<Vec<(Lane, u64)>>()
        };
        let (sure, any) = (chosen(true), chosen(false));
        let has_sure = !sure.is_empty();
        let lanes = if has_sure { sure } else { any };
        let is_passed = !has_escaped && has_sure;
        let found = |likelihood: Likelihood, is_certain: bool| {
            let candidate = Candidate {
                lanes,
                is_certain,
                ..candidate.clone()
            };
            Some((likelihood, candidate))
        };
        match (worst, is_unknown) {
            (Some(OfLane::AtFault), _) if is_passed && self.is_proof(&touched) => {
                found(Likelihood::Certain, true)
            }
            (Some(OfLane::AtFault), _) if is_passed => found(Likelihood::Passed, false),
            (Some(OfLane::AtFault), _) => found(Likelihood::Possible, false),
            (Some(OfLane::Unlisted), _) => found(Likelihood::Unlisted, false),
            (_, true) => Some((Likelihood::Unknown, candidate.clone())),
            (Some(OfLane::Unexpected), false) => found(Likelihood::Unexpected, false),
            // No lane had a faulting address.
            (Some(OfLane::Sound) | None, false) => None,
        }
    }

    fn judge_scalar(
        &self,
        now: &Now<'_>,
        (past, has_escaped): (&Past, bool),
        reach: &Reach,
        candidate: Candidate,
    ) -> Option<(Likelihood, Candidate)> {
        match scalar(now, past, reach) {
            InLane::Unknown => Some((Likelihood::Unknown, candidate)),
            InLane::Nothing => None,
            InLane::At(touched) => {
                let of_lane = self.of_lane(&touched);
                let is_at_fault = of_lane == OfLane::AtFault;
                let is_certain = is_at_fault && !has_escaped && self.is_proof(&[(0, touched)]);
                let candidate = Candidate {
                    scalar: Some(touched.address),
                    is_certain,
                    ..candidate
                };
                let likelihood = match (of_lane, is_certain, has_escaped) {
                    (_, true, _) => Likelihood::Certain,
                    (OfLane::AtFault, false, false) => Likelihood::Passed,
                    (OfLane::AtFault, false, true) => Likelihood::Possible,
                    (OfLane::Unlisted, _, _) => Likelihood::Unlisted,
                    (OfLane::Unexpected, _, _) => Likelihood::Unexpected,
                    (OfLane::Sound, _, _) => return None,
                };
                Some((likelihood, candidate))
            }
        }
    }

    /// Returns the lanes that were certainly active and possibly active at an access, from the operands of earlier writes to EXEC.
    fn active(
        &self,
        surroundings: &mut Surroundings<'_, '_>,
        place: Place,
        past: &Past,
    ) -> Result<(u64, u64)> {
        let (now, all) = (surroundings.inputs.now, surroundings.inputs.all);
        let mut found: BTreeMap<Place, (u64, u64)> = BTreeMap::new();
        let has_escaped = surroundings.walk(
            place,
            past.clone(),
            false,
            &mut |_, one, instruction, after| {
                if !writes_exec(instruction) {
                    return Then::GoOn;
                }
                found.insert(one, exec_after(now, instruction, after, all));
                Then::Stop
            },
        )?;
        if has_escaped || found.is_empty() {
            return Ok((0, all));
        }
        let masks = found.values();
        Ok(masks.fold((all, 0), |(surely, maybe), (one, other)| {
            (surely & one, maybe | other)
        }))
    }

    /// Assesses the address of a lane.
    fn of_lane(&self, touched: &Touched) -> OfLane {
        if self.is_at_fault(touched) {
            return OfLane::AtFault;
        }
        if self.question.fault_address.is_some() {
            return OfLane::Sound;
        }
        let bytes = touched.address..touched.address.saturating_add(touched.bytes);
        let memory = self.question.memory;
        // The wave's own scratch has a generic address, too.
        match (memory.is_missing(bytes.clone()), touched.generic) {
            (_, Some(_)) => OfLane::Sound,
            (Some(false), None) if memory.is_expected(bytes) => OfLane::Sound,
            (Some(false), None) => OfLane::Unexpected,
            (_, None) => OfLane::Unlisted,
        }
    }

    /// Returns true if an access to these bytes faulted, as far as its address determines that.
    fn is_at_fault(&self, touched: &Touched) -> bool {
        let overlaps = |start: u64, page: &core::ops::Range<u64>| {
            start < page.end && start.saturating_add(touched.bytes) > page.start
        };
        match self.question.fault_address {
            Some(address) => {
                let page = page_of(address);
                let starts = [Some(touched.address), touched.generic];
                starts.into_iter().flatten().any(|at| overlaps(at, &page))
            }
            None => {
                let bytes = touched.address..touched.address.saturating_add(touched.bytes);
                let memory: &dyn Memory = self.question.memory;
                touched.is_of_process() && memory.is_missing(bytes) == Some(true)
            }
        }
    }

    /// Returns true if the known memory proves that an access faulted. A page in the core can be readable by the GPU, but not writable.
    fn is_proof(&self, touched: &[(u8, Touched)]) -> bool {
        let hits = touched.iter().filter(|(_, one)| self.is_at_fault(one));
        let mut bytes = hits.map(|(_, one)| one.address..one.address.saturating_add(one.bytes));
        match self.question.fault_address {
            Some(_) => bytes.all(|bytes| self.question.memory.is_missing(bytes) != Some(false)),
            None => true,
        }
    }
}
