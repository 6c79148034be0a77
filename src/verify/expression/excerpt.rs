//! Prints an expression for findings, with a mark at the faulty operation.

use fallible_iterator::FallibleIterator;
use smallvec::SmallVec;

use super::Fault;
use crate::expr::{Encoding, Item, OperandKind, OperandValue, Printer, operations};
use crate::verify::finding::{Excerpt, Finding};

/// The maximum size in bytes of a printed expression. Longer ones would be unreadable.
const LONGEST: usize = 1 << 8;

/// Returns an expression as text, with a mark at the operation at `offset`. Without an offset, the mark covers the whole expression.
pub(in crate::verify) fn excerpt(
    bytes: &[u8],
    encoding: Encoding,
    offset: Option<usize>,
) -> Option<Excerpt> {
    if bytes.len() > LONGEST {
        return None;
    }
    let printer = Printer::new(encoding);
    let text = printer.expression(bytes);
    let Some(offset) = offset else {
        return Some(Excerpt::whole(text));
    };
    let mut start = 0;
    let mut items = operations(bytes, encoding);
    while let Ok(Some(item)) = items.next() {
        let length = printer.item(&item).len();
        if item.offset == offset {
            return Some(Excerpt {
                text: text.into(),
                mark: start..start + length,
            });
        }
        start = start + length + ", ".len();
    }
    // The undecodable part is at the end.
    let mark = start.min(text.len())..text.len();
    Some(Excerpt {
        text: text.into(),
        mark,
    })
}

impl Fault {
    /// Creates the finding of a fault in an expression that starts at offset `start` of a section. `what` names the expression at the start of the
    /// message.
    pub(in crate::verify) fn finding(
        &self,
        what: &str,
        bytes: &[u8],
        encoding: Encoding,
        section: &'static str,
        start: u64,
    ) -> Finding {
        let offset = self.offset.map_or(0, |offset| offset as u64);
        let message = if what.is_empty() {
            self.message.clone()
        } else {
            format!("{what}: {}", self.message)
        };
        let mut finding = Finding::new(self.rule, section, message).at(start + offset);
        if let Some(excerpt) = excerpt(bytes, encoding, self.offset) {
            finding = finding.excerpt(excerpt);
        }
        match self.help {
            Some(help) => finding.help(help),
            None => finding,
        }
    }
}

/// Returns the register numbers in the operations of an expression, each with the offset of its operation in bytes. Includes the registers in entry
/// values. An undecodable part has no registers.
pub(super) fn registers(items: &[Item<'_>], encoding: Encoding) -> SmallVec<[(usize, u64); 4]> {
    let mut found = SmallVec::new();
    for item in items {
        let row = item.operation.opcode().row();
        if row.operands.is_empty() {
            continue;
        }
        // `DW_OP_lit0` to `DW_OP_lit31` are also a family, but of numbers.
        let is_literal = row.name == "DW_OP_lit";
        for (kind, value) in row.operands.iter().zip(item.operation.operands()) {
            match (kind, value) {
                (OperandKind::Register, OperandValue::Unsigned(number)) => {
                    found.push((item.offset, number));
                }
                (OperandKind::Member, OperandValue::Unsigned(number)) if !is_literal => {
                    found.push((item.offset, number));
                }
                // Only one level is searched, because a nested entry value has no meaning.
                (OperandKind::Expression, OperandValue::Bytes(inner)) => {
                    let mut inner = operations(inner, encoding);
                    while let Ok(Some(nested)) = inner.next() {
                        let kinds = nested.operation.opcode().row().operands;
                        for (kind, value) in kinds.iter().zip(nested.operation.operands()) {
                            if let (OperandKind::Register, OperandValue::Unsigned(number)) =
                                (kind, value)
                            {
                                found.push((item.offset, number));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
    found
}
