//! Finds the local variables of a frame by name, and the variables of files by entry. Each variable is read once.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use gimli::constants::{DW_AT_const_value, DW_AT_external, DW_AT_specification};

use super::name_scope::start_of;
use super::syntax::Path;
use crate::debug_info::types::TypeTable;
use crate::debug_info::{DebugInfo, Die, DieId, NameScopes, UnitId, Variable};
use crate::error::{Error, Result};
use crate::inspect::{StopFrame, VariableValue};
use crate::nearest::Nearest;
use crate::tree::Tree;

/// The visible variables of a frame.
#[derive(Debug)]
pub(super) struct Scope<'s, 'p, 'a> {
    /// The values of the frame, including its function.
    pub(super) tree: Tree<'s, 'p, 'a>,
    /// The variables, from the innermost scope outwards, with the variables of file scope at the end.
    visible: Vec<Arc<Variable<'a>>>,
    /// The limit that was reached before all variables were found.
    pub(super) limit: Option<Error>,
    /// The scopes of the frame in which names are looked up, once they were needed.
    name_scopes: OnceCell<NameScopes>,
    /// The variables of file scope in other units, once they were needed.
    globals: BTreeMap<UnitId, Vec<Arc<Variable<'a>>>>,
    /// The variables of files that were found, by the entry that a name leads to.
    found: BTreeMap<DieId, Option<Arc<Variable<'a>>>>,
    values: BTreeMap<DieId, Rc<VariableValue<'p>>>,
}

impl<'s, 'p, 'a> Scope<'s, 'p, 'a> {
    pub(super) fn new(frame: StopFrame<'s, 'p, 'a>) -> Result<Scope<'s, 'p, 'a>> {
        let found = frame.visible()?;
        let (function, visible, limit) = match found {
            Some(found) => (Some(found.function), found.variables, found.limit),
            None => (None, Vec::new(), None),
        };
        Ok(Scope {
            tree: Tree::new(frame, function),
            visible,
            limit,
            name_scopes: OnceCell::new(),
            globals: BTreeMap::new(),
            found: BTreeMap::new(),
            values: BTreeMap::new(),
        })
    }

    /// Returns the unit of the frame's function.
    pub(super) fn unit(&self) -> Option<UnitId> {
        self.tree
            .function
            .as_ref()
            .map(|function| function.die.unit)
    }

    /// Returns the scopes of the frame in which names are looked up. If they cannot be read, only the function is known.
    pub(super) fn name_scopes(&self) -> &NameScopes {
        self.name_scopes.get_or_init(|| {
            let Some(function) = &self.tree.function else {
                return NameScopes::default();
            };
            let found = self.tree.frame.name_scopes(function.die);
            found.unwrap_or_else(|_| NameScopes {
                functions: vec![vec![function.die]],
            })
        })
    }

    /// Returns the variable of a function or block with a path.
    pub(super) fn local(&self, path: &Path<'_>) -> Option<Arc<Variable<'a>>> {
        if path.is_absolute {
            return None;
        }
        let local = self
            .visible
            .iter()
            .filter(|variable| variable.scope_die.is_some());
        let is_it = |variable: &&Arc<Variable<'a>>| {
            let function = variable.scope.as_deref().unwrap_or_default();
            variable.name.as_deref() == Some(path.name) && start_of(path, function).is_some()
        };
        local.into_iter().find(is_it).cloned()
    }

    /// Returns the nearest other frame that has a variable of a function with a path: its number and its function.
    ///
    /// * `is_it`: returns true for the wanted variable.
    pub(super) fn other_frame(
        &self,
        path: &Path<'_>,
        is_it: impl Fn(&Variable<'a>) -> bool,
    ) -> Option<(usize, String)> {
        /// The distance up to which frames are searched.
        const SEARCHED: usize = 16;
        let (own, stop) = (self.tree.frame.index(), self.tree.frame.stop());
        let near = (1..=SEARCHED).flat_map(|n| [own.checked_sub(n), own.checked_add(n)]);
        near.flatten().find_map(|index| {
            let frame = stop.frame(index)?;
            let scope = Scope::new(frame).ok()?;
            let variable = scope.local(path).filter(|variable| is_it(variable))?;
            // The function of the variable is inlined into the function of the frame, or is the same.
            let name = variable.scope.as_deref().unwrap_or("?").to_owned();
            Some((frame.index(), name))
        })
    }

    /// Returns the first variable of file scope of a unit that `is_it` accepts. The unit is read once.
    fn global(
        &mut self,
        unit: UnitId,
        is_it: impl Fn(&Variable<'a>) -> bool,
    ) -> Result<Option<Arc<Variable<'a>>>> {
        let stop = self.tree.frame.stop();
        let limit = &mut self.limit;
        let is_own = self
            .tree
            .function
            .as_ref()
            .is_some_and(|function| function.die.unit == unit);
        let globals = if is_own {
            &self.visible
        } else {
            self.globals.entry(unit).or_insert_with(|| {
                let mut globals = Vec::new();
                let info = stop.program().info();
                // A malformed unit contributes the variables before the fault.
                if let Err(error) = info.globals_within(unit, stop.meter(), &mut globals)
                    && error.is_limit()
                {
                    limit.get_or_insert(error);
                }
                globals
            })
        };
        stop.meter().work(globals.len() as u64)?;
        Ok(globals.iter().find(|variable| is_it(variable)).cloned())
    }

    /// Returns the variable of file scope or static data member that an entry declares or defines. A declaration leads to the definition, which can be
    /// in another unit. Returns None if the declaration has the value, or if there is neither a definition nor a variable of file scope.
    pub(super) fn file_variable(
        &mut self,
        entry: DieId,
        name: &str,
    ) -> Result<Option<Arc<Variable<'a>>>> {
        if let Some(known) = self.found.get(&entry) {
            return Ok(known.clone());
        }
        let found = self.search_files(entry, name)?;
        self.found.insert(entry, found.clone());
        Ok(found)
    }

    fn search_files(&mut self, entry: DieId, name: &str) -> Result<Option<Arc<Variable<'a>>>> {
        let info = self.tree.frame.stop().program().info();
        let is_named = |variable: &Variable<'_>| variable.name.as_deref() == Some(name);
        let is_it = |variable: &Variable<'_>| {
            is_named(variable) && info.is_instance_of(variable.die, entry)
        };
        let has_value = |die: &Die<'_>| die.attribute(DW_AT_const_value).is_some();
        if info.die(entry).is_ok_and(|die| has_value(&die)) {
            return Ok(None);
        }
        // gcc writes a variable without a location, which an entry of another unit completes.
        let is_complete = |variable: &Variable<'_>| {
            let has_value = variable.location.is_some() || variable.const_value.is_some();
            !variable.is_declaration && has_value
        };
        let own = self.global(entry.unit, is_it)?;
        if own.as_deref().is_some_and(is_complete) {
            return Ok(own);
        }
        let linkage_name = info.linkage_name_of(entry);
        let qualifier = info.completed_qualifier(entry);
        let is_same = |variable: &Variable<'_>| match (&linkage_name, &variable.linkage_name) {
            (Some(a), Some(b)) => a == b,
            _ => variable.scope.as_deref() == qualifier.as_deref(),
        };
        let is_definition = |variable: &Variable<'_>| {
            is_complete(variable)
                && is_named(variable)
                && (info.is_instance_of(variable.die, entry)
                    || is_same(variable) && is_external(info, variable))
        };
        for unit in info.unit_ids().filter(|unit| *unit != entry.unit) {
            let definition = self.global(unit, is_definition)?;
            if definition.is_some() {
                return Ok(definition);
            }
        }
        Ok(own)
    }

    /// Returns the definition of a variable of file scope with a linkage name.
    pub(super) fn linked(&mut self, linkage_name: &str) -> Result<Option<Arc<Variable<'a>>>> {
        let is_it = |variable: &Variable<'_>| {
            !variable.is_declaration && variable.linkage_name.as_deref() == Some(linkage_name)
        };
        for unit in self.tree.frame.stop().program().info().unit_ids() {
            let definition = self.global(unit, is_it)?;
            if definition.is_some() {
                return Ok(definition);
            }
        }
        Ok(None)
    }

    /// Reads a variable in every lane.
    pub(super) fn value(
        &mut self,
        variable: &Arc<Variable<'a>>,
        types: &mut TypeTable,
    ) -> Option<Rc<VariableValue<'p>>> {
        if let Some(known) = self.values.get(&variable.die) {
            return Some(Rc::clone(known));
        }
        let function = self.tree.function.as_ref()?;
        let value = self
            .tree
            .frame
            .read_variable(Arc::clone(variable), function, types);
        let value = Rc::new(value);
        self.values.insert(variable.die, Rc::clone(&value));
        Some(value)
    }

    /// Proposes the names of variables.
    pub(super) fn propose(&self, nearest: &mut Nearest) {
        for variable in &self.visible {
            nearest.consider(variable.name.as_deref().unwrap_or_default());
        }
    }

    /// Returns true if debugging information describes the frame's code.
    pub(super) fn is_described(&self) -> bool {
        self.tree.function.is_some()
    }
}

/// Returns true if other units can name a variable of file scope.
fn is_external(info: &DebugInfo<'_>, variable: &Variable<'_>) -> bool {
    let is_external =
        |die: &Die<'_>| die.flag(DW_AT_external) || die.attribute(DW_AT_specification).is_some();
    info.die(variable.die).is_ok_and(|die| is_external(&die))
}
