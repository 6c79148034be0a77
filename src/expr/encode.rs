//! Encodes operations.

use super::operand::{OperandKind, OperandValue};
use super::table::{Codes, Operation, USER};
use super::{Dialect, Encoding};
use crate::error::{ErrorKind, Result};

/// Appends the canonical encoding of `operation` to `out`.
///
/// LEB128 numbers get the shortest form, and DWARF 5's codes are preferred to GNU's.
///
/// # Errors
/// [`ErrorKind::Unsupported`] with the operation if the dialect has no code for it; [`ErrorKind::Syntax`] if an operand does not fit its encoding.
pub fn encode_operation(
    operation: &Operation<'_>,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<()> {
    let row = operation.opcode().row();
    let operands = operation.operands();
    // A single operation is the first of its family.
    let member = super::decode::member(operation).unwrap_or(0);
    if member >= row.family {
        return Err(does_not_fit(row.name));
    }
    match code(operation, encoding.dialect) {
        Some((Some(byte), _)) => {
            let byte = byte.checked_add(member);
            out.push(byte.ok_or_else(|| does_not_fit(row.name))?);
        }
        Some((None, user)) => {
            out.push(USER);
            write_uleb(user.into(), out);
        }
        None => {
            let of_dwarf6 = super::dwarf6::no_code(operation.opcode());
            let text = of_dwarf6.filter(|_| encoding.dialect.is_dwarf6());
            return Err(ErrorKind::Unsupported(text.unwrap_or(row.no_code)).into());
        }
    }
    for (kind, value) in row.operands.iter().zip(operands) {
        write_operand(*kind, value, encoding, out).ok_or_else(|| does_not_fit(row.name))?;
    }
    Ok(())
}

/// Returns the one-byte code, or else the vendor code.
fn code(operation: &Operation<'_>, dialect: Dialect) -> Option<(Option<u8>, u16)> {
    let opcode = operation.opcode();
    let Codes {
        std,
        user,
        one,
        draft,
        gnu: _,
    } = opcode.row().codes;
    let user = user.map(u16::from);
    let vendor = match dialect {
        Dialect::User => user.map(|user| (None, user)),
        Dialect::UserWith(_) | Dialect::Dwarf6InMemory => user
            .or_else(|| dialect.private_code(opcode))
            .map(|user| (None, user)),
        Dialect::Dwarf6 => None,
        Dialect::OneByte => one.map(|byte| (Some(byte), 0)),
        Dialect::Draft => draft.map(|byte| (Some(byte), 0)),
    };
    std.map(|byte| (Some(byte), 0)).or(vendor)
}

fn does_not_fit(name: &'static str) -> crate::Error {
    ErrorKind::Syntax {
        expected: format!("an operand that fits {name}"),
        found: "one that is too large".into(),
    }
    .into()
}

/// Appends one operand; the inverse of `read_operand!`. Returns `None` if it does not fit.
fn write_operand(
    kind: OperandKind,
    value: OperandValue<'_>,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Option<()> {
    match kind {
        OperandKind::Member => {}
        OperandKind::U8 => out.push(value.try_into().ok()?),
        OperandKind::U16 => out.extend(u16::try_from(value).ok()?.to_le_bytes()),
        OperandKind::U32 => out.extend(u32::try_from(value).ok()?.to_le_bytes()),
        OperandKind::U64 => out.extend(u64::try_from(value).ok()?.to_le_bytes()),
        OperandKind::S8 => out.extend(i8::try_from(value).ok()?.to_le_bytes()),
        OperandKind::S16 | OperandKind::Branch => {
            out.extend(i16::try_from(value).ok()?.to_le_bytes())
        }
        OperandKind::S32 => out.extend(i32::try_from(value).ok()?.to_le_bytes()),
        OperandKind::S64 => out.extend(i64::try_from(value).ok()?.to_le_bytes()),
        OperandKind::Uleb
        | OperandKind::WideUleb
        | OperandKind::Register
        | OperandKind::BaseType => {
            write_uleb(value.try_into().ok()?, out);
        }
        OperandKind::Sleb | OperandKind::WideSleb | OperandKind::Displacement => {
            write_sleb(value.try_into().ok()?, out);
        }
        OperandKind::Address => write_sized(value.try_into().ok()?, encoding.address_size, out)?,
        OperandKind::SectionReference => {
            write_sized(value.try_into().ok()?, encoding.offset_size, out)?
        }
        OperandKind::Block1 => {
            let bytes = <&[u8]>::try_from(value).ok()?;
            out.push(bytes.len().try_into().ok()?);
            out.extend(bytes);
        }
        OperandKind::Block | OperandKind::Expression => {
            let bytes = <&[u8]>::try_from(value).ok()?;
            write_uleb(bytes.len() as u64, out);
            out.extend(bytes);
        }
    }
    Some(())
}

/// Appends an address or an offset of `size` bytes. Returns `None` if it does not fit.
pub(crate) fn write_sized(value: u64, size: u8, out: &mut Vec<u8>) -> Option<()> {
    match size {
        8 => out.extend(value.to_le_bytes()),
        4 => out.extend(u32::try_from(value).ok()?.to_le_bytes()),
        2 => out.extend(u16::try_from(value).ok()?.to_le_bytes()),
        _ => return None,
    }
    Some(())
}

/// Appends the shortest unsigned LEB128.
pub(crate) fn write_uleb(mut value: u64, out: &mut Vec<u8>) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Appends the shortest signed LEB128.
pub(crate) fn write_sleb(mut value: i64, out: &mut Vec<u8>) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        let sign_is_there = low & 0x40 != 0;
        if (value == 0 && !sign_is_there) || (value == -1 && sign_is_there) {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}
