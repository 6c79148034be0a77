//! Indexes the top level of a unit in one walk: functions by address, variables of file scope, and the enclosing namespace or class of each entry.
//!
//! It records the places of entries; reading them is left to other modules. Sources: DWARF 5 §3.1 to §3.3, §5.7.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use gimli::{DwTag, constants::*};

use super::attribute;
use super::die::Die;
use super::function::Function;
use super::id::{DieId, UnitId};
use super::index_table::index_of;
use super::range_map::RangeMap;
use super::scope_tree::ScopeTree;
use super::variable::Variable;
use super::{Bytes, DebugInfo, lossy};
use crate::error::{Error, Result};
use crate::meter::HeldStack;

/// The maximum number of scopes in a qualified name.
const QUALIFIERS: usize = 32;

/// The top level of a unit, including the partial units that it imports.
#[derive(Debug)]
pub(super) struct UnitIndex<'a> {
    /// Numbers in `function_entries`, by address.
    pub(super) functions: RangeMap<u32>,
    /// Every subprogram with code, in the order of the section. The subprograms of imported units come last.
    pub(super) function_entries: Vec<FunctionEntry<'a>>,
    /// The number of functions in the unit itself.
    own_functions: usize,
    /// Every variable and constant of file scope or in a namespace, in the order of the section.
    pub(super) globals: Vec<DieId>,
    /// The variables read from these entries.
    pub(super) read_globals: OnceLock<Option<Box<[Arc<Variable<'a>>]>>>,
    /// The error that ended the walk before the end of the unit.
    pub(super) broken: Option<Error>,
    scopes: Vec<ScopeName<'a>>,
    /// The scopes of entries that are not at the top of the unit.
    scope_of: BTreeMap<DieId, u32>,
}

/// A namespace, structure, class or union that qualifies the names of its members.
#[derive(Debug)]
struct ScopeName<'a> {
    parent: Option<u32>,
    /// `None` for an anonymous namespace.
    name: Option<Bytes<'a>>,
}

impl<'a> UnitIndex<'a> {
    /// Returns the function of the unit itself whose entry is at `id`.
    pub(super) fn function_at(&self, id: DieId) -> Option<&FunctionEntry<'a>> {
        let own = self.function_entries.get(..self.own_functions)?;
        let at = own.binary_search_by_key(&id.offset, |entry| entry.id.offset);
        own.get(at.ok()?).filter(|entry| entry.id == id)
    }

    /// Returns the scopes around an entry, as `a::b`, or `None` at the top of the unit.
    fn qualifier(&self, id: DieId) -> Option<String> {
        let mut names = Vec::new();
        let mut next = self.scope_of.get(&id).copied();
        while let Some(scope) = next.and_then(|number| self.scopes.get(number as usize)) {
            if names.len() == QUALIFIERS {
                break;
            }
            names.push(match scope.name {
                Some(name) => lossy(name.slice()),
                None => "(anonymous namespace)".into(),
            });
            next = scope.parent;
        }
        names.reverse();
        (!names.is_empty()).then(|| names.join("::"))
    }
}

/// A subprogram with code, and the data read for it.
#[derive(Debug)]
pub(super) struct FunctionEntry<'a> {
    pub(super) id: DieId,
    pub(super) function: OnceLock<Box<Function<'a>>>,
    /// The scopes, or `None` if the entries of the unit must be walked instead.
    pub(super) tree: OnceLock<Option<Box<ScopeTree<'a>>>>,
}

impl<'a> DebugInfo<'a> {
    /// Returns the function whose code contains `pc`, an address of the code object. If functions nest, it is the innermost. Inlined calls are not
    /// functions, see [`inlined_chain`](DebugInfo::inlined_chain).
    ///
    /// # Errors
    /// If none is found, but a part of the input that might contain it could not be read.
    pub fn find_function(&self, pc: u64) -> Result<Option<Function<'a>>> {
        let Some(entry) = self.function_entry(pc)? else {
            return Ok(None);
        };
        if let Some(function) = entry.function.get() {
            return Ok(Some(Function::clone(function)));
        }
        let function = self.function(entry.id)?;
        let kept = self.read_ahead(|meter| {
            meter.hold_all::<Function<'a>>(1)?;
            meter.hold_all::<Range<u64>>(function.ranges.len())?;
            Ok(Box::new(function.clone()))
        });
        if let Some(kept) = kept {
            // Another thread may have been first.
            let _ = entry.function.set(kept);
        }
        Ok(Some(function))
    }

    /// Returns the entry of the function whose code contains `pc`.
    pub(super) fn function_entry(&self, pc: u64) -> Result<Option<&FunctionEntry<'a>>> {
        match self.find_unit(pc)? {
            Some(unit) => self.function_entry_in(unit, pc),
            None => Ok(None),
        }
    }

    /// Returns the entry of the function that contains an address of a unit.
    pub(super) fn function_entry_in(
        &self,
        unit: UnitId,
        pc: u64,
    ) -> Result<Option<&FunctionEntry<'a>>> {
        let index = self.index(unit)?;
        let number = index.functions.get(pc);
        let entry = number.and_then(|number| index.function_entries.get(number as usize));
        match (entry, &index.broken) {
            (Some(entry), _) => Ok(Some(entry)),
            (None, Some(error)) => Err(error.clone()),
            (None, None) => Ok(None),
        }
    }

    /// Returns the scopes of a function that was found in an index.
    pub(super) fn scope_tree_of<'d>(
        &'d self,
        entry: &'d FunctionEntry<'a>,
    ) -> Option<&'d ScopeTree<'a>> {
        let read = || self.read_ahead(|meter| self.read_scope_tree(entry.id, meter));
        let tree = entry.tree.get_or_init(|| read().flatten());
        tree.as_deref()
    }

    /// Returns all functions with code of a unit and of the partial units it imports, in the order of their
    /// entries.
    ///
    /// # Errors
    /// If the unit cannot be read. If the unit is cut short, it returns the functions before the error.
    pub fn functions(&self, unit: UnitId) -> Result<Vec<Function<'a>>> {
        let entries = &self.index(unit)?.function_entries;
        entries
            .iter()
            .map(|entry| self.function(entry.id))
            .collect()
    }

    /// Returns the index of a unit's top level, which is built on first use.
    pub(super) fn index(&self, unit: UnitId) -> Result<&UnitIndex<'a>> {
        self.cache(unit)?
            .index
            .get_or_init(|| IndexBuilder::build(self, unit))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Returns the namespaces and classes that an entry is declared in, as `a::b`.
    pub(super) fn qualifier(&self, id: DieId) -> Option<String> {
        self.index(id.unit).ok()?.qualifier(id)
    }
}

struct IndexBuilder<'d, 'a> {
    info: &'d DebugInfo<'a>,
    ranges: Vec<(Range<u64>, u32)>,
    index: UnitIndex<'a>,
    /// The units still to be walked, and all units ever queued.
    imports: Vec<UnitId>,
    seen: BTreeSet<UnitId>,
}

/// An entry around the current one.
struct Open {
    depth: isize,
    scope: Option<u32>,
    /// True if variables here are of file scope.
    file_scope: bool,
}

impl<'d, 'a> IndexBuilder<'d, 'a> {
    fn build(info: &'d DebugInfo<'a>, unit: UnitId) -> Result<UnitIndex<'a>> {
        info.contents(unit)?;
        let mut builder = IndexBuilder {
            info,
            ranges: Vec::new(),
            index: UnitIndex {
                functions: RangeMap::new(Vec::new()),
                function_entries: Vec::new(),
                own_functions: 0,
                globals: Vec::new(),
                read_globals: OnceLock::new(),
                broken: None,
                scopes: Vec::new(),
                scope_of: BTreeMap::new(),
            },
            imports: vec![unit],
            seen: BTreeSet::from([unit]),
        };
        while let Some(walked) = builder.imports.pop() {
            if let Err(error) = builder.walk(walked) {
                builder.index.broken.get_or_insert(error);
            }
            if walked == unit {
                builder.index.own_functions = builder.index.function_entries.len();
            }
        }
        builder.index.functions = RangeMap::new(builder.ranges);
        Ok(builder.index)
    }

    fn walk(&mut self, unit: UnitId) -> Result<()> {
        let root = self.info.contents(unit)?.root.id();
        let mut walk = self.info.walk(root)?;
        let meter = Arc::clone(self.info.meter());
        let mut open: HeldStack<'_, Open> = HeldStack::new(&meter);
        while let Some(entry) = walk.next_entry_with(is_read)? {
            let (depth, tag) = (entry.depth(), entry.tag());
            let has_children = entry.has_children();
            open.pop_while(|outer| outer.depth >= depth);
            let outer = open.last();
            let scope = outer.and_then(|outer| outer.scope);
            let file_scope = outer.is_some_and(|outer| outer.file_scope);
            // Before DWARF 5 a static member was a member, and the variable that defines it refers to it.
            let is_static = tag == DW_TAG_member && entry.attr(DW_AT_external).is_some();
            walk.pay(self.info.meter())?;
            if (is_named(tag) || is_static)
                && let Some(scope) = scope
            {
                self.info.hold_all::<(DieId, u32)>(2)?;
                self.index.scope_of.insert(walk.id(), scope);
            }
            if tag == DW_TAG_subprogram {
                self.function(&walk.die());
            } else if file_scope && (tag == DW_TAG_variable || tag == DW_TAG_constant) {
                self.info.hold_all::<DieId>(1)?;
                self.index.globals.push(walk.id());
            } else if tag == DW_TAG_imported_unit {
                self.import(&walk.die());
            }
            if has_children {
                let inner = if qualifies(tag) {
                    let name = self.name(walk.die());
                    self.open_scope(tag, scope, name)
                } else if tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block {
                    None // what is local to a function has no qualified name
                } else {
                    scope
                };
                let is_first = open.last().is_none();
                open.push(Open {
                    depth,
                    scope: inner,
                    file_scope: is_first || (file_scope && tag == DW_TAG_namespace),
                })?;
            }
        }
        Ok(())
    }

    fn function(&mut self, die: &Die<'a>) {
        let number = u32::try_from(self.index.function_entries.len()).unwrap_or(u32::MAX);
        let before = self.ranges.len();
        let ranges = &mut self.ranges;
        let (info, mut full) = (self.info, Ok(()));
        let result = info.for_each_range(die, info.meter(), |range| {
            full = info.hold_all::<(Range<u64>, u32)>(1);
            ranges.push((range, number));
            full.is_err()
        });
        if let Err(error) = result.and(full) {
            self.index.broken.get_or_insert(error);
        }
        if self.ranges.len() == before {
            return;
        }
        if let Err(error) = self.info.hold_all::<FunctionEntry<'a>>(1) {
            self.ranges.truncate(before);
            self.index.broken.get_or_insert(error);
        } else {
            self.index.function_entries.push(FunctionEntry {
                id: die.id(),
                function: OnceLock::new(),
                tree: OnceLock::new(),
            });
        }
    }

    fn import(&mut self, die: &Die<'a>) {
        let target = die
            .attribute(DW_AT_import)
            .and_then(|attribute| self.info.target(die, attribute).ok()?);
        if let Some(target) = target
            && self.seen.insert(target.unit)
        {
            self.imports.push(target.unit);
        }
    }

    /// Returns the scope for the contents of a namespace or class. An unnamed class adds nothing to a name.
    fn open_scope(
        &mut self,
        tag: DwTag,
        parent: Option<u32>,
        name: Option<Bytes<'a>>,
    ) -> Option<u32> {
        if name.is_none() && tag != DW_TAG_namespace {
            return parent;
        }
        let number = u32::try_from(self.index.scopes.len()).ok()?;
        self.index.scopes.push(ScopeName { parent, name });
        Some(number)
    }

    /// Returns the name of a namespace or class. It may be in an entry that this one extends, or in a type unit.
    fn name(&self, die: Die<'a>) -> Option<Bytes<'a>> {
        let definition = self.info.definition(&die);
        let chain = self.info.chain(die);
        if let Some((die, name)) = chain.find(DW_AT_name) {
            return self.text(die, name);
        }
        let definition = self.info.die(definition?).ok()?;
        self.text(&definition, definition.attribute(DW_AT_name)?)
    }

    fn text(&self, die: &Die<'a>, attribute: &gimli::Attribute<Bytes<'a>>) -> Option<Bytes<'a>> {
        let unit = die.id().unit;
        let value = attribute.value();
        if let Some((table, index)) = index_of(&value) {
            self.info.check_index(unit, table, index).ok()?.ok()?;
        }
        let file = self.info.file(self.info.entry(unit).ok()?).ok()?;
        let unit = &self.info.contents(unit).ok()?.gimli;
        file.dwarf.attr_string(unit, value).ok()
    }
}

/// Returns true if attributes of an entry matter to the index. Most entries are variables, whose attributes do not.
fn is_read(abbreviation: &gimli::Abbreviation) -> bool {
    let tag = abbreviation.tag();
    tag == DW_TAG_subprogram
        || tag == DW_TAG_imported_unit
        || tag == DW_TAG_member
        || qualifies(tag)
}

/// Returns true if an entry qualifies the names of its members.
fn qualifies(tag: DwTag) -> bool {
    tag == DW_TAG_namespace || tag == DW_TAG_module || attribute::is_record(tag)
}

/// Returns true if the qualified name of such an entry may be asked for.
fn is_named(tag: DwTag) -> bool {
    attribute::is_record(tag)
        || [
            DW_TAG_enumeration_type,
            DW_TAG_typedef,
            DW_TAG_base_type,
            DW_TAG_subprogram,
            DW_TAG_variable,
            DW_TAG_constant,
            DW_TAG_namespace,
            DW_TAG_unspecified_type,
            DW_TAG_template_alias,
        ]
        .contains(&tag)
}
