//! The known state of the machine and of variables at one place of the code.

use core::ops::{Deref, DerefMut};
use std::sync::Arc;

use smallvec::SmallVec;

use super::contents::Contents;
use super::number::{Cell, Number};
use crate::isa::MachineRegister;
use crate::machine_flow::{Lanes as _, Machine};

/// The value of a variable where the debugging information last described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// The dwords, the lowest first.
    pub(super) dwords: SmallVec<[Number; 2]>,
    /// The index of the instruction there.
    pub(super) as_of: u32,
}

/// The known state of the machine and of variables. Copies share unchanged parts.
#[derive(Clone, Debug)]
pub(super) struct State {
    machine: Machine<Contents>,
    /// The value of each variable; `None` if it is unknown.
    given: Arc<Vec<Option<Given>>>,
}

impl Deref for State {
    type Target = Machine<Contents>;

    fn deref(&self) -> &Machine<Contents> {
        &self.machine
    }
}

impl DerefMut for State {
    fn deref_mut(&mut self) -> &mut Machine<Contents> {
        &mut self.machine
    }
}

impl State {
    /// Returns the state on entry to a function with this many variables.
    pub(super) fn at_entry(variables: usize) -> State {
        State {
            machine: Machine::new(|register| Number::at_entry(Cell::Scalar(register))),
            given: Arc::new(vec![None; variables]),
        }
    }

    /// Returns the last described value of a variable, if it is known.
    pub(super) fn given(&self, variable: usize) -> Option<&Given> {
        self.given.get(variable)?.as_ref()
    }

    /// Changes the last described value of a variable.
    pub(super) fn set_given(&mut self, variable: usize, given: Option<Given>) {
        if self
            .given
            .get(variable)
            .is_some_and(|known| *known != given)
            && let Some(known) = Arc::make_mut(&mut self.given).get_mut(variable)
        {
            *known = given;
        }
    }

    /// Returns the number of a place.
    pub(super) fn number(&self, cell: Cell) -> Number {
        match cell {
            Cell::Scalar(register) => self.scalars.get(register),
            Cell::Own(register) => self.vector(register).own,
            Cell::Lane { register, lane } => self.vector(register).lane(lane),
            Cell::Row(slot) => self.row(slot).own,
        }
    }

    /// Assigns a number to the contents of a place.
    pub(super) fn set_number(&mut self, cell: Cell, number: Number) {
        match cell {
            Cell::Scalar(register) => self.scalars.set(register, number),
            Cell::Own(register) => {
                let mut vector = self.vector(register).into_owned();
                vector.own = number;
                self.set_vector(register, vector);
            }
            // Scalar values get a number when they are written.
            Cell::Lane { .. } => {}
            Cell::Row(slot) => {
                let mut row = self.row(slot).into_owned();
                row.own = number;
                self.set_row(slot, row);
            }
        }
    }

    /// Makes numbers unknown if `is_old` returns true for them, since their instruction is executed again.
    pub(super) fn forget(&mut self, is_old: impl Fn(Number) -> bool) {
        if self.scalars.iter().any(|(_, number)| is_old(number)) {
            self.scalars.change(|_, number| match is_old(number) {
                true => Number::Unknown,
                false => number,
            });
        }
        if self.vectors.iter().any(|(_, vector)| vector.has(&is_old)) {
            let vectors = Arc::make_mut(&mut self.vectors).iter_mut();
            vectors.for_each(|(_, vector)| vector.forget(&is_old));
        }
        if self.rows.iter().any(|(_, row)| row.has(&is_old)) {
            let rows = Arc::make_mut(&mut self.rows).iter_mut();
            rows.for_each(|(_, row)| row.forget(&is_old));
        }
        let has = |given: &Given| given.dwords.iter().any(|number| is_old(*number));
        if self.given.iter().flatten().any(has) {
            for given in Arc::make_mut(&mut self.given) {
                if given.as_ref().is_some_and(has) {
                    *given = None;
                }
            }
        }
    }

    /// Returns the places with known numbers. Places that are easiest to read come first.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (Cell, Number)> {
        let registers =
            || (0..256).flat_map(|n| [MachineRegister::Vgpr(n), MachineRegister::Agpr(n)]);
        let own = registers().map(|register| (Cell::Own(register), self.vector(register).own));
        let scalars = self.scalars.iter();
        let scalars = scalars.map(|(register, number)| (Cell::Scalar(register), number));
        let lanes = self.vectors.iter().flat_map(|(register, vector)| {
            let lanes = vector.lanes();
            lanes.map(move |(lane, number)| (Cell::Lane { register, lane }, number))
        });
        let rows = self.rows.iter();
        let rows = rows.map(|(slot, row)| (Cell::Row(slot), row.own));
        own.chain(scalars).chain(lanes).chain(rows)
    }

    /// Joins the facts at the end of another path. Returns true if this changes anything.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let mut is_new = self.machine.join(&other.machine);
        if Arc::ptr_eq(&self.given, &other.given) {
            return is_new;
        }
        let differs =
            |(one, other): (&Option<Given>, &Option<Given>)| one.is_some() && one != other;
        if self.given.iter().zip(&*other.given).any(differs) {
            is_new = true;
            for (one, other) in Arc::make_mut(&mut self.given).iter_mut().zip(&*other.given) {
                if differs((one, other)) {
                    *one = None;
                }
            }
        }
        is_new
    }

    /// Returns the number of listed values.
    pub(super) fn size(&self) -> usize {
        let vectors = self.vectors.iter().map(|(_, vector)| vector.size());
        let rows = self.rows.iter().map(|(_, row)| row.size());
        let others = self.scalars.len() + self.given.len();
        others + vectors.chain(rows).sum::<usize>()
    }

    /// Returns an upper bound of the number of bytes that are not shared with another state.
    pub(super) fn bytes(&self) -> u64 {
        /// The bytes per value, including its key.
        const VALUE: u64 = 64;
        self.size() as u64 * VALUE
    }
}
