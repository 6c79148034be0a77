//! Finds the variables of the functions around the frame's function: of the function of a lambda, or of a local class.
//!
//! clang writes the static variables of blocks and the classes in blocks as if the function itself declared them. Therefore it is often unknown
//! whether a class is in the block of such a variable. Sources: C++20 [class.local], [expr.prim.lambda]; DWARF 5 §3.3.1.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use gimli::constants::{DW_AT_decl_file, DW_AT_decl_line, DW_AT_inline};

use super::names::Names;
use super::syntax::Path;
use crate::debug_info::{DebugInfo, DieId, NameScopes, Variable};
use crate::error::Result;

/// A variable of a function around the frame's.
#[derive(Debug)]
pub(super) struct OuterVariable<'a> {
    pub(super) variable: Arc<Variable<'a>>,
    /// The scope of the function or block, counted from the innermost scope of the frame.
    pub(super) level: usize,
    /// The name of the function, with its enclosing scopes as far as they are known.
    pub(super) function: String,
    /// True if the frame's code sees the variable, because it is declared in the function itself. Otherwise, it can be in a block that ends before.
    pub(super) is_visible: bool,
    /// True if it can be read in any frame.
    pub(super) is_readable: bool,
}

impl OuterVariable<'_> {
    /// Returns the name for a message.
    pub(super) fn label(&self, path: &Path<'_>) -> String {
        let name = format!("{}::{}", self.function, path.name);
        match self.variable.declaration.line {
            Some(line) => format!("{name} (line {line})"),
            None => name,
        }
    }
}

/// The variables of the functions around the frame's, by the names that were searched.
#[derive(Debug, Default)]
pub(super) struct OuterVariables<'a>(BTreeMap<String, Rc<[OuterVariable<'a>]>>);

impl<'a> OuterVariables<'a> {
    /// Returns the variables with a name, from the innermost function outwards. They are searched once.
    ///
    /// * `frame`: the scopes of the frame, the same in each call.
    pub(super) fn named(
        &mut self,
        name: &str,
        frame: &NameScopes,
        names: &mut Names<'_, 'a>,
    ) -> Result<Rc<[OuterVariable<'a>]>> {
        if let Some(known) = self.0.get(name) {
            return Ok(Rc::clone(known));
        }
        let found: Rc<[OuterVariable<'a>]> = search(name, frame, names)?.into();
        names.meter.hold(name.len() as u64)?;
        names.meter.hold_all::<OuterVariable<'a>>(found.len())?;
        self.0.insert(name.to_owned(), Rc::clone(&found));
        Ok(found)
    }
}

fn search<'a>(
    name: &str,
    frame: &NameScopes,
    names: &mut Names<'_, 'a>,
) -> Result<Vec<OuterVariable<'a>>> {
    let (info, meter) = (names.info, names.meter);
    let mut found = Vec::new();
    let mut class = None;
    for (number, level) in names.levels(frame)?.iter().enumerate() {
        let Some((unit, scope)) = level.scope else {
            continue;
        };
        let names = names.unit(unit)?;
        let Some(entry) = names.scopes.get(scope) else {
            continue;
        };
        let body = entry.entry;
        if !level.is_body {
            class = Some(body);
            continue;
        }
        // The frame's own variables depend on the pc.
        if frame.functions.iter().flatten().any(|own| *own == body) {
            continue;
        }
        let function = names.scope_name(Some(scope));
        let function = function.unwrap_or_else(|| entry.name.clone().into_owned());
        let is_abstract = info.die(body)?.attribute(DW_AT_inline).is_some();
        for (variable, is_direct) in info.declared_in(body, name, meter)? {
            if variable.is_declaration || follows(info, variable.die, class) {
                continue;
            }
            let is_same = variable.is_same_in_every_frame();
            found.push(OuterVariable {
                level: number,
                function: function.clone(),
                is_visible: is_direct && !is_same,
                // An abstract instance has no locations.
                is_readable: is_same && (variable.location.is_some() || !is_abstract),
                variable: Arc::new(variable),
            });
        }
    }
    Ok(found)
}

/// Returns true if a variable is declared after a class, so that code of the class cannot name it.
fn follows(info: &DebugInfo<'_>, variable: DieId, class: Option<DieId>) -> bool {
    let place = |entry: DieId| {
        let entry = info.die(entry).ok()?;
        let file = entry.unsigned(DW_AT_decl_file);
        Some((entry.id().unit, file, entry.unsigned(DW_AT_decl_line)?))
    };
    match (place(variable), class.and_then(place)) {
        (Some((unit, file, line)), Some((other, other_file, other_line))) => {
            (unit, file) == (other, other_file) && line > other_line
        }
        (_, _) => false,
    }
}
