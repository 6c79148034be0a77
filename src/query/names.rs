//! Looks up types, enumerators and functions by name in every unit.
//!
//! A unit is read once, when a name is first searched in it. The frame's unit comes first. The other units are read only for names that it lacks.
//! Sources: DWARF 5 §3.1 to §3.3, §5.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gimli::DwTag;
use gimli::constants::{
    DW_AT_declaration, DW_AT_export_symbols, DW_AT_name, DW_TAG_base_type, DW_TAG_class_type,
    DW_TAG_enumeration_type, DW_TAG_enumerator, DW_TAG_lexical_block, DW_TAG_namespace,
    DW_TAG_structure_type, DW_TAG_subprogram, DW_TAG_template_alias, DW_TAG_typedef,
    DW_TAG_union_type, DW_TAG_unspecified_type,
};

use super::syntax::{Path, Tag};
use crate::debug_info::{DebugInfo, DieId, UnitId};
use crate::error::Result;
use crate::meter::{HeldStack, Meter};
use crate::nearest::Nearest;

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
    /// The number of the enclosing namespace, class or enumeration in the unit.
    scope: Option<ScopeNumber>,
    is_declaration: bool,
}

/// The number of a scope in its unit.
type ScopeNumber = usize;

/// A namespace, class or enumeration. It stores only its own name, because a copy of all enclosing names in each scope would be quadratic in the
/// depth.
#[derive(Debug)]
struct NamedScope<'a> {
    name: Cow<'a, str>,
    outer: Option<ScopeNumber>,
    /// True for an inline namespace, which names need not include.
    is_inline: bool,
}

/// The names in a unit.
#[derive(Debug, Default)]
struct UnitNames<'a> {
    scopes: Vec<NamedScope<'a>>,
    named: BTreeMap<Cow<'a, str>, Vec<Named>>,
}

/// The names of units.
#[derive(Debug)]
pub(super) struct Names<'d, 'a> {
    info: &'d DebugInfo<'a>,
    meter: &'d Meter,
    /// The units that were read. A malformed unit has only the names before the fault.
    units: BTreeMap<UnitId, UnitNames<'a>>,
    /// The unit that is searched first.
    first: Option<UnitId>,
}

/// An enclosing entry of the current one.
struct Open {
    depth: usize,
    scope: Option<ScopeNumber>,
    enumeration: Option<DieId>,
}

impl<'d, 'a> Names<'d, 'a> {
    /// Creates an empty collection. No unit is read yet.
    pub(super) fn new(
        info: &'d DebugInfo<'a>,
        first: Option<UnitId>,
        meter: &'d Meter,
    ) -> Names<'d, 'a> {
        Names {
            info,
            meter,
            units: BTreeMap::new(),
            first,
        }
    }

    /// Returns the first entity that `path` names and `wanted` accepts. Within each unit, definitions precede declarations.
    pub(super) fn find(
        &mut self,
        path: &Path<'_>,
        wanted: &dyn Fn(&Named) -> bool,
    ) -> Result<Option<Named>> {
        let mut declared = None;
        for unit in self.order() {
            let names = self.unit(unit)?;
            for named in names.at(path).filter(|named| wanted(named)) {
                if !named.is_declaration {
                    return Ok(Some(named.clone()));
                }
                if declared.is_none() {
                    declared = Some(named.clone());
                }
            }
        }
        Ok(declared)
    }

    /// Does the work of [`find`](Self::find) in the first unit only, for names that exist in every unit.
    pub(super) fn find_first(
        &mut self,
        path: &Path<'_>,
        wanted: &dyn Fn(&Named) -> bool,
    ) -> Result<Option<Named>> {
        let Some(unit) = self.first else {
            return Ok(None);
        };
        let names = self.unit(unit)?;
        let found = names.at(path).find(|named| wanted(named));
        Ok(found.cloned())
    }

    /// Returns true if a unit has a function with the name of a path.
    pub(super) fn has(&mut self, unit: UnitId, path: &Path<'_>) -> Result<bool> {
        let names = self.unit(unit)?;
        let mut found = names.named.get(path.name).into_iter().flatten();
        Ok(found.any(|named| named.entity == Entity::Function))
    }

    /// Proposes all names that `wanted` accepts, in the units that were read.
    pub(super) fn propose(&self, nearest: &mut Nearest, wanted: &dyn Fn(&Named) -> bool) {
        for names in self.units.values() {
            for (name, all) in &names.named {
                if all.iter().any(wanted) {
                    nearest.consider(name);
                }
            }
        }
    }

    /// Returns the units in the order of the search.
    pub(super) fn order(&self) -> Vec<UnitId> {
        let others = self
            .info
            .unit_ids()
            .filter(|unit| Some(*unit) != self.first);
        self.first.into_iter().chain(others).collect()
    }

    fn unit(&mut self, unit: UnitId) -> Result<&UnitNames<'a>> {
        if !self.units.contains_key(&unit) {
            let mut names = UnitNames::default();
            self.walk(unit, &mut names)?;
            self.units.insert(unit, names);
        }
        Ok(self.units.entry(unit).or_default())
    }

    /// Charges for a name that is not a part of the file.
    #[expect(clippy::ptr_arg, reason = "what is borrowed costs nothing")]
    fn hold(&self, name: &Cow<'a, str>) -> Result<()> {
        match name {
            Cow::Borrowed(_) => Ok(()),
            Cow::Owned(name) => self.meter.hold(name.len() as u64),
        }
    }

    /// Records the names of a unit, up to the first unreadable entry.
    ///
    /// # Errors
    /// If the budget is exhausted.
    fn walk(&mut self, unit: UnitId, names: &mut UnitNames<'a>) -> Result<()> {
        let Ok(mut dies) = self.info.dies(unit) else {
            return Ok(());
        };
        let mut open: HeldStack<'_, Open> = HeldStack::new(self.meter);
        while let Ok(Some(die)) = dies.next_ref() {
            self.meter.work(1)?;
            if die.is_null() {
                continue;
            }
            let (depth, tag) = (die.depth(), die.tag());
            open.pop_while(|outer| outer.depth >= depth);
            let outer = open.last();
            let scope = outer.and_then(|outer| outer.scope);
            let enumeration = outer.and_then(|outer| outer.enumeration);
            let entity = entity(tag, enumeration);
            let is_scope = opens_scope(tag) && die.has_children();
            let name = if entity.is_some() || is_scope {
                let name = die.attribute(DW_AT_name);
                name.and_then(|name| self.info.string_of(die, name))
            } else {
                None
            };
            if die.has_children() {
                let inner = match &name {
                    Some(name) if is_scope => {
                        self.hold(name)?;
                        self.meter.hold_all::<NamedScope<'a>>(2)?;
                        names.scopes.push(NamedScope {
                            name: name.clone(),
                            outer: scope,
                            is_inline: tag == DW_TAG_namespace && die.flag(DW_AT_export_symbols),
                        });
                        names.scopes.len().checked_sub(1)
                    }
                    // Entities that are local to a function have no qualified name.
                    _ if tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block => None,
                    _ => scope,
                };
                let enumeration = (tag == DW_TAG_enumeration_type).then(|| die.id());
                open.push(Open {
                    depth,
                    scope: inner,
                    enumeration,
                })?;
            }
            if let (Some(entity), Some(name)) = (entity, name) {
                self.meter.charge_bytes(name.len())?;
                self.hold(&name)?;
                self.meter.hold_all::<Named>(2)?;
                let is_declaration = die.flag(DW_AT_declaration);
                let named = Named {
                    die: die.id(),
                    entity,
                    scope,
                    is_declaration,
                };
                names.named.entry(name).or_default().push(named);
            }
        }
        Ok(())
    }
}

impl UnitNames<'_> {
    /// Returns the entities that a path names. The innermost scopes of an entity must equal the scopes of the path, or all scopes if the path is
    /// absolute. An enumerator is in the scope of its enumeration, and in the enclosing scope.
    fn at(&self, path: &Path<'_>) -> impl Iterator<Item = &Named> {
        let found = self.named.get(path.name).into_iter().flatten();
        let wanted = path.scopes.join("::");
        found.filter(move |named| {
            let outer = || self.scopes.get(named.scope?)?.outer;
            self.is_scope(path.is_absolute, &wanted, named.scope)
                || matches!(named.entity, Entity::Enumerator { .. })
                    && self.is_scope(path.is_absolute, &wanted, outer())
        })
    }

    /// Returns true if the innermost names of a scope are `wanted`, or all names if `is_absolute`. All inline namespaces may be left out together.
    fn is_scope(&self, is_absolute: bool, wanted: &str, scope: Option<ScopeNumber>) -> bool {
        let is_end = |named: fn(&NamedScope<'_>) -> bool| {
            let around = |number: ScopeNumber| self.scopes.get(number);
            let first = scope.and_then(around);
            let all = core::iter::successors(first, |scope| scope.outer.and_then(around));
            is_end_of(is_absolute, wanted, all.filter(|scope| named(scope)))
        };
        is_end(|_| true) || is_end(|scope| !scope.is_inline)
    }
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

fn entity(tag: DwTag, enumeration: Option<DieId>) -> Option<Entity> {
    if tag == DW_TAG_enumerator {
        return enumeration.map(|enumeration| Entity::Enumerator { enumeration });
    }
    if tag == DW_TAG_subprogram {
        return Some(Entity::Function);
    }
    let plain = [
        DW_TAG_base_type,
        DW_TAG_typedef,
        DW_TAG_template_alias,
        DW_TAG_unspecified_type,
    ];
    if plain.contains(&tag) {
        return Some(Entity::Type(None));
    }
    let tags = [
        (DW_TAG_structure_type, Tag::Record),
        (DW_TAG_class_type, Tag::Record),
        (DW_TAG_union_type, Tag::Union),
        (DW_TAG_enumeration_type, Tag::Enumeration),
    ];
    let known = tags.iter().find(|(known, _)| *known == tag);
    known.map(|(_, tag)| Entity::Type(Some(*tag)))
}

/// Returns true if an entry qualifies the names of its children.
fn opens_scope(tag: DwTag) -> bool {
    [
        DW_TAG_namespace,
        DW_TAG_structure_type,
        DW_TAG_class_type,
        DW_TAG_union_type,
        DW_TAG_enumeration_type,
    ]
    .contains(&tag)
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
        let is = |is_absolute, wanted, scope| names.is_scope(is_absolute, wanted, scope);
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
