//! The loop: operation after operation, and the result at the end. Source: HET A.2.5.4.

use core::cell::Cell;

use smallvec::SmallVec;

use super::context::{Context, LaneFocus, Outcome, ResultKind};
use super::entries::Entries;
use super::resolver::{DieReference, ExpressionBytes, Unit};
use super::stack::Entry;
use super::value::{BaseType, Binary, Relation, Shift, Unary, Value};
use crate::arch::AddressSpace;
use crate::error::{Error, ErrorKind, Limit, Need, Result, Rule};
use crate::expr::{Decoder, Opcode, Operation};
use crate::location::{Access, Location, Place, Storage};

/// Evaluates an operation expression.
///
/// # Errors
/// [`ErrorKind::IllFormed`], [`ErrorKind::TypeMismatch`] and their like if the expression breaks a rule;
/// [`ErrorKind::MissingContext`] if the context lacks something it needs; [`ErrorKind::Unavailable`] if
/// the wave does; [`ErrorKind::Limit`] if a limit is reached. The error names the operation and its offset.
///
/// Source: HET A.2.5.4.
pub fn evaluate<'a>(
    expression: ExpressionBytes<'a>,
    kind: ResultKind,
    context: &Context<'_, 'a>,
) -> Result<Outcome<'a>> {
    run_here(expression, kind, context, &mut Budget::new(context))
}

/// What an evaluation and all those within it have left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) steps: u32,
    pub(super) depth: u16,
    /// Whether anything depended on the lane.
    pub(super) used_lane: bool,
    /// Whether something could not be done for all lanes at once.
    pub(super) needs_lane: bool,
    /// The last register that was pushed, and the steps that were left then.
    pushed_register: Option<(u64, u32)>,
}

impl Budget {
    pub(super) fn new(context: &Context<'_, '_>) -> Budget {
        Budget {
            steps: context.limits.steps,
            depth: (context.limits.depth).saturating_sub(context.nesting.map_or(0, Cell::get)),
            used_lane: false,
            needs_lane: false,
            pushed_register: None,
        }
    }

    /// Notes that the operation that is executed pushes a register.
    pub(super) fn note_register(&mut self, number: u64) {
        self.pushed_register = Some((number, self.steps));
    }

    /// Forgets the register of an evaluation within another, which is not the outer one's.
    pub(super) fn forget_register(&mut self) {
        self.pushed_register = None;
    }

    /// The register, if pushing one was the last thing that the last evaluation did: no step came after it.
    pub(super) fn last_register(&self) -> Option<u64> {
        let (number, steps) = self.pushed_register?;
        (steps == self.steps).then_some(number)
    }

    /// Takes `count` steps.
    #[inline(always)]
    pub(super) fn charge(&mut self, count: u32, context: &Context<'_, '_>) -> Result<()> {
        let Some(steps) = self.steps.checked_sub(count) else {
            return Err(context.limits.reached(Limit::Steps));
        };
        self.steps = steps;
        match context.steps_done {
            Some(done) => context.limits.charge_stop(done, count.into()),
            None => Ok(()),
        }
    }
}

/// Evaluates an expression within the budget of another.
pub(super) fn run<'a>(
    expression: ExpressionBytes<'a>,
    kind: ResultKind,
    context: &Context<'_, 'a>,
    budget: &mut Budget,
) -> Result<Outcome<'a>> {
    run_here(expression, kind, context, budget)
}

// A budget that was just made need not be copied: reading it at once, wider than it was written, would take as long as
// several operations.
#[inline(always)]
fn run_here<'a>(
    expression: ExpressionBytes<'a>,
    kind: ResultKind,
    context: &Context<'_, 'a>,
    budget: &mut Budget,
) -> Result<Outcome<'a>> {
    let generic_bits = u32::from(expression.unit.encoding.address_size).saturating_mul(8);
    let mut machine = Machine {
        context,
        stack: Entries::new(context.limits.stack, context.arena),
        here: Activation::new(expression),
        callers: SmallVec::new(),
        generic_bits,
        generic_mask: u64::MAX
            .checked_shl(generic_bits)
            .map_or(u64::MAX, |above| !above),
        budget: *budget,
    };
    for entry in context.initial_stack {
        machine.push(match *entry {
            Outcome::Value(value) => Entry::from_value(value),
            Outcome::Location(location) => Entry::Location(location),
        })?;
    }
    let result = match machine.execute_all() {
        Ok(()) => machine.finish(kind),
        Err(error) => Err(error),
    };
    *budget = machine.budget;
    result
}

/// An expression that is being executed, and how far.
#[derive(Clone, Copy)]
pub(super) struct Activation<'a> {
    pub(super) expression: ExpressionBytes<'a>,
    pub(super) decoder: Decoder<'a>,
    /// A branch target that is known to be the start of an operation.
    pub(super) valid_target: usize,
}

impl<'a> Activation<'a> {
    /// At the first operation.
    #[inline]
    pub(super) fn new(expression: ExpressionBytes<'a>) -> Activation<'a> {
        Activation {
            expression,
            decoder: Decoder::new(expression.bytes, &expression.unit.encoding),
            valid_target: usize::MAX,
        }
    }
}

pub(super) struct Machine<'m, 'c, 'a> {
    pub(super) context: &'m Context<'c, 'a>,
    pub(super) stack: Entries<'a>,
    pub(super) here: Activation<'a>,
    /// The expressions that called this one on the same stack, the outermost first.
    pub(super) callers: SmallVec<[Activation<'a>; 4]>,
    /// The size of the generic type.
    pub(super) generic_bits: u32,
    /// A number with that many low bits set, at most 64.
    generic_mask: u64,
    /// The caller's, until the end.
    pub(super) budget: Budget,
}

impl<'a> Machine<'_, '_, 'a> {
    pub(super) fn unit(&self) -> Unit {
        self.here.expression.unit
    }

    pub(super) fn generic(&self) -> BaseType {
        BaseType::generic(self.generic_bits)
    }

    /// Takes `count` steps from the budget.
    #[inline(always)]
    pub(super) fn charge(&mut self, count: u32) -> Result<()> {
        self.budget.charge(count, self.context)
    }

    /// Says that the expression must be evaluated for one lane after the other.
    #[cold]
    pub(super) fn needs_lane(&mut self) -> Error {
        self.budget.needs_lane = true;
        Need::Lane.into()
    }

    /// What a location is read with.
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
        })
    }

    fn execute_all(&mut self) -> Result<()> {
        loop {
            let Some(code) = self.here.decoder.next_code() else {
                match self.callers.pop() {
                    Some(caller) => {
                        self.here = caller;
                        self.leave();
                        continue;
                    }
                    None => return Ok(()),
                }
            };
            let left = self.here.decoder.left();
            if let Err((error, opcode)) = self.step(code) {
                return Err(self.placed(error, opcode, left));
            }
        }
    }

    /// Says where an error is: in the operation behind whose first byte `left` bytes were left.
    #[cold]
    fn placed(&self, error: Error, opcode: Option<Opcode>, left: usize) -> Error {
        let expression = &self.here.expression;
        let start = expression
            .bytes
            .len()
            .saturating_sub(left.saturating_add(1));
        let name = opcode.map_or("?", Opcode::name);
        let error = error.at_operation(name, start as u64);
        if expression.section.is_empty() {
            error
        } else {
            error.within(expression.section, expression.offset)
        }
    }

    #[inline(always)]
    fn step(&mut self, code: u8) -> Result<(), (Error, Option<Opcode>)> {
        self.charge(1).map_err(|error| (error, None))?;
        let Activation {
            expression,
            decoder,
            ..
        } = &mut self.here;
        let (_, operation) = decoder
            .operation(code, &expression.unit.encoding)
            .map_err(|error| (error, None))?;
        let opcode = operation.opcode();
        #[cfg(debug_assertions)]
        let before = self.stack.len();
        self.execute(operation)
            .map_err(|error| (error, Some(opcode)))?;
        #[cfg(debug_assertions)]
        self.check_effect(opcode, before);
        Ok(())
    }

    /// Compares what an operation did to the stack with its row of the table.
    #[cfg(debug_assertions)]
    fn check_effect(&self, opcode: Opcode, before: usize) {
        if let crate::expr::StackEffect::Fixed { pops, pushes } = opcode.row().effect {
            let after = before
                .checked_sub(pops.into())
                .and_then(|rest| rest.checked_add(pushes.into()));
            debug_assert_eq!(after, Some(self.stack.len()), "{}", opcode.name());
        }
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one line for each operation; what they do is elsewhere"
    )]
    fn execute(&mut self, operation: Operation<'a>) -> Result<()> {
        match operation {
            // Literals, HET A.2.5.4.3.1.
            Operation::Lit { value } | Operation::Const1u { value } => {
                self.push_literal(value.into())
            }
            Operation::Const2u { value } => self.push_literal(value.into()),
            Operation::Const4u { value } => self.push_literal(value.into()),
            Operation::Const8u { value } | Operation::Constu { value } => self.push_literal(value),
            Operation::Const1s { value } => self.push_literal(i64::from(value).cast_unsigned()),
            Operation::Const2s { value } => self.push_literal(i64::from(value).cast_unsigned()),
            Operation::Const4s { value } => self.push_literal(i64::from(value).cast_unsigned()),
            Operation::Const8s { value } | Operation::Consts { value } => {
                self.push_literal(value.cast_unsigned())
            }
            Operation::Constx { index } => {
                let value = self.resolver()?.address(self.unit(), index)?;
                self.push_literal(value)
            }
            Operation::ConstType { base_type, bytes } => self.const_type(base_type, bytes),
            Operation::PushLane => self.push_lane(),
            Operation::PushIteration => self.push_iteration(),

            // Stack operations, HET A.2.5.4.1.
            Operation::Dup => self.dup(),
            Operation::Over => self.pick(1),
            Operation::Pick { index } => self.pick(index.into()),
            Operation::Drop => self.drop(),
            Operation::Swap => self.swap(),
            Operation::Rot => self.rot(),

            // Control flow, HET A.2.5.4.2.
            Operation::Nop | Operation::LlvmNop | Operation::GnuUninit => Ok(()),
            Operation::Skip { distance } => self.branch(distance),
            Operation::Bra { distance } => self.branch_if(distance),
            Operation::Call2 { entry } => self.call(DieReference::InUnit(entry.into())),
            Operation::Call4 { entry } => self.call(DieReference::InUnit(entry.into())),
            Operation::CallRef { entry } => self.call(DieReference::InSection(entry)),
            Operation::Eq => self.compare(Relation::Eq),
            Operation::Ge => self.compare(Relation::Ge),
            Operation::Gt => self.compare(Relation::Gt),
            Operation::Le => self.compare(Relation::Le),
            Operation::Lt => self.compare(Relation::Lt),
            Operation::Ne => self.compare(Relation::Ne),

            // Arithmetic and logic, HET A.2.5.4.3.2.
            Operation::Plus => self.binary(Binary::Plus),
            Operation::Minus => self.binary(Binary::Minus),
            Operation::Mul => self.binary(Binary::Mul),
            Operation::Div => self.binary(Binary::Div),
            Operation::Mod => self.binary(Binary::Mod),
            Operation::And => self.binary(Binary::And),
            Operation::Or => self.binary(Binary::Or),
            Operation::Xor => self.binary(Binary::Xor),
            Operation::PlusUconst { value } => self.plus_constant(value),
            Operation::Shl => self.shift(Shift::Left),
            Operation::Shr => self.shift(Shift::RightLogical),
            Operation::Shra => self.shift(Shift::RightArithmetic),
            Operation::Abs => self.unary(Unary::Abs),
            Operation::Neg => self.unary(Unary::Neg),
            Operation::Not => self.unary(Unary::Not),
            Operation::Convert { base_type } => self.convert(base_type),
            Operation::Reinterpret { base_type } => self.reinterpret(base_type),

            // Special values, HET A.2.5.4.3.4.
            Operation::Deref => self.deref(),
            Operation::DerefSize { byte_size } => self.deref_size(byte_size),
            Operation::DerefType {
                byte_size,
                base_type,
            } => self.deref_type(byte_size, base_type),
            Operation::Xderef => {
                self.swap()?;
                self.form_aspace_address()?;
                self.deref()
            }
            Operation::XderefSize { byte_size } => {
                self.swap()?;
                self.form_aspace_address()?;
                self.deref_size(byte_size)
            }
            Operation::XderefType {
                byte_size,
                base_type,
            } => {
                self.swap()?;
                self.form_aspace_address()?;
                self.deref_type(byte_size, base_type)
            }
            Operation::RegvalType {
                register,
                base_type,
            } => self.regval_type(register, base_type),
            Operation::EntryValue { expression } => self.entry_value(expression),
            Operation::GnuParameterRef { .. } => {
                Err(ErrorKind::Unsupported("a parameter that only the call site knows").into())
            }
            Operation::GnuVariableValue { .. } => {
                Err(ErrorKind::Unsupported("the value of another variable").into())
            }

            // Locations in general, HET A.2.5.4.4.1 and A.2.5.4.4.2.
            Operation::Offset => self.offset(8),
            Operation::BitOffset => self.offset(1),
            Operation::OffsetUconst { byte_offset } => {
                let bytes = self.as_displacement(byte_offset);
                self.offset_constant(bytes.saturating_mul(8))
            }
            Operation::PushObjectAddress => {
                let object = self
                    .context
                    .object
                    .ok_or_else(|| Error::from(Need::Object))?;
                self.push(Entry::Location(object))
            }
            Operation::CallFrameEntryReg { register } => self.call_frame_entry_reg(register),
            Operation::Undefined => self.push(Entry::Location(Location::UNDEFINED)),

            // Memory, HET A.2.5.4.4.3.
            Operation::Addr { address } => self.push_address(address),
            Operation::Addrx { index } => {
                let address = self.resolver()?.address(self.unit(), index)?;
                self.push_address(address)
            }
            Operation::FormAspaceAddress => self.form_aspace_address(),
            Operation::FormTlsAddress => self.form_tls_address(),
            Operation::CallFrameCfa => self.call_frame_cfa(),
            Operation::Fbreg { offset } => self.fbreg(offset),
            Operation::Breg { register, offset } => {
                self.breg(register.into(), offset, AddressSpace::None)
            }
            Operation::Bregx { register, offset } => {
                self.breg(register, offset, AddressSpace::None)
            }
            Operation::AspaceBregx { register, offset } => {
                let space = self.pop_address_space()?;
                self.breg(register, offset, space)
            }

            // Registers, HET A.2.5.4.4.4.
            Operation::Reg { register } => self.push_register(register.into()),
            Operation::Regx { register } => self.push_register(register),

            // Implicit locations, HET A.2.5.4.4.5.
            Operation::ImplicitValue { bytes } => self.push(Entry::Location(Location::One(
                Place::new(Storage::Constant(bytes), 0),
            ))),
            Operation::StackValue => self.stack_value(),
            Operation::ImplicitPointer { entry, offset } => {
                self.implicit_pointer(entry, offset, AddressSpace::None)
            }
            Operation::AspaceImplicitPointer { entry, offset } => {
                let space = self.pop_address_space()?;
                self.implicit_pointer(entry, offset, space)
            }

            // Composites, HET A.2.5.4.4.6.
            Operation::Piece { byte_size } => {
                self.piece(u128::from(byte_size).saturating_mul(8), 0)
            }
            Operation::BitPiece {
                bit_size,
                bit_offset,
            } => self.piece(bit_size.into(), bit_offset),
            Operation::PieceEnd => self.piece_end(),
            Operation::Extend { bit_size, count } => self.extend(bit_size, count),
            Operation::SelectBitPiece { bit_size, count } => self.select_bit_piece(bit_size, count),
            Operation::Overlay => self.overlay(8),
            Operation::BitOverlay => self.overlay(1),
        }
    }

    /// The result, of the kind that is required.
    #[inline]
    fn finish(&mut self, kind: ResultKind) -> Result<Outcome<'a>> {
        // What nearly every variable and every rule is.
        match (kind, self.stack.top_number()) {
            (ResultKind::Location, Some(Entry::Generic(address))) => {
                let address = self.truncate(address);
                return Ok(Outcome::Location(Location::byte(address)));
            }
            (ResultKind::Any | ResultKind::Location, Some(Entry::Address(address))) => {
                return Ok(Outcome::Location(Location::byte(address)));
            }
            (ResultKind::Any | ResultKind::Location, Some(Entry::Implicit(value))) => {
                return Ok(Outcome::Location(self.implicit(value)));
            }
            (ResultKind::Any | ResultKind::Value, Some(Entry::Generic(value))) => {
                return Ok(Outcome::Value(Value::generic(value, self.generic_bits)));
            }
            (_, _) => {}
        }
        if let (
            ResultKind::Any | ResultKind::Location,
            Some(Entry::Location(location @ Location::One(_))),
        ) = (kind, self.stack.top_other())
        {
            return Ok(Outcome::Location(*location));
        }
        let Some(top) = self.stack.pop() else {
            return match kind {
                ResultKind::Any | ResultKind::Location => {
                    Ok(Outcome::Location(Location::UNDEFINED))
                }
                ResultKind::Value => Err(Rule::EmptyStackValue.into()),
            };
        };
        let top = if let Entry::Incomplete(link) = top {
            Entry::Location(self.complete(link))
        } else {
            top
        };
        match (kind, top) {
            (ResultKind::Location, top) => self.location_of(top).map(Outcome::Location),
            (ResultKind::Any, Entry::Location(location)) => Ok(Outcome::Location(location)),
            (ResultKind::Any, Entry::Address(_) | Entry::Implicit(_) | Entry::Register(_)) => {
                self.location_of(top).map(Outcome::Location)
            }
            // There is no value that an implicit pointer could be given back as; its location is the same.
            (ResultKind::Any, Entry::Pointer(pointer)) => Ok(Outcome::Location(Location::One(
                Place::new(Storage::ImplicitPointer(pointer), 0),
            ))),
            (ResultKind::Any | ResultKind::Value, top) => self.value_of(top).map(Outcome::Value),
        }
    }

    #[inline(always)]
    fn push_literal(&mut self, value: u64) -> Result<()> {
        let value = self.truncate(value);
        self.stack.push_generic(value)
    }

    /// The low bits that the generic type has.
    #[inline]
    pub(super) fn truncate(&self, value: u64) -> u64 {
        value & self.generic_mask
    }

    fn const_type(&mut self, base_type: u64, bytes: &'a [u8]) -> Result<()> {
        let ty = self.base_type(base_type)?;
        if ty.byte_size() as usize != bytes.len() {
            return Err(Rule::ConstTypeSize.into());
        }
        ty.check_fits()?;
        let mut bits = [0; 16];
        for (to, from) in bits.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.push(Entry::from_value(Value::new(ty, u128::from_le_bytes(bits))))
    }

    fn push_lane(&mut self) -> Result<()> {
        self.budget.used_lane = true;
        let lanes = self
            .context
            .subprogram
            .and_then(|subprogram| subprogram.lanes);
        match self.context.lane {
            LaneFocus::None => Err(Need::Lane.into()),
            LaneFocus::One(lane) if lanes.is_some_and(|lanes| u64::from(lane.0) >= lanes) => {
                Err(Rule::LaneRange.into())
            }
            LaneFocus::One(lane) => self.push(Entry::Generic(lane.0.into())),
            LaneFocus::All if lanes.is_some() => Err(self.needs_lane()),
            LaneFocus::All => self.push(Entry::Linear { base: 0, step: 1 }),
        }
    }

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
            return Err(Rule::IterationRange.into());
        }
        self.push_literal(iteration)
    }
}
