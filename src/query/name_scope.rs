//! Compares the scopes of entities with the scopes of a name and of a frame.
//!
//! Reading the names is left to `names`. Sources: C17 §6.2.1; C++20 [basic.lookup.unqual].

use std::borrow::Cow;
use std::collections::BTreeMap;

use gimli::constants::DW_AT_decl_line;

use super::syntax::{Path, Tag};
use crate::debug_info::{ANONYMOUS, DebugInfo, DieId, NameScopes};
use crate::error::Result;
use crate::meter::Meter;

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
}

/// A named entity.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) die: DieId,
    pub(super) entity: Entity,
    /// The number of the enclosing scope in the unit.
    pub(super) scope: Option<ScopeNumber>,
    pub(super) is_declaration: bool,
}

/// The place of an entity relative to the frame. The least one is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Distance {
    /// Local to a block or function of the frame, counted from the innermost.
    Block(usize),
    /// In a namespace or class around the function, counted from the innermost, or in none.
    Around(usize),
    /// In a block of the frame's function that does not contain the pc.
    OtherBlock,
    /// Named with its function, or in a namespace or class that is not around the function.
    Elsewhere,
    /// Local to another function.
    OtherFunction,
}

/// The order of entities with the same name. The least one is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) distance: Distance,
    pub(super) is_declaration: bool,
    /// True for a type that C names with a keyword, such as `struct`. Without the keyword, C prefers a `typedef`.
    pub(super) has_keyword: bool,
}

impl Rank {
    /// Returns true if the entity is in a namespace around the frame. Several declarations in a namespace are the same entity.
    pub(super) fn is_around(self) -> bool {
        matches!(self.distance, Distance::Around(_))
    }

    /// Returns true if no other unit can have a better entity.
    pub(super) fn is_final(self) -> bool {
        self.distance < Distance::Elsewhere && !self.is_declaration
    }
}

/// The number of a scope in its unit.
pub(super) type ScopeNumber = usize;

/// A namespace, class, enumeration, function or block. It stores only its own name, because a copy of all enclosing names in each scope would be
/// quadratic in the depth.
#[derive(Debug)]
pub(super) struct NamedScope<'a> {
    /// The name, or nothing for a block.
    name: Cow<'a, str>,
    outer: Option<ScopeNumber>,
    /// True for an inline namespace, which names need not include.
    is_inline: bool,
    /// The entry, for a function or block.
    body: Option<DieId>,
    /// The nearest function or block: the scope itself, or one around it.
    local_to: Option<ScopeNumber>,
}

/// The names in a unit.
#[derive(Debug, Default)]
pub(super) struct UnitNames<'a> {
    scopes: Vec<NamedScope<'a>>,
    pub(super) named: BTreeMap<Cow<'a, str>, Vec<Named>>,
}

impl<'a> UnitNames<'a> {
    /// Adds a scope and returns its number.
    pub(super) fn open(
        &mut self,
        name: Cow<'a, str>,
        outer: Option<ScopeNumber>,
        is_inline: bool,
        body: Option<DieId>,
    ) -> ScopeNumber {
        let number = self.scopes.len();
        let local_to = match body {
            Some(_) => Some(number),
            None => outer.and_then(|outer| self.scopes.get(outer)?.local_to),
        };
        self.scopes.push(NamedScope {
            name,
            outer,
            is_inline,
            body,
            local_to,
        });
        number
    }

    /// Returns the place of an entity that `path` names, relative to a frame.
    ///
    /// * `around`: the result of [`scopes_around`].
    pub(super) fn distance(
        &self,
        named: &Named,
        path: &Path<'_>,
        frame: &NameScopes,
        around: &[String],
        meter: &Meter,
    ) -> Result<Distance> {
        let local_to = |scope: Option<ScopeNumber>| self.scopes.get(scope?)?.local_to;
        let innermost = local_to(named.scope);
        let mut next = innermost;
        while let Some(scope) = next.and_then(|body| self.scopes.get(body)) {
            meter.work(1 + frame.entries.len() as u64)?;
            let is_open = |entry: &DieId| Some(*entry) == scope.body;
            if let Some(block) = frame.entries.iter().position(is_open) {
                let is_innermost = next == innermost;
                return Ok(if is_innermost {
                    Distance::Block(block)
                } else {
                    Distance::OtherBlock
                });
            }
            next = local_to(scope.outer);
        }
        if innermost.is_none() {
            let mut places = around.iter();
            let place = places.position(|place| self.is_named(named, true, place, |_| true));
            return Ok(place.map_or(Distance::Elsewhere, Distance::Around));
        }
        let wanted = path.scopes.join("::");
        let is_local = |scope: &NamedScope<'_>| scope.body.is_none();
        let is_named_with_function = !self.is_named(named, false, &wanted, is_local);
        // A function within another one is known by its own name.
        let is_function = named.entity == Entity::Function;
        Ok(if is_named_with_function || is_function {
            Distance::Elsewhere
        } else {
            Distance::OtherFunction
        })
    }

    /// Returns the name of an entity with its enclosing scopes. For a local entity of the frame, the line of the declaration is added: clang does not
    /// write the blocks of types, so one function can have several with the same name.
    pub(super) fn full_name(
        &self,
        named: &Named,
        name: &str,
        distance: Distance,
        info: &DebugInfo<'_>,
    ) -> String {
        /// The maximum number of enclosing scopes in a name.
        const DEEPEST: usize = 16;
        let scopes = self.around(named.scope).map(|scope| scope.name.as_ref());
        let mut names: Vec<&str> = scopes
            .filter(|name| !name.is_empty())
            .take(DEEPEST)
            .collect();
        names.reverse();
        names.push(name);
        let name = names.join("::");
        let is_local = self.around(named.scope).any(|scope| scope.body.is_some());
        let has_line = is_local && distance != Distance::OtherFunction;
        let entry = info.die(named.die).ok().filter(|_| has_line);
        match entry.and_then(|entry| entry.unsigned(DW_AT_decl_line)) {
            Some(line) => format!("{name} (line {line})"),
            None => name,
        }
    }

    /// Returns a scope and the scopes around it, from the innermost outwards.
    fn around(&self, first: Option<ScopeNumber>) -> impl Iterator<Item = &NamedScope<'a>> {
        let scope = |number: ScopeNumber| self.scopes.get(number);
        core::iter::successors(first.and_then(scope), move |inner| {
            inner.outer.and_then(scope)
        })
    }

    /// Returns the entities that a path names. The innermost scopes of an entity must equal the scopes of the path, or all scopes if the path is
    /// absolute.
    pub(super) fn at(&self, path: &Path<'_>) -> impl Iterator<Item = &Named> {
        let found = self.named.get(path.name).into_iter().flatten();
        let wanted = path.scopes.join("::");
        found.filter(move |named| self.is_named(named, path.is_absolute, &wanted, |_| true))
    }

    /// Returns true if the scopes of an entity are `wanted`. An enumerator is in the scope of its enumeration, and in the enclosing scope.
    ///
    /// * `counts`: selects the scopes, from the innermost to the first that it rejects.
    fn is_named(
        &self,
        named: &Named,
        is_absolute: bool,
        wanted: &str,
        counts: fn(&NamedScope<'_>) -> bool,
    ) -> bool {
        let outer = || self.scopes.get(named.scope?)?.outer;
        let is_scope = |scope| self.is_scope(is_absolute, wanted, scope, counts);
        is_scope(named.scope)
            || matches!(named.entity, Entity::Enumerator { .. }) && is_scope(outer())
    }

    /// Returns true if the innermost names of a scope are `wanted`, or all names if `is_absolute`. All inline namespaces may be left out together.
    /// Blocks have no names.
    fn is_scope(
        &self,
        is_absolute: bool,
        wanted: &str,
        scope: Option<ScopeNumber>,
        counts: fn(&NamedScope<'_>) -> bool,
    ) -> bool {
        let is_end = |is_part: fn(&NamedScope<'_>) -> bool| {
            let all = self.around(scope).take_while(|scope| counts(scope));
            is_end_of(is_absolute, wanted, all.filter(|scope| is_part(scope)))
        };
        is_end(|scope| !scope.name.is_empty())
            || is_end(|scope| !scope.is_inline && !scope.name.is_empty())
    }
}

/// Returns the scopes that a relative path can begin in, innermost first: the namespaces and classes around the frame's function, each followed by
/// the scopes of the path.
pub(super) fn scopes_around(path: &Path<'_>, frame: &NameScopes) -> Vec<String> {
    let qualifier = frame.qualifier.as_deref();
    let mut outer: Vec<&str> = qualifier.unwrap_or_default().split("::").collect();
    outer.retain(|name| !name.is_empty() && *name != ANONYMOUS);
    let prefixes = (0..=outer.len())
        .rev()
        .filter_map(|length| outer.get(..length));
    prefixes
        .map(|prefix| [prefix, &path.scopes].concat().join("::"))
        .collect()
}

/// Returns true if scopes, given from the innermost outwards, end in `wanted`, or are equal to it if `is_absolute`.
fn is_end_of<'s>(
    is_absolute: bool,
    wanted: &str,
    mut scopes: impl Iterator<Item = &'s NamedScope<'s>>,
) -> bool {
    // The names that the remaining scopes must match. None means that all names matched.
    let mut rest = Some(wanted).filter(|wanted| !wanted.is_empty());
    while let Some(wanted) = rest {
        let Some(scope) = scopes.next() else {
            return false;
        };
        // The name of a scope can have several parts.
        if let Some(before) = scope.name.strip_suffix(wanted)
            && before.ends_with("::")
        {
            return !is_absolute;
        }
        let Some(before) = wanted.strip_suffix(scope.name.as_ref()) else {
            return false;
        };
        if before.is_empty() {
            break;
        }
        rest = before.strip_suffix("::");
        if rest.is_none() {
            return false;
        }
    }
    !is_absolute || scopes.next().is_none()
}

/// Returns true if the scopes of a path are the innermost scopes of `scope`, or all scopes if the path is absolute.
pub(super) fn is_scope_of(path: &Path<'_>, scope: &str) -> bool {
    let wanted = path.scopes.join("::");
    if scope == wanted {
        return true;
    }
    !path.is_absolute
        && (wanted.is_empty()
            || scope
                .strip_suffix(&wanted)
                .is_some_and(|before| before.ends_with("::")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the scopes `a`, `a::b` and `a::b::c::d` (with a name of two parts), and an enumerator in the last one.
    fn names() -> UnitNames<'static> {
        let scope = |name, outer| NamedScope {
            name: Cow::Borrowed(name),
            outer,
            is_inline: false,
            body: None,
            local_to: None,
        };
        UnitNames {
            scopes: vec![
                scope("a", None),
                scope("b", Some(0)),
                scope("c::d", Some(1)),
            ],
            named: BTreeMap::new(),
        }
    }

    #[test]
    fn a_scope_is_named_by_its_end_or_as_a_whole() {
        let names = names();
        let is = |is_absolute, wanted, scope| names.is_scope(is_absolute, wanted, scope, |_| true);
        for wanted in ["", "d", "c::d", "b::c::d", "a::b::c::d"] {
            assert!(is(false, wanted, Some(2)), "{wanted}");
            assert_eq!(
                is(true, wanted, Some(2)),
                wanted == "a::b::c::d",
                "{wanted}"
            );
        }
        for wanted in ["c", "a", "::d", "x::d", "x::a::b::c::d", "b::c", "b::d"] {
            assert!(!is(false, wanted, Some(2)), "{wanted}");
        }
        assert!(is(false, "b", Some(1)) && is(true, "a::b", Some(1)) && !is(true, "b", Some(1)));
        assert!(is(false, "", None) && is(true, "", None) && !is(false, "a", None));
    }
}
