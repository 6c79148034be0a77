//! Holds the evidence of a contradiction: instructions and directives. [`frame::write`](crate::frame::write) writes the directives.

use crate::expr::Dialect;
use crate::frame::write::{Assembler, Common, FrameTable, FunctionFrame, Start, Target};

/// The evidence that a row contradicts the code.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Evidence {
    /// The causing instruction, with some instructions before and after it.
    pub code: Vec<CodeLine>,
    /// The wrong rules of the row, as the directives that would produce them. Includes the rules of other findings with the same cause in the
    /// function.
    pub row: Vec<PlacedDirective>,
    /// The directives of the correct rules, for the same findings.
    pub directives: Vec<PlacedDirective>,
}

/// An instruction.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CodeLine {
    /// The address in the code object.
    #[cfg_attr(feature = "serde", serde(with = "crate::hex"))]
    pub pc: u64,
    /// The mnemonic and the operands, as LLVM 22 prints them.
    pub text: String,
    /// True if this instruction is the cause.
    pub is_cause: bool,
}

/// An assembler directive with its place.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlacedDirective {
    /// The address of the instruction after the directive, or the address of the row.
    #[cfg_attr(feature = "serde", serde(with = "crate::hex"))]
    pub pc: u64,
    /// The text for the assembler: a `.cfi_…` directive that the selected assembler supports, or otherwise `.cfi_escape`. Empty if a row has no rule.
    pub text: String,
    /// The meaning of the directive.
    pub meaning: String,
}

/// Returns a function that contains only the instruction at which directives are written.
pub(super) fn instruction_at(target: Target, dialect: Dialect) -> Option<FunctionFrame> {
    let common = Common::new().with_dialect(dialect);
    FunctionFrame::new(target, &common, Start::symbol("f"), 4).ok()
}

/// Returns the directives of a frame, for an address.
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
