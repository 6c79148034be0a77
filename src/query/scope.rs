//! Finds the visible variables of a frame by name: first in its blocks from the inside out, then in its file, then in other files. Each variable is
//! read once.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::name_scope::is_scope_of;
use super::syntax::Path;
use crate::debug_info::types::TypeTable;
use crate::debug_info::{DieId, NameScopes, UnitId, Variable};
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
        let mut named = local.filter(|variable| is_at(variable, path));
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

    /// Returns the variable of file scope in the frame's unit with a path.
    pub(super) fn global(&self, path: &Path<'_>) -> Option<Arc<Variable<'a>>> {
        self.best(&self.visible, path)
    }

    /// Returns the variable of file scope in any other unit with a path. Reads these units if necessary.
    pub(super) fn elsewhere(
        &mut self,
        path: &Path<'_>,
        units: Vec<UnitId>,
    ) -> Option<Arc<Variable<'a>>> {
        // Without a function, the convention for reading its variables is not known.
        self.tree.function.as_ref()?;
        if self.elsewhere.is_none() {
            let (info, own) = (self.tree.frame.stop().program().info(), self.unit());
            let others = units.into_iter().filter(|unit| Some(*unit) != own);
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

    /// Returns the variable of file scope that matches a path best. The innermost namespace around the function is preferred, then no namespace, then
    /// any. A definition is preferred to a declaration.
    fn best(&self, variables: &[Arc<Variable<'a>>], path: &Path<'_>) -> Option<Arc<Variable<'a>>> {
        let rank = |variable: &&Arc<Variable<'a>>| {
            let around = self.class();
            let scope = variable.scope.as_deref().unwrap_or_default();
            let after = around.strip_prefix(scope);
            let is_around = scope.is_empty()
                || after.is_some_and(|after| after.is_empty() || after.starts_with("::"));
            let depth = if is_around { scope.len() + 1 } else { 0 };
            (!variable.is_declaration, depth)
        };
        let global = variables
            .iter()
            .filter(|variable| variable.scope_die.is_none());
        // The first of several equal candidates is chosen.
        let best = global
            .filter(|variable| is_at(variable, path))
            .rev()
            .max_by_key(rank);
        best.cloned()
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

/// Returns true if a path names a variable.
fn is_at(variable: &Variable<'_>, path: &Path<'_>) -> bool {
    variable.name.as_deref() == Some(path.name)
        && is_scope_of(path, variable.scope.as_deref().unwrap_or_default())
}
