//! Which units are read as LLVM without the extensions means them, and how.

use core::cell::Cell;

use smallvec::SmallVec;

use super::program::Program;
use crate::arch::{Register, ScratchAddressing, WaveSize};
use crate::debug_info::{Function, UnitInfo};
use crate::error::Result;
use crate::eval::{
    BaseType, DieReference, ExpressionBytes, LegacyBase, LegacyFrame, LocationAttribute, Procedure,
    Resolver, Unit, rewrite_legacy,
};
use crate::expr::{Operation, operations};
use crate::location::Arena;
use fallible_iterator::FallibleIterator;

/// Whether a unit was written by LLVM, and does not say that it uses the extensions. LLVM's back end may
/// be told to leave its name out, so that an empty producer counts too.
pub(super) fn is_legacy_llvm(unit: &UnitInfo<'_>) -> bool {
    let producer = unit.producer.as_deref().unwrap_or_default();
    let llvm = producer.is_empty() || producer.contains("clang") || producer.contains("LLVM");
    llvm && unit.augmentation.is_none()
}

/// How a function reaches its stack.
pub(super) fn legacy_frame(
    program: &Program<'_>,
    function: &Function<'_>,
    wave_size: WaveSize,
) -> LegacyFrame {
    let base = match function.frame_base {
        Some(LocationAttribute::Expression(expression)) => {
            single_register(&expression).map_or(LegacyBase::Unknown, LegacyBase::Register)
        }
        Some(LocationAttribute::List { .. }) => LegacyBase::Unknown,
        None if program.is_kernel(function) => LegacyBase::Zero,
        None => LegacyBase::Unknown,
    };
    let buffer = program.processor().scratch_addressing() == Some(ScratchAddressing::Buffer);
    LegacyFrame {
        base,
        scaled_by: buffer.then_some(wave_size),
    }
}

/// The register that is all of an expression.
fn single_register(expression: &ExpressionBytes<'_>) -> Option<Register> {
    let mut items = operations(expression.bytes, expression.unit.encoding);
    let first = items.next().ok()??;
    if items.next().ok()?.is_some() {
        return None;
    }
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "two operations name a register"
    )]
    match first.operation {
        Operation::Reg { register } => Register::from_number(register.into()),
        Operation::Regx { register } => Register::from_number(register),
        _ => None,
    }
}

/// Gives expressions as they are meant, and everything else as it is.
pub(super) struct LegacyResolver<'r, 'a> {
    pub(super) inner: &'r dyn Resolver<'a>,
    pub(super) frame: LegacyFrame,
    pub(super) arena: &'a Arena<'a>,
    /// Whether any expression was a legacy one.
    pub(super) used: Cell<bool>,
}

impl<'a> LegacyResolver<'_, 'a> {
    /// The expression that is meant.
    pub(super) fn rewrite(&self, expression: ExpressionBytes<'a>) -> ExpressionBytes<'a> {
        // An expression that does not decode is left to the evaluation, which says why.
        match rewrite_legacy(expression.bytes, expression.unit.encoding, &self.frame) {
            Ok(Some(bytes)) => {
                self.used.set(true);
                ExpressionBytes {
                    bytes: self.arena.keep(bytes),
                    ..expression
                }
            }
            Ok(None) | Err(_) => expression,
        }
    }

    pub(super) fn attribute(&self, attribute: LocationAttribute<'a>) -> LocationAttribute<'a> {
        match attribute {
            LocationAttribute::Expression(expression) => {
                LocationAttribute::Expression(self.rewrite(expression))
            }
            LocationAttribute::List { .. } => attribute,
        }
    }
}

impl<'a> Resolver<'a> for LegacyResolver<'_, 'a> {
    fn procedure(&self, unit: Unit, die: DieReference) -> Result<Procedure<'a>> {
        self.inner.procedure(unit, die)
    }

    fn base_type(&self, unit: Unit, offset: u64) -> Result<BaseType> {
        self.inner.base_type(unit, offset)
    }

    fn address(&self, unit: Unit, index: u64) -> Result<u64> {
        self.inner.address(unit, index)
    }

    fn matching(
        &self,
        unit: Unit,
        offset: u64,
        pc: u64,
        spend: &mut dyn FnMut(u32) -> Result<()>,
    ) -> Result<SmallVec<[ExpressionBytes<'a>; 1]>> {
        let expressions = self.inner.matching(unit, offset, pc, spend)?;
        for expression in &expressions {
            // Rewriting is work like evaluating.
            spend(u32::try_from(expression.bytes.len() / 8).unwrap_or(u32::MAX))?;
        }
        Ok(expressions
            .into_iter()
            .map(|expression| self.rewrite(expression))
            .collect())
    }
}
