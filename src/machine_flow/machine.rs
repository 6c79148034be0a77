//! The known contents of registers and scratch at one place of the code.

use core::fmt;
use std::borrow::Cow;
use std::sync::Arc;

use super::scalars::{Scalar, Scalars, scalar_index};
use crate::flat::Flat;
use crate::isa::{MachineRegister, Operand};

/// The most vector registers and rows of scratch that are kept. Functions that save all registers need fewer.
const MOST: usize = 1024;

/// A row of scratch: a dword for each lane, at a distance from a base. Rows are sorted by their bases first.
pub(crate) trait Row: Copy + Ord + fmt::Debug {
    /// Returns true if both have the same base, so that different distances are different places.
    fn is_comparable(self, other: Self) -> bool;

    /// Returns the distance from the base, in bytes of one lane.
    fn offset(self) -> i64;

    /// Returns the row at another distance from the same base.
    fn at(self, offset: i64) -> Self;

    /// Returns true if `other` is this row or one above it, or may be.
    fn reaches(self, other: Self) -> bool {
        !self.is_comparable(other) || self <= other
    }

    /// Returns true if a callee whose scratch begins at `first` may write this row, which its caller has stored.
    fn is_given_with(self, first: Self) -> bool {
        first.reaches(self)
    }
}

/// The known contents of a vector register or a row of scratch: an element of a lattice.
pub(crate) trait Lanes: Clone + Eq + fmt::Debug {
    /// The known contents of one lane, or of a scalar register.
    type Scalar: Scalar;
    /// The unit into which scratch is divided.
    type Row: Row;

    /// The top: nothing is known.
    const UNKNOWN: Self;
    /// The result of an instruction that is not followed.
    const COMPUTED: Self = Self::UNKNOWN;

    /// Returns the initial contents of a vector register.
    fn of_register(register: MachineRegister) -> Self;

    /// Returns the initial contents of a row of scratch.
    fn of_row(row: Self::Row) -> Self;

    /// Returns the known contents of one lane.
    fn lane(&self, lane: u8) -> Self::Scalar;

    /// Returns the join of the contents at the ends of two paths, or `None` if `self` does not change.
    fn join(&self, other: &Self) -> Option<Self>;
}

/// A map whose copies share unchanged parts.
type Map<K, L> = Arc<Flat<K, L>>;

/// The known contents of registers and scratch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine<L: Lanes> {
    pub(crate) scalars: Scalars<L::Scalar>,
    /// The vector registers that may differ from their initial contents.
    pub(crate) vectors: Map<MachineRegister, L>,
    /// The rows that were stored.
    pub(crate) rows: Map<L::Row, L>,
    /// True if it is unknown which vector registers were written.
    pub(crate) vectors_lost: bool,
    /// True if stores went to unknown places: rows that are not listed are unknown.
    pub(crate) rows_lost: bool,
    /// The first row that callees may have written.
    pub(crate) callees_from: Option<L::Row>,
}

impl<L: Lanes> Machine<L> {
    /// Creates the initial state of an analysis.
    pub(crate) fn new(scalar: impl Fn(MachineRegister) -> L::Scalar) -> Machine<L> {
        Machine {
            scalars: Scalars::all(scalar),
            vectors: Arc::default(),
            rows: Arc::default(),
            vectors_lost: false,
            rows_lost: false,
            callees_from: None,
        }
    }

    /// Returns dword `n` of an operand.
    pub(crate) fn operand(&self, operand: Operand, n: u8) -> L::Scalar {
        let half = |wide: u64| {
            let shifted = wide.checked_shr(u32::from(n) * 32);
            let half = u32::try_from(shifted.unwrap_or(0) & u64::from(u32::MAX));
            half.map_or(L::Scalar::COMPUTED, L::Scalar::of_word)
        };
        match operand {
            Operand::Registers(span) => match span.first.plus(n).map(scalar_index) {
                Some(Some(index)) => self.scalars.at(index),
                Some(None) => L::Scalar::COMPUTED,
                None => L::Scalar::UNKNOWN,
            },
            Operand::Integer(value) => half(i64::from(value).cast_unsigned()),
            Operand::Literal(value) if n == 0 => L::Scalar::of_word(value),
            Operand::Literal64(value) => half(value),
            Operand::Null => L::Scalar::of_word(0),
            Operand::Literal(_) | Operand::Float(_) | Operand::Other(_) => L::Scalar::COMPUTED,
        }
    }

    /// Returns a vector or accumulation register.
    pub(crate) fn vector(&self, register: MachineRegister) -> Cow<'_, L> {
        match self.vectors.get(register) {
            Some(vector) => Cow::Borrowed(vector),
            None if self.vectors_lost => Cow::Owned(L::UNKNOWN),
            None => Cow::Owned(L::of_register(register)),
        }
    }

    /// Changes a vector register.
    pub(crate) fn set_vector(&mut self, register: MachineRegister, vector: L) {
        if self.vectors_lost {
            return;
        }
        let known = self.vectors.get(register);
        if known.is_none() && self.vectors.len() >= MOST {
            self.lose_vectors();
        } else if known != Some(&vector) {
            Arc::make_mut(&mut self.vectors).insert(register, vector);
        }
    }

    /// Changes a vector register in place.
    pub(crate) fn change_vector(&mut self, register: MachineRegister, change: impl FnOnce(&mut L)) {
        if !self.vectors_lost {
            let vectors = Arc::make_mut(&mut self.vectors);
            vectors.change(register, || L::of_register(register), change);
        }
    }

    /// Makes all vector registers unknown, permanently.
    pub(crate) fn lose_vectors(&mut self) {
        self.vectors_lost = true;
        self.vectors = Arc::default();
    }

    /// Returns a row of scratch.
    pub(crate) fn row(&self, row: L::Row) -> Cow<'_, L> {
        match self.rows.get(row) {
            Some(lanes) => Cow::Borrowed(lanes),
            None if self.is_lost(row) => Cow::Owned(L::UNKNOWN),
            None => Cow::Owned(L::of_row(row)),
        }
    }

    /// Returns true if a row may have been written through an unknown address.
    fn is_lost(&self, row: L::Row) -> bool {
        self.rows_lost
            || self.has_other_base(row)
            || self.callees_from.is_some_and(|first| first.reaches(row))
    }

    /// Returns true if there are rows with another base, which may be the same places.
    pub(crate) fn has_other_base(&self, row: L::Row) -> bool {
        let ends = self.rows.ends().into_iter().flatten();
        ends.into_iter().any(|known| !known.is_comparable(row))
    }

    /// Changes a row of scratch.
    pub(crate) fn set_row(&mut self, row: L::Row, lanes: L) {
        if self.has_other_base(row) {
            Arc::make_mut(&mut self.rows).retain(|known| known.is_comparable(row));
            self.rows_lost = true;
        }
        let known = self.rows.get(row);
        if known.is_none() && self.rows.len() >= MOST {
            self.rows_lost = true;
        } else if known != Some(&lanes) {
            Arc::make_mut(&mut self.rows).insert(row, lanes);
        }
    }

    /// Makes scratch unknown, except for later stores.
    pub(crate) fn lose_rows(&mut self) {
        self.rows_lost = true;
        self.rows = Arc::default();
    }

    /// Records that the scratch of a callee begins at this row.
    pub(crate) fn give_to_callee(&mut self, first: L::Row) {
        self.add_callees(first);
        if self.rows.keys().any(|row| row.is_given_with(first)) {
            Arc::make_mut(&mut self.rows).retain(|row| !row.is_given_with(first));
        }
    }

    fn add_callees(&mut self, first: L::Row) {
        match self.callees_from {
            Some(known) if !known.is_comparable(first) => self.lose_rows(),
            known => self.callees_from = Some(known.map_or(first, |known| known.min(first))),
        }
    }

    /// Joins the facts at the end of another path. Returns true if this changes anything.
    pub(crate) fn join(&mut self, other: &Machine<L>) -> bool {
        let mut is_new = self.scalars.join(&other.scalars);
        if self.vectors_lost || other.vectors_lost {
            is_new |= !self.vectors_lost;
            self.lose_vectors();
        } else if !Arc::ptr_eq(&self.vectors, &other.vectors) {
            let news = news(
                [&self.vectors, &other.vectors],
                |register| self.vector(register),
                |register| other.vector(register),
            );
            is_new |= insert(&mut self.vectors, news);
        }
        if self.rows_lost != other.rows_lost || !Arc::ptr_eq(&self.rows, &other.rows) {
            let news = news(
                [&self.rows, &other.rows],
                |row| self.row(row),
                |row| other.row(row),
            );
            is_new |= other.rows_lost && !self.rows_lost;
            self.rows_lost |= other.rows_lost;
            is_new |= insert(&mut self.rows, news);
        }
        if let Some(first) = other.callees_from {
            let before = (self.rows_lost, self.callees_from);
            self.add_callees(first);
            is_new |= before != (self.rows_lost, self.callees_from);
        }
        is_new
    }
}

/// Returns the entries to insert into one map so that it becomes the join of two.
///
/// * `here`, `there`: return the contents of entries that are not listed.
fn news<'m, K: Copy + Ord, L: Lanes + 'm>(
    [one, other]: [&Flat<K, L>; 2],
    here: impl Fn(K) -> Cow<'m, L>,
    there: impl Fn(K) -> Cow<'m, L>,
) -> Vec<(K, L)> {
    let joined = Flat::either(one, other).filter_map(|(key, known, new)| {
        let joined = match (known, new) {
            (Some(known), Some(new)) => known.join(new),
            (Some(known), None) => known.join(&there(key)),
            (None, Some(new)) => {
                let here = here(key);
                Some(here.join(new).unwrap_or_else(|| here.into_owned()))
            }
            (None, None) => None,
        };
        Some((key, joined?))
    });
    joined.collect()
}

/// Inserts entries into a map. Returns true if there are any.
fn insert<K: Copy + Ord, L: Lanes>(map: &mut Map<K, L>, news: Vec<(K, L)>) -> bool {
    if news.is_empty() {
        return false;
    }
    let map = Arc::make_mut(map);
    for (key, lanes) in news {
        map.insert(key, lanes);
    }
    true
}
