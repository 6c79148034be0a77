//! What switched the lanes off that are off at a place, as a plan tells it: which bits they have by that, which bits have to be
//! asked for, and which no lane has.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use super::fuel::{Fuel, Left};
use super::function::{FunctionFlow, PossibleSwitch};
use super::lane_plan::LanePlan;
use super::place::DwordPlace;
use super::state::HalfAt;
use super::switches::MOST_KNOWN;
use super::value::Decisions;

/// How much may be known of lanes at one place: a step for each thing that may have switched one off, and for each of its bits.
const MOST: usize = 1 << 13;

/// Returns true if the cause that switched off a lane at a place is wanted.
pub(super) type WantsSwitchOff<'w> = dyn Fn(u8, &LanePlan) -> bool + 'w;

/// What is known of where lanes with some bits were switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwitchOff {
    /// By this instruction. `None` if it is unknown.
    By(Option<u64>),
    /// It depends on the bit of a place.
    Ask(DwordPlace),
}

/// The lanes of one half that may be off before an instruction.
pub(super) struct History<'h> {
    /// Lanes that entered the function, by what switched them off.
    switches: Vec<PossibleSwitch>,
    /// The bits of those that did not enter it.
    never: Vec<Vec<(DwordPlace, bool)>>,
    /// A lane of the half.
    lane: u8,
    wants: &'h WantsSwitchOff<'h>,
    /// As how many steps a look at all of them counts.
    pub(super) cost: usize,
}

impl<'h> History<'h> {
    /// Nothing if it would take too long to tell.
    ///
    /// * `left`: how many instructions may still be gone through, from which those are taken that this takes.
    pub(super) fn find(
        flow: &FunctionFlow<'_>,
        at: HalfAt,
        wants: &'h WantsSwitchOff<'h>,
        left: &mut Left,
    ) -> Option<History<'h>> {
        let before = Fuel::of(MOST_KNOWN);
        let mut of = [before; 2];
        let [of_switches, of_never] = &mut of;
        let switches = flow.find_switches(at, of_switches);
        let never = flow.find_never(at, of_never);
        for of in of {
            left.take(of.since(before));
        }
        let (switches, never) = (switches?, never?);
        let all = switches.iter().map(|one| &one.bits).chain(&never);
        let cost = all.fold(1, |cost: usize, bits| {
            cost.saturating_add(bits.len()).saturating_add(1)
        });
        (cost <= MOST).then_some(History {
            switches,
            never,
            lane: at.half.saturating_mul(32),
            wants,
            cost,
        })
    }

    /// Returns true if a lane may have some bits.
    pub(super) fn is_possible(&self, decisions: &Decisions) -> bool {
        let switches = self.switches.iter().map(|one| &one.bits);
        (switches.chain(&self.never)).any(|bits| decisions.agree_with(bits))
    }

    /// What switched lanes with some bits off that are at a place. `None` if it is of no interest.
    pub(super) fn tell(&self, found: &LanePlan, decisions: &Decisions) -> Option<SwitchOff> {
        (self.wants)(self.lane, found).then(|| self.told(decisions))
    }

    /// Returns what switched lanes with some bits off.
    pub(super) fn told(&self, decisions: &Decisions) -> SwitchOff {
        let switches = self.switches.iter();
        let switches: Vec<_> = switches
            .filter(|one| decisions.agree_with(&one.bits))
            .collect();
        if let [] | [_] = switches.as_slice() {
            return SwitchOff::By(switches.first().map(|one| one.address));
        }
        // How many of them have a clear bit in a place, and a set one.
        let mut counts: BTreeMap<DwordPlace, [usize; 2]> = BTreeMap::new();
        for (place, bit) in switches.iter().flat_map(|one| &one.bits) {
            let [clear, set] = counts.entry(*place).or_default();
            let count = if *bit { set } else { clear };
            *count = count.saturating_add(1);
        }
        let tells = |[clear, set]: [usize; 2]| clear.max(set) < switches.len();
        let undecided = counts
            .into_iter()
            .filter(|(place, _)| decisions.get(*place).is_none());
        // The one that leaves the fewest on either side.
        let best =
            (undecided.filter(|(_, counts)| tells(*counts))).max_by_key(|(place, [clear, set])| {
                (
                    clear.min(set).to_owned(),
                    clear.max(set).to_owned(),
                    Reverse(*place),
                )
            });
        best.map_or(SwitchOff::By(None), |(place, _)| SwitchOff::Ask(place))
    }

    /// Returns true if a plan tells what switched lanes off, as far as it is of interest and their bits tell it.
    pub(super) fn is_told_by(&self, plan: &LanePlan) -> bool {
        let mut work = vec![(plan, Decisions::default())];
        while let Some((plan, decisions)) = work.pop() {
            let left = match plan {
                LanePlan::Ask { place, then } => {
                    for (next, bit) in then.iter().zip([false, true]) {
                        work.push((next, decisions.with(*place, Some(bit))));
                    }
                    continue;
                }
                LanePlan::Resumes { left, .. } | LanePlan::Ends { left, .. } => *left,
                LanePlan::Elsewhere => None,
            };
            let told = self
                .tell(plan, &decisions)
                .filter(|_| self.is_possible(&decisions));
            if told.is_some_and(|told| told != SwitchOff::By(left)) {
                return false;
            }
        }
        true
    }
}
