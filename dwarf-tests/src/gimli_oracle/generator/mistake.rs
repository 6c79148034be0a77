//! Generates mistakes of known kinds.

use super::op::{Op, join};
use super::{Generator, Ty};
use crate::gimli_oracle::world::TYPES;

impl Generator<'_, '_> {
    /// Adds a mistake.
    pub(super) fn mistake(&mut self) {
        match self.random.below(9) {
            // Too few entries on the stack.
            0 => {
                let count = self.stack.len();
                for _ in 0..count {
                    self.op(0x13);
                }
                let code = self
                    .random
                    .choose(&[0x13, 0x22, 0x12, 0x06, 0x17, 0x14, 0x16, 0x24]);
                self.op(code);
            }
            1 => self.ops.push(join(0x15, &[&[200]])),
            // Two different types.
            2 => {
                self.typed_literal(TYPES[2]);
                self.typed_literal(TYPES[6]);
                let code = self.random.choose(&[0x22, 0x1a, 0x2a, 0x1c]);
                self.op(code);
            }
            3 => {
                for code in [0x33, 0x30] {
                    self.op(code);
                }
                let code = self.random.choose(&[0x1b, 0x1d]);
                self.op(code);
            }
            // Logic operations on floats.
            4 => {
                self.typed_literal(TYPES[8]);
                self.typed_literal(TYPES[8]);
                let code = self.random.choose(&[0x1a, 0x21, 0x27, 0x1d, 0x24]);
                self.op(code);
            }
            // A type of another size, and a missing type.
            5 => {
                self.typed_literal(TYPES[1]);
                let (code, ty) = self
                    .random
                    .choose(&[(0xa9, 0x20u8), (0xa8, 0x21), (0xa9, 0)]);
                self.ops.push(join(code, &[&[ty]]));
            }
            6 => {
                let code = self
                    .random
                    .choose(&[0x00, 0x01, 0x02, 0x04, 0xaa, 0xdf, 0xff]);
                self.op(code);
            }
            // Branches past either end.
            7 => {
                let distance = self.random.choose(&[i16::MIN, i16::MAX]).to_le_bytes();
                self.ops.push(join(0x2f, &[&distance]));
            }
            _ => {
                // A truncated operand.
                self.ops.push(Op::Bytes(vec![0x0e, 1, 2]));
                self.stack = vec![Ty::Typed(TYPES[8])];
            }
        }
    }
}
