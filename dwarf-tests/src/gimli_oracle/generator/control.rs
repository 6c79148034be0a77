//! Generates branches and calls: blocks with a neutral effect on the stack, and the called procedures.

use super::op::{Op, join};
use super::{Generator, Ty};
use crate::gimli_oracle::UNIT;
use crate::gimli_oracle::world::Kind;

/// The called procedures: their bytes, and the number of values that they push. Entry N is at offset `0x200 + 4 * N`.
pub const PROCEDURES: [(&[u8], usize); 5] = [
    // An empty procedure.
    (&[], 0),
    (&[0x35], 1),
    // dup, lit3, ne, bra +1, lit7 in one branch; then another procedure.
    (
        &[
            0x30, 0x28, 0x01, 0x00, 0x96, 0x33, 0x99, 0x04, 0x02, 0x00, 0x00,
        ],
        2,
    ),
    // breg of the program counter, then a call of the previous procedure.
    (&[0x80, 0x7c, 0x98, 0x08, 0x02], 3),
    // A register location, which is only valid in a location context.
    (&[0x90, 0x28], 0),
];

pub const FIRST_PROCEDURE: usize = 0x200;

impl Generator<'_, '_> {
    /// Generates a block that changes at most the value on top of the stack: in both branches of a decision, in a loop, or skipped.
    pub(super) fn block(&mut self) {
        if self.depth >= 2 || self.stack.len() >= 10 {
            return;
        }
        self.depth += 1;
        let (first, second) = (self.label(), self.label());
        match self.random.below(4) {
            0 => {
                self.ops.push(Op::Branch(0x2f, first));
                let (stack, floor) = (self.stack.clone(), self.floor);
                self.body();
                (self.stack, self.floor) = (stack, floor);
                self.ops.push(Op::Label(first));
            }
            1 => {
                self.condition();
                self.ops.push(Op::Branch(0x28, first));
                self.body();
                self.ops.push(Op::Label(first));
            }
            2 => {
                self.condition();
                self.ops.push(Op::Branch(0x28, first));
                self.body();
                self.ops.push(Op::Branch(0x2f, second));
                self.ops.push(Op::Label(first));
                self.body();
                self.ops.push(Op::Label(second));
            }
            _ => {
                // The counter is below the entry that the body uses.
                let count = 1 + self.random.byte() % 5;
                self.op(0x30 + count);
                self.op(0x16);
                let top = self.stack.pop().unwrap();
                self.stack.extend([Ty::Generic, top]);
                self.ops.push(Op::Label(first));
                self.body();
                for code in [0x16, 0x31, 0x1c, 0x12, 0x17] {
                    self.op(code);
                }
                // rot turns (value, counter, counter) into (counter, value, counter).
                self.ops.push(Op::Branch(0x28, first));
                self.op(0x16);
                self.op(0x13);
                let top = self.stack.pop().unwrap();
                self.stack.pop();
                self.stack.push(top);
                // The type of a float is not tracked after the first iteration.
                if let Some(Ty::Typed(ty)) = self.stack.last().copied()
                    && ty.kind == Kind::Float
                {
                    *self.stack.last_mut().unwrap() = Ty::Computed(ty);
                }
            }
        }
        self.depth -= 1;
    }

    /// Pushes an integer for a decision, without counting it in the modelled stack.
    fn condition(&mut self) {
        self.source();
        if self.stack.pop().is_some_and(Ty::is_float) {
            self.op(0x13);
            let number = self.random.byte() % 2;
            self.op(0x30 + number);
        }
    }

    /// Generates a few operations that use only the top entry, and leave a value of its type.
    fn body(&mut self) {
        let (floor, depth) = (self.floor, self.stack.len());
        let before = self.stack[depth - 1];
        self.floor = depth - 1;
        for _ in 0..=self.random.below(4) {
            self.step();
        }
        while self.stack.len() > depth {
            self.drop();
        }
        while self.stack.len() < depth {
            self.source();
        }
        if self.stack.last().and_then(|ty| ty.base()) != before.base() {
            self.convert_to(before.base());
        }
        // The float may have been computed in another branch.
        if let Some(ty) = before.base()
            && before.is_float()
        {
            *self.stack.last_mut().unwrap() = Ty::Computed(ty);
        }
        self.floor = floor;
    }

    pub(super) fn call(&mut self) {
        if self.stack.len() >= 10 || self.in_caller {
            return;
        }
        let number = self
            .random
            .below(if self.address_size == 8 { 4 } else { 3 });
        self.call_procedure(number);
        let pushed = PROCEDURES[number].1;
        self.stack.extend(vec![Ty::Generic; pushed]);
    }

    pub(super) fn call_procedure(&mut self, number: usize) {
        let offset = u32::try_from(FIRST_PROCEDURE + 4 * number).unwrap();
        let op = match self.random.below(3) {
            0 => join(0x98, &[&offset.to_le_bytes()[..2]]),
            1 => join(0x99, &[&offset.to_le_bytes()]),
            _ => {
                let offset = offset + u32::try_from(UNIT).unwrap();
                join(0x9a, &[&offset.to_le_bytes()])
            }
        };
        self.ops.push(op);
    }
}
