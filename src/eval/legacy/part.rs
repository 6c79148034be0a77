//! A part of a location, or all of one that has no parts: the shapes that are locations.
//!
//! | LLVM writes | what is meant |
//! |---|---|
//! | `regx R`, `bregx R+0, litK, swap, xderef` | the register, of a vector register the lane's dword |
//! | the same with `constu 0xffff, and` before the space, or `lit16, shr` and that | its low or high half |
//! | `fbreg N`, `bregx SP+N`, and offsets from them, with or without a space | private memory of the lane |
//! | … and `deref, litK, swap, xderef` | memory of the space at the pointer that is there |
//! | … and `deref` without a space | generic memory at the pointer that is there; see `pointer` |
//! | any of these, and an offset after the space | the same, moved by the offset |
//! | `constN`, `litK, swap, xderef` before DWARF 4 | the value: there is no `stack_value` |
//! | `addr A, litK, swap, xderef` | memory of the space |
//! | anything with `stack_value` at the end, whatever the space | the value; see `dataflow` |

use super::dataflow::{Dataflow, Origin};
use super::pointer::{Load, SUFFIX, literal_space};
use super::{Choice, LegacyBase, LegacyFrame, LegacyUnit, Refusal, SlotPointer};
use crate::arch::{AddressSpace, Register};
use crate::error::Ambiguity;
use crate::eval::resolver::Unit;
use crate::expr::{Builder, Item, Operation};

/// The size of a lane's part of a vector register, and of a scalar register, in bits.
pub(super) const DWORD: u64 = 32;

/// The largest object, in bits, of which one lane's dword is taken for the first part. LLVM names one register for
/// larger vectors too, of which it holds any element.
pub(crate) const MOST_FROM_ONE_DWORD: u64 = 96;

/// Writes what is meant.
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

/// The end of a part.
#[derive(Clone, Copy)]
enum Ending {
    /// `stack_value`, after the number of a space or not.
    Value,
    /// The number of a space, `swap`, `xderef`.
    Space(u64),
    /// Nothing.
    Plain,
}

impl Translator<'_> {
    /// Writes a part of `bits` bits, or a whole location of an object of so many, and the operation that ends it.
    pub(super) fn part(
        &mut self,
        items: &[Item<'_>],
        bits: Option<u64>,
        piece: Option<&Operation<'_>>,
    ) -> Result<(), Refusal> {
        let (body, ending) = split(items)?;
        // LLVM widens elements of one byte to two, puts each into a register, and writes pieces as if they had not
        // been widened: the places are wrong, too.
        if self.byte_elements && piece.is_some() && bits == Some(16) && !body.is_empty() {
            return Err(Ambiguity::WidenedElements.into());
        }
        let known = match self.location(body, ending, bits)? {
            Some(known) => known,
            None => self.computed(body, ending, bits)?,
        };
        self.end(known, bits, piece)
    }

    /// Writes the operation that ends a part of which `known` bits are known (nothing: all), and leaves out the rest.
    fn end(
        &mut self,
        known: Option<u64>,
        bits: Option<u64>,
        piece: Option<&Operation<'_>>,
    ) -> Result<(), Refusal> {
        let missing = known
            .zip(bits)
            .and_then(|(known, bits)| Some((known, bits.checked_sub(known)?)))
            .filter(|(_, missing)| *missing != 0);
        match (piece, missing) {
            (Some(Operation::BitPiece { bit_offset, .. }), _)
                if known
                    .is_some_and(|known| bits.unwrap_or(0).saturating_add(*bit_offset) > known) =>
            {
                // Bits from beyond the register: nobody has seen that.
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

    /// Ends a part of so many bits, of what is on the stack or, where that is nothing, undefined ones. Nothing: the
    /// location has no parts.
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

    /// Writes a location that is one of the shapes, and gives how many bits it has (nothing: as many as are asked
    /// for). `None` if it is none.
    fn location(
        &mut self,
        body: &[Item<'_>],
        ending: Ending,
        bits: Option<u64>,
    ) -> Result<Option<Option<u64>>, Refusal> {
        let Some((first, rest)) = body.split_first() else {
            return Ok(matches!(ending, Ending::Plain).then_some(None));
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
                Some(half) => Some(
                    self.register(register, half)?
                        .map(|bits| if rest.is_empty() { bits } else { bits / 2 }),
                ),
                None => None,
            },
            (Operation::Addr { .. } | Operation::Addrx { .. }, [], Ending::Space(number)) => {
                self.address(&first.operation, number, bits)?;
                Some(None)
            }
            (operation, [], Ending::Plain | Ending::Space(_))
                if operation.constant().is_some() && !self.info.has_stack_value() =>
            {
                self.builder.push(operation)?.push(Operation::StackValue)?;
                Some(Some(64))
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
                Some(None)
            }
            _ => None,
        })
    }

    /// Writes the location of a register, moved by so many bytes, and gives its size in bits.
    fn register(&mut self, number: u64, byte_offset: u64) -> Result<Option<u64>, Refusal> {
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
        Ok(Some(size))
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
            // Nothing but global memory has an address in a section that is loaded.
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
                // Where the code object is loaded does not matter there.
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

    /// Writes a location or value that is computed, and gives how many bits are known.
    fn computed(
        &mut self,
        body: &[Item<'_>],
        ending: Ending,
        bits: Option<u64>,
    ) -> Result<Option<u64>, Refusal> {
        let space = match ending {
            Ending::Value => None,
            Ending::Plain => Some(None),
            // A stack slot may be said to be in another space than the pointer that it holds.
            Ending::Space(number) if is_stack(number) && !body.iter().any(is_load) => Some(None),
            Ending::Space(number) => match self.info.space(number) {
                Some(space) => Some(Some(space)),
                None => return Err(Ambiguity::AddressSpace(number).into()),
            },
        };
        let load = match space {
            None => Load::Object,
            Some(space) => Load::Pointer(space),
        };
        let mut dataflow = Dataflow::new(self, bits, load);
        for index in 0..body.len() {
            dataflow.step(body.get(index..).unwrap_or_default())?;
        }
        let result = dataflow.result()?;
        match (space, result.origin) {
            (None, _) => {
                dataflow.builder().push(Operation::StackValue)?;
                Ok(Some(result.known.into()))
            }
            (Some(None), Origin::Slot) => {
                dataflow.builder().form_address(AddressSpace::PrivateLane)?;
                Ok(None)
            }
            // Strict already.
            (Some(None), Origin::Global) if matches!(ending, Ending::Plain) => Ok(None),
            (Some(_), Origin::Pointer(space)) => {
                dataflow.form_address(&result, space)?;
                Ok(None)
            }
            (Some(_), _) => Err(Ambiguity::AddressInRegister.into()),
        }
    }

    /// Returns true if a register can hold an object of so many bits. The frame registers hold addresses, and so does a scalar
    /// register of what is larger than it: that of an array of variable length, for example.
    fn can_be_object(&self, number: u64, bits: Option<u64>) -> bool {
        let is_vector = register(number).is_some_and(Register::is_vector);
        let fits = is_vector || bits.is_none_or(|bits| bits <= DWORD);
        fits && !self.is_frame_register(number)
    }

    /// Returns true if a register holds an address on the stack: the stack pointer, and the frame pointer where there is one.
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

/// Splits a part into what it computes and how it ends.
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

/// Returns true if a number can stand for the private memory of a lane. Clang writes 1 for the stack, whatever else 1 stands
/// for, where the source is C or HIP.
pub(super) fn is_stack(number: u64) -> bool {
    matches!(number, 1 | 5)
}

pub(super) fn is_load(item: &Item<'_>) -> bool {
    matches!(
        item.operation,
        Operation::Deref | Operation::DerefSize { .. } | Operation::DerefType { .. }
    )
}

/// Where the half of a register starts that operations take, in bytes; 0, too, if there are none. Nothing if they do
/// something else.
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
