//! Decodes operations.

use core::fmt;

use fallible_iterator::FallibleIterator;

use super::cursor::Cursor;
use super::table::{Meanings, Opcode, Operation, USER, by_vendor_code, dialect_table};
use super::{Dialect, Encoding, OperandKind};
use crate::error::{Error, ErrorKind, Result, SpecRule};

/// The code of a decoded operation.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A code of one byte.
    Byte(u8),
    /// A vendor code after `DW_OP_LLVM_user`.
    User(u64),
}

/// A decoded operation with its position.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The offset of the first byte from the start of the expression.
    pub offset: usize,
    /// The offset of the first byte after it.
    pub end: usize,
    /// The code, which distinguishes GNU's spellings from the standard's.
    pub code: Code,
    /// The operation.
    pub operation: Operation<'a>,
}

impl Item<'_> {
    /// Returns the operation's full name, in the spelling of its code.
    #[must_use]
    pub fn name(&self) -> impl fmt::Display + use<> {
        Name {
            opcode: self.operation.opcode(),
            member: member(&self.operation),
            code: self.code,
        }
    }

    /// Returns the target of a branch: an offset from the start of the expression, which may lie outside it.
    #[must_use]
    pub fn branch_target(&self) -> Option<i64> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "only two operations branch")]
        match self.operation {
            Operation::Bra { distance } | Operation::Skip { distance } => {
                // A slice is short enough that adding 16 bits cannot overflow.
                i64::try_from(self.end).ok()?.checked_add(distance.into())
            }
            _ => None,
        }
    }
}

/// Returns the number of an operation within its family.
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
    decoder: Decoder<'a>,
    encoding: Encoding,
}

/// Decodes an expression.
#[must_use]
pub fn operations(bytes: &[u8], encoding: Encoding) -> Operations<'_> {
    Operations {
        decoder: Decoder::new(bytes, &encoding),
        encoding,
    }
}

impl<'a> Operations<'a> {
    /// Returns the bytes not yet decoded.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.decoder.cursor.rest()
    }
}

impl<'a> FallibleIterator for Operations<'a> {
    type Item = Item<'a>;
    type Error = Error;

    fn next(&mut self) -> Result<Option<Item<'a>>> {
        let offset = self.decoder.position();
        let Some(byte) = self.decoder.next_code() else {
            return Ok(None);
        };
        let named = match Opcode::from_number(self.decoder.number(byte)) {
            Some(opcode) => Ok((Code::Byte(byte), opcode)),
            None => (self.decoder.vendor_opcode(byte, &self.encoding))
                .map(|(user, opcode)| (Code::User(user), opcode)),
        };
        let read = named.and_then(|(code, opcode)| {
            Operation::read(opcode, byte, &mut self.decoder.cursor, &self.encoding)
                .map(|operation| (code, operation))
                .map_err(|error| error.at_operation(opcode.name(), offset as u64))
        });
        match read {
            Ok((code, operation)) => Ok(Some(Item {
                offset,
                end: self.decoder.position(),
                code,
                operation,
            })),
            Err(error) => {
                self.decoder.cursor = Cursor::new(&[]);
                let name = if byte == USER { "DW_OP_LLVM_user" } else { "?" };
                Err(error.at_operation(name, offset as u64))
            }
        }
    }
}

/// Decodes operations one after the other: [`next_code`](Decoder::next_code), then [`number`](Decoder::number), then the operands.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    cursor: Cursor<'a>,
    /// The meanings of the one-byte codes, looked up once for all operations.
    meanings: &'static Meanings,
}

impl fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Decoder").field(&self.cursor).finish()
    }
}

impl<'a> Decoder<'a> {
    /// Creates a decoder at the first of `bytes`.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], encoding: &Encoding) -> Decoder<'a> {
        Decoder {
            cursor: Cursor::new(bytes),
            meanings: dialect_table(encoding.dialect),
        }
    }

    /// Returns the number of bytes read.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.cursor.position()
    }

    /// Returns the first byte of the next operation, or `None` at the end.
    #[inline]
    pub(crate) fn next_code(&mut self) -> Option<u8> {
        self.cursor.next_byte()
    }

    /// Returns the [`number`](super::number) of the operation whose first byte was just read. A greater number means that a vendor code follows
    /// ([`vendor_opcode`](Decoder::vendor_opcode)). Its operands come next.
    // Inlined into the execution loop, so that the code leads directly to its implementation.
    #[inline(always)]
    pub(crate) fn number(&self, code: u8) -> u8 {
        #[expect(
            clippy::indexing_slicing,
            reason = "a table of 256 entries, and an index of one byte"
        )]
        self.meanings[usize::from(code)]
    }

    /// Reads the vendor code after the first byte, and returns it with its operation, in the encoding for which the decoder was made. Its operands
    /// come next.
    ///
    /// # Errors
    /// If there is none.
    #[inline(always)]
    pub(crate) fn vendor_opcode(&mut self, code: u8, encoding: &Encoding) -> Result<(u64, Opcode)> {
        // A local cursor, so that the compiler can keep it in registers.
        let mut ahead = self.cursor;
        let read = read_vendor_code(&mut ahead, code, encoding);
        self.cursor = ahead;
        read
    }

    /// Returns the cursor, for reading the operands.
    #[inline(always)]
    pub(crate) fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.cursor
    }
}

/// Reads the code after `DW_OP_LLVM_user`.
fn read_vendor_code(
    cursor: &mut Cursor<'_>,
    code: u8,
    encoding: &Encoding,
) -> Result<(u64, Opcode)> {
    let knows_users = matches!(
        encoding.dialect,
        Dialect::User | Dialect::UserWith(_) | Dialect::Dwarf6InMemory
    );
    if code != USER || !knows_users {
        return Err(unknown(code, None));
    }
    let user = cursor.uleb()?;
    match by_vendor_code(user, encoding.dialect) {
        Some(opcode) => Ok((user, opcode)),
        None => Err(unknown(code, Some(user))),
    }
}

#[cold]
fn unknown(opcode: u8, user: Option<u64>) -> Error {
    match user {
        Some(0) => Error::from(SpecRule::ReservedVendorCode),
        _ => ErrorKind::UnknownOperation { opcode, user }.into(),
    }
}
