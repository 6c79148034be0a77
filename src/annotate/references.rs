//! Updates references in expressions to entries that move. Sources: DWARF 5 §2.5, §7.6.

use fallible_iterator::FallibleIterator;

use super::unit::{Found, Patch, Refused, SectionReference, UnitChange, refused};
use crate::expr::{Encoding, Operation, operations, write_uleb};

/// The maximum nesting of expressions.
const NESTED: u8 = 4;

/// Encodes a number in `size` bytes. Returns `None` if it does not fit.
pub(super) fn fixed(value: usize, size: usize) -> Option<Vec<u8>> {
    let bytes = (value as u64).to_le_bytes();
    let (kept, lost) = bytes.split_at_checked(size)?;
    lost.iter().all(|byte| *byte == 0).then(|| kept.to_vec())
}

/// Encodes a number as LEB128 in `size` bytes. Returns `None` if it does not fit.
pub(super) fn leb128_of(value: usize, size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    write_uleb(value as u64, &mut bytes);
    let missing = size.checked_sub(bytes.len())?;
    if missing > 0 {
        // LEB128 can encode a number in more bytes than it needs.
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.extend(core::iter::repeat_n(0x80, missing.saturating_sub(1)));
        bytes.push(0);
    }
    Some(bytes)
}

/// The reason why an expression is not rewritten, or not completely.
pub(super) enum NotRewritten {
    /// No reader can read the rest of the expression.
    Unreadable(Refused),
    /// The unit must stay unchanged.
    Refused(Refused),
}

impl From<Refused> for NotRewritten {
    fn from(reason: Refused) -> NotRewritten {
        NotRewritten::Refused(reason)
    }
}

/// Updates the references of an expression to the new offsets of entries.
///
/// * `moved`: returns the new offset in the unit for an old one.
pub(super) fn rewrite(
    found: &Found<'_>,
    encoding: Encoding,
    moved: &impl Fn(usize) -> usize,
    change: &mut UnitChange,
) -> Result<(), NotRewritten> {
    rewrite_nested(found, encoding, moved, NESTED, change)
}

/// Returns true if an expression refers to entries or is unreadable.
pub(super) fn refers(bytes: &[u8], encoding: Encoding) -> bool {
    let mut items = operations(bytes, encoding);
    loop {
        let item = match items.next() {
            Ok(Some(item)) => item,
            Ok(None) => return false,
            Err(_) => return true,
        };
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "others refer to entries of the unit, or to none"
        )]
        let refers = match item.operation {
            Operation::CallRef { .. }
            | Operation::GnuVariableValue { .. }
            | Operation::ImplicitPointer { .. }
            | Operation::AspaceImplicitPointer { .. }
            | Operation::EntryValue { .. } => true,
            operation => {
                let bytes = bytes.get(item.offset..item.end);
                unit_reference(operation, bytes.unwrap_or_default()).is_some()
            }
        };
        if refers {
            return true;
        }
    }
}

fn rewrite_nested(
    found: &Found<'_>,
    encoding: Encoding,
    moved: &impl Fn(usize) -> usize,
    depth: u8,
    change: &mut UnitChange,
) -> Result<(), NotRewritten> {
    let depth = depth.checked_sub(1);
    let depth = depth.ok_or_else(|| refused("expressions are nested too deep"))?;
    let mut items = operations(found.bytes, encoding);
    // The bytes after an unknown operation can have any meaning.
    let unreadable = |error| NotRewritten::Unreadable(refused(error));
    while let Some(item) = items.next().map_err(unreadable)? {
        let at = found.at.saturating_add(item.offset);
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "others refer to entries of the unit, or to none"
        )]
        match item.operation {
            Operation::CallRef { entry }
            | Operation::GnuVariableValue { entry }
            | Operation::ImplicitPointer { entry, .. }
            | Operation::AspaceImplicitPointer { entry, .. } => {
                change.references.push(SectionReference {
                    section: found.section,
                    at: at.saturating_add(1),
                    size: encoding.offset_size.into(),
                    target: usize::try_from(entry).map_err(refused)?,
                });
            }
            Operation::EntryValue { expression } => {
                let start = item.end.saturating_sub(expression.len());
                let inner = Found {
                    within: found.within,
                    bytes: expression,
                    section: found.section,
                    at: found.at.saturating_add(start),
                };
                rewrite_nested(&inner, encoding, moved, depth, change)?;
            }
            operation => {
                let length = item.end.saturating_sub(item.offset);
                let bytes = found.bytes.get(item.offset..item.end);
                let Some(reference) = unit_reference(operation, bytes.unwrap_or_default()) else {
                    continue;
                };
                let target = usize::try_from(reference.entry).map_err(refused)?;
                let new = moved(target);
                if new == target {
                    continue;
                }
                let size = length
                    .saturating_sub(reference.before)
                    .saturating_sub(reference.after);
                let bytes = match reference.is_leb128 {
                    true => leb128_of(new, size),
                    false => fixed(new, size),
                };
                let bytes = bytes.ok_or_else(too_small)?;
                change.patches.push(Patch {
                    section: found.section,
                    at: at.saturating_add(reference.before),
                    bytes,
                });
            }
        }
    }
    Ok(())
}

fn too_small() -> Refused {
    "a reference in an expression would need more bytes than it has".to_owned()
}

/// An operand that refers to an entry of the unit.
struct UnitOperand {
    entry: u64,
    is_leb128: bool,
    /// The number of bytes of the operation before the operand.
    before: usize,
    /// The number of bytes of the operation after the operand.
    after: usize,
}

/// Returns the operand that refers to an entry of the unit, if the operation has one.
///
/// * `bytes`: the encoded operation.
fn unit_reference(operation: Operation<'_>, bytes: &[u8]) -> Option<UnitOperand> {
    let last = |entry: u64| UnitOperand {
        entry,
        is_leb128: false,
        before: 1,
        after: 0,
    };
    let base_type = |entry: u64, before: usize, after: usize| UnitOperand {
        entry,
        is_leb128: true,
        before,
        after,
    };
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "other operations refer to no entry of the unit"
    )]
    Some(match operation {
        Operation::Call2 { entry } => last(entry.into()),
        Operation::Call4 { entry } | Operation::GnuParameterRef { entry } => last(entry.into()),
        // The base type is followed by the size of the constant in one byte, and the constant.
        Operation::ConstType {
            base_type: ty,
            bytes,
        } => base_type(ty, 1, bytes.len().saturating_add(1)),
        Operation::RegvalType { base_type: ty, .. } => {
            let register = bytes.iter().skip(1).take_while(|byte| **byte >= 0x80);
            base_type(ty, register.count().saturating_add(2), 0)
        }
        Operation::DerefType { base_type: ty, .. }
        | Operation::XderefType { base_type: ty, .. } => base_type(ty, 2, 0),
        // The operand 0 means the generic type.
        Operation::Convert { base_type: ty } | Operation::Reinterpret { base_type: ty }
            if ty != 0 =>
        {
            base_type(ty, 1, 0)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotate::unit::PatchedSection;
    use crate::expr::Dialect;

    /// The operation has no code in the current encoding, so only a file of 2020 can contain it. It is 0xe9, a section offset and a signed number.
    #[test]
    fn a_pointer_into_an_address_space_refers_into_the_section() {
        // DW_OP_lit1 precedes it.
        let bytes = [0x31, 0xe9, 0x44, 0x33, 0x22, 0x11, 0x00];
        let found = Found {
            within: None,
            bytes: &bytes,
            section: PatchedSection::Info,
            at: 0x100,
        };
        let encoding = Encoding {
            dialect: Dialect::OneByte,
            ..Encoding::AMDGPU
        };
        let mut change = UnitChange::default();
        let rewritten = rewrite(&found, encoding, &|at| at, &mut change);
        assert!(rewritten.is_ok() && change.patches.is_empty());
        let [reference] = change.references.as_slice() else {
            panic!("{:?}", change.references);
        };
        assert_eq!(reference.section, PatchedSection::Info);
        let place = (reference.at, reference.size, reference.target);
        assert_eq!(place, (0x102, 4, 0x1122_3344));
    }

    /// DWARF 5 §7.6: seven bits in a byte, the lowest first.
    #[test]
    fn numbers_keep_their_length() {
        assert_eq!(leb128_of(0x81, 2).unwrap(), [0x81, 0x01]);
        assert_eq!(leb128_of(5, 1).unwrap(), [5]);
        assert_eq!(leb128_of(5, 4).unwrap(), [0x85, 0x80, 0x80, 0]);
        assert_eq!(leb128_of(0x80, 1), None);
        assert_eq!(fixed(0x1234, 2).unwrap(), [0x34, 0x12]);
        assert_eq!((fixed(0x1234, 1), fixed(1, 9)), (None, None));
    }
}
