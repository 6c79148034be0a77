//! Writes call frame information as assembler directives: `.cfi_*` if the assembler writes the same bytes, else `.cfi_escape`, each followed by its
//! meaning.
//!
//! The directives are derived from the written instructions, so that no decision is made twice.

use core::fmt;
use std::sync::Arc;

use fallible_iterator::FallibleIterator;

use super::common::ADDRESS_SIZE;
use super::function::Start;
use super::readable::{Assembler, expression_directive};
use super::table::FrameTable;
use crate::error::{Error, ErrorKind, Result};
use crate::expr::{Encoding, RegisterStyle};
use crate::frame::entry::{Cie, FrameSection};
use crate::frame::instruction::{Instruction, Instructions, SMALL_REGISTERS};
use crate::frame::print::FramePrinter;

/// The directives of a function.
///
/// `Display` prints a complete listing for the assembler, with `.space` in place of the code. A back end puts the
/// [`blocks`](FunctionDirectives::blocks) between its own instructions instead.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDirectives {
    /// The symbol at the start of the function.
    pub symbol: String,
    /// The size of its code, in bytes.
    pub size: u64,
    /// The directives between the instructions, by ascending offset; the first at 0.
    pub blocks: Vec<DirectiveBlock>,
}

/// The directives at one place of the code.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectiveBlock {
    /// The place: bytes from the start of the function.
    pub offset: u64,
    /// A label for it, unique in the table.
    pub label: String,
    /// The directives.
    pub directives: Vec<Directive>,
}

/// A directive.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The directive in the assembler's syntax.
    pub text: String,
    /// The meaning, in the style of `llvm-dwarfdump`, but with the names of all registers.
    pub meaning: String,
}

impl FrameTable {
    /// Returns directives for LLVM 22's assembler, function by function; see [`FrameTable::directives_for`].
    ///
    /// # Errors
    /// Fails like [`FrameTable::directives_for`].
    pub fn directives(&self) -> Result<Vec<FunctionDirectives>> {
        self.directives_for(Assembler::Llvm22)
    }

    /// Returns directives for an assembler, function by function.
    ///
    /// The assembler writes the CIE itself. For 64-bit DWARF it needs an option (`-dwarf64`).
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if a function starts at an address
    /// or has an addend, if a symbol has control characters, or if its CIE is not the assembler's: an augmentation, initial instructions, other
    /// alignment factors.
    pub fn directives_for(&self, assembler: Assembler) -> Result<Vec<FunctionDirectives>> {
        let section = self.write()?;
        let unsupported = |what: &'static str| Err(ErrorKind::Unsupported(what).into());
        let reader = FrameSection::debug_frame(&section.bytes);
        let mut all = Vec::new();
        for (index, (function, fde)) in self.functions().iter().zip(&section.fdes).enumerate() {
            let Start::Symbol { name, addend: 0 } = &function.start else {
                return unsupported("directives for a function that does not start at a symbol");
            };
            if name.contains(char::is_control) {
                return unsupported("directives for a symbol with control characters");
            }
            if !function.common.is_the_assemblers() {
                return unsupported("directives for a CIE that the assembler does not generate");
            }
            let encoding = function.common.encoding();
            let lister = Lister {
                printer: FramePrinter::new(reader, RegisterStyle::Names, encoding.dialect),
                encoding,
                assembler,
                cie: reader.fde_at(*fde)?.cie,
                index,
            };
            all.push(FunctionDirectives {
                symbol: name.clone(),
                size: function.size,
                blocks: lister.blocks(&function.instructions)?,
            });
        }
        Ok(all)
    }
}

struct Lister<'a> {
    printer: FramePrinter<'a>,
    /// The encoding of its expressions.
    encoding: Encoding,
    assembler: Assembler,
    cie: Arc<Cie<'a>>,
    /// The number of the function in the table.
    index: usize,
}

impl<'a> Lister<'a> {
    fn block(&self, offset: u64) -> DirectiveBlock {
        DirectiveBlock {
            offset,
            label: format!(".Lcfi{}_{offset:x}", self.index),
            directives: Vec::new(),
        }
    }

    fn blocks(&self, bytes: &'a [u8]) -> Result<Vec<DirectiveBlock>> {
        let items = Instructions::new(bytes, 0, ADDRESS_SIZE, ".debug_frame");
        let items: Vec<_> = items.collect()?;
        let ends = items.iter().skip(1).map(|item| item.offset);
        let ends = ends.chain(Some(bytes.len() as u64));
        let mut address = Some(0);
        let mut block = self.block(0);
        let mut blocks = Vec::new();
        for (item, end) in items.iter().zip(ends) {
            let meaning = self
                .printer
                .instruction(&item.instruction, &self.cie, &mut address);
            let offset = address.unwrap_or_default();
            if offset != block.offset {
                blocks.push(core::mem::replace(&mut block, self.block(offset)));
                continue;
            }
            let range = usize::try_from(item.offset)
                .ok()
                .zip(usize::try_from(end).ok());
            let own = range.and_then(|(start, end)| bytes.get(start..end));
            let own = own.ok_or_else(|| Error::malformed("instruction", "it has no bytes"))?;
            let text = self.directive(&item.instruction, own)?;
            block.directives.push(Directive { text, meaning });
        }
        blocks.push(block);
        Ok(blocks)
    }

    fn directive(&self, instruction: &Instruction<'_>, bytes: &[u8]) -> Result<String> {
        let mut canonical = Vec::new();
        instruction.encode(ADDRESS_SIZE, &mut canonical)?;
        let named = match (self.assembler, instruction) {
            (
                Assembler::Llvm24,
                Instruction::Expression {
                    register,
                    expression,
                },
            ) => expression_directive(*register, expression, self.encoding),
            (Assembler::Llvm22 | Assembler::Llvm24, _) => {
                named_directive(instruction, self.cie.data_alignment_factor)
            }
        };
        // The assembler writes numbers in their shortest form.
        Ok(named
            .filter(|_| canonical == bytes)
            .unwrap_or_else(|| escape(bytes)))
    }
}

/// Returns the directive for which the assembler writes exactly these bytes.
fn named_directive(instruction: &Instruction<'_>, factor: i64) -> Option<String> {
    // The assembler's own numbers have 64 bits, which suffices for real code.
    let small = |offset: i64| i32::try_from(offset).ok();
    let plain = |offset: u64| offset.try_into().ok().and_then(small);
    let unfactored = |offset: u64| {
        let offset = i64::try_from(offset).ok()?;
        small(offset.checked_mul(factor)?)
    };
    // The assembler uses the signed form only for negative offsets.
    let negative = |offset: i64| {
        let bytes = small(offset.checked_mul(factor)?)?;
        (bytes < 0).then_some(bytes)
    };
    Some(match *instruction {
        Instruction::LlvmDefAspaceCfa {
            register,
            offset,
            space,
        } => {
            format!(
                ".cfi_llvm_def_aspace_cfa {register}, {}, {space}",
                plain(offset)?
            )
        }
        Instruction::DefCfa { register, offset } => {
            format!(".cfi_def_cfa {register}, {}", plain(offset)?)
        }
        Instruction::DefCfaRegister { register } => format!(".cfi_def_cfa_register {register}"),
        Instruction::DefCfaOffset { offset } => {
            format!(".cfi_def_cfa_offset {}", plain(offset)?)
        }
        Instruction::Offset { register, offset } => {
            format!(".cfi_offset {register}, {}", unfactored(offset)?)
        }
        Instruction::OffsetExtended { register, offset } if register >= SMALL_REGISTERS => {
            format!(".cfi_offset {register}, {}", unfactored(offset)?)
        }
        Instruction::OffsetExtendedSf { register, offset } => {
            format!(".cfi_offset {register}, {}", negative(offset)?)
        }
        Instruction::ValOffset { register, offset } => {
            format!(".cfi_val_offset {register}, {}", unfactored(offset)?)
        }
        Instruction::ValOffsetSf { register, offset } => {
            format!(".cfi_val_offset {register}, {}", negative(offset)?)
        }
        Instruction::Register { register, saved_in } => {
            format!(".cfi_register {register}, {saved_in}")
        }
        Instruction::Undefined { register } => format!(".cfi_undefined {register}"),
        Instruction::SameValue { register } => format!(".cfi_same_value {register}"),
        Instruction::Restore { register } => format!(".cfi_restore {register}"),
        Instruction::RestoreExtended { register } if register >= SMALL_REGISTERS => {
            format!(".cfi_restore {register}")
        }
        Instruction::RememberState => ".cfi_remember_state".to_owned(),
        Instruction::RestoreState => ".cfi_restore_state".to_owned(),
        // The assembler has no directive for these.
        Instruction::AdvanceLoc { .. }
        | Instruction::Nop
        | Instruction::SetLoc { .. }
        | Instruction::AdvanceLoc1 { .. }
        | Instruction::AdvanceLoc2 { .. }
        | Instruction::AdvanceLoc4 { .. }
        | Instruction::OffsetExtended { .. }
        | Instruction::RestoreExtended { .. }
        | Instruction::DefCfaExpression { .. }
        | Instruction::Expression { .. }
        | Instruction::DefCfaSf { .. }
        | Instruction::DefCfaOffsetSf { .. }
        | Instruction::ValExpression { .. }
        | Instruction::GnuArgsSize { .. }
        | Instruction::GnuNegativeOffsetExtended { .. }
        | Instruction::LlvmDefAspaceCfaSf { .. } => return None,
    })
}

fn escape(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
    format!(".cfi_escape {}", bytes.join(", "))
}

/// Returns a symbol in the assembler's syntax.
fn quoted(symbol: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
    let starts_well = !symbol.starts_with(|first: char| first.is_ascii_digit());
    if !symbol.is_empty() && starts_well && symbol.bytes().all(plain) {
        return symbol.to_owned();
    }
    format!("\"{}\"", symbol.replace('\\', "\\\\").replace('"', "\\\""))
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\t{:<40} ; {}", self.text, self.meaning)
    }
}

/// Prints the label, and the directives.
impl fmt::Display for DirectiveBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:", self.label)?;
        self.directives
            .iter()
            .try_for_each(|directive| writeln!(f, "{directive}"))
    }
}

/// Prints a complete listing for the assembler.
impl fmt::Display for FunctionDirectives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbol = quoted(&self.symbol);
        writeln!(
            f,
            "\t.text\n\t.cfi_sections .debug_frame\n\t.globl {symbol}"
        )?;
        writeln!(
            f,
            "\t.p2align 8\n\t.type {symbol},@function\n{symbol}:\n\t.cfi_startproc"
        )?;
        let ends = self.blocks.iter().skip(1).map(|block| block.offset);
        for (block, end) in self.blocks.iter().zip(ends.chain(Some(self.size))) {
            write!(f, "{block}")?;
            let code = end.saturating_sub(block.offset);
            writeln!(
                f,
                "\t.space {code} ; the code from {:#x} to {end:#x}",
                block.offset
            )?;
        }
        writeln!(f, "\t.cfi_endproc\n\t.size {symbol}, {:#x}", self.size)
    }
}
