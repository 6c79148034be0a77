//! Represents one call frame: its row, its CFA, and the locations of its caller's registers. Source: HET A.6.4.

use super::{Activation, CallStack, CallerExec, Cfa, CorrectedRule};
use crate::arch::{AddressSpace, CodeAddress, ProcessAddress, Register, ScratchAddressing};
use crate::error::{Error, ErrorKind, Limit, Result, SpecRule};
use crate::eval::{Context, ExpressionBytes, Frame, Outcome, Reading, ResultKind, Unit, evaluate};
use crate::expr::Encoding;
use crate::frame::address::FrameAddress;
use crate::frame::row::Row;
use crate::frame::rule::{CfaRule, RegisterRule, RuleExpression};
use crate::location::{Access, Location, Place, Storage, read_value};

/// One call frame.
#[derive(Clone, Copy, Debug)]
pub struct CallFrame<'s, 'c, 'a> {
    pub(super) stack: &'s CallStack<'c, 'a>,
    pub(super) level: usize,
}

/// The location of a register, and the assumption on which it rests.
#[derive(Clone, Debug)]
pub(super) struct Found<'a> {
    pub(super) location: Result<Location<'a>>,
    assumed_exec: bool,
}

impl<'c, 'a> CallFrame<'_, 'c, 'a> {
    /// 0 for the innermost frame.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    pub(super) fn activation(&self) -> Option<&Activation<'a>> {
        self.stack.frames.get(self.level)
    }

    /// Returns the program counter or, for a caller, the return address, as an address of the process.
    #[must_use]
    pub fn pc(&self) -> ProcessAddress {
        let load_address = self.stack.unwind.load_address;
        load_address.to_process(CodeAddress(self.code_address()))
    }

    /// Returns the program counter or return address, as an address of the code object.
    #[must_use]
    pub fn code_address(&self) -> u64 {
        self.address().resumes_at()
    }

    /// Returns the address in the code object, with its kind.
    #[must_use]
    pub fn address(&self) -> FrameAddress {
        let nothing = FrameAddress::ProgramCounter(0);
        (self.activation()).map_or(nothing, |activation| activation.address)
    }

    /// Returns the address for looking up rows, functions, lines and locations, in the code object. For a caller it is within the call instruction.
    #[must_use]
    pub fn lookup_address(&self) -> u64 {
        self.address().lookup()
    }

    /// Returns the row of call frame information, or `None` if there is none for the frame's code.
    #[must_use]
    pub fn row(&self) -> Option<&Row<'a>> {
        self.activation()
            .and_then(|activation| activation.row.as_ref())
            .map(|known| &known.row)
    }

    /// Returns the column of the return address in the row.
    pub(super) fn return_address_column(&self) -> Option<Register> {
        self.activation()?.row.as_ref()?.cie.return_address()
    }

    /// Returns the wrong rules of the row, which were replaced.
    #[must_use]
    pub fn corrected_rules(&self) -> &[CorrectedRule] {
        let correction = self
            .activation()
            .and_then(|known| known.correction.as_ref());
        correction.map_or(&[], |correction| &correction.rules)
    }

    /// Returns true if there is no call frame information for the frame's code, and the row was derived from the machine code.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        self.activation().is_some_and(|known| known.is_derived)
    }

    /// Returns the frame that this one called.
    #[must_use]
    pub fn callee(&self) -> Option<Self> {
        self.level.checked_sub(1).map(|level| CallFrame {
            stack: self.stack,
            level,
        })
    }

    /// Returns true if an inner frame has the same program location, CFA and place of the return address.
    pub(super) fn is_repeated(&self, return_address: &Location<'a>) -> bool {
        let Ok(cfa) = self.cfa() else { return false };
        let mut frame = self.callee();
        // Only the four next inner frames are compared: real recursion moves the CFA, and a longer cycle ends at the limit of frames.
        for _ in 0..4 {
            let Some(here) = frame else { return false };
            let returns_to_same_place =
                |known: &Activation<'a>| known.return_address.as_ref() == Some(return_address);
            if here.code_address() == self.code_address()
                && here.activation().is_some_and(returns_to_same_place)
                && here.cfa().is_ok_and(|other| other == cfa)
            {
                return true;
            }
            frame = here.callee();
        }
        false
    }

    fn encoding(&self) -> Encoding {
        let address_size = self
            .activation()
            .and_then(|activation| activation.row.as_ref())
            .map_or(8, |known| known.cie.address_size);
        Encoding {
            address_size,
            offset_size: 4,
            dialect: self.stack.unwind.dialect,
        }
    }

    /// Evaluates an expression of the frame's call frame information.
    fn evaluate(
        &self,
        expression: RuleExpression<'a>,
        kind: ResultKind,
        initial_stack: &[Outcome<'a>],
    ) -> Result<Outcome<'a>> {
        let unwind = &self.stack.unwind;
        // Expressions refer to registers of other frames, whose rules are expressions too. Rows of real code need three levels.
        let nesting = &self.stack.nesting;
        let depth = nesting.get();
        if depth >= unwind.limits.depth {
            return Err(unwind.limits.reached(Limit::Depth));
        }
        let context = Context {
            wave: Some(unwind.wave),
            processor: unwind.processor,
            lane: unwind.lane,
            frame: Some(self),
            pc: Some(self.lookup_address()),
            load_address: unwind.load_address,
            initial_stack,
            reading: unwind.reading,
            limits: unwind.limits,
            meter: unwind.meter,
            nesting: Some(nesting),
            ..Context::new(unwind.arena)
        };
        let section = unwind.cfi.section();
        let unit = Unit::unknown(self.encoding());
        let expression = ExpressionBytes {
            bytes: expression.bytes,
            unit,
            section: section.name(),
            offset: expression.offset,
        };
        nesting.set(depth.saturating_add(1));
        let result = evaluate(&expression, kind, &context);
        nesting.set(depth);
        result
    }

    fn locate(
        &self,
        expression: RuleExpression<'a>,
        initial_stack: &[Outcome<'a>],
    ) -> Result<Location<'a>> {
        match self.evaluate(expression, ResultKind::Location, initial_stack)? {
            Outcome::Location(location) => Ok(location),
            Outcome::Value(_) => Ok(Location::UNDEFINED),
        }
    }

    fn compute_cfa(&self) -> Result<Location<'a>> {
        let row = self
            .row()
            .ok_or_else(|| Error::from(crate::error::Need::Frame))?;
        let location = match row.cfa {
            CfaRule::None => return Err(crate::error::Need::Frame.into()),
            CfaRule::Expression(expression) => self.locate(expression, &[])?,
            CfaRule::Register {
                register,
                offset,
                space,
            } => {
                let space = AddressSpace::from_number(space)
                    .ok_or_else(|| Error::from(SpecRule::AddressSpace))?;
                let register = Register::from_number(register)
                    .ok_or_else(|| Error::from(SpecRule::RegisterNumber))?;
                self.address_in_register(register, offset, space)?
            }
        };
        if location.byte_address().is_none() {
            return Err(SpecRule::CfaKind.into());
        }
        Ok(location)
    }

    /// Like `DW_OP_LLVM_aspace_bregx` (HET A.6.4.2.2).
    fn address_in_register(
        &self,
        register: Register,
        offset: i64,
        space: AddressSpace,
    ) -> Result<Location<'a>> {
        let unwind = &self.stack.unwind;
        let location = self.register(register)?;
        let size = space.address_size_in_bits(self.encoding().address_size);
        // The size is the register's own and not its location's: a spill slot is followed by unrelated data.
        let own = register.size_in_bits().unwrap_or(0);
        let bits = match unwind.reading {
            Reading::Tolerant if own > 0 => size.min(own),
            Reading::Tolerant | Reading::Strict => size,
        };
        if bits > own {
            return Err(ErrorKind::OutOfBounds {
                bit_offset: i128::from(bits).saturating_sub(1),
                size_in_bits: own.into(),
            }
            .into());
        }
        let access = Access {
            wave: unwind.wave,
            lane: None,
            max_bits: unwind.limits.bits,
            meter: None,
        };
        let value = u64::try_from(read_value(&location, bits, &access)?).unwrap_or(u64::MAX);
        let mask = space.address_mask(self.encoding().address_size);
        let address = value.wrapping_add(offset.cast_unsigned()) & mask;
        let lane = unwind.lane.select(space);
        Ok(Location::One(Place::new(
            Storage::Memory { space, lane },
            u128::from(address).saturating_mul(8),
        )))
    }

    /// Returns the place of the return address.
    pub(super) fn return_address_location(&self, column: Register) -> Result<Location<'a>> {
        let rule = self.row().and_then(|row| row.rule(column.number().into()));
        if let (Reading::Tolerant, Some(RegisterRule::Expression(expression))) =
            (self.stack.unwind.reading, rule)
        {
            // GCC writes the return address itself where the text requires its location. An expression that ends in a plain value cannot be a
            // location. See `spec-notes/frames.md`.
            let cfa = self.cfa().map(Outcome::Location);
            let initial: &[Outcome<'a>] = cfa.as_ref().map_or(&[], core::slice::from_ref);
            let mut found = None;
            let remembered = self.remember(column, || {
                match self.evaluate(expression, ResultKind::Any, initial)? {
                    Outcome::Location(location) => Ok(Some(location)),
                    Outcome::Value(value) => {
                        found = Some(value);
                        Ok(None)
                    }
                }
            });
            if let Some(remembered) = remembered {
                return remembered.location;
            }
            if let Some(value) = found {
                let bit_size = u16::try_from(value.base_type.bit_size).unwrap_or(64);
                return Ok(Location::One(Place::new(
                    Storage::Value {
                        bits: value.bits,
                        bit_size,
                    },
                    0,
                )));
            }
        }
        self.entry_register(column)
    }

    /// Returns the location of a register on entry to the frame, and true if it depends on EXEC having no rule. LLVM writes no such rule, although
    /// registers are saved under EXEC (see `spec-notes/frames.md`).
    ///
    /// # Errors
    /// Fails like [`Frame::entry_register`].
    pub fn recovered(&self, register: Register) -> Result<(Location<'a>, bool)> {
        let found = self.find(register);
        found
            .location
            .map(|location| (location, found.assumed_exec))
    }

    /// Returns the rule for the caller's register, or `SameValue` if the row has none.
    #[must_use]
    pub fn rule(&self, register: Register) -> RegisterRule<'a> {
        self.row()
            .and_then(|row| row.rule(register.number().into()))
            .unwrap_or(RegisterRule::SameValue)
    }

    fn find(&self, register: Register) -> Found<'a> {
        // Starts at the innermost frame, so that the results of inner frames are known before an outer frame needs them. The depth of nested
        // evaluations then does not grow with the number of frames.
        let known = {
            let found = self.stack.found.borrow();
            let is_known = |level: &usize| found.contains_key(&(*level, register));
            (0..self.level).rev().find(is_known)
        };
        for level in known.map_or(0, |level| level.saturating_add(1))..self.level {
            let frame = CallFrame {
                stack: self.stack,
                level,
            };
            if frame.rule(register) != RegisterRule::SameValue {
                frame.find_here(register);
            }
        }
        self.find_here(register)
    }

    /// Implements [`find`](CallFrame::find), once the inner frames are done.
    fn find_here(&self, register: Register) -> Found<'a> {
        let key = (self.level, register);
        let known = self.stack.found.borrow().get(&key).cloned();
        match known {
            Some(Some(found)) => {
                if found.assumed_exec {
                    self.stack.assumed_exec.set(true);
                }
                return found;
            }
            Some(None) => {
                return Found {
                    location: Err(SpecRule::RegisterCycle.into()),
                    assumed_exec: false,
                };
            }
            None => {}
        }
        let found = self.remember(register, || self.apply(register).map(Some));
        found.unwrap_or_else(|| Found {
            location: Err(SpecRule::RegisterCycle.into()),
            assumed_exec: false,
        })
    }

    /// Finds a register for the first time. Keeps the result, if there is one.
    fn remember(
        &self,
        register: Register,
        find: impl FnOnce() -> Result<Option<Location<'a>>>,
    ) -> Option<Found<'a>> {
        let key = (self.level, register);
        self.stack.found.borrow_mut().insert(key, None);
        let outer = self.stack.assumed_exec.replace(false);
        let location = find().transpose();
        let assumed_exec = self.stack.assumed_exec.get();
        self.stack.assumed_exec.set(outer || assumed_exec);
        let found = location.map(|location| Found {
            location,
            assumed_exec,
        });
        let mut known = self.stack.found.borrow_mut();
        match &found {
            Some(found) => known.insert(key, Some(found.clone())),
            None => known.remove(&key),
        };
        found
    }

    /// Applies a register's rule. Source: HET A.6.4.1.
    fn apply(&self, register: Register) -> Result<Location<'a>> {
        let given = self
            .row()
            .and_then(|row| row.rule(register.number().into()));
        let unwind = &self.stack.unwind;
        if given.is_none() {
            if register.class() == Some(crate::arch::RegisterClass::Exec) {
                if let Some(location) = self.exec_of_caller(register)? {
                    return Ok(location);
                }
                self.stack.assumed_exec.set(true);
            }
            if unwind.reading == Reading::Tolerant
                && Some(register) == Register::sgpr(32)
                && let Some(location) = self.stack_pointer_from_cfa()
            {
                return Ok(location);
            }
            if let Some(left) = self.lanes_left(register) {
                return self.in_lanes(register, left);
            }
        }
        let cfa_outcome = || self.cfa().map(Outcome::Location);
        match given.unwrap_or(RegisterRule::SameValue) {
            RegisterRule::Undefined => Ok(Location::UNDEFINED),
            RegisterRule::SameValue => self.register(register),
            RegisterRule::Offset(offset) => {
                let bits = i128::from(offset).saturating_mul(8);
                self.cfa()?.offset_by_bits(bits, unwind.arena)
            }
            RegisterRule::ValOffset(offset) => {
                let (space, address) = self
                    .cfa()?
                    .byte_address()
                    .ok_or_else(|| Error::from(SpecRule::CfaKind))?;
                let size = space.address_size_in_bits(self.encoding().address_size);
                if register.size_in_bits() != Some(size) {
                    return Err(SpecRule::RuleSize.into());
                }
                self.cfa()?
                    .offset_by_bits(i128::from(offset).saturating_mul(8), unwind.arena)?;
                let bits = u128::from(address.wrapping_add_signed(offset));
                Ok(Location::One(Place::new(
                    Storage::Value {
                        bits,
                        bit_size: u16::try_from(size).unwrap_or(64),
                    },
                    0,
                )))
            }
            RegisterRule::Register(number) => {
                let saved_in = Register::from_number(number)
                    .ok_or_else(|| Error::from(SpecRule::RegisterNumber))?;
                if saved_in.size_in_bits() != register.size_in_bits() {
                    return Err(SpecRule::RuleSize.into());
                }
                self.register(saved_in)
            }
            RegisterRule::Expression(expression) => self.locate(expression, &[cfa_outcome()?]),
            RegisterRule::ValExpression(expression) => {
                let Outcome::Value(value) =
                    self.evaluate(expression, ResultKind::Value, &[cfa_outcome()?])?
                else {
                    return Err(SpecRule::RuleSize.into());
                };
                if register.size_in_bits() != Some(value.base_type.bit_size) {
                    return Err(SpecRule::RuleSize.into());
                }
                let bit_size = u16::try_from(value.base_type.bit_size).unwrap_or(u16::MAX);
                Ok(Location::One(Place::new(
                    Storage::Value {
                        bits: value.bits,
                        bit_size,
                    },
                    0,
                )))
            }
            RegisterRule::Architectural => {
                Err(ErrorKind::Unsupported("an architectural register rule").into())
            }
        }
    }

    /// Returns the caller's EXEC as the machine code shows it, if the code leads to the same caller.
    fn exec_of_caller(&self, exec: Register) -> Result<Option<Location<'a>>> {
        let level = self.level.saturating_add(1);
        let Some(corrections) = &self.stack.corrections else {
            return Ok(None);
        };
        let caller = self.stack.frame(level).map(|frame| frame.code_address());
        let is_same = |found: &CallerExec| {
            let both = caller.zip(found.return_address);
            both.is_none_or(|(address, found)| address == found)
        };
        let found = corrections.exec(level)?.filter(is_same);
        let bit_size = exec.size_in_bits().and_then(|bits| bits.try_into().ok());
        Ok(found.zip(bit_size).map(|(found, bit_size)| {
            let bits = found.mask.into();
            Location::One(Place::new(Storage::Value { bits, bit_size }, 0))
        }))
    }

    /// Returns the caller's stack pointer, which equals the CFA (USAGE "Calling Convention").
    fn stack_pointer_from_cfa(&self) -> Option<Location<'a>> {
        let (AddressSpace::PrivateWave, address) = self.cfa().ok()?.byte_address()? else {
            return None;
        };
        let unwind = &self.stack.unwind;
        let value = match unwind.processor?.scratch_addressing()? {
            ScratchAddressing::Buffer => address,
            ScratchAddressing::Flat => {
                address.checked_div(unwind.wave.wave_size().lanes().into())?
            }
        };
        Some(Location::One(Place::new(
            Storage::Value {
                bits: value.into(),
                bit_size: 32,
            },
            0,
        )))
    }
}

impl<'a> Frame<'a> for CallFrame<'_, '_, 'a> {
    fn register(&self, register: Register) -> Result<Location<'a>> {
        // The inner frames determine a caller's registers. The nearest one with a rule decides.
        let mut frame = *self;
        while let Some(callee) = frame.callee() {
            let default = callee
                .row()
                .is_none_or(|row| row.rule(register.number().into()).is_none());
            let special = register.class() == Some(crate::arch::RegisterClass::Exec)
                || Some(register) == Register::sgpr(32);
            if !default || special {
                return callee.find(register).location;
            }
            if let Some(left) = callee.lanes_left(register) {
                return callee.in_lanes(register, left);
            }
            frame = callee;
        }
        Ok(Location::register(register))
    }

    fn entry_register(&self, register: Register) -> Result<Location<'a>> {
        self.find(register).location
    }

    fn cfa(&self) -> Result<Location<'a>> {
        let place = self.activation().map(|activation| &activation.cfa);
        let place = place.ok_or_else(|| Error::from(crate::error::Need::Frame))?;
        match &*place.borrow() {
            Cfa::NotComputed => {}
            Cfa::Requested => return Err(SpecRule::RegisterCycle.into()),
            Cfa::Computed(cfa) => return cfa.clone(),
        }
        place.replace(Cfa::Requested);
        let cfa = self.compute_cfa();
        place.replace(Cfa::Computed(cfa.clone()));
        cfa
    }

    fn with_caller(
        &self,
        visit: &mut dyn FnMut(&dyn Frame<'a>, u64) -> Result<()>,
    ) -> Result<bool> {
        let Some(caller) = self
            .level
            .checked_add(1)
            .and_then(|level| self.stack.frame(level))
        else {
            return Ok(false);
        };
        visit(&caller, caller.lookup_address())?;
        Ok(true)
    }

    fn is_assumed_in_caller(&self, register: Register) -> bool {
        let rule = self
            .row()
            .and_then(|row| row.rule(register.number().into()));
        rule.is_none()
    }
}
