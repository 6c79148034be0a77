//! The abstract values of dwords while a lane is followed, or a call returns.

use super::place::DwordPlace;
use crate::isa::ScalarOp;
use crate::machine_flow::Scalar;

/// The known facts about a dword.
///
/// The lattice is flat: [`Unknown`](Value::Unknown) is above all other values, which are not ordered among one another. A dword's value
/// therefore changes at most once where paths meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Value {
    /// No facts.
    Unknown,
    /// The bit of the followed lane; the other bits are unknown.
    Bit(bool),
    /// The bit of the followed lane equals a dword's bit at the stop, or its complement.
    BitOf { place: DwordPlace, inverted: bool },
    /// The whole dword.
    Word(u32),
    /// The bit of the followed lane in the last result of an instruction, given by its index. The bit is unknown, but equal in all dwords
    /// with this value.
    Made(u32),
    /// The contents of the place at the stop, plus a constant.
    Initial { place: DwordPlace, plus: i32 },
}

/// A bit of the state at the stop that a walk depends on, and that has not been decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Undecided(pub(super) DwordPlace);

/// The lane's bits in places at the stop, as the path through a decision tree.
///
/// A place that cannot be read has no bit.
#[derive(Clone, Debug, Default)]
pub(super) struct Decisions {
    made: Vec<(DwordPlace, Option<bool>)>,
    /// True if no other place can be read.
    is_closed: bool,
}

/// The decision about the bit of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Bit(bool),
    /// The bit has not been decided, but may be.
    Open,
    /// The bit cannot be read.
    Unreadable,
}

impl Decisions {
    pub(super) fn with(&self, place: DwordPlace, bit: Option<bool>) -> Decisions {
        let mut decisions = self.clone();
        decisions.made.push((place, bit));
        decisions
    }

    /// Truncates the decisions to the first `count`, and adds another one.
    pub(super) fn go_on(&mut self, count: usize, place: DwordPlace, bit: Option<bool>) {
        self.made.truncate(count);
        self.made.push((place, bit));
    }

    /// Returns the decisions in the order in which they were made.
    pub(super) fn iter(&self) -> impl Iterator<Item = (DwordPlace, Option<bool>)> {
        self.made.iter().copied()
    }

    /// Returns an empty set of decisions that is final: values that depend on a bit at the stop are unknown.
    pub(super) const fn closed() -> Decisions {
        Decisions {
            made: Vec::new(),
            is_closed: true,
        }
    }

    /// Returns the bit of a place. `None` if it has not been decided, or cannot be.
    pub(super) fn get(&self, place: DwordPlace) -> Option<bool> {
        match self.find(place) {
            Decision::Bit(bit) => Some(bit),
            Decision::Open | Decision::Unreadable => None,
        }
    }

    /// Returns true if no decision contradicts some known bits.
    ///
    /// * `known`: the bits, sorted by place.
    pub(super) fn agree_with(&self, known: &[(DwordPlace, bool)]) -> bool {
        self.made.iter().all(|(place, decided)| {
            let found = known.binary_search_by_key(place, |(place, _)| *place).ok();
            let known = found.and_then(|at| known.get(at));
            known.is_none_or(|(_, known)| decided.is_none_or(|decided| decided == *known))
        })
    }

    fn find(&self, place: DwordPlace) -> Decision {
        let found = self.made.iter().find(|(known, _)| *known == place);
        match found {
            Some((_, Some(bit))) => Decision::Bit(*bit),
            None if !self.is_closed => Decision::Open,
            Some((_, None)) | None => Decision::Unreadable,
        }
    }

    /// Returns the first place that could not be read.
    pub(super) fn unreadable(&self) -> Option<DwordPlace> {
        let found = self.made.iter().find(|(_, bit)| bit.is_none());
        found.map(|(place, _)| *place)
    }
}

impl Scalar for Value {
    const UNKNOWN: Value = Value::Unknown;

    fn of_word(word: u32) -> Value {
        Value::Word(word)
    }

    fn word(self) -> Option<u32> {
        let Value::Word(word) = self else {
            return None;
        };
        Some(word)
    }

    fn join(self, other: Value) -> Value {
        if self == other { self } else { Value::Unknown }
    }
}

impl Value {
    /// Returns the contents of a place at the stop.
    pub(super) const fn initial(place: DwordPlace) -> Value {
        Value::Initial { place, plus: 0 }
    }

    /// Returns true if every dword with the value `other` also has this value.
    pub(super) fn covers(self, other: Value) -> bool {
        self == other || self == Value::Unknown
    }

    /// Returns true if this value covers another one for lanes with some bits.
    pub(super) fn covers_for(self, other: Value, decisions: &Decisions) -> bool {
        self.covers(other) || self.decided(decisions) == other.decided(decisions)
    }

    /// Returns true if this value covers another one for lanes with some bits, in a lane of a vector. A computed mask also covers a constant
    /// with the same bit. Where both can be saved, the constant is not one that code writes to EXEC to select lanes, but a mask of the
    /// program.
    pub(super) fn covers_saved(self, other: Value, decisions: &Decisions) -> bool {
        self.covers_for(other, decisions)
            || matches!(self.decided(decisions), Value::Bit(bit) if other.uniform() == Some(bit))
    }

    /// Returns the lane's bit if it has been decided, or else the value.
    fn decided(self, decisions: &Decisions) -> Value {
        match self {
            Value::BitOf { place, inverted } => decisions
                .get(place)
                .map_or(self, |bit| Value::Bit(bit != inverted)),
            Value::Unknown
            | Value::Bit(_)
            | Value::Word(_)
            | Value::Made(_)
            | Value::Initial { .. } => self,
        }
    }

    /// Returns a mask's value for a lane, across blocks. A zero constant becomes a clear bit, all ones stay, and other constants become
    /// unknown. Contents at the stop become the lane's bit. Sums stay, and so do contents of stack registers, because they are addresses.
    /// States that mean the same become equal.
    pub(super) fn as_mask(self) -> Value {
        match self {
            Value::Word(0) => Value::Bit(false),
            Value::Word(u32::MAX) => self,
            Value::Word(_) => Value::Unknown,
            Value::Initial { place, plus: 0 } if !place.is_stack_register() => self.bits(),
            Value::Unknown
            | Value::Bit(_)
            | Value::BitOf { .. }
            | Value::Made(_)
            | Value::Initial { .. } => self,
        }
    }

    /// Returns a value plus a constant.
    pub(super) fn plus(self, constant: i32) -> Value {
        match self {
            Value::Word(word) => Value::Word(word.wrapping_add_signed(constant)),
            Value::Initial { place, plus } => Value::Initial {
                place,
                plus: plus.wrapping_add(constant),
            },
            Value::Unknown | Value::Bit(_) | Value::BitOf { .. } | Value::Made(_) => Value::Unknown,
        }
    }

    /// Returns the lane's bit, as far as it is known without further questions. For constants, it is known if it is the same for every
    /// lane.
    fn known_bit(self, decisions: &Decisions) -> Option<bool> {
        match self {
            Value::Bit(bit) => Some(bit),
            Value::Word(_) => self.uniform(),
            Value::BitOf { place, inverted } => decisions.get(place).map(|bit| bit != inverted),
            Value::Initial { place, plus: 0 } => decisions.get(place),
            Value::Unknown | Value::Made(_) | Value::Initial { .. } => None,
        }
    }

    /// Returns the value of every bit, if they are all known to be equal.
    const fn uniform(self) -> Option<bool> {
        if let Value::Word(word @ (0 | u32::MAX)) = self {
            Some(word != 0)
        } else {
            None
        }
    }

    /// Returns the bit of the followed lane. `None` if it depends on the stop.
    pub(super) fn own_bit(self) -> Option<bool> {
        self.known_bit(&Decisions::closed())
    }

    /// Returns the place at the stop whose bit decides this one, if it has not been decided yet.
    fn decided_by(self, decisions: &Decisions) -> Option<DwordPlace> {
        let (Value::BitOf { place, .. } | Value::Initial { place, plus: 0 }) = self else {
            return None;
        };
        Some(place).filter(|place| decisions.find(*place) == Decision::Open)
    }

    /// Returns the lane's bit. `None` if it cannot be known.
    ///
    /// # Errors
    /// The place whose bit has to be decided first.
    pub(super) fn bit(self, decisions: &Decisions) -> Result<Option<bool>, Undecided> {
        match (self.known_bit(decisions), self.decided_by(decisions)) {
            (Some(bit), _) => Ok(Some(bit)),
            (None, Some(place)) => Err(Undecided(place)),
            (None, None) => Ok(None),
        }
    }

    /// Returns the value with every bit inverted.
    pub(super) fn not(self) -> Value {
        match self {
            Value::Bit(bit) => Value::Bit(!bit),
            Value::Word(word) => Value::Word(!word),
            Value::BitOf { place, inverted } => Value::BitOf {
                place,
                inverted: !inverted,
            },
            Value::Initial { place, plus: 0 } => Value::BitOf {
                place,
                inverted: true,
            },
            Value::Unknown | Value::Made(_) | Value::Initial { .. } => Value::Unknown,
        }
    }

    /// Returns the part of a value that describes only the lane's bit.
    fn bits(self) -> Value {
        let Value::Initial { place, plus } = self else {
            return self;
        };
        if plus != 0 {
            return Value::Unknown;
        }
        Value::BitOf {
            place,
            inverted: false,
        }
    }
}

/// An operation on each bit separately, as a truth table: bit `2 * a + b` is the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bitwise(u8);

impl Bitwise {
    pub(super) const AND: Bitwise = Bitwise(0b1000);
    pub(super) const OR: Bitwise = Bitwise(0b1110);
    pub(super) const XOR: Bitwise = Bitwise(0b0110);
    /// `a & !b`.
    pub(super) const AND_NOT: Bitwise = Bitwise(0b0100);
    /// `a | !b`.
    pub(super) const OR_NOT: Bitwise = Bitwise(0b1101);
    /// `!a & b`.
    pub(super) const NOT_AND: Bitwise = Bitwise(0b0010);
    /// `!a | b`.
    pub(super) const NOT_OR: Bitwise = Bitwise(0b1011);

    /// Returns the operation with every result inverted.
    pub(super) const fn inverted(self) -> Bitwise {
        Bitwise(!self.0 & 0b1111)
    }

    /// Returns the bitwise operation of an opcode of the scalar ALU.
    pub(super) const fn of(op: ScalarOp) -> Option<Bitwise> {
        Some(match op {
            ScalarOp::And => Bitwise::AND,
            ScalarOp::Or => Bitwise::OR,
            ScalarOp::Xor => Bitwise::XOR,
            ScalarOp::AndNot => Bitwise::AND_NOT,
            ScalarOp::OrNot => Bitwise::OR_NOT,
            ScalarOp::Nand => Bitwise::AND.inverted(),
            ScalarOp::Nor => Bitwise::OR.inverted(),
            ScalarOp::Xnor => Bitwise::XOR.inverted(),
            ScalarOp::Mov
            | ScalarOp::MovIfScc
            | ScalarOp::Not
            | ScalarOp::Add
            | ScalarOp::AddCarry
            | ScalarOp::Sub
            | ScalarOp::SubBorrow
            | ScalarOp::Mul
            | ScalarOp::MulHighUnsigned
            | ScalarOp::MulHighSigned
            | ScalarOp::ShiftLeft
            | ScalarOp::ShiftRight
            | ScalarOp::ShiftRightSigned
            | ScalarOp::ShiftLeftAdd(_)
            | ScalarOp::BitFieldExtract
            | ScalarOp::BitFieldExtractSigned
            | ScalarOp::BitFieldMask
            | ScalarOp::Select => return None,
        })
    }

    /// Returns `b` if `a` and the result determine it.
    pub(super) const fn operand(self, a: bool, result: bool) -> Option<bool> {
        match [
            self.result(a, false) == result,
            self.result(a, true) == result,
        ] {
            [true, false] => Some(false),
            [false, true] => Some(true),
            _ => None,
        }
    }

    /// Returns the operation with its operands exchanged.
    pub(super) const fn exchanged(self) -> Bitwise {
        let [low, high] = [self.0 >> 1 & 1, self.0 >> 2 & 1];
        Bitwise(self.0 & 0b1001 | low << 2 | high << 1)
    }

    const fn result(self, a: bool, b: bool) -> bool {
        let place = (a as u8) << 1 | b as u8;
        self.0 >> place & 1 != 0
    }

    fn words(self, a: u32, b: u32) -> u32 {
        let cases = [
            (!a & !b, self.result(false, false)),
            (!a & b, self.result(false, true)),
            (a & !b, self.result(true, false)),
            (a & b, self.result(true, true)),
        ];
        let chosen = cases.into_iter().filter(|(_, result)| *result);
        chosen.fold(0, |all, (bits, _)| all | bits)
    }

    /// Applies the operation to two dwords.
    ///
    /// # Errors
    /// A place whose bit decides the result.
    pub(super) fn apply(
        self,
        a: Value,
        b: Value,
        decisions: &Decisions,
    ) -> Result<Value, Undecided> {
        if let (Value::Word(a), Value::Word(b)) = (a, b) {
            return Ok(Value::Word(self.words(a, b)));
        }
        // An operand with equal bits has the same effect on every bit of the other.
        if let Some(known) = a.uniform() {
            let results = [self.result(known, false), self.result(known, true)];
            return Ok(with_one_uniform(results, b));
        }
        if let Some(known) = b.uniform() {
            let results = [self.result(false, known), self.result(true, known)];
            return Ok(with_one_uniform(results, a));
        }
        match (a.known_bit(decisions), b.known_bit(decisions)) {
            (Some(a), Some(b)) => Ok(Value::Bit(self.result(a, b))),
            (Some(known), None) => {
                let results = [self.result(known, false), self.result(known, true)];
                Ok(with_one_known(results, b))
            }
            (None, Some(known)) => {
                let results = [self.result(false, known), self.result(true, known)];
                Ok(with_one_known(results, a))
            }
            (None, None) if a == b && a != Value::Unknown => {
                let results = [self.result(false, false), self.result(true, true)];
                Ok(with_one_known(results, a))
            }
            // A decision about one bit may make the other one irrelevant.
            (None, None) => match a.decided_by(decisions).or(b.decided_by(decisions)) {
                Some(place) => Err(Undecided(place)),
                None => Ok(Value::Unknown),
            },
        }
    }
}

/// Returns the result if one operand has equal bits.
///
/// * `results`: the results for a clear and for a set bit of the other operand.
fn with_one_uniform(results: [bool; 2], other: Value) -> Value {
    match results {
        [false, true] => other,
        [true, false] => other.not(),
        [false, false] => Value::Word(0),
        [true, true] => Value::Word(u32::MAX),
    }
}

/// Returns the result if the lane's bit of one operand is known.
///
/// * `results`: the results for a clear and for a set bit of the other operand.
fn with_one_known(results: [bool; 2], other: Value) -> Value {
    match results {
        [false, true] => other.bits(),
        [true, false] => other.not().bits(),
        [result, _] => Value::Bit(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::MachineRegister;

    type Machine = fn(u32, u32) -> u32;

    const OPS: [(ScalarOp, Machine); 8] = [
        (ScalarOp::And, |a, b| a & b),
        (ScalarOp::Or, |a, b| a | b),
        (ScalarOp::Xor, |a, b| a ^ b),
        (ScalarOp::AndNot, |a, b| a & !b),
        (ScalarOp::OrNot, |a, b| a | !b),
        (ScalarOp::Nand, |a, b| !(a & b)),
        (ScalarOp::Nor, |a, b| !(a | b)),
        (ScalarOp::Xnor, |a, b| !(a ^ b)),
    ];

    /// Applies every operation to every two abstract values, for all contents of the places that they name. Each known bit of an abstract
    /// result equals the result of the machine.
    #[test]
    fn abstract_operations_agree_with_those_of_the_machine() {
        let [p, q] = [4, 5].map(|n| DwordPlace::Scalar(MachineRegister::Sgpr(n)));
        let values = [
            Value::Unknown,
            Value::Bit(false),
            Value::Bit(true),
            Value::Word(0),
            Value::Word(u32::MAX),
            Value::Word(5),
            Value::initial(p),
            Value::initial(p).not(),
            Value::initial(q),
            Value::Initial { place: q, plus: 4 },
            Value::Made(1),
            Value::Made(2),
        ];
        let mut said = 0;
        // Bit 0 is the lane's.
        for bits in 0..64_u32 {
            let [p_bit, q_bit] = [bits & 1, bits >> 1 & 1];
            let decisions = Decisions::default()
                .with(p, Some(p_bit != 0))
                .with(q, Some(q_bit != 0));
            // An unknown bit is tried with both values.
            let concrete = |value: Value, anything: u32| match value {
                Value::Unknown => anything,
                Value::Bit(bit) => u32::from(bit),
                // Any bit, but the same in all copies.
                Value::Made(number) => bits >> (3 + number) & 1,
                Value::Word(word) => word,
                Value::BitOf { place, inverted } => {
                    u32::from((if place == p { p_bit } else { q_bit } != 0) != inverted)
                }
                Value::Initial { place, plus } => {
                    (if place == p { p_bit } else { q_bit }).wrapping_add_signed(plus)
                }
            };
            for (op, machine) in OPS {
                let op = Bitwise::of(op).unwrap();
                for a in values {
                    for b in values {
                        let found = op.apply(a, b, &decisions).unwrap();
                        let Ok(Some(found)) = found.bit(&decisions) else {
                            continue;
                        };
                        said += 1;
                        let a = concrete(a, bits >> 2 & 1);
                        let b = concrete(b, bits >> 3 & 1);
                        assert_eq!(machine(a, b) & 1, u32::from(found), "{op:?} {a} {b}");
                    }
                }
            }
        }
        assert!(said > 16 * 8 * 50, "{said}");
    }

    #[test]
    fn what_decides_is_asked_for_only_if_it_does() {
        let [p, q] = [4, 5].map(|n| DwordPlace::Scalar(MachineRegister::Sgpr(n)));
        let (none, [p, q]) = (Decisions::default(), [p, q].map(Value::initial));
        let and = |a, b| Bitwise::AND.apply(a, b, &none);
        assert_eq!(and(p, Value::Bit(false)), Ok(Value::Bit(false)));
        assert_eq!(and(p, Value::Bit(true)), Ok(p.bits()));
        assert_eq!(and(p, p), Ok(p.bits()));
        assert!(and(p, q).is_err());
        assert!(and(Value::Unknown, q).is_err());
        assert_eq!(and(Value::Unknown, Value::Unknown), Ok(Value::Unknown));
    }
}
