//! Generates locations: registers, implicit ones, memory, and composites of pieces.

use super::op::{join, sleb, uleb};
use super::{Generator, Ty};
use crate::gimli_oracle::world::{
    REGISTERS_32, REGISTERS_64, REGISTERS_VECTOR, TYPES, register_bits,
};

impl Generator<'_, '_> {
    /// Generates a location that is not a memory address, or also an address if `most` is given. Returns its minimum number of bits.
    pub(super) fn location(&mut self, most: Option<u64>) -> u64 {
        let memory = most.is_some();
        match self.random.below(if memory { 8 } else { 5 }) {
            0 => {
                // Reserved registers can be named, but have no bits.
                let register = self.random.byte() % 32;
                if memory && register_bits(register.into()).is_none() {
                    return self.location(most);
                }
                self.op(0x50 + register);
                register_bits(register.into()).unwrap_or(0).into()
            }
            1 => {
                if self.random.once_in(4) {
                    self.call_procedure(4);
                    return 32;
                }
                let registers: [&[u16]; 3] = [&REGISTERS_32, &REGISTERS_64, &REGISTERS_VECTOR];
                let registers = self.random.choose(&registers);
                let register = self.random.choose(registers);
                self.ops.push(join(0x90, &[&uleb(register.into(), 0)]));
                register_bits(register).unwrap().into()
            }
            2 => {
                let length = self.random.byte() % 20;
                let bytes: Vec<u8> = (0..length).map(|_| self.random.byte()).collect();
                self.ops.push(join(0x9e, &[&[length], &bytes]));
                u64::from(length) * 8
            }
            3 => {
                let die = self.random.bits().to_le_bytes();
                let offset = sleb(self.random.number().cast_signed());
                let code = self.random.choose(&[0xa0, 0xf2]);
                self.ops.push(join(code, &[&die[..4], &offset]));
                u64::from(self.address_size) * 8
            }
            4 => {
                let depth = self.stack.len();
                if self.random.once_in(3) {
                    let ty = self.random.choose(&TYPES);
                    self.typed_literal(ty);
                } else {
                    self.computed(depth);
                }
                let top = self.stack.pop().unwrap();
                self.op(0x9f);
                u64::from(self.bits(top))
            }
            5 => {
                let offset = sleb(self.displacement());
                self.ops.push(join(0x91, &[&offset]));
                1 << 20
            }
            6 => {
                let depth = self.stack.len();
                self.computed(depth);
                if self.stack.pop().is_some_and(|ty| ty != Ty::Generic) {
                    self.op(0x13);
                    self.op(0x33);
                }
                // The address is far from the end of the address space.
                self.ops.push(join(0x0c, &[&[0xff, 0xff, 0xff, 0x7f]]));
                self.op(0x1a);
                1 << 20
            }
            _ => {
                self.op(0x9c);
                1 << 20
            }
        }
    }

    /// Generates operations that compute one more entry.
    fn computed(&mut self, depth: usize) {
        let floor = self.floor;
        self.floor = depth;
        for _ in 0..self.random.below(6) {
            self.step();
        }
        while self.stack.len() > depth + 1 {
            self.drop();
        }
        while self.stack.len() <= depth {
            self.source();
        }
        self.floor = floor;
    }

    /// Generates pieces, each with its own location.
    pub(super) fn composite(&mut self) {
        for _ in 0..=self.random.below(5) {
            let has_location = !self.random.once_in(6);
            let bits = if has_location {
                self.location(Some(1 << 20))
            } else {
                1 << 20
            };
            if self.random.once_in(2) {
                let bytes = bits / 8;
                let size = if bytes == 0 {
                    0
                } else {
                    1 + self.random.bits() % bytes.min(300)
                };
                self.ops.push(join(0x93, &[&uleb(size, 0)]));
            } else {
                let offset = if bits == 0 {
                    0
                } else {
                    self.random.bits() % bits.min(100)
                };
                let size = match (bits - offset).min(1000) {
                    0 => 0,
                    left => 1 + self.random.bits() % left,
                };
                self.ops
                    .push(join(0x9d, &[&uleb(size, 0), &uleb(offset, 0)]));
            }
        }
    }
}
