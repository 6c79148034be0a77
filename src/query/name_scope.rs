//! Holds the names in a unit, and matches the scopes of an entity with the scopes in a path.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gimli::DwLang;
use gimli::constants::{
    DW_AT_decl_line, DW_LANG_C, DW_LANG_C11, DW_LANG_C17, DW_LANG_C89, DW_LANG_C99, DW_LANG_ObjC,
    DW_LANG_OpenCL,
};

use super::syntax::{Path, Tag};
use crate::debug_info::{DebugInfo, DieId};

/// The kind of a named entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entity {
    /// A type, with its tag if it has a keyword.
    Type(Option<Tag>),
    /// An enumerator of an enumeration.
    Enumerator {
        enumeration: DieId,
    },
    Function,
    /// A variable of file scope, a static data member, or a named constant.
    Variable,
    /// A data member of a class. Only code of the class can name it without an object.
    Member,
    /// A parameter of a template that is a type.
    TypeParameter,
    /// A parameter of a template that is a value.
    ValueParameter,
}

impl Entity {
    pub(super) const fn is_type(self) -> bool {
        matches!(self, Entity::Type(_) | Entity::TypeParameter)
    }

    pub(super) const fn is_value(self) -> bool {
        !self.is_type()
    }

    /// Returns true if a value with the same name in a farther scope is hidden. A structure hides none (C++20 [basic.scope.hiding]), but the parameter
    /// of a template does.
    pub(super) const fn hides_values(self) -> bool {
        !matches!(self, Entity::Type(_))
    }

    /// Returns true for a parameter of a template. Only code inside the template can name it, and it is no member (C++20 [basic.scope.temp]).
    pub(super) const fn is_template_parameter(self) -> bool {
        matches!(self, Entity::TypeParameter | Entity::ValueParameter)
    }
}

/// A named entity.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) die: DieId,
    pub(super) entity: Entity,
    /// The number of the enclosing scope in the unit.
    pub(super) scope: Option<ScopeNumber>,
    pub(super) is_declaration: bool,
    /// True for a variable or function that only its unit can name.
    pub(super) is_static: bool,
}

/// The number of a scope in its unit.
pub(super) type ScopeNumber = usize;

/// The kind of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeKind {
    /// A namespace or module whose names have to be qualified.
    Namespace,
    /// An inline namespace: its names belong to the enclosing scope as well.
    InlineNamespace,
    /// A structure, class or union.
    Class,
    /// A class without a name, such as the class of a lambda. Its types and enumerators belong to the enclosing scope as well. So do its members, if
    /// this scope is a class.
    NamelessClass,
    /// An enumeration whose enumerators have to be qualified.
    ScopedEnumeration,
    /// An enumeration whose enumerators belong to the enclosing scope as well.
    Enumeration,
    /// A function or block. The names in it are local.
    Body,
}

/// A scope. It stores only its own name, because a copy of all enclosing names in each scope would be quadratic in the depth.
#[derive(Debug)]
pub(super) struct NamedScope<'a> {
    /// The name, or nothing for a block.
    pub(super) name: Cow<'a, str>,
    pub(super) outer: Option<ScopeNumber>,
    pub(super) kind: ScopeKind,
    pub(super) entry: DieId,
    /// The base classes of a class.
    pub(super) bases: Vec<DieId>,
    /// The nearest function or block: the scope itself, or one around it.
    local_to: Option<ScopeNumber>,
    /// The number of enclosing scopes.
    depth: usize,
}

/// The scopes of an entry in which names can be looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryScopes {
    /// The scope that the entry opens.
    pub(super) own: ScopeNumber,
    /// The scope that contains the entry.
    pub(super) outer: Option<ScopeNumber>,
}

/// C, and the languages with its name spaces.
const C: [DwLang; 7] = [
    DW_LANG_C,
    DW_LANG_C89,
    DW_LANG_C99,
    DW_LANG_C11,
    DW_LANG_C17,
    DW_LANG_ObjC,
    DW_LANG_OpenCL,
];

/// The names in a unit.
#[derive(Debug, Default)]
pub(super) struct UnitNames<'a> {
    pub(super) scopes: Vec<NamedScope<'a>>,
    pub(super) named: BTreeMap<Cow<'a, str>, Vec<Named>>,
    /// The scopes of classes, functions and blocks, by the offset of the entry.
    pub(super) by_entry: BTreeMap<u64, EntryScopes>,
    pub(super) language: Option<DwLang>,
}

impl<'a> UnitNames<'a> {
    /// Adds a scope and returns its number.
    pub(super) fn open(
        &mut self,
        name: Cow<'a, str>,
        outer: Option<ScopeNumber>,
        kind: ScopeKind,
        entry: DieId,
    ) -> ScopeNumber {
        let number = self.scopes.len();
        let around = outer.and_then(|outer| self.scopes.get(outer));
        let local_to = match kind == ScopeKind::Body {
            true => Some(number),
            false => around.and_then(|around| around.local_to),
        };
        let depth = around.map_or(0, |around| around.depth + 1);
        self.scopes.push(NamedScope {
            name,
            outer,
            kind,
            entry,
            bases: Vec::new(),
            local_to,
            depth,
        });
        number
    }

    /// Returns true if a type with a keyword is never named without it (C17 §6.2.3).
    pub(super) fn is_c(&self) -> bool {
        self.language.is_some_and(|language| C.contains(&language))
    }

    /// Returns the nearest function or block: a scope itself, or one around it.
    pub(super) fn local_to(&self, scope: Option<ScopeNumber>) -> Option<ScopeNumber> {
        self.scopes.get(scope?)?.local_to
    }

    /// Returns true if an entity is local to a function or block.
    pub(super) fn is_local(&self, named: &Named) -> bool {
        self.local_to(named.scope).is_some()
    }

    /// Returns the number of scopes around an entity.
    pub(super) fn depth(&self, named: &Named) -> usize {
        let scope = named.scope.and_then(|scope| self.scopes.get(scope));
        scope.map_or(0, |scope| scope.depth + 1)
    }

    /// Returns a scope and the scopes around it, from the innermost outwards.
    pub(super) fn around(
        &self,
        first: Option<ScopeNumber>,
    ) -> impl Iterator<Item = (ScopeNumber, &NamedScope<'a>)> {
        let scope = |number: ScopeNumber| Some((number, self.scopes.get(number)?));
        core::iter::successors(first.and_then(scope), move |(_, inner)| {
            inner.outer.and_then(scope)
        })
    }

    /// Returns the name of a scope with its enclosing scopes. Returns None for a scope inside a function, or inside too many scopes.
    pub(super) fn scope_name(&self, scope: Option<ScopeNumber>) -> Option<String> {
        /// The maximum number of enclosing scopes.
        const DEEPEST: usize = 32;
        let Some(innermost) = scope else {
            return Some(String::new());
        };
        let innermost = self.scopes.get(innermost)?;
        if innermost.kind == ScopeKind::NamelessClass {
            return None;
        }
        let is_local = self.local_to(innermost.outer).is_some();
        if is_local || innermost.depth >= DEEPEST {
            return None;
        }
        let names = self.around(scope).map(|(_, scope)| &*scope.name);
        let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        names.reverse();
        Some(names.join("::"))
    }

    /// Returns the name of an entity with its enclosing scopes.
    ///
    /// * `lines`: adds the line of the declaration of a local entity. clang does not write the blocks of types, so one function can have several
    ///   with the same name.
    pub(super) fn full_name(
        &self,
        named: &Named,
        name: &str,
        lines: Option<&DebugInfo<'_>>,
    ) -> String {
        /// The maximum number of enclosing scopes in a name.
        const DEEPEST: usize = 16;
        let scopes = self.around(named.scope).map(|(_, scope)| &*scope.name);
        let mut names: Vec<&str> = scopes
            .filter(|name| !name.is_empty())
            .take(DEEPEST)
            .collect();
        names.reverse();
        names.push(name);
        let name = names.join("::");
        let lines = lines.filter(|_| self.is_local(named));
        // An enumerator has no line.
        let entry = if let Entity::Enumerator { enumeration } = named.entity {
            enumeration
        } else {
            named.die
        };
        let entry = lines.and_then(|info| info.die(entry).ok());
        match entry.and_then(|entry| entry.unsigned(DW_AT_decl_line)) {
            Some(line) => format!("{name} (line {line})"),
            None => name,
        }
    }

    /// Returns the scopes that an entity belongs to: its own, and those around an enumeration or a class without a name.
    fn scopes_of(&self, named: &Named) -> Vec<Option<ScopeNumber>> {
        let mut scopes = vec![named.scope];
        let mut next = named.scope;
        while let Some(scope) = next.and_then(|scope| self.scopes.get(scope)) {
            let outer = scope.outer.and_then(|outer| self.scopes.get(outer));
            let is_class = |scope: &NamedScope<'_>| {
                matches!(scope.kind, ScopeKind::Class | ScopeKind::NamelessClass)
            };
            let is_shared = scope.kind == ScopeKind::Enumeration
                || scope.kind == ScopeKind::NamelessClass
                    && (named.entity != Entity::Member || outer.is_some_and(is_class));
            if !is_shared {
                break;
            }
            next = scope.outer;
            scopes.push(next);
        }
        scopes
    }

    /// Returns the entry of the class that a member belongs to.
    pub(super) fn class_of(&self, named: &Named) -> Option<DieId> {
        let mut around = self.around(named.scope);
        let class = around.find(|(_, scope)| scope.kind != ScopeKind::NamelessClass);
        class.map(|(_, scope)| scope.entry)
    }

    /// Returns the scopes from which a path leads to an entity: those outside the scopes in the path. There is none if the path names something else.
    pub(super) fn starts(&self, named: &Named, path: &Path<'_>) -> Vec<Option<ScopeNumber>> {
        let wanted = path.scopes.join("::");
        let mut starts = Vec::new();
        if named.entity.is_template_parameter() && (path.is_absolute || !path.scopes.is_empty()) {
            return starts;
        }
        for first in self.scopes_of(named) {
            // All inline namespaces may be left out together.
            for skips_inline in [false, true] {
                let Ok(mut start) = self.outside(first, &wanted, skips_inline) else {
                    continue;
                };
                loop {
                    if !starts.contains(&start) && (start.is_none() || !path.is_absolute) {
                        starts.push(start);
                    }
                    let scope = start.and_then(|start| self.scopes.get(start));
                    match scope.filter(|scope| scope.kind == ScopeKind::InlineNamespace) {
                        Some(inline) => start = inline.outer,
                        None => break,
                    }
                }
            }
        }
        starts
    }

    /// Removes the scopes with the names in `wanted` from a scope and those around it. Returns the scope outside of them, None if that is the file.
    /// Blocks have no names.
    ///
    /// # Errors
    /// If the names differ.
    fn outside(
        &self,
        first: Option<ScopeNumber>,
        wanted: &str,
        skips_inline: bool,
    ) -> Result<Option<ScopeNumber>, NamesDiffer> {
        let mut rest = wanted;
        let mut next = first;
        while !rest.is_empty() {
            let scope = next.and_then(|next| self.scopes.get(next));
            let scope = scope.ok_or(NamesDiffer)?;
            next = scope.outer;
            let is_skipped = skips_inline && scope.kind == ScopeKind::InlineNamespace;
            if scope.name.is_empty() || is_skipped {
                continue;
            }
            // The name of a scope can have several parts.
            if let Some(before) = scope.name.strip_suffix(rest)
                && before.ends_with("::")
            {
                return Ok(next);
            }
            let before = rest.strip_suffix(&*scope.name).ok_or(NamesDiffer)?;
            rest = match before.is_empty() {
                true => "",
                false => before.strip_suffix("::").ok_or(NamesDiffer)?,
            };
        }
        Ok(next)
    }
}

/// The names in a path differ from the names of the scopes around an entity.
struct NamesDiffer;

/// Removes the scopes of a path from the end of `scope`, and returns the rest: the scope in which the path is looked up. Returns None if the path
/// names another scope.
pub(super) fn start_of<'s>(path: &Path<'_>, scope: &'s str) -> Option<&'s str> {
    let wanted = path.scopes.join("::");
    let start = match scope.strip_suffix(&*wanted)? {
        before if before.is_empty() || wanted.is_empty() => before,
        before => before.strip_suffix("::")?,
    };
    (start.is_empty() || !path.is_absolute).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debug_info::UnitId;

    /// Checks the paths to an entity in the scopes `a`, `a::b` and `a::b::c::d`, of which the last has a name of two parts.
    #[test]
    fn a_scope_is_named_by_its_end_or_as_a_whole() {
        let entry = DieId {
            unit: UnitId(0),
            offset: 0,
        };
        let mut names = UnitNames::default();
        let mut outer = None;
        for name in ["a", "b", "c::d"] {
            let kind = ScopeKind::Namespace;
            outer = Some(names.open(Cow::Borrowed(name), outer, kind, entry));
        }
        let starts = |is_absolute, text: &'static str, scope| {
            let named = Named {
                die: entry,
                entity: Entity::Function,
                scope,
                is_declaration: false,
                is_static: false,
            };
            let scopes = text.split("::").filter(|part| !part.is_empty()).collect();
            let path = Path {
                is_absolute,
                scopes,
                name: "f",
            };
            names.starts(&named, &path)
        };
        let relative = [
            ("", Some(2)),
            ("c::d", Some(1)),
            ("d", Some(1)),
            ("b::c::d", Some(0)),
            ("a::b::c::d", None),
        ];
        for (text, outside) in relative {
            assert_eq!(starts(false, text, outer), [outside], "{text}");
            let absolute = starts(true, text, outer);
            assert_eq!(absolute.is_empty(), text != "a::b::c::d", "{text}");
        }
        for text in ["c", "a", "x::d", "x::a::b::c::d", "b::c", "b::d"] {
            assert!(starts(false, text, outer).is_empty(), "{text}");
        }
        assert_eq!(starts(false, "b", Some(1)), [Some(0)]);
        assert_eq!(starts(true, "a::b", Some(1)), [None]);
        assert!(starts(true, "b", Some(1)).is_empty() && starts(false, "a", None).is_empty());
        assert_eq!(starts(true, "", None), [None]);
    }
}
