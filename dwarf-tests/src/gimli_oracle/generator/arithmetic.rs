//! Generates arithmetic, logic, comparisons and conversions, with operands of suitable types.

use super::op::{join, uleb};
use super::{Generator, Ty};
use crate::gimli_oracle::world::{BaseType, Kind, TYPES};

impl Generator<'_, '_> {
    pub(super) fn unary(&mut self, top: Ty) {
        match top.base() {
            None => {
                let code = self.random.choose(&[0x19, 0x1f, 0x20]);
                self.op(code);
                *self.stack.last_mut().unwrap() = Ty::Generic;
            }
            Some(ty) if ty.kind == Kind::Float => {
                if self.random.once_in(2) {
                    self.op(0x1f);
                } else {
                    self.op(0x19);
                    // gimli leaves -0.0 unchanged.
                    self.push_typed(ty, 0);
                    self.stack.pop();
                    self.op(0x22);
                }
                *self.stack.last_mut().unwrap() = Ty::Computed(ty);
            }
            Some(ty) if ty.kind == Kind::Signed => {
                let code = self.random.choose(&[0x19, 0x1f, 0x20]);
                self.op(code);
            }
            Some(_) => {
                let code = self.random.choose(&[0x19, 0x20]);
                self.op(code);
            }
        }
    }

    /// Generates arithmetic, logic or a comparison of the two top entries, after making their types equal.
    pub(super) fn binary(&mut self) {
        let Some(below) = self.peek(1) else {
            return self.source();
        };
        let top = self.stack[self.stack.len() - 1];
        if top.base() != below.base() {
            self.convert_to(below.base());
        }
        if self.stack.last().and_then(|ty| ty.base()) != below.base() {
            return;
        }
        let comparison = self.random.once_in(4);
        self.stack.pop();
        if comparison {
            let code = 0x29 + self.random.byte() % 6;
            self.op(code);
            *self.stack.last_mut().unwrap() = Ty::Generic;
            return;
        }
        match below.base() {
            Some(ty) if ty.kind == Kind::Float => {
                let code = self.random.choose(&[0x22, 0x1c, 0x1e, 0x1b]);
                self.op(code);
                *self.stack.last_mut().unwrap() = Ty::Computed(ty);
            }
            integer => {
                let division = self.random.once_in(4);
                if division && !self.random.once_in(8) {
                    self.make_odd(integer);
                }
                let code = if division {
                    self.random.choose(&[0x1b, 0x1d])
                } else {
                    self.random.choose(&[0x22, 0x1c, 0x1e, 0x1a, 0x21, 0x27])
                };
                self.op(code);
                *self.stack.last_mut().unwrap() = integer.map_or(Ty::Generic, Ty::Typed);
            }
        }
    }

    /// Makes the integer on top of the stack nonzero. It is not counted in the modelled stack.
    fn make_odd(&mut self, ty: Option<BaseType>) {
        match ty {
            None => self.op(0x31),
            Some(ty) => {
                self.push_typed(ty, 1);
                self.stack.pop();
            }
        }
        self.op(0x21);
    }

    pub(super) fn shift(&mut self, top: Ty) {
        if top.is_float() || self.stack.len() >= 12 {
            return;
        }
        // gimli rejects logical shifts of signed values and arithmetic shifts of unsigned values.
        let code = match top.base().map(|ty| ty.kind) {
            None => self.random.choose(&[0x24, 0x25, 0x26]),
            Some(Kind::Signed) => self.random.choose(&[0x24, 0x26]),
            Some(_) => self.random.choose(&[0x24, 0x25]),
        };
        let count = self.random.byte() % (self.bits(top) + 3);
        match self.random.below(4) {
            0 => {
                let ty = self.random.choose(&TYPES[..8]);
                self.push_typed(ty, u64::from(count));
                self.stack.pop();
            }
            // Any count below 128: gimli does not truncate a generic count to 32 bits.
            1 if self.peek(1) == Some(Ty::Generic) && top == Ty::Generic => {
                self.ops.push(join(0x08, &[&[0x7f]]));
                self.op(0x1a);
                self.stack.pop();
            }
            _ => self.ops.push(join(0x08, &[&[count]])),
        }
        self.op(code);
        if top == Ty::Generic {
            *self.stack.last_mut().unwrap() = Ty::Generic;
        }
    }

    pub(super) fn convert(&mut self, top: Ty) {
        let to = self.random.below(TYPES.len() + 3);
        let to = TYPES.get(to).copied();
        let bits = to.map_or(self.address_size * 8, |ty| ty.bytes * 8);
        let known = matches!(top, Ty::Generic | Ty::Typed(_));
        if known && bits == self.bits(top) && self.random.once_in(2) {
            let code = self.random.choose(&[0xa9, 0xf9]);
            self.ops
                .push(join(code, &[&uleb(to.map_or(0, |ty| ty.offset), 0)]));
            *self.stack.last_mut().unwrap() = to.map_or(Ty::Generic, Ty::Typed);
        } else {
            self.convert_to(to);
        }
    }

    /// Converts the top entry.
    pub(super) fn convert_to(&mut self, to: Option<BaseType>) {
        let Some(top) = self.stack.last().copied() else {
            return;
        };
        let from = top.base();
        let to_float = to.is_some_and(|ty| ty.kind == Kind::Float);
        if let Some(ty) = from
            && ty.kind == Kind::Signed
            && to_float
        {
            // gimli converts a negative integer through the unsigned type.
            let most = u64::MAX >> (65 - u32::from(ty.bytes) * 8);
            self.push_typed(ty, most);
            self.stack.pop();
            self.op(0x1a);
        }
        if top.is_float() && to.is_none() && self.address_size == 4 {
            // A value that exceeds 32 bits wraps in gimli, and is undefined in DWARF.
            self.convert_to(BaseType::at(0x38));
        }
        let code = self.random.choose(&[0xa8, 0xa8, 0xf7]);
        self.ops
            .push(join(code, &[&uleb(to.map_or(0, |ty| ty.offset), 0)]));
        *self.stack.last_mut().unwrap() = match to {
            None => Ty::Generic,
            Some(ty) if to_float => Ty::Computed(ty),
            Some(ty) => Ty::Typed(ty),
        };
    }

    pub(super) fn plus_constant(&mut self) {
        let value = self.random.number();
        self.ops.push(join(0x23, &[&uleb(value, 0)]));
        let top = self.stack.last_mut().unwrap();
        *top = match top.base() {
            None => Ty::Generic,
            Some(ty) if ty.kind == Kind::Float => Ty::Computed(ty),
            Some(ty) => Ty::Typed(ty),
        };
    }
}
