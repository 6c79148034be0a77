//! What is known of registers and scratch at one place of the code.

use core::fmt;
use std::borrow::Cow;
use std::sync::Arc;

use super::scalars::{Scalar, Scalars, scalar_index};
use crate::flat::Flat;
use crate::isa::{MachineRegister, Operand};

/// How many vector registers and rows of scratch are kept. Functions that save every register there is need fewer.
const MOST: usize = 1024;

/// A row of scratch: a dword for each lane, at a distance from a base. Rows are ordered by their bases first.
pub(crate) trait Row: Copy + Ord + fmt::Debug {
    /// Returns true if both count from the same base, so that another distance is another place.
    fn is_comparable(self, other: Self) -> bool;

    /// Returns the distance from the base, in bytes of one lane.
    fn offset(self) -> i64;

    /// Returns the row at another distance from the same base.
    fn at(self, offset: i64) -> Self;

    /// Returns true if `other` is this row or one above it, or may be.
    fn reaches(self, other: Self) -> bool {
        !self.is_comparable(other) || self <= other
    }

    /// Returns true if a callee that has scratch from `first` up may write this row, which its caller has stored.
    fn is_given_with(self, first: Self) -> bool {
        first.reaches(self)
    }
}

/// What is known of a vector register or a row of scratch: an element of a lattice.
pub(crate) trait Lanes: Clone + Eq + fmt::Debug {
    /// What is known of one lane, or of a scalar register.
    type Scalar: Scalar;
    /// What scratch is divided into.
    type Row: Row;

    /// The top: nothing is known.
    const UNKNOWN: Self;
    /// The result of an instruction that is not followed.
    const COMPUTED: Self = Self::UNKNOWN;

    /// What a vector register has where the analysis begins.
    fn of_register(register: MachineRegister) -> Self;

    /// What a row of scratch has where the analysis begins.
    fn of_row(row: Self::Row) -> Self;

    /// Returns what is known of one lane.
    fn lane(&self, lane: u8) -> Self::Scalar;

    /// Returns what is known at the end of either path, or nothing if that is no news.
    fn join(&self, other: &Self) -> Option<Self>;
}

/// A map of which copies share what did not change.
type Map<K, L> = Arc<Flat<K, L>>;

/// The registers and scratch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine<L: Lanes> {
    pub(crate) scalars: Scalars<L::Scalar>,
    /// Those that may be different from where the analysis began.
    pub(crate) vectors: Map<MachineRegister, L>,
    /// Those that were stored.
    pub(crate) rows: Map<L::Row, L>,
    /// Which vector registers were written is not known any more.
    pub(crate) vectors_lost: bool,
    /// Stores went to unknown places: rows that are not listed can have anything.
    pub(crate) rows_lost: bool,
    /// Callees may have written the rows that this one reaches.
    pub(crate) callees_from: Option<L::Row>,
}

impl<L: Lanes> Machine<L> {
    /// Creates the state where the analysis begins.
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

    /// Dword `n` of an operand.
    pub(crate) fn operand(&self, operand: Operand, n: u8) -> L::Scalar {
        let half = |wide: u64| {
            let shifted = wide.checked_shr(u32::from(n).saturating_mul(32));
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

    /// From here on nothing is known of any vector register.
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

    /// Returns true if somebody else may have written a row.
    fn is_lost(&self, row: L::Row) -> bool {
        self.rows_lost
            || self.has_other_base(row)
            || self.callees_from.is_some_and(|first| first.reaches(row))
    }

    /// Returns true if there are rows that count from another base: they may be the same places.
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

    /// From here on nothing is known of scratch but what is stored later.
    pub(crate) fn lose_rows(&mut self) {
        self.rows_lost = true;
        self.rows = Arc::default();
    }

    /// A callee has scratch from this row up.
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

    /// Takes in what is known at the end of another path. Returns true if that changes anything.
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

/// What one map has to get, so that it has only what two have in common.
///
/// * `here`, `there`: what they have where nothing is listed.
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

/// Returns true if there is any.
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
