//! Keeps the scopes of a function, so that finding those at an address is a binary search. [`scope`](super::scope) walks over the entries of the
//! function instead.
//!
//! Only the place of a scope is kept; its name and declarations are read on demand. There is no tree if scopes overlap without nesting, which
//! violates DWARF 5 §3.5, if a declaration is 4 GiB or more after its function, or if the file's meter refuses the memory. The walk is used then.

use core::ops::Range;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use gimli::constants::{
    DW_AT_call_column, DW_AT_call_file, DW_AT_call_line, DW_TAG_GNU_formal_parameter_pack,
    DW_TAG_inlined_subroutine, DW_TAG_lexical_block,
};

use super::DebugInfo;
use super::die::Die;
use super::id::DieId;
use super::range_map::RangeMap;
use super::scope::{is_block, is_object};
use super::variable::Variable;
use crate::error::Result;
use crate::meter::{HeldStack, Meter};

/// The number of the function among its scopes.
const FUNCTION: u32 = 0;

/// The scopes of a function.
#[derive(Debug)]
pub(super) struct ScopeTree<'a> {
    /// In the order of the section; the function comes first.
    scopes: Vec<ScopeNode<'a>>,
    /// The innermost scope of each address. The function itself is not in it, because it contains all addresses of a query.
    by_address: RangeMap<u32>,
    /// The parameters, variables and constants, in ascending order.
    objects: Vec<Declaration>,
}

/// A parameter, variable or constant in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Declaration {
    /// The number of the scope.
    scope: u32,
    /// The distance of its entry from the function's.
    distance: u32,
}

/// A function, block or inlined call.
#[derive(Debug)]
pub(super) struct ScopeNode<'a> {
    pub(super) id: DieId,
    /// The scope around it. The function is its own parent.
    parent: u32,
    /// The nearest enclosing function, inlined or not. A function is its own.
    function: u32,
    pub(super) call: CallPlace,
    name: OnceLock<Option<Cow<'a, str>>>,
    variables: OnceLock<Option<Box<[Arc<Variable<'a>>]>>>,
}

/// The place of an inlined call in the source, by the numbers in its attributes, or 0 for a missing attribute.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallPlace {
    /// The number of the file in the table of the unit. `None` if it is missing, as 0 is a valid file in DWARF 5.
    pub(super) file: Option<u64>,
    pub(super) line: u64,
    pub(super) column: u64,
}

impl<'a> ScopeTree<'a> {
    /// Returns the innermost scope that contains `pc`, by its number.
    fn innermost(&self, pc: u64) -> u32 {
        self.by_address.get(pc).unwrap_or(FUNCTION)
    }

    /// Returns the innermost function, inlined or not, that contains `pc`.
    pub(super) fn innermost_function(&self, pc: u64) -> u32 {
        self.function_of(self.innermost(pc))
    }

    /// Returns the numbers of the scopes that contain `pc`, the innermost first and the function last.
    pub(super) fn around(&self, pc: u64) -> impl Iterator<Item = u32> + '_ {
        core::iter::successors(Some(self.innermost(pc)), |number| {
            let parent = self.scope(*number)?.parent;
            (parent < *number).then_some(parent)
        })
    }

    /// Returns the number of the scope itself if it is a function, or else of the nearest function around it, inlined or not.
    fn function_of(&self, number: u32) -> u32 {
        self.scope(number).map_or(FUNCTION, |scope| scope.function)
    }

    /// Returns true if a scope is an inlined call, and not a block or the function itself.
    pub(super) fn is_inlined_call(&self, number: u32) -> bool {
        number != FUNCTION && self.function_of(number) == number
    }

    /// Returns the function around an inlined one, or `None` for the function itself.
    pub(super) fn caller_of(&self, number: u32) -> Option<u32> {
        let parent = self.scope(number)?.parent;
        (number != FUNCTION).then(|| self.function_of(parent))
    }

    /// Returns a scope by its number.
    pub(super) fn scope(&self, number: u32) -> Option<&ScopeNode<'a>> {
        self.scopes.get(number as usize)
    }

    /// Returns the offsets of a scope's declarations, in the order of the section.
    pub(super) fn objects(&self, number: u32) -> impl Iterator<Item = u64> + '_ {
        let first = (self.objects).partition_point(|object| object.scope < number);
        let objects = self.objects.get(first..).unwrap_or_default().iter();
        let function = self.scope(FUNCTION).map_or(0, |scope| scope.id.offset);
        objects
            .take_while(move |object| object.scope == number)
            .map(move |object| function.wrapping_add(object.distance.into()))
    }
}

/// A variable of a function, wherever it is in scope.
#[derive(Debug)]
pub(crate) struct InFunction<'a> {
    pub(crate) variable: Arc<Variable<'a>>,
    /// The inlined calls around it, innermost first.
    pub(crate) calls: Arc<[DieId]>,
}

impl<'a> DebugInfo<'a> {
    /// Returns the variables of a function and of all its blocks and inlined calls. Returns `None` if its scopes contradict each other or cannot be
    /// kept.
    ///
    /// # Errors
    /// If the cost exceeds the limit.
    pub(crate) fn variables_of(
        &self,
        function: DieId,
        meter: &Meter,
    ) -> Result<Option<Vec<InFunction<'a>>>> {
        let Some(tree) = self.scope_tree(function) else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for number in (0..).take(tree.scopes.len()) {
            meter.work(1)?;
            let Some(variables) = self.scope_variables(tree, number) else {
                return Ok(None);
            };
            let mut calls = Vec::new();
            let mut around = tree.function_of(number);
            while let Some(outer) = tree.caller_of(around) {
                meter.work(1)?;
                calls.extend(tree.scope(around).map(|call| call.id));
                around = outer;
            }
            let calls: Arc<[DieId]> = calls.into();
            meter.hold_all::<DieId>(calls.len())?;
            meter.hold_all::<InFunction<'a>>(variables.len())?;
            found.extend(variables.iter().map(|variable| InFunction {
                variable: Arc::clone(variable),
                calls: Arc::clone(&calls),
            }));
        }
        Ok(Some(found))
    }

    /// Returns the scopes of the function at `id`, or `None` if its entries must be walked instead.
    pub(super) fn scope_tree(&self, id: DieId) -> Option<&ScopeTree<'a>> {
        self.scope_tree_of(self.index(id.unit).ok()?.function_at(id)?)
    }

    /// Returns the name of a function, or of the function around another scope.
    pub(super) fn scope_name<'t>(
        &self,
        tree: &'t ScopeTree<'a>,
        number: u32,
    ) -> Option<&'t Cow<'a, str>> {
        let scope = tree.scope(tree.function_of(number))?;
        let read = || self.completed_name(scope.id);
        scope.name.get_or_init(read).as_ref()
    }

    /// Returns the variables of a scope, read once, or `None` if they cannot be read or kept.
    pub(super) fn scope_variables<'t>(
        &self,
        tree: &'t ScopeTree<'a>,
        number: u32,
    ) -> Option<&'t [Arc<Variable<'a>>]> {
        let scope = tree.scope(number)?;
        let read = |meter: &Meter| {
            let name = self.scope_name(tree, number).cloned();
            let mut objects = Vec::new();
            for offset in tree.objects(number) {
                meter.work(1)?;
                objects.push(self.die(DieId { offset, ..scope.id })?);
            }
            let variables = self.read_scope_variables(scope.id, &name, &objects, meter)?;
            Ok(variables.into_boxed_slice())
        };
        let variables = &scope.variables;
        let variables = variables.get_or_init(|| self.read_ahead(read));
        variables.as_deref()
    }

    /// Reads the scopes of a function. Returns `None` if they do not nest, or are too far apart.
    pub(super) fn read_scope_tree(
        &self,
        id: DieId,
        meter: &Meter,
    ) -> Result<Option<Box<ScopeTree<'a>>>> {
        let mut walk = self.walk(id)?;
        let mut scopes: Vec<ScopeNode<'a>> = Vec::new();
        let mut objects = Vec::new();
        let mut covered: Vec<(Range<u64>, u32)> = Vec::new();
        // The entries around the current one: their depths, and the scopes that get their declarations.
        let mut open: HeldStack<'_, (isize, u32)> = HeldStack::new(meter);
        while walk.next_entry()?.is_some() {
            walk.pay(meter)?;
            let entry = walk.entry();
            let (depth, tag) = (entry.depth(), entry.tag());
            open.pop_while(|(outer, _)| *outer >= depth);
            let outer = open.last().map(|(_, scope)| *scope);
            let Some(scope) = outer.filter(|_| tag != DW_TAG_GNU_formal_parameter_pack) else {
                open.push((depth, outer.unwrap_or(FUNCTION)))?;
                if outer.is_none() {
                    meter.hold_all::<ScopeNode<'a>>(1)?;
                    scopes.push(ScopeNode::new(&walk.die(), FUNCTION, FUNCTION));
                }
                continue;
            };
            if is_object(tag) {
                let distance = walk.id().offset.checked_sub(id.offset);
                let Some(Ok(distance)) = distance.map(u32::try_from) else {
                    return Ok(None);
                };
                meter.hold_all::<Declaration>(1)?;
                objects.push(Declaration { scope, distance });
                walk.skip_children()?;
                continue;
            }
            if !is_block(tag) && tag != DW_TAG_inlined_subroutine {
                walk.skip_children()?;
                continue;
            }
            let die = walk.die();
            if tag == DW_TAG_lexical_block && !self.says_ranges(&die) {
                open.push((depth, scope))?;
                continue;
            }
            let Ok(number) = u32::try_from(scopes.len()) else {
                return Ok(None);
            };
            let mut ranges = self.ranges(&die, meter)?;
            merge(&mut ranges);
            if ranges.is_empty() {
                // Neither this scope nor its children contain any address.
                walk.skip_children()?;
                continue;
            }
            meter.hold_all::<(Range<u64>, u32)>(ranges.len())?;
            meter.hold_all::<ScopeNode<'a>>(1)?;
            covered.extend(ranges.into_iter().map(|range| (range, number)));
            open.push((depth, number))?;
            let function = match scopes.get(scope as usize) {
                Some(around) if is_block(tag) => around.function,
                Some(_) | None => number,
            };
            scopes.push(ScopeNode::new(&die, scope, function));
        }
        // Charges for the entries skipped at the end of the function.
        walk.pay(meter)?;
        let parent = |number: u32| scopes.get(number as usize).map(|scope| scope.parent);
        if !nest(&mut covered, parent) {
            return Ok(None);
        }
        objects.sort_unstable();
        // Most functions have one scope, and a vector has room for four at least.
        scopes.shrink_to_fit();
        objects.shrink_to_fit();
        Ok(Some(Box::new(ScopeTree {
            scopes,
            by_address: RangeMap::new(covered),
            objects,
        })))
    }
}

impl<'a> ScopeNode<'a> {
    fn new(die: &Die<'a>, parent: u32, function: u32) -> ScopeNode<'a> {
        let number = |name| die.unsigned(name).unwrap_or(0);
        ScopeNode {
            id: die.id(),
            parent,
            function,
            call: CallPlace {
                file: die.unsigned(DW_AT_call_file),
                line: number(DW_AT_call_line),
                column: number(DW_AT_call_column),
            },
            name: OnceLock::new(),
            variables: OnceLock::new(),
        }
    }
}

/// Sorts ranges, and joins adjacent ones.
fn merge(ranges: &mut Vec<Range<u64>>) {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|next, range| {
        let touch = next.start <= range.end;
        if touch {
            range.end = range.end.max(next.end);
        }
        touch
    });
}

/// Returns true if each range, with the number of its scope, lies within a range of its parent, and overlaps no sibling. The scopes of an address are
/// nested then, and the range that starts last belongs to the innermost.
fn nest(covered: &mut [(Range<u64>, u32)], parent: impl Fn(u32) -> Option<u32>) -> bool {
    covered.sort_by_key(|(range, number)| (range.start, core::cmp::Reverse(range.end), *number));
    let mut open: Vec<(u64, u32)> = Vec::new();
    covered.iter().all(|(range, number)| {
        while open.last().is_some_and(|(end, _)| *end <= range.start) {
            open.pop();
        }
        let (end, around) = open.last().copied().unwrap_or((u64::MAX, FUNCTION));
        open.push((range.end, *number));
        range.end <= end && parent(*number) == Some(around)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scopes as (first address, end, parent), numbered from 1. Parent 0 is the function.
    fn nested(scopes: &[(u64, u64, u32)]) -> bool {
        let mut covered: Vec<_> = (1..)
            .zip(scopes)
            .map(|(number, (start, end, _))| (*start..*end, number))
            .collect();
        nest(&mut covered, |number| Some(scopes[number as usize - 1].2))
    }

    #[test]
    fn scopes_nest_if_each_is_within_its_own_parent() {
        // A nested scope as large as its parent, and a scope after both.
        assert!(nested(&[
            (10, 50, 0),
            (10, 20, 1),
            (30, 40, 1),
            (30, 40, 3),
            (50, 60, 0)
        ]));
        // Two siblings that overlap or are equal.
        assert!(!nested(&[(10, 20, 0), (15, 25, 0)]));
        assert!(!nested(&[(10, 20, 0), (10, 20, 0)]));
        // A scope that extends beyond its parent, starts before it, or is elsewhere.
        assert!(!nested(&[(10, 20, 0), (15, 21, 1)]));
        assert!(!nested(&[(10, 20, 0), (9, 20, 1)]));
        assert!(!nested(&[(10, 20, 0), (30, 40, 1)]));
        // A scope within the range of a scope other than its parent.
        assert!(!nested(&[(10, 20, 0), (10, 15, 0), (12, 13, 1)]));
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let mut ranges = vec![30..40, 0..10, 10..20, 15..18, 50..60];
        merge(&mut ranges);
        assert_eq!(ranges, [0..20, 30..40, 50..60]);
    }
}
