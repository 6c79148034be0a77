//! Finds rules that depend on each other in a cycle. Source: HET A.6.4.1, *register(R)*, and A.6.4.2, `DW_OP_LLVM_call_frame_entry_reg`.
//!
//! A row has few edges, and they change with nearly every row. A map that is searched in place is therefore used, instead of a `petgraph` graph for
//! each row.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::rule::rules;

rules! {
    CIRCULAR "cfi-circular" Error "HET A.6.4.1"
        "rules depend on each other in a circle"
        "According to the specification, the rule register(R) and DW_OP_LLVM_call_frame_entry_reg use the rule of R in the same row. If that \
         leads back to the first register, the rules are ill-formed and have no result. Some readers use the current contents of R instead. A \
         swap of two registers cannot be described in this way.";
}

/// The CFA or a register, each of which has a rule in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ruled {
    Cfa,
    Register(u64),
}

/// The rules on which each rule of a row depends.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependencies {
    /// The registers that each rule needs. Nearly all rules need none.
    edges: BTreeMap<Ruled, SmallVec<[u64; 2]>>,
}

impl Dependencies {
    /// Sets the registers on which a rule depends.
    pub(super) fn set(&mut self, ruled: Ruled, uses: SmallVec<[u64; 2]>) {
        if uses.is_empty() {
            self.clear(ruled);
        } else {
            self.edges.insert(ruled, uses);
        }
    }

    /// Records that a rule depends on no register.
    #[inline]
    pub(super) fn clear(&mut self, ruled: Ruled) {
        if !self.edges.is_empty() {
            self.remove(ruled);
        }
    }

    #[inline(never)]
    fn remove(&mut self, ruled: Ruled) {
        self.edges.remove(&ruled);
    }

    /// Gives a rule the dependencies that it has in another row.
    #[inline]
    pub(super) fn restore(&mut self, ruled: Ruled, other: &Dependencies) {
        match other.edges.get(&ruled) {
            Some(uses) => self.set(ruled, uses.clone()),
            None => self.clear(ruled),
        }
    }

    /// Returns the number of rules that depend on registers.
    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// Returns true if a rule needs a register, or a CFA that needs one.
    ///
    /// * `needs_cfa`: returns true if the rule of a register depends on the CFA.
    pub(super) fn goes_on(&self, ruled: Ruled, needs_cfa: &impl Fn(u64) -> bool) -> bool {
        self.edges.contains_key(&ruled) || self.goes_to_cfa(ruled, needs_cfa)
    }

    fn goes_to_cfa(&self, ruled: Ruled, needs_cfa: &impl Fn(u64) -> bool) -> bool {
        // A CFA that needs no register is in no cycle.
        let is_needed = matches!(ruled, Ruled::Register(number) if needs_cfa(number));
        is_needed && self.edges.contains_key(&Ruled::Cfa)
    }

    /// Returns the cycle from a rule back to itself, as text, if there is one.
    ///
    /// * `needs_cfa`: see [`goes_on`](Self::goes_on);
    /// * `name`: returns the name of a register in messages.
    pub(super) fn cycle(
        &self,
        start: Ruled,
        needs_cfa: &impl Fn(u64) -> bool,
        name: impl Fn(u64) -> String,
    ) -> Option<String> {
        let uses_of = |ruled: Ruled| {
            let uses = self.edges.get(&ruled).map_or(&[][..], |uses| uses);
            let cfa = self.goes_to_cfa(ruled, needs_cfa).then_some(Ruled::Cfa);
            uses.iter().copied().map(Ruled::Register).chain(cfa)
        };
        if !uses_of(start).any(|next| self.goes_on(next, needs_cfa)) {
            return None;
        }
        // The rule from which each rule was reached.
        let mut from: BTreeMap<Ruled, Ruled> = BTreeMap::new();
        let mut seen = BTreeSet::from([start]);
        let mut work = vec![start];
        while let Some(ruled) = work.pop() {
            for next in uses_of(ruled) {
                if next == start {
                    return Some(path(start, ruled, &from, name));
                }
                if seen.insert(next) {
                    from.insert(next, ruled);
                    work.push(next);
                }
            }
        }
        None
    }
}

/// Formats the cycle from `start` to `last` and back: `s4 needs s5, which needs s4`.
fn path(
    start: Ruled,
    last: Ruled,
    from: &BTreeMap<Ruled, Ruled>,
    register_name: impl Fn(u64) -> String,
) -> String {
    let mut way = vec![last];
    let mut at = last;
    while let Some(before) = from.get(&at) {
        way.push(*before);
        at = *before;
    }
    let name = |ruled: Ruled| match ruled {
        Ruled::Cfa => "the CFA".to_owned(),
        Ruled::Register(number) => register_name(number),
    };
    let mut text = name(start);
    let rest = way.iter().rev().skip(1).copied().chain([start]);
    for (number, ruled) in rest.enumerate() {
        text.push_str(if number == 0 {
            " needs "
        } else {
            ", which needs "
        });
        text.push_str(&name(ruled));
    }
    text
}
