//! Frame bases of one operation: 866 of the 867 in the corpus, each of which is asked for with every variable of its frame.

use crate::eval::machine::Machine;
use crate::eval::resolver::ExpressionBytes;
use crate::expr::{Decoder, number, read};
use crate::location::Location;

impl<'a> Machine<'_, '_, 'a> {
    /// The location of a frame base that is a register or the CFA, as nearly every other one is: it needs no stack of
    /// its own. Nothing for any other, and if something is wrong.
    pub(in crate::eval) fn simple_frame_base(
        &mut self,
        expression: &ExpressionBytes<'a>,
    ) -> Option<Location<'a>> {
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
}

#[cfg(test)]
mod tests {
    use crate::arch::Register;
    use crate::error::{ErrorKind, Result};
    use crate::eval::{
        Context, ExpressionBytes, Frame, LocationAttribute, Outcome, ResultKind, Subprogram, Unit,
        evaluate,
    };
    use crate::expr::Encoding;
    use crate::location::{Arena, Location};

    /// A frame whose registers are saved in memory, kept or lost, and whose CFA is known.
    struct Caller;

    impl<'a> Frame<'a> for Caller {
        fn register(&self, register: Register) -> Result<Location<'a>> {
            match register.number() % 3 {
                0 => Ok(Location::byte(0x40)),
                1 => Ok(Location::register(register)),
                _ => Err(ErrorKind::UndefinedRead.into()),
            }
        }

        fn entry_register(&self, register: Register) -> Result<Location<'a>> {
            self.register(register)
        }

        fn cfa(&self) -> Result<Location<'a>> {
            Ok(Location::byte(0x1000))
        }

        fn with_caller(
            &self,
            _: &mut dyn FnMut(&dyn Frame<'a>, u64) -> Result<()>,
        ) -> Result<bool> {
            Ok(false)
        }
    }

    /// `DW_OP_nop` after a frame base leaves it to the machine.
    #[test]
    fn the_machine_gives_the_same() {
        let unit = Unit::unknown(Encoding::AMDGPU);
        // `DW_OP_call_frame_cfa`; `DW_OP_reg0` to `DW_OP_reg2`; `DW_OP_regx` of s0, s1 and s2; `DW_OP_lit1`, which is none.
        let bases: [&[u8]; 8] = [
            &[0x9c],
            &[0x50],
            &[0x51],
            &[0x52],
            &[0x90, 32],
            &[0x90, 33],
            &[0x90, 34],
            &[0x31],
        ];
        let arena = Arena::new();
        let found = |base: &[u8], in_frame: bool| {
            let base = arena.keep(base);
            let context = Context {
                frame: in_frame.then_some(&Caller as _),
                subprogram: Some(Subprogram {
                    frame_base: Some(LocationAttribute::Expression(ExpressionBytes::alone(
                        base, unit,
                    ))),
                    ..Subprogram::default()
                }),
                ..Context::new(&arena)
            };
            // `DW_OP_fbreg 8`.
            let fbreg = ExpressionBytes::alone(&[0x91, 8], unit);
            let found = evaluate(&fbreg, ResultKind::Location, &context);
            found.map_err(|error| error.kind().clone())
        };
        for base in bases {
            for in_frame in [true, false] {
                let slow = found(&[base, &[0x96]].concat(), in_frame);
                assert_eq!(found(base, in_frame), slow, "{base:x?}");
            }
        }
        // The CFA, and 8.
        assert_eq!(
            found(&[0x9c], true),
            Ok(Outcome::Location(Location::byte(0x1008)))
        );
    }
}
