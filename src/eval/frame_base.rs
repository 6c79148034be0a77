//! Implements `DW_OP_fbreg` and its frame base. Sources: HET A.2.5.4.4.3 and A.3.3.5.

use fallible_iterator::FallibleIterator;

use super::context::Context;
use super::machine::Machine;
use super::resolver::LocationAttribute;
use super::stack::Entry;
use crate::arch::AddressSpace;
use crate::error::{Error, Need, Result, SpecRule};
use crate::expr::{Opcode, first_code, operations};
use crate::location::{Location, Storage};

impl<'a> Machine<'_, '_, 'a> {
    #[inline(never)]
    pub(super) fn fbreg(&mut self, offset: i64) -> Result<()> {
        let subprogram = self.context.subprogram.as_ref();
        let frame_base = subprogram.and_then(|subprogram| subprogram.frame_base.as_ref());
        let frame_base = frame_base.ok_or_else(|| Error::from(Need::FrameBase))?;
        let location = self.frame_base(frame_base)?;
        let location = match location.single().map(|place| place.storage) {
            // A register as frame base denotes the memory at its address.
            Some(Storage::Register(_)) => {
                let base = self.address_in(&location, AddressSpace::None)?;
                Location::byte(self.truncate(base))
            }
            Some(Storage::Memory { .. }) => location,
            Some(
                Storage::Undefined
                | Storage::Value { .. }
                | Storage::Constant(_)
                | Storage::ImplicitPointer(_)
                | Storage::Composite(_),
            )
            | None => return Err(SpecRule::FrameBaseKind.into()),
        };
        let moved =
            location.move_by(i128::from(offset) << 3, 0, self.lanes(), self.context.arena)?;
        self.push(Entry::Location(moved))
    }

    fn frame_base(&mut self, frame_base: &LocationAttribute<'a>) -> Result<Location<'a>> {
        self.refuse_fbreg(frame_base)?;
        let context = Context {
            object: None,
            initial_stack: &[],
            ..*self.context
        };
        self.nested(frame_base, &context)
    }

    /// Detects a frame base that refers to itself, which is ill-formed (HET A.3.3.5). Otherwise the depth limit would end it.
    fn refuse_fbreg(&mut self, frame_base: &LocationAttribute<'a>) -> Result<()> {
        let LocationAttribute::Expression(expression) = frame_base else {
            return Ok(());
        };
        // The usual frame base has no byte that could be such an operation.
        const FBREG: u8 = first_code(Opcode::Fbreg);
        if !expression.bytes.contains(&FBREG) {
            return Ok(());
        }
        let mut items = operations(expression.bytes, expression.unit.encoding);
        while let Ok(Some(item)) = items.next() {
            self.charge(1)?;
            if item.operation.opcode() == Opcode::Fbreg {
                return Err(SpecRule::FrameBaseKind.into());
            }
        }
        Ok(())
    }
}
