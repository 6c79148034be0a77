//! Operations from bytes.

use core::fmt;

use fallible_iterator::FallibleIterator;

use super::cursor::Cursor;
use super::table::{Meaning, Opcode, Operation, by_vendor_code, dialect_table};
use super::{Encoding, OperandKind};
use crate::error::{Error, ErrorKind, Result, Rule};

/// The code that an operation was decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A code of one byte.
    Byte(u8),
    /// A vendor code after `DW_OP_LLVM_user`.
    User(u64),
}

/// An operation in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The offset of the first byte from the start of the expression.
    pub offset: usize,
    /// The offset of the first byte after it.
    pub end: usize,
    /// The code it was decoded from, which tells GNU's spellings from the standard's.
    pub code: Code,
    /// The operation.
    pub operation: Operation<'a>,
}

impl Item<'_> {
    /// The operation's full name, in the spelling of its code.
    #[must_use]
    pub fn name(&self) -> impl fmt::Display + use<> {
        Name {
            opcode: self.operation.opcode(),
            member: member(&self.operation),
            code: self.code,
        }
    }

    /// Where a branch goes: an offset from the start of the expression, which may lie outside of it.
    #[must_use]
    pub fn branch_target(&self) -> Option<i64> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "only two operations branch")]
        match self.operation {
            Operation::Bra { distance } | Operation::Skip { distance } => Some(
                i64::try_from(self.end)
                    .unwrap_or(i64::MAX)
                    .saturating_add(distance.into()),
            ),
            _ => None,
        }
    }
}

/// The number of an operation within its family.
pub(super) fn member(operation: &Operation<'_>) -> Option<u8> {
    let row = operation.opcode().row();
    (row.operands.first() == Some(&OperandKind::Member))
        .then(|| {
            operation
                .operands()
                .first()
                .and_then(|operand| (*operand).try_into().ok())
        })
        .flatten()
}

struct Name {
    opcode: Opcode,
    member: Option<u8>,
    code: Code,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.opcode.row();
        let gnu = matches!(self.code, Code::Byte(code) if row.codes.gnu == Some(code));
        match (gnu, row.name.strip_prefix("DW_OP_")) {
            // GNU's name differs from the standard's in one case.
            (true, _) if self.opcode == Opcode::FormTlsAddress => {
                f.write_str("DW_OP_GNU_push_tls_address")?
            }
            (true, _) if self.opcode == Opcode::Addrx => f.write_str("DW_OP_GNU_addr_index")?,
            (true, _) if self.opcode == Opcode::Constx => f.write_str("DW_OP_GNU_const_index")?,
            (true, Some(name)) => write!(f, "DW_OP_GNU_{name}")?,
            (_, _) => f.write_str(row.name)?,
        }
        match self.member {
            Some(member) => write!(f, "{member}"),
            None => Ok(()),
        }
    }
}

/// The operations of an expression, in order. It ends with the first error and stays ended.
#[derive(Clone, Debug)]
pub struct Operations<'a> {
    cursor: Cursor<'a>,
    encoding: Encoding,
}

/// Decodes an expression.
#[must_use]
pub fn operations(bytes: &[u8], encoding: Encoding) -> Operations<'_> {
    Operations {
        cursor: Cursor::new(bytes),
        encoding,
    }
}

impl<'a> Operations<'a> {
    /// The bytes that were not decoded.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }
}

impl<'a> FallibleIterator for Operations<'a> {
    type Item = Item<'a>;
    type Error = Error;

    fn next(&mut self) -> Result<Option<Item<'a>>> {
        if self.cursor.is_empty() {
            return Ok(None);
        }
        let offset = self.cursor.position();
        match read_operation(&mut self.cursor, self.encoding) {
            Ok((code, operation)) => Ok(Some(Item {
                offset,
                end: self.cursor.position(),
                code,
                operation,
            })),
            Err(error) => {
                self.cursor = Cursor::new(&[]);
                Err(error)
            }
        }
    }
}

/// Decodes the operation at the cursor, which must not be at the end.
#[inline]
pub(crate) fn read_operation<'a>(
    cursor: &mut Cursor<'a>,
    encoding: Encoding,
) -> Result<(Code, Operation<'a>)> {
    let start = cursor.position();
    let code = cursor.u8()?;
    #[expect(
        clippy::indexing_slicing,
        reason = "a table of 256 entries, and an index of one byte"
    )]
    let meaning = dialect_table(encoding.dialect)[usize::from(code)];
    let (code, opcode, member) = match meaning {
        Meaning::Operation(opcode, member) => (Code::Byte(code), opcode, member),
        Meaning::User => {
            let user = cursor
                .uleb()
                .map_err(|e| e.at_operation("DW_OP_LLVM_user", start as u64))?;
            match by_vendor_code(user, encoding.dialect) {
                Some(opcode) => (Code::User(user), opcode, 0),
                None => return Err(unknown(code, Some(user), start)),
            }
        }
        Meaning::Unknown => return Err(unknown(code, None, start)),
    };
    match Operation::read(opcode, member, cursor, encoding) {
        Ok(operation) => Ok((code, operation)),
        Err(error) => Err(error.at_operation(opcode.name(), start as u64)),
    }
}

#[cold]
fn unknown(opcode: u8, user: Option<u64>, offset: usize) -> Error {
    let error = match user {
        Some(0) => Error::from(Rule::ReservedVendorCode),
        _ => ErrorKind::UnknownOperation { opcode, user }.into(),
    };
    error.at_operation(
        if user.is_some() {
            "DW_OP_LLVM_user"
        } else {
            "?"
        },
        offset as u64,
    )
}
