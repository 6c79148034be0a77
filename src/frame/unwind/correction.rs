//! Replaces rules that contradict the machine code.

use std::sync::Arc;

use super::super::entry::Cie;
use super::super::index::KnownRow;
use super::super::rule::CfaRule;
use crate::error::{Error, Result};
use crate::location::Arena;

/// The wrong rules of a row, and the rules that replace them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Correction {
    /// The instructions that set the correct rules, with the alignment factors of the row's CIE.
    pub(crate) instructions: Vec<u8>,
    /// The sorted numbers of registers that have no rule and are overwritten, so that the caller's values are lost.
    pub(crate) lost: Vec<u64>,
    /// The wrong rules, without the registers in `lost`.
    pub(crate) rules: Vec<CorrectedRule>,
    /// True if the CFA is wrong, and the correct one was not found.
    pub(crate) without_cfa: bool,
    /// The error of the return address, if it is wrong and the correct one was not found.
    pub(crate) without_caller: Option<Error>,
}

/// A wrong rule of a frame's row, which was replaced according to the machine code. Source: HET A.6.4.1.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CorrectedRule {
    /// `cfa`, `pc` for the return address, or the name of a register of the caller.
    pub name: String,
    /// The wrong rule, the instruction that contradicts it, and the place of the value.
    pub message: String,
}

/// The facts that the machine code shows about a stopped wave.
pub(crate) trait Corrections: core::fmt::Debug {
    /// Returns the correction of the row that holds at an address of the code object. Returns `None` if no rule is known to be wrong.
    ///
    /// * `cie`: of the row.
    ///
    /// # Errors
    /// If a limit is reached.
    fn correction(&self, address: u64, cie: &Cie<'_>) -> Result<Option<Arc<Correction>>>;

    /// Returns EXEC in a caller at its call. Returns `None` if it is not known.
    ///
    /// * `level`: of the caller, at least 1.
    fn exec(&self, level: usize) -> Option<CallerExec>;
}

/// EXEC in a caller, at its call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerExec {
    /// The mask of lanes.
    pub(crate) mask: u64,
    /// The return address in the code object, if the caller had to be found.
    pub(crate) return_address: Option<u64>,
}

impl Correction {
    /// Returns the corrected row. Returns `None` if its own rules are right.
    ///
    /// # Errors
    /// If an instruction is wrong.
    pub(super) fn apply<'a>(
        &self,
        known: &KnownRow<'a>,
        section: &'static str,
        arena: &'a Arena<'a>,
    ) -> Result<Option<KnownRow<'a>>> {
        if self.instructions.is_empty() && !self.without_cfa {
            return Ok(None);
        }
        let instructions = arena.keep(&self.instructions);
        let mut row = known.row.extended(&known.cie, instructions, section)?;
        if self.without_cfa {
            row.cfa = CfaRule::None;
        }
        Ok(Some(KnownRow {
            cie: Arc::clone(&known.cie),
            row,
        }))
    }
}
