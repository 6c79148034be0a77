//! Switch-offs of the inactive lanes at one place of a plan. They determine the bits that lanes have, the bits to ask for, and the
//! combinations that no lane has.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use super::fuel::{Fuel, Left};
use super::function::{FunctionFlow, PossibleSwitch};
use super::lane_plan::LanePlan;
use super::place::DwordPlace;
use super::state::HalfAt;
use super::switches::MOST_KNOWN;
use super::value::Decisions;

/// The most facts about the lanes at one place: one step for each possible switch-off, and one for each of its bits.
const MOST: usize = 1 << 13;

/// Returns true if the switch-off of a lane at a place is needed.
pub(super) type WantsSwitchOff<'w> = dyn Fn(u8, &LanePlan) -> bool + 'w;

/// The known facts about the switch-off of lanes with some bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwitchOff {
    /// This instruction. `None` if it is unknown.
    By(Option<u64>),
    /// The bit of a place decides.
    Ask(DwordPlace),
}

/// The lanes of one half that may be off before an instruction.
pub(super) struct History<'h> {
    /// The possible switch-offs of lanes that entered the function.
    switches: Vec<PossibleSwitch>,
    /// The bits of lanes that did not enter it.
    never: Vec<Vec<(DwordPlace, bool)>>,
    /// The first lane of the half.
    lane: u8,
    wants: &'h WantsSwitchOff<'h>,
    /// The cost of a scan of all these facts, in instructions.
    pub(super) cost: usize,
}

impl<'h> History<'h> {
    /// Finds the lanes that may be off. Returns `None` if the budget is exceeded.
    ///
    /// * `left`: the budget that is charged.
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

    /// Returns true if a lane may have the decided bits.
    pub(super) fn is_possible(&self, decisions: &Decisions) -> bool {
        let switches = self.switches.iter().map(|one| &one.bits);
        (switches.chain(&self.never)).any(|bits| decisions.agree_with(bits))
    }

    /// Returns the switch-off of the lanes with the decided bits. `None` if it is not needed.
    pub(super) fn tell(&self, found: &LanePlan, decisions: &Decisions) -> Option<SwitchOff> {
        (self.wants)(self.lane, found).then(|| self.told(decisions))
    }

    /// Returns the switch-off of the lanes with the decided bits.
    pub(super) fn told(&self, decisions: &Decisions) -> SwitchOff {
        let switches = self.switches.iter();
        let switches: Vec<_> = switches
            .filter(|one| decisions.agree_with(&one.bits))
            .collect();
        if let [] | [_] = switches.as_slice() {
            return SwitchOff::By(switches.first().map(|one| one.address));
        }
        // The numbers of switch-offs with a clear bit and with a set bit, by place.
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
        // The place that leaves the fewest switch-offs on either side.
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

    /// Returns true if a plan states the needed switch-offs, as far as the bits of the lanes determine them.
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
