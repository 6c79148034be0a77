//! Translates the variable locations that LLVM writes for AMDGPU without the extensions.
//!
//! Read strictly, they are wrong: a vector register stands for one lane's dword of it, an address on the stack counts
//! the bytes of one lane, and `lit K, swap, xderef` at the end, which as specified *loads* from an address space,
//! says which space the variable is in. [`rewrite_legacy`] makes the expression that says what is meant, and the
//! machine evaluates that: a location part by part, by what the operations do with the registers they name
//! (`dataflow`), not by a list of shapes (`part` has the few that are locations). What can be meant in several ways
//! is given in each of them, and what cannot be told is a doubt: never the value of lane 0 for all lanes.
//!
//! Which units are read so is not decided here; see `debug_info::UnitConvention` and `spec-notes/legacy-llvm.md`.

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

/// The access of a function to its stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegacyFrame {
    /// The base of `DW_OP_fbreg`.
    pub(crate) base: LegacyBase,
    /// The wave size by which stack and frame pointer are scaled. `None` if they are plain addresses of a
    /// lane.
    pub(crate) scaled_by: Option<WaveSize>,
}

/// The base of `DW_OP_fbreg`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegacyBase {
    /// The address in the register that `DW_AT_frame_base` names.
    Register(Register),
    /// Private address 0: optimised kernels have no `DW_AT_frame_base`, and their frame is the first.
    Zero,
    /// Not known.
    Unknown,
}

/// An integer type, as far as values are converted to it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntegerType {
    /// The size of a value in bits, 1 to 64. LLVM's `DW_ATE_unsigned_1` has one bit, although its byte size is 1.
    pub(crate) bits: u8,
    /// True if it is widened by its sign.
    pub(crate) signed: bool,
}

/// The known facts about a unit whose locations are of this form, and about its code object.
pub(crate) trait LegacyUnit {
    /// Returns the address space that a number stands for in the unit. `None` if it can be one of two.
    fn space(&self, number: u64) -> Option<AddressSpace>;

    /// The integer type at `offset`, in bytes from the start of the unit's header. `None` for any other type.
    fn integer(&self, unit: Unit, offset: u64) -> Option<IntegerType>;

    /// Entry `index` of the unit's part of `.debug_addr`.
    ///
    /// # Errors
    /// If the unit has no such entry.
    fn address(&self, unit: Unit, index: u64) -> Result<u64>;

    /// Returns true if an address of the code object is in a section that is loaded.
    fn is_loaded(&self, address: u64) -> bool;

    /// Returns true if an object of so many bits (nothing: of a size that is not known) surely is at an address of local
    /// memory where its location puts it. Linkers put 0 for the symbols of local memory, which nobody defines.
    fn is_local(&self, address: u64, object_bits: Option<u64>) -> bool;

    /// Returns true if the unit's version of DWARF has `DW_OP_stack_value`, 4 and later. LLVM leaves it out elsewhere.
    fn has_stack_value(&self) -> bool;
}

/// How wide the pointer in a stack slot is that leads to an object, where no address space follows the load.
///
/// Read strictly, it is a generic pointer of 8 bytes. Clang's slots for a result that the caller provides memory for
/// hold a pointer into private memory, which has 4 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SlotPointer {
    /// A generic pointer.
    #[default]
    Generic,
    /// A pointer into private memory.
    Private,
    /// One of the two.
    Unknown,
}

/// The object of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectShape {
    /// Its size, in bits.
    pub(crate) bits: u64,
    /// True if it is a vector whose elements have one byte.
    pub(crate) byte_elements: bool,
    /// The pointer in a slot that leads to it.
    pub(crate) slot_pointer: SlotPointer,
}

/// The meaning of a location.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The expressions that say it; if there are several, the location can be meant in any of these ways, and what
    /// they do not agree upon is not known.
    pub(crate) readings: SmallVec<[Vec<u8>; 1]>,
    /// The bits of the object whose location cannot be told. They are undefined in all readings.
    pub(crate) doubts: Vec<Doubt>,
}

/// Bits of an object whose location cannot be told.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The bits, counted from the start of the object.
    pub bits: Range<u64>,
    /// Why not.
    pub reason: Ambiguity,
}

/// What is meant by a location of a unit without the extensions.
///
/// The readings have the operations' codes of [`Encoding::in_memory`](crate::expr::Encoding::in_memory).
///
/// * `object`: the object, where its size is known. Of one that is larger than a register's dword or a computed
///   value, the rest is not known, and left out.
///
/// An expression that cannot be decoded, or that takes more from the stack than there is, is given back as it is: the
/// evaluation says what is wrong with it.
#[must_use]
pub(crate) fn rewrite_legacy(
    expression: &ExpressionBytes<'_>,
    object: Option<ObjectShape>,
    frame: &LegacyFrame,
    unit: &dyn LegacyUnit,
) -> Meaning {
    let encoding = expression.unit.encoding;
    // The extensions' operations need codes, whatever dialect the unit would have had.
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
        // A reading that differs from the first only in choices that nothing depends on is the first.
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

/// The ambiguities of an expression. Each is resolved both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    /// LLVM writes the same operations for comparisons of signed and of unsigned integers.
    unsigned_relations: bool,
    /// It writes the same for a half of a register, as for an integer of 16 bits, and for a mask of the whole.
    halves_are_masks: bool,
    /// It writes the same for a slot that holds a generic pointer, as for one that holds a pointer into private memory.
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

/// Why a part has no translation.
enum Refusal {
    /// It cannot be told what is meant.
    Doubt(Ambiguity),
    /// It is malformed.
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

/// Translates an expression part by part, and gives the bits that cannot be told.
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
        // What follows the last piece is an operation of no part, and there is none in a location that is complete.
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

/// Returns how many bits of the object a part has that ends with this operation. `None` if no part ends with it.
fn part_bits(operation: &Operation<'_>) -> Option<u64> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "two operations end a part")]
    match *operation {
        Operation::Piece { byte_size } => Some(byte_size.saturating_mul(8)),
        Operation::BitPiece { bit_size, .. } => Some(bit_size),
        _ => None,
    }
}
