//! Replaces rules that contradict the machine code.

use std::sync::Arc;

use super::super::entry::{Cie, FrameSection};
use super::super::index::{FrameIndex, KnownRow};
use super::super::rule::CfaRule;
use crate::arch::Register;
use crate::error::{Error, Result};
use crate::location::Arena;

/// The wrong rules of a row, and the rules that replace them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Correction {
    /// The instructions that set the correct rules, with the alignment factors of the row's CIE.
    pub(crate) instructions: Vec<u8>,
    /// The registers that have no rule and are overwritten, so that the caller's values are lost; sorted.
    pub(crate) lost: Vec<LostRegister>,
    /// The wrong rules, without the registers in `lost`.
    pub(crate) rules: Vec<CorrectedRule>,
    /// True if the CFA is wrong, and the correct one was not found.
    pub(crate) without_cfa: bool,
    /// The error of the return address, if it is wrong and the correct one was not found.
    pub(crate) without_caller: Option<Error>,
}

/// A register that has no rule and is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LostRegister {
    /// Its DWARF number.
    pub(crate) number: u64,
    /// The lanes that still have the caller's values.
    pub(crate) left: LanesLeft,
}

/// The lanes of an overwritten register that still have the caller's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LanesLeft {
    /// None, or the register is scalar.
    None,
    /// The lanes that are active in the caller.
    Active,
    /// The lanes that are not active in the caller.
    Inactive,
}

/// The rules for code without call frame information, derived from the machine code.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    /// A `.debug_frame` with the rules that hold on entry to the function.
    pub(crate) section: Vec<u8>,
    /// The changes of these rules since the entry.
    pub(crate) changes: Arc<Correction>,
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

    /// Returns the rules that the machine code shows at an address of the code object, for code without call frame information. Returns `None` if
    /// they are not known.
    ///
    /// # Errors
    /// If a limit is reached.
    fn derived(&self, address: u64) -> Result<Option<Arc<Derived>>>;

    /// Returns true if the frame at a level may return to an address of the code object: there is a call before it, and no other return address
    /// of the frame is known.
    ///
    /// # Errors
    /// If a limit is reached.
    fn returns_to(&self, level: usize, address: u64) -> Result<bool>;

    /// Returns EXEC in a caller at its call. Returns `None` if it is not known.
    ///
    /// * `level`: of the caller, at least 1.
    ///
    /// # Errors
    /// If a limit is reached.
    fn exec(&self, level: usize) -> Result<Option<CallerExec>>;
}

/// EXEC in a caller, at its call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerExec {
    /// The mask of lanes.
    pub(crate) mask: u64,
    /// The return address in the code object, if the caller had to be found.
    pub(crate) return_address: Option<u64>,
}

impl Derived {
    /// Returns the row at an address.
    ///
    /// # Errors
    /// If a rule is wrong.
    pub(super) fn row<'a>(
        &self,
        address: u64,
        arena: &'a Arena<'a>,
    ) -> Result<Option<Arc<KnownRow<'a>>>> {
        let section = FrameSection::debug_frame(arena.keep(&self.section));
        let Some((fde, row)) = FrameIndex::new(section).row_at(address, None)? else {
            return Ok(None);
        };
        let on_entry = KnownRow { cie: fde.cie, row };
        let changed = self.changes.apply(&on_entry, section.name(), arena)?;
        Ok(Some(Arc::new(changed.unwrap_or(on_entry))))
    }
}

impl Correction {
    /// Returns the lanes of a lost register that still have the caller's values. Returns `None` if the register is not lost.
    pub(super) fn lanes_left(&self, register: Register) -> Option<LanesLeft> {
        let number = register.number().into();
        let at = (self.lost).binary_search_by_key(&number, |lost| lost.number);
        self.lost.get(at.ok()?).map(|lost| lost.left)
    }

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
