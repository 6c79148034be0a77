//! Dispatches operations to their families, and checks the operations that move entries. Source: HET A.2.5.4.1.

use super::entry::{Entry, Place, Storage};
use super::machine::{Machine, Step, Stop};
use super::rule;
use crate::expr::{Item, Operation};

/// Returns true if an entry is an incomplete composite, to which parts can still be added.
pub(super) fn is_incomplete(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::Place(Place {
            storage: Storage::Composite {
                complete: false,
                ..
            },
            ..
        })
    )
}

impl Machine<'_> {
    /// Runs an operation that does not affect control flow.
    #[expect(
        clippy::too_many_lines,
        reason = "every operation is named, so that a new one does not compile until its family is chosen"
    )]
    pub(super) fn execute(&mut self, item: &Item<'_>) -> Step {
        use Operation as O;
        match item.operation {
            O::Nop | O::LlvmNop | O::GnuUninit => Ok(()),
            O::Dup | O::Drop | O::Over | O::Pick { .. } | O::Swap | O::Rot => {
                self.move_entries(&item.operation)
            }
            O::Addr { .. }
            | O::Addrx { .. }
            | O::Fbreg { .. }
            | O::Breg { .. }
            | O::Bregx { .. }
            | O::AspaceBregx { .. }
            | O::FormAspaceAddress
            | O::FormTlsAddress
            | O::CallFrameCfa
            | O::Reg { .. }
            | O::Regx { .. }
            | O::CallFrameEntryReg { .. }
            | O::PushObjectAddress
            | O::Undefined
            | O::Offset
            | O::OffsetUconst { .. }
            | O::BitOffset => self.locate(&item.operation),
            O::Deref
            | O::DerefSize { .. }
            | O::DerefType { .. }
            | O::Xderef
            | O::XderefSize { .. }
            | O::XderefType { .. }
            | O::RegvalType { .. } => self.read(&item.operation),
            O::ImplicitValue { .. }
            | O::StackValue
            | O::ImplicitPointer { .. }
            | O::AspaceImplicitPointer { .. } => self.make_implicit(&item.operation),
            O::Piece { .. }
            | O::BitPiece { .. }
            | O::PieceEnd
            | O::Extend { .. }
            | O::SelectBitPiece { .. }
            | O::Overlay
            | O::BitOverlay => self.compose(&item.operation),
            O::EntryValue { expression } => self.entry_value(expression),
            // The results depend on a call site or a variable elsewhere.
            O::GnuParameterRef { .. } | O::GnuVariableValue { .. } => {
                self.push(Entry::Unknown);
                Ok(())
            }
            O::Bra { .. }
            | O::Skip { .. }
            | O::Call2 { .. }
            | O::Call4 { .. }
            | O::CallRef { .. }
            // This operation never occurs in a file.
            | O::Composite => Err(Stop),
            // The effect of this operation is not known.
            O::NvidiaMux { .. } => {
                self.fault(&rule::FOREIGN, "it is an operation of another vendor");
                Err(Stop)
            }
            O::Const1u { .. }
            | O::Const1s { .. }
            | O::Const2u { .. }
            | O::Const2s { .. }
            | O::Const4u { .. }
            | O::Const4s { .. }
            | O::Const8u { .. }
            | O::Const8s { .. }
            | O::Constu { .. }
            | O::Consts { .. }
            | O::Constx { .. }
            | O::ConstType { .. }
            | O::Lit { .. }
            | O::PushLane
            | O::PushIteration => self.literal(&item.operation),
            O::Abs
            | O::And
            | O::Div
            | O::Minus
            | O::Mod
            | O::Mul
            | O::Neg
            | O::Not
            | O::Or
            | O::Plus
            | O::PlusUconst { .. }
            | O::Shl
            | O::Shr
            | O::Shra
            | O::Xor
            | O::Eq
            | O::Ge
            | O::Gt
            | O::Le
            | O::Lt
            | O::Ne
            | O::Convert { .. }
            | O::Reinterpret { .. } => self.compute(&item.operation),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`execute` sends only these operations here"
    )]
    fn move_entries(&mut self, operation: &Operation<'_>) -> Step {
        match *operation {
            Operation::Dup => {
                let top = self.entry(0)?;
                self.push(top);
            }
            Operation::Drop => {
                self.entry(0)?;
                self.stack.pop();
            }
            Operation::Over => {
                let entry = self.entry(1)?;
                self.push(entry);
            }
            Operation::Pick { index } => {
                let entry = self.entry(index.into())?;
                self.push(entry);
            }
            Operation::Swap => self.rotate(2)?,
            Operation::Rot => self.rotate(3)?,
            _ => return Err(Stop),
        }
        Ok(())
    }

    /// Returns the entry at `index` below the top, for a stack operation.
    fn entry(&mut self, index: usize) -> Step<Entry> {
        self.need(index + 1)?;
        let found = self.stack.iter().rev().nth(index).copied().ok_or(Stop)?;
        if is_incomplete(&found) {
            self.fault(&rule::INCOMPLETE, "it uses an incomplete composite");
            return Err(Stop);
        }
        Ok(found)
    }

    /// Ensures that the stack has at least `count` entries.
    pub(super) fn need(&mut self, count: usize) -> Step {
        let found = self.stack.len();
        if found >= count {
            return Ok(());
        }
        if !self.is_open() {
            self.fault(
                &rule::UNDERFLOW,
                format!("it needs {count} entries, but there are {found}"),
            );
            return Err(Stop);
        }
        for _ in found..count {
            self.stack.insert(0, Entry::Unknown);
        }
        Ok(())
    }

    /// Moves the top entry below the next `count - 1` entries.
    fn rotate(&mut self, count: usize) -> Step {
        for index in 0..count {
            self.entry(index)?;
        }
        let start = self.stack.len().checked_sub(count).ok_or(Stop)?;
        if let Some(entries) = self.stack.get_mut(start..) {
            entries.rotate_right(1);
        }
        Ok(())
    }
}
