//! Executes operations in a loop, and converts the result at the end. Source: HET A.2.5.4.

use fallible_iterator::FallibleIterator;
use smallvec::SmallVec;

use super::budget::Budget;
use super::context::{Context, Frame, LaneFocus, Outcome, ResultKind};
use super::in_registers::{may_name_registers, run_in_registers};
use super::operand_stack::{OperandStack, held};
use super::resolver::{DieReference, ExpressionBytes, Unit};
use super::stack::Entry;
use super::value::{BaseType, Binary, Relation, Shift, Unary, Value};
use crate::arch::AddressSpace;
use crate::error::{Error, ErrorKind, Limit, Need, Result, SpecRule};
use crate::expr::{Decoder, Opcode, number, operations, read};
use crate::limits::reached;
use crate::location::{Access, Incomplete, Location, Place, Storage};

/// Evaluates an operation expression.
///
/// # Errors
/// [`ErrorKind::IllFormed`], [`ErrorKind::TypeMismatch`] and similar if the expression breaks a rule; [`ErrorKind::MissingContext`] if the context
/// lacks a required element; [`ErrorKind::Unavailable`] if the wave lacks data; [`ErrorKind::Limit`] if a limit is reached. The error has the
/// operation and its offset.
///
/// Source: HET A.2.5.4.
pub fn evaluate<'a>(
    expression: &ExpressionBytes<'a>,
    kind: ResultKind,
    context: &Context<'_, 'a>,
) -> Result<Outcome<'a>> {
    run(expression, kind, context, &mut Budget::new(context))
}

/// The maximum number of bytes in an arena, regardless of the limits. An arena that fails to allocate panics.
const MOST_MEMORY: u64 = 1 << 30;

/// Evaluates an expression within a budget.
#[inline(always)]
pub(super) fn run<'a>(
    expression: &ExpressionBytes<'a>,
    kind: ResultKind,
    context: &Context<'_, 'a>,
    budget: &mut Budget,
) -> Result<Outcome<'a>> {
    if kind != ResultKind::Value && may_name_registers(expression) {
        run_in_registers(expression, kind, context, budget)
    } else {
        execute(expression, kind, context, budget)
    }
}

/// Evaluates any expression with the machine.
#[inline(never)]
pub(super) fn execute<'a>(
    expression: &ExpressionBytes<'a>,
    kind: ResultKind,
    context: &Context<'_, 'a>,
    budget: &mut Budget,
) -> Result<Outcome<'a>> {
    let generic_bits = u32::from(expression.unit.encoding.address_size) << 3;
    let mut machine = Machine {
        context,
        stack: OperandStack::new(context.limits.stack),
        here: Activation::new(expression),
        callers: SmallVec::new(),
        building: None,
        generic_bits,
        generic_mask: u64::MAX
            .checked_shl(generic_bits)
            .map_or(u64::MAX, |above| !above),
        steps: budget.prepay(context),
        budget,
    };
    let done = machine.execute_all();
    machine.flush();
    done?;
    machine.finish(kind)
}

/// An expression being executed.
#[derive(Clone, Copy)]
pub(super) struct Activation<'a> {
    pub(super) expression: ExpressionBytes<'a>,
    /// The start of the expression, or the operation after a call.
    pub(super) decoder: Decoder<'a>,
    /// A branch target known to be the start of an operation, as the first byte always is.
    pub(super) valid_target: usize,
}

impl<'a> Activation<'a> {
    /// Starts at the first operation.
    #[inline]
    pub(super) fn new(expression: &ExpressionBytes<'a>) -> Activation<'a> {
        Activation {
            expression: *expression,
            decoder: Decoder::new(expression.bytes, &expression.unit.encoding),
            valid_target: 0,
        }
    }
}

/// Executes each operation, with its operands in the order of the table. One jump leads to the code that reads the operands and uses them
/// immediately. Decoding an operation first and matching on it took a tenth more instructions.
///
/// Frequent operations are always inlined here, and rare or long ones never. Otherwise the position in the expression would not stay in a register.
macro_rules! operate {
    ($machine:ident, $decoder:ident, $number:ident, $code:ident; $($operation:ident $({ $($operand:ident),+ $(,)? })? => $does:expr,)*) => {{
        // Every operation must be listed.
        const _: fn(Opcode) = |opcode| match opcode { $(Opcode::$operation)|* => () };
        loop {
            break match $number {
                $(number::$operation => {
                    $(
                        let encoding = &$machine.here.expression.unit.encoding;
                        let ($($operand,)+) = match read::$operation($code, $decoder.cursor(), encoding) {
                            Ok(operands) => operands,
                            Err(error) => break Err(error),
                        };
                    )?
                    $does
                })*
                // A vendor code is followed by another code, which selects the operation.
                _ => match $decoder.vendor_opcode($code, &$machine.here.expression.unit.encoding) {
                    Ok((_, opcode)) => {
                        $number = opcode as u8;
                        continue;
                    }
                    Err(error) => Err(error),
                },
            };
        }
    }};
}

pub(super) struct Machine<'m, 'c, 'a> {
    pub(super) context: &'m Context<'c, 'a>,
    pub(super) stack: OperandStack<'a>,
    pub(super) here: Activation<'a>,
    /// The expressions that called this one on the same stack, outermost first.
    pub(super) callers: SmallVec<[Activation<'a>; 4]>,
    /// The topmost incomplete composite on the stack.
    pub(super) building: Option<&'a mut Incomplete<'a>>,
    /// The size of the generic type.
    pub(super) generic_bits: u32,
    /// A number with this many low bits set, at most 64.
    generic_mask: u64,
    /// The steps reserved from the budget and not yet used. Every operation uses one, so this must be very cheap. The rest is returned before any
    /// other code takes steps from the budget.
    steps: u32,
    pub(super) budget: &'m mut Budget,
}

impl<'c, 'a> Machine<'_, 'c, 'a> {
    pub(super) fn unit(&self) -> Unit {
        self.here.expression.unit
    }

    pub(super) fn generic(&self) -> BaseType {
        BaseType::generic(self.generic_bits)
    }

    #[cold]
    fn push_all(&mut self, entries: &[Outcome<'a>]) -> Result<()> {
        for entry in entries {
            self.push(match *entry {
                Outcome::Value(value) => Entry::from_value(value),
                Outcome::Location(location) => Entry::Location(location),
            })?;
        }
        Ok(())
    }

    /// Uses `count` steps.
    ///
    /// # Errors
    /// Fails like [`Budget::charge`].
    #[inline(always)]
    pub(super) fn charge(&mut self, count: u32) -> Result<()> {
        // The subtraction also detects an overdraft. The difference is stored in either case, without a branch.
        let (steps, is_overdrawn) = self.steps.overflowing_sub(count);
        self.steps = steps;
        if is_overdrawn {
            self.charge_overdrawn(count)
        } else {
            Ok(())
        }
    }

    /// Uses more steps than [`charge`](Machine::charge) found reserved.
    #[cold]
    fn charge_overdrawn(&mut self, count: u32) -> Result<()> {
        self.steps = self.steps.wrapping_add(count);
        self.flush();
        self.budget.charge(count, self.context)?;
        let limits = &self.context.limits;
        let most = limits.memory.min(MOST_MEMORY);
        let held = [
            self.context.arena.bytes(),
            self.stack.bytes(),
            held(&self.callers),
        ];
        if held.into_iter().fold(0, u64::saturating_add) > most {
            return Err(reached(Limit::Memory, most));
        }
        self.steps = self.budget.prepay(self.context);
        Ok(())
    }

    /// Returns the unused steps to the budget, for use by others.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        let steps = core::mem::take(&mut self.steps);
        self.budget.refund(steps, self.context);
    }

    /// Returns the call frame, after returning unused steps: its own evaluations take steps as well.
    #[inline]
    pub(super) fn frame(&mut self) -> Option<&'c dyn Frame<'a>> {
        let frame = self.context.frame?;
        self.flush();
        Some(frame)
    }

    /// Returns the number of steps left for this evaluation.
    pub(super) fn steps_left(&self) -> u32 {
        debug_assert!(self.budget.steps.checked_add(self.steps).is_some());
        self.budget.steps.wrapping_add(self.steps)
    }

    /// Records that the expression must be evaluated for each lane separately.
    #[cold]
    pub(super) fn needs_lane(&mut self) -> Error {
        self.budget.needs_lane = true;
        Need::Lane.into()
    }

    /// Returns the access for reading a location.
    pub(super) fn access(&self) -> Result<Access<'_>> {
        let lane = match self.context.lane {
            LaneFocus::One(lane) => Some(lane),
            LaneFocus::None | LaneFocus::All => None,
        };
        let wave = self.context.wave.ok_or_else(|| Error::from(Need::Wave))?;
        Ok(Access {
            wave,
            lane,
            max_bits: self.context.limits.bits,
            meter: None,
        })
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one line for each operation; what they do is elsewhere"
    )]
    #[inline(always)]
    fn execute_all(&mut self) -> Result<()> {
        if !self.context.initial_stack.is_empty() {
            self.push_all(self.context.initial_stack)?;
        }
        // Program counter; a local that is never borrowed, so it stays in a register.
        let mut decoder = self.here.decoder;
        loop {
            let start = decoder.position();
            let Some(code) = decoder.next_code() else {
                if self.go_back() {
                    decoder = self.here.decoder;
                    continue;
                }
                return Ok(());
            };
            if let Err(error) = self.charge(1) {
                return Err(self.placed(error, start));
            }
            let mut number = decoder.number(code);
            #[cfg(debug_assertions)]
            let before = self.stack.len();
            let done = operate! { self, decoder, number, code;
                // Literals, HET A.2.5.4.3.1.
                Lit { value } => self.push_literal(value.into()),
                Const1u { value } => self.push_literal(value.into()),
                Const2u { value } => self.push_literal(value.into()),
                Const4u { value } => self.push_literal(value.into()),
                Const8u { value } => self.push_literal(value),
                Constu { value } => self.push_literal(value),
                Const1s { value } => self.push_literal(i64::from(value).cast_unsigned()),
                Const2s { value } => self.push_literal(i64::from(value).cast_unsigned()),
                Const4s { value } => self.push_literal(i64::from(value).cast_unsigned()),
                Const8s { value } => self.push_literal(value.cast_unsigned()),
                Consts { value } => self.push_literal(value.cast_unsigned()),
                Constx { index } => self.constx(index),
                ConstType { base_type, bytes } => self.const_type(base_type, bytes),
                PushLane => self.push_lane(),
                PushIteration => self.push_iteration(),

                // Stack operations, HET A.2.5.4.1.
                Dup => self.dup(),
                Over => self.pick(1),
                Pick { index } => self.pick(index.into()),
                Drop => self.drop(),
                Swap => self.swap(),
                Rot => self.rot(),

                // Control flow, HET A.2.5.4.2.
                Nop => Ok(()),
                LlvmNop => Ok(()),
                GnuUninit => Ok(()),
                Skip { distance } => self.branch(&mut decoder, distance),
                Bra { distance } => self.branch_if(&mut decoder, distance),
                Call2 { entry } => self.call(&mut decoder, DieReference::InUnit(entry.into())),
                Call4 { entry } => self.call(&mut decoder, DieReference::InUnit(entry.into())),
                CallRef { entry } => self.call(&mut decoder, DieReference::InSection(entry)),
                Eq => self.compare(Relation::Eq),
                Ge => self.compare(Relation::Ge),
                Gt => self.compare(Relation::Gt),
                Le => self.compare(Relation::Le),
                Lt => self.compare(Relation::Lt),
                Ne => self.compare(Relation::Ne),

                // Arithmetic and logic, HET A.2.5.4.3.2.
                Plus => self.binary(Binary::Plus),
                Minus => self.binary(Binary::Minus),
                Mul => self.binary(Binary::Mul),
                Div => self.binary(Binary::Div),
                Mod => self.binary(Binary::Mod),
                And => self.binary(Binary::And),
                Or => self.binary(Binary::Or),
                Xor => self.binary(Binary::Xor),
                PlusUconst { value } => self.plus_constant(value),
                Shl => self.shift(Shift::Left),
                Shr => self.shift(Shift::RightLogical),
                Shra => self.shift(Shift::RightArithmetic),
                Abs => self.unary(Unary::Abs),
                Neg => self.unary(Unary::Neg),
                Not => self.unary(Unary::Not),
                Convert { base_type } => self.convert(base_type),
                Reinterpret { base_type } => self.reinterpret(base_type),

                // Special values, HET A.2.5.4.3.4.
                Deref => self.deref(),
                DerefSize { byte_size } => self.deref_size(byte_size),
                DerefType { byte_size, base_type } => self.deref_type(byte_size, base_type),
                Xderef => self.swap_into_address().and_then(|()| self.deref()),
                XderefSize { byte_size } => self.swap_into_address().and_then(|()| self.deref_size(byte_size)),
                XderefType { byte_size, base_type } => {
                    self.swap_into_address().and_then(|()| self.deref_type(byte_size, base_type))
                },
                RegvalType { register, base_type } => self.regval_type(register, base_type),
                EntryValue { expression } => self.entry_value(expression),
                GnuParameterRef { _entry } => {
                    Err(ErrorKind::Unsupported("a parameter that only the call site knows").into())
                },
                GnuVariableValue { _entry } => {
                    Err(ErrorKind::Unsupported("the value of another variable").into())
                },

                // Locations in general, HET A.2.5.4.4.1 and A.2.5.4.4.2.
                Offset => self.offset(8),
                BitOffset => self.offset(1),
                OffsetUconst { byte_offset } => {
                    let bytes = self.as_displacement(byte_offset);
                    self.offset_constant(bytes << 3)
                },
                PushObjectAddress => self.push_object_address(),
                CallFrameEntryReg { register } => self.call_frame_entry_reg(register),
                Undefined => self.push(Entry::Location(Location::UNDEFINED)),

                // Memory, HET A.2.5.4.4.3.
                Addr { address } => self.push_address(address),
                Addrx { index } => self.addrx(index),
                FormAspaceAddress => self.form_aspace_address(),
                FormTlsAddress => self.form_tls_address(),
                CallFrameCfa => self.call_frame_cfa(),
                Fbreg { offset } => self.fbreg(offset),
                Breg { register, offset } => self.breg(register.into(), offset, AddressSpace::None),
                Bregx { register, offset } => self.breg(register, offset, AddressSpace::None),
                AspaceBregx { register, offset } => {
                    self.pop_address_space().and_then(|space| self.breg(register, offset, space))
                },

                // Registers, HET A.2.5.4.4.4.
                Reg { register } => self.push_register(register.into()),
                Regx { register } => self.push_register(register),

                // Implicit locations, HET A.2.5.4.4.5.
                ImplicitValue { bytes } => self.push(Entry::Location(Location::One(
                    Place::new(Storage::Constant(bytes), 0),
                ))),
                StackValue => self.stack_value(),
                ImplicitPointer { entry, offset } => {
                    self.implicit_pointer(entry, offset, AddressSpace::None)
                },
                AspaceImplicitPointer { entry, offset } => {
                    self.pop_address_space().and_then(|space| self.implicit_pointer(entry, offset, space))
                },

                // Composites, HET A.2.5.4.4.6.
                Piece { byte_size } => self.piece(u128::from(byte_size) << 3, 0),
                BitPiece { bit_size, bit_offset } => self.piece(bit_size.into(), bit_offset),
                PieceEnd => self.piece_end(),
                Extend { bit_size, count } => self.extend(bit_size, count),
                SelectBitPiece { bit_size, count } => self.select_bit_piece(bit_size, count),
                Overlay => self.overlay(8),
                BitOverlay => self.overlay(1),
                Composite => self.begin_composite(),
                NvidiaMux { selector } => self.of_nvidia(selector),
            };
            if let Err(error) = done {
                return Err(self.placed(error, start));
            }
            #[cfg(debug_assertions)]
            self.check_effect(number, before);
        }
    }

    /// Returns from a called expression to its caller. Returns false if there is no caller.
    #[inline]
    fn go_back(&mut self) -> bool {
        let Some(caller) = self.callers.last() else {
            return false;
        };
        self.here = *caller;
        self.callers.pop();
        self.leave();
        true
    }

    #[cold]
    fn placed(&self, error: Error, start: usize) -> Error {
        placed(&self.here.expression, error, start)
    }

    /// Compares an operation's effect on the stack with its row of the table.
    #[cfg(debug_assertions)]
    fn check_effect(&self, number: u8, before: usize) {
        let Some(opcode) = Opcode::from_number(number) else {
            return;
        };
        if let crate::expr::StackEffect::Fixed { pops, pushes } = opcode.row().effect {
            let after = before
                .checked_sub(pops.into())
                .and_then(|rest| rest.checked_add(pushes.into()));
            debug_assert_eq!(after, Some(self.stack.len()), "{}", opcode.name());
        }
    }

    /// Returns the result in the required kind.
    #[inline(always)]
    fn finish(&mut self, kind: ResultKind) -> Result<Outcome<'a>> {
        // The most frequent results of variables and rules. Each is constructed in place, because a location is large.
        match (kind, self.stack.top()) {
            (ResultKind::Location, Some(&Entry::Generic(value))) => {
                let address = self.truncate(value);
                Ok(Outcome::Location(Location::byte(address)))
            }
            (ResultKind::Any | ResultKind::Value, Some(&Entry::Generic(value))) => {
                Ok(Outcome::Value(Value::generic(value, self.generic_bits)))
            }
            (ResultKind::Any | ResultKind::Location, Some(&Entry::Address(address))) => {
                Ok(Outcome::Location(Location::byte(address)))
            }
            (ResultKind::Any | ResultKind::Location, Some(&Entry::Implicit(value))) => {
                Ok(Outcome::Location(self.implicit(value)))
            }
            (ResultKind::Any | ResultKind::Location, Some(Entry::Incomplete)) => {
                Ok(Outcome::Location(self.complete()))
            }
            (
                ResultKind::Any | ResultKind::Location,
                Some(Entry::Location(location @ Location::One(_))),
            ) => Ok(Outcome::Location(*location)),
            (_, _) => self.finish_slow(kind),
        }
    }

    /// Returns the result in the required kind, for any entry on top.
    #[inline(never)]
    fn finish_slow(&mut self, kind: ResultKind) -> Result<Outcome<'a>> {
        let Some(top) = self.stack.pop() else {
            return match kind {
                ResultKind::Any | ResultKind::Location => {
                    Ok(Outcome::Location(Location::UNDEFINED))
                }
                ResultKind::Value => Err(SpecRule::EmptyStackValue.into()),
            };
        };
        let top = if let Entry::Incomplete = top {
            Entry::Location(self.complete())
        } else {
            top
        };
        let result = match (kind, top) {
            (ResultKind::Location, top) => self.location_of(top).map(Outcome::Location),
            (ResultKind::Any, Entry::Location(location)) => Ok(Outcome::Location(location)),
            (ResultKind::Any, Entry::Address(_) | Entry::Implicit(_) | Entry::Register(_)) => {
                self.location_of(top).map(Outcome::Location)
            }
            // An implicit pointer has no value that could be returned, so its location is returned.
            (ResultKind::Any, Entry::Pointer(pointer)) => Ok(Outcome::Location(Location::One(
                Place::new(Storage::ImplicitPointer(pointer), 0),
            ))),
            (ResultKind::Any | ResultKind::Value, top) => self.value_of(top).map(Outcome::Value),
        };
        self.flush();
        result
    }

    #[inline(always)]
    fn push_literal(&mut self, value: u64) -> Result<()> {
        let value = self.truncate(value);
        self.stack.push(Entry::Generic(value))
    }

    /// Truncates to the size of the generic type.
    #[inline]
    pub(super) fn truncate(&self, value: u64) -> u64 {
        value & self.generic_mask
    }

    #[inline(never)]
    fn constx(&mut self, index: u64) -> Result<()> {
        let value = self.resolver()?.address(self.unit(), index)?;
        self.push_literal(value)
    }

    #[inline(never)]
    fn const_type(&mut self, base_type: u64, bytes: &'a [u8]) -> Result<()> {
        let ty = self.base_type(base_type)?;
        if ty.byte_size() as usize != bytes.len() {
            return Err(SpecRule::ConstTypeSize.into());
        }
        ty.check_fits()?;
        let mut bits = [0; 16];
        for (to, from) in bits.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.push(Entry::from_value(Value::new(ty, u128::from_le_bytes(bits))))
    }

    #[inline(never)]
    fn push_object_address(&mut self) -> Result<()> {
        let object = self.context.object;
        let object = object.ok_or_else(|| Error::from(Need::Object))?;
        self.push(Entry::Location(object))
    }

    #[inline(never)]
    fn push_lane(&mut self) -> Result<()> {
        self.budget.used_lane = true;
        let lanes = self
            .context
            .subprogram
            .and_then(|subprogram| subprogram.lanes);
        match self.context.lane {
            LaneFocus::None => Err(Need::Lane.into()),
            LaneFocus::One(lane) if lanes.is_some_and(|lanes| u64::from(lane.0) >= lanes) => {
                Err(SpecRule::LaneRange.into())
            }
            LaneFocus::One(lane) => self.push(Entry::Generic(lane.0.into())),
            LaneFocus::All if lanes.is_some() => Err(self.needs_lane()),
            LaneFocus::All => self.push(Entry::Linear { base: 0, step: 1 }),
        }
    }

    #[inline(never)]
    fn push_iteration(&mut self) -> Result<()> {
        let iteration = self
            .context
            .iteration
            .ok_or_else(|| Error::from(Need::Iteration))?;
        let iterations = self
            .context
            .subprogram
            .and_then(|subprogram| subprogram.iterations);
        if iterations.is_some_and(|iterations| iteration >= iterations) {
            return Err(SpecRule::IterationRange.into());
        }
        self.push_literal(iteration)
    }
}

/// Adds the place to an error: the operation, in an expression that starts at `start`.
#[cold]
pub(super) fn placed(expression: &ExpressionBytes<'_>, error: Error, start: usize) -> Error {
    // The operation's name is decoded only for errors.
    let rest = expression.bytes.get(start..).unwrap_or_default();
    let name = match operations(rest, expression.unit.encoding).next() {
        Ok(Some(item)) => item.operation.opcode().name(),
        Ok(None) => "?",
        Err(error) => error.operation().unwrap_or("?"),
    };
    let error = error.at_operation(name, start as u64);
    if expression.section.is_empty() {
        error
    } else {
        error.within(expression.section, expression.offset)
    }
}
