//! Finds the blocks and inlined calls that contain an address.
//!
//! Reading their declarations is left to `variable`. Sources: DWARF 5 §3.3.8, §3.5; HET A.3.3.5.

use core::ops::Range;
use std::borrow::Cow;

use gimli::DwTag;
use gimli::constants::{
    DW_AT_call_column, DW_AT_call_file, DW_AT_call_line, DW_AT_name,
    DW_TAG_GNU_formal_parameter_pack, DW_TAG_catch_block, DW_TAG_constant, DW_TAG_formal_parameter,
    DW_TAG_inlined_subroutine, DW_TAG_lexical_block, DW_TAG_try_block, DW_TAG_variable,
    DW_TAG_with_stmt,
};

use super::die::Die;
use super::function::{Declaration, Function, Keep, Simt};
use super::id::DieId;
use super::source_file::SourceFile;
use super::walk::Chain;
use super::{Bytes, DebugInfo};
use crate::error::{Error, Result};
use crate::meter::{HeldStack, Meter};

/// The number of entries charged for reading an inlined call.
const PER_CALL: u64 = 16;

/// A call that the compiler replaced by the body of the function (`DW_TAG_inlined_subroutine`).
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct InlinedCall<'a> {
    /// The entry.
    pub die: DieId,
    /// The abstract instance: the entry of the function that was inlined.
    pub origin: Option<DieId>,
    /// The name of the function in the source, without namespace or class.
    pub name: Option<Cow<'a, str>>,
    /// The enclosing namespaces and classes of the function, as `a::b`.
    pub qualifier: Option<String>,
    /// The linkage name of the function, if that differs.
    pub linkage_name: Option<Cow<'a, str>>,
    /// The declaration of the function.
    pub declaration: Declaration,
    /// The file of the call.
    pub call_file: Option<SourceFile>,
    /// The line of the call, from 1.
    pub call_line: Option<u64>,
    /// The column of the call, from 1.
    pub call_column: Option<u64>,
    /// The addresses of the body.
    pub ranges: Vec<Range<u64>>,
    /// The use of lanes, if the scope or the inlined function describes it.
    pub simt: Simt<'a>,
    /// The reason why an attribute of the entry is missing here.
    pub problem: Option<Error>,
}

/// A function, block or inlined call that contains an address.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) die: Die<'a>,
    /// The scope around it, or `None` for the function.
    pub(super) parent: Option<usize>,
    pub(super) depth: isize,
}

/// The scopes in which names are looked up at an address of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameScopes {
    /// For each function, the innermost first: its blocks and the function itself, from the inside out. Each is followed by the entries that it
    /// completes, such as its abstract instance.
    pub(crate) functions: Vec<Vec<DieId>>,
}

/// The scopes of a function that contain an address, and their declarations.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    /// In the order of the section; the function comes first.
    pub(super) scopes: Vec<Scope<'a>>,
    /// Parameters, variables and constants, each with the number of its scope, in the order of the
    /// section.
    pub(super) objects: Vec<(usize, Die<'a>)>,
}

impl<'a> DebugInfo<'a> {
    /// Returns the inlined calls of `function` that contain `pc`, an address of the code object, innermost first.
    ///
    /// # Errors
    /// If the entries of the function are malformed.
    pub fn inlined_chain(
        &self,
        function: &Function<'a>,
        pc: u64,
        meter: &Meter,
    ) -> Result<Vec<InlinedCall<'a>>> {
        let mut calls = Vec::new();
        if let Some(tree) = self.scope_tree(function.die) {
            let mut inner = tree.innermost_function(pc);
            while let Some(outer) = tree.caller_of(inner) {
                meter.work(PER_CALL)?;
                meter.hold_all::<InlinedCall<'a>>(1)?;
                if let Some(scope) = tree.scope(inner) {
                    calls.push(self.inlined_call(&self.die(scope.id)?, meter));
                }
                inner = outer;
            }
            return Ok(calls);
        }
        let scopes = self.scopes_at(function.die, pc, meter)?.scopes;
        // If scopes overlap without nesting, which is malformed, the last one counts.
        let mut next = deepest(&scopes);
        while let Some(scope) = next.and_then(|number| scopes.get(number)) {
            if scope.die.tag() == DW_TAG_inlined_subroutine {
                meter.work(PER_CALL)?;
                meter.hold_all::<InlinedCall<'a>>(1)?;
                calls.push(self.inlined_call(&scope.die, meter));
            }
            next = scope.parent;
        }
        Ok(calls)
    }

    /// Reads the inlined call at an entry.
    ///
    /// # Errors
    /// If there is no entry, or its cost exceeds the limit.
    pub(crate) fn inlined_call_at(&self, id: DieId, meter: &Meter) -> Result<InlinedCall<'a>> {
        meter.work(PER_CALL)?;
        Ok(self.inlined_call(&self.die(id)?, meter))
    }

    /// Returns the scopes at `pc`, an address of `function`, in which names are looked up.
    ///
    /// * `call`: the frame, as the number of inlined calls within it. If there is none, names of all inlined calls are visible.
    ///
    /// # Errors
    /// If the entries of the function are malformed.
    pub(crate) fn name_scopes(
        &self,
        function: DieId,
        pc: u64,
        call: Option<usize>,
        meter: &Meter,
    ) -> Result<NameScopes> {
        let scopes = self.scopes_at(function, pc, meter)?.scopes;
        let mut found = NameScopes::default();
        // The inlined calls that are left before the frame is reached.
        let mut calls = call;
        let mut entries = Vec::new();
        let mut next = deepest(&scopes);
        while let Some(scope) = next.and_then(|number| scopes.get(number)) {
            next = scope.parent;
            meter.work(PER_CALL)?;
            let is_function = next.is_none() || scope.die.tag() == DW_TAG_inlined_subroutine;
            if calls.is_none_or(|calls| calls == 0) {
                let chain = self.chain(scope.die.clone());
                meter.hold_all::<DieId>(chain.entries().len())?;
                entries.extend(chain.entries().map(Die::id));
                if is_function {
                    found.functions.push(core::mem::take(&mut entries));
                }
            }
            match calls {
                Some(0) if is_function => break,
                Some(within) if is_function => calls = within.checked_sub(1),
                Some(_) | None => {}
            }
        }
        Ok(found)
    }

    /// Returns the enclosing namespaces and classes of the function that an entry is, or is an instance of.
    pub(super) fn chain_qualifier(&self, chain: &Chain<'a>) -> Option<String> {
        let mut entries = chain.entries().rev();
        entries.find_map(|die| self.qualifier(die.id()))
    }

    /// Returns the enclosing namespaces and classes of an entry, or of the entry that it completes.
    pub(crate) fn completed_qualifier(&self, id: DieId) -> Option<String> {
        self.chain_qualifier(&self.chain(self.die(id).ok()?))
    }

    fn inlined_call(&self, die: &Die<'a>, meter: &Meter) -> InlinedCall<'a> {
        let mut problem = None;
        let mut keep = Keep(&mut problem);
        let chain = self.chain(die.clone());
        let ranges = keep.value(self.ranges(die, meter).map(Some));
        let simt = self.simt(&chain, &mut keep);
        let call_file = die.attribute(DW_AT_call_file);
        InlinedCall {
            die: die.id(),
            origin: chain.entries().nth(1).map(Die::id),
            name: self.chain_string(&chain, DW_AT_name),
            qualifier: self.chain_qualifier(&chain),
            linkage_name: self.linkage_name(&chain),
            declaration: self.declaration(&chain),
            call_file: call_file.and_then(|attribute| self.source_file_of(die, attribute)),
            call_line: die.unsigned(DW_AT_call_line).filter(|line| *line != 0),
            call_column: die
                .unsigned(DW_AT_call_column)
                .filter(|column| *column != 0),
            ranges: ranges.unwrap_or_default(),
            simt,
            problem,
        }
    }

    /// Returns the scopes of the function at `id` that contain `pc`, with their declarations.
    ///
    /// A block without addresses is treated as part of the scope around it. Old compilers write such blocks, and new ones write them for code that
    /// was optimized away.
    pub(super) fn scopes_at(&self, id: DieId, pc: u64, meter: &Meter) -> Result<Scopes<'a>> {
        let mut walk = self.walk(id)?;
        let mut found = Scopes {
            scopes: Vec::new(),
            objects: Vec::new(),
        };
        // The entries around the current one: their depths, and the scopes that get their declarations.
        let mut open: HeldStack<'_, (isize, usize)> = HeldStack::new(meter);
        while walk.next_entry()?.is_some() {
            walk.pay(meter)?;
            let entry = walk.entry();
            let (depth, tag) = (entry.depth(), entry.tag());
            open.pop_while(|(outer, _)| *outer >= depth);
            let Some(&(_, scope)) = open.last() else {
                open.push((depth, 0))?;
                found.scopes.push(Scope {
                    die: walk.die(),
                    parent: None,
                    depth,
                });
                continue;
            };
            if is_object(tag) {
                let die = walk.die();
                meter.hold_all::<(usize, Die<'a>)>(1)?;
                meter.hold_all::<gimli::Attribute<Bytes<'a>>>(die.attributes().len())?;
                found.objects.push((scope, die));
                walk.skip_children()?;
            } else if tag == DW_TAG_GNU_formal_parameter_pack {
                open.push((depth, scope))?;
            } else if !is_block(tag) && tag != DW_TAG_inlined_subroutine {
                walk.skip_children()?;
            } else {
                let die = walk.die();
                if tag == DW_TAG_lexical_block && !self.says_ranges(&die) {
                    open.push((depth, scope))?;
                } else if self.covers(&die, pc, meter).or_else(unless_limit)? {
                    meter.hold_all::<Scope<'a>>(1)?;
                    meter.hold_all::<gimli::Attribute<Bytes<'a>>>(die.attributes().len())?;
                    open.push((depth, found.scopes.len()))?;
                    found.scopes.push(Scope {
                        die,
                        parent: Some(scope),
                        depth,
                    });
                } else {
                    walk.skip_children()?;
                }
            }
        }
        // Charges for the entries skipped at the end of the function.
        walk.pay(meter)?;
        Ok(found)
    }
}

/// Skips a block whose addresses are malformed, since the declarations of the other blocks remain useful. Limits are returned as errors.
fn unless_limit(error: Error) -> Result<bool> {
    if error.is_limit() {
        return Err(error);
    }
    Ok(false)
}

/// Returns the number of the deepest scope. If there are several, it is the last.
fn deepest(scopes: &[Scope<'_>]) -> Option<usize> {
    let numbered = scopes.iter().enumerate();
    numbered
        .max_by_key(|(number, scope)| (scope.depth, *number))
        .map(|(number, _)| number)
}

/// Returns true if an entry opens a scope within a function but is not itself one.
pub(crate) fn is_block(tag: DwTag) -> bool {
    [
        DW_TAG_lexical_block,
        DW_TAG_try_block,
        DW_TAG_catch_block,
        DW_TAG_with_stmt,
    ]
    .contains(&tag)
}

/// Returns true if an entry is a parameter, variable or constant.
pub(super) fn is_object(tag: DwTag) -> bool {
    [DW_TAG_formal_parameter, DW_TAG_variable, DW_TAG_constant].contains(&tag)
}
