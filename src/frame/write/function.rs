//! Writes the rows of one function as instructions, and checks each.
//!
//! `events` has the methods for prologues and epilogues, in the terms of a back end. Sources: HET A.6.4.1 and A.6.4.2, DWARF 5 §6.4.2.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use fallible_iterator::FallibleIterator;

use super::common::{ADDRESS_SIZE, Common};
use super::place::Places;
use super::state::{State, States};
use super::target::Target;
use crate::arch::{AddressSpace, Register};
use crate::error::{Error, ErrorKind, Result, SpecRule};
use crate::expr::{OperandKind, OperandValue, Operation, operations};
use crate::frame::instruction::{CfaOperand, Effect, Instruction, Instructions};
use crate::frame::rule::{CfaRule, RegisterRule};
use crate::untrusted::Untrusted;

/// The start of a function.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Start {
    /// A symbol, whose address the linker or loader knows.
    Symbol {
        /// The symbol's name: the function's or, with an addend, its section's.
        name: String,
        /// The number of bytes added.
        addend: u64,
    },
    /// An address of the code object.
    Address(u64),
}

impl Start {
    /// Returns a symbol as start.
    #[must_use]
    pub fn symbol(name: impl Into<String>) -> Start {
        let name = name.into();
        Start::Symbol { name, addend: 0 }
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Start::Symbol { name, addend: 0 } => write!(f, "`{}`", Untrusted::from(&**name)),
            Start::Symbol { name, addend } => {
                write!(f, "`{}`+{addend:#x}", Untrusted::from(&**name))
            }
            Start::Address(address) => write!(f, "{address:#x}"),
        }
    }
}

/// The call frame information of a function, or of one of its parts, written event by event in code order.
///
/// [`at`](FunctionFrame::at) sets the code offset from which the following events hold: the byte *after* the instruction. Each event is checked when
/// it is added. After an error the frame is unchanged.
#[derive(Clone, Debug)]
pub struct FunctionFrame {
    pub(super) target: Target,
    pub(super) common: Common,
    pub(super) start: Start,
    pub(super) size: u64,
    pub(super) instructions: Vec<u8>,
    pub(super) states: States,
    /// The start of the current row. Advances are written up to here.
    offset: u64,
    advanced: u64,
    /// The instructions that set rules of registers at offset 0.
    entry: BTreeMap<u64, Vec<u8>>,
}

impl FunctionFrame {
    /// Creates a function without any rules.
    ///
    /// * `size`: the size of its code, in bytes.
    ///
    /// # Errors
    /// If the code goes past the last address, or the symbol has no name.
    pub fn new(target: Target, common: &Common, start: Start, size: u64) -> Result<FunctionFrame> {
        if matches!(&start, Start::Symbol { name, .. } if name.is_empty()) {
            return Err(Error::malformed("function", "its symbol has no name"));
        }
        let (Start::Symbol { addend: first, .. } | Start::Address(first)) = &start;
        if first.checked_add(size).is_none() {
            return Err(Error::malformed(
                "function",
                "it goes past the last address",
            ));
        }
        Ok(FunctionFrame {
            target,
            common: common.clone(),
            start,
            size,
            instructions: Vec::new(),
            states: States::new(common.state()),
            offset: 0,
            advanced: 0,
            entry: BTreeMap::new(),
        })
    }

    /// Returns the target.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// Returns its CIE.
    #[must_use]
    pub fn common(&self) -> &Common {
        &self.common
    }

    /// Returns the start of the function.
    #[must_use]
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Returns the size of its code, in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the instructions so far, without padding.
    #[must_use]
    pub fn instructions(&self) -> &[u8] {
        &self.instructions
    }

    /// Sets the code offset from which the following events hold.
    ///
    /// # Errors
    /// If it is before the last one, outside the code, or not a multiple of the code alignment factor.
    pub fn at(&mut self, code_offset: u64) -> Result<&mut FunctionFrame> {
        let wrong = |reason: String| Err(Error::malformed("code offset", reason));
        if code_offset < self.offset {
            return wrong(format!("{code_offset:#x} is before {:#x}", self.offset));
        }
        if code_offset > 0 && code_offset >= self.size {
            let size = self.size;
            return wrong(format!(
                "{code_offset:#x} is outside of {size:#x} bytes of code"
            ));
        }
        // Rejects offsets that cannot be encoded now, and not only with the next event.
        self.common
            .advance(code_offset.saturating_sub(self.advanced))?;
        self.offset = code_offset;
        Ok(self)
    }

    /// Appends an instruction unchanged.
    ///
    /// Advances move the offset of the following events. If the instruction changes the CFA, the base for
    /// [`stack_pointer_from_cfa`](FunctionFrame::stack_pointer_from_cfa) is no longer known.
    ///
    /// # Errors
    /// If an operand does not fit, or is a reserved register, one of the other wave size, or an unknown address space; if an expression uses an
    /// operation that call frame information must not use (HET A.6.4.2) or the entry value of the register whose rule it is; if the instruction needs
    /// a missing CFA rule or remembered state; if an advance leaves the code; [`ErrorKind::Unsupported`] for `DW_CFA_set_loc`.
    pub fn raw(&mut self, instruction: Instruction<'_>) -> Result<&mut FunctionFrame> {
        let mut bytes = Vec::new();
        instruction
            .encode(ADDRESS_SIZE, &mut bytes)
            .map_err(|e| e.at_operation(instruction.name(), self.instructions.len() as u64))?;
        self.append(&instruction, &bytes)
    }

    /// Appends encoded instructions, byte for byte.
    ///
    /// # Errors
    /// Fails like [`raw`](FunctionFrame::raw), or if the bytes are not instructions. The instructions before the wrong one are appended.
    pub fn escape(&mut self, bytes: &[u8]) -> Result<&mut FunctionFrame> {
        let mut items = Instructions::new(bytes, 0, ADDRESS_SIZE, ".cfi_escape");
        while let Some(item) = items.next()? {
            let range = usize::try_from(item.offset)
                .ok()
                .zip(usize::try_from(item.end).ok());
            let own = range.and_then(|(start, end)| bytes.get(start..end));
            self.append(&item.instruction, own.unwrap_or_default())?;
        }
        Ok(self)
    }

    /// Remembers all rules for [`restore`](FunctionFrame::restore). Call it before an epilogue that is followed by other blocks in the code.
    ///
    /// # Errors
    /// [`ErrorKind::TooMany`] after 64 that were not restored.
    pub fn remember(&mut self) -> Result<&mut FunctionFrame> {
        self.raw(Instruction::RememberState)
    }

    /// Restores the rules remembered last. Call it at the start of the block after the epilogue.
    ///
    /// # Errors
    /// If there is no remembered state.
    pub fn restore(&mut self) -> Result<&mut FunctionFrame> {
        self.raw(Instruction::RestoreState)
    }

    pub(super) fn places(&self) -> Places {
        Places {
            target: self.target,
            encoding: self.common.encoding(),
        }
    }

    /// Returns the instruction that sets a register's rule to that on entry.
    pub(super) fn entry_rule(&self, register: u64) -> Option<Vec<u8>> {
        self.entry.get(&register).cloned()
    }

    pub(super) fn into_initial(self) -> (Vec<u8>, State, BTreeSet<u64>) {
        let ruled = self.entry.into_keys().collect();
        (self.instructions, self.states.now, ruled)
    }

    fn append(
        &mut self,
        instruction: &Instruction<'_>,
        bytes: &[u8],
    ) -> Result<&mut FunctionFrame> {
        let end = self.instructions.len() as u64;
        let place = |error: Error| error.at_operation(instruction.name(), end);
        let factor = self.common.data_alignment_factor();
        let effect = instruction.effect(factor, bytes.len() as u64);
        self.check(instruction, effect).map_err(place)?;
        let next = if let Effect::Advance(delta) = effect {
            Some(self.advanced_to(delta).map_err(place)?)
        } else {
            None
        };
        self.states.follow(effect).map_err(place)?;
        if self.offset > self.advanced {
            let distance = self.offset.saturating_sub(self.advanced);
            self.common
                .advance(distance)?
                .encode(ADDRESS_SIZE, &mut self.instructions)?;
            self.advanced = self.offset;
        }
        self.instructions.extend(bytes);
        if let Some(offset) = next {
            (self.offset, self.advanced) = (offset, offset);
        }
        if self.offset == 0
            && let Some(register) = effect.ruled_register()
        {
            if let Effect::RestoreRule(_) = effect {
                self.entry.remove(&register);
            } else {
                self.entry.insert(register, bytes.to_vec());
            }
        }
        Ok(self)
    }

    /// Returns the offset after an advance.
    fn advanced_to(&self, delta: u64) -> Result<u64> {
        let distance = delta.checked_mul(self.common.code_alignment_factor());
        distance
            .and_then(|distance| self.offset.checked_add(distance))
            .filter(|offset| *offset < self.size)
            .ok_or_else(|| Error::malformed("code offset", "it is outside of the code"))
    }

    /// Rejects invalid operands.
    fn check(&self, instruction: &Instruction<'_>, effect: Effect<'_>) -> Result<()> {
        if let Effect::SetLocation(_) = effect {
            let what = "DW_CFA_set_loc, whose address would need a relocation: advance instead";
            return Err(ErrorKind::Unsupported(what).into());
        }
        for (kind, value) in instruction.operands() {
            match (kind, value) {
                (
                    CfaOperand::SmallRegister | CfaOperand::Register,
                    OperandValue::Unsigned(register),
                ) => self.target.check_number(register)?,
                (CfaOperand::Space, OperandValue::Unsigned(space)) => {
                    AddressSpace::from_number(space).ok_or(SpecRule::AddressSpace)?;
                }
                (CfaOperand::Expression, OperandValue::Bytes(bytes)) => {
                    self.check_expression(bytes, effect.ruled_register())?;
                }
                (_, _) => {}
            }
        }
        self.check_size(effect)
    }

    /// Rejects rules whose result differs in size from the register (HET A.6.4.1), if this is known.
    fn check_size(&self, effect: Effect<'_>) -> Result<()> {
        let Effect::Rule(register, rule) = effect else {
            return Ok(());
        };
        let size = |number: u64| Register::from_number(number).and_then(Register::size_in_bits);
        let fits = match rule {
            RegisterRule::Register(saved_in) => size(register) == size(saved_in),
            RegisterRule::ValOffset(_) => match self.states.now.cfa {
                CfaRule::Register { space, .. } => {
                    let space = AddressSpace::from_number(space);
                    let of_address = space.map(|space| space.address_size_in_bits(ADDRESS_SIZE));
                    size(register) == of_address
                }
                CfaRule::None | CfaRule::Expression(_) => true,
            },
            // The result of a value expression has the size of the generic type.
            RegisterRule::ValExpression(_) => size(register) == Some(64),
            // All other rules have no inherent size.
            RegisterRule::Undefined
            | RegisterRule::SameValue
            | RegisterRule::Offset(_)
            | RegisterRule::Expression(_)
            | RegisterRule::Architectural => true,
        };
        if fits {
            Ok(())
        } else {
            Err(SpecRule::RuleSize.into())
        }
    }

    /// Rejects operations that call frame information must not use, missing registers, and the shortest cycle: a rule of `own` that uses the value of
    /// `own` on entry.
    fn check_expression(&self, bytes: &[u8], own: Option<u64>) -> Result<()> {
        let mut items = operations(bytes, self.common.encoding());
        while let Some(item) = items.next()? {
            let row = item.operation.opcode().row();
            let place = |error: Error| error.at_operation(row.name, item.offset as u64);
            if !row.in_cfi {
                return Err(place(SpecRule::CfiOperation.into()));
            }
            if let Operation::CallFrameEntryReg { register } = item.operation
                && Some(register) == own
            {
                return Err(place(SpecRule::RegisterCycle.into()));
            }
            for (kind, value) in row.operands.iter().zip(item.operation.operands()) {
                let register = match (kind, value) {
                    (OperandKind::Register, OperandValue::Unsigned(register)) => register,
                    (_, _) => continue,
                };
                self.target.check_number(register).map_err(place)?;
            }
        }
        Ok(())
    }
}
