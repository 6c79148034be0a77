//! Finds the visible variables of a frame by name: first in its blocks from the inside out, then in its file, then in other files. Each variable is
//! read once.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use gimli::constants::{DW_AT_external, DW_AT_specification};

use super::name_scope::start_of;
use super::names::MOST_NAMES;
use super::syntax::Path;
use crate::debug_info::types::TypeTable;
use crate::debug_info::{Die, DieId, NameScopes, UnitId, Variable};
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
    /// The variables of file scope in the unit that the frame's function is inlined from, if that is another unit, once they were needed.
    inlined_from: OnceCell<Vec<Arc<Variable<'a>>>>,
    /// The variables of file scope in other units, once they were needed.
    elsewhere: Option<Vec<Arc<Variable<'a>>>>,
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
            inlined_from: OnceCell::new(),
            elsewhere: None,
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
                qualifier: function.qualifier.clone(),
            })
        })
    }

    /// Returns the namespaces and classes that enclose the frame's function, as `a::b`.
    pub(super) fn class(&self) -> &str {
        self.name_scopes().qualifier.as_deref().unwrap_or_default()
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
        let mut named = local.filter(|variable| start(variable, path).is_some());
        named.next().cloned()
    }

    /// Returns the nearest other frame that has a variable of a function with a path: its number and its function.
    pub(super) fn other_frame(&self, path: &Path<'_>) -> Option<(usize, String)> {
        /// The distance up to which frames are searched.
        const SEARCHED: usize = 16;
        let (own, stop) = (self.tree.frame.index(), self.tree.frame.stop());
        let near = (1..=SEARCHED).flat_map(|n| [own.checked_sub(n), own.checked_add(n)]);
        near.flatten().find_map(|index| {
            let frame = stop.frame(index)?;
            let scope = Scope::new(frame).ok()?;
            scope.local(path)?;
            let function = scope.tree.function.as_ref();
            let name = function.and_then(|function| function.name.as_deref());
            Some((frame.index(), name.unwrap_or("?").to_owned()))
        })
    }

    /// Returns the unit with the source of the frame's function. The code of an inlined function can be in another unit.
    fn source_unit(&self) -> Option<UnitId> {
        let function = self.name_scopes().functions.first();
        let origin = function.and_then(|entries| entries.last());
        origin.map(|entry| entry.unit).or_else(|| self.unit())
    }

    /// Returns the variable of file scope in the frame's unit with a path. If several are equally near, returns their names as an error.
    pub(super) fn global(&self, path: &Path<'_>) -> Result<Option<Arc<Variable<'a>>>, Vec<String>> {
        let unit = self.source_unit();
        if unit == self.unit() {
            return self.best(&self.visible, path);
        }
        let globals = self.inlined_from.get_or_init(|| {
            let stop = self.tree.frame.stop();
            let mut globals = Vec::new();
            if let Some(unit) = unit {
                // A malformed unit contributes the variables before the fault.
                let _ = (stop.program().info()).globals_within(unit, stop.meter(), &mut globals);
            }
            globals
        });
        self.best(globals, path)
    }

    /// Returns the variable of file scope in any other unit with a path. Reads these units if necessary. If several are equally near, returns their
    /// names as an error.
    pub(super) fn elsewhere(
        &mut self,
        path: &Path<'_>,
    ) -> Result<Option<Arc<Variable<'a>>>, Vec<String>> {
        // Without a function, the convention for reading its variables is not known.
        if self.tree.function.is_none() {
            return Ok(None);
        }
        if self.elsewhere.is_none() {
            let (info, own) = (self.tree.frame.stop().program().info(), self.source_unit());
            let others = info.unit_ids().filter(|unit| Some(*unit) != own);
            let meter = self.tree.frame.stop().meter();
            let mut globals = Vec::new();
            for unit in others {
                // A malformed unit contributes no variables.
                if let Err(error) = info.globals_within(unit, meter, &mut globals)
                    && error.is_limit()
                {
                    self.limit = Some(error);
                    break;
                }
            }
            self.elsewhere = Some(globals);
        }
        self.best(self.elsewhere.as_deref().unwrap_or_default(), path)
    }

    /// Returns the variable of file scope that matches a path best. A definition is preferred to a declaration, and the path is looked up in the
    /// namespaces around the function, from the innermost outwards, before others. If several match equally well, returns their names as an error.
    fn best(
        &self,
        variables: &[Arc<Variable<'a>>],
        path: &Path<'_>,
    ) -> Result<Option<Arc<Variable<'a>>>, Vec<String>> {
        let around = self.class();
        let rank = |variable: &Variable<'_>, start: &str| {
            let after = around.strip_prefix(start);
            let is_around = start.is_empty()
                || after.is_some_and(|after| after.is_empty() || after.starts_with("::"));
            let depth = if is_around { start.len() + 1 } else { 0 };
            (!variable.is_declaration, depth)
        };
        let globals = variables
            .iter()
            .filter(|variable| variable.scope_die.is_none());
        let ranked = globals.filter_map(|variable| {
            let start = start(variable, path)?;
            Some((rank(variable, start), variable))
        });
        let ranked: Vec<_> = ranked.collect();
        let Some(most) = ranked.iter().map(|(rank, _)| *rank).max() else {
            return Ok(None);
        };
        let best = ranked.into_iter().filter(|(rank, _)| *rank == most);
        let best: Vec<_> = best.map(|(_, variable)| variable).collect();
        let mut found = Vec::new();
        for variable in best.iter().filter(|_| best.len() > 1) {
            // An `inline` variable has a definition in each unit, with the same linkage name.
            let name = (self.full_name(variable), variable.linkage_name.as_deref());
            if found.len() < MOST_NAMES && !found.contains(&name) {
                found.push(name);
            }
        }
        if found.len() <= 1 {
            return Ok(best.first().copied().cloned());
        }
        // Instances of a template of variables differ only in their linkage names.
        let is_alike = (found.iter().zip(found.iter().skip(1))).any(|(a, b)| a.0 == b.0);
        Err(found
            .into_iter()
            .map(|(name, linkage_name)| match linkage_name {
                Some(linkage_name) if is_alike => format!("{name} ({linkage_name})"),
                _ => name,
            })
            .collect())
    }

    /// Returns the name of a variable of file scope with its namespaces and, if other units cannot name it, its unit.
    fn full_name(&self, variable: &Variable<'_>) -> String {
        let info = self.tree.frame.stop().program().info();
        let scope = variable.scope.as_deref().filter(|scope| !scope.is_empty());
        let name = variable.name.as_deref().unwrap_or_default();
        let name = scope.map_or_else(|| name.to_owned(), |scope| format!("{scope}::{name}"));
        let is_external = |die: &Die<'_>| {
            die.flag(DW_AT_external) || die.attribute(DW_AT_specification).is_some()
        };
        if info.die(variable.die).is_ok_and(|die| is_external(&die)) {
            return name;
        }
        match info
            .unit_info(variable.die.unit)
            .ok()
            .and_then(|unit| unit.name)
        {
            Some(unit) => format!("{name} ({unit})"),
            None => name,
        }
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
        let elsewhere = self.elsewhere.as_deref().unwrap_or_default();
        for variable in self.visible.iter().chain(elsewhere) {
            nearest.consider(variable.name.as_deref().unwrap_or_default());
        }
    }

    /// Returns true if debugging information describes the frame's code.
    pub(super) fn is_described(&self) -> bool {
        self.tree.function.is_some()
    }
}

/// Returns the scope in which a path is looked up if it names a variable; see [`start_of`]. A linkage name is in no scope.
fn start<'v>(variable: &'v Variable<'_>, path: &Path<'_>) -> Option<&'v str> {
    if path.scopes.is_empty() && variable.linkage_name.as_deref() == Some(path.name) {
        return Some("");
    }
    let scope = variable.scope.as_deref().unwrap_or_default();
    start_of(path, scope).filter(|_| variable.name.as_deref() == Some(path.name))
}
