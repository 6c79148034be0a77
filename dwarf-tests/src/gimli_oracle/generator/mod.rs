//! Generates meaningful expressions: every operation finds operands of suitable types, so that most expressions have a result. Some contain
//! one mistake of a known kind.

mod access;
mod arithmetic;
mod control;
mod location;
mod mistake;
mod op;
mod source;

use super::random::Random;
use super::world::{BaseType, Kind};

pub use control::{FIRST_PROCEDURE, PROCEDURES};
pub use op::{Op, assemble};

/// The type of a stack entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    /// A generic value, or the location of an address of the default space.
    Generic,
    Typed(BaseType),
    /// A computed float. If it is NaN, its bits are unspecified.
    Computed(BaseType),
}

impl Ty {
    fn base(self) -> Option<BaseType> {
        match self {
            Ty::Generic => None,
            Ty::Typed(ty) | Ty::Computed(ty) => Some(ty),
        }
    }

    fn is_float(self) -> bool {
        self.base().is_some_and(|ty| ty.kind == Kind::Float)
    }
}

pub struct Generator<'r, 'c> {
    random: &'r mut Random<'c>,
    address_size: u8,
    tolerant: bool,
    ops: Vec<Op>,
    stack: Vec<Ty>,
    /// The number of bottom entries that are not touched.
    floor: usize,
    /// The number of operations that may still be generated.
    fuel: usize,
    labels: u32,
    /// True if the expression is evaluated in the caller's frame.
    in_caller: bool,
    /// The nesting depth of blocks.
    depth: usize,
}

impl<'r, 'c> Generator<'r, 'c> {
    pub fn new(
        random: &'r mut Random<'c>,
        address_size: u8,
        tolerant: bool,
        initial: usize,
    ) -> Self {
        let fuel = 3 + random.below(40);
        Generator {
            random,
            address_size,
            tolerant,
            ops: Vec::new(),
            stack: vec![Ty::Generic; initial],
            floor: 0,
            fuel,
            labels: 0,
            in_caller: false,
            depth: 0,
        }
    }

    /// Generates a whole expression.
    pub fn expression(mut self) -> Vec<Op> {
        let pieces = self.random.once_in(5) && self.stack.is_empty();
        if pieces {
            self.composite();
            return self.ops;
        }
        if self.random.once_in(25) {
            self.location(None);
            return self.ops;
        }
        while self.fuel > 0 {
            self.step();
        }
        if self.stack.is_empty() {
            self.literal();
        }
        if self.random.once_in(12) {
            self.mistake();
        }
        match self.random.below(4) {
            // gimli does not return floats as results.
            0 => self.op(0x9f),
            _ if self.stack.last().is_some_and(|ty| ty.is_float()) => self.op(0x9f),
            1 => {
                self.location(None);
            }
            _ => {}
        }
        self.ops
    }

    fn op(&mut self, code: u8) {
        self.ops.push(Op::Bytes(vec![code]));
    }

    fn push(&mut self, op: Op, ty: Ty) {
        self.ops.push(op);
        self.stack.push(ty);
    }

    /// Returns the type of the entry at `index` from the top, if it may be touched.
    fn peek(&self, index: usize) -> Option<Ty> {
        let at = self.stack.len().checked_sub(index + 1)?;
        (at >= self.floor).then(|| self.stack[at])
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    /// Returns the size in bits of an entry of this type.
    fn bits(&self, ty: Ty) -> u8 {
        ty.base().map_or(self.address_size, |ty| ty.bytes) * 8
    }

    /// Generates one operation, or a few that belong together.
    fn step(&mut self) {
        self.fuel = self.fuel.saturating_sub(1);
        let top = self.peek(0);
        let Some(top) = top else { return self.source() };
        match self.random.below(16) {
            0..4 if self.stack.len() < 12 => self.source(),
            4 => self.shuffle(),
            5 => self.unary(top),
            6..9 => self.binary(),
            9 => self.shift(top),
            10 => self.convert(top),
            11 => self.plus_constant(),
            12 | 13 if top == Ty::Generic => self.access(),
            14 => self.block(),
            15 => self.call(),
            _ => self.binary(),
        }
    }
}
