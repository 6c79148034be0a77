//! What shows a contradiction: instructions, and directives, which are made by [`frame::write`](crate::frame::write).

use crate::expr::Dialect;
use crate::frame::write::{Assembler, Common, FrameTable, FunctionFrame, Start, Target};
use crate::untrusted::Untrusted;

/// The evidence that a row contradicts the code.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Evidence {
    /// The instruction that caused it, with some before and after.
    pub code: Vec<CodeLine>,
    /// What the row says, of this finding and of the others of its cause in the function: the rules that are at fault, as the
    /// directives that would give them.
    pub row: Vec<PlacedDirective>,
    /// The directives that give the correct rules, for the same findings.
    pub directives: Vec<PlacedDirective>,
    /// The source line of the finding's address, where the line table carries the text.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub source: Option<Untrusted<'static>>,
}

/// An instruction.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CodeLine {
    /// Its address in the code object.
    #[cfg_attr(feature = "serde", serde(with = "crate::hex"))]
    pub pc: u64,
    /// Mnemonic and operands, as LLVM 22 prints them.
    pub text: String,
    /// True if it is the cause.
    pub is_cause: bool,
}

/// A directive of the assembler, and where it belongs.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlacedDirective {
    /// The address of the instruction that it stands before, or that the row is for.
    #[cfg_attr(feature = "serde", serde(with = "crate::hex"))]
    pub pc: u64,
    /// What the assembler reads: `.cfi_…` where the assembler of the selection knows it, else `.cfi_escape`; empty where a row has no rule.
    pub text: String,
    /// Its meaning.
    pub meaning: String,
}

/// Returns a function that stands for the instruction before which something is said.
pub(super) fn instruction_at(target: Target, dialect: Dialect) -> Option<FunctionFrame> {
    let common = Common::new().with_dialect(dialect);
    FunctionFrame::new(target, &common, Start::symbol("f"), 4).ok()
}

/// Returns the directives at an address.
pub(super) fn directives(
    frame: FunctionFrame,
    pc: u64,
    assembler: Assembler,
) -> Option<Vec<PlacedDirective>> {
    let mut table = FrameTable::new();
    table.add(frame);
    let functions = table.directives_for(assembler).ok()?;
    let blocks = functions.into_iter().flat_map(|function| function.blocks);
    let all = blocks.flat_map(|block| block.directives);
    let all = all.map(|directive| PlacedDirective {
        pc,
        text: directive.text,
        meaning: directive.meaning,
    });
    Some(all.collect())
}
