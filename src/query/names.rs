//! Types, enumerators and functions by their names, in every unit.
//!
//! A unit is walked over once, when a name is first looked for in it: the frame's unit first, the others only
//! for names that it does not have. Sources: DWARF 5 §3.1 to §3.3, §5.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

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
use crate::meter::Meter;
use crate::nearest::Nearest;

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entity {
    /// A type; the tag if it has a keyword.
    Type(Option<Tag>),
    /// An enumerator of an enumeration.
    Enumerator {
        enumeration: DieId,
    },
    Function,
}

/// Something that has a name.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) die: DieId,
    pub(super) entity: Entity,
    /// The namespaces, classes and enumerations that it is in, as `a::b`.
    scope: Option<Rc<str>>,
    /// The same without inline namespaces, if it is in one.
    short: Option<Rc<str>>,
    is_declaration: bool,
}

/// The names of units.
#[derive(Debug)]
pub(super) struct Names<'d, 'a> {
    info: &'d DebugInfo<'a>,
    meter: &'d Meter,
    /// The units that were walked over. One that is malformed has the names before the fault.
    units: BTreeMap<UnitId, BTreeMap<Cow<'a, str>, Vec<Named>>>,
    /// The unit that is looked at first.
    first: Option<UnitId>,
}

/// Something that encloses what is walked over.
struct Open {
    depth: usize,
    scope: Option<Rc<str>>,
    /// The same without inline namespaces, if there is one.
    short: Option<Option<Rc<str>>>,
    enumeration: Option<DieId>,
}

impl<'d, 'a> Names<'d, 'a> {
    /// Nothing is read yet.
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

    /// The first that `path` names and `wanted` says yes to. In each unit definitions come before declarations.
    pub(super) fn find(
        &mut self,
        path: &Path<'_>,
        wanted: &dyn Fn(&Named) -> bool,
    ) -> Result<Option<Named>> {
        let mut declared = None;
        for unit in self.order() {
            let names = self.unit(unit)?;
            let found = names.get(path.name).map_or(&[][..], Vec::as_slice);
            let mut found = found
                .iter()
                .filter(|named| named.is_at(path) && wanted(named));
            if let Some(definition) = found.clone().find(|named| !named.is_declaration) {
                return Ok(Some(definition.clone()));
            }
            declared = declared.or(found.next().cloned());
        }
        Ok(declared)
    }

    /// [`find`](Self::find) in the first unit only: what is in every unit is not looked for in all of them.
    pub(super) fn find_first(
        &mut self,
        path: &Path<'_>,
        wanted: &dyn Fn(&Named) -> bool,
    ) -> Result<Option<Named>> {
        let Some(unit) = self.first else {
            return Ok(None);
        };
        let names = self.unit(unit)?;
        let mut found = names.get(path.name).into_iter().flatten();
        Ok(found
            .find(|named| named.is_at(path) && wanted(named))
            .cloned())
    }

    /// Whether a unit has a function with the name of a path.
    pub(super) fn has(&mut self, unit: UnitId, path: &Path<'_>) -> Result<bool> {
        let names = self.unit(unit)?;
        let mut found = names.get(path.name).into_iter().flatten();
        Ok(found.any(|named| named.entity == Entity::Function))
    }

    /// Proposes all names that `wanted` says yes to, as far as units were walked over.
    pub(super) fn propose(&self, nearest: &mut Nearest, wanted: &dyn Fn(&Named) -> bool) {
        for names in self.units.values() {
            for (name, all) in names {
                if all.iter().any(wanted) {
                    nearest.consider(name);
                }
            }
        }
    }

    /// The units, in the order in which names are looked for.
    pub(super) fn order(&self) -> Vec<UnitId> {
        let others = self
            .info
            .unit_ids()
            .filter(|unit| Some(*unit) != self.first);
        self.first.into_iter().chain(others).collect()
    }

    fn unit(&mut self, unit: UnitId) -> Result<&BTreeMap<Cow<'a, str>, Vec<Named>>> {
        if !self.units.contains_key(&unit) {
            let mut names = BTreeMap::new();
            self.walk(unit, &mut names)?;
            self.units.insert(unit, names);
        }
        Ok(self.units.entry(unit).or_default())
    }

    /// Notes the names of a unit, as far as it can be read.
    ///
    /// # Errors
    /// If there is nothing left to pay with.
    fn walk(&mut self, unit: UnitId, names: &mut BTreeMap<Cow<'a, str>, Vec<Named>>) -> Result<()> {
        let Ok(mut dies) = self.info.dies(unit) else {
            return Ok(());
        };
        let mut open: Vec<Open> = Vec::new();
        while let Ok(Some(die)) = dies.next_ref() {
            self.meter.work(1)?;
            if die.is_null() {
                continue;
            }
            let (depth, tag) = (die.depth(), die.tag());
            while open.last().is_some_and(|outer| outer.depth >= depth) {
                open.pop();
            }
            let outer = open.last();
            let scope = outer.and_then(|outer| outer.scope.clone());
            let short = outer.and_then(|outer| outer.short.clone());
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
                    Some(name) if is_scope => Some(inner_scope(scope.as_deref(), name)),
                    // What is local to a function has no qualified name.
                    _ if tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block => None,
                    _ => scope.clone(),
                };
                let enumeration = (tag == DW_TAG_enumeration_type).then(|| die.id());
                let is_inline = tag == DW_TAG_namespace && die.flag(DW_AT_export_symbols);
                let shorter = match (&name, &inner) {
                    (_, None) => None,
                    _ if is_inline => Some(short.clone().unwrap_or_else(|| scope.clone())),
                    (Some(name), Some(_)) if is_scope => {
                        (short.as_ref()).map(|short| Some(inner_scope(short.as_deref(), name)))
                    }
                    _ => short.clone(),
                };
                open.push(Open {
                    depth,
                    scope: inner,
                    short: shorter,
                    enumeration,
                });
            }
            if let (Some(entity), Some(name)) = (entity, name) {
                self.meter.pass(name.len())?;
                self.meter.hold_all::<Named>(2)?;
                let is_declaration = die.flag(DW_AT_declaration);
                let named = Named {
                    die: die.id(),
                    entity,
                    scope,
                    short: short.map(|short| short.unwrap_or_else(|| "".into())),
                    is_declaration,
                };
                names.entry(name).or_default().push(named);
            }
        }
        Ok(())
    }
}

impl Named {
    /// Whether it is what a path names: the end of its scopes are the path's, or all if the path is absolute.
    /// An enumerator is in the scope of its enumeration, and in the one around that.
    fn is_at(&self, path: &Path<'_>) -> bool {
        let full = self.scope.as_deref().unwrap_or_default();
        let mut scopes = [Some(full), self.short.as_deref()].into_iter().flatten();
        scopes.any(|scope| {
            let outer = || scope.rsplit_once("::").map_or("", |(outer, _)| outer);
            is_scope_of(path, scope)
                || matches!(self.entity, Entity::Enumerator { .. }) && is_scope_of(path, outer())
        })
    }
}

/// Whether the scopes of a path are the last of `scope`, or all of them if the path is absolute.
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

/// How deep the name of a scope may be, in bytes.
const SCOPE: usize = 4096;

fn inner_scope(outer: Option<&str>, name: &str) -> Rc<str> {
    match outer {
        Some(outer) if outer.len() + name.len() < SCOPE => format!("{outer}::{name}").into(),
        Some(outer) => outer.into(),
        None => name.into(),
    }
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

/// Whether an entry qualifies the names of what is in it.
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
