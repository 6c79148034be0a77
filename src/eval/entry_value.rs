//! Implements `DW_OP_entry_value`: the value of an expression on entry to the function.
//!
//! Read strictly, it is evaluated in the caller's frame, whose registers call frame information recovers. Parameters are passed in registers that a
//! callee need not preserve, which are lost. Compilers therefore record their values at the call site (`DW_AT_call_value`), and a tolerant reading
//! tries those first. Values in several registers are read strictly: gcc gives only the value of the first. Sources: HET A.2.5.4.3.4, item 8; DWARF 5
//! §2.5.1.7, §3.4.2.

use super::budget::Budget;
use super::context::{Context, Frame, Outcome, Reading, ResultKind};
use super::in_registers::{REG0, REG31, REGX};
use super::machine::{Machine, run};
use super::memory::check_size;
use super::resolver::{CallPlace, CallSite, ExpressionBytes};
use super::stack::Entry;
use super::value::{BaseType, BaseTypeEncoding, Value, mask};
use crate::arch::Register;
use crate::error::{Error, ErrorKind, Need, Result, SpecRule};
use crate::expr::Cursor;

impl<'a> Machine<'_, '_, 'a> {
    #[inline(never)]
    pub(super) fn entry_value(&mut self, bytes: &'a [u8]) -> Result<()> {
        let frame = self.frame();
        let frame = frame.ok_or_else(|| Error::from(Need::Frame))?;
        let expression = ExpressionBytes {
            bytes,
            ..self.here.expression
        };
        self.enter()?;
        let mut result = None;
        let here = self.context;
        let budget = &mut *self.budget;
        frame.with_caller(&mut |caller, address| {
            let call = Call {
                callee: frame,
                caller,
                address,
            };
            result = Some(on_entry(&expression, &call, here, budget)?);
            Ok(())
        })?;
        self.leave();
        match result.ok_or_else(|| Error::from(Need::Caller))? {
            Outcome::Value(value) => self.push(Entry::from_value(value)),
            Outcome::Location(location) => {
                let register = single_register(&expression);
                let register = register.ok_or_else(|| Error::from(SpecRule::EntryValueKind))?;
                // A register's value is an integer as wide as the register. Up to the size of an address it has the generic type, so that the
                // expression can compute with it. The location of the caller's register does not give its size, since it may be anywhere.
                let size = register.size_in_bits();
                let bits = size.map_or(1, |size| size.min(128));
                check_size(size, bits)?;
                let value = self.read(&location, bits)?;
                let wide = bits > self.generic_bits;
                let ty = if wide {
                    BaseType::scalar(BaseTypeEncoding::Unsigned, bits)
                } else {
                    self.generic()
                };
                self.push(Entry::from_value(Value::new(ty, value)))
            }
        }
    }
}

/// A call that has not returned.
struct Call<'f, 'a> {
    callee: &'f dyn Frame<'a>,
    caller: &'f dyn Frame<'a>,
    /// An address within the call instruction.
    address: u64,
}

/// Evaluates an expression in the state at entry to the called function.
fn on_entry<'a>(
    expression: &ExpressionBytes<'a>,
    call: &Call<'_, 'a>,
    here: &Context<'_, 'a>,
    budget: &mut Budget,
) -> Result<Outcome<'a>> {
    let mut context = Context {
        frame: Some(call.caller),
        pc: Some(call.address),
        subprogram: None,
        object: None,
        initial_stack: &[],
        ..*here
    };
    let register = single_register(expression);
    let tolerant = here.reading == Reading::Tolerant;
    let (Some(resolver), Some(pc), Some(register), true) =
        (here.resolver, here.pc, register, tolerant)
    else {
        return run(expression, ResultKind::Any, &context, budget);
    };
    budget.charge(1, here)?;
    let place = CallPlace {
        callee: pc,
        address: call.address,
    };
    match resolver.call_site(register, place)? {
        // Compilers write an entry value when the register has been overwritten since. The default assumption of call frame information, that it is
        // unchanged, is wrong then.
        CallSite::Unknown if call.callee.is_assumed_in_caller(register) => {
            Err(ErrorKind::UndefinedRead.into())
        }
        CallSite::Unknown => run(expression, ResultKind::Any, &context, budget),
        // The frame of that function at its entry is gone, and so are its registers.
        CallSite::OtherFunction => {
            Err(ErrorKind::Unsupported("an entry value after a tail call").into())
        }
        CallSite::Value { value, subprogram } => {
            context.subprogram = Some(subprogram);
            let outcome = run(&value, ResultKind::Value, &context, budget)?;
            Ok(match outcome {
                Outcome::Value(value) => Outcome::Value(cut(value, register)),
                Outcome::Location(_) => outcome,
            })
        }
    }
}

/// Returns the register, if the expression consists of it alone.
pub(crate) fn single_register(expression: &ExpressionBytes<'_>) -> Option<Register> {
    let mut cursor = Cursor::new(expression.bytes);
    let number = match cursor.next_byte()? {
        code @ REG0..=REG31 => code.wrapping_sub(REG0).into(),
        REGX => cursor.uleb().ok()?,
        _ => return None,
    };
    Register::from_number(number).filter(|_| cursor.is_empty())
}

/// Truncates a value to the size of a register. A generic value is as wide as an address.
fn cut(value: Value, register: Register) -> Value {
    match register.size_in_bits() {
        Some(size) if size < value.base_type.bit_size => {
            let bits = value.bits & mask(size);
            Value { bits, ..value }
        }
        Some(_) | None => value,
    }
}
