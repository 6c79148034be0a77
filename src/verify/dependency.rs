//! Rules built upon each other's results, and cycles among them. Source: HET A.6.4.1, *register(R)*, and
//! A.6.4.2, `DW_OP_LLVM_call_frame_entry_reg`.
//!
//! The few edges of a row change with nearly every row, so that they are a map that is searched in place, not a graph of
//! petgraph that would be built for each.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::rule::rules;

rules! {
    CIRCULAR "cfi-circular" Error "HET A.6.4.1"
        "rules depend on each other in a circle"
        "By the text the rule register(R) takes what the same row says of R, and DW_OP_LLVM_call_frame_entry_reg likewise. Where that leads \
         back to the register it started from there is no answer, and the text calls it ill-formed. Readers that take the present contents of R \
         for register(R) have one, others have not: that two registers were swapped cannot be said in this way.";
}

/// Stands for the CFA among the registers.
pub(super) const CFA: u64 = u64::MAX;

/// The rules on which each rule of a row depends.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependencies {
    edges: BTreeMap<u64, SmallVec<[u64; 2]>>,
}

impl Dependencies {
    /// Says which registers the rule of `register` is built upon.
    pub(super) fn set(&mut self, register: u64, uses: SmallVec<[u64; 2]>) {
        self.edges.insert(register, uses);
    }

    /// Says that the rule of `register` is built upon nothing.
    #[inline]
    pub(super) fn clear(&mut self, register: u64) {
        // Nearly all rules are.
        if !self.edges.is_empty() {
            self.remove(register);
        }
    }

    #[inline(never)]
    fn remove(&mut self, register: u64) {
        self.edges.remove(&register);
    }

    /// Returns how many rules are built upon others.
    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// Returns the cycle from a register back to itself, as text, if there is one.
    ///
    /// * `needs_cfa`: whether the rule of a register is built upon the CFA;
    /// * `name`: what people call a register.
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
        // Where each register was reached from.
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

/// `s4 needs s5, which needs s4`: from `start` to `last`, and back.
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
