//! Translates a part of a location, or a whole location without parts, if its shape is a location.
//!
//! | LLVM writes | meaning |
//! |---|---|
//! | `regx R`, `bregx R+0, litK, swap, xderef` | the register, of a vector register the lane's dword |
//! | the above with `constu 0xffff, and` before the space, or `lit16, shr` and that | its low or high half |
//! | `fbreg N`, `bregx SP+N`, and offsets from them, with or without a space | private memory of the lane |
//! | … and `deref, litK, swap, xderef` | memory of the space at the pointer stored there |
//! | … and `deref` without a space | generic memory at the pointer stored there; see `pointer` |
//! | any of these, and an offset after the space | the location above, moved by the offset |
//! | `constN`, `litK, swap, xderef` before DWARF 4 | the value: there is no `stack_value` |
//! | `addr A, litK, swap, xderef` | memory of the space |
//! | anything with `stack_value` at the end, regardless of the space | the value; see `dataflow` |

use super::dataflow::{Dataflow, Origin};
use super::pointer::{Load, SUFFIX, literal_space};
use super::{Choice, LegacyBase, LegacyFrame, LegacyUnit, Refusal, SlotPointer};
use crate::arch::{AddressSpace, Register};
use crate::error::Ambiguity;
use crate::eval::resolver::Unit;
use crate::expr::{Builder, Item, Operation};

/// The size of a lane's part of a vector register, and of a scalar register, in bits.
pub(super) const DWORD: u64 = 32;

/// The largest object, in bits, whose first part is taken to be one lane's dword. For larger vectors, LLVM also writes one register, which holds any
/// element.
pub(crate) const MOST_FROM_ONE_DWORD: u64 = 96;

/// Writes the translation.
pub(super) struct Translator<'t> {
    pub(super) builder: Builder,
    pub(super) unit: Unit,
    pub(super) frame: &'t LegacyFrame,
    pub(super) info: &'t dyn LegacyUnit,
    /// True if the object is a vector whose elements have one byte.
    pub(super) byte_elements: bool,
    /// The pointer in a slot that leads to the object.
    pub(super) slot_pointer: SlotPointer,
    /// The current resolution of ambiguities.
    pub(super) choice: Choice,
    /// The ambiguities that mattered.
    pub(super) matters: Choice,
}

/// The number of bits that a written location gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// As many as the object needs.
    All,
    /// This many.
    Bits(u64),
}

/// The ending of a part.
#[derive(Clone, Copy)]
enum Ending {
    /// `stack_value`, optionally after the number of a space.
    Value,
    /// The number of a space, `swap`, `xderef`.
    Space(u64),
    /// Nothing.
    Plain,
}

impl Translator<'_> {
    /// Writes a part of `bits` bits, or a whole location of an object of that size, and its ending.
    pub(super) fn part(
        &mut self,
        items: &[Item<'_>],
        bits: Option<u64>,
        piece: Option<&Operation<'_>>,
    ) -> Result<(), Refusal> {
        let (body, ending) = split(items)?;
        // LLVM widens elements of one byte to two, puts each into a register, and writes pieces as if they were not widened. The places are therefore
        // wrong too.
        if self.byte_elements && piece.is_some() && bits == Some(16) && !body.is_empty() {
            return Err(Ambiguity::WidenedElements.into());
        }
        let known = match self.location(body, ending, bits)? {
            Some(known) => known,
            None => self.computed(body, ending, bits)?,
        };
        self.end(known, bits, piece)
    }

    /// Writes the ending of a part, and leaves out the bits that are not known.
    fn end(
        &mut self,
        known: Known,
        bits: Option<u64>,
        piece: Option<&Operation<'_>>,
    ) -> Result<(), Refusal> {
        let known = match known {
            Known::All => None,
            Known::Bits(known) => Some(known),
        };
        let missing = known
            .zip(bits)
            .and_then(|(known, bits)| Some((known, bits.checked_sub(known)?)))
            .filter(|(_, missing)| *missing != 0);
        match (piece, missing) {
            (Some(Operation::BitPiece { bit_offset, .. }), _)
                if known
                    .is_some_and(|known| bits.unwrap_or(0).saturating_add(*bit_offset) > known) =>
            {
                // Bits beyond the register, which have never been observed.
                Err(Ambiguity::Operation("DW_OP_bit_piece").into())
            }
            (piece, None) => {
                if let Some(piece) = piece {
                    self.builder.push(*piece)?;
                }
                Ok(())
            }
            (None, _)
                if known == Some(DWORD) && bits.is_some_and(|bits| bits > MOST_FROM_ONE_DWORD) =>
            {
                Err(Ambiguity::PartOfObject.into())
            }
            (piece, Some((known, missing))) => {
                self.leave_out(Some(known))?;
                if piece.is_some() {
                    self.leave_out(Some(missing))?;
                }
                Ok(())
            }
        }
    }

    /// Ends a part of this many bits, at the location on the stack, or undefined if the stack is empty. `None`: the location has no parts.
    pub(super) fn leave_out(&mut self, bits: Option<u64>) -> Result<(), Refusal> {
        match bits {
            Some(bits) if bits.is_multiple_of(8) => self.builder.push(Operation::Piece {
                byte_size: bits / 8,
            })?,
            Some(bit_size) => self.builder.push(Operation::BitPiece {
                bit_size,
                bit_offset: 0,
            })?,
            None => return Ok(()),
        };
        Ok(())
    }

    /// Writes a location that has one of the shapes. Returns None if it has no such shape.
    fn location(
        &mut self,
        body: &[Item<'_>],
        ending: Ending,
        bits: Option<u64>,
    ) -> Result<Option<Known>, Refusal> {
        let Some((first, rest)) = body.split_first() else {
            return Ok(matches!(ending, Ending::Plain).then_some(Known::All));
        };
        Ok(match (first.operation, rest, ending) {
            (Operation::Reg { register }, [], Ending::Plain) => {
                Some(self.register(register.into(), 0)?)
            }
            (Operation::Regx { register }, [], Ending::Plain) => Some(self.register(register, 0)?),
            (
                Operation::Bregx {
                    register,
                    offset: 0,
                },
                rest,
                Ending::Space(number),
            ) if is_stack(number) && self.can_be_object(register, bits) => match half(rest) {
                Some(half) => Some(match self.register(register, half)? {
                    Known::Bits(bits) if !rest.is_empty() => Known::Bits(bits / 2),
                    known @ (Known::All | Known::Bits(_)) => known,
                }),
                None => None,
            },
            (Operation::Addr { .. } | Operation::Addrx { .. }, [], Ending::Space(number)) => {
                self.address(&first.operation, number, bits)?;
                Some(Known::All)
            }
            (operation, [], Ending::Plain | Ending::Space(_))
                if operation.constant().is_some() && !self.info.has_stack_value() =>
            {
                self.builder.push(operation)?.push(Operation::StackValue)?;
                Some(Known::Bits(64))
            }
            (
                Operation::Addr { .. }
                | Operation::Addrx { .. }
                | Operation::ImplicitValue { .. }
                | Operation::ImplicitPointer { .. }
                | Operation::Call2 { .. }
                | Operation::Call4 { .. }
                | Operation::CallRef { .. }
                | Operation::Undefined,
                [],
                Ending::Plain,
            ) => {
                self.builder.push(first.operation)?;
                Some(Known::All)
            }
            _ => None,
        })
    }

    /// Writes the location of a register, moved by the given bytes, and returns the size of the register.
    fn register(&mut self, number: u64, byte_offset: u64) -> Result<Known, Refusal> {
        let Some(register) = register(number) else {
            return Err(Refusal::Malformed);
        };
        let size = if register.is_vector() {
            self.builder.lane_of_vector(register)?;
            DWORD
        } else {
            self.builder.register(register)?;
            register.size_in_bits().unwrap_or(0).into()
        };
        if byte_offset != 0 {
            self.builder.push(Operation::OffsetUconst { byte_offset })?;
        }
        Ok(Known::Bits(size))
    }

    /// Writes the location of an address of the code object in the space with a number.
    fn address(
        &mut self,
        operation: &Operation<'_>,
        number: u64,
        bits: Option<u64>,
    ) -> Result<(), Refusal> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "two operations name an address"
        )]
        let address = match *operation {
            Operation::Addr { address } => address,
            Operation::Addrx { index } => self.info.address(self.unit, index)?,
            _ => return Err(Refusal::Malformed),
        };
        let space = match self.info.space(number) {
            // Only global memory has addresses in a loaded section.
            _ if self.info.is_loaded(address) => AddressSpace::None,
            Some(space) => space,
            None => return Err(Ambiguity::AddressSpace(number).into()),
        };
        match space {
            AddressSpace::None | AddressSpace::Generic => {
                self.builder.push(*operation)?;
            }
            AddressSpace::Local | AddressSpace::Region => {
                if !self.info.is_local(address, bits) {
                    return Err(Ambiguity::UndefinedSymbol(address).into());
                }
                // The load address of the code object does not matter there.
                self.builder.constant(address)?;
            }
            AddressSpace::PrivateLane | AddressSpace::PrivateWave => {
                return Err(Ambiguity::AddressSpace(number).into());
            }
        }
        if space != AddressSpace::None {
            self.builder.form_address(space)?;
        }
        Ok(())
    }

    /// Writes a computed location or value, and returns the number of known bits.
    fn computed(
        &mut self,
        body: &[Item<'_>],
        ending: Ending,
        bits: Option<u64>,
    ) -> Result<Known, Refusal> {
        let load = match ending {
            Ending::Value => Load::Object,
            Ending::Plain => Load::Pointer(None),
            // The operations may give a stack slot another space than its pointer's.
            Ending::Space(number) if is_stack(number) && !body.iter().any(is_load) => {
                Load::Pointer(None)
            }
            Ending::Space(number) => match self.info.space(number) {
                Some(space) => Load::Pointer(Some(space)),
                None => return Err(Ambiguity::AddressSpace(number).into()),
            },
        };
        let mut dataflow = Dataflow::new(self, bits, load);
        for index in 0..body.len() {
            dataflow.step(body.get(index..).unwrap_or_default())?;
        }
        let result = dataflow.result()?;
        match (load, result.origin) {
            (Load::Object, _) => {
                dataflow.builder().push(Operation::StackValue)?;
                return Ok(Known::Bits(result.known.into()));
            }
            (Load::Pointer(None), Origin::Slot) => {
                dataflow.builder().form_address(AddressSpace::PrivateLane)?;
            }
            // The strict reading is the same.
            (Load::Pointer(None), Origin::Global) if matches!(ending, Ending::Plain) => {}
            (Load::Pointer(_), Origin::Pointer(space)) => dataflow.form_address(&result, space)?,
            (Load::Pointer(_), _) => return Err(Ambiguity::AddressInRegister.into()),
        }
        Ok(Known::All)
    }

    /// Returns true if a register can hold an object of this many bits. The frame registers hold addresses. So does a scalar register for a larger
    /// object, such as an array of variable length.
    fn can_be_object(&self, number: u64, bits: Option<u64>) -> bool {
        let is_vector = register(number).is_some_and(Register::is_vector);
        let fits = is_vector || bits.is_none_or(|bits| bits <= DWORD);
        fits && !self.is_frame_register(number)
    }

    /// Returns true if a register holds an address on the stack: the stack pointer, or the frame pointer if there is one.
    pub(super) fn is_frame_register(&self, number: u64) -> bool {
        register(number).is_some_and(|register| {
            self.frame.base == LegacyBase::Register(register)
                || Some(register) == Register::sgpr(32)
        })
    }
}

/// Returns the register with this number, if it is one.
pub(super) fn register(number: u64) -> Option<Register> {
    Register::from_number(number).filter(|register| register.class().is_some())
}

/// Splits a part into its computation and its ending.
fn split<'i, 'e>(items: &'i [Item<'e>]) -> Result<(&'i [Item<'e>], Ending), Refusal> {
    let (body, is_value) = match items.split_last() {
        Some((last, body)) if last.operation == Operation::StackValue => (body, true),
        Some(_) | None => (items, false),
    };
    let (body, space) = match body
        .len()
        .checked_sub(SUFFIX)
        .and_then(|at| body.split_at_checked(at))
    {
        Some((rest, suffix)) => match literal_space(suffix)? {
            Some(number) => (rest, Some(number)),
            None => (body, None),
        },
        None => (body, None),
    };
    let ending = match (is_value, space) {
        (true, _) => Ending::Value,
        (false, Some(number)) => Ending::Space(number),
        (false, None) => Ending::Plain,
    };
    Ok((body, ending))
}

/// Returns true if a number can stand for the private memory of a lane. Clang writes 1 for the stack in C and HIP, regardless of the other meanings
/// of 1.
pub(super) fn is_stack(number: u64) -> bool {
    matches!(number, 1 | 5)
}

pub(super) fn is_load(item: &Item<'_>) -> bool {
    matches!(
        item.operation,
        Operation::Deref | Operation::DerefSize { .. } | Operation::DerefType { .. }
    )
}

/// Returns the offset in bytes of the half of a register that operations select, also 0 if there are none. Returns `None` if they do something else.
fn half(items: &[Item<'_>]) -> Option<u64> {
    let constant = |item: &Item<'_>| item.operation.constant();
    match items {
        [] => Some(0),
        [mask, and] if and.operation == Operation::And && constant(mask) == Some(0xffff) => Some(0),
        [count, shr, mask, and]
            if shr.operation == Operation::Shr
                && and.operation == Operation::And
                && (constant(count), constant(mask)) == (Some(16), Some(0xffff)) =>
        {
            Some(2)
        }
        _ => None,
    }
}
