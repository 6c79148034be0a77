//! Expressions that mean something: every operation finds operands of the types it wants, so that most
//! expressions have a result. Some have one mistake, of a known kind.

use super::random::Random;
use super::world::{
    BaseType, Kind, REGISTERS_32, REGISTERS_64, REGISTERS_VECTOR, TYPES, register_bits,
};

/// An operation, or a place to branch to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// An operation that is no branch, or several.
    Bytes(Vec<u8>),
    /// `DW_OP_bra` or `DW_OP_skip` to a label; to the end if it is not there.
    Branch(u8, u32),
    /// The place that branches with this number go to.
    Label(u32),
}

/// The bytes of operations.
#[must_use]
pub fn assemble(ops: &[Op]) -> Vec<u8> {
    let size = |op: &Op| match op {
        Op::Bytes(bytes) => bytes.len(),
        Op::Branch(..) => 3,
        Op::Label(_) => 0,
    };
    let end: usize = ops.iter().map(size).sum();
    let target = |label: u32| {
        let at = ops.iter().position(|op| *op == Op::Label(label));
        at.map_or(end, |at| ops[..at].iter().map(size).sum())
    };
    let mut bytes = Vec::new();
    for op in ops {
        match op {
            Op::Bytes(operation) => bytes.extend(operation),
            Op::Branch(code, label) => {
                let distance = target(*label).cast_signed() - bytes.len().cast_signed() - 3;
                bytes.push(*code);
                bytes.extend(i16::try_from(distance).unwrap().to_le_bytes());
            }
            Op::Label(_) => {}
        }
    }
    bytes
}

/// The type of a stack entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    /// A generic value, or the location of an address of the default space.
    Generic,
    Typed(BaseType),
    /// A float that was computed: if it is not a number, its bits are not known.
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
    /// Entries below are not touched.
    floor: usize,
    /// How many operations may still be made.
    fuel: usize,
    labels: u32,
    /// Whether the expression is evaluated in the caller's frame.
    in_caller: bool,
    /// How deep blocks are nested.
    depth: usize,
}

/// What the procedures that are called do: the bytes and what they push. The entry of number N is at
/// offset `0x200 + 4 * N`.
pub const PROCEDURES: [(&[u8], usize); 5] = [
    // Nothing.
    (&[], 0),
    (&[0x35], 1),
    // dup, lit3, ne, bra +1, lit7 in one branch; then another procedure.
    (
        &[
            0x30, 0x28, 0x01, 0x00, 0x96, 0x33, 0x99, 0x04, 0x02, 0x00, 0x00,
        ],
        2,
    ),
    // breg of the program counter, then the procedure before.
    (&[0x80, 0x7c, 0x98, 0x08, 0x02], 3),
    // A register: only where a location may stand.
    (&[0x90, 0x28], 0),
];

pub const FIRST_PROCEDURE: usize = 0x200;

fn uleb(mut value: u64, padding: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        let more = value != 0 || bytes.len() < padding;
        bytes.push(if more { byte | 0x80 } else { byte });
        if !more {
            return bytes;
        }
    }
}

fn sleb(mut value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        let done = value == 0 && byte & 0x40 == 0 || value == -1 && byte & 0x40 != 0;
        bytes.push(if done { byte } else { byte | 0x80 });
        if done {
            return bytes;
        }
    }
}

fn join(code: u8, operands: &[&[u8]]) -> Op {
    Op::Bytes([&[code], operands.concat().as_slice()].concat())
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

    /// A whole expression.
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
            // A float is no result of gimli's.
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

    /// The type of the entry that is `index` from the top, if it may be touched.
    fn peek(&self, index: usize) -> Option<Ty> {
        let at = self.stack.len().checked_sub(index + 1)?;
        (at >= self.floor).then(|| self.stack[at])
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    /// The size in bits of what is on the stack.
    fn bits(&self, ty: Ty) -> u8 {
        ty.base().map_or(self.address_size, |ty| ty.bytes) * 8
    }

    /// One operation, or a few that belong together.
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

    fn literal(&mut self) {
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

    fn typed_literal(&mut self, ty: BaseType) {
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

    fn push_typed(&mut self, ty: BaseType, value: u64) {
        let bytes = &value.to_le_bytes()[..ty.bytes.into()];
        let code = self.random.choose(&[0xa4, 0xa4, 0xa4, 0xf4]);
        let op = join(code, &[&uleb(ty.offset, 0), &[ty.bytes], bytes]);
        self.push(op, Ty::Typed(ty));
    }

    fn displacement(&mut self) -> i64 {
        i64::from(self.random.byte().cast_signed()) * self.random.choose(&[1, 1, 31])
    }

    /// A register that can be read as an address.
    fn address_register(&mut self) -> u16 {
        let narrow = self.address_size == 4 || self.tolerant;
        match self.random.below(if narrow { 3 } else { 2 }) {
            0 => self.random.choose(&REGISTERS_64),
            1 => self.random.choose(&REGISTERS_VECTOR),
            _ => self.random.choose(&REGISTERS_32),
        }
    }

    /// Something that needs nothing on the stack.
    fn source(&mut self) {
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
            // Wider registers than addresses have a type that gimli does not have.
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
            // A value of the generic type, and not a location.
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

    fn drop(&mut self) {
        if self.stack.pop().is_some() {
            self.op(0x13);
        }
    }

    fn shuffle(&mut self) {
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

    fn unary(&mut self, top: Ty) {
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
                    // gimli leaves -0.0 as it is.
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

    /// Arithmetic, logic or a comparison of the two entries at the top, which are made of one type.
    fn binary(&mut self) {
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

    /// Makes the integer at the top, which is not counted, one that is not zero.
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

    fn shift(&mut self, top: Ty) {
        if top.is_float() || self.stack.len() >= 12 {
            return;
        }
        // Logical shifts of signed values and arithmetic ones of unsigned values are errors for gimli.
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
            // Any number, but below 128: gimli does not cut a generic count to 32 bits.
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

    fn convert(&mut self, top: Ty) {
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

    /// Converts the entry at the top.
    fn convert_to(&mut self, to: Option<BaseType>) {
        let Some(top) = self.stack.last().copied() else {
            return;
        };
        let from = top.base();
        let to_float = to.is_some_and(|ty| ty.kind == Kind::Float);
        if let Some(ty) = from
            && ty.kind == Kind::Signed
            && to_float
        {
            // gimli converts a negative integer by way of the unsigned one.
            let most = u64::MAX >> (65 - u32::from(ty.bytes) * 8);
            self.push_typed(ty, most);
            self.stack.pop();
            self.op(0x1a);
        }
        if top.is_float() && to.is_none() && self.address_size == 4 {
            // What does not fit into 32 bits wraps in gimli, and is not defined by DWARF.
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

    fn plus_constant(&mut self) {
        let value = self.random.number();
        self.ops.push(join(0x23, &[&uleb(value, 0)]));
        let top = self.stack.last_mut().unwrap();
        *top = match top.base() {
            None => Ty::Generic,
            Some(ty) if ty.kind == Kind::Float => Ty::Computed(ty),
            Some(ty) => Ty::Typed(ty),
        };
    }

    /// Reads memory at the generic value at the top, or makes an address of it.
    fn access(&mut self) {
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

    /// Something that leaves the stack as it was but for the value of the top: in both branches of a
    /// decision, in a loop, or jumped over.
    fn block(&mut self) {
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
                // The counter is below the body's entry.
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
                // rot brought value, counter, counter to counter, value, counter.
                self.ops.push(Op::Branch(0x28, first));
                self.op(0x16);
                self.op(0x13);
                let top = self.stack.pop().unwrap();
                self.stack.pop();
                self.stack.push(top);
                // What a float is after the first time round is not followed.
                if let Some(Ty::Typed(ty)) = self.stack.last().copied()
                    && ty.kind == Kind::Float
                {
                    *self.stack.last_mut().unwrap() = Ty::Computed(ty);
                }
            }
        }
        self.depth -= 1;
    }

    /// Pushes an integer to decide by, which is not counted.
    fn condition(&mut self) {
        self.source();
        if self.stack.pop().is_some_and(Ty::is_float) {
            self.op(0x13);
            let number = self.random.byte() % 2;
            self.op(0x30 + number);
        }
    }

    /// A few operations that use nothing but the top, and leave a value of its type.
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
        // In another branch it may have been computed.
        if let Some(ty) = before.base()
            && before.is_float()
        {
            *self.stack.last_mut().unwrap() = Ty::Computed(ty);
        }
        self.floor = floor;
    }

    fn call(&mut self) {
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

    fn call_procedure(&mut self, number: usize) {
        let offset = u32::try_from(FIRST_PROCEDURE + 4 * number).unwrap();
        let op = match self.random.below(3) {
            0 => join(0x98, &[&offset.to_le_bytes()[..2]]),
            1 => join(0x99, &[&offset.to_le_bytes()]),
            _ => {
                let offset = offset + u32::try_from(super::UNIT).unwrap();
                join(0x9a, &[&offset.to_le_bytes()])
            }
        };
        self.ops.push(op);
    }

    /// A location that is not a memory address, or one; gives how many bits it surely has.
    fn location(&mut self, most: Option<u64>) -> u64 {
        let memory = most.is_some();
        match self.random.below(if memory { 8 } else { 5 }) {
            0 => {
                // Reserved registers may be named, but have no bits.
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
                // Far from the end of the address space.
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

    /// Computes one more entry than there are.
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

    /// Pieces, each of a location of its own.
    fn composite(&mut self) {
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

    /// One thing that is wrong.
    fn mistake(&mut self) {
        match self.random.below(9) {
            // Too few entries.
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
            // Two types.
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
            // Logic on floats.
            4 => {
                self.typed_literal(TYPES[8]);
                self.typed_literal(TYPES[8]);
                let code = self.random.choose(&[0x1a, 0x21, 0x27, 0x1d, 0x24]);
                self.op(code);
            }
            // A type of another size, and one that is not there.
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
            // Branches beyond either end.
            7 => {
                let distance = self.random.choose(&[i16::MIN, i16::MAX]).to_le_bytes();
                self.ops.push(join(0x2f, &[&distance]));
            }
            _ => {
                // An operand that is not all there.
                self.ops.push(Op::Bytes(vec![0x0e, 1, 2]));
                self.stack = vec![Ty::Typed(TYPES[8])];
            }
        }
    }
}
