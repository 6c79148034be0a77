//! Numbers that are computed from others: sums with constant factors, and pure operations.
//!
//! All arithmetic has 32 bits and wraps around, so equal sums are equal dwords. Each expression is kept once. Two dwords have the same
//! number if the same operations compute them from equal dwords, wherever that is.

use core::cell::RefCell;
use std::collections::HashMap;

use smallvec::SmallVec;

use super::number::{Number, Origin};
use crate::isa::{ScalarOp, VectorOp};

/// A pure operation on two dwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Operation {
    Add,
    Mul,
    And,
    Or,
    Xor,
    /// Shifts use the low five bits of the second operand.
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
}

impl Operation {
    pub(crate) const fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Operation::Add => a.wrapping_add(b),
            Operation::Mul => a.wrapping_mul(b),
            Operation::And => a & b,
            Operation::Or => a | b,
            Operation::Xor => a ^ b,
            Operation::ShiftLeft => a.wrapping_shl(b),
            Operation::ShiftRight => a.wrapping_shr(b),
            Operation::ShiftRightSigned => a.cast_signed().wrapping_shr(b).cast_unsigned(),
        }
    }

    const fn is_commutative(self) -> bool {
        match self {
            Operation::Add | Operation::Mul | Operation::And | Operation::Or | Operation::Xor => {
                true
            }
            Operation::ShiftLeft | Operation::ShiftRight | Operation::ShiftRightSigned => false,
        }
    }
}

/// The terms of a sum: origins with their factors. Sorted, unique, and without factors of zero.
pub(super) type Terms = SmallVec<[(Origin, u32); 3]>;

/// The computation of a dword.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Expression {
    /// A sum. The constant part is in the number.
    Sum(Terms),
    /// An operation on two dwords that cannot be written as a sum.
    Of(Operation, Number, Number),
}

/// An expression that is kept.
#[derive(Debug)]
struct Kept {
    expression: Expression,
    /// The instructions from whose numbers the expression is computed.
    looked_at: SmallVec<[u32; 4]>,
    /// The number of origins in the expression.
    size: usize,
}

/// The expressions of an analysis.
#[derive(Debug, Default)]
pub(super) struct Expressions {
    kept: RefCell<Vec<Kept>>,
    numbers: RefCell<HashMap<Expression, u32>>,
}

impl Expressions {
    /// The most expressions of an analysis.
    const MOST: usize = 1 << 14;
    /// The most origins in one expression.
    const MOST_NUMBERS: usize = 8;

    /// Returns a kept expression.
    pub(super) fn get(&self, id: u32) -> Option<Expression> {
        let kept = self.kept.borrow();
        Some(kept.get(usize::try_from(id).ok()?)?.expression.clone())
    }

    /// Returns true if a number, or a number that it is computed from, belongs to an instruction.
    pub(super) fn is_of(&self, number: Number, at: u32) -> bool {
        match number {
            Number::Unknown | Number::Word(_) => false,
            Number::Known { origin, .. } => match origin {
                Origin::At { index, .. } => index == at,
                Origin::Computed(id) => self.looked_at(id).contains(&at),
                Origin::Entry(_) | Origin::Kernarg(_) => false,
            },
        }
    }

    fn looked_at(&self, id: u32) -> SmallVec<[u32; 4]> {
        let kept = self.kept.borrow();
        let kept = usize::try_from(id).ok().and_then(|id| kept.get(id));
        kept.map_or_else(SmallVec::new, |kept| kept.looked_at.clone())
    }

    /// Returns the number of an expression.
    fn number(&self, expression: Expression) -> Option<u32> {
        if let Some(known) = self.numbers.borrow().get(&expression) {
            return Some(*known);
        }
        let mut looked_at: SmallVec<[u32; 4]> = SmallVec::new();
        let mut size = 0_usize;
        let mut add = |origin: Origin| {
            match origin {
                Origin::At { index, .. } => looked_at.push(index),
                Origin::Computed(id) => looked_at.extend(self.looked_at(id)),
                Origin::Entry(_) | Origin::Kernarg(_) => {}
            }
            size += self.size(origin);
        };
        match &expression {
            Expression::Sum(terms) => terms.iter().for_each(|(origin, _)| add(*origin)),
            Expression::Of(_, a, b) => {
                let operands = [a, b].into_iter().filter_map(|number| number.origin());
                operands.for_each(add);
            }
        }
        looked_at.sort_unstable();
        looked_at.dedup();
        let mut kept = self.kept.borrow_mut();
        if size > Self::MOST_NUMBERS || kept.len() >= Self::MOST {
            return None;
        }
        let id = u32::try_from(kept.len()).ok()?;
        self.numbers.borrow_mut().insert(expression.clone(), id);
        kept.push(Kept {
            expression,
            looked_at,
            size,
        });
        Some(id)
    }

    fn size(&self, origin: Origin) -> usize {
        match origin {
            Origin::Entry(_) | Origin::At { .. } | Origin::Kernarg(_) => 1,
            Origin::Computed(id) => {
                let kept = self.kept.borrow();
                let kept = usize::try_from(id).ok().and_then(|id| kept.get(id));
                kept.map_or(0, |kept| kept.size)
            }
        }
    }

    /// Returns a number as a sum: its terms, and its constant part.
    pub(super) fn terms(&self, number: Number) -> Option<(Terms, u32)> {
        match number {
            Number::Unknown => None,
            Number::Word(word) => Some((Terms::new(), word)),
            Number::Known { origin, plus } => {
                let sum = match origin {
                    Origin::Computed(id) => self.get(id),
                    Origin::Entry(_) | Origin::At { .. } | Origin::Kernarg(_) => None,
                };
                match sum {
                    Some(Expression::Sum(terms)) => Some((terms, plus)),
                    Some(Expression::Of(..)) | None => {
                        Some((smallvec::smallvec![(origin, 1)], plus))
                    }
                }
            }
        }
    }

    /// Returns the number of a sum.
    fn of_terms(&self, mut terms: Terms, plus: u32) -> Number {
        terms.retain(|(_, factor)| *factor != 0);
        let origin = match terms.as_slice() {
            [] => return Number::Word(plus),
            [(origin, 1)] => Some(*origin),
            _ => self.number(Expression::Sum(terms)).map(Origin::Computed),
        };
        origin.map_or(Number::Unknown, |origin| Number::Known { origin, plus })
    }

    pub(super) fn sum(&self, a: Number, b: Number) -> Number {
        let (Some((mut terms, plus)), Some((others, more))) = (self.terms(a), self.terms(b)) else {
            return Number::Unknown;
        };
        for (origin, factor) in others {
            match terms.binary_search_by_key(&origin, |(origin, _)| *origin) {
                Ok(at) => {
                    if let Some((_, known)) = terms.get_mut(at) {
                        *known = known.wrapping_add(factor);
                    }
                }
                Err(at) => terms.insert(at, (origin, factor)),
            }
        }
        self.of_terms(terms, plus.wrapping_add(more))
    }

    /// Returns the product of a number and a constant.
    pub(super) fn times(&self, number: Number, by: u32) -> Number {
        let Some((mut terms, plus)) = self.terms(number) else {
            return Number::Unknown;
        };
        for (_, factor) in &mut terms {
            *factor = factor.wrapping_mul(by);
        }
        self.of_terms(terms, plus.wrapping_mul(by))
    }

    pub(super) fn difference(&self, a: Number, b: Number) -> Number {
        self.sum(a, self.times(b, u32::MAX))
    }

    /// Returns the number of the result of an operation.
    pub(super) fn apply(&self, operation: Operation, a: Number, b: Number) -> Number {
        match (operation, a, b) {
            (_, Number::Unknown, _) | (_, _, Number::Unknown) => return Number::Unknown,
            (_, Number::Word(a), Number::Word(b)) => return Number::Word(operation.apply(a, b)),
            (Operation::Add, _, _) => return self.sum(a, b),
            (Operation::Mul, other, Number::Word(by))
            | (Operation::Mul, Number::Word(by), other) => {
                return self.times(other, by);
            }
            (Operation::ShiftLeft, _, Number::Word(by)) => {
                return self.times(a, 1_u32.wrapping_shl(by));
            }
            (Operation::ShiftRight | Operation::ShiftRightSigned, _, Number::Word(by))
                if by.trailing_zeros() >= 5 =>
            {
                return a;
            }
            (_, _, _) => {}
        }
        let (a, b) = match operation.is_commutative() && b < a {
            true => (b, a),
            false => (a, b),
        };
        match self.number(Expression::Of(operation, a, b)) {
            Some(id) => Number::Known {
                origin: Origin::Computed(id),
                plus: 0,
            },
            None => Number::Unknown,
        }
    }
}

impl Expressions {
    /// Returns the number of the result of a vector operation.
    ///
    /// * `sources`: at least as many as the operation has operands.
    pub(super) fn vector(&self, op: VectorOp, sources: &[Number]) -> Number {
        use Operation::{And, Mul, Or, ShiftLeft, ShiftRight, ShiftRightSigned, Xor};
        let [a, b, c] = [0, 1, 2].map(|n| sources.get(n).copied().unwrap_or(Number::Unknown));
        let low_24 = |number| self.apply(And, number, Number::Word(0xff_ffff));
        let signed_24 = |number| {
            let shifted = self.times(number, 1 << 8);
            self.apply(ShiftRightSigned, shifted, Number::Word(8))
        };
        match op {
            VectorOp::Mov => a,
            VectorOp::Not => self.not(a),
            VectorOp::Add => self.sum(a, b),
            VectorOp::Sub => self.difference(a, b),
            VectorOp::Mul => self.apply(Mul, a, b),
            VectorOp::Mul24 => self.apply(Mul, low_24(a), low_24(b)),
            VectorOp::Mul24Signed => self.apply(Mul, signed_24(a), signed_24(b)),
            VectorOp::MulAdd => self.sum(self.apply(Mul, a, b), c),
            VectorOp::MulAdd24 => self.sum(self.apply(Mul, low_24(a), low_24(b)), c),
            VectorOp::MulAdd24Signed => self.sum(self.apply(Mul, signed_24(a), signed_24(b)), c),
            VectorOp::And => self.apply(And, a, b),
            VectorOp::Or => self.apply(Or, a, b),
            VectorOp::Xor => self.apply(Xor, a, b),
            VectorOp::ShiftLeft => self.apply(ShiftLeft, a, b),
            VectorOp::ShiftRight => self.apply(ShiftRight, a, b),
            VectorOp::ShiftRightSigned => self.apply(ShiftRightSigned, a, b),
            VectorOp::ShiftLeftAdd => self.sum(self.apply(ShiftLeft, a, b), c),
            VectorOp::AddShiftLeft => self.apply(ShiftLeft, self.sum(a, b), c),
            VectorOp::Add3 => self.sum(self.sum(a, b), c),
            VectorOp::ShiftLeftOr => self.apply(Or, self.apply(ShiftLeft, a, b), c),
            VectorOp::AndOr => self.apply(Or, self.apply(And, a, b), c),
            VectorOp::Or3 => self.apply(Or, self.apply(Or, a, b), c),
            VectorOp::Xor3 => self.apply(Xor, self.apply(Xor, a, b), c),
            VectorOp::XorAdd => self.sum(self.apply(Xor, a, b), c),
            VectorOp::BitFieldExtract => match (b, c) {
                (Number::Word(offset), Number::Word(width)) => {
                    self.field(ShiftRight, a, offset, width & 31)
                }
                (_, _) => Number::Unknown,
            },
            VectorOp::BitFieldExtractSigned => match (b, c) {
                (Number::Word(offset), Number::Word(width)) => {
                    self.field(ShiftRightSigned, a, offset, width & 31)
                }
                (_, _) => Number::Unknown,
            },
        }
    }

    /// Returns the number of the result of a 32-bit scalar operation; `None` if the operation is not followed.
    pub(super) fn scalar(&self, op: ScalarOp, [a, b]: [Number; 2]) -> Option<Number> {
        use Operation::{And, Mul, Or, ShiftLeft, ShiftRight, ShiftRightSigned, Xor};
        Some(match op {
            ScalarOp::Mov => a,
            ScalarOp::Not => self.not(a),
            ScalarOp::Add => self.sum(a, b),
            ScalarOp::Sub => self.difference(a, b),
            ScalarOp::Mul => self.apply(Mul, a, b),
            ScalarOp::And => self.apply(And, a, b),
            ScalarOp::Or => self.apply(Or, a, b),
            ScalarOp::Xor => self.apply(Xor, a, b),
            ScalarOp::AndNot => self.apply(And, a, self.not(b)),
            ScalarOp::OrNot => self.apply(Or, a, self.not(b)),
            ScalarOp::Nand => self.not(self.apply(And, a, b)),
            ScalarOp::Nor => self.not(self.apply(Or, a, b)),
            ScalarOp::Xnor => self.not(self.apply(Xor, a, b)),
            ScalarOp::ShiftLeft => self.apply(ShiftLeft, a, b),
            ScalarOp::ShiftRight => self.apply(ShiftRight, a, b),
            ScalarOp::ShiftRightSigned => self.apply(ShiftRightSigned, a, b),
            ScalarOp::ShiftLeftAdd(by) => {
                self.sum(self.apply(ShiftLeft, a, Number::Word(by.into())), b)
            }
            ScalarOp::BitFieldExtract => self.scalar_field(ShiftRight, a, b)?,
            ScalarOp::BitFieldExtractSigned => self.scalar_field(ShiftRightSigned, a, b)?,
            ScalarOp::MovIfScc
            | ScalarOp::AddCarry
            | ScalarOp::SubBorrow
            | ScalarOp::MulHighUnsigned
            | ScalarOp::MulHighSigned
            | ScalarOp::BitFieldMask
            | ScalarOp::Select => return None,
        })
    }

    /// Extracts a bit field.
    ///
    /// * `field`: the offset in its low five bits, the width from bit 16.
    fn scalar_field(&self, back: Operation, a: Number, field: Number) -> Option<Number> {
        let Number::Word(field) = field else {
            return None;
        };
        Some(self.field(back, a, field, field >> 16 & 0x7f))
    }

    /// Returns the complement, as `-a - 1`.
    fn not(&self, a: Number) -> Number {
        self.sum(self.times(a, u32::MAX), Number::Word(u32::MAX))
    }

    /// Extracts a bit field by shifting it to the top and back. Unknown if it extends past the top.
    ///
    /// * `back`: the shift back.
    /// * `offset`: only its low five bits count.
    fn field(&self, back: Operation, a: Number, offset: u32, width: u32) -> Number {
        let above = 32_u32.checked_sub(offset & 31);
        match above.and_then(|rest| rest.checked_sub(width)) {
            Some(_) if width == 0 => Number::Word(0),
            Some(above) => {
                let top = self.apply(Operation::ShiftLeft, a, Number::Word(above));
                let below = Number::Word(32 - width);
                self.apply(back, top, below)
            }
            None => Number::Unknown,
        }
    }
}

/// Returns the multiplicative inverse of an odd number. Newton's method: each round doubles the number of correct low bits.
pub(super) fn inverse(odd: u32) -> Option<u32> {
    if odd & 1 == 0 {
        return None;
    }
    // The low three bits are correct, since the square of an odd number is 1 modulo 8.
    let mut inverse = odd;
    for _ in 0..4 {
        inverse = inverse.wrapping_mul(2_u32.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    Some(inverse)
}
