//! Classifies operations on two integers by the facts that they need.

use super::Refusal;
use super::dataflow::{Dataflow, Fresh, Integer, Origin, bits_of, wide};
use crate::error::Ambiguity;
use crate::expr::Operation;

/// The facts that an operation needs about its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    /// The low bits of the result depend only on the operands' low bits.
    LowBits,
    /// `and`: with a mask, the bits above it are zero.
    And,
    /// `or`, `xor`: the result is widened if the operands are.
    Bits,
    /// `shl`: needs the low bits, and the count.
    ShiftLeft,
    /// `shr`, which LLVM writes for a logical shift.
    ShiftRight,
    /// `shra`.
    ShiftRightSigned,
    /// `div`, which LLVM writes only for signed integers.
    Divide,
    /// `mod`, which LLVM writes for the signed remainder, although it is specified as unsigned.
    Remainder,
    /// `eq`, `ne`.
    Equality,
    /// The other relations, which LLVM writes for signed and unsigned integers.
    Order,
}

/// Returns the facts that an operation on two integers needs, or `None` for any other operation.
#[expect(
    clippy::too_many_lines,
    reason = "every operation is named, so that a new one does not compile until somebody has said what it is"
)]
pub(super) fn binary(operation: &Operation<'_>) -> Option<Binary> {
    Some(match operation {
        Operation::Plus | Operation::Minus | Operation::Mul => Binary::LowBits,
        Operation::And => Binary::And,
        Operation::Or | Operation::Xor => Binary::Bits,
        Operation::Shl => Binary::ShiftLeft,
        Operation::Shr => Binary::ShiftRight,
        Operation::Shra => Binary::ShiftRightSigned,
        Operation::Div => Binary::Divide,
        Operation::Mod => Binary::Remainder,
        Operation::Eq | Operation::Ne => Binary::Equality,
        Operation::Lt | Operation::Le | Operation::Gt | Operation::Ge => Binary::Order,
        // Operations with another meaning for integers are in `Dataflow::step`.
        Operation::Addr { .. }
        | Operation::Deref
        | Operation::Const1u { .. }
        | Operation::Const1s { .. }
        | Operation::Const2u { .. }
        | Operation::Const2s { .. }
        | Operation::Const4u { .. }
        | Operation::Const4s { .. }
        | Operation::Const8u { .. }
        | Operation::Const8s { .. }
        | Operation::Constu { .. }
        | Operation::Consts { .. }
        | Operation::Dup
        | Operation::Drop
        | Operation::Over
        | Operation::Pick { .. }
        | Operation::Swap
        | Operation::Rot
        | Operation::Xderef
        | Operation::Abs
        | Operation::Neg
        | Operation::Not
        | Operation::PlusUconst { .. }
        | Operation::Bra { .. }
        | Operation::Skip { .. }
        | Operation::Regx { .. }
        | Operation::Fbreg { .. }
        | Operation::Bregx { .. }
        | Operation::Piece { .. }
        | Operation::DerefSize { .. }
        | Operation::XderefSize { .. }
        | Operation::Nop
        | Operation::PushObjectAddress
        | Operation::Call2 { .. }
        | Operation::Call4 { .. }
        | Operation::CallRef { .. }
        | Operation::FormTlsAddress
        | Operation::CallFrameCfa
        | Operation::BitPiece { .. }
        | Operation::ImplicitValue { .. }
        | Operation::StackValue
        | Operation::ImplicitPointer { .. }
        | Operation::Addrx { .. }
        | Operation::Constx { .. }
        | Operation::EntryValue { .. }
        | Operation::ConstType { .. }
        | Operation::RegvalType { .. }
        | Operation::DerefType { .. }
        | Operation::XderefType { .. }
        | Operation::Convert { .. }
        | Operation::Reinterpret { .. }
        | Operation::GnuUninit
        | Operation::GnuParameterRef { .. }
        | Operation::GnuVariableValue { .. }
        | Operation::LlvmNop
        | Operation::FormAspaceAddress
        | Operation::PushLane
        | Operation::Offset
        | Operation::OffsetUconst { .. }
        | Operation::BitOffset
        | Operation::CallFrameEntryReg { .. }
        | Operation::Undefined
        | Operation::AspaceBregx { .. }
        | Operation::PieceEnd
        | Operation::Extend { .. }
        | Operation::SelectBitPiece { .. }
        | Operation::AspaceImplicitPointer { .. }
        | Operation::PushIteration
        | Operation::Overlay
        | Operation::BitOverlay
        | Operation::NvidiaMux { .. }
        | Operation::Composite
        | Operation::Lit { .. }
        | Operation::Reg { .. }
        | Operation::Breg { .. } => return None,
    })
}

/// Returns true if an integer has the same value as signed and as unsigned.
fn has_no_sign(integer: &Integer, width: u8) -> bool {
    match integer.constant {
        Some(value) => bits_of(value) < width,
        None => integer.below.is_some_and(|below| below < integer.width),
    }
}

/// Returns the width of an operation on two integers.
fn common_width(a: &Integer, b: &Integer) -> Result<u8, Ambiguity> {
    match (a.constant, b.constant) {
        (Some(_), _) => Ok(b.width),
        (None, Some(_)) => Ok(a.width),
        (None, None) if a.width == b.width => Ok(a.width),
        // An unsigned integer has the same value in any larger width.
        (None, None) if a.width < b.width && has_no_sign(a, a.width) => Ok(b.width),
        (None, None) if b.width < a.width && has_no_sign(b, b.width) => Ok(a.width),
        (None, None) => Err(Ambiguity::Width),
    }
}

impl Dataflow<'_, '_> {
    /// Rewrites an operation on the two top entries.
    pub(super) fn binary(
        &mut self,
        kind: Binary,
        operation: &Operation<'_>,
    ) -> Result<(), Refusal> {
        let b = self.pop()?;
        let a = self.pop()?;
        let is_shift = matches!(
            kind,
            Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned
        );
        let width = match (is_shift, a.constant) {
            // The count does not affect the width of the shifted operand, except that constants take any width.
            (true, None) => a.width,
            (true, Some(_)) => b.width,
            (false, _) => common_width(&a, &b)?,
        };
        if is_shift {
            self.widen_top(&b, b.width, false)?;
        }
        let result = Integer {
            width,
            known: a.known.min(b.known),
            widened: width == 64,
            below: None,
            constant: None,
            origin: origin(operation, &a, &b),
            fresh: Fresh::No,
        };
        let result = match kind {
            Binary::LowBits | Binary::ShiftLeft => result,
            Binary::And => self.masked(&a, &b, result),
            Binary::Bits => Integer {
                widened: a.is_widened_from(width) && b.is_widened_from(width),
                ..result
            },
            Binary::ShiftRight => {
                self.widen_second(&a, width, false)?;
                shifted(&a, &b, result)
            }
            Binary::ShiftRightSigned => {
                self.widen_second(&a, width, true)?;
                Integer {
                    widened: true,
                    ..result
                }
            }
            Binary::Divide => {
                self.widen_two(&a, &b, width, true)?;
                result
            }
            Binary::Remainder => {
                self.widen_two(&a, &b, width, true)?;
                return self.remainder(result);
            }
            Binary::Equality => {
                self.widen_two(&a, &b, width, true)?;
                truth()
            }
            Binary::Order => {
                self.widen_for_order(&a, &b, width)?;
                truth()
            }
        };
        self.emit(*operation)?;
        self.push(result)
    }

    /// Writes `a - a / b * b` for the two top entries.
    fn remainder(&mut self, result: Integer) -> Result<(), Refusal> {
        for operation in [
            Operation::Over,
            Operation::Over,
            Operation::Div,
            Operation::Mul,
            Operation::Minus,
        ] {
            self.emit(operation)?;
        }
        self.push(Integer {
            widened: true,
            ..result
        })
    }

    /// Widens two compared integers according to the current reading. The machine compares signed 64-bit integers.
    fn widen_for_order(&mut self, a: &Integer, b: &Integer, width: u8) -> Result<(), Refusal> {
        if has_no_sign(a, width) && has_no_sign(b, width) {
            return self.widen_two(a, b, width, true);
        }
        self.translator.matters.unsigned_relations = true;
        if !self.translator.choice.unsigned_relations {
            return self.widen_two(a, b, width, true);
        }
        if width < 64 {
            return self.widen_two(a, b, width, false);
        }
        for _ in 0..2 {
            self.builder().constant(1 << 63)?.push(Operation::Xor)?;
            self.emit(Operation::Swap)?;
        }
        Ok(())
    }

    /// Computes the result of `and`.
    fn masked(&mut self, a: &Integer, b: &Integer, result: Integer) -> Integer {
        let (integer, mask) = match (a.constant, b.constant) {
            (_, Some(mask)) => (a, mask),
            (Some(mask), None) => (b, mask),
            (None, None) => {
                return Integer {
                    widened: a.is_widened_from(result.width) && b.is_widened_from(result.width),
                    ..result
                };
            }
        };
        let bits = bits_of(mask);
        if bits >= 64 {
            return Integer {
                widened: integer.is_widened_from(result.width),
                ..result
            };
        }
        let is_half = integer.fresh != Fresh::No && mask == 0xffff;
        if is_half && self.object_bits.is_some_and(|bits| bits <= 16) {
            self.translator.matters.halves_are_masks = true;
            if !self.translator.choice.halves_are_masks {
                return Integer {
                    width: 16,
                    known: 16,
                    below: Some(16),
                    ..result
                };
            }
        }
        Integer {
            // Before DWARF 5, a mask of all bits widens the integer to the object's size.
            width: if bits == result.width {
                64
            } else {
                result.width
            },
            known: if bits <= integer.known {
                64
            } else {
                integer.known
            },
            below: Some(bits),
            ..result
        }
    }
}

/// Computes the result of `shr`.
fn shifted(a: &Integer, b: &Integer, result: Integer) -> Integer {
    let count = b.constant.and_then(|count| u8::try_from(count).ok());
    Integer {
        below: count.map(|count| result.width.saturating_sub(count)),
        fresh: if a.fresh == Fresh::Whole && count == Some(16) {
            Fresh::Shifted
        } else {
            Fresh::No
        },
        ..result
    }
}

/// Computes the result of a comparison.
fn truth() -> Integer {
    Integer {
        width: 32,
        below: Some(1),
        ..wide(None)
    }
}

/// Returns the origin of a sum or difference: an address plus a constant is an address of the same kind.
fn origin(operation: &Operation<'_>, a: &Integer, b: &Integer) -> Origin {
    let address = |integer: &Integer| !matches!(integer.origin, Origin::Number);
    let is_sum = *operation == Operation::Plus;
    if (is_sum || *operation == Operation::Minus) && address(a) && b.constant.is_some() {
        a.origin
    } else if is_sum && address(b) && a.constant.is_some() {
        b.origin
    } else {
        Origin::Number
    }
}
