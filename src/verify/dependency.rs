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

/// The pseudo-register of the CFA.
pub(super) const CFA: u64 = u64::MAX;

/// The rules on which each rule of a row depends.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependencies {
    edges: BTreeMap<u64, SmallVec<[u64; 2]>>,
}

impl Dependencies {
    /// Sets the registers on which the rule of `register` depends.
    pub(super) fn set(&mut self, register: u64, uses: SmallVec<[u64; 2]>) {
        self.edges.insert(register, uses);
    }

    /// Records that the rule of `register` depends on no other rule.
    #[inline]
    pub(super) fn clear(&mut self, register: u64) {
        // This is true of nearly all rules.
        if !self.edges.is_empty() {
            self.remove(register);
        }
    }

    #[inline(never)]
    fn remove(&mut self, register: u64) {
        self.edges.remove(&register);
    }

    /// Returns the number of rules that depend on others.
    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// Returns the cycle from a register back to itself, as text, if there is one.
    ///
    /// * `needs_cfa`: returns true if the rule of a register depends on the CFA;
    /// * `name`: returns the name of a register in messages.
    pub(super) fn cycle(
        &self,
        start: u64,
        needs_cfa: impl Fn(u64) -> bool,
        name: impl Fn(u64) -> String,
    ) -> Option<String> {
        let counts = |register: u64| register != CFA && needs_cfa(register);
        let goes_on = |register: &u64| self.edges.contains_key(register) || counts(*register);
        let uses = self.edges.get(&start)?;
        if !uses.iter().any(goes_on) && !counts(start) {
            return None;
        }
        // The register from which each register was reached.
        let mut from: BTreeMap<u64, u64> = BTreeMap::new();
        let mut seen = BTreeSet::from([start]);
        let mut work = vec![start];
        while let Some(register) = work.pop() {
            let uses = self.edges.get(&register).map_or(&[][..], |uses| uses);
            let cfa = counts(register).then_some(&CFA);
            for next in uses.iter().chain(cfa) {
                if *next == start {
                    return Some(path(start, register, &from, name));
                }
                if seen.insert(*next) {
                    from.insert(*next, register);
                    work.push(*next);
                }
            }
        }
        None
    }
}

/// Formats the cycle from `start` to `last` and back: `s4 needs s5, which needs s4`.
fn path(
    start: u64,
    last: u64,
    from: &BTreeMap<u64, u64>,
    register_name: impl Fn(u64) -> String,
) -> String {
    let mut way = vec![last];
    let mut at = last;
    while let Some(before) = from.get(&at) {
        way.push(*before);
        at = *before;
    }
    let name = |register: u64| match register {
        CFA => "the CFA".to_owned(),
        register => register_name(register),
    };
    let mut text = name(start);
    let rest = way.iter().rev().skip(1).copied().chain([start]);
    for (number, register) in rest.enumerate() {
        text.push_str(if number == 0 {
            " needs "
        } else {
            ", which needs "
        });
        text.push_str(&name(register));
    }
    text
}
