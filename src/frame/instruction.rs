//! Lists the call frame instructions in one table, and decodes and encodes them. Sources: HET A.6.4.2 and A.7.24, DWARF 5 §6.4.2 and §7.24.

use fallible_iterator::FallibleIterator;

use super::rule::{RegisterRule, RuleExpression};
use crate::arch::AddressSpace;
use crate::error::{Error, ErrorKind, Result};
use crate::expr::{Cursor, OperandValue, write_sized, write_sleb, write_uleb};
use smallvec::SmallVec;

/// A kind of operand of a call frame instruction.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CfaOperand {
    /// In the low six bits of the code: a distance in units of the code alignment factor.
    SmallDelta,
    /// In the low six bits of the code: a register.
    SmallRegister,
    /// A distance of one byte, in units of the code alignment factor.
    Delta1,
    /// A distance of two bytes.
    Delta2,
    /// A distance of four bytes.
    Delta4,
    /// A distance of eight bytes.
    Delta8,
    /// An address.
    Address,
    /// Unsigned LEB128: a register.
    Register,
    /// Unsigned LEB128: an offset in bytes.
    Offset,
    /// Unsigned LEB128: an offset in units of the data alignment factor.
    Factored,
    /// Signed LEB128: an offset in units of the data alignment factor.
    SignedFactored,
    /// Unsigned LEB128: an address space.
    Space,
    /// A block: an expression.
    Expression,
}

/// A row of the table.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct CfaRow {
    /// The opcode.
    pub opcode: CfaOpcode,
    /// The name.
    pub name: &'static str,
    /// The code, with zeros in the low six bits if they contain an operand.
    pub code: u8,
    /// The operands.
    pub operands: &'static [CfaOperand],
    /// The section of the specification.
    pub spec: &'static str,
}

/// Registers with smaller numbers fit into the low six bits of `DW_CFA_offset` and `DW_CFA_restore`.
pub(super) const SMALL_REGISTERS: u64 = 0x40;

/// The effect of a call frame instruction on the current row. Offsets are in bytes. Source: HET A.6.4.2, DWARF 5 §6.4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect<'a> {
    /// Nothing.
    Nothing,
    /// Ends the row. The next one starts this many units of the code alignment factor further on.
    Advance(u64),
    /// Ends the row. The next one starts at an address.
    SetLocation(u64),
    /// The CFA is a register plus an offset, in the space of a number.
    DefineCfa {
        register: u64,
        offset: i64,
        space: u64,
    },
    /// The CFA, which must be a register plus an offset, gets another register.
    CfaRegister(u64),
    /// The CFA, which must be a register plus an offset, gets another offset.
    CfaOffset(i64),
    /// The CFA is the result of an expression.
    CfaExpression(RuleExpression<'a>),
    /// A register gets a rule.
    Rule(u64, RegisterRule<'a>),
    /// A register gets its rule from the initial instructions back, or none.
    RestoreRule(u64),
    /// All rules are pushed on the stack of remembered states.
    RememberState,
    /// All rules are popped from this stack.
    RestoreState,
}

impl Effect<'_> {
    /// Returns the number of the register whose rule changes.
    pub(crate) fn ruled_register(self) -> Option<u64> {
        match self {
            Effect::Rule(register, _) | Effect::RestoreRule(register) => Some(register),
            Effect::Nothing
            | Effect::Advance(_)
            | Effect::SetLocation(_)
            | Effect::DefineCfa { .. }
            | Effect::CfaRegister(_)
            | Effect::CfaOffset(_)
            | Effect::CfaExpression(_)
            | Effect::RememberState
            | Effect::RestoreState => None,
        }
    }
}

/// The default address space of a CFA.
const DEFAULT_SPACE: u64 = AddressSpace::None.number() as u64;

/// Returns the effect of instructions that define the whole CFA, without a space.
const fn cfa<'a>(register: u64, offset: i64) -> Effect<'a> {
    cfa_in(register, offset, DEFAULT_SPACE)
}

/// Returns the effect of instructions that define the CFA with its space.
const fn cfa_in<'a>(register: u64, offset: i64, space: u64) -> Effect<'a> {
    Effect::DefineCfa {
        register,
        offset,
        space,
    }
}

macro_rules! operand_type {
    (Expression) => { &'a [u8] };
    (SignedFactored) => { i64 };
    ($other:ident) => { u64 };
}

macro_rules! read_operand {
    (SmallDelta, $cursor:ident, $low:ident, $size:ident) => {
        $low
    };
    (SmallRegister, $cursor:ident, $low:ident, $size:ident) => {
        $low
    };
    (Delta1, $cursor:ident, $low:ident, $size:ident) => {
        $cursor.u8()?.into()
    };
    (Delta2, $cursor:ident, $low:ident, $size:ident) => {
        $cursor.u16()?.into()
    };
    (Delta4, $cursor:ident, $low:ident, $size:ident) => {
        $cursor.u32()?.into()
    };
    (Delta8, $cursor:ident, $low:ident, $size:ident) => {
        $cursor.u64()?
    };
    (Address, $cursor:ident, $low:ident, $size:ident) => {
        $cursor.sized($size)?
    };
    (SignedFactored, $cursor:ident, $low:ident, $size:ident) => {
        $cursor.sleb()?
    };
    (Expression, $cursor:ident, $low:ident, $size:ident) => {{
        let size = $cursor.uleb()?;
        $cursor.bytes(size)?
    }};
    ($uleb:ident, $cursor:ident, $low:ident, $size:ident) => {
        $cursor.uleb()?
    };
}

/// Converts an operand for [`Effect`]: offsets to bytes, and expressions to their bytes with the offset. An expression is at the end of its
/// instruction.
macro_rules! effect_operand {
    (Expression, $field:ident, $factor:ident, $end:ident) => {
        RuleExpression {
            bytes: $field,
            offset: $end.saturating_sub($field.len() as u64),
        }
    };
    (Offset, $field:ident, $factor:ident, $end:ident) => {
        $field.cast_signed()
    };
    (Factored, $field:ident, $factor:ident, $end:ident) => {
        $field.cast_signed().wrapping_mul($factor)
    };
    (SignedFactored, $field:ident, $factor:ident, $end:ident) => {
        $field.wrapping_mul($factor)
    };
    ($other:ident, $field:ident, $factor:ident, $end:ident) => {
        $field
    };
}

macro_rules! number_operand {
    (Expression, $field:ident, $each:ident) => {
        let _ = $field;
    };
    (SignedFactored, $field:ident, $each:ident) => {
        let _ = $field;
    };
    ($kind:ident, $field:ident, $each:ident) => {
        $each(CfaOperand::$kind, $field);
    };
}

macro_rules! instructions {
    ($($opcode:ident $name:literal $code:literal $(( $($field:ident : $kind:ident),+ ))? $spec:literal => $effect:expr;)*) => {
        /// A call frame instruction without its operands.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CfaOpcode { $(#[doc = concat!("`", $name, "`. Source: ", $spec, ".")] $opcode,)* }

        /// A call frame instruction with its operands, as they are encoded.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the fields' names and the standard say it all")]
        pub enum Instruction<'a> {
            $(#[doc = concat!("`", $name, "`. Source: ", $spec, ".")] $opcode $({ $($field: operand_type!($kind)),+ })?,)*
        }

        /// Every call frame instruction.
        pub const CFA_ROWS: &[CfaRow] = &[$(CfaRow {
            opcode: CfaOpcode::$opcode,
            name: $name,
            code: $code,
            operands: &[$($(CfaOperand::$kind),+)?],
            spec: $spec,
        },)*];

        impl<'a> Instruction<'a> {
            /// Returns the instruction without its operands.
            #[must_use]
            pub const fn opcode(&self) -> CfaOpcode {
                match self { $(Instruction::$opcode $({ $($field: _),+ })? => CfaOpcode::$opcode,)* }
            }

            /// Returns the instruction's name.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Instruction::$opcode $({ $($field: _),+ })? => $name,)* }
            }

            /// Returns its code, with zeros in the low six bits if they contain an operand.
            const fn code(&self) -> u8 {
                match self { $(Instruction::$opcode $({ $($field: _),+ })? => $code,)* }
            }

            /// Returns the operands with their kinds, in the order of the encoding.
            #[must_use]
            pub fn operands(
                &self,
            ) -> impl IntoIterator<Item = (CfaOperand, OperandValue<'a>)> + use<'a> {
                match *self {
                    $(Instruction::$opcode $({ $($field),+ })? => {
                        SmallVec::<[_; 3]>::from_slice(&[$($((CfaOperand::$kind, OperandValue::from($field))),+)?])
                    })*
                }
            }

            /// Returns the effect of the instruction on the current row.
            ///
            /// * `factor`: the data alignment factor of its CIE.
            /// * `end`: the offset of the first byte after it, which determines the offset of its expression.
            // If inlined into the execution loop, the result need not be passed through memory.
            #[inline(always)]
            #[allow(unused_variables, reason = "an effect need not depend on all operands")]
            pub(crate) fn effect(&self, factor: i64, end: u64) -> Effect<'a> {
                match *self {
                    $(Instruction::$opcode $({ $($field),+ })? => {
                        $($(let $field = effect_operand!($kind, $field, factor, end);)+)?
                        $effect
                    })*
                }
            }

            /// Calls `each` with every unsigned operand.
            #[inline]
            pub(crate) fn each_number(&self, mut each: impl FnMut(CfaOperand, u64)) {
                match *self {
                    $(Instruction::$opcode $({ $($field),+ })? => {
                        $($(number_operand!($kind, $field, each);)+)?
                    })*
                }
            }

            #[inline(always)]
            fn read(cursor: &mut Cursor<'a>, address_size: u8) -> Result<Instruction<'a>> {
                let byte = cursor.u8()?;
                let (code, low) = if byte & 0xc0 == 0 { (byte, 0) } else { (byte & 0xc0, u64::from(byte & 0x3f)) };
                let _ = low;
                Ok(match code {
                    $($code => Instruction::$opcode $({ $($field: read_operand!($kind, cursor, low, address_size)),+ })?,)*
                    _ => return Err(ErrorKind::UnknownOperation { opcode: byte, user: None }.into()),
                })
            }
        }
    };
}

#[rustfmt::skip]
instructions! {
    // opcode               name                             code  operands                                                     source                      effect
    AdvanceLoc              "DW_CFA_advance_loc"             0x40  (delta: SmallDelta)                                          "DWARF 5 §6.4.2.1"       => Effect::Advance(delta);
    Offset                  "DW_CFA_offset"                  0x80  (register: SmallRegister, offset: Factored)                  "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::Offset(offset));
    Restore                 "DW_CFA_restore"                 0xc0  (register: SmallRegister)                                    "HET A.6.4.2.3"          => Effect::RestoreRule(register);
    Nop                     "DW_CFA_nop"                     0x00                                                               "DWARF 5 §6.4.2.5"       => Effect::Nothing;
    SetLoc                  "DW_CFA_set_loc"                 0x01  (address: Address)                                           "DWARF 5 §6.4.2.1"       => Effect::SetLocation(address);
    AdvanceLoc1             "DW_CFA_advance_loc1"            0x02  (delta: Delta1)                                              "DWARF 5 §6.4.2.1"       => Effect::Advance(delta);
    AdvanceLoc2             "DW_CFA_advance_loc2"            0x03  (delta: Delta2)                                              "DWARF 5 §6.4.2.1"       => Effect::Advance(delta);
    AdvanceLoc4             "DW_CFA_advance_loc4"            0x04  (delta: Delta4)                                              "DWARF 5 §6.4.2.1"       => Effect::Advance(delta);
    OffsetExtended          "DW_CFA_offset_extended"         0x05  (register: Register, offset: Factored)                       "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::Offset(offset));
    RestoreExtended         "DW_CFA_restore_extended"        0x06  (register: Register)                                         "HET A.6.4.2.3"          => Effect::RestoreRule(register);
    Undefined               "DW_CFA_undefined"               0x07  (register: Register)                                         "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::Undefined);
    SameValue               "DW_CFA_same_value"              0x08  (register: Register)                                         "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::SameValue);
    Register                "DW_CFA_register"                0x09  (register: Register, saved_in: Register)                     "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::Register(saved_in));
    RememberState           "DW_CFA_remember_state"          0x0a                                                               "DWARF 5 §6.4.2.4"       => Effect::RememberState;
    RestoreState            "DW_CFA_restore_state"           0x0b                                                               "DWARF 5 §6.4.2.4"       => Effect::RestoreState;
    DefCfa                  "DW_CFA_def_cfa"                 0x0c  (register: Register, offset: Offset)                         "HET A.6.4.2.2"          => cfa(register, offset);
    DefCfaRegister          "DW_CFA_def_cfa_register"        0x0d  (register: Register)                                         "HET A.6.4.2.2"          => Effect::CfaRegister(register);
    DefCfaOffset            "DW_CFA_def_cfa_offset"          0x0e  (offset: Offset)                                             "HET A.6.4.2.2"          => Effect::CfaOffset(offset);
    DefCfaExpression        "DW_CFA_def_cfa_expression"      0x0f  (expression: Expression)                                     "HET A.6.4.2.2"          => Effect::CfaExpression(expression);
    Expression              "DW_CFA_expression"              0x10  (register: Register, expression: Expression)                 "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::Expression(expression));
    OffsetExtendedSf        "DW_CFA_offset_extended_sf"      0x11  (register: Register, offset: SignedFactored)                 "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::Offset(offset));
    DefCfaSf                "DW_CFA_def_cfa_sf"              0x12  (register: Register, offset: SignedFactored)                 "HET A.6.4.2.2"          => cfa(register, offset);
    DefCfaOffsetSf          "DW_CFA_def_cfa_offset_sf"       0x13  (offset: SignedFactored)                                     "HET A.6.4.2.2"          => Effect::CfaOffset(offset);
    ValOffset               "DW_CFA_val_offset"              0x14  (register: Register, offset: Factored)                       "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::ValOffset(offset));
    ValOffsetSf             "DW_CFA_val_offset_sf"           0x15  (register: Register, offset: SignedFactored)                 "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::ValOffset(offset));
    ValExpression           "DW_CFA_val_expression"          0x16  (register: Register, expression: Expression)                 "HET A.6.4.2.3"          => Effect::Rule(register, RegisterRule::ValExpression(expression));
    GnuArgsSize             "DW_CFA_GNU_args_size"           0x2e  (size: Offset)                                               "LSB Core, \"DWARF Extensions\"" => Effect::Nothing;
    GnuNegativeOffsetExtended "DW_CFA_GNU_negative_offset_extended" 0x2f (register: Register, offset: Factored)                 "LSB Core, \"DWARF Extensions\"" => Effect::Rule(register, RegisterRule::Offset(offset.wrapping_neg()));
    LlvmDefAspaceCfa        "DW_CFA_LLVM_def_aspace_cfa"     0x30  (register: Register, offset: Offset, space: Space)           "HET A.6.4.2.2"          => cfa_in(register, offset, space);
    LlvmDefAspaceCfaSf      "DW_CFA_LLVM_def_aspace_cfa_sf"  0x31  (register: Register, offset: SignedFactored, space: Space)   "HET A.6.4.2.2"          => cfa_in(register, offset, space);
}

impl Instruction<'_> {
    /// Appends the instruction's bytes to `out`; the inverse of reading. LEB128 numbers get the shortest form. If it fails, `out` is unchanged.
    ///
    /// * `address_size`: the size of the operand of `DW_CFA_set_loc`, in bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] if an operand does not fit its encoding, such as a register of 64 or more in `DW_CFA_offset`. The caller must choose
    /// another instruction.
    pub fn encode(&self, address_size: u8, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.push(self.code());
        for (kind, value) in self.operands() {
            if write_operand(kind, value, start, address_size, out).is_none() {
                out.truncate(start);
                return Err(ErrorKind::Syntax {
                    expected: format!("an operand that fits {}", self.name()),
                    found: "one that is too large".into(),
                }
                .into());
            }
        }
        Ok(())
    }
}

/// Appends one operand; the inverse of `read_operand!`. Returns `None` if it does not fit.
///
/// * `code_at`: the position of the instruction's code, whose low six bits may hold the operand.
fn write_operand(
    kind: CfaOperand,
    value: OperandValue<'_>,
    code_at: usize,
    address_size: u8,
    out: &mut Vec<u8>,
) -> Option<()> {
    match kind {
        CfaOperand::SmallDelta | CfaOperand::SmallRegister => {
            let low = u8::try_from(value).ok().filter(|low| *low < 0x40)?;
            *out.get_mut(code_at)? |= low;
        }
        CfaOperand::Delta1 => out.push(value.try_into().ok()?),
        CfaOperand::Delta2 => out.extend(u16::try_from(value).ok()?.to_le_bytes()),
        CfaOperand::Delta4 => out.extend(u32::try_from(value).ok()?.to_le_bytes()),
        CfaOperand::Delta8 => out.extend(u64::try_from(value).ok()?.to_le_bytes()),
        CfaOperand::Address => write_sized(value.try_into().ok()?, address_size, out)?,
        CfaOperand::Register | CfaOperand::Offset | CfaOperand::Factored | CfaOperand::Space => {
            write_uleb(value.try_into().ok()?, out);
        }
        CfaOperand::SignedFactored => write_sleb(value.try_into().ok()?, out),
        CfaOperand::Expression => {
            let bytes = <&[u8]>::try_from(value).ok()?;
            write_uleb(bytes.len() as u64, out);
            out.extend(bytes);
        }
    }
    Some(())
}

/// An instruction with its position.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionItem<'a> {
    /// The offset of its first byte in the section.
    pub offset: u64,
    /// The offset of the first byte after it.
    pub end: u64,
    /// The instruction.
    pub instruction: Instruction<'a>,
}

impl<'a> InstructionItem<'a> {
    /// Returns the effect on the current row.
    ///
    /// * `factor`: the data alignment factor of its CIE.
    #[inline(always)]
    pub(crate) fn effect(&self, factor: i64) -> Effect<'a> {
        self.instruction.effect(factor, self.end)
    }
}

/// The instructions of an entry, in order. It ends with the first error and stays ended.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    cursor: Cursor<'a>,
    start: u64,
    address_size: u8,
    section: &'static str,
}

impl<'a> Instructions<'a> {
    /// Creates the instructions in `bytes`, which start at `start` in `section`.
    #[must_use]
    pub fn new(
        bytes: &'a [u8],
        start: u64,
        address_size: u8,
        section: &'static str,
    ) -> Instructions<'a> {
        Instructions {
            cursor: Cursor::new(bytes),
            start,
            address_size,
            section,
        }
    }

    /// Returns the name of the section for errors.
    pub(super) fn section(&self) -> &'static str {
        self.section
    }
}

impl<'a> FallibleIterator for Instructions<'a> {
    type Item = InstructionItem<'a>;
    type Error = Error;

    // If inlined into the execution loop, the result need not be passed through memory.
    #[inline(always)]
    fn next(&mut self) -> Result<Option<InstructionItem<'a>>> {
        if self.cursor.is_empty() {
            return Ok(None);
        }
        let offset = self.start.saturating_add(self.cursor.position() as u64);
        match Instruction::read(&mut self.cursor, self.address_size) {
            Ok(instruction) => Ok(Some(InstructionItem {
                offset,
                end: self.start.saturating_add(self.cursor.position() as u64),
                instruction,
            })),
            Err(error) => {
                self.cursor = Cursor::new(&[]);
                Err(error.within(self.section, offset))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_have_their_offsets_in_bytes() {
        use Instruction as I;
        use RegisterRule::{Offset, SameValue, Undefined, ValOffset};
        let (register, space) = (7, 5);
        let rule = |rule| Effect::Rule(7, rule);
        let cfa = |offset, space| Effect::DefineCfa {
            register: 7,
            offset,
            space,
        };
        #[rustfmt::skip]
        let expected = [
            (I::Offset { register, offset: 2 }, rule(Offset(-16))),
            (I::OffsetExtended { register, offset: 2 }, rule(Offset(-16))),
            (I::OffsetExtendedSf { register, offset: -2 }, rule(Offset(16))),
            (I::GnuNegativeOffsetExtended { register, offset: 2 }, rule(Offset(16))),
            (I::ValOffset { register, offset: 2 }, rule(ValOffset(-16))),
            (I::ValOffsetSf { register, offset: -2 }, rule(ValOffset(16))),
            (I::Restore { register }, Effect::RestoreRule(7)),
            (I::RestoreExtended { register }, Effect::RestoreRule(7)),
            (I::DefCfa { register, offset: 2 }, cfa(2, 0)),
            (I::DefCfaSf { register, offset: -2 }, cfa(16, 0)),
            (I::DefCfaOffset { offset: 2 }, Effect::CfaOffset(2)),
            (I::DefCfaOffsetSf { offset: -2 }, Effect::CfaOffset(16)),
            (I::LlvmDefAspaceCfa { register, offset: 2, space }, cfa(2, 5)),
            (I::LlvmDefAspaceCfaSf { register, offset: -2, space }, cfa(16, 5)),
            (I::DefCfaRegister { register }, Effect::CfaRegister(7)),
            (I::Undefined { register }, rule(Undefined)),
            (I::SameValue { register }, rule(SameValue)),
            (I::Register { register, saved_in: 9 }, rule(RegisterRule::Register(9))),
            (I::RememberState, Effect::RememberState),
            (I::RestoreState, Effect::RestoreState),
            (I::AdvanceLoc { delta: 3 }, Effect::Advance(3)),
            (I::AdvanceLoc1 { delta: 3 }, Effect::Advance(3)),
            (I::AdvanceLoc2 { delta: 3 }, Effect::Advance(3)),
            (I::AdvanceLoc4 { delta: 3 }, Effect::Advance(3)),
            (I::SetLoc { address: 0x40 }, Effect::SetLocation(0x40)),
            (I::Nop, Effect::Nothing),
            (I::GnuArgsSize { size: 8 }, Effect::Nothing),
        ];
        for (instruction, effect) in &expected {
            assert_eq!(instruction.effect(-8, 0), *effect, "{}", instruction.name());
        }
        // Instructions with an expression are read from a section below. The effect of a new instruction must be added here.
        let named = |row: &&CfaRow| !expected.iter().any(|(named, _)| named.name() == row.name);
        let others: Vec<_> = CFA_ROWS.iter().filter(named).map(|row| row.name).collect();
        let with_expression = [
            "DW_CFA_def_cfa_expression",
            "DW_CFA_expression",
            "DW_CFA_val_expression",
        ];
        assert_eq!(others, with_expression);
    }

    /// The start of an expression is computed backwards from the end.
    #[test]
    fn an_expression_ends_where_its_instruction_does() {
        for row in CFA_ROWS {
            let before_last = row.operands.iter().rev().skip(1);
            let mut expressions = before_last.filter(|kind| **kind == CfaOperand::Expression);
            assert_eq!(expressions.next(), None, "{}", row.name);
        }
    }

    #[test]
    fn an_expression_of_a_rule_is_where_the_section_has_it() {
        // nop; def_cfa_expression of 2 bytes; expression of register 17, of 3 bytes; val_expression of register 2600, of 1 byte
        let section = [
            0xff, 0xff, 0x00, 0x0f, 2, 0x30, 0x31, 0x10, 17, 3, 0x32, 0x33, 0x34, 0x16, 0xa8, 0x14,
            1, 0x35,
        ];
        let mut items = Instructions::new(&section[2..], 2, 8, ".debug_frame");
        let mut found = Vec::new();
        while let Some(item) = items.next().unwrap() {
            let effect = item.effect(4);
            if let Effect::CfaExpression(expression)
            | Effect::Rule(
                _,
                RegisterRule::Expression(expression) | RegisterRule::ValExpression(expression),
            ) = effect
            {
                found.push(expression);
            } else {
                assert_eq!(effect, Effect::Nothing);
            }
        }
        let offsets: Vec<u64> = found.iter().map(|expression| expression.offset).collect();
        assert_eq!(offsets, [5, 10, 17]);
        for expression in found {
            let at = expression.offset as usize;
            assert_eq!(section[at..][..expression.bytes.len()], *expression.bytes);
        }
    }
}
