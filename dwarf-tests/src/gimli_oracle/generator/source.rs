//! Generates operations without operands on the stack: literals, registers, addresses and entry values.

use super::op::{Op, assemble, join, sleb, uleb};
use super::{Generator, Ty};
use crate::gimli_oracle::world::{
    BaseType, Kind, REGISTERS_32, REGISTERS_64, REGISTERS_VECTOR, TYPES, register_bits,
};

impl Generator<'_, '_> {
    pub(super) fn literal(&mut self) {
        let value = self.random.number();
        let [low, second, ..] = value.to_le_bytes();
        let bytes = value.to_le_bytes();
        let op = match self.random.below(12) {
            0..3 => Op::Bytes(vec![0x30 + low % 32]),
            3 => join(0x08, &[&[low]]),
            4 => join(0x09, &[&[low]]),
            5 => join(0x0a, &[&[low, second]]),
            6 => join(0x0b, &[&[low, second]]),
            7 => join(0x0c, &[&bytes[..4]]),
            8 => join(0x0d, &[&bytes[..4]]),
            9 => join(0x0e + self.random.byte() % 2, &[&bytes]),
            10 => {
                let padding = self.random.choose(&[0, 0, 3, 9]);
                join(0x10, &[&uleb(value, padding)])
            }
            _ => join(0x11, &[&sleb(value.cast_signed())]),
        };
        self.push(op, Ty::Generic);
    }

    pub(super) fn typed_literal(&mut self, ty: BaseType) {
        let value = match ty.kind {
            Kind::Float if self.random.once_in(2) => {
                let number = f64::from(i16::from_le_bytes([self.random.byte(), 0])) / 4.0;
                if ty.bytes == 4 {
                    #[expect(clippy::cast_possible_truncation, reason = "quarters fit")]
                    u64::from((number as f32).to_bits())
                } else {
                    number.to_bits()
                }
            }
            Kind::Float | Kind::Signed | Kind::Unsigned => self.random.number(),
        };
        self.push_typed(ty, value);
    }

    pub(super) fn push_typed(&mut self, ty: BaseType, value: u64) {
        let bytes = &value.to_le_bytes()[..ty.bytes.into()];
        let code = self.random.choose(&[0xa4, 0xa4, 0xa4, 0xf4]);
        let op = join(code, &[&uleb(ty.offset, 0), &[ty.bytes], bytes]);
        self.push(op, Ty::Typed(ty));
    }

    pub(super) fn displacement(&mut self) -> i64 {
        i64::from(self.random.byte().cast_signed()) * self.random.choose(&[1, 1, 31])
    }

    /// Returns a register that can be read as an address.
    fn address_register(&mut self) -> u16 {
        let narrow = self.address_size == 4 || self.tolerant;
        match self.random.below(if narrow { 3 } else { 2 }) {
            0 => self.random.choose(&REGISTERS_64),
            1 => self.random.choose(&REGISTERS_VECTOR),
            _ => self.random.choose(&REGISTERS_32),
        }
    }

    /// Generates an operation without operands on the stack.
    pub(super) fn source(&mut self) {
        let choice = self.random.below(if self.in_caller { 8 } else { 16 });
        match choice {
            0..4 => self.literal(),
            4 => {
                let ty = self.random.choose(&TYPES);
                self.typed_literal(ty);
            }
            5 => {
                let register = self.address_register();
                let offset = sleb(self.displacement());
                let op = match u8::try_from(register) {
                    Ok(register) if register < 32 => join(0x70 + register, &[&offset]),
                    _ => join(0x92, &[&uleb(register.into(), 0), &offset]),
                };
                self.push(op, Ty::Generic);
            }
            6 => {
                let ty = self.random.choose(&TYPES);
                let registers: [&[u16]; 3] = [&REGISTERS_32, &REGISTERS_64, &REGISTERS_VECTOR];
                let registers = self.random.choose(&registers);
                let register = self.random.choose(registers);
                if register_bits(register).unwrap() < u32::from(ty.bytes) * 8 {
                    return self.literal();
                }
                let code = self.random.choose(&[0xa5, 0xf5]);
                let op = join(code, &[&uleb(register.into(), 0), &uleb(ty.offset, 0)]);
                self.push(op, Ty::Typed(ty));
            }
            7 => self.push(Op::Bytes(vec![0x9c]), Ty::Generic),
            8 => {
                let address = self.random.bits().to_le_bytes();
                let length = usize::from(self.address_size);
                self.push(join(0x03, &[&address[..length]]), Ty::Generic);
            }
            9 => {
                let code = self.random.choose(&[0xa1, 0xa2, 0xfb, 0xfc]);
                let index = self.random.byte() % 4;
                self.push(join(code, &[&[index]]), Ty::Generic);
            }
            10 | 11 => {
                let offset = sleb(self.displacement());
                self.push(join(0x91, &[&offset]), Ty::Generic);
            }
            12 => self.push(Op::Bytes(vec![0x97]), Ty::Generic),
            _ => self.entry_value(),
        }
    }

    fn entry_value(&mut self) {
        let bytes = if self.random.once_in(2) {
            // Registers wider than addresses need a type that gimli does not have.
            let registers: &[u16] = if self.address_size == 8 && self.random.once_in(2) {
                &REGISTERS_64
            } else {
                &REGISTERS_32
            };
            let register = self.random.choose(registers);
            match u8::try_from(register) {
                Ok(register) if register < 32 => vec![0x50 + register],
                _ => [&[0x90][..], &uleb(register.into(), 0)].concat(),
            }
        } else {
            let mut inner = Generator::new(self.random, self.address_size, self.tolerant, 0);
            inner.in_caller = true;
            inner.fuel = 4;
            while inner.fuel > 0 {
                inner.step();
            }
            // Leave a single value of the generic type, and not a location.
            while inner.stack.len() > 1 {
                inner.drop();
            }
            if inner.stack != [Ty::Generic] {
                inner.drop();
                inner.literal();
            }
            inner.op(0x31);
            inner.op(0x22);
            assemble(&inner.ops)
        };
        let code = self.random.choose(&[0xa3, 0xf3]);
        let op = join(code, &[&uleb(bytes.len() as u64, 0), &bytes]);
        self.push(op, Ty::Generic);
    }
}
