//! Generates stack manipulation and memory reads.

use super::op::{join, uleb};
use super::{Generator, Ty};
use crate::gimli_oracle::world::TYPES;

impl Generator<'_, '_> {
    pub(super) fn drop(&mut self) {
        if self.stack.pop().is_some() {
            self.op(0x13);
        }
    }

    pub(super) fn shuffle(&mut self) {
        let free = self.stack.len() - self.floor;
        match self.random.below(6) {
            0 => {
                self.op(0x12);
                self.stack.push(self.stack[self.stack.len() - 1]);
            }
            1 if free >= 2 => {
                self.op(0x14);
                self.stack.push(self.stack[self.stack.len() - 2]);
            }
            2 => {
                let index = self.random.below(free);
                let number = u8::try_from(index).unwrap();
                self.ops.push(join(0x15, &[&[number]]));
                self.stack.push(self.stack[self.stack.len() - 1 - index]);
            }
            3 if free >= 2 => {
                self.op(0x16);
                let end = self.stack.len();
                self.stack.swap(end - 1, end - 2);
            }
            4 if free >= 3 => {
                self.op(0x17);
                let end = self.stack.len();
                self.stack[end - 3..].rotate_right(1);
            }
            _ => self.drop(),
        }
    }

    /// Reads memory at the generic value on top of the stack, or makes an address from it.
    pub(super) fn access(&mut self) {
        let choice = self.random.below(8);
        let space = self.random.choose(&[0, 0, 2, 3, 6]);
        let in_space = choice >= 4;
        if in_space {
            self.op(0x30 + space);
            self.op(0x16);
        }
        let size = 1 + self.random.byte() % self.address_size;
        let types: Vec<_> = TYPES
            .into_iter()
            .filter(|ty| ty.bytes <= self.address_size)
            .collect();
        let ty = self.random.choose(&types);
        let result = match choice % 4 {
            0 => {
                self.op(if in_space { 0x18 } else { 0x06 });
                Ty::Generic
            }
            1 => {
                let code = if in_space { 0x95 } else { 0x94 };
                self.ops.push(join(code, &[&[size]]));
                Ty::Generic
            }
            2 => {
                let code = if in_space {
                    0xa7
                } else {
                    self.random.choose(&[0xa6, 0xf6])
                };
                self.ops
                    .push(join(code, &[&[ty.bytes], &uleb(ty.offset, 0)]));
                Ty::Typed(ty)
            }
            _ if in_space || self.in_caller => {
                self.op(if in_space { 0x18 } else { 0x06 });
                Ty::Generic
            }
            _ => {
                let code = self.random.choose(&[0x9b, 0xe0]);
                self.op(code);
                Ty::Generic
            }
        };
        *self.stack.last_mut().unwrap() = result;
    }
}
