//! Interprets loads of pointers from stack slots: the result, its width, and the memory that it leads to.
//!
//! LLVM writes `deref` for the load of a pointer without its width, which depends on the target address space. The operations after the load decide.
//! `litK, swap, xderef` gives the space. Another load, an offset or the end of the location make it a pointer. Anything else is arithmetic on an
//! object's value.

use super::dataflow::{Dataflow, Integer, Origin, wide};
use super::part::{DWORD, is_load, is_stack};
use super::{Refusal, SlotPointer};
use crate::arch::AddressSpace;
use crate::error::Ambiguity;
use crate::expr::{Item, Operation};

/// The operations that stand for an address space: its number, `swap`, `xderef`.
pub(super) const SUFFIX: usize = 3;

/// The result of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// The object, or a number from which it is computed.
    Object,
    /// A pointer into a space, if one is given.
    Pointer(Option<AddressSpace>),
}

/// Returns the number of the address space in the first three operations, if they give one.
pub(super) fn literal_space(items: &[Item<'_>]) -> Result<Option<u64>, Ambiguity> {
    let Some([number, swap, xderef]) = items.get(..SUFFIX) else {
        return Ok(None);
    };
    if swap.operation != Operation::Swap || xderef.operation != Operation::Xderef {
        return Ok(None);
    }
    let number = number.operation.constant();
    number.map(Some).ok_or(Ambiguity::Operation("DW_OP_xderef"))
}

impl Dataflow<'_, '_> {
    /// Skips operations that give the space of the top address, which is already known from its origin. Returns false for other operations.
    pub(super) fn names_space(&mut self, items: &[Item<'_>]) -> Result<bool, Refusal> {
        let Some(number) = literal_space(items)? else {
            return Ok(false);
        };
        let is_known = match self.below(0)?.origin {
            Origin::Slot => is_stack(number),
            // `load` looked ahead for it.
            Origin::Pointer(_) => true,
            Origin::Global | Origin::Number => false,
        };
        if is_known {
            self.skip = SUFFIX - 1;
        }
        Ok(is_known)
    }

    /// Turns the pointer on top into an address of a space.
    pub(super) fn form_address(
        &mut self,
        pointer: &Integer,
        space: AddressSpace,
    ) -> Result<(), Refusal> {
        // An offset may have overflowed.
        self.widen_top(pointer, self.pointer_bits(space), false)?;
        self.builder().form_address(space)?;
        Ok(())
    }

    fn pointer_bits(&self, space: AddressSpace) -> u8 {
        let bits = space.address_size_in_bits(self.translator.unit.encoding.address_size);
        u8::try_from(bits).unwrap_or(64)
    }

    /// Reads the contents of a slot.
    ///
    /// * `bytes`: the number of bytes in the operation. If there is none, the object or the pointer determines it.
    /// * `items`: the load and the operations after it.
    pub(super) fn load(&mut self, bytes: Option<u8>, items: &[Item<'_>]) -> Result<(), Refusal> {
        let address = self.pop()?;
        match address.origin {
            Origin::Slot => {
                self.builder().form_address(AddressSpace::PrivateLane)?;
            }
            Origin::Pointer(space) => self.form_address(&address, space)?,
            Origin::Global => {}
            Origin::Number => return Err(Ambiguity::AddressInRegister.into()),
        }
        let (space, wanted) = match self.purpose(items)? {
            Load::Object if self.object_bits.is_some_and(|bits| bits <= DWORD) => (None, 32),
            Load::Object => (None, 64),
            Load::Pointer(space) => {
                let space = space.unwrap_or_else(|| self.unnamed_space(items));
                (Some(space), self.pointer_bits(space))
            }
        };
        let bits = bytes.unwrap_or(8).min(8).saturating_mul(8).min(wanted);
        self.emit(Operation::DerefSize {
            byte_size: bits.div_ceil(8),
        })?;
        self.push(Integer {
            width: bits,
            known: bits,
            widened: bits == 64,
            below: Some(bits).filter(|bits| *bits < 64),
            // A part of a pointer is no pointer.
            origin: match space {
                Some(space) if bits == wanted => Origin::Pointer(space),
                Some(_) | None => Origin::Number,
            },
            ..wide(None)
        })
    }

    /// Returns the result of the load at the head of some operations, judged by the operations after it.
    fn purpose(&self, items: &[Item<'_>]) -> Result<Load, Refusal> {
        let mut rest = items.get(1..).unwrap_or_default();
        loop {
            if let Some(number) = literal_space(rest)? {
                let space = self.translator.info.space(number);
                let space = space.ok_or(Ambiguity::AddressSpace(number))?;
                return Ok(Load::Pointer(Some(space)));
            }
            rest = match rest {
                [] => return Ok(self.last_load),
                [next, ..] if is_load(next) => return Ok(Load::Pointer(None)),
                [offset, rest @ ..]
                    if matches!(
                        offset.operation,
                        Operation::PlusUconst { .. } | Operation::Nop
                    ) =>
                {
                    rest
                }
                [offset, sum, rest @ ..]
                    if offset.operation.constant().is_some()
                        && matches!(sum.operation, Operation::Plus | Operation::Minus) =>
                {
                    rest
                }
                _ => return Ok(Load::Object),
            };
        }
    }

    /// Returns the space of a pointer without an explicit one, in the current reading. Only in a slot that leads directly to the object, the width is
    /// ambiguous.
    fn unnamed_space(&mut self, items: &[Item<'_>]) -> AddressSpace {
        let leads_to_object = items.len() == 1;
        match self.translator.slot_pointer {
            SlotPointer::Private if leads_to_object => AddressSpace::PrivateLane,
            SlotPointer::Unknown if leads_to_object => {
                self.translator.matters.short_pointers = true;
                if self.translator.choice.short_pointers {
                    AddressSpace::PrivateLane
                } else {
                    AddressSpace::Generic
                }
            }
            SlotPointer::Private | SlotPointer::Unknown | SlotPointer::Generic => {
                AddressSpace::Generic
            }
        }
    }
}
