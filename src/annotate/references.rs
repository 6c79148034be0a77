//! References in expressions to entries that move, and the numbers that say where they are then. Sources: DWARF 5 §2.5, §7.6.

use fallible_iterator::FallibleIterator;

use super::unit::{Found, Patch, Refused, SectionReference, UnitChange, refused};
use crate::expr::{Encoding, Operation, encode_operation, operations, write_uleb};

/// How deep expressions may be in one another.
const NESTED: u8 = 4;

/// A number with as many bytes as there are; nothing if it does not fit.
pub(super) fn fixed(value: usize, size: usize) -> Option<Vec<u8>> {
    let bytes = (value as u64).to_le_bytes();
    let (kept, lost) = bytes.split_at_checked(size)?;
    lost.iter().all(|byte| *byte == 0).then(|| kept.to_vec())
}

/// A number as LEB128 of as many bytes as there are; nothing if it does not fit.
pub(super) fn leb128_of(value: usize, size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    write_uleb(value as u64, &mut bytes);
    let missing = size.checked_sub(bytes.len())?;
    if missing > 0 {
        // The same number with more bytes than it needs.
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.extend(core::iter::repeat_n(0x80, missing.saturating_sub(1)));
        bytes.push(0);
    }
    Some(bytes)
}

/// Why an expression is not, or not as a whole, rewritten.
pub(super) enum NotRewritten {
    /// No reader gets to what follows.
    Unreadable(Refused),
    /// The unit has to stay as it is.
    Refused(Refused),
}

impl From<Refused> for NotRewritten {
    fn from(reason: Refused) -> NotRewritten {
        NotRewritten::Refused(reason)
    }
}

/// Makes the references of an expression those to where entries are then.
///
/// * `moved`: where in the unit what was at an offset is then.
pub(super) fn rewrite(
    found: &Found<'_>,
    encoding: Encoding,
    moved: &impl Fn(usize) -> usize,
    change: &mut UnitChange,
) -> Result<(), NotRewritten> {
    rewrite_nested(found, encoding, moved, NESTED, change)
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
    // What follows an operation that is not known may be anything.
    let unreadable = |error| NotRewritten::Unreadable(refused(error));
    while let Some(item) = items.next().map_err(unreadable)? {
        let at = found.at.saturating_add(item.offset);
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "others refer to entries of the unit, or to none"
        )]
        match item.operation {
            Operation::CallRef { entry }
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
                let Some(operation) = moved_within(operation, moved)? else {
                    continue;
                };
                let mut bytes = Vec::new();
                encode_operation(&operation, encoding, &mut bytes).map_err(refused)?;
                if bytes.len() != item.end.saturating_sub(item.offset) {
                    let reason = "a reference in an expression would need other bytes than it has";
                    return Err(NotRewritten::Refused(reason.to_owned()));
                }
                // The code that it had: GNU's spellings have others.
                if let (Some(first), Some(old)) = (bytes.first_mut(), found.bytes.get(item.offset))
                {
                    *first = *old;
                }
                let section = found.section;
                change.patches.push(Patch { section, at, bytes });
            }
        }
    }
    Ok(())
}

/// An operation that refers to an entry of the unit, with where that is then; nothing if that is the same.
fn moved_within<'o>(
    operation: Operation<'o>,
    moved: &impl Fn(usize) -> usize,
) -> Result<Option<Operation<'o>>, Refused> {
    let new = |target: u64| -> Result<u64, Refused> {
        Ok(moved(usize::try_from(target).map_err(refused)?) as u64)
    };
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "other operations refer to no entry of the unit"
    )]
    let changed = match operation {
        Operation::Call2 { entry } => Operation::Call2 {
            entry: u16::try_from(new(entry.into())?).map_err(refused)?,
        },
        Operation::Call4 { entry } => Operation::Call4 {
            entry: u32::try_from(new(entry.into())?).map_err(refused)?,
        },
        Operation::GnuParameterRef { entry } => Operation::GnuParameterRef {
            entry: u32::try_from(new(entry.into())?).map_err(refused)?,
        },
        Operation::ConstType { base_type, bytes } => Operation::ConstType {
            base_type: new(base_type)?,
            bytes,
        },
        Operation::RegvalType {
            register,
            base_type,
        } => Operation::RegvalType {
            register,
            base_type: new(base_type)?,
        },
        Operation::DerefType {
            byte_size,
            base_type,
        } => Operation::DerefType {
            byte_size,
            base_type: new(base_type)?,
        },
        Operation::XderefType {
            byte_size,
            base_type,
        } => Operation::XderefType {
            byte_size,
            base_type: new(base_type)?,
        },
        // 0 is the generic type.
        Operation::Convert { base_type } if base_type != 0 => Operation::Convert {
            base_type: new(base_type)?,
        },
        Operation::Reinterpret { base_type } if base_type != 0 => Operation::Reinterpret {
            base_type: new(base_type)?,
        },
        _ => return Ok(None),
    };
    Ok((changed != operation).then_some(changed))
}
