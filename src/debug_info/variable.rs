//! Finds the variables in scope at an address, and reads their entries.
//!
//! Evaluating locations and formatting values are left to `eval` and `display`. Sources: DWARF 5 §4.1, §3.3.8.2; HET A.4.1.

use core::ops::Range;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::DebugInfo;
use super::attribute::Extension;
use super::die::Die;
use super::function::{Declaration, Function, Keep};
use super::id::{DieId, UnitId};
use super::representation::is_big_endian;
use super::scope::{Scope, is_block, is_object};
use super::value::DieValue;
use crate::arch::MemorySpace;
use crate::error::{Error, Result};
use crate::eval::LocationAttribute;
use crate::meter::Meter;
use gimli::DwOp;
use gimli::constants::{
    DW_AT_abstract_origin, DW_AT_artificial, DW_AT_const_value, DW_AT_declaration, DW_AT_endianity,
    DW_AT_location, DW_AT_name, DW_AT_specification, DW_AT_start_scope, DW_OP_GNU_addr_index,
    DW_OP_addr, DW_OP_addrx, DW_TAG_constant, DW_TAG_formal_parameter, DW_TAG_inlined_subroutine,
};

/// The kind of the variable.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    /// A parameter of a function.
    Parameter,
    /// A variable of a function or block.
    Variable,
    /// A named constant (`DW_TAG_constant`).
    Constant,
    /// A variable of file scope or of a namespace.
    Global,
}

impl VariableKind {
    /// Returns the name in JSON documents: `parameter`, `variable`, `constant` or `global`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            VariableKind::Parameter => "parameter",
            VariableKind::Variable => "variable",
            VariableKind::Constant => "constant",
            VariableKind::Global => "global",
        }
    }
}

/// The start of a variable's scope, if not at the start of its block (`DW_AT_start_scope`).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartScope {
    /// The variable is in scope from this many bytes after the first address of its block.
    Offset(u64),
    /// The variable is in scope at these addresses.
    Ranges(Vec<Range<u64>>),
}

/// A variable, parameter or constant.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Variable<'a> {
    /// The entry.
    pub die: DieId,
    /// The name in the source, without namespace or class.
    pub name: Option<Cow<'a, str>>,
    /// The linkage name, if that differs.
    pub linkage_name: Option<Cow<'a, str>>,
    /// The kind of the variable.
    pub kind: VariableKind,
    /// The entry of its type.
    pub ty: Option<DieId>,
    /// The declaration.
    pub declaration: Declaration,
    /// The enclosing function, which may be inlined, or the namespace or class of a global.
    pub scope: Option<Cow<'a, str>>,
    /// The entry of the enclosing function, block or inlined call, or `None` for a global.
    pub scope_die: Option<DieId>,
    /// `DW_AT_location`.
    pub location: Option<LocationAttribute<'a>>,
    /// `DW_AT_const_value`, lowest byte first, as long as its type if that size is known.
    pub const_value: Option<Vec<u8>>,
    /// `DW_AT_LLVM_memory_space`: the memory space of the source language. An unassigned number counts as none.
    pub memory_space: MemorySpace,
    /// True if the compiler generated it.
    pub artificial: bool,
    /// True if the entry only declares a variable that is defined elsewhere.
    pub is_declaration: bool,
    /// True if a concrete instance of a function omits it. `die` is then its entry in the abstract instance: the variable is in the source, but not
    /// in the code.
    pub is_omitted: bool,
    /// The position of a parameter among the parameters of its function, from 0. For an inlined instance, positions follow the abstract instance,
    /// even if the instance omits some.
    pub position: Option<u32>,
    /// `DW_AT_start_scope`.
    pub start_scope: Option<StartScope>,
    /// True if its bytes are in big-endian order although its type's bytes need not be (`DW_AT_endianity`).
    pub big_endian: bool,
    /// The name of an unsupported attribute of the entry that changes the meaning of its bytes; see [`type_attribute`](super::type_attribute).
    pub unsupported: Option<&'static str>,
    /// The reason why an attribute of the entry is missing here.
    pub problem: Option<Error>,
}

impl Variable<'_> {
    /// Returns true if the location is the same in every frame: an address, no location or a constant.
    pub(crate) fn is_same_in_every_frame(&self) -> bool {
        match &self.location {
            Some(LocationAttribute::Expression(expression)) => {
                let addresses = [DW_OP_addr, DW_OP_addrx, DW_OP_GNU_addr_index];
                let first = expression.bytes.first().copied().map(DwOp);
                first.is_some_and(|first| addresses.contains(&first))
            }
            Some(LocationAttribute::List { .. }) => false,
            None => true,
        }
    }
}

fn owned(variables: Vec<Arc<Variable<'_>>>) -> Vec<Variable<'_>> {
    variables.into_iter().map(Arc::unwrap_or_clone).collect()
}

/// The variables that are in scope at an address.
#[derive(Debug, Default)]
pub(crate) struct InScope<'a> {
    /// The variables, innermost scope first. Variables of file scope come last.
    pub(crate) variables: Vec<Arc<Variable<'a>>>,
    /// For each inlined call at the address, innermost first, the end of its variables in `variables`. The rest belongs to the function.
    pub(crate) ends: Vec<usize>,
}

/// Numbers the parameters among the declarations of a function.
fn positions(declared: &[Die<'_>]) -> BTreeMap<DieId, u32> {
    let parameters = declared
        .iter()
        .filter(|die| die.tag() == DW_TAG_formal_parameter);
    (parameters.zip(0..))
        .map(|(die, position)| (die.id(), position))
        .collect()
}

/// Data that one query reads and needs again.
struct Reading<'m, 'a> {
    meter: &'m Meter,
    /// The declarations of abstract instances. One may be inlined many times.
    declared: BTreeMap<DieId, Rc<[Die<'a>]>>,
}

impl<'m> Reading<'m, '_> {
    fn new(meter: &'m Meter) -> Self {
        Reading {
            meter,
            declared: BTreeMap::new(),
        }
    }
}

/// The number of entries charged for a variable: itself, the entries that it completes, its type, and their scopes.
const PER_VARIABLE: u64 = 8;

/// Charges for finding the ends of its names, since many variables can share the same long name.
fn pay_for_names(meter: &Meter, variable: &Variable<'_>) -> Result<()> {
    let length = |name: &Option<Cow<'_, str>>| name.as_ref().map_or(0, |name| name.len());
    meter.charge_bytes(length(&variable.name))?;
    meter.charge_bytes(length(&variable.linkage_name))
}

/// Charges for reading and keeping a variable.
fn pay_for_variable(meter: &Meter) -> Result<()> {
    meter.work(PER_VARIABLE)?;
    meter.hold_all::<Variable<'_>>(1)
}

impl<'a> DebugInfo<'a> {
    /// Returns the variables in scope at `pc`, an address of the code object in `function`. The innermost scope comes first, and within a scope they
    /// have the order of the entries. After blocks, inlined calls and the function come the unit's variables of file scope.
    ///
    /// An instance of an inlined function also gets the variables that only its abstract instance has, marked [`is_omitted`](Variable::is_omitted).
    /// They are included because they hide outer variables of the same name in the source.
    ///
    /// # Errors
    /// If the entries of the function are malformed.
    pub fn variables_at(&self, function: &Function<'a>, pc: u64) -> Result<Vec<Variable<'a>>> {
        let mut found = InScope::default();
        match self.known_variables(function.die, pc) {
            Some(known) => found = known,
            None => self.walked_variables(function.die, pc, &self.for_query(), &mut found)?,
        }
        Ok(owned(found.variables))
    }

    /// Reads the variables in a walk over the entries of the function, and charges `meter`. The variables found before an error are in `in_scope`
    /// too.
    pub(crate) fn walked_variables(
        &self,
        function: DieId,
        pc: u64,
        meter: &Meter,
        in_scope: &mut InScope<'a>,
    ) -> Result<()> {
        let InScope { variables, ends } = in_scope;
        let found = self.scopes_at(function, pc, meter)?;
        let names = self.function_names(&found.scopes);
        let mut objects: Vec<Vec<Die<'a>>> = found.scopes.iter().map(|_| Vec::new()).collect();
        for (number, die) in found.objects {
            if let Some(objects) = objects.get_mut(number) {
                objects.push(die);
            }
        }
        let mut scopes: Vec<_> = found.scopes.iter().zip(names).zip(objects).collect();
        scopes.sort_by_key(|((scope, _), _)| core::cmp::Reverse(scope.depth));
        let mut reading = Reading::new(meter);
        for ((scope, name), objects) in scopes {
            self.variables_of_scope(&scope.die, &name, &objects, variables, &mut reading)?;
            if scope.die.tag() == DW_TAG_inlined_subroutine {
                meter.hold_all::<usize>(1)?;
                ends.push(variables.len());
            }
        }
        self.globals_within(function.unit, meter, variables)
    }

    /// Returns the variables in scope from a function's kept scopes, or `None` if there are none.
    pub(crate) fn known_variables(&self, function: DieId, pc: u64) -> Option<InScope<'a>> {
        let tree = self.scope_tree(function)?;
        let globals = self.kept_globals(function.unit)?;
        let InScope {
            mut variables,
            mut ends,
        } = InScope::default();
        for number in tree.around(pc) {
            variables.extend_from_slice(self.scope_variables(tree, number)?);
            if tree.is_inlined_call(number) {
                ends.push(variables.len());
            }
        }
        variables.extend_from_slice(globals);
        Some(InScope { variables, ends })
    }

    /// Returns the variables of file scope of a unit, read once, or `None` if they cannot be read or kept.
    fn kept_globals(&self, unit: UnitId) -> Option<&[Arc<Variable<'a>>]> {
        let read = |meter: &Meter| {
            let mut globals = Vec::new();
            self.globals_within(unit, meter, &mut globals)?;
            Ok(globals.into_boxed_slice())
        };
        let globals = &self.index(unit).ok()?.read_globals;
        globals.get_or_init(|| self.read_ahead(read)).as_deref()
    }

    /// Reads the variables of the scope at `id`, which declares `objects` and is in the function `name`.
    pub(super) fn read_scope_variables(
        &self,
        id: DieId,
        name: &Option<Cow<'a, str>>,
        objects: &[Die<'a>],
        meter: &Meter,
    ) -> Result<Vec<Arc<Variable<'a>>>> {
        let mut variables = Vec::new();
        let mut reading = Reading::new(meter);
        self.variables_of_scope(&self.die(id)?, name, objects, &mut variables, &mut reading)?;
        Ok(variables)
    }

    /// Returns the variables of file scope of a unit, and those in its namespaces, in the order of the entries. A declaration with a definition in
    /// the unit is left out.
    ///
    /// # Errors
    /// If the unit cannot be read.
    pub fn globals(&self, unit: UnitId) -> Result<Vec<Variable<'a>>> {
        let mut variables = Vec::new();
        self.globals_within(unit, &self.for_query(), &mut variables)?;
        Ok(owned(variables))
    }

    /// Finds the global variables of a unit and charges `meter`. The variables found before an error are in `variables` too.
    pub(crate) fn globals_within(
        &self,
        unit: UnitId,
        meter: &Meter,
        variables: &mut Vec<Arc<Variable<'a>>>,
    ) -> Result<()> {
        let mut globals = Vec::new();
        let mut completed = BTreeSet::new();
        let read = self.add_globals(unit, meter, &mut globals, &mut completed);
        globals.retain(|variable| !completed.contains(&variable.die));
        variables.append(&mut globals);
        read
    }

    /// * `completed`: collects the declarations that other entries complete.
    fn add_globals(
        &self,
        unit: UnitId,
        meter: &Meter,
        variables: &mut Vec<Arc<Variable<'a>>>,
        completed: &mut BTreeSet<DieId>,
    ) -> Result<()> {
        let index = self.index(unit)?;
        for id in &index.globals {
            let die = self.die(*id)?;
            let specification = die.attribute(DW_AT_specification);
            if let Some(attribute) = specification
                && let Ok(Some(target)) = self.target(&die, attribute)
            {
                completed.insert(target);
            }
            pay_for_variable(meter)?;
            let mut variable = self.variable(&die, meter);
            pay_for_names(meter, &variable)?;
            if variable.kind == VariableKind::Variable {
                variable.kind = VariableKind::Global;
            }
            let chain = self.chain(die);
            let qualifier = chain
                .entries()
                .rev()
                .find_map(|die| self.qualifier(die.id()));
            meter.hold(qualifier.as_ref().map_or(0, |text| text.len() as u64))?;
            variable.scope = qualifier.map(Cow::Owned);
            variables.push(Arc::new(variable));
        }
        Ok(())
    }

    /// Appends the variables of the scope `scope`, which declares `objects` and is in the function `name`.
    fn variables_of_scope(
        &self,
        scope: &Die<'a>,
        name: &Option<Cow<'a, str>>,
        objects: &[Die<'a>],
        variables: &mut Vec<Arc<Variable<'a>>>,
        reading: &mut Reading<'_, 'a>,
    ) -> Result<()> {
        let origin = scope.attribute(DW_AT_abstract_origin);
        let origin = origin.and_then(|origin| self.target(scope, origin).ok()?);
        let declared = match origin {
            Some(origin) => Some(self.own_variables(origin, reading)?),
            None => None,
        };
        let parameters = positions(declared.as_deref().unwrap_or(objects));
        let mut present = BTreeSet::new();
        let meter = reading.meter;
        let mut add = |die: &Die<'a>, position, is_omitted| {
            pay_for_variable(meter)?;
            let mut variable = self.variable(die, meter);
            pay_for_names(meter, &variable)?;
            variable.scope.clone_from(name);
            variable.scope_die = Some(scope.id());
            variable.is_omitted = is_omitted;
            variable.position = position;
            variables.push(Arc::new(variable));
            Ok::<_, Error>(())
        };
        for die in objects {
            let origins = self.chain(die.clone());
            let position = |one: &Die<'a>| parameters.get(&one.id()).copied();
            let position = origins.entries().find_map(position);
            present.extend(origins.entries().map(Die::id));
            add(die, position, false)?;
        }
        for die in declared.iter().flat_map(|declared| declared.iter()) {
            if !present.contains(&die.id()) {
                add(die, parameters.get(&die.id()).copied(), true)?;
            }
        }
        Ok(())
    }

    /// Returns the parameters, variables and constants that are direct children of an entry.
    fn own_variables(&self, id: DieId, reading: &mut Reading<'_, 'a>) -> Result<Rc<[Die<'a>]>> {
        if let Some(known) = reading.declared.get(&id) {
            return Ok(Rc::clone(known));
        }
        let mut children = self.children(id)?;
        let mut found = Vec::new();
        while let Some(child) = children.next(reading.meter)? {
            if is_object(child.tag()) {
                reading.meter.hold_all::<Die<'a>>(1)?;
                found.push(child);
            }
        }
        let found: Rc<[Die<'a>]> = found.into();
        reading.declared.insert(id, Rc::clone(&found));
        Ok(found)
    }

    /// Returns for each scope the name of the enclosing function, inlined or not.
    fn function_names(&self, scopes: &[Scope<'a>]) -> Vec<Option<Cow<'a, str>>> {
        let mut names: Vec<Option<Cow<'a, str>>> = Vec::with_capacity(scopes.len());
        for scope in scopes {
            let outer = scope.parent.and_then(|parent| names.get(parent)?.clone());
            names.push(if is_block(scope.die.tag()) {
                outer
            } else {
                self.chain_string(&self.chain(scope.die.clone()), DW_AT_name)
            });
        }
        names
    }

    /// Returns the static data member of a record at an entry.
    ///
    /// # Errors
    /// If there is no entry.
    pub(crate) fn constant_member(&self, id: DieId, meter: &Meter) -> Result<Variable<'a>> {
        Ok(Variable {
            kind: VariableKind::Constant,
            ..self.paid_variable(&self.die(id)?, meter)?
        })
    }

    /// Returns the parameters, variables and constants with a name in a function and its blocks. The flag is true for those outside of inner blocks.
    ///
    /// # Errors
    /// If there is no entry.
    pub(crate) fn declared_in(
        &self,
        function: DieId,
        name: &str,
        meter: &Meter,
    ) -> Result<Vec<(Variable<'a>, bool)>> {
        let mut found = Vec::new();
        let mut dies = self.subtree(function)?;
        while let Some(die) = dies.next_ref()? {
            meter.work(1)?;
            let (tag, depth) = (die.tag(), die.depth());
            if is_object(tag) {
                let known = die.attribute(DW_AT_name);
                let known = known.and_then(|known| self.string_of(die, known));
                if known.as_deref() == Some(name) {
                    meter.hold_all::<(Variable<'a>, bool)>(2)?;
                    found.push((self.paid_variable(die, meter)?, depth == 1));
                }
            }
            if !die.is_null() && depth > 0 && !is_block(tag) {
                dies.skip_children()?;
            }
        }
        Ok(found)
    }

    fn paid_variable(&self, die: &Die<'a>, meter: &Meter) -> Result<Variable<'a>> {
        pay_for_variable(meter)?;
        let variable = self.variable(die, meter);
        pay_for_names(meter, &variable)?;
        Ok(variable)
    }

    /// Reads the variable, parameter or constant `die`; its scope is left to the caller.
    fn variable(&self, die: &Die<'a>, meter: &Meter) -> Variable<'a> {
        let mut problem = None;
        let mut keep = Keep(&mut problem);
        let chain = self.chain(die.clone());
        let ty = keep.value(self.type_of(&chain));
        let location = chain
            .find(DW_AT_location)
            .and_then(|(die, attribute)| keep.value(self.location(die, attribute)));
        let const_value = keep.value(self.chain_value(&chain, DW_AT_const_value));
        let const_value =
            const_value.and_then(|value| keep.value(self.constant_bytes(&value, ty, meter)));
        let memory_space = chain.find_extension(Extension::MemorySpace);
        let memory_space = memory_space.and_then(|(_, attribute)| attribute.udata_value());
        let start_scope = keep.value(self.start_scope(die, meter));
        let unsupported = chain.entries().find_map(|die| self.not_understood(die));
        let endianity = chain
            .find(DW_AT_endianity)
            .map(|(die, _)| is_big_endian(die));
        let kind = if die.tag() == DW_TAG_formal_parameter {
            VariableKind::Parameter
        } else if die.tag() == DW_TAG_constant {
            VariableKind::Constant
        } else {
            VariableKind::Variable
        };
        Variable {
            die: die.id(),
            name: self.chain_string(&chain, DW_AT_name),
            linkage_name: self.linkage_name(&chain),
            kind,
            ty,
            declaration: self.declaration(&chain),
            scope: None,
            scope_die: None,
            location,
            const_value,
            memory_space: memory_space
                .and_then(MemorySpace::from_number)
                .unwrap_or(MemorySpace::None),
            artificial: chain.flag(DW_AT_artificial),
            is_declaration: die.flag(DW_AT_declaration),
            is_omitted: false,
            position: None,
            start_scope,
            big_endian: matches!(endianity, Some(Ok(true))),
            unsupported: unsupported.or(match endianity {
                Some(Err(_)) => Some("DW_AT_endianity"),
                Some(Ok(_)) | None => None,
            }),
            problem,
        }
    }

    fn start_scope(&self, die: &Die<'a>, meter: &Meter) -> Result<Option<StartScope>> {
        let Some(attribute) = die.attribute(DW_AT_start_scope) else {
            return Ok(None);
        };
        let value = self.value(die, attribute)?;
        let (DieValue::RangeList(offset) | DieValue::SectionOffset(offset)) = value else {
            return Ok(value.unsigned().map(StartScope::Offset));
        };
        let mut ranges = Vec::new();
        let mut full = Ok(());
        self.for_each_in_list(die.id(), offset, meter, |range| {
            full = meter.hold_all::<Range<u64>>(1);
            ranges.push(range);
            full.is_err()
        })?;
        full?;
        Ok(Some(StartScope::Ranges(ranges)))
    }
}
