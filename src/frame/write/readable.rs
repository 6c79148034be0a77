//! Finds directives of newer assemblers for the expressions that back ends write.
//!
//! LLVM 24's assembler has directives with registers, lanes and masks for the expressions below (`.cfi_llvm_register_pair` and others). LLVM 22's
//! does not support them.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rule with any other operation has no directive that can be read"
)]

use fallible_iterator::FallibleIterator;
use smallvec::SmallVec;

use crate::expr::{self, Dialect, Encoding, Operation, encode_operation};

/// The assembler for which directives are written.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assembler {
    /// LLVM 22 and 23: expressions are written as `.cfi_escape`.
    #[default]
    Llvm22,
    /// LLVM 24: expressions that save a register in others or in scratch have specific directives.
    Llvm24,
}

impl Assembler {
    /// All assemblers.
    pub const ALL: [Assembler; 2] = [Assembler::Llvm22, Assembler::Llvm24];

    /// Returns the name in options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Assembler::Llvm22 => "llvm22",
            Assembler::Llvm24 => "llvm24",
        }
    }
}

/// The size of a lane of a vector register.
const LANE_BITS: u64 = 32;
/// More operations than any of these expressions has.
const MOST: usize = 2 * 64;

/// Returns the directive for which LLVM 24's assembler writes `DW_CFA_expression register, bytes`, if there is one.
pub(super) fn expression_directive(
    register: u64,
    bytes: &[u8],
    encoding: Encoding,
) -> Option<String> {
    // The assembler writes no other codes.
    if encoding.dialect != Dialect::User {
        return None;
    }
    let mut operations: SmallVec<[Operation<'_>; 6]> = SmallVec::new();
    let mut canonical = Vec::new();
    let mut items = expr::operations(bytes, encoding);
    while let Some(item) = items.next().ok()? {
        if operations.len() == MOST {
            return None;
        }
        encode_operation(&item.operation, encoding, &mut canonical).ok()?;
        operations.push(item.operation);
    }
    (canonical == bytes).then(|| named(register, &operations))?
}

fn named(register: u64, operations: &[Operation<'_>]) -> Option<String> {
    match *operations {
        [
            first,
            Operation::Piece { byte_size: low },
            second,
            Operation::Piece { byte_size: high },
        ] => {
            let (first, second) = (location(first)?, location(second)?);
            let (low, high) = (bits(low)?, bits(high)?);
            Some(format!(
                ".cfi_llvm_register_pair {register}, {first}, {low}, {second}, {high}"
            ))
        }
        [vector, Operation::OffsetUconst { byte_offset }] => {
            let vector = location(vector)?;
            let bit = byte_offset.checked_mul(8)?;
            let lane = (bit % LANE_BITS == 0).then_some(bit / LANE_BITS)?;
            Some(format!(
                ".cfi_llvm_vector_registers {register}, {vector}, {lane}, {LANE_BITS}"
            ))
        }
        [
            own,
            Operation::Swap,
            Operation::OffsetUconst { byte_offset },
            Operation::CallFrameEntryReg { register: mask },
            Operation::DerefSize { byte_size },
            Operation::SelectBitPiece { bit_size, count },
        ] if location(own) == Some(register) && bits(byte_size.into()) == Some(count) => {
            let offset = i32::try_from(byte_offset).ok()?;
            Some(format!(
                ".cfi_llvm_vector_offset {register}, {bit_size}, {mask}, {count}, {offset}"
            ))
        }
        [
            own,
            holder,
            Operation::CallFrameEntryReg { register: mask },
            Operation::DerefSize { byte_size },
            Operation::SelectBitPiece { bit_size, count },
        ] if location(own) == Some(register) && bits(byte_size.into()) == Some(count) => {
            let holder = location(holder)?;
            Some(format!(
                ".cfi_llvm_vector_register_mask {register}, {holder}, {bit_size}, {mask}, {count}"
            ))
        }
        [_, _, _, ..] => lanes(register, operations),
        _ => None,
    }
}

/// Returns a register saved in lanes of vector registers, two or more.
fn lanes(register: u64, operations: &[Operation<'_>]) -> Option<String> {
    let mut text = format!(".cfi_llvm_vector_registers {register}");
    let (pairs, []) = operations.as_chunks::<2>() else {
        return None;
    };
    for pair in pairs {
        let [
            vector,
            Operation::BitPiece {
                bit_size,
                bit_offset,
            },
        ] = *pair
        else {
            return None;
        };
        let lane = bit_offset.checked_div(bit_size)?;
        if lane.checked_mul(bit_size)? != bit_offset {
            return None;
        }
        text.push_str(&format!(", {}, {lane}, {bit_size}", location(vector)?));
    }
    Some(text)
}

/// Returns the register whose location an operation pushes, if it has the form that the assembler writes.
fn location(operation: Operation<'_>) -> Option<u64> {
    let (register, is_short) = match operation {
        Operation::Reg { register } => (register.into(), true),
        Operation::Regx { register } => (register, false),
        _ => return None,
    };
    (is_short == (register < 32)).then_some(register)
}

fn bits(bytes: u64) -> Option<u64> {
    // The assembler's own numbers have 32 bits, which suffices for registers.
    bytes.checked_mul(8).filter(|bits| *bits <= u16::MAX.into())
}
