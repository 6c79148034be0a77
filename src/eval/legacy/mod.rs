//! Translates the variable locations that LLVM writes for AMDGPU without the extensions.
//!
//! Read strictly, they are wrong. A vector register denotes one lane's dword of it. An address on the stack counts the bytes of one lane.
//! `lit K, swap, xderef` at the end gives the variable's address space, but is specified to *load* from it. [`rewrite_legacy`] produces an expression
//! with the intended meaning, which the machine evaluates. It analyzes each part by the effects of its operations on registers (`dataflow`), not by a
//! list of shapes (`part` has the few shapes that are locations). An ambiguous location gets several readings, and an unknown one a doubt: it is
//! never the value of lane 0 for all lanes.
//!
//! The decision which units to read this way is made elsewhere; see `debug_info::UnitConvention` and `spec-notes/legacy-llvm.md`.

mod binary;
mod dataflow;
mod part;
mod pointer;
#[cfg(test)]
mod tests;

use core::ops::Range;

use fallible_iterator::FallibleIterator;
use smallvec::{SmallVec, smallvec};

use super::resolver::{ExpressionBytes, Unit};
use crate::arch::{AddressSpace, Register, WaveSize};
use crate::error::{Ambiguity, Result};
use crate::expr::{Builder, Item, Operation, operations};
pub(crate) use part::MOST_FROM_ONE_DWORD;
use part::Translator;

/// A function's access to its stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegacyFrame {
    /// The base of `DW_OP_fbreg`.
    pub(crate) base: LegacyBase,
    /// The wave size by which stack and frame pointer are scaled, or `None` if they are plain addresses of a lane.
    pub(crate) scaled_by: Option<WaveSize>,
}

/// The base of `DW_OP_fbreg`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegacyBase {
    /// The address in the register of `DW_AT_frame_base`.
    Register(Register),
    /// Private address 0: optimized kernels have no `DW_AT_frame_base`, and their frame is the first.
    Zero,
    /// Unknown.
    Unknown,
}

/// An integer type, for conversions of values.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntegerType {
    /// The size of a value in bits, 1 to 64. LLVM's `DW_ATE_unsigned_1` has one bit, although its byte size is 1.
    pub(crate) bits: u8,
    /// True if it is sign-extended.
    pub(crate) signed: bool,
}

/// The known facts about a unit with such locations, and about its code object.
pub(crate) trait LegacyUnit {
    /// Returns the address space that a number stands for in the unit, or `None` if it is ambiguous.
    fn space(&self, number: u64) -> Option<AddressSpace>;

    /// Returns the integer type at `offset`, in bytes from the start of the unit's header, or `None` for any other type.
    fn integer(&self, unit: Unit, offset: u64) -> Option<IntegerType>;

    /// Returns entry `index` of the unit's part of `.debug_addr`.
    ///
    /// # Errors
    /// If the unit has no such entry.
    fn address(&self, unit: Unit, index: u64) -> Result<u64>;

    /// Returns true if an address of the code object is in a loaded section.
    fn is_loaded(&self, address: u64) -> bool;

    /// Returns true if an object of this many bits (`None` if unknown) is certainly at the address of local memory in its location. Linkers use 0 for
    /// the undefined symbols of local memory.
    fn is_local(&self, address: u64, object_bits: Option<u64>) -> bool;

    /// Returns true if the unit's version of DWARF has `DW_OP_stack_value` (4 and later). LLVM omits it otherwise.
    fn has_stack_value(&self) -> bool;
}

/// The width of the pointer in a stack slot that leads to an object, if no address space follows the load.
///
/// Ambiguous. Read strictly, it is a generic pointer of 8 bytes. Clang's slots for results in memory from the caller hold a pointer into private
/// memory, which has 4 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SlotPointer {
    /// A generic pointer.
    #[default]
    Generic,
    /// A pointer into private memory.
    Private,
    /// A generic or a private pointer; which one is unknown.
    Unknown,
}

/// The object at a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectShape {
    /// The size, in bits.
    pub(crate) bits: u64,
    /// True if it is a vector whose elements have one byte.
    pub(crate) byte_elements: bool,
    /// The pointer in the slot that leads to it.
    pub(crate) slot_pointer: SlotPointer,
}

/// The meaning of a location.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The equivalent expressions. If there are several, the location is ambiguous, and only bits on which all agree are known.
    pub(crate) readings: SmallVec<[Vec<u8>; 1]>,
    /// The bits of the object with an unknown location. They are undefined in all readings.
    pub(crate) doubts: Vec<Doubt>,
}

/// Bits of an object with an unknown location.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The bits, counted from the start of the object.
    pub bits: Range<u64>,
    /// The reason.
    pub reason: Ambiguity,
}

/// Translates a location of a unit without the extensions.
///
/// The readings use the operation codes of [`Encoding::in_memory`](crate::expr::Encoding::in_memory).
///
/// * `object`: the object, if its size is known. If it is larger than a register's dword or a computed value, the rest is unknown and left out.
///
/// An expression that cannot be decoded, or underflows the stack, is returned unchanged: its evaluation reports the fault.
#[must_use]
pub(crate) fn rewrite_legacy(
    expression: &ExpressionBytes<'_>,
    object: Option<ObjectShape>,
    frame: &LegacyFrame,
    unit: &dyn LegacyUnit,
) -> Meaning {
    let encoding = expression.unit.encoding;
    // The extensions' operations need codes, regardless of the unit's dialect.
    let written = encoding.in_memory();
    let as_it_is = || Meaning {
        readings: smallvec![expression.bytes.to_vec()],
        doubts: Vec::new(),
    };
    let is_something = |item: &Item<'_>| Ok(item.operation != Operation::Nop);
    let items = operations(expression.bytes, encoding).filter(is_something);
    let Ok(items) = items.collect::<Vec<Item<'_>>>() else {
        return as_it_is();
    };
    let mut meaning = Meaning::default();
    for choice in (0..Choice::COUNT).map(Choice::numbered) {
        let mut translator = Translator {
            builder: Builder::new(written),
            unit: expression.unit,
            frame,
            info: unit,
            byte_elements: object.is_some_and(|object| object.byte_elements),
            slot_pointer: object.map(|object| object.slot_pointer).unwrap_or_default(),
            choice,
            matters: Choice::FIRST,
        };
        let Ok(doubts) = translate(&items, object.map(|object| object.bits), &mut translator)
        else {
            return as_it_is();
        };
        // A reading that differs from the first only in irrelevant choices equals the first.
        let matters = translator.matters;
        let Ok(bytes) = translator.builder.finish() else {
            return as_it_is();
        };
        if choice == Choice::FIRST {
            meaning.doubts = doubts;
        }
        if !meaning.readings.contains(&bytes) {
            meaning.readings.push(bytes);
        }
        if matters == Choice::FIRST {
            break;
        }
    }
    meaning
}

/// The ambiguities of an expression, each of which is resolved both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    /// LLVM writes the same operations for signed and unsigned comparisons.
    unsigned_relations: bool,
    /// LLVM writes the same operations for half of a register, holding an integer of 16 bits, and for a mask of the whole register.
    halves_are_masks: bool,
    /// LLVM writes the same operations for a slot with a generic pointer and one with a pointer into private memory.
    short_pointers: bool,
}

impl Choice {
    const FIRST: Choice = Choice {
        unsigned_relations: false,
        halves_are_masks: false,
        short_pointers: false,
    };

    /// The number of combinations.
    const COUNT: u8 = 8;

    /// Returns the choices with this number, below [`COUNT`](Self::COUNT); 0 is [`FIRST`](Self::FIRST).
    const fn numbered(number: u8) -> Choice {
        Choice {
            unsigned_relations: number & 1 != 0,
            halves_are_masks: number & 2 != 0,
            short_pointers: number & 4 != 0,
        }
    }
}

/// The reason why a part has no translation.
enum Refusal {
    /// The meaning is unknown.
    Doubt(Ambiguity),
    /// The part is malformed.
    Malformed,
}

impl From<crate::error::Error> for Refusal {
    fn from(_: crate::error::Error) -> Refusal {
        Refusal::Malformed
    }
}

impl From<Ambiguity> for Refusal {
    fn from(reason: Ambiguity) -> Refusal {
        Refusal::Doubt(reason)
    }
}

/// Translates an expression part by part. Returns the bits with an unknown location.
fn translate(
    items: &[Item<'_>],
    object_bits: Option<u64>,
    translator: &mut Translator<'_>,
) -> Result<Vec<Doubt>, Refusal> {
    let mut doubts = Vec::new();
    let mut done = 0u64;
    let mut rest = items;
    loop {
        let end = rest
            .iter()
            .position(|item| part_bits(&item.operation).is_some());
        let (body, after) = rest
            .split_at_checked(end.unwrap_or(rest.len()))
            .unwrap_or((rest, &[]));
        let (piece, after) = match after.split_first() {
            Some((piece, after)) => (Some(piece.operation), after),
            None => (None, after),
        };
        // Operations after the last piece would belong to no part. A complete location has none.
        if piece.is_none() && done != 0 && body.is_empty() {
            return Ok(doubts);
        }
        let bits = match &piece {
            Some(piece) => part_bits(piece),
            None => object_bits,
        };
        let before = translator.builder.clone();
        let mut refused = |reason, translator: &mut Translator<'_>| {
            translator.builder = before.clone();
            let end = bits.map_or(u64::MAX, |bits| done.saturating_add(bits));
            doubts.push(Doubt {
                bits: done..end,
                reason,
            });
            translator.leave_out(bits.filter(|_| piece.is_some()))
        };
        match translator.part(body, bits, piece.as_ref()) {
            Ok(()) => {}
            Err(Refusal::Doubt(reason)) => refused(reason, translator)?,
            Err(Refusal::Malformed) if done == 0 && piece.is_none() => {
                return Err(Refusal::Malformed);
            }
            // The other parts must not be read strictly because of this one.
            Err(Refusal::Malformed) => refused(Ambiguity::IllFormed, translator)?,
        }
        done = done.saturating_add(bits.unwrap_or(0));
        rest = after;
        if rest.is_empty() {
            return Ok(doubts);
        }
    }
}

/// Returns the number of bits in the part that ends with this operation, or `None` if no part ends with it.
fn part_bits(operation: &Operation<'_>) -> Option<u64> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "two operations end a part")]
    match *operation {
        Operation::Piece { byte_size } => Some(byte_size.saturating_mul(8)),
        Operation::BitPiece { bit_size, .. } => Some(bit_size),
        _ => None,
    }
}
