//! Writes the rules of rows as instructions. Source: HET A.6.4.2.2 and A.6.4.2.3.

use super::function::FunctionFrame;
use crate::arch::AddressSpace;
use crate::error::{ErrorKind, Result};
use crate::frame::instruction::{Instruction, SMALL_REGISTERS};
use crate::frame::rule::{CfaRule, RegisterRule};

impl FunctionFrame {
    /// Sets a register's rule with the shortest instruction.
    ///
    /// * `register`: its DWARF number.
    ///
    /// # Errors
    /// Fails like [`raw`](FunctionFrame::raw), or if an offset is not a multiple of the data alignment factor; [`ErrorKind::Unsupported`] for
    /// [`RegisterRule::Architectural`], for which there is no instruction.
    pub fn register_rule(
        &mut self,
        register: u64,
        rule: RegisterRule<'_>,
    ) -> Result<&mut FunctionFrame> {
        self.raw(match rule {
            RegisterRule::Undefined => Instruction::Undefined { register },
            RegisterRule::SameValue => Instruction::SameValue { register },
            RegisterRule::Register(saved_in) => Instruction::Register { register, saved_in },
            RegisterRule::Expression(expression) => Instruction::Expression {
                register,
                expression: expression.bytes,
            },
            RegisterRule::ValExpression(expression) => Instruction::ValExpression {
                register,
                expression: expression.bytes,
            },
            RegisterRule::Offset(bytes) => {
                let offset = self.common().factored(bytes)?;
                match u64::try_from(offset) {
                    Ok(offset) if register < SMALL_REGISTERS => {
                        Instruction::Offset { register, offset }
                    }
                    Ok(offset) => Instruction::OffsetExtended { register, offset },
                    Err(_) => Instruction::OffsetExtendedSf { register, offset },
                }
            }
            RegisterRule::ValOffset(bytes) => {
                let offset = self.common().factored(bytes)?;
                match u64::try_from(offset) {
                    Ok(offset) => Instruction::ValOffset { register, offset },
                    Err(_) => Instruction::ValOffsetSf { register, offset },
                }
            }
            RegisterRule::Architectural => {
                return Err(ErrorKind::Unsupported("the rule \"architectural\"").into());
            }
        })
    }

    /// Sets the CFA's rule. Writes nothing if there is none.
    ///
    /// # Errors
    /// Fails like [`raw`](FunctionFrame::raw), or if a negative offset is not a multiple of the data alignment factor.
    pub fn cfa_rule(&mut self, rule: CfaRule<'_>) -> Result<&mut FunctionFrame> {
        let none = u64::from(AddressSpace::None.number());
        match rule {
            CfaRule::None => Ok(self),
            CfaRule::Expression(expression) => self.raw(Instruction::DefCfaExpression {
                expression: expression.bytes,
            }),
            CfaRule::Register {
                register,
                offset,
                space,
            } => {
                let instruction = match (u64::try_from(offset), space == none) {
                    (Ok(offset), true) => Instruction::DefCfa { register, offset },
                    (Ok(offset), false) => Instruction::LlvmDefAspaceCfa {
                        register,
                        offset,
                        space,
                    },
                    (Err(_), true) => Instruction::DefCfaSf {
                        register,
                        offset: self.common().factored(offset)?,
                    },
                    (Err(_), false) => Instruction::LlvmDefAspaceCfaSf {
                        register,
                        offset: self.common().factored(offset)?,
                        space,
                    },
                };
                self.raw(instruction)
            }
        }
    }
}
