//! `DW_OP_fbreg`, and the frame base that it counts from. Sources: HET A.2.5.4.4.3 and A.3.3.5.

use fallible_iterator::FallibleIterator;

use super::context::Context;
use super::machine::Machine;
use super::resolver::{ExpressionBytes, LocationAttribute};
use super::stack::Entry;
use crate::arch::AddressSpace;
use crate::error::{Error, Need, Result, SpecRule};
use crate::expr::{Decoder, Opcode, number, operations, read};
use crate::location::{Location, Storage};

impl<'a> Machine<'_, '_, 'a> {
    #[inline(always)]
    pub(super) fn fbreg(&mut self, offset: i64) -> Result<()> {
        let subprogram = self.context.subprogram.as_ref();
        let frame_base = subprogram.and_then(|subprogram| subprogram.frame_base.as_ref());
        let frame_base = frame_base.ok_or_else(|| Error::from(Need::FrameBase))?;
        // A number is all that is handed on here: the processor waits for a location that was just written.
        let fixed = self.fixed_frame_base(frame_base);
        if let Some(address) = fixed.and_then(|base| base.checked_add_signed(offset)) {
            return self.stack.push_address(address);
        }
        self.fbreg_thoroughly(frame_base, fixed, offset)
    }

    /// The same for any frame base; `fixed` is its address, if it has been found to be one.
    #[inline(never)]
    fn fbreg_thoroughly(
        &mut self,
        frame_base: &LocationAttribute<'a>,
        fixed: Option<u64>,
        offset: i64,
    ) -> Result<()> {
        let location = match fixed {
            Some(address) => Location::byte(address),
            None => self.frame_base(frame_base)?,
        };
        let location = match location.single().map(|place| place.storage) {
            // A register stands for the memory it points to.
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
        let moved = location.move_by(
            i128::from(offset).saturating_mul(8),
            0,
            self.lanes(),
            self.context.arena,
        )?;
        self.push(Entry::Location(moved))
    }

    fn frame_base(&mut self, frame_base: &LocationAttribute<'a>) -> Result<Location<'a>> {
        if let LocationAttribute::Expression(expression) = frame_base
            && let Some(frame_base) = self.simple_frame_base(expression)
        {
            return Ok(frame_base);
        }
        self.refuse_fbreg(frame_base)?;
        let context = Context {
            object: None,
            initial_stack: &[],
            ..*self.context
        };
        self.nested(frame_base, &context)
    }

    /// The address of a frame base that is one. Nothing for any other, and if something is wrong.
    #[inline(always)]
    fn fixed_frame_base(&mut self, frame_base: &LocationAttribute<'a>) -> Option<u64> {
        let LocationAttribute::Expression(expression) = frame_base else {
            return None;
        };
        let encoding = &expression.unit.encoding;
        let mut decoder = Decoder::new(expression.bytes, encoding);
        let code = decoder.next_code()?;
        if decoder.number(code) != number::Addr {
            return None;
        }
        let (address,) = read::Addr(code, decoder.cursor(), encoding).ok()?;
        let address = self.loaded(address);
        self.takes_one_step(&mut decoder).then_some(address)
    }

    /// The location of a frame base that is a register or the CFA, as nearly every other one is: it needs no stack of
    /// its own. Nothing for any other, and if something is wrong.
    fn simple_frame_base(&mut self, expression: &ExpressionBytes<'a>) -> Option<Location<'a>> {
        let encoding = &expression.unit.encoding;
        let mut decoder = Decoder::new(expression.bytes, encoding);
        let code = decoder.next_code()?;
        let operation = decoder.number(code);
        let cursor = decoder.cursor();
        let found = match operation {
            number::Reg => {
                let (register,) = read::Reg(code, cursor, encoding).ok()?;
                self.register_location(register.into()).ok()?
            }
            number::Regx => {
                let (register,) = read::Regx(code, cursor, encoding).ok()?;
                self.register_location(register).ok()?
            }
            number::CallFrameCfa if cursor.is_empty() => self.frame()?.cfa().ok()?,
            // Any other is evaluated on a stack.
            _ => return None,
        };
        self.takes_one_step(&mut decoder).then_some(found)
    }

    /// Takes the step of an expression of one operation, which was read. Whether it is one, and may be evaluated.
    #[inline(always)]
    fn takes_one_step(&mut self, decoder: &mut Decoder<'a>) -> bool {
        decoder.cursor().is_empty() && self.budget.depth != 0 && self.charge(1).is_ok()
    }

    /// A frame base that refers to itself is ill-formed (HET A.3.3.5); without this the depth would end it.
    fn refuse_fbreg(&mut self, frame_base: &LocationAttribute<'a>) -> Result<()> {
        let LocationAttribute::Expression(expression) = frame_base else {
            return Ok(());
        };
        // The usual frame base has no byte that could be one.
        const FBREG: u8 = 0x91;
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
