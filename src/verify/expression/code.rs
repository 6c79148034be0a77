//! Decodes an expression and its control flow. Source: HET A.2.5.4.2.

use fallible_iterator::FallibleIterator;
use smallvec::SmallVec;

use crate::error::Error;
use crate::expr::{Encoding, Item, Operation, operations};

/// The operations of an expression, as far as they can be decoded.
#[derive(Debug)]
pub(super) struct Code<'a> {
    pub(super) items: SmallVec<[Item<'a>; 8]>,
    /// True if an operation refers to an entry other than a base type.
    pub(super) refers: bool,
    /// The reason why the rest cannot be decoded.
    pub(super) error: Option<Error>,
    /// The size of the expression in bytes.
    size: usize,
}

/// The target of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The operation with this index.
    Operation(usize),
    /// The end of the expression.
    End,
    /// The middle of an operation, or an offset outside the expression.
    Nowhere,
    /// A part that cannot be decoded.
    Unknown,
}

impl<'a> Code<'a> {
    /// Decodes an expression. Returns `None` if it has more than `limit` operations.
    pub(super) fn decode(bytes: &'a [u8], encoding: Encoding, limit: usize) -> Option<Code<'a>> {
        let mut items = SmallVec::new();
        let mut error = None;
        let mut refers = false;
        let mut rest = operations(bytes, encoding);
        loop {
            match rest.next() {
                Ok(Some(_)) if items.len() >= limit => return None,
                Ok(Some(item)) => {
                    refers |= names_entry(&item.operation);
                    items.push(item);
                }
                Ok(None) => break,
                Err(problem) => {
                    error = Some(problem);
                    break;
                }
            }
        }
        Some(Code {
            items,
            refers,
            error,
            size: bytes.len(),
        })
    }

    /// Returns the offset at which decoding stopped.
    pub(super) fn decoded(&self) -> usize {
        self.items.last().map_or(0, |item| item.end)
    }

    /// Returns the target of the branch `item`, or `None` if it is not a branch.
    pub(super) fn target(&self, item: &Item<'_>) -> Option<Target> {
        let offset = item.branch_target()?;
        let Ok(offset) = usize::try_from(offset) else {
            return Some(Target::Nowhere);
        };
        if offset == self.size {
            return Some(Target::End);
        }
        if offset > self.size {
            return Some(Target::Nowhere);
        }
        Some(
            match self.items.binary_search_by_key(&offset, |item| item.offset) {
                Ok(index) => Target::Operation(index),
                Err(_) if self.error.is_some() && offset >= self.decoded() => Target::Unknown,
                Err(_) => Target::Nowhere,
            },
        )
    }

    /// Returns true if the expression contains a branch.
    pub(super) fn branches(&self) -> bool {
        self.items.iter().any(|item| is_branch(&item.operation))
    }

    /// Determines the operations that are reachable from the first, and the operations that can reach the end.
    pub(super) fn reach(&self) -> Reach {
        let count = self.items.len();
        let mut from_start = vec![false; count];
        let mut to_end = vec![false; count];
        let mut before: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); count];
        let mut exits = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            let next = (!matches!(item.operation, Operation::Skip { .. })).then_some(index + 1);
            let target = match self.target(item) {
                Some(Target::Operation(target)) => Some(target),
                Some(Target::End | Target::Nowhere | Target::Unknown) => Some(count),
                None => None,
            };
            for after in [next, target].into_iter().flatten() {
                match before.get_mut(after) {
                    Some(before) => before.push(index),
                    None => exits.push(index),
                }
            }
        }
        while let Some(index) = exits.pop() {
            if let Some(seen @ false) = to_end.get_mut(index) {
                *seen = true;
                exits.extend(before.get(index).into_iter().flatten());
            }
        }
        let mut work = vec![0];
        while let Some(index) = work.pop() {
            let Some(seen @ false) = from_start.get_mut(index) else {
                continue;
            };
            *seen = true;
            let Some(item) = self.items.get(index) else {
                continue;
            };
            if let Some(Target::Operation(target)) = self.target(item) {
                work.push(target);
            }
            if !matches!(item.operation, Operation::Skip { .. }) {
                work.push(index + 1);
            }
        }
        Reach { from_start, to_end }
    }
}

/// The reachability of each operation, by index.
#[derive(Debug)]
pub(super) struct Reach {
    /// True for each operation that is reachable from the first one.
    pub(super) from_start: Vec<bool>,
    /// True for each operation that can reach the end or an unknown target.
    pub(super) to_end: Vec<bool>,
}

fn names_entry(operation: &Operation<'_>) -> bool {
    matches!(
        operation,
        Operation::Call2 { .. }
            | Operation::Call4 { .. }
            | Operation::CallRef { .. }
            | Operation::ImplicitPointer { .. }
            | Operation::AspaceImplicitPointer { .. }
            | Operation::GnuVariableValue { .. }
    )
}

fn is_branch(operation: &Operation<'_>) -> bool {
    matches!(operation, Operation::Bra { .. } | Operation::Skip { .. })
}
