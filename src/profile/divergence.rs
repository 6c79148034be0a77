//! Finds the instructions that switched off the inactive lanes of samples.
//!
//! A sample has the program counter and EXEC, but no other register, so no mask can be read. The facts about an address that are
//! independent of masks (`lane_flow`) are sufficient if only one instruction may have switched a lane off. Otherwise, the cause is reported
//! as one of several. EXEC is assumed to be the mask at the program counter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::counts::Off;
use super::locate::{Located, locate};
use super::{CodeOf, Profile, ProfilePlace};
use crate::arch::WaveSize;
use crate::error::Error;
use crate::lane_flow::{PlaceOff, Reason};
use crate::meter::Meter;

/// The cause for which lanes were off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The instruction at this address switched the lanes off.
    Branch {
        /// The caller's number for the code object.
        object: u32,
        /// The address in the code object.
        pc: u64,
    },
    /// One of several instructions on the same line switched the lanes off.
    Line,
    /// One of several instructions switched the lanes off.
    Several,
    /// The lanes were off on entry to the function, or an instruction switched them off.
    EntryOrBranch,
    /// The lanes were off on entry to the function.
    OffOnEntry,
    /// The dispatch did not start the lanes.
    NeverDispatched,
    /// The dispatch did not start the lanes, or an instruction switched them off: the size of the dispatch is unknown.
    UnknownDispatch,
    /// The lanes never execute again. One of several instructions ended them.
    Ended,
    /// EXEC does not contain the active lanes there.
    WholeWave,
    /// No instruction can have switched the lanes off: the mask does not belong to the program counter.
    Contradiction,
    /// The code cannot be followed.
    Code,
    /// The analysis exceeded its budget.
    Budget,
}

impl Cause {
    /// Returns the name in JSON documents, unless the cause is a branch.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Cause::Branch { .. } | Cause::Line => return None,
            Cause::Several => "several",
            Cause::EntryOrBranch => "entry-or-branch",
            Cause::OffOnEntry => "off-on-entry",
            Cause::NeverDispatched => "never-dispatched",
            Cause::UnknownDispatch => "unknown-dispatch",
            Cause::Ended => "ended",
            Cause::WholeWave => "whole-wave",
            Cause::Contradiction => "contradiction",
            Cause::Code => "unknown-code",
            Cause::Budget => "limit",
        })
    }

    /// Returns the address of the instruction, if it is a single one.
    #[must_use]
    pub const fn branch(self) -> Option<u64> {
        if let Cause::Branch { pc, .. } = self {
            Some(pc)
        } else {
            None
        }
    }

    /// Returns a description.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Cause::Branch { .. } => "switched off by this instruction",
            Cause::Line => "switched off by one of the instructions of this line",
            Cause::Several => "one of several branches",
            Cause::EntryOrBranch => "off on entry to the function, or by a branch",
            Cause::OffOnEntry => "off on entry to the function",
            Cause::NeverDispatched => "never dispatched",
            Cause::UnknownDispatch => {
                "a branch, or never dispatched: the size of the dispatch is unknown"
            }
            Cause::Ended => "ended, by one of several branches",
            Cause::WholeWave => "in code in which EXEC is not the set of active lanes",
            Cause::Contradiction => {
                "no branch can have switched them off: the mask does not match the address"
            }
            Cause::Code => "the machine code cannot be followed",
            Cause::Budget => "the analysis would take too long",
        }
    }
}

/// Inactive lanes with one cause.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Idle {
    /// The cause.
    pub cause: Cause,
    /// The number of lanes, summed over samples.
    pub lane_samples: u64,
    /// The possible instructions, if there are several: the address and the source position of each.
    pub candidates: Vec<(u64, Option<Located>)>,
    /// The source position of the branch.
    pub located: Option<Located>,
}

/// The cause of inactive lanes, before the lines of instructions are known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Charge {
    Cause(Cause),
    /// One of several instructions of a code object.
    OneOf {
        object: u32,
        pcs: BTreeSet<u64>,
        /// The cause if they are on different lines.
        other: Cause,
        /// True if the lanes may not have entered the function, so that none of the instructions may be the cause.
        or_entry: bool,
    },
}

/// The lines of instructions: the function, the file and the line of each; the address if there is no line.
type Lines = BTreeSet<(Option<Arc<str>>, Option<Arc<str>>, u64)>;

/// The most sets of lines that are distinguished.
const MOST_SETS: usize = 64;

/// Returns the causes for which lanes of samples were inactive, sorted by descending number of lanes. Also returns the error of the first
/// limit that prevented a complete answer.
#[must_use]
pub fn divergence(profile: &Profile<'_, '_>, meter: &Meter) -> (Vec<Idle>, Option<Error>) {
    let mut objects = BTreeMap::new();
    let mut sums: BTreeMap<Charge, u64> = BTreeMap::new();
    for place in &profile.places {
        charge(place, &mut objects, meter, &mut |charge, lanes| {
            let sum = sums.entry(charge).or_default();
            *sum = sum.saturating_add(lanes);
        });
    }
    let mut branches = Branches {
        objects,
        meter,
        known: BTreeMap::new(),
        limit: None,
    };
    let mut found: BTreeMap<Cause, u64> = BTreeMap::new();
    let mut sets: BTreeMap<(Cause, u32, Lines), (u64, BTreeSet<u64>)> = BTreeMap::new();
    for (charge, lanes) in sums {
        match charge {
            Charge::Cause(cause) => {
                let sum = found.entry(cause).or_default();
                *sum = sum.saturating_add(lanes);
            }
            Charge::OneOf {
                object,
                pcs,
                other,
                or_entry,
            } => {
                let lines = branches.lines(object, &pcs);
                let is_line = !or_entry
                    && lines.len() == 1
                    && lines.iter().all(|(_, file, _)| file.is_some());
                let cause = if is_line { Cause::Line } else { other };
                let (sum, all) = sets.entry((cause, object, lines)).or_default();
                *sum = sum.saturating_add(lanes);
                all.extend(pcs);
            }
        }
    }
    let mut all: Vec<Idle> = Vec::new();
    let mut sets: Vec<_> = sets.into_iter().collect();
    sets.sort_by_key(|(_, (lanes, _))| core::cmp::Reverse(*lanes));
    for ((cause, object, _), (lane_samples, pcs)) in sets {
        if all.len() >= MOST_SETS && cause != Cause::Line {
            let sum = found.entry(cause).or_default();
            *sum = sum.saturating_add(lane_samples);
            continue;
        }
        let pcs = pcs.into_iter();
        let candidates: Vec<_> = pcs.map(|pc| (pc, branches.locate(object, pc))).collect();
        let first = candidates.first().and_then(|(_, located)| located.clone());
        all.push(Idle {
            cause,
            lane_samples,
            candidates,
            located: first.filter(|_| cause == Cause::Line),
        });
    }
    for (cause, lane_samples) in found {
        let located = if let Cause::Branch { object, pc } = cause {
            branches.locate(object, pc)
        } else {
            None
        };
        all.push(Idle {
            cause,
            lane_samples,
            candidates: Vec::new(),
            located,
        });
    }
    all.sort_by_key(|idle| core::cmp::Reverse(idle.lane_samples));
    (all, branches.limit.or_else(|| meter.refused()))
}

/// The source positions of branches. Each is looked up once.
struct Branches<'m, 'p, 'a> {
    objects: BTreeMap<u32, CodeOf<'p, 'a>>,
    meter: &'m Meter,
    known: BTreeMap<(u32, u64), Option<Located>>,
    limit: Option<Error>,
}

impl Branches<'_, '_, '_> {
    fn locate(&mut self, object: u32, address: u64) -> Option<Located> {
        if let Some(known) = self.known.get(&(object, address)) {
            return known.clone();
        }
        let code = self.objects.get(&object)?;
        let found = locate(CodeOf { address, ..*code }, self.meter);
        let found = found.unwrap_or_else(|error| {
            self.limit.get_or_insert(error);
            None
        });
        let bytes = found.as_ref().map_or(0, Located::bytes);
        if let Err(error) = self.meter.hold(bytes) {
            self.limit.get_or_insert(error);
        }
        self.known.insert((object, address), found.clone());
        found
    }

    /// Returns the lines of instructions.
    fn lines(&mut self, object: u32, pcs: &BTreeSet<u64>) -> Lines {
        let mut lines = BTreeSet::new();
        for pc in pcs {
            let located = self.locate(object, *pc);
            let position = located.as_ref().and_then(|one| one.frames.first());
            let line = position.and_then(|one| Some((one.file.clone()?, one.line?)));
            let function = position.and_then(|one| one.function.clone());
            lines.insert(match line {
                Some((file, line)) => (function, Some(file), line),
                None => (function, None, *pc),
            });
        }
        lines
    }
}

/// Assigns the inactive lanes at a place to causes.
fn charge<'p, 'a>(
    place: &ProfilePlace<'p, 'a>,
    objects: &mut BTreeMap<u32, CodeOf<'p, 'a>>,
    meter: &Meter,
    give: &mut dyn FnMut(Charge, u64),
) {
    let (Some(code), Some(wave_size)) = (place.code, place.located.wave_size) else {
        return;
    };
    let [of_32, of_64] = &place.counts.off;
    let (off, halves) = match wave_size {
        WaveSize::Wave32 => (of_32, 1),
        WaveSize::Wave64 => (of_64, 2),
    };
    let Off {
        started,
        never,
        unsure,
    } = off;
    if [started, never, unsure]
        .iter()
        .all(|lanes| **lanes == [0; 2])
    {
        return;
    }
    objects.insert(code.object, code);
    let found = (code.program.lane_flow(wave_size)).possibly_off(code.address, meter);
    let sums = started.iter().zip(never).zip(unsure).take(halves);
    for (half, ((started, never), unsure)) in sums.enumerate() {
        let charges = causes(&found, half, code.object);
        for (charge, lanes) in charges.into_iter().zip([*started, *never, *unsure]) {
            if lanes != 0 {
                give(charge, lanes);
            }
        }
    }
}

/// Returns the causes of inactive lanes of a half: lanes that the dispatch started, that it did not start, and that it may have started.
fn causes(found: &Result<PlaceOff, Reason>, half: usize, object: u32) -> [Charge; 3] {
    let same = |cause| {
        let never = Charge::Cause(Cause::NeverDispatched);
        [Charge::Cause(cause), never, Charge::Cause(cause)]
    };
    let place = match found {
        Ok(place) => place,
        Err(reason) => return same(unknown(*reason)),
    };
    let Some(possible) = place.halves.get(half) else {
        return same(Cause::Code);
    };
    let mut switches = possible.switches.iter();
    let only = match (switches.next(), switches.next()) {
        (None, _) => None,
        (Some(&pc), None) if place.is_kernel => Some(Charge::Cause(Cause::Branch { object, pc })),
        (Some(_), _) => Some(Charge::OneOf {
            object,
            pcs: possible.switches.clone(),
            other: match (place.is_kernel, possible.has_ended) {
                (false, _) => Cause::EntryOrBranch,
                (true, true) => Cause::Ended,
                (true, false) => Cause::Several,
            },
            or_entry: !place.is_kernel,
        }),
    };
    let [_, never, _] = same(Cause::NeverDispatched);
    match (place.is_kernel, only) {
        (true, None) => [Charge::Cause(Cause::Contradiction), never.clone(), never],
        (true, Some(charge)) => [charge, never, Charge::Cause(Cause::UnknownDispatch)],
        (false, None) => same(Cause::OffOnEntry),
        (false, Some(charge)) => [charge.clone(), never, charge],
    }
}

fn unknown(reason: Reason) -> Cause {
    match reason {
        Reason::WholeWave => Cause::WholeWave,
        Reason::Budget => Cause::Budget,
        Reason::NoFunction
        | Reason::Code
        | Reason::Jump
        | Reason::Mask
        | Reason::Ambiguous
        | Reason::Endless
        | Reason::Unavailable(_)
        | Reason::Caller
        | Reason::Callee
        | Reason::Dispatch
        | Reason::SeveralEnds => Cause::Code,
    }
}
