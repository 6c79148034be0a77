//! The variables that a frame sees, by their names: those of its blocks from the inside out, those of its file,
//! then those of other files. Each is read once.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::names::is_scope_of;
use super::syntax::Path;
use crate::debug_info::types::TypeTable;
use crate::debug_info::{DieId, UnitId, Variable};
use crate::error::{Error, Result};
use crate::inspect::{StopFrame, VariableValue};
use crate::nearest::Nearest;
use crate::tree::Tree;

/// What a frame sees.
#[derive(Debug)]
pub(super) struct Scope<'s, 'p, 'a> {
    /// The values of the frame, which has the function.
    pub(super) tree: Tree<'s, 'p, 'a>,
    /// The innermost scope first; those of file scope at the end.
    visible: Vec<Arc<Variable<'a>>>,
    /// The limit that was reached before all variables were found.
    pub(super) limit: Option<Error>,
    /// Those of file scope of other units, once they were asked for.
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

    /// Returns the namespaces and classes that the frame's function is in, as `a::b`.
    pub(super) fn class(&self) -> &str {
        let function = self.tree.function.as_ref();
        let qualifier = function.and_then(|function| function.qualifier.as_deref());
        qualifier.unwrap_or_default()
    }

    /// Returns the variable of a function or block that a path names.
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

    /// Returns the variable of file scope of the frame's unit that a path names.
    pub(super) fn global(&self, path: &Path<'_>) -> Option<Arc<Variable<'a>>> {
        self.best(&self.visible, path)
    }

    /// Returns the variable of file scope that a path names in any other unit; they are read for it.
    pub(super) fn elsewhere(
        &mut self,
        path: &Path<'_>,
        units: Vec<UnitId>,
    ) -> Option<Arc<Variable<'a>>> {
        // Without a function nothing says how its variables are to be read.
        self.tree.function.as_ref()?;
        if self.elsewhere.is_none() {
            let (info, own) = (self.tree.frame.stop().program().info(), self.unit());
            let others = units.into_iter().filter(|unit| Some(*unit) != own);
            let meter = self.tree.frame.stop().meter();
            let mut globals = Vec::new();
            for unit in others {
                // A unit that is malformed has none.
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

    /// Returns the variable of file scope that a path means best: of the innermost namespace around the function, then of
    /// none, then of any; a definition before a declaration.
    fn best(&self, variables: &[Arc<Variable<'a>>], path: &Path<'_>) -> Option<Arc<Variable<'a>>> {
        let around = self
            .tree
            .function
            .as_ref()
            .and_then(|function| function.qualifier.as_deref());
        let around = around.unwrap_or_default();
        let rank = |variable: &&Arc<Variable<'a>>| {
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
        // The first of equals: later ones do not replace it.
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
