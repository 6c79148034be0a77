//! Sets of lanes, relative to the lanes that were active on entry.
//!
//! A divergent branch splits the set of active lanes by a condition, and the join reunites the parts. To detect that the join restores the
//! earlier set, conditions have names. A set is a truth table over a few of them.

/// The most conditions that a set can depend on. With deeper nesting, the set becomes unknown.
const CONDITIONS: usize = 4;
/// Marks an unused condition.
const NO_CONDITION: u16 = u16::MAX;

/// The lanes active on entry that are in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    /// The lanes for which the table has a one. Bit `n` of the table is for lanes for which exactly the conditions at the set bits of `n`
    /// are true.
    Table {
        table: u16,
        /// The conditions: the offsets, in dwords, of the instructions that compute them, ascending.
        conditions: [u16; CONDITIONS],
    },
    /// An unknown part of the active lanes.
    Some {
        /// True if the part is smaller than the whole in some runs.
        less: bool,
    },
}

/// The other lanes that are in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    None,
    All,
    Unknown,
}

/// A set of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mask {
    inside: Inside,
    outside: Outside,
}

/// The part of a set of lanes that is in another set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Nothing.
    None,
    /// Everything.
    All,
    /// Less than everything, in some runs.
    Less,
    /// Unknown.
    Unknown,
}

impl Mask {
    /// No lane.
    pub(super) const NONE: Mask = Mask::constant(0, Outside::None);
    /// The lanes active on entry.
    pub(super) const ENTRY: Mask = Mask::constant(u16::MAX, Outside::None);
    /// All lanes.
    pub(super) const ALL: Mask = Mask::constant(u16::MAX, Outside::All);
    /// Any lanes.
    pub(super) const UNKNOWN: Mask = Mask {
        inside: Inside::Some { less: false },
        outside: Outside::Unknown,
    };

    const fn constant(table: u16, outside: Outside) -> Mask {
        Mask {
            inside: Inside::Table {
                table,
                conditions: [NO_CONDITION; CONDITIONS],
            },
            outside,
        }
    }

    /// Returns the lanes for which the condition was true that the instruction at this offset, in bytes, computed last.
    pub(super) fn condition(at: u32) -> Mask {
        let inside = match condition_of(at) {
            Some(first) => {
                let mut conditions = [NO_CONDITION; CONDITIONS];
                if let Some(slot) = conditions.first_mut() {
                    *slot = first;
                }
                Inside::Table {
                    table: 0xaaaa,
                    conditions,
                }
            }
            None => Inside::Some { less: true },
        };
        Mask {
            inside,
            outside: Outside::Unknown,
        }
    }

    /// Returns the part of the lanes active on entry that the set contains.
    pub(super) fn active(self) -> Part {
        match self.inside {
            Inside::Table { table: 0, .. } => Part::None,
            Inside::Table {
                table: u16::MAX, ..
            } => Part::All,
            Inside::Table { .. } | Inside::Some { less: true } => Part::Less,
            Inside::Some { less: false } => Part::Unknown,
        }
    }

    /// Returns the part of the lanes inactive on entry that the set contains.
    pub(super) fn inactive(self) -> Part {
        match self.outside {
            Outside::None => Part::None,
            Outside::All => Part::All,
            Outside::Unknown => Part::Unknown,
        }
    }

    /// Returns true if it depends on the condition of the instruction at this offset, in bytes.
    pub(super) fn depends_on(self, at: u32) -> bool {
        match self.inside {
            Inside::Table { conditions, .. } => {
                condition_of(at).is_some_and(|condition| conditions.contains(&condition))
            }
            Inside::Some { .. } => false,
        }
    }

    /// Returns the set, without its conditions.
    pub(super) fn forget(self) -> Mask {
        let less = matches!(self.active(), Part::None | Part::Less);
        Mask {
            inside: Inside::Some { less },
            ..self
        }
    }

    /// Returns the lanes in both.
    pub(super) fn and(self, other: Mask) -> Mask {
        let inside = self.inside.combine(other.inside, |a, b| a & b);
        let none = [self, other].iter().any(|one| one.active() == Part::None);
        let less = [self, other].iter().any(|one| one.active() == Part::Less);
        let outside = match (self.outside, other.outside) {
            (Outside::None, _) | (_, Outside::None) => Outside::None,
            (Outside::All, one) | (one, Outside::All) => one,
            (Outside::Unknown, Outside::Unknown) => Outside::Unknown,
        };
        let inside = match inside {
            _ if none => Mask::NONE.inside,
            Inside::Some { .. } => Inside::Some { less },
            table @ Inside::Table { .. } => table,
        };
        Mask { inside, outside }
    }

    /// Returns the lanes in either.
    pub(super) fn or(self, other: Mask) -> Mask {
        let all = [self, other].iter().any(|one| one.active() == Part::All);
        let outside = match (self.outside, other.outside) {
            (Outside::All, _) | (_, Outside::All) => Outside::All,
            (Outside::None, one) | (one, Outside::None) => one,
            (Outside::Unknown, Outside::Unknown) => Outside::Unknown,
        };
        let inside = if all {
            Mask::ENTRY.inside
        } else if self.active() == Part::None {
            other.inside
        } else if other.active() == Part::None {
            self.inside
        } else {
            self.inside.combine(other.inside, |a, b| a | b)
        };
        Mask { inside, outside }
    }

    /// Returns the lanes in one but not in the other.
    pub(super) fn xor(self, other: Mask) -> Mask {
        let outside = match (self.outside, other.outside) {
            (Outside::Unknown, _) | (_, Outside::Unknown) => Outside::Unknown,
            (one, other) if one == other => Outside::None,
            (_, _) => Outside::All,
        };
        let inside = if self.active() == Part::None {
            other.inside
        } else if other.active() == Part::None {
            self.inside
        } else {
            self.inside.combine(other.inside, |a, b| a ^ b)
        };
        Mask { inside, outside }
    }

    /// Returns the other lanes.
    pub(super) fn not(self) -> Mask {
        self.xor(Mask::ALL)
    }

    /// Returns the facts that hold for both.
    pub(super) fn join(self, other: Mask) -> Mask {
        let outside = if self.outside == other.outside {
            self.outside
        } else {
            Outside::Unknown
        };
        let inside = if self.inside == other.inside {
            self.inside
        } else {
            let is_less = |mask: Mask| matches!(mask.active(), Part::None | Part::Less);
            Inside::Some {
                less: is_less(self) || is_less(other),
            }
        };
        Mask { inside, outside }
    }

    /// Returns true if no lane of the set was inactive on entry.
    pub(super) fn is_within_entry(self) -> bool {
        self.outside == Outside::None
    }
}

fn condition_of(at: u32) -> Option<u16> {
    (u16::try_from(at / 4).ok()).filter(|condition| *condition != NO_CONDITION)
}

impl Inside {
    /// Applies an operation to the truth tables of two sets.
    fn combine(self, other: Inside, operation: impl Fn(u16, u16) -> u16) -> Inside {
        let unknown = Inside::Some { less: false };
        let (
            Inside::Table {
                table: a,
                conditions: of_a,
            },
            Inside::Table {
                table: b,
                conditions: of_b,
            },
        ) = (self, other)
        else {
            return unknown;
        };
        let mut union: smallvec::SmallVec<[u16; 8]> = of_a.into_iter().chain(of_b).collect();
        union.retain(|condition| *condition != NO_CONDITION);
        union.sort_unstable();
        union.dedup();
        let result = |union: &[u16]| operation(spread(a, &of_a, union), spread(b, &of_b, union));
        if union.len() > CONDITIONS {
            return unknown;
        }
        let table = result(&union);
        // Conditions that the table does not depend on are left out.
        let mut kept: smallvec::SmallVec<[u16; 8]> = smallvec::SmallVec::new();
        for (n, condition) in union.iter().enumerate() {
            if depends(table, n) {
                kept.push(*condition);
            }
        }
        let mut conditions = [NO_CONDITION; CONDITIONS];
        for (slot, condition) in conditions.iter_mut().zip(&kept) {
            *slot = *condition;
        }
        let mut padded = [NO_CONDITION; CONDITIONS];
        for (slot, condition) in padded.iter_mut().zip(&union) {
            *slot = *condition;
        }
        Inside::Table {
            table: spread(table, &padded, &kept),
            conditions,
        }
    }
}

/// Returns true if the table depends on the condition at position `n`.
fn depends(table: u16, n: usize) -> bool {
    let step = 1u32.checked_shl(u32::try_from(n).unwrap_or(0)).unwrap_or(0);
    (0u32..16)
        .filter(|index| index & step == 0)
        .any(|index| bit(table, index) != bit(table, index | step))
}

fn bit(table: u16, index: u32) -> bool {
    table.checked_shr(index).unwrap_or(0) & 1 != 0
}

/// Converts a table over some conditions to one over others. A condition that is only in the first counts as false, which has no effect if
/// the table does not depend on it.
fn spread(table: u16, from: &[u16; CONDITIONS], to: &[u16]) -> u16 {
    (0u32..16).fold(0, |spread, index| {
        let source = (from.iter().zip(0u32..)).fold(0, |source, (condition, n)| {
            let place = (0u32..).zip(to).find(|(_, other)| *other == condition);
            let is_met =
                place.is_some_and(|(place, _)| index.checked_shr(place).unwrap_or(0) & 1 != 0);
            if is_met {
                source | 1u32.checked_shl(n).unwrap_or(0)
            } else {
                source
            }
        });
        let one = 1u16.checked_shl(index).unwrap_or(0);
        if bit(table, source) {
            spread | one
        } else {
            spread
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_if_with_an_else_has_the_lanes_of_its_beginning() {
        // exec = c; s0 = exec ^ s0; s_and_not1_saveexec s0, s0; exec = exec | s0.
        let then = Mask::condition(0x40).and(Mask::ENTRY);
        let saved = then.xor(Mask::ENTRY);
        assert_eq!(then.active(), Part::Less);
        let otherwise = saved.and(then.not());
        assert_eq!(otherwise.or(then), Mask::ENTRY);
        assert_eq!(otherwise.and(then), Mask::NONE);
    }

    #[test]
    fn nested_conditions_come_apart_again() {
        let [a, b, c, d, e] = [4, 8, 12, 16, 20].map(Mask::condition);
        let inner = Mask::ENTRY.and(d).and(b).and(c).and(a);
        assert_eq!(inner, Mask::ENTRY.and(a).and(b).and(c).and(d));
        let rest = Mask::ENTRY.and(inner.not());
        assert_eq!(rest.or(inner), Mask::ENTRY);
        // With one condition too many, the set is only known to be smaller.
        let lost = inner.and(e);
        assert_eq!((lost.active(), lost.inactive()), (Part::Less, Part::None));
        assert_eq!(lost.or(inner).active(), Part::Unknown);
        assert_eq!(lost.or(Mask::ENTRY), Mask::ENTRY);
    }

    #[test]
    fn paths_that_differ_leave_what_may_be() {
        let some = Mask::ENTRY.and(Mask::condition(4));
        let joined = some.join(Mask::ENTRY);
        assert_eq!(
            (joined.active(), joined.inactive()),
            (Part::Less, Part::None)
        );
        assert_eq!(
            Mask::ENTRY.not().join(Mask::ENTRY).inactive(),
            Part::Unknown
        );
        assert_eq!(Mask::ENTRY.not().not(), Mask::ENTRY);
        assert!(some.depends_on(4) && !some.depends_on(8) && !some.forget().depends_on(4));
    }
}
