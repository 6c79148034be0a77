//! Prints the instructions of a line program with their rows, in the style of verbose dumps.
//!
//! gimli decodes and executes the instructions. Their offsets are counted here, since gimli does not return them. Source: DWARF 5 §6.2.5.

use std::io::{self, Write};

use gimli::{DwLns, LineInstruction, LineProgramHeader, LineRow};

use super::line_row::{COLUMNS, line as line_of, print_row};
use super::names::quoted;
use super::output::Output;
use crate::debug_info::{Bytes, LineHeader, next_instruction};
use crate::expr::Cursor;

/// The indentation of rows.
const INDENT: &str = "            ";

/// Prints the program of a header. Returns true if the program makes any row. The inner result is an error if the program is malformed.
///
/// * `end`: the end of the program in its section.
pub(super) fn print(
    header: &LineProgramHeader<Bytes<'_>>,
    end: usize,
    output: &mut Output<'_>,
) -> io::Result<(bool, gimli::Result<()>)> {
    let program = header.raw_program_buf();
    let program = program.slice();
    let start = end.saturating_sub(program.len());
    let mut cursor = Cursor::new(program);
    let mut instructions = header.instructions();
    let mut row = LineRow::new(header);
    let (mut text, mut any) = (String::new(), false);
    if !program.is_empty() {
        for line in COLUMNS.lines() {
            writeln!(output, "{INDENT}{line}")?;
        }
    }
    loop {
        let at = cursor.position();
        let instruction = match next_instruction(&mut instructions, header) {
            Ok(Some(instruction)) => instruction,
            Ok(None) => return Ok((any, Ok(()))),
            Err(error) => return Ok((any, Err(error))),
        };
        let code = program.get(at).copied().unwrap_or(0);
        let at = start.saturating_add(at);
        write!(output, "{at:#010x}: {code:02x} ")?;
        // gimli has decoded the instruction, so it can be skipped.
        let extended = pass(&mut cursor, header).unwrap_or_default();
        let before = (row.address(), row.op_index(), line_of(&row));
        let kept = instruction;
        let executed = row.execute(instruction, &mut LineHeader(header));
        let emits = match executed {
            Ok(emits) => emits,
            Err(error) => {
                writeln!(output)?;
                return Ok((any, Err(error)));
            }
        };
        let advance = (
            row.address().wrapping_sub(before.0),
            row.op_index().wrapping_sub(before.1),
        );
        if let LineInstruction::Special(_) = kept {
            let line = line_of(&row).wrapping_sub(before.2).cast_signed();
            let (address, index) = advance;
            write!(
                output,
                "address += {address},  line += {line},  op-index += {index}"
            )?;
        } else {
            describe(&kept, extended, advance, &row, output)?;
        }
        writeln!(output)?;
        if emits {
            output.write_all(INDENT.as_bytes())?;
            print_row(&row, &mut text, output)?;
            any = true;
            row.reset(header);
        }
    }
}

/// Skips an instruction, and returns the length of an extended one.
fn pass(cursor: &mut Cursor<'_>, header: &LineProgramHeader<Bytes<'_>>) -> crate::Result<u64> {
    let code = cursor.u8()?;
    if code == 0 {
        let length = cursor.uleb_truncated()?;
        cursor.bytes(length)?;
        return Ok(length);
    }
    if code >= header.opcode_base() {
        return Ok(0);
    }
    let operands = match DwLns(code) {
        gimli::DW_LNS_fixed_advance_pc => {
            cursor.u16()?;
            0
        }
        gimli::DW_LNS_advance_pc
        | gimli::DW_LNS_advance_line
        | gimli::DW_LNS_set_file
        | gimli::DW_LNS_set_column
        | gimli::DW_LNS_set_isa => 1,
        DwLns(13..) => {
            let lengths = header.standard_opcode_lengths().slice();
            let index = usize::from(code).saturating_sub(1);
            lengths.get(index).copied().unwrap_or(0)
        }
        _ => 0,
    };
    for _ in 0..operands {
        cursor.uleb_truncated()?;
    }
    Ok(0)
}

/// Prints an instruction with its effects.
///
/// * `extended`: the length of an extended instruction;
/// * `advance`: the change of the address and the index.
fn describe(
    instruction: &LineInstruction<Bytes<'_>>,
    extended: u64,
    (address, index): (u64, u64),
    row: &LineRow,
    output: &mut Output<'_>,
) -> io::Result<()> {
    use LineInstruction as I;
    let line = line_of(row);
    match instruction {
        I::Copy => write!(output, "DW_LNS_copy"),
        I::AdvancePc(_) => write!(
            output,
            "DW_LNS_advance_pc (addr += {address}, op-index += {index})"
        ),
        I::AdvanceLine(_) => write!(output, "DW_LNS_advance_line ({line})"),
        I::SetFile(file) => write!(output, "DW_LNS_set_file ({file})"),
        I::SetColumn(column) => write!(output, "DW_LNS_set_column ({column})"),
        I::NegateStatement => write!(output, "DW_LNS_negate_stmt"),
        I::SetBasicBlock => write!(output, "DW_LNS_set_basic_block"),
        I::ConstAddPc => write!(
            output,
            "DW_LNS_const_add_pc (addr += {address:#018x}, op-index += {index})"
        ),
        I::FixedAddPc(distance) => write!(
            output,
            "DW_LNS_fixed_advance_pc (addr += {distance:#06x}, op-index = 0)"
        ),
        I::SetPrologueEnd => write!(output, "DW_LNS_set_prologue_end"),
        I::SetEpilogueBegin => write!(output, "DW_LNS_set_epilogue_begin"),
        I::SetIsa(isa) => write!(output, "DW_LNS_set_isa ({isa})"),
        I::EndSequence => write!(output, "DW_LNE_end_sequence"),
        I::SetAddress(address) => write!(output, "DW_LNE_set_address ({address:#018x})"),
        I::DefineFile(file) => {
            write!(output, "DW_LNE_define_file (")?;
            if let gimli::AttributeValue::String(name) = file.path_name() {
                let name = String::from_utf8_lossy(name.slice());
                write!(output, "{}", quoted(&name).trim_matches('"'))?;
            }
            write!(
                output,
                ", dir={}, mod_time=({:#018x}), length=({:#018x}))",
                file.directory_index(),
                file.timestamp(),
                file.size()
            )
        }
        I::SetDiscriminator(number) => write!(output, "DW_LNE_set_discriminator ({number})"),
        I::UnknownExtended(code, _) => write!(
            output,
            "Unrecognized extended op {:#04x} length {extended}",
            code.0
        ),
        I::UnknownStandard0(_) | I::UnknownStandard1(..) | I::UnknownStandardN(..) => {
            write!(output, "Unrecognized standard opcode")
        }
        _ => Ok(()),
    }
}
