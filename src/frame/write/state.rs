//! What the rows so far say, as far as later instructions depend on it.

use super::place::Base;
use crate::arch::Register;
use crate::error::{Error, Result, SpecRule};
use crate::frame::instruction::Effect;
use crate::limits::too_many;

/// The rule of the CFA, without the bytes of its expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Cfa {
    /// It was not said.
    #[default]
    None,
    /// A register plus an offset in bytes, in a space.
    Register {
        register: u64,
        offset: i64,
        space: u64,
    },
    /// An expression.
    Expression,
}

/// What `DW_CFA_remember_state` remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) cfa: Cfa,
    /// What the CFA is counted from, where an event said so.
    pub(super) base: Option<Base>,
    /// The stack pointer whose rule follows the CFA's.
    pub(super) stack_pointer: Option<Register>,
}

/// The state, and those that were remembered.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    pub(super) now: State,
    remembered: Vec<State>,
}

impl States {
    pub(super) fn new(start: &State) -> States {
        States {
            now: start.clone(),
            remembered: Vec::new(),
        }
    }

    /// Follows an instruction.
    ///
    /// # Errors
    /// If it needs what the state does not have; nothing has changed then.
    pub(super) fn follow(&mut self, effect: Effect<'_>) -> Result<()> {
        let (register, offset, space) = match effect {
            Effect::RememberState => return self.remember(),
            Effect::RestoreState => return self.restore(),
            Effect::DefineCfa {
                register,
                offset,
                space,
            } => (register, offset, space),
            Effect::CfaRegister(register) => {
                let (_, offset, space) = self.cfa_register()?;
                (register, offset, space)
            }
            Effect::CfaOffset(offset) => {
                let (register, _, space) = self.cfa_register()?;
                (register, offset, space)
            }
            Effect::CfaExpression(_) => {
                self.set_cfa(Cfa::Expression);
                return Ok(());
            }
            Effect::Nothing
            | Effect::Advance(_)
            | Effect::SetLocation(_)
            | Effect::Rule(..)
            | Effect::RestoreRule(_) => return Ok(()),
        };
        self.set_cfa(Cfa::Register {
            register,
            offset,
            space,
        });
        Ok(())
    }

    fn set_cfa(&mut self, cfa: Cfa) {
        self.now.cfa = cfa;
        self.now.base = None;
    }

    /// Register, offset and address space of the CFA, for the instructions that change one of them.
    fn cfa_register(&self) -> Result<(u64, i64, u64)> {
        match self.now.cfa {
            Cfa::Register {
                register,
                offset,
                space,
            } => Ok((register, offset, space)),
            Cfa::None | Cfa::Expression => Err(SpecRule::CfaRule.into()),
        }
    }

    fn restore(&mut self) -> Result<()> {
        let saved = self
            .remembered
            .pop()
            .ok_or_else(|| Error::malformed("DW_CFA_restore_state", "nothing was remembered"))?;
        self.now = saved;
        Ok(())
    }

    fn remember(&mut self) -> Result<()> {
        /// What our own reader takes.
        const DEPTH: usize = 64;
        if self.remembered.len() >= DEPTH {
            return Err(too_many("rows that are remembered", DEPTH as u64));
        }
        self.remembered.push(self.now.clone());
        Ok(())
    }
}
