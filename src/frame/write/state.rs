//! Tracks the state of the rows on which later instructions depend.

use super::place::Base;
use crate::arch::Register;
use crate::error::{Error, Result};
use crate::frame::instruction::Effect;
use crate::frame::row::REMEMBERED;
use crate::frame::rule::CfaRule;
use crate::limits::too_many;

/// The state that `DW_CFA_remember_state` saves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// `None` also if it is an expression: no instruction changes a part of either.
    pub(super) cfa: CfaRule<'static>,
    /// The base of the CFA, if an event set it.
    pub(super) base: Option<Base>,
    /// The stack pointer whose rule follows the CFA's.
    pub(super) stack_pointer: Option<Register>,
}

/// The state, and the remembered ones.
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

    /// Applies an instruction.
    ///
    /// # Errors
    /// If the state lacks something that the instruction needs. The state is unchanged then.
    pub(super) fn follow(&mut self, effect: Effect<'_>) -> Result<()> {
        if effect == Effect::RememberState {
            return self.remember();
        }
        if effect == Effect::RestoreState {
            return self.restore();
        }
        let mut cfa: CfaRule<'_> = self.now.cfa;
        if cfa.apply(effect)? {
            self.now.base = None;
            self.now.cfa = match cfa {
                CfaRule::Register {
                    register,
                    offset,
                    space,
                } => CfaRule::Register {
                    register,
                    offset,
                    space,
                },
                CfaRule::None | CfaRule::Expression(_) => CfaRule::None,
            };
        }
        Ok(())
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
        if self.remembered.len() >= REMEMBERED {
            return Err(too_many("rows that are remembered", REMEMBERED as u64));
        }
        self.remembered.push(self.now.clone());
        Ok(())
    }
}
