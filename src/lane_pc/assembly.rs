//! Prints lane program locations for an assembler: a DWARF 5 unit of its own, with comments.

use core::fmt::Write;
use core::ops::Range;

use super::gimli_unit::{code, mask_bytes};
use super::program::{Operand, Procedure, Program};
use super::region::Label;
use crate::arch::WaveSize;
use crate::debug_info::attribute::Extension;
use crate::expr::{Encoding, Printer, operations};
use fallible_iterator::FallibleIterator;

/// A function in a unit of assembler text.
///
/// It is exhaustive on purpose: back ends write it as a literal.
#[derive(Clone, Debug)]
pub struct AssemblyFunction<'p> {
    /// The name in the source.
    pub name: &'p str,
    /// The symbol at its first instruction.
    pub start: &'p str,
    /// The symbol after its last instruction.
    pub end: &'p str,
    /// The description of its lanes.
    pub program: &'p Program,
}

/// The abbreviations that are used, by their numbers in the text.
const ABBREVIATIONS: &str = "\
\t.uleb128 1, 0x11\t; DW_TAG_compile_unit
\t.byte 1
\t.uleb128 0x03, 0x08\t; DW_AT_name, string
\t.uleb128 0x73, 0x17\t; DW_AT_addr_base, sec_offset
\t.uleb128 0x8c, 0x17\t; DW_AT_loclists_base, sec_offset
\t.byte 0, 0
\t.uleb128 2, 0x24\t; DW_TAG_base_type
\t.byte 0
\t.uleb128 0x03, 0x08\t; DW_AT_name, string
\t.uleb128 0x3e, 0x0b\t; DW_AT_encoding, data1
\t.uleb128 0x0b, 0x0b\t; DW_AT_byte_size, data1
\t.byte 0, 0
\t.uleb128 3, 0x36\t; DW_TAG_dwarf_procedure
\t.byte 0
\t.uleb128 0x03, 0x08\t; DW_AT_name, string
\t.uleb128 0x02, 0x18\t; DW_AT_location, exprloc
\t.byte 0, 0
\t.uleb128 5, 0x34\t; DW_TAG_variable
\t.byte 0
\t.uleb128 0x03, 0x08\t; DW_AT_name, string
\t.uleb128 0x49, 0x13\t; DW_AT_type, ref4
\t.uleb128 0x34, 0x19\t; DW_AT_artificial, flag_present
\t.uleb128 0x02, 0x22\t; DW_AT_location, loclistx
\t.byte 0, 0
";

/// Returns a DWARF 5 unit with the lane program locations of some functions, as text for an assembler.
///
/// Labels that are offsets are written as distances from the function's symbol.
#[must_use]
pub fn assembly(unit_name: &str, functions: &[AssemblyFunction<'_>]) -> String {
    let mut writer = Writer {
        out: String::new(),
        addresses: Vec::new(),
        lists: Vec::new(),
        labels: 0,
    };
    // Writing to a string does not fail.
    let _ = writer.unit(unit_name, functions);
    writer.out
}

struct Writer {
    out: String,
    /// The entries of `.debug_addr`, as assembler expressions.
    addresses: Vec<String>,
    /// The location lists, with comments.
    lists: Vec<List>,
    /// The number of labels that were generated.
    labels: usize,
}

/// A location list: a comment, and ranges with the text of their expressions.
struct List {
    comment: String,
    entries: Vec<(String, String, String)>,
}

impl Writer {
    fn unit(&mut self, unit_name: &str, functions: &[AssemblyFunction<'_>]) -> core::fmt::Result {
        self.abbreviations()?;
        let out = &mut self.out;
        writeln!(out, "\t.section .debug_info,\"\",@progbits")?;
        writeln!(
            out,
            ".Llane_unit:\n\t.long .Llane_unit_end-.Llane_unit_start\n.Llane_unit_start:"
        )?;
        writeln!(
            out,
            "\t.short 5\n\t.byte 1, 8\t; DW_UT_compile, address size\n\t.long .Llane_abbrev"
        )?;
        writeln!(
            out,
            "\t.uleb128 1\t; DW_TAG_compile_unit\n\t.asciz \"{unit_name}\""
        )?;
        writeln!(
            out,
            "\t.long .Llane_addr_base\n\t.long .Llane_loclists_base"
        )?;
        let mut sizes: Vec<WaveSize> = functions
            .iter()
            .map(|function| function.program.wave_size)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        for size in sizes {
            let lanes = size.lanes();
            writeln!(
                out,
                ".Llane_mask{lanes}:\n\t.uleb128 2\t; DW_TAG_base_type\n\t.asciz \"__uint{lanes}\""
            )?;
            writeln!(
                out,
                "\t.byte 7, {}\t; DW_ATE_unsigned, bytes",
                mask_bytes(size)
            )?;
        }
        for (number, function) in functions.iter().enumerate() {
            self.function(number, function)?;
        }
        self.out
            .push_str("\t.byte 0\t; end of the unit's children\n.Llane_unit_end:\n");
        self.tables()
    }

    fn abbreviations(&mut self) -> core::fmt::Result {
        let out = &mut self.out;
        writeln!(
            out,
            "\t.section .debug_abbrev,\"\",@progbits\n.Llane_abbrev:"
        )?;
        out.push_str(ABBREVIATIONS);
        // With and without DW_AT_LLVM_active_lane.
        for (number, active) in [(4, false), (6, true)] {
            writeln!(
                out,
                "\t.uleb128 {number}, 0x2e\t; DW_TAG_subprogram\n\t.byte 1"
            )?;
            writeln!(out, "\t.uleb128 0x03, 0x08\t; DW_AT_name, string")?;
            writeln!(out, "\t.uleb128 0x11, 0x1b\t; DW_AT_low_pc, addrx")?;
            writeln!(out, "\t.uleb128 0x12, 0x06\t; DW_AT_high_pc, data4")?;
            writeln!(
                out,
                "\t.uleb128 {:#x}, 0x0b\t; DW_AT_LLVM_lanes, data1",
                code(Extension::Lanes).0
            )?;
            writeln!(
                out,
                "\t.uleb128 {:#x}, 0x22\t; DW_AT_LLVM_lane_pc, loclistx",
                code(Extension::LanePc).0
            )?;
            if active {
                writeln!(
                    out,
                    "\t.uleb128 {:#x}, 0x22\t; DW_AT_LLVM_active_lane, loclistx",
                    code(Extension::ActiveLane).0
                )?;
            }
            writeln!(out, "\t.byte 0, 0")?;
        }
        writeln!(out, "\t.byte 0")
    }

    fn function(&mut self, number: usize, function: &AssemblyFunction<'_>) -> core::fmt::Result {
        let program = function.program;
        for (index, procedure) in program.procedures.iter().enumerate() {
            self.procedure(number, index, procedure, function)?;
        }
        let low = self.address(function.start.to_owned());
        let lanes = program.wave_size.lanes();
        let abbreviation = if program.active_lane.is_some() { 6 } else { 4 };
        writeln!(
            self.out,
            "\t.uleb128 {abbreviation}\t; DW_TAG_subprogram\n\t.asciz \"{}\"",
            function.name
        )?;
        writeln!(
            self.out,
            "\t.uleb128 {low}\n\t.long {}-{}",
            function.end, function.start
        )?;
        writeln!(self.out, "\t.byte {lanes}\t; DW_AT_LLVM_lanes")?;
        let mut entries = Vec::new();
        for (range, operands) in &program.lane_pc {
            entries.push(self.entry(range, function, |writer| {
                writer.expression(number, operands, function)
            }));
        }
        let list = self.list(format!("DW_AT_LLVM_lane_pc of {}", function.name), entries);
        writeln!(self.out, "\t.uleb128 {list}\t; DW_AT_LLVM_lane_pc")?;
        if let Some(active) = &program.active_lane {
            let mut entries = Vec::new();
            for (range, bytes) in active {
                entries.push(self.entry(range, function, |_| plain(bytes)));
            }
            let list = self.list(
                format!("DW_AT_LLVM_active_lane of {}", function.name),
                entries,
            );
            writeln!(self.out, "\t.uleb128 {list}\t; DW_AT_LLVM_active_lane")?;
        }
        for (index, variable) in program.variables.iter().enumerate() {
            let mut entries = Vec::new();
            for (range, bytes) in &variable.locations {
                entries.push(self.entry(range, function, |_| plain(bytes)));
            }
            let list = self.list(variable.name.clone(), entries);
            writeln!(
                self.out,
                ".Llane_{number}_variable_{index}:\n\t.uleb128 5\t; DW_TAG_variable"
            )?;
            writeln!(
                self.out,
                "\t.asciz \"{}\"\n\t.long .Llane_mask{lanes}-.Llane_unit",
                variable.name
            )?;
            writeln!(self.out, "\t.uleb128 {list}\t; DW_AT_location")?;
        }
        writeln!(self.out, "\t.byte 0\t; end of the function's children")
    }

    fn procedure(
        &mut self,
        number: usize,
        index: usize,
        procedure: &Procedure,
        function: &AssemblyFunction<'_>,
    ) -> core::fmt::Result {
        let expression = self.expression(number, &procedure.expression, function);
        writeln!(
            self.out,
            ".Llane_{number}_procedure_{index}:\n\t.uleb128 3\t; DW_TAG_dwarf_procedure"
        )?;
        writeln!(self.out, "\t.asciz \"{}\"", procedure.name)?;
        let block = self.block(&expression);
        self.out.push_str(&block);
        Ok(())
    }

    /// Returns a block, preceded by its length.
    fn block(&mut self, expression: &str) -> String {
        self.labels += 1;
        let label = self.labels;
        format!(
            "\t.uleb128 .Llane_end{label}-.Llane_start{label}\n.Llane_start{label}:\n{expression}.Llane_end{label}:\n"
        )
    }

    fn entry(
        &mut self,
        range: &Range<Label>,
        function: &AssemblyFunction<'_>,
        expression: impl FnOnce(&mut Writer) -> String,
    ) -> (String, String, String) {
        let expression = expression(self);
        let block = self.block(&expression);
        (
            label_text(&range.start, function),
            label_text(&range.end, function),
            block,
        )
    }

    fn list(&mut self, comment: String, entries: Vec<(String, String, String)>) -> usize {
        self.lists.push(List { comment, entries });
        self.lists.len() - 1
    }

    fn address(&mut self, text: String) -> usize {
        if let Some(known) = self.addresses.iter().position(|known| *known == text) {
            return known;
        }
        self.addresses.push(text);
        self.addresses.len() - 1
    }

    fn expression(
        &mut self,
        number: usize,
        operands: &[Operand],
        function: &AssemblyFunction<'_>,
    ) -> String {
        let lanes = function.program.wave_size.lanes();
        let mut out = String::new();
        for operand in operands {
            let _ = match operand {
                Operand::Bytes(bytes) => {
                    out.push_str(&plain(bytes));
                    Ok(())
                }
                Operand::Call(index) => writeln!(
                    out,
                    "\t.byte 0x99\t; DW_OP_call4\n\t.long .Llane_{number}_procedure_{index}-.Llane_unit"
                ),
                Operand::Mask(index) => writeln!(
                    out,
                    "\t.byte 0x99\t; DW_OP_call4\n\t.long .Llane_{number}_variable_{index}-.Llane_unit"
                ),
                Operand::Address(label) => {
                    let text = label_text(label, function);
                    let index = self.address(text.clone());
                    writeln!(
                        out,
                        "\t.byte 0xa1\t; DW_OP_addrx {text}\n\t.uleb128 {index}"
                    )
                }
                Operand::RegisterMask(register) => {
                    let number = register.number();
                    writeln!(
                        out,
                        "\t.byte 0xa5\t; DW_OP_regval_type {register}\n\t.uleb128 {number}\n\t.uleb128 .Llane_mask{lanes}-.Llane_unit"
                    )
                }
                Operand::ReadMask => {
                    let size = mask_bytes(function.program.wave_size);
                    writeln!(
                        out,
                        "\t.byte 0x94, {size}\t; DW_OP_deref_size\n\t.byte 0xa8\t; DW_OP_convert\n\t.uleb128 .Llane_mask{lanes}-.Llane_unit"
                    )
                }
            };
        }
        out
    }

    /// Writes `.debug_loclists` and `.debug_addr`.
    fn tables(&mut self) -> core::fmt::Result {
        let out = &mut self.out;
        writeln!(out, "\t.section .debug_loclists,\"\",@progbits")?;
        writeln!(
            out,
            "\t.long .Llane_loclists_end-.Llane_loclists\n.Llane_loclists:\n\t.short 5\n\t.byte 8, 0"
        )?;
        writeln!(out, "\t.long {}\n.Llane_loclists_base:", self.lists.len())?;
        for index in 0..self.lists.len() {
            writeln!(out, "\t.long .Llane_list{index}-.Llane_loclists_base")?;
        }
        for (index, list) in self.lists.iter().enumerate() {
            writeln!(out, ".Llane_list{index}:\t; {}", list.comment)?;
            for (start, end, block) in &list.entries {
                writeln!(
                    out,
                    "\t.byte 7\t; DW_LLE_start_end\n\t.quad {start}\n\t.quad {end}\n{}",
                    block.trim_end()
                )?;
            }
            writeln!(out, "\t.byte 0\t; DW_LLE_end_of_list")?;
        }
        writeln!(
            out,
            ".Llane_loclists_end:\n\t.section .debug_addr,\"\",@progbits"
        )?;
        writeln!(
            out,
            "\t.long .Llane_addr_end-.Llane_addr\n.Llane_addr:\n\t.short 5\n\t.byte 8, 0\n.Llane_addr_base:"
        )?;
        for address in &self.addresses {
            writeln!(out, "\t.quad {address}")?;
        }
        writeln!(out, ".Llane_addr_end:")
    }
}

fn label_text(label: &Label, function: &AssemblyFunction<'_>) -> String {
    match label {
        Label::Symbol(name) => name.to_string(),
        Label::Offset(0) => function.start.to_owned(),
        Label::Offset(offset) => format!("{}+{offset:#x}", function.start),
    }
}

/// Prints operations without references, one per line, with comments.
fn plain(bytes: &[u8]) -> String {
    let printer = Printer::new(Encoding::AMDGPU);
    let mut out = String::new();
    let mut items = operations(bytes, Encoding::AMDGPU);
    while let Ok(Some(item)) = items.next() {
        let encoded: Vec<String> = bytes
            .get(item.offset..item.end)
            .unwrap_or_default()
            .iter()
            .map(|byte| format!("{byte:#04x}"))
            .collect();
        let _ = writeln!(
            out,
            "\t.byte {}\t; {}",
            encoded.join(", "),
            printer.item(&item)
        );
    }
    out
}
